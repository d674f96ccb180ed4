//! Combining at the receiver: the state kept of earlier receptions of a frame, and their joint detection.

use crate::combining::{Stage, Weights};
use crate::joint;
use crate::layout::{MOST_SYMBOLS, WIDEST, with_capacity};
use crate::linear::{Filter, Linear};
use crate::transceiver::{Reception, Transceiver, Workspace};
use crossfade_channel::Matrix;
use num_complex::Complex64;
use std::collections::VecDeque;

/// Greatest number of receptions of a frame that the combining stage `joint` keeps; a new one replaces the oldest.
pub const MOST_RECEPTIONS: usize = 32;

/// State kept of the receptions of a frame, for combining with later ones.
#[derive(Clone, Debug)]
pub struct Kept(What);

#[derive(Clone, Debug)]
enum What {
    /// Sum of the Gram matrices and sum of the matched filter outputs.
    Sum(Box<Matrix>, Vec<f32>),
    /// Sum of the weights of each symbol, and weighted sum of the estimates.
    Weighted([f64; MOST_SYMBOLS], Vec<f32>),
    /// Gram matrix and matched filter outputs of each reception.
    All(VecDeque<(Matrix, Vec<f32>)>),
}

impl Transceiver {
    /// Adds a reception to the state `kept` of earlier ones; `None`: there are none.
    ///
    /// # Panics
    /// If the physical layer has no combining.
    pub fn combine(&self, kept: Option<Kept>, reception: &Reception, workspace: &mut Workspace) -> Kept {
        let combining = self.config().combining.expect("a physical layer that combines");
        let orthogonal = self.detection.orthogonal;
        let new = || (reception.gram, reception.statistic.clone());
        match (combining.stage, combining.weights) {
            (Stage::Joint, _) if !orthogonal => {
                let mut all = match kept {
                    Some(Kept(What::All(all))) => all,
                    _ => VecDeque::new(),
                };
                if all.len() == MOST_RECEPTIONS {
                    all.pop_front();
                }
                all.push_back(new());
                Kept(What::All(all))
            }
            (Stage::Posthoc, _) | (Stage::Joint, Weights::EqualGain) => {
                let (weights, estimates) = self.estimates(reception, combining.weights, workspace);
                Kept(match kept {
                    Some(Kept(What::Weighted(mut sums, mut values))) => {
                        for k in 0..MOST_SYMBOLS {
                            sums[k] += weights[k];
                        }
                        values.iter_mut().zip(&estimates).for_each(|(value, new)| *value += new);
                        What::Weighted(sums, values)
                    }
                    _ => What::Weighted(weights, estimates),
                })
            }
            _ => {
                let Some(Kept(What::Sum(mut gram, mut statistic))) = kept else {
                    let (gram, statistic) = new();
                    return Kept(What::Sum(Box::new(gram), statistic));
                };
                *gram = sum(&gram, &reception.gram);
                statistic.iter_mut().zip(&reception.statistic).for_each(|(sum, new)| *sum += new);
                Kept(What::Sum(gram, statistic))
            }
        }
    }

    /// Number of wrong bits after joint detection of the receptions in `kept`, of which `sent` is one.
    pub fn detect_combined(&self, kept: &Kept, sent: &Reception, workspace: &mut Workspace) -> u32 {
        match &kept.0 {
            What::Sum(gram, statistic) => {
                self.detection.prepare(gram, &mut workspace.prepared);
                self.detect_outputs(statistic, &sent.sent, workspace)
            }
            What::Weighted(weights, estimates) => {
                let symbols = self.detection.packing.symbols;
                let diagonal = Matrix::from_fn(symbols, symbols, |row, column| {
                    Complex64::from(if row == column { weights[row] } else { 0.0 })
                });
                let filter = Filter::matched(&diagonal);
                with_capacity!(symbols, K => self.detection.simd.run(Linear::<K> {
                    symbols: &self.detection.symbols,
                    packing: self.detection.packing,
                    filter: &filter,
                    statistic: estimates,
                    stride: self.stride,
                    words: &mut workspace.decided,
                    estimates: None,
                }));
                self.wrong_bits(&sent.sent, &workspace.decided)
            }
            What::All(receptions) => {
                let weights = self.config().combining.map_or(Weights::MaximalRatio, |c| c.weights);
                joint::detect(&self.detection, receptions, weights, self.stride, &mut workspace.decided);
                self.wrong_bits(&sent.sent, &workspace.decided)
            }
        }
    }

