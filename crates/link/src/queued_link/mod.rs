//! A link whose queue discipline decides as packets leave the queue.

#[cfg(test)]
mod tests;

use crate::event::{EventLog, LinkEvent, QueueChange};
use crate::link::{Departure, Link, Push};
use crate::occupancy::UnderWay;
use crate::parcel::Parcel;
use crate::queue::{QueueDiscipline, Waiting};
use crate::report::LinkReport;
use crate::statistics::LinkStatistics;
use crate::transmitter::{Service, Transmitter};
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// A packet in transmission, which is not counted yet.
#[derive(Clone, Copy)]
struct Sending {
    packet: Waiting,
    start: SimTime,
    end: SimTime,
}

/// A queue discipline in front of a transmitter, then a delay and losses.
///
/// Packets leave the queue when the transmitter begins to send them, so a discipline that measures their wait sees all
/// of it. The start of each transmission is an event while packets wait. With [`DropTail`](crate::DropTail) and a
/// constant rate the link behaves like a [`Hop`](crate::Hop), which needs no such events.
pub struct QueuedLink<Q, S = Transmitter> {
    queue: Q,
    service: S,
    delay: SimTime,
    loss: Box<dyn LossProcess>,
    /// Number of packets taken from the queue so far, and number of those that the loss process spared.
    taken: u64,
    spared: u64,
    /// Time at which the transmitter takes the next packet from the queue.
    starts_at: SimTime,
    /// True if the transmitter has found the queue empty.
    is_idle: bool,
    /// Packet taken last, until its transmission has ended and is counted.
    sending: Option<Sending>,
    /// Packets in transmission or propagation, each with its arrival time.
    under_way: VecDeque<(SimTime, Parcel)>,
    /// Latest arrival time of all packets so far; no later packet arrives before it.
    last_arrival: SimTime,
    /// Dropped and lost packets that `advance` has not returned yet, each with its time.
    gone: VecDeque<(SimTime, Departure)>,
    /// Packets dropped in a call; empty between calls, and kept to reuse its memory.
    dropped: Vec<Waiting>,
    statistics: LinkStatistics,
    log: EventLog,
}

impl<Q: QueueDiscipline, S: Service> QueuedLink<Q, S> {
    /// Creates an idle link with an empty queue. `delay` is added to the delay of the service.
    pub fn new(queue: Q, service: S, delay: SimTime, loss: Box<dyn LossProcess>) -> Self {
        Self {
            queue,
            service,
            delay,
            loss,
            taken: 0,
            spared: 0,
            starts_at: SimTime::ZERO,
            is_idle: true,
            sending: None,
            under_way: VecDeque::new(),
            last_arrival: SimTime::ZERO,
            gone: VecDeque::new(),
            dropped: Vec::new(),
            statistics: LinkStatistics::default(),
            log: EventLog::default(),
        }
    }

    /// Time at which the next lost or dropped packet leaves; [`SimTime::MAX`] if there is none.
    fn next_gone(&self) -> SimTime {
        self.gone.front().map_or(SimTime::MAX, |(at, _)| *at)
    }

    /// Time at which the next packet comes out; [`SimTime::MAX`] if none is in transit.
    fn next_arrival(&self) -> SimTime {
        self.under_way.front().map_or(SimTime::MAX, |(at, _)| *at)
    }

    /// Time at which the next transmission starts; [`SimTime::MAX`] if no packet waits.
    fn next_transmission(&self) -> SimTime {
        if self.queue.packets() > 0 { self.starts_at } else { SimTime::MAX }
    }

    /// Takes the next packet from the queue into transmission. The loss process decides at the start of the
    /// transmission.
    fn transmit_next(&mut self) {
        let now = self.starts_at;
        self.count_sent(now);
        let head = self.queue.dequeue(now, &mut self.dropped);
        self.note_drops(now);
        let Some(Waiting { since, packet }) = head else {
            self.is_idle = true;
            return;
        };
        self.log_queue(now, QueueChange::Dequeued);
        let end = self.service.serve(now, packet.bytes());
        self.starts_at = self.service.next_start(end, false);
        self.sending = Some(Sending { packet: Waiting { since, packet }, start: now, end });
        let transmission = self.taken;
        self.taken += 1;
        let is_lost = if packet.is_spared() {
            self.spared += 1;
            false
        } else {
            self.loss.lost_of(now, transmission - self.spared, packet.bytes())
        };
        self.log.push(|| LinkEvent::packet(now, packet.user(), transmission, is_lost));
        if is_lost {
            leave(&mut self.gone, end, Departure::Lost(packet));
        } else {
            let delay = self.service.delay(end).saturating_add(self.delay);
            // Packets stay in order even if the delay shrinks.
            self.last_arrival = end.saturating_add(delay).max(self.last_arrival);
            self.under_way.push_back((self.last_arrival, packet));
        }
    }

