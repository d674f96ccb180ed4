//! Values that may differ between the users of a flow.

use crate::quantity::Speed;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// Value for the users of a flow: one for all, or a range spread evenly from the first user to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerUser<T> {
    /// One value for all users.
    One(T),
    /// Range of values from the first user to the last.
    Range {
        /// Value of the first user.
        from: T,
        /// Value of the last user.
        to: T,
    },
}

impl<T: Copy> PerUser<T> {
    /// Value of user `i` of `count` as a number, converted by `of`; in a range it is interpolated linearly.
    pub fn at(self, i: usize, count: usize, of: impl Fn(T) -> f64) -> f64 {
        match self {
            Self::One(value) => of(value),
            Self::Range { from, to } => {
                let part = if count > 1 { i as f64 / (count - 1) as f64 } else { 0.5 };
                of(from) + (of(to) - of(from)) * part
            }
        }
    }
}

/// Written form of a value that may differ between users: one value, or a range.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<T> {
    One(T),
    Range { from: T, to: T },
}

/// Description of the allowed forms of a value for each user, for error messages.
pub trait PerUserExpects {
    /// Allowed forms, worded to follow "must be".
    const EXPECTS: &'static str;
}

impl PerUserExpects for f64 {
    const EXPECTS: &'static str = "a number, or { from = NUMBER, to = NUMBER }";
}

impl PerUserExpects for Speed {
    const EXPECTS: &'static str = "a speed such as \"75 km/h\", or { from = \"3 km/h\", to = \"60 km/h\" }";
}

impl<'de, T: Deserialize<'de> + PerUserExpects> Deserialize<'de> for PerUser<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer) {
            Ok(Written::One(value)) => Ok(Self::One(value)),
            Ok(Written::Range { from, to }) => Ok(Self::Range { from, to }),
            Err(_) => Err(D::Error::custom(format_args!("must be {}", T::EXPECTS))),
        }
    }
}

impl<T: Serialize + Copy> Serialize for PerUser<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match *self {
            Self::One(value) => Written::One(value),
            Self::Range { from, to } => Written::Range { from, to },
        };
        written.serialize(serializer)
    }
}

impl<T: JsonSchema + PerUserExpects> JsonSchema for PerUser<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PerUser{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        let describe = |text: &str| {
            let mut end = one.clone();
            end.insert("description".into(), text.into());
            end
        };
        json_schema!({
            "anyOf": [
                one,
                {
                    "type": "object",
                    "properties": {
                        "from": describe("Value of the first user of the flow, or of the first station."),
                        "to": describe("Value of the last user or station; those in between have evenly spaced values."),
                    },
                    "required": ["from", "to"],
                },
            ],
            "x-expects": T::EXPECTS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn values_are_spread_evenly() {
        let spread: PerUser<f64> = from_value(json!({ "from": 3, "to": 22 })).unwrap();
        assert_eq!([0, 1, 2].map(|i| spread.at(i, 3, |x| x)), [3.0, 12.5, 22.0]);
        assert_eq!(spread.at(0, 1, |x| x), 12.5);
        assert_eq!(to_value(spread).unwrap(), json!({ "from": 3.0, "to": 22.0 }));
        let error = from_value::<PerUser<Speed>>(json!("fast")).unwrap_err().to_string();
        assert!(error.starts_with("must be a speed such as \"75 km/h\", or { from"), "{error}");
    }
}
