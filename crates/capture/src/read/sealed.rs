//! Encrypted QUIC at one end: the sizes of its packets and the gaps between them say what was carried; its handshake
//! and its spin bit say round trips (RFC 9000 section 17.4). What was lost stays unknown.

use super::headers::{Begins, FlowKey, Kind};
use super::observed::Seen;
use super::told::StretchLog;
use crossfade_core::Carried;

/// Length of a stretch: a burst of a few packets does not count for the rate of the link.
const STRETCH_S: f64 = 0.5;
/// Maximum number of intervals.
const MOST: f64 = 10_000.0;
/// Least share of a flow's packets that begin as QUIC's do, for the flow to be taken for QUIC.
const NEARLY_ALL: f64 = 0.99;
/// Header protection makes so many different values of five random bits of as many packets as this, and constant
/// content does not.
const DIFFERENT: u32 = 16;
/// The spin bit turns at most at this share of the packets: else it is random.
const TURNS: f64 = 0.25;
/// Bytes of a full packet, if none is larger, and of the largest; a larger one is a train that the interface cuts or
/// joined.
const FULL: u32 = 1200;
const LARGEST: u32 = 1500;

/// First bytes of a datagram; `None` for TCP. An encrypted datagram may look like a clear one by chance.
fn begins(of: &Seen) -> Option<Begins> {
    match of.packet.kind {
        Kind::Udp { begins, .. } => Some(begins),
        Kind::Quic { .. } => Some(Begins::Short { spin: false, protected: 1 }),
        Kind::Tcp(_) => None,
    }
}

/// Bytes carried in the direction of `flow`; `None` if it is not QUIC.
pub(super) fn stretches(seen: &[Seen], flow: FlowKey, is_cut: bool) -> Option<StretchLog> {
    let (mut known, mut long, mut protected) = (0_u64, 0_u64, 0_u32);
    for of in seen {
        match begins(of)? {
            Begins::Long => long += 1,
            Begins::Short { protected: bits, .. } => protected |= 1 << bits,
            Begins::Other => continue,
        }
        known += 1;
    }
    let is_quic =
        known as f64 >= NEARLY_ALL * seen.len() as f64 && (long > 0 || protected.count_ones() >= DIFFERENT);
    let (first, last) = (seen.first()?, seen.last()?);
    let lasts_s = (last.time_ns - first.time_ns) as f64 / 1e9;
    if !is_quic || lasts_s < STRETCH_S {
        return None;
    }
    let length_s = STRETCH_S.max(lasts_s / MOST);
    let at = |time_ns: i64| (time_ns - first.time_ns) as f64 / 1e9;
    let trips = round_trips(seen, flow);
    let count = (lasts_s / length_s) as usize;
    let mut found: Vec<Carried> = (0..count)
        .map(|number| Carried {
            from_s: number as f64 * length_s,
            to_s: (number + 1) as f64 * length_s,
            bytes: 0.0,
            packets: 0.0,
            lost: None,
            rtt_s: None,
            is_limited: false,
        })
        .collect();
    let sizes = seen.iter().filter(|of| of.packet.flow == flow).map(|of| of.packet.bytes);
    let full = sizes.filter(|bytes| *bytes <= LARGEST).fold(FULL, u32::max);
    for of in seen.iter().filter(|of| of.packet.flow == flow) {
        if let Some(stretch) = found.get_mut((at(of.time_ns) / length_s) as usize) {
            stretch.bytes += f64::from(of.packet.bytes);
            stretch.packets += f64::from(of.packet.bytes.div_ceil(full));
        }
    }
    for (time_ns, trip_ns) in &trips {
        if let Some(stretch) = found.get_mut((at(*time_ns) / length_s) as usize) {
            let trip_s = *trip_ns as f64 / 1e9;
            stretch.rtt_s = Some(stretch.rtt_s.map_or(trip_s, |least| least.min(trip_s)));
        }
    }
    // Ends hold answers back: round trips of one kind are compared with each other.
    let least_ns = trips.iter().map(|trip| trip.1).min().or_else(|| handshake(seen));
    Some(StretchLog {
        flow: format!("QUIC, {flow}"),
        is_udp: false,
        packet_bytes: f64::from(full),
        flows: 1.0,
        lost_share: None,
        least_rtt_s: least_ns.map(|least| least as f64 / 1e9),
        stretches: found,
        is_cut,
    })
}

/// Times from the first packet of one end to that of the other, and from that to the next of the first: both together
/// are a round trip wherever they were captured.
fn handshake(seen: &[Seen]) -> Option<i64> {
    let first = seen.first().filter(|of| begins(of) == Some(Begins::Long))?;
    let answer = seen.iter().position(|of| of.packet.flow != first.packet.flow)?;
    let next = seen[answer..].iter().find(|of| of.packet.flow == first.packet.flow)?;
    // A packet that was retransmitted in between would make it longer.
    (next.time_ns > first.time_ns).then(|| next.time_ns - first.time_ns)
}

/// Times at which the spin bit of the packets of `flow` turned, each with the time since it turned before.
fn round_trips(seen: &[Seen], flow: FlowKey) -> Vec<(i64, i64)> {
    let (mut packets, mut last, mut turns) = (0_u64, None, Vec::new());
    for of in seen.iter().filter(|of| of.packet.flow == flow) {
        let Some(Begins::Short { spin, .. }) = begins(of) else { continue };
        packets += 1;
        if last.is_some_and(|before| before != spin) {
            turns.push(of.time_ns);
        }
        last = Some(spin);
    }
    if turns.len() as f64 > TURNS * packets as f64 {
        return Vec::new();
    }
    turns.windows(2).filter(|pair| pair[1] > pair[0]).map(|pair| (pair[1], pair[1] - pair[0])).collect()
}
