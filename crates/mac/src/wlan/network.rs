//! The fabric: an access point and its stations in one air, in which all hear all.
//!
//! An exchange is one event at its beginning, one when its data have been read, and one at its end. What is read is delivered
//! at the end of the data; what failed goes back to its sender at the end of the answer. Two that begin at one boundary
//! collide, and nothing of either is read.

use super::ampdu::{Ampdu, AmpduLimits, MPDU_OVERHEAD};
use super::edca::{BEST_EFFORT, BlockAckFrame, Contest, EDCA, SLOT};
use super::modes::{Durations, Mode};
use super::originator::{Originator, Settled, Transmit, on_air};
use super::recipient::Recipient;
use crate::error::{MeshError, out_of_range};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::{
    Departure, Fabric, LinkEvent, LinkReport, LinkStatistics, Occupancy, Parcel, Port, Push, QueueConfig,
    QueueDiscipline, QueueLimit, UserStatistics, Waiting,
};
use rand::RngExt;
use std::collections::VecDeque;

/// A station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationConfig {
    /// How data are sent to it and from it.
    pub mode: Mode,
    /// Of the MPDUs that collide with nothing, the share that is not read.
    pub mpdu_error_rate: f64,
}

/// What waits at the access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessPointQueues {
    /// A queue for each station.
    PerStation {
        /// Stations have equal shares of the air, whatever they send in it; otherwise equal numbers of transmissions.
        airtime_fairness: bool,
    },
    /// One for all, before a driver that holds [`DRIVER_PACKETS`].
    OneFifo(QueueLimit),
}

/// Packets that the driver of a box with one FIFO holds.
pub const DRIVER_PACKETS: usize = 128;

/// Airtime that a station may use in its turn, as Linux weighs one by default.
const QUANTUM_NS: i64 = 256_000;
/// How often a BAR is sent before what is in flight counts as lost.
const BARS: u32 = 7;

/// Everything about an access point and its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanConfig {
    /// The stations, behind ports from 1 on.
    pub stations: Vec<StationConfig>,
    /// What aggregates have at most.
    pub limits: AmpduLimits,
    /// Attempts at an MPDU; none is without limit.
    pub attempts: Option<u32>,
    /// Whether RTS and CTS go first.
    pub rts: bool,
    /// Whether a missed block acknowledgement is asked for with a BAR, or the MPDUs are sent again.
    pub asks: bool,
    /// The queue of each station, and of the access point for each.
    pub queue: QueueConfig,
    /// What waits at the access point.
    pub access_point: AccessPointQueues,
}

/// A queue whose head can be looked at.
struct Backlog {
    queue: Box<dyn QueueDiscipline + Send>,
    head: Option<Waiting>,
}

impl Backlog {
    fn new(config: QueueConfig, draws: Stream) -> Result<Self, MeshError> {
        match config.build(draws) {
            Ok(queue) => Ok(Self { queue, head: None }),
            Err(error) => out_of_range(error.parameter, error.value, error.allowed.into_owned()),
        }
    }

    fn packets(&self) -> usize {
        self.queue.packets() + usize::from(self.head.is_some())
    }

    fn take(&mut self, now: SimTime, most: u32, dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        if self.head.is_none() {
            self.head = self.queue.dequeue(now, dropped);
        }
        let fits = |head: &Waiting| (head.packet.bytes() + MPDU_OVERHEAD).next_multiple_of(4) <= most;
        self.head.take_if(|head| fits(head))
    }

    fn each(&self, mut visit: impl FnMut(&Waiting)) {
        self.head.iter().for_each(&mut visit);
        self.queue.each(&mut visit);
    }
}

/// To one station, or from it.
struct Way {
    mode: Mode,
    mpdu_error_rate: f64,
    errors: Stream,
    backlog: Backlog,
    originator: Originator<Parcel>,
    recipient: Recipient<Parcel>,
    bars: u32,
    statistics: UserStatistics,
}

impl Way {
    /// The queue has dropped these.
    fn drop_all(&mut self, now: SimTime, dropped: &[Waiting], mut leave: impl FnMut(Parcel)) {
        for waiting in dropped {
            self.statistics.packets.queue_drops += 1;
            self.statistics.packets.waiting_s += (now - waiting.since).as_secs_f64();
            leave(waiting.packet);
        }
    }

