//! TCP as the RFCs specify it: the sender of flavour `rfc`.
//!
//! The connection is established (RFC 9293 section 3.5 is not simulated), the receiver's application reads at once, so that
//! its window is constant unless it is Linux's, and every segment is full-sized, so that the windows of RFC 5681 count segments.
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
//! One mechanism is one file; which of them are at work says [`RfcConfig`](crate::RfcConfig).

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

/// What follows from the configuration and is asked for with every segment.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    uses_sack: bool,
    counts_duplicates: bool,
    /// RACK, or what is decided of round trips and timers, asks when what has arrived was sent.
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
    /// How many segments the application has written.
    available: u64,
    flight: Flight,
    /// One past the last segment that the receiver's window allows, once its acknowledgements say so (RFC 9293 section 3.8.6).
    right_edge: Option<u64>,
    /// The timestamp to echo: when the last acknowledgement left.
    echo: SimTime,
    congestion: Box<dyn CongestionControl>,
    rto: Rto,
    phase: Phase,
    /// Duplicate acknowledgements since the last new one.
    dupacks: u32,
    /// One past the highest segment sent when the last loss was found: RFC 6582's `recover`, RFC 6675's
    /// `RecoveryPoint`.
    recover: Option<u64>,
    /// A retransmission that the window can't hold back.
    force: Option<u64>,
    /// `NewReno` has seen a partial acknowledgement in this recovery.
    seen_partial: bool,
    sack: SackRecovery,
    /// How a recovery with SACK spreads its segments.
    prr: Option<Prr>,
    /// The times of transmission find losses.
    rack: Option<Rack>,
    /// Tail losses are probed for.
    probes: bool,
    tlp: TailLossProbe,
    frto: Frto,
    /// The last reduction of the window, while it may still turn out to have had no cause.
    episode: Option<Episode>,
    /// An acknowledgement has reported a duplicate, ever (RFC 3522 section 3.2 step 5).
    saw_d_sack: bool,
    ecn: Ecn,
    /// The marks that acknowledgements have counted, and the last timestamp echoed: one that was overtaken tells of no marks.
    marks: Option<(MarksTold, Option<SimTime>)>,
    /// Without SACK: how many segments beyond the oldest have arrived, told by duplicates.
    counted_arrivals: u64,
    /// The new segments that last left together.
    packet: Packet,
    /// New segments that limited transmit has sent beyond the window since the first duplicate.
    limited_sent: u64,
    /// Segments that arrived and that the congestion control was not told of.
    uncredited: u64,
    window_use: WindowUse,
    /// Spreads what the window allows over the round trip.
    pacer: Option<Pacer>,
    /// The phase that the congestion control was last told of.
    told_phase: Phase,
    /// One past the highest segment sent when the last loss was found: before it is acknowledged not all losses are repaired.
    loss_free_from: u64,
    last_sent: Option<SimTime>,
    /// The oldest segment at the last timeout.
    timed_out_at: Option<u64>,
    /// Without timestamps: the segment whose round trip is being measured, and when it was sent.
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

    /// Whether duplicates are taken for reports, so that recovery is the same as with SACK.
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

    /// RFC 6675's pipe; without SACK less what duplicates stand for, if they are counted.
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
