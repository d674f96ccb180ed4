//! Bearer of a user: packets, PDCP and RLC at both ends, in both directions.
//!
//! ```text
//!   packets -> queue -> PDCP number -> RLC -> blocks of hybrid ARQ ~~~> RLC -> PDCP order -> packets
//!                                       ^                               |
//!                                       +------- STATUS PDUs <----------+   in blocks of the other direction
//! ```

use crate::discipline::Discipline;
use crate::packets::{Leaving, PDCP_HEADER, Packet, Queue};
use crate::pdcp::PdcpReceiver;
use crate::rlc::{AmReceiver, AmTransmitter, DataPdu, RlcConfig, RlcMode, Status, UmReceiver, UmTransmitter};
use crate::stack_config::BearerConfig;
use crossfade_core::SimTime;
use crossfade_link::{Departure, EventLog, Parcel, QueueLimit, UserStatistics};
use std::collections::VecDeque;

/// Index of the downlink in a stack; `UP` is that of the uplink.
pub(crate) const DOWN: usize = 0;
pub(crate) const UP: usize = 1;

/// Bytes of the MAC header of an SDU (38.321 section 6.1.2).
fn mac_header(bytes: u32) -> u32 {
    if bytes < 256 { 2 } else { 3 }
}

/// RLC PDUs of a transport block, and the time at which it was first sent.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pdus: Vec<DataPdu>,
    status: Option<Status>,
    sent: SimTime,
}

/// Payloads of blocks that have not arrived, at most as many as HARQ processes.
#[derive(Default)]
struct Payloads {
    /// Number and payload of each block.
    blocks: Vec<(u64, Payload)>,
    /// Spare lists of PDUs, reused to avoid allocations.
    spare: Vec<Vec<DataPdu>>,
}

impl Payloads {
    /// Empty payload of a block that is first sent at `sent`.
    fn begin(&mut self, sent: SimTime) -> Payload {
        Payload { pdus: self.spare.pop().unwrap_or_default(), status: None, sent }
    }

    /// Takes the payload of a block; `None` if it is unknown.
    fn take(&mut self, number: u64) -> Option<Payload> {
        let place = self.blocks.iter().position(|(of, _)| *of == number)?;
        Some(self.blocks.swap_remove(place).1)
    }

    /// Discards a payload and keeps its list for reuse.
    fn end(&mut self, payload: Payload) {
        let mut pdus = payload.pdus;
        pdus.clear();
        self.spare.push(pdus);
    }
}

#[derive(Clone, Debug)]
enum Transmitter {
    Um(UmTransmitter),
    Am(AmTransmitter),
}

#[derive(Clone, Debug)]
enum Receiver {
    Um(UmReceiver),
    Am(AmReceiver),
}

/// Data radio bearer in one direction.
pub(crate) struct Bearer {
    rlc: RlcConfig,
    packets: VecDeque<Packet>,
    /// PDCP COUNT of the first packet in `packets`; `begun` is that of the first without a sent byte, and
    /// `waiting_bytes` are the bytes of unsent packets.
    base: u64,
    begun: u64,
    waiting_bytes: u64,
    /// Queue discipline before `packets`; `None` for order of arrival.
    discipline: Option<Discipline>,
    transmitter: Transmitter,
    receiver: Receiver,
    pdcp: PdcpReceiver,
    payloads: Payloads,
    pub(crate) statistics: UserStatistics,
    /// Events with the delays of delivered packets; `user` and `number` identify user and bearer in them, the latter
    /// only if the user has several.
    pub(crate) log: EventLog,
    user: u16,
    pub(crate) number: Option<u16>,
}

impl Bearer {
    fn new(rlc: RlcConfig, user: u16, discipline: Option<Discipline>) -> Self {
        let (transmitter, receiver) = Self::ends(rlc);
        Self {
            rlc,
            discipline,
            packets: VecDeque::new(),
            base: 0,
            begun: 0,
            waiting_bytes: 0,
            transmitter,
            receiver,
            pdcp: PdcpReceiver::default(),
            payloads: Payloads::default(),
            statistics: UserStatistics::default(),
            log: EventLog::default(),
            user,
            number: None,
        }
    }

