//! A congestion control of your own: scalable TCP (Kelly 2003) adds 0.01 segments for each segment
//! acknowledged and takes an eighth of the window away at a loss. Prints its window.

use crossfade_core::SimTime;
use crossfade_transport::congestion::{AckSample, CongestionControl};
use crossfade_transport::{Flavour, Receiver, RfcConfig, RtoConfig, RtoRule, Sender, TcpConfig, Variant};

/// Windows are in segments.
struct ScalableTcp {
    cwnd: f64,
    ssthresh: f64,
}

impl CongestionControl for ScalableTcp {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn on_ack(&mut self, ack: &AckSample) {
        let step = if self.cwnd < self.ssthresh { 1.0 } else { 0.01 };
        self.cwnd += step * ack.acked as f64;
    }
    fn on_loss(&mut self, _now: SimTime, flight_size: f64) {
        self.ssthresh = (0.875 * flight_size).max(2.0);
        self.cwnd = self.ssthresh;
    }
    fn on_timeout(&mut self, now: SimTime, flight_size: f64) {
        self.on_loss(now, flight_size);
        self.cwnd = 1.0;
    }
    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }
}

/// The window after each round trip through a network that takes 100 segments in 100 ms and drops the rest.
pub fn windows() -> Vec<f64> {
    let ms = SimTime::from_millis;
    let rule = RtoRule::Estimated { min: ms(1000), initial: ms(1000), granularity: ms(1) };
    let config = TcpConfig {
        flavour: Flavour::Rfc,
        variant: Variant::Sack,
        w_max: 1000,
        initial_window: 10.0,
        initial_ssthresh: 64.0,
        dupthresh: 3,
        limited_transmit: true,
        rto: RtoConfig { rule, backoff: true, max: ms(60_000) },
        segments: None,
        rfc: RfcConfig::default(),
    };
    let control = ScalableTcp { cwnd: config.initial_window, ssthresh: config.initial_ssthresh };
    let mut sender = Sender::with_congestion_control(&config, Box::new(control));
    let mut receiver = Receiver::new(&config);
    let round_trip = |i: u64| {
        let sent = ms(100 * i);
        sender.on_timeout(sent); // if it is time
        let flight: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(sent)).collect();
        for segment in flight.iter().take(100) {
            if let Some(ack) = receiver.on_segment(sent + ms(50), segment, false).ack {
                sender.on_ack(sent + ms(100), &ack);
            }
        }
        sender.snapshot().cwnd
    };
    (0..100).map(round_trip).collect()
}

fn main() {
    for (round_trip, cwnd) in windows().into_iter().enumerate() {
        println!("{round_trip} {cwnd:.1}");
    }
}
