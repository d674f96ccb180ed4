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

/// Rule by which receptions of a frame are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combining {
    /// Stage of the receiver that combines.
    pub stage: Stage,
    /// Weight of a reception, at the stages that weigh.
    pub weights: Weights,
    /// Rule by which a frame is accepted.
    pub accept: Accept,
}

/// Stage of the receiver at which receptions are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The estimates of separately detected receptions are combined.
    Posthoc,
    /// Receptions are combined inside detection: each decision is made on all receptions and cancelled in all.
    Joint,
    /// All receptions are detected as one system of equations, which is optimal and needs no weights.
    Stacked,
}

/// Weight of a reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Equal weights: 1 on the outputs of line 7 of the algorithm (whose gain is 1 - `Omega_kk`), or on the unbiased
    /// estimates of the other detectors.
    EqualGain,
    /// Weight in proportion to the signal-to-noise ratio: on unbiased estimates 1 / `Omega_kk` - 1, which is 1 /
    /// `Omega_kk` on the outputs of line 7 (equation 19).
    MaximalRatio,
}

/// Rule by which a frame is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// The combination passes its check.
    Combined,
    /// The combination passes, or the new reception alone.
    Either,
}

impl Combining {
    /// Checks that the detector has this stage.
    ///
    /// # Errors
    /// The detector lacks the stage.
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
