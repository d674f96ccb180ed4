//! Simulated error rates agree with closed forms, and with the rates of an independent implementation.

use crossfade_channel::simd::Simd;
use crossfade_channel::{AntennaCorrelation, MatrixFading, Motion};
use crossfade_core::{RunSeed, from_db};
use crossfade_phy::closed_form::Diversity;
use crossfade_phy::symbol_error::bit_error;
use crossfade_phy::{
    Accept, Combining, Counts, Detector, Modulation, MonteCarlo, PhyConfig, Scheme, Stage, StbcPower, Weights,
};

/// Error counts of `frames` frames, each transmitted `attempts` times at `snr_db`.
fn counts(config: PhyConfig, kind: AntennaCorrelation, snr_db: f64, frames: u64, attempts: u32) -> Counts {
    // Cases share no draws: their errors are independent.
    let name = format!("{config:?} {kind:?} {snr_db}");
    let stream = |part: &str| RunSeed { seed: 2006, run: 0 }.stream(&format!("{part} {name}"));
    let antennas = (config.n_t, config.n_r);
    let fading =
        MatrixFading::new(antennas, Motion::Independent, kind, stream("channel.dl"), Simd::widest()).unwrap();
    MonteCarlo::new(config, fading, from_db(snr_db), attempts, false, stream("phy.dl"))
        .unwrap()
        .count(0..frames)
}

/// Deviation of a count of successes in n independent trials from its expectation, in standard errors.
fn standard_errors(count: u64, n: u64, probability: f64) -> f64 {
    let n = n as f64;
    // Half a count where nothing can vary.
    (count as f64 - n * probability) / (n * probability * (1.0 - probability)).sqrt().max(0.5)
}

#[test]
fn orthogonal_schemes_have_the_error_rates_of_theory() {
    let mut cases = Vec::new();
    for modulation in [Modulation::Bpsk, Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64] {
        let of = |scheme| PhyConfig { modulation, ..PhyConfig::new(scheme, Detector::Linear) };
        cases.push((of(Scheme::Siso), 14.0));
        cases.extend((1..=4).map(|n_r| (PhyConfig { n_r, ..of(Scheme::Simo) }, 10.0)));
        cases.extend([1, 2].map(|n_r| (PhyConfig { n_r, ..of(Scheme::Alamouti) }, 10.0)));
        cases.extend([1, 4].map(|n_r| (PhyConfig { n_r, ..of(Scheme::StbcHalf) }, 3.0)));
        cases.push((PhyConfig { stbc_power: StbcPower::Printed, ..of(Scheme::StbcHalf) }, 0.0));
    }
    let mut errors = Vec::new();
    let mut bit_rates = 0;
    for (config, snr_db) in &cases {
        let frames = 10_000;
        let theory = Diversity::of(config, from_db(*snr_db)).unwrap();
        let fer = theory.frame_error(config.modulation, config.frame_bits);
        let simulated = counts(*config, AntennaCorrelation::None, *snr_db, frames, 1).attempts[0];
        let error = standard_errors(simulated.frame_errors, frames, fer);
        assert!(error.abs() < 4.0, "{config:?} {snr_db} dB: {simulated:?}, FER {fer}");
        errors.push(error);
        // Bits of a frame share their fading: errors of a frame have the mean F E p and the variance
        // F E p(1 - p) + F^2 Var p. Where few frames have errors, their number is too skew to be tested so.
        let ber = theory.bit_error(config.modulation).unwrap();
        let square = theory.mean(|g| bit_error(config.modulation, g).unwrap().powi(2));
        let bits = f64::from(config.frame_bits);
        let variance = bits * (ber - square) + bits * bits * (square - ber * ber);
        let n = frames as f64;
        let error = (simulated.bit_errors as f64 - n * bits * ber) / (n * variance).sqrt();
        if n * fer > 100.0 {
            assert!(error.abs() < 4.5, "{config:?}: {simulated:?}, BER {ber}, {error} standard errors");
            bit_rates += 1;
        }
    }
    assert!(bit_rates > 30, "{bit_rates} points");
    // The sum of n squares of standard normals: n +- 4 sqrt(2 n).
    let n = cases.len() as f64;
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    assert!((squares - n).abs() < 4.0 * (2.0 * n).sqrt(), "{squares} of {n} points: {errors:.1?}");
}

