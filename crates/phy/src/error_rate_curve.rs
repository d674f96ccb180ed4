//! Error rate of one modulation and coding at one block size, as a function of the signal-to-noise ratio.
//!
//! Points come from a table in the format of [`crate::ErrorRateTable`]: for each ratio the share of blocks that still
//! fail after 1, 2, ... transmissions.
//!
//! - **Between ratios** the logarithm of the rate is interpolated linearly over the ratio in dB, or the rate itself if
//!   one of the two is 0.
//! - **Below the first ratio** every block fails: rate 1.
//! - **Beyond the last ratio** the line through the last two points is extended. A last rate of 0 stays 0; a last rate
//!   not below the one before is an error floor and stays.
//! - Rates need not fall with the ratio: a measured curve may have a floor, or noise.

use crate::table_lines::table_lines;
use std::collections::BTreeMap;
use std::fmt::Write;
use thiserror::Error;

/// Error of an unusable error-rate table, in one line that names the line of the table, counted from 1.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TableError {
    /// The table has no line of column names, or columns are missing.
    #[error("the table has no column {column}: needed are snr_db and error_rate (or residual)")]
    NoColumn {
        /// Name of the missing column.
        column: &'static str,
    },
    /// A column occurs twice.
    #[error("line {line}: column {column} is there twice")]
    ColumnTwice {
        /// Line of the file, counted from 1.
        line: usize,
        /// Name of the column.
        column: &'static str,
    },
    /// A line has more or fewer fields than there are columns.
    #[error("line {line}: {found} fields, but there are {columns} columns")]
    Fields {
        /// Line of the file, counted from 1.
        line: usize,
        /// Number of fields in the line.
        found: usize,
        /// Number of columns in the header line.
        columns: usize,
    },
    /// A field has a value that its column does not allow.
    #[error("line {line}: {column} = {}: must be {allowed}", crossfade_core::excerpt(value))]
    Value {
        /// Line of the file, counted from 1.
        line: usize,
        /// Name of the column.
        column: &'static str,
        /// Value in the field.
        value: String,
        /// Allowed values of the column.
        allowed: &'static str,
    },
    /// A point occurs twice.
    #[error("line {line}: snr_db = {snr_db:?}, transmissions = {transmissions} is on line {first} already")]
    Twice {
        /// Line of the file, counted from 1.
        line: usize,
        /// Line on which the point occurred first.
        first: usize,
        /// SNR of the point, in dB.
        snr_db: f64,
        /// Number of transmissions of the point.
        transmissions: u32,
    },
    /// The error rate rises with the number of transmissions.
    #[error(
        "line {line}: residual = {residual:?} after {transmissions} transmissions is above {before:?} after \
         one less"
    )]
    Grows {
        /// Line of the file, counted from 1.
        line: usize,
        /// Number of transmissions of the point.
        transmissions: u32,
        /// Error rate after these transmissions.
        residual: f64,
        /// Error rate after one transmission less.
        before: f64,
    },
    /// A signal-to-noise ratio lacks points for some numbers of transmissions.
    #[error("snr_db = {snr_db:?} lacks transmissions = {transmissions}: every ratio needs 1 to {most}")]
    Lacks {
        /// SNR in dB that lacks a point.
        snr_db: f64,
        /// Number of transmissions that is missing.
        transmissions: u32,
        /// Greatest number of transmissions at other ratios.
        most: u32,
    },
    /// The table has no points.
    #[error("the table has no lines")]
    Empty,
    /// The table has more points than Crossfade reads.
    #[error("line {line}: the table has more than {most} points: must be at most so many")]
    TooLong {
        /// Number of the first line too many, counted from 1.
        line: usize,
        /// Greatest number of points that a table may have.
        most: usize,
    },
    /// The table has both columns `error_rate` and `residual`, two names of one quantity.
    #[error("line {line}: columns error_rate and residual are one thing: give one of them")]
    TwoRates {
        /// Line of the file, counted from 1.
        line: usize,
    },
    /// A signal-to-noise ratio outside the table.
    #[error("snr_db = {snr_db:?} is outside the table, which reaches from {from:?} to {to:?} dB")]
    Outside {
        /// Requested SNR in dB.
        snr_db: f64,
        /// Least SNR of the curve, in dB.
        from: f64,
        /// Greatest SNR of the curve, in dB.
        to: f64,
    },
}

