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

/// Maximum number of users of a cell.
pub const MOST_USERS: usize = 1000;
/// Maximum number of resource blocks of a carrier (TS 38.331).
const MOST_BLOCKS: u32 = 275;

/// Mapping of the SINRs of a transport block's resource blocks to one effective SINR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectiveSinr {
    /// Mean mutual information per coded bit (bit-interleaved) of the constellation, without a calibrated parameter.
    MutualInformation,
    /// Exponential effective SINR mapping (EESM), -b ln(mean of exp(-SINR / b)), with a calibrated b for each scheme.
    Exponential,
}

/// Configuration of an NR cell, without its seed; also of the radio of its uplink ([`of_uplink`](Self::of_uplink)).
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
    /// Implementation loss of a receiver in dB, in addition to the decoder's loss in the error rates.
    pub implementation_loss_db: f64,
    /// Simulated error rates of code blocks; `None` for the normal approximation plus the loss of the decoder.
    pub error_table: Option<Arc<ErrorTable>>,
    /// Effective SINR of blocks whose resource block groups have different SINRs.
    pub effective_sinr: EffectiveSinr,
    /// Bytes that headers of PDCP, RLC and MAC add to a packet.
    pub header_bytes: u32,
    /// Power delay profile of fading; `None` for constant channels.
    pub profile: Option<DelayProfile>,
    /// Shadowing of users along their paths, used with fading; `None` without shadowing.
    pub shadowing: Option<ShadowingConfig>,
    /// Blockage of the line of sight; `None` without blockage.
    pub blockage: Option<Blockage>,
    /// Users of the cell.
    pub users: Vec<NrUser>,
    /// Rule by which users get groups of resource blocks.
    pub scheduler: Scheduler,
    /// Channel quality reports of users to the base station.
    pub feedback: QualityReports,
    /// Target error rate of first transmissions, by which link adaptation chooses the scheme.
    pub target_error_rate: f64,
    /// Outer loop of link adaptation, by acknowledgements; `None` without one.
    pub outer_loop: Option<OuterLoopConfig>,
    /// Parameters of hybrid ARQ.
    pub harq: HarqConfig,
    /// Maximum waiting time of packets for missing earlier ones (t-Reordering of PDCP).
    pub reordering: SimTime,
    /// Queue limit of each user; `None` for no limit.
    pub queue: Option<QueueLimit>,
    /// Fidelity of the simulated radio: single transmissions, or mean values.
    pub fidelity: Fidelity,
    /// Direction of this radio.
    pub way: Way,
    /// One-way propagation delay between base station and users.
    pub propagation: SimTime,
    /// RLC, PDCP and the uplink; `None` for a downlink alone, in which packets wait for missing ones as in PDCP.
    pub stack: Option<StackConfig>,
}

/// Rule by which the groups of resource blocks of a slot go to users. Retransmissions come first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduler {
    /// Round robin: users with data in turns.
    RoundRobin,
    /// Maximum C/I: the user with the highest reported SINR in the group.
    MaxSinr,
    /// Proportional fair: the user with the highest rate relative to its mean rate so far.
    ProportionalFair {
        /// Averaging window of the mean rate, in slots with data.
        window_slots: f64,
    },
}

/// Channel quality reports of users to the base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityReports {
    /// Period of reports, in slots.
    pub period_slots: u64,
    /// Slots from the measurement of a report to the first slot that uses it.
    pub delay_slots: u64,
    /// True if a report is a channel quality indicator (CQI), false if it is the SINR itself.
    pub is_indicator: bool,
}

/// Parameters of hybrid ARQ: stop-and-wait processes, each with a transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarqConfig {
    /// Number of HARQ processes per user.
    pub processes: u32,
    /// Maximum number of transmissions of a block, the first included.
    pub transmissions: u32,
    /// Minimum number of slots from a transmission to its acknowledgement.
    pub k1: u64,
    /// Minimum number of slots from an acknowledgement to the next transmission, for processing at the base station.
    pub processing_slots: u64,
    /// Combining: the contents of retransmissions.
    pub combining: Combining,
    /// True if downlink users keep only the bits of limited-buffer rate matching of a code block.
    pub has_limited_buffer: bool,
    /// True if blocks are acknowledged; otherwise each is sent once.
    pub has_feedback: bool,
    /// Probability that a negative acknowledgement is read as a positive one, so that the block is lost.
    pub nack_to_ack: f64,
    /// Probability that a positive acknowledgement is read as a negative one or missed, so that the block is sent in
    /// vain.
    pub ack_to_nack: f64,
}

/// Fidelity of the simulated radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Each transmission of a block is simulated, with its outcome and its acknowledgement.
    Slot,
    /// Each slot carries its mean number of bytes, delayed by the mean of retransmissions.
    Rate,
}

