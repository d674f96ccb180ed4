//! Tests of multi-link devices: several links with one block acknowledgement window, compared with single links and
//! closed forms, and random schedules.

use super::network_tests::{SEED, config, push_and_drain, saturate, saturate_with};
use super::*;
use crossfade_core::testing::{Runs, long_or};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, Fabric, LinkEvent, Parcel, Port, StationStatistics, Verdict};
use proptest::prelude::*;
use rand::RngExt;
use std::collections::HashMap;

pub(super) fn eht(band: Band, mcs: u8, width: u16) -> Mode {
    Mode::new(Standard::Be, band, mcs, 1, width, 800).unwrap()
}

/// Frame in flight on a link: the number of a BAR, or sequence numbers and items of MPDUs.
type InAir = (Option<u64>, Vec<(u64, u64)>);

/// Station on a link with one mode, a share `p` of lost MPDUs and a window.
pub(super) fn on_link(mode: Mode, p: f64, window: u32) -> StationConfig {
    StationConfig {
        modes: vec![mode],
        limits: AmpduLimits { window, ..AmpduLimits::of(mode.standard()) },
        rate: RateConfig::Constant(0),
        reception: ReceptionConfig::ErrorRate(p),
    }
}

/// Network of stations with these links, each with a mode and a share of lost MPDUs.
pub(super) fn network(stations: usize, links: &[(Mode, f64)], window: u32) -> WlanConfig {
    let of_link = |&(mode, p): &(Mode, f64)| LinkConfig {
        stations: vec![Some(on_link(mode, p, window)); stations],
        neighbours: None,
        snr_offset_db: 0.0,
    };
    let mut new = config(&vec![links[0].0; stations], 0.0, 64);
    new.stations = vec![on_link(links[0].0, 0.0, window); stations];
    new.links = links.iter().map(of_link).collect();
    new
}

/// Station on a link on which no frame is decoded, not even an acknowledgement.
fn dead(mode: Mode, window: u32) -> StationConfig {
    let radio =
        StationRadio { mean_snr_db: -30.0, uplink_offset_db: 0.0, speed_mps: 0.0, fd_t: 0.0, trace: None };
    StationConfig { reception: ReceptionConfig::Radio(radio), ..on_link(mode, 0.0, window) }
}

/// Throughput in bit/s of the downlink to one station with an endless backlog, and the statistics of each link.
fn downlink(config: WlanConfig, seconds: u64) -> (f64, Vec<StationStatistics>) {
    let mut wlan = Wlan::new(config, SEED).unwrap();
    let rate = saturate_with(&mut wlan, &[(0, 1)], seconds, 1900)[0];
    (rate, wlan.report(SimTime::from_millis(1000 * seconds)).by_link)
}

/// A network with one configured link gives bit by bit the results of a network without links.
#[test]
fn one_link_is_a_network_without_links() {
    let mode = eht(Band::Ghz5, 9, 80);
    let named = network(3, &[(mode, 0.1)], 256);
    let plain = WlanConfig { links: Vec::new(), stations: vec![on_link(mode, 0.1, 256); 3], ..named.clone() };
    let ends = [(0, 1), (0, 2), (3, 0)];
    let [named, plain] = [named, plain].map(|config| {
        let mut wlan = Wlan::new(config, SEED).unwrap();
        let rates = saturate(&mut wlan, &ends, 2);
        (rates, wlan.report(SimTime::from_millis(2000)).stations)
    });
    assert_eq!(named, plain);
}

/// Two and three equal links have two and three times the throughput of one within 1 %, in the closed form and
/// simulated.
#[test]
fn equal_links_add_up() {
    for (mode, aggregate) in [(eht(Band::Ghz5, 11, 80), 263), (eht(Band::Ghz6, 4, 40), 45)] {
        let station = on_link(mode, 0.0, 1024);
        let exchange = Exchange::of(&station, mode, EDCA[BEST_EFFORT], false, 1500);
        assert_eq!(exchange.packets, aggregate);
        let formula = exchange.alone_bps() * 1472.0 / 1500.0;
        let (one, _) = downlink(network(1, &[(mode, 0.0)], 1024), 8);
        for links in [2, 3] {
            let (found, by_link) = downlink(network(1, &vec![(mode, 0.0); links], 1024), 8);
            let times = links as f64;
            assert!((found / one / times - 1.0).abs() < 0.01, "{links}: {found} for {one}");
            assert!((found / formula / times - 1.0).abs() < 0.01, "{links}: {found} for {formula}");
            let total: u64 = by_link.iter().map(StationStatistics::sent).sum();
            for of in &by_link {
                assert!((of.sent() as f64 / total as f64 * times - 1.0).abs() < 0.02, "{}", of.sent());
                assert_eq!((of.mpdus.retransmissions, of.collisions), (0, 0));
            }
        }
    }
}

