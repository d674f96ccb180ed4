//! Delay of the empty path where the rate changes: without queue, and without transmission at the rate of the time.

use crate::bootstrap::{median, spread};
use crate::departures::found_before;
use crate::over_time;
use crate::record::{Fate, Record};

/// Number of packets after an idle time that show the base delay, if there are as many in all.
const FIRST: usize = 4;
const FEWEST_FIRST: usize = 30;
/// Uncertainty of the base delay by one train of packets or one delay, in transmission times.
const UNSURE: f64 = 0.25;
/// Number of packets after an idle time that show the rate of that time.
const TRAIN: usize = 12;
/// Number of first gaps of a train that tell its rate, and how many of them tell how exactly.
const HEAD: usize = 6;
const FEWEST_GAPS: usize = 4;
/// Packets of a train waited for one another if a delay grew by such a share of a transmission from packet to packet;
/// where gaps are exact, by a smaller one, and by so many deviations of them.
const GROWS: f64 = 0.02;
const GROWS_EXACT: f64 = 2e-3;
const GROWS_DEVIATIONS: f64 = 2.0;
/// Number of trains that tell the path by agreeing.
const FEWEST_TRAINS: usize = 8;
/// Share of a transmission to which anything is exact.
const EXACT: f64 = 0.01;
/// Difference of a gap from the usual, in transmissions, at which the rate changed.
const CHANGES: f64 = 0.25;
/// A train tells the path if the shortest delay leaves a packet at least this share of the train's transmission time: a
/// delay that was longer at the beginning for another reason leaves none.
const LEAVES: f64 = 0.2;

/// A base delay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    pub(crate) delay_s: f64,
    /// Standard error.
    pub(crate) error_s: f64,
    /// Standard deviation of one delay, of a normal distribution.
    spread_s: f64,
    /// Whether it is that of packets at times whose rate is shown by others that waited.
    pub(crate) is_shown: bool,
}

/// A transmission on an idle link shows the rate if it takes at least so many times the error of the base delay, and
/// the deviation of one delay.
const ERRORS: f64 = 20.0;
const DEVIATIONS: f64 = 3.0;

/// Of a normal distribution, the ratio of the standard error of a median to that of a mean and of a standard deviation
/// to the mean deviation (the root of half of pi).
const NORMAL: f64 = 1.2533;

/// Rates over time as far as they are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates<'a> {
    /// Start times since the first packet, and rates in bit/s.
    pub(crate) rows: &'a [(f64, f64)],
    /// Windows whose rate packets show that waited for one another, and their length.
    pub(crate) shown: &'a [bool],
    pub(crate) window_s: f64,
}

impl Rates<'_> {
    fn is_shown(&self, at: f64) -> bool {
        self.shown.get((at / self.window_s) as usize) == Some(&true)
    }

    /// Shortest transmission of a packet that left at about a time: in the next window the link may have been faster.
    fn shortest_s(&self, bits: f64, at: f64) -> f64 {
        bits / over_time::fastest(self.rows, at - self.window_s, at + self.window_s)
    }
}

