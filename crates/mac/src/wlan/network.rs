//! The fabric: an access point and its stations in one air, in which all hear all.
//!
//! An exchange is one event at its beginning, one when its data have been read, and one at its end. What is read is delivered
//! at the end of the data; what failed goes back to its sender at the end of the answer. Two that begin at one boundary
//! collide, and nothing of either is read.

mod compose;
mod flight;
mod hearing;
mod outcome;
mod report;
mod shared;
mod shared_air;
mod trace;

use self::flight::{Flight, Mpdu, Phase};
use super::access_point::Turns;
use super::ampdu::AmpduLimits;
use super::config::{AccessPointQueues, WlanConfig, mpdu_overhead};
use super::edca::{BEST_EFFORT, BlockAckFrame, Contest, EDCA};
use super::exchange::{ANSWER_BYTES, RTS_BYTES};
use super::modes::{Band, Durations, Mode};
use super::neighbour::Neighbour;
use super::originator::{Originator, Settled};
use super::rate::RateControl;
use super::reception::Reception;
use super::recipient::Recipient;
use super::way::{Backlog, Sending, Way};
use crate::error::MeshError;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{
    Departure, EventLog, Fabric, LinkEvent, LinkReport, Parcel, Port, Ppdu, Push, StationStatistics, Waiting,
};
use std::collections::VecDeque;

/// How often a BAR is sent before what is in flight counts as lost.
const BARS: u32 = 7;

const BAR_BYTES: u32 = 24;

/// What both ends of a station have in common.
struct Station {
    modes: Vec<Mode>,
    overhead: u32,
    limits: AmpduLimits,
    reception: Reception,
    /// Rate control of the access point for this station, and the station's own.
    rates: [RateControl; 2],
    answer_bytes: u32,
    /// How long its answers last, by the place of the mode of the data.
    answers: Vec<SimTime>,
}

/// An access point, port 0, and its stations. Port 1 + n K + c is that of station n for category c of K. It carries packets between
/// these, both ways, and reports what went to the stations, with what came from them as [`LinkReport::back`].
pub struct Wlan {
    config: WlanConfig,
    stations: Vec<Station>,
    /// By direction (to the stations, from them), station and category.
    ways: Vec<Way>,
    /// By node (the access point first) and category; then the neighbours.
    contest: Contest,
    /// Since when each of them has something to send.
    ready: Vec<Option<SimTime>>,
    neighbours: Vec<Neighbour>,
    /// By category.
    turns: Vec<Turns>,
    /// By category, the first station that the next trigger asks, and whether the access point has asked last.
    asked: Vec<usize>,
    has_asked: Vec<bool>,
    /// What waits in the one FIFO of each category, with its way.
    fifos: Vec<VecDeque<(usize, Waiting)>>,
    fifo_bytes: Vec<u64>,
    /// The airtime that the driver holds, of each station and category and of all, and its packets by category.
    held_ns: Vec<u64>,
    all_held_ns: u64,
    held_packets: Vec<usize>,
    phase: Phase,
    /// Until when the holder of the air may go on, if it may.
    opportunity: Option<SimTime>,
    /// When the next exchange begins, as long as nothing comes.
    access: Option<SimTime>,
    /// When the first recipient passes over a missing MPDU.
    passes_at: Option<SimTime>,
    departures: VecDeque<(Port, Departure)>,
    busy: [SimTime; 2],
    now: SimTime,
    logs: [EventLog; 2],
    /// PPDUs, if a radio listens.
    heard: Option<VecDeque<Ppdu>>,
    /// Frames of each node in the air so far.
    frames: Vec<u64>,
    /// Room that is used again.
    released: Vec<(SimTime, Parcel)>,
    settled: Settled<Sending>,
    dropped: Vec<Waiting>,
    senders: Vec<usize>,
    spare: Vec<Vec<Mpdu>>,
}

/// Where the access point is.
const ACCESS_POINT: usize = 0;
/// Directions.
const DOWN: usize = 0;
const UP: usize = 1;

