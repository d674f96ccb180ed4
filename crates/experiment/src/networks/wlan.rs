//! A Wi-Fi network: its construction, its metrics, and its facts for `check`: modes, stations and shares of the air.

use self::quotients::{mean_s, of_some};
use super::cell::queue_bytes;
use super::doubts;
use super::hop::wired;
use super::kind::NetworkKind;
use crate::memory::{PACKET, Path, packets};
use crate::metric::{MetricInfo, MetricOf, count};
use crate::parts::{LINK, PATH, Part, STATION, WLAN_LINK};
use crossfade_core::{RunSeed, jain_fairness};
use crossfade_link::StationStatistics;
use crossfade_mac::wlan::{
    AccessPointQueues, DRIVER_PACKETS, EmlsrConfig, Exchange, RateConfig, ReceptionConfig, Ru, StationConfig,
    Wlan, required_snr_db,
};
use crossfade_scenario::{Scenario, ScenarioError, Setup, WlanSetup};
use crossfade_sim::{Leg, Medium, NetworkStatistics, Topology};
use serde::Serialize;
use serde_json::{Value, json};

impl NetworkKind for WlanSetup {
    /// Builds the air, through which both directions go, and the wired segment before the access point.
    fn topology(&self, setup: &Setup, seed: RunSeed) -> Topology {
        let [_, forward, reverse, _] = PATH;
        let wlan = Wlan::new(self.model.config.clone(), seed).expect("checked as the scenario was resolved");
        let mut media = vec![Medium::Fabric(Box::new(wlan)).named(forward).and_back(reverse)];
        let is_wired = self.around.wired.is_some();
        if let Some(both) = &self.around.wired {
            let [there, back] = wired(both, seed);
            media.insert(0, there);
            media.push(back);
        }
        let (air, last) = (usize::from(is_wired), media.len() - 1);
        // Packets to a station pass the wired segment before the air, packets from it afterwards.
        let route = |from: u32, to: u32| {
            let leg = Leg { medium: air, from, to };
            match (is_wired, from) {
                (false, _) => vec![leg],
                (true, 0) => vec![Leg::link(0), leg],
                (true, _) => vec![leg, Leg::link(last)],
            }
        };
        let ends = setup.flows.iter().flat_map(|flow| &flow.ends);
        let routes = ends.flat_map(|&[from, to]| [route(from, to), route(to, from)]).collect();
        Topology { media, routes }
    }

    fn parts(&self) -> Vec<Part> {
        let links = PATH.iter().map(|name| Part::new(LINK, *name));
        let stations = Part::numbered(STATION, self.model.config.stations.len());
        links.chain(stations).chain(Part::numbered(WLAN_LINK, self.model.links.len())).collect()
    }

    fn facts(&self, setup: &Setup) -> (&'static str, Value) {
        ("wlan", json!(facts(self, setup.packet_size)))
    }

    /// Bytes that the packets, the fading processes of stations, and the queues of both directions take.
    fn memory(&self, setup: &Setup) -> f64 {
        let config = &self.model.config;
        let path = Path::around(&self.around, self.way(setup.packet_size));
        let under_way = packets(setup, &path) * PACKET;
        let fades = |station: &StationConfig| match &station.reception {
            ReceptionConfig::Radio(radio) => radio.trace.is_none() && config.radio.profile.is_some(),
            ReceptionConfig::ErrorRate(_) => false,
        };
        let alone = config.stations.iter().filter(|_| config.links.is_empty());
        let on_links = config.links.iter().flat_map(|link| link.stations.iter().flatten());
        let fading = alone.chain(on_links).filter(|station| fades(station)).count() as f64 * 2e6;
        let queues = config.stations.len() as f64 * config.categories.len() as f64;
        under_way + fading + 2.0 * queues * queue_bytes(config.queue.limit())
    }

    fn warnings(&self, setup: &Setup) -> Vec<String> {
        let there = self.around.wired.as_ref().map(|[there, _]| there);
        let of_path = doubts::in_phase(setup, there.into_iter());
        of_path
            .into_iter()
            .chain([weak_station(self), wide_old_box(self, setup.packet_size)].into_iter().flatten())
            .collect()
    }

    fn metrics_of_run(&self, _: &Setup, run: &NetworkStatistics) -> Vec<(String, f64)> {
        let Some((stations, whole)) = measured(run) else { return Vec::new() };
        let of_links = links::measured(run);
        let links = links::METRICS.iter().chain(links::KEPT);
        METRICS
            .iter()
            .chain(KEPT)
            .flat_map(|metric| metric.values(STATION, &whole, &stations))
            .chain(links.flat_map(|metric| metric.values_of_parts(WLAN_LINK, &of_links)))
            .collect()
    }

