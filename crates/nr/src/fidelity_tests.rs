//! Tests of both fidelities of a cell against each other, and against closed forms.

use crate::awgn::Combining;
use crate::cell_tests::{SEED, config, fading, goodput_bps, run, saturated};
use crate::config::{Fidelity, NrConfig, NrUser, Scheduler};
use crate::stack_config::USUAL_PRIORITY;
use crate::{NrCell, closed_form};
use crossfade_cell::OuterLoopConfig;
use crossfade_core::testing::{Runs, long_or};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, LinkReport, Parcel};

#[test]
fn fidelities_agree_and_closed_forms_hold() {
    for (snr_db, combining) in
        [(12.0, Combining::Chase), (17.3, Combining::IncrementalRedundancy), (3.0, Combining::Chase)]
    {
        let mut config = config(snr_db);
        config.harq.combining = combining;
        // Away from the threshold of a scheme, so that some blocks fail.
        let thresholds = NrCell::thresholds_db(&config);
        config.users[0].mean_snr_db =
            thresholds.iter().copied().filter(|db| *db < snr_db).fold(-30.0, f64::max) + 0.01;
        let slot = saturated(config.clone(), 6);
        config.fidelity = Fidelity::Rate;
        let rate = saturated(config, 6);
        let (slot_bps, rate_bps) = (goodput_bps(&slot), goodput_bps(&rate));
        assert!((slot_bps / rate_bps - 1.0).abs() < 0.02, "{snr_db}: {slot_bps} {rate_bps}");
        let (users, frames) = (&slot.users[0], slot.frames.as_ref().unwrap());
        let first = users.first_errors as f64 / frames.frames as f64;
        assert!((0.02..0.2).contains(&first), "{first}");
        let (transmissions, _) = closed_form(&[first, 0.0]);
        assert!((frames.frame_transmissions_per_frame() / transmissions - 1.0).abs() < 2e-3);
    }
}

/// Reports of both fidelities after `seconds`: single transmissions, then mean values.
fn both(mut config: NrConfig, seconds: u64) -> [LinkReport; 2] {
    [Fidelity::Slot, Fidelity::Rate].map(|fidelity| {
        config.fidelity = fidelity;
        saturated(config.clone(), seconds)
    })
}

fn assert_agreement([slot, rate]: &[LinkReport; 2], within: f64, what: &str) {
    let ratio = goodput_bps(rate) / goodput_bps(slot);
    println!("{what}: {ratio}");
    assert!((ratio - 1.0).abs() < within, "{what}: {ratio}");
}

/// Cell with TDL-C at 18 dB, at a speed with a carrier of 3.5 GHz.
fn moving(kmh: f64) -> NrConfig {
    let mut config = fading(1);
    let speed_mps = kmh / 3.6;
    let fd_t = speed_mps * 3.5e9 / 299_792_458.0 * 5e-4;
    config.users[0] =
        NrUser { mean_snr_db: 18.0, speed_mps, fd_t, trace: None, priority: USUAL_PRIORITY, queue: None };
    (config.harq.nack_to_ack, config.harq.ack_to_nack) = (0.001, 0.01);
    config
}

/// The usual form leaves out 3 km/h.
#[test]
fn fidelities_agree_under_fading() {
    for &kmh in long_or(&[0.3, 3.0, 30.0][..], &[0.3, 30.0]) {
        for outer_loop in [None, Some(OuterLoopConfig::with_target(0.1, 0.5, 30.0))] {
            let what = format!("{kmh} km/h, {outer_loop:?}");
            let reports = both(NrConfig { outer_loop, ..moving(kmh) }, 15);
            assert_agreement(&reports, 0.02, &what);
            let copies = reports
                .each_ref()
                .map(|report| report.frames.as_ref().unwrap().frame_transmissions_per_frame());
            assert!((copies[1] / copies[0] - 1.0).abs() < 0.01, "{what}: {copies:?}");
        }
    }
}

#[test]
fn fidelities_lose_alike() {
    // Blocks that are sent once are lost if they fail; others if their acknowledgement is misread.
    for (nack_to_ack, transmissions) in [(0.1, 4), (0.0, 1)] {
        let mut config = fading(1);
        (config.harq.nack_to_ack, config.harq.transmissions) = (nack_to_ack, transmissions);
        let reports = both(config, 10);
        assert_agreement(&reports, 0.02, "losses");
        let [slot, rate] = reports.map(|report| report.statistics.losses as f64);
        assert!(slot > 1000.0 && (rate / slot - 1.0).abs() < 0.2, "{slot} {rate}");
    }
}

#[test]
fn fidelities_agree_with_many_users() {
    for scheduler in [Scheduler::RoundRobin, Scheduler::ProportionalFair { window_slots: 100.0 }] {
        let mut config = fading(4);
        (config.scheduler, config.users[1].mean_snr_db) = (scheduler, 5.0);
        let reports = both(config, 6);
        assert_agreement(&reports, 0.02, &format!("{scheduler:?}"));
        for user in 0..4 {
            let [slot, rate] =
                reports.each_ref().map(|report| report.users[user].packets.arrived_bytes as f64);
            assert!((rate / slot - 1.0).abs() < 0.04, "{scheduler:?}, user {user}: {}", rate / slot);
        }
    }
}

/// Mean delay in ms of packets each 3.1 ms, by run: slots, HARQ, and earlier packets in retransmission.
fn delays_ms(config: &NrConfig, fidelity: Fidelity, runs: u64) -> Runs {
    Runs::of(runs, |number| {
        let seed = RunSeed { run: number, ..SEED };
        let mut cell = NrCell::new(NrConfig { fidelity, ..config.clone() }, seed).unwrap();
        let (mut sum, mut count) = (SimTime::ZERO, 0_u32);
        let sent = |id: u32| SimTime::from_micros(3100) * u64::from(id + 1);
        for id in 0..1000 {
            run(&mut cell, sent(id), |now, _, departure| {
                sum += now - sent(departure.parcel().id());
                count += 1;
            });
            cell.push(sent(id), 0, 1, Parcel::new(id, 0, 1500));
        }
        sum.as_secs_f64() * 1e3 / f64::from(count)
    })
}

#[test]
fn mean_delays_of_fidelities_agree() {
    // A third of the blocks is retransmitted, with a delay of 1.5 ms without and 2.5 ms with a retransmission; in a
    // fading channel blocks are also lost, and later ones wait for t-Reordering, 2.9 ms on average.
    let mut constant = config(12.0);
    let thresholds = NrCell::thresholds_db(&constant);
    constant.users[0].mean_snr_db =
        thresholds.iter().copied().filter(|db| *db < 12.0).fold(-30.0, f64::max) + 0.01;
    for (config, runs, within_ms, what) in
        [(constant, 10, 0.02, "constant"), (moving(30.0), 40, 0.1, "fading")]
    {
        let [slot, rate] =
            [Fidelity::Slot, Fidelity::Rate].map(|fidelity| delays_ms(&config, fidelity, runs));
        println!("{what}: {} and {} ms", slot.mean(), rate.mean());
        rate.less(&slot).assert_mean_near(0.0, within_ms, what);
    }
}
