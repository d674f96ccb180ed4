//! Who sends, and how much.

use super::Tcp;
use crate::quantity::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One sender, or several that are alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Flow {
    /// How many of them there are. Not taken by arrivals.
    #[schemars(range(min = 1, max = 10_000), extend("x-default" = "1"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,

    /// What they send.
    #[schemars(extend("default" = "bulk"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,

    /// When the first of them begins. Not taken by arrivals.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,

    /// How much later each of the others begins. Not taken by arrivals.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stagger: Option<Span>,

    /// One-way delay between the sender and the shared path, the same both ways: flows with different round
    /// trips.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_delay: Option<Span>,

    /// Bytes of application data that each has to send; their mean where they are drawn. Required for
    /// traffic "transfer" and "arrivals".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,

    /// How sizes are distributed. Taken by arrivals.
    #[schemars(extend("x-default" = "exponential, of arrivals"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Shape>,

    /// How many flows arrive in a second, in the mean: a Poisson process. Required for arrivals.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals_per_s: Option<f64>,

    /// The bit rate of whole packets while a UDP source is on. Required for udp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// How long a UDP source is on, in the mean. With off; without the two it is always on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Span>,

    /// How long a UDP source is off, in the mean. With on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<Span>,

    /// How the times on and off are distributed.
    #[schemars(extend("x-default" = "exponential, of udp with on and off"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Shape>,

    /// What is different from the scenario's tcp. Not taken by udp.
    #[schemars(extend("x-default" = "the scenario's tcp"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Traffic {
    /// TCP without end.
    Bulk,
    /// TCP with so many bytes (size), once.
    Transfer,
    /// TCP connections that arrive at random (arrivals_per_s), each with bytes drawn at random (size, sizes).
    Arrivals,
    /// Packets of UDP at a constant rate, always or on and off.
    Udp,
    /// Packets of UDP at twice the rate of the link, which always has one to send: what the link can carry.
    /// Give link.queue a limit.
    Saturated,
}

/// A distribution of sizes or times around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Always the mean.
    Fixed,
    /// Exponential.
    Exponential,
    /// Pareto's law with tail index 1.2, cut at 1000 times its least value: heavy-tailed, as files on the web
    /// (Crovella and Bestavros 1997).
    Pareto,
}
