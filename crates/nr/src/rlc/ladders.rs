//! Tests of both RLC modes: sequences of PDUs by hand, and properties over random losses.

use super::{
    AmReceiver, AmTransmitter, DataPdu, Nack, RlcConfig, RlcMode, Source, Status, UmReceiver, UmTransmitter,
};
use crossfade_core::{RunSeed, SimTime};
use rand::RngExt;
use std::collections::{BTreeMap, VecDeque};

fn ms(count: u64) -> SimTime {
    SimTime::from_millis(count)
}

/// Parameters of srsRAN for a default bearer, with 12-bit numbers.
fn acknowledged() -> RlcConfig {
    RlcConfig {
        mode: RlcMode::Acknowledged,
        sn_bits: 12,
        poll_pdus: Some(16),
        poll_bytes: None,
        poll_retransmit: ms(100),
        reassembly: ms(20),
        status_prohibit: ms(10),
        max_retransmissions: 4,
    }
}

/// Source of SDUs of equal length.
struct Sdus {
    next: u64,
    end: u64,
    bytes: u32,
}

impl Source for Sdus {
    fn next_bytes(&self) -> Option<u32> {
        (self.next < self.end).then_some(self.bytes)
    }

    fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

fn sdus(count: u64, bytes: u32) -> Sdus {
    Sdus { next: 0, end: count, bytes }
}

struct Am {
    transmitter: AmTransmitter,
    receiver: AmReceiver,
    source: Sdus,
    /// Identities of the SDUs that the receiver has handed up.
    up: Vec<u64>,
}

impl Am {
    fn new(config: RlcConfig, count: u64, bytes: u32) -> Self {
        let (transmitter, receiver) = (AmTransmitter::new(config), AmReceiver::new(config));
        Self { transmitter, receiver, source: sdus(count, bytes), up: Vec::new() }
    }

    fn build(&mut self, now: SimTime, room: u32) -> Option<DataPdu> {
        let (pdu, bytes) = self.transmitter.build(now, room, &mut self.source)?;
        assert!(bytes <= room);
        Some(pdu)
    }

    fn receive(&mut self, now: SimTime, pdu: &DataPdu) {
        self.up.extend(self.receiver.receive(now, pdu));
    }

