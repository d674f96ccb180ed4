//! Shortcut `late_receivers`: receivers process many segments with one event.
//!
//! If acknowledgements come back over one hop with known departure times, the actions of a receiver affect only itself
//! and those departures, for at least as long as an acknowledgement is in flight. So segments wait at the end of the
//! line to the receivers for nearly that long and are then processed together, in order and each with its own time: one
//! event for a hundred of them. Whatever reads receivers in between (a delayed ACK, the end of the warm-up or of the
//! run, a snapshot) has the waiting segments processed first, so no statistic differs.
//!
//! A sender's timer does not read receivers: it only asks whether its segment has been received, to count spurious
//! timeouts. A copy that has arrived but is not processed yet is counted when it is processed, since it was sent before
//! the timer expired; and since copies arrive in the order in which they were sent, no copy that does not count is
//! processed first.
//!
//! The last segment on the line is never late, so the last event has the same time as without the shortcut. If a run
//! ends with a certain segment, receivers are up to date before that segment can arrive.

use crate::flow::{Endpoints, Flow};
use crate::late::Late;
use crate::layout::Layout;
use crate::network::{STALL, StopRule};
use crate::state::{Kind, NetworkState};
use crate::watch::Watch;
use crossfade_core::SimTime;

/// Index of the only line to the receivers: acknowledgements are foreseen only if there is one.
const LINE: usize = 0;

const NANOSECOND: SimTime = SimTime::from_nanos(1);

impl<W: Watch, L: Layout> NetworkState<W, L> {
    /// Turns shortcut `late_receivers` on, before the first event, if it is exact. `waits` are the shortest delays of
    /// delayed ACKs.
    pub(crate) fn tell_late_where_possible(&mut self, waits: impl Iterator<Item = Option<SimTime>>) {
        let is_wanted = self.shortcuts.late_receivers && !self.watch.is_observed();
        if !is_wanted || !self.forward.is_direct || !self.reverse.is_foreseen {
            return;
        }
        // No later than any event on the reverse path or of a delayed ACK.
        let way_back = self.reverse.entries[LINE].delay().saturating_add(self.reverse.links[0].delay());
        let most = waits.flatten().fold(way_back, SimTime::min).saturating_sub(NANOSECOND);
        let keeps_sent = matches!(self.stop, StopRule::Delivered(_));
        self.late = Late { is_on: most > SimTime::ZERO, most, keeps_sent, ..Late::default() };
    }

    /// Notes a segment on the line to the receivers, which comes out at time `at` if it is the first.
    #[inline]
    pub(crate) fn arrive_late(&mut self, at: Option<SimTime>) {
        self.late.harmless = self.late.harmless.saturating_sub(1);
        if self.late.harmless == 0 {
            // Receivers must be up to date to tell how many further segments cannot end the run.
            self.tell_at(self.now);
        } else if let Some(at) = at {
            self.tell_at(at);
        }
    }

    /// Records a sent segment. Half-way to the end of the run by the stall rule, receivers are brought up to date,
    /// since new data may have reached them.
    #[inline]
    pub(crate) fn sent_late(&mut self) {
        self.late.on_sent(self.now);
        if self.late.is_on && self.sent_since_delivery == STALL / 2 + 1 {
            self.tell_at(self.now);
        }
    }

    #[cold]
    fn tell_at(&mut self, at: SimTime) {
        if let Some(at) = self.late.wakeup.missing(Some(at)) {
            self.schedule(at, Kind::Late, 0);
        }
    }

    /// Handles the event of late receivers, which process their waiting segments.
    #[inline(never)]
    pub(crate) fn on_late(&mut self, flows: &mut [Flow]) {
        if !self.late.wakeup.take(self.now) {
            return;
        }
        self.settle(flows);
        if self.late.harmless == 0 {
            self.count_harmless(flows);
        }
        if self.sent_since_delivery > STALL / 2 {
            self.late.most = SimTime::ZERO;
        }
        self.go_on_late();
    }

    /// Schedules the next event at which late receivers process their segments.
    fn go_on_late(&mut self) {
        let line = &self.forward.exits[LINE];
        if let Some((first, last)) = line.next_event().zip(line.last_event()) {
            self.tell_at(first.saturating_add(self.late.most).min(last));
        }
    }

    /// Brings receivers up to date before they are read, if they are late.
    #[inline]
    pub(crate) fn settle(&mut self, flows: &mut [Flow]) {
        if !L::IS_SINGLE && self.late.is_on {
            self.tell_by(flows, self.now);
        }
    }

    /// Lets receivers process all segments that arrive up to `until`, before which no other event happens.
    #[inline(never)]
    pub(crate) fn tell_by(&mut self, flows: &mut [Flow], until: SimTime) {
        if !self.late.is_on {
            return;
        }
        let now = self.now;
        let sent = std::mem::replace(&mut self.sent_since_delivery, u64::MAX);
        while let Some((at, parcel)) = self.forward.exits[LINE].advance_timed(until) {
            self.now = at;
            self.on_segment(&mut flows[parcel.flow() as usize], parcel);
        }
        self.now = self.now.max(now);
        let Late { sent: times, .. } = &mut self.late;
        let is_delivered = self.sent_since_delivery == 0;
        let after = || times.len() - times.partition_point(|&at| at < self.last_delivery);
        self.sent_since_delivery = if is_delivered { after() as u64 } else { sent };
        times.clear();
    }

    /// Counts, with receivers up to date, the further segments that cannot end the run. If these are few, receivers
    /// process segments on time.
    pub(crate) fn count_harmless(&mut self, flows: &[Flow]) {
        if !self.late.is_on {
            return;
        }
        // A segment that fills a hole releases all segments that are held behind it.
        let held = |flow: &Flow| match &flow.endpoints {
            Endpoints::Tcp(_) => flow.counts.segments_delivered - flow.counts.segments_in_order,
            Endpoints::Udp(_) => 0,
        };
        let in_order = self.segments_in_order + flows.iter().map(held).sum::<u64>();
        let (on_line, _) = self.forward.exits[LINE].contents();
        let harmless = self.enough_segments.saturating_sub(in_order).saturating_sub(on_line);
        if harmless > flows.len() as u64 {
            self.late.harmless = harmless;
        } else {
            (self.late.harmless, self.late.most) = (u64::MAX, SimTime::ZERO);
            self.go_on_late();
        }
    }
}
