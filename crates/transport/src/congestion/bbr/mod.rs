//! BBR: sets pacing rate and window from a model of the path, its bandwidth and its RTT without queues.

mod aggregation;
mod bounds;
mod full_pipe;
mod max_filter;
mod policer;
mod probe_rtt;
mod v1;
mod v3;

pub use v1::BbrV1;
pub use v3::BbrV3;

use super::RateSample;
use crossfade_core::SimTime;

/// Ratio of the pacing rate to the bandwidth estimate.
const MARGIN: f64 = 0.99;
/// Age of the minimum RTT after which it is measured again.
const MIN_RTT_WINDOW: SimTime = SimTime::from_millis(10_000);
/// Window in segments before an RTT is known: Linux's `TCP_INIT_CWND`.
const INITIAL_CWND: u64 = 10;

/// Number of segments, of `in_flight` now, that will be in the network when the next burst leaves, at an estimated
/// `bandwidth` in segments per second; the burst's `joins` segments count (Linux's `bbr_packets_in_net_at_edt`).
fn in_flight_at_departure(sample: &RateSample, in_flight: u64, joins: u64, bandwidth: f64) -> u64 {
    let wait = sample.departure.saturating_sub(sample.now).as_secs_f64();
    (in_flight + joins).saturating_sub((bandwidth * wait) as u64)
}

/// RTT in seconds for the first pacing rate; 1 ms if no RTT is known.
fn first_rtt_s(srtt: Option<SimTime>) -> f64 {
    srtt.unwrap_or(SimTime::from_millis(1)).max(SimTime::from_micros(1)).as_secs_f64()
}
