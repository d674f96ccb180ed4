//! Tests of cells in both directions against closed forms: RLC, PDCP, grants, and interruptions.

use crate::cell_tests::{SEED, config, fading, half_failing, run};
use crate::config::NrConfig;
use crate::rlc::{RlcConfig, RlcMode};
use crate::{Drx, Duplex, Grants, Handover, McsTable, NrCell, Numerology, StackConfig, UplinkConfig};
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, LinkReport, Parcel, Push};

fn ms(count: u64) -> SimTime {
    SimTime::from_millis(count)
}

pub(crate) fn stack(mode: RlcMode) -> StackConfig {
    StackConfig {
        rlc: RlcConfig {
            mode,
            sn_bits: 12,
            poll_pdus: Some(16),
            poll_bytes: None,
            poll_retransmit: ms(100),
            reassembly: ms(30),
            status_prohibit: ms(10),
            max_retransmissions: 32,
        },
        reordering: Some(ms(200)),
        discard: None,
        own: Vec::new(),
        further: Vec::new(),
        schedules_bearers: false,
        outage: ms(200),
        uplink: UplinkConfig {
            grants: Grants::Requested,
            symbols: 13,
            layers: 1,
            table: McsTable::numbered(2).unwrap(),
            snr_offset_db: 0.0,
            k2: 4,
            processing_slots: 4,
            request_period_slots: 40,
            request_prohibit_slots: 0,
            request_grant_bytes: 512,
            report_period: ms(10),
            report_again: ms(80),
            queue: None,
            discipline: None,
        },
        handover: None,
        drx: None,
    }
}

fn with_stack(mut config: NrConfig, mode: RlcMode) -> NrConfig {
    config.stack = Some(stack(mode));
    config
}

/// Departure times, by number, of packets of `bytes` that are pushed at `times`, from the base station to user 1 or
/// back; `None` for lost packets.
fn delays(
    config: NrConfig,
    times: &[SimTime],
    is_up: bool,
    bytes: u32,
) -> (Vec<Option<SimTime>>, LinkReport) {
    let mut cell = NrCell::new(config, SEED).unwrap();
    let mut found = vec![None; times.len()];
    let (from, to) = if is_up { (1, 0) } else { (0, 1) };
    let end = *times.last().unwrap() + ms(3000);
    for (id, at) in times.iter().enumerate() {
        run(&mut cell, *at, |now, port, departure| {
            assert_eq!(port, to);
            if let Departure::Arrived(parcel) = departure {
                let id = parcel.id() as usize;
                assert!(found[id].is_none(), "{id} twice");
                found[id] = Some(now - times[id]);
            }
        });
        assert_eq!(cell.push(*at, from, to, Parcel::new(id as u32, 0, bytes)), Push::Accepted);
    }
    run(&mut cell, end, |now, _, departure| {
        if let Departure::Arrived(parcel) = departure {
            found[parcel.id() as usize] = Some(now - times[parcel.id() as usize]);
        }
    });
    let report = cell.report(end);
    (found, report)
}

#[test]
fn an_idle_downlink_is_one_slot() {
    for mode in [RlcMode::Unacknowledged, RlcMode::Acknowledged] {
        let times: Vec<SimTime> = (1..50).map(|i| ms(1000 * i)).collect();
        let (found, report) = delays(with_stack(config(40.0), mode), &times, false, 1000);
        assert!(found.iter().all(|delay| *delay == Some(SimTime::from_micros(500))), "{mode:?} {found:?}");
        let reports = if mode == RlcMode::Acknowledged { times.len() as u64 } else { 0 };
        assert_eq!(report.users[0].bearer.reports, reports);
    }
}

