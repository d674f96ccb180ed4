//! Choice of the next segment that QUIC's sender puts into a packet.

use super::{LEAST_WINDOW, QuicSender};
use crate::segment::Segment;
use crossfade_core::SimTime;

impl QuicSender {
    pub(crate) fn poll_transmit(&mut self, now: SimTime) -> Option<Segment> {
        self.end_idle(now);
        let seq = match self.probe() {
            Some(seq) => seq,
            None => self.choose(now)?,
        };
        self.tell_send(now);
        let retransmission = seq < self.stream.next();
        let number = self.sent.on_sent(seq, now);
        self.stream.on_sent(seq, number);
        self.statistics.retransmissions += u64::from(retransmission);
        let oldest = self.sent.oldest().map_or(number, |(oldest, _)| oldest);
        self.window_use.on_sent(oldest, number + 1);
        self.last_sent = Some(now);
        self.pace(now);
        let ecn = self.config.ecn;
        Some(Segment {
            seq,
            number,
            retransmission,
            timestamp: now,
            // RFC 9000 section 13.4.1: every packet is ECN-capable, including retransmissions.
            ecn_capable: ecn,
            l4s: ecn && self.needs.ect_1,
            ..Segment::default()
        })
    }

    /// Chooses the segment that a probe carries regardless of the window: a lost one, or new data, or the segment
    /// unacknowledged for longest (RFC 9002 section 6.2.4).
    fn probe(&mut self) -> Option<u64> {
        self.probes = self.probes.checked_sub(1)?;
        self.next_data().or_else(|| {
            let seq = self.stream.next_sent(self.probe_from)?;
            self.probe_from = seq + 1;
            Some(seq)
        })
    }

    /// Chooses the next segment that the window and the pacer allow.
    fn choose(&mut self, now: SimTime) -> Option<u64> {
        let seq = self.next_data();
        let window = self.congestion.cwnd().max(LEAST_WINDOW);
        let is_full = self.in_flight() >= window as u64;
        if seq.is_none() {
            if !is_full {
                self.note_lack_of_data();
            }
            self.wait_for_pacer(false);
            return None;
        }
        // Section 7.8: a sender that waits for the pacer is not application-limited.
        if is_full || !self.may_burst(now) {
            self.window_use.on_limited(self.sent.next_number());
            self.wait_for_pacer(!is_full);
            return None;
        }
        seq
    }

    /// Chooses the lowest lost segment, or else a new one if the application and the stream's credit allow it.
    fn next_data(&mut self) -> Option<u64> {
        let (next, end) = (self.stream.next(), self.stream.una() + u64::from(self.config.w_max));
        self.stream.next_lost().or((next < self.available.min(end)).then_some(next))
    }

    /// True if a packet may leave at `now` without a pacer: at most the initial window leaves at once, unless nothing
    /// is in flight (RFC 9002 section 7.7).
    fn may_burst(&self, now: SimTime) -> bool {
        let most = self.config.initial_window.max(LEAST_WINDOW) as u64;
        let is_short = self.burst.0 != now || self.burst.1 < most || self.in_flight() == 0;
        self.pacer.map_or(is_short, |pacer| pacer.is_open(now))
    }

    /// Reports the end of an idle period to congestion control, which may depend on elapsed time; the window is
    /// unchanged.
    fn end_idle(&mut self, now: SimTime) {
        let Some(last) = self.last_sent.filter(|_| self.in_flight() == 0) else { return };
        let idle = now.saturating_sub(last);
        if idle > self.round_trip.probe_timeout() && self.next_data().is_some() {
            self.congestion.on_idle_end(now, idle);
            self.last_sent = None;
        }
    }
}
