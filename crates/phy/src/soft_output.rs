//! What a detector knows besides its decisions: signal-to-noise ratios and log-likelihood ratios.

use crate::constellation::Modulation;
use crate::detector::Detector;
use crate::error::PhyError;
use crate::layout::{MOST_SYMBOLS, with_size};
use crate::linear::Filter;
use crate::osic::Stages;
use crate::transceiver::{PhyConfig, Reception, Transceiver};
use crossfade_channel::Matrix;
use num_complex::Complex64;

/// The signal to noise and interference ratio of each symbol of a block after detection, for the channel
/// `gains` at `rho` (a ratio).
///
/// Zero forcing: 1 / (G^-1)_kk. Minimum mean square error: 1 / `Omega_kk` - 1. With cancellation: the same at the
/// stage of the symbol, decisions before taken for right. Orthogonal schemes: `G_kk`, which for maximum
/// likelihood is a bound, that of no interference.
///
/// # Errors
/// What [`PhyConfig::check`] refuses.
pub fn post_detection_sinr(config: &PhyConfig, gains: &Matrix, rho: f64) -> Result<Vec<f64>, PhyError> {
    config.check()?;
    let scale = rho * config.scheme.power(config.stbc_power) / config.n_t as f64;
    let gram = config.scheme.gram(gains, scale);
    Ok(sinr(config.detector, config.scheme.is_orthogonal(), &gram)[..gram.rows()].to_vec())
}

fn sinr(detector: Detector, orthogonal: bool, gram: &Matrix) -> [f64; MOST_SYMBOLS] {
    if orthogonal {
        return Filter::matched(gram).sinr;
    }
    with_size!(gram.rows(), K => match detector {
        Detector::Zf => Filter::zero_forcing::<K>(gram).sinr,
        Detector::Mmse => Filter::minimum_error::<K>(gram).sinr,
        Detector::MmseOsic => {
            let mut stages = Stages::empty();
            stages.set::<K>(gram);
            let mut sinr = [0.0; MOST_SYMBOLS];
            for i in 0..K {
                sinr[stages.order[i]] = stages.sinr[i];
            }
            sinr
        }
        Detector::Ml | Detector::Sphere | Detector::Linear => Filter::matched(gram).sinr,
    })
}

/// Log-likelihood ratios of the bits of one symbol, ln P(0) / P(1), from an unbiased estimate of that ratio:
/// the exact sum over points, or with `max_log` the nearest of each kind.
pub fn symbol_llrs(modulation: Modulation, estimate: Complex64, sinr: f64, max_log: bool) -> Vec<f64> {
    let distances: Vec<f64> =
        modulation.points().iter().map(|point| sinr * (estimate - point).norm_sqr()).collect();
    (0..modulation.bits())
        .map(|bit| {
            let of = |value: u32| {
                let labels = distances.iter().enumerate();
                let ours = labels.filter(move |&(label, _)| (label as u32 >> bit) & 1 == value);
                log_sum(ours.map(|(_, &distance)| -distance), max_log)
            };
            of(0) - of(1)
        })
        .collect()
}

/// ln of the sum of exponentials, or its greatest term.
fn log_sum(terms: impl Iterator<Item = f64> + Clone, max_log: bool) -> f64 {
    let greatest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if max_log { greatest } else { greatest + libm::log(terms.map(|term| libm::exp(term - greatest)).sum()) }
}

impl Transceiver {
    /// Log-likelihood ratios, ln P(0) / P(1), of the bits of the frame, in order; max-log if asked.
    ///
    /// Linear detectors: from unbiased estimates and their ratios. With cancellation: decisions before taken
    /// for right. Maximum likelihood: over all candidates of the symbols that interfere.
    ///
    /// # Errors
    /// A sphere decoder, which leaves most candidates out; more than 2^16 of them.
    pub fn llrs(&self, reception: &Reception, max_log: bool) -> Result<Vec<f64>, PhyError> {
        let config = self.config();
        if config.detector == Detector::Sphere {
            Detector::Ml.check(config.scheme, config.n_t, config.modulation)?;
        }
        let symbols = self.detection.packing.symbols;
        let exhaustive =
            matches!(config.detector, Detector::Ml | Detector::Sphere) && !config.scheme.is_orthogonal();
        let mut workspace = self.workspace();
        let mut statistic = reception.statistic.as_slice();
        let ratios = sinr(config.detector, config.scheme.is_orthogonal(), &reception.gram);
        if !exhaustive {
            self.detection.prepare(&reception.gram, &mut workspace.prepared);
            let crate::transceiver::Workspace { prepared, decided, estimates } = &mut workspace;
            self.detection.detect(prepared, statistic, self.stride, decided, Some(estimates));
            statistic = &workspace.estimates;
        }
        let value = |block: usize, k: usize| {
            let part = |row: usize| f64::from(statistic[row * self.stride + block]);
            Complex64::new(part(2 * k), part(2 * k + 1))
        };
        let mut llrs = Vec::new();
        for block in 0..self.stride {
            if exhaustive {
                let mut of_block = vec![Vec::new(); symbols];
                for group in config.scheme.groups(config.n_t) {
                    let z: Vec<_> = group.iter().map(|&k| value(block, k)).collect();
                    let bits = group_llrs(&reception.gram, &group, &z, &self.detection.points, max_log);
                    for (&k, bits) in group.iter().zip(bits) {
                        of_block[k] = bits;
                    }
                }
                llrs.extend(of_block.into_iter().flatten());
            } else {
                for (k, &ratio) in ratios[..symbols].iter().enumerate() {
                    llrs.extend(symbol_llrs(config.modulation, value(block, k), ratio, max_log));
                }
            }
            if llrs.len() >= config.frame_bits as usize {
                break;
            }
        }
        llrs.truncate(config.frame_bits as usize);
        Ok(llrs)
    }
}

