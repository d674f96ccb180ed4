//! Resequencing buffer of the radio link protocols.

use super::{Delivery, Sdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;
use std::ops::Range;

/// Number of slots for frames from V(N) on: a full buffer, and 256 numbers beyond it.
const SLOTS: usize = 512;
/// Half of the sequence numbers, which have 8 bits: sums are modulo 256, and half of the numbers lie ahead of V(R),
/// half behind (Chockalingam and Bao, section II).
pub(super) const HALF: u64 = 128;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Held,
    GivenUp,
}

#[derive(Clone, Copy)]
struct Slot {
    state: State,
    sdu: Sdu,
    received_at: SimTime,
}

/// Place of a received frame in the sequence. Positions count frames from the start, without a modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Sequence number before V(N): already passed up or given up.
    Old,
    /// Sequence number between V(N) and V(R) of a frame that is already received or given up.
    Held,
    /// Position of a missing frame, with a sequence number between V(N) and V(R).
    Missing(u64),
    /// Position of a new frame, with a sequence number at V(R) or later.
    New(u64),
}

/// Resequencing buffer, in which received frames wait for earlier ones.
///
/// ```text
///        V(N)                 V(R)
///   old | missing  held  missing | new
///       |<---- capacity ---->
/// ```
pub(super) struct Resequencer {
    /// V(N): position of the oldest missing frame, needed for in-sequence delivery.
    v_n: u64,
    /// V(R): position of the next new frame.
    v_r: u64,
    capacity: u64,
    slots: Box<[Slot; SLOTS]>,
    released: VecDeque<Delivery>,
}

impl Resequencer {
    /// Creates an empty buffer for `capacity` frames, at most 128.
    pub(super) fn new(capacity: u32) -> Self {
        let slot = Slot { state: State::Missing, sdu: 0, received_at: SimTime::ZERO };
        Self {
            v_n: 0,
            v_r: 0,
            capacity: u64::from(capacity).clamp(1, HALF),
            slots: Box::new([slot; SLOTS]),
            released: VecDeque::new(),
        }
    }

    pub(super) fn v_n(&self) -> u64 {
        self.v_n
    }

    #[inline]
    pub(super) fn is_in_sequence(&self) -> bool {
        self.v_n == self.v_r
    }

    #[inline]
    fn slot(&mut self, position: u64) -> &mut Slot {
        &mut self.slots[position as usize % SLOTS]
    }

    /// Place of the frame with sequence number `seq`. Of the 256 numbers, V(R) and the 127 after it are new.
    #[inline]
    pub(super) fn place(&self, seq: u64) -> Place {
        let ahead = (seq as u8).wrapping_sub(self.v_r as u8);
        if u64::from(ahead) < HALF {
            return Place::New(self.v_r + u64::from(ahead));
        }
        let behind = u64::from(ahead.wrapping_neg());
        if behind > self.v_r - self.v_n {
            return Place::Old;
        }
        let position = self.v_r - behind;
        match self.slots[position as usize % SLOTS].state {
            State::Missing => Place::Missing(position),
            State::Held | State::GivenUp => Place::Held,
        }
    }

    /// First position from V(R) on that has the sequence number `seq`.
    #[inline]
    pub(super) fn ahead(&self, seq: u64) -> u64 {
        self.v_r + u64::from((seq as u8).wrapping_sub(self.v_r as u8))
    }

    /// Moves V(R) to `end` and returns the positions that are thereby known to be missing.
    pub(super) fn extend(&mut self, end: u64) -> Range<u64> {
        let missing = self.v_r..end;
        for position in missing.clone() {
            self.slot(position).state = State::Missing;
        }
        self.v_r = end;
        missing
    }

    /// Passes up the frame at V(R) = V(N), which is received in order.
    #[inline]
    pub(super) fn pass(&mut self, now: SimTime, sdu: Sdu) {
        self.v_r += 1;
        self.v_n = self.v_r;
        self.released.push_back(Delivery::Frame { sdu, received_at: now });
    }

    /// Stores a missing frame on its reception, and passes up all frames that are now in order.
    pub(super) fn hold(&mut self, position: u64, now: SimTime, sdu: Sdu) {
        *self.slot(position) = Slot { state: State::Held, sdu, received_at: now };
        self.release();
    }

    /// Gives up a missing frame, and passes up all frames that are now in order.
    pub(super) fn give_up(&mut self, position: u64) {
        self.slot(position).state = State::GivenUp;
        self.release();
    }

    /// If more frames lie between V(N) and V(R) than the buffer holds, passes up the excess from its head, received and
    /// lost frames, and at least `at_least` frames. Returns true if it did.
    pub(super) fn relieve(&mut self, at_least: u32) -> bool {
        let held = self.v_r - self.v_n;
        if held <= self.capacity {
            return false;
        }
        let passed = (held - self.capacity).max(u64::from(at_least)).min(held);
        for _ in 0..passed {
            self.release_head();
        }
        self.release();
        true
    }

    fn release(&mut self) {
        while self.v_n < self.v_r && self.slot(self.v_n).state != State::Missing {
            self.release_head();
        }
    }

    fn release_head(&mut self) {
        let position = self.v_n;
        self.v_n += 1;
        let Slot { state, sdu, received_at } = *self.slot(position);
        if state == State::Held {
            return self.released.push_back(Delivery::Frame { sdu, received_at });
        }
        if let Some(Delivery::Lost { frames, .. }) = self.released.back_mut() {
            *frames += 1;
        } else {
            self.released.push_back(Delivery::Lost { first: position, frames: 1 });
        }
    }

    /// Removes and returns the next delivery.
    #[inline]
    pub(super) fn poll(&mut self) -> Option<Delivery> {
        self.released.pop_front()
    }
}
