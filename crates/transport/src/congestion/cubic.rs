//! CUBIC (RFC 9438): the window follows a cubic function of the time since the last reduction.

use super::{AckCounting, AckSample, CongestionControl, SlowStart};
use crossfade_core::SimTime;

/// Factor by which a congestion event multiplies the window (RFC 9438 section 4.6).
const BETA_CUBIC: f64 = 0.7;
/// Scale of the cubic function, in segments per second cubed (RFC 9438 section 5.1).
const C: f64 = 0.4;
/// Additive increase that with beta matches Reno's 1 and 0.5 (RFC 9438 section 4.3).
const ALPHA_CUBIC: f64 = 3.0 * (1.0 - BETA_CUBIC) / (1.0 + BETA_CUBIC);

/// CUBIC (RFC 9438). Windows are in segments, times in seconds.
#[derive(Clone, Debug)]
pub struct Cubic {
    state: State,
    /// State before the last reduction; [`CongestionControl::undo`] restores it if the reduction proves spurious.
    before: Option<State>,
    /// Smoothed RTT as in RFC 6298, in seconds.
    srtt_s: Option<f64>,
    c: f64,
    fast_convergence: bool,
    counting: AckCounting,
}

#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    /// Window just before the last reduction, in segments.
    cwnd_prior: f64,
    /// Plateau of the cubic function in segments; `None` before the first loss and after a timeout.
    w_max: Option<f64>,
    /// Current stage of congestion avoidance; `None` outside congestion avoidance.
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance, until the next reduction of the window.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start of the stage, moved forward by the length of application-limited periods.
    start: SimTime,
    /// Start of the current application-limited period; `None` if the window is in use.
    paused: Option<SimTime>,
    w_max: f64,
    /// Time from the start of the stage until the window reaches `w_max`, in seconds.
    k: f64,
    /// Estimate of Reno's window in segments (RFC 9438 section 4.3).
    w_est: f64,
}

impl Cubic {
    /// Creates the control of a new connection, with its initial window and slow-start threshold in segments,
    /// HyStart++, fast convergence and C = 0.4.
    pub fn new(cwnd: f64, ssthresh: f64) -> Self {
        let state = State {
            cwnd,
            ssthresh,
            slow_start: SlowStart::hystart(),
            cwnd_prior: 0.0,
            w_max: None,
            epoch: None,
        };
        Self {
            state,
            before: None,
            srtt_s: None,
            c: C,
            fast_convergence: true,
            counting: AckCounting::PerAck,
        }
    }

    /// Replaces the slow start, which is HyStart++ by default.
    #[must_use]
    pub fn with_slow_start(mut self, slow_start: SlowStart) -> Self {
        self.state.slow_start = slow_start;
        self
    }

    /// Switches off fast convergence, which is for several flows that share a bottleneck (RFC 9438
    /// section 4.7).
    #[must_use]
    pub fn without_fast_convergence(mut self) -> Self {
        self.fast_convergence = false;
        self
    }

    /// Replaces the rule that counts ACKs in the concave and the convex region. The RFC counts each ACK as one; Linux
    /// counts the segments that it covers.
    #[must_use]
    pub fn with_counting(mut self, counting: AckCounting) -> Self {
        self.counting = counting;
        self
    }

    /// Replaces the constant C, in segments per second cubed.
    #[must_use]
    pub fn with_c(mut self, c: f64) -> Self {
        self.c = c;
        self
    }

    fn avoid_congestion(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            // RFC 9438 section 5.8: an application-limited window does not grow, and the clock stops.
            if let Some(epoch) = &mut self.state.epoch {
                epoch.paused.get_or_insert(ack.now);
            }
            return;
        }
        let mut epoch = self.state.epoch.unwrap_or_else(|| self.begin_epoch(ack.now));
        if let Some(paused) = epoch.paused.take() {
            epoch.start = epoch.start.saturating_add(ack.now.saturating_sub(paused));
        }
        let t = ack.now.saturating_sub(epoch.start).as_secs_f64();
        let cwnd = self.state.cwnd;
        let acked = ack.acked as f64;

