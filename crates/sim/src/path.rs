//! One direction through the network: access lines of the hosts, and the links that only this direction uses.

use crate::layout::Layout;
use crate::line::DelayLine;
use crate::medium::AnyLink;
use crate::packets::Packets;
use crate::path_link::PathLink;
use crate::routing::Next;
use crossfade_core::SimTime;
use crossfade_link::Parcel;

/// Access lines and links of one direction; the route of each flow selects among them.
pub(crate) struct Path<P, L: Layout> {
    pub(crate) packets: Packets<P>,
    /// Access lines from the hosts to the first link.
    pub(crate) entries: L::Lines,
    /// Links that only this direction uses.
    pub(crate) links: L::Links,
    /// Access lines from the last link to the hosts.
    pub(crate) exits: L::Lines,
    /// True if shortcut `direct` is on: all packets pass one hop and then a line, are put into the line at once, and
    /// the hop has no events.
    pub(crate) is_direct: bool,
    /// True if shortcut `foreseen` is on: all packets also come over one line to that hop, which neither loses nor
    /// drops any. They are put into the line behind the hop when they are sent; packets on the first line are those
    /// that the hop has not counted yet.
    pub(crate) is_foreseen: bool,
    /// Time at which the hop of shortcut `foreseen` will have sent all packets on the line before it.
    pub(crate) idle_at: SimTime,
    /// Number of packets that have come out of lines behind the hop of shortcut `direct`.
    pub(crate) exited: u64,
}

impl<P, L: Layout> Path<P, L> {
    pub(crate) fn new(entries: &[SimTime], links: Vec<(AnyLink, Next)>, exits: &[SimTime]) -> Self {
        let lines =
            |delays: &[SimTime]| delays.iter().map(|&delay| DelayLine::new(delay)).collect::<Vec<_>>().into();
        Self {
            packets: Packets::new(),
            entries: lines(entries),
            links: links.into_iter().map(|(link, next)| PathLink::new(link, next)).collect::<Vec<_>>().into(),
            exits: lines(exits),
            is_direct: false,
            is_foreseen: false,
            idle_at: SimTime::ZERO,
            exited: 0,
        }
    }

    /// True if the links allow shortcut `direct`.
    pub(crate) fn can_be_direct(&self) -> bool {
        !L::IS_SINGLE && self.links.len() == 1 && self.links[0].can_be_passed()
    }

    /// Lets the hop count the packets that have come out of access line `line` before `now`.
    #[inline]
    pub(crate) fn count(&mut self, line: u32, now: SimTime) {
        while let Some((at, parcel)) = self.entries[line as usize].before(now) {
            let arrival = self.links[0].pass(at, parcel);
            debug_assert!(arrival.is_ok(), "a packet is lost that was foreseen to come out");
        }
    }

    /// Puts a packet sent at `now` on access line `line`, and returns the certain time at which it comes out of the
    /// hop.
    #[inline]
    pub(crate) fn foresee(&mut self, line: u32, now: SimTime, parcel: Parcel) -> SimTime {
        self.count(line, now);
        let entry = &mut self.entries[line as usize];
        entry.push(now, parcel);
        let enters = entry.out(now);
        self.links[0].foresee(&mut self.idle_at, enters, parcel.bytes())
    }

    /// Number of packets, and of their bytes, that the hop has counted as arrived although they arrive after `now`;
    /// with `at_now` also those that arrive at `now`.
    pub(crate) fn on_link(&self, now: SimTime, at_now: bool) -> (u64, u64) {
        let add = |sum: (u64, u64), line: (u64, u64)| (sum.0 + line.0, sum.1 + line.1);
        let ahead = self.exits.iter().map(|line| line.ahead(now, at_now)).fold((0, 0), add);
        let uncounted = if self.is_foreseen {
            self.entries.iter().map(DelayLine::contents).fold((0, 0), add)
        } else {
            (0, 0)
        };
        (ahead.0 - uncounted.0, ahead.1 - uncounted.1)
    }
}