/// Error rates after 1, 2, ... transmissions of a block, over the signal-to-noise ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRateCurve {
    /// Points: `snr_db` in increasing order, each with the residual error rates after 1, 2, ... transmissions.
    points: Vec<(f64, Vec<f64>)>,
}

const COLUMNS: [&str; 3] = ["snr_db", "transmissions", "residual"];
/// Alternative name of the column `residual`.
const ERROR_RATE: &str = "error_rate";

impl ErrorRateCurve {
    /// Creates a curve from points: `snr_db`, and the residual error rates after 1, 2, ... transmissions.
    ///
    /// # Errors
    /// If [`parse`](ErrorRateCurve::parse) refuses these points; the error counts lines as if they were written one per
    /// line.
    pub fn new(points: &[(f64, Vec<f64>)]) -> Result<Self, TableError> {
        Self::parse(&to_csv(points))
    }

    /// Reads the table of one curve in CSV.
    ///
    /// # Errors
    /// The first error of the table, with its line number.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = table_lines(text);
        let (line, header) = lines.next().ok_or(TableError::Empty)?;
        Self::of_lines((line, &header), lines)
    }

    /// Creates a curve from the `lines` of a table, whose columns `header` names.
    pub(crate) fn of_lines<'a>(
        (line, header): (usize, &[&str]),
        lines: impl IntoIterator<Item = (usize, Vec<&'a str>)>,
    ) -> Result<Self, TableError> {
        let place = |column| column_place((line, header), column);
        let snr_place = place("snr_db")?.ok_or(TableError::NoColumn { column: "snr_db" })?;
        let transmissions_place = place("transmissions")?;
        let (rate_column, rate_place) = match (place(ERROR_RATE)?, place("residual")?) {
            (Some(_), Some(_)) => return Err(TableError::TwoRates { line }),
            (Some(place), None) => (ERROR_RATE, place),
            (None, Some(place)) => ("residual", place),
            (None, None) => return Err(TableError::NoColumn { column: ERROR_RATE }),
        };
        let mut points: BTreeMap<(Ordered, u32), (usize, f64)> = BTreeMap::new();
        for (line, fields) in lines {
            if fields.len() != header.len() {
                return Err(TableError::Fields { line, found: fields.len(), columns: header.len() });
            }
            // Without the column all points are of the first transmission.
            let transmissions = transmissions_place.map_or("1", |place| fields[place]);
            let (snr_db, residual) = (fields[snr_place], fields[rate_place]);
            let wrong = |column: &'static str, value: &str, allowed| TableError::Value {
                line,
                column,
                value: value.into(),
                allowed,
            };
            let snr_db = snr_db
                .parse()
                .ok()
                .filter(|db: &f64| db.is_finite())
                .ok_or_else(|| wrong("snr_db", snr_db, "a number of dB"))?;
            let transmissions =
                transmissions.parse().ok().filter(|count| (1..=1000).contains(count)).ok_or_else(|| {
                    wrong("transmissions", transmissions, "a whole number between 1 and 1000")
                })?;
            let residual = residual
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| wrong(rate_column, residual, "a share between 0 and 1"))?;
            // -0 and 0 are the same ratio.
            let key = (Ordered(snr_db + 0.0), transmissions);
            if let Some((first, _)) = points.insert(key, (line, residual)) {
                return Err(TableError::Twice { line, first, snr_db, transmissions });
            }
        }
        Self::complete(points)
    }

    /// Checks that every ratio has points for all numbers of transmissions, and that no further transmission raises the
    /// error rate.
    fn complete(points: BTreeMap<(Ordered, u32), (usize, f64)>) -> Result<Self, TableError> {
        let most = points.keys().map(|(_, transmissions)| *transmissions).max().ok_or(TableError::Empty)?;
        let mut table: Vec<(f64, Vec<f64>)> = Vec::new();
        for ((Ordered(snr_db), transmissions), (line, residual)) in points {
            if table.last().is_none_or(|(last, _)| *last != snr_db) {
                table.push((snr_db, Vec::new()));
            }
            let Some((_, column)) = table.last_mut() else { continue };
            let next = column.len() as u32 + 1;
            if transmissions != next {
                return Err(TableError::Lacks { snr_db, transmissions: next, most });
            }
            if let Some(&before) = column.last()
                && residual > before
            {
                return Err(TableError::Grows { line, transmissions, residual, before });
            }
            column.push(residual);
        }
        for (snr_db, column) in &table {
            if column.len() < most as usize {
                let transmissions = column.len() as u32 + 1;
                return Err(TableError::Lacks { snr_db: *snr_db, transmissions, most });
            }
        }
        Ok(Self { points: table })
    }

    /// Least and greatest signal-to-noise ratio of the curve, in dB.
    pub fn range_db(&self) -> (f64, f64) {
        (self.points[0].0, self.points[self.points.len() - 1].0)
    }

    /// Greatest number of transmissions for which the curve has points.
    pub fn transmissions(&self) -> u32 {
        self.points[0].1.len() as u32
    }

    /// Share of frames that still fail after `transmissions` transmissions at a signal-to-noise ratio of `snr_db`.
    ///
    /// The logarithm of the share is interpolated linearly between SNRs, or the share itself if one is 0. Beyond the
    /// last number of transmissions, each further transmission multiplies the share by the factor of the last.
    ///
    /// # Errors
    /// If the SNR is outside the table.
    pub fn residual(&self, snr_db: f64, transmissions: u32) -> Result<f64, TableError> {
        let (from, to) = self.range_db();
        if !(from..=to).contains(&snr_db) {
            return Err(TableError::Outside { snr_db, from, to });
        }
        Ok(self.between(snr_db, transmissions))
    }

    /// Error rate after `transmissions` transmissions at any SNR: 1 below the least SNR of the curve, and extended
    /// beyond the greatest on the line through the last two points.
    pub fn error_rate(&self, snr_db: f64, transmissions: u32) -> f64 {
        let (from, to) = self.range_db();
        if snr_db.is_nan() || snr_db < from {
            return 1.0;
        }
        if snr_db <= to || transmissions == 0 {
            return self.between(snr_db.min(to), transmissions);
        }
        let last = extended(&self.points[self.points.len() - 1].1, transmissions);
        let Some((before_db, before)) = self.points.len().checked_sub(2).map(|i| &self.points[i]) else {
            return last;
        };
        let before = extended(before, transmissions);
        if last <= 0.0 || before <= last {
            return last;
        }
        let (before_log, last_log) = (libm::log(before), libm::log(last));
        libm::exp(last_log + (last_log - before_log) / (to - before_db) * (snr_db - to))
    }

    /// Interpolated error rate after `transmissions` transmissions, for `snr_db` within the range of the curve.
    fn between(&self, snr_db: f64, transmissions: u32) -> f64 {
        if transmissions == 0 {
            return 1.0;
        }
        let above = self.points.partition_point(|(db, _)| *db <= snr_db).min(self.points.len() - 1);
        let (left, right) = (&self.points[above.saturating_sub(1)], &self.points[above]);
        let (a, b) = (extended(&left.1, transmissions), extended(&right.1, transmissions));
        if left.0 == right.0 || snr_db == right.0 {
            return b;
        }
        let share = (snr_db - left.0) / (right.0 - left.0);
        if a > 0.0 && b > 0.0 {
            libm::exp((1.0 - share) * libm::log(a) + share * libm::log(b))
        } else {
            (1.0 - share) * a + share * b
        }
    }

    /// Probability that a frame fails in transmission number `transmission` (from 1) at `snr_db`, given that all before
    /// failed. A simulation draws each transmission against it.
    ///
    /// # Errors
    /// If the SNR is outside the table.
    pub fn failure(&self, snr_db: f64, transmission: u32) -> Result<f64, TableError> {
        let before = self.residual(snr_db, transmission.saturating_sub(1))?;
        let after = self.residual(snr_db, transmission)?;
        Ok(if before > 0.0 { (after / before).min(1.0) } else { 0.0 })
    }
}

