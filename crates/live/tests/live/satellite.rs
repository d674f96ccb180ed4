//! Satellite links, and a recording of one: emulation in real time and simulation give equal results.

use crate::Case;
use crate::ping::ping;
use crate::replay::{Entry, Record, recorded, replay};
use crate::testbed::{MS, check, draws, emulate, undisturbed};
use crossfade_channel::Lossless;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::satellite::{DirectionName, Gate, Profile, Satellite, SatelliteConfig};
use crossfade_link::trace::{DelaySeries, OpportunityTrace, Schedule, TraceLinkConfig};
use crossfade_link::{Departure, QueueConfig, QueueLimit};
use crossfade_live::{Host, LiveLink, PumpConfig};
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const ALL: &[Case] = &[
    ("ping_through_a_satellite_link_by_phase", ping_through_a_satellite_link_by_phase),
    ("the_example_of_leo_replayer_to_the_packet", the_example_of_leo_replayer_to_the_packet),
    ("a_fast_satellite_link_drops_nothing_unseen", a_fast_satellite_link_drops_nothing_unseen),
];

/// Allocation slot of the links in these tests, short enough for several in a few seconds.
const SLOT: SimTime = SimTime::from_millis(1000);

/// One direction of the measured satellite link, with short slots; their boundaries lie at 0.4 s, 1.4 s and so on.
fn satellite(name: DirectionName, rate_bps: f64) -> LiveLink {
    let Profile { shared, down, .. } = Profile::starlink_leocc_2025();
    let gate = Gate { outage: MS * 60, ramp: MS * 120 };
    let shared = SatelliteConfig { slot: SLOT, offset: Some(MS * 400), gate, ..shared };
    let satellite = Satellite::new(
        shared,
        name,
        crossfade_link::satellite::DirectionConfig { rate_bps, loss: 0.0, ..down },
        RunSeed { seed: 1, run: 0 },
    );
    let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(2000)));
    let losses = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
    satellite.unwrap().link(queue, draws(), SimTime::ZERO, losses).unwrap()
}

/// Times at which packets entered a link, and times at which they came out of it, in order.
fn times(record: &[Entry]) -> [Vec<SimTime>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for entry in record {
        match *entry {
            Entry::Push(at, ..) => found[0].push(at),
            Entry::Departure(at, Departure::Arrived(_)) => found[1].push(at),
            Entry::Departure(..) => {}
        }
    }
    found
}

/// Both directions give each ping the delays that equal random draws give it in simulated time. The RTT of a ping
/// beyond these, for each twentieth of a slot, is the lateness of the machine, which must be below 10 ms.
fn ping_through_a_satellite_link_by_phase() {
    const BINS: usize = 20;
    undisturbed(|| {
        let links = [DirectionName::Up, DirectionName::Down].map(|name| recorded(satellite(name, 50e6)));
        let [(there, of_there), (back, of_back)] = links;
        let (rtt, _) = emulate(Box::new(there), Box::new(back), PumpConfig::default(), |[near, far]| {
            ping(near, far.address(), 250)
        });
        let replayed = |record: &Record, name| {
            let record = record.lock().unwrap();
            let again = replay(satellite(name, 50e6), &record);
            assert!(*record == again, "the same arrivals have the same fates");
            times(&again)
        };
        let [there, back] = [replayed(&of_there, DirectionName::Up), replayed(&of_back, DirectionName::Down)];
        let mut folded = [f64::INFINITY; BINS];
        for (i, rtt) in rtt.iter().enumerate() {
            let simulated = (there[1][i] - there[0][i]) + (back[1][i] - back[0][i]);
            let late_s = rtt.as_secs_f64() - simulated.as_secs_f64();
            assert!(late_s > -1e-9, "ping {i} is early by {late_s} s");
            let phase = there[0][i] % SLOT;
            let bin = &mut folded[(phase.as_secs_f64() / SLOT.as_secs_f64() * BINS as f64) as usize];
            *bin = bin.min(late_s);
        }
        let seen: Vec<f64> = folded.into_iter().filter(|late_s| late_s.is_finite()).collect();
        println!(
            "pings by phase: {} of {BINS} bins, luckiest {:?} us",
            seen.len(),
            seen.iter().map(|s| (s * 1e6) as u64).collect::<Vec<_>>()
        );
        // During the outage no ping is sent: one waits for its end.
        assert!(seen.len() >= BINS - 3, "{seen:?}");
        // The pings of a phase that took the longest met an outage, and all of them a wait for a grant.
        let longest = rtt.iter().max().unwrap().as_secs_f64();
        assert!(longest > 0.05, "{longest}");
        let worst = seen.into_iter().fold(0.0, f64::max);
        if worst < 0.010 { Ok(()) } else { Err(format!("late by {worst} s in a phase")) }
    });
}

