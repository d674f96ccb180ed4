//! Queue from which a transmitter takes bytes, as many as a frame, an aggregate or a grant has room for.

use super::{QueueDiscipline, Waiting};
use crate::parcel::Parcel;
use crossfade_core::SimTime;

/// Queue from which a transmitter takes bytes instead of packets, over any [`QueueDiscipline`]; each user, station or
/// bearer has one.
///
/// Packets leave in the order of the discipline, each as one [`Piece`] or, if the transmitter takes less than the
/// packet, as several. The rest of a packet stays at the head and leaves before any other packet.
///
/// ```text
///  push --> discipline --head(), or take() without a head--> head --take()--> pieces
///               |                                              |
///               +--> dropped: by the discipline,               +--> dropped: by the discard timer,
///                    or by the discard timer                        before its first byte has left
/// ```
///
/// The discipline decides on a packet once, when the packet becomes the head; if whole packets are taken, drops and
/// marks are exactly those of the discipline alone. Afterwards the discipline does not drop the packet. The discard
/// timer can drop it as long as none of its bytes has left, as in NR (3GPP TS 38.323 clause 5.3; TS 38.322 clause 5.4:
/// an SDU is discarded if neither it nor a segment of it has been submitted to lower layers). A packet of which bytes
/// have left is never dropped.
///
/// The head does not count in the limit of the discipline. Dropped packets are added to the `dropped` of the call.
pub struct ByteQueue {
    queue: Box<dyn QueueDiscipline + Send>,
    /// Function that maps the length of a packet to the number of bytes that it takes on the link.
    link_bytes: Box<dyn Fn(u32) -> u32 + Send>,
    discard_after: Option<SimTime>,
    /// The packet that leaves next, or has begun to leave.
    head: Waiting,
    /// Length of the head packet in bytes on the link.
    length: u32,
    /// Bytes of the head packet that have not left; 0 without a head.
    left: u32,
    /// Bytes of all packets behind the head, counted on the link.
    bytes_behind: u64,
}

/// Bytes of one packet that leave a [`ByteQueue`] together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Packet with its arrival time; marked if the discipline has marked it.
    pub packet: Waiting,
    /// Number of bytes of the packet that left before this piece.
    pub offset: u32,
    /// Number of bytes in this piece.
    pub bytes: u32,
    /// Number of bytes of the packet that stay at the head after this piece.
    pub left: u32,
}

impl Piece {
    /// True for the first piece of a packet.
    pub fn is_first(&self) -> bool {
        self.offset == 0
    }

    /// True for the last piece of a packet.
    pub fn is_last(&self) -> bool {
        self.left == 0
    }
}

impl ByteQueue {
    /// Creates a byte queue over an empty discipline. A packet takes its own number of bytes on the link, at least 1,
    /// and there is no discard timer.
    pub fn new(queue: Box<dyn QueueDiscipline + Send>) -> Self {
        let head = Waiting { since: SimTime::ZERO, packet: Parcel::default() };
        let link_bytes = Box::new(|bytes: u32| bytes.max(1));
        Self { queue, link_bytes, discard_after: None, head, length: 0, left: 0, bytes_behind: 0 }
    }

    /// Sets the number of bytes that a packet of n bytes takes on the link to `link_bytes(n)`, at least 1, for headers
    /// that are added or compressed. The discipline still counts the packet's own bytes.
    #[must_use]
    pub fn with_link_bytes(self, link_bytes: impl Fn(u32) -> u32 + Send + 'static) -> Self {
        Self { link_bytes: Box::new(link_bytes), ..self }
    }

    /// Adds a discard timer: a packet of which no byte has left within the time `after` is dropped.
    #[must_use]
    pub fn discarding(self, after: SimTime) -> Self {
        Self { discard_after: Some(after), ..self }
    }

    /// Takes a packet at time `now`; packets that it displaces, and those whose discard timer has expired, are added to
    /// `dropped`.
    ///
    /// # Errors
    /// If the discipline refuses the packet, which is returned.
    pub fn push(&mut self, now: SimTime, packet: Parcel, dropped: &mut Vec<Waiting>) -> Result<(), Parcel> {
        self.discard(now, dropped);
        let before = dropped.len();
        let outcome = self.queue.enqueue(now, packet, dropped);
        if outcome.is_ok() {
            self.bytes_behind += self.length(packet);
        }
        self.forget(&dropped[before..]);
        outcome
    }

