//! Power delay profiles of multipath channels.

use crate::error::{ChannelError, out_of_range};
use crossfade_core::square;
use crossfade_core::{OutOfRange, from_db};

/// Greatest number of paths of a multipath profile.
pub const MOST_TAPS: usize = 32;

/// One path of a multipath channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// Delay behind the first path, in seconds.
    pub delay_s: f64,
    /// Share of the channel's power that the path carries.
    pub power: f64,
}

/// Power delay profile: the delays and powers of independent Rayleigh paths; the powers add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayProfile {
    taps: Vec<Tap>,
}

/// Paths of a tapped delay line: delay in units of the delay spread, and power in dB.
type Tdl = &'static [(f64, f64)];

/// Paths of TDL-A: 3GPP TR 38.901, table 7.7.2-1.
const TDL_A: Tdl = &[
    (0.0, -13.4),
    (0.3819, 0.0),
    (0.4025, -2.2),
    (0.5868, -4.0),
    (0.4610, -6.0),
    (0.5375, -8.2),
    (0.6708, -9.9),
    (0.5750, -10.5),
    (0.7618, -7.5),
    (1.5375, -15.9),
    (1.8978, -6.6),
    (2.2242, -16.7),
    (2.1718, -12.4),
    (2.4942, -15.2),
    (2.5119, -10.8),
    (3.0582, -11.3),
    (4.0810, -12.7),
    (4.4579, -16.2),
    (4.5695, -18.3),
    (4.7966, -18.9),
    (5.0066, -16.6),
    (5.3043, -19.9),
    (9.6586, -29.7),
];

/// Paths of TDL-B: 3GPP TR 38.901, table 7.7.2-2.
const TDL_B: Tdl = &[
    (0.0, 0.0),
    (0.1072, -2.2),
    (0.2155, -4.0),
    (0.2095, -3.2),
    (0.2870, -9.8),
    (0.2986, -1.2),
    (0.3752, -3.4),
    (0.5055, -5.2),
    (0.3681, -7.6),
    (0.3697, -3.0),
    (0.5700, -8.9),
    (0.5283, -9.0),
    (1.1021, -4.8),
    (1.2756, -5.7),
    (1.5474, -7.5),
    (1.7842, -1.9),
    (2.0169, -7.6),
    (2.8294, -12.2),
    (3.0219, -9.8),
    (3.6187, -11.4),
    (4.1067, -14.9),
    (4.2790, -9.2),
    (4.7834, -11.3),
];

/// Paths of TDL-C: 3GPP TR 38.901, table 7.7.2-3.
#[expect(clippy::approx_constant, reason = "0.6366 is a delay")]
const TDL_C: Tdl = &[
    (0.0, -4.4),
    (0.2099, -1.2),
    (0.2219, -3.5),
    (0.2329, -5.2),
    (0.2176, -2.5),
    (0.6366, 0.0),
    (0.6448, -2.2),
    (0.6560, -3.9),
    (0.6584, -7.4),
    (0.7935, -7.1),
    (0.8213, -10.7),
    (0.9336, -11.1),
    (1.2285, -5.1),
    (1.3083, -6.8),
    (2.1704, -8.7),
    (2.7105, -13.2),
    (4.2589, -13.9),
    (4.6003, -13.9),
    (5.4902, -15.8),
    (5.6077, -17.1),
    (6.3065, -16.0),
    (6.6374, -15.7),
    (7.0427, -21.6),
    (8.6523, -22.8),
];

/// Standard power delay profile, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NamedProfile {
    /// Typical urban fading at taps 0.2 us apart, ten of twelve with power (Alfredsson, Brunstrom and Sternad 2007,
    /// section 3.4).
    TypicalUrban,
    /// Extended Pedestrian A, 3GPP TS 36.104, table B.2-1.
    Epa,
    /// Extended Vehicular A, 3GPP TS 36.104, table B.2-2.
    Eva,
    /// Extended Typical Urban, 3GPP TS 36.104, table B.2-3.
    Etu,
    /// TDL-A of 3GPP TR 38.901 with a delay spread in seconds.
    TdlA(f64),
    /// TDL-B of 3GPP TR 38.901 with a delay spread in seconds.
    TdlB(f64),
    /// TDL-C of 3GPP TR 38.901 with a delay spread in seconds.
    TdlC(f64),
}

impl DelayProfile {
    /// Creates a profile from delays in seconds, in increasing order, and powers in dB, which are normalised to add up
    /// to 1.
    ///
    /// # Errors
    /// If the lists are empty, differ in length or have more than [`MOST_TAPS`] entries, a delay is negative, below the
    /// one before or above 1 ms, or a power is outside [-100, 100] dB.
    pub fn new(delays_s: &[f64], powers_db: &[f64]) -> Result<Self, ChannelError> {
        let refuse = |parameter, value: String, allowed: String| {
            Err(OutOfRange::new(parameter, value, allowed).into())
        };
        if delays_s.is_empty() || delays_s.len() > MOST_TAPS {
            return refuse("delays_ns", format!("{} of them", delays_s.len()), format!("1 to {MOST_TAPS}"));
        }
        if delays_s.len() != powers_db.len() {
            return refuse(
                "powers_db",
                format!("{} of them", powers_db.len()),
                format!("{}, as delays_ns", delays_s.len()),
            );
        }
        // Rounded, since a nanosecond is no binary fraction of a second.
        let nanos = |seconds: f64| ((seconds * 1e15).round() / 1e6).to_string();
        let mut before = 0.0;
        for &delay in delays_s {
            if !(before..=1e-3).contains(&delay) {
                return refuse(
                    "delays_ns",
                    nanos(delay),
                    format!("sorted, here between {} and 1e6", nanos(before)),
                );
            }
            before = delay;
        }
        if let Some(&power) = powers_db.iter().find(|power| !(-100.0..=100.0).contains(*power)) {
            return Err(out_of_range("powers_db", power, "between -100 and 100"));
        }
        Ok(Self::normalised(delays_s.iter().copied().zip(powers_db.iter().copied())))
    }

