//! Quantities with a unit as text: `"64 kbit/s"`, `"100 ms"`, `"12 dB"`, `"1 %"`, `"30 B"`, `"100 slots"`.
//!
//! A quantity is a number and a unit, with or without a space between. Decimal prefixes are powers of 1000; `KiB` and
//! `MiB` are powers of 1024. A number without a unit is an error, because units are what users most often get wrong.

use crate::SimTime;
use thiserror::Error;

/// Error of a text that is no valid quantity. The message names what is allowed, with examples.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected {expected}")]
pub struct UnitError {
    /// Allowed forms with examples, worded for the message.
    pub expected: &'static str,
}

/// Time span, absolute or as a number of slots (packet transmission times).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// Absolute time.
    Time(SimTime),
    /// Number of slots (packet transmission times).
    Slots(f64),
}

impl Span {
    /// Absolute time of the span, given the length `slot` of a slot (packet transmission time).
    pub fn resolve(self, slot: SimTime) -> SimTime {
        match self {
            Self::Time(time) => time,
            Self::Slots(slots) => SimTime::from_nanos((slots * slot.as_nanos() as f64).round() as u64),
        }
    }
}

const SPAN: &str = "a time such as \"100 ms\", \"2 s\" or \"100 slots\"";
const TIME: &str = "a time such as \"100 ms\", \"20 us\" or \"2 s\"";
const RATE: &str = "a positive bit rate such as \"64 kbit/s\" or \"1.5 Mbit/s\"";
const SPEED: &str = "a speed above 0 such as \"3 km/h\" or \"1.5 m/s\"";
const FREQUENCY: &str = "a frequency above 0 such as \"2 GHz\" or \"900 MHz\"";
const SYMBOL_RATE: &str = "a positive symbol rate such as \"8 kBd\" or \"1 MBd\"";
const SIZE: &str = "a whole number of bytes such as \"1400 B\" or \"64 KiB\"";
const RATIO: &str = "a share such as \"1 %\" or 0.01";

/// Parses a time in ns, us, ms, s, min or h, or a number of slots (packet transmission times).
///
/// # Errors
/// Any other text, or a number that is negative or not finite.
pub fn parse_span(text: &str) -> Result<Span, UnitError> {
    let (number, unit) = split(text).ok_or(UnitError { expected: SPAN })?;
    match unit {
        "slot" | "slots" if number >= 0.0 => Ok(Span::Slots(number)),
        _ => seconds(number, unit).map(Span::Time).ok_or(UnitError { expected: SPAN }),
    }
}

/// Parses a time in ns, us, ms, s, min or h.
///
/// # Errors
/// Any other text, or a number that is negative or not finite.
pub fn parse_time(text: &str) -> Result<SimTime, UnitError> {
    split(text).and_then(|(number, unit)| seconds(number, unit)).ok_or(UnitError { expected: TIME })
}

/// Parses a bit rate in bit/s, kbit/s, Mbit/s or Gbit/s; the result is in bit/s.
///
/// # Errors
/// Any other text, or a number that is not positive.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let error = UnitError { expected: RATE };
    let (number, unit) = split(text).ok_or(error.clone())?;
    let scale = match unit {
        "bit/s" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        _ => return Err(error),
    };
    if number > 0.0 { Ok(number * scale) } else { Err(error) }
}

/// Parses a speed in m/s or km/h; the result is in m/s.
///
/// # Errors
/// Any other text, or a number that is not positive.
pub fn parse_speed(text: &str) -> Result<f64, UnitError> {
    positive(text, SPEED, &[("m/s", 1.0), ("km/h", 1.0 / 3.6)])
}

/// Parses a frequency in Hz, kHz, MHz or GHz; the result is in Hz.
///
/// # Errors
/// Any other text, or a number that is not positive.
pub fn parse_frequency(text: &str) -> Result<f64, UnitError> {
    positive(text, FREQUENCY, &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)])
}

/// Parses a number above 0 in one of `units`.
fn positive(text: &str, expected: &'static str, units: &[(&str, f64)]) -> Result<f64, UnitError> {
    let error = UnitError { expected };
    let (number, unit) = split(text).ok_or(error.clone())?;
    let (_, scale) = units.iter().find(|(name, _)| *name == unit).ok_or(error.clone())?;
    let value = number * scale;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(error) }
}