    /// Remaining bytes of the packet at the head at time `now`; `None` if no packet waits. Without a head, the next
    /// packet of the discipline becomes the head.
    pub fn head(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) -> Option<u32> {
        self.discard(now, dropped);
        if self.left == 0 {
            let before = dropped.len();
            let next = self.queue.dequeue(now, dropped);
            self.forget(&dropped[before..]);
            self.head = next?;
            self.length = (self.link_bytes)(self.head.packet.bytes());
            self.left = self.length;
            self.bytes_behind -= u64::from(self.length);
        }
        Some(self.left)
    }

    /// Takes up to `most` bytes, at least 1, of the packet at the head, at time `now`; `None` if no packet waits. A
    /// caller with more room calls again for bytes of the next packet.
    #[inline]
    pub fn take(&mut self, now: SimTime, most: u32, dropped: &mut Vec<Waiting>) -> Option<Piece> {
        if self.begun() == 0 || self.discard_after.is_some() {
            self.head(now, dropped)?;
        }
        let (offset, bytes) = (self.length - self.left, self.left.min(most));
        self.left -= bytes;
        Some(Piece { packet: self.head, offset, bytes, left: self.left })
    }

    /// Like [`Self::take`], for a head of which some bytes have left and at least `bytes` have not; returns the number
    /// of bytes that stay at the head.
    #[inline]
    pub(crate) fn go_on(&mut self, bytes: u32) -> u32 {
        debug_assert!(self.begun() >= bytes, "{} bytes left of {}", self.left, self.length);
        self.left -= bytes;
        self.left
    }

    /// Drops packets whose discard timer has expired by `now`. All methods with a time argument do so, too.
    pub fn discard(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) {
        let Some(after) = self.discard_after.filter(|after| *after <= now) else { return };
        let until = now - after;
        if self.is_whole() && self.head.since <= until {
            dropped.push(self.head);
            self.left = 0;
        }
        let before = dropped.len();
        self.queue.discard(now, until, dropped);
        self.forget(&dropped[before..]);
    }

    /// Time of the next expiry of a discard timer; `None` without a timer, or if no whole packet waits.
    pub fn next_discard(&self) -> Option<SimTime> {
        let head = self.is_whole().then_some(self.head.since);
        let since = head.into_iter().chain(self.queue.oldest()).min()?;
        Some(since.saturating_add(self.discard_after?))
    }

    /// Number of remaining bytes of all packets, counted on the link.
    pub fn bytes(&self) -> u64 {
        self.bytes_behind + u64::from(self.left)
    }

    /// Number of packets with remaining bytes.
    #[inline]
    pub fn packets(&self) -> usize {
        self.queue.packets() + usize::from(self.left > 0)
    }