impl Wlan {
    /// An air in which nothing has been sent. Streams are named `wlan.contention`, `wlan.neighbour.N`, and `wlan.dl.N.C` and
    /// `wlan.ul.N.C` of station N and category C.
    ///
    /// # Errors
    /// What [`WlanConfig::check`] refuses, a queue that cannot be, a channel that cannot be, a mode without error rates.
    pub fn new(config: WlanConfig, seed: RunSeed) -> Result<Self, MeshError> {
        config.check()?;
        let (count, categories) = (config.stations.len(), config.categories.len());
        let (is_fair, has_driver) = match config.access_point {
            AccessPointQueues::PerStation { airtime_fairness, aql } => (airtime_fairness, aql.is_some()),
            AccessPointQueues::OneFifo(_) => (false, true),
        };
        let (mut stations, mut ways) = (Vec::new(), Vec::new());
        for (number, station) in config.stations.iter().enumerate() {
            let control = |direction: &str| {
                RateControl::new(station, seed.stream(&format!("wlan.rate.{direction}.{number}")))
            };
            let answer_bytes = match station.limits.window {
                1 => ANSWER_BYTES,
                window => BlockAckFrame::of_window(window).bytes,
            };
            let answer = |mode: &Mode| mode.control().ppdu(answer_bytes, Durations::Standard);
            stations.push(Station {
                overhead: mpdu_overhead(station.modes[0].standard()),
                limits: station.limits,
                reception: Reception::new(number, station, &config.radio, seed)?,
                rates: [control("dl"), control("ul")],
                answer_bytes,
                answers: station.modes.iter().map(answer).collect(),
                modes: station.modes.clone(),
            });
        }
        for (direction, name) in ["dl", "ul"].into_iter().enumerate() {
            for (number, station) in config.stations.iter().enumerate() {
                for category in 0..categories {
                    let stream = |what: &str| seed.stream(&format!("wlan.{name}.{number}.{category}{what}"));
                    let has_driver = direction == DOWN && has_driver;
                    ways.push(Way {
                        backlog: Backlog::new(config.queue, has_driver, stream(".queue"))?,
                        originator: Originator::new(station.limits.window, config.attempts),
                        recipient: Recipient::new(station.limits.window, config.reorder_timeout),
                        passes_at: None,
                        errors: stream(""),
                        bars: 0,
                        statistics: StationStatistics::default(),
                    });
                }
            }
        }
        let band = config.stations[0].modes[0].band();
        let nodes = (0..=count).flat_map(|_| config.categories.iter().copied());
        let others = config.neighbours.map_or(0, |neighbours| neighbours.count);
        let contest = Contest::new(
            band,
            nodes.chain((0..others).map(|_| EDCA[BEST_EFFORT])),
            seed.stream("wlan.contention"),
        );
        let neighbours: Vec<Neighbour> = (0..others)
            .filter_map(|number| {
                Some(Neighbour::new(config.neighbours?, seed.stream(&format!("wlan.neighbour.{number}"))))
            })
            .collect();
        let mut ready = vec![None; (count + 1) * categories];
        ready.extend(neighbours.iter().map(|one| one.has_work().then_some(SimTime::ZERO)));
        let mut new = Self {
            stations,
            ways,
            contest,
            ready,
            neighbours,
            turns: (0..categories).map(|_| Turns::new(count, is_fair)).collect(),
            asked: vec![0; categories],
            has_asked: vec![false; categories],
            fifos: (0..categories).map(|_| VecDeque::new()).collect(),
            fifo_bytes: vec![0; categories],
            held_ns: vec![0; count * categories],
            all_held_ns: 0,
            held_packets: vec![0; categories],
            phase: Phase::Idle,
            opportunity: None,
            access: None,
            passes_at: None,
            departures: VecDeque::new(),
            busy: [SimTime::ZERO; 2],
            now: SimTime::ZERO,
            logs: [EventLog::default(), EventLog::default()],
            heard: None,
            frames: vec![0; count + 1],
            released: Vec::new(),
            settled: Settled::default(),
            dropped: Vec::new(),
            senders: Vec::new(),
            spare: Vec::new(),
            config,
        };
        new.look_ahead();
        Ok(new)
    }

    fn categories(&self) -> usize {
        self.config.categories.len()
    }

    /// The direction, station and category of a way.
    fn place(&self, way: usize) -> (usize, usize, usize) {
        let (stations, categories) = (self.stations.len(), self.categories());
        (way / categories / stations, way / categories % stations, way % categories)
    }

    fn way(&self, direction: usize, station: usize, category: usize) -> usize {
        (direction * self.stations.len() + station) * self.categories() + category
    }

