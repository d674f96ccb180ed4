//! Propagation delay over time, recorded beside the capacity of a path.

use super::error::{TraceError, increasing, is_header, lines, numbers, time, words};
use crate::occupancy::{Occupancy, UnderWay};
use crate::transmitter::Service;
use crossfade_core::{SimTime, excerpt};
use std::str::FromStr;
use std::sync::Arc;

/// Interpolation of the delay between two rows of a [`DelaySeries`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// The delay of a row holds until the next row.
    #[default]
    Step,
    /// The delay changes linearly from one row to the next.
    Linear,
}

/// One-way propagation delay over time. The first row's delay holds before the first row, and the last row's after the
/// last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySeries {
    /// Rows: time, and the delay from then on.
    rows: Arc<[(SimTime, SimTime)]>,
    interpolation: Interpolation,
    /// Period after which the series repeats; `None` if it does not.
    period: Option<SimTime>,
    /// End of the recording, if known to be after the last row; the last delay holds forever all the same.
    recorded: Option<SimTime>,
}

impl DelaySeries {
    /// Greatest delay in seconds: 100 days, the limit for all delays of a scenario.
    const LONGEST_S: f64 = 8.64e6;

    /// Creates a series from rows of time and one-way delay.
    ///
    /// # Errors
    /// If there are no rows, or times do not increase. The error counts rows from 1.
    pub fn new(rows: Vec<(SimTime, SimTime)>) -> Result<Self, TraceError> {
        let lines: Vec<usize> = (1..=rows.len()).collect();
        Self::checked(rows, &lines)
    }

    fn checked(rows: Vec<(SimTime, SimTime)>, lines: &[usize]) -> Result<Self, TraceError> {
        if rows.is_empty() {
            return Err(TraceError::nowhere("the series is empty: it must have at least one row"));
        }
        (1..rows.len()).try_for_each(|i| increasing(lines[i], rows[i].0, rows[i - 1].0))?;
        Ok(Self { rows: rows.into(), interpolation: Interpolation::Step, period: None, recorded: None })
    }

    /// Returns the series with another interpolation between its rows.
    #[must_use]
    pub fn interpolated(self, interpolation: Interpolation) -> Self {
        Self { interpolation, ..self }
    }

    /// Interpolation of the delay between two rows.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// Returns the series repeated every `period`; later rows are removed.
    ///
    /// # Errors
    /// If no row is before the end of the period.
    pub fn repeating(self, period: SimTime) -> Result<Self, TraceError> {
        let kept = self.rows.partition_point(|(time, _)| *time < period);
        if kept == 0 {
            let (first, period) = (self.rows[0].0.as_secs_f64(), period.as_secs_f64());
            let problem = format!(
                "the first row is at {first:?} s: must be before {period:?} s, after which it begins again"
            );
            return Err(TraceError::nowhere(problem));
        }
        Ok(Self { rows: self.rows[..kept].into(), period: Some(period), ..self })
    }

    /// Sets the end of the recording, up to which the last delay counts in the mean; the last delay still holds
    /// forever. An end before the last row is ignored.
    #[must_use]
    pub fn recorded_until(self, end: SimTime) -> Self {
        Self { recorded: Some(end).filter(|end| *end > self.last_time()), ..self }
    }

    /// Period after which the series repeats; `None` if it does not.
    pub fn period(&self) -> Option<SimTime> {
        self.period
    }

    /// Time of the last row.
    pub fn last_time(&self) -> SimTime {
        self.rows[self.rows.len() - 1].0
    }

    /// Longest time between two rows; zero for a single row.
    pub fn longest_gap(&self) -> SimTime {
        self.rows.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap_or_default()
    }

    /// Least and greatest delay of the series.
    pub fn range(&self) -> [SimTime; 2] {
        let delays = || self.rows.iter().map(|(_, delay)| *delay);
        [delays().min(), delays().max()].map(Option::unwrap_or_default)
    }

    /// Mean delay over one period, or until the end of the recording or, if that is unknown, the last row; for a single
    /// row at time zero its delay.
    pub fn mean(&self) -> SimTime {
        let end = self.period.or(self.recorded).unwrap_or(self.last_time());
        if end == SimTime::ZERO {
            return self.rows[0].1;
        }
        let area = |from: SimTime, to: SimTime, delay_s: f64| (to - from).as_secs_f64() * delay_s;
        let (first, last) = (self.rows[0], self.rows[self.rows.len() - 1]);
        let outside =
            area(SimTime::ZERO, first.0, first.1.as_secs_f64()) + area(last.0, end, last.1.as_secs_f64());
        let between = self.rows.windows(2).map(|pair| {
            let [start, stop] = [pair[0].1, pair[1].1].map(SimTime::as_secs_f64);
            let delay_s = match self.interpolation {
                Interpolation::Step => start,
                Interpolation::Linear => f64::midpoint(start, stop),
            };
            area(pair[0].0, pair[1].0, delay_s)
        });
        SimTime::from_secs_f64((outside + between.sum::<f64>()) / end.as_secs_f64())
    }

