//! Departure times of packets from the link, and the content of its queue, without knowledge of the rate.
//!
//! A packet with an observed arrival left the link one base delay earlier. A packet finds in the queue the data sent
//! before it that had not left yet. This needs no rate, so it also holds for varying rates and outages.

use crate::record::{Fate, Record};

/// Departure time in seconds of each packet with an observed arrival, one base delay before it; NaN for other packets.
/// Departures are made monotonic, since packets keep their order.
pub(crate) fn seen_departures(record: &Record, base_s: f64) -> Vec<f64> {
    let packets = record.packets();
    let mut found = vec![f64::NAN; packets.len()];
    let mut bound = f64::INFINITY;
    for (index, packet) in packets.iter().enumerate().rev() {
        if let Some(seen) = packet.seen_s.filter(|_| packet.fate == Fate::Arrived) {
            bound = bound.min(seen - base_s);
            found[index] = bound;
        }
    }
    found
}

/// Departure time in seconds of each packet from the link, by the sender's clock; NaN for packets that a full queue
/// dropped. Packets keep their order. Unobserved departures are interpolated by bytes between observed ones, but are no
/// later than a link of about `rate_bps` would allow, if it was idle until the next observed departure.
pub(crate) fn departures(
    record: &Record,
    base_s: f64,
    rate_bps: f64,
    is_dropped: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let packets = record.packets();
    let mut found = seen_departures(record, base_s);
    // Packets since the last observed departure, each with the bytes sent up to it.
    let (mut last, mut between) = (f64::NEG_INFINITY, Vec::<(usize, f64)>::new());
    let mut bytes = 0.0;
    for index in 0..packets.len() {
        if is_dropped(index) {
            found[index] = f64::NAN;
            continue;
        }
        bytes += packets[index].bytes;
        let at = found[index];
        if at.is_nan() {
            between.push((index, bytes));
            continue;
        }
        fill(&mut found, record, &between, (last, at, index), (bytes, rate_bps));
        (last, bytes) = (at, 0.0);
        between.clear();
    }
    fill(&mut found, record, &between, (last, f64::INFINITY, packets.len()), (bytes, rate_bps));
    found
}

/// Fills in the departures of packets `between` two observed ones at `from` and `to`; the second is of packet `next`.
fn fill(
    found: &mut [f64],
    record: &Record,
    between: &[(usize, f64)],
    (from, to, next): (f64, f64, usize),
    (bytes, rate_bps): (f64, f64),
) {
    let packets = record.packets();
    let soonest: Vec<f64> = (between.iter())
        .scan(from, |last, (index, _)| {
            *last = last.max(packets[*index].sent_s) + 8.0 * packets[*index].bytes / rate_bps;
            Some(*last)
        })
        .collect();
    // After the last idle time of the link, interpolate by bytes.
    let sent_next = |at: usize| between.get(at + 1).map_or(next, |of| of.0);
    let idle = (0..between.len())
        .rev()
        .find(|at| packets.get(sent_next(*at)).is_some_and(|packet| packet.sent_s > soonest[*at]));
    let behind = idle.map_or(0, |at| at + 1);
    let (until_idle, idle_s) = idle.map_or((0.0, from), |at| (between[at].1, soonest[at].max(from)));
    let start = between.get(behind).map_or(from, |of| idle_s.max(packets[of.0].sent_s));
    let mut last = from;
    for (at, ((index, until), soonest)) in between.iter().zip(soonest).enumerate() {
        let sent = packets[*index].sent_s;
        let left = if at < behind {
            soonest
        } else if to.is_finite() {
            start + (to - start).max(0.0) * (until - until_idle) / (bytes - until_idle)
        } else {
            sent
        };
        last = left.max(sent).max(last).min(to.max(sent));
        found[*index] = last;
    }
}

