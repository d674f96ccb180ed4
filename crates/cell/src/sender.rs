//! Sender of the cell's ARQ: a user's packets form one stream of bits, of which frames are intervals.
//!
//! A frame that failed in slot i is retransmitted from slot i + delay on, before all other data; next come the rests of
//! split frames, then new bits. If a failed frame had f bits per symbol and the modulation now has k < f, it is split:
//! a part of k bits per symbol is sent now, and the rest of f - k bits per symbol becomes a frame that precedes all
//! other rests and keeps the count of failures. If k >= f, it is retransmitted unchanged.

use std::collections::VecDeque;

/// Parameters of the cell's ARQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqConfig {
    /// Number of slots from a failed transmission to its earliest retransmission.
    pub delay_slots: u64,
    /// Number of retransmissions after which bits are given up; `None` for retransmission without limit.
    pub max_retransmissions: Option<u32>,
    /// True if a failed frame is split when the modulation must be lower.
    pub split: bool,
}

impl Default for ArqConfig {
    /// Parameters of Alfredsson, Brunstrom and Sternad (2007): 3 slots, retransmission without limit, split frames.
    fn default() -> Self {
        Self { delay_slots: 3, max_retransmissions: None, split: true }
    }
}

/// Piece of a user's stream of bits that is sent in one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Place of the piece's first bit in the stream.
    pub start: u64,
    /// Place of the bit after the piece's last one.
    pub end: u64,
    /// Number of bits per symbol with which the piece is sent.
    pub bits: u32,
    /// Number of failed transmissions of these bits.
    pub failures: u32,
    /// Number of the frame in which these bits were sent first, counted from 0.
    pub frame: u64,
}

/// Transmission of a piece in the current slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Piece that is sent.
    pub piece: Piece,
    /// True for the first transmission of the bits.
    pub is_new: bool,
    /// True if the frame was split and a rest waits.
    pub is_split: bool,
}

/// Sender of one user's stream of bits.
#[derive(Clone, Debug)]
pub struct Sender {
    config: ArqConfig,
    symbols: u32,
    /// Failed pieces, each with the earliest slot of its retransmission.
    due: VecDeque<(u64, Piece)>,
    /// Rests of split frames, in the order in which they will be sent.
    rests: VecDeque<Piece>,
    /// Place of the first bit that was never sent.
    next: u64,
    /// Place of the first bit that must not be sent yet.
    granted: u64,
    /// Place after the last bit of the stream.
    end: u64,
    frames: u64,
}

impl Sender {
    /// Creates a sender without data, for frames of `symbols` symbols.
    pub fn new(config: ArqConfig, symbols: u32) -> Self {
        let (due, rests) = (VecDeque::new(), VecDeque::new());
        Self { config, symbols, due, rests, next: 0, granted: 0, end: 0, frames: 0 }
    }

    /// Appends bits to the stream; returns the place of the first one and the place after the last. They can be sent
    /// once [granted](Self::grant).
    pub fn append(&mut self, bits: u64) -> (u64, u64) {
        let start = self.end;
        self.end += bits;
        (start, self.end)
    }

    /// Allows all bits before `until` to be sent.
    ///
    /// # Panics
    /// With debug assertions, if the stream ends before `until`.
    pub fn grant(&mut self, until: u64) {
        debug_assert!(self.granted <= until && until <= self.end, "{until} beyond {}", self.end);
        self.granted = until;
    }

    /// Place of the first bit that was never sent.
    pub fn sent_until(&self) -> u64 {
        self.next
    }

    /// True if data can be sent in `slot`.
    #[inline]
    pub fn has_work(&self, slot: u64) -> bool {
        self.next < self.granted
            || !self.rests.is_empty()
            || self.due.front().is_some_and(|(due, _)| *due <= slot)
    }

    /// True if no data are left to send, now or later, unless a frame fails or bits are appended.
    pub fn is_idle(&self) -> bool {
        self.next == self.end && self.rests.is_empty() && self.due.is_empty()
    }

