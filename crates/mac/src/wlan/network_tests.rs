//! Tests of a Wi-Fi network against closed forms, and over random schedules.

use super::*;
use crossfade_core::testing::{Runs, long_or};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{
    Departure, Fabric, FqCoDelConfig, LinkEvent, Parcel, Port, Push, QueueConfig, QueueLimit, Verdict,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use rand::Rng;

pub(super) const SEED: RunSeed = RunSeed { seed: 5, run: 0 };
const LIMIT: QueueConfig = QueueConfig::DropTail(Some(QueueLimit::Packets(2000)));

fn mode(standard: Standard, mcs: u8, width: u16) -> Mode {
    Mode::new(standard, Band::Ghz5, mcs, 1, width, 800).unwrap()
}

pub(super) fn he(mcs: u8, width: u16) -> Mode {
    mode(Standard::Ax, mcs, width)
}

fn station(mode: Mode, p: f64, window: u32) -> StationConfig {
    StationConfig {
        modes: vec![mode],
        limits: AmpduLimits { window, ..AmpduLimits::of(mode.standard()) },
        rate: RateConfig::Constant(0),
        reception: ReceptionConfig::ErrorRate(p),
    }
}

pub(super) fn config(modes: &[Mode], p: f64, window: u32) -> WlanConfig {
    WlanConfig {
        stations: modes.iter().map(|&mode| station(mode, p, window)).collect(),
        categories: vec![EDCA[BEST_EFFORT]],
        backoff: Backoff::Edca,
        attempts: None,
        rts: false,
        asks: false,
        reorder_timeout: None,
        queue: LIMIT,
        access_point: AccessPointQueues::PerStation { airtime_fairness: true, aql: None },
        radio: RadioConfig::default(),
        neighbours: None,
        ofdma: None,
        links: Vec::new(),
        emlsr: Vec::new(),
    }
}

/// Keeps packets under way from port to port; returns the payload bits per second that arrived in each flow.
pub(super) fn saturate(wlan: &mut Wlan, ends: &[(Port, Port)], seconds: u64) -> Vec<f64> {
    saturate_with(wlan, ends, seconds, 600)
}

pub(super) fn saturate_with(wlan: &mut Wlan, ends: &[(Port, Port)], seconds: u64, packets: u32) -> Vec<f64> {
    let mut arrived = vec![0_u64; wlan.ports() as usize - 1];
    for &(from, to) in ends {
        for id in 0..packets {
            let parcel = Parcel::new(id, from.max(to), 1500);
            assert_eq!(wlan.push(SimTime::ZERO, from, to, parcel), Push::Accepted);
        }
    }
    let end = SimTime::from_millis(1000 * seconds);
    while let Some(now) = wlan.next_event().filter(|now| *now < end) {
        while let Some((port, departure)) = wlan.advance(now) {
            let parcel = departure.parcel();
            let (from, to) = if port == 0 { (parcel.flow(), 0) } else { (0, port) };
            arrived[from.max(to) as usize - 1] += u64::from(matches!(departure, Departure::Arrived(_)));
            wlan.push(now, from, to, parcel);
        }
    }
    arrived.iter().map(|&packets| packets as f64 * 1472.0 * 8.0 / seconds as f64).collect()
}

#[test]
fn one_station_is_the_closed_form() {
    for (mode, window, expected) in
        [(he(7, 20), 64, 78.9), (he(4, 80), 64, 195.2), (he(11, 80), 64, 495.3), (he(11, 160), 256, 1058.2)]
    {
        for aql in [None, Some(Aql::LINUX)] {
            let mut config = config(&[mode], 0.0, window);
            config.access_point = AccessPointQueues::PerStation { airtime_fairness: true, aql };
            let mut wlan = Wlan::new(config, SEED).unwrap();
            let found = saturate(&mut wlan, &[(0, 1)], 4)[0] / 1e6;
            assert!((found / expected - 1.0).abs() < 0.006, "{mode:?}: {found} for {expected}");
        }
    }
}

/// One station of 802.11n at 20 MHz has the throughput that ns-3's saturation example prints, within 0.6 %.
#[test]
fn one_station_of_802_11n_is_what_ns3_prints() {
    let printed = [5.81381, 11.8266, 17.7935, 23.7958, 35.7331, 47.6174, 53.6102, 59.5501];
    for (mcs, expected) in (0..).zip(printed) {
        let mut wlan = Wlan::new(config(&[mode(Standard::N, mcs, 20)], 0.0, 64), SEED).unwrap();
        let found = saturate(&mut wlan, &[(0, 1)], 20)[0] / 1e6;
        assert!((found / expected - 1.0).abs() < 0.006, "MCS {mcs}: {found} for {expected}");
    }
}

/// Saturated uplinks have the throughput of Bianchi's model with aggregates within 1 %, for 1 to 20 stations. EDCA
/// follows the plain form, in which a busy slot counts as one; DCF the form with an empty slot after a success unless
/// the winner transmits again.
///
/// The usual form has 2 and 10 stations and a quarter of the time: the intervals of its ten runs are up to 2.7 % wide on
/// either side, so that a throughput 5 % off always fails and one 3 % off in nearly all cases.
#[test]
fn saturated_stations_are_those_of_the_closed_form() {
    use Backoff::{Dcf, Edca};
    for (mode, packets, backoff, form) in [
        (he(7, 20), 37, Edca, Form::Plain),
        (he(11, 80), 64, Edca, Form::Plain),
        (he(11, 80), 16, Edca, Form::Plain),
        (he(11, 80), 16, Dcf, Form::SlotOrAgain),
        (he(11, 80), 64, Dcf, Form::SlotOrAgain),
    ] {
        for &stations in long_or(&[1_usize, 2, 5, 10, 20][..], &[2, 10]) {
            let mut ampdu = Ampdu::new(mode, &AmpduLimits::of(Standard::Ax), None);
            (0..packets).for_each(|_| assert!(ampdu.push(1538)));
            let around = ampdu.duration() + SimTime::from_micros(16 + 43);
            let saturated = Saturated {
                stations,
                windows: [15, 1023],
                slot_s: 9e-6,
                success_s: (around + SimTime::from_micros(32)).as_secs_f64(),
                collision_s: (around + SimTime::from_micros(44)).as_secs_f64(),
                packets,
                bits: f64::from(packets) * 1472.0 * 8.0,
            };
            let expected = saturated.throughput(form).unwrap().throughput_bps;
            let ends: Vec<(Port, Port)> = (1..=stations as Port).map(|port| (port, 0)).collect();
            let seconds = (5 + 2 * stations as u64) * u64::from(packets.min(32)) / 32;
            let seconds = seconds.div_ceil(long_or(1, 4));
            let found: Vec<f64> = (0..10)
                .map(|run| {
                    let config = config(&vec![mode; stations], 0.0, packets.next_power_of_two());
                    let config = WlanConfig { backoff, ..config };
                    let mut wlan = Wlan::new(config, RunSeed { run, ..SEED }).unwrap();
                    saturate(&mut wlan, &ends, seconds).iter().sum()
                })
                .collect();
            let ratios: Runs = found.iter().map(|bps| bps / expected).collect::<Vec<f64>>().into();
            ratios.assert_mean_near(1.0, 0.01, &format!("{mode:?}, {packets}, {stations}, {backoff:?}"));
        }
    }
}

/// The block acknowledgement window stalls on its oldest MPDU: the mean number of MPDUs per aggregate is within 1 % of
/// an independent computation, and the share 1 - p of them is delivered. The usual form takes each second loss rate.
#[test]
fn the_window_stalls_as_it_was_computed() {
    for (window, expected) in
        [(64, [51.6, 39.0, 34.2, 28.9, 25.8, 22.0]), (256, [163.5, 127.5, 109.7, 91.4, 81.1, 68.4])]
    {
        let of_losses = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5].into_iter().zip(expected);
        for (p, expected) in of_losses.step_by(long_or(1, 2)) {
            let mut config = config(&[he(11, 160)], p, window);
            config.stations[0].limits = AmpduLimits { window, ..AmpduLimits::of(Standard::Ax) };
            let mut wlan = Wlan::new(config, SEED).unwrap();
            saturate_with(&mut wlan, &[(0, 1)], 25, 1000);
            let of = &wlan.report(SimTime::from_millis(25_000)).stations[0];
            let sent = of.sent() as f64 / of.ppdus as f64;
            assert!((sent / expected - 1.0).abs() < 0.01, "{window}, {p}: {sent} for {expected}");
            let delivered = 1.0 - of.mpdus.frame_errors as f64 / of.sent() as f64;
            assert!((delivered / (1.0 - p) - 1.0).abs() < 0.01, "{window}, {p}: {delivered}");
        }
    }
}

