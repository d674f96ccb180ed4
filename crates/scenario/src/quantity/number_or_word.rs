//! Types for values of a scenario that are a number, or a text in place of a number: shares, counts and windows.

use crossfade_core::units;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// Written form of such a value: a number, or a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written<N> {
    Number(N),
    Text(String),
}

/// Probability or share between 0 and 1, written as `0.01` or `"1 %"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = match Written::<f64>::deserialize(deserializer)? {
            Written::Number(number) => number,
            Written::Text(text) => units::parse_ratio(&text)
                .map_err(|_| D::Error::custom(format_args!("must be {}", Self::EXPECTS)))?,
        };
        if (0.0..=1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err(D::Error::custom("must be between 0 and 1"))
        }
    }
}

impl Share {
    const EXPECTS: &str = "a number between 0 and 1, or a percentage such as \"1 %\"";
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string" }],
            "x-expects": Self::EXPECTS,
        })
    }
}

/// Number of retransmissions; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmissions(pub Option<u32>);

impl Retransmissions {
    const EXPECTS: &str = "a whole number, at most 1000000, or \"unlimited\"";
    const MOST: u32 = 1_000_000;
}

impl<'de> Deserialize<'de> for Retransmissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::<u64>::deserialize(deserializer)? {
            Written::Number(number) if number <= u64::from(Self::MOST) => Ok(Self(Some(number as u32))),
            Written::Text(text) if text.trim() == "unlimited" => Ok(Self(None)),
            _ => Err(D::Error::custom(format_args!("must be {}", Self::EXPECTS))),
        }
    }
}

impl Serialize for Retransmissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(number) => serializer.serialize_u32(number),
            None => serializer.serialize_str("unlimited"),
        }
    }
}

impl JsonSchema for Retransmissions {
    fn schema_name() -> Cow<'static, str> {
        "Retransmissions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": Self::MOST }, { "type": "string" }],
            "x-expects": Self::EXPECTS,
        })
    }
}

/// Receive window: a number of segments, or of bytes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Receive window as a number of segments.
    Segments(u32),
    /// Window in bytes, which is rounded down to whole segments.
    Bytes(u32),
}

impl Window {
    const EXPECTS: &str = "a whole number, between 1 and 1000000, or a size such as \"64 KiB\"";
    const MOST: u32 = 1_000_000;

    /// Window in segments of `mss` bytes, at least 1; `None` if the number overflows.
    pub fn segments(self, mss: u32) -> Option<u32> {
        let segments = match self {
            Self::Segments(segments) => segments,
            Self::Bytes(bytes) => (bytes / mss.max(1)).max(1),
        };
        (segments <= Self::MOST).then_some(segments)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let window = match Written::<u64>::deserialize(deserializer)? {
            Written::Number(number) => u32::try_from(number).ok().map(Self::Segments),
            Written::Text(text) => units::parse_size(&text).ok().filter(|&bytes| bytes > 0).map(Self::Bytes),
        };
        window.ok_or_else(|| D::Error::custom(format_args!("must be {}", Self::EXPECTS)))
    }
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Segments(segments) => serializer.serialize_u32(*segments),
            Self::Bytes(bytes) => serializer.collect_str(&format_args!("{bytes} B")),
        }
    }
}

impl JsonSchema for Window {
    fn schema_name() -> Cow<'static, str> {
        "Window".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": Self::MOST }, { "type": "string" }],
            "x-expects": Self::EXPECTS,
        })
    }
}

/// Window of an ARQ sender: a number of frames, or of bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameWindow {
    /// Window as a number of frames.
    Frames(u32),
    /// Window in BDPs: one BDP is the frames that the link sends from the start of a frame to its acknowledgement.
    Products(f64),
}

impl FrameWindow {
    const EXPECTS: &str =
        "a whole number, between 1 and 1048576, or a number of bandwidth-delay products such as \"2 bdp\"";
    const MOST: u32 = 1_048_576;

    /// Window in frames, rounded up, if `product` frames make a bandwidth-delay product; `None` if the number
    /// overflows.
    pub fn frames(self, product: f64) -> Option<u32> {
        match self {
            Self::Frames(frames) => Some(frames),
            Self::Products(products) => {
                let frames = (products * product).ceil().max(1.0);
                (frames <= f64::from(Self::MOST)).then_some(frames as u32)
            }
        }
    }
}

