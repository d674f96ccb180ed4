//! Delivery opportunities, the common format of cellular traces.

use super::error::{TraceError, lines};
use crate::occupancy::{Capacity, Occupancy, UnderWay};
use crate::transmitter::Service;
use crossfade_core::{SimTime, excerpt};
use std::str::FromStr;
use std::sync::Arc;

/// Trace of delivery opportunities, times at which bytes may leave a link, in the format of mahimahi and the many tools
/// that read its traces.
///
/// Each line is a time in whole milliseconds at which 1500 bytes may leave; several lines with the same time allow as
/// many times 1500 bytes. The times do not decrease. After the last time the trace begins again, with times counted
/// from there: a trace of the single line `12` lets 1500 bytes leave every 12 ms (1 Mbit/s).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpportunityTrace {
    millis: Arc<[u64]>,
    /// Number of bytes per opportunity.
    bytes: u32,
    /// True if the trace ends with its last time instead of repeating.
    once: bool,
}

impl OpportunityTrace {
    /// Number of bytes per opportunity in most traces.
    pub const BYTES: u32 = 1500;
    /// Greatest time in ms, 30 years, so that times of several rounds can be added.
    const LONGEST: u64 = 1_000_000_000_000;

    /// Creates a trace from times in milliseconds.
    ///
    /// # Errors
    /// If there are no times, times decrease, or the last time is zero or beyond 10^12 (30 years). The error counts
    /// times from 1.
    pub fn new(millis: Vec<u64>) -> Result<Self, TraceError> {
        if let Some(at) = (1..millis.len()).find(|&i| millis[i] < millis[i - 1]) {
            return Err(TraceError::at(at + 1, decreases(millis[at], millis[at - 1])));
        }
        match millis.last() {
            None => Err(TraceError::nowhere("the trace is empty: it must have at least one opportunity")),
            Some(0) => Err(TraceError::nowhere(
                "all opportunities are at 0 ms: the last must be later, the trace repeats",
            )),
            Some(&last) if last > Self::LONGEST => {
                Err(TraceError::at(millis.len(), format!("{last}: must be at most 10^12 ms")))
            }
            Some(_) => Ok(Self { millis: millis.into(), bytes: Self::BYTES, once: false }),
        }
    }

    /// Sets the number of bytes per opportunity, at least one; CellReplay uses 1400.
    #[must_use]
    pub fn of_bytes(self, bytes: u32) -> Self {
        Self { bytes: bytes.max(1), ..self }
    }

    /// Returns the trace played once, not repeated: after its last opportunity nothing leaves.
    #[must_use]
    pub fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// True if the trace begins again after its last time.
    pub fn repeats(&self) -> bool {
        !self.once
    }

    /// Period after which the trace repeats, or the time at which it ends.
    pub fn period(&self) -> SimTime {
        SimTime::from_millis(self.millis[self.millis.len() - 1])
    }

    /// Number of opportunities in one round of the trace.
    pub fn opportunities(&self) -> usize {
        self.millis.len()
    }

    /// Mean rate in bit/s if all opportunities are used.
    pub fn mean_rate_bps(&self) -> f64 {
        self.opportunities() as f64 * f64::from(self.bytes) * 8.0 / self.period().as_secs_f64()
    }

    /// Rate in bit/s in the millisecond with the most opportunities.
    pub fn peak_rate_bps(&self) -> f64 {
        let most = self.millis.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
        most as f64 * f64::from(self.bytes) * 8e3
    }

