//! Links that send packets as frames, and who repeats lost frames.

use crate::quantity::{FrameSpan, Frames, Rate, Retransmissions, Share, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How packets become frames, and what a frame is on the air.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Framing {
    /// Bytes of packets in a frame; the rest of the frame is overhead.
    #[schemars(extend("x-default" = "the frame_size of the link: frames without overhead"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,

    /// What a frame at the border of two packets holds.
    #[schemars(extend("x-default" = "padded, on links with frames"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,

    /// Frames start at multiples of the frame time; otherwise as soon as there is something to send and the
    /// frame before has ended.
    #[schemars(extend("x-default" = "true, on links with frames"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slotted: Option<bool>,

    /// Whether the receiver can tell which frame was spoiled.
    #[schemars(extend("x-default" = "lost, on links with frames"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<FrameHeader>,
}

/// What a frame at the border of two packets holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Packing {
    /// Each packet begins with a frame of its own; its last frame is padded.
    Padded,
    /// A frame takes the end of a packet and the beginning of the next.
    Crossing,
}

/// Whether the receiver can tell which frame was spoiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrameHeader {
    /// The header is lost with the payload, as in IS-99.
    Lost,
    /// The header can always be read.
    Readable,
}

/// What the headers of packets become on a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Headers {
    /// Bytes that the TCP/IP header of a packet takes on the link: 3 B with the compression of Van Jacobson
    /// (RFC 1144).
    #[schemars(extend("x-default" = "none: it is not compressed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed: Option<Size>,

    /// Bytes of the TCP/IP header before its compression. With compressed.
    #[schemars(extend("x-default" = "40 B, with compressed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_ip: Option<Size>,

    /// Bytes that the framing of PPP adds to a packet: 4 B are a flag, a compressed header and the checksum
    /// (RFC 1662).
    #[schemars(extend("x-default" = "0 B, on links with frames"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ppp: Option<Size>,
}

/// Who repeats lost frames, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Arq {
    /// Which protocol.
    #[schemars(extend("x-default" = "none, on links with frames: each frame is sent once"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ArqProtocol>,

    /// After so many retransmissions a frame is given up, or "unlimited". Of rlp-is99 persistence says what
    /// counts; the radio link protocols take no "unlimited".
    #[schemars(extend("x-default" = "3 for rlp-is99 and rlp-nack; unlimited for the others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<Retransmissions>,

    /// How many frames from the oldest unacknowledged one on may be on the way. Required for go-back-n and
    /// selective-repeat.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,

    /// How long after the start of its transmission a frame is sent again; of rlp-nack, how long to wait for
    /// the answer to a NACK.
    #[schemars(extend(
        "x-default" = "from the start of a frame to its acknowledgement, for stop-and-wait, go-back-n and \
                       selective-repeat; 4 frames for rlp-nack"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<FrameSpan>,

    /// When the receiver passes a frame up. Taken by selective-repeat.
    #[schemars(extend("x-default" = "in-order, of selective-repeat"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,

    /// A consistent reading of what the paper on rlp-is99 says of its timers: it decides the defaults of
    /// persistence, naks_per_round, timer_clock and timer_check. Taken by rlp-is99.
    #[schemars(extend("x-default" = "f, of rlp-is99"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,

    /// What max_retransmissions counts. Taken by rlp-is99.
    #[schemars(extend("x-default" = "that of the reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistence: Option<Persistence>,

    /// How many NAKs a round sends for one frame; each asks for one retransmission. Taken by rlp-is99.
    #[schemars(extend("x-default" = "that of the reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naks_per_round: Option<NaksPerRound>,

    /// What makes the retransmission timers run. Taken by rlp-is99.
    #[schemars(extend("x-default" = "that of the reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_clock: Option<TimerClock>,

    /// When the receiver looks at its timers. Taken by rlp-is99.
    #[schemars(extend("x-default" = "that of the reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_check: Option<TimerCheck>,

    /// What the retransmission timer allows for a NAK and its answer. Taken by rlp-is99.
    #[schemars(extend("x-default" = "2 frames, of rlp-is99"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Frames>,

    /// What the retransmission timer adds for buffering. Taken by rlp-is99.
    #[schemars(extend("x-default" = "5 frames, of rlp-is99"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<Frames>,

    /// How many frames each end keeps. Taken by rlp-is99 and rlp-nack.
    #[schemars(range(min = 1, max = 128), extend("x-default" = "128, of rlp-is99 and rlp-nack"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<u32>,

    /// At least so many frames leave the head of a resequencing buffer that overflows. Taken by rlp-is99.
    #[schemars(range(min = 1, max = 128), extend("x-default" = "1, of rlp-is99"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<u32>,

    /// Whether idle frames carry V(S); otherwise the loss of a last frame is noticed only with the next data.
    /// Taken by rlp-is99.
    #[schemars(extend("x-default" = "true, of rlp-is99"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_frames_carry_v_s: Option<bool>,

    /// Whether a frame tells that it is a retransmission: then bursts of up to 255 lost frames are seen for
    /// what they are, instead of 127. Taken by rlp-is99.
    #[schemars(extend("x-default" = "false, of rlp-is99"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmissions_are_flagged: Option<bool>,

    /// Whether a copy that comes back corrupt ends the wait at once; only where framing.header is readable.
    /// Taken by rlp-nack.
    #[schemars(extend("x-default" = "true, of rlp-nack"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack_corrupt: Option<bool>,

    /// The sender does not put a frame into its queue of retransmissions while it is there. Taken by
    /// rlp-nack.
    #[schemars(extend("x-default" = "true, of rlp-nack"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_nacks: Option<bool>,

    /// An acknowledgement after so many received frames. Taken by rlp-nack.
    #[schemars(range(min = 1, max = 128), extend("x-default" = "16, of rlp-nack"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_period: Option<u32>,

    /// The way back for acknowledgements and NAKs.
    #[serde(skip_serializing_if = "Feedback::is_absent")]
    pub feedback: Feedback,
}

