//! Choice of the next segment of the sender of flavour `rfc`, and permission to send it.

use super::offload::{LARGEST, Packet};
use super::pacer::{quantum, usual_rate};
use super::{Phase, RfcSender};
use crate::segment::Segment;
use crossfade_core::SimTime;

/// Maximum time since the last transmission, and until the next acknowledgement, for which a lone segment waits for
/// others.
const SOON: SimTime = SimTime::from_millis(1);
/// Inverse share of the window from which segments leave without waiting for others: a third (`tcp_tso_win_divisor`).
const WIN_DIVISOR: u64 = 3;

/// Number of whole segments in a window of `cwnd`. Conversion by way of a signed number is faster by a third.
fn whole(cwnd: f64) -> u64 {
    u64::try_from(cwnd as i64).unwrap_or(0)
}

impl RfcSender {
    pub(crate) fn poll_transmit(&mut self, now: SimTime) -> Option<Segment> {
        self.restart_after_idle(now);
        if self.pacer.is_some() && self.is_held_back(now) {
            return None;
        }
        let seq = self.forced().or_else(|| self.choose(now))?;
        let retransmission = seq < self.flight.snd_max();
        if retransmission {
            self.statistics.retransmissions += 1;
            // Karn's rule (RFC 6298 section 3).
            self.timed = self.timed.filter(|(timed, _)| *timed < seq);
            if let Some(episode) = &mut self.episode {
                episode.on_repetition(seq, now);
            }
        } else if self.timed.is_none() {
            self.timed = Some((seq, now));
        }
        if self.fixed.needs.samples {
            self.tell_send(now);
        }
        self.flight.on_sent(seq, now);
        self.window_use.on_sent(self.flight.snd_una(), self.flight.snd_max());
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
        if self.policy.timers.repetition_restarts && retransmission && seq == self.flight.snd_una() {
            // The retransmission gets a whole timeout.
            self.rto.restart(now, true);
        } else {
            self.rto.on_sent(now);
        }
        if !retransmission {
            self.schedule_probe(now);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
        // Bursts need no accounting if no segment waits for them and none carries PSH.
        let has_packets = self.config.rfc.push_acks || self.policy.window.leaves_in_packets;
        let ends_packet = has_packets && !retransmission && self.ends_packet(now);
        self.last_sent = Some(now);
        Some(Segment {
            seq,
            number: 0,
            retransmission,
            timestamp: now,
            echo: self.echo,
            // RFC 3168 section 6.1.5: retransmissions are not ECN-capable; those of a scalable sender are (RFC 8311
            // section 4.3).
            ecn_capable: self.ecn.enabled() && (!retransmission || self.fixed.needs.ect_1),
            l4s: self.ecn.enabled() && self.fixed.needs.ect_1,
            cwr: !retransmission && self.ecn.take_cwr(),
            push: self.config.rfc.push_acks && ends_packet,
        })
    }

    /// True if a new segment waits for the next acknowledgement, so that more segments leave together
    /// (`tcp_tso_should_defer`): if less than a whole offloaded packet and less than a third of the window may leave,
    /// the last transmission was shortly before (with pacing: the next one was due), and the acknowledgement of the
    /// oldest segment is due. A packet whose first segment has left does not wait.
    fn waits_for_company(&self, now: SimTime, under_way: u64, window: u64) -> bool {
        let last = self.pacer.map_or(self.last_sent, |pacer| Some(pacer.due()));
        if !self.policy.window.leaves_in_packets
            || self.phase != Phase::Open
            || last.is_none_or(|at| now.saturating_sub(at) > SOON)
            || self.packet.is_open(now)
        {
            return false;
        }
        let allowed = self.right_edge.map_or(u64::MAX, |edge| edge.saturating_sub(self.flight.snd_una()));
        let receiver = allowed.min(u64::from(self.config.w_max));
        let room = (window - under_way).min(receiver - self.flight.size().min(receiver));
        let unsent = self.available - self.flight.snd_max();
        let is_some = room > 0 && unsent > 1 && WIN_DIVISOR * room < window.min(receiver);
        if !is_some || room >= self.most_in_packet() {
            return false;
        }
        let (Some(sent_at), Some(srtt)) = (self.flight.oldest_sent_at(), self.rto.srtt()) else {
            return false;
        };
        sent_at.saturating_add(srtt) <= now.saturating_add(SOON)
    }

    /// Records that a new segment has left. Returns true if it is the last of an offloaded packet of two or more
    /// segments, or of the application's data; such segments carry PSH.
    fn ends_packet(&mut self, now: SimTime) -> bool {
        if !self.packet.is_open(now) {
            // State before the segment left.
            let cwnd = whole(self.congestion.cwnd());
            let room = cwnd.saturating_add(1).saturating_sub(self.pipe());
            let unsent = self.available - self.flight.snd_max() + 1;
            // A window consists of at least two packets (`tcp_cwnd_test`).
            let size = room.clamp(1, (cwnd / 2).max(1)).min(self.most_in_packet()).min(unsent);
            self.packet = Packet::begin(now, size);
        }
        self.packet.on_sent() || self.flight.snd_max() == self.available
    }

    /// Maximum number of segments in an offloaded packet, by the pacing rate or the rate that pacing would have
    /// (`tcp_tso_autosize`).
    fn most_in_packet(&self) -> u64 {
        let pacing = self.config.rfc.pacing.unwrap_or_default();
        let srtt = self.rto.srtt();
        let usual = || srtt.map(|srtt| usual_rate(&pacing, &*self.congestion, self.flight.size(), srtt));
        let rate = self.congestion.pacing_rate().or_else(usual);
        quantum(Some(&pacing), &*self.congestion, rate).clamp(1, LARGEST)
    }

    /// Takes the segment that leaves regardless of the window; `None` if there is none, or if it has arrived meanwhile.
    fn forced(&mut self) -> Option<u64> {
        let seq = self.force.take()?;
        let is_missing = self.flight.fate(seq).is_some_and(|fate| fate != super::flight::Fate::Sacked);
        (is_missing || self.next_new() == Some(seq)).then_some(seq)
    }

    /// Chooses the next segment that the window allows.
    fn choose(&mut self, now: SimTime) -> Option<u64> {
        let cwnd = whole(self.congestion.cwnd());
        if self.frto.budget().is_some() {
            return self.choose_as_proof(cwnd);
        }
        let (under_way, window) = self.use_of_window(cwnd);
        if under_way >= window || self.waits_for_company(now, under_way, window) {
            self.window_use.on_limited(self.flight.snd_max());
            return None;
        }
        let chosen = match self.phase {
            Phase::Open => {
                let is_limited = self.flight.size() >= cwnd;
                self.next_new().inspect(|_| self.limited_sent += u64::from(is_limited))
            }
            Phase::Recovery if self.counts_duplicates() => {
                self.flight.next_lost().or_else(|| self.next_new())
            }
            Phase::Recovery if !self.uses_sack() => self.next_new(),
            Phase::Recovery | Phase::Loss => self.next_segment_with_sack(),
        };
        if chosen.is_none() {
            self.note_lack_of_data();
        }
        chosen
    }

    /// True if the window allows no further segment.
    pub(super) fn is_window_full(&self) -> bool {
        let (under_way, window) = self.use_of_window(whole(self.congestion.cwnd()));
        under_way >= window
    }

    /// Number of segments in flight, and their limit if the next segment is to leave.
    fn use_of_window(&self, cwnd: u64) -> (u64, u64) {
        let size = self.flight.size();
        let limited_transmit = self.config.limited_transmit;
        match self.phase {
            // RFC 3042: reported segments have left the pipe, so each report releases a new segment.
            Phase::Open if (self.uses_sack() || self.counts_duplicates()) && limited_transmit => {
                (self.pipe(), cwnd)
            }
            // RFC 3042: at most cwnd + 2 segments outstanding.
            Phase::Open if limited_transmit => {
                (size, cwnd + u64::from(self.dupacks.min(self.config.dupthresh - 1)))
            }
            Phase::Open => (size, cwnd),
            Phase::Recovery if !self.uses_sack() && !self.counts_duplicates() => (size, cwnd),
            Phase::Recovery | Phase::Loss => (self.pipe(), cwnd),
        }
    }

    /// Chooses the next segment after a timeout that F-RTO is examining.
    #[cold]
    fn choose_as_proof(&mut self, cwnd: u64) -> Option<u64> {
        if self.policy.undo.proof_asks_window && self.pipe() >= cwnd {
            return None;
        }
        // RFC 5682 section 2.1 step 2b: up to two new segments, and no retransmission.
        let budget = self.frto.budget()?;
        *budget = budget.checked_sub(1)?;
        self.next_new()
    }

    /// Next new segment; `None` if the application has none or the receiver's window does not allow it.
    pub(super) fn next_new(&self) -> Option<u64> {
        let seq = self.flight.snd_max();
        let in_window = self.flight.size() < u64::from(self.config.w_max)
            && self.right_edge.is_none_or(|edge| seq < edge);
        (in_window && seq < self.available).then_some(seq)
    }

    /// Moves the right edge of the receiver's window to `edge`, but never back (RFC 9293 section 3.8.6.2.1).
    pub(super) fn widen(&mut self, edge: u64) {
        self.right_edge = self.right_edge.max(Some(edge));
    }

    /// Reduces the window to the restart window after an idle time of one timeout, when the acknowledgement clock has
    /// stopped (RFC 5681 section 4.1).
    fn restart_after_idle(&mut self, now: SimTime) {
        let Some(last_sent) = self.last_sent else { return };
        if self.flight.size() > 0 || self.next_new().is_none() {
            return;
        }
        let idle = now.saturating_sub(last_sent);
        if self.config.rfc.restart_after_idle && !self.fixed.needs.own_window && idle > self.rto.current() {
            self.congestion.on_idle_end(now, idle);
            let restart_window = self.congestion.cwnd().min(self.config.initial_window);
            self.set_cwnd(restart_window);
        }
        self.last_sent = None;
    }
}
