//! Who sends, and how much.

use super::tcp::TcpSetup;
use super::{json, positive_time, time};
use crate::error::{ScenarioError, join};
use crate::quantity::Span;
use crate::scenario::{Flow, Shape, Tcp, Traffic};
use crossfade_core::SimTime;
use crossfade_sim::{Distribution, OnOff};

/// One sender, or several that are alike.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Its name in the results; empty where the scenario names no flows.
    pub name: String,
    /// How many.
    pub count: u32,
    /// When the first begins.
    pub start: SimTime,
    /// How much later each of the others begins.
    pub stagger: SimTime,
    /// One-way delay between the sender and the shared path.
    pub access_delay: SimTime,
    /// What it sends.
    pub traffic: TrafficSetup,
}

impl FlowSetup {
    /// One connection without end, without a name.
    pub(super) fn bulk(tcp: TcpSetup) -> Self {
        Self {
            name: String::new(),
            count: 1,
            start: SimTime::ZERO,
            stagger: SimTime::ZERO,
            access_delay: SimTime::ZERO,
            traffic: TrafficSetup::Tcp(tcp, None),
        }
    }

    /// Its TCP, if it is one.
    pub fn tcp(&self) -> Option<&TcpSetup> {
        match &self.traffic {
            TrafficSetup::Tcp(tcp, _) | TrafficSetup::Arrivals { tcp, .. } => Some(tcp),
            TrafficSetup::Udp(_) | TrafficSetup::Saturated => None,
        }
    }
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum TrafficSetup {
    /// TCP; `None` has no end, otherwise so many segments.
    Tcp(TcpSetup, Option<u64>),
    /// TCP connections that arrive at random.
    Arrivals {
        /// Each of them.
        tcp: TcpSetup,
        /// The mean number a second.
        rate_per_s: f64,
        /// How many segments each has.
        segments: Distribution,
    },
    /// Datagrams without feedback.
    Udp(OnOff),
    /// Datagrams, more than the link can carry.
    Saturated,
}

/// The tail index of [`Shape::Pareto`], and the ratio of its greatest to its least value.
const PARETO: (f64, f64) = (1.2, 1000.0);

impl Shape {
    fn around(self, mean: f64) -> Distribution {
        match self {
            Self::Fixed => Distribution::Fixed(mean),
            Self::Exponential => Distribution::Exponential { mean },
            Self::Pareto => {
                let (shape, ratio) = PARETO;
                let unit = Distribution::BoundedPareto { shape, min: 1.0, max: ratio }.mean();
                Distribution::BoundedPareto { shape, min: mean / unit, max: ratio * mean / unit }
            }
        }
    }
}

impl Flow {
    /// Fills in the defaults of the flow called `name`; `tcp` is the scenario's.
    pub(super) fn resolve(
        &mut self,
        name: &str,
        tcp: &Tcp,
        packet_size: u32,
        slot: SimTime,
        alone: bool,
    ) -> Result<FlowSetup, ScenarioError> {
        let table = join("flows", name);
        let traffic = *self.traffic.get_or_insert(Traffic::Bulk);
        self.refuse_foreign_keys(&table, traffic)?;
        let alone = alone
            && traffic == Traffic::Bulk
            && self.count.is_none_or(|count| count == 1)
            && self.access_delay.is_none_or(|delay| delay == Span::ZERO);
        let span = |key: &str, span: Option<Span>| time(&join(&table, key), span.unwrap_or(Span::ZERO), slot);
        let (start, stagger) = (span("start", self.start)?, span("stagger", self.stagger)?);
        let access_delay = *self.access_delay.get_or_insert(Span::ZERO);
        let access_delay = span("access_delay", Some(access_delay))?;
        let count = *self.count.get_or_insert(1);
        let traffic = match traffic {
            Traffic::Udp => TrafficSetup::Udp(self.on_off(&table, slot)?),
            Traffic::Saturated => TrafficSetup::Saturated,
            Traffic::Bulk => {
                TrafficSetup::Tcp(self.resolve_tcp(&table, tcp, packet_size, slot, alone)?, None)
            }
            Traffic::Transfer => {
                let tcp = self.resolve_tcp(&table, tcp, packet_size, slot, false)?;
                let segments = self.segments(&table, traffic, tcp.mss)?.ceil() as u64;
                TrafficSetup::Tcp(tcp, Some(segments))
            }
            Traffic::Arrivals => {
                let tcp = self.resolve_tcp(&table, tcp, packet_size, slot, false)?;
                let rate_per_s =
                    self.arrivals_per_s.ok_or_else(|| missing(&table, "arrivals_per_s", traffic))?;
                let shape = *self.sizes.get_or_insert(Shape::Exponential);
                let segments = shape.around(self.segments(&table, traffic, tcp.mss)?);
                TrafficSetup::Arrivals { tcp, rate_per_s, segments }
            }
        };
        Ok(FlowSetup { name: name.to_owned(), count, start, stagger, access_delay, traffic })
    }

