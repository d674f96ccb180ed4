//! The capacity of a direction over time agrees with closed forms, and its link keeps its guarantees.

use super::*;
use crate::limit::QueueLimit;
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::queue::QueueConfig;
use crossfade_core::{RunSeed, SimTime};
use proptest::prelude::*;

const MS: SimTime = SimTime::from_millis(1);
const SLOT: SimTime = SimTime::from_millis(15_000);

fn seed(run: u64) -> RunSeed {
    RunSeed { seed: 1, run }
}

/// Profile of a terminal at rest, with boundaries at whole slots and a constant rate.
fn steady() -> Profile {
    let Profile { shared, down, up, queues } = Profile::starlink_leocc_2025();
    let even = |direction| DirectionConfig {
        spread_between: 0.0,
        spread_within: 0.0,
        half_grant: 0.2,
        grant_spread: 0.0,
        grant_moves: 0.0,
        loss: 0.0,
        ..direction
    };
    let shared = SatelliteConfig { offset: Some(SimTime::ZERO), ..shared };
    Profile { shared, down: even(down), up: even(up), queues }
}

fn down(shared: &SatelliteConfig, config: &DirectionConfig, run: u64) -> Satellite {
    Satellite::new(shared.clone(), DirectionName::Down, config.clone(), seed(run)).unwrap()
}

fn link(satellite: Satellite) -> Box<dyn Link + Send> {
    satellite
        .link(
            QueueConfig::DropTail(None),
            seed(0).stream("queue.dl"),
            SimTime::ZERO,
            seed(0).stream("channel.dl"),
        )
        .unwrap()
}

/// Arrival times of packets pushed at given times with given lengths, by their number; lost packets are left out.
fn arrivals(link: &mut dyn Link, pushes: &[(SimTime, u32)]) -> Vec<(u32, SimTime)> {
    let mut arrived = Vec::new();
    let mut collect = |link: &mut dyn Link, until: SimTime| {
        while let Some(at) = link.next_event().filter(|at| *at <= until) {
            while let Some(departure) = link.advance(at) {
                if let Departure::Arrived(parcel) = departure {
                    arrived.push((parcel.id(), at));
                }
            }
        }
    };
    for (id, &(now, bytes)) in (0..).zip(pushes) {
        collect(link, now);
        assert_eq!(link.push(now, Parcel::new(id, 0, bytes)), Push::Accepted);
    }
    collect(link, SimTime::MAX);
    arrived
}

#[test]
fn the_mean_capacity_is_the_rate_without_what_boundaries_take() {
    let Profile { shared, down: config, .. } = steady();
    for (handover, grant, tolerance) in [(0.0, MS * 8, 1e-4), (0.0, SimTime::ZERO, 1e-9), (0.5, MS * 8, 4e-4)]
    {
        let shared = SatelliteConfig { handover, ..shared.clone() };
        let config = DirectionConfig { grant, ..config.clone() };
        let slots = 400;
        let found = down(&shared, &config, 0).capacities().bits(SimTime::ZERO, SLOT * slots);
        let expected = shared.closed_forms(&config).capacity_bps * (SLOT * slots).as_secs_f64();
        // An extension of the outage has a deviation of 26 ms: four standard errors of 400 are 3.5e-4 of a slot.
        assert!((found / expected - 1.0).abs() < tolerance, "{handover}, {grant}: {found} for {expected}");
    }
}

