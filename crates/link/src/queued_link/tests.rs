//! Links with a queue discipline behave like hops with drop-tail, and conserve packets.

use super::*;
use crate::parcel::Parcel;
use crate::testing::{EveryThird, capable, plain};
use crate::{
    CoDel, CoDelConfig, DropTail, FqCoDel, FqCoDelConfig, Hop, HopConfig, LinkConfig, QueueConfig,
    QueueLimit, Red, RedConfig,
};
use crossfade_channel::{Iid, Lossless};
use crossfade_core::RunSeed;
use proptest::prelude::*;

const MS: SimTime = SimTime::from_millis(1);

/// Link on which 1000 bytes take 1 ms to send, with 20 ms of delay.
fn queued<Q: QueueDiscipline>(queue: Q, loss: Box<dyn LossProcess>) -> QueuedLink<Q> {
    QueuedLink::new(queue, Transmitter::new(Some(8e6)), MS * 20, loss)
}

/// Outcome of a link: arrived packets with their times, and the lost and dropped packets.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    arrived: Vec<(SimTime, u32)>,
    lost: Vec<u32>,
    dropped: Vec<u32>,
}

impl Outcome {
    /// Takes out all packets that leave by `until`, each at its time.
    fn collect(&mut self, link: &mut dyn Link, until: SimTime) {
        let mut before = SimTime::ZERO;
        while let Some(at) = link.next_event().filter(|&at| at <= until) {
            assert!(at >= before, "events come in order of time");
            before = at;
            while let Some(departure) = link.advance(at) {
                match departure {
                    Departure::Arrived(packet) => self.arrived.push((at, packet.id())),
                    Departure::Lost(packet) => self.lost.push(packet.id()),
                    Departure::QueueDrop(packet) => self.dropped.push(packet.id()),
                }
            }
        }
    }
}

/// Pushes packets after gaps in microseconds. `polls` is true for the packets before which the link is advanced; the
/// outcome must not depend on it.
fn drive(link: &mut dyn Link, packets: &[(u64, Parcel)], polls: impl Fn(usize) -> bool) -> Outcome {
    let (mut now, mut outcome) = (SimTime::ZERO, Outcome::default());
    for (i, &(gap, packet)) in packets.iter().enumerate() {
        now += SimTime::from_micros(gap);
        if polls(i) {
            outcome.collect(link, now);
        }
        match link.push(now, packet) {
            Push::Accepted => {}
            Push::Lost => outcome.lost.push(packet.id()),
            Push::QueueDrop => outcome.dropped.push(packet.id()),
        }
    }
    outcome.collect(link, SimTime::MAX);
    outcome
}

#[test]
fn a_packet_departs_at_the_end_of_its_transmission_and_arrives_a_delay_later() {
    let mut link = queued(DropTail::new(QueueLimit::Packets(9)).unwrap(), Box::new(Lossless));
    let packets: Vec<_> = [(0, 1000), (0, 500), (5000, 40)].map(|(gap, bytes)| (gap, plain(0, bytes))).into();
    let outcome = drive(&mut link, &packets, |_| true);
    let micros: Vec<_> = outcome.arrived.iter().map(|(at, _)| at.as_nanos() / 1000).collect();
    assert_eq!(micros, [21_000, 21_500, 25_040]);
    let statistics = link.report(SimTime::MAX).statistics;
    assert_eq!((statistics.transmissions, statistics.transmitted_bytes), (3, 1540));
    // One packet waited for 1 ms of the 5.04 ms until the link fell idle.
    assert_eq!(statistics.waiting_s, 0.001);
    assert!((statistics.queue_mean_packets(SimTime::from_micros(5040)) - 1.0 / 5.04).abs() < 1e-12);
}

#[test]
fn a_transmission_that_has_not_ended_counts_as_far_as_it_is() {
    let limit = QueueLimit::Packets(9);
    let links: [Box<dyn Link>; 2] = [
        Box::new(queued(DropTail::new(limit).unwrap(), Box::new(Lossless))),
        Box::new(queued(CoDel::new(CoDelConfig::default(), limit).unwrap(), Box::new(Lossless))),
    ];
    for mut link in links {
        let before = link.report(SimTime::ZERO);
        // Two packets of 10 ms; the run ends in the second.
        for id in [0, 1] {
            assert_eq!(link.push(SimTime::ZERO, plain(id, 10_000)), Push::Accepted);
        }
        while link.next_event().is_some_and(|at| at <= MS * 12) {
            link.advance(MS * 12);
        }
        let until = |link: &mut dyn Link, ms| link.report(MS * ms).utilisation(&before, MS * ms).unwrap();
        assert!((until(&mut *link, 12) - 1.0).abs() < 1e-12);
        assert!((until(&mut *link, 40) - 0.5).abs() < 1e-12);
    }
}

