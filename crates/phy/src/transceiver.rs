//! Transmission of a frame through antenna scheme, channel and detector.

use crate::combining::Combining;
use crate::constellation::Modulation;
use crate::detector::{Detection, Detector, Prepared};
use crate::error::PhyError;
use crate::layout::{Packing, WIDEST, with_capacity, with_size};
use crate::linear::Filter;
use crate::reception::{Matched, Payload, Receive};
use crate::scheme::{Scheme, StbcPower};
use crate::symbols::Symbols;
use crossfade_channel::simd::{Kernel, Simd, Vector};
use crossfade_channel::{Matrix, NoiseSource};
use crossfade_core::Stream;
use num_complex::Complex64;

/// Configuration of a physical layer with several antennas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhyConfig {
    /// Antenna scheme: the mapping of symbols to antennas.
    pub scheme: Scheme,
    /// Detector of the symbols at the receiver.
    pub detector: Detector,
    /// Constellation of the symbols.
    pub modulation: Modulation,
    /// Number of transmit antennas.
    pub n_t: usize,
    /// Number of receive antennas.
    pub n_r: usize,
    /// Transmit power of space-time codes with four antennas.
    pub stbc_power: StbcPower,
    /// Normalised mean square error of the receiver's channel estimate, 0 for perfect knowledge. The receiver uses the
    /// estimate as if it were the channel.
    pub nmse: f64,
    /// Combining of receptions of the same frame; `None`: each is detected by itself.
    pub combining: Option<Combining>,
    /// Number of bits in a frame, uncoded.
    pub frame_bits: u32,
}

impl PhyConfig {
    /// Creates the configuration of section 5 of "TCP performance over wireless MIMO channels": 4 x 4 antennas (1 x 1
    /// for SISO, 1 x 4 for SIMO, 2 x 4 for Alamouti), QPSK, frames of 30 bytes, no combining.
    pub fn new(scheme: Scheme, detector: Detector) -> Self {
        let (n_t, n_r) = match scheme {
            Scheme::Siso => (1, 1),
            Scheme::Simo => (1, 4),
            Scheme::Alamouti => (2, 4),
            _ => (4, 4),
        };
        let (modulation, stbc_power) = (Modulation::Qpsk, StbcPower::Equal);
        Self {
            scheme,
            detector,
            modulation,
            n_t,
            n_r,
            stbc_power,
            nmse: 0.0,
            combining: None,
            frame_bits: 240,
        }
    }

    /// Bits per channel use: symbols per channel use times bits per symbol.
    pub fn bits_per_use(&self) -> f64 {
        self.scheme.rate(self.n_t) * f64::from(self.modulation.bits())
    }

    /// Checks that scheme, antennas, detector, modulation and combining fit together and numbers are in range.
    ///
    /// # Errors
    /// The first problem, with the allowed values.
    pub fn check(&self) -> Result<(), PhyError> {
        self.scheme.check(self.n_t, self.n_r)?;
        self.detector.check(self.scheme, self.n_t, self.modulation)?;
        if !(0.0..1.0).contains(&self.nmse) {
            let allowed = "at least 0 and below 1";
            return Err(PhyError::OutOfRange { parameter: "nmse", value: self.nmse, allowed });
        }
        if !(1..=MOST_FRAME_BITS).contains(&self.frame_bits) {
            let value = f64::from(self.frame_bits);
            let allowed = "between 1 and 1048576 bits";
            return Err(PhyError::OutOfRange { parameter: "frame_bits", value, allowed });
        }
        self.combining.map_or(Ok(()), |combining| combining.check(self.scheme, self.detector))
    }
}

const MOST_FRAME_BITS: u32 = 1 << 20;

/// Transmitter and receiver of frames. Payloads depend on the stream and their number, noise on the stream and the
/// number of the transmission.
#[derive(Clone, Debug)]
pub struct Transceiver {
    config: PhyConfig,
    source: NoiseSource,
    pub(crate) detection: Detection,
    /// Length of a row in values: one for each block, padded to the widest vector.
    pub(crate) stride: usize,
    /// Mask of the bits in the label words that belong to the frame, without padding.
    mask: Vec<u32>,
}

/// Reception of a frame, from which it is detected and with which later receptions can be combined.
#[derive(Clone, Debug)]
pub struct Reception {
    /// Gram matrix G of the equivalent channel as the receiver knows it.
    pub(crate) gram: Matrix,
    /// Matched filter outputs.
    pub(crate) statistic: Vec<f32>,
    /// Labels of the transmitted symbols, in packed words.
    pub(crate) sent: Vec<u32>,
    /// Number of the payload whose labels are in `sent`, which are not drawn again for it.
    sdu: Option<u64>,
}

