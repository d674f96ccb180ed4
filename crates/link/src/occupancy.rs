//! What a link's use is measured against.

use crossfade_core::SimTime;
use std::fmt::Debug;
use std::sync::Arc;

/// What a link whose rate changes can send.
pub trait Capacity: Debug + Send + Sync {
    /// The bits that can be sent from `from` until `to`.
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64;
}

/// A packet that a transmitter has taken and not sent to its end.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// When it was taken.
    pub start: SimTime,
    /// When it will have been sent.
    pub end: SimTime,
    /// Length of the packet in bytes.
    pub bytes: u32,
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
        /// For how long it has been sending a packet that is not counted yet.
        under_way: SimTime,
    },
    /// Each frame with a payload takes the same time.
    Frames {
        /// This time.
        frame_time: SimTime,
        /// For how long it has been sending a frame that is not counted yet.
        under_way: SimTime,
    },
    /// Each packet takes its bits of what can be sent.
    Capacity {
        /// What can be sent.
        capacity: Arc<dyn Capacity>,
        /// Bits that have been sent of a packet that is not counted yet.
        under_way_bits: f64,
    },
    /// So long since the link was made.
    Time(SimTime),
}

impl Occupancy {
    /// The occupancy of a link of this capacity, where a packet is `under_way` at `now`.
    pub fn of_capacity(capacity: impl Capacity + 'static, now: SimTime, under_way: Option<UnderWay>) -> Self {
        let under_way_bits = under_way.map_or(0.0, |packet| {
            capacity.capacity_bits(packet.start, now.max(packet.start)).min(f64::from(packet.bytes) * 8.0)
        });
        Self::Capacity { capacity: Arc::new(capacity), under_way_bits }
    }
}
