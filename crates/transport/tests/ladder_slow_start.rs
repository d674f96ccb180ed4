//! Initial window, slow start, its limits by application and receiver, and idle times, with the stimuli and
//! expectations of the public packetdrill scripts (see `docs/packetdrill.md`). The scripts count all segments that an
//! acknowledgement covers; RFC 5681 counts one at most.

use crate::ladder::{Ladder, byte_counting, config};
use crossfade_transport::{Pacing, RfcConfig, TcpConfig, Variant};

/// The initial window is ten segments, or as configured (packetdrill script `initial_window/iw10-base-case`).
#[test]
fn ten_segments_are_the_initial_window() {
    let mut tcp = Ladder::new(&config(Variant::Sack));
    tcp.write(15);
    send!(tcp, 0..10);
    // RFC 6928 is a choice: RFC 3390 allows three segments of 1460 bytes.
    let mut tcp = Ladder::new(&TcpConfig { initial_window: 3.0, ..config(Variant::Sack) });
    tcp.write(15);
    send!(tcp, 0..3);
}

/// A response shorter than the initial window leaves at once, and no timer runs after its acknowledgement (packetdrill
/// script `initial_window/iw10-short-response`).
#[test]
fn a_short_response_leaves_at_once() {
    let mut tcp = Ladder::new(&config(Variant::Sack));
    tcp.write(5);
    send!(tcp, 0..5);
    ack!(tcp, +100, 5);
    assert!(tcp.sender.is_done());
    assert_eq!(tcp.sender.next_timeout(), None, "RFC 6298 (5.2)");
}

/// In slow start an acknowledgement of one segment lets two leave (packetdrill script
/// `slow_start/slow-start-ack-per-1pkt`).
#[test]
fn each_acknowledged_segment_sends_two() {
    for mut tcp in
        [Ladder::with(&config(Variant::Sack), byte_counting()), Ladder::new(&config(Variant::Sack))]
    {
        tcp.write(30);
        send!(tcp, 0..10);
        for next in 1..11 {
            ack!(tcp, +5, next);
            send!(tcp, 8 + 2 * next..10 + 2 * next);
        }
        assert_eq!(tcp.cwnd(), 20.0);
    }
}

/// In slow start an acknowledgement of two segments lets four leave (packetdrill scripts
/// `slow_start/slow-start-ack-per-2pkt`, `slow-start-fq-ack-per-2pkt`).
#[test]
fn every_second_acknowledgement_sends_four() {
    let mut tcp = Ladder::with(&config(Variant::Sack), byte_counting());
    tcp.write(30);
    send!(tcp, 0..10);
    for next in [2, 4, 6, 8, 10] {
        ack!(tcp, +5, next);
        send!(tcp, 6 + 2 * next..10 + 2 * next);
    }
    assert_eq!(tcp.cwnd(), 20.0);
    // RFC 5681 equation (2) adds a segment at most: half as fast.
    let mut tcp = Ladder::new(&config(Variant::Sack));
    tcp.write(30);
    send!(tcp, 0..10);
    ack!(tcp, +5, 2);
    send!(tcp, 10..13);
}

/// In slow start an acknowledgement of four segments lets eight leave (packetdrill script
/// `slow_start/slow-start-ack-per-4pkt`).
#[test]
fn every_fourth_acknowledgement_sends_eight() {
    let mut tcp = Ladder::with(&config(Variant::Sack), byte_counting());
    tcp.write(30);
    send!(tcp, 0..10);
    ack!(tcp, +110, 4);
    send!(tcp, 10..18);
    ack!(tcp, +10, 8);
    send!(tcp, 18..26);
    ack!(tcp, +5, 10);
    send!(tcp, 26..30);
    assert_eq!(tcp.cwnd(), 20.0);
}

/// Windows after acknowledgements of two segments each, if the application writes `segments` once.
fn windows_when_limited_by_the_application(segments: u64) -> Vec<f64> {
    let mut tcp = Ladder::with(&config(Variant::Sack), byte_counting());
    tcp.write(segments);
    send!(tcp, 0..segments);
    let acks = (1..=segments.div_ceil(2)).map(|i| (2 * i).min(segments));
    acks.map(|next| (ack!(tcp, +5, next), tcp.cwnd()).1).collect()
}

