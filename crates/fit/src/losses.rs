//! Random losses of a record, which no full queue explains: their share, dispersion and bursts.

use crate::bootstrap::share;
use crate::bursts::Bursts;
use crate::record::{Fate, Record};
use crossfade_core::Stream;

/// Random losses of a record: those that no full queue explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Number of packets with a known fate that were not near a full queue.
    pub packets: u64,
    /// Number of lost packets among [`Self::packets`].
    pub lost: u64,
    /// Dispersion: ratio of the variance of the number of losses, over 30 stretches of the record, to that of
    /// independent losses; 1 if it is not significantly larger.
    pub dispersion: f64,
    /// Two-state channel of bursty losses; `None` unless it predicts held-out losses better than independence does.
    pub bursts: Option<Bursts>,
    /// Numbers of losses and of packets, for packets that found at most the median backlog, and for those that found
    /// more.
    pub by_backlog: [(u64, u64); 2],
}

/// Number of packets assumed for a draw of the loss probability if fewer were observed and none was lost; few packets
/// would otherwise allow a high probability.
const FEWEST: u64 = 1000;
/// Number of stretches of the record from which the dispersion of losses is estimated.
const STRETCHES: usize = 30;

impl Losses {
    /// Estimates the random losses of a record, without packets `near` to a full queue. `backlogs` are the bytes that
    /// each packet found in the queue, `left` its departure time from the link, and `packet_s` the transmission time of
    /// a full packet, both in seconds.
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

    /// Estimated probability of random loss; 0 without packets.
    pub fn share(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.lost as f64 / self.packets as f64 }
    }

    /// Draw of the probability of random loss from its posterior. If nothing was lost, the draw is zero with
    /// `may_lose_nothing`, else positive, since many links do lose packets.
    pub fn draw(&self, may_lose_nothing: bool, stream: &mut Stream) -> f64 {
        if self.lost == 0 && may_lose_nothing {
            return 0.0;
        }
        if self.lost == 0 && self.packets < FEWEST {
            return share(0.0, FEWEST as f64, stream);
        }
        share(self.lost as f64 / self.dispersion, self.packets as f64 / self.dispersion, stream)
    }

    /// True if packets that found a large backlog were lost far more often than chance explains (four standard
    /// deviations), which indicates a short queue, a policer or an AQM instead of random loss.
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

/// Ratio of the variance of the losses per stretch to that of independent losses; 1 unless it is significantly larger.
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
    // Independent losses exceed this ratio with probability 5 % (chi-square with 29 degrees of freedom).
    if found > 1.47 { found } else { 1.0 }
}
