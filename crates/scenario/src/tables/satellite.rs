//! Keys of satellite links, whose scheduler assigns satellites and rates anew at the boundaries of slots.

use super::base::{absent, json, named};
use super::orbit::OrbitTable;
use super::trace::absolute;
use crate::error::{ScenarioError, join};
use crate::quantity::{Limit, Rate, Room, Share, Span};
use crossfade_core::SimTime;
use crossfade_link::satellite::{
    BaseDelay, ClosedForms, DirectionConfig, DirectionName, Gate, Profile, SatelliteConfig, Spike,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines the table of one direction of a satellite link: the keys common to both directions, and its own.
macro_rules! direction {
    ($(#[$attribute:meta])* $table:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct $table {
            $($own)*

            /// Mean bit rate outside of outages; boundaries and obstructions reduce it further.
            #[schemars(extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub rate: Option<Rate>,

            /// Standard deviation of the logarithm of the rate from slot to slot.
            #[schemars(range(min = 0, max = 2), extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub spread_between_slots: Option<f64>,

            /// Correlation of the logarithm of the rate from one slot to the next; below 1.
            #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub slot_correlation: Option<f64>,

            /// Standard deviation of the logarithm of the rate from step to step of 100 ms within a slot.
            #[schemars(range(min = 0, max = 2), extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub spread_within_slots: Option<f64>,

            /// Correlation of the logarithm of the rate from one step of 100 ms to the next; below 1.
            #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub step_correlation: Option<f64>,

            /// Time between two grants; 0 s for a stream of bits. A grant lets the bytes of that time leave at once.
            /// The phase of the grants is drawn in each slot, for each direction.
            #[schemars(extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub grant: Option<Span>,

            /// Share of a grant that comes half a grant period later.
            #[schemars(range(min = 0, max = 0.5), extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub half_grant: Option<f64>,

            /// Standard deviation of the logarithm of the bytes in a grant, beyond that of the rate.
            #[schemars(range(min = 0, max = 2), extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub grant_spread: Option<f64>,

            /// Share of grants whose phase differs from that of the grant before. Half of the changes last, the next
            /// grant undoes the others.
            #[schemars(extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub grant_moves: Option<Share>,

            /// Probability that a packet is lost.
            #[schemars(extend("x-default" = "that of link.satellite.profile"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub loss: Option<Share>,

            /// Probability of losing a packet whose arrival falls into an outage at a slot boundary.
            #[schemars(extend("x-default" = "that of link.satellite.profile: 0"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub outage_loss: Option<Share>,
        }

        impl $table {
            /// Fills in the values of the profile for absent keys, and returns the model of this direction.
            fn settle(&mut self, table: &str, usual: &DirectionConfig) -> Result<DirectionConfig, ScenarioError> {
                let grant = *self.grant.get_or_insert(Span::exactly(usual.grant));
                let config = DirectionConfig {
                    rate_bps: self.rate.get_or_insert(Rate(usual.rate_bps)).0,
                    spread_between: *self.spread_between_slots.get_or_insert(usual.spread_between),
                    slot_correlation: *self.slot_correlation.get_or_insert(usual.slot_correlation),
                    spread_within: *self.spread_within_slots.get_or_insert(usual.spread_within),
                    step_correlation: *self.step_correlation.get_or_insert(usual.step_correlation),
                    grant: absolute(&join(table, "grant"), grant)?,
                    half_grant: *self.half_grant.get_or_insert(usual.half_grant),
                    grant_spread: *self.grant_spread.get_or_insert(usual.grant_spread),
                    grant_moves: self.grant_moves.get_or_insert(Share(usual.grant_moves)).0,
                    loss: self.loss.get_or_insert(Share(usual.loss)).0,
                    outage_loss: self.outage_loss.get_or_insert(Share(usual.outage_loss)).0,
                };
                config.check().map_err(|error| named(table, &error))?;
                Ok(config)
            }
        }
    };
}

direction! {
    /// Satellite link in both directions. At each boundary of slots the capacity drops out and comes back over a ramp;
    /// the next slot has another rate and perhaps another satellite. It replaces the rates of link and reverse.
    Satellite {
        /// Profile of a measured link, whose values are the defaults of the other keys.
        #[schemars(extend("x-default" = "starlink-leocc-2025"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub profile: Option<ProfileName>,

        /// Direction of the data; the acknowledgements take the opposite direction.
        #[schemars(extend("x-default" = "down"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub data: Option<DataWay>,

        /// Duration of a slot, for which the assignment of satellites to terminals stays.
        #[schemars(extend("x-default" = "that of link.satellite.profile: 15 s"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slot: Option<Span>,

        /// Time of the first slot boundary, at most a slot.
        #[schemars(extend("x-default" = "none: drawn in each run, uniform over a slot"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub offset: Option<Span>,

        /// Duration of the outage before each slot boundary, in which nothing is transmitted.
        #[schemars(extend("x-default" = "that of link.satellite.profile"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub outage: Option<Span>,

        /// Time after an outage over which the rate rises to its full value.
        #[schemars(extend("x-default" = "that of link.satellite.profile"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ramp: Option<Span>,

        /// Probability that the satellite changes at a slot boundary. Contradicts orbit, which gives the satellite.
        #[schemars(extend("x-default" = "that of link.satellite.profile"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub handover: Option<Share>,

        /// Mean extension of the outage when the satellite changes, exponentially distributed.
        #[schemars(extend("x-default" = "that of link.satellite.profile"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub longer_outage: Option<Span>,

        /// Least and largest one-way propagation delay of a satellite, drawn in between. Contradicts orbit.
        #[schemars(extend("x-default" = "that of link.satellite.profile"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub base_delay: Option<[Span; 2]>,

        /// Delay spike around each slot boundary, on top of the propagation delay.
        #[serde(skip_serializing_if = "SpikeTable::is_absent")]
        pub spike: SpikeTable,

        /// Share of time in which an obstruction stands between terminal and satellite.
        #[schemars(range(min = 0, max = 0.95), extend("x-default" = "that of link.satellite.profile"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub obstructed: Option<f64>,

        /// Mean duration of an obstruction, which ends with its slot at the latest.
        #[schemars(extend("x-default" = "that of link.satellite.profile: 2 s"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub obstruction: Option<Span>,

        /// Orbit from which the propagation delay follows, in place of base_delay and handover.
        #[serde(skip_serializing_if = "OrbitTable::is_absent")]
        pub orbit: OrbitTable,

        /// Keys of the direction from terminal to satellite. The keys of link.satellite itself are for the other direction.
        #[serde(skip_serializing_if = "UplinkTable::is_absent")]
        pub uplink: UplinkTable,
    }
}

direction! {
    /// Direction of a satellite link from the terminal to the satellite.
    UplinkTable {}
}

/// Delay spike, added to the propagation delay from the beginning of the outage before a slot boundary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpikeTable {
    /// Least delay of a spike.
    #[schemars(extend("x-default" = "that of link.satellite.profile"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<Span>,

    /// Mean delay of a spike beyond its least delay, exponentially distributed.
    #[schemars(extend("x-default" = "that of link.satellite.profile"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Span>,

    /// Largest delay of a spike.
    #[schemars(extend("x-default" = "that of link.satellite.profile"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<Span>,

    /// Time after the slot boundary at which the delay spike ends.
    #[schemars(extend("x-default" = "that of link.satellite.profile"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Span>,
}

