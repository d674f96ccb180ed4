//! Delivery-rate samples: segments delivered between the departure of a segment and its acknowledgement
//! (draft-cheng-iccrg-delivery-rate-estimation-02 section 3, as in draft-ietf-ccwg-bbr section 4.1). Counts are in
//! segments.

use crate::congestion::{LostSegment, RateSample};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// State of the connection when a segment left, saved with each transmission.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: SimTime,
    delivered: u64,
    delivered_time: SimTime,
    first_send_time: SimTime,
    lost: u64,
    ce: u64,
    /// Number of segments in flight at the transmission, itself included.
    in_flight: u64,
    app_limited: bool,
}

/// Delivery accounting of a connection, from which delivery-rate samples are computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deliveries {
    /// Last transmission of each unacknowledged segment, from `snd_una` on.
    departures: VecDeque<Departure>,
    delivered: u64,
    delivered_time: SimTime,
    first_send_time: SimTime,
    lost: u64,
    /// Number of congestion marks reported since the start.
    ce: u64,
    /// Value of `delivered` up to which samples are application-limited; 0: none are.
    app_limited_until: u64,
    min_rtt: Option<SimTime>,
    /// Latest transmission that the current ACK shows to have arrived, and its segment number; `None` if it shows none.
    newest: Option<(Departure, u64)>,
    /// Departure of the latest original that the current ACK shows to have arrived; `None` if it shows none.
    newest_original: Option<SimTime>,
    newly_acked: u64,
    /// Segments found lost and not yet reported to congestion control.
    untold: Vec<LostSegment>,
}

impl Deliveries {
    /// True if segments sent now count as application-limited.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Records a transmission or retransmission of the segment `place` segments beyond `snd_una`; `in_flight` includes
    /// it.
    pub(crate) fn on_sent(&mut self, place: usize, now: SimTime, in_flight: u64) {
        if self.departures.is_empty() {
            // Idle time is not part of a sample.
            (self.first_send_time, self.delivered_time) = (now, now);
        }
        let departure = Departure {
            at: now,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            lost: self.lost,
            ce: self.ce,
            in_flight,
            app_limited: self.is_app_limited(),
        };
        match self.departures.get_mut(place) {
            Some(last) => *last = departure,
            None => self.departures.push_back(departure),
        }
    }

    /// Records that segment `seq`, `place` segments beyond `snd_una`, has newly arrived.
    pub(crate) fn on_arrival(&mut self, place: usize, seq: u64, ever_repeated: bool) {
        let Some(departure) = self.departures.get(place).copied() else { return };
        self.delivered += 1;
        self.newly_acked += 1;
        if self.newest.is_none_or(|(newest, last)| (newest.at, last) < (departure.at, seq)) {
            self.newest = Some((departure, seq));
        }
        if !ever_repeated {
            self.newest_original = self.newest_original.max(Some(departure.at));
        }
    }

    /// Records the arrival of a segment found lost whose departure is no longer stored.
    pub(crate) fn on_late_arrival(&mut self) {
        self.delivered += 1;
        self.newly_acked += 1;
    }

    /// Removes the departure of the oldest segment, which was acknowledged.
    pub(crate) fn pop(&mut self) {
        self.departures.pop_front();
    }

    /// Records that the segment `place` segments beyond `snd_una` was found lost.
    pub(crate) fn on_lost(&mut self, place: usize) {
        let Some(departure) = self.departures.get(place) else { return };
        self.lost += 1;
        self.untold.push(LostSegment {
            now: SimTime::ZERO,
            tx_in_flight: departure.in_flight,
            lost_since_sent: self.lost - departure.lost,
            prior_delivered: departure.delivered,
            app_limited: departure.app_limited,
        });
    }

    /// True if the last segment was sent while the connection was application-limited.
    pub(crate) fn was_last_app_limited(&self) -> bool {
        self.departures.back().is_some_and(|last| last.app_limited)
    }

    /// Takes the segments found lost since the last call, for the report to congestion control.
    pub(crate) fn take_lost(&mut self) -> Vec<LostSegment> {
        std::mem::take(&mut self.untold)
    }

