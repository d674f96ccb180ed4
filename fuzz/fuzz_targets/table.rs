//! Fuzz target: any text as one of the tables that a scenario may name, or that golden data consist of, must give an
//! error of one line, or a table. The first byte chooses the kind of table.
#![no_main]

mod draw;
mod texts;

use crossfade_cell::SinrTrace;
use crossfade_mac::parse_positions;
use crossfade_phy::{ErrorRateTable, SwitchingTable};
use crossfade_verify::{GoldenChain, verify_weights};
use draw::Draw;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::Value;
use std::fmt::Display;

fn look<T, E: Display>(read: Result<T, E>) {
    if let Err(error) = read {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

/// Parsers of all kinds of tables.
const READERS: [fn(&str); 6] = [
    |text| {
        look(text.parse::<SinrTrace>().map(|trace| assert!(trace.columns() > 0 && !trace.mean_db().is_nan())))
    },
    |text| look(parse_positions(text).map(|positions| assert!(!positions.is_empty()))),
    |text| look(ErrorRateTable::parse(text)),
    |text| look(SwitchingTable::parse(text)),
    |text| look(GoldenChain::parse("equal.csv", text)),
    |text| look(verify_weights("vectors.json", text)),
];

/// Words that occur in tables beside numbers.
const WORDS: [&str; 27] = [
    "snr_db",
    "transmissions",
    "residual",
    "error_rate",
    "mode",
    "bytes",
    "scheme",
    "detector",
    "correlation",
    "stbc_power",
    "combining",
    "combining_stage",
    "frame_bits",
    "axis",
    "from",
    "to",
    "phy.scheme",
    "phy.detector",
    "phy.modulation",
    "channel.snr_db",
    "siso",
    "blast",
    "alamouti",
    "linear",
    "ml",
    "qpsk",
    "channel.k",
];

fuzz_target!(|text: &str| {
    if let Some((reader, text)) = text.split_at_checked(1) {
        READERS[usize::from(reader.as_bytes()[0]) % READERS.len()](text);
    }
});

/// Sets every number within `value` to zero.
fn zero(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(zero),
        Value::Object(table) => table.values_mut().for_each(zero),
        Value::Number(_) => *value = 0.into(),
        _ => {}
    }
}

/// The input with changes to its table; `None` if it is malformed, and in one of six cases.
fn changed(data: &[u8], seed: u32) -> Option<String> {
    let mut draw = Draw(u64::from(seed));
    let (reader, text) = std::str::from_utf8(data).ok()?.split_at_checked(1)?;
    if draw.below(6) == 0 {
        return None;
    }
    if let Ok(mut value) = serde_json::from_str(text) {
        match value {
            Value::Array(ref mut list) if draw.below(8) == 0 => list.iter_mut().for_each(zero),
            _ => (0..1 + draw.below(3)).for_each(|_| texts::json(&mut draw, &mut value)),
        }
        return Some(format!("{reader}{value}"));
    }
    Some(format!("{reader}{}", texts::lines(&mut draw, text, &WORDS)))
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    draw::hand_over(changed(&data[..size], seed), data, size, max_size)
});
