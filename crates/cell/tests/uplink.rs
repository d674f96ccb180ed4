//! Tests of the uplink: delays by slots, grants and other users against hand calculation and queueing theory, and
//! conservation of packets.

use crossfade_cell::{
    Allocation, ArqConfig, Cell, CellConfig, FrameSuccess, LevelRule, Levels, PredictedSinr, SinrTrace,
    UplinkConfig, UserConfig,
};
use crossfade_channel::{DelayProfile, NamedProfile};
use crossfade_core::{RunSeed, SimTime, testing::Runs};
use crossfade_link::{Departure, Fabric, LinkEvent, LinkReport, Parcel, Port, Push, QueueLimit};
use crossfade_phy::Modulation;
use rand::RngExt;
use std::sync::Arc;

const SLOT: SimTime = SimTime::from_millis(1);

/// Cell of one bin with 100 symbols in slots of 1 ms. Its users' SNR is so high that 8 bits per symbol never fail: a
/// frame has 100 bytes.
fn perfect(users: usize, pattern: &str, grant_slots: u64) -> CellConfig {
    let success = FrameSuccess::new(100, Modulation::Star8);
    let rule = LevelRule::Optimal { target_nmse: 0.0 };
    let levels = Arc::new(Levels::new(rule, PredictedSinr::Unbiased, success).unwrap());
    let trace: SinrTrace = "0,55\n".parse().unwrap();
    let user = UserConfig {
        mean_snr_db: trace.mean_db(),
        speed_mps: 0.0,
        fd_t: 0.0,
        nmse: 0.0,
        levels,
        trace: Some(trace),
    };
    CellConfig {
        slot: SLOT,
        symbols: 100,
        bins: 1,
        bin_width_hz: 200e3,
        profile: DelayProfile::named(NamedProfile::TypicalUrban).unwrap(),
        shadowing: None,
        users: vec![user; users],
        allocation: Allocation::RoundRobin,
        feedback: None,
        outer_loop: None,
        arq: ArqConfig::default(),
        queue: None,
        uplink: Some(UplinkConfig {
            pattern: pattern.parse().unwrap(),
            grant_delay: SLOT * grant_slots,
            snr_offset_db: 0.0,
            allocation: Allocation::RoundRobin,
            queue: None,
        }),
    }
}

/// Cell with fading channels, in which frames fail.
fn fading(users: usize, pattern: &str) -> CellConfig {
    let success = FrameSuccess::new(100, Modulation::Star8);
    let rule = LevelRule::Optimal { target_nmse: 0.1 };
    let levels = Arc::new(Levels::new(rule, PredictedSinr::Unbiased, success).unwrap());
    let user = UserConfig { mean_snr_db: 14.0, speed_mps: 20.8, fd_t: 0.09, nmse: 0.1, levels, trace: None };
    let mut config = CellConfig { bins: 4, users: vec![user; users], ..perfect(1, pattern, 2) };
    config.arq.max_retransmissions = Some(1);
    config.uplink.as_mut().unwrap().snr_offset_db = -6.0;
    config
}

fn cell(config: CellConfig) -> Cell {
    Cell::new(config, RunSeed { seed: 5, run: 0 }).unwrap()
}

fn micros(us: u64) -> SimTime {
    SimTime::from_micros(us)
}

/// Pushes packets (time, source port, destination port, bytes) and returns the time, port and outcome of each that left
/// before `end`.
fn carry(
    cell: &mut Cell,
    pushes: &[(SimTime, Port, Port, u32)],
    end: SimTime,
) -> Vec<(SimTime, Port, Departure)> {
    let mut left = Vec::new();
    let mut drain = |cell: &mut Cell, until: SimTime| {
        while let Some(now) = cell.next_event().filter(|now| *now < until) {
            while let Some((port, departure)) = cell.advance(now) {
                left.push((now, port, departure));
            }
        }
    };
    for (id, &(at, from, to, bytes)) in (0..).zip(pushes) {
        drain(cell, at);
        assert_eq!(cell.push(at, from, to, Parcel::new(id, 0, bytes)), Push::Accepted);
    }
    drain(cell, end);
    left
}

