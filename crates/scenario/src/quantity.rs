//! Types for the values of a scenario that carry a unit.
//!
//! Each type reads the texts of [`crossfade_core::units`], keeps the quantity, and writes it in one canonical form:
//! `"0.1 s"` and `"100 ms"` are the same delay and make the same run.

use crossfade_core::{SimTime, units};
use crossfade_link::QueueLimit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

mod number_or_word;

pub use number_or_word::{FrameWindow, FromNode, Retransmissions, Share, Window, WindowLimit};

/// Defines a type for a quantity written as a string.
macro_rules! text_quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $expects:literal, $parse:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name(pub $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                let parse: fn(&str) -> Option<$inner> = $parse;
                parse(&text).map(Self).ok_or_else(|| D::Error::custom(concat!("must be ", $expects)))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "x-expects": $expects })
            }
        }
    };
}

text_quantity!(
    /// Duration, absolute or in slots (packet transmission times).
    Span(units::Span),
    "a time such as \"100 ms\", \"2 s\" or \"100 slots\"",
    |text| units::parse_span(text).ok()
);
text_quantity!(
    /// Bit rate in bit/s.
    Rate(f64),
    "a positive bit rate such as \"64 kbit/s\" or \"1.5 Mbit/s\", at most 10000 Gbit/s",
    // Upper limit: there a packet of 1500 bytes takes a nanosecond, the resolution of time.
    |text| units::parse_rate(text).ok().filter(|&rate| rate <= 1e13)
);
text_quantity!(
    /// Prioritised bit rate in kB/s; `None` is infinity (`prioritisedBitRate` of `LogicalChannelConfig`, TS 38.331).
    PrioritisedRate(Option<u32>),
    "one of TS 38.331: 0, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768 or 65536 kB/s, or \
     \"infinity\"",
    |text| match text.trim() {
        "infinity" => Some(None),
        text => {
            let kilobytes: u32 = text.strip_suffix("kB/s")?.trim_end().parse().ok()?;
            let is_allowed = kilobytes == 0 || (8..=65_536).contains(&kilobytes) && kilobytes.is_power_of_two();
            is_allowed.then_some(Some(kilobytes))
        }
    }
);
text_quantity!(
    /// Symbol rate in channel uses per second.
    SymbolRate(f64),
    "a positive symbol rate such as \"8 kBd\" or \"1 MBd\"",
    |text| units::parse_symbol_rate(text).ok().filter(|rate| rate.is_finite())
);
text_quantity!(
    /// Speed in m/s.
    Speed(f64),
    "a speed above 0 such as \"3 km/h\" or \"1.5 m/s\"",
    |text| units::parse_speed(text).ok()
);
text_quantity!(
    /// Frequency in Hz.
    Frequency(f64),
    "a frequency above 0 such as \"2 GHz\" or \"900 MHz\"",
    |text| units::parse_frequency(text).ok()
);
text_quantity!(
    /// Angle in radians.
    Angle(f64),
    "an angle with its unit such as \"60 deg\" or \"1.05 rad\"",
    |text| crossfade_channel::parse_angle(text).ok()
);
text_quantity!(
    /// Size of a packet, frame or header in bytes.
    Size(u32),
    "a whole number of bytes such as \"40 B\" or \"1400 B\", at most 65535 B",
    // Upper limit: the longest packet of the Internet protocol (RFC 791 section 3.1).
    |text| units::parse_size(text).ok().filter(|&bytes| bytes <= 65535)
);
text_quantity!(
    /// Amount of application data in bytes.
    Bytes(u32),
    "a whole number of bytes such as \"50 kB\" or \"1 MB\", at least 1 B and less than 4 GiB",
    |text| units::parse_size(text).ok().filter(|&bytes| bytes >= 1)
);
text_quantity!(
    /// Amount of memory in bytes, which may exceed 4 GiB.
    Memory(u64),
    "a whole number of bytes such as \"500 MB\" or \"4 GiB\", at least 1 MB",
    |text| memory(text).filter(|&bytes| bytes >= 1_000_000)
);
text_quantity!(
    /// Limit of a queue: unlimited, in packets or bytes, as a time, or in BDPs.
    Limit(Room),
    "a number of packets or bytes such as \"50 packets\" or \"750 kB\", a time such as \"200 ms\", a number of \
     bandwidth-delay products such as \"1 bdp\", or \"unlimited\"",
    |text| match text.trim() {
        "unlimited" => Some(Room::Unlimited),
        text => Room::parse(text),
    }
);

/// Value of a queue [`Limit`], in one of its units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// The queue has no limit.
    Unlimited,
    /// Limit as a number of packets or bytes.
    Of(QueueLimit),
    /// Limit as the data that the link sends in this time.
    Time(SimTime),
    /// Limit as a number of bandwidth-delay products.
    Products(f64),
}

