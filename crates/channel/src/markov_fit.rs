//! Maximum-likelihood fit of a two-state Markov chain to recorded losses, with tests of whether a chain describes them.

use crate::chi_square::ChiSquareTest;
use crate::loss_trace::LossTrace;
use crate::markov::TwoStateMarkov;
use crate::run_lengths::{RunDistance, RunLengths};
use thiserror::Error;

/// Two-state Markov chain fitted to recorded losses by maximum likelihood, with confidence intervals and
/// goodness-of-fit tests.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovFit {
    /// Number of packets of the trace.
    pub packets: u64,
    /// Number of lost packets of the trace.
    pub losses: u64,
    /// Probability that a delivered packet follows a delivered one.
    pub p_gg: Interval,
    /// Probability that a lost packet follows a lost one.
    pub p_bb: Interval,
    /// Long-run share of lost packets of the fitted chain.
    pub p_e: Interval,
    /// Mean length of a run of lost packets of the fitted chain, in packets.
    pub mean_burst: Interval,
    /// Natural logarithm of the probability of the trace under the fitted chain, given the first packet.
    pub log_likelihood: f64,
    /// Likelihood-ratio test of independent losses against a first-order chain; `None` if the trace cannot contradict
    /// independence.
    pub independence: Option<ChiSquareTest>,
    /// Likelihood-ratio test of a first-order against a second-order chain; `None` if the trace cannot contradict the
    /// first order.
    pub first_order: Option<ChiSquareTest>,
    /// Lengths of runs of delivered packets, in the trace and in the fitted chain.
    pub good_runs: RunLengths,
    /// Lengths of runs of lost packets, in the trace and in the fitted chain.
    pub bad_runs: RunLengths,
    chain: TwoStateMarkov,
}

/// Estimate and its two-sided 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end of the 95 % confidence interval.
    pub high: f64,
}

/// Error of a trace with too few changes between delivered and lost packets to fit a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{packets} packets, {losses} lost, {changes} changes between delivered and lost: a fit needs at least {} \
     changes",
    MarkovFit::MIN_CHANGES
)]
pub struct FitError {
    /// Number of packets of the trace.
    pub packets: u64,
    /// Number of lost packets of the trace.
    pub losses: u64,
    /// Number of times that a lost packet followed a delivered one or a delivered packet a lost one.
    pub changes: u64,
}

/// Verdict on whether a first-order Markov chain describes a trace of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No test rejects independent losses.
    Independent,
    /// Independent losses are rejected, and no test finds memory beyond one packet: a first-order chain describes the
    /// trace.
    FirstOrder,
    /// A goodness-of-fit test rejects the first-order chain, but the distributions of run lengths differ by less than
    /// [`MarkovFit::NEAR`] from those of the chain.
    NearlyFirstOrder,
    /// A goodness-of-fit test rejects the first-order chain, and a distribution of run lengths differs by
    /// [`MarkovFit::NEAR`] or more from that of the chain.
    NotFirstOrder,
}

impl Verdict {
    /// Name of the verdict in tables: `independent`, `first-order`, ...
    pub fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::FirstOrder => "first-order",
            Self::NearlyFirstOrder => "nearly-first-order",
            Self::NotFirstOrder => "not-first-order",
        }
    }
}

/// Two-sided 95 % quantile of the standard normal distribution.
const Z95: f64 = 1.959963984540054;

impl MarkovFit {
    /// Least number of changes between delivered and lost for a fit: fewer leave less than five transitions out of a
    /// state, and 95 % intervals cover less than 93 %.
    pub const MIN_CHANGES: u64 = 10;
    /// Significance level: a test rejects below this p-value. With three tests, one true first-order chain in 30 is
    /// wrongly rejected.
    pub const SIGNIFICANCE: f64 = 0.01;
    /// Largest difference between two distribution functions of run lengths that counts as nearly equal.
    pub const NEAR: f64 = 0.02;

