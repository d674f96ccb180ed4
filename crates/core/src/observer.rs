//! Observers of a run, which get its events while it goes on.
//!
//! Traces, statistics, captures and live plots are observers. An engine is generic over its observer; with
//! `()` every call is compiled away.

use crate::SimTime;

/// Kind of an event. New kinds come only with a new version of the event format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A sender handed a segment to its link.
    Send,
    /// The channel lost the segment.
    Lost,
    /// A queue dropped the segment.
    QueueDrop,
    /// A queue marked the segment instead of dropping it (RFC 3168).
    Mark,
    /// A segment reached the receiver.
    Receive,
    /// An acknowledgement of new data reached the sender.
    Ack,
    /// A duplicate acknowledgement reached the sender.
    DuplicateAck,
    /// The sender began a fast retransmit.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// Loss recovery ended successfully.
    RecoveryEnd,
    /// The channel of the reverse path lost an acknowledgement.
    AckLost,
    /// A queue of the reverse path dropped an acknowledgement.
    AckQueueDrop,
    /// A flow began.
    FlowStart,
    /// All data of a flow were delivered.
    FlowEnd,
}

impl EventKind {
    /// The name in the `event` column of an events file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Lost => "lost",
            Self::QueueDrop => "queue_drop",
            Self::Receive => "receive",
            Self::Ack => "ack",
            Self::DuplicateAck => "duplicate_ack",
            Self::FastRetransmit => "fast_retransmit",
            Self::Timeout => "timeout",
            Self::RecoveryEnd => "recovery_end",
            Self::Mark => "mark",
            Self::AckLost => "ack_lost",
            Self::AckQueueDrop => "ack_queue_drop",
            Self::FlowStart => "flow_start",
            Self::FlowEnd => "flow_end",
        }
    }
}

/// The sender's variables right after an event.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TcpSnapshot {
    /// Congestion window in segments, without the inflation of fast recovery where the flavour keeps it
    /// apart.
    pub cwnd: f64,
    /// Slow-start threshold in segments.
    pub ssthresh: f64,
    /// Duplicate acknowledgements in a row.
    pub dupacks: u32,
    /// Multiplier of the retransmission timeout.
    pub backoff: u32,
    /// Segments sent and not acknowledged.
    pub flight_size: u64,
}

/// One event of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRecord {
    /// Time of the event.
    pub time: SimTime,
    /// Kind of the event.
    pub kind: EventKind,
    /// Number of the flow, counted from 0.
    pub flow: u32,
    /// The segment sent, lost or received, or the first segment not yet acknowledged.
    pub seq: u64,
    /// The sender's state.
    pub tcp: TcpSnapshot,
}

/// Watches a run.
pub trait Observer {
    /// Whether [`Observer::record`] does anything; where false an engine skips building the record.
    const ENABLED: bool = true;

    /// Takes one event, in order of time.
    fn record(&mut self, event: &EventRecord);

    /// Like [`Self::record`], with `info` that gives the state of the flow's congestion control as text.
    fn record_with(&mut self, event: &EventRecord, _info: &dyn Fn() -> String) {
        self.record(event);
    }
}

/// No observer.
impl Observer for () {
    const ENABLED: bool = false;

    fn record(&mut self, _event: &EventRecord) {}
}

/// An observer that keeps every event.
impl Observer for Vec<EventRecord> {
    fn record(&mut self, event: &EventRecord) {
        self.push(*event);
    }
}

impl<O: Observer> Observer for &mut O {
    const ENABLED: bool = O::ENABLED;

    fn record(&mut self, event: &EventRecord) {
        (**self).record(event);
    }

    fn record_with(&mut self, event: &EventRecord, info: &dyn Fn() -> String) {
        (**self).record_with(event, info);
    }
}
