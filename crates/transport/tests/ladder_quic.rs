//! Flavour `quic` against RFC 9002: its examples, and its appendices A and B step by step.
//!
//! The test is the network and the receiver. Times are in milliseconds; packets are acknowledged by their numbers.
#![expect(clippy::single_range_in_vec_init, reason = "one range of packets is usual in an acknowledgement")]

use crate::ladder::ms;
use crossfade_core::SimTime;
use crossfade_transport::{
    Ack, AckFrame, AckOutcome, CongestionControlKind, Expired, Pacing, QuicConfig, SackBlock, Sender,
};
use std::ops::Range;

/// Configuration with an initial window of ten packets, no pacing, and an RTT of 40 ms known from the handshake.
fn config() -> QuicConfig {
    QuicConfig {
        initial_ssthresh: f64::INFINITY,
        segments: Some(0),
        handshake_rtt: Some(ms(40)),
        ..QuicConfig::new(1000)
    }
}

struct Ladder {
    sender: Sender,
    now: SimTime,
}

impl Ladder {
    fn new(config: &QuicConfig) -> Self {
        Self { sender: Sender::new(config), now: SimTime::ZERO }
    }

    /// Writes `segments` segments and sends the packets that may leave: returns their packet numbers and segments.
    fn send(&mut self, segments: u64) -> Vec<(u64, u64)> {
        self.sender.write(segments);
        self.poll()
    }

    fn poll(&mut self) -> Vec<(u64, u64)> {
        let now = self.now;
        std::iter::from_fn(|| self.sender.poll_transmit(now))
            .map(|packet| (packet.number, packet.seq))
            .collect()
    }

    /// Advances time by `millis` ms; no timer may expire meanwhile.
    fn wait(&mut self, millis: u64) {
        self.now += ms(millis);
        assert!(
            self.sender.next_timeout().is_none_or(|at| at >= self.now),
            "{:?}",
            self.sender.next_timeout()
        );
    }

    fn ack_with(&mut self, ranges: &[Range<u64>], delay: u64, ce: u32) -> AckOutcome {
        let ranges = ranges.iter().map(|range| SackBlock { start: range.start, end: range.end }).collect();
        let frame = Some(Box::new(AckFrame { delay: ms(delay), ranges, ce }));
        self.sender.on_ack(self.now, &Ack { frame, ..Ack::default() })
    }

    /// Delivers an acknowledgement of the packets `ranges`, highest first, after `after` ms.
    fn ack(&mut self, after: u64, ranges: &[Range<u64>]) -> AckOutcome {
        self.wait(after);
        self.ack_with(ranges, 0, 0)
    }

    /// Lets the next timer expire, which must happen exactly `after` ms from now; returns the timer.
    fn expire(&mut self, after: u64) -> Option<Expired> {
        self.now += ms(after);
        assert_eq!(self.sender.next_timeout(), Some(self.now), "the next timer");
        self.sender.on_timeout(self.now)
    }

    fn windows(&self) -> (f64, f64) {
        let snapshot = self.sender.snapshot();
        (snapshot.cwnd, snapshot.ssthresh)
    }
}

fn pairs(numbers: Range<u64>, first_seq: u64) -> Vec<(u64, u64)> {
    numbers.zip(first_seq..).collect()
}

