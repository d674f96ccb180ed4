//! Configuration of an NR cell.

use crate::awgn::Combining;
use crate::blockage::Blockage;
use crate::error_table::ErrorTable;
use crate::mcs::{CodedModulation, McsTable};
use crate::numerology::{Duplex, Numerology};
use crate::stack_config::{Grants, StackConfig, UplinkConfig, Way};
use crate::transport_block::{Allocation, CodeBlocks, limited_buffer_bits};
use crossfade_cell::{CellError, OuterLoopConfig, SinrTrace};
use crossfade_channel::{DelayProfile, ShadowingConfig};
use crossfade_core::{OutOfRange, SimTime};
use crossfade_link::{QueueConfig, QueueLimit};
use std::sync::Arc;

/// Largest number of users of a cell.
pub const MOST_USERS: usize = 1000;
/// Largest number of resource blocks of a carrier (TS 38.331).
const MOST_BLOCKS: u32 = 275;

/// Mapping of the SINRs of a transport block's resource blocks to one effective SINR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectiveSinr {
    /// Mean mutual information per bit (bit-interleaved) of the constellation, without a calibrated parameter.
    MutualInformation,
    /// Exponential effective SINR mapping, -b ln(mean of exp(-SINR / b)), with a calibrated b for each scheme.
    Exponential,
}

/// Configuration of the downlink of an NR cell, without its seed.
#[derive(Clone, Debug)]
pub struct NrConfig {
    /// Numerology: slot length and subcarrier spacing.
    pub numerology: Numerology,
    /// Pattern of TTI slots with downlink data and with uplink acknowledgements.
    pub duplex: Duplex,
    /// Number of resource blocks of the carrier.
    pub prbs: u32,
    /// Number of resource blocks of a group, which is scheduled for one user and has one channel gain.
    pub group_prbs: u32,
    /// Number of OFDM symbols with control information at the beginning of a TTI slot with data.
    pub control_symbols: u32,
    /// Number of resource elements per resource block and TTI slot that reference signals (DM-RS) take.
    pub dmrs_re: u32,
    /// Number of resource elements per resource block and TTI slot that other overhead takes.
    pub overhead_re: u32,
    /// Number of layers, each with the SNR of the user.
    pub layers: u32,
    /// Table of modulation and coding schemes.
    pub table: McsTable,
    /// Implementation loss of a receiver in dB, beyond the error rates.
    pub implementation_loss_db: f64,
    /// Simulated error rates; `None` takes the normal approximation a fixed distance away.
    pub error_table: Option<Arc<ErrorTable>>,
    /// Effective SINR of blocks whose resource block groups have different ratios.
    pub effective_sinr: EffectiveSinr,
    /// Bytes that headers of PDCP, RLC and MAC add to a packet.
    pub header_bytes: u32,
    /// Fading; `None` is constant channels.
    pub profile: Option<DelayProfile>,
    /// Their shadowing; `None` has none.
    pub shadowing: Option<ShadowingConfig>,
    /// Blockage; `None` is none.
    pub blockage: Option<Blockage>,
    /// Users of the cell.
    pub users: Vec<NrUser>,
    /// Rule for which user gets which group of resource blocks.
    pub scheduler: Scheduler,
    /// Quality reports to the base station.
    pub feedback: QualityReports,
    /// The error rate of first transmissions that is aimed at.
    pub target_error_rate: f64,
    /// Outer loop by acknowledgements; `None` is none.
    pub outer_loop: Option<OuterLoopConfig>,
    /// Hybrid ARQ.
    pub harq: HarqConfig,
    /// Maximum waiting time of packets for missing earlier ones (t-Reordering of PDCP).
    pub reordering: SimTime,
    /// Queue limit of each user; `None` is without limit.
    pub queue: Option<QueueLimit>,
    /// Each transmission is an event; or closed forms stand for retransmissions.
    pub fidelity: Fidelity,
    /// Direction.
    pub way: Way,
    /// Propagation delay between base station and users, one way.
    pub propagation: SimTime,
    /// RLC, PDCP and the uplink; `None` has the downlink alone, whose packets wait for missing ones as PDCP lets them.
    pub stack: Option<StackConfig>,
}