    fn transmit(&self) -> Option<Transmit> {
        self.originator.poll_transmit(self.backlog.packets() > 0)
    }
}

/// A frame, or an aggregate, in the air.
struct Flight {
    contender: usize,
    way: usize,
    /// MPDUs with their numbers, and whether each is read; none of a BAR.
    mpdus: Vec<(u64, Parcel, bool)>,
    /// The number in a BAR.
    bar: Option<u64>,
    lasts: SimTime,
}

enum Phase {
    Idle,
    Data(SimTime, Flight),
    Answer(SimTime, Flight),
    Missed(SimTime, Vec<Flight>),
}

/// An access point, port 0, and its stations, from port 1 on. It carries packets between these, both ways, and reports what went to
/// the stations, with what came from them as [`LinkReport::back`].
pub struct Wlan {
    config: WlanConfig,
    /// To the stations, then from them.
    ways: Vec<Way>,
    /// The access point, then the stations.
    contest: Contest,
    /// Since when each of them has something to send.
    ready: Vec<Option<SimTime>>,
    /// Stations in the order of their turns, and the airtime that each has left, in nanoseconds.
    turns: VecDeque<usize>,
    deficits: Vec<i64>,
    airtime: Vec<SimTime>,
    fifo: VecDeque<Waiting>,
    fifo_bytes: u64,
    phase: Phase,
    departures: VecDeque<(Port, Departure)>,
    busy: [SimTime; 2],
    now: SimTime,
}

/// Where the access point is.
const ACCESS_POINT: usize = 0;

const RTS_BYTES: u32 = 20;
/// Of a CTS, and of an acknowledgement, for which who did not understand waits.
const ANSWER_BYTES: u32 = 14;
const BAR_BYTES: u32 = 24;

/// How long RTS and CTS take before data.
fn ahead(data: Mode) -> SimTime {
    let control = data.control();
    let [rts, cts] = [RTS_BYTES, ANSWER_BYTES].map(|bytes| control.ppdu(bytes, Durations::Standard));
    rts + cts + control.band().sifs() * 2
}

impl Wlan {
    /// An air in which nothing has been sent. Streams are named `wlan.contention`, and `wlan.dl.N` and `wlan.ul.N` of station N.
    ///
    /// # Errors
    /// No stations or more than 1000, error rates outside 0 to 1, limits beyond the standard of a station, a queue that cannot be.
    pub fn new(config: WlanConfig, seed: RunSeed) -> Result<Self, MeshError> {
        let count = config.stations.len();
        if !(1..=1000).contains(&count) {
            return out_of_range("stations", count, "between 1 and 1000");
        }
        if config.attempts == Some(0) {
            return out_of_range("retries", 0, "at least 1 attempt");
        }
        let mut ways = Vec::new();
        for direction in ["dl", "ul"] {
            for (number, station) in config.stations.iter().enumerate() {
                if !(0.0..=1.0).contains(&station.mpdu_error_rate) {
                    return out_of_range("mpdu_error_rate", station.mpdu_error_rate, "between 0 and 1");
                }
                config.limits.check(station.mode.standard())?;
                let stream = |what: &str| seed.stream(&format!("wlan.{direction}.{number}{what}"));
                ways.push(Way {
                    mode: station.mode,
                    mpdu_error_rate: station.mpdu_error_rate,
                    errors: stream(""),
                    backlog: Backlog::new(config.queue, stream(".queue"))?,
                    originator: Originator::new(config.limits.window, config.attempts),
                    recipient: Recipient::new(config.limits.window, None),
                    bars: 0,
                    statistics: UserStatistics::default(),
                });
            }
        }
        let band = config.stations[0].mode.band();
        let categories = vec![EDCA[BEST_EFFORT]; count + 1];
        Ok(Self {
            ways,
            contest: Contest::new(band, categories, seed.stream("wlan.contention")),
            ready: vec![None; count + 1],
            turns: (0..count).collect(),
            deficits: vec![QUANTUM_NS; count],
            airtime: vec![SimTime::ZERO; count],
            fifo: VecDeque::new(),
            fifo_bytes: 0,
            phase: Phase::Idle,
            departures: VecDeque::new(),
            busy: [SimTime::ZERO; 2],
            now: SimTime::ZERO,
            config,
        })
    }

    /// How long each station has sent or been sent to, answers included.
    pub fn airtime(&self) -> &[SimTime] {
        &self.airtime
    }

