//! Simulated time as an integer number of nanoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub};

/// An instant or a span of simulated time: an integer count of nanoseconds (584 years fit).
///
/// Integer time keeps event order exact and independent of the platform's floating point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(u64);

impl SimTime {
    /// Start of the simulation, or an empty span.
    pub const ZERO: Self = Self(0);
    /// Latest representable time, later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// Time of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Time of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// Time of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Time of `seconds`, rounded to the nearest nanosecond. Negative values and NaN become zero, too large ones
    /// [`Self::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    /// Time in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time in seconds; exact to the nanosecond up to 104 days.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, or [`Self::MAX`] if that lies beyond it.
    #[must_use]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// `self * count`, or [`Self::MAX`] if that lies beyond it.
    #[must_use]
    pub const fn saturating_mul(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// Transmission time of `bytes` at `rate_bps` bit/s, rounded to the nearest nanosecond, or up if the rounded time
    /// would exceed the rate by more than a relative 1e-6; never zero.
    ///
    /// ```
    /// use crossfade_core::SimTime;
    /// assert_eq!(SimTime::to_transmit(1000, 10e6), SimTime::from_micros(800));
    /// assert_eq!(SimTime::to_transmit(120, 700e9), SimTime::from_nanos(2)); // 1.37 ns
    /// ```
    pub fn to_transmit(bytes: u32, rate_bps: f64) -> Self {
        let exact = f64::from(bytes) * 8e9 / rate_bps;
        let nearest = exact.round();
        let too_fast = nearest < exact * (1.0 - 1e-6);
        Self((if too_fast { exact.ceil() } else { nearest } as u64).max(1))
    }
}

impl Add for SimTime {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign for SimTime {
    fn add_assign(&mut self, span: Self) {
        self.0 += span.0;
    }
}

impl Sub for SimTime {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

impl Mul<u64> for SimTime {
    type Output = Self;
    fn mul(self, count: u64) -> Self {
        Self(self.0 * count)
    }
}

/// Number of whole divisors that fit: `now / tti` is the index of the TTI.
impl Div for SimTime {
    type Output = u64;
    fn div(self, span: Self) -> u64 {
        self.0 / span.0
    }
}

impl Rem for SimTime {
    type Output = Self;
    fn rem(self, span: Self) -> Self {
        Self(self.0 % span.0)
    }
}

impl Sum for SimTime {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        Self(spans.map(|span| span.0).sum())
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.as_secs_f64())
    }
}

impl fmt::Debug for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::SimTime;

    #[test]
    fn transmission_times_are_rounded_to_the_nanosecond() {
        // 1400 bytes at 1.5 Mbit/s last 7.4666... ms.
        assert_eq!(SimTime::to_transmit(1400, 1.5e6), SimTime::from_nanos(7_466_667));
        assert_eq!(SimTime::to_transmit(40, 10e6), SimTime::from_micros(32));
        assert_eq!(SimTime::to_transmit(1, 1e12), SimTime::from_nanos(1));
        // 1.714 ms and 22.22 us: a third of a nanosecond is nothing to the first.
        assert_eq!(SimTime::to_transmit(1500, 7e6), SimTime::from_nanos(1_714_286));
        assert_eq!(SimTime::to_transmit(3001, 11e6), SimTime::from_nanos(2_182_545));
        assert_eq!(SimTime::to_transmit(150, 54e6), SimTime::from_nanos(22_223));
    }

    #[test]
    fn slots_are_counted_by_division() {
        let slot = SimTime::from_millis(20);
        assert_eq!(SimTime::from_millis(59) / slot, 2);
        assert_eq!(SimTime::from_millis(60) / slot, 3);
    }

    #[test]
    fn seconds_saturate_instead_of_wrapping() {
        assert_eq!(SimTime::from_secs_f64(-1.0), SimTime::ZERO);
        assert_eq!(SimTime::from_secs_f64(1e30), SimTime::MAX);
        assert_eq!(SimTime::MAX.saturating_add(SimTime::from_nanos(1)), SimTime::MAX);
    }
}
