//! Segmentation of packets into frames.

use super::ArqError;
use super::reassembly::Reassembly;
use crate::limit::QueueLimit;
use crate::parcel::Parcel;
use crate::queue::{ByteQueue, QueueConfig, Waiting};
use crate::statistics::LinkStatistics;
use crossfade_core::{SimTime, Stream};

/// Way of dividing the packets of a queue into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Every packet begins with a new frame, and its last frame is padded.
    Padded,
    /// A frame may hold the end of a packet and the beginning of the next.
    Crossing,
}

/// Compression of TCP/IP headers (Van Jacobson, RFC 1144), applied to every packet. The effect of a lost packet on the
/// decompressor is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderCompression {
    /// Length of the header in the packets given to the link, in bytes.
    pub header: u32,
    /// Length of the compressed header on the link, in bytes.
    pub compressed: u32,
}

impl HeaderCompression {
    /// Van Jacobson compression: 40 bytes become 3, as in Chockalingam and Bao, section IV.
    pub const VAN_JACOBSON: Self = Self { header: 40, compressed: 3 };
}

/// Parameters of the segmentation of packets into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentationConfig {
    /// Payload of a frame in bytes.
    pub payload: u32,
    /// Way of dividing packets into frames.
    pub packing: Packing,
    /// Number of bytes that framing adds to each packet: 4 for PPP (flag, header, two of CRC).
    pub framing: u32,
    /// Compression of packet headers; `None`: headers are not compressed.
    pub header_compression: Option<HeaderCompression>,
}

impl SegmentationConfig {
    /// Number of bytes that a packet of `bytes` takes on the link without padding; at least 1.
    pub fn link_bytes(&self, bytes: u32) -> u32 {
        let bytes = match self.header_compression {
            Some(HeaderCompression { header, compressed }) => {
                bytes.saturating_sub(header).saturating_add(compressed)
            }
            None => bytes,
        };
        bytes.saturating_add(self.framing).max(1)
    }

    /// Number of frames that a packet of `bytes` takes if it begins with a new frame.
    ///
    /// ```
    /// use crossfade_link::arq::{HeaderCompression, Packing, SegmentationConfig};
    /// let header_compression = Some(HeaderCompression::VAN_JACOBSON);
    /// let packing = Packing::Padded;
    /// let is99 = SegmentationConfig { payload: 20, packing, framing: 4, header_compression };
    /// assert_eq!([536, 1072].map(|mss| is99.frames(mss + 40)), [28, 54]);
    /// ```
    pub fn frames(&self, bytes: u32) -> u32 {
        self.link_bytes(bytes).div_ceil(self.payload)
    }

    pub(super) fn check(&self) -> Result<(), ArqError> {
        ArqError::unless(self.payload >= 1, "payload", self.payload, "at least 1 byte")
    }
}

/// Queue of packets, and the packet that is being divided into frames.
pub(super) struct Segmenter {
    config: SegmentationConfig,
    /// Limit of a drop-tail queue; a packet that finds the link idle is taken regardless of the limit.
    limit: Option<QueueLimit>,
    queue: ByteQueue,
    /// Packets that the queue dropped after it had accepted them.
    dropped: Vec<Waiting>,
}

impl Segmenter {
    pub(super) fn new(
        config: SegmentationConfig,
        queue: QueueConfig,
        draws: Stream,
    ) -> Result<Self, ArqError> {
        let (limit, queue) = match queue {
            QueueConfig::DropTail(limit) => (limit, QueueConfig::DropTail(None)),
            queue => (None, queue),
        };
        let queue =
            ByteQueue::new(queue.build(draws)?).with_link_bytes(move |bytes| config.link_bytes(bytes));
        Ok(Self { config, limit, queue, dropped: Vec::new() })
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Calls `visit` for the packets of which no frame was made.
    pub(super) fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.queue.discipline().each(visit);
    }

    /// Number of packets of which no frame was made.
    pub(super) fn packets(&self) -> usize {
        self.queue.discipline().packets()
    }

    /// Takes a packet into the queue; returns true if the queue accepted it.
    pub(super) fn push(&mut self, now: SimTime, packet: Parcel) -> bool {
        let is_full = self.limit.is_some_and(|limit| {
            let waiting = self.queue.discipline();
            !self.is_empty() && !limit.admits(waiting.packets(), waiting.bytes(), packet.bytes())
        });
        !is_full && self.queue.push(now, packet, &mut self.dropped).is_ok()
    }

    /// Tells the queue at `now` that the link is idle.
    pub(super) fn rest(&mut self, now: SimTime) {
        let nothing = self.queue.head(now, &mut self.dropped);
        debug_assert_eq!(nothing, None, "it is empty");
    }

    /// Removes and returns the packets that the queue dropped since the last call.
    pub(super) fn dropped(&mut self) -> impl Iterator<Item = Waiting> {
        self.dropped.drain(..)
    }

    /// Number of packets marked "congestion experienced" so far.
    pub(super) fn ecn_marks(&self) -> u64 {
        self.queue.discipline().ecn_marks()
    }

    /// True if the next frame needs more than the rest of the packet that is being divided.
    #[inline]
    pub(super) fn asks_queue(&self) -> bool {
        self.queue.begun() < self.config.payload
    }

    /// Makes the next frame, to be sent at `now`; returns false if the queue has dropped all packets for it.
    #[inline]
    pub(super) fn fill(
        &mut self,
        now: SimTime,
        packets: &mut Reassembly,
        statistics: &mut LinkStatistics,
    ) -> bool {
        if self.asks_queue() {
            return self.fill_from_queue(now, packets, statistics);
        }
        // Fast path: most frames are filled by one packet.
        let left = self.queue.go_on(self.config.payload);
        packets.add_frame(now, left == 0);
        packets.end_frame();
        true
    }

    /// Makes a frame that holds the end of a packet or the beginning of another.
    fn fill_from_queue(
        &mut self,
        now: SimTime,
        packets: &mut Reassembly,
        statistics: &mut LinkStatistics,
    ) -> bool {
        let mut room = self.config.payload;
        while let Some(piece) = self.queue.take(now, room, &mut self.dropped) {
            if piece.is_first() {
                let Waiting { since, packet } = piece.packet;
                statistics.on_transmission(packet.bytes(), now - since);
                packets.begin(packet);
            }
            packets.add_frame(now, piece.is_last());
            room -= piece.bytes;
            if room == 0 || self.config.packing == Packing::Padded {
                break;
            }
        }
        if room == self.config.payload {
            return false;
        }
        packets.end_frame();
        true
    }

    /// Least number of frames still to be made of the packet that is being divided or, if there is none, of the next
    /// one.
    pub(super) fn frames_left(&self) -> Option<u32> {
        let begun = self.queue.begun();
        if begun > 0 {
            return Some(begun.div_ceil(self.config.payload));
        }
        let next = || self.queue.discipline().next_bytes().map_or(1, |bytes| self.config.frames(bytes));
        (!self.is_empty()).then(next)
    }

    /// Number of frames that can be made before the next packet is taken from the queue, which may then drop others;
    /// `None` if the queue never drops accepted packets.
    pub(super) fn frames_before_drops(&self) -> Option<u32> {
        let waiting = self.queue.discipline();
        let may_drop = waiting.packets() > 0 && waiting.next_bytes().is_none();
        may_drop.then_some(self.queue.begun() / self.config.payload)
    }
}