#[test]
fn marks_drops_and_losses_are_told() {
    let codel = CoDelConfig { ecn: true, ..CoDelConfig::default() };
    let queue = CoDel::new(codel, QueueLimit::Packets(1000)).unwrap();
    let mut link = queued(queue, Box::new(EveryThird(Vec::new())));
    // Every other packet can be marked. At twice the rate of the link the queue stands soon.
    let packets: Vec<_> = (0..1000).map(|id| (500, capable(plain(id, 1000), id % 2 == 0))).collect();
    let outcome = drive(&mut link, &packets, |_| true);
    let (statistics, count) = (link.report(SimTime::MAX).statistics, |ids: &[u32]| ids.len() as u64);
    assert!(statistics.ecn_marks > 0 && statistics.queue_drops > 0);
    assert_eq!(statistics.queue_drops, count(&outcome.dropped));
    assert_eq!(statistics.losses, count(&outcome.lost));
    assert_eq!(statistics.transmissions, (outcome.arrived.len() + outcome.lost.len()) as u64);
    assert!(outcome.dropped.iter().all(|id| id % 2 == 1));
    let delays = &statistics.queueing_delay;
    assert_eq!(delays.count(), statistics.transmissions);
}

#[test]
fn the_mean_queue_counts_what_is_dropped_in_the_end() {
    let codel = CoDel::new(CoDelConfig::default(), QueueLimit::Packets(1000)).unwrap();
    let mut link = queued(codel, Box::new(Lossless));
    for id in 0..500 {
        assert_eq!(link.push(SimTime::ZERO, plain(id, 1000)), Push::Accepted);
    }
    let (mut waited, mut dropped) = (SimTime::ZERO, 0);
    while let Some(at) = link.next_event() {
        while let Some(departure) = link.advance(at) {
            dropped += u64::from(matches!(departure, Departure::QueueDrop(_)));
            let since = if matches!(departure, Departure::Arrived(_)) { MS * 21 } else { SimTime::ZERO };
            waited += at - since;
        }
    }
    let statistics = link.report(SimTime::MAX).statistics;
    assert!(dropped > 0 && dropped == statistics.queue_drops);
    assert!(statistics.queueing_delay_s < statistics.waiting_s);
    assert!((statistics.waiting_s - waited.as_secs_f64()).abs() < 1e-9);
}

#[test]
fn a_link_is_busy_for_no_longer_than_it_has_been() {
    // Packets of 1 ms each. At 1.5 ms the second is half sent; at 4 ms there has been nothing for 2 ms.
    let codel = CoDel::new(CoDelConfig::default(), QueueLimit::Packets(1000)).unwrap();
    let mut link = queued(codel, Box::new(Lossless));
    let begin = link.report(SimTime::ZERO);
    for id in 0..2 {
        link.push(SimTime::ZERO, plain(id, 1000));
    }
    let mut share_at = |at| {
        assert_eq!(link.advance(at), None);
        link.report(at).utilisation(&begin, at).unwrap()
    };
    assert_eq!(share_at(SimTime::from_micros(1500)), 1.0);
    assert_eq!(share_at(MS * 4), 0.5);
}

#[test]
fn what_was_counted_before_can_be_taken_off() {
    let limit = QueueLimit::Packets(9);
    // The average is the queue itself: marks below 1.5 packets, drops above.
    let red = RedConfig { ecn: true, w_q: 1.0, min_th: 0.0, max_th: 1.5, ..RedConfig::new(limit, 1000, 8e6) };
    let red = RedConfig { gentle: false, max_p: 1.0, ..red };
    let red = Red::new(red, RunSeed { seed: 1, run: 0 }.stream("queue.dl")).unwrap();
    let mut link = queued(red, Box::new(EveryThird(Vec::new())));
    let packet = |id| capable(plain(id, 1000), true);
    let packets: Vec<_> = (0..200).map(|id| (600, packet(id))).collect();
    drive(&mut link, &packets, |_| true);
    let earlier = link.report(SimTime::MAX).statistics;
    assert!(earlier.ecn_marks > 0 && earlier.queue_drops > 0 && earlier.losses > 0);
    let again = drive(&mut link, &[(10_000_000, plain(0, 700))], |_| true);
    let since = link.report(SimTime::MAX).statistics.since(&earlier);
    assert_eq!(again.arrived.len() + again.lost.len(), 1);
    assert_eq!((since.transmissions, since.transmitted_bytes), (1, 700));
    assert_eq!((since.ecn_marks, since.queue_drops, since.losses), (0, 0, again.lost.len() as u64));
    assert_eq!((since.waiting_s, since.queueing_delay.count()), (0.0, 1));
}