/// Scheduler: it gives groups of resource blocks of a slot to users. Retransmissions come first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduler {
    /// Users with data in turns.
    RoundRobin,
    /// The user with the highest reported ratio in the group (maximum C/I).
    MaxSinr,
    /// The user with the highest rate relative to what the user had, over a window of so many slots with data.
    ProportionalFair {
        /// Slots over which the rate of a user is averaged.
        window_slots: f64,
    },
}

/// Channel quality reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityReports {
    /// Period of reports, in slots.
    pub period_slots: u64,
    /// Slots from the measurement of a report to the first slot that uses it.
    pub delay_slots: u64,
    /// Whether a report is a channel quality indicator; otherwise the ratio itself.
    pub is_indicator: bool,
}

/// Hybrid ARQ: stop-and-wait processes, each with a transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarqConfig {
    /// Number of HARQ processes of a user.
    pub processes: u32,
    /// Transmissions of a block at most, the first included.
    pub transmissions: u32,
    /// Slots from a transmission to its acknowledgement, at least.
    pub k1: u64,
    /// Slots from an acknowledgement to the next transmission that the base station takes, at least.
    pub processing_slots: u64,
    /// Content of copies.
    pub combining: Combining,
    /// Whether users keep no more of a code block than limited-buffer rate matching lets them.
    pub has_limited_buffer: bool,
    /// Whether blocks are acknowledged at all; otherwise each is sent once.
    pub has_feedback: bool,
    /// The probability that a negative acknowledgement is read as a positive one: the block is lost.
    pub nack_to_ack: f64,
    /// The probability that a positive one is read as a negative one, or not at all: the block is sent in vain.
    pub ack_to_nack: f64,
}

/// Fidelity of the simulated radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Each transmission of a block, its outcome and its acknowledgement.
    Slot,
    /// A slot carries its mean of bytes, later by the mean delay of retransmissions.
    Rate,
}

/// A user of an NR cell.
#[derive(Clone, Debug)]
pub struct NrUser {
    /// The mean signal-to-interference-and-noise ratio in dB, with shadowing at its median.
    pub mean_snr_db: f64,
    /// Metres a second.
    pub speed_mps: f64,
    /// The maximum Doppler shift in cycles a slot.
    pub fd_t: f64,
    /// Recorded SINR in place of a channel.
    pub trace: Option<SinrTrace>,
    /// Priority of the user: among users with new data the least number goes first.
    pub priority: u32,
    /// Downlink queue with a limit of its own; `None` is drop-tail within the limit of
    /// the cell.
    pub queue: Option<QueueConfig>,
}

pub(crate) fn out_of_range<T>(
    parameter: &'static str,
    value: impl std::fmt::Display,
    allowed: impl Into<std::borrow::Cow<'static, str>>,
) -> Result<T, CellError> {
    Err(OutOfRange::new(parameter, value, allowed).into())
}

impl NrConfig {
    /// Groups of resource blocks; the last may be smaller.
    pub fn groups(&self) -> usize {
        self.prbs.div_ceil(self.group_prbs) as usize
    }

    /// OFDM symbols of a slot that carry data.
    pub fn data_symbols(&self, slot: u64) -> u32 {
        let symbols = match self.way {
            Way::Down => self.duplex.downlink_symbols(slot).saturating_sub(self.control_symbols),
            Way::Up { symbols, .. } if self.duplex.is_uplink(slot) => symbols,
            Way::Up { .. } => 0,
        };
        // A slot whose reference signals leave nothing carries none.
        if 12 * symbols > self.dmrs_re + self.overhead_re { symbols } else { 0 }
    }

    /// The first slot in which a block of `slot` can be retransmitted.
    pub fn again(&self, slot: u64) -> u64 {
        let HarqConfig { k1, processing_slots, has_feedback, .. } = self.harq;
        let carries = |slot: u64| self.data_symbols(slot) > 0;
        if !has_feedback {
            // Its process is free at once.
            return slot + 1;
        }
        match self.way {
            Way::Down => self.duplex.again(slot, k1 + self.way_slots(), processing_slots, carries),
            Way::Up { k2, .. } => {
                let decoded = slot + self.hop_slots() + processing_slots;
                let granted = (decoded..decoded + self.duplex.period())
                    .find(|slot| self.duplex.downlink_symbols(*slot) > 0)
                    .unwrap_or(decoded);
                let ready = granted + self.hop_slots() + k2;
                (ready..ready + self.duplex.period()).find(|slot| carries(*slot)).unwrap_or(ready)
            }
        }
    }

