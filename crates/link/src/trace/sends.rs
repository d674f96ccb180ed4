//! Recorded sends: times at which packets entered a path, and their sizes.

use super::error::{TraceError, is_header, lines, numbers, time};
use crossfade_core::SimTime;
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

/// Send time and size of a packet in a [`SendRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedSend {
    /// Time at which the packet was sent, from the start of the record.
    pub time: SimTime,
    /// Length of the packet on the wire in bytes.
    pub bytes: u32,
}

/// Send times and sizes of packets, in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRecord {
    sends: Arc<[RecordedSend]>,
    /// Packet sizes that occur in the record, in increasing order.
    sizes: Arc<[u32]>,
    /// Period after which the record repeats; `None` if it does not.
    period: Option<SimTime>,
}

impl SendRecord {
    /// Greatest length of an IP packet in bytes.
    const LARGEST: u32 = 65_535;

    /// Creates a record from packets, in the order in which they were sent.
    ///
    /// # Errors
    /// If there are no packets, times decrease, or a size is outside 1 to 65,535. The error counts packets from 1.
    pub fn new(sends: Vec<RecordedSend>) -> Result<Self, TraceError> {
        let lines: Vec<usize> = (1..=sends.len()).collect();
        Self::checked(sends, &lines)
    }

    fn checked(sends: Vec<RecordedSend>, lines: &[usize]) -> Result<Self, TraceError> {
        if sends.is_empty() {
            return Err(TraceError::nowhere("the record is empty: it must have at least one packet"));
        }
        if let Some(at) = (1..sends.len()).find(|&i| sends[i].time < sends[i - 1].time) {
            let (time, before) = (sends[at].time.as_secs_f64(), sends[at - 1].time.as_secs_f64());
            let problem = format!("time_s = {time:?}: must be at least {before:?}, the time before it");
            return Err(TraceError::at(lines[at], problem));
        }
        if let Some(at) = sends.iter().position(|send| !(1..=Self::LARGEST).contains(&send.bytes)) {
            let problem = format!("bytes = {}: must be between 1 and {}", sends[at].bytes, Self::LARGEST);
            return Err(TraceError::at(lines[at], problem));
        }
        let sizes: BTreeSet<u32> = sends.iter().map(|send| send.bytes).collect();
        Ok(Self { sends: sends.into(), sizes: sizes.into_iter().collect(), period: None })
    }

    /// Returns the record repeated every `period`.
    ///
    /// # Errors
    /// If the period is not above the time of the last packet.
    pub fn repeating(self, period: SimTime) -> Result<Self, TraceError> {
        if period <= self.last_time() {
            let (period, last) = (period.as_secs_f64(), self.last_time().as_secs_f64());
            let problem =
                format!("must be above {last:?} s, the time of the last packet, and is {period:?} s");
            return Err(TraceError::nowhere(problem));
        }
        Ok(Self { period: Some(period), ..self })
    }

    /// Period after which the record repeats; `None` if it does not.
    pub fn period(&self) -> Option<SimTime> {
        self.period
    }

    /// Time at which the last packet of the record is sent.
    pub fn last_time(&self) -> SimTime {
        self.sends[self.sends.len() - 1].time
    }

    /// Number of packets in one round of the record.
    pub fn packets(&self) -> usize {
        self.sends.len()
    }

    /// Packet sizes in bytes that occur in the record, in increasing order.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Packet number `index`, counted from 0 over all rounds; `None` after the end of the record.
    pub fn packet(&self, index: u64) -> Option<RecordedSend> {
        let round = self.sends.len() as u64;
        match (index / round, self.period) {
            (0, _) => Some(self.sends[index as usize]),
            (_, None) => None,
            (rounds, Some(period)) => {
                let RecordedSend { time, bytes } = self.sends[(index % round) as usize];
                Some(RecordedSend { time: period.saturating_mul(rounds).saturating_add(time), bytes })
            }
        }
    }

    /// Numbers of packets and of bytes sent in the first `seconds`, over all rounds.
    pub fn totals(&self, seconds: f64) -> (f64, f64) {
        let count = |until_s: f64| {
            let sent = self.sends.partition_point(|send| send.time.as_secs_f64() < until_s);
            let bytes: u64 = self.sends[..sent].iter().map(|send| u64::from(send.bytes)).sum();
            (sent as f64, bytes as f64)
        };
        let Some(period_s) = self.period.map(SimTime::as_secs_f64) else { return count(seconds) };
        let rounds = (seconds / period_s).floor();
        let (whole, part) = (count(f64::INFINITY), count(seconds - rounds * period_s));
        (rounds * whole.0 + part.0, rounds * whole.1 + part.1)
    }

