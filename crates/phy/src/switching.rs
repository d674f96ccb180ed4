//! Switching tables: the antenna scheme for each range of the signal-to-noise ratio.
//!
//! A table is CSV: a line with the names of the columns, then a line for each range of the ratio. `axis`, which must be
//! `channel.snr_db` (rho), `from`, `to` and `phy.scheme` must be there; `phy.detector` and `phy.modulation` may be.
//! Other columns are ignored, but keys of a scenario (names with a dot) must have one value on all lines. Empty lines
//! and lines that begin with `#` are skipped.

use crate::constellation::Modulation;
use crate::detector::Detector;
use crate::error::PhyError;
use crate::scheme::Scheme;
use crate::table_lines::table_lines;
use thiserror::Error;

/// Error in a switching table. The message is one line and names the line of the table, counted from 1.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SwitchingError {
    /// The table has no line of column names, or columns are missing.
    #[error("the table has no column {column}: needed are axis, from, to, phy.scheme")]
    NoColumn {
        /// Name of the missing column.
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
        column: String,
        /// Value in the field.
        value: String,
        /// Allowed values of the column.
        allowed: String,
    },
    /// A key other than scheme, detector and modulation changes from range to range.
    #[error(
        "line {line}: {column} = {}, but {} on line {first_line}: with the ratio change phy.scheme, phy.detector \
         and phy.modulation alone",
        crossfade_core::excerpt(value),
        crossfade_core::excerpt(first)
    )]
    Foreign {
        /// Line of the file, counted from 1.
        line: usize,
        /// Key that changes.
        column: String,
        /// Value of the key on this line.
        value: String,
        /// Value of the key on the first line.
        first: String,
        /// Number of the first line of the table, counted from 1.
        first_line: usize,
    },
    /// A range does not begin where the range of the line before ends.
    #[error("line {line}: from = {from:?}: must be {to:?}, where line {before} ends")]
    Apart {
        /// Line of the file, counted from 1.
        line: usize,
        /// Number of the line before, counted from 1.
        before: usize,
        /// Start of the range, in dB.
        from: f64,
        /// End of the range of the line before, in dB.
        to: f64,
    },
    /// The table has no ranges.
    #[error("the table has no lines")]
    Empty,
}

/// Antenna scheme, detector and modulation for one range of the signal-to-noise ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeChoice {
    /// Mapping of symbols to antennas.
    pub scheme: Scheme,
    /// Detector of symbols; `None`: that of the scenario.
    pub detector: Option<Detector>,
    /// Modulation; `None`: that of the scenario.
    pub modulation: Option<Modulation>,
}

/// Ranges of the signal-to-noise ratio, with the antenna scheme to use in each.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchingTable {
    /// Start of each range but the first, in dB (rho).
    switches: Vec<f64>,
    choices: Vec<SchemeChoice>,
}

/// Value that the column `axis` must have.
const AXIS: &str = "channel.snr_db";
const SCHEME: &str = "phy.scheme";
const DETECTOR: &str = "phy.detector";
const MODULATION: &str = "phy.modulation";

impl SwitchingTable {
    /// Reads a switching table in CSV.
    ///
    /// # Errors
    /// The first error of the table, with its line number.
    pub fn parse(text: &str) -> Result<Self, SwitchingError> {
        let mut lines = table_lines(text);
        let (_, header) = lines.next().ok_or(SwitchingError::Empty)?;
        let place = |column: &str| header.iter().position(|name| *name == column);
        let needed = |column: &'static str| place(column).ok_or(SwitchingError::NoColumn { column });
        let (axis, from, to, scheme) = (needed("axis")?, needed("from")?, needed("to")?, needed(SCHEME)?);
        let (detector, modulation) = (place(DETECTOR), place(MODULATION));
        let chosen = [SCHEME, DETECTOR, MODULATION];
        let foreign = |name: &str| name.contains('.') && !chosen.contains(&name);
        let mut table = Self { switches: Vec::new(), choices: Vec::new() };
        // The first line, and the one before with the end of its range.
        let mut first: Option<(usize, Vec<&str>)> = None;
        let mut before: Option<(usize, f64)> = None;
        for (line, fields) in lines {
            if fields.len() != header.len() {
                return Err(SwitchingError::Fields { line, found: fields.len(), columns: header.len() });
            }
            let wrong = |column: usize, allowed: String| SwitchingError::Value {
                line,
                column: header[column].into(),
                value: fields[column].into(),
                allowed,
            };
            if fields[axis] != AXIS {
                return Err(wrong(axis, AXIS.into()));
            }
            let decibels = |column: usize| {
                let number = fields[column].parse().ok().filter(|db: &f64| db.is_finite());
                number.ok_or_else(|| wrong(column, "a number of dB".into()))
            };
            let (start, end) = (decibels(from)?, decibels(to)?);
            if end <= start {
                return Err(wrong(to, format!("above {start:?}, where the range begins")));
            }
            match before {
                Some((before, to)) if start != to => {
                    return Err(SwitchingError::Apart { line, before, from: start, to });
                }
                Some(_) => table.switches.push(start),
                None => {}
            }
            if let Some((first_line, values)) = &first {
                let differs = |&column: &usize| foreign(header[column]) && fields[column] != values[column];
                if let Some(column) = (0..header.len()).find(differs) {
                    return Err(SwitchingError::Foreign {
                        line,
                        column: header[column].into(),
                        value: fields[column].into(),
                        first: values[column].into(),
                        first_line: *first_line,
                    });
                }
            }
            table.choices.push(SchemeChoice {
                scheme: word(&fields, Some(scheme), Scheme::named, wrong)?.ok_or_else(|| {
                    wrong(scheme, "a scheme: in this range none keeps to the constraints".into())
                })?,
                detector: word(&fields, detector, Detector::named, wrong)?,
                modulation: word(&fields, modulation, Modulation::named, wrong)?,
            });
            before = Some((line, end));
            first.get_or_insert((line, fields));
        }
        if table.choices.is_empty() { Err(SwitchingError::Empty) } else { Ok(table) }
    }

