//! Keys of OFDMA in a Wi-Fi network: PPDUs of several stations.

use super::base::{absent, json, named};
use crate::error::ScenarioError;
use crossfade_mac::wlan::{MuAck, OfdmaConfig, Ru, Standard, USUAL_USERS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// OFDMA: PPDUs of several stations, each in a resource unit (RU) of the channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanOfdma {
    /// Whether one downlink PPDU carries data to several stations (HE MU PPDU).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downlink: Option<bool>,

    /// Whether trigger frames ask several stations for their data. The access point knows how much waits at each
    /// station.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<bool>,

    /// Largest number of stations in one PPDU.
    #[schemars(range(min = 1, max = 148), extend("x-default" = "16, or the number of RUs in the channel if that is less"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,

    /// Size of all RUs in tones: 26, 52, 106, 242 (20 MHz), 484, 996, 1992 or 3984. Without it the channel is halved
    /// until each station has an RU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ru: Option<u32>,

    /// Request for the block acknowledgements of a downlink PPDU.
    #[schemars(extend("x-default" = "mu-bar"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<WlanMuAck>,

    /// Whether stations that trigger frames ask for data contend as well. Otherwise they wait for trigger frames, as
    /// with an AIFSN of 0 of MU EDCA.
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations_contend: Option<bool>,
}

absent!(WlanOfdma);

/// Request for block acknowledgements of several stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanMuAck {
    /// A trigger frame after the data (MU-BAR).
    MuBar,
    /// A trigger frame in each station's aggregate.
    Aggregated,
}

impl WlanOfdma {
    /// Fills in the defaults of OFDMA in a network of this standard and width; `None` without the table, or if both
    /// directions are off.
    pub(super) fn resolve(
        &mut self,
        standard: Standard,
        width_mhz: u16,
    ) -> Result<Option<OfdmaConfig>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        if standard < Standard::Ax {
            let of = format!("wlan.standard = {}", json(standard.letters()));
            let reason = "OFDMA begins with 802.11ax: use ax or be";
            return Err(ScenarioError::contradiction("wlan.ofdma", &of, reason));
        }
        let downlink = *self.downlink.get_or_insert(true);
        let uplink = *self.uplink.get_or_insert(true);
        let ru = match self.ru {
            None => None,
            Some(tones) => match Ru::of_tones(tones) {
                None => {
                    let problem = "must be one of 26, 52, 106, 242, 484, 996, 1992, 3984";
                    return Err(ScenarioError::value("wlan.ofdma.ru", &json(tones), problem));
                }
                found => found,
            },
        };
        let most = OfdmaConfig::most_users(ru, width_mhz);
        let users = *self.users.get_or_insert(USUAL_USERS.min(most).max(1) as u32) as usize;
        let ack = match *self.ack.get_or_insert(WlanMuAck::MuBar) {
            WlanMuAck::MuBar => MuAck::MuBar,
            WlanMuAck::Aggregated => MuAck::Aggregated,
        };
        let stations_contend = *self.stations_contend.get_or_insert(false);
        let config = OfdmaConfig { downlink, uplink, users, ru, ack, stations_contend };
        config.check(standard, width_mhz).map_err(|error| named("wlan.ofdma", &error))?;
        Ok((downlink || uplink).then_some(config))
    }
}