    fn stations(&self) -> usize {
        self.config.stations.len()
    }

    /// The port at which packets of a way come out.
    fn port(&self, way: usize) -> Port {
        if way < self.stations() { way as Port + 1 } else { ACCESS_POINT as Port }
    }

    fn has_work(&self, contender: usize) -> bool {
        let ways = match contender {
            ACCESS_POINT => 0..self.stations(),
            _ => self.stations() + contender - 1..self.stations() + contender,
        };
        self.ways[ways].iter().any(|way| way.transmit().is_some())
    }

    /// A contender may have something to send since now.
    fn wake(&mut self, contender: usize) {
        if self.ready[contender].is_none() && self.has_work(contender) {
            self.ready[contender] = Some(self.now);
            if !matches!(self.phase, Phase::Idle) {
                self.contest.arrive(contender);
            }
        }
    }

    /// When the next exchange begins, if there is something to send.
    fn access(&self) -> Option<SimTime> {
        let at =
            |(contender, since): (usize, &Option<SimTime>)| Some(self.contest.access(contender, (*since)?));
        self.ready.iter().enumerate().filter_map(at).min()
    }

    /// The station whose turn it is at the access point.
    fn turn(&mut self) -> usize {
        let is_fair =
            matches!(self.config.access_point, AccessPointQueues::PerStation { airtime_fairness: true });
        loop {
            let station = self.turns[0];
            if self.ways[station].transmit().is_some() {
                if !is_fair || self.deficits[station] > 0 {
                    return station;
                }
                self.deficits[station] += QUANTUM_NS;
            }
            self.turns.rotate_left(1);
        }
    }

    /// What a contender sends at `now`, if it does.
    fn compose(&mut self, contender: usize, now: SimTime) -> Option<Flight> {
        let number = match contender {
            ACCESS_POINT => self.turn(),
            _ => self.stations() + contender - 1,
        };
        let port = self.port(number);
        let Self { ways, departures, config, .. } = self;
        let way = &mut ways[number];
        if let Some(Transmit::Bar(start)) = way.transmit() {
            let lasts = way.mode.control().ppdu(BAR_BYTES, Durations::Standard);
            return Some(Flight { contender, way: number, mpdus: Vec::new(), bar: Some(start), lasts });
        }
        let Way { mode, mpdu_error_rate, errors, backlog, originator, statistics, .. } = way;
        let (mut ampdu, mut mpdus, mut dropped) =
            (Ampdu::new(*mode, &config.limits, None), Vec::new(), Vec::new());
        let UserStatistics { packets, arq, .. } = statistics;
        let source = |room| {
            let waiting = backlog.take(now, room, &mut dropped)?;
            packets.on_transmission(waiting.packet.bytes(), now - waiting.since);
            Some((waiting.packet.bytes() + MPDU_OVERHEAD, waiting.packet))
        };
        originator.compose(&mut ampdu, source, |number, &parcel, before| {
            if before == 0 {
                arq.frames += 1;
            } else {
                arq.retransmissions += 1;
            }
            mpdus.push((number, parcel, errors.random::<f64>() >= *mpdu_error_rate));
        });
        let lasts = ampdu.duration();
        way.drop_all(now, &dropped, |parcel| departures.push_back((port, Departure::QueueDrop(parcel))));
        (!mpdus.is_empty()).then_some(Flight { contender, way: number, mpdus, bar: None, lasts })
    }

    /// Exchanges begin at `now`.
    fn begin(&mut self, now: SimTime) {
        let begins = |(contender, since): (usize, &Option<SimTime>)| {
            (self.contest.access(contender, (*since)?) == now).then_some(contender)
        };
        let senders: Vec<usize> = self.ready.iter().enumerate().filter_map(begins).collect();
        let mut flights: Vec<Flight> =
            senders.iter().filter_map(|&contender| self.compose(contender, now)).collect();
        for &contender in &senders {
            if !flights.iter().any(|flight| flight.contender == contender) {
                // All that waited was dropped.
                self.ready[contender] = self.has_work(contender).then_some(now + SimTime::from_nanos(1));
            }
        }
        let contenders: Vec<usize> = flights.iter().map(|flight| flight.contender).collect();
        if flights.is_empty() {
            return;
        }
        self.contest.begin(now, &contenders);
        if flights.len() == 1
            && let Some(flight) = flights.pop()
        {
            let before = if self.config.rts { ahead(self.ways[flight.way].mode) } else { SimTime::ZERO };
            self.phase = Phase::Data(now + before + flight.lasts, flight);
        } else {
            let mut longest = SimTime::ZERO;
            for flight in &mut flights {
                flight.mpdus.iter_mut().for_each(|(.., is_read)| *is_read = false);
                let control = self.ways[flight.way].mode.control();
                let sent =
                    if self.config.rts { control.ppdu(RTS_BYTES, Durations::Standard) } else { flight.lasts };
                longest = longest.max(sent);
                self.spend(flight.way, sent);
            }
            let mode = self.ways[flights[0].way].mode;
            let extended =
                mode.band().sifs() + mode.slowest_control().ppdu(ANSWER_BYTES, Durations::Standard);
            self.phase = Phase::Missed(now + longest + extended, flights);
        }
    }