absent!(Satellite, UplinkTable, SpikeTable);

/// Profile of a measured satellite link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProfileName {
    /// One terminal at rest: the public example of LeoReplayer (LeoCC, SIGCOMM 2025). 49 Mbit/s down, 16 Mbit/s up.
    #[serde(rename = "starlink-leocc-2025")]
    StarlinkLeocc2025,
    /// A terminal on a moving car: Starlink-on-the-Autobahn. 237 Mbit/s down, 17 Mbit/s up, obstructed for 6.7 % of the
    /// time.
    #[serde(rename = "starlink-autobahn-2024")]
    StarlinkAutobahn2024,
    /// A geostationary satellite without boundaries, as emulated by Endres et al. (arXiv 2202.08228): 20 Mbit/s down, 2
    /// Mbit/s up, 300 ms one way.
    #[serde(rename = "geo")]
    Geo,
}

/// Direction of the data over a satellite link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DataWay {
    /// Data go to the terminal.
    Down,
    /// Data come from the terminal.
    Up,
}

/// Resolved direction of a satellite link.
#[derive(Clone, Debug, PartialEq)]
pub struct SatelliteSetup {
    /// Parameters common to both directions.
    pub shared: SatelliteConfig,
    /// Name of this direction of the link.
    pub name: DirectionName,
    /// Parameters of this direction of the link.
    pub direction: DirectionConfig,
    /// Closed-form properties of this direction, such as its mean capacity.
    pub closed_forms: ClosedForms,
    /// Mean one-way propagation delay.
    pub mean_delay: SimTime,
    /// Share of slots with a satellite in sight of terminal and gateway.
    pub coverage: f64,
    /// Default limit of the queue in front of this direction.
    pub usual_queue: Limit,
}

impl SatelliteSetup {
    /// Key of the satellite link's table, for messages.
    pub const KEY: &str = "link.satellite";

    /// Mean transit time of a packet that waits only for a grant, including propagation.
    pub(crate) fn transit(&self) -> SimTime {
        self.mean_delay.saturating_add(SimTime::from_secs_f64(self.closed_forms.idle_wait_s))
    }

    /// Rate in bit/s that the link seldom exceeds.
    pub(crate) fn peak_rate_bps(&self) -> f64 {
        let DirectionConfig { rate_bps, spread_between, spread_within, .. } = self.direction;
        rate_bps * libm::exp(2.0 * libm::hypot(spread_between, spread_within))
    }
}

