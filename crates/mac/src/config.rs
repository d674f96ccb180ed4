//! Configuration of a mesh.

use crate::error::{MeshError, out_of_range, positive};
use crate::routes::{Routes, Routing};
use crate::timing::DcfConfig;
use crate::topology::{MAX_NODES, Position, apart, within};
use crate::vector::MAX_ANTENNAS;
use crossfade_channel::{LogNormalShadowing, PathLoss};
use crossfade_core::{SimTime, to_db};

/// Configuration of a mesh, without its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshConfig {
    /// Positions of the nodes ([`Topology::positions`](crate::Topology::positions)).
    pub positions: Vec<Position>,
    /// Rule by which routes are found.
    pub routing: Routing,
    /// Range of reception, in metres.
    pub range_m: f64,
    /// Range of carrier sense and interference, in metres; at least the range of reception.
    pub interference_m: f64,
    /// Model of reception.
    pub reception: Reception,
    /// A frame is understood if the worst ratio of its power to that of interference and noise is this, in dB.
    pub sinr_threshold_db: f64,
    /// The 802.11 of all nodes.
    pub dcf: DcfConfig,
    /// Whether nodes null each other.
    pub mac: Mac,
    /// Packets that wait at a node at most, besides the one being sent.
    pub queue: usize,
}

/// Model of reception. A receiver locks on the first frame that it could understand; a stronger
/// one does not take its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reception {
    /// Model of the paper: power 1 up to the interference range, none beyond, no noise.
    Range,
    /// Power falls with distance and varies with each frame and receiver. The noise is such that a frame without
    /// interference is just understood at the range, and carrier sense such that it is just sensed at the
    /// interference range, both without shadowing.
    Sinr {
        /// Path loss.
        path_loss: PathLoss,
        /// Shadowing.
        shadowing: LogNormalShadowing,
    },
}

/// The medium access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mac {
    /// 802.11 with one antenna.
    Plain,
    /// 802.11 with antenna arrays that null neighbours in other exchanges.
    Nulling(NullingConfig),
}

/// Use of antenna arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullingConfig {
    /// Antennas of every node; all but one can null.
    pub antennas: usize,
    /// Rule for which neighbours are nulled.
    pub rule: NullingRule,
    /// Rule for a node with too many signals to null.
    pub overload: Overload,
    /// Source of a node's knowledge of exchanges nearby: overheard frames, or all at once.
    pub knowledge: Knowledge,
    /// Start from the weights of the exchange before instead of the first antenna alone.
    pub sticky: bool,
    /// The error of each channel estimate, as its power over the mean power of the channel in dB; `None` is exact.
    pub estimation_error_db: Option<f64>,
    /// Coherence interval, after which the channel is drawn anew; `None` for the whole run.
    pub coherence_time: Option<SimTime>,
}

impl NullingConfig {
    /// The paper's arrays: overheard knowledge, every known engaged neighbour nulled, calls put off under overload.
    pub fn new(antennas: usize) -> Self {
        Self {
            antennas,
            rule: NullingRule::Full,
            overload: Overload::Defer,
            knowledge: Knowledge::Overheard,
            sticky: false,
            estimation_error_db: None,
            coherence_time: None,
        }
    }
}

/// Selection of the engaged neighbours that a node nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullingRule {
    /// All: also the answers of two receivers side by side hit each other.
    Full,
    /// The paper's rule: a sender nulls nodes that have sent a CTS, a receiver nodes that have sent an RTS.
    Paper,
}

/// Rule for a node that would have to null as many independent signals as it has antennas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// Waits until one of the exchanges is over; does not answer either.
    Defer,
    /// Transmits with the weights that minimise their power.
    LeastSquares,
}

/// Knowledge of a node about the exchanges nearby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Knowledge from each overheard RTS and CTS; while a node sends or receives it learns nothing.
    Overheard,
    /// Immediate knowledge without a frame: of each exchange that a node in the interference range has called, or has
    /// been called to.
    Perfect,
}

