//! Occupancy of a link's transmitter, from which utilisation follows.

use crossfade_core::SimTime;
use std::fmt::Debug;
use std::sync::Arc;

/// Capacity of a link whose rate changes with time.
pub trait Capacity: Debug + Send + Sync {
    /// The bits that can be sent from `from` until `to`.
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64;
}

/// A packet that a transmitter has taken and not sent to its end.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// Time at which the transmitter took the packet.
    pub start: SimTime,
    /// End of the packet's transmission.
    pub end: SimTime,
    /// Length of the packet in bytes.
    pub bytes: u32,
}

/// Occupancy of a link's transmitter by the packets or frames that it counts.
#[derive(Clone, Debug)]
pub enum Occupancy {
    /// Occupancy is undefined: sending takes no time, or several transmitters send at once.
    None,
    /// Every packet takes its number of bits divided by a constant rate.
    Packets {
        /// The rate in bit/s.
        rate_bps: f64,
        /// Time so far of a transmission that is not counted yet.
        under_way: SimTime,
    },
    /// Every frame with a payload takes the same time.
    Frames {
        /// Duration of a frame.
        frame_time: SimTime,
        /// Time so far of a frame that is not counted yet.
        under_way: SimTime,
    },
    /// Every packet takes its number of bits out of a capacity that changes over time.
    Capacity {
        /// Capacity of the link.
        capacity: Arc<dyn Capacity>,
        /// Bits sent so far of a packet that is not counted yet.
        under_way_bits: f64,
    },
    /// Busy time since the link was made.
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