    fn unmet_assumption(&self, _: &Scenario, who: &str) -> Option<ScenarioError> {
        let problem = format!(
            "{who} assumes a link of constant rate; use method simulation, or formula for saturated stations"
        );
        Some(ScenarioError::key("wlan", problem))
    }
}

/// Facts about a Wi-Fi network, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct WlanFacts {
    /// Name of the frequency band.
    band: &'static str,
    /// Number of stations.
    stations: usize,
    /// Facts about each group of equal stations.
    groups: Vec<GroupFacts>,
    /// Contention parameters of each access category.
    categories: Vec<CategoryFacts>,
    /// True if the access point has one FIFO for all stations.
    is_fifo: bool,
    /// Number of neighbours, the saturated stations of other networks on the channel.
    neighbours: usize,
    /// Facts about multi-user PPDUs; `None` without OFDMA.
    #[serde(skip_serializing_if = "Option::is_none")]
    ofdma: Option<OfdmaFacts>,
    /// Facts about stations with a single radio for several links; `None` without such stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    emlsr: Option<EmlsrFacts>,
    /// Facts about the links of multi-link devices; empty without such devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<links::LinkFacts>,
}

/// Facts about multi-user PPDUs, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OfdmaFacts {
    /// True if the access point sends multi-user PPDUs to the stations.
    downlink: bool,
    /// True if stations send in multi-user PPDUs, triggered by the access point.
    uplink: bool,
    /// Greatest number of stations in a multi-user PPDU.
    users: usize,
    /// Tones of each resource unit; `None`: the channel is divided among the stations of a PPDU.
    ru_tones: Option<u16>,
}

/// Facts about stations with a single radio for several links (EMLSR), for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct EmlsrFacts {
    /// Number of these stations.
    stations: usize,
    /// EMLSR padding delay in seconds.
    padding_delay_s: f64,
    /// EMLSR transition delay in seconds.
    transition_delay_s: f64,
}

impl EmlsrFacts {
    fn of(stations: &[Option<EmlsrConfig>]) -> Option<Self> {
        let first = stations.iter().flatten().next()?;
        Some(Self {
            stations: stations.iter().flatten().count(),
            padding_delay_s: first.padding.as_secs_f64(),
            transition_delay_s: first.transition.as_secs_f64(),
        })
    }
}

/// Contention parameters of an access category, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CategoryFacts {
    /// Interframe space AIFS in seconds.
    aifs_s: f64,
    /// Smallest and largest contention window in slots.
    windows: [u32; 2],
    /// Limit of a transmission opportunity in seconds; 0: one exchange.
    txop_s: f64,
}

/// Facts about a group of equal stations, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GroupFacts {
    /// Name of the group; empty if the scenario names no group.
    name: String,
    /// Number of stations.
    count: usize,
    /// Letters of the stations' standard, such as `ax`.
    standard: &'static str,
    /// Channel width of the stations in MHz.
    width_mhz: u16,
    /// Greatest number of spatial streams.
    streams: u8,
    /// Rate control: `constant`, `ideal` or `minstrel`.
    rate: &'static str,
    /// Lowest and highest bit rate of the modes in bit/s.
    rates_bps: [f64; 2],
    /// Number of MPDUs in a whole aggregate in the highest mode.
    mpdus: u32,
    /// Duration in seconds of a whole aggregate in the highest mode.
    aggregate_s: f64,
    /// Goodput in bit/s of whole packets for one station alone in the highest mode.
    alone_bps: f64,
    /// Block acknowledgement window in MPDUs.
    window: u32,
    /// Mean signal-to-noise ratio in dB of the first and the last station; `None` without a radio model.
    snr_db: Option<[f64; 2]>,
    /// SNR in dB that the lowest and the highest mode need for an MPDU error rate of 10 %; `None` without a radio
    /// model.
    required_db: Option<[f64; 2]>,
}

/// MPDU error rate at which a mode counts as usable.
const USABLE: f64 = 0.1;

