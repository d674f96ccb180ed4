//! Events and captures of multi-user exchanges. A frame to or from all stations is one record in a capture, and one
//! event per station.

use super::flight::{Flight, Shared};
use super::hearing::rate;
use super::shared::ONLY;
use super::trace::kind_of;
use super::{ACCESS_POINT, UP, Wlan};
use crate::wlan::mu::RuMode;
use crossfade_core::SimTime;
use crossfade_link::{EVERYBODY, Ppdu, PpduContent, PpduRate, PpduTrigger, PpduTriggered};

impl Wlan {
    /// Reports the trigger or MU-RTS before the data, and the CTS of all stations.
    pub(super) fn show_first(&mut self, flight: &Flight) {
        let Some(shared) = &flight.shared else { return };
        let Some(first) = shared.exchange.first else { return };
        let (at, sifs, is_up) = (shared.at, self.airs[ONLY].band().sifs(), shared.direction == UP);
        let cts = (at + first + sifs, flight.begins.saturating_sub(sifs));
        if self.is_traced() {
            for &way in &shared.ways {
                self.trace_air(ONLY, way, [at, at + first], "trigger", is_up);
                if !is_up {
                    self.trace_air(ONLY, way, [cts.0, cts.1], "cts", true);
                }
            }
        }
        if self.is_heard() {
            let ends = flight.begins + flight.lasts + shared.exchange.after;
            self.hear_trigger(at, at + first, ends, shared, is_up.then_some(flight.lasts), false);
            if !is_up {
                let [to, from] = self.nodes(shared.ways[0]);
                let (at, end) = cts;
                let (announced, content) = (ends.saturating_sub(end), PpduContent::Cts);
                let rate = rate(shared.exchange.control);
                self.hear(Ppdu { at, end, from, to, announced, rate, collided: false, content });
            }
        }
    }

    /// Reports the PPDUs of a multi-user exchange that collided.
    pub(super) fn show_collision(&mut self, now: SimTime, shared: &Shared, sent: SimTime) {
        let (is_up, has_first) = (shared.direction == UP, shared.exchange.first.is_some());
        if self.is_traced() {
            for &way in shared.ways.iter().filter(|_| has_first) {
                self.trace_air(ONLY, way, [now, now + sent], "trigger", is_up);
            }
            for part in shared.parts.iter().filter(|part| !part.is_empty()) {
                let Some(way) = part.way.filter(|_| !has_first) else { continue };
                self.trace_air(ONLY, way, [now, now + sent], kind_of(part), false);
                self.trace_mpdus(way, part, true);
            }
        }
        if self.is_heard() {
            if has_first {
                self.hear_trigger(now, now + sent, now + sent, shared, is_up.then_some(sent), true);
            } else {
                self.hear_parts(shared, true);
            }
        }
    }

