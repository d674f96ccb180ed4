//! A capture of what the senders' network interfaces see.

use super::sink::{PORTION_BYTES, Sink};
use crossfade_capture::{Capture as File, CaptureConfig, CaptureError, Connection, Ecn};
use crossfade_core::SimTime;
use crossfade_scenario::{FlowSetup, ScenarioError, Setup, TcpSetup, TrafficSetup};
use crossfade_sim::{Capture, whole_segments};
use crossfade_transport::{Ack, Flavour, RfcConfig, Segment, Variant};
use std::ops::Range;

/// The TCP connections of a run as a pcap file, and as UDP datagrams those that have QUIC's recovery and recorded packets.
pub(crate) struct Pcap<'a> {
    file: File,
    sink: &'a mut Sink<'a>,
    /// What flows that arrive at random are like.
    arrivals: Option<TcpSetup>,
    /// The numbers of flows whose datagrams are shown.
    recorded: Vec<Range<u32>>,
}

/// Of a capture without TCP.
const NO_CONNECTION: Connection =
    Connection { mss: 1, w_max: 1, timestamps: false, sack: false, ecn: Ecn::Off, bytes: None };

impl<'a> Pcap<'a> {
    /// An empty capture that knows the connections of `setup` and hands the file over to `sink`, piece by piece.
    ///
    /// # Errors
    /// Segments or windows that TCP's headers have no room for; nothing to capture.
    pub(crate) fn new(
        setup: &Setup,
        config: CaptureConfig,
        sink: &'a mut Sink<'a>,
    ) -> Result<Self, ScenarioError> {
        let refuse = |error: CaptureError| ScenarioError::key("pcap", error.to_string());
        let first = setup.flows.iter().find_map(|flow| flow.tcp());
        let is_recorded = |flow: &FlowSetup| matches!(flow.traffic, TrafficSetup::Recorded(_));
        if first.is_none() && !setup.flows.iter().any(is_recorded) {
            return Err(ScenarioError::key("pcap", "there is no TCP to capture: all flows are UDP"));
        }
        // Flows that arrive at random are numbered after those that are there from the start.
        let arrivals = setup.flows.iter().find(|flow| matches!(flow.traffic, TrafficSetup::Arrivals { .. }));
        let arrivals = arrivals.and_then(|flow| flow.tcp()).or(first).copied();
        let usual = arrivals.as_ref().map_or(NO_CONNECTION, |tcp| connection(tcp, None));
        let mut file = File::new(config, usual).map_err(refuse)?;
        let mut recorded = Vec::new();
        let mut number = 0;
        for flow in &setup.flows {
            match &flow.traffic {
                TrafficSetup::Tcp(tcp, bytes) => {
                    for flow in number..number + flow.count {
                        connect(&mut file, flow, tcp, *bytes).map_err(refuse)?;
                    }
                    number += flow.count;
                }
                TrafficSetup::PacedTcp(tcp, _) => {
                    for flow in number..number + flow.count {
                        connect(&mut file, flow, tcp, None).map_err(refuse)?;
                    }
                    number += flow.count;
                }
                TrafficSetup::Recorded(_) => {
                    recorded.push(number..number + flow.count);
                    number += flow.count;
                }
                TrafficSetup::Udp { .. } | TrafficSetup::Saturated => number += flow.count,
                TrafficSetup::Arrivals { .. } | TrafficSetup::Outside => {}
            }
        }
        Ok(Self { file, sink, arrivals, recorded })
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

/// Describes `flow`, which has `bytes` of data to send.
fn connect(file: &mut File, flow: u32, tcp: &TcpSetup, bytes: Option<u64>) -> Result<(), CaptureError> {
    if let Some(quic) = tcp.config.quic() {
        file.connect_quic(flow, tcp.mss, quic.ecn);
        return Ok(());
    }
    file.connect(flow, connection(tcp, bytes))
}

/// A connection that has `bytes` of data to send.
fn connection(tcp: &TcpSetup, bytes: Option<u64>) -> Connection {
    let config = tcp.config.tcp();
    let rfc = config.filter(|config| config.flavour == Flavour::Rfc).map(|config| config.rfc);
    Connection {
        mss: tcp.mss,
        w_max: tcp.config.w_max(),
        timestamps: rfc.is_some_and(|rfc| rfc.timestamps),
        sack: config.is_some_and(|config| config.variant == Variant::Sack),
        ecn: match rfc {
            Some(RfcConfig { ecn: true, accurate_ecn, .. }) => {
                if accurate_ecn {
                    Ecn::Accurate
                } else {
                    Ecn::Echo
                }
            }
            _ => Ecn::Off,
        },
        bytes: bytes.map(|bytes| {
            let (segments, short_by) = whole_segments(&tcp.config, bytes, tcp.mss);
            segments * u64::from(tcp.mss) - u64::from(short_by)
        }),
    }
}

impl Capture for Pcap<'_> {
    fn arrival(&mut self, flow: u32, bytes: u64) {
        let tcp = self.arrivals.as_ref().expect("connections arrive");
        connect(&mut self.file, flow, tcp, Some(bytes)).expect("checked, and new");
    }

    fn segment(&mut self, now: SimTime, flow: u32, bytes: u32, segment: &Segment) {
        if !self.file.on_packet_sent(now, flow, bytes, segment) {
            self.file.on_segment_sent(now, flow, segment);
        }
        self.hand_over();
    }

    fn ack(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack) {
        if !self.file.on_packet_received(now, flow, bytes, ack) {
            self.file.on_ack_received(now, flow, ack);
        }
        self.hand_over();
    }

    /// The capture is one of TCP and of what is recorded.
    fn datagram(&mut self, now: SimTime, flow: u32, bytes: u32, _seq: u64) {
        if self.recorded.iter().any(|numbers| numbers.contains(&flow)) {
            self.file.on_datagram_sent(now, flow, bytes);
            self.hand_over();
        }
    }
}
