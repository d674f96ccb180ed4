//! A-MPDU (aggregate): contents, limits and duration.

use super::modes::{Durations, Mode, Standard};
use crate::error::{MeshError, out_of_range};
use crossfade_core::SimTime;

/// Bytes that a `QoS` data frame adds to a packet: MAC header of 26, FCS of 4, LLC and SNAP of 8.
pub const MPDU_OVERHEAD: u32 = 38;

/// Longest duration of a PPDU, `aPPDUMaxTime`.
pub const LONGEST_PPDU: SimTime = SimTime::from_micros(5484);

/// Bytes of an MPDU of `mpdu` bytes in an aggregate: a delimiter of 4 bytes, and padding to a multiple of 4.
pub const fn subframe_bytes(mpdu: u32) -> u32 {
    (mpdu + 4).next_multiple_of(4)
}

/// Limits of an aggregate and of the number of unacknowledged MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduLimits {
    /// Largest PSDU in bytes.
    pub bytes: u32,
    /// Longest PPDU.
    pub duration: SimTime,
    /// Block acknowledgement window in MPDUs.
    pub window: u32,
}

impl AmpduLimits {
    /// Limits of the standard; one MPDU for 802.11a and g, which have no aggregates.
    pub const fn of(standard: Standard) -> Self {
        let bytes = match standard.longest_ampdu() {
            Some(bytes) => bytes,
            None => 4095,
        };
        Self { bytes, duration: LONGEST_PPDU, window: standard.largest_window() }
    }

    /// Checks that the limits are within those of a standard.
    ///
    /// # Errors
    /// If the PSDU, the PPDU or the window is larger than the standard allows, or zero.
    pub fn check(&self, standard: Standard) -> Result<(), MeshError> {
        let most = Self::of(standard);
        let letters = standard.letters();
        if !(1..=most.bytes).contains(&self.bytes) {
            let allowed = format!("between 1 B and {} B of 802.11{letters}", most.bytes);
            return out_of_range("bytes", format!("{} B", self.bytes), allowed);
        }
        if self.duration > most.duration || self.duration == SimTime::ZERO {
            return out_of_range("duration", self.duration, "above 0 s and at most 5.484 ms");
        }
        if !(1..=most.window).contains(&self.window) {
            let allowed = format!("between 1 and {} of 802.11{letters}", most.window);
            return out_of_range("window", self.window, allowed);
        }
        Ok(())
    }
}

/// A-MPDU under construction: its mode, size and limits.
#[derive(Clone, Debug)]
pub struct Ampdu {
    mode: Mode,
    /// Maximum number of bytes of the PSDU.
    most: u64,
    /// Maximum number of bytes of the first MPDU, which may exceed `most`.
    longest_first: u32,
    bytes: u32,
    mpdus: u32,
    window: u32,
}

impl Ampdu {
    /// Empty A-MPDU in `mode`; `time` is what remains of a limited transmission opportunity. The first MPDU is accepted
    /// at any length.
    pub fn new(mode: Mode, limits: &AmpduLimits, time: Option<SimTime>) -> Self {
        let duration = time.map_or(limits.duration, |time| time.min(limits.duration));
        let most = u64::from(limits.bytes).min(mode.bytes_within(duration));
        Self { mode, most, longest_first: u32::MAX, bytes: 0, mpdus: 0, window: limits.window }
    }

    /// Empty A-MPDU of at most `most` bytes and `window` MPDUs, as part of a multi-user PPDU. The first MPDU is
    /// accepted if its subframe has at most `longest_first` bytes.
    pub(super) const fn of_bytes(mode: Mode, most: u64, longest_first: u32, window: u32) -> Self {
        Self { mode, most, longest_first: longest_first.saturating_sub(4), bytes: 0, mpdus: 0, window }
    }

    /// Length in bytes of the longest MPDU that still fits; `None` if none does.
    pub fn room(&self) -> Option<u32> {
        if self.mpdus == 0 {
            return (self.longest_first > 0).then_some(self.longest_first);
        }
        let left = self.most.saturating_sub(u64::from(self.bytes));
        (self.mpdus < self.window && left > 4).then(|| (left - 4).min(u64::from(u32::MAX)) as u32)
    }

    /// Appends an MPDU of `mpdu` bytes; returns false if it does not fit.
    pub fn push(&mut self, mpdu: u32) -> bool {
        let fits = self.room().is_some_and(|room| subframe_bytes(mpdu) - 4 <= room);
        if fits {
            self.bytes += subframe_bytes(mpdu);
            self.mpdus += 1;
        }
        fits
    }

    /// Number of MPDUs in the aggregate.
    pub const fn mpdus(&self) -> u32 {
        self.mpdus
    }

    /// Bytes of the PSDU; an MPDU of 802.11a or g has no delimiter.
    pub const fn bytes(&self) -> u32 {
        match self.mode.standard() {
            Standard::A | Standard::G => self.bytes.saturating_sub(4),
            _ => self.bytes,
        }
    }