/// With airtime fairness two fast stations and a slow one each get a third of the airtime, with and without airtime
/// queue limits.
#[test]
fn airtime_is_shared_whatever_the_rates() {
    for aql in [None, Some(Aql::LINUX)] {
        let mut config = config(&[he(7, 20), he(7, 20), he(0, 20)], 0.0, 64);
        config.access_point = AccessPointQueues::PerStation { airtime_fairness: true, aql };
        let mut wlan = Wlan::new(config, SEED).unwrap();
        saturate(&mut wlan, &[(0, 1), (0, 2), (0, 3)], 10);
        let report = wlan.report(SimTime::from_millis(10_000));
        let total: f64 = report.stations.iter().map(|one| one.airtime.as_secs_f64()).sum();
        for one in &report.stations {
            let share = one.airtime.as_secs_f64() / total;
            assert!((share - 1.0 / 3.0).abs() < 0.01, "{share}");
        }
    }
}

/// A station of 802.11a acknowledges each frame: its throughput is that of single frames within 0.6 %.
#[test]
fn old_stations_send_frame_by_frame() {
    let old = Mode::new(Standard::A, Band::Ghz5, 7, 1, 20, 800).unwrap();
    let mut wlan = Wlan::new(config(&[old], 0.0, 1), SEED).unwrap();
    let found = saturate(&mut wlan, &[(0, 1)], 5)[0];
    // 1536 bytes at 54 Mbit/s take 248 us; SIFS, an ACK of 28 us, AIFS and 67.5 us of backoff follow.
    let expected = 1472.0 * 8.0 / (248.0 + 16.0 + 28.0 + 43.0 + 67.5) * 1e6;
    assert!((found / expected - 1.0).abs() < 0.006, "{found} for {expected}");
}

