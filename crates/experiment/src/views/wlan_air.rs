//! Captures of the frames on the air of a Wi-Fi network.

use super::pcap::{Numbered, connection};
use super::sink::{PORTION_BYTES, Sink};
use crossfade_capture::{CaptureConfig, CaptureError, WlanCapture};
use crossfade_core::SimTime;
use crossfade_link::{Parcel, Ppdu};
use crossfade_scenario::{ScenarioError, Setup, TcpSetup};
use crossfade_sim::{Capture, Entering};
use crossfade_transport::{Ack, Segment};
use std::collections::HashMap;
use std::ops::Range;

/// Writer of a pcap file with the frames of a run.
pub(crate) struct WlanAir<'a> {
    file: WlanCapture,
    sink: &'a mut Sink<'a>,
    arrivals: Option<TcpSetup>,
    datagrams: Vec<Range<u32>>,
    /// First bytes of the packets from outside, by packet id.
    outside: HashMap<u32, Vec<u8>>,
}

impl<'a> WlanAir<'a> {
    /// Creates an empty capture of the flows of `setup`, which passes the file to `sink` in portions.
    ///
    /// # Errors
    /// If there is no Wi-Fi network, or segments or windows do not fit into TCP headers.
    pub(crate) fn new(
        setup: &Setup,
        config: CaptureConfig,
        sink: &'a mut Sink<'a>,
    ) -> Result<Self, ScenarioError> {
        if setup.wlan().is_none() {
            let problem = "missing; a Wi-Fi network or a mesh has an air to capture";
            return Err(ScenarioError::key("wlan", problem));
        }
        let refuse = |error: CaptureError| ScenarioError::key("air_pcap", error.to_string());
        let flows = Numbered::of(setup);
        let mut file = WlanCapture::new(config, flows.usual()).map_err(refuse)?;
        for (number, tcp, bytes) in &flows.tcp {
            connect(&mut file, *number, tcp, *bytes).map_err(refuse)?;
        }
        let Numbered { arrivals, datagrams, .. } = flows;
        Ok(Self { file, sink, arrivals, datagrams, outside: HashMap::new() })
    }

    /// Adds the first bytes of a packet from outside that is about to enter, with its id.
    #[cfg(all(target_os = "linux", feature = "live"))]
    pub(crate) fn comes(&mut self, id: u32, bytes: Vec<u8>) {
        self.outside.insert(id, bytes);
    }

    /// Passes the remaining frames to the sink.
    pub(crate) fn finish(&mut self) {
        (self.sink)(self.file.bytes());
        self.file.clear();
    }
}

/// Describes `flow` to the capture; `bytes` is its amount of data, `None` without end.
fn connect(
    file: &mut WlanCapture,
    flow: u32,
    tcp: &TcpSetup,
    bytes: Option<u64>,
) -> Result<(), CaptureError> {
    if let Some(quic) = tcp.config.quic() {
        file.connect_quic(flow, tcp.mss, quic.ecn);
        return Ok(());
    }
    file.connect(flow, connection(tcp, bytes))
}

impl Capture for WlanAir<'_> {
    fn hears(&self) -> bool {
        true
    }

    fn arrival(&mut self, flow: u32, bytes: u64) {
        let tcp = self.arrivals.as_ref().expect("the setup has flows that arrive");
        connect(&mut self.file, flow, tcp, Some(bytes)).expect("the setup was checked and the flow is new");
    }

    fn segment(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _segment: &Segment) {}

    fn ack(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _ack: &Ack) {}

    fn datagram(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _seq: u64) {}

    fn enters(&mut self, _now: SimTime, parcel: Parcel, packet: Entering<'_>) {
        match packet {
            Entering::Segment(flow, _) if self.datagrams.iter().any(|numbers| numbers.contains(&flow)) => {
                self.file.on_datagram(flow, parcel);
            }
            Entering::Segment(flow, segment) => self.file.on_segment(flow, parcel, segment),
            Entering::Ack(flow, ack) => self.file.on_ack(flow, parcel, ack),
            Entering::Outside(outside) => {
                let bytes = self.outside.remove(&outside.id()).unwrap_or_default();
                self.file.on_packet(parcel, bytes);
            }
        }
    }

    fn ppdu(&mut self, ppdu: &Ppdu) {
        self.file.on_ppdu(ppdu);
        if self.file.bytes().len() >= PORTION_BYTES {
            self.finish();
        }
    }
}
