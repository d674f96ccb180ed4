//! Reaction to losses and marks (RFC 9002 section 7, appendices A.10, B.6 to B.8).

use super::episode::{Episode, LostRun};
use super::{LEAST_WINDOW, QuicSender};
use crate::congestion::Phase;
use crate::outcome::Expired;
use crate::segment::AckFrame;
use crossfade_core::SimTime;

/// Losses found by one run of loss detection.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    first: u64,
    /// Number of the newest lost packet; `None` if none is lost.
    newest: Option<u64>,
    /// Number of lost packets.
    count: u64,
    persistent: bool,
}

impl QuicSender {
    pub(crate) fn on_timeout(&mut self, now: SimTime) -> Option<Expired> {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            if self.loss_time.is_some() {
                self.find_losses(now);
                self.tell_phase(now);
                return Some(Expired::Reordering);
            }
            // Section 6.2.4: a probe timeout marks no packet as lost, and the window stays.
            self.statistics.timeouts += 1;
            self.round_trip.back_off();
            self.probes = self.config.probes.max(1);
            self.probe_from = 0;
            // The next timeout counts from the probes, or from now if no probe leaves.
            self.last_sent = Some(now);
            return Some(Expired::Retransmission);
        }
        let opens_at = self.opens_at()?;
        (opens_at <= now).then(|| {
            self.wait_for_pacer(false);
            Expired::Pacing
        })
    }

    /// Detects losses and reacts to them. Returns true if a recovery starts; persistent congestion starts none.
    pub(super) fn find_losses(&mut self, now: SimTime) -> bool {
        let losses = self.detect_losses(now);
        let Some(newest) = losses.newest else { return false };
        self.tell_losses(now);
        let window = self.congestion.cwnd();
        let begins = newest >= self.recovery_end;
        if losses.persistent {
            self.on_persistent_congestion(now, window, begins);
        } else if begins {
            self.statistics.fast_retransmits += 1;
            self.episode = Some(Episode { first: losses.first, missing: losses.count });
            self.congestion.on_loss(now, window);
            self.start_recovery();
        } else if let Some(episode) = &mut self.episode {
            episode.missing += losses.count;
        }
        if self.phase == Phase::Recovery {
            self.phase_end = self.sent.next_number();
        }
        begins && !losses.persistent
    }

    /// Detects losses (RFC 9002 appendix A.10). Later packets have waited less than earlier ones, so the oldest packet
    /// in flight decides whether any is lost by time.
    fn detect_losses(&mut self, now: SimTime) -> Losses {
        self.loss_time = None;
        let mut losses = Losses::default();
        let Some(largest) = self.largest_acked else { return losses };
        let delay = self.round_trip.loss_delay();
        while let Some((number, packet)) = self.sent.oldest().filter(|(number, _)| *number < largest) {
            let lost_at = packet.sent_at.saturating_add(delay);
            if lost_at > now && number.saturating_add(self.config.packet_threshold) > largest {
                self.loss_time = Some(lost_at);
                break;
            }
            self.sent.on_lost(number, now);
            self.stream.on_lost(packet.seq, number);
            if losses.count == 0 {
                losses.first = number;
            }
            losses.newest = Some(number);
            losses.count += 1;
            if let Some((first_rtt_at, duration)) = self.round_trip.persistent() {
                losses.persistent |= self.lost_run.add(number, packet.sent_at, first_rtt_at) > duration;
            }
        }
        // Keep lost packets as long as reordering may last, then forget them.
        if self.sent.remembers_lost() {
            let memory = self.round_trip.probe_timeout().saturating_mul(3);
            self.sent.forget_lost(now.saturating_sub(memory));
        }
        losses
    }

    /// Starts a congestion event (RFC 9002 appendix B.6): losses of packets sent before now belong to it.
    fn start_recovery(&mut self) {
        self.recovery_end = self.sent.next_number();
        self.phase_end = self.recovery_end;
        self.phase = Phase::Recovery;
        self.keep_least_window();
    }

    /// Reacts to persistent congestion (RFC 9002 section 7.6.2): minimum window, slow start up to the threshold that
    /// the losses leave, no recovery.
    fn on_persistent_congestion(&mut self, now: SimTime, window: f64, is_new: bool) {
        self.statistics.persistent_congestions += 1;
        if is_new {
            self.congestion.on_timeout(now, window);
        }
        self.set_cwnd(LEAST_WINDOW);
        self.lost_run = LostRun::default();
        self.episode = None;
        self.recovery_end = 0;
        self.phase_end = self.sent.next_number();
        self.phase = Phase::Loss;
        // Every occurrence is reported, however many follow each other.
        self.told_phase = Phase::Open;
    }

    /// Reacts to `ce` new marks of packets up to `largest` like to a loss (RFC 9002 appendix B.7). A scalable
    /// congestion control reacts to marks itself.
    pub(super) fn on_marks(&mut self, now: SimTime, ce: u64, largest: u64) {
        if ce > 0 && !self.needs.ect_1 && largest >= self.recovery_end {
            self.statistics.ecn_reductions += 1;
            self.episode = None;
            self.congestion.on_ecn(now, self.congestion.cwnd());
            self.start_recovery();
        }
    }

    /// Records packets acknowledged by `frame` that had been found lost.
    pub(super) fn on_late_arrivals(&mut self, frame: &AckFrame) {
        if !self.sent.remembers_lost() {
            return;
        }
        for range in &frame.ranges {
            while let Some((number, lost)) = self.sent.take_lost(range.start, range.end) {
                self.statistics.spurious_losses += 1;
                self.stream.on_arrived(lost.seq);
                self.lost_run.on_arrival(number);
                if let Some(episode) = &mut self.episode
                    && (episode.first..self.recovery_end).contains(&number)
                {
                    episode.missing -= 1;
                }
            }
        }
    }

    /// Undoes the last reduction if all the packets that caused it have arrived.
    pub(super) fn take_back_if_spurious(&mut self) {
        if self.episode.take_if(|episode| episode.missing == 0).is_none() {
            return;
        }
        self.statistics.spurious_fast_retransmits += 1;
        if self.config.undo {
            self.congestion.undo();
            self.recovery_end = 0;
            self.phase = Phase::Open;
        }
    }

    fn keep_least_window(&mut self) {
        if self.congestion.cwnd() < LEAST_WINDOW {
            self.set_cwnd(LEAST_WINDOW);
        }
    }

    /// Sets the window to `cwnd` packets, unless congestion control sets its own.
    fn set_cwnd(&mut self, cwnd: f64) {
        if !self.needs.own_window {
            self.congestion.set_cwnd(cwnd);
        }
    }
}