impl MeshConfig {
    /// The share of frames that are understood over `distance_m` metres when nothing interferes, by one antenna.
    fn decoding_probability(&self, distance_m: f64) -> f64 {
        match self.reception {
            Reception::Range => f64::from(u8::from(within(distance_m, self.range_m))),
            Reception::Sinr { path_loss, shadowing } => {
                let margin = path_loss.gain(distance_m) / path_loss.gain(self.range_m);
                shadowing.probability_above(to_db(margin) + 1e-9)
            }
        }
    }

    /// The shortest paths that a route discovery would find, which takes every link for usable that passes at least
    /// `share` of the frames, however far: under shadowing they may have fewer hops than those within the range.
    pub fn discovered_routes(&self, share: f64) -> Routes {
        let place = |node: usize| self.positions[node];
        Routes::over(self.positions.len(), |a, b| {
            self.decoding_probability(place(a).distance_m(place(b))) >= share
        })
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// Numbers outside their ranges, an interference range below the range, nulling with one antenna, nodes at one
    /// place.
    pub fn check(&self) -> Result<(), MeshError> {
        if !(1..=MAX_NODES).contains(&self.positions.len()) {
            return out_of_range("nodes", self.positions.len(), format!("between 1 and {MAX_NODES}"));
        }
        apart(&self.positions)?;
        positive("range", self.range_m)?;
        if !(self.interference_m >= self.range_m && self.interference_m.is_finite()) {
            let allowed = format!("at least range, {} m", self.range_m);
            return out_of_range("interference", format!("{} m", self.interference_m), allowed);
        }
        if !(-20.0..=60.0).contains(&self.sinr_threshold_db) {
            return out_of_range("sinr_threshold_db", self.sinr_threshold_db, "between -20 and 60");
        }
        if !(1..=100_000).contains(&self.queue) {
            return out_of_range("queue", self.queue, "between 1 and 100000 packets");
        }
        if let Mac::Nulling(nulling) = self.mac {
            nulling.check()?;
            if !self.dcf.rts {
                return out_of_range("rts", false, "true for nulling, which learns from RTS and CTS");
            }
        }
        self.dcf.timing().map(|_| ())
    }
}

impl NullingConfig {
    fn check(&self) -> Result<(), MeshError> {
        if !(2..=MAX_ANTENNAS).contains(&self.antennas) {
            let allowed =
                format!("between 2 and {MAX_ANTENNAS} for nulling: one antenna has no null to spend");
            return out_of_range("antennas", self.antennas, allowed);
        }
        if let Some(error) = self.estimation_error_db.filter(|error| !(-200.0..=20.0).contains(error)) {
            return out_of_range("estimation_error_db", error, "between -200 and 20");
        }
        if self.coherence_time.is_some_and(|time| time < SimTime::from_micros(1)) {
            return out_of_range("coherence_time", self.coherence_time.unwrap_or_default(), "at least 1 us");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadowing_lets_discovery_skip_nodes() {
        let config = |shadowing_db| MeshConfig {
            positions: (0..9).map(|i| Position { x_m: 200.0 * f64::from(i), y_m: 0.0 }).collect(),
            routing: Routing::ShortestPath,
            range_m: 250.0,
            interference_m: 250.0,
            reception: Reception::Sinr {
                path_loss: PathLoss::ns2(),
                shadowing: LogNormalShadowing::new(shadowing_db).unwrap(),
            },
            sinr_threshold_db: 10.0,
            dcf: DcfConfig::default(),
            mac: Mac::Plain,
            queue: 25,
        };
        // 400 m lie 4.08 dB beyond the range at exponent 2: Q(1.02) = 15.4 % of frames.
        assert!((config(4.0).decoding_probability(400.0) - 0.1538).abs() < 1e-3);
        let hops = |shadowing_db, share| config(shadowing_db).discovered_routes(share).hops(0, 8);
        assert_eq!((hops(0.0, 0.1), hops(4.0, 0.1), hops(4.0, 0.2)), (Ok(8), Ok(4), Ok(8)));
    }
}