/// Departures (time, port, packet number) of packets of 100 bytes, one frame each, that enter at the given times.
fn leave(config: CellConfig, pushes: &[(SimTime, Port, Port)]) -> Vec<(SimTime, Port, u32)> {
    let pushes: Vec<_> = pushes.iter().map(|&(at, from, to)| (at, from, to, 100)).collect();
    let left = carry(&mut cell(config), &pushes, SLOT * 100);
    left.into_iter().map(|(at, port, departure)| (at, port, departure.parcel().id())).collect()
}

#[test]
fn packets_wait_for_their_grant_and_for_a_slot_of_their_direction() {
    // Slots 3, 7, 11 are the uplink's. Up: granted at 2 ms, sent at 3. Down: at once, and not at 3.
    let pushes = [(SimTime::ZERO, 1, 0), (SimTime::ZERO, 0, 1), (micros(2500), 0, 1)];
    let left = leave(perfect(1, "DDDU", 2), &pushes);
    assert_eq!(left, [(SLOT, 1, 1), (SLOT * 4, 0, 0), (SLOT * 5, 1, 2)]);
    // Granted at 3.5 ms, too late for slot 3.
    assert_eq!(leave(perfect(1, "DDDU", 2), &[(micros(1500), 1, 0)]), [(SLOT * 8, 0, 0)]);
    // At the beginning of a slot is in time.
    assert_eq!(leave(perfect(1, "DDDU", 2), &[(SLOT, 1, 0)]), [(SLOT * 4, 0, 0)]);
    assert_eq!(leave(perfect(1, "DDDU", 0), &[(micros(2900), 1, 0)]), [(SLOT * 4, 0, 0)]);
}

#[test]
fn what_comes_at_once_is_served_a_user_after_the_other() {
    // The last of k users is served k periods after the first: the mean wait is grant + 3 + 4 (k - 1) / 2 slots.
    for users in 1..=5_u32 {
        let pushes: Vec<_> = (1..=users).map(|user| (SimTime::ZERO, user, 0, 100)).collect();
        let mut cell = cell(perfect(users as usize, "DDDU", 0));
        let left = carry(&mut cell, &pushes, SLOT * 100);
        let ends: Vec<SimTime> = left.iter().map(|(at, ..)| *at).collect();
        assert_eq!(ends, (0..u64::from(users)).map(|place| SLOT * (4 + 4 * place)).collect::<Vec<_>>());
        let back = cell.report(SLOT * 100).back.unwrap();
        let mean_s = back.statistics.queueing_delay_s / back.statistics.transmissions as f64;
        assert!((mean_s - 1e-3 * (3.0 + 2.0 * f64::from(users - 1))).abs() < 1e-12, "{users}: {mean_s}");
    }
}

/// Mean queueing delay in seconds of one-frame packets that arrive at `users` users in a Poisson process of the given
/// load.
fn waits(users: usize, load: f64, seed: u64) -> f64 {
    const PERIOD_S: f64 = 4e-3;
    let mut draws = RunSeed { seed, run: 0 }.stream("arrivals");
    let (mut pushes, mut at_s) = (Vec::new(), 0.0);
    while at_s < 200.0 {
        at_s -= PERIOD_S / load * (1.0 - draws.random::<f64>()).ln();
        pushes.push((SimTime::from_secs_f64(at_s), draws.random_range(1..=users as u32), 0, 100));
    }
    let mut cell = cell(perfect(users, "DDDU", 2));
    carry(&mut cell, &pushes, SLOT * 201_000);
    let counts = cell.report(SLOT * 201_000).back.unwrap().statistics;
    counts.queueing_delay_s / counts.transmissions as f64
}

