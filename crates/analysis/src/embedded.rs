//! Semi-Markov process of Zorzi et al. (2000), section IV-C: an embedded Markov chain of cycles, with rewards per
//! cycle.
//!
//! ```text
//!  X = (C, W_th, W) ── part 1: nothing lost, n slots ──> Y = W(n) ── part 2: recovery ──> next X
//! ```
//!
//! A cycle starts after a timeout, a completed recovery, or (Tahoe) a fast retransmit. Part 1 is the same for
//! every variant and every way of counting; the caller says how part 2 ends.

use crate::growth::{LossWindow, windows};
use crate::model::Model;
use crate::phi::{Bad, Good, State};
use crossfade_channel::TwoStateMarkov;
use crossfade_core::square;

/// Events of part 2 (recovery) of a cycle that lead to the same window; all fields are weighted with the events'
/// probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Probability of these events with a bad channel in the last slot of the cycle.
    pub(crate) bad: f64,
    /// Probability of these events with a good channel in the last slot of the cycle.
    pub(crate) good: f64,
    /// `N_d`: number of slots after that of the first loss, weighted with the probability.
    pub(crate) slots: f64,
    /// Square of `N_d`, weighted with the probability.
    pub(crate) slots_squared: f64,
    /// `N_t`: number of transmissions in the `N_d` slots, weighted with the probability.
    pub(crate) sent: f64,
    /// `N_s` of the lower bound: number of successes that are surely new, weighted with the probability.
    pub(crate) new_lower: f64,
    /// `N_s` of the upper bound: number of successes that may be new, weighted with the probability.
    pub(crate) new_upper: f64,
}

/// Contribution of one event to an [`Outcome`].
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) probability: f64,
    /// Probability that the last slot of the cycle is good, given the event.
    pub(crate) good: f64,
    pub(crate) slots: u32,
    pub(crate) sent: u32,
    pub(crate) new_lower: u32,
    pub(crate) new_upper: u32,
}

impl Outcome {
    pub(crate) fn add(&mut self, event: Event) {
        let Event { probability, good, .. } = event;
        self.bad += probability * (1.0 - good);
        self.good += probability * good;
        self.slots += probability * f64::from(event.slots);
        self.slots_squared += probability * square(f64::from(event.slots));
        self.sent += probability * f64::from(event.sent);
        self.new_lower += probability * f64::from(event.new_lower);
        self.new_upper += probability * f64::from(event.new_upper);
    }
}

/// Outcomes of part 2 (recovery) after a loss in a window Y of given floor, by the next state (C, `W_th`, W) of the
/// chain: channel, slow-start threshold and window, with h = ceil(Y / 2).
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    /// Timeout without a fast retransmit; the next state is (C, h, 1).
    pub(crate) timeout: Outcome,
    /// Timeout in recovery, by the number m of retransmissions that arrived in it. The window has become W' = min(h + K
    /// + m, `W_max`); the next state is (C, ceil(W' / 2), 1).
    pub(crate) timeout_in_recovery: Vec<Outcome>,
    /// Fast retransmit of Tahoe; the next state is (G, h, 1) with a good channel G.
    pub(crate) restart: Outcome,
    /// Completed recovery; the next state is (G, h, h) with a good channel G.
    pub(crate) recovered: Outcome,
}

impl Endings {
    /// Outcome of a timeout in recovery after `arrived` retransmissions have arrived.
    pub(crate) fn timeout_after(&mut self, arrived: usize) -> &mut Outcome {
        if self.timeout_in_recovery.len() <= arrived {
            self.timeout_in_recovery.resize(arrived + 1, Outcome::default());
        }
        &mut self.timeout_in_recovery[arrived]
    }
}

/// Long-run throughput bounds and transmissions per slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) throughput_lower: f64,
    pub(crate) throughput_upper: f64,
    pub(crate) transmissions: f64,
}

/// State X = (C, `W_th`, W) at the start of a cycle: channel, slow-start threshold and window.
#[derive(Clone, Copy)]
struct Start {
    /// Channel state in the slot before the cycle.
    state: State,
    ssthresh: u32,
    window: u32,
}

impl Start {
    /// Index of the state by equation (2) of Zorzi et al. (2000), without gaps. (G, 1, 1) after a timeout and after a
    /// recovery are one state.
    fn index(self) -> usize {
        let base = 3 * (self.ssthresh as usize - 1);
        match self.state {
            Bad => base,
            Good if self.window == 1 => base + 1,
            Good => base - 1,
        }
    }

