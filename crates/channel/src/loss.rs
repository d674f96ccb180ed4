//! Loss processes, which decide whether a channel loses a transmission.

use crossfade_core::SimTime;

/// Clock of a channel with memory: time or transmissions.
///
/// The choice decides the conclusion of "Throughput analysis of TCP on channels with memory": with a channel
/// that steps in time, correlation helps TCP; with one that steps only when something is sent, a bad burst
/// waits for the sender and correlation hurts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// One step per slot of this length, whether or not anything is sent.
    Slot(SimTime),
    /// One step per transmission.
    Transmission,
}

impl Clock {
    /// Number of the channel's step for transmission number `transmission` (from 0), which starts at `now`.
    pub fn step(self, now: SimTime, transmission: u64) -> u64 {
        match self {
            Self::Slot(slot) => now / slot,
            Self::Transmission => transmission,
        }
    }
}

/// Decides which transmissions a channel loses.
pub trait LossProcess: Send {
    /// True if transmission number `transmission`, counted from 0, which starts at `now`, is lost.
    ///
    /// Calls come in order of both arguments. The result depends on the process's random stream, the time and the
    /// number of the transmission, not on earlier calls.
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool;

    /// Like [`lost`](Self::lost), for a transmission of `bytes` bytes; overridden by processes whose losses depend on
    /// the size.
    fn lost_of(&mut self, now: SimTime, transmission: u64, bytes: u32) -> bool {
        let _ = bytes;
        self.lost(now, transmission)
    }

    /// True if the process never loses a transmission, so that it need not be called at all.
    fn is_lossless(&self) -> bool {
        false
    }
}

/// Loss process without losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lossless;

impl LossProcess for Lossless {
    fn lost(&mut self, _now: SimTime, _transmission: u64) -> bool {
        false
    }

    fn is_lossless(&self) -> bool {
        true
    }
}