    /// Counts airtime of a way, against its station.
    fn spend(&mut self, way: usize, time: SimTime) {
        let station = way % self.stations();
        self.airtime[station] += time;
        self.deficits[station] -= time.as_nanos().cast_signed();
        self.busy[usize::from(way >= self.stations())] += time;
    }

    /// The data have been sent to their end.
    fn read(&mut self, now: SimTime, flight: Flight) {
        let port = self.port(flight.way);
        let way = &mut self.ways[flight.way];
        let mut released = Vec::new();
        let mut is_heard = flight.bar.is_some();
        if let Some(start) = flight.bar {
            way.recipient.on_bar(on_air(start), &mut released);
        }
        for &(number, parcel, is_read) in &flight.mpdus {
            if is_read {
                is_heard = true;
                way.recipient.on_mpdu(now, on_air(number), parcel, &mut released);
            } else {
                way.statistics.arq.frame_errors += 1;
            }
        }
        for parcel in released {
            way.statistics.packets.on_arrival(parcel.bytes());
            self.departures.push_back((port, Departure::Arrived(parcel)));
        }
        let (mode, sifs) = (way.mode, way.mode.band().sifs());
        if is_heard {
            let answer = sifs + BlockAckFrame::of_window(self.config.limits.window).duration(mode);
            self.spend(flight.way, flight.lasts + answer);
            self.phase = Phase::Answer(now + answer, flight);
        } else {
            self.spend(flight.way, flight.lasts);
            let timeout = sifs + SLOT + mode.slowest_control().preamble(Durations::Standard);
            self.phase = Phase::Missed(now + timeout, vec![flight]);
        }
    }

    /// An exchange has ended, with an answer or without.
    fn settle(&mut self, flight: &Flight, is_answered: bool) {
        let port = self.port(flight.way);
        let asks = self.config.asks;
        let way = &mut self.ways[flight.way];
        let mut settled = Settled::default();
        if is_answered {
            way.bars = 0;
            let recipient = &way.recipient;
            way.originator.on_block_ack(|number| recipient.has(number), &mut settled);
            self.contest.succeed(flight.contender);
        } else {
            way.bars += 1;
            if flight.bar.is_none() && !asks || way.bars > BARS {
                way.bars = 0;
                way.originator.on_silence(&mut settled);
            } else {
                way.originator.on_timeout();
            }
            self.contest.fail(flight.contender);
        }
        way.statistics.arq.frames_delivered += settled.delivered.len() as u64;
        for (number, parcel) in settled.given_up {
            way.statistics.arq.frames_lost += 1;
            // Only the answers may have been lost.
            if !way.recipient.has(number) {
                way.statistics.packets.losses += 1;
                self.departures.push_back((port, Departure::Lost(parcel)));
            }
        }
        if flight.contender == ACCESS_POINT {
            let is_fair =
                matches!(self.config.access_point, AccessPointQueues::PerStation { airtime_fairness: true });
            if !is_fair {
                self.turns.rotate_left(1);
            }
            self.refill();
        }
    }