    /// Duration of the PPDU.
    pub fn duration(&self) -> SimTime {
        self.mode.ppdu(self.bytes(), Durations::Standard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::modes::Band;
    use proptest::prelude::*;

    fn full(standard: Standard, mcs: u8, streams: u8, width: u16, guard: u16) -> Ampdu {
        let mode = Mode::new(standard, Band::Ghz5, mcs, streams, width, guard).unwrap();
        let mut ampdu = Ampdu::new(mode, &AmpduLimits::of(standard), None);
        while ampdu.push(1500 + MPDU_OVERHEAD) {}
        ampdu
    }

    /// With packets of 1500 bytes, the tightest of duration, bytes and window ends an aggregate.
    #[test]
    fn the_tightest_limit_ends_an_aggregate() {
        let found: Vec<u32> = (0..8).map(|mcs| full(Standard::N, mcs, 1, 20, 800).mpdus()).collect();
        assert_eq!(found, [2, 5, 8, 11, 17, 22, 25, 28]);
        assert_eq!(full(Standard::N, 7, 2, 40, 400).mpdus(), 42);
        assert_eq!(full(Standard::Ax, 7, 1, 20, 800).mpdus(), 37);
        assert_eq!(full(Standard::Ax, 11, 1, 160, 800).mpdus(), 256);
        assert_eq!(full(Standard::Ac, 9, 1, 80, 800).mpdus(), 64);
    }

    #[test]
    fn limits_beyond_a_standard_are_refused() {
        let good = AmpduLimits::of(Standard::N);
        let said = |limits: AmpduLimits| limits.check(Standard::N).unwrap_err().to_string();
        assert_eq!(good.check(Standard::N), Ok(()));
        assert_eq!(
            said(AmpduLimits { window: 65, ..good }),
            "window = 65: must be between 1 and 64 of 802.11n"
        );
        assert_eq!(
            said(AmpduLimits { bytes: 65_536, ..good }),
            "bytes = 65536 B: must be between 1 B and 65535 B of 802.11n"
        );
        let long = AmpduLimits { duration: LONGEST_PPDU + SimTime::from_micros(1), ..good };
        assert!(said(long).ends_with("must be above 0 s and at most 5.484 ms"));
    }

    proptest! {
        /// A PPDU with any single 802.11 packet is within the standard's limit in every mode.
        #[test]
        fn no_first_mpdu_takes_longer_than_the_longest_ppdu(
            standard in prop::sample::select(vec![
                Standard::A, Standard::G, Standard::N, Standard::Ac, Standard::Ax, Standard::Be,
            ]),
            packet in 40_u32..=2296,
            micros in 1_u64..5484,
        ) {
            let guards: &[u16] = if standard >= Standard::Ax { &[800, 1600, 3200] } else { &[400, 800] };
            let bands = [Band::Ghz2, Band::Ghz5, Band::Ghz6];
            for (&width, &guard) in standard.widths_mhz().iter().flat_map(|w| guards.iter().map(move |g| (w, g))) {
                for (band, mcs) in bands.iter().flat_map(|band| (0..=13).map(move |mcs| (*band, mcs))) {
                    for streams in 1..=8 {
                        let Ok(mode) = Mode::new(standard, band, mcs, streams, width, guard) else { continue };
                        for limit in [LONGEST_PPDU, SimTime::from_micros(micros)] {
                            let limits = AmpduLimits { duration: limit, ..AmpduLimits::of(standard) };
                            let mut ampdu = Ampdu::new(mode, &limits, None);
                            while ampdu.push(packet + MPDU_OVERHEAD) {}
                            prop_assert!(ampdu.mpdus() >= 1 && ampdu.mpdus() <= limits.window);
                            prop_assert!(ampdu.duration() <= LONGEST_PPDU, "{mode:?}: {}", ampdu.duration());
                        }
                    }
                }
            }
        }

        /// Whatever is pushed, an aggregate of more than one MPDU is within its duration and bytes.
        #[test]
        fn no_aggregate_is_beyond_its_limits(
            sizes in prop::collection::vec(40_u32..4000, 1..200),
            mcs in 0_u8..12,
            width in prop::sample::select(vec![20_u16, 40, 80, 160]),
            micros in 200_u64..5484,
            bytes in 3000_u32..400_000,
        ) {
            let mode = Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width, 800).unwrap();
            let limits = AmpduLimits { bytes, duration: SimTime::from_micros(micros), window: 64 };
            let mut ampdu = Ampdu::new(mode, &limits, None);
            let mut taken = 0;
            for size in sizes {
                taken += u32::from(ampdu.push(size));
            }
            prop_assert_eq!(ampdu.mpdus(), taken);
            prop_assert!((1..=64).contains(&taken));
            if taken > 1 {
                prop_assert!(ampdu.bytes() <= bytes && ampdu.duration() <= limits.duration);
            }
        }
    }
}