/// Voice has priority over best effort, and none of its exchanges is longer than its transmission opportunity.
#[test]
fn categories_have_their_turns() {
    let mut config = config(&[he(0, 20), he(0, 20)], 0.0, 64);
    config.categories = vec![EDCA[VOICE], EDCA[BEST_EFFORT]];
    let mut wlan = Wlan::new(config, SEED).unwrap();
    wlan.trace(true);
    // Station 0 always has voice packets, station 1 best effort.
    let found = saturate(&mut wlan, &[(1, 0), (4, 0)], 5);
    assert!(found[0] > 4.0 * found[3], "{found:?}");
    let longest = std::iter::from_fn(|| wlan.next_trace_back()).filter_map(|event| match event {
        LinkEvent::Air { at, end, node: 1, kind: "data", .. } => Some(end - at),
        _ => None,
    });
    assert!(longest.max().unwrap() <= SimTime::from_micros(2080));
}

/// If categories of one station reach the slot boundary together, the first transmits and the others count a failure,
/// but no collision.
#[test]
fn internal_collisions_are_no_collisions() {
    let mut config = config(&[he(7, 20)], 0.0, 64);
    config.categories = vec![EDCA[VIDEO], EDCA[BEST_EFFORT], EDCA[BACKGROUND]];
    let mut wlan = Wlan::new(config, SEED).unwrap();
    let found = saturate(&mut wlan, &[(1, 0), (2, 0), (3, 0)], 10);
    let back = wlan.report(SimTime::from_millis(10_000)).back.unwrap();
    assert_eq!((back.stations[0].collisions, back.stations[0].mpdus.frame_errors), (0, 0));
    assert!(found[0] > found[1] && found[1] > found[2] && found[2] > 0.0, "{found:?}");
}

