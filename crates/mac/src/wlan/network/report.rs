//! Report of a network's counters, and of the packets inside it.

use super::{DOWN, Wlan};
use crossfade_core::SimTime;
use crossfade_link::{LinkReport, LinkStatistics, Occupancy, StationStatistics};

impl Wlan {
    pub(super) fn direction(&self, now: SimTime, direction: usize) -> LinkReport {
        let (mut stations, mut unsent, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        let mut waits = Vec::new();
        for station in 0..self.stations.len() {
            let mut all = StationStatistics::default();
            for category in 0..self.categories() {
                let way = &self.ways[self.way(direction, station, category)];
                let mut of = way.statistics[0].clone();
                way.statistics[1..].iter().for_each(|other| of.add(other));
                way.backlog.each(|waiting| {
                    unsent.push(waiting.packet);
                    waits.push(now.saturating_sub(waiting.since));
                });
                of.packets.add_waits(waits.drain(..));
                of.packets.ecn_marks = way.backlog.queue.ecn_marks();
                way.recipient.each(|come| sent.push(come.parcel));
                // An MPDU that its recipient no longer waits for is still in flight, though it will be late.
                way.originator.each(|number, sending| {
                    if !way.recipient.has(number) {
                        sent.push(sending.parcel);
                    }
                });
                all.add(&of);
            }
            stations.push(all);
        }
        let (mut packets, mut mpdus) =
            (LinkStatistics::default(), crossfade_link::arq::ArqStatistics::default());
        for station in &stations {
            packets.add(&station.packets);
            mpdus.add(&station.mpdus);
        }
        if direction == DOWN {
            for (_, waiting) in self.fifos.iter().flatten() {
                unsent.push(waiting.packet);
                packets.waiting_s += now.saturating_sub(waiting.since).as_secs_f64();
            }
        }
        let links = self.airs.len();
        let busy = Occupancy::Time(SimTime::from_nanos(self.busy[direction].as_nanos() / links as u64));
        let mut by_link = Vec::new();
        if !self.config.links.is_empty() {
            by_link = vec![StationStatistics::default(); links];
            let first = self.way(direction, 0, 0);
            for way in &self.ways[first..first + self.stations.len() * self.categories()] {
                by_link.iter_mut().zip(&way.statistics).for_each(|(all, of)| all.add(of));
            }
        }
        LinkReport {
            stations,
            by_link,
            frames: Some(mpdus),
            unsent,
            sent,
            ..LinkReport::new(now, packets, busy)
        }
    }
}
