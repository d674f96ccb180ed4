//! Configuration of loss processes: one enum that lists all of them.

use crate::error_rate_loss::{ErrorRateLoss, ErrorRateLosses};
use crate::{
    ChannelError, Clock, DropList, FiniteStateChannel, FiniteStateLoss, Iid, LossProcess, LossTrace,
    Lossless, MarkovFit, MarkovLoss, MarkovView, NotMarkov, ParsedTrace, RayleighLoss, TraceLoss,
    TwoStateMarkov,
};
use crossfade_core::Stream;
use std::sync::Arc;

/// Loss process of packets or frames, with its parameters.
#[derive(Clone, Debug)]
pub enum LossConfig {
    /// A channel without losses.
    Lossless,
    /// Independent losses.
    Iid {
        /// Probability that a transmission is lost.
        p_e: f64,
    },
    /// Losses in the bad state of a two-state Markov chain.
    Markov {
        /// Markov chain whose bad steps lose transmissions.
        chain: TwoStateMarkov,
        /// Clock of the chain: one step per slot of time or per transmission.
        clock: Clock,
    },
    /// Losses of a finite-state Markov channel.
    FiniteState {
        /// Markov chain with the loss probability of each state.
        channel: FiniteStateChannel,
        /// Clock of the chain: one step per slot of time or per transmission.
        clock: Clock,
    },
    /// Losses while the power of a sampled Rayleigh process is below a threshold.
    Rayleigh {
        /// Share of time in which the power is below the threshold, the long-run loss rate.
        p_e: f64,
        /// Maximum Doppler frequency times the length of a step of the clock.
        fd_t: f64,
        /// Clock of the fading process: one step per slot of time or per transmission.
        clock: Clock,
    },
    /// Losses by an error rate that depends on a fading signal-to-noise ratio.
    ErrorRate(Box<ErrorRateLoss>),
    /// Losses of exactly the listed transmissions.
    DropList(DropList),
    /// Playback of recorded losses.
    Trace {
        /// Recorded fate of each packet.
        losses: RecordedLosses,
        /// Clock of the playback: one packet of the record per slot of time or per transmission.
        clock: Clock,
    },
}

/// Recorded losses, with the Markov chain that the analysis uses in their place.
#[derive(Clone, Debug)]
pub struct RecordedLosses {
    /// Fate of each packet.
    pub trace: Arc<LossTrace>,
    /// True if the number of packets was unknown, so that the trace ends with its last loss.
    pub packets_assumed: bool,
    /// Markov chain for the analysis, fitted with one packet in each slot, or the reason why there is none.
    view: Arc<Result<MarkovView, NotMarkov>>,
}

impl From<ParsedTrace> for RecordedLosses {
    fn from(parsed: ParsedTrace) -> Self {
        let fit = MarkovFit::new(std::slice::from_ref(&parsed.trace));
        Self {
            view: Arc::new(fit.map(|fit| MarkovView::fitted(&fit)).map_err(NotMarkov::from)),
            trace: Arc::new(parsed.trace),
            packets_assumed: parsed.packets_assumed,
        }
    }
}