        // RFC 9438 section 4.3: grow like Reno from the window of the last congestion event.
        let alpha = if epoch.w_est >= self.state.cwnd_prior { 1.0 } else { ALPHA_CUBIC };
        epoch.w_est += alpha * acked / cwnd;
        self.state.epoch = Some(epoch);
        if epoch.w_cubic(t, self.c) < epoch.w_est {
            // Reno-friendly region. The window may exceed the estimate; it does not shrink here.
            self.state.cwnd = cwnd.max(epoch.w_est);
            return;
        }
        // RFC 9438 section 4.2: target is the function's value one RTT ahead, at most 1.5 times the window.
        let target = epoch.w_cubic(t + self.srtt_s.unwrap_or(0.0), self.c).clamp(cwnd, 1.5 * cwnd);
        // Sections 4.4 and 4.5: concave and convex region.
        let steps = match self.counting {
            AckCounting::PerAck => 1.0,
            AckCounting::PerSegment | AckCounting::PerPacket => acked.min(cwnd),
        };
        self.state.cwnd += steps * (target - cwnd) / cwnd;
    }

    /// Creates the stage of congestion avoidance that starts at `now`.
    fn begin_epoch(&self, now: SimTime) -> Epoch {
        let cwnd_epoch = self.state.cwnd;
        // RFC 9438 sections 4.8 and 4.10: after a timeout, and after a slow start that ended without a loss, the
        // plateau is the current window and K is 0. The same holds if the plateau is below the window.
        let w_max = self.state.w_max.unwrap_or(cwnd_epoch).max(cwnd_epoch);
        // Section 4.2.
        let k = libm::cbrt((w_max - cwnd_epoch) / self.c);
        Epoch { start: now, paused: None, w_max, k, w_est: cwnd_epoch }
    }

    /// Sets `w_max` and the threshold after a congestion event of any kind, before the window is set. `window` is the
    /// FlightSize in segments.
    fn reduce(&mut self, window: f64) {
        let State { cwnd, w_max, .. } = self.state;
        // RFC 9438 section 4.7, fast convergence: a flow that did not return to its plateau leaves room for others.
        let gives_way = self.fast_convergence && w_max.is_some_and(|w_max| cwnd < w_max);
        let w_max = if gives_way { cwnd * f64::midpoint(1.0, BETA_CUBIC) } else { cwnd };
        // Section 4.6.
        self.state.w_max = Some(w_max);
        self.state.cwnd_prior = cwnd;
        self.state.ssthresh = (window * BETA_CUBIC).max(2.0);
        self.state.epoch = None;
    }

    fn smooth(&mut self, rtt: SimTime) {
        // RFC 6298 section 2.3, alpha = 1/8.
        let rtt = rtt.as_secs_f64();
        self.srtt_s = Some(self.srtt_s.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
    }
}

impl Epoch {
    /// Value in segments of the cubic function at `t` seconds into the stage, with scale `c` (RFC 9438 section 4.2,
    /// figure 1).
    fn w_cubic(&self, t: f64, c: f64) -> f64 {
        let t = t - self.k;
        c * (t * t * t) + self.w_max
    }
}

