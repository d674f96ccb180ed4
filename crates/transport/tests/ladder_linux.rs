//! Findings of the comparison with a real kernel (docs/kernel.md): fixed bugs, and rules of Linux.

use crate::ladder::{Ladder, config, ms, rack, with_timestamps};
use crossfade_transport::{CongestionControlKind, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};

/// Profile `linux` over a path with an RTT of 80 ms; every segment is acknowledged.
fn linux(variant: Variant) -> TcpConfig {
    let rule = RtoRule::Estimated { min: ms(200), initial: ms(1000), granularity: ms(200) };
    let uses_sack = variant == Variant::Sack;
    let rfc = RfcConfig {
        timestamps: false,
        delayed_ack: None,
        handshake_rtt: Some(ms(80)),
        rack: uses_sack,
        tail_loss_probe: uses_sack,
        ..RfcConfig::linux()
    };
    TcpConfig { rto: RtoConfig { rule, backoff: true, max: ms(60_000) }, rfc, ..config(variant) }
}

/// At a timeout all old segments are lost, whatever arrived last, so one timeout is enough for a lost tail (RFC 8985
/// section 6.3).
#[test]
fn after_a_timeout_everything_old_is_lost() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    timer!(tcp, +200, TailLossProbe);
    send!(tcp, 9..10);
    timer!(tcp, +300, Retransmission);
    send!(tcp, 0..1);
    ack!(tcp, +100, 1);
    send!(tcp, 1..3);
    ack!(tcp, +100, 3);
    send!(tcp, 3..6);
}

/// If a timeout in a recovery without SACK proves spurious, the window to which recovery leads is restored, without the
/// inflation by duplicate ACKs.
#[test]
fn an_undo_in_recovery_restores_the_deflated_window() {
    let mut tcp = Ladder::new(&with_timestamps(config(Variant::NewReno))).warm_up(100);
    tcp.write(1000);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, echo 0);
    send!(tcp, 10..11);
    ack!(tcp, +1, 0, echo 0);
    send!(tcp, 11..12);
    ack!(tcp, +1, 0, echo 0);
    send!(tcp, 0..1);
    // 10 of 12 count: what limited transmit sent does not.
    assert_eq!((tcp.ssthresh(), tcp.cwnd()), (5.0, 8.0));
    for _ in 0..4 {
        ack!(tcp, +1, 0, echo 0);
        send!(tcp);
    }
    for _ in 0..4 {
        ack!(tcp, +1, 0, echo 0);
        let _ = tcp.poll();
    }
    assert_eq!(tcp.cwnd(), 16.0, "inflated");
    let wait = tcp.sender.next_timeout().unwrap() / ms(1) - tcp.now_ms();
    timer!(tcp, +wait, Retransmission);
    send!(tcp, 0..1);
    assert_eq!(tcp.cwnd(), 1.0);
    // It answers the original, sent at 100 ms.
    ack!(tcp, +5, 12, echo 100);
    assert_eq!(tcp.counts().spurious_timeouts, 1);
    assert_eq!(tcp.cwnd(), 5.0);
}

#[test]
fn the_handshake_measures_the_first_round_trip() {
    let mut tcp = Ladder::new(&linux(Variant::Sack));
    tcp.write(10);
    send!(tcp, 0..10);
    // Two round trips and 2 ms, 41 ticks, and the next.
    timer!(tcp, +168, TailLossProbe);
    send!(tcp, 9..10);
    // 80 + max(4 * 40, 200): tick 42 + 70, and the next of those that 8 divides, 120.
    timer!(tcp, +312, Retransmission);
    send!(tcp, 0..1);
}

#[test]
fn slow_start_has_no_limit_and_a_loss_halves_the_window() {
    let mut tcp = Ladder::new(&linux(Variant::Sack));
    tcp.write(1000);
    send!(tcp, 0..10);
    ack!(tcp, +80, 10);
    assert_eq!(tcp.cwnd(), 20.0);
    send!(tcp, 10..30);
    ack!(tcp, +80, 10, sack 11..30);
    // Everything but the oldest is reported: its window decides, not what is under way.
    assert_eq!(tcp.ssthresh(), 10.0);
    let _ = tcp.poll();
}

#[test]
fn without_sack_duplicates_stand_for_reports() {
    let mut tcp = Ladder::new(&linux(Variant::NewReno));
    tcp.write(1000);
    send!(tcp, 0..10);
    // Each lets a new segment leave, the third shows the loss; the window is not inflated.
    ack!(tcp, +80, 0);
    send!(tcp, 10..11);
    ack!(tcp, +2, 0);
    send!(tcp, 11..12);
    ack!(tcp, +1, 0);
    send!(tcp, 0..1);
    assert_eq!(tcp.ssthresh(), 5.0);
    // Half of what is reported: one for every second duplicate.
    ack!(tcp, +1, 0);
    send!(tcp);
    ack!(tcp, +1, 0);
    send!(tcp, 12..13);
}

/// A partial acknowledgement removes from the count the duplicate ACKs of the segments covered, except the segment that
/// filled the hole (`tcp_remove_reno_sacks`). Segments 0, 3 and 6 of ten are lost; an acknowledgement of 3 leaves 7 - 2
/// duplicates.
#[test]
fn a_partial_acknowledgement_takes_the_duplicates_that_it_covers() {
    let mut tcp = Ladder::new(&linux(Variant::NewReno));
    tcp.write(1000);
    send!(tcp, 0..10);
    ack!(tcp, +80, 0);
    send!(tcp, 10..11);
    // Each duplicate lets a segment leave until the third shows the loss, then every second does.
    for sent in [vec![11], vec![0], vec![], vec![12], vec![], vec![13]] {
        ack!(tcp, +2, 0);
        assert_eq!(tcp.poll().iter().map(|segment| segment.seq).collect::<Vec<_>>(), sent);
    }
    // 14 - 3 are out, 5 have arrived, one is lost: as many as ssthresh are in flight, and none may follow.
    ack!(tcp, +70, 3);
    send!(tcp);
    assert_eq!((tcp.ssthresh(), tcp.cwnd()), (5.0, 5.0));
    // The arrival of segment 10 makes room for the next hole.
    ack!(tcp, +2, 3);
    send!(tcp, 3..4);
}

#[test]
fn cubic_keeps_whole_windows() {
    let rfc = RfcConfig {
        congestion_control: CongestionControlKind::Cubic,
        hystart: true,
        ..linux(Variant::Sack).rfc
    };
    let mut tcp = Ladder::new(&TcpConfig { rfc, ..linux(Variant::Sack) });
    tcp.write(1000);
    send!(tcp, 0..10);
    ack!(tcp, +80, 0, sack 1..10);
    // 10 * 717 / 1024 = 7.001.
    assert_eq!(tcp.ssthresh(), 7.0);
    let _ = tcp.poll();
}

/// The receiver's window limits new segments (`tcp_snd_wnd_test`), but not retransmissions, and its right edge never
/// moves back (RFC 9293 section 3.8.6.2.1).
#[test]
fn the_receivers_window_bounds_what_is_new() {
    let mut tcp = Ladder::new(&linux(Variant::Sack));
    tcp.write(1000);
    send!(tcp, 0..10);
    tcp.advertise(80, 1, 10);
    send!(tcp, 10..11);
    tcp.advertise(1, 2, 5);
    send!(tcp);
    ack!(tcp, +1, 2, sack 3..4, 5..6, 7..8);
    send!(tcp, 2..3, 4..5, 6..7);
    tcp.advertise(80, 8, 20);
    assert!(tcp.poll().iter().all(|segment| segment.seq < 28));
}
