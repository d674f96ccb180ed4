//! Times and rates with units, as other tools write them.

use crossfade_core::SimTime;

/// Greatest time in ns: 100 years.
const LONGEST_NS: f64 = 3.2e18;
/// Greatest rate in bit/s: whole numbers up to here are exact, and no link is faster.
const FASTEST_BPS: f64 = 1e15;

/// Units with their factors: to ns for times, to bit/s for rates.
pub(super) type Units = &'static [(&'static str, f64)];

/// Units of time of `tc`; a number alone is in microseconds.
pub(super) const TC_TIMES: Units = &[
    ("", 1e3),
    ("s", 1e9),
    ("sec", 1e9),
    ("secs", 1e9),
    ("ms", 1e6),
    ("msec", 1e6),
    ("msecs", 1e6),
    ("us", 1e3),
    ("usec", 1e3),
    ("usecs", 1e3),
    ("ns", 1.0),
    ("nsec", 1.0),
    ("nsecs", 1.0),
];

/// Units of rates in `tc`, where `bps` is bytes per second; a number without a unit is in bit/s.
pub(super) const TC_RATES: Units = &[
    ("", 1.0),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
    ("kibit", 1024.0),
    ("mibit", 1_048_576.0),
    ("gibit", 1_073_741_824.0),
    ("bps", 8.0),
    ("kbps", 8e3),
    ("mbps", 8e6),
    ("gbps", 8e9),
    ("kibps", 8192.0),
    ("mibps", 8_388_608.0),
];

/// Units of time of the command `sleep`; a number alone is in seconds.
pub(super) const SLEEPS: Units = &[("", 1e9), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("d", 86_400e9)];

/// Units of time of ns-3; a number alone is in seconds.
pub(super) const NS3_TIMES: Units =
    &[("", 1e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("min", 60e9), ("h", 3600e9)];

/// Units of rates in ns-3: `B` is a byte, `b` a bit.
pub(super) const NS3_RATES: Units = &[
    ("bps", 1.0),
    ("b/s", 1.0),
    ("Bps", 8.0),
    ("B/s", 8.0),
    ("kbps", 1e3),
    ("kb/s", 1e3),
    ("Kbps", 1e3),
    ("Kb/s", 1e3),
    ("kBps", 8e3),
    ("kB/s", 8e3),
    ("Mbps", 1e6),
    ("Mb/s", 1e6),
    ("MBps", 8e6),
    ("MB/s", 8e6),
    ("Gbps", 1e9),
    ("Gb/s", 1e9),
    ("GBps", 8e9),
    ("GB/s", 8e9),
];

/// Units of time of the crate humantime.
pub(super) const HUMAN_TIMES: Units = &[
    ("nsec", 1.0),
    ("ns", 1.0),
    ("usec", 1e3),
    ("us", 1e3),
    ("msec", 1e6),
    ("ms", 1e6),
    ("seconds", 1e9),
    ("second", 1e9),
    ("sec", 1e9),
    ("s", 1e9),
    ("minutes", 60e9),
    ("minute", 60e9),
    ("min", 60e9),
    ("mins", 60e9),
    ("m", 60e9),
    ("hours", 3600e9),
    ("hour", 3600e9),
    ("hr", 3600e9),
    ("hrs", 3600e9),
    ("h", 3600e9),
    ("days", 86_400e9),
    ("day", 86_400e9),
    ("d", 86_400e9),
];

/// Units of rate of the crate human-bandwidth.
pub(super) const HUMAN_RATES: Units = &[
    ("bps", 1.0),
    ("bit/s", 1.0),
    ("b/s", 1.0),
    ("kbps", 1e3),
    ("kbit/s", 1e3),
    ("kb/s", 1e3),
    ("Mbps", 1e6),
    ("Mbit/s", 1e6),
    ("Mb/s", 1e6),
    ("Gbps", 1e9),
    ("Gbit/s", 1e9),
    ("Gb/s", 1e9),
    ("Tbps", 1e12),
    ("Tbit/s", 1e12),
    ("Tb/s", 1e12),
];

/// Value of a number followed by one of the units; `None` if it is no such quantity.
pub(super) fn quantity(text: &str, units: Units) -> Option<f64> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let value = number.parse::<f64>().ok()? * scale;
    value.is_finite().then_some(value)
}

/// Sum of several numbers with units, such as `1s 500ms`; `None` if the text is no such sum.
pub(super) fn sum(text: &str, units: Units) -> Option<f64> {
    let (mut total, mut left) = (0.0, text.trim());
    if left.is_empty() {
        return None;
    }
    while !left.is_empty() {
        let unit = left.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let end = left[unit..].find(|c: char| c.is_ascii_digit()).map_or(left.len(), |end| unit + end);
        total += quantity(left[..end].trim_end(), units)?;
        left = left[end..].trim_start();
    }
    Some(total)
}

/// Time from a number of ns; `None` above 100 years.
pub(super) fn time(nanos: Option<f64>) -> Option<SimTime> {
    nanos
        .map(f64::round)
        .filter(|nanos| (0.0..=LONGEST_NS).contains(nanos))
        .map(|nanos| SimTime::from_nanos(nanos as u64))
}

/// Rate in bit/s; `None` above 10^15.
pub(super) fn rate(bps: Option<f64>) -> Option<f64> {
    bps.filter(|bps| (0.0..=FASTEST_BPS).contains(bps))
}

/// Text of a time that `tc` and humantime read as exactly this time.
pub(super) fn time_text(time: SimTime) -> String {
    let nanos = time.as_nanos();
    let (number, unit) = match nanos {
        _ if nanos.is_multiple_of(1_000_000_000) => (nanos / 1_000_000_000, "s"),
        _ if nanos.is_multiple_of(1_000_000) => (nanos / 1_000_000, "ms"),
        _ if nanos.is_multiple_of(1000) => (nanos / 1000, "us"),
        _ => (nanos, "ns"),
    };
    format!("{number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_its_units() {
        assert_eq!(quantity("20mbit", TC_RATES), Some(20e6));
        assert_eq!(quantity("1mbps", TC_RATES), Some(8e6));
        assert_eq!(quantity("10Mbps", NS3_RATES), Some(10e6));
        assert_eq!(quantity("10MBps", NS3_RATES), Some(80e6));
        assert_eq!(quantity("40", TC_TIMES), Some(40e3));
        assert_eq!(quantity("15ms", NS3_TIMES), Some(15e6));
        assert_eq!(sum("1Gbps 200Mbps", HUMAN_RATES), Some(1.2e9));
        assert_eq!(sum("1s500ms", HUMAN_TIMES), Some(1.5e9));
        for wrong in ["", "ms", "-1ms", "1 lightyear", "1..2s", "1e3s", "\u{e4}"] {
            assert_eq!((quantity(wrong, NS3_TIMES), sum(wrong, HUMAN_TIMES)), (None, None), "{wrong}");
        }
        assert_eq!(time(Some(1e19)), None);
        assert_eq!(
            ["1s", "1500ms", "7us", "9ns"].map(|text| time_text(time(sum(text, HUMAN_TIMES)).unwrap())),
            ["1s", "1500ms", "7us", "9ns"]
        );
    }
}
