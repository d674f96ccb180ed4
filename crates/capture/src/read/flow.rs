//! Reader of one flow of a capture: each packet that was sent, and its fate.

use super::answers::without_waits;
use super::error::ReadError;
use super::headers::{FlowKey, Frame, Kind, Packet};
use super::numbered::Numbered;
use super::observed::{FlowRecord, Observed, Seen, Vantage};
use super::receiver;
use super::sealed;
use super::segments::Segments;
use super::sequence::in_sequence;
use super::shared::shares_queue;
use super::times::Times;
use super::told::FlowTold;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of packets of a flow that are read; the rest of a longer capture is ignored.
pub const MOST_PACKETS: usize = 4_000_000;
/// Maximum disorder, in nanoseconds, of packets that several processors captured; a larger step back is an error.
const OUT_OF_ORDER_NS: i64 = 1_000_000_000;
/// Largest plausible time between two packets of a flow, in nanoseconds (one day); a larger one means a clock that was
/// set.
const DAY_NS: i64 = 86_400_000_000_000;
/// A capture on several interfaces has a copy of a packet for each that it passes. Copies are at most this many
/// nanoseconds apart, and `TWINS_APART` packets; at least a share `TWINS` of the segments has one.
const TWIN_NS: i64 = 1_000_000;
const TWINS_APART: usize = 64;
const TWINS: f64 = 0.3;

/// Collects the packets of one flow of a capture, in both directions, and of parallel flows on the same path.
#[derive(Clone, Debug)]
pub struct FlowReader {
    key: FlowKey,
    /// Index in `beside` of each parallel flow.
    indices: BTreeMap<FlowKey, usize>,
    seen: Vec<Seen>,
    /// Packets of each parallel flow.
    beside: Vec<(FlowKey, Vec<Seen>)>,
    times: Times,
    last_ns: i64,
    packets: usize,
    is_cut: bool,
}

impl FlowReader {
    /// Reader of the flow whose data packets have the key `key`.
    pub fn new(key: FlowKey) -> Self {
        Self::with_beside(key, &[])
    }

    /// Reader of the flow whose data packets have the key `key`, and of the parallel flows `beside` between the same
    /// hosts. Flows that wait in the same queue together show the capacity of the link.
    pub fn with_beside(key: FlowKey, beside: &[FlowKey]) -> Self {
        Self {
            key,
            indices: beside.iter().enumerate().map(|(index, key)| (*key, index)).collect(),
            seen: Vec::new(),
            beside: beside.iter().map(|key| (*key, Vec::new())).collect(),
            times: Times::default(),
            last_ns: i64::MIN,
            packets: 0,
            is_cut: false,
        }
    }

    /// Stores a captured packet if it belongs to the flow or to a parallel one.
    ///
    /// # Errors
    /// If the time of the packet lies more than 1 s before that of an earlier packet, or more than a day after it.
    pub fn look(&mut self, frame: Frame<'_>, packet: Option<Packet>) -> Result<(), ReadError> {
        let Some(packet) = packet else { return Ok(()) };
        let is_of = |key: FlowKey| packet.flow == key || packet.flow == key.reversed();
        let index = if is_of(self.key) {
            None
        } else {
            match [packet.flow, packet.flow.reversed()].iter().find_map(|key| self.indices.get(key)) {
                Some(index) => Some(*index),
                None => return Ok(()),
            }
        };
        if self.is_cut {
            return Ok(());
        }
        let back = self.last_ns.saturating_sub(frame.time_ns);
        if back > OUT_OF_ORDER_NS {
            let packet = self.packets as u64 + 1;
            return Err(ReadError::TimeGoesBack { packet, back_ms: (back / 1_000_000) as u64 });
        }
        if self.last_ns > i64::MIN && frame.time_ns.saturating_sub(self.last_ns) > DAY_NS {
            let packet = self.packets as u64 + 1;
            let hours = (frame.time_ns.saturating_sub(self.last_ns) / (DAY_NS / 24)) as u64;
            return Err(ReadError::TimeLeaps { packet, hours });
        }
        self.last_ns = self.last_ns.max(frame.time_ns);
        if self.packets == MOST_PACKETS {
            self.is_cut = true;
            return Ok(());
        }
        self.packets += 1;
        let is_back = packet.flow != self.key && !self.indices.contains_key(&packet.flow);
        self.times.look(frame.interface, frame.time_ns, is_back);
        let seen = index.map_or(&mut self.seen, |index| &mut self.beside[index].1);
        seen.push(Seen { time_ns: frame.time_ns, packet });
        Ok(())
    }

