//! One link: a channel with those that contend for it, and what is in the air of it. A network has one, unless its devices are
//! multi-link devices.

use super::Wlan;
use super::flight::{Flight, Phase};
use crate::error::MeshError;
use crate::wlan::config::{LinkConfig, RadioConfig, StationConfig};
use crate::wlan::edca::{BEST_EFFORT, Category, Contest, EDCA};
use crate::wlan::modes::{Band, Durations, Mode};
use crate::wlan::neighbour::Neighbour;
use crate::wlan::rate::RateControl;
use crate::wlan::reception::Reception;
use crossfade_core::{RunSeed, SimTime};

/// The end of the name of a stream of random numbers: nothing on the first link.
fn ending(link: usize) -> String {
    if link == 0 { String::new() } else { format!(".{link}") }
}

/// A station as it is on one link.
pub(super) struct End {
    pub(super) modes: Vec<Mode>,
    pub(super) reception: Reception,
    /// Rate control of the access point for this station, and the station's own.
    pub(super) rates: [RateControl; 2],
    /// How long its answers last, by the place of the mode of the data.
    pub(super) answers: Vec<SimTime>,
}

impl End {
    pub(super) fn new(
        number: usize,
        link: usize,
        station: &StationConfig,
        answer_bytes: u32,
        radio: &RadioConfig,
        seed: RunSeed,
    ) -> Result<Self, MeshError> {
        let ending = ending(link);
        let control = |direction: &str| {
            RateControl::new(station, seed.stream(&format!("wlan.rate.{direction}.{number}{ending}")))
        };
        let answer = |mode: &Mode| mode.control().ppdu(answer_bytes, Durations::Standard);
        Ok(Self {
            reception: Reception::new(&format!("{number}{ending}"), station, radio, seed)?,
            rates: [control("dl"), control("ul")],
            answers: station.modes.iter().map(answer).collect(),
            modes: station.modes.clone(),
        })
    }
}

/// A channel, and what is in the air of it.
pub(super) struct Air {
    /// The slowest mode of its first station.
    pub(super) mode: Mode,
    /// By node (the access point first) and category; then the neighbours.
    pub(super) contest: Contest,
    /// Since when each of them has something to send.
    pub(super) ready: Vec<Option<SimTime>>,
    pub(super) neighbours: Vec<Neighbour>,
    /// By category, the first station that the next trigger asks, and whether the access point has asked last.
    pub(super) asked: Vec<usize>,
    pub(super) has_asked: Vec<bool>,
    pub(super) phase: Phase,
    /// Until when the holder of the air may go on, if it may.
    opportunity: Option<SimTime>,
    /// When the next exchange begins, as long as nothing comes.
    pub(super) access: Option<SimTime>,
}

impl Air {
    /// An idle one of a network with these categories, which has been checked.
    pub(super) fn new(link: usize, config: &LinkConfig, categories: &[Category], seed: RunSeed) -> Self {
        let nodes = config.stations.len() + 1;
        let contenders = (0..nodes).flat_map(|_| categories.iter().copied());
        let others = config.neighbours.map_or(0, |neighbours| neighbours.count);
        let mode = config.stations.iter().flatten().next().expect("a link that stations use").modes[0];
        let ending = ending(link);
        let contest = Contest::new(
            mode.band(),
            contenders.chain((0..others).map(|_| EDCA[BEST_EFFORT])),
            seed.stream(&format!("wlan.contention{ending}")),
        );
        let neighbours: Vec<Neighbour> = (0..others)
            .filter_map(|number| {
                let stream = seed.stream(&format!("wlan.neighbour.{number}{ending}"));
                Some(Neighbour::new(config.neighbours?, stream))
            })
            .collect();
        let mut ready = vec![None; nodes * categories.len()];
        ready.extend(neighbours.iter().map(|one| one.has_work().then_some(SimTime::ZERO)));
        let mut new = Self {
            mode,
            contest,
            ready,
            neighbours,
            asked: vec![0; categories.len()],
            has_asked: vec![false; categories.len()],
            phase: Phase::Idle,
            opportunity: None,
            access: None,
        };
        new.look_ahead();
        new
    }

    pub(super) fn band(&self) -> Band {
        self.mode.band()
    }

    /// Finds when the next exchange begins, if there is something to send.
    fn look_ahead(&mut self) {
        let at =
            |(contender, since): (usize, &Option<SimTime>)| Some(self.contest.access(contender, (*since)?));
        self.access = self.ready.iter().enumerate().filter_map(at).min();
    }

    /// A contender, which had nothing, has something to send since `now`.
    fn wake(&mut self, contender: usize, now: SimTime) {
        self.ready[contender] = Some(now);
        if matches!(self.phase, Phase::Idle) {
            let at = self.contest.access(contender, now);
            self.access = Some(self.access.map_or(at, |known| known.min(at)));
        } else {
            self.contest.arrive(contender);
        }
    }

    /// When something begins or ends in it.
    pub(super) fn next_event(&self) -> Option<SimTime> {
        match &self.phase {
            Phase::Idle => {
                let others = self.neighbours.iter().filter_map(Neighbour::next_event).min();
                self.access.into_iter().chain(others).min()
            }
            Phase::Data(at, _) | Phase::Answer(at, _) | Phase::Missed(at, _) => Some(*at),
        }
    }
}

impl Wlan {
    /// A contender may have something to send on a link since now.
    pub(super) fn wake_on(&mut self, link: usize, contender: usize) {
        if self.airs[link].ready[contender].is_none() && self.has_work(link, contender) {
            let now = self.now;
            self.airs[link].wake(contender, now);
        }
    }

    /// What has been settled on a link may be sent on the others, and the window may let them go on.
    pub(super) fn wake_others(&mut self, link: usize) {
        for other in (0..self.airs.len()).filter(|other| *other != link) {
            for contender in 0..(self.stations.len() + 1) * self.categories() {
                self.wake_on(other, contender);
            }
        }
    }

    /// Exchanges begin at `now`.
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
        // Of the categories of a node the first goes; the others have lost an internal collision.
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
                // All that waited was dropped.
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

    /// A flight that is alone in the air.
    pub(super) fn start(&mut self, flight: Flight) {
        if flight.shared.is_some() {
            self.start_shared(flight);
            return;
        }
        if let Some(way) = flight.way {
            if self.is_traced() {
                self.trace_ahead(&flight, way);
            }
            if self.is_heard() {
                self.hear_ahead(&flight, way);
            }
        }
        let link = flight.link;
        self.airs[link].phase = Phase::Data(flight.begins + flight.lasts, flight);
    }

    /// The holder of an opportunity goes on, if it has time and something to send.
    pub(super) fn go_on(&mut self, link: usize, now: SimTime, contender: usize) -> bool {
        let air = &self.airs[link];
        let Some(until) = air.opportunity else { return false };
        let at = now + air.band().sifs();
        if until <= at || !self.has_work(link, contender) {
            return false;
        }
        let Some(flight) = self.compose(link, contender, at, Some(until - at), false) else { return false };
        if flight.begins + flight.lasts > until {
            // A BAR that does not fit waits: it is as it was.
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

    /// Packets of neighbours have come by `now`.
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