#[test]
fn a_scenario_gets_the_link_it_asks_for_or_one_line() {
    let limit = QueueLimit::Packets(50);
    let build = |queue| {
        let draws = RunSeed { seed: 1, run: 0 }.stream("queue.dl");
        LinkConfig { rate_bps: Some(8e6), delay: MS, queue, draws, loss: Box::new(Lossless) }.build()
    };
    for queue in [
        QueueConfig::DropTail(Some(limit)),
        QueueConfig::Red(RedConfig::new(limit, 1000, 8e6)),
        QueueConfig::CoDel(CoDelConfig::default(), limit),
        QueueConfig::FqCoDel(FqCoDelConfig::default()),
    ] {
        let mut link = build(queue).unwrap();
        let outcome = drive(&mut *link, &[(0, plain(1, 1000))], |_| true);
        assert_eq!(outcome.arrived, [(MS * 2, 1)]);
        assert_eq!(link.report(MS * 2).statistics.queueing_delay.count(), 1);
    }
    let wrong = FqCoDelConfig { quantum: 0, ..FqCoDelConfig::default() };
    let error = build(QueueConfig::FqCoDel(wrong)).err().unwrap().to_string();
    assert_eq!(error, "quantum = 0 B: must be at least 256 B");
}

/// Packets before which the link is advanced, as bits of a number, or all.
fn polls() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), any::<u64>()]
}

/// Bursts, gaps shorter and longer than a transmission, and arrivals at exactly the end of a transmission.
fn traffic() -> impl Strategy<Value = Vec<(u64, Parcel)>> {
    let gap = prop_oneof![Just(0), Just(1000), 0_u64..3000, 0_u64..60_000];
    let bytes = prop_oneof![Just(1000), 40_u32..1500];
    prop::collection::vec((gap, bytes, 0_u32..5, any::<bool>()), 1..200).prop_map(|packets| {
        let packet =
            |(id, (gap, bytes, flow, ecn_capable))| (gap, capable(Parcel::new(id, flow, bytes), ecn_capable));
        (0..).zip(packets).map(packet).collect()
    })
}

