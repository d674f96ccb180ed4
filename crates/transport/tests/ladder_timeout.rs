//! Timeouts: the timer (RFC 6298), retransmissions after it, spurious timeouts (RFC 3522, RFC 4015, RFC 5682), and tail
//! loss probes (RFC 8985).

use crate::ladder::{Ladder, config, ms, rack, with_timestamps};
use crossfade_transport::{RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};

fn minimum_of_a_second(config: TcpConfig) -> TcpConfig {
    let rule = RtoRule::Estimated { min: ms(1000), initial: ms(1000), granularity: ms(1) };
    TcpConfig { rto: RtoConfig { rule, ..config.rto }, ..config }
}

/// The oldest segment is retransmitted after the timeout, and again after twice the time. The stimulus is that of
/// packetdrill script `rto/retransmission_timeout`; the times are those of RFC 6298 instead of that system's.
#[test]
fn the_oldest_segment_is_repeated_after_the_timeout_and_twice_the_timeout() {
    let mut tcp = Ladder::new(&config(Variant::Sack));
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +90, 4);
    // (2.2): 90 + 4 * 45 ms; (5.3): since the acknowledgement.
    timer!(tcp, +270, Retransmission);
    send!(tcp, 4..5);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (1.0, 3.0));
    // (5.5).
    timer!(tcp, +540, Retransmission);
    send!(tcp, 4..5);
    // RFC 5681 section 3.1: held constant.
    assert_eq!(tcp.ssthresh(), 3.0);
    timer!(tcp, +1080, Retransmission);
    send!(tcp, 4..5);

    // (2.4): at least a second, as the RFC has it.
    let mut tcp = Ladder::new(&minimum_of_a_second(config(Variant::Sack)));
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +90, 4);
    timer!(tcp, +1000, Retransmission);
    send!(tcp, 4..5);
}

/// Slow start after a timeout retransmits only missing segments (packetdrill script
/// `fast_retransmit/fr-4pkt-fack-last-byte`, from the timeout on, with a whole segment reported).
#[test]
fn slow_start_after_a_timeout_repeats_what_is_missing() {
    let rfc = RfcConfig { f_rto: false, ..config(Variant::Sack).rfc };
    let mut tcp = Ladder::new(&TcpConfig { rfc, ..config(Variant::Sack) }).warm_up(100);
    tcp.write(4);
    send!(tcp, 0..4);
    ack!(tcp, +100, 0, sack 3..4);
    send!(tcp);
    timer!(tcp, +200, Retransmission);
    send!(tcp, 0..1);
    ack!(tcp, +500, 1, sack 3..4);
    send!(tcp, 1..3);
    ack!(tcp, +100, 4);
    assert!(tcp.sender.is_done());
}

/// SACK reports from before a timeout are forgotten by RFC 2018 section 8, and kept by RFC 6675 section 5.1.
#[test]
fn reports_from_before_a_timeout_may_be_forgotten() {
    let repeated = |keep_sack_after_timeout| {
        let rfc = RfcConfig { f_rto: false, keep_sack_after_timeout, ..config(Variant::Sack).rfc };
        let mut tcp = Ladder::new(&TcpConfig { rfc, ..config(Variant::Sack) }).warm_up(100);
        tcp.write(4);
        send!(tcp, 0..4);
        ack!(tcp, +100, 0, sack 2..4);
        timer!(tcp, +200, Retransmission);
        send!(tcp, 0..1);
        ack!(tcp, +100, 1);
        tcp.poll().iter().map(|segment| segment.seq).collect::<Vec<_>>()
    };
    assert_eq!(repeated(true), [1]);
    assert_eq!(repeated(false), [1, 2]);
}

/// Without timestamps the acknowledgement of a retransmission gives no RTT sample, and the back-off stays (RFC 6298
/// section 3, Karn's algorithm).
#[test]
fn a_repetition_measures_no_round_trip_without_timestamps() {
    let mut tcp = Ladder::new(&config(Variant::NewReno)).warm_up(100);
    tcp.write(1);
    send!(tcp, 0..1);
    timer!(tcp, +300, Retransmission);
    send!(tcp, 0..1);
    ack!(tcp, +100, 1);
    assert_eq!(tcp.sender.rtt_samples().1, 1);
    assert_eq!(tcp.sender.snapshot().backoff, 2);
    tcp.write(1);
    send!(tcp, 1..2);
    ack!(tcp, +100, 2);
    assert_eq!((tcp.sender.rtt_samples().1, tcp.sender.snapshot().backoff), (2, 1));
    // With timestamps the echo tells which transmission is answered (RFC 7323 section 4.1).
    let no_detection = RfcConfig { f_rto: false, ..config(Variant::NewReno).rfc };
    let plain = TcpConfig { rfc: no_detection, ..config(Variant::NewReno) };
    let mut tcp = Ladder::new(&with_timestamps(plain)).warm_up(100);
    tcp.write(1);
    send!(tcp, 0..1);
    timer!(tcp, +300, Retransmission);
    send!(tcp, 0..1);
    ack!(tcp, +100, 1, echo 400);
    assert_eq!((tcp.sender.rtt_samples().1, tcp.sender.snapshot().backoff), (2, 1));
}

