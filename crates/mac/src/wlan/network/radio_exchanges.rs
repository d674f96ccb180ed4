//! Exchanges of stations with one radio for several links (EMLSR, IEEE 802.11be clause 35.3.17). After an exchange the
//! radio stays on its link until the transition delay has passed: the station contends at once there, and afterwards on
//! the other links.
//!
//! Both ends may begin on different links at about the same time. A station that begins within a slot of an initial
//! control frame has not noticed it and does not answer. The access point knows of a station's exchange once it has
//! decoded the header of its first frame; a colliding frame is not decoded.

use super::flight::{Flight, Phase};
use super::single_radio::{Asked, SingleRadio};
use super::{ACCESS_POINT, DOWN, Station, UP, Wlan};
use crate::wlan::edca::SLOT;
use crate::wlan::emlsr::{SYNC_DURATION, SYNC_THRESHOLD};
use crate::wlan::modes::Durations;
use crossfade_core::SimTime;

/// Bytes of the MAC header of data and of their FCS.
const HEADER_BYTES: u32 = 30;

impl Station {
    /// True if the access point may transmit to this station on a link at `now`.
    #[inline]
    pub(super) fn may_be_asked(&self, link: usize, now: SimTime) -> bool {
        self.uses(link) && self.radio.as_ref().is_none_or(|radio| radio.may_be_asked(link, now))
    }

    /// True if this station may transmit on a link at `now`.
    #[inline]
    pub(super) fn may_send(&self, link: usize, now: SimTime) -> bool {
        self.uses(link) && self.radio.as_ref().is_none_or(|radio| radio.may_send(link, now))
    }

    /// True if the transmitter of a direction may transmit on a link at `now`.
    pub(super) fn may_use(&self, direction: usize, link: usize, now: SimTime) -> bool {
        if direction == DOWN { self.may_be_asked(link, now) } else { self.may_send(link, now) }
    }
}

impl Wlan {
    /// Direction, station and single radio of an index into `ways`; `None` without EMLSR.
    fn radio_of(&mut self, way: usize) -> Option<(usize, usize, &mut SingleRadio)> {
        let (direction, station, _) = self.place(way);
        let radio = self.stations[station].radio.as_deref_mut()?;
        Some((direction, station, radio))
    }

    /// Updates radios when an exchange begins without a collision; returns false if the addressed station does not
    /// answer.
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
            // The exchange continues a transmission opportunity.
            return true;
        }
        let is_read = radio.sends.is_none() && (at >= radio.listens_from || radio.on == Some(link));
        self.on_asking(at, station, link, is_read);
        is_read
    }

    /// Records that the access point sends an initial control frame to a station; `is_read` if the station decodes it.
    pub(super) fn on_asking(&mut self, at: SimTime, station: usize, link: usize, is_read: bool) {
        let Some(radio) = self.stations[station].radio.as_mut() else { return };
        radio.asked = Some(Asked { link, at, is_read });
        if is_read {
            self.turn_at(station, Some(at + SLOT));
        }
    }

    /// Records that a station begins to transmit on a link, which the access point knows from the time `known` on. An
    /// initial control frame on another link that the station has not noticed goes unanswered.
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

    /// Ends an exchange whose initial control frame is not answered.
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

    /// Releases the radio after an acknowledged exchange, unless the next exchange on its link continues with the same
    /// station.
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

    /// Releases the radio after an exchange without an acknowledgement.
    pub(super) fn part_unanswered(&mut self, now: SimTime, way: Option<usize>) {
        let Some(way) = way.filter(|_| self.has_single_radios) else { return };
        let Some((direction, station, radio)) = self.radio_of(way) else { return };
        if direction == DOWN && radio.asked.is_some_and(|asked| !asked.is_read) {
            // The station never joined the exchange.
            radio.asked = None;
            return;
        }
        let is_known = direction == DOWN || radio.sends.is_some_and(|(_, known)| known <= now);
        let until = now + radio.config.transition;
        self.leave(station, until, is_known);
    }

    /// Ends the exchange of a station, which listens on all links from `until` on; `is_known` if the access point knows
    /// of that.
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

    /// Runs the due changes of radios: a station notices an initial control frame, or listens on all links again.
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
                    // The frame came, in a continued TXOP, just as the transition delay ended.
                    self.listen_anew(now, station);
                }
                self.deafen(now, station, asked.link);
            } else {
                self.turn_at(station, None);
                self.listen_anew(now, station);
            }
        }
    }

    /// Switches the radio of a station to one link; on the others its backoff counters are suspended.
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

    /// Lets the radio of a station listen on all links again.
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

    /// A decoded frame on a link restores the synchronization of the stations that listen there.
    fn synchronize(&mut self, link: usize) {
        for radio in self.stations.iter_mut().filter_map(|station| station.radio.as_mut()) {
            if radio.on.is_none_or(|on| on == link) {
                radio.unsynchronized_until[link] = SimTime::ZERO;
            }
        }
    }
}
