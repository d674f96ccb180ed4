//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02) over a path of 10 Mbit/s and 40 ms.

use crate::path::{Conditions, P10, Path, linux, ms};
use crossfade_core::SimTime;
use crossfade_transport::BbrConfig;
use crossfade_transport::congestion::{AckSample, BbrV1, BbrV3, CongestionControl, Needs, RateSample};
use std::sync::{Arc, Mutex};

type Samples = Arc<Mutex<Vec<RateSample>>>;

/// Congestion control with a fixed window and pacing rate, which records its samples.
struct Fixed {
    cwnd: f64,
    rate: f64,
    samples: Samples,
}

impl CongestionControl for Fixed {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn on_ack(&mut self, _ack: &AckSample) {}
    fn on_loss(&mut self, _now: SimTime, _window: f64) {}
    fn on_timeout(&mut self, _now: SimTime, _window: f64) {}
    fn set_cwnd(&mut self, _cwnd: f64) {
        unreachable!("the window is the rule's");
    }
    fn needs(&self) -> Needs {
        Needs { samples: true, own_window: true, ..Needs::default() }
    }
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.rate)
    }
    fn send_quantum(&self) -> Option<u64> {
        Some(1)
    }
    fn on_delivery(&mut self, sample: &RateSample) {
        self.samples.lock().unwrap().push(*sample);
    }
}

fn path(conditions: Conditions, cwnd: f64, rate: f64) -> (Path, Samples) {
    let samples = Samples::default();
    let rule = Fixed { cwnd, rate, samples: Arc::clone(&samples) };
    (Path::new(conditions, &linux(&conditions), Box::new(rule)).quiet(), samples)
}

fn rates(samples: &Samples, from: SimTime) -> Vec<f64> {
    samples
        .lock()
        .unwrap()
        .iter()
        .filter(|sample| sample.now > from)
        .filter_map(|sample| sample.rate)
        .collect()
}

#[test]
fn at_the_rate_of_the_link_samples_are_that_rate() {
    let (mut path, samples) = path(Conditions { segments: Some(100), ..Conditions::p10() }, 1000.0, P10);
    path.run_until(ms(1000));
    // Samples of the first flight begin with the connection: 33 segments, and nine that Linux does not pace before
    // them.
    let rates = rates(&samples, ms(80 + 9 * 12 / 10 + 1));
    assert!(rates.len() > 30);
    // A share 1/n of it, with n = 33 in flight.
    assert!(rates.iter().all(|rate| (P10 * 32.0 / 33.0..=P10 * 1.0001).contains(rate)), "{rates:?}");
}

#[test]
fn acknowledgements_held_back_do_not_show_more_than_was_sent() {
    for gap in [50, 60] {
        let conditions = Conditions { ack_gap: Some(ms(gap)), ..Conditions::p10() };
        let (mut path, samples) = path(conditions, 200.0, 0.9 * P10);
        path.run_until(ms(5000));
        let rates = rates(&samples, ms(500));
        assert!(rates.iter().all(|rate| *rate <= 0.9001 * P10), "never above the rate of sending");
        // The last of those that come together spans the whole gap.
        let most = rates.iter().copied().fold(0.0, f64::max);
        assert!(most > 0.88 * P10, "{most}");
        // The round trip differs by the gap.
        let samples = samples.lock().unwrap();
        let rtts = samples.iter().filter_map(|sample| sample.rtt);
        let spread = rtts.clone().max().unwrap() - rtts.min().unwrap();
        assert!(spread + ms(3) >= ms(gap), "{spread}");
    }
}

#[test]
fn lost_acknowledgements_change_no_mean_and_raise_no_sample() {
    let (mut path, samples) = path(Conditions { ack_loss: 0.5, ..Conditions::p10() }, 200.0, 0.9 * P10);
    path.run_until(ms(5000));
    let rates = rates(&samples, ms(500));
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((0.87..=0.9001).contains(&(mean / P10)), "{}", mean / P10);
    assert!(rates.iter().all(|rate| *rate <= 0.9001 * P10));
}

