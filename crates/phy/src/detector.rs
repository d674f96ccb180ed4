//! Detectors by name, and the detection of a frame from matched filter outputs.

use crate::constellation::Modulation;
use crate::error::PhyError;
use crate::layout::{Packing, with_capacity, with_size};
use crate::linear::{Filter, Linear};
use crate::ml::{Candidates, Ml};
use crate::osic::{Osic, Stages};
use crate::scheme::Scheme;
use crate::sphere::Sphere;
use crate::symbols::Symbols;
use crossfade_channel::Matrix;
use crossfade_channel::simd::Simd;
use num_complex::Complex64;

/// Detector of interfering symbols. For orthogonal schemes, whose symbols do not interfere, every detector equals the
/// matched filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// Maximum likelihood by comparing all candidates.
    Ml,
    /// Minimum mean square error with ordered successive interference cancellation (MMSE-OSIC).
    MmseOsic,
    /// Linear minimum mean square error (MMSE).
    Mmse,
    /// Linear zero forcing.
    Zf,
    /// Maximum likelihood by a sphere decoder.
    Sphere,
    /// Matched filter, for orthogonal schemes only.
    Linear,
}

impl Detector {
    /// All detectors.
    pub const ALL: [Self; 6] = [Self::Ml, Self::MmseOsic, Self::Mmse, Self::Zf, Self::Sphere, Self::Linear];

    /// Name of the detector in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ml => "ml",
            Self::MmseOsic => "mmse-osic",
            Self::Mmse => "mmse",
            Self::Zf => "zf",
            Self::Sphere => "sphere",
            Self::Linear => "linear",
        }
    }

    /// Detector with the given name.
    ///
    /// # Errors
    /// If no detector has this name.
    pub fn named(name: &str) -> Result<Self, PhyError> {
        Self::ALL.into_iter().find(|detector| detector.name() == name).ok_or_else(|| PhyError::Unknown {
            parameter: "detector",
            value: name.into(),
            allowed: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// Checks that the detector can detect the scheme with `n_t` transmit antennas and the given modulation.
    ///
    /// # Errors
    /// If `linear` meets symbols that interfere, or `ml` has more than 2^16 candidates.
    pub fn check(self, scheme: Scheme, n_t: usize, modulation: Modulation) -> Result<(), PhyError> {
        let symbols = scheme.groups(n_t).iter().map(Vec::len).max().unwrap_or(1);
        match self {
            Self::Linear if !scheme.is_orthogonal() => Err(PhyError::NotOrthogonal { scheme: scheme.name() }),
            Self::Ml if modulation.bits() as usize * symbols > 16 => {
                Err(PhyError::TooManyCandidates { modulation: modulation.name(), symbols })
            }
            _ => Ok(()),
        }
    }
}

/// Detector set up for the channel of one frame.
#[derive(Clone, Debug)]
pub(crate) enum Prepared {
    Filter(Filter),
    Stages(Stages),
    /// Size and candidates of each group of interfering symbols.
    Candidates(Vec<(usize, Candidates)>),
    /// Gram matrix of the channel, which the sphere decoder factorises.
    Sphere(Matrix),
}

/// State of a detector that does not change from frame to frame.
#[derive(Clone, Debug)]
pub(crate) struct Detection {
    pub(crate) detector: Detector,
    pub(crate) orthogonal: bool,
    pub(crate) groups: Vec<Vec<usize>>,
    pub(crate) symbols: Symbols,
    pub(crate) points: Vec<Complex64>,
    pub(crate) packing: Packing,
    pub(crate) simd: Simd,
}

impl Detection {
    /// Sets the detector up for matched filter outputs with the Gram matrix `gram`, in the memory of an earlier setup,
    /// `reuse`.
    pub(crate) fn prepare(&self, gram: &Matrix, reuse: &mut Prepared) {
        if self.orthogonal {
            *reuse = Prepared::Filter(Filter::matched(gram));
            return;
        }
        match self.detector {
            Detector::Linear => *reuse = Prepared::Filter(Filter::matched(gram)),
            Detector::Zf => {
                let filter = with_size!(gram.rows(), K => Filter::zero_forcing::<K>(gram));
                *reuse = Prepared::Filter(filter);
            }
            Detector::Mmse => {
                let filter = with_size!(gram.rows(), K => Filter::minimum_error::<K>(gram));
                *reuse = Prepared::Filter(filter);
            }
            Detector::MmseOsic => {
                if !matches!(reuse, Prepared::Stages(_)) {
                    *reuse = Prepared::Stages(Stages::empty());
                }
                if let Prepared::Stages(stages) = reuse {
                    with_size!(gram.rows(), K => stages.set::<K>(gram));
                }
            }
            Detector::Sphere => *reuse = Prepared::Sphere(*gram),
            Detector::Ml => {
                if !matches!(reuse, Prepared::Candidates(_)) {
                    let empty = self.groups.iter().map(|group| (group.len(), Candidates::default()));
                    *reuse = Prepared::Candidates(empty.collect());
                }
                if let Prepared::Candidates(candidates) = reuse {
                    for ((_, candidates), members) in candidates.iter_mut().zip(&self.groups) {
                        candidates.set(gram, members, &self.symbols);
                    }
                }
            }
        }
    }

    /// Decides the labels of all blocks, and writes unbiased estimates for detectors that make them.
    pub(crate) fn detect(
        &self,
        prepared: &Prepared,
        statistic: &[f32],
        stride: usize,
        words: &mut [u32],
        estimates: Option<&mut [f32]>,
    ) {
        let (symbols, packing) = (&self.symbols, self.packing);
        match prepared {
            Prepared::Filter(filter) => with_capacity!(packing.symbols, K => self.simd.run(
                Linear::<K> { symbols, packing, filter, statistic, stride, words, estimates }
            )),
            Prepared::Stages(stages) => with_capacity!(packing.symbols, K => self.simd.run(
                Osic::<K> { symbols, packing, stages, statistic, stride, words, estimates }
            )),
            Prepared::Candidates(groups) => {
                words.fill(0);
                for (size, candidates) in groups {
                    let words = &mut *words;
                    if symbols.is_qpsk() {
                        with_capacity!(*size, K => self.simd.run(
                            Ml::<K, true> { symbols, packing, candidates, statistic, stride, words }
                        ));
                    } else {
                        with_capacity!(*size, K => self.simd.run(
                            Ml::<K, false> { symbols, packing, candidates, statistic, stride, words }
                        ));
                    }
                }
            }
            Prepared::Sphere(gram) => {
                let sphere = with_size!(gram.rows(), K => Sphere::new::<K>(gram, &self.points));
                sphere.detect_all(statistic, stride, packing, words);
            }
        }
    }
}