/// Neighbouring networks with a share of the air leave the rest; with an endless backlog they contend like other
/// stations.
#[test]
fn neighbours_take_their_share() {
    let alone = saturate(&mut Wlan::new(config(&[he(7, 20)], 0.0, 64), SEED).unwrap(), &[(0, 1)], 20)[0];
    let mut busy = config(&[he(7, 20)], 0.0, 64);
    busy.neighbours = Some(Neighbours { count: 2, busy: 0.3, aggregate: SimTime::from_millis(2) });
    let found = saturate(&mut Wlan::new(busy.clone(), SEED).unwrap(), &[(0, 1)], 20)[0];
    assert!((0.55..0.70).contains(&(found / alone)), "{}", found / alone);
    busy.neighbours = Some(Neighbours { count: 1, busy: 1.0, aggregate: SimTime::from_micros(5484) });
    let found = saturate(&mut Wlan::new(busy, SEED).unwrap(), &[(0, 1)], 20)[0];
    let two =
        saturate(&mut Wlan::new(config(&[he(7, 20); 2], 0.0, 64), SEED).unwrap(), &[(1, 0), (2, 0)], 20);
    assert!((found / two[0] - 1.0).abs() < 0.05, "{found} for {}", two[0]);
}

#[test]
fn what_cannot_be_is_refused() {
    let good = config(&[he(7, 20)], 0.0, 64);
    let said = |config| Wlan::new(config, SEED).err().unwrap().to_string();
    assert_eq!(
        said(WlanConfig { stations: Vec::new(), ..good.clone() }),
        "stations = 0: must be between 1 and 1000"
    );
    assert!(said(config(&[he(7, 20)], 1.5, 64)).starts_with("mpdu_error_rate = 1.5: must be"));
    assert!(said(config(&[he(7, 20)], 0.0, 257)).starts_with("window = 257: must be"));
    let queue = QueueConfig::FqCoDel(FqCoDelConfig { quantum: 1, ..FqCoDelConfig::default() });
    assert!(said(WlanConfig { queue, ..good.clone() }).starts_with("quantum"));
    let of = |count, busy| Some(Neighbours { count, busy, aggregate: SimTime::from_millis(1) });
    let said_of = |neighbours| said(WlanConfig { neighbours, ..good.clone() });
    assert_eq!(said_of(of(0, 0.5)), "neighbours.count = 0: must be between 1 and 100");
    assert_eq!(said_of(of(1, 1.5)), "neighbours.busy = 1.5: must be above 0 and at most 1");
    let g = Mode::new(Standard::G, Band::Ghz2, 7, 1, 20, 800).unwrap();
    assert!(said(config(&[he(7, 20), g], 0.0, 1)).starts_with("band = 2.4 GHz: must be 5 GHz"));
}

