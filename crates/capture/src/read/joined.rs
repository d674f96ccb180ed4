//! Captures of both ends of a flow, joined packet by packet.

use super::error::ReadError;
use super::flow::FlowReader;
use super::headers::{FlowKey, Kind, Packet};
use super::observed::{Fate, FlowRecord, Observed, Seen, Vantage};
use super::segments::mss_of;
use std::collections::BTreeMap;

/// What tells a packet from others: of TCP where its data begins in the flow, of UDP its content.
type Name = u64;

/// A packet at one end.
#[derive(Clone, Copy)]
struct At {
    name: Name,
    time_ns: i64,
    bytes: u32,
}

/// Joins what the sender's interface saw with what the receiver's did. The receiver's may lie behind a translation of
/// addresses: its flow need only be of the same protocol.
///
/// # Errors
/// Captures of different flows, or of packets that cannot be told apart.
pub fn join(sender: FlowReader, receiver: FlowReader) -> Result<FlowRecord, ReadError> {
    let (flow, sent, first_cut) = sender.into_seen();
    let (other, arrived, second_cut) = receiver.into_seen();
    if flow.is_tcp != other.is_tcp {
        return Err(ReadError::OtherFlow(flow.to_string()));
    }
    let mss = mss_of(&sent, flow).max(1);
    let mut offloads = false;
    let sent = packets(&sent, flow, mss, None, &mut offloads);
    let base = sent.1;
    let arrived = packets(&arrived, other, mss, base, &mut offloads).0;
    let sent = sent.0;
    let mut by_name: BTreeMap<Name, Vec<u32>> = BTreeMap::new();
    for (index, at) in sent.iter().enumerate() {
        by_name.entry(at.name).or_default().push(index as u32);
    }
    if !flow.is_tcp {
        let alike: usize = by_name.values().map(Vec::len).filter(|count| *count > 1).sum();
        if 10 * alike > sent.len() {
            return Err(ReadError::Alike { alike, packets: sent.len() });
        }
    }
    let start = sent.first().map_or(0, |at| at.time_ns);
    let mut found: Vec<Observed> = sent
        .iter()
        .map(|at| Observed { sent_ns: at.time_ns - start, bytes: at.bytes, fate: Fate::Lost, seen_ns: None })
        .collect();
    // The clocks are apart by what the fastest packet that was sent once took.
    let once = arrived.iter().filter_map(|at| match by_name.get(&at.name).map(Vec::as_slice) {
        Some([index]) => Some(at.time_ns - sent[*index as usize].time_ns),
        _ => None,
    });
    let apart = once.min().unwrap_or(0);
    let mut joined = 0;
    for at in &arrived {
        let Some(transmissions) = by_name.get(&at.name) else { continue };
        joined += 1;
        // The last that can have arrived by then, and has not.
        let is_it = |index: &&u32| {
            let packet = &found[**index as usize];
            packet.fate == Fate::Lost && sent[**index as usize].time_ns + apart <= at.time_ns
        };
        if let Some(index) = transmissions.iter().rev().find(is_it) {
            let packet = &mut found[*index as usize];
            (packet.fate, packet.seen_ns) = (Fate::Arrived, Some(at.time_ns - start));
        }
    }
    if 2 * joined < arrived.len() || joined == 0 {
        return Err(ReadError::NotJoined { joined, packets: arrived.len() });
    }
    cut_to_common(&mut found);
    let is_cut = first_cut || second_cut;
    Ok(FlowRecord { flow, vantage: Vantage::BothEnds, packets: found, is_cut, offloads })
}

/// What was sent before the other capture began, or arrived after it ended, is not lost: its fate is not known.
fn cut_to_common(found: &mut [Observed]) {
    let first = found.iter().position(|packet| packet.fate == Fate::Arrived);
    let last = found.iter().rposition(|packet| packet.fate == Fate::Arrived);
    for (index, packet) in found.iter_mut().enumerate() {
        let is_inside = first.is_some_and(|first| first <= index) && last.is_some_and(|last| index <= last);
        if !is_inside {
            packet.fate = Fate::Unknown;
        }
    }
}

/// The packets with data of one end, those of trains apart, and the number that theirs count from.
fn packets(
    seen: &[Seen],
    flow: FlowKey,
    mss: u32,
    mut base: Option<u32>,
    offloads: &mut bool,
) -> (Vec<At>, Option<u32>) {
    let mut found = Vec::with_capacity(seen.len());
    let mut highest = 0_i64;
    for Seen { time_ns, packet } in seen {
        if packet.flow != flow || packet.payload == 0 {
            continue;
        }
        let Packet { bytes, payload, kind, .. } = *packet;
        match kind {
            Kind::Udp { fingerprint } => found.push(At { name: fingerprint, time_ns: *time_ns, bytes }),
            Kind::Tcp(tcp) => {
                *offloads |= payload > mss;
                let first = *base.get_or_insert(tcp.seq);
                let near = first.wrapping_add(highest as u32);
                let start = highest + i64::from(tcp.seq.wrapping_sub(near).cast_signed());
                highest = highest.max(start + i64::from(payload));
                let headers = bytes - payload;
                let mut at = 0;
                while at < payload {
                    let size = mss.min(payload - at);
                    let name = (start + i64::from(at)) as u64;
                    found.push(At { name, time_ns: *time_ns, bytes: size + headers });
                    at += size;
                }
            }
        }
    }
    (found, base)
}
