//! Options that the RFCs leave to the implementer.

use super::bbr::BbrConfig;
use crossfade_core::SimTime;

/// Rule for the number of segments sent per acknowledgement in fast recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateReduction {
    /// The window falls to `ssthresh` at once; the sender is silent until the pipe has drained to it (RFC 6675
    /// section 5).
    Immediate,
    /// Proportional Rate Reduction with one of its two fixed bounds (RFC 6937).
    Rfc6937(ReductionBound),
    /// Proportional Rate Reduction with the bound chosen per acknowledgement (RFC 9937).
    Rfc9937,
}

/// Limit of Proportional Rate Reduction once the pipe is below `ssthresh` (RFC 6937 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionBound {
    /// PRR-CRB, packet conservation: at most as many segments as were delivered.
    Conservative,
    /// PRR-SSRB, slow start: at most one segment more than was delivered.
    SlowStart,
}

/// Congestion control that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControlKind {
    /// Reno (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// HighSpeed TCP (RFC 3649); it follows the RFC even if [`RfcConfig::windows`] is [`Rules::Linux`].
    HighSpeed,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// TCP Prague (RFC 9331), as in the L4S team's kernel.
    Prague,
    /// BBR version 1, as in Linux.
    BbrV1,
    /// BBR version 3 (draft-ietf-ccwg-bbr-06).
    BbrV3,
}

impl CongestionControlKind {
    /// True if the congestion control sets its own pacing rate.
    pub fn sets_rate(self) -> bool {
        matches!(self, Self::BbrV1 | Self::BbrV3 | Self::Prague)
    }
}

/// Source of the rules of a mechanism in which Linux differs from the RFCs (docs/kernel.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Rules as in the RFCs.
    Rfc,
    /// Rules as in Linux.
    Linux,
}

/// Pacing of segments over the RTT, for a congestion control that sets no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// Pacing rate in windows per RTT while the window is below half of `ssthresh` (Linux: 2).
    pub slow_start_ratio: f64,
    /// Pacing rate in windows per RTT for larger windows (Linux: 1.2; RFC 9002 section 7.7: 1.25).
    pub ratio: f64,
    /// Number of segments that leave back to back; `None`: congestion control or segmentation offload decides.
    pub quantum: Option<u64>,
}

impl Default for Pacing {
    /// Returns the pacing ratios of Linux, with a quantum left to congestion control or segmentation offload.
    fn default() -> Self {
        Self { slow_start_ratio: 2.0, ratio: 1.2, quantum: None }
    }
}

