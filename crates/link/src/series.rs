//! Several links in series.

use crate::event::{EventLog, LinkEvent};
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crossfade_core::SimTime;

/// Links in series as one link: a packet that comes out of one link enters the next at the same instant.
pub struct Series {
    links: Vec<Box<dyn Link + Send>>,
    /// Events of all links, in order of time.
    log: EventLog,
}

impl Series {
    /// Creates a series of `links`, in the order in which packets traverse them.
    ///
    /// # Panics
    /// If `links` is empty.
    pub fn new(links: Vec<Box<dyn Link + Send>>) -> Self {
        assert!(!links.is_empty(), "a series has at least one link");
        Self { links, log: EventLog::default() }
    }

    /// Time of the earliest event of all links, and the index of its link; at equal times the last link, whose
    /// departures make room for packets of those before.
    fn next(&self) -> Option<(SimTime, usize)> {
        let events = self.links.iter().enumerate().rev();
        events.filter_map(|(i, link)| Some((link.next_event()?, i))).min_by_key(|&(at, _)| at)
    }
}

impl Link for Series {
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        self.links[0].push(now, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        self.next().map(|(at, _)| at)
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        while let Some((at, i)) = self.next().filter(|&(at, _)| at <= now) {
            let Some(departure) = self.links[i].advance(at) else { continue };
            let (Departure::Arrived(parcel), Some(next)) = (departure, self.links.get_mut(i + 1)) else {
                return Some(departure);
            };
            match next.push(at, parcel) {
                Push::Accepted => {}
                Push::Lost => return Some(Departure::Lost(parcel)),
                Push::QueueDrop => return Some(Departure::QueueDrop(parcel)),
            }
        }
        None
    }

    /// Report of the series: packets sent on the first link, arrivals at the last, losses, drops and marks on any;
    /// frames and occupancy are those of the last link.
    fn report(&mut self, now: SimTime) -> LinkReport {
        let mut reports = self.links.iter_mut().map(|link| link.report(now));
        let first = reports.next().expect("a series has at least one link");
        reports.fold(first, |whole, mut link| {
            let (before, this) = (whole.statistics, &mut link.statistics);
            this.transmissions = before.transmissions;
            this.transmitted_bytes = before.transmitted_bytes;
            this.losses += before.losses;
            this.queue_drops += before.queue_drops;
            this.ecn_marks += before.ecn_marks;
            this.waiting_s += before.waiting_s;
            this.queueing_delay_s += before.queueing_delay_s;
            // The series has sent a packet once its last link has.
            link.unsent.extend(whole.unsent.into_iter().chain(whole.sent));
            link.waiting = whole.waiting.zip(link.waiting).map(|(before, this)| before + this);
            link
        })
    }

    fn trace(&mut self, keep: bool) {
        self.links.iter_mut().for_each(|link| link.trace(keep));
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.links.iter_mut().for_each(|link| self.log.take_over(|| link.next_trace()));
        self.log.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkConfig;
    use crate::limit::QueueLimit;
    use crate::queue::QueueConfig;
    use crate::testing::{EveryThird, plain};
    use crossfade_channel::{LossProcess, Lossless};
    use crossfade_core::RunSeed;

    const MS: SimTime = SimTime::from_millis(1);

    /// Hop on which 1000 bytes take `millis` milliseconds to send.
    fn hop(millis: u32, limit: Option<QueueLimit>, loss: Box<dyn LossProcess>) -> Box<dyn Link + Send> {
        let rate_bps = Some(8e6 / f64::from(millis));
        let (queue, draws) = (QueueConfig::DropTail(limit), RunSeed { seed: 1, run: 0 }.stream("queue.dl"));
        LinkConfig { rate_bps, delay: MS, queue, draws, loss }.build().unwrap()
    }

    #[test]
    fn packets_take_one_link_after_the_other() {
        let narrow = Some(QueueLimit::Packets(1));
        let fast = hop(1, None, Box::new(EveryThird(Vec::new())));
        let mut series = Series::new(vec![fast, hop(4, narrow, Box::new(Lossless))]);
        assert!((0..7).all(|id| series.push(SimTime::ZERO, plain(id, 1000)) == Push::Accepted));
        let mut left = Vec::new();
        while let Some(at) = series.next_event() {
            while let Some(departure) = series.advance(at) {
                left.push((at / MS, departure));
            }
        }
        // Sent by the first link, and lost, at 1, 4 and 7 ms. Out of it at 3, 4, 6, 7 ms; the second sends from 3 to 7
        // and then from 7 to 11, and one waits.
        let lost = |id| Departure::Lost(plain(id, 1000));
        let arrived = |id| Departure::Arrived(plain(id, 1000));
        let dropped = |id| Departure::QueueDrop(plain(id, 1000));
        let losses = [(1, lost(0)), (4, lost(3)), (7, lost(6))];
        let expected = [
            losses[0],
            losses[1],
            (6, dropped(4)),
            losses[2],
            (8, arrived(1)),
            (12, arrived(2)),
            (16, arrived(5)),
        ];
        assert_eq!(left, expected);
        let report = series.report(MS * 20);
        let found = report.statistics;
        assert_eq!((found.transmissions, found.losses, found.queue_drops, found.arrivals), (7, 3, 1, 3));
    }
    /// Events of all links come in order of time. Packets take 1 ms on the first link and 4 ms on the second, with a
    /// delay of 1 ms behind each. Two packets are sent at 0 and 1 ms on the first, at 2 and 6 ms on the second; a
    /// third, pushed at 5 ms, is sent at 5 and 10 ms.
    #[test]
    fn events_of_all_links_come_in_order_of_time() {
        let link = |millis| hop(millis, None, Box::new(Lossless));
        let mut series = Series::new(vec![link(1), link(4)]);
        series.trace(true);
        for (id, at) in [(0, 0), (1, 0), (2, 5)] {
            while series.next_event().is_some_and(|next| next <= MS * at) {
                series.advance(MS * at);
            }
            assert_eq!(series.push(MS * at, plain(id, 1000)), Push::Accepted);
        }
        while let Some(at) = series.next_event() {
            series.advance(at);
        }
        // New values are not kept; earlier ones stay.
        series.trace(false);
        series.push(MS * 50, plain(3, 1000));
        let frames = std::iter::from_fn(|| series.next_trace()).filter_map(|event| match event {
            LinkEvent::Frame { at, frame, .. } => Some((at / MS, frame)),
            _ => None,
        });
        assert_eq!(frames.collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 0), (5, 2), (6, 1), (10, 2)]);
    }
}
