//! Base graphs of NR's LDPC codes (3GPP TS 38.212 section 5.3.2).

use std::sync::OnceLock;

/// Tables 5.3.2-2 and 5.3.2-3 of 38.212: row and column of each 1 entry, and its shift for each set of lifting sizes.
const TABLES: [&str; 2] = [include_str!("base-graph-1.csv"), include_str!("base-graph-2.csv")];
/// Factor of each set of lifting sizes; a set has this factor times powers of 2, up to 384 (table 5.3.2-1).
const SETS: [u32; 8] = [2, 3, 5, 7, 9, 11, 13, 15];
/// Largest lifting size.
const LARGEST_LIFTING: u32 = 384;

/// Base graph of an LDPC code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BaseGraph {
    /// 46 rows and 68 columns: large blocks and high rates.
    One,
    /// 42 rows and 52 columns: small blocks and low rates.
    Two,
}

/// Entry of value 1 of a base graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Row of the entry (check node).
    pub row: u32,
    /// Column of the entry (variable node).
    pub column: u32,
    /// Shift for each set of lifting sizes.
    shifts: [u32; 8],
}

impl BaseGraph {
    /// Base graph for a transport block of `bits` without checksum at code rate `rate` (38.212 section 7.2.2).
    pub fn of_block(bits: u32, rate: f64) -> Self {
        if bits <= 292 || (bits <= 3824 && rate <= 0.67) || rate <= 0.25 { Self::Two } else { Self::One }
    }

    /// Numbers of rows, of columns, and of information columns.
    pub fn size(self) -> (u32, u32, u32) {
        match self {
            Self::One => (46, 68, 22),
            Self::Two => (42, 52, 10),
        }
    }

    /// Maximum number of bits of a code block.
    pub fn most_bits(self) -> u32 {
        match self {
            Self::One => 8448,
            Self::Two => 3840,
        }
    }

    /// Entries of value 1, row by row.
    pub fn entries(self) -> &'static [Entry] {
        static ENTRIES: [OnceLock<Vec<Entry>>; 2] = [const { OnceLock::new() }; 2];
        let number = usize::from(self == Self::Two);
        ENTRIES[number].get_or_init(|| TABLES[number].lines().skip(1).map(entry).collect())
    }

    /// Smallest lifting size for a code block of `bits` (38.212 section 5.2.2).
    pub fn lifting(self, bits: u32) -> u32 {
        let columns = match self {
            Self::One => 22,
            Self::Two if bits > 640 => 10,
            Self::Two if bits > 560 => 9,
            Self::Two if bits > 192 => 8,
            Self::Two => 6,
        };
        let enough = lifting_sizes().filter(|size| columns * size >= bits);
        enough.min().unwrap_or(LARGEST_LIFTING)
    }

    /// First bit of redundancy version `version` in a circular buffer of `length` bits with lifting size `lifting`
    /// (38.212 table 5.4.2.1-2).
    pub fn buffer_start(self, version: u32, length: u32, lifting: u32) -> u32 {
        let (numerators, columns) = match self {
            Self::One => ([0, 17, 33, 56], 66),
            Self::Two => ([0, 13, 25, 43], 50),
        };
        numerators[version as usize & 3] * length / (columns * lifting) * lifting
    }
}

impl Entry {
    /// Cyclic shift of the identity matrix for this lifting size.
    pub fn shift(&self, lifting: u32) -> u32 {
        self.shifts[set_of(lifting)] % lifting
    }
}

/// All lifting sizes, set by set.
pub(super) fn lifting_sizes() -> impl Iterator<Item = u32> {
    let of_set =
        |factor: u32| (0..8).map(move |power| factor << power).take_while(|size| *size <= LARGEST_LIFTING);
    SETS.into_iter().flat_map(of_set)
}

/// Index of the set of a lifting size.
fn set_of(lifting: u32) -> usize {
    let odd = lifting >> lifting.trailing_zeros();
    SETS.iter().position(|&factor| factor == odd).unwrap_or(0)
}

fn entry(line: &str) -> Entry {
    let mut numbers = line.split(',').map(|number| number.parse().unwrap_or(u32::MAX));
    let mut next = || numbers.next().unwrap_or(u32::MAX);
    Entry { row: next(), column: next(), shifts: std::array::from_fn(|_| next()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_have_their_rows_columns_and_ones() {
        for (graph, ones) in [(BaseGraph::One, 316), (BaseGraph::Two, 197)] {
            let entries = graph.entries();
            let (rows, columns, _) = graph.size();
            assert_eq!(entries.len(), ones);
            let of = |coordinate: fn(&Entry) -> u32| {
                entries.iter().map(coordinate).collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(of(|entry| entry.row), (0..rows).collect());
            assert_eq!(of(|entry| entry.column), (0..columns).collect());
            assert!(entries.iter().all(|entry| entry.shifts.iter().all(|shift| *shift < LARGEST_LIFTING)));
            assert!(
                entries.windows(2).all(|pair| (pair[0].row, pair[0].column) < (pair[1].row, pair[1].column))
            );
        }
    }

    #[test]
    fn lifting_sizes_are_the_51_of_the_standard() {
        let mut sizes: Vec<u32> = lifting_sizes().collect();
        assert_eq!(sizes.len(), 51);
        sizes.sort_unstable();
        assert_eq!((sizes[0], sizes[50]), (2, 384));
        assert_eq!(&sizes[14..20], [16, 18, 20, 22, 24, 26]);
        assert_eq!([16, 48, 208, 240].map(set_of), [0, 1, 6, 7]);
        assert_eq!(
            (BaseGraph::One.lifting(8448), BaseGraph::Two.lifting(3840), BaseGraph::Two.lifting(24)),
            (384, 384, 4)
        );
        // 641 bits take ten columns, 640 nine, 560 eight, 192 six.
        assert_eq!([641, 640, 560, 192].map(|bits| BaseGraph::Two.lifting(bits)), [72, 72, 72, 32]);
    }

    #[test]
    fn redundancy_versions_begin_at_whole_columns() {
        let starts = |graph: BaseGraph, length| {
            [0, 1, 2, 3].map(|version| graph.buffer_start(version, length, 64) / 64)
        };
        assert_eq!(starts(BaseGraph::One, 66 * 64), [0, 17, 33, 56]);
        assert_eq!(starts(BaseGraph::Two, 50 * 64), [0, 13, 25, 43]);
        // A limited buffer has the same shares, rounded down.
        assert_eq!(starts(BaseGraph::One, 33 * 64), [0, 8, 16, 28]);
    }
}
