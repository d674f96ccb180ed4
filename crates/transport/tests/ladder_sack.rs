//! Recovery with SACK and Proportional Rate Reduction, with the stimuli and expectations of the public packetdrill
//! scripts (see `docs/packetdrill.md`). The scripts expect a loss to reduce the window by three tenths, as CUBIC does.

use crate::ladder::{Ladder, config, cubic, rack};
use crossfade_transport::{AckOutcome, RateReduction, ReductionBound, RfcConfig, TcpConfig, Variant};

fn cubic_with_rack(rtt: u64) -> Ladder {
    Ladder::with(&rack(Variant::Sack), cubic()).warm_up(rtt)
}

/// Once the pipe is at `ssthresh`, each SACK report lets one segment leave (packetdrill script
/// `fast_recovery/prr-ss-10pkt-lost-1`).
#[test]
fn at_ssthresh_each_report_sends_a_segment() {
    for config in [config(Variant::Sack), rack(Variant::Sack)] {
        let mut tcp = Ladder::with(&config, cubic()).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        ack!(tcp, +110, 0, sack 1..2);
        ack!(tcp, +10, 0, sack 1..3);
        assert_eq!(ack!(tcp, +10, 0, sack 1..4), AckOutcome::FastRetransmit);
        send!(tcp, 0..1);
        assert_eq!((tcp.cwnd(), tcp.ssthresh()), (7.0, 7.0));
        tcp.write(7);
        send!(tcp);
        for reported in 5..11 {
            ack!(tcp, +10, 0, sack 1..reported);
            send!(tcp, reported + 5..reported + 6);
        }
        assert_eq!(ack!(tcp, +20, 10), AckOutcome::RecoveryEnd);
        send!(tcp, 16..17);
        assert_eq!((tcp.cwnd(), tcp.ssthresh()), (7.0, 7.0));
    }
}

/// A lost retransmission is retransmitted while the rate is being reduced (packetdrill script
/// `fast_recovery/prr-ss-30pkt-lost-1_4-11_16`).
#[test]
fn a_lost_repetition_is_repeated_while_the_rate_is_reduced() {
    let mut tcp = cubic_with_rack(10);
    tcp.write(20);
    send!(tcp, 0..10);
    ack!(tcp, +10, 0, sack 4..5);
    send!(tcp, 10..11);
    ack!(tcp, +2, 0, sack 4..6);
    send!(tcp, 11..12);
    // One in, one out: the four lost ones, then new ones (CRB).
    for (end, sent) in [(7, 0), (8, 1), (9, 2), (10, 3), (11, 12), (12, 13)] {
        ack!(tcp, +2, 0, sack 4..end);
        send!(tcp, sent..sent + 1);
    }
    // Progress: slow start (SSRB).
    ack!(tcp, +10, 1, sack 4..12);
    send!(tcp, 14..16);
    // The retransmission of 1 was overtaken by that of 2: RACK repeats it again.
    ack!(tcp, +2, 1, sack 2..12);
    send!(tcp, 1..2, 16..17);
    ack!(tcp, +2, 1, sack 2..13);
    send!(tcp, 17..18);
    ack!(tcp, +2, 1, sack 2..14);
    send!(tcp, 18..19);
}

/// After recovery the window is `ssthresh` (packetdrill script `fast_recovery/prr-ss-30pkt-lost1_4`).
#[test]
fn the_window_after_recovery_is_ssthresh() {
    let mut tcp = cubic_with_rack(10);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +10, 0, sack 4..5);
    ack!(tcp, +2, 0, sack 4..6);
    for (after, end, sent) in [(0, 7, 0), (0, 8, 1), (0, 9, 2), (0, 10, 3)] {
        ack!(tcp, +after, 0, sack 4..end);
        send!(tcp, sent..sent + 1);
    }
    ack!(tcp, +10, 1, sack 4..10);
    ack!(tcp, +0, 2, sack 4..10);
    ack!(tcp, +0, 3, sack 4..10);
    ack!(tcp, +0, 10);
    tcp.wait(10);
    tcp.write(10);
    send!(tcp, 10..17);
}

