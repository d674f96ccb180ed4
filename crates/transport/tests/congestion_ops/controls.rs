//! Congestion controls under test, and the guarantees of each.

use crossfade_core::SimTime;
use crossfade_transport::BbrConfig;
use crossfade_transport::congestion::{
    AckCounting, BbrV1, BbrV3, CongestionControl, Cubic, Dctcp, HighSpeed, LinuxCubic, LinuxReno, PerAckReno,
    Prague, Reno, Rounding, SlowStart,
};
use proptest::prelude::*;

/// Constructor of a congestion control with an initial window and threshold, in segments.
pub(crate) type Make = fn(f64, f64) -> Box<dyn CongestionControl>;

/// A congestion control under test, and its guarantees beyond the common ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub(crate) make: Make,
    /// True if a window that is not in use does not grow.
    pub(crate) validates: bool,
    /// True if a spurious reduction is undone.
    pub(crate) undoes: bool,
    /// Smallest threshold that a reduction leaves, in segments.
    pub(crate) least_ssthresh: f64,
    /// Window in segments to which a mark may raise a smaller one.
    pub(crate) least_marked: f64,
    /// True if growth that acknowledgements allowed earlier may come with a later one: CUBIC, which counts each
    /// acknowledgement as one, grows to Reno's estimate, which counts segments, as soon as the estimate is larger (RFC
    /// 9438 section 4.3).
    pub(crate) catches_up: bool,
}

/// Creates a control with the usual guarantees of a control specified by an RFC.
const fn rfc(make: Make) -> Control {
    Control { make, validates: true, undoes: true, least_ssthresh: 2.0, least_marked: 1.0, catches_up: false }
}

/// Creates a control with the guarantees of CUBIC.
const fn cubic(make: Make) -> Control {
    Control { catches_up: true, ..rfc(make) }
}

const CONTROLS: [Control; 9] = [
    rfc(|cwnd, ssthresh| Box::new(Reno::new(cwnd, ssthresh))),
    rfc(|cwnd, ssthresh| Box::new(Reno::new(cwnd, ssthresh).with_counting(AckCounting::PerAck))),
    rfc(|cwnd, ssthresh| Box::new(Reno::new(cwnd, ssthresh).with_slow_start(SlowStart::hystart()))),
    cubic(|cwnd, ssthresh| Box::new(Cubic::new(cwnd, ssthresh))),
    cubic(|cwnd, ssthresh| {
        let cubic = Cubic::new(cwnd, ssthresh).with_slow_start(SlowStart::standard(f64::INFINITY));
        Box::new(cubic.with_counting(AckCounting::PerSegment).without_fast_convergence())
    }),
    cubic(|cwnd, ssthresh| Box::new(Cubic::new(cwnd, ssthresh).with_c(1e6))),
    // A mark is a loss to it: two segments at the least.
    Control { least_marked: 2.0, ..rfc(|cwnd, ssthresh| Box::new(HighSpeed::new(cwnd, ssthresh))) },
    Control {
        make: |cwnd, ssthresh| Box::new(PerAckReno::new(cwnd, ssthresh, 1e15, Rounding::Up)),
        validates: false,
        undoes: false,
        least_ssthresh: 1.0,
        least_marked: 2.0,
        catches_up: false,
    },
    Control {
        make: |cwnd, ssthresh| Box::new(PerAckReno::new(cwnd, ssthresh, f64::INFINITY, Rounding::Down)),
        validates: false,
        undoes: false,
        least_ssthresh: 2.0,
        least_marked: 1.0,
        catches_up: false,
    },
];

/// Congestion controls whose windows follow marks, rates or the kernel's rules; they are tested for the common
/// guarantees only.
const OTHERS: [Make; 9] = [
    |cwnd, ssthresh| Box::new(LinuxReno::new(cwnd, ssthresh)),
    |cwnd, ssthresh| Box::new(LinuxCubic::new(cwnd, ssthresh, true)),
    |cwnd, ssthresh| Box::new(Dctcp::new(cwnd, ssthresh)),
    |cwnd, ssthresh| Box::new(Prague::new(cwnd, ssthresh)),
    |cwnd, _| Box::new(BbrV1::new(cwnd, BbrConfig::default(), None)),
    |cwnd, _| Box::new(BbrV1::new(cwnd, BbrConfig { policer: false, ..BbrConfig::default() }, Some(2))),
    |cwnd, _| Box::new(BbrV3::new(cwnd, BbrConfig::default(), None)),
    |cwnd, _| Box::new(BbrV3::new(cwnd, BbrConfig::linux_v3(), None)),
    |cwnd, _| {
        let ecn_max_rtt = Some(SimTime::ZERO);
        Box::new(BbrV3::new(cwnd, BbrConfig { ecn_max_rtt, ..BbrConfig::linux_v3() }, None))
    },
];

pub(crate) fn control() -> impl Strategy<Value = Control> {
    prop::sample::select(CONTROLS.to_vec())
}

pub(crate) fn any_control() -> impl Strategy<Value = Make> {
    let makes = CONTROLS.iter().map(|control| control.make).chain(OTHERS);
    prop::sample::select(makes.collect::<Vec<_>>())
}
