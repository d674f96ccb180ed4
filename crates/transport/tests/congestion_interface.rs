//! Events reported to a congestion control that asks for samples, and their order.

use crate::ladder::{Ladder, config, ms, rack, with_timestamps};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_transport::congestion::{
    AckSample, CongestionControl, ControlInfo, LostSegment, Needs, Phase, RateSample, SendEvent,
};
use crossfade_transport::{AccEcn, Ack, Pacing, RfcConfig, Sender, TcpConfig, Variant};
use std::sync::{Arc, Mutex};

/// Congestion control that records the events it receives; its window is its own, or set by recovery.
struct Listener {
    heard: Arc<Mutex<Vec<String>>>,
    needs: Needs,
    cwnd: f64,
}

impl Listener {
    fn says(&self, what: impl Into<String>) {
        self.heard.lock().unwrap().push(what.into());
    }
}

impl CongestionControl for Listener {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        5.0
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.says(format!("ack of {}", ack.acked));
    }
    fn on_loss(&mut self, _now: SimTime, window: f64) {
        self.says(format!("loss at {window}"));
    }
    fn on_timeout(&mut self, _now: SimTime, window: f64) {
        self.says(format!("timeout at {window}"));
    }
    fn set_cwnd(&mut self, cwnd: f64) {
        assert!(!self.needs.own_window, "the window is the control's");
        self.cwnd = cwnd;
    }
    fn on_ecn(&mut self, _now: SimTime, window: f64) {
        self.says(format!("mark at {window}"));
    }
    fn undo(&mut self) {
        self.says("undo");
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn seed(&mut self, _stream: Stream) {
        self.says("seed");
    }
    fn on_send(&mut self, send: &SendEvent) {
        let idle = if send.after_idle { " after idle" } else { "" };
        self.says(format!("send on {}{idle}", send.in_flight));
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.says(format!("lost of {}, {} since", lost.tx_in_flight, lost.lost_since_sent));
    }
    fn on_probe_repaired(&mut self, _now: SimTime, app_limited: bool) {
        self.says(format!("repaired by a probe, app_limited {app_limited}"));
    }
    fn on_phase(&mut self, _now: SimTime, phase: Phase, in_flight: u64) {
        self.says(format!("{phase:?} with {in_flight}"));
    }
    fn on_delivery(&mut self, sample: &RateSample) {
        let RateSample { newly_acked, newly_lost, in_flight, prior_in_flight, ce, .. } = *sample;
        let probe = if sample.answers_probe { ", of a probe perhaps" } else { "" };
        self.says(format!(
            "{newly_acked} acked, {newly_lost} lost, {prior_in_flight} to {in_flight}, ce {ce}{probe}"
        ));
    }
    fn info(&self) -> ControlInfo {
        ControlInfo { state: "listening", ..ControlInfo::default() }
    }
}

const ALL: Needs = Needs { samples: true, own_window: true, random: true, ect_1: false, paced: false };

type Heard = Arc<Mutex<Vec<String>>>;

fn listener(config: &TcpConfig, needs: Needs) -> (Ladder, Heard) {
    let heard = Heard::default();
    let control = Listener { heard: Arc::clone(&heard), needs, cwnd: 10.0 };
    (Ladder::with(config, Box::new(control)), heard)
}

fn take(heard: &Heard) -> Vec<String> {
    std::mem::take(&mut *heard.lock().unwrap())
}

#[test]
fn within_an_acknowledgement_events_come_in_one_order() {
    let config = config(Variant::Sack);
    let config = TcpConfig { rfc: RfcConfig { ecn: true, ..config.rfc }, ..config };
    let (mut tcp, heard) = listener(&config, ALL);
    tcp.write(12);
    send!(tcp, 0..10);
    let sends: Vec<String> = (1..10).map(|n| format!("send on {n}")).collect();
    let first = take(&heard);
    assert_eq!(first[0], "send on 0 after idle");
    assert_eq!(first[1..], sends);
    // 0 and 1 are lost; the third report shows the first, a mark comes with it.
    ack!(tcp, +100, 0, sack 2..4);
    assert_eq!(take(&heard), ["2 acked, 0 lost, 10 to 8, ce 0"]);
    send!(tcp, 10..12);
    let _sent = take(&heard);
    tcp.ack(0, 0, std::slice::from_ref(&(2..5)), None, true);
    let expected = [
        "mark at 10",
        "lost of 1, 1 since",
        "lost of 2, 2 since",
        // The mark has said it: no `loss` of the same window.
        "Recovery with 7",
        "1 acked, 2 lost, 10 to 7, ce 1",
    ];
    assert_eq!(take(&heard), expected);
    // The last is repeated in case it was lost too (RFC 6675 section 4, control 4).
    send!(tcp, 0..2, 11..12);
    assert_eq!(take(&heard), ["send on 7", "send on 8", "send on 9"]);
    ack!(tcp, +100, 12);
    assert_eq!(take(&heard), ["Open with 0", "9 acked, 0 lost, 10 to 0, ce 0"]);
}

