//! Two directions through the network: data segments forward, acknowledgements in reverse.

#![expect(
    clippy::inline_always,
    reason = "a segment passes through all of it; calls would cost a third of the time"
)]

use crate::capture::Entering;
use crate::flow::{AccessLines, Flow, FlowRoute};
use crate::layout::Layout;
use crate::packets::Data;
use crate::path::Path;
use crate::state::{Kind, NetworkState};
use crate::statistics::FlowStatistics;
use crate::watch::Watch;
use crossfade_core::EventKind;
use crossfade_link::Parcel;
use crossfade_transport::{Ack, Segment};

/// A direction through the network, named by the content of its packets.
pub(crate) trait Direction: Sized {
    const ENTRY: Kind;
    const LINK: Kind;
    const EXIT: Kind;

    fn path<W, L: Layout>(net: &mut NetworkState<W, L>) -> &mut Path<Self, L>;

    /// Access lines of this direction: from the sending host to the first link, and from the last link to the receiving
    /// host.
    fn lines(lines: AccessLines) -> (u32, u32);

    /// Route of `flow` in this direction, between the access lines.
    fn route(flow: &Flow) -> FlowRoute;

    /// Reports to the capture a packet that enters a wireless medium.
    fn enters<W: Watch, L: Layout>(net: &mut NetworkState<W, L>, flow: &Flow, parcel: Parcel);

    /// Processes a packet that has reached its host.
    fn arrive<W: Watch, L: Layout>(net: &mut NetworkState<W, L>, flow: &mut Flow, parcel: Parcel);

    /// Counter of the packets that go missing by `loss`, and the kind of event for observers.
    fn missing(counts: &mut FlowStatistics, loss: Loss) -> (&mut u64, EventKind);

    /// Number of the segment, or of the next segment that the acknowledgement expects.
    fn seq(&self) -> u64;

    /// True if a queue's ECN mark on the packet is seen for the first time.
    fn count_mark(&mut self) -> bool;
}

/// Cause for which a packet goes missing.
#[derive(Clone, Copy)]
pub(crate) enum Loss {
    Lost,
    QueueDrop,
}

impl Direction for Data {
    const ENTRY: Kind = Kind::ForwardEntry;
    const LINK: Kind = Kind::ForwardLink;
    const EXIT: Kind = Kind::ForwardExit;

    #[inline]
    fn path<W, L: Layout>(net: &mut NetworkState<W, L>) -> &mut Path<Self, L> {
        &mut net.forward
    }

    #[inline]
    fn lines(lines: AccessLines) -> (u32, u32) {
        (lines.sender, lines.receiver)
    }

    #[inline]
    fn route(flow: &Flow) -> FlowRoute {
        flow.data
    }

    fn enters<W: Watch, L: Layout>(net: &mut NetworkState<W, L>, flow: &Flow, parcel: Parcel) {
        let segment = Segment::from(net.forward.packets[parcel]);
        if let Some(capture) = net.watch.capture() {
            capture.enters(net.now, parcel, Entering::Segment(flow.id, &segment));
        }
    }

    #[inline(always)]
    fn arrive<W: Watch, L: Layout>(net: &mut NetworkState<W, L>, flow: &mut Flow, parcel: Parcel) {
        net.on_segment(flow, parcel);
    }

    fn missing(counts: &mut FlowStatistics, loss: Loss) -> (&mut u64, EventKind) {
        match loss {
            Loss::Lost => (&mut counts.segments_lost, EventKind::Lost),
            Loss::QueueDrop => (&mut counts.queue_drops, EventKind::QueueDrop),
        }
    }

    fn seq(&self) -> u64 {
        self.seq
    }

    fn count_mark(&mut self) -> bool {
        Self::count_mark(self)
    }
}

impl Direction for Ack {
    const ENTRY: Kind = Kind::ReverseEntry;
    const LINK: Kind = Kind::ReverseLink;
    const EXIT: Kind = Kind::ReverseExit;

    #[inline]
    fn path<W, L: Layout>(net: &mut NetworkState<W, L>) -> &mut Path<Self, L> {
        &mut net.reverse
    }

    #[inline]
    fn lines(lines: AccessLines) -> (u32, u32) {
        (lines.receiver, lines.sender)
    }

    #[inline]
    fn route(flow: &Flow) -> FlowRoute {
        flow.acks
    }

    fn enters<W: Watch, L: Layout>(net: &mut NetworkState<W, L>, flow: &Flow, parcel: Parcel) {
        if let Some(capture) = net.watch.capture() {
            capture.enters(net.now, parcel, Entering::Ack(flow.id, &net.reverse.packets[parcel]));
        }
    }

    #[inline(always)]
    fn arrive<W: Watch, L: Layout>(net: &mut NetworkState<W, L>, flow: &mut Flow, parcel: Parcel) {
        net.on_ack(flow, parcel);
    }

    fn missing(counts: &mut FlowStatistics, loss: Loss) -> (&mut u64, EventKind) {
        match loss {
            Loss::Lost => (&mut counts.acks_lost, EventKind::AckLost),
            Loss::QueueDrop => (&mut counts.ack_queue_drops, EventKind::AckQueueDrop),
        }
    }

    fn seq(&self) -> u64 {
        self.next_expected
    }

    /// Always false: acknowledgements are not ECN-capable (RFC 3168 section 6.1.4).
    fn count_mark(&mut self) -> bool {
        false
    }
}
