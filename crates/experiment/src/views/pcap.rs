//! A capture of what the senders' network interfaces see.

use super::sink::{PORTION_BYTES, Sink};
use crossfade_capture::{Capture as File, CaptureConfig, Connection, IpVersion};
use crossfade_core::SimTime;
use crossfade_scenario::{ScenarioError, Setup, TcpSetup, TrafficSetup};
use crossfade_sim::Capture;
use crossfade_transport::{Ack, Flavour, Segment, Variant};

/// The TCP connections of a run as a pcap file.
pub(crate) struct Pcap<'a> {
    file: File,
    sink: &'a mut Sink<'a>,
}

impl<'a> Pcap<'a> {
    /// An empty capture that knows the connections of `setup` and hands the file over to `sink`, piece by piece.
    ///
    /// # Errors
    /// Segments or windows that TCP's headers have no room for; nothing to capture.
    pub(crate) fn new(setup: &Setup, ip: IpVersion, sink: &'a mut Sink<'a>) -> Result<Self, ScenarioError> {
        let refuse = |error: crossfade_capture::CaptureError| ScenarioError::key("pcap", error.to_string());
        let Some(first) = setup.flows.iter().find_map(|flow| flow.tcp()) else {
            return Err(ScenarioError::key("pcap", "there is no TCP to capture: all flows are UDP"));
        };
        // Flows that arrive at random are numbered after those that are there from the start.
        let arrivals = setup.flows.iter().find(|flow| matches!(flow.traffic, TrafficSetup::Arrivals { .. }));
        let usual = arrivals.and_then(|flow| flow.tcp()).unwrap_or(first);
        let mut file = File::new(CaptureConfig { ip, ..CaptureConfig::default() }, connection(usual, None))
            .map_err(refuse)?;
        let mut number = 0;
        for flow in &setup.flows {
            match &flow.traffic {
                TrafficSetup::Tcp(tcp, segments) => {
                    for flow in number..number + flow.count {
                        file.connect(flow, connection(tcp, *segments)).map_err(refuse)?;
                    }
                    number += flow.count;
                }
                TrafficSetup::PacedTcp(tcp, _) => {
                    for flow in number..number + flow.count {
                        file.connect(flow, connection(tcp, None)).map_err(refuse)?;
                    }
                    number += flow.count;
                }
                TrafficSetup::Udp { .. } | TrafficSetup::Saturated => number += flow.count,
                TrafficSetup::Arrivals { .. } | TrafficSetup::Outside => {}
            }
        }
        Ok(Self { file, sink })
    }

    /// Hands over the last packets.
    pub(crate) fn finish(&mut self) {
        (self.sink)(self.file.bytes());
        self.file.clear();
    }

    fn hand_over(&mut self) {
        if self.file.bytes().len() >= PORTION_BYTES {
            self.finish();
        }
    }
}

fn connection(tcp: &TcpSetup, segments: Option<u64>) -> Connection {
    let rfc = tcp.config.flavour == Flavour::Rfc;
    Connection {
        mss: tcp.mss,
        w_max: tcp.config.w_max,
        timestamps: rfc && tcp.config.rfc.timestamps,
        sack: tcp.config.variant == Variant::Sack,
        ecn: rfc && tcp.config.rfc.ecn,
        bytes: segments.map(|segments| segments * u64::from(tcp.mss)),
    }
}

impl Capture for Pcap<'_> {
    fn segment(&mut self, now: SimTime, flow: u32, _bytes: u32, segment: &Segment) {
        self.file.on_segment_sent(now, flow, segment);
        self.hand_over();
    }

    fn ack(&mut self, now: SimTime, flow: u32, _bytes: u32, ack: &Ack) {
        self.file.on_ack_received(now, flow, ack);
        self.hand_over();
    }

    /// The capture is one of TCP.
    fn datagram(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _seq: u64) {}
}
