//! Minstrel-HT: rate control by acknowledgements (Linux's `rc80211_minstrel_ht` before 5.13, as in ns-3).
//!
//! Each 50 ms the success probability p of every mode tried is averaged, p <- 3/4 p + 1/4 successes / attempts, and
//! with it the mean length of aggregates. A mode's throughput is 0 below p = 10 %, otherwise min(p, 90 %) divided by
//! the time that an MPDU of 1200 bytes takes in a mean aggregate. An aggregate uses the mode with the highest
//! throughput; if no answer comes, after some tries the second best, then the most probable. In between, single MPDUs
//! probe other modes in random order.
//!
//! If no mode of this chain gets an answer, the interval ends at once, and a mode that lost more than 80 % in it
//! forgets its past. (Linux has such a rule for spatial streams only, the "sudden death" of `minstrel_downgrade_rate`;
//! without it a fall by many modes takes several intervals for each.)

use super::modes::{Durations, Mode};
use crossfade_core::{SimTime, Stream};
use rand::RngExt;

const INTERVAL: SimTime = SimTime::from_millis(50);
/// Weight of the past in moving averages.
const PAST: f64 = 0.75;
/// Bytes of the MPDU by which the throughput of modes is compared.
const BYTES: f64 = 1200.0;
/// Success probability below which a mode's throughput counts as 0, and, in `ENOUGH`, above which it counts as this.
const WORTHLESS: f64 = 0.1;
const ENOUGH: f64 = 0.9;
/// Success probability above which a mode counts as reliable, and, in `KNOWN`, above which it is not sampled.
const RELIABLE: f64 = 0.75;
const KNOWN: f64 = 0.95;
/// A mode slower than the second best is sampled only after this many times passed over, at most `SLOW_SAMPLES` times
/// per interval.
const PASSED_OVER: u32 = 20;
const SLOW_SAMPLES: u32 = 2;
/// Maximum number of samples per interval; `BETWEEN` is the number of MPDUs between two, in addition to twice the mean
/// aggregate.
const SAMPLES: u32 = 8;
const BETWEEN: f64 = 16.0;
/// Success share below which a mode forgets its past after a chain without an answer.
const DEAD: f64 = 0.2;
/// Time budget for the tries of one mode of the chain, at least `LEAST_TRIES` and at most `MOST_TRIES`.
const SEGMENT: SimTime = SimTime::from_millis(6);
const LEAST_TRIES: u32 = 2;
const MOST_TRIES: u32 = 7;

#[derive(Clone, Debug)]
struct OfMode {
    /// Overhead in seconds of an aggregate; `mpdu_s` is the time of one MPDU.
    overhead_s: f64,
    mpdu_s: f64,
    attempts: u32,
    successes: u32,
    probability: Option<f64>,
    throughput: f64,
    /// Number of times that sampling passed the mode over since its last trial.
    passed_over: u32,
    tries: u32,
}

/// State of Minstrel-HT for one sender and one receiver.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    modes: Vec<OfMode>,
    next_update: SimTime,
    aggregate: f64,
    /// MPDUs in this interval, and aggregates, without probes.
    mpdus: u32,
    aggregates: u32,
    /// Mode indices of the highest throughput, the second highest, and the most probable mode.
    chain: [usize; 3],
    /// Position in the chain, and remaining tries there; a sample replaces the first position.
    link: usize,
    tries_left: u32,
    sample: Option<usize>,
    /// Order of samples, and the position of the next one.
    order: Vec<usize>,
    next_sample: usize,
    /// MPDUs until the next sample, and remaining samples of this interval.
    wait: f64,
    samples_left: u32,
    slow_samples: u32,
    stream: Stream,
}

