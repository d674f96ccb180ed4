//! Decisions of all detectors agree with plain implementations in f64, for the same received signals.

use crossfade_channel::simd::Simd;
use crossfade_channel::{AngularSpread, AntennaCorrelation, Matrix, MatrixFading, Motion};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_phy::{Detector, Modulation, PhyConfig, Scheme, Transceiver};
use num_complex::Complex64;
use rand::RngExt;

fn stream(name: &str) -> Stream {
    RunSeed { seed: 11, run: 0 }.stream(name)
}

fn gaussian(stream: &mut Stream) -> Complex64 {
    let (u, v): (f64, f64) = (stream.random(), stream.random());
    Complex64::from_polar((-(1.0 - u).ln()).sqrt(), std::f64::consts::TAU * v)
}

/// Test block: channel gains, received signal and SNR rho (linear).
struct Block {
    gains: Matrix,
    received: Vec<Complex64>,
    rho: f64,
}

fn blocks(config: &PhyConfig, correlation: AntennaCorrelation, count: u64) -> impl Iterator<Item = Block> {
    let config = *config;
    let antennas = (config.n_t, config.n_r);
    let mut fading =
        MatrixFading::new(antennas, Motion::Independent, correlation, stream("channel.dl"), Simd::widest())
            .unwrap();
    let mut random = stream("noise");
    let points = config.modulation.points();
    (0..count).map(move |t| {
        let gains = fading.gains(SimTime::ZERO, t);
        let rho = 10_f64.powf(random.random::<f64>() * 2.0);
        let symbols: Vec<_> = (0..config.scheme.symbols(config.n_t))
            .map(|_| points[random.random_range(0..points.len())])
            .collect();
        let scale = (rho / config.n_t as f64).sqrt();
        let mut received = Vec::new();
        for sent in config.scheme.send(&symbols) {
            for i in 0..config.n_r {
                let signal: Complex64 = (0..config.n_t).map(|j| gains[(i, j)] * sent[j]).sum();
                received.push(scale * signal + gaussian(&mut random));
            }
        }
        Block { gains, received, rho }
    })
}

/// Squared distance ||y - sqrt(rho / `n_T`) C h||^2 between the received signal and that of a candidate (equation 2 of
/// the paper).
fn distance(config: &PhyConfig, block: &Block, labels: &[u32]) -> f64 {
    let points = config.modulation.points();
    let symbols: Vec<_> = labels.iter().map(|&label| points[label as usize]).collect();
    let scale = (block.rho / config.n_t as f64).sqrt();
    let mut sum = 0.0;
    for (slot, sent) in config.scheme.send(&symbols).iter().enumerate() {
        for i in 0..config.n_r {
            let signal: Complex64 = (0..config.n_t).map(|j| block.gains[(i, j)] * sent[j]).sum();
            sum += (block.received[slot * config.n_r + i] - scale * signal).norm_sqr();
        }
    }
    sum
}

/// Labels of the symbols of candidate number `candidate`.
fn labels(config: &PhyConfig, candidate: u32) -> Vec<u32> {
    let bits = config.modulation.bits();
    (0..config.scheme.symbols(config.n_t) as u32)
        .map(|k| (candidate >> (k * bits)) & ((1 << bits) - 1))
        .collect()
}

#[test]
fn maximum_likelihood_is_the_best_of_all_candidates() {
    let cases = [
        (Scheme::Siso, Modulation::Cross128, 1, 1, 300),
        (Scheme::Alamouti, Modulation::Star8, 2, 2, 300),
        (Scheme::StbcHalf, Modulation::Qpsk, 4, 2, 100),
        (Scheme::Stbc1, Modulation::Qpsk, 4, 4, 300),
        (Scheme::Stbc1, Modulation::Psk8, 4, 1, 10),
        (Scheme::Stbc2, Modulation::Qpsk, 4, 4, 300),
        (Scheme::Blast, Modulation::Qpsk, 4, 4, 1000),
        (Scheme::Blast, Modulation::Bpsk, 8, 8, 200),
        (Scheme::Blast, Modulation::Qam16, 3, 3, 20),
        (Scheme::Blast, Modulation::Rect8, 2, 3, 300),
        (Scheme::Blast, Modulation::Cross32, 2, 2, 100),
        (Scheme::Blast, Modulation::Qam64, 2, 2, 20),
        (Scheme::Blast, Modulation::Qpsk, 3, 3, 500),
    ];
    // Without spread all antennas fade alike: a channel of rank one.
    let flat = AngularSpread { mean_angle: 1.2, spread: 0.0, spacing: 0.5 };
    let alike = AntennaCorrelation::Custom { transmitter: flat, receiver: flat };
    let correlations = [(AntennaCorrelation::None, 1), (alike, 5)];
    let cases = cases.into_iter().flat_map(|case| correlations.map(|correlation| (case, correlation)));
    for ((scheme, modulation, n_t, n_r, count), (correlation, share)) in cases {
        for detector in [Detector::Ml, Detector::Sphere] {
            let config = PhyConfig { modulation, n_t, n_r, ..PhyConfig::new(scheme, detector) };
            let transceiver = Transceiver::new(config, stream("phy.dl")).unwrap();
            for block in blocks(&config, correlation, count / share) {
                let decided = transceiver.decide(&block.gains, block.rho, &block.received);
                let candidates = 1_u32 << (modulation.bits() * config.scheme.symbols(n_t) as u32);
                let all = (0..candidates).map(|candidate| labels(&config, candidate));
                let (least, best) = all
                    .map(|labels| (distance(&config, &block, &labels), labels))
                    .min_by(|a, b| a.0.total_cmp(&b.0))
                    .unwrap();
                // A tie is what f32 cannot tell apart.
                let tie = 1e-5 * block.rho * block.gains.rows() as f64;
                let gap = distance(&config, &block, &decided) - least;
                assert!(decided == best || gap < tie, "{config:?}: {decided:?}, {best:?}, gap {gap}");
            }
        }
    }
}