/// Working memory of detection, kept from frame to frame to avoid allocation.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) prepared: Prepared,
    pub(crate) decided: Vec<u32>,
    pub(crate) estimates: Vec<f32>,
}

impl Transceiver {
    /// Creates a transceiver that runs on the instruction set chosen by `CROSSFADE_SIMD`.
    ///
    /// # Errors
    /// If the configuration is inconsistent, or `CROSSFADE_SIMD` names instructions that this processor lacks.
    pub fn new(config: PhyConfig, stream: Stream) -> Result<Self, PhyError> {
        Self::with_simd(config, stream, Simd::chosen()?)
    }

    /// Creates a transceiver that runs on a given instruction set, on which results do not depend.
    ///
    /// # Errors
    /// If the configuration is inconsistent.
    pub fn with_simd(config: PhyConfig, stream: Stream, simd: Simd) -> Result<Self, PhyError> {
        config.check()?;
        let bits = config.modulation.bits();
        let packing = Packing::new(bits, config.scheme.symbols(config.n_t));
        let blocks = config.frame_bits.div_ceil(bits).div_ceil(packing.symbols as u32) as usize;
        let stride = blocks.next_multiple_of(WIDEST);
        let mut mask = vec![0; packing.words() * stride];
        for bit in 0..config.frame_bits {
            let symbol = (bit / bits) as usize;
            let (word, shift) = packing.place(symbol % packing.symbols);
            mask[word * stride + symbol / packing.symbols] |= 1 << (shift + bit % bits);
        }
        let detection = Detection {
            detector: config.detector,
            orthogonal: config.scheme.is_orthogonal(),
            groups: config.scheme.groups(config.n_t),
            symbols: Symbols::new(config.modulation),
            points: config.modulation.points(),
            packing,
            simd,
        };
        Ok(Self { config, source: NoiseSource::new(stream), detection, stride, mask })
    }

    /// Configuration of the physical layer.
    pub fn config(&self) -> &PhyConfig {
        &self.config
    }

    /// Number of channel uses of a frame, padding included.
    pub fn channel_uses(&self) -> u64 {
        let packing = self.detection.packing;
        let symbols = u64::from(self.config.frame_bits.div_ceil(packing.bits));
        symbols.div_ceil(packing.symbols as u64) * self.config.scheme.slots() as u64
    }

    /// Creates an empty reception, which [`receive`](Self::receive) fills.
    pub fn reception(&self) -> Reception {
        let packing = self.detection.packing;
        Reception {
            gram: Matrix::identity(packing.symbols),
            statistic: vec![0.0; 2 * packing.symbols * self.stride],
            sent: vec![0; packing.words() * self.stride],
            sdu: None,
        }
    }

    /// Creates the buffers of detection, which can be used for every frame.
    pub fn workspace(&self) -> Workspace {
        let packing = self.detection.packing;
        Workspace {
            prepared: Prepared::Filter(Filter::matched(&Matrix::identity(1))),
            decided: vec![0; packing.words() * self.stride],
            estimates: vec![0.0; 2 * packing.symbols * self.stride],
        }
    }

    /// Sends payload number `sdu` in transmission number `transmission` over the channel `gains` at the signal-to-noise
    /// ratio `rho` (linear, not in dB), and fills `reception`. The receiver knows the channel as `estimate` if it is
    /// given, otherwise exactly.
    pub fn receive(
        &self,
        sdu: u64,
        transmission: u64,
        rho: f64,
        (gains, estimate): (&Matrix, Option<&Matrix>),
        reception: &mut Reception,
    ) {
        let (simd, packing, stride, source) =
            (self.detection.simd, self.detection.packing, self.stride, self.source);
        if reception.sdu != Some(sdu) {
            reception.sdu = Some(sdu);
            simd.run(Payload { source, sdu, packing, stride, words: &mut reception.sent });
        }
        let scheme = self.config.scheme;
        let scale = rho * scheme.power(self.config.stbc_power) / self.config.n_t as f64;
        reception.gram = scheme.gram(estimate.unwrap_or(gains), scale);
        let Reception { gram, statistic, sent: words, .. } = reception;
        let matched = with_size!(packing.symbols, K => {
            match estimate {
                None => Matched::new::<K>(gram, gram, scheme.is_orthogonal()),
                Some(estimate) => Matched::new::<K>(&scheme.cross_gram(estimate, gains, scale), gram, false),
            }
        });
        let (symbols, matched) = (&self.detection.symbols, &matched);
        with_capacity!(packing.symbols, K => simd.run(Receive::<K> {
            source, transmission, symbols, packing, matched, words, stride, statistic
        }));
    }