/// A packet three numbers below an acknowledged one is lost, and its data is retransmitted under a new number (RFC 9002
/// section 6.1.1). The window is halved (section 7.3.2) and grows by packets sent after that (appendix B.5): 1/5 for
/// each, a little less for the second.
#[test]
fn the_packet_threshold() {
    let mut ladder = Ladder::new(&config());
    assert_eq!(ladder.send(100), pairs(0..10, 0));
    assert_eq!(ladder.ack(40, &[1..3]), AckOutcome::New);
    assert_eq!(ladder.windows().0, 12.0, "slow start, and nothing lost yet");
    assert_eq!(ladder.poll(), pairs(10..14, 10));
    assert_eq!(ladder.ack(1, &[1..4]), AckOutcome::FastRetransmit);
    assert_eq!(ladder.windows(), (6.0, 6.0), "what left before the event lets no window grow");
    assert_eq!(ladder.sender.pipe(), 10);
    assert_eq!(ladder.poll(), [], "until the flight is below the window");
    assert_eq!(ladder.ack(1, &[1..9]), AckOutcome::New);
    assert_eq!(ladder.poll(), [(14, 0)], "lost data first");
    assert_eq!(ladder.ack(38, &[1..15]), AckOutcome::RecoveryEnd);
    assert_eq!((ladder.sender.snd_una(), ladder.windows().0), (14, 6.0 + 1.0 / 6.0));
    let counts = ladder.sender.statistics();
    assert_eq!((counts.retransmissions, counts.fast_retransmits, counts.timeouts), (1, 1, 0));
}

/// An overtaken packet is lost 9/8 of the larger of smoothed and latest RTT after its departure (RFC 9002 section
/// 6.1.2).
#[test]
fn the_time_threshold() {
    let mut ladder = Ladder::new(&config());
    ladder.send(2);
    ladder.ack(40, &[1..2]);
    // 40 ms * 9/8 = 45 ms.
    assert_eq!(ladder.expire(5), Some(Expired::Reordering));
    assert_eq!(ladder.poll(), [(2, 0)]);
    assert_eq!(ladder.windows().0, 5.0);
    // The latest round trip counts, not only the smoothed one.
    let mut ladder = Ladder::new(&config());
    ladder.send(2);
    ladder.ack(80, &[1..2]);
    assert_eq!(ladder.expire(10), Some(Expired::Reordering));
}

#[test]
fn thresholds_are_as_configured() {
    let config = QuicConfig { packet_threshold: 5, time_threshold: 1.5, ..config() };
    let mut ladder = Ladder::new(&config);
    ladder.send(10);
    assert_eq!(ladder.ack(40, &[1..5]), AckOutcome::New);
    assert_eq!(ladder.expire(20), Some(Expired::Reordering));
    let mut ladder = Ladder::new(&config);
    ladder.send(10);
    assert_eq!(ladder.ack(40, &[1..6]), AckOutcome::FastRetransmit);
}

/// The probe timeout is srtt + max(4 rttvar, 1 ms) + `max_ack_delay` after the last departure, doubled each time; it
/// sends two probes beyond the window, new data first, marks nothing as lost and leaves the window unchanged (RFC 9002
/// section 6.2).
#[test]
fn the_probe_timeout() {
    let mut ladder = Ladder::new(&config());
    assert_eq!(ladder.send(11), pairs(0..10, 0));
    ladder.wait(7);
    // 40 + 4 * 20 + 25.
    assert_eq!(ladder.expire(138), Some(Expired::Retransmission));
    assert_eq!(ladder.poll(), [(10, 10), (11, 0)], "what is new, then what waits longest");
    assert_eq!((ladder.sender.pipe(), ladder.windows().0), (12, 10.0));
    assert_eq!(ladder.expire(290), Some(Expired::Retransmission));
    assert_eq!(ladder.poll(), [(12, 0), (13, 1)]);
    assert_eq!(ladder.expire(580), Some(Expired::Retransmission));
    assert_eq!(ladder.poll().len(), 2);
    assert_eq!((ladder.sender.statistics().timeouts, ladder.sender.snapshot().backoff), (3, 8));
    // Whatever is acknowledged ends the back-off (appendix A.7).
    ladder.ack(40, &[15..16]);
    assert_eq!(ladder.sender.snapshot().backoff, 1);
}

