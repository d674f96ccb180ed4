//! Guarantees of congestion controls alone, without sender and segments.

use super::controls::{Control, control};
use super::operations::{Op, ops};
use crossfade_core::SimTime;
use crossfade_transport::congestion::{AckSample, CongestionControl};
use proptest::prelude::*;

/// Phase of loss recovery in [`ControlAlone`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Open,
    /// Repairs losses; the window does not grow.
    Recovery {
        until: u64,
    },
    /// Restarts after a timeout; segments sent before it reveal no new losses.
    Loss {
        until: u64,
    },
}

/// Simplest flow that reports events to a congestion control: it has no segments, only counts.
struct ControlAlone {
    congestion: Box<dyn CongestionControl>,
    control: Control,
    now: SimTime,
    snd_una: u64,
    snd_max: u64,
    sacked: u64,
    phase: Phase,
    /// True after a timeout until new data is acknowledged.
    timed_out: bool,
    /// Segment number from which marks count again.
    marks_from: u64,
    /// Windows, number of segments in flight and phase before the last reduction; `None` if it cannot be undone.
    before: Option<((f64, f64), u64, Phase)>,
    /// Growth, in segments, that acknowledgements allowed and the control did not make since the window last fell.
    unused: f64,
}

impl ControlAlone {
    fn new(control: Control, cwnd: f64, ssthresh: f64) -> Self {
        Self {
            congestion: (control.make)(cwnd, ssthresh),
            control,
            now: SimTime::ZERO,
            snd_una: 0,
            snd_max: 0,
            sacked: 0,
            phase: Phase::Open,
            timed_out: false,
            marks_from: 0,
            before: None,
            unused: 0.0,
        }
    }

