//! Resolution of losses by a user's error-rate table, at an SNR that is constant or fades.

use super::base::json;
use super::channel::{Channel, ChannelModel, refuse};
use super::error_rate::{BlockSizesWord, CopiesWord, FadingWord};
use super::phy::word;
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::FileName;
use crossfade_channel::{Clock, ErrorRateLoss, MOST_PARTS, Motion};
use crossfade_core::SimTime;
use crossfade_phy::{BlockErrors, MutualInformation};
use std::sync::Arc;

impl Channel {
    /// Resolves the loss process of blocks of usually `bytes` by an error-rate table, in steps of slots or frame times.
    pub(super) fn resolve_error_rate(
        &mut self,
        table: &str,
        bytes: u32,
        slot: SimTime,
        frame_time: Option<SimTime>,
        files: &Files<'_>,
    ) -> Result<ErrorRateLoss, ScenarioError> {
        let key = |name: &str| join(table, name);
        let model = ChannelModel::ErrorRateTable;
        let (Some(FileName(name)), Some(snr_db)) = (self.table.clone(), self.snr_db) else {
            return Err(self.incomplete(table, model));
        };
        let usual = if self.fd_t.is_some() { FadingWord::Rayleigh } else { FadingWord::None };
        let fading = match (*self.fading.get_or_insert(usual), self.fd_t) {
            (FadingWord::None, Some(_)) => {
                let reason = "without fading nothing moves";
                return Err(ScenarioError::contradiction(&key("fd_t"), &key("fading"), reason));
            }
            (FadingWord::Rayleigh, Some(fd_t)) => {
                Some(Motion::Moving { fd_t, clock: self.resolve_clock(table, slot, frame_time)? })
            }
            (word, None) => {
                if let Some(clock) = self.clock {
                    let problem = format!("needs {}: without it nothing moves", key("fd_t"));
                    return Err(ScenarioError::value(key("clock"), &json(clock), problem));
                }
                (word == FadingWord::Rayleigh).then_some(Motion::Independent)
            }
        };
        let rates = files.error_rates(&key("table"), &name)?;
        let rates = rates.mode(self.mode.as_deref()).map_err(|error| {
            let (key, value) = match &self.mode {
                Some(mode) => (key("mode"), json(mode)),
                None => (key("table"), json(&name)),
            };
            ScenarioError::value(key, &value, error.to_string())
        })?;
        let sizes = (*self.block_sizes.get_or_insert(BlockSizesWord::Scaled)).into();
        let parts = *self.parts.get_or_insert(1);
        if !(1..=MOST_PARTS).contains(&parts) {
            let problem = format!("must be between 1 and {MOST_PARTS}");
            return Err(ScenarioError::value(key("parts"), &json(parts), problem));
        }
        let moves_in_time = matches!(fading, Some(Motion::Moving { clock: Clock::Slot(_), .. }));
        if parts > 1 && !moves_in_time {
            let problem =
                format!("needs gains that move in time ({}): others are constant in a block", key("fd_t"));
            return Err(ScenarioError::value(key("parts"), &json(parts), problem));
        }
        let modulation = match (self.modulation, parts) {
            (Some(name), _) => Some(word(name, MutualInformation::named)?),
            (None, 1) => None,
            (None, _) => {
                let problem =
                    format!("the constellation, which {} needs: bpsk, qpsk, 16-qam, ...", key("parts"));
                return Err(ScenarioError::missing(&key("modulation"), &problem));
            }
        };
        let shadowing = self.resolve_shadowing(table, slot, frame_time.unwrap_or(slot))?;
        let rates = Arc::new(BlockErrors { rates, sizes, modulation });
        let mut loss = ErrorRateLoss::new(rates, snr_db, bytes);
        (loss.fading, loss.shadowing, loss.parts) = (fading, shadowing, parts);
        loss.combines = *self.combining.get_or_insert(CopiesWord::None) == CopiesWord::Chase;
        loss.check().map_err(|error| refuse(table, &error))?;
        Ok(loss)
    }

    /// True if the receptions of a retransmitted frame are combined.
    pub(super) fn combines_copies(&self) -> bool {
        self.model == Some(ChannelModel::ErrorRateTable) && self.combining == Some(CopiesWord::Chase)
    }
}
