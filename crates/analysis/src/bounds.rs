//! Tight bounds on the throughput: the semi-Markov analysis of Zorzi et al. (2000) with its looser counts replaced by
//! exact ones.
//!
//! Transmissions and slots are counted exactly for every variant (`NewReno`'s recovery needs no second chain). For the
//! lower bound, each packet of the run of successes right behind a hole counts as surely new: the retransmission of the
//! hole acknowledges the run, and no other packet is sent (W = 1) until it succeeds, so no packet of the run is ever
//! retransmitted.

use crate::embedded::{Endings, Event, Outcome, rates};
use crate::model::{AnalysisError, Model};
use crate::phi::{Bad, Good, Phi, State, good_after};
use crossfade_channel::TwoStateMarkov;
use crossfade_core::OutOfRange;
use crossfade_transport::Variant;

/// Bounds on the steady-state throughput, with the transmissions that their chains count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower bound on the throughput: packets delivered once, per slot (packet transmission time).
    pub throughput_lower: f64,
    /// Upper bound on the throughput: packets delivered once, per slot (packet transmission time). The throughput is
    /// usually close to it.
    pub throughput_upper: f64,
    /// Transmissions per slot in the chain of the lower bound.
    pub transmissions_per_slot: f64,
    /// Transmissions per slot in the chain of the upper bound. It differs from [`Self::transmissions_per_slot`] only
    /// for `NewReno` in [`paper_bounds`](crate::paper_bounds()), which has two chains; there, neither number is a
    /// bound.
    pub transmissions_per_slot_upper: f64,
}

/// Greatest window in segments. The work of the bounds as printed grows with its fourth power, to one second here.
const W_MAX: u32 = 256;

/// Greatest timeout in slots, because slots are counted in 32 bits.
const TIMEOUT_MAX: u32 = 1_000_000_000;

/// Bounds on the throughput of TCP flavour `paper` (the idealised sender of Zorzi et al., 2000).
///
/// For `OldTahoe` and Tahoe they are rigorous. For Reno and `NewReno` (and SACK, which equals `NewReno` here) a cycle
/// depends slightly on earlier ones, since a lost packet that the receiver already holds is no hole. The true
/// throughput may then exceed the upper bound: over the grid of the documentation, by a relative error of up to 6e-4
/// (Reno, `W_max` 24, K 1, `fd_t` 0.08, 10 % loss). Transmissions may differ by up to 9e-4.
///
/// Source: Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000, section IV, with equation (8) read as a ratio of mean
/// rewards and (11), (13), (22), (24), (25) replaced by exact counts.
///
/// # Errors
/// If [`Model::check`] fails, the window is above 256, the timeout above 10^9 slots, or the timeout has back-off.
pub fn bounds(model: &Model) -> Result<Bounds, AnalysisError> {
    check(model)?;
    let rates = rates(model, &endings(model));
    Ok(Bounds {
        throughput_lower: rates.throughput_lower,
        throughput_upper: rates.throughput_upper,
        transmissions_per_slot: rates.transmissions,
        transmissions_per_slot_upper: rates.transmissions,
    })
}

pub(crate) fn check(model: &Model) -> Result<(), AnalysisError> {
    model.check()?;
    for (parameter, value, most) in
        [("w_max", model.w_max, W_MAX), ("timeout_slots", model.timeout_slots, TIMEOUT_MAX)]
    {
        if value > most {
            let allowed = format!("at most {most} for bounds");
            return Err(OutOfRange::new(parameter, value, allowed).into());
        }
    }
    match model.backoff_max_slots {
        None => Ok(()),
        Some(backoff_max_slots) => Err(AnalysisError::BackoffNotBounded { backoff_max_slots }),
    }
}

/// Outcomes of part 2 (recovery) of a cycle for loss windows with floor 1, 2, ..., `W_max`.
pub(crate) fn endings(model: &Model) -> Vec<Endings> {
    let second = SecondPart::new(model);
    let runs = Runs::new(&second);
    // The outcomes of a fast retransmit after slot i apply to every window that lets i packets follow the lost one.
    let mut fast_retransmits = Endings::default();
    (1..=second.w_max)
        .map(|floor| {
            if floor > second.k {
                add_fast_retransmit(&second, &runs, floor - 1, &mut fast_retransmits);
            }
            let mut endings = fast_retransmits.clone();
            endings.timeout = second.no_fast_retransmit(floor);
            endings.timeout.new_lower = run_without_fast_retransmit(&second, floor);
            endings
        })
        .collect()
}

