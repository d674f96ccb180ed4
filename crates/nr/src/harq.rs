//! Hybrid ARQ: the processes of a user, and closed forms of what they cost.

use crate::awgn::Combining;
use crate::error_rates::ErrorRates;
use crate::mcs::{CodedModulation, constellation};
use crate::transport_block::CodeBlocks;
use crossfade_core::{from_db, to_db};

/// A transport block in a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    /// Number of the block among those of the user.
    pub(crate) number: u64,
    /// The index of its scheme.
    pub(crate) scheme: usize,
    pub(crate) code: CodeBlocks,
    /// Resource blocks of each transmission.
    pub(crate) prbs: u32,
    /// The part of the stream of bytes that it carries.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Transmissions so far.
    pub(crate) sent: u32,
    /// Fails while its error rate is above this.
    pub(crate) draw: f64,
    /// The least error rate so far.
    pub(crate) error_rate: f64,
    /// Symbols of all transmissions, and the information that these had, in bits.
    pub(crate) symbols: f64,
    pub(crate) information: f64,
    /// Symbols times ratio of all transmissions, and the symbols of the first (chase combining).
    pub(crate) energy: f64,
    pub(crate) first_symbols: f64,
    pub(crate) is_received: bool,
}

impl Block {
    /// A block that was not sent, with its number, scheme, code blocks, resource blocks, part of the stream, and draw.
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
            first_symbols: 0.0,
            is_received: false,
        }
    }

    /// A copy of so many symbols arrives at this ratio: the error rate of all copies together.
    pub(crate) fn receive_copy(
        &mut self,
        scheme: CodedModulation,
        symbols: f64,
        snr_db: f64,
        combining: Combining,
        rates: &mut ErrorRates,
    ) {
        let modulation = constellation(scheme);
        if self.sent == 0 {
            self.first_symbols = symbols;
        }
        self.symbols += symbols;
        self.energy += symbols * from_db(snr_db);
        self.information += symbols * modulation.at(from_db(snr_db));
        let p = if self.sent == 0 {
            rates.of(scheme, self.code, symbols, snr_db)
        } else if combining == Combining::Chase {
            rates.of(scheme, self.code, self.first_symbols, to_db(self.energy / self.first_symbols))
        } else {
            let each = modulation.inverse(self.information / self.symbols);
            let transmissions = self.symbols / self.first_symbols;
            rates.of_transmissions(scheme, self.code, self.symbols, transmissions, to_db(each))
        };
        self.error_rate = self.error_rate.min(p);
        self.sent += 1;
    }
}

/// A process: a block that is sent until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Process {
    /// Free.
    Idle,
    /// Its acknowledgement acts in slot `due`; `is_acknowledged` is what the base station reads then.
    Waiting { block: Block, due: u64, is_acknowledged: bool },
    /// The block has to be retransmitted.
    Failed { block: Block },
}

/// What hybrid ARQ does to a block whose error rate after 1, 2, ... transmissions is that of the list: the mean number of
/// transmissions, and the share of blocks that never get through. Every block is sent until it is received, at most as often as the
/// list is long.
pub fn closed_form(error_rates: &[f64]) -> (f64, f64) {
    let residual = error_rates.last().copied().unwrap_or(0.0);
    (1.0 + error_rates.iter().rev().skip(1).sum::<f64>(), residual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_and_residual_by_hand() {
        let (transmissions, residual) = closed_form(&[0.1, 0.01, 0.002, 0.001]);
        assert!((transmissions - 1.112).abs() < 1e-12 && residual == 0.001);
        assert_eq!(closed_form(&[0.3]), (1.0, 0.3));
    }
}
