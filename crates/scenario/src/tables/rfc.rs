//! Keys of the choices that the RFCs leave open to a TCP sender and receiver.

use super::base::{absent, json, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_transport::{self as transport, BbrConfig, CongestionControlKind, ReductionBound, RfcConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options that the RFCs leave open to a TCP sender and receiver. Taken by flavour "rfc".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rfc {
    /// Profile that gives the defaults of the other keys.
    #[schemars(extend("x-default" = "recommended"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,

    /// Whether every segment and ACK carries timestamps (RFC 7323).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,

    /// Longest delay of a delayed ACK (RFC 1122 section 4.2.3.2). 0 s acknowledges every segment at once.
    #[schemars(extend("x-default" = "200 ms; 40 ms with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Span>,

    /// Whether the receiver reports duplicates and the sender uses the reports (RFC 2883).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d_sack: Option<bool>,

    /// Whether the SACK scoreboard is kept after a timeout (RFC 6675 section 5.1). Otherwise it is cleared (RFC 2018
    /// section 8).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_sack_after_timeout: Option<bool>,

    /// Whether recovery sends a rescue retransmission once (RFC 6675 section 4, rule 4).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue_retransmission: Option<bool>,

    /// Number of segments sent per ACK in recovery with SACK.
    #[schemars(extend("x-default" = "prr"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_reduction: Option<RateReduction>,

    /// RACK: whether losses are detected by transmission time (RFC 8985). Needs SACK.
    #[schemars(extend("x-default" = "false; true with profile \"linux\" and SACK"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<bool>,

    /// Whether tail loss probes are sent (RFC 8985 section 7). Needs rack.
    #[schemars(extend("x-default" = "the value of tcp.rfc.rack"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,

    /// Whether NewReno restarts its timer on the first partial ACK only (RFC 6582 section 4).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impatient: Option<bool>,

    /// F-RTO: whether spurious timeouts are detected by the ACKs that follow (RFC 5682).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f_rto: Option<bool>,

    /// Eifel: whether spurious retransmissions are detected by timestamps (RFC 3522). Needs timestamps.
    #[schemars(extend("x-default" = "the value of tcp.rfc.timestamps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifel: Option<bool>,

    /// Whether queues may mark data instead of dropping it (RFC 3168).
    #[schemars(extend("x-default" = "false; true for congestion \"dctcp\" and \"prague\" and with tcp.bbr.ecn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// AccECN: whether ACKs count marks in three bits (RFC 9768). Otherwise they echo one until the sender responds.
    /// Needs ecn.
    #[schemars(extend("x-default" = "false; true for congestion \"dctcp\" and \"prague\" and with tcp.bbr.ecn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accurate_ecn: Option<bool>,

    /// Whether ACKs count marked bytes in an AccECN option of 8 B, where SACK leaves room. The sender then knows
    /// whether the three bits wrapped while ACKs were lost. Needs accurate_ecn.
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accurate_ecn_option: Option<bool>,

    /// Whether an idle sender restarts from the initial window (RFC 5681 section 4.1). It is idle if it has sent no
    /// data for a retransmission timeout.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_after_idle: Option<bool>,

    /// Whether the window grows only while it limits the sender. See RFC 7661 section 4.3 and RFC 9438 section 5.8.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_validation: Option<bool>,

    /// Whether slow start ends when RTTs grow (HyStart++, RFC 9406). With windows "linux" and CUBIC it is Linux's
    /// HyStart, which also ends slow start when the ACKs of a round last half an RTT.
    #[schemars(extend("x-default" = "true for CUBIC, otherwise false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,

    /// Window arithmetic: that of the RFCs or of Linux. Linux counts whole segments, reduces the window instead of
    /// inflight data, has no limit L in slow start, a constant alpha in CUBIC, one reduction per window of data, and
    /// lets a single segment that follows others wait for more (segmentation offload).
    #[schemars(extend("x-default" = "rfc; linux with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Rules>,

    /// Number of quick ACKs: not delayed at the start, after a duplicate, and after a pause. A pause is longer than a
    /// timeout.
    #[schemars(range(max = 1000), extend("x-default" = "0; 16 with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_acks: Option<u32>,

    /// Whether ACKs are not delayed while a receive window like Linux's grows. This affects half a dozen ACKs at the
    /// start, and a few dozen after each RTT with a new maximum of data read. The window limits the sender.
    #[schemars(extend("x-default" = "false; true with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_acks: Option<bool>,

    /// Whether the last segment of an offload burst carries PSH. The receiver acknowledges such a segment at once.
    #[schemars(extend("x-default" = "false; true with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_acks: Option<bool>,

    /// Wait of delayed ACKs with SACK from the fourth segment beyond a hole on. 0 s sends each at once (RFC 5681
    /// section 4.2).
    #[schemars(extend("x-default" = "0 s; 1 ms with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_compression: Option<Span>,

    /// Whether the handshake measures the first RTT: that of the path without queues.
    #[schemars(extend("x-default" = "false; true with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<bool>,

    /// RTT estimator that sets the timeout. With "rfc" the samples of a window share the gain (RFC 7323 section 4.2);
    /// with "linux" gains are 1/8 and 1/4 per ACK, and the deviation falls once per RTT.
    #[schemars(extend("x-default" = "rfc; linux with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_estimator: Option<Rules>,

    /// Timer rules: those of the RFCs or of Linux. In Linux the retransmission timer restarts when the oldest segment
    /// is retransmitted; tail loss probes and the reordering timer wait 2 ms more; all of them, and delayed ACKs, count
    /// ticks of 4 ms.
    #[schemars(extend("x-default" = "rfc; linux with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_rules: Option<Rules>,

    /// RACK rules: those of RFC 8985 or of Linux. In Linux a retransmission that SACK reports counts as delivered
    /// whatever timestamp is echoed; a retransmission lost after a timeout begins a fast recovery; recoveries follow
    /// each other at once while a lost and retransmitted segment is out; no reordering window after a timeout.
    #[schemars(extend("x-default" = "rfc; linux with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack_rules: Option<Rules>,

    /// Whether NewReno spreads its segments like recovery with SACK. Each duplicate ACK then counts as a report of one
    /// segment.
    #[schemars(extend("x-default" = "false; true with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prr_without_sack: Option<bool>,
}

absent!(Rfc);

/// Profile that gives the defaults of the other keys of tcp.rfc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Recommendations of the RFCs.
    Recommended,
    /// Choices of Linux, also where it differs from the RFCs.
    Linux,
}

/// Rules that a mechanism follows: those of its RFC, or those of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rules {
    /// Rules of the RFC that specifies the mechanism.
    Rfc,
    /// Rules of the Linux kernel.
    Linux,
}