impl Minstrel {
    pub(super) fn new(modes: &[Mode], stream: Stream) -> Self {
        let of = |mode: &Mode| {
            let mpdu_s = BYTES * 8.0 / mode.rate_bps();
            let overhead_s = mode.preamble(Durations::Standard).as_secs_f64() + 100e-6;
            OfMode {
                overhead_s,
                mpdu_s,
                attempts: 0,
                successes: 0,
                probability: None,
                throughput: 0.0,
                passed_over: 0,
                tries: MOST_TRIES,
            }
        };
        let modes: Vec<OfMode> = modes.iter().map(of).collect();
        let order = (0..modes.len()).collect();
        let mut new = Self {
            tries_left: modes[0].tries,
            modes,
            next_update: INTERVAL,
            aggregate: 1.0,
            mpdus: 0,
            aggregates: 0,
            chain: [0; 3],
            link: 0,
            sample: None,
            order,
            next_sample: 0,
            wait: 0.0,
            samples_left: SAMPLES,
            slow_samples: 0,
            stream,
        };
        new.shuffle();
        new
    }

    /// Index of the mode with the highest throughput.
    pub(super) const fn best(&self) -> usize {
        self.chain[0]
    }

    /// Index of the mode of the next aggregate, and true if it is a probe.
    pub(super) fn choose(&mut self, now: SimTime) -> (usize, bool) {
        if now >= self.next_update {
            self.update(false);
            self.next_update = now + INTERVAL;
        }
        if self.link == 0
            && self.sample.is_none()
            && self.wait <= 0.0
            && self.samples_left > 0
            && let Some(place) = self.next_probe()
        {
            self.samples_left -= 1;
            self.wait = BETWEEN + 2.0 * self.aggregate;
            self.sample = Some(place);
            self.tries_left = 1;
        }
        match (self.link, self.sample) {
            (0, Some(place)) => (place, true),
            (link, _) => (self.chain[link], false),
        }
    }

    /// Records the acknowledgement of an aggregate of `sent` MPDUs in the mode with index `place`; 0 acknowledged if no
    /// answer came.
    pub(super) fn on_exchange(&mut self, place: usize, sent: u32, acknowledged: u32) {
        let of = &mut self.modes[place];
        of.attempts += sent;
        of.successes += acknowledged;
        of.passed_over = 0;
        self.wait -= f64::from(sent);
        if acknowledged > 0 {
            if self.sample.is_none() {
                self.mpdus += sent;
                self.aggregates += 1;
            }
            self.begin_chain();
            return;
        }
        self.tries_left = self.tries_left.saturating_sub(1);
        if self.tries_left == 0 {
            if self.link + 1 < self.chain.len() {
                self.link += 1;
                self.sample = None;
                self.tries_left = self.modes[self.chain[self.link]].tries;
            } else {
                self.update(true);
            }
        }
    }

    fn begin_chain(&mut self) {
        self.link = 0;
        self.sample = None;
        self.tries_left = self.modes[self.chain[0]].tries;
    }

    /// Next mode of the sampling order, if it is worth sampling.
    fn next_probe(&mut self) -> Option<usize> {
        let place = self.order[self.next_sample];
        self.next_sample += 1;
        if self.next_sample == self.order.len() {
            self.next_sample = 0;
            self.shuffle();
        }
        let of = &self.modes[place];
        if self.chain.contains(&place) || of.probability.is_some_and(|p| p > KNOWN) {
            return None;
        }
        let second = &self.modes[self.chain[1]];
        if of.mpdu_s >= second.mpdu_s && of.probability.is_some() {
            let of = &mut self.modes[place];
            of.passed_over += 1;
            if of.passed_over < PASSED_OVER || self.slow_samples >= SLOW_SAMPLES {
                return None;
            }
            self.slow_samples += 1;
        }
        Some(place)
    }

    /// Shuffles the sampling order (Fisher-Yates).
    fn shuffle(&mut self) {
        for last in (1..self.order.len()).rev() {
            let other = self.stream.random_range(0..=last);
            self.order.swap(last, other);
        }
    }

