//! Checks of the configuration of the layers above the radio of an NR cell.

use crate::config::{NrConfig, out_of_range};
use crate::rlc::{RlcConfig, RlcMode};
use crate::stack_config::{Drx, FurtherBearer, Grants, Handover, StackConfig};
use crossfade_cell::CellError;
use crossfade_core::SimTime;

/// Largest finite `prioritisedBitRate` in bytes per second; `LONGEST_BUCKET` is the longest `bucketSizeDuration`
/// (`LogicalChannelConfig`, TS 38.331).
const MOST_PRIORITISED_RATE: u64 = 65_536_000;
const LONGEST_BUCKET: SimTime = SimTime::from_millis(1000);

impl StackConfig {
    /// Checks all parameters of RLC, PDCP, the uplink, handover and DRX.
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
        self.check_further(config)?;
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

    /// Checks the further bearers: no unknown users, and no flow on two bearers.
    fn check_further(&self, config: &NrConfig) -> Result<(), CellError> {
        for (place, FurtherBearer { user, flows, bearer, .. }) in self.further.iter().enumerate() {
            if *user >= config.users.len() {
                return out_of_range("bearer.user", user, format!("below {}, the users", config.users.len()));
            }
            let others = self.further[..place].iter().filter(|other| other.user == *user);
            let mut taken = others.flat_map(|other| &other.flows);
            if let Some(flow) = taken.find(|flow| flows.contains(flow)) {
                return out_of_range("bearer.flows", flow, "on one bearer of its user alone");
            }
            if bearer.channel.prioritised_rate.is_some_and(|rate| rate > MOST_PRIORITISED_RATE) {
                let rate = bearer.channel.prioritised_rate.unwrap_or_default();
                return out_of_range("bearer.prioritised_rate", rate, "at most 65536 kB/s, or all");
            }
            if bearer.channel.bucket > LONGEST_BUCKET {
                return out_of_range("bearer.bucket", bearer.channel.bucket, "at most 1 s");
            }
        }
        Ok(())
    }
}
