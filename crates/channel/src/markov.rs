//! The two-state Markov channel of Gilbert: transmissions in good steps are delivered, those in bad steps lost.

use crate::error::{ChannelError, out_of_range, probability};
use crate::geometric::Geometric;
use crate::loss::{Clock, LossProcess};
use crossfade_core::{SimTime, Stream};
use rand::RngExt;

/// A two-state Markov chain; `p_gb` is the probability that a bad step follows a good one.
///
/// All four transition probabilities are stored, so a small one has all its digits, unlike `1 - p_gg`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_field_names, reason = "the names of the field")]
pub struct TwoStateMarkov {
    p_gg: f64,
    p_gb: f64,
    p_bg: f64,
    p_bb: f64,
}

impl TwoStateMarkov {
    /// Creates the chain from the probabilities that a good step follows a good one and a bad step a bad one.
    ///
    /// # Errors
    /// If one is outside [0, 1], or both are 1.
    pub fn new(p_gg: f64, p_bb: f64) -> Result<Self, ChannelError> {
        let (p_gg, p_bb) = (probability("p_gg", p_gg)?, probability("p_bb", p_bb)?);
        if p_gg == 1.0 && p_bb == 1.0 {
            return Err(ChannelError::NeverChangesState);
        }
        Ok(Self { p_gg, p_gb: 1.0 - p_gg, p_bg: 1.0 - p_bb, p_bb })
    }

    /// Creates a chain from the share of bad steps and the mean length of a run of bad steps.
    ///
    /// ```
    /// let chain = crossfade_channel::TwoStateMarkov::from_burst(0.2, 4.0).unwrap();
    /// assert_eq!((chain.p_bb(), chain.p_gb()), (0.75, 0.0625));
    /// ```
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1], `mean_burst` is below 1 or not finite, or `p_e` is so large that good runs between
    /// such bursts would be shorter than one step (`p_gb` above 1).
    pub fn from_burst(p_e: f64, mean_burst: f64) -> Result<Self, ChannelError> {
        let p_e = probability("p_e", p_e)?;
        if !(mean_burst >= 1.0 && mean_burst.is_finite()) {
            return Err(out_of_range("mean_burst", mean_burst, "finite and at least 1"));
        }
        let limit = mean_burst / (1.0 + mean_burst);
        // The limit itself, rounded, is allowed.
        if p_e > limit + 2.0 * f64::EPSILON {
            let allowed = format!("at most {limit:?} where mean_burst is {mean_burst:?}");
            return Err(out_of_range("p_e", p_e, allowed));
        }
        let p_bg = 1.0 / mean_burst;
        Ok(Self::with_all_digits(p_e / (1.0 - p_e) * p_bg, p_bg, 1.0 - p_bg))
    }

    /// Creates a chain without memory: each step is bad with probability `p_e`, whatever the step before.
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1].
    pub fn iid(p_e: f64) -> Result<Self, ChannelError> {
        let p_e = probability("p_e", p_e)?;
        Ok(Self { p_gg: 1.0 - p_e, p_gb: p_e, p_bg: 1.0 - p_e, p_bb: p_e })
    }

    /// Creates a chain from given transition probabilities, for callers that computed small ones without cancellation.
    /// Values that rounding has left above 1 are set to 1.
    pub(crate) fn with_all_digits(p_gb: f64, p_bg: f64, p_bb: f64) -> Self {
        let p_gb = p_gb.min(1.0);
        Self { p_gg: 1.0 - p_gb, p_gb, p_bg: p_bg.min(1.0), p_bb: p_bb.min(1.0) }
    }

    /// Probability that a good step follows a good one.
    pub fn p_gg(&self) -> f64 {
        self.p_gg
    }

    /// Probability that a bad step follows a good one.
    pub fn p_gb(&self) -> f64 {
        self.p_gb
    }

    /// Probability that a good step follows a bad one.
    pub fn p_bg(&self) -> f64 {
        self.p_bg
    }

    /// Probability that a bad step follows a bad one.
    pub fn p_bb(&self) -> f64 {
        self.p_bb
    }

    /// Long-run share of bad steps, the loss rate.
    pub fn p_e(&self) -> f64 {
        self.p_gb / (self.p_gb + self.p_bg)
    }

    /// Mean number of bad steps in a row; infinite if the bad state is never left.
    pub fn mean_burst(&self) -> f64 {
        1.0 / self.p_bg
    }
}

/// Loss process that loses the transmissions in bad steps of a [`TwoStateMarkov`] chain.
///
/// The state depends on the stream and the step. Runs of equal states are drawn, not steps, so idle time costs next to
/// nothing; transmissions in one step share its fate. The chain starts in its stationary distribution.
#[derive(Clone, Debug)]
pub struct MarkovLoss {
    leave_good: Geometric,
    leave_bad: Geometric,
    clock: Clock,
    stream: Stream,
    bad: bool,
    /// Last step of the current run of equal states.
    last_of_run: u64,
}

