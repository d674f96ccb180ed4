//! Packets of a recorded live run with their fates, as a record to which a link can be fitted.

use super::replay::read;
use crossfade_link::PointToPoint;
use crossfade_live::{Entry, Fate};
use crossfade_scenario::ScenarioError;
use std::collections::{BTreeMap, HashMap};

/// Length in nanoseconds of a window of the other direction; the shortest delay of each window is kept.
const WINDOW_NS: i64 = 1_000_000_000;

/// A packet of a recorded live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedPacket {
    /// Time at which the packet entered the link, in nanoseconds since the start.
    pub sent_ns: i64,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// Time at which the packet came out of the link, in nanoseconds since the start; `None` if it did not.
    pub arrived_ns: Option<i64>,
    /// True if the packet was lost or dropped; a packet that neither arrived nor was lost was under way at the end.
    pub is_lost: bool,
}

/// The flow with the most bytes of a live run, and shortest delays of the other direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedFlow {
    /// Packets of the flow, in the order in which they entered the link.
    pub packets: Vec<RecordedPacket>,
    /// Entry time and delay, in nanoseconds, of the fastest packet of the other direction in each second.
    pub reverse: Vec<(i64, i64)>,
}

/// Packets of the flow with the most bytes of a live run, and shortest delays of the other direction, on one clock.
///
/// # Errors
/// Those of [`replay`](super::replay()).
pub fn packets(bytes: &[u8]) -> Result<RecordedFlow, ScenarioError> {
    let (_, journal, _) = read(bytes)?;
    let is_shared = journal.lanes.len() == 1;
    // Bytes by direction and flow.
    let mut flows: [BTreeMap<u32, Vec<RecordedPacket>>; 2] = Default::default();
    for (lane, entries) in journal.lanes.iter().enumerate() {
        let mut inside: HashMap<u32, (usize, u32, usize)> = HashMap::new();
        for entry in entries {
            match *entry {
                Entry::Arrival { at, port, parcel, fate } => {
                    let is_far = u32::from(port) == PointToPoint::<()>::OUT;
                    let way = if is_shared { usize::from(is_far) } else { lane.min(1) };
                    let of = flows[way].entry(parcel.flow()).or_default();
                    let is_lost = fate != crossfade_link::Push::Accepted;
                    if !is_lost {
                        inside.insert(parcel.id(), (way, parcel.flow(), of.len()));
                    }
                    let sent_ns = at.as_nanos().cast_signed();
                    of.push(RecordedPacket { sent_ns, bytes: parcel.bytes(), arrived_ns: None, is_lost });
                }
                Entry::Departure { at, id, fate, .. } => {
                    let Some((way, flow, index)) = inside.remove(&id) else { continue };
                    let packet = flows[way].get_mut(&flow).and_then(|of| of.get_mut(index));
                    let Some(packet) = packet else { continue };
                    packet.is_lost = fate != Fate::Arrived;
                    packet.arrived_ns = (fate == Fate::Arrived).then(|| at.as_nanos().cast_signed());
                }
                Entry::End { .. } => {}
            }
        }
    }
    let bytes = |of: &[RecordedPacket]| of.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>();
    let mut best: (u64, usize, u32) = (0, 0, 0);
    for (way, flows) in flows.iter().enumerate() {
        for (flow, of) in flows {
            best = best.max((bytes(of), way, *flow));
        }
    }
    let (_, way, flow) = best;
    let mut shortest: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for packet in flows[1 - way].values().flatten() {
        let Some(arrived) = packet.arrived_ns else { continue };
        let delay = arrived - packet.sent_ns;
        let of = shortest.entry(packet.sent_ns / WINDOW_NS).or_insert((packet.sent_ns, delay));
        if delay < of.1 {
            *of = (packet.sent_ns, delay);
        }
    }
    let packets = flows[way].remove(&flow).unwrap_or_default();
    Ok(RecordedFlow { packets, reverse: shortest.into_values().collect() })
}