    /// Counts the packet in transmission if it has been sent by `now`.
    fn count_sent(&mut self, now: SimTime) {
        if let Some(Sending { packet: Waiting { since, packet }, start, .. }) =
            self.sending.take_if(|sending| sending.end <= now)
        {
            self.statistics.on_transmission(packet.bytes(), start - since);
        }
    }

    /// Starts all transmissions that were due by `now`. An empty queue is noticed only here, since nothing can depend
    /// on it earlier.
    fn catch_up(&mut self, now: SimTime) {
        while !self.is_idle && self.starts_at <= now {
            self.transmit_next();
        }
    }

    fn log_queue(&mut self, at: SimTime, change: QueueChange) {
        let queue = &self.queue;
        self.log.push(|| LinkEvent::queue(at, change, queue.packets(), queue.bytes()));
    }

    /// Records the marks and drops of the queue discipline since the last call, at time `now`.
    fn note_drops(&mut self, now: SimTime) {
        let marked = self.queue.ecn_marks() - self.statistics.ecn_marks;
        self.statistics.ecn_marks += marked;
        if self.log.is_kept() {
            (0..marked).for_each(|_| self.log_queue(now, QueueChange::Marked));
            (0..self.dropped.len()).for_each(|_| self.log_queue(now, QueueChange::Dropped));
        }
        for Waiting { since, packet } in self.dropped.drain(..) {
            self.statistics.queue_drops += 1;
            self.statistics.waiting_s += (now - since).as_secs_f64();
            leave(&mut self.gone, now, Departure::QueueDrop(packet));
        }
    }
}

/// Records that a packet leaves the link at time `at` without coming out; records are in order of time, and at equal
/// times in order of calls.
fn leave(gone: &mut VecDeque<(SimTime, Departure)>, at: SimTime, departure: Departure) {
    let place = gone.partition_point(|(earlier, _)| *earlier <= at);
    gone.insert(place, (at, departure));
}

impl<Q: QueueDiscipline, S: Service> Link for QueuedLink<Q, S> {
    fn push(&mut self, now: SimTime, packet: Parcel) -> Push {
        // A packet whose transmission starts now makes room for a packet that arrives now.
        self.catch_up(now);
        let refused = self.queue.enqueue(now, packet, &mut self.dropped).is_err();
        self.note_drops(now);
        if refused {
            self.log_queue(now, QueueChange::Dropped);
            self.statistics.queue_drops += 1;
            return Push::QueueDrop;
        }
        self.log_queue(now, QueueChange::Enqueued);
        if self.is_idle {
            self.is_idle = false;
            self.starts_at = self.service.next_start(now, true);
            if self.starts_at <= now {
                self.transmit_next();
            }
        }
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        let next = self.next_gone().min(self.next_arrival()).min(self.next_transmission());
        (next < SimTime::MAX).then_some(next)
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        loop {
            let (gone, arrival, transmission) =
                (self.next_gone(), self.next_arrival(), self.next_transmission());
            let next = gone.min(arrival).min(transmission);
            if next > now || next == SimTime::MAX {
                return None;
            }
            // At equal times, packets already lost or dropped come first, then arrivals, then the transmitter's next
            // event.
            if gone == next {
                let (_, departure) = self.gone.pop_front()?;
                self.statistics.losses += u64::from(matches!(departure, Departure::Lost(_)));
                return Some(departure);
            }
            if arrival == next {
                let (_, packet) = self.under_way.pop_front()?;
                self.statistics.on_arrival(packet.bytes());
                return Some(Departure::Arrived(packet));
            }
            self.transmit_next();
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.catch_up(now);
        self.count_sent(now);
        let mut statistics = self.statistics.clone();
        let (mut waits, mut unsent) = (Vec::new(), Vec::new());
        let mut note = |Waiting { since, packet }: Waiting, until: SimTime| {
            waits.push(until.saturating_sub(since));
            unsent.push(packet);
        };
        if let Some(Sending { packet, start, .. }) = self.sending {
            note(packet, start);
        }
        self.queue.each(&mut |packet| note(*packet, now));
        statistics.add_waits(waits);
        let under_way = self.sending.map(|Sending { packet, start, end }| UnderWay {
            start,
            end,
            bytes: packet.packet.bytes(),
        });
        let occupancy = self.service.occupancy(now, under_way);
        // Departures that have not been taken out yet.
        let is_drop = |departure: &Departure| matches!(departure, Departure::QueueDrop(_));
        let (dropped, lost): (Vec<_>, Vec<_>) =
            self.gone.iter().map(|(_, departure)| *departure).partition(is_drop);
        let being_sent = self.sending.map(|sending| sending.packet.packet);
        let on_the_way = self.under_way.iter().map(|(_, parcel)| *parcel);
        let sent = on_the_way.chain(lost.into_iter().map(Departure::parcel));
        let sent = sent.filter(|parcel| Some(*parcel) != being_sent).collect();
        unsent.extend(dropped.into_iter().map(Departure::parcel));
        let waiting = Some(self.queue.packets());
        LinkReport { waiting, unsent, sent, ..LinkReport::new(now, statistics, occupancy) }
    }

    fn trace(&mut self, keep: bool) {
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}