/// Pings wait for a scheduling request occasion, a saw tooth over time, then for the grant and its slot.
#[test]
fn pings_wait_for_scheduling_requests_as_a_saw_tooth() {
    // Requests each 20 ms; pings each 101 ms arrive 1 ms later in the period each time. With FDD, grants and blocks are
    // possible in every slot.
    let mut config = with_stack(config(30.0), RlcMode::Unacknowledged);
    config.duplex = Duplex::frequency();
    let times: Vec<SimTime> = (0..60).map(|i| ms(1000 + 101 * i)).collect();
    let (found, _) = delays(config.clone(), &times, true, 60);
    let slot = SimTime::from_micros(500);
    for (at, delay) in times.iter().zip(&found) {
        let wait =
            SimTime::from_nanos((ms(20).as_nanos() - at.as_nanos() % ms(20).as_nanos()) % ms(20).as_nanos());
        // The request is known 4 slots later, its grant is for 4 slots later, and the block arrives at the end of that
        // slot.
        assert_eq!(*delay, Some(wait + slot * (4 + 4 + 1)), "{at}");
    }
    let spread = found.iter().flatten().max().unwrap().saturating_sub(*found.iter().flatten().min().unwrap());
    assert_eq!(spread, ms(19));
    // Without requests a ping waits only for the next slot.
    config.stack.as_mut().unwrap().uplink.grants = Grants::Proactive;
    let (found, _) = delays(config, &times, true, 60);
    assert!(found.iter().all(|delay| *delay == Some(slot)), "{found:?}");
}

#[test]
fn configured_grants_recur() {
    let mut config = with_stack(config(30.0), RlcMode::Unacknowledged);
    config.stack.as_mut().unwrap().uplink.grants = Grants::Configured { period_slots: 10, bytes: 200 };
    // DDDSU: the first U slot from each multiple of 5 ms on is 2 ms later.
    let times: Vec<SimTime> = (0..40).map(|i| SimTime::from_micros(1_000_000 + 5_250 * i)).collect();
    let (found, report) = delays(config, &times, true, 60);
    for (at, delay) in times.iter().zip(&found) {
        let period = ms(5).as_nanos();
        let wait =
            (at.as_nanos().saturating_sub(ms(2).as_nanos())).div_ceil(period) * period + ms(2).as_nanos();
        assert_eq!(*delay, Some(SimTime::from_nanos(wait) - *at + SimTime::from_micros(500)), "{at}");
    }
    assert_eq!(report.back.unwrap().users[0].bearer.requests, 0);
}

/// Report of a cell in which each user has more data than it gets in both directions, over `seconds`.
fn saturated(config: NrConfig, seconds: u64, rates: [u64; 2]) -> LinkReport {
    let users = config.users.len() as u32;
    let mut cell = NrCell::new(config, SEED).unwrap();
    let end = ms(seconds * 1000);
    // Packets per millisecond.
    for milli in 0..seconds * 1000 {
        for (way, packets) in rates.into_iter().enumerate() {
            for number in 0..packets {
                for user in 1..=users {
                    let id = (milli * packets + number) as u32;
                    let (from, to) = if way == 0 { (0, user) } else { (user, 0) };
                    cell.push(ms(milli), from, to, Parcel::new(id, 0, 1500));
                }
            }
        }
        run(&mut cell, ms(milli + 1), |_, _, _| ());
    }
    cell.report(end)
}

fn bps(report: &LinkReport) -> f64 {
    report.statistics.arrived_bytes as f64 * 8.0 / report.at.as_secs_f64()
}

#[test]
fn both_directions_carry_what_their_blocks_hold() {
    for mode in [RlcMode::Unacknowledged, RlcMode::Acknowledged] {
        let mut config = with_stack(config(45.0), mode);
        config.stack.as_mut().unwrap().rlc.sn_bits = if mode == RlcMode::Acknowledged { 18 } else { 12 };
        let report = saturated(config, 3, [26, 5]);
        // 303.2 and 45.1 Mbit/s, of which 1500 of 1509 bytes are packets, less the time of the first requests.
        let (down, up) = (bps(&report), bps(report.back.as_ref().unwrap()));
        assert!((0.985..1.0).contains(&(down / 303.2e6)), "{mode:?} {down}");
        assert!((0.97..1.0).contains(&(up / 45.1e6)), "{mode:?} {up}");
    }
}

#[test]
fn modes_agree_where_nothing_is_lost() {
    let mut config = fading(2);
    config.harq.transmissions = 8;
    let [um, am] = [RlcMode::Unacknowledged, RlcMode::Acknowledged].map(|mode| {
        let mut config = with_stack(config.clone(), mode);
        config.stack.as_mut().unwrap().rlc.poll_pdus = Some(256);
        saturated(config, 5, [2, 0])
    });
    assert_eq!((um.statistics.losses, am.statistics.losses), (0, 0));
    let ratio = bps(&am) / bps(&um);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    assert_eq!(am.users[0].bearer.retransmissions, 0);
}