    fn ends(rlc: RlcConfig) -> (Transmitter, Receiver) {
        match rlc.mode {
            RlcMode::Unacknowledged => {
                (Transmitter::Um(UmTransmitter::new(rlc)), Receiver::Um(UmReceiver::new(rlc)))
            }
            RlcMode::Acknowledged => {
                (Transmitter::Am(AmTransmitter::new(rlc)), Receiver::Am(AmReceiver::new(rlc)))
            }
        }
    }

    /// Number of packets of which no byte was sent, and their bytes.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        let (packets, bytes) = self.discipline.as_ref().map_or((0, 0), Discipline::waiting);
        (packets + self.packets.len() - (self.begun - self.base) as usize, bytes + self.waiting_bytes)
    }

    /// Enqueues a packet; returns false, and counts a drop, if the queue is full. A queue discipline has its own limit.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel, limit: Option<QueueLimit>) -> bool {
        let (packets, bytes) = self.waiting();
        let is_taken = match &mut self.discipline {
            Some(discipline) => discipline.push(now, parcel),
            None => limit.is_none_or(|limit| limit.admits(packets, bytes, parcel.bytes())),
        };
        if !is_taken {
            self.statistics.packets.queue_drops += 1;
            return false;
        }
        if self.discipline.is_some() {
            self.queue(now).pull();
        } else {
            // Behind other packets, `head` is set anew when the packet before it begins to be sent.
            self.packets.push_back(Packet::new(parcel, now, now));
            self.waiting_bytes += u64::from(parcel.bytes());
        }
        true
    }

    /// Waiting packets at `now` as the source of RLC's SDUs.
    fn queue(&mut self, now: SimTime) -> Queue<'_> {
        let Self { packets, base, begun, waiting_bytes, discipline, statistics, .. } = self;
        Queue { packets, base: *base, begun, bytes: waiting_bytes, discipline, now, statistics }
    }

    /// Bytes that could be sent now, with estimated headers and without a STATUS PDU for the other direction.
    fn buffered(&self) -> u64 {
        let (open, may_begin) = match &self.transmitter {
            Transmitter::Um(um) => (um.buffered(), true),
            Transmitter::Am(am) => (am.buffered(), am.may_begin()),
        };
        let (packets, bytes) = self.waiting();
        let headers = u64::from(PDCP_HEADER + 6) * packets as u64;
        open + if open > 0 { 8 } else { 0 } + if may_begin { bytes + headers } else { 0 }
    }

    /// Smallest number of bytes of the STATUS PDU that is due; 0 if none is.
    fn report_bytes(&self, now: SimTime) -> u64 {
        match &self.receiver {
            Receiver::Am(am) if am.status_from().is_some_and(|from| from <= now) => 5,
            _ => 0,
        }
    }

    fn is_busy(&self) -> bool {
        let (timers, waits) = match (&self.transmitter, &self.receiver) {
            (Transmitter::Am(tx), Receiver::Am(rx)) => (
                tx.expiry().is_some() || rx.expiry().is_some() || rx.status_from().is_some(),
                tx.buffered() > 0,
            ),
            (Transmitter::Um(tx), Receiver::Um(rx)) => (rx.expiry().is_some(), tx.buffered() > 0),
            _ => (false, false),
        };
        let is_queue_busy = self.discipline.as_ref().is_some_and(Discipline::is_busy);
        timers
            || waits
            || is_queue_busy
            || self.pdcp.expiry().is_some()
            || self.waiting().0 > 0
            || !self.payloads.blocks.is_empty()
    }

    /// Fills `room` bytes with PDUs until they have `most` bytes; returns the number of bytes filled.
    fn fill(&mut self, now: SimTime, room: &mut u32, most: u64, payload: &mut Payload) -> u64 {
        let mut served = 0;
        let Self { packets, base, begun, waiting_bytes, discipline, transmitter, statistics, .. } = self;
        let mut queue =
            Queue { packets, base: *base, begun, bytes: waiting_bytes, discipline, now, statistics };
        queue.pull();
        while *room > 3 && served < most {
            let within = *room - mac_header(*room);
            let built = match transmitter {
                Transmitter::Um(um) => um.build(within, &mut queue),
                Transmitter::Am(am) => am.build(now, within, &mut queue),
            };
            let Some((pdu, bytes)) = built else { break };
            if pdu.is_retransmission {
                queue.statistics.bearer.retransmissions += 1;
            } else if pdu.is_end
                && let Some(packet) =
                    pdu.sdu.checked_sub(*base).and_then(|i| queue.packets.get_mut(i as usize))
                && packet.last == SimTime::MAX
            {
                packet.last = now;
            }
            *room -= (bytes + mac_header(bytes)).min(*room);
            served += u64::from(bytes);
            payload.pdus.push(pdu);
        }
        served
    }

    /// Receiving side of the bearer: RLC, PDCP, and the packets that leave behind PDCP.
    fn receiving(&mut self, now: SimTime, air: SimTime) -> (&mut Receiver, &mut PdcpReceiver, Leaving<'_>) {
        let Self {
            packets, base, begun, waiting_bytes, receiver, pdcp, statistics, log, user, number, ..
        } = self;
        let (user, number) = (*user, *number);
        let leaving =
            Leaving { packets, base, begun, waiting_bytes, statistics, log, user, number, now, air };
        (receiver, pdcp, leaving)
    }

    /// Re-establishes RLC at both ends: packets under way restart if `is_lossless`, otherwise they are lost.
    fn begin_anew(&mut self, is_lossless: bool) {
        if let (true, Transmitter::Am(am)) = (is_lossless, &self.transmitter) {
            let first = am.unconfirmed().next().unwrap_or(self.begun).max(self.base);
            for count in first..self.begun {
                self.waiting_bytes += u64::from(self.packets[(count - self.base) as usize].parcel.bytes());
            }
            self.begun = first;
        }
        (self.transmitter, self.receiver) = Self::ends(self.rlc);
        self.payloads.blocks.clear();
    }
}