    /// Fits a chain to independent traces of one process, usually a single trace.
    ///
    /// `p_gb` = `n_gb / n_g`: the share of delivered packets that are followed by a lost one; `p_bg` is the share of
    /// lost packets that are followed by a delivered one (Anderson and Goodman, Ann. Math. Stat. 28(1), 1957).
    /// Intervals: Agresti and Coull, which unlike Wilson's cover close to 95 % also where `p_bb` is near 0 (Brown, Cai
    /// and `DasGupta`, Statistical Science 16(2), 2001). The interval of `mean_burst` is 1 over that of `p_bg`; the
    /// interval of `p_e` comes from ln `p_gb` - ln `p_bg` by the delta method.
    ///
    /// # Errors
    /// If the traces have fewer than [`Self::MIN_CHANGES`] changes between delivered and lost packets, or no complete
    /// run of one kind.
    pub fn new(traces: &[LossTrace]) -> Result<Self, FitError> {
        let counts = Counts::of(traces);
        let [[n_gg, n_gb], [n_bg, n_bb]] = counts.pairs;
        let packets = traces.iter().map(LossTrace::packets).sum();
        let losses = traces.iter().map(LossTrace::losses).sum();
        let changes = n_gb + n_bg;
        let [good, bad] = counts.complete_runs;
        if changes < Self::MIN_CHANGES || n_gb.min(n_bg) == 0 || good.is_empty() || bad.is_empty() {
            return Err(FitError { packets, losses, changes });
        }
        let (p_gb, p_bg) = (share(n_gb, n_gg), share(n_bg, n_bb));
        let chain = TwoStateMarkov::with_all_digits(p_gb.value, p_bg.value, share(n_bb, n_bg).value);
        let second_order = counts.triples.map(ChiSquareTest::likelihood_ratio);
        let (statistic, freedom) = ChiSquareTest::likelihood_ratio(counts.pairs);
        Ok(Self {
            packets,
            losses,
            p_gg: share(n_gg, n_gb),
            p_bb: share(n_bb, n_bg),
            p_e: loss_rate(&chain, n_gb, n_bg),
            mean_burst: Interval { value: chain.mean_burst(), low: 1.0 / p_bg.high, high: 1.0 / p_bg.low },
            log_likelihood: log_likelihood(n_gg, n_gb) + log_likelihood(n_bb, n_bg),
            independence: ChiSquareTest::new(statistic, freedom),
            first_order: ChiSquareTest::new(
                second_order[0].0 + second_order[1].0,
                second_order[0].1 + second_order[1].1,
            ),
            good_runs: RunLengths::new(good, chain.p_gb()),
            bad_runs: RunLengths::new(bad, chain.p_bg()),
            chain,
        })
    }

    /// Fitted two-state Markov chain.
    pub fn chain(&self) -> TwoStateMarkov {
        self.chain
    }

    /// Verdict on whether the fitted chain describes the trace, from the tests and the run lengths.
    pub fn verdict(&self) -> Verdict {
        let distance = f64::max(self.good_runs.distance.value(), self.bad_runs.distance.value());
        match (rejects(self.independence), self.rejections().is_empty()) {
            (false, true) => Verdict::Independent,
            (true, true) => Verdict::FirstOrder,
            (_, false) if distance < Self::NEAR => Verdict::NearlyFirstOrder,
            (_, false) => Verdict::NotFirstOrder,
        }
    }

    /// The verdict in one or two sentences, with the numbers that it rests on.
    pub fn explanation(&self) -> String {
        let (name, furthest) = self.furthest();
        let worst = format!(
            "P[{name} run >= {}] is {:.3} in the trace and {:.3} in the chain",
            furthest.length, furthest.observed, furthest.fitted
        );
        let rejections = self.rejections().join(", ");
        match self.verdict() {
            Verdict::Independent => {
                format!("Independent losses describe this trace: no test finds memory. {}", self.resolution())
            }
            Verdict::FirstOrder => {
                format!("A first-order chain describes this trace: no test rejects it. {}", self.resolution())
            }
            Verdict::NearlyFirstOrder => {
                format!("A first-order chain nearly describes this trace: {rejections}, but little: {worst}.")
            }
            Verdict::NotFirstOrder => {
                format!("A first-order chain does not describe this trace: {rejections}. {worst}.")
            }
        }
    }

