//! Quotients of counts, NaN without cases: a file of its own, since stations and links use them.

/// Quotient of two counts; NaN if the denominator is 0.
pub(super) fn of_some(count: u64, of: u64) -> f64 {
    if of == 0 { f64::NAN } else { count as f64 / of as f64 }
}

/// Mean of `of` times whose sum is `sum_s` seconds; NaN for 0 times.
pub(super) fn mean_s(sum_s: f64, of: u64) -> f64 {
    if of == 0 { f64::NAN } else { sum_s / of as f64 }
}
