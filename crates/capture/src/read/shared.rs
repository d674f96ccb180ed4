//! Test for a shared queue of two flows: round trips of packets sent at the same time are then similar.

use super::observed::Observed;

/// Packets are sent at the same time if they are at most this share of the shortest round trip apart.
const AT_ONE_TIME: f64 = 0.125;
/// Minimum number of pairs of packets sent at the same time; `MOST` is the number of packets examined.
const FEWEST: usize = 20;
const MOST: usize = 2000;
/// Round trips at one time differ at most by this share of what those at other times differ by, or of the shortest where
/// none stood in a queue.
const ALIKE: f64 = 0.5;
const SAME: f64 = 0.02;

/// Time of sending and round trip, in nanoseconds, of each packet that has a round trip.
fn trips(of: &[Observed]) -> Vec<(i64, i64)> {
    of.iter().filter_map(|packet| Some((packet.sent_ns, packet.seen_ns? - packet.sent_ns))).collect()
}

/// Whether round trips of two flows rise and fall together, or are the same; `None` if too few packets of both were sent
/// at one time. Packets are in the order of sending.
pub(super) fn shares_queue(first: &[Observed], other: &[Observed]) -> Option<bool> {
    let (first, other) = (trips(first), trips(other));
    let shortest = first.iter().map(|trip| trip.1).min()?;
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
        return None;
    }
    // Those at other times are half of both records apart.
    let mut all: Vec<(i64, i64)> = first.iter().chain(&other).copied().collect();
    all.sort_unstable();
    let apart = all.iter().cycle().skip(all.len() / 2);
    let at_one_time = middle(matched.iter().map(|(one, other)| one.abs_diff(*other)));
    let at_others = middle(all.iter().zip(apart).map(|(one, other)| one.1.abs_diff(other.1)));
    Some(at_one_time as f64 <= (ALIKE * at_others as f64).max(SAME * shortest as f64))
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
        assert_eq!(shares_queue(&first, &flow(1_200_000, saw(700))), Some(true));
        assert_eq!(shares_queue(&first, &flow(1_200_000, saw(430))), Some(false), "another queue");
        assert_eq!(shares_queue(&first, &flow(1_200_000, |_| 0)), Some(false), "no queue");
        assert_eq!(shares_queue(&first, &flow(0, saw(700))[..15]), None, "few packets");
        let idle = flow(0, |at| at % 7_000_000 / 100);
        assert_eq!(
            shares_queue(&idle, &flow(1_200_000, |at| at % 5_000_000 / 100)),
            Some(true),
            "no queue at all"
        );
    }
}
