//! Losses that a full queue does not explain: how many, and whether they come in bursts.

use crate::bootstrap::share;
use crate::bursts::Bursts;
use crate::record::{Fate, Record};
use crossfade_core::Stream;

/// Random losses of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Packets whose fate is known and which no full queue dropped.
    pub packets: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// By how much the numbers of losses of stretches of the record vary more than those of independent losses.
    pub dispersion: f64,
    /// A channel of two states, if it predicts held-out losses better than independence does.
    pub bursts: Option<Bursts>,
    /// The share lost with less, and with more than the median before it in the queue.
    pub by_backlog: [(u64, u64); 2],
}

/// In a queue that is always full fewer packets are far from its limit: they are taken for so many.
const FEWEST: u64 = 1000;
/// Stretches of the record for the dispersion.
const STRETCHES: usize = 30;

impl Losses {
    /// The losses of a record, without packets that were `near` to a full queue. Packets left the link at these times, and take it `packet_s`
    /// each.
    pub(crate) fn new(record: &Record, near: &[bool], backlogs: &[f64], left: &[f64], packet_s: f64) -> Self {
        let known: Vec<(bool, f64)> = (record.packets().iter().zip(near).zip(backlogs))
            .filter(|((packet, near), _)| packet.fate != Fate::Unknown && !**near)
            .map(|((packet, _), backlog)| (packet.fate == Fate::Lost, *backlog))
            .collect();
        let packets = known.len() as u64;
        let lost = known.iter().filter(|of| of.0).count() as u64;
        let mut sorted: Vec<f64> = known.iter().map(|of| of.1).collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let mut by_backlog = [(0, 0); 2];
        for (lost, backlog) in &known {
            let half = &mut by_backlog[usize::from(*backlog > middle)];
            half.0 += u64::from(*lost);
            half.1 += 1;
        }
        let found = Self { packets, lost, dispersion: dispersion(&known), bursts: None, by_backlog };
        Self { bursts: Bursts::new(record, near, left, packet_s), ..found }
    }

    /// The share that is lost.
    pub fn share(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.lost as f64 / self.packets as f64 }
    }

    /// A draw of that share, as far as the record knows it. Where nothing was lost, a draw that `may_lose_nothing` does not: many links do not.
    pub fn draw(&self, may_lose_nothing: bool, stream: &mut Stream) -> f64 {
        if self.lost == 0 && may_lose_nothing {
            return 0.0;
        }
        if self.lost == 0 && self.packets < FEWEST {
            return share(0.0, FEWEST as f64, stream);
        }
        share(self.lost as f64 / self.dispersion, self.packets as f64 / self.dispersion, stream)
    }

    /// Whether more is lost the fuller the queue is, far beyond chance: no noise, but a short queue, a policer or an AQM.
    pub fn grows_with_queue(&self) -> bool {
        let [low, high] = self.by_backlog.map(|(lost, all)| (lost as f64, all as f64));
        if low.1 < 100.0 || high.1 < 100.0 || high.0 < 10.0 {
            return false;
        }
        let pooled = (low.0 + high.0) / (low.1 + high.1);
        let deviation = (self.dispersion * pooled * (1.0 - pooled) * (1.0 / low.1 + 1.0 / high.1)).sqrt();
        high.0 / high.1 - low.0 / low.1 > 4.0 * deviation
    }
}

/// The variance of the numbers of losses of stretches over that of independent ones, at least 1.
fn dispersion(known: &[(bool, f64)]) -> f64 {
    let length = known.len() / STRETCHES;
    let lost = known.iter().filter(|of| of.0).count() as f64;
    if length == 0 || lost < 10.0 {
        return 1.0;
    }
    let mean = lost / known.len() as f64 * length as f64;
    let counts = known.chunks_exact(length).map(|stretch| stretch.iter().filter(|of| of.0).count() as f64);
    let squares: Vec<f64> = counts.map(|count| (count - mean) * (count - mean)).collect();
    let found = squares.iter().sum::<f64>() / squares.len() as f64 / mean.max(f64::MIN_POSITIVE);
    // Of independent losses the ratio exceeds this once in twenty times (chi-square with 29 degrees of freedom).
    if found > 1.47 { found } else { 1.0 }
}
