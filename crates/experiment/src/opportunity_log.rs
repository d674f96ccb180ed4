//! Writer of the deliveries to a flow or host as a trace of delivery opportunities.

use crossfade_core::SimTime;
use std::fmt::Write as _;

/// Bytes of one delivery opportunity, whatever the MTU: fixed by the trace format.
const OPPORTUNITY: u64 = 1500;

/// Trace of deliveries: a line for each 1500 bytes, with the millisecond in which the last of them was delivered, in
/// the format of [`OpportunityTrace`](crossfade_link::trace::OpportunityTrace).
#[derive(Default)]
pub(crate) struct OpportunityLog {
    bytes: u64,
    text: String,
}

impl OpportunityLog {
    /// Adds `bytes` delivered at `at`, which must not be before an earlier call's time.
    pub(crate) fn add(&mut self, at: SimTime, bytes: u32) {
        let before = self.bytes / OPPORTUNITY;
        self.bytes += u64::from(bytes);
        for _ in before..self.bytes / OPPORTUNITY {
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "{}", at.as_nanos() / 1_000_000);
        }
    }

    /// Lines of the trace.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opportunity_is_told_when_its_bytes_are_there() {
        let mut log = OpportunityLog::default();
        for (at_us, bytes) in [(900, 1500), (2_100, 700), (3_999, 800), (5_000, 3100), (6_000, 0)] {
            log.add(SimTime::from_micros(at_us), bytes);
        }
        assert_eq!(log.into_text(), "0\n3\n5\n5\n");
    }
}
