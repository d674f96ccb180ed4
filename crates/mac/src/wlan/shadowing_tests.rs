//! Tests of the shadowing of stations against theory.

use super::network_tests::{SEED, config, departures_until, he};
use super::reception::Reception;
use super::*;
use crossfade_channel::{DelayProfile, ShadowingConfig};
use crossfade_core::SimTime;
use crossfade_link::{Fabric, LinkEvent, Parcel, Verdict};
use crossfade_phy::ErrorRateTable;
use std::sync::Arc;

/// Error rate of the test's own table: 1 below 10 dB, 0.9 there and 1e-4 at 20 dB, with its logarithm linear between.
fn loss_by_hand(snr_db: f64) -> f64 {
    let slope = (1e-4_f64.log10() - 0.9_f64.log10()) / 10.0;
    if snr_db < 10.0 { 1.0 } else { 0.9 * 10_f64.powf(slope * (snr_db - 10.0)) }
}

/// Mean error rate over log-normal shadowing with `std_db` around an SNR, by the midpoint rule over eight standard
/// deviations.
fn loss_in_shadow(snr_db: f64, std_db: f64) -> f64 {
    let density = |z: f64| (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let points = 16_000;
    let of = |point: i32| {
        let z = (f64::from(point) + 0.5) / 1000.0 - 8.0;
        loss_by_hand(snr_db + std_db * z) * density(z) / 1000.0
    };
    (0..points).map(of).sum()
}

/// With shadowing of 6 dB and no fading, single MPDUs sent 10 ms and ten shadowing samples apart are lost as often as
/// the integral of the error table over the log-normal distribution.
#[test]
fn shadows_lose_what_the_table_says() {
    let profile = DelayProfile::new(&[0.0], &[0.0]).unwrap();
    let table = "mode,bytes,snr_db,error_rate\nmcs-4,1538,10,0.9\nmcs-4,1538,20,0.0001\n";
    let network = |mean_snr_db, std_db| {
        let mut config = config(&[he(4, 20)], 0.0, 64);
        let radio =
            StationRadio { mean_snr_db, uplink_offset_db: 0.0, speed_mps: 1000.0, fd_t: 0.0, trace: None };
        config.stations[0].reception = ReceptionConfig::Radio(radio);
        config.attempts = Some(1);
        config.radio = RadioConfig {
            profile: Some(profile.clone()),
            shadowing: Some(ShadowingConfig { std_db, pole: 0.5, spacing_m: 1.0, hold: true }),
            errors: Some(Arc::new(ErrorRateTable::parse(table).unwrap())),
            ..RadioConfig::default()
        };
        Wlan::new(config, SEED).unwrap()
    };
    // SNR and verdict of each of `count` packets, one every `wait_us`.
    let run = |mut wlan: Wlan, count: u32, wait_us: u64| {
        wlan.trace(true);
        let mut found = Vec::new();
        for id in 0..count {
            let at = SimTime::from_micros(wait_us * u64::from(id));
            departures_until(&mut wlan, at);
            wlan.push(at, 0, 1, Parcel::new(id, 1, 1500));
            while let Some(event) = wlan.next_trace() {
                if let LinkEvent::Frame { verdict, snr_db, .. } = event {
                    found.push((snr_db.unwrap(), verdict == Verdict::Lost));
                }
            }
        }
        found
    };
    // The constant fading of this seed, without shadowing.
    let still = run(network(0.0, 0.0), 20, 10_000)[0].0;
    let snr_db = 16.0;
    let found = run(network(snr_db - still, 6.0), 20_000, 10_000);
    let count = found.len() as f64;
    let lost = found.iter().filter(|(_, is_lost)| *is_lost).count() as f64 / count;
    let (expected, without) = (loss_in_shadow(snr_db, 6.0), loss_by_hand(snr_db));
    assert!((expected - without).abs() > 0.1, "{expected} {without}");
    assert!((lost - expected).abs() < 0.01, "{lost} for {expected}");
}

/// SNR values have the configured standard deviation of shadowing, and its correlation between samples 1 m and 1 ms,
/// and three of them, apart.
#[test]
fn shadows_are_as_wide_and_as_long_as_they_are_said_to_be() {
    // 1024-QAM distinguishes SNR values over more than 45 dB.
    let mean_snr_db = 22.0;
    let radio =
        StationRadio { mean_snr_db, uplink_offset_db: 0.0, speed_mps: 1000.0, fd_t: 0.0, trace: None };
    let of = |std_db| {
        let mut station = config(&[he(11, 20)], 0.0, 64).stations.remove(0);
        station.reception = ReceptionConfig::Radio(radio.clone());
        let common = RadioConfig {
            profile: Some(DelayProfile::new(&[0.0], &[0.0]).unwrap()),
            shadowing: Some(ShadowingConfig { std_db, pole: 0.5, spacing_m: 1.0, hold: true }),
            ..RadioConfig::default()
        };
        let mut reception = Reception::new("0", &station, &common, SEED).unwrap();
        let at = |ms| reception.mpdu(0, SimTime::from_millis(ms), 1538, 0).snr_db.unwrap();
        (0..40_000).map(at).collect::<Vec<f64>>()
    };
    let (still, found) = (of(0.0)[0], of(5.0));
    let off: Vec<f64> = found.iter().map(|ratio| ratio - still).collect();
    let correlation = |lag: usize| {
        let products = off.iter().zip(&off[lag..]).map(|(one, next)| one * next);
        products.sum::<f64>() / (off.len() - lag) as f64
    };
    let variance = correlation(0);
    assert!((variance.sqrt() / 5.0 - 1.0).abs() < 0.03, "{}", variance.sqrt());
    for (lag, expected) in [(1, 0.5), (3, 0.125)] {
        let of_lag = correlation(lag) / variance;
        assert!((of_lag - expected).abs() < 0.03, "{lag}: {of_lag} for {expected}");
    }
}
