//! Comparison of NR transport block sizes with those that another program computed.

use crate::case::CaseReport;
use crate::parse::GoldenError;
use crossfade_nr::Allocation;

const COLUMNS: [&str; 9] = [
    "symbols",
    "dmrs_re",
    "overhead_re",
    "bits_per_symbol",
    "rate_times_1024",
    "layers",
    "scaling_log2",
    "prbs",
    "transport_block_bits",
];

/// Computes the transport block size of each row of a table in the layout of `transport-blocks.csv` and compares it;
/// sizes have to be equal. `name` is the file's name.
///
/// # Errors
/// A text that does not follow the layout.
pub fn verify_transport_blocks(name: &str, csv: &str) -> Result<Vec<CaseReport>, GoldenError> {
    let mut lines = csv.lines().zip(1_usize..).filter(|(line, _)| !line.trim().is_empty());
    let header = lines.next().map(|(line, _)| line.trim()).unwrap_or_default();
    if header.split(',').ne(COLUMNS) {
        return Err(GoldenError::new(name, format!("the first line must be {}", COLUMNS.join(","))));
    }
    lines.map(|(line, number)| row(name, line.trim(), number)).collect()
}

fn row(name: &str, line: &str, number: usize) -> Result<CaseReport, GoldenError> {
    let error = |problem: String| GoldenError::new(format!("{name}: line {number}"), problem);
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != COLUMNS.len() {
        return Err(error(format!("{} fields: must be {}", fields.len(), COLUMNS.len())));
    }
    let whole = |place: usize, most: u32| {
        let value = fields[place].parse().ok().filter(|value: &u32| *value <= most);
        value.ok_or_else(|| {
            error(format!("{} = {}: must be a whole number of at most {most}", COLUMNS[place], fields[place]))
        })
    };
    let rate = fields[4].parse().ok().filter(|rate: &f64| (0.0..=1024.0).contains(rate));
    let Some(rate) = rate else {
        return Err(error(format!("{} = {}: must be between 0 and 1024", COLUMNS[4], fields[4])));
    };
    let allocation = Allocation {
        symbols: whole(0, 14)?,
        dmrs_re: whole(1, 168)?,
        overhead_re: whole(2, 168)?,
        layers: whole(5, 8)?,
        prbs: whole(7, 275)?,
    };
    // Rates of tables end in a half, those of this table in tenths: millionths are exact.
    let millionths = (rate * 1e6).round() as u64;
    let found = allocation.transport_block_bits(whole(3, 10)?, millionths, whole(6, 8)?);
    let theirs = whole(8, u32::MAX)?;
    let difference = (found != theirs).then(|| format!("{line}: {found} bits, not {theirs}"));
    Ok(CaseReport { case: format!("{name}/{number}"), rows: 1, found: None, difference })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = include_str!("../../../tests/data/golden/nr/transport-blocks.csv");

    #[test]
    fn every_size_is_equal_and_an_altered_one_is_named() {
        let cases = verify_transport_blocks("transport-blocks.csv", GOLDEN).unwrap();
        assert!(cases.len() == 96 && cases.iter().all(|case| case.difference.is_none()), "{cases:?}");
        let altered = GOLDEN.replacen(",160\n", ",168\n", 1);
        let cases = verify_transport_blocks("transport-blocks.csv", &altered).unwrap();
        let failed: Vec<_> = cases.iter().filter_map(|case| case.difference.as_ref()).collect();
        assert_eq!(failed, ["12,6,0,2,102.4,1,0,6,168: 160 bits, not 168"]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_place() {
        let refused = |text: &str| verify_transport_blocks("t.csv", text).unwrap_err().to_string();
        let header = COLUMNS.join(",");
        assert!(refused("").starts_with("t.csv: the first line must be symbols,dmrs_re"), "{}", refused(""));
        assert_eq!(refused(&format!("{header}\n1,2\n")), "t.csv: line 2: 2 fields: must be 9");
        assert_eq!(
            refused(&format!("{header}\n12,6,0,2,-1,1,0,6,160\n")),
            "t.csv: line 2: rate_times_1024 = -1: must be between 0 and 1024"
        );
        assert_eq!(
            refused(&format!("{header}\n15,6,0,2,120,1,0,6,160\n")),
            "t.csv: line 2: symbols = 15: must be a whole number of at most 14"
        );
    }
}