/// The RTT samples of a window share the gain: of the ceil(10 / 2) samples of a window of ten segments each has a fifth
/// (RFC 7323 section 4.2 and appendix G).
#[test]
fn the_samples_of_a_window_share_the_gain() {
    // 100 and 50 ms, then one of 180: by 1/8 and 1/4 110 and 57.5 ms, by 1/40 and 1/20 102 and 51.5 ms; and
    // four times the second.
    for (timestamps, timeout) in [(false, 110 + 230), (true, 102 + 206)] {
        let plain = config(Variant::NewReno);
        let config = if timestamps { with_timestamps(plain) } else { plain };
        let mut tcp = Ladder::new(&config).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        if timestamps {
            ack!(tcp, +180, 2, echo 100);
        } else {
            ack!(tcp, +180, 2);
        }
        assert_eq!(tcp.sender.next_timeout(), Some(tcp.now() + ms(timeout)), "timestamps {timestamps}");
    }
}

/// F-RTO recognises a delay in the path as the cause of a timeout, since the originals arrive (RFC 5682, appendix A).
#[test]
fn f_rto_sees_a_delay_spike() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut tcp = Ladder::new(&config(variant)).warm_up(100);
        tcp.write(20);
        send!(tcp, 0..10);
        timer!(tcp, +300, Retransmission);
        send!(tcp, 0..1);
        assert_eq!((tcp.cwnd(), tcp.ssthresh()), (1.0, 5.0));
        // The original of 0 was only late: two new segments instead of retransmissions.
        ack!(tcp, +50, 1);
        send!(tcp, 10..12);
        ack!(tcp, +1, 2);
        assert_eq!(tcp.counts().spurious_timeouts, 1);
        // RFC 4015: nothing is repeated, the window and the threshold are what they were.
        assert_eq!(tcp.cwnd(), 10.0);
        assert!(tcp.ssthresh() > 1e6);
        send!(tcp);
        for next in 3..10 {
            ack!(tcp, +1, next);
            assert!(tcp.poll().iter().all(|segment| !segment.retransmission));
        }
        assert_eq!(tcp.counts().retransmissions, 1);
    }
}

/// F-RTO recognises that the originals are lost, by the acknowledgements of new segments (RFC 5682 section 2.1 step 3a,
/// 3.1 step 3a).
#[test]
fn f_rto_sees_a_loss() {
    for variant in [Variant::NewReno, Variant::Sack] {
        let mut tcp = Ladder::new(&config(variant)).warm_up(100);
        tcp.write(20);
        send!(tcp, 0..10);
        timer!(tcp, +300, Retransmission);
        send!(tcp, 0..1);
        ack!(tcp, +100, 1);
        send!(tcp, 10..12);
        ack!(tcp, +100, 1, sack 10..11);
        assert_eq!(tcp.counts().spurious_timeouts, 0);
        assert_eq!(tcp.poll()[0].seq, 1, "goes on with repetitions");
    }
}

/// Without F-RTO, which RFC 5682 makes optional, slow start retransmits segments that have arrived.
#[test]
fn without_f_rto_the_window_is_repeated() {
    let rfc = RfcConfig { f_rto: false, ..config(Variant::NewReno).rfc };
    let mut tcp = Ladder::new(&TcpConfig { rfc, ..config(Variant::NewReno) }).warm_up(100);
    tcp.write(20);
    send!(tcp, 0..10);
    timer!(tcp, +300, Retransmission);
    send!(tcp, 0..1);
    ack!(tcp, +50, 1);
    send!(tcp, 1..3);
    assert_eq!(tcp.counts().spurious_timeouts, 0);
}