    /// One-way delay at `now`.
    pub fn at(&self, now: SimTime) -> SimTime {
        let now = self.period.map_or(now, |period| now % period);
        let next = self.rows.partition_point(|(time, _)| *time <= now);
        let (Some(&(start, delay)), Some(&(stop, next_delay))) =
            (next.checked_sub(1).and_then(|at| self.rows.get(at)), self.rows.get(next))
        else {
            return self.rows[next.min(self.rows.len() - 1)].1;
        };
        match self.interpolation {
            Interpolation::Step => delay,
            Interpolation::Linear => {
                // Whole nanoseconds: the same on every machine.
                let [now, start, stop, delay, next_delay] =
                    [now, start, stop, delay, next_delay].map(|time| i128::from(time.as_nanos()));
                let slope = (next_delay - delay) * (now - start);
                SimTime::from_nanos((delay + slope.div_euclid(stop - start)) as u64)
            }
        }
    }
}

impl FromStr for DelaySeries {
    type Err = TraceError;

    /// Reads a series with the columns `time_s` and `delay_s`, separated by commas or white space. If a first line of
    /// names has `rtt_s` in place of `delay_s`, the one-way delay is half of this column. `#` starts a comment.
    ///
    /// ```
    /// use crossfade_core::SimTime;
    /// use crossfade_link::trace::DelaySeries;
    /// let series: DelaySeries = "time_s,delay_s\n0,0.02\n15,0.025\n".parse().unwrap();
    /// assert_eq!(series.at(SimTime::from_millis(15_000)), SimTime::from_millis(25));
    /// let halves: DelaySeries = "time_s rtt_s\n0 0.05\n".parse().unwrap();
    /// assert_eq!(halves.at(SimTime::ZERO), SimTime::from_millis(25));
    /// let error = "0 0.02\n0 0.03\n".parse::<DelaySeries>().unwrap_err().to_string();
    /// assert_eq!(error, "line 2: time_s = 0.0: must be above 0.0, the time before it");
    /// ```
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (mut rows, mut numbers_of_lines) = (Vec::new(), Vec::new());
        let mut column = "delay_s";
        for (i, (line, text)) in lines(text).enumerate() {
            if i == 0 && is_header(text) {
                column = column_of(line, text)?;
                continue;
            }
            let [time_s, delay_s] = numbers(line, text, ["time_s", column])?;
            if !(0.0..=Self::LONGEST_S).contains(&delay_s) {
                let problem = format!("{column} = {delay_s:?}: must be between 0 and {:?}", Self::LONGEST_S);
                return Err(TraceError::at(line, problem));
            }
            let one_way_s = if column == "rtt_s" { delay_s / 2.0 } else { delay_s };
            rows.push((time(line, "time_s", time_s)?, SimTime::from_secs_f64(one_way_s)));
            numbers_of_lines.push(line);
        }
        Self::checked(rows, &numbers_of_lines)
    }
}

/// Name of the second column in a line of column names: `delay_s` or `rtt_s`.
fn column_of(line: usize, text: &str) -> Result<&'static str, TraceError> {
    let names: Vec<&str> = words(text).collect();
    match names.as_slice() {
        ["time_s", "delay_s"] => Ok("delay_s"),
        ["time_s", "rtt_s"] => Ok("rtt_s"),
        _ => {
            let problem = format!("{}: must be time_s,delay_s or time_s,rtt_s", excerpt(text));
            Err(TraceError::at(line, problem))
        }
    }
}

/// Transmitter that adds the delay of a [`DelaySeries`], at the end of each packet's transmission, to that of another
/// transmitter.
pub struct DelayedService {
    service: Box<dyn Service>,
    delays: DelaySeries,
}

impl DelayedService {
    /// Creates a transmitter that adds `delays` to the delays of `service`.
    pub fn new(service: Box<dyn Service>, delays: DelaySeries) -> Self {
        Self { service, delays }
    }
}

impl Service for DelayedService {
    fn next_start(&mut self, ready: SimTime, was_idle: bool) -> SimTime {
        self.service.next_start(ready, was_idle)
    }

    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime {
        self.service.serve(start, bytes)
    }

