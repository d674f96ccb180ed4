//! Tests of multi-user PPDUs in a network, against closed forms and by hand.

use super::network_tests::{SEED, config, he, saturate};
use super::*;
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, FqCoDelConfig, LinkEvent, Parcel, Port, QueueConfig};
use proptest::prelude::*;

pub(super) const OFDMA: OfdmaConfig = OfdmaConfig {
    downlink: true,
    uplink: true,
    users: 16,
    ru: None,
    ack: MuAck::MuBar,
    stations_contend: false,
};

fn network(mode: Mode, stations: usize, p: f64, window: u32, ofdma: OfdmaConfig) -> WlanConfig {
    WlanConfig { ofdma: Some(ofdma), ..config(&vec![mode; stations], p, window) }
}

fn down(stations: usize) -> Vec<(Port, Port)> {
    (1..=stations as Port).map(|port| (0, port)).collect()
}

fn up(stations: usize) -> Vec<(Port, Port)> {
    (1..=stations as Port).map(|port| (port, 0)).collect()
}

/// Durations of an OFDMA cycle equal those computed by hand for eight stations of 80 MHz at MCS 11 with aggregates of
/// 64 in 106 tones: 64 x 1544 bytes are 790,550 bits, 931 symbols of 850 bits, 12.66 ms; 5.484 ms hold (5484 - 48) /
/// 13.6 = 399 symbols, which carry 27 MPDUs of 1544 bytes in 393 symbols. With AIFS, 7.5 slots, MU-BAR and
/// acknowledgements a cycle has 43 + 67.5 + 48 + 5344.8 + 16 + 56 + 16 + 76.8 us.
#[test]
fn a_cycle_is_what_it_is_by_hand() {
    let of = network(he(11, 80), 8, 0.0, 64, OFDMA);
    let stations: Vec<&StationConfig> = of.stations.iter().collect();
    let (packets, rate) = saturated_in_one_ppdu(&of, &OFDMA, MuWay::Down, &stations, 1500).unwrap();
    assert_eq!(packets, 27);
    let cycle_us = 43.0 + 67.5 + 48.0 + 393.0 * 13.6 + 16.0 + 56.0 + 16.0 + (48.0 + 2.0 * 14.4);
    assert!((rate / (27.0 * 12e3 / cycle_us * 1e6) - 1.0).abs() < 1e-9, "{rate}");
}

/// Saturated stations in one PPDU have the throughput of the closed form within 0.6 %, in both directions, with both
/// requests for acknowledgements, with a halved band and with RUs of equal size. The access point contends alone.
#[test]
fn saturated_stations_are_those_of_the_closed_form() {
    for (mode, stations, window, ofdma) in [
        (he(11, 80), 8, 64, OFDMA),
        (he(4, 20), 4, 256, OFDMA),
        (he(7, 80), 16, 64, OfdmaConfig { ack: MuAck::Aggregated, ..OFDMA }),
        (he(9, 40), 3, 64, OfdmaConfig { ru: Some(Ru::Tones106), users: 4, ..OFDMA }),
    ] {
        for (way, ends) in [(MuWay::Down, down(stations)), (MuWay::Up, up(stations))] {
            let of = network(mode, stations, 0.0, window, ofdma);
            let all: Vec<&StationConfig> = of.stations.iter().collect();
            let (packets, expected) = saturated_in_one_ppdu(&of, &ofdma, way, &all, 1500).unwrap();
            let mut wlan = Wlan::new(of, SEED).unwrap();
            let found = saturate(&mut wlan, &ends, 10);
            for rate in &found {
                let rate = rate * 1500.0 / 1472.0;
                assert!((rate / expected - 1.0).abs() < 0.006, "{mode:?}, {way:?}: {rate} for {expected}");
            }
            let report = wlan.report(SimTime::from_millis(10_000));
            let of_way = if way == MuWay::Down { report.stations } else { report.back.unwrap().stations };
            for one in &of_way {
                assert_eq!(one.collisions, 0);
                let mean = one.sent() as f64 / one.ppdus as f64;
                assert!((mean / f64::from(packets) - 1.0).abs() < 0.01, "{mean} for {packets}");
                assert!(
                    (one.sharing_stations as f64 / one.shared_ppdus as f64 / stations as f64 - 1.0).abs()
                        < 0.01
                );
            }
            let airtime: f64 = of_way.iter().map(|one| one.airtime.as_secs_f64()).sum();
            assert!(airtime < 10.0 && airtime > 7.0, "{airtime}");
        }
    }
}

