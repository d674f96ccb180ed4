//! Shortcut `direct`: packets pass the only link of a direction and the line behind it with one event.
//!
//! If all packets of a direction go over one hop and then over lines to their hosts, the time at which a packet comes
//! out of its line is known when it enters the hop. Its arrival at the far end of the hop changes only two counters of
//! the link; events for these arrivals would be a third of all events. The counters are corrected whenever they are
//! read, and packets out of several lines at the same nanosecond keep the order that these events would have given.

use crate::direction::Direction;
use crate::flow::FlowWays;
use crate::layout::Layout;
use crate::line::LineTable;
use crate::packets::Data;
use crate::routing::{Place, Step};
use crate::shortcuts::Shortcuts;
use crate::state::{Kind, NetworkState};
use crate::watch::Watch;
use crossfade_core::SimTime;
use crossfade_link::LinkReport;
use crossfade_transport::Ack;

impl<W: Watch, L: Layout> NetworkState<W, L> {
    /// Turns shortcut `direct` on, before the first event, for each direction in which the routes of all flows allow
    /// it.
    pub(crate) fn pass_where_possible(&mut self, ways: &[FlowWays]) {
        self.pass_if_possible::<Data>(ways, |ways| ways.data.first);
        self.pass_if_possible::<Ack>(ways, |ways| ways.acks.first);
    }

    fn pass_if_possible<D: Direction>(&mut self, ways: &[FlowWays], first: impl Fn(&FlowWays) -> Step) {
        let lines = || ways.iter().map(|ways| D::lines(ways.lines));
        let goes_on = lines().all(|(_, exit)| exit != LineTable::NONE);
        let is_only_link = ways.iter().all(|ways| first(ways) == Step::Link(0));
        let line = lines().next().map_or(LineTable::NONE, |(entry, _)| entry);
        let comes_by_one = line != LineTable::NONE && lines().all(|(entry, _)| entry == line);
        let Shortcuts { direct, foreseen, .. } = self.shortcuts;
        let path = D::path(self);
        path.is_direct = direct && goes_on && is_only_link && path.can_be_direct();
        path.is_foreseen = foreseen && path.is_direct && comes_by_one && path.links[0].is_certain();
    }

    /// Lines out of which packets come at this instant, in order, if `line` is not the only one.
    #[inline]
    pub(crate) fn tied_exits<D: Direction>(&mut self, line: u32) -> Option<Vec<u32>> {
        let is_tied = D::path(self).is_direct && self.queue.has_another(self.now, D::EXIT as u8);
        is_tied.then(|| self.all_exits::<D>(line))
    }

    #[cold]
    fn all_exits<D: Direction>(&mut self, line: u32) -> Vec<u32> {
        let mut lines = vec![line];
        while self.queue.has_another(self.now, D::EXIT as u8) {
            lines.extend(self.queue.pop().map(|(_, event)| event.index));
        }
        lines.sort_by_key(|&line| D::path(self).exits[line as usize].since());
        lines
    }

    /// Report of a link or fabric at `now`; for a link with shortcut `direct`, without packets that have not arrived
    /// yet.
    pub(crate) fn report(&mut self, place: Place, now: SimTime) -> LinkReport {
        match place {
            Place::Forward(link) => {
                let early = self.counted_early::<Data>(now);
                less(self.forward.links[link as usize].report(now), early)
            }
            Place::Reverse(link) => {
                let early = self.counted_early::<Ack>(now);
                less(self.reverse.links[link as usize].report(now), early)
            }
            Place::Fabric(fabric) => self.fabrics[fabric as usize].report(now),
        }
    }

    /// Number of packets, and of their bytes, that a link with shortcut `direct` has counted as arrived too early.
    /// Packets that the link counts late are counted first.
    fn counted_early<D: Direction>(&mut self, now: SimTime) -> (u64, u64) {
        // If the last event ended the run, simultaneous events that would come after it do not happen.
        let (by, last) = if self.is_over { (self.now, Some(self.last)) } else { (now, None) };
        let is_to_come = |kind: Kind| last.is_some_and(|last| last.is_before(kind));
        let path = D::path(self);
        if !path.is_direct {
            return (0, 0);
        }
        if path.is_foreseen {
            let until = if is_to_come(D::ENTRY) { by } else { by.saturating_add(SimTime::from_nanos(1)) };
            (0..path.entries.len() as u32).for_each(|line| path.count(line, until));
        }
        path.on_link(by, is_to_come(D::LINK))
    }
}

fn less(mut report: LinkReport, (packets, bytes): (u64, u64)) -> LinkReport {
    report.statistics.arrivals -= packets;
    report.statistics.arrived_bytes -= bytes;
    report
}

impl Kind {
    /// True if events of this kind happen before those of kind `other` at equal times.
    fn is_before(self, other: Self) -> bool {
        (self as u8) < other as u8
    }
}
