//! Congestion marks (RFC 3168), and the reports of the receiver (RFC 2018, RFC 2883).

use crate::ladder::{Ladder, config};
use crossfade_core::SimTime;
use crossfade_transport::{Receiver, RfcConfig, Segment, TcpConfig, Variant};

fn ecn(variant: Variant) -> TcpConfig {
    let config = config(variant);
    TcpConfig { rfc: RfcConfig { ecn: true, ..config.rfc }, ..config }
}

/// New data is ECN-capable, retransmissions are not (RFC 3168 section 6.1.5; packetdrill script `ecn/ecn-uses-ect0`).
#[test]
fn new_data_is_ecn_capable_and_repetitions_are_not() {
    let mut tcp = Ladder::new(&ecn(Variant::NewReno));
    tcp.write(4);
    assert!(tcp.poll().iter().all(|segment| segment.ecn_capable && !segment.cwr));
    for _ in 0..3 {
        ack!(tcp, +0, 0);
    }
    assert!(tcp.poll().iter().all(|segment| segment.retransmission && !segment.ecn_capable));
    let mut tcp = Ladder::new(&config(Variant::NewReno));
    tcp.write(4);
    assert!(tcp.poll().iter().all(|segment| !segment.ecn_capable));
}

/// An echoed mark halves the window, once per round trip (RFC 3168 section 6.1.2). The stimulus is that of packetdrill
/// script `cwnd_moderation/cwnd-moderation-ecn-enter-cwr-no-moderation-700`, whose system reduces the window gradually.
#[test]
fn an_echoed_mark_halves_the_window_once_a_round_trip() {
    let mut tcp = Ladder::new(&ecn(Variant::Sack)).warm_up(100);
    tcp.write(30);
    send!(tcp, 0..10);
    ack!(tcp, +100, 1, ece);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (5.0, 5.0));
    send!(tcp);
    // The same window of data: no further reduction, and no growth.
    for next in 2..6 {
        ack!(tcp, +0, next, ece);
        assert_eq!(tcp.cwnd(), 5.0);
    }
    assert!(tcp.poll().is_empty());
    // The first new segment tells the receiver.
    ack!(tcp, +0, 6, ece);
    let sent = tcp.poll();
    assert_eq!((sent.len(), sent[0].seq, sent[0].cwr), (1, 10, true));
    ack!(tcp, +0, 7, ece);
    assert!(tcp.poll().iter().all(|segment| !segment.cwr));
    // The receiver has the segment with CWR; a mark after it is a new one.
    ack!(tcp, +100, 11, ece);
    assert!(tcp.cwnd() < 5.0);
    assert_eq!((tcp.counts().ecn_reductions, tcp.counts().retransmissions), (2, 0));
}

/// Marks and losses of one window of data reduce the window once (RFC 3168 section 6.1.2).
#[test]
fn a_mark_and_a_loss_in_one_window_reduce_it_once() {
    let mut tcp = Ladder::new(&ecn(Variant::NewReno)).warm_up(100);
    tcp.write(30);
    send!(tcp, 0..10);
    ack!(tcp, +100, 1, ece);
    assert_eq!(tcp.ssthresh(), 5.0);
    for _ in 0..3 {
        ack!(tcp, +0, 1, ece);
    }
    assert_eq!(tcp.poll()[0].seq, 1);
    assert_eq!(tcp.ssthresh(), 5.0);
}

/// The receiver reports SACK blocks, most recent first, and duplicates by D-SACK (packetdrill script `tcp_dsack_mult`,
/// with segments one by one).
#[test]
fn the_receiver_reports_blocks_and_duplicates() {
    let mut receiver = Receiver::new(config(Variant::Sack));
    let mut report = |seq| {
        let received = receiver.on_segment(SimTime::ZERO, &Segment { seq, ..Segment::default() }, false);
        let ack = received.ack.expect("out of order, or a duplicate");
        let blocks = ack.sack.as_slice().iter().map(|block| (block.start, block.end)).collect::<Vec<_>>();
        (ack.next_expected, blocks)
    };
    assert_eq!(report(1), (0, vec![(1, 2)]));
    assert_eq!(report(2), (0, vec![(1, 3)]));
    assert_eq!(report(4), (0, vec![(4, 5), (1, 3)]));
    assert_eq!(report(7), (0, vec![(7, 8), (4, 5), (1, 3)]));
    assert_eq!(report(0), (3, vec![(7, 8), (4, 5)]));
    assert_eq!(report(1), (3, vec![(1, 2), (7, 8), (4, 5)]));
    assert_eq!(report(7), (3, vec![(7, 8), (7, 8), (4, 5)]));
    assert_eq!(report(0), (3, vec![(0, 1), (7, 8), (4, 5)]));
}
