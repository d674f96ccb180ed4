//! BBR: a model of the path, its bandwidth and its round trip without queues, sets rate and window.

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

/// Pacing stays so much below the estimate.
const MARGIN: f64 = 0.99;
/// After so long without a round trip as short as the estimate it is measured anew.
const MIN_RTT_WINDOW: SimTime = SimTime::from_millis(10_000);
/// What stands for a window before the connection knows: Linux's `TCP_INIT_CWND`.
const INITIAL_CWND: u64 = 10;

/// How many of `in_flight` segments will be in the network when the next leaves, at an estimate of `bandwidth`; `joins` leave with
/// it (Linux's `bbr_packets_in_net_at_edt`).
fn in_flight_at_departure(sample: &RateSample, in_flight: u64, joins: u64, bandwidth: f64) -> u64 {
    let wait = sample.departure.saturating_sub(sample.now).as_secs_f64();
    (in_flight + joins).saturating_sub((bandwidth * wait) as u64)
}

/// The round trip, in seconds, that the first pacing rate goes by: a millisecond where none is known.
fn first_rtt_s(srtt: Option<SimTime>) -> f64 {
    srtt.unwrap_or(SimTime::from_millis(1)).max(SimTime::from_micros(1)).as_secs_f64()
}