/// Frame error rates agree with those of an independent implementation in `NumPy` (frames of 240 bits, QPSK, 4 x 4).
/// Columns: scheme, detector, power, correlation, SNR in dB, FER.
#[test]
fn frame_error_rates_are_those_of_an_independent_implementation() {
    use AntennaCorrelation::{None, Rural, Urban};
    use StbcPower::{Equal, Printed};
    let cases = [
        (Scheme::Stbc1, Detector::Ml, Equal, None, 6.0, 0.040),
        (Scheme::Stbc1, Detector::MmseOsic, Equal, None, 6.0, 0.046),
        (Scheme::Blast, Detector::MmseOsic, Equal, None, 16.0, 0.086),
        (Scheme::Blast, Detector::MmseOsic, Equal, None, 20.0, 0.0092),
        (Scheme::Blast, Detector::MmseOsic, Equal, None, 10.0, 0.87),
        (Scheme::Blast, Detector::Ml, Equal, Urban, 24.0, 0.172),
        (Scheme::Blast, Detector::MmseOsic, Equal, Urban, 30.0, 0.73),
        (Scheme::Blast, Detector::Ml, Equal, Rural, 30.0, 0.305),
        (Scheme::StbcHalf, Detector::Linear, Equal, None, 2.0, 0.11),
        // 95 % of 20-frame segments survive where FER is 0.00256: at 5 dB, or at 2 dB with twice the power.
        (Scheme::StbcHalf, Detector::Linear, Printed, None, 5.0 - 3.0103, 0.00256),
    ];
    for (scheme, detector, stbc_power, kind, snr_db, expected) in cases {
        let config = PhyConfig { stbc_power, ..PhyConfig::new(scheme, detector) };
        let frames = if expected < 0.02 { 60_000 } else { 10_000 };
        let fer = counts(config, kind, snr_db, frames, 1).attempts[0].frame_errors as f64 / frames as f64;
        // The figures are rounded to two or three digits; both sides have a standard error.
        let spread = 4.0 * (expected * (1.0 - expected) / frames as f64).sqrt();
        let tolerance = spread + 0.05 * expected;
        eprintln!("{scheme:?} {detector:?} {kind:?} {snr_db} dB: {fer}, expected {expected}");
        assert!((fer - expected).abs() < tolerance, "{scheme:?} {detector:?} {kind:?} {snr_db} dB: {fer}");
    }
}

/// Residual error rates after combining two receptions agree with the means over 400,000 frames of bench/combining.py,
/// and for the half-rate code with those of another author.
#[test]
fn combining_has_the_residual_errors_of_an_independent_implementation() {
    use Stage::{Joint, Posthoc, Stacked};
    use Weights::{EqualGain, MaximalRatio};
    let cases = [
        (Scheme::Stbc2, Detector::MmseOsic, Posthoc, MaximalRatio, 6.0, 0.1139),
        (Scheme::Stbc2, Detector::MmseOsic, Posthoc, EqualGain, 6.0, 0.1404),
        (Scheme::Stbc2, Detector::MmseOsic, Joint, MaximalRatio, 6.0, 0.0608),
        (Scheme::Stbc2, Detector::MmseOsic, Stacked, MaximalRatio, 6.0, 0.0477),
        (Scheme::Stbc2, Detector::Ml, Stacked, MaximalRatio, 6.0, 0.0405),
        (Scheme::Stbc1, Detector::MmseOsic, Posthoc, MaximalRatio, 2.0, 0.0995),
        (Scheme::Stbc1, Detector::MmseOsic, Posthoc, EqualGain, 2.0, 0.1119),
        (Scheme::Stbc1, Detector::MmseOsic, Joint, MaximalRatio, 2.0, 0.0890),
        (Scheme::Stbc1, Detector::MmseOsic, Stacked, MaximalRatio, 2.0, 0.0829),
        (Scheme::Stbc1, Detector::Ml, Stacked, MaximalRatio, 2.0, 0.0765),
        (Scheme::StbcHalf, Detector::Linear, Posthoc, MaximalRatio, 0.0, 0.0203),
        (Scheme::StbcHalf, Detector::Linear, Posthoc, EqualGain, 0.0, 0.0250),
    ];
    for (scheme, detector, stage, weights, snr_db, expected) in cases {
        let combining = Some(Combining { stage, weights, accept: Accept::Combined });
        let config = PhyConfig { combining, ..PhyConfig::new(scheme, detector) };
        let frames = 20_000;
        let counted = counts(config, AntennaCorrelation::None, snr_db, frames, 2).attempts[1];
        let fer = counted.combined_errors as f64 / frames as f64;
        let residual = counted.residual as f64 / frames as f64;
        eprintln!(
            "{scheme:?} {detector:?} {stage:?} {weights:?} {snr_db} dB: {fer} (residual {residual}), expected {expected}"
        );
        let spread = 4.0 * (expected * (1.0 - expected) * (1.0 / frames as f64 + 1.0 / 400_000.0)).sqrt();
        assert!((fer - expected).abs() < spread, "{scheme:?} {detector:?} {stage:?} {weights:?}: {fer}");
    }
}

