//! TCP Prague: the congestion control of L4S (RFC 9331).

use super::marked_share::MarkedShare;
use super::rounds::Rounds;
use super::window::Window;
use super::{AckSample, CongestionControl, ControlInfo, Needs, Phase, RateSample};
use crossfade_core::SimTime;
use crossfade_core::square;

/// TCP Prague as in the L4S team's `tcp_prague.c`, for the requirements of RFC 9331 section 4.3. It sends ECT(1) and is
/// paced. Like DCTCP it reduces the window by half of the share of marks, but at the first mark, and at most once per
/// virtual RTT of at least 25 ms. At shorter RTTs it grows more slowly, so they gain no advantage. A loss halves the
/// window.
///
/// The window does not fall below two segments. A queue with classic ECN is not detected (Linux has that off).
#[derive(Clone, Debug)]
pub struct Prague {
    window: Window,
    share: MarkedShare,
    /// True once any mark was seen; before the first mark the share is unknown.
    has_seen_ce: bool,
    srtt: Option<SimTime>,
    /// Time of the last update of the average share of marks.
    updated: SimTime,
    /// Time of the last reduction of the window in response to marks; `None` before the first.
    cut: Option<SimTime>,
    /// Number of marks reported by the last acknowledgement.
    marked: u64,
    rounds: Rounds,
}

impl Prague {
    /// Minimum virtual RTT (RFC 9331 appendix A.1.6).
    pub const RTT_VIRT_MIN: SimTime = SimTime::from_millis(25);
    /// Number of RTTs after the start during which a flow grows at full speed, whatever its RTT.
    pub const TRANSITION_ROUNDS: u64 = 500;
    /// Duration, at the pacing rate, of a burst that may leave back to back.
    const BURST: SimTime = SimTime::from_micros(250);

    /// Creates the control of a new connection, with its initial window and threshold in segments.
    pub fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self {
            window: Window::new(cwnd, ssthresh),
            share: MarkedShare::new(0.0),
            has_seen_ce: false,
            srtt: None,
            updated: SimTime::ZERO,
            cut: None,
            marked: 0,
            rounds: Rounds::default(),
        }
    }

    /// Virtual RTT, at least 25 ms, which replaces the RTT in growth and reduction.
    fn virtual_rtt(&self) -> SimTime {
        self.srtt.unwrap_or(SimTime::ZERO).max(Self::RTT_VIRT_MIN)
    }

    /// Factor that slows growth down: the squared ratio of RTT to virtual RTT, since a shorter RTT has more rounds per
    /// second.
    fn growth(&self) -> f64 {
        let rtt = self
            .srtt
            .filter(|srtt| *srtt < Self::RTT_VIRT_MIN && self.rounds.count >= Self::TRANSITION_ROUNDS);
        rtt.map_or(1.0, |rtt| square(rtt.as_secs_f64() / Self::RTT_VIRT_MIN.as_secs_f64()))
    }
}

