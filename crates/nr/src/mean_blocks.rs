//! Hybrid ARQ with mean values (fidelity `rate`): each slot sends the expected share of a block, and the failing part
//! is retransmitted over the channel of the later slot.
//!
//! A block is a probability mass. Of the mass that a slot sends, a share equal to the error rate at the slot's SNR
//! fails and is due for retransmission a round trip later, where all copies are combined as those of a simulated block.
//! In a slot in which masses a, b, ... are due, a retransmission is sent with probability 1 - (1 - a) (1 - b) ...; the
//! remaining mass waits for the next slot, and new data get the remaining resources. One random number, uniform between
//! 0 and 1, draws the arrival of each block: it arrives once the probability that it has not is below this number, and
//! is lost if the probability that it never does is above it.

use crate::config::NrConfig;
use crate::harq::Block;
use std::collections::VecDeque;

/// Smallest mass that is tracked; smaller ones are dropped.
const LEAST: f64 = 1e-5;

/// Part of a block's mass that is due for retransmission.
#[derive(Clone, Copy, Debug)]
struct Due {
    block: Block,
    /// First slot in which it can be sent.
    slot: u64,
    /// Probability that the block was not received and is sent; `vain` is the probability that it was received and is
    /// sent in vain.
    missing: f64,
    vain: f64,
}

/// Block that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    number: u64,
    start: u64,
    end: u64,
    /// Probability that its slot had a new block at all.
    share: f64,
    /// Given a new block, the probability that it is still in retransmission; `lost` is the probability that it never
    /// arrives.
    missing: f64,
    lost: f64,
    /// Random number between 0 and 1: the block arrives once `missing + lost` is below it, and is lost once `lost`
    /// exceeds it.
    draw: f64,
}

/// Blocks of a user as probability masses.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeanBlocks {
    due: VecDeque<Due>,
    outstanding: VecDeque<Outstanding>,
}

/// Part of the due mass that a slot retransmits.
pub(crate) struct Retransmissions {
    /// Probability that the slot has a retransmission.
    pub(crate) share: f64,
    /// Share of the due mass that is sent.
    part: f64,
    /// Mean number of resource blocks of the retransmissions.
    pub(crate) prbs: f64,
}

impl MeanBlocks {
    pub(crate) fn is_empty(&self) -> bool {
        self.outstanding.is_empty() && self.due.is_empty()
    }

    /// Retransmissions of `slot`.
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

    /// Sends these retransmissions; `copy` lets a block receive the copy of the slot. Returns the mean numbers of
    /// copies and of failed copies.
    pub(crate) fn send_again(
        &mut self,
        slot: u64,
        retransmissions: &Retransmissions,
        config: &NrConfig,
        mut copy: impl FnMut(&mut Block),
    ) -> (f64, f64) {
        let part = retransmissions.part;
        let mut counts = (0.0, 0.0);
        // Sent parts are appended, behind the ones that are due today.
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

    /// Sends a new block with probability `share`; `block` has received its first copy. Returns the probability that it
    /// was sent and failed.
    pub(crate) fn send(&mut self, slot: u64, block: Block, share: f64, config: &NrConfig) -> f64 {
        let Block { number, start, end, draw, .. } = block;
        self.outstanding.push_back(Outstanding { number, start, end, share, missing: 1.0, lost: 0.0, draw });
        self.outcome(slot, Due { block, slot, missing: share, vain: 0.0 }, 1.0, config)
    }

    /// Applies the outcome of a copy whose block had failed before with probability `before`; returns the failed mass.
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
            // In order of slots, as parts due in different slots of the pattern may overtake each other.
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
