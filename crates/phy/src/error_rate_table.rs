//! Error-rate tables: the error rate of a block by its mode, size, attempt and signal-to-noise ratio.
//!
//! A table is CSV: a line with the names of the columns, then a line for each point. Any simulator or measurement can
//! write it. Empty lines, lines that begin with `#` and other columns are ignored.
//!
//! | column | content |
//! |---|---|
//! | `snr_db` | the signal-to-noise ratio in dB; required |
//! | `error_rate`, or `residual` | the share of blocks that still fail after `transmissions` transmissions; required |
//! | `transmissions` | the number of transmissions, 1, 2, ...; default 1 |
//! | `mode` | modulation and coding, any word (`mcs-9`, `16-qam`) |
//! | `bytes` | the size of the block in bytes |
//! | `scheme`, `detector`, ... | columns that method phy writes ([`ErrorRateTable::COLUMNS`]) |
//!
//! The lines of one mode have equal values of `mode`, `scheme`, `detector`, ...; a column with one value on all lines
//! is not needed to select a mode.
//!
//! **Sizes.** A block of n bytes takes the curve of the size m that is nearest by ratio (of two as near, the smaller).
//! By the rule [`BlockSizes::Scaled`] its rate is 1 - (1 - p)^(n/m), as if n/m blocks failed independently; by
//! [`BlockSizes::Nearest`] it is p. Without the column `bytes` a rate holds for every size.
//!
//! **Attempts.** [`ErrorRates::combined`] reads the curve of attempt a = min(attempts, most in the table) at the sum of
//! the ratios of all copies over a. With curves for each attempt this is the mean ratio of the copies; with a single
//! curve it is Chase combining, in which the ratios of the copies add up.

use crate::error_rate_curve::{ErrorRateCurve, TableError, column_place};
use crate::table_lines::table_lines;
use crossfade_core::to_db;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Greatest number of points of a table; reading them takes less than 200 MB of memory.
const MOST_POINTS: usize = 1_000_000;
/// Greatest number of modes that an error message lists.
const NAMED_MODES: usize = 20;

/// Error rates of a CSV file, by mode (modulation and coding).
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRateTable {
    /// Columns whose values tell modes apart.
    columns: Vec<&'static str>,
    /// Error rates of each mode, by the values of `columns`.
    modes: BTreeMap<Vec<String>, Arc<ErrorRates>>,
    /// Name of the mode if all lines name the same one.
    only: Option<String>,
}

/// Rule for block sizes that an error-rate table does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockSizes {
    /// Blocks of n bytes fail like n/m independent blocks of the nearest size m.
    #[default]
    Scaled,
    /// Blocks fail with the probability of the nearest size.
    Nearest,
}

/// Error rates of one mode (modulation and coding), by block size.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRates {
    /// Curve of each block size in bytes, in increasing order; a single `None` stands for every size.
    sizes: Vec<(Option<u32>, Arc<ErrorRateCurve>)>,
}

/// Error of a request for a mode that an error-rate table does not identify.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoCurve {
    /// No line of the table has the requested values.
    #[error("has no lines with {wanted}: it has several tables, told apart by {columns}")]
    None {
        /// Requested columns with their values.
        wanted: String,
        /// Columns that tell the modes of the table apart.
        columns: String,
    },
    /// The table has no mode of the requested name.
    #[error("has no mode {mode:?}: must be one of {modes}")]
    Mode {
        /// Requested name of a mode.
        mode: String,
        /// Names of the modes of the table.
        modes: String,
    },
    /// The table has several modes, and the request names none.
    #[error("has several modes, and none was named: must be one of {modes}")]
    Unnamed {
        /// Names of the modes of the table.
        modes: String,
    },
    /// The modes of the table differ in other columns than `mode`, so that a name does not identify one.
    #[error(
        "has several tables, told apart by {columns}: must be of one, or have a column mode alone that differs"
    )]
    Columns {
        /// Columns that tell the modes of the table apart.
        columns: String,
    },
}