    /// Ends an interval: updates probabilities, throughputs and the chain; `is_dead` after a chain without an answer.
    fn update(&mut self, is_dead: bool) {
        if self.aggregates > 0 {
            let mean = f64::from(self.mpdus) / f64::from(self.aggregates);
            self.aggregate = PAST * self.aggregate + (1.0 - PAST) * mean;
        }
        (self.mpdus, self.aggregates) = (0, 0);
        for of in &mut self.modes {
            if of.attempts > 0 {
                let now = f64::from(of.successes) / f64::from(of.attempts);
                let past = if is_dead && now < DEAD { 0.0 } else { PAST };
                of.probability = Some(of.probability.map_or(now, |p| past * p + (1.0 - past) * now));
                (of.attempts, of.successes) = (0, 0);
            }
            let p = of.probability.unwrap_or(0.0);
            let worth = if p < WORTHLESS { 0.0 } else { p.min(ENOUGH) };
            of.throughput = worth / (of.overhead_s / self.aggregate + of.mpdu_s);
            let lasts_s = of.overhead_s + of.mpdu_s * self.aggregate;
            of.tries = ((SEGMENT.as_secs_f64() / lasts_s) as u32).clamp(LEAST_TRIES, MOST_TRIES);
        }
        let better = |a: &usize, b: &usize| {
            let (x, y) = (&self.modes[*a], &self.modes[*b]);
            // Of modes with throughput 0 the slowest is preferred.
            x.throughput.total_cmp(&y.throughput).then(x.mpdu_s.total_cmp(&y.mpdu_s))
        };
        let places = || 0..self.modes.len();
        let first = places().max_by(better).unwrap_or(0);
        let second = places().filter(|place| *place != first).max_by(better).unwrap_or(first);
        let p = |place: usize| self.modes[place].probability.unwrap_or(0.0);
        let reliable = places().filter(|place| p(*place) > RELIABLE).max_by(better);
        let probable = || places().max_by(|a, b| p(*a).total_cmp(&p(*b)).then(b.cmp(a))).unwrap_or(0);
        self.chain = [first, second, reliable.unwrap_or_else(probable)];
        (self.samples_left, self.slow_samples) = (SAMPLES, 0);
        self.begin_chain();
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{RadioConfig, RateConfig, ReceptionConfig, StationConfig, StationRadio};
    use super::super::rate::{REFERENCE_BYTES, RateControl};
    use super::super::reception::Reception;
    use super::super::{AmpduLimits, Band, Standard};
    use super::*;
    use crossfade_core::RunSeed;

    fn modes(width: u16) -> Vec<Mode> {
        (0..12).map(|mcs| Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width, 800).unwrap()).collect()
    }

    /// Simulates a station with endless downlink whose SNR in dB is `first` for some time, then `then`; for each
    /// exchange, its end and the index of the best mode.
    fn history(
        width: u16,
        seed: u64,
        [first, then]: [f64; 2],
        step: SimTime,
        end: SimTime,
    ) -> Vec<(SimTime, usize)> {
        let seed = RunSeed { seed, run: 0 };
        let trace = format!("0,{first}\n{},{then}\n", step.as_secs_f64()).parse().unwrap();
        let station = StationConfig {
            modes: modes(width),
            limits: AmpduLimits::of(Standard::Ax),
            rate: RateConfig::Minstrel,
            reception: ReceptionConfig::Radio(StationRadio {
                mean_snr_db: first,
                uplink_offset_db: 0.0,
                speed_mps: 0.0,
                fd_t: 0.0,
                trace: Some(trace),
            }),
        };
        let mut reception = Reception::new("0", &station, &RadioConfig::default(), seed).unwrap();
        let mut control = RateControl::new(&station, seed.stream("rate"));
        let mut draws = seed.stream("errors");
        let (mut now, mut found) = (SimTime::ZERO, Vec::new());
        while now < end {
            let (place, is_probe) = control.choose(now, &mut reception, 0);
            let mode = station.modes[place];
            // Two milliseconds of MPDUs.
            let most = if is_probe { 1 } else { 64 };
            let mpdus = ((mode.rate_bps() * 2e-3 / 12_304.0) as u32).clamp(1, most);
            let p = reception.mpdu(place, now, REFERENCE_BYTES, 0).error_rate;
            let read = (0..mpdus).filter(|_| draws.random::<f64>() >= p).count() as u32;
            control.on_exchange(place, mpdus, read);
            let lasts = SimTime::from_secs_f64(200e-6 + f64::from(mpdus) * 12_304.0 / mode.rate_bps());
            now += lasts;
            found.push((now, control.expected()));
        }
        found
    }

