//! Kinds of network parts (flows, links, nodes, users, stations), and the keys of their metrics in rows.

use serde::Serialize;

/// Kind of network part, of which a network may have many: flow, link, node, user, station, or Wi-Fi link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartKind {
    /// Name of a part of this kind in results, such as `flow`.
    pub name: &'static str,
    /// Name of the list of these parts in results, such as `flows`.
    pub list: &'static str,
    /// Prefix of the part's name in keys of rows.
    pub prefix: &'static str,
    /// True if parts have numbers from 0 in place of names; such parts may be too many for tables.
    pub is_numbered: bool,
    /// Metrics of the first columns in tables of these parts, in this order.
    pub shown: &'static [&'static str],
}

/// Flows, by their names in the scenario; the name is empty if the scenario names no flow.
#[rustfmt::skip]
pub const FLOW: PartKind = PartKind {
    name: "flow", list: "flows", prefix: "flow:", is_numbered: false,
    shown: &["goodput_bps", "retransmissions", "timeouts", "rtt_mean_s", "rtt_p95_s", "completion_time_s", "jain_fairness"],
};
/// Links of a network, or the medium in their place, by the names in [`LINKS`].
#[rustfmt::skip]
pub const LINK: PartKind = PartKind {
    name: "link", list: "links", prefix: "", is_numbered: false,
    shown: &["frame_error_rate", "queue_mean_packets", "queue_drops", "ecn_marks", "queueing_delay_mean_s", "queueing_delay_p95_s", "link_utilisation"],
};
/// Nodes of a mesh, numbered from 0.
#[rustfmt::skip]
pub const NODE: PartKind = PartKind {
    name: "node", list: "nodes", prefix: "node:", is_numbered: true,
    shown: &["exchanges_mean", "rts_losses", "data_losses", "rts_drops", "data_drops", "interface_drops", "nulls_spent", "deferrals", "transmit_share"],
};
/// Users of a cell, numbered from 0.
#[rustfmt::skip]
pub const USER: PartKind = PartKind {
    name: "user", list: "users", prefix: "user:", is_numbered: true,
    shown: &["user_goodput_bps", "bins_per_slot", "retransmissions_per_frame", "below_levels_share"],
};

/// Stations of a Wi-Fi network, numbered from 0.
#[rustfmt::skip]
pub const STATION: PartKind = PartKind {
    name: "station", list: "stations", prefix: "station:", is_numbered: true,
    shown: &["station_goodput_bps", "station_uplink_goodput_bps", "airtime_share", "mpdus_per_ampdu", "mcs_mean", "station_queueing_delay_mean_s"],
};

/// Links of the multi-link devices of a Wi-Fi network, numbered from 0 in the order of their names.
#[rustfmt::skip]
pub const WLAN_LINK: PartKind = PartKind {
    name: "wlan_link", list: "wlan_links", prefix: "wlan_link:", is_numbered: true,
    shown: &["wlan_link_goodput_bps", "wlan_link_uplink_goodput_bps", "wlan_link_airtime_share", "wlan_link_mpdu_share", "wlan_link_reordering_delay_s"],
};

/// All kinds of parts, in the order of results.
pub static PARTS: [PartKind; 6] = [FLOW, LINK, NODE, USER, STATION, WLAN_LINK];

/// Names of the links of a path in results, in the order of the path.
pub(crate) const PATH: [&str; 4] = ["wired", "forward", "reverse", "wired_reverse"];
/// Name of the medium of a mesh in results.
pub(crate) const MESH: &str = "mesh";

/// Name of a link or medium in results, and the scenario tables that describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkName {
    /// Name of the link in results.
    pub name: &'static str,
    /// True if the link carries data forward; false if it carries acknowledgements back.
    pub is_forward: bool,
    /// Scenario table that describes the link.
    pub table: &'static str,
    /// Scenario table of the link's queue; `None` if the scenario does not set the queue's limit.
    pub queue: Option<&'static str>,
    /// Scenario table of the link's channel; `None` if the link has none.
    pub channel: Option<&'static str>,
}

/// All links and other media that appear in results.
#[rustfmt::skip]
pub static LINKS: [LinkName; 5] = {
    let [wired, forward, reverse, wired_reverse] = PATH;
    let (data, acks) = (Some("channel"), Some("reverse.channel"));
    [
        LinkName { name: wired, is_forward: true, table: "wired", queue: Some("wired.queue"), channel: None },
        LinkName { name: forward, is_forward: true, table: "link", queue: Some("link.queue"), channel: data },
        LinkName { name: reverse, is_forward: false, table: "reverse", queue: Some("reverse.queue"), channel: acks },
        LinkName { name: wired_reverse, is_forward: false, table: "wired", queue: None, channel: None },
        LinkName { name: MESH, is_forward: true, table: "mesh", queue: Some("link.queue"), channel: None },
    ]
};

/// Names of the media that carry the data; a network has one of them, and its metrics are those of the whole network.
const CARRIERS: [&str; 2] = [PATH[1], MESH];

/// A part of a network: its kind, and its name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Kind of the part.
    pub kind: PartKind,
    /// Name of the part, or its number in decimal digits.
    pub name: String,
}

impl Part {
    /// The part of `kind` with this name, or with this number in decimal digits.
    pub fn new(kind: PartKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// `count` parts of `kind`, numbered from 0.
    pub(crate) fn numbered(kind: PartKind, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self::new(kind, number.to_string()))
    }

    /// True if the metrics of this part are those of the whole network.
    pub(crate) fn is_carrier(&self) -> bool {
        self.kind == LINK && CARRIERS.contains(&&*self.name)
    }

    /// Key in a row of the metric `name` of this part.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{}.{name}", self.kind.prefix, self.name)
    }
}
