//! Configuration of a mesh.

use crate::error::{MeshError, out_of_range, positive};
use crate::routes::{Routes, Routing};
use crate::timing::DcfConfig;
use crate::topology::{MAX_NODES, Position, apart, within};
use crate::vector::MAX_ANTENNAS;
use crossfade_channel::{LogNormalShadowing, PathLoss};
use crossfade_core::{SimTime, to_db};

/// Configuration of a multihop 802.11 mesh, without its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshConfig {
    /// Positions of the nodes ([`Topology::positions`](crate::Topology::positions)).
    pub positions: Vec<Position>,
    /// Method by which routes are found.
    pub routing: Routing,
    /// Range of reception in metres.
    pub range_m: f64,
    /// Range of carrier sense and interference in metres, at least the range of reception.
    pub interference_m: f64,
    /// Model of reception: fixed ranges, or signal-to-interference-and-noise ratio.
    pub reception: Reception,
    /// Least ratio in dB of a frame's power to noise and interference, at their worst during the frame, at which it is
    /// decoded.
    pub sinr_threshold_db: f64,
    /// Parameters of the 802.11 distributed coordination function, common to all nodes.
    pub dcf: DcfConfig,
    /// Medium access: one antenna, or arrays that null neighbours.
    pub mac: Mac,
    /// Maximum number of packets that wait at a node, besides the one being sent.
    pub queue: usize,
}

/// Model of reception. A receiver locks on the first frame that it could decode; a stronger frame that begins later
/// does not take its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reception {
    /// Range model of the paper: received power 1 up to the interference range, 0 beyond, no noise.
    Range,
    /// SINR model: power falls with distance and, with shadowing, varies per frame and receiver. The noise is such
    /// that, without shadowing and interference, a frame is just decoded at the range; the threshold of carrier sense
    /// is the mean power at the interference range.
    Sinr {
        /// Mean power over distance.
        path_loss: PathLoss,
        /// Log-normal shadowing, drawn for each frame and receiver.
        shadowing: LogNormalShadowing,
    },
}

/// Medium access of all nodes of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mac {
    /// 802.11 with one antenna per node.
    Plain,
    /// 802.11 with antenna arrays that null neighbours in other exchanges.
    Nulling(NullingConfig),
}

/// Use of antenna arrays: number of antennas, and rules of nulling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullingConfig {
    /// Number of antennas of every node, 2 to 8; each node can null one node fewer.
    pub antennas: usize,
    /// Rule that selects the neighbours to null.
    pub rule: NullingRule,
    /// Behaviour of a node with too many signals to null.
    pub overload: Overload,
    /// Source of a node's knowledge of exchanges nearby: overheard frames, or perfect knowledge.
    pub knowledge: Knowledge,
    /// True if a node starts from the weights of its last exchange, false if from its first antenna alone.
    pub sticky: bool,
    /// Power of the error of each channel estimate, relative to the mean power of the channel, in dB; `None` for exact
    /// estimates.
    pub estimation_error_db: Option<f64>,
    /// Coherence interval, after which channels are drawn anew; `None` for constant channels.
    pub coherence_time: Option<SimTime>,
}

impl NullingConfig {
    /// The paper's arrays: overheard knowledge, all known engaged neighbours nulled, calls deferred under overload,
    /// exact estimates of constant channels.
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

/// Selection of the neighbours in an exchange that a node nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullingRule {
    /// All neighbours known to be in an exchange, since the answers of two receivers next to each other also collide.
    Full,
    /// The paper's rule: a sender nulls nodes that have sent a CTS, a receiver nodes that have sent an RTS.
    Paper,
}

/// Behaviour of a node that would have to null as many independent signals as it has antennas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// Defers its call until one of the exchanges ends, and does not answer calls.
    Defer,
    /// Goes ahead with the weights that minimise the power of these signals.
    LeastSquares,
}

/// Source of a node's knowledge about the exchanges nearby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Overheard RTS and CTS frames; a node that sends or receives a frame overhears none.
    Overheard,
    /// Perfect knowledge: each RTS, and each CTS that will be sent, is known at once in the interference range.
    Perfect,
}

impl MeshConfig {
    /// Probability that one antenna decodes a frame over `distance_m` metres without interference.
    fn decoding_probability(&self, distance_m: f64) -> f64 {
        match self.reception {
            Reception::Range => f64::from(u8::from(within(distance_m, self.range_m))),
            Reception::Sinr { path_loss, shadowing } => {
                let margin = path_loss.gain(distance_m) / path_loss.gain(self.range_m);
                shadowing.probability_above(to_db(margin) + 1e-9)
            }
        }
    }

    /// Shortest paths as a route discovery would find them: over every link, of any length, that passes at least
    /// `share` of the frames. With shadowing they may have fewer hops than the shortest paths within the range.
    pub fn discovered_routes(&self, share: f64) -> Routes {
        let place = |node: usize| self.positions[node];
        Routes::over(self.positions.len(), |a, b| {
            self.decoding_probability(place(a).distance_m(place(b))) >= share
        })
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// If a number is outside its range, the interference range is below the range, nulling has one antenna or no RTS,
    /// or two nodes have the same position.
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
