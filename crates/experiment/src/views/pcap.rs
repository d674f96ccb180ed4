//! Captures of the packets at the senders' network interfaces.

use super::sink::{PORTION_BYTES, Sink};
use crossfade_capture::{Capture as File, CaptureConfig, CaptureError, Connection, Ecn};
use crossfade_core::SimTime;
use crossfade_scenario::{FlowSetup, ScenarioError, Setup, TcpSetup, TrafficSetup};
use crossfade_sim::{Capture, whole_segments};
use crossfade_transport::{Ack, Flavour, RfcConfig, Rules, Segment, Variant};
use std::ops::Range;

/// Writer of a pcap file with the TCP connections of a run; flows with QUIC's recovery and recorded packets appear as
/// UDP datagrams.
pub(crate) struct Pcap<'a> {
    file: File,
    sink: &'a mut Sink<'a>,
    /// TCP properties of the flows that arrive at random; `None` if all flows are UDP.
    arrivals: Option<TcpSetup>,
    /// Numbers of the flows with recorded packets, whose datagrams are captured.
    recorded: Vec<Range<u32>>,
}

/// Connection properties for a capture without TCP.
const NO_CONNECTION: Connection =
    Connection { mss: 1, w_max: 1, timestamps: false, sack: false, ecn: Ecn::Off, linux: false, bytes: None };

impl<'a> Pcap<'a> {
    /// Creates an empty capture of the connections of `setup`, which passes the file to `sink` in portions.
    ///
    /// # Errors
    /// If segments or windows do not fit into TCP headers, or there is nothing to capture.
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
        let flows = Numbered::of(setup);
        let mut file = File::new(config, flows.usual()).map_err(refuse)?;
        for (number, tcp, bytes) in &flows.tcp {
            connect(&mut file, *number, tcp, *bytes).map_err(refuse)?;
        }
        Ok(Self { file, sink, arrivals: flows.arrivals, recorded: flows.recorded })
    }

    /// Passes the remaining packets to the sink.
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

/// Flows of a scenario by their numbers in a run.
pub(super) struct Numbered {
    /// TCP flows and flows with QUIC's recovery: number, properties, and bytes of data if the flow ends.
    pub(super) tcp: Vec<(u32, TcpSetup, Option<u64>)>,
    /// TCP properties of the flows that arrive at random; without such flows those of the first TCP flow.
    pub(super) arrivals: Option<TcpSetup>,
    /// Numbers of the flows with recorded packets.
    recorded: Vec<Range<u32>>,
    /// Numbers of the flows of datagrams without feedback, those with recorded packets included.
    pub(super) datagrams: Vec<Range<u32>>,
}

impl Numbered {
    /// Numbers the flows of a scenario; flows that arrive at random have the numbers after those of all others.
    pub(super) fn of(setup: &Setup) -> Self {
        let arrivals = setup.flows.iter().find(|flow| matches!(flow.traffic, TrafficSetup::Arrivals { .. }));
        let first = setup.flows.iter().find_map(|flow| flow.tcp());
        let arrivals = arrivals.and_then(|flow| flow.tcp()).or(first).copied();
        let mut found = Self { tcp: Vec::new(), arrivals, recorded: Vec::new(), datagrams: Vec::new() };
        let mut number = 0;
        for flow in &setup.flows {
            let numbers = number..number + flow.count;
            match &flow.traffic {
                TrafficSetup::Tcp(tcp, bytes) => found.tcp.extend(numbers.map(|flow| (flow, *tcp, *bytes))),
                TrafficSetup::PacedTcp(tcp, _) => found.tcp.extend(numbers.map(|flow| (flow, *tcp, None))),
                TrafficSetup::Recorded(_) => {
                    found.recorded.push(numbers.clone());
                    found.datagrams.push(numbers);
                }
                TrafficSetup::Udp { .. } | TrafficSetup::Saturated => found.datagrams.push(numbers),
                TrafficSetup::Arrivals { .. } | TrafficSetup::Outside => continue,
            }
            number += flow.count;
        }
        found
    }

    /// Connection properties of a flow that is not described.
    pub(super) fn usual(&self) -> Connection {
        self.arrivals.as_ref().map_or(NO_CONNECTION, |tcp| connection(tcp, None))
    }
}

/// Describes `flow` to the capture; `bytes` is its amount of data, `None` without end.
fn connect(file: &mut File, flow: u32, tcp: &TcpSetup, bytes: Option<u64>) -> Result<(), CaptureError> {
    if let Some(quic) = tcp.config.quic() {
        file.connect_quic(flow, tcp.mss, quic.ecn);
        return Ok(());
    }
    file.connect(flow, connection(tcp, bytes))
}

/// Connection properties of a flow with `bytes` bytes of data; `None`: without end.
pub(super) fn connection(tcp: &TcpSetup, bytes: Option<u64>) -> Connection {
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
        linux: rfc.is_some_and(|rfc| rfc.timer_rules == Rules::Linux),
        bytes: bytes.map(|bytes| {
            let (segments, short_by) = whole_segments(&tcp.config, bytes, tcp.mss);
            segments * u64::from(tcp.mss) - u64::from(short_by)
        }),
    }
}

impl Capture for Pcap<'_> {
    fn arrival(&mut self, flow: u32, bytes: u64) {
        let tcp = self.arrivals.as_ref().expect("the setup has flows that arrive");
        connect(&mut self.file, flow, tcp, Some(bytes)).expect("the setup was checked and the flow is new");
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

    /// Captures the datagrams of recorded flows only; other UDP flows are left out.
    fn datagram(&mut self, now: SimTime, flow: u32, bytes: u32, _seq: u64) {
        if self.recorded.iter().any(|numbers| numbers.contains(&flow)) {
            self.file.on_datagram_sent(now, flow, bytes);
            self.hand_over();
        }
    }
}
