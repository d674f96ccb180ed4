//! Fuzz target: any pair of texts as patterns.json and a golden trace must give an error of one line, or a comparison.
#![no_main]

mod draw;
mod texts;

use crossfade_verify::GoldenTrace;
use draw::Draw;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Value, json};

/// Names of traces, one for each loss recovery with and without limited transmit; the length of the input chooses one.
const NAMES: [&str; 8] = [
    "sends_lt_sack1.csv",
    "sends_base_tahoe.csv",
    "sends_base_reno.csv",
    "sends_base_newreno.csv",
    "sends_base_sack1.csv",
    "sends_lt_reno.csv",
    "sends_lt_newreno.csv",
    "sends_lt_tahoe.csv",
];

fuzz_target!(|data: &str| {
    // The first line is patterns.json, the rest the trace.
    let (patterns, csv) = data.split_once('\n').unwrap_or((data, ""));
    match GoldenTrace::parse(patterns, NAMES[csv.len() % NAMES.len()], csv) {
        // Long transfers are valid, but too slow for fuzzing.
        Ok(trace) if trace.npackets() <= 50 => drop(trace.verify()),
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});

/// The input with changes to patterns.json or to the trace; `None` if it is malformed, and in one of eight cases.
fn changed(data: &[u8], seed: u32) -> Option<String> {
    let mut draw = Draw(u64::from(seed));
    let (patterns, csv) = std::str::from_utf8(data).ok()?.split_once('\n')?;
    let mut value: Value = serde_json::from_str(patterns).ok().filter(Value::is_object)?;
    match draw.below(8) {
        0 => return None,
        1..=3 => return Some(format!("{patterns}\n{}", texts::lines(&mut draw, csv, &["a", "b", "clean"]))),
        4 => texts::json(&mut draw, &mut value),
        5 => value["npackets"] = json!(1 + draw.below(50)),
        _ => {
            // Another list of lost packets: few or many, early or late.
            let list = value.get_mut("patterns")?.as_array_mut().filter(|list| !list.is_empty())?;
            let at = draw.below(list.len());
            let (one_in, end) = (1 + draw.below(20), 1 + draw.below(100));
            let drops: Vec<usize> = (0..end).filter(|_| draw.below(one_in) == 0).collect();
            *list[at].get_mut("drops")? = json!(drops);
        }
    }
    Some(format!("{value}\n{csv}"))
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    draw::hand_over(changed(&data[..size], seed), data, size, max_size)
});
