//! Flows of a capture, and those that carried most.

use super::error::ReadError;
use super::headers::{FlowKey, Frame, Packet};
use std::collections::{BTreeMap, BTreeSet};

/// More flows than this are not told apart; what they carried counts as that of others.
pub const MOST_FLOWS: usize = 100_000;

/// Number of flows between two hosts that are read together.
const MOST_BESIDE: usize = 4096;

/// Traffic of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets with data.
    pub packets: u64,
    /// Bytes of data.
    pub payload: u64,
}

/// Counts what each flow of a capture carried.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    flows: BTreeMap<FlowKey, Tally>,
    /// Bytes of data of all flows.
    all: u64,
}

impl Survey {
    /// Counts a packet.
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

    /// The direction of a flow that carried most, and the traffic of that direction.
    ///
    /// # Errors
    /// A capture without data.
    pub fn largest(&self) -> Result<(FlowKey, Tally), ReadError> {
        let largest = self.flows.iter().max_by_key(|(_, tally)| tally.payload);
        largest.map(|(key, tally)| (*key, *tally)).ok_or(ReadError::NoFlow)
    }

    /// Flows of the same protocol from the same host to the same host, which take the same path: those that carried
    /// most, without `key` itself.
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

    /// Share of the data that these flows carried, of all data except those to the host that sends these.
    pub fn share(&self, keys: &BTreeSet<FlowKey>) -> f64 {
        let sources: BTreeSet<_> = keys.iter().map(|key| key.source.0).collect();
        let to_source = self.flows.iter().filter(|(of, _)| sources.contains(&of.destination.0));
        let back: u64 = to_source.map(|(_, tally)| tally.payload).sum();
        let own: u64 = keys.iter().map(|key| self.of(*key).payload).sum();
        own as f64 / self.all.saturating_sub(back).max(1) as f64
    }

    /// Traffic of a direction of a flow.
    pub fn of(&self, key: FlowKey) -> Tally {
        self.flows.get(&key).copied().unwrap_or_default()
    }
}
