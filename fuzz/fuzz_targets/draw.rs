//! Random draws of a mutator, all determined by a seed, and the transfer of its result to libFuzzer.

use libfuzzer_sys::fuzzer_mutate;

/// Replaces the first `size` bytes of `data` by the mutated `text`; without a text, or if it is too long, libFuzzer
/// mutates the bytes. Returns the new number of bytes.
pub(crate) fn hand_over(text: Option<String>, data: &mut [u8], size: usize, max_size: usize) -> usize {
    match text {
        Some(text) if text.len() <= max_size => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
}

/// Pseudo-random numbers, determined by a seed (splitmix64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) % end as u64) as usize
    }

    pub(crate) fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A number near to or far from `number`.
    pub(crate) fn number_for(&mut self, number: f64) -> f64 {
        match self.below(10) {
            0 => number + 1.0,
            1 => number - 1.0,
            2 => number * 2.0,
            3 => number / 2.0,
            4 => number * 10.0,
            5 => number / 10.0,
            6 => -number,
            7 => 0.0,
            8 => number * 1e6,
            _ => number + 0.1,
        }
    }

    /// `text` with another number in place of the one at its beginning, and the same unit; `None` if it begins with no
    /// number.
    pub(crate) fn quantity_for(&mut self, text: &str) -> Option<String> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c))).unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        Some(format!("{}{}", self.number_for(number), &text[end..]))
    }
}