fn facts(setup: &WlanSetup, packet_size: u32) -> WlanFacts {
    let config = &setup.model.config;
    let band = config.stations[0].modes[0].band();
    let mut first = 0;
    let groups = setup.model.groups.iter().map(|(name, count)| {
        let of = &config.stations[first..first + count];
        let number = first;
        first += count;
        let station = &of[0];
        let (lowest, highest) = (station.modes[0], station.modes[station.modes.len() - 1]);
        let exchange = Exchange::of(station, highest, config.categories[0], config.rts, packet_size);
        let snr = |station: &StationConfig| match &station.reception {
            ReceptionConfig::Radio(radio) => Some(radio.mean_snr_db),
            ReceptionConfig::ErrorRate(_) => None,
        };
        let table = config.radio.errors.as_deref();
        let required = |mode| required_snr_db(mode, table, 1538, USABLE).ok();
        GroupFacts {
            name: name.clone(),
            count: *count,
            standard: station.modes[0].standard().letters(),
            width_mhz: highest.width_mhz(),
            streams: highest.streams(),
            rate: match station.rate {
                RateConfig::Constant(_) => "constant",
                RateConfig::Ideal(_) => "ideal",
                RateConfig::Minstrel => "minstrel",
            },
            rates_bps: [lowest.rate_bps(), highest.rate_bps()],
            mpdus: exchange.packets,
            aggregate_s: exchange.data.as_secs_f64(),
            alone_bps: exchange.alone_in_bps(config, number),
            window: station.limits.window,
            snr_db: snr(&of[0]).zip(snr(&of[count - 1])).map(|(a, b)| [a, b]),
            required_db: snr(station).and(required(lowest).zip(required(highest)).map(|(a, b)| [a, b])),
        }
    });
    WlanFacts {
        band: band.words(),
        stations: config.stations.len(),
        groups: groups.collect(),
        categories: config
            .categories
            .iter()
            .map(|category| CategoryFacts {
                aifs_s: category.aifs(band).as_secs_f64(),
                windows: category.windows,
                txop_s: category.txop.as_secs_f64(),
            })
            .collect(),
        is_fifo: matches!(config.access_point, AccessPointQueues::OneFifo(_)),
        neighbours: config.neighbours.map_or(0, |neighbours| neighbours.count),
        ofdma: config.ofdma.map(|ofdma| OfdmaFacts {
            downlink: ofdma.downlink,
            uplink: ofdma.uplink,
            users: ofdma.users,
            ru_tones: ofdma.ru.map(Ru::tones),
        }),
        emlsr: EmlsrFacts::of(&config.emlsr),
        links: links::facts(setup, packet_size),
    }
}

/// Warning of a station whose SNR is too low for its slowest mode.
fn weak_station(setup: &WlanSetup) -> Option<String> {
    let config = &setup.model.config;
    let alone = config.stations.iter().enumerate().filter(|_| config.links.is_empty());
    let on_links = config.links.iter().flat_map(|link| {
        let stations = link.stations.iter().enumerate();
        stations.filter_map(|(number, station)| Some((number, station.as_ref()?, link.snr_offset_db)))
    });
    alone.map(|(number, station)| (number, station, 0.0)).chain(on_links).find_map(|(number, station, more_db)| {
        let ReceptionConfig::Radio(radio) = &station.reception else { return None };
        let mean = radio.mean_snr_db - config.radio.implementation_loss_db + radio.uplink_offset_db.min(0.0);
        let mean = mean + more_db;
        let required = required_snr_db(station.modes[0], config.radio.errors.as_deref(), 1538, 0.5).ok()?;
        (mean < required).then(|| {
            format!(
                "station {number} has a mean SNR of {mean:.1} dB, and its slowest mode needs {required:.1} dB for every other \
                 MPDU: hardly anything gets through"
            )
        })
    })
}

/// Warning that one FIFO with a driver queue of 128 packets cannot fill large aggregates.
fn wide_old_box(setup: &WlanSetup, packet_size: u32) -> Option<String> {
    let config = &setup.model.config;
    let AccessPointQueues::OneFifo(_) = config.access_point else { return None };
    let (number, mpdus) = (0..).zip(&config.stations).find_map(|(number, station): (usize, _)| {
        let mode = *station.modes.last()?;
        let mpdus = Exchange::of(station, mode, config.categories[0], config.rts, packet_size).packets;
        (mpdus as usize > DRIVER_PACKETS).then_some((number, mpdus))
    })?;
    Some(format!(
        "wlan.access_point.queues = \"fifo\": its driver holds {DRIVER_PACKETS} packets, and an aggregate to station {number} could have {mpdus}"
    ))
}

/// Counts of one station in both directions, or of all stations together.
pub(crate) struct StationsMeasured {
    down: StationStatistics,
    up: StationStatistics,
    /// Share of time in which each station sent or received.
    airtimes: Vec<f64>,
    seconds: f64,
}

impl StationsMeasured {
    fn stations(&self) -> f64 {
        self.airtimes.len() as f64
    }

