//! BBR version 1 over a path of 10 Mbit/s and 40 ms (833.3 packets/s, 33.3 in flight), where the kernel has quanta of
//! two segments. Expected values follow from the arithmetic of `tcp_bbr.c`.

use crate::path::{Conditions, P10, Path, Row, linux, ms};
use crossfade_core::{SimTime, testing::Runs};
use crossfade_transport::BbrConfig;
use crossfade_transport::congestion::{BbrV1, CongestionControl, Needs, Phase, RateSample, SendEvent};

fn control() -> BbrV1 {
    BbrV1::new(10.0, BbrConfig::default(), Some(2))
}

fn bbr(conditions: Conditions) -> Path {
    Path::new(conditions, &linux(&conditions), Box::new(control()))
}

/// Phases in order: state, pacing gain and duration in milliseconds of each.
fn phases(rows: &[Row]) -> Vec<(&'static str, f64, f64)> {
    let mut phases: Vec<(&'static str, f64, f64)> = Vec::new();
    let mut began = 0.0;
    for row in rows {
        let gain = row.info.gains.unwrap().0;
        if phases.last().is_none_or(|last| (last.0, last.1) != (row.info.state, gain)) {
            if let Some(last) = phases.last_mut() {
                last.2 = 1e3 * (row.seconds() - began);
            }
            began = row.seconds();
            phases.push((row.info.state, gain, 0.0));
        }
    }
    phases
}

fn gain(row: &Row) -> f64 {
    row.info.gains.unwrap().0
}

#[test]
fn before_a_round_trip_is_known_ten_segments_a_millisecond() {
    let mut control = control();
    assert_eq!(control.needs(), Needs { samples: true, own_window: true, random: true, ..Needs::default() });
    let rate = |control: &BbrV1| control.pacing_rate().unwrap();
    let high = 739.0 / 256.0 * 0.99;
    assert!((rate(&control) / (high * 10_000.0) - 1.0).abs() < 1e-12);
    control.on_send(&SendEvent { srtt: Some(ms(40)), ..SendEvent::default() });
    assert!((rate(&control) / (high * 250.0) - 1.0).abs() < 1e-12, "{}", rate(&control));
}

/// The quantum is the data of 1/1024 s at the pacing rate, at least one segment below 1.2 Mbit/s and two above, at most
/// 127 (`bbr_tso_segs_goal`).
#[test]
fn the_quantum_is_a_millisecond() {
    let quantum = |segments_per_s: f64| {
        let config = BbrConfig { mss: 1500, ..BbrConfig::default() };
        let mut control = BbrV1::new(10.0, config, None);
        // The first rate is 2.887 x 10 segments a round trip, less the margin.
        let srtt = SimTime::from_secs_f64(739.0 / 256.0 * 0.99 * 10.0 / segments_per_s);
        control.on_send(&SendEvent { srtt: Some(srtt), ..SendEvent::default() });
        control.send_quantum().unwrap()
    };
    // 1.188, 1.212, 12, 35 and 48 Mbit/s, and 12 Gbit/s.
    assert_eq!([99.0, 101.0, 1000.0, 2900.0, 4000.0, 1e6].map(quantum), [1, 2, 2, 2, 3, 127]);
}

#[test]
fn startup_fills_the_pipe_and_three_rounds_more() {
    let mut path = bbr(Conditions::p10());
    path.run_until(ms(800));
    let startup: Vec<&Row> = path.rows.iter().filter(|row| row.info.state == "startup").collect();
    // even(ceil(2.887 x 33.33) + 6).
    assert_eq!(startup.iter().map(|row| row.cwnd).max(), Some(104));
    let peak = path.rows.iter().map(|row| row.queue).max().unwrap();
    assert!((70..=73).contains(&peak), "{peak}");
    let phases = phases(&path.rows);
    assert_eq!((phases[0].0, phases[1].0, phases[2].0), ("startup", "drain", "probe-bw"));
    assert!((phases[1].1 - 88.0 / 256.0).abs() < 1e-12);
    assert_ne!(phases[2].1, 0.75, "any phase but the draining one comes first");
    // Drained to one bandwidth-delay product and three quanta, 34 + 6, by when the next two segments leave: up to 7 ms
    // later.
    let drained = path.rows.iter().find(|row| row.info.state == "probe-bw").unwrap();
    assert!((38..=46).contains(&drained.pipe), "{drained:?}");
}

/// The pipe is full after three rounds in which the bandwidth estimate grows by less than a quarter.
#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut control = control();
    let rates = [100.0, 200.0, 260.0, 264.0, 266.0, 270.0];
    let mut states = Vec::new();
    for (round, rate) in (0..).zip(rates) {
        control.on_delivery(&RateSample {
            now: ms(40 * (round + 1)),
            delivered: 100 * (round + 1),
            prior_delivered: Some(100 * round),
            rate: Some(rate),
            interval: ms(40),
            rtt: Some(ms(40)),
            newly_acked: 1,
            in_flight: 1000,
            ..RateSample::default()
        });
        states.push(control.info().state);
    }
    assert_eq!(states[..5], ["startup"; 5]);
    assert_eq!(states[5], "drain", "260 is 1.3 times 200; 264, 266, 270 are not 1.25 times 260");
}

