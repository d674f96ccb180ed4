//! QUIC's loss recovery (RFC 9002) over one stream: the sender and the receiver of flavour `quic`.
//!
//! The handshake is confirmed, so there is one packet number space. Packets are full-sized and each holds one
//! segment of the stream. Other streams, keys, migration, 0-RTT and the amplification limit are not modelled; flow
//! control is a constant credit, like TCP's window.
//!
//! ```text
//!               a loss, or a mark
//!   ┌──────┐ ─────────────────────────────────────> ┌──────────┐
//!   │ Open │ <── a packet sent since then acked ─── │ Recovery │
//!   └──────┘                                        └──────────┘
//!     │  ^                                               │
//!     │  └── a packet sent since then acked ── ┌──────┐ <┘ persistent
//!     └──────── persistent congestion ───────> │ Loss │    congestion
//!                                              └──────┘
//! ```
//!
//! A probe timeout only sends packets, regardless of the window, and changes no state of loss recovery.

mod ack;
mod episode;
mod loss;
mod numbers;
mod rtt;
mod sent;
mod stream;
mod telling;
mod transmit;

pub(crate) use numbers::Numbers;

use crate::config::QuicConfig;
use crate::congestion::{CongestionControl, Needs, Phase};
use crate::outcome::SenderStatistics;
use crate::rfc::{Pacer, WindowUse};
use crossfade_core::{SimTime, TcpSnapshot};
use episode::{Episode, LostRun};
use rtt::RoundTrip;
use sent::Sent;
use stream::SendStream;

/// Minimum window in packets: `kMinimumWindow` of RFC 9002 section 7.2.
const LEAST_WINDOW: f64 = 2.0;

pub(crate) struct QuicSender {
    config: QuicConfig,
    needs: Needs,
    /// Number of segments that the application has written.
    available: u64,
    sent: Sent,
    stream: SendStream,
    congestion: Box<dyn CongestionControl>,
    round_trip: RoundTrip,
    largest_acked: Option<u64>,
    /// Time at which the oldest packet in flight is declared lost, unless it is acknowledged.
    loss_time: Option<SimTime>,
    /// Sending time of the last packet; `None` before the first.
    last_sent: Option<SimTime>,
    /// Number of probes that wait to be sent.
    probes: u32,
    /// Segment from which probes look for unacknowledged data.
    probe_from: u64,
    /// Packets below this number left before the last congestion event: their losses belong to it, and their
    /// acknowledgements do not grow the window (RFC 9002 appendix B.5, `congestion_recovery_start_time`).
    recovery_end: u64,
    phase: Phase,
    /// Number of the packet whose arrival ends the phase. In recovery it is the first packet sent after the last loss
    /// was found: a congestion control that conserves packets at the start of a recovery then sees one recovery even if
    /// each round has losses, as over TCP.
    phase_end: u64,
    told_phase: Phase,
    lost_run: LostRun,
    /// Last window reduction, kept while it may prove spurious; `None` otherwise.
    episode: Option<Episode>,
    /// Number of CE marks that the last acknowledgement reported.
    ce_seen: u32,
    window_use: WindowUse,
    /// Pacer that spreads the window over the RTT; `None` without pacing.
    pacer: Option<Pacer>,
    /// Start and number of packets of the last burst, sent at one instant; used without a pacer.
    burst: (SimTime, u64),
    /// Time at which the packets held back after the last burst leave; used without a pacer.
    resumes: Option<SimTime>,
    rtt_sum_s: f64,
    rtt_samples: u64,
    statistics: SenderStatistics,
}

impl QuicSender {
    pub(crate) fn new(config: &QuicConfig, congestion: Box<dyn CongestionControl>) -> Self {
        let needs = congestion.needs();
        let is_paced = config.pacing.is_some() || congestion.pacing_rate().is_some();
        Self {
            config: *config,
            needs,
            available: config.segments.unwrap_or(u64::MAX),
            sent: Sent::new(needs.samples),
            stream: SendStream::default(),
            congestion,
            round_trip: RoundTrip::new(config),
            largest_acked: None,
            loss_time: None,
            last_sent: None,
            probes: 0,
            probe_from: 0,
            recovery_end: 0,
            phase: Phase::Open,
            phase_end: 0,
            told_phase: Phase::Open,
            lost_run: LostRun::default(),
            episode: None,
            ce_seen: 0,
            window_use: WindowUse::default(),
            pacer: is_paced.then(Pacer::default),
            burst: (SimTime::ZERO, 0),
            resumes: None,
            rtt_sum_s: 0.0,
            rtt_samples: 0,
            statistics: SenderStatistics::default(),
        }
    }

    pub(crate) fn write(&mut self, segments: u64) {
        self.available = self.available.saturating_add(segments);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stream.una() >= self.available
    }

    /// Oldest segment of the stream not known to have arrived.
    pub(crate) fn snd_una(&self) -> u64 {
        self.stream.una()
    }

    /// Number of packets in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sent.in_flight()
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
            dupacks: 0,
            backoff: self.round_trip.backoff(),
            flight_size: self.in_flight(),
        }
    }

    /// Expiry of QUIC's single timer (RFC 9002 appendix A.8): the time threshold if a packet waits for it, else the
    /// probe timeout. `None` once all data has arrived: outstanding retransmissions then need no answer.
    fn deadline(&self) -> Option<SimTime> {
        let last = self.last_sent.filter(|_| self.in_flight() > 0 && !self.is_done());
        self.loss_time.or_else(|| Some(last?.saturating_add(self.round_trip.probe_timeout())))
    }

    pub(crate) fn next_timeout(&self) -> Option<SimTime> {
        [self.deadline(), self.opens_at()].into_iter().flatten().min()
    }
}
