//! What is told of an emulation that has ended.

use crossfade_core::{DelayHistogram, SimTime};
use crossfade_link::LinkStatistics;
use crossfade_link::arq::ArqStatistics;

/// What one direction of an emulation did.
#[derive(Clone, Debug)]
pub struct PumpReport {
    /// How long it ran.
    pub duration: SimTime,
    /// Processor time that it took; of a thread that passes both directions each has half.
    pub cpu: SimTime,
    /// Packets read from the device.
    pub packets: u64,
    /// Packets turned away because [`PumpConfig::capacity`](crate::PumpConfig::capacity) were inside the link.
    pub refused: u64,
    /// Packets still inside the link at the end.
    pub left: u64,
    /// Packets that the channel has lost so far.
    pub lost: u64,
    /// Packets that a queue has dropped so far.
    pub dropped: u64,
    /// Bytes of those that came out.
    pub arrived_bytes: u64,
    /// Packets that came out of the link and that the host at the far end would not take.
    pub undeliverable: u64,
    /// Packets that the kernel dropped because the pump did not read them in time: the link never saw them.
    pub ring_drops: u64,
    /// What the link counted; where both directions share a medium, both have the same.
    pub link: LinkStatistics,
    /// What it counted of its frames, where it has frames.
    pub arq: Option<ArqStatistics>,
    /// How much later than the link said packets were handed to the host at the far end.
    pub lateness: DelayHistogram,
    /// Packets handed over later than [`PumpConfig::late`](crate::PumpConfig::late).
    pub late: u64,
    /// The time from one host to the other of those that arrived after the warm-up.
    pub transit: DelayHistogram,
    /// The sum of these times in seconds.
    pub transit_sum_s: f64,
}
