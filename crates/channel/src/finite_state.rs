//! Finite-state Markov channels: any number of states, each with an error probability of its own.

use crate::error::{ChannelError, probability};
use crate::geometric::Geometric;
use crate::loss::{Clock, LossProcess};
use crossfade_core::{OutOfRange, SimTime, Stream};
use rand::{RngExt, SeedableRng};

/// A Markov chain in which each state has a loss probability (H. S. Wang and N. Moayeri, "Finite-State Markov Channel",
/// IEEE Trans. Vehicular Technology 44(1), 1995).
///
/// Two states with loss probabilities 0 and 1 are Gilbert's model, with other probabilities Elliott's.
#[derive(Clone, Debug, PartialEq)]
pub struct FiniteStateChannel {
    transitions: Vec<Vec<f64>>,
    state_p_e: Vec<f64>,
    stationary: Vec<f64>,
}

impl FiniteStateChannel {
    /// Greatest number of states of a finite-state channel.
    pub const MOST_STATES: usize = 64;

    /// Greatest accepted deviation of a row's sum from 1, since tables print rounded decimals.
    const ROUNDING: f64 = 1e-9;

    /// Creates a channel from the transition probabilities from a state (row) to a state (column), and the loss
    /// probability in each state.
    ///
    /// # Errors
    /// If the transitions are no square matrix of probabilities whose rows add up to 1, some state cannot be reached
    /// from another, or the number of loss probabilities is not that of the states.
    pub fn new(transitions: Vec<Vec<f64>>, state_p_e: Vec<f64>) -> Result<Self, ChannelError> {
        let states = transitions.len();
        OutOfRange::unless(
            (2..=Self::MOST_STATES).contains(&states),
            "transitions",
            format!("{states} rows"),
            format!("a row for each of 2 to {} states", Self::MOST_STATES),
        )?;
        for (from, row) in transitions.iter().enumerate() {
            let text = format!("{row:?} (row {from})");
            let fits = row.len() == states && row.iter().all(|p| (0.0..=1.0).contains(p));
            OutOfRange::unless(fits, "transitions", &text, format!("{states} probabilities a row"))?;
            let sum: f64 = row.iter().sum();
            OutOfRange::unless(
                (sum - 1.0).abs() <= Self::ROUNDING,
                "transitions",
                text,
                "rows that add up to 1",
            )?;
        }
        let (count, allowed) = (state_p_e.len(), format!("one for each of the {states} states"));
        OutOfRange::unless(count == states, "state_p_e", format!("{count} probabilities"), allowed)?;
        for p_e in &state_p_e {
            probability("state_p_e", *p_e)?;
        }
        let forth = |from: usize, to: usize| transitions[from][to] > 0.0;
        let is_connected = reaches_all(states, forth) && reaches_all(states, |from, to| forth(to, from));
        let allowed = "such that each state can be reached from each other";
        OutOfRange::unless(is_connected, "transitions", format!("{transitions:?}"), allowed)?;
        let stationary = stationary(transitions.clone());
        Ok(Self { transitions, state_p_e, stationary })
    }

    /// Stationary distribution: long-run share of steps in each state.
    pub fn stationary(&self) -> &[f64] {
        &self.stationary
    }

    /// Long-run loss rate: mean of the loss probabilities over the stationary distribution.
    pub fn p_e(&self) -> f64 {
        self.stationary.iter().zip(&self.state_p_e).map(|(share, p_e)| share * p_e).sum()
    }
}

/// True if a walk from state 0 along the steps that `leads` allows can reach every one of `states` states.
fn reaches_all(states: usize, leads: impl Fn(usize, usize) -> bool) -> bool {
    let (mut reached, mut open) = (vec![false; states], vec![0]);
    reached[0] = true;
    while let Some(from) = open.pop() {
        for (to, reached) in reached.iter_mut().enumerate() {
            if leads(from, to) && !*reached {
                *reached = true;
                open.push(to);
            }
        }
    }
    reached.into_iter().all(|reached| reached)
}

/// Stationary distribution of an irreducible chain by state reduction, which avoids cancellation as it has no
/// subtractions: W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative analysis and steady state distributions
/// for Markov chains", Operations Research 33(5), 1985.
fn stationary(mut p: Vec<Vec<f64>>) -> Vec<f64> {
    let states = p.len();
    for last in (1..states).rev() {
        let leaves: f64 = p[last][..last].iter().sum();
        for from in 0..last {
            p[from][last] /= leaves;
            for to in 0..last {
                p[from][to] += p[from][last] * p[last][to];
            }
        }
    }
    let mut shares = vec![1.0];
    for state in 1..states {
        shares.push(shares.iter().zip(&p).map(|(share, from)| share * from[state]).sum());
    }
    let total: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / total).collect()
}

/// Loss process of a [`FiniteStateChannel`].
///
/// The state depends on the stream and the step; durations of stays in a state are drawn, not single steps. A second
/// random number, indexed by the transmission, decides with the state's loss probability. The chain starts in its
/// stationary distribution.
#[derive(Clone, Debug)]
pub struct FiniteStateLoss {
    channel: FiniteStateChannel,
    leave: Vec<Geometric>,
    clock: Clock,
    states: Stream,
    state: usize,
    /// Last step that the chain stays in its current state.
    last_of_stay: u64,
    /// Random stream of the loss decisions, positioned at that of transmission `next_draw`.
    errors: Stream,
    next_draw: u128,
}