    /// True if no packet has bytes left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left == 0 && self.queue.packets() == 0
    }

    /// Remaining bytes of the head if some of its bytes have left; otherwise 0.
    #[inline]
    pub fn begun(&self) -> u32 {
        if self.left < self.length { self.left } else { 0 }
    }

    /// True if there is a head of which no byte has left.
    fn is_whole(&self) -> bool {
        self.left > 0 && self.left == self.length
    }

    /// Queue discipline, which does not contain the packet at the head.
    pub fn discipline(&self) -> &dyn QueueDiscipline {
        &*self.queue
    }

    fn length(&self, packet: Parcel) -> u64 {
        u64::from((self.link_bytes)(packet.bytes()))
    }

    /// Subtracts the bytes of packets that the discipline has dropped.
    fn forget(&mut self, dropped: &[Waiting]) {
        for waiting in dropped {
            self.bytes_behind -= self.length(waiting.packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, Op, disciplines, limits, ops};
    use super::super::{CoDel, CoDelConfig, DropTail};
    use super::*;
    use crate::limit::QueueLimit;
    use crate::parcel::Ecn;
    use crate::testing::plain;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// Packets 0, 1, 2 of 1500 bytes, which came at 0, 10, 20 ms.
    fn three() -> ByteQueue {
        let queue = DropTail::new(QueueLimit::Packets(9)).unwrap();
        let mut queue = ByteQueue::new(Box::new(queue)).discarding(MS * 50);
        for id in 0..3 {
            queue.push(MS * 10 * u64::from(id), plain(id, 1500), &mut Vec::new()).unwrap();
        }
        queue
    }

    /// Takes a piece: identity of its packet, offset of its first byte, and number of bytes.
    fn take(queue: &mut ByteQueue, at: SimTime, most: u32) -> Option<(u32, u32, u32)> {
        let piece = queue.take(at, most, &mut Vec::new())?;
        Some((piece.packet.packet.id(), piece.offset, piece.bytes))
    }

    fn discarded(queue: &mut ByteQueue, at: SimTime) -> Vec<u32> {
        let mut dropped = Vec::new();
        queue.discard(at, &mut dropped);
        dropped.iter().map(|waiting| waiting.packet.id()).collect()
    }

    #[test]
    fn the_rest_of_a_packet_stays_at_the_head() {
        let (mut queue, at) = (three(), MS * 20);
        assert_eq!((queue.packets(), queue.bytes(), queue.begun()), (3, 4500, 0));
        assert_eq!(queue.head(at, &mut Vec::new()), Some(1500));
        assert_eq!(take(&mut queue, at, 600), Some((0, 0, 600)));
        assert_eq!((queue.packets(), queue.bytes(), queue.begun()), (3, 3900, 900));
        assert_eq!(queue.head(at, &mut Vec::new()), Some(900));
        assert_eq!(take(&mut queue, at, 600), Some((0, 600, 600)));
        // A piece belongs to one packet, even if more bytes are requested.
        let last = queue.take(at, 5000, &mut Vec::new()).unwrap();
        assert_eq!((last.offset, last.bytes, last.is_first(), last.is_last()), (1200, 300, false, true));
        assert_eq!(take(&mut queue, at, 1500), Some((1, 0, 1500)));
        assert_eq!(take(&mut queue, at, 5000), Some((2, 0, 1500)));
        assert_eq!((take(&mut queue, at, 1), queue.packets(), queue.bytes()), (None, 0, 0));
    }

    #[test]
    fn a_packet_of_which_nothing_has_left_is_discarded_by_time() {
        let mut queue = three();
        assert_eq!(queue.next_discard(), Some(MS * 50));
        assert_eq!(take(&mut queue, MS * 49, 1), Some((0, 0, 1)));
        // Packet 0 has begun to leave, and stays.
        assert_eq!(queue.next_discard(), Some(MS * 60));
        assert_eq!(discarded(&mut queue, MS * 60 - SimTime::from_nanos(1)), []);
        assert_eq!(discarded(&mut queue, MS * 60), [1]);
        assert_eq!((queue.packets(), queue.bytes(), queue.next_discard()), (2, 2999, Some(MS * 70)));
        assert_eq!(take(&mut queue, MS * 500, 1499), Some((0, 1, 1499)));
        // Expired packets are dropped at the next call.
        assert_eq!((take(&mut queue, MS * 500, 1), queue.bytes(), queue.next_discard()), (None, 0, None));
    }

    #[test]
    fn a_head_that_was_only_looked_at_is_discarded_too() {
        let mut queue = three();
        assert_eq!(queue.head(MS * 20, &mut Vec::new()), Some(1500));
        assert_eq!(
            (queue.packets(), queue.discipline().packets(), queue.next_discard()),
            (3, 2, Some(MS * 50))
        );
        assert_eq!(discarded(&mut queue, MS * 60), [0, 1]);
        assert_eq!(take(&mut queue, MS * 60, 9000), Some((2, 0, 1500)));
    }

    #[test]
    fn without_a_timer_nothing_is_discarded() {
        let queue = DropTail::new(QueueLimit::Packets(9)).unwrap();
        let mut queue = ByteQueue::new(Box::new(queue));
        queue.push(SimTime::ZERO, plain(0, 40), &mut Vec::new()).unwrap();
        assert_eq!(queue.next_discard(), None);
        assert_eq!(take(&mut queue, MS * 1_000_000, 100), Some((0, 0, 40)));
    }

    /// Packets take another number of bytes on the link than in the queue, here those of a PPP frame with compressed
    /// headers: 1500 - 40 + 3 + 4.
    #[test]
    fn packets_take_other_bytes_on_the_link_than_in_the_queue() {
        let queue = DropTail::new(QueueLimit::Bytes(3000)).unwrap();
        let mut queue = ByteQueue::new(Box::new(queue)).with_link_bytes(|bytes| bytes - 33);
        for id in 0..2 {
            queue.push(SimTime::ZERO, plain(id, 1500), &mut Vec::new()).unwrap();
        }
        assert_eq!((queue.bytes(), queue.discipline().bytes()), (2934, 3000));
        assert_eq!(queue.push(SimTime::ZERO, plain(2, 40), &mut Vec::new()), Err(plain(2, 40)));
        assert_eq!(take(&mut queue, MS, 9000), Some((0, 0, 1467)));
        assert_eq!((queue.bytes(), queue.discipline().bytes()), (1467, 1500));
    }

    /// Every piece of a packet carries the mark that the discipline has given the packet.
    #[test]
    fn pieces_carry_the_mark_of_their_packet() {
        let config = CoDelConfig { ecn: true, ..CoDelConfig::default() };
        let codel = CoDel::new(config, QueueLimit::Packets(1000)).unwrap();
        let mut queue = ByteQueue::new(Box::new(codel));
        for id in 0..300 {
            let packet = plain(id, 1500).with_ecn(Ecn::Ect0);
            queue.push(SimTime::ZERO, packet, &mut Vec::new()).unwrap();
        }
        // 1500 bytes a millisecond: the first mark falls at 105 ms, as for whole packets.
        let mut marked = Vec::new();
        for half in 2..300 {
            let piece = queue.take(SimTime::from_micros(500 * half), 750, &mut Vec::new()).unwrap();
            marked.extend(piece.packet.packet.is_ce().then_some((half / 2, piece.offset)));
        }
        assert_eq!(marked, [(105, 0), (105, 750)]);
        assert_eq!(queue.discipline().ecn_marks(), 1);
    }

    /// Operations of a transmitter on a queue; an `Op::Dequeue` is a request for the given number of bytes.
    fn requests() -> impl Strategy<Value = Vec<(Op, u32)>> {
        let most = prop_oneof![Just(u32::MAX), 1_u32..200, 1_u32..3000];
        prop::collection::vec(most, 600).prop_flat_map(|most| {
            ops().prop_map(move |ops| ops.into_iter().zip(most.iter().copied()).collect())
        })
    }

    /// Runs `requests` on `queue`, then empties it, and checks that bytes are conserved, packets stay in order and none
    /// is dropped of which bytes have left.
    fn check(
        mut queue: ByteQueue,
        timer: Option<SimTime>,
        requests: &[(Op, u32)],
    ) -> Result<(), TestCaseError> {
        let length = |packet: Parcel| packet.bytes() + 7;
        let (mut now, mut id, mut ledger) = (SimTime::ZERO, 0, Ledger::default());
        let (mut pushed, mut taken, mut gone) = (0, 0, 0);
        // The packet that has begun to leave, and how many of its bytes have left.
        let mut begun: Option<(Parcel, u32)> = None;
        let drain = [(Op::Dequeue, u32::MAX), (Op::TimePasses { micros: 500 }, 0)];
        for &(ref op, most) in requests.iter().chain(std::iter::repeat_n(&drain, 700).flatten()) {
            let mut dropped = Vec::new();
            match *op {
                Op::TimePasses { micros } => now += SimTime::from_micros(micros),
                Op::Enqueue { .. } => {
                    let packet = op.packet(id);
                    id += 1;
                    match queue.push(now, packet, &mut dropped) {
                        Ok(()) => {
                            ledger.came(now, packet);
                            pushed += u64::from(length(packet));
                        }
                        Err(refused) => prop_assert_eq!(refused, packet),
                    }
                }
                Op::Dequeue => {
                    let head = if most % 2 == 0 { queue.head(now, &mut dropped) } else { None };
                    match queue.take(now, most, &mut dropped) {
                        Some(piece) => {
                            prop_assert!(head.is_none_or(|head| head == piece.bytes + piece.left));
                            prop_assert!(0 < piece.bytes && piece.bytes <= most);
                            if let Some(begun) = begun {
                                prop_assert_eq!((piece.packet.packet, piece.offset), begun);
                            } else {
                                prop_assert!(piece.is_first());
                                ledger.is_sent(&piece.packet)?;
                            }
                            let (packet, until) = (piece.packet.packet, piece.offset + piece.bytes);
                            taken += u64::from(piece.bytes);
                            prop_assert_eq!(until + piece.left, length(packet));
                            begun = (!piece.is_last()).then_some((packet, until));
                            prop_assert_eq!(queue.begun(), piece.left);
                        }
                        None => prop_assert!(queue.packets() == 0, "a queue that waits sends"),
                    }
                }
            }
            // The ledger holds no packet of which bytes have left: none is dropped.
            for waiting in &dropped {
                ledger.leaves(waiting)?;
                gone += u64::from(length(waiting.packet));
            }
            prop_assert_eq!(queue.bytes(), pushed - taken - gone);
            prop_assert_eq!(queue.packets(), ledger.held.len() + usize::from(begun.is_some()));
            let oldest = ledger.held.iter().map(|waiting| waiting.since).min();
            prop_assert_eq!(queue.next_discard(), oldest.zip(timer).map(|(since, timer)| since + timer));
            let may_be_late = matches!(op, Op::TimePasses { .. });
            prop_assert!(may_be_late || queue.next_discard().is_none_or(|at| at > now));
        }
        prop_assert_eq!((queue.packets(), pushed), (0, taken + gone));
        prop_assert_eq!(queue.discipline().ecn_marks(), ledger.marked);
        Ok(())
    }

    proptest! {
        /// If whole packets are taken, the queue sends, drops and marks exactly the packets that its discipline does.
        #[test]
        fn asked_for_whole_packets_it_decides_as_its_discipline(
            ops in ops(), limit in limits(), ecn: bool, looks: bool,
        ) {
            for ((name, mut packets), (_, bytes)) in disciplines(limit, ecn).into_iter().zip(disciplines(limit, ecn)) {
                let mut bytes = ByteQueue::new(bytes);
                let (mut now, mut id) = (SimTime::ZERO, 0);
                for op in &ops {
                    let (mut expected, mut dropped) = (Vec::new(), Vec::new());
                    match *op {
                        Op::TimePasses { micros } => now += SimTime::from_micros(micros),
                        Op::Enqueue { .. } => {
                            let packet = op.packet(id);
                            id += 1;
                            let outcome = packets.enqueue(now, packet, &mut expected);
                            prop_assert_eq!(bytes.push(now, packet, &mut dropped), outcome, "{}", name);
                        }
                        Op::Dequeue => {
                            let next = packets.dequeue(now, &mut expected);
                            let most = if looks { bytes.head(now, &mut dropped) } else { Some(u32::MAX) };
                            let piece = most.and_then(|most| bytes.take(now, most, &mut dropped));
                            prop_assert_eq!(piece.map(|piece| piece.packet), next, "{}", name);
                            prop_assert!(piece.is_none_or(|piece| piece.is_first() && piece.is_last()));
                        }
                    }
                    prop_assert_eq!(dropped, expected, "{}", name);
                    let counts = (packets.packets(), packets.bytes(), packets.ecn_marks());
                    prop_assert_eq!((bytes.packets(), bytes.bytes(), bytes.discipline().ecn_marks()), counts);
                }
            }
        }

        /// For any requests, no byte is lost or sent twice, packets leave one after the other and those of a flow in
        /// order, and no packet is dropped of which bytes have left.
        #[test]
        fn bytes_are_conserved(
            requests in requests(), limit in limits(), ecn: bool,
            timer in prop::option::of((1_u64..100).prop_map(|millis| MS * millis)),
        ) {
            for (name, queue) in disciplines(limit, ecn) {
                let queue = ByteQueue::new(queue).with_link_bytes(|bytes| bytes + 7);
                let queue = if let Some(timer) = timer { queue.discarding(timer) } else { queue };
                check(queue, timer, &requests)
                    .map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
            }
        }
    }
}