#[test]
fn acknowledged_mode_repairs_what_misread_acknowledgements_lose() {
    let mut config = fading(1);
    config.harq.nack_to_ack = 0.2;
    let [um, am] = [RlcMode::Unacknowledged, RlcMode::Acknowledged]
        .map(|mode| saturated(with_stack(config.clone(), mode), 5, [2, 0]));
    assert!(
        um.statistics.losses > 100 && am.statistics.losses == 0,
        "{} {}",
        um.statistics.losses,
        am.statistics.losses
    );
    assert!(am.users[0].bearer.retransmissions > 20);
}

#[test]
fn delays_are_taken_apart_without_a_rest() {
    let mut config = with_stack(fading(1), RlcMode::Acknowledged);
    config.harq.nack_to_ack = 0.05;
    let times: Vec<SimTime> = (0..3000).map(|i| SimTime::from_micros(1_000_000 + 700 * i)).collect();
    for is_up in [false, true] {
        let (found, report) = delays(config.clone(), &times, is_up, 900);
        let report = if is_up { *report.back.unwrap() } else { report };
        let bearer = &report.users[0].bearer;
        let sum: f64 = found.iter().flatten().map(|delay| delay.as_secs_f64()).sum();
        let parts: f64 = bearer.delay_parts_s.iter().sum();
        assert_eq!(bearer.delays, 3000);
        assert!((parts / sum - 1.0).abs() < 1e-9, "{parts} {sum}");
        assert!(bearer.delay_parts_s[3] > 0.0 && bearer.delay_parts_s[5] > 0.0, "{:?}", bearer.delay_parts_s);
        assert!(is_up || bearer.delay_parts_s[4] > 0.0, "{:?}", bearer.delay_parts_s);
    }
}

#[test]
fn a_sleeping_user_is_served_in_its_next_on_duration() {
    let mut config = with_stack(config(40.0), RlcMode::Unacknowledged);
    config.duplex = Duplex::frequency();
    let stack = config.stack.as_mut().unwrap();
    stack.drx = Some(Drx { cycle: ms(160), on: ms(10), inactivity: ms(0) });
    // At every millisecond of the cycle, 10 cycles apart.
    let times: Vec<SimTime> = (1..=160).map(|i| ms(1601 * i)).collect();
    let (found, _) = delays(config, &times, false, 100);
    let slot = SimTime::from_micros(500);
    let waits: Vec<f64> = found.iter().map(|delay| (delay.unwrap() - slot).as_secs_f64() * 1e3).collect();
    let mean = waits.iter().sum::<f64>() / 160.0;
    // (C - on)^2 / (2 C) = 70.3 ms, and half a millisecond of the grid.
    assert!((mean - 150.0 * 151.0 / 320.0).abs() < 1e-9, "{mean}");
    assert!((mean - 70.3).abs() < 0.6 && waits.iter().copied().fold(0.0, f64::max) == 150.0);
}

#[test]
fn a_long_way_caps_the_rate_by_its_processes() {
    let mut config = config(30.0);
    config.numerology = Numerology::new(0).unwrap();
    config.duplex = Duplex::frequency();
    config.prbs = 52;
    (config.harq.processes, config.harq.k1) = (32, 4);
    config.propagation = SimTime::from_micros(270_730);
    let blocks = |config: NrConfig| {
        let report = crate::cell_tests::saturated(config, 20);
        report.frames.unwrap().frames as f64
    };
    let round_trip = config.again(0) as f64;
    assert!((round_trip - 550.0).abs() < 1.0);
    let capped = blocks(config.clone());
    // 32 slots of each round trip, 5.8 %, and in the last round trip as many as were begun.
    let (whole, rest) = ((20_000.0 / round_trip).floor(), 20_000.0 % round_trip);
    assert_eq!(capped, 32.0 * whole + rest.min(32.0), "{round_trip}");
    (config.harq.has_feedback, config.harq.transmissions) = (false, 1);
    assert_eq!(blocks(config), 20_000.0);
}

