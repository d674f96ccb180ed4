//! Base delay of a path with a changing rate: delays minus queueing, and minus transmission at the rate of their time.

use crate::bootstrap::{median, spread};
use crate::departures::found_before;
use crate::over_time;
use crate::record::{Fate, Record};

/// Number of packets after an idle time of the link that show the base delay.
const FIRST: usize = 4;
/// Minimum number of first packets after idle times, in the whole record, that show the base delay.
const FEWEST_FIRST: usize = 30;
/// Standard error of a base delay from one train of packets or one delay, in transmission times of a full packet.
const UNSURE: f64 = 0.25;
/// Maximum number of packets in a train, which begins after an idle time of the link.
const TRAIN: usize = 12;
/// Number of first gaps of a train that show its rate.
const HEAD: usize = 6;
/// Minimum number of gaps of a train that show how exact its rate is.
const FEWEST_GAPS: usize = 4;
/// Minimum growth of the delay from one packet of a train to the next, as a share of a transmission time, if they
/// waited for one another.
const GROWS: f64 = 0.02;
/// Minimum growth of the delay like [`GROWS`], but for trains with exact gaps.
const GROWS_EXACT: f64 = 2e-3;
/// Minimum growth of the delay like [`GROWS`], but in deviations of the gaps, for trains with exact gaps.
const GROWS_DEVIATIONS: f64 = 2.0;
/// Minimum number of trains, or of first packets after idle times, for an exact base delay by their agreement.
const FEWEST_TRAINS: usize = 8;
/// Minimum standard error of a base delay, as a share of a transmission time.
const EXACT: f64 = 0.01;
/// Difference of a gap in a train from the usual one, in transmission times, beyond which the rate changed within the
/// train.
const CHANGES: f64 = 0.25;
/// Minimum excess of the shortest delay of a record over the base delay of a train, as a share of the train's
/// transmission time. If the train's first packet was late for another reason than the queue, its base delay is too
/// long, and leaves less.
const LEAVES: f64 = 0.2;

/// Base delay of a path with its error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    /// Base delay in seconds.
    pub(crate) delay_s: f64,
    /// Standard error of the base delay in seconds.
    pub(crate) error_s: f64,
    /// Standard deviation of the delay of one packet in seconds; infinite if unknown.
    spread_s: f64,
    /// True if the base delay is exact: from packets at times with an observed rate, or from trains.
    pub(crate) is_shown: bool,
}

/// Minimum ratio of a transmission time to an error of the delay for this delay to be exact.
const ERRORS: f64 = 20.0;
/// Minimum ratio of a transmission time on an idle link to the standard deviation of one delay, for the transmission to
/// show the rate.
const DEVIATIONS: f64 = 3.0;

/// Square root of half of pi: for a normal distribution, the ratio of the standard error of a median to that of a mean,
/// and of the standard deviation to the mean absolute deviation.
const NORMAL: f64 = 1.2533;

/// Rates of a link over time, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates<'a> {
    /// Pairs of start in seconds since the first packet, and rate in bit/s.
    pub(crate) rows: &'a [(f64, f64)],
    /// For each window, true if packets that waited for one another show its rate.
    pub(crate) shown: &'a [bool],
    /// Length of a window in seconds.
    pub(crate) window_s: f64,
}

impl Rates<'_> {
    fn is_shown(&self, at: f64) -> bool {
        self.shown.get((at / self.window_s) as usize) == Some(&true)
    }

    /// Shortest transmission time in seconds of `bits` that left at about the time `at`: in a neighbouring window the
    /// link may have been faster.
    fn shortest_s(&self, bits: f64, at: f64) -> f64 {
        bits / over_time::fastest(self.rows, at - self.window_s, at + self.window_s)
    }
}

