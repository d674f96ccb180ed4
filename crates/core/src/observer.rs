//! Observers of a run, which receive its events while it runs.
//!
//! Event traces, statistics and live plots are observers.

use crate::SimTime;
use std::sync::{Mutex, PoisonError};

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
    /// Name of the kind in the `event` column of an events file.
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

/// State variables of a TCP sender right after an event.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TcpSnapshot {
    /// Congestion window in segments. It excludes the inflation of fast recovery if the TCP flavour keeps this apart.
    pub cwnd: f64,
    /// Slow-start threshold in segments.
    pub ssthresh: f64,
    /// Number of consecutive duplicate acknowledgements.
    pub dupacks: u32,
    /// Backoff factor by which the retransmission timeout is multiplied.
    pub backoff: u32,
    /// Number of segments sent and not yet acknowledged.
    pub flight_size: u64,
}

/// One event of one flow, with the sender's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRecord {
    /// Time of the event.
    pub time: SimTime,
    /// Kind of the event.
    pub kind: EventKind,
    /// Number of the flow that the event belongs to, counted from 0.
    pub flow: u32,
    /// Number of the segment that was sent, lost or received; for other kinds, of the first segment not yet
    /// acknowledged.
    pub seq: u64,
    /// State of the TCP sender right after the event.
    pub tcp: TcpSnapshot,
}

/// Observer of a run: receives its events while it runs.
pub trait Observer {
    /// Records one event; events come in order of time.
    fn record(&mut self, event: &EventRecord);

    /// Like [`Self::record`], but `info` gives the state of the flow's congestion control as text.
    fn record_with(&mut self, event: &EventRecord, _info: &dyn Fn() -> String) {
        self.record(event);
    }
}

/// Observer that keeps every event in memory.
impl Observer for Vec<EventRecord> {
    fn record(&mut self, event: &EventRecord) {
        self.push(*event);
    }
}

/// Observer that is read while the run goes on, between two steps of it.
impl<O: Observer> Observer for &Mutex<O> {
    fn record(&mut self, event: &EventRecord) {
        self.lock().unwrap_or_else(PoisonError::into_inner).record(event);
    }

    fn record_with(&mut self, event: &EventRecord, info: &dyn Fn() -> String) {
        self.lock().unwrap_or_else(PoisonError::into_inner).record_with(event, info);
    }
}