    /// Number of bits that can be sent after `from` and until `to`.
    pub fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        (self.first_after(to) - self.first_after(from)) as f64 * f64::from(self.bytes) * 8.0
    }

    /// Time of opportunity number `index`, counted from 0 over all rounds; [`SimTime::MAX`] after the end of the trace.
    pub fn time(&self, index: u64) -> SimTime {
        let round = self.millis.len() as u64;
        if self.once && index >= round {
            return SimTime::MAX;
        }
        let into_round = self.millis[(index % round) as usize];
        self.period().saturating_mul(index / round).saturating_add(SimTime::from_millis(into_round))
    }

    /// Number of the first opportunity after `now`, counted from 0 over all rounds.
    pub fn first_after(&self, now: SimTime) -> u64 {
        if self.once {
            return self.millis.partition_point(|&millis| SimTime::from_millis(millis) <= now) as u64;
        }
        // An opportunity at the very end of a round comes before one at time 0 of the next.
        let rounds = (now / self.period()).saturating_sub(1);
        let into_round = now - self.period() * rounds;
        let round = self.millis.len() as u64;
        let before = |origin: SimTime| {
            self.millis.partition_point(|&millis| origin + SimTime::from_millis(millis) <= into_round) as u64
        };
        let first = before(SimTime::ZERO);
        let index = rounds * round;
        if first < round { index + first } else { index + round + before(self.period()) }
    }
}

fn decreases(time: u64, before: u64) -> String {
    format!("{time}: must be at least {before}, the time before it")
}

impl FromStr for OpportunityTrace {
    type Err = TraceError;

    /// Reads a trace with one time in whole milliseconds per line. `#` starts a comment; empty lines are skipped.
    ///
    /// ```
    /// use crossfade_link::trace::OpportunityTrace;
    /// let trace: OpportunityTrace = "0\n3\n3\n12\n".parse().unwrap();
    /// assert_eq!((trace.opportunities(), trace.mean_rate_bps()), (4, 4e6));
    /// let error = "5\n7\nx\n".parse::<OpportunityTrace>().unwrap_err().to_string();
    /// assert_eq!(error, "line 3: \"x\": must be a time in whole milliseconds");
    /// ```
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut millis = Vec::new();
        let mut before = 0;
        for (line, text) in lines(text) {
            let time = text.parse::<u64>().map_err(|_| {
                TraceError::at(line, format!("{}: must be a time in whole milliseconds", excerpt(text)))
            })?;
            if time < before {
                return Err(TraceError::at(line, decreases(time, before)));
            }
            if time > Self::LONGEST {
                return Err(TraceError::at(line, format!("{time}: must be at most 10^12 ms")));
            }
            before = time;
            millis.push(time);
        }
        Self::new(millis)
    }
}

/// Transmitter that follows an [`OpportunityTrace`].
///
/// A large packet takes several opportunities and leaves with the last; small packets share one. An opportunity is lost
/// if no packet waits, and so is the rest of an opportunity when the queue becomes empty.
#[derive(Clone, Debug)]
pub struct OpportunityService {
    trace: OpportunityTrace,
    /// Number of the next opportunity to be used.
    next: u64,
    /// Time of the opportunity in use, and its remaining bytes.
    at: SimTime,
    left: u32,
}

impl OpportunityService {
    /// Creates a transmitter at the start of the trace.
    pub fn new(trace: OpportunityTrace) -> Self {
        Self { trace, next: 0, at: SimTime::ZERO, left: 0 }
    }
}

impl Capacity for OpportunityTrace {
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        Self::capacity_bits(self, from, to)
    }
}

impl Service for OpportunityService {
    fn next_start(&mut self, ready: SimTime, was_idle: bool) -> SimTime {
        if was_idle {
            // A packet that arrives at the time of an opportunity is too late for it.
            self.left = 0;
            self.next = self.next.max(self.trace.first_after(ready));
        }
        if self.left > 0 { self.at } else { self.trace.time(self.next) }
    }

