//! Fast retransmit and limited transmit, with the stimuli and expectations of the public packetdrill scripts (see
//! `docs/packetdrill.md`).

use crate::ladder::{Ladder, config, rack};
use crossfade_transport::{TcpConfig, Variant};

/// Three duplicate ACKs trigger the retransmission of the oldest segment (packetdrill script
/// `fast_retransmit/fr-4pkt`).
#[test]
fn three_duplicates_repeat_the_oldest() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        let mut tcp = Ladder::new(&config(variant));
        tcp.write(4);
        send!(tcp, 0..4);
        ack!(tcp, +100, 0);
        ack!(tcp, +0, 0);
        send!(tcp);
        ack!(tcp, +0, 0);
        send!(tcp, 0..1);
        ack!(tcp, +100, 4);
        send!(tcp);
        assert!(tcp.sender.is_done());
    }
}

/// `OldTahoe` ignores duplicate ACKs and waits for the timer (stimulus of packetdrill script `fast_retransmit/fr-4pkt`).
#[test]
fn old_tahoe_waits_for_the_timer() {
    let mut tcp = Ladder::new(&config(Variant::OldTahoe)).warm_up(100);
    tcp.write(4);
    send!(tcp, 0..4);
    for after in [100, 0, 0, 0] {
        ack!(tcp, +after, 0);
        send!(tcp);
    }
    // SRTT + 4 RTTVAR = 100 + 4 * 50 ms after the segments.
    timer!(tcp, +200, Retransmission);
    send!(tcp, 0..1);
}

/// Three reported segments trigger the retransmission of the oldest one (packetdrill scripts
/// `fast_retransmit/fr-4pkt-sack`, `fr-4pkt-sack-bsd`).
#[test]
fn three_reported_segments_repeat_the_oldest() {
    for config in [config(Variant::Sack), rack(Variant::Sack)] {
        let mut tcp = Ladder::new(&config).warm_up(100);
        tcp.write(4);
        send!(tcp, 0..4);
        ack!(tcp, +100, 0, sack 1..2);
        ack!(tcp, +0, 0, sack 1..3);
        send!(tcp);
        ack!(tcp, +0, 0, sack 1..4);
        send!(tcp, 0..1);
        ack!(tcp, +100, 4);
        send!(tcp);
        assert!(tcp.sender.is_done());
    }
}

/// RACK retransmits an overtaken segment after a quarter of the round trip (packetdrill script
/// `fast_retransmit/fr-4pkt-fack-last-mss`).
#[test]
fn what_the_last_segment_has_overtaken_is_lost_after_a_quarter_of_the_round_trip() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(4);
    send!(tcp, 0..4);
    ack!(tcp, +100, 0, sack 3..4);
    send!(tcp);
    timer!(tcp, +25, Reordering);
    send!(tcp, 0..1);
}

/// With RACK two segments, of which the first is lost, are enough for a fast retransmit (packetdrill script
/// `early_retransmit/early-retransmit`; RACK replaces RFC 5827).
#[test]
fn two_segments_are_enough_for_a_fast_retransmit_by_time() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(2);
    send!(tcp, 0..2);
    ack!(tcp, +100, 0, sack 1..2);
    send!(tcp);
    timer!(tcp, +25, Reordering);
    send!(tcp, 0..1);
    ack!(tcp, +100, 2);
    assert!(tcp.sender.is_done());
}

/// Each of the first two duplicate ACKs lets a new segment leave (packetdrill script
/// `limited_transmit/limited-transmit-no-sack`).
#[test]
fn the_first_two_duplicates_send_new_segments() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let mut tcp = Ladder::new(&config(variant)).warm_up(100);
        tcp.write(15);
        send!(tcp, 0..10);
        ack!(tcp, +110, 0);
        send!(tcp, 10..11);
        ack!(tcp, +10, 0);
        send!(tcp, 11..12);
        // Reordering, not loss: the window grows from 10 to 11.
        ack!(tcp, +10, 3);
        send!(tcp, 12..14);
        ack!(tcp, +20, 5);
        send!(tcp, 14..15);
        for next in [7, 9, 11, 13, 15] {
            ack!(tcp, +20, next);
            send!(tcp);
        }
        assert_eq!(tcp.counts().fast_retransmits, 0);
    }
}

