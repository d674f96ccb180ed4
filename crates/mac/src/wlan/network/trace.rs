//! Events of the network: frames on the air, and the verdict on each MPDU.

use super::flight::Flight;
use super::{ACCESS_POINT, DOWN, Wlan};
use crossfade_core::SimTime;
use crossfade_link::{LinkEvent, Verdict};

impl Wlan {
    pub(super) fn is_traced(&self) -> bool {
        self.logs[DOWN].is_kept()
    }

    /// Transmitting and receiving node of an index into `ways`.
    pub(super) fn nodes(&self, way: usize) -> [u16; 2] {
        let (direction, station, _) = self.place(way);
        let ends = [ACCESS_POINT as u16, station as u16 + 1];
        if direction == DOWN { ends } else { [ends[1], ends[0]] }
    }

    pub(super) fn trace_air(
        &mut self,
        link: usize,
        way: usize,
        [at, end]: [SimTime; 2],
        kind: &'static str,
        is_answer: bool,
    ) {
        let [from, to] = self.nodes(way);
        let (direction, _, _) = self.place(way);
        let (node, to) = if is_answer { (to, from) } else { (from, to) };
        let frame = self.frames[usize::from(node)];
        self.frames[usize::from(node)] += 1;
        let bin = self.bin(link);
        self.logs[direction].push(|| LinkEvent::Air {
            at,
            end,
            node,
            frame,
            kind,
            to,
            nulls: Vec::new(),
            bin,
        });
    }

    /// Number of the link for events; `None` in a network without multi-link devices.
    fn bin(&self, link: usize) -> Option<u8> {
        (!self.config.links.is_empty()).then_some(link as u8)
    }

    /// Traces RTS or initial control frame, and CTS, of an exchange.
    pub(super) fn trace_ahead(&mut self, flight: &Flight, way: usize) {
        let Some(ahead) = flight.ahead else { return };
        let sifs = self.airs[flight.link].band().sifs();
        let at = flight.begins - ahead.lasts;
        let cts = at + ahead.frame + sifs;
        self.trace_air(flight.link, way, [at, at + ahead.frame], ahead.kind(), false);
        self.trace_air(flight.link, way, [cts, cts + ahead.cts], "cts", true);
    }

    pub(super) fn trace_mpdus(&mut self, way: usize, flight: &Flight, was_sent: bool) {
        let (direction, station, _) = self.place(way);
        let scheme = Some(self.stations[station].end(flight.link).modes[flight.rate].name());
        let bin = self.bin(flight.link);
        for mpdu in flight.mpdus.iter().filter(|_| was_sent) {
            let verdict = if mpdu.is_read { Verdict::Good } else { Verdict::Lost };
            let (frame, attempt, snr_db) = (mpdu.number, mpdu.attempt, mpdu.snr_db);
            let (at, user) = (flight.begins, station as u16);
            self.logs[direction].push(|| LinkEvent::Frame {
                at,
                user,
                frame,
                attempt,
                scheme,
                snr_db,
                verdict,
                bin,
            });
        }
    }
}

/// Name of an exchange's data frame in events.
pub(super) fn kind_of(flight: &Flight) -> &'static str {
    if flight.bar.is_some() { "bar" } else { "data" }
}