impl CongestionControl for Cubic {
    fn cwnd(&self) -> f64 {
        self.state.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.state.ssthresh
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.smooth(rtt);
        }
        let state = &mut self.state;
        if state.cwnd < state.ssthresh {
            // Section 4.10.
            state.epoch = None;
            if state.slow_start.grow(ack, &mut state.cwnd, &mut state.ssthresh) {
                state.cwnd_prior = state.cwnd;
            }
        } else {
            state.slow_start.on_end();
            self.avoid_congestion(ack);
        }
    }

    fn on_loss(&mut self, _now: SimTime, window: f64) {
        self.before = Some(self.state);
        self.reduce(window);
        self.state.slow_start.on_congestion();
        self.state.cwnd = self.state.ssthresh;
    }

    fn on_timeout(&mut self, _now: SimTime, window: f64) {
        // Section 4.9.1 with RFC 4015 section 3.2, `pipe_prev`: slow start leads back to the former flight size.
        self.before = Some(State { ssthresh: self.state.ssthresh.max(window), ..self.state });
        self.reduce(window);
        self.state.slow_start.on_timeout();
        // Section 4.8: the plateau will be the window at which congestion avoidance starts.
        self.state.w_max = None;
        // The loss window (RFC 5681 section 3.1).
        self.state.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.state.cwnd = cwnd;
    }

    /// Reacts to a congestion mark like to a loss, but persistent marks reduce `cwnd` down to 1 segment (RFC 9438
    /// section 4.6).
    fn on_ecn(&mut self, _now: SimTime, window: f64) {
        // A mark is never spurious.
        self.before = None;
        self.reduce(window);
        self.state.slow_start.on_congestion();
        self.state.cwnd = (window * BETA_CUBIC).max(1.0);
    }

    fn undo(&mut self) {
        // RFC 9438 section 4.9: restore the state, unless the window has outgrown it.
        if let Some(before) = self.before.take()
            && self.state.cwnd < self.state.cwnd_prior
        {
            self.state = before;
        }
    }

    fn on_idle_end(&mut self, _now: SimTime, idle: SimTime) {
        // RFC 9438 section 5.8. If the clock stands already, the idle time is part of the pause.
        if let Some(epoch) = self.state.epoch.as_mut().filter(|epoch| epoch.paused.is_none()) {
            epoch.start = epoch.start.saturating_add(idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CUBIC in congestion avoidance right after a loss at a window of `w_max`.
    fn after_loss_at(w_max: f64) -> Cubic {
        let mut cubic = Cubic::new(w_max, w_max);
        cubic.on_loss(SimTime::ZERO, w_max);
        cubic
    }

    fn ack_at(seconds: f64) -> AckSample {
        AckSample {
            now: SimTime::from_secs_f64(seconds),
            acked: 1,
            cwnd_limited: true,
            ..AckSample::default()
        }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value}, not {expected}");
    }

    #[test]
    fn the_cubic_function_starts_at_beta_and_passes_its_plateau_at_k() {
        // W_max = 1440: cwnd_epoch = 0.7 * 1440 = 1008; K = cbrt(432 / 0.4) = cbrt(1080); with C = 2 instead
        // K = cbrt(432 / 2) = cbrt(216) = 6 s.
        let cubic = after_loss_at(1440.0).with_c(2.0);
        let epoch = cubic.begin_epoch(SimTime::ZERO);
        close(epoch.k, 6.0);
        // 2 * (-6)^3 + 1440 = 1008, 2 * (-3)^3 + 1440 = 1386, 2 * 1^3 + 1440 = 1442.
        for (t, window) in [(0.0, 1008.0), (3.0, 1386.0), (6.0, 1440.0), (7.0, 1442.0)] {
            close(epoch.w_cubic(t, 2.0), window);
        }
        // The RFC's own C: W_max = 36, 0.3 * 36 / 0.4 = 27 = 3^3.
        close(after_loss_at(36.0).begin_epoch(SimTime::ZERO).k, 3.0);
    }

    #[test]
    fn each_acknowledgement_goes_a_windows_part_of_the_way_to_the_target() {
        // W_max = 36000: cwnd = 25200, K = cbrt(10800 / 0.4) = cbrt(27000) = 30 s, far from Reno.
        let mut cubic = after_loss_at(36000.0);
        cubic.on_ack(&ack_at(100.0));
        // The epoch starts with W_cubic(0) = cwnd: for an instant Reno's 9/17 segment per window is ahead.
        let start = cubic.cwnd();
        close(start, 25200.0 + 9.0 / 17.0 / 25200.0);
        let mut ahead = cubic.clone();
        // 10 s later: 0.4 * (-20)^3 + 36000 = 32800.
        cubic.on_ack(&ack_at(110.0));
        close(cubic.cwnd(), start + (32800.0 - start) / start);
        // With a round trip of 10 s it is 0.4 * (-10)^3 + 36000 = 35600 already.
        ahead.on_ack(&AckSample { rtt: Some(SimTime::from_millis(10_000)), ..ack_at(110.0) });
        close(ahead.cwnd(), start + (35600.0 - start) / start);
    }

    #[test]
    fn an_acknowledgement_of_two_segments_counts_once_or_twice() {
        for (counting, steps) in [(AckCounting::PerAck, 1.0), (AckCounting::PerSegment, 2.0)] {
            let mut cubic = after_loss_at(36000.0).with_counting(counting);
            cubic.on_ack(&ack_at(100.0));
            let start = cubic.cwnd();
            cubic.on_ack(&AckSample { acked: 2, ..ack_at(110.0) });
            close(cubic.cwnd(), start + steps * (32800.0 - start) / start);
        }
    }

    #[test]
    fn the_target_is_at_most_half_as_much_again_and_never_below_the_window() {
        let mut cubic = after_loss_at(36000.0);
        cubic.on_ack(&ack_at(0.0));
        let start = cubic.cwnd();
        // 0.4 * 70^3 + 36000 = 173200 > 1.5 * 25200.
        cubic.on_ack(&ack_at(100.0));
        close(cubic.cwnd(), start + 0.5);
        cubic.set_cwnd(200_000.0);
        cubic.on_ack(&ack_at(100.0));
        assert_eq!(cubic.cwnd(), 200_000.0);
    }

    #[test]
    fn small_windows_grow_as_reno_would() {
        // W_max = 10: cwnd = 7, alpha = 3 * 0.3 / 1.7 = 9/17 until the estimate has come back to 10, then 1.
        let mut cubic = after_loss_at(10.0);
        let mut expected: f64 = 7.0;
        let mut alpha = 9.0 / 17.0;
        for _ in 0..100 {
            cubic.on_ack(&ack_at(0.0));
            expected += alpha / expected;
            close(cubic.cwnd(), expected);
            if expected >= 10.0 {
                alpha = 1.0;
            }
        }
        assert!(alpha == 1.0 && expected > 12.0);
    }

    #[test]
    fn a_loss_keeps_seven_tenths_and_fast_convergence_gives_way() {
        let mut cubic = Cubic::new(100.0, 50.0);
        cubic.on_loss(SimTime::ZERO, 80.0);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (56.0, 56.0), "0.7 of what was under way");
        assert_eq!(cubic.state.w_max, Some(100.0));
        // 56 < 100: the next plateau is 56 * 1.7 / 2 = 47.6.
        let plain = cubic.clone().without_fast_convergence();
        for (mut cubic, w_max) in [(cubic, 47.6), (plain, 56.0)] {
            cubic.on_loss(SimTime::ZERO, 56.0);
            close(cubic.state.w_max.unwrap(), w_max);
            close(cubic.state.cwnd_prior, 56.0);
            close(cubic.cwnd(), 39.2);
        }
    }

    #[test]
    fn the_window_after_a_loss_is_at_least_two_and_after_marks_one() {
        let mut cubic = Cubic::new(2.0, 2.0);
        cubic.on_loss(SimTime::ZERO, 2.0);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (2.0, 2.0));
        cubic.on_ecn(SimTime::ZERO, 1.0);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (1.0, 2.0));
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_congestion_avoidance_begins() {
        let mut cubic = Cubic::new(100.0, 50.0);
        cubic.on_timeout(SimTime::ZERO, 100.0);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (1.0, 70.0));
        while cubic.cwnd() < 70.0 {
            cubic.on_ack(&ack_at(1.0));
        }
        cubic.on_ack(&ack_at(2.0));
        let epoch = cubic.state.epoch.unwrap();
        assert_eq!((epoch.start, epoch.w_max, epoch.k), (SimTime::from_millis(2000), 70.0, 0.0));
    }

    #[test]
    fn slow_start_that_hystart_ends_leads_to_the_convex_region() {
        let mut cubic = Cubic::new(10.0, f64::INFINITY);
        let mut acked = 0;
        // The RTT grows suddenly from 50 to 60 ms: the threshold, 50 + 50/8 = 56.25 ms, is passed in the second round.
        for round in 0..8 {
            let window_end = acked + cubic.cwnd() as u64;
            while acked < window_end {
                acked += 1;
                let rtt = SimTime::from_millis(if round == 0 { 50 } else { 60 });
                let snd_max = acked + cubic.cwnd() as u64;
                cubic.on_ack(&AckSample { rtt: Some(rtt), next_expected: acked, snd_max, ..ack_at(1.0) });
            }
        }
        assert!(cubic.ssthresh() < f64::INFINITY);
        assert_eq!(cubic.state.cwnd_prior, cubic.ssthresh());
        let epoch = cubic.state.epoch.unwrap();
        assert_eq!((epoch.k, epoch.w_max), (0.0, cubic.ssthresh()));
    }

    #[test]
    fn time_without_data_does_not_count() {
        let mut busy = after_loss_at(36000.0);
        busy.on_ack(&ack_at(0.0));
        let start = busy.cwnd();
        let mut limited = busy.clone();
        let mut idle = busy.clone();
        busy.on_ack(&ack_at(10.0));
        // Limited by the application from 4 s to 1004 s.
        for t in [4.0, 500.0] {
            limited.on_ack(&AckSample { cwnd_limited: false, ..ack_at(t) });
        }
        // An idle period within the pause is not counted twice.
        limited.on_idle_end(SimTime::from_millis(1_003_000), SimTime::from_millis(500_000));
        limited.on_ack(&ack_at(1004.0));
        limited.on_ack(&ack_at(1010.0));
        idle.on_idle_end(SimTime::from_millis(1_000_000), SimTime::from_millis(1_000_000));
        idle.on_ack(&ack_at(1010.0));
        close(idle.cwnd(), busy.cwnd());
        // 4 s: 0.4 * (-26)^3 + 36000 = 28969.6; then 10 s.
        let first = start + (28969.6 - start) / start;
        close(limited.cwnd(), first + (32800.0 - first) / first);
    }

    #[test]
    fn a_spurious_loss_leaves_no_trace() {
        let mut cubic = after_loss_at(36000.0);
        cubic.on_ack(&ack_at(0.0));
        cubic.on_ack(&ack_at(10.0));
        let mut undisturbed = cubic.clone();
        cubic.on_loss(SimTime::from_millis(10_000), 25200.0);
        cubic.on_ack(&ack_at(11.0));
        cubic.undo();
        for t in [12.0, 50.0] {
            cubic.on_ack(&ack_at(t));
            undisturbed.on_ack(&ack_at(t));
            assert_eq!(cubic.cwnd(), undisturbed.cwnd());
        }
        assert_eq!(cubic.ssthresh(), undisturbed.ssthresh());
        // An undo keeps a window that has grown beyond the saved one.
        cubic.on_loss(SimTime::from_millis(60_000), 25200.0);
        cubic.set_cwnd(30000.0);
        cubic.undo();
        assert_eq!(cubic.cwnd(), 30000.0);
    }
}
