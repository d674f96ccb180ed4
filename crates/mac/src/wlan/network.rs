//! Wi-Fi network as a fabric: an access point and its stations on one channel on which all hear each other, or on one
//! channel per link.
//!
//! An exchange has three events: its beginning, the end of its data, and its end. Decoded MPDUs are delivered at the
//! end of the data; failed ones return to their sender at the end of the acknowledgement. Exchanges that begin at one
//! slot boundary collide, and none of their frames is decoded.
//!
//! Multi-link devices have a channel per link, on all of which they contend and transmit simultaneously (STR,
//! simultaneous transmit and receive). A link that wins contention takes the next MPDUs of the queue; sequence numbers,
//! window and reorder buffer are common to all links. A station with one radio for its links (EMLSR) has exchanges on
//! one of them at a time.

mod access;
mod air;
mod compose;
mod flight;
mod hearing;
mod outcome;
mod radio_exchanges;
mod report;
mod shared;
mod shared_air;
mod single_radio;
mod trace;

use self::air::{Air, End};
use self::flight::{Mpdu, Phase};
use self::single_radio::SingleRadio;
use super::access_point::Turns;
use super::ampdu::AmpduLimits;
use super::config::{AccessPointQueues, LinkConfig, RadioConfig, WlanConfig, mpdu_overhead};
use super::edca::{ANSWER_BYTES, BlockAckFrame};
use super::originator::{Originator, Settled};
use super::recipient::Recipient;
use super::way::{Backlog, Come, Sending, Way};
use crate::error::MeshError;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{
    Departure, EventLog, Fabric, LinkEvent, LinkReport, Parcel, Port, Ppdu, Push, StationStatistics, Waiting,
};
use std::collections::VecDeque;

/// Number of BARs in a row without an answer after which the MPDUs in flight count as failed.
const BARS: u32 = 7;

const BAR_BYTES: u32 = 24;

/// State of a station and of its connection with the access point.
struct Station {
    overhead: u32,
    limits: AmpduLimits,
    answer_bytes: u32,
    /// State by link; `None` for links that the station does not use.
    ends: Vec<Option<End>>,
    /// State of an EMLSR station's only radio; `None` for other stations.
    radio: Option<Box<SingleRadio>>,
}

impl Station {
    fn uses(&self, link: usize) -> bool {
        self.ends[link].is_some()
    }

    fn end(&self, link: usize) -> &End {
        self.ends[link].as_ref().expect("a link that it uses")
    }

    fn end_mut(&mut self, link: usize) -> &mut End {
        self.ends[link].as_mut().expect("a link that it uses")
    }
}

/// Wi-Fi network of an access point (port 0) and stations. Port 1 + n K + c belongs to station n and category c of K.
/// Packets go between port 0 and the others. The report is that of the downlink, with the uplink in
/// [`LinkReport::back`].
pub struct Wlan {
    config: WlanConfig,
    stations: Vec<Station>,
    /// Traffic by direction (downlink, then uplink), station and category.
    ways: Vec<Way>,
    /// Channels by link.
    airs: Vec<Air>,
    /// Order of stations for the downlink, by category.
    turns: Vec<Turns>,
    /// Packets in the FIFO of each category with the indices of their `ways`, if the access point has one FIFO.
    fifos: Vec<VecDeque<(usize, Waiting)>>,
    fifo_bytes: Vec<u64>,
    /// Airtime in nanoseconds of the packets in the driver by station and category, and in `all_held_ns` of all;
    /// `held_packets` is their number by category.
    held_ns: Vec<u64>,
    all_held_ns: u64,
    held_packets: Vec<usize>,
    /// Earliest time at which a recipient stops waiting for a missing MPDU.
    passes_at: Option<SimTime>,
    /// True if any station has EMLSR; `turns_at` is the earliest time at which one of their radios changes its state.
    has_single_radios: bool,
    turns_at: Option<SimTime>,
    departures: VecDeque<(Port, Departure)>,
    busy: [SimTime; 2],
    now: SimTime,
    logs: [EventLog; 2],
    /// Recorded PPDUs; `None` if no capture is made.
    heard: Option<VecDeque<Ppdu>>,
    /// Number of frames that each node has sent.
    frames: Vec<u64>,
    /// Buffers that are reused to avoid allocations.
    released: Vec<Come>,
    settled: Settled<Sending>,
    dropped: Vec<Waiting>,
    senders: Vec<usize>,
    spare: Vec<Vec<Mpdu>>,
}