    /// The driver takes what it has room for from the one FIFO.
    fn refill(&mut self) {
        let AccessPointQueues::OneFifo(_) = self.config.access_point else { return };
        let stations = self.stations();
        let held = |ways: &[Way]| ways.iter().map(|way| way.backlog.packets()).sum::<usize>();
        let mut room = DRIVER_PACKETS.saturating_sub(held(&self.ways[..stations]));
        while room > 0
            && let Some(waiting) = self.fifo.pop_front()
        {
            self.fifo_bytes -= u64::from(waiting.packet.bytes());
            room -= 1;
            let (station, packet) = (usize::from(waiting.packet.user()), waiting.packet);
            // A driver's queue of its own length turns nothing away.
            let _ = self.ways[station].backlog.queue.enqueue(waiting.since, packet, &mut Vec::new());
        }
    }

    fn idle(&mut self, now: SimTime) {
        self.phase = Phase::Idle;
        self.contest.end(now);
        for contender in 0..self.ready.len() {
            self.ready[contender] = self.has_work(contender).then(|| self.ready[contender].unwrap_or(now));
        }
    }

    fn direction(&mut self, now: SimTime, from: usize) -> LinkReport {
        let ways = &self.ways[from..from + self.stations()];
        let (mut users, mut unsent, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        let mut statistics = LinkStatistics::default();
        for way in ways {
            let mut user = way.statistics.clone();
            let mut waits = Vec::new();
            way.backlog.each(|waiting| {
                unsent.push(waiting.packet);
                waits.push(now.saturating_sub(waiting.since));
            });
            user.packets.add_waits(waits);
            user.packets.ecn_marks = way.backlog.queue.ecn_marks();
            way.recipient.each(|parcel| sent.push(*parcel));
            let start = way.recipient.start();
            way.originator.each(|number, parcel| {
                if number >= start && !way.recipient.has(number) {
                    sent.push(*parcel);
                }
            });
            statistics.add(&user.packets);
            users.push(user);
        }
        if from == 0 {
            unsent.extend(self.fifo.iter().map(|waiting| waiting.packet));
            let waits = self.fifo.iter().map(|waiting| now.saturating_sub(waiting.since).as_secs_f64());
            statistics.waiting_s += waits.sum::<f64>();
        }
        let busy = self.busy[usize::from(from > 0)];
        LinkReport { users, unsent, sent, ..LinkReport::new(now, statistics, Occupancy::Time(busy)) }
    }
}

impl Fabric for Wlan {
    fn ports(&self) -> Port {
        self.stations() as Port + 1
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        let (station, contender, base) = match (from, to) {
            (0, 1..) => (to as usize - 1, ACCESS_POINT, 0),
            (1.., 0) => (from as usize - 1, from as usize, self.stations()),
            _ => return Push::Lost,
        };
        if station >= self.stations() {
            return Push::Lost;
        }
        let (now, number) = (self.now, base + station);
        let port = self.port(number);
        if let (0, AccessPointQueues::OneFifo(limit)) = (base, self.config.access_point) {
            if !limit.admits(self.fifo.len(), self.fifo_bytes, parcel.bytes()) {
                self.ways[number].statistics.packets.queue_drops += 1;
                return Push::QueueDrop;
            }
            self.fifo_bytes += u64::from(parcel.bytes());
            self.fifo.push_back(Waiting { since: now, packet: parcel.with_user(station as u16) });
            self.refill();
        } else {
            let (way, mut dropped) = (&mut self.ways[number], Vec::new());
            let outcome = way.backlog.queue.enqueue(now, parcel, &mut dropped);
            way.drop_all(now, &dropped, |parcel| {
                self.departures.push_back((port, Departure::QueueDrop(parcel)));
            });
            if outcome.is_err() {
                way.statistics.packets.queue_drops += 1;
                return Push::QueueDrop;
            }
        }
        self.wake(contender);
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        if !self.departures.is_empty() {
            return Some(self.now);
        }
        match &self.phase {
            Phase::Idle => self.access(),
            Phase::Data(at, _) | Phase::Answer(at, _) | Phase::Missed(at, _) => Some(*at),
        }
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some(departure) = self.departures.pop_front() {
                return Some(departure);
            }
            let at = self.next_event().filter(|at| *at <= now)?;
            self.now = self.now.max(at);
            match std::mem::replace(&mut self.phase, Phase::Idle) {
                Phase::Idle => self.begin(at),
                Phase::Data(_, flight) => self.read(at, flight),
                Phase::Answer(_, flight) => {
                    self.settle(&flight, true);
                    self.idle(at);
                }
                Phase::Missed(_, flights) => {
                    for flight in &flights {
                        self.settle(flight, false);
                    }
                    self.idle(at);
                }
            }
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let back = self.direction(now, self.stations());
        LinkReport { back: Some(Box::new(back)), ..self.direction(now, 0) }
    }

