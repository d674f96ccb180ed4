//! Reno's and CUBIC's window as Linux computes them: in whole segments, with reductions that start from the window
//! itself.
//!
//! Arithmetic that RFC 5681 and RFC 9438 leave open decides how fast a small window grows: Linux rounds every threshold
//! down, keeps CUBIC's alpha where the RFC raises it to 1, and changes CUBIC's pace at most once per clock tick.

use super::linux_hystart::LinuxHyStart;
use super::{AckSample, CongestionControl, Phase};
use crossfade_core::SimTime;

/// Clock ticks per second (`HZ`), as server distributions configure it.
const TICKS_PER_S: u64 = 250;
/// CUBIC's beta in 1024ths: 0.7 (RFC 9438 section 4.6).
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// CUBIC's C in 1024ths of a segment per cubed second: 0.4 (RFC 9438 section 5.1).
const C: u64 = 410;
/// Eight times the number of windows of acknowledged segments per segment of growth of Reno's estimate: 8 (1 + beta) /
/// (3 (1 - beta)), rounded down to 15, so 1.875 windows. Linux keeps alpha = 8/15 throughout; RFC 9438 section 4.3 has
/// 9/17, and 1 beyond `cwnd_prior`.
const FRIENDLY_WINDOWS: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);

/// Window and slow-start threshold in whole segments, and their values before the last reduction.
#[derive(Clone, Debug)]
struct Window {
    cwnd: u64,
    ssthresh: u64,
    /// Number of segments acknowledged since the last step of congestion avoidance.
    count: u64,
    /// Window and threshold that an undo restores if the last reduction proves spurious.
    before: Option<(u64, u64)>,
}

impl Window {
    fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self { cwnd: whole(cwnd), ssthresh: whole(ssthresh), count: 0, before: None }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by the acknowledged segments, without the limit L of RFC 3465, up to the threshold. Returns the segments
    /// left for congestion avoidance.
    fn slow_start(&mut self, acked: u64) -> u64 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows by one segment for every `pace` acknowledged segments.
    fn avoid_congestion(&mut self, pace: u64, acked: u64) {
        let pace = pace.max(1);
        // A count saved at a slower pace yields one segment at most.
        if self.count >= pace {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        self.cwnd += self.count / pace;
        self.count %= pace;
    }

    /// Sets the threshold to `reduced` and saves the former state for an undo.
    fn reduce(&mut self, reduced: u64) {
        // After an undo slow start may lead back to three quarters of the window.
        let prior_ssthresh = self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4);
        self.before = Some((self.cwnd, prior_ssthresh));
        self.ssthresh = reduced.max(2);
        self.count = 0;
    }

    fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}

/// Rounds down to whole segments, at least one; infinity maps to a large number.
fn whole(segments: f64) -> u64 {
    (segments as u64).max(1)
}

fn as_f64(segments: u64) -> f64 {
    if segments == u64::MAX { f64::INFINITY } else { segments as f64 }
}

/// Congestion control Reno as in Linux, in whole segments.
#[derive(Clone, Debug)]
pub struct LinuxReno(Window);

impl LinuxReno {
    /// Creates the control of a new connection, with its initial window and threshold in segments.
    pub fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self(Window::new(cwnd, ssthresh))
    }
}

impl CongestionControl for LinuxReno {
    fn cwnd(&self) -> f64 {
        as_f64(self.0.cwnd)
    }

    fn ssthresh(&self) -> f64 {
        as_f64(self.0.ssthresh)
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        let mut left = ack.acked;
        if self.0.in_slow_start() {
            left = self.0.slow_start(left);
        }
        if left > 0 {
            self.0.avoid_congestion(self.0.cwnd, left);
        }
    }

    /// Halves the window, whatever the number of segments in flight (RFC 5681 halves the FlightSize).
    fn on_loss(&mut self, _now: SimTime, _window: f64) {
        self.0.reduce(self.0.cwnd / 2);
        self.0.cwnd = self.0.ssthresh;
    }

    fn on_timeout(&mut self, _now: SimTime, _window: f64) {
        self.0.reduce(self.0.cwnd / 2);
        self.0.cwnd = 1;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.cwnd = whole(cwnd);
    }

    fn undo(&mut self) {
        self.0.undo();
    }
}

/// Congestion control CUBIC as in Linux, in whole segments.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    window: Window,
    hystart: Option<LinuxHyStart>,
    /// Window before the last reduction, after fast convergence, in segments; 0 before the first reduction and after a
    /// timeout.
    last_max: u64,
    epoch: Option<Epoch>,
    /// Minimum RTT since the last timeout or the start; `None` before the first sample.
    delay_min: Option<SimTime>,
    /// Number of acknowledged segments per segment of growth.
    pace: u64,
    /// Clock tick and window of the last update of the pace; `None` before the first.
    last: Option<(u64, u64)>,
}

