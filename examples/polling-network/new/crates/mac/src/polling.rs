//! A polling medium: a coordinator asks its stations in turn.
//!
//! A visit to a station is a poll, which carries the first packet that waits for the station, the first packet that the station
//! has, and an acknowledgement: the contention-free period of IEEE 802.11-2012 section 9.4, without its beacons, its
//! interframe spaces (part of the times here) and its errors. Where nothing waits anywhere the coordinator goes on polling.

use crate::error::{MeshError, out_of_range};
use crossfade_core::SimTime;
use crossfade_link::{
    Departure, Fabric, LinkEvent, LinkReport, LinkStatistics, Occupancy, Parcel, Port, Push, QueueLimit,
};
use std::collections::VecDeque;

/// Largest number of stations of a coordinator.
pub const MOST_STATIONS: usize = 1000;

/// Everything about a polling medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollingConfig {
    /// Number of stations.
    pub stations: usize,
    /// Bit rate of packets in bit/s.
    pub rate_bps: f64,
    /// Duration of a poll without a packet.
    pub poll: SimTime,
    /// Duration of the acknowledgement that ends a visit.
    pub ack: SimTime,
    /// Limit of each queue: every station has one, and one at the coordinator.
    pub queue: Option<QueueLimit>,
}

impl PollingConfig {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// Not 1 to [`MOST_STATIONS`] stations, a rate that is not positive, visits without an end, a queue for nothing.
    pub fn check(&self) -> Result<(), MeshError> {
        if !(1..=MOST_STATIONS).contains(&self.stations) {
            return out_of_range("stations", self.stations, format!("between 1 and {MOST_STATIONS}"));
        }
        if !(self.rate_bps > 0.0 && self.rate_bps.is_finite()) {
            return out_of_range("rate", self.rate_bps, "above 0 bit/s");
        }
        let times = SimTime::from_micros(1)..=SimTime::from_millis(1000);
        if !times.contains(&self.poll.saturating_add(self.ack)) {
            return out_of_range("poll", self.poll, "with ack between 1 us and 1 s");
        }
        if self.queue.is_some_and(|limit| !limit.admits(0, 0, 1)) {
            return out_of_range("queue", "0", "at least one packet");
        }
        Ok(())
    }

    /// Duration of a visit in which packets of these sizes in bytes are sent.
    pub fn visit(&self, bytes: &[u32]) -> SimTime {
        let packets = bytes.iter().map(|&bytes| SimTime::to_transmit(bytes, self.rate_bps));
        packets.fold(self.poll + self.ack, SimTime::saturating_add)
    }
}

/// Packets that wait, each since a time.
#[derive(Default)]
struct Queue {
    packets: VecDeque<(SimTime, Parcel)>,
    bytes: u64,
}

/// A coordinator, port 0, and its stations, from port 1 on. It carries packets between these, both ways.
pub struct Polling {
    config: PollingConfig,
    /// Queues of each station, towards it and from it.
    queues: Vec<[Queue; 2]>,
    /// Packets in all queues.
    waiting: usize,
    /// When the next visit begins, and to which station.
    next: (SimTime, usize),
    /// Packets of the visit under way, in order of time.
    sent: VecDeque<(SimTime, Port, Parcel)>,
    statistics: LinkStatistics,
    busy: SimTime,
}

/// Port of the coordinator.
const COORDINATOR: Port = 0;

impl Polling {
    /// A medium in which nothing has been sent.
    ///
    /// # Errors
    /// A configuration that cannot be ([`PollingConfig::check`]).
    pub fn new(config: PollingConfig) -> Result<Self, MeshError> {
        config.check()?;
        Ok(Self {
            queues: (0..config.stations).map(|_| Default::default()).collect(),
            waiting: 0,
            next: (SimTime::ZERO, 0),
            sent: VecDeque::new(),
            statistics: LinkStatistics::default(),
            busy: SimTime::ZERO,
            config,
        })
    }

    /// Visits in which nothing is sent pass until `now`: the next one begins then or later.
    fn pass(&mut self, now: SimTime) {
        let (begin, station) = self.next;
        let visit = self.config.poll + self.config.ack;
        let visits = now.saturating_sub(begin).as_nanos().div_ceil(visit.as_nanos());
        let station = (station as u64 + visits) % self.config.stations as u64;
        self.next = (begin + visit * visits, station as usize);
    }

    /// A visit: its packets leave their queues, and are under way until they have been sent.
    fn visit(&mut self) {
        let (mut at, station) = self.next;
        at += self.config.poll;
        for (queue, port) in self.queues[station].iter_mut().zip([station as Port + 1, COORDINATOR]) {
            let Some((since, parcel)) = queue.packets.pop_front() else { continue };
            queue.bytes -= u64::from(parcel.bytes());
            self.waiting -= 1;
            let time = SimTime::to_transmit(parcel.bytes(), self.config.rate_bps);
            self.statistics.on_transmission(parcel.bytes(), at - since);
            at += time;
            self.busy += time;
            self.sent.push_back((at, port, parcel));
        }
        self.next = (at + self.config.ack, (station + 1) % self.config.stations);
    }
}

