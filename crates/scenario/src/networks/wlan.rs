//! Resolution of a Wi-Fi network: table `wlan`.

use super::around::{self, Around, Forward};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::flows::{OnNetwork, SYN_BYTES, USUAL_HEADERS, resolve_flows, resolve_packet_size};
use crate::tables::{
    Channel, Flow, FlowSetup, Link, Packets, Phy, Reverse, Scenario, Traffic, WlanDirection, WlanModel, json,
};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_mac::wlan::{BEST_EFFORT, Durations, StationConfig, WlanConfig, mpdu_overhead, subframe_bytes};

/// Resolved Wi-Fi network: an access point, its stations, and the wired segment before the access point.
#[derive(Clone, Debug)]
pub struct WlanSetup {
    /// Access point and stations that share the air.
    pub model: WlanModel,
    /// Wired segment before the access point; the reverse link has neither loss nor delay, since acknowledgements share
    /// the air.
    pub around: Around,
}

impl WlanSetup {
    /// Transit time of a packet of `bytes` over the air that finds the medium idle.
    pub fn way(&self, bytes: u32) -> SimTime {
        way(&self.model.config, bytes)
    }

    pub(super) fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        let around = self.around.transit(flow.packet_size, flow.ack_size());
        self.way(flow.packet_size) + self.way(flow.ack_size()) + around + flow.access_delay * 2
    }

    /// Highest rate of all links of a station together, relative to the rate that defines the slot; 1 without
    /// multi-link.
    pub fn rate_of_links(&self) -> f64 {
        let config = &self.model.config;
        let highest = |station: &StationConfig| station.modes.last().map_or(0.0, |mode| mode.rate_bps());
        let of_station = |station: usize| {
            let on = config.links.iter().filter_map(|link| link.stations[station].as_ref());
            let is_single = config.emlsr.get(station).is_some_and(Option::is_some);
            if is_single { on.map(highest).fold(0.0, f64::max) } else { on.map(highest).sum::<f64>() }
        };
        let most = (0..config.stations.len()).map(of_station).fold(0.0, f64::max);
        if config.links.is_empty() { 1.0 } else { (most / highest(&config.stations[0])).max(1.0) }
    }

    /// Number of the station that has `port`, counted from 0.
    pub fn station(&self, port: u32) -> usize {
        (port as usize).saturating_sub(1) / self.model.config.categories.len()
    }
}

/// Transit time of a packet of `bytes` that finds the medium idle: an interframe space, and a PPDU with this packet
/// alone in the fastest mode of the first station.
fn way(config: &WlanConfig, bytes: u32) -> SimTime {
    let Some(mode) = config.stations.first().and_then(|station| station.modes.last()) else {
        return SimTime::ZERO;
    };
    let category = config.categories.last().map_or(SimTime::ZERO, |category| category.aifs(mode.band()));
    let mpdu = subframe_bytes(bytes + mpdu_overhead(mode.standard()));
    category + mode.ppdu(mpdu, Durations::Standard)
}

/// Refuses keys of flows that concern Wi-Fi stations outside a Wi-Fi network.
pub(super) fn refuse_stations(scenario: &Scenario) -> Result<(), ScenarioError> {
    for (name, flow) in &scenario.flows {
        let given = [
            ("station", flow.station.is_some()),
            ("direction", flow.direction.is_some()),
            ("category", flow.category.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
            let table = join("flows", name);
            return Err(ScenarioError::key(join(&table, key), "needs a wlan, which has stations"));
        }
    }
    Ok(())
}

/// Fills in the defaults of a Wi-Fi network, which replaces the links.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, WlanSetup), ScenarioError> {
    let Scenario { phy, channel, link, reverse, cell, mesh, nr, .. } = &*scenario;
    let bare = Link { packet_size: link.packet_size, ..Link::default() };
    for (key, is_given) in [
        ("nr", !nr.is_absent()),
        ("cell", !cell.is_absent()),
        ("mesh", !mesh.is_absent()),
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
        ("reverse", *reverse != Reverse::default()),
    ] {
        if is_given {
            let reason = "the Wi-Fi network carries data and ACKs; of link it takes packet_size alone";
            return Err(ScenarioError::contradiction(key, "wlan", reason));
        }
    }
    scenario.run.resolve_frames(false)?;
    let usual = resolve_packet_size(scenario)?.0;
    let groups: Vec<(String, usize)> = scenario
        .wlan
        .stations
        .iter()
        .map(|(name, group)| (name.clone(), group.count.unwrap_or(1) as usize))
        .collect();
    let places = places(scenario, &groups)?;
    let senders: usize = places.iter().map(|place| place.senders).sum();
    let categories = used(&places);
    // The slot is the time of a packet at the first station's highest rate, which is not known yet. Before the flows
    // are resolved only spans in slots need it.
    let packets =
        Packets { usual, largest: usual, headers: USUAL_HEADERS.min(usual), few: false, round_trip: None };
    let rough = SimTime::from_micros(100);
    let first = scenario.wlan.clone().resolve(senders, &categories, packets, rough, files)?;
    let rate_bps = first.config.stations[0].modes.last().map_or(1e6, |mode| mode.rate_bps());
    let slot = SimTime::to_transmit(usual, rate_bps);
    let mut flows = resolve_flows(scenario, usual, slot, false, None, files)?;
    refuse_large(scenario, &flows)?;
    let largest = flows.iter().map(|flow| flow.packet_size).fold(usual, u32::max);
    let packets = Packets { largest, ..packets };
    let model = scenario.wlan.resolve(senders, &categories, packets, slot, files)?;
    give_ends(&mut flows, &places, &groups, categories.len(), &categories);
    let back = way(&model.config, SYN_BYTES);
    let limit: Option<QueueLimit> = None;
    let ahead = Forward { ways: [back, back], limit, data: packets, satellite: None };
    let mut around = around::resolve(scenario, &mut flows, ahead, slot, files)?;
    // Data go in both directions, so both have the queue.
    if let Some([there, back]) = &mut around.wired {
        back.carrier = there.carrier.clone();
    }
    Ok((OnNetwork { slot, packet_size: usual, flows }, WlanSetup { model, around }))
}