    /// Key of the followed flow, in the direction of its data.
    pub fn key(&self) -> FlowKey {
        self.key
    }

    /// Packets of the flow in order of time, without duplicates, and the clock's tick.
    ///
    /// # Errors
    /// If the clock was set back during the capture.
    pub(super) fn into_seen(mut self) -> Result<Ordered, ReadError> {
        let tick_ns = self.times.tick_ns()?;
        put_in_order(&mut self.seen, self.key);
        Ok(Ordered { flow: self.key, seen: self.seen, is_cut: self.is_cut, tick_ns })
    }

    /// Packets and fates from a capture at one end: of TCP, or of unencrypted QUIC at the sender.
    ///
    /// # Errors
    /// If the capture does not show which packets arrived: UDP, encrypted QUIC, or TCP without timestamps at the
    /// receiver.
    pub fn finish(self) -> Result<FlowRecord, ReadError> {
        let flow = self.key;
        match self.told()? {
            FlowTold::Packets(record) => Ok(record),
            FlowTold::Stretches(_) => Err(ReadError::OneEnd(flow.to_string())),
        }
    }

    /// Measurements from a capture at one end: each packet and its fate, or, of encrypted QUIC, the bytes carried per
    /// interval of time by packet sizes and gaps, with round trips by the handshake and the spin bit.
    ///
    /// # Errors
    /// If the capture does not show which packets arrived: UDP, or TCP without timestamps at the receiver.
    pub fn told(mut self) -> Result<FlowTold, ReadError> {
        let beside = std::mem::take(&mut self.beside);
        let Ordered { flow, seen, is_cut, tick_ns } = self.into_seen()?;
        // The times of all flows count from the first packet.
        let times = beside.iter().flat_map(|(_, seen)| seen).chain(&seen).map(|seen| seen.time_ns);
        let start_ns = times.min().unwrap_or(0);
        let record = |seen: &[Seen], flow: FlowKey| {
            if flow.is_tcp {
                return of_tcp(flow, seen, start_ns).map(Some);
            }
            let packets = in_the_clear(seen, flow, start_ns);
            Ok(packets.map(|packets| FlowRecord { packets, ..FlowRecord::of_sender(flow) }))
        };
        let Some(mut found) = record(&seen, flow)? else {
            let carried = sealed::stretches(&seen, flow, is_cut);
            return carried.map(FlowTold::Stretches).ok_or_else(|| ReadError::OneEnd(flow.to_string()));
        };
        (found.is_cut, found.tick_ns) = (is_cut, found.tick_ns.max(tick_ns));
        if found.vantage != Vantage::Sender {
            return Ok(FlowTold::Packets(found));
        }
        let others = beside.into_iter().filter_map(|(key, mut seen)| {
            put_in_order(&mut seen, key);
            // A flow that says nothing by itself is left out.
            let of = record(&seen, key).ok()??;
            (of.vantage == Vantage::Sender).then_some((key, of))
        });
        add_beside(&mut found, others.collect());
        Ok(FlowTold::Packets(found))
    }
}