/// Recorded capacity in packets per ms, and recorded delays in ms for each 10 ms.
fn leo_replayer() -> [Vec<u64>; 2] {
    let text = include_str!("../../../../tests/data/leo-replayer-example.txt");
    let (_, data) = text.split_once("\ncapacity\n").unwrap();
    let (capacity, delays) = data.split_once("\ndelay\n").unwrap();
    [capacity, delays]
        .map(|text| text.bytes().filter(|byte| *byte != b'\n').map(|byte| u64::from(byte - b'!')).collect())
}

fn the_example_of_leo_replayer_to_the_packet() {
    let [capacity, delays] = leo_replayer();
    let millis = |(at, count): (usize, &u64)| vec![at as u64; *count as usize];
    let opportunities: Vec<u64> = capacity.iter().enumerate().flat_map(millis).collect();
    let schedule = || {
        let schedule = OpportunityTrace::new(opportunities[..40_000].to_vec()).unwrap();
        let delays = delays.iter().enumerate().map(|(at, delay)| (MS * (10 * at as u64), MS * *delay));
        let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(500)));
        let link = TraceLinkConfig {
            schedule: Schedule::Opportunities(schedule),
            delay: SimTime::ZERO,
            delays: Some(DelaySeries::new(delays.collect()).unwrap()),
            queue,
            draws: draws(),
            loss: Box::new(Lossless),
        };
        link.build().unwrap()
    };
    let (link, record) = recorded(schedule());
    let back = crate::testbed::hop(None, MS);
    let (_, report) = emulate(Box::new(link), back, PumpConfig::default(), |hosts| {
        flood(hosts, 70e6, Duration::from_secs(3))
    });
    let record = record.lock().unwrap();
    assert!(*record == replay(schedule(), &record), "the same arrivals have the same fates");
    let [pushed, arrived] = times(&record);
    assert!(report.forward.link.queue_drops > 0 && arrived.len() > 8_000, "{report:?}");
    // The queue is never empty once it was full: each opportunity from the first on takes a packet, which takes the
    // delay of its time and never overtakes another.
    let first = opportunities.partition_point(|at| MS * *at <= pushed[0]);
    let last = *pushed.last().unwrap();
    let mut before = SimTime::ZERO;
    let expected = opportunities[first..].iter().map(|at| {
        before = before.max(MS * (at + delays[(at / 10) as usize]));
        before
    });
    let expected: Vec<SimTime> = expected.take_while(|at| *at < last).collect();
    assert!(expected.len() > 8_000, "{}", expected.len());
    let wrong = expected.iter().zip(&arrived).position(|(expected, arrived)| expected != arrived);
    let at = |i: usize| format!("packet {i}: {:?} in the record, {:?} live", expected[i], arrived[i]);
    assert!(wrong.is_none(), "{}", at(wrong.unwrap_or_default()));
}

/// Sends packets of 1500 bytes at `rate_bps` in bursts of 1 ms for the time `lasts`; returns their number.
fn flood([near, far]: &[Host; 2], rate_bps: f64, lasts: Duration) -> u64 {
    let socket = near.run(|| UdpSocket::bind((near.address(), 0))).unwrap().unwrap();
    // Nobody reads it, and the kernel drops what it has no room for, behind the link.
    let sink = far.run(|| UdpSocket::bind((far.address(), 9))).unwrap().unwrap();
    let (begin, mut sent) = (Instant::now(), 0_u64);
    while begin.elapsed() < lasts {
        let due = (begin.elapsed().as_secs_f64() * rate_bps / 12_000.0) as u64;
        while sent < due {
            socket.send_to(&[0; 1472], (far.address(), 9)).unwrap();
            sent += 1;
        }
        sleep(Duration::from_millis(1));
    }
    drop(sink);
    sent
}

/// All packets of a sender of 320 Mbit/s are counted: by the link, or as dropped before it.
fn a_fast_satellite_link_drops_nothing_unseen() {
    let hosts = Host::pair(crate::testbed::MTU).unwrap();
    let links = [DirectionName::Down, DirectionName::Up].map(|name| satellite(name, 300e6));
    let [there, back] = links;
    let emulation = crossfade_live::Emulation::start(&hosts, there, back, PumpConfig::default()).unwrap();
    let sent = flood(&hosts, 320e6, Duration::from_secs(2));
    sleep(Duration::from_millis(500));
    let report = emulation.stop().unwrap();
    let forward = &report.forward;
    println!(
        "300 Mbit/s: {sent} sent, {} through the link, {} dropped by its queue, {} before it, {} refused, {} left",
        forward.link.arrivals, forward.link.queue_drops, forward.ring_drops, forward.refused, forward.left
    );
    assert_eq!(sent, forward.packets + forward.ring_drops, "{report:?}");
    assert!(forward.link.arrivals > 20_000 && forward.link.queue_drops > 0, "{report:?}");
    if forward.ring_drops == 0 {
        check(forward);
    }
}
