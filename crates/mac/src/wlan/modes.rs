//! Modes of 802.11a, g, n, ac, ax and be: valid combinations, bit rates, and durations of PPDUs.
//!
//! A PPDU is a preamble and symbols of `N_DBPS` data bits. The payload has 16 service bits, 6 tail bits and the octets
//! of the PSDU (IEEE 802.11-2020 clauses 17.4.3, 19.4.3 and 21.4.3, 802.11ax-2021 clause 27.4.3). Bit rates and
//! preambles are those of one user with the full bandwidth; each spatial stream beyond the first adds training fields.

use crate::error::{MeshError, out_of_range};
use crossfade_core::SimTime;

/// Amendment of 802.11 that a station follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// 802.11a: OFDM at 5 GHz.
    A,
    /// 802.11g: OFDM at 2.4 GHz.
    G,
    /// 802.11n: high throughput (HT), Wi-Fi 4.
    N,
    /// 802.11ac: very high throughput (VHT), Wi-Fi 5.
    Ac,
    /// 802.11ax: high efficiency (HE), Wi-Fi 6.
    Ax,
    /// 802.11be: extremely high throughput (EHT), Wi-Fi 7.
    Be,
}

/// Frequency band of the channel. At 2.4 GHz an OFDM PPDU is followed by 6 us of signal extension, and SIFS is 10 us
/// instead of 16 us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz band.
    Ghz2,
    /// 5 GHz band.
    Ghz5,
    /// 6 GHz band.
    Ghz6,
}

/// Source of the durations of PPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durations {
    /// Durations of the standard.
    Standard,
    /// Durations of ns-3: the VHT preamble of one user without VHT-SIG-B, 4 us shorter, and with a short guard interval
    /// no rounding up to a multiple of 4 us.
    Ns3,
}

/// Valid combination of standard, band, MCS, spatial streams, channel width and guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    standard: Standard,
    band: Band,
    mcs: u8,
    streams: u8,
    width_mhz: u16,
    guard_interval_ns: u16,
}

/// Coded bits per subcarrier, and numerator and denominator of the code rate, by MCS.
const MCS: [(u64, u64, u64); 14] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
    (12, 3, 4),
    (12, 5, 6),
];

/// Bit rates of 802.11a and g in Mbit/s, with coded bits per subcarrier, and numerator and denominator of the code
/// rate.
const OFDM: [(u32, (u64, u64, u64)); 8] = [
    (6, (1, 1, 2)),
    (9, (1, 3, 4)),
    (12, (2, 1, 2)),
    (18, (2, 3, 4)),
    (24, (4, 1, 2)),
    (36, (4, 3, 4)),
    (48, (6, 2, 3)),
    (54, (6, 3, 4)),
];

impl Standard {
    /// Amendment with these letters, such as "ax".
    ///
    /// # Errors
    /// If the letters are not one of a, g, n, ac, ax, be.
    pub fn parse(letters: &str) -> Result<Self, MeshError> {
        Ok(match letters {
            "a" => Self::A,
            "g" => Self::G,
            "n" => Self::N,
            "ac" => Self::Ac,
            "ax" => Self::Ax,
            "be" => Self::Be,
            _ => return out_of_range("standard", format!("{letters:?}"), "one of a, g, n, ac, ax, be"),
        })
    }

