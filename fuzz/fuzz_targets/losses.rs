//! Fuzz target: any text as recorded losses, in every format, must give an error of one line, or losses over which one
//! can iterate.
#![no_main]

use crossfade_channel::{LossTrace, RecordedLosses, TraceFormat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for format in [TraceFormat::Auto, TraceFormat::Bits, TraceFormat::Lost] {
        match LossTrace::parse(text, format, None) {
            Ok(parsed) => assert!(RecordedLosses::from(parsed).trace.packets() > 0),
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
});
