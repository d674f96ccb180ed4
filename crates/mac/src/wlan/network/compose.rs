//! Composition of an exchange: the driver's refill from the queues, and the MPDUs of the next aggregate.

use super::flight::{Ahead, Flight, Mpdu};
use super::{ACCESS_POINT, BAR_BYTES, DOWN, Station, UP, Wlan};
use crate::wlan::ampdu::{Ampdu, AmpduLimits, subframe_bytes};
use crate::wlan::config::{AccessPointQueues, Aql, DRIVER_PACKETS};
use crate::wlan::modes::Durations;
use crate::wlan::originator::Transmit;
use crossfade_core::SimTime;
use rand::RngExt;

impl Wlan {
    /// Moves packets of a category from the queues into the driver as far as its limits allow, for all stations or only
    /// one.
    pub(super) fn refill(&mut self, now: SimTime, category: usize, only: Option<usize>) {
        match self.config.access_point {
            AccessPointQueues::OneFifo(_) => {
                while self.held_packets[category] < DRIVER_PACKETS
                    && let Some((way, waiting)) = self.fifos[category].pop_front()
                {
                    self.fifo_bytes[category] -= u64::from(waiting.packet.bytes());
                    self.held_packets[category] += 1;
                    self.ways[way].backlog.held.push_back((waiting, 0));
                    let (_, station, _) = self.place(way);
                    self.turns[category].enlist(station);
                }
            }
            AccessPointQueues::PerStation { aql: Some(aql), .. } => {
                let all = only.map_or(0..self.stations.len(), |one| one..one + 1);
                for station in all {
                    let way = self.way(DOWN, station, category);
                    if self.ways[way].backlog.queue.packets() > 0 {
                        self.refill_station(now, way, station, aql);
                    }
                }
            }
            AccessPointQueues::PerStation { aql: None, .. } => {}
        }
    }

    pub(super) fn refill_station(&mut self, now: SimTime, way: usize, station: usize, aql: Aql) {
        let [low, high, threshold] = [aql.low, aql.high, aql.threshold].map(SimTime::as_nanos);
        let is_full = |held: u64, all: u64| held >= low && (held >= high || all >= threshold);
        // Checked first, since the bit rate below is costly to determine.
        if is_full(self.held_ns[way], self.all_held_ns) {
            return;
        }
        // The packets in the driver leave on all links, or with EMLSR on one at a time.
        let ends = self.stations[station].ends.iter().flatten();
        let rates = ends.map(|end| end.modes[end.rates[DOWN].expected()].rate_bps());
        let is_single = self.stations[station].radio.is_some();
        let rate_bps: f64 = if is_single { rates.fold(0.0, f64::max) } else { rates.sum() };
        let ns_per_byte = 8e9 / rate_bps;
        while !is_full(self.held_ns[way], self.all_held_ns) {
            let Some(waiting) = self.ways[way].backlog.queue.dequeue(now, &mut self.dropped) else { break };
            let nanos = (f64::from(waiting.packet.bytes()) * ns_per_byte) as u32;
            self.held_ns[way] += u64::from(nanos);
            self.all_held_ns += u64::from(nanos);
            self.ways[way].backlog.held.push_back((waiting, nanos));
        }
        self.drop_all(way, now);
    }