impl MarkovLoss {
    /// Creates the losses of `chain`, with one step per tick of `clock`, drawn from `stream`.
    pub fn new(chain: &TwoStateMarkov, clock: Clock, mut stream: Stream) -> Self {
        let leave_good = Geometric::new(chain.p_gb);
        let leave_bad = Geometric::new(chain.p_bg);
        let bad = stream.random::<f64>() < chain.p_e();
        // A geometric run has no memory: what is left at step 0 of the one under way has the law of a whole
        // one.
        let last_of_run = if bad { leave_bad } else { leave_good }.sample(&mut stream);
        Self { leave_good, leave_bad, clock, stream, bad, last_of_run }
    }

    /// True if `step` is bad. Steps must not decrease from call to call.
    fn is_bad(&mut self, step: u64) -> bool {
        while self.last_of_run < step {
            self.bad = !self.bad;
            let leave = if self.bad { self.leave_bad } else { self.leave_good };
            self.last_of_run =
                self.last_of_run.saturating_add(1).saturating_add(leave.sample(&mut self.stream));
        }
        self.bad
    }
}

impl LossProcess for MarkovLoss {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        self.is_bad(self.clock.step(now, transmission))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;
    use proptest::num::f64::ANY;
    use proptest::prelude::*;

    fn process(chain: &TwoStateMarkov, clock: Clock, seed: u64) -> MarkovLoss {
        MarkovLoss::new(chain, clock, RunSeed { seed, run: 0 }.stream("channel.dl"))
    }

    fn states(chain: &TwoStateMarkov, seed: u64, n: u64) -> Vec<bool> {
        let mut process = process(chain, Clock::Transmission, seed);
        (0..n).map(|step| process.is_bad(step)).collect()
    }