/// Window targets do not overflow at a round trip of 36 years and seventy segments per nanosecond, as a property test
/// found.
#[test]
fn a_target_beyond_what_can_be_counted_does_not_wrap() {
    let mut control = control();
    let rtt = SimTime::from_nanos(1_136_165_053_340_000_000);
    for round in 1..3 {
        control.on_delivery(&RateSample {
            now: rtt + ms(round),
            delivered: 10 * round,
            prior_delivered: Some(10 * (round - 1)),
            rate: Some(7e10),
            interval: ms(1),
            rtt: Some(rtt),
            newly_acked: 10,
            ..RateSample::default()
        });
    }
    // The time of the least round trip is over long since.
    assert_eq!((control.info().state, control.cwnd()), ("probe-rtt", 4.0));
}

#[test]
fn the_cycle_of_eight_lasts_8_2_round_trips() {
    let mut path = bbr(Conditions::p10());
    path.run_until(ms(9_000));
    let rows: Vec<Row> = path.rows.iter().filter(|row| row.seconds() > 3.0).cloned().collect();
    let (probing, cruising): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| gain(row) != 0.75).partition(|row| gain(row) == 1.25);
    // even(ceil(2 x 33.33) + 6), two more in the probing phase; the kernel's aggregation allowance adds a segment.
    assert!(cruising.iter().all(|row| (74..=76).contains(&row.cwnd)), "{:?}", cruising[0]);
    assert!(probing.iter().all(|row| (74..=78).contains(&row.cwnd)), "{:?}", probing[0]);
    let phases = phases(&rows);
    let whole = &phases[1..phases.len() - 1];
    let mean = |wanted: f64| {
        let times: Vec<f64> =
            whole.iter().filter(|(_, gain, _)| *gain == wanted).map(|phase| phase.2).collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let (up, down, cruise) = (mean(1.25), mean(0.75), mean(1.0));
    assert!((44.0..51.0).contains(&up), "{up}");
    assert!((32.0..35.0).contains(&down), "{down}");
    assert!((325.0..330.0).contains(&(up + down + cruise)), "{}", up + down + cruise);
    // The draining phase ends six segments above one product: that queue stands.
    let last = cruising.iter().rev().take(60).map(|row| row.queue).min().unwrap();
    assert!((4..=7).contains(&last), "{last}");
    // Ten over the target of 1.25 products less two of the quantum, and the packet in transmission.
    let peak = rows.iter().map(|row| row.queue).max().unwrap();
    assert!((13..=16).contains(&peak), "{peak}");
}