#[test]
fn orthogonal_receptions_combine_to_the_diversity_of_both() {
    let combining =
        Some(Combining { stage: Stage::Stacked, weights: Weights::MaximalRatio, accept: Accept::Combined });
    for (scheme, snr_db) in [(Scheme::Siso, 14.0), (Scheme::Alamouti, 5.0), (Scheme::StbcHalf, -1.0)] {
        let config = PhyConfig { combining, ..PhyConfig::new(scheme, Detector::Linear) };
        let frames = 20_000;
        let simulated = counts(config, AntennaCorrelation::None, snr_db, frames, 3);
        for (receptions, attempt) in (1..).zip(&simulated.attempts) {
            let theory = Diversity::of(&config, from_db(snr_db)).unwrap().combined(receptions);
            let fer = theory.frame_error(config.modulation, config.frame_bits);
            let error = standard_errors(attempt.combined_errors, frames, fer);
            assert!(error.abs() < 4.0, "{scheme:?} {receptions}: {attempt:?}, {fer}");
        }
    }
}

#[test]
fn any_split_of_the_frames_gives_the_same_counts() {
    let combining =
        Some(Combining { stage: Stage::Joint, weights: Weights::EqualGain, accept: Accept::Either });
    let config = PhyConfig { combining, nmse: 0.02, ..PhyConfig::new(Scheme::Stbc2, Detector::MmseOsic) };
    let stream = |name: &str| RunSeed { seed: 4, run: 2 }.stream(name);
    let motion = Motion::Moving { fd_t: 0.01, clock: crossfade_channel::Clock::Transmission };
    let fading =
        MatrixFading::new((4, 4), motion, AntennaCorrelation::Urban, stream("channel.dl"), Simd::widest())
            .unwrap();
    let all = MonteCarlo::new(config, fading, from_db(12.0), 3, true, stream("phy.dl")).unwrap();
    let whole = all.clone().count(0..300);
    let mut parts = Counts::default();
    for range in [200..300, 0..1, 1..200] {
        parts += &all.clone().count(range);
    }
    assert_eq!(whole, parts);
    assert!(whole.attempts[0].frame_errors > 0 && whole.attempts[2].transmissions < 300);
}

#[test]
fn a_worse_estimate_makes_more_errors() {
    let fer = |nmse| {
        let config = PhyConfig { nmse, ..PhyConfig::new(Scheme::Blast, Detector::MmseOsic) };
        counts(config, AntennaCorrelation::None, 16.0, 4000, 1).attempts[0].frame_errors
    };
    let (perfect, good, bad) = (fer(0.0), fer(0.003), fer(0.03));
    assert!(perfect < good && good < bad, "{perfect} {good} {bad}");
}
