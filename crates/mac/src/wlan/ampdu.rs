//! Content and duration of one A-MPDU.

use super::modes::{Durations, Mode, Standard};
use crate::error::{MeshError, out_of_range};
use crossfade_core::SimTime;

/// Bytes that a data frame with a category adds to a packet: a MAC header of 26, FCS of 4, LLC and SNAP of 8.
pub const MPDU_OVERHEAD: u32 = 38;

/// The longest PPDU.
pub const LONGEST_PPDU: SimTime = SimTime::from_micros(5484);

/// Bytes of an MPDU in an aggregate: a delimiter of 4, and padding to whole words of 4.
pub const fn subframe_bytes(mpdu: u32) -> u32 {
    (mpdu + 4).next_multiple_of(4)
}

/// Limits of one aggregate, and of unacknowledged MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduLimits {
    /// Bytes of its PSDU.
    pub bytes: u32,
    /// Duration of its PPDU.
    pub duration: SimTime,
    /// MPDUs of the block acknowledgement window.
    pub window: u32,
}

impl AmpduLimits {
    /// The limits of a standard; of a and g, which do not aggregate, one MPDU.
    pub const fn of(standard: Standard) -> Self {
        let bytes = match standard.longest_ampdu() {
            Some(bytes) => bytes,
            None => 4095,
        };
        Self { bytes, duration: LONGEST_PPDU, window: standard.largest_window() }
    }

    /// Checks the limits of a standard.
    ///
    /// # Errors
    /// More bytes, a longer PPDU or a larger window than the standard allows, and nothing at all.
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

/// An A-MPDU that is being put together.
#[derive(Clone, Debug)]
pub struct Ampdu {
    mode: Mode,
    /// Bytes that its PSDU has at most.
    most: u64,
    /// Bytes of the longest MPDU that it begins with, whatever `most` is.
    longest_first: u32,
    bytes: u32,
    mpdus: u32,
    window: u32,
}

impl Ampdu {
    /// An empty one, which is sent in `mode`; `time` is what is left of a transmission opportunity, if that is limited.
    /// The first MPDU is taken whatever its length.
    pub fn new(mode: Mode, limits: &AmpduLimits, time: Option<SimTime>) -> Self {
        let duration = time.map_or(limits.duration, |time| time.min(limits.duration));
        let most = u64::from(limits.bytes).min(mode.bytes_within(duration));
        Self { mode, most, longest_first: u32::MAX, bytes: 0, mpdus: 0, window: limits.window }
    }

    /// An empty one of at most so many bytes and MPDUs, in a part of a PPDU whose duration is not its own. The first
    /// MPDU is taken if its subframe has at most `longest_first` bytes.
    pub(super) const fn of_bytes(mode: Mode, most: u64, longest_first: u32, window: u32) -> Self {
        Self { mode, most, longest_first: longest_first.saturating_sub(4), bytes: 0, mpdus: 0, window }
    }

    /// The longest MPDU that still fits; `None` where none does.
    pub fn room(&self) -> Option<u32> {
        if self.mpdus == 0 {
            return (self.longest_first > 0).then_some(self.longest_first);
        }
        let left = self.most.saturating_sub(u64::from(self.bytes));
        (self.mpdus < self.window && left > 4).then(|| (left - 4).min(u64::from(u32::MAX)) as u32)
    }

    /// Takes an MPDU, if it fits.
    pub fn push(&mut self, mpdu: u32) -> bool {
        let fits = self.room().is_some_and(|room| subframe_bytes(mpdu) - 4 <= room);
        if fits {
            self.bytes += subframe_bytes(mpdu);
            self.mpdus += 1;
        }
        fits
    }

    /// Number of MPDUs.
    pub const fn mpdus(&self) -> u32 {
        self.mpdus
    }

    /// Bytes of its PSDU; an MPDU of 802.11a or g goes without a delimiter.
    pub const fn bytes(&self) -> u32 {
        match self.mode.standard() {
            Standard::A | Standard::G => self.bytes.saturating_sub(4),
            _ => self.bytes,
        }
    }

    /// Duration of its PPDU.
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

    /// MPDUs of a packet of 1500 bytes: the duration, the bytes and the window end an aggregate.
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
        /// A PPDU with any one packet that 802.11 carries is within the standard's limit, in every mode.
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

        /// Whatever goes in: beyond the first MPDU, nothing lasts longer or has more bytes than allowed.
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
