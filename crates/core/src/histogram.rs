//! Histogram of delays with a relative error below 1/64 in little memory.

use crate::SimTime;

/// Histogram of delays whose buckets widen with the delay.
///
/// Each octave (from one power of two of nanoseconds to the next) has 64 buckets of equal width, so that a quantile has
/// a relative error below 1/64 for any run length and any delays; below 128 ns it is exact. (The layout is that of
/// `HdrHistogram`.) Memory is 512 bytes for each octave from the least to the greatest delay; the RTTs of a flow span a
/// few octaves.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    /// Counts of all buckets, from the lowest octave with counts to the highest.
    buckets: Vec<u64>,
    /// Number of the lowest octave in `buckets`.
    first: usize,
    /// Number of zero delays, the most frequent on an unloaded link, which are counted apart because that is cheapest.
    zeros: u64,
}

const BUCKET_BITS: u32 = 6;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Number of octaves: the first holds all delays below 64 ns, the last those from 2^63 ns on.
const OCTAVES: usize = (u64::BITS - BUCKET_BITS) as usize + 1;

impl DelayHistogram {
    /// Counts one delay.
    #[inline]
    pub fn record(&mut self, delay: SimTime) {
        if delay == SimTime::ZERO {
            self.zeros += 1;
            return;
        }
        let (octave, bucket) = position(delay.as_nanos());
        let at = octave.wrapping_sub(self.first).wrapping_mul(BUCKETS) + bucket;
        match self.buckets.get_mut(at) {
            Some(count) => *count += 1,
            None => self.octave(octave)[bucket] += 1,
        }
    }

    /// Removes one recorded zero delay from the counts.
    pub fn take_back_zero(&mut self) {
        self.zeros -= 1;
    }

    /// Counts of the 64 buckets of an octave; memory grows if the octave had no counts before.
    fn octave(&mut self, octave: usize) -> &mut [u64] {
        if self.buckets.is_empty() {
            self.first = octave;
        }
        let missing = self.first.saturating_sub(octave);
        self.buckets.splice(..0, std::iter::repeat_n(0, missing * BUCKETS));
        self.first -= missing;
        let from = (octave - self.first) * BUCKETS;
        self.buckets.resize(self.buckets.len().max(from + BUCKETS), 0);
        &mut self.buckets[from..from + BUCKETS]
    }

    /// Octaves with their numbers and the counts of their 64 buckets, from the shortest delays on.
    fn octaves(&self) -> impl Iterator<Item = (usize, &[u64])> {
        (self.first..).zip(self.buckets.chunks_exact(BUCKETS))
    }

    /// Number of counted delays.
    pub fn count(&self) -> u64 {
        self.zeros + self.buckets.iter().sum::<u64>()
    }

    /// Quantile `p` of the delays (the smallest delay with at least `p * count` delays at or below it), with a relative
    /// error below 1/64; `None` before the first delay. `p` is clamped to [0, 1].
    ///
    /// ```
    /// use crossfade_core::{DelayHistogram, SimTime};
    /// let mut rtt = DelayHistogram::default();
    /// (1..=100).for_each(|millis| rtt.record(SimTime::from_millis(millis)));
    /// let p95 = rtt.quantile(0.95).unwrap().as_secs_f64();
    /// assert!((p95 - 0.095).abs() < 0.095 / 64.0);
    /// ```
    pub fn quantile(&self, p: f64) -> Option<SimTime> {
        let count = self.count();
        self.ranked(((p * count as f64).ceil() as u64).clamp(1, count.max(1)))
    }

    /// Delay of rank `rank`, counted from 1 for the shortest, with a relative error below 1/64; `None` beyond the
    /// longest.
    pub(crate) fn ranked(&self, rank: u64) -> Option<SimTime> {
        let mut below = self.zeros;
        if rank <= below {
            return Some(SimTime::ZERO);
        }
        for (octave, buckets) in self.octaves() {
            for (bucket, &count) in buckets.iter().enumerate() {
                if below + count >= rank {
                    let (start, width) = bounds(octave, bucket);
                    // The delays of a bucket are treated as spread evenly over it.
                    let share = ((rank - below) as f64 - 0.5) / count as f64;
                    return Some(SimTime::from_nanos(start + (share * width as f64) as u64));
                }
                below += count;
            }
        }
        None
    }

