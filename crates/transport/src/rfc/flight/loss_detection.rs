//! Which segments are taken for lost: by what was reported above them (RFC 6675 section 4, `IsLost`), by what was sent
//! later and has arrived (RFC 8985), or by a timeout; and which of them are still to be repeated.

use super::{Fate, Flight};
use crossfade_core::SimTime;
use std::cmp::Reverse;

impl Flight {
    /// Marks what RFC 6675's `IsLost` finds: not reported, with `dupthresh` segments above it that were.
    #[inline]
    pub(in crate::rfc) fn mark_lost_by_dupthresh(&mut self, dupthresh: u64) {
        if self.sacked_above >= dupthresh {
            self.mark_lost_below_reports(dupthresh);
        }
    }

    #[inline(never)]
    fn mark_lost_below_reports(&mut self, dupthresh: u64) {
        while let Some(record) = self.record(self.lost_below) {
            let (seq, fate) = (self.lost_below, record.fate);
            let above = self.sacked_above - u64::from(fate == Fate::Sacked);
            if above < dupthresh {
                break;
            }
            match fate {
                Fate::Sacked => self.sacked_above -= 1,
                Fate::InFlight => self.mark_lost(seq),
                // The original is gone, the retransmission may be under way.
                Fate::Doubled => self.set_fate(seq, Fate::Repeated),
                Fate::Lost | Fate::Repeated => {}
            }
            self.lost_below += 1;
        }
    }

    /// A segment under way is gone, and its retransmission if there is one.
    pub(in crate::rfc) fn mark_lost(&mut self, seq: u64) {
        if let Some(fate) = self.fate(seq).filter(|fate| !matches!(fate, Fate::Lost | Fate::Sacked)) {
            self.lost_repetitions += u64::from(fate != Fate::InFlight);
            self.set_fate(seq, Fate::Lost);
            self.lost.push(Reverse(seq));
            self.lost_count += 1;
            self.tell_lost(seq);
        }
    }