/// The closed forms agree with values computed by hand: capacity R (1 - lost / 15 s), with 77 ms of outage and 141 ms
/// of the ramp lost.
#[test]
fn the_closed_forms_are_those_on_paper() {
    let Profile { shared, down: config, .. } = steady();
    let quiet = SatelliteConfig { handover: 0.0, ..shared.clone() };
    let forms = quiet.closed_forms(&config);
    let lost = 0.077 + 0.6 * (0.76 / 12.0 + 0.5 / 12.0 + 0.34 / 6.0 + 0.11 * 2.0 / 3.0);
    assert!((forms.capacity_bps - 49e6 * (1.0 - lost / 15.0)).abs() < 1.0, "{forms:?}");
    assert!((forms.outage_share - 0.077 / 15.0).abs() < 1e-12);
    assert_eq!(forms.idle_wait_s, 0.002);
    assert!((forms.longest_gap_s - 0.085).abs() < 1e-12);
    let whole = DirectionConfig { half_grant: 0.0, ..config.clone() };
    assert_eq!(quiet.closed_forms(&whole).idle_wait_s, 0.004);
    // Half of the boundaries last 30 ms longer; a fifth of all time is obstructed.
    let obstructed = SatelliteConfig { obstructed: 0.2, ..shared };
    let forms = obstructed.closed_forms(&config);
    assert!((forms.outage_share - (1.0 - 0.8 * (1.0 - 0.092 / 15.0))).abs() < 1e-9);
    assert!((forms.capacity_bps - 49e6 * 0.8 * (1.0 - (lost + 0.015) / 15.0)).abs() < 1.0);
}

#[test]
fn a_packet_on_an_idle_link_waits_for_half_of_the_time_between_grants() {
    let Profile { shared, down: config, .. } = steady();
    let shared = SatelliteConfig { base_delay: BaseDelay::Uniform([MS * 10; 2]), ..shared };
    for half_grant in [0.0, 0.2] {
        let config = DirectionConfig { half_grant, ..config.clone() };
        // Every 13.7 ms, off the boundaries, in 40 slots.
        let gap = SimTime::from_micros(13_700);
        let pushes: Vec<(SimTime, u32)> = (0..40)
            .flat_map(|slot| (0..1000).map(move |i| (SLOT * slot + MS * 1000 + gap * i, 100)))
            .filter(|(at, _)| *at % SLOT < MS * 14_800)
            .collect();
        let arrived = arrivals(&mut link(down(&shared, &config, 0)), &pushes);
        assert_eq!(arrived.len(), pushes.len());
        let waits_s = arrived.iter().map(|&(id, at)| (at - pushes[id as usize].0 - MS * 10).as_secs_f64());
        let longest = waits_s.clone().fold(0.0, f64::max);
        let mean = waits_s.sum::<f64>() / arrived.len() as f64;
        let expected = shared.closed_forms(&config).idle_wait_s;
        // Within a slot the times go through all phases; a slot's mean is off by 0.03 ms at most.
        assert!((mean - expected).abs() < 3e-5, "{half_grant}: {mean} for {expected}");
        assert!(longest <= 2.0 * expected + 1e-9 && longest > 1.99 * expected, "{half_grant}: {longest}");
    }
}

/// With grants of varying size and phase, the capacity, the sizes, the share of unmoved grants and the mean wait of a
/// byte agree with their definitions.
#[test]
fn grants_vary_about_the_rate_and_move_as_often_as_they_should() {
    let Profile { shared, down: config, .. } = steady();
    let shared = SatelliteConfig { handover: 0.0, gate: Gate::OPEN, ..shared };
    for half_grant in [0.0, 0.15] {
        let config = DirectionConfig { half_grant, grant_spread: 0.25, grant_moves: 0.3, ..config.clone() };
        let direction = down(&shared, &config, 0).capacities();
        let slots = 40;
        let grants = direction.grants(SimTime::ZERO, SLOT * slots);
        // Each slot has 1875 times of 8 ms: what is granted in each, and at which phase.
        let cycles = 1875 * slots as usize;
        let (mut sums, mut phases) = (vec![0.0; cycles], vec![None; cycles]);
        for &(at, bytes) in &grants {
            let cycle = (at / (MS * 8)) as usize;
            sums[cycle] += bytes as f64 / (49e6 / 8.0 * 8e-3);
            let phase = (at % (MS * 4)).as_nanos();
            assert!(
                half_grant == 0.0 || phases[cycle].is_none_or(|first| first == phase),
                "half of the time apart"
            );
            phases[cycle] = Some(if half_grant == 0.0 { (at % (MS * 8)).as_nanos() } else { phase });
        }
        let n = cycles as f64;
        let mean = sums.iter().sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 4.0 * 0.25 / n.sqrt(), "{mean}");
        let logs: Vec<f64> = sums.iter().map(|sum| sum.ln() + 0.25 * 0.25 / 2.0).collect();
        let variance = logs.iter().map(|z| z * z).sum::<f64>() / n;
        assert!((variance / 0.0625 - 1.0).abs() < 4.0 * (2.0 / n).sqrt() + 1e-3, "{variance}");
        let stays = phases.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64 / n;
        // Neither moves, nor did the one before for once. Neighbours share a draw, which widens the deviation a little.
        let expected = (1.0 - 0.15) * (1.0 - 0.3);
        assert!((stays - expected).abs() < 6.0 * (expected * (1.0 - expected) / n).sqrt(), "{stays}");
        // A time that is met at random lies in a gap as often as that is long.
        let gaps: Vec<f64> = grants.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_secs_f64()).collect();
        let wait_s = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.iter().sum::<f64>() / 2.0;
        let expected_s = shared.closed_forms(&config).idle_wait_s;
        assert!((wait_s / expected_s - 1.0).abs() < 0.004, "{half_grant}: {wait_s} for {expected_s}");
        let longest = gaps.iter().copied().fold(0.0, f64::max);
        assert!(longest <= shared.closed_forms(&config).longest_gap_s, "{longest}");
    }
}