/// With larger bandwidth-delay products the queue peaks just below a quarter of the product plus three quanta.
#[test]
fn the_peak_of_the_queue_grows_with_the_quantum() {
    for (rate, quantum, bdp) in [(10.0 * P10, 5, 333.0), (12.5 * P10, 8, 417.0)] {
        let conditions = Conditions { rate, ..Conditions::p10() };
        let control = BbrV1::new(10.0, BbrConfig::default(), Some(quantum));
        let mut path = Path::new(conditions, &linux(&conditions), Box::new(control));
        path.run_until(ms(4_000));
        let peak = path.rows.iter().filter(|row| row.seconds() > 2.0).map(|row| row.queue).max().unwrap();
        let most = bdp / 4.0 + 3.0 * quantum as f64 + 4.0;
        assert!((0.2 * bdp..=most).contains(&(peak as f64)), "{peak} of {bdp}, at most {most}");
    }
}

#[test]
fn after_ten_seconds_the_round_trip_is_measured_anew() {
    let mut path = bbr(Conditions::p10());
    let delivered = path.run_until(ms(30_000));
    let rows = &path.rows;
    let first = rows.iter().position(|row| row.info.state == "probe-rtt").unwrap();
    let lasts = rows[first..].iter().position(|row| row.info.state != "probe-rtt").unwrap();
    let (begin, end) = (rows[first].seconds(), rows[first + lasts].seconds());
    // The queue stands, so the last shortest round trip is of the start.
    assert!((10.0..10.6).contains(&begin), "{begin}");
    assert!((0.2..0.33).contains(&(end - begin)), "{}", end - begin);
    assert!(rows[first..first + lasts].iter().all(|row| row.cwnd == 4));
    assert!(rows[first + lasts].cwnd >= 74, "the window of before comes back");
    assert_eq!(rows[first + lasts].info.min_rtt, Some(ms(40)));
    // 200 ms of ten seconds.
    let utilisation = delivered as f64 / 30.0 / P10;
    assert!((0.97..0.99).contains(&utilisation), "{utilisation}");
}

/// A round trip that equals the minimum RTT refreshes its time stamp, which postpones `ProbeRTT`.
#[test]
fn an_equal_round_trip_postpones_probe_rtt() {
    let mut control = control();
    let sample = |seconds: u64, rtt| RateSample {
        now: ms(1000 * seconds),
        rtt: Some(ms(rtt)),
        newly_acked: 1,
        in_flight: 50,
        ..RateSample::default()
    };
    control.on_delivery(&sample(1, 40));
    control.on_delivery(&sample(9, 40));
    control.on_delivery(&sample(12, 50));
    assert_ne!(control.info().state, "probe-rtt");
    control.on_delivery(&sample(18, 50));
    control.on_delivery(&sample(20, 50));
    assert_eq!(control.info().state, "probe-rtt");
    assert_eq!(control.info().min_rtt, Some(ms(50)));
}

/// After idle time the pacing rate is the bandwidth less its margin, whatever the phase of the cycle.
#[test]
fn after_idle_time_it_paces_at_the_bandwidth() {
    let mut control = control();
    let mut gains = Vec::new();
    for round in 1..60_u64 {
        control.on_delivery(&RateSample {
            now: ms(41 * round),
            delivered: 33 * round,
            prior_delivered: Some(33 * (round - 1)),
            rate: Some(P10),
            interval: ms(40),
            rtt: Some(ms(40)),
            newly_acked: 33,
            in_flight: if control.info().state == "drain" { 1 } else { 70 },
            prior_in_flight: 70,
            ..RateSample::default()
        });
        let gain = control.info().gains.unwrap().0;
        if control.info().state == "probe-bw" && gain != 1.0 {
            let mut idle = control.clone();
            assert!((idle.pacing_rate().unwrap() / (gain * 0.99 * P10) - 1.0).abs() < 1e-9);
            let send = SendEvent { now: ms(41 * round + 500), after_idle: true, ..SendEvent::default() };
            idle.on_send(&send);
            assert!(
                (idle.pacing_rate().unwrap() / (gain * 0.99 * P10) - 1.0).abs() < 1e-9,
                "the window's fault"
            );
            idle.on_send(&SendEvent { app_limited: true, ..send });
            assert!((idle.pacing_rate().unwrap() / (0.99 * P10) - 1.0).abs() < 1e-9);
            gains.push(gain);
        }
    }
    assert!(gains.contains(&1.25) && gains.contains(&0.75), "{gains:?}");
}

