//! TCP at the sender: what each acknowledgement says of which transmission.
//!
//! An acknowledgement is triggered by the segment that arrived last. Of those that it is the first to acknowledge, this
//! is the one that was sent last, as the path keeps the order. Its time belongs to that segment; of the others it is
//! known that they arrived. A range that was retransmitted and is acknowledged sooner than a round trip after that had
//! arrived the first time.

use super::answers::Answer;
use super::headers::{FlowKey, Kind, Packet, Tcp};
use super::observed::{Fate, Observed, Seen};
use std::collections::BTreeMap;

/// Bytes of timestamps in every segment (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// Less than the shortest round trip by this share is no round trip.
const SHORTEST: f64 = 0.98;

/// An end answers sooner than this, a path of some length does not.
const SAME_HOST_NS: i64 = 500_000;
/// Number of remembered timestamps.
const MOST_VALUES: usize = 4096;

/// A range of bytes that is not acknowledged as a whole yet.
#[derive(Clone, Debug)]
struct Piece {
    end: i64,
    /// Indices of its transmissions.
    transmissions: Vec<u32>,
    is_acknowledged: bool,
}

/// All transmissions of a flow.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    packets: Vec<Observed>,
    /// Acknowledgements with the receiver's clock.
    answers: Vec<Answer>,
    /// `TSval` of each.
    clocks: Vec<Option<u32>>,
    pieces: BTreeMap<i64, Piece>,
    /// Numbers as they are on the wire: the first, from which others count.
    first: Option<u32>,
    /// One past the highest sent byte, and the highest cumulative acknowledgement.
    next: i64,
    una: i64,
    mss: u32,
    shortest_ns: i64,
    /// The last round trip of a range that was sent once.
    recent_ns: Option<i64>,
    /// Whether packets larger than a segment were seen.
    pub(super) offloads: bool,
    /// Time at which each `TSval` of the receiver was first seen, and the shortest time until data echoed it.
    values: BTreeMap<u32, i64>,
    shortest_echo_ns: i64,
}

/// The payload of a full segment: as the SYNs say, else the most frequent large one that a packet may have.
pub(super) fn mss_of(seen: &[Seen], flow: FlowKey) -> u32 {
    let (mut offered, mut stamped) = ([None; 2], false);
    let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
    for Seen { packet, .. } in seen {
        let Kind::Tcp(tcp) = packet.kind else { continue };
        let is_data = packet.flow == flow;
        if tcp.syn {
            offered[usize::from(is_data)] = tcp.mss.map(u32::from);
        }
        if is_data && packet.payload > 0 {
            stamped = tcp.timestamps.is_some();
            *sizes.entry(packet.payload).or_default() += 1;
        }
    }
    let options = if stamped { TIMESTAMPS } else { 0 };
    let common =
        sizes.iter().filter(|(size, _)| (500..=8960).contains(*size)).max_by_key(|(_, count)| **count);
    let largest = sizes.keys().next_back().copied().unwrap_or(1);
    match (offered, common) {
        // What one end offers bounds what the other sends.
        ([Some(a), Some(b)], _) if a.min(b) > options => a.min(b) - options,
        (_, Some((size, _))) if *size <= 1460 || largest <= 8960 => *size,
        _ if largest > 1460 => 1460 - options,
        _ => largest,
    }
}

impl Segments {
    pub(super) fn new(seen: &[Seen], flow: FlowKey) -> Self {
        Self {
            packets: Vec::new(),
            answers: Vec::new(),
            clocks: Vec::new(),
            pieces: BTreeMap::new(),
            first: None,
            next: 0,
            una: 0,
            mss: mss_of(seen, flow).max(1),
            shortest_ns: i64::MAX,
            recent_ns: None,
            offloads: false,
            values: BTreeMap::new(),
            shortest_echo_ns: i64::MAX,
        }
    }

    /// A number of the wire as one that does not wrap around: the one that is nearest to what is under way.
    fn unwrapped(&self, number: u32) -> i64 {
        let near = self.first.unwrap_or(number).wrapping_add(self.una as u32);
        self.una + i64::from(number.wrapping_sub(near).cast_signed())
    }

