//! Occupancy of a link's transmitter, from which its utilisation is computed.

use crossfade_core::SimTime;
use std::fmt::Debug;
use std::sync::Arc;

/// Capacity of a link whose rate changes with time.
pub trait Capacity: Debug + Send + Sync {
    /// Number of bits that can be sent from `from` until `to`.
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64;
}

/// Packet that a transmitter has taken and has not finished sending.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// Time at which the transmitter took the packet.
    pub start: SimTime,
    /// End of the packet's transmission.
    pub end: SimTime,
    /// Length of the packet in bytes.
    pub bytes: u32,
}

/// Occupancy of a link's transmitter by the packets or frames that the link counts.
#[derive(Clone, Debug)]
pub enum Occupancy {
    /// Undefined: transmission takes no time, or several transmitters send at once.
    None,
    /// Every packet occupies the transmitter for its bits divided by a constant rate.
    Packets {
        /// Rate of the transmitter in bit/s.
        rate_bps: f64,
        /// Time since the beginning of a transmission that is not counted yet.
        under_way: SimTime,
    },
    /// Every frame with a payload occupies the transmitter for an equal time.
    Frames {
        /// Duration of a frame.
        frame_time: SimTime,
        /// Time since the beginning of a frame that is not counted yet.
        under_way: SimTime,
    },
    /// Every packet uses its bits of a capacity that changes with time.
    Capacity {
        /// Capacity of the link as a function of time.
        capacity: Arc<dyn Capacity>,
        /// Bits sent so far of a packet that is not counted yet.
        under_way_bits: f64,
    },
    /// Total time for which the transmitter was busy since the link was created.
    Time(SimTime),
}

impl Occupancy {
    /// Occupancy at `now` of a link with the given capacity, on which a packet is `under_way`.
    pub fn of_capacity(capacity: impl Capacity + 'static, now: SimTime, under_way: Option<UnderWay>) -> Self {
        let under_way_bits = under_way.map_or(0.0, |packet| {
            capacity.capacity_bits(packet.start, now.max(packet.start)).min(f64::from(packet.bytes) * 8.0)
        });
        Self::Capacity { capacity: Arc::new(capacity), under_way_bits }
    }
}