/// Index of a column in the header line of a table; `None` if it is missing, an error if it occurs twice.
pub(crate) fn column_place(
    (line, header): (usize, &[&str]),
    column: &'static str,
) -> Result<Option<usize>, TableError> {
    let mut found = header.iter().enumerate().filter(|(_, name)| **name == column);
    let first = found.next().map(|(place, _)| place);
    if found.next().is_some() { Err(TableError::ColumnTwice { line, column }) } else { Ok(first) }
}

fn to_csv(points: &[(f64, Vec<f64>)]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for (snr_db, column) in points {
        for (index, residual) in column.iter().enumerate() {
            let _ = writeln!(text, "{snr_db:?},{},{residual:?}", index + 1);
        }
    }
    text
}

/// Residual error rate after `transmissions` transmissions, from those after 1, 2, ... at one SNR; beyond the last,
/// each further transmission multiplies it by the factor of the last.
fn extended(column: &[f64], transmissions: u32) -> f64 {
    let have = column.len();
    let last = column[have - 1];
    match (transmissions as usize).checked_sub(have + 1) {
        None => column[transmissions as usize - 1],
        Some(further) => {
            let before = if have > 1 { column[have - 2] } else { 1.0 };
            let helps = if before > 0.0 { last / before } else { 0.0 };
            last * libm::pow(helps, further as f64 + 1.0)
        }
    }
}

