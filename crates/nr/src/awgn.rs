//! Simulation of code blocks over white Gaussian noise, by which error curves are measured.

use crate::ldpc::{BaseGraph, Schedule};
use crate::mcs::CodedModulation;
use crate::simulated_block::{BlockFading, SimulatedBlock, SimulatedBlockConfig};
use crate::transport_block::CodeBlocks;
use crossfade_core::{RunSeed, Stream};

/// Combining of the copies of a block in hybrid ARQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combining {
    /// Chase combining: every copy has the same bits, whose energies add up.
    Chase,
    /// Incremental redundancy: copies have other bits of the code word, redundancy versions 0, 2, 3, 1 in turn.
    IncrementalRedundancy,
}

impl Combining {
    /// Redundancy version of copy number `copy`, counted from 0.
    pub fn version(self, copy: u32) -> u32 {
        match self {
            Self::Chase => 0,
            Self::IncrementalRedundancy => [0, 2, 3, 1][copy as usize % 4],
        }
    }
}

/// Simulator of a code block over white Gaussian noise.
pub struct Awgn {
    block: SimulatedBlock,
    combining: Combining,
}

impl Awgn {
    /// Block of `bits`, checksums included, on the fewest symbols at which the code rate is not above that of the
    /// scheme. The base graph is that of a transport block of this size.
    pub fn new(scheme: CodedModulation, bits: u32, combining: Combining, decoder: (Schedule, u32)) -> Self {
        let symbols = (f64::from(bits) / scheme.efficiency()).ceil() as u32;
        Self::on_symbols(symbols, scheme, bits, combining, decoder)
    }

    fn on_symbols(
        symbols: u32,
        scheme: CodedModulation,
        bits: u32,
        combining: Combining,
        decoder: (Schedule, u32),
    ) -> Self {
        let code = CodeBlocks { base_graph: BaseGraph::of_block(bits, scheme.rate()), count: 1, bits };
        let fading = BlockFading::None;
        let config =
            SimulatedBlockConfig { scheme, code, symbols, layers: 1, buffer_bits: None, fading, decoder };
        Self { block: SimulatedBlock::new(&config), combining }
    }

    /// Number of failures among `blocks` random blocks, each sent `copies` times at Es/N0 = `snr_db`; bits and noise
    /// are drawn from `stream`.
    pub fn errors(&mut self, snr_db: f64, copies: u32, blocks: u32, stream: &mut Stream) -> u32 {
        let mut fails = || {
            self.block.renew(stream);
            for copy in 0..copies {
                self.block.send(self.combining.version(copy), snr_db, stream);
            }
            !self.block.decode(snr_db)
        };
        (0..blocks).map(|_| u32::from(fails())).sum()
    }
}