    fn flight_size(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    fn windows(&self) -> (f64, f64) {
        (self.congestion.cwnd(), self.congestion.ssthresh())
    }

    fn step(&mut self, op: Op) {
        let before = self.congestion.cwnd();
        match op {
            Op::Sent(segments) => {
                let window = (self.congestion.cwnd() as u64).saturating_sub(self.flight_size());
                self.snd_max += segments.min(window);
            }
            Op::Acked(segments) if self.flight_size() > 0 => self.acked(1 + segments % self.flight_size()),
            Op::Sacked(_) if self.sacked + 1 < self.flight_size() => {
                self.sacked += 1;
                if self.sacked >= 3 {
                    self.lost();
                }
            }
            Op::Lost(_) if self.flight_size() > 0 => self.lost(),
            Op::Marked if self.flight_size() > 0 => self.marked(),
            Op::TimePasses(nanos) => {
                let idle = SimTime::from_nanos(nanos);
                self.now = self.now.saturating_add(idle);
                if self.flight_size() == 0 {
                    let before = self.windows();
                    self.congestion.on_idle_end(self.now, idle);
                    assert_eq!(self.windows(), before, "the restart window is the sender's business");
                }
            }
            Op::Timeout if self.flight_size() > 0 => self.timeout(),
            Op::Spurious if self.flight_size() > 0 => self.spurious(),
            _ => {}
        }
        let (cwnd, ssthresh) = self.windows();
        if cwnd < before {
            self.unused = 0.0;
        }
        assert!(cwnd.is_finite() && cwnd >= 1.0, "cwnd {cwnd} after {op:?}");
        assert!(ssthresh >= 1.0, "ssthresh {ssthresh} after {op:?}");
    }

    fn acked(&mut self, segments: u64) {
        let cwnd_limited = self.flight_size() >= self.congestion.cwnd() as u64;
        self.snd_una += segments;
        self.sacked = self.sacked.saturating_sub(segments);
        self.timed_out = false;
        match self.phase {
            Phase::Recovery { until } => {
                if self.snd_una >= until {
                    self.phase = Phase::Open;
                    self.congestion.set_cwnd(self.congestion.ssthresh());
                }
                return;
            }
            Phase::Loss { until } if self.snd_una >= until => self.phase = Phase::Open,
            Phase::Open | Phase::Loss { .. } => {}
        }
        let before = self.windows();
        self.congestion.on_ack(&AckSample {
            now: self.now,
            acked: segments,
            // Any round trip will do, also an absurd one.
            rtt: Some(SimTime::from_nanos(self.now.as_nanos() / 3)),
            next_expected: self.snd_una,
            snd_max: self.snd_max,
            cwnd_limited,
        });
        let (cwnd, ssthresh) = self.windows();
        assert!(cwnd >= before.0, "an acknowledgement took the window from {} to {cwnd}", before.0);
        let unused = if self.control.catches_up { self.unused } else { 0.0 };
        assert!(cwnd <= before.0 + segments as f64 + unused, "none is faster than slow start");
        self.unused = (unused + segments as f64 - (cwnd - before.0)).max(0.0);
        assert!(ssthresh == before.1 || ssthresh == cwnd, "only the end of slow start sets a threshold");
        if self.control.validates && !cwnd_limited {
            assert_eq!(cwnd, before.0, "a window that was not in use grew");
        }
    }

    fn lost(&mut self) {
        if self.phase != Phase::Open {
            return;
        }
        let (now, flight_size, before) = (self.now, self.flight_size() as f64, self.windows());
        self.congestion.on_loss(now, flight_size);
        self.check_reduction(before, 2.0);
        self.before = Some((before, self.flight_size(), self.phase));
        self.phase = Phase::Recovery { until: self.snd_max };
        self.marks_from = self.snd_max;
    }

    fn marked(&mut self) {
        if self.phase != Phase::Open || self.snd_una < self.marks_from {
            return;
        }
        let (now, flight_size, before) = (self.now, self.flight_size() as f64, self.windows());
        self.congestion.on_ecn(now, flight_size);
        self.check_reduction(before, self.control.least_marked);
        self.before = None;
        self.marks_from = self.snd_max;
    }

    fn timeout(&mut self) {
        let before = self.windows();
        if self.timed_out {
            self.congestion.set_cwnd(1.0);
            assert_eq!(self.congestion.ssthresh(), before.1, "RFC 5681 section 3.1: held constant");
        } else {
            self.congestion.on_timeout(self.now, self.flight_size() as f64);
            self.check_reduction(before, 1.0);
            self.before = Some((before, self.flight_size(), self.phase));
        }
        assert_eq!(self.congestion.cwnd(), 1.0);
        self.timed_out = true;
        self.phase = Phase::Loss { until: self.snd_max };
        self.sacked = 0;
        self.marks_from = self.snd_max;
    }

    /// Reports the last reduction as spurious; the state before it must be restored, once.
    fn spurious(&mut self) {
        let before = self.before.take();
        let reduced = self.windows();
        self.congestion.undo();
        match before {
            Some(((cwnd, ssthresh), flight_size, phase)) if self.control.undoes && reduced.0 < cwnd => {
                assert_eq!(self.congestion.cwnd(), cwnd);
                // RFC 4015 section 3.2, `pipe_prev`.
                let range = ssthresh..=ssthresh.max(flight_size as f64);
                assert!(
                    range.contains(&self.congestion.ssthresh()),
                    "{} not in {range:?}",
                    self.congestion.ssthresh()
                );
                self.phase = phase;
            }
            _ => assert_eq!(self.windows(), reduced),
        }
        let restored = self.windows();
        self.congestion.undo();
        assert_eq!(self.windows(), restored, "a reduction is undone once");
    }

    fn check_reduction(&self, before: (f64, f64), least: f64) {
        let (cwnd, ssthresh) = self.windows();
        assert!(cwnd <= before.0.max(least), "a reduction took the window from {} to {cwnd}", before.0);
        assert!(ssthresh >= self.control.least_ssthresh, "ssthresh {ssthresh}");
    }
}

proptest! {
    #[test]
    fn every_congestion_control_keeps_its_promises(
        control in control(),
        // From one segment to what no network holds.
        initial_window in prop_oneof![4 => 1.0..100.0_f64, 1 => 1.0..1e12_f64],
        initial_ssthresh in prop_oneof![2 => Just(f64::INFINITY), 2 => 2.0..1e4_f64, 1 => 2.0..1e12_f64],
        ops in ops(),
    ) {
        let mut flow = ControlAlone::new(control, initial_window, initial_ssthresh);
        for op in ops {
            flow.step(op);
        }
    }
}
