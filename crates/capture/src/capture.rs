//! The capture: flows side by side in one file.

use crate::error::CaptureError;
use crate::flow::Connection;
use crate::flows::Flows;
use crate::packet::IpVersion;
use crate::pcap::{LINKTYPE_RAW, Pcap};
use crossfade_core::SimTime;
use crossfade_transport::{Ack, Segment};

/// Keep every byte of every packet: tools can verify checksums (tcpdump's default snapshot length).
pub const WHOLE_PACKETS: u32 = 262_144;

/// Configuration of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureConfig {
    /// Version of the Internet Protocol.
    pub ip: IpVersion,
    /// Bytes kept of each packet, 1 and more: [`HEADERS_ONLY`](crate::HEADERS_ONLY) are enough for all
    /// headers.
    pub snaplen: u32,
}

impl Default for CaptureConfig {
    /// Whole packets of IPv4.
    fn default() -> Self {
        Self { ip: IpVersion::V4, snaplen: WHOLE_PACKETS }
    }
}

impl CaptureConfig {
    /// Bytes of each packet that are kept.
    ///
    /// # Errors
    /// None.
    pub(crate) fn snaplen(self) -> Result<u32, CaptureError> {
        match self.snaplen {
            0 => Err(CaptureError::Snaplen { snaplen: 0 }),
            snaplen => Ok(snaplen),
        }
    }
}

/// Encodes what the interfaces of TCP senders see into one pcap file with nanosecond times.
///
/// Call it in order of time. Bytes gather in [`bytes`](Self::bytes); a caller that streams them writes them
/// out and calls [`clear`](Self::clear) now and then.
///
/// What a simulation does not have is added so that tools draw the right graphs:
/// - A handshake precedes the first packet of a flow, at the same instant: no round trip was simulated, so
///   none is shown. Wireshark's `tcp.analysis.initial_rtt` is then the time to the flow's next packet, or
///   missing for a flow that begins at time zero.
/// - After the acknowledgement of the last byte the connection ends, at the same instant again.
/// - Initial sequence numbers are zero, the payload is zeros. Flow i comes from port 50000 + i (7000 flows a
///   host), goes to the discard port, and never meets a router: its time to live is 64.
/// - An acknowledgement shows the receiver's window that it carries ([`Ack::window`]), rounded up to the scale of the
///   handshake, and until one carries any the largest.
/// - A congestion mark is set by a router, so at the sender's interface no packet bears one.
///
/// A flow of QUIC's recovery ([`connect_quic`](Self::connect_quic)) is a flow of UDP datagrams, as long as the link
/// counted them, without a handshake. They hold a short header, a STREAM or an ACK frame as RFC 9000 lays them out, in
/// the clear: there are no keys. The connection id is the number of the flow. They go to the discard port too, lest
/// tools take them for protected.
///
/// A datagram without feedback ([`on_datagram_sent`](Self::on_datagram_sent)) is one of UDP whose payload is zeros.
#[derive(Clone, Debug)]
pub struct Capture {
    flows: Flows,
    pcap: Pcap,
}

impl Capture {
    /// A file without packets. `connection` holds for every flow that [`connect`](Self::connect) does not
    /// describe.
    ///
    /// # Errors
    /// A snapshot length, an MSS or a window out of range.
    pub fn new(config: CaptureConfig, connection: Connection) -> Result<Self, CaptureError> {
        let snaplen = config.snaplen()?;
        Ok(Self { flows: Flows::new(config.ip, connection)?, pcap: Pcap::new(snaplen, LINKTYPE_RAW) })
    }

    /// Describes `flow` before its first packet.
    ///
    /// # Errors
    /// An MSS or a window out of range, or a flow that has begun.
    pub fn connect(&mut self, flow: u32, connection: Connection) -> Result<(), CaptureError> {
        self.flows.connect(flow, connection)
    }

    /// `flow` is one of QUIC's recovery, with `mss` bytes of data in a packet; with `ecn` packets say so.
    pub fn connect_quic(&mut self, flow: u32, mss: u32, ecn: bool) {
        self.flows.connect_quic(flow, mss, ecn);
    }

    /// The sender of `flow` handed a packet of `bytes` to its interface at `now`. Returns whether it is a flow of
    /// QUIC's.
    pub fn on_packet_sent(&mut self, now: SimTime, flow: u32, bytes: u32, packet: &Segment) -> bool {
        let packet = self.flows.quic_packet(flow, bytes, packet);
        packet.is_some_and(|packet| {
            self.pcap.push_packet(now, &packet);
            true
        })
    }

    /// `ack`, in a packet of `bytes`, came to the interface of the sender of `flow` at `now`. Returns whether it is a
    /// flow of QUIC's.
    pub fn on_packet_received(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack) -> bool {
        let packet = self.flows.quic_ack(flow, bytes, ack);
        packet.is_some_and(|packet| {
            self.pcap.push_packet(now, &packet);
            true
        })
    }

    /// The sender of `flow` handed `segment` to its interface at `now`.
    pub fn on_segment_sent(&mut self, now: SimTime, flow: u32, segment: &Segment) {
        self.flows.tcp(flow).data(&mut self.pcap, now, segment);
    }

    /// `ack` came to the interface of the sender of `flow` at `now`.
    pub fn on_ack_received(&mut self, now: SimTime, flow: u32, ack: &Ack) {
        self.flows.tcp(flow).ack(&mut self.pcap, now, ack);
    }

    /// The sender of `flow`, which is UDP without feedback, handed a datagram of `bytes` to its interface at `now`.
    /// What is shorter than its headers is shown as these.
    pub fn on_datagram_sent(&mut self, now: SimTime, flow: u32, bytes: u32) {
        self.pcap.push_packet(now, &self.flows.datagram(flow, bytes));
    }

    /// Bytes encoded since the last [`clear`](Self::clear), or since the start with the header of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.pcap.bytes
    }

    /// Forgets the bytes that were encoded so far. The file goes on.
    pub fn clear(&mut self) {
        self.pcap.bytes.clear();
    }
}
