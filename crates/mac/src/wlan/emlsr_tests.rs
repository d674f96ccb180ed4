//! Tests of EMLSR stations in a Wi-Fi network: closed forms, exchanges timed by hand, and random networks.

use super::links_tests::{eht, network, on_link};
use super::network_tests::{SEED, departures_until, push_and_drain, saturate_with};
use super::*;
use crossfade_core::testing::{Runs, long_or};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, Fabric, LinkEvent, Parcel, Port};
use proptest::prelude::*;
use rand::RngExt;

const US: SimTime = SimTime::from_micros(1);
const PAYLOAD: f64 = 1472.0 / 1500.0;

fn emlsr(padding: u64, transition: u64, initial_mbps: Option<u32>) -> EmlsrConfig {
    EmlsrConfig { padding: US * padding, transition: US * transition, initial_mbps }
}

/// Network of EMLSR stations with these links, whose aggregates have at most `packets` MPDUs of 1500 bytes.
fn single_radios(stations: usize, links: &[Mode], packets: u32, of: EmlsrConfig) -> WlanConfig {
    let links: Vec<_> = links.iter().map(|&mode| (mode, 0.0)).collect();
    let mut config = network(stations, &links, 1024);
    let of_links = config.links.iter_mut().flat_map(|link| link.stations.iter_mut().flatten());
    of_links.chain(&mut config.stations).for_each(|of| of.limits.bytes = packets * 1544);
    config.emlsr = vec![Some(of); stations];
    config
}

fn exchange_of(mode: Mode, packets: u32, rts: bool) -> Exchange {
    let mut station = on_link(mode, 0.0, 1024);
    station.limits.bytes = packets * 1544;
    Exchange::of(&station, mode, EDCA[BEST_EFFORT], rts, 1500)
}

