//! What a sender tells a congestion control that sets a rate or a window of its own (as BBR does), event by event.

use crossfade_core::SimTime;
use std::fmt;

/// What a congestion control wants of its sender beyond the events that every congestion control gets. The default is what Reno needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "wishes, each there or not")]
pub struct Needs {
    /// The sender keeps account of deliveries and tells of each segment sent or lost, of each phase, and of each
    /// acknowledgement with a [`RateSample`].
    pub samples: bool,
    /// The window is the congestion control's alone, also in recovery, after a timeout and after idle time: the sender neither inflates it
    /// nor reduces it by PRR, and never calls `set_cwnd`. Which segments to repeat stays the sender's business.
    pub own_window: bool,
    /// The sender is scalable (RFC 9331): its segments, retransmissions as well, say ECT(1), and marks are its own business, told by
    /// [`RateSample::ce`]; `on_ecn` is not called.
    pub ect_1: bool,
    /// The congestion control sets a pacing rate, perhaps later: one that has none at the start is paced only if it says so.
    pub paced: bool,
    /// The congestion control draws random numbers: it is given a stream of its own before anything else.
    pub random: bool,
}

/// A segment is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct SendEvent {
    /// Time of the transmission.
    pub now: SimTime,
    /// How many segments are thought to be in the network without it.
    pub in_flight: u64,
    /// Nothing was sent and not acknowledged: the connection starts, or was idle.
    pub after_idle: bool,
    /// The application had nothing to send: the last acknowledgements tell of it, not of the path.
    pub app_limited: bool,
    /// The smoothed round trip, once there is one.
    pub srtt: Option<SimTime>,
}

/// A segment was found lost.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct LostSegment {
    /// When it was found.
    pub now: SimTime,
    /// How many segments were thought to be in the network when it left, itself included.
    pub tx_in_flight: u64,
    /// How many were found lost since it left, itself included.
    pub lost_since_sent: u64,
    /// How many had arrived when it left.
    pub prior_delivered: u64,
    /// The application had nothing to send when it left.
    pub app_limited: bool,
}

/// What the sender is doing about losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Repairs losses that acknowledgements or the reordering timer have shown.
    Recovery,
    /// Starts over after a timeout.
    Loss,
}

/// What an acknowledgement tells of deliveries: a sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02
/// section 3) and the state of the connection behind it. Counts are of segments.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RateSample {
    /// When it arrived.
    pub now: SimTime,
    /// How many have arrived since the connection began.
    pub delivered: u64,
    /// How many of these had when the newest segment left that it shows to have arrived; `None` if it shows none.
    pub prior_delivered: Option<u64>,
    /// The time in which the difference was sent, or arrived, whichever is longer.
    pub interval: SimTime,
    /// The delivery rate in segments a second. `None` where nothing has arrived, or in less than the shortest round trip:
    /// then the acknowledgement of a retransmission answers the original.
    pub rate: Option<f64>,
    /// The round trip of the newest segment that it shows to have arrived and that was not repeated; else that of the
    /// timestamp that it echoes.
    pub rtt: Option<SimTime>,
    /// The smoothed round trip.
    pub srtt: Option<SimTime>,
    /// How many it shows to have arrived.
    pub newly_acked: u64,
    /// How many were found lost by it.
    pub newly_lost: u64,
    /// How many were found lost since the connection began.
    pub lost: u64,
    /// How many of these after the newest segment left.
    pub lost_since_sent: u64,
    /// How many were thought to be in the network when that left, itself included.
    pub tx_in_flight: u64,
    /// How many are now.
    pub in_flight: u64,
    /// How many were before it.
    pub prior_in_flight: u64,
    /// The application had nothing to send when the newest segment left.
    pub app_limited: bool,
    /// How many of those that have arrived carried a congestion mark, as far as the receiver says: with accurate
    /// feedback their number, with the echo of RFC 3168 1 for an acknowledgement that carries it.
    pub ce: u64,
    /// How many of these it and others have told of since the newest segment left.
    pub ce_since_sent: u64,
    /// The acknowledgement covers a segment that a tail loss probe has retransmitted, and nothing beyond: the original
    /// may be lost.
    pub answers_probe: bool,
    /// What the sender does about losses after it.
    pub phase: Phase,
    /// When the pacer lets the next segment go: now or later.
    pub departure: SimTime,
}

/// What a congestion control is at, for traces and plots. As text it is names and values, `state=startup bandwidth=833.3`, with a space between
/// two.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ControlInfo {
    /// Name of the control's state, if it has states.
    pub state: &'static str,
    /// Estimate of the bottleneck's rate, in segments a second.
    pub bandwidth: Option<f64>,
    /// Estimate of the RTT without queues.
    pub min_rtt: Option<SimTime>,
    /// Pacing rate in segments a second; `None` where the control does not pace.
    pub pacing_rate: Option<f64>,
    /// What multiplies the estimates: pacing and window.
    pub gains: Option<(f64, f64)>,
    /// What else it says of itself, as text of the same form; `None` if it says nothing.
    pub own: Option<String>,
}

impl fmt::Display for ControlInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, bandwidth, min_rtt, pacing_rate, gains, own } = self;
        let numbers = [
            ("bandwidth", *bandwidth),
            ("min_rtt_s", min_rtt.map(SimTime::as_secs_f64)),
            ("pacing_rate", *pacing_rate),
            ("pacing_gain", gains.map(|(pacing, _)| pacing)),
            ("cwnd_gain", gains.map(|(_, cwnd)| cwnd)),
        ];
        let mut between = "";
        if !state.is_empty() {
            write!(f, "state={state}")?;
            between = " ";
        }
        for (name, value) in numbers {
            if let Some(value) = value {
                write!(f, "{between}{name}={value}")?;
                between = " ";
            }
        }
        match own.as_deref() {
            None | Some("") => Ok(()),
            Some(own) => write!(f, "{between}{own}"),
        }
    }
}
