//! Tables of rate, delay and loss over time.

use super::error::{TraceError, increasing, is_header, lines, numbers, time};
use crate::occupancy::{Capacity, Occupancy, UnderWay};
use crate::transmitter::Service;
use crossfade_channel::LossProcess;
use crossfade_core::{SimTime, Stream};
use rand::RngExt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// Row of a [`RateTable`]: values that hold from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRow {
    /// Time from which on the values hold.
    pub time: SimTime,
    /// Bit rate in bit/s; 0 is an outage, in which transmissions pause.
    pub rate_bps: f64,
    /// One-way propagation delay; packets never overtake each other.
    pub delay: SimTime,
    /// Probability that a packet is lost whose transmission starts while the row holds.
    pub loss: f64,
}

/// Rate, delay and loss of a link over time. The values of the first row also hold before it, and those of the last row
/// forever after.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTable {
    rows: Arc<[RateRow]>,
    /// Period after which the table repeats; `None` if it does not.
    period: Option<SimTime>,
    /// End of the recording, if known to be after the last row; the last values hold forever all the same.
    recorded: Option<SimTime>,
}

impl RateTable {
    /// Creates a table from rows.
    ///
    /// # Errors
    /// If there are no rows, times do not increase, a rate is below zero or not finite, or a loss is outside [0, 1].
    /// The error counts rows from 1.
    pub fn new(rows: Vec<RateRow>) -> Result<Self, TraceError> {
        let lines: Vec<usize> = (1..=rows.len()).collect();
        Self::checked(rows, &lines)
    }

    fn checked(rows: Vec<RateRow>, lines: &[usize]) -> Result<Self, TraceError> {
        for (i, row) in rows.iter().enumerate() {
            let error = |problem: String| Err(TraceError::at(lines[i], problem));
            if i > 0 {
                increasing(lines[i], row.time, rows[i - 1].time)?;
            }
            if !(row.rate_bps >= 0.0 && row.rate_bps.is_finite()) {
                return error(format!("rate_bps = {:?}: must be 0 or more, and finite", row.rate_bps));
            }
            if !(0.0..=1.0).contains(&row.loss) {
                return error(format!("loss = {:?}: must be between 0 and 1", row.loss));
            }
        }
        if rows.is_empty() {
            return Err(TraceError::nowhere("the table is empty: it must have at least one row"));
        }
        Ok(Self { rows: rows.into(), period: None, recorded: None })
    }

    /// Returns the table repeated every `period`.
    ///
    /// # Errors
    /// If the period ends before the last row begins, or all rates are zero, so that nothing would ever be sent.
    pub fn repeating(self, period: SimTime) -> Result<Self, TraceError> {
        let last = self.rows[self.rows.len() - 1].time;
        if period <= last {
            let (period, last) = (period.as_secs_f64(), last.as_secs_f64());
            let problem =
                format!("period = {period:?} s: must be above {last:?} s, the time of the last row");
            return Err(TraceError::nowhere(problem));
        }
        if self.rows.iter().all(|row| row.rate_bps == 0.0) {
            return Err(TraceError::nowhere(
                "rate_bps is 0 in all rows: a table that repeats must send at last",
            ));
        }
        Ok(Self { period: Some(period), ..self })
    }

    /// Sets the end of the recording, which counts in [`lasts`](Self::lasts) and in the mean rate; the last row still
    /// holds forever. An end before the last row is ignored.
    #[must_use]
    pub fn recorded_until(self, end: SimTime) -> Self {
        Self { recorded: Some(end).filter(|end| *end > self.last_time()), ..self }
    }

    /// Returns the table with rate 0 from the time `end` on, so that the link sends nothing after it.
    ///
    /// # Errors
    /// If the end is not after the beginning of the last row.
    pub fn ending(self, end: SimTime) -> Result<Self, TraceError> {
        let last = self.rows[self.rows.len() - 1];
        if end <= last.time {
            let (end, last) = (end.as_secs_f64(), last.time.as_secs_f64());
            let problem = format!("the end, {end:?} s: must be above {last:?} s, the time of the last row");
            return Err(TraceError::nowhere(problem));
        }
        let dead = RateRow { time: end, rate_bps: 0.0, ..last };
        Ok(Self { rows: self.rows.iter().copied().chain([dead]).collect(), ..self })
    }