/// A stage of congestion avoidance, until the next reduction of the window.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start of the stage, in clock ticks.
    start: u64,
    /// Time from the start of the stage until the cubic function reaches its plateau, in 1/1024 s.
    k: u64,
    plateau: u64,
    /// Estimate of Reno's window, in segments.
    w_est: u64,
    /// Number of segments acknowledged towards the next segment of `w_est`.
    acked: u64,
}

impl LinuxCubic {
    /// Creates the control of a new connection, with its initial window and threshold in segments; `hystart` enables
    /// Linux's HyStart.
    pub fn new(cwnd: f64, ssthresh: f64, hystart: bool) -> Self {
        Self {
            window: Window::new(cwnd, ssthresh),
            hystart: hystart.then(LinuxHyStart::new),
            last_max: 0,
            epoch: None,
            delay_min: None,
            pace: 1,
            last: None,
        }
    }

    /// Updates the pace of growth from the cubic function after `acked` segments.
    fn update(&mut self, now: SimTime, acked: u64) {
        let tick = ticks(now);
        let cwnd = self.window.cwnd;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        if let Some((at, window)) = self.last {
            // The pace is recalculated at most once per 1/32 s; this also holds before an epoch has started.
            if window == cwnd && tick - at <= TICKS_PER_S / 32 {
                return;
            }
            if tick == at && self.epoch.is_some() {
                self.keep_up_with_reno();
                return;
            }
        }
        self.last = Some((tick, cwnd));
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let below = last_max.saturating_sub(cwnd);
            // (W_max - cwnd) / C in cubed 1024ths of a second.
            let k = libm::cbrt(below as f64 * SCALE as f64 / C as f64) * SCALE as f64;
            Epoch { start: tick, k: k as u64, plateau: last_max.max(cwnd), w_est: cwnd, acked }
        });
        // Value of the cubic function one minimum RTT ahead.
        let ahead = tick.saturating_sub(epoch.start) + self.delay_min.map_or(0, ticks_up);
        let t = ahead * SCALE / TICKS_PER_S;
        let away = t.abs_diff(epoch.k);
        let delta = u128::from(away).saturating_pow(3).saturating_mul(u128::from(C)) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let target = if t < epoch.k {
            epoch.plateau.saturating_sub(delta)
        } else {
            epoch.plateau.saturating_add(delta)
        };
        self.pace = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Before the first loss the plateau is unknown: grow by at least 5 % per RTT.
        if self.last_max == 0 {
            self.pace = self.pace.min(20);
        }
        self.keep_up_with_reno();
    }

    /// Raises the pace of growth to Reno's, if that is faster.
    fn keep_up_with_reno(&mut self) {
        let cwnd = self.window.cwnd;
        if let Some(epoch) = &mut self.epoch {
            let step = (cwnd * FRIENDLY_WINDOWS / 8).max(1);
            while epoch.acked > step {
                epoch.acked -= step;
                epoch.w_est += 1;
            }
            if epoch.w_est > cwnd {
                self.pace = self.pace.min(cwnd / (epoch.w_est - cwnd));
            }
        }
        // Growth is at most 50 % per RTT.
        self.pace = self.pace.max(2);
    }

    fn reduce(&mut self) {
        let cwnd = self.window.cwnd;
        self.epoch = None;
        // Fast convergence (RFC 9438 section 4.7).
        self.last_max = if cwnd < self.last_max { cwnd * (SCALE + BETA) / (2 * SCALE) } else { cwnd };
        self.window.reduce(cwnd * BETA / SCALE);
    }
}

fn ticks(time: SimTime) -> u64 {
    time.as_nanos() / (1_000_000_000 / TICKS_PER_S)
}

fn ticks_up(time: SimTime) -> u64 {
    time.as_nanos().div_ceil(1_000_000_000 / TICKS_PER_S)
}

impl CongestionControl for LinuxCubic {
    fn cwnd(&self) -> f64 {
        as_f64(self.window.cwnd)
    }

    fn ssthresh(&self) -> f64 {
        as_f64(self.window.ssthresh)
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // RTT samples of the first second after a reduction reflect a draining queue.
        let is_settled =
            self.epoch.is_none_or(|epoch| ticks(ack.now).saturating_sub(epoch.start) >= TICKS_PER_S);
        if let Some(rtt) = ack.rtt.filter(|_| is_settled) {
            let delay_min = self.delay_min.map_or(rtt, |shortest| shortest.min(rtt));
            self.delay_min = Some(delay_min);
            if self.window.in_slow_start()
                && let Some(hystart) = &mut self.hystart
                && hystart.on_ack(ack, rtt, delay_min, self.window.cwnd)
            {
                self.window.ssthresh = self.window.cwnd;
            }
        }
        if !ack.cwnd_limited {
            return;
        }
        let mut left = ack.acked;
        if self.window.in_slow_start() {
            left = self.window.slow_start(left);
        }
        if left > 0 {
            self.update(ack.now, left);
            self.window.avoid_congestion(self.pace, left);
        }
    }

