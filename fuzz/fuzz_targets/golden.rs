//! Any pair of texts as patterns.json and a trace: an error in one line, or a comparison.
#![no_main]

use crossfade_verify::GoldenTrace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    // The first line is patterns.json, the rest the trace.
    let (patterns, csv) = data.split_once('\n').unwrap_or((data, ""));
    match GoldenTrace::parse(patterns, "sends_lt_sack1.csv", csv) {
        // Long transfers are valid and slow.
        Ok(trace) if trace.npackets() <= 50 => drop(trace.verify()),
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