#[test]
fn users_wait_for_each_other_as_in_a_slotted_queue() {
    // Poisson arrivals, one packet a period T of 4 slots (M/D/1 that begins at whole periods): T / 2 to the next slot
    // and T load / (2 (1 - load)) for who came before, whoever sends it; before that the grant of 2 slots. Under load
    // waits of a run hang together: twice the runs tell 2 %.
    for (users, load, runs) in [(1, 0.4, 8), (2, 0.4, 8), (2, 0.8, 16), (20, 0.8, 16)] {
        let expected = 2e-3 + 2e-3 + 2e-3 * load / (1.0 - load);
        let means: Vec<f64> = (0..runs).map(|seed| waits(users, load, seed)).collect();
        Runs::from(means).assert_mean_near(expected, 0.02 * expected, &format!("{users} users, load {load}"));
    }
}

/// Carries random packets in both directions between all users and the base station, and asserts that each leaves once,
/// in order and at its port; returns the pushed packets and the report.
fn both_ways(config: CellConfig, seed: u64) -> (Vec<(SimTime, Port, Port, u32)>, LinkReport) {
    let users = config.users.len() as u32;
    let mut draws = RunSeed { seed, run: 0 }.stream("both");
    let mut at_ns = 0;
    let pushes: Vec<_> = (0..600)
        .map(|_| {
            at_ns += draws.random_range(0..4_000_000);
            let user = draws.random_range(1..=users);
            let (from, to) = if draws.random::<bool>() { (0, user) } else { (user, 0) };
            (SimTime::from_nanos(at_ns), from, to, draws.random_range(1..=1500))
        })
        .collect();
    let mut cell = cell(config);
    let left = carry(&mut cell, &pushes, SLOT * 1_000_000);
    // Each packet leaves once, at its port, and those of a user and direction in order.
    let mut ids: Vec<u32> = left.iter().map(|(.., departure)| departure.parcel().id()).collect();
    for user in 1..=users {
        for (from, to) in [(0, user), (user, 0)] {
            let is_its = |id: &&u32| pushes[**id as usize].1 == from && pushes[**id as usize].2 == to;
            assert!(ids.iter().filter(is_its).is_sorted(), "from {from} to {to}");
        }
    }
    for (at, port, departure) in &left {
        let (pushed, _, to, _) = pushes[departure.parcel().id() as usize];
        assert!(*port == to && *at > pushed, "{departure:?} at {at}");
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..600).collect::<Vec<u32>>());
    let report = cell.report(SLOT * 1_000_000);
    let back = report.back.as_ref().unwrap();
    let arrived = left.iter().filter(|(.., departure)| matches!(departure, Departure::Arrived(_))).count();
    assert_eq!((report.statistics.arrivals + back.statistics.arrivals) as usize, arrived);
    assert_eq!((report.statistics.losses + back.statistics.losses) as usize, 600 - arrived);
    (pushes, report)
}

#[test]
fn packets_both_ways_leave_once_and_in_order() {
    let fair = Allocation::ProportionalFair { window_slots: 50.0 };
    for (seed, allocation) in
        (0..).zip([Allocation::Static, Allocation::BestBin { candidates: 4 }, Allocation::RoundRobin, fair])
    {
        let mut config = fading(3, "DDUDU");
        config.allocation = allocation;
        config.uplink.as_mut().unwrap().allocation = allocation;
        let (_, report) = both_ways(config, seed);
        let back = report.back.unwrap();
        // Some are lost: retransmissions are bounded, and users are received worse.
        assert!(report.statistics.losses > 0 && back.statistics.losses > 0, "{allocation:?}");
        assert!(back.frames.unwrap().frame_errors > 0);
    }
}

