//! Any text as each of the tables that a scenario may name, or that golden data consist of: an error in one line, or a table.
#![no_main]

use crossfade_cell::SinrTrace;
use crossfade_mac::parse_positions;
use crossfade_phy::{FerCurves, SwitchingTable};
use crossfade_verify::{GoldenChain, verify_weights};
use libfuzzer_sys::fuzz_target;
use std::fmt::Display;

fn look<T, E: Display>(read: Result<T, E>) {
    if let Err(error) = read {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

fuzz_target!(|text: &str| {
    look(text.parse::<SinrTrace>().map(|trace| assert!(trace.columns() > 0 && !trace.mean_db().is_nan())));
    look(parse_positions(text).map(|positions| assert!(!positions.is_empty())));
    look(FerCurves::parse(text));
    look(SwitchingTable::parse(text));
    look(GoldenChain::parse("equal.csv", text));
    look(verify_weights("vectors.json", text));
});
