//! BBR version 3 (draft-ietf-ccwg-bbr-06): as version 1, with bounds that losses teach. Section numbers are the draft's; where it
//! leaves something open, what was decided is said there. Windows are in segments.

use super::aggregation::Aggregation;
use super::bounds::{Bounds, LOSS_THRESHOLD};
use super::full_pipe::FullPipe;
use super::max_filter::MaxFilter;
use crate::config::BbrConfig;
use crate::congestion::{
    AckSample, CongestionControl, LostSegment, Needs, Phase, RateSample, RuleInfo, SendEvent,
};
use crossfade_core::{RunSeed, SimTime, Stream};
use rand::RngExt;

/// 4 ln 2 (section 5.6.2).
const STARTUP_PACING_GAIN: f64 = 2.77;
const MARGIN: f64 = 0.99;
const LEAST_CWND: f64 = 4.0;
const INITIAL_CWND: u64 = 10;
/// Section 2.5.
const MIN_RTT_WINDOW: SimTime = SimTime::from_millis(10_000);
const PROBE_RTT_INTERVAL: SimTime = SimTime::from_millis(5_000);
const PROBE_RTT_TIME: SimTime = SimTime::from_millis(200);
/// A probe comes after so many rounds at the latest, as Reno would need (section 5.3.3.8).
const MOST_ROUNDS: f64 = 63.0;
/// Rounds of the filter of aggregation (section 5.5.9).
const AGGREGATION_ROUNDS: u64 = 10;
/// Ranges lost in a round that end Startup (section 5.3.1.3); acknowledgements that show losses are counted, as Linux does.
const STARTUP_LOSSES: u32 = 6;

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
    /// Pacing and window (section 5.1's table). The window's gain in UP holds there alone.
    fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (STARTUP_PACING_GAIN, 2.0),
            Self::Drain => (0.5, 2.0),
            Self::Down => (0.9, 2.0),
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

/// What acknowledgements tell of a probe (section 5.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    /// Of what was sent in UP: not yet, and from the second round on.
    Starting,
    Coming,
    /// The last of it.
    Stopping,
}

/// BBR version 3.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the draft, each on or off")]
pub struct BbrV3 {
    config: BbrConfig,
    quantum: Option<u64>,
    random: Stream,
    state: State,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    /// The largest rate of this cycle and of the last.
    max_bw: [f64; 2],
    min_rtt: Option<SimTime>,
    min_rtt_at: SimTime,
    probe_rtt_min: Option<SimTime>,
    probe_rtt_min_at: SimTime,
    round: u64,
    round_start: bool,
    next_round_at: u64,
    full_pipe: FullPipe,
    bounds: Bounds,
    drain_began: u64,
    cycle_at: SimTime,
    probe_wait: SimTime,
    rounds_since_probe: u64,
    /// Acknowledgements are of what a probe has sent.
    probe_samples: bool,
    feedback: Feedback,
    prev_probe_too_high: bool,
    stopped_early: bool,
    loss_events: u32,
    probe_rtt_until: Option<SimTime>,
    probe_rtt_round_done: bool,
    after_idle: bool,
    phase: Phase,
    /// State and bounds before the losses of this round, in case there were none.
    undo: (State, Bounds),
    aggregation: Aggregation,
    extra_acked: MaxFilter,
}