/// Bearer in both directions, with its PDCP timers.
pub(crate) struct Stack {
    pub(crate) bearers: [Bearer; 2],
    reordering: Option<SimTime>,
    discard: Option<SimTime>,
    /// Time from the beginning of a block to its arrival: a slot and the propagation delay.
    air: SimTime,
}

impl Stack {
    /// Bearer without packets; `down` and `up` are its queue disciplines, `None` for order of arrival.
    pub(crate) fn new(
        bearer: BearerConfig,
        air: SimTime,
        user: u16,
        [down, up]: [Option<Discipline>; 2],
    ) -> Self {
        let BearerConfig { rlc, reordering, discard, .. } = bearer;
        Self { bearers: [Bearer::new(rlc, user, down), Bearer::new(rlc, user, up)], reordering, discard, air }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.bearers.iter().any(Bearer::is_busy)
    }

    /// Bytes that wait to be sent in direction `way`, including a STATUS PDU for the other direction.
    pub(crate) fn wanted(&self, now: SimTime, way: usize) -> u64 {
        self.bearers[way].buffered() + self.bearers[1 - way].report_bytes(now)
    }

    /// Fills a block of `bytes` with PDUs, which are kept under its number; returns false if there are none.
    pub(crate) fn fill(&mut self, now: SimTime, way: usize, number: u64, bytes: u32) -> bool {
        let mut payload = self.begin_block(now, way);
        let mut room = bytes;
        self.serve(now, way, &mut room, u64::MAX, &mut payload);
        self.end_block(way, number, payload)
    }

