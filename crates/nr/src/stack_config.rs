//! Configuration of the layers above hybrid ARQ and of interruptions: RLC, PDCP, uplink, handover, DRX.

use crate::mcs::McsTable;
use crate::rlc::RlcConfig;
use crossfade_core::SimTime;
use crossfade_link::{OutsideClass, QueueConfig, QueueLimit};

/// Direction of a radio: downlink or uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Downlink, from the base station.
    Down,
    /// Uplink, in the uplink slots.
    Up {
        /// Number of OFDM symbols per uplink slot that carry data.
        symbols: u32,
        /// Minimum number of slots from a grant to its transmission.
        k2: u64,
    },
}

/// Configuration of the layers above hybrid ARQ in both directions, with one or several bearers per user.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Radio link control of both directions, for bearers without a configuration of their own.
    pub rlc: RlcConfig,
    /// Maximum time for which packets wait for missing earlier ones (t-Reordering); `None` for infinity.
    pub reordering: Option<SimTime>,
    /// Maximum waiting time of a packet of which no byte was sent (discardTimer); `None` for infinity.
    pub discard: Option<SimTime>,
    /// By user, a first bearer that differs from the default above; `None`, or no entry, for the default.
    pub own: Vec<Option<BearerConfig>>,
    /// Further bearers that users have in addition to their first.
    pub further: Vec<FurtherBearer>,
    /// True if the scheduler of the cell follows the priorities of bearers with data, false if those of users. If true,
    /// buffer status reports are by logical channel group.
    pub schedules_bearers: bool,
    /// Time from a radio link failure to the re-establishment of the link.
    pub outage: SimTime,
    /// Configuration of the uplink.
    pub uplink: UplinkConfig,
    /// Handovers at regular times; `None` without handovers.
    pub handover: Option<Handover>,
    /// Discontinuous reception; `None` for users that always listen.
    pub drx: Option<Drx>,
}

/// Configuration of a first bearer that differs from the default, or of a further one.
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
    /// Flows that the bearer carries in both directions; flows of no further bearer are on the first.
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
    /// Default bearer, of users for which none is configured.
    pub fn usual_bearer(&self) -> BearerConfig {
        let Self { rlc, reordering, discard, .. } = *self;
        BearerConfig { rlc, reordering, discard, channel: LogicalChannel::default() }
    }

    /// Configuration of the first bearer of a user.
    pub fn bearer(&self, user: usize) -> BearerConfig {
        self.own.get(user).copied().flatten().unwrap_or_else(|| self.usual_bearer())
    }
}

/// Configuration of the uplink of a cell.
#[derive(Clone, Debug)]
pub struct UplinkConfig {
    /// Source of users' uplink grants.
    pub grants: Grants,
    /// Number of OFDM symbols per uplink slot that carry data.
    pub symbols: u32,
    /// Number of layers of the uplink.
    pub layers: u32,
    /// Table of modulation and coding schemes of the uplink.
    pub table: McsTable,
    /// Difference of each user's mean SINR to that of the downlink, in dB.
    pub snr_offset_db: f64,
    /// Minimum number of slots from a grant to its transmission.
    pub k2: u64,
    /// Slots of processing at the base station, from a received block or request to its answer.
    pub processing_slots: u64,
    /// Period of scheduling request occasions in slots.
    pub request_period_slots: u64,
    /// Minimum number of slots between two requests of a user (`sr-ProhibitTimer`).
    pub request_prohibit_slots: u64,
    /// Bytes that a scheduling request is granted.
    pub request_grant_bytes: u32,
    /// Period of buffer status reports while data wait (`periodicBSR-Timer`).
    pub report_period: SimTime,
    /// Time without a grant after which a buffer status is reported anew (`retxBSR-Timer`).
    pub report_again: SimTime,
    /// Queue limit of each user; `None` for no limit.
    pub queue: Option<QueueLimit>,
    /// Queue discipline of each user with its own limit; `None` for drop-tail within `queue`.
    pub discipline: Option<QueueConfig>,
}

/// Source of users' uplink grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// Users send scheduling requests and buffer status reports, which are granted.
    Requested,
    /// Proactive grants: every user has a grant in every uplink slot.
    Proactive,
    /// Configured grants recur without a request; further data are granted by buffer status reports.
    Configured {
        /// Period of the grants in slots.
        period_slots: u64,
        /// Smallest size of each grant in bytes.
        bytes: u32,
    },
}

/// Handovers at regular times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Time between handovers of a user.
    pub every: SimTime,
    /// Time for which a handover interrupts the user's data.
    pub interruption: SimTime,
    /// True if unconfirmed packets are forwarded to the new cell and retransmitted, false if they are lost.
    pub is_lossless: bool,
}

/// Discontinuous reception (DRX, TS 38.321 section 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    /// DRX cycle: period of the on-durations.
    pub cycle: SimTime,
    /// On-duration: time for which a user listens in each cycle.
    pub on: SimTime,
    /// Inactivity timer: time for which a user listens after a new grant or assignment.
    pub inactivity: SimTime,
}
