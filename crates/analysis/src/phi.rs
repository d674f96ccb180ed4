//! Number of successes on a two-state Markov channel: phi of Zorzi et al. (2000), section IV-E, and step probabilities
//! by equation (12).

use crossfade_channel::TwoStateMarkov;

/// State of the two-state Markov channel: a packet is lost in a bad slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Bad,
    Good,
}
pub(crate) use State::{Bad, Good};

/// Probability that the channel is good `steps` slots after state `from`, equation (12) of Zorzi et al. (2000).
///
/// The closed form avoids cancellation if the channel rarely changes.
pub(crate) fn good_after(channel: &TwoStateMarkov, from: State, steps: u32) -> f64 {
    let changes = channel.p_gb() + channel.p_bg();
    // 1 - r^n, with the correlation r of neighbouring slots.
    let forgotten = if changes < 1.0 {
        -libm::expm1(f64::from(steps) * libm::log1p(-changes))
    } else {
        1.0 - libm::pow(1.0 - changes, f64::from(steps))
    };
    let good = match from {
        Bad => channel.p_bg() / changes * forgotten,
        Good => 1.0 - channel.p_gb() / changes * forgotten,
    };
    // The limits only remove rounding errors.
    good.clamp(0.0, 1.0)
}

/// Table of `phi_ab(k, x)`: probability of k successes in slots 1 to x and state b in slot x, given state a in slot 0.
///
/// If `b` is good, the k-th success is in slot x itself.
pub(crate) struct Phi {
    k_max: usize,
    /// Rows for x and columns for k, each with the end states bad and good; one table for each start state.
    from_bad: Vec<[f64; 2]>,
    from_good: Vec<[f64; 2]>,
}

impl Phi {
    /// Computes the table for `k <= k_max` and `x <= x_max`.
    pub(crate) fn new(channel: &TwoStateMarkov, k_max: usize, x_max: usize) -> Self {
        let table = |start: [f64; 2]| {
            let width = k_max + 1;
            let mut cells = vec![[0.0; 2]; width * (x_max + 1)];
            cells[0] = start;
            for x in 1..=x_max {
                for k in 0..=k_max.min(x) {
                    let [bad, good] = cells[(x - 1) * width + k];
                    let to_bad = bad * channel.p_bb() + good * channel.p_gb();
                    let to_good = if k == 0 {
                        0.0
                    } else {
                        let [bad, good] = cells[(x - 1) * width + k - 1];
                        bad * channel.p_bg() + good * channel.p_gg()
                    };
                    cells[x * width + k] = [to_bad, to_good];
                }
            }
            cells
        };
        Self { k_max, from_bad: table([1.0, 0.0]), from_good: table([0.0, 1.0]) }
    }

    pub(crate) fn get(&self, from: State, to: State, k: usize, x: usize) -> f64 {
        debug_assert!(k <= self.k_max, "{k} successes are beyond the table");
        let table = if from == Bad { &self.from_bad } else { &self.from_good };
        let [bad, good] = table[x * (self.k_max + 1) + k];
        if to == Bad { bad } else { good }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAINS: [(f64, f64); 5] = [(0.99, 0.9), (0.7, 0.3), (0.5, 0.5), (0.1, 0.2), (0.0, 0.0)];

    /// Value of `phi_ab(k, x)` as a sum over all 2^x sequences of channel states.
    fn enumerated(channel: &TwoStateMarkov, from: State, to: State, k: usize, x: usize) -> f64 {
        let mut sum = 0.0;
        for sequence in 0_u32..1 << x {
            let (mut probability, mut state) = (1.0, from);
            for slot in 0..x {
                let next = if sequence >> slot & 1 == 1 { Good } else { Bad };
                probability *= match (state, next) {
                    (Bad, Bad) => channel.p_bb(),
                    (Bad, Good) => channel.p_bg(),
                    (Good, Bad) => channel.p_gb(),
                    (Good, Good) => channel.p_gg(),
                };
                state = next;
            }
            if state == to && sequence.count_ones() as usize == k {
                sum += probability;
            }
        }
        sum
    }

    #[test]
    fn phi_equals_the_sum_over_all_sequences() {
        for (p_gg, p_bb) in CHAINS {
            let channel = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            for k_max in [1, 3, 9] {
                let phi = Phi::new(&channel, k_max, 9);
                for (from, to) in [(Bad, Bad), (Bad, Good), (Good, Bad), (Good, Good)] {
                    for (k, x) in (0..=k_max).flat_map(|k| (0..=9).map(move |x| (k, x))) {
                        let (ours, expected) =
                            (phi.get(from, to, k, x), enumerated(&channel, from, to, k, x));
                        assert!(
                            (ours - expected).abs() < 1e-14,
                            "{from:?}{to:?}({k},{x}): {ours} {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn steps_equal_the_power_of_the_matrix() {
        for (p_gg, p_bb) in CHAINS {
            let channel = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            for from in [Bad, Good] {
                let mut good = if from == Good { 1.0 } else { 0.0 };
                for steps in 0..300 {
                    let ours = good_after(&channel, from, steps);
                    assert!((ours - good).abs() < 1e-13, "{p_gg} {p_bb}, {steps} steps: {ours} {good}");
                    good = good * channel.p_gg() + (1.0 - good) * channel.p_bg();
                }
            }
        }
    }

    #[test]
    fn a_channel_that_hardly_changes_keeps_its_digits() {
        let channel = TwoStateMarkov::from_burst(0.2, 1e15).unwrap();
        let good = good_after(&channel, Bad, 99);
        assert!((good / 99e-15 - 1.0).abs() < 1e-12, "{good}");
    }
}
