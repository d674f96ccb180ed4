//! Neighbours of each node, and the power of their signals.

use crate::config::{MeshConfig, Reception};
use crate::topology::within;
use crossfade_channel::LogNormalShadowing;
use crossfade_core::{RunSeed, Stream, from_db};

/// Frames whose mean power is this far below the noise are left out, in dB; shadowing adds three deviations.
const NEGLIGIBLE_DB: f64 = -10.0;

/// A node that a sender's frames reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(crate) node: u32,
    /// The mean power.
    power: f64,
    /// Whether it is within the range, and within the interference range.
    in_range: bool,
    pub(crate) interferes: bool,
    /// The channel between the two, for arrays; the one with the lower number is the first of its ends.
    pub(crate) channel: u32,
}

/// Reception of a frame at a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) power: f64,
    /// Carrier sense would count it.
    pub(crate) sensed: bool,
    /// Whether the frame could be decoded but for interference and what antennas make of it.
    pub(crate) decodable: bool,
}

/// The geometry and the propagation of a mesh.
pub(crate) struct Air {
    neighbours: Vec<Vec<Neighbour>>,
    /// Number of pairs of nodes that reach each other.
    pub(crate) pairs: usize,
    /// Noise power, and the least power to lock on and to sense, where there is noise.
    pub(crate) noise: f64,
    least_signal: f64,
    least_sensed: f64,
    shadowing: Option<LogNormalShadowing>,
    /// Random stream of each sender.
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
            // Rounding must not take away what the range promises.
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

    /// Reception of a frame of `from` at a neighbour; shadowing is drawn anew each time.
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

    /// The least power through the antennas that a radio locks on.
    pub(crate) fn least_signal(&self) -> f64 {
        self.least_signal
    }
}
