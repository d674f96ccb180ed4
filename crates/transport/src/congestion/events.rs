//! Events that a sender reports to a congestion control which sets its own rate or window, such as BBR.

use crossfade_core::SimTime;
use std::fmt;

/// Requirements of a congestion control on its sender, beyond the events that every congestion control receives. The
/// defaults are the requirements of Reno: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "wishes, each there or not")]
pub struct Needs {
    /// True if the sender must track deliveries and report each segment sent or lost, each change of [`Phase`], and
    /// each acknowledgement with a [`RateSample`].
    pub samples: bool,
    /// True if congestion control alone sets the window, also in recovery, after a timeout and after idle time: the
    /// sender neither inflates it nor applies PRR, and never calls `set_cwnd`. Loss recovery still decides which
    /// segments are retransmitted.
    pub own_window: bool,
    /// True if the sender is scalable (RFC 9331): its segments, including retransmissions, carry ECT(1), and marks are
    /// reported by [`RateSample::ce`] instead of `on_ecn`.
    pub ect_1: bool,
    /// True if congestion control will set a pacing rate later. A congestion control without a rate at the start is
    /// paced only if this is set.
    pub paced: bool,
    /// True if congestion control draws random numbers; it then receives its own stream by `seed` before any other
    /// call.
    pub random: bool,
}

/// Report of a segment that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct SendEvent {
    /// Time at which the segment leaves.
    pub now: SimTime,
    /// Number of segments estimated to be in flight, without the one about to leave.
    pub in_flight: u64,
    /// True if nothing was in flight: the connection starts, or was idle.
    pub after_idle: bool,
    /// True if the sender is application-limited, so recent acknowledgements do not show the capacity of the path.
    pub app_limited: bool,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<SimTime>,
}

/// Report of a segment that was found lost.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct LostSegment {
    /// Time at which the loss was detected.
    pub now: SimTime,
    /// Number of segments in flight when the lost segment left, itself included.
    pub tx_in_flight: u64,
    /// Number of segments found lost since this segment left, itself included.
    pub lost_since_sent: u64,
    /// Number of segments that the connection had delivered when the lost segment left.
    pub prior_delivered: u64,
    /// True if the sender was application-limited when the lost segment left.
    pub app_limited: bool,
}

/// Phase of loss recovery, as reported to a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// No known loss is outstanding.
    #[default]
    Open,
    /// Fast recovery: repairs losses that acknowledgements or the reordering timer have revealed.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

/// Delivery-rate sample of an acknowledgement (draft-cheng-iccrg-delivery-rate-estimation-02 section 3), with the state
/// of the connection after the acknowledgement. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RateSample {
    /// Arrival time of the acknowledgement.
    pub now: SimTime,
    /// Number of segments delivered since the connection started.
    pub delivered: u64,
    /// Value of `delivered` when the newest segment reported by this acknowledgement left; `None` if the
    /// acknowledgement reports no new arrival.
    pub prior_delivered: Option<u64>,
    /// Duration of the sample: the longer of its send interval and its acknowledgement interval.
    pub interval: SimTime,
    /// Delivery rate in segments per second. `None` if nothing arrived, or if `interval` is below the minimum RTT: the
    /// acknowledgement of a retransmission then answers the original.
    pub rate: Option<f64>,
    /// RTT of the newest reported segment that was not retransmitted, or else from the echoed timestamp; `None` without
    /// either.
    pub rtt: Option<SimTime>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<SimTime>,
    /// Number of segments that the acknowledgement newly reports as arrived.
    pub newly_acked: u64,
    /// Number of segments found lost by the acknowledgement.
    pub newly_lost: u64,
    /// Number of segments found lost since the connection started.
    pub lost: u64,
    /// Number of segments found lost since the newest reported segment left.
    pub lost_since_sent: u64,
    /// Number of segments in flight when the newest reported segment left, itself included.
    pub tx_in_flight: u64,
    /// Number of segments in flight after the acknowledgement.
    pub in_flight: u64,
    /// Number of segments in flight before the acknowledgement.
    pub prior_in_flight: u64,
    /// True if the sender was application-limited when the newest reported segment left.
    pub app_limited: bool,
    /// Number of newly reported ECN-CE marks: exact with accurate feedback; with the echo of RFC 3168, 1 for an
    /// acknowledgement that carries the echo.
    pub ce: u64,
    /// Number of ECN-CE marks reported since the newest reported segment left, including this acknowledgement's.
    pub ce_since_sent: u64,
    /// True if the acknowledgement ends at a segment that a tail loss probe has retransmitted: the original may be
    /// lost.
    pub answers_probe: bool,
    /// Phase of loss recovery after the acknowledgement.
    pub phase: Phase,
    /// Time at which the pacer releases the next segment: `now` or later.
    pub departure: SimTime,
}

/// State of a congestion control, for traces and plots. Its text form is a list of names and values separated by
/// spaces: `state=startup bandwidth=833.3`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ControlInfo {
    /// Name of the control's current state; empty if it has no states.
    pub state: &'static str,
    /// Estimate of the bottleneck's rate, in segments per second; `None` if the control has no such estimate.
    pub bandwidth: Option<f64>,
    /// Estimate of the RTT without queues; `None` if the control has no such estimate.
    pub min_rtt: Option<SimTime>,
    /// Pacing rate in segments per second; `None` if the control does not pace.
    pub pacing_rate: Option<f64>,
    /// Gains of the pacing rate and of the window; `None` if the control has no gains.
    pub gains: Option<(f64, f64)>,
    /// Further values of the control, as text of the form `name=value`; `None` if there are none.
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
