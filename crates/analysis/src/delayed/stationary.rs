//! Stationary distribution of the chain of protocol states: the long-run share of time in each state.

use super::protocol::Row;
use crate::embedded::stationary;
use crate::model::{AnalysisError, Model, Solution};
use crate::phi::{Bad, Good, good_after};

/// Steady state of TCP flavour `paper` (the idealised sender of Zorzi et al., 2000) with delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delayed {
    /// Throughput and transmissions per slot.
    pub solution: Solution,
    /// Number of protocol states in the chain.
    pub states: usize,
    /// Number of timeouts per slot.
    pub timeouts_per_slot: f64,
    /// Number of fast retransmits per slot.
    pub fast_retransmits_per_slot: f64,
}

/// Number of rounds, of `SWEEPS` Gauss-Seidel sweeps each, after which the iteration fails.
const MAX_ROUNDS: usize = 2000;
const SWEEPS: usize = 8;
/// Relative difference of the results of two rounds at which the iteration stops.
const TOLERANCE: f64 = 1e-13;
/// Largest number of blocks whose chain is solved in every round.
const MAX_BLOCKS: usize = 100;

/// Transition from a protocol state and channel state, with its probability.
#[derive(Clone, Copy)]
struct Step {
    from: u32,
    probability: f64,
}

/// Stationary distribution by Gauss-Seidel iteration, in which each state takes its inflow from the newest values of
/// the other states. States are in the order in which they were reached, so a sweep follows most paths to their end.
///
/// Rare transitions would take many sweeps to balance. Between sweeps they are solved exactly on blocks of states
/// (iterative aggregation and disaggregation, Koury, `McAllister`, Stewart, SIAM J. Alg. Disc. Meth. 5(2), 1984).
pub(super) fn solve(model: &Model, rows: &[Row]) -> Result<Delayed, AnalysisError> {
    let (first, steps, leaves) = incoming(model, rows);
    let (block, blocks) = blocks(rows);
    let mut flow = vec![1.0 / (2 * rows.len()) as f64; 2 * rows.len()];
    let mut last = [f64::NAN; 4];
    for _ in 0..MAX_ROUNDS {
        let inflow = |state: usize| &steps[first[state] as usize..first[state + 1] as usize];
        for state in (0..SWEEPS).flat_map(|_| 0..2 * rows.len()) {
            let sum: f64 = inflow(state).iter().map(|step| flow[step.from as usize] * step.probability).sum();
            // Relaxation by one half: otherwise sweeps and the balancing of blocks may oscillate.
            flow[state] = 0.5 * (flow[state] + sum / leaves[state]);
        }
        let mut matrix = vec![0.0; blocks * blocks];
        for state in 0..flow.len() {
            for step in inflow(state) {
                let (from, to) = (block[step.from as usize] as usize, block[state] as usize);
                matrix[from * blocks + to] += flow[step.from as usize] * step.probability;
            }
        }
        rescale(&mut flow, &block, matrix, blocks);
        let means = means(model, rows, &mut flow);
        let close = |(now, then): (&f64, &f64)| (now - then).abs() <= TOLERANCE * now;
        if means.iter().zip(&last).all(close) {
            let [new, sent, timeouts_per_slot, fast_retransmits_per_slot] = means;
            return Ok(Delayed {
                // The limit only removes rounding errors.
                solution: Solution {
                    throughput_per_slot: new.min(1.0),
                    transmissions_per_slot: sent.min(1.0),
                },
                states: rows.len(),
                timeouts_per_slot,
                fast_retransmits_per_slot,
            });
        }
        last = means;
    }
    Err(AnalysisError::TooLargeDelayed { states: "rounds of the iteration", limit: MAX_ROUNDS })
}

