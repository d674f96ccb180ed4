//! Independent losses of equal probability.

use crate::error::{ChannelError, probability};
use crate::geometric::Geometric;
use crate::loss::LossProcess;
use crossfade_core::{SimTime, Stream};

/// Loss process of independent losses: each transmission is lost with the same probability.
///
/// Losses depend on the stream alone. The gaps between losses are drawn, not single transmissions, so a transmission
/// costs one comparison if losses are rare.
#[derive(Clone, Debug)]
pub struct Iid {
    gap: Geometric,
    stream: Stream,
    next_loss: u64,
}

impl Iid {
    /// Creates the process that loses a share `p_e` of the transmissions, drawn from `stream`.
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1].
    pub fn new(p_e: f64, mut stream: Stream) -> Result<Self, ChannelError> {
        let gap = Geometric::new(probability("p_e", p_e)?);
        let next_loss = gap.sample(&mut stream);
        Ok(Self { gap, stream, next_loss })
    }
}

impl LossProcess for Iid {
    fn lost(&mut self, _now: SimTime, transmission: u64) -> bool {
        while self.next_loss < transmission {
            let gap = self.gap.sample(&mut self.stream);
            self.next_loss = self.next_loss.saturating_add(1).saturating_add(gap);
        }
        self.next_loss == transmission
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;
    use proptest::prelude::*;

    fn iid(p_e: f64, seed: u64) -> Iid {
        Iid::new(p_e, RunSeed { seed, run: 0 }.stream("channel.dl")).unwrap()
    }

    fn pattern(p_e: f64, seed: u64, n: u64) -> Vec<bool> {
        let mut process = iid(p_e, seed);
        (0..n).map(|tx| process.lost(SimTime::ZERO, tx)).collect()
    }

    #[test]
    fn losses_are_as_frequent_as_asked_and_uncorrelated() {
        for p_e in [0.01, 0.3, 0.9] {
            let n = 100_000;
            let lost = pattern(p_e, 1, n);
            let n = n as f64;
            let rate = lost.iter().filter(|&&x| x).count() as f64 / n;
            assert!((rate - p_e).abs() < 4.0 * (p_e * (1.0 - p_e) / n).sqrt(), "p_e {p_e}: {rate}");
            // Two neighbours are both lost with probability p_e^2; pairs that share a transmission correlate.
            let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / n;
            let variance = p_e.powi(2) * (1.0 - p_e.powi(2)) + 2.0 * p_e.powi(3) * (1.0 - p_e);
            assert!((pairs - p_e * p_e).abs() < 4.0 * (variance / n).sqrt(), "p_e {p_e}: {pairs}");
        }
    }

    #[test]
    fn extremes_lose_nothing_or_all() {
        assert!(pattern(0.0, 1, 1000).iter().all(|lost| !lost));
        assert!(pattern(1.0, 1, 1000).iter().all(|lost| *lost));
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for p_e in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = Iid::new(p_e, RunSeed { seed: 1, run: 0 }.stream("channel.dl")).unwrap_err();
            assert_eq!(error.to_string(), format!("p_e = {p_e:?}: must be between 0 and 1"));
        }
    }

    proptest! {
        #[test]
        fn the_verdict_is_a_function_of_the_transmission(
            p_e in 0.0..=1.0, seed: u64, asked in proptest::collection::vec(0_u64..5, 1..100),
        ) {
            let all = pattern(p_e, seed, 500);
            let mut process = iid(p_e, seed);
            let mut tx = 0;
            for skip in asked {
                tx += skip;
                prop_assert_eq!(process.lost(SimTime::ZERO, tx), all[tx as usize]);
            }
        }
    }
}