    /// Empty payload for a block that is first sent at `now`.
    pub(crate) fn begin_block(&mut self, now: SimTime, way: usize) -> Payload {
        self.bearers[way].payloads.begin(now)
    }

    /// Fills `room` with a STATUS PDU if one is due, and with data, until they have `most` bytes; returns the number of
    /// bytes filled.
    pub(crate) fn serve(
        &mut self,
        now: SimTime,
        way: usize,
        room: &mut u32,
        most: u64,
        payload: &mut Payload,
    ) -> u64 {
        let mut reported = 0;
        if payload.status.is_none()
            && let Receiver::Am(am) = &mut self.bearers[1 - way].receiver
            && let Some((status, taken)) = am.build_status(now, room.saturating_sub(3))
        {
            *room -= taken + mac_header(taken);
            reported = u64::from(taken);
            payload.status = Some(status);
            self.bearers[1 - way].statistics.bearer.reports += 1;
        }
        reported + self.bearers[way].fill(now, room, most.saturating_sub(reported), payload)
    }

    /// Keeps a payload under the number of its block; returns false if it is empty.
    pub(crate) fn end_block(&mut self, way: usize, number: u64, payload: Payload) -> bool {
        let is_used = !payload.pdus.is_empty() || payload.status.is_some();
        let payloads = &mut self.bearers[way].payloads;
        if is_used {
            payloads.blocks.push((number, payload));
        } else {
            payloads.end(payload);
        }
        is_used
    }

    /// Segments that a block carries, as first byte and one past the last.
    #[cfg(test)]
    pub(crate) fn segments(&self, way: usize, number: u64) -> Vec<(u32, u32)> {
        let blocks = self.bearers[way].payloads.blocks.iter().filter(|(of, _)| *of == number);
        blocks.flat_map(|(_, payload)| &payload.pdus).map(|pdu| (pdu.start, pdu.end)).collect()
    }

    /// Receives the PDUs of a block that has arrived; packets that leave are handed to `leave` with their direction.
    pub(crate) fn receive(
        &mut self,
        now: SimTime,
        way: usize,
        number: u64,
        mut leave: impl FnMut(usize, Departure),
    ) {
        let Some(payload) = self.bearers[way].payloads.take(number) else { return };
        if let Some(status) = &payload.status
            && let Transmitter::Am(am) = &mut self.bearers[1 - way].transmitter
        {
            am.on_status(status, |_| ());
        }
        let (reordering, air) = (self.reordering, self.air);
        let bearer = &mut self.bearers[way];
        let (receiver, pdcp, mut leaving) = bearer.receiving(now, air);
        for pdu in &payload.pdus {
            let complete = match receiver {
                Receiver::Um(um) => um.receive(now, pdu),
                Receiver::Am(am) => am.receive(now, pdu),
            };
            let Some(count) = complete else { continue };
            if let Some(packet) = leaving.packet(count)
                && packet.completing == SimTime::MAX
            {
                // Unless the segment was an RLC retransmission, any delay was that of hybrid ARQ.
                packet.completing =
                    if pdu.is_retransmission { payload.sent } else { packet.last.min(payload.sent) };
            }
            pdcp.receive(now, count, reordering, |delivered| {
                leaving.leave(delivered, &mut |departure| leave(way, departure));
            });
        }
        bearer.payloads.end(payload);
    }

    /// Forgets the PDUs of a block that HARQ gave up.
    pub(crate) fn give_up(&mut self, way: usize, number: u64) {
        let payloads = &mut self.bearers[way].payloads;
        if let Some(payload) = payloads.take(number) {
            payloads.end(payload);
        }
    }

