//! Which packets a channel loses.

use crate::quantity::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which packets a channel loses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Channel {
    /// The loss process.
    #[schemars(extend("x-default" = "none for reverse.channel, and beside a table of link.trace; otherwise required"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ChannelModel>,

    /// The share of packets lost in the long run (the papers' P_E), or of frames on links with frames. Taken
    /// by iid, markov and rayleigh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_e: Option<Share>,

    /// How far the mean signal power lies above the threshold of reception, in dB; another way to give p_e:
    /// p_e = 1 - exp(-1/F) of Rayleigh fading, F = 10^(fading_margin_db/10). Taken by markov and rayleigh.
    #[schemars(range(min = -20, max = 120))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading_margin_db: Option<f64>,

    /// Normalised Doppler frequency f_d T: Doppler frequency times the length of a step of the channel. Small
    /// is slow fading with long bursts. Taken by markov (mapped by the Rayleigh equations) and rayleigh.
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

    /// The transmissions that are lost, counted from 0 with retransmissions, in rising order; of frames on
    /// links with frames, idle ones included. Taken by drop-list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drops: Option<Vec<u64>>,

    /// A file of recorded losses beside the scenario: a digit a packet (0 delivered, 1 lost), or the numbers
    /// of the lost packets, counted from 0. Packet n of it is step n of the channel; after its last packet it
    /// begins again. Taken by trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,

    /// How the file is to be read. Taken by trace.
    #[schemars(extend("x-default" = "auto, of trace"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<LossFormat>,

    /// What makes a channel with memory step: every slot of time (every frame time on links with frames), or
    /// every transmission. With "transmission" a bad burst waits for the sender, which turns the conclusion
    /// about correlated losses around. Taken by markov, rayleigh and trace.
    #[schemars(extend("x-default" = "slot; frame on links with frames"))]
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
    /// Loses what a record lost: file, and clock.
    Trace,
}

/// How recorded losses are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LossFormat {
    /// Whichever of the other two the text can be; refused where it can be both.
    Auto,
    /// One digit a packet: 0 delivered, 1 lost.
    Bits,
    /// The numbers of the lost packets, counted from 0; a line "# packets N" says how many there were.
    Lost,
}

/// What makes a channel with memory step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// One step every slot of time: the time of a packet. Not on links with frames.
    Slot,
    /// One step every frame time. On links with frames only.
    Frame,
    /// One step every transmission.
    Transmission,
}
