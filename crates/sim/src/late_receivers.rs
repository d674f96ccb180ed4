//! Receivers that are told late of what has reached them.
//!
//! Where acknowledgements come back over one hop of which it is known when each comes out, a receiver changes nothing but
//! itself and what will come out there, for as long as an acknowledgement is under way at least. So segments wait at the end
//! of the line to the receivers for nearly that long, and then all of them are handed over, in their order and each at its own
//! time: one event for a hundred of them. Whoever looks at receivers in between (an acknowledgement that was held back, the end of
//! the warm-up or of the run, a snapshot) has them told first. Nothing that is counted tells the difference.
//!
//! A sender's timer need not: of the receiver it asks only whether its segment is there, to count spurious timeouts. A copy that has come and
//! was not told of counts as soon as it is told of, for it was sent before the timer expired; and as copies come in the order in which they
//! were sent, none that does not count comes first.
//!
//! The last of those on the line is never late, so that nothing happens after the last event that there would be without all
//! this; and where a run is to end with a certain segment, receivers are told on time before that one can come.

use crate::capture::Capture;
use crate::flow::{Endpoints, Flow};
use crate::late::Late;
use crate::layout::Layout;
use crate::network::{STALL, StopRule};
use crate::state::{Kind, NetworkState};
use crossfade_core::{Observer, SimTime};

/// The line to the receivers: there is no other where acknowledgements are foreseen.
const LINE: usize = 0;

const NANOSECOND: SimTime = SimTime::from_nanos(1);

impl<O: Observer, C: Capture, L: Layout> NetworkState<O, C, L> {
    /// Nothing has happened yet: from now on receivers are told late, where that can be done. No acknowledgement is held back
    /// for less than one of the `waits`.
    pub(crate) fn tell_late_where_possible(&mut self, waits: impl Iterator<Item = Option<SimTime>>) {
        let is_wanted = self.shortcuts.late_receivers && !O::ENABLED;
        if !is_wanted || !self.forward.is_direct || !self.reverse.is_foreseen {
            return;
        }
        // Later than all that could be scheduled on the reverse path, or by a receiver that waits.
        let way_back = self.reverse.entries[LINE].delay().saturating_add(self.reverse.links[0].delay());
        let most = waits.flatten().fold(way_back, SimTime::min).saturating_sub(NANOSECOND);
        let keeps_sent = matches!(self.stop, StopRule::Delivered(_));
        self.late = Late { is_on: most > SimTime::ZERO, most, keeps_sent, ..Late::default() };
    }

    /// A segment has been put on the line; it comes out `at` a time if nothing else comes out before.
    #[inline]
    pub(crate) fn arrive_late(&mut self, at: Option<SimTime>) {
        self.late.harmless = self.late.harmless.saturating_sub(1);
        if self.late.harmless == 0 {
            // To find out how many more are harmless.
            self.tell_at(self.now);
        } else if let Some(at) = at {
            self.tell_at(at);
        }
    }

    /// A segment has been sent. Half-way to giving the run up receivers are told: something new may have reached them since.
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

    /// Receivers are told, as far as they are late.
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

    /// When receivers are told next.
    fn go_on_late(&mut self) {
        let line = &self.forward.exits[LINE];
        if let Some((first, last)) = line.next_event().zip(line.last_event()) {
            self.tell_at(first.saturating_add(self.late.most).min(last));
        }
    }

    /// Somebody looks at receivers: they are told of all that has reached them by now.
    #[inline]
    pub(crate) fn settle(&mut self, flows: &mut [Flow]) {
        if !L::IS_SINGLE && self.late.is_on {
            self.tell_by(flows, self.now);
        }
    }

    /// Receivers are told of all that reaches them by `until`, when nothing else happens any more.
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

    /// Everybody has been told: how many more segments can come before the run ends with one of them. Receivers are told on
    /// time if these are few.
    pub(crate) fn count_harmless(&mut self, flows: &[Flow]) {
        if !self.late.is_on {
            return;
        }
        // A segment that fills a hole makes all that is held in order.
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