impl Satellite {
    /// Fills in the values of the profile. Returns the directions of the data and of the acknowledgements; `None` for a
    /// link without a satellite.
    pub(crate) fn resolve(&mut self) -> Result<Option<[SatelliteSetup; 2]>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let usual = match *self.profile.get_or_insert(ProfileName::StarlinkLeocc2025) {
            ProfileName::StarlinkLeocc2025 => Profile::starlink_leocc_2025(),
            ProfileName::StarlinkAutobahn2024 => Profile::starlink_autobahn_2024(),
            ProfileName::Geo => Profile::geo(),
        };
        let shared = self.shared(&usual.shared)?;
        let down = self.settle(SatelliteSetup::KEY, &usual.down)?;
        let up = self.uplink.settle(&join(SatelliteSetup::KEY, "uplink"), &usual.up)?;
        shared.check().map_err(|error| named(SatelliteSetup::KEY, &error))?;
        let (mean_delay, coverage) = match &shared.base_delay {
            BaseDelay::Uniform(_) => (shared.mean_delay(), 1.0),
            BaseDelay::Orbit(orbit) => (shared.mean_delay(), orbit.coverage(shared.slot)),
        };
        if coverage == 0.0 {
            let key = join(SatelliteSetup::KEY, "orbit");
            return Err(ScenarioError::key(
                key,
                "no satellite stands over terminal and gateway at any time of an hour",
            ));
        }
        let setup = |name, direction: DirectionConfig, queue| {
            let mut closed_forms = shared.closed_forms(&direction);
            closed_forms.capacity_bps *= coverage;
            closed_forms.outage_share = 1.0 - (1.0 - closed_forms.outage_share) * coverage;
            let usual_queue = Limit(Room::Time(queue));
            SatelliteSetup {
                shared: shared.clone(),
                name,
                direction,
                closed_forms,
                mean_delay,
                coverage,
                usual_queue,
            }
        };
        let down = setup(DirectionName::Down, down, usual.queues[0]);
        let up = setup(DirectionName::Up, up, usual.queues[1]);
        Ok(Some(match *self.data.get_or_insert(DataWay::Down) {
            DataWay::Down => [down, up],
            DataWay::Up => [up, down],
        }))
    }

    fn shared(&mut self, usual: &SatelliteConfig) -> Result<SatelliteConfig, ScenarioError> {
        let key = |name: &str| join(SatelliteSetup::KEY, name);
        let settle = |name: &str, given: &mut Option<Span>, usual: SimTime| {
            absolute(&key(name), *given.get_or_insert(Span::exactly(usual)))
        };
        let offset = match (self.offset, usual.offset) {
            (None, None) => None,
            (_, usual) => Some(settle("offset", &mut self.offset, usual.unwrap_or_default())?),
        };
        let orbit = self.orbit.resolve(&key("orbit"))?;
        let base_delay = match (orbit, &usual.base_delay) {
            (Some(orbit), _) => {
                for (name, value) in
                    [("handover", self.handover.map(json)), ("base_delay", self.base_delay.map(json))]
                {
                    if value.is_some() {
                        let reason = "the orbit decides it";
                        return Err(ScenarioError::contradiction(&key(name), &key("orbit"), reason));
                    }
                }
                BaseDelay::Orbit(Box::new(orbit))
            }
            (None, BaseDelay::Uniform(delays)) => {
                let delays = *self.base_delay.get_or_insert(delays.map(Span::exactly));
                let [least, most] = delays.map(|delay| absolute(&key("base_delay"), delay));
                BaseDelay::Uniform([least?, most?])
            }
            (None, orbit @ BaseDelay::Orbit(_)) => orbit.clone(),
        };
        let handover = match base_delay {
            BaseDelay::Uniform(_) => self.handover.get_or_insert(Share(usual.handover)).0,
            BaseDelay::Orbit(_) => 0.0,
        };
        let SpikeTable { least, beyond, most, after } = &mut self.spike;
        Ok(SatelliteConfig {
            slot: settle("slot", &mut self.slot, usual.slot)?,
            offset,
            gate: Gate {
                outage: settle("outage", &mut self.outage, usual.gate.outage)?,
                ramp: settle("ramp", &mut self.ramp, usual.gate.ramp)?,
            },
            handover,
            longer_outage: settle("longer_outage", &mut self.longer_outage, usual.longer_outage)?,
            base_delay,
            spike: Spike {
                least: settle("spike.least", least, usual.spike.least)?,
                beyond: settle("spike.beyond", beyond, usual.spike.beyond)?,
                most: settle("spike.most", most, usual.spike.most)?,
                after: settle("spike.after", after, usual.spike.after)?,
            },
            obstructed: *self.obstructed.get_or_insert(usual.obstructed),
            obstruction: settle("obstruction", &mut self.obstruction, usual.obstruction)?,
        })
    }
}