    fn status(&mut self, now: SimTime) -> Option<Status> {
        self.receiver.build_status(now, 1000).map(|(status, _)| status)
    }
}

#[test]
fn the_last_pdu_polls_and_its_report_ends_the_matter() {
    let mut am = Am::new(acknowledged(), 2, 100);
    let first = am.build(ms(0), 102).unwrap();
    assert!((first.sn, first.start, first.end, first.is_end, first.poll) == (Some(0), 0, 100, true, false));
    let second = am.build(ms(1), 1000).unwrap();
    assert!(second.poll && am.build(ms(1), 1000).is_none());
    am.receive(ms(2), &first);
    assert_eq!(am.status(ms(2)), None);
    am.receive(ms(3), &second);
    let status = am.status(ms(3)).unwrap();
    assert_eq!(status, Status { ack_sn: 2, nacks: vec![] });
    assert_eq!(am.transmitter.expiry(), Some(ms(101)));
    let mut confirmed = Vec::new();
    am.transmitter.on_status(&status, |sdu| confirmed.push(sdu));
    assert_eq!((confirmed, am.transmitter.expiry(), am.transmitter.waits()), (vec![0, 1], None, false));
    assert_eq!(am.up, [0, 1]);
}

#[test]
fn a_lost_poll_is_repeated_with_the_last_sdu() {
    let mut am = Am::new(acknowledged(), 2, 100);
    let first = am.build(ms(0), 200).unwrap();
    am.receive(ms(1), &first);
    let lost = am.build(ms(0), 200).unwrap();
    assert!(lost.poll);
    am.transmitter.expire(ms(99), &am.source);
    assert!(am.build(ms(99), 200).is_none());
    am.transmitter.expire(ms(100), &am.source);
    let again = am.build(ms(100), 200).unwrap();
    assert_eq!((again.sn, again.poll, again.is_retransmission), (Some(1), true, true));
    assert_eq!(am.transmitter.expiry(), Some(ms(200)));
    am.receive(ms(101), &again);
    assert_eq!(am.status(ms(101)).unwrap().ack_sn, 2);
}

#[test]
fn a_lost_report_is_asked_for_again() {
    let mut am = Am::new(acknowledged(), 1, 100);
    let pdu = am.build(ms(0), 200).unwrap();
    am.receive(ms(1), &pdu);
    assert!(am.status(ms(1)).is_some());
    // The report is lost; the SDU comes a second time, is discarded, and answered at once.
    am.transmitter.expire(ms(100), &am.source);
    let again = am.build(ms(100), 200).unwrap();
    am.receive(ms(101), &again);
    assert_eq!((am.status(ms(101)).unwrap().ack_sn, am.up.len()), (1, 1));
}

#[test]
fn reports_keep_their_distance() {
    let mut am = Am::new(acknowledged(), 1, 100);
    let pdu = am.build(ms(0), 200).unwrap();
    am.receive(ms(1), &pdu);
    assert!(am.status(ms(1)).is_some());
    am.receive(ms(2), &pdu);
    assert_eq!((am.status(ms(10)), am.receiver.status_from()), (None, Some(ms(11))));
    assert!(am.status(ms(11)).is_some() && am.status(ms(30)).is_none());
}

#[test]
fn a_gap_is_reported_after_the_reassembly_timer_and_a_poll_waits_for_it() {
    let mut am = Am::new(acknowledged(), 3, 100);
    let pdus: Vec<DataPdu> = (0..3).map(|_| am.build(ms(0), 102).unwrap()).collect();
    assert!(pdus[2].poll);
    am.receive(ms(1), &pdus[0]);
    am.receive(ms(2), &pdus[2]);
    // HARQ may still bring SDU 1: SN 2 is not below RX_Highest_Status, so its poll is not answered yet.
    assert_eq!((am.status(ms(2)), am.receiver.expiry()), (None, Some(ms(22))));
    am.receiver.expire(ms(21));
    assert_eq!(am.status(ms(21)), None);
    am.receiver.expire(ms(22));
    let status = am.status(ms(22)).unwrap();
    assert_eq!(status, Status { ack_sn: 3, nacks: vec![Nack { sn: 1, count: 1, bytes: None }] });
    am.transmitter.on_status(&status, |_| ());
    let again = am.build(ms(23), 200).unwrap();
    assert_eq!((again.sn, again.is_retransmission, again.poll), (Some(1), true, true));
    am.receive(ms(24), &again);
    assert_eq!(am.up, [0, 2, 1]);
}

#[test]
fn a_poll_without_a_gap_before_it_is_answered_at_once() {
    let mut am = Am::new(acknowledged(), 3, 100);
    let pdus: Vec<DataPdu> = (0..3).map(|_| am.build(ms(0), 102).unwrap()).collect();
    am.receive(ms(1), &pdus[0]);
    am.receive(ms(2), &pdus[2]);
    am.receive(ms(3), &pdus[1]);
    assert_eq!((am.status(ms(3)).unwrap().ack_sn, am.receiver.expiry()), (3, None));
}

#[test]
fn segments_of_the_last_sdu_are_missed() {
    let mut am = Am::new(acknowledged(), 1, 1000);
    let segments: Vec<DataPdu> = (0..4).map(|_| am.build(ms(0), 304).unwrap()).collect();
    let parts: Vec<(u32, u32)> = segments.iter().map(|pdu| (pdu.start, pdu.end)).collect();
    // 2 bytes of header for the first, 4 with an offset.
    assert_eq!(parts, [(0, 302), (302, 602), (602, 902), (902, 1000)]);
    for place in [0, 3] {
        am.receive(ms(1), &segments[place]);
    }
    am.receiver.expire(ms(21));
    let status = am.status(ms(21)).unwrap();
    assert_eq!(status, Status { ack_sn: 1, nacks: vec![Nack { sn: 0, count: 1, bytes: Some((302, 902)) }] });
}

#[test]
fn a_segment_that_was_missed_is_cut_to_the_opportunity() {
    let mut am = Am::new(acknowledged(), 2, 1000);
    let segments: Vec<DataPdu> = (0..4).map(|_| am.build(ms(0), 304).unwrap()).collect();
    let second = am.build(ms(0), 1002).unwrap();
    for pdu in [&segments[0], &segments[3], &second] {
        am.receive(ms(1), pdu);
    }
    am.receiver.expire(ms(21));
    let status = am.status(ms(21)).unwrap();
    assert_eq!(status, Status { ack_sn: 2, nacks: vec![Nack { sn: 0, count: 1, bytes: Some((302, 902)) }] });
    assert_eq!(status.bytes(12), 3 + 2 + 4);
    am.transmitter.on_status(&status, |_| ());
    assert_eq!(am.transmitter.buffered(), 600);
    let again: Vec<DataPdu> = (0..3).map(|_| am.build(ms(30), 254).unwrap()).collect();
    let parts: Vec<(u32, u32, bool)> = again.iter().map(|pdu| (pdu.start, pdu.end, pdu.poll)).collect();
    assert_eq!(parts, [(302, 552, false), (552, 802, false), (802, 902, true)]);
    // The middle segment is lost: it is cut again, which counts as the second retransmission of the SDU.
    am.receive(ms(31), &again[0]);
    am.receive(ms(31), &again[2]);
    let status = am.status(ms(31)).unwrap();
    assert_eq!(status.nacks, [Nack { sn: 0, count: 1, bytes: Some((552, 802)) }]);
    am.transmitter.on_status(&status, |_| ());
    let last = am.build(ms(40), 1000).unwrap();
    assert_eq!((last.start, last.end), (552, 802));
    am.receive(ms(41), &last);
    assert_eq!(am.up, [1, 0]);
}

#[test]
fn the_window_stalls_at_half_of_the_numbers_with_a_poll() {
    let mut am = Am::new(acknowledged(), 5000, 10);
    let mut sent = Vec::new();
    while let Some(pdu) = am.build(ms(0), 12) {
        sent.push(pdu);
    }
    assert_eq!(sent.len(), 2048);
    assert!(sent[2047].poll && sent[15].poll && !sent[14].poll);
    let polls = sent.iter().filter(|pdu| pdu.poll).count();
    assert_eq!(polls, 2048 / 16);
    for pdu in &sent {
        am.receive(ms(1), pdu);
    }
    let status = am.status(ms(1)).unwrap();
    assert_eq!(status.ack_sn, 2048);
    am.transmitter.on_status(&status, |_| ());
    assert_eq!(am.build(ms(2), 12).unwrap().sn, Some(2048));
}

#[test]
fn numbers_wrap_around() {
    let mut am = Am::new(acknowledged(), 10_000, 10);
    let mut now = ms(0);
    while am.up.len() < 10_000 {
        now += ms(1);
        if let Some(pdu) = am.build(now, 12) {
            am.receive(now, &pdu);
        }
        am.receiver.expire(now);
        am.transmitter.expire(now, &am.source);
        if let Some(status) = am.status(now) {
            am.transmitter.on_status(&status, |_| ());
        }
        assert!(now < ms(30_000));
    }
    assert!(am.up.iter().copied().eq(0..10_000));
}

#[test]
fn the_link_fails_at_the_last_retransmission_and_never_skips() {
    let mut am = Am::new(acknowledged(), 1, 100);
    let mut now = ms(0);
    let mut sent = 0;
    while !am.transmitter.has_failed() {
        if am.build(now, 200).is_some() {
            sent += 1;
        }
        now += ms(100);
        am.transmitter.expire(now, &am.source);
    }
    // The first transmission, and maxRetxThreshold retransmissions.
    assert_eq!(sent, 5);
}

#[test]
fn reports_that_do_not_fit_say_less() {
    let mut am = Am::new(acknowledged(), 100, 10);
    let pdus: Vec<DataPdu> = (0..100).map(|_| am.build(ms(0), 12).unwrap()).collect();
    for pdu in pdus.iter().step_by(2).chain([&pdus[99]]) {
        am.receive(ms(1), pdu);
    }
    // The timer that the first gap started covers only that gap; the second covers all.
    am.receiver.expire(ms(21));
    assert_eq!(am.status(ms(21)).unwrap().ack_sn, 3);
    am.receiver.expire(ms(41));
    let (status, bytes) = am.receiver.build_status(ms(41), 20).unwrap();
    assert_eq!((status.nacks.len(), bytes, status.ack_sn), (8, 19, 17));
    // Consecutive missing SDUs are one range.
    let mut am = Am::new(acknowledged(), 100, 10);
    let pdus: Vec<DataPdu> = (0..100).map(|_| am.build(ms(0), 12).unwrap()).collect();
    am.receive(ms(1), &pdus[0]);
    am.receive(ms(1), &pdus[99]);
    am.receiver.expire(ms(21));
    let (status, bytes) = am.receiver.build_status(ms(21), 20).unwrap();
    assert_eq!((&status.nacks[..], bytes), (&[Nack { sn: 1, count: 98, bytes: None }][..], 6));
}

/// Transfer in which every PDU and report is lost with probability `loss`, and PDUs are up to 8 ms late, as behind
/// HARQ. Returns the number of times that each SDU was handed up and the mean number of transmissions of its bytes;
/// `None` if the link failed.
fn lossy(config: RlcConfig, loss: f64, count: u64, run: u64) -> Option<(BTreeMap<u64, u32>, f64)> {
    let mut stream = RunSeed { seed: 7, run }.stream("rlc");
    let mut am = Am::new(config, count, 500);
    let mut flying: VecDeque<(SimTime, DataPdu)> = VecDeque::new();
    let (mut now, mut bytes, mut up) = (ms(0), 0_u64, BTreeMap::new());
    while (up.len() as u64) < count || am.transmitter.waits() {
        now += ms(1);
        assert!(now < ms(10_000_000), "stuck");
        am.transmitter.expire(now, &am.source);
        let room = stream.random_range(50..1200);
        if let Some(pdu) = am.build(now, room) {
            bytes += u64::from(pdu.end - pdu.start);
            if stream.random::<f64>() >= loss {
                flying.push_back((now + ms(stream.random_range(1..9)), pdu));
            }
        }
        flying.retain(|(at, pdu)| {
            if *at <= now
                && let Some(sdu) = am.receiver.receive(now, pdu)
            {
                *up.entry(sdu).or_insert(0) += 1;
            }
            *at > now
        });
        am.receiver.expire(now);
        if let Some((status, _)) = am.receiver.build_status(now, stream.random_range(10..300))
            && stream.random::<f64>() >= loss
        {
            am.transmitter.on_status(&status, |_| ());
        }
        if am.transmitter.has_failed() {
            return None;
        }
    }
    Some((up, bytes as f64 / (count * 500) as f64))
}

#[test]
fn nothing_is_lost_or_handed_up_twice() {
    for (run, loss) in [0.0, 0.1, 0.3, 0.6].into_iter().enumerate() {
        let config = RlcConfig { max_retransmissions: 1000, ..acknowledged() };
        for sn_bits in [12, 18] {
            let found = lossy(RlcConfig { sn_bits, ..config }, loss, 6000, run as u64);
            let (up, _) = found.unwrap_or_else(|| panic!("failed at {loss} with {sn_bits} bits"));
            assert!(up.len() == 6000 && up.values().all(|times| *times == 1), "{loss}");
        }
    }
}

const SDUS: u32 = 20_000;

/// With whole SDUs over a link that loses only PDUs, the mean number of transmissions is 1 / (1 - P), and a share
/// P^(maxRetxThreshold + 1) of the SDUs fails.
#[test]
fn transmissions_and_failures_are_those_of_the_closed_forms() {
    let mut stream = RunSeed { seed: 7, run: 0 }.stream("rlc.closed");
    for loss in [0.1, 0.3] {
        let config = RlcConfig { max_retransmissions: 2, poll_pdus: Some(1), ..acknowledged() };
        let (mut transmissions, mut failures) = (0_u32, 0_u32);
        for _ in 0..SDUS {
            let mut am = Am::new(config, 1, 100);
            let mut now = ms(0);
            while (am.up.is_empty()) && !am.transmitter.has_failed() {
                if let Some(pdu) = am.build(now, 200) {
                    transmissions += 1;
                    if stream.random::<f64>() >= loss {
                        am.receive(now, &pdu);
                    }
                }
                now += ms(100);
                am.transmitter.expire(now, &am.source);
            }
            failures += u32::from(am.up.is_empty());
        }
        let expected = (1.0 - f64::powi(loss, 3)) / (1.0 - loss);
        let mean = f64::from(transmissions) / f64::from(SDUS);
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean} {expected}");
        let p = f64::powi(loss, 3);
        let share = f64::from(failures) / f64::from(SDUS);
        assert!((share - p).abs() < 4.0 * (p / f64::from(SDUS)).sqrt(), "{share} {p}");
    }
}

