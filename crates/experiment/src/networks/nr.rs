//! A 5G NR cell: its construction, its metrics, and its facts for `check`: slots, schemes and retransmissions.

use super::bearer::{
    BEARER_KEPT, BEARER_METRICS, BY_FLOW_METRICS, UPLINK_BEARER_KEPT, UPLINK_BEARER_METRICS,
    UPLINK_BY_FLOW_KEPT, UPLINK_BY_FLOW_METRICS, by_flow,
};
use super::cell::{UPLINK_KEPT, UPLINK_METRICS, cell_metrics, cell_with_links_back, of_users, queue_bytes};
use super::doubts;
use super::kind::NetworkKind;
use super::nr_doubts;
use crate::memory::{PACKET, Path, packets, radio};
use crate::methods::BlockFacts;
use crate::parts::{LINK, PATH, Part, USER};
use crossfade_core::RunSeed;
use crossfade_nr::rlc::RlcMode;
use crossfade_nr::{Grants, NrCell, NrConfig};
use crossfade_scenario::{NrSetup, Scenario, ScenarioError, Setup};
use crossfade_sim::{Medium, NetworkStatistics, Topology};
use serde::Serialize;
use serde_json::{Value, json};

impl NetworkKind for NrSetup {
    /// Builds the cell, the wired segment that its users share, and, if the cell has no uplink, a link on the reverse
    /// path for each user.
    fn topology(&self, _: &Setup, seed: RunSeed) -> Topology {
        let [_, forward, reverse, _] = PATH;
        let cell =
            NrCell::new(self.model.config.clone(), seed).expect("checked as the scenario was resolved");
        let medium = Medium::Fabric(Box::new(cell)).named(forward);
        let has_links = self.model.config.stack.is_none();
        let medium = if has_links { medium } else { medium.and_back(reverse) };
        cell_with_links_back(medium, self.model.config.users.len() as u32, &self.around, has_links, seed)
    }

    fn parts(&self) -> Vec<Part> {
        let links = PATH.iter().map(|name| Part::new(LINK, *name));
        links.chain(Part::numbered(USER, self.model.config.users.len())).collect()
    }

    fn facts(&self, setup: &Setup) -> (&'static str, Value) {
        ("nr", json!(NrFacts { block: BlockFacts::of(setup), ..facts(&self.model.config) }))
    }

    /// Bytes that the packets and users take: a queue and some 2 MB of fading processes for each user, twice with an
    /// uplink.
    fn memory(&self, setup: &Setup) -> f64 {
        let config = &self.model.config;
        let path = Path::around(&self.around, self.way_of_data() + self.way_of_acks());
        let under_way = packets(setup, &path) * PACKET + radio(&self.around.reverse);
        let uplink = config.stack.as_ref().map_or(0.0, |stack| 2e6 + queue_bytes(stack.uplink.queue));
        under_way + config.users.len() as f64 * (2e6 + queue_bytes(config.queue) + uplink)
    }

    fn warnings(&self, setup: &Setup) -> Vec<String> {
        let there = self.around.wired.as_ref().map(|[there, _]| there);
        let of_path = doubts::in_phase(setup, there.into_iter());
        of_path.into_iter().chain(doubts::of_links(setup)).chain(nr_doubts::of_cell(self, setup)).collect()
    }

    fn metrics_of_run(&self, setup: &Setup, run: &NetworkStatistics) -> Vec<(String, f64)> {
        // In an NR cell transport blocks count as frames; users have no bins of their own, and frames are not split.
        const NOT_OF_NR: [&str; 3] = ["bins_per_slot", "retransmissions_per_piece", "below_levels_share"];
        let [_, forward, reverse, _] = PATH;
        let mut values = cell_metrics(setup, run, forward, &NOT_OF_NR);
        if self.model.config.stack.is_some() {
            values.extend(of_users(setup, run, forward, &[BEARER_METRICS, BEARER_KEPT], &[]));
            values.extend(of_users(
                setup,
                run,
                reverse,
                &[UPLINK_METRICS, UPLINK_KEPT],
                &["uplink_bins_per_slot"],
            ));
            values.extend(of_users(setup, run, reverse, &[UPLINK_BEARER_METRICS, UPLINK_BEARER_KEPT], &[]));
            values.extend(by_flow(setup, run, forward, &[BY_FLOW_METRICS, BEARER_KEPT]));
            let of_uplink = [UPLINK_BY_FLOW_METRICS, UPLINK_BEARER_KEPT, UPLINK_BY_FLOW_KEPT];
            values.extend(by_flow(setup, run, reverse, &of_uplink));
        }
        values
    }