/// Options of flavour `rfc`. The defaults follow the RFCs; [`RfcConfig::linux`] follows Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "options of the protocol, each on or off")]
pub struct RfcConfig {
    /// Congestion control that sets the window; ignored if the sender is constructed with one.
    pub congestion_control: CongestionControlKind,
    /// Window rules. Linux: whole segments; reductions start from the window, not the FlightSize; slow start has no
    /// limit L; CUBIC's alpha is constant; a timeout in recovery does not reduce the window again; an undo takes effect
    /// at once.
    pub windows: Rules,
    /// True if slow start ends when the RTT grows: HyStart++ (RFC 9406), or Linux's HyStart for CUBIC if
    /// [`Self::windows`] follows Linux.
    pub hystart: bool,
    /// True if every segment and acknowledgement carries a timestamp (RFC 7323 section 3).
    pub timestamps: bool,
    /// Longest time that the receiver delays an acknowledgement, below 500 ms; `None`: every segment is acknowledged at
    /// once (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    pub delayed_ack: Option<SimTime>,
    /// Number of acknowledgements at the start, and after a duplicate, that `delayed_ack` does not delay (RFC 5681
    /// section 4.2 allows it).
    pub quick_acks: u32,
    /// Bytes per segment for Linux's receive-window autotuning; `None`: off. Acknowledgements of segments that enlarge
    /// the window are not delayed. Without [`Self::handshake_rtt`] the window grows only at the start; with it, the
    /// receiver's RTT follows timestamps and the window limits the sender, as `w_max` does, if a segment fits into a
    /// page.
    pub growth_acks: Option<u32>,
    /// True if the last segment of a burst carries PSH, which the receiver acknowledges at once.
    pub push_acks: bool,
    /// Longest time that an acknowledgement waits to be merged with others, from the fourth out-of-order segment on; at
    /// most a twentieth of the handshake's RTT. `None`: each acknowledgement leaves at once (RFC 5681 section 4.2).
    pub sack_compression: Option<SimTime>,
    /// RTT of the handshake, the first RTT sample (RFC 6298 section 2 allows any segment); `None`: it is not measured.
    pub handshake_rtt: Option<SimTime>,
    /// RTT estimator. Linux: gains of 1/8 and 1/4 for each acknowledgement and each SACK report, and a deviation that
    /// falls once per RTT. RFC: the samples of a window share the gain (RFC 7323 section 4.2).
    pub rtt_estimator: Rules,
    /// Timer rules. Linux: a retransmission of the oldest segment restarts the retransmission timer (RFC 6298 section
    /// 5: only acknowledgements do); probes and the reordering timer wait 2 ms longer; all timers, including delayed
    /// ACKs, count ticks.
    pub timer_rules: Rules,
    /// True if the receiver reports duplicates by D-SACK and the sender uses the reports (RFC 2883).
    pub d_sack: bool,
    /// True if the scoreboard is kept after a timeout (RFC 6675 section 5.1), false if it is cleared (RFC 2018 section
    /// 8).
    pub keep_sack_after_timeout: bool,
    /// True if the highest segment is retransmitted once after all known losses (RFC 6675 section 4, rule 4).
    pub rescue_retransmission: bool,
    /// Rule for the number of segments sent per acknowledgement in recovery with SACK.
    pub rate_reduction: RateReduction,
    /// True if losses are detected by transmission time (RACK, RFC 8985); needs SACK.
    pub rack: bool,
    /// RACK rules. Linux: a retransmission reported by SACK has arrived whatever timestamp is echoed; a retransmission
    /// lost after a timeout starts a fast recovery; a recovery that ends while a lost and retransmitted segment is
    /// outstanding is followed by another; no reordering window after a timeout.
    pub rack_rules: Rules,
    /// True if Proportional Rate Reduction also works without SACK, each duplicate counting as a report (RFC 6937
    /// section 3 allows it).
    pub prr_without_sack: bool,
    /// True if tail loss probes are sent (RFC 8985 section 7); needs SACK and `rack`.
    pub tail_loss_probe: bool,
    /// True if only the first partial acknowledgement restarts the timer of `NewReno`: the "impatient" variant of RFC
    /// 6582 section 4.
    pub impatient: bool,
    /// True if spurious timeouts are detected by the acknowledgements that follow (F-RTO, RFC 5682).
    pub f_rto: bool,
    /// True if spurious retransmissions are detected by timestamps (Eifel, RFC 3522); needs `timestamps`.
    pub eifel: bool,
    /// True if routers may mark data segments instead of dropping them (ECN, RFC 3168).
    pub ecn: bool,
    /// True if acknowledgements count congestion marks (AccECN, RFC 9768) instead of echoing them once per window.
    pub accurate_ecn: bool,
    /// Bytes per segment for the byte counters of the AccECN option (RFC 9768 section 3.2.3), sent if SACK blocks leave
    /// room; `None`: no option.
    pub accurate_ecn_option: Option<u32>,
    /// True if the sender restarts from the initial window after an idle time of one retransmission timeout (RFC 5681
    /// section 4.1).
    pub restart_after_idle: bool,
    /// True if the window grows only while it limits the sender, rather than the application or the receiver (RFC 7661
    /// section 4.3; RFC 9438 section 5.8).
    pub cwnd_validation: bool,
    /// Pacing of segments over the RTT; `None`: no pacing. A congestion control that sets a rate is always paced.
    pub pacing: Option<Pacing>,
    /// Options of BBR, used if it is the congestion control.
    pub bbr: BbrConfig,
}

impl Default for RfcConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControlKind::Reno,
            windows: Rules::Rfc,
            hystart: false,
            timestamps: true,
            // 200 ms, the value of Linux and of TLP.max_ack_delay (RFC 8985 section 7.2).
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
    /// Options as in Linux (docs/kernel.md), except [`Self::handshake_rtt`], which the caller sets to the RTT of the
    /// path. Linux's minimum timeout and granularity, both 200 ms, belong to [`RtoRule`](crate::RtoRule).
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
            // Linux restarts the timer with every retransmission of the oldest segment, so the variants of RFC 6582 do
            // not apply.
            impatient: false,
            ..Self::default()
        }
    }
}
