//! Any text as a scenario: an error in one line, or a plan whose points can be named.
#![no_main]

use crossfade_scenario::{Overrides, Plan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Plan::load(text, "fuzz.toml", &Overrides::default()) {
        Ok(plan) => assert!(plan.points.iter().all(|point| !point.id.is_empty())),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
        }
    }
});
