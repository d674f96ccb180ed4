//! Fuzz target: any bytes as the names and values of rows of a results file must be refused, or summarised without a
//! panic.
#![no_main]

use crossfade_experiment::{Experiment, NameSets, Row, RowMetrics, summarise, summarise_groups};
use crossfade_scenario::Overrides;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static PLAN: LazyLock<Experiment> = LazyLock::new(|| {
    let text = r#"
        schema = 1
        run = { duration = "1000 slots", precision = "5 %", max_runs = 20 }
        channel = { model = "iid", p_e = 0.01 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B", frame_size = "100 B" }
        tcp = { flavour = "rfc", variant = "newreno", w_max = 24 }
        flows = { a = { count = 2 } }
    "#;
    Experiment::load(text, "rows.toml", &Overrides::default()).expect("a scenario")
});

fuzz_target!(|rows: Vec<(String, Vec<f64>)>| {
    let (point, method, mut sets) = (PLAN.points.at(0), PLAN.methods[0], NameSets::default());
    let row = |(run, (names, values)): (u64, (String, Vec<f64>))| {
        let metrics = RowMetrics::from_parts(&names, values, &mut sets)?;
        let key = PLAN.row_key(point.index, method, run);
        let seed = PLAN.seed;
        Some(Row { key, point: point.id.clone(), method, seed, run, metrics, failure: None, seconds: 0.0 })
    };
    let rows: Vec<Row> = (0..).zip(rows).filter_map(row).collect();
    assert_eq!(summarise(&PLAN, &rows).len(), 1);
    assert_eq!(summarise_groups(&PLAN, &[rows]).map(|results| results.len()), Ok(1));
});
