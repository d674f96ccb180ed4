//! Links that follow a trace agree with the rule of its format and with hops.

use super::{
    DelaySeries, Interpolation, OpportunityService, OpportunityTrace, RateService, RateTable, Schedule,
    TraceLinkConfig,
};
use crate::testing::{EveryThird, plain};
use crate::{
    CoDelConfig, Departure, DropTail, Hop, HopConfig, Link, Push, QueueConfig, QueueLimit, QueuedLink,
};
use crossfade_channel::Lossless;
use crossfade_core::{RunSeed, SimTime, Stream};
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: SimTime = SimTime::from_millis(1);

fn draws() -> Stream {
    RunSeed { seed: 1, run: 0 }.stream("queue.dl")
}

fn link(schedule: Schedule, queue: QueueConfig) -> Box<dyn Link + Send> {
    let (delay, loss) = (SimTime::ZERO, Box::new(Lossless));
    TraceLinkConfig { schedule, delay, delays: None, queue, draws: draws(), loss }.build().unwrap()
}

fn opportunities(text: &str) -> Schedule {
    Schedule::Opportunities(text.parse().unwrap())
}

/// Pushes packets, given by time in microseconds and length in bytes; returns the time in microseconds at which each
/// arrived.
fn replay(mut link: Box<dyn Link + Send>, packets: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut arrived = Vec::new();
    let mut collect = |link: &mut dyn Link, until: SimTime| {
        while let Some(at) = link.next_event().filter(|&at| at <= until) {
            while let Some(departure) = link.advance(at) {
                if let Departure::Arrived(packet) = departure {
                    arrived.push((at.as_nanos() / 1000, packet.id()));
                }
            }
        }
    };
    for (id, &(micros, bytes)) in (0..).zip(packets) {
        collect(&mut *link, SimTime::from_micros(micros));
        link.push(SimTime::from_micros(micros), plain(id, bytes));
    }
    collect(&mut *link, SimTime::MAX);
    arrived
}

#[test]
fn a_constant_trace_sends_a_packet_at_each_opportunity() {
    let packets = vec![(0, 1500); 5];
    let arrived = replay(link(opportunities("12\n"), QueueConfig::DropTail(None)), &packets);
    assert_eq!(arrived, [(12_000, 0), (24_000, 1), (36_000, 2), (48_000, 3), (60_000, 4)]);
}

#[test]
fn large_packets_take_several_opportunities_and_small_ones_share_one() {
    let trace = || link(opportunities("3\n5\n5\n9\n10\n"), QueueConfig::DropTail(None));
    // 3000 bytes: at 3 and 5; then 1500 at 5; 500 and 700 at 9; 400 takes the last 300 of it, and 10.
    let packets = [3000, 1500, 500, 700, 400].map(|bytes| (0, bytes));
    let arrived = replay(trace(), &packets);
    assert_eq!(arrived, [(5_000, 0), (5_000, 1), (9_000, 2), (9_000, 3), (10_000, 4)]);
    // The second round.
    let arrived = replay(trace(), &[(0, 1500); 7]);
    assert_eq!(
        arrived.iter().map(|x| x.0).collect::<Vec<_>>(),
        [3000, 5000, 5000, 9000, 10_000, 13_000, 15_000]
    );
}

#[test]
fn opportunities_that_find_nothing_are_lost() {
    let trace = || link(opportunities("3\n5\n5\n9\n10\n"), QueueConfig::DropTail(None));
    // At the time of an opportunity is too late for it; what is left of one is lost with the queue empty.
    let packets = [(3_000, 100), (5_000, 100), (9_999, 100), (10_001, 100), (97_500, 1500)];
    let times: Vec<u64> = replay(trace(), &packets).into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [5_000, 9_000, 10_000, 13_000, 99_000]);
}