/// Before the first RTT sample the RTT is assumed to be 333 ms, with half of it as deviation (RFC 9002 section 6.2.2).
#[test]
fn the_first_probe_timeout_without_a_round_trip() {
    let config = config();
    let mut ladder = Ladder::new(&QuicConfig { handshake_rtt: None, ..config });
    ladder.send(1);
    assert_eq!(ladder.expire(333 + 4 * 333 / 2 + 25), Some(Expired::Retransmission));
}

/// An outage after which all packets still arrive costs no window: only probes leave (RFC 9002 section 7.5 counts
/// them). A TCP of RFC 6298 would have a window of one segment.
#[test]
fn a_late_flight_costs_nothing() {
    let mut ladder = Ladder::new(&config());
    ladder.send(100);
    ladder.expire(145);
    assert_eq!(ladder.poll().len(), 2);
    // All ten and the probes arrive 400 ms late.
    ladder.ack(255, &[0..12]);
    assert_eq!(ladder.windows().0, 22.0);
    assert_eq!(ladder.sender.statistics().spurious_losses, 0);
}

/// Example of RFC 9002 section 7.6.3: packet 1 arrives, 2 to 8 are lost, 9 arrives. The probe timeout is 2 s and the
/// duration of persistent congestion 6 s; 7 s lie between 2 and 8.
fn persistent_example(config: &QuicConfig, acked_between: Option<u64>) -> Ladder {
    let mut ladder = Ladder::new(config);
    let sent = |ladder: &mut Ladder, at: u64| {
        ladder.now = ms(at);
        // The times are the example's: its probe timeouts send the last two.
        ladder.sender.write(1);
        assert_eq!(ladder.poll().len(), 1, "at {at}");
    };
    // Packet 0 is the example's 1.
    sent(&mut ladder, 0);
    ladder.ack(200, &[0..1]);
    for at in [1000, 2000, 3000, 4000, 5000, 6000] {
        sent(&mut ladder, at);
    }
    sent(&mut ladder, 8000);
    sent(&mut ladder, 12_000);
    ladder.now = ms(12_200);
    match acked_between {
        None => ladder.ack_with(&[8..9, 0..1], 0, 0),
        Some(number) => ladder.ack_with(&[8..9, number..number + 1, 0..1], 0, 0),
    };
    ladder
}

#[test]
fn persistent_congestion() {
    // A round trip of 200 ms, measured three times: srtt 200 ms, rttvar 56.25 ms, and 200 + 225 + 1575 ms = 2 s.
    let config = QuicConfig { max_ack_delay: ms(1575), ..config() };
    let config = QuicConfig { handshake_rtt: Some(ms(200)), initial_window: 20.0, ..config };
    let ladder = persistent_example(&config, None);
    assert_eq!(ladder.sender.statistics().persistent_congestions, 1);
    // Packet 8 left 7 s after packet 2. The least window, half of the last as threshold; packet 9 lets it grow at once,
    // as there is no recovery.
    assert_eq!(ladder.windows(), (3.0, 10.0));
    // An acknowledgement in between: a loss like others.
    for number in 2..7 {
        let ladder = persistent_example(&config, Some(number));
        assert_eq!(ladder.sender.statistics().persistent_congestions, 0, "{number}");
        assert_eq!(ladder.windows().0, 10.0, "{number}");
    }
}

/// There is no persistent congestion before the first RTT sample (RFC 9002 section 7.6.2).
#[test]
fn no_persistent_congestion_before_the_first_round_trip() {
    let config = QuicConfig { handshake_rtt: None, ..config() };
    let mut ladder = Ladder::new(&config);
    for _ in 0..6 {
        ladder.sender.write(1);
        ladder.poll();
        ladder.now += ms(2000);
    }
    ladder.ack_with(&[5..6], 0, 0);
    let counts = ladder.sender.statistics();
    assert_eq!((counts.persistent_congestions, counts.fast_retransmits), (0, 1));
}

