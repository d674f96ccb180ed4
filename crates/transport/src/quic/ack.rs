//! Processing of an acknowledgement at the sender (RFC 9002 appendix A.7).

use super::QuicSender;
use crate::congestion::{AckSample, Phase};
use crate::outcome::AckOutcome;
use crate::segment::{Ack, AckFrame};
use crossfade_core::SimTime;

/// Facts that an acknowledgement reports for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Number of packets in flight that the acknowledgement reports for the first time.
    acked: u64,
    /// Number of newly acknowledged packets sent after the last congestion event.
    after_event: u64,
    /// Number of the newest packet newly acknowledged.
    newest: Option<u64>,
    /// RTT sample; `None` if the acknowledgement gives none.
    rtt: Option<SimTime>,
}

impl QuicSender {
    pub(crate) fn on_ack(&mut self, now: SimTime, ack: &Ack) -> AckOutcome {
        let Some(frame) = ack.frame.as_deref() else { return AckOutcome::Stale };
        let Some(largest) = frame.largest().filter(|largest| *largest < self.sent.next_number()) else {
            return AckOutcome::Stale;
        };
        let (prior_in_flight, prior_lost) = (self.in_flight(), self.lost_so_far());
        self.largest_acked = self.largest_acked.max(Some(largest));
        self.on_late_arrivals(frame);
        let news = self.read(now, frame, largest);
        if news.acked == 0 {
            self.take_back_if_spurious();
            return AckOutcome::Stale;
        }
        self.round_trip.end_back_off();
        self.probes = 0;
        let ce = self.count_marks(frame);
        self.on_marks(now, ce, largest);
        self.take_back_if_spurious();
        let begins = self.find_losses(now);
        let ends = self.phase != Phase::Open && news.newest >= Some(self.phase_end);
        if ends {
            self.phase = Phase::Open;
        }
        self.tell_phase(now);
        self.tell_delivery(now, prior_in_flight, prior_lost, ce);
        self.grow(now, &news);
        match (begins, ends) {
            (true, _) => AckOutcome::FastRetransmit,
            (false, true) => AckOutcome::RecoveryEnd,
            (false, false) => AckOutcome::New,
        }
    }

    /// Removes the packets that `frame` newly acknowledges from the flight, and takes the RTT sample.
    fn read(&mut self, now: SimTime, frame: &AckFrame, largest: u64) -> News {
        let mut news = News::default();
        for range in frame.ranges.iter().rev() {
            let mut next = self.sent.next_in_flight(range.start);
            while let Some(number) = next.filter(|number| *number < range.end) {
                let packet = self.sent.on_acked(number);
                self.stream.on_arrived(packet.seq);
                news.acked += 1;
                news.after_event += u64::from(number >= self.recovery_end);
                news.newest = Some(number);
                if number == largest {
                    // Section 5.1: take an RTT sample only if the largest packet is newly acknowledged.
                    let rtt = now.saturating_sub(packet.sent_at);
                    news.rtt = Some(rtt);
                    self.rtt_sum_s += rtt.as_secs_f64();
                    self.rtt_samples += 1;
                    self.round_trip.on_sample(now, rtt, frame.delay);
                }
                next = self.sent.next_in_flight(number + 1);
            }
        }
        news
    }

    /// Number of CE marks that this acknowledgement reports for the first time.
    fn count_marks(&mut self, frame: &AckFrame) -> u64 {
        // A reordered acknowledgement reports a lower count.
        let newly = frame.ce.wrapping_sub(self.ce_seen);
        if !self.config.ecn || newly > u32::MAX / 2 {
            return 0;
        }
        self.ce_seen = frame.ce;
        newly.into()
    }

    /// Grows the window by the acknowledged packets sent after the last congestion event, if the window and not the
    /// application limited the sender (section 7.8).
    fn grow(&mut self, now: SimTime, news: &News) {
        let Some(newest) = news.newest else { return };
        // This acknowledgement may have started a congestion event, or shown the last one to be spurious.
        let acked = match self.recovery_end {
            0 => news.acked,
            end if newest < end => return,
            _ => news.after_event,
        };
        let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        self.congestion.on_ack(&AckSample {
            now,
            acked,
            rtt: news.rtt,
            next_expected: newest + 1,
            snd_max: self.sent.next_number(),
            cwnd_limited: self.window_use.is_limited(newest + 1, cwnd, ssthresh),
        });
    }
}
