//! Keys of a Wi-Fi network, an access point and its stations, which share the air: table `wlan`.

use super::base::{absent, json, named, positive_time, time};
use super::propagation::Shadowing;
use super::queue::{Discipline, Packets, Queue};
use super::radio::Radio;
use super::wlan_air::{WlanAccessPoint, WlanAmpdu, WlanEdca, WlanNeighbours};
use super::wlan_emlsr::WlanEmlsr;
use super::wlan_links::{self, OfLink, WlanLink};
use super::wlan_ofdma::WlanOfdma;
use super::wlan_stations::{Usual, WlanStations};
use super::wlan_words::{
    WlanAsks, WlanBackoff, WlanBand, WlanForm, WlanMultiLink, WlanPreset, WlanProfile, WlanRate, WlanStandard,
};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::{FileName, Frequency, Share, Span};
use crossfade_channel::DelayProfile;
use crossfade_core::SimTime;
use crossfade_mac::wlan::{Form, RadioConfig, StationConfig, WlanConfig};
use crossfade_phy::ErrorRateTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Wi-Fi network in place of the links: an access point and its stations share the air, data and ACKs alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Wlan {
    /// Network that gives the defaults of other keys of `wlan`.
    #[schemars(extend("x-default" = "none"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<WlanPreset>,

    /// Amendment of 802.11: `n`, `ac`, `ax` or `be`; `a` or `g` for old stations.
    #[schemars(extend("x-default" = "ax"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<WlanStandard>,

    /// Frequency band of the channel.
    #[schemars(extend("x-default" = "5 GHz; 2.4 GHz with standard \"g\"; 6 GHz with a width of 320 MHz"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<WlanBand>,

    /// Channel width: 20 MHz, from n on also 40, from ac on 80 and 160, with be 320 MHz.
    #[schemars(extend("x-default" = "80 MHz; 20 MHz with standard a, g or n, and in the 2.4 GHz band"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Frequency>,

    /// Largest number of spatial streams. The streams share the transmit power.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "2; 1 with standard a or g"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,

    /// Guard interval of an OFDM symbol: 0.4 or 0.8 us (n, ac), 0.8, 1.6 or 3.2 us (ax, be).
    #[schemars(extend("x-default" = "800 ns"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_interval: Option<Span>,

    /// Rate control of the access point and of the stations.
    #[schemars(extend("x-default" = "minstrel for stations with a radio or distance; constant for others, and with wlan.mcs"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<WlanRate>,

    /// MCS of rate `constant`, with all streams. With standards a and g, 0 to 7 are the rates from 6 to 54 Mbit/s.
    #[schemars(range(min = 0, max = 13), extend("x-default" = "the highest of the standard, the width and the streams"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u32>,

    /// Largest error rate of MPDUs of 1500 bytes at which rate `ideal` uses a mode.
    #[schemars(extend("x-default" = "10 %, with rate \"ideal\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_error_rate: Option<Share>,

    /// Share of MPDUs lost without a collision, for stations without a radio. Acknowledgements always arrive.
    #[schemars(extend("x-default" = "0 %, for stations without a radio"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpdu_error_rate: Option<Share>,

    /// File of error rates over SNR in place of the built-in ones. Its modes are `mcs-0` to `mcs-13`, or `ofdm-6` to
    /// `ofdm-54`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_rates: Option<FileName>,

    /// Radio of stations that have no radio table of their own. The default speed is 1.08 km/h, the default mean_snr_db
    /// 30.
    #[serde(skip_serializing_if = "Radio::is_absent")]
    pub radio: Radio,

    /// Uplink SNR of a station less its downlink SNR, in dB.
    #[schemars(range(min = -40, max = 40), extend("x-default" = "0; -5 for stations with a distance"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_snr_offset_db: Option<f64>,

    /// Implementation loss of receivers: SNR needed beyond that of an ideal one, in dB.
    #[schemars(range(min = 0, max = 20), extend("x-default" = "0"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation_loss_db: Option<f64>,

    /// Power delay profile of the fading channels, or `awgn` for constant channels.
    #[schemars(extend("x-default" = "exponential"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<WlanProfile>,

    /// Root mean square delay spread of the exponential profile, at most 10 us. TGn's models B to E have 15, 30, 50 and
    /// 100 ns.
    #[schemars(extend("x-default" = "50 ns, with profile \"exponential\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_spread: Option<Span>,

    /// Log-normal shadowing along the path of a station. Without this table there is no shadowing.
    #[serde(skip_serializing_if = "Shadowing::is_absent")]
    pub shadowing: Shadowing,

    /// Limits of aggregates and of the block acknowledgement window.
    #[serde(skip_serializing_if = "WlanAmpdu::is_absent")]
    pub ampdu: WlanAmpdu,

    /// Largest number of transmissions of an MPDU, the first included. After the last the MPDU is given up; 0 is
    /// unlimited. Intel's driver for Linux makes 16: a first one and 15 retries.
    #[schemars(range(min = 0, max = 1000), extend("x-default" = "16"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmissions: Option<u32>,

    /// Whether an RTS/CTS exchange precedes data.
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts: Option<bool>,

    /// Frame after a missing block acknowledgement: the data, or a request for it (BAR).
    #[schemars(extend("x-default" = "data"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_missed_ack: Option<WlanAsks>,

    /// Longest wait of a receiver for a missing MPDU before it passes on later ones. Linux waits 100 ms. With 0 s it
    /// waits until the sender reports the MPDU as given up.
    #[schemars(extend("x-default" = "100 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder_timeout: Option<Span>,

    /// Backoff of the access point, of all stations and of neighbours.
    #[schemars(extend("x-default" = "edca"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<WlanBackoff>,

    /// EDCA parameters by access category. Flows name their category.
    #[serde(skip_serializing_if = "WlanEdca::is_absent")]
    pub edca: WlanEdca,

    /// Queue of each station and access category, at the access point and at the station.
    #[schemars(extend("x-default" = "fq-codel with target 20 ms and interval 100 ms"))]
    #[serde(skip_serializing_if = "Queue::is_absent")]
    pub queue: Queue,

    /// Queues of the access point: per station as in Linux, or one FIFO.
    #[serde(skip_serializing_if = "WlanAccessPoint::is_absent")]
    pub access_point: WlanAccessPoint,

    /// Neighbouring networks on the channel. Without this table there are none.
    #[serde(skip_serializing_if = "WlanNeighbours::is_absent")]
    pub neighbours: WlanNeighbours,

    /// OFDMA (ax, be): PPDUs of several stations at once. Without this table each PPDU has one station.
    #[serde(skip_serializing_if = "WlanOfdma::is_absent")]
    pub ofdma: WlanOfdma,

    /// Links of multi-link devices (be) by name, each a channel of its own. Without this table there is one channel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, WlanLink>,

    /// Use of several links by stations of be: all at once (STR), or one at a time (EMLSR).
    #[schemars(extend("x-default" = "str"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi_link: Option<WlanMultiLink>,

    /// EMLSR parameters of stations with a single radio. Taken with multi_link "emlsr".
    #[serde(skip_serializing_if = "WlanEmlsr::is_absent")]
    pub emlsr: WlanEmlsr,

    /// Stations by name, alone or in groups, with the keys that differ from the network's. Without this table each
    /// sender has a station of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stations: BTreeMap<String, WlanStations>,

    /// Form of Bianchi's model of contention that method formula computes.
    #[schemars(extend("x-default" = "plain; slot-or-again with backoff \"dcf\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bianchi: Option<WlanForm>,
}