/// Adds the outcomes of a fast retransmit to `endings`, where the K-th duplicate acknowledgement comes in slot `i` and
/// the first loss was in slot 0.
fn add_fast_retransmit(second: &SecondPart, runs: &Runs, i: u32, endings: &mut Endings) {
    let SecondPart { k, timeout_slots, .. } = *second;
    let probability = second.phi(Bad, Good, k, i);
    if second.variant == Variant::Tahoe {
        // (22)
        let event = Event { probability, good: 1.0, slots: i, sent: i, new_lower: 0, new_upper: k };
        endings.restart.add(event);
        endings.restart.new_lower += runs.behind_hole(k, i);
        return;
    }
    let holes = i - k + 1;
    let reno = second.variant == Variant::Reno;
    if holes == 1 || !reno {
        endings.recovered.add(second.recovered(i));
    }
    // m retransmissions arrive, then that of hole m is lost; Reno retransmits only the first and then waits for hole 1.
    for m in 0..if reno { holes.min(2) } else { holes } {
        let waits = reno && m == 1;
        let (last_sent, last_state) = if waits { (i + 1, Good) } else { (i + m + 1, Bad) };
        let retransmissions = second.successes(m) * if waits { 1.0 } else { second.channel.p_gb() };
        let outcome = endings.timeout_after(m as usize);
        // Hole m was sent in slot l, behind l - m < K successes; hole 0 in slot 0.
        let slots_of_hole = if m == 0 { 0..=0 } else { m..=(m + k - 1).min(i - 1) };
        for l in slots_of_hole {
            let before = second.phi(Bad, Bad, l - m, l) * retransmissions;
            let slots = l + timeout_slots - 1;
            outcome.add(Event {
                probability: before * second.phi(Bad, Good, k + m - l, i - l),
                good: good_after(&second.channel, last_state, slots - last_sent),
                slots,
                sent: last_sent,
                // All packets before the hole are acknowledged and never retransmitted.
                new_lower: l,
                new_upper: k + m,
            });
            outcome.new_lower += before * runs.behind_hole(k + m - l, i - l);
        }
    }
}

/// Part 2 (recovery) of a cycle, which begins with the loss in slot 0: those parts that do not depend on the way
/// successes are counted.
pub(crate) struct SecondPart {
    pub(crate) variant: Variant,
    pub(crate) channel: TwoStateMarkov,
    pub(crate) w_max: u32,
    pub(crate) timeout_slots: u32,
    /// Number of duplicate acknowledgements that trigger a fast retransmit; `W_max` if there is none, since at most
    /// `W_max` - 1 can come.
    pub(crate) k: u32,
    phi: Phi,
}

impl SecondPart {
    pub(crate) fn new(model: &Model) -> Self {
        let Model { variant, w_max, dupthresh, timeout_slots, channel, .. } = *model;
        let k = if variant == Variant::OldTahoe { w_max } else { dupthresh.min(w_max) };
        let phi = Phi::new(&channel, k as usize, w_max as usize);
        Self { variant, channel, w_max, timeout_slots, k, phi }
    }

    /// Value `phi_ab(successes, slots)` of [`Phi`] for a transition from state a (`from`) to state b (`to`).
    pub(crate) fn phi(&self, from: State, to: State, successes: u32, slots: u32) -> f64 {
        self.phi.get(from, to, successes as usize, slots as usize)
    }

    /// Probability that `n` successive slots after a good one are all good.
    pub(crate) fn successes(&self, n: u32) -> f64 {
        libm::pow(self.channel.p_gg(), f64::from(n))
    }

