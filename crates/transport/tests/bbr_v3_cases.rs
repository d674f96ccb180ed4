//! Cases of draft-ietf-ccwg-bbr-06, appendix A, that concern what the application limits and losses that were none; the
//! others are in `bbr_v3.rs`, `bbr_v3_states.rs` and `bbr_policed.rs`.

use crate::fed::{Fed, RATE};
use crossfade_transport::congestion::{CongestionControl, Phase};

fn both() -> [Fed; 2] {
    [Fed::draft(), Fed::linux()]
}

/// "Never Exiting UP (or Startup) When Application-Limited With No Loss": sixty rounds without growth.
#[test]
fn what_the_application_limits_is_no_plateau() {
    for mut fed in both() {
        let states: Vec<&str> = (0..60).map(|_| fed.round(|sample| sample.app_limited = true)).collect();
        assert_eq!(states, ["startup"; 60]);
    }
    for mut fed in both() {
        fed.until("probe-bw-up");
        let states: Vec<&str> = (0..60).map(|_| fed.round(|sample| sample.app_limited = true)).collect();
        assert_eq!(states, ["probe-bw-up"; 60]);
        // Three rounds that it does not limit are one.
        let rounds = (1..10).find(|_| fed.round(|_| {}) != "probe-bw-up");
        assert_eq!(rounds, Some(3));
    }
}

/// "Exiting UP on Loss When Application-Limited": the probe ends. Its last sentence wants the long-term bound updated,
/// the pseudo-code (`BBRHandleInflightTooHigh`), as Linux, leaves it alone; so does this.
#[test]
fn losses_end_a_probe_that_the_application_limits() {
    for mut fed in both() {
        fed.until("probe-bw-up");
        let state = fed.round(|sample| {
            (sample.app_limited, sample.lost_since_sent, sample.tx_in_flight) = (true, 3, 100);
            (sample.in_flight, sample.prior_in_flight) = (200, 200);
        });
        assert_eq!(state, "probe-bw-down");
        fed.ack(80, |sample| (sample.in_flight, sample.prior_in_flight) = (200, 200));
        assert!(fed.control.cwnd() >= 159.0, "two products, no bound: {}", fed.control.cwnd());
    }
}

/// "Handling Application-Limited Sending During REFILL": low samples do not count, UP comes a round later.
#[test]
fn a_refill_that_the_application_limits_teaches_nothing() {
    for mut fed in both() {
        fed.until("probe-bw-refill");
        fed.now += crate::fed::MS;
        let state = fed.ack(1, |sample| {
            (sample.prior_delivered, sample.app_limited, sample.rate) = (Some(0), true, Some(10.0));
        });
        assert_eq!(state, "probe-bw-refill");
        assert_eq!(fed.round(|sample| (sample.app_limited, sample.rate) = (true, Some(10.0))), "probe-bw-up");
        assert_eq!(fed.control.info().bandwidth, Some(RATE));
    }
}

/// "Handling Spurious RTO Recovery" in UP: the window is one beside what is in flight, and as the timeout is found
/// spurious the probe begins again, no bound lower than before. Linux, which saves its state with the timeout, gives
/// back the bounds.
#[test]
fn a_spurious_timeout_in_a_probe_takes_no_bound() {
    for (mut fed, after) in [(Fed::draft(), "probe-bw-refill"), (Fed::linux(), "probe-bw-down")] {
        fed.until("probe-bw-up");
        fed.control.on_phase(fed.now, Phase::Loss, 0);
        assert_eq!(fed.control.cwnd(), 1.0);
        fed.lose(70, 100);
        assert_eq!(fed.state(), "probe-bw-down");
        fed.control.undo();
        fed.control.on_phase(fed.now, Phase::Open, 70);
        assert_eq!(fed.state(), after);
        for _ in 0..3 {
            fed.round(|_| {});
        }
        assert!(fed.control.cwnd() >= 160.0, "{}", fed.control.cwnd());
        assert_eq!(fed.control.info().bandwidth, Some(RATE));
    }
}
