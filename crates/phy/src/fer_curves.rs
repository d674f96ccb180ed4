//! Files of frame error rates of several schemes: one [`FerTable`] for each.

use crate::fer_table::{FerTable, TableError};
use crate::table_lines::table_lines;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// The tables of a file. Where some of the columns [`FerCurves::COLUMNS`] differ from line to line, they tell apart of
/// which table a line is; what is the same on all lines, or is not there, tells nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct FerCurves {
    /// The columns that differ.
    columns: Vec<&'static str>,
    /// By their values.
    tables: BTreeMap<Vec<String>, Arc<FerTable>>,
}

/// There is no table with these values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("has no lines with {wanted}: it has several tables, told apart by {columns}")]
pub struct NoCurve {
    wanted: String,
    columns: String,
}

impl FerCurves {
    /// The columns that may tell tables apart, named as method phy writes them.
    pub const COLUMNS: [&str; 7] =
        ["scheme", "detector", "correlation", "stbc_power", "combining", "combining_stage", "frame_bits"];

    /// Reads a file.
    ///
    /// # Errors
    /// What [`FerTable::parse`] refuses of one of its tables.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = table_lines(text);
        let header = lines.next().ok_or(TableError::Empty)?;
        let lines: Vec<_> = lines.collect();
        let place = |column| header.1.iter().position(|name| *name == column);
        let value = |fields: &[&str], place: usize| fields.get(place).copied().unwrap_or_default().to_owned();
        let differs = |place: &usize| {
            lines.windows(2).any(|pair| value(&pair[0].1, *place) != value(&pair[1].1, *place))
        };
        let (columns, places): (Vec<_>, Vec<_>) = Self::COLUMNS
            .into_iter()
            .filter_map(|column| Some((column, place(column).filter(differs)?)))
            .unzip();
        let mut of_table: BTreeMap<Vec<String>, Vec<_>> = BTreeMap::new();
        for line in lines {
            // What lacks fields is refused with whatever table it is put to.
            let values = places.iter().map(|place| value(&line.1, *place)).collect();
            of_table.entry(values).or_default().push(line);
        }
        if of_table.is_empty() {
            of_table.insert(Vec::new(), Vec::new());
        }
        let tables = of_table
            .into_iter()
            .map(|(values, lines)| Ok((values, Arc::new(FerTable::of_lines((header.0, &header.1), lines)?))));
        Ok(Self { columns, tables: tables.collect::<Result<_, _>>()? })
    }

    /// The table of lines with the values that `value` gives for [`COLUMNS`](FerCurves::COLUMNS).
    ///
    /// # Errors
    /// There is none.
    pub fn table(&self, value: impl Fn(&str) -> String) -> Result<Arc<FerTable>, NoCurve> {
        let values: Vec<String> = self.columns.iter().map(|column| value(column)).collect();
        self.tables.get(&values).cloned().ok_or_else(|| {
            let wanted =
                self.columns.iter().zip(&values).map(|(column, value)| format!("{column} = {value:?}"));
            NoCurve { wanted: wanted.collect::<Vec<_>>().join(", "), columns: self.columns.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "scheme,detector,snr_db,transmissions,residual\nblast,ml,0,1,0.5\nblast,ml,10,1,0.1\n\
                       stbc-2,ml,0,1,0.3\n";

    fn of(scheme: &'static str) -> impl Fn(&str) -> String {
        move |column| if column == "scheme" { scheme.into() } else { panic!("{column} does not differ") }
    }

    #[test]
    fn columns_that_differ_tell_tables_apart() {
        let curves = FerCurves::parse(TWO).unwrap();
        assert_eq!(curves.table(of("blast")).unwrap().residual(10.0, 1), Ok(0.1));
        assert_eq!(curves.table(of("stbc-2")).unwrap().range_db(), (0.0, 0.0));
        assert_eq!(
            curves.table(of("siso")).unwrap_err().to_string(),
            "has no lines with scheme = \"siso\": it has several tables, told apart by scheme"
        );
    }

    #[test]
    fn a_table_of_one_scheme_stands_for_any() {
        let text = "scheme,snr_db,transmissions,residual\nours,0,1,0.5\nours,10,1,0.1\n";
        let table = FerCurves::parse(text).unwrap().table(|column| panic!("{column}")).unwrap();
        assert_eq!(*table, FerTable::parse(text).unwrap());
    }

    #[test]
    fn wrong_lines_of_each_table_are_named() {
        let wrong = |from: &str, to: &str| FerCurves::parse(&TWO.replace(from, to)).unwrap_err();
        let message = wrong("0.3", "3").to_string();
        assert_eq!(message, "line 4: residual = \"3\": must be a share between 0 and 1");
        let message = wrong("stbc-2,ml,0,1,0.3", "stbc-2").to_string();
        assert_eq!(message, "line 4: 1 fields, but there are 5 columns");
        let message = wrong("blast,ml,10", "blast,ml,0").to_string();
        assert!(message.starts_with("line 3: snr_db = 0.0, transmissions = 1 is on line 2"), "{message}");
        assert_eq!(wrong("residual", "fer"), TableError::NoColumn { column: "residual" });
        assert_eq!(FerCurves::parse(""), Err(TableError::Empty));
        assert_eq!(FerCurves::parse("snr_db,transmissions,residual\n"), Err(TableError::Empty));
    }
}