/// Throughputs of uplinks of multi-link devices add up; each link has its own contention.
#[test]
fn uplinks_contend_on_each_link() {
    let mode = eht(Band::Ghz5, 7, 40);
    let exchange = Exchange::of(&on_link(mode, 0.0, 1024), mode, EDCA[BEST_EFFORT], false, 1500);
    for stations in [2, 5] {
        let of_link = exchange.saturated(stations).throughput(Form::Plain).unwrap().throughput_bps;
        let mut wlan = Wlan::new(network(stations, &[(mode, 0.0); 2], 1024), SEED).unwrap();
        let ends: Vec<(Port, Port)> = (1..=stations as Port).map(|port| (port, 0)).collect();
        let found: f64 = saturate_with(&mut wlan, &ends, 20, 1900).iter().sum();
        let expected = 2.0 * of_link * 1472.0 / 1500.0;
        assert!((found / expected - 1.0).abs() < 0.01, "{stations}: {found} for {expected}");
    }
}

/// If n devices contend on one of two links, a multi-link device gets Bianchi's share of that link and all of the
/// other.
///
/// The usual form has one and nine contenders for 15 s: the intervals of its twelve runs are up to 3 % wide on either
/// side, so that a share 5 % off always fails.
#[test]
fn contenders_on_one_link_take_their_share_of_it_alone() {
    let mode = eht(Band::Ghz5, 9, 40);
    // Short aggregates, so that the averages cover many.
    let short = AmpduLimits { bytes: 30 * 1544, ..AmpduLimits::of(Standard::Be) };
    let station = StationConfig { limits: short, ..on_link(mode, 0.0, 1024) };
    let exchange = Exchange::of(&station, mode, EDCA[BEST_EFFORT], false, 1500);
    let seconds = long_or(40, 15);
    for &contenders in long_or(&[1_usize, 4, 9][..], &[1, 9]) {
        let mut config = network(1 + contenders, &[(mode, 0.0); 2], 1024);
        let of_links = config.links.iter_mut().flat_map(|link| link.stations.iter_mut().flatten());
        of_links.chain(&mut config.stations).for_each(|of| of.limits = short);
        // The contenders use the first link only.
        config.links[1].stations[1..].fill(None);
        let ends: Vec<(Port, Port)> = (1..=1 + contenders as Port).map(|port| (port, 0)).collect();
        let shared = exchange.saturated(1 + contenders).throughput(Form::Plain).unwrap().throughput_bps;
        let share = shared / (1 + contenders) as f64 * 1472.0 / 1500.0;
        let alone = exchange.alone_bps() * 1472.0 / 1500.0;
        // MPDUs that collide on the first link may be retransmitted on the second: only the sum is compared.
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for run in 0..12 {
            let mut wlan = Wlan::new(config.clone(), RunSeed { run, ..SEED }).unwrap();
            let found = saturate_with(&mut wlan, &ends, seconds, 1900);
            own.push(found[0] / (share + alone));
            others.push(found[1..].iter().sum::<f64>() / contenders as f64 / share);
            let back = wlan.report(SimTime::from_millis(1000 * seconds)).back.unwrap();
            assert_eq!(back.by_link[1].collisions, 0);
        }
        Runs::from(own).assert_mean_near(1.0, 0.01, &format!("own of {contenders}"));
        Runs::from(others).assert_mean_near(1.0, 0.01, &format!("others of {contenders}"));
    }
}