    /// The sender handed a segment, or a train of them, to its interface.
    pub(super) fn sent(&mut self, now: i64, packet: &Packet, tcp: &Tcp) {
        if self.first.is_none() {
            self.first = Some(if tcp.syn { tcp.seq.wrapping_add(1) } else { tcp.seq });
        }
        if packet.payload == 0 {
            return;
        }
        let echoed = tcp.timestamps.and_then(|(_, echo)| self.values.get(&echo));
        self.shortest_echo_ns = self.shortest_echo_ns.min(echoed.map_or(i64::MAX, |at| now - at));
        self.offloads |= packet.payload > self.mss;
        let headers = packet.bytes - packet.payload;
        let start = self.unwrapped(tcp.seq) + i64::from(tcp.syn);
        let end = start + i64::from(packet.payload);
        // Again: every piece that it covers.
        let again: Vec<i64> = self
            .pieces
            .range(start..self.next.min(end).max(start))
            .filter(|(_, piece)| piece.end <= end)
            .map(|(from, _)| *from)
            .collect();
        for from in again {
            let index = self.packets.len() as u32;
            let Some(piece) = self.pieces.get_mut(&from) else { continue };
            // After a timeout a sender may retransmit what was acknowledged selectively: no acknowledgement tells more of it.
            if !piece.is_acknowledged {
                piece.transmissions.push(index);
            }
            let bytes = (piece.end - from) as u32 + headers;
            self.push(now, bytes, tcp);
        }
        for (mut from, until) in self.unseen(start, end) {
            while from < until {
                let to = until.min(from + i64::from(self.mss));
                let index = self.packets.len() as u32;
                let piece = Piece { end: to, transmissions: vec![index], is_acknowledged: false };
                self.pieces.insert(from, piece);
                let bytes = (to - from) as u32 + headers;
                self.push(now, bytes, tcp);
                from = to;
            }
        }
        self.next = self.next.max(end);
    }

    /// Parts of a range that were not sent before: beyond the highest byte, and holes of segments that left out of
    /// order or that the capture missed.
    fn unseen(&self, start: i64, end: i64) -> Vec<(i64, i64)> {
        let (mut at, mut found) = (start.max(self.una), Vec::new());
        if at < self.next {
            let before = self.pieces.range(..at).next_back();
            at = before.map_or(at, |(_, piece)| at.max(piece.end));
            for (from, piece) in self.pieces.range(at..self.next.min(end).max(at)) {
                if *from > at {
                    found.push((at, *from));
                }
                at = at.max(piece.end);
            }
        }
        if at < end {
            found.push((at, end));
        }
        found
    }

    fn push(&mut self, now: i64, bytes: u32, tcp: &Tcp) {
        self.packets.push(Observed { sent_ns: now, bytes, fate: Fate::Unknown, seen_ns: None });
        self.clocks.push(tcp.timestamps.map(|(value, _)| value));
    }

    /// An acknowledgement came.
    pub(super) fn acknowledged(&mut self, now: i64, tcp: &Tcp) {
        if self.first.is_none() {
            // Nothing was sent before it: numbers count from what it expects.
            self.first = Some(tcp.ack);
        }
        if let Some((value, _)) = tcp.timestamps {
            self.values.entry(value).or_insert(now);
            if self.values.len() > MOST_VALUES {
                self.values.pop_first();
            }
        }
        let ack = self.unwrapped(tcp.ack).min(self.next);
        let (mut trigger, mut was_sent_once): (Option<u32>, bool) = (None, false);
        let (shortest_ns, recent_ns) = (self.shortest_ns, self.recent_ns);
        let mut ranges = [(i64::MIN, ack), (0, 0), (0, 0), (0, 0), (0, 0)];
        for (range, (from, to)) in ranges[1..].iter_mut().zip(&tcp.sack.0[..tcp.sack.1]) {
            *range = (self.unwrapped(*from), self.unwrapped(*to).min(self.next));
        }
        let echoed = self.echoed(ack, tcp);
        for (number, (from, to)) in ranges.into_iter().enumerate() {
            if from >= to {
                continue;
            }
            for (start, piece) in self.pieces.range_mut(from..to) {
                if piece.end > to || piece.is_acknowledged {
                    continue;
                }
                piece.is_acknowledged = true;
                let which = match echoed {
                    Some(which) if *start == self.una => Which::This(which),
                    // What follows in the same acknowledgement went with the first transmission too.
                    Some(0) if number == 0 => Which::This(0),
                    _ => Which::Likeliest { now, shortest_ns, recent_ns },
                };
                let of = arrived(&mut self.packets, &piece.transmissions, which);
                // Packets count in the order of sending, also those of one time.
                if trigger.is_none_or(|other| other <= of) {
                    (trigger, was_sent_once) = (Some(of), piece.transmissions.len() == 1);
                }
            }
        }
        // Of a range that was sent several times nothing tells the round trip (Karn and Partridge, SIGCOMM 1987).
        if let Some(of) = trigger.filter(|_| was_sent_once) {
            let packet = &mut self.packets[of as usize];
            packet.seen_ns = Some(now);
            self.shortest_ns = self.shortest_ns.min(now - packet.sent_ns);
            self.recent_ns = Some(now - packet.sent_ns);
            let stamped = tcp.timestamps.map(|(value, _)| Answer { index: of, came_ns: now, value });
            self.answers.extend(stamped);
        }
        if ack > self.una {
            self.una = ack;
            self.pieces = self.pieces.split_off(&ack);
        }
    }

