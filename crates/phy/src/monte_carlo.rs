//! Errors counted over frames, each a function of its number: any split of the frames gives the same counts.

use crate::combining::Accept;
use crate::error::PhyError;
use crate::frame_radio::FrameRadio;
use crate::transceiver::PhyConfig;
use crossfade_channel::MatrixFading;
use crossfade_core::{SimTime, Stream};
use std::ops::{AddAssign, Range};

/// Frames over a fading channel, each sent several times.
#[derive(Clone, Debug)]
pub struct MonteCarlo {
    radio: FrameRadio,
    attempts: u32,
    stop_when_accepted: bool,
}

/// Errors of some frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames sent.
    pub frames: u64,
    /// Outcomes of each attempt.
    pub attempts: Vec<AttemptCounts>,
}

/// Errors of one attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// Frames that were sent in it.
    pub transmissions: u64,
    /// Bits wrong in transmissions by themselves.
    pub bit_errors: u64,
    /// Transmissions that fail by themselves.
    pub frame_errors: u64,
    /// Combinations of all receptions so far that fail, whatever passed before; without combining 0.
    pub combined_errors: u64,
    /// Frames that have not been accepted in this attempt or before.
    pub residual: u64,
}

impl MonteCarlo {
    /// Creates the simulation at SNR `rho` (linear, not in dB). Attempt l of frame f is transmission f x `attempts` + l
    /// of channel and noise, and moving gains make a step at each. With `stop_when_accepted` an accepted frame is not
    /// retransmitted, so later attempts count only frames that needed them.
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

    /// Counts over the frames of a range.
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