/// A run of lost packets that is detected in pieces counts as one run: 1 to 4 by the packet threshold, 5 later by the
/// time threshold.
#[test]
fn a_row_found_in_pieces_is_persistent() {
    let mut ladder = Ladder::new(&config());
    ladder.send(1);
    ladder.ack(40, &[0..1]);
    // The third sample of 40 ms leaves rttvar 11.25 ms: three times 40 + 45 + 25 are 330 ms.
    for at in [100, 200, 300, 400, 476] {
        ladder.now = ms(at);
        ladder.send(1);
    }
    ladder.send(2);
    ladder.now = ms(516);
    assert_eq!(ladder.ack_with(&[7..8, 0..1], 0, 0), AckOutcome::FastRetransmit);
    assert_eq!(ladder.sender.statistics().persistent_congestions, 0, "1 to 4: 300 ms");
    assert_eq!(ladder.expire(5), Some(Expired::Reordering));
    assert_eq!(ladder.sender.statistics().persistent_congestions, 1, "1 to 5: 376 ms");
}

/// Spurious losses are known exactly, since the packet number tells which transmission arrived. RFC 9002 leaves the
/// window reduced; with `undo` the reduction is undone (RFC 9438 section 4.9).
#[test]
fn a_spurious_loss() {
    for undo in [false, true] {
        let mut ladder = Ladder::new(&QuicConfig { undo, ..config() });
        ladder.send(100);
        ladder.ack(40, &[2..6]);
        assert_eq!(ladder.windows().0, 5.0);
        ladder.ack(1, &[1..6]);
        assert_eq!((ladder.sender.statistics().spurious_losses, ladder.windows().0), (1, 5.0), "one of two");
        ladder.ack(1, &[0..6]);
        let counts = ladder.sender.statistics();
        assert_eq!((counts.spurious_losses, counts.spurious_fast_retransmits), (2, 1));
        assert_eq!((ladder.windows().0, ladder.sender.snd_una()), (if undo { 10.0 } else { 5.0 }, 6));
        assert!(ladder.poll().iter().all(|(_, seq)| *seq > 5), "what has arrived is not sent again");
    }
}

/// A rise of the CE count is a congestion event, once per round trip; marks reported twice or late are none (RFC 9002
/// section 7.1 and appendix B.7).
#[test]
fn marks() {
    let config = config();
    let mut ladder = Ladder::new(&QuicConfig { ecn: true, ..config });
    ladder.sender.write(100);
    let first = ladder.sender.poll_transmit(ladder.now).unwrap();
    assert!(first.ecn_capable && !first.l4s);
    ladder.poll();
    ladder.wait(40);
    ladder.ack_with(&[0..2], 0, 1);
    assert_eq!(ladder.windows(), (5.0, 5.0));
    ladder.ack_with(&[0..4], 0, 2);
    ladder.ack_with(&[0..6], 0, 1);
    assert_eq!(ladder.windows().0, 5.0, "of the same round trip, and of an overtaken acknowledgement");
    assert_eq!(ladder.poll(), [(10, 10)]);
    ladder.wait(40);
    ladder.ack_with(&[0..11], 0, 3);
    assert_eq!((ladder.windows().0, ladder.sender.statistics().ecn_reductions), (2.5, 2));
    ladder.poll();
    ladder.wait(40);
    ladder.ack_with(&[0..13], 0, 4);
    assert_eq!(ladder.windows().0, 2.0, "the least");
}

/// An acknowledgement gives an RTT sample only if its largest packet is newly acknowledged; the ACK delay is subtracted
/// (RFC 9002 sections 5.1 and 5.3).
#[test]
fn round_trips() {
    let mut ladder = Ladder::new(&config());
    ladder.send(100);
    ladder.wait(40);
    ladder.ack_with(&[5..6], 0, 0);
    ladder.wait(4);
    ladder.ack_with(&[4..6], 0, 0);
    let (sum_s, samples) = ladder.sender.rtt_samples();
    assert_eq!((sum_s, samples), (0.04, 1));
}