    /// Greatest backlog in packets within one round, if a server carries `packets_per_s` packets per second.
    pub fn largest_backlog(&self, packets_per_s: f64) -> f64 {
        let (mut backlog, mut most, mut before) = (0.0_f64, 0.0_f64, SimTime::ZERO);
        for send in &*self.sends {
            let carried = (send.time - before).as_secs_f64() * packets_per_s;
            // An infinite rate leaves no backlog, even after no time.
            backlog = if packets_per_s.is_finite() { (backlog - carried).max(0.0) + 1.0 } else { 0.0 };
            (most, before) = (most.max(backlog), send.time);
        }
        most
    }
}

impl FromStr for SendRecord {
    type Err = TraceError;

    /// Reads a record of sends with the columns `time_s` and `bytes`, separated by commas or white space. A first line
    /// of names is skipped; `#` starts a comment.
    ///
    /// ```
    /// use crossfade_link::trace::SendRecord;
    /// let record: SendRecord = "time_s,bytes\n0,1500\n0,200\n0.02,1500\n".parse().unwrap();
    /// assert_eq!((record.packets(), record.sizes()), (3, &[200, 1500][..]));
    /// let error = "0 1500\n0.02 0\n".parse::<SendRecord>().unwrap_err().to_string();
    /// assert_eq!(error, "line 2: bytes = 0: must be between 1 and 65535");
    /// ```
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (mut sends, mut numbers_of_lines) = (Vec::new(), Vec::new());
        for (i, (line, text)) in lines(text).enumerate() {
            if i == 0 && is_header(text) {
                continue;
            }
            let [time_s, bytes] = numbers(line, text, ["time_s", "bytes"])?;
            if bytes.fract() != 0.0 || !(0.0..=1e9).contains(&bytes) {
                let problem =
                    format!("bytes = {bytes:?}: must be a whole number between 1 and {}", Self::LARGEST);
                return Err(TraceError::at(line, problem));
            }
            sends.push(RecordedSend { time: time(line, "time_s", time_s)?, bytes: bytes as u32 });
            numbers_of_lines.push(line);
        }
        Self::checked(sends, &numbers_of_lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn a_record_ends_or_begins_again() {
        let record: SendRecord = "0.001 100\n0.001 200\n0.004 100\n".parse().unwrap();
        let packets = |record: &SendRecord| {
            (0..7)
                .map_while(|i| record.packet(i))
                .map(|send| (send.time.as_nanos() / 1_000_000, send.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(packets(&record), [(1, 100), (1, 200), (4, 100)]);
        assert_eq!((record.totals(0.004), record.totals(9.0)), ((2.0, 300.0), (3.0, 400.0)));
        let again = record.clone().repeating(MS * 10).unwrap();
        assert_eq!(
            packets(&again),
            [(1, 100), (1, 200), (4, 100), (11, 100), (11, 200), (14, 100), (21, 100)]
        );
        assert_eq!(again.totals(0.023), (8.0, 1100.0));
        let early = record.clone().repeating(MS * 4).unwrap_err().to_string();
        assert_eq!(early, "must be above 0.004 s, the time of the last packet, and is 0.004 s");
        // Two at once, of which one and a half have gone as the third comes.
        assert_eq!([record.largest_backlog(500.0), record.largest_backlog(0.0)], [2.0, 3.0]);
        assert_eq!(record.largest_backlog(f64::INFINITY), 0.0);
    }

    #[test]
    fn a_malformed_record_names_its_line() {
        let error = |text: &str| text.parse::<SendRecord>().unwrap_err().to_string();
        assert_eq!(error("time_s,bytes\n"), "the record is empty: it must have at least one packet");
        assert_eq!(error("0 100\n\n1\n"), "line 3: \"1\": must be 2 numbers: time_s, bytes");
        assert_eq!(
            error("1 100\n0.5 100\n"),
            "line 2: time_s = 0.5: must be at least 1.0, the time before it"
        );
        assert_eq!(error("0 70000\n"), "line 1: bytes = 70000: must be between 1 and 65535");
        assert_eq!(error("0 1.5\n"), "line 1: bytes = 1.5: must be a whole number between 1 and 65535");
        assert_eq!(error("-1 100\n"), "line 1: time_s = -1.0: must be between 0 and 3.2e9");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-z# \n.,e_-]{0,80}") {
            if let Ok(record) = text.parse::<SendRecord>() {
                let _ = (record.packet(3), record.totals(1e9), record.largest_backlog(1.0));
            }
        }
    }
}