/// A link on which nothing is decoded lowers the throughput but never stops the other link: MPDUs are retransmitted
/// there, in order, and none is given up.
#[test]
fn a_dead_link_stalls_nothing_for_good() {
    let mode = eht(Band::Ghz5, 7, 40);
    let (one, _) = downlink(network(1, &[(mode, 0.0)], 1024), 10);
    for asks in [false, true] {
        let mut config = network(1, &[(mode, 0.0); 2], 1024);
        config.links[1].stations = vec![Some(dead(mode, 1024))];
        config.asks = asks;
        config.attempts = Some(16);
        let mut wlan = Wlan::new(config, SEED).unwrap();
        for id in 0..1900 {
            wlan.push(SimTime::ZERO, 0, 1, Parcel::new(id, 1, 1500));
        }
        let (mut last, mut longest, mut arrived, mut next) = (SimTime::ZERO, SimTime::ZERO, 0_u64, 0);
        while let Some(now) = wlan.next_event().filter(|now| *now < SimTime::from_millis(10_000)) {
            while let Some((_, departure)) = wlan.advance(now) {
                let Departure::Arrived(parcel) = departure else { panic!("{departure:?}") };
                assert_eq!(parcel.id(), next, "in order");
                next = (next + 1) % 1900;
                longest = longest.max(now - last);
                (last, arrived) = (now, arrived + 1);
                wlan.push(now, 0, 1, parcel);
            }
        }
        let found = arrived as f64 * 1472.0 * 8.0 / 10.0;
        assert!(found <= one, "{asks}: {found} of {one}");
        // Seven BARs, the last with a contention window of 1023 slots, block the window longest.
        let (least, most) = if asks { (0.6, 200) } else { (0.85, 60) };
        assert!(found > least * one, "{asks}: {found} of {one}");
        assert!(longest < SimTime::from_millis(most), "{asks}: {longest} without an arrival");
        let by_link = wlan.report(SimTime::from_millis(10_000)).by_link;
        assert_eq!((by_link[1].packets.arrivals, by_link[1].mpdus.frames_delivered), (0, 0));
        assert!(by_link[0].mpdus.retransmissions > 0);
    }
}

/// After an outage in which more MPDUs are given up than 12-bit sequence numbers can distinguish, throughput recovers,
/// with one link and with two.
#[test]
fn an_outage_longer_than_the_numbers_ends() {
    for (links, window) in [(1, 1024), (2, 1024), (1, 64)] {
        let mode = eht(Band::Ghz5, 7, 40);
        let mut config = network(1, &vec![(mode, 0.0); links], window);
        config.attempts = Some(1);
        for link in &mut config.links {
            let trace = "0 40\n1 -30\n4 40\n5 40\n".parse().ok();
            let radio =
                StationRadio { mean_snr_db: 0.0, uplink_offset_db: 0.0, speed_mps: 0.0, fd_t: 0.0, trace };
            link.stations[0].as_mut().unwrap().reception = ReceptionConfig::Radio(radio);
        }
        let mut wlan = Wlan::new(config, SEED).unwrap();
        let (mut arrived, mut lost) = ([0_u64; 8], 0);
        for id in 0..1900 {
            wlan.push(SimTime::ZERO, 0, 1, Parcel::new(id, 1, 1500));
        }
        while let Some(now) = wlan.next_event().filter(|now| *now < SimTime::from_millis(7000)) {
            while let Some((_, departure)) = wlan.advance(now) {
                match departure {
                    Departure::Arrived(_) => arrived[(now.as_secs_f64()) as usize] += 1,
                    _ => lost += 1,
                }
                wlan.push(now, 0, 1, departure.parcel());
            }
        }
        assert!(lost > 4096 || window == 64, "{lost} given up");
        assert_eq!(arrived[2..4], [0, 0]);
        let rates = [arrived[0], arrived[5], arrived[6]].map(|count| count as f64);
        assert!((rates[1] / rates[0] - 1.0).abs() < 0.02, "{links} links: {arrived:?}");
        assert!((rates[2] / rates[0] - 1.0).abs() < 0.02, "{links} links: {arrived:?}");
    }
}

