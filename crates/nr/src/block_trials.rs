//! Bit-level simulation of transport blocks of a cell: error rates after each copy, without a protocol.

use crate::config::{NrConfig, out_of_range};
use crate::error_rates::ErrorRates;
use crate::harq::Block;
use crate::ldpc::Schedule;
use crate::mcs::CodedModulation;
use crate::simulated_block::{BlockFading, SimulatedBlock, SimulatedBlockConfig};
use crate::transport_block::{Allocation, CodeBlocks};
use crossfade_cell::CellError;
use crossfade_channel::{DelayProfile, FrequencyResponse, PredictedFading, simd::Simd};
use crossfade_core::RunSeed;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

/// Largest transport block in bits: 273 resource blocks, four layers, 256-QAM.
const MOST_BITS: u32 = 1_277_992;

/// Transport block of a cell to simulate bit by bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockConfig {
    /// Modulation and code rate.
    pub scheme: CodedModulation,
    /// Size of the transport block.
    pub size: BlockSize,
    /// Channel of the copies of the block.
    pub channel: BlockChannel,
    /// Schedule of the LDPC decoder, and its maximum number of iterations.
    pub decoder: (Schedule, u32),
}

/// Size of a simulated transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// Number of bits without checksum, on as many symbols as the code rate needs.
    Bits(u32),
    /// Size by a number of resource blocks of a slot (38.214 section 5.1.3.2).
    ResourceBlocks(u32),
}

/// Channel of the copies of a simulated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockChannel {
    /// Power delay profile of the cell, each copy in its slot of hybrid ARQ; only noise in a cell without a profile.
    Cell,
    /// One Rayleigh gain per copy.
    Flat,
    /// One Rayleigh gain per symbol.
    Interleaved,
}

/// Layout of a transport block: bits, code blocks, symbols and resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    /// Bits of the transport block without checksum.
    pub bits: u32,
    /// Code blocks of the transport block.
    pub code: CodeBlocks,
    /// Number of symbols of a copy, over all layers.
    pub symbols: u32,
    /// Number of resource blocks of a copy.
    pub prbs: u32,
}

impl BlockConfig {
    /// Layout of the block in a slot of `cell` with the most data symbols.
    pub fn layout(&self, cell: &NrConfig) -> BlockLayout {
        let NrConfig { dmrs_re, overhead_re, layers, .. } = *cell;
        let on = |prbs| Allocation { symbols: widest_slot(cell).1, dmrs_re, overhead_re, prbs, layers };
        match self.size {
            BlockSize::ResourceBlocks(prbs) => {
                let allocation = on(prbs);
                let millionths = u64::from(self.scheme.rate_times_2048) * 500_000;
                let bits = allocation.transport_block_bits(self.scheme.bits_per_symbol, millionths, 0);
                let code = CodeBlocks::of(bits, self.scheme.rate());
                BlockLayout { bits, code, symbols: allocation.resource_elements() * layers, prbs }
            }
            BlockSize::Bits(bits) => {
                let code = CodeBlocks::of(bits, self.scheme.rate());
                let each_layer =
                    f64::from(code.bits * code.count) / self.scheme.efficiency() / f64::from(layers);
                let elements = each_layer.ceil() as u32;
                let prbs = elements.div_ceil(on(1).resource_elements().max(1)).clamp(1, cell.prbs);
                BlockLayout { bits, code, symbols: elements * layers, prbs }
            }
        }
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// If the size or the number of iterations is outside its range.
    pub fn check(&self, cell: &NrConfig) -> Result<(), CellError> {
        match self.size {
            BlockSize::Bits(bits) if !(24..=MOST_BITS).contains(&bits) || !bits.is_multiple_of(8) => {
                out_of_range("block.bits", bits, format!("a multiple of 8 from 24 to {MOST_BITS}"))
            }
            BlockSize::ResourceBlocks(prbs) if !(1..=cell.prbs).contains(&prbs) => {
                let allowed = format!("between 1 and {}, the resource blocks of the carrier", cell.prbs);
                out_of_range("block.prbs", prbs, allowed)
            }
            _ if !(1..=200).contains(&self.decoder.1) => {
                out_of_range("block.iterations", self.decoder.1, "between 1 and 200")
            }
            _ => Ok(()),
        }
    }

    /// Error rates after 1, 2, ... copies by the error model of the cell, over a constant channel with the first user's
    /// SNR.
    pub fn expected(&self, cell: &NrConfig) -> Vec<f64> {
        let layout = self.layout(cell);
        let mut rates = ErrorRates::of_config(cell);
        let mut block = Block::new(0, 0, layout.code, layout.prbs, (0, u64::from(layout.bits / 8)), 0.0);
        let snr_db = cell.users[0].mean_snr_db;
        let mut after_copy = || {
            let symbols = f64::from(layout.symbols);
            block.receive_copy(self.scheme, symbols, snr_db, cell.harq.combining, &mut rates);
            block.error_rate
        };
        (0..cell.harq.transmissions).map(|_| after_copy()).collect()
    }
}

/// First slot with the most data symbols, and their number.
fn widest_slot(cell: &NrConfig) -> (u64, u32) {
    let slots = (0..cell.duplex.period()).map(|slot| (slot, cell.data_symbols(slot)));
    slots.reduce(|most, other| if other.1 > most.1 { other } else { most }).unwrap_or((0, 0))
}

/// Numbers of simulated and of failed blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Number of blocks.
    pub blocks: u64,
    /// Number of blocks that were not decoded after 1, 2, ... copies.
    pub failed: Vec<u64>,
}

