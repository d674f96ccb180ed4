//! Recorded signal-to-interference-and-noise ratios (SINR).

use super::error::{TraceError, increasing, is_header, lines, time, words};
use crossfade_core::{SimTime, excerpt, from_db, to_db};
use std::str::FromStr;
use std::sync::Arc;

/// Measured SINR over time, used in place of a fading channel, with one ratio for all frequency bins or one for each. A
/// row holds until the next; the values of the first row also hold before it, and those of the last row forever unless
/// the trace repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct SinrTrace {
    times: Arc<[SimTime]>,
    /// Rows of `columns` ratios (linear), relative to the mean of all ratios.
    powers: Arc<[f32]>,
    columns: usize,
    mean_db: f64,
    period: Option<SimTime>,
}

impl SinrTrace {
    /// Returns the trace repeated every `period`.
    ///
    /// # Errors
    /// If the period ends before the last row begins.
    pub fn repeating(self, period: SimTime) -> Result<Self, TraceError> {
        let last = self.lasts();
        if period <= last {
            return Err(TraceError::nowhere(format!("must be above {last}, the time of the last row")));
        }
        Ok(Self { period: Some(period), ..self })
    }

    /// Number of ratios per row: 1 for all bins, or one per bin.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Mean of all ratios, in dB.
    pub fn mean_db(&self) -> f64 {
        self.mean_db
    }

    /// Duration of the trace: its period, or the time of its last row.
    pub fn lasts(&self) -> SimTime {
        self.period.unwrap_or(self.times[self.times.len() - 1])
    }

    /// True if the trace begins again after its period.
    pub fn repeats(&self) -> bool {
        self.period.is_some()
    }

    /// Ratios (linear) at `now` relative to the mean: one for all bins, or one per bin.
    pub fn at(&self, now: SimTime) -> &[f32] {
        let now = self.period.map_or(now, |period| now % period);
        let row = self.times.partition_point(|time| *time <= now).max(1) - 1;
        &self.powers[row * self.columns..(row + 1) * self.columns]
    }
}

impl FromStr for SinrTrace {
    type Err = TraceError;

    /// Reads a table with a time in seconds and one ratio in dB per line, or one for each bin, separated by commas or
    /// white space. A first line of names is skipped; `#` starts a comment.
    ///
    /// ```
    /// use crossfade_link::trace::SinrTrace;
    /// let trace: SinrTrace = "time_s,sinr_db\n0,12.5\n0.1,9\n".parse().unwrap();
    /// assert_eq!(trace.columns(), 1);
    /// let error = "0 12.5\n0.1 9 8\n".parse::<SinrTrace>().unwrap_err().to_string();
    /// assert_eq!(error, "line 2: 3 numbers: must be 2, as in the line before");
    /// ```
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (mut times, mut ratios): (Vec<SimTime>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut columns = 0;
        for (i, (line, text)) in lines(text).enumerate() {
            if i == 0 && is_header(text) {
                continue;
            }
            let mut words = words(text);
            let number = |column: &str, word: &str| {
                let parsed = word.parse().ok().filter(|x: &f64| x.is_finite());
                let problem = || format!("{column} = {}: must be a number", excerpt(word));
                parsed.ok_or_else(|| TraceError::at(line, problem()))
            };
            let now = time(line, "time_s", number("time_s", words.next().unwrap_or_default())?)?;
            times.last().map_or(Ok(()), |before| increasing(line, now, *before))?;
            let before = ratios.len();
            for word in words {
                let db = number("sinr_db", word)?;
                if !(-100.0..=100.0).contains(&db) {
                    let problem = format!("sinr_db = {db:?}: must be between -100 and 100");
                    return Err(TraceError::at(line, problem));
                }
                ratios.push(from_db(db));
            }
            let here = ratios.len() - before;
            if here == 0 {
                let problem = format!("{}: must be a time in s and ratios in dB", excerpt(text));
                return Err(TraceError::at(line, problem));
            }
            if !times.is_empty() && here != columns {
                let problem = format!("{} numbers: must be {}, as in the line before", here + 1, columns + 1);
                return Err(TraceError::at(line, problem));
            }
            columns = here;
            times.push(now);
        }
        if times.is_empty() {
            return Err(TraceError::nowhere("the trace is empty: it must have at least one row"));
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let powers = ratios.iter().map(|ratio| (ratio / mean) as f32).collect();
        Ok(Self { times: times.into(), powers, columns, mean_db: to_db(mean), period: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn db(trace: &SinrTrace, now: SimTime) -> Vec<f64> {
        let of = |power: &f32| trace.mean_db() + 10.0 * f64::from(*power).log10();
        trace.at(now).iter().map(|power| (of(power) * 1e4).round() / 1e4).collect()
    }

    #[test]
    fn rows_hold_until_the_next_and_the_last_for_ever() {
        let trace: SinrTrace = "# by a scanner\ntime_s sinr_db\n0.01 12.5\n0.02 -3\n".parse().unwrap();
        let found = [0, 10, 19, 20, 500].map(|at| db(&trace, MS * at)[0]);
        assert_eq!(found, [12.5, 12.5, 12.5, -3.0, -3.0]);
        assert_eq!((trace.lasts(), trace.repeats()), (MS * 20, false));
        let again = trace.repeating(MS * 30).unwrap();
        assert_eq!([29, 30, 45, 50, 60].map(|at| db(&again, MS * at)[0]), [-3.0, 12.5, 12.5, -3.0, 12.5]);
    }

    #[test]
    fn each_bin_can_have_a_column() {
        let trace: SinrTrace = "0;1;2;3\n1;4;5;6\n".parse().unwrap();
        assert_eq!((trace.columns(), db(&trace, MS * 1500)), (3, vec![4.0, 5.0, 6.0]));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, said) in [
            ("", "the trace is empty: it must have at least one row"),
            ("time_s,sinr_db\n0,12\n0,13\n", "line 3: time_s = 0.0: must be above 0.0, the time before it"),
            ("0,12\n1,high\n", "line 2: sinr_db = \"high\": must be a number"),
            ("0,nan\n", "line 1: sinr_db = \"nan\": must be a number"),
            ("0,500\n", "line 1: sinr_db = 500.0: must be between -100 and 100"),
            ("-1,5\n", "line 1: time_s = -1.0: must be between 0 and 3.2e9"),
            ("0\n", "line 1: \"0\": must be a time in s and ratios in dB"),
        ] {
            assert_eq!(text.parse::<SinrTrace>().unwrap_err().to_string(), said);
        }
        let error = "0 1\n1 2\n".parse::<SinrTrace>().unwrap().repeating(MS * 1000).unwrap_err();
        assert_eq!(error.to_string(), "must be above 1 s, the time of the last row");
    }
}