/// A small window stalls on the MPDUs of the slow link, so that both links carry less than the fast one alone; with
/// 1024 MPDUs they carry more.
#[test]
fn a_slow_link_stalls_a_small_window() {
    let (fast, slow) = (eht(Band::Ghz6, 11, 160), eht(Band::Ghz5, 0, 20));
    let of = |window: u32, links: &[Mode]| {
        let links: Vec<_> = links.iter().map(|&mode| (mode, 0.0)).collect();
        downlink(network(1, &links, window), 10)
    };
    let (alone, _) = of(64, &[fast]);
    let (both, by_link) = of(64, &[fast, slow]);
    assert!(both < 0.75 * alone, "{both} with the slow link, {alone} without");
    assert!(by_link[0].window_limited as f64 > 0.9 * by_link[0].ppdus as f64);
    // MPDUs received on the fast link wait for those of the slow link.
    let waits = by_link[0].mpdus.head_of_line_delay_s / by_link[0].packets.arrivals as f64;
    assert!(waits > 0.5e-3, "{waits}");
    let ([alone, slow_alone], (both, _)) =
        ([fast, slow].map(|mode| of(1024, &[mode]).0), of(1024, &[fast, slow]));
    assert!(both > alone && both < alone + slow_alone * 1.01, "{both} of {alone} and {slow_alone}");
}

/// With the window of `window_of_links` the closed forms of unequal links add up within 1 %; with a quarter of it they
/// do not.
#[test]
fn the_window_of_links_is_enough_for_them() {
    for modes in [
        vec![eht(Band::Ghz6, 7, 80), eht(Band::Ghz5, 2, 20)],
        vec![eht(Band::Ghz6, 9, 80), eht(Band::Ghz5, 9, 80)],
        vec![eht(Band::Ghz6, 4, 80), eht(Band::Ghz5, 4, 40), eht(Band::Ghz5, 1, 20)],
    ] {
        let of =
            |mode: &Mode| Exchange::of(&on_link(*mode, 0.0, 1024), *mode, EDCA[BEST_EFFORT], false, 1500);
        let exchanges: Vec<Exchange> = modes.iter().map(of).collect();
        let window = window_of_links(&exchanges);
        assert!((40..=1024).contains(&window), "{window}");
        let expected: f64 = exchanges.iter().map(Exchange::alone_bps).sum::<f64>() * 1472.0 / 1500.0;
        let links: Vec<_> = modes.iter().map(|&mode| (mode, 0.0)).collect();
        let (found, _) = downlink(network(1, &links, window), 8);
        assert!((found / expected - 1.0).abs() < 0.01, "{window}: {found} for {expected}");
        let (short, _) = downlink(network(1, &links, window / 4), 8);
        assert!(short < 0.95 * expected, "{window}: {short} for {expected}");
    }
}