/// The window of an application-limited sender grows to at most twice the segments in flight (packetdrill scripts
/// `slow_start/slow-start-app-limited`, `slow-start-app-limited-9-packets-out`, `slow-start-ack-per-2pkt-send-6pkt`,
/// `slow-start-ack-per-2pkt-send-5pkt`).
#[test]
fn the_window_grows_to_twice_what_was_under_way() {
    assert_eq!(windows_when_limited_by_the_application(10), [12.0, 14.0, 16.0, 18.0, 20.0]);
    assert_eq!(windows_when_limited_by_the_application(9), [12.0, 14.0, 16.0, 18.0, 18.0]);
    assert_eq!(windows_when_limited_by_the_application(6), [12.0, 12.0, 12.0]);
    assert_eq!(windows_when_limited_by_the_application(5), [10.0, 10.0, 10.0]);
}

/// After an idle time the window is the initial window, unless the restart is off (packetdrill script
/// `slow_start/slow-start-after-idle`).
#[test]
fn after_an_idle_time_the_window_is_the_initial_one() {
    let sent_after_idle = |rfc| {
        let mut tcp = Ladder::with(&TcpConfig { rfc, ..config(Variant::Sack) }, byte_counting());
        tcp.write(26);
        send!(tcp, 0..10);
        ack!(tcp, +100, 10);
        assert_eq!(tcp.cwnd(), 20.0);
        send!(tcp, 10..26);
        ack!(tcp, +100, 26);
        assert_eq!(tcp.cwnd(), 36.0);
        tcp.wait(2000);
        tcp.write(20);
        tcp.poll().len()
    };
    let rfc = config(Variant::Sack).rfc;
    assert_eq!(sent_after_idle(rfc), 10);
    assert_eq!(sent_after_idle(RfcConfig { restart_after_idle: false, ..rfc }), 20);
}

/// The receiver's window limits the sender, whose congestion window then does not grow (packetdrill script
/// `tcp_info/tcp-info-rwnd-limited`).
#[test]
fn no_more_is_sent_than_the_receiver_allows() {
    let mut tcp = Ladder::new(&TcpConfig { w_max: 4, ..config(Variant::Sack) });
    tcp.write(20);
    send!(tcp, 0..4);
    ack!(tcp, +100, 1);
    send!(tcp, 4..5);
    ack!(tcp, +0, 5);
    send!(tcp, 5..9);
    assert_eq!(tcp.cwnd(), 10.0, "a window that is not used does not grow");
}

/// A full window counts as in use while the pacer is closed, even if all of it is acknowledged before the pacer opens
/// again (RFC 7661 section 4.3; Linux's `tcp_write_xmit` compares window and segments in flight after its loop).
#[test]
fn a_full_window_grows_while_the_pacer_is_closed() {
    let rfc = config(Variant::Sack).rfc;
    let pacing = Some(Pacing { slow_start_ratio: 2.0, ratio: 1.0, quantum: Some(1) });
    let paced = TcpConfig { initial_window: 2.0, initial_ssthresh: 2.0, ..config(Variant::Sack) };
    let mut tcp = Ladder::new(&TcpConfig { rfc: RfcConfig { pacing, ..rfc }, ..paced }).warm_up(40);
    assert_eq!(tcp.cwnd(), 2.0);
    tcp.write(100);
    // Two segments in 40 ms: one each 20 ms.
    send!(tcp, 0..1);
    timer!(tcp, +20, Pacing);
    send!(tcp, 1..2);
    ack!(tcp, +15, 2);
    assert_eq!(tcp.cwnd(), 3.0);
    // It is not full with one of three.
    timer!(tcp, +5, Pacing);
    send!(tcp, 2..3);
    ack!(tcp, +1, 3);
    assert_eq!(tcp.cwnd(), 3.0);
}