impl CongestionControl for Prague {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }

    fn needs(&self) -> Needs {
        Needs { samples: true, ect_1: true, ..Needs::default() }
    }

    fn pacing_rate(&self) -> Option<f64> {
        let is_early = self.window.cwnd() < self.window.ssthresh() / 2.0;
        // Before the first RTT sample assume 1 ms, which does not hold the sender back.
        let srtt = self.srtt.unwrap_or(SimTime::from_millis(1)).as_secs_f64();
        Some(if is_early { 2.0 } else { 1.0 } * self.window.cwnd() / srtt)
    }

    fn send_quantum(&self) -> Option<u64> {
        self.pacing_rate().map(|rate| ((rate * Self::BURST.as_secs_f64()) as u64).max(1))
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        self.srtt = sample.srtt.or(self.srtt);
        self.marked = sample.ce;
        self.rounds.update(sample);
        self.share.count(sample.newly_acked, sample.ce);
        if sample.ce > 0 && !self.has_seen_ce {
            // The first mark shows a queue, but not yet the share of marks.
            self.has_seen_ce = true;
            self.share = MarkedShare::new(1.0);
            self.updated = sample.now;
        } else if self.has_seen_ce && sample.now.saturating_sub(self.updated) >= self.virtual_rtt() {
            self.share.end_window();
            self.updated = sample.now;
        }
        let may_cut = self.cut.is_none_or(|cut| sample.now.saturating_sub(cut) >= self.virtual_rtt());
        if sample.ce > 0 && may_cut && sample.phase == Phase::Open {
            self.window.cut(self.share.alpha / 2.0);
            self.cut = Some(sample.now);
        }
    }

    /// Lets the window grow by segments that arrived without a mark, even while the window is being reduced.
    fn on_ack(&mut self, ack: &AckSample) {
        let unmarked = ack.acked.saturating_sub(std::mem::take(&mut self.marked));
        let segments = unmarked as f64 * self.growth();
        self.window.grow(&AckSample { acked: unmarked, ..*ack }, |cwnd| segments / cwnd);
    }

    fn on_loss(&mut self, _now: SimTime, window: f64) {
        self.window.on_loss(window, 0.5);
    }

    fn on_timeout(&mut self, _now: SimTime, window: f64) {
        self.window.on_timeout(window, 0.5);
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.set_cwnd(cwnd);
    }

    fn undo(&mut self) {
        self.window.undo();
    }

    fn info(&self) -> ControlInfo {
        let state =
            if self.window.cwnd() < self.window.ssthresh() { "slow start" } else { "congestion avoidance" };
        ControlInfo { state, pacing_rate: self.pacing_rate(), ..ControlInfo::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::marked_share::testing::{marks, mean_window};
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn delivery(control: &mut Prague, now: SimTime, ce: u64) {
        let srtt = Some(MS * 50);
        control.on_delivery(&RateSample { now, srtt, newly_acked: 10, ce, ..RateSample::default() });
    }

    #[test]
    fn the_first_mark_halves_and_a_virtual_round_trip_has_one_cut() {
        let mut control = Prague::new(100.0, 1000.0);
        delivery(&mut control, MS * 10, 0);
        assert_eq!((control.cwnd(), control.share.alpha), (100.0, 0.0));
        delivery(&mut control, MS * 20, 1);
        assert_eq!((control.cwnd(), control.ssthresh(), control.share.alpha), (50.0, 50.0, 1.0));
        delivery(&mut control, MS * 69, 10);
        assert_eq!(control.cwnd(), 50.0);
        // 20 acknowledged since then, all but ten without a mark.
        delivery(&mut control, MS * 70, 0);
        assert_eq!((control.cwnd(), control.share.alpha), (50.0, 1.0 - 0.5 / 16.0));
        delivery(&mut control, MS * 71, 1);
        assert_eq!(control.cwnd(), 50.0 * (1.0 - (1.0 - 0.5 / 16.0) / 2.0));
    }

    #[test]
    fn only_what_is_not_marked_lets_it_grow() {
        let mut control = Prague::new(20.0, 20.0);
        let ack = AckSample { acked: 10, cwnd_limited: true, ..AckSample::default() };
        delivery(&mut control, MS, 0);
        control.on_ack(&ack);
        assert_eq!(control.cwnd(), 20.5);
        control.cut = Some(MS);
        delivery(&mut control, MS * 2, 10);
        control.on_ack(&ack);
        assert_eq!(control.cwnd(), 20.5);
    }

    /// After its start, a flow with an RTT of 5 ms grows as slowly as one with 25 ms (RFC 9331 appendix A.1.6).
    #[test]
    fn short_round_trips_grow_more_slowly() {
        let control = |srtt, rounds| {
            let mut control = Prague { srtt: Some(srtt), ..Prague::new(20.0, 20.0) };
            control.rounds.count = rounds;
            control
        };
        assert_eq!(control(MS * 5, 499).growth(), 1.0);
        assert!((control(MS * 5, 500).growth() - 0.04).abs() < 1e-12);
        assert_eq!(control(MS * 25, 500).growth(), 1.0);
        assert_eq!(control(MS * 5, 0).virtual_rtt(), MS * 25);
        assert_eq!(control(MS * 80, 0).virtual_rtt(), MS * 80);
    }

    /// The pacing rate is two windows per RTT in slow start, then one; bursts last 250 us.
    #[test]
    fn it_is_paced() {
        let mut control = Prague::new(100.0, 1000.0);
        assert_eq!(control.pacing_rate(), Some(200_000.0));
        control.srtt = Some(MS * 10);
        assert_eq!((control.pacing_rate(), control.send_quantum()), (Some(20_000.0), Some(5)));
        control.window.cut(0.5);
        assert_eq!((control.pacing_rate(), control.send_quantum()), (Some(5_000.0), Some(1)));
    }

    /// Product of window W and mark probability p: 2 if marks come evenly (RFC 9331 section 4.3); 1 + sqrt 3, from x^2
    /// = 2 x + 2, if they come at random and the first one causes a reduction.
    #[test]
    fn the_window_times_the_share_of_marks_is_constant() {
        for (p, evenly, expected) in
            [(0.01, true, 2.0), (0.05, true, 2.0), (0.01, false, 2.73), (0.05, false, 2.65)]
        {
            let mut control = Prague::new(10.0, 10.0);
            let wp = p * mean_window(&mut control, MS * 40, 400_000, marks(p, evenly));
            assert!((wp / expected - 1.0).abs() < 0.05, "p = {p}, evenly {evenly}: {wp} against {expected}");
        }
    }
}
