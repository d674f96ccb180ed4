//! Propagation between the nodes of a mesh: neighbours of each node and received powers.

use crate::config::{MeshConfig, Reception};
use crate::topology::within;
use crossfade_channel::LogNormalShadowing;
use crossfade_core::{RunSeed, Stream, from_db};

/// Power in dB relative to the noise below which frames are ignored at a receiver; with shadowing, three standard
/// deviations lower.
const NEGLIGIBLE_DB: f64 = -10.0;

/// Node that the frames of a sender reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(crate) node: u32,
    /// Mean received power, 1 in the range model.
    power: f64,
    /// True if the node is within the range of reception; `interferes` if it is within the interference range.
    in_range: bool,
    pub(crate) interferes: bool,
    /// Index of the pair's channel matrix for arrays; the node with the lower number is its first end.
    pub(crate) channel: u32,
}

/// Frame as a node receives it: its power, and what carrier sense and decoder make of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) power: f64,
    /// True if carrier sense counts the frame.
    pub(crate) sensed: bool,
    /// True if the frame could be decoded without interference and before antenna weights.
    pub(crate) decodable: bool,
}

/// Positions and propagation of a mesh.
pub(crate) struct Air {
    neighbours: Vec<Vec<Neighbour>>,
    /// Number of pairs of nodes that reach each other.
    pub(crate) pairs: usize,
    /// Noise power, 0 in the range model; `least_signal` is the lowest power to lock on, `least_sensed` the lowest that
    /// carrier sense counts.
    pub(crate) noise: f64,
    least_signal: f64,
    least_sensed: f64,
    shadowing: Option<LogNormalShadowing>,
    /// Random stream of each sender's shadowing; empty without shadowing.
    streams: Vec<Stream>,
}

impl Air {
    pub(crate) fn new(config: &MeshConfig, seed: RunSeed) -> Self {
        let threshold = from_db(config.sinr_threshold_db);
        let nodes = config.positions.len();
        let (mut noise, mut least_signal, mut least_sensed, mut audible) = (0.0, 0.0, 0.0, 0.0);
        let mut shadowing = None;
        if let Reception::Sinr { path_loss, shadowing: given } = config.reception {
            least_signal = path_loss.gain(config.range_m);
            least_sensed = path_loss.gain(config.interference_m);
            noise = least_signal / threshold;
            audible = noise * from_db(NEGLIGIBLE_DB - 3.0 * given.std_db());
            shadowing = Some(given).filter(|given| given.std_db() > 0.0);
        }
        let mut air = Self {
            neighbours: vec![Vec::new(); nodes],
            pairs: 0,
            noise,
            // A margin for rounding, so that nodes exactly at the range are heard.
            least_signal: least_signal * (1.0 - 1e-9),
            least_sensed: least_sensed * (1.0 - 1e-9),
            shadowing,
            streams: Vec::new(),
        };
        if shadowing.is_some() {
            air.streams = (0..nodes).map(|node| seed.stream(&format!("mac.shadowing.{node}"))).collect();
        }
        for a in 0..nodes {
            for b in a + 1..nodes {
                let distance = config.positions[a].distance_m(config.positions[b]);
                let (in_range, interferes) =
                    (within(distance, config.range_m), within(distance, config.interference_m));
                let (power, reaches) = match config.reception {
                    Reception::Range => (1.0, interferes),
                    Reception::Sinr { path_loss, .. } => {
                        let power = path_loss.gain(distance);
                        (power, power >= audible)
                    }
                };
                if reaches {
                    let channel = air.pairs as u32;
                    air.pairs += 1;
                    for (node, to) in [(a, b), (b, a)] {
                        let neighbour = Neighbour { node: to as u32, power, in_range, interferes, channel };
                        air.neighbours[node].push(neighbour);
                    }
                }
            }
        }
        air
    }

    /// Nodes that the frames of `node` reach.
    #[inline]
    pub(crate) fn neighbours(&self, node: u32) -> &[Neighbour] {
        &self.neighbours[node as usize]
    }

    /// Reception at a neighbour of a frame that `from` sends; shadowing is drawn for each frame and receiver.
    #[inline]
    pub(crate) fn arrival(&mut self, from: u32, neighbour: &Neighbour) -> Arrival {
        if self.noise == 0.0 {
            return Arrival { power: 1.0, sensed: true, decodable: neighbour.in_range };
        }
        let power = match &self.shadowing {
            Some(shadowing) => neighbour.power * shadowing.gain(&mut self.streams[from as usize]),
            None => neighbour.power,
        };
        Arrival { power, sensed: power >= self.least_sensed, decodable: true }
    }

    /// Lowest power, after antenna weights, at which a radio locks on a frame.
    pub(crate) fn least_signal(&self) -> f64 {
        self.least_signal
    }
}
