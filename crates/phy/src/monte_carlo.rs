//! Monte Carlo simulation of frames over a fading channel. Each frame depends only on its number, so any split of the
//! frames into ranges gives the same counts.

use crate::combining::Accept;
use crate::error::PhyError;
use crate::frame_radio::FrameRadio;
use crate::transceiver::PhyConfig;
use crossfade_channel::MatrixFading;
use crossfade_core::{SimTime, Stream};
use std::ops::{AddAssign, Range};

/// Monte Carlo simulation of frames over a fading channel, each transmitted several times.
#[derive(Clone, Debug)]
pub struct MonteCarlo {
    radio: FrameRadio,
    attempts: u32,
    stop_when_accepted: bool,
}

/// Error counts of a range of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of frames.
    pub frames: u64,
    /// Error counts of attempt 1, 2, ...
    pub attempts: Vec<AttemptCounts>,
}

/// Error counts of one attempt, over all frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// Number of frames that were transmitted in this attempt.
    pub transmissions: u64,
    /// Wrong bits in receptions of this attempt, detected without earlier ones.
    pub bit_errors: u64,
    /// Receptions of this attempt with wrong bits, detected without earlier ones.
    pub frame_errors: u64,
    /// Combinations of all receptions up to this attempt with wrong bits, whatever passed before; 0 without combining.
    pub combined_errors: u64,
    /// Frames not accepted in this attempt or before.
    pub residual: u64,
}

impl MonteCarlo {
    /// Creates the simulation at SNR `rho` (linear, not in dB). Attempt l (from 0) of frame f is transmission f x
    /// `attempts` + l of channel and noise; moving gains advance by one step per transmission. With
    /// `stop_when_accepted` an accepted frame is not retransmitted, so later attempts count only frames that needed
    /// them.
    ///
    /// # Errors
    /// If [`PhyConfig::check`] refuses the configuration, the fading has other antennas, or `attempts` is 0.
    pub fn new(
        config: PhyConfig,
        fading: MatrixFading,
        rho: f64,
        attempts: u32,
        stop_when_accepted: bool,
        stream: Stream,
    ) -> Result<Self, PhyError> {
        if !(1..=1000).contains(&attempts) {
            let value = f64::from(attempts);
            return Err(PhyError::OutOfRange { parameter: "attempts", value, allowed: "between 1 and 1000" });
        }
        let radio = FrameRadio::new(config, fading.per_transmission(), rho, stream)?;
        Ok(Self { radio, attempts, stop_when_accepted })
    }

    /// Simulates the frames of a range, and returns their error counts.
    pub fn count(&mut self, frames: Range<u64>) -> Counts {
        let mut counts = Counts {
            frames: frames.end.saturating_sub(frames.start),
            attempts: vec![AttemptCounts::default(); self.attempts as usize],
        };
        let combining = self.radio.transceiver().config().combining;
        for frame in frames {
            let mut kept = None;
            let mut accepted = false;
            for (attempt, count) in counts.attempts.iter_mut().enumerate() {
                if accepted && self.stop_when_accepted {
                    break;
                }
                let transmission = frame * u64::from(self.attempts) + attempt as u64;
                let wrong = self.radio.receive(SimTime::ZERO, transmission, frame);
                count.transmissions += 1;
                count.bit_errors += u64::from(wrong);
                count.frame_errors += u64::from(wrong > 0);
                let mut good = wrong == 0;
                if let Some(combining) = combining
                    && self.attempts > 1
                {
                    let FrameRadio { transceiver, reception, workspace, .. } = &mut self.radio;
                    let all = transceiver.combine(kept.take(), reception, workspace);
                    let wrong = if attempt == 0 {
                        wrong
                    } else {
                        transceiver.detect_combined(&all, reception, workspace)
                    };
                    kept = Some(all);
                    count.combined_errors += u64::from(wrong > 0);
                    good = wrong == 0 || (combining.accept == Accept::Either && good);
                }
                accepted |= good;
                count.residual += u64::from(!accepted);
            }
        }
        counts
    }
}

impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        self.frames += other.frames;
        self.attempts.resize(self.attempts.len().max(other.attempts.len()), AttemptCounts::default());
        for (sum, new) in self.attempts.iter_mut().zip(&other.attempts) {
            sum.transmissions += new.transmissions;
            sum.bit_errors += new.bit_errors;
            sum.frame_errors += new.frame_errors;
            sum.combined_errors += new.combined_errors;
            sum.residual += new.residual;
        }
    }
}