    /// Number and count of each bucket that is not empty, from the shortest delays on. Bucket numbers rise with the
    /// delay; 0 is that of zero delays.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        let zeros = Some((0, self.zeros)).filter(|(_, count)| *count > 0);
        let counts = (first_number(self.first)..).zip(self.buckets.iter().copied());
        zeros.into_iter().chain(counts.filter(|(_, count)| *count > 0))
    }

    /// Start and width of the bucket with this number.
    pub(crate) fn bucket(number: u32) -> (SimTime, SimTime) {
        let Some(at) = number.checked_sub(1) else { return (SimTime::ZERO, SimTime::ZERO) };
        let (start, width) = bounds(at as usize / BUCKETS, at as usize % BUCKETS);
        (SimTime::from_nanos(start), SimTime::from_nanos(width))
    }

    /// Compact encoding of the counts, usually one byte for each bucket. It is a sequence of LEB128 numbers (7 bits a
    /// byte): the count of zero delays, the number of the first bucket, then the counts in order. A 0 is followed by
    /// the number of empty buckets that it stands for.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_number(&mut bytes, self.zeros);
        let mut next = None;
        for (number, count) in self.counts().filter(|(number, _)| *number > 0) {
            match next.map(|next| number - next) {
                None => write_number(&mut bytes, u64::from(number)),
                Some(0) => {}
                Some(empty) => {
                    bytes.push(0);
                    write_number(&mut bytes, u64::from(empty));
                }
            }
            write_number(&mut bytes, count);
            next = Some(number + 1);
        }
        bytes
    }

    /// Decodes the bytes of [`Self::to_bytes`]; `None` for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut histogram = Self { zeros: read_number(&mut rest)?, ..Self::default() };
        let mut all = histogram.zeros;
        if rest.is_empty() {
            return Some(histogram);
        }
        let mut number = read_number(&mut rest)?.checked_sub(1)?;
        while !rest.is_empty() {
            let count = read_number(&mut rest)?;
            if count == 0 {
                number = number.checked_add(read_number(&mut rest)?)?;
                continue;
            }
            let number_here = usize::try_from(number).ok().filter(|number| *number < OCTAVES * BUCKETS)?;
            all = all.checked_add(count)?;
            histogram.octave(number_here / BUCKETS)[number_here % BUCKETS] = count;
            number += 1;
        }
        Some(histogram)
    }

    /// Adds the counts of another histogram, such as that of another flow or run.
    pub fn merge(&mut self, other: &Self) {
        self.combine(other, |count, other| *count += other);
    }

    /// Counts added since `earlier`, a former state of this histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        since.combine(earlier, |count, earlier| *count -= earlier);
        since
    }

    fn combine(&mut self, other: &Self, combine: impl Fn(&mut u64, u64)) {
        for (octave, other) in other.octaves() {
            let own = self.octave(octave).iter_mut();
            own.zip(other).for_each(|(count, &other)| combine(count, other));
        }
        combine(&mut self.zeros, other.zeros);
    }
}

/// Equality of the counted delays; empty buckets in memory do not matter.
impl PartialEq for DelayHistogram {
    fn eq(&self, other: &Self) -> bool {
        let counts = |histogram: &Self| -> Vec<(usize, u64)> {
            let from = histogram.first * BUCKETS;
            let counts = histogram.buckets.iter().enumerate();
            counts.filter(|(_, count)| **count > 0).map(|(at, &count)| (from + at, count)).collect()
        };
        self.zeros == other.zeros && counts(self) == counts(other)
    }
}

impl Eq for DelayHistogram {}

/// Number of the first bucket of an octave, from 1 on: number 0 is the bucket of zero delays.
fn first_number(octave: usize) -> u32 {
    (octave * BUCKETS) as u32 + 1
}

/// Appends `number` as LEB128: 7 bits a byte, the lowest first; the highest bit of a byte is set if more follow.
pub fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a LEB128 number and advances `bytes` beyond it; `None` if `bytes` is truncated or the number exceeds 64 bits.
pub fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Octave of a delay in nanoseconds, and its bucket in the octave.
fn position(nanos: u64) -> (usize, usize) {
    let shift = (u64::BITS - BUCKET_BITS - 1).saturating_sub(nanos.leading_zeros());
    // Octave 0 is linear like octave 1, and begins at zero.
    let octave = shift + u32::from(nanos >= BUCKETS as u64);
    (octave as usize, (nanos >> shift) as usize % BUCKETS)
}

