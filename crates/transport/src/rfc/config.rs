//! What the RFCs leave to the implementer.

use crossfade_core::SimTime;

/// How much is sent for each acknowledgement in fast recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateReduction {
    /// The window falls to `ssthresh` at once; the sender is silent until the pipe has drained to it (RFC 6675
    /// section 5).
    Immediate,
    /// Proportional Rate Reduction with one of its two bounds (RFC 6937).
    Rfc6937(ReductionBound),
    /// Proportional Rate Reduction, where each acknowledgement chooses the bound (RFC 9937).
    Rfc9937,
}

/// What Proportional Rate Reduction may send once the pipe is below `ssthresh` (RFC 6937 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionBound {
    /// PRR-CRB: what was delivered, and no more: packet conservation.
    Conservative,
    /// PRR-SSRB: one segment more than was delivered: slow start.
    SlowStart,
}

/// The choices of flavour `rfc`. The default is what the RFCs recommend; [`RfcConfig::as_deployed`] is nearer
/// to what Linux does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "options of the protocol, each on or off")]
pub struct RfcConfig {
    /// Timestamps on every segment and acknowledgement (RFC 7323 section 3).
    pub timestamps: bool,
    /// How long the receiver may hold back an acknowledgement, less than 500 ms; `None` acknowledges every
    /// segment at once (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    pub delayed_ack: Option<SimTime>,
    /// The receiver reports duplicates and the sender uses the reports (RFC 2883).
    pub d_sack: bool,
    /// After a timeout the sender still believes what was reported (RFC 6675 section 5.1); otherwise it forgets
    /// everything (RFC 2018 section 8).
    pub keep_sack_after_timeout: bool,
    /// At the end of what is known to be lost, repeat the highest segment once (RFC 6675 section 4, rule 4).
    pub rescue_retransmission: bool,
    /// How recovery with SACK spreads its segments.
    pub rate_reduction: RateReduction,
    /// Find losses by the time of transmission (RFC 8985); needs SACK.
    pub rack: bool,
    /// Probe for losses at the tail of a flight (RFC 8985 section 7); needs SACK and `rack`.
    pub tail_loss_probe: bool,
    /// Restart the timer on the first partial acknowledgement of `NewReno` only: the "impatient" variant of RFC
    /// 6582 section 4.
    pub impatient: bool,
    /// Tell spurious timeouts by the acknowledgements after them (RFC 5682).
    pub f_rto: bool,
    /// Tell spurious retransmissions by their timestamps (RFC 3522); needs `timestamps`.
    pub eifel: bool,
    /// Data may be marked instead of dropped (RFC 3168).
    pub ecn: bool,
    /// After an idle time of a retransmission timeout start from the initial window (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// The window grows only while it, and not the application or the receiver, limits the sender (RFC 7661
    /// section 4.3; RFC 9438 section 5.8).
    pub cwnd_validation: bool,
}

impl Default for RfcConfig {
    fn default() -> Self {
        Self {
            timestamps: true,
            // RFC 8985 section 7.2 takes 200 ms for the longest delay that is common.
            delayed_ack: Some(SimTime::from_millis(200)),
            d_sack: true,
            keep_sack_after_timeout: true,
            rescue_retransmission: true,
            rate_reduction: RateReduction::Rfc9937,
            rack: false,
            tail_loss_probe: false,
            impatient: true,
            f_rto: true,
            eifel: true,
            ecn: false,
            restart_after_idle: true,
            cwnd_validation: true,
        }
    }
}

impl RfcConfig {
    /// As Linux does today: losses found by RACK-TLP, acknowledgements delayed by 40 ms. Its shorter minimum of
    /// the timeout (200 ms) is in [`RtoRule`](crate::RtoRule).
    pub fn as_deployed() -> Self {
        Self {
            delayed_ack: Some(SimTime::from_millis(40)),
            rack: true,
            tail_loss_probe: true,
            ..Self::default()
        }
    }
}