    /// Period after which the table repeats; `None` if it does not.
    pub fn period(&self) -> Option<SimTime> {
        self.period
    }

    /// Time of the last row.
    pub fn last_time(&self) -> SimTime {
        self.rows[self.rows.len() - 1].time
    }

    /// Number of bits that can be sent from `from` until `to`.
    pub fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        let (mut now, mut bits) = (from, 0.0);
        if let Some(period) = self.period {
            let whole = to.saturating_sub(from) / period;
            if whole > 1 {
                bits += (whole - 1) as f64 * self.capacity_bits(SimTime::ZERO, period);
                now += period * (whole - 1);
            }
        }
        while now < to {
            let (row, end) = self.at(now);
            let end = end.min(to);
            bits += (end - now).as_secs_f64() * row.rate_bps;
            now = end;
        }
        bits
    }

    /// True if no packet gets through any more from some time on.
    pub fn ends_dead(&self) -> bool {
        let is_dead = |row: &RateRow| row.rate_bps == 0.0 || row.loss >= 1.0;
        match self.period {
            Some(_) => self.rows.iter().all(is_dead),
            None => is_dead(&self.rows[self.rows.len() - 1]),
        }
    }

    /// Duration of the table: its period, or the end of the recording or, if that is unknown, the time of the last row.
    pub fn lasts(&self) -> SimTime {
        self.period.or(self.recorded).unwrap_or(self.last_time())
    }

    /// Mean rate in bit/s over the duration [`lasts`](Self::lasts); for a single row at time zero its rate.
    pub fn mean_rate_bps(&self) -> f64 {
        match self.lasts() {
            SimTime::ZERO => self.rows[0].rate_bps,
            end => self.capacity_bits(SimTime::ZERO, end) / end.as_secs_f64(),
        }
    }

    /// Least, mean and greatest propagation delay over the duration [`lasts`](Self::lasts).
    pub fn delays(&self) -> [SimTime; 3] {
        let delays = || self.rows.iter().map(|row| row.delay);
        let [least, largest] = [delays().min(), delays().max()].map(Option::unwrap_or_default);
        let end = self.lasts();
        if end == SimTime::ZERO {
            return [least, self.rows[0].delay, largest];
        }
        let (mut now, mut area) = (SimTime::ZERO, 0.0);
        while now < end {
            let (row, until) = self.at(now);
            let until = until.min(end);
            area += (until - now).as_secs_f64() * row.delay.as_secs_f64();
            now = until;
        }
        [least, SimTime::from_secs_f64(area / end.as_secs_f64()), largest]
    }

    /// Rows of the table, in order of time.
    pub fn rows(&self) -> &[RateRow] {
        &self.rows
    }

    /// Row that holds at `now`, and the time until which it holds; [`SimTime::MAX`] if forever.
    pub fn at(&self, now: SimTime) -> (&RateRow, SimTime) {
        let (origin, into_period) = match self.period {
            Some(period) => (period * (now / period), now % period),
            None => (SimTime::ZERO, now),
        };
        let next = self.rows.partition_point(|row| row.time <= into_period).max(1);
        let end = match (self.rows.get(next), self.period) {
            (Some(row), _) => origin.saturating_add(row.time),
            (None, Some(period)) => origin.saturating_add(period),
            (None, None) => SimTime::MAX,
        };
        (&self.rows[next - 1], end)
    }
}

impl FromStr for RateTable {
    type Err = TraceError;

