//! Bit-level simulation of transport blocks: segmentation, LDPC code, rate matching, modulation, channel, combining,
//! decoding.
//!
//! A block has the code blocks, symbols and redundancy versions of TS 38.212. The receiver knows the channel. Copies of
//! the same redundancy version are combined symbol by symbol (maximal-ratio combining, to which chase combining amounts
//! if all copies are scrambled equally); LLRs of bits that several versions carry are added. A code block counts as
//! decoded when all its bits are right, a stand-in for its checksum.

use crate::demapper::Dimension;
use crate::ldpc::{Code, Decoder, RateMatching, Schedule};
use crate::mcs::CodedModulation;
use crate::transport_block::CodeBlocks;
use crossfade_channel::{complex_normal, simd::Simd};
use crossfade_core::{Stream, from_db};
use rand::RngExt;

/// Fading of the symbols of a simulated transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockFading {
    /// No fading: white Gaussian noise alone.
    None,
    /// One Rayleigh gain of mean power 1 per transmission, independent of others.
    PerTransmission,
    /// One Rayleigh gain of mean power 1 per symbol, as behind an ideal interleaver.
    PerSymbol,
}

/// Simulated transport block: code, modulation, fading and decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedBlockConfig {
    /// Modulation and code rate.
    pub scheme: CodedModulation,
    /// Code blocks of the transport block.
    pub code: CodeBlocks,
    /// Number of symbols of a transmission, over all code blocks and layers.
    pub symbols: u32,
    /// Number of layers; each code block has a multiple of this many symbols.
    pub layers: u32,
    /// Number of bits of a code block that a receiver keeps (limited-buffer rate matching); `None` for all.
    pub buffer_bits: Option<u32>,
    /// Fading of the symbols.
    pub fading: BlockFading,
    /// Schedule of the LDPC decoder, and its maximum number of iterations.
    pub decoder: (Schedule, u32),
}

/// Simulator of a transport block, which can be sent and decoded repeatedly.
pub struct SimulatedBlock {
    link: Link,
    parts: Vec<Part>,
    fading: BlockFading,
    is_decoded: bool,
}

/// State common to all code blocks: decoder, constellation and layers.
struct Link {
    decoder: Decoder,
    dimension: Dimension,
    layers: usize,
    ratios: Vec<f32>,
}

/// Power gains of the symbols of a transmission.
#[derive(Clone, Copy)]
enum Gains<'a> {
    /// One gain for all symbols.
    Of(f64),
    /// A Rayleigh gain drawn for each symbol.
    Drawn,
    /// One gain per resource block; symbols fill the subcarriers of all resource blocks, OFDM symbol by OFDM symbol.
    OfResourceBlocks(&'a [f64]),
}

/// Code block of a simulated transport block.
struct Part {
    matching: RateMatching,
    /// Number of symbols of the code blocks before it; `symbols` is its own.
    first: usize,
    symbols: usize,
    block: Vec<u8>,
    word: Vec<u8>,
    /// For each redundancy version sent: sums over its copies of gain times received symbol (real and imaginary parts),
    /// and of gains.
    received: [Option<Received>; 4],
    is_decoded: bool,
}

#[derive(Default)]
struct Received {
    sums: Vec<[f64; 2]>,
    gains: Vec<f64>,
}

impl SimulatedBlock {
    /// Simulator of blocks with this configuration.
    pub fn new(config: &SimulatedBlockConfig) -> Self {
        let SimulatedBlockConfig { scheme, code, symbols, layers, .. } = *config;
        let bits_per_symbol = scheme.bits_per_symbol as usize;
        let ldpc = Code::new(code.base_graph, code.bits);
        let mut first = 0;
        let part = |number: u32| {
            // 38.212 section 5.4.2.1: the last code blocks have the symbol of each layer that is left over.
            let each = symbols / layers / code.count;
            let left = symbols / layers % code.count;
            let symbols = (layers * (each + u32::from(number >= code.count - left))) as usize;
            let limit = config.buffer_bits.map(|bits| bits as usize);
            first += symbols;
            Part {
                matching: RateMatching::new(&ldpc, symbols * bits_per_symbol, bits_per_symbol, limit),
                first: first - symbols,
                symbols,
                block: Vec::new(),
                word: Vec::new(),
                received: [const { None }; 4],
                is_decoded: false,
            }
        };
        let parts = (0..code.count).map(part).collect();
        let (schedule, iterations) = config.decoder;
        let ratios = vec![0.0; ldpc.word()];
        let decoder = Decoder::new(ldpc, schedule, iterations, Simd::widest());
        let dimension = Dimension::of(scheme.bits_per_symbol);
        let link = Link { decoder, dimension, layers: layers as usize, ratios };
        Self { link, parts, fading: config.fading, is_decoded: false }
    }