/// Events name the link of each frame and MPDU, and frames of different links overlap in time.
#[test]
fn events_name_the_link() {
    let mut wlan = Wlan::new(network(1, &[(eht(Band::Ghz5, 7, 40), 0.3); 2], 1024), SEED).unwrap();
    wlan.trace(true);
    saturate(&mut wlan, &[(0, 1)], 1);
    let (mut last, mut counts, mut elsewhere) = ([SimTime::ZERO; 2], [0; 2], 0);
    let mut on = HashMap::new();
    while let Some(event) = wlan.next_trace() {
        match event {
            LinkEvent::Air { at, end, bin: Some(link), .. } => {
                let link = usize::from(link);
                assert!(at >= last[link], "{at} on {link} before {}", last[link]);
                last[link] = end;
                counts[link] += 1;
            }
            LinkEvent::Frame { frame, attempt, bin: Some(link), verdict, .. } => {
                if attempt > 0 {
                    elsewhere += u64::from(on[&frame] != link);
                }
                on.insert(frame, link);
                assert!(matches!(verdict, Verdict::Good | Verdict::Lost));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
    assert!(elsewhere > 100, "retransmissions on another link: {elsewhere}");
}

#[test]
fn links_that_cannot_be_are_refused() {
    let mode = eht(Band::Ghz5, 7, 40);
    let said = |config| Wlan::new(config, SEED).err().unwrap().to_string();
    assert_eq!(said(network(1, &[(mode, 0.0); 4], 64)), "links = 4: must be at most 3");
    let mut empty = network(1, &[(mode, 0.0); 2], 64);
    empty.links[1].stations = vec![None];
    assert_eq!(said(empty), "links = a link: must be one that stations use");
    let mut without = network(2, &[(mode, 0.0); 2], 64);
    without.links.iter_mut().for_each(|link| link.stations[1] = None);
    assert_eq!(said(without), "links = a station: must be one that uses some link");
    let mut crowded = network(1, &[(mode, 0.0); 2], 64);
    crowded.links[1].neighbours =
        Some(Neighbours { count: 0, busy: 0.5, aggregate: SimTime::from_millis(1) });
    assert!(said(crowded).starts_with("neighbours.count = 0"));
    let mixed = WlanConfig {
        links: vec![LinkConfig {
            stations: vec![Some(on_link(mode, 0.0, 64)), Some(on_link(eht(Band::Ghz6, 7, 40), 0.0, 64))],
            neighbours: None,
            snr_offset_db: 0.0,
        }],
        ..network(2, &[(mode, 0.0)], 64)
    };
    assert!(said(mixed).starts_with("band = 6 GHz: must be 5 GHz"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(long_or(100, 50)))]

    /// With random losses, links, windows, stations, categories and schedules each packet leaves once, packets of a
    /// station and category leave in order, and only packets that were given up are lost.
    #[test]
    fn links_deliver_once_in_order_and_all(
        pushes in prop::collection::vec((0_u64..2000, 0_u32..2, 0_u32..2, any::<bool>(), 40_u32..1500), 1..1200),
        links in prop::collection::vec((0_u8..14, prop::sample::select(vec![20_u16, 40, 80]), 0.0_f64..0.6), 1..4),
        silent in prop::option::of(0_usize..3),
        window in prop::sample::select(vec![1_u32, 8, 64, 256, 1024]),
        attempts in prop::option::of(1_u32..6),
        (rts, asks, aql, txop) in any::<(bool, bool, bool, bool)>(),
        single in prop::option::of(0_usize..3),
        patience in prop::option::of(20_u64..120),
        crowded: bool,
        seed in 0_u64..1000,
    ) {
        let bands = [Band::Ghz5, Band::Ghz6, Band::Ghz5];
        let of: Vec<(Mode, f64)> =
            links.iter().zip(bands).map(|(&(mcs, width, p), band)| (eht(band, mcs, width), p)).collect();
        let mut config = network(2, &of, window);
        config.categories = vec![EDCA[VIDEO], EDCA[BEST_EFFORT]];
        if !txop {
            config.categories[0].txop = SimTime::ZERO;
        }
        config.attempts = attempts;
        (config.rts, config.asks) = (rts, asks);
        config.reorder_timeout = patience.map(SimTime::from_millis);
        config.access_point =
            AccessPointQueues::PerStation { airtime_fairness: aql, aql: aql.then_some(Aql::LINUX) };
        let lost = silent.filter(|lost| *lost < of.len() && of.len() > 1);
        if let Some(link) = lost {
            config.links[link].stations = vec![Some(dead(of[link].0, window)); 2];
        }
        if let Some(link) = single.filter(|link| *link < of.len() && Some(*link) != lost) {
            // Station 1 uses this link alone.
            for (number, of) in config.links.iter_mut().enumerate() {
                if number != link {
                    of.stations[1] = None;
                }
            }
        }
        if crowded {
            config.links[0].neighbours =
                Some(Neighbours { count: 2, busy: 0.4, aggregate: SimTime::from_millis(1) });
        }
        let run = crossfade_core::RunSeed { seed, run: 0 };
        let mut wlan = Wlan::new(config, run).unwrap();
        let until_empty = SimTime::from_millis(200_000);
        let (left, now) = push_and_drain(&mut wlan, &pushes, until_empty)?;
        let lost = left.iter().filter(|departure| !matches!(departure, Departure::Arrived(_))).count();
        let report = wlan.report(now + until_empty);
        let of_links = |report: &crossfade_link::LinkReport| -> (u64, u64, u64) {
            let all = report.by_link.iter();
            let sum = |of: fn(&StationStatistics) -> u64| all.clone().map(of).sum::<u64>();
            (sum(|of| of.packets.losses), sum(|of| of.packets.arrivals), sum(|of| of.mpdus.frames_lost))
        };
        let (down, up) = (of_links(&report), of_links(report.back.as_ref().unwrap()));
        prop_assert_eq!((down.0 + up.0) as usize, lost, "counted where they were lost");
        prop_assert_eq!((down.1 + up.1) as usize, left.len() - lost);
        if attempts.is_none() && patience.is_none() {
            prop_assert_eq!((lost, down.2 + up.2), (0, 0));
        }
    }

    /// A block acknowledgement agreement over links whose exchanges end in any order, with lost acknowledgements,
    /// delivers each packet once and in order.
    #[test]
    fn one_agreement_over_links_that_end_in_any_order(
        seed in 0_u64..10_000,
        window in prop::sample::select(vec![4_u32, 64, 1024]),
        links in 2_u8..4,
        p in 0.0_f64..0.6,
        answers in 0.0_f64..0.5,
        attempts in prop::option::of(2_u32..8),
    ) {
        let mut stream = crossfade_core::RunSeed { seed, run: 1 }.stream("links");
        let (mut originator, mut recipient) = (Originator::new(window, attempts), Recipient::new(window, None));
        let (mut out, mut settled, mut next, total) = (Vec::new(), Settled::default(), 0_u64, 5000_u64);
        // Frame in flight on each link.
        let mut air: Vec<Option<InAir>> = vec![None; usize::from(links)];
        let mut bars = vec![0; usize::from(links)];
        let mut last_heard = false;
        for _ in 0..2_000_000 {
            let link = stream.random_range(0..links);
            let at = usize::from(link);
            let Some((bar, mpdus)) = air[at].take() else {
                let Some(transmit) = originator.poll_transmit(link, next < total) else {
                    if air.iter().all(Option::is_none)
                        && (0..links).all(|link| originator.poll_transmit(link, next < total).is_none())
                    {
                        break;
                    }
                    continue;
                };
                if let Transmit::Bar(start) = transmit {
                    originator.on_bar(link);
                    air[at] = Some((Some(start), Vec::new()));
                    continue;
                }
                let mode = eht(Band::Ghz6, 13, 80);
                let most = stream.random_range(1..=window);
                let mut ampdu =
                    Ampdu::new(mode, &AmpduLimits { window: most, ..AmpduLimits::of(Standard::Be) }, None);
                let mut sent = Vec::new();
                let source = |_| (next < total).then(|| { next += 1; (100, next - 1) });
                originator.compose(link, &mut ampdu, source, |number, &item, _| sent.push((number, item)));
                prop_assert!(!sent.is_empty());
                air[at] = Some((None, sent));
                continue;
            };
            let mut is_heard = false;
            if let Some(start) = bar
                && stream.random::<f64>() >= answers
            {
                recipient.on_bar(on_air(start), &mut out);
                is_heard = true;
            }
            for (number, item) in mpdus {
                if stream.random::<f64>() >= p {
                    recipient.on_mpdu(SimTime::ZERO, on_air(number), item, &mut out);
                    is_heard = true;
                }
            }
            last_heard = is_heard && stream.random::<f64>() >= answers;
            if last_heard {
                bars[at] = 0;
                let has = |number| recipient.has(number);
                originator.on_block_ack(link, recipient.start(), has, &mut settled);
            } else if bars[at] < 20 && stream.random::<bool>() {
                bars[at] += 1;
                originator.on_timeout(link);
            } else {
                bars[at] = 0;
                originator.on_silence(link, &mut settled);
            }
        }
        prop_assert_eq!(next, total);
        prop_assert_eq!(settled.delivered.len() + settled.given_up.len(), total as usize, "nothing stays");
        prop_assert!(out.windows(2).all(|two| two[0] < two[1]), "in order and once");
        let mut given_up: Vec<u64> = settled.given_up.iter().map(|(_, item)| *item).collect();
        given_up.sort_unstable();
        let mut held = Vec::new();
        recipient.each(|item| held.push(*item));
        prop_assert!(!last_heard || held.is_empty(), "{held:?} are held back");
        let missing = (0..total).filter(|item| out.binary_search(item).is_err() && !held.contains(item));
        for item in missing {
            prop_assert!(given_up.binary_search(&item).is_ok(), "{item} is missing");
        }
    }
}
