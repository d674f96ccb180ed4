//! The radio link protocol of IS-99 as Chockalingam and Bao describe it: "Performance of TCP/RLP protocol
//! stack on correlated fading DS-CDMA wireless links" (IEEE Trans. Vehicular Technology 49(1), 2000), section
//! II.
//!
//! The protocol is selective repeat with negative acknowledgements only. Each point that the paper leaves open is a
//! parameter of [`RlpIs99Config`]; seven consistent readings are presets.

mod config;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use config::{NaksPerRound, Persistence, Reading, RlpIs99Config, TimerCheck, TimerClock};
pub use receiver::RlpIs99Receiver;
pub use sender::RlpIs99Sender;

use super::{ArqError, Patience, Protocol};
use crossfade_core::SimTime;

impl Protocol for RlpIs99Config {
    type Sender = RlpIs99Sender;
    type Receiver = RlpIs99Receiver;

    fn check(&self) -> Result<(), ArqError> {
        ArqError::unless((1..=128).contains(&self.buffer), "buffer", self.buffer, "1 to 128 frames")?;
        ArqError::unless(self.overflow >= 1, "overflow", self.overflow, "at least 1 frame")?;
        let timer = self.round_trip.checked_add(self.guard);
        let (round_trip, allowed) = (self.round_trip, "at least 1 frame, and below 2^32 with the guard");
        ArqError::unless(round_trip >= 1 && timer.is_some(), "round_trip", round_trip, allowed)
    }

    fn build(&self) -> (RlpIs99Sender, RlpIs99Receiver) {
        (RlpIs99Sender::new(self), RlpIs99Receiver::new(self))
    }

    fn patience(&self, frame_time: SimTime) -> Option<Patience> {
        let frames = u64::from(self.round_trip) + u64::from(self.guard);
        Some(Patience { parameter: "round_trip and guard", time: frame_time.saturating_mul(frames) })
    }

    fn most_repetitions(&self) -> Option<u32> {
        Some(self.rounds())
    }
}
