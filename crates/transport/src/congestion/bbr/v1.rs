//! BBR version 1 as in Linux (`net/ipv4/tcp_bbr.c`; Cardwell et al., "BBR: congestion-based congestion control", Queue
//! 14(5), 2016). Like Linux, it uses gains in 1/256 and windows of whole segments.

use super::aggregation::Aggregation;
use super::full_pipe::FullPipe;
use super::max_filter::MaxFilter;
use super::policer::Policer;
use super::probe_rtt::ProbeRtt;
use super::{INITIAL_CWND, MARGIN, MIN_RTT_WINDOW, first_rtt_s, in_flight_at_departure};
use crate::config::BbrConfig;
use crate::congestion::rounds::Rounds;
use crate::congestion::{
    AckSample, CongestionControl, ControlInfo, LostSegment, Needs, Phase, RateSample, SendEvent,
};
use crossfade_core::{RunSeed, SimTime, Stream};
use rand::RngExt;

/// Gain of Startup, 2/ln 2, which doubles the delivery rate each round (2885/1000 + 1/256).
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Pacing gain of Drain, 1000/2885, which empties the queue that Startup has built.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Pacing gains of `ProbeBW`, one RTT each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Window in `ProbeBW`, in bandwidth-delay products.
const CWND_GAIN: f64 = 2.0;
/// Length of the window of the bandwidth's maximum filter, in rounds.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Minimum window, which is also the window in `ProbeRTT`, in segments.
const LEAST_CWND: u64 = 4;
/// Length of a bucket of the filter for aggregated acknowledgements, in rounds.
const AGGREGATION_ROUNDS: u64 = 5;
/// Pacing rate in bit/s below which segments leave one at a time (Linux's `bbr_min_tso_rate`).
const LEAST_TSO_BPS: f64 = 1.2e6;
/// Upper limit of windows in segments, beyond any network, so additions do not overflow at any rate and RTT.
const MOST_SEGMENTS: f64 = 1e18;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Congestion control BBR version 1, as in Linux.
#[derive(Clone, Debug)]
pub struct BbrV1 {
    config: BbrConfig,
    /// Number of segments that leave back to back; `None`: derived from the pacing rate.
    quantum: Option<u64>,
    random: Stream,
    state: State,
    cwnd: u64,
    prior_cwnd: u64,
    ssthresh: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    gains: Gains,
    bandwidth: MaxFilter,
    min_rtt: Option<SimTime>,
    min_rtt_at: SimTime,
    rounds: Rounds,
    full_pipe: FullPipe,
    cycle: usize,
    cycle_at: SimTime,
    probe_rtt: ProbeRtt,
    after_idle: bool,
    phase: Phase,
    conserves: bool,
    aggregation: Aggregation,
    policer: Policer,
    last: RateSample,
}

#[derive(Clone, Copy, Debug)]
struct Gains {
    pacing: f64,
    cwnd: f64,
}

impl BbrV1 {
    /// Creates the control of a new connection with a window of `cwnd` segments. `quantum` segments leave back to back;
    /// `None`: as many as leave in a millisecond, as in Linux. Window targets exceed the bandwidth-delay product by
    /// three quanta.
    pub fn new(cwnd: f64, config: BbrConfig, quantum: Option<u64>) -> Self {
        let mut control = Self {
            config,
            quantum,
            random: RunSeed { seed: 0, run: 0 }.stream("congestion"),
            state: State::Startup,
            cwnd: (cwnd as u64).max(1),
            prior_cwnd: 0,
            ssthresh: f64::INFINITY,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            gains: Gains { pacing: HIGH_GAIN, cwnd: HIGH_GAIN },
            bandwidth: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: SimTime::ZERO,
            rounds: Rounds::default(),
            full_pipe: FullPipe::default(),
            cycle: 0,
            cycle_at: SimTime::ZERO,
            probe_rtt: ProbeRtt::default(),
            after_idle: false,
            phase: Phase::Open,
            conserves: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            last: RateSample::default(),
        };
        control.pace_by_rtt(None);
        control
    }

    /// Bandwidth estimate in use, in segments per second: the rate of a detected policer, or else the maximum delivery
    /// rate.
    fn bandwidth(&self) -> f64 {
        self.policer.bandwidth().unwrap_or(self.bandwidth.max())
    }