/// A loss repaired by a tail loss probe is reported (RFC 8985 section 7.4.2): an acknowledgement of the segment that
/// the probe retransmits may be of the original; one beyond it shows that the original was lost.
#[test]
fn a_loss_repaired_by_a_probe_is_told() {
    let (tcp, heard) = listener(&rack(Variant::Sack), ALL);
    let mut tcp = tcp.warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 9);
    timer!(tcp, +250, TailLossProbe);
    send!(tcp, 9..10);
    let _before = take(&heard);
    ack!(tcp, +100, 10);
    assert_eq!(take(&heard), ["1 acked, 0 lost, 2 to 0, ce 0, of a probe perhaps", "ack of 1"]);
    tcp.write(1);
    send!(tcp, 10..11);
    let _sent = take(&heard);
    ack!(tcp, +100, 11);
    let told = take(&heard);
    assert_eq!(told[..2], ["repaired by a probe, app_limited true", "loss at 1"]);
    assert_eq!(told[2], "1 acked, 0 lost, 1 to 0, ce 0");
}

/// The number of new marks is read from the three bits of the ACE field (RFC 9768 appendix A.2.1): with (newly
/// acknowledged, difference modulo 8) of (9, 2), (10, 2) and (8, 0) it is 2, 10 and 8; an overtaken acknowledgement
/// reports none.
#[test]
fn marks_are_read_from_three_bits() {
    let config = with_timestamps(config(Variant::Sack));
    let rfc = RfcConfig { ecn: true, accurate_ecn: true, ..config.rfc };
    let heard = Heard::default();
    let needs = Needs { ect_1: true, ..ALL };
    let control = Listener { heard: Arc::clone(&heard), needs, cwnd: 60.0 };
    let mut sender =
        Sender::with_congestion_control(TcpConfig { rfc, w_max: 60, ..config }, Box::new(control));
    sender.write(60);
    while sender.poll_transmit(ms(0)).is_some() {}
    let mut marks = |now: u64, next_expected: u64, ace: u8| {
        let _before = take(&heard);
        let (accurate, timestamp_echo) = (AccEcn::new(ace, None), Some(ms(0)));
        sender.on_ack(ms(now), &Ack { next_expected, accurate, timestamp_echo, ..Ack::default() });
        let told = take(&heard).into_iter().find(|line| line.contains(", ce ")).unwrap();
        told.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!([marks(100, 9, 7), marks(101, 19, 1), marks(102, 27, 1)], [2, 10, 8]);
    assert_eq!([marks(103, 20, 7), marks(104, 28, 2)], [0, 1]);
}

#[test]
fn a_loss_is_told_before_the_recovery_and_growth_after_the_sample() {
    let (mut tcp, heard) = listener(&config(Variant::Sack), ALL);
    tcp.write(10);
    send!(tcp, 0..10);
    let _sent = take(&heard);
    ack!(tcp, +100, 1);
    assert_eq!(take(&heard), ["1 acked, 0 lost, 10 to 9, ce 0", "ack of 1"]);
    ack!(tcp, +0, 1, sack 2..5);
    let expected = ["lost of 2, 1 since", "loss at 9", "Recovery with 5", "3 acked, 1 lost, 9 to 5, ce 0"];
    assert_eq!(take(&heard), expected);
}

#[test]
fn a_timeout_tells_losses_then_itself_then_the_phase_each_time() {
    let (mut tcp, heard) = listener(&config(Variant::Sack), ALL);
    tcp.write(3);
    send!(tcp, 0..3);
    let _sent = take(&heard);
    timer!(tcp, +1000, Retransmission);
    let expected =
        ["timeout at 3", "lost of 1, 1 since", "lost of 2, 2 since", "lost of 3, 3 since", "Loss with 0"];
    assert_eq!(take(&heard), expected);
    // The window stays what the control says: all three may be repeated.
    send!(tcp, 0..3);
    let _sent = take(&heard);
    timer!(tcp, +2000, Retransmission);
    let again = take(&heard);
    assert_eq!(again.last().unwrap(), "Loss with 0", "{again:?}");
    assert!(!again.iter().any(|event| event.starts_with("timeout")), "RFC 5681 section 3.1: {again:?}");
}

#[test]
fn a_rule_that_asks_for_nothing_hears_what_it_always_did() {
    let (mut tcp, heard) = listener(&config(Variant::Sack), Needs::default());
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 1);
    ack!(tcp, +0, 1, sack 2..5);
    assert_eq!(take(&heard), ["ack of 1", "loss at 9"]);
    assert!(tcp.cwnd() < 10.0, "recovery sets the window");
    assert_eq!(tcp.sender.info().state, "listening");
    assert_eq!(tcp.sender.info().bandwidth, None);
    assert_eq!(tcp.sender.info().to_string(), "state=listening");
    let own =
        ControlInfo { own: Some("a=1 b=2".to_owned()), gains: Some((1.25, 2.0)), ..ControlInfo::default() };
    assert_eq!(own.to_string(), "pacing_gain=1.25 cwnd_gain=2 a=1 b=2");
}

