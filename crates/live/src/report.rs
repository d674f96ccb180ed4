//! Report of a finished emulation, per direction.

use crossfade_core::{DelayHistogram, SimTime};
use crossfade_link::LinkStatistics;
use crossfade_link::arq::ArqStatistics;

/// Report of one direction of an emulation.
#[derive(Clone, Debug)]
pub struct PumpReport {
    /// Duration of the emulation, until the pump ended.
    pub duration: SimTime,
    /// Processor time used for this direction; a thread for both directions counts half for each.
    pub cpu: SimTime,
    /// Number of packets read from the sending host's device.
    pub packets: u64,
    /// Number of packets turned away because [`PumpConfig::capacity`](crate::PumpConfig::capacity) packets were inside
    /// the link.
    pub refused: u64,
    /// Number of packets still inside the link at the end.
    pub left: u64,
    /// Number of packets lost by the channel of the link.
    pub lost: u64,
    /// Number of packets dropped by a queue of the link.
    pub dropped: u64,
    /// Number of bytes of the packets that came out of the link.
    pub arrived_bytes: u64,
    /// Number of packets that came out of the link but were refused by the receiving host's device.
    pub undeliverable: u64,
    /// Number of packets that the kernel dropped because the pump did not read them in time: they never reached the
    /// link.
    pub ring_drops: u64,
    /// Statistics of the link; equal for both directions of a shared medium.
    pub link: LinkStatistics,
    /// Statistics of the link's frames; `None` for a link without frames.
    pub arq: Option<ArqStatistics>,
    /// Histogram of the lateness of packets: time from the nominal departure to the handover to the receiving host.
    pub lateness: DelayHistogram,
    /// Number of packets whose lateness exceeded [`PumpConfig::late`](crate::PumpConfig::late).
    pub late: u64,
    /// Histogram of the transit times from host to host of packets that arrived after the warm-up.
    pub transit: DelayHistogram,
    /// Sum of the transit times of packets that arrived after the warm-up, in seconds.
    pub transit_sum_s: f64,
}