    fn on_loss(&mut self, _now: SimTime, _window: f64) {
        self.reduce();
        self.window.cwnd = self.window.ssthresh;
    }

    fn on_timeout(&mut self, now: SimTime, _window: f64) {
        self.reduce();
        self.on_phase(now, Phase::Loss, 0);
        self.window.cwnd = 1;
    }

    /// Any timeout resets all learnt values, even one in a recovery that has already reduced the window; HyStart may
    /// then end the next slow start (`cubictcp_state`).
    fn on_phase(&mut self, _now: SimTime, phase: Phase, _in_flight: u64) {
        if phase == Phase::Loss {
            (self.epoch, self.last_max, self.delay_min, self.last, self.pace) = (None, 0, None, None, 1);
            self.hystart = self.hystart.is_some().then(LinuxHyStart::new);
        }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = whole(cwnd);
    }

    fn undo(&mut self) {
        self.window.undo();
    }

    fn on_idle_end(&mut self, _now: SimTime, idle: SimTime) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += ticks(idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(millis: u64, acked: u64) -> AckSample {
        AckSample { now: SimTime::from_millis(millis), acked, cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn slow_start_counts_every_segment_and_stops_at_the_threshold() {
        let mut reno = LinuxReno::new(10.0, 30.0);
        reno.on_ack(&ack(0, 15));
        assert_eq!(reno.cwnd(), 25.0);
        // Five lead to the threshold, the other five count towards the next segment.
        reno.on_ack(&ack(0, 10));
        assert_eq!(reno.cwnd(), 30.0);
        reno.on_ack(&ack(0, 24));
        assert_eq!(reno.cwnd(), 30.0);
        reno.on_ack(&ack(0, 1));
        assert_eq!(reno.cwnd(), 31.0);
    }

    #[test]
    fn a_loss_halves_the_window_rounded_down_whatever_is_under_way() {
        let mut reno = LinuxReno::new(25.0, 100.0);
        reno.on_loss(SimTime::ZERO, 900.0);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (12.0, 12.0));
        reno.undo();
        assert_eq!((reno.cwnd(), reno.ssthresh()), (25.0, 100.0));
        reno.on_timeout(SimTime::ZERO, 900.0);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (1.0, 12.0));
        // CUBIC: 25 * 717 / 1024 = 17.5.
        let mut cubic = LinuxCubic::new(25.0, 100.0, false);
        cubic.on_loss(SimTime::ZERO, 900.0);
        assert_eq!((cubic.cwnd(), cubic.last_max), (17.0, 25));
        // Fast convergence: 17 < 25, 17 * 1741 / 2048 = 14.4.
        cubic.on_loss(SimTime::ZERO, 900.0);
        assert_eq!((cubic.cwnd(), cubic.last_max), (11.0, 14));
    }

    #[test]
    fn renos_estimate_keeps_its_alpha_beyond_the_plateau() {
        // K = cbrt(30 / 0.4) s = 4.2 s is far away: the estimate leads, a segment for every 15/8 windows, for good.
        let mut cubic = LinuxCubic::new(100.0, 100.0, false);
        cubic.on_loss(SimTime::ZERO, 100.0);
        assert_eq!(cubic.cwnd(), 70.0);
        let mut acked = 0;
        for i in 0..30_000_u64 {
            cubic.on_ack(&ack(1000 + i / 200, 1));
            acked += 1;
            if cubic.cwnd() > 110.0 {
                break;
            }
        }
        // The sum of w * 15 / 8 for w from 70 to 110: about 6,900; with alpha = 1 beyond 100 it would be 900 less.
        assert!((6_500..7_400).contains(&acked), "{acked}");
    }

    #[test]
    fn the_cubic_function_comes_back_to_its_plateau_at_k() {
        // 1000 -> 700: K = cbrt(300 / 0.4) = 9.09 s.
        let mut cubic = LinuxCubic::new(1000.0, 1000.0, false);
        cubic.on_loss(SimTime::ZERO, 1000.0);
        // A window of acknowledgements each 100 ms.
        for round in 0..120_u64 {
            for _ in 0..cubic.cwnd() as u64 {
                cubic.on_ack(&ack(round * 100, 1));
            }
            if round == 91 {
                assert!((960.0..=1005.0).contains(&cubic.cwnd()), "{}", cubic.cwnd());
            }
        }
        assert!(cubic.cwnd() > 1005.0, "convex beyond it: {}", cubic.cwnd());
    }
}
