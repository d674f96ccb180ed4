//! Multi-user exchanges: participating stations, their data, and the outcome.

use super::compose::Meeting;
use super::flight::{Flight, Phase, Shared};
use super::{BAR_BYTES, DOWN, UP, Wlan};
use crate::wlan::ampdu::subframe_bytes;
use crate::wlan::edca::SLOT;
use crate::wlan::modes::{Durations, Standard};
use crate::wlan::mu::{MuExchange, MuWay};
use crate::wlan::ofdma::{MuAck, OfdmaConfig};
use crate::wlan::originator::Transmit;
use crate::wlan::ru::Ru;
use crossfade_core::SimTime;
use rand::RngExt;

/// Link of a network with OFDMA, which has only one.
pub(super) const ONLY: usize = 0;

impl Shared {
    /// Share of the airtime that a part counts: its RU's share of the data subcarriers.
    fn share(&self, part: usize) -> f64 {
        let tones = |part: usize| self.exchange.modes[part].place.ru.subcarriers() as f64;
        tones(part) / (0..self.ways.len()).map(tones).sum::<f64>()
    }
}

/// Waiting data of a station for a multi-user PPDU.
#[derive(Clone, Copy)]
struct Wanted {
    way: usize,
    station: usize,
    /// Index of the mode, and true if it is a probe.
    rate: (usize, bool),
    bytes: u32,
    /// Transmission time of these bytes over the whole channel, in seconds.
    seconds: f64,
}

impl Flight {
    /// True if the exchange has neither MPDUs nor a BAR of its own.
    pub(super) fn is_empty(&self) -> bool {
        self.mpdus.is_empty() && self.bar.is_none()
    }

    /// True if any part of a multi-user exchange has data or a BAR.
    fn has_data(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.parts.iter().any(|part| !part.is_empty()))
    }
}

impl Wlan {
    /// True if a station can take part in multi-user PPDUs.
    fn is_shareable(&self, station: usize) -> bool {
        let of = &self.stations[station];
        of.end(ONLY).modes[0].standard() >= Standard::Ax
            && of.limits.window > 1
            && self.most_users(station) > 0
    }

    /// Maximum number of stations in a PPDU with the width of this station.
    fn most_users(&self, station: usize) -> usize {
        let width = self.stations[station].end(ONLY).modes[0].width_mhz();
        self.config.ofdma.map_or(0, |ofdma| ofdma.users.min(OfdmaConfig::most_users(ofdma.ru, width)))
    }

    /// True if trigger frames solicit the data of a station.
    pub(super) fn is_triggered(&self, station: usize) -> bool {
        self.config.ofdma.is_some_and(|ofdma| ofdma.uplink) && self.is_shareable(station)
    }

    /// True if a station contends for the channel itself.
    pub(super) fn contends(&self, station: usize) -> bool {
        self.config.ofdma.is_some_and(|ofdma| ofdma.stations_contend) || !self.is_triggered(station)
    }

    /// True if any station that is triggered has data of a category.
    pub(super) fn has_uplink(&self, link: usize, category: usize) -> bool {
        link == ONLY
            && self.config.ofdma.is_some_and(|ofdma| ofdma.uplink)
            && (0..self.stations.len()).any(|station| {
                self.ways[self.way(UP, station, category)].transmit(ONLY).is_some()
                    && self.is_triggered(station)
            })
    }

    /// True if a station can share a PPDU with station `first`: equal standard, width and guard interval.
    fn fits(&self, station: usize, first: usize) -> bool {
        let of = |station: usize| {
            let mode = self.stations[station].end(ONLY).modes[0];
            (mode.standard(), mode.width_mhz(), mode.guard_interval_ns())
        };
        self.is_shareable(station) && of(station) == of(first)
    }

    /// Downlink exchange with several stations including `first`; `None` if no other has data.
    pub(super) fn share_down(
        &mut self,
        link: usize,
        contender: usize,
        first: usize,
        now: SimTime,
        left: Option<SimTime>,
        is_first: bool,
    ) -> Option<Flight> {
        self.config.ofdma.filter(|ofdma| ofdma.downlink && link == ONLY)?;
        let category = contender % self.categories();
        if !self.is_shareable(first) {
            return None;
        }
        let mut stations = vec![first];
        for station in self.turns[category].order() {
            if stations.len() == self.most_users(first) {
                break;
            }
            let has = self.ways[self.way(DOWN, station, category)].transmit(ONLY).is_some();
            if station != first && has && self.fits(station, first) {
                stations.push(station);
            }
        }
        let shared = self.plan(DOWN, &stations, category, now, left, is_first)?;
        let flight = flight(contender, shared, is_first);
        let flight = self.fill(now, flight);
        flight.has_data().then_some(flight)
    }

