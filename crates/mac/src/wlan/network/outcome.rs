//! Outcome of an exchange: received MPDUs, acknowledgements and collisions.

use super::flight::{Flight, Phase};
use super::trace::kind_of;
use super::{BAR_BYTES, BARS, DOWN, UP, Wlan};
use crate::wlan::edca::{ANSWER_BYTES, BlockAckFrame, SLOT};
use crate::wlan::modes::Durations;
use crate::wlan::originator::on_air;
use crate::wlan::recipient::Received;
use crate::wlan::way::Come;
use crossfade_core::SimTime;
use crossfade_link::Departure;
use rand::RngExt;

impl Wlan {
    /// Begins the collision of exchanges that start at one slot boundary.
    pub(super) fn collide(&mut self, now: SimTime, mut flights: Vec<Flight>) {
        let mut longest = SimTime::ZERO;
        let Some(link) = flights.first().map(|flight| flight.link) else { return };
        for flight in &mut flights {
            if let Some(mut shared) = flight.shared.take() {
                longest = longest.max(self.collide_shared(now, &mut shared));
                flight.shared = Some(shared);
                continue;
            }
            let Some(way) = flight.way else {
                longest = longest.max(flight.lasts);
                continue;
            };
            flight.mpdus.iter_mut().for_each(|mpdu| mpdu.is_read = false);
            let (direction, station, _) = self.place(way);
            let sent = flight.ahead.map_or(flight.lasts, |ahead| ahead.frame);
            if self.stations[station].radio.is_some() {
                if direction == UP {
                    self.on_sending(now, station, link, SimTime::MAX);
                } else {
                    self.on_asking(now, station, link, false);
                }
            }
            longest = longest.max(sent);
            self.spend(link, way, sent);
            self.count_collision(way, flight);
            if self.is_traced() {
                let kind = flight.ahead.map_or(kind_of(flight), |ahead| ahead.kind());
                self.trace_air(link, way, [now, now + sent], kind, false);
                self.trace_mpdus(way, flight, flight.ahead.is_none());
            }
            if self.is_heard() {
                self.hear_collision(flight, way);
            }
        }
        let air = &mut self.airs[link];
        let control = air.mode.slowest_control();
        let extended = air.band().sifs() + control.ppdu(ANSWER_BYTES, Durations::Standard);
        air.phase = Phase::Missed(now + longest + extended, flights);
    }

    /// Counts the collision of an exchange of one station.
    pub(super) fn count_collision(&mut self, way: usize, flight: &Flight) {
        let statistics = &mut self.ways[way].statistics[flight.link];
        if flight.bar.is_none() {
            statistics.ppdus += 1;
            statistics.window_limited += u64::from(flight.is_limited);
            statistics.collisions += 1;
            statistics.mpdus.frame_errors += flight.mpdus.len() as u64;
        }
    }

    /// Counts airtime of an exchange, and charges it to the station.
    pub(super) fn spend(&mut self, link: usize, way: usize, time: SimTime) {
        let (direction, station, category) = self.place(way);
        self.ways[way].statistics[link].airtime += time;
        self.turns[category].charge(station, time.as_nanos());
        self.busy[direction] += time;
    }