    /// Choices for all ranges, from the lowest signal-to-noise ratio to the highest.
    pub fn choices(&self) -> &[SchemeChoice] {
        &self.choices
    }

    /// Index of the range that contains a signal-to-noise ratio of `snr_db` (rho); ratios below all ranges count to the
    /// first, above all to the last.
    pub fn range(&self, snr_db: f64) -> usize {
        self.switches.partition_point(|&switch| switch <= snr_db)
    }
}

/// Value in a column of words; `None` if the column is missing or empty.
fn word<T>(
    fields: &[&str],
    column: Option<usize>,
    named: fn(&str) -> Result<T, PhyError>,
    wrong: impl Fn(usize, String) -> SwitchingError,
) -> Result<Option<T>, SwitchingError> {
    let Some(column) = column.filter(|&column| !fields[column].is_empty()) else { return Ok(None) };
    match named(fields[column]) {
        Ok(found) => Ok(Some(found)),
        Err(PhyError::Unknown { allowed, .. }) => Err(wrong(column, format!("one of {allowed}"))),
        Err(error) => Err(wrong(column, error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table as `crossfade best --switching --csv` writes it.
    const TABLE: &str = "axis,unit,from,to,phy.scheme,phy.detector,to_low,to_high,because
channel.snr_db,,0.0,5.5,stbc-half,linear,5.1,5.9,goodput_bps
channel.snr_db,,5.5,14.25,stbc-2,ml,14.0,14.5,goodput_bps
channel.snr_db,,14.25,24.0,blast,mmse-osic,,,
";

    #[test]
    fn a_ratio_has_the_choice_of_its_range() {
        let table = SwitchingTable::parse(TABLE).unwrap();
        let at = |snr_db| table.choices()[table.range(snr_db)].scheme.name();
        let ratios = [-20.0, 0.0, 5.4, 5.5, 14.2, 14.25, 40.0];
        assert_eq!(
            ratios.map(at),
            ["stbc-half", "stbc-half", "stbc-half", "stbc-2", "stbc-2", "blast", "blast"]
        );
        assert_eq!(table.choices()[1].detector, Some(Detector::Ml));
        assert_eq!(table.choices()[1].modulation, None);
        // Missing columns are left to the scenario.
        let short = "# by hand\n\nto,from,axis,phy.scheme\n9,0,channel.snr_db,siso\n";
        assert_eq!(SwitchingTable::parse(short).unwrap().choices()[0].detector, None);
    }

    #[test]
    fn wrong_lines_are_named() {
        let changed = |from: &str, to: &str| {
            assert!(TABLE.contains(from));
            SwitchingTable::parse(&TABLE.replace(from, to)).unwrap_err().to_string()
        };
        for (from, to, message) in [
            (
                "phy.scheme",
                "scheme",
                "the table has no column phy.scheme: needed are axis, from, to, phy.scheme",
            ),
            (",14.0,14.5,", ",", "line 3: 7 fields, but there are 9 columns"),
            (
                "channel.snr_db,,0.0",
                "channel.fd_t,,0.0",
                "line 2: axis = \"channel.fd_t\": must be channel.snr_db",
            ),
            ("0.0,5.5", "x,5.5", "line 2: from = \"x\": must be a number of dB"),
            ("24.0", "nan", "line 4: to = \"nan\": must be a number of dB"),
            ("24.0", "14", "line 4: to = \"14\": must be above 14.25, where the range begins"),
            (",,5.5,", ",,6.5,", "line 3: from = 6.5: must be 5.5, where line 2 ends"),
            (
                "stbc-2",
                "stbc-3",
                "line 3: phy.scheme = \"stbc-3\": must be one of siso, simo, alamouti, stbc-half, stbc-1, stbc-2, blast",
            ),
            (
                "stbc-2",
                "",
                "line 3: phy.scheme = \"\": must be a scheme: in this range none keeps to the constraints",
            ),
            (
                ",ml,",
                ",best,",
                "line 3: phy.detector = \"best\": must be one of ml, mmse-osic, mmse, zf, sphere, linear",
            ),
        ] {
            assert_eq!(changed(from, to), message);
        }
        let header = TABLE.lines().next().unwrap();
        for text in ["", "# nothing\n", header] {
            assert_eq!(SwitchingTable::parse(text).unwrap_err(), SwitchingError::Empty);
        }
    }

    #[test]
    fn nothing_else_may_change_with_the_ratio() {
        let with = |values: [&str; 3]| {
            let mut column = ["tcp.w_max"].into_iter().chain(values);
            let lines = TABLE.lines().map(|line| format!("{},{line}\n", column.next().unwrap()));
            SwitchingTable::parse(&lines.collect::<String>())
        };
        assert!(with(["20", "20", "20"]).is_ok());
        assert_eq!(
            with(["20", "20", "40"]).unwrap_err().to_string(),
            "line 4: tcp.w_max = \"40\", but \"20\" on line 2: with the ratio change phy.scheme, phy.detector and \
             phy.modulation alone"
        );
    }
}