    fn all(w_max: u32) -> impl Iterator<Item = Self> {
        (1..=w_max.div_ceil(2)).flat_map(|ssthresh| {
            let start = |state, window| Self { state, ssthresh, window };
            let recovered = (ssthresh > 1).then_some(start(Good, ssthresh));
            [start(Bad, 1), start(Good, 1)].into_iter().chain(recovered)
        })
    }
}

/// Distribution over the next states of the chain, or over the loss windows Y, with mean rewards.
struct Row {
    probability: Vec<f64>,
    slots: f64,
    sent: f64,
    new_lower: f64,
    new_upper: f64,
}

/// True if good runs are longer than the greatest number, so that no packet is ever lost.
fn never_loses(channel: &TwoStateMarkov) -> bool {
    channel.p_gb() < f64::MIN_POSITIVE
}

/// Long-run rates per slot, from the outcomes of loss windows with floor 1, 2, ..., `W_max`.
pub(crate) fn rates(model: &Model, endings: &[Endings]) -> Rates {
    if never_loses(&model.channel) {
        return Rates { throughput_lower: 1.0, throughput_upper: 1.0, transmissions: 1.0 };
    }
    let cycles = cycles(model, endings);
    let size = cycles.len();
    let matrix = cycles.iter().flat_map(|row| row.probability.iter().copied()).collect();
    let share = stationary(matrix, size);
    // Equation (8) counts the probabilities of (6) twice; the correct form is the ratio of mean rewards per cycle.
    let mean =
        |reward: fn(&Row) -> f64| -> f64 { cycles.iter().zip(&share).map(|(c, p)| p * reward(c)).sum() };
    let slots = mean(|row| row.slots);
    let throughput_upper = (mean(|row| row.new_upper) / slots).min(1.0);
    Rates {
        // Rounding must not make the lower bound exceed an equal upper bound.
        throughput_lower: (mean(|row| row.new_lower) / slots).min(throughput_upper),
        throughput_upper,
        transmissions: (mean(|row| row.sent) / slots).min(1.0),
    }
}

/// Transition probabilities of the embedded chain, with the mean rewards of a cycle from each state.
fn cycles(model: &Model, endings: &[Endings]) -> Vec<Row> {
    let size = 3 * model.w_max.div_ceil(2) as usize - 1;
    let second: Vec<Row> = LossWindow::all(model.w_max)
        .map(|loss_window| second_part(model, loss_window, &endings[loss_window.floor as usize - 1], size))
        .collect();
    let mut cycles: Vec<Row> = Vec::with_capacity(size);
    let mut starts: Vec<Start> = Start::all(model.w_max).collect();
    starts.sort_by_key(|start| start.index());
    for start in starts {
        let first = first_part(model, start);
        let mut cycle = Row { probability: vec![0.0; size], ..first };
        for (p, row) in first.probability.iter().zip(&second).filter(|(p, _)| **p > 0.0) {
            cycle.probability.iter_mut().zip(&row.probability).for_each(|(sum, next)| *sum += p * next);
            cycle.slots += p * row.slots;
            cycle.sent += p * row.sent;
            cycle.new_lower += p * row.new_lower;
            cycle.new_upper += p * row.new_upper;
        }
        cycles.push(cycle);
    }
    cycles
}

/// Part 1 (growth without loss) from a state, equations (3) and (10) of Zorzi et al. (2000): distribution over loss
/// windows by index. At the maximum window the infinite sum over n has a closed form.
fn first_part(model: &Model, start: Start) -> Row {
    let channel = &model.channel;
    let (p_cb, p_cg) = match start.state {
        Bad => (channel.p_bb(), channel.p_bg()),
        Good => (channel.p_gb(), channel.p_gg()),
    };
    let w_max = f64::from(model.w_max);
    let mut probability = vec![0.0; 2 * model.w_max as usize];
    let mut windows = windows(start.window, start.ssthresh, model.w_max);
    let first_window = windows.next().expect("windows have no end");
    probability[LossWindow::of(first_window).index()] += p_cb;
    // Probability of no loss before slot n >= 2.
    let mut intact = p_cg;
    for window in windows {
        let index = LossWindow::of(window).index();
        // The remaining probability may be negligible.
        if window == w_max || intact < NEGLIGIBLE {
            probability[index] += intact;
            break;
        }
        probability[index] += intact * channel.p_gb();
        intact *= channel.p_gg();
    }
    let delivered = p_cg / channel.p_gb();
    let slots = 1.0 + delivered;
    Row { probability, slots, sent: slots, new_lower: delivered, new_upper: delivered }
}

/// Probability that is too small to change a sum near 1.
const NEGLIGIBLE: f64 = 1e-40;