/// Finite number with a total order, for use as a key.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "# from somewhere\nscheme,snr_db,transmissions,residual\nblast,10,1,0.5\n\
                         blast,10,2,0.1\n\nblast,20,1,0.05\nblast,20,2,0.001\n";

    #[test]
    fn points_are_interpolated_in_decibels_and_logarithms() {
        let table = ErrorRateCurve::parse(TABLE).unwrap();
        assert_eq!((table.range_db(), table.transmissions()), ((10.0, 20.0), 2));
        assert_eq!(table.residual(10.0, 1), Ok(0.5));
        assert_eq!(table.residual(20.0, 2), Ok(0.001));
        assert!((table.residual(15.0, 1).unwrap() - (0.5_f64 * 0.05).sqrt()).abs() < 1e-12);
        assert!((table.failure(10.0, 2).unwrap() - 0.2).abs() < 1e-12);
        // A third transmission helps as much as the second.
        assert!((table.residual(10.0, 3).unwrap() - 0.02).abs() < 1e-12);
        assert!((table.failure(10.0, 7).unwrap() - 0.2).abs() < 1e-12);
        let outside = table.residual(20.5, 1).unwrap_err().to_string();
        assert_eq!(outside, "snr_db = 20.5 is outside the table, which reaches from 10.0 to 20.0 dB");
        assert!(table.residual(f64::NAN, 1).is_err());
    }

    #[test]
    fn beyond_the_points_blocks_fail_below_and_the_last_line_goes_on_above() {
        let table = ErrorRateCurve::parse(TABLE).unwrap();
        assert_eq!([9.999, -500.0, f64::NEG_INFINITY, f64::NAN].map(|db| table.error_rate(db, 1)), [1.0; 4]);
        assert_eq!(
            [10.0, 15.0, 20.0].map(|db| Ok(table.error_rate(db, 2))),
            [10.0, 15.0, 20.0].map(|db| table.residual(db, 2))
        );
        // A decade in 10 dB: 0.05 at 20 dB, 0.005 at 30 dB, 0.0005 at 40 dB.
        assert!((table.error_rate(30.0, 1) / 0.005 - 1.0).abs() < 1e-12);
        assert!((table.error_rate(40.0, 1) / 0.0005 - 1.0).abs() < 1e-12);
        assert_eq!(table.error_rate(f64::INFINITY, 1), 0.0);
        // A floor stays, 0 stays, and one point has no line.
        let curve = |rates: &str| {
            let lines = rates.split(' ').enumerate().map(|(db, rate)| format!("{db},{rate}\n"));
            ErrorRateCurve::parse(&format!("snr_db,error_rate\n{}", lines.collect::<String>())).unwrap()
        };
        assert_eq!(curve("1 0.1 0.01 0.01").error_rate(50.0, 1), 0.01);
        assert_eq!(curve("1 0.1 0.01 0.02").error_rate(50.0, 1), 0.02);
        assert_eq!(curve("1 0.1 0").error_rate(50.0, 1), 0.0);
        assert_eq!((curve("0.3").error_rate(0.0, 1), curve("0.3").error_rate(9.0, 1)), (0.3, 0.3));
        // Towards 0 there is no logarithm: the rate itself is a line.
        assert!((curve("1 0.1 0").error_rate(1.25, 1) - 0.075).abs() < 1e-15);
        assert_eq!(curve("0 0").error_rate(0.5, 1), 0.0);
    }

    #[test]
    fn wrong_lines_are_named() {
        let wrong =
            |from: &str, to: &str| ErrorRateCurve::parse(&TABLE.replace(from, to)).unwrap_err().to_string();
        assert_eq!(wrong("0.05\n", "5 %\n"), "line 6: residual = \"5 %\": must be a share between 0 and 1");
        assert_eq!(wrong("0.05\n", "1.05\n"), "line 6: residual = \"1.05\": must be a share between 0 and 1");
        assert_eq!(wrong("blast,20,1", "blast,x,1"), "line 6: snr_db = \"x\": must be a number of dB");
        assert!(wrong("blast,20,1", "blast,20,0").starts_with("line 6: transmissions"));
        assert_eq!(wrong("blast,20,1", "20,1"), "line 6: 3 fields, but there are 4 columns");
        assert!(wrong("blast,20,1", "blast,10,1").contains("on line 3 already"));
        assert!(wrong("0.1\n", "0.6\n").starts_with("line 4: residual = 0.6"));
        assert!(wrong("blast,20,2,0.001\n", "").contains("snr_db = 20.0 lacks transmissions = 2"));
        assert!(wrong("blast,20,1,0.05\n", "").contains("snr_db = 20.0 lacks transmissions = 1"));
        assert_eq!(
            wrong("residual", "fer"),
            "the table has no column error_rate: needed are snr_db and error_rate (or residual)"
        );
        assert!(
            wrong("scheme", "error_rate").contains("line 2: columns error_rate and residual are one thing")
        );
        for value in ["nan", "NaN", "-0.1", "inf", ""] {
            assert!(
                wrong("0.05\n", &format!("{value}\n")).contains("must be a share between 0 and 1"),
                "{value}"
            );
        }
        assert!(wrong("blast,20,1", "blast,nan,1").contains("snr_db = \"nan\": must be a number of dB"));
        assert!(wrong("scheme", "snr_db").contains("line 2: column snr_db is there twice"));
        assert_eq!(ErrorRateCurve::parse(""), Err(TableError::Empty));
        assert_eq!(ErrorRateCurve::parse("snr_db,transmissions,residual\n"), Err(TableError::Empty));
    }

    proptest! {
        #[test]
        fn a_table_comes_back_exactly(points in proptest::collection::btree_map(-500..500_i32, 0.0..1.0_f64, 1..9)) {
            let points: Vec<_> = points
                .into_iter()
                .map(|(db, fer)| (f64::from(db) / 7.0, vec![fer, fer * 0.3, fer * 0.1]))
                .collect();
            let table = ErrorRateCurve::new(&points).unwrap();
            prop_assert_eq!(ErrorRateCurve::parse(&to_csv(&table.points)).unwrap(), table);
        }

        #[test]
        fn no_text_panics(text in "[snr_db,transmio 0-9.e\n-]{0,80}") {
            let _ = ErrorRateCurve::parse(&text);
            let _ = ErrorRateCurve::parse(&format!("snr_db,transmissions,residual\n{text}"));
        }
    }
}