/// Events of an exchange are RTS, CTS, data and acknowledgement without overlap, and an event for each MPDU.
#[test]
fn events_are_those_of_the_air() {
    let mut config = config(&[he(7, 20)], 0.2, 64);
    config.rts = true;
    let mut wlan = Wlan::new(config, SEED).unwrap();
    wlan.trace(true);
    saturate(&mut wlan, &[(0, 1)], 1);
    let (mut last, mut kinds, mut errors) = (SimTime::ZERO, Vec::new(), 0);
    while let Some(event) = wlan.next_trace() {
        match event {
            LinkEvent::Air { at, end, kind, .. } => {
                assert!(at >= last, "{kind} at {at} before {last}");
                last = end;
                kinds.push(kind);
            }
            LinkEvent::Frame { verdict, scheme, .. } => {
                assert_eq!(scheme, Some("mcs-7"));
                errors += u64::from(verdict == Verdict::Lost);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kinds[..8], ["rts", "cts", "data", "block-ack", "rts", "cts", "data", "block-ack"]);
    let of = &wlan.report(SimTime::from_millis(1000)).stations[0];
    assert_eq!(of.channel_errors, errors);
    assert_eq!(of.mpdus.frame_errors, errors);
}

/// A station that decodes nothing for a while, not even BARs, is reached again. MPDUs behind a gap are delivered after
/// the reorder timeout or a BAR.
#[test]
fn what_was_given_up_in_a_fade_holds_back_nothing_after_it() {
    for timeout in [None, Some(SimTime::from_millis(100))] {
        let mut config = config(&[he(0, 20)], 0.9, 64);
        config.attempts = Some(2);
        config.reorder_timeout = timeout;
        let mut wlan = Wlan::new(config, SEED).unwrap();
        let (mut now, mut arrived, mut longest) = (SimTime::ZERO, 0, SimTime::ZERO);
        // One packet each 20 ms, so that no later one advances the window.
        for id in 0..2000_u32 {
            let at = SimTime::from_millis(20 * u64::from(id));
            while let Some(next) = wlan.next_event().filter(|next| *next <= at) {
                now = next;
                while let Some((_, departure)) = wlan.advance(now) {
                    if let Departure::Arrived(parcel) = departure {
                        arrived += 1;
                        longest = longest.max(now - SimTime::from_millis(20 * u64::from(parcel.id())));
                    }
                }
            }
            now = now.max(at);
            wlan.push(now, 0, 1, Parcel::new(id, 1, 1500));
        }
        // Nearly a fifth of the packets arrives: 1 - 0.9^2.
        let share = f64::from(arrived) / 2000.0;
        assert!((share - (1.0 - 0.9 * 0.9)).abs() < 0.03, "{share}");
        if timeout.is_some() {
            assert!(longest <= SimTime::from_millis(110), "{longest}");
        }
    }
}

/// In 200,000 exchanges of 20 stations in both directions (a million in the long form), with errors and a retry limit,
/// every packet leaves once and in order, and the packets reported as inside are those that have not left.
#[test]
fn many_exchanges_conserve_packets() {
    let all_exchanges = long_or(1_000_000, 200_000);
    let mut config = config(&[he(11, 80); 20], 0.3, 16);
    config.attempts = Some(3);
    config.queue = QueueConfig::DropTail(Some(QueueLimit::Packets(40)));
    let mut wlan = Wlan::new(config, SEED).unwrap();
    let mut sizes = SEED.stream("sizes");
    let (mut pushed, mut left, mut refused, mut lost) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut last = [[0_u32; 21]; 2];
    let mut push = |wlan: &mut Wlan, now, port: Port, is_up: bool, refused: &mut u64| {
        pushed += 1;
        let (from, to) = if is_up { (port, 0) } else { (0, port) };
        let bytes = 40 + (sizes.next_u32() % 1460);
        let parcel = Parcel::new(pushed as u32, port, bytes);
        *refused += u64::from(wlan.push(now, from, to, parcel) != Push::Accepted);
        pushed
    };
    let mut all = 0;
    for port in 1..=20 {
        for is_up in [false, true] {
            for _ in 0..8 {
                all = push(&mut wlan, SimTime::ZERO, port, is_up, &mut refused);
            }
        }
    }
    let (mut events, mut exchanges) = (0, 0);
    while exchanges < all_exchanges {
        let now = wlan.next_event().unwrap();
        while let Some((at, departure)) = wlan.advance(now) {
            let parcel = departure.parcel();
            let is_up = at == 0;
            left += 1;
            if let Departure::Arrived(_) = departure {
                let before = &mut last[usize::from(is_up)][parcel.flow() as usize];
                assert!(parcel.id() > *before, "out of order");
                *before = parcel.id();
            } else {
                lost += 1;
            }
            all = push(&mut wlan, now, parcel.flow(), is_up, &mut refused);
        }
        events += 1;
        if events % 100_000 == 0 {
            let report = wlan.report(now);
            let back = report.back.as_ref().unwrap();
            let inside = report.unsent.len() + report.sent.len() + back.unsent.len() + back.sent.len();
            assert_eq!(left + refused + inside as u64, all);
            let given_up: u64 =
                report.stations.iter().chain(&back.stations).map(|one| one.packets.losses).sum();
            assert_eq!(given_up, lost);
            // An exchange has up to three events; a collision of two has two.
            exchanges = report.stations.iter().chain(&back.stations).map(|one| one.ppdus).sum::<u64>();
        }
    }
    assert!(left > all_exchanges && lost > 0, "{left} {lost}");
}

/// Push of a random schedule: time since the last push in 1/30 us, station, category, true for downlink, and bytes.
pub(super) type RandomPush = (u64, u32, u32, bool, u32);

/// Pushes packets of two categories and runs the network until `patience` after the last push. Asserts that each packet
/// leaves once, that arrivals of a station and category are in order, and that none is left inside. Returns all
/// departures and the time of the last push.
pub(super) fn push_and_drain(
    wlan: &mut Wlan,
    pushes: &[RandomPush],
    patience: SimTime,
) -> Result<(Vec<Departure>, SimTime), TestCaseError> {
    let (mut now, mut refused, mut left) = (SimTime::ZERO, 0, Vec::new());
    for (id, &(wait, station, category, is_down, bytes)) in (0..).zip(pushes) {
        now += SimTime::from_micros(wait / 30);
        left.extend(departures_until(wlan, now));
        let port = 1 + 2 * station + category;
        let (from, to) = if is_down { (0, port) } else { (port, 0) };
        refused += usize::from(wlan.push(now, from, to, Parcel::new(id, port, bytes)) != Push::Accepted);
    }
    let report = wlan.report(now);
    let back = report.back.as_ref().unwrap();
    let inside = report.unsent.len() + report.sent.len() + back.unsent.len() + back.sent.len();
    prop_assert_eq!(left.len() + refused + inside, pushes.len());
    left.extend(departures_until(wlan, now + patience));
    prop_assert_eq!(left.len() + refused, pushes.len(), "nothing stays");
    for way in 1..7 {
        for is_down in [true, false] {
            let of_way = left.iter().filter(|(_, port, departure)| {
                departure.parcel().flow() == way
                    && (*port != 0) == is_down
                    && matches!(departure, Departure::Arrived(_))
            });
            let ids: Vec<u32> = of_way.map(|(_, _, departure)| departure.parcel().id()).collect();
            prop_assert!(ids.is_sorted(), "in order");
        }
    }
    let mut ids: Vec<u32> = left.iter().map(|(_, _, departure)| departure.parcel().id()).collect();
    ids.sort_unstable();
    ids.dedup();
    prop_assert_eq!(ids.len(), left.len(), "once each");
    Ok((left.into_iter().map(|(_, _, departure)| departure).collect(), now))
}

/// All departures until a time, with their times and ports.
pub(super) fn departures_until(wlan: &mut Wlan, until: SimTime) -> Vec<(SimTime, Port, Departure)> {
    let mut left = Vec::new();
    while let Some(now) = wlan.next_event().filter(|now| *now <= until) {
        while let Some((port, departure)) = wlan.advance(now) {
            left.push((now, port, departure));
        }
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// For any schedule of pushes every packet leaves once, packets of a station and category leave in order, and only
    /// packets that were given up are lost.
    #[test]
    fn packets_are_conserved_and_stay_in_order(
        pushes in prop::collection::vec((0_u64..3000, 0_u32..3, 0_u32..2, any::<bool>(), 40_u32..1500), 1..1500),
        p in 0.0_f64..0.7,
        attempts in prop::option::of(1_u32..5),
        (rts, asks) in any::<(bool, bool)>(),
        box_kind in 0..3,
        snr in prop::option::of(5.0_f64..35.0),
        crowded: bool,
        ofdma in prop::option::of((any::<[bool; 4]>(), 1_usize..9, prop::option::of(0_usize..3))),
    ) {
        let mut config = config(&[he(7, 20), he(0, 20), he(11, 20)], p, 64);
        config.categories = vec![EDCA[VIDEO], EDCA[BEST_EFFORT]];
        config.attempts = attempts;
        (config.rts, config.asks) = (rts, asks);
        config.access_point = match box_kind {
            0 => AccessPointQueues::OneFifo(QueueLimit::Packets(200)),
            1 => AccessPointQueues::PerStation { airtime_fairness: true, aql: Some(Aql::LINUX) },
            _ => AccessPointQueues::PerStation { airtime_fairness: false, aql: None },
        };
        if crowded {
            config.neighbours = Some(Neighbours { count: 2, busy: 0.4, aggregate: SimTime::from_millis(1) });
        }
        if let Some(mean_snr_db) = snr {
            for station in &mut config.stations {
                station.modes = (0..12).map(|mcs| he(mcs, 20)).collect();
                station.rate = RateConfig::Minstrel;
                station.reception = ReceptionConfig::Radio(StationRadio {
                    mean_snr_db, uplink_offset_db: -2.0, speed_mps: 0.0, fd_t: 0.0, trace: None,
                });
            }
        }
        config.ofdma = ofdma.map(|([downlink, uplink, is_aggregated, stations_contend], users, ru)| OfdmaConfig {
            downlink,
            uplink,
            users,
            ru: ru.map(|place| Ru::ALL[place]),
            ack: if is_aggregated { MuAck::Aggregated } else { MuAck::MuBar },
            stations_contend,
        });
        let mut wlan = Wlan::new(config, SEED).unwrap();
        let (left, _) = push_and_drain(&mut wlan, &pushes, SimTime::from_millis(100_000))?;
        if attempts.is_none() {
            prop_assert!(left.iter().all(|departure| matches!(departure, Departure::Arrived(_))));
        }
    }
}