    /// Uplink exchange that triggers stations with data; `None` without any.
    pub(super) fn share_up(
        &mut self,
        link: usize,
        contender: usize,
        now: SimTime,
        left: Option<SimTime>,
        is_first: bool,
    ) -> Option<Flight> {
        self.config.ofdma.filter(|ofdma| ofdma.uplink && link == ONLY)?;
        let (category, count) = (contender % self.categories(), self.stations.len());
        let mut stations: Vec<usize> = Vec::new();
        for step in 0..count {
            let station = (self.airs[ONLY].asked[category] + step) % count;
            if stations.first().is_some_and(|&first| stations.len() == self.most_users(first)) {
                break;
            }
            let has = self.ways[self.way(UP, station, category)].transmit(ONLY).is_some();
            if has && self.is_triggered(station) && self.fits(station, *stations.first().unwrap_or(&station))
            {
                stations.push(station);
            }
        }
        let shared = self.plan(UP, &stations, category, now, left, is_first)?;
        let last = shared
            .ways
            .iter()
            .map(|&way| self.place(way).1)
            .max_by_key(|&station| (station + count - self.airs[ONLY].asked[category]) % count);
        self.airs[ONLY].asked[category] = last.map_or(0, |last| (last + 1) % count);
        Some(flight(contender, shared, is_first))
    }

    /// Estimated bytes of the next aggregate of an index into `ways`.
    fn waiting_bytes(&self, way: usize, station: usize) -> u32 {
        let (of, overhead) = (&self.ways[way], self.stations[station].overhead);
        if let Some(Transmit::Bar(_)) = of.transmit(ONLY) {
            return subframe_bytes(BAR_BYTES);
        }
        let packets = of.backlog.packets() as u64;
        let new = packets.min(u64::from(of.originator.room()));
        let again = of.originator.first_waiting().map_or(0, subframe_bytes);
        let window = self.stations[station].limits.window;
        let again_bytes = u64::from(again) * u64::from(of.originator.waiting().min(window));
        let bytes = new * u64::from(subframe_bytes(of.mean_bytes() + overhead)) + again_bytes;
        bytes.min(u64::from(self.stations[station].limits.bytes)) as u32
    }

    /// Plans an exchange with as many of these stations, in their order, as can each send a first MPDU in it. Only a
    /// triggered exchange may have a single station.
    ///
    /// The duration of the data is the median of what the stations need, so that few stations pad for the backlog of
    /// others, and at least that of the first MPDU of each. A single station whose first MPDU does not fit into an RU
    /// of the configured size within the longest PPDU of the standard gets a larger RU.
    fn plan(
        &mut self,
        direction: usize,
        stations: &[usize],
        category: usize,
        now: SimTime,
        left: Option<SimTime>,
        is_first: bool,
    ) -> Option<Shared> {
        let ofdma = self.config.ofdma?;
        let mut wanted = Vec::new();
        for &station in stations {
            let way = self.way(direction, station, category);
            let bytes = self.waiting_bytes(way, station);
            let of = self.stations[station].end_mut(ONLY);
            let rate = of.rates[direction].choose(now, &mut of.reception, direction);
            let seconds = f64::from(bytes) / of.modes[rate.0].rate_bps();
            wanted.push(Wanted { way, station, rate, bytes, seconds });
        }
        let least = if direction == DOWN { 2 } else { 1 };
        for count in (least..=wanted.len()).rev() {
            let mut some = wanted[..count].to_vec();
            // The station with most data has the largest RU.
            some.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
            let modes: Vec<_> =
                some.iter().map(|one| self.stations[one.station].end(ONLY).modes[one.rate.0]).collect();
            let answers: Vec<u32> = some.iter().map(|one| self.stations[one.station].answer_bytes).collect();
            let way = if direction == DOWN { MuWay::Down } else { MuWay::Up };
            let width = modes[0].width_mhz();
            let with = |ru| {
                let ofdma = OfdmaConfig { ru, ..ofdma };
                MuExchange::new(&ofdma, way, &modes, &answers, self.config.rts && is_first)
            };
            let mut exchange = with(ofdma.ru);
            let of_limits = some.iter().map(|one| self.stations[one.station].limits.duration).min()?;
            let of_left = left.map(|left| left.saturating_sub(exchange.before + exchange.after));
            let most = exchange.ppdu.symbols_within(of_left.map_or(of_limits, |left| left.min(of_limits)));
            let first = |(place, one): (usize, &Wanted), exchange: &MuExchange| {
                let (of, overhead) = (&self.ways[one.way], self.stations[one.station].overhead);
                let bytes = match of.transmit(ONLY) {
                    Some(Transmit::Bar(_)) => BAR_BYTES,
                    _ => of.first_bytes(overhead).unwrap_or_else(|| of.mean_bytes() + overhead),
                };
                exchange.symbols(place, subframe_bytes(bytes))
            };
            let mut longest_first = some.iter().enumerate().map(|one| first(one, &exchange)).max()?;
            if (longest_first > most || !exchange.is_answerable()) && (count > 1 || !is_first) {
                continue;
            }
            let mut larger = Ru::ALL.into_iter().filter(|ru| Some(*ru) > ofdma.ru && ru.count(width) > 0);
            while !exchange.is_within_longest(longest_first)
                && let Some(ru) = larger.next()
            {
                exchange = with(Some(ru));
                longest_first = first((0, &some[0]), &exchange);
            }
            let mut needs: Vec<u64> =
                some.iter().enumerate().map(|(place, one)| exchange.symbols(place, one.bytes)).collect();
            needs.sort_unstable();
            let symbols = needs[(count - 1) / 2].min(most).max(longest_first);
            return Some(Shared {
                direction,
                exchange,
                at: now,
                ways: some.iter().map(|one| one.way).collect(),
                rates: some.iter().map(|one| one.rate).collect(),
                symbols,
                parts: Vec::new(),
                answered: vec![false; count],
            });
        }
        None
    }

