//! Keys of `tcp.rfc`, one at a time: the effect of the RFC's rule and of Linux's.

use crate::ladder::{Ladder, config, ms, rack, with_timestamps};
use crossfade_transport::{RfcConfig, RtoConfig, RtoRule, Rules, TcpConfig, Variant};

const BOTH: [Rules; 2] = [Rules::Rfc, Rules::Linux];

fn timers(rules: Rules) -> TcpConfig {
    let rack = rack(Variant::Sack);
    TcpConfig { rfc: RfcConfig { timer_rules: rules, ..rack.rfc }, ..rack }
}

/// Configuration that detects losses by transmission time, without tail loss probes.
fn by_time(rules: Rules) -> TcpConfig {
    let rack = rack(Variant::Sack);
    TcpConfig { rfc: RfcConfig { rack_rules: rules, tail_loss_probe: false, ..rack.rfc }, ..rack }
}

/// A tail loss probe is due two RTTs after the last segment (RFC 8985 section 7.2); in Linux 2 ms later, in whole ticks
/// of 4 ms.
#[test]
fn probes_wait_for_two_round_trips_and_in_linux_for_whole_ticks() {
    // From 100 ms on, tick 25: 202 ms are 51 ticks, and the next.
    for (rules, due) in BOTH.into_iter().zip([200, 208]) {
        let mut tcp = Ladder::new(&timers(rules)).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        timer!(tcp, +due, TailLossProbe);
        send!(tcp, 9..10);
    }
}

/// An overtaken segment is lost a quarter of the minimum RTT later (RFC 8985 section 6.2 step 5); in Linux 2 ms later,
/// in whole ticks.
#[test]
fn reordering_is_waited_for_and_in_linux_for_whole_ticks() {
    // From 200 ms on, tick 50: 27 ms are 7 ticks, and the next.
    for (rules, due) in BOTH.into_iter().zip([25, 32]) {
        let mut tcp = Ladder::new(&timers(rules)).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        ack!(tcp, +100, 0, sack 9..10);
        timer!(tcp, +due, Reordering);
        assert_eq!(tcp.poll()[0].seq, 0);
    }
}

/// Only acknowledgements of new data restart the retransmission timer (RFC 6298 section 5, (5.3)); Linux restarts it
/// with each retransmission of the oldest segment.
#[test]
fn a_second_repetition_of_the_oldest_restarts_the_timer_in_linux() {
    for (rules, restarts) in BOTH.into_iter().zip([false, true]) {
        let mut tcp = Ladder::new(&timers(rules)).warm_up(100);
        tcp.write(1000);
        send!(tcp, 0..10);
        // Three reports: the fast retransmit, which restarts the timer whatever the rules.
        ack!(tcp, +100, 0, sack 1..4);
        let sent = tcp.poll();
        assert_eq!(sent[0].seq, 0);
        let before = tcp.sender.next_timeout().unwrap();
        // New data that left with the retransmission has arrived, the retransmission has not: it is repeated once more.
        let newest = sent.last().unwrap().seq;
        ack!(tcp, +100, 0, sack newest..newest + 1, 1..4);
        assert_eq!(tcp.poll()[0].seq, 0);
        let after = tcp.sender.next_timeout().unwrap();
        assert_eq!(after > before, restarts, "{before} and {after}");
        // By 100 ms, each expiry rounded up to as much as 32 ms.
        assert!(!restarts || (ms(68)..=ms(132)).contains(&(after - before)));
    }
}

/// At a timeout segments sent `RACK.rtt + RACK.reo_wnd` ago are lost, 125 ms (RFC 8985 section 6.3); Linux allows no
/// time for reordering then, 100 ms.
#[test]
fn a_timeout_takes_for_lost_what_is_older_than_a_round_trip() {
    for (rules, under_way) in BOTH.into_iter().zip([2, 1]) {
        let mut tcp = Ladder::new(&by_time(rules)).warm_up(100);
        tcp.write(9);
        send!(tcp, 0..9);
        tcp.wait(190);
        tcp.write(1);
        send!(tcp, 9..10);
        // 110 ms after the tenth segment.
        timer!(tcp, +110, Retransmission);
        send!(tcp, 0..1);
        assert_eq!(tcp.sender.pipe(), under_way, "{rules:?}: the repetition, and perhaps the tenth");
    }
}