    /// The port at which packets of a way come out.
    fn port(&self, way: usize) -> Port {
        let (direction, station, category) = self.place(way);
        if direction == DOWN { (1 + station * self.categories() + category) as Port } else { 0 }
    }

    fn band(&self) -> Band {
        self.stations[0].modes[0].band()
    }

    fn has_work(&self, contender: usize) -> bool {
        let categories = self.categories();
        let (node, category) = (contender / categories, contender % categories);
        if node == ACCESS_POINT {
            self.has_downlink(category) || self.has_uplink(category)
        } else if node <= self.stations.len() {
            self.ways[self.way(UP, node - 1, category)].transmit().is_some() && self.contends(node - 1)
        } else {
            self.neighbours[contender - (self.stations.len() + 1) * categories].has_work()
        }
    }

    /// A contender may have something to send since now.
    fn wake(&mut self, contender: usize) {
        if self.ready[contender].is_some() || !self.has_work(contender) {
            return;
        }
        self.ready[contender] = Some(self.now);
        if matches!(self.phase, Phase::Idle) {
            let at = self.contest.access(contender, self.now);
            self.access = Some(self.access.map_or(at, |known| known.min(at)));
        } else {
            self.contest.arrive(contender);
        }
    }

    /// Finds when the next exchange begins, if there is something to send.
    fn look_ahead(&mut self) {
        let at =
            |(contender, since): (usize, &Option<SimTime>)| Some(self.contest.access(contender, (*since)?));
        self.access = self.ready.iter().enumerate().filter_map(at).min();
    }

    /// What the queues of the access point have dropped.
    fn drop_all(&mut self, way: usize, now: SimTime) {
        let port = if self.dropped.is_empty() { return } else { self.port(way) };
        let packets = &mut self.ways[way].statistics.packets;
        for waiting in self.dropped.drain(..) {
            packets.queue_drops += 1;
            packets.waiting_s += (now - waiting.since).as_secs_f64();
            self.departures.push_back((port, Departure::QueueDrop(waiting.packet)));
        }
    }

    /// Exchanges begin at `now`.
    fn begin(&mut self, now: SimTime) {
        let mut senders = std::mem::take(&mut self.senders);
        senders.clear();
        for (contender, since) in self.ready.iter().enumerate() {
            if let Some(since) = *since
                && self.contest.access(contender, since) == now
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
            if let Some(flight) = self.compose(contender, now, txop, true) {
                holder = txop.map(|txop| now + txop);
                flights.push(flight);
            } else {
                // All that waited was dropped.
                self.ready[contender] = self.has_work(contender).then_some(now + SimTime::from_nanos(1));
            }
        }
        if flights.is_empty() {
            self.senders = senders;
            self.look_ahead();
            return;
        }
        senders.retain(|contender| {
            losers.contains(contender) || flights.iter().any(|flight| flight.contender == *contender)
        });
        self.contest.begin(now, &senders);
        self.senders = senders;
        for loser in losers {
            self.contest.fail(loser);
        }
        self.opportunity = None;
        if flights.len() == 1
            && let Some(flight) = flights.pop()
        {
            self.opportunity = holder;
            self.start(flight);
        } else {
            self.collide(now, flights);
        }
    }

    /// A flight that is alone in the air.
    fn start(&mut self, flight: Flight) {
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
        self.phase = Phase::Data(flight.begins + flight.lasts, flight);
    }

    /// The holder of an opportunity goes on, if it has time and something to send.
    fn go_on(&mut self, now: SimTime, contender: usize) -> bool {
        let Some(until) = self.opportunity else { return false };
        let at = now + self.band().sifs();
        if until <= at || !self.has_work(contender) {
            return false;
        }
        let Some(flight) = self.compose(contender, at, Some(until - at), false) else { return false };
        if flight.begins + flight.lasts > until {
            // A BAR that does not fit waits: it is as it was.
            return false;
        }
        self.start(flight);
        true
    }

    fn idle(&mut self, now: SimTime) {
        self.phase = Phase::Idle;
        self.opportunity = None;
        self.contest.end(now);
        for neighbour in &mut self.neighbours {
            neighbour.come(now);
        }
        for contender in 0..self.ready.len() {
            let has_work = self.has_work(contender);
            self.ready[contender] = has_work.then(|| self.ready[contender].unwrap_or(now));
        }
        self.look_ahead();
    }