    fn goodput_bps(&self, of: &StationStatistics) -> f64 {
        of.packets.arrived_bytes as f64 * 8.0 / self.seconds / self.stations()
    }
}

/// Value of a count; NaN if it is 0, so that rows leave it out.
fn if_any(of: u64) -> f64 {
    if of == 0 { f64::NAN } else { count(of) }
}

/// Counts of each station, and of all stations together; `None` for other networks.
fn measured(run: &NetworkStatistics) -> Option<(Vec<StationsMeasured>, StationsMeasured)> {
    let [_, forward, reverse, _] = PATH;
    let (down, up) = (&run.link(forward)?.stations, &run.link(reverse)?.stations);
    let seconds = run.duration.as_secs_f64();
    // With several links, the mean of the shares of all links.
    let links = run.link(forward)?.by_link.len().max(1) as f64;
    let airtime = |down: &StationStatistics, up: &StationStatistics| {
        ((down.airtime + up.airtime).as_secs_f64() / seconds / links).min(1.0)
    };
    let airtimes: Vec<f64> = down.iter().zip(up).map(|(down, up)| airtime(down, up)).collect();
    let (mut all_down, mut all_up) = (StationStatistics::default(), StationStatistics::default());
    for one in down {
        all_down.add(one);
    }
    for one in up {
        all_up.add(one);
    }
    let each = down.iter().zip(up).zip(&airtimes).map(|((down, up), airtime)| StationsMeasured {
        down: down.clone(),
        up: up.clone(),
        airtimes: vec![*airtime],
        seconds,
    });
    Some((each.collect(), StationsMeasured { down: all_down, up: all_up, airtimes, seconds }))
}

/// Published metrics of the stations, in the order of tables.
#[rustfmt::skip]
pub(super) static METRICS: &[MetricOf<StationsMeasured>] = &[
    MetricOf::each(STATION, "station_goodput_bps", "bit/s", "Goodput of a station", "Whole packets, headers included, that were delivered to a station, per second; for all stations together, their mean.", |all| all.goodput_bps(&all.down)),
    MetricOf::each(STATION, "station_uplink_goodput_bps", "bit/s", "Uplink goodput of a station", "Whole packets, headers included, that were delivered from a station, per second; for all stations together, their mean.", |all| all.goodput_bps(&all.up)),
    MetricOf::each(STATION, "airtime_share", "1", "Airtime share", "Share of time for which a station sent or was sent to, with RTS, CTS, answers and collisions; for several links or stations, their mean.", |all| all.airtimes.iter().sum::<f64>() / all.stations()),
    MetricOf::whole("jain_airtime", "1", "Jain's index of airtime", "Jain's index of the airtimes of stations: 1 is equal shares (Jain, Chiu and Hawe 1984).", |all| jain_fairness(&all.airtimes).unwrap_or(f64::NAN)),
    MetricOf::each(STATION, "mpdus_per_ampdu", "1", "MPDUs per aggregate", "Mean number of MPDUs of an aggregate to a station; single MPDUs count as aggregates of one.", |all| of_some(all.down.sent(), all.down.ppdus)),
    MetricOf::each(STATION, "uplink_mpdus_per_ampdu", "1", "MPDUs per aggregate of the uplink", "Mean number of MPDUs of an aggregate from a station; single MPDUs count as aggregates of one.", |all| of_some(all.up.sent(), all.up.ppdus)),
    MetricOf::each(STATION, "mpdu_error_rate", "1", "MPDU error rate", "Share of the MPDUs sent to a station without a collision that the channel lost.", |all| of_some(all.down.channel_errors, all.down.uncollided)),
    MetricOf::each(STATION, "uplink_mpdu_error_rate", "1", "MPDU error rate of the uplink", "Share of the MPDUs sent by a station without a collision that the channel lost.", |all| of_some(all.up.channel_errors, all.up.uncollided)),
    MetricOf::each(STATION, "retries_per_mpdu", "1", "Retries per MPDU", "Retransmissions of MPDUs to a station for each one that was sent, collisions included.", |all| of_some(all.down.mpdus.retransmissions, all.down.mpdus.frames)),
    MetricOf::each(STATION, "uplink_retries_per_mpdu", "1", "Retries per MPDU of the uplink", "Retransmissions of MPDUs from a station for each one that was sent, collisions included.", |all| of_some(all.up.mpdus.retransmissions, all.up.mpdus.frames)),
    MetricOf::each(STATION, "mpdus_given_up", "MPDUs", "MPDUs given up", "MPDUs to and from a station that were given up after their last transmission.", |all| count(all.down.mpdus.frames_lost + all.up.mpdus.frames_lost)),
    MetricOf::each(STATION, "collision_probability", "1", "Collision probability", "The share of PPDUs with data to and from a station that collided.", |all| of_some(all.down.collisions + all.up.collisions, all.down.ppdus + all.up.ppdus)),
    MetricOf::each(STATION, "mcs_mean", "1", "Mean MCS", "Mean MCS of the MPDUs sent to a station.", |all| of_some(all.down.mcs_sum, all.down.sent())),
    MetricOf::each(STATION, "uplink_mcs_mean", "1", "Mean MCS of the uplink", "Mean MCS of the MPDUs sent by a station.", |all| of_some(all.up.mcs_sum, all.up.sent())),
    MetricOf::each(STATION, "window_limited_share", "1", "Aggregates cut by the window", "The share of aggregates to a station that ended where the block acknowledgement window did, though more packets waited.", |all| of_some(all.down.window_limited, all.down.ppdus)),
    MetricOf::each(STATION, "stations_per_ppdu", "1", "Stations per multi-user PPDU", "Mean number of stations of the multi-user PPDUs that carried data to a station.", |all| of_some(all.down.sharing_stations, all.down.shared_ppdus)),
    MetricOf::each(STATION, "uplink_stations_per_ppdu", "1", "Stations per multi-user PPDU of the uplink", "Mean number of stations of the triggered PPDUs that carried data from a station.", |all| of_some(all.up.sharing_stations, all.up.shared_ppdus)),
    MetricOf::each(STATION, "block_ack_stall_s", "s", "Block acknowledgement stall", "Mean time for which MPDUs received by a station waited for earlier ones.", |all| mean_s(all.down.mpdus.head_of_line_delay_s, all.down.packets.arrivals)),
    MetricOf::each(STATION, "station_queueing_delay_mean_s", "s", "Mean queueing delay of a station", "Mean time for which packets to a station waited for their first transmission.", |all| mean_s(all.down.packets.queueing_delay_s, all.down.packets.transmissions)),
    MetricOf::each(STATION, "station_uplink_queueing_delay_mean_s", "s", "Mean queueing delay of a station's uplink", "Mean time for which packets from a station waited for their first transmission.", |all| mean_s(all.up.packets.queueing_delay_s, all.up.packets.transmissions)),
];