    /// Slots of the way from the base station to a user, and of both ways.
    pub(crate) fn hop_slots(&self) -> u64 {
        self.propagation.as_nanos().div_ceil(self.numerology.slot().as_nanos())
    }

    /// The slot in which the report was measured that the base station uses in `slot`.
    pub(crate) fn measured_slot(&self, slot: u64) -> u64 {
        let age = self.feedback.delay_slots + self.report_lag_slots();
        slot.saturating_sub(age) / self.feedback.period_slots * self.feedback.period_slots
    }

    /// Additional age of reports in slots when a block is sent: the way there and back, and a grant
    /// that was made before.
    fn report_lag_slots(&self) -> u64 {
        self.way_slots() + if let Way::Up { k2, .. } = self.way { k2 } else { 0 }
    }

    fn way_slots(&self) -> u64 {
        (self.propagation * 2).as_nanos().div_ceil(self.numerology.slot().as_nanos())
    }

    /// The last slot in which a transmission of the uplink in `slot` can be granted; `None` before the first.
    pub(crate) fn granted(&self, slot: u64, k2: u64) -> Option<u64> {
        let last = slot.checked_sub(k2 + self.hop_slots())?;
        (0..=last).rev().find(|slot| self.duplex.downlink_symbols(*slot) > 0)
    }

    /// Longest wait of a packet that comes to an empty buffer, until a request has it granted and its block begins;
    /// `None` where grants need no request.
    pub fn longest_request(&self) -> Option<SimTime> {
        let uplink = &self.stack.as_ref()?.uplink;
        if uplink.grants != Grants::Requested {
            return None;
        }
        let pattern = self.duplex.period();
        let from =
            |slot: u64| (slot..slot + pattern).find(|slot| self.duplex.is_uplink(*slot)).unwrap_or(slot);
        let served = |occasion: u64| {
            let known = occasion + self.hop_slots() + uplink.processing_slots;
            let is_granted = |slot: &u64| self.granted(*slot, uplink.k2) >= Some(known);
            // A pattern has a slot of each direction: the grant comes within one, its slot of the uplink within the next.
            let latest = known + uplink.k2 + self.hop_slots() + 2 * pattern;
            (known..=latest).find(|slot| self.duplex.is_uplink(*slot) && is_granted(slot)).unwrap_or(known)
        };
        // After as many requests as the pattern has slots both begin anew.
        let mut occasions: Vec<u64> =
            (0..=2 * pattern).map(|count| from(count * uplink.request_period_slots)).collect();
        occasions.dedup();
        let waits = occasions.windows(2).map(|pair| served(pair[1]) - pair[0]);
        waits.max().map(|slots| self.numerology.slot() * slots)
    }

    /// The radio of the uplink, of which base stations make no mistake about acknowledgements.
    #[must_use]
    pub fn of_uplink(&self, uplink: &UplinkConfig) -> Self {
        let user = |user: &NrUser| NrUser {
            mean_snr_db: user.mean_snr_db + uplink.snr_offset_db,
            queue: None,
            ..user.clone()
        };
        Self {
            way: Way::Up { symbols: uplink.symbols, k2: uplink.k2 },
            layers: uplink.layers,
            table: uplink.table,
            users: self.users.iter().map(user).collect(),
            feedback: QualityReports { is_indicator: false, ..self.feedback },
            harq: HarqConfig {
                processing_slots: uplink.processing_slots,
                nack_to_ack: 0.0,
                ack_to_nack: 0.0,
                ..self.harq
            },
            queue: uplink.queue,
            ..self.clone()
        }
    }

    /// Bits of a code block that a receiver keeps, if that is less than all: what users of the downlink may be limited
    /// to (38.212 section 5.4.2.1).
    pub fn buffer_bits(&self, code: CodeBlocks) -> Option<u32> {
        let is_limited = self.harq.has_limited_buffer && self.way == Way::Down;
        let bits_per_symbol = match self.table.number() {
            2 => 8,
            4 => 10,
            _ => 6,
        };
        is_limited.then(|| limited_buffer_bits(self.prbs, self.layers, bits_per_symbol, code.count))
    }