    /// Number of segments found lost since the start.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Marks the connection as application-limited: with `in_flight` segments in flight the window has room, but there
    /// is no data to send.
    pub(crate) fn on_nothing_to_send(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Delivery-rate sample of an acknowledgement at `now` that echoes `timestamp` and reports `ce` new marks; the
    /// caller fills in the remaining fields.
    pub(crate) fn sample(&mut self, now: SimTime, timestamp: Option<SimTime>, ce: u64) -> RateSample {
        self.ce += ce;
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newly_acked = std::mem::take(&mut self.newly_acked);
        let sent = self.newest_original.take().or(timestamp.filter(|_| newly_acked > 0));
        let rtt = sent.map(|sent| now.saturating_sub(sent));
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let mut sample = RateSample {
            now,
            delivered: self.delivered,
            rtt,
            newly_acked,
            lost: self.lost,
            ce,
            ..RateSample::default()
        };
        let Some((newest, _)) = self.newest.take() else { return sample };
        self.delivered_time = now;
        self.first_send_time = newest.at;
        let send_elapsed = newest.at.saturating_sub(newest.first_send_time);
        sample.interval = send_elapsed.max(now.saturating_sub(newest.delivered_time));
        sample.prior_delivered = Some(newest.delivered);
        sample.lost_since_sent = self.lost - newest.lost;
        sample.ce_since_sent = self.ce - newest.ce;
        sample.tx_in_flight = newest.in_flight;
        sample.app_limited = newest.app_limited;
        // An interval below the minimum RTT means that the ACK answers an original, not its retransmission.
        if sample.interval > SimTime::ZERO && self.min_rtt.is_none_or(|min_rtt| sample.interval >= min_rtt) {
            let delivered = (self.delivered - newest.delivered) as f64;
            sample.rate = Some(delivered / sample.interval.as_secs_f64());
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// A retransmission that left too recently to have been acknowledged gives no sample. With a known RTT of 40 ms,
    /// all segments are delayed and retransmitted, and the acknowledgement of each original arrives 1 ms after its
    /// retransmission left. The first sample spans the outage; the second would give a false 1000 segments per second.
    #[test]
    fn an_original_that_is_taken_for_its_repetition_gives_no_sample() {
        let mut deliveries = Deliveries::default();
        let arrives = |deliveries: &mut Deliveries, at, seq, repeated| {
            deliveries.on_arrival(0, seq, repeated);
            let sample = deliveries.sample(MS * at, None, 0);
            deliveries.pop();
            (sample.interval, sample.rate, sample.rtt)
        };
        deliveries.on_sent(0, SimTime::ZERO, 1);
        assert_eq!(arrives(&mut deliveries, 40, 0, false), (MS * 40, Some(25.0), Some(MS * 40)));
        (0..3).for_each(|place| deliveries.on_sent(place, MS * 40, 3));
        deliveries.on_sent(0, MS * 440, 1);
        assert_eq!(arrives(&mut deliveries, 441, 1, true), (MS * 401, Some(1.0 / 0.401), None));
        for (seq, at) in [(2, 441), (3, 442)] {
            deliveries.on_sent(0, MS * at, 1);
            assert_eq!(arrives(&mut deliveries, at + 1, seq, true), (MS, None, None));
        }
        assert_eq!(deliveries.delivered, 4, "it counts as delivered");
    }

    /// A sample is of the transmission that left last among those covered by an ACK, and of the highest segment among
    /// equal times.
    #[test]
    fn the_newest_transmission_is_the_sample() {
        let mut deliveries = Deliveries::default();
        (0..3).for_each(|place| deliveries.on_sent(place, MS * place as u64, place as u64 + 1));
        // Retransmit the first segment, last of all.
        deliveries.on_sent(0, MS * 10, 7);
        for (place, in_flight) in [(1, 2), (2, 3), (0, 7), (1, 7)] {
            deliveries.on_arrival(place, place as u64, place == 0);
            assert_eq!(deliveries.newest.unwrap().0.in_flight, in_flight, "after {place}");
        }
        (0..2).for_each(|place| deliveries.on_sent(place, MS * 20, 8 + place as u64));
        for place in [1, 0] {
            deliveries.on_arrival(place, place as u64, true);
        }
        assert_eq!(deliveries.sample(MS * 60, None, 0).tx_in_flight, 9);
    }
}