/// Start and width of a bucket, in nanoseconds.
fn bounds(octave: usize, bucket: usize) -> (u64, u64) {
    let shift = octave.saturating_sub(1);
    let start = if octave == 0 { bucket } else { BUCKETS + bucket };
    ((start as u64) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(nanos: &[u64]) -> DelayHistogram {
        let mut histogram = DelayHistogram::default();
        for &nanos in nanos {
            histogram.record(SimTime::from_nanos(nanos));
        }
        histogram
    }

    #[test]
    fn buckets_tile_the_line() {
        let mut next = 0_u64;
        for octave in 0..OCTAVES {
            for bucket in 0..BUCKETS {
                let (start, width) = bounds(octave, bucket);
                assert_eq!(start, next);
                assert_eq!(position(start), (octave, bucket));
                assert_eq!(position(start + (width - 1)), (octave, bucket));
                next = start.wrapping_add(width);
            }
        }
        assert_eq!(next, 0, "the last bucket ends with the range of u64");
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        assert_eq!(DelayHistogram::default().quantile(0.5), None);
        let one = histogram(&[100]);
        assert_eq!(one.since(&one).quantile(0.5), None);
    }

    #[test]
    fn short_delays_are_exact() {
        let delays = histogram(&[0, 0, 3, 100, 127]);
        let quantiles: Vec<u64> =
            [-1.0, 0.0, 0.4, 0.41, 0.6, 0.8, 1.0, 2.0].map(|p| delays.quantile(p).unwrap().as_nanos()).into();
        assert_eq!(quantiles, [0, 0, 0, 3, 3, 100, 127, 127]);
    }

    #[test]
    fn the_bytes_of_a_histogram_by_hand() {
        // Two zeros; 3 ns is in bucket 4 (that of 0 is bucket 0, that of 1 ns bucket 2), 5 ns two further, 200 times.
        let mut delays = histogram(&[0, 0, 3]);
        (0..200).for_each(|_| delays.record(SimTime::from_nanos(5)));
        assert_eq!(delays.to_bytes(), [2, 4, 1, 0, 1, 0xc8 & 0x7f | 0x80, 0xc8 >> 7]);
        assert_eq!(DelayHistogram::default().to_bytes(), [0]);
        for damaged in [&[][..], &[0x80], &[0, 0], &[0, 1, 0], &[0, 0xff, 0xff, 1, 1], &[0xff; 11]] {
            assert_eq!(DelayHistogram::from_bytes(damaged), None, "{damaged:?}");
        }
    }

    proptest! {
        /// Quantiles against those of the sorted delays, of delays over all scales at once.
        #[test]
        fn quantiles_are_within_one_part_in_64(
            scaled in prop::collection::vec((0_u32..64, any::<u64>()), 1..200), p in 0.0..=1.0_f64,
        ) {
            let mut nanos: Vec<u64> = scaled.into_iter().map(|(shift, x)| x >> shift).collect();
            let histogram = histogram(&nanos);
            nanos.sort_unstable();
            let rank = ((p * nanos.len() as f64).ceil() as usize).max(1);
            let exact = nanos[rank - 1];
            let off = histogram.quantile(p).unwrap().as_nanos().abs_diff(exact);
            prop_assert!(off.saturating_mul(64) <= exact, "{exact} is off by {off}");
        }

        #[test]
        fn bytes_lose_nothing(scaled in prop::collection::vec((0_u32..64, any::<u64>()), 0..200)) {
            let nanos: Vec<u64> = scaled.into_iter().map(|(shift, x)| x >> shift).collect();
            let delays = histogram(&nanos);
            prop_assert_eq!(DelayHistogram::from_bytes(&delays.to_bytes()), Some(delays));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(delays) = DelayHistogram::from_bytes(&bytes) {
                prop_assert_eq!(DelayHistogram::from_bytes(&delays.to_bytes()), Some(delays));
            }
        }

        #[test]
        fn histograms_add_and_subtract(
            a in prop::collection::vec(0_u64..1 << 40, 0..50),
            b in prop::collection::vec(0_u64..1 << 40, 0..50),
        ) {
            let mut sum = histogram(&a);
            sum.merge(&histogram(&b));
            prop_assert_eq!(&sum, &histogram(&[a.clone(), b.clone()].concat()));
            let rest = sum.since(&histogram(&a));
            prop_assert_eq!(rest.count(), b.len() as u64);
            prop_assert_eq!(rest.quantile(0.5), histogram(&b).quantile(0.5));
        }
    }
}
