//! Keys of the links of multi-link devices: channels that an access point and its stations use at once.

use super::base::{absent, json, named};
use super::wlan_air::WlanNeighbours;
use super::wlan_stations::{Usual, WlanStations};
use super::wlan_words::{WlanBand, WlanStandard};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{Frequency, Share};
use crossfade_core::SimTime;
use crossfade_mac::wlan::{LinkConfig, MOST_LINKS, Mode, ReceptionConfig, Standard, StationConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Link of multi-link devices: a channel of its own, with the keys that differ from the network's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanLink {
    /// Frequency band of the link.
    #[schemars(extend("x-default" = "wlan.band; 6 GHz with a width of 320 MHz"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<WlanBand>,

    /// Channel width of the link, which stations with a smaller width do not use in full.
    #[schemars(extend("x-default" = "wlan.width; without it 20 MHz at 2.4 GHz"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Frequency>,

    /// MCS of rate `constant` on the link, for stations without an mcs of their own.
    #[schemars(range(min = 0, max = 13), extend("x-default" = "wlan.mcs"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u32>,

    /// Share of MPDUs lost on the link, for stations without a radio or share of their own. Acknowledgements to them
    /// always arrive.
    #[schemars(extend("x-default" = "wlan.mpdu_error_rate"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpdu_error_rate: Option<Share>,

    /// SNR of the link less that of the stations' radios, in dB. A distance already accounts for the link's band and
    /// width.
    #[schemars(range(min = -40, max = 40), extend("x-default" = "0"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_offset_db: Option<f64>,

    /// Neighbouring networks on the channel of the link. Without this table there are none.
    #[serde(skip_serializing_if = "WlanNeighbours::is_absent")]
    pub neighbours: WlanNeighbours,
}

absent!(WlanLink);

/// Links of a network, by name.
pub(super) type Links = BTreeMap<String, WlanLink>;

/// Link of a network, with the values that stations take from it and from the network.
pub(super) struct OfLink {
    name: String,
    usual: Usual,
    own: WlanLink,
    config: LinkConfig,
}

impl WlanLink {
    /// Fills in the band and the width of a link; `given` is the network's width, if the scenario gives it.
    fn fill(&mut self, usual: &Usual, given: Option<Frequency>) {
        let is_wide = self.width.is_some_and(|width| width.0 > 160e6);
        let band = *self.band.get_or_insert(if is_wide { WlanBand::Ghz6 } else { usual.band });
        let narrow = if band == WlanBand::Ghz2 { Frequency(20e6) } else { usual.width };
        self.width.get_or_insert(given.unwrap_or(narrow));
    }
}

/// Fills in the defaults of all links of a network; `given` is the network's width, if the scenario gives it.
pub(super) fn resolve(
    links: &mut Links,
    usual: &Usual,
    given: Option<Frequency>,
    slot: SimTime,
) -> Result<Vec<OfLink>, ScenarioError> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    if usual.standard != WlanStandard::Be {
        let of = format!("wlan.standard = {}", json(usual.standard));
        let reason = "multi-link operation begins with 802.11be: use be";
        return Err(ScenarioError::contradiction("wlan.links", &of, reason));
    }
    if links.len() > MOST_LINKS {
        let problem = format!("has {} links and must have at most {MOST_LINKS}", links.len());
        return Err(ScenarioError::key("wlan.links", problem));
    }
    let mut all = Vec::new();
    for (name, link) in links {
        let table = join("wlan.links", name);
        link.fill(usual, given);
        let band = link.band.unwrap_or(usual.band);
        let width = link.width.unwrap_or(usual.width);
        let mhz = (width.0 / 1e6).round().clamp(0.0, 65_535.0) as u16;
        let mcs = u8::try_from(link.mcs.unwrap_or(0)).unwrap_or(u8::MAX);
        if f64::from(mhz) * 1e6 != width.0 {
            let problem = "must be 20, 40, 80, 160 or 320 MHz";
            return Err(ScenarioError::value(join(&table, "width"), &json(width), problem));
        }
        Mode::new(Standard::Be, band.into(), mcs, 1, mhz, 800).map_err(|error| named(&table, &error))?;
        let snr_offset_db = *link.snr_offset_db.get_or_insert(0.0);
        if !(-40.0..=40.0).contains(&snr_offset_db) {
            let key = join(&table, "snr_offset_db");
            return Err(ScenarioError::value(key, &json(snr_offset_db), "must be between -40 and 40"));
        }
        let neighbours = link.neighbours.resolve(&join(&table, "neighbours"), slot)?;
        if let Some(neighbours) = neighbours {
            neighbours.check().map_err(|error| named(&table, &error))?;
        }
        all.push(OfLink {
            name: name.clone(),
            usual: Usual {
                band,
                width,
                mcs: link.mcs.or(usual.mcs),
                mpdu_error_rate: link.mpdu_error_rate.or(usual.mpdu_error_rate),
                ..usual.clone()
            },
            own: link.clone(),
            config: LinkConfig { stations: Vec::new(), neighbours, snr_offset_db },
        });
    }
    Ok(all)
}