    fn refuse_foreign_keys(&self, table: &str, traffic: Traffic) -> Result<(), ScenarioError> {
        let given = [
            ("count", self.count.is_some()),
            ("start", self.start.is_some()),
            ("stagger", self.stagger.is_some()),
            ("size", self.size.is_some()),
            ("sizes", self.sizes.is_some()),
            ("arrivals_per_s", self.arrivals_per_s.is_some()),
            ("rate", self.rate.is_some()),
            ("on", self.on.is_some()),
            ("off", self.off.is_some()),
            ("times", self.times.is_some()),
            ("tcp", self.tcp.is_some()),
        ];
        let allowed: &[&str] = match traffic {
            Traffic::Bulk => &["count", "start", "stagger", "tcp"],
            Traffic::Transfer => &["count", "start", "stagger", "tcp", "size"],
            Traffic::Arrivals => &["tcp", "size", "sizes", "arrivals_per_s"],
            Traffic::Udp => &["count", "start", "stagger", "rate", "on", "off", "times"],
            Traffic::Saturated => &["count", "start", "stagger"],
        };
        let Some((foreign, _)) = given.iter().find(|(key, given)| *given && !allowed.contains(key)) else {
            return Ok(());
        };
        let traffic = format!("{} = {}", join(table, "traffic"), json(traffic));
        let takes = format!("it takes {}, access_delay", allowed.join(", "));
        Err(ScenarioError::contradiction(&join(table, foreign), &traffic, takes))
    }

    /// The scenario's TCP with what is different here.
    fn resolve_tcp(
        &mut self,
        table: &str,
        tcp: &Tcp,
        packet_size: u32,
        slot: SimTime,
        alone: bool,
    ) -> Result<TcpSetup, ScenarioError> {
        let mut merged = json(tcp);
        crate::document::merge_value(&mut merged, &json(&self.tcp));
        // Both parts were read before.
        let mut merged: Tcp = serde_json::from_value(merged).expect("a table of tcp");
        let setup = merged
            .resolve(packet_size, slot, alone)
            .map_err(|error| ScenarioError { key: join(table, &error.key), ..error })?;
        self.tcp = Some(merged);
        Ok(setup)
    }

    /// The size in segments.
    fn segments(&self, table: &str, traffic: Traffic, mss: u32) -> Result<f64, ScenarioError> {
        let size = self.size.ok_or_else(|| missing(table, "size", traffic))?;
        Ok(f64::from(size.0) / f64::from(mss))
    }

    fn on_off(&mut self, table: &str, slot: SimTime) -> Result<OnOff, ScenarioError> {
        let rate_bps = self.rate.ok_or_else(|| missing(table, "rate", Traffic::Udp))?.0;
        let (Some(on), Some(off)) = (self.on, self.off) else {
            let given =
                [("on", self.on.is_some()), ("off", self.off.is_some()), ("times", self.times.is_some())];
            if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
                let problem = "needs both on and off; without the two the source is always on";
                return Err(ScenarioError::key(join(table, key), problem));
            }
            return Ok(OnOff { rate_bps, on_s: Distribution::Fixed(1.0), off_s: None });
        };
        let shape = *self.times.get_or_insert(Shape::Exponential);
        let around = |key: &str, mean: Span| {
            let mean = positive_time(&join(table, key), mean, slot)?;
            Ok::<_, ScenarioError>(shape.around(mean.as_secs_f64()))
        };
        Ok(OnOff { rate_bps, on_s: around("on", on)?, off_s: Some(around("off", off)?) })
    }
}

fn missing(table: &str, key: &str, traffic: Traffic) -> ScenarioError {
    ScenarioError::missing(&join(table, key), &format!("traffic {} needs it", json(traffic)))
}