impl BbrV3 {
    /// A connection that begins with a window of `cwnd` segments. `quantum` segments leave back to back, or a millisecond's
    /// worth and at least two (section 5.6.3); the least target of the window is three quanta.
    pub fn new(cwnd: f64, config: BbrConfig, quantum: Option<u64>) -> Self {
        let mut rule = Self {
            config,
            quantum,
            random: RunSeed { seed: 0, run: 0 }.stream("congestion"),
            state: State::Startup,
            cwnd: cwnd.max(1.0),
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            max_bw: [0.0; 2],
            min_rtt: None,
            min_rtt_at: SimTime::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: SimTime::ZERO,
            round: 0,
            round_start: false,
            next_round_at: 0,
            full_pipe: FullPipe::default(),
            bounds: Bounds::default(),
            drain_began: 0,
            cycle_at: SimTime::ZERO,
            probe_wait: SimTime::ZERO,
            rounds_since_probe: 0,
            probe_samples: false,
            feedback: Feedback::None,
            prev_probe_too_high: false,
            stopped_early: false,
            loss_events: 0,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            after_idle: false,
            phase: Phase::Open,
            undo: (State::Startup, Bounds::default()),
            aggregation: Aggregation::default(),
            extra_acked: MaxFilter::default(),
        };
        rule.pace_by_rtt(None);
        rule
    }

    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The estimate in use (section 5.5.10.3, `BBRBoundBWForModel`).
    fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_shortterm)
    }

    /// `gain` bandwidth-delay products at `bw`.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(INITIAL_CWND as f64, |min_rtt| gain * bw * min_rtt.as_secs_f64())
    }

    fn quantum(&self) -> u64 {
        // At most 64 kB.
        let most = u64::from(65_535 / self.config.mss.max(1)).max(2);
        self.quantum.unwrap_or(((self.pacing_rate * 1e-3) as u64).clamp(2, most))
    }

    /// Section 5.6.4.2.
    fn with_allowance(&self, segments: f64) -> f64 {
        let budget = 3 * self.quantum();
        segments.max(budget as f64).max(LEAST_CWND) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    /// What should be under way. DOWN and Drain ask of the filtered bandwidth, which losses do not lower.
    fn inflight(&self, gain: f64) -> f64 {
        self.with_allowance(self.bdp(self.max_bw(), gain))
    }

    /// Section 5.3.3.8, in segments, as the prose and Linux have it.
    fn target_inflight(&self) -> f64 {
        self.bdp(self.bw(), 1.0).min(self.cwnd)
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), 0.5).max(LEAST_CWND)
    }

    fn pace_by_rtt(&mut self, srtt: Option<SimTime>) {
        self.has_seen_rtt |= srtt.is_some();
        let rtt = srtt.unwrap_or(SimTime::from_millis(1)).max(SimTime::from_micros(1));
        self.pacing_rate = STARTUP_PACING_GAIN * self.cwnd / rtt.as_secs_f64();
    }

    fn pace(&mut self, gain: f64) {
        let rate = gain * self.bw() * MARGIN;
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn start_round(&mut self, sample: &RateSample) {
        self.next_round_at = sample.delivered;
    }

    /// Section 5.5.1 and 5.5.4.
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(prior_delivered) = sample.prior_delivered else { return };
        if prior_delivered >= self.next_round_at {
            self.start_round(sample);
            self.round += 1;
            self.rounds_since_probe += 1;
            self.round_start = true;
        }
        if let Some(rate) = sample.rate.filter(|rate| *rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[0] = self.max_bw[0].max(rate);
        }
    }

    /// Sections 5.5.9 and 5.5.10.
    fn update_model(&mut self, sample: &RateSample) {
        let is_loss_round = self.bounds.note_delivery(sample);
        self.update_max_bw(sample);
        if is_loss_round {
            self.look_for_heavy_loss(sample);
            let (may_fall, max_bw, cwnd) = (!self.state.probes_bandwidth(), self.max_bw(), self.cwnd);
            self.bounds.end_loss_round(may_fall, max_bw, cwnd);
            self.loss_events = 0;
        }
        if let Some(excess) = self.aggregation.excess(sample, self.bw(), self.cwnd as u64) {
            let rounds = if self.full_pipe.reached { AGGREGATION_ROUNDS } else { 1 };
            self.extra_acked.update(rounds, self.round, excess as f64);
        }
        if self.round_start {
            self.full_pipe.update(sample);
        }
    }

    /// Startup ends for losses, too (section 5.3.1.3, prose only).
    fn look_for_heavy_loss(&mut self, sample: &RateSample) {
        let is_heavy = sample.lost_since_sent as f64 > LOSS_THRESHOLD * sample.tx_in_flight as f64;
        if self.state == State::Startup
            && self.phase == Phase::Recovery
            && self.loss_events >= STARTUP_LOSSES
            && is_heavy
        {
            self.full_pipe.reached = true;
            self.bounds.inflight_longterm = self.bdp(self.max_bw(), 1.0).max(self.bounds.inflight_latest);
        }
    }

    fn update_startup_and_drain(&mut self, sample: &RateSample) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_began = self.round;
        }
        if self.state == State::Drain
            && (sample.in_flight as f64 <= self.inflight(1.0) || self.round > self.drain_began + 3)
        {
            self.start_down(sample);
        }
    }

    fn start_down(&mut self, sample: &RateSample) {
        self.bounds.reset_signals();
        self.bounds.stop_rising();
        // Section 5.3.3.5: 2 to 3 s, and rounds from 0 or 1.
        self.rounds_since_probe = self.random.random_range(0..2);
        self.probe_wait = SimTime::from_nanos(self.random.random_range(2_000_000_000..3_000_000_000));
        self.cycle_at = sample.now;
        self.feedback = Feedback::Stopping;
        self.start_round(sample);
        self.state = State::Down;
    }

    fn start_refill(&mut self, sample: &RateSample) {
        self.bounds.forget_shortterm();
        self.bounds.start_rising();
        self.feedback = Feedback::None;
        self.start_round(sample);
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &RateSample) {
        self.feedback = Feedback::Starting;
        self.probe_samples = true;
        self.start_round(sample);
        self.full_pipe.restart(sample.rate.unwrap_or(0.0));
        self.bounds.raise_slope(self.cwnd);
        self.state = State::Up;
    }

    /// Section 5.3.3.6.
    fn update_cycle(&mut self, sample: &RateSample) {
        if !self.full_pipe.reached {
            return;
        }
        if self.adapt_longterm(sample) || !self.state.is_probe_bw() {
            return;
        }
        let in_flight = sample.in_flight as f64;
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(sample.now) => self.start_refill(sample),
            State::Down if in_flight <= self.bounds.with_headroom() && in_flight <= self.inflight(1.0) => {
                self.state = State::Cruise;
            }
            State::Refill if self.round_start => self.start_up(sample),
            State::Up if self.is_time_to_go_down(sample) => {
                self.prev_probe_too_high = false;
                self.start_down(sample);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: SimTime) -> bool {
        let rounds = self.target_inflight().min(MOST_ROUNDS);
        now > self.cycle_at + self.probe_wait || self.rounds_since_probe as f64 >= rounds
    }

    fn is_cwnd_limited(&self, sample: &RateSample) -> bool {
        sample.prior_in_flight as f64 >= self.cwnd.floor()
    }

    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        let longterm = self.bounds.inflight_longterm;
        if self.prev_probe_too_high && sample.in_flight as f64 >= longterm.floor() {
            // Precaution: the last probe lost there.
            self.stopped_early = true;
            return true;
        }
        if self.is_cwnd_limited(sample) && self.cwnd >= longterm {
            // Held at the bound: no plateau of the path's.
            self.full_pipe.restart(sample.rate.unwrap_or(0.0));
            return false;
        }
        self.full_pipe.now
    }

    /// Section 5.5.10.2 (`BBRAdaptLongTermModel`). Returns whether a probe begins at once, after one that was stopped early
    /// and had no losses.
    fn adapt_longterm(&mut self, sample: &RateSample) -> bool {
        if self.round_start {
            match self.feedback {
                Feedback::Starting => self.feedback = Feedback::Coming,
                Feedback::Stopping => {
                    self.probe_samples = false;
                    self.feedback = Feedback::None;
                    // A new cycle of the filter; an empty one would forget what is known.
                    if self.state.is_probe_bw() && !sample.app_limited && self.max_bw[0] > 0.0 {
                        self.max_bw = [0.0, self.max_bw[0]];
                    }
                    let again = std::mem::take(&mut self.stopped_early) && !self.prev_probe_too_high;
                    if again && self.state.is_probe_bw() {
                        self.start_refill(sample);
                        return true;
                    }
                }
                Feedback::None | Feedback::Coming => {}
            }
        }
        let is_too_high = sample.lost_since_sent as f64 > LOSS_THRESHOLD * sample.tx_in_flight as f64;
        if is_too_high {
            if self.probe_samples {
                self.handle_inflight_too_high(sample, sample.tx_in_flight as f64, sample.app_limited);
            }
            return false;
        }
        let is_limited = self.is_cwnd_limited(sample) && self.cwnd >= self.bounds.inflight_longterm;
        let rises = self.state == State::Up && is_limited;
        self.bounds.note_no_excess(sample, rises, self.cwnd, self.state == State::Up && self.round_start);
        false
    }

    /// Section 5.5.10.2.
    fn handle_inflight_too_high(&mut self, at: &RateSample, tx_in_flight: f64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.probe_samples = false;
        if !app_limited {
            self.bounds.inflight_longterm = tx_in_flight.max(0.7 * self.target_inflight());
        }
        if self.state == State::Up {
            self.start_down(at);
        }
    }

    /// Sections 5.5.7 and 5.3.4.
    fn update_min_rtt(&mut self, sample: &RateSample) {
        let is_due = sample.now > self.probe_rtt_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt.filter(|rtt| is_due || self.probe_rtt_min.is_none_or(|min| *rtt < min))
        {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (Some(rtt), sample.now);
        }
        let is_old = sample.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) =
            self.probe_rtt_min.filter(|rtt| is_old || self.min_rtt.is_none_or(|min| *rtt < min))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), self.probe_rtt_min_at);
        }
        if is_due && !self.after_idle && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_until = None;
            self.feedback = Feedback::Stopping;
            self.start_round(sample);
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt_until {
                None if sample.in_flight as f64 <= self.probe_rtt_cwnd() => {
                    self.probe_rtt_until = Some(sample.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.start_round(sample);
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done {
                        self.look_for_end_of_probe_rtt(sample);
                    }
                }
            }
        }
        self.after_idle &= sample.prior_delivered.is_none();
    }

    fn look_for_end_of_probe_rtt(&mut self, at: &RateSample) {
        if self.probe_rtt_until.is_none_or(|until| at.now <= until) {
            return;
        }
        self.probe_rtt_min_at = at.now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.bounds.forget_shortterm();
        if self.full_pipe.reached {
            self.start_down(at);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.phase == Phase::Open && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// Section 5.6.4.
    fn set_window(&mut self, sample: &RateSample) {
        let (_, gain) = self.state.gains();
        let cap = self.config.extra_acked_cap.map_or(f64::INFINITY, |cap| self.bw() * cap.as_secs_f64());
        let target = self.with_allowance(self.bdp(self.bw(), gain) + self.extra_acked.max().min(cap));
        let acked = sample.newly_acked as f64;
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || sample.delivered < INITIAL_CWND {
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

    /// Section 5.5.11.
    fn undo(&mut self) {
        let (state, bounds) = self.undo;
        self.bounds.loss_in_round = false;
        self.full_pipe.restart(0.0);
        self.bounds.raise_to(&bounds);
        if self.state != State::ProbeRtt && self.state != state {
            match state {
                State::Startup => {
                    self.state = State::Startup;
                    self.full_pipe.reached = false;
                }
                State::Up => {
                    self.bounds.start_rising();
                    self.feedback = Feedback::None;
                    self.state = State::Refill;
                }
                _ => {}
            }
        }
    }

    fn needs(&self) -> Needs {
        Needs { samples: true, own_window: true, random: true, ..Needs::default() }
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

    /// Section 5.5.10.2 (`BBRHandleLostPacket`).
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        if !self.bounds.loss_in_round {
            self.undo = (self.state, self.bounds);
        }
        self.bounds.note_loss();
        if !self.probe_samples {
            return;
        }
        let (in_flight, lost_since) = (lost.tx_in_flight as f64, lost.lost_since_sent as f64);
        if lost_since > LOSS_THRESHOLD * in_flight {
            let at = RateSample { now: lost.now, delivered: self.bounds.delivered, ..RateSample::default() };
            let in_flight = Bounds::inflight_at_loss(in_flight, lost_since);
            self.handle_inflight_too_high(&at, in_flight, lost.app_limited);
        }
    }

    fn on_phase(&mut self, _now: SimTime, phase: Phase, in_flight: u64) {
        match phase {
            Phase::Open => self.cwnd = self.cwnd.max(self.prior_cwnd),
            Phase::Recovery => self.save_cwnd(),
            Phase::Loss => {
                self.save_cwnd();
                self.cwnd = (in_flight + 1) as f64;
            }
        }
        self.phase = phase;
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
        self.bounds.advance(sample);
        self.pace(self.state.gains().0);
        self.set_window(sample);
    }

    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn info(&self) -> RuleInfo {
        let state = match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe-bw-down",
            State::Cruise => "probe-bw-cruise",
            State::Refill => "probe-bw-refill",
            State::Up => "probe-bw-up",
            State::ProbeRtt => "probe-rtt",
        };
        RuleInfo {
            state,
            bandwidth: Some(self.bw()),
            min_rtt: self.min_rtt,
            pacing_rate: Some(self.pacing_rate),
            gains: Some(self.state.gains()),
        }
    }
}