#[test]
fn recovery_conserves_a_round_and_gives_the_window_back() {
    let mut control = control();
    let sample = |n: u64, phase| RateSample {
        now: ms(40 + n),
        delivered: 10 + n,
        prior_delivered: Some(9),
        rate: Some(833.0),
        newly_acked: 1,
        in_flight: 20,
        phase,
        ..RateSample::default()
    };
    for n in 0..30 {
        control.on_delivery(&sample(n, Phase::Open));
    }
    let before = control.cwnd();
    control.on_phase(ms(80), Phase::Recovery, 20);
    control.on_delivery(&RateSample { newly_lost: 3, ..sample(31, Phase::Recovery) });
    assert_eq!(control.cwnd(), 21.0, "what is in flight and what was acknowledged");
    control.on_delivery(&sample(32, Phase::Recovery));
    assert_eq!(control.cwnd(), 21.0, "conservation");
    control.on_delivery(&sample(33, Phase::Open));
    assert!(control.cwnd() >= before, "{} after {before}", control.cwnd());
    // A timeout leaves one beside what is in flight, each time.
    control.on_phase(ms(90), Phase::Loss, 0);
    assert_eq!(control.cwnd(), 1.0);
    control.on_phase(ms(91), Phase::Loss, 2);
    assert_eq!(control.cwnd(), 3.0);
    control.on_delivery(&sample(40, Phase::Open));
    assert!(control.cwnd() >= before);
}

/// Share of the link that a flow uses from 5 s on, during `seconds` seconds.
fn share(rate: f64, loss: f64, policer: bool, run: u64, seconds: u64) -> f64 {
    let conditions = Conditions { rate, loss, run, ..Conditions::p10() };
    let config = BbrConfig { policer, ..BbrConfig::default() };
    let quantum = if rate > P10 { 4 } else { 2 };
    let control = BbrV1::new(10.0, config, Some(quantum));
    let mut path = Path::new(conditions, &linux(&conditions), Box::new(control)).quiet();
    path.utilisation(ms(5_000), ms(5_000 + 1000 * seconds))
}

/// Random loss costs no more than the lost packets, up to the loss rate at which a cycle no longer finds the bandwidth
/// again, 1 - 1/(0.99 x 1.25) = 19.2 % (Cardwell et al. 2016, figure 10, and Cao et al. 2019: a cliff between 15 and 25
/// %).
#[test]
fn loss_is_ignored_up_to_a_knee() {
    let ten = |loss| Runs::of(12, |run| share(P10, loss, false, run, 20));
    // An independent sketch of the control over the same path, without recovery and without the search for policers.
    for (loss, sketched, off) in
        [(0.01, 1.0, 0.02), (0.05, 0.97, 0.02), (0.1, 0.91, 0.02), (0.15, 0.86, 0.02), (0.2, 0.76, 0.03)]
    {
        ten(loss).assert_mean_near(sketched, off, &format!("10 Mbit/s, {loss}"));
    }
    ten(0.25).assert_mean_in(0.2..=0.45, "10 Mbit/s, beyond the knee");
    for (loss, sketched) in [(0.001, 1.0), (0.02, 0.98), (0.05, 0.96), (0.1, 0.91)] {
        let fifty = Runs::of(6, |run| share(5.0 * P10, loss, false, run, 10));
        fifty.assert_mean_near(sketched, 0.02, &format!("50 Mbit/s, {loss}"));
    }
    // Without losses chance has the phase of the cycle alone.
    assert!((share(P10, 0.0, false, 0, 20) - 0.98).abs() < 0.01);
}

