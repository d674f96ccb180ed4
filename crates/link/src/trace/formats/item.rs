//! Facts in recordings of links, which readers pass on one at a time.

use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Direction of a link that a fact of a recording concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Both directions, or a direction that the text does not state.
    Both,
    /// Uplink: from the client or user device.
    Up,
    /// Downlink: to the client or user device.
    Down,
}

impl Direction {
    /// Name of the direction: `both`, `up` or `down`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// Queue limit of a recorded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Limit as a number of packets.
    Packets(u64),
    /// Limit as a number of bytes.
    Bytes(u64),
    /// Limit as the time that the queue takes to empty at the link's rate.
    Time(SimTime),
}

/// Further property of a recorded link, beside rate, delay, loss and queue limit. Times are in nanoseconds, shares from
/// 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extra {
    /// Spread of the delay in ns.
    Jitter,
    /// Correlation of a packet's jitter with that of the packet before, from 0 to 1.
    JitterCorrelation,
    /// Distribution of the jitter: 0 uniform, 1 normal, 2 Pareto, 3 Pareto and normal.
    JitterDistribution,
    /// Correlation of a packet's loss with that of the packet before, from 0 to 1.
    LossCorrelation,
    /// Share of packets lost after a lost one; a step may have several values, the first after one loss, the second
    /// after two, and so on.
    LossAfterLoss,
    /// Greatest number of packets lost in a row.
    LongestLoss,
    /// Number of packets in a burst of losses.
    LossBurst,
    /// Number of packets between two bursts of losses.
    LossSpacing,
    /// Share of packets that are duplicated.
    Duplicate,
    /// Delay of the duplicate of a packet in ns.
    DuplicateDelay,
    /// Share of packets in which a bit is changed.
    Corrupt,
    /// Share of packets that are sent without delay, ahead of others.
    Reorder,
    /// Correlation of a packet's reordering ([`Reorder`](Self::Reorder)) with that of the packet before, from 0 to 1.
    ReorderCorrelation,
    /// Number of packets from one reordered packet to the next.
    ReorderGap,
    /// Number of the route that packets take; packets of one route do not overtake each other.
    Route,
    /// Number of the queue in which packets wait.
    QueueId,
    /// Queueing delay in ns above which packets are marked (ECN).
    MarkAbove,
    /// Rate of cross traffic over the link in bit/s.
    CrossTraffic,
    /// Number of TCP connections of cross traffic over the link.
    CrossFlows,
    /// Time of the first change of the client's port, in ns.
    FirstRebind,
    /// Time between two changes of the client's port, in ns.
    RebindInterval,
    /// 1 if the client's address changes with its port.
    RebindAddress,
}

impl Extra {
    /// All properties, in the order of columns in tables.
    pub const ALL: [Self; 22] = [
        Self::Jitter,
        Self::JitterCorrelation,
        Self::JitterDistribution,
        Self::LossCorrelation,
        Self::LossAfterLoss,
        Self::LongestLoss,
        Self::LossBurst,
        Self::LossSpacing,
        Self::Duplicate,
        Self::DuplicateDelay,
        Self::Corrupt,
        Self::Reorder,
        Self::ReorderCorrelation,
        Self::ReorderGap,
        Self::Route,
        Self::QueueId,
        Self::MarkAbove,
        Self::CrossTraffic,
        Self::CrossFlows,
        Self::FirstRebind,
        Self::RebindInterval,
        Self::RebindAddress,
    ];

    /// Name of the property as a column, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jitter => "jitter_s",
            Self::JitterCorrelation => "jitter_correlation",
            Self::JitterDistribution => "jitter_distribution",
            Self::LossCorrelation => "loss_correlation",
            Self::LossAfterLoss => "loss_after_loss",
            Self::LongestLoss => "longest_loss_packets",
            Self::LossBurst => "loss_burst_packets",
            Self::LossSpacing => "loss_spacing_packets",
            Self::Duplicate => "duplicate",
            Self::DuplicateDelay => "duplicate_delay_s",
            Self::Corrupt => "corrupt",
            Self::Reorder => "reorder",
            Self::ReorderCorrelation => "reorder_correlation",
            Self::ReorderGap => "reorder_gap_packets",
            Self::Route => "route",
            Self::QueueId => "queue_id",
            Self::MarkAbove => "mark_above_s",
            Self::CrossTraffic => "cross_traffic_bps",
            Self::CrossFlows => "cross_flows",
            Self::FirstRebind => "first_rebind_s",
            Self::RebindInterval => "rebind_interval_s",
            Self::RebindAddress => "rebind_address",
        }
    }

    /// Factor from the stored value to the unit in the name: `value * scale` is in the unit of [`name`](Self::name).
    pub fn scale(self) -> f64 {
        if self.name().ends_with("_s") { 1e-9 } else { 1.0 }
    }
}