/// Maximum size of a packet in bytes: an MSDU has up to 2304, of which LLC and SNAP take 8 (IEEE 802.11-2020 table
/// 9-25).
const LARGEST_PACKET: u32 = 2304 - 8;

/// Refuses flows with packets that are too large for an MSDU.
fn refuse_large(scenario: &Scenario, flows: &[FlowSetup]) -> Result<(), ScenarioError> {
    let largest = |flow: &FlowSetup| flow.packet_sizes().iter().copied().max().unwrap_or(0);
    let Some(flow) = flows.iter().find(|flow| largest(flow) > LARGEST_PACKET) else { return Ok(()) };
    let table = join("flows", &flow.name);
    let own = scenario.flows.get(&flow.name).and_then(|flow| flow.packet_size);
    let problem = format!("must be at most {LARGEST_PACKET} B, the largest packet that 802.11 carries");
    Err(match (own, scenario.link.packet_size) {
        (Some(size), _) => ScenarioError::value(join(&table, "packet_size"), &json(size), problem),
        (None, Some(size)) if size.0 == largest(flow) => {
            ScenarioError::value("link.packet_size", &json(size), problem)
        }
        _ => ScenarioError::key(table, format!("packets of {} B: {problem}", largest(flow))),
    })
}

/// Stations and direction of a flow's senders, and their access category.
struct Place {
    senders: usize,
    /// Index of the group of stations; `None` if each sender has a station of its own.
    group: Option<usize>,
    is_up: bool,
    category: usize,
}

/// Stations, direction and access category of the senders, in the order of the flows.
fn places(scenario: &mut Scenario, groups: &[(String, usize)]) -> Result<Vec<Place>, ScenarioError> {
    let alone =
        Place { senders: 1, group: (!groups.is_empty()).then_some(0), is_up: false, category: BEST_EFFORT };
    if scenario.flows.is_empty() {
        return Ok(vec![alone]);
    }
    scenario.flows.iter_mut().map(|(name, flow)| place(&join("flows", name), flow, groups)).collect()
}

fn place(table: &str, flow: &mut Flow, groups: &[(String, usize)]) -> Result<Place, ScenarioError> {
    if !flow.radio.is_absent() {
        let problem = "stations have the radios: wlan.stations.NAME.radio, or wlan.radio";
        return Err(ScenarioError::key(join(table, "radio"), problem));
    }
    let names = || groups.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    let group = match (&flow.station, groups) {
        (Some(station), []) => {
            let problem = "needs wlan.stations, which names them";
            return Err(ScenarioError::value(join(table, "station"), &json(station), problem));
        }
        (Some(station), _) => match groups.iter().position(|(name, _)| name == station) {
            None => return Err(ScenarioError::word(&join(table, "station"), station, &names())),
            found => found,
        },
        (None, []) => None,
        (None, [_]) => Some(0),
        (None, _) => {
            let problem = format!("the stations of the flow: one of {}", names().join(", "));
            return Err(ScenarioError::missing(&join(table, "station"), &problem));
        }
    };
    if let Some(group) = group {
        flow.station = Some(groups[group].0.clone());
    }
    let takes_count = !matches!(flow.traffic, Some(Traffic::Arrivals | Traffic::Outside));
    let all = group.map_or(1, |group| groups[group].1);
    let senders = if takes_count { *flow.count.get_or_insert(all as u32) as usize } else { 1 };
    let is_up = *flow.direction.get_or_insert(WlanDirection::Down) == WlanDirection::Up;
    let category = flow.category.get_or_insert_default().place();
    Ok(Place { senders: senders.max(1), group, is_up, category })
}

/// Access categories in use, in rising order.
fn used(places: &[Place]) -> Vec<usize> {
    let mut categories: Vec<usize> = places.iter().map(|place| place.category).collect();
    categories.sort_unstable();
    categories.dedup();
    categories
}

/// Assigns ports to the flows: port 0 is the access point's, and station n has one port per category.
fn give_ends(
    flows: &mut [FlowSetup],
    places: &[Place],
    groups: &[(String, usize)],
    width: usize,
    categories: &[usize],
) {
    let mut next = 0;
    for (flow, place) in flows.iter_mut().zip(places) {
        let stations = if let Some(group) = place.group {
            let first: usize = groups[..group].iter().map(|(_, count)| count).sum();
            first..first + groups[group].1.min(place.senders)
        } else {
            let first = next;
            next += place.senders;
            first..next
        };
        let category = categories.iter().position(|&known| known == place.category).unwrap_or(0);
        let end = |station: usize| {
            let port = (1 + station * width + category) as u32;
            if place.is_up { [port, 0] } else { [0, port] }
        };
        flow.ends = stations.map(end).collect();
    }
}
