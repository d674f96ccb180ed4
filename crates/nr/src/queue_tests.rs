//! Tests of queue disciplines before the users of a cell, with and without RLC above the radio.

use crate::cell_tests::{SEED, config, fading, run};
use crate::config::{Fidelity, NrConfig};
use crate::rlc::RlcMode;
use crate::stack_tests::stack;
use crate::{BearerConfig, NrCell};
use crossfade_core::SimTime;
use crossfade_link::{
    CoDelConfig, Departure, DualPi2Config, Ecn, Fabric, FqCoDelConfig, LinkReport, Parcel, Port, Push,
    QueueConfig, QueueLimit,
};

const MODES: [Option<RlcMode>; 3] = [None, Some(RlcMode::Unacknowledged), Some(RlcMode::Acknowledged)];

fn with(mut cell: NrConfig, mode: Option<RlcMode>, queue: Option<QueueConfig>) -> NrConfig {
    cell.stack = mode.map(stack);
    cell.users.iter_mut().for_each(|user| user.queue = queue);
    cell
}

/// Result of a constant stream of packets of 1500 bytes: departures with their times, numbers of pushed and rejected
/// packets, and the final report.
struct Run {
    left: Vec<(SimTime, Departure)>,
    pushed: usize,
    refused: usize,
    report: LinkReport,
}

fn flood(cell: NrConfig, gap: SimTime, end: SimTime, ecn: Option<Ecn>) -> Run {
    flood_from((0, 1), cell, gap, end, ecn)
}

/// Pushes a packet each `gap` from one port to another until `end`, with ECN codepoint of `ecn`, then lets all packets
/// leave.
fn flood_from((from, to): (Port, Port), cell: NrConfig, gap: SimTime, end: SimTime, ecn: Option<Ecn>) -> Run {
    let mut cell = NrCell::new(cell, SEED).unwrap();
    let (mut left, mut pushed, mut refused) = (Vec::new(), 0, 0);
    let mut at = SimTime::ZERO;
    while at < end {
        run(&mut cell, at, |now, _, departure| left.push((now, departure)));
        let parcel = Parcel::new(pushed as u32, 0, 1500);
        let parcel = if let Some(ecn) = ecn { parcel.with_ecn(ecn) } else { parcel };
        refused += usize::from(cell.push(at, from, to, parcel) == Push::QueueDrop);
        pushed += 1;
        at += gap;
    }
    // Long enough for all packets to leave.
    let end = end + SimTime::from_millis(2000);
    run(&mut cell, end, |now, _, departure| left.push((now, departure)));
    let report = cell.report(end);
    let report = if to == 0 { *report.back.unwrap() } else { report };
    Run { left, pushed, refused, report }
}

/// The uplink has queue disciplines too: drop-tail gives the result of no discipline, and `CoDel` drops once its
/// standing delay has been above 5 ms for 100 ms; packets then wait much less than behind a plain queue.
#[test]
fn terminals_have_queues_of_their_own() {
    let codel = QueueConfig::CoDel(CoDelConfig::default(), QueueLimit::Packets(1000));
    for mode in [RlcMode::Unacknowledged, RlcMode::Acknowledged] {
        let run = |discipline: Option<QueueConfig>| {
            let mut stack = stack(mode);
            stack.uplink.discipline = discipline;
            let cell = NrConfig { stack: Some(stack), ..config(45.0) };
            // 60 Mbit/s, of which the uplink carries 45 Mbit/s.
            flood_from((1, 0), cell, SimTime::from_micros(200), SimTime::from_millis(3000), None)
        };
        let [plain, same, dropped] = [None, Some(QueueConfig::DropTail(None)), Some(codel)].map(run);
        assert!(plain.left == same.left, "{mode:?}");
        for run in [&plain, &dropped] {
            let count = |of: fn(&Departure) -> bool| run.left.iter().filter(|(_, found)| of(found)).count();
            let drops = count(|departure| matches!(departure, Departure::QueueDrop(_)));
            let arrived = count(|departure| matches!(departure, Departure::Arrived(_)));
            assert_eq!(run.pushed, run.refused + drops + arrived, "{mode:?}");
            assert_eq!(run.report.statistics.queue_drops as usize, drops + run.refused, "{mode:?}");
        }
        let first = dropped.left.iter().find(|(_, found)| matches!(found, Departure::QueueDrop(_)));
        // A delay of 5 ms builds up within 10 ms after the wait of 20 ms for a request.
        let first_ms = first.unwrap().0.as_secs_f64() * 1e3;
        assert!((100.0..140.0).contains(&first_ms), "{mode:?}: {first_ms}");
        let carried = |run: &Run| run.report.statistics.arrived_bytes as f64;
        // Without a limit all packets arrive in the end; with CoDel those that the uplink carries in the time of the
        // flood.
        let share = carried(&dropped) / carried(&plain);
        assert!((share / 0.75 - 1.0).abs() < 0.1, "{mode:?}: {share}");
        let waits = [&plain, &dropped].map(|run| run.report.statistics.waiting_s / carried(run));
        assert!(waits[1] < 0.5 * waits[0], "{mode:?}: {waits:?}");
    }
}

