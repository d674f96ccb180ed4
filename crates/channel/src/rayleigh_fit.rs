//! Markov chain fitted to sampled Rayleigh fading, for comparison with the closed-form chain.

use crate::loss::{Clock, LossProcess};
use crate::loss_trace::LossTrace;
use crate::markov::TwoStateMarkov;
use crate::markov_fit::MarkovFit;
use crate::not_markov::NotMarkov;
use crate::sampled_rayleigh::RayleighLoss;
use crossfade_core::square;
use crossfade_core::{RunSeed, SimTime};

/// Markov chain fitted to the losses of a [`RayleighLoss`], its precision, and the closed-form chain.
#[derive(Clone, Debug, PartialEq)]
pub struct RayleighFit {
    /// Fit of a chain to the sampled losses. Its confidence intervals assume the steps of a chain, unlike `precision`.
    pub fit: MarkovFit,
    /// Closed-form chain with the transition probabilities of one step: [`TwoStateMarkov::from_rayleigh`].
    pub closed_form: TwoStateMarkov,
    /// Number of independent realisations of the fading.
    pub realisations: u64,
    /// Number of steps of each realisation.
    pub steps: u64,
    /// Relative half-width of the 95 % confidence interval of `p_gb` or `p_bg` over realisations, the wider of both.
    pub precision: f64,
}

/// Number of bursts to sample: `p_bg` is then within 2 % and a distribution of burst lengths within 0.014.
const BURSTS: f64 = 10_000.0;
/// Number of realisations: their long-run loss rates differ by 0.8 % rms, so the mean over a hundred is within 0.08 %.
const REALISATIONS: f64 = 100.0;
/// Least number of bursts per realisation: with fewer, the runs cut off at its ends would be missed among the long
/// ones.
const BURSTS_PER_REALISATION: f64 = 100.0;
/// Largest number of sampled steps, which take about a second. If they contain fewer than 10,000 bursts, `precision`
/// shows the effect.
const MOST_STEPS: f64 = 2e7;
/// Least number of expected bursts for a fit: with fewer, `p_bg` would be known to 20 % only.
const FEWEST_BURSTS: f64 = 100.0;

impl RayleighFit {
    /// Samples Rayleigh fading of normalised Doppler frequency `fd_t` that loses a share `p_e` of the steps, and fits a
    /// chain.
    ///
    /// The realisations are always those of the streams `fit.rayleigh` of seed 0.
    ///
    /// # Errors
    /// If 20 million steps would hold fewer than 100 bursts, `p_e` is outside [0, 1], or `fd_t` outside [1e-100, 1e9].
    pub fn new(p_e: f64, fd_t: f64) -> Result<Self, NotMarkov> {
        let closed_form = TwoStateMarkov::from_rayleigh(p_e, fd_t)?;
        let bursts_per_step = closed_form.p_e() * closed_form.p_bg();
        if MOST_STEPS * bursts_per_step < FEWEST_BURSTS {
            return Err(NotMarkov::TooRare { slots_per_burst: 1.0 / bursts_per_step });
        }
        let total = (BURSTS / bursts_per_step).min(MOST_STEPS);
        let realisations = (total * bursts_per_step / BURSTS_PER_REALISATION)
            .clamp(REALISATIONS / 10.0, REALISATIONS) as u64;
        let steps = (total / realisations as f64).ceil() as u64;
        let mut traces = Vec::new();
        for run in 0..realisations {
            let stream = RunSeed { seed: 0, run }.stream("fit.rayleigh");
            let mut process = RayleighLoss::new(p_e, fd_t, Clock::Transmission, stream)?;
            traces.push(LossTrace::new((0..steps).map(|step| process.lost(SimTime::ZERO, step))));
        }
        let fit = MarkovFit::new(&traces)?;
        let precision =
            f64::max(leaving(&traces, false, fit.chain().p_gb()), leaving(&traces, true, fit.chain().p_bg()));
        Ok(Self { fit, closed_form, realisations, steps, precision })
    }
}

/// Relative half-width of the 95 % confidence interval of the `probability` to leave a `state` (true: lost), a ratio of
/// sums over independent realisations.
fn leaving(traces: &[LossTrace], state: bool, probability: f64) -> f64 {
    let (mut squares, mut steps) = (0.0, 0.0);
    for trace in traces {
        let lengths = trace.runs().filter(|(lost, _)| *lost == state).map(|(_, length)| length);
        let (runs, length) =
            lengths.fold((0.0, 0.0), |(runs, sum), length| (runs + 1.0, sum + length as f64));
        squares += square(runs - probability * length);
        steps += length;
    }
    let degrees = traces.len() as f64 / (traces.len() as f64 - 1.0);
    let quantile = crossfade_core::student_t_quantile(0.975, traces.len() as f64 - 1.0);
    quantile * (squares * degrees).sqrt() / (steps * probability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markov_fit::Verdict;

    #[test]
    fn a_fit_has_the_closed_form_probabilities_of_one_step() {
        for (p_e, fd_t) in [(0.1, 0.01), (0.1, 0.08), (0.1, 0.64), (0.01, 0.08)] {
            let found = RayleighFit::new(p_e, fd_t).unwrap();
            let (ours, theory) = (found.fit.chain(), found.closed_form);
            assert!(found.precision < 0.025, "{found:?}");
            // The finite number of waves lowers p_bb by up to 1 % of itself (RayleighLoss).
            let waves = 0.01 * theory.p_bb() / theory.p_bg();
            for (name, ours, theory) in
                [("p_gb", ours.p_gb(), theory.p_gb()), ("p_bg", ours.p_bg(), theory.p_bg())]
            {
                let off = (ours / theory - 1.0).abs();
                let allowed = found.precision * 1.6 + waves;
                assert!(off < allowed, "fd_t {fd_t}, p_e {p_e}, {name}: {ours}, {theory}, off {off}");
            }
        }
    }

    #[test]
    fn slow_fading_is_no_chain_and_fast_fading_is_one() {
        let slow = RayleighFit::new(0.1, 0.01).unwrap().fit;
        assert_eq!(slow.verdict(), Verdict::NotFirstOrder);
        // docs/two-states.md: P[burst >= 5] is 0.931 in the fading and 0.738 in the chain.
        assert!((0.17..0.23).contains(&slow.bad_runs.distance.value()), "{:?}", slow.bad_runs.distance);
        let fast = RayleighFit::new(0.1, 0.64).unwrap().fit;
        assert!(fast.bad_runs.distance.value() < 0.02, "{:?}", fast.bad_runs.distance);
    }

    /// Worked numbers of the precision: two traces of four delivered packets have two good runs and one; with
    /// probability 3/8 per packet 1.5 are expected, so each is 0.5 off. The deviation of their sum is sqrt(2 (0.25 +
    /// 0.25)) = 1; Student's quantile for 1 degree of freedom is 12.7062.
    #[test]
    fn precision_is_that_of_independent_realisations() {
        let trace = |lost: &[u8]| LossTrace::new(lost.iter().map(|&lost| lost == 1));
        let traces = [trace(&[0, 0, 1, 0, 0]), trace(&[0, 0, 0, 0, 1])];
        let precision = leaving(&traces, false, 3.0 / 8.0);
        assert!((precision - 12.7062 / 3.0).abs() < 1e-4, "{precision}");
    }

    #[test]
    fn it_is_the_same_every_time() {
        assert_eq!(RayleighFit::new(0.3, 0.2).unwrap(), RayleighFit::new(0.3, 0.2).unwrap());
    }
}
