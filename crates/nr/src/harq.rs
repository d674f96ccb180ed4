//! Hybrid ARQ: processes of a user, combining of copies, and the closed form of mean transmissions.

use crate::awgn::Combining;
use crate::error_rates::ErrorRates;
use crate::mcs::{CodedModulation, constellation};
use crate::transport_block::CodeBlocks;
use crossfade_core::{from_db, to_db};
use crossfade_phy::MutualInformation;

/// Transport block in a HARQ process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    /// Number of the block, counted from the user's first one.
    pub(crate) number: u64,
    /// MCS index.
    pub(crate) scheme: usize,
    pub(crate) code: CodeBlocks,
    /// Number of resource blocks of each transmission.
    pub(crate) prbs: u32,
    /// First byte of the block's part of the user's stream of bytes; `end` is one past its last byte.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Number of transmissions so far.
    pub(crate) sent: u32,
    /// Random number between 0 and 1: the block fails while its error rate is above it.
    pub(crate) draw: f64,
    /// Lowest error rate so far.
    pub(crate) error_rate: f64,
    /// Symbols of all transmissions; `information` is their mutual information in bits. Both stay 0 until the second
    /// transmission.
    symbols: f64,
    information: f64,
    /// Sum over all transmissions of symbols times linear SNR, for chase combining.
    energy: f64,
    /// Number of symbols of the first transmission, and its SNR in dB.
    first: (f64, f64),
    pub(crate) is_received: bool,
}

impl Block {
    /// Block before its first transmission.
    pub(crate) fn new(
        number: u64,
        scheme: usize,
        code: CodeBlocks,
        prbs: u32,
        (start, end): (u64, u64),
        draw: f64,
    ) -> Self {
        Self {
            number,
            scheme,
            code,
            prbs,
            start,
            end,
            sent: 0,
            draw,
            error_rate: 1.0,
            symbols: 0.0,
            information: 0.0,
            energy: 0.0,
            first: (0.0, 0.0),
            is_received: false,
        }
    }

    /// Receives a transmission of `symbols` symbols at `snr_db` and combines it with earlier ones; `error_rate` is then
    /// that of all transmissions together.
    pub(crate) fn receive_copy(
        &mut self,
        scheme: CodedModulation,
        symbols: f64,
        snr_db: f64,
        combining: Combining,
        rates: &mut ErrorRates,
    ) {
        let p = if self.sent == 0 {
            self.first = (symbols, snr_db);
            rates.of(scheme, self.code, symbols, snr_db)
        } else {
            let modulation = constellation(scheme);
            if self.sent == 1 {
                self.add(modulation, self.first);
            }
            self.add(modulation, (symbols, snr_db));
            if combining == Combining::Chase {
                rates.of(scheme, self.code, self.first.0, to_db(self.energy / self.first.0))
            } else {
                let each = modulation.inverse(self.information / self.symbols);
                let transmissions = self.symbols / self.first.0;
                rates.of_transmissions(scheme, self.code, self.symbols, transmissions, to_db(each))
            }
        };
        self.error_rate = self.error_rate.min(p);
        self.sent += 1;
    }

    /// Adds a transmission, given by symbols and SNR in dB, to the sums for combining.
    fn add(&mut self, modulation: &MutualInformation, (symbols, snr_db): (f64, f64)) {
        let ratio = from_db(snr_db);
        self.symbols += symbols;
        self.energy += symbols * ratio;
        self.information += symbols * modulation.at(ratio);
    }
}

/// State of a HARQ process, which holds a block from its first transmission until it is acknowledged or given up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The process has no block.
    Idle,
    /// The block was sent; its acknowledgement takes effect in slot `due`, and `is_acknowledged` is what the base
    /// station reads.
    Waiting { due: u64, is_acknowledged: bool },
    /// The block must be retransmitted.
    Failed,
}

/// HARQ processes of a user. States are stored apart from the long blocks, as all of them are scanned often.
pub(crate) struct Processes {
    states: Vec<State>,
    /// Block of each process; `None` while the process is free.
    blocks: Vec<Option<Block>>,
    idle: usize,
    failed: usize,
    /// First slot in which an acknowledgement may take effect.
    next_due: u64,
}

impl Processes {
    /// `count` free processes.
    pub(crate) fn new(count: u32) -> Self {
        let count = count as usize;
        let (states, blocks) = (vec![State::Idle; count], vec![None; count]);
        Self { states, blocks, idle: count, failed: 0, next_due: u64::MAX }
    }