    /// Removes and returns the next piece to send with a modulation of `bits` bits per symbol; `None` if no data can be
    /// sent in `slot`.
    pub fn take(&mut self, slot: u64, bits: u32) -> Option<Sent> {
        let is_due = self.due.front().is_some_and(|(due, _)| *due <= slot);
        let again =
            if is_due { self.due.pop_front().map(|(_, piece)| piece) } else { self.rests.pop_front() };
        if let Some(piece) = again {
            return Some(self.adapt(piece, bits));
        }
        let start = self.next;
        if start == self.granted {
            return None;
        }
        self.next = self.granted.min(start + u64::from(bits * self.symbols));
        let frame = self.frames;
        self.frames += 1;
        let piece = Piece { start, end: self.next, bits, failures: 0, frame };
        Some(Sent { piece, is_new: true, is_split: false })
    }

    /// Fits a failed piece, or the rest of a split one, to a modulation of `bits` bits per symbol: it is split if this
    /// is allowed and the modulation is too low.
    fn adapt(&mut self, piece: Piece, bits: u32) -> Sent {
        if !self.config.split || piece.bits <= bits {
            return Sent { piece, is_new: false, is_split: false };
        }
        let middle = piece.end.min(piece.start + u64::from(bits * self.symbols));
        let is_split = middle < piece.end;
        if is_split {
            self.rests.push_front(Piece { start: middle, bits: piece.bits - bits, ..piece });
        }
        Sent { piece: Piece { end: middle, bits, ..piece }, is_new: false, is_split }
    }

    /// Handles the failure of a piece that was sent in `slot`: schedules its retransmission and returns false, or
    /// returns true if its bits are given up.
    pub fn fail(&mut self, slot: u64, piece: Piece) -> bool {
        if self.config.max_retransmissions.is_some_and(|most| piece.failures >= most) {
            return true;
        }
        self.due.push_back((slot + self.config.delay_slots, Piece { failures: piece.failures + 1, ..piece }));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(config: ArqConfig, bits: u64) -> Sender {
        let mut sender = Sender::new(config, 100);
        assert_eq!(sender.append(bits), (0, bits));
        assert!(!sender.has_work(0) && !sender.is_idle());
        sender.grant(bits);
        sender
    }

    #[test]
    fn failures_come_back_after_the_delay_and_before_all_else() {
        let mut sender = sender(ArqConfig::default(), 1000);
        let first = sender.take(0, 4).unwrap();
        assert_eq!(first.piece, Piece { start: 0, end: 400, bits: 4, failures: 0, frame: 0 });
        assert!(!sender.fail(0, first.piece));
        assert_eq!(sender.take(1, 2).unwrap().piece.start, 400);
        assert_eq!(sender.take(2, 2).unwrap().piece.start, 600);
        // The modulation could go up: it stays. The last bits fill a part of a frame.
        let again = sender.take(3, 6).unwrap();
        assert_eq!(again.piece, Piece { failures: 1, ..first.piece });
        assert!(!again.is_new && !again.is_split);
        let last = sender.take(4, 3).unwrap();
        assert_eq!((last.piece.start, last.piece.end, last.piece.frame), (800, 1000, 3));
        assert!(sender.is_idle() && sender.take(5, 1).is_none());
    }

    #[test]
    fn a_frame_is_split_where_the_modulation_must_go_down() {
        let mut sender = sender(ArqConfig::default(), 2000);
        let first = sender.take(0, 8).unwrap().piece;
        sender.fail(0, first);
        let part = sender.take(3, 3).unwrap();
        assert_eq!(part.piece, Piece { start: 0, end: 300, bits: 3, failures: 1, frame: 0 });
        assert!(part.is_split);
        // The rest goes before new bits, and is split again.
        let rest = sender.take(4, 2).unwrap();
        assert_eq!(rest.piece, Piece { start: 300, end: 500, bits: 2, failures: 1, frame: 0 });
        let rest = sender.take(5, 8).unwrap();
        assert_eq!(rest.piece, Piece { start: 500, end: 800, bits: 3, failures: 1, frame: 0 });
        assert!(sender.take(6, 1).unwrap().is_new);
    }

    #[test]
    fn without_splits_frames_stay_and_bounded_ones_are_given_up() {
        let config = ArqConfig { split: false, max_retransmissions: Some(1), ..ArqConfig::default() };
        let mut sender = sender(config, 800);
        let piece = sender.take(0, 8).unwrap().piece;
        assert!(!sender.has_work(1) && !sender.fail(0, piece) && !sender.has_work(2) && sender.has_work(3));
        let again = sender.take(3, 1).unwrap().piece;
        assert_eq!(again, Piece { failures: 1, ..piece });
        assert!(sender.fail(3, again) && sender.is_idle());
    }
}