    /// Outcome if the window is used up before K duplicate acknowledgements come, equations (11), (13), (21) of Zorzi
    /// et al. (2000). No success counts as surely new.
    pub(crate) fn no_fast_retransmit(&self, floor: u32) -> Outcome {
        let mut outcome = Outcome::default();
        let sent = floor - 1;
        for state in [Bad, Good] {
            let good = good_after(&self.channel, state, self.timeout_slots - floor);
            for successes in 0..=sent.min(self.k - 1) {
                outcome.add(Event {
                    probability: self.phi(Bad, state, successes, sent),
                    good,
                    slots: self.timeout_slots - 1,
                    sent,
                    new_lower: 0,
                    new_upper: successes,
                });
            }
        }
        outcome
    }

    /// Event in which the K-th success is in slot `i` and all holes are then filled one after the other, equations
    /// (16), (23) of Zorzi et al. (2000). All its successes are surely new, because acknowledged packets are never
    /// retransmitted.
    pub(crate) fn recovered(&self, i: u32) -> Event {
        let holes = i - self.k + 1;
        Event {
            probability: self.phi(Bad, Good, self.k, i) * self.successes(holes),
            good: 1.0,
            slots: i + holes,
            sent: i + holes,
            new_lower: i + 1,
            new_upper: i + 1,
        }
    }
}

/// Expected lengths of the run of successes right behind a hole (a missing packet at the receiver).
struct Runs {
    k: usize,
    /// Table with rows for slots x and columns for successes.
    behind_hole: Vec<f64>,
}

impl Runs {
    fn new(second: &SecondPart) -> Self {
        let k = second.k as usize;
        let mut behind_hole = vec![0.0; (k + 1) * second.w_max as usize];
        for slots in 1..second.w_max {
            for successes in 1..=second.k.min(slots) {
                let expected = (1..=successes).map(|run| {
                    let rest = second.phi(Good, Good, successes - run, slots - run);
                    second.channel.p_bg() * second.successes(run - 1) * rest
                });
                behind_hole[slots as usize * (k + 1) + successes as usize] = expected.sum();
            }
        }
        Self { k, behind_hole }
    }

    /// Expected length of the run of successes right behind a hole sent in slot 0, times the indicator of the event in
    /// which the last of `successes` successes is in `slot`.
    fn behind_hole(&self, successes: u32, slot: u32) -> f64 {
        self.behind_hole[slot as usize * (self.k + 1) + successes as usize]
    }
}

