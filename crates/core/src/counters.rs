//! Counters of a run (counts, sums, histograms), and their increase since the end of a warm-up.

use crate::{DelayHistogram, SimTime};

/// Count, sum or distribution that grows during a run.
///
/// The macro [`counters!`](macro@crate::counters) gives these methods to a struct of counters; a forgotten field does
/// not compile.
pub trait Counter: Sized {
    /// Increase of this counter since `earlier`, a former state of it.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Adds the counter of another flow or run to this one.
    fn add(&mut self, other: &Self);
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Counter for $number {
            #[inline]
            fn since(&self, earlier: &Self) -> Self {
                self - earlier
            }

            #[inline]
            fn add(&mut self, other: &Self) {
                *self += other;
            }
        }
    )*};
}

numbers!(u64, u128, f64);

impl<C: Counter, const N: usize> Counter for [C; N] {
    fn since(&self, earlier: &Self) -> Self {
        std::array::from_fn(|i| self[i].since(&earlier[i]))
    }

    fn add(&mut self, other: &Self) {
        for (count, other) in self.iter_mut().zip(other) {
            count.add(other);
        }
    }
}

impl Counter for SimTime {
    fn since(&self, earlier: &Self) -> Self {
        *self - *earlier
    }

    fn add(&mut self, other: &Self) {
        *self += *other;
    }
}

impl Counter for DelayHistogram {
    fn since(&self, earlier: &Self) -> Self {
        DelayHistogram::since(self, earlier)
    }

    fn add(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl<C: Counter> Counter for Box<C> {
    fn since(&self, earlier: &Self) -> Self {
        Box::new(C::since(self, earlier))
    }

    fn add(&mut self, other: &Self) {
        C::add(self, other);
    }
}

/// Optional counter: `None` counts nothing.
impl<C: Counter + Clone> Counter for Option<C> {
    fn since(&self, earlier: &Self) -> Self {
        match (self, earlier) {
            (Some(count), Some(earlier)) => Some(count.since(earlier)),
            (count, _) => count.clone(),
        }
    }

    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Some(count), Some(other)) => count.add(other),
            (count @ None, other) => count.clone_from(other),
            (Some(_), None) => {}
        }
    }
}

/// Implements [`Counter`] for a struct, whose methods `since` and `add` work field by field:
/// `counters!(Type { every, field })`.
///
/// Fields after the semicolon are not counters (times, names): the result has those of `self`.
///
/// ```
/// # use crossfade_core::counters;
/// #[derive(Clone)]
/// struct Seen { packets: u64, bytes: u64, first: &'static str }
/// counters!(Seen { packets, bytes; first });
///
/// let warm = Seen { packets: 2, bytes: 80, first: "a" };
/// let mut end = Seen { packets: 5, bytes: 200, first: "a" }.since(&warm);
/// assert_eq!((end.packets, end.bytes), (3, 120));
/// end.add(&warm);
/// assert_eq!((end.packets, end.bytes), (5, 200));
/// ```
///
/// ```compile_fail
/// # use crossfade_core::counters;
/// struct Seen { packets: u64, bytes: u64 }
/// counters!(Seen { packets });
/// ```
#[macro_export]
macro_rules! counters {
    ($type:ty { $($counter:ident),* $(; $($kept:ident),*)? }) => {
        impl $type {
            /// Increase of every counter since `earlier`, a former state such as that at the end of a warm-up.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                let Self { $($counter,)* $($($kept,)*)? } = self;
                Self {
                    $($counter: $crate::Counter::since($counter, &earlier.$counter),)*
                    $($($kept: $kept.clone(),)*)?
                }
            }

            /// Adds the counters of `other`, such as those of another flow or run, field by field.
            pub fn add(&mut self, other: &Self) {
                $($crate::Counter::add(&mut self.$counter, &other.$counter);)*
            }
        }

        impl $crate::Counter for $type {
            fn since(&self, earlier: &Self) -> Self {
                Self::since(self, earlier)
            }

            fn add(&mut self, other: &Self) {
                Self::add(self, other);
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_is_a_count_of_nothing() {
        let mut histogram = DelayHistogram::default();
        histogram.record(SimTime::from_millis(3));
        let some = Some(Box::new(histogram));
        assert_eq!(some.since(&None), some);
        assert_eq!(some.since(&some).unwrap().count(), 0);
        let mut sum = None;
        sum.add(&some);
        sum.add(&some);
        sum.add(&None);
        assert_eq!(sum.unwrap().count(), 2);
    }
}