    fn serve(&mut self, _start: SimTime, bytes: u32) -> SimTime {
        let mut bytes = bytes;
        loop {
            let taken = bytes.min(self.left);
            bytes -= taken;
            self.left -= taken;
            if bytes == 0 {
                return self.at;
            }
            self.at = self.trace.time(self.next);
            self.next += 1;
            self.left = self.trace.bytes;
        }
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        Occupancy::of_capacity(self.trace.clone(), now, under_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn the_trace_begins_again_after_its_last_time() {
        let trace: OpportunityTrace = "2\n5 # a comment\n\n5\n10\n".parse().unwrap();
        let times: Vec<u64> = (0..9).map(|i| trace.time(i).as_nanos() / 1_000_000).collect();
        assert_eq!(times, [2, 5, 5, 10, 12, 15, 15, 20, 22]);
        assert_eq!((trace.period(), trace.mean_rate_bps()), (MS * 10, 4.8e6));
        assert_eq!(trace.peak_rate_bps(), 24e6);
        let bits = |from: u64, to: u64| trace.capacity_bits(MS * from, MS * to);
        assert_eq!([bits(0, 10), bits(2, 5), bits(4, 22)], [48e3, 24e3, 96e3]);
    }

    #[test]
    fn a_trace_that_ends_lets_nothing_leave_after_it() {
        let trace = "2\n5\n5\n10\n".parse::<OpportunityTrace>().unwrap().once();
        assert_eq!([trace.time(3), trace.time(4), trace.time(400)], [MS * 10, SimTime::MAX, SimTime::MAX]);
        assert_eq!([0, 2, 9, 10, 500].map(|millis| trace.first_after(MS * millis)), [0, 1, 3, 4, 4]);
        assert_eq!(trace.capacity_bits(MS * 4, MS * 1000), 36e3);
        let mut service = OpportunityService::new(trace);
        assert_eq!(service.next_start(MS * 7, true), MS * 10);
        assert_eq!(service.serve(MS * 10, 1500), MS * 10);
        assert_eq!(service.next_start(MS * 11, true), SimTime::MAX);
        // A packet that has half of it is never whole.
        let mut service = OpportunityService::new("2\n".parse::<OpportunityTrace>().unwrap().once());
        assert_eq!(service.serve(MS * 2, 3000), SimTime::MAX);
    }

    #[test]
    fn opportunities_of_other_sizes_carry_as_much() {
        let trace = "2\n5\n5\n10\n".parse::<OpportunityTrace>().unwrap().of_bytes(1400);
        assert_eq!((trace.mean_rate_bps(), trace.peak_rate_bps()), (4.48e6, 22.4e6));
        assert_eq!(trace.capacity_bits(MS * 4, MS * 10), 33.6e3);
        let mut service = OpportunityService::new(trace);
        assert_eq!(
            [1400, 1400, 1401].map(|bytes| service.serve(MS * 2, bytes)),
            [2, 5, 10].map(|at| MS * at)
        );
    }

    #[test]
    fn a_malformed_trace_names_its_line() {
        let error = |text: &str| text.parse::<OpportunityTrace>().unwrap_err().to_string();
        assert_eq!(error("1\n2\n-3\n"), "line 3: \"-3\": must be a time in whole milliseconds");
        assert_eq!(error("1\n2.5\n"), "line 2: \"2.5\": must be a time in whole milliseconds");
        assert_eq!(error("# ms\n\n7\n6\n"), "line 4: 6: must be at least 7, the time before it");
        assert_eq!(error("1\n99999999999999\n"), "line 2: 99999999999999: must be at most 10^12 ms");
        assert_eq!(error("# nothing\n"), "the trace is empty: it must have at least one opportunity");
        let zero = "all opportunities are at 0 ms: the last must be later, the trace repeats";
        assert_eq!(error("0\n0\n"), zero);
        assert_eq!(OpportunityTrace::new(vec![3, 2]).unwrap_err().line, Some(2));
    }

    proptest! {
        /// The first opportunity after a time agrees with a search through all opportunities.
        #[test]
        fn the_first_opportunity_after_a_time_is_found(
            mut millis in prop::collection::vec(0_u64..20, 1..10), last in 1_u64..20,
            now in 0_u64..100_000_000,
        ) {
            millis.push(20 + last);
            millis.sort_unstable();
            let trace = OpportunityTrace::new(millis).unwrap();
            for now in [now, now / 1_000_000 * 1_000_000].map(SimTime::from_nanos) {
                let first = (0..100_000).find(|&i| trace.time(i) > now).unwrap();
                prop_assert_eq!(trace.first_after(now), first);
            }
        }

        #[test]
        fn no_text_panics(text in "[0-9a-z# \n.,-]{0,60}") {
            let _ = text.parse::<OpportunityTrace>();
        }
    }
}