#[test]
fn handover_is_a_gap_that_loses_nothing_or_what_was_under_way() {
    for (mode, is_lossless) in [(RlcMode::Acknowledged, true), (RlcMode::Unacknowledged, false)] {
        // Half of the first transmissions fails: some packets are under way at the handover.
        let mut config = with_stack(half_failing(), mode);
        let stack = config.stack.as_mut().unwrap();
        stack.handover = Some(Handover { every: ms(1000), interruption: ms(50), is_lossless });
        // The timer runs on during the interruption: a shorter one would give up packets that are retransmitted after
        // it.
        stack.reordering = Some(ms(if is_lossless { 200 } else { 20 }));
        let times: Vec<SimTime> = (0..4000).map(|i| SimTime::from_micros(500_250 + 1000 * i)).collect();
        let (found, report) = delays(config, &times, false, 900);
        let lost = found.iter().filter(|delay| delay.is_none()).count();
        assert_eq!(lost as u64, report.statistics.losses);
        assert!(if is_lossless { lost == 0 } else { (1..=60).contains(&lost) }, "{mode:?} {lost}");
        let longest = found.iter().flatten().max().unwrap();
        // The interruption, a retransmission or two, and in unacknowledged mode the wait for lost packets.
        assert!((ms(50)..ms(75)).contains(longest), "{mode:?} {longest}");
    }
}

#[test]
fn a_link_that_cannot_be_heard_fails_and_comes_back() {
    let mut config = with_stack(config(-20.0), RlcMode::Acknowledged);
    config.harq.transmissions = 1;
    config.stack.as_mut().unwrap().rlc.max_retransmissions = 2;
    let (found, report) = delays(config, &[ms(10)], false, 100);
    assert_eq!(found, [None]);
    // An attempt each 100 ms, three per failure, 200 ms of outage: about six in 3 s.
    assert!((5..=8).contains(&report.users[0].bearer.failures), "{}", report.users[0].bearer.failures);
}

#[test]
fn packets_that_wait_too_long_are_discarded() {
    let mut config = with_stack(config(0.0), RlcMode::Unacknowledged);
    config.stack.as_mut().unwrap().discard = Some(ms(50));
    let report = saturated(config, 2, [26, 0]);
    let user = &report.users[0];
    assert!(user.bearer.discards > 1000 && user.bearer.discards == report.statistics.losses);
    assert!(report.statistics.arrived_bytes > 0);
}

/// Without a discard timer shorter than the longest wait for a grant no packet of an idle user is dropped; with one,
/// some are.
#[test]
fn a_discard_timer_below_the_wait_for_a_grant_drops_packets_of_an_idle_user() {
    let frequency = Duplex::frequency();
    let long = Duplex::time("DDDDDDDSUU", [6, 4, 4]).unwrap();
    let usual = config(30.0).duplex;
    // Slots from an occasion to the block of the next: DDDSU, 4 to 54; DDDDDDDSUU, 8 to 60 (the grant of slot 52 is
    // for 58); FDD, 0 to 48; with requests each 8 slots DDDSU has occasions 4, 9, 19, 24, 34 and 44.
    for (duplex, period, slots) in
        [(usual.clone(), 40, 50), (long, 40, 50), (frequency, 40, 48), (usual, 8, 20)]
    {
        let mut config = with_stack(config(30.0), RlcMode::Unacknowledged);
        config.duplex = duplex;
        config.stack.as_mut().unwrap().uplink.request_period_slots = period;
        let wait = config.longest_request().unwrap();
        assert_eq!(wait, SimTime::from_micros(500 * slots), "{} {period}", config.duplex);
        // Packets at all phases of request occasions and pattern, a quarter of a slot after its beginning.
        let times: Vec<SimTime> =
            (0..200).map(|i| SimTime::from_micros(1_000_125 + (100_000 + 500) * i)).collect();
        for (discard, loses) in [(wait, false), (wait - SimTime::from_micros(500), true)] {
            config.stack.as_mut().unwrap().discard = Some(discard);
            let (found, _) = delays(config.clone(), &times, true, 60);
            assert_eq!(found.iter().any(Option::is_none), loses, "{} {period} {discard}", config.duplex);
        }
    }
}