impl BlockCounts {
    /// Number of copies of all blocks, each sent until it was decoded or the limit was reached.
    pub fn copies(&self) -> u64 {
        // After its last copy a block is not sent any more, decoded or not.
        self.blocks + self.failed.iter().rev().skip(1).sum::<u64>()
    }
}

impl AddAssign<&Self> for BlockCounts {
    fn add_assign(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.failed.resize(self.failed.len().max(other.failed.len()), 0);
        for (sum, failed) in self.failed.iter_mut().zip(&other.failed) {
            *sum += failed;
        }
    }
}

/// Frequency-selective channel of the copies of a block.
struct Selective {
    profile: DelayProfile,
    response: Arc<FrequencyResponse>,
    fd_t: f64,
    group_prbs: u32,
    simd: Simd,
}

/// Simulator of transport blocks of a cell. Each block is a function of the seed and its number: bits and noise come
/// from the stream `phy.nr.N`, the channel from `channel.nr.block.N`, independent of the SNR.
pub struct BlockTrials {
    block: SimulatedBlock,
    snr_db: f64,
    /// Slot and redundancy version of each copy.
    copies: Vec<(u64, u32)>,
    prbs: u32,
    selective: Option<Selective>,
    seed: RunSeed,
}

impl BlockTrials {
    /// Simulator with the SNR and the speed of the first user of `cell`.
    ///
    /// # Errors
    /// If the size or the decoder of the block is invalid.
    pub fn new(cell: &NrConfig, block: &BlockConfig, seed: RunSeed) -> Result<Self, CellError> {
        block.check(cell)?;
        let BlockLayout { code, symbols, prbs, .. } = block.layout(cell);
        let simd = Simd::chosen()?;
        let fading = match block.channel {
            BlockChannel::Cell => BlockFading::None,
            BlockChannel::Flat => BlockFading::PerTransmission,
            BlockChannel::Interleaved => BlockFading::PerSymbol,
        };
        let profile = cell.profile.as_ref().filter(|_| block.channel == BlockChannel::Cell);
        let selective = profile.map(|profile| {
            let group_prbs = cell.group_prbs.min(prbs);
            let width_hz = cell.numerology.block_hz() * f64::from(group_prbs);
            let groups = prbs.div_ceil(group_prbs) as usize;
            let response = Arc::new(FrequencyResponse::new(profile, groups, width_hz, simd));
            Selective { profile: profile.clone(), response, fd_t: cell.users[0].fd_t, group_prbs, simd }
        });
        let slots = std::iter::successors(Some(widest_slot(cell).0), |slot| Some(cell.again(*slot)));
        let versions = (0..cell.harq.transmissions).map(|copy| cell.harq.combining.version(copy));
        let simulated = SimulatedBlockConfig {
            scheme: block.scheme,
            code,
            symbols,
            layers: cell.layers,
            buffer_bits: cell.buffer_bits(code),
            fading,
            decoder: block.decoder,
        };
        Ok(Self {
            block: SimulatedBlock::new(&simulated),
            snr_db: cell.users[0].mean_snr_db - cell.implementation_loss_db,
            copies: slots.zip(versions).collect(),
            prbs,
            selective,
            seed,
        })
    }

    /// Simulates the blocks with these numbers.
    ///
    /// # Errors
    /// If no fading channel can be made for the Doppler shift.
    pub fn count(&mut self, numbers: Range<u64>) -> Result<BlockCounts, CellError> {
        let mut failed = vec![0; self.copies.len()];
        let blocks = numbers.end.saturating_sub(numbers.start);
        for number in numbers {
            let lasted = self.one(number)?;
            failed[..lasted].iter_mut().for_each(|failed| *failed += 1);
        }
        Ok(BlockCounts { blocks, failed })
    }