    fn unmet_assumption(&self, _: &Scenario, who: &str) -> Option<ScenarioError> {
        let problem = format!(
            "{who} assumes a packet a slot, and losses that delay nobody; use method simulation, or formula for one user with UDP"
        );
        Some(ScenarioError::key("nr", problem))
    }
}

/// Facts about a 5G NR cell, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct NrFacts {
    /// Length of a slot in seconds.
    slot_s: f64,
    /// Pattern of downlink, special and uplink slots.
    pattern: String,
    /// Number of resource blocks of the carrier.
    resource_blocks: u32,
    /// Number of groups of resource blocks.
    groups: usize,
    /// Peak rate of the downlink in bit/s, with the most efficient scheme in all blocks.
    peak_bps: f64,
    /// Time in seconds between two transmissions of a block: least, mean and greatest.
    harq_round_trip_s: [f64; 3],
    /// Number of HARQ processes that one user needs to fill the downlink.
    harq_processes_needed: u32,
    /// SNR in dB from which each modulation and coding scheme is used, by index.
    schemes_from_db: Vec<f64>,
    /// Facts about the uplink; `None` if users have links on the reverse path.
    #[serde(skip_serializing_if = "Option::is_none")]
    uplink: Option<UplinkFacts>,
    /// Mean SNR of each user in dB.
    mean_snr_db: Vec<f64>,
    /// Normalised Doppler frequency `f_d` T of each user: maximum Doppler shift in cycles per slot.
    fd_t: Vec<f64>,
    /// Transport block of method phy; `None` without `nr.block`.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<BlockFacts>,
}

/// Facts about the uplink of a 5G NR cell, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct UplinkFacts {
    /// Kind of uplink grants: `requested`, `proactive` or `configured`.
    grants: &'static str,
    /// Peak rate of the uplink in bit/s, with the most efficient scheme in all blocks.
    peak_bps: f64,
    /// Period in seconds of the occasions for scheduling requests.
    request_period_s: f64,
    /// RLC mode of the cell's bearers.
    rlc: &'static str,
}

fn uplink_facts(config: &NrConfig) -> Option<UplinkFacts> {
    let stack = config.stack.as_ref()?;
    Some(UplinkFacts {
        grants: match stack.uplink.grants {
            Grants::Requested => "requested",
            Grants::Proactive => "proactive",
            Grants::Configured { .. } => "configured",
        },
        peak_bps: config.of_uplink(&stack.uplink).peak_bps(),
        request_period_s: config.numerology.slot().as_secs_f64() * stack.uplink.request_period_slots as f64,
        rlc: match stack.rlc.mode {
            RlcMode::Acknowledged => "AM",
            RlcMode::Unacknowledged => "UM",
        },
    })
}