impl FiniteStateLoss {
    /// Creates the losses of `channel`, with one step of the chain per tick of `clock`, drawn from `states`.
    pub fn new(channel: FiniteStateChannel, clock: Clock, mut states: Stream) -> Self {
        let errors = Stream::from_rng(&mut states);
        let leave = |(state, row): (usize, &Vec<f64>)| Geometric::new(others(row, state).min(1.0));
        let leave: Vec<Geometric> = channel.transitions.iter().enumerate().map(leave).collect();
        let state = pick(channel.stationary.iter().copied(), states.random());
        let last_of_stay = leave[state].sample(&mut states);
        Self { channel, leave, clock, states, state, last_of_stay, errors, next_draw: 0 }
    }

    /// State in step `step`. Steps must not decrease from call to call.
    fn state(&mut self, step: u64) -> usize {
        while self.last_of_stay < step {
            let (from, row) = (self.state, &self.channel.transitions[self.state]);
            let draw = self.states.random::<f64>() * others(row, from);
            self.state = pick(row.iter().enumerate().map(|(to, p)| if to == from { 0.0 } else { *p }), draw);
            let stay = self.leave[self.state].sample(&mut self.states);
            self.last_of_stay = self.last_of_stay.saturating_add(1).saturating_add(stay);
        }
        self.state
    }
}

/// Probability of leaving `state` in a step: the sum of its `row` of transitions without the diagonal.
fn others(row: &[f64], state: usize) -> f64 {
    row[..state].iter().chain(&row[state + 1..]).sum()
}

/// Index of the first entry at which the sum of `shares` exceeds `draw`; the last entry above 0 if rounding leaves the
/// sum below.
fn pick(shares: impl Iterator<Item = f64>, draw: f64) -> usize {
    let (mut sum, mut picked) = (0.0, 0);
    for (place, share) in shares.enumerate().filter(|(_, share)| *share > 0.0) {
        sum += share;
        picked = place;
        if draw < sum {
            break;
        }
    }
    picked
}

impl LossProcess for FiniteStateLoss {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        let state = self.state(self.clock.step(now, transmission));
        // An earlier transmission is reached by wrapping around the generator's whole period.
        let transmission = u128::from(transmission);
        self.errors.advance(transmission.wrapping_sub(self.next_draw));
        self.next_draw = transmission + 1;
        self.errors.random::<f64>() < self.channel.state_p_e[state]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    fn three() -> FiniteStateChannel {
        let transitions = vec![vec![0.90, 0.08, 0.02], vec![0.15, 0.80, 0.05], vec![0.05, 0.25, 0.70]];
        FiniteStateChannel::new(transitions, vec![0.01, 0.2, 0.9]).unwrap()
    }

    fn process(channel: FiniteStateChannel, seed: u64) -> FiniteStateLoss {
        FiniteStateLoss::new(channel, Clock::Transmission, RunSeed { seed, run: 0 }.stream("channel.dl"))
    }

    /// Probability that a run of losses has at least `length` losses: the distribution of states at its first loss,
    /// times powers of the matrix of steps that end in a loss.
    fn run_survival(channel: &FiniteStateChannel, length: usize) -> f64 {
        let FiniteStateChannel { transitions, state_p_e, stationary } = channel;
        let states = state_p_e.len();
        let step = |v: &[f64]| -> Vec<f64> {
            (0..states)
                .map(|to| {
                    (0..states).map(|from| v[from] * transitions[from][to]).sum::<f64>() * state_p_e[to]
                })
                .collect()
        };
        let good: Vec<f64> = (0..states).map(|i| stationary[i] * (1.0 - state_p_e[i])).collect();
        let mut run = step(&good);
        let begins: f64 = run.iter().sum();
        for _ in 1..length {
            run = step(&run);
        }
        run.iter().sum::<f64>() / begins
    }

    #[test]
    fn two_states_are_those_of_the_two_state_chain() {
        let chain = crate::TwoStateMarkov::new(0.99, 0.75).unwrap();
        let transitions = vec![vec![chain.p_gg(), chain.p_gb()], vec![chain.p_bg(), chain.p_bb()]];
        let gilbert = FiniteStateChannel::new(transitions, vec![0.0, 1.0]).unwrap();
        assert!((gilbert.p_e() - chain.p_e()).abs() < 1e-15);
        for length in 1..9 {
            let geometric = chain.p_bb().powf(length as f64 - 1.0);
            assert!((run_survival(&gilbert, length) - geometric).abs() < 1e-15);
        }
    }

