//! The state of a network beside its flows, and the order of its events.

use crate::capture::Capture;
use crate::flow::Flow;
use crate::guests::Guests;
use crate::late::Late;
use crate::layout::Layout;
use crate::network::{STALL, SenderGate, StopRule};
use crate::packets::Data;
use crate::path::Path;
use crate::path_link::PathFabric;
use crate::routing::Routing;
use crate::shortcuts::Shortcuts;
use crossfade_core::{EventKind, EventQueue, EventRecord, Observer, SimTime};
use crossfade_link::LinkEvent;
use crossfade_transport::Ack;

/// Events of equal time happen in this order: what arrives is seen before a timer expires, and both before
/// anything new is sent. What is measured begins and ends in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Packets reach the first link: of a line.
    ForwardEntry,
    /// Something happens on a link.
    ForwardLink,
    /// Something happens in a fabric, to data or acknowledgements.
    Fabric,
    /// Packets reach the receivers: of a line.
    ForwardExit,
    /// Receivers are told of what has reached them.
    Late,
    ReverseEntry,
    ReverseLink,
    ReverseExit,
    /// A timer of a flow.
    Timer,
    /// An acknowledgement held back is due: of a flow.
    DelayedAck,
    Warm,
    Stop,
    /// A flow begins.
    Start,
    /// A flow sends a datagram.
    Datagram,
    /// The application of a flow writes a segment.
    Write,
    /// A flow comes.
    Arrival,
    SlotStart,
}

/// What happens, and to which flow, line or link.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

/// Everything but the flows.
pub(crate) struct NetworkState<O, C, L: Layout> {
    pub(crate) forward: Path<Data, L>,
    pub(crate) reverse: Path<Ack, L>,
    pub(crate) late: Late,
    /// What both directions use, or packets from outside.
    pub(crate) fabrics: Vec<PathFabric>,
    pub(crate) routing: Routing,
    pub(crate) outside: Guests,
    pub(crate) gate: SenderGate,
    pub(crate) stop: StopRule,
    /// Flows have histograms of their delays.
    pub(crate) measures_delays: bool,
    pub(crate) now: SimTime,
    pub(crate) queue: EventQueue<Event>,
    /// What happened last.
    pub(crate) last: Kind,
    /// Somebody wants to know what happens inside links.
    pub(crate) is_traced: bool,
    /// What links have told of themselves that is still to happen, in order of time.
    pub(crate) early: Vec<(u32, LinkEvent)>,
    /// When the next slot of a gated sender starts, if it is scheduled.
    pub(crate) slot_at: Option<SimTime>,
    /// Segments of TCP delivered in order so far.
    pub(crate) segments_in_order: u64,
    /// As many of them as the run waits for; known once the warm-up has ended.
    pub(crate) enough_segments: u64,
    pub(crate) sent_since_delivery: u64,
    /// When something new was delivered last.
    pub(crate) last_delivery: SimTime,
    /// Flows that came and may go, if nothing of them is left in the network.
    pub(crate) ended: Vec<u32>,
    /// Enough was delivered, or nothing will be any more.
    pub(crate) is_over: bool,
    pub(crate) observer: O,
    pub(crate) capture: C,
    /// What may be left out.
    pub(crate) shortcuts: Shortcuts,
}

impl<O: Observer, C: Capture, L: Layout> NetworkState<O, C, L> {
    pub(crate) fn schedule(&mut self, at: SimTime, kind: Kind, index: u32) {
        self.queue.schedule(at, kind as u8, Event { kind, index });
    }

    pub(crate) fn has_stalled(&self) -> bool {
        matches!(self.stop, StopRule::Delivered(_)) && self.sent_since_delivery >= STALL
    }

    pub(crate) fn observe(&mut self, flow: &Flow, kind: EventKind, seq: u64) {
        if O::ENABLED {
            let record = EventRecord { time: self.now, kind, flow: flow.id, seq, tcp: flow.snapshot() };
            self.observer.record_with(&record, &|| flow.info().to_string());
        }
    }
}