/// Number of segments sent per ACK in fast recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateReduction {
    /// No segment until the pipe has drained to ssthresh (RFC 6675).
    Immediate,
    /// Proportional Rate Reduction, packet conservation (RFC 6937).
    PrrCrb,
    /// Proportional Rate Reduction, slow start (RFC 6937).
    PrrSsrb,
    /// Proportional Rate Reduction of RFC 9937.
    Prr,
}

/// Bound of an ACK's delay: less than 500 ms (RFC 1122 section 4.2.3.2).
const LONGEST_DELAYED_ACK: SimTime = SimTime::from_millis(500);

impl Rfc {
    /// Fills in the defaults of a sender with or without SACK. `counts_marks` says that the congestion control counts
    /// every ECN mark; otherwise it learns of marks once per RTT.
    pub(crate) fn resolve(
        &mut self,
        sack: bool,
        congestion_control: CongestionControlKind,
        counts_marks: bool,
        slot: SimTime,
    ) -> Result<RfcConfig, ScenarioError> {
        let usual = match self.profile.get_or_insert(Profile::Recommended) {
            Profile::Recommended => RfcConfig::default(),
            Profile::Linux => RfcConfig::linux(),
        };
        let is_linux = self.profile == Some(Profile::Linux);
        let rules = |given: &mut Option<Rules>, usual| {
            let usual = if usual == transport::Rules::Linux { Rules::Linux } else { Rules::Rfc };
            match given.get_or_insert(usual) {
                Rules::Rfc => transport::Rules::Rfc,
                Rules::Linux => transport::Rules::Linux,
            }
        };
        self.handshake.get_or_insert(is_linux);
        let timestamps = *self.timestamps.get_or_insert(usual.timestamps);
        let rack = *self.rack.get_or_insert(usual.rack && sack);
        let (ecn, accurate_ecn) = self.resolve_ecn(counts_marks)?;
        // A key with the usual value stays absent.
        self.accurate_ecn_option.take_if(|given| !*given);
        let config = RfcConfig {
            congestion_control,
            hystart: *self.hystart.get_or_insert(congestion_control == CongestionControlKind::Cubic),
            windows: rules(&mut self.windows, usual.windows),
            timestamps,
            quick_acks: *self.quick_acks.get_or_insert(usual.quick_acks),
            // Set by the caller, which knows the segment size.
            growth_acks: self.resolve_growth_acks(usual.growth_acks),
            push_acks: *self.push_acks.get_or_insert(usual.push_acks),
            sack_compression: self.resolve_sack_compression(usual.sack_compression, slot)?,
            // Set once the path is known.
            handshake_rtt: None,
            rtt_estimator: rules(&mut self.rtt_estimator, usual.rtt_estimator),
            timer_rules: rules(&mut self.timer_rules, usual.timer_rules),
            rack_rules: rules(&mut self.rack_rules, usual.rack_rules),
            prr_without_sack: *self.prr_without_sack.get_or_insert(usual.prr_without_sack),
            delayed_ack: self.resolve_delayed_ack(usual.delayed_ack, slot)?,
            d_sack: *self.d_sack.get_or_insert(usual.d_sack),
            keep_sack_after_timeout: *self
                .keep_sack_after_timeout
                .get_or_insert(usual.keep_sack_after_timeout),
            rescue_retransmission: *self.rescue_retransmission.get_or_insert(usual.rescue_retransmission),
            rate_reduction: match self.rate_reduction.get_or_insert(RateReduction::Prr) {
                RateReduction::Immediate => transport::RateReduction::Immediate,
                RateReduction::PrrCrb => transport::RateReduction::Rfc6937(ReductionBound::Conservative),
                RateReduction::PrrSsrb => transport::RateReduction::Rfc6937(ReductionBound::SlowStart),
                RateReduction::Prr => transport::RateReduction::Rfc9937,
            },
            rack,
            tail_loss_probe: *self.tail_loss_probe.get_or_insert(rack),
            impatient: *self.impatient.get_or_insert(usual.impatient),
            f_rto: *self.f_rto.get_or_insert(usual.f_rto),
            eifel: *self.eifel.get_or_insert(timestamps),
            ecn,
            accurate_ecn,
            // Set by the caller, which knows the segment size.
            accurate_ecn_option: self.accurate_ecn_option.map(|_| 0),
            restart_after_idle: *self.restart_after_idle.get_or_insert(usual.restart_after_idle),
            cwnd_validation: *self.cwnd_validation.get_or_insert(usual.cwnd_validation),
            // Set from tables of their own.
            pacing: None,
            bbr: BbrConfig::default(),
        };
        let needs = [
            ("rack", config.rack && !sack, "SACK (tcp.variant = \"sack\" or \"cubic\")"),
            ("tail_loss_probe", config.tail_loss_probe && !config.rack, "tcp.rfc.rack = true"),
            ("eifel", config.eifel && !config.timestamps, "tcp.rfc.timestamps = true"),
            (
                "accurate_ecn_option",
                config.accurate_ecn_option.is_some() && !accurate_ecn,
                "tcp.rfc.accurate_ecn = true",
            ),
        ];
        match needs.into_iter().find(|(_, unmet, _)| *unmet) {
            Some((key, _, need)) => {
                Err(ScenarioError::value(format!("tcp.rfc.{key}"), &json(true), format!("needs {need}")))
            }
            None => Ok(config),
        }
    }

