//! Exact transport block sizes, and segmentation into code blocks: 3GPP TS 38.214 section 5.1.3.2, TS 38.212 sections
//! 5.2.2 and 7.2.

use crate::ldpc::BaseGraph;

/// Transport block sizes up to 3824 bits: table 5.1.3.2-1 of 38.214.
const SIZES: [u32; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208,
    224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640,
    672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352,
    1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824,
];

/// Code rate 1 in millionths of 1/1024.
const MILLIONTHS: u64 = 1024 * 1_000_000;

/// Resources of a transport block in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// Number of OFDM symbols of the shared channel.
    pub symbols: u32,
    /// Resource elements per resource block that demodulation reference signals (DM-RS) take.
    pub dmrs_re: u32,
    /// Resource elements per resource block that other overhead takes: 0, 6, 12 or 18.
    pub overhead_re: u32,
    /// Number of resource blocks.
    pub prbs: u32,
    /// Number of layers.
    pub layers: u32,
}

impl Allocation {
    /// Number of resource elements that carry coded bits, per layer.
    pub fn resource_elements(&self) -> u32 {
        (12 * self.symbols).saturating_sub(self.dmrs_re + self.overhead_re) * self.prbs
    }

    /// Number of resource elements by which the size is computed: at most 156 per resource block.
    fn counted_elements(&self) -> u32 {
        (12 * self.symbols).saturating_sub(self.dmrs_re + self.overhead_re).min(156) * self.prbs
    }

    /// Transport block size in bits for a modulation, a code rate in millionths of 1/1024, and a scaling of
    /// 2^-`scaling_log2` (for paging and random access); 0 without resources.
    ///
    /// The computation is in integers, so that no size depends on the rounding of fractions.
    pub fn transport_block_bits(&self, bits_per_symbol: u32, rate_millionths: u64, scaling_log2: u32) -> u32 {
        let elements = u64::from(self.counted_elements());
        // N_info is the quotient of these two.
        let numerator = elements * rate_millionths * u64::from(bits_per_symbol) * u64::from(self.layers);
        let denominator = MILLIONTHS << scaling_log2;
        // Division by this constant and a power of 2 compiles to multiplications.
        let over = |numerator: u64, log2: u32| (numerator >> (scaling_log2 + log2)) / MILLIONTHS;
        if numerator == 0 {
            return 0;
        }
        if numerator <= 3824 * denominator {
            let whole = over(numerator, 0).max(1);
            let n = whole.ilog2().saturating_sub(6).max(3);
            let quantised = (over(numerator, n) << n).max(24) as u32;
            return SIZES[SIZES.partition_point(|&size| size < quantised)];
        }
        let rest = numerator - 24 * denominator;
        let n = over(rest, 0).ilog2() - 5;
        // Rounded to the nearest multiple of 2^n, ties upwards.
        let multiple = over(2 * rest + (denominator << n), n + 1);
        let quantised = (multiple << n).max(3840);
        let blocks = if rate_millionths <= 256 * 1_000_000 {
            (quantised + 24).div_ceil(3816)
        } else if quantised > 8424 {
            (quantised + 24).div_ceil(8424)
        } else {
            1
        };
        (8 * blocks * (quantised + 24).div_ceil(8 * blocks) - 24) as u32
    }
}

/// Segmentation of a transport block into code blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeBlocks {
    /// Base graph of all code blocks.
    pub base_graph: BaseGraph,
    /// Number of code blocks.
    pub count: u32,
    /// Bits of each code block, all checksums included.
    pub bits: u32,
}

impl CodeBlocks {
    /// Code blocks of a transport block of `bits` at code rate `rate` (38.212 sections 6.2.2, 7.2.2 and 5.2.2).
    pub fn of(bits: u32, rate: f64) -> Self {
        let base_graph = BaseGraph::of_block(bits, rate);
        let with_checksum = bits + if bits > 3824 { 24 } else { 16 };
        let most = base_graph.most_bits();
        if with_checksum <= most {
            return Self { base_graph, count: 1, bits: with_checksum };
        }
        let count = with_checksum.div_ceil(most - 24);
        Self { base_graph, count, bits: (with_checksum + 24 * count).div_ceil(count) }
    }

