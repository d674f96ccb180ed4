//! Loss process that plays back recorded losses.

use crate::loss::{Clock, LossProcess};
use crate::loss_trace::LossTrace;
use crossfade_core::SimTime;
use std::sync::Arc;

/// Loss process of a recorded trace: packet n of the trace is step n of the clock. The trace repeats after its last
/// packet.
#[derive(Clone, Debug)]
pub struct TraceLoss {
    trace: Arc<LossTrace>,
    clock: Clock,
    packets: u64,
    /// Number of earlier rounds of the trace, index of the run and end of that run (packets from the start of the
    /// trace) at the last call.
    round: u64,
    run: usize,
    end: u64,
}

impl TraceLoss {
    /// Creates the playback of `trace`; a trace without packets loses nothing.
    pub fn new(trace: Arc<LossTrace>, clock: Clock) -> Self {
        let packets = trace.packets();
        let end = trace.run_length(0);
        Self { trace, clock, packets, round: 0, run: 0, end }
    }
}

impl LossProcess for TraceLoss {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        if self.packets == 0 {
            return false;
        }
        let step = self.clock.step(now, transmission);
        let (round, packet) = (step / self.packets, step % self.packets);
        if round != self.round {
            (self.round, self.run, self.end) = (round, 0, self.trace.run_length(0));
        }
        while packet >= self.end {
            self.run += 1;
            self.end += self.trace.run_length(self.run);
        }
        self.trace.is_lost(self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_trace_without_packets_loses_nothing() {
        let mut loss = TraceLoss::new(Arc::new(LossTrace::default()), Clock::Transmission);
        assert!(!loss.lost(SimTime::ZERO, 7));
    }

    proptest! {
        /// Each packet has the fate that the trace records for it, with either clock and gaps of any length between
        /// packets.
        #[test]
        fn every_packet_meets_its_fate(
            lost in prop::collection::vec(any::<bool>(), 1..40), gaps in prop::collection::vec(0_u64..90, 1..50),
        ) {
            let trace = Arc::new(LossTrace::new(lost.iter().copied()));
            let slot = SimTime::from_micros(7);
            let mut by_number = TraceLoss::new(Arc::clone(&trace), Clock::Transmission);
            let mut by_time = TraceLoss::new(trace, Clock::Slot(slot));
            let mut step = 0;
            for (transmission, gap) in (0..).zip(gaps) {
                step += gap;
                let expected = lost[(step % lost.len() as u64) as usize];
                prop_assert_eq!(by_number.lost(SimTime::ZERO, step), expected);
                prop_assert_eq!(by_time.lost(slot * step + SimTime::from_micros(6), transmission), expected);
            }
        }
    }
}