    /// Reads a table with the columns `time_s`, `rate_bps`, `delay_s` and `loss`, separated by commas or
    /// white space. A first line of names is skipped; `#` starts a comment.
    ///
    /// ```
    /// use crossfade_link::trace::RateTable;
    /// let table: RateTable = "time_s,rate_bps,delay_s,loss\n0,2e6,0.25,0\n30,0,0.25,0\n".parse().unwrap();
    /// assert_eq!(table.rows()[0].rate_bps, 2e6);
    /// let error = "0 1e6 0.1 0\n1 1e6 0.1 2\n".parse::<RateTable>().unwrap_err().to_string();
    /// assert_eq!(error, "line 2: loss = 2.0: must be between 0 and 1");
    /// ```
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (mut rows, mut numbers_of_lines) = (Vec::new(), Vec::new());
        for (i, (line, text)) in lines(text).enumerate() {
            if i == 0 && is_header(text) {
                continue;
            }
            let columns = ["time_s", "rate_bps", "delay_s", "loss"];
            let [time_s, rate_bps, delay_s, loss] = numbers(line, text, columns)?;
            let (time, delay) = (time(line, "time_s", time_s)?, time(line, "delay_s", delay_s)?);
            rows.push(RateRow { time, rate_bps, delay, loss });
            numbers_of_lines.push(line);
        }
        Self::checked(rows, &numbers_of_lines)
    }
}

/// Reads a table at successive times, and keeps the last row, which mostly still holds.
#[derive(Clone, Debug)]
struct Reader {
    table: RateTable,
    row: RateRow,
    /// Time span for which the kept row is known to hold.
    held: Range<SimTime>,
}

impl Reader {
    fn new(table: RateTable) -> Self {
        let row = table.rows[0];
        Self { table, row, held: SimTime::ZERO..SimTime::ZERO }
    }

    /// Row that holds at `now` and the time until which it holds, like [`RateTable::at`].
    #[inline]
    fn at(&mut self, now: SimTime) -> (&RateRow, SimTime) {
        if !self.held.contains(&now) {
            let (row, end) = self.table.at(now);
            (self.row, self.held) = (*row, now..end);
        }
        (&self.row, self.held.end)
    }
}

/// Transmitter whose rate follows a [`RateTable`]; a packet during whose transmission the rate changes continues at the
/// new rate.
#[derive(Clone, Debug)]
pub struct RateService {
    table: Reader,
}

impl RateService {
    /// Creates a transmitter that follows `table`.
    pub fn new(table: RateTable) -> Self {
        Self { table: Reader::new(table) }
    }
}

impl Capacity for RateTable {
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        Self::capacity_bits(self, from, to)
    }
}

impl Service for RateService {
    fn next_start(&mut self, ready: SimTime, _was_idle: bool) -> SimTime {
        let mut start = ready;
        while start < SimTime::MAX {
            let (row, end) = self.table.at(start);
            if row.rate_bps > 0.0 {
                break;
            }
            start = end;
        }
        start
    }

    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime {
        let (mut now, mut bits) = (start, f64::from(bytes) * 8.0);
        while now < SimTime::MAX {
            let (row, end) = self.table.at(now);
            let left = SimTime::from_secs_f64(bits / row.rate_bps);
            let finish = now.saturating_add(left.max(SimTime::from_nanos(1)));
            if row.rate_bps > 0.0 && finish <= end {
                return finish;
            }
            bits -= (end - now).as_secs_f64() * row.rate_bps;
            now = end;
        }
        now
    }

    fn delay(&mut self, now: SimTime) -> SimTime {
        if now == SimTime::MAX { SimTime::ZERO } else { self.table.at(now).0.delay }
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        Occupancy::of_capacity(self.table.table.clone(), now, under_way)
    }
}

/// Loss process that loses packets with the probability in a [`RateTable`] at the start of their transmission.
///
/// Each transmission takes one random number, for any probability.
#[derive(Clone, Debug)]
pub struct TableLoss {
    table: Reader,
    stream: Stream,
    /// Number of random numbers drawn so far, and the last of them.
    drawn: u64,
    number: f64,
}

impl TableLoss {
    /// Creates the losses of `table`, drawn from `stream`.
    pub fn new(table: RateTable, stream: Stream) -> Self {
        Self { table: Reader::new(table), stream, drawn: 0, number: 0.0 }
    }
}

impl LossProcess for TableLoss {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        while self.drawn <= transmission {
            self.number = self.stream.random();
            self.drawn += 1;
        }
        self.number < self.table.at(now).0.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn table(rows: &[(u64, f64)]) -> RateTable {
        let row = |&(millis, rate_bps)| RateRow { time: MS * millis, rate_bps, delay: MS * 5, loss: 0.0 };
        RateTable::new(rows.iter().map(row).collect()).unwrap()
    }

