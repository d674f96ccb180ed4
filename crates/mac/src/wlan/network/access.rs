//! Access to a channel: contention, collisions within a node, continuation of transmission opportunities, and wake-up
//! of other links.

use super::Wlan;
use super::flight::{Flight, Phase};
use crossfade_core::SimTime;

impl Wlan {
    /// Lets a contender, which may have a packet since now, contend on a link.
    pub(super) fn wake_on(&mut self, link: usize, contender: usize) {
        if self.airs[link].ready[contender].is_none() && self.has_work(link, contender) {
            let now = self.now;
            self.airs[link].wake(contender, now);
        }
    }

    /// Lets all stations contend on the other links, as an acknowledgement on `link` may have made room in a window.
    pub(super) fn wake_others(&mut self, link: usize) {
        for other in (0..self.airs.len()).filter(|other| *other != link) {
            for contender in 0..(self.stations.len() + 1) * self.categories() {
                self.wake_on(other, contender);
            }
        }
    }

    /// Begins the exchanges that are due at `now` on a link; several collide.
    pub(super) fn begin(&mut self, link: usize, now: SimTime) {
        let mut senders = std::mem::take(&mut self.senders);
        senders.clear();
        let air = &self.airs[link];
        for (contender, since) in air.ready.iter().enumerate() {
            if let Some(since) = *since
                && air.contest.access(contender, since) == now
            {
                senders.push(contender);
            }
        }
        let categories = self.categories();
        let nodes = (self.stations.len() + 1) * categories;
        // Of the categories of one node the first transmits; the others have lost an internal collision.
        let node = |contender: usize| if contender < nodes { contender / categories } else { contender };
        let mut flights: Vec<Flight> = Vec::new();
        let mut losers = Vec::new();
        let mut holder = None;
        for &contender in &senders {
            if flights.iter().any(|flight| node(flight.contender) == node(contender)) {
                losers.push(contender);
                continue;
            }
            let txop = self.config.categories.get(contender % categories).map(|category| category.txop);
            let txop = txop.filter(|txop| contender < nodes && *txop > SimTime::ZERO);
            if let Some(flight) = self.compose(link, contender, now, txop, true) {
                holder = txop.map(|txop| now + txop);
                flights.push(flight);
            } else {
                // The queue has dropped all waiting packets.
                self.airs[link].ready[contender] =
                    self.has_work(link, contender).then_some(now + SimTime::from_nanos(1));
            }
        }
        if flights.is_empty() {
            self.senders = senders;
            self.airs[link].look_ahead();
            return;
        }
        senders.retain(|contender| {
            losers.contains(contender) || flights.iter().any(|flight| flight.contender == *contender)
        });
        self.airs[link].contest.begin(now, &senders);
        self.senders = senders;
        for loser in losers {
            self.airs[link].contest.fail(loser);
        }
        self.airs[link].opportunity = None;
        if flights.len() == 1
            && let Some(flight) = flights.pop()
        {
            self.airs[link].opportunity = holder;
            self.start(flight);
        } else {
            self.collide(now, flights);
        }
    }

    /// Begins an exchange without a collision.
    pub(super) fn start(&mut self, flight: Flight) {
        if flight.shared.is_some() {
            self.start_shared(flight);
            return;
        }
        let link = flight.link;
        if self.has_single_radios && !self.start_of_radio(&flight) {
            self.go_unanswered(flight);
            return;
        }
        // Only at the end of an initial control frame it is certain that the station answers.
        if let Some(way) = flight.way
            && flight.ahead.is_some_and(|ahead| !ahead.is_initial)
        {
            self.show_ahead(&flight, way);
        }
        self.airs[link].phase = Phase::Data(flight.begins + flight.lasts, flight);
    }

    /// Continues a transmission opportunity after an exchange; returns false if its holder has no time or no packet
    /// left.
    pub(super) fn go_on(&mut self, link: usize, now: SimTime, contender: usize) -> bool {
        let air = &self.airs[link];
        let Some(until) = air.opportunity else { return false };
        let at = now + air.band().sifs();
        if until <= at || !self.has_work(link, contender) {
            return false;
        }
        let Some(flight) = self.compose(link, contender, at, Some(until - at), false) else { return false };
        if flight.begins + flight.lasts > until {
            // A BAR that does not fit stays due.
            return false;
        }
        self.start(flight);
        true
    }

    pub(super) fn idle(&mut self, link: usize, now: SimTime) {
        let air = &mut self.airs[link];
        air.phase = Phase::Idle;
        air.opportunity = None;
        air.contest.end(now);
        for neighbour in &mut air.neighbours {
            neighbour.come(now);
        }
        for contender in 0..self.airs[link].ready.len() {
            let has_work = self.has_work(link, contender);
            let ready = &mut self.airs[link].ready[contender];
            *ready = has_work.then(|| ready.unwrap_or(now));
        }
        self.airs[link].look_ahead();
    }

    /// Records packets of neighbouring networks that have arrived by `now`.
    pub(super) fn come(&mut self, link: usize, now: SimTime) {
        let first = (self.stations.len() + 1) * self.categories();
        for number in 0..self.airs[link].neighbours.len() {
            let neighbour = &mut self.airs[link].neighbours[number];
            if neighbour.next_event().is_some_and(|at| at <= now) {
                neighbour.come(now);
                self.wake_on(link, first + number);
            }
        }
    }
}