impl Fabric for Polling {
    fn ports(&self) -> Port {
        self.config.stations as Port + 1
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        let (station, way) = match (from, to) {
            (COORDINATOR, 1..) => (to as usize - 1, 0),
            (1.., COORDINATOR) => (from as usize - 1, 1),
            _ => return Push::Lost,
        };
        let Some(queue) = self.queues.get_mut(station).map(|both| &mut both[way]) else { return Push::Lost };
        let limit = self.config.queue;
        if limit.is_some_and(|limit| !limit.admits(queue.packets.len(), queue.bytes, parcel.bytes())) {
            self.statistics.queue_drops += 1;
            return Push::QueueDrop;
        }
        queue.packets.push_back((now, parcel));
        queue.bytes += u64::from(parcel.bytes());
        self.waiting += 1;
        if self.waiting == 1 {
            self.pass(now);
        }
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        let left = self.sent.front().map(|(at, ..)| *at);
        left.or((self.waiting > 0).then_some(self.next.0))
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some(&(at, port, parcel)) = self.sent.front() {
                if at > now {
                    return None;
                }
                self.sent.pop_front();
                self.statistics.on_arrival(parcel.bytes());
                return Some((port, Departure::Arrived(parcel)));
            }
            if self.waiting == 0 || self.next.0 > now {
                return None;
            }
            self.visit();
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let mut statistics = self.statistics.clone();
        let queues = || self.queues.iter().flatten().flat_map(|queue| &queue.packets);
        statistics.add_waits(queues().map(|(since, _)| now.saturating_sub(*since)));
        let unsent = queues().map(|(_, parcel)| *parcel).collect();
        let sent = self.sent.iter().map(|(.., parcel)| *parcel).collect();
        LinkReport { unsent, sent, ..LinkReport::new(now, statistics, Occupancy::Time(self.busy)) }
    }

    fn trace(&mut self, _keep: bool) {}

    fn next_trace(&mut self) -> Option<LinkEvent> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: SimTime = SimTime::from_micros(1);

    /// 3 stations, packets of 125 bytes in 100 us, polls of 20 us, acknowledgements of 10 us.
    fn polling(queue: Option<QueueLimit>) -> Polling {
        Polling::new(PollingConfig { stations: 3, rate_bps: 1e7, poll: US * 20, ack: US * 10, queue })
            .unwrap()
    }

    fn push(polling: &mut Polling, now: SimTime, from: Port, to: Port, id: u32) -> Push {
        polling.push(now, from, to, Parcel::new(id, 0, 125))
    }

    fn left(polling: &mut Polling) -> Vec<(SimTime, Port, u32)> {
        let mut left = Vec::new();
        while let Some(now) = polling.next_event() {
            while let Some((port, departure)) = polling.advance(now) {
                left.push((now, port, departure.parcel().id()));
            }
        }
        left
    }

    #[test]
    fn stations_are_visited_in_turn() {
        let mut polling = polling(None);
        for (id, (from, to)) in (0..).zip([(2, 0), (0, 2), (1, 0), (3, 0), (1, 0)]) {
            assert_eq!(push(&mut polling, SimTime::ZERO, from, to, id), Push::Accepted);
        }
        // Station 1 from 0 on, 2 from 130 us on, there and back, 3 from 360 us on, then 1 again from 490 us on.
        let expected = [(120, 0, 2), (250, 2, 1), (350, 0, 0), (480, 0, 3), (610, 0, 4)];
        assert_eq!(left(&mut polling), expected.map(|(us, port, id)| (US * us, port, id)));
        // It polls on: at 5 ms 144 visits of 30 us have passed since 620 us, and one more begins at 5.03 ms: to station 1 + 1.
        push(&mut polling, US * 5000, 2, 0, 9);
        let visits = (5000_u64 - 620).div_ceil(30);
        let until = 1 + visits % 3;
        let wait = if until == 1 { 0 } else { 3 - (until - 1) };
        assert_eq!(left(&mut polling), [(US * (620 + 30 * (visits + wait) + 120), 0, 9)]);
    }

    #[test]
    fn queues_are_limited_and_ports_are_checked() {
        let mut polling = polling(Some(QueueLimit::Packets(1)));
        let now = SimTime::ZERO;
        assert_eq!(push(&mut polling, now, 1, 0, 0), Push::Accepted);
        assert_eq!(push(&mut polling, now, 1, 0, 1), Push::QueueDrop);
        assert_eq!(
            [(1, 2), (0, 4), (4, 0), (0, 0)].map(|(a, b)| push(&mut polling, now, a, b, 2)),
            [Push::Lost; 4]
        );
        assert_eq!((polling.report(now).unsent.len(), polling.report(now).statistics.queue_drops), (1, 1));
    }
}