    fn message(result: Result<TwoStateMarkov, ChannelError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn the_three_ways_to_give_a_chain_agree() {
        let chain = TwoStateMarkov::new(0.875, 0.75).unwrap();
        assert_eq!((chain.p_gb(), chain.p_bg()), (0.125, 0.25));
        assert!((chain.p_e() - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(chain.mean_burst(), 4.0);
        let same = TwoStateMarkov::from_burst(chain.p_e(), chain.mean_burst()).unwrap();
        assert!((same.p_gb() - chain.p_gb()).abs() < 1e-15);
        let iid = TwoStateMarkov::iid(0.25).unwrap();
        assert_eq!(iid, TwoStateMarkov::new(0.75, 0.25).unwrap());
        assert_eq!(iid.p_e(), 0.25);
    }

    #[test]
    fn small_probabilities_keep_their_digits() {
        let chain = TwoStateMarkov::from_burst(1e-18, 2.0).unwrap();
        assert_eq!((chain.p_gg(), chain.p_gb()), (1.0, 0.5e-18));
        assert!((chain.p_e() / 1e-18 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn impossible_chains_are_refused_with_their_reason() {
        let m = message;
        assert_eq!(m(TwoStateMarkov::new(1.5, 0.5)), "p_gg = 1.5: must be between 0 and 1");
        assert_eq!(m(TwoStateMarkov::new(0.5, f64::NAN)), "p_bb = NaN: must be between 0 and 1");
        assert_eq!(TwoStateMarkov::new(1.0, 1.0), Err(ChannelError::NeverChangesState));
        assert_eq!(m(TwoStateMarkov::iid(-0.1)), "p_e = -0.1: must be between 0 and 1");
        assert_eq!(
            m(TwoStateMarkov::from_burst(0.1, 0.5)),
            "mean_burst = 0.5: must be finite and at least 1"
        );
        let refused = "p_e = 0.9: must be at most 0.75 where mean_burst is 3.0";
        assert_eq!(m(TwoStateMarkov::from_burst(0.9, 3.0)), refused);
        assert_eq!(m(TwoStateMarkov::from_burst(1.0, 3.0)), refused.replace("0.9", "1.0"));
    }

    #[test]
    fn the_largest_loss_rate_a_burst_length_allows_is_allowed() {
        for mean_burst in [1.0, 2.0, 3.0, 7.0, 1e9] {
            let chain = TwoStateMarkov::from_burst(mean_burst / (1.0 + mean_burst), mean_burst).unwrap();
            assert!((chain.p_gb() - 1.0).abs() < 1e-6, "mean burst {mean_burst}");
        }
    }

    #[test]
    fn absorbing_and_alternating_states() {
        assert!(states(&TwoStateMarkov::new(1.0, 0.5).unwrap(), 1, 1000).iter().all(|bad| !bad));
        assert!(states(&TwoStateMarkov::new(0.5, 1.0).unwrap(), 1, 1000).iter().all(|bad| *bad));
        let alternating = states(&TwoStateMarkov::new(0.0, 0.0).unwrap(), 1, 1000);
        assert!(alternating.windows(2).all(|pair| pair[0] != pair[1]));
        // A state that is never left reaches the end of all steps.
        assert!(!process(&TwoStateMarkov::new(1.0, 0.5).unwrap(), Clock::Transmission, 1).is_bad(u64::MAX));
    }

    #[test]
    fn a_run_has_the_rates_of_its_chain() {
        for (p_gg, p_bb) in [(0.999, 0.5), (0.99, 0.9), (0.9, 0.1), (0.5, 0.98), (0.1, 0.2)] {
            let chain = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            let n = 200_000;
            let states = states(&chain, 1, n);
            let bad = states.iter().filter(|&&bad| bad).count() as f64;
            let bursts = states.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;

            // A chain's mean has the variance of independent steps times (1 + r) / (1 - r), r its
            // correlation.
            let (p_e, r) = (chain.p_e(), 1.0 - chain.p_gb() - chain.p_bg());
            let sigma = (p_e * (1.0 - p_e) / n as f64 * (1.0 + r) / (1.0 - r)).sqrt();
            let z = (bad / n as f64 - p_e) / sigma;
            assert!(z.abs() < 4.0, "p_gg {p_gg}, p_bb {p_bb}: loss rate {z} standard errors off");

            let sigma = chain.mean_burst() * (chain.p_bb() / bursts).sqrt();
            let z = (bad / bursts - chain.mean_burst()) / sigma;
            assert!(z.abs() < 4.0, "p_gg {p_gg}, p_bb {p_bb}: mean burst {z} standard errors off");
        }
    }

    #[test]
    fn the_first_step_is_stationary() {
        let chain = TwoStateMarkov::new(0.99, 0.96).unwrap();
        let n = 4000;
        for step in [0, 3] {
            let bad = (0..n).filter(|&seed| process(&chain, Clock::Transmission, seed).is_bad(step)).count();
            // p_e is 0.2.
            assert!(
                (bad as f64 / n as f64 - 0.2).abs() < 4.0 * (0.2_f64 * 0.8 / n as f64).sqrt(),
                "{bad} of {n}"
            );
        }
    }

    #[test]
    fn what_is_sent_in_one_slot_shares_its_fate() {
        let chain = TwoStateMarkov::iid(0.5).unwrap();
        let slot = SimTime::from_millis(10);
        let by_slot = states(&chain, 7, 100);
        let mut process = process(&chain, Clock::Slot(slot), 7);
        for tx in 0..300 {
            let now = SimTime::from_micros(3_333) * tx;
            assert_eq!(process.lost(now, tx), by_slot[(now / slot) as usize]);
        }
    }

    proptest! {
        #[test]
        fn no_number_panics_and_what_is_accepted_is_a_chain(a in ANY, b in ANY, p in 0.0..=1.0, fd_t in ANY) {
            let chains = [
                TwoStateMarkov::new(a, b), TwoStateMarkov::new(a, p), TwoStateMarkov::new(p, b),
                TwoStateMarkov::from_burst(a, b), TwoStateMarkov::from_burst(p, a.abs()),
                TwoStateMarkov::from_burst(p, 1.0 + a.abs().fract()),
                TwoStateMarkov::iid(a), TwoStateMarkov::iid(p),
                TwoStateMarkov::from_rayleigh(a, fd_t), TwoStateMarkov::from_rayleigh(p, fd_t.abs()),
                TwoStateMarkov::from_rayleigh(a.abs().fract(), p),
            ];
            for chain in chains.into_iter().flatten() {
                for p in [chain.p_gg(), chain.p_gb(), chain.p_bg(), chain.p_bb(), chain.p_e()] {
                    prop_assert!((0.0..=1.0).contains(&p), "{chain:?}");
                }
                prop_assert!((chain.p_gg() + chain.p_gb() - 1.0).abs() < 1e-12, "{chain:?}");
                prop_assert!((chain.p_bg() + chain.p_bb() - 1.0).abs() < 1e-12, "{chain:?}");
                prop_assert!(chain.mean_burst() >= 1.0, "{chain:?}");
            }
        }

        #[test]
        fn the_state_does_not_depend_on_who_asks_when(
            p_gg in 0.0..1.0, p_bb in 0.0..1.0, seed: u64,
            asked in proptest::collection::vec(0_u64..9, 1..100),
        ) {
            let chain = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            let all = states(&chain, seed, 900);
            let mut process = process(&chain, Clock::Transmission, seed);
            let mut step = 0;
            for skip in asked {
                step += skip;
                prop_assert_eq!(process.is_bad(step), all[step as usize]);
            }
        }
    }
}