    /// Descriptions of the tests that reject a first-order chain, with their p-values.
    fn rejections(&self) -> Vec<String> {
        let tests = [
            ("good runs are not geometric", self.good_runs.test),
            ("bad runs are not geometric", self.bad_runs.test),
            ("the packet before last matters", self.first_order),
        ];
        let rejecting = tests.into_iter().filter(|(_, test)| rejects(*test));
        rejecting.map(|(words, test)| format!("{words} ({})", p_value(test))).collect()
    }

    /// Largest difference between observed run lengths and those of the chain, with the kind of run, `good` or `bad`.
    fn furthest(&self) -> (&'static str, RunDistance) {
        let (good, bad) = (self.good_runs.distance, self.bad_runs.distance);
        if good.value() > bad.value() { ("good", good) } else { ("bad", bad) }
    }

    /// Sentence with the smallest difference of distributions that this number of runs would show: Kolmogorov's 95 %
    /// point, 1.36 over the square root of the number.
    fn resolution(&self) -> String {
        let runs = self.bad_runs.runs();
        let size = 1.36 / (runs as f64).sqrt();
        format!("({runs} bad runs would not show a difference below {size:.2} in their distribution.)")
    }
}

fn rejects(test: Option<ChiSquareTest>) -> bool {
    test.is_some_and(|test| test.p_value < MarkovFit::SIGNIFICANCE)
}

/// The p-value of a test in words, such as `p = 0.0312`.
fn p_value(test: Option<ChiSquareTest>) -> String {
    match test.map_or(1.0, |test| test.p_value) {
        p if p < 1e-300 => "p < 1e-300".to_owned(),
        p if p < 1e-4 => format!("p = {p:.0e}"),
        p => format!("p = {p:.4}"),
    }
}

