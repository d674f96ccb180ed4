//! What a link's use is measured against.

use crossfade_core::SimTime;
use std::fmt::Debug;
use std::sync::Arc;

/// What a link whose rate changes can send.
pub trait Capacity: Debug + Send + Sync {
    /// The bits that can be sent from `from` until `to`.
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64;
}

/// How long a transmitter was busy with what its link counts.
#[derive(Clone, Debug)]
pub enum Occupancy {
    /// Sending takes no time, or is done by many at once.
    None,
    /// Each packet takes its bits at one rate.
    Packets {
        /// The rate in bit/s.
        rate_bps: f64,
        /// How long it takes yet to send what is counted: a link may count packets as it takes them.
        to_send: SimTime,
    },
    /// Each frame with a payload takes this time, and is counted whole as it begins.
    Frames(SimTime),
    /// Each packet takes its bits of what can be sent.
    Capacity(Arc<dyn Capacity>),
    /// So long since the link was made.
    Time(SimTime),
}
