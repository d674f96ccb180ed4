//! Packets of a bearer: the queue from which RLC takes SDUs, and the delivery behind PDCP with the parts of each delay.

use crate::discipline::Discipline;
use crate::pdcp::Delivered;
use crate::rlc::Source;
use crossfade_core::SimTime;
use crossfade_link::{Departure, EventLog, LinkEvent, Parcel, UserStatistics, Waiting};
use std::collections::VecDeque;

/// Bytes of a PDCP header with 18-bit numbers (38.323 section 6.2.2.3).
pub(crate) const PDCP_HEADER: u32 = 3;

/// Packet that has not been delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) parcel: Parcel,
    pub(crate) since: SimTime,
    /// Time at which the packet became the first of its queue. `first` and `last` are the times at which its first and
    /// its last byte were first sent, `completing` that of the segment that completed it.
    pub(crate) head: SimTime,
    pub(crate) first: SimTime,
    pub(crate) last: SimTime,
    pub(crate) completing: SimTime,
}

/// Waiting packets of a bearer, from which RLC takes SDUs.
pub(crate) struct Queue<'a> {
    pub(crate) packets: &'a mut VecDeque<Packet>,
    pub(crate) base: u64,
    pub(crate) begun: &'a mut u64,
    pub(crate) bytes: &'a mut u64,
    pub(crate) discipline: &'a mut Option<Discipline>,
    pub(crate) now: SimTime,
    pub(crate) statistics: &'a mut UserStatistics,
}

impl Queue<'_> {
    /// Takes the next packet out of the queue discipline, unless one that was taken out before has not been sent yet.
    pub(crate) fn pull(&mut self) {
        let Some(discipline) = self.discipline else { return };
        if self.packets.len() > (*self.begun - self.base) as usize {
            return;
        }
        if let Some(Waiting { since, packet }) = discipline.next(self.now) {
            *self.bytes += u64::from(packet.bytes());
            self.packets.push_back(Packet::new(packet, since, self.now));
        }
    }
}

/// Packets that leave a bearer behind PDCP, with the state that their departure changes.
pub(crate) struct Leaving<'a> {
    pub(crate) packets: &'a mut VecDeque<Packet>,
    pub(crate) base: &'a mut u64,
    pub(crate) begun: &'a mut u64,
    pub(crate) waiting_bytes: &'a mut u64,
    pub(crate) statistics: &'a mut UserStatistics,
    pub(crate) log: &'a mut EventLog,
    pub(crate) user: u16,
    pub(crate) number: Option<u16>,
    pub(crate) now: SimTime,
    /// Propagation delay plus one slot: the minimum time of a segment on the air.
    pub(crate) air: SimTime,
}

impl Leaving<'_> {
    /// Packet with this PDCP COUNT; `None` if it has left.
    pub(crate) fn packet(&mut self, count: u64) -> Option<&mut Packet> {
        self.packets.get_mut(count.checked_sub(*self.base)? as usize)
    }

    /// Removes the first packet with the fate that PDCP reports.
    pub(crate) fn leave(&mut self, delivered: Delivered, leave: &mut impl FnMut(Departure)) {
        let Some(packet) = self.packets.pop_front() else { return };
        if self.begun == self.base {
            *self.begun += 1;
            *self.waiting_bytes -= u64::from(packet.parcel.bytes());
        }
        *self.base += 1;
        match delivered {
            Delivered::Lost { .. } => {
                self.statistics.packets.losses += 1;
                leave(Departure::Lost(packet.parcel));
            }
            Delivered::Arrived { since, .. } => {
                self.statistics.packets.on_arrival(packet.parcel.bytes());
                self.statistics.arq.on_release(self.now - since);
                self.split(&packet, since);
                leave(Departure::Arrived(packet.parcel));
            }
        }
    }

    /// Counts the parts of the delay of a packet that was complete at `since`.
    fn split(&mut self, packet: &Packet, since: SimTime) {
        let Packet { since: pushed, head, first, last, completing, parcel } = *packet;
        if completing == SimTime::MAX || last == SimTime::MAX {
            return;
        }
        let head = head.max(pushed);
        // If blocks overtook each other, the last byte may be sent before or after the block that completed the packet.
        let sent = last.max(first);
        let again = completing.max(sent);
        let arrived = (again + self.air).min(since);
        let queue = head.min(first) - pushed;
        let grant = first.saturating_sub(head);
        let air = (sent - first) + (arrived - again);
        let harq = since - arrived;
        let rlc = again - sent;
        let reordering = self.now - since;
        let bearer = &mut self.statistics.bearer;
        bearer.delays += 1;
        // One by one: a list would be written and read back at once, which stalls on memory.
        let sums = &mut bearer.delay_parts_s;
        sums[0] += queue.as_secs_f64();
        sums[1] += grant.as_secs_f64();
        sums[2] += air.as_secs_f64();
        sums[3] += harq.as_secs_f64();
        sums[4] += rlc.as_secs_f64();
        sums[5] += reordering.as_secs_f64();
        let (at, user, bearer) = (self.now, self.user, self.number);
        self.log.push(|| LinkEvent::Delay {
            at,
            user,
            bearer,
            bytes: parcel.bytes(),
            parts: [queue, grant, air, harq, rlc, reordering],
        });
    }
}

impl Packet {
    /// Packet that arrived at `since`; without others before it, it is the first of its queue from `head` on.
    pub(crate) fn new(parcel: Parcel, since: SimTime, head: SimTime) -> Self {
        let never = SimTime::MAX;
        Self { parcel, since, head, first: never, last: never, completing: never }
    }
}

impl Source for Queue<'_> {
    fn next_bytes(&self) -> Option<u32> {
        let packet = self.packets.get((*self.begun - self.base) as usize)?;
        Some(packet.parcel.bytes() + PDCP_HEADER)
    }

    fn take(&mut self) -> u64 {
        let count = *self.begun;
        let place = (count - self.base) as usize;
        let packet = &mut self.packets[place];
        let bytes = packet.parcel.bytes();
        *self.bytes -= u64::from(bytes);
        *self.begun += 1;
        // After a handover a packet under way restarts: its first transmission was counted before.
        if packet.first == SimTime::MAX {
            packet.first = self.now;
            self.statistics.packets.on_transmission(bytes, self.now - packet.since);
            if let Some(next) = self.packets.get_mut(place + 1) {
                next.head = next.head.max(self.now);
            }
        }
        self.pull();
        count
    }
}
