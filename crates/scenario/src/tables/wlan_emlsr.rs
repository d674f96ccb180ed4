//! Keys of stations with one radio for several links (EMLSR).

use super::base::{absent, json, time};
use super::wlan_links::OfLink;
use super::wlan_stations::WlanStations;
use super::wlan_words::WlanMultiLink;
use crate::error::{ScenarioError, join};
use crate::quantity::{Rate, Span};
use crossfade_core::SimTime;
use crossfade_mac::wlan::EmlsrConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// EMLSR: delays that stations announce, and the initial control frame (MU-RTS) before downlink data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanEmlsr {
    /// EMLSR padding delay, the padding of initial control frames: 0, 32, 64, 128 or 256 us.
    #[schemars(extend("x-default" = "32 us, which Linux's iwlwifi announces"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding_delay: Option<Span>,

    /// EMLSR transition delay after an exchange: 0, 16, 32, 64, 128 or 256 us.
    #[schemars(extend("x-default" = "64 us, which Linux's iwlwifi announces"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition_delay: Option<Span>,

    /// Bit rate of initial control frames: 6, 12 or 24 Mbit/s.
    #[schemars(extend("x-default" = "the rate of other control frames, which depends on the mode of the data"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_frame_rate: Option<Rate>,
}

absent!(WlanEmlsr);

impl WlanEmlsr {
    /// Fills in the defaults of the EMLSR parameters.
    fn resolve(&mut self, slot: SimTime) -> Result<EmlsrConfig, ScenarioError> {
        let usual = EmlsrConfig::default();
        let key = |name: &str| join("wlan.emlsr", name);
        let padding = *self.padding_delay.get_or_insert(Span::exactly(usual.padding));
        let transition = *self.transition_delay.get_or_insert(Span::exactly(usual.transition));
        let refuse = |name: &str, value: &serde_json::Value, allowed: &str| {
            Err(ScenarioError::value(key(name), value, format!("must be one of {allowed}")))
        };
        let mut of = EmlsrConfig { padding: time(&key("padding_delay"), padding, slot)?, ..usual };
        if of.check().is_err() {
            return refuse("padding_delay", &json(padding), "0, 32, 64, 128, 256 us");
        }
        of.transition = time(&key("transition_delay"), transition, slot)?;
        if of.check().is_err() {
            return refuse("transition_delay", &json(transition), "0, 16, 32, 64, 128, 256 us");
        }
        if let Some(rate) = self.initial_frame_rate {
            let mbps = rate.0 / 1e6;
            of.initial_mbps = Some(if mbps.fract() == 0.0 && mbps < 1e6 { mbps as u32 } else { 0 });
            if of.check().is_err() {
                return refuse("initial_frame_rate", &json(rate), "6, 12, 24 Mbit/s");
            }
        }
        Ok(of)
    }

    /// EMLSR parameters of each station, `None` for stations that are no EMLSR stations; empty for a network without
    /// EMLSR stations. `usual` is the network's `multi_link`, `stations` are the groups in order.
    ///
    /// # Errors
    /// EMLSR in a network without links, EMLSR of a station that uses one link, or EMLSR parameters without an EMLSR
    /// station.
    pub(super) fn of_stations(
        &mut self,
        usual: Option<WlanMultiLink>,
        stations: &BTreeMap<String, WlanStations>,
        count: usize,
        links: &[OfLink],
        slot: SimTime,
    ) -> Result<Vec<Option<EmlsrConfig>>, ScenarioError> {
        let given = stations.iter().find_map(|(name, group)| Some((name, group.multi_link?)));
        if let (Some(usual), 0..=1) = (usual, links.len()) {
            return Err(ScenarioError::value("wlan.multi_link", &json(usual), few(links)));
        }
        if let (Some((name, of)), 0..=1) = (given, links.len()) {
            let key = format!("wlan.stations.{name}.multi_link");
            return Err(ScenarioError::value(key, &json(of), few(links)));
        }
        let mut singles = Vec::new();
        for (name, group) in stations {
            let is_several = group.links.as_ref().is_some_and(|links| links.len() > 1);
            if let (Some(WlanMultiLink::Emlsr), false) = (group.multi_link, is_several) {
                let key = format!("wlan.stations.{name}.multi_link");
                let problem = "needs stations of be that use at least two links";
                return Err(ScenarioError::value(key, &json(WlanMultiLink::Emlsr), problem));
            }
            let is_single = is_several && group.multi_link.or(usual) == Some(WlanMultiLink::Emlsr);
            singles.extend((0..group.count.unwrap_or(1)).map(|_| is_single));
        }
        if stations.is_empty() {
            singles = vec![usual == Some(WlanMultiLink::Emlsr); count];
        }
        if !singles.contains(&true) {
            if usual == Some(WlanMultiLink::Emlsr) && given.is_none() {
                let problem = "needs a station that uses at least two links";
                return Err(ScenarioError::value("wlan.multi_link", &json(usual), problem));
            }
            if !self.is_absent() && usual.is_none() && given.is_none() {
                return Err(ScenarioError::key("wlan.emlsr", "needs wlan.multi_link = \"emlsr\""));
            }
            // A sweep over multi_link has this table in all of its points.
            *self = Self::default();
            return Ok(Vec::new());
        }
        let of = self.resolve(slot)?;
        Ok(singles.into_iter().map(|is_single| is_single.then_some(of)).collect())
    }
}

/// Problem of an error in which a network has too few links for multi-link keys.
fn few(links: &[OfLink]) -> &'static str {
    if links.is_empty() {
        "needs wlan.links, with at least two links"
    } else {
        "needs at least two links in wlan.links"
    }
}
