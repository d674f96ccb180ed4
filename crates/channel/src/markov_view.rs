//! Two-state Markov chains by which the analysis replaces channels.

use crate::loss::Clock;
use crate::markov::TwoStateMarkov;
use crate::markov_fit::MarkovFit;
use crate::not_markov::NotMarkov;
use crate::rayleigh_fit::RayleighFit;

/// Channel as the analysis sees it: a two-state Markov chain that steps every packet time, and its fidelity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkovView {
    /// Two-state Markov chain, one step per packet transmission time.
    pub chain: TwoStateMarkov,
    /// Fidelity of the chain to the channel: exact, or fitted with a known difference.
    pub fidelity: Fidelity,
}

/// Fidelity of a two-state Markov chain to the channel that it replaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fidelity {
    /// The channel is this chain.
    Exact,
    /// The chain has the channel's probabilities from one slot to the next; over more slots it only approximates the
    /// channel.
    Fitted {
        /// Largest difference, over all k, in the probability of a good run of k slots or more.
        good_runs: f64,
        /// Largest difference, over all k, in the probability of a bad run of k slots or more.
        bad_runs: f64,
    },
}

impl MarkovView {
    /// View of a lossless channel: a chain that never enters the bad state.
    pub fn lossless() -> Self {
        Self::exact(TwoStateMarkov::with_all_digits(0.0, 1.0, 0.0))
    }

    /// View of independent losses, which need no clock, since a slot holds at most one transmission.
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1].
    pub fn iid(p_e: f64) -> Result<Self, NotMarkov> {
        Ok(Self::exact(TwoStateMarkov::iid(p_e)?))
    }

    /// View of a chain. The slot of `clock` must be that of the analysis, the transmission time of a packet.
    ///
    /// # Errors
    /// If a chain with memory steps with each transmission.
    pub fn markov(chain: TwoStateMarkov, clock: Clock) -> Result<Self, NotMarkov> {
        match clock {
            Clock::Transmission if chain.p_bb() != chain.p_gb() => Err(NotMarkov::StepsPerTransmission),
            _ => Ok(Self::exact(chain)),
        }
    }

    /// View of Rayleigh fading under a threshold, by a chain fitted to sampled fading. It takes up to a second, so keep
    /// the result.
    ///
    /// # Errors
    /// If fading steps with each transmission, losses are too rare to fit a chain, or parameters are out of range.
    pub fn rayleigh(p_e: f64, fd_t: f64, clock: Clock) -> Result<Self, NotMarkov> {
        if p_e == 0.0 || p_e == 1.0 {
            return Self::iid(p_e);
        }
        match clock {
            Clock::Transmission => Err(NotMarkov::StepsPerTransmission),
            Clock::Slot(_) => Ok(Self::fitted(&RayleighFit::new(p_e, fd_t)?.fit)),
        }
    }

    /// View of a trace by the chain fitted to it, with one packet per slot.
    pub fn fitted(fit: &MarkovFit) -> Self {
        let fidelity = Fidelity::Fitted {
            good_runs: fit.good_runs.distance.value(),
            bad_runs: fit.bad_runs.distance.value(),
        };
        Self { chain: fit.chain(), fidelity }
    }

    fn exact(chain: TwoStateMarkov) -> Self {
        Self { chain, fidelity: Fidelity::Exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::SimTime;

    const SLOT: Clock = Clock::Slot(SimTime::from_millis(1));

    #[test]
    fn chains_and_independent_losses_are_exact() {
        let chain = TwoStateMarkov::new(0.99, 0.75).unwrap();
        assert_eq!(MarkovView::markov(chain, SLOT), Ok(MarkovView { chain, fidelity: Fidelity::Exact }));
        let iid = TwoStateMarkov::iid(0.1).unwrap();
        let view = MarkovView { chain: iid, fidelity: Fidelity::Exact };
        assert_eq!(MarkovView::iid(0.1), Ok(view));
        // Without memory the clock of the chain does not matter.
        assert_eq!(MarkovView::markov(iid, Clock::Transmission), Ok(view));
        assert_eq!(MarkovView::lossless(), MarkovView::iid(0.0).unwrap());
    }

    #[test]
    fn what_is_no_chain_in_time_names_the_assumption() {
        let chain = TwoStateMarkov::new(0.99, 0.75).unwrap();
        let message = |view: Result<MarkovView, NotMarkov>| view.unwrap_err().to_string();
        let steps =
            "assumes a channel that steps every slot, and this one steps once a transmission: simulate it";
        assert_eq!(message(MarkovView::markov(chain, Clock::Transmission)), steps);
        assert_eq!(message(MarkovView::rayleigh(0.1, 0.01, Clock::Transmission)), steps);
        assert_eq!(
            message(MarkovView::rayleigh(0.1, -1.0, SLOT)),
            "cannot take this channel: fd_t = -1.0: must be between 1e-100 and 1e9"
        );
        let rare = message(MarkovView::rayleigh(1e-9, 0.01, SLOT));
        assert!(
            rare.contains("bursts are too rare for that (one in 1.0e9 slots): use the markov model"),
            "{rare}"
        );
        assert!(message(MarkovView::rayleigh(0.1, 1e-7, SLOT)).contains("too rare"));
    }

    #[test]
    fn fading_is_fitted_and_says_how_far_off_the_chain_is() {
        let view = MarkovView::rayleigh(0.1, 0.08, SLOT).unwrap();
        let Fidelity::Fitted { bad_runs, .. } = view.fidelity else { panic!("{view:?}") };
        // P[burst >= 3] is 0.167 in the fading and 0.215 in the chain (docs/two-states.md).
        assert!((bad_runs - 0.048).abs() < 0.015, "{bad_runs}");
    }
}