    fn delay(&mut self, now: SimTime) -> SimTime {
        if now == SimTime::MAX {
            return SimTime::ZERO;
        }
        self.service.delay(now).saturating_add(self.delays.at(now))
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        self.service.occupancy(now, under_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn series(rows: &[(u64, u64)]) -> DelaySeries {
        DelaySeries::new(rows.iter().map(|&(time, delay)| (MS * time, MS * delay)).collect()).unwrap()
    }

    /// Delays of a series in microseconds, at times given in milliseconds.
    fn delays(series: &DelaySeries, millis: &[u64]) -> Vec<u64> {
        millis.iter().map(|&at| series.at(MS * at).as_nanos() / 1000).collect()
    }

    #[test]
    fn a_step_holds_until_the_next_and_a_line_goes_there() {
        let steps = series(&[(10, 20), (20, 40), (30, 10)]);
        let millis = [0, 10, 15, 19, 20, 25, 29, 30, 1000];
        let ms = 1000;
        assert_eq!(delays(&steps, &millis), [20, 20, 20, 20, 40, 40, 40, 10, 10].map(|delay| delay * ms));
        let lines = steps.clone().interpolated(Interpolation::Linear);
        assert_eq!(
            delays(&lines, &millis),
            [20_000, 20_000, 30_000, 38_000, 40_000, 25_000, 13_000, 10_000, 10_000]
        );
        // 10 ms of 20, then 10 of 20 and of 40; in lines 10 of 20, of 30 and of 25 in the mean.
        assert_eq!([steps.mean(), lines.mean()].map(SimTime::as_nanos), [26_666_667, 25_000_000]);
        assert_eq!((steps.range(), steps.longest_gap()), ([MS * 10, MS * 40], MS * 10));
    }

    #[test]
    fn a_series_begins_again_and_leaves_out_what_is_later() {
        let series = series(&[(0, 1), (20, 2), (50, 9)]).repeating(MS * 40).unwrap();
        assert_eq!(
            delays(&series, &[0, 19, 20, 39, 40, 60, 79, 80, 100]),
            [1000, 1000, 2000, 2000, 1000, 2000, 2000, 1000, 2000]
        );
        assert_eq!((series.last_time(), series.range()), (MS * 20, [MS, MS * 2]));
        assert_eq!(series.mean().as_nanos(), 1_500_000);
    }

    #[test]
    fn a_malformed_series_names_its_line() {
        let error = |text: &str| text.parse::<DelaySeries>().unwrap_err().to_string();
        assert_eq!(error("# nothing\n"), "the series is empty: it must have at least one row");
        assert_eq!(error("time_s,delay_s\n"), "the series is empty: it must have at least one row");
        assert_eq!(
            error("time_s,delay_ms\n0,9\n"),
            "line 1: \"time_s,delay_ms\": must be time_s,delay_s or time_s,rtt_s"
        );
        assert_eq!(error("0 0.1 3\n"), "line 1: \"0 0.1 3\": must be 2 numbers: time_s, delay_s");
        assert_eq!(error("time_s rtt_s\n0 -1\n"), "line 2: rtt_s = -1.0: must be between 0 and 8640000.0");
        assert_eq!(error("0 1e9\n"), "line 1: delay_s = 1000000000.0: must be between 0 and 8640000.0");
        assert_eq!(error("-1 0\n"), "line 1: time_s = -1.0: must be between 0 and 3.2e9");
        assert_eq!(error("0 0\n\n1 nan\n"), "line 3: delay_s = \"nan\": must be a number");
        let late = series(&[(50, 1)]).repeating(MS * 50).unwrap_err().to_string();
        assert_eq!(late, "the first row is at 0.05 s: must be before 0.05 s, after which it begins again");
    }

    proptest! {
        /// Delays agree with a search through all rows in floating point.
        #[test]
        fn delays_are_those_of_the_rows_around_a_time(
            gaps in prop::collection::vec((1_u64..50, 0_u64..200), 1..12),
            now in 0_u64..2_000_000_000, repeats: bool, linear: bool,
        ) {
            let mut at = 0;
            let mut rows: Vec<(u64, u64)> = gaps.iter().map(|(gap, delay)| { at += gap; (at, *delay) }).collect();
            let period = at + 7;
            let interpolation = if linear { Interpolation::Linear } else { Interpolation::Step };
            let mut found = series(&rows).interpolated(interpolation);
            let mut now_ms = now as f64 / 1e6;
            if repeats {
                found = found.repeating(MS * period).unwrap();
                now_ms %= period as f64;
            }
            rows.insert(0, (0, rows[0].1));
            rows.push((u64::MAX, rows[rows.len() - 1].1));
            let at = (0..rows.len()).rev().find(|&i| rows[i].0 as f64 <= now_ms).unwrap();
            let ((start, delay), (stop, next)) = (rows[at], rows[at + 1]);
            let share = if linear { (now_ms - start as f64) / (stop as f64 - start as f64) } else { 0.0 };
            let expected = delay as f64 + share * (next as f64 - delay as f64);
            let found = found.at(SimTime::from_nanos(now)).as_secs_f64() * 1e3;
            prop_assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }

        #[test]
        fn no_text_panics(text in "[0-9a-z# \n.,e_-]{0,80}") {
            if let Ok(series) = text.parse::<DelaySeries>() {
                let series = series.interpolated(Interpolation::Linear);
                let _ = (series.at(MS * 7), series.at(SimTime::MAX), series.mean());
            }
        }
    }
}