    /// The largest transport block of a slot, in bits.
    fn largest_block_bits(&self, slot: u64) -> u32 {
        let Self { dmrs_re, overhead_re, prbs, layers, .. } = *self;
        let symbols = self.data_symbols(slot);
        let allocation = Allocation { symbols, dmrs_re, overhead_re, prbs, layers };
        let bits = |scheme: &CodedModulation| {
            allocation.transport_block_bits(
                scheme.bits_per_symbol,
                u64::from(scheme.rate_times_2048) * 500_000,
                0,
            )
        };
        self.table.schemes().last().map_or(0, bits)
    }

    /// The largest transport block, in bytes.
    pub fn largest_block_bytes(&self) -> u32 {
        (0..self.duplex.period()).map(|slot| self.largest_block_bits(slot) / 8).max().unwrap_or(0)
    }

    /// The rate of a cell in which all blocks have the most efficient scheme, in bit/s.
    pub fn peak_bps(&self) -> f64 {
        let period = self.duplex.period();
        let bits: f64 = (0..period).map(|slot| f64::from(self.largest_block_bits(slot))).sum();
        bits / (self.numerology.slot().as_secs_f64() * period as f64)
    }

    /// Round trips of a block in slots, from each slot with data of a pattern, and the processes that a full downlink
    /// takes.
    pub fn round_trips(&self) -> (Vec<u64>, u32) {
        let carries = |slot: u64| self.data_symbols(slot) > 0;
        let starts = (0..self.duplex.period()).filter(|slot| carries(*slot));
        let trips: Vec<(u64, u64)> = starts.map(|slot| (slot, self.again(slot))).collect();
        let needed =
            trips.iter().map(|&(slot, again)| (slot..again).filter(|slot| carries(*slot)).count() as u32);
        (trips.iter().map(|(slot, again)| again - slot).collect(), needed.max().unwrap_or(1))
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// Numbers outside their ranges, a pattern in which no slot carries data.
    pub fn check(&self) -> Result<(), CellError> {
        if !(1..=MOST_BLOCKS).contains(&self.prbs) {
            return out_of_range("prbs", self.prbs, format!("between 1 and {MOST_BLOCKS}"));
        }
        if !(1..=self.prbs).contains(&self.group_prbs) {
            return out_of_range(
                "group",
                self.group_prbs,
                format!("between 1 and {}, the resource blocks", self.prbs),
            );
        }
        if self.control_symbols > 3 {
            return out_of_range("control_symbols", self.control_symbols, "between 0 and 3");
        }
        if self.dmrs_re > 48 {
            return out_of_range("dmrs_re", self.dmrs_re, "between 0 and 48");
        }
        if ![0, 6, 12, 18].contains(&self.overhead_re) {
            return out_of_range("overhead_re", self.overhead_re, "one of 0, 6, 12, 18");
        }
        if !(1..=8).contains(&self.layers) {
            return out_of_range("layers", self.layers, "between 1 and 8");
        }
        if !(0.0..=20.0).contains(&self.implementation_loss_db) {
            return out_of_range("implementation_loss_db", self.implementation_loss_db, "between 0 and 20");
        }
        if self.header_bytes > 100 {
            return out_of_range("headers", self.header_bytes, "at most 100 B");
        }
        if !(1..=MOST_USERS).contains(&self.users.len()) {
            return out_of_range("users", self.users.len(), format!("between 1 and {MOST_USERS}"));
        }
        if !(1e-6..=0.9).contains(&self.target_error_rate) {
            return out_of_range("target_bler", self.target_error_rate, "between 1e-6 and 0.9");
        }
        self.harq.check()?;
        if !(1..=100_000).contains(&self.feedback.period_slots) {
            return out_of_range("feedback.period", self.feedback.period_slots, "between 1 and 100000 slots");
        }
        if self.feedback.delay_slots > 100_000 {
            return out_of_range("feedback.delay", self.feedback.delay_slots, "at most 100000 slots");
        }
        if let Some(outer_loop) = &self.outer_loop {
            outer_loop.check()?;
        }
        if let Some(shadowing) = &self.shadowing {
            shadowing.check()?;
        }
        if let Some(blockage) = &self.blockage {
            blockage.check()?;
        }
        if let Scheduler::ProportionalFair { window_slots } = self.scheduler
            && !(1.0..=1e6).contains(&window_slots)
        {
            return out_of_range("window", window_slots, "between 1 and 1000000 slots");
        }
        if !(SimTime::from_millis(1)..=SimTime::from_millis(3000)).contains(&self.reordering) {
            return out_of_range("reordering", self.reordering, "between 1 ms and 3 s");
        }
        if self.queue.is_some_and(|limit| !limit.admits(0, 0, 1)) {
            return out_of_range("queue", "0", "at least one packet");
        }
        if (0..self.duplex.period()).all(|slot| self.data_symbols(slot) == 0) {
            return out_of_range("pattern", &self.duplex, "with a slot that has symbols left for data");
        }
        if self.propagation > SimTime::from_millis(1000) {
            return out_of_range("ntn.round_trip", self.propagation * 2, "at most 2 s");
        }
        self.check_error_table()?;
        let numbers = [Some(self.table), self.stack.as_ref().map(|stack| stack.uplink.table)];
        if self.effective_sinr == EffectiveSinr::Exponential
            && numbers.into_iter().flatten().any(|table| table.number() > 2)
        {
            return out_of_range(
                "effective_sinr",
                "eesm",
                "\"mutual-information\" with MCS tables 3 and 4: EESM has no parameters for these",
            );
        }
        if let Some(stack) = &self.stack {
            stack.check(self)?;
            if self.fidelity == Fidelity::Rate {
                return out_of_range("fidelity", "rate", "\"slot\" with nr.uplink");
            }
        }
        self.check_users()
    }

    /// The table of error rates must have every scheme that may be sent.
    fn check_error_table(&self) -> Result<(), CellError> {
        if let Some(table) = &self.error_table {
            let tables = [Some(self.table), self.stack.as_ref().map(|stack| stack.uplink.table)];
            let schemes = tables
                .into_iter()
                .flatten()
                .flat_map(|table| table.schemes().iter().chain(table.quality_indicators()));
            if let Some(scheme) = schemes.into_iter().find(|scheme| !table.has(**scheme)) {
                let CodedModulation { bits_per_symbol, rate_times_2048 } = scheme;
                let without = format!(
                    "without {bits_per_symbol} bits a symbol at {}/1024",
                    f64::from(*rate_times_2048) / 2.0
                );
                return out_of_range(
                    "error_table",
                    without,
                    "a table with every scheme of the MCS and CQI tables",
                );
            }
        }
        Ok(())
    }

    fn check_users(&self) -> Result<(), CellError> {
        for user in &self.users {
            if let Some(trace) = &user.trace {
                if trace.columns() != 1 && trace.columns() != self.groups() {
                    let allowed =
                        format!("a time and 1 or {} ratios, the groups, on each line", self.groups());
                    return out_of_range("trace", format!("{} ratios", trace.columns()), allowed);
                }
            } else if !(-30.0..=60.0).contains(&user.mean_snr_db) {
                return out_of_range("mean_snr_db", user.mean_snr_db, "between -30 and 60");
            }
        }
        Ok(())
    }
}

impl HarqConfig {
    fn check(&self) -> Result<(), CellError> {
        let HarqConfig { processes, transmissions, k1, processing_slots, nack_to_ack, ack_to_nack, .. } =
            *self;
        if !(1..=32).contains(&processes) {
            return out_of_range("harq.processes", processes, "between 1 and 32");
        }
        if !(1..=16).contains(&transmissions) {
            return out_of_range("harq.transmissions", transmissions, "between 1 and 16");
        }
        if !(1..=15).contains(&k1) {
            return out_of_range("harq.k1", k1, "between 1 and 15 slots");
        }
        if !(1..=1000).contains(&processing_slots) {
            return out_of_range("harq.processing", processing_slots, "between 1 and 1000 slots");
        }
        for (name, p) in [("harq.nack_to_ack", nack_to_ack), ("harq.ack_to_nack", ack_to_nack)] {
            if !(0.0..1.0).contains(&p) {
                return out_of_range(name, p, "at least 0 and below 1");
            }
        }
        Ok(())
    }
}
