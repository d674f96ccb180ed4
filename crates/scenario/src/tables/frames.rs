//! Keys of links that send packets as frames.

use super::arq::{Arq, FeedbackSetup, FrameTimes};
use super::base::{LONGEST_SLOT, absent, json};
use super::queue::Packets;
use crate::error::{ScenarioError, join};
use crate::quantity::{Rate, Size};
use crossfade_core::SimTime;
use crossfade_link::arq::{self, ArqProtocol, FrameClock, HeaderCompression, SegmentationConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Framing: how packets become frames, and what a frame occupies on the air.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Framing {
    /// Bytes of packets in a frame; the rest of the frame is overhead.
    #[schemars(extend("x-default" = "frame_size of the link: frames have no overhead"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,

    /// Content of a frame at the border of two packets.
    #[schemars(extend("x-default" = "padded, with frame_size"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,

    /// Whether frames start at multiples of the frame time. Otherwise one starts as soon as data waits and the last
    /// frame has ended.
    #[schemars(extend("x-default" = "true, with frame_size"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slotted: Option<bool>,

    /// Whether the receiver can tell which frame was corrupted.
    #[schemars(extend("x-default" = "lost, with frame_size"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<FrameHeader>,
}

/// Content of a frame at the border between two packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Packing {
    /// Each packet begins with a frame of its own; its last frame is padded.
    Padded,
    /// A frame takes the end of a packet and the beginning of the next.
    Crossing,
}

/// Knowledge of the receiver about which frame was corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrameHeader {
    /// The header is lost with the payload, as in IS-99.
    Lost,
    /// The header can be read even if the payload is corrupted.
    Readable,
}

/// Header sizes of packets on a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Headers {
    /// Size of a compressed TCP/IP header in bytes. It is 3 B with Van Jacobson's compression (RFC 1144).
    #[schemars(extend("x-default" = "none: the header is not compressed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed: Option<Size>,

    /// Size of the TCP/IP header before compression, in bytes. Needs compressed.
    #[schemars(extend("x-default" = "40 B, with compressed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_ip: Option<Size>,

    /// Bytes of PPP framing per packet. Its 4 B are a flag, a compressed header and the checksum (RFC 1662).
    #[schemars(extend("x-default" = "0 B, with frame_size"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ppp: Option<Size>,
}

absent!(Framing, Headers);

/// Resolved framing of a link, with the ARQ of its frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSetup {
    /// Size of a frame on the air, in bytes.
    pub frame_size: u32,
    /// Transmission time of a frame on the link.
    pub frame_time: SimTime,
    /// Clock at whose ticks frames start.
    pub clock: FrameClock,
    /// Segmentation of packets into frames.
    pub segmentation: SegmentationConfig,
    /// Header of a corrupted frame: lost with the payload, or readable.
    pub header: arq::FrameHeader,
    /// ARQ protocol of the link, which retransmits lost frames.
    pub protocol: ArqProtocol,
    /// Reverse path for acknowledgements and NAKs of the ARQ.
    pub feedback: FeedbackSetup,
}

impl FrameSetup {
    /// Transmission time of a packet of `bytes`, if its frames are sent back to back and all received.
    pub fn time_for(&self, bytes: u32) -> SimTime {
        self.frame_time * u64::from(self.segmentation.frames(bytes))
    }

    /// Time for which the ARQ waits before it retransmits a frame or repeats a request, and the key that sets this
    /// time; `None` for a protocol without such a timer.
    pub fn patience(&self) -> Option<(&'static str, SimTime)> {
        self.protocol.patience(self.frame_time).map(|patience| (patience.parameter, patience.time))
    }

    /// Shortest time from a frame to its acknowledgement, or from a NAK to its answer, on a link with a propagation
    /// delay of `delay`.
    pub fn answer_time(&self, delay: SimTime) -> SimTime {
        self.frame_time.saturating_add(delay).saturating_add(self.feedback.time())
    }

    /// Longest time over which the link may retransmit a frame, at this frame loss rate.
    pub(crate) fn longest_recovery(&self, loss_rate: Option<f64>) -> SimTime {
        self.protocol.longest_recovery(self.frame_time, loss_rate)
    }

    /// Number of bytes on the air for a packet of `bytes`, without padding.
    pub(crate) fn on_air_bytes(&self, bytes: u32) -> u32 {
        let share = f64::from(self.segmentation.link_bytes(bytes)) / f64::from(self.segmentation.payload);
        (share * f64::from(self.frame_size)).ceil() as u32
    }
}

/// Keys of a link that concern frames.
pub(crate) struct FrameKeys<'a> {
    pub(crate) frame_size: Option<Size>,
    pub(crate) framing: &'a mut Framing,
    pub(crate) headers: &'a mut Headers,
    pub(crate) arq: &'a mut Arq,
}