fn unacknowledged(sn_bits: u32) -> RlcConfig {
    RlcConfig { mode: RlcMode::Unacknowledged, sn_bits, reassembly: ms(50), ..acknowledged() }
}

#[test]
fn whole_sdus_have_no_number_and_segments_are_joined() {
    let config = unacknowledged(12);
    let mut transmitter = UmTransmitter::new(config);
    let mut receiver = UmReceiver::new(config);
    let mut source = sdus(3, 100);
    let mut build = |room| transmitter.build(room, &mut source);
    let (whole, bytes) = build(101).unwrap();
    assert_eq!((whole.sn, bytes), (None, 101));
    let (first, bytes) = build(60).unwrap();
    assert_eq!((first.sn, first.start, first.end, bytes), (Some(0), 0, 58, 60));
    let (last, bytes) = build(60).unwrap();
    assert_eq!((last.sn, last.start, last.end, last.is_end, bytes), (Some(0), 58, 100, true, 46));
    let (other, _) = build(60).unwrap();
    assert_eq!(other.sn, Some(1));
    assert_eq!(receiver.receive(ms(1), &last), None);
    assert_eq!(receiver.receive(ms(1), &whole), Some(0));
    assert_eq!(receiver.expiry(), Some(ms(51)));
    assert_eq!(receiver.receive(ms(2), &first), Some(1));
    assert_eq!(receiver.expiry(), None);
}

#[test]
fn segments_that_wait_too_long_are_given_up_and_numbers_wrap() {
    let config = unacknowledged(6);
    let mut transmitter = UmTransmitter::new(config);
    let mut receiver = UmReceiver::new(config);
    let mut source = sdus(1000, 100);
    let mut up = Vec::new();
    for sdu in 0..1000_u64 {
        let now = ms(sdu * 10);
        receiver.expire(now);
        // Of every tenth SDU the first segment is lost.
        let pdus = [0, 1].map(|_| transmitter.build(52, &mut source).unwrap().0);
        for pdu in pdus.iter().skip(usize::from(sdu % 10 == 3)) {
            up.extend(receiver.receive(now, pdu));
        }
    }
    let expected: Vec<u64> = (0..1000).filter(|sdu| sdu % 10 != 3).collect();
    assert_eq!(up, expected);
}