absent!(Wlan);

/// Resolved Wi-Fi network, apart from its seed.
#[derive(Clone, Debug)]
pub struct WlanModel {
    /// Configuration of the network, apart from its seed.
    pub config: WlanConfig,
    /// Name and number of stations of each group, in the order of the stations.
    pub groups: Vec<(String, usize)>,
    /// Names of the links of multi-link devices, in the order of the links.
    pub links: Vec<String>,
    /// Form of Bianchi's model of contention: what follows a success.
    pub form: Form,
}

/// Power in dB below the first path at which an exponential delay profile is cut.
const WEAKEST_DB: f64 = 20.0;
/// Number of paths of an exponential delay profile.
const PATHS: usize = 8;

impl Wlan {
    /// Fills in standard, band, width and the other keys that stations take from the network, and returns these.
    fn usual(&mut self, slot: SimTime) -> Result<Usual, ScenarioError> {
        let standard = *self.standard.get_or_insert(WlanStandard::Ax);
        let is_wide = self.width.is_some_and(|width| width.0 > 160e6);
        let band = *self.band.get_or_insert(match standard {
            WlanStandard::G => WlanBand::Ghz2,
            _ if is_wide => WlanBand::Ghz6,
            _ => WlanBand::Ghz5,
        });
        let is_narrow = matches!(standard, WlanStandard::A | WlanStandard::G | WlanStandard::N);
        let narrow = is_narrow || band == WlanBand::Ghz2;
        let width = *self.width.get_or_insert(Frequency(if narrow { 20e6 } else { 80e6 }));
        let is_old = matches!(standard, WlanStandard::A | WlanStandard::G);
        let streams = *self.streams.get_or_insert(if is_old { 1 } else { 2 });
        let guard = *self.guard_interval.get_or_insert(Span::exactly(SimTime::from_nanos(800)));
        let guard_interval = time("wlan.guard_interval", guard, slot)?;
        self.ampdu.fill(standard.into());
        Ok(Usual {
            standard,
            band,
            width,
            streams,
            guard_interval,
            rate: self.rate,
            mcs: self.mcs,
            target_error_rate: self.target_error_rate,
            mpdu_error_rate: self.mpdu_error_rate,
            radio: self.radio.clone(),
            uplink_snr_offset_db: self.uplink_snr_offset_db,
            ampdu: self.ampdu.clone(),
        })
    }

