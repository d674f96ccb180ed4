//! Hybrid ARQ in the mean (fidelity `rate`): each slot sends the expected share of a block, and what of it fails is
//! retransmitted with the channel that there is then.
//!
//! A block is a mass of probability. Of the mass that a slot sends the error rate at the ratio of that slot fails, and
//! is due again a round trip later; there all copies are combined as those of a block are. In a slot in which masses a,
//! b, ... are due, a retransmission goes out with probability 1 - (1 - a) (1 - b) ..., what is left waits for the next
//! slot, and new data have the rest. The arrival of a block is drawn from its probabilities by one number that is uniform
//! between 0 and 1: the block arrives once the probability that it has not is below this number, and is lost where the
//! probability that it never does is above it.

use crate::config::NrConfig;
use crate::harq::Block;
use std::collections::VecDeque;

/// Masses below this are dropped.
const LEAST: f64 = 1e-5;

/// A part of a block that is due again.
#[derive(Clone, Copy, Debug)]
struct Due {
    block: Block,
    /// The first slot in which it can be sent.
    slot: u64,
    /// The probability that it was not received and is sent, and that it was and is sent in vain.
    missing: f64,
    vain: f64,
}

/// A block that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    number: u64,
    start: u64,
    end: u64,
    /// The probability that the slot had a new block at all.
    share: f64,
    /// Probability, given a new block, that it is still retransmitted, and that it never arrives.
    missing: f64,
    lost: f64,
    /// Number between 0 and 1: the block arrives once `missing + lost` is below it, and is lost once `lost` exceeds it.
    draw: f64,
}

/// The blocks of a user.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeanBlocks {
    due: VecDeque<Due>,
    outstanding: VecDeque<Outstanding>,
}

/// Sent part of the mass that is due in a slot.
pub(crate) struct Retransmissions {
    /// The probability that something is.
    pub(crate) share: f64,
    /// Part of the masses that is sent.
    part: f64,
    /// Resource blocks in the mean.
    pub(crate) prbs: f64,
}

impl MeanBlocks {
    pub(crate) fn is_empty(&self) -> bool {
        self.outstanding.is_empty() && self.due.is_empty()
    }

    /// Mass that is retransmitted in `slot`.
    pub(crate) fn retransmissions(&self, slot: u64) -> Retransmissions {
        let (mut none, mut sum, mut prbs) = (1.0, 0.0, 0.0);
        for due in self.due.iter().filter(|due| due.slot <= slot) {
            let mass = due.missing + due.vain;
            none *= 1.0 - mass.min(1.0);
            sum += mass;
            prbs += mass * f64::from(due.block.prbs);
        }
        let share = 1.0 - none;
        let part = if sum > 0.0 { share / sum } else { 0.0 };
        Retransmissions { share, part, prbs: prbs * part }
    }

    /// Sends that part of what is due; `copy` adds to a block the copy that the slot sends. The mean number of copies
    /// and of those that failed.
    pub(crate) fn send_again(
        &mut self,
        slot: u64,
        retransmissions: &Retransmissions,
        config: &NrConfig,
        mut copy: impl FnMut(&mut Block),
    ) -> (f64, f64) {
        let part = retransmissions.part;
        let mut counts = (0.0, 0.0);
        // Those that are sent join the end, behind the ones of today.
        for _ in 0..self.due.len() {
            let Some(mut due) = self.due.pop_front() else { break };
            if due.slot <= slot {
                let mut sent = Due { missing: due.missing * part, vain: due.vain * part, ..due };
                copy(&mut sent.block);
                counts.0 += sent.missing + sent.vain;
                counts.1 += self.outcome(slot, sent, due.block.error_rate, config);
                due.missing -= sent.missing;
                due.vain -= sent.vain;
            }
            if due.missing + due.vain > LEAST {
                self.due.push_back(due);
            } else {
                self.settle(due.block.number, due.missing, 0.0);
            }
        }
        counts
    }

    /// A new block is sent with probability `share`, which has had its first copy; the probability that it failed.
    pub(crate) fn send(&mut self, slot: u64, block: Block, share: f64, config: &NrConfig) -> f64 {
        let Block { number, start, end, draw, .. } = block;
        self.outstanding.push_back(Outstanding { number, start, end, share, missing: 1.0, lost: 0.0, draw });
        self.outcome(slot, Due { block, slot, missing: share, vain: 0.0 }, 1.0, config)
    }

    /// Outcome of a copy whose block failed before with probability `before`; returns the failed mass.
    fn outcome(&mut self, slot: u64, sent: Due, before: f64, config: &NrConfig) -> f64 {
        let harq = &config.harq;
        let block = sent.block;
        let failing = if before > 0.0 { sent.missing * block.error_rate / before } else { 0.0 };
        let received = sent.missing - failing;
        if block.sent >= harq.transmissions {
            self.settle(block.number, received, failing);
            return failing;
        }
        let lost = failing * harq.nack_to_ack;
        self.settle(block.number, received, lost);
        let next = Due {
            block,
            slot: config.again(slot),
            missing: failing - lost,
            vain: (received + sent.vain) * harq.ack_to_nack,
        };
        if next.missing + next.vain > LEAST {
            // In the order of the slots, as those of the pattern may overtake.
            let place = self.due.partition_point(|due| due.slot <= next.slot);
            self.due.insert(place, next);
        } else {
            self.settle(block.number, next.missing, 0.0);
        }
        failing
    }

    fn settle(&mut self, number: u64, received: f64, lost: f64) {
        let place = self.outstanding.partition_point(|block| block.number < number);
        if let Some(block) = self.outstanding.get_mut(place).filter(|block| block.number == number) {
            block.missing -= (received + lost) / block.share;
            block.lost += lost / block.share;
        }
    }

    /// Hands blocks that have arrived to `receive`, with their parts of the stream, and drops those that are lost.
    pub(crate) fn arrive(&mut self, mut receive: impl FnMut(u64, (u64, u64))) {
        self.outstanding.retain(|block| {
            let is_lost = block.draw < block.lost;
            let has_arrived = !is_lost && (block.draw >= block.missing + block.lost || block.missing < LEAST);
            if has_arrived {
                receive(block.number, (block.start, block.end));
            }
            !is_lost && !has_arrived
        });
    }
}
