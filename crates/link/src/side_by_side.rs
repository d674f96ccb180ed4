//! Independent links side by side, one for each user.

use crate::event::{EventLog, LinkEvent};
use crate::fabric::{Fabric, Port};
use crate::link::{Departure, Link, Push};
use crate::occupancy::Occupancy;
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crate::statistics::LinkStatistics;
use crossfade_core::SimTime;

/// Fabric of n independent links, one for each user: a packet that enters at port i comes out at port n + i. Its report
/// is the sum over the links.
#[derive(Clone, Debug)]
pub struct SideBySide<L> {
    links: Vec<L>,
    /// Time of each link's next event.
    next: Vec<SimTime>,
    /// Events of all links, in order of time.
    log: EventLog,
}

impl<L: Link> SideBySide<L> {
    /// Creates a fabric of the given links, one for each user.
    pub fn new(links: Vec<L>) -> Self {
        let next = links.iter().map(|link| link.next_event().unwrap_or(SimTime::MAX)).collect();
        Self { links, next, log: EventLog::default() }
    }

    fn refresh(&mut self, link: usize) {
        self.next[link] = self.links[link].next_event().unwrap_or(SimTime::MAX);
    }
}

impl<L: Link> Fabric for SideBySide<L> {
    fn ports(&self) -> Port {
        2 * self.links.len() as Port
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        let link = from as usize;
        if link >= self.links.len() || to as usize != self.links.len() + link {
            return Push::Lost;
        }
        let pushed = self.links[link].push(now, parcel);
        self.refresh(link);
        pushed
    }

    fn next_event(&self) -> Option<SimTime> {
        self.next.iter().copied().min().filter(|at| *at < SimTime::MAX)
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            let (link, at) = self.next.iter().copied().enumerate().min_by_key(|(_, at)| *at)?;
            if at > now || at == SimTime::MAX {
                return None;
            }
            // Advance only to the link's own event, so that departures of all links come in order.
            let departure = self.links[link].advance(at);
            self.refresh(link);
            if let Some(departure) = departure {
                return Some(((self.links.len() + link) as Port, departure));
            }
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let (mut statistics, mut unsent, mut sent) = (LinkStatistics::default(), Vec::new(), Vec::new());
        for link in &mut self.links {
            let report = link.report(now);
            statistics.add(&report.statistics);
            unsent.extend(report.unsent);
            sent.extend(report.sent);
        }
        LinkReport { unsent, sent, ..LinkReport::new(now, statistics, Occupancy::None) }
    }

    fn trace(&mut self, keep: bool) {
        for link in &mut self.links {
            link.trace(keep);
        }
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.links.iter_mut().for_each(|link| self.log.take_over(|| link.next_trace()));
        self.log.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::{Hop, HopConfig};
    use crossfade_channel::Lossless;

    fn hop(rate_bps: f64) -> Hop {
        let (delay, loss) = (SimTime::ZERO, Box::new(Lossless));
        Hop::new(HopConfig { rate_bps: Some(rate_bps), delay, queue_limit: None, loss })
    }

    #[test]
    fn each_user_has_a_link_and_departures_come_in_order() {
        // 10 bytes: 80 ms and 20 ms.
        let mut links = SideBySide::new(vec![hop(1e3), hop(4e3)]);
        assert_eq!((links.ports(), links.next_event()), (4, None));
        assert_eq!(links.push(SimTime::ZERO, 0, 2, Parcel::new(1, 0, 10)), Push::Accepted);
        for id in 2..4 {
            assert_eq!(links.push(SimTime::ZERO, 1, 3, Parcel::new(id, 0, 10)), Push::Accepted);
        }
        assert_eq!(links.push(SimTime::ZERO, 0, 3, Parcel::new(9, 0, 10)), Push::Lost);
        let end = SimTime::from_millis(100);
        let left: Vec<(Port, u32)> = std::iter::from_fn(|| links.advance(end))
            .map(|(port, departure)| (port, departure.parcel().id()))
            .collect();
        assert_eq!(left, [(3, 2), (3, 3), (2, 1)]);
        let counts = links.report(end).statistics;
        assert_eq!((counts.transmissions, counts.arrivals), (3, 3));
    }
    /// Events of all links come in order of time. Each of two links sends two packets, of 80 ms each from 0 ms on and
    /// of 20 ms each from 10 ms on: they begin at 0 and 80 ms, and at 10 and 30 ms.
    #[test]
    fn events_of_all_links_come_in_order_of_time() {
        let ms = SimTime::from_millis;
        let mut links = SideBySide::new(vec![hop(1e3), hop(4e3)]);
        links.trace(true);
        for (user, at) in [(0, 0), (0, 0), (1, 10), (1, 10)] {
            links.push(ms(at), user, 2 + user, Parcel::new(0, 0, 10).with_user(user as u16));
        }
        while links.advance(ms(200)).is_some() {}
        let frames = std::iter::from_fn(|| links.next_trace()).filter_map(|event| match event {
            LinkEvent::Frame { at, user, frame, .. } => Some((at / ms(1), user, frame)),
            _ => None,
        });
        assert_eq!(frames.collect::<Vec<_>>(), [(0, 0, 0), (10, 1, 0), (30, 1, 1), (80, 0, 1)]);
    }
}
