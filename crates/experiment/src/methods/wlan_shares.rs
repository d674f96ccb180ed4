//! Shares of the air among saturated stations: by contention, in turns, or for equal times.

use crossfade_mac::wlan::{AccessPointQueues, Exchange, Sharing, rates_in_turns};
use crossfade_scenario::{ScenarioError, WlanSetup};

/// Bit rates and collision probability of saturated stations.
pub(super) struct Found {
    pub(super) total_bps: f64,
    pub(super) rates_bps: Vec<f64>,
    pub(super) each_bps: Vec<f64>,
    pub(super) collision_probability: f64,
}

impl Found {
    pub(super) fn of(each_bps: Vec<f64>, collision_probability: f64) -> Self {
        Self {
            total_bps: each_bps.iter().sum(),
            rates_bps: each_bps.clone(),
            each_bps,
            collision_probability,
        }
    }
}

/// Throughput of equal stations that contend, by Bianchi's model.
///
/// # Errors
/// If the stations differ.
pub(super) fn contention(wlan: &WlanSetup, exchanges: &[Exchange]) -> Result<Found, ScenarioError> {
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

/// Throughput of stations to which the access point sends, in turns or for equal times.
///
/// # Errors
/// If the access point has one FIFO for all stations.
pub(super) fn turns(wlan: &WlanSetup, exchanges: &[Exchange]) -> Result<Found, ScenarioError> {
    let AccessPointQueues::PerStation { airtime_fairness, .. } = wlan.model.config.access_point else {
        let problem = "the shares of the air assume a queue for each station: how long aggregates are behind one FIFO depends on \
                       what waits; use method simulation";
        return Err(ScenarioError::key("wlan.access_point.queues", problem));
    };
    let sharing = if airtime_fairness { Sharing::Airtime } else { Sharing::Turns };
    Ok(Found::of(rates_in_turns(exchanges, sharing), 0.0))
}
