//! The scenario file: every key, with its unit, default and meaning.
//!
//! The doc comment of a key is what `crossfade explain KEY` prints, and the JSON Schema for editors is
//! generated from these structs: this file is the reference. A key that is absent is `None`; resolving a
//! scenario fills in the defaults.

#![allow(clippy::doc_markdown, reason = "the comments are printed as they stand")]

use crate::quantity::{PacketLimit, Rate, Share, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One experiment: what is simulated, for how long, and over which values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scenario {
    /// The version of the scenario format.
    #[schemars(range(min = 1, max = 1), extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,

    /// What the scenario is about, in one line. Has no influence on results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,

    /// How the figures are obtained: by each of these methods at every point.
    #[schemars(extend("default" = ["simulation"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<Method>>,

    /// How long a run lasts and how many there are.
    pub run: Run,

    /// Which data packets the channel loses.
    #[schemars(extend("x-required" = true))]
    pub channel: Channel,

    /// The link that carries the data packets.
    #[schemars(extend("x-required" = true))]
    pub link: Link,

    /// The link that carries the acknowledgements.
    pub reverse: Reverse,

    /// The TCP sender and its receiver.
    #[schemars(extend("x-required" = true))]
    pub tcp: Tcp,

    /// Axes: a dotted key and its values, as a list, "a,b,c", "start:stop:step" (both ends included) or
    /// "log:start:stop:points". Keys joined by commas are zipped: their values are lists, one value a key.
    /// Axes are crossed; the first varies slowest. A table as a value is merged into the table of that name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub sweep: Map<String, Value>,
}

/// How a figure is obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Solved exactly; the same as analysis:exact.
    Analysis,
    /// Solved exactly.
    #[serde(rename = "analysis:exact")]
    AnalysisExact,
    /// Solved, as tight bounds.
    #[serde(rename = "analysis:bounds")]
    AnalysisBounds,
    /// Solved, as the bounds a paper prints.
    #[serde(rename = "analysis:paper-bounds")]
    AnalysisPaperBounds,
    /// The formula of Padhye, Firoiu, Towsley and Kurose (2000, eq. 32), which knows the channel by its loss
    /// rate alone.
    Formula,
    /// The square-root law (Mathis, Semke, Mahdavi and Ott 1997), the same without timeouts.
    #[serde(rename = "formula:square-root")]
    FormulaSquareRoot,
    /// Estimated from simulated runs.
    #[default]
    Simulation,
    /// Measured on real programs.
    Live,
}

impl Method {
    /// The word of the scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analysis | Self::AnalysisExact => "analysis:exact",
            Self::AnalysisBounds => "analysis:bounds",
            Self::AnalysisPaperBounds => "analysis:paper-bounds",
            Self::Formula => "formula",
            Self::FormulaSquareRoot => "formula:square-root",
            Self::Simulation => "simulation",
            Self::Live => "live",
        }
    }

    /// Whether a point is estimated by a formula.
    pub fn is_formula(self) -> bool {
        matches!(self, Self::Formula | Self::FormulaSquareRoot)
    }

    /// Whether a point is solved, as a Markov chain, instead of tried out.
    pub fn is_analysis(self) -> bool {
        matches!(
            self,
            Self::Analysis | Self::AnalysisExact | Self::AnalysisBounds | Self::AnalysisPaperBounds
        )
    }
}

/// How long a run lasts and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Run {
    /// How long a run lasts, warm-up included. Contradicts run.segments.
    #[schemars(extend("x-default" = "100000 slots, without run.segments"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,

    /// What happens before this time is simulated and not counted.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Span>,

    /// A run ends when this many segments have been delivered after the warm-up. Contradicts run.duration.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,

    /// How many independent runs (replications) are averaged. At least 10 make an interval that can be
    /// trusted.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 10))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,

    /// Run until the 95 % interval of goodput_bps is no wider than this share of its value on either side, at
    /// least 10 runs. Contradicts run.runs.
    #[schemars(extend("x-default" = "none: the number of runs is fixed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Share>,

    /// The largest number of runs that run.precision may ask for.
    #[schemars(range(min = 10, max = 1_000_000), extend("x-default" = "1000, with run.precision"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,

    /// The seed of all random streams. Run number r of a scenario has streams of its own, named in (seed, r).
    #[schemars(extend("default" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Which packets a channel loses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Channel {
    /// The loss process.
    #[schemars(extend("x-default" = "none for reverse.channel; required for channel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ChannelModel>,

    /// The share of packets lost in the long run (the papers' P_E). Taken by iid, markov and rayleigh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_e: Option<Share>,

    /// How far the mean signal power lies above the threshold of reception, in dB; another way to give p_e:
    /// p_e = 1 - exp(-1/F) of Rayleigh fading, F = 10^(fading_margin_db/10). Taken by markov and rayleigh.
    #[schemars(range(min = -20, max = 120))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading_margin_db: Option<f64>,

    /// Normalised Doppler frequency f_d T: Doppler frequency times the length of a slot. Small is slow
    /// fading with long bursts. Taken by markov (mapped by the Rayleigh equations) and rayleigh.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fd_t: Option<f64>,

    /// The mean length of a burst of losses, in steps of the channel; with p_e. Taken by markov.
    #[schemars(range(min = 1, max = 1e12))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_burst: Option<f64>,

    /// The probability that the step after a good one is good; with p_bb. Taken by markov.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_gg: Option<Share>,

    /// The probability that the step after a bad one is bad; with p_gg. Taken by markov.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_bb: Option<Share>,

    /// The transmissions that are lost, counted from 0 with retransmissions, in rising order. Taken by
    /// drop-list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drops: Option<Vec<u64>>,

    /// What makes a channel with memory step: every slot of time, or every transmission. With
    /// "transmission" a bad burst waits for the sender, which turns the conclusion about correlated losses
    /// around. Taken by markov and rayleigh.
    #[schemars(extend("default" = "slot"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
}