    /// Reports data that ended at `now`, and the frames after them.
    pub(super) fn show_shared(&mut self, now: SimTime, shared: &Shared, heard: &[bool]) {
        let (exchange, sifs) = (&shared.exchange, self.airs[ONLY].band().sifs());
        let answer = [now + exchange.answer_at, now + exchange.after];
        if self.is_traced() {
            for (place, part) in shared.parts.iter().enumerate() {
                let Some(way) = part.way.filter(|_| !part.is_empty()) else { continue };
                self.trace_air(ONLY, way, [part.begins, now], kind_of(part), false);
                if let Some(asked) = exchange.asked {
                    self.trace_air(ONLY, way, [now + sifs, now + sifs + asked], "trigger", false);
                }
                if heard[place] {
                    self.trace_air(ONLY, way, [answer[0], answer[1]], "block-ack", true);
                }
                self.trace_mpdus(way, part, true);
            }
        }
        if !self.is_heard() {
            return;
        }
        self.hear_parts(shared, false);
        if let Some(asked) = exchange.asked {
            let lasts = answer[1] - answer[0];
            self.hear_trigger(now + sifs, now + sifs + asked, answer[1], shared, Some(lasts), false);
        }
        let some = || shared.ways.iter().enumerate().filter(|(place, _)| heard[*place]);
        let ([at, end], announced, collided) = (answer, SimTime::ZERO, false);
        if shared.direction == UP {
            let of: Vec<_> = some().map(|(_, &way)| (self.nodes(way)[0], self.block(way))).collect();
            if !of.is_empty() {
                let (from, rate) = (ACCESS_POINT as u16, rate(exchange.control));
                let content = PpduContent::BlockAcks(of);
                self.hear(Ppdu { at, end, from, to: EVERYBODY, announced, rate, collided, content });
            }
        } else {
            let all: Vec<_> = some().map(|(place, &way)| (place, way)).collect();
            for (place, way) in all {
                let [to, from] = self.nodes(way);
                let crossfade_link::PpduBlock { tid, start, has } = self.block(way);
                let content = PpduContent::BlockAck { tid, start, has };
                let rate = of_ru(shared.exchange.responses[place], true);
                self.hear(Ppdu { at, end, from, to, announced, rate, collided, content });
            }
        }
    }

    /// Records the data of each station for captures.
    fn hear_parts(&mut self, shared: &Shared, collided: bool) {
        for (place, part) in shared.parts.iter().enumerate() {
            let Some(way) = part.way.filter(|_| !part.is_empty()) else { continue };
            let [from, to] = self.nodes(way);
            let (at, end) = (part.begins, part.begins + part.lasts);
            let announced = shared.exchange.after;
            let rate = of_ru(shared.exchange.modes[place], shared.direction == UP);
            let content = self.content(part, way);
            self.hear(Ppdu { at, end, from, to, announced, rate, collided, content });
        }
    }

    /// Records a trigger frame for a PPDU of duration `lasts`, in an exchange that ends at `ends`; a MU-RTS if `lasts`
    /// is `None`.
    fn hear_trigger(
        &mut self,
        at: SimTime,
        end: SimTime,
        ends: SimTime,
        shared: &Shared,
        lasts: Option<SimTime>,
        collided: bool,
    ) {
        let is_up = shared.direction == UP;
        let kind = match lasts {
            None => PpduTrigger::Cts,
            Some(_) if is_up => PpduTrigger::Basic,
            Some(_) => PpduTrigger::BlockAcks,
        };
        let modes = if is_up { &shared.exchange.modes } else { &shared.exchange.responses };
        let users = shared.ways.iter().zip(modes).map(|(&way, of)| {
            let (_, station, category) = self.place(way);
            PpduTriggered {
                node: station as u16 + 1,
                ru_allocation: of.place.allocation(),
                mcs: of.mode.mcs(),
                streams: of.mode.streams(),
                tid: self.config.categories[category].priority,
                start: self.ways[way].originator.start(),
            }
        });
        let users = users.collect();
        let content = PpduContent::Trigger { kind, lasts: lasts.unwrap_or(end - at), users, padding: 0 };
        let of = modes[0].mode;
        let rate = PpduRate {
            width_mhz: of.width_mhz(),
            guard_interval_ns: of.guard_interval_ns(),
            ..rate(shared.exchange.control)
        };
        let (from, announced) = (ACCESS_POINT as u16, ends.saturating_sub(end));
        self.hear(Ppdu { at, end, from, to: EVERYBODY, announced, rate, collided, content });
    }
}

/// Transmission parameters of one station's part of a PPDU for captures and events.
fn of_ru(of: RuMode, is_triggered: bool) -> PpduRate {
    let whole = rate(of.mode);
    let shortest = if is_triggered { 1600 } else { 800 };
    PpduRate {
        ru_tones: Some(of.place.ru.tones()),
        guard_interval_ns: whole.guard_interval_ns.max(shortest),
        ..whole
    }
}
