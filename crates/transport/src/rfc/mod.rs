//! TCP as the RFCs specify it: the sender of flavour `rfc`.
//!
//! The connection is established (RFC 9293 section 3.5 is not simulated). The receiver's application reads at once, so
//! the receiver's window is constant unless Linux's is modelled. Every segment is full-sized, so the windows of RFC 5681
//! count segments.
//!
//! ```text
//!               loss shown by duplicates, SACK or RACK
//!   ┌──────┐ ────────────────────────────────────────> ┌──────────────┐
//!   │ Open │ <──── everything sent until then acked ── │   Recovery   │
//!   └──────┘                                           └──────────────┘
//!     │  ^                                                    │
//!     │  └── everything sent until then acked ── ┌──────┐ <───┤ timeout
//!     └───────────────── timeout ──────────────> │ Loss │     │
//!                                                └──────┘ <───┘
//! ```
//!
//! Each mechanism has a file; [`RfcConfig`](crate::RfcConfig) selects the mechanisms in use.

mod ack;
mod answers;
mod delivery;
mod ecn;
mod eifel;
mod flight;
mod frto;
mod newreno;
mod news;
mod offload;
mod pacer;
mod policy;
mod prr;
mod rack;
mod receive_window;
mod recovery;
mod rto;
mod sack;
mod sack_recovery;
mod telling;
mod timers;
mod tlp;
mod transmit;
mod window_use;

pub(crate) use answers::{Answers, Options, Place};
pub(crate) use delivery::Deliveries;
pub(crate) use pacer::{Pacer, quantum, usual_rate};
pub(crate) use policy::{PacerPolicy, Policy, RttPolicy, TimerPolicy};
pub(crate) use rto::Rto;
pub(crate) use window_use::WindowUse;

use crate::accurate_ecn::MarksTold;
use crate::config::{RateReduction, TcpConfig, Variant};
use crate::congestion::{CongestionControl, Needs, Phase};
use crate::outcome::SenderStatistics;
use crossfade_core::{SimTime, TcpSnapshot};
use ecn::Ecn;
use eifel::Episode;
use flight::Flight;
use frto::Frto;
use offload::Packet;
use prr::Prr;
use rack::Rack;
use sack_recovery::SackRecovery;
use tlp::TailLossProbe;

/// Values derived from the configuration once, since every segment needs them.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    uses_sack: bool,
    counts_duplicates: bool,
    /// True if the sending times of arrived segments are needed, by RACK or by the policies of RTTs and timers.
    wants_times: bool,
    needs: Needs,
}

impl Fixed {
    fn new(config: &TcpConfig, policy: &Policy, needs: Needs) -> Self {
        let TcpConfig { variant, rfc, .. } = config;
        Self {
            uses_sack: *variant == Variant::Sack,
            counts_duplicates: *variant == Variant::NewReno
                && rfc.prr_without_sack
                && rfc.rate_reduction != RateReduction::Immediate,
            wants_times: (rfc.rack && *variant == Variant::Sack)
                || policy.rtt.from_every_report
                || policy.timers.report_restarts,
            needs,
        }
    }
}

pub(crate) struct RfcSender {
    config: TcpConfig,
    policy: Policy,
    fixed: Fixed,
    /// Number of segments that the application has written.
    available: u64,
    flight: Flight,
    /// One past the last segment that the receiver's window allows (RFC 9293 section 3.8.6); `None` until
    /// acknowledgements advertise a window.
    right_edge: Option<u64>,
    /// Timestamp to echo: departure time of the last acknowledgement.
    echo: SimTime,
    congestion: Box<dyn CongestionControl>,
    rto: Rto,
    phase: Phase,
    /// Number of duplicate acknowledgements since the last acknowledgement of new data.
    dupacks: u32,
    /// One past the highest segment sent when the last loss was found: RFC 6582's `recover`, RFC 6675's
    /// `RecoveryPoint`.
    recover: Option<u64>,
    /// Segment to retransmit regardless of the window; `None` if there is none.
    force: Option<u64>,
    /// True if `NewReno` has seen a partial acknowledgement in this recovery.
    seen_partial: bool,
    sack: SackRecovery,
    /// Proportional Rate Reduction of the current recovery; `None` outside recovery, or if it is not used.
    prr: Option<Prr>,
    /// State of RACK; `None` if losses are not detected by transmission time.
    rack: Option<Rack>,
    /// True if tail loss probes are sent.
    probes: bool,
    tlp: TailLossProbe,
    frto: Frto,
    /// Last window reduction, kept while it may prove spurious; `None` otherwise.
    episode: Option<Episode>,
    /// True if any acknowledgement has reported a duplicate (RFC 3522 section 3.2 step 5).
    saw_d_sack: bool,
    ecn: Ecn,
    /// With AccECN: marks counted by acknowledgements, and the last echoed timestamp, by which reordered ACKs are
    /// recognised.
    marks: Option<(MarksTold, Option<SimTime>)>,
    /// Without SACK: number of segments beyond the oldest that have arrived, inferred from duplicates.
    counted_arrivals: u64,
    /// Last packet of new segments that leave together, as with segmentation offload.
    packet: Packet,
    /// Number of new segments that limited transmit sent beyond the window since the first duplicate.
    limited_sent: u64,
    /// Number of arrived segments not yet credited to congestion control.
    uncredited: u64,
    window_use: WindowUse,
    /// Pacer that spreads the window over the RTT; `None` without pacing.
    pacer: Option<Pacer>,
    /// Phase of loss recovery that was last reported to congestion control.
    told_phase: Phase,
    /// One past the highest segment sent when the last loss was found: until it is acknowledged, some losses are not
    /// repaired.
    loss_free_from: u64,
    last_sent: Option<SimTime>,
    /// Oldest unacknowledged segment at the last timeout; `None` before the first.
    timed_out_at: Option<u64>,
    /// Segment whose RTT is being measured, and its sending time; used without timestamps.
    timed: Option<(u64, SimTime)>,
    rtt_sum_s: f64,
    rtt_samples: u64,
    statistics: SenderStatistics,
}