/// The loss process of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelModel {
    /// Loses nothing.
    None,
    /// Loses each packet with probability p_e, independently.
    Iid,
    /// Two-state Markov chain: {p_e or fading_margin_db, fd_t}, {p_e, mean_burst} or {p_gg, p_bb}.
    Markov,
    /// Sampled Rayleigh fading (Jakes spectrum) with a threshold: {p_e or fading_margin_db, fd_t}.
    Rayleigh,
    /// Loses the transmissions listed in drops.
    DropList,
}

/// What makes a channel with memory step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// One step every slot of time.
    Slot,
    /// One step every transmission.
    Transmission,
}

/// The link that carries the data packets. A slot is packet_size / rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Link {
    /// Bit rate.
    #[schemars(extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Bytes of a data packet on the wire, headers included.
    #[schemars(extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Size>,

    /// Propagation delay, one way.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// The packets that wait for the link.
    pub queue: Queue,
}

/// The packets that wait for a link, first come first served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queue {
    /// How many packets may wait beside the one being sent; the next one is dropped.
    #[schemars(extend("default" = "unlimited"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<PacketLimit>,
}

/// The link that carries the acknowledgements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reverse {
    /// Bit rate.
    #[schemars(extend("x-default" = "none: acknowledgements take no time to transmit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Propagation delay, one way.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// The acknowledgements that wait for the link.
    pub queue: Queue,

    /// Which acknowledgements are lost.
    pub channel: Channel,
}

/// The TCP sender and its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tcp {
    /// Whose rules the sender follows.
    #[schemars(extend("default" = "paper"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavour: Option<Flavour>,

    /// How the sender recovers from losses.
    #[schemars(extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,

    /// The receiver's window in segments.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_max: Option<u32>,

    /// How many duplicate acknowledgements trigger a fast retransmit (the papers' K).
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 3))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dupthresh: Option<u32>,

    /// The congestion window at the start, in segments; at most w_max.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<f64>,

    /// The slow-start threshold at the start, in segments.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = "tcp.w_max"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<f64>,

    /// Send a new segment on each of the first duplicate acknowledgements (RFC 3042).
    #[schemars(extend("x-default" = "false; true for flavour \"ns2\" unless the variant is \"old-tahoe\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,

    /// Bytes of application data in a segment: link.packet_size less tcp.headers.
    #[schemars(extend("x-default" = "link.packet_size - tcp.headers"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,

    /// Bytes of headers in a data packet.
    #[schemars(extend("x-default" = "40 B; 0 B for flavour \"ns2\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,

    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    #[schemars(extend("default" = "40 B"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_size: Option<Size>,

    /// Bytes that each SACK block adds to an acknowledgement.
    #[schemars(extend("default" = "8 B"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_block_size: Option<Size>,

    /// Whether the sender waits for an idle link or fills the link's queue.
    #[schemars(extend("x-default" = "slot; queue for flavour \"ns2\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,

    /// The retransmission timeout: either fixed, or estimated from min, initial and granularity.
    pub rto: Rto,
}

/// Whose rules a sender follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// The idealised sender of Zorzi, Chockalingam and Rao (IEEE JSAC 18(7), 2000).
    Paper,
    /// The agents of ns-2.35, row by row.
    Ns2,
}

/// How a sender recovers from losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Timeouts only.
    #[serde(rename = "old-tahoe")]
    OldTahoe,
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery of a single loss.
    Reno,
    /// Fast recovery that answers partial acknowledgements.
    NewReno,
    /// Recovery driven by selective acknowledgements.
    Sack,
}

/// How a sender meets its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// One packet a slot, nothing queued: the sender waits until the link is idle.
    Slot,
    /// Whatever the window allows goes into the link's queue at once.
    Queue,
}

/// The retransmission timeout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rto {
    /// The same timeout for every segment, at least a slot. Required for flavour "paper"; contradicts min,
    /// initial and granularity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Span>,

    /// An estimated timeout is never less than this.
    #[schemars(extend("x-default" = "200 ms for flavour \"ns2\" without tcp.rto.fixed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Span>,

    /// The timeout before the first round trip is measured.
    #[schemars(extend("x-default" = "3 s for flavour \"ns2\" without tcp.rto.fixed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Span>,

    /// The tick of the clock that measures round trips.
    #[schemars(extend("x-default" = "10 ms for flavour \"ns2\" without tcp.rto.fixed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Span>,

    /// The longest timeout. Not taken with a fixed timeout that does not back off.
    #[schemars(extend("x-default" = "60 s, or tcp.rto.fixed if that is longer"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Span>,

    /// Whether a timeout doubles the next one.
    #[schemars(extend("x-default" = "false; true for flavour \"ns2\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
}
