//! Test for a shared queue of two flows: round trips of packets sent at the same time are then similar.

use super::observed::Observed;

/// Packets are sent at the same time if they are at most this share of the shortest round trip apart.
const AT_ONE_TIME: f64 = 0.125;
/// Minimum number of pairs of packets sent at the same time; `MOST` is the number of packets examined.
const FEWEST: usize = 20;
const MOST: usize = 2000;
/// Largest ratio of the median difference of round trips at the same time to that at different times.
const ALIKE: f64 = 0.5;

/// Time of sending and round trip, in nanoseconds, of each packet that has a round trip.
fn trips(of: &[Observed]) -> Vec<(i64, i64)> {
    of.iter().filter_map(|packet| Some((packet.sent_ns, packet.seen_ns? - packet.sent_ns))).collect()
}

/// True if the round trips of two flows rise and fall together. Both have their packets in order of sending.
pub(super) fn shares_queue(first: &[Observed], other: &[Observed]) -> bool {
    let (first, other) = (trips(first), trips(other));
    let Some(shortest) = first.iter().map(|trip| trip.1).min() else { return false };
    let near_ns = (AT_ONE_TIME * shortest as f64) as u64;
    let step = (other.len() / MOST).max(1);
    let matched: Vec<(i64, i64)> = (other.iter().step_by(step))
        .filter_map(|(sent, trip)| {
            let next = first.partition_point(|of| of.0 < *sent);
            let near = first[next.saturating_sub(1)..(next + 1).min(first.len())].iter();
            let nearest = near.min_by_key(|of| of.0.abs_diff(*sent))?;
            (nearest.0.abs_diff(*sent) <= near_ns).then_some((*trip, nearest.1))
        })
        .collect();
    if matched.len() < FEWEST {
        return false;
    }
    // Pairs at different times: half of the record apart.
    let apart = matched.iter().cycle().skip(matched.len() / 2);
    let at_one_time = middle(matched.iter().map(|(one, other)| one.abs_diff(*other)));
    let at_others = middle(matched.iter().zip(apart).map(|((one, _), (_, other))| one.abs_diff(*other)));
    at_one_time as f64 <= ALIKE * at_others as f64
}

/// Median of the values.
fn middle(of: impl Iterator<Item = u64>) -> u64 {
    let mut found: Vec<u64> = of.collect();
    let at = found.len() / 2;
    *found.select_nth_unstable(at).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::observed::Fate;

    /// Flow with a packet each 5 ms, whose round trip is 30 ms plus the queueing delay at its time.
    fn flow(first_ns: i64, queue_ns: impl Fn(i64) -> i64) -> Vec<Observed> {
        let packet = |index: i64| {
            let sent_ns = first_ns + index * 5_000_000;
            let seen_ns = Some(sent_ns + 30_000_000 + queue_ns(sent_ns));
            Observed { sent_ns, bytes: 1500, fate: Fate::Arrived, seen_ns }
        };
        (0..2000).map(packet).collect()
    }

    #[test]
    fn flows_of_one_queue_are_told_from_others() {
        let saw = |period: i64| move |at: i64| at % (period * 1_000_000) / period * 40;
        let first = flow(0, saw(700));
        assert!(shares_queue(&first, &flow(1_200_000, saw(700))));
        assert!(!shares_queue(&first, &flow(1_200_000, saw(430))), "another queue");
        assert!(!shares_queue(&first, &flow(1_200_000, |_| 0)), "no queue");
        assert!(!shares_queue(&first, &flow(0, saw(700))[..15]), "few packets");
    }
}