/// Inverse of a positive definite matrix, by Gauss-Jordan elimination with pivots from the diagonal.
fn inverse(mut a: Vec<Vec<Complex64>>) -> Vec<Vec<Complex64>> {
    let n = a.len();
    let mut inverse: Vec<Vec<Complex64>> =
        (0..n).map(|row| (0..n).map(|column| Complex64::from(f64::from(row == column))).collect()).collect();
    for k in 0..n {
        let pivot = a[k][k];
        for j in 0..n {
            a[k][j] /= pivot;
            inverse[k][j] /= pivot;
        }
        for row in (0..n).filter(|&row| row != k) {
            let factor = a[row][k];
            for j in 0..n {
                let (x, y) = (a[k][j], inverse[k][j]);
                a[row][j] -= factor * x;
                inverse[row][j] -= factor * y;
            }
        }
    }
    inverse
}

/// Reference implementation of the algorithm of section 2.1 line by line, with its corrections, on y = sqrt(c) H s + n:
/// the labels, and the distance of the closest decision from another.
fn osic(h: &[Vec<Complex64>], c: f64, y: &[Complex64], points: &[Complex64]) -> (Vec<u32>, f64) {
    let mut left: Vec<usize> = (0..h[0].len()).collect();
    let mut labels = vec![0; left.len()];
    let mut r = y.to_vec();
    let mut closest = f64::INFINITY;
    while !left.is_empty() {
        let gram = |a: usize, b: usize| h.iter().map(|row| row[a].conj() * row[b]).sum::<Complex64>() * c;
        let omega = inverse(
            left.iter().map(|&a| left.iter().map(|&b| gram(a, b) + f64::from(a == b)).collect()).collect(),
        );
        // Symbols of a code share their ratio in pairs: then the first comes first.
        let less = |a: usize, b: usize| omega[a][a].re < omega[b][b].re * (1.0 - 1e-9);
        let place = (1..left.len()).fold(0, |best, next| if less(next, best) { next } else { best });
        let mut z = Complex64::ZERO;
        for (row, value) in h.iter().zip(&r) {
            let w: Complex64 = left.iter().zip(&omega).map(|(&j, column)| row[j] * column[place]).sum();
            z += (c.sqrt() * w).conj() * value;
        }
        let z = z / (1.0 - omega[place][place].re);
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| (points[a] - z).norm().total_cmp(&(points[b] - z).norm()));
        closest = closest.min((points[order[1]] - z).norm() - (points[order[0]] - z).norm());
        let k = left.remove(place);
        labels[k] = order[0] as u32;
        for (row, value) in h.iter().zip(&mut r) {
            *value -= c.sqrt() * row[k] * points[order[0]];
        }
    }
    (labels, closest)
}

#[test]
fn cancellation_is_the_algorithm_of_the_paper() {
    for (scheme, modulation, n_t, n_r) in [
        (Scheme::Blast, Modulation::Qpsk, 4, 4),
        (Scheme::Blast, Modulation::Qam16, 4, 4),
        (Scheme::Blast, Modulation::Cross32, 3, 5),
        (Scheme::Blast, Modulation::Bpsk, 8, 8),
        (Scheme::Stbc2, Modulation::Qam64, 4, 2),
        (Scheme::Stbc1, Modulation::Qpsk, 4, 4),
    ] {
        let config = PhyConfig { modulation, n_t, n_r, ..PhyConfig::new(scheme, Detector::MmseOsic) };
        let transceiver = Transceiver::new(config, stream("phy.dl")).unwrap();
        for block in blocks(&config, AntennaCorrelation::None, 2000) {
            let y: Vec<_> = (0..block.received.len())
                .map(|index| {
                    let value = block.received[index];
                    if scheme.conjugated(index / n_r) { value.conj() } else { value }
                })
                .collect();
            let c = block.rho / n_t as f64;
            let (expected, closest) = osic(&scheme.equivalent(&block.gains), c, &y, &modulation.points());
            let decided = transceiver.decide(&block.gains, block.rho, &block.received);
            assert!(
                decided == expected || closest < 1e-3,
                "{config:?}: {decided:?}, {expected:?}, {closest}"
            );
        }
    }
}