/// An original and its probe are told apart by packet number: the acknowledgement of an original 1 ms after its probe
/// left measures the original, and the probe's own, 40 ms later, measures the probe (RFC 9002 sections 4.2 and 5.1).
/// TCP without timestamps cannot tell them apart.
#[test]
fn an_original_is_told_from_its_probe() {
    let mut ladder = Ladder::new(&config());
    ladder.send(1);
    assert_eq!(ladder.expire(145), Some(Expired::Retransmission));
    assert_eq!(ladder.poll(), [(1, 0)]);
    ladder.ack(1, &[0..1]);
    let (sum_s, samples) = ladder.sender.rtt_samples();
    assert!((sum_s - 0.146).abs() < 1e-12 && samples == 1, "{sum_s}");
    ladder.ack(39, &[0..2]);
    let (sum_s, samples) = ladder.sender.rtt_samples();
    assert!((sum_s - 0.186).abs() < 1e-12 && samples == 2, "{sum_s}");
}

/// An outage of more than 3 (srtt + max(4 rttvar, 1 ms) + `max_ack_delay`) in which all packets are lost is persistent
/// congestion (RFC 9002 section 7.6.1). The eighth round trip of 40 ms after the handshake's, that of the
/// acknowledgement which shows the losses, leaves rttvar 20 (3/4)^8 = 2.0 ms: 3 (40 + 8 + 25) = 219.03 ms.
#[test]
fn an_outage_that_loses_is_persistent_after_219_ms() {
    for (lasts, is_persistent) in [(219, false), (220, true)] {
        let mut ladder = Ladder::new(&config());
        for number in 0..7 {
            ladder.send(1);
            ladder.ack(40, &[0..number + 1]);
        }
        let began = ladder.now;
        for at in [0, 70, 140, lasts] {
            ladder.now = began + ms(at);
            ladder.send(1);
        }
        // The outage is over, and all that was sent in it is lost.
        ladder.now = began + ms(lasts + 1);
        ladder.send(3);
        ladder.now += ms(40);
        ladder.ack_with(&[11..14, 0..7], 0, 0);
        let counts = ladder.sender.statistics();
        assert_eq!(counts.persistent_congestions, u64::from(is_persistent), "{lasts} ms, {counts:?}");
        if is_persistent {
            assert_eq!(ladder.windows(), (3.0, 5.0), "two, and one for what was acknowledged");
        }
    }
}

/// A window that the application does not fill does not grow; one whose packets wait for the pacer does (RFC 9002
/// section 7.8).
#[test]
fn a_window_not_in_use_does_not_grow() {
    let mut ladder = Ladder::new(&config());
    for round in 0..5 {
        ladder.send(2);
        ladder.ack(40, &[0..2 * round + 2]);
    }
    assert_eq!(ladder.windows().0, 10.0);
    let config = config();
    let pacing = Some(Pacing { slow_start_ratio: 1.25, ratio: 1.25, quantum: Some(1) });
    let mut paced = Ladder::new(&QuicConfig { pacing, ..config });
    paced.sender.write(100);
    // 1.25 * 10 packets in 40 ms: one each 3.2 ms.
    for number in 0..10 {
        assert_eq!(paced.poll(), [(number, number)], "at {}", paced.now);
        let next = paced.sender.next_timeout().unwrap();
        if number < 9 {
            assert_eq!(next, SimTime::from_micros(3200) * (number + 1));
            assert_eq!(paced.sender.on_timeout(next), Some(Expired::Pacing));
            paced.now = next;
        }
    }
    paced.now = ms(40);
    paced.ack_with(&[0..1], 0, 0);
    assert_eq!(paced.windows().0, 11.0);
}