    /// Frees all processes.
    pub(crate) fn flush(&mut self) {
        *self = Self::new(self.states.len() as u32);
    }

    /// True if all processes are free.
    pub(crate) fn are_idle(&self) -> bool {
        self.idle == self.states.len()
    }

    /// True if any process is free.
    pub(crate) fn has_free(&self) -> bool {
        self.idle > 0
    }

    /// Index of the first free process; `None` if all are in use.
    pub(crate) fn free(&self) -> Option<usize> {
        if self.idle == 0 {
            return None;
        }
        self.states.iter().position(|state| *state == State::Idle)
    }

    /// Index of the first process whose block must be retransmitted, and that block; `None` without one.
    pub(crate) fn failed(&self) -> Option<(usize, &Block)> {
        if self.failed == 0 {
            return None;
        }
        let place = self.states.iter().position(|state| *state == State::Failed)?;
        Some((place, self.blocks[place].as_ref()?))
    }

    /// Records that the block of a process was sent; its acknowledgement, as it will be read, takes effect in slot
    /// `due`.
    pub(crate) fn wait(&mut self, place: usize, block: Block, due: u64, is_acknowledged: bool) {
        match self.states[place] {
            State::Idle => self.idle -= 1,
            State::Failed => self.failed -= 1,
            State::Waiting { .. } => {}
        }
        self.states[place] = State::Waiting { due, is_acknowledged };
        self.blocks[place] = Some(block);
        self.next_due = self.next_due.min(due);
    }

    /// Applies the acknowledgements due by `slot`: a block that is acknowledged or was sent `most` times is handed to
    /// `end`, others must be retransmitted.
    pub(crate) fn acknowledge(&mut self, slot: u64, most: u32, mut end: impl FnMut(&Block)) {
        if slot < self.next_due {
            return;
        }
        self.next_due = u64::MAX;
        for (state, block) in self.states.iter_mut().zip(&self.blocks) {
            let (State::Waiting { due, is_acknowledged }, Some(block)) = (*state, block) else { continue };
            if due > slot {
                self.next_due = self.next_due.min(due);
            } else if is_acknowledged || block.sent >= most {
                end(block);
                *state = State::Idle;
                self.idle += 1;
            } else {
                *state = State::Failed;
                self.failed += 1;
            }
        }
    }
}

/// Mean number of transmissions of a block, and share of blocks that are never received, given the error rates after 1,
/// 2, ... transmissions. A block is transmitted until it is received, at most as often as `error_rates` has entries.
pub fn closed_form(error_rates: &[f64]) -> (f64, f64) {
    let residual = error_rates.last().copied().unwrap_or(0.0);
    (1.0 + error_rates.iter().rev().skip(1).sum::<f64>(), residual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_go_round_and_counts_follow_them() {
        let code = CodeBlocks::of(1000, 0.5);
        let block = |number| Block { sent: 1, ..Block::new(number, 0, code, 1, (0, 0), 0.5) };
        let mut processes = Processes::new(3);
        for (number, due, is_acknowledged) in [(0, 8, true), (1, 9, false), (2, 12, false)] {
            let place = processes.free().unwrap();
            assert_eq!(place as u64, number);
            processes.wait(place, block(number), due, is_acknowledged);
        }
        assert!(!processes.has_free() && processes.free().is_none() && processes.failed().is_none());
        let mut ended = Vec::new();
        for slot in 0..12 {
            processes.acknowledge(slot, 2, |block| ended.push((slot, block.number)));
        }
        assert_eq!(ended, [(8, 0)]);
        let (place, &failed) = processes.failed().unwrap();
        assert_eq!((place, failed.number, processes.free()), (1, 1, Some(0)));
        // After the second transmission the block ends, whatever is read.
        processes.wait(place, Block { sent: 2, ..failed }, 20, false);
        assert!(processes.failed().is_none() && !processes.are_idle());
        processes.acknowledge(20, 2, |block| ended.push((20, block.number)));
        // The acknowledgement of slot 12 takes effect late; its block must be retransmitted.
        assert_eq!((ended.len(), processes.failed().unwrap().1.number), (2, 2));
        processes.flush();
        assert!(processes.are_idle() && processes.failed().is_none());
    }

    #[test]
    fn transmissions_and_residual_by_hand() {
        let (transmissions, residual) = closed_form(&[0.1, 0.01, 0.002, 0.001]);
        assert!((transmissions - 1.112).abs() < 1e-12 && residual == 0.001);
        assert_eq!(closed_form(&[0.3]), (1.0, 0.3));
    }
}
