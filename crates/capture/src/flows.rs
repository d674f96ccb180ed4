//! Flows of a capture, which encode their packets.

use crate::error::CaptureError;
use crate::flow::{Connection, Flow};
use crate::packet::{Direction, Endpoints, IpVersion, Packet, UDP_HEADER};
use crate::quic::QuicFlow;
use crossfade_transport::{Ack, Segment};
use etherparse::IpEcn;
use std::collections::HashMap;

/// Flows of a capture by number: TCP connections, QUIC connections, and UDP datagrams without feedback.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    ip: IpVersion,
    /// Options of every TCP flow that has none of its own.
    usual: Connection,
    tcp: HashMap<u32, Flow>,
    quic: HashMap<u32, QuicFlow>,
    /// IPv4 identification of the next datagram of a flow without feedback.
    datagrams: HashMap<u32, u16>,
}

impl Flows {
    /// No flows yet; `usual` holds for every flow of TCP that [`connect`](Self::connect) does not describe.
    ///
    /// # Errors
    /// If the MSS or the window is out of range.
    pub(crate) fn new(ip: IpVersion, usual: Connection) -> Result<Self, CaptureError> {
        usual.check()?;
        Ok(Self { ip, usual, tcp: HashMap::new(), quic: HashMap::new(), datagrams: HashMap::new() })
    }

    /// Sets the options of a TCP flow before its first packet.
    ///
    /// # Errors
    /// If the MSS or the window is out of range, or the flow has begun.
    pub(crate) fn connect(&mut self, flow: u32, connection: Connection) -> Result<(), CaptureError> {
        connection.check()?;
        if self.tcp.get(&flow).is_some_and(Flow::has_begun) {
            return Err(CaptureError::HasBegun { flow });
        }
        self.tcp.insert(flow, Flow::new(self.ip, flow, connection));
        Ok(())
    }

    pub(crate) fn connect_quic(&mut self, flow: u32, mss: u32, ecn: bool) {
        self.quic.insert(flow, QuicFlow::new(self.ip, flow, mss, ecn));
    }

    /// State of the TCP flow with this number, which is created at its first use.
    pub(crate) fn tcp(&mut self, flow: u32) -> &mut Flow {
        let (ip, usual) = (self.ip, self.usual);
        self.tcp.entry(flow).or_insert_with(|| Flow::new(ip, flow, usual))
    }

    /// UDP datagram of `bytes` with a QUIC packet; `None` if `flow` is not one of QUIC.
    pub(crate) fn quic_packet(&mut self, flow: u32, bytes: u32, packet: &Segment) -> Option<Packet> {
        Some(self.quic.get_mut(&flow)?.data(bytes, packet))
    }

    /// UDP datagram of `bytes` with a QUIC acknowledgement; `None` if `flow` is not one of QUIC.
    pub(crate) fn quic_ack(&mut self, flow: u32, bytes: u32, ack: &Ack) -> Option<Packet> {
        Some(self.quic.get_mut(&flow)?.ack(bytes, ack))
    }

    /// UDP datagram of a flow without feedback. If `bytes` is less than its headers, these alone are recorded.
    pub(crate) fn datagram(&mut self, flow: u32, bytes: u32) -> Packet {
        let endpoints = Endpoints::new(self.ip, flow);
        let number = self.datagrams.entry(flow).or_default();
        let zeros = bytes.saturating_sub(endpoints.ip_header_len() + UDP_HEADER);
        let headers = endpoints.datagram(Direction::ToReceiver, IpEcn::NotEct, *number, &[], zeros);
        *number = number.wrapping_add(1);
        Packet { headers, zeros }
    }
}
