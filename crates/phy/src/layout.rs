//! Memory layout of a frame: its blocks lie side by side, so that the lanes of a vector hold neighbouring blocks.
//!
//! A statistic of K complex symbols is K real rows and K imaginary rows, interleaved; a row has a place for each block,
//! rounded up to the widest vector. Labels are packed into 32-bit words, one or two per block.

use crossfade_channel::simd::Vector;

/// Number of lanes of the widest vector, to a multiple of which rows are padded.
pub(crate) const WIDEST: usize = 16;

/// Greatest number of symbols in a block.
pub(crate) const MOST_SYMBOLS: usize = 8;

/// Runs `$body` with a constant `$K` that equals `$size`.
macro_rules! with_size {
    ($size:expr, $K:ident => $body:expr) => {
        with_size!(@ $size, $K => $body, 1 2 3 4 5 6 7 8)
    };
    (@ $size:expr, $K:ident => $body:expr, $($n:literal)*) => {
        match $size {
            $($n => { const $K: usize = $n; $body })*
            _ => unreachable!("a block has 1 to 8 symbols"),
        }
    };
}
pub(crate) use with_size;

/// Runs `$body` with a constant `$K` for the loops of a kernel: `$size` for 1, 2 and 4, otherwise the greatest, 8
/// ([`size`] then gives the loop length).
macro_rules! with_capacity {
    ($size:expr, $K:ident => $body:expr) => {
        match $size {
            1 => {
                const $K: usize = 1;
                $body
            }
            2 => {
                const $K: usize = 2;
                $body
            }
            4 => {
                const $K: usize = 4;
                $body
            }
            _ => {
                const $K: usize = 8;
                $body
            }
        }
    };
}
pub(crate) use with_capacity;

/// Number of symbols that a kernel of capacity K loops over: the constant K, or `symbols` for the greatest capacity.
#[inline(always)]
pub(crate) fn size<const K: usize>(symbols: usize) -> usize {
    if K == MOST_SYMBOLS { symbols.min(K) } else { K }
}

/// Places of the labels of a block's symbols in 32-bit words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    pub(crate) bits: u32,
    pub(crate) symbols: usize,
    words: usize,
    /// Index of the word, and shift in bits, of each symbol.
    places: [(usize, u32); MOST_SYMBOLS],
}

impl Packing {
    pub(crate) fn new(bits: u32, symbols: usize) -> Self {
        let per_word = (32 / bits) as usize;
        let place = |symbol| (symbol / per_word, (symbol % per_word) as u32 * bits);
        Self { bits, symbols, words: symbols.div_ceil(per_word), places: std::array::from_fn(place) }
    }

    /// Number of words per block, 1 or 2.
    pub(crate) fn words(self) -> usize {
        self.words
    }

    /// Index of the word, and shift in bits, of a symbol.
    #[inline(always)]
    pub(crate) fn place(self, symbol: usize) -> (usize, u32) {
        self.places[symbol]
    }

    /// Labels of symbol number `symbol` in the blocks from `first` on, one block per lane.
    #[inline(always)]
    pub(crate) fn label<V: Vector>(
        self,
        words: &[u32],
        stride: usize,
        first: usize,
        symbol: usize,
    ) -> V::Int {
        let (word, shift) = self.place(symbol);
        (V::load_int(&words[word * stride + first..]) >> shift) & V::splat_int((1 << self.bits) - 1)
    }
}

/// Words of the blocks of one vector while their labels are filled in.
#[derive(Clone, Copy)]
pub(crate) struct Packed<V: Vector>([V::Int; 2]);

impl<V: Vector> Packed<V> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self([V::splat_int(0); 2])
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, packing: Packing, symbol: usize, label: V::Int) {
        let (word, shift) = packing.place(symbol);
        // Constant indices keep both in registers.
        if word == 0 {
            self.0[0] = self.0[0] | (label << shift);
        } else {
            self.0[1] = self.0[1] | (label << shift);
        }
    }

    #[inline(always)]
    pub(crate) fn store(self, packing: Packing, words: &mut [u32], stride: usize, first: usize) {
        for word in 0..packing.words() {
            V::store_int(self.0[word], &mut words[word * stride + first..]);
        }
    }
}

impl<V: Vector> Packed<V> {
    /// Stores the labels into words that already hold those of other symbols.
    #[inline(always)]
    pub(crate) fn add(self, packing: Packing, words: &mut [u32], stride: usize, first: usize) {
        for word in 0..packing.words() {
            let place = &mut words[word * stride + first..];
            V::store_int(V::load_int(place) | self.0[word], place);
        }
    }
}

/// Loads symbol number `symbol` of a statistic for the blocks from `first` on, one block per lane.
#[inline(always)]
pub(crate) fn load<V: Vector>(values: &[f32], stride: usize, first: usize, symbol: usize) -> (V, V) {
    let row = 2 * symbol * stride + first;
    (V::load(&values[row..]), V::load(&values[row + stride..]))
}

/// Loads all `n` symbols of a statistic for the blocks from `first` on, one block per lane.
#[inline(always)]
pub(crate) fn load_all<V: Vector, const K: usize>(
    values: &[f32],
    stride: usize,
    first: usize,
    n: usize,
) -> [(V, V); K] {
    let mut all = [(V::splat(0.0), V::splat(0.0)); K];
    for (symbol, place) in all[..n].iter_mut().enumerate() {
        *place = load(values, stride, first, symbol);
    }
    all
}

/// Stores symbol number `symbol` of a statistic for the blocks from `first` on, one block per lane.
#[inline(always)]
pub(crate) fn store<V: Vector>(
    value: (V, V),
    values: &mut [f32],
    stride: usize,
    first: usize,
    symbol: usize,
) {
    let row = 2 * symbol * stride + first;
    value.0.store(&mut values[row..]);
    value.1.store(&mut values[row + stride..]);
}

/// Complex `sum + factor * value`, with the same factor in all lanes.
#[inline(always)]
pub(crate) fn add_product<V: Vector>(sum: (V, V), factor: [f32; 2], value: (V, V)) -> (V, V) {
    let (re, im) = (V::splat(factor[0]), V::splat(factor[1]));
    (sum.0 + (re * value.0 - im * value.1), sum.1 + (re * value.1 + im * value.0))
}

/// Complex `sum - factor * value`, with the same factor in all lanes.
#[inline(always)]
pub(crate) fn subtract_product<V: Vector>(sum: (V, V), factor: [f32; 2], value: (V, V)) -> (V, V) {
    let (re, im) = (V::splat(factor[0]), V::splat(factor[1]));
    (sum.0 - (re * value.0 - im * value.1), sum.1 - (re * value.1 + im * value.0))
}

/// Complex number as real and imaginary part in f32.
pub(crate) fn single(value: num_complex::Complex64) -> [f32; 2] {
    [value.re as f32, value.im as f32]
}
