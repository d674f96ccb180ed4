//! The delivery rate: what arrived between the departure of a segment and the news of its arrival
//! (draft-cheng-iccrg-delivery-rate-estimation-02 section 3, as draft-ietf-ccwg-bbr section 4.1 has it). Counts are of segments.

use crate::congestion::{LostSegment, RateSample};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// What a transmission remembers of the connection as it left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: SimTime,
    delivered: u64,
    delivered_time: SimTime,
    first_send_time: SimTime,
    lost: u64,
    ce: u64,
    /// The pipe, itself included.
    in_flight: u64,
    app_limited: bool,
}

/// The account of deliveries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deliveries {
    /// The last transmission of each segment sent and not acknowledged, from `snd_una` on.
    departures: VecDeque<Departure>,
    delivered: u64,
    delivered_time: SimTime,
    first_send_time: SimTime,
    lost: u64,
    /// Marks told of.
    ce: u64,
    /// The value of `delivered` up to which the application, and not the path, limits samples.
    app_limited_until: u64,
    min_rtt: Option<SimTime>,
    /// The transmission that left last of those that the ACK being processed has shown to have arrived, and its number.
    newest: Option<(Departure, u64)>,
    /// When the last original left of those that the ACK being processed has shown to have arrived.
    newest_original: Option<SimTime>,
    newly_acked: u64,
    /// Found lost and not yet told.
    untold: Vec<LostSegment>,
}

impl Deliveries {
    /// Whether what is sent now counts as limited by the application.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// The segment at `place` from `snd_una` on leaves, new or again; `in_flight` are under way with it.
    pub(crate) fn on_sent(&mut self, place: usize, now: SimTime, in_flight: u64) {
        if self.departures.is_empty() {
            // Idle time is no part of a sample.
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

    /// The segment `seq` at `place` has arrived, as an acknowledgement shows for the first time.
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

    /// A segment that was found lost, and whose departure is forgotten, has arrived.
    pub(crate) fn on_late_arrival(&mut self) {
        self.delivered += 1;
        self.newly_acked += 1;
    }

    /// The oldest segment is acknowledged.
    pub(crate) fn pop(&mut self) {
        self.departures.pop_front();
    }

    /// The segment at `place` was found lost.
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

    /// Whether the application had nothing to send as the last segment left.
    pub(crate) fn was_last_app_limited(&self) -> bool {
        self.departures.back().is_some_and(|last| last.app_limited)
    }

    /// What was found lost since the last call.
    pub(crate) fn take_lost(&mut self) -> Vec<LostSegment> {
        std::mem::take(&mut self.untold)
    }

    /// How many were found lost since the start.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The application has nothing more to send, while `in_flight` are under way and the window would allow more.
    pub(crate) fn on_nothing_to_send(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// The sample of an acknowledgement at `now` that echoes `timestamp` and tells of `ce` new marks; the caller adds what it
    /// knows.
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
        // What came sooner than any round trip answers an original, not the retransmission that is taken for it.
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

    /// A round trip of 40 ms is known; then everything is late and is repeated, and the acknowledgement of each original comes a
    /// millisecond behind its retransmission. The first sample spans the outage. The second has a retransmission that left 1 ms after the last
    /// one that is thought to have arrived: 1000 segments a second, if it were believed.
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

    /// The sample is of the transmission that left last among those that one ACK covers, and among those that left
    /// together of the one with the highest number.
    #[test]
    fn the_newest_transmission_is_the_sample() {
        let mut deliveries = Deliveries::default();
        (0..3).for_each(|place| deliveries.on_sent(place, MS * place as u64, place as u64 + 1));
        // The first again, last of all.
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