impl Room {
    /// Limit in packets or bytes; `None` if it is unlimited or given as a time or in BDPs.
    pub(crate) fn limit(self) -> Option<QueueLimit> {
        if let Self::Of(limit) = self { Some(limit) } else { None }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(number) = text.strip_suffix("bdp") {
            let products = number.trim_end().parse().ok()?;
            return (products > 0.0 && products <= 1e6).then_some(Self::Products(products));
        }
        let of = text.parse().ok().map(Self::Of);
        of.or_else(|| units::parse_time(text).ok().filter(|time| *time > SimTime::ZERO).map(Self::Time))
    }
}

text_quantity!(
    /// Length in metres.
    Length(f64),
    "a length above 0 such as \"200 m\" or \"1.5 km\"",
    |text| {
        let text = text.trim();
        let (number, scale) =
            text.strip_suffix("km").map(|number| (number, 1e3)).or_else(|| Some((text.strip_suffix('m')?, 1.0)))?;
        let metres = number.trim_end().parse::<f64>().ok()? * scale;
        (metres > 0.0 && metres <= 1e9).then_some(metres)
    }
);
text_quantity!(
    /// Number of frames of a link.
    Frames(u32),
    "a whole number of frames such as \"5 frames\", at most 1000000 frames",
    |text| frames(text)
        .filter(|number| number.fract() == 0.0 && (0.0..=1e6).contains(number))
        .map(|number| number as u32)
);
text_quantity!(
    /// Duration on a link with frames: absolute, in slots, or in frame times.
    FrameSpan(FrameTime),
    "a time such as \"100 ms\" or \"4 frames\"",
    |text| match frames(text) {
        Some(number) => (number >= 0.0).then_some(FrameTime::Frames(number)),
        None => units::parse_span(text).ok().map(FrameTime::Span),
    }
);

/// Value of a [`FrameSpan`]: a duration on a link with frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameTime {
    /// Duration as a number of frame times.
    Frames(f64),
    /// Duration that does not depend on the frame time: absolute, or in slots.
    Span(units::Span),
}

/// Parses an amount of memory in bytes, which may exceed 4 GiB.
fn memory(text: &str) -> Option<u64> {
    let text = text.trim();
    let large = [("GiB", 1024.0 * 1024.0 * 1024.0), ("GB", 1e9)];
    let Some((number, scale)) =
        large.into_iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
    else {
        return units::parse_size(text).ok().map(u64::from);
    };
    let bytes = number.trim_end().parse::<f64>().ok()? * scale;
    (bytes.fract() == 0.0 && (0.0..=1e15).contains(&bytes)).then_some(bytes as u64)
}

/// Parses the number in front of the word "frames".
fn frames(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.strip_suffix("frames").or_else(|| text.strip_suffix("frame"))?;
    number.trim_end().parse().ok().filter(|number: &f64| number.is_finite())
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames", self.0)
    }
}

impl fmt::Display for FrameSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FrameTime::Frames(number) => write!(f, "{number} frames"),
            FrameTime::Span(span) => Span(span).fmt(f),
        }
    }
}

impl FrameSpan {
    /// Duration equal to `time`, independent of slots and frames.
    pub const fn exactly(time: SimTime) -> Self {
        Self(FrameTime::Span(units::Span::Time(time)))
    }

    /// Duration of `number` frame times.
    pub const fn frames(number: f64) -> Self {
        Self(FrameTime::Frames(number))
    }

    /// Absolute duration on a link with a packet time of `slot` and a frame time of `frame_time`.
    pub fn resolve(self, slot: SimTime, frame_time: SimTime) -> SimTime {
        match self.0 {
            FrameTime::Frames(number) => units::Span::Slots(number).resolve(frame_time),
            FrameTime::Span(span) => span.resolve(slot),
        }
    }
}

impl fmt::Display for Span {
    /// Writes the duration in the largest unit that needs no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            units::Span::Slots(slots) => write!(f, "{slots} slots"),
            units::Span::Time(time) => {
                let nanos = time.as_nanos();
                let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
                let (scale, unit) =
                    units.into_iter().find(|(scale, _)| nanos % scale == 0).unwrap_or((1, "ns"));
                write!(f, "{} {unit}", nanos / scale)
            }
        }
    }
}

/// Writes a number, with a power of ten instead of many zeros.
fn plain(number: f64) -> String {
    let is_plain = number == 0.0 || (1e-6..1e16).contains(&number.abs());
    if is_plain { number.to_string() } else { format!("{number:e}") }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", plain(self.0))
    }
}

impl fmt::Display for PrioritisedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(kilobytes) => write!(f, "{kilobytes} kB/s"),
            None => f.write_str("infinity"),
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m/s", plain(self.0))
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", plain(self.0))
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", plain(self.0))
    }
}

