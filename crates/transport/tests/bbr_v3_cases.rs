//! Cases of draft-ietf-ccwg-bbr-06, appendix A, about application-limited sending and spurious losses; the other cases
//! are in `bbr_v3.rs`, `bbr_v3_states.rs` and `bbr_policed.rs`.

use crate::fed::{Fed, RATE};
use crossfade_transport::congestion::{CongestionControl, Phase};

fn both() -> [Fed; 2] {
    [Fed::draft(), Fed::linux()]
}

/// An application-limited sender does not leave Startup or UP in sixty rounds without growth ("Never Exiting UP (or
/// Startup) When Application-Limited With No Loss").
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

/// Losses end a probe even if the sender is application-limited ("Exiting UP on Loss When Application-Limited"). The
/// case's last sentence updates the long-term bound; the draft's pseudo-code (`BBRHandleInflightTooHigh`), Linux and
/// this control leave it unchanged.
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

/// Application-limited samples in REFILL do not lower the bandwidth, and UP begins a round later ("Handling
/// Application-Limited Sending During REFILL").
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

/// A spurious timeout in UP lowers no bound ("Handling Spurious RTO Recovery"): the window becomes one segment more
/// than is in flight; once the timeout is found spurious, the probe begins again. Linux, which saves its state at the
/// timeout, restores the bounds only.
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