    /// Handles the end of the data of an exchange: delivers what was decoded, and schedules the acknowledgement or the
    /// timeout.
    pub(super) fn read(&mut self, now: SimTime, flight: Flight) {
        if flight.shared.is_some() {
            self.read_shared(now, flight);
            return;
        }
        let link = flight.link;
        let sifs = self.airs[link].band().sifs();
        let Some(number) = flight.way else {
            let answer = BlockAckFrame::of_window(64).duration(self.airs[link].mode);
            self.airs[link].phase = Phase::Answer(now + sifs + answer, flight);
            return;
        };
        let is_heard = self.arrive(now, number, &flight);
        let (direction, station, _) = self.place(number);
        let Self { ways, stations, .. } = self;
        let way = &mut ways[number];
        let answer_bytes = stations[station].answer_bytes;
        let of = stations[station].end_mut(link);
        let mode = of.modes[flight.rate];
        // A BAR is answered like data.
        let answer = sifs + of.answers[flight.rate];
        let is_answered = is_heard && {
            let lost = of.reception.answer(flight.rate, now, answer_bytes, direction);
            lost <= 0.0 || way.errors.random::<f64>() >= lost
        };
        let before = flight.before();
        if flight.ahead.is_some_and(|ahead| ahead.is_initial) {
            self.show_ahead(&flight, number);
        }
        if self.is_traced() {
            let began = now - flight.lasts;
            self.trace_air(link, number, [began, now], kind_of(&flight), false);
            if is_heard {
                let kind = if self.stations[station].limits.window == 1 { "ack" } else { "block-ack" };
                self.trace_air(link, number, [now + sifs, now + answer], kind, true);
            }
            self.trace_mpdus(number, &flight, true);
        }
        if self.is_heard() {
            self.hear_data(&flight, number, false);
            if is_heard {
                self.hear_answer(now, &flight, number);
            }
        }
        if is_answered {
            self.spend(link, number, before + flight.lasts + answer);
            self.airs[link].phase = Phase::Answer(now + answer, flight);
        } else {
            self.spend(link, number, before + flight.lasts);
            let timeout = sifs + SLOT + mode.slowest_control().preamble(Durations::Standard);
            // An acknowledgement that its receiver cannot decode still occupies the channel.
            let until = if is_heard { timeout.max(answer) } else { timeout };
            self.airs[link].phase = Phase::Missed(now + until, vec![flight]);
        }
    }

    /// Reports RTS or initial control frame, and CTS, of an exchange to trace and capture.
    pub(super) fn show_ahead(&mut self, flight: &Flight, way: usize) {
        if self.is_traced() {
            self.trace_ahead(flight, way);
        }
        if self.is_heard() {
            self.hear_ahead(flight, way);
        }
    }

    /// Delivers the decoded MPDUs of one station's data, or its BAR; returns true if anything was decoded.
    pub(super) fn arrive(&mut self, now: SimTime, number: usize, flight: &Flight) -> bool {
        let (direction, station, _) = self.place(number);
        let port = self.port(number);
        let Self { ways, stations, departures, released, .. } = self;
        let (way, of) = (&mut ways[number], stations[station].end_mut(flight.link));
        let link = flight.link as u8;
        let mut is_heard = flight.bar.is_some();
        if let Some(start) = flight.bar {
            let lost = of.reception.answer(flight.rate, now, BAR_BYTES, 1 - direction);
            is_heard = lost <= 0.0 || way.errors.random::<f64>() >= lost;
            if is_heard {
                way.recipient.on_bar(on_air(start), released);
            }
        }
        let mut errors = 0;
        for mpdu in &flight.mpdus {
            if mpdu.is_read {
                is_heard = true;
                let come = Come { since: now, parcel: mpdu.parcel, link };
                let received = way.recipient.on_mpdu(now, on_air(mpdu.number), come, released);
                if received == Received::Late {
                    way.statistics[flight.link].packets.losses += 1;
                    departures.push_back((port, Departure::Lost(mpdu.parcel)));
                }
            } else {
                errors += 1;
            }
        }
        let statistics = &mut way.statistics[flight.link];
        statistics.mpdus.frame_errors += errors;
        statistics.channel_errors += errors;
        statistics.uncollided += flight.mpdus.len() as u64;
        statistics.ppdus += u64::from(flight.bar.is_none());
        statistics.window_limited += u64::from(flight.is_limited);
        statistics.requests += u64::from(flight.bar.is_some());
        if way.release(now, port, released, departures) {
            self.passes_at = self.ways.iter().filter_map(|way| way.passes_at).min();
        }
        is_heard
    }