/// Bytes that each packet found in the queue, including the packet in transmission, by departure times. Dropped packets
/// (NaN) do not count as content.
pub(crate) fn found_before(record: &Record, departures: &[f64]) -> Vec<f64> {
    let packets = record.packets();
    let (mut oldest, mut bytes) = (0, 0.0_f64);
    let mut found = Vec::with_capacity(packets.len());
    for (index, packet) in packets.iter().enumerate() {
        while oldest < index {
            let is_there = departures[oldest] > packet.sent_s;
            if is_there {
                break;
            }
            if !departures[oldest].is_nan() {
                bytes -= packets[oldest].bytes;
            }
            oldest += 1;
        }
        found.push(bytes.max(0.0));
        if !departures[index].is_nan() {
            bytes += packet.bytes;
        }
    }
    found
}

/// Maximum number of bytes that each packet may have found in the queue: packets without an observed departure stay
/// until the next observed one.
pub(crate) fn found_at_most(record: &Record, base_s: f64, is_dropped: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut left = seen_departures(record, base_s);
    let mut next = f64::INFINITY;
    for (index, at) in left.iter_mut().enumerate().rev() {
        next = if at.is_nan() { next } else { *at };
        *at = if is_dropped(index) { f64::NAN } else { next };
    }
    found_before(record, &left)
}

/// Bytes that each packet found in the queue of a link of `rate_bps`, by the time until its predecessor left. Dropped
/// packets do not count as content; packets lost by a channel do, since they used the link.
pub(crate) fn found_by_delay(record: &Record, departures: &[f64], rate_bps: f64) -> Vec<f64> {
    let mut last = f64::NEG_INFINITY;
    let of = |(packet, left): (&crate::record::Packet, &f64)| {
        let found = ((last - packet.sent_s) * rate_bps / 8.0).max(0.0);
        if left.is_finite() {
            last = *left;
        }
        found
    };
    record.packets().iter().zip(departures).map(of).collect()
}

/// Time in which the link was never idle, up to an observed departure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    /// Beginning of the gap in seconds.
    pub(crate) from_s: f64,
    /// End of the gap in seconds, a departure.
    pub(crate) to_s: f64,
    /// Bits sent in the gap.
    pub(crate) bits: f64,
    /// Number of packets sent in the gap.
    pub(crate) packets: f64,
}

impl Gap {
    pub(crate) fn lasts_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    pub(crate) fn rate_bps(&self) -> f64 {
        self.bits / self.lasts_s()
    }
}

/// Gaps between observed departures in which the link was busy: the second packet reached the queue at least `margin_s`
/// seconds before the first left, so the link sent all packets between them in that time. The last packet of a train
/// with an ACK of its own is left out: the ACK may have waited for another packet.
pub(crate) fn busy(record: &Record, departures: &[f64], margin_s: f64) -> Vec<Gap> {
    let packets = record.packets();
    let slack = record.tick_s() + margin_s;
    // Sending time of the next packet that arrived.
    let mut nexts = vec![f64::INFINITY; packets.len()];
    let mut next = f64::INFINITY;
    for (index, packet) in packets.iter().enumerate().rev() {
        nexts[index] = next;
        if packet.fate == Fate::Arrived {
            next = packet.sent_s;
        }
    }
    let mut found: Vec<Gap> = Vec::new();
    let mut last: Option<f64> = None;
    let (mut bits, mut count) = (0.0, 0.0);
    for (index, packet) in packets.iter().enumerate() {
        let at = departures[index];
        if at.is_nan() {
            continue;
        }
        bits += 8.0 * packet.bytes;
        count += 1.0;
        if packet.seen_s.is_none() || packet.fate != Fate::Arrived {
            continue;
        }
        let is_alone = record.is_round_trip() && count < 2.0 && nexts[index] >= at;
        if let Some(before) = last
            && at > before
            && packet.sent_s + slack <= before
            && !is_alone
        {
            found.push(Gap { from_s: before, to_s: at, bits, packets: count });
        }
        if last.is_none_or(|before| at > before) {
            last = Some(at);
            (bits, count) = (0.0, 0.0);
        }
    }
    found
}