/// Frame on the air: kind, link, transmitting node and receiving node.
type InAir = (&'static str, u8, u16, u16);

/// Frames on the air in order of time, each with its start and end.
fn heard(wlan: &mut Wlan) -> Vec<(SimTime, SimTime, InAir)> {
    let mut all = Vec::new();
    let mut add = |event| {
        if let LinkEvent::Air { at, end, node, kind, to, bin: Some(link), .. } = event {
            all.push((at, end, (kind, link, node, to)));
        }
    };
    while let Some(event) = wlan.next_trace() {
        add(event);
    }
    while let Some(event) = wlan.next_trace_back() {
        add(event);
    }
    all.sort();
    all
}

/// A list of stations that are all without EMLSR gives the results of no list.
#[test]
fn none_with_a_single_radio_is_the_network_without() {
    let links = [(eht(Band::Ghz5, 7, 40), 0.2), (eht(Band::Ghz6, 4, 80), 0.1)];
    let [named, plain] = [vec![None; 2], Vec::new()].map(|emlsr| {
        let mut wlan = Wlan::new(WlanConfig { emlsr, ..network(2, &links, 256) }, SEED).unwrap();
        let rates = saturate_with(&mut wlan, &[(0, 1), (2, 0)], 2, 600);
        (rates, wlan.report(SimTime::from_millis(2000)).by_link)
    });
    assert_eq!(named, plain);
}

/// The downlink to one EMLSR station has the throughput of the closed form within 0.6 %, for all delays and rates of
/// the initial control frame, and less than one link without EMLSR.
#[test]
fn one_station_is_the_closed_form() {
    let mode = eht(Band::Ghz5, 11, 80);
    for packets in [30, 263] {
        let exchange = exchange_of(mode, packets, false);
        let bound = exchange.alone_bps() * PAYLOAD;
        for of in [emlsr(0, 0, None), emlsr(32, 64, Some(6)), emlsr(128, 16, Some(12)), emlsr(256, 256, None)]
        {
            for links in [2, 3] {
                let mut wlan = Wlan::new(single_radios(1, &vec![mode; links], packets, of), SEED).unwrap();
                let found = saturate_with(&mut wlan, &[(0, 1)], 4, 1900)[0];
                let expected = exchange.by_single_radio_bps(of) * PAYLOAD;
                assert!((found / expected - 1.0).abs() < 0.006, "{of:?}: {found} for {expected}");
                assert!(found < bound, "{of:?}: {found} of {bound}");
            }
        }
    }
    // By hand: 30 MPDUs at MCS 11 and 80 MHz are 46,320 bytes, 46 symbols of 13.6 us after 48 us, a block
    // acknowledgement of 152 bytes 72 us; 76 + 32 us of MU-RTS at 6 Mbit/s, 44 us of CTS, four spaces of 16 us, and 45
    // and 64 us until the station listens, 4.5 us until the next boundary.
    let cycle_us = 108.0 + 16.0 + 44.0 + 16.0 + 48.0 + 46.0 * 13.6 + 16.0 + 72.0 + 45.0 + 64.0 + 4.5;
    let by_hand = 30.0 * 1500.0 * 8.0 / cycle_us * 1e6;
    let formula = exchange_of(mode, 30, false).by_single_radio_bps(emlsr(32, 64, Some(6)));
    assert!((formula / by_hand - 1.0).abs() < 0.002, "{formula} for {by_hand}");
}

/// Reference simulation of a saturated uplink on two links, where the first backoff counter to end transmits. The
/// counter on the radio's link runs at once, the other after `delay` slots, at its own boundaries. Returns the mean
/// wait in slots and the share of exchanges that change the link.
fn least_of_two(delay: f64, rounds: u32) -> (f64, f64) {
    let mut stream = RunSeed { seed: 11, run: 0 }.stream("least");
    let mut counters = [0_u32; 2].map(|_| stream.random_range(0..16));
    let (mut on, mut slots, mut changes) = (0, 0.0, 0);
    for _ in 0..rounds {
        let other = 1 - on;
        let first = delay + stream.random::<f64>();
        let ends = [f64::from(counters[on]), first + f64::from(counters[other])];
        let wait = ends[0].min(ends[1]);
        slots += wait;
        let (winner, loser, from) = if ends[0] <= ends[1] { (on, other, first) } else { (other, on, 0.0) };
        changes += u32::from(winner != on);
        let passed = (wait - from).floor() as i64 + 1;
        counters[loser] -= counters[loser].min(passed.max(0) as u32);
        counters[winner] = stream.random_range(0..16);
        on = winner;
    }
    (slots / f64::from(rounds), f64::from(changes) / f64::from(rounds))
}

/// A saturated EMLSR uplink on two links has the throughput of the reference simulation within 0.6 %: the first counter
/// to end transmits, on the last link an AIFS after an exchange, on the other after the transition delay, and with an
/// RTS on a link that was not sensed for long.
#[test]
fn a_saturated_uplink_sends_where_the_first_counter_ends() {
    let mode = eht(Band::Ghz5, 11, 80);
    for (packets, transition) in [(30, 16), (30, 64), (100, 0), (100, 256)] {
        let (slots, changes) = least_of_two(transition as f64 / 9.0, 400_000);
        // With a transition delay of 256 us, the counter of the radio's own link, at most 15 slots, always ends first.
        assert_eq!(changes > 0.05, transition < 256, "{changes}");
        let exchange = exchange_of(mode, packets, false);
        let with_rts = exchange_of(mode, packets, true).airtime() - exchange.airtime();
        let cycle = (exchange.airtime() + US * 43).as_secs_f64()
            + slots * SLOT.as_secs_f64()
            + changes * with_rts.as_secs_f64();
        let expected = exchange.bits() * PAYLOAD / cycle;
        let of = emlsr(32, transition, None);
        let mut wlan = Wlan::new(single_radios(1, &[mode; 2], packets, of), SEED).unwrap();
        let found = saturate_with(&mut wlan, &[(1, 0)], 8, 1900)[0];
        assert!((found / expected - 1.0).abs() < 0.006, "{packets} {transition}: {found} for {expected}");
    }
}

/// Delays of single packets from a station that listens long before each, from enqueueing to arrival, in seconds. On
/// each link another station has an endless backlog with the number of MPDUs per aggregate in `packets`; unequal
/// numbers keep the links from synchronizing.
fn delays(of: Option<EmlsrConfig>, packets: &[u32], run: u64) -> Vec<f64> {
    let (mode, links) = (eht(Band::Ghz5, 7, 40), packets.len());
    let mut config = single_radios(1 + links, &vec![mode; links], 1, EmlsrConfig::default());
    config.emlsr = vec![None; 1 + links];
    config.emlsr[0] = of;
    // Collisions are rare with this wide window: in one, a single radio is stuck on its link.
    config.categories[0].windows = [255, 1023];
    for (number, &packets) in packets.iter().enumerate() {
        config.stations[number + 1].limits.bytes = packets * 1544;
        for (other, link) in config.links.iter_mut().enumerate() {
            let station = &mut link.stations[number + 1];
            *station = station.take().filter(|_| other == number);
            for station in station.iter_mut() {
                station.limits.bytes = packets * 1544;
            }
        }
    }
    let mut wlan = Wlan::new(config, RunSeed { run, ..SEED }).unwrap();
    for port in 2..2 + links as Port {
        for id in 0..100 {
            wlan.push(SimTime::ZERO, port, 0, Parcel::new(id, port, 1500));
        }
    }
    let mut stream = RunSeed { seed: 3, run }.stream("packets");
    let (mut found, mut pushed) = (Vec::new(), SimTime::from_millis(5));
    let mut has_pushed = false;
    while found.len() < 4000 {
        let next = wlan.next_event().unwrap();
        if !has_pushed && pushed <= next {
            wlan.push(pushed, 1, 0, Parcel::new(0, 1, 1500));
            has_pushed = true;
            continue;
        }
        while let Some((_, departure)) = wlan.advance(next) {
            let parcel = departure.parcel();
            if parcel.flow() == 1 {
                found.push((next - pushed).as_secs_f64());
                pushed = next + SimTime::from_micros(8000 + stream.random_range(0..4000));
                has_pushed = false;
            } else {
                wlan.push(next, parcel.flow(), 0, parcel);
            }
        }
    }
    found.sort_by(f64::total_cmp);
    found
}

/// With one contender on each link a packet leaves on the link that is won first: its mean delay is, within 3 %, that
/// of the smaller of two independent delays, each of a station with one link.
#[test]
fn the_access_delay_is_the_least_of_two() {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mut of_least, mut of_one_link) = (Vec::new(), Vec::new());
    for run in 0..8 {
        let alone = [30, 17].map(|packets| delays(None, &[packets], run));
        let both = delays(Some(emlsr(32, 64, None)), &[30, 17], run);
        // Integral of the probability that both delays are larger.
        let mut all: Vec<f64> = alone.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let (mut expected, mut last) = (0.0, 0.0);
        for delay in all {
            let above = |of: &Vec<f64>| 1.0 - of.partition_point(|&one| one < delay) as f64 / of.len() as f64;
            expected += (delay - last) * above(&alone[0]) * above(&alone[1]);
            last = delay;
        }
        let found = mean(&both);
        of_least.push(found / expected);
        of_one_link.push(found / mean(&alone[1]).min(mean(&alone[0])));
    }
    Runs::from(of_least).assert_mean_near(1.0, 0.03, "of the least of two");
    Runs::from(of_one_link).assert_mean_in(0.4..=0.8, "of one link");
}