/// Over 50 Mbit/s the share of the link is 0.86 at a loss rate of 15 %, near the knee, beyond which some runs are for a
/// while (0.83 to 0.84 on average), and small at 25 %.
#[test]
#[ignore = "long: make test-long"]
fn the_knee_over_a_link_of_50_mbit_s() {
    let fifty = |loss, runs| Runs::of(runs, |run| share(5.0 * P10, loss, false, run, 20));
    fifty(0.15, 24).assert_mean_near(0.86, 0.03, "50 Mbit/s, 0.15");
    fifty(0.25, 6).assert_mean_in(0.0..=0.35, "50 Mbit/s, beyond the knee");
}

/// The detection of policers takes 15 % of random loss over so few packets per round for a policer, in some runs sooner
/// than in others: 31 runs of Linux 6.18 had 6.16 Mbit/s of data there, 0.64 of the link, each between 3 and 7;
/// simulated 0.68 on average. At 18 % it does so in nearly all runs.
#[test]
fn random_loss_is_taken_for_a_policer() {
    let policed = |runs, loss| Runs::of(runs, |run| share(P10, loss, true, run, 30));
    policed(40, 0.15).assert_mean_near(0.64, 0.05, "taken for a policer, 15 %");
    policed(16, 0.18).assert_mean_in(0.2..=0.5, "taken for a policer, 18 %");
}

/// Two intervals with equal delivery rates and a fifth of the packets lost are taken for a policer: the mean of their
/// rates is used at gain 1, for 48 rounds.
#[test]
fn a_policer_is_taken_for_what_it_is() {
    let mut control = control();
    let (mut delivered, mut lost, mut rounds_at_lt) = (0, 0, 0);
    let mut full = 0;
    for round in 0..120_u64 {
        delivered += 80;
        lost += 20;
        control.on_delivery(&RateSample {
            now: ms(40 * (round + 1)),
            delivered,
            prior_delivered: Some(delivered - 80),
            // The filter sees bursts.
            rate: Some(4000.0),
            interval: ms(40),
            rtt: Some(ms(40)),
            newly_acked: 80,
            newly_lost: 20,
            lost,
            in_flight: if control.info().state == "drain" { 1 } else { 100 },
            ..RateSample::default()
        });
        full += u64::from(control.info().state == "probe-bw");
        if control.info().bandwidth.is_some_and(|bandwidth| bandwidth < 3999.0) {
            assert!((control.info().bandwidth.unwrap() - 2000.0).abs() < 1.0, "80 each 40 ms");
            rounds_at_lt += 1;
            if control.info().state == "probe-bw" {
                assert_eq!(control.info().gains.unwrap().0, 1.0);
            }
        }
    }
    assert!(full > 100);
    assert!((48..=2 * 48 + 8).contains(&rounds_at_lt), "{rounds_at_lt} rounds");
}

/// A link that releases acknowledgements together needs a larger window; Linux allows for up to 100 ms of data.
#[test]
fn aggregation_is_allowed_for_up_to_100_ms() {
    let utilisation = |rtt, gap, cap| {
        let conditions = Conditions { rtt: ms(rtt), ack_gap: Some(ms(gap)), ..Conditions::p10() };
        let config = BbrConfig { extra_acked_cap: cap, ..BbrConfig::default() };
        let control = BbrV1::new(10.0, config, Some(2));
        let mut path = Path::new(conditions, &linux(&conditions), Box::new(control)).quiet();
        path.utilisation(ms(15_000), ms(25_000))
    };
    let linux = Some(ms(100));
    for (rtt, gap) in [(10, 10), (10, 60), (40, 80)] {
        let share = utilisation(rtt, gap, linux);
        assert!(share > 0.93, "{share} at {rtt} ms, {gap} ms");
    }
    // Without the allowance the window is too small for the gap; beyond it, too.
    for (rtt, gap, cap, most) in [
        (10, 60, Some(SimTime::ZERO), 0.45),
        (40, 160, Some(SimTime::ZERO), 0.45),
        (10, 30, Some(SimTime::ZERO), 0.88),
        (40, 80, Some(SimTime::ZERO), 0.88),
        (10, 200, linux, 0.6),
        (40, 200, linux, 0.7),
    ] {
        let share = utilisation(rtt, gap, cap);
        assert!(share < most, "{share} at {rtt} ms, {gap} ms with {cap:?}");
    }
    // Without the allowance a gap of a round trip is filled.
    for (rtt, gap) in [(10, 10), (40, 40)] {
        let share = utilisation(rtt, gap, Some(SimTime::ZERO));
        assert!(share > 0.93, "{share} at {rtt} ms, {gap} ms without an allowance");
    }
}

