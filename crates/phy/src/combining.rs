//! Combining of receptions of the same frame ("TCP performance over wireless MIMO channels", section 4).
//!
//! For detection with cancellation section 4 can be read in three ways, whose residual errors differ by up to two
//! orders of magnitude: combine the estimates of separate detections (`posthoc`), decide on the combination inside the
//! loop and cancel in every reception (`joint`), or detect one system of all equations (`stacked`). With matched filter
//! outputs `stacked` is a sum: G = sum of G(l), z = sum of z(l); so is maximum likelihood (equation 18), and so are the
//! orthogonal codes (equation 20 without its weights, which z(l) already carries).

use crate::detector::Detector;
use crate::error::PhyError;
use crate::scheme::Scheme;

/// Rule by which receptions of a frame are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combining {
    /// Stage of the receiver at which receptions are combined.
    pub stage: Stage,
    /// Weight of each reception, at the stages `posthoc` and `joint`.
    pub weights: Weights,
    /// Rule by which the receiver accepts a frame.
    pub accept: Accept,
}

/// Stage of the receiver at which receptions of a frame are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The estimates of separately detected receptions are combined, then decided.
    Posthoc,
    /// Receptions are combined inside detection: each decision is made on all receptions and cancelled in all.
    Joint,
    /// All receptions are detected as one system of equations, which is optimal and needs no weights.
    Stacked,
}

/// Weight of a reception in a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Equal weights: 1 on the outputs of line 7 of the paper's OSIC algorithm (whose gain is 1 - `Omega_kk`), or on
    /// the unbiased estimates of the other detectors.
    EqualGain,
    /// Weight in proportion to the signal-to-noise ratio: on unbiased estimates 1 / `Omega_kk` - 1, which is 1 /
    /// `Omega_kk` on the outputs of line 7 (equation 19).
    MaximalRatio,
}

/// Rule by which the receiver accepts a frame after combining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// A frame is accepted if its combination passes its check.
    Combined,
    /// A frame is accepted if its combination passes its check, or the new reception alone does.
    Either,
}

impl Combining {
    /// Checks that the detector can combine at this stage.
    ///
    /// # Errors
    /// If it cannot; with an orthogonal scheme every detector can.
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
