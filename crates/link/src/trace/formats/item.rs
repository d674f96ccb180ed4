//! Facts in recordings of links, one at a time.

use crossfade_core::SimTime;
use std::collections::VecDeque;

/// The way of a link that a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Either, or both: the text does not say.
    Both,
    /// Uplink, from the client or the user's device.
    Up,
    /// Downlink, to the client or the user's device.
    Down,
}

impl Direction {
    /// `both`, `up` or `down`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// Queue limit of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Limit in packets.
    Packets(u64),
    /// Limit in bytes.
    Bytes(u64),
    /// Limit as a time at the link's rate.
    Time(SimTime),
}

/// Further property of a link, beside rate, delay, loss and queue. Times are in nanoseconds, shares from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extra {
    /// Spread of the delay, ns.
    Jitter,
    /// Correlation of a packet's jitter with the one before.
    JitterCorrelation,
    /// Distribution of the jitter: 1 normal, 2 Pareto, 3 Pareto and normal.
    JitterDistribution,
    /// Correlation of a packet's loss with the one before.
    LossCorrelation,
    /// Share of packets lost after a lost one: the first value after one loss, the second after two, and so on.
    LossAfterLoss,
    /// Most packets that are lost in a row.
    LongestLoss,
    /// Packets of a burst of losses.
    LossBurst,
    /// Packets between two bursts of losses.
    LossSpacing,
    /// Share of packets that are duplicated.
    Duplicate,
    /// Delay of the duplicate, ns.
    DuplicateDelay,
    /// Share of packets with a changed bit.
    Corrupt,
    /// Share of packets that are sent at once, ahead of others.
    Reorder,
    /// Correlation of [`Reorder`](Self::Reorder).
    ReorderCorrelation,
    /// Distance in packets between reordered packets.
    ReorderGap,
    /// Route of the packets: packets of one route do not overtake each other.
    Route,
    /// Queue in which the packets wait.
    QueueId,
    /// Queueing delay above which packets are marked, ns.
    MarkAbove,
    /// Traffic of others over the link, bit/s.
    CrossTraffic,
    /// TCP connections of others over the link.
    CrossFlows,
    /// Time of the first change of the client's port, ns.
    FirstRebind,
    /// Time between two changes of the client's port, ns.
    RebindInterval,
    /// 1 where the client's address changes with its port.
    RebindAddress,
}

impl Extra {
    /// All properties, in the order of columns.
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

    /// Name of the quantity as a column, with its unit.
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

    /// Scale between the stored value and the unit of the name: `value * scale` is in the unit of [`name`](Self::name).
    pub fn scale(self) -> f64 {
        if self.name().ends_with("_s") { 1e-9 } else { 1.0 }
    }
}

/// Values from some time on. `None`: the recording lacks the value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Start time.
    pub time: SimTime,
    /// Duration; `None`: until the next step, or forever.
    pub lasts: Option<SimTime>,
    /// Bit rate in bit/s: 0 is an outage, infinity no limit.
    pub rate_bps: Option<f64>,
    /// Propagation delay of one way.
    pub delay: Option<SimTime>,
    /// Share of packets that are lost.
    pub loss: Option<f64>,
    /// Queue limit.
    pub queue: Option<Room>,
    /// Further properties; those of 0 are left out.
    pub extras: Vec<(Extra, f64)>,
}

impl Step {
    /// Value of a further property; 0 without one.
    pub(super) fn extra(&self, of: Extra) -> f64 {
        self.extras.iter().find(|(extra, _)| *extra == of).map_or(0.0, |(_, value)| *value)
    }

    /// Adds what else the format says, where it is not 0.
    pub(super) fn add(&mut self, extra: Extra, value: f64) {
        if value != 0.0 {
            self.extras.push((extra, value));
        }
    }
}

/// A fact of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Opportunity: a number of bytes that may leave at some time.
    Opportunity {
        /// Time of the opportunity.
        time: SimTime,
        /// Bytes that may leave.
        bytes: u32,
    },
    /// Values from some time on.
    Step(Step),
    /// A short train of packets through an idle link.
    Train {
        /// Time at which the first packet was sent.
        time: SimTime,
        /// One-way delay of the first packet; delays between two trains are interpolated linearly.
        delay: SimTime,
        /// Time at which each packet came out, after the first.
        offsets: Vec<SimTime>,
    },
    /// A packet went into the link.
    Sent {
        /// Time at which the packet was sent.
        time: SimTime,
        /// Bytes of the packet.
        bytes: u32,
        /// Number of the packet, or of its flow.
        id: Option<u64>,
    },
    /// A packet came out of the link.
    Arrived {
        /// Time at which the packet arrived.
        time: SimTime,
        /// Bytes of the packet.
        bytes: u32,
        /// Number of the packet, or of its flow.
        id: Option<u64>,
        /// Delay of the packet.
        delay: Option<SimTime>,
    },
}

impl Item {
    /// Time at which it begins.
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

/// A fact and the way of the link that it is about.
pub type Told = (Direction, Item);

/// The facts that a reader has found and nobody has taken yet.
pub(super) type Found = VecDeque<Told>;

/// Behaviour after the last fact, if the format defines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// The format does not say.
    #[default]
    Unsaid,
    /// The trace begins again.
    Loop,
    /// The trace is played so many times, 2 or more.
    Rounds(u64),
    /// The last values hold forever.
    Hold,
}

/// Facts about a recording as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole {
    /// Duration of one round.
    pub lasts: SimTime,
    /// Behaviour after the end.
    pub at_end: AtEnd,
    /// Further information: names and values.
    pub notes: Vec<(String, String)>,
}