#[test]
fn a_queue_in_order_of_arrival_is_no_other_than_none() {
    for fidelity in [Fidelity::Slot, Fidelity::Rate] {
        for mode in MODES.into_iter().filter(|mode| fidelity == Fidelity::Slot || mode.is_none()) {
            let cell = NrConfig { fidelity, ..fading(1) };
            let unlimited = QueueConfig::DropTail(None);
            let [without, same] = [None, Some(unlimited)].map(|queue| {
                flood(
                    with(cell.clone(), mode, queue),
                    SimTime::from_micros(170),
                    SimTime::from_millis(1500),
                    None,
                )
            });
            assert!(without.left.len() > 4000, "{}", without.left.len());
            assert!(without.left == same.left, "{fidelity:?} {mode:?}");
            assert_eq!(without.report.unsent.len(), same.report.unsent.len());
            let waits = [&without, &same].map(|run| run.report.statistics.waiting_s);
            assert!((waits[0] - waits[1]).abs() < 1e-6 * waits[0], "{fidelity:?} {mode:?} {waits:?}");
        }
    }
}

/// At twice the cell's capacity, `CoDel` drops first when its standing delay has been above 5 ms for 100 ms (RFC 8289),
/// and every packet leaves once, delivered or dropped, or is still inside.
#[test]
fn disciplines_drop_and_mark_and_lose_nothing_else() {
    let limit = QueueLimit::Packets(10_000);
    let codel = QueueConfig::CoDel(CoDelConfig::default(), limit);
    let fq = QueueConfig::FqCoDel(FqCoDelConfig { limit, ..FqCoDelConfig::default() });
    let dual = QueueConfig::DualPi2(DualPi2Config::rfc(limit, 1500));
    for mode in MODES {
        for (name, queue, ecn) in [
            ("codel", codel, None),
            ("fq-codel", fq, None),
            ("dualpi2", dual, None),
            ("dualpi2 scalable", dual, Some(Ecn::Ect1)),
        ] {
            // MCS 27 with 2 layers carries 303 Mbit/s, as much as 12 kbit each 40 us.
            let cell = with(config(45.0), mode, Some(queue));
            let Run { left, pushed, refused, report } =
                flood(cell, SimTime::from_micros(20), SimTime::from_millis(1000), ecn);
            let count = |of: fn(&Departure) -> bool| left.iter().filter(|(_, found)| of(found)).count();
            let dropped = count(|departure| matches!(departure, Departure::QueueDrop(_)));
            let arrived = count(|departure| matches!(departure, Departure::Arrived(_)));
            assert_eq!(pushed, refused + dropped + arrived, "{name} {mode:?}");
            assert_eq!(report.statistics.queue_drops as usize, dropped + refused, "{name} {mode:?}");
            let within = left.iter().filter(|(at, found)| {
                matches!(found, Departure::Arrived(_)) && *at < SimTime::from_millis(1000)
            });
            let goodput = within.count() as f64 * 12e3;
            assert!(goodput > 0.9 * 300e6, "{name} {mode:?}: {goodput}");
            let first = left.iter().find(|(_, found)| matches!(found, Departure::QueueDrop(_)));
            let first_ms = first.map(|(at, _)| at.as_secs_f64() * 1e3);
            if name == "codel" {
                // The cell carries half of the load, so a delay of 5 ms builds up within 10 ms; then 100 ms pass.
                assert!((105.0..113.0).contains(&first_ms.unwrap()), "{mode:?}: {first_ms:?}");
            }
            if ecn.is_some() {
                let marked = count(|found| matches!(found, Departure::Arrived(parcel) if parcel.is_ce()));
                assert!(marked > arrived / 2, "{mode:?}: {marked} of {arrived}");
                assert!(report.statistics.ecn_marks as usize >= marked);
            } else {
                assert!(dropped > 0, "{name} {mode:?}");
            }
        }
    }
}