/// Gaps from the time at which a packet came to a link that may have been idle to its departure. Departures are known
/// to `margin_s` seconds.
pub(crate) fn alone(record: &Record, departures: &[f64], margin_s: f64) -> Vec<Gap> {
    let slack = record.tick_s() + margin_s;
    let mut last = f64::NEG_INFINITY;
    let mut found = Vec::new();
    for (packet, at) in record.packets().iter().zip(departures).filter(|(_, at)| at.is_finite()) {
        let from_s = packet.sent_s.max(last);
        if packet.sent_s + slack > last && *at > from_s && packet.seen_s.is_some() {
            found.push(Gap { from_s, to_s: *at, bits: 8.0 * packet.bytes, packets: 1.0 });
        }
        last = last.max(*at);
    }
    found
}

/// Gaps from the time at which packets came to an idle link to the first observed departure: the transmission of these
/// packets, which shows the rate if the base delay is known. An ACK of one packet alone says nothing, since it may have
/// waited for another packet.
pub(crate) fn first_served(record: &Record, departures: &[f64]) -> Vec<Gap> {
    let mut found = Vec::new();
    let mut last = f64::NEG_INFINITY;
    // Sending time and bits of the packets since the last observed one, and true if all of them arrived.
    let (mut run, mut is_whole): (Vec<(f64, f64)>, bool) = (Vec::new(), true);
    for (packet, at) in record.packets().iter().zip(departures).filter(|(_, at)| at.is_finite()) {
        is_whole &= packet.fate == Fate::Arrived;
        run.push((packet.sent_s, 8.0 * packet.bytes));
        if packet.seen_s.is_none() || packet.fate != Fate::Arrived {
            continue;
        }
        let is_prompt = !record.is_round_trip() || run.len() >= 2;
        if is_prompt && is_whole && run[0].0 >= last {
            found.extend(served_at_once(&run, *at));
        }
        last = *at;
        run.clear();
        is_whole = true;
    }
    found
}

