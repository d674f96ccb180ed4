//! Traffic of one direction, station and access category: queue, originator and recipient.

use super::ampdu::Ampdu;
use super::originator::{Originator, Transmit};
use super::recipient::Recipient;
use crate::error::{MeshError, out_of_range};
use crossfade_core::{SimTime, Stream};
use crossfade_link::{Departure, Parcel, Port, QueueConfig, QueueDiscipline, StationStatistics, Waiting};
use std::collections::VecDeque;

/// Largest distance at which a 12-bit sequence number counts as new.
const HALF_OF_THE_NUMBERS: u64 = 2048;

/// Packet in flight, and the airtime in nanoseconds that the driver accounts for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) parcel: Parcel,
    pub(super) airtime_ns: u32,
}

/// Packet that was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Come {
    pub(super) since: SimTime,
    pub(super) parcel: Parcel,
    /// Link on which the packet was received.
    pub(super) link: u8,
}

/// Packets that were never sent: in the queue, and in the driver.
pub(super) struct Backlog {
    pub(super) queue: Box<dyn QueueDiscipline + Send>,
    /// Packets taken from the queue with their airtime in nanoseconds: those that the driver holds, or a head packet
    /// that did not fit.
    pub(super) held: VecDeque<(Waiting, u32)>,
    /// True if the access point's driver takes packets from the queue; otherwise they are taken as they are sent.
    pub(super) has_driver: bool,
}

impl Backlog {
    pub(super) fn new(config: QueueConfig, has_driver: bool, draws: Stream) -> Result<Self, MeshError> {
        match config.build(draws) {
            Ok(queue) => Ok(Self { queue, held: VecDeque::new(), has_driver }),
            Err(error) => out_of_range(error.parameter, error.value, error.allowed.into_owned()),
        }
    }

    #[inline]
    pub(super) fn packets(&self) -> usize {
        self.queue.packets() + self.held.len()
    }

    /// Bytes of all these packets.
    pub(super) fn bytes(&self) -> u64 {
        let held = self.held.iter().map(|(waiting, _)| u64::from(waiting.packet.bytes()));
        self.queue.bytes() + held.sum::<u64>()
    }

    /// Takes the first packet if its MPDU, with `overhead` added, has at most `most` bytes; otherwise `None`.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: SimTime,
        most: u32,
        overhead: u32,
        dropped: &mut Vec<Waiting>,
    ) -> Option<(Waiting, u32)> {
        let fits = |waiting: &Waiting| (waiting.packet.bytes() + overhead).next_multiple_of(4) <= most;
        if self.held.is_empty() {
            if self.has_driver {
                return None;
            }
            let head = self.queue.dequeue(now, dropped)?;
            if fits(&head) {
                return Some((head, 0));
            }
            self.held.push_back((head, 0));
            return None;
        }
        if fits(&self.held[0].0) { self.held.pop_front() } else { None }
    }

    pub(super) fn each(&self, mut visit: impl FnMut(&Waiting)) {
        self.held.iter().for_each(|(waiting, _)| visit(waiting));
        self.queue.each(&mut visit);
    }
}

/// Traffic of one direction, station and access category.
pub(super) struct Way {
    pub(super) backlog: Backlog,
    pub(super) originator: Originator<Sending>,
    pub(super) recipient: Recipient<Come>,
    /// Time at which the recipient's reorder timeout expires; `None` if no gap is open.
    pub(super) passes_at: Option<SimTime>,
    pub(super) errors: Stream,
    /// Number of missing acknowledgements in a row, by link.
    pub(super) bars: Vec<u32>,
    /// Statistics by link; events without a link count on the first.
    pub(super) statistics: Vec<StationStatistics>,
}

impl Way {
    /// Delivers the packets that the recipient has released; returns true if the time of its reorder timeout has
    /// changed.
    pub(super) fn release(
        &mut self,
        now: SimTime,
        port: Port,
        released: &mut Vec<Come>,
        departures: &mut VecDeque<(Port, Departure)>,
    ) -> bool {
        for Come { since, parcel, link } in released.drain(..) {
            let statistics = &mut self.statistics[usize::from(link)];
            statistics.packets.on_arrival(parcel.bytes());
            statistics.mpdus.on_release(now - since);
            departures.push_back((port, Departure::Arrived(parcel)));
        }
        let passes_at = self.recipient.next_timeout();
        std::mem::replace(&mut self.passes_at, passes_at) != passes_at
    }

    /// Next frame on a link; `None` without one.
    #[inline]
    pub(super) fn transmit(&self, link: usize) -> Option<Transmit> {
        self.originator.poll_transmit(link as u8, self.backlog.packets() > 0)
    }

    /// True if so many MPDUs were given up unheard that the recipient would take the 12-bit numbers of new ones for
    /// old.
    pub(super) fn is_out_of_step(&self, window: u32) -> bool {
        self.originator.start() + u64::from(window) > self.recipient.start() + HALF_OF_THE_NUMBERS
    }

    /// True if any packet waits or is not settled, on any link.
    pub(super) fn has_work(&self) -> bool {
        self.backlog.packets() > 0
            || self.originator.is_active()
            || (0..self.bars.len()).any(|link| self.transmit(link).is_some())
    }

    /// Length in bytes of the next MPDU; `None` if the queue does not know it before a packet is dequeued.
    pub(super) fn first_bytes(&self, overhead: u32) -> Option<u32> {
        self.originator.first_waiting().or_else(|| {
            let head = self.backlog.held.front().map(|(waiting, _)| waiting.packet.bytes());
            head.or_else(|| self.backlog.queue.next_bytes()).map(|bytes| bytes + overhead)
        })
    }

    /// Mean length in bytes of packets that were never sent.
    pub(super) fn mean_bytes(&self) -> u32 {
        self.backlog.bytes().div_ceil(self.backlog.packets().max(1) as u64) as u32
    }

    /// Puts MPDUs into an aggregate on a link at `now`; `sent` is called with each number, parcel, earlier
    /// transmissions, byte offset and random stream. Returns true if the window ended the aggregate while more packets
    /// waited.
    pub(super) fn compose(
        &mut self,
        link: usize,
        now: SimTime,
        ampdu: &mut Ampdu,
        overhead: u32,
        dropped: &mut Vec<Waiting>,
        mut sent: impl FnMut(u64, Parcel, u32, u32, &mut Stream),
    ) -> bool {
        let Self { backlog, originator, statistics, errors, .. } = self;
        let StationStatistics { packets, mpdus, .. } = &mut statistics[link];
        let source = |room| {
            let (waiting, airtime_ns) = backlog.take(now, room, overhead, dropped)?;
            packets.on_transmission(waiting.packet.bytes(), now - waiting.since);
            let sending = Sending { parcel: waiting.packet, airtime_ns };
            Some((waiting.packet.bytes() + overhead, sending))
        };
        let mut bytes = 0;
        originator.compose(link as u8, ampdu, source, |number, sending, before| {
            if before == 0 {
                mpdus.frames += 1;
            } else {
                mpdus.retransmissions += 1;
            }
            sent(number, sending.parcel, before, bytes, errors);
            bytes += super::ampdu::subframe_bytes(sending.parcel.bytes() + overhead);
        });
        !originator.has_room() && backlog.packets() > 0
    }
}