    /// Puts the stations' data into a planned exchange.
    fn fill(&mut self, now: SimTime, mut flight: Flight) -> Flight {
        let Some(mut shared) = flight.shared.take() else { return flight };
        let mut symbols = 0;
        for (place, &number) in shared.ways.iter().enumerate() {
            let (rate, is_probe) = shared.rates[place];
            let (_, station, _) = self.place(number);
            let mut part = Flight {
                link: ONLY,
                contender: flight.contender,
                way: Some(number),
                rate,
                mpdus: self.spare.pop().unwrap_or_default(),
                bar: None,
                ahead: None,
                begins: flight.begins,
                lasts: SimTime::ZERO,
                is_first: flight.is_first,
                is_limited: false,
                shared: None,
            };
            part.mpdus.clear();
            let exchange = &shared.exchange;
            match self.ways[number].transmit(ONLY) {
                Some(Transmit::Bar(start)) => {
                    part.bar = Some(start);
                    self.ways[number].originator.on_bar(ONLY as u8);
                    symbols = symbols.max(exchange.symbols(place, subframe_bytes(BAR_BYTES)));
                }
                Some(Transmit::Ampdu) => {
                    let mut limits = self.stations[station].limits;
                    if is_probe {
                        limits.window = 1;
                    }
                    let mut ampdu = exchange.ampdu(place, &limits, shared.symbols);
                    let preamble = exchange.ppdu.preamble;
                    let rate_bps = exchange.modes[place].rate_bps(&exchange.ppdu);
                    let meets = Meeting { link: ONLY, rate, begins: flight.begins, preamble, rate_bps };
                    part.is_limited = self.load(now, number, &mut ampdu, meets, &mut part.mpdus);
                    if !part.mpdus.is_empty() {
                        symbols = symbols.max(exchange.symbols(place, ampdu.bytes()));
                    }
                }
                None => {}
            }
            shared.parts.push(part);
        }
        flight.lasts = shared.exchange.ppdu.lasts(symbols);
        for part in &mut shared.parts {
            part.lasts = flight.lasts;
        }
        flight.shared = Some(shared);
        flight
    }

    /// Begins a multi-user exchange without a collision.
    pub(super) fn start_shared(&mut self, mut flight: Flight) {
        let Some(shared) = &flight.shared else { return };
        let (direction, at) = (shared.direction, shared.at);
        if direction == UP {
            flight = self.fill(at, flight);
            if !flight.has_data() {
                self.show_first(&flight);
                let until = flight.begins + self.silence();
                self.airs[ONLY].phase = Phase::Missed(until, vec![flight]);
                return;
            }
        }
        self.show_first(&flight);
        self.airs[ONLY].phase = Phase::Data(flight.begins + flight.lasts, flight);
    }

    /// Timeout for a missing acknowledgement.
    fn silence(&self) -> SimTime {
        let slowest = self.airs[ONLY].mode.slowest_control();
        self.airs[ONLY].band().sifs() + SLOT + slowest.preamble(Durations::Standard)
    }

    /// Counts the collision of a multi-user exchange; returns the time that it occupied the channel.
    pub(super) fn collide_shared(&mut self, now: SimTime, shared: &mut Shared) -> SimTime {
        let lasts = shared.parts.first().map_or(SimTime::ZERO, |part| part.lasts);
        let sent = shared.exchange.first.unwrap_or(lasts);
        for place in 0..shared.parts.len() {
            let airtime = SimTime::from_secs_f64(sent.as_secs_f64() * shared.share(place));
            let part = &mut shared.parts[place];
            let Some(way) = part.way.filter(|_| !part.is_empty()) else { continue };
            part.mpdus.iter_mut().for_each(|mpdu| mpdu.is_read = false);
            self.spend(ONLY, way, airtime);
            self.count_collision(way, part);
        }
        if shared.direction == UP {
            self.busy[UP] += sent;
        }
        self.show_collision(now, shared, sent);
        sent
    }