impl Base {
    /// Estimates the base delay: the median of the delays minus queueing and transmission, over the first packets after
    /// idle times of the link, only at times with an observed rate if these packets are enough. A base delay that is
    /// too short makes such times fewer, not wrong. If the link was hardly ever idle, or trains of packets are more
    /// exact, the base delay comes from trains, which show their own rate by the gaps between packets.
    pub(crate) fn new(record: &Record, left: &[f64], rates: Rates<'_>) -> Self {
        let Delays { mut rests, mut of_shown, least, most, shortest_s, trains } =
            Delays::new(record, left, rates);
        let usual_s = 8.0 * record.full_bytes() / over_time::rate_at(rates.rows, 0.0);
        let by_trains = Self::by_trains(&trains, (least, most, shortest_s), usual_s);
        // Times of a coarse clock agree because of its ticks.
        let is_fine = ERRORS * record.tick_s() <= usual_s;
        let exact = by_trains.filter(|base| base.is_shown && is_fine);
        // Packets sent in an outage waited until its end, so the median deviation counts.
        let delay_s = median(&mut of_shown);
        let spread_s = spread(of_shown.iter().map(|rest| (rest - delay_s).abs()));
        // A few packets are enough if their delays agree within a twentieth of a transmission time.
        let agree = of_shown.len() >= FEWEST_TRAINS && ERRORS * spread_s <= usual_s;
        let by_all = if of_shown.len() >= FEWEST_FIRST || (is_fine && exact.is_none() && agree) {
            let error_s = (NORMAL * spread_s / (of_shown.len() as f64).sqrt()).max(EXACT * usual_s);
            Some(Self { delay_s, error_s, spread_s, is_shown: true })
        } else if rests.len() >= FEWEST_FIRST {
            let (delay_s, error_s) = middle(&mut rests);
            Some(Self { delay_s, error_s, spread_s: f64::INFINITY, is_shown: false })
        } else {
            None
        };
        match (by_all, exact) {
            (Some(all), Some(exact)) if exact.error_s < all.error_s => exact,
            (Some(all), _) => all,
            (None, _) => by_trains.filter(|base| is_fine || !base.is_shown).unwrap_or(Self {
                delay_s: least,
                error_s: UNSURE * usual_s,
                spread_s: f64::INFINITY,
                is_shown: false,
            }),
        }
    }

    /// True if the base delay is exact enough for a transmission of `lasts_s` seconds on an idle link to show the rate.
    pub(crate) fn tells(&self, lasts_s: f64) -> bool {
        lasts_s >= ERRORS * self.error_s && lasts_s >= DEVIATIONS * self.spread_s
    }

    /// Base delay from trains; `None` if no train shows one. It is exact if trains are, and neither the bound `most`
    /// nor the shortest delay `shortest_s` contradicts it. Otherwise it is the median of the trains, at most `least`,
    /// the shortest delay minus transmission. All values are in seconds; `usual_s` is the usual transmission time.
    fn by_trains(trains: &[Train], (least, most, shortest_s): (f64, f64, f64), usual_s: f64) -> Option<Self> {
        let told: Vec<Told> = trains.iter().filter_map(Train::told).collect();
        let exact = alone(&told, most, shortest_s).or_else(|| agreed(&told, most, shortest_s));
        if let Some((delay_s, error_s)) = exact {
            return Some(Self { delay_s, error_s, spread_s: error_s, is_shown: true });
        }
        let mut rests: Vec<f64> = told.iter().map(|of| of.rest_s).collect();
        if rests.is_empty() {
            return None;
        }
        let (delay_s, error_s) = middle(&mut rests);
        let error_s = error_s.clamp(UNSURE * usual_s / (rests.len() as f64).sqrt(), 2.0 * UNSURE * usual_s);
        Some(Self { delay_s: delay_s.min(least), error_s, spread_s: f64::INFINITY, is_shown: false })
    }
}

