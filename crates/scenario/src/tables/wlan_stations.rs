//! Keys of the stations of a Wi-Fi network: their modes, their radios, and rate control.

use super::base::{absent, json, named, time};
use super::radio::{Radio, RadioSetup};
use super::wlan_air::WlanAmpdu;
use super::wlan_words::{WlanBand, WlanMultiLink, WlanRate, WlanStandard};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::per_user::{PerUser, PerUserExpects};
use crate::quantity::{Frequency, Length, Share, Span, Speed};
use crossfade_core::SimTime;
use crossfade_mac::wlan::{
    ACCESS_POINT_DBM, AmpduLimits, MOST_STATIONS, Mode, RateConfig, ReceptionConfig, STATION_DBM, STEP,
    Standard, StationConfig, StationRadio, snr_at_db,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stations that are alike, with the keys in which they differ from the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanStations {
    /// Number of stations in the group.
    #[schemars(range(min = 1, max = 1000), extend("x-default" = "1"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,

    /// Amendment of 802.11 of these stations.
    #[schemars(extend("x-default" = "wlan.standard"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<WlanStandard>,

    /// Channel width of these stations.
    #[schemars(extend("x-default" = "wlan.width, or the largest of the stations' own standard if less"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Frequency>,

    /// Largest number of spatial streams of these stations.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "wlan.streams, or the most of the stations' own standard if less"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,

    /// Guard interval of symbols for these stations.
    #[schemars(extend("x-default" = "wlan.guard_interval"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_interval: Option<Span>,

    /// Rate control between the access point and these stations, in both directions.
    #[schemars(extend("x-default" = "wlan.rate"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<WlanRate>,

    /// MCS of these stations, with rate `constant`.
    #[schemars(range(min = 0, max = 13), extend("x-default" = "wlan.mcs"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u32>,

    /// Largest error rate at which rate `ideal` uses a mode for these stations.
    #[schemars(extend("x-default" = "wlan.target_error_rate"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_error_rate: Option<Share>,

    /// Share of MPDUs of these stations that are lost without a collision.
    #[schemars(extend("x-default" = "wlan.mpdu_error_rate"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpdu_error_rate: Option<Share>,

    /// Radio of these stations: SNR and speed, or a recorded SNR.
    #[serde(skip_serializing_if = "Radio::is_absent")]
    pub radio: Radio,

    /// Distance from the access point, in place of radio.mean_snr_db. A range is spread evenly over the stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<PerUser<Length>>,

    /// Block acknowledgement window of these stations in MPDUs.
    #[schemars(range(min = 1, max = 1024), extend("x-default" = "wlan.ampdu.window, or the largest of the stations' own standard if less"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,

    /// Names in wlan.links of the links that these stations use. Stations of be may use several, others use one.
    #[schemars(extend("x-default" = "all links with standard \"be\"; the first by name with others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,

    /// Use of several links by these stations: all at once (STR), or one at a time (EMLSR).
    #[schemars(extend("x-default" = "wlan.multi_link"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi_link: Option<WlanMultiLink>,
}

absent!(WlanStations);

impl PerUserExpects for Length {
    const EXPECTS: &'static str = "a distance such as \"12 m\", or { from = \"2 m\", to = \"20 m\" }";
}

/// Values that stations take from their network unless they have their own.
#[derive(Clone)]
pub(super) struct Usual {
    pub(super) standard: WlanStandard,
    pub(super) band: WlanBand,
    pub(super) width: Frequency,
    pub(super) streams: u32,
    pub(super) guard_interval: SimTime,
    pub(super) rate: Option<WlanRate>,
    pub(super) mcs: Option<u32>,
    pub(super) target_error_rate: Option<Share>,
    pub(super) mpdu_error_rate: Option<Share>,
    pub(super) radio: Radio,
    pub(super) uplink_snr_offset_db: Option<f64>,
    pub(super) ampdu: WlanAmpdu,
}

/// Default speed of stations in m/s: a slow indoor walk.
const USUAL_SPEED: f64 = 0.3;
/// Default mean SNR of stations in dB.
const USUAL_SNR_DB: f64 = 30.0;

impl WlanStations {
    /// Fills in the defaults of the stations in the table called `table`, and returns their resolved configuration.
    pub(super) fn resolve(
        &mut self,
        table: &str,
        usual: &Usual,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<Vec<StationConfig>, ScenarioError> {
        let count = *self.count.get_or_insert(1);
        if !(1..=MOST_STATIONS as u32).contains(&count) {
            let key = join(table, if table == "wlan" { "stations" } else { "count" });
            return Err(ScenarioError::value(key, &json(count), "must be between 1 and 1000"));
        }
        let modes = self.all_modes(table, usual, slot)?;
        let has_own = !self.radio.is_absent() || self.distance.is_some();
        for (table, has_radio, share) in [
            (table, has_own, self.mpdu_error_rate),
            ("wlan", !usual.radio.is_absent(), usual.mpdu_error_rate),
        ] {
            if has_radio && share.is_some() {
                let reason = "the SNR says what is lost";
                let key = join(table, "mpdu_error_rate");
                return Err(ScenarioError::contradiction(&key, &join(table, "radio"), reason));
            }
        }
        let has_radio = has_own || (self.mpdu_error_rate.is_none() && !usual.radio.is_absent());
        let has_mcs = self.mcs.is_some() || usual.mcs.is_some();
        let usual_rate = if has_radio && !has_mcs { WlanRate::Minstrel } else { WlanRate::Constant };
        let is_of_network = self.rate.is_none();
        let word = *self.rate.get_or_insert(usual.rate.unwrap_or(usual_rate));
        let (modes, rate) = self.chosen(table, word, is_of_network, usual, modes, has_radio)?;
        let limits = self.limits(table, usual, modes[0].standard(), slot)?;
        let receptions: Result<Vec<ReceptionConfig>, ScenarioError> = if has_radio {
            self.radios(table, usual, &modes, slot, files)
        } else {
            let share = *self.mpdu_error_rate.get_or_insert(usual.mpdu_error_rate.unwrap_or(Share(0.0)));
            Ok(vec![ReceptionConfig::ErrorRate(share.0); count as usize])
        };
        let station = |reception| StationConfig { modes: modes.clone(), limits, rate, reception };
        Ok(receptions?.into_iter().map(station).collect())
    }

    /// All modes of the stations' standard, width and guard interval, by number of streams and MCS.
    fn all_modes(&self, table: &str, usual: &Usual, slot: SimTime) -> Result<Vec<Mode>, ScenarioError> {
        let standard = Standard::from(self.standard.unwrap_or(usual.standard));
        let mhz = |width: Frequency| {
            let mhz = width.0 / 1e6;
            if mhz.fract() == 0.0 && (0.0..=65_535.0).contains(&mhz) { mhz as u16 } else { 0 }
        };
        let (width, key) = if let Some(width) = self.width {
            (mhz(width), join(table, "width"))
        } else {
            let widest = standard.widths_mhz().iter().copied().max().unwrap_or(20);
            let is_foreign = self.standard.is_some();
            let width = mhz(usual.width);
            (if is_foreign { width.min(widest) } else { width }, "wlan.width".to_owned())
        };
        if width == 0 {
            let written = self.width.unwrap_or(usual.width);
            return Err(ScenarioError::value(key, &json(written), "must be 20, 40, 80, 160 or 320 MHz"));
        }
        let most = u32::from(standard.most_streams());
        let streams = match self.streams {
            Some(streams) => streams,
            None if self.standard.is_some() => usual.streams.min(most),
            None => usual.streams,
        };
        let guard_interval = match self.guard_interval {
            Some(span) => time(&join(table, "guard_interval"), span, slot)?,
            None => usual.guard_interval,
        };
        let guard_ns = u16::try_from(guard_interval.as_nanos()).unwrap_or(u16::MAX);
        let narrow = u8::try_from(streams).unwrap_or(u8::MAX);
        // Errors that do not depend on the MCS are reported for the lowest one.
        Mode::new(standard, usual.band.into(), 0, narrow, width, guard_ns)
            .map_err(|error| named(self.whose(table, &error.to_string()), &error))?;
        let all =
            (1..=narrow).flat_map(|streams| (0..=standard.highest_mcs()).map(move |mcs| (streams, mcs)));
        let modes = all.filter_map(|(streams, mcs)| {
            Mode::new(standard, usual.band.into(), mcs, streams, width, guard_ns).ok()
        });
        Ok(modes.collect())
    }

    /// Name of the table with the key of an error about a mode: the stations' table, or `wlan`.
    fn whose<'a>(&self, table: &'a str, error: &str) -> &'a str {
        let is_own = match error.split(' ').next() {
            Some("width") => self.width.is_some(),
            Some("streams") => self.streams.is_some(),
            Some("guard_interval") => self.guard_interval.is_some(),
            _ => false,
        };
        if is_own { table } else { "wlan" }
    }

    /// Modes among which rate control chooses, in rising order of rates, and the rate control.
    fn chosen(
        &mut self,
        table: &str,
        word: WlanRate,
        is_of_network: bool,
        usual: &Usual,
        all: Vec<Mode>,
        has_radio: bool,
    ) -> Result<(Vec<Mode>, RateConfig), ScenarioError> {
        let key = |own: bool, name: &str| if own { join(table, name) } else { join("wlan", name) };
        if word == WlanRate::Constant {
            self.target_error_rate = None;
            let most = all.iter().map(|mode| mode.streams()).max().unwrap_or(1);
            let own = self.mcs.is_some();
            let highest = all.iter().filter(|mode| mode.streams() == most).map(|mode| mode.mcs()).max();
            let mcs = *self.mcs.get_or_insert(usual.mcs.unwrap_or(highest.unwrap_or(0).into()));
            let number = u8::try_from(mcs).unwrap_or(u8::MAX);
            if let Some(mode) = all.iter().find(|mode| mode.streams() == most && mode.mcs() == number) {
                return Ok((vec![*mode], RateConfig::Constant(0)));
            }
            let first = all[0];
            let refused = Mode::new(
                first.standard(),
                first.band(),
                number,
                most,
                first.width_mhz(),
                first.guard_interval_ns(),
            );
            let problem = match refused {
                Err(error) => {
                    error.to_string().split_once(": ").map_or_else(String::new, |(_, text)| text.to_owned())
                }
                Ok(_) => "must be one that there is".to_owned(),
            };
            return Err(ScenarioError::value(key(own, "mcs"), &json(mcs), problem));
        }
        if let Some(mcs) = self.mcs.or(usual.mcs.filter(|_| is_of_network)) {
            let problem = format!("needs rate \"constant\": {} chooses it", json(word));
            return Err(ScenarioError::value(key(self.mcs.is_some(), "mcs"), &json(mcs), problem));
        }
        let mut modes = all;
        // Of modes with equal rates, the one with fewer streams is kept; a slower mode that needs as much SNR is
        // useless.
        modes.sort_by(|a, b| a.rate_bps().total_cmp(&b.rate_bps()).then(a.streams().cmp(&b.streams())));
        modes.dedup_by(|later, earlier| (later.rate_bps() / earlier.rate_bps() - 1.0).abs() < 1e-9);
        if word == WlanRate::Minstrel {
            self.target_error_rate = None;
            return Ok((modes, RateConfig::Minstrel));
        }
        if !has_radio {
            let problem = "needs a radio or a distance: without one there is no SNR";
            return Err(ScenarioError::value(key(true, "rate"), &json(word), problem));
        }
        let target = *self.target_error_rate.get_or_insert(usual.target_error_rate.unwrap_or(Share(0.1)));
        if !(target.0 > 0.0 && target.0 < 1.0) {
            let problem = "must be above 0 and below 1";
            return Err(ScenarioError::value(key(true, "target_error_rate"), &json(target), problem));
        }
        Ok((modes, RateConfig::Ideal(target.0)))
    }

    fn limits(
        &self,
        table: &str,
        usual: &Usual,
        standard: Standard,
        slot: SimTime,
    ) -> Result<AmpduLimits, ScenarioError> {
        let is_foreign = self.standard.is_some();
        let limits = usual.ampdu.resolve(standard, is_foreign, slot)?;
        let limits = AmpduLimits { window: self.window.unwrap_or(limits.window), ..limits };
        limits.check(standard).map_err(|error| {
            let of = if self.window.is_some() { table } else { "wlan.ampdu" };
            named(of, &error)
        })?;
        Ok(limits)
    }

    /// Reception of each station by its radio: SNR and speed, or a recorded SNR.
    fn radios(
        &mut self,
        table: &str,
        usual: &Usual,
        modes: &[Mode],
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<Vec<ReceptionConfig>, ScenarioError> {
        let (key, count) = (join(table, "radio"), self.count.unwrap_or(1) as usize);
        let band = crossfade_mac::wlan::Band::from(usual.band);
        if self.distance.is_some() && (self.radio.mean_snr_db.is_some() || self.radio.trace.is_some()) {
            let reason = "the distance gives the SNR";
            return Err(ScenarioError::contradiction(&join(table, "distance"), &key, reason));
        }
        let mut of_network = usual.radio.clone();
        if of_network.trace.is_none() || self.distance.is_some() {
            of_network.trace = None;
            of_network.mean_snr_db.get_or_insert(PerUser::One(USUAL_SNR_DB));
            of_network.speed.get_or_insert(PerUser::One(Speed(USUAL_SPEED)));
        }
        let usual_offset = if self.distance.is_some() { STATION_DBM - ACCESS_POINT_DBM } else { 0.0 };
        let uplink_offset_db = usual.uplink_snr_offset_db.unwrap_or(usual_offset);
        if !(-40.0..=40.0).contains(&uplink_offset_db) {
            let value = json(uplink_offset_db);
            return Err(ScenarioError::value(
                "wlan.uplink_snr_offset_db",
                &value,
                "must be between -40 and 40",
            ));
        }
        let own = self.radio.clone();
        let setup = self.radio.resolve(&key, &of_network, slot, files)?;
        if self.distance.is_some() {
            // The distance replaces the SNR of the radio.
            self.radio = Radio { speed: self.radio.speed, ..own };
        }
        let station = |i: usize| {
            let radio = match &setup {
                RadioSetup::Recorded { trace, .. } => StationRadio {
                    mean_snr_db: trace.mean_db(),
                    uplink_offset_db,
                    speed_mps: 0.0,
                    fd_t: 0.0,
                    trace: Some(trace.clone()),
                },
                RadioSetup::Modelled(modelled) => {
                    let (mut mean_snr_db, speed_mps, fd_t) =
                        modelled.user(&key, i, count, band.centre_hz(), STEP)?;
                    if let Some(distance) = self.distance {
                        let metres = distance.at(i, count, |length| length.0);
                        mean_snr_db = snr_at_db(band, metres, modes[0].width_mhz());
                    }
                    StationRadio { mean_snr_db, uplink_offset_db, speed_mps, fd_t, trace: None }
                }
            };
            Ok(ReceptionConfig::Radio(radio))
        };
        (0..count).map(station).collect()
    }
}
