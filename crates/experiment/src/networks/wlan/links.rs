//! Links of multi-link devices: their facts for `check`, their counts and their metrics.

use super::quotients::{mean_s, of_some};
use crate::metric::{MetricInfo, MetricOf, count};
use crate::parts::WLAN_LINK;
use crossfade_link::StationStatistics;
use crossfade_mac::wlan::Exchange;
use crossfade_scenario::WlanSetup;
use crossfade_sim::NetworkStatistics;
use serde::Serialize;

/// Facts about a link of multi-link devices, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LinkFacts {
    name: String,
    band: &'static str,
    /// Widest channel of the link's stations in MHz.
    width_mhz: u16,
    /// Number of stations that use the link.
    stations: usize,
    neighbours: usize,
    /// Goodput in bit/s of whole packets for the first station alone on the link, in the highest mode.
    alone_bps: f64,
}

pub(super) fn facts(setup: &WlanSetup, packet_size: u32) -> Vec<LinkFacts> {
    let config = &setup.model.config;
    let of = |(name, link): (&String, &crossfade_mac::wlan::LinkConfig)| {
        let mut stations = link.stations.iter().flatten();
        let (number, first) =
            link.stations.iter().enumerate().find_map(|(at, of)| Some((at, of.as_ref()?)))?;
        let highest = *first.modes.last()?;
        let exchange = Exchange::of(first, highest, config.categories[0], config.rts, packet_size);
        Some(LinkFacts {
            name: name.clone(),
            band: highest.band().words(),
            width_mhz: stations
                .clone()
                .filter_map(|of| of.modes.last())
                .map(|mode| mode.width_mhz())
                .max()?,
            stations: stations.by_ref().count(),
            neighbours: link.neighbours.map_or(0, |neighbours| neighbours.count),
            alone_bps: exchange.alone_in_bps(config, number),
        })
    };
    setup.model.links.iter().zip(&config.links).filter_map(of).collect()
}

/// Counts of one link in both directions.
pub(super) struct LinkMeasured {
    down: StationStatistics,
    up: StationStatistics,
    /// Number of MPDUs that all links together sent down, and up.
    all: [u64; 2],
    seconds: f64,
}

impl LinkMeasured {
    fn goodput_bps(&self, of: &StationStatistics) -> f64 {
        of.packets.arrived_bytes as f64 * 8.0 / self.seconds
    }
}

/// Counts of each link of multi-link devices; empty without such devices.
pub(super) fn measured(run: &NetworkStatistics) -> Vec<LinkMeasured> {
    let [_, forward, reverse, _] = crate::parts::PATH;
    let (Some(down), Some(up)) = (run.link(forward), run.link(reverse)) else { return Vec::new() };
    let all = [down, up].map(|way| way.by_link.iter().map(StationStatistics::sent).sum());
    let seconds = run.duration.as_secs_f64();
    let each = down.by_link.iter().zip(&up.by_link);
    each.map(|(down, up)| LinkMeasured { down: down.clone(), up: up.clone(), all, seconds }).collect()
}

/// Published metrics of the links, in the order of tables.
#[rustfmt::skip]
pub(super) static METRICS: &[MetricOf<LinkMeasured>] = &[
    MetricOf::part(WLAN_LINK, "wlan_link_goodput_bps", "bit/s", "Goodput of a link", "Whole packets, headers included, delivered to stations on a link of multi-link devices, per second.", |of| of.goodput_bps(&of.down)),
    MetricOf::part(WLAN_LINK, "wlan_link_uplink_goodput_bps", "bit/s", "Uplink goodput of a link", "Whole packets, headers included, delivered from stations on a link of multi-link devices, per second.", |of| of.goodput_bps(&of.up)),
    MetricOf::part(WLAN_LINK, "wlan_link_airtime_share", "1", "Airtime share of a link", "The share of the time in which stations sent or were sent to on a link, RTS, CTS, answers and collisions included.", |of| (of.down.airtime + of.up.airtime).as_secs_f64() / of.seconds),
    MetricOf::part(WLAN_LINK, "wlan_link_mpdus", "MPDUs", "MPDUs on a link", "MPDUs sent to and from stations on a link, retransmissions included.", |of| count(of.down.sent() + of.up.sent())),
    MetricOf::part(WLAN_LINK, "wlan_link_mpdu_share", "1", "Share of MPDUs on a link", "The share of a link in the MPDUs sent to stations, retransmissions included.", |of| of_some(of.down.sent(), of.all[0])),
    MetricOf::part(WLAN_LINK, "wlan_link_uplink_mpdu_share", "1", "Share of the uplink's MPDUs on a link", "The share of a link in the MPDUs sent by stations, retransmissions included.", |of| of_some(of.up.sent(), of.all[1])),
    MetricOf::part(WLAN_LINK, "wlan_link_mpdus_per_ampdu", "1", "MPDUs per aggregate on a link", "Mean number of MPDUs of an aggregate to a station on a link.", |of| of_some(of.down.sent(), of.down.ppdus)),
    MetricOf::part(WLAN_LINK, "wlan_link_collision_probability", "1", "Collision probability on a link", "The share of PPDUs with data to and from stations that collided on a link.", |of| of_some(of.down.collisions + of.up.collisions, of.down.ppdus + of.up.ppdus)),
    MetricOf::part(WLAN_LINK, "wlan_link_window_limited_share", "1", "Aggregates of a link cut by the window", "The share of aggregates to stations on a link that ended where the common block acknowledgement window did, though more packets waited.", |of| of_some(of.down.window_limited, of.down.ppdus)),
    MetricOf::part(WLAN_LINK, "wlan_link_reordering_delay_s", "s", "Reordering delay of a link", "Mean time for which MPDUs that a station received on a link waited for earlier ones of any link.", |of| mean_s(of.down.mpdus.head_of_line_delay_s, of.down.packets.arrivals)),
    MetricOf::part(WLAN_LINK, "wlan_link_uplink_reordering_delay_s", "s", "Reordering delay of a link's uplink", "Mean time for which MPDUs that the access point received on a link waited for earlier ones of any link.", |of| mean_s(of.up.mpdus.head_of_line_delay_s, of.up.packets.arrivals)),
];

/// Counts of the links that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static KEPT: &[MetricOf<LinkMeasured>] = &[
    MetricOf::part(WLAN_LINK, "wlan_link_ppdus", "1", "", "", |of| count(of.down.ppdus)),
    MetricOf::part(WLAN_LINK, "wlan_link_all_ppdus", "1", "", "", |of| count(of.down.ppdus + of.up.ppdus)),
    MetricOf::part(WLAN_LINK, "wlan_link_all_mpdus", "1", "", "", |of| count(of.all[0])),
    MetricOf::part(WLAN_LINK, "wlan_link_all_uplink_mpdus", "1", "", "", |of| count(of.all[1])),
    MetricOf::part(WLAN_LINK, "wlan_link_arrivals", "1", "", "", |of| count(of.down.packets.arrivals)),
    MetricOf::part(WLAN_LINK, "wlan_link_uplink_arrivals", "1", "", "", |of| count(of.up.packets.arrivals)),
];

/// Published metrics of the links, without their computation.
pub(super) fn infos() -> impl Iterator<Item = &'static MetricInfo> {
    METRICS.iter().map(|metric| &metric.info)
}
