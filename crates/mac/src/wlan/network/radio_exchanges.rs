//! Exchanges of stations with one radio for several links (EMLSR, IEEE 802.11be clause 35.3.17). After an exchange the
//! radio stays on its link until the transition delay has passed: there the station contends at once, on the other links
//! afterwards.
//!
//! Both ends may begin at once, on different links: a station that begins within a slot of an initial control frame has
//! not noticed it, and does not answer; the access point knows of a station's exchange once it has read who sends. A
//! frame that collides tells it nothing.

use super::flight::{Flight, Phase};
use super::single_radio::{Asked, SingleRadio};
use super::{ACCESS_POINT, DOWN, Station, UP, Wlan};
use crate::wlan::edca::SLOT;
use crate::wlan::emlsr::{SYNC_DURATION, SYNC_THRESHOLD};
use crate::wlan::modes::Durations;
use crossfade_core::SimTime;

/// Bytes of the MAC header of data and their FCS.
const HEADER_BYTES: u32 = 30;

impl Station {
    /// Whether the access point may send to it on a link.
    #[inline]
    pub(super) fn may_be_asked(&self, link: usize, now: SimTime) -> bool {
        self.uses(link) && self.radio.as_ref().is_none_or(|radio| radio.may_be_asked(link, now))
    }

    /// Whether it may send on a link.
    #[inline]
    pub(super) fn may_send(&self, link: usize, now: SimTime) -> bool {
        self.uses(link) && self.radio.as_ref().is_none_or(|radio| radio.may_send(link, now))
    }

    /// Whether the sender of a direction may send on a link.
    pub(super) fn may_use(&self, direction: usize, link: usize, now: SimTime) -> bool {
        if direction == DOWN { self.may_be_asked(link, now) } else { self.may_send(link, now) }
    }
}

impl Wlan {
    /// The radio of the station of a way, with its direction, if it has one for all links.
    fn radio_of(&mut self, way: usize) -> Option<(usize, usize, &mut SingleRadio)> {
        let (direction, station, _) = self.place(way);
        let radio = self.stations[station].radio.as_deref_mut()?;
        Some((direction, station, radio))
    }

    /// A flight begins, alone in the air of its link. Whether who is asked answers.
    pub(super) fn start_of_radio(&mut self, flight: &Flight) -> bool {
        let (link, at) = (flight.link, flight.begins - flight.before());
        self.synchronize(link);
        let Some(way) = flight.way else { return true };
        let header = flight.ahead.map_or_else(
            || {
                let (_, station, _) = self.place(way);
                let mode = self.stations[station].end(link).modes[flight.rate];
                mode.ppdu(HEADER_BYTES, Durations::Standard).min(flight.lasts)
            },
            |ahead| ahead.frame,
        );
        let Some((direction, station, radio)) = self.radio_of(way) else { return true };
        if direction == UP {
            if radio.sends.is_none() {
                self.on_sending(at, station, link, at + header);
            }
            return true;
        }
        if radio.asked.is_some() {
            // The exchange goes on.
            return true;
        }
        let is_read = radio.sends.is_none() && (at >= radio.listens_from || radio.on == Some(link));
        self.on_asking(at, station, link, is_read);
        is_read
    }

    /// The access point sends an initial control frame to a station.
    pub(super) fn on_asking(&mut self, at: SimTime, station: usize, link: usize, is_read: bool) {
        let Some(radio) = self.stations[station].radio.as_mut() else { return };
        radio.asked = Some(Asked { link, at, is_read });
        if is_read {
            self.turn_at(station, Some(at + SLOT));
        }
    }

    /// A station begins to send on a link, of which the access point knows at a time. An initial control frame on
    /// another link, which it has not noticed yet, goes unanswered.
    pub(super) fn on_sending(&mut self, now: SimTime, station: usize, link: usize, known: SimTime) {
        let Some(radio) = self.stations[station].radio.as_mut() else { return };
        radio.sends = Some((link, known));
        if let Some(asked) = radio.asked.as_mut().filter(|asked| asked.is_read) {
            asked.is_read = false;
            let other = asked.link;
            match std::mem::replace(&mut self.airs[other].phase, Phase::Idle) {
                Phase::Data(_, flight) => self.go_unanswered(flight),
                phase => self.airs[other].phase = phase,
            }
        }
        self.turn_at(station, None);
        self.deafen(now, station, link);
    }

    /// Nobody answers the initial control frame of a flight.
    pub(super) fn go_unanswered(&mut self, mut flight: Flight) {
        let (Some(way), Some(ahead)) = (flight.way, flight.ahead) else { return };
        let (link, at) = (flight.link, flight.begins - ahead.lasts);
        flight.mpdus.iter_mut().for_each(|mpdu| mpdu.is_read = false);
        self.spend(link, way, ahead.frame);
        self.count_collision(way, &flight);
        if self.is_traced() {
            self.trace_air(link, way, [at, at + ahead.frame], ahead.kind(), false);
        }
        if self.is_heard() {
            self.hear_first(&flight, way, ahead, false);
        }
        let air = &mut self.airs[link];
        let slowest = air.mode.slowest_control().preamble(Durations::Standard);
        let timeout = air.band().sifs() + SLOT + slowest;
        air.phase = Phase::Missed(at + ahead.frame + timeout, vec![flight]);
    }