/// Every frame of an exchange with an EMLSR station begins at the time computed by hand, also for a second packet that
/// arrives after it.
#[test]
fn an_exchange_is_as_by_hand() {
    let mode = eht(Band::Ghz5, 11, 80);
    let mut wlan = Wlan::new(single_radios(1, &[mode; 2], 30, emlsr(32, 64, None)), SEED).unwrap();
    wlan.trace(true);
    wlan.push(SimTime::ZERO, 0, 1, Parcel::new(0, 1, 1500));
    let first = departures_until(&mut wlan, US * 400);
    wlan.push(US * 400, 0, 1, Parcel::new(1, 1, 1500));
    departures_until(&mut wlan, US * 2000);
    let data = mode.ppdu(1544, Durations::Standard);
    let data_at = US * (43 + 68 + 16 + 44 + 16);
    assert_eq!(first.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [data_at + data]);
    let answer = data_at + data + US * 16;
    let heard = heard(&mut wlan);
    let expected = [
        (US * 43, US * 111, ("trigger", 0, 0, 1)),
        (US * 127, US * 171, ("cts", 0, 1, 0)),
        (data_at, data_at + data, ("data", 0, 0, 1)),
        (answer, answer + US * 72, ("block-ack", 0, 1, 0)),
    ];
    assert_eq!(heard[..4], expected);
    // The station listens on all links 45 + 64 us after the acknowledgement.
    let (at, _, frame) = heard[4];
    assert_eq!(frame.0, "trigger");
    assert!(at >= answer + US * (72 + 45 + 64) && at < US * 600, "{at} after {answer}");
}