    /// Fills in whether data may be marked (ECN) and whether marks are counted (AccECN), and returns both. Keys with
    /// the usual values of the congestion control stay absent.
    fn resolve_ecn(&mut self, counts_marks: bool) -> Result<(bool, bool), ScenarioError> {
        let ecn = *self.ecn.get_or_insert(counts_marks);
        let usual = counts_marks && ecn;
        match self.accurate_ecn.take_if(|given| *given == usual).or(self.accurate_ecn) {
            Some(false) if usual => {
                let problem = "must be true for congestion \"dctcp\" and \"prague\" and with tcp.bbr.ecn: they count marks";
                Err(ScenarioError::value("tcp.rfc.accurate_ecn", &json(false), problem))
            }
            Some(true) if !ecn => {
                Err(ScenarioError::value("tcp.rfc.accurate_ecn", &json(true), "needs tcp.rfc.ecn = true"))
            }
            given => Ok((ecn, given.unwrap_or(usual))),
        }
    }

    /// Number of ACKs that are not delayed while a receive window grows; `None` if all may be delayed. Values equal to
    /// the RFCs' stay absent, because rows of profile "recommended" are older than this key.
    fn resolve_growth_acks(&mut self, usual: Option<u32>) -> Option<u32> {
        let asked = self.growth_acks.unwrap_or(usual.is_some());
        self.growth_acks = Some(asked).filter(|asked| *asked || usual.is_some());
        asked.then_some(0)
    }

    fn resolve_sack_compression(
        &mut self,
        usual: Option<SimTime>,
        slot: SimTime,
    ) -> Result<Option<SimTime>, ScenarioError> {
        let usual = Span::millis(usual.map_or(0, |time| time.as_nanos() / 1_000_000));
        let given = *self.sack_compression.get_or_insert(usual);
        match time("tcp.rfc.sack_compression", given, slot)? {
            SimTime::ZERO => Ok(None),
            time if time >= LONGEST_DELAYED_ACK => {
                let problem = "must be below 500 ms; 0 s sends each acknowledgement at once";
                Err(ScenarioError::value("tcp.rfc.sack_compression", &json(given), problem))
            }
            time => Ok(Some(time)),
        }
    }

    fn resolve_delayed_ack(
        &mut self,
        usual: Option<SimTime>,
        slot: SimTime,
    ) -> Result<Option<SimTime>, ScenarioError> {
        let usual = Span::millis(usual.map_or(0, |time| time.as_nanos() / 1_000_000));
        let given = *self.delayed_ack.get_or_insert(usual);
        match time("tcp.rfc.delayed_ack", given, slot)? {
            SimTime::ZERO => Ok(None),
            time if time >= LONGEST_DELAYED_ACK => {
                let problem = "must be below 500 ms; 0 s acknowledges every segment at once";
                Err(ScenarioError::value("tcp.rfc.delayed_ack", &json(given), problem))
            }
            time => Ok(Some(time)),
        }
    }
}
