//! What networks have parts of, as data: what each kind is called, and how rows name what they have of a part.

use serde::Serialize;

/// A kind of part, of which a network has any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartKind {
    /// What one is called.
    pub name: &'static str,
    /// What results call the list of them.
    pub list: &'static str,
    /// What stands before a part's name in the keys of rows.
    pub prefix: &'static str,
    /// Whether parts have numbers, counted from 0, in place of names: then there may be too many for tables.
    pub is_numbered: bool,
    /// Its metrics that a person sees first, in this order.
    pub shown: &'static [&'static str],
}

/// Flows by the names that the scenario gives them; empty where it names none.
#[rustfmt::skip]
pub const FLOW: PartKind = PartKind {
    name: "flow", list: "flows", prefix: "flow:", is_numbered: false,
    shown: &["goodput_bps", "retransmissions", "timeouts", "rtt_mean_s", "rtt_p95_s", "completion_time_s", "jain_fairness"],
};
/// The links of a network, or the medium in their place: some of [`LINKS`].
#[rustfmt::skip]
pub const LINK: PartKind = PartKind {
    name: "link", list: "links", prefix: "", is_numbered: false,
    shown: &["frame_error_rate", "queue_mean_packets", "queue_drops", "ecn_marks", "queueing_delay_mean_s", "queueing_delay_p95_s", "link_utilisation"],
};
/// The nodes of a mesh.
#[rustfmt::skip]
pub const NODE: PartKind = PartKind {
    name: "node", list: "nodes", prefix: "node:", is_numbered: true,
    shown: &["exchanges_mean", "rts_losses", "data_losses", "rts_drops", "data_drops", "interface_drops", "nulls_spent", "deferrals", "transmit_share"],
};
/// The users of a cell.
#[rustfmt::skip]
pub const USER: PartKind = PartKind {
    name: "user", list: "users", prefix: "user:", is_numbered: true,
    shown: &["user_goodput_bps", "bins_per_slot", "retransmissions_per_frame", "below_levels_share"],
};

/// The stations of a Wi-Fi network.
#[rustfmt::skip]
pub const STATION: PartKind = PartKind {
    name: "station", list: "stations", prefix: "station:", is_numbered: true,
    shown: &["station_goodput_bps", "station_uplink_goodput_bps", "airtime_share", "mpdus_per_ampdu", "mcs_mean", "station_queueing_delay_mean_s"],
};

/// The links of multi-link devices of a Wi-Fi network, by their places in the order of names.
#[rustfmt::skip]
pub const WLAN_LINK: PartKind = PartKind {
    name: "wlan_link", list: "wlan_links", prefix: "wlan_link:", is_numbered: true,
    shown: &["wlan_link_goodput_bps", "wlan_link_uplink_goodput_bps", "wlan_link_airtime_share", "wlan_link_mpdu_share", "wlan_link_reordering_delay_s"],
};

/// All kinds, in the order of results.
pub static PARTS: [PartKind; 6] = [FLOW, LINK, NODE, USER, STATION, WLAN_LINK];

/// What results call the links of a path, in the order in which packets take them.
pub(crate) const PATH: [&str; 4] = ["wired", "forward", "reverse", "wired_reverse"];
/// What results call the mesh.
pub(crate) const MESH: &str = "mesh";

/// What may be called a link, and the keys of a scenario that describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkName {
    /// What results call it.
    pub name: &'static str,
    /// Whether it carries data there, and not acknowledgements back.
    pub is_forward: bool,
    /// Scenario table that describes the link.
    pub table: &'static str,
    /// The table of its queue, where it is the scenario that says how long that is.
    pub queue: Option<&'static str>,
    /// The table of its channel, if it may have one.
    pub channel: Option<&'static str>,
}

/// All that results may call links.
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

/// What carries the data of a network, which has one of them: metrics of the whole are those of this link.
const CARRIERS: [&str; 2] = [PATH[1], MESH];

/// A part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Kind of the part.
    pub kind: PartKind,
    /// Name of the part, or its number as text.
    pub name: String,
}

impl Part {
    /// The part of that name, or number.
    pub fn new(kind: PartKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// So many numbered parts.
    pub(crate) fn numbered(kind: PartKind, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self::new(kind, number.to_string()))
    }

    /// Whether metrics of the whole are its own.
    pub(crate) fn is_carrier(&self) -> bool {
        self.kind == LINK && CARRIERS.contains(&&*self.name)
    }

    /// The key in a row of what is called `name` and belongs to this part alone.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{}.{name}", self.kind.prefix, self.name)
    }
}