    /// Lets recipients whose reorder timeout has expired deliver the MPDUs behind a gap.
    pub(super) fn pass_over(&mut self, now: SimTime) {
        for number in 0..self.ways.len() {
            if self.ways[number].passes_at.is_none_or(|at| at > now) {
                continue;
            }
            let port = self.port(number);
            let Self { ways, departures, released, .. } = self;
            let way = &mut ways[number];
            way.recipient.on_timeout(now, released);
            way.release(now, port, released, departures);
        }
        self.passes_at = self.ways.iter().filter_map(|way| way.passes_at).min();
    }

    /// Ends an exchange, with an acknowledgement or without.
    pub(super) fn settle(&mut self, now: SimTime, mut flight: Flight, is_answered: bool) {
        if flight.shared.is_some() {
            self.settle_shared(now, &mut flight, is_answered);
            return;
        }
        let (contender, is_first) = (flight.contender, flight.is_first);
        let first = (self.stations.len() + 1) * self.categories();
        let air = &mut self.airs[flight.link];
        if flight.way.is_none() {
            if is_answered {
                air.neighbours[contender - first].sent();
                air.contest.succeed(contender);
            } else {
                air.contest.fail(contender);
            }
            return;
        }
        if is_answered {
            air.contest.succeed(contender);
        } else if is_first {
            air.contest.fail(contender);
        } else {
            air.contest.draw(contender);
        }
        self.settle_way(now, flight, is_answered);
    }

    /// Applies the acknowledgement of one station's data, or its absence.
    pub(super) fn settle_way(&mut self, now: SimTime, mut flight: Flight, is_answered: bool) {
        let Some(number) = flight.way else { return };
        let (direction, station, category) = self.place(number);
        let port = self.port(number);
        let asks = self.config.asks;
        let (link, window) = (flight.link, self.stations[station].limits.window);
        let (way, of) = (&mut self.ways[number], self.stations[station].end_mut(link));
        let statistics = &mut way.statistics[link];
        let settled = &mut self.settled;
        let sent = flight.mpdus.len() as u32;
        if is_answered {
            way.bars[link] = 0;
            let recipient = &way.recipient;
            way.originator.on_block_ack(
                link as u8,
                recipient.start(),
                |number| recipient.has(number),
                settled,
            );
        } else {
            if flight.bar.is_none() {
                statistics.unanswered += 1;
            }
            way.bars[link] += 1;
            let asks = asks && window > 1;
            if (flight.bar.is_none() && !asks) || way.bars[link] > BARS {
                way.bars[link] = 0;
                way.originator.on_silence(link as u8, settled);
            } else {
                way.originator.on_timeout(link as u8);
            }
        }
        if sent > 0 {
            let read = flight.mpdus.iter().filter(|mpdu| mpdu.is_read).count() as u32;
            of.rates[direction].on_exchange(flight.rate, sent, if is_answered { read } else { 0 });
        }
        statistics.mpdus.frames_delivered += settled.delivered.len() as u64;
        let mut freed = 0_u64;
        for sending in settled.delivered.drain(..) {
            freed += u64::from(sending.airtime_ns);
        }
        for (number, sending) in settled.given_up.drain(..) {
            freed += u64::from(sending.airtime_ns);
            statistics.mpdus.frames_lost += 1;
            // The packet may have arrived although all acknowledgements were lost.
            if !way.recipient.has(number) {
                statistics.packets.losses += 1;
                self.departures.push_back((port, Departure::Lost(sending.parcel)));
            }
        }
        if way.is_out_of_step(window) {
            // Both ends restart the agreement, as they would once they decode each other again.
            way.recipient.renew(way.originator.start(), &mut self.released);
            if way.release(now, port, &mut self.released, &mut self.departures) {
                self.passes_at = self.ways.iter().filter_map(|way| way.passes_at).min();
            }
        }
        if direction == DOWN {
            // Indices of the downlink come first, so they index `held_ns`.
            self.held_ns[number] -= freed;
            self.all_held_ns -= freed;
        }
        flight.mpdus.clear();
        self.spare.push(flight.mpdus);
        if direction == DOWN {
            self.refill(now, category, None);
        }
    }
}