/// Samples of segments sent while the application has no more data are application-limited, and no sample includes idle
/// time.
#[test]
fn an_application_that_pauses_is_told_from_the_path() {
    let conditions = Conditions { segments: Some(0), ..Conditions::p10() };
    let (mut path, samples) = path(conditions, 1000.0, P10);
    for burst in 0..20 {
        path.sender.write(10);
        path.run_until(ms(100 * (burst + 1)));
    }
    let heard = std::mem::take(&mut *samples.lock().unwrap());
    assert!(heard.iter().skip(10).all(|sample| sample.app_limited));
    path.run_until(ms(4000));
    path.sender.write(10);
    path.run_until(ms(4100));
    let after = samples.lock().unwrap();
    assert_eq!(after.len(), 10);
    assert!(after.iter().all(|sample| sample.interval <= ms(52)), "2 s of silence are not in it");
    // Ten in a round trip and what they take.
    let last = after.last().unwrap();
    assert_eq!(last.delivered - last.prior_delivered.unwrap(), 10);
    assert!((last.rate.unwrap() / (10.0 / 0.0508) - 1.0).abs() < 0.03, "{last:?}");
}

/// Ten packets every 100 ms show a rate of 190 packets/s. BBR takes such an application-limited sample only if it
/// exceeds the estimate, so it never lowers the estimate of a full pipe, over any number of rounds (draft-ietf-ccwg-bbr
/// section 5.5.4).
#[test]
fn what_the_application_limits_lowers_no_bandwidth() {
    let rules: [Box<dyn CongestionControl>; 3] = [
        Box::new(BbrV1::new(10.0, BbrConfig::default(), Some(2))),
        Box::new(BbrV3::new(10.0, BbrConfig::default(), Some(2))),
        Box::new(BbrV3::new(10.0, BbrConfig::linux_v3(), Some(2))),
    ];
    for rule in rules {
        let conditions = Conditions { segments: Some(0), ..Conditions::p10() };
        let mut path = Path::new(conditions, &linux(&conditions), rule);
        let pauses = |path: &mut Path, bursts: u64| {
            for _ in 0..bursts {
                path.sender.write(10);
                path.run_until(path.now + ms(100));
            }
            path.sender.info().bandwidth.unwrap()
        };
        let seldom = pauses(&mut path, 50);
        assert!((150.0..=250.0).contains(&seldom), "{seldom}");
        path.sender.write(3000);
        path.run_until(path.now + ms(5000));
        let full = path.sender.info().bandwidth.unwrap();
        assert!((0.97..1.01).contains(&(full / P10)), "{full}");
        assert_eq!(pauses(&mut path, 200), full);
        assert!(path.rows.windows(2).all(|pair| pair[0].info.bandwidth <= pair[1].info.bandwidth));
    }
}

/// No sample is shorter than the minimum RTT: the acknowledgement of a retransmission that comes sooner answers the
/// original.
#[test]
fn nothing_is_learnt_in_less_than_a_round_trip() {
    let conditions = Conditions { loss: 0.02, ..Conditions::p10() };
    let (mut path, samples) = path(conditions, 60.0, 2.0 * P10);
    path.run_until(ms(20_000));
    let samples = samples.lock().unwrap();
    let min_rtt = samples.iter().filter_map(|sample| sample.rtt).min().unwrap();
    assert!(samples.iter().filter(|sample| sample.rate.is_some()).all(|sample| sample.interval >= min_rtt));
    let most = samples.iter().filter_map(|sample| sample.rate).fold(0.0, f64::max);
    assert!(most <= 1.0001 * P10, "{most}");
    let last = samples.last().unwrap();
    assert!(last.lost > 100 && last.delivered > 10_000, "{last:?}");
    // Every loss is counted once: what was sent arrived, was lost, or is under way.
    let accounted = last.delivered + last.lost + last.in_flight;
    assert!(path.sent.abs_diff(accounted) <= 3, "{} sent, {accounted} accounted for", path.sent);
}