/// Without a bound of the aggregation allowance a gap of twenty round trips between acknowledgements is filled, once
/// the estimate is the link's rate: Startup, which has no allowance, leaves 95 segments/s, and from there a cycle of
/// seven gaps adds a quarter at most, 14 s in all. Then a gap is a round and a phase of the cycle: one phase drains at
/// 0.75 of the estimate, six send at the estimate. The estimate counts the whole segments of a gap; 1 % is the margin
/// of pacing, and another 1 % is forgotten if ten rounds have no probe. `ProbeRTT` takes three gaps of four segments:
/// in the first the flight becomes small, and at the second 200 ms are not yet over.
///
/// In 15 of 80 random starts (salts 1 to 80) a cycle repeats to the nanosecond instead, with 0.876 of the link, at an
/// estimate of 750 segments/s (whole gaps of 150), or with 0.990. Each such cycle has a round trip as short as the
/// minimum, so no `ProbeRTT` is due. All of six runs are such once in 23,000.
#[test]
fn an_allowance_without_bound_fills_gaps_of_any_length() {
    let (gap_s, from, to) = (0.2, ms(30_000), ms(130_000));
    let conditions = Conditions { rtt: ms(10), ack_gap: Some(ms(200)), ..Conditions::p10() };
    let config = BbrConfig { extra_acked_cap: None, ..BbrConfig::default() };
    let segments = P10 * gap_s;
    let paced = 0.99 * 0.99 * segments.floor() / segments;
    let cycle = (1.0 + 0.75 * paced + 6.0 * paced) / 8.0;
    let mut with_probes = 0;
    for run in 0..6 {
        let conditions = Conditions { run, ..conditions };
        let mut path =
            Path::new(conditions, &linux(&conditions), Box::new(BbrV1::new(10.0, config, Some(2))));
        let share = path.utilisation(from, to);
        let rows: Vec<Row> = path.rows.into_iter().filter(|row| row.now >= from).collect();
        let probes = phases(&rows).iter().filter(|phase| phase.0 == "probe-rtt").count() as f64;
        if probes == 0.0 {
            let cycles = [0.876, 0.990].map(|cycle: f64| (share - cycle).abs() < 0.001);
            assert!(cycles.contains(&true), "{share} in a cycle that repeats itself");
            continue;
        }
        with_probes += 1;
        let probing = probes * 3.0 * gap_s * (1.0 - 4.0 / segments) / (to - from).as_secs_f64();
        assert!(
            ((1.0 - probing) * cycle..=1.0 - probing).contains(&share),
            "{share} of 1 - {probing}, at least {cycle} of it"
        );
    }
    assert!(with_probes > 0, "every cycle repeats itself");
}

/// If the receive window limits the sender, an offloaded packet waits until it is whole, since the next acknowledgement
/// is due (`tcp_tso_should_defer`). A capture of Linux 6.18 over 43.7 Mbit/s and 5.2 ms has four segments of its window
/// of 20 every 1.1 to 1.6 ms (its estimate is 4000 packets/s; here it is the link's 3645, which makes three). A packet
/// whose first segment has left does not wait, whether or not its end carries PSH.
#[test]
fn of_a_receive_window_that_binds_whole_packets_leave() {
    [true, false].into_iter().for_each(whole_packets_leave);
}

