//! Flows of a capture, and those that carried most.

use super::error::ReadError;
use super::headers::{FlowKey, Frame, Packet};
use std::collections::BTreeMap;

/// More flows than this are not told apart; what they carried counts as that of others.
pub const MOST_FLOWS: usize = 100_000;

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

    /// The direction of a flow that carried most, what it carried, and its share of what all carried.
    ///
    /// # Errors
    /// A capture without data.
    pub fn largest(&self) -> Result<(FlowKey, Tally, f64), ReadError> {
        let largest = self.flows.iter().max_by_key(|(_, tally)| tally.payload);
        let (key, tally) = largest.ok_or(ReadError::NoFlow)?;
        Ok((*key, *tally, tally.payload as f64 / self.all as f64))
    }

    /// Traffic of a direction of a flow.
    pub fn of(&self, key: FlowKey) -> Tally {
        self.flows.get(&key).copied().unwrap_or_default()
    }
}