/// With discardTimer, packets in a queue discipline are discarded like those in a plain queue.
#[test]
fn the_discard_timer_reaches_into_the_queue() {
    let mut cells = [None, Some(QueueConfig::DropTail(None))]
        .map(|queue| with(config(5.0), Some(RlcMode::Unacknowledged), queue));
    for cell in &mut cells {
        cell.stack.as_mut().unwrap().discard = Some(SimTime::from_millis(100));
    }
    let [plain, queued] =
        cells.map(|cell| flood(cell, SimTime::from_micros(40), SimTime::from_millis(600), None));
    let discards = [&plain, &queued].map(|run| run.report.users[0].bearer.discards);
    assert!(discards[0] > 1000 && discards[0] == discards[1], "{discards:?}");
    let arrived = |run: &Run| run.left.iter().filter(|(_, d)| matches!(d, Departure::Arrived(_))).count();
    assert_eq!(arrived(&plain), arrived(&queued));
}

/// Of two users who both have more data than the cell carries, the one with the lower priority number gets all it can
/// take and the other the rest. A user with its own bearer discards after its own time.
#[test]
fn lower_priorities_go_first_and_bearers_are_their_own() {
    let mut cell = config(20.0);
    cell.users = vec![cell.users[0].clone(); 2];
    cell.users[1].priority = 20;
    cell.stack = Some(stack(RlcMode::Unacknowledged));
    let usual = cell.stack.as_ref().unwrap().bearer(0);
    let discard = Some(SimTime::from_millis(50));
    cell.stack.as_mut().unwrap().own = vec![None, Some(BearerConfig { discard, ..usual })];
    // Time between packets of the preferred user; throughput and discards of both users.
    let both = |gap: SimTime| {
        let mut cell = NrCell::new(cell.clone(), SEED).unwrap();
        let end = SimTime::from_millis(1000);
        let (mut at, mut id) = (SimTime::ZERO, 0);
        while at < end {
            run(&mut cell, at, |_, _, _| ());
            for user in [1, 2] {
                // The other user always offers twice the cell's capacity.
                let copies = if user == 1 { gap.as_nanos().div_ceil(30_000) } else { 1 };
                for _ in 0..copies {
                    cell.push(at, 0, user, Parcel::new(id, 0, 1500));
                    id += 1;
                }
            }
            at += gap;
        }
        run(&mut cell, end, |_, _, _| ());
        let report = cell.report(end);
        let of = |user: usize| {
            let user = &report.users[user];
            (user.packets.arrived_bytes as f64 * 8.0 / 1e6, user.bearer.discards)
        };
        [of(0), of(1)]
    };
    // 12 kbit each 300 us are 40 Mbit/s.
    let [(rest, _), (modest, discards)] = both(SimTime::from_micros(300));
    assert!((modest - 40.0).abs() < 0.5 && discards == 0, "{modest} {discards}");
    assert!(rest > 60.0, "{rest}");
    let [(none, none_discarded), (all, discards)] = both(SimTime::from_micros(30));
    assert!((all / (modest + rest) - 1.0).abs() < 0.05 && none < 1.0, "{all} {none} {modest} {rest}");
    assert!(discards > 100 && none_discarded == 0, "{discards} {none_discarded}");
}