    /// Weight of each symbol of a reception, and its weighted estimates.
    fn estimates(
        &self,
        reception: &Reception,
        weights: Weights,
        workspace: &mut Workspace,
    ) -> ([f64; MOST_SYMBOLS], Vec<f32>) {
        use crate::detector::Prepared;
        assert!(self.stride.is_multiple_of(WIDEST));
        self.detection.prepare(&reception.gram, &mut workspace.prepared);
        let mut by_symbol = [0.0; MOST_SYMBOLS];
        match &workspace.prepared {
            Prepared::Filter(filter) => {
                by_symbol = match weights {
                    Weights::EqualGain => filter.gain,
                    Weights::MaximalRatio => filter.sinr,
                };
            }
            Prepared::Stages(stages) => {
                for i in 0..self.detection.packing.symbols {
                    by_symbol[stages.order[i]] = match weights {
                        Weights::EqualGain => stages.gain[i],
                        Weights::MaximalRatio => stages.sinr[i],
                    };
                }
            }
            Prepared::Candidates(_) | Prepared::Sphere(_) => {
                unreachable!("maximum likelihood leaves no estimates: checked when built")
            }
        }
        let Workspace { prepared, decided, estimates } = workspace;
        self.detection.detect(prepared, &reception.statistic, self.stride, decided, Some(estimates));
        let rows = estimates.chunks_exact(self.stride).enumerate();
        let weighted = rows.flat_map(|(row, values)| {
            let weight = by_symbol[row / 2] as f32;
            values.iter().map(move |value| weight * value)
        });
        (by_symbol, weighted.collect())
    }
}

fn sum(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows(), a.columns(), |row, column| a[(row, column)] + b[(row, column)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accept, Combining, Detector, PhyConfig, Scheme};
    use crossfade_channel::simd::Simd;
    use crossfade_channel::{AntennaCorrelation, MatrixFading, Motion};
    use crossfade_core::{RunSeed, SimTime};

    /// Of 40 receptions the stage `joint` keeps and detects the last 32; the sums of the stage `stacked` hold all 40.
    #[test]
    fn what_is_kept_of_more_than_thirty_two_receptions() {
        let seed = RunSeed { seed: 1, run: 0 };
        for stage in [Stage::Joint, Stage::Stacked] {
            let combining = Combining { stage, weights: Weights::MaximalRatio, accept: Accept::Combined };
            let config =
                PhyConfig { combining: Some(combining), ..PhyConfig::new(Scheme::Blast, Detector::MmseOsic) };
            let radio = Transceiver::new(config, seed.stream("phy.dl")).unwrap();
            let antennas = (config.n_t, config.n_r);
            let mut fading = MatrixFading::new(
                antennas,
                Motion::Independent,
                AntennaCorrelation::None,
                seed.stream("channel.dl"),
                Simd::widest(),
            )
            .unwrap();
            let (mut workspace, mut kept) = (radio.workspace(), None);
            let mut receptions = Vec::new();
            for attempt in 0..40 {
                let mut reception = radio.reception();
                let gains = fading.gains(SimTime::ZERO, attempt);
                radio.receive(7, attempt, 0.01, (&gains, None), &mut reception);
                kept = Some(radio.combine(kept.take(), &reception, &mut workspace));
                receptions.push(reception);
            }
            let Kept(what) = kept.unwrap();
            match what {
                What::All(all) => {
                    let last: Vec<_> =
                        receptions[8..].iter().map(|r| (r.gram, r.statistic.clone())).collect();
                    assert!(all.iter().eq(&last), "{} are kept", all.len());
                }
                What::Sum(gram, _) => {
                    let whole = receptions.iter().map(|r| r.gram[(0, 0)].re).sum::<f64>();
                    assert!((gram[(0, 0)].re / whole - 1.0).abs() < 1e-12);
                }
                What::Weighted(..) => panic!("{stage:?} keeps weighted sums"),
            }
        }
    }
}
