//! What stands above hybrid ARQ, and what interrupts it: RLC, PDCP, the uplink, handover, DRX, long ways.

use crate::config::{NrConfig, out_of_range};
use crate::mcs::McsTable;
use crate::rlc::{RlcConfig, RlcMode};
use crossfade_cell::CellError;
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;

/// Which way a radio goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the base station.
    Down,
    /// To it, in slots of the uplink.
    Up {
        /// OFDM symbols of a slot that carry data.
        symbols: u32,
        /// Slots from a grant to its transmission, at least.
        k2: u64,
    },
}

/// Everything above hybrid ARQ: both directions, of which each user has one bearer.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Radio link control of both directions.
    pub rlc: RlcConfig,
    /// How long packets wait for earlier ones (t-Reordering); `None` is for ever.
    pub reordering: Option<SimTime>,
    /// How long a packet waits at most of which nothing was sent (discardTimer); `None` is for ever.
    pub discard: Option<SimTime>,
    /// How long a link that has failed takes to come back.
    pub outage: SimTime,
    /// The uplink.
    pub uplink: UplinkConfig,
    /// Changes of the cell; `None` has none.
    pub handover: Option<Handover>,
    /// Discontinuous reception; `None` always listens.
    pub drx: Option<Drx>,
}

/// The uplink of a cell.
#[derive(Clone, Debug)]
pub struct UplinkConfig {
    /// How users come by grants.
    pub grants: Grants,
    /// OFDM symbols of a slot of the uplink that carry data.
    pub symbols: u32,
    /// Layers.
    pub layers: u32,
    /// Its modulation and coding schemes.
    pub table: McsTable,
    /// What is added to the mean ratio of each user, in dB.
    pub snr_offset_db: f64,
    /// Slots from a grant to its transmission, at least.
    pub k2: u64,
    /// Slots that the base station takes for what it has received.
    pub processing_slots: u64,
    /// From one occasion of a scheduling request to the next.
    pub request_period_slots: u64,
    /// From a request to the next, at least (`sr-ProhibitTimer`).
    pub request_prohibit_slots: u64,
    /// Bytes that a request is granted.
    pub request_grant_bytes: u32,
    /// From a buffer status report to the next while data wait (`periodicBSR-Timer`).
    pub report_period: SimTime,
    /// Without a grant, a buffer status is reported anew after so long (`retxBSR-Timer`).
    pub report_again: SimTime,
    /// How much waits at each user; `None` is without limit.
    pub queue: Option<QueueLimit>,
}

/// How users come by grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// They send scheduling requests and buffer status reports.
    Requested,
    /// Everybody has a grant in every slot of the uplink.
    Proactive,
    /// A grant recurs without being asked for; what it does not hold is asked for by its reports.
    Configured {
        /// From one to the next.
        period_slots: u64,
        /// Bytes of each, at least.
        bytes: u32,
    },
}

/// Changes of the cell at regular times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// From one to the next.
    pub every: SimTime,
    /// How long nothing is sent.
    pub interruption: SimTime,
    /// Whether what was not confirmed is forwarded and sent again.
    pub is_lossless: bool,
}

/// Discontinuous reception (TS 38.321 section 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    /// From one on-duration to the next.
    pub cycle: SimTime,
    /// How long a user listens in each.
    pub on: SimTime,
    /// How long it listens after a new grant or assignment.
    pub inactivity: SimTime,
}

impl StackConfig {
    /// Refuses what cannot be.
    pub(crate) fn check(&self, config: &NrConfig) -> Result<(), CellError> {
        let RlcConfig { mode, sn_bits, max_retransmissions, .. } = self.rlc;
        let (bits, said) = match mode {
            RlcMode::Acknowledged => ([12, 18], "12 or 18 in acknowledged mode"),
            RlcMode::Unacknowledged => ([6, 12], "6 or 12 in unacknowledged mode"),
        };
        if !bits.contains(&sn_bits) {
            return out_of_range("rlc.sn_bits", sn_bits, said);
        }
        if !(1..=32).contains(&max_retransmissions) {
            return out_of_range("rlc.max_retransmissions", max_retransmissions, "between 1 and 32");
        }
        let uplink = &self.uplink;
        if !(1..=14).contains(&uplink.symbols) || 12 * uplink.symbols <= config.dmrs_re + config.overhead_re {
            return out_of_range(
                "uplink.symbols",
                uplink.symbols,
                "between 1 and 14, more than references take",
            );
        }
        if !(1..=4).contains(&uplink.layers) {
            return out_of_range("uplink.layers", uplink.layers, "between 1 and 4");
        }
        if uplink.k2 > 32 {
            return out_of_range("uplink.k2", uplink.k2, "between 0 and 32 slots");
        }
        if !(-60.0..=60.0).contains(&uplink.snr_offset_db) {
            return out_of_range("uplink.snr_offset_db", uplink.snr_offset_db, "between -60 and 60");
        }
        if !(1..=100_000).contains(&uplink.request_period_slots) {
            return out_of_range(
                "uplink.sr_period",
                uplink.request_period_slots,
                "between 1 and 100000 slots",
            );
        }
        if !(1..=100_000).contains(&uplink.request_grant_bytes) {
            return out_of_range("uplink.sr_grant", uplink.request_grant_bytes, "between 1 B and 100 kB");
        }
        if let Grants::Configured { period_slots, bytes } = uplink.grants {
            if !(1..=100_000).contains(&period_slots) {
                return out_of_range("uplink.configured_period", period_slots, "between 1 and 100000 slots");
            }
            if !(1..=1_000_000).contains(&bytes) {
                return out_of_range("uplink.configured_grant", bytes, "between 1 B and 1 MB");
            }
        }
        if let Some(Handover { every, interruption, is_lossless }) = self.handover {
            if interruption >= every {
                return out_of_range("handover.interruption", interruption, "shorter than handover.every");
            }
            if is_lossless && mode == RlcMode::Unacknowledged {
                return out_of_range(
                    "handover.mode",
                    "lossless",
                    "\"seamless\" where nothing is acknowledged",
                );
            }
        }
        if let Some(Drx { cycle, on, .. }) = self.drx
            && !(on > SimTime::ZERO && on <= cycle)
        {
            return out_of_range("drx.on", on, "above 0 and at most drx.cycle");
        }
        Ok(())
    }
}