/// Eifel recognises a delay in the path at once: the first acknowledgement after the timeout echoes the original's
/// timestamp (RFC 3522 section 3.2).
#[test]
fn eifel_sees_a_delay_spike_at_once() {
    for variant in [Variant::NewReno, Variant::Sack] {
        let mut tcp = Ladder::new(&with_timestamps(config(variant))).warm_up(100);
        tcp.write(20);
        send!(tcp, 0..10);
        timer!(tcp, +300, Retransmission);
        send!(tcp, 0..1);
        ack!(tcp, +50, 1, echo 100);
        assert_eq!(tcp.counts().spurious_timeouts, 1);
        assert_eq!(tcp.cwnd(), 10.0);
        send!(tcp, 10..11);
        // RFC 4015 section 3.2 step 8: RTO = SRTT + 4 RTTVAR with the round trip of 350 ms and half of it.
        assert_eq!(tcp.sender.next_timeout(), Some(ms(450 + 350 + 4 * 175)));
    }
}

/// Eifel recognises a justified timeout by the echo of the retransmission's timestamp (RFC 3522).
#[test]
fn eifel_sees_a_loss() {
    let mut tcp = Ladder::new(&with_timestamps(config(Variant::NewReno))).warm_up(100);
    tcp.write(20);
    send!(tcp, 0..10);
    timer!(tcp, +300, Retransmission);
    send!(tcp, 0..1);
    ack!(tcp, +100, 1, echo 400);
    assert_eq!(tcp.counts().spurious_timeouts, 0);
    // Only F-RTO is still in doubt.
    send!(tcp, 10..12);
}

/// Eifel does not undo a timeout after which all originals had arrived and all acknowledgements were lost (RFC 3522
/// section 3.2 step 5): the answer to the retransmission acknowledges everything and echoes the last original. Only a
/// receiver that has reported a duplicate before would have reported this one; an acknowledgement that reports one
/// answers the retransmission.
#[test]
fn eifel_leaves_a_timeout_after_lost_acknowledgements() {
    for (reported_before, reports, spurious) in [(false, false, 0), (true, false, 1), (true, true, 0)] {
        let base = config(Variant::Sack);
        let rfc = RfcConfig { d_sack: false, f_rto: false, ..base.rfc };
        let mut tcp = Ladder::new(&with_timestamps(TcpConfig { rfc, ..base })).warm_up(100);
        tcp.write(20);
        send!(tcp, 0..10);
        if reported_before {
            // Segment 0 came twice from the network.
            ack!(tcp, +100, 1, echo 100, sack 0..1);
            send!(tcp, 10..12);
            // One of five samples in the window: RTTVAR 50 (1 - 1/20), RTO 100 + 4 RTTVAR.
            timer!(tcp, +290, Retransmission);
        } else {
            timer!(tcp, +300, Retransmission);
        }
        let end = if reported_before { 12 } else { 10 };
        let oldest = u64::from(reported_before);
        send!(tcp, oldest..oldest + 1);
        if reports {
            ack!(tcp, +50, end, echo 100, sack oldest..oldest + 1);
        } else {
            ack!(tcp, +50, end, echo 100);
        }
        assert_eq!(tcp.counts().spurious_timeouts, spurious, "{reported_before} {reports}");
        assert!(tcp.sender.poll_transmit(ms(10_000)).is_some());
    }
}

/// After an undo the window is the segments in flight plus those acknowledged, at most the initial window, which limits
/// the burst (RFC 4015 section 3.2 step 5).
#[test]
fn what_is_taken_back_allows_no_long_burst() {
    let rfc = RfcConfig { f_rto: false, cwnd_validation: false, ..config(Variant::NewReno).rfc };
    let config = with_timestamps(TcpConfig { rfc, ..config(Variant::NewReno) });
    // Under way, then acknowledged at once: 2 left and 10 of 18; 9 left and 3.
    for (sent, acked, window) in [(20, 18, 2 + 10), (12, 3, 9 + 3)] {
        let mut tcp = Ladder::new(&config).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        for next in 1..=10 {
            ack!(tcp, +if next == 1 { 100 } else { 0 }, next, echo 100);
        }
        let grown = tcp.cwnd();
        assert!(grown >= 20.0, "{grown}");
        tcp.write(sent);
        send!(tcp, 10..10 + sent);
        let due = tcp.sender.next_timeout().unwrap() - tcp.now();
        timer!(tcp, +due / ms(1), Retransmission);
        send!(tcp, 10..11);
        tcp.write(100);
        ack!(tcp, +50, 10 + acked, echo 200);
        assert_eq!(tcp.counts().spurious_timeouts, 1);
        assert_eq!(tcp.cwnd(), window as f64);
        send!(tcp, 10 + sent..10 + acked + window);
    }
}