/// Random stream with this seed and name, of run 0.
pub fn stream(seed: u64, name: &str) -> Stream {
    RunSeed { seed, run: 0 }.stream(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::testing::long_or;

    const LAYERED: (Schedule, u32) = (Schedule::Layered, 20);
    const FLOODING: (Schedule, u32) = (Schedule::Flooding, 20);

    fn scheme(bits_per_symbol: u32, rate_times_1024: f64) -> CodedModulation {
        CodedModulation { bits_per_symbol, rate_times_2048: (2.0 * rate_times_1024) as u32 }
    }

    /// Block error rates that Sionna 1.2 stores (`phy/nr` tables, flooding with 20 iterations, perfect channel
    /// knowledge): bits per symbol, 1024 R, block bits, Es/N0 in dB, and error rate.
    const STORED: [(u32, f64, u32, f64, f64); 9] = [
        (2, 308.0, 500, -1.842, 0.399),
        (2, 308.0, 1000, -1.842, 0.357),
        (2, 308.0, 2000, -1.842, 0.390),
        (2, 308.0, 500, -1.429, 0.089),
        (6, 517.0, 1000, 10.789, 0.111),
        (6, 517.0, 2000, 10.789, 0.066),
        (6, 666.0, 1000, 13.947, 0.043),
        (8, 711.0, 2000, 18.684, 0.479),
        (8, 841.0, 2000, 21.842, 0.348),
    ];
    const BLOCKS: u32 = 400;

    /// The usual form takes each fourth point, with as many blocks as the long form.
    #[test]
    fn flooding_gives_the_points_of_another_program() {
        let mut stream = stream(1, "flooding");
        for (bits, rate, block, snr_db, stored) in STORED.into_iter().step_by(long_or(1, 4)) {
            let mut awgn = Awgn::new(scheme(bits, rate), block, Combining::Chase, FLOODING);
            let found = f64::from(awgn.errors(snr_db, 1, BLOCKS, &mut stream)) / f64::from(BLOCKS);
            // The reference has some hundred to a thousand blocks as well: 95 % interval of the difference.
            let error = (stored * (1.0 - stored) / f64::from(BLOCKS) * 2.0).sqrt();
            println!("{bits} {rate} {block} {snr_db}: {found:.3} {stored} {:+.1}", (found - stored) / error);
            assert!((found - stored).abs() < 1.96 * error, "{bits} {rate} {block}: {found} for {stored}");
        }
    }

    /// Bits per symbol, 1024 R, and Es/N0 in dB at an error rate of 0.1 for 320 and for 2000 bits, by an independent
    /// implementation with layered decoding of 20 iterations, on the nearest number of symbols (one more symbol is 0.36
    /// dB less in the last row).
    const LAYERED_AT_A_TENTH: [(u32, f64, f64, f64); 6] = [
        (2, 120.0, -6.19, -6.45),
        (2, 449.0, 0.57, 0.09),
        (4, 490.0, 6.19, 5.74),
        (6, 666.0, 13.80, 13.31),
        (6, 873.0, 17.87, 17.36),
        (8, 797.0, 21.63, 20.94),
    ];

    /// The usual form takes each second scheme with one of the two sizes, and as many blocks as the long form.
    #[test]
    fn layered_needs_what_another_implementation_needs() {
        let mut stream = stream(2, "layered");
        for (row, (bits, rate, of_320, of_2000)) in
            LAYERED_AT_A_TENTH.into_iter().enumerate().step_by(long_or(1, 2))
        {
            let sizes = [(320, of_320), (2000, of_2000)];
            for &(block, reference) in long_or(&sizes[..], &sizes[row / 2 % 2..][..1]) {
                let scheme = scheme(bits, rate);
                let symbols = (f64::from(block) / scheme.efficiency()).round() as u32;
                let mut awgn = Awgn::on_symbols(symbols, scheme, block, Combining::Chase, LAYERED);
                // Log-linear between 0.15 dB below and above. Standard errors of the reference: 0.06 and 0.04 dB.
                let blocks = if block == 320 { 2 * BLOCKS } else { BLOCKS };
                let mut share = |snr_db: f64| {
                    f64::from(awgn.errors(snr_db, 1, blocks, &mut stream)).max(0.5) / f64::from(blocks)
                };
                let logs = [reference - 0.15, reference + 0.15].map(|snr_db| share(snr_db).log10());
                let found = reference - 0.15 + 0.3 * (logs[0] + 1.0) / (logs[0] - logs[1]);
                println!("{bits} {rate} {block}: {found:.2} dB, {reference}");
                let allowed = if block == 320 { 0.2 } else { 0.1 };
                assert!(
                    (found - reference).abs() < allowed,
                    "{bits} {rate} {block}: {found} for {reference}"
                );
            }
        }
    }

    #[test]
    fn copies_gain_what_theory_says() {
        let mut stream = stream(3, "copies");
        let mut share = |combining, snr_db: f64, copies| {
            let mut awgn = Awgn::new(scheme(4, 490.0), 1000, combining, LAYERED);
            f64::from(awgn.errors(snr_db, copies, BLOCKS, &mut stream)) / f64::from(BLOCKS)
        };
        // A tenth fails at 5.85 dB. Two copies gain 3.0 dB by chase combining and 4.4 dB by incremental redundancy
        // (simulated independently, 2000 bits). At 3.9 dB below, a single copy is never decoded, two copies with chase
        // combining hardly ever, two with incremental redundancy usually.
        let at = 5.85 - 3.9;
        let [chase, redundancy] =
            [Combining::Chase, Combining::IncrementalRedundancy].map(|combining| share(combining, at, 2));
        assert!(redundancy < 0.1 && chase > 0.5, "{redundancy} {chase}");
        assert_eq!(share(Combining::Chase, at, 1), 1.0);
        // Four copies of incremental redundancy gain 8.0 dB; chase gains 6.0 dB.
        assert!(share(Combining::IncrementalRedundancy, 5.85 - 7.0, 4) < 0.1);
        assert!(share(Combining::Chase, 5.85 - 7.0, 4) > 0.5);
    }
}
