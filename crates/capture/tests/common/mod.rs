//! Simulated transfers over a lossy path, their captures, and helpers for tshark.

use crossfade_capture::{Capture, CaptureConfig, Connection, Ecn, IpVersion, WHOLE_PACKETS};
use crossfade_core::{EventQueue, RunSeed, SimTime};
use crossfade_transport::{Ack, Flavour, Receiver, RtoConfig, Segment, Sender, TcpConfig, Variant};
use rand::RngExt;
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

pub(crate) const MS: SimTime = SimTime::from_millis(1);
const ONE_WAY: SimTime = SimTime::from_millis(20);
const MSS: u32 = 1448;

pub(crate) const V4: CaptureConfig = CaptureConfig { ip: IpVersion::V4, snaplen: WHOLE_PACKETS };

pub(crate) fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        // Written to stderr directly: the test harness would capture the output of a macro.
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: no tshark on the PATH (Debian: apt-get install tshark)");
    }
    found
}

/// Event of the simulated path or of a timer.
#[derive(Clone, Copy, Debug)]
enum Event {
    DataArrives(Segment),
    /// The oldest acknowledgement under way arrives.
    AckArrives,
    Timer,
    /// The receiver's delayed-acknowledgement timer expires.
    AckTimer,
}

/// Segment or acknowledgement at the sender's interface.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Sent(Segment),
    Acked(Ack),
}

pub(crate) type Log = Vec<(SimTime, Seen)>;

/// TCP configuration of a transfer of `segments` segments.
pub(crate) fn tcp(flavour: Flavour, variant: Variant, w_max: u32, segments: u64) -> TcpConfig {
    TcpConfig {
        initial_window: 2.0,
        limited_transmit: false,
        segments: Some(segments),
        rto: RtoConfig::estimated(MS * 200, MS * 1000, MS * 10),
        ..TcpConfig::new(flavour, variant, w_max)
    }
}

/// Transfer between a sender and a receiver with an RTT of 40 ms over a link of 10 Mbit/s, with independent losses of
/// data and of acknowledgements.
pub(crate) struct Run {
    pub(crate) tcp: TcpConfig,
    pub(crate) connection: Connection,
    pub(crate) start: SimTime,
    pub(crate) loss: f64,
    pub(crate) ack_loss: f64,
    /// Start and end of a stall: nothing passes the path in between.
    pub(crate) stall: Option<(SimTime, SimTime)>,
    pub(crate) seed: u64,
}

impl Run {
    /// Transfer without losses.
    pub(crate) fn new(tcp: TcpConfig, seed: u64) -> Self {
        let connection = Connection {
            mss: MSS,
            w_max: tcp.w_max,
            timestamps: true,
            sack: tcp.variant == Variant::Sack,
            ecn: Ecn::Off,
            linux: false,
            bytes: tcp.segments.map(|segments| segments * u64::from(MSS)),
        };
        Self { tcp, connection, start: SimTime::ZERO, loss: 0.0, ack_loss: 0.0, stall: None, seed }
    }

    pub(crate) fn log(&self) -> Log {
        let mut losses = RunSeed { seed: self.seed, run: 0 }.stream("losses");
        let mut sender = Sender::new(self.tcp);
        let mut receiver = Receiver::new(self.tcp);
        let mut queue = EventQueue::default();
        let mut acks = VecDeque::new();
        let mut log = Log::new();
        let (mut now, mut idle_at) = (self.start, SimTime::ZERO);
        // Expiry times of the sender's and the receiver's timer.
        let mut due = [None; 2];
        loop {
            while let Some(segment) = sender.poll_transmit(now) {
                log.push((now, Seen::Sent(segment)));
                idle_at = idle_at.max(now);
                if let Some((from, until)) = self.stall
                    && (from..until).contains(&idle_at)
                {
                    idle_at = until;
                }
                idle_at += SimTime::to_transmit(MSS + 52, 10e6);
                if !losses.random_bool(self.loss) {
                    queue.schedule(idle_at + ONE_WAY, 0, Event::DataArrives(segment));
                }
            }
            if sender.is_done() {
                return log;
            }
            let timers = [(sender.next_timeout(), Event::Timer), (receiver.next_timeout(), Event::AckTimer)];
            for (scheduled, (deadline, event)) in due.iter_mut().zip(timers) {
                if let Some(deadline) = deadline.filter(|at| scheduled.is_none_or(|earlier| *at < earlier)) {
                    *scheduled = Some(deadline);
                    queue.schedule(deadline.max(now), 2, event);
                }
            }
            let Some((at, event)) = queue.pop() else { panic!("the sender waits for nothing") };
            now = at;
            for scheduled in &mut due {
                *scheduled = scheduled.filter(|at| *at > now);
            }
            let answer = match event {
                Event::DataArrives(segment) => {
                    let mut ack = receiver.on_segment(now, &segment, false).ack;
                    // Flavour `ns2` has no options.
                    if let Some(ack) = ack.as_mut().filter(|_| self.tcp.flavour == Flavour::Ns2) {
                        ack.timestamp_echo = Some(segment.timestamp);
                    }
                    ack
                }
                Event::AckTimer => receiver.on_timeout(now),
                Event::AckArrives => {
                    let ack = acks.pop_front().expect("one for each event");
                    sender.on_ack(now, &ack);
                    log.push((now, Seen::Acked(ack)));
                    None
                }
                Event::Timer => {
                    sender.on_timeout(now);
                    None
                }
            };
            if let Some(ack) = answer.filter(|_| !losses.random_bool(self.ack_loss)) {
                acks.push_back(ack);
                queue.schedule(now + ONE_WAY, 1, Event::AckArrives);
            }
        }
    }
}

/// Capture of flows 0, 1, ..., whose logs are merged in order of time.
pub(crate) fn capture(config: CaptureConfig, flows: &[(Connection, Log)]) -> Capture {
    let mut capture = Capture::new(config, flows[0].0).unwrap();
    let mut events = Vec::new();
    for (flow, (connection, log)) in flows.iter().enumerate() {
        capture.connect(flow as u32, *connection).unwrap();
        events.extend(log.iter().map(|(time, seen)| (*time, flow as u32, seen.clone())));
    }
    events.sort_by_key(|&(time, flow, _)| (time, flow));
    for (time, flow, seen) in events {
        match seen {
            Seen::Sent(segment) => capture.on_segment_sent(time, flow, &segment),
            Seen::Acked(ack) => capture.on_ack_received(time, flow, &ack),
        }
    }
    capture
}

/// Writes a capture to a temporary file for tshark; the caller removes it.
pub(crate) fn save(name: &str, capture: &Capture) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    std::fs::write(&path, capture.bytes()).unwrap();
    path
}
