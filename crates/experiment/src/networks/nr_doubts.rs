//! Warnings about parameters of a 5G NR cell that fight: those of the cell, of each bearer, and of each queue.

use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_nr::rlc::RlcMode;
use crossfade_nr::{NrConfig, StackConfig};
use crossfade_scenario::{NamedBearer, NrSetup, Setup};
use std::collections::BTreeSet;

/// Warnings about a cell, before any run.
pub(super) fn of_cell(nr: &NrSetup, setup: &Setup) -> Vec<String> {
    let config = &nr.model.config;
    let mut found: Vec<String> = few_processes(config).into_iter().collect();
    match &config.stack {
        None => found.extend(short_reordering(config, "nr.reordering", config.reordering)),
        Some(stack) => {
            // Bearers with the values of the cell have its keys: what is said of them is said once.
            let mut said = BTreeSet::new();
            let each = nr.bearers.iter().flat_map(|bearer| of_bearer(config, stack, bearer));
            found.extend(each.filter(|warning| said.insert(warning.clone())));
        }
    }
    let of_radio = [small_queue(config), wide_groups(config), large_queue(config, setup.packet_size)];
    found.extend(of_radio.into_iter().flatten());
    found
}

/// A user alone cannot fill the downlink.
fn few_processes(config: &NrConfig) -> Option<String> {
    let (_, needed) = config.round_trips();
    let processes = config.harq.processes;
    (processes < needed).then(|| {
        format!("nr.harq.processes = {processes}: one user takes {needed} to fill the downlink; slots stay empty while all wait")
    })
}

/// Time in which hybrid ARQ may retransmit a block.
fn persists(config: &NrConfig) -> SimTime {
    let (trips, _) = config.round_trips();
    let longest = trips.iter().max().copied().unwrap_or(0);
    config.numerology.slot() * (longest * u64::from(config.harq.transmissions - 1))
}

/// Packets are given up that are still being retransmitted.
fn short_reordering(config: &NrConfig, key: &str, reordering: SimTime) -> Option<String> {
    let persists = persists(config);
    (reordering < persists).then(|| {
        format!(
            "{key} = {reordering} is shorter than HARQ persists ({} transmissions take up to {persists}): packets are given up \
             that are still being retransmitted",
            config.harq.transmissions
        )
    })
}

/// Warnings about the timers of a bearer.
fn of_bearer(config: &NrConfig, stack: &StackConfig, bearer: &NamedBearer) -> Vec<String> {
    let reordering = bearer.config.reordering;
    let short = reordering.and_then(|span| short_reordering(config, &bearer.reordering, span));
    let all = [
        short,
        short_reassembly(config, bearer),
        eager_polls(config, bearer),
        short_way_of_order(config, stack, bearer),
    ];
    all.into_iter().flatten().collect()
}

/// RLC reports, or gives up, blocks that hybrid ARQ still retransmits.
fn short_reassembly(config: &NrConfig, bearer: &NamedBearer) -> Option<String> {
    let (reassembly, persists) = (bearer.config.rlc.reassembly, persists(config));
    (reassembly < persists).then(|| {
        format!(
            "{}.t_reassembly = {reassembly} is shorter than HARQ persists ({} transmissions take up to {persists}): RLC takes for lost \
             what is still being retransmitted",
            bearer.rlc, config.harq.transmissions
        )
    })
}

/// Polls are repeated before their answer can be there.
fn eager_polls(config: &NrConfig, bearer: &NamedBearer) -> Option<String> {
    let rlc = &bearer.config.rlc;
    let needed = rlc.status_prohibit + config.propagation * 2;
    (rlc.mode == RlcMode::Acknowledged && rlc.poll_retransmit < needed).then(|| {
        format!(
            "{}.t_poll_retransmit = {} is shorter than t_status_prohibit and the round trip ({needed}): polls are repeated in vain",
            bearer.rlc, rlc.poll_retransmit
        )
    })
}