fn whole_packets_leave(push_acks: bool) {
    let rate = 43.743e6 / 12_000.0;
    let conditions =
        Conditions { rate, rtt: SimTime::from_micros(5_494), queue: 9, w_max: 20, ..Conditions::p10() };
    let control = BbrV1::new(10.0, BbrConfig::default(), None);
    let mut config = linux(&conditions);
    config.rfc.push_acks = push_acks;
    let mut path = Path::new(conditions, &config, Box::new(control));
    path.run_until(ms(4_000));
    let rows: Vec<_> = path.rows.iter().filter(|row| row.now > ms(2_000)).collect();
    let left = rows.windows(2).map(|rows| rows[1].sent - rows[0].sent);
    assert!(rows.len() > 5_000 && left.clone().all(|segments| segments == 0 || segments == 3));
    // A packet leaves as the last of another is acknowledged: 20 segments in a round trip and two transmissions.
    let share = left.sum::<u64>() as f64 / 2.0 / rate;
    assert!((share - 20.0 / (5.494e-3 * rate + 2.0)).abs() < 0.01, "{share}");
}

/// A tenfold rate is found within a second: the probing phase does not end while the segments in flight are below a
/// target that grows with the estimate, by a quarter per round trip, so in ln 10 / ln 1.24 = 10.7 round trips after at
/// most a cycle.
#[test]
fn ten_times_the_rate_is_found_in_a_second() {
    let mut path = bbr(Conditions { queue: 333, ..Conditions::p10() }).quiet();
    path.run_until(ms(9_000));
    path.conditions.rate = 10.0 * P10;
    let mut after = 0.0;
    while path.run_until(path.now + ms(50)) < (0.9 * 10.0 * P10 * 0.05) as u64 {
        after += 0.05;
        assert!(after < 6.0, "not found");
    }
    assert!((0.4..0.9).contains(&after), "{after} s");
}

/// After the rate falls to a tenth, the old estimate lasts until the eleventh round after its last sample (`minmax`:
/// more than ten rounds old), which came up to 40 ms after the fall. Rounds last 0.42 to 0.44 s with a full queue of
/// 333 packets of 1.2 ms, so ten to eleven of them take 4.2 to 4.9 s. If `ProbeRTT` falls into that time, as the
/// cycle's phase decides, six rounds of its 240 ms count as well, and the queue is empty meanwhile: four or five long
/// rounds are left, and up to 0.4 s in which the queue drains, 2.3 to 3.5 s. Packets sent for the old estimate are
/// acknowledged within two more rounds.
#[test]
fn a_tenth_of_the_rate_is_believed_after_ten_long_rounds() {
    let mut seen = [0, 0];
    for run in 0..14 {
        let conditions = Conditions { rate: 10.0 * P10, queue: 333, run, ..Conditions::p10() };
        let config = BbrConfig { policer: false, ..BbrConfig::default() };
        let mut path = Path::new(conditions, &linux(&conditions), Box::new(BbrV1::new(10.0, config, None)));
        path.run_until(ms(9_000));
        path.conditions.rate = P10;
        path.run_until(ms(18_000));
        let rows: Vec<&Row> = path.rows.iter().filter(|row| row.now > ms(9_000)).collect();
        let believed = rows.iter().position(|row| row.info.bandwidth.unwrap() < 2.0 * P10).unwrap();
        let probes = rows[..believed].iter().any(|row| row.info.state == "probe-rtt");
        let after = rows[believed].seconds() - 9.0;
        let last_full = rows.iter().rev().find(|row| row.rtt > ms(400)).unwrap().seconds() - 9.0;
        println!("run {run}: {after:.2} s, full until {last_full:.2} s, ProbeRTT {probes}");
        let expected = if probes { 2.3..3.5 } else { 4.2..4.9 };
        assert!(expected.contains(&after), "run {run}: {after} s, ProbeRTT {probes}");
        assert!(
            (0.0..0.9).contains(&(last_full - after)),
            "run {run}: full {last_full} s, believed {after} s"
        );
        seen[usize::from(probes)] += 1;
    }
    // Each is about half of the phases: none of 14 would be once in 8,000 salts.
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}
