//! The name of a window rule.

use crossfade_transport::WindowRule;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// How large a sender's congestion window is.
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
    /// TCP Prague, for L4S (RFC 9331): the same, paced, and less for short round trips; for queues that mark.
    Prague,
    /// BBR version 1, as Linux has it.
    BbrV1,
    /// BBR version 3 (draft-ietf-ccwg-bbr-06).
    BbrV3,
}

impl Congestion {
    pub(super) fn rule(self) -> WindowRule {
        match self {
            Self::Reno => WindowRule::Reno,
            Self::Cubic => WindowRule::Cubic,
            Self::Highspeed => WindowRule::HighSpeed,
            Self::Dctcp => WindowRule::Dctcp,
            Self::Prague => WindowRule::Prague,
            Self::BbrV1 => WindowRule::BbrV1,
            Self::BbrV3 => WindowRule::BbrV3,
        }
    }
}

/// A window rule: a built-in one, or one that the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RuleName {
    /// One that is compiled in.
    BuiltIn(Congestion),
    /// A class in a Python file beside the scenario, `mine.py`, or `mine.py:Halver` where it has several; or a Rust file
    /// there, `mine.rs`.
    Own(String),
}

/// What a name of a rule of the user's own looks like, as a regular expression.
const OWN: &str = r"\.(py(:[A-Za-z_][A-Za-z_0-9]*)?|rs)$";

impl JsonSchema for RuleName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RuleName".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Congestion::json_schema(generator);
        let own = json!({
            "type": "string",
            "pattern": OWN,
            "title": "FILE.py or FILE.rs",
            "description": "A class of a Python file beside the scenario, FILE.py:CLASS where it has several; or a Rust file."
        });
        if let Some(Value::Array(words)) = schema.get_mut("oneOf") {
            words.push(own);
        }
        schema.insert("x-file".into(), json!("rule"));
        schema
    }
}
