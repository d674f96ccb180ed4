//! Throughput bounds of Zorzi et al. (2000) as printed, to reproduce the paper's figures.
//!
//! Two corrections are made throughout: the floor bars that are missing in print, and equation (8) as a ratio of mean
//! rewards per cycle (as printed, it counts the probabilities of (6) twice).

use crate::bounds::{Bounds, SecondPart, check};
use crate::embedded::{Endings, Event, rates};
use crate::model::{AnalysisError, Model};
use crate::phi::{Bad, Good, good_after};
use crossfade_transport::Variant;

/// Bounds on the throughput of TCP flavour `paper`, as printed in Zorzi et al. (2000).
///
/// They are looser than [`bounds`](crate::bounds()): up to 24 % apart at 30 % loss. Those of `NewReno` come from a
/// pessimistic chain (equation (24)) and an optimistic one (25); neither is proven to be a bound, and both may count
/// too few transmissions per slot.
///
/// Source: Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000, section IV.
///
/// # Errors
/// Those of [`bounds`](crate::bounds()).
pub fn paper_bounds(model: &Model) -> Result<Bounds, AnalysisError> {
    check(model)?;
    let [pessimistic, optimistic] = endings(model).map(|endings| rates(model, &endings));
    Ok(Bounds {
        throughput_lower: pessimistic.throughput_lower,
        throughput_upper: optimistic.throughput_upper,
        transmissions_per_slot: pessimistic.transmissions,
        transmissions_per_slot_upper: optimistic.transmissions,
    })
}

/// Outcomes of part 2 (recovery) for loss windows with floor 1, 2, ..., `W_max`: by equation (24), and by (25).
pub(crate) fn endings(model: &Model) -> [Vec<Endings>; 2] {
    let second = SecondPart::new(model);
    [Chain::Pessimistic, Chain::Optimistic].map(|chain| {
        (1..=second.w_max)
            .map(|floor| {
                let mut endings = Endings { timeout: second.no_fast_retransmit(floor), ..Endings::default() };
                for i in second.k..floor {
                    add_fast_retransmit(&second, chain, floor, i, &mut endings);
                }
                endings
            })
            .collect()
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Chain {
    Pessimistic,
    Optimistic,
}

/// Adds the outcomes of a fast retransmit to `endings`, where the K-th duplicate acknowledgement comes in slot `i` of a
/// window of `floor` packets.
fn add_fast_retransmit(second: &SecondPart, chain: Chain, floor: u32, i: u32, endings: &mut Endings) {
    let SecondPart { k, timeout_slots, .. } = *second;
    if second.variant == Variant::Tahoe {
        // (22)
        let probability = second.phi(Bad, Good, k, i);
        endings.restart.add(Event { probability, good: 1.0, slots: i, sent: i, new_lower: 0, new_upper: k });
        return;
    }
    let reno = second.variant == Variant::Reno;
    if i == k || !reno {
        endings.recovered.add(second.recovered(i));
    }
    let p_gb = second.channel.p_gb();
    let good_after = |state, steps| good_after(&second.channel, state, steps);
    // The first loss after slot 0 comes in slot `first`; if the K-th success is in slot K, there is none before it.
    for first in if i == k { k + 1..=k + 1 } else { 1..=k } {
        let event = first_loss_at(second, i, first);
        // (17), (18): the first retransmission is lost.
        endings.timeout_after(0).add(Event {
            probability: event * p_gb,
            good: good_after(Bad, timeout_slots - i - 2),
            slots: timeout_slots - 1,
            sent: i + 1,
            new_lower: first - 1,
            new_upper: k,
        });
        if i == k {
            continue;
        }
        if reno {
            // (19)
            endings.timeout_after(1).add(Event {
                probability: event * second.successes(1),
                good: good_after(Good, timeout_slots + first - i - 2),
                slots: first + timeout_slots - 1,
                sent: i + 1,
                new_lower: first,
                new_upper: k + 1,
            });
            continue;
        }
        for arrived in 1..=i - k {
            let probability = event * second.successes(arrived) * p_gb;
            endings.timeout_after(arrived as usize).add(match chain {
                // Equation (24): its success count for the upper bound is not used here, and neither is that of (25)
                // for the lower bound.
                Chain::Pessimistic => Event {
                    probability,
                    good: 0.0,
                    slots: floor - 1 + timeout_slots - 1,
                    sent: 2 * i - k,
                    new_lower: first,
                    new_upper: i,
                },
                Chain::Optimistic => Event {
                    probability,
                    good: 1.0,
                    slots: first + timeout_slots - 1,
                    sent: i + 1,
                    new_lower: first,
                    new_upper: i,
                },
            });
        }
    }
}

/// Equations (14), (15): probability that the K-th success comes in slot `i` and the first loss after slot 0 in slot
/// `first`, where `i` + 1 stands for no loss.
fn first_loss_at(second: &SecondPart, i: u32, first: u32) -> f64 {
    let (channel, k) = (&second.channel, second.k);
    if i == k {
        channel.p_bg() * second.successes(k - 1)
    } else if first == 1 {
        channel.p_bb() * second.phi(Bad, Good, k, i - 1)
    } else {
        let run = channel.p_bg() * second.successes(first - 2);
        run * channel.p_gb() * second.phi(Bad, Good, k + 1 - first, i - first)
    }
}
