//! Whether, and how, an access point shares a PPDU among several stations (OFDMA, IEEE 802.11ax-2021 clause 26.5).

use super::modes::Standard;
use super::ru::{Layout, Ru};
use crate::error::{MeshError, out_of_range};

/// OFDMA of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfdmaConfig {
    /// Whether one PPDU carries data to several stations.
    pub downlink: bool,
    /// Whether trigger frames ask stations for their data. The access point knows what waits there.
    pub uplink: bool,
    /// Stations of a PPDU, at most.
    pub users: usize,
    /// The size of all RUs; none halves the band until each station has one.
    pub ru: Option<Ru>,
    /// Request for the block acknowledgements of a downlink PPDU.
    pub ack: MuAck,
    /// Whether stations that triggers ask contend as well.
    pub stations_contend: bool,
}

/// Request to several stations for block acknowledgements in one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuAck {
    /// A trigger frame after the data: MU-BAR.
    MuBar,
    /// A trigger frame in each station's aggregate.
    Aggregated,
}

/// The usual number of stations of a PPDU, at most.
pub const USUAL_USERS: usize = 16;

impl OfdmaConfig {
    /// Stations that a PPDU of a width has at most.
    pub fn most_users(ru: Option<Ru>, width_mhz: u16) -> usize {
        ru.unwrap_or(Ru::Tones26).count(width_mhz)
    }

    /// Checks that the channel has such resource units.
    ///
    /// # Errors
    /// A standard before 802.11ax, an RU that the width does not have, more stations than RUs.
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

    /// The RUs of so many stations.
    pub(super) fn layout(&self, width_mhz: u16, stations: usize) -> Layout {
        match self.ru {
            Some(ru) => Layout::equal(width_mhz, ru, stations),
            None => Layout::halved(width_mhz, stations),
        }
    }
}

/// Bytes of a trigger frame with so many fields of users of so many bytes; that of EHT has one special field of 5.
pub(super) fn trigger_bytes(standard: Standard, users: usize, each: u32) -> u32 {
    28 + users as u32 * each + if standard >= Standard::Be { 5 } else { 0 }
}

/// Bytes of a MU-RTS to so many stations, without padding.
pub(super) fn mu_rts_bytes(standard: Standard, users: usize) -> u32 {
    trigger_bytes(standard, users, RTS_USER)
}

/// Bytes of the field of a user in a basic trigger, a MU-BAR and a MU-RTS.
pub(super) const BASIC_USER: u32 = 6;
pub(super) const BAR_USER: u32 = 9;
pub(super) const RTS_USER: u32 = 5;
