//! Formula for saturated stations of a Wi-Fi network: one station alone, Bianchi's model with aggregates, or shares of
//! the air.

use super::assumptions;
use super::wlan_links::{exchange_of, saturated_on_links, unmet};
use super::wlan_shares::{Found, contention, turns};
use crate::metrics::Metrics;
use crate::parts::{FLOW, Part, STATION, WLAN_LINK};
use crossfade_core::SimTime;
use crossfade_mac::wlan::{
    Exchange, Form, MuWay, OfdmaConfig, StationConfig, WlanConfig, saturated_in_one_ppdu,
};
use crossfade_scenario::{FlowSetup, Point, ScenarioError, TrafficSetup, WlanSetup};

/// Description of the formula in a warning of the result.
pub(crate) fn form(setup: &WlanSetup) -> String {
    let form = match setup.model.form {
        Form::Plain => "plain: the next slot follows a success at once, as with EDCA",
        Form::Slot => "slot: an empty slot follows a success, ns-3's reference for 802.11ax",
        Form::SlotOrAgain => {
            "slot-or-again: an empty slot follows a success unless the winner sends again, ns-3's reference for 802.11a"
        }
    };
    let shared = if setup.model.config.ofdma.is_some() {
        ", or of stations in one PPDU the exchange that all of them share"
    } else {
        ""
    };
    let of_links = if setup.model.links.is_empty() {
        ""
    } else {
        "; links add up, as long as no link exhausts the common window"
    };
    format!(
        "formula is Bianchi's saturation throughput of whole aggregates (2000; form {form}), or of several stations that are sent \
         to the shares of Høiland-Jørgensen et al. 2017{shared}{of_links}"
    )
}

/// Checks the assumptions of the formula about a network, whatever its flows.
///
/// # Errors
/// The first assumption that the network violates.
fn assumptions_of_air(config: &WlanConfig) -> Result<(), ScenarioError> {
    if config.categories.len() > 1 {
        return unmet("flows", "one access category");
    }
    if config.categories[0].txop > SimTime::ZERO {
        return unmet("wlan.edca", "one exchange a TXOP");
    }
    if config.neighbours.is_some() {
        return unmet("wlan.neighbours", "no neighbours");
    }
    if config.emlsr.iter().any(Option::is_some) {
        return unmet("wlan.multi_link", "stations that use their links at once");
    }
    Ok(())
}