impl Base {
    /// Delays of packets without queueing and transmission at the rates of their times: the median over the first
    /// packets behind an idle time, at times whose rate is shown if these are enough. A base delay that is too short
    /// makes those times fewer, not wrong. Of a link that was hardly ever idle the first packets tell it, and their rate
    /// by the times between them; so they do wherever they tell it more exactly.
    pub(crate) fn new(record: &Record, left: &[f64], rates: Rates<'_>) -> Self {
        let Delays { mut rests, mut of_shown, least, most, shortest_s, trains } =
            Delays::new(record, left, rates);
        let usual_s = 8.0 * record.full_bytes() / over_time::rate_at(rates.rows, 0.0);
        let by_trains = Self::by_trains(&trains, (least, most, shortest_s), usual_s);
        // Times of a coarse clock agree by its steps.
        let is_fine = ERRORS * record.tick_s() <= usual_s;
        let exact = by_trains.filter(|base| base.is_shown && is_fine);
        // Packets that came in an outage waited until its end, so the median deviation counts.
        let delay_s = median(&mut of_shown);
        let spread_s = spread(of_shown.iter().map(|rest| (rest - delay_s).abs()));
        // A few are enough if they are alike to a twentieth of a transmission.
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

    /// Whether a transmission that took so long shows the rate.
    pub(crate) fn tells(&self, lasts_s: f64) -> bool {
        lasts_s >= ERRORS * self.error_s && lasts_s >= DEVIATIONS * self.spread_s
    }

    /// The delay that trains tell, at most `least`, which the rates of all packets leave. It is exact if trains are, and
    /// neither the bound `most` nor the shortest delay contradicts it.
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

/// The median, and its standard error for normal values.
fn middle(values: &mut [f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let middle = median(values);
    let deviation = values.iter().map(|value| (value - middle).abs()).sum::<f64>() / count;
    (middle, NORMAL * NORMAL * deviation / count.sqrt())
}

/// The path that single trains tell exactly, and its error: the longest, since a train that began when the link became
/// slower shows a later rate than that of its first packet. None where most trains tell nothing exactly.
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

/// The path to which half of many trains agree, and its error.
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

/// What is left of delays without queue and transmission.
struct Delays {
    /// Of the first packets behind idle times, and of those at times whose rate is shown.
    rests: Vec<f64>,
    of_shown: Vec<f64>,
    /// The least of any packet at the highest rate about its time, if it is shown, and without transmission if it is not.
    least: f64,
    most: f64,
    /// The shortest delay.
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

/// Packets that were sent at one time and arrived: the link sends all of them before the last one arrives.
#[derive(Clone, Copy, Debug)]
struct Together {
    sent_s: f64,
    bits: f64,
}

impl Together {
    /// Bits of the packets sent at this time, with one more.
    fn with(&mut self, sent_s: f64, bits: f64) -> f64 {
        self.bits = if sent_s == self.sent_s { self.bits + bits } else { bits };
        self.sent_s = sent_s;
        self.bits
    }
}

/// A packet of a train that was seen: bits until it, and times since the first was sent.
#[derive(Clone, Copy, Debug)]
struct Point {
    bits: f64,
    sent_s: f64,
    seen_s: f64,
}

/// The first packets of a time in which the link was busy.
#[derive(Clone, Debug, Default)]
struct Train {
    points: Vec<Point>,
}

/// What a train tells of the path.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "times in seconds")]
struct Told {
    /// The time at which nothing would have arrived yet.
    rest_s: f64,
    /// The largest difference of its first gaps from those of a constant rate; infinite for a few.
    spread_s: f64,
    /// Transmission time of what was seen first.
    transmission_s: f64,
}

impl Told {
    /// Whether neither a bound of the path nor the shortest delay contradicts it.
    fn is_possible(&self, most: f64, shortest_s: f64) -> bool {
        self.rest_s <= most + self.transmission_s / ERRORS
            && shortest_s - self.rest_s >= LEAVES * self.transmission_s
    }
}

impl Train {
    /// Extrapolates to nothing at the rate that the times between the first packets show; an outage or a step of the
    /// rate among them does not count. None if the packets did not wait for one another.
    fn told(&self) -> Option<Told> {
        let first = self.points.first()?;
        let gaps: Vec<Gap> = self.points.windows(2).take(HEAD).map(|of| Gap::new(&of[0], &of[1])).collect();
        if gaps.is_empty() {
            return None;
        }
        let usual = median(&mut gaps.iter().map(Gap::per_bit).collect::<Vec<_>>());
        let largest_s = gaps.iter().map(|of| (of.lasts_s - of.bits * usual).abs()).fold(0.0, f64::max);
        // Where the rate changed at once, the first gap is that of the first packet.
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

/// Between two points of a train: bits, and by how much the delay grew.
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

    /// Jitter of a third of a transmission, or a base delay known to a twentieth, is the most.
    #[test]
    fn a_transmission_shows_the_rate_if_delays_are_exact() {
        let of = |error_s, spread_s| Base { delay_s: 0.04, error_s, spread_s, is_shown: true };
        assert!(of(4e-6, 30e-6).tells(100e-6));
        assert!(!of(6e-6, 30e-6).tells(100e-6));
        assert!(!of(4e-6, 40e-6).tells(100e-6));
    }

    /// Twelve packets, a transmission of 1 ms each over a path of 20 ms, sent so far apart and late by so much.
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

    /// Two pairs at once, of which two acknowledgements tell, at rates that differ: they agree on the path alone.
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

    /// The first packet was late by 30 ms for another reason than the link: later delays are shorter than that path.
    #[test]
    fn a_shorter_delay_contradicts_a_train() {
        let of = [train(0.0, |index| if index == 0 { 30e-3 } else { 0.0 })];
        let base = Base::by_trains(&of, (20.5e-3, 20.5e-3, 21e-3), 1e-3).unwrap();
        assert!(!base.is_shown && base.delay_s <= 20.5e-3, "{base:?}");
        let base = Base::by_trains(&[train(0.0, |_| 0.0)], (20.1e-3, 20.1e-3, 21e-3), 1e-3).unwrap();
        assert!(base.is_shown && base.tells(1e-3), "{base:?}");
    }

    /// Packets sent at one time are all on the link before the last one arrives; a later one counts alone.
    #[test]
    fn packets_of_one_time_are_sent_one_after_another() {
        let mut together = Together { sent_s: f64::NEG_INFINITY, bits: 0.0 };
        let bits = [0.0, 0.0, 1e-3, 2e-3, 2e-3, 2e-3].map(|sent_s| together.with(sent_s, 12e3));
        assert_eq!(bits, [12e3, 24e3, 12e3, 12e3, 24e3, 36e3]);
    }

    /// Pairs with one acknowledgement each on an idle link of 40 ms, whose rate changes after 5 s, and at the end a train
    /// that found a queue of which nothing is known: the delay of a pair contradicts the longer path that it tells.
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