    /// Starts a new block with random bits.
    pub fn renew(&mut self, stream: &mut Stream) {
        self.is_decoded = false;
        let code = self.link.decoder.code();
        for part in &mut self.parts {
            part.block = (0..code.bits()).map(|_| u8::from(stream.random::<bool>())).collect();
            part.word = code.encode(&part.block);
            part.received = [const { None }; 4];
            part.is_decoded = false;
        }
    }

    /// Sends a copy with redundancy version `version` at a mean Es/N0 of `snr_db`.
    pub fn send(&mut self, version: u32, snr_db: f64, stream: &mut Stream) {
        let gains = match self.fading {
            BlockFading::None => Gains::Of(1.0),
            BlockFading::PerTransmission => Gains::Of(complex_normal(stream).norm_sqr()),
            BlockFading::PerSymbol => Gains::Drawn,
        };
        self.transmit(version, snr_db, gains, stream);
    }

    /// Like [`Self::send`], but over resource blocks with these power gains, in place of the configured fading.
    pub fn send_over(&mut self, gains: &[f64], version: u32, snr_db: f64, stream: &mut Stream) {
        self.transmit(version, snr_db, Gains::OfResourceBlocks(gains), stream);
    }

    fn transmit(&mut self, version: u32, snr_db: f64, gains: Gains<'_>, stream: &mut Stream) {
        let noise_power = 1.0 / from_db(snr_db);
        for part in self.parts.iter_mut().filter(|part| !part.is_decoded) {
            part.send(version, noise_power, gains, &self.link, stream);
        }
    }

    /// Decodes the block from all copies so far at this Es/N0; returns true if all its code blocks are right.
    pub fn decode(&mut self, snr_db: f64) -> bool {
        let noise_power = 1.0 / from_db(snr_db);
        for part in self.parts.iter_mut().filter(|part| !part.is_decoded) {
            part.is_decoded = part.decode(noise_power, &mut self.link);
        }
        self.is_decoded = self.parts.iter().all(|part| part.is_decoded);
        self.is_decoded
    }
}

impl Part {
    fn send(
        &mut self,
        version: u32,
        noise_power: f64,
        gains_met: Gains<'_>,
        link: &Link,
        stream: &mut Stream,
    ) {
        let received = self.received[version as usize & 3].get_or_insert_default();
        received.sums.resize(self.symbols, [0.0; 2]);
        received.gains.resize(self.symbols, 0.0);
        let bits = link.dimension.bits();
        let mut labels = [0_usize; 2];
        let mut places = self.matching.places(version);
        for (place_in_block, (sums, gains)) in
            (self.first..).zip(received.sums.iter_mut().zip(&mut received.gains))
        {
            for bit in 0..2 * bits {
                let place = places.next().unwrap_or_default();
                let label = &mut labels[bit % 2];
                *label = (*label << 1 | usize::from(self.word[place])) & ((1 << bits) - 1);
            }
            let gain = match gains_met {
                Gains::Of(gain) => gain,
                Gains::Drawn => complex_normal(stream).norm_sqr(),
                // Symbols are mapped to layers first, then to subcarriers (38.211 sections 7.3.1.3 and 7.3.1.5).
                Gains::OfResourceBlocks(all) => all[place_in_block / link.layers / 12 % all.len()],
            };
            // |h|^2 x + conj(h) n: the noise has |h|^2 times the power of n.
            let deviation = (gain * noise_power).sqrt();
            let noise = complex_normal(stream);
            *gains += gain;
            for ((sum, label), noise) in sums.iter_mut().zip(labels).zip([noise.re, noise.im]) {
                *sum += gain * link.dimension.level(label) + deviation * noise;
            }
        }
    }