    /// Next exchange of a contender on a link at `now`; `None` without one. An exchange after the first of an
    /// opportunity fits into the time `left` of it.
    pub(super) fn compose(
        &mut self,
        link: usize,
        contender: usize,
        now: SimTime,
        left: Option<SimTime>,
        is_first: bool,
    ) -> Option<Flight> {
        let categories = self.categories();
        let (node, category) = (contender / categories, contender % categories);
        if node > self.stations.len() {
            let lasts =
                self.airs[link].neighbours[contender - (self.stations.len() + 1) * categories].aggregate;
            return Some(Flight { is_first, ..Flight::empty(link, contender, None, now, lasts) });
        }
        let (direction, station) = if node == ACCESS_POINT {
            if self.has_uplink(link, category)
                && (!self.airs[link].has_asked[category] || !self.has_downlink(link, category))
                && let Some(flight) = self.share_up(link, contender, now, left, is_first)
            {
                self.airs[link].has_asked[category] = true;
                return Some(flight);
            }
            let Self { ways, stations, turns, .. } = self;
            let way = |station: usize| &ways[station * categories + category];
            let can = |station: usize| {
                stations[station].may_be_asked(link, now) && way(station).transmit(link).is_some()
            };
            let station = turns[category].next(|station| way(station).has_work(), can)?;
            self.airs[link].has_asked[category] = false;
            if let Some(flight) = self.share_down(link, contender, station, now, left, is_first) {
                return Some(flight);
            }
            (DOWN, station)
        } else {
            (UP, node - 1)
        };
        let number = self.way(direction, station, category);
        let sifs = self.airs[link].band().sifs();
        let Self { ways, stations, config, spare, .. } = self;
        let way = &mut ways[number];
        let Station { overhead, limits, .. } = stations[station];
        let transmit = way.transmit(link)?;
        if !stations[station].may_use(direction, link, now) {
            return None;
        }
        let Station { ends, radio, .. } = &mut stations[station];
        let of = ends[link].as_mut().expect("a link that it uses");
        let (rate, is_probe) = of.rates[direction].choose(now, &mut of.reception, direction);
        let mode = of.modes[rate];
        let mut mpdus = spare.pop().unwrap_or_default();
        mpdus.clear();
        if let Transmit::Bar(start) = transmit {
            let lasts = mode.control().ppdu(BAR_BYTES, Durations::Standard);
            way.originator.on_bar(link as u8);
            let ahead =
                radio.as_ref().and_then(|radio| radio.ahead(direction == UP, link, mode, now, is_first));
            let begins = now + ahead.map_or(SimTime::ZERO, |ahead| ahead.lasts);
            let flight = Flight::empty(link, contender, Some(number), begins, lasts);
            return Some(Flight { rate, mpdus, bar: Some(start), ahead, is_first, ..flight });
        }
        let by_radio =
            radio.as_ref().and_then(|radio| radio.ahead(direction == UP, link, mode, now, is_first));
        let ahead = by_radio.or_else(|| (config.rts && is_first).then(|| Ahead::of_rts(mode)));
        let before = ahead.map_or(SimTime::ZERO, |ahead| ahead.lasts);
        let time = left.map(|left| left.saturating_sub(before + sifs + of.answers[rate]));
        if let (Some(time), false) = (time, is_first) {
            // The opportunity does not continue if even one MPDU takes longer.
            let bytes = way.first_bytes(overhead).unwrap_or(overhead + 1500);
            if mode.ppdu(subframe_bytes(bytes), Durations::Standard) > time {
                spare.push(mpdus);
                return None;
            }
        }
        let limits = if is_probe { AmpduLimits { window: 1, ..limits } } else { limits };
        let mut ampdu = Ampdu::new(mode, &limits, time);
        let begins = now + before;
        let meets = Meeting {
            link,
            rate,
            begins,
            preamble: mode.preamble(Durations::Standard),
            rate_bps: mode.rate_bps(),
        };
        let is_limited = self.load(now, number, &mut ampdu, meets, &mut mpdus);
        let lasts = ampdu.duration();
        if mpdus.is_empty() {
            self.spare.push(mpdus);
            return None;
        }
        let flight = Flight::empty(link, contender, Some(number), begins, lasts);
        Some(Flight { rate, mpdus, ahead, is_first, is_limited, ..flight })
    }

    /// Puts MPDUs into an aggregate and draws the reception of each in the absence of collisions; returns true if the
    /// window ended the aggregate while more packets waited.
    pub(super) fn load(
        &mut self,
        now: SimTime,
        number: usize,
        ampdu: &mut Ampdu,
        meeting: Meeting,
        mpdus: &mut Vec<Mpdu>,
    ) -> bool {
        let (direction, station, category) = self.place(number);
        let Self { ways, stations, dropped, .. } = self;
        let Meeting { link, rate, begins, preamble, rate_bps } = meeting;
        let ns_per_byte = 8e9 / rate_bps;
        let (way, overhead) = (&mut ways[number], stations[station].overhead);
        let of = stations[station].end_mut(link);
        let mcs = u64::from(of.modes[rate].mcs());
        let reception = &mut of.reception;
        let is_constant = reception.is_constant();
        let is_limited =
            way.compose(link, now, ampdu, overhead, dropped, |number, parcel, attempt, bytes, errors| {
                let at = if is_constant {
                    begins
                } else {
                    begins + preamble + SimTime::from_nanos((f64::from(bytes) * ns_per_byte) as u64)
                };
                let meets = reception.mpdu(rate, at, parcel.bytes() + overhead, direction);
                let is_read = meets.error_rate <= 0.0 || errors.random::<f64>() >= meets.error_rate;
                mpdus.push(Mpdu { number, parcel, attempt, is_read, snr_db: meets.snr_db });
            });
        way.statistics[link].mcs_sum += mcs * mpdus.len() as u64;
        if direction == DOWN && matches!(self.config.access_point, AccessPointQueues::OneFifo(_)) {
            let new = mpdus.iter().filter(|mpdu| mpdu.attempt == 0).count();
            self.held_packets[category] -= new;
        }
        self.drop_all(number, now);
        is_limited
    }
}

/// Link, mode index and times of an aggregate, from which the channel of each MPDU follows.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    pub(super) link: usize,
    /// Index of the mode among those of the station.
    pub(super) rate: usize,
    pub(super) begins: SimTime,
    pub(super) preamble: SimTime,
    pub(super) rate_bps: f64,
}