/// Part 2 (recovery) after a loss in `loss_window`: distribution over the next states.
fn second_part(model: &Model, loss_window: LossWindow, endings: &Endings, size: usize) -> Row {
    let mut row = Row { probability: vec![0.0; size], slots: 0.0, sent: 0.0, new_lower: 0.0, new_upper: 0.0 };
    let half = loss_window.half;
    let mut add = |outcome: &Outcome, ssthresh, window| {
        // No loss window that occurs has a larger half, but the table of all loss windows does.
        let ssthresh = u32::min(ssthresh, model.w_max.div_ceil(2));
        for (state, p) in [(Bad, outcome.bad), (Good, outcome.good)] {
            if p > 0.0 {
                row.probability[Start { state, ssthresh, window: u32::min(window, ssthresh) }.index()] += p;
            }
        }
        row.slots += outcome.slots;
        row.sent += outcome.sent;
        row.new_lower += outcome.new_lower;
        row.new_upper += outcome.new_upper;
    };
    add(&endings.timeout, half, 1);
    add(&endings.restart, half, 1);
    add(&endings.recovered, half, half);
    for (arrived, outcome) in (0..).zip(&endings.timeout_in_recovery) {
        // Only outcomes that can occur are in the list; the saturation protects from a huge K.
        let inflated = half.saturating_add(model.dupthresh).saturating_add(arrived).min(model.w_max);
        add(outcome, inflated.div_ceil(2), 1);
    }
    row
}

/// Stationary distribution of a Markov chain by the elimination of Grassmann, Taksar and Heyman (Operations Research
/// 33(5), 1985). It subtracts nothing, so no digits cancel. `matrix` holds the transition probabilities row by row.
pub(crate) fn stationary(mut matrix: Vec<f64>, size: usize) -> Vec<f64> {
    let mut first = 0;
    for k in (1..size).rev() {
        let (above, row) = matrix.split_at_mut(k * size);
        let leaves: f64 = row[..k].iter().sum();
        if leaves == 0.0 {
            // No lower state is ever reached again: all lower states are transient.
            first = k;
            break;
        }
        for row_above in above.chunks_exact_mut(size) {
            row_above[k] /= leaves;
            let through = row_above[k];
            if through > 0.0 {
                row_above[..k].iter_mut().zip(&row[..k]).for_each(|(p, next)| *p += through * next);
            }
        }
    }
    let mut share = vec![0.0; size];
    share[first] = 1.0;
    for k in first + 1..size {
        share[k] = (first..k).map(|j| share[j] * matrix[j * size + k]).sum();
    }
    let total: f64 = share.iter().sum();
    share.iter().map(|p| p / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bounds, paper_bounds};
    use crossfade_transport::Variant;

    #[test]
    fn the_rows_of_the_embedded_chain_sum_to_one() {
        for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
            for (w_max, dupthresh) in [(1, 1), (2, 1), (5, 2), (6, 3), (7, 9), (24, 1), (24, 3)] {
                for (p_gg, p_bb) in [(0.999, 0.75), (0.7, 0.3), (0.2, 0.1), (0.0, 0.0), (0.5, 1.0)] {
                    let channel = TwoStateMarkov::new(p_gg, p_bb).unwrap();
                    let backoff_max_slots = None;
                    let model =
                        Model { variant, w_max, dupthresh, timeout_slots: 100, backoff_max_slots, channel };
                    let [pessimistic, optimistic] = paper_bounds::endings(&model);
                    for endings in [bounds::endings(&model), pessimistic, optimistic] {
                        for row in cycles(&model, &endings) {
                            let sum: f64 = row.probability.iter().sum();
                            assert!((sum - 1.0).abs() < 1e-12, "{model:?}: {sum}");
                            assert!(row.sent <= row.slots + 1e-12 && row.new_upper <= row.sent + 1e-12);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn elimination_solves_small_chains() {
        let close = |ours: &[f64], expected: &[f64]| {
            assert!(ours.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{ours:?}");
        };
        close(&stationary(vec![0.9, 0.1, 0.3, 0.7], 2), &[0.75, 0.25]);
        // Periodic, with a transient state at either end, and with leaks too small to see beside 1.
        close(&stationary(vec![0.0, 1.0, 1.0, 0.0], 2), &[0.5, 0.5]);
        close(&stationary(vec![0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0], 3), &[0.0, 0.5, 0.5]);
        close(&stationary(vec![0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.5], 3), &[0.5, 0.5, 0.0]);
        close(&stationary(vec![1.0, 1e-30, 3e-30, 1.0], 2), &[0.75, 0.25]);
    }
}