/// After reordering by more than three segments Eifel undoes the fast retransmit, so the window is halved for a round
/// trip at most (RFC 3522 with RFC 4015).
#[test]
fn eifel_takes_a_spurious_fast_retransmit_back() {
    for variant in [Variant::NewReno, Variant::Sack] {
        let mut tcp = Ladder::new(&with_timestamps(config(variant))).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        for end in 2..5 {
            ack!(tcp, +if end == 2 { 100 } else { 0 }, 0, echo 0, sack 1..end);
        }
        send!(tcp, 0..1);
        assert!(tcp.ssthresh() <= 5.0);
        ack!(tcp, +1, 5, echo 100);
        assert_eq!(tcp.counts().spurious_fast_retransmits, 1);
        assert!(tcp.ssthresh() > 1e6);
        assert!(tcp.cwnd() >= 10.0 || variant == Variant::Sack, "{}", tcp.cwnd());
    }
}

/// A fast retransmit whose retransmission is reported as a duplicate is undone (RFC 2883 with RFC 3708).
#[test]
fn a_reported_duplicate_takes_a_fast_retransmit_back() {
    let mut tcp = Ladder::new(&config(Variant::Sack)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    for end in 2..5 {
        ack!(tcp, +if end == 2 { 100 } else { 0 }, 0, sack 1..end);
    }
    send!(tcp, 0..1);
    ack!(tcp, +1, 5);
    assert_eq!(tcp.counts().spurious_fast_retransmits, 0);
    ack!(tcp, +99, 10, sack 0..1);
    assert_eq!(tcp.counts().spurious_fast_retransmits, 1);
    assert!(tcp.ssthresh() > 1e6);
}

/// A tail loss probe retransmits the highest segment two RTTs after the last segment left (RFC 8985 sections 7.2 and
/// 7.3).
#[test]
fn a_lost_tail_is_probed_for() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 8);
    timer!(tcp, +200, TailLossProbe);
    send!(tcp, 9..10);
    // The probe shows that 8 is lost.
    ack!(tcp, +100, 8, sack 9..10);
    send!(tcp, 8..9);
    ack!(tcp, +100, 10);
    assert!(tcp.sender.is_done());
    assert_eq!((tcp.counts().timeouts, tcp.counts().tail_loss_probes), (0, 1));
}

/// A probe that repairs a loss halves the window (RFC 8985 section 7.4.2). With a single segment in flight it waits
/// longer, for a delayed acknowledgement (section 7.2).
#[test]
fn a_probe_that_repairs_a_loss_halves_the_window() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 9);
    let window = tcp.cwnd();
    // 2 SRTT + 200 ms is later than the retransmission timer: 100 + 4 * 37.5 ms.
    timer!(tcp, +250, TailLossProbe);
    send!(tcp, 9..10);
    ack!(tcp, +100, 10);
    tcp.write(1);
    send!(tcp, 10..11);
    ack!(tcp, +100, 11);
    assert!(tcp.cwnd() < window / 2.0 + 1.0, "{} after {window}", tcp.cwnd());
}

/// A probe whose original has arrived too costs nothing (RFC 8985 section 7.4.2).
#[test]
fn a_probe_that_was_not_needed_costs_nothing() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 8);
    let window = tcp.cwnd();
    timer!(tcp, +200, TailLossProbe);
    send!(tcp, 9..10);
    ack!(tcp, +10, 10);
    ack!(tcp, +90, 10, sack 9..10);
    tcp.write(1);
    send!(tcp, 10..11);
    ack!(tcp, +100, 11);
    assert!(tcp.cwnd() >= window);
}

/// A probe carries new data if there is any (RFC 8985 section 7.3).
#[test]
fn a_probe_takes_new_data_if_there_is_any() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(20);
    send!(tcp, 0..10);
    timer!(tcp, +200, TailLossProbe);
    send!(tcp, 10..11);
}

/// Reported duplicates widen RACK's reordering window (RFC 8985 section 6.2 step 4).
#[test]
fn reordering_widens_the_window_of_rack() {
    let mut tcp = Ladder::new(&rack(Variant::Sack)).warm_up(100);
    tcp.write(10);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, sack 9..10);
    timer!(tcp, +25, Reordering);
    assert_eq!(tcp.poll()[0].seq, 0);
    ack!(tcp, +5, 10);
    ack!(tcp, +95, 10, sack 0..1);
    // RACK has seen reordering, and one round with a duplicate: two quarters of the shortest round trip.
    tcp.write(2);
    send!(tcp, 10..12);
    ack!(tcp, +100, 10, sack 11..12);
    timer!(tcp, +50, Reordering);
    send!(tcp, 10..11);
}