/// Which protocol repeats lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArqProtocol {
    /// The radio link protocol of IS-99, as Chockalingam and Bao describe it: NAKs in rounds.
    #[serde(rename = "rlp-is99")]
    RlpIs99,
    /// The radio link protocol of Toledo and Wang: one NACK at a time, a timeout, periodic acknowledgements.
    RlpNack,
    /// One frame at a time.
    StopAndWait,
    /// A window of frames; after a loss all of it again.
    GoBackN,
    /// A window of frames; what was lost again.
    SelectiveRepeat,
    /// Each frame is sent once.
    None,
}

/// When a receiver passes a frame up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// When all frames before have been passed up or given up.
    InOrder,
    /// When it is received: packets may overtake each other.
    Immediate,
}

/// A consistent reading of the timers of rlp-is99; no reading meets all sentences of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// The literal one: the timers run by the clock on the wall, round r sends r NAKs.
    A,
    /// As a, and retransmissions stop the clock.
    B,
    /// As b, with one NAK a round.
    C,
    /// As c, and timers are looked at in every frame time.
    D,
    /// The timers run by good new frames; round r sends r NAKs.
    E,
    /// As e, and the limit counts the retransmissions of a frame over all rounds.
    F,
    /// As e, with one NAK a round.
    G,
}

/// What the limit of rlp-is99 counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// Expiries of the retransmission timer of a frame, each the end of a round.
    Rounds,
    /// Retransmissions that were asked for, over all rounds.
    Retransmissions,
}

/// How many NAKs a round of rlp-is99 sends for one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NaksPerRound {
    /// One in every round.
    One,
    /// One in the first round, two in the second, and so on.
    Growing,
}

/// What makes the retransmission timers of rlp-is99 run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerClock {
    /// Every frame time, whatever is received in it.
    EveryFrame,
    /// Every frame time but those in which a retransmission is received.
    PausedByRetransmissions,
    /// Only the frames that are received, and are no retransmissions. Idle frames count.
    GoodNewFrames,
}

/// When the receiver of rlp-is99 looks at its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerCheck {
    /// When it has received a frame.
    GoodFrames,
    /// In every frame time.
    EveryFrame,
}

/// The way back for acknowledgements and NAKs. The link has it to itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Feedback {
    /// How long it takes, the transmission left out.
    #[schemars(extend(
        "x-default" = "the delay of the link, and 1 frame more for rlp-is99 and rlp-nack, whose NAKs travel in frames"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<FrameSpan>,

    /// Bit rate. With size.
    #[schemars(extend("x-default" = "none: feedback takes no time to transmit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Bytes of one acknowledgement or NAK. With rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,

    /// The share of acknowledgements and NAKs that are lost, independently.
    #[schemars(extend("x-default" = "0, on links with ARQ"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
}

macro_rules! absent {
    ($($table:ty),*) => {$(
        impl $table {
            /// Whether nothing is said.
            pub fn is_absent(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

absent!(Framing, Headers, Arq, Feedback);