/// Adds the packets of flows beside one, the largest first: those that waited in the same queue. Short flows that say too
/// little of that alone are taken or left out together.
fn add_beside(found: &mut FlowRecord, others: Vec<(FlowKey, FlowRecord)>) {
    let own = found.packets.clone();
    let (mut short, mut of_short) = (Vec::new(), Vec::new());
    // Packets of flows that do not tell what their acknowledgements waited: short ones, or where none waited long.
    let mut of_unknown = Vec::new();
    let mut add = |key: FlowKey, mut of: FlowRecord| {
        without_late_answers(&mut of.packets);
        let packets = if of.held_ns > 0 { &mut found.packets } else { &mut of_unknown };
        packets.extend(of.packets);
        found.offloads |= of.offloads;
        (found.held_ns, found.tick_ns) = (found.held_ns.max(of.held_ns), found.tick_ns.max(of.tick_ns));
        found.beside.push(key);
    };
    for (key, of) in others {
        match shares_queue(&own, &of.packets) {
            Some(true) => add(key, of),
            Some(false) => {}
            None => {
                of_short.extend_from_slice(&of.packets);
                short.push((key, of));
            }
        }
    }
    of_short.sort_by_key(|packet| packet.sent_ns);
    if shares_queue(&own, &of_short) == Some(true) {
        for (key, of) in short {
            add(key, of);
        }
    }
    if found.held_ns > 0 {
        for packet in &mut of_unknown {
            packet.seen_ns = None;
        }
    }
    found.packets.extend(of_unknown);
    if !found.beside.is_empty() {
        let count = own.len();
        without_late_answers(&mut found.packets[..count]);
        found.packets.sort_by_key(|packet| packet.sent_ns);
    }
}

/// Removes the times of acknowledgements of one packet alone behind which its flow sent nothing until they came: the
/// receiver may have held them back for a second packet (RFC 9293 section 3.8.6.3). Among packets of other flows they
/// would pass for an outage.
fn without_late_answers(packets: &mut [Observed]) {
    let mut unanswered = 0;
    for index in 0..packets.len() {
        unanswered += 1;
        let Some(seen_ns) = packets[index].seen_ns else { continue };
        let next_ns = packets.get(index + 1).map_or(i64::MAX, |next| next.sent_ns);
        if unanswered == 1 && next_ns >= seen_ns {
            packets[index].seen_ns = None;
        }
        unanswered = 0;
    }
}

/// Packets of a flow in order of time.
pub(super) struct Ordered {
    pub(super) flow: FlowKey,
    pub(super) seen: Vec<Seen>,
    /// True if the capture had more packets than were read.
    pub(super) is_cut: bool,
    pub(super) tick_ns: i64,
}

/// Sorts packets by time, and packets of equal time by sequence number; removes duplicates.
fn put_in_order(seen: &mut Vec<Seen>, flow: FlowKey) {
    seen.sort_by_key(|seen| seen.time_ns);
    without_twins(seen);
    in_sequence(seen, flow);
}

/// True if the SYN of the flow's sender has its options in the order of Linux.
pub(super) fn is_of_linux(seen: &[Seen], flow: FlowKey) -> bool {
    seen.iter()
        .any(|of| matches!(of.packet.kind, Kind::Tcp(tcp) if tcp.is_of_linux && of.packet.flow == flow))
}

/// Packets and fates of a TCP connection captured at one end.
fn of_tcp(flow: FlowKey, seen: &[Seen], start: i64) -> Result<FlowRecord, ReadError> {
    let mut segments = Segments::new(seen, flow);
    for Seen { time_ns, packet } in seen {
        let Kind::Tcp(tcp) = packet.kind else { continue };
        if packet.flow == flow {
            segments.sent(time_ns - start, packet, &tcp);
        } else if tcp.has_ack {
            segments.acknowledged(time_ns - start, &tcp);
        }
    }
    let offloads = segments.offloads;
    let is_of_linux = is_of_linux(seen, flow);
    if !seen.iter().any(|of| of.packet.flow != flow) {
        return Err(ReadError::OneDirection(flow.to_string()));
    }
    let of_sender = FlowRecord { offloads, is_of_linux, ..FlowRecord::of_sender(flow) };
    if segments.is_at_receiver() {
        let (packets, tick_ns) = receiver::packets(seen, flow)?;
        return Ok(FlowRecord { vantage: Vantage::Receiver, packets, tick_ns, ..of_sender });
    }
    let (mut packets, answers) = segments.finish();
    let waits = without_waits(&mut packets, &answers);
    let (held_ns, tick_ns) = waits.map_or((0, 0), |waits| (waits.held_ns, waits.tick_ns));
    Ok(FlowRecord { packets, tick_ns, held_ns, ..of_sender })
}

