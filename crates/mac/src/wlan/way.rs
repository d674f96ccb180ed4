//! One direction of one category between the access point and a station: what waits, what is under way, and what has
//! come.

use super::ampdu::Ampdu;
use super::originator::{Originator, Transmit};
use super::recipient::Recipient;
use crate::error::{MeshError, out_of_range};
use crossfade_core::{SimTime, Stream};
use crossfade_link::{Departure, Parcel, Port, QueueConfig, QueueDiscipline, StationStatistics, Waiting};
use std::collections::VecDeque;

/// Numbers at most so far ahead are new ones.
const HALF_OF_THE_NUMBERS: u64 = 2048;

/// A packet that is sent, and for how long the driver takes it to be in the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) parcel: Parcel,
    pub(super) airtime_ns: u32,
}

/// A packet that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Come {
    pub(super) since: SimTime,
    pub(super) parcel: Parcel,
    /// The link on which it came.
    pub(super) link: u8,
}

/// Pushed packets that were never sent.
pub(super) struct Backlog {
    pub(super) queue: Box<dyn QueueDiscipline + Send>,
    /// Packets taken from the queue, with their airtime: the head, or those that the driver holds.
    pub(super) held: VecDeque<(Waiting, u32)>,
    /// Whether it is somebody else who takes packets out of the queue for the driver.
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

    /// Bytes of these packets.
    pub(super) fn bytes(&self) -> u64 {
        let held = self.held.iter().map(|(waiting, _)| u64::from(waiting.packet.bytes()));
        self.queue.bytes() + held.sum::<u64>()
    }

    /// The first packet, if it makes an MPDU of at most `most` bytes, for which `overhead` are added.
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

/// One direction of one category between the access point and a station.
pub(super) struct Way {
    pub(super) backlog: Backlog,
    pub(super) originator: Originator<Sending>,
    pub(super) recipient: Recipient<Come>,
    /// Time at which the recipient passes over a missing MPDU.
    pub(super) passes_at: Option<SimTime>,
    pub(super) errors: Stream,
    /// BARs in a row without an answer, by link.
    pub(super) bars: Vec<u32>,
    /// Statistics by link; events of no link count on the first.
    pub(super) statistics: Vec<StationStatistics>,
}

impl Way {
    /// Passes on what its recipient has released; whether that now waits for another time, or for none.
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

    /// Next frame on a link, if any.
    #[inline]
    pub(super) fn transmit(&self, link: usize) -> Option<Transmit> {
        self.originator.poll_transmit(link as u8, self.backlog.packets() > 0)
    }

    /// Whether so much was given up unheard that the recipient would take the numbers that come for old ones: they have
    /// 12 bits.
    pub(super) fn is_out_of_step(&self, window: u32) -> bool {
        self.originator.start() + u64::from(window) > self.recipient.start() + HALF_OF_THE_NUMBERS
    }

    /// Whether anything is still to be sent or settled, on whatever link.
    pub(super) fn has_work(&self) -> bool {
        self.backlog.packets() > 0
            || self.originator.is_active()
            || (0..self.bars.len()).any(|link| self.transmit(link).is_some())
    }

    /// The length of the first MPDU that would be sent; none where it is not known before a packet is taken.
    pub(super) fn first_bytes(&self, overhead: u32) -> Option<u32> {
        self.originator.first_waiting().or_else(|| {
            let head = self.backlog.held.front().map(|(waiting, _)| waiting.packet.bytes());
            head.or_else(|| self.backlog.queue.next_bytes()).map(|bytes| bytes + overhead)
        })
    }

    /// The mean length of packets that were never sent.
    pub(super) fn mean_bytes(&self) -> u32 {
        self.backlog.bytes().div_ceil(self.backlog.packets().max(1) as u64) as u32
    }

    /// Puts MPDUs into an aggregate on a link at `now`; `sent` is shown each with its number and how often it was sent
    /// before. Whether the window ended it, though more waited.
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