fn facts(config: &NrConfig) -> NrFacts {
    let slot_s = config.numerology.slot().as_secs_f64();
    let (trips, needed) = config.round_trips();
    let least = trips.iter().min().copied().unwrap_or(0) as f64;
    let greatest = trips.iter().max().copied().unwrap_or(0) as f64;
    let mean = trips.iter().sum::<u64>() as f64 / trips.len().max(1) as f64;
    NrFacts {
        slot_s,
        pattern: config.duplex.to_string(),
        resource_blocks: config.prbs,
        groups: config.groups(),
        peak_bps: config.peak_bps(),
        harq_round_trip_s: [least, mean, greatest].map(|slots| slots * slot_s),
        harq_processes_needed: needed,
        schemes_from_db: NrCell::thresholds_db(config),
        uplink: uplink_facts(config),
        mean_snr_db: config.users.iter().map(|user| user.mean_snr_db).collect(),
        fd_t: config.users.iter().map(|user| user.fd_t).collect(),
        block: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{ExecutionHandle, Experiment, Row, Shard, execute, summarise};
    use crossfade_scenario::Overrides;
    use serde_json::{Value, json};

    const TEXT: &str = r#"
        schema = 2
        run = { duration = "4 s", warmup = "1 s" }
        link = { packet_size = "1500 B", queue = { limit = "1000 packets" } }
        nr = { profile = "awgn", radio = { mean_snr_db = 45 } }
        tcp = { flavour = "rfc", variant = "sack", w_max = 4000 }
        reverse = { rate = "100 Mbit/s", delay = "1 ms" }
        flows = { full = { traffic = "udp", rate = "400 Mbit/s" } }
    "#;

    fn plan(set: &Value) -> Result<Experiment, String> {
        let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
        Experiment::load(TEXT, "nr.toml", &overrides).map_err(|error| error.to_string())
    }

    fn of(set: &Value, metric: &str) -> f64 {
        let plan = plan(set).unwrap();
        let mut rows = Vec::new();
        let mut keep = |new: Vec<Row>, _| rows.extend(new);
        assert_eq!(
            execute(&plan, Vec::new(), 1, Shard::WHOLE, &ExecutionHandle::default(), &mut keep),
            Ok(true)
        );
        let result = summarise(&plan, &rows).remove(0);
        result.metrics.iter().find(|(name, _)| *name == metric).unwrap().1.value
    }

    #[test]
    fn a_saturated_user_has_the_peak_rate() {
        let facts = serde_json::to_value(plan(&json!([])).unwrap().describe()).unwrap();
        let peak = facts["nr"]["peak_bps"].as_f64().unwrap();
        assert!((peak / 303.2e6 - 1.0).abs() < 1e-3, "{peak}");
        assert_eq!(facts["nr"]["harq_processes_needed"], 10);
        assert_eq!(facts["nr"]["harq_round_trip_s"], json!([0.004, 0.005125, 0.006]));
        // The packet has 1500 of 1509 bytes, and at most one of 100 blocks is retransmitted in vain because its
        // acknowledgement is misread.
        let found = of(&json!([]), "user_goodput_bps");
        let share = found / (peak * 1500.0 / 1509.0);
        assert!((0.99..1.0).contains(&share), "{found} of {peak}");
    }

    /// First transmissions over fading channels fail as often as the outer loop aims: the 95 % interval of ten runs of
    /// 4 s is 0.001 wide on either side, a twentieth of the bound.
    #[test]
    fn first_transmissions_over_fading_fail_as_the_outer_loop_aims() {
        let fading = json!([
            ["nr.profile", "TDL-C"],
            ["nr.radio", { "mean_snr_db": 18, "speed": "3 km/h" }],
            ["nr.outer_loop", { "step_down_db": 0.5 }]
        ]);
        let first = of(&fading, "initial_frame_error_rate");
        assert!((first - 0.1).abs() < 0.02, "{first}");
    }

    #[test]
    fn what_cannot_be_is_said_in_a_line() {
        for (set, said) in [
            (json!([["nr.numerology", 4]]), "nr.numerology = 4: must be between 0 and 3"),
            (
                json!([["nr.bandwidth", "45 MHz"]]),
                "must be one of 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100 MHz",
            ),
            (json!([["nr.bandwidth", "40 MHz"], ["nr.prbs", 50]]), "nr.prbs contradicts nr.bandwidth"),
            (json!([["nr.prbs", 300]]), "nr.prbs = 300: must be between 1 and 275"),
            (json!([["nr.group", 107]]), "nr.group = 107: must be between 1 and 106"),
            (json!([["nr.pattern", "DDD"]]), "nr.pattern = \"DDD\": must be \"fdd\""),
            (json!([["nr.special_slot", "10:2:3"]]), "nr.special_slot = \"10:2:3\": must be"),
            (json!([["nr.mcs_table", 5]]), "nr.mcs_table = 5: must be between 1 and 4"),
            (json!([["nr.layers", 0]]), "nr.layers = 0: must be between 1 and 8"),
            (json!([["nr.overhead_re", 7]]), "nr.overhead_re = 7: must be one of 0, 6, 12, 18"),
            (json!([["nr.control_symbols", 4]]), "nr.control_symbols = 4: must be between 0 and 3"),
            (json!([["nr.dmrs_re", 49]]), "nr.dmrs_re = 49: must be between 0 and 48"),
            (
                json!([["nr.implementation_loss_db", -1]]),
                "nr.implementation_loss_db = -1: must be between 0 and 20",
            ),
            (json!([["nr.target_bler", 0]]), "nr.target_bler"),
            (json!([["nr.harq.processes", 33]]), "nr.harq.processes = 33: must be between 1 and 32"),
            (json!([["nr.harq.k1", 16]]), "nr.harq.k1 = 16: must be between 1 and 15"),
            (json!([["nr.harq.transmissions", 0]]), "nr.harq.transmissions = 0: must be between 1 and 16"),
            (json!([["nr.harq.processing", "1 s"]]), "nr.harq.processing"),
            (
                json!([["nr.reordering", "4 s"]]),
                "nr.reordering = \"4 s\": must be one of TS 38.331: 1, 2, 4, 5, 8, 10 to 20 by 5",
            ),
            (json!([["nr.feedback.period", "0 s"]]), "nr.feedback.period"),
            (json!([["nr.outer_loop.step_down_db", 50]]), "nr.outer_loop.step_down_db = 50: must be"),
            (json!([["nr.profile", "TDL-A"], ["nr.delay_spread", "1 ms"]]), "nr.delay_spread"),
            (json!([["nr.shadowing.sigma_db", 50]]), "nr.shadowing.sigma_db"),
            (json!([["nr.rlc.mode", "am"]]), "nr.uplink"),
            (json!([["nr.uplink.k2", 4]]), "reverse contradicts nr.uplink"),
            (json!([["cell.preset", "lte"]]), "cell contradicts nr"),
            (json!([["channel.model", "none"]]), "channel contradicts nr"),
            (json!([["link.queue.limit", "10 ms"]]), "link.queue.limit"),
            (json!([["methods", ["formula"]], ["flows", null]]), "traffic: the closed forms of HARQ assume"),
        ] {
            let error = plan(&set).err().unwrap_or_else(|| panic!("{set}"));
            assert!(error.contains(said) && !error.contains('\n'), "{set}: {error}");
        }
    }

    /// Keys `set` for a cell with an uplink in place of links on the reverse path.
    fn both_ways(set: &[(&str, Value)]) -> Value {
        let mut all = vec![json!(["reverse", null]), json!(["nr.uplink.sr_period", "20 ms"])];
        all.extend(set.iter().map(|(key, value)| json!([key, value])));
        Value::Array(all)
    }

    #[test]
    fn what_cannot_be_above_the_radio_is_said_in_a_line() {
        for (key, value, said) in [
            ("nr.uplink.k2", json!(33), "nr.uplink.k2 = 33: must be between 0 and 32"),
            ("nr.uplink.symbols", json!(15), "nr.uplink.symbols = 15: must be between 1 and 14"),
            ("nr.uplink.layers", json!(5), "nr.uplink.layers = 5: must be between 1 and 4"),
            ("nr.uplink.mcs_table", json!(0), "nr.uplink.mcs_table = 0: must be between 1 and 4"),
            ("nr.uplink.sr_period", json!("0 s"), "nr.uplink.sr_period"),
            (
                "nr.uplink.sr_prohibit",
                json!("3 ms"),
                "must be one of TS 38.331: 0, 1, 2, 4, 8, 16, 32, 64, 128 ms",
            ),
            (
                "nr.uplink.bsr_period",
                json!("7 ms"),
                "must be one of TS 38.331: 1, 5, 10, 16, 20, 32, 40, 64, 80, 128, 160, 320, 640, 1280, 2560 ms",
            ),
            (
                "nr.uplink.bsr_retransmission",
                json!("5 ms"),
                "must be one of TS 38.331: 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240 ms",
            ),
            ("nr.uplink.limit", json!("10 ms"), "nr.uplink.limit"),
            ("nr.rlc.sn_bits", json!(6), "nr.rlc.sn_bits = 6: must be 12 or 18 in acknowledged mode"),
            ("nr.rlc.poll_pdu", json!(5), "nr.rlc.poll_pdu = 5: must be one of 4, 8, 16"),
            (
                "nr.rlc.t_reassembly",
                json!("7 ms"),
                "must be one of TS 38.331: 0 to 100 by 5, 110 to 200 by 10 ms",
            ),
            ("nr.rlc.t_poll_retransmit", json!("260 ms"), "must be one of TS 38.331"),
            ("nr.rlc.t_status_prohibit", json!("2500 ms"), "must be one of TS 38.331"),
            ("nr.rlc.poll_byte", json!("3 kB"), "must be one of TS 38.331: 1, 2, 5, 8"),
            ("nr.reordering", json!("17 ms"), "must be one of TS 38.331"),
            ("nr.discard", json!("7 ms"), "must be one of TS 38.331: 10 to 60 by 10, 75, 100 to 300"),
            ("nr.drx.cycle", json!("15 ms"), "must be one of TS 38.331: 10, 20, 32, 40, 60, 64"),
            ("nr.drx.inactivity", json!("7 ms"), "must be one of TS 38.331: 0 to 6 by 1"),
            ("nr.uplink.sr_period", json!("0.7 ms"), "must be one of TS 38.331: 1, 2, 4, 5"),
            ("nr.uplink.sr_period", json!("19 ms"), "640 slots of 0.0005 s"),
            ("nr.rlc.max_retransmissions", json!(5), "must be one of 1, 2, 3, 4, 6, 8, 16, 32"),
            ("nr.handover.interruption", json!("11 s"), "must be shorter than handover.every"),
            ("nr.drx.on", json!("161 ms"), "nr.drx.on"),
            ("nr.blockage.depth_db", json!(61), "nr.blockage.depth_db = 61: must be between 0 and 60"),
            ("nr.blockage.blocked", json!("0 s"), "nr.blockage.blocked"),
            ("nr.ntn.round_trip", json!("3 s"), "nr.ntn.round_trip = \"3 s\": must be at most 2 s"),
            ("nr.fidelity", json!("rate"), "nr.fidelity"),
            ("nr.headers", json!("9 B"), "nr.headers contradicts nr.uplink"),
        ] {
            let set = both_ways(&[(key, value)]);
            let error = plan(&set).err().unwrap_or_else(|| panic!("{set}"));
            assert!(error.contains(said) && !error.contains('\n'), "{set}: {error}");
        }
    }

    #[test]
    fn presets_fill_in_what_is_not_said() {
        let facts = |preset: &str, key: &str| {
            let plan = plan(&json!([["nr.preset", preset]])).unwrap();
            serde_json::to_value(plan.describe()).unwrap()["nr"][key].clone()
        };
        assert_eq!(facts("nr-fdd-10", "resource_blocks"), 52);
        assert_eq!(facts("lte-10", "resource_blocks"), 50);
        assert_eq!(facts("lte-10", "harq_round_trip_s"), json!([0.008, 0.008, 0.008]));
        assert_eq!(facts("nr-tdd-100", "pattern"), "DDDDDDDSUU");
        assert_eq!(facts("nr-tdd-40", "harq_processes_needed"), 10);
        // Propagation takes 25.77 ms and slots 8 ms: 34 slots, which 32 processes do not quite fill.
        assert_eq!(facts("nr-ntn-leo", "harq_processes_needed"), 34);
        assert_eq!(facts("nr-ntn-geo", "harq_processes_needed"), 1);
        assert_eq!(facts("nr-mmwave-blockage", "resource_blocks"), 66);
        let given = plan(&json!([["nr.preset", "lte-10"], ["nr.prbs", 25]])).unwrap();
        assert_eq!(serde_json::to_value(given.describe()).unwrap()["nr"]["resource_blocks"], 25);
    }

    #[test]
    fn delays_of_both_directions_are_taken_apart() {
        let set =
            both_ways(&[("nr.radio", json!({ "mean_snr_db": 20 })), ("flows.full.rate", json!("1 Mbit/s"))]);
        let parts = ["queue", "grant", "air", "harq", "rlc", "reordering"];
        let sum: f64 = parts.iter().map(|part| of(&set, &format!("delay_{part}_mean_s"))).sum();
        assert!((sum / of(&set, "one_way_delay_mean_s") - 1.0).abs() < 0.02, "{sum}");
        assert!(of(&set, "rlc_status_pdus") > 10.0 && of(&set, "scheduling_requests") > 10.0);
    }

    /// A metric of the only user by method formula and by method simulation.
    fn both(set: &Value, metric: &str) -> [f64; 2] {
        let mut set = set.as_array().unwrap().clone();
        set.push(json!(["methods", ["formula", "simulation"]]));
        let plan = plan(&Value::Array(set)).unwrap();
        let mut rows = Vec::new();
        let mut keep = |new: Vec<Row>, _| rows.extend(new);
        let done = execute(&plan, Vec::new(), 1, Shard::WHOLE, &ExecutionHandle::default(), &mut keep);
        assert_eq!(done, Ok(true));
        let results = summarise(&plan, &rows);
        [0, 1].map(|place| results[place].metrics.iter().find(|(name, _)| *name == metric).unwrap().1.value)
    }

    #[test]
    fn the_formula_has_what_a_simulation_has() {
        let full =
            json!([["nr.pattern", "fdd"], ["nr.radio.mean_snr_db", 17.5325], ["run.duration", "20 s"]]);
        for (metric, tolerance) in [
            ("goodput_bps", 0.01),
            ("initial_frame_error_rate", 0.05),
            ("frame_transmissions_per_frame", 0.01),
        ] {
            let [formula, found] = both(&full, metric);
            assert!((formula / found - 1.0).abs() < tolerance, "{metric} {formula} {found}");
        }
        // Packets of 1500 B every 200.13 ms meet every slot of the pattern.
        let idle = json!([
            ["flows.full.rate", "59961 bit/s"],
            ["nr.radio.mean_snr_db", 17.5325],
            ["run.duration", "400 s"]
        ]);
        let [formula, found] = both(&idle, "one_way_delay_mean_s");
        assert!((formula / found - 1.0).abs() < 0.03, "{formula} {found}");
    }

    #[test]
    fn what_has_no_closed_form_is_refused_with_its_key() {
        let udp = json!({ "full": { "traffic": "udp", "rate": "400 Mbit/s" } });
        for (set, said) in [
            (json!([]), "nr.special_slot: the closed forms of HARQ assume in a full cell"),
            (
                json!([["nr.profile", "TDL-C"]]),
                "nr.profile: the closed forms of HARQ assume a channel that does not change",
            ),
            (json!([["nr.outer_loop.step_down_db", 0.5]]), "nr.outer_loop: the closed forms"),
            (json!([["flows.full.count", 2]]), "the closed forms of HARQ assume one"),
            (json!([["flows.full.rate", "50 Mbit/s"]]), "flows.rate: the closed forms"),
            (json!([["wired.rtt", "20 ms"]]), "wired: the closed forms"),
            (json!([["nr.blockage.depth_db", 10]]), "nr.blockage: the closed forms"),
            (json!([["flows", null]]), "traffic: the closed forms of HARQ assume traffic = \"udp\""),
        ] {
            let mut all = vec![json!(["methods", ["formula"]]), json!(["flows", udp])];
            all.extend(set.as_array().unwrap().iter().cloned());
            let error = plan(&Value::Array(all)).err().unwrap_or_else(|| panic!("{set}"));
            assert!(error.contains(said) && !error.contains('\n'), "{set}: {error}");
        }
        let of_loss = plan(&json!([["methods", ["formula:square-root"]], ["flows", null]])).unwrap_err();
        assert!(of_loss.contains("nr: a formula assumes a packet a slot"), "{of_loss}");
    }
}
