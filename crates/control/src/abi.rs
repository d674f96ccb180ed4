//! What crosses the border between Crossfade and a control that it has loaded: plain tagged structs and a table of C
//! functions. Rust promises no binary interface of its own; what is `repr(C)` here is laid out as C has it. Whoever
//! changes any of it raises [`VERSION`].

use std::ffi::c_void;
use std::time::Duration;

/// The version of this file.
pub const VERSION: u32 = 3;

/// A time since the start of the run, or a span, in nanoseconds.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub u64);

impl Time {
    /// The time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to this one; zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Time {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// An `Option` as C has it.
#[repr(C, u32)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Maybe<T> {
    /// No value.
    #[default]
    None,
    /// A value.
    Some(T),
}

impl<T> Maybe<T> {
    /// The value as an `Option`.
    pub fn get(self) -> Option<T> {
        match self {
            Self::None => None,
            Self::Some(value) => Some(value),
        }
    }
}

impl<T> From<Option<T>> for Maybe<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Self::Some)
    }
}

/// With what a connection begins, in segments.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Initial window, in segments.
    pub cwnd: f64,
    /// Initial slow-start threshold; infinite where there is none.
    pub ssthresh: f64,
}

/// What a control wants of its sender beyond the events that every control gets.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Call `on_send`, `on_segment_lost`, `on_probe_repaired`, `on_phase` and `on_delivery`.
    pub samples: bool,
    /// The control alone sets the window, also in recovery and after a timeout: `set_cwnd` is never called.
    pub own_window: bool,
    /// Segments carry ECT(1), and only [`RateSample::ce`] reports marks.
    pub ect_1: bool,
    /// The control sets a pacing rate, perhaps later: one without a rate at the start is paced only if it says so.
    pub paced: bool,
    /// Call `seed` once, before anything else ([`crate::Control::seed`]).
    pub random: bool,
}

/// An acknowledgement outside loss recovery covered new segments. Sequence numbers count segments.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct AckSample {
    /// Arrival time of the acknowledgement.
    pub now: Time,
    /// Segments that it covers for the first time, selectively or cumulatively.
    pub acked: u64,
    /// RTT sample, if it gives one.
    pub rtt: Maybe<Time>,
    /// Next segment that the receiver expects.
    pub next_expected: u64,
    /// One past the highest segment ever sent.
    pub snd_max: u64,
    /// Whether the congestion window held the sender back, and not the application or the receiver's window.
    pub cwnd_limited: bool,
}

/// A segment is about to leave.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct SendEvent {
    /// Departure time.
    pub now: Time,
    /// Segments estimated in flight before this one.
    pub in_flight: u64,
    /// Nothing is outstanding: the connection starts, or was idle.
    pub after_idle: bool,
    /// The sender is application-limited: the last acknowledgements show the application, not the path.
    pub app_limited: bool,
    /// Smoothed RTT, once there is one.
    pub srtt: Maybe<Time>,
}

/// A segment was found lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct LostSegment {
    /// Time at which the loss was found.
    pub now: Time,
    /// Segments in flight when it left, itself included.
    pub tx_in_flight: u64,
    /// Segments found lost since it left, itself included.
    pub lost_since_sent: u64,
    /// Segments delivered when it left.
    pub prior_delivered: u64,
    /// The sender was application-limited when it left.
    pub app_limited: bool,
}

/// What the sender is doing about losses.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// No segment is known to be lost.
    #[default]
    Open,
    /// Fast recovery: the sender repairs losses that acknowledgements or the reordering timer have shown.
    Recovery,
    /// The sender starts over after a timeout.
    Loss,
}

/// What an acknowledgement tells of deliveries, in segments and segments a second
/// (draft-cheng-iccrg-delivery-rate-estimation-02 section 3).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RateSample {
    /// Arrival time of the acknowledgement.
    pub now: Time,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// Segments delivered when the newest segment left that this acknowledgement delivers; none if it delivers none.
    pub prior_delivered: Maybe<u64>,
    /// Time in which the difference was sent or delivered, whichever is longer.
    pub interval: Time,
    /// Delivery rate in segments a second; none where nothing was delivered, or in less than the minimum RTT.
    pub rate: Maybe<f64>,
    /// RTT of the newest delivered segment that was not retransmitted, or of the timestamp.
    pub rtt: Maybe<Time>,
    /// Smoothed RTT.
    pub srtt: Maybe<Time>,
    /// Segments that this acknowledgement delivers.
    pub newly_acked: u64,
    /// Segments found lost by this acknowledgement.
    pub newly_lost: u64,
    /// Segments found lost since the connection began.
    pub lost: u64,
    /// Segments found lost since the newest delivered segment left.
    pub lost_since_sent: u64,
    /// Segments in flight when that segment left, itself included.
    pub tx_in_flight: u64,
    /// Segments in flight after this acknowledgement.
    pub in_flight: u64,
    /// Segments in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// The sender was application-limited when the newest delivered segment left.
    pub app_limited: bool,
    /// Delivered segments that carried a congestion mark.
    pub ce: u64,
    /// What is acknowledged was retransmitted by a tail loss probe, and nothing beyond it: the original may be lost.
    pub answers_probe: bool,
    /// State of loss recovery after this acknowledgement.
    pub phase: Phase,
    /// Time at which the pacer releases the next segment: now or later.
    pub departure: Time,
}