#[test]
fn the_longest_gap_is_the_outage_and_two_grants() {
    let Profile { shared, down: config, .. } = steady();
    let shared = SatelliteConfig { handover: 0.0, base_delay: BaseDelay::Uniform([MS * 9; 2]), ..shared };
    let config = DirectionConfig { half_grant: 0.0, ..config };
    let pushes: Vec<(SimTime, u32)> = (0..150_000).map(|i| (MS * i * 3, 100)).collect();
    let arrived = arrivals(&mut link(down(&shared, &config, 0)), &pushes);
    let longest = arrived.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap();
    let bound = shared.closed_forms(&config).longest_gap_s;
    // At each of 30 boundaries both phases are drawn: that all of them stay 6 ms below the bound has a probability of
    // 5e-5.
    assert!(longest.as_secs_f64() <= bound && longest.as_secs_f64() > bound - 0.006, "{longest}, {bound}");
}

#[test]
fn rates_of_slots_have_the_mean_the_spread_and_the_correlation() {
    let Profile { shared, down: config, .. } = steady();
    for slot_correlation in [0.0, 0.7] {
        let config = DirectionConfig { spread_between: 0.3, slot_correlation, ..config.clone() };
        let satellite = down(&shared, &config, 0);
        let n = 2000_u64;
        let rates: Vec<f64> = (0..n).map(|slot| satellite.slot_rate_bps(SLOT * slot + MS) / 49e6).collect();
        // Half the independent values that there seem to be, where neighbours are alike; four standard errors.
        let effective = n as f64 * (1.0 - slot_correlation) / (1.0 + slot_correlation);
        let mean = rates.iter().sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 4.0 * 0.3 / effective.sqrt(), "{mean}");
        let logs: Vec<f64> = rates.iter().map(|rate| (rate.ln() + 0.045) / 0.3).collect();
        let variance = logs.iter().map(|z| z * z).sum::<f64>() / n as f64;
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / effective).sqrt(), "{variance}");
        let neighbours = logs.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n as f64;
        assert!((neighbours - slot_correlation).abs() < 4.0 / effective.sqrt(), "{neighbours}");
    }
}

#[test]
fn obstructions_take_their_share_and_their_time() {
    let Profile { shared, down: config, .. } = steady();
    let shared = SatelliteConfig { obstructed: 0.16, gate: Gate::OPEN, handover: 0.0, ..shared };
    let config = DirectionConfig { grant: SimTime::ZERO, ..config };
    let capacities = down(&shared, &config, 0).capacities();
    let step = SatelliteConfig::STEP;
    let steps: Vec<bool> = (0..150 * 1000).map(|i| capacities.bits(step * i, step * (i + 1)) < 1.0).collect();
    let share = steps.iter().filter(|out| **out).count() as f64 / steps.len() as f64;
    // A mean of 2 s in a cycle of 12.5 s: some 1200 cycles, each of them with a relative deviation of about 1.
    assert!((share - 0.16).abs() < 4.0 * 0.16 / 1200.0_f64.sqrt(), "{share}");
    // Whole outages are cut by the boundaries of slots alone: those that begin in the first 5 s last 2 s in the mean.
    let lengths: Vec<f64> = steps
        .chunks(150)
        .flat_map(|slot| {
            (1..50)
                .filter(|&i| slot[i] && !slot[i - 1])
                .map(|i| slot[i..].iter().take_while(|out| **out).count() as f64)
        })
        .collect();
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64 / 10.0;
    assert!(
        (mean - 2.0).abs() < 4.0 * 2.0 / (lengths.len() as f64).sqrt() + 0.02,
        "{mean} of {}",
        lengths.len()
    );
}