/// Link that carries the frames, with its rate, delay and packets.
pub(crate) struct FramedLink<'a> {
    /// Scenario table that describes the link.
    pub(crate) table: &'a str,
    pub(crate) rate: Option<Rate>,
    /// Lowest rate of the link, if the physical layer varies it; otherwise its only rate.
    pub(crate) slowest: Option<Rate>,
    pub(crate) delay: SimTime,
    /// Packets that the link carries.
    pub(crate) packets: Packets,
    pub(crate) slot: SimTime,
}

impl FrameKeys<'_> {
    /// Fills in the defaults of the framing and ARQ; `None` for a link without frames.
    pub(crate) fn resolve(mut self, link: &FramedLink<'_>) -> Result<Option<FrameSetup>, ScenarioError> {
        let Some(frame_size) = self.frame_size else {
            let given = [
                ("framing", !self.framing.is_absent()),
                ("headers", !self.headers.is_absent()),
                ("arq", !self.arq.is_absent()),
            ];
            return match given.into_iter().find(|(_, given)| *given) {
                None => Ok(None),
                Some((key, _)) => {
                    let needs = format!("needs {}, such as \"30 B\"", join(link.table, "frame_size"));
                    Err(ScenarioError::key(join(link.table, key), needs))
                }
            };
        };
        let key = join(link.table, "frame_size");
        if frame_size.0 == 0 {
            return Err(ScenarioError::value(key, &json(frame_size), "must be at least 1 B"));
        }
        let Some(rate) = link.rate else {
            return Err(ScenarioError::value(
                key,
                &json(frame_size),
                format!("needs {}", join(link.table, "rate")),
            ));
        };
        let frame_time = SimTime::to_transmit(frame_size.0, rate.0);
        // Timeouts must allow for the slowest frame.
        let longest = SimTime::to_transmit(frame_size.0, link.slowest.unwrap_or(rate).0);
        let segmentation = self.segmentation(link, frame_size)?;
        let whole_packet = u64::from(segmentation.frames(link.packets.largest));
        if longest.saturating_mul(whole_packet) > LONGEST_SLOT {
            let problem = "too slow: the frames of a packet would take more than 1 h";
            return Err(ScenarioError::value(join(link.table, "rate"), &json(rate), problem));
        }
        let slotted = *self.framing.slotted.get_or_insert(true);
        let header = match self.framing.header.get_or_insert(FrameHeader::Lost) {
            FrameHeader::Lost => arq::FrameHeader::Lost,
            FrameHeader::Readable => arq::FrameHeader::Readable,
        };
        let times = FrameTimes { frame_time: longest, delay: link.delay, slot: link.slot };
        let (protocol, feedback) = self.arq.resolve(&join(link.table, "arq"), times)?;
        Ok(Some(FrameSetup {
            frame_size: frame_size.0,
            frame_time,
            clock: if slotted { FrameClock::Slotted } else { FrameClock::OnDemand },
            segmentation,
            header,
            protocol,
            feedback,
        }))
    }

    fn segmentation(
        &mut self,
        link: &FramedLink<'_>,
        frame_size: Size,
    ) -> Result<SegmentationConfig, ScenarioError> {
        let payload = *self.framing.payload.get_or_insert(frame_size);
        if payload.0 == 0 || payload.0 > frame_size.0 {
            let problem = format!(
                "must be at least 1 B and at most {} = \"{frame_size}\"",
                join(link.table, "frame_size")
            );
            return Err(ScenarioError::value(join(link.table, "framing.payload"), &json(payload), problem));
        }
        let packing = match self.framing.packing.get_or_insert(Packing::Padded) {
            Packing::Padded => arq::Packing::Padded,
            Packing::Crossing => arq::Packing::Crossing,
        };
        let key = |name: &str| join(link.table, &format!("headers.{name}"));
        let header_compression = match (self.headers.compressed, self.headers.tcp_ip) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(ScenarioError::key(key("tcp_ip"), format!("needs {}", key("compressed"))));
            }
            (Some(compressed), full) => {
                let full = full.unwrap_or(Size(HeaderCompression::VAN_JACOBSON.header));
                self.headers.tcp_ip = Some(full);
                if full.0 > link.packets.headers {
                    let whose =
                        if link.table == "link" { "packet (tcp.headers)" } else { "packet (tcp.ack_size)" };
                    let problem =
                        format!("must be at most {} B, the headers of a {whose}", link.packets.headers);
                    return Err(ScenarioError::value(key("tcp_ip"), &json(full), problem));
                }
                if compressed.0 > full.0 {
                    let problem = format!("must be at most {} = \"{full}\"", key("tcp_ip"));
                    return Err(ScenarioError::value(key("compressed"), &json(compressed), problem));
                }
                Some(HeaderCompression { header: full.0, compressed: compressed.0 })
            }
        };
        let framing = self.headers.ppp.get_or_insert(Size(0)).0;
        Ok(SegmentationConfig { payload: payload.0, packing, framing, header_compression })
    }
}
