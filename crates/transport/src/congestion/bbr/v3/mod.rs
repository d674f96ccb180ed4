//! BBR version 3 (draft-ietf-ccwg-bbr-06, or as in Linux): version 1 with bounds that follow from losses. Section
//! numbers are the draft's; where the draft leaves a decision open, comments state it. Windows are in segments.

mod ecn;
mod losses;
mod marks;
mod probe_bw;
mod probe_rtt;
mod profile;

use super::aggregation::Aggregation;
use super::bounds::Bounds;
use super::full_pipe::FullPipe;
use super::max_filter::MaxFilter;
use super::probe_rtt::ProbeRtt;
use super::{INITIAL_CWND, MARGIN, first_rtt_s, in_flight_at_departure};
use crate::config::BbrConfig;
use crate::congestion::rounds::Rounds;
use crate::congestion::{
    AckSample, CongestionControl, ControlInfo, LostSegment, Needs, Phase, RateSample, SendEvent,
};
use crossfade_core::{RunSeed, SimTime, Stream};
use marks::Marks;
use profile::Profile;

const LEAST_CWND: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Gains of the pacing rate and of the window in this state (draft-ietf-ccwg-bbr, table in section 5.1). The larger
    /// window gain of UP applies in UP only.
    fn gains(self, profile: &Profile) -> (f64, f64) {
        match self {
            Self::Startup => (profile.startup_gain, 2.0),
            Self::Drain => (profile.drain_gain, 2.0),
            Self::Down => (profile.down_gain, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeRtt => (1.0, 0.5),
        }
    }

    fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Progress of the acknowledgements of a bandwidth probe (draft-ietf-ccwg-bbr section 5.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    /// The probe has started; acknowledgements of the segments sent in UP have not arrived yet. The state becomes
    /// `Coming` with the next round.
    Starting,
    Coming,
    /// The probe has ended; its last acknowledgements arrive in this round.
    Stopping,
}

/// Congestion control BBR version 3, by the IETF draft or as in Linux.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the draft, each on or off")]
pub struct BbrV3 {
    config: BbrConfig,
    profile: Profile,
    quantum: Option<u64>,
    random: Stream,
    state: State,
    initial_cwnd: f64,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    /// Maximum delivery rate of the current and of the previous probing cycle, in segments per second.
    max_bw: [f64; 2],
    min_rtt: Option<SimTime>,
    min_rtt_at: SimTime,
    probe_rtt_min: Option<SimTime>,
    probe_rtt_min_at: SimTime,
    rounds: Rounds,
    full_pipe: FullPipe,
    bounds: Bounds,
    /// State of the reaction to ECN marks; `None` if marks do not count.
    marks: Option<Marks>,
    drain_began: u64,
    cycle_at: SimTime,
    probe_wait: SimTime,
    rounds_since_probe: u64,
    /// True if acknowledgements answer segments that a bandwidth probe has sent.
    probe_samples: bool,
    feedback: Feedback,
    prev_probe_too_high: bool,
    stopped_early: bool,
    loss_events: u32,
    probe_rtt: ProbeRtt,
    after_idle: bool,
    phase: Phase,
    /// State and bounds before this loss episode, restored if the losses prove spurious.
    undo: (State, Bounds),
    is_undo_saved: bool,
    aggregation: Aggregation,
    extra_acked: MaxFilter,
}

impl BbrV3 {
    /// Creates the control of a new connection with a window of `cwnd` segments. `quantum` segments leave back to back;
    /// `None`: as many as leave in a millisecond, at least two (section 5.6.3). The window target is at least three
    /// quanta.
    pub fn new(cwnd: f64, config: BbrConfig, quantum: Option<u64>) -> Self {
        let profile = Profile::new(&config);
        let bounds = Bounds::new(profile.losses);
        let mut control = Self {
            config,
            profile,
            quantum,
            random: RunSeed { seed: 0, run: 0 }.stream("congestion"),
            state: State::Startup,
            initial_cwnd: cwnd.max(1.0),
            cwnd: cwnd.max(1.0),
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            max_bw: [0.0; 2],
            min_rtt: None,
            min_rtt_at: SimTime::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: SimTime::ZERO,
            rounds: Rounds::default(),
            full_pipe: FullPipe::default(),
            bounds,
            marks: config.ecn_max_rtt.map(Marks::new),
            drain_began: 0,
            cycle_at: SimTime::ZERO,
            probe_wait: SimTime::ZERO,
            rounds_since_probe: 0,
            probe_samples: false,
            feedback: Feedback::None,
            prev_probe_too_high: false,
            stopped_early: false,
            loss_events: 0,
            probe_rtt: ProbeRtt::default(),
            after_idle: false,
            phase: Phase::Open,
            undo: (State::Startup, bounds),
            is_undo_saved: false,
            aggregation: Aggregation::default(),
            extra_acked: MaxFilter::default(),
        };
        control.pace_by_rtt(None);
        control
    }

    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Bandwidth estimate in use, in segments per second (section 5.5.10.3, `BBRBoundBWForModel`).
    fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_shortterm)
    }

    /// `gain` times the bandwidth-delay product at `bw` (segments per second) and the minimum RTT, in segments.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        let bdp = |min_rtt: SimTime| self.profile.up(gain * bw * min_rtt.as_secs_f64());
        self.min_rtt.map_or(INITIAL_CWND as f64, bdp)
    }

    fn quantum(&self) -> u64 {
        // A quantum is at most 64 kB.
        let most = u64::from(65_535 / self.config.mss.max(1)).max(2);
        let usual =
            if self.profile.is_linux { self.linux_quantum() } else { (self.pacing_rate * 1e-3) as u64 };
        self.quantum.unwrap_or(usual.clamp(2, most))
    }

    /// Number of segments that leave back to back in Linux: data of 1/1024 s at the pacing rate, plus 64 kB halved for
    /// each 512 us of minimum RTT.
    fn linux_quantum(&self) -> u64 {
        let halvings = self.min_rtt.map_or(u64::MAX, |min_rtt| min_rtt.as_nanos() / 512_000);
        let by_rtt = u32::try_from(halvings).ok().and_then(|halvings| 65_536_u64.checked_shr(halvings));
        let mss = f64::from(self.config.mss.max(1));
        ((self.pacing_rate * mss / 1024.0 + by_rtt.unwrap_or(0) as f64) / mss) as u64
    }

    /// Raises a target of `segments` to at least three quanta and the minimum window, and adds two segments in UP
    /// (section 5.6.4.2).
    fn with_allowance(&self, segments: f64) -> f64 {
        let budget = 3 * self.quantum();
        segments.max(budget as f64).max(LEAST_CWND) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    /// Target of segments in flight, `gain` times the bandwidth-delay product plus allowance. DOWN and Drain use the
    /// filtered bandwidth, which losses do not lower.
    fn inflight(&self, gain: f64) -> f64 {
        self.with_allowance(self.bdp(self.max_bw(), gain))
    }

    /// Target of segments in flight for probes (section 5.3.3.8); in segments, as in the draft's prose and in Linux.
    fn target_inflight(&self) -> f64 {
        let bdp = self.bdp(self.bw(), 1.0);
        let target = if self.profile.is_linux { self.with_allowance(bdp) } else { bdp };
        target.min(self.cwnd)
    }

    /// Number of segments in flight that DOWN and Drain compare with their targets; in Linux an estimate for the
    /// departure of the next burst.
    fn in_network(&self, sample: &RateSample, in_flight: u64) -> f64 {
        if !self.profile.is_linux {
            return sample.in_flight as f64;
        }
        let joins = if self.state.gains(&self.profile).0 > 1.0 { self.quantum() } else { 0 };
        in_flight_at_departure(sample, in_flight, joins, self.bw()) as f64
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), 0.5).max(LEAST_CWND)
    }

    fn pace_by_rtt(&mut self, srtt: Option<SimTime>) {
        self.has_seen_rtt |= srtt.is_some();
        // Linux applies the margin to the initial rate, too.
        let margin = if self.profile.is_linux { MARGIN } else { 1.0 };
        self.pacing_rate = self.profile.startup_gain * margin * self.cwnd / first_rtt_s(srtt);
    }

    fn pace(&mut self, gain: f64) {
        let rate = gain * self.bw() * MARGIN;
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Updates the maximum filter of the delivery rate (sections 5.5.1 and 5.5.4).
    fn update_max_bw(&mut self, sample: &RateSample) {
        if self.profile.is_linux && sample.rate.is_none() {
            self.rounds.starts = false;
            return;
        }
        self.rounds_since_probe += u64::from(self.rounds.update(sample));
        if let Some(rate) = sample.rate.filter(|rate| *rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[0] = self.max_bw[0].max(rate);
        }
    }

    /// Updates the model of the path: bandwidth, bounds, aggregation and full pipe (sections 5.5.9 and 5.5.10).
    fn update_model(&mut self, sample: &RateSample) {
        let is_loss_round = self.bounds.note_delivery(sample);
        self.update_max_bw(sample);
        self.update_marks(sample);
        if is_loss_round {
            self.look_for_heavy_loss(sample);
            let (may_fall, max_bw, cwnd) = (!self.state.probes_bandwidth(), self.max_bw(), self.cwnd);
            let by_marks = self.marks.as_mut().and_then(Marks::take_cut);
            self.bounds.end_loss_round(may_fall, max_bw, cwnd, by_marks);
            self.loss_events = 0;
        }
        self.update_aggregation(sample);
        if self.profile.looks_always {
            self.full_pipe.update_always(sample, self.rounds.starts);
        } else if self.rounds.starts {
            self.full_pipe.update(sample);
        }
    }

    /// Updates the excess of aggregated acknowledgements (section 5.5.9).
    fn update_aggregation(&mut self, sample: &RateSample) {
        let rounds = if self.full_pipe.reached { self.profile.aggregation_rounds } else { 1 };
        let (bw, cwnd) = (self.bw(), self.cwnd as u64);
        if self.profile.is_linux {
            self.aggregation.update(sample, bw, cwnd, self.rounds.starts, rounds);
        } else if let Some(excess) = self.aggregation.excess(sample, bw, cwnd) {
            self.extra_acked.update(rounds, self.rounds.count, excess as f64);
        }
    }

    /// Window allowance for aggregated acknowledgements, in segments.
    fn aggregation_allowance(&self) -> f64 {
        let cap = self.config.extra_acked_cap.map_or(f64::INFINITY, |cap| self.bw() * cap.as_secs_f64());
        if self.profile.is_linux {
            return (self.aggregation.extra_acked() as f64).min(cap.floor());
        }
        self.extra_acked.max().min(cap)
    }

    /// Resets the signals of congestion, losses and marks, of the current round.
    fn reset_signals(&mut self) {
        self.bounds.reset_signals();
        self.marks.iter_mut().for_each(Marks::reset);
    }

    fn update_startup_and_drain(&mut self, sample: &RateSample) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_began = self.rounds.count;
            if self.profile.is_linux {
                self.reset_signals();
            }
        }
        let is_long =
            self.profile.drain_rounds.is_some_and(|rounds| self.rounds.count > self.drain_began + rounds);
        if self.state == State::Drain
            && (is_long || self.in_network(sample, sample.in_flight) <= self.inflight(1.0))
        {
            self.start_down(sample);
        }
    }

    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.phase == Phase::Open && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// Sets the congestion window after an acknowledgement (draft-ietf-ccwg-bbr section 5.6.4).
    fn set_window(&mut self, sample: &RateSample) {
        let (_, gain) = self.state.gains(&self.profile);
        let target = self.with_allowance(self.bdp(self.bw(), gain) + self.aggregation_allowance());
        let is_early = if self.profile.is_linux {
            self.cwnd < 2.0 * self.initial_cwnd
        } else {
            sample.delivered < INITIAL_CWND
        };
        let acked = sample.newly_acked as f64;
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || is_early {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(LEAST_CWND);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let longterm = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
        };
        self.cwnd = self.cwnd.min(longterm.min(self.bounds.inflight_shortterm).max(LEAST_CWND));
    }
}