/// SACK blocks of an acknowledgement below `snd_una` still count (packetdrill script
/// `fast_recovery/prr-ss-ack-below-snd_una-cubic`).
#[test]
fn an_old_acknowledgement_still_reports() {
    let mut tcp = cubic_with_rack(10);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +10, 0, sack 1..2);
    ack!(tcp, +0, 0, sack 1..3);
    ack!(tcp, +0, 0, sack 1..3, 8..9);
    send!(tcp, 0..1);
    ack!(tcp, +12, 4, sack 8..9);
    send!(tcp, 4..7);
    tcp.write(10);
    ack!(tcp, +2, 3, sack 5..7);
    send!(tcp, 7..8, 10..11);
}

/// Recovery with RACK if segments 2, 6, 8, 3 and 9 are reported in this order (packetdrill script
/// `sack/sack-shift-sacked-2-6-8-3-9-nofack`).
#[test]
fn reports_in_the_order_2_6_8_3_9() {
    let mut tcp = cubic_with_rack(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, sack 2..3);
    ack!(tcp, +1, 0, sack 2..3, 6..7);
    ack!(tcp, +1, 0, sack 2..3, 6..7, 8..9);
    send!(tcp, 0..1);
    // Six are lost, 0 is under way again, and so is 9.
    assert_eq!(tcp.sender.pipe(), 2);
    ack!(tcp, +7, 0, sack 2..4, 6..7, 8..9);
    send!(tcp, 1..2);
    assert_eq!(tcp.sender.pipe(), 3);
    ack!(tcp, +10, 0, sack 2..4, 6..7, 8..10);
    tcp.poll();
    ack!(tcp, +83, 10);
    assert!(tcp.sender.is_done());
    assert_eq!(tcp.sender.pipe(), 0);
}

/// By RFC 6675 a segment is lost once three segments above it are reported: after reports of 2, 6, 8, 3 and 9, segments
/// 3, 4, 5 and 7 are not lost at first.
#[test]
fn three_reports_above_make_a_loss() {
    let mut tcp = Ladder::with(&config(Variant::Sack), cubic()).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, sack 2..3);
    ack!(tcp, +1, 0, sack 2..3, 6..7);
    ack!(tcp, +1, 0, sack 2..3, 6..7, 8..9);
    send!(tcp, 0..1);
    // 0 again, 3, 4, 5, 7, 9; 1 is lost.
    assert_eq!(tcp.sender.pipe(), 6);
    ack!(tcp, +7, 0, sack 2..4, 6..7, 8..9);
    send!(tcp, 1..2);
    ack!(tcp, +10, 0, sack 2..4, 6..7, 8..10);
    // 6, 8 and 9 lie above 4 and 5.
    send!(tcp, 4..5);
}

/// Recovery with RACK if segments 7, 3, 4, 8 and 9 are reported in this order (packetdrill script
/// `sack/sack-shift-sacked-7-3-4-8-9-fack`).
#[test]
fn reports_in_the_order_7_3_4_8_9() {
    let mut tcp = cubic_with_rack(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, sack 7..8);
    timer!(tcp, +25, Reordering);
    send!(tcp, 0..1);
    // Seven are lost; 0 again, 8 and 9 are under way.
    assert_eq!(tcp.sender.pipe(), 3);
    ack!(tcp, +2, 0, sack 3..4, 7..8);
    send!(tcp, 1..2);
    ack!(tcp, +2, 0, sack 3..5, 7..8);
    send!(tcp, 2..3);
    ack!(tcp, +2, 0, sack 3..5, 7..9);
    send!(tcp, 5..6);
    ack!(tcp, +2, 0, sack 3..5, 7..10);
    send!(tcp, 6..7);
    ack!(tcp, +100, 10);
    assert!(tcp.sender.is_done());
}