/// Share `hits / (hits + misses)` with its Agresti-Coull interval of 95 %.
fn share(hits: u64, misses: u64) -> Interval {
    let (hits, total) = (hits as f64, (hits + misses) as f64);
    let adjusted_total = total + Z95 * Z95;
    let centre = (hits + Z95 * Z95 / 2.0) / adjusted_total;
    let half = Z95 * (centre * (1.0 - centre) / adjusted_total).sqrt();
    Interval { value: hits / total, low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// Loss rate `p_e` with its 95 % interval: its logit is ln `p_gb` - ln `p_bg`, of variance `p_gg / n_gb` +
/// `p_bb / n_bg`.
fn loss_rate(chain: &TwoStateMarkov, n_gb: u64, n_bg: u64) -> Interval {
    let sigma = (chain.p_gg() / n_gb as f64 + chain.p_bb() / n_bg as f64).sqrt();
    let odds = chain.p_gb() / chain.p_bg();
    let at = |z: f64| {
        let odds = odds * libm::exp(z * sigma);
        odds / (1.0 + odds)
    };
    Interval { value: chain.p_e(), low: at(-Z95), high: at(Z95) }
}

/// Greatest log-likelihood of independent binary outcomes, of which `first` are of one kind and `second` of the other.
fn log_likelihood(first: u64, second: u64) -> f64 {
    let total = (first + second) as f64;
    let part = |count: u64| if count == 0 { 0.0 } else { count as f64 * libm::log(count as f64 / total) };
    part(first) + part(second)
}

/// Counts over traces for tests and estimates. Index 0 is good (delivered), 1 bad (lost).
#[derive(Default)]
struct Counts {
    /// Counts of two packets in a row, indexed by the first, then the second.
    pairs: [[u64; 2]; 2],
    /// Counts of three packets in a row, indexed by the second, then the first, then the third.
    triples: [[[u64; 2]; 2]; 2],
    complete_runs: [Vec<u64>; 2],
}

impl Counts {
    fn of(traces: &[LossTrace]) -> Self {
        let mut counts = Self::default();
        for trace in traces {
            counts.add(trace);
        }
        counts
    }

    fn add(&mut self, trace: &LossTrace) {
        let runs: Vec<(usize, u64)> =
            trace.runs().map(|(lost, length)| (usize::from(lost), length)).collect();
        for (i, &(state, length)) in runs.iter().enumerate() {
            let (is_first, is_last) = (i == 0, i + 1 == runs.len());
            let other = 1 - state;
            self.pairs[state][state] += length - 1;
            self.pairs[state][other] += u64::from(!is_last);
            // Each packet of the run is the middle of three: a single one, or the first, the last and those between.
            let middle = &mut self.triples[state];
            if length == 1 {
                middle[other][other] += u64::from(!is_first && !is_last);
            } else {
                middle[other][state] += u64::from(!is_first);
                middle[state][other] += u64::from(!is_last);
                middle[state][state] += length - 2;
            }
            if !is_first && !is_last {
                self.complete_runs[state].push(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, LossProcess, MarkovLoss};
    use crossfade_core::{RunSeed, SimTime};
    use proptest::prelude::*;

    fn simulated(chain: &TwoStateMarkov, packets: u64, run: u64) -> LossTrace {
        let stream = RunSeed { seed: 1, run }.stream("channel.dl");
        let mut process = MarkovLoss::new(chain, Clock::Transmission, stream);
        LossTrace::new((0..packets).map(|packet| process.lost(SimTime::ZERO, packet)))
    }

    fn bits(text: &str) -> LossTrace {
        LossTrace::new(text.chars().map(|digit| digit == '1'))
    }

    #[test]
    fn a_small_trace_by_hand() {
        // Pairs: 00 6, 01 5, 10 5, 11 4. Runs: bad 2 1 3 1 2, good 1 2 1 2 and the two that are cut.
        let fit = MarkovFit::new(&[bits("000110100111001011000")]).unwrap();
        assert_eq!((fit.packets, fit.losses), (21, 9));
        assert_eq!((fit.p_gg.value, fit.p_bb.value), (6.0 / 11.0, 4.0 / 9.0));
        assert_eq!(fit.chain().p_gb(), 5.0 / 11.0);
        assert!((fit.mean_burst.value - 1.8).abs() < 1e-15);
        assert!((fit.p_e.value - 0.45).abs() < 1e-15);
        let expected = 6.0 * (6.0_f64 / 11.0).ln()
            + 5.0 * (5.0_f64 / 11.0).ln()
            + 5.0 * (5.0_f64 / 9.0).ln()
            + 4.0 * (4.0_f64 / 9.0).ln();
        assert!((fit.log_likelihood - expected).abs() < 1e-12);
        assert_eq!((fit.good_runs.lengths, fit.good_runs.counts), (vec![1, 2], vec![2, 2]));
        assert_eq!((fit.bad_runs.lengths, fit.bad_runs.counts), (vec![1, 2, 3], vec![2, 2, 1]));
    }

    #[test]
    fn intervals_are_agresti_and_coull() {
        // 5 of 50: z^2 = 3.841459, centre (5 + 1.920729) / 53.841459 = 0.128539, half-width
        // 1.959964 sqrt(0.128539 * 0.871461 / 53.841459) = 0.089399.
        let interval = share(5, 45);
        assert_eq!(interval.value, 0.1);
        assert!((interval.low - 0.039140).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 0.217938).abs() < 1e-6, "{interval:?}");
        assert_eq!(share(0, 10).low, 0.0);
        assert_eq!(share(10, 0).high, 1.0);
    }

    #[test]
    fn what_is_too_little_gives_one_line() {
        for (trace, counts) in [
            (bits(""), "0 packets, 0 lost, 0 changes"),
            (bits("1"), "1 packets, 1 lost, 0 changes"),
            (bits("0000"), "4 packets, 0 lost, 0 changes"),
            (bits("1111"), "4 packets, 4 lost, 0 changes"),
            (bits("0101010101"), "10 packets, 5 lost, 9 changes"),
        ] {
            let message = MarkovFit::new(&[trace]).unwrap_err().to_string();
            let expected = "between delivered and lost: a fit needs at least 10 changes";
            assert_eq!(message, format!("{counts} {expected}"));
        }
        // Many traces of two packets: changes enough, but no run was seen from start to end.
        assert!(MarkovFit::new(&vec![bits("01"); 20]).is_err());
    }

    #[test]
    fn an_alternating_trace_is_fitted() {
        let fit = MarkovFit::new(&[bits(&"01".repeat(50))]).unwrap();
        assert_eq!((fit.p_gg.value, fit.p_bb.value, fit.mean_burst.value), (0.0, 0.0, 1.0));
        assert_eq!((fit.first_order, fit.bad_runs.test), (None, None));
        assert_eq!(fit.verdict(), Verdict::FirstOrder);
    }

    /// Over simulated traces, the shares whose 95 % intervals hold the true value (`p_gg`, `p_bb`, `p_e`, mean burst),
    /// and the shares whose tests reject the true chain at 5 %.
    fn over_traces(chain: &TwoStateMarkov, packets: u64, traces: u64) -> ([f64; 4], [f64; 4]) {
        let (mut covered, mut rejected, mut fitted) = ([0.0; 4], [0.0; 4], 0.0);
        for run in 0..traces {
            let Ok(fit) = MarkovFit::new(&[simulated(chain, packets, run)]) else { continue };
            fitted += 1.0;
            let truths = [chain.p_gg(), chain.p_bb(), chain.p_e(), chain.mean_burst()];
            for (i, interval) in [fit.p_gg, fit.p_bb, fit.p_e, fit.mean_burst].iter().enumerate() {
                covered[i] += f64::from(interval.low <= truths[i] && truths[i] <= interval.high);
            }
            let tests = [fit.independence, fit.first_order, fit.good_runs.test, fit.bad_runs.test];
            for (i, test) in tests.iter().enumerate() {
                rejected[i] += f64::from(test.is_some_and(|test| test.p_value < 0.05));
            }
        }
        (covered.map(|count| count / fitted), rejected.map(|count| count / fitted))
    }

    /// True if a `share` observed in `TRACES` traces is consistent with a probability in `claimed`, at 1e-5 (4.42
    /// standard errors; there are some fifty comparisons).
    fn can_be(share: f64, claimed: std::ops::RangeInclusive<f64>) -> bool {
        let error = |p: f64| (p * (1.0 - p) / TRACES as f64).sqrt();
        let (low, high) = (*claimed.start(), *claimed.end());
        share >= low - 4.42 * error(low) && share <= high + 4.42 * error(high)
    }
    const TRACES: u64 = 3000;

    /// Confidence intervals cover the true value in 93 to 96.5 % of traces, and tests reject the true chain in 3 to 7.5
    /// %: both are asymptotic, so that 95 % and 5 % are not met exactly with so few packets.
    #[test]
    fn intervals_cover_and_tests_reject_as_often_as_they_say() {
        for (p_gg, p_bb, packets) in [(0.99, 0.75, 20_000), (0.9, 0.9, 2_000), (0.97, 0.5, 5_000)] {
            let chain = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            let (covered, rejected) = over_traces(&chain, packets, TRACES);
            println!("p_gg {p_gg}, p_bb {p_bb}: coverage {covered:?}, rejected {rejected:?}");
            assert!(
                covered.iter().all(|share| can_be(*share, 0.93..=0.965)),
                "p_gg {p_gg}: coverage {covered:?}"
            );
            assert_eq!(rejected[0], 1.0, "memory is seen");
            assert!(
                rejected[1..].iter().all(|share| can_be(*share, 0.03..=0.075)),
                "p_gg {p_gg}, p_bb {p_bb}: rejected {rejected:?}"
            );
        }
        for p_e in [0.05, 0.3] {
            let (covered, rejected) = over_traces(&TwoStateMarkov::iid(p_e).unwrap(), 5_000, TRACES);
            println!("i.i.d. {p_e}: coverage {covered:?}, rejected {rejected:?}");
            assert!(covered.iter().all(|share| can_be(*share, 0.93..=0.965)), "i.i.d. {p_e}: {covered:?}");
            assert!(rejected.iter().all(|share| can_be(*share, 0.0..=0.075)), "i.i.d. {p_e}: {rejected:?}");
            // With few bursts of more than one packet their lengths cannot be tested.
            assert!(
                rejected[..3].iter().all(|share| can_be(*share, 0.03..=1.0)),
                "i.i.d. {p_e}: {rejected:?}"
            );
        }
    }

    #[test]
    fn verdicts_say_what_is_there() {
        let verdict = |trace: LossTrace| {
            let fit = MarkovFit::new(&[trace]).unwrap();
            (fit.verdict(), fit.explanation())
        };
        let iid = TwoStateMarkov::iid(0.1).unwrap();
        let chain = TwoStateMarkov::new(0.98, 0.7).unwrap();
        let (found, words) = verdict(simulated(&iid, 20_000, 0));
        assert_eq!(found, Verdict::Independent);
        assert!(words.starts_with("Independent losses describe this trace"), "{words}");
        let (found, words) = verdict(simulated(&chain, 20_000, 0));
        assert_eq!(found, Verdict::FirstOrder);
        assert!(words.starts_with("A first-order chain describes this trace"), "{words}");
        // Every burst has four packets.
        let mut fixed = LossTrace::default();
        for (lost, length) in simulated(&chain, 20_000, 1).runs() {
            fixed.push(lost, if lost { 4 } else { length });
        }
        let (found, words) = verdict(fixed);
        assert_eq!(found, Verdict::NotFirstOrder);
        assert!(
            words.contains("bad runs are not geometric (p < 1e-300), the packet before last matters"),
            "{words}"
        );
        assert!(words.contains("P[bad run >= 4] is 1.000 in the trace and 0.4"), "{words}");
    }

    #[test]
    fn a_small_departure_in_a_long_trace_is_called_small() {
        // One burst in a hundred is a packet longer than the chain's.
        let chain = TwoStateMarkov::new(0.9, 0.2).unwrap();
        let mut changed = LossTrace::default();
        for (i, (lost, length)) in simulated(&chain, 5_000_000, 0).runs().enumerate() {
            changed.push(lost, length + u64::from(lost && i % 100 < 2));
        }
        let fit = MarkovFit::new(&[changed]).unwrap();
        assert_eq!(fit.verdict(), Verdict::NearlyFirstOrder, "{}", fit.explanation());
    }

    proptest! {
        #[test]
        fn counts_are_those_of_all_windows(packets in proptest::collection::vec(any::<bool>(), 0..60)) {
            let counts = Counts::of(&[LossTrace::new(packets.iter().copied())]);
            let mut pairs = [[0; 2]; 2];
            for pair in packets.windows(2) {
                pairs[usize::from(pair[0])][usize::from(pair[1])] += 1;
            }
            let mut triples = [[[0; 2]; 2]; 2];
            for three in packets.windows(3) {
                triples[usize::from(three[1])][usize::from(three[0])][usize::from(three[2])] += 1;
            }
            prop_assert_eq!(counts.pairs, pairs);
            prop_assert_eq!(counts.triples, triples);
        }

        #[test]
        fn no_trace_panics_and_intervals_hold_their_value(
            packets in proptest::collection::vec(prop_oneof![9 => Just(false), 1 => Just(true)], 0..400),
        ) {
            if let Ok(fit) = MarkovFit::new(&[LossTrace::new(packets)]) {
                for interval in [fit.p_gg, fit.p_bb, fit.p_e, fit.mean_burst] {
                    prop_assert!(interval.low <= interval.value && interval.value <= interval.high);
                    prop_assert!(interval.high.is_finite());
                }
                prop_assert!(!fit.explanation().is_empty());
            }
        }
    }
}
