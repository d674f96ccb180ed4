//! TCP captured at the sender: which transmission each acknowledgement belongs to.
//!
//! The segment that arrived last triggers an acknowledgement. As the path preserves order, it is the one sent last
//! among those that are acknowledged for the first time, and the arrival time of the acknowledgement belongs to it; the
//! others are only known to have arrived. If a retransmitted range is acknowledged sooner than a round trip after its
//! retransmission, the original had arrived.

use super::answers::Answer;
use super::headers::{FlowKey, Kind, Packet, Tcp};
use super::observed::{Fate, Observed, Seen};
use std::collections::BTreeMap;

/// Bytes of the timestamps option in every segment (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// Share of the shortest round trip below which a time is too short to be a round trip.
const SHORTEST: f64 = 0.98;

/// Time in nanoseconds within which the capturing host itself answers; an answer over a path takes longer.
const SAME_HOST_NS: i64 = 500_000;
/// Number of remembered timestamps.
const MOST_VALUES: usize = 4096;

/// Range of bytes that is not yet cumulatively acknowledged.
#[derive(Clone, Debug)]
struct Piece {
    end: i64,
    /// Indices of its transmissions in `packets`.
    transmissions: Vec<u32>,
    is_acknowledged: bool,
}

/// All transmissions of a flow and their fates so far.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    packets: Vec<Observed>,
    /// Acknowledgements with the receiver's clock.
    answers: Vec<Answer>,
    /// `TSval` of each.
    clocks: Vec<Option<u32>>,
    pieces: BTreeMap<i64, Piece>,
    /// Sequence number on the wire of the first byte, from which offsets count.
    first: Option<u32>,
    /// Offset one past the highest byte sent; `una` is the highest cumulative acknowledgement.
    next: i64,
    una: i64,
    mss: u32,
    shortest_ns: i64,
    /// Last round trip, in nanoseconds, of a range that was sent once.
    recent_ns: Option<i64>,
    /// True if packets larger than a segment were captured.
    pub(super) offloads: bool,
    /// Time at which each `TSval` of the receiver first arrived; `shortest_echo_ns` is the shortest time until data
    /// echoed one.
    values: BTreeMap<u32, i64>,
    shortest_echo_ns: i64,
}

/// Payload bytes of a full segment: by the options of both SYNs, otherwise the most frequent plausible payload from 500
/// to 8960 bytes.
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
        // The option of each end bounds what the other sends.
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

    /// Offset of a sequence number in the flow without wrap-around: the candidate nearest to the data in flight.
    fn unwrapped(&self, number: u32) -> i64 {
        let near = self.first.unwrap_or(number).wrapping_add(self.una as u32);
        self.una + i64::from(number.wrapping_sub(near).cast_signed())
    }

    /// Records a segment, or several in one offloaded packet, that the sender handed to its interface at `now`.
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
        // Retransmission: every known piece in the range.
        let again: Vec<i64> = self
            .pieces
            .range(start..self.next.min(end).max(start))
            .filter(|(_, piece)| piece.end <= end)
            .map(|(from, _)| *from)
            .collect();
        for from in again {
            let index = self.packets.len() as u32;
            let Some(piece) = self.pieces.get_mut(&from) else { continue };
            // After a timeout a sender may retransmit selectively acknowledged data: no later acknowledgement shows the
            // fate.
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

    /// Parts of a range that are sent for the first time: beyond the highest byte, and gaps of segments that left out
    /// of order or that the capture missed.
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

    /// Records an acknowledgement that reached the sender at `now`.
    pub(super) fn acknowledged(&mut self, now: i64, tcp: &Tcp) {
        if self.first.is_none() {
            // No data before it: offsets count from the byte that it expects.
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
                    // Pieces behind it in the cumulative acknowledgement arrived in their first transmission too.
                    Some(0) if number == 0 => Which::This(0),
                    _ => Which::Likeliest { now, shortest_ns, recent_ns },
                };
                let of = arrived(&mut self.packets, &piece.transmissions, which);
                // Indices are in order of sending, also for equal times.
                if trigger.is_none_or(|other| other <= of) {
                    (trigger, was_sent_once) = (Some(of), piece.transmissions.len() == 1);
                }
            }
        }
        // The round trip of a range that was sent several times is ambiguous (Karn and Partridge, SIGCOMM 1987).
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

    /// Index of the transmission of the first unacknowledged piece whose `TSval` an acknowledgement echoes; `None` if
    /// it was sent once. `TSecr` is the `TSval` of the segment that began where the last acknowledgement ended (RFC
    /// 7323 section 4.3).
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

    /// True if the capture is at the receiver: acknowledgements follow data at once, and data that echo their
    /// timestamps follow a round trip later.
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

/// Evidence by which the transmission that arrived is chosen.
#[derive(Clone, Copy)]
enum Which {
    /// Index of the transmission that the echoed timestamp names.
    This(usize),
    /// No timestamp: the transmission, sent at least a round trip ago, whose delay is nearest to the last one of a
    /// range sent once; without such a delay, the last transmission.
    Likeliest { now: i64, shortest_ns: i64, recent_ns: Option<i64> },
}

/// Index of the transmission of an acknowledged piece that arrived; earlier ones are marked lost, later ones unknown.
fn arrived(packets: &mut [Observed], transmissions: &[u32], which: Which) -> u32 {
    let of = match which {
        Which::This(at) => transmissions[at.min(transmissions.len() - 1)],
        Which::Likeliest { now, shortest_ns, recent_ns } => {
            let since = |index: &u32| now - packets[*index as usize].sent_ns;
            let is_old = |index: &&u32| {
                shortest_ns == i64::MAX || since(index) as f64 >= SHORTEST * shortest_ns as f64
            };
            let mut old = transmissions.iter().rev().filter(is_old);
            // The path preserves order, so this range took about as long as the last one.
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