    /// Stationary shares are proportional to the cofactors of I - P (for three states: the sums of two-step trees).
    #[test]
    fn the_stationary_distribution_is_that_of_the_closed_form() {
        let channel = three();
        let p = |from: usize, to: usize| channel.transitions[from][to];
        let tree = |a, b, c| p(b, a) * p(c, a) + p(b, a) * p(c, b) + p(c, a) * p(b, c);
        let trees = [tree(0, 1, 2), tree(1, 0, 2), tree(2, 0, 1)];
        let total: f64 = trees.iter().sum();
        for (share, tree) in channel.stationary().iter().zip(trees) {
            assert!((share - tree / total).abs() < 1e-15);
        }
        // By hand: trees 0.05 x (0.15 + 0.05) + 0.15 x 0.25, 0.08 x (0.25 + 0.05) + 0.02 x 0.25,
        // 0.02 x (0.15 + 0.05) + 0.08 x 0.05.
        assert!((total - (0.0475 + 0.029 + 0.008)).abs() < 1e-15);
        assert!((channel.p_e() - (0.01 * 0.0475 + 0.2 * 0.029 + 0.9 * 0.008) / 0.0845).abs() < 1e-15);
    }

    #[test]
    fn losses_and_their_runs_have_the_law_of_the_chain() {
        let (channel, batches, length) = (three(), 100_u64, 4000_u64);
        let (mut rates, mut runs, mut at_least) = (Vec::new(), 0_u64, [0_u64; 6]);
        for seed in 0..batches {
            let mut process = process(channel.clone(), seed);
            let (mut run, mut losses, mut seen_good) = (0, 0, false);
            for tx in 0..length {
                if process.lost(SimTime::ZERO, tx) {
                    losses += 1;
                    run += 1;
                    if seen_good {
                        runs += u64::from(run == 1);
                        at_least.iter_mut().take(run).skip(run - 1).for_each(|count| *count += 1);
                    }
                } else {
                    (run, seen_good) = (0, true);
                }
            }
            rates.push(f64::from(losses) / length as f64);
        }
        let mean = rates.iter().sum::<f64>() / batches as f64;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (batches - 1) as f64;
        let z = (mean - channel.p_e()) / (variance / batches as f64).sqrt();
        assert!(z.abs() < 4.0, "loss rate {mean}, {z} standard errors off");
        for (shorter, &count) in at_least.iter().enumerate().skip(1) {
            let law = run_survival(&channel, shorter + 1);
            let share = count as f64 / runs as f64;
            let z = (share - law) / (law * (1.0 - law) / runs as f64).sqrt();
            assert!(z.abs() < 4.5, "runs of {} or more: {share} against {law}, {z}", shorter + 1);
        }
    }

    /// At step 0 the share of the third state already is 0.008 / 0.0845 (computed by hand in the test above), within
    /// five standard errors.
    #[test]
    fn the_first_step_is_stationary() {
        let channel = FiniteStateChannel { state_p_e: vec![0.0, 0.0, 1.0], ..three() };
        let runs = 20_000;
        let lost = (0..runs).filter(|&seed| process(channel.clone(), seed).lost(SimTime::ZERO, 0)).count();
        let (share, law) = (lost as f64 / runs as f64, 0.008 / 0.0845);
        assert!((share - law).abs() < 5.0 * (law * (1.0 - law) / runs as f64).sqrt(), "{share} {law}");
    }

    #[test]
    fn a_fate_does_not_depend_on_who_asks_when() {
        let mut all = process(three(), 5);
        let fates: Vec<bool> = (0..2000).map(|tx| all.lost(SimTime::ZERO, tx)).collect();
        let mut some = process(three(), 5);
        for tx in (0..2000).filter(|tx| tx % 7 == 0 || tx % 11 == 0) {
            assert_eq!(some.lost(SimTime::ZERO, tx), fates[tx as usize], "{tx}");
            assert_eq!(some.lost(SimTime::ZERO, tx), fates[tx as usize], "{tx} again");
        }
    }

    #[test]
    fn what_is_no_channel_is_refused_with_its_reason() {
        let refused = |transitions: &[&[f64]], state_p_e: &[f64]| {
            let transitions = transitions.iter().map(|row| row.to_vec()).collect();
            FiniteStateChannel::new(transitions, state_p_e.to_vec()).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&[&[1.0]], &[0.5]),
            "transitions = 1 rows: must be a row for each of 2 to 64 states"
        );
        let row = "transitions = [0.5, 0.6] (row 1): must be rows that add up to 1";
        assert_eq!(refused(&[&[0.5, 0.5], &[0.5, 0.6]], &[0.0, 1.0]), row);
        let row = "transitions = [0.5] (row 0): must be 2 probabilities a row";
        assert_eq!(refused(&[&[0.5], &[0.5, 0.5]], &[0.0, 1.0]), row);
        let apart = refused(&[&[1.0, 0.0], &[0.5, 0.5]], &[0.0, 1.0]);
        assert!(apart.ends_with("must be such that each state can be reached from each other"), "{apart}");
        let few = "state_p_e = 1 probabilities: must be one for each of the 2 states";
        assert_eq!(refused(&[&[0.5, 0.5], &[0.5, 0.5]], &[0.0]), few);
        let beyond = "state_p_e = 1.5: must be between 0 and 1";
        assert_eq!(refused(&[&[0.5, 0.5], &[0.5, 0.5]], &[0.0, 1.5]), beyond);
    }
}
