//! Capture of several flows in one pcap file.

use crate::error::CaptureError;
use crate::flow::Connection;
use crate::flows::Flows;
use crate::packet::IpVersion;
use crate::pcap::{LINKTYPE_RAW, Pcap};
use crossfade_core::SimTime;
use crossfade_transport::{Ack, Segment};

/// Snapshot length that keeps every byte of every packet, so that tools can verify checksums (tcpdump's default).
pub const WHOLE_PACKETS: u32 = 262_144;

/// Configuration of a capture: IP version and snapshot length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureConfig {
    /// Version of the Internet Protocol that all packets of the capture have.
    pub ip: IpVersion,
    /// Number of bytes kept of each packet, at least 1; [`HEADERS_ONLY`](crate::HEADERS_ONLY) is enough for all
    /// headers.
    pub snaplen: u32,
}

impl Default for CaptureConfig {
    /// Configuration with IPv4 and whole packets.
    fn default() -> Self {
        Self { ip: IpVersion::V4, snaplen: WHOLE_PACKETS }
    }
}

impl CaptureConfig {
    /// Number of bytes of each packet that are kept.
    ///
    /// # Errors
    /// If it is 0.
    pub(crate) fn snaplen(self) -> Result<u32, CaptureError> {
        match self.snaplen {
            0 => Err(CaptureError::Snaplen { snaplen: 0 }),
            snaplen => Ok(snaplen),
        }
    }
}

/// Encodes what the interfaces of TCP senders see into one pcap file with nanosecond times.
///
/// Events must be handed over in order of time. Bytes gather in [`bytes`](Self::bytes); a caller that streams them
/// writes them out and calls [`clear`](Self::clear) now and then.
///
/// What a simulation does not have is added so that tools draw the right graphs:
/// - A handshake precedes the first packet of a flow, at the same instant: no round trip was simulated, so none is
///   shown. Wireshark's `tcp.analysis.initial_rtt` is then the time to the flow's next packet, or missing for a flow
///   that begins at time zero.
/// - After the acknowledgement of the last byte the connection ends, also at the same instant.
/// - Initial sequence numbers are zero, the payload is zeros. Flow i comes from port 50000 + i (7000 flows a host) and
///   goes to the discard port; its time to live is 64, as no router forwarded it.
/// - An acknowledgement shows the receiver's window that it carries ([`Ack::window`]), rounded up to the scale of the
///   handshake, or the largest window until the first acknowledgement that carries one.
/// - A congestion mark is set by a router, so at the sender's interface no packet bears one.
///
/// A flow with QUIC's loss recovery ([`connect_quic`](Self::connect_quic)) is a flow of UDP datagrams, as long as the
/// link counted them, without a handshake. They hold a short header, a STREAM or an ACK frame as RFC 9000 lays them
/// out, in the clear: there are no keys. The connection id is the number of the flow. They go to the discard port too,
/// lest tools take them for protected.
///
/// A datagram without feedback ([`on_datagram_sent`](Self::on_datagram_sent)) is one of UDP whose payload is zeros.
#[derive(Clone, Debug)]
pub struct Capture {
    flows: Flows,
    pcap: Pcap,
}

impl Capture {
    /// Starts a file without packets; `connection` holds for every flow that [`connect`](Self::connect) does not
    /// describe.
    ///
    /// # Errors
    /// If the snapshot length, the MSS or the window is out of range.
    pub fn new(config: CaptureConfig, connection: Connection) -> Result<Self, CaptureError> {
        let snaplen = config.snaplen()?;
        Ok(Self { flows: Flows::new(config.ip, connection)?, pcap: Pcap::new(snaplen, LINKTYPE_RAW) })
    }

    /// Sets the options of TCP flow `flow`, before its first packet.
    ///
    /// # Errors
    /// If the MSS or the window is out of range, or the flow has begun.
    pub fn connect(&mut self, flow: u32, connection: Connection) -> Result<(), CaptureError> {
        self.flows.connect(flow, connection)
    }

    /// Makes `flow` one of QUIC: UDP datagrams with `mss` bytes of data in a packet, and ECN in the IP header if `ecn`.
    pub fn connect_quic(&mut self, flow: u32, mss: u32, ecn: bool) {
        self.flows.connect_quic(flow, mss, ecn);
    }

    /// Records that the sender of `flow` handed a packet of `bytes` to its interface at `now`. Returns false, and
    /// records nothing, if `flow` is not one of QUIC.
    pub fn on_packet_sent(&mut self, now: SimTime, flow: u32, bytes: u32, packet: &Segment) -> bool {
        let packet = self.flows.quic_packet(flow, bytes, packet);
        packet.is_some_and(|packet| {
            self.pcap.push_packet(now, &packet);
            true
        })
    }

    /// Records that `ack`, in a packet of `bytes`, reached the interface of the sender of `flow` at `now`. Returns
    /// false, and records nothing, if `flow` is not one of QUIC.
    pub fn on_packet_received(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack) -> bool {
        let packet = self.flows.quic_ack(flow, bytes, ack);
        packet.is_some_and(|packet| {
            self.pcap.push_packet(now, &packet);
            true
        })
    }

    /// Records that the sender of TCP flow `flow` handed `segment` to its interface at `now`.
    pub fn on_segment_sent(&mut self, now: SimTime, flow: u32, segment: &Segment) {
        self.flows.tcp(flow).data(&mut self.pcap, now, segment);
    }

    /// Records that `ack` reached the interface of the sender of TCP flow `flow` at `now`.
    pub fn on_ack_received(&mut self, now: SimTime, flow: u32, ack: &Ack) {
        self.flows.tcp(flow).ack(&mut self.pcap, now, ack);
    }

    /// Records that the sender of `flow`, which is UDP without feedback, handed a datagram of `bytes` to its interface
    /// at `now`. A datagram shorter than its IP and UDP headers is recorded as the headers alone.
    pub fn on_datagram_sent(&mut self, now: SimTime, flow: u32, bytes: u32) {
        self.pcap.push_packet(now, &self.flows.datagram(flow, bytes));
    }

    /// Bytes of the pcap file encoded since the last [`clear`](Self::clear); before the first, the file header comes
    /// first.
    pub fn bytes(&self) -> &[u8] {
        &self.pcap.bytes
    }

    /// Discards the bytes encoded so far, which the caller has written; later packets continue the same file.
    pub fn clear(&mut self) {
        self.pcap.bytes.clear();
    }
}