    /// Number of wrong bits after detection of a reception by itself.
    pub fn detect(&self, reception: &Reception, workspace: &mut Workspace) -> u32 {
        self.detection.prepare(&reception.gram, &mut workspace.prepared);
        self.detect_outputs(&reception.statistic, &reception.sent, workspace)
    }

    /// Decides the labels of the symbols of one block from values received elsewhere: those of all antennas, slot by
    /// slot, with noise of variance 1, over the channel `gains` at SNR `rho` (linear, not in dB).
    ///
    /// # Panics
    /// If the number of values is not slots times receive antennas, or gains have other antennas.
    pub fn decide(&self, gains: &Matrix, rho: f64, received: &[Complex64]) -> Vec<u32> {
        let (scheme, n_r) = (self.config.scheme, self.config.n_r);
        assert_eq!((gains.columns(), gains.rows()), (self.config.n_t, n_r));
        assert_eq!(received.len(), scheme.slots() * n_r);
        let scale = rho * scheme.power(self.config.stbc_power) / self.config.n_t as f64;
        let packing = self.detection.packing;
        let mut statistic = vec![0.0; 2 * packing.symbols * WIDEST];
        for k in 0..packing.symbols {
            let mut z = Complex64::ZERO;
            for (index, row) in scheme.equivalent(gains).iter().enumerate() {
                let y = received[index];
                z += row[k].conj() * if scheme.conjugated(index / n_r) { y.conj() } else { y };
            }
            statistic[2 * k * WIDEST] = (scale.sqrt() * z.re) as f32;
            statistic[(2 * k + 1) * WIDEST] = (scale.sqrt() * z.im) as f32;
        }
        let (mut workspace, mut words) = (self.workspace(), vec![0; packing.words() * WIDEST]);
        self.detection.prepare(&scheme.gram(gains, scale), &mut workspace.prepared);
        self.detection.detect(&workspace.prepared, &statistic, WIDEST, &mut words, None);
        let label = |k| {
            let (word, shift) = packing.place(k);
            (words[word * WIDEST] >> shift) & ((1 << packing.bits) - 1)
        };
        (0..packing.symbols).map(label).collect()
    }

    /// Number of wrong bits after detection of matched filter outputs with the detector set up in `workspace`.
    pub(crate) fn detect_outputs(&self, statistic: &[f32], sent: &[u32], workspace: &mut Workspace) -> u32 {
        let Workspace { prepared, decided, .. } = workspace;
        self.detection.detect(prepared, statistic, self.stride, decided, None);
        self.wrong_bits(sent, decided)
    }

    /// Number of bits of the frame in which two arrays of labels differ.
    pub(crate) fn wrong_bits(&self, sent: &[u32], decided: &[u32]) -> u32 {
        self.detection.simd.run(WrongBits { sent, decided, mask: &self.mask })
    }
}

/// Kernel that counts the bits in which two arrays differ, where the mask is set.
struct WrongBits<'a> {
    sent: &'a [u32],
    decided: &'a [u32],
    mask: &'a [u32],
}