impl CongestionControl for BbrV3 {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_loss(&mut self, _now: SimTime, _window: f64) {}

    fn on_timeout(&mut self, _now: SimTime, _window: f64) {}

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    fn undo(&mut self) {
        self.take_back();
    }

    fn needs(&self) -> Needs {
        let ect_1 = self.marks.is_some();
        Needs { samples: true, own_window: true, random: true, ect_1, ..Needs::default() }
    }

    fn seed(&mut self, stream: Stream) {
        self.random = stream;
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn send_quantum(&self) -> Option<u64> {
        Some(self.quantum())
    }

    fn on_send(&mut self, send: &SendEvent) {
        if !self.has_seen_rtt && send.srtt.is_some() {
            self.pace_by_rtt(send.srtt);
        }
        if send.after_idle && send.app_limited {
            self.after_idle = true;
            self.aggregation.restart(send.now);
            if self.state.is_probe_bw() {
                self.pace(1.0);
            }
        }
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.take_loss(lost);
    }

    fn on_probe_repaired(&mut self, now: SimTime, app_limited: bool) {
        if self.profile.is_linux {
            self.take_repaired_loss(now, app_limited);
        }
    }

    fn on_phase(&mut self, _now: SimTime, phase: Phase, in_flight: u64) {
        if self.profile.is_linux {
            self.on_phase_in_linux(phase);
        }
        match phase {
            // Linux neither reduces the window in recovery nor restores it.
            Phase::Open if self.profile.is_linux && self.phase != Phase::Loss => {}
            Phase::Open => self.cwnd = self.cwnd.max(self.prior_cwnd),
            Phase::Recovery => self.save_cwnd(),
            Phase::Loss => {
                self.save_cwnd();
                self.cwnd = (in_flight + 1) as f64;
            }
        }
        self.phase = phase;
        self.is_undo_saved &= phase != Phase::Open;
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        if !self.has_seen_rtt && sample.srtt.is_some() {
            self.pace_by_rtt(sample.srtt);
        }
        self.loss_events += u32::from(sample.newly_lost > 0);
        self.update_model(sample);
        self.update_startup_and_drain(sample);
        self.update_cycle(sample);
        self.update_min_rtt(sample);
        if !(self.profile.is_linux && sample.answers_probe) {
            // If a probe has repaired the loss, the earlier delivery signals of the path are kept.
            self.bounds.advance(sample);
        }
        self.pace(self.state.gains(&self.profile).0);
        self.set_window(sample);
        self.marks.iter_mut().for_each(|marks| marks.end_ack(sample));
    }

    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn info(&self) -> ControlInfo {
        let state = match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe-bw-down",
            State::Cruise => "probe-bw-cruise",
            State::Refill => "probe-bw-refill",
            State::Up => "probe-bw-up",
            State::ProbeRtt => "probe-rtt",
        };
        ControlInfo {
            state,
            bandwidth: Some(self.bw()),
            min_rtt: self.min_rtt,
            pacing_rate: Some(self.pacing_rate),
            gains: Some(self.state.gains(&self.profile)),
            own: self
                .marks
                .filter(|marks| marks.is_eligible)
                .map(|marks| format!("ecn_alpha={}", marks.alpha())),
        }
    }
}