/// Median of values, and its standard error for normally distributed values.
fn middle(values: &mut [f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let middle = median(values);
    let deviation = values.iter().map(|value| (value - middle).abs()).sum::<f64>() / count;
    (middle, NORMAL * NORMAL * deviation / count.sqrt())
}

/// Base delay of the exact trains and its error, in seconds; `None` if most long trains are not exact. The longest base
/// delay counts, since a train that began when the link became slower shows a later rate than that of its first packet,
/// and too short a base delay.
fn alone(told: &[Told], most: f64, shortest_s: f64) -> Option<(f64, f64)> {
    let long: Vec<&Told> = told.iter().filter(|of| of.spread_s.is_finite()).collect();
    let exact = long.iter().filter(|of| ERRORS * of.spread_s <= of.transmission_s);
    if 2 * exact.clone().count() < long.len() {
        return None;
    }
    let possible = exact.filter(|of| of.is_possible(most, shortest_s));
    let longest = possible.max_by(|a, b| a.rest_s.total_cmp(&b.rest_s))?;
    Some((longest.rest_s, longest.spread_s.max(EXACT * longest.transmission_s)))
}

/// Base delay to which half of the trains agree, and its error, in seconds; `None` with fewer than eight trains, or if
/// they disagree.
fn agreed(told: &[Told], most: f64, shortest_s: f64) -> Option<(f64, f64)> {
    if told.len() < FEWEST_TRAINS {
        return None;
    }
    let mut sorted: Vec<&Told> = told.iter().collect();
    sorted.sort_by(|a, b| a.rest_s.total_cmp(&b.rest_s));
    let halves = sorted.windows(told.len() / 2 + 1);
    let width_s = |half: &&[&Told]| half[half.len() - 1].rest_s - half[0].rest_s;
    let half = halves.min_by(|a, b| width_s(a).total_cmp(&width_s(b)))?;
    let middle = half[half.len() / 2];
    let error_s = width_s(&half).max(EXACT * middle.transmission_s);
    (ERRORS * error_s <= middle.transmission_s && middle.is_possible(most, shortest_s))
        .then_some((middle.rest_s, error_s))
}

/// Delays of packets minus queueing and transmission, from which the base delay is estimated.
struct Delays {
    /// Delays minus queueing and transmission in seconds, of the first packets after idle times.
    rests: Vec<f64>,
    /// Delays like [`Self::rests`], but only at times with an observed rate.
    of_shown: Vec<f64>,
    /// Minimum over all packets of the delay minus the shortest transmission time at about their time, in seconds.
    least: f64,
    /// Upper bound of the base delay in seconds: like [`Self::least`], but without transmission at times with an
    /// unknown rate.
    most: f64,
    /// Shortest delay of a packet in seconds.
    shortest_s: f64,
    trains: Vec<Train>,
}

impl Delays {
    fn new(record: &Record, left: &[f64], rates: Rates<'_>) -> Self {
        let start = record.packets().first().map_or(0.0, |packet| packet.sent_s);
        let before = found_before(record, left);
        let (mut began, mut bits, mut count) = (0.0, 0.0, usize::MAX);
        let mut together = Together { sent_s: f64::NEG_INFINITY, bits: 0.0 };
        let mut found = Self {
            rests: Vec::new(),
            of_shown: Vec::new(),
            least: f64::INFINITY,
            most: f64::INFINITY,
            shortest_s: f64::INFINITY,
            trains: Vec::new(),
        };
        for ((packet, left), before) in record.packets().iter().zip(left).zip(&before) {
            if left.is_nan() {
                continue;
            }
            if *before <= 0.0 {
                (began, bits, count) = (packet.sent_s, 0.0, 0);
                found.trains.push(Train::default());
            }
            bits += 8.0 * packet.bytes;
            count = count.saturating_add(1);
            if packet.fate != Fate::Arrived {
                continue;
            }
            let own = 8.0 * packet.bytes;
            let with_others = together.with(packet.sent_s, own);
            let Some(seen) = packet.seen_s else { continue };
            let (at, delay) = (left - start, seen - packet.sent_s);
            let rate = over_time::rate_at(rates.rows, at);
            let alone = 8.0 * packet.bytes / rate;
            let takes_s = rates.shortest_s(with_others, at) - record.tick_s();
            let takes_s = takes_s.max(rates.shortest_s(own, at));
            found.shortest_s = found.shortest_s.min(delay);
            found.least = found.least.min(delay - takes_s);
            let near = [at - rates.window_s, at, at + rates.window_s];
            let is_known = rates.rows.len() > 1 && near.iter().all(|at| rates.is_shown(*at));
            found.most = found.most.min(if is_known { delay - takes_s } else { delay });
            if count <= FIRST {
                let rest = delay - (bits / rate - (packet.sent_s - began)).max(alone);
                found.rests.push(rest);
                if rates.is_shown(at) {
                    found.of_shown.push(rest);
                }
            }
            if let Some(train) = found.trains.last_mut().filter(|_| count <= TRAIN) {
                train.points.push(Point { bits, sent_s: packet.sent_s - began, seen_s: seen - began });
            }
        }
        found
    }
}

/// Packets that arrived and were sent at the same time: the link transmits all of them before the last one arrives.
#[derive(Clone, Copy, Debug)]
struct Together {
    sent_s: f64,
    bits: f64,
}

impl Together {
    /// Adds a packet of `bits` sent at `sent_s`, and returns the bits of all packets sent at this time so far.
    fn with(&mut self, sent_s: f64, bits: f64) -> f64 {
        self.bits = if sent_s == self.sent_s { self.bits + bits } else { bits };
        self.sent_s = sent_s;
        self.bits
    }
}

/// Observed packet of a train: bits of the train up to it, and its times of sending and observation, in seconds since
/// the first packet was sent.
#[derive(Clone, Copy, Debug)]
struct Point {
    bits: f64,
    sent_s: f64,
    seen_s: f64,
}

/// Observed packets among the first twelve of a busy period of the link.
#[derive(Clone, Debug, Default)]
struct Train {
    points: Vec<Point>,
}

/// Base delay by one train of packets.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "times in seconds")]
struct Told {
    /// Base delay in seconds: observation time extrapolated to zero bits.
    rest_s: f64,
    /// Largest difference in seconds of the train's first gaps from those of a constant rate; infinite with fewer than
    /// four gaps.
    spread_s: f64,
    /// Transmission time in seconds of the bits up to the first observed packet.
    transmission_s: f64,
}

impl Told {
    /// True if neither the bound `most` of the base delay nor the shortest delay of the record contradicts the train's
    /// base delay.
    fn is_possible(&self, most: f64, shortest_s: f64) -> bool {
        self.rest_s <= most + self.transmission_s / ERRORS
            && shortest_s - self.rest_s >= LEAVES * self.transmission_s
    }
}

impl Train {
    /// Base delay by the first observed packet, minus transmission at the median rate of the first gaps, which an
    /// outage or a step of the rate among them does not change. `None` if the packets did not wait for one another.
    fn told(&self) -> Option<Told> {
        let first = self.points.first()?;
        let gaps: Vec<Gap> = self.points.windows(2).take(HEAD).map(|of| Gap::new(&of[0], &of[1])).collect();
        if gaps.is_empty() {
            return None;
        }
        let usual = median(&mut gaps.iter().map(Gap::per_bit).collect::<Vec<_>>());
        let largest_s = gaps.iter().map(|of| (of.lasts_s - of.bits * usual).abs()).fold(0.0, f64::max);
        // If the rate changed within the train, the first gap has the rate of the first packet.
        let has_changed = largest_s > CHANGES * first.bits * usual;
        let transmission_s = first.bits * if has_changed { usual.min(gaps[0].per_bit()) } else { usual };
        let spread_s = if gaps.len() < FEWEST_GAPS { f64::INFINITY } else { largest_s };
        let least_s = if ERRORS * spread_s <= transmission_s {
            (GROWS_DEVIATIONS * spread_s).max(GROWS_EXACT * transmission_s)
        } else {
            GROWS * transmission_s
        };
        let grew_s = median(&mut gaps.iter().map(|of| of.grew_s).collect::<Vec<_>>());
        let has_waited = transmission_s > 0.0 && grew_s >= least_s;
        has_waited.then_some(Told { rest_s: first.seen_s - transmission_s, spread_s, transmission_s })
    }
}

/// Difference between two successive observed packets of a train: bits, time, and growth of the delay, in seconds.
#[derive(Clone, Copy, Debug)]
struct Gap {
    bits: f64,
    lasts_s: f64,
    grew_s: f64,
}

impl Gap {
    fn new(from: &Point, to: &Point) -> Self {
        let lasts_s = to.seen_s - from.seen_s;
        Self { bits: to.bits - from.bits, lasts_s, grew_s: lasts_s - (to.sent_s - from.sent_s) }
    }

    fn per_bit(&self) -> f64 {
        self.lasts_s / self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transmission of 100 µs on an idle link shows the rate with jitter below a third of it and a base delay known
    /// to a twentieth of it, and not beyond.
    #[test]
    fn a_transmission_shows_the_rate_if_delays_are_exact() {
        let of = |error_s, spread_s| Base { delay_s: 0.04, error_s, spread_s, is_shown: true };
        assert!(of(4e-6, 30e-6).tells(100e-6));
        assert!(!of(6e-6, 30e-6).tells(100e-6));
        assert!(!of(4e-6, 40e-6).tells(100e-6));
    }

    /// Train of twelve packets sent `apart_s` apart over a path of 20 ms, with transmissions of 1 ms each, of which
    /// packet n takes `late_s(n)` longer.
    fn train(apart_s: f64, late_s: impl Fn(usize) -> f64) -> Train {
        let mut free_at = 0.0_f64;
        let points = (0..12).map(|index| {
            let sent_s = index as f64 * apart_s;
            free_at = free_at.max(sent_s) + 1e-3 + late_s(index);
            Point { bits: (index + 1) as f64 * 12e3, sent_s, seen_s: free_at + 20e-3 }
        });
        Train { points: points.collect() }
    }

    #[test]
    fn a_train_tells_the_path_whatever_happens_behind_its_first_packets() {
        let exact = train(0.9e-3, |_| 0.0).told().unwrap();
        assert!((exact.rest_s - 20e-3).abs() < 1e-12 && exact.spread_s < 1e-12, "{exact:?}");
        let outage = train(0.0, |index| if index == 8 { 0.3 } else { 0.0 }).told().unwrap();
        assert!((outage.rest_s - 20e-3).abs() < 1e-12 && outage.spread_s < 1e-12, "{outage:?}");
        let early = train(0.0, |index| if index == 3 { 0.3 } else { 0.0 }).told().unwrap();
        assert!((early.rest_s - 20e-3).abs() < 1e-12 && early.spread_s > 0.2, "{early:?}");
        assert!(train(1e-3, |_| 0.0).told().is_none(), "nothing waited");
    }

    /// Trains of two pairs, each pair with one acknowledgement, show the base delay exactly if they agree on it,
    /// although their rates differ. Trains that disagree, and fewer than eight, do not.
    #[test]
    fn pairs_that_agree_tell_the_path() {
        let pairs = |rate_bps: f64, late_s: f64| {
            let point = |bits: f64| Point { bits, sent_s: 0.0, seen_s: 20e-3 + late_s + bits / rate_bps };
            Train { points: vec![point(24e3), point(48e3)] }
        };
        let of: Vec<Train> = (0..9).map(|number| pairs(10e6 + 2e6 * f64::from(number), 0.0)).collect();
        let base = Base::by_trains(&of, (21e-3, 21e-3, 21e-3), 1e-3).unwrap();
        assert!(base.is_shown && (base.delay_s - 20e-3).abs() < 1e-9, "{base:?}");
        let late = |number: u32| pairs(10e6, f64::from(number) * 0.3e-3);
        let base =
            Base::by_trains(&(0..9).map(late).collect::<Vec<_>>(), (21e-3, 21e-3, 21e-3), 1e-3).unwrap();
        assert!(!base.is_shown, "{base:?}");
        assert!(!Base::by_trains(&of[..7], (21e-3, 21e-3, 21e-3), 1e-3).unwrap().is_shown, "too few");
    }

    /// A train with a first packet 30 ms late for another reason than the queue gives no exact base delay, since later
    /// delays are shorter.
    #[test]
    fn a_shorter_delay_contradicts_a_train() {
        let of = [train(0.0, |index| if index == 0 { 30e-3 } else { 0.0 })];
        let base = Base::by_trains(&of, (20.5e-3, 20.5e-3, 21e-3), 1e-3).unwrap();
        assert!(!base.is_shown && base.delay_s <= 20.5e-3, "{base:?}");
        let base = Base::by_trains(&[train(0.0, |_| 0.0)], (20.1e-3, 20.1e-3, 21e-3), 1e-3).unwrap();
        assert!(base.is_shown && base.tells(1e-3), "{base:?}");
    }

    /// Packets sent at the same time are on the link together, so their bits add up; a packet sent later counts alone.
    #[test]
    fn packets_of_one_time_are_sent_one_after_another() {
        let mut together = Together { sent_s: f64::NEG_INFINITY, bits: 0.0 };
        let bits = [0.0, 0.0, 1e-3, 2e-3, 2e-3, 2e-3].map(|sent_s| together.with(sent_s, 12e3));
        assert_eq!(bits, [12e3, 24e3, 12e3, 12e3, 24e3, 36e3]);
    }

    /// The delay of a pair with one acknowledgement on an idle link, minus the transmission of both packets, bounds the
    /// base delay by its true 40 ms, at both of two rates.
    #[test]
    fn a_pair_on_an_idle_link_bounds_the_path_by_both_of_its_packets() {
        let rate = |at: f64| if at < 5.0 { 5e6 } else { 10e6 };
        let packets = (0..2000_u32).map(|index| {
            let sent_s = f64::from(index / 2) * 10e-3;
            let seen_s = (index % 2 == 1).then(|| sent_s + 40e-3 + 24e3 / rate(sent_s));
            crate::record::Packet { sent_s, bytes: 1500.0, seen_s, fate: Fate::Arrived }
        });
        let record = Record::new(packets.collect(), true).unwrap();
        let left: Vec<f64> =
            record.packets().iter().map(|packet| packet.sent_s + 24e3 / rate(packet.sent_s)).collect();
        let rows = [(0.0, 5e6), (5.0, 10e6)];
        let found = Delays::new(&record, &left, Rates { rows: &rows, shown: &[true; 100], window_s: 0.1 });
        assert!((found.least - 40e-3).abs() < 1e-9 && (found.most - 40e-3).abs() < 1e-9, "{}", found.most);
    }
}