/// PDCP gives up packets that RLC, or another cell, still retransmits.
fn short_way_of_order(config: &NrConfig, stack: &StackConfig, bearer: &NamedBearer) -> Option<String> {
    let (key, reordering) = (&bearer.reordering, bearer.config.reordering?);
    let gap = stack.handover.filter(|handover| handover.is_lossless).map(|handover| handover.interruption);
    if let Some(gap) = gap.filter(|gap| reordering <= *gap) {
        return Some(format!(
            "{key} = {reordering} is no longer than nr.handover.interruption = {gap}: packets are given up that are retransmitted \
             behind the gap"
        ));
    }
    let rlc = &bearer.config.rlc;
    let needed = rlc.reassembly + persists(config);
    (rlc.mode == RlcMode::Acknowledged && reordering < needed).then(|| {
        format!(
            "{key} = {reordering} is shorter than {}.t_reassembly and what HARQ takes ({needed}): packets are given up that \
             RLC still retransmits",
            bearer.rlc
        )
    })
}

/// A queue holds less than a slot carries.
fn small_queue(config: &NrConfig) -> Option<String> {
    let QueueLimit::Bytes(limit) = config.queue? else { return None };
    let block = config.largest_block_bytes();
    (limit < u64::from(block)).then(|| {
        format!("link.queue.limit = {limit} B holds less than a slot can carry ({block} B): the queue limits the rate")
    })
}

/// Warning that a full queue delays packets for long even at the peak rate (OAI's queue has 10 MB).
fn large_queue(config: &NrConfig, packet_size: u32) -> Option<String> {
    if config.users.iter().all(|user| user.queue.is_some()) {
        // A queue discipline keeps it short.
        return None;
    }
    let (limit, said) = match config.queue? {
        QueueLimit::Bytes(bytes) => (bytes, format!("{bytes} B")),
        QueueLimit::Packets(packets) => {
            ((packets as u64).saturating_mul(u64::from(packet_size)), format!("{packets} packets"))
        }
    };
    let longest_s = limit as f64 * 8.0 / config.peak_bps();
    (longest_s > LONG_QUEUE_S).then(|| {
        format!(
            "link.queue.limit = {said}: a full queue is {:.0} ms long at the peak rate, and longer at any other",
            1e3 * longest_s
        )
    })
}

/// Longer than this no queue should be that somebody waits behind.
const LONG_QUEUE_S: f64 = 0.25;