/// User of an NR cell: its channel, priority and queue.
#[derive(Clone, Debug)]
pub struct NrUser {
    /// Mean SINR in dB, with shadowing at its median.
    pub mean_snr_db: f64,
    /// Speed in m/s, which sets the correlation of shadowing.
    pub speed_mps: f64,
    /// Maximum Doppler shift in cycles per slot.
    pub fd_t: f64,
    /// Recorded SINR values, which replace the channel model; `None` for the model.
    pub trace: Option<SinrTrace>,
    /// Priority of the user: among users with new data, the one with the smallest number is served first.
    pub priority: u32,
    /// Downlink queue discipline with its own limit; `None` for drop-tail within the limit of the cell.
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
    /// Number of groups of resource blocks; the last may be smaller.
    pub fn groups(&self) -> usize {
        self.prbs.div_ceil(self.group_prbs) as usize
    }

    /// Number of OFDM symbols of a slot that carry data in this direction; 0 if none.
    pub fn data_symbols(&self, slot: u64) -> u32 {
        let symbols = match self.way {
            Way::Down => self.duplex.downlink_symbols(slot).saturating_sub(self.control_symbols),
            Way::Up { symbols, .. } if self.duplex.is_uplink(slot) => symbols,
            Way::Up { .. } => 0,
        };
        // A slot in which reference signals leave no resource elements carries no data.
        if 12 * symbols > self.dmrs_re + self.overhead_re { symbols } else { 0 }
    }

    /// First slot in which a block sent in `slot` can be retransmitted.
    pub fn again(&self, slot: u64) -> u64 {
        let HarqConfig { k1, processing_slots, has_feedback, .. } = self.harq;
        let carries = |slot: u64| self.data_symbols(slot) > 0;
        if !has_feedback {
            // Without feedback the process is free at once.
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

    /// Propagation delay between base station and user in slots, rounded up.
    pub(crate) fn hop_slots(&self) -> u64 {
        self.propagation.as_nanos().div_ceil(self.numerology.slot().as_nanos())
    }

    /// Slot in which the report was measured that the base station uses in `slot`.
    pub(crate) fn measured_slot(&self, slot: u64) -> u64 {
        let age = self.feedback.delay_slots + self.report_lag_slots();
        slot.saturating_sub(age) / self.feedback.period_slots * self.feedback.period_slots
    }

    /// Additional age of reports in slots when a block is sent: the round-trip propagation delay and, in the uplink,
    /// the time since the grant.
    fn report_lag_slots(&self) -> u64 {
        self.way_slots() + if let Way::Up { k2, .. } = self.way { k2 } else { 0 }
    }

    fn way_slots(&self) -> u64 {
        (self.propagation * 2).as_nanos().div_ceil(self.numerology.slot().as_nanos())
    }

    /// Last slot in which an uplink transmission in `slot` can be granted; `None` if no slot is early enough.
    pub(crate) fn granted(&self, slot: u64, k2: u64) -> Option<u64> {
        let last = slot.checked_sub(k2 + self.hop_slots())?;
        (0..=last).rev().find(|slot| self.duplex.downlink_symbols(*slot) > 0)
    }

    /// Longest time from the arrival of a packet at an empty buffer to the beginning of its block, via a scheduling
    /// request and its grant; `None` if grants need no request.
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
            // A pattern has a slot of each direction: the grant comes within one period, its uplink slot within the
            // next.
            let latest = known + uplink.k2 + self.hop_slots() + 2 * pattern;
            (known..=latest).find(|slot| self.duplex.is_uplink(*slot) && is_granted(slot)).unwrap_or(known)
        };
        // After as many requests as the pattern has slots, pattern and requests repeat.
        let mut occasions: Vec<u64> =
            (0..=2 * pattern).map(|count| from(count * uplink.request_period_slots)).collect();
        occasions.dedup();
        let waits = occasions.windows(2).map(|pair| served(pair[1]) - pair[0]);
        waits.max().map(|slots| self.numerology.slot() * slots)
    }

    /// Configuration of the uplink's radio. The base station reads its own decoding results without errors.
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

    /// Number of bits of a code block that a receiver keeps; `None` if all. Only downlink users may be limited (38.212
    /// section 5.4.2.1).
    pub fn buffer_bits(&self, code: CodeBlocks) -> Option<u32> {
        let is_limited = self.harq.has_limited_buffer && self.way == Way::Down;
        let bits_per_symbol = match self.table.number() {
            2 => 8,
            4 => 10,
            _ => 6,
        };
        is_limited.then(|| limited_buffer_bits(self.prbs, self.layers, bits_per_symbol, code.count))
    }

    /// Largest transport block of a slot in bits.
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

    /// Largest transport block of any slot in bytes.
    pub fn largest_block_bytes(&self) -> u32 {
        (0..self.duplex.period()).map(|slot| self.largest_block_bits(slot) / 8).max().unwrap_or(0)
    }

    /// Peak rate in bit/s of a cell in which all blocks have the most efficient scheme.
    pub fn peak_bps(&self) -> f64 {
        let period = self.duplex.period();
        let bits: f64 = (0..period).map(|slot| f64::from(self.largest_block_bits(slot))).sum();
        bits / (self.numerology.slot().as_secs_f64() * period as f64)
    }

    /// Round trips of a block in slots, from each slot with data of a pattern, and the number of HARQ processes that a
    /// saturated cell needs.
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
    /// If a number is outside its range, no slot of the pattern carries data, the error table lacks a scheme, or
    /// options exclude each other.
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

    /// Checks that the table of error rates has every scheme that may be sent.
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