/// Recovery with RACK if segments 7, 5, 6, 8 and 9 are reported in this order (packetdrill script
/// `sack/sack-shift-sacked-7-5-6-8-9-fack`).
#[test]
fn reports_in_the_order_7_5_6_8_9() {
    let mut tcp = cubic_with_rack(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, sack 7..8);
    timer!(tcp, +25, Reordering);
    send!(tcp, 0..1);
    ack!(tcp, +0, 0, sack 5..6, 7..8);
    send!(tcp, 1..2);
    ack!(tcp, +0, 0, sack 5..8);
    send!(tcp, 2..3);
    ack!(tcp, +0, 0, sack 5..9);
    send!(tcp, 3..4);
    ack!(tcp, +0, 0, sack 5..10);
    send!(tcp, 4..5);
    ack!(tcp, +100, 10);
    assert!(tcp.sender.is_done());
}

/// Segments reported by SACK are not retransmitted (packetdrill script `sack/sack-route-refresh-ip-tos`).
#[test]
fn what_was_reported_is_not_repeated() {
    for config in [config(Variant::Sack), rack(Variant::Sack)] {
        let mut tcp = Ladder::with(&config, cubic());
        for next in [4, 8] {
            tcp.write(4);
            send!(tcp, next - 4..next);
            ack!(tcp, +10, next);
        }
        tcp.write(10);
        send!(tcp, 8..18);
        ack!(tcp, +10, 9, sack 11..12, 14..18);
        send!(tcp, 9..11, 12..14);
        ack!(tcp, +10, 18);
        assert!(tcp.sender.is_done());
    }
}

/// `NextSeg` takes losses, then new data, then holes that are not known to be lost, and at last, once, the highest
/// segment not reported (RFC 6675 section 4).
#[test]
fn the_order_of_repetitions() {
    let rfc = RfcConfig { rate_reduction: RateReduction::Immediate, ..config(Variant::Sack).rfc };
    let config = TcpConfig { rfc, ..config(Variant::Sack) };
    let mut tcp = Ladder::new(&config).warm_up(100);
    tcp.write(11);
    send!(tcp, 0..10);
    // 0, 6 and 9 are lost; limited transmit sends 10, which is lost too.
    ack!(tcp, +100, 0, sack 1..2);
    send!(tcp, 10..11);
    ack!(tcp, +0, 0, sack 1..3);
    ack!(tcp, +0, 0, sack 1..4);
    // (4.3): whatever the pipe; ssthresh = 10 / 2 without the new one.
    send!(tcp, 0..1);
    assert_eq!((tcp.cwnd(), tcp.sender.pipe()), (5.0, 8));
    for end in [5, 6] {
        ack!(tcp, +0, 0, sack 1..end);
        send!(tcp);
    }
    ack!(tcp, +0, 0, sack 7..8, 1..6);
    // Pipe 5: 0 again, 6, 8, 9, 10.
    send!(tcp);
    ack!(tcp, +0, 0, sack 7..9, 1..6);
    // (3): two reports above 6 are not enough, but there is nothing better; both copies count.
    send!(tcp, 6..7);
    assert_eq!(tcp.sender.pipe(), 5);
    ack!(tcp, +100, 9);
    // (4): 10, the highest.
    send!(tcp, 10..11);
    ack!(tcp, +100, 9, sack 10..11);
    // (3) again: 9 has become a hole.
    send!(tcp, 9..10);
}

/// After the loss of the first 7 of 10 segments the number of segments sent per report differs by rule: RFC 6675 alone,
/// the two bounds of RFC 6937, and RFC 9937.
#[test]
fn how_fast_a_burst_of_losses_is_repaired() {
    let repaired = |rate_reduction| {
        let config = config(Variant::Sack);
        let mut tcp = Ladder::new(&TcpConfig { rfc: RfcConfig { rate_reduction, ..config.rfc }, ..config });
        tcp.write(10);
        send!(tcp, 0..10);
        (8..11).map(|end| (ack!(tcp, +0, 0, sack 7..end), tcp.poll().len()).1).collect::<Vec<_>>()
    };
    // The window of 5 at once; a segment for a segment; two, then the bound.
    assert_eq!(repaired(RateReduction::Immediate), [0, 0, 5]);
    assert_eq!(repaired(RateReduction::Rfc6937(ReductionBound::Conservative)), [0, 0, 1]);
    assert_eq!(repaired(RateReduction::Rfc6937(ReductionBound::SlowStart)), [0, 0, 2]);
    assert_eq!(repaired(RateReduction::Rfc9937), [0, 0, 1]);
}