/// The bits of the symbols of a group, from its outputs z: over all candidates.
fn group_llrs(
    gram: &Matrix,
    group: &[usize],
    z: &[Complex64],
    points: &[Complex64],
    max_log: bool,
) -> Vec<Vec<f64>> {
    let bits = points.len().ilog2() as usize;
    let candidates = 1_usize << (bits * group.len());
    let label = |candidate: usize, k: usize| (candidate >> (k * bits)) & (points.len() - 1);
    // -||y - H s||^2 but for a constant.
    let likelihood = |candidate: usize| {
        let mut sum = 0.0;
        for (a, &row) in group.iter().enumerate() {
            let s = points[label(candidate, a)];
            sum += 2.0 * (s.conj() * z[a]).re;
            for (b, &column) in group.iter().enumerate() {
                sum -= (s.conj() * gram[(row, column)] * points[label(candidate, b)]).re;
            }
        }
        sum
    };
    let likelihoods: Vec<f64> = (0..candidates).map(likelihood).collect();
    let ratio = |k: usize, bit: usize| {
        let of = |value: usize| {
            let ours = likelihoods.iter().enumerate();
            let ours = ours.filter(move |&(candidate, _)| (label(candidate, k) >> bit) & 1 == value);
            log_sum(ours.map(|(_, &likelihood)| likelihood), max_log)
        };
        of(0) - of(1)
    };
    (0..group.len()).map(|k| (0..bits).map(|bit| ratio(k, bit)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;
    use crossfade_channel::{AntennaCorrelation, MatrixFading, Motion, simd::Simd};
    use crossfade_core::{RunSeed, SimTime};

    #[test]
    fn llrs_are_right_and_consistent() {
        // P(bit = 1) = 1 / (1 + exp(llr)): over many bits as many are 1 as that says, and the sign is the
        // decision.
        for (scheme, detector) in [
            (Scheme::Simo, Detector::Linear),
            (Scheme::Blast, Detector::Ml),
            (Scheme::Stbc1, Detector::Ml),
            (Scheme::Blast, Detector::Mmse),
            (Scheme::Stbc2, Detector::Zf),
        ] {
            let config = PhyConfig::new(scheme, detector);
            let stream = |name: &str| RunSeed { seed: 5, run: 0 }.stream(name);
            let transceiver = Transceiver::new(config, stream("phy.dl")).unwrap();
            let mut fading = MatrixFading::new(
                (config.n_t, config.n_r),
                Motion::Independent,
                AntennaCorrelation::None,
                stream("channel.dl"),
                Simd::widest(),
            )
            .unwrap();
            let mut reception = transceiver.reception();
            let (mut expected, mut wrong, mut variance) = (0.0, 0.0, 0.0);
            for t in 0..100 {
                let gains = fading.gains(SimTime::ZERO, t);
                transceiver.receive(t, t, 2.0, (&gains, None), &mut reception);
                let by_decision = transceiver.detect(&reception, &mut transceiver.workspace());
                let llrs = transceiver.llrs(&reception, true).unwrap();
                assert_eq!(llrs.len(), 240);
                let of_sign: u32 = llrs
                    .iter()
                    .zip(transceiver.sent_bits(&reception))
                    .map(|(&llr, sent)| u32::from((llr < 0.0) != sent))
                    .sum();
                assert_eq!(of_sign, by_decision, "{scheme:?} {detector:?}");
                for llr in transceiver.llrs(&reception, false).unwrap() {
                    let p = 1.0 / (1.0 + llr.abs().exp());
                    expected += p;
                    variance += p * (1.0 - p);
                }
                wrong += f64::from(by_decision);
            }
            // Exact likelihoods are calibrated for maximum likelihood and orthogonal schemes; behind a linear
            // filter interference counts as Gaussian noise. The signs of the max-log ratios are decisions on
            // whole vectors, slightly worse than bit by bit.
            let slack = if detector == Detector::Ml || detector == Detector::Linear { 0.02 } else { 0.10 };
            let error = (wrong - expected).abs();
            assert!(
                error < 4.0 * f64::sqrt(variance) + slack * expected,
                "{scheme:?} {detector:?}: {wrong} wrong, {expected} expected"
            );
        }
    }
}
