//! Sending end of QUIC's stream: which segments have arrived, and which must be retransmitted in a packet with a new
//! number.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// In flight, in the packet with this number, the last one that carried the segment.
    Sent(u64),
    /// Lost, waiting for retransmission.
    Lost,
    Arrived,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SendStream {
    una: u64,
    /// State of the segments from `una` on.
    pieces: VecDeque<Piece>,
    /// Segments to retransmit, lowest first; outdated entries are skipped.
    lost: BinaryHeap<Reverse<u64>>,
}

impl SendStream {
    /// First segment not known to have arrived.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// First segment never sent.
    pub(super) fn next(&self) -> u64 {
        self.una + self.pieces.len() as u64
    }

    fn piece(&mut self, seq: u64) -> Option<&mut Piece> {
        self.pieces.get_mut(seq.checked_sub(self.una)? as usize)
    }

    /// Records that packet `number` carries segment `seq`.
    pub(super) fn on_sent(&mut self, seq: u64, number: u64) {
        match self.piece(seq) {
            Some(piece) => *piece = Piece::Sent(number),
            None => self.pieces.push_back(Piece::Sent(number)),
        }
    }

    /// Records that a packet with segment `seq` has arrived.
    pub(super) fn on_arrived(&mut self, seq: u64) {
        let Some(piece) = self.piece(seq) else { return };
        *piece = Piece::Arrived;
        while self.pieces.front() == Some(&Piece::Arrived) {
            self.pieces.pop_front();
            self.una += 1;
        }
    }

    /// Marks segment `seq` for retransmission because packet `number` is lost, unless a later packet already carries
    /// it.
    pub(super) fn on_lost(&mut self, seq: u64, number: u64) {
        if let Some(piece) = self.piece(seq)
            && *piece == Piece::Sent(number)
        {
            *piece = Piece::Lost;
            self.lost.push(Reverse(seq));
        }
    }

    /// Lowest segment to retransmit.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        while let Some(&Reverse(seq)) = self.lost.peek() {
            if self.piece(seq) == Some(&mut Piece::Lost) {
                return Some(seq);
            }
            self.lost.pop();
        }
        None
    }

    /// Lowest segment from `from` on that is in flight; a probe retransmits it if there is no other data to send.
    pub(super) fn next_sent(&self, from: u64) -> Option<u64> {
        let from = from.max(self.una);
        let rest = self.pieces.iter().skip((from - self.una) as usize);
        rest.zip(from..).find_map(|(piece, seq)| matches!(piece, Piece::Sent(_)).then_some(seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loss_of_the_last_packet_with_it_sends_a_segment_again() {
        let mut stream = SendStream::default();
        (0..3).for_each(|seq| stream.on_sent(seq, seq));
        stream.on_lost(1, 1);
        assert_eq!(stream.next_lost(), Some(1));
        stream.on_sent(1, 3);
        assert_eq!(stream.next_lost(), None);
        // A probe retransmits segment 2 in packet 4; then packet 2 is found lost.
        stream.on_sent(2, 4);
        stream.on_lost(2, 2);
        assert_eq!(stream.next_lost(), None);
        stream.on_lost(2, 4);
        assert_eq!(stream.next_lost(), Some(2));
    }

    #[test]
    fn whatever_packet_brings_a_segment_it_has_arrived() {
        let mut stream = SendStream::default();
        (0..4).for_each(|seq| stream.on_sent(seq, seq));
        stream.on_lost(0, 0);
        stream.on_arrived(1);
        assert_eq!((stream.una(), stream.next(), stream.next_sent(0)), (0, 4, Some(2)));
        stream.on_arrived(0);
        assert_eq!((stream.una(), stream.next_lost(), stream.next_sent(3)), (2, None, Some(3)));
        stream.on_arrived(0);
        (2..4).for_each(|seq| stream.on_arrived(seq));
        assert_eq!((stream.una(), stream.next(), stream.next_sent(0)), (4, 4, None));
    }
}
