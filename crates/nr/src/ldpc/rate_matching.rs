//! Rate matching of LDPC codes: bits of a code word in a transmission (3GPP TS 38.212 section 5.4.2).

use super::code::Code;

/// Rate matching of a code block: circular buffer and bit interleaver.
#[derive(Clone, Debug)]
pub struct RateMatching {
    /// Position in the code word of each bit of the buffer, without fillers; `starts` has the buffer index of each
    /// redundancy version.
    buffer: Vec<u32>,
    starts: [usize; 4],
    /// Number of bits of a transmission, a multiple of `bits_per_symbol`.
    sent: usize,
    bits_per_symbol: usize,
}

impl RateMatching {
    /// Rate matching of a code with `sent` bits per transmission, a multiple of `bits_per_symbol`. With `limit`, the
    /// receiver keeps no more bits (limited-buffer rate matching).
    pub fn new(code: &Code, sent: usize, bits_per_symbol: usize, limit: Option<usize>) -> Self {
        let z = code.lifting();
        let length = (code.word() - 2 * z).min(limit.unwrap_or(usize::MAX));
        let is_filler = |place: &usize| (code.bits()..code.information()).contains(place);
        let buffer: Vec<u32> =
            (2 * z..2 * z + length).filter(|place| !is_filler(place)).map(|place| place as u32).collect();
        let starts = std::array::from_fn(|version| {
            let start = code.graph().buffer_start(version as u32, length as u32, z as u32) as usize + 2 * z;
            buffer.partition_point(|place| (*place as usize) < start)
        });
        Self { buffer, starts, sent, bits_per_symbol }
    }

    /// Positions in the code word of the bits of redundancy version `version`, symbol by symbol.
    pub fn places(&self, version: u32) -> impl Iterator<Item = usize> + '_ {
        let (start, columns) = (self.starts[version as usize & 3], self.sent / self.bits_per_symbol);
        // Interleaver: written row by row, with a row for each bit of a symbol, and read column by column.
        (0..self.sent).map(move |i| {
            let selected = i % self.bits_per_symbol * columns + i / self.bits_per_symbol;
            self.buffer[(start + selected) % self.buffer.len()] as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::base_graph::BaseGraph;
    use super::*;

    #[test]
    fn a_transmission_begins_at_its_version_and_leaves_out_fillers() {
        // 20 bits in 6 columns of 4: of the 40 information bits, 16 to 23 are fillers, as are all of bits 20 to 39.
        let code = Code::new(BaseGraph::Two, 20);
        assert_eq!((code.lifting(), code.information(), code.word()), (4, 40, 208));
        let matching = RateMatching::new(&code, 24, 2, None);
        let mut places: Vec<usize> = matching.places(0).collect();
        // Systematic bits first, in the first bit of every symbol.
        assert_eq!(places.iter().step_by(2).copied().collect::<Vec<_>>(), (8..20).collect::<Vec<_>>());
        places.sort_unstable();
        assert_eq!(places, (8..20).chain(40..52).collect::<Vec<_>>());
        let third: Vec<usize> = matching.places(3).step_by(2).collect();
        assert_eq!(third, (8 + 43 * 4..8 + 43 * 4 + 12).collect::<Vec<_>>());
    }

    /// The four redundancy versions begin where table 5.4.2.1-2 of TS 38.212 says, with a whole and with a limited buffer.
    #[test]
    fn redundancy_versions_begin_as_in_the_standard() {
        for (graph, bits, starts, limited, limited_starts) in [
            (BaseGraph::One, 8448, [0, 17, 33, 56], 40, [0, 10, 20, 33]),
            (BaseGraph::Two, 2560, [0, 13, 25, 43], 30, [0, 7, 15, 25]),
        ] {
            let code = Code::new(graph, bits);
            let z = code.lifting();
            for (limit, starts) in [(None, starts), (Some(limited * z), limited_starts)] {
                let matching = RateMatching::new(&code, 120, 2, limit);
                for (version, start) in (0..).zip(starts) {
                    assert_eq!(
                        matching.places(version).next(),
                        Some((2 + start) * z),
                        "{graph:?}, {version}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_limited_buffer_wraps_around() {
        let code = Code::new(BaseGraph::Two, 40);
        let z = code.lifting();
        let matching = RateMatching::new(&code, 200, 4, Some(20 * z));
        let mut count = vec![0_usize; code.word()];
        matching.places(0).for_each(|place| count[place] += 1);
        assert!(count[22 * z..].iter().all(|&times| times == 0));
        let kept = 20 * z - (code.information() - code.bits());
        assert_eq!(count.iter().sum::<usize>(), 200);
        assert_eq!(count.iter().copied().max(), Some(200_usize.div_ceil(kept)));
    }
}