/// Channels vary within a group.
fn wide_groups(config: &NrConfig) -> Option<String> {
    let coherence = config.profile.as_ref()?.coherence_bandwidth_hz();
    let width = config.numerology.block_hz() * f64::from(config.group_prbs);
    (coherence < width / 2.0).then(|| {
        format!(
            "the coherence bandwidth ({:.0} kHz, a fifth of the inverse delay spread) is below half of a group of resource blocks \
             ({:.0} kHz), in which channels are taken to be constant",
            coherence / 1e3,
            width / 1e3
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::Experiment;
    use crossfade_scenario::Overrides;
    use serde_json::{Value, json};

    const TEXT: &str = r#"
        schema = 2
        run = { duration = "4 s", warmup = "1 s" }
        link = { packet_size = "1500 B", queue = { limit = "1000 packets" } }
        nr = { profile = "awgn", radio = { mean_snr_db = 45 } }
        tcp = { flavour = "rfc", variant = "sack", w_max = 4000 }
        flows.full = { traffic = "udp", rate = "400 Mbit/s" }
    "#;
    const CALL: &str = r#"
        flows.call = { traffic = "udp", rate = "64 kbit/s", packet_size = "200 B", five_qi = 1, beside = "full" }
    "#;

    /// Warnings of a scenario with these keys, one a line.
    fn warnings_of(text: &str, set: &[(&str, Value)]) -> String {
        let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
        Experiment::load(text, "nr.toml", &overrides).unwrap().warnings().join("\n")
    }

    fn warnings(set: &[(&str, Value)]) -> String {
        warnings_of(TEXT, set)
    }

    #[test]
    fn parameters_that_fight_are_warned_of() {
        assert_eq!(warnings(&[]), "", "nothing to doubt");
        let one = |key, value| warnings(&[(key, value)]);
        assert!(one("nr.harq.processes", json!(8)).contains("takes 10 to fill the downlink"));
        let short = one("nr.reordering", json!("15 ms"));
        assert!(short.contains("(4 transmissions take up to 0.018 s)"), "{short}");
        assert!(one("link.queue.limit", json!("10 kB")).contains("the queue limits the rate"));
        assert!(one("link.queue.limit", json!("10 MB")).contains("a full queue is 264 ms long"));
        assert_eq!(one("link.queue.limit", json!("6.17 MB")), "");
        let wide = [("nr.profile", json!("TDL-C")), ("nr.delay_spread", json!("1 us"))];
        assert!(warnings(&wide).contains("the coherence bandwidth (200 kHz"));
    }

    /// With an uplink and these keys.
    fn both_ways(text: &str, set: &[(&str, Value)]) -> String {
        let mut all = vec![("nr.uplink.sr_period", json!("20 ms"))];
        all.extend_from_slice(set);
        warnings_of(text, &all)
    }

    const RULES: [(&str, &str, &str); 4] = [
        ("rlc.t_reassembly", "15 ms", "RLC takes for lost what is still being retransmitted"),
        ("rlc.t_poll_retransmit", "5 ms", "polls are repeated in vain"),
        ("reordering", "50 ms", "packets are given up that RLC still retransmits"),
        ("reordering", "15 ms", "packets are given up that are still being retransmitted"),
    ];

    #[test]
    fn timers_of_the_cell_and_of_each_bearer_have_the_same_rules() {
        for (key, value, said) in RULES {
            for table in ["nr", "flows.full.bearer"] {
                let found = both_ways(TEXT, &[(&format!("{table}.{key}"), json!(value))]);
                let of_key =
                    |line: &&str| line.starts_with(&format!("{table}.{key} = ")) && line.contains(said);
                assert_eq!(found.lines().filter(of_key).count(), 1, "{table}.{key}: {found}");
                assert!(found.lines().all(|line| line.starts_with(table)), "{found}");
            }
        }
    }

    #[test]
    fn a_further_bearer_is_named_and_one_that_no_flow_has_is_not() {
        let text = [TEXT, CALL].concat();
        let with = |set: &[(&str, Value)]| both_ways(&text, set);
        assert_eq!(with(&[]), "", "class 1 has 50 ms and 80 ms");
        let um = with(&[("flows.call.bearer.rlc.t_reassembly", json!("10 ms"))]);
        assert!(um.starts_with("flows.call.bearer.rlc.t_reassembly = 0.01 s is shorter than HARQ"), "{um}");
        assert_eq!(um.lines().count(), 1, "{um}");
        // A class of 5 ms is of the flow, whose table is the place to change it.
        let class = with(&[("flows.call.five_qi", json!(85))]);
        assert!(class.contains("flows.call.bearer.rlc.t_reassembly = 0.005 s"), "{class}");
        assert!(class.contains("flows.call.bearer.reordering = 0.005 s"), "{class}");
        // Values of the cell are said once, whoever has them, and not at all where all flows have their own.
        let cell = ("nr.rlc.t_reassembly", json!("15 ms"));
        let own = ("flows.full.bearer.rlc.t_reassembly", json!("20 ms"));
        let mine = with(&[
            cell.clone(),
            ("flows.full.bearer.priority", json!(9)),
            ("flows.call.bearer.priority", json!(4)),
        ]);
        assert!(mine.starts_with("nr.rlc.t_reassembly = 0.015 s") && mine.lines().count() == 1, "{mine}");
        assert_eq!(with(&[cell, own]), "");
    }
}
