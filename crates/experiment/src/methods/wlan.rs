//! Saturated stations of a Wi-Fi network: one alone, Bianchi's model with aggregates, shares of the air.

use crate::metrics::Metrics;
use crate::parts::{FLOW, Part, STATION};
use crossfade_core::SimTime;
use crossfade_mac::wlan::{
    AccessPointQueues, Exchange, Form, RateConfig, ReceptionConfig, Sharing, rates_in_turns,
};
use crossfade_scenario::{FlowSetup, Point, ScenarioError, TrafficSetup, WlanSetup};

/// Description of the formula, for readers of its result.
pub(crate) fn form(setup: &WlanSetup) -> String {
    let form = match setup.model.form {
        Form::Plain => "plain: the next slot follows a success at once, as with EDCA",
        Form::Slot => "slot: an empty slot follows a success, ns-3's reference for 802.11ax",
        Form::SlotOrAgain => {
            "slot-or-again: an empty slot follows a success unless the winner sends again, ns-3's reference for 802.11a"
        }
    };
    format!(
        "formula is Bianchi's saturation throughput of whole aggregates (2000; form {form}), or of several stations that are sent \
         to the shares of Høiland-Jørgensen et al. 2017"
    )
}

/// The throughput of saturated stations.
///
/// # Errors
/// The first assumption that the scenario does not meet.
pub(super) fn saturated_stations(point: &Point, wlan: &WlanSetup) -> Result<Metrics, ScenarioError> {
    let (setup, config) = (&point.setup, &wlan.model.config);
    let unmet = |key: &str, assumed: &str| {
        Err(ScenarioError::key(
            key,
            format!("the formula of saturated stations assumes {assumed}; use method simulation"),
        ))
    };
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
    if config.categories.len() > 1 {
        return unmet("flows", "one access category");
    }
    if config.categories[0].txop > SimTime::ZERO {
        return unmet("wlan.edca", "one exchange a TXOP");
    }
    if config.neighbours.is_some() {
        return unmet("wlan.neighbours", "no neighbours");
    }
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
    let mut exchanges = Vec::new();
    for &number in &numbers {
        let station = &config.stations[number];
        let (RateConfig::Constant(place), ReceptionConfig::ErrorRate(0.0)) =
            (station.rate, &station.reception)
        else {
            return unmet("wlan", "stations with a constant MCS that lose nothing but in collisions");
        };
        let (mode, category) = (station.modes[place], config.categories[0]);
        exchanges.push(Exchange::of(station, mode, category, config.rts, setup.packet_size));
    }
    let mut found =
        if is_up || exchanges.len() == 1 { contention(wlan, &exchanges)? } else { turns(wlan, &exchanges)? };
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
    for ((number, rate), exchange) in numbers.iter().zip(&found.each_bps).zip(&exchanges) {
        let part = Part::new(STATION, number.to_string());
        values.push((part.key(name), *rate));
        values.push((part.key(mpdus), f64::from(exchange.packets)));
    }
    let mut metrics = Metrics::default();
    metrics.extend(values);
    Ok(metrics)
}

/// What is found.
struct Found {
    total_bps: f64,
    rates_bps: Vec<f64>,
    each_bps: Vec<f64>,
    collision_probability: f64,
}

impl Found {
    fn of(each_bps: Vec<f64>, collision_probability: f64) -> Self {
        Self {
            total_bps: each_bps.iter().sum(),
            rates_bps: each_bps.clone(),
            each_bps,
            collision_probability,
        }
    }
}

/// Stations that contend, all alike.
fn contention(wlan: &WlanSetup, exchanges: &[Exchange]) -> Result<Found, ScenarioError> {
    let first = exchanges[0];
    if exchanges.iter().any(|one| *one != first) {
        let problem = "Bianchi's model assumes stations that are alike; use method simulation";
        return Err(ScenarioError::key("wlan.stations", problem));
    }
    let refuse = |error: crossfade_mac::MeshError| ScenarioError::key("wlan", error.to_string());
    let found = first.saturated(exchanges.len()).throughput(wlan.model.form).map_err(refuse)?;
    let each = found.throughput_bps / exchanges.len() as f64;
    Ok(Found::of(vec![each; exchanges.len()], found.collision_probability))
}

/// Stations that are sent to, in turns or for equal times.
fn turns(wlan: &WlanSetup, exchanges: &[Exchange]) -> Result<Found, ScenarioError> {
    let AccessPointQueues::PerStation { airtime_fairness, .. } = wlan.model.config.access_point else {
        let problem = "the shares of the air assume a queue for each station: how long aggregates are behind one FIFO depends on \
                       what waits; use method simulation";
        return Err(ScenarioError::key("wlan.access_point.queues", problem));
    };
    let sharing = if airtime_fairness { Sharing::Airtime } else { Sharing::Turns };
    Ok(Found::of(rates_in_turns(exchanges, sharing), 0.0))
}