/// With RUs of two sizes, three stations at 80 MHz get 484, 242 and 242 tones in turn, and equal airtime.
#[test]
fn larger_rus_go_round() {
    let mut wlan = Wlan::new(network(he(5, 80), 3, 0.0, 64, OFDMA), SEED).unwrap();
    let found = saturate(&mut wlan, &down(3), 10);
    let mean = found.iter().sum::<f64>() / 3.0;
    assert!(found.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{found:?}");
}

/// Losses in multi-user PPDUs are like those in single-user ones: with 20 % of lost MPDUs, delivered = sent (1 - p),
/// and the window stalls on the oldest MPDU.
#[test]
fn what_is_lost_is_retransmitted_in_later_ppdus() {
    let ends: Vec<_> = down(4).into_iter().chain(up(4)).collect();
    let mut wlan = Wlan::new(network(he(7, 40), 4, 0.2, 64, OFDMA), SEED).unwrap();
    let found = saturate(&mut wlan, &ends, 10);
    assert!(found.iter().all(|&rate| rate > 1e6), "{found:?}");
    let report = wlan.report(SimTime::from_millis(10_000));
    for one in report.stations.iter().chain(&report.back.unwrap().stations) {
        let delivered = 1.0 - one.mpdus.frame_errors as f64 / one.sent() as f64;
        assert!((delivered / 0.8 - 1.0).abs() < 0.02, "{delivered}");
        assert_eq!(one.mpdus.frames_lost, 0);
    }
}

/// With a sparse flow beside a long backlog, the PPDU lasts as long as the shorter half of its stations needs, and the
/// backlog has the air alone while the sparse flow is empty.
#[test]
fn a_long_backlog_makes_nobody_pad() {
    let mut wlan = Wlan::new(network(he(11, 80), 4, 0.0, 256, OFDMA), SEED).unwrap();
    for id in 0..400 {
        wlan.push(SimTime::ZERO, 0, 1, Parcel::new(id, 1, 1500));
    }
    for port in 2..=4 {
        wlan.push(SimTime::ZERO, 0, port, Parcel::new(1000 + port, port, 200));
    }
    wlan.trace(true);
    let mut arrived = Vec::new();
    while let Some(now) = wlan.next_event().filter(|now| *now < SimTime::from_millis(30)) {
        while let Some((port, departure)) = wlan.advance(now) {
            assert!(matches!(departure, Departure::Arrived(_)));
            arrived.push((now, port));
        }
    }
    assert_eq!(arrived.len(), 403);
    let last_sparse = arrived.iter().filter(|(_, port)| *port > 1).map(|(now, _)| *now).max().unwrap();
    assert!(last_sparse < SimTime::from_micros(600), "{last_sparse}");
    let mut lasts = Vec::new();
    while let Some(event) = wlan.next_trace() {
        if let LinkEvent::Air { at, end, to: 1, kind: "data", .. } = event {
            lasts.push(end - at);
        }
    }
    // One packet together with the others, 256 alone, and the rest.
    assert_eq!(lasts.len(), 3, "{lasts:?}");
    assert!(lasts[0] < SimTime::from_micros(200) && lasts[1] > SimTime::from_millis(5), "{lasts:?}");
}

/// Events of a triggered uplink and of a downlink to two stations: each frame to both has one event per station.
#[test]
fn events_are_those_of_the_exchange() {
    let mut wlan = Wlan::new(network(he(7, 20), 2, 0.0, 64, OFDMA), SEED).unwrap();
    wlan.trace(true);
    for port in 1..=2 {
        wlan.push(SimTime::ZERO, port, 0, Parcel::new(port, port, 500));
        wlan.push(SimTime::ZERO, 0, port, Parcel::new(10 + port, port, 500));
    }
    while let Some(now) = wlan.next_event() {
        while wlan.advance(now).is_some() {}
    }
    let of = |next: &mut dyn FnMut() -> Option<LinkEvent>| {
        let mut kinds = Vec::new();
        while let Some(event) = next() {
            if let LinkEvent::Air { node, to, kind, .. } = event {
                kinds.push((kind, node, to));
            }
        }
        kinds
    };
    // In order of their start.
    let back = of(&mut || wlan.next_trace_back());
    let of_up = [
        ("trigger", 0, 1),
        ("trigger", 0, 2),
        ("data", 1, 0),
        ("data", 2, 0),
        ("block-ack", 0, 1),
        ("block-ack", 0, 2),
    ];
    assert_eq!(back, of_up);
    let forward = of(&mut || wlan.next_trace());
    let of_down = [
        ("data", 0, 1),
        ("data", 0, 2),
        ("trigger", 0, 1),
        ("trigger", 0, 2),
        ("block-ack", 1, 0),
        ("block-ack", 2, 0),
    ];
    assert_eq!(forward, of_down);
}

/// Stations older than 802.11ax or without a window are left out of multi-user PPDUs, and contend as without OFDMA.
#[test]
fn stations_that_know_no_ofdma_contend() {
    let mut of = network(he(7, 20), 3, 0.0, 64, OFDMA);
    let old = Mode::new(Standard::N, Band::Ghz5, 7, 1, 20, 800).unwrap();
    of.stations[2].modes = vec![old];
    of.stations[2].limits = AmpduLimits::of(Standard::N);
    let ends: Vec<_> = down(3).into_iter().chain(up(3)).collect();
    let mut wlan = Wlan::new(of, SEED).unwrap();
    let found = saturate(&mut wlan, &ends, 10);
    assert!(found.iter().all(|&rate| rate > 1e6), "{found:?}");
    let report = wlan.report(SimTime::from_millis(10_000));
    let back = report.back.unwrap();
    assert_eq!((report.stations[2].shared_ppdus, back.stations[2].shared_ppdus), (0, 0));
    assert!(report.stations[0].shared_ppdus > 100 && back.stations[0].shared_ppdus > 100);
    assert!(back.stations[2].collisions > 0, "with the access point");
}

/// Duration of the longest frame on the air, and number of packets that arrived, over 20 s.
fn longest_frame(of: WlanConfig, pushes: &[(u32, bool, u32)]) -> (SimTime, usize) {
    let stations = of.stations.len() as u32;
    let mut wlan = Wlan::new(of, SEED).unwrap();
    wlan.trace(true);
    for (id, &(station, is_down, bytes)) in (0..).zip(pushes) {
        let port = 1 + station % stations;
        let (from, to) = if is_down { (0, port) } else { (port, 0) };
        wlan.push(SimTime::ZERO, from, to, Parcel::new(id, port, bytes));
    }
    let (mut longest, mut arrived) = (SimTime::ZERO, 0);
    while let Some(now) = wlan.next_event().filter(|now| *now < SimTime::from_secs_f64(20.0)) {
        while let Some((_, departure)) = wlan.advance(now) {
            arrived += usize::from(matches!(departure, Departure::Arrived(_)));
        }
        while let Some(event) = wlan.next_trace().or_else(|| wlan.next_trace_back()) {
            if let LinkEvent::Air { at, end, .. } = event {
                longest = longest.max(end - at);
            }
        }
    }
    (longest, arrived)
}

/// A packet of 1500 bytes would take 15 ms in 26 tones at MCS 0 (12 bits per symbol of 14.4 us). Its station is
/// triggered alone, in 106 tones: 12,374 bits at 51 per symbol are 243 symbols, after 48 us of preamble.
#[test]
fn what_an_ru_cannot_carry_has_a_larger_one() {
    let ofdma = OfdmaConfig { ru: Some(Ru::Tones26), users: 4, ..OFDMA };
    let of = network(he(0, 20), 3, 0.0, 64, ofdma);
    let all: Vec<&StationConfig> = of.stations.iter().collect();
    assert_eq!(saturated_in_one_ppdu(&of, &ofdma, MuWay::Up, &all, 1500), None);
    let (longest, arrived) = longest_frame(of, &[(0, false, 1500), (1, false, 1500), (2, false, 1500)]);
    assert_eq!((longest, arrived), (SimTime::from_nanos(48_000 + 243 * 14_400), 3));
}

/// A block acknowledgement for 37 stations with windows of 1024 would have 22 + 37 x 132 bytes, more than the 4095 of a
/// frame at an 802.11a rate: 30 stations are triggered at once, and 22 + 30 x 132 bytes at 6 Mbit/s, 24 bits per 4 us,
/// take 1329 symbols.
#[test]
fn an_answer_to_all_is_a_frame_that_there_is() {
    let ofdma = OfdmaConfig { users: 37, ..OFDMA };
    let mode = Mode::new(Standard::Be, Band::Ghz5, 0, 1, 80, 800).unwrap();
    let of = network(mode, 37, 0.0, 1024, ofdma);
    let pushes: Vec<_> = (0..37).map(|station| (station, false, 200)).collect();
    let (longest, arrived) = longest_frame(of, &pushes);
    assert_eq!((longest, arrived), (SimTime::from_micros(20 + 4 * 1329), 37));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// No frame of a network with OFDMA is longer than the longest PPDU of the standard, in any mode, RU and direction,
    /// and every packet arrives.
    #[test]
    fn no_frame_is_longer_than_the_standard_allows(
        kind in (any::<bool>(), 0_u8..4, 1_u8..5, prop::sample::select(vec![20_u16, 40, 80, 160])),
        guard in prop::sample::select(vec![800_u16, 1600, 3200]),
        ru in prop::option::of(prop::sample::select(Ru::ALL.to_vec())),
        more in (any::<bool>(), any::<bool>(), 1_usize..40, 200_u64..5484, any::<bool>()),
        pushes in prop::collection::vec((0_u32..40, any::<bool>(), 40_u32..=2296), 1..80),
    ) {
        let ((is_be, mcs, streams, width), (aggregated, is_fair_queued, stations, micros, rts)) = (kind, more);
        let standard = if is_be { Standard::Be } else { Standard::Ax };
        let mode = Mode::new(standard, Band::Ghz5, mcs, streams, width, guard).unwrap();
        let ru = ru.filter(|ru| ru.count(width) > 0);
        let users = stations.min(OfdmaConfig::most_users(ru, width));
        let ack = if aggregated { MuAck::Aggregated } else { MuAck::MuBar };
        let ofdma = OfdmaConfig { users, ru, ack, ..OFDMA };
        let mut of = network(mode, stations, 0.0, standard.largest_window(), ofdma);
        of.rts = rts;
        if is_fair_queued {
            // The length of the next packet is unknown before it is dequeued.
            of.queue = QueueConfig::FqCoDel(FqCoDelConfig::default());
        }
        for station in &mut of.stations {
            station.limits.duration = SimTime::from_micros(micros);
        }
        let (longest, arrived) = longest_frame(of, &pushes);
        prop_assert!(longest <= LONGEST_PPDU, "{mode:?}: {longest}");
        prop_assert!(arrived == pushes.len() || is_fair_queued, "{arrived} of {}", pushes.len());
    }
}