/// Gap of the last packets of a run (sending time, bits) that the link sent without an idle time until `at`. If a
/// packet came later than the link, at the mean rate of the run, would have sent those in front of it, the link was
/// idle before it: otherwise the run would have ended earlier.
fn served_at_once(run: &[(f64, f64)], at: f64) -> Option<Gap> {
    let mut first = 0;
    loop {
        let of = &run[first..];
        let (from_s, bits) = (of.first()?.0, of.iter().map(|packet| packet.1).sum::<f64>());
        let (mut before, mut late) = (0.0, 0);
        for (index, (sent_s, packet)) in of.iter().enumerate() {
            if sent_s - from_s > (at - from_s) * before / bits {
                late = index;
            }
            before += packet;
        }
        if late == 0 {
            return (at > from_s).then_some(Gap { from_s, to_s: at, bits, packets: of.len() as f64 });
        }
        first += late;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;

    /// Record of trains of four packets of 1000 B over 1 Mbit/s, 8 ms each, with an outage of 100 ms; every second
    /// packet is observed.
    fn record() -> Record {
        let mut at = 0.0_f64;
        let packets = (0..400).map(|index: u32| {
            let sent_s = f64::from(index / 4) * 40e-3;
            at = at.max(sent_s) + 8e-3;
            if index == 202 {
                at += 0.1;
            }
            let seen_s = (index % 2 == 1).then_some(at + 50e-3);
            Packet { sent_s, bytes: 1000.0, seen_s, fate: Fate::Arrived }
        });
        Record::new(packets.collect(), true).unwrap()
    }

    #[test]
    fn what_is_in_the_queue_needs_no_rate() {
        let record = record();
        let of = departures(&record, 50e-3, 1e6, |_| false);
        assert!((of[0] - 4e-3).abs() < 5e-3 && (of[1] - 16e-3).abs() < 1e-9, "{:?}", &of[..4]);
        let found = found_before(&record, &of);
        assert_eq!(found[..5], [0.0, 1000.0, 2000.0, 3000.0, 0.0]);
        // The outage builds a queue, which the next trains find.
        assert!(found[204] >= 2000.0, "{:?}", &found[200..210]);
    }

    #[test]
    fn gaps_are_those_of_a_busy_link() {
        let record = record();
        let gaps = busy(&record, &departures(&record, 50e-3, 1e6, |_| false), 1e-6);
        assert!(gaps.iter().all(|gap| gap.packets == 2.0));
        let usual: Vec<&Gap> = gaps.iter().filter(|gap| gap.lasts_s() < 50e-3).collect();
        assert!(usual.len() >= 90 && usual.iter().all(|gap| (gap.rate_bps() - 1e6).abs() < 1.0));
        assert_eq!(gaps.len() - usual.len(), 1, "the outage");
    }

    /// The first acknowledgement of each train answers two packets and shows the rate; acknowledgements of single
    /// packets show none.
    #[test]
    fn the_first_of_a_train_show_the_rate() {
        let record = record();
        let of = first_served(&record, &departures(&record, 50e-3, 1e6, |_| false));
        assert!(of.len() > 80 && of.iter().all(|gap| gap.packets == 2.0), "{}", of.len());
        assert!(of.iter().all(|gap| (gap.rate_bps() - 1e6).abs() < 1.0));
        // An acknowledgement of one packet may have waited for another.
        let packets = (0..400).map(|index: u32| {
            let sent_s = f64::from(index) * 20e-3;
            let late_s = if index.is_multiple_of(3) { 10e-3 } else { 0.0 };
            Packet { sent_s, bytes: 1000.0, seen_s: Some(sent_s + 58e-3 + late_s), fate: Fate::Arrived }
        });
        let alone = Record::new(packets.collect(), true).unwrap();
        assert_eq!(first_served(&alone, &departures(&alone, 50e-3, 1e6, |_| false)), []);
    }

    /// The gap begins after the last idle time of the link within a run of packets of 8 ms each.
    #[test]
    fn an_idle_time_within_a_run_is_found() {
        let gap = |sent: &[f64], at: f64| {
            let run: Vec<(f64, f64)> = sent.iter().map(|sent_s| (*sent_s, 8e3)).collect();
            served_at_once(&run, at).map(|gap| (gap.from_s, gap.packets, gap.rate_bps().round()))
        };
        assert_eq!(gap(&[0.0, 0.0, 0.0], 24e-3), Some((0.0, 3.0, 1e6)));
        assert_eq!(gap(&[0.0, 5e-3, 15e-3], 24e-3), Some((0.0, 3.0, 1e6)));
        assert_eq!(gap(&[0.0, 0.0, 20e-3], 28e-3), Some((20e-3, 1.0, 1e6)));
        assert_eq!(gap(&[0.0, 10e-3, 12e-3], 26e-3), Some((10e-3, 2.0, 1e6)));
        assert_eq!(gap(&[0.0], 0.0), None);
    }

    /// Unobserved packets left before the link was idle: of pairs 100 ms apart, the second packet of one is lost, so
    /// neither is acknowledged in time. Both left at once, not spread until the next pair.
    #[test]
    fn what_was_not_seen_left_before_the_link_was_idle() {
        let packets = (0..400).map(|index: u32| {
            let (pair, is_second) = (index / 2, index % 2 == 1);
            let sent_s = f64::from(pair) * 0.1;
            let is_lost = index == 201;
            let seen_s = (is_second && !is_lost).then_some(sent_s + 16e-3 + 50e-3);
            Packet { sent_s, bytes: 1000.0, seen_s, fate: if is_lost { Fate::Lost } else { Fate::Arrived } }
        });
        let record = Record::new(packets.collect(), true).unwrap();
        let of = departures(&record, 50e-3, 1e6, |_| false);
        let after = |index: usize| of[index] - record.packets()[index].sent_s;
        assert!((after(200) - 8e-3).abs() < 1e-9 && (after(201) - 16e-3).abs() < 1e-9, "{:?}", &of[198..204]);
    }
}