/// Removes second copies of segments, if at least a share `TWINS` of the segments has one. A retransmission differs
/// from a copy: it comes later, or has another timestamp.
fn without_twins(seen: &mut Vec<Seen>) {
    let mut recent: VecDeque<Seen> = VecDeque::new();
    let mut is_twin = vec![false; seen.len()];
    let (mut segments, mut twins) = (0_u64, 0_u64);
    for (of, is_twin) in seen.iter().zip(&mut is_twin) {
        if !matches!(of.packet.kind, Kind::Tcp(_)) || of.packet.payload == 0 {
            continue;
        }
        while recent.front().is_some_and(|other| of.time_ns - other.time_ns > TWIN_NS)
            || recent.len() > TWINS_APART
        {
            recent.pop_front();
        }
        *is_twin = recent.iter().any(|other| other.packet == of.packet);
        segments += 1;
        twins += u64::from(*is_twin);
        recent.push_back(*of);
    }
    if twins as f64 >= TWINS * segments as f64 {
        let mut is_twin = is_twin.into_iter();
        seen.retain(|_| !is_twin.next().unwrap_or(false));
    }
}

/// Packets and fates of an unencrypted QUIC flow; `None` if any packet is encrypted.
fn in_the_clear(seen: &[Seen], flow: FlowKey, start: i64) -> Option<Vec<Observed>> {
    let (mut packets, mut next, mut acknowledgements) = (Numbered::default(), 0_u64, 0_u64);
    for Seen { time_ns, packet } in seen {
        let Kind::Quic { quic, .. } = packet.kind else { return None };
        let now = time_ns - start;
        match (packet.flow == flow, quic.ranges) {
            (true, (_, 0)) => {
                let number = next + u64::from(quic.number.wrapping_sub(next as u16));
                next = number + 1;
                packets.sent(now, number, packet.bytes);
            }
            (false, (ranges, count)) if count > 0 => {
                let ranges =
                    ranges[..count].iter().map(|(first, last)| (u64::from(*first), u64::from(*last)));
                packets.acknowledged(now, ranges, quic.delay_ns);
                acknowledgements += 1;
            }
            _ => return None,
        }
    }
    (acknowledgements > 0).then(|| packets.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::observed::Fate;

    /// Three packets sent at once, of which two are acknowledged together and the last by the receiver's timer, then two
    /// that are acknowledged one by one while others are under way.
    #[test]
    fn an_acknowledgement_that_a_timer_sent_says_nothing() {
        let packet = |sent_ms: i64, seen_ms: Option<i64>| Observed {
            sent_ns: sent_ms * 1_000_000,
            bytes: 1500,
            fate: Fate::Arrived,
            seen_ns: seen_ms.map(|seen| seen * 1_000_000),
        };
        let mut packets = vec![
            packet(0, None),
            packet(0, Some(40)),
            packet(0, Some(240)),
            packet(300, Some(341)),
            packet(310, Some(351)),
            packet(311, Some(352)),
            packet(400, None),
        ];
        without_late_answers(&mut packets);
        let seen: Vec<bool> = packets.iter().map(|packet| packet.seen_ns.is_some()).collect();
        assert_eq!(seen, [false, true, false, true, true, false, false]);
    }
}
