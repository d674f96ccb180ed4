//! Fuzz target: any text as a trace or a table must give an error of one line, or a trace that can be evaluated at any
//! time.
#![no_main]

use crossfade_core::SimTime;
use crossfade_link::trace::{AttenuationTable, DelaySeries, Interpolation, OpportunityTrace, RateTable, SendRecord};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let now = SimTime::from_millis(123_456);
    let opportunities = text.parse::<OpportunityTrace>().map(|trace| {
        let first = trace.first_after(now);
        assert!(trace.time(first) > now && (first == 0 || trace.time(first - 1) <= now));
    });
    let rates = text.parse::<RateTable>().map(|table| assert!(table.at(now).1 > now));
    let attenuation = text.parse::<AttenuationTable>().map(|table| assert!(table.at(now).is_finite()));
    let delays = text.parse::<DelaySeries>().map(|series| {
        let [least, largest] = series.range();
        let line = series.clone().interpolated(Interpolation::Linear);
        assert!([series, line].iter().all(|series| (least..=largest).contains(&series.at(now))));
    });
    let sends = text.parse::<SendRecord>().map(|record| {
        let last = record.packets() as u64 - 1;
        assert!(record.packet(last).is_some() && record.packet(last + 1).is_none());
    });
    for error in [opportunities, rates, attenuation, delays, sends].into_iter().filter_map(Result::err) {
        assert!(!error.to_string().contains('\n'));
    }
});