    /// Letters of the amendment, such as `ax`.
    pub const fn letters(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::G => "g",
            Self::N => "n",
            Self::Ac => "ac",
            Self::Ax => "ax",
            Self::Be => "be",
        }
    }

    /// Highest MCS per number of streams; for a and g the index of 54 Mbit/s among the bit rates.
    pub const fn highest_mcs(self) -> u8 {
        match self {
            Self::A | Self::G | Self::N => 7,
            Self::Ac => 9,
            Self::Ax => 11,
            Self::Be => 13,
        }
    }

    /// Channel widths in MHz.
    pub const fn widths_mhz(self) -> &'static [u16] {
        match self {
            Self::A | Self::G => &[20],
            Self::N => &[20, 40],
            Self::Ac | Self::Ax => &[20, 40, 80, 160],
            Self::Be => &[20, 40, 80, 160, 320],
        }
    }

    /// Maximum number of spatial streams.
    pub const fn most_streams(self) -> u8 {
        match self {
            Self::A | Self::G => 1,
            Self::N => 4,
            Self::Ac | Self::Ax | Self::Be => 8,
        }
    }

    /// Guard intervals in nanoseconds.
    const fn guard_intervals_ns(self) -> &'static [u16] {
        match self {
            Self::A | Self::G => &[800],
            Self::N | Self::Ac => &[400, 800],
            Self::Ax | Self::Be => &[800, 1600, 3200],
        }
    }

    /// Bands that the amendment uses.
    const fn bands(self) -> &'static [Band] {
        match self {
            Self::A | Self::Ac => &[Band::Ghz5],
            Self::G => &[Band::Ghz2],
            Self::N => &[Band::Ghz2, Band::Ghz5],
            Self::Ax | Self::Be => &[Band::Ghz2, Band::Ghz5, Band::Ghz6],
        }
    }

    /// Maximum number of bytes of an A-MPDU; `None` for a and g, which have no aggregates.
    pub const fn longest_ampdu(self) -> Option<u32> {
        match self {
            Self::A | Self::G => None,
            Self::N => Some(65_535),
            Self::Ac => Some(1_048_575),
            Self::Ax => Some(6_500_631),
            Self::Be => Some(15_523_200),
        }
    }

    /// Largest block acknowledgement window in MPDUs.
    pub const fn largest_window(self) -> u32 {
        match self {
            Self::A | Self::G => 1,
            Self::N | Self::Ac => 64,
            Self::Ax => 256,
            Self::Be => 1024,
        }
    }
}

impl Band {
    /// Name of the band in scenarios.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ghz2 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
            Self::Ghz6 => "6 GHz",
        }
    }

    /// Representative frequency in the middle of the band, in hertz.
    pub const fn centre_hz(self) -> f64 {
        match self {
            Self::Ghz2 => 2.437e9,
            Self::Ghz5 => 5.5e9,
            Self::Ghz6 => 6.5e9,
        }
    }

    /// SIFS: time between the frames of an exchange.
    pub const fn sifs(self) -> SimTime {
        match self {
            Self::Ghz2 => SimTime::from_micros(10),
            Self::Ghz5 | Self::Ghz6 => SimTime::from_micros(16),
        }
    }

    /// Signal extension: time without a signal after an OFDM PPDU.
    pub(super) const fn extension(self) -> SimTime {
        SimTime::from_nanos(self.extension_ns())
    }

    const fn extension_ns(self) -> u64 {
        if matches!(self, Self::Ghz2) { 6000 } else { 0 }
    }
}

/// Data bits per symbol of 4 us of HE-SIG-B or EHT-SIG: 52 subcarriers, at the MCS of the data, at most 5.
pub(super) const fn sig_bits_per_symbol(mcs: u8) -> u64 {
    let (bits, numerator, denominator) = MCS[if mcs < 5 { mcs } else { 5 } as usize];
    52 * bits * numerator / denominator
}