impl RfcSender {
    pub(crate) fn new(config: &TcpConfig, congestion: Box<dyn CongestionControl>) -> Self {
        let uses_rack = config.rfc.rack && config.variant == Variant::Sack;
        let (policy, needs) = (Policy::of(&config.rfc), congestion.needs());
        let is_paced = config.rfc.pacing.is_some() || needs.paced || congestion.pacing_rate().is_some();
        let mut rto = Rto::new(config.rto, policy.rtt, policy.timers);
        if let Some(rtt) = config.rfc.handshake_rtt {
            rto.on_ack_sample(rtt, 1, 0, 0);
        }
        Self {
            config: *config,
            policy,
            fixed: Fixed::new(config, &policy, needs),
            available: config.segments.unwrap_or(u64::MAX),
            flight: Flight::new(uses_rack, needs.samples),
            right_edge: None,
            echo: SimTime::ZERO,
            congestion,
            rto,
            phase: Phase::Open,
            dupacks: 0,
            recover: None,
            force: None,
            seen_partial: false,
            sack: SackRecovery::default(),
            prr: None,
            rack: uses_rack.then(|| Rack::new(config.rfc.handshake_rtt)),
            probes: uses_rack && config.rfc.tail_loss_probe,
            tlp: TailLossProbe::default(),
            frto: Frto::Off,
            episode: None,
            saw_d_sack: false,
            ecn: Ecn::new(config.rfc.ecn),
            marks: config.rfc.accurate_ecn.then(|| (MarksTold::new(config.rfc.accurate_ecn_option), None)),
            counted_arrivals: 0,
            packet: Packet::default(),
            limited_sent: 0,
            uncredited: 0,
            window_use: WindowUse::default(),
            pacer: is_paced.then(Pacer::default),
            told_phase: Phase::Open,
            loss_free_from: 0,
            last_sent: None,
            timed_out_at: None,
            timed: None,
            rtt_sum_s: 0.0,
            rtt_samples: 0,
            statistics: SenderStatistics::default(),
        }
    }

    fn uses_sack(&self) -> bool {
        self.fixed.uses_sack
    }

    /// True if duplicate ACKs count as SACK reports, so that recovery works as with SACK.
    fn counts_duplicates(&self) -> bool {
        self.fixed.counts_duplicates
    }

    pub(crate) fn write(&mut self, segments: u64) {
        self.available = self.available.saturating_add(segments);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.flight.snd_una() >= self.available
    }

    pub(crate) fn snd_una(&self) -> u64 {
        self.flight.snd_una()
    }

    pub(crate) fn snd_max(&self) -> u64 {
        self.flight.snd_max()
    }

    /// RFC 6675's pipe; without SACK, reduced by the arrivals inferred from duplicates, if they are counted.
    pub(crate) fn pipe(&self) -> u64 {
        self.flight.pipe().saturating_sub(self.counted_arrivals)
    }

    pub(crate) fn rtt_samples(&self) -> (f64, u64) {
        (self.rtt_sum_s, self.rtt_samples)
    }

    pub(crate) fn statistics(&self) -> SenderStatistics {
        self.statistics
    }

    pub(crate) fn snapshot(&self) -> TcpSnapshot {
        TcpSnapshot {
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            dupacks: self.dupacks,
            backoff: self.rto.backoff(),
            flight_size: self.flight.size(),
        }
    }
}
