//! Configuration of OFDMA: how an access point shares a PPDU among several stations (IEEE 802.11ax-2021 clause 26.5).

use super::modes::Standard;
use super::ru::{Layout, Ru};
use crate::error::{MeshError, out_of_range};

/// OFDMA of an access point: directions, number of stations, RUs and acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfdmaConfig {
    /// True if one PPDU carries data to several stations.
    pub downlink: bool,
    /// True if trigger frames solicit data of several stations. The access point is assumed to know what waits at the
    /// stations.
    pub uplink: bool,
    /// Maximum number of stations of a PPDU.
    pub users: usize,
    /// Size of all RUs; `None` to halve the band until each station has one.
    pub ru: Option<Ru>,
    /// Way of requesting block acknowledgements of a downlink PPDU.
    pub ack: MuAck,
    /// True if stations that are triggered also contend for the channel.
    pub stations_contend: bool,
}

/// Way of requesting block acknowledgements from several stations in one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuAck {
    /// By a trigger frame after the data (MU-BAR).
    MuBar,
    /// By a trigger frame in each station's aggregate.
    Aggregated,
}

/// Default maximum number of stations of a PPDU.
pub const USUAL_USERS: usize = 16;

impl OfdmaConfig {
    /// Maximum number of stations of a PPDU of a width: its number of RUs of size `ru`, or of 26 tones if `None`.
    pub fn most_users(ru: Option<Ru>, width_mhz: u16) -> usize {
        ru.unwrap_or(Ru::Tones26).count(width_mhz)
    }

    /// Checks that the channel has these resource units.
    ///
    /// # Errors
    /// If the standard is older than 802.11ax, the width does not have the RU, or there are more stations than RUs.
    pub fn check(&self, standard: Standard, width_mhz: u16) -> Result<(), MeshError> {
        if standard < Standard::Ax {
            let letters = standard.letters();
            return out_of_range("standard", format!("{letters:?}"), "ax or be with ofdma");
        }
        let has = |ru: &Ru| ru.count(width_mhz) > 0;
        if let Some(ru) = self.ru.filter(|ru| !has(ru)) {
            let there: Vec<String> =
                Ru::ALL.iter().filter(|ru| has(ru)).map(|ru| ru.tones().to_string()).collect();
            let allowed = format!("one of {}, the RUs of {width_mhz} MHz", there.join(", "));
            return out_of_range("ru", ru.tones(), allowed);
        }
        let most = Self::most_users(self.ru, width_mhz);
        if !(1..=most).contains(&self.users) {
            let tones = self.ru.unwrap_or(Ru::Tones26).tones();
            let rus = if most == 1 { "RU" } else { "RUs" };
            let allowed = format!("between 1 and {most}: {width_mhz} MHz have {most} {rus} of {tones} tones");
            return out_of_range("users", self.users, allowed);
        }
        Ok(())
    }

    /// RUs of `stations` stations in a channel of `width_mhz`.
    pub(super) fn layout(&self, width_mhz: u16, stations: usize) -> Layout {
        match self.ru {
            Some(ru) => Layout::equal(width_mhz, ru, stations),
            None => Layout::halved(width_mhz, stations),
        }
    }
}

/// Bytes of a trigger frame with `users` user fields of `each` bytes; EHT adds a special user field of 5 bytes.
pub(super) fn trigger_bytes(standard: Standard, users: usize, each: u32) -> u32 {
    28 + users as u32 * each + if standard >= Standard::Be { 5 } else { 0 }
}

/// Bytes of a MU-RTS to `users` stations, without padding.
pub(super) fn mu_rts_bytes(standard: Standard, users: usize) -> u32 {
    trigger_bytes(standard, users, RTS_USER)
}

/// Bytes of a user field in a basic trigger; `BAR_USER` in a MU-BAR, `RTS_USER` in a MU-RTS.
pub(super) const BASIC_USER: u32 = 6;
pub(super) const BAR_USER: u32 = 9;
pub(super) const RTS_USER: u32 = 5;