fn list<T: ToString>(of: &[T]) -> String {
    of.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl Mode {
    /// Mode with these parameters. `mcs` counts from 0 for every number of streams; for a and g it is the index of the
    /// bit rate.
    ///
    /// # Errors
    /// If the standard does not have the band, width, MCS, number of streams or guard interval, or if the bits of an
    /// 802.11ac MCS do not fill whole symbols (IEEE 802.11-2020 clause 21.5: MCS 9 at 20 MHz except with 3 or 6
    /// streams, ...).
    pub fn new(
        standard: Standard,
        band: Band,
        mcs: u8,
        streams: u8,
        width_mhz: u16,
        guard_interval_ns: u16,
    ) -> Result<Self, MeshError> {
        let letters = standard.letters();
        if !standard.bands().contains(&band) {
            let bands: Vec<_> = standard.bands().iter().map(|band| band.words()).collect();
            return out_of_range("band", band.words(), format!("one of {} of 802.11{letters}", list(&bands)));
        }
        let widths = standard.widths_mhz();
        if !widths.contains(&width_mhz) || (band == Band::Ghz2 && width_mhz > 40) {
            let at = if band == Band::Ghz2 { " at 2.4 GHz" } else { "" };
            let there = widths.iter().filter(|width| band != Band::Ghz2 || **width <= 40);
            let there: Vec<u16> = there.copied().collect();
            let allowed = format!("one of {} MHz of 802.11{letters}{at}", list(&there));
            return out_of_range("width", format!("{width_mhz} MHz"), allowed);
        }
        if width_mhz == 320 && band != Band::Ghz6 {
            return out_of_range("width", "320 MHz", "at most 160 MHz outside 6 GHz");
        }
        if mcs > standard.highest_mcs() {
            let allowed = format!("at most {} of 802.11{letters}", standard.highest_mcs());
            return out_of_range("mcs", mcs, allowed);
        }
        if !(1..=standard.most_streams()).contains(&streams) {
            let allowed = format!("between 1 and {} of 802.11{letters}", standard.most_streams());
            return out_of_range("streams", streams, allowed);
        }
        if !standard.guard_intervals_ns().contains(&guard_interval_ns) {
            let allowed = format!("one of {} ns of 802.11{letters}", list(standard.guard_intervals_ns()));
            return out_of_range("guard_interval", format!("{guard_interval_ns} ns"), allowed);
        }
        let mode = Self { standard, band, mcs, streams, width_mhz, guard_interval_ns };
        if standard == Standard::Ac && !mode.fills_symbols() {
            let most = (0..mcs).rev().find(|&mcs| Self { mcs, ..mode }.fills_symbols()).unwrap_or_default();
            let of = if streams == 1 { "stream" } else { "streams" };
            let at = format!("802.11ac at {width_mhz} MHz with {streams} {of}");
            return out_of_range(
                "mcs",
                mcs,
                format!("another one: {at} has no MCS {mcs}, {most} is the next below"),
            );
        }
        Ok(mode)
    }

    /// Mode by one index: for 802.11a and g the bit rate in Mbit/s, otherwise the MCS with one stream; for 802.11n the
    /// MCS index 0 to 31 includes the number of streams.
    ///
    /// # Errors
    /// If [`new`](Self::new) refuses the parameters, or the bit rate does not exist.
    pub fn by_index(
        standard: Standard,
        band: Band,
        index: u32,
        width_mhz: u16,
        guard_interval_ns: u16,
    ) -> Result<Self, MeshError> {
        let (mcs, streams) = match standard {
            Standard::A | Standard::G => {
                let Some(place) = OFDM.iter().position(|(rate, _)| *rate == index) else {
                    return out_of_range(
                        "rate",
                        format!("{index} Mbit/s"),
                        "one of 6, 9, 12, 18, 24, 36, 48, 54",
                    );
                };
                (place as u32, 1)
            }
            Standard::N if index < 32 => (index % 8, 1 + index / 8),
            Standard::N => return out_of_range("mcs", index, "at most 31 of 802.11n"),
            _ => (index, 1),
        };
        let mcs = u8::try_from(mcs).unwrap_or(u8::MAX);
        Self::new(standard, band, mcs, streams as u8, width_mhz, guard_interval_ns)
    }

    /// Amendment of 802.11 that defines the mode.
    pub const fn standard(self) -> Standard {
        self.standard
    }

    /// Frequency band of the mode.
    pub const fn band(self) -> Band {
        self.band
    }

    /// MCS of the mode; for a and g the index of the bit rate, from 0.
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Number of spatial streams of the mode.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// Guard interval of the mode in nanoseconds.
    pub const fn guard_interval_ns(self) -> u16 {
        self.guard_interval_ns
    }

    /// Channel width of the mode in MHz.
    pub const fn width_mhz(self) -> u16 {
        self.width_mhz
    }

    /// Name in tables of error rates: `mcs-7`, or by bit rate `ofdm-54` for a and g.
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "mcs-0", "mcs-1", "mcs-2", "mcs-3", "mcs-4", "mcs-5", "mcs-6", "mcs-7", "mcs-8", "mcs-9",
            "mcs-10", "mcs-11", "mcs-12", "mcs-13",
        ];
        const OF_OFDM: [&str; 8] =
            ["ofdm-6", "ofdm-9", "ofdm-12", "ofdm-18", "ofdm-24", "ofdm-36", "ofdm-48", "ofdm-54"];
        match self.standard {
            Standard::A | Standard::G => OF_OFDM[self.mcs as usize],
            _ => NAMES[self.mcs as usize],
        }
    }

    /// Coded bits per subcarrier.
    pub fn bits_per_subcarrier(self) -> u64 {
        self.coding().0
    }

    /// Coded bits per subcarrier, and numerator and denominator of the code rate.
    fn coding(self) -> (u64, u64, u64) {
        match self.standard {
            Standard::A | Standard::G => OFDM[self.mcs as usize].1,
            _ => MCS[self.mcs as usize],
        }
    }

    /// Number of data subcarriers.
    const fn subcarriers(self) -> u64 {
        match (self.standard, self.width_mhz) {
            (Standard::A | Standard::G, _) => 48,
            (Standard::N | Standard::Ac, 20) => 52,
            (Standard::N | Standard::Ac, 40) => 108,
            (Standard::N | Standard::Ac, 80) | (_, 20) => 234,
            (Standard::N | Standard::Ac, _) | (_, 40) => 468,
            (_, 80) => 980,
            (_, 160) => 1960,
            (..) => 3920,
        }
    }

    /// Data bits per symbol, as numerator and denominator.
    fn bits_per_symbol(self) -> (u64, u64) {
        self.bits_per_symbol_of(self.subcarriers())
    }

    /// Data bits per symbol on `subcarriers` data subcarriers, as numerator and denominator.
    pub(super) fn bits_per_symbol_of(self, subcarriers: u64) -> (u64, u64) {
        let (bits, numerator, denominator) = self.coding();
        (subcarriers * bits * u64::from(self.streams) * numerator, denominator)
    }

    /// True if 802.11ac has this combination: the bits of a symbol must be whole, and divide evenly among its encoders.
    const fn fills_symbols(self) -> bool {
        !matches!(
            (self.width_mhz, self.streams, self.mcs),
            (20, 1 | 2 | 4 | 5 | 7 | 8, 9) | (80, 3 | 7, 6) | (80, 6, 9) | (160, 3, 9)
        )
    }

    /// Symbol interval in nanoseconds, guard interval included.
    fn symbol_ns(self) -> u64 {
        let transform = if self.standard >= Standard::Ax { 12_800 } else { 3_200 };
        transform + u64::from(self.guard_interval_ns)
    }

    /// Bit rate of the mode in bit/s.
    pub fn rate_bps(self) -> f64 {
        let (bits, of) = self.bits_per_symbol();
        bits as f64 / of as f64 / self.symbol_ns() as f64 * 1e9
    }

    /// Duration of the preamble with its signalling fields.
    pub fn preamble(self, durations: Durations) -> SimTime {
        // Number of long training fields: 1, 2, 4, 4, 6, 6, 8, 8 for 1 to 8 streams.
        let streams = u64::from(self.streams);
        let training = if streams <= 2 { streams } else { streams.next_multiple_of(2) } - 1;
        let micros = match self.standard {
            Standard::A | Standard::G => 20,
            Standard::N => 36 + 4 * training,
            Standard::Ac if durations == Durations::Ns3 => 36 + 4 * training,
            Standard::Ac => 40 + 4 * training,
            Standard::Ax => 44 + 8 * training,
            Standard::Be => 44 + 8 * training + 4 * self.sig_symbols(),
        };
        SimTime::from_micros(micros)
    }

    /// Number of symbols of EHT-SIG for one user as ns-3 counts them: an allocation field per 40 MHz, one for the
    /// centre from 80 MHz on, and a user field, each part with CRC and tail, at the modulation and code rate of the
    /// data up to MCS 5.
    fn sig_symbols(self) -> u64 {
        let width = u64::from(self.width_mhz);
        let common = 10 + if width <= 40 { 8 } else { 8 * (width / 40) + 1 };
        (common + 31).div_ceil(sig_bits_per_symbol(self.mcs))
    }

    /// Duration of a PPDU with a PSDU of `bytes`, signal extension at 2.4 GHz included.
    pub fn ppdu(self, bytes: u32, durations: Durations) -> SimTime {
        let (per_symbol, of) = self.bits_per_symbol();
        let symbols = ((16 + 8 * u64::from(bytes) + 6) * of).div_ceil(per_symbol);
        let mut payload = symbols * self.symbol_ns();
        if durations == Durations::Standard && self.guard_interval_ns == 400 {
            payload = payload.next_multiple_of(4000);
        }
        self.preamble(durations) + SimTime::from_nanos(payload + self.band.extension_ns())
    }

    /// Maximum number of bytes of the PSDU in a PPDU that lasts at most `time`; 0 if not even an empty one fits.
    pub fn bytes_within(self, time: SimTime) -> u64 {
        let fixed = self.preamble(Durations::Standard) + SimTime::from_nanos(self.band.extension_ns());
        let mut room = time.saturating_sub(fixed).as_nanos();
        if self.guard_interval_ns == 400 {
            room -= room % 4000;
        }
        let (per_symbol, of) = self.bits_per_symbol();
        ((room / self.symbol_ns() * per_symbol / of).saturating_sub(22)) / 8
    }

    /// Mode of control frames next to this mode: OFDM at the highest basic rate, 6, 12 or 24 Mbit/s, that is not above
    /// the 802.11a rate with its modulation and code rate (non-HT reference rate, IEEE 802.11-2020 clause 10.6.12). So
    /// answers are decoded wherever the data are.
    #[must_use]
    pub fn control(self) -> Self {
        let mcs = match self.coding() {
            (1, ..) => 0,
            (2, ..) => 2,
            _ => 4,
        };
        self.ofdm(mcs)
    }

    /// Mode in which a station acknowledges data in an RU: one spatial stream with the modulation of
    /// [`control`](Self::control) at code rate 1/2.
    #[must_use]
    pub(super) fn response(self) -> Self {
        let mcs = match self.coding() {
            (1, ..) => 0,
            (2, ..) => 1,
            _ => 3,
        };
        Self { mcs, streams: 1, ..self }
    }

    /// OFDM at 6 Mbit/s in the band of this mode.
    #[must_use]
    pub fn slowest_control(self) -> Self {
        self.ofdm(0)
    }

    /// OFDM at 12 Mbit/s in the band of this mode.
    #[must_use]
    pub(super) fn middle_control(self) -> Self {
        self.ofdm(2)
    }

    /// OFDM at 24 Mbit/s in the band of this mode.
    #[must_use]
    pub(super) fn fastest_control(self) -> Self {
        self.ofdm(4)
    }

    fn ofdm(self, mcs: u8) -> Self {
        let standard = if self.band == Band::Ghz2 { Standard::G } else { Standard::A };
        Self { standard, mcs, streams: 1, width_mhz: 20, guard_interval_ns: 800, band: self.band }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(standard: Standard, mcs: u8, streams: u8, width: u16, guard: u16) -> Mode {
        let band = match standard {
            Standard::G => Band::Ghz2,
            Standard::Be => Band::Ghz6,
            _ => Band::Ghz5,
        };
        Mode::new(standard, band, mcs, streams, width, guard).unwrap()
    }

    /// Bit rates in Mbit/s equal those printed in the standards' tables, rounded to a tenth.
    #[test]
    fn rates_are_those_of_the_standards() {
        let check = |standard, width, guard, expected: &[f64]| {
            for (mcs, rate) in (0..).zip(expected) {
                let found = mode(standard, mcs, 1, width, guard).rate_bps() / 1e6;
                assert!(
                    (found - rate).abs() <= 0.0501,
                    "{standard:?} {width} MHz MCS {mcs}: {found} for {rate}"
                );
            }
        };
        check(Standard::A, 20, 800, &[6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0]);
        check(Standard::N, 20, 800, &[6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        check(Standard::Ac, 80, 800, &[29.3, 58.5, 87.8, 117.0, 175.5, 234.0, 263.3, 292.5, 351.0, 390.0]);
        let he20 = [8.6, 17.2, 25.8, 34.4, 51.6, 68.8, 77.4, 86.0, 103.2, 114.7, 129.0, 143.4, 154.9, 172.1];
        check(Standard::Be, 20, 800, &he20);
        check(Standard::Ax, 20, 800, &he20[..12]);
        let he80 =
            [36.0, 72.1, 108.1, 144.1, 216.2, 288.2, 324.3, 360.3, 432.4, 480.4, 540.4, 600.5, 648.5, 720.6];
        check(Standard::Be, 80, 800, &he80);
        assert!((mode(Standard::N, 7, 4, 40, 400).rate_bps() - 600e6).abs() < 1.0);
    }

    /// Control frames of 20, 14, 24 and 32 octets are sent at 6, 12 and 24 Mbit/s with the durations computed by hand.
    #[test]
    fn control_frames_go_at_basic_rates() {
        let us = |bytes: u32, fast: Mode| fast.control().ppdu(bytes, Durations::Standard).as_nanos() / 1000;
        let [slow, middle, fast] = [0, 1, 4].map(|mcs| mode(Standard::Ax, mcs, 1, 20, 800));
        for (bytes, expected) in
            [(20, [52, 36, 28]), (14, [44, 32, 28]), (24, [56, 40, 32]), (32, [68, 44, 32])]
        {
            assert_eq!([slow, middle, fast].map(|fast| us(bytes, fast)), expected, "{bytes} bytes");
        }
        for (bytes, expected) in [(56, [100, 60, 40]), (88, [144, 84, 52]), (152, [228, 124, 72])] {
            assert_eq!([slow, middle, fast].map(|fast| us(bytes, fast)), expected, "{bytes} bytes");
        }
    }

    #[test]
    fn what_fits_is_what_lasts_no_longer() {
        let longest = SimTime::from_micros(5484);
        for standard in [Standard::N, Standard::Ac, Standard::Ax, Standard::Be] {
            for &width in standard.widths_mhz() {
                for &guard in standard.guard_intervals_ns() {
                    for mode in (0..=standard.highest_mcs()).filter_map(|mcs| {
                        let band = if standard == Standard::Be { Band::Ghz6 } else { Band::Ghz5 };
                        Mode::new(standard, band, mcs, 1, width, guard).ok()
                    }) {
                        let bytes = mode.bytes_within(longest) as u32;
                        let last = |bytes| mode.ppdu(bytes, Durations::Standard);
                        assert!(last(bytes) <= longest && last(bytes + 1) > longest, "{mode:?}: {bytes}");
                    }
                }
            }
        }
    }

    /// Modes of 802.11ac whose symbols have no whole number of bits are refused, and only these.
    #[test]
    fn modes_that_do_not_fill_symbols_are_refused() {
        let mut missing = 0;
        for width in [20, 40, 80, 160] {
            for (streams, mcs) in (1..=8).flat_map(|streams| (0..=9).map(move |mcs| (streams, mcs))) {
                match Mode::new(Standard::Ac, Band::Ghz5, mcs, streams, width, 800) {
                    Ok(mode) => {
                        let (bits, of) = mode.bits_per_symbol();
                        assert_eq!(bits % of, 0, "{mode:?}");
                    }
                    Err(_) => missing += 1,
                }
            }
        }
        assert_eq!(missing, 10);
        let said = Mode::new(Standard::Ac, Band::Ghz5, 9, 1, 20, 800).unwrap_err().to_string();
        assert_eq!(
            said,
            "mcs = 9: must be another one: 802.11ac at 20 MHz with 1 stream has no MCS 9, 8 is the next below"
        );
    }

    #[test]
    fn what_no_standard_has_is_refused_in_a_line() {
        for (standard, band, mcs, streams, width, guard, said) in [
            (Standard::N, Band::Ghz5, 8, 1, 20, 800, "mcs = 8: must be at most 7 of 802.11n"),
            (Standard::N, Band::Ghz5, 7, 5, 20, 800, "streams = 5: must be between 1 and 4 of 802.11n"),
            (Standard::N, Band::Ghz5, 7, 1, 80, 800, "width = 80 MHz: must be one of 20, 40 MHz of 802.11n"),
            (
                Standard::Ax,
                Band::Ghz2,
                7,
                1,
                80,
                800,
                "width = 80 MHz: must be one of 20, 40 MHz of 802.11ax at 2.4 GHz",
            ),
            (
                Standard::Be,
                Band::Ghz5,
                7,
                1,
                320,
                800,
                "width = 320 MHz: must be at most 160 MHz outside 6 GHz",
            ),
            (
                Standard::Ax,
                Band::Ghz5,
                7,
                1,
                80,
                400,
                "guard_interval = 400 ns: must be one of 800, 1600, 3200 ns of 802.11ax",
            ),
            (Standard::Ac, Band::Ghz2, 7, 1, 20, 800, "band = 2.4 GHz: must be one of 5 GHz of 802.11ac"),
        ] {
            let error = Mode::new(standard, band, mcs, streams, width, guard).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
        assert!(Mode::by_index(Standard::A, Band::Ghz5, 11, 20, 800).is_err());
        assert!(Standard::parse("b").is_err());
    }

    /// VHT-SIG-B and the end of short guard intervals are the only differences between the durations of the standard
    /// and of ns-3.
    #[test]
    fn the_standard_rounds_short_guard_intervals_and_sends_sig_b() {
        let short = mode(Standard::Ac, 9, 1, 80, 400);
        assert_eq!(short.ppdu(1536, Durations::Ns3), SimTime::from_nanos(64_800));
        assert_eq!(short.ppdu(1536, Durations::Standard), SimTime::from_micros(40 + 32));
        let long = mode(Standard::Ac, 9, 1, 80, 800);
        assert_eq!(
            long.ppdu(1536, Durations::Standard),
            long.ppdu(1536, Durations::Ns3) + SimTime::from_micros(4)
        );
    }
}