#[test]
fn millimetre_waves_can_take_a_tenth_of_a_millisecond() {
    let mut config = with_stack(config(30.0), RlcMode::Unacknowledged);
    config.numerology = Numerology::new(3).unwrap();
    config.prbs = 66;
    config.stack.as_mut().unwrap().uplink.grants = Grants::Proactive;
    // DDDSU of 0.125 ms slots, packets at the beginning of each slot of the pattern.
    let times: Vec<SimTime> = (0..20).map(|i| ms(10) + SimTime::from_micros(625 * 16 + 125) * i).collect();
    let ends = |is_up| {
        let (found, _) = delays(config.clone(), &times, is_up, 60);
        let micros: Vec<u64> = found.iter().map(|delay| delay.unwrap().as_nanos() / 1000).collect();
        (*micros.iter().min().unwrap(), *micros.iter().max().unwrap())
    };
    // Downlink: one slot, and another if the packet arrives in U; uplink: the wait for U, and its slot.
    assert_eq!((ends(false), ends(true)), ((125, 250), (125, 625)));
}

#[test]
fn delays_of_packets_are_told_part_by_part() {
    let mut config = with_stack(half_failing(), RlcMode::Acknowledged);
    config.harq.nack_to_ack = 0.05;
    let mut cell = NrCell::new(config, SEED).unwrap();
    cell.trace(true);
    let mut sent = [Vec::new(), Vec::new()];
    let mut out = [Vec::new(), Vec::new()];
    for number in 0..2000_u64 {
        let at = SimTime::from_micros(3_170 * number);
        run(&mut cell, at, |now, port, departure| {
            assert!(matches!(departure, Departure::Arrived(_)));
            out[usize::from(port == 0)].push((now, departure.parcel().id()));
        });
        for (way, sent) in sent.iter_mut().enumerate() {
            let ends = if way == 0 { (0, 1) } else { (1, 0) };
            assert_eq!(cell.push(at, ends.0, ends.1, Parcel::new(number as u32, 0, 700)), Push::Accepted);
            sent.push(at);
        }
    }
    run(&mut cell, ms(20_000), |now, port, departure| {
        out[usize::from(port == 0)].push((now, departure.parcel().id()));
    });
    let report = cell.report(ms(20_000));
    let bearers = [&report.users[0].bearer, &report.back.as_ref().unwrap().users[0].bearer];
    for way in [0, 1] {
        let next = |cell: &mut NrCell| if way == 0 { cell.next_trace() } else { cell.next_trace_back() };
        let (mut sums, mut told, mut order) = ([0.0; 6], 0, Vec::new());
        while let Some(event) = next(&mut cell) {
            let crossfade_link::LinkEvent::Delay { at, user, bearer, bytes, parts } = event else { continue };
            assert_eq!((user, bearer, bytes), (0, None, 700), "one bearer");
            let (left, id) = out[way][told];
            let whole = parts.iter().fold(SimTime::ZERO, |sum, part| sum + *part);
            assert_eq!((left, left - sent[way][id as usize]), (at, whole), "{parts:?}");
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part.as_secs_f64());
            order.push(at);
            told += 1;
        }
        assert!(order.is_sorted() && told == 2000, "{told}");
        for (sum, counted) in sums.iter().zip(bearers[way].delay_parts_s) {
            assert!((sum - counted).abs() < 1e-6, "{sums:?} {:?}", bearers[way].delay_parts_s);
        }
        // In each direction packets wait for slots and are retransmitted by HARQ; down they also wait for each other.
        assert!(sums[1] > 0.0 && sums[3] > 0.0 && (way == 1 || sums[5] > 0.0), "{way} {sums:?}");
    }
    assert!(bearers[0].delay_parts_s[4] > 0.0, "RLC sends again what HARQ lost");
}

/// A buffer that never empties is served without a pause: acknowledgements of a fast download arrive continuously, so
/// that the user never finds its buffer empty, and no report says so.
#[test]
fn a_buffer_that_never_empties_is_served_without_a_pause() {
    let mut config = with_stack(config(45.0), RlcMode::Acknowledged);
    config.harq.ack_to_nack = 0.0;
    // 52 B each 83 us: 5 Mbit/s of the 45 Mbit/s that the uplink carries.
    let times: Vec<SimTime> = (0..12_000).map(|i| ms(1000) + SimTime::from_micros(83) * i).collect();
    let (found, report) = delays(config, &times, true, 52);
    let longest = found[1000..].iter().map(|delay| delay.expect("nothing is lost")).max().unwrap();
    // Data behind a report wait for the next, 10 ms later, and then two patterns and a slot for the grant; without
    // reports on full blocks, until the user reports by itself, 80 ms after a grant.
    assert!(longest < ms(20), "{longest}");
    assert!(report.back.unwrap().users[0].bearer.requests < 20);
}