/// Fills in the defaults of the stations in the table called `table`, and adds them to the links that they use. Returns
/// the stations with their parameters on the first of these links.
pub(super) fn stations(
    group: &mut WlanStations,
    table: &str,
    links: &mut [OfLink],
    slot: SimTime,
    files: &Files<'_>,
) -> Result<Vec<StationConfig>, ScenarioError> {
    let used = used(group, table, links)?;
    let own = group.clone();
    let mut first: Option<(WlanStations, Vec<StationConfig>)> = None;
    for (place, link) in links.iter_mut().enumerate() {
        if !used.contains(&place) {
            link.config.stations.extend(vec![None; own.count.unwrap_or(1) as usize]);
            continue;
        }
        let mut here = own.clone();
        if let Some(width) = here.width
            && width.0 > link.usual.width.0
        {
            here.width = None;
        }
        let all = here.resolve(table, &link.usual, slot, files).map_err(|error| link.says(error))?;
        let has_radio = all.iter().any(|one| matches!(one.reception, ReceptionConfig::Radio(_)));
        if link.config.snr_offset_db != 0.0 && !has_radio {
            let key = format!("wlan.links.{}.snr_offset_db", link.name);
            let problem = "needs stations with a radio or a distance: without one there is no SNR";
            return Err(ScenarioError::value(key, &json(link.config.snr_offset_db), problem));
        }
        link.config.stations.extend(all.iter().cloned().map(Some));
        first.get_or_insert((here, all));
    }
    let Some((here, all)) = first else { return Ok(Vec::new()) };
    let WlanStations { rate, mcs, mpdu_error_rate, width, .. } = own;
    let names = used.iter().map(|&place| links[place].name.clone()).collect();
    // These values may differ from link to link.
    *group = WlanStations { rate, mcs, mpdu_error_rate, width, links: Some(names), ..here };
    Ok(all)
}

/// Indices of the links that stations use, in rising order.
fn used(group: &WlanStations, table: &str, links: &[OfLink]) -> Result<Vec<usize>, ScenarioError> {
    let key = join(table, "links");
    let is_be = group.standard.is_none_or(|standard| standard == WlanStandard::Be);
    let Some(given) = &group.links else {
        return Ok(if is_be { (0..links.len()).collect() } else { vec![0] });
    };
    let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let mut places = Vec::new();
    for name in given {
        match known.iter().position(|known| known == name) {
            None => return Err(ScenarioError::word(&key, name, &known)),
            Some(place) if places.contains(&place) => {
                return Err(ScenarioError::value(key, &json(given), format!("names {name} twice")));
            }
            Some(place) => places.push(place),
        }
    }
    places.sort_unstable();
    if places.is_empty() || (!is_be && places.len() > 1) {
        let problem = if is_be {
            "must name at least one link"
        } else {
            "must name one link: several need standard be"
        };
        return Err(ScenarioError::value(key, &json(given), problem));
    }
    Ok(places)
}

impl OfLink {
    /// Moves an error about a key of the network to the key of this link, if the link gives the value.
    fn says(&self, mut error: ScenarioError) -> ScenarioError {
        let WlanLink { mcs, mpdu_error_rate, .. } = &self.own;
        let own = [
            ("wlan.mcs", "mcs", mcs.is_some()),
            ("wlan.mpdu_error_rate", "mpdu_error_rate", mpdu_error_rate.is_some()),
            ("wlan.width", "width", true),
            ("wlan.band", "band", true),
        ];
        let begins = |key: &str| error.key == key || error.key.starts_with(&format!("{key} "));
        if let Some((key, name, _)) = own.into_iter().find(|(key, _, is_own)| *is_own && begins(key)) {
            error.key = format!("wlan.links.{}.{name}{}", self.name, &error.key[key.len()..]);
        }
        error
    }

    /// Name and resolved configuration of the link.
    ///
    /// # Errors
    /// No station uses the link.
    pub(super) fn finish(self) -> Result<(String, LinkConfig), ScenarioError> {
        if self.config.stations.iter().all(Option::is_none) {
            let problem = "no station uses it: name it in wlan.stations.NAME.links, or leave it out";
            return Err(ScenarioError::key(join("wlan.links", &self.name), problem));
        }
        Ok((self.name, self.config))
    }

    /// Stations that use the link.
    pub(super) fn stations(&self) -> impl Iterator<Item = &StationConfig> {
        self.config.stations.iter().flatten()
    }
}