/// Metrics of saturated stations: goodputs, aggregates and collision probability.
///
/// # Errors
/// The first assumption that the scenario violates.
pub(super) fn saturated_stations(point: &Point, wlan: &WlanSetup) -> Result<Metrics, ScenarioError> {
    let (setup, config) = (&point.setup, &wlan.model.config);
    let is_saturated = |flow: &&FlowSetup| {
        matches!(flow.traffic, TrafficSetup::Saturated) && flow.count as usize == flow.ends.len()
    };
    if let Some(flow) = setup.flows.iter().find(|flow| !is_saturated(flow)) {
        let key = if flow.name.is_empty() { "flows".to_owned() } else { format!("flows.{}", flow.name) };
        return unmet(&key, "saturated traffic, one source a station");
    }
    if setup.flows.iter().any(|flow| flow.packet_size != setup.packet_size) {
        return unmet("flows", "packets of one size");
    }
    assumptions_of_air(config)?;
    let ends: Vec<[u32; 2]> = setup.flows.iter().flat_map(|flow| flow.ends.iter().copied()).collect();
    let is_up = ends.iter().all(|[from, _]| *from != 0);
    if !is_up && ends.iter().any(|[from, _]| *from != 0) {
        return unmet("flows", "one direction");
    }
    let numbers: Vec<usize> = ends.iter().map(|[from, to]| wlan.station(*from.max(to))).collect();
    let mut once = numbers.clone();
    once.sort_unstable();
    once.dedup();
    if once.len() != numbers.len() {
        return unmet("flows", "one source a station");
    }
    let is_shared =
        |ofdma: &OfdmaConfig| if is_up { ofdma.uplink } else { ofdma.downlink && numbers.len() > 1 };
    let shared = config.ofdma.filter(is_shared);
    let on_links = if config.links.is_empty() {
        None
    } else {
        Some(saturated_on_links(wlan, &numbers, is_up, setup.packet_size)?)
    };
    let of_number = |&number: &usize| exchange_of(&config.stations[number], config, setup.packet_size);
    let exchanges: Vec<Exchange> =
        numbers.iter().filter(|_| on_links.is_none()).map(of_number).collect::<Result<_, _>>()?;
    let mut packets: Vec<f64> = exchanges.iter().map(|exchange| f64::from(exchange.packets)).collect();
    let mut by_link = Vec::new();
    let mut found = if let Some(of) = on_links {
        (packets, by_link) = (of.packets, of.rates_bps);
        of.found
    } else if let Some(ofdma) = shared {
        let way = if is_up { MuWay::Up } else { MuWay::Down };
        let stations: Vec<&StationConfig> = numbers.iter().map(|&number| &config.stations[number]).collect();
        let (each, rate) = in_one_ppdu(&ofdma, way, &stations, wlan, setup.packet_size)?;
        packets.fill(f64::from(each));
        Found::of(vec![rate; numbers.len()], 0.0)
    } else if is_up || exchanges.len() == 1 {
        contention(wlan, &exchanges)?
    } else {
        turns(wlan, &exchanges)?
    };
    let per_slot = found.total_bps / f64::from(setup.packet_size) / 8.0 * setup.slot.as_secs_f64();
    let mut values = vec![
        ("goodput_bps".to_owned(), found.total_bps),
        ("ip_goodput_bps".to_owned(), found.total_bps),
        ("throughput_per_slot".to_owned(), per_slot),
        ("collision_probability".to_owned(), found.collision_probability),
    ];
    let mut rates = found.rates_bps.drain(..);
    for flow in &setup.flows {
        let of_flow: f64 = rates.by_ref().take(flow.ends.len()).sum();
        if !flow.name.is_empty() {
            values.push((Part::new(FLOW, &flow.name).key("goodput_bps"), of_flow));
        }
    }
    drop(rates);
    let name = if is_up { "station_uplink_goodput_bps" } else { "station_goodput_bps" };
    let mpdus = if is_up { "uplink_mpdus_per_ampdu" } else { "mpdus_per_ampdu" };
    for ((number, rate), packets) in numbers.iter().zip(&found.each_bps).zip(packets) {
        let part = Part::new(STATION, number.to_string());
        values.push((part.key(name), *rate));
        values.push((part.key(mpdus), packets));
    }
    values.extend(of_links(by_link, is_up));
    let mut metrics = Metrics::default();
    metrics.extend(values);
    Ok(metrics)
}

/// Goodput of each link as a metric, by key.
fn of_links(rates_bps: Vec<f64>, is_up: bool) -> impl Iterator<Item = (String, f64)> {
    let name = if is_up { "wlan_link_uplink_goodput_bps" } else { "wlan_link_goodput_bps" };
    let part = |number: usize| Part::new(WLAN_LINK, number.to_string());
    rates_bps.into_iter().enumerate().map(move |(number, rate)| (part(number).key(name), rate))
}

/// Saturated stations that are all in each multi-user PPDU: number of packets of an aggregate, and bit rate of a
/// station.
///
/// # Errors
/// The first assumption that the scenario violates.
fn in_one_ppdu(
    ofdma: &OfdmaConfig,
    way: MuWay,
    stations: &[&StationConfig],
    wlan: &WlanSetup,
    packet_size: u32,
) -> Result<(u32, f64), ScenarioError> {
    let unmet = |key: &str, assumed: &str| {
        Err(assumptions::unmet(key, "the formula of stations in one PPDU assumes", assumed))
    };
    if way == MuWay::Up && ofdma.stations_contend {
        return unmet("wlan.ofdma.stations_contend", "stations that wait to be asked");
    }
    if stations.len() > ofdma.users {
        return unmet("wlan.ofdma.users", "all stations in each PPDU");
    }
    if stations.iter().any(|one| *one != stations[0]) {
        return unmet("wlan.stations", "stations that are alike");
    }
    let config = &wlan.model.config;
    match saturated_in_one_ppdu(config, ofdma, way, stations, packet_size) {
        Some(found) => Ok(found),
        None => unmet(
            "wlan.ofdma",
            "stations of 802.11ax or be with block acknowledgements and RUs of one size (2, 4, 8, ... of them, or wlan.ofdma.ru) in which a packet takes at most 5.484 ms",
        ),
    }
}