/// Without pacing no burst exceeds the initial window (RFC 9002 section 7.7). The rest of the packets that one
/// acknowledgement frees follow at 1.25 windows per RTT: 10 packets of a window of 20 after 40 ms / 1.25 / 2.
#[test]
fn an_unpaced_burst_is_bounded() {
    let mut ladder = Ladder::new(&config());
    ladder.send(100);
    assert_eq!(ladder.ack(40, &[0..10]), AckOutcome::New);
    assert_eq!((ladder.windows().0, ladder.poll().len()), (20.0, 10));
    assert_eq!(ladder.sender.next_timeout(), Some(ms(40 + 16)));
    ladder.wait(16);
    assert_eq!(ladder.sender.on_timeout(ladder.now), Some(Expired::Pacing));
    assert_eq!(ladder.poll().len(), 10);
    // The window is full, and the probe timeout is next: nothing waits for a burst.
    let last = ladder.sender.next_timeout();
    assert!(last > Some(ms(56 + 40)), "{last:?}");
}

/// An acknowledgement starts a new burst, even while packets wait behind the last burst.
#[test]
fn an_acknowledgement_begins_a_burst_of_its_own() {
    let mut ladder = Ladder::new(&config());
    ladder.send(100);
    assert_eq!(ladder.ack(40, &[0..10]), AckOutcome::New);
    assert_eq!(ladder.poll().len(), 10);
    ladder.wait(1);
    assert_eq!(ladder.poll().len(), 10);
}

/// Acknowledgements that no correct receiver sends change nothing: of packets never sent, without a frame, or with an
/// empty frame.
#[test]
fn nonsense_is_ignored() {
    let mut ladder = Ladder::new(&config());
    ladder.send(3);
    ladder.wait(40);
    assert_eq!(ladder.ack_with(&[2..4], 0, 0), AckOutcome::Stale);
    assert_eq!(ladder.ack_with(&[], 0, 0), AckOutcome::Stale);
    assert_eq!(ladder.ack_with(&[0..0], 0, 0), AckOutcome::Stale);
    assert_eq!(
        ladder.sender.on_ack(ladder.now, &Ack { next_expected: 3, ..Ack::default() }),
        AckOutcome::Stale
    );
    assert_eq!((ladder.sender.pipe(), ladder.sender.snd_una()), (3, 0));
    assert_eq!(ladder.ack_with(&[0..3], 0, 0), AckOutcome::New);
    assert!(ladder.sender.is_done() && ladder.sender.next_timeout().is_none());
    assert_eq!(ladder.ack_with(&[0..3], 0, 0), AckOutcome::Stale, "again");
}

/// Every congestion control reacts to a loss over QUIC.
#[test]
fn controls_answer_a_loss() {
    for (congestion_control, least) in [
        (CongestionControlKind::Reno, 5.0),
        (CongestionControlKind::Cubic, 7.0),
        (CongestionControlKind::HighSpeed, 5.0),
        (CongestionControlKind::Dctcp, 5.0),
        (CongestionControlKind::Prague, 5.0),
        (CongestionControlKind::BbrV1, 4.0),
        (CongestionControlKind::BbrV3, 4.0),
    ] {
        let config = config();
        let ecn = matches!(congestion_control, CongestionControlKind::Dctcp | CongestionControlKind::Prague);
        let mut ladder = Ladder::new(&QuicConfig { congestion_control, ecn, ..config });
        ladder.sender.write(100);
        // A paced rule needs its time.
        while ladder.sender.pipe() < 10 {
            if ladder.poll().is_empty() {
                ladder.now = ladder.sender.next_timeout().unwrap();
                assert_eq!(ladder.sender.on_timeout(ladder.now), Some(Expired::Pacing));
            }
        }
        ladder.now += ms(30);
        assert_eq!(ladder.ack_with(&[1..6], 0, 0), AckOutcome::FastRetransmit, "{congestion_control:?}");
        assert!(ladder.windows().0 >= least, "{congestion_control:?}: {}", ladder.windows().0);
    }
}