    /// Fills in the defaults of a network. Its stations are those of `wlan.stations`, or one for each of the `senders`.
    /// `categories` are the access categories in use, as indices of [`crossfade_mac::wlan::EDCA`].
    pub(crate) fn resolve(
        &mut self,
        senders: usize,
        categories: &[usize],
        packets: Packets,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<WlanModel, ScenarioError> {
        self.apply_preset();
        let given = self.width;
        let usual = self.usual(slot)?;
        let mut links = wlan_links::resolve(&mut self.links, &usual, given, slot)?;
        self.refuse_beside_links()?;
        self.radio.check("wlan.radio")?;
        let mut groups = Vec::new();
        let mut stations: Vec<StationConfig> = Vec::new();
        let errors = match &self.error_rates {
            Some(FileName(name)) => Some(files.error_rates("wlan.error_rates", name)?),
            None => None,
        };
        for (name, group) in &mut self.stations {
            let table = format!("wlan.stations.{name}");
            let all = if links.is_empty() {
                group.resolve(&table, &usual, slot, files)?
            } else {
                wlan_links::stations(group, &table, &mut links, slot, files)?
            };
            groups.push((name.clone(), all.len()));
            stations.extend(all);
        }
        if self.stations.is_empty() {
            let mut alone = WlanStations { count: Some(senders as u32), ..WlanStations::default() };
            stations = if links.is_empty() {
                alone.resolve("wlan", &usual, slot, files)?
            } else {
                wlan_links::stations(&mut alone, "wlan", &mut links, slot, files)?
            };
            groups.push((String::new(), stations.len()));
            self.take_from(alone, &usual);
        }
        if let Some(table) = &errors {
            check_modes(stations.iter().chain(links.iter().flat_map(OfLink::stations)), table)?;
        }
        let emlsr = self.emlsr.of_stations(self.multi_link, &self.stations, stations.len(), &links, slot)?;
        let links = links.into_iter().map(OfLink::finish).collect::<Result<Vec<_>, _>>()?;
        let (names, links): (Vec<String>, Vec<_>) = links.into_iter().unzip();
        let radio = self.resolve_radio(errors, slot)?;
        let rate_bps = stations[0].modes.last().map_or(1e6, |mode| mode.rate_bps());
        let config = WlanConfig {
            categories: self.edca.resolve(categories, slot)?,
            backoff: self.backoff.unwrap_or(WlanBackoff::Edca).into(),
            attempts: match *self.transmissions.get_or_insert(16) {
                0 => None,
                most => Some(most),
            },
            rts: *self.rts.get_or_insert(false),
            asks: *self.after_missed_ack.get_or_insert(WlanAsks::Data) == WlanAsks::Request,
            reorder_timeout: {
                let timeout = *self.reorder_timeout.get_or_insert(Span::millis(100));
                Some(time("wlan.reorder_timeout", timeout, slot)?).filter(|time| *time > SimTime::ZERO)
            },
            queue: self.resolve_queue(rate_bps, packets, slot)?,
            access_point: self.access_point.resolve(packets, slot)?,
            radio,
            neighbours: self.neighbours.resolve("wlan.neighbours", slot)?,
            ofdma: self.ofdma.resolve(usual.standard.into(), (usual.width.0 / 1e6) as u16)?,
            stations,
            links,
            emlsr,
        };
        config.check().map_err(|error| named("wlan", &error))?;
        let usual_form =
            if self.backoff == Some(WlanBackoff::Dcf) { WlanForm::SlotOrAgain } else { WlanForm::Plain };
        let form = (*self.bianchi.get_or_insert(usual_form)).into();
        Ok(WlanModel { config, groups, links: names, form })
    }

    /// Copies the resolved keys of stations without a table of their own to the network's table.
    fn take_from(&mut self, alone: WlanStations, usual: &Usual) {
        let WlanStations { rate, mcs, target_error_rate, mpdu_error_rate, radio, .. } = alone;
        (self.target_error_rate, self.radio) = (target_error_rate, radio);
        // With links, these values may differ from link to link.
        self.rate = rate.or(usual.rate);
        (self.mcs, self.mpdu_error_rate) = (mcs.or(usual.mcs), mpdu_error_rate.or(usual.mpdu_error_rate));
    }

    /// Error if keys contradict `wlan.links`, or if stations name links of a network without links.
    fn refuse_beside_links(&self) -> Result<(), ScenarioError> {
        if self.links.is_empty() {
            let named = self.stations.iter().find_map(|(name, group)| Some((name, group.links.as_ref()?)));
            let Some((name, links)) = named else { return Ok(()) };
            let key = format!("wlan.stations.{name}.links");
            return Err(ScenarioError::value(key, &json(links), "needs wlan.links, which names them"));
        }
        let (key, reason) = if !self.neighbours.is_absent() {
            ("wlan.neighbours", "each link has its own: wlan.links.NAME.neighbours")
        } else if !self.ofdma.is_absent() {
            ("wlan.ofdma", "PPDUs of several stations are modelled on one link")
        } else {
            return Ok(());
        };
        Err(ScenarioError::contradiction(key, "wlan.links", reason))
    }

    fn resolve_queue(
        &mut self,
        rate_bps: f64,
        packets: Packets,
        slot: SimTime,
    ) -> Result<crossfade_link::QueueConfig, ScenarioError> {
        let discipline = *self.queue.discipline.get_or_insert(Discipline::FqCodel);
        if discipline == Discipline::FqCodel {
            self.queue.target.get_or_insert(Span::millis(20));
        }
        let config = self.queue.resolve("wlan.queue", Some(rate_bps), packets, slot)?;
        // The resolution removes "drop-tail" as the usual default, but the default of Wi-Fi is another discipline.
        self.queue.discipline = Some(discipline);
        self.queue.check_room("wlan.queue", packets.largest)?;
        Ok(config)
    }

    fn resolve_radio(
        &mut self,
        errors: Option<Arc<ErrorRateTable>>,
        slot: SimTime,
    ) -> Result<RadioConfig, ScenarioError> {
        let implementation_loss_db = *self.implementation_loss_db.get_or_insert(0.0);
        if !(0.0..=20.0).contains(&implementation_loss_db) {
            let key = "wlan.implementation_loss_db";
            return Err(ScenarioError::value(key, &json(implementation_loss_db), "must be between 0 and 20"));
        }
        let profile = match *self.profile.get_or_insert(WlanProfile::Exponential) {
            WlanProfile::Awgn => {
                // A sweep over the profiles has this key in all of its points.
                self.delay_spread = None;
                None
            }
            WlanProfile::Exponential => {
                let spread = *self.delay_spread.get_or_insert(Span::exactly(SimTime::from_nanos(50)));
                let spread_s = positive_time("wlan.delay_spread", spread, slot)?.as_secs_f64();
                if spread_s > 10e-6 {
                    return Err(ScenarioError::value(
                        "wlan.delay_spread",
                        &json(spread),
                        "must be at most 10 us",
                    ));
                }
                Some(exponential(spread_s).map_err(|error| named("wlan", &error))?)
            }
        };
        let shadowing =
            if self.shadowing.is_absent() { None } else { self.shadowing.resolve("wlan.shadowing")? };
        if let (None, Some(_)) = (&profile, &shadowing) {
            let reason = "constant channels have none";
            return Err(ScenarioError::contradiction("wlan.shadowing", "wlan.profile = \"awgn\"", reason));
        }
        Ok(RadioConfig { profile, shadowing, implementation_loss_db, errors })
    }
}

/// Exponential power delay profile: paths at equally spaced delays whose power falls exponentially. The root mean
/// square delay spread is `spread_s` although the profile is cut.
fn exponential(spread_s: f64) -> Result<DelayProfile, crossfade_channel::ChannelError> {
    let step_db = WEAKEST_DB / (PATHS - 1) as f64;
    let powers_db: Vec<f64> = (0..PATHS).map(|path| -step_db * path as f64).collect();
    let weights: Vec<f64> = powers_db.iter().map(|db| libm::exp10(db / 10.0)).collect();
    let all: f64 = weights.iter().sum();
    let mean = |of: fn(f64) -> f64| {
        (0..PATHS).zip(&weights).map(|(path, weight)| of(path as f64) * weight).sum::<f64>() / all
    };
    let (first, second) = (mean(|path| path), mean(|path| path * path));
    let of_steps = (second - first * first).sqrt();
    let delays_s: Vec<f64> = (0..PATHS).map(|path| path as f64 * spread_s / of_steps).collect();
    DelayProfile::new(&delays_s, &powers_db)
}

/// Error if the table of error rates lacks a mode that some station may use.
fn check_modes<'a>(
    stations: impl Iterator<Item = &'a StationConfig>,
    table: &ErrorRateTable,
) -> Result<(), ScenarioError> {
    for mode in stations.flat_map(|station| &station.modes) {
        if let Err(error) = table.mode(Some(mode.name())) {
            return Err(ScenarioError::key("wlan.error_rates", error.to_string()));
        }
    }
    Ok(())
}