    /// `gain` times the bandwidth-delay product at `bandwidth` (segments per second) and the minimum RTT, in whole
    /// segments.
    fn bdp(&self, bandwidth: f64, gain: f64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_CWND };
        (gain * bandwidth * min_rtt.as_secs_f64()).ceil().min(MOST_SEGMENTS) as u64
    }

    /// Number of segments that leave back to back (`bbr_tso_segs_goal`).
    fn quantum(&self) -> u64 {
        let least = if self.pacing_rate * f64::from(self.config.mss) * 8.0 < LEAST_TSO_BPS { 1 } else { 2 };
        let usual = ((self.pacing_rate / 1024.0) as u64).clamp(least, 0x7f);
        self.quantum.unwrap_or(usual)
    }

    /// Target of `segments` plus Linux's allowance: three quanta, rounded up to an even number, and two more in the
    /// probing phase.
    fn with_allowance(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.quantum()).next_multiple_of(2);
        even + if self.state == State::ProbeBw && self.cycle == 0 { 2 } else { 0 }
    }

    fn target(&self, gain: f64) -> u64 {
        self.with_allowance(self.bdp(self.bandwidth.max(), gain))
    }

    /// Number of segments in the network when the next burst leaves (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, sample: &RateSample, in_flight: u64) -> u64 {
        let joins = if self.gains.pacing > 1.0 { self.quantum() } else { 0 };
        in_flight_at_departure(sample, in_flight, joins, self.bandwidth())
    }

    fn pace_by_rtt(&mut self, srtt: Option<SimTime>) {
        self.has_seen_rtt |= srtt.is_some();
        self.pacing_rate = HIGH_GAIN * MARGIN * self.cwnd as f64 / first_rtt_s(srtt);
    }

    fn pace(&mut self, gain: f64, srtt: Option<SimTime>) {
        if !self.has_seen_rtt && srtt.is_some() {
            self.pace_by_rtt(srtt);
        }
        let rate = gain * MARGIN * self.bandwidth();
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.rounds.starts = false;
        let Some(rate) = sample.rate else { return };
        self.conserves &= !self.rounds.update(sample);
        self.sample_policer(sample);
        if !sample.app_limited || rate >= self.bandwidth.max() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds.count, rate);
        }
    }

    fn sample_policer(&mut self, sample: &RateSample) {
        if !self.config.policer {
            return;
        }
        let (probes, segment_bits) = (self.state == State::ProbeBw, f64::from(self.config.mss) * 8.0);
        if self.policer.update(sample, self.rounds.starts, probes, segment_bits) {
            self.begin_probe_bw(sample.now);
        }
    }

    fn begin_probe_bw(&mut self, now: SimTime) {
        self.state = State::ProbeBw;
        // A random phase except the draining one comes first; the index is of the phase before it.
        self.cycle = 7 - self.random.random_range(0..7);
        self.advance_cycle(now);
    }

    fn advance_cycle(&mut self, now: SimTime) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    fn update_cycle(&mut self, sample: &RateSample) {
        if self.state != State::ProbeBw {
            return;
        }
        let elapsed = sample.now.saturating_sub(self.cycle_at);
        let is_long = self.min_rtt.is_some_and(|min_rtt| elapsed > min_rtt);
        let is_over = if self.gains.pacing == 1.0 {
            is_long
        } else {
            let in_flight = self.in_flight_at_departure(sample, sample.prior_in_flight);
            if self.gains.pacing > 1.0 {
                is_long && (sample.newly_lost > 0 || in_flight >= self.target(self.gains.pacing))
            } else {
                is_long || in_flight <= self.target(1.0)
            }
        };
        if is_over {
            self.advance_cycle(sample.now);
        }
    }

    fn look_for_full_pipe(&mut self, sample: &RateSample) {
        if !self.full_pipe.reached && self.rounds.starts && !sample.app_limited {
            self.full_pipe.compare(self.bandwidth.max());
        }
    }

    fn look_for_drained_pipe(&mut self, sample: &RateSample) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.ssthresh = self.target(1.0) as f64;
        }
        if self.state == State::Drain
            && self.in_flight_at_departure(sample, sample.in_flight) <= self.target(1.0)
        {
            self.begin_probe_bw(sample.now);
        }
    }

    fn update_min_rtt(&mut self, sample: &RateSample) {
        let is_expired = sample.now.saturating_sub(self.min_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            && (is_expired || self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), sample.now);
        }
        if is_expired && !self.after_idle && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.begin();
        }
        let is_small = sample.in_flight <= LEAST_CWND;
        if self.state == State::ProbeRtt && self.probe_rtt.update(sample, is_small, &mut self.rounds) {
            self.look_for_end_of_probe_rtt(sample.now);
        }
        self.after_idle &= sample.prior_delivered.is_none();
    }

    fn look_for_end_of_probe_rtt(&mut self, now: SimTime) {
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.begin_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    fn update_gains(&mut self) {
        let (pacing, cwnd) = match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (DRAIN_GAIN, HIGH_GAIN),
            State::ProbeBw if self.policer.bandwidth().is_some() => (1.0, CWND_GAIN),
            State::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            State::ProbeRtt => (1.0, 1.0),
        };
        self.gains = Gains { pacing, cwnd };
    }

    /// Saves the window that is restored later: in recovery the larger of `cwnd` and the saved one, otherwise `cwnd`.
    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.phase == Phase::Open && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// Window allowance for aggregated acknowledgements, in segments.
    fn aggregation_allowance(&self) -> u64 {
        if !self.full_pipe.reached {
            return 0;
        }
        let cap = self.config.extra_acked_cap.map(|cap| (self.bandwidth() * cap.as_secs_f64()) as u64);
        self.aggregation.extra_acked().min(cap.unwrap_or(u64::MAX))
    }

    /// Sets the window in recovery: one round of packet conservation, then growth by the acknowledged segments. Returns
    /// true if it has set the window.
    fn set_cwnd_in_recovery(&mut self, sample: &RateSample) -> bool {
        if sample.newly_lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(sample.newly_lost).max(1);
        }
        if sample.phase == Phase::Recovery && self.phase == Phase::Open {
            self.conserves = true;
            self.rounds.restart(sample);
            self.cwnd = sample.in_flight + sample.newly_acked;
        } else if self.phase != Phase::Open && sample.phase == Phase::Open {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.phase = sample.phase;
        if self.conserves {
            self.cwnd = self.cwnd.max(sample.in_flight + sample.newly_acked);
        }
        self.conserves
    }

    fn set_window(&mut self, sample: &RateSample) {
        if sample.newly_acked > 0 && !self.set_cwnd_in_recovery(sample) {
            let target = self.bdp(self.bandwidth(), self.gains.cwnd) + self.aggregation_allowance();
            let target = self.with_allowance(target);
            if self.full_pipe.reached {
                self.cwnd = (self.cwnd + sample.newly_acked).min(target);
            } else if self.cwnd < target || sample.delivered < INITIAL_CWND {
                self.cwnd += sample.newly_acked;
            }
            self.cwnd = self.cwnd.max(LEAST_CWND);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_CWND);
        }
    }
}