    /// Applies the timers of RLC, PDCP and the queues that have expired by `now`; packets that leave are handed to
    /// `leave` with their direction.
    pub(crate) fn expire(&mut self, now: SimTime, mut leave: impl FnMut(usize, Departure)) {
        let (reordering, discard, air) = (self.reordering, self.discard, self.air);
        for way in [DOWN, UP] {
            let bearer = &mut self.bearers[way];
            let (receiver, pdcp, mut leaving) = bearer.receiving(now, air);
            match receiver {
                Receiver::Um(um) => um.expire(now),
                Receiver::Am(am) => am.expire(now),
            }
            pdcp.expire(now, reordering, |delivered| {
                leaving.leave(delivered, &mut |departure| leave(way, departure));
            });
            let Bearer { packets, base, begun, waiting_bytes, discipline, transmitter, statistics, .. } =
                bearer;
            if let Some(discipline) = discipline {
                for parcel in discipline.dropped() {
                    statistics.packets.queue_drops += 1;
                    leave(way, Departure::QueueDrop(parcel));
                }
                let until = discard.filter(|most| *most <= now).map(|most| now - most);
                for waiting in until.map(|until| discipline.discard(now, until)).into_iter().flatten() {
                    statistics.bearer.discards += 1;
                    statistics.packets.losses += 1;
                    leave(way, Departure::Lost(waiting.packet));
                }
            }
            if let Some(most) = discard {
                let mut place = (*begun - *base) as usize;
                while let Some(packet) = packets.get(place).filter(|packet| packet.since + most <= now) {
                    // Packets that restart after a handover have a PDCP COUNT and cannot be discarded.
                    if packet.first == SimTime::MAX {
                        leave(way, Departure::Lost(packet.parcel));
                        *waiting_bytes -= u64::from(packet.parcel.bytes());
                        statistics.bearer.discards += 1;
                        statistics.packets.losses += 1;
                        packets.remove(place);
                        if let Some(next) = packets.get_mut(place) {
                            next.head = next.head.max(now);
                        }
                    } else {
                        place += 1;
                    }
                }
            }
            let mut queue =
                Queue { packets, base: *base, begun, bytes: waiting_bytes, discipline, now, statistics };
            queue.pull();
            if let Transmitter::Am(am) = transmitter {
                am.expire(now, &queue);
            }
        }
    }

    /// True if RLC has reached its limit of retransmissions in any direction, so that the radio link has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.bearers
            .iter()
            .any(|bearer| matches!(&bearer.transmitter, Transmitter::Am(am) if am.has_failed()))
    }

    /// Re-establishes both directions, after a handover or a radio link failure.
    pub(crate) fn begin_anew(&mut self, is_lossless: bool) {
        self.bearers.iter_mut().for_each(|bearer| bearer.begin_anew(is_lossless));
    }

    /// Packets of a direction: those of which no byte was sent, and those under way.
    pub(crate) fn parcels(&self, way: usize) -> [Vec<Parcel>; 2] {
        let bearer = &self.bearers[way];
        let begun = (bearer.begun - bearer.base) as usize;
        let of =
            |range: std::ops::Range<usize>| bearer.packets.range(range).map(|packet| packet.parcel).collect();
        let behind = bearer.discipline.as_ref().map(Discipline::parcels).unwrap_or_default();
        [[of(begun..bearer.packets.len()), behind].concat(), of(0..begun)]
    }

    /// Statistics of a direction at `now`, including the waits of queued packets.
    pub(crate) fn report(&self, now: SimTime, way: usize) -> UserStatistics {
        let bearer = &self.bearers[way];
        let mut statistics = bearer.statistics.clone();
        let begun = (bearer.begun - bearer.base) as usize;
        let unsent = bearer.packets.range(begun..).filter(|packet| packet.first == SimTime::MAX);
        let behind = bearer.discipline.as_ref().map(Discipline::since).unwrap_or_default();
        let since = unsent.map(|packet| packet.since).chain(behind);
        statistics.packets.add_waits(since.map(|since| now.saturating_sub(since)));
        statistics.packets.ecn_marks = bearer.discipline.as_ref().map_or(0, Discipline::ecn_marks);
        statistics
    }
}