    /// Error rate of the transport block if each code block fails with probability `each`.
    pub fn error_rate(&self, each: f64) -> f64 {
        if self.count == 1 { each } else { -libm::expm1(f64::from(self.count) * libm::log1p(-each)) }
    }
}

/// Bits of each of `code_blocks` code blocks that a receiver with a limited buffer keeps: the carrier's largest
/// transport block at a code rate of 2/3 (38.212 section 5.4.2.1, `N_ref`), for the largest number of layers (at most
/// four) and of bits per symbol.
pub fn limited_buffer_bits(
    carrier_prbs: u32,
    layers: u32,
    largest_bits_per_symbol: u32,
    code_blocks: u32,
) -> u32 {
    // Table 5.4.2.1-1: a carrier counts as the next larger of these numbers of resource blocks.
    const CARRIERS: [u32; 7] = [32, 66, 107, 135, 162, 217, 273];
    let prbs = CARRIERS.into_iter().find(|&prbs| carrier_prbs <= prbs).unwrap_or(273);
    // 156 resource elements per resource block, code rate 948/1024, at most four layers.
    let allocation = Allocation { symbols: 13, dmrs_re: 0, overhead_re: 0, prbs, layers: layers.min(4) };
    let largest = allocation.transport_block_bits(largest_bits_per_symbol, 948_000_000, 0);
    largest * 3 / (2 * code_blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcs::McsTable;

    /// Vectors that MATLAB computed for the tests of srsRAN Project.
    const GOLDEN: &str = include_str!("../../../tests/data/golden/nr/transport-blocks.csv");

    #[test]
    fn sizes_are_those_of_another_program() {
        let mut rows = 0;
        for line in GOLDEN.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let whole = |place: usize| fields[place].parse::<u32>().unwrap();
            let allocation = Allocation {
                symbols: whole(0),
                dmrs_re: whole(1),
                overhead_re: whole(2),
                prbs: whole(7),
                layers: whole(5),
            };
            let millionths = (fields[4].parse::<f64>().unwrap() * 1e6).round() as u64;
            assert_eq!(allocation.transport_block_bits(whole(3), millionths, whole(6)), whole(8), "{line}");
            rows += 1;
        }
        assert_eq!(rows, 96);
    }

    /// Sizes by MCS index for 12 symbols with 12 reference elements: resource blocks, layers, table, sizes.
    const LISTS: [(u32, u32, u32, &str); 4] = [
        (
            1,
            1,
            1,
            "24 40 48 64 72 96 112 128 152 168 168 192 224 256 288 320 336 336 368 408 432 480 528 552 608 640 672 704 736",
        ),
        (
            51,
            1,
            1,
            "1608 2088 2536 3368 4032 4992 5888 6912 7936 8968 8968 9992 11272 12808 14600 16136 17424 17424 18432 20496 22536 24072 26120 28168 30216 32264 34816 35856 36896",
        ),
        (
            106,
            2,
            2,
            "6536 10512 16896 24576 32776 40976 47112 53288 60456 67584 71688 75792 83976 92200 100392 108552 118896 127080 135296 143400 147576 155776 163976 176208 184424 192624 200808 208976",
        ),
        (
            273,
            4,
            2,
            "33816 54336 86040 127080 167976 213176 245976 278776 311368 344376 368872 393272 434280 475584 524640 557416 606504 655800 688776 737768 770568 803304 852696 901344 950984 999576 1032192 1081512",
        ),
    ];

    #[test]
    fn sizes_of_whole_tables() {
        for (prbs, layers, table, sizes) in LISTS {
            let allocation = Allocation { symbols: 12, dmrs_re: 12, overhead_re: 0, prbs, layers };
            let found = McsTable::numbered(table).unwrap().schemes().iter().map(|scheme| {
                let millionths = u64::from(scheme.rate_times_2048) * 500_000;
                allocation.transport_block_bits(scheme.bits_per_symbol, millionths, 0)
            });
            let expected: Vec<u32> = sizes.split(' ').map(|size| size.parse().unwrap()).collect();
            assert_eq!(found.collect::<Vec<u32>>(), expected, "{prbs} {layers} {table}");
        }
    }

    #[test]
    fn sizes_are_whole_code_blocks() {
        // Every size above 3824 divides into equal code blocks of whole bytes, the purpose of step 4.
        for prbs in 1..=273 {
            for scheme in McsTable::numbered(2).unwrap().schemes() {
                let allocation = Allocation { symbols: 13, dmrs_re: 12, overhead_re: 6, prbs, layers: 3 };
                let millionths = u64::from(scheme.rate_times_2048) * 500_000;
                let bits = allocation.transport_block_bits(scheme.bits_per_symbol, millionths, 0);
                let blocks = CodeBlocks::of(bits, scheme.rate());
                if bits > 3824 {
                    assert_eq!((bits + 24) % (8 * blocks.count), 0, "{bits}");
                    let with_own = blocks.bits * blocks.count;
                    assert_eq!(with_own, bits + 24 + if blocks.count > 1 { 24 * blocks.count } else { 0 });
                }
                assert!(blocks.bits <= blocks.base_graph.most_bits());
            }
        }
        assert_eq!(
            Allocation { symbols: 0, dmrs_re: 12, overhead_re: 0, prbs: 5, layers: 1 }.transport_block_bits(
                2,
                120_000_000,
                0
            ),
            0
        );
    }

    #[test]
    fn buffers_are_limited_as_the_carrier_says() {
        // 273 resource blocks, 4 layers, 256-QAM: the receiver keeps the largest transport block, 1277992 bits in 152
        // code blocks, at a code rate of 2/3.
        assert_eq!(limited_buffer_bits(273, 4, 8, 1), 1_277_992 * 3 / 2);
        let of_largest = limited_buffer_bits(273, 4, 8, CodeBlocks::of(1_277_992, 948.0 / 1024.0).count);
        let bits = CodeBlocks::of(1_277_992, 948.0 / 1024.0).bits;
        assert!((f64::from(bits) / f64::from(of_largest) - 2.0 / 3.0).abs() < 0.003, "{of_largest}");
        // A carrier counts as the largest of its class; layers above four do not count.
        assert_eq!(limited_buffer_bits(106, 2, 8, 3), limited_buffer_bits(107, 2, 8, 3));
        assert_eq!(limited_buffer_bits(108, 2, 8, 3), limited_buffer_bits(135, 2, 8, 3));
        assert_eq!(limited_buffer_bits(24, 1, 6, 1), limited_buffer_bits(32, 1, 6, 1));
        assert_eq!(limited_buffer_bits(273, 8, 6, 7), limited_buffer_bits(273, 4, 6, 7));
        // Half of the largest block: a mother rate of 1/3, which base graph 1 has anyhow (38.212; derived by hand).
        let half = CodeBlocks::of(1_277_992 / 2, 0.46);
        let kept = limited_buffer_bits(273, 4, 8, half.count);
        assert!((f64::from(half.bits) / f64::from(kept) - 1.0 / 3.0).abs() < 0.003);
    }

    #[test]
    fn a_block_fails_with_any_of_its_code_blocks() {
        // An error rate of 10 % of a transport block with 10 code blocks is 1.05 % per code block.
        let blocks = CodeBlocks::of(10 * 8424 - 24, 0.5);
        assert_eq!(blocks.count, 10);
        assert!((blocks.error_rate(0.010481) - 0.1).abs() < 1e-5);
        assert_eq!(
            CodeBlocks::of(3824, 0.5),
            CodeBlocks { base_graph: BaseGraph::Two, count: 1, bits: 3840 }
        );
        assert_eq!(
            CodeBlocks::of(3840, 0.2),
            CodeBlocks { base_graph: BaseGraph::Two, count: 2, bits: 1956 }
        );
        assert_eq!(CodeBlocks::of(292, 0.9).base_graph, BaseGraph::Two);
        assert_eq!(CodeBlocks::of(304, 0.68).base_graph, BaseGraph::One);
    }
}