    fn ideal(width: u16, snr_db: f64) -> usize {
        let required =
            |mode: &Mode| super::super::reception::required_snr_db(*mode, None, REFERENCE_BYTES, 0.1);
        modes(width).iter().rposition(|mode| required(mode).unwrap() <= snr_db).unwrap_or(0)
    }

    const SECOND: SimTime = SimTime::from_millis(1000);

    /// Within a second the best mode is the ideal one or a neighbour of it, for 95 % of seeds, at any SNR.
    #[test]
    fn it_settles_within_a_second() {
        for (width, snr_db) in [(20, 3.5), (20, 12.0), (20, 19.5), (80, 26.0), (80, 33.0)] {
            let expected = ideal(width, snr_db);
            let settled = (0..200)
                .filter(|&seed| {
                    let found = history(width, seed, [snr_db, snr_db], SECOND * 10, SECOND);
                    found.last().unwrap().1.abs_diff(expected) <= 1
                })
                .count();
            assert!(settled >= 190, "{snr_db} dB, {width} MHz: {settled} of 200 on {expected}");
        }
    }

    /// Within 0.3 s after a fall of the SNR by 20 dB the best mode is the ideal one or slower.
    #[test]
    fn it_falls_within_a_third_of_a_second() {
        for (width, from_db) in [(20, 30.0), (80, 33.0), (20, 25.0)] {
            let expected = ideal(width, from_db - 20.0);
            let until = SECOND * 2 + SimTime::from_millis(300);
            let fallen = (0..100)
                .filter(|&seed| {
                    let found = history(width, seed, [from_db, from_db - 20.0], SECOND * 2, until);
                    found.last().unwrap().1 <= expected + 1
                })
                .count();
            assert!(fallen >= 95, "{from_db} dB, {width} MHz: {fallen} of 100 to {expected}");
        }
    }

    /// If no frame is acknowledged, the slowest modes are tried after the probe, and stay.
    #[test]
    fn without_a_record_it_goes_by_the_slowest() {
        let mut minstrel = Minstrel::new(&modes(20), RunSeed { seed: 4, run: 0 }.stream("rate"));
        let mut now = SimTime::ZERO;
        for _ in 0..200 {
            let (place, is_probe) = minstrel.choose(now);
            assert!(is_probe || place <= 1, "{place}");
            minstrel.on_exchange(place, 1, 0);
            now += SimTime::from_millis(1);
        }
        assert_eq!(minstrel.chain, [0, 1, 0]);
    }

    /// Probes are a small share of the MPDUs.
    #[test]
    fn it_samples_some() {
        let seed = RunSeed { seed: 3, run: 0 };
        let mut minstrel = Minstrel::new(&modes(20), seed.stream("rate"));
        let (mut now, mut sampled, mut all) = (SimTime::ZERO, 0, 0);
        while now < SECOND * 5 {
            let (place, is_probe) = minstrel.choose(now);
            let mpdus = if is_probe { 1 } else { 16 };
            minstrel.on_exchange(place, mpdus, if place <= 6 { mpdus } else { 0 });
            now += SimTime::from_millis(2);
            if now > SECOND {
                all += mpdus;
                sampled += u32::from(is_probe);
            }
        }
        assert_eq!(minstrel.best(), 6);
        let share = f64::from(sampled) / f64::from(all);
        assert!((0.002..0.05).contains(&share), "{share}");
    }
}
