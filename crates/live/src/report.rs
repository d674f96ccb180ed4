//! Report of a finished emulation.

use crossfade_core::{DelayHistogram, SimTime};
use crossfade_link::LinkStatistics;
use crossfade_link::arq::ArqStatistics;

/// Report of one direction of an emulation.
#[derive(Clone, Debug)]
pub struct PumpReport {
    /// Duration of the emulation.
    pub duration: SimTime,
    /// Processor time used; a thread for both directions counts half for each.
    pub cpu: SimTime,
    /// Packets read from the device.
    pub packets: u64,
    /// Packets turned away because [`PumpConfig::capacity`](crate::PumpConfig::capacity) were inside the link.
    pub refused: u64,
    /// Packets still inside the link at the end.
    pub left: u64,
    /// Packets lost by the channel.
    pub lost: u64,
    /// Packets dropped by a queue.
    pub dropped: u64,
    /// Bytes of the packets that came out of the link.
    pub arrived_bytes: u64,
    /// Packets that came out of the link but that the receiving host refused.
    pub undeliverable: u64,
    /// Packets that the kernel dropped because the pump did not read them in time: the link never saw them.
    pub ring_drops: u64,
    /// Statistics of the link; equal for both directions of a shared medium.
    pub link: LinkStatistics,
    /// Statistics of the link's frames, if it has frames.
    pub arq: Option<ArqStatistics>,
    /// Delay from the nominal departure of a packet to its handover to the receiving host.
    pub lateness: DelayHistogram,
    /// Packets handed over later than [`PumpConfig::late`](crate::PumpConfig::late).
    pub late: u64,
    /// Transit times from host to host of packets that arrived after the warm-up.
    pub transit: DelayHistogram,
    /// Sum of the transit times in seconds.
    pub transit_sum_s: f64,
}
