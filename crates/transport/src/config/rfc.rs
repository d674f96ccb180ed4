//! What the RFCs leave to the implementer.

use super::bbr::BbrConfig;
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

/// Which congestion control sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControlKind {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// RFC 3649, by the RFC also where windows are Linux's.
    HighSpeed,
    /// RFC 8257.
    Dctcp,
    /// For RFC 9331, as the L4S team's kernel has it.
    Prague,
    /// BBR version 1, as Linux has it.
    BbrV1,
    /// BBR version 3 (draft-ietf-ccwg-bbr-06).
    BbrV3,
}

impl CongestionControlKind {
    /// Whether it sets a rate, and is paced by it.
    pub fn sets_rate(self) -> bool {
        matches!(self, Self::BbrV1 | Self::BbrV3 | Self::Prague)
    }
}

/// Rules of a mechanism where Linux differs from the RFC (docs/kernel.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Rules of the RFC.
    Rfc,
    /// Rules of Linux.
    Linux,
}

/// How segments are spread over the round trip where the congestion control sets no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// The rate as a multiple of the window a round trip while the window is below half of `ssthresh` (Linux: 2).
    pub slow_start_ratio: f64,
    /// Pacing rate in windows per RTT for larger windows (Linux: 1.2; RFC 9002 section 7.7: 1.25).
    pub ratio: f64,
    /// Number of segments that leave back to back; `None` leaves it to congestion control, or to segmentation offload.
    pub quantum: Option<u64>,
}

impl Default for Pacing {
    /// Pacing as Linux has it by default.
    fn default() -> Self {
        Self { slow_start_ratio: 2.0, ratio: 1.2, quantum: None }
    }
}

/// The choices of flavour `rfc`. The default is what the RFCs recommend; [`RfcConfig::linux`] is what Linux does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "options of the protocol, each on or off")]
pub struct RfcConfig {
    /// Which congestion control sets the window, unless a congestion control is given to the sender.
    pub congestion_control: CongestionControlKind,
    /// Linux: windows of whole segments, reduced from the window and not from the FlightSize, no L in slow start, CUBIC's
    /// alpha constant, no second reduction by a timeout in recovery, an undo at once.
    pub windows: Rules,
    /// Leave slow start when round trips grow: HyStart++ (RFC 9406), or HyStart with [`Self::windows`] of Linux and CUBIC.
    pub hystart: bool,
    /// Timestamps on every segment and acknowledgement (RFC 7323 section 3).
    pub timestamps: bool,
    /// How long the receiver may hold back an acknowledgement, less than 500 ms; `None` acknowledges every
    /// segment at once (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    pub delayed_ack: Option<SimTime>,
    /// Number of acknowledgements at the start, and after a duplicate, that `delayed_ack` does not delay (RFC 5681
    /// section 4.2 allows it).
    pub quick_acks: u32,
    /// Bytes of a segment, from which the receive window grows as in Linux; acknowledgements of segments by which it grows are
    /// not delayed. Without [`Self::handshake_rtt`] it grows only at the start; with it, its RTT follows timestamps and the
    /// window bounds the sender, as `w_max` does, if a segment fits into a page.
    pub growth_acks: Option<u32>,
    /// Segments that end a burst of the sender carry PSH, and the receiver acknowledges them at once.
    pub push_acks: bool,
    /// From the fourth out-of-order segment on, acknowledgements wait for others for this long, at most a twentieth of
    /// the handshake's round trip; `None` sends each at once (RFC 5681 section 4.2).
    pub sack_compression: Option<SimTime>,
    /// The round trip of the handshake, if it is measured (RFC 6298 section 2 allows any segment).
    pub handshake_rtt: Option<SimTime>,
    /// Linux: 1/8 and 1/4 of an error for each acknowledgement, also of reports, and a deviation that falls once a round
    /// trip; otherwise the samples of a window share the gain (RFC 7323 section 4.2).
    pub rtt_estimator: Rules,
    /// Linux: the timer starts again when the oldest segment is repeated (RFC 6298 section 5 restarts it by
    /// acknowledgements only); probes and the reordering timer wait 2 ms more; timers, those of delayed
    /// acknowledgements too, count ticks.
    pub timer_rules: Rules,
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
    /// Linux: a retransmission that is reported has arrived, whatever timestamp is echoed; a retransmission lost after a timeout
    /// begins a fast recovery; a recovery that ends while something lost and repeated is out is followed by another;
    /// after a timeout there is no reordering window.
    pub rack_rules: Rules,
    /// Proportional Rate Reduction also without SACK: each duplicate stands for a report (RFC 6937 section 3 allows it).
    pub prr_without_sack: bool,
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
    /// Acknowledgements count marks (AccECN, RFC 9768) instead of echoing them once a window.
    pub accurate_ecn: bool,
    /// Whether acknowledgements also count bytes (the AccECN option, RFC 9768 section 3.2.3), where there is room
    /// beside reports; the bytes of a segment.
    pub accurate_ecn_option: Option<u32>,
    /// After an idle time of a retransmission timeout start from the initial window (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// The window grows only while it, and not the application or the receiver, limits the sender (RFC 7661
    /// section 4.3; RFC 9438 section 5.8).
    pub cwnd_validation: bool,
    /// Spread segments over the round trip. A congestion control that sets a rate is paced in any case.
    pub pacing: Option<Pacing>,
    /// What BBR leaves open.
    pub bbr: BbrConfig,
}

impl Default for RfcConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControlKind::Reno,
            windows: Rules::Rfc,
            hystart: false,
            timestamps: true,
            // As long as TLP.max_ack_delay (RFC 8985 section 7.2), which Linux takes to be 200 ms.
            delayed_ack: Some(SimTime::from_millis(200)),
            quick_acks: 0,
            growth_acks: None,
            push_acks: false,
            sack_compression: None,
            handshake_rtt: None,
            rtt_estimator: Rules::Rfc,
            timer_rules: Rules::Rfc,
            d_sack: true,
            keep_sack_after_timeout: true,
            rescue_retransmission: true,
            rate_reduction: RateReduction::Rfc9937,
            rack: false,
            rack_rules: Rules::Rfc,
            prr_without_sack: false,
            tail_loss_probe: false,
            impatient: true,
            f_rto: true,
            eifel: true,
            ecn: false,
            accurate_ecn: false,
            accurate_ecn_option: None,
            restart_after_idle: true,
            cwnd_validation: true,
            pacing: None,
            bbr: BbrConfig::default(),
        }
    }
}

impl RfcConfig {
    /// As Linux does (docs/kernel.md). Its shorter minimum of the timeout is in [`RtoRule`](crate::RtoRule): 200 ms, and
    /// a granularity of as much. The round trip of the handshake is the path's.
    pub fn linux() -> Self {
        Self {
            windows: Rules::Linux,
            delayed_ack: Some(SimTime::from_millis(40)),
            quick_acks: 16,
            growth_acks: Some(1448),
            push_acks: true,
            sack_compression: Some(SimTime::from_millis(1)),
            rtt_estimator: Rules::Linux,
            timer_rules: Rules::Linux,
            rack: true,
            rack_rules: Rules::Linux,
            prr_without_sack: true,
            tail_loss_probe: true,
            // Its timer starts again with every retransmission of the oldest segment, whatever RFC 6582 calls that.
            impatient: false,
            ..Self::default()
        }
    }
}