#[test]
fn both_directions_have_the_same_slots_and_phases_of_their_own() {
    let Profile { shared, down: config, .. } = Profile::starlink_leocc_2025();
    let [down, up] = [DirectionName::Down, DirectionName::Up]
        .map(|name| Satellite::new(shared.clone(), name, config.clone(), seed(3)).unwrap());
    let first = down.next_boundary(SimTime::ZERO);
    assert_eq!(first, up.next_boundary(SimTime::ZERO));
    assert!(first <= SLOT);
    let mut phases = Vec::new();
    for slot in 0..20 {
        let middle = first + SLOT * slot + MS * 7000;
        assert_eq!(down.delay(middle), up.delay(middle));
        let phase = |satellite: &Satellite| {
            let (at, _) = satellite.capacities().grants(middle, middle + MS * 8)[0];
            (at - middle).as_secs_f64()
        };
        phases.push([phase(&down), phase(&up)]);
    }
    assert!(phases.iter().filter(|[down, up]| (down - up).abs() < 1e-4).count() < 3, "{phases:?}");
}

#[test]
fn spikes_stand_around_boundaries() {
    let Profile { shared, down: config, .. } = Profile::starlink_autobahn_2024();
    let shared =
        SatelliteConfig { offset: Some(MS * 5000), base_delay: BaseDelay::Uniform([MS * 9; 2]), ..shared };
    let satellite = down(&shared, &config, 0);
    let beyond = |millis: u64| satellite.delay(MS * millis) - MS * 9;
    for boundary in [5000, 20_000, 35_000] {
        let spike = beyond(boundary);
        assert!((MS * 20..=MS * 60).contains(&spike), "{spike}");
        assert_eq!([beyond(boundary - 77), beyond(boundary + 49)], [spike; 2]);
        assert_eq!([beyond(boundary - 78), beyond(boundary + 50)], [SimTime::ZERO; 2]);
    }
}

#[test]
fn what_would_arrive_in_an_outage_can_be_lost() {
    let Profile { shared, down: config, .. } = steady();
    let shared = SatelliteConfig { handover: 0.0, base_delay: BaseDelay::Uniform([MS * 30; 2]), ..shared };
    let config = DirectionConfig { outage_loss: 1.0, grant: SimTime::ZERO, ..config };
    let pushes: Vec<(SimTime, u32)> = (0..14_000).map(|i| (MS * i * 2 + MS * 1000, 100)).collect();
    let arrived = arrivals(&mut link(down(&shared, &config, 0)), &pushes);
    let has_come: std::collections::HashSet<u32> = arrived.iter().map(|(id, _)| *id).collect();
    let lost: Vec<SimTime> =
        (0..14_000).filter(|id| !has_come.contains(id)).map(|id| pushes[id as usize].0).collect();
    // Sent between 107 and 77 ms before the boundary, under way when the outage begins.
    let expected: Vec<SimTime> = pushes
        .iter()
        .map(|(at, _)| *at)
        .filter(|at| (MS * 14_893..MS * 14_923).contains(&(*at % SLOT)))
        .collect();
    assert_eq!(lost, expected);
}

#[test]
fn what_cannot_be_is_refused() {
    let Profile { shared, down: config, .. } = steady();
    let refused = |shared: SatelliteConfig, config: DirectionConfig| {
        Satellite::new(shared, DirectionName::Down, config, seed(0)).err().map(|error| error.to_string())
    };
    assert_eq!(
        refused(SatelliteConfig { slot: MS * 2000, ..shared.clone() }, config.clone()).unwrap(),
        "outage = 0.077 s: must be so short that outage and ramp are a quarter of the slot at most"
    );
    let late = SatelliteConfig { offset: Some(MS * 15_001), ..shared.clone() };
    assert_eq!(refused(late, config.clone()).unwrap(), "offset = 15.001 s: must be at most the slot");
    let fast = DirectionConfig { step_correlation: 1.0, ..config };
    assert_eq!(refused(shared, fast).unwrap(), "step_correlation = 1: must be at least 0 and below 1");
}