#[test]
fn a_queue_sees_how_long_packets_waited_for_an_opportunity() {
    // One opportunity a second: everything waits for longer than the target of CoDel.
    let queue = || QueueConfig::CoDel(CoDelConfig::default(), QueueLimit::Packets(1000));
    let mut slow = link(opportunities("1000\n"), queue());
    for id in 0..20 {
        slow.push(SimTime::ZERO, plain(id, 1500));
    }
    while let Some(at) = slow.next_event() {
        while slow.advance(at).is_some() {}
    }
    let slow = slow.report(SimTime::MAX).statistics;
    assert!(slow.queue_drops > 0);
    let waited = slow.queueing_delay.quantile(0.0).unwrap().as_secs_f64();
    assert!(waited > 0.9, "{waited}");
    let mut full = link(opportunities("1000\n"), QueueConfig::DropTail(Some(QueueLimit::Packets(2))));
    let fates: Vec<Push> = (0..3).map(|id| full.push(SimTime::ZERO, plain(id, 1500))).collect();
    assert_eq!(fates, [Push::Accepted, Push::Accepted, Push::QueueDrop], "none is sent before 1000 ms");
}

#[test]
fn delays_of_a_table_do_not_reorder() {
    let table: RateTable = "0 8e6 0.100 0\n0.001 8e6 0.010 0\n".parse().unwrap();
    let packets = vec![(0, 1000), (0, 1000), (200_000, 1000)];
    let arrived = replay(link(Schedule::Rates(table), QueueConfig::DropTail(None)), &packets);
    // Sent after 1 ms, when the delay is 10 ms already; the first after half a millisecond would have 100
    // ms.
    assert_eq!(arrived, [(11_000, 0), (12_000, 1), (211_000, 2)]);
    let table: RateTable = "0 16e6 0.100 0\n0.001 16e6 0.010 0\n".parse().unwrap();
    let arrived = replay(link(Schedule::Rates(table), QueueConfig::DropTail(None)), &packets);
    assert_eq!(arrived, [(100_500, 0), (100_500, 1), (210_500, 2)]);
}

/// A recorded delay holds at the end of a packet's transmission, and packets stay in order. Opportunities are at 1, 2,
/// 4 and 10 ms of every 10 ms; the delay is 20 ms, from 4 ms on 5 ms, from 8 ms on 30 ms, and begins again at 10 ms.
/// Packets pushed at 0 are sent at 1, 2, 4 and 10 ms and would come out at 21, 22, 9 and 30 ms.
#[test]
fn recorded_delays_hold_at_the_end_of_a_transmission_and_do_not_reorder() {
    let delays = || "0 0.020\n0.004 0.005\n0.008 0.030\n".parse::<DelaySeries>().unwrap();
    let arrivals = |delays: DelaySeries| {
        let link = TraceLinkConfig {
            schedule: opportunities("1\n2\n4\n10\n"),
            delay: MS,
            delays: Some(delays),
            queue: QueueConfig::DropTail(None),
            draws: draws(),
            loss: Box::new(Lossless),
        };
        replay(link.build().unwrap(), &[(0, 1500); 4]).into_iter().map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(delays().repeating(MS * 10).unwrap()), [22_000, 23_000, 23_000, 31_000]);
    // The last delay holds.
    assert_eq!(arrivals(delays()), [22_000, 23_000, 23_000, 41_000]);
    // At 1 and 2 ms 16.25 and 12.5 ms, at 4 ms 5 ms: each comes out when the one before has.
    let lines = delays().repeating(MS * 10).unwrap().interpolated(Interpolation::Linear);
    assert_eq!(arrivals(lines), [18_250, 18_250, 18_250, 31_000]);
}

#[test]
fn a_link_that_dies_keeps_what_it_has() {
    let table: RateTable = "0 8e6 0 0\n0.0015 0 0 0\n".parse().unwrap();
    let arrived = replay(link(Schedule::Rates(table), QueueConfig::DropTail(None)), &[(0, 1000); 4]);
    assert_eq!(arrived, [(1000, 0)]);
}

/// Reference departures, computed by the rule of the format for each opportunity as the tools of the format do.
fn reference(millis: &[u64], packets: &[(u64, u32)]) -> Vec<u64> {
    let mut queue: VecDeque<(u64, u32)> = packets.iter().map(|&(at, bytes)| (at, bytes)).collect();
    let mut departures = Vec::new();
    let period = millis[millis.len() - 1];
    for at in (0..).flat_map(|round| millis.iter().map(move |millis| (millis + round * period) * 1000)) {
        let mut left = OpportunityTrace::BYTES;
        while let Some(head) = queue.front_mut().filter(|head| head.0 < at) {
            let taken = left.min(head.1);
            left -= taken;
            head.1 -= taken;
            if head.1 > 0 {
                break;
            }
            departures.push(at);
            queue.pop_front();
        }
        if queue.is_empty() {
            break;
        }
    }
    departures
}

