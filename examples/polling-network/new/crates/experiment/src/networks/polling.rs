//! A polling medium: how it is made, and what is said of it.

use super::kind::NetworkKind;
use crate::memory::{FLOW, PACKET, Path, packets};
use crate::parts::{LINK, PATH, Part};
use crossfade_core::RunSeed;
use crossfade_link::QueueLimit;
use crossfade_mac::Polling;
use crossfade_scenario::{PollingSetup, Scenario, ScenarioError, Setup};
use crossfade_sim::{Leg, Medium, Topology};
use serde_json::{Value, json};

impl NetworkKind for PollingSetup {
    /// Network with one medium, through which data go from stations to the coordinator and acknowledgements back.
    fn topology(&self, setup: &Setup, _: RunSeed) -> Topology {
        let [_, forward, _, _] = PATH;
        let fabric = Polling::new(self.config).expect("checked");
        let ends = setup.flows.iter().flat_map(|flow| &flow.ends);
        let both_ways = ends.flat_map(|&[from, to]| {
            [(from, to), (to, from)].map(|(from, to)| vec![Leg { medium: 0, from, to }])
        });
        let routes = both_ways.collect();
        Topology { media: vec![Medium::Fabric(Box::new(fabric)).named(forward)], routes }
    }

    fn parts(&self) -> Vec<Part> {
        let [_, forward, _, _] = PATH;
        vec![Part::new(LINK, forward)]
    }

    fn facts(&self, setup: &Setup) -> (&'static str, Value) {
        let visit = self.config.visit(&[setup.packet_size]);
        let cycle_s = visit.as_secs_f64() * self.config.stations as f64;
        let facts = json!({
            "stations": self.config.stations,
            "full_visit_s": visit.as_secs_f64(),
            "full_cycle_s": cycle_s,
            "saturated_station_bps": f64::from(setup.packet_size) * 8.0 / cycle_s,
        });
        ("polling", facts)
    }

    fn memory(&self, setup: &Setup) -> f64 {
        let queue = match self.config.queue {
            None => 0.0,
            Some(QueueLimit::Packets(packets)) => packets as f64,
            Some(QueueLimit::Bytes(bytes)) => bytes as f64 / 40.0,
        };
        packets(setup, &Path::default()) * PACKET
            + self.config.stations as f64 * (FLOW + 2.0 * queue * PACKET)
    }

    fn warnings(&self, _: &Setup) -> Vec<String> {
        Vec::new()
    }

    fn unmet_assumption(&self, _: &Scenario, who: &str) -> Option<ScenarioError> {
        let problem = format!("{who} assumes a link of constant rate; use method simulation");
        Some(ScenarioError::key("polling", problem))
    }
}

#[cfg(test)]
mod tests {
    use crate::{ExecutionHandle, Experiment, Shard, execute, summarise};
    use crossfade_scenario::Overrides;
    use serde_json::json;

    const TEXT: &str = r#"
        schema = 2
        run = { duration = "20 s", warmup = "2 s" }
        link = { packet_size = "1000 B", queue = { limit = "50 packets" } }
        polling = { rate = "10 Mbit/s", poll = "120 us", ack = "80 us" }
        tcp = { variant = "sack", w_max = 40 }
        flows = { up = { traffic = "saturated" } }
    "#;

    fn plan(set: &serde_json::Value) -> Result<Experiment, String> {
        let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
        Experiment::load(TEXT, "polling.toml", &overrides).map_err(|error| error.to_string())
    }

    fn of(set: &serde_json::Value, metric: &str) -> f64 {
        let plan = plan(set).unwrap();
        let mut rows = Vec::new();
        let mut keep = |new: Vec<crate::Row>, _| rows.extend(new);
        assert_eq!(
            execute(&plan, Vec::new(), 1, Shard::WHOLE, &ExecutionHandle::default(), &mut keep),
            Ok(true)
        );
        let result = summarise(&plan, &rows).remove(0);
        result.metrics.iter().find(|(name, _)| *name == metric).unwrap().1.value
    }

    #[test]
    fn saturated_stations_share_the_cycle() {
        // A packet takes 800 us and a visit 1 ms, of N stations each has one in N ms.
        for stations in [1_u32, 3, 8] {
            let found = of(&json!([["flows.up.count", stations]]), "link_goodput_bps");
            // Of all stations together.
            assert!((found / 8e6 - 1.0).abs() < 1e-3, "{stations}: {found}");
            let facts =
                serde_json::to_value(plan(&json!([["flows.up.count", stations]])).unwrap().describe());
            let each = facts.unwrap()["polling"]["saturated_station_bps"].as_f64().unwrap();
            assert!((each / (found / f64::from(stations)) - 1.0).abs() < 1e-3, "{stations}: {each}");
        }
    }

    #[test]
    fn acknowledgements_go_through_the_same_medium() {
        // Each visit: poll, an acknowledgement of 40 B (32 us) or more, a packet, ack. A window is always there to send.
        let set = json!([["flows", { "up": { "count": 2, "traffic": "bulk" } }], ["tcp.rfc", { "delayed_ack": "0 s", "timestamps": false }]]);
        let found = of(&set, "ip_goodput_bps");
        let expected = 8000.0 / 1032e-6;
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} for {expected}");
    }

    #[test]
    fn what_cannot_be_is_said_in_a_line() {
        for (set, said) in [
            (json!([["polling.rate", null]]), "polling.rate: missing"),
            (json!([["polling.poll", "2 s"]]), "polling.poll = 2 s: must be with ack between"),
            (json!([["mesh.topology", "chain"]]), "mesh contradicts polling"),
            (json!([["reverse.rate", "1 Mbit/s"]]), "reverse contradicts polling"),
            (json!([["methods", ["formula"]], ["flows", null]]), "assumes"),
        ] {
            let error = plan(&set).err().unwrap_or_else(|| panic!("{set}"));
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }
}