impl Kernel for WrongBits<'_> {
    type Output = u32;
    #[inline(always)]
    fn run<V: Vector>(self) -> u32 {
        let mut counts = V::splat_int(0);
        for first in (0..self.mask.len()).step_by(V::LANES) {
            let differ = V::load_int(&self.sent[first..]) ^ V::load_int(&self.decided[first..]);
            let differ = differ & V::load_int(&self.mask[first..]);
            // Counts of 2, of 4 and of 8 bits, which are then added up.
            let pairs = differ - ((differ >> 1) & V::splat_int(0x5555_5555));
            let fours = (pairs & V::splat_int(0x3333_3333)) + ((pairs >> 2) & V::splat_int(0x3333_3333));
            let eights = (fours + (fours >> 4)) & V::splat_int(0x0f0f_0f0f);
            let halves = eights + (eights >> 8);
            counts = counts + ((halves + (halves >> 16)) & V::splat_int(0x3f));
        }
        let mut lanes = [0; WIDEST];
        V::store_int(counts, &mut lanes);
        lanes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::{AntennaCorrelation, MatrixFading, Motion};
    use crossfade_core::{RunSeed, SimTime};

    fn fading(config: &PhyConfig) -> MatrixFading {
        let stream = RunSeed { seed: 7, run: 0 }.stream("channel.dl");
        let antennas = (config.n_t, config.n_r);
        MatrixFading::new(antennas, Motion::Independent, AntennaCorrelation::None, stream, Simd::widest())
            .unwrap()
    }

    /// All valid combinations of schemes, antennas, detectors and modulations.
    fn everything() -> Vec<PhyConfig> {
        let mut all = Vec::new();
        for scheme in Scheme::ALL {
            for detector in Detector::ALL {
                for modulation in Modulation::ALL {
                    for (n_t, n_r) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 4), (4, 2), (4, 4), (8, 8)] {
                        let config = PhyConfig {
                            modulation,
                            n_t,
                            n_r,
                            frame_bits: 101,
                            ..PhyConfig::new(scheme, detector)
                        };
                        let candidates = modulation.bits() as usize
                            * scheme.groups(n_t).iter().map(Vec::len).max().unwrap();
                        if config.check().is_ok() && (detector != Detector::Ml || candidates <= 10) {
                            all.push(config);
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn without_noise_every_decision_is_right() {
        for config in everything() {
            let transceiver = Transceiver::new(config, RunSeed { seed: 1, run: 0 }.stream("phy.dl")).unwrap();
            let mut fading = fading(&config);
            let (mut reception, mut workspace) = (transceiver.reception(), transceiver.workspace());
            for t in 0..3 {
                // A well conditioned channel, so that the ratio is high enough for f32 to carry 256 points.
                let mut gains = fading.gains(SimTime::ZERO, t);
                for k in 0..config.n_t {
                    gains[(k % config.n_r, k)] += 4.0 * num_complex::Complex64::cis(k as f64);
                }
                transceiver.receive(t, t, 1e6, (&gains, None), &mut reception);
                assert_eq!(transceiver.detect(&reception, &mut workspace), 0, "{config:?}");
            }
        }
    }

    #[test]
    fn results_do_not_depend_on_the_processor() {
        for config in everything() {
            if config.detector == Detector::Sphere && config.modulation.bits() > 4 {
                continue;
            }
            let of = |simd: Simd| {
                let stream = RunSeed { seed: 2, run: 0 }.stream("phy.dl");
                let transceiver = Transceiver::with_simd(config, stream, simd).unwrap();
                let mut fading = fading(&config);
                let (mut reception, mut workspace) = (transceiver.reception(), transceiver.workspace());
                let wrong = (0..2).map(|t| {
                    let gains = fading.gains(SimTime::ZERO, t);
                    transceiver.receive(t, t, 10.0, (&gains, None), &mut reception);
                    transceiver.detect(&reception, &mut workspace)
                });
                let wrong: Vec<_> = wrong.collect();
                (wrong, reception.statistic.clone(), workspace.decided.clone())
            };
            let all: Vec<_> = Simd::available().map(of).collect();
            assert!(all.iter().all(|other| *other == all[0]), "{config:?}");
        }
    }

    #[test]
    fn a_frame_takes_as_many_channel_uses_as_its_rate_says() {
        let uses = |scheme, frame_bits| {
            let config = PhyConfig { frame_bits, ..PhyConfig::new(scheme, Detector::Mmse) };
            let stream = RunSeed { seed: 1, run: 0 }.stream("phy.dl");
            Transceiver::new(config, stream).unwrap().channel_uses()
        };
        let of_240 = Scheme::ALL.map(|scheme| uses(scheme, 240));
        assert_eq!(of_240, [120, 120, 120, 240, 120, 60, 30]);
        assert_eq!(uses(Scheme::Blast, 241), 31);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let blast = PhyConfig::new(Scheme::Blast, Detector::Ml);
        let refused = |config: PhyConfig| config.check().unwrap_err().to_string();
        let too_many = refused(PhyConfig { modulation: Modulation::Cross32, ..blast });
        assert!(too_many.contains("sphere") && too_many.contains("2^16"), "{too_many}");
        assert!(PhyConfig { modulation: Modulation::Qam16, ..blast }.check().is_ok());
        assert!(refused(PhyConfig { detector: Detector::Linear, ..blast }).contains("linear"));
        assert!(refused(PhyConfig { nmse: 1.0, ..blast }).contains("nmse"));
        assert!(refused(PhyConfig { frame_bits: 0, ..blast }).contains("frame_bits"));
        assert!(refused(PhyConfig { n_r: 2, ..blast }).contains("n_r"));
    }
}
