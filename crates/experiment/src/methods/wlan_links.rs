//! Formula for saturated stations with several links: each link is solved alone, as long as no link exhausts the common
//! block acknowledgement window.

use super::assumptions;
use super::wlan_shares::{Found, contention, turns};
use crossfade_mac::wlan::{
    Exchange, RateConfig, ReceptionConfig, StationConfig, WlanConfig, window_of_links,
};
use crossfade_scenario::{ScenarioError, WlanSetup};

/// Throughput and aggregates of stations with several links.
pub(super) struct OfLinks {
    pub(super) found: Found,
    /// Mean number of MPDUs in an aggregate of each station, over its links.
    pub(super) packets: Vec<f64>,
    /// Bit rate of each link, all stations together.
    pub(super) rates_bps: Vec<f64>,
}

/// Error of a scenario whose `key` violates an assumption of the formula of saturated stations.
pub(super) fn unmet<T>(key: &str, assumed: &str) -> Result<T, ScenarioError> {
    Err(assumptions::unmet(key, "the formula of saturated stations assumes", assumed))
}

/// Exchange of a whole aggregate with a station, whose MCS must be constant.
///
/// # Errors
/// If the MCS of the station changes, or frames are lost other than in collisions.
pub(super) fn exchange_of(
    station: &StationConfig,
    config: &WlanConfig,
    packet_size: u32,
) -> Result<Exchange, ScenarioError> {
    let (RateConfig::Constant(place), ReceptionConfig::ErrorRate(0.0)) = (station.rate, &station.reception)
    else {
        return unmet("wlan", "stations with a constant MCS that lose nothing but in collisions");
    };
    Ok(Exchange::of(station, station.modes[place], config.categories[0], config.rts, packet_size))
}

/// Throughput of the stations `numbers`; each link is shared by the stations that use it.
///
/// # Errors
/// The first assumption that the scenario violates.
pub(super) fn saturated_on_links(
    wlan: &WlanSetup,
    numbers: &[usize],
    is_up: bool,
    packet_size: u32,
) -> Result<OfLinks, ScenarioError> {
    let config = &wlan.model.config;
    // Exchange of each station on each link; `None` if it does not use the link.
    let mut of_stations: Vec<Vec<Option<Exchange>>> = vec![vec![None; config.links.len()]; numbers.len()];
    for (place, (name, link)) in wlan.model.links.iter().zip(&config.links).enumerate() {
        if link.neighbours.is_some() {
            return unmet(&format!("wlan.links.{name}.neighbours"), "no neighbours");
        }
        for (of, &number) in of_stations.iter_mut().zip(numbers) {
            let Some(station) = &link.stations[number] else { continue };
            of[place] = Some(exchange_of(station, config, packet_size)?);
        }
    }
    if !is_up && numbers.len() > 1 && of_stations.iter().any(|of| *of != of_stations[0]) {
        return unmet("wlan.stations", "stations that are alike on each link");
    }
    for (of, &number) in of_stations.iter().zip(numbers) {
        let used: Vec<Exchange> = of.iter().flatten().copied().collect();
        let (window, needed) = (config.stations[number].limits.window, window_of_links(&used));
        if used.len() > 1 && window < needed {
            let assumed = format!(
                "a window that no link exhausts, here of {needed} MPDUs, and station {number} has {window}"
            );
            return unmet("wlan.ampdu.window", &assumed);
        }
    }
    let mut each_bps = vec![0.0; numbers.len()];
    // Per second: aggregates and their MPDUs by station, all exchanges begun, and exchanges that collide.
    let (mut ppdus, mut mpdus) = (vec![0.0; numbers.len()], vec![0.0; numbers.len()]);
    let (mut begun, mut collided) = (0.0, 0.0);
    let mut rates_bps = Vec::new();
    for link in 0..config.links.len() {
        let here: Vec<(usize, Exchange)> =
            (0..).zip(&of_stations).filter_map(|(station, of)| Some((station, of[link]?))).collect();
        let exchanges: Vec<Exchange> = here.iter().map(|(_, exchange)| *exchange).collect();
        if exchanges.is_empty() {
            rates_bps.push(0.0);
            continue;
        }
        let found = if is_up || exchanges.len() == 1 {
            contention(wlan, &exchanges)?
        } else {
            turns(wlan, &exchanges)?
        };
        rates_bps.push(found.each_bps.iter().sum());
        for ((station, exchange), rate) in here.iter().zip(&found.each_bps) {
            each_bps[*station] += rate;
            let successes = rate / exchange.bits();
            let attempts = successes / (1.0 - found.collision_probability);
            ppdus[*station] += attempts;
            mpdus[*station] += attempts * f64::from(exchange.packets);
            begun += attempts;
            collided += attempts - successes;
        }
    }
    Ok(OfLinks {
        found: Found::of(each_bps, collided / begun),
        packets: mpdus.iter().zip(&ppdus).map(|(mpdus, ppdus)| mpdus / ppdus).collect(),
        rates_bps,
    })
}