    /// An exchange of a way has been answered; the next flight of its link may go on with it.
    pub(super) fn part(&mut self, link: usize, now: SimTime, way: Option<usize>, goes_on: bool) {
        let Some(way) = way.filter(|_| self.has_single_radios) else { return };
        let (_, station, _) = self.place(way);
        if goes_on && self.airs[link].phase.way().is_some_and(|next| self.place(next).1 == station) {
            return;
        }
        let band = self.airs[link].band();
        let Some((direction, station, radio)) = self.radio_of(way) else { return };
        let silence = if direction == DOWN { radio.config.silence(band) } else { radio.config.transition };
        self.leave(station, now + silence, true);
    }

    /// An exchange of a way has ended without an answer.
    pub(super) fn part_unanswered(&mut self, now: SimTime, way: Option<usize>) {
        let Some(way) = way.filter(|_| self.has_single_radios) else { return };
        let Some((direction, station, radio)) = self.radio_of(way) else { return };
        if direction == DOWN && radio.asked.is_some_and(|asked| !asked.is_read) {
            // The station never came.
            radio.asked = None;
            return;
        }
        let is_known = direction == DOWN || radio.sends.is_some_and(|(_, known)| known <= now);
        let until = now + radio.config.transition;
        self.leave(station, until, is_known);
    }

    /// The exchange of a station has ended; it listens on all links at `until`.
    fn leave(&mut self, station: usize, until: SimTime, is_known: bool) {
        let Some(radio) = self.stations[station].radio.as_mut() else { return };
        if radio.sends.is_some() {
            radio.sends = None;
        } else {
            radio.asked = None;
        }
        radio.listens_from = until;
        if is_known {
            radio.known_from = until;
        }
        self.turn_at(station, Some(until));
    }

    fn turn_at(&mut self, station: usize, at: Option<SimTime>) {
        if let Some(radio) = self.stations[station].radio.as_mut() {
            radio.turns_at = at;
        }
        let all = self.stations.iter().filter_map(|station| station.radio.as_ref()?.turns_at);
        self.turns_at = all.min();
    }

    /// Stations notice an initial control frame, or listen anew.
    pub(super) fn turn(&mut self, now: SimTime) {
        for station in 0..self.stations.len() {
            let Some(radio) = self.stations[station].radio.as_mut() else { continue };
            if radio.turns_at.is_none_or(|at| at > now) {
                continue;
            }
            if let Some(asked) = radio.asked.filter(|asked| asked.is_read) {
                let has_left = radio.on.is_some_and(|on| on != asked.link);
                self.turn_at(station, None);
                if has_left {
                    // It was asked, in a TXOP that went on, as the transition delay ended.
                    self.listen_anew(now, station);
                }
                self.deafen(now, station, asked.link);
            } else {
                self.turn_at(station, None);
                self.listen_anew(now, station);
            }
        }
    }

    /// The radio of a station is on one link: it hears nothing of the others.
    fn deafen(&mut self, now: SimTime, station: usize, link: usize) {
        let categories = self.categories();
        let Station { ends, radio, .. } = &mut self.stations[station];
        let Some(radio) = radio.as_mut().filter(|radio| radio.on.is_none()) else { return };
        radio.on = Some(link);
        for other in (0..ends.len()).filter(|other| *other != link && ends[*other].is_some()) {
            let air = &mut self.airs[other];
            let is_idle = matches!(air.phase, Phase::Idle);
            radio.deaf_since[other] = now;
            for contender in (station + 1) * categories..(station + 2) * categories {
                air.contest.deafen(contender, now, is_idle);
                air.ready[contender] = None;
            }
            if is_idle {
                air.look_ahead();
            }
        }
    }

    /// The radio of a station listens on all links again.
    fn listen_anew(&mut self, now: SimTime, station: usize) {
        let categories = self.categories();
        let Station { ends, radio, .. } = &mut self.stations[station];
        let Some(radio) = radio.as_mut() else { return };
        let on = radio.on.take();
        for link in (0..ends.len()).filter(|link| Some(*link) != on && ends[*link].is_some()) {
            if now - radio.deaf_since[link] > SYNC_THRESHOLD {
                radio.unsynchronized_until[link] = now + SYNC_DURATION;
            }
            for contender in (station + 1) * categories..(station + 2) * categories {
                self.airs[link].contest.sense(contender, now);
            }
        }
        for category in 0..categories {
            self.wake((station + 1) * categories + category);
            self.wake(ACCESS_POINT * categories + category);
        }
    }

    /// Stations that listen read a frame on a link, and know its medium again.
    fn synchronize(&mut self, link: usize) {
        for radio in self.stations.iter_mut().filter_map(|station| station.radio.as_mut()) {
            if radio.on.is_none_or(|on| on == link) {
                radio.unsynchronized_until[link] = SimTime::ZERO;
            }
        }
    }
}
