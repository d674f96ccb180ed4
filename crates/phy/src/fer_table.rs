//! Frame error rates from a table, for runs that do not simulate symbols.
//!
//! A table is CSV: a line with the names of the columns, then a line for each pair of signal-to-noise ratio and
//! number of transmissions. `snr_db`, `transmissions` and `residual` must be there: the share of frames that
//! still fail after so many transmissions, all combined that are. Other columns (`scheme`, `frames`, ...) are
//! left alone. Empty lines and lines from `#` on are skipped. Any simulator or measurement can write it.

use crate::table_lines::table_lines;
use std::collections::BTreeMap;
use std::fmt::Write;
use thiserror::Error;

/// A table that cannot be used. The message is one line and names the line of the table, counted from 1.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TableError {
    /// No line with the names of columns, or one that lacks some.
    #[error("the table has no column {column}: needed are snr_db, transmissions, residual")]
    NoColumn {
        /// The one that lacks.
        column: &'static str,
    },
    /// A column that is there twice.
    #[error("line {line}: column {column} is there twice")]
    ColumnTwice {
        /// Where.
        line: usize,
        /// Which.
        column: &'static str,
    },
    /// A line with more or fewer fields than there are columns.
    #[error("line {line}: {found} fields, but there are {columns} columns")]
    Fields {
        /// Where.
        line: usize,
        /// Fields.
        found: usize,
        /// Columns.
        columns: usize,
    },
    /// A field that is not what it should be.
    #[error("line {line}: {column} = {}: must be {allowed}", crossfade_core::excerpt(value))]
    Value {
        /// Where.
        line: usize,
        /// Which column.
        column: &'static str,
        /// What is there.
        value: String,
        /// What may be.
        allowed: &'static str,
    },
    /// The same point twice.
    #[error("line {line}: snr_db = {snr_db:?}, transmissions = {transmissions} is on line {first} already")]
    Twice {
        /// Where.
        line: usize,
        /// And where before.
        first: usize,
        /// Of the point.
        snr_db: f64,
        /// Of the point.
        transmissions: u32,
    },
    /// More transmissions fail than fewer.
    #[error(
        "line {line}: residual = {residual:?} after {transmissions} transmissions is above {before:?} after \
         one less"
    )]
    Grows {
        /// Where.
        line: usize,
        /// Of the point.
        transmissions: u32,
        /// After them.
        residual: f64,
        /// After one less.
        before: f64,
    },
    /// A ratio that has not all numbers of transmissions.
    #[error("snr_db = {snr_db:?} lacks transmissions = {transmissions}: every ratio needs 1 to {most}")]
    Lacks {
        /// Of the point.
        snr_db: f64,
        /// Of the point.
        transmissions: u32,
        /// What other ratios have.
        most: u32,
    },
    /// Nothing in it.
    #[error("the table has no lines")]
    Empty,
    /// A ratio that the table does not reach.
    #[error("snr_db = {snr_db:?} is outside the table, which reaches from {from:?} to {to:?} dB")]
    Outside {
        /// What was asked for.
        snr_db: f64,
        /// The least.
        from: f64,
        /// The greatest.
        to: f64,
    },
}

/// Residual frame error rates over the signal-to-noise ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct FerTable {
    /// `snr_db` in increasing order, and the residual after 1, 2, ... transmissions at each.
    points: Vec<(f64, Vec<f64>)>,
}

const COLUMNS: [&str; 3] = ["snr_db", "transmissions", "residual"];

impl FerTable {
    /// From points (`snr_db`, residual after 1, 2, ... transmissions).
    ///
    /// # Errors
    /// What [`parse`](FerTable::parse) refuses of the same points, with lines as they would be written.
    pub fn new(points: &[(f64, Vec<f64>)]) -> Result<Self, TableError> {
        Self::parse(&to_csv(points))
    }

