//! State of a network without its flows, and the order of simultaneous events.

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
use crate::watch::Watch;
use crossfade_core::{EventKind, EventQueue, EventRecord, SimTime};
use crossfade_link::LinkEvent;
use crossfade_transport::Ack;

/// Kind of an event, in the order of kinds at equal times: arrivals come before timers, and both before new
/// transmissions. The warm-up and the run end between timers and transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Data packets reach the first link over an access line.
    ForwardEntry,
    /// Event of a link that carries data.
    ForwardLink,
    /// Event of a fabric, which may carry data and acknowledgements.
    Fabric,
    /// Data packets reach receivers over an access line.
    ForwardExit,
    /// Late receivers process their waiting segments.
    Late,
    ReverseEntry,
    ReverseLink,
    ReverseExit,
    /// Expiry of the sender's timer of a flow.
    Timer,
    /// Expiry of the delayed-ACK timer of a flow.
    DelayedAck,
    Warm,
    Stop,
    /// Start of a flow's transmissions.
    Start,
    /// Transmission of a datagram by a flow.
    Datagram,
    /// Writing of a segment by the application of a flow.
    Write,
    /// Start of a flow of an arrival process.
    Arrival,
    SlotStart,
}

/// An event: its kind, and the index of its flow, line or link.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

/// State of a network without its flows.
pub(crate) struct NetworkState<W, L: Layout> {
    pub(crate) forward: Path<Data, L>,
    pub(crate) reverse: Path<Ack, L>,
    pub(crate) late: Late,
    /// Media that both directions or packets from outside use.
    pub(crate) fabrics: Vec<PathFabric>,
    pub(crate) routing: Routing,
    pub(crate) outside: Guests,
    pub(crate) gate: SenderGate,
    pub(crate) stop: StopRule,
    /// True if flows keep histograms of their delays.
    pub(crate) measures_delays: bool,
    pub(crate) now: SimTime,
    pub(crate) queue: EventQueue<Event>,
    /// Kind of the last event processed.
    pub(crate) last: Kind,
    /// True if link events are kept.
    pub(crate) is_traced: bool,
    /// Link events that links have reported in advance, in order of time.
    pub(crate) early: Vec<(u32, LinkEvent)>,
    /// Start of the next packet time of a gated sender; `None` if it is not scheduled.
    pub(crate) slot_at: Option<SimTime>,
    /// Number of TCP segments delivered in order so far.
    pub(crate) segments_in_order: u64,
    /// Number of TCP segments delivered in order that ends the run; known once the warm-up has ended.
    pub(crate) enough_segments: u64,
    pub(crate) sent_since_delivery: u64,
    /// Time of the last delivery of new data to a receiver.
    pub(crate) last_delivery: SimTime,
    /// Places of flows of arrival processes that may have ended; they leave if no packet of them is left in the
    /// network.
    pub(crate) ended: Vec<u32>,
    /// True if the run is over: enough was delivered, its time has passed, or it has stalled.
    pub(crate) is_over: bool,
    /// Receiver of the run's events and packets.
    pub(crate) watch: W,
    /// The shortcuts in use.
    pub(crate) shortcuts: Shortcuts,
}

impl<W: Watch, L: Layout> NetworkState<W, L> {
    pub(crate) fn schedule(&mut self, at: SimTime, kind: Kind, index: u32) {
        self.queue.schedule(at, kind as u8, Event { kind, index });
    }

    pub(crate) fn has_stalled(&self) -> bool {
        matches!(self.stop, StopRule::Delivered(_)) && self.sent_since_delivery >= STALL
    }

    pub(crate) fn observe(&mut self, flow: &Flow, kind: EventKind, seq: u64) {
        if let Some(observer) = self.watch.observer() {
            let record = EventRecord { time: self.now, kind, flow: flow.id, seq, tcp: flow.snapshot() };
            observer.record_with(&record, &|| flow.info().to_string());
        }
    }
}
