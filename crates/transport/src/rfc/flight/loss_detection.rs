//! Loss detection: by reports of higher segments (RFC 6675 section 4, `IsLost`), by later transmissions that have
//! arrived (RFC 8985), or by a timeout; and the choice of the lost segment to retransmit next.

use super::{Fate, Flight};
use crossfade_core::SimTime;
use std::cmp::Reverse;

impl Flight {
    /// Marks segments as lost by RFC 6675's `IsLost`: those not reported, with at least `dupthresh` reported segments
    /// above them.
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
                // The original is lost, the retransmission may be in flight.
                Fate::Doubled => self.set_fate(seq, Fate::Repeated),
                Fate::Lost | Fate::Repeated => {}
            }
            self.lost_below += 1;
        }
    }

    /// Marks segment `seq`, in flight, as lost, together with its retransmission if there is one.
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

    /// Marks all unreported segments as lost after a timeout.
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

    /// Marks the oldest segment, and those sent at least `wait` ago, as lost after a timeout (RFC 8985 section 6.3).
    pub(in crate::rfc) fn mark_lost_by_age(&mut self, wait: SimTime, now: SimTime) {
        for seq in self.snd_una..self.snd_max() {
            let is_old = self.record(seq).is_some_and(|record| record.sent_at.saturating_add(wait) <= now);
            if is_old || seq == self.snd_una {
                self.mark_lost(seq);
            }
        }
    }

    /// Returns all lost segments to the flight, because the losses proved spurious.
    pub(in crate::rfc) fn unmark_lost(&mut self) {
        while let Some(seq) = self.next_lost() {
            self.lost.pop();
            self.set_fate(seq, Fate::InFlight);
        }
        // Later reports are judged anew.
        (self.lost_below, self.sacked_above) = (self.snd_una, self.sacked);
        self.sort_times();
    }

    /// Marks segments as lost that were sent before the transmission `newest`, which has arrived, and at least `wait`
    /// ago (RFC 8985 section 6.2 step 5). Returns when the last remaining segment sent before `newest` will have waited
    /// so long.
    ///
    /// Of two transmissions with equal times the one with the lower number left first. `RACK_sent_after` compares ends
    /// of segments instead, which is equivalent within an offloaded packet. It is not if several acknowledgements
    /// arrive at one instant: the first may release new data, and the next a retransmission, which then left after data
    /// with higher sequence numbers.
    pub(in crate::rfc) fn mark_lost_by_time(
        &mut self,
        newest: (SimTime, u64),
        wait: SimTime,
        now: SimTime,
    ) -> Option<SimTime> {
        let mut by_time = self.by_time.take()?;
        let mut deadline = None;
        assert!(self.pending.is_empty());
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

    /// Lowest segment that is lost and not yet retransmitted.
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

    /// True if any segment is lost, retransmitted or not.
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
        // At 11 the segment sent 10 earlier is lost; at 12 the last one sent before 3 will be.
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

    /// Data that leaves just before a retransmission, at the same instant, does not mark the retransmission as lost
    /// when it arrives. Two acknowledgements at one instant cause this: the first releases new data, the second a
    /// retransmission.
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
        // The result also holds after all transmissions are sorted by time again.
        flight.on_sent(0, at(40));
        flight.unmark_lost();
        assert_eq!(flight.mark_lost_by_time(newest, at(10), at(50)), None);
        assert_eq!((flight.fate(0), flight.fate(1)), (Some(Fate::Repeated), Some(Fate::Repeated)));
    }
}