/// Each of the first two SACK reports lets a new segment leave (packetdrill script
/// `limited_transmit/limited-transmit-sack`).
#[test]
fn the_first_two_reports_send_new_segments() {
    for config in [config(Variant::Sack), rack(Variant::Sack)] {
        let mut tcp = Ladder::new(&config).warm_up(100);
        tcp.write(15);
        send!(tcp, 0..10);
        ack!(tcp, +110, 0, sack 1..2);
        send!(tcp, 10..11);
        ack!(tcp, +10, 0, sack 1..3);
        send!(tcp, 11..12);
        ack!(tcp, +5, 3);
        send!(tcp, 12..14);
        ack!(tcp, +20, 5);
        send!(tcp, 14..15);
        for next in [7, 9, 11, 13, 15] {
            ack!(tcp, +20, next);
            send!(tcp);
        }
        assert_eq!(tcp.counts().fast_retransmits, 0);
    }
}

/// Without limited transmit, which RFC 3042 makes optional, duplicate ACKs let no segment leave.
#[test]
fn without_limited_transmit_duplicates_send_nothing() {
    for variant in [Variant::NewReno, Variant::Sack] {
        let config = TcpConfig { limited_transmit: false, ..config(variant) };
        let mut tcp = Ladder::new(&config).warm_up(100);
        tcp.write(15);
        send!(tcp, 0..10);
        ack!(tcp, +110, 0, sack 1..2);
        ack!(tcp, +10, 0, sack 1..3);
        send!(tcp);
    }
}

/// A single SACK report does not change the window (packetdrill script
/// `cwnd_moderation/cwnd-moderation-disorder-no-moderation`).
#[test]
fn a_single_report_leaves_the_window_alone() {
    let mut tcp = Ladder::new(&config(Variant::Sack)).warm_up(100);
    tcp.write(4);
    send!(tcp, 0..4);
    ack!(tcp, +100, 0, sack 1..2);
    assert_eq!(tcp.cwnd(), 10.0);
}

/// `NewReno` repairs one of three holes in a window per round trip; after recovery the window is `ssthresh` (RFC 6582
/// section 3.2).
#[test]
fn newreno_repairs_a_hole_each_round_trip() {
    let mut tcp = Ladder::new(&config(Variant::NewReno)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    // 0, 3 and 6 are lost: seven duplicates.
    for (i, after) in [100, 0, 0, 0, 0, 0, 0].into_iter().enumerate() {
        ack!(tcp, +after, 0);
        if i == 2 {
            send!(tcp, 0..1);
            assert_eq!((tcp.ssthresh(), tcp.cwnd()), (5.0, 8.0));
        }
    }
    // 5 + 3 + 4 more duplicates.
    assert_eq!(tcp.cwnd(), 12.0);
    ack!(tcp, +100, 3);
    // Deflated by three segments, one added.
    assert_eq!(tcp.cwnd(), 10.0);
    send!(tcp, 3..4);
    ack!(tcp, +100, 6);
    send!(tcp, 6..7);
    ack!(tcp, +100, 10);
    // A full acknowledgement: min(ssthresh, max(FlightSize, 1) + 1).
    assert_eq!(tcp.cwnd(), 2.0);
    assert_eq!(tcp.counts().fast_retransmits, 1);
    assert_eq!(tcp.counts().timeouts, 0);
}

/// Reno leaves recovery with the first new acknowledgement, and repairs a second hole only after the timer (RFC 5681
/// section 3.2).
#[test]
fn reno_waits_for_the_timer_of_a_second_hole() {
    let mut tcp = Ladder::new(&config(Variant::Reno)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    for after in [100, 0, 0, 0, 0, 0, 0, 0] {
        ack!(tcp, +after, 0);
        tcp.poll();
    }
    ack!(tcp, +100, 3);
    assert_eq!(tcp.cwnd(), 5.0);
    send!(tcp);
    timer!(tcp, +300, Retransmission);
    send!(tcp, 3..4);
}