    fn tell_lost(&mut self, seq: u64) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_lost((seq - self.snd_una) as usize);
        }
    }

    /// Everything not reported is gone (after a timeout).
    pub(in crate::rfc) fn mark_all_lost(&mut self) {
        self.lost.clear();
        for seq in self.snd_una..self.snd_max() {
            let fate = self.fate(seq);
            if fate != Some(Fate::Sacked) {
                self.set_fate(seq, Fate::Lost);
                self.lost.push(Reverse(seq));
                if fate != Some(Fate::Lost) {
                    self.tell_lost(seq);
                }
            }
        }
    }

    /// After a timeout: the oldest and what was sent at least `wait` ago is gone (RFC 8985 section 6.3).
    pub(in crate::rfc) fn mark_lost_by_age(&mut self, wait: SimTime, now: SimTime) {
        for seq in self.snd_una..self.snd_max() {
            let is_old = self.record(seq).is_some_and(|record| record.sent_at.saturating_add(wait) <= now);
            if is_old || seq == self.snd_una {
                self.mark_lost(seq);
            }
        }
    }

    /// Nothing was lost after all: what was taken for lost is under way.
    pub(in crate::rfc) fn unmark_lost(&mut self) {
        while let Some(seq) = self.next_lost() {
            self.lost.pop();
            self.set_fate(seq, Fate::InFlight);
        }
        // What is reported from now on is judged anew.
        (self.lost_below, self.sacked_above) = (self.snd_una, self.sacked);
        self.sort_times();
    }

    /// Marks what was sent before the transmission `newest`, which has arrived, and at least `wait` ago (RFC 8985
    /// section 6.2 step 5). Returns when the last of the others that were sent before it will have waited so long.
    ///
    /// Of two transmissions with equal times the one with the lower number left first. `RACK_sent_after` compares ends of
    /// segments there, which is the same within a packet of offload. It is not where several acknowledgements arrive at
    /// one instant: the first may let out new data, and the next a retransmission, which then left after data above it.
    pub(in crate::rfc) fn mark_lost_by_time(
        &mut self,
        newest: (SimTime, u64),
        wait: SimTime,
        now: SimTime,
    ) -> Option<SimTime> {
        let mut by_time = self.by_time.take()?;
        let mut deadline = None;
        debug_assert!(self.pending.is_empty());
        while let Some(&(sent_at, seq)) = by_time.front() {
            if sent_at > newest.0 {
                break;
            }
            by_time.pop_front();
            let waiting = self.record(seq).filter(|record| {
                record.sent_at == sent_at && !matches!(record.fate, Fate::Sacked | Fate::Lost)
            });
            let Some(turn) = waiting.map(|record| record.turn) else { continue };
            let lost_at = sent_at.saturating_add(wait);
            if (sent_at, turn) < newest && lost_at <= now {
                self.mark_lost(seq);
                continue;
            }
            if (sent_at, turn) < newest {
                deadline = deadline.max(Some(lost_at));
            }
            self.pending.push((sent_at, seq));
        }
        while let Some(transmission) = self.pending.pop() {
            by_time.push_front(transmission);
        }
        self.by_time = Some(by_time);
        deadline
    }

    /// The lowest segment that is lost and not yet repeated.
    #[inline]
    pub(in crate::rfc) fn next_lost(&mut self) -> Option<u64> {
        if self.lost.is_empty() { None } else { self.next_listed_as_lost() }
    }

    #[inline(never)]
    fn next_listed_as_lost(&mut self) -> Option<u64> {
        while let Some(&Reverse(seq)) = self.lost.peek() {
            if self.fate(seq) == Some(Fate::Lost) {
                return Some(seq);
            }
            self.lost.pop();
        }
        None
    }

    /// Whether a segment is lost, repeated or not.
    pub(in crate::rfc) fn is_repairing(&self) -> bool {
        self.records.iter().any(|record| matches!(record.fate, Fate::Lost | Fate::Repeated))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, sent};
    use super::Fate::{InFlight, Lost, Sacked};
    use super::*;

    #[test]
    fn time_shows_what_was_overtaken() {
        let at = SimTime::from_nanos;
        let mut flight = sent(6);
        let news = ack(&mut flight, 0, &[(3, 4)]);
        let newest = news.latest.map(|arrival| (arrival.sent_at, arrival.turn)).unwrap();
        assert_eq!(newest, (at(3), 4));
        // At 11 what was sent 10 before is lost, at 12 what was sent last before 3 will be.
        assert_eq!(flight.mark_lost_by_time(newest, at(10), at(11)), Some(at(12)));
        let fates: Vec<_> = (0..6).map(|seq| flight.fate(seq).unwrap()).collect();
        assert_eq!(fates, [Lost, Lost, InFlight, Sacked, InFlight, InFlight]);
        flight.on_sent(0, at(20));
        assert_eq!(
            flight.mark_lost_by_time(newest, at(10), at(30)),
            None,
            "the repetition left later than 3"
        );
        assert_eq!(flight.fate(2), Some(Lost));
        flight.unmark_lost();
        assert_eq!((flight.pipe(), flight.next_lost()), (5, None));
    }

    /// Two acknowledgements that come at the same time: the first lets out new data, the second a retransmission. When the
    /// data have arrived, the retransmission left later and is not lost; what left before them is.
    #[test]
    fn a_retransmission_is_not_lost_by_data_that_left_before_it_at_the_same_time() {
        let at = SimTime::from_nanos;
        let mut flight = sent(6);
        ack(&mut flight, 0, &[(2, 6)]);
        flight.mark_lost(0);
        flight.mark_lost(1);
        flight.on_sent(0, at(20));
        flight.on_sent(6, at(20));
        flight.on_sent(1, at(20));
        let news = ack(&mut flight, 0, &[(2, 7)]);
        let newest = news.latest.map(|arrival| (arrival.sent_at, arrival.turn)).unwrap();
        assert_eq!(newest, (at(20), 8));
        assert_eq!(flight.mark_lost_by_time(newest, at(10), at(30)), None);
        assert_eq!((flight.fate(0), flight.fate(1)), (Some(Lost), Some(Fate::Repeated)));
        // And so it stays when all is put into the order of time anew.
        flight.on_sent(0, at(40));
        flight.unmark_lost();
        assert_eq!(flight.mark_lost_by_time(newest, at(10), at(50)), None);
        assert_eq!((flight.fate(0), flight.fate(1)), (Some(Fate::Repeated), Some(Fate::Repeated)));
    }
}
