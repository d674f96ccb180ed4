//! Captures of both ends of a flow, joined packet by packet.

use super::error::ReadError;
use super::flow::{FlowReader, Ordered, is_of_linux};
use super::headers::{FlowKey, Kind, Packet};
use super::observed::{Fate, FlowRecord, Observed, Seen, Vantage};
use super::segments::mss_of;
use std::collections::BTreeMap;

/// Datagrams of the same content are distinguished if they are at least this many nanoseconds apart: in datagrams of
/// zeros only the IPv4 identification differs, and it repeats after 65536. Shortest delays are taken per window of this
/// length too.
const NEAR_NS: i64 = 1_000_000_000;

/// Identity of a packet in both captures: for TCP the offset of its data in the flow, for UDP a hash of its content.
type Name = u64;

/// Packet captured at one end.
#[derive(Clone, Copy)]
struct At {
    name: Name,
    time_ns: i64,
    bytes: u32,
}

/// Joins the captures of a flow at both ends. The receiver's capture may lie behind address translation: only the
/// protocol of its flow must be that of the sender's.
///
/// # Errors
/// If the captures are of different flows, or their packets cannot be distinguished.
pub fn join(sender: FlowReader, receiver: FlowReader) -> Result<FlowRecord, ReadError> {
    let Ordered { flow, seen: sent, is_cut: first_cut, tick_ns } = sender.into_seen()?;
    let Ordered { flow: other, seen: arrived, is_cut: second_cut, .. } = receiver.into_seen()?;
    if flow.is_tcp != other.is_tcp {
        return Err(ReadError::OtherFlow(flow.to_string()));
    }
    let mss = mss_of(&sent, flow).max(1);
    let reverse = reverse(&sent, flow, &arrived, other);
    let is_of_linux = is_of_linux(&sent, flow);
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
        let time = |index: &u32| sent[*index as usize].time_ns;
        let is_near = |pair: &[u32]| time(&pair[1]) - time(&pair[0]) < NEAR_NS;
        let alike: usize =
            by_name.values().map(|of| of.windows(2).filter(|pair| is_near(pair)).count()).sum();
        if 10 * alike > sent.len() {
            return Err(ReadError::Alike { alike, packets: sent.len() });
        }
    }
    let start = sent.first().map_or(0, |at| at.time_ns);
    let mut found: Vec<Observed> = sent
        .iter()
        .map(|at| Observed { sent_ns: at.time_ns - start, bytes: at.bytes, fate: Fate::Lost, seen_ns: None })
        .collect();
    // Offset of the two clocks, less the shortest delay of packets that were sent once.
    let once = arrived.iter().filter_map(|at| match by_name.get(&at.name).map(Vec::as_slice) {
        Some([index]) => Some(at.time_ns - sent[*index as usize].time_ns),
        _ => None,
    });
    let apart = once.min().unwrap_or(0);
    let mut joined = 0;
    for at in &arrived {
        let Some(transmissions) = by_name.get(&at.name) else { continue };
        joined += 1;
        // The last transmission that can have arrived by then and has no arrival yet.
        let is_it = |index: &&u32| {
            let packet = &found[**index as usize];
            packet.fate == Fate::Lost && sent[**index as usize].time_ns.saturating_add(apart) <= at.time_ns
        };
        if let Some(index) = transmissions.iter().rev().find(is_it) {
            let packet = &mut found[*index as usize];
            (packet.fate, packet.seen_ns) = (Fate::Arrived, Some(at.time_ns - start));
        }
    }
    if 2 * joined < arrived.len() || joined == 0 {
        return Err(ReadError::NotJoined { joined, packets: arrived.len() });
    }
    // The clock offset cancels in a round trip, which cannot be negative.
    let forth = found.iter().filter_map(|packet| Some(packet.seen_ns? - packet.sent_ns)).min();
    let back = reverse.iter().map(|(_, delay)| *delay).min();
    if forth.zip(back).is_some_and(|(forth, back)| forth.saturating_add(back) < 0) {
        return Err(ReadError::Order);
    }
    cut_to_common(&mut found);
    Ok(FlowRecord {
        vantage: Vantage::BothEnds,
        packets: found,
        is_cut: first_cut || second_cut,
        offloads,
        tick_ns,
        reverse,
        is_of_linux,
        ..FlowRecord::of_sender(flow)
    })
}

/// Packets of the opposite direction, one per second, that with the shortest delay: time sent by the receiver's clock,
/// since the first packet of the sender's capture, and delay, both in nanoseconds. Packets that cannot be told from
/// others are left out.
fn reverse(sender: &[Seen], flow: FlowKey, receiver: &[Seen], other: FlowKey) -> Vec<(i64, i64)> {
    let start = sender.first().map_or(0, |seen| seen.time_ns);
    let named = |seen: &[Seen], flow: FlowKey| {
        let mut found: BTreeMap<Name, Option<i64>> = BTreeMap::new();
        for Seen { time_ns, packet } in seen.iter().filter(|seen| seen.packet.flow == flow) {
            let once = found.entry(backward(packet)).or_insert(Some(*time_ns));
            if *once != Some(*time_ns) {
                *once = None;
            }
        }
        found
    };
    let there = named(sender, flow.reversed());
    let mut found: Vec<(i64, i64)> = named(receiver, other.reversed())
        .into_iter()
        .filter_map(|(name, sent)| Some((sent? - start, (*there.get(&name)?)? - sent?)))
        .collect();
    found.sort_unstable();
    let mut shortest: Vec<(i64, i64)> = Vec::new();
    for (at, delay) in found {
        match shortest.last_mut() {
            Some(last) if at.div_euclid(NEAR_NS) == last.0.div_euclid(NEAR_NS) => {
                if delay < last.1 {
                    *last = (at, delay);
                }
            }
            _ => shortest.push((at, delay)),
        }
    }
    shortest
}

/// Identity of a packet of the opposite direction: for TCP a hash of its numbers, timestamps and SACK blocks.
fn backward(packet: &Packet) -> Name {
    match packet.kind {
        Kind::Udp { fingerprint, .. } | Kind::Quic { fingerprint, .. } => fingerprint,
        Kind::Tcp(tcp) => {
            let mut name = 0xcbf2_9ce4_8422_2325_u64;
            let (value, echo) = tcp.timestamps.unwrap_or_default();
            let blocks = tcp.sack.0[..tcp.sack.1].iter().flat_map(|(from, to)| [*from, *to]);
            for word in [tcp.seq, tcp.ack, value, echo, packet.payload].into_iter().chain(blocks) {
                name = (name ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
            }
            name
        }
    }
}

/// Sets the fate of packets before the first and after the last that arrived to unknown: the other capture may not
/// cover them.
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

/// Data packets captured at one end, offloaded ones split into segments, and the sequence number from which their
/// offsets count.
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
            Kind::Udp { fingerprint, .. } | Kind::Quic { fingerprint, .. } => {
                found.push(At { name: fingerprint, time_ns: *time_ns, bytes });
            }
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
