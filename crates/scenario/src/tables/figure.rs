//! Keys of the figure that is drawn of a scenario's results by default.

use super::base::absent;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Figure that `crossfade run --plot` draws unless options say otherwise. It has no influence on results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Figure {
    /// Content of the figure: metrics, or events over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "results"))]
    pub of: Option<Drawn>,

    /// Quantity on the x axis: an axis of the sweep, or a metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "SNR, fading margin or error probability if one is swept, otherwise the axis with most values"))]
    pub x: Option<String>,

    /// Metric on the y axis, or the ratio of two. A ratio is "a.goodput_bps/b.goodput_bps"; each of several has a row
    /// of panels. For events it is a variable of the sender, such as cwnd, or seq.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "throughput or goodput; cwnd with of = \"events\""))]
    pub y: Option<Names>,

    /// Axes of the sweep that distinguish curves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the other axes, as long as they make at most a dozen curves"))]
    pub by: Option<Names>,

    /// Axis of the sweep with one panel per value. Of two axes, the first runs across, the second down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "none"))]
    pub panels: Option<Names>,

    /// Whether the x axis is logarithmic.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true if the values on it are spaced logarithmically"))]
    pub log_x: Option<bool>,

    /// Whether the y axis is logarithmic.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true for error rates that span decades"))]
    pub log_y: Option<bool>,

    /// Conditions that select the drawn part, as `--where` takes them. Examples are "time_s<5" and
    /// "tcp.variant=reno".
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "all"))]
    pub conditions: Option<Names>,

    /// Labels of axis values, by value: sack = "Reno with SACK".
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("additionalProperties" = { "type": "string", "description": "What the value NAME of an axis is called; variant=sack is any table with that item." }))]
    pub labels: BTreeMap<String, String>,
}

absent!(Figure);

/// Content of a figure: metrics, or events over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Drawn {
    /// Metrics of all points, with their intervals.
    Results,
    /// Senders in the first run of each point, over time.
    Events,
    /// Events inside links in the first run of each point, over time.
    LinkEvents,
}

/// Value of a key that takes one name or a list of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// One name.
    One(String),
    /// List of names.
    Several(Vec<String>),
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            "x-expects": "a text or a list of texts",
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Plan};

    const TEXT: &str = r#"
        schema = 1
        run = { duration = "1000 slots" }
        channel = { model = "iid", p_e = 0.01 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
    "#;

    fn key(text: &str) -> String {
        let plan = Plan::load(text, "test", &Overrides::default()).unwrap();
        plan.points.run_key(0, crate::Method::Simulation, 1, 0)
    }

    #[test]
    fn what_is_drawn_is_no_part_of_a_run() {
        let figure = r#"
            [figure]
            of = "results"
            y = ["goodput_bps", "rtt_p95_s"]
            panels = "tcp.variant"
            where = "runs>0"
            labels = { reno = "Reno" }
        "#;
        assert_eq!(key(&format!("{TEXT}{figure}")), key(TEXT));
    }

    #[test]
    fn what_is_no_figure_is_said() {
        for (text, problem) in [
            (
                "[figure]\nof = \"window\"",
                "figure.of = \"window\": must be one of results, events, link-events",
            ),
            ("[figure]\ny = 3", "figure.y = 3: must be a text or a list of texts"),
            ("[figure]\nz = \"a\"", "figure.z: unknown key"),
            ("[sweep]\n\"figure.x\" = [\"a\"]", "figure.x cannot be an axis: it holds for the whole plan"),
        ] {
            let error = Plan::load(&format!("{TEXT}{text}"), "test", &Overrides::default()).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