impl fmt::Display for SymbolRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Bd", plain(self.0))
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rad", plain(self.0))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Room::Unlimited => f.write_str("unlimited"),
            Room::Of(limit) => limit.fmt(f),
            Room::Time(time) => Span::exactly(time).fmt(f),
            Room::Products(products) => write!(f, "{products} bdp"),
        }
    }
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Self = Self(units::Span::Time(SimTime::ZERO));

    /// Duration of `slots` slots (packet transmission times).
    pub const fn slots(slots: f64) -> Self {
        Self(units::Span::Slots(slots))
    }

    /// True if the duration is in slots (packet transmission times).
    pub const fn is_slots(self) -> bool {
        matches!(self.0, units::Span::Slots(_))
    }

    /// Duration equal to `time`, independent of slots.
    pub const fn exactly(time: SimTime) -> Self {
        Self(units::Span::Time(time))
    }

    /// Absolute duration of `millis` milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(units::Span::Time(SimTime::from_millis(millis)))
    }
}

/// Name of a file beside the scenario. The content of the file, not its name, determines results: the identity of a run
/// includes the files of all keys of this type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileName(pub String);

impl JsonSchema for FileName {
    fn schema_name() -> Cow<'static, str> {
        "FileName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-file": true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, from_value, json, to_value};

    /// Canonical form of a value, as the result of reading and writing it.
    fn canonical<T: DeserializeOwned + Serialize>(written: Value) -> Result<Value, String> {
        let quantity: T = from_value(written).map_err(|error| error.to_string())?;
        Ok(to_value(quantity).unwrap())
    }

    #[test]
    fn one_quantity_is_written_in_one_way() {
        for (written, expected) in
            [("100 ms", "100 ms"), ("0.1 s", "100 ms"), ("2 min", "120 s"), ("7ns", "7 ns"), ("0 h", "0 s")]
        {
            assert_eq!(canonical::<Span>(json!(written)), Ok(json!(expected)));
        }
        assert_eq!(canonical::<Span>(json!("100 slots")), Ok(json!("100 slots")));
        assert_eq!(canonical::<Rate>(json!("1.5 Mbit/s")), Ok(json!("1500000 bit/s")));
        // Below a millionth and from 10^16 on, digits would be hidden among zeros.
        assert_eq!(canonical::<Rate>(json!("1e-300 bit/s")), Ok(json!("1e-300 bit/s")));
        assert_eq!(canonical::<Rate>(json!("0.0000025 bit/s")), Ok(json!("0.0000025 bit/s")));
        assert_eq!(canonical::<Frequency>(json!("1e290 GHz")), Ok(json!("1e299 Hz")));
        assert_eq!(canonical::<Size>(json!("1.4 kB")), Ok(json!("1400 B")));
        assert_eq!(canonical::<Length>(json!("0.2 km")), Ok(json!("200 m")));
        for rate in ["0 kB/s", "8 kB/s", "65536 kB/s", "infinity"] {
            assert_eq!(canonical::<PrioritisedRate>(json!(rate)), Ok(json!(rate)));
        }
        assert_eq!(canonical::<Limit>(json!("1 packet")), Ok(json!("1 packets")));
        assert_eq!(canonical::<Limit>(json!("unlimited")), Ok(json!("unlimited")));
        assert_eq!(canonical::<Share>(json!("1 %")), canonical::<Share>(json!(0.01)));
        assert_eq!(canonical::<Share>(json!(1)), Ok(json!(1.0)));
    }

    #[test]
    fn refusals_say_what_is_allowed() {
        let wrong = [
            (canonical::<Span>(json!("100")), "100 slots"),
            (canonical::<Rate>(json!("1 Mbps")), "Mbit/s"),
            (canonical::<Rate>(json!("1e308 Gbit/s")), "Mbit/s"),
            (canonical::<Rate>(json!("10001 Gbit/s")), "at most 10000 Gbit/s"),
            (canonical::<Size>(json!("64 KiB")), "at most 65535 B"),
            (canonical::<Limit>(json!("-1 packets")), "unlimited"),
            (canonical::<Limit>(json!("50")), "50 packets"),
            (canonical::<Length>(json!("200")), "200 m"),
            (canonical::<Length>(json!("0 m")), "above 0"),
            (canonical::<PrioritisedRate>(json!("7 kB/s")), "0, 8, 16, 32"),
            (canonical::<PrioritisedRate>(json!("4 kB/s")), "0, 8, 16, 32"),
            (canonical::<PrioritisedRate>(json!("131072 kB/s")), "65536 kB/s, or \"infinity\""),
            (canonical::<PrioritisedRate>(json!("64 kbit/s")), "65536 kB/s"),
            (canonical::<Share>(json!("1 dB")), "1 %"),
            (canonical::<Share>(json!("101 %")), "between 0 and 1"),
            (canonical::<Share>(json!(-0.1)), "between 0 and 1"),
        ];
        for (result, fragment) in wrong {
            let message = result.unwrap_err();
            assert!(message.contains(fragment), "{message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(nanos in 0..1_u64 << 53, rate in 1e-3..1e12, slots in 0.0..1e9) {
            for span in [units::Span::Time(SimTime::from_nanos(nanos)), units::Span::Slots(slots)] {
                prop_assert_eq!(from_value::<Span>(to_value(Span(span)).unwrap()).unwrap(), Span(span));
            }
            prop_assert_eq!(from_value::<Rate>(to_value(Rate(rate)).unwrap()).unwrap(), Rate(rate));
        }
    }
}