impl ErrorRateTable {
    /// Columns that may tell modes apart: `mode`, and those that method phy writes.
    pub const COLUMNS: [&str; 8] = [
        "mode",
        "scheme",
        "detector",
        "correlation",
        "stbc_power",
        "combining",
        "combining_stage",
        "frame_bits",
    ];

    /// Reads an error-rate table in CSV.
    ///
    /// # Errors
    /// If [`ErrorRateCurve::parse`] refuses one of its curves, a block size is no whole number from 1 on, or there are
    /// more than a million points.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = table_lines(text);
        let (at, header) = lines.next().ok_or(TableError::Empty)?;
        let lines: Vec<_> = lines.take(MOST_POINTS + 1).collect();
        if let Some((line, _)) = lines.get(MOST_POINTS) {
            return Err(TableError::TooLong { line: *line, most: MOST_POINTS });
        }
        let place = |column| column_place((at, &header), column);
        // A line that lacks fields is refused when its curve is read.
        let value = |fields: &[&str], place: usize| fields.get(place).copied().unwrap_or_default().to_owned();
        let (mut columns, mut places) = (Vec::new(), Vec::new());
        for column in Self::COLUMNS {
            let Some(place) = place(column)? else { continue };
            if lines.windows(2).any(|pair| value(&pair[0].1, place) != value(&pair[1].1, place)) {
                columns.push(column);
                places.push(place);
            }
        }
        let only = match (place("mode")?, lines.first()) {
            (Some(place), Some((_, fields))) if !columns.contains(&"mode") => Some(value(fields, place)),
            _ => None,
        };
        let bytes = place("bytes")?;
        let mut of_curve: BTreeMap<Vec<String>, BTreeMap<Option<u32>, Vec<_>>> = BTreeMap::new();
        for (line, fields) in lines {
            let size = match bytes.and_then(|place| fields.get(place)) {
                Some(text) => Some(size(line, text)?),
                None => None,
            };
            let values = places.iter().map(|place| value(&fields, *place)).collect();
            of_curve.entry(values).or_default().entry(size).or_default().push((line, fields));
        }
        if of_curve.is_empty() {
            // A missing column is reported before a missing line.
            ErrorRateCurve::of_lines((at, &header), [])?;
        }
        let curve = |(size, lines)| Ok((size, Arc::new(ErrorRateCurve::of_lines((at, &header), lines)?)));
        let modes = of_curve.into_iter().map(|(values, sizes)| {
            let sizes: Result<Vec<_>, TableError> = sizes.into_iter().map(curve).collect();
            Ok((values, Arc::new(ErrorRates { sizes: sizes? })))
        });
        Ok(Self { modes: modes.collect::<Result<_, TableError>>()?, columns, only })
    }

    /// Error rates of the mode whose columns have the values that `value` gives for each of
    /// [`COLUMNS`](ErrorRateTable::COLUMNS).
    ///
    /// # Errors
    /// If no line has these values.
    pub fn rates(&self, value: impl Fn(&str) -> String) -> Result<Arc<ErrorRates>, NoCurve> {
        let values: Vec<String> = self.columns.iter().map(|column| value(column)).collect();
        self.modes.get(&values).cloned().ok_or_else(|| {
            let wanted =
                self.columns.iter().zip(&values).map(|(column, value)| format!("{column} = {value:?}"));
            NoCurve::None { wanted: wanted.collect::<Vec<_>>().join(", "), columns: self.columns.join(", ") }
        })
    }

    /// Error rates of the mode with the given name; `None`: of the only mode.
    ///
    /// # Errors
    /// If there is no such mode, there are several and no name is given, or modes differ in other columns than `mode`.
    pub fn mode(&self, name: Option<&str>) -> Result<Arc<ErrorRates>, NoCurve> {
        if self.columns.iter().any(|column| *column != "mode") {
            return Err(NoCurve::Columns { columns: self.columns.join(", ") });
        }
        let unknown =
            |mode: &str| NoCurve::Mode { mode: mode.chars().take(60).collect(), modes: self.listed() };
        let values = match (name, self.columns.is_empty()) {
            (None, false) => return Err(NoCurve::Unnamed { modes: self.listed() }),
            (Some(name), false) => vec![name.to_owned()],
            (None, true) => Vec::new(),
            (Some(name), true) if self.only.as_deref() == Some(name) => Vec::new(),
            (Some(name), true) => return Err(unknown(name)),
        };
        self.modes.get(&values).cloned().ok_or_else(|| unknown(name.unwrap_or_default()))
    }

    /// Names of the modes; empty for a table without the column `mode`.
    pub fn names(&self) -> Vec<&str> {
        match &self.only {
            Some(only) => vec![only],
            None if self.columns.as_slice() == ["mode"] => {
                self.modes.keys().map(|values| values[0].as_str()).collect()
            }
            None => Vec::new(),
        }
    }

    fn listed(&self) -> String {
        let names = self.names();
        let more = names.len().saturating_sub(NAMED_MODES);
        let listed = names.iter().take(NAMED_MODES).copied().collect::<Vec<_>>().join(", ");
        match (names.is_empty(), more) {
            (true, _) => "none: the table has no column mode".into(),
            (_, 0) => listed,
            (_, more) => format!("{listed} and {more} more"),
        }
    }
}