    fn trace(&mut self, _keep: bool) {}

    fn next_trace(&mut self) -> Option<LinkEvent> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::modes::{Band, Standard};
    use super::super::saturation::{Form, Saturated};
    use super::*;
    use crossfade_link::FqCoDelConfig;
    use proptest::prelude::*;

    const SEED: RunSeed = RunSeed { seed: 5, run: 0 };
    const LIMIT: QueueConfig = QueueConfig::DropTail(Some(QueueLimit::Packets(2000)));

    fn he(mcs: u8, width: u16) -> Mode {
        Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width, 800).unwrap()
    }

    fn config(modes: &[Mode], p: f64, window: u32) -> WlanConfig {
        let station = |&mode: &Mode| StationConfig { mode, mpdu_error_rate: p };
        WlanConfig {
            stations: modes.iter().map(station).collect(),
            limits: AmpduLimits { window, ..AmpduLimits::of(modes[0].standard()) },
            attempts: None,
            rts: false,
            asks: false,
            queue: LIMIT,
            access_point: AccessPointQueues::PerStation { airtime_fairness: true },
        }
    }

    /// Keeps so many packets under way from port to port; the bits of payload that arrived in a second, by station.
    fn saturate(wlan: &mut Wlan, ends: &[(Port, Port)], seconds: u64) -> Vec<f64> {
        let mut arrived = vec![0_u64; wlan.stations()];
        for &(from, to) in ends {
            for id in 0..600 {
                assert_eq!(
                    wlan.push(SimTime::ZERO, from, to, Parcel::new(id, from.max(to), 1500)),
                    Push::Accepted
                );
            }
        }
        let end = SimTime::from_millis(1000 * seconds);
        while let Some(now) = wlan.next_event().filter(|now| *now < end) {
            while let Some((port, departure)) = wlan.advance(now) {
                let Departure::Arrived(parcel) = departure else { panic!("{departure:?}") };
                let (from, to) = if port == 0 { (parcel.flow(), 0) } else { (0, port) };
                arrived[from.max(to) as usize - 1] += 1;
                wlan.push(now, from, to, parcel);
            }
        }
        arrived.iter().map(|&packets| packets as f64 * 1472.0 * 8.0 / seconds as f64).collect()
    }

    #[test]
    fn one_station_is_the_closed_form() {
        for (mode, window, expected) in [
            (he(7, 20), 64, 78.9),
            (he(4, 80), 64, 195.2),
            (he(11, 80), 64, 495.3),
            (he(11, 160), 256, 1058.2),
        ] {
            let mut wlan = Wlan::new(config(&[mode], 0.0, window), SEED).unwrap();
            let found = saturate(&mut wlan, &[(0, 1)], 4)[0] / 1e6;
            assert!((found / expected - 1.0).abs() < 0.006, "{mode:?}: {found} for {expected}");
        }
    }

    /// Saturated uplinks: within 1 % of Bianchi with aggregates, to 20 stations.
    #[test]
    fn saturated_stations_are_those_of_the_closed_form() {
        for (mode, packets) in [(he(7, 20), 37), (he(11, 80), 64)] {
            for stations in [1, 2, 5, 10, 20] {
                let mut ampdu = Ampdu::new(mode, &AmpduLimits::of(Standard::Ax), None);
                (0..packets).for_each(|_| assert!(ampdu.push(1538)));
                let around = ampdu.duration() + SimTime::from_micros(16 + 43);
                let saturated = Saturated {
                    stations,
                    windows: [15, 1023],
                    slot_s: 9e-6,
                    success_s: (around + SimTime::from_micros(32)).as_secs_f64(),
                    collision_s: (around + SimTime::from_micros(44)).as_secs_f64(),
                    packets,
                    bits: f64::from(packets) * 1472.0 * 8.0,
                };
                let expected = saturated.throughput(Form::Plain).unwrap().throughput_bps;
                let mut wlan = Wlan::new(config(&vec![mode; stations], 0.0, 64), SEED).unwrap();
                let ends: Vec<(Port, Port)> = (1..=stations as Port).map(|port| (port, 0)).collect();
                let found: f64 = saturate(&mut wlan, &ends, 10 + 6 * stations as u64).iter().sum();
                assert!(
                    (found / expected - 1.0).abs() < 0.01,
                    "{mode:?}, {stations}: {found} for {expected}"
                );
            }
        }
    }