/// Node number of the access point.
const ACCESS_POINT: usize = 0;
/// Index of the downlink; `UP` is that of the uplink.
const DOWN: usize = 0;
const UP: usize = 1;

impl Wlan {
    /// Builds the network at time zero. Random streams are named `wlan.contention`, `wlan.neighbour.N`, and
    /// `wlan.dl.N.C` and `wlan.ul.N.C` of station N and category C; for links beyond the first, the number of the link
    /// is appended.
    ///
    /// # Errors
    /// If [`WlanConfig::check`] fails, a queue or channel is invalid, or a mode has no error rates.
    pub fn new(config: WlanConfig, seed: RunSeed) -> Result<Self, MeshError> {
        config.check()?;
        let (count, categories) = (config.stations.len(), config.categories.len());
        let (is_fair, has_driver) = match config.access_point {
            AccessPointQueues::PerStation { airtime_fairness, aql } => (airtime_fairness, aql.is_some()),
            AccessPointQueues::OneFifo(_) => (false, true),
        };
        let only = [LinkConfig {
            stations: config.stations.iter().cloned().map(Some).collect(),
            neighbours: config.neighbours,
            snr_offset_db: 0.0,
        }];
        let links = if config.links.is_empty() { &only[..] } else { &config.links[..] };
        let radio = |link: &LinkConfig| RadioConfig {
            implementation_loss_db: config.radio.implementation_loss_db - link.snr_offset_db,
            ..config.radio.clone()
        };
        let mut stations = Vec::new();
        for (number, station) in config.stations.iter().enumerate() {
            let answer_bytes = match station.limits.window {
                1 => ANSWER_BYTES,
                window => BlockAckFrame::of_window(window).bytes,
            };
            let end = |(link, of): (usize, &LinkConfig)| {
                let station = of.stations[number].as_ref();
                station
                    .map(|station| End::new(number, link, station, answer_bytes, &radio(of), seed))
                    .transpose()
            };
            stations.push(Station {
                overhead: mpdu_overhead(station.modes[0].standard()),
                limits: station.limits,
                answer_bytes,
                ends: links.iter().enumerate().map(end).collect::<Result<_, _>>()?,
                radio: config
                    .emlsr
                    .get(number)
                    .and_then(|of| of.map(|config| Box::new(SingleRadio::new(config)))),
            });
        }
        let mut ways = Vec::new();
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
                        bars: vec![0; links.len()],
                        statistics: vec![StationStatistics::default(); links.len()],
                    });
                }
            }
        }
        let airs = links
            .iter()
            .enumerate()
            .map(|(link, of)| Air::new(link, of, config.backoff, &config.categories, seed))
            .collect();
        Ok(Self {
            stations,
            ways,
            airs,
            turns: (0..categories).map(|_| Turns::new(count, is_fair)).collect(),
            fifos: (0..categories).map(|_| VecDeque::new()).collect(),
            fifo_bytes: vec![0; categories],
            held_ns: vec![0; count * categories],
            all_held_ns: 0,
            held_packets: vec![0; categories],
            passes_at: None,
            has_single_radios: config.emlsr.iter().any(Option::is_some),
            turns_at: None,
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
        })
    }

    fn categories(&self) -> usize {
        self.config.categories.len()
    }

    /// Direction, station and category of an index into `ways`.
    fn place(&self, way: usize) -> (usize, usize, usize) {
        let (stations, categories) = (self.stations.len(), self.categories());
        (way / categories / stations, way / categories % stations, way % categories)
    }

    fn way(&self, direction: usize, station: usize, category: usize) -> usize {
        (direction * self.stations.len() + station) * self.categories() + category
    }

    /// Port at which packets of an index into `ways` leave.
    fn port(&self, way: usize) -> Port {
        let (direction, station, category) = self.place(way);
        if direction == DOWN { (1 + station * self.categories() + category) as Port } else { 0 }
    }

    fn has_work(&self, link: usize, contender: usize) -> bool {
        let categories = self.categories();
        let (node, category) = (contender / categories, contender % categories);
        if node == ACCESS_POINT {
            self.has_downlink(link, category) || self.has_uplink(link, category)
        } else if node <= self.stations.len() {
            let station = node - 1;
            self.stations[station].may_send(link, self.now)
                && self.ways[self.way(UP, station, category)].transmit(link).is_some()
                && self.contends(station)
        } else {
            self.airs[link].neighbours[contender - (self.stations.len() + 1) * categories].has_work()
        }
    }

    /// Lets a contender, which may have a packet since now, contend on every link.
    fn wake(&mut self, contender: usize) {
        for link in 0..self.airs.len() {
            self.wake_on(link, contender);
        }
    }

    /// Reports the packets that a queue of `way` dropped.
    fn drop_all(&mut self, way: usize, now: SimTime) {
        let port = if self.dropped.is_empty() { return } else { self.port(way) };
        let packets = &mut self.ways[way].statistics[0].packets;
        for waiting in self.dropped.drain(..) {
            packets.queue_drops += 1;
            packets.waiting_s += (now - waiting.since).as_secs_f64();
            self.departures.push_back((port, Departure::QueueDrop(waiting.packet)));
        }
    }
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
                self.ways[number].statistics[0].packets.queue_drops += 1;
                return Push::QueueDrop;
            }
            self.fifo_bytes[category] += u64::from(parcel.bytes());
            self.fifos[category].push_back((number, Waiting { since: now, packet: parcel }));
        } else {
            let outcome = self.ways[number].backlog.queue.enqueue(now, parcel, &mut self.dropped);
            self.drop_all(number, now);
            if outcome.is_err() {
                self.ways[number].statistics[0].packets.queue_drops += 1;
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
        self.airs.iter().filter_map(Air::next_event).chain(self.passes_at).chain(self.turns_at).min()
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some(departure) = self.departures.pop_front() {
                return Some(departure);
            }
            let at = self.next_event().filter(|at| *at <= now)?;
            self.now = self.now.max(at);
            if self.turns_at == Some(at) {
                self.turn(at);
                continue;
            }
            // The data decoded at that time may include the missing MPDU, so links come first.
            let Some(link) = self.airs.iter().position(|air| air.next_event() == Some(at)) else {
                self.pass_over(at);
                continue;
            };
            match std::mem::replace(&mut self.airs[link].phase, Phase::Idle) {
                Phase::Idle => {
                    if self.airs[link].access == Some(at) {
                        self.begin(link, at);
                    } else {
                        self.come(link, at);
                    }
                }
                Phase::Data(_, flight) => self.read(at, flight),
                Phase::Answer(_, flight) => {
                    let (contender, way) = (flight.contender, flight.way);
                    self.settle(at, flight, true);
                    let goes_on = self.go_on(link, at, contender);
                    self.part(link, at, way, goes_on);
                    if !goes_on {
                        self.idle(link, at);
                    }
                    self.wake_others(link);
                }
                Phase::Missed(_, flights) => {
                    for flight in flights {
                        let way = flight.way;
                        self.settle(at, flight, false);
                        self.part_unanswered(at, way);
                    }
                    self.idle(link, at);
                    self.wake_others(link);
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