    /// Number of copies after which the block was not yet decoded.
    fn one(&mut self, number: u64) -> Result<usize, CellError> {
        let Self { block, snr_db, copies, prbs, selective, seed } = self;
        let mut stream = seed.stream(&format!("phy.nr.{number}"));
        let mut channel = selective.as_ref().map(|selective| selective.channel(number, *seed)).transpose()?;
        block.renew(&mut stream);
        for (failed, &(slot, version)) in copies.iter().enumerate() {
            match (&mut channel, &*selective) {
                (Some(fading), Some(selective)) => {
                    let gains = selective.gains(fading, slot, *prbs);
                    block.send_over(&gains, version, *snr_db, &mut stream);
                }
                _ => block.send(version, *snr_db, &mut stream),
            }
            if block.decode(*snr_db) {
                return Ok(failed);
            }
        }
        Ok(copies.len())
    }
}

impl Selective {
    /// Fading channel of a block.
    fn channel(&self, number: u64, seed: RunSeed) -> Result<PredictedFading, CellError> {
        let streams = [
            seed.stream(&format!("channel.nr.block.{number}")),
            seed.stream(&format!("prediction.nr.block.{number}")),
        ];
        let response = Arc::clone(&self.response);
        Ok(PredictedFading::new(&self.profile, response, self.fd_t, 0.0, streams, self.simd)?)
    }