    /// Reads a table.
    ///
    /// # Errors
    /// What is wrong, and on which line.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = table_lines(text);
        let (line, header) = lines.next().ok_or(TableError::Empty)?;
        Self::of_lines((line, &header), lines)
    }

    /// Reads the lines of a table under its names of columns.
    pub(crate) fn of_lines<'a>(
        (line, header): (usize, &[&str]),
        lines: impl IntoIterator<Item = (usize, Vec<&'a str>)>,
    ) -> Result<Self, TableError> {
        let mut places = [0; 3];
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            let mut found = header.iter().enumerate().filter(|(_, name)| **name == column);
            *place = found.next().ok_or(TableError::NoColumn { column })?.0;
            if found.next().is_some() {
                return Err(TableError::ColumnTwice { line, column });
            }
        }
        let mut points: BTreeMap<(Ordered, u32), (usize, f64)> = BTreeMap::new();
        for (line, fields) in lines {
            if fields.len() != header.len() {
                return Err(TableError::Fields { line, found: fields.len(), columns: header.len() });
            }
            let [snr_db, transmissions, residual] = places.map(|place| fields[place]);
            let wrong = |column: usize, value: &str, allowed| TableError::Value {
                line,
                column: COLUMNS[column],
                value: value.into(),
                allowed,
            };
            let snr_db = snr_db
                .parse()
                .ok()
                .filter(|db: &f64| db.is_finite())
                .ok_or_else(|| wrong(0, snr_db, "a number of dB"))?;
            let transmissions = transmissions
                .parse()
                .ok()
                .filter(|count| (1..=1000).contains(count))
                .ok_or_else(|| wrong(1, transmissions, "a whole number between 1 and 1000"))?;
            let residual = residual
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| wrong(2, residual, "a share between 0 and 1"))?;
            // -0 and 0 are the same ratio.
            let key = (Ordered(snr_db + 0.0), transmissions);
            if let Some((first, _)) = points.insert(key, (line, residual)) {
                return Err(TableError::Twice { line, first, snr_db, transmissions });
            }
        }
        Self::complete(points)
    }

    /// Checks that every ratio has all numbers of transmissions, and that each helps.
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

    /// The least and the greatest ratio, in dB.
    pub fn range_db(&self) -> (f64, f64) {
        (self.points[0].0, self.points[self.points.len() - 1].0)
    }

    /// For how many transmissions of a frame there are numbers.
    pub fn transmissions(&self) -> u32 {
        self.points[0].1.len() as u32
    }

    /// The share of frames that still fail after `transmissions` at `snr_db`.
    ///
    /// Between ratios its logarithm is interpolated linearly (the share itself where one is 0). Beyond the
    /// last number of transmissions each further one helps as much as the last did.
    ///
    /// # Errors
    /// A ratio outside the table.
    pub fn residual(&self, snr_db: f64, transmissions: u32) -> Result<f64, TableError> {
        let (from, to) = self.range_db();
        if !(from..=to).contains(&snr_db) {
            return Err(TableError::Outside { snr_db, from, to });
        }
        if transmissions == 0 {
            return Ok(1.0);
        }
        let above = self.points.partition_point(|(db, _)| *db <= snr_db).min(self.points.len() - 1);
        let (left, right) = (&self.points[above.saturating_sub(1)], &self.points[above]);
        let (a, b) = (extended(&left.1, transmissions), extended(&right.1, transmissions));
        if left.0 == right.0 || snr_db == right.0 {
            return Ok(b);
        }
        let share = (snr_db - left.0) / (right.0 - left.0);
        Ok(if a > 0.0 && b > 0.0 {
            libm::exp((1.0 - share) * libm::log(a) + share * libm::log(b))
        } else {
            (1.0 - share) * a + share * b
        })
    }

    /// The probability that a frame fails in transmission number `transmission` (from 1) at `snr_db`, given
    /// that it failed in all before: what a run draws against.
    ///
    /// # Errors
    /// A ratio outside the table.
    pub fn failure(&self, snr_db: f64, transmission: u32) -> Result<f64, TableError> {
        let before = self.residual(snr_db, transmission.saturating_sub(1))?;
        let after = self.residual(snr_db, transmission)?;
        Ok(if before > 0.0 { (after / before).min(1.0) } else { 0.0 })
    }

    /// The table as CSV; numbers come back exactly.
    pub fn to_csv(&self) -> String {
        to_csv(&self.points)
    }
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

/// The residual after so many transmissions, at one ratio.
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

/// A finite number, for use as a key.
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
        let table = FerTable::parse(TABLE).unwrap();
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
    fn wrong_lines_are_named() {
        let wrong = |from: &str, to: &str| FerTable::parse(&TABLE.replace(from, to)).unwrap_err().to_string();
        assert_eq!(wrong("0.05\n", "5 %\n"), "line 6: residual = \"5 %\": must be a share between 0 and 1");
        assert_eq!(wrong("0.05\n", "1.05\n"), "line 6: residual = \"1.05\": must be a share between 0 and 1");
        assert_eq!(wrong("blast,20,1", "blast,x,1"), "line 6: snr_db = \"x\": must be a number of dB");
        assert!(wrong("blast,20,1", "blast,20,0").starts_with("line 6: transmissions"));
        assert_eq!(wrong("blast,20,1", "20,1"), "line 6: 3 fields, but there are 4 columns");
        assert!(wrong("blast,20,1", "blast,10,1").contains("on line 3 already"));
        assert!(wrong("0.1\n", "0.6\n").starts_with("line 4: residual = 0.6"));
        assert!(wrong("blast,20,2,0.001\n", "").contains("snr_db = 20.0 lacks transmissions = 2"));
        assert!(wrong("blast,20,1,0.05\n", "").contains("snr_db = 20.0 lacks transmissions = 1"));
        assert!(wrong("residual", "fer").contains("no column residual"));
        assert!(wrong("scheme", "snr_db").contains("line 2: column snr_db is there twice"));
        assert_eq!(FerTable::parse(""), Err(TableError::Empty));
        assert_eq!(FerTable::parse("snr_db,transmissions,residual\n"), Err(TableError::Empty));
    }

    proptest! {
        #[test]
        fn a_table_comes_back_exactly(points in proptest::collection::btree_map(-500..500_i32, 0.0..1.0_f64, 1..9)) {
            let points: Vec<_> = points
                .into_iter()
                .map(|(db, fer)| (f64::from(db) / 7.0, vec![fer, fer * 0.3, fer * 0.1]))
                .collect();
            let table = FerTable::new(&points).unwrap();
            prop_assert_eq!(FerTable::parse(&table.to_csv()).unwrap(), table);
        }

        #[test]
        fn no_text_panics(text in "[snr_db,transmio 0-9.e\n-]{0,80}") {
            let _ = FerTable::parse(&text);
            let _ = FerTable::parse(&format!("snr_db,transmissions,residual\n{text}"));
        }
    }
}