/// If access point and station begin on different links within a slot, the initial control frame goes unanswered; if
/// the station would begin a slot later, it has noticed the frame and answers.
#[test]
fn frames_that_cross_on_two_links() {
    let modes = [eht(Band::Ghz2, 7, 20), eht(Band::Ghz5, 7, 20)];
    let of = |pushes: &[(u64, Port, Port)]| {
        let mut config = single_radios(1, &modes, 30, emlsr(32, 64, Some(24)));
        config.categories = vec![EDCA[VIDEO], EDCA[BEST_EFFORT]];
        config.categories[0].txop = SimTime::ZERO;
        let mut wlan = Wlan::new(config, SEED).unwrap();
        wlan.trace(true);
        let mut left = Vec::new();
        for (id, &(at, from, to)) in (0..).zip(pushes) {
            left.extend(departures_until(&mut wlan, US * at));
            wlan.push(US * at, from, to, Parcel::new(id, from.max(to), 1500));
        }
        left.extend(departures_until(&mut wlan, SimTime::from_millis(50)));
        assert_eq!(left.len(), pushes.len(), "all arrive");
        heard(&mut wlan)
    };
    let frame = |at: &(SimTime, SimTime, InAir)| (at.0, at.2);
    let answered = |all: &[(SimTime, SimTime, InAir)], link: u8, initial: usize| {
        let end = all[initial].1 + if link == 0 { US * 10 } else { US * 16 };
        all.iter().any(|&(at, _, (kind, on, ..))| kind == "cts" && on == link && at == end)
    };
    // Video of the station at 28 us on the link at 2.4 GHz, best effort to the station at 43 us at 5 GHz.
    let all = of(&[(0, 1, 0), (0, 0, 2)]);
    assert_eq!(frame(&all[0]), (US * 28, ("data", 0, 1, 0)));
    assert_eq!(frame(&all[1]), (US * 43, ("trigger", 1, 0, 1)));
    assert!(!answered(&all, 1, 1));
    // Video to the station at 28 us at 2.4 GHz; its own packet arrives a moment later and leaves at 34 us at 5 GHz.
    let all = of(&[(0, 0, 1), (29, 1, 0)]);
    assert_eq!(frame(&all[0]), (US * 28, ("trigger", 0, 0, 1)));
    assert_eq!(frame(&all[1]), (US * 34, ("data", 1, 1, 0)));
    assert!(!answered(&all, 0, 0));
    // Its own best effort packet would leave at 43 us: the station has noticed the frame and waits.
    let all = of(&[(0, 0, 1), (29, 2, 0)]);
    assert_eq!(frame(&all[0]), (US * 28, ("trigger", 0, 0, 1)));
    assert!(answered(&all, 0, 0));
    let own = all.iter().find(|(_, _, (kind, _, node, _))| *kind == "data" && *node == 1).unwrap();
    let answer = all.iter().find(|(_, _, (kind, ..))| *kind == "block-ack").unwrap();
    // On the link of the exchange it may transmit an AIFS after it, on the other once it listens there.
    let least = if own.2.1 == 0 { US * (10 + 27) } else { US * (10 + 9 + 20 + 64 + 43) };
    assert!(own.0 >= answer.1 + least, "{own:?} after {answer:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let mode = eht(Band::Ghz5, 7, 40);
    let said = |config: WlanConfig| Wlan::new(config, SEED).err().unwrap().to_string();
    let good = single_radios(2, &[mode; 2], 30, EmlsrConfig::default());
    let mut single = good.clone();
    single.links[1].stations[1] = None;
    assert_eq!(said(single), "emlsr = a station: must be one that uses at least two links");
    let mut short = good.clone();
    short.emlsr.pop();
    assert_eq!(said(short), "emlsr = 1: must be of none or of all 2 stations");
    let mut slow = good;
    slow.emlsr[0] = Some(emlsr(33, 64, None));
    assert!(said(slow).starts_with("padding_delay = 0.000033 s: must be one of"));
}

/// Times and links in which the radio of a station is occupied: by its own frames and those to it, except initial
/// control frames that it does not answer.
fn occupied(all: &[(SimTime, SimTime, InAir)], node: u16) -> Vec<(SimTime, SimTime, u8)> {
    let is_answered = |end: SimTime, link: u8| {
        all.iter().any(|&(at, _, (kind, on, from, _))| {
            kind == "cts" && on == link && from == node && at > end && at <= end + US * 16
        })
    };
    let is_its = |&&(_, end, (kind, link, from, to)): &&(SimTime, SimTime, InAir)| {
        from == node || (to == node && (kind != "trigger" || is_answered(end, link)))
    };
    all.iter().filter(is_its).map(|&(at, end, (_, link, ..))| (at, end, link)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(long_or(100, 40)))]

    /// In random networks of stations with EMLSR, with STR and with one link, each packet leaves once, packets of a
    /// station and category leave in order, and only packets that were given up are lost. An EMLSR radio is on one link
    /// at a time, and changes it in no less than the transition delay.
    #[test]
    fn a_radio_is_on_one_link_at_a_time(
        pushes in prop::collection::vec((0_u64..2000, 0_u32..3, 0_u32..2, any::<bool>(), 40_u32..1500), 1..800),
        links in prop::collection::vec((0_u8..14, prop::sample::select(vec![20_u16, 40, 80]), 0.0_f64..0.5), 2..4),
        padding in prop::sample::select(vec![0_u64, 32, 256]),
        transition in prop::sample::select(vec![0_u64, 16, 128, 256]),
        mbps in prop::option::of(prop::sample::select(vec![6_u32, 12, 24])),
        window in prop::sample::select(vec![1_u32, 8, 64, 1024]),
        attempts in prop::option::of(1_u32..6),
        (rts, asks, aql, txop) in any::<(bool, bool, bool, bool)>(),
        patience in prop::option::of(20_u64..120),
        crowded: bool,
        seed in 0_u64..1000,
    ) {
        let bands = [Band::Ghz5, Band::Ghz6, Band::Ghz2];
        let of: Vec<(Mode, f64)> = links
            .iter()
            .zip(bands)
            .map(|(&(mcs, width, p), band)| (eht(band, mcs, if band == Band::Ghz2 { 20 } else { width }), p))
            .collect();
        let mut config = network(3, &of, window);
        let single = emlsr(padding, transition, mbps);
        // Station 0 has EMLSR, station 1 STR or EMLSR, station 2 one link.
        config.emlsr = vec![Some(single), (seed % 2 == 0).then_some(single), None];
        config.links[1..].iter_mut().for_each(|link| link.stations[2] = None);
        config.categories = vec![EDCA[VIDEO], EDCA[BEST_EFFORT]];
        if !txop {
            config.categories[0].txop = SimTime::ZERO;
        }
        config.attempts = attempts;
        (config.rts, config.asks) = (rts, asks);
        config.reorder_timeout = patience.map(SimTime::from_millis);
        config.access_point =
            AccessPointQueues::PerStation { airtime_fairness: aql, aql: aql.then_some(Aql::LINUX) };
        if crowded {
            config.links[0].neighbours =
                Some(Neighbours { count: 2, busy: 0.4, aggregate: SimTime::from_millis(1) });
        }
        let mut wlan = Wlan::new(config.clone(), RunSeed { seed, run: 0 }).unwrap();
        wlan.trace(true);
        let (left, _) = push_and_drain(&mut wlan, &pushes, SimTime::from_millis(200_000))?;
        let lost = left.iter().filter(|departure| !matches!(departure, Departure::Arrived(_))).count();
        if attempts.is_none() && patience.is_none() {
            prop_assert_eq!(lost, 0);
        }
        let all = heard(&mut wlan);
        for (station, of) in config.emlsr.iter().enumerate() {
            let Some(of) = of else { continue };
            let mut last: Option<(SimTime, u8)> = None;
            for (at, end, link) in occupied(&all, station as u16 + 1) {
                if let Some((until, on)) = last {
                    let least = if on == link { until } else { until + of.transition };
                    prop_assert!(at >= least, "{at} on {link} after {until} on {on}");
                }
                last = Some((end, link));
            }
        }
    }
}