    /// Two fast stations and a slow one: by airtime each has a third of the air.
    #[test]
    fn airtime_is_shared_whatever_the_rates() {
        let modes = [he(7, 20), he(7, 20), he(0, 20)];
        let mut wlan = Wlan::new(config(&modes, 0.0, 64), SEED).unwrap();
        saturate(&mut wlan, &[(0, 1), (0, 2), (0, 3)], 10);
        let total: SimTime = wlan.airtime().iter().copied().sum();
        for airtime in wlan.airtime() {
            let share = airtime.as_secs_f64() / total.as_secs_f64();
            assert!((share - 1.0 / 3.0).abs() < 0.01, "{share}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let good = config(&[he(7, 20)], 0.0, 64);
        let said = |config| Wlan::new(config, SEED).err().unwrap().to_string();
        assert_eq!(
            said(WlanConfig { stations: Vec::new(), ..good.clone() }),
            "stations = 0: must be between 1 and 1000"
        );
        assert!(said(config(&[he(7, 20)], 1.5, 64)).starts_with("mpdu_error_rate = 1.5: must be"));
        assert!(said(config(&[he(7, 20)], 0.0, 257)).starts_with("window = 257: must be"));
        let queue = QueueConfig::FqCoDel(FqCoDelConfig { quantum: 1, ..FqCoDelConfig::default() });
        assert!(said(WlanConfig { queue, ..good }).starts_with("quantum"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Whatever is pushed, when and where: every packet leaves once, those of a way in order, and none is lost unless given up.
        #[test]
        fn packets_are_conserved_and_stay_in_order(
            pushes in prop::collection::vec((0_u64..3000, 1_u32..4, any::<bool>(), 40_u32..1500), 1..1500),
            p in 0.0_f64..0.7,
            attempts in prop::option::of(1_u32..5),
            (rts, asks, fifo) in any::<(bool, bool, bool)>(),
        ) {
            let mut config = config(&[he(7, 20), he(0, 20), he(11, 20)], p, 64);
            config.attempts = attempts;
            (config.rts, config.asks) = (rts, asks);
            if fifo {
                config.access_point = AccessPointQueues::OneFifo(QueueLimit::Packets(200));
            }
            let mut wlan = Wlan::new(config, SEED).unwrap();
            let (mut now, mut refused, mut left) = (SimTime::ZERO, 0, Vec::new());
            let drain = |wlan: &mut Wlan, until: SimTime, left: &mut Vec<(Port, Departure)>| {
                while let Some(at) = wlan.next_event().filter(|at| *at <= until) {
                    while let Some(departure) = wlan.advance(at) {
                        left.push(departure);
                    }
                }
            };
            for (id, &(wait, station, is_down, bytes)) in (0..).zip(&pushes) {
                now += SimTime::from_micros(wait / 30);
                drain(&mut wlan, now, &mut left);
                let (from, to) = if is_down { (0, station) } else { (station, 0) };
                refused += usize::from(wlan.push(now, from, to, Parcel::new(id, station, bytes)) != Push::Accepted);
            }
            let report = wlan.report(now);
            let back = report.back.as_ref().unwrap();
            let inside = report.unsent.len() + report.sent.len() + back.unsent.len() + back.sent.len();
            prop_assert_eq!(left.len() + refused + inside, pushes.len());
            drain(&mut wlan, SimTime::from_millis(3_600_000), &mut left);
            prop_assert_eq!(left.len() + refused, pushes.len());
            let mut ids: Vec<u32> = left.iter().map(|(_, departure)| departure.parcel().id()).collect();
            for station in 1..4 {
                for is_down in [true, false] {
                    let of_way = left.iter().filter(|(port, departure)| {
                        departure.parcel().flow() == station && (*port != 0) == is_down && matches!(departure, Departure::Arrived(_))
                    });
                    let ids: Vec<u32> = of_way.map(|(_, departure)| departure.parcel().id()).collect();
                    prop_assert!(ids.is_sorted(), "in order");
                }
            }
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), left.len(), "once each");
            if attempts.is_none() {
                prop_assert!(left.iter().all(|(_, departure)| matches!(departure, Departure::Arrived(_))));
            }
        }
    }
}
