//! Lifted LDPC code: parity checks for a block size, and the encoder.

use super::base_graph::BaseGraph;

/// LDPC code: a base graph lifted for a block size.
///
/// A code word has `lifting` bits for each column of the graph. The first columns are information, with filler bits at
/// the end if the block is shorter; the bits of the first two columns are never sent.
#[derive(Clone, Debug)]
pub struct Code {
    graph: BaseGraph,
    lifting: usize,
    /// Number of bits of the block, without fillers.
    bits: usize,
    /// Entries of value 1 of each row: column and shift.
    rows: Vec<Vec<(usize, usize)>>,
}

impl Code {
    /// Code for blocks of `bits`, checksums included, at most [`BaseGraph::most_bits`].
    pub fn new(graph: BaseGraph, bits: u32) -> Self {
        Self::lifted(graph, bits, graph.lifting(bits))
    }

    /// Code with a given lifting size.
    fn lifted(graph: BaseGraph, bits: u32, lifting: u32) -> Self {
        let mut rows = vec![Vec::new(); graph.size().0 as usize];
        for entry in graph.entries() {
            rows[entry.row as usize].push((entry.column as usize, entry.shift(lifting) as usize));
        }
        Self { graph, lifting: lifting as usize, bits: bits as usize, rows }
    }

    /// Base graph of the code.
    pub fn graph(&self) -> BaseGraph {
        self.graph
    }

    /// Lifting size of the code.
    pub fn lifting(&self) -> usize {
        self.lifting
    }

    /// Number of bits of a block, without fillers.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Number of bits of the information columns: the block, then fillers.
    pub fn information(&self) -> usize {
        self.graph.size().2 as usize * self.lifting
    }

    /// Number of bits of a code word, including the two columns that are never sent.
    pub fn word(&self) -> usize {
        self.graph.size().1 as usize * self.lifting
    }

    /// Entries of value 1 of each row: column and shift. Check i of a row takes bit (i + shift) mod lifting of each
    /// column.
    pub fn rows(&self) -> &[Vec<(usize, usize)>] {
        &self.rows
    }

    /// Code word of a block; bits are 0 or 1.
    ///
    /// # Panics
    /// If the block has more bits than the information columns.
    pub fn encode(&self, block: &[u8]) -> Vec<u8> {
        let z = self.lifting;
        let first = self.graph.size().2 as usize;
        let mut word = vec![0; self.word()];
        word[..block.len()].copy_from_slice(block);
        let add = |sum: &mut [u8], word: &[u8], (column, shift): (usize, usize)| {
            let bits = &word[column * z..(column + 1) * z];
            for (sum, bit) in sum.iter_mut().zip(bits[shift..].iter().chain(&bits[..shift])) {
                *sum ^= bit;
            }
        };
        // In the sum of the first four rows all parity columns except the first cancel out, and the first remains with
        // the one shift that occurs an odd number of times.
        let mut sum = vec![0; z];
        let mut shifts = Vec::new();
        for row in &self.rows[..4] {
            row.iter().filter(|(column, _)| *column < first).for_each(|&one| add(&mut sum, &word, one));
            shifts.extend(row.iter().filter(|(column, _)| *column == first).map(|(_, shift)| *shift));
        }
        let odd = |shift: &&usize| shifts.iter().filter(|other| other == shift).count() % 2 == 1;
        let shift = shifts.iter().find(odd).copied().unwrap_or_default();
        for (i, bit) in sum.into_iter().enumerate() {
            word[first * z + (i + shift) % z] = bit;
        }
        // Then every row, in this order, has exactly one unknown column.
        let mut is_known: Vec<bool> =
            (0..self.graph.size().1 as usize).map(|column| column <= first).collect();
        for row in [0, 1, 2].into_iter().chain(4..self.rows.len()) {
            let row = &self.rows[row];
            let mut sum = vec![0; z];
            row.iter().filter(|(column, _)| is_known[*column]).for_each(|&one| add(&mut sum, &word, one));
            let Some(&(column, shift)) = row.iter().find(|(column, _)| !is_known[*column]) else { continue };
            for (i, bit) in sum.into_iter().enumerate() {
                word[column * z + (i + shift) % z] = bit;
            }
            is_known[column] = true;
        }
        word
    }

    /// True if all parity checks hold for a word of bits.
    pub fn is_word(&self, word: &[u8]) -> bool {
        let z = self.lifting;
        let check = |row: &[(usize, usize)], i: usize| {
            row.iter().fold(0, |sum, &(column, shift)| sum ^ word[column * z + (i + shift) % z])
        };
        word.len() == self.word() && self.rows.iter().all(|row| (0..z).all(|i| check(row, i) == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::base_graph::lifting_sizes;
    use super::*;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    #[test]
    fn every_check_holds_at_every_lifting_size() {
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("ldpc");
        for graph in [BaseGraph::One, BaseGraph::Two] {
            for lifting in lifting_sizes() {
                let bits = graph.size().2 * lifting;
                let code = Code::lifted(graph, bits, lifting);
                for _ in 0..3 {
                    let block: Vec<u8> = (0..bits).map(|_| u8::from(stream.random::<bool>())).collect();
                    let mut word = code.encode(&block);
                    assert!(code.is_word(&word), "{graph:?} {lifting}");
                    assert_eq!(word[..block.len()], block);
                    let place = (stream.random::<u64>() % word.len() as u64) as usize;
                    word[place] ^= 1;
                    assert!(!code.is_word(&word));
                }
            }
        }
    }
}