/// Counts of the stations that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static KEPT: &[MetricOf<StationsMeasured>] = &[
    MetricOf::each(STATION, "wlan_ppdus", "1", "", "", |all| count(all.down.ppdus)),
    MetricOf::each(STATION, "wlan_uplink_ppdus", "1", "", "", |all| count(all.up.ppdus)),
    MetricOf::each(STATION, "wlan_mpdus", "1", "", "", |all| count(all.down.mpdus.frames)),
    MetricOf::each(STATION, "wlan_uplink_mpdus", "1", "", "", |all| count(all.up.mpdus.frames)),
    MetricOf::each(STATION, "wlan_mpdus_sent", "1", "", "", |all| count(all.down.sent())),
    MetricOf::each(STATION, "wlan_uplink_mpdus_sent", "1", "", "", |all| count(all.up.sent())),
    MetricOf::each(STATION, "wlan_uncollided", "1", "", "", |all| count(all.down.uncollided)),
    MetricOf::each(STATION, "wlan_uplink_uncollided", "1", "", "", |all| count(all.up.uncollided)),
    MetricOf::each(STATION, "wlan_shared_ppdus", "1", "", "", |all| if_any(all.down.shared_ppdus)),
    MetricOf::each(STATION, "wlan_uplink_shared_ppdus", "1", "", "", |all| if_any(all.up.shared_ppdus)),
    MetricOf::each(STATION, "wlan_arrivals", "1", "", "", |all| count(all.down.packets.arrivals)),
    MetricOf::each(STATION, "wlan_transmissions", "1", "", "", |all| count(all.down.packets.transmissions)),
    MetricOf::each(STATION, "wlan_uplink_transmissions", "1", "", "", |all| count(all.up.packets.transmissions)),
];

/// Metrics of a Wi-Fi network that rows keep for the estimates of the published ones.
#[cfg(test)]
pub(super) fn kept() -> impl Iterator<Item = &'static MetricInfo> {
    KEPT.iter().map(|metric| &metric.info).chain(links::KEPT.iter().map(|metric| &metric.info))
}

/// Published metrics of a Wi-Fi network.
pub(super) fn metrics() -> impl Iterator<Item = &'static MetricInfo> {
    METRICS.iter().map(|metric| &metric.info).chain(links::infos())
}

mod links;
mod quotients;
#[cfg(test)]
mod tests;
