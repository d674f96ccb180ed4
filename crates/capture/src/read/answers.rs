//! How long acknowledgements took on the reverse path, by the receiver's clock that they bear (`TSval` of RFC 7323).
//!
//! The time at which an acknowledgement left the receiver is known to a tick, up to how far the clocks are apart. Where
//! acknowledgements waited on the way, in a queue of the reverse path or for a slot of a radio, that time is when the
//! data arrived; the time at which the acknowledgement came says nothing of the link.

use super::clock::nearest_clock;
use super::observed::Observed;

/// An acknowledgement of a packet: the packet's index, when it came, and the receiver's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) index: u32,
    pub(super) came_ns: i64,
    pub(super) value: u32,
}

/// Reverse path on which acknowledgements waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    /// How long one in ten waited, at least.
    pub(super) held_ns: i64,
    /// Tick of the receiver's clock.
    pub(super) tick_ns: i64,
}

/// Fewer acknowledgements tell no clock.
const FEWEST: usize = 100;
/// Share of acknowledgements that waited longer than the time that counts, and least such time in ticks and nanoseconds.
const WAITED: f64 = 0.1;
const LEAST_TICKS: i64 = 2;
const LEAST_NS: i64 = 1_500_000;
/// Largest skew of clocks, and a difference of their rates with which a receiver's ticks are not those of a clock that is
/// known.
const SKEW: f64 = 2e-4;
const NO_CLOCK: f64 = 0.01;

/// Replaces the times at which acknowledgements came by those at which the receiver sent them, if they waited on the
/// reverse path.
pub(super) fn without_waits(packets: &mut [Observed], answers: &[Answer]) -> Option<Waits> {
    let (first, last) = (answers.first()?, answers.last()?);
    let lasts_s = (last.came_ns - first.came_ns) as f64 / 1e9;
    let ticks = |of: &Answer| i64::from(of.value.wrapping_sub(first.value).cast_signed());
    let rate = nearest_clock(ticks(last), lasts_s).filter(|_| answers.len() >= FEWEST)?;
    let tick_ns = (1e9 / rate) as i64;
    let late: Vec<i64> =
        answers.iter().map(|of| of.came_ns - (ticks(of) as f64 / rate * 1e9) as i64).collect();
    // The shortest times of the beginning and of the end show the skew.
    let part = answers.len() / 4;
    let least = |of: &[i64]| of.iter().copied().min().unwrap_or(0);
    let between_ns = answers[answers.len() - part / 2 - 1].came_ns - answers[part / 2].came_ns;
    let slope =
        (least(&late[answers.len() - part..]) - least(&late[..part])) as f64 / between_ns.max(1) as f64;
    // A clock of other ticks goes apart all the time, a queue fills once.
    let middle = least(&late[2 * part..3 * part]) - least(&late[part..2 * part]);
    let all = least(&late[answers.len() - part..]) - least(&late[..part]);
    if slope.abs() > NO_CLOCK && middle.abs() > all.abs() / 6 {
        return None;
    }
    let slope = if slope.abs() <= SKEW { slope } else { 0.0 };
    let straight: Vec<i64> = (late.iter().zip(answers))
        .map(|(late, of)| late - (slope * (of.came_ns - first.came_ns) as f64) as i64)
        .collect();
    let shortest = least(&straight);
    let mut sorted: Vec<i64> = straight.iter().map(|late| late - shortest).collect();
    sorted.sort_unstable();
    let held_ns = sorted[((1.0 - WAITED) * (sorted.len() - 1) as f64) as usize];
    if held_ns < LEAST_NS.max(LEAST_TICKS * tick_ns) {
        // Where few waited, these say nothing.
        let most_ns = (LEAST_NS + tick_ns).max((LEAST_TICKS + 1) * tick_ns);
        for (_, of) in straight.iter().zip(answers).filter(|(late, _)| **late - shortest >= most_ns) {
            packets[of.index as usize].seen_ns = None;
        }
        return None;
    }
    for (late, of) in straight.iter().zip(answers) {
        packets[of.index as usize].seen_ns = Some(of.came_ns - (late - shortest));
    }
    Some(Waits { held_ns, tick_ns })
}

#[cfg(test)]
mod tests {
    use super::super::observed::Fate;
    use super::*;

    /// A packet each 2 ms over 20 ms, whose acknowledgements, with a clock of milliseconds that is 50 ppm fast, take 20
    /// ms and what they wait.
    fn answered(waits_ns: impl Fn(i64) -> i64) -> (Vec<Observed>, Vec<Answer>) {
        let packet = |index: i64| {
            let sent_ns = index * 2_000_000;
            let arrived_ns = sent_ns + 20_000_000;
            let came_ns = arrived_ns + 20_000_000 + waits_ns(index);
            let value = (arrived_ns as f64 * 1.00005 / 1e6) as u32;
            let observed = Observed { sent_ns, bytes: 1500, fate: Fate::Arrived, seen_ns: Some(came_ns) };
            (observed, Answer { index: index as u32, came_ns, value })
        };
        (0..10_000).map(packet).unzip()
    }

    #[test]
    fn acknowledgements_that_waited_tell_when_data_arrived() {
        let (mut packets, answers) = answered(|index| index % 500 * 100_000);
        let found = without_waits(&mut packets, &answers).unwrap();
        assert_eq!(found.tick_ns, 1_000_000);
        assert!((43_000_000..47_000_000).contains(&found.held_ns), "{found:?}");
        for packet in &packets {
            let trip = packet.seen_ns.unwrap() - packet.sent_ns;
            assert!((38_500_000..=41_500_000).contains(&trip), "{trip}");
        }
    }

    /// A queue of 300 ms that fills within seconds, and a clock whose ticks are 2.4 % shorter.
    #[test]
    fn a_queue_that_fills_is_told_from_other_ticks() {
        let (mut packets, answers) = answered(|index| (index * 200_000).min(300_000_000));
        assert!(without_waits(&mut packets, &answers).is_some_and(|waits| waits.held_ns > 250_000_000));
        let (mut packets, mut answers) = answered(|_| 0);
        for answer in &mut answers {
            answer.value = (f64::from(answer.value) * 1.024) as u32;
        }
        assert_eq!(without_waits(&mut packets, &answers), None);
    }

    /// One in fifty waits 8 ms: their times are none of arrivals, those of the others stay.
    #[test]
    fn few_that_waited_say_nothing() {
        let (mut packets, answers) = answered(|index| if index % 50 == 7 { 8_000_000 } else { 0 });
        let before = packets.clone();
        assert_eq!(without_waits(&mut packets, &answers), None);
        for (index, (packet, before)) in packets.iter().zip(&before).enumerate() {
            assert_eq!(packet.seen_ns, before.seen_ns.filter(|_| index % 50 != 7), "{index}");
        }
    }

    #[test]
    fn acknowledgements_that_came_at_once_keep_their_times() {
        let (mut packets, answers) = answered(|index| index % 7 * 100_000);
        let before = packets.clone();
        assert_eq!(without_waits(&mut packets, &answers), None);
        assert_eq!(packets, before);
    }
}