    /// Power gains of the block's resource blocks in a slot.
    fn gains(&self, fading: &mut PredictedFading, slot: u64, prbs: u32) -> Vec<f64> {
        fading.go(slot);
        let mut powers = vec![0.0; self.response.padded()];
        fading.predicted_powers(&mut powers);
        (0..prbs).map(|prb| f64::from(powers[(prb / self.group_prbs) as usize])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awgn::Combining;
    use crate::cell_tests::{SEED, config};
    use crate::config::HarqConfig;
    use crate::ldpc::BaseGraph;
    use crate::mcs::McsTable;
    use crossfade_channel::NamedProfile;
    use crossfade_core::testing::long_or;

    fn block(index: usize, size: BlockSize) -> BlockConfig {
        BlockConfig {
            scheme: McsTable::numbered(2).unwrap().schemes()[index],
            size,
            channel: BlockChannel::Cell,
            decoder: (Schedule::Layered, 20),
        }
    }

    /// Cell with one layer.
    fn cell(snr_db: f64, transmissions: u32) -> NrConfig {
        let usual = config(snr_db);
        NrConfig { layers: 1, harq: HarqConfig { transmissions, ..usual.harq }, ..usual }
    }

    fn share(cell: &NrConfig, block: &BlockConfig, blocks: u64) -> Vec<f64> {
        let counts = BlockTrials::new(cell, block, SEED).unwrap().count(0..blocks).unwrap();
        counts.failed.iter().map(|failed| *failed as f64 / blocks as f64).collect()
    }

    #[test]
    fn blocks_lie_as_the_tables_of_another_program_say() {
        // 106 resource blocks, 2 layers, 12 symbols with 12 reference elements, MCS 13 of table 2: 92200 bits.
        let whole = block(12, BlockSize::ResourceBlocks(106)).layout(&config(0.0));
        assert_eq!((whole.bits, whole.symbols, whole.prbs), (83_976, 2 * 106 * 132, 106));
        assert_eq!(block(13, BlockSize::ResourceBlocks(106)).layout(&config(0.0)).bits, 92_200);
        // 1984 bits with 16 of checksum at 4 x 490/1024 on two layers: 1045 symbols, of 132 a resource block and layer.
        let given = block(7, BlockSize::Bits(1984)).layout(&config(0.0));
        assert_eq!((given.code.bits, given.code.base_graph), (2000, BaseGraph::Two));
        assert_eq!((given.symbols, given.prbs), (1046, 4));
    }

    /// Error rates equal those of an independent implementation: MCS of table 2, 2000 bits with checksum, Es/N0 in dB
    /// at an error rate of 0.1, layered decoding with 20 iterations (standard error 0.04 dB). The usual form leaves out MCS 7,
    /// which the test of copies has.
    #[test]
    fn error_rates_are_those_of_another_implementation() {
        for (index, tenth_db) in [(3, 0.09), (7, 5.74), (13, 11.37)].into_iter().step_by(long_or(1, 2)) {
            let [below, above] = [-0.15, 0.15]
                .map(|off| share(&cell(tenth_db + off, 1), &block(index, BlockSize::Bits(1984)), 400)[0]);
            let logs = [below, above].map(|share| share.max(1e-3).log10());
            let found = -0.15 + 0.3 * (logs[0] + 1.0) / (logs[0] - logs[1]);
            println!("{index}: {:.2} dB for {tenth_db}", tenth_db + found);
            assert!(found.abs() < 0.1, "{index}: {found:+.3} dB off");
        }
    }

    /// Copies gain as in an independent implementation, at an error rate of 0.1 with 2000 bits: 4.4, 6.4 and 8.0 dB by
    /// incremental redundancy at 4 x 490/1024, and 3.01 dB by two copies of the same symbols. A gain that is 0.4 dB off
    /// always fails, with 150 blocks as with the 50 of the usual form.
    #[test]
    fn copies_gain_what_another_implementation_found() {
        let (block, tenth_db) = (block(7, BlockSize::Bits(1984)), 5.74);
        let blocks = long_or(150, 50);
        for (copies, gain_db) in [(2, 4.4), (3, 6.4), (4, 8.0)] {
            let [below, above] = [-0.3, 0.3]
                .map(|off| *share(&cell(tenth_db - gain_db + off, copies), &block, blocks).last().unwrap());
            assert!(below > 0.1 && above < 0.1, "{copies}: {below} {above}");
        }
        let chase = |snr_db| {
            let usual = cell(snr_db, 2);
            let harq = HarqConfig { combining: Combining::Chase, ..usual.harq };
            share(&NrConfig { harq, ..usual }, &block, blocks)[1]
        };
        let [below, above] = [-0.25, 0.25].map(|off| chase(tenth_db - 3.01 + off));
        assert!(below > 0.1 && above < 0.1, "{below} {above}");
    }

    #[test]
    fn the_model_expects_what_is_simulated() {
        // Most schemes are known to 0.15 dB; curves fall by 3.2 decades per dB.
        let block = block(7, BlockSize::Bits(1984));
        let [low, high] = [5.74 - 0.15, 5.74 + 0.15].map(|snr_db| block.expected(&cell(snr_db, 4))[0]);
        assert!(high < 0.1 && low > 0.1, "{low} {high}");
        let rates = block.expected(&cell(1.0, 4));
        assert!(
            rates.windows(2).all(|pair| pair[1] <= pair[0]) && rates[0] > 0.99 && rates[3] < 1e-3,
            "{rates:?}"
        );
    }

    /// A flat channel without Doppler fails if its single gain is too small: 10 dB above the SNR at which a tenth fails
    /// over noise, about 1 - exp(-1/10) of the blocks; two copies of equal gain add their energy: 1 - exp(-1/20).
    #[test]
    fn fading_is_as_wide_and_as_fast_as_the_profile_says() {
        let flat = DelayProfile::new(&[0.0], &[0.0]).unwrap();
        let block = block(3, BlockSize::Bits(1984));
        let mut still = NrConfig { profile: Some(flat), ..cell(10.09, 2) };
        still.harq.combining = Combining::Chase;
        let blocks = 1000;
        let of_still = share(&still, &block, blocks);
        let outage = |ratio: f64| 1.0 - (-ratio).exp();
        // Three standard errors of a tenth of a thousand are 0.028.
        assert!((of_still[0] - outage(0.1)).abs() < 0.03, "{of_still:?}");
        assert!((of_still[1] - outage(0.05)).abs() < 0.025, "{of_still:?}");
        // Half a turn of the phase between copies makes their gains nearly independent: the sum of two exponential
        // gains is below x with probability 1 - (1 + x) exp(-x).
        still.users[0].fd_t = 0.38;
        let of_fast = share(&still, &block, blocks);
        let both = 1.0 - 1.1 * (-0.1_f64).exp();
        assert!((of_fast[1] - both).abs() < 0.012, "{of_fast:?} {both}");
        // Over many resource blocks fades average out.
        let named = DelayProfile::named(NamedProfile::TdlC(1e-6)).unwrap();
        let wide = NrConfig { profile: Some(named), group_prbs: 1, ..cell(10.09, 1) };
        let of_wide = share(&wide, &BlockConfig { size: BlockSize::ResourceBlocks(106), ..block }, 60)[0];
        assert!(of_wide < outage(0.1) / 2.0, "{of_wide}");
    }

    #[test]
    fn a_block_depends_on_seed_and_number_alone() {
        let (cell, block) = (cell(0.1, 3), block(3, BlockSize::Bits(320)));
        let mut whole = BlockTrials::new(&cell, &block, SEED).unwrap();
        let all = whole.count(0..40).unwrap();
        let mut parts = BlockTrials::new(&cell, &block, SEED).unwrap().count(25..40).unwrap();
        parts += &BlockTrials::new(&cell, &block, SEED).unwrap().count(0..25).unwrap();
        assert_eq!(all, parts);
        assert_eq!((all.blocks, all.copies()), (40, 40 + all.failed[0] + all.failed[1]));
        assert!(all.failed[0] > all.failed[2], "{all:?}");
    }

    #[test]
    fn blocks_that_cannot_be_are_refused() {
        let cell = cell(0.0, 1);
        let said = |size| block(3, size).check(&cell).unwrap_err().to_string();
        assert!(said(BlockSize::Bits(25)).contains("block.bits = 25"), "{}", said(BlockSize::Bits(25)));
        let prbs = said(BlockSize::ResourceBlocks(107));
        assert!(prbs.contains("between 1 and 106"), "{prbs}");
    }
}
