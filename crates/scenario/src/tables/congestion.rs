//! Names of congestion controls in scenarios.

use crossfade_transport::CongestionControlKind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// Additive increase, multiplicative decrease (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// HighSpeed TCP (RFC 3649).
    Highspeed,
    /// Data Center TCP (RFC 8257): cuts in proportion to the share of marks; for queues that mark.
    Dctcp,
    /// TCP Prague, for L4S (RFC 9331): like DCTCP, but paced, and gentler at short RTTs; for queues that mark.
    Prague,
    /// BBR version 1, as implemented in Linux.
    BbrV1,
    /// BBR version 3 (draft-ietf-ccwg-bbr-06).
    BbrV3,
}

impl Congestion {
    pub(super) fn kind(self) -> CongestionControlKind {
        match self {
            Self::Reno => CongestionControlKind::Reno,
            Self::Cubic => CongestionControlKind::Cubic,
            Self::Highspeed => CongestionControlKind::HighSpeed,
            Self::Dctcp => CongestionControlKind::Dctcp,
            Self::Prague => CongestionControlKind::Prague,
            Self::BbrV1 => CongestionControlKind::BbrV1,
            Self::BbrV3 => CongestionControlKind::BbrV3,
        }
    }
}

/// Congestion control of a scenario: a built-in one, or one in a file of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ControlName {
    /// Built-in congestion control.
    BuiltIn(Congestion),
    /// Custom congestion control in a file beside the scenario: a class of a Python file (`mine.py`, or
    /// `mine.py:Halver` if it has several), or a Rust file (`mine.rs`).
    Custom(String),
}

/// Regular expression for the name of a custom congestion control.
const CUSTOM: &str = r"\.(py(:[A-Za-z_][A-Za-z_0-9]*)?|rs)$";

impl JsonSchema for ControlName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ControlName".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Congestion::json_schema(generator);
        let custom = json!({
            "type": "string",
            "pattern": CUSTOM,
            "title": "FILE.py or FILE.rs",
            "description": "A class of a Python file beside the scenario, FILE.py:CLASS where it has several; or a Rust file."
        });
        if let Some(Value::Array(words)) = schema.get_mut("oneOf") {
            words.push(custom);
        }
        schema.insert("x-file".into(), json!("rule"));
        schema
    }
}