    #[test]
    fn a_packet_goes_on_at_the_rate_that_holds() {
        // 8 Mbit/s is a byte a microsecond; an outage from 3 to 5 ms; then half the rate.
        let mut service = RateService::new(table(&[(0, 8e6), (3, 0.0), (5, 4e6)]));
        assert_eq!(service.serve(SimTime::ZERO, 1000), MS);
        assert_eq!(service.serve(MS * 2, 1000), MS * 3);
        assert_eq!(service.serve(MS * 2, 1500), MS * 6);
        assert_eq!(service.next_start(MS * 4, true), MS * 5);
        assert_eq!(service.serve(MS * 5, 1000), MS * 7);
        // The last row holds forever.
        assert_eq!(service.serve(MS * 1000, 1000), MS * 1002);
        // A link that is dead from some time on.
        let mut service = RateService::new(table(&[(0, 8e6), (3, 0.0)]));
        assert_eq!(service.next_start(MS * 4, true), SimTime::MAX);
        assert_eq!(service.serve(MS * 2, 1500), SimTime::MAX);
    }

    #[test]
    fn a_table_can_repeat() {
        let table = table(&[(1, 8e6), (3, 0.0)]).repeating(MS * 4).unwrap();
        // The values of the first row hold before it, too.
        let rates: Vec<f64> = (0..9).map(|millis| table.at(MS * millis).0.rate_bps).collect();
        assert_eq!(rates, [8e6, 8e6, 8e6, 0.0, 8e6, 8e6, 8e6, 0.0, 8e6]);
        let mut service = RateService::new(table);
        // 1 ms until the outage, 3 ms of the next period, half a millisecond of the one after.
        assert_eq!(service.serve(MS * 2, 4500), SimTime::from_micros(8500));
    }

    #[test]
    fn capacity_is_the_integral_of_the_rate() {
        let table = table(&[(0, 8e6), (3, 0.0), (5, 4e6), (7, 1e6)]);
        // 24 kbit in 3 ms, nothing in 2, 8 kbit in 2; then a kilobit a millisecond.
        assert!((table.mean_rate_bps() - 32e3 / 7e-3).abs() < 1e-6);
        let bits = |from: u64, to: u64| table.capacity_bits(MS * from, MS * to);
        assert!((bits(0, 10) - 35e3).abs() < 1e-6 && (bits(2, 6) - 12e3).abs() < 1e-6);
        let repeating = table.clone().repeating(MS * 8).unwrap();
        assert!((repeating.mean_rate_bps() - 33e3 / 8e-3).abs() < 1e-6);
        // From 2 to 8, three rounds, and 5 ms of the next.
        let bits = repeating.capacity_bits(MS * 2, MS * 37);
        assert!((bits - (17e3 + 3.0 * 33e3 + 24e3)).abs() < 1e-5, "{bits}");
        let dead: RateTable = "5 2e6 0 0".parse().unwrap();
        assert_eq!(dead.mean_rate_bps(), 2e6);
    }

    #[test]
    fn means_count_the_last_row_where_its_end_is_known() {
        let row =
            |millis, rate_bps, delay| RateRow { time: MS * millis, rate_bps, delay: MS * delay, loss: 0.0 };
        let held = RateTable::new(vec![row(0, 2e6, 20), row(1, 1e6, 40)]).unwrap();
        assert_eq!(
            (held.lasts(), held.mean_rate_bps(), held.delays()),
            (MS, 2e6, [20, 20, 40].map(|at| MS * at))
        );
        // (1 ms of 2 Mbit/s and 3 ms of 1 Mbit/s) / 4 ms; (1 * 20 + 3 * 40) / 4 = 35.
        let recorded = held.clone().recorded_until(MS * 4);
        assert_eq!((recorded.lasts(), recorded.mean_rate_bps()), (MS * 4, 1.25e6));
        assert_eq!(recorded.delays(), [20, 35, 40].map(|at| MS * at));
        // Values after the end are unchanged.
        assert_eq!((recorded.period(), recorded.at(MS * 9)), (None, held.at(MS * 9)));
        assert_eq!(held.clone().recorded_until(MS), held);
        let repeating = held.repeating(MS * 2).unwrap();
        assert_eq!((repeating.lasts(), repeating.mean_rate_bps()), (MS * 2, 1.5e6));
    }