impl<'de> Deserialize<'de> for FrameWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let window = match Written::<u64>::deserialize(deserializer)? {
            Written::Number(number) => u32::try_from(number)
                .ok()
                .filter(|frames| (1..=Self::MOST).contains(frames))
                .map(Self::Frames),
            Written::Text(text) => text
                .strip_suffix("bdp")
                .and_then(|number| number.trim().parse().ok())
                .filter(|products| *products > 0.0 && *products <= 1e6)
                .map(Self::Products),
        };
        window.ok_or_else(|| D::Error::custom(format_args!("must be {}", Self::EXPECTS)))
    }
}

impl Serialize for FrameWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Frames(frames) => serializer.serialize_u32(*frames),
            Self::Products(products) => serializer.collect_str(&format_args!("{products} bdp")),
        }
    }
}

impl JsonSchema for FrameWindow {
    fn schema_name() -> Cow<'static, str> {
        "FrameWindow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": Self::MOST }, { "type": "string" }],
            "x-expects": Self::EXPECTS,
        })
    }
}

/// Sending node of flows in a mesh: one node, or all but the receiving one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromNode {
    /// One sending node, by its number.
    Node(u32),
    /// Every node except the receiving one sends.
    Others,
}

impl FromNode {
    const EXPECTS: &str = "the number of a node, or \"others\"";
    const MOST: u32 = 1023;
}

impl<'de> Deserialize<'de> for FromNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::<u32>::deserialize(deserializer)? {
            Written::Number(node) if node <= Self::MOST => Ok(Self::Node(node)),
            Written::Text(text) if text.trim() == "others" => Ok(Self::Others),
            _ => Err(D::Error::custom(format_args!("must be {}", Self::EXPECTS))),
        }
    }
}

impl Serialize for FromNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Node(node) => serializer.serialize_u32(*node),
            Self::Others => serializer.serialize_str("others"),
        }
    }
}

impl JsonSchema for FromNode {
    fn schema_name() -> Cow<'static, str> {
        "FromNode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": Self::MOST }, { "type": "string" }],
            "x-expects": Self::EXPECTS,
        })
    }
}

/// Limit of the congestion window: a number of segments, a number for each hop of the round trip, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowLimit {
    /// Limit of the congestion window in segments.
    Segments(u32),
    /// Limit of the congestion window in segments for each hop of the round trip.
    PerHop(f64),
    /// No limit of the congestion window.
    Unlimited,
}

impl WindowLimit {
    const EXPECTS: &str = "a whole number, between 1 and 1000000, or { per_hop = NUMBER }, above 0 and at most \
                           1000, or \"unlimited\"";
    const MOST: u32 = 1_000_000;

    /// Limit in segments, at least 1, over a round trip of `round_trip_hops` hops.
    pub fn segments(self, round_trip_hops: u32) -> u32 {
        match self {
            Self::Segments(segments) => segments,
            Self::PerHop(per_hop) => (per_hop * f64::from(round_trip_hops)).round().max(1.0) as u32,
            Self::Unlimited => u32::MAX,
        }
    }
}

impl<'de> Deserialize<'de> for WindowLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u32),
            Table { per_hop: f64 },
            Text(String),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Number(segments)) if (1..=Self::MOST).contains(&segments) => {
                Ok(Self::Segments(segments))
            }
            Ok(Written::Table { per_hop }) if per_hop > 0.0 && per_hop <= 1000.0 => Ok(Self::PerHop(per_hop)),
            Ok(Written::Text(text)) if text.trim() == "unlimited" => Ok(Self::Unlimited),
            _ => Err(D::Error::custom(format_args!("must be {}", Self::EXPECTS))),
        }
    }
}

impl Serialize for WindowLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Segments(segments) => serializer.serialize_u32(*segments),
            Self::Unlimited => serializer.serialize_str("unlimited"),
            Self::PerHop(per_hop) => {
                let mut table = serializer.serialize_map(Some(1))?;
                table.serialize_entry("per_hop", per_hop)?;
                table.end()
            }
        }
    }
}

impl JsonSchema for WindowLimit {
    fn schema_name() -> Cow<'static, str> {
        "WindowLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": Self::MOST },
                {
                    "type": "object",
                    "properties": {
                        "per_hop": {
                            "type": "number",
                            "exclusiveMinimum": 0,
                            "maximum": 1000,
                            "description": "Segments for each hop there and back, rounded; at least 1 in all.",
                        },
                    },
                    "required": ["per_hop"],
                },
                { "type": "string" },
            ],
            "x-expects": Self::EXPECTS,
        })
    }
}
