//! TCP captured at the receiver: the timestamps option dates the transmissions (RFC 7323).
//!
//! A segment carries the sender's clock (`TSval`), so its one-way delay is known to a tick, plus the unknown offset of
//! the clocks. The receiver's own clock comes back (`TSecr`) with the segments that an acknowledgement released: the
//! shortest such echo is the round trip of the empty path. Both together give the round trip of every segment. A range
//! of bytes was lost if it arrives after later data and with a later `TSval`.

use super::clock::nearest_clock;
use super::error::ReadError;
use super::headers::{FlowKey, Kind, Tcp};
use super::observed::{Fate, Observed, Seen};
use super::segments::mss_of;
use std::collections::BTreeMap;

/// Number of remembered values of the receiver's timestamps clock.
const MOST_VALUES: usize = 4096;
/// Minimum number of segments from which the frequency of the clock is estimated.
const FEWEST: usize = 100;

/// Segment that arrived, or one that is known to have been lost.
#[derive(Clone, Copy)]
struct Arrival {
    /// Arrival time in nanoseconds; of a lost segment, the time at which the loss was detected.
    at_ns: i64,
    ticks: i64,
    bytes: u32,
    is_lost: bool,
}

/// Packets of a flow, with transmission times by the timestamps option, and the tick of the sender's clock in
/// nanoseconds.
///
/// # Errors
/// If too few segments have timestamps, or the tick cannot be determined.
pub(super) fn packets(seen: &[Seen], flow: FlowKey) -> Result<(Vec<Observed>, i64), ReadError> {
    let mss = mss_of(seen, flow).max(1);
    let start = seen.first().map_or(0, |seen| seen.time_ns);
    let mut arrivals: Vec<Arrival> = Vec::new();
    let mut origin: Option<(u32, u32)> = None;
    let (mut next, mut last_ticks) = (0_i64, 0_i64);
    // Holes in the received bytes, by their first offset: their end, and the sender's clock in the segment behind them.
    let mut holes: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut values: BTreeMap<u32, i64> = BTreeMap::new();
    let mut shortest_ns = i64::MAX;
    for Seen { time_ns, packet } in seen {
        let Kind::Tcp(tcp) = packet.kind else { continue };
        let now = time_ns - start;
        let Tcp { timestamps: Some((value, echo)), .. } = tcp else { continue };
        if packet.flow != flow {
            values.entry(value).or_insert(now);
            if values.len() > MOST_VALUES {
                values.pop_first();
            }
            continue;
        }
        if packet.payload == 0 {
            continue;
        }
        if let Some(at) = values.get(&echo) {
            shortest_ns = shortest_ns.min(now - at);
        }
        let (first, clock) = *origin.get_or_insert((tcp.seq, value));
        let near = first.wrapping_add(next as u32);
        let from = next + i64::from(tcp.seq.wrapping_sub(near).cast_signed());
        let ticks =
            last_ticks + i64::from(value.wrapping_sub(clock.wrapping_add(last_ticks as u32)).cast_signed());
        last_ticks = last_ticks.max(ticks);
        let headers = packet.bytes - packet.payload;
        let to = from + i64::from(packet.payload);
        if from > next {
            holes.insert(next, (from, ticks));
        }
        if from < next {
            filled(&mut holes, (from, to), (now, ticks), (mss, headers), &mut arrivals);
        }
        next = next.max(to);
        // Segments that the interface coalesced are split.
        let mut at = from;
        while at < to {
            let size = i64::from(mss).min(to - at);
            arrivals.push(Arrival { at_ns: now, ticks, bytes: size as u32 + headers, is_lost: false });
            at += size;
        }
    }
    if arrivals.len() < FEWEST || shortest_ns == i64::MAX {
        return Err(ReadError::AtReceiver);
    }
    let rate = ticks_a_second(&arrivals).ok_or(ReadError::AtReceiver)?;
    let tick_ns = (1e9 / rate) as i64;
    // Time at the middle of the tick.
    let clock_ns = |ticks: i64| ((ticks as f64 + 0.5) / rate * 1e9) as i64;
    let seen = arrivals.iter().filter(|arrival| !arrival.is_lost);
    let apart = seen.map(|arrival| arrival.at_ns - clock_ns(arrival.ticks)).min().unwrap_or(0);
    let mut found: Vec<Observed> = arrivals
        .iter()
        .map(|arrival| Observed {
            // The shortest delay is set to the shortest round trip.
            sent_ns: clock_ns(arrival.ticks) + apart - shortest_ns,
            bytes: arrival.bytes,
            fate: if arrival.is_lost { Fate::Lost } else { Fate::Arrived },
            seen_ns: (!arrival.is_lost).then_some(arrival.at_ns),
        })
        .collect();
    found.sort_by_key(|packet| packet.sent_ns);
    Ok((found, tick_ns))
}

/// Records that the bytes `from` to `to` arrived at `now` in holes. They were lost before if their clock value is later
/// than that of the segment which showed the hole.
fn filled(
    holes: &mut BTreeMap<i64, (i64, i64)>,
    (from, to): (i64, i64),
    (now, ticks): (i64, i64),
    (mss, headers): (u32, u32),
    arrivals: &mut Vec<Arrival>,
) {
    let touched: Vec<(i64, (i64, i64))> =
        holes.range(..to).filter(|(_, (end, _))| *end > from).map(|(start, of)| (*start, *of)).collect();
    for (start, (end, shown)) in touched {
        holes.remove(&start);
        if start < from {
            holes.insert(start, (from, shown));
        }
        if end > to {
            holes.insert(to, (end, shown));
        }
        if ticks <= shown {
            continue;
        }
        let mut at = start.max(from);
        while at < end.min(to) {
            let size = i64::from(mss).min(end.min(to) - at);
            arrivals.push(Arrival { at_ns: now, ticks: shown, bytes: size as u32 + headers, is_lost: true });
            at += size;
        }
    }
}

/// Frequency of the sender's clock in ticks per second: the usual frequency within a factor of 1.5 of the observed one;
/// `None` without one, or if the capture lasts less than 0.5 s.
fn ticks_a_second(arrivals: &[Arrival]) -> Option<f64> {
    let seen: Vec<&Arrival> = arrivals.iter().filter(|arrival| !arrival.is_lost).collect();
    let (first, last) = (seen.first()?, seen.last()?);
    nearest_clock(last.ticks - first.ticks, (last.at_ns - first.at_ns) as f64 / 1e9)
}
