//! Encrypted QUIC captured at one end: bytes carried by the sizes of packets and the gaps between them; round trips by
//! the handshake and the spin bit (RFC 9000 section 17.4). Losses stay unknown.

use super::headers::{Begins, FlowKey, Kind};
use super::observed::Seen;
use super::told::StretchLog;
use crossfade_core::Carried;

/// Length of an interval in seconds, so long that a burst of a few packets does not set the rate of the link.
const STRETCH_S: f64 = 0.5;
/// Maximum number of intervals; a longer capture has longer ones.
const MOST: f64 = 10_000.0;
/// Smallest share of a flow's packets that must have a QUIC header for the flow to be taken for QUIC.
const NEARLY_ALL: f64 = 0.99;
/// Minimum number of different values of the five protected bits: random header protection exceeds it, constant content
/// does not.
const DIFFERENT: u32 = 16;
/// Largest share of packets at which the spin bit changes; with more it is random and ignored.
const TURNS: f64 = 0.25;
/// Bytes of a full packet if none is larger. Packets above `LARGEST` were coalesced by the interface and count as
/// several.
const FULL: u32 = 1200;
const LARGEST: u32 = 1500;

/// First bytes of a datagram, as of encrypted QUIC; `None` for TCP. A datagram that was taken for unencrypted QUIC by
/// chance counts as a short header.
fn begins(of: &Seen) -> Option<Begins> {
    match of.packet.kind {
        Kind::Udp { begins, .. } => Some(begins),
        Kind::Quic { .. } => Some(Begins::Short { spin: false, protected: 1 }),
        Kind::Tcp(_) => None,
    }
}

/// Bytes carried per interval in the direction of `flow`; `None` if it is not QUIC or lasts less than one interval.
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
    // Hosts hold answers back, differently in handshake and flow, so only round trips of one kind are compared.
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

/// Round trip of the handshake in nanoseconds, at any place of capture: from the first packet of one end to its next
/// one after the answer of the other end. `None` if the capture does not begin with the handshake.
fn handshake(seen: &[Seen]) -> Option<i64> {
    let first = seen.first().filter(|of| begins(of) == Some(Begins::Long))?;
    let answer = seen.iter().position(|of| of.packet.flow != first.packet.flow)?;
    let next = seen[answer..].iter().find(|of| of.packet.flow == first.packet.flow)?;
    // A retransmission in between makes the round trip longer.
    (next.time_ns > first.time_ns).then(|| next.time_ns - first.time_ns)
}

/// Times at which the spin bit in the packets of `flow` changed, each with the time since the previous change (one
/// round trip), in nanoseconds.
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