impl CongestionControl for BbrV1 {
    fn cwnd(&self) -> f64 {
        self.cwnd as f64
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_loss(&mut self, _now: SimTime, _window: f64) {}

    fn on_timeout(&mut self, _now: SimTime, _window: f64) {}

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = (cwnd as u64).max(1);
    }

    fn undo(&mut self) {
        self.full_pipe.restart(0.0);
        self.policer.reset(&self.last);
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
            // The handshake's RTT counts as a sample.
            self.min_rtt = self.min_rtt.or(send.srtt);
            self.pace_by_rtt(send.srtt);
        }
        if send.after_idle && send.app_limited {
            self.after_idle = true;
            self.aggregation.restart(send.now);
            match self.state {
                State::ProbeBw => self.pace(1.0, send.srtt),
                State::ProbeRtt => self.look_for_end_of_probe_rtt(send.now),
                State::Startup | State::Drain => {}
            }
        }
    }

    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    fn on_phase(&mut self, now: SimTime, phase: Phase, in_flight: u64) {
        match phase {
            Phase::Open => {}
            Phase::Recovery => self.save_cwnd(),
            Phase::Loss => {
                self.save_cwnd();
                self.phase = Phase::Loss;
                self.full_pipe.forget_base();
                self.rounds.starts = true;
                self.cwnd = in_flight + 1;
                let sample = RateSample { now, newly_lost: 1, app_limited: false, ..self.last };
                self.sample_policer(&sample);
            }
        }
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        self.last = *sample;
        self.update_bandwidth(sample);
        let (bandwidth, cwnd) = (self.bandwidth(), self.cwnd);
        self.aggregation.update(sample, bandwidth, cwnd, self.rounds.starts, AGGREGATION_ROUNDS);
        self.update_cycle(sample);
        self.look_for_full_pipe(sample);
        self.look_for_drained_pipe(sample);
        self.update_min_rtt(sample);
        self.update_gains();
        self.pace(self.gains.pacing, sample.srtt);
        self.set_window(sample);
    }

    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn info(&self) -> ControlInfo {
        let state = match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBw => "probe-bw",
            State::ProbeRtt => "probe-rtt",
        };
        ControlInfo {
            state,
            bandwidth: Some(self.bandwidth()),
            min_rtt: self.min_rtt,
            pacing_rate: Some(self.pacing_rate),
            gains: Some((self.gains.pacing, self.gains.cwnd)),
            own: None,
        }
    }
}