/// A SACK report of a retransmission beyond a hole never counts as its arrival by RFC 8985 section 6.2 step 2, which
/// requires an echoed timestamp that is not older: the echo is that of the last segment in order (RFC 7323 section
/// 4.3). Linux checks the echo only of cumulative acknowledgements.
#[test]
fn a_reported_repetition_has_arrived_in_linux() {
    for (rules, finds) in BOTH.into_iter().zip([false, true]) {
        let mut tcp = Ladder::new(&with_timestamps(by_time(rules))).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        // The first two are lost, and repeated at once: 8 are reported.
        ack!(tcp, +100, 0, echo 0, sack 2..10);
        send!(tcp, 0..2);
        // Of the two retransmissions the second arrives; the echo is that of the warm-up.
        ack!(tcp, +100, 0, echo 0, sack 1..10);
        let again: Vec<u64> = tcp.poll().iter().map(|segment| segment.seq).collect();
        assert_eq!(again.contains(&0), finds, "{rules:?}: {again:?}");
    }
}

/// A retransmission lost in slow start after a timeout starts a fast recovery in Linux, like any other loss; RFC 6298
/// (5.4) to (5.7) and RFC 5681 section 3.1 only know slow start there.
#[test]
fn a_repetition_lost_after_a_timeout_begins_a_recovery_in_linux() {
    for (rules, recoveries) in BOTH.into_iter().zip([0, 1]) {
        let mut tcp = Ladder::new(&by_time(rules)).warm_up(100);
        tcp.write(10);
        send!(tcp, 0..10);
        timer!(tcp, +300, Retransmission);
        send!(tcp, 0..1);
        ack!(tcp, +100, 1);
        send!(tcp, 1..3);
        // The retransmission of 2 has arrived, that of 1 has not.
        ack!(tcp, +100, 1, sack 2..3);
        assert!(tcp.poll().iter().any(|segment| segment.seq == 1));
        assert_eq!(tcp.counts().fast_retransmits, recoveries, "{rules:?}");
    }
}

/// A loss never reduces from more than the window: by RFC 5681 (4) `ssthresh` is "no more than" half of the FlightSize,
/// which at the end of a long recovery includes everything reported above the oldest hole, several windows. The window
/// limits the data in flight (section 3.1), so it bounds the FlightSize.
#[test]
fn a_loss_never_reduces_from_more_than_the_window() {
    // A timeout of a second, so that none comes.
    let rule = RtoRule::Estimated { min: ms(1000), initial: ms(1000), granularity: ms(1) };
    let rack = by_time(Rules::Rfc);
    let mut tcp =
        Ladder::new(&TcpConfig { rto: RtoConfig { rule, ..config(Variant::Sack).rto }, ..rack }).warm_up(100);
    tcp.write(1000);
    send!(tcp, 0..10);
    ack!(tcp, +100, 0, sack 1..10);
    assert_eq!((tcp.ssthresh(), tcp.counts().fast_retransmits), (5.0, 1));
    // Neither 0, again and again, nor 10 get through; what else is sent does.
    let mut end = 10;
    for _ in 0..3 {
        end = tcp.poll().iter().map(|segment| segment.seq + 1).max().unwrap().max(end);
        if end > 11 {
            ack!(tcp, +100, 0, sack 11..end, 1..10);
        }
    }
    end = tcp.poll().iter().map(|segment| segment.seq + 1).max().unwrap().max(end);
    let reported = end - 11;
    assert!(reported >= 10, "{reported}: twice the window");
    // The first recovery ends with a window of 5, and the loss of 10 begins another: half of 5, not of all that is
    // reported.
    ack!(tcp, +100, 10, sack 11..end);
    assert_eq!(tcp.counts().fast_retransmits, 2);
    assert_eq!(tcp.ssthresh(), 2.5);
    let _ = tcp.poll();
}