    /// Creates the profile with the given name.
    ///
    /// # Errors
    /// If the delay spread is outside [0, 10 us].
    pub fn named(name: NamedProfile) -> Result<Self, ChannelError> {
        let nanos = |taps: &[(u32, f64)]| {
            Ok(Self::normalised(taps.iter().map(|&(delay, power)| (f64::from(delay) * 1e-9, power))))
        };
        let tdl = |taps: Tdl, spread: f64| {
            if !(0.0..=1e-5).contains(&spread) {
                return Err(out_of_range("delay_spread", spread, "between 0 and 10 us"));
            }
            Ok(Self::normalised(taps.iter().map(|&(delay, power)| (delay * spread, power))))
        };
        match name {
            NamedProfile::TypicalUrban => nanos(&[
                (0, -5.7),
                (200, -7.6),
                (600, -4.4428),
                (800, -13.4),
                (1200, -13.5793),
                (1400, -14.2371),
                (1600, -14.4794),
                (1800, -16.9543),
                (2000, -20.0164),
                (2200, -24.3),
            ]),
            NamedProfile::Epa => nanos(&[
                (0, 0.0),
                (30, -1.0),
                (70, -2.0),
                (90, -3.0),
                (110, -8.0),
                (190, -17.2),
                (410, -20.8),
            ]),
            NamedProfile::Eva => nanos(&[
                (0, 0.0),
                (30, -1.5),
                (150, -1.4),
                (310, -3.6),
                (370, -0.6),
                (710, -9.1),
                (1090, -7.0),
                (1730, -12.0),
                (2510, -16.9),
            ]),
            NamedProfile::Etu => nanos(&[
                (0, -1.0),
                (50, -1.0),
                (120, -1.0),
                (200, 0.0),
                (230, 0.0),
                (500, 0.0),
                (1600, -3.0),
                (2300, -5.0),
                (5000, -7.0),
            ]),
            NamedProfile::TdlA(spread) => tdl(TDL_A, spread),
            NamedProfile::TdlB(spread) => tdl(TDL_B, spread),
            NamedProfile::TdlC(spread) => tdl(TDL_C, spread),
        }
    }

    fn normalised(taps: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut taps: Vec<Tap> = taps.map(|(delay_s, db)| Tap { delay_s, power: from_db(db) }).collect();
        let total: f64 = taps.iter().map(|tap| tap.power).sum();
        for tap in &mut taps {
            tap.power /= total;
        }
        Self { taps }
    }

    /// Paths of the profile, in order of delay.
    pub fn taps(&self) -> &[Tap] {
        &self.taps
    }

    /// Root mean square delay spread in seconds.
    fn delay_spread_s(&self) -> f64 {
        let mean: f64 = self.taps.iter().map(|tap| tap.power * tap.delay_s).sum();
        let of_squares: f64 = self.taps.iter().map(|tap| tap.power * square(tap.delay_s)).sum();
        (of_squares - square(mean)).max(0.0).sqrt()
    }

    /// Bandwidth in Hz over which the gain stays correlated by 0.5 or more, by the usual rule 1 / (5 x delay spread);
    /// infinite for a single path.
    pub fn coherence_bandwidth_hz(&self) -> f64 {
        1.0 / (5.0 * self.delay_spread_s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_add_up_to_one_and_spreads_are_those_of_the_standards() {
        // TS 36.104, table B.2: 45, 357 and 991 ns (printed for EPA 43); TR 38.901 scales to a spread of 1.
        for (name, spread_s, within) in [
            (NamedProfile::Epa, 43e-9, 2e-9),
            (NamedProfile::Eva, 357e-9, 1e-9),
            (NamedProfile::Etu, 991e-9, 1e-9),
            (NamedProfile::TdlA(1e-7), 1e-7, 1e-10),
            (NamedProfile::TdlB(1e-7), 1e-7, 1e-10),
            (NamedProfile::TdlC(1e-7), 1e-7, 1e-10),
        ] {
            let profile = DelayProfile::named(name).unwrap();
            let total: f64 = profile.taps().iter().map(|tap| tap.power).sum();
            assert!((total - 1.0).abs() < 1e-12);
            let got = profile.delay_spread_s();
            assert!((got - spread_s).abs() < within, "{name:?}: {got:e}");
        }
        let urban = DelayProfile::named(NamedProfile::TypicalUrban).unwrap();
        assert_eq!(urban.taps().len(), 10);
    }

    #[test]
    fn bad_profiles_are_refused() {
        let error =
            |delays: &[f64], powers: &[f64]| DelayProfile::new(delays, powers).unwrap_err().to_string();
        assert_eq!(
            error(&[0.0, 2e-6, 1e-6], &[0.0; 3]),
            "delays_ns = 1000: must be sorted, here between 2000 and 1e6"
        );
        assert_eq!(error(&[0.0, 1e-6], &[0.0]), "powers_db = 1 of them: must be 2, as delays_ns");
        assert_eq!(error(&[], &[]), "delays_ns = 0 of them: must be 1 to 32");
        assert_eq!(error(&[0.0], &[f64::NAN]), "powers_db = NaN: must be between -100 and 100");
        assert!(DelayProfile::named(NamedProfile::TdlA(1.0)).is_err());
    }
}
