//! List of the known formats of recordings of links.

/// Format of recordings of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Delivery opportunities of 1500 bytes, in the format of mahimahi.
    Mahimahi,
    /// Delays of LeoReplayer. (Its capacities have the format of mahimahi.)
    LeoReplayer,
    /// Delivery opportunities of 1400 bytes of CellReplay. Only an explicit name distinguishes the format from that of
    /// mahimahi.
    CellReplayHeavy,
    /// Short packet trains of CellReplay.
    CellReplayLight,
    /// Tables of TheaterQ, a Linux queueing discipline.
    TheaterQ,
    /// Patterns of rattan and netem-trace, as JSON.
    NetemTrace,
    /// Patterns of rattan and netem-trace, as TOML.
    NetemTraceToml,
    /// Lines and scripts of `tc qdisc ... netem`.
    Tc,
    /// Network profiles of iBox.
    Ibox,
    /// Scenarios of the QUIC interoperability simulator.
    Interop,
    /// Simulation specifications of `picoquic_ns`.
    Picoquic,
    /// Tunnel logs of Pantheon.
    Tunnel,
    /// Tables of rate, delay and loss of Crossfade.
    Rates,
    /// Tables of delays of Crossfade.
    Delays,
}

impl Format {
    /// All formats, in the order of their documentation page.
    pub const ALL: [Self; 14] = [
        Self::Mahimahi,
        Self::LeoReplayer,
        Self::CellReplayHeavy,
        Self::CellReplayLight,
        Self::TheaterQ,
        Self::NetemTrace,
        Self::NetemTraceToml,
        Self::Tc,
        Self::Ibox,
        Self::Interop,
        Self::Picoquic,
        Self::Tunnel,
        Self::Rates,
        Self::Delays,
    ];

    /// Name of the format on the command line.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Description of the format in a few words.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// True if `crossfade trace` also writes this format.
    pub fn is_written(self) -> bool {
        self.row().2
    }

    /// Format with this name on the command line; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Name, title, and true if the format is also written.
    fn row(self) -> (&'static str, &'static str, bool) {
        match self {
            Self::Mahimahi => {
                ("mahimahi", "delivery opportunities of mahimahi, or the capacity of LeoReplayer", true)
            }
            Self::LeoReplayer => ("leoreplayer", "delays of LeoReplayer", true),
            Self::CellReplayHeavy => ("cellreplay-heavy", "delivery opportunities of CellReplay", false),
            Self::CellReplayLight => ("cellreplay-light", "short trains of CellReplay", false),
            Self::TheaterQ => ("theaterq", "table of TheaterQ", true),
            Self::NetemTrace => ("netem-trace", "pattern of rattan and netem-trace, JSON", true),
            Self::NetemTraceToml => ("netem-trace-toml", "pattern of rattan and netem-trace, TOML", true),
            Self::Tc => ("tc-netem", "states of tc qdisc ... netem", true),
            Self::Ibox => ("ibox", "network profile of iBox", false),
            Self::Interop => ("quic-interop", "scenario of the QUIC interoperability simulator", false),
            Self::Picoquic => ("picoquic-ns", "simulation specification of picoquic_ns", false),
            Self::Tunnel => ("pantheon-tunnel", "tunnel log of Pantheon", false),
            Self::Rates => ("rates", "table of rates, delays and losses of this program", true),
            Self::Delays => ("delays", "table of delays of this program", true),
        }
    }
}