proptest! {
    #[test]
    fn with_drop_tail_it_is_a_hop(
        packets in traffic(), polls in polls(), lossy: bool, has_rate: bool,
        limit in prop_oneof![
            (1_usize..6).prop_map(QueueLimit::Packets), (1500_u64..10_000).prop_map(QueueLimit::Bytes),
        ],
    ) {
        let loss = || -> Box<dyn LossProcess> {
            if lossy { Box::new(EveryThird(Vec::new())) } else { Box::new(Lossless) }
        };
        let rate_bps = has_rate.then_some(8e6);
        let hop = HopConfig { rate_bps, delay: MS * 20, queue_limit: Some(limit), loss: loss() };
        let mut hop = Hop::new(hop);
        let again = HopConfig { rate_bps, delay: MS * 20, queue_limit: Some(limit), loss: loss() };
        let mut link = Hop::new(again).into_queued().unwrap();
        let polls = |i: usize| polls >> (i % 64) & 1 == 1;
        let mut expected = drive(&mut hop, &packets, polls);
        let mut outcome = drive(&mut link, &packets, polls);
        // Without a transmission time the hop reports a loss at the push.
        outcome.lost.sort_unstable();
        expected.lost.sort_unstable();
        if (0..packets.len()).all(polls) {
            prop_assert_eq!(&outcome, &expected);
        }
        let ids = |outcome: &Outcome| outcome.arrived.iter().map(|(_, id)| *id).collect::<Vec<_>>();
        prop_assert_eq!(ids(&outcome), ids(&expected));
        prop_assert_eq!((&outcome.lost, &outcome.dropped), (&expected.lost, &expected.dropped));
        prop_assert_eq!(link.report(SimTime::MAX).statistics, hop.report(SimTime::MAX).statistics);
    }

    /// At any time, a queued link with a drop-tail queue, which decides as packets leave, has the same statistics as a
    /// hop, which decides as they arrive.
    #[test]
    fn with_drop_tail_it_has_counted_what_a_hop_has(
        packets in traffic(), looks in prop::collection::vec(0_u64..3000, 200), lossy: bool, has_rate: bool,
        limit in (1_usize..30).prop_map(QueueLimit::Packets),
    ) {
        let loss = || -> Box<dyn LossProcess> {
            if lossy { Box::new(EveryThird(Vec::new())) } else { Box::new(Lossless) }
        };
        let rate_bps = has_rate.then_some(8e6);
        let hop = HopConfig { rate_bps, delay: MS * 20, queue_limit: Some(limit), loss: loss() };
        let queue = DropTail::new(limit).unwrap();
        let link = QueuedLink::new(queue, Transmitter::new(rate_bps), MS * 20, loss());
        let mut links: [Box<dyn Link>; 2] = [Box::new(Hop::new(hop)), Box::new(link)];
        let begin = links.each_mut().map(|link| link.report(SimTime::ZERO));
        let (mut now, mut pushed) = (SimTime::ZERO, [0, 0]);
        for (&(gap, packet), look) in packets.iter().zip(looks) {
            let next = now + SimTime::from_micros(gap);
            let at = (now + SimTime::from_micros(look)).min(next);
            let reports = links.each_mut().map(|link| {
                while link.advance(at).is_some() {}
                link.report(at)
            });
            prop_assert_eq!(&reports[0].statistics, &reports[1].statistics);
            prop_assert_eq!(&reports[0].unsent, &reports[1].unsent);
            prop_assert_eq!(&reports[0].sent, &reports[1].sent);
            prop_assert_eq!(reports[0].waiting, reports[1].waiting);
            let used = [0, 1].map(|i| reports[i].utilisation(&begin[i], at));
            prop_assert_eq!(used[0], used[1]);
            let counts = &reports[0].statistics;
            let bits = counts.transmitted_bytes as f64 * 8.0;
            prop_assert!(rate_bps.is_none_or(|rate_bps| bits <= rate_bps * at.as_secs_f64() * (1.0 + 1e-12)));
            prop_assert_eq!(counts.transmissions + reports[0].unsent.len() as u64, pushed[0]);
            now = next;
            for (link, pushed) in links.iter_mut().zip(&mut pushed) {
                while link.advance(now).is_some() {}
                *pushed += u64::from(link.push(now, packet) != Push::QueueDrop);
            }
        }
    }

    /// Every pushed packet arrives, is lost or is dropped, exactly once; the statistics agree, and the outcome does not
    /// depend on when the link is polled.
    #[test]
    fn packets_are_conserved(packets in traffic(), polls in polls(), ecn: bool, p_e in 0.0..0.5) {
        let limit = QueueLimit::Packets(20);
        let codel = CoDelConfig { ecn, ..CoDelConfig::default() };
        let fq_codel = FqCoDelConfig { codel, limit, ..FqCoDelConfig::default() };
        let red = RedConfig::new(limit, 1000, 8e6);
        let red = RedConfig { ecn, w_q: 0.1, min_th: 1.0, max_th: 5.0, ..red };
        let seed = RunSeed { seed: 1, run: 0 };
        let loss = || Box::new(Iid::new(p_e, seed.stream("channel.dl")).unwrap());
        let links = || -> [Box<dyn Link>; 3] {
            let red = Red::new(red, seed.stream("queue.dl")).unwrap();
            [
                Box::new(queued(CoDel::new(codel, limit).unwrap(), loss())),
                Box::new(queued(FqCoDel::new(fq_codel).unwrap(), loss())),
                Box::new(queued(red, loss())),
            ]
        };
        for (mut link, mut lazy) in links().into_iter().zip(links()) {
            let outcome = drive(&mut link, &packets, |_| true);
            let mut ids: Vec<u32> = outcome.arrived.iter().map(|(_, id)| *id).collect();
            ids.extend(outcome.lost.iter().chain(&outcome.dropped));
            ids.sort_unstable();
            prop_assert_eq!(ids, (0..packets.len() as u32).collect::<Vec<_>>());

            let statistics = link.report(SimTime::MAX).statistics;
            let arrived = statistics.transmissions - statistics.losses;
            let counted = [arrived, statistics.losses, statistics.queue_drops];
            let seen = [outcome.arrived.len(), outcome.lost.len(), outcome.dropped.len()];
            prop_assert_eq!(counted, seen.map(|n| n as u64));
            let sent_bytes = |id: &u32| u64::from(packets[*id as usize].1.bytes());
            let sent = outcome.arrived.iter().map(|(_, id)| id).chain(&outcome.lost);
            let bytes: u64 = sent.map(sent_bytes).sum();
            prop_assert_eq!(statistics.transmitted_bytes, bytes);
            prop_assert!(outcome.arrived.windows(2).all(|pair| pair[0].0 < pair[1].0), "one at a time");

            drive(&mut lazy, &packets, |i| polls >> (i % 64) & 1 == 1);
            prop_assert_eq!(lazy.report(SimTime::MAX).statistics, statistics);
        }
    }
}