    fn decode(&self, noise_power: f64, link: &mut Link) -> bool {
        link.ratios.fill(0.0);
        let bits = link.dimension.bits();
        let mut found = vec![0.0_f32; bits];
        for (version, received) in (0..4).zip(&self.received) {
            let Some(received) = received else { continue };
            let mut places = self.matching.places(version);
            for (sums, gain) in received.sums.iter().zip(&received.gains) {
                let mut of_symbol = [0_usize; 10];
                for (of_symbol, place) in of_symbol[..2 * bits].iter_mut().zip(places.by_ref()) {
                    *of_symbol = place;
                }
                // A symbol without power carries no information.
                let gain = gain.max(1e-30);
                for (side, sum) in sums.iter().enumerate() {
                    link.dimension.demap(sum / gain, noise_power / gain, &mut found);
                    for (place, ratio) in of_symbol[side..2 * bits].iter().step_by(2).zip(&found) {
                        link.ratios[*place] += ratio;
                    }
                }
            }
        }
        link.decoder.decode(&link.ratios, &self.block).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awgn::stream;
    use crate::ldpc::BaseGraph;

    fn config(bits_per_symbol: u32, rate_times_1024: u32, bits: u32, layers: u32) -> SimulatedBlockConfig {
        let scheme = CodedModulation { bits_per_symbol, rate_times_2048: 2 * rate_times_1024 };
        let code = CodeBlocks::of(bits, scheme.rate());
        let symbols = f64::from(code.bits * code.count) / scheme.efficiency() / f64::from(layers);
        SimulatedBlockConfig {
            scheme,
            code,
            symbols: symbols.ceil() as u32 * layers,
            layers,
            buffer_bits: None,
            fading: BlockFading::None,
            decoder: (Schedule::Layered, 20),
        }
    }

    /// Share of `blocks` blocks that fail after copies with these redundancy versions.
    fn share(config: &SimulatedBlockConfig, snr_db: f64, versions: &[u32], blocks: u32) -> f64 {
        let mut stream = stream(7, "block");
        let mut block = SimulatedBlock::new(config);
        let mut failures = 0;
        for _ in 0..blocks {
            block.renew(&mut stream);
            for version in versions {
                block.send(*version, snr_db, &mut stream);
            }
            failures += u32::from(!block.decode(snr_db));
        }
        f64::from(failures) / f64::from(blocks)
    }

    #[test]
    fn copies_of_one_version_are_one_with_their_gains_added() {
        let config = config(6, 567, 1000, 1);
        let once = share(&config, 11.4, &[0], 300);
        assert!((0.1..0.7).contains(&once), "{once}");
        for copies in [2, 4] {
            let each = 11.4 - 10.0 * f64::from(copies).log10();
            let found = share(&config, each, &vec![0; copies as usize], 300);
            // Two shares of 300 blocks: standard error 0.04.
            assert!((found - once).abs() < 0.12, "{copies}: {found} {once}");
        }
        assert!(share(&config, 11.4 - 5.0, &[0, 2], 100) < 0.1, "other bits gain 5.8 dB, not 3");
    }

    #[test]
    fn a_block_fails_with_any_of_its_code_blocks() {
        let of_two = config(4, 490, 16_000, 1);
        assert_eq!((of_two.code.count, of_two.code.base_graph), (2, BaseGraph::One));
        let of_one = SimulatedBlockConfig {
            code: CodeBlocks { count: 1, ..of_two.code },
            symbols: of_two.symbols / 2,
            ..of_two.clone()
        };
        let [one, two] = [&of_one, &of_two].map(|config| share(config, 5.55, &[0], 150));
        let expected = 1.0 - (1.0 - one) * (1.0 - one);
        assert!((0.05..0.8).contains(&one) && (two - expected).abs() < 0.15, "{one} {two} {expected}");
    }

    #[test]
    fn code_blocks_share_the_symbols_of_all_layers() {
        let config = SimulatedBlockConfig { symbols: 2 * 4001, ..config(4, 490, 20_000, 2) };
        assert_eq!(config.code.count, 3);
        let symbols: Vec<usize> =
            SimulatedBlock::new(&config).parts.iter().map(|part| part.symbols).collect();
        assert_eq!(symbols, [2666, 2668, 2668]);
    }

    #[test]
    fn fading_costs_what_theory_says() {
        // One gain per transmission: a block fails if its SNR is below what the code needs, to 0.1 dB.
        let block = SimulatedBlockConfig { fading: BlockFading::PerTransmission, ..config(2, 449, 1984, 1) };
        let outage = 1.0 - (-10.0_f64.powf(-0.99)).exp();
        let found = share(&block, 10.0, &[0], 600);
        assert!((found - outage).abs() < 0.04, "{found} {outage}");
        // One gain per symbol: a tenth of blocks of 2000 bits fails at -1.01 dB (independent implementation, 24
        // quantiles).
        let symbols = SimulatedBlockConfig { fading: BlockFading::PerSymbol, ..config(2, 308, 1984, 1) };
        let [below, above] = [-1.25, -0.77].map(|snr_db| share(&symbols, snr_db, &[0], 200));
        assert!(below > 0.15 && above < 0.1, "{below} {above}");
    }

    #[test]
    fn a_limited_buffer_gains_less_by_a_second_version() {
        let whole = config(6, 873, 3800, 1);
        let limited = SimulatedBlockConfig { buffer_bits: Some(whole.code.bits * 3 / 2), ..whole.clone() };
        // Versions 0 and 2 of the whole code word gain 8.3 dB on 17.3; of one and a half times the block about 7.3 dB.
        let [all, kept] = [&whole, &limited].map(|config| share(config, 17.3 - 7.9, &[0, 2], 60));
        assert!(all < 0.3 && kept > 0.7, "{all} {kept}");
    }
}