/// A link in which satellite, delay and rate change at every boundary, once a second.
fn restless() -> (SatelliteConfig, DirectionConfig) {
    let Profile { shared, down, .. } = Profile::starlink_autobahn_2024();
    let shared = SatelliteConfig {
        slot: MS * 1000,
        gate: Gate { outage: MS * 50, ramp: MS * 100 },
        handover: 1.0,
        base_delay: BaseDelay::Uniform([MS, MS * 60]),
        obstructed: 0.3,
        obstruction: MS * 200,
        ..shared
    };
    (shared, DirectionConfig { rate_bps: 2e6, loss: 0.05, outage_loss: 0.5, grant_moves: 0.8, ..down })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Delay, rate and capacity at a time do not depend on the order of queries.
    #[test]
    fn what_holds_at_a_time_does_not_depend_on_who_asks(
        times in prop::collection::vec(0_u64..100_000, 1..20), run in 0_u64..1000, flows: bool,
    ) {
        let (shared, config) = restless();
        let config = if flows { DirectionConfig { grant: SimTime::ZERO, ..config } } else { config };
        let asked = down(&shared, &config, run);
        for &millis in &times {
            let fresh = down(&shared, &config, run);
            let now = MS * millis;
            prop_assert_eq!(asked.delay(now), fresh.delay(now));
            prop_assert_eq!(asked.slot_rate_bps(now), fresh.slot_rate_bps(now));
            let bits = |satellite: &Satellite| satellite.capacities().bits(now, now + MS * 1700);
            prop_assert!((bits(&asked) - bits(&fresh)).abs() < 1e-3);
        }
    }

    /// Every packet leaves once, in order and within the capacity, independent of when the link is advanced.
    #[test]
    fn packets_keep_their_order_and_none_is_lost_from_sight(
        gaps in prop::collection::vec((0_u64..40_000, 40_u32..4000), 1..200), run in 0_u64..1000, polls: u64, flows: bool,
    ) {
        let (shared, config) = restless();
        let config = if flows { DirectionConfig { grant: SimTime::ZERO, ..config } } else { config };
        let mut outcomes = Vec::new();
        for polls in [u64::MAX, polls] {
            let satellite = down(&shared, &config, run);
            let capacities = satellite.capacities();
            let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(30)));
            let mut link = satellite.link(queue, seed(run).stream("queue.dl"), MS, seed(run).stream("channel.dl")).unwrap();
            let (mut now, mut left, mut dropped) = (SimTime::ZERO, Vec::new(), 0);
            for (id, &(gap, bytes)) in (0..).zip(&gaps) {
                now += SimTime::from_micros(gap);
                if polls >> (id % 64) & 1 == 1 {
                    while let Some(departure) = link.advance(now) {
                        left.push(departure);
                    }
                }
                dropped += u32::from(link.push(now, Parcel::new(id, 0, bytes)) == Push::QueueDrop);
            }
            let mut last = now;
            while let Some(at) = link.next_event() {
                last = last.max(at);
                while let Some(departure) = link.advance(at) {
                    left.push(departure);
                }
            }
            prop_assert_eq!(left.len() as u32 + dropped, gaps.len() as u32);
            let arrived: Vec<u32> = left
                .iter()
                .filter_map(|departure| match departure {
                    Departure::Arrived(parcel) => Some(parcel.id()),
                    _ => None,
                })
                .collect();
            prop_assert!(arrived.is_sorted_by(|a, b| a < b));
            let sent = link.report(last).statistics.transmitted_bytes as f64 * 8.0;
            prop_assert!(sent <= capacities.bits(SimTime::ZERO, last) * (1.0 + 1e-9) + 1.0);
            outcomes.push((arrived, dropped, link.report(last).statistics));
        }
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
    }
}