/// Parses a symbol rate in baud (`Bd`, `kBd`, `MBd` or `GBd`); the result is in symbols (channel uses) per second.
///
/// # Errors
/// Any other text, or a number that is not positive.
pub fn parse_symbol_rate(text: &str) -> Result<f64, UnitError> {
    let error = UnitError { expected: SYMBOL_RATE };
    let (number, unit) = split(text).ok_or(error.clone())?;
    let scale = match unit {
        "Bd" => 1.0,
        "kBd" => 1e3,
        "MBd" => 1e6,
        "GBd" => 1e9,
        _ => return Err(error),
    };
    if number > 0.0 { Ok(number * scale) } else { Err(error) }
}

/// Parses a size in B, kB, MB, KiB or MiB; the result is in bytes.
///
/// # Errors
/// Any other text, a fraction of a byte, or 4 GiB and more.
pub fn parse_size(text: &str) -> Result<u32, UnitError> {
    let error = UnitError { expected: SIZE };
    let (number, unit) = split(text).ok_or(error.clone())?;
    let scale = match unit {
        "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        _ => return Err(error),
    };
    let bytes = number * scale;
    if bytes.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&bytes) {
        Ok(bytes as u32)
    } else {
        Err(error)
    }
}

/// Parses a share in per cent (`"1 %"`) or as a plain number (`"0.01"`). The caller checks the range.
///
/// # Errors
/// Any other text.
pub fn parse_ratio(text: &str) -> Result<f64, UnitError> {
    let error = UnitError { expected: RATIO };
    let (number, unit) = split(text).ok_or(error.clone())?;
    match unit {
        "%" => Ok(number / 100.0),
        "" => Ok(number),
        _ => Err(error),
    }
}

/// Splits a quantity into its leading number and the trimmed rest.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // "1e6 bit/s": the exponent belongs to the number, so try the longest prefix that is one.
    let digits = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(text.len());
    (1..=digits).rev().find_map(|end| {
        let number: f64 = text.get(..end)?.parse().ok()?;
        number.is_finite().then(|| (number, text[end..].trim_start()))
    })
}

fn seconds(number: f64, unit: &str) -> Option<SimTime> {
    let nanos_each = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let nanos = (number * nanos_each).round();
    // Beyond 2^63 ns (292 years) sums could overflow.
    (0.0..9.2e18).contains(&nanos).then(|| SimTime::from_nanos(nanos as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_of_the_field_are_read() {
        assert_eq!(parse_rate("64 kbit/s"), Ok(64_000.0));
        assert_eq!(parse_rate("1.5Mbit/s"), Ok(1.5e6));
        assert_eq!(parse_rate("1e6 bit/s"), Ok(1e6));
        assert_eq!(parse_time("100 ms"), Ok(SimTime::from_millis(100)));
        assert_eq!(parse_time("0 s"), Ok(SimTime::ZERO));
        assert_eq!(parse_span("100 slots"), Ok(Span::Slots(100.0)));
        assert_eq!(parse_span("2 min"), Ok(Span::Time(SimTime::from_millis(120_000))));
        assert_eq!(parse_speed("3 km/h").map(|speed| (speed * 3.6).round()), Ok(3.0));
        assert_eq!(parse_speed("13.5 m/s"), Ok(13.5));
        assert_eq!(parse_frequency("2 GHz"), Ok(2e9));
        assert_eq!(parse_size("30 B"), Ok(30));
        assert_eq!(parse_size("1.5 kB"), Ok(1500));
        assert_eq!(parse_ratio("1 %"), Ok(0.01));
        assert_eq!(parse_ratio("0.25"), Ok(0.25));
    }

    #[test]
    fn a_missing_or_wrong_unit_is_refused() {
        for text in ["100", "", "ms", "1 Mbps", "-1 Mbit/s", "0 bit/s", "nan bit/s", "1e999 bit/s"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        for text in ["5", "-1 ms", "5 slots", "1e30 s", "1 m s"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert!(["3", "0 km/h", "3 kmh"].iter().all(|text| parse_speed(text).is_err()));
        assert!(["2", "0 Hz", "2 Ghz"].iter().all(|text| parse_frequency(text).is_err()));
        for text in ["1.5 B", "-1 B", "5 GB", "1 b"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert!(parse_span("-1 slots").is_err());
        assert!(parse_ratio("1 dB").is_err());
    }

    #[test]
    fn slots_become_time() {
        assert_eq!(Span::Slots(100.0).resolve(SimTime::from_micros(7)), SimTime::from_micros(700));
        assert_eq!(Span::Time(SimTime::MAX).resolve(SimTime::ZERO), SimTime::MAX);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = (parse_rate(&text), parse_time(&text), parse_span(&text), parse_size(&text), parse_ratio(&text));
        }
    }
}