    /// When something begins or ends in the air.
    fn next_on_air(&self) -> Option<SimTime> {
        match &self.phase {
            Phase::Idle => {
                let others = self.neighbours.iter().filter_map(Neighbour::next_event).min();
                self.access.into_iter().chain(others).min()
            }
            Phase::Data(at, _) | Phase::Answer(at, _) | Phase::Missed(at, _) => Some(*at),
        }
    }

    /// Packets of neighbours have come by `now`.
    fn come(&mut self, now: SimTime) {
        let first = (self.stations.len() + 1) * self.categories();
        for number in 0..self.neighbours.len() {
            if self.neighbours[number].next_event().is_some_and(|at| at <= now) {
                self.neighbours[number].come(now);
                self.wake(first + number);
            }
        }
    }
}

/// How long RTS and CTS take before data.
fn ahead(data: Mode) -> SimTime {
    let control = data.control();
    let [rts, cts] = [RTS_BYTES, ANSWER_BYTES].map(|bytes| control.ppdu(bytes, Durations::Standard));
    rts + cts + control.band().sifs() * 2
}

impl Fabric for Wlan {
    fn ports(&self) -> Port {
        (1 + self.stations.len() * self.categories()) as Port
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        let categories = self.categories();
        let (direction, port) = match (from, to) {
            (0, 1..) => (DOWN, to),
            (1.., 0) => (UP, from),
            _ => return Push::Lost,
        };
        let (station, category) = ((port as usize - 1) / categories, (port as usize - 1) % categories);
        if station >= self.stations.len() {
            return Push::Lost;
        }
        let (now, number) = (self.now, self.way(direction, station, category));
        if let (DOWN, AccessPointQueues::OneFifo(limit)) = (direction, self.config.access_point) {
            if !limit.admits(self.fifos[category].len(), self.fifo_bytes[category], parcel.bytes()) {
                self.ways[number].statistics.packets.queue_drops += 1;
                return Push::QueueDrop;
            }
            self.fifo_bytes[category] += u64::from(parcel.bytes());
            self.fifos[category].push_back((number, Waiting { since: now, packet: parcel }));
        } else {
            let outcome = self.ways[number].backlog.queue.enqueue(now, parcel, &mut self.dropped);
            self.drop_all(number, now);
            if outcome.is_err() {
                self.ways[number].statistics.packets.queue_drops += 1;
                return Push::QueueDrop;
            }
        }
        if direction == DOWN {
            self.refill(now, category, Some(station));
            if self.ways[number].backlog.packets() > 0 {
                self.turns[category].enlist(station);
            }
            self.wake(category);
        } else {
            self.wake((station + 1) * categories + category);
            if self.is_triggered(station) {
                self.wake(category);
            }
        }
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        if !self.departures.is_empty() {
            return Some(self.now);
        }
        self.next_on_air().into_iter().chain(self.passes_at).min()
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some(departure) = self.departures.pop_front() {
                return Some(departure);
            }
            let at = self.next_event().filter(|at| *at <= now)?;
            self.now = self.now.max(at);
            // What is read at that time may be what is missing.
            if self.next_on_air() != Some(at) {
                self.pass_over(at);
                continue;
            }
            match std::mem::replace(&mut self.phase, Phase::Idle) {
                Phase::Idle => {
                    if self.access == Some(at) {
                        self.begin(at);
                    } else {
                        self.come(at);
                    }
                }
                Phase::Data(_, flight) => self.read(at, flight),
                Phase::Answer(_, flight) => {
                    let contender = flight.contender;
                    self.settle(at, flight, true);
                    if !self.go_on(at, contender) {
                        self.idle(at);
                    }
                }
                Phase::Missed(_, flights) => {
                    for flight in flights {
                        self.settle(at, flight, false);
                    }
                    self.idle(at);
                }
            }
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let back = self.direction(now, UP);
        LinkReport { back: Some(Box::new(back)), ..self.direction(now, DOWN) }
    }

    fn trace(&mut self, keep: bool) {
        self.logs.iter_mut().for_each(|log| log.keep(keep));
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.logs[DOWN].pop()
    }

    fn next_trace_back(&mut self) -> Option<LinkEvent> {
        self.logs[UP].pop()
    }

    fn listen(&mut self) -> bool {
        self.heard.get_or_insert_default();
        true
    }

    fn next_ppdu(&mut self) -> Option<Ppdu> {
        self.heard.as_mut()?.pop_front()
    }
}