    /// Transmission of the first piece that an acknowledgement echoes, if it was sent several times: `TSecr` is the
    /// `TSval` of the segment that began where the last acknowledgement ended (RFC 7323 section 4.3).
    fn echoed(&self, ack: i64, tcp: &Tcp) -> Option<usize> {
        let (_, echo) = tcp.timestamps?;
        let piece = self.pieces.get(&self.una).filter(|piece| ack > self.una && !piece.is_acknowledged)?;
        if piece.transmissions.len() < 2 {
            return None;
        }
        let is_not_later = |index: &u32| {
            self.clocks[*index as usize].is_some_and(|clock| echo.wrapping_sub(clock).cast_signed() >= 0)
        };
        piece.transmissions.iter().rposition(is_not_later)
    }

    /// Whether acknowledgements follow data at once, and what echoes their timestamps follows them a round trip later.
    pub(super) fn is_at_receiver(&self) -> bool {
        let is_known = self.shortest_echo_ns < i64::MAX;
        is_known
            && self.shortest_ns < SAME_HOST_NS
            && self.shortest_echo_ns > 2 * SAME_HOST_NS.max(self.shortest_ns)
    }

    /// The packets, and the acknowledgements that bear a clock.
    pub(super) fn finish(self) -> (Vec<Observed>, Vec<Answer>) {
        (self.packets, self.answers)
    }
}

/// Evidence of which transmission arrived.
#[derive(Clone, Copy)]
enum Which {
    /// Transmission by its timestamp.
    This(usize),
    /// The transmission, sent at least a round trip ago, whose delay is nearest to that of a range that was sent once;
    /// without such a range the last.
    Likeliest { now: i64, shortest_ns: i64, recent_ns: Option<i64> },
}

/// Transmission of an acknowledged piece that arrived. Earlier ones were lost.
fn arrived(packets: &mut [Observed], transmissions: &[u32], which: Which) -> u32 {
    let of = match which {
        Which::This(at) => transmissions[at.min(transmissions.len() - 1)],
        Which::Likeliest { now, shortest_ns, recent_ns } => {
            let since = |index: &u32| now - packets[*index as usize].sent_ns;
            let is_old = |index: &&u32| {
                shortest_ns == i64::MAX || since(index) as f64 >= SHORTEST * shortest_ns as f64
            };
            let mut old = transmissions.iter().rev().filter(is_old);
            // The path keeps the order, so what arrived last took as long.
            let likeliest = match recent_ns {
                Some(recent_ns) => old.min_by_key(|index| since(index).abs_diff(recent_ns)),
                None => old.next(),
            };
            *likeliest.unwrap_or(&transmissions[0])
        }
    };
    for index in transmissions {
        let packet = &mut packets[*index as usize];
        packet.fate = match index.cmp(&of) {
            std::cmp::Ordering::Less => Fate::Lost,
            std::cmp::Ordering::Equal => Fate::Arrived,
            std::cmp::Ordering::Greater => Fate::Unknown,
        };
    }
    of
}
