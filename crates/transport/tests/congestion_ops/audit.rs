//! A congestion control with an audit: the events that the sender reports must add up, and the control's answers must
//! be usable.

use crossfade_core::{SimTime, Stream};
use crossfade_transport::congestion::{
    AckSample, CongestionControl, ControlInfo, LostSegment, Needs, Phase, RateSample, SendEvent,
};

/// Passes all events to a congestion control, and checks them and its answers.
pub(crate) struct Audited {
    congestion: Box<dyn CongestionControl>,
    /// Number of transmissions reported.
    sent: u64,
    /// Number of losses reported.
    lost: u64,
    last: RateSample,
}

impl Audited {
    pub(crate) fn new(congestion: Box<dyn CongestionControl>) -> Self {
        Self { congestion, sent: 0, lost: 0, last: RateSample::default() }
    }

    fn check_answers(&self) {
        let cwnd = self.congestion.cwnd();
        assert!(cwnd.is_finite() && cwnd >= 1.0, "cwnd {cwnd}");
        // A round trip that takes no time lets a rate be infinite.
        let rate = self.congestion.pacing_rate();
        assert!(rate.is_none_or(|rate| rate > 0.0), "{rate:?} segments a second");
        assert!(self.congestion.send_quantum().is_none_or(|quantum| quantum > 0));
    }

    /// Checks that the counts of a sample add up: each transmission has arrived, was lost or is in flight.
    fn check_books(&self, sample: &RateSample) {
        let last = &self.last;
        assert!(sample.now >= last.now && sample.departure >= sample.now, "{last:?}, then {sample:?}");
        assert_eq!(sample.delivered, last.delivered + sample.newly_acked, "{sample:?}");
        assert_eq!(sample.lost, self.lost, "each loss is told once: {sample:?}");
        assert!(sample.newly_lost <= sample.lost - last.lost, "{last:?}, then {sample:?}");
        assert!(sample.delivered + sample.in_flight <= self.sent, "{} sent, {sample:?}", self.sent);
        assert!(last.delivered + sample.prior_in_flight <= self.sent, "{} sent, {sample:?}", self.sent);
        assert!(sample.prior_delivered.is_none_or(|prior| prior < sample.delivered), "{sample:?}");
        assert!(sample.prior_delivered.is_none() || sample.tx_in_flight >= 1, "{sample:?}");
        assert!(sample.lost_since_sent <= sample.lost && sample.tx_in_flight <= self.sent, "{sample:?}");
        if let Some(rate) = sample.rate {
            let delivered = (sample.delivered - sample.prior_delivered.unwrap()) as f64;
            assert!((rate * sample.interval.as_secs_f64() / delivered - 1.0).abs() < 1e-9, "{sample:?}");
        }
    }
}

impl CongestionControl for Audited {
    fn cwnd(&self) -> f64 {
        self.congestion.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.congestion.ssthresh()
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.congestion.on_ack(ack);
        self.check_answers();
    }
    fn on_loss(&mut self, now: SimTime, window: f64) {
        self.congestion.on_loss(now, window);
        self.check_answers();
    }
    fn on_timeout(&mut self, now: SimTime, window: f64) {
        self.congestion.on_timeout(now, window);
        self.check_answers();
    }
    fn set_cwnd(&mut self, cwnd: f64) {
        self.congestion.set_cwnd(cwnd);
    }
    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.congestion.on_ecn(now, window);
        self.check_answers();
    }
    fn undo(&mut self) {
        self.congestion.undo();
        self.check_answers();
    }
    fn on_idle_end(&mut self, now: SimTime, idle: SimTime) {
        self.congestion.on_idle_end(now, idle);
    }
    fn needs(&self) -> Needs {
        // Samples tell, and change nothing.
        Needs { samples: true, ..self.congestion.needs() }
    }
    fn seed(&mut self, stream: Stream) {
        self.congestion.seed(stream);
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.congestion.pacing_rate()
    }
    fn send_quantum(&self) -> Option<u64> {
        self.congestion.send_quantum()
    }
    fn on_send(&mut self, send: &SendEvent) {
        assert!(self.last.delivered + send.in_flight <= self.sent, "{} sent, {send:?}", self.sent);
        self.sent += 1;
        self.congestion.on_send(send);
        self.check_answers();
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += 1;
        assert!((1..=self.lost).contains(&lost.lost_since_sent), "{lost:?}");
        assert!((1..=self.sent).contains(&lost.tx_in_flight), "{lost:?}");
        self.congestion.on_segment_lost(lost);
        self.check_answers();
    }
    fn on_probe_repaired(&mut self, now: SimTime, app_limited: bool) {
        self.congestion.on_probe_repaired(now, app_limited);
    }
    fn on_phase(&mut self, now: SimTime, phase: Phase, in_flight: u64) {
        assert!(self.last.delivered + in_flight <= self.sent, "{in_flight} of {} in flight", self.sent);
        self.congestion.on_phase(now, phase, in_flight);
        self.check_answers();
    }
    fn on_delivery(&mut self, sample: &RateSample) {
        self.check_books(sample);
        self.last = *sample;
        self.congestion.on_delivery(sample);
        self.check_answers();
    }
    fn limits_itself(&self) -> bool {
        self.congestion.limits_itself()
    }
    fn info(&self) -> ControlInfo {
        self.congestion.info()
    }
}