/// What a control is told.
#[repr(C, u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// [`on_ack`](crate::Control::on_ack).
    Ack(AckSample),
    /// [`on_loss`](crate::Control::on_loss).
    Loss(Time, f64),
    /// [`on_timeout`](crate::Control::on_timeout).
    Timeout(Time, f64),
    /// [`set_cwnd`](crate::Control::set_cwnd).
    SetCwnd(f64),
    /// [`on_ecn`](crate::Control::on_ecn).
    Ecn(Time, f64),
    /// [`undo`](crate::Control::undo).
    Undo,
    /// [`on_idle_end`](crate::Control::on_idle_end).
    IdleEnd(Time, Time),
    /// [`seed`](crate::Control::seed).
    Seed(u64),
    /// [`on_send`](crate::Control::on_send).
    Send(SendEvent),
    /// [`on_segment_lost`](crate::Control::on_segment_lost).
    SegmentLost(LostSegment),
    /// [`on_probe_repaired`](crate::Control::on_probe_repaired).
    ProbeRepaired(Time, bool),
    /// [`on_phase`](crate::Control::on_phase).
    Phase(Time, Phase, u64),
    /// [`on_delivery`](crate::Control::on_delivery).
    Delivery(RateSample),
}

impl Event {
    /// The method of the control that receives this event.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Ack(_) => "on_ack",
            Self::Loss(..) => "on_loss",
            Self::Timeout(..) => "on_timeout",
            Self::SetCwnd(_) => "set_cwnd",
            Self::Ecn(..) => "on_ecn",
            Self::Undo => "undo",
            Self::IdleEnd(..) => "on_idle_end",
            Self::Seed(_) => "seed",
            Self::Send(_) => "on_send",
            Self::SegmentLost(_) => "on_segment_lost",
            Self::ProbeRepaired(..) => "on_probe_repaired",
            Self::Phase(..) => "on_phase",
            Self::Delivery(_) => "on_delivery",
        }
    }
}

/// What a control answers behind each event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Answer {
    /// Window in segments.
    pub cwnd: f64,
    /// Slow-start threshold in segments.
    pub ssthresh: f64,
    /// Pacing rate in segments a second; none leaves it to the sender.
    pub pacing_rate: Maybe<f64>,
    /// Segments that may leave back to back when paced; none leaves it to the sender.
    pub send_quantum: Maybe<u64>,
    /// Samples of what is sent now say nothing of the path.
    pub limits_itself: bool,
}

/// The table that a library exports as [`SYMBOL`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// [`VERSION`], which is looked at before anything behind it.
    pub version: u32,
    /// The size of this table in bytes.
    pub size: u32,
    /// The sizes of an event and of an answer in bytes.
    pub sizes: [u32; 2],
    /// Makes a control, and says what it needs and answers at first; null if it panicked.
    pub start:
        unsafe extern "C" fn(start: *const Start, needs: *mut Needs, answer: *mut Answer) -> *mut c_void,
    /// Tells a control what happened, and what it answers; false if it panicked.
    pub event: unsafe extern "C" fn(control: *mut c_void, event: *const Event, answer: *mut Answer) -> bool,
    /// Copies the state that a control reports, UTF-8, into at most so many bytes; returns its length. The greatest
    /// number if it panicked.
    pub info: unsafe extern "C" fn(control: *const c_void, into: *mut u8, most: usize) -> usize,
    /// Ends a control.
    pub end: unsafe extern "C" fn(control: *mut c_void),
    /// Copies what the last panic of this thread said, UTF-8, into so many bytes; how many were written.
    pub problem: unsafe extern "C" fn(into: *mut u8, most: usize) -> usize,
}

/// The name of the table in a library.
pub const SYMBOL: &str = "CROSSFADE_CONTROL";
