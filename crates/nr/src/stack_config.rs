//! Configuration of layers above hybrid ARQ and of interruptions: RLC, PDCP, the uplink, handover, DRX, NTN.

use crate::mcs::McsTable;
use crate::rlc::RlcConfig;
use crossfade_core::SimTime;
use crossfade_link::{OutsideClass, QueueConfig, QueueLimit};

/// Direction of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Downlink, from the base station.
    Down,
    /// Uplink, in slots of the uplink.
    Up {
        /// OFDM symbols of a slot that carry data.
        symbols: u32,
        /// Slots from a grant to its transmission, at least.
        k2: u64,
    },
}

/// Configuration above hybrid ARQ: both directions, with one or several bearers of each user.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Radio link control of both directions.
    pub rlc: RlcConfig,
    /// Maximum waiting time of packets for earlier ones (t-Reordering); `None` is infinity.
    pub reordering: Option<SimTime>,
    /// Maximum waiting time of a packet of which nothing was sent (discardTimer); `None` is infinity.
    pub discard: Option<SimTime>,
    /// Bearers of users that are not like that, by user; of those beyond the end none is.
    pub own: Vec<Option<BearerConfig>>,
    /// Bearers that users have beside their first.
    pub further: Vec<FurtherBearer>,
    /// Whether the scheduler of the cell follows the priorities of bearers with data instead of those of users; buffer
    /// status reports then are by logical channel group.
    pub schedules_bearers: bool,
    /// Time that a link that has failed takes to come back.
    pub outage: SimTime,
    /// The uplink.
    pub uplink: UplinkConfig,
    /// Changes of the cell; `None` has none.
    pub handover: Option<Handover>,
    /// Discontinuous reception; `None` always listens.
    pub drx: Option<Drx>,
}

/// A user's bearer that is not like those of the cell, or a further one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerConfig {
    /// Radio link control of both directions.
    pub rlc: RlcConfig,
    /// Maximum waiting time of packets for earlier ones (t-Reordering); `None` is infinity.
    pub reordering: Option<SimTime>,
    /// Maximum waiting time of a packet of which nothing was sent (discardTimer); `None` is infinity.
    pub discard: Option<SimTime>,
    /// Logical channel prioritisation among the bearers of its user.
    pub channel: LogicalChannel,
}

/// Prioritisation of a logical channel among those of its user (TS 38.321 section 5.4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalChannel {
    /// Priority; the smallest number goes first.
    pub priority: u32,
    /// Bytes per second served before channels of lower priority exceed theirs (`prioritisedBitRate`); `None` is
    /// infinity.
    pub prioritised_rate: Option<u64>,
    /// Time for which unused parts of that rate accumulate (`bucketSizeDuration`).
    pub bucket: SimTime,
}

/// Priority of a user or bearer without one of its own: that of the class of most traffic (5QI 9).
pub const USUAL_PRIORITY: u32 = 90;

impl Default for LogicalChannel {
    fn default() -> Self {
        Self { priority: USUAL_PRIORITY, prioritised_rate: None, bucket: SimTime::from_millis(5) }
    }
}

/// Additional data radio bearer of a user.
#[derive(Clone, Debug)]
pub struct FurtherBearer {
    /// User of the bearer.
    pub user: usize,
    /// Flows carried by the bearer both ways; all others are on the first bearer.
    pub flows: Vec<u32>,
    /// Class of the packets of real programs that the bearer carries too; `None` carries none.
    pub outside: Option<OutsideClass>,
    /// RLC, PDCP and logical channel.
    pub bearer: BearerConfig,
    /// Priority in the scheduler of the cell, if that follows bearers.
    pub level: u32,
    /// Queues on the downlink and the uplink, each with a limit of its own. `None` is the drop-tail queue of a first
    /// bearer without a discipline.
    pub queues: [Option<QueueConfig>; 2],
}

impl StackConfig {
    /// The bearer of users without one of their own.
    pub fn usual_bearer(&self) -> BearerConfig {
        let Self { rlc, reordering, discard, .. } = *self;
        BearerConfig { rlc, reordering, discard, channel: LogicalChannel::default() }
    }

    /// The first bearer of a user.
    pub fn bearer(&self, user: usize) -> BearerConfig {
        self.own.get(user).copied().flatten().unwrap_or_else(|| self.usual_bearer())
    }
}

/// The uplink of a cell.
#[derive(Clone, Debug)]
pub struct UplinkConfig {
    /// Source of users' grants.
    pub grants: Grants,
    /// OFDM symbols of a slot of the uplink that carry data.
    pub symbols: u32,
    /// Layers.
    pub layers: u32,
    /// Table of the uplink's modulation and coding schemes.
    pub table: McsTable,
    /// Offset of each user's mean ratio, in dB.
    pub snr_offset_db: f64,
    /// Slots from a grant to its transmission, at least.
    pub k2: u64,
    /// Slots that the base station takes for what it has received.
    pub processing_slots: u64,
    /// Period of scheduling request occasions.
    pub request_period_slots: u64,
    /// Minimum time from a request to the next (`sr-ProhibitTimer`).
    pub request_prohibit_slots: u64,
    /// Bytes that a request is granted.
    pub request_grant_bytes: u32,
    /// Time from a buffer status report to the next while data wait (`periodicBSR-Timer`).
    pub report_period: SimTime,
    /// Without a grant, a buffer status is reported anew after so long (`retxBSR-Timer`).
    pub report_again: SimTime,
    /// Queue limit of each user; `None` is without limit.
    pub queue: Option<QueueLimit>,
    /// Queue of each user with a limit of its own; `None` is drop-tail within `queue`.
    pub discipline: Option<QueueConfig>,
}

/// Source of users' grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// Users send scheduling requests and buffer status reports.
    Requested,
    /// Proactive grants: every user has one in every slot of the uplink.
    Proactive,
    /// A grant recurs without being asked for; what it does not hold is asked for by its reports.
    Configured {
        /// Period of the events.
        period_slots: u64,
        /// Bytes of each, at least.
        bytes: u32,
    },
}

/// Changes of the cell at regular times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Period of the events.
    pub every: SimTime,
    /// Interruption time.
    pub interruption: SimTime,
    /// Whether what was not confirmed is forwarded and retransmitted.
    pub is_lossless: bool,
}

/// Discontinuous reception (TS 38.321 section 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    /// Period of on-durations.
    pub cycle: SimTime,
    /// Time for which a user listens in each.
    pub on: SimTime,
    /// Time for which it listens after a new grant or assignment.
    pub inactivity: SimTime,
}