impl ErrorRates {
    /// Curve of the block size nearest to `bytes`, and the number of its blocks for which a block of `bytes` counts by
    /// the `rule`.
    fn curve(&self, bytes: u32, rule: BlockSizes) -> (&Arc<ErrorRateCurve>, f64) {
        let away = |size: Option<u32>| {
            let (n, m) = (u64::from(bytes.max(1)), u64::from(size.unwrap_or(bytes).max(1)));
            n.max(m) as f64 / n.min(m) as f64
        };
        let nearer = |best: usize, i: usize| {
            if away(self.sizes[i].0) < away(self.sizes[best].0) { i } else { best }
        };
        let (size, curve) = &self.sizes[(0..self.sizes.len()).reduce(nearer).unwrap_or_default()];
        let blocks = match (size, rule) {
            (Some(size), BlockSizes::Scaled) => f64::from(bytes) / f64::from(*size),
            _ => 1.0,
        };
        (curve, blocks)
    }

    /// Curve of the block size nearest to `bytes`, not scaled.
    pub fn nearest(&self, bytes: u32) -> &Arc<ErrorRateCurve> {
        self.curve(bytes, BlockSizes::Nearest).0
    }

    /// Error rate of a block of `bytes`, sent once at `snr_db`; `rule` is for sizes that the table does not have.
    pub fn error_rate(&self, snr_db: f64, bytes: u32, rule: BlockSizes) -> f64 {
        let (curve, blocks) = self.curve(bytes, rule);
        scaled(curve.error_rate(snr_db, 1), blocks)
    }

    /// Error rate of a block of `bytes` whose `copies` received copies are combined; their signal-to-noise ratios
    /// (linear, not in dB) add up to `sum`.
    pub fn combined(&self, sum: f64, copies: u32, bytes: u32, rule: BlockSizes) -> f64 {
        let (curve, blocks) = self.curve(bytes, rule);
        let attempt = copies.clamp(1, curve.transmissions());
        scaled(curve.error_rate(to_db(sum / f64::from(attempt)), attempt), blocks)
    }

    /// Least and greatest signal-to-noise ratio, in dB, of the curve for blocks of `bytes`.
    pub fn range_db(&self, bytes: u32) -> (f64, f64) {
        self.nearest(bytes).range_db()
    }
}

/// Probability 1 - (1 - p)^blocks that one of `blocks` independent blocks fails.
fn scaled(p: f64, blocks: f64) -> f64 {
    if blocks == 1.0 { p } else { -libm::expm1(blocks * libm::log1p(-p)) }
}