    #[test]
    fn losses_have_the_probability_of_their_time() {
        let row = |millis, loss| RateRow { time: MS * millis, rate_bps: 1e6, delay: MS, loss };
        let table = RateTable::new(vec![row(0, 0.0), row(1, 0.2), row(2, 1.0)]).unwrap();
        let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
        let mut loss = TableLoss::new(table, stream);
        let n = 10_000;
        let mut share = |millis, from| (from..from + n).filter(|&tx| loss.lost(MS * millis, tx)).count();
        assert_eq!(share(0, 0), 0);
        let lost = share(1, n) as f64 / n as f64;
        assert!((lost - 0.2).abs() < 4.0 * (0.2 * 0.8 / n as f64).sqrt(), "{lost}");
        assert_eq!(share(2, 2 * n), n as usize);
    }

    #[test]
    fn a_malformed_table_names_its_line() {
        let error = |text: &str| text.parse::<RateTable>().unwrap_err().to_string();
        let columns = "time_s, rate_bps, delay_s, loss";
        assert_eq!(error("0 1e6 0.1\n"), format!("line 1: \"0 1e6 0.1\": must be 4 numbers: {columns}"));
        assert_eq!(
            error("0 1 1 0\n1 1 1 0 9"),
            format!("line 2: \"1 1 1 0 9\": must be 4 numbers: {columns}")
        );
        assert_eq!(error("0 fast 1 0\n"), "line 1: rate_bps = \"fast\": must be a number");
        assert_eq!(
            error("0 1 1 0\n\n0 1 1 0"),
            "line 3: time_s = 0.0: must be above 0.0, the time before it"
        );
        assert_eq!(error("0 -1 1 0\n"), "line 1: rate_bps = -1.0: must be 0 or more, and finite");
        assert_eq!(error("0 1 -1 0\n"), "line 1: delay_s = -1.0: must be between 0 and 3.2e9");
        assert_eq!(error("time_s rate_bps\n"), "the table is empty: it must have at least one row");
        let dead = table(&[(0, 0.0)]).repeating(MS).unwrap_err().to_string();
        assert_eq!(dead, "rate_bps is 0 in all rows: a table that repeats must send at last");
        let ended = table(&[(0, 8e6), (3, 4e6)]).ending(MS * 5).unwrap();
        assert_eq!(
            (ended.at(MS * 4).0.rate_bps, ended.at(MS * 5).0.rate_bps, ended.ends_dead()),
            (4e6, 0.0, true)
        );
        let early = table(&[(0, 1.0), (5, 1.0)]).ending(MS * 5).unwrap_err().to_string();
        assert_eq!(early, "the end, 0.005 s: must be above 0.005 s, the time of the last row");
        let short = table(&[(0, 1.0), (5, 1.0)]).repeating(MS * 5).unwrap_err().to_string();
        assert_eq!(short, "period = 0.005 s: must be above 0.005 s, the time of the last row");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-z# \n.,e-]{0,80}") {
            let _ = text.parse::<RateTable>();
        }

        /// The bits sent from start to end of each transmission, counted row by row, are those of the packet.
        #[test]
        fn transmissions_integrate_the_rate(
            rates in prop::collection::vec((1_u64..20, prop_oneof![Just(0.0), 1e5..1e8]), 1..8),
            start in 0_u64..200_000, bytes in 1_u32..20_000,
        ) {
            let mut millis = 0;
            let mut row = |(gap, rate): &(u64, f64)| {
                millis += gap;
                (millis, *rate)
            };
            let rows: Vec<(u64, f64)> = rates.iter().map(&mut row).collect();
            let table = table(&rows);
            let start = SimTime::from_micros(start);
            let end = RateService::new(table.clone()).serve(start, bytes);
            if end < SimTime::MAX {
                let (mut now, mut bits) = (start, 0.0);
                while now < end {
                    let (row, until) = table.at(now);
                    let until = until.min(end);
                    bits += (until - now).as_secs_f64() * row.rate_bps;
                    now = until;
                }
                // A nanosecond at the highest rate.
                prop_assert!((bits - f64::from(bytes) * 8.0).abs() < 0.2, "{bits}");
            }
        }
    }
}
