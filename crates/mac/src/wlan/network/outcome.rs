//! What becomes of an exchange: which MPDUs are read, who answers, and what collided.

use super::flight::{Flight, Phase};
use super::trace::kind_of;
use super::{BAR_BYTES, BARS, DOWN, Wlan, ahead};
use crate::wlan::edca::{BlockAckFrame, SLOT};
use crate::wlan::exchange::{ANSWER_BYTES, RTS_BYTES};
use crate::wlan::modes::Durations;
use crate::wlan::originator::on_air;
use crate::wlan::recipient::Received;
use crossfade_core::SimTime;
use crossfade_link::Departure;
use rand::RngExt;

impl Wlan {
    /// Flights that begin at one boundary.
    pub(super) fn collide(&mut self, now: SimTime, mut flights: Vec<Flight>) {
        let mut longest = SimTime::ZERO;
        let control = self.stations[0].modes[0].slowest_control();
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
            let (_, station, _) = self.place(way);
            let mode = self.stations[station].modes[flight.rate];
            let has_rts = self.config.rts && flight.bar.is_none();
            let sent =
                if has_rts { mode.control().ppdu(RTS_BYTES, Durations::Standard) } else { flight.lasts };
            longest = longest.max(sent);
            self.spend(way, sent);
            self.count_collision(way, flight);
            if self.is_traced() {
                let kind = if has_rts { "rts" } else { kind_of(flight) };
                self.trace_air(way, now, now + sent, kind, false);
                self.trace_mpdus(way, flight, !has_rts);
            }
            if self.is_heard() {
                self.hear_collision(now, flight, way, has_rts);
            }
        }
        let extended = self.band().sifs() + control.ppdu(ANSWER_BYTES, Durations::Standard);
        self.phase = Phase::Missed(now + longest + extended, flights);
    }

    /// Counts a flight of one way that collides.
    pub(super) fn count_collision(&mut self, way: usize, flight: &Flight) {
        let statistics = &mut self.ways[way].statistics;
        if flight.bar.is_none() {
            statistics.ppdus += 1;
            statistics.window_limited += u64::from(flight.is_limited);
            statistics.collisions += 1;
            statistics.mpdus.frame_errors += flight.mpdus.len() as u64;
        }
    }

    /// Counts airtime of a way, against its station.
    pub(super) fn spend(&mut self, way: usize, time: SimTime) {
        let (direction, station, category) = self.place(way);
        self.ways[way].statistics.airtime += time;
        self.turns[category].charge(station, time.as_nanos());
        self.busy[direction] += time;
    }

    /// The data have been sent to their end.
    pub(super) fn read(&mut self, now: SimTime, flight: Flight) {
        if flight.shared.is_some() {
            self.read_shared(now, flight);
            return;
        }
        let sifs = self.band().sifs();
        let Some(number) = flight.way else {
            let answer = BlockAckFrame::of_window(64).duration(self.stations[0].modes[0]);
            self.phase = Phase::Answer(now + sifs + answer, flight);
            return;
        };
        let is_heard = self.arrive(now, number, &flight);
        let (direction, station, _) = self.place(number);
        let Self { ways, stations, .. } = self;
        let (way, of) = (&mut ways[number], &mut stations[station]);
        let mode = of.modes[flight.rate];
        // A BAR is answered as data are.
        let answer = sifs + of.answers[flight.rate];
        let is_answered = is_heard && {
            let lost = of.reception.answer(flight.rate, now, of.answer_bytes, direction);
            lost <= 0.0 || way.errors.random::<f64>() >= lost
        };
        let before = if self.config.rts && flight.is_first && flight.bar.is_none() {
            ahead(mode)
        } else {
            SimTime::ZERO
        };
        if self.is_traced() {
            let began = now - flight.lasts;
            self.trace_air(number, began, now, kind_of(&flight), false);
            if is_heard {
                let kind = if self.stations[station].limits.window == 1 { "ack" } else { "block-ack" };
                self.trace_air(number, now + sifs, now + answer, kind, true);
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
            self.spend(number, before + flight.lasts + answer);
            self.phase = Phase::Answer(now + answer, flight);
        } else {
            self.spend(number, before + flight.lasts);
            let timeout = sifs + SLOT + mode.slowest_control().preamble(Durations::Standard);
            // An answer that is not understood occupies the air all the same.
            let until = if is_heard { timeout.max(answer) } else { timeout };
            self.phase = Phase::Missed(now + until, vec![flight]);
        }
    }

    /// What a flight of one way carries comes to its end; whether anything of it was read.
    pub(super) fn arrive(&mut self, now: SimTime, number: usize, flight: &Flight) -> bool {
        let (direction, station, _) = self.place(number);
        let port = self.port(number);
        let Self { ways, stations, departures, released, .. } = self;
        let (way, of) = (&mut ways[number], &mut stations[station]);
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
                let received = way.recipient.on_mpdu(now, on_air(mpdu.number), (now, mpdu.parcel), released);
                if received == Received::Late {
                    way.statistics.packets.losses += 1;
                    departures.push_back((port, Departure::Lost(mpdu.parcel)));
                }
            } else {
                errors += 1;
            }
        }
        let statistics = &mut way.statistics;
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

    /// Recipients have waited long enough for what is missing: they pass on what came after it.
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

    /// An exchange has ended, with an answer or without.
    pub(super) fn settle(&mut self, now: SimTime, mut flight: Flight, is_answered: bool) {
        if flight.shared.is_some() {
            self.settle_shared(now, &mut flight, is_answered);
            return;
        }
        let (contender, is_first) = (flight.contender, flight.is_first);
        if flight.way.is_none() {
            if is_answered {
                let first = (self.stations.len() + 1) * self.categories();
                self.neighbours[contender - first].sent();
                self.contest.succeed(contender);
            } else {
                self.contest.fail(contender);
            }
            return;
        }
        if is_answered {
            self.contest.succeed(contender);
        } else if is_first {
            self.contest.fail(contender);
        } else {
            self.contest.draw(contender);
        }
        self.settle_way(now, flight, is_answered);
    }

    /// What one way has sent is acknowledged, or has had no answer.
    pub(super) fn settle_way(&mut self, now: SimTime, mut flight: Flight, is_answered: bool) {
        let Some(number) = flight.way else { return };
        let (direction, station, category) = self.place(number);
        let port = self.port(number);
        let asks = self.config.asks;
        let (way, of) = (&mut self.ways[number], &mut self.stations[station]);
        let settled = &mut self.settled;
        let sent = flight.mpdus.len() as u32;
        if is_answered {
            way.bars = 0;
            let recipient = &way.recipient;
            way.originator.on_block_ack(recipient.start(), |number| recipient.has(number), settled);
        } else {
            if flight.bar.is_none() {
                way.statistics.unanswered += 1;
            }
            way.bars += 1;
            let asks = asks && of.limits.window > 1;
            if (flight.bar.is_none() && !asks) || way.bars > BARS {
                way.bars = 0;
                way.originator.on_silence(settled);
            } else {
                way.originator.on_timeout();
            }
        }
        if sent > 0 {
            let read = flight.mpdus.iter().filter(|mpdu| mpdu.is_read).count() as u32;
            of.rates[direction].on_exchange(flight.rate, sent, if is_answered { read } else { 0 });
        }
        way.statistics.mpdus.frames_delivered += settled.delivered.len() as u64;
        let mut freed = 0_u64;
        for sending in settled.delivered.drain(..) {
            freed += u64::from(sending.airtime_ns);
        }
        for (number, sending) in settled.given_up.drain(..) {
            freed += u64::from(sending.airtime_ns);
            way.statistics.mpdus.frames_lost += 1;
            // Only the answers may have been lost.
            if !way.recipient.has(number) {
                way.statistics.packets.losses += 1;
                self.departures.push_back((port, Departure::Lost(sending.parcel)));
            }
        }
        if direction == DOWN {
            // Ways down come first.
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