#[test]
fn a_spurious_recovery_is_taken_back_before_the_sample() {
    let config = with_timestamps(rack(Variant::Sack));
    let (mut tcp, heard) = listener(&config, ALL);
    let mut tcp = {
        tcp.write(10);
        send!(tcp, 0..10);
        tcp
    };
    ack!(tcp, +100, 0, echo 0, sack 1..5);
    send!(tcp, 0..1);
    let _recovery = take(&heard);
    // The original arrives after all.
    ack!(tcp, +10, 5, echo 0);
    let expected = ["undo", "Open with 5", "1 acked, 0 lost, 6 to 5, ce 0"];
    assert_eq!(take(&heard), expected);
}

#[test]
fn random_numbers_are_given_to_those_who_ask() {
    let heard = Heard::default();
    for (needs, expected) in [(ALL, 1), (Needs::default(), 0)] {
        let control = Listener { heard: Arc::clone(&heard), needs, cwnd: 10.0 };
        let mut sender = Sender::with_congestion_control(config(Variant::Sack), Box::new(control));
        sender.seed(|| RunSeed { seed: 1, run: 0 }.stream("congestion.flow"));
        assert_eq!(take(&heard).len(), expected);
    }
}

/// Pacing spreads the window over the RTT at the configured ratio, in windows per RTT; the segments of a quantum leave
/// at once.
#[test]
fn a_window_is_spread_over_the_round_trip() {
    let paced = |ratio, quantum| {
        let config = config(Variant::Sack);
        let pacing = Some(Pacing { slow_start_ratio: ratio, ratio, quantum: Some(quantum) });
        TcpConfig { rfc: RfcConfig { pacing, ..config.rfc }, ..config }
    };
    // Nothing is paced before a round trip is known; after 100 ms ten segments each 100 ms.
    let mut tcp = Ladder::new(&paced(1.0, 1)).warm_up(100);
    tcp.write(100);
    let mut sent = Vec::new();
    for _ in 0..10 {
        assert_eq!(tcp.poll().len(), 1, "one at a time");
        sent.push(tcp.now());
        tcp.wake();
    }
    assert_eq!(sent, (10..20).map(|n| ms(10 * n)).collect::<Vec<_>>());
    assert_eq!(tcp.cwnd(), 10.0);
    let mut tcp = Ladder::new(&paced(2.0, 4)).warm_up(100);
    tcp.write(100);
    assert_eq!(tcp.poll().len(), 4, "a quantum leaves at once");
    assert_eq!(tcp.wake(), ms(120));
    assert_eq!(tcp.poll().len(), 4);
}