fn size(line: usize, text: &str) -> Result<u32, TableError> {
    let bytes = text.parse().ok().filter(|bytes| (1..=100_000_000).contains(bytes));
    bytes.ok_or_else(|| TableError::Value {
        line,
        column: "bytes",
        value: text.into(),
        allowed: "a whole number between 1 and 100000000",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::from_db;

    const TWO: &str = "scheme,detector,snr_db,transmissions,residual\nblast,ml,0,1,0.5\nblast,ml,10,1,0.1\n\
                       stbc-2,ml,0,1,0.3\n";
    const MODES: &str = "mode,bytes,snr_db,error_rate\nmcs-0,100,0,0.4\nmcs-0,100,10,0.004\nmcs-0,1600,0,0.9\n\
                         mcs-0,1600,10,0.01\nmcs-1,100,5,0.2\n";

    fn of(scheme: &'static str) -> impl Fn(&str) -> String {
        move |column| if column == "scheme" { scheme.into() } else { panic!("{column} does not differ") }
    }

    #[test]
    fn columns_that_differ_tell_modes_apart() {
        let table = ErrorRateTable::parse(TWO).unwrap();
        assert_eq!(table.rates(of("blast")).unwrap().nearest(1).residual(10.0, 1), Ok(0.1));
        assert_eq!(table.rates(of("stbc-2")).unwrap().range_db(1), (0.0, 0.0));
        assert_eq!(
            table.rates(of("siso")).unwrap_err().to_string(),
            "has no lines with scheme = \"siso\": it has several tables, told apart by scheme"
        );
        assert_eq!(
            table.mode(None).unwrap_err().to_string(),
            "has several tables, told apart by scheme: must be of one, or have a column mode alone that differs"
        );
    }

    #[test]
    fn a_table_of_one_scheme_stands_for_any() {
        let text = "scheme,snr_db,transmissions,residual\nours,0,1,0.5\nours,10,1,0.1\n";
        let table = ErrorRateTable::parse(text).unwrap();
        let curve = ErrorRateCurve::parse(text).unwrap();
        assert_eq!(**table.rates(|column| panic!("{column}")).unwrap().nearest(30), curve);
        assert_eq!(**table.mode(None).unwrap().nearest(30), curve);
        assert_eq!(
            table.mode(Some("mcs-1")).unwrap_err().to_string(),
            "has no mode \"mcs-1\": must be one of none: the table has no column mode"
        );
    }

    #[test]
    fn modes_are_named() {
        let table = ErrorRateTable::parse(MODES).unwrap();
        assert_eq!(table.names(), ["mcs-0", "mcs-1"]);
        assert_eq!(table.mode(Some("mcs-1")).unwrap().range_db(100), (5.0, 5.0));
        assert_eq!(
            table.mode(Some("mcs-2")).unwrap_err().to_string(),
            "has no mode \"mcs-2\": must be one of mcs-0, mcs-1"
        );
        assert_eq!(
            table.mode(None).unwrap_err().to_string(),
            "has several modes, and none was named: must be one of mcs-0, mcs-1"
        );
        let only = ErrorRateTable::parse("mode,snr_db,error_rate\nqpsk,0,1\n").unwrap();
        assert!(
            only.mode(None).is_ok() && only.mode(Some("qpsk")).is_ok() && only.mode(Some("bpsk")).is_err()
        );
    }

    #[test]
    fn sizes_are_scaled_from_the_nearest_or_taken_from_it() {
        let rates = ErrorRateTable::parse(MODES).unwrap().mode(Some("mcs-0")).unwrap();
        let at = |bytes, rule| rates.error_rate(0.0, bytes, rule);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        for rule in [BlockSizes::Scaled, BlockSizes::Nearest] {
            assert_eq!((at(100, rule), at(1600, rule)), (0.4, 0.9));
        }
        // 1 - 0.6^2 for two blocks of 100, 1 - 0.1^(1/2) for half of one of 1600; 400 is as near to both: the smaller.
        close(at(200, BlockSizes::Scaled), 0.64);
        close(at(800, BlockSizes::Scaled), 1.0 - 0.1_f64.sqrt());
        close(at(400, BlockSizes::Scaled), 1.0 - 0.6_f64.powi(4));
        close(at(50, BlockSizes::Scaled), 1.0 - 0.6_f64.sqrt());
        assert_eq!([399, 400, 401, 9999].map(|bytes| at(bytes, BlockSizes::Nearest)), [0.4, 0.4, 0.9, 0.9]);
        // A block that always or never fails does so in every size.
        assert_eq!(rates.error_rate(-1.0, 7, BlockSizes::Scaled), 1.0);
        let never = ErrorRateTable::parse("bytes,snr_db,error_rate\n10,0,0\n").unwrap().mode(None).unwrap();
        assert_eq!(never.error_rate(3.0, 1000, BlockSizes::Scaled), 0.0);
    }

    #[test]
    fn copies_take_their_own_curve_or_add_up_their_ratios() {
        let one = ErrorRateTable::parse("snr_db,error_rate\n0,0.9\n10,0.009\n").unwrap().mode(None).unwrap();
        let at = |sum, copies| one.combined(sum, copies, 100, BlockSizes::Scaled);
        // Two copies at 2 dB are one at 5.0103 dB: 0.9 x 100^-0.50103.
        let expected = 0.9 * 100_f64.powf(-(2.0 + 20_f64.log10() * 10.0 - 10.0) / 10.0);
        assert!((at(2.0 * from_db(2.0), 2) - expected).abs() < 1e-12);
        assert_eq!(at(from_db(10.0), 1), one.error_rate(to_db(from_db(10.0)), 100, BlockSizes::Scaled));
        let text = "snr_db,transmissions,error_rate\n0,1,0.9\n0,2,0.5\n10,1,0.09\n10,2,0.05\n";
        let two = ErrorRateTable::parse(text).unwrap().mode(None).unwrap();
        // The second curve at the mean of the ratios; from the third copy on at the sum over two.
        let at = |sum, copies| two.combined(sum, copies, 100, BlockSizes::Scaled);
        assert!((at(2.0 + 4.0, 2) - two.nearest(1).error_rate(to_db(3.0), 2)).abs() < 1e-15);
        assert!((at(2.0 + 4.0 + 6.0, 3) - two.nearest(1).error_rate(to_db(6.0), 2)).abs() < 1e-15);
    }

    #[test]
    fn wrong_lines_of_each_mode_are_named() {
        let wrong = |from: &str, to: &str| ErrorRateTable::parse(&TWO.replace(from, to)).unwrap_err();
        let message = wrong("0.3", "3").to_string();
        assert_eq!(message, "line 4: residual = \"3\": must be a share between 0 and 1");
        let message = wrong("stbc-2,ml,0,1,0.3", "stbc-2").to_string();
        assert_eq!(message, "line 4: 1 fields, but there are 5 columns");
        let message = wrong("blast,ml,10", "blast,ml,0").to_string();
        assert!(message.starts_with("line 3: snr_db = 0.0, transmissions = 1 is on line 2"), "{message}");
        assert_eq!(wrong("residual", "fer"), TableError::NoColumn { column: "error_rate" });
        assert_eq!(ErrorRateTable::parse(""), Err(TableError::Empty));
        assert_eq!(ErrorRateTable::parse("snr_db,transmissions,residual\n"), Err(TableError::Empty));
        let wrong = |text: &str| ErrorRateTable::parse(text).unwrap_err().to_string();
        assert_eq!(
            wrong("bytes,snr_db,error_rate\n0,1,0.5\n"),
            "line 2: bytes = \"0\": must be a whole number between 1 and 100000000"
        );
        assert_eq!(wrong("mode,mode,snr_db,error_rate\n"), "line 1: column mode is there twice");
        let long = "snr_db,error_rate\n".to_owned() + &"0,1\n".repeat(MOST_POINTS + 5);
        assert_eq!(
            wrong(&long),
            "line 1000002: the table has more than 1000000 points: must be at most so many"
        );
    }
}