    /// Handles the end of the data of a multi-user exchange: delivers what was decoded, and schedules the
    /// acknowledgements or the timeout.
    pub(super) fn read_shared(&mut self, now: SimTime, mut flight: Flight) {
        let Some(mut shared) = flight.shared.take() else { return };
        let mut is_any = false;
        let (direction, count) = (shared.direction, shared.ways.len());
        let before = flight.begins - shared.at;
        let mut heard = vec![false; count];
        for (place, heard) in heard.iter_mut().enumerate() {
            let part = &shared.parts[place];
            let Some(number) = part.way.filter(|_| !part.is_empty()) else { continue };
            let mut is_heard = self.arrive(now, number, part);
            let (_, station, _) = self.place(number);
            let Self { ways, stations, .. } = self;
            let answer_bytes = stations[station].answer_bytes;
            let (way, of) = (&mut ways[number], stations[station].end_mut(ONLY));
            way.statistics[ONLY].shared_ppdus += u64::from(part.bar.is_none());
            way.statistics[ONLY].sharing_stations += if part.bar.is_none() { count as u64 } else { 0 };
            if direction == DOWN && self.config.ofdma.is_some_and(|ofdma| ofdma.ack == MuAck::MuBar) {
                // A MU-BAR solicits an acknowledgement even if no data were decoded.
                let lost = of.reception.answer(part.rate, now, BAR_BYTES, 1 - direction);
                is_heard = lost <= 0.0 || way.errors.random::<f64>() >= lost;
            }
            let is_answered = is_heard && {
                let lost = of.reception.answer(part.rate, now, answer_bytes, direction);
                lost <= 0.0 || way.errors.random::<f64>() >= lost
            };
            *heard = is_heard;
            shared.answered[place] = is_answered;
            is_any |= is_answered;
        }
        let is_heard = heard.contains(&true);
        let exchange = &shared.exchange;
        let after = if is_heard {
            exchange.after
        } else {
            exchange.asked.map_or(SimTime::ZERO, |_| exchange.answer_at - self.airs[ONLY].band().sifs())
        };
        let total = before + flight.lasts + after;
        for (place, &way) in shared.ways.iter().enumerate() {
            self.spend(ONLY, way, SimTime::from_secs_f64(total.as_secs_f64() * shared.share(place)));
        }
        self.show_shared(now, &shared, &heard);
        self.airs[ONLY].phase = if is_any {
            flight.shared = Some(shared);
            Phase::Answer(now + after, flight)
        } else {
            let until = after.max(if is_heard { SimTime::ZERO } else { after + self.silence() });
            flight.shared = Some(shared);
            Phase::Missed(now + until, vec![flight])
        };
    }

    /// Ends a multi-user exchange, with acknowledgements or without any.
    pub(super) fn settle_shared(&mut self, now: SimTime, flight: &mut Flight, is_answered: bool) {
        let Some(shared) = flight.shared.take() else { return };
        let Shared { parts, answered, .. } = *shared;
        for (part, answered) in parts.into_iter().zip(answered) {
            if part.is_empty() {
                self.spare.push(part.mpdus);
            } else {
                self.settle_way(now, part, is_answered && answered);
            }
        }
        if is_answered {
            self.airs[ONLY].contest.succeed(flight.contender);
        } else if flight.is_first {
            self.airs[ONLY].contest.fail(flight.contender);
        } else {
            self.airs[ONLY].contest.draw(flight.contender);
        }
    }

    /// True if data can be sent to any station in a category on a link.
    pub(super) fn has_downlink(&self, link: usize, category: usize) -> bool {
        let has = |station: usize| {
            self.stations[station].may_be_asked(link, self.now)
                && self.ways[self.way(DOWN, station, category)].transmit(link).is_some()
        };
        self.turns[category].any(has)
    }
}

/// Multi-user exchange of a contender, still without data.
fn flight(contender: usize, shared: Shared, is_first: bool) -> Flight {
    Flight {
        link: ONLY,
        contender,
        way: None,
        rate: 0,
        mpdus: Vec::new(),
        bar: None,
        ahead: None,
        begins: shared.at + shared.exchange.before,
        lasts: shared.exchange.ppdu.lasts(shared.symbols),
        is_first,
        is_limited: false,
        shared: Some(Box::new(shared)),
    }
}