/// Values of a recorded link from some time on. `None` stands for values that the recording does not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Time from which on the values hold.
    pub time: SimTime,
    /// Duration for which the values hold; `None`: until the next step, or forever.
    pub lasts: Option<SimTime>,
    /// Bit rate in bit/s; 0 is an outage, infinity means no limit.
    pub rate_bps: Option<f64>,
    /// One-way propagation delay.
    pub delay: Option<SimTime>,
    /// Share of packets that are lost, from 0 to 1.
    pub loss: Option<f64>,
    /// Queue limit; `None`: no limit, or not recorded.
    pub queue: Option<Room>,
    /// Further properties with their values; those of value 0 are left out.
    pub extras: Vec<(Extra, f64)>,
}

impl Step {
    /// Value of a further property; 0 if the step does not have it.
    pub(super) fn extra(&self, of: Extra) -> f64 {
        self.extras.iter().find(|(extra, _)| *extra == of).map_or(0.0, |(_, value)| *value)
    }

    /// Adds a further property if its value is not 0.
    pub(super) fn add(&mut self, extra: Extra, value: f64) {
        if value != 0.0 {
            self.extras.push((extra, value));
        }
    }
}

/// One fact of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Delivery opportunity: a number of bytes that may leave the link at some time.
    Opportunity {
        /// Time of the opportunity.
        time: SimTime,
        /// Number of bytes that may leave.
        bytes: u32,
    },
    /// Values that hold from some time on.
    Step(Step),
    /// Short train of packets sent through an idle link.
    Train {
        /// Time at which the first packet was sent.
        time: SimTime,
        /// One-way delay of the first packet; delays between two trains are interpolated linearly.
        delay: SimTime,
        /// For each packet, time from the arrival of the first packet to its own.
        offsets: Vec<SimTime>,
    },
    /// A packet entered the link.
    Sent {
        /// Time at which the packet entered the link.
        time: SimTime,
        /// Length of the packet in bytes.
        bytes: u32,
        /// Number of the packet or of its flow; `None` if the log has none.
        id: Option<u64>,
    },
    /// A packet came out of the link.
    Arrived {
        /// Time at which the packet came out.
        time: SimTime,
        /// Length of the packet in bytes.
        bytes: u32,
        /// Number of the packet or of its flow; `None` if the log has none.
        id: Option<u64>,
        /// One-way delay of the packet; `None` if the log has none.
        delay: Option<SimTime>,
    },
}

impl Item {
    /// Time of the fact, or from which on it holds.
    pub fn time(&self) -> SimTime {
        match self {
            Self::Step(step) => step.time,
            Self::Opportunity { time, .. }
            | Self::Train { time, .. }
            | Self::Sent { time, .. }
            | Self::Arrived { time, .. } => *time,
        }
    }
}

/// A fact and the direction of the link that it concerns.
pub type Told = (Direction, Item);

/// Facts that a reader has found and not passed on yet.
pub(super) type Found = VecDeque<Told>;

/// Behaviour of a link after the end of its recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// The format does not define it.
    #[default]
    Unsaid,
    /// The recording begins again, forever.
    Loop,
    /// The recording is played this many times.
    Rounds(u64),
    /// The last values hold forever.
    Hold,
}

/// Facts about a recording as a whole, known at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole {
    /// Duration of the recording; of one round if it repeats.
    pub lasts: SimTime,
    /// Behaviour of the link after the end of the recording.
    pub at_end: AtEnd,
    /// Further information in the recording, as names and values.
    pub notes: Vec<(String, String)>,
}
