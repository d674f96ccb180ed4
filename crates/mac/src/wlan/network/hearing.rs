//! Records PPDUs for captures, as a radio would that hears all stations; PPDUs of neighbouring networks are left out.

use super::flight::{Ahead, Flight};
use super::{BAR_BYTES, Wlan};
use crate::wlan::modes::{Band, Mode, Standard};
use crate::wlan::ru::Layout;
use crossfade_core::SimTime;
use crossfade_link::{
    Ppdu, PpduBlock, PpduContent, PpduFormat, PpduMpdu, PpduRate, PpduTrigger, PpduTriggered,
};

impl Wlan {
    pub(super) fn is_heard(&self) -> bool {
        self.heard.is_some()
    }

    pub(super) fn hear(&mut self, ppdu: Ppdu) {
        if let Some(heard) = &mut self.heard {
            heard.push_back(ppdu);
        }
    }

    /// Records RTS or initial control frame, and CTS, before the data of an exchange.
    pub(super) fn hear_ahead(&mut self, flight: &Flight, way: usize) {
        let Some(ahead) = flight.ahead else { return };
        self.hear_first(flight, way, ahead, false);
        let [to, from] = self.nodes(way);
        let (data, sifs) = (self.mode(flight, way), self.airs[flight.link].band().sifs());
        let control = if ahead.is_initial { data.slowest_control() } else { data.control() };
        let announced = sifs + flight.lasts + self.after_data(flight, way);
        let at = flight.begins - ahead.lasts + ahead.frame + sifs;
        let (rate, collided, content) = (rate(control), false, PpduContent::Cts);
        self.hear(Ppdu { at, end: at + ahead.cts, from, to, announced, rate, collided, content });
    }

    /// Records the RTS or initial control frame of an exchange.
    pub(super) fn hear_first(&mut self, flight: &Flight, way: usize, ahead: Ahead, collided: bool) {
        let [from, to] = self.nodes(way);
        let (data, sifs) = (self.mode(flight, way), self.airs[flight.link].band().sifs());
        let announced = sifs + ahead.cts + sifs + flight.lasts + self.after_data(flight, way);
        let at = flight.begins - ahead.lasts;
        let (_, station, category) = self.place(way);
        let config = self.stations[station].radio.as_ref().map(|radio| radio.config);
        let (rate, content) = match config.filter(|_| ahead.is_initial) {
            None => (rate(data.control()), PpduContent::Rts),
            Some(config) => {
                let layout = Layout::halved(data.width_mhz(), 1);
                let user = PpduTriggered {
                    node: station as u16 + 1,
                    ru_allocation: layout.rus()[0].allocation(),
                    mcs: 0,
                    streams: 1,
                    tid: self.config.categories[category].priority,
                    start: 0,
                };
                let (kind, lasts, users) = (PpduTrigger::Cts, ahead.cts, vec![user]);
                let padding = config.padding_bytes(data);
                let rate = PpduRate { width_mhz: data.width_mhz(), ..rate(config.initial_mode(data)) };
                (rate, PpduContent::Trigger { kind, lasts, users, padding })
            }
        };
        self.hear(Ppdu { at, end: at + ahead.frame, from, to, announced, rate, collided, content });
    }

    /// Records a colliding exchange: its RTS or initial control frame alone, or its data.
    pub(super) fn hear_collision(&mut self, flight: &Flight, way: usize) {
        match flight.ahead {
            Some(ahead) => self.hear_first(flight, way, ahead, true),
            None => self.hear_data(flight, way, true),
        }
    }

    /// Records data or a BAR.
    pub(super) fn hear_data(&mut self, flight: &Flight, way: usize, collided: bool) {
        let [from, to] = self.nodes(way);
        let mode = self.mode(flight, way);
        let mode = if flight.bar.is_some() { mode.control() } else { mode };
        let content = self.content(flight, way);
        let (at, end) = (flight.begins, flight.begins + flight.lasts);
        let announced = self.after_data(flight, way);
        self.hear(Ppdu { at, end, from, to, announced, rate: rate(mode), collided, content });
    }

    /// Content of a PPDU with the data or the BAR of an exchange.
    pub(super) fn content(&self, flight: &Flight, way: usize) -> PpduContent {
        let (_, station, category) = self.place(way);
        let tid = self.config.categories[category].priority;
        if let Some(start) = flight.bar {
            return PpduContent::BlockAckRequest { tid, start };
        }
        let is_aggregate = !matches!(self.mode(flight, way).standard(), Standard::A | Standard::G);
        let mpdus = flight.mpdus.iter().map(|mpdu| PpduMpdu {
            number: mpdu.number,
            attempt: mpdu.attempt,
            parcel: mpdu.parcel,
        });
        PpduContent::Data {
            tid: is_aggregate.then_some(tid),
            is_aggregate,
            is_acked_alone: self.stations[station].limits.window == 1,
            mpdus: mpdus.collect(),
        }
    }

    /// Records the acknowledgement of an exchange whose data ended at `now`: the MPDUs that the recipient has.
    pub(super) fn hear_answer(&mut self, now: SimTime, flight: &Flight, way: usize) {
        let [to, from] = self.nodes(way);
        let (_, station, _) = self.place(way);
        let window = self.stations[station].limits.window;
        let content = if window == 1 {
            PpduContent::Ack
        } else {
            let PpduBlock { tid, start, has } = self.block(way);
            PpduContent::BlockAck { tid, start, has }
        };
        let (at, end) = (now + self.airs[flight.link].band().sifs(), now + self.after_data(flight, way));
        let rate = rate(self.mode(flight, way).control());
        let (announced, collided) = (SimTime::ZERO, false);
        self.hear(Ppdu { at, end, from, to, announced, rate, collided, content });
    }

    /// Content of a block acknowledgement by the recipient of `way`.
    pub(super) fn block(&self, way: usize) -> PpduBlock {
        let (_, station, category) = self.place(way);
        let of = &self.ways[way];
        let start = of.originator.start();
        let bits = u64::from(self.stations[station].answer_bytes - BAR_BYTES) * 8;
        let has = (start..start + bits).map(|number| of.recipient.has(number)).collect();
        PpduBlock { tid: self.config.categories[category].priority, start, has }
    }

    fn mode(&self, flight: &Flight, way: usize) -> Mode {
        self.stations[self.place(way).1].end(flight.link).modes[flight.rate]
    }

    /// Duration of SIFS and the acknowledgement after the data.
    fn after_data(&self, flight: &Flight, way: usize) -> SimTime {
        self.airs[flight.link].band().sifs()
            + self.stations[self.place(way).1].end(flight.link).answers[flight.rate]
    }
}

/// Transmission parameters of a mode for captures and events.
pub(super) fn rate(mode: Mode) -> PpduRate {
    PpduRate {
        format: match mode.standard() {
            Standard::A | Standard::G => PpduFormat::Ofdm,
            Standard::N => PpduFormat::Ht,
            Standard::Ac => PpduFormat::Vht,
            Standard::Ax => PpduFormat::He,
            Standard::Be => PpduFormat::Eht,
        },
        mcs: mode.mcs(),
        streams: mode.streams(),
        width_mhz: mode.width_mhz(),
        guard_interval_ns: mode.guard_interval_ns(),
        bps: mode.rate_bps(),
        band_ghz: match mode.band() {
            Band::Ghz2 => 2,
            Band::Ghz5 => 5,
            Band::Ghz6 => 6,
        },
        ru_tones: None,
    }
}
