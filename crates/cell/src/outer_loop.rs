//! Outer-loop link adaptation: an SNR offset that acknowledgements adjust to a target error rate.

use crate::error::{CellError, out_of_range};
use std::collections::VecDeque;

/// Outer-loop link adaptation: an offset in dB, added to the predicted SNR before a modulation is chosen. Each new
/// frame that fails lowers it by a step; each new frame that is received raises it by a smaller step (Sampath, Kumar
/// and Holtzman 1997; Pedersen et al. 2007). The share of new frames that fail then converges to
/// [`target`](Self::target) for any channel and any knowledge of it, unless the offset reaches its limits or the lowest
/// or highest modulation is in use.
///
/// An acknowledgement acts after the delay with which a failed frame is retransmitted. A failure of the lowest
/// modulation causes no step down, and a success of the highest none up: the offset would have no effect there and
/// diverge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OuterLoopConfig {
    /// Increase of the offset after a received frame, in dB.
    pub step_up_db: f64,
    /// Decrease of the offset after a failed frame, in dB.
    pub step_down_db: f64,
    /// Greatest magnitude of the offset, in dB.
    pub limit_db: f64,
}

impl OuterLoopConfig {
    /// Outer loop with a target frame error rate: the step up is target / (1 - target) times the step down.
    pub fn with_target(target: f64, step_down_db: f64, limit_db: f64) -> Self {
        Self { step_up_db: step_down_db * target / (1.0 - target), step_down_db, limit_db }
    }

    /// Long-run error rate of new frames to which the steps converge.
    pub fn target(&self) -> f64 {
        self.step_up_db / (self.step_up_db + self.step_down_db)
    }

    /// Checks the parameters of the outer loop.
    ///
    /// # Errors
    /// Steps outside [1e-6, 40] dB, a limit outside (0, 100] dB.
    pub fn check(&self) -> Result<(), CellError> {
        for (name, step_db) in
            [("outer_loop.step_up_db", self.step_up_db), ("outer_loop.step_down_db", self.step_down_db)]
        {
            if !(1e-6..=40.0).contains(&step_db) {
                return out_of_range(name, step_db, "between 1e-6 and 40");
            }
        }
        if !(self.limit_db > 0.0 && self.limit_db <= 100.0) {
            return out_of_range("outer_loop.limit_db", self.limit_db, "above 0 and at most 100");
        }
        Ok(())
    }
}

/// State of the outer loop of one user: its offset and the acknowledgements under way.
#[derive(Clone, Debug)]
pub struct OuterLoop {
    config: OuterLoopConfig,
    lowest: u32,
    highest: u32,
    offset_db: f64,
    /// Acknowledgements under way: the slot in which each acts, the bits per symbol (or MCS index) of its frame, and
    /// true if the frame was received.
    under_way: VecDeque<(u64, u32, bool)>,
}

impl OuterLoop {
    /// Creates a loop with offset 0. `lowest` and `highest` are the bits per symbol of the extreme modulations, or the
    /// extreme MCS indices.
    pub fn new(config: OuterLoopConfig, (lowest, highest): (u32, u32)) -> Self {
        Self { config, lowest, highest, offset_db: 0.0, under_way: VecDeque::new() }
    }

    /// Offset in dB in `slot`, after all acknowledgements due by then.
    pub fn offset_db(&mut self, slot: u64) -> f64 {
        while let Some(&(_, bits, is_good)) = self.under_way.front().filter(|(due, ..)| *due <= slot) {
            self.under_way.pop_front();
            let OuterLoopConfig { step_up_db, step_down_db, limit_db } = self.config;
            let step_db = match is_good {
                true if bits < self.highest => step_up_db,
                false if bits > self.lowest => -step_down_db,
                _ => 0.0,
            };
            self.offset_db = (self.offset_db + step_db).clamp(-limit_db, limit_db);
        }
        self.offset_db
    }

    /// Registers a new frame with `bits` bits per symbol (or this MCS index) and its outcome; its acknowledgement acts
    /// in slot `due`.
    pub fn learn(&mut self, due: u64, bits: u32, is_good: bool) {
        self.under_way.push_back((due, bits, is_good));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_up_follows_from_the_target() {
        // Sionna's: 1 dB down, 0.111 dB up for 10 %.
        let config = OuterLoopConfig::with_target(0.1, 1.0, 20.0);
        assert!((config.step_up_db - 1.0 / 9.0).abs() < 1e-12 && (config.target() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn steps_come_late_and_stop_at_the_ends() {
        let config = OuterLoopConfig { step_up_db: 0.25, step_down_db: 2.0, limit_db: 3.0 };
        let mut outer = OuterLoop::new(config, (1, 8));
        outer.learn(3, 4, true);
        outer.learn(4, 4, false);
        assert_eq!([2, 3, 4, 9].map(|slot| outer.offset_db(slot)), [0.0, 0.25, -1.75, -1.75]);
        // Nothing below the lowest modulation, nothing above the highest, nothing beyond the limit.
        outer.learn(10, 1, false);
        outer.learn(10, 8, true);
        assert_eq!(outer.offset_db(10), -1.75);
        outer.learn(11, 1, true);
        assert_eq!(outer.offset_db(11), -1.5);
        for slot in 12..20 {
            outer.learn(slot, 3, false);
        }
        assert_eq!(outer.offset_db(20), -3.0);
    }
}
