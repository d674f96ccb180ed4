//! Antenna arrays of all nodes, and the channels between them.

use crate::air::Neighbour;
use crate::config::{NullingConfig, Overload};
use crate::vector::Vector;
use crate::weights::{Channel, least_leak_weights, nulling_weights};
use crossfade_channel::complex_normal;
use crossfade_core::{RunSeed, SimTime, Stream, from_db};

/// Antenna weights of all nodes, channels of all pairs, and errors of channel estimates.
pub(crate) struct Arrays {
    pub(crate) config: NullingConfig,
    seed: RunSeed,
    /// Channel of each pair of nodes that reach each other, with the number of the coherence interval for which it was
    /// drawn; `None` before its first use.
    channels: Vec<Option<(u64, Channel)>>,
    /// Weights of each node in its current exchange.
    weights: Vec<Vector>,
    /// Nodes that each node nulls in its current exchange.
    pub(crate) nulled: Vec<Vec<u32>>,
    /// Power of the error of a channel estimate; `streams` has the random stream of each node's errors.
    error: f64,
    streams: Vec<Stream>,
}

impl Arrays {
    pub(crate) fn new(config: NullingConfig, nodes: usize, pairs: usize, seed: RunSeed) -> Self {
        let error = config.estimation_error_db.map_or(0.0, from_db);
        let streams = if error > 0.0 {
            (0..nodes).map(|node| seed.stream(&format!("mac.estimation.{node}"))).collect()
        } else {
            Vec::new()
        };
        let weights = vec![Vector::first(config.antennas); nodes];
        Self {
            config,
            seed,
            channels: vec![None; pairs],
            weights,
            nulled: vec![Vec::new(); nodes],
            error,
            streams,
        }
    }

    /// Channel vector that a neighbour's antennas see of a transmission of `from` at `now`.
    pub(crate) fn seen(&mut self, now: SimTime, from: u32, neighbour: &Neighbour) -> Vector {
        let (weights, to) = (self.weights[from as usize], neighbour.node);
        let (first, second) = (from.min(to), from.max(to));
        let block = self.config.coherence_time.map_or(0, |time| now / time);
        let channel = &mut self.channels[neighbour.channel as usize];
        if channel.as_ref().is_none_or(|(drawn_for, _)| *drawn_for != block) {
            // The stream's name makes the channel a function of pair and coherence interval.
            let mut stream = self.seed.stream(&format!("mac.channel.{first}.{second}.{block}"));
            let antennas = self.config.antennas;
            let gains = (0..antennas * antennas).map(|_| complex_normal(&mut stream)).collect();
            *channel = Channel::new(antennas, gains).map(|channel| (block, channel));
        }
        let Some((_, channel)) = channel else { return Vector::zeros(self.config.antennas) };
        if from == first { channel.seen_by_second(&weights) } else { channel.seen_by_first(&weights) }
    }

    /// Channel vector `seen` as `node` estimates it, with the configured error.
    pub(crate) fn estimate(&mut self, node: u32, seen: &Vector) -> Vector {
        if self.error == 0.0 {
            return *seen;
        }
        let (stream, deviation) = (&mut self.streams[node as usize], self.error.sqrt());
        seen.map(|entry| entry + complex_normal(stream) * deviation)
    }

    /// Antenna weights of `node` in its current exchange.
    pub(crate) fn weights(&self, node: u32) -> &Vector {
        &self.weights[node as usize]
    }

    /// Sets the antenna weights of `node` for an exchange.
    pub(crate) fn set_weights(&mut self, node: u32, weights: Vector) {
        self.weights[node as usize] = weights;
    }

    /// Weights that `node` would use without neighbours to null: those of its last exchange if sticky, otherwise the
    /// first antenna alone.
    pub(crate) fn wish(&self, node: u32) -> Vector {
        if self.config.sticky { self.weights[node as usize] } else { Vector::first(self.config.antennas) }
    }

    /// Unit-norm weights nearest to `wish` that null all `constraints`. If there are too many: least-squares weights,
    /// or `None` with [`Overload::Defer`].
    pub(crate) fn nulling(&self, wish: &Vector, constraints: &[Vector]) -> Option<Vector> {
        nulling_weights(wish, constraints).or_else(|| {
            let goes_ahead = self.config.overload == Overload::LeastSquares;
            goes_ahead.then(|| least_leak_weights(self.config.antennas, constraints))
        })
    }
}