proptest! {
    #[test]
    fn opportunities_are_used_as_the_format_says(
        mut millis in prop::collection::vec(0_u64..60, 1..20),
        gaps in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..9000], 1_u32..4000), 1..60),
    ) {
        millis.push(60);
        millis.sort_unstable();
        let mut at = 0;
        let packets: Vec<(u64, u32)> =
            gaps.into_iter().map(|(gap, bytes)| { at += gap; (at, bytes) }).collect();
        let trace = OpportunityTrace::new(millis.clone()).unwrap();
        let arrived = replay(link(Schedule::Opportunities(trace), QueueConfig::DropTail(None)), &packets);
        let times: Vec<u64> = arrived.iter().map(|(at, _)| *at).collect();
        prop_assert_eq!(times, reference(&millis, &packets));
    }

    /// A link with a table of one row behaves like a hop. (Its queue takes one packet more: the one in transmission.)
    #[test]
    fn a_constant_rate_is_a_hop(gaps in prop::collection::vec((0_u64..3000, 1_u32..3000), 1..60)) {
        let mut hop: Hop = Hop::new(HopConfig {
            rate_bps: Some(8e6), delay: MS * 20, queue_limit: Some(QueueLimit::Packets(5)),
            loss: Box::new(EveryThird(Vec::new())),
        });
        let service = RateService::new("0 8e6 0.005 0".parse().unwrap());
        let queue = DropTail::new(QueueLimit::Packets(5)).unwrap();
        let mut link = QueuedLink::new(queue, service, MS * 15, Box::new(EveryThird(Vec::new())));
        let mut now = SimTime::ZERO;
        let collect = |link: &mut dyn Link, until: SimTime| {
            let mut arrived = Vec::new();
            while let Some(at) = link.next_event().filter(|&at| at <= until) {
                while let Some(departure) = link.advance(at) {
                    if let Departure::Arrived(packet) = departure {
                        arrived.push((at, packet.id()));
                    }
                }
            }
            arrived
        };
        for (id, (gap, bytes)) in (0..).zip(gaps) {
            now += SimTime::from_micros(gap);
            prop_assert_eq!(collect(&mut link, now), collect(&mut hop, now));
            let fates = [link.push(now, plain(id, bytes)), hop.push(now, plain(id, bytes))];
            prop_assert_eq!(fates[0] == Push::QueueDrop, fates[1] == Push::QueueDrop);
        }
        prop_assert_eq!(collect(&mut link, SimTime::MAX), collect(&mut hop, SimTime::MAX));
        prop_assert_eq!(link.report(SimTime::MAX).statistics, hop.report(SimTime::MAX).statistics);
    }

    #[test]
    fn packets_are_conserved_and_polling_changes_nothing(
        gaps in prop::collection::vec((0_u64..9000, 1_u32..4000), 1..60), polls: u64,
    ) {
        let build = || {
            let trace = "1\n4\n4\n9\n".parse().unwrap();
            let queue = crate::CoDel::new(CoDelConfig::default(), QueueLimit::Packets(20)).unwrap();
            QueuedLink::new(queue, OpportunityService::new(trace), MS, Box::new(EveryThird(Vec::new())))
        };
        let drive = |polls: u64| {
            let (mut link, mut now, mut told) = (build(), SimTime::ZERO, 0);
            let collect = |link: &mut dyn Link, until: SimTime| {
                let mut told = 0;
                while let Some(at) = link.next_event().filter(|&at| at <= until) {
                    told += std::iter::from_fn(|| link.advance(at)).count();
                }
                told
            };
            for (id, &(gap, bytes)) in (0_u32..).zip(&gaps) {
                now += SimTime::from_micros(gap);
                if polls >> (id % 64) & 1 == 1 {
                    told += collect(&mut link, now);
                }
                told += usize::from(link.push(now, plain(id, bytes)) == Push::QueueDrop);
            }
            told += collect(&mut link, SimTime::MAX);
            (told, link.report(SimTime::MAX).statistics)
        };
        let all = drive(u64::MAX);
        prop_assert_eq!(all.0, gaps.len());
        prop_assert_eq!(drive(polls), all);
    }
}