/// Assigns states to blocks, between which transitions are rare. Each cycle of states through which the protocol runs
/// while the channel state stays is a block, since only a rare change of the channel leaves it; all states on their way
/// to this cycle are another.
fn blocks(rows: &[Row]) -> (Vec<u32>, usize) {
    const NONE: u32 = u32::MAX;
    let mut block = vec![NONE; 2 * rows.len()];
    let mut cycles = 0;
    for channel in 0..2 {
        let node = |state: usize| 2 * state + channel;
        for start in 0..rows.len() {
            let mut way = Vec::new();
            let mut state = start;
            // States on the current path are marked until their block is known.
            while block[node(state)] == NONE {
                block[node(state)] = NONE - 1;
                way.push(state);
                state = rows[state].next[channel] as usize;
            }
            let met = block[node(state)];
            let (on_cycle, before) = if met == NONE - 1 {
                cycles += 1;
                let begin = way.iter().position(|on_way| *on_way == state).expect("met on this way");
                (begin, 2 * (cycles - 1))
            } else {
                (way.len(), met & !1)
            };
            for (index, state) in way.into_iter().enumerate() {
                block[node(state)] = before + u32::from(index >= on_cycle);
            }
        }
    }
    let blocks = usize::min(2 * cycles as usize, MAX_BLOCKS);
    for block in &mut block {
        *block %= blocks as u32;
    }
    (block, blocks)
}

/// Scales the flow in each block of states to the block's long-run share; `matrix` holds the flow between blocks.
fn rescale(flow: &mut [f64], block: &[u32], mut matrix: Vec<f64>, blocks: usize) {
    let mut weights = vec![0.0; blocks];
    for (flow, block) in flow.iter().zip(block) {
        weights[*block as usize] += flow;
    }
    for (from, weight) in weights.iter().enumerate() {
        let row = &mut matrix[from * blocks..(from + 1) * blocks];
        row[from] = 0.0;
        if row.iter().sum::<f64>() > 0.0 {
            for p in row {
                *p /= weight;
            }
        } else {
            // The block has no flow.
            row[usize::from(from == 0)] = 1.0;
        }
    }
    if blocks > 1 {
        let share = stationary(matrix, blocks);
        for (flow, block) in flow.iter_mut().zip(block) {
            let (share, weight) = (share[*block as usize], weights[*block as usize]);
            if weight > 0.0 {
                *flow *= share / weight;
            }
        }
    }
}

/// Transitions into each state with its channel (index 2 i + 1 if good, 2 i if bad), without those from itself; also
/// the probability to leave each state.
fn incoming(model: &Model, rows: &[Row]) -> (Vec<u32>, Vec<Step>, Vec<f64>) {
    let all = || {
        rows.iter().zip(0_u32..).flat_map(|(row, i)| {
            [Bad, Good].into_iter().flat_map(move |channel| {
                let good = good_after(&model.channel, channel, row.slots);
                let from = 2 * i + u32::from(channel == Good);
                [(0, 1.0 - good), (1, good)].map(|(next, p)| (from, 2 * row.next[next] + next as u32, p))
            })
        })
    };
    let mut leaves = vec![0.0; 2 * rows.len()];
    let mut first = vec![0_u32; 2 * rows.len() + 1];
    for (from, to, probability) in all() {
        if from != to {
            leaves[from as usize] += probability;
            first[to as usize + 1] += 1;
        }
    }
    for state in 1..first.len() {
        first[state] += first[state - 1];
    }
    let mut free = first.clone();
    let mut steps = vec![Step { from: 0, probability: 0.0 }; first[first.len() - 1] as usize];
    for (from, to, probability) in all().filter(|(from, to, _)| from != to) {
        steps[free[to as usize] as usize] = Step { from, probability };
        free[to as usize] += 1;
    }
    (first, steps, leaves)
}

/// Mean new packets, transmissions, timeouts and fast retransmits per slot; scales `flow` to one slot.
fn means(model: &Model, rows: &[Row], flow: &mut [f64]) -> [f64; 4] {
    let (mut slots, mut sums) = (0.0, [0.0; 4]);
    for (row, flow) in rows.iter().zip(flow.chunks_exact(2)) {
        let both = flow[0] + flow[1];
        slots += both * f64::from(row.slots);
        if row.is_new {
            sums[0] += flow[0] * model.channel.p_bg() + flow[1] * model.channel.p_gg();
        }
        if row.sent {
            sums[1] += both;
        }
        sums[2] += both * f64::from(row.timeouts);
        sums[3] += both * f64::from(row.fast_retransmits);
    }
    for flow in flow {
        *flow /= slots;
    }
    sums.map(|sum| sum / slots)
}