impl LossConfig {
    /// Builds the process, which draws from `stream`.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn build(&self, stream: Stream) -> Result<Box<dyn LossProcess>, ChannelError> {
        Ok(match self {
            Self::Lossless => Box::new(Lossless),
            Self::Iid { p_e } => Box::new(Iid::new(*p_e, stream)?),
            Self::Markov { chain, clock } => Box::new(MarkovLoss::new(chain, *clock, stream)),
            Self::FiniteState { channel, clock } => {
                Box::new(FiniteStateLoss::new(channel.clone(), *clock, stream))
            }
            Self::Rayleigh { p_e, fd_t, clock } => Box::new(RayleighLoss::new(*p_e, *fd_t, *clock, stream)?),
            Self::ErrorRate(config) => Box::new(ErrorRateLosses::new((**config).clone(), stream)?),
            Self::DropList(drops) => Box::new(drops.clone()),
            Self::Trace { losses, clock } => Box::new(TraceLoss::new(Arc::clone(&losses.trace), *clock)),
        })
    }

    /// Long-run loss rate of packets; `None` if it is undefined (a drop list) or unknown (an error rate over several
    /// parts of a block).
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Lossless => Some(0.0),
            Self::Iid { p_e } | Self::Rayleigh { p_e, .. } => Some(*p_e),
            Self::Markov { chain, .. } => Some(chain.p_e()),
            Self::FiniteState { channel, .. } => Some(channel.p_e()),
            Self::Trace { losses, .. } => Some(losses.trace.losses() as f64 / losses.trace.packets() as f64),
            Self::ErrorRate(config) => config.rate(),
            Self::DropList(_) => None,
        }
    }

    /// True if the process can lose any packet.
    pub fn may_lose(&self) -> bool {
        // The loss rate of blocks of several parts is unknown.
        matches!(self, Self::DropList(_))
            || matches!(self, Self::ErrorRate(config) if config.parts > 1)
            || self.rate().is_some_and(|rate| rate > 0.0)
    }

    /// True if every packet is lost from some time on.
    pub fn ends_in_loss(&self) -> bool {
        match self {
            // A bad state that is never left, and can be reached.
            Self::Markov { chain, .. } => chain.p_bg() <= 0.0 && chain.p_gb() > 0.0,
            other => other.rate().is_some_and(|rate| rate >= 1.0),
        }
    }

    /// Markov chain of the process for the analysis. It takes up to a second if [`Self::needs_fit`].
    ///
    /// # Errors
    /// If the process is no two-state Markov chain in time: the assumption that it violates.
    pub fn markov_view(&self) -> Result<MarkovView, NotMarkov> {
        match self {
            Self::Rayleigh { p_e, fd_t, clock } => MarkovView::rayleigh(*p_e, *fd_t, *clock),
            other => other.nearby_view(),
        }
    }

    /// Like [`Self::markov_view`], but Rayleigh fading is approximated in closed form, without a computation of its
    /// chain.
    ///
    /// # Errors
    /// If the process is no two-state Markov chain in time: the assumption that it violates.
    pub fn nearby_view(&self) -> Result<MarkovView, NotMarkov> {
        match self {
            Self::Lossless => Ok(MarkovView::lossless()),
            Self::Iid { p_e } => MarkovView::iid(*p_e),
            Self::Markov { chain, clock } => MarkovView::markov(*chain, *clock),
            Self::Rayleigh { p_e, fd_t, clock } => TwoStateMarkov::from_rayleigh(*p_e, *fd_t)
                .map_err(NotMarkov::from)
                .and_then(|chain| MarkovView::markov(chain, *clock)),
            Self::FiniteState { channel, .. } => {
                Err(NotMarkov::States { states: channel.stationary().len() })
            }
            Self::ErrorRate(config) => match config.rate() {
                Some(p_e) if config.is_independent() => MarkovView::iid(p_e),
                _ => Err(NotMarkov::ErrorRate),
            },
            Self::DropList(_) => Err(NotMarkov::DropList),
            Self::Trace { clock: Clock::Transmission, .. } => Err(NotMarkov::StepsPerTransmission),
            Self::Trace { losses, .. } => (*losses.view).clone(),
        }
    }

    /// Key of the fit that [`Self::markov_view`] makes, `Some` for Rayleigh fading only: the bits of `p_e` and `fd_t`.
    /// Processes with equal keys have equal views, so a caller can cache them.
    pub fn needs_fit(&self) -> Option<[u64; 2]> {
        match self {
            Self::Rayleigh { p_e, fd_t, .. } => Some([p_e.to_bits(), fd_t.to_bits()]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::{RunSeed, SimTime};

    #[test]
    fn a_rate_is_what_the_process_loses() {
        let slot = SimTime::from_millis(1);
        let clock = Clock::Slot(slot);
        let configs = [
            LossConfig::Lossless,
            LossConfig::Iid { p_e: 0.2 },
            LossConfig::Markov { chain: TwoStateMarkov::new(0.9, 0.6).unwrap(), clock },
            LossConfig::Rayleigh { p_e: 0.2, fd_t: 0.3, clock },
            LossConfig::FiniteState {
                channel: FiniteStateChannel::new(vec![vec![0.7, 0.3], vec![0.4, 0.6]], vec![0.1, 0.5])
                    .unwrap(),
                clock,
            },
        ];
        for config in configs {
            let stream = RunSeed { seed: 1, run: 0 }.stream("test");
            let mut process = config.build(stream).unwrap();
            let losses = (0..100_000_u64).filter(|&tx| process.lost(slot * tx, tx)).count();
            let rate = config.rate().unwrap();
            assert!((losses as f64 / 1e5 - rate).abs() < 0.01, "{config:?}: {losses}");
            assert_eq!(config.may_lose(), losses > 0);
            assert!(!config.ends_in_loss());
        }
        assert!(LossConfig::Iid { p_e: 1.0 }.ends_in_loss());
        let drops = LossConfig::DropList(DropList::new(vec![3]).unwrap());
        assert!(drops.may_lose() && !drops.ends_in_loss() && drops.rate().is_none());
    }
}