#[test]
fn each_direction_has_its_own_slots() {
    // What the uplink carries changes nothing of the downlink.
    let down: Vec<_> = (0..200).map(|i| (SLOT * (3 * i), 0, 1 + i as u32 % 3, 700)).collect();
    let up = down.iter().flat_map(|&(at, _, to, _)| [(at, 0, to, 700), (at, to, 0, 40)]);
    let left = |pushes: &[_]| -> Vec<(SimTime, Port)> {
        let left = carry(&mut cell(fading(3, "DDDU")), pushes, SLOT * 5000);
        left.into_iter().filter(|(_, port, _)| *port > 0).map(|(at, port, _)| (at, port)).collect()
    };
    assert_eq!(left(&down), left(&up.collect::<Vec<_>>()));
    // And frames of the uplink begin in its slots alone.
    let mut cell = cell(fading(2, "DDU"));
    cell.trace(true);
    carry(&mut cell, &[(SimTime::ZERO, 1, 0, 1500), (SimTime::ZERO, 0, 2, 1500)], SLOT * 500);
    let slot = |event: LinkEvent| event.at().as_nanos() / SLOT.as_nanos() % 3;
    let of_downlink: Vec<u64> = std::iter::from_fn(|| cell.next_trace()).map(slot).collect();
    let of_uplink: Vec<u64> = std::iter::from_fn(|| cell.next_trace_back()).map(slot).collect();
    assert!(!of_downlink.is_empty() && of_downlink.iter().all(|slot| *slot < 2));
    assert!(!of_uplink.is_empty() && of_uplink.iter().all(|slot| *slot == 2));
}

#[test]
fn the_uplink_has_the_channel_of_the_downlink() {
    // At an offset of 0 dB, the same slots of the same user have the same ratio: every frame of the pattern read once
    // as the downlink's and once as the uplink's.
    let ratios = |pattern: &str, from, to| -> Vec<(SimTime, Option<f64>)> {
        let mut config = fading(1, pattern);
        config.bins = 1;
        config.uplink.as_mut().unwrap().snr_offset_db = 0.0;
        let mut cell = cell(config);
        cell.trace(true);
        carry(&mut cell, &[(SimTime::ZERO, from, to, 60_000)], SLOT * 400);
        let next = || if from == 0 { cell.next_trace() } else { cell.next_trace_back() };
        let frames = std::iter::from_fn(next).filter_map(|event| match event {
            LinkEvent::Frame { at, snr_db, .. } => Some((at, snr_db)),
            _ => None,
        });
        frames.filter(|(at, _)| *at >= SLOT * 4 && *at < SLOT * 100).collect()
    };
    let (down, up) = (ratios("DU", 0, 1), ratios("UD", 1, 0));
    assert!(down.len() > 40 && down == up, "{} {}", down.len(), up.len());
}

#[test]
fn queues_of_users_are_limited_and_ports_are_checked() {
    let mut config = perfect(2, "DU", 0);
    config.uplink.as_mut().unwrap().queue = Some(QueueLimit::Packets(1));
    let mut cell = cell(config);
    let mut push = |from, to| cell.push(SimTime::ZERO, from, to, Parcel::new(0, 0, 100));
    assert_eq!([push(1, 0), push(1, 0), push(2, 0)], [Push::Accepted, Push::QueueDrop, Push::Accepted]);
    assert_eq!([push(1, 2), push(0, 0), push(3, 0), push(0, 3)], [Push::Lost; 4]);
    let back = cell.report(SLOT).back.unwrap();
    assert_eq!((back.statistics.queue_drops, back.users[0].packets.queue_drops), (1, 1));
    assert_eq!(back.unsent.len(), 2);
    // Without an uplink nothing goes up.
    let mut without = self::cell(CellConfig { uplink: None, ..perfect(1, "DU", 0) });
    assert_eq!(without.push(SimTime::ZERO, 1, 0, Parcel::new(0, 0, 100)), Push::Lost);
    assert!(without.report(SLOT).back.is_none());
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut UplinkConfig)| {
        let mut config = fading(3, "DU");
        change(config.uplink.as_mut().unwrap());
        Cell::new(config, RunSeed { seed: 1, run: 0 }).err().unwrap().to_string()
    };
    for (said, expected) in [
        (
            refused(&|uplink| uplink.grant_delay = SLOT * 1001),
            "uplink.grant_delay = 1.001 s: must be at most",
        ),
        (refused(&|uplink| uplink.snr_offset_db = f64::NAN), "uplink.snr_offset_db = NaN: must be between"),
        (refused(&|uplink| uplink.snr_offset_db = -50.0), "here one at -36"),
        (refused(&|uplink| uplink.queue = Some(QueueLimit::Packets(0))), "uplink.queue = 0: must be"),
        (refused(&|uplink| uplink.allocation = Allocation::BestBin { candidates: 5 }), "candidates = 5"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
}
