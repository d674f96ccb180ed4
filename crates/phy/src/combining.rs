//! Combining receptions of the same frame (section 4 of the paper).
//!
//! For detection with cancellation section 4 can be read in three ways, whose residual errors differ by up to
//! two orders of magnitude: combine what each detection left behind (`posthoc`), decide on the combination
//! inside the loop and cancel in every reception (`joint`), or detect one system of all equations
//! (`stacked`). With matched filter outputs the last is a sum: G = sum of G(l), z = sum of z(l); so is maximum
//! likelihood (equation 18), and so are the orthogonal codes (equation 20 without its weights, which z(l)
//! already carries).

use crate::detector::Detector;
use crate::error::PhyError;
use crate::scheme::Scheme;

/// How receptions of the same frame are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combining {
    /// Stage of the receiver that combines.
    pub stage: Stage,
    /// What a reception counts, at the stages that weigh.
    pub weights: Weights,
    /// What makes a frame good.
    pub accept: Accept,
}

/// Where receptions are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The estimates of each reception, after it was detected by itself.
    Posthoc,
    /// Inside detection: each decision is made on all receptions and cancelled in all.
    Joint,
    /// As one system of all equations. No weights: this is optimal.
    Stacked,
}

/// What a reception counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Equal weights: 1 on the outputs of line 7 of the algorithm (whose gain is 1 - `Omega_kk`), or on the unbiased
    /// estimates of the other detectors.
    EqualGain,
    /// In proportion to its signal-to-noise ratio: on unbiased estimates 1 / `Omega_kk` - 1, which is 1 / `Omega_kk`
    /// on the outputs of line 7 (equation 19).
    MaximalRatio,
}

/// What makes a frame good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// The combination passes its check.
    Combined,
    /// The combination passes, or the new reception alone.
    Either,
}

impl Combining {
    /// Whether the detector has that stage.
    ///
    /// # Errors
    /// It has not.
    pub fn check(self, scheme: Scheme, detector: Detector) -> Result<(), PhyError> {
        let refuse =
            |reason| Err(PhyError::Combining { stage: self.stage.name(), detector: detector.name(), reason });
        match (self.stage, detector) {
            _ if scheme.is_orthogonal() => Ok(()),
            (Stage::Posthoc | Stage::Joint, Detector::Ml | Detector::Sphere) => {
                refuse("it decides on the sum of all receptions: use stacked")
            }
            (Stage::Joint, Detector::Mmse | Detector::Zf) => {
                refuse("it cancels nothing: use posthoc or stacked")
            }
            _ => Ok(()),
        }
    }
}

impl Stage {
    /// Name of the combining stage in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Posthoc => "posthoc",
            Self::Joint => "joint",
            Self::Stacked => "stacked",
        }
    }
}