/// Expected length of the run of successes right behind the first loss, times the indicator of fewer than K successes
/// in the rest of the window.
fn run_without_fast_retransmit(second: &SecondPart, floor: u32) -> f64 {
    let sent = floor - 1;
    let at_least = |run: u32| {
        let (most, slots) = (second.k - 1 - run, sent - run);
        let rest: f64 = if most >= slots {
            1.0
        } else {
            let count = |successes| {
                second.phi(Good, Bad, successes, slots) + second.phi(Good, Good, successes, slots)
            };
            (0..=most).map(count).sum()
        };
        second.channel.p_bg() * second.successes(run - 1) * rest
    };
    (1..=sent.min(second.k - 1)).map(at_least).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::Outcome;
    use std::collections::BTreeMap;

    const T_O: u32 = 40;

    /// Kind of the end of a cycle, named like a field of [`Endings`], and number of retransmissions that arrived in
    /// recovery.
    type End = (&'static str, usize);

    /// Follows one cycle by the rules of the protocol from its first loss in slot 0, with a receiver that holds no
    /// packets ahead; `good(slot)` is the channel. Returns the end, the last slot with a transmission, and the rewards
    /// of [`Outcome`].
    fn walk(variant: Variant, k: u32, floor: u32, good: impl Fn(u32) -> bool) -> (End, u32, [u32; 4]) {
        let mut held = vec![false];
        let mut successes = 0;
        while (held.len() as u32) < floor {
            let slot = held.len() as u32;
            held.push(good(slot));
            successes += u32::from(good(slot));
            if good(slot) && successes == k && variant != Variant::OldTahoe {
                break;
            }
        }
        let sent = held.len() as u32 - 1;
        // Packets that the retransmission of the first hole will acknowledge besides that hole; none of them is
        // retransmitted.
        let settled = |held: &[bool]| {
            let hole = held.iter().position(|h| !h).unwrap_or(held.len());
            hole as u32 + held[(hole + 1).min(held.len())..].iter().take_while(|h| **h).count() as u32
        };
        if variant == Variant::OldTahoe || successes < k {
            return (("timeout", 0), sent, [T_O - 1, sent, settled(&held), successes]);
        }
        if variant == Variant::Tahoe {
            return (("restart", 0), sent, [sent, sent, settled(&held), successes]);
        }
        let (mut slot, mut arrived) = (sent, 0);
        while let Some(hole) = held.iter().position(|h| !h) {
            let may_repeat = variant == Variant::NewReno || arrived == 0;
            if may_repeat {
                slot += 1;
            }
            if !may_repeat || !good(slot) {
                let rewards = [hole as u32 + T_O - 1, slot, settled(&held), successes + arrived];
                return (("recovery", arrived as usize), slot, rewards);
            }
            held[hole] = true;
            arrived += 1;
        }
        (("recovered", 0), slot, [slot, slot, held.len() as u32, successes + arrived])
    }

    #[test]
    fn the_endings_equal_the_sum_over_all_channels() {
        let slots = 12;
        for (p_gg, p_bb) in [(0.9, 0.6), (0.4, 0.7), (0.3, 0.1)] {
            let channel = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
                for k in 1..=4 {
                    let timeout_slots = T_O;
                    let backoff_max_slots = None;
                    let model =
                        Model { variant, w_max: 6, dupthresh: k, timeout_slots, backoff_max_slots, channel };
                    for (endings, floor) in endings(&model).iter().zip(1..) {
                        let expected = enumerate(&channel, variant, k, floor, slots);
                        compare(endings, expected, &format!("{variant:?} K {k}, floor {floor}"));
                    }
                }
            }
        }
    }

    fn enumerate(
        channel: &TwoStateMarkov,
        variant: Variant,
        k: u32,
        floor: u32,
        slots: u32,
    ) -> BTreeMap<End, [f64; 7]> {
        let mut ends: BTreeMap<End, [f64; 7]> = BTreeMap::new();
        for states in 0_u32..1 << slots {
            let good = |slot: u32| slot > 0 && states >> (slot - 1) & 1 == 1;
            let step = |from: bool, to: bool| match (from, to) {
                (false, false) => channel.p_bb(),
                (false, true) => channel.p_bg(),
                (true, false) => channel.p_gb(),
                (true, true) => channel.p_gg(),
            };
            let p: f64 = (1..=slots).map(|slot| step(good(slot - 1), good(slot))).product();
            let (end, last_sent, rewards) = walk(variant, k, floor, good);
            let mut last_good = f64::from(u8::from(good(last_sent)));
            for _ in last_sent..rewards[0] {
                last_good = last_good * channel.p_gg() + (1.0 - last_good) * channel.p_bg();
            }
            let sums = ends.entry(end).or_default();
            sums[0] += p * (1.0 - last_good);
            sums[1] += p * last_good;
            (0..4).for_each(|reward| sums[2 + reward] += p * f64::from(rewards[reward]));
            sums[6] += p * f64::from(rewards[0]).powi(2);
        }
        ends
    }

    fn compare(endings: &Endings, mut expected: BTreeMap<End, [f64; 7]>, what: &str) {
        let in_recovery = endings.timeout_in_recovery.iter().enumerate().map(|(m, o)| (("recovery", m), o));
        let others = [
            (("timeout", 0), &endings.timeout),
            (("restart", 0), &endings.restart),
            (("recovered", 0), &endings.recovered),
        ];
        for (end, outcome) in others.into_iter().chain(in_recovery) {
            let Outcome { bad, good, slots, slots_squared, sent, new_lower, new_upper } = *outcome;
            let ours = [bad, good, slots, sent, new_lower, new_upper, slots_squared];
            let sums = expected.remove(&end).unwrap_or_default();
            // Relative for the slots: rounding of 4096 terms of up to T_O slots.
            let close = ours.iter().zip(&sums).all(|(a, b)| (a - b).abs() <= 1e-12 * b.max(1.0));
            assert!(close, "{what}, {end:?}: {ours:?} {sums:?}");
        }
        assert!(expected.is_empty(), "{what}: {expected:?}");
    }
}
