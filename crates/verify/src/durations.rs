//! Comparison with durations of 802.11 PPDUs that another program computed.
//!
//! The columns of `durations.csv` are `standard,mcs_or_mbps,width_mhz,guard_interval_ns,bytes,duration_ns`: an
//! amendment by its letters, its MCS (for 802.11a and g the rate in Mbit/s), channel width, guard interval, PSDU size
//! in bytes, and duration of the PPDU in ns. An MCS of 802.11n from 8 on implies the number of spatial streams; all
//! others have one. Every row has to be identical.

use crate::case::CaseReport;
use crate::parse::GoldenError;
use crossfade_mac::wlan::{Band, Durations, Mode, Standard};

const HEADER: &str = "standard,mcs_or_mbps,width_mhz,guard_interval_ns,bytes,duration_ns";

/// Computes the PPDU duration of every row of a table in the layout of `durations.csv` and compares it. `name` is the
/// file's name.
///
/// # Errors
/// Another header, a line with other cells, or a mode that does not exist.
pub fn verify_durations(name: &str, text: &str) -> Result<Vec<CaseReport>, GoldenError> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line.trim()) != Some(HEADER) {
        return Err(GoldenError::new(name, format!("the first line must be {HEADER}")));
    }
    let rows = lines.filter(|(_, line)| !line.trim().is_empty());
    rows.map(|(number, line)| {
        verify_row(name, line.trim())
            .map_err(|problem| GoldenError::new(format!("{name} line {}", number + 1), problem))
    })
    .collect()
}

fn verify_row(name: &str, line: &str) -> Result<CaseReport, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [standard, index, width, guard, bytes, golden] = cells[..] else {
        return Err(format!("{} cells: must be 6", cells.len()));
    };
    let number = |column: &str, cell: &str, most: u64| {
        let value = cell.parse::<u64>().ok().filter(|value| *value <= most);
        value.ok_or_else(|| format!("{column} = {cell}: must be a whole number up to {most}"))
    };
    let index = number("mcs_or_mbps", index, 1000)?;
    let width = number("width_mhz", width, 10_000)?;
    let guard = number("guard_interval_ns", guard, 10_000)?;
    let bytes = number("bytes", bytes, 100_000_000)?;
    let golden = number("duration_ns", golden, u64::from(u32::MAX) * 1000)?;
    let standard = Standard::parse(standard).map_err(|error| error.to_string())?;
    // The table has no bands. Durations differ only at 2.4 GHz, and only those of 802.11g are for that band.
    let band = match (standard, width) {
        (Standard::G, _) => Band::Ghz2,
        (_, 320) => Band::Ghz6,
        _ => Band::Ghz5,
    };
    let mode = Mode::by_index(standard, band, index as u32, width as u16, guard as u16);
    let found = mode.map_err(|error| error.to_string())?.ppdu(bytes as u32, Durations::Ns3).as_nanos();
    Ok(CaseReport {
        case: format!("{name}/802.11{} {index}, {width} MHz, {guard} ns, {bytes} B", standard.letters()),
        rows: 1,
        found: None,
        difference: (found != golden).then(|| format!("duration_ns is {golden} there and {found} here")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = include_str!("../../../tests/data/golden/wifi/durations.csv");

    #[test]
    fn every_duration_is_identical_and_an_altered_one_is_named() {
        let cases = verify_durations("durations.csv", GOLDEN).unwrap();
        assert_eq!(cases.len(), 60);
        assert_eq!(cases.iter().find(|case| case.difference.is_some()), None);
        let altered = GOLDEN.replace("be,0,160,3200,1536,264000", "be,0,160,3200,1536,264001");
        let cases = verify_durations("durations.csv", &altered).unwrap();
        let failed: Vec<_> = cases.into_iter().filter(|case| case.difference.is_some()).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].case, "durations.csv/802.11be 0, 160 MHz, 3200 ns, 1536 B");
        assert_eq!(failed[0].difference.as_deref(), Some("duration_ns is 264001 there and 264000 here"));
    }

    #[test]
    fn what_is_no_table_of_durations_is_refused_with_its_line() {
        let refused =
            |row: &str| verify_durations("d.csv", &format!("{HEADER}\n{row}\n")).unwrap_err().to_string();
        assert_eq!(
            refused("ac,9,20,800,1536,1"),
            "d.csv line 2: mcs = 9: must be another one: 802.11ac at 20 MHz with 1 stream has no MCS 9, 8 is the next below"
        );
        assert_eq!(
            refused("b,11,20,800,14,1"),
            "d.csv line 2: standard = \"b\": must be one of a, g, n, ac, ax, be"
        );
        assert_eq!(refused("ax,0,20,800,14"), "d.csv line 2: 5 cells: must be 6");
        assert_eq!(
            refused("ax,0,20,800,x,1"),
            "d.csv line 2: bytes = x: must be a whole number up to 100000000"
        );
        assert!(
            verify_durations("d.csv", "a,b\n")
                .unwrap_err()
                .to_string()
                .starts_with("d.csv: the first line must be")
        );
    }
}
