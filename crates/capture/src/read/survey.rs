//! Survey of the flows of a capture, which finds those that carried most bytes.

use super::error::ReadError;
use super::headers::{FlowKey, Frame, Packet};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of flows that are counted one by one; the data of further ones count only in the total.
pub const MOST_FLOWS: usize = 100_000;

/// Number of flows between two hosts that are read together.
const MOST_BESIDE: usize = 4096;

/// Number of data packets and bytes in one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of packets with payload.
    pub packets: u64,
    /// Bytes of transport payload.
    pub payload: u64,
}

/// Counts packets and bytes of each flow of a capture.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    flows: BTreeMap<FlowKey, Tally>,
    /// Payload bytes of all flows.
    all: u64,
}

impl Survey {
    /// Counts a packet in its flow, if it has payload.
    pub fn look(&mut self, _: Frame<'_>, packet: Option<Packet>) {
        let Some(packet) = packet.filter(|packet| packet.payload > 0) else { return };
        self.all = self.all.saturating_add(packet.payload.into());
        if self.flows.len() == MOST_FLOWS && !self.flows.contains_key(&packet.flow) {
            return;
        }
        let tally = self.flows.entry(packet.flow).or_default();
        tally.packets += 1;
        tally.payload = tally.payload.saturating_add(packet.payload.into());
    }

    /// Flow direction that carried most payload bytes, and its traffic.
    ///
    /// # Errors
    /// If the capture has no packet with payload.
    pub fn largest(&self) -> Result<(FlowKey, Tally), ReadError> {
        let largest = self.flows.iter().max_by_key(|(_, tally)| tally.payload);
        largest.map(|(key, tally)| (*key, *tally)).ok_or(ReadError::NoFlow)
    }

    /// Parallel flows of `key`: those of the same protocol between the same hosts in the same direction, which take the
    /// same path. At most 64, those with most bytes first, without `key` itself.
    pub fn beside(&self, key: FlowKey) -> Vec<FlowKey> {
        let is_beside = |of: &FlowKey| {
            *of != key
                && of.is_tcp == key.is_tcp
                && of.source.0 == key.source.0
                && of.destination.0 == key.destination.0
        };
        let mut found: Vec<(u64, FlowKey)> = self
            .flows
            .iter()
            .filter(|(of, _)| is_beside(of))
            .map(|(of, tally)| (tally.payload, *of))
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        found.into_iter().take(MOST_BESIDE).map(|(_, of)| of).collect()
    }

    /// Share of the flows `keys` in the payload bytes of the capture, traffic to their sources excluded.
    pub fn share(&self, keys: &BTreeSet<FlowKey>) -> f64 {
        let sources: BTreeSet<_> = keys.iter().map(|key| key.source.0).collect();
        let to_source = self.flows.iter().filter(|(of, _)| sources.contains(&of.destination.0));
        let back: u64 = to_source.map(|(_, tally)| tally.payload).sum();
        let own: u64 = keys.iter().map(|key| self.of(*key).payload).sum();
        own as f64 / self.all.saturating_sub(back).max(1) as f64
    }

    /// Traffic of a flow direction; zero for an unknown one.
    pub fn of(&self, key: FlowKey) -> Tally {
        self.flows.get(&key).copied().unwrap_or_default()
    }
}
