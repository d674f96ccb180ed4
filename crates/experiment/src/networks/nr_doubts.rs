//! Warnings about parameters of a 5G NR cell that conflict: those of the cell, of each bearer, and of each queue.

use crossfade_core::SimTime;
use crossfade_link::{QueueConfig, QueueLimit};
use crossfade_nr::rlc::RlcMode;
use crossfade_nr::{NrConfig, StackConfig};
use crossfade_scenario::{NamedBearer, NamedQueue, NrSetup, Setup};
use std::collections::BTreeSet;

/// Warnings about an NR cell before any run.
pub(super) fn of_cell(nr: &NrSetup, setup: &Setup) -> Vec<String> {
    let config = &nr.model.config;
    let mut found: Vec<String> = few_processes(config).into_iter().collect();
    match &config.stack {
        None => found.extend(short_reordering(config, "nr.reordering", config.reordering)),
        Some(stack) => {
            // Bearers with the cell's values have the cell's keys, so that equal warnings are given once.
            let mut said = BTreeSet::new();
            let each = nr.bearers.iter().flat_map(|bearer| of_bearer(config, stack, bearer));
            found.extend(each.filter(|warning| said.insert(warning.clone())));
        }
    }
    let of_queue = |queue| [small_queue(config, queue), large_queue(config, queue)].into_iter().flatten();
    // Method phy sends blocks without a queue.
    let queues = nr.queues.iter().filter(|_| !setup.flows.is_empty());
    found.extend(queues.flat_map(of_queue).chain(wide_groups(config)));
    found
}

/// Warning that one user has too few HARQ processes to fill the downlink.
fn few_processes(config: &NrConfig) -> Option<String> {
    let (_, needed) = config.round_trips();
    let processes = config.harq.processes;
    (processes < needed).then(|| {
        format!("nr.harq.processes = {processes}: one user takes {needed} to fill the downlink; slots stay empty while all wait")
    })
}

/// Longest time for which hybrid ARQ may retransmit a block.
fn persists(config: &NrConfig) -> SimTime {
    let (trips, _) = config.round_trips();
    let longest = trips.iter().max().copied().unwrap_or(0);
    config.numerology.slot() * (longest * u64::from(config.harq.transmissions - 1))
}

/// Warning that packets are given up while hybrid ARQ still retransmits them.
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

/// Warnings about the timers of one bearer.
fn of_bearer(config: &NrConfig, stack: &StackConfig, bearer: &NamedBearer) -> Vec<String> {
    let reordering = bearer.config.reordering;
    let short = reordering.and_then(|span| short_reordering(config, &bearer.reordering, span));
    let all = [
        short,
        short_reassembly(config, bearer),
        eager_polls(config, bearer),
        short_way_of_order(config, stack, bearer),
        early_discard(config, stack, bearer),
        idle_limit(config, bearer),
    ];
    all.into_iter().flatten().collect()
}

/// Warning that t-Reassembly takes blocks for lost that hybrid ARQ still retransmits.
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

/// Warning that RLC polls are repeated before a status report can arrive.
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

/// Warning that PDCP gives up packets that RLC, or the target cell of a handover, still retransmits.
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

/// Warning that discardTimer drops packets of an idle user before their first byte can be sent. A packet that was begun
/// is not discarded (TS 38.322 section 5.4), so that discardTimer need not cover HARQ and RLC retransmissions.
fn early_discard(config: &NrConfig, stack: &StackConfig, bearer: &NamedBearer) -> Option<String> {
    let discard = bearer.config.discard?;
    let gap = stack.handover.map(|handover| ("an interruption of nr.handover", handover.interruption));
    let sleep = stack.drx.map(|drx| ("the on-duration of nr.drx", drx.cycle.saturating_sub(drx.on)));
    let request = config.longest_request().map(|wait| ("a request and its grant on the uplink", wait));
    let (what, wait) = [gap, sleep, request].into_iter().flatten().find(|(_, wait)| discard < *wait)?;
    Some(format!(
        "{} = {discard} is shorter than a packet may wait for {what} ({wait}): packets are dropped before they can be sent",
        bearer.discard
    ))
}

/// Warning that discardTimer drops packets that the limit of a queue lets in.
fn idle_limit(config: &NrConfig, bearer: &NamedBearer) -> Option<String> {
    let (discard, queue) = (bearer.config.discard?, &bearer.queue);
    let (said, longest) = full_queue(config, queue)?;
    (discard.as_secs_f64() < longest).then(|| {
        format!(
            "{} = {discard} is shorter than a full queue takes at the peak rate ({}.limit = {said}, {:.0} ms): packets at its \
             end are dropped before they can be sent",
            bearer.discard,
            queue.table,
            1e3 * longest
        )
    })
}

/// Limit of a drop-tail queue as text, and the seconds that a full queue takes at the peak rate; `None` without a
/// limit, and for other disciplines, which keep their queue short.
fn full_queue(config: &NrConfig, queue: &NamedQueue) -> Option<(String, f64)> {
    let QueueConfig::DropTail(Some(limit)) = queue.config else { return None };
    let (said, bytes) = in_bytes(limit, queue.packet_size);
    Some((said, bytes as f64 * 8.0 / config.peak_bps()))
}

/// Queue limit as text and in bytes.
fn in_bytes(limit: QueueLimit, packet_size: u32) -> (String, u64) {
    match limit {
        QueueLimit::Bytes(bytes) => (format!("{bytes} B"), bytes),
        QueueLimit::Packets(packets) => {
            (format!("{packets} packets"), (packets as u64).saturating_mul(u64::from(packet_size)))
        }
    }
}

/// Warning that a queue holds less than a slot carries (ns-3's default is 10 KiB).
fn small_queue(config: &NrConfig, queue: &NamedQueue) -> Option<String> {
    let (said, limit) = in_bytes(queue.config.limit()?, queue.packet_size);
    let block = config.largest_block_bytes();
    (limit < u64::from(block)).then(|| {
        let table = &queue.table;
        format!(
            "{table}.limit = {said} holds less than a slot can carry ({block} B): the queue limits the rate"
        )
    })
}

/// Warning that a full queue delays packets for long even at the peak rate (OAI's queue holds 10 MB).
fn large_queue(config: &NrConfig, queue: &NamedQueue) -> Option<String> {
    let (said, longest_s) = full_queue(config, queue)?;
    (longest_s > LONG_QUEUE_S).then(|| {
        format!(
            "{}.limit = {said}: a full queue is {:.0} ms long at the peak rate, and longer at any other",
            queue.table,
            1e3 * longest_s
        )
    })
}

/// Time in seconds for which a full queue may delay packets without a warning.
const LONG_QUEUE_S: f64 = 0.25;

/// Warning that the channel varies within a group of resource blocks.
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

    /// Warnings of a scenario with these keys set, one a line.
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

    #[test]
    fn queues_of_flows_have_the_rules_of_the_common_one() {
        let one = |value| warnings(&[("flows.full.queue.limit", value)]);
        let small = one(json!("10 KiB"));
        assert!(
            small.starts_with("flows.full.queue.limit = 10240 B holds less than a slot can carry ("),
            "{small}"
        );
        assert!(one(json!("6 packets")).starts_with("flows.full.queue.limit = 6 packets holds less"));
        let large = one(json!("10 MB"));
        assert_eq!(
            large,
            "flows.full.queue.limit = 10000000 B: a full queue is 264 ms long at the peak rate, and longer at any other"
        );
        assert_eq!(one(json!("6.17 MB")), "");
        // A queue without flows gives no warning, and an AQM discipline keeps its queue short.
        let common = ("link.queue.limit", json!("10 MB"));
        assert_eq!(warnings(&[common.clone(), ("flows.full.queue.limit", json!("1 MB"))]), "");
        let codel =
            [("flows.full.queue.discipline", json!("codel")), ("flows.full.queue.limit", json!("10 MB"))];
        assert_eq!(warnings(&codel), "");
        // A further bearer gives a warning of its own, a shared bearer none.
        let text = [TEXT, CALL].concat();
        let call = ("flows.call.queue.limit", json!("10 KiB"));
        let both = both_ways(&text, &[common, call.clone()]);
        let keys: Vec<&str> = both.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(keys, ["flows.call.queue.limit", "link.queue.limit"], "{both}");
        let shared = [call, ("flows.call.five_qi", Value::Null), ("flows.call.bearer.shared", json!(true))];
        assert_eq!(both_ways(&text, &shared), "");
    }

    #[test]
    fn a_discard_timer_fights_with_waits_and_with_the_queue() {
        for (table, key) in [("nr", "nr.discard"), ("flows.full.bearer", "flows.full.bearer.discard")] {
            let with = |set: &[(&str, Value)], discard: &str| {
                // A full queue of 100 packets takes 4 ms at the peak rate.
                let mut all = vec![(key, json!(discard)), ("link.queue.limit", json!("100 packets"))];
                all.retain(|(key, _)| set.iter().all(|(other, _)| other != key));
                all.extend_from_slice(set);
                both_ways(TEXT, &all)
            };
            let said = |found: String, what: &str| {
                assert!(found.starts_with(&format!("{table}.discard = ")) && found.contains(what), "{found}");
                assert_eq!(found.lines().count(), 1, "{found}");
            };
            // Occasions for requests are slots 4, 44, ...; the base station receives the latter in slot 48 and grants
            // in slot 48 or 50. The first uplink slot at least 4 slots later is 54.
            said(with(&[], "20 ms"), "a request and its grant on the uplink (0.025 s)");
            assert_eq!(with(&[], "30 ms"), "");
            assert_eq!(
                with(
                    &[("nr.uplink.grants", json!("proactive")), ("nr.uplink.sr_period", Value::Null)],
                    "10 ms"
                ),
                ""
            );
            let drx = [("nr.drx.cycle", json!("160 ms")), ("nr.drx.on", json!("10 ms"))];
            said(with(&drx, "100 ms"), "the on-duration of nr.drx (0.15 s)");
            assert_eq!(with(&drx, "150 ms"), "");
            let handover =
                [("nr.handover.every", json!("2 s")), ("nr.handover.interruption", json!("60 ms"))];
            said(with(&handover, "50 ms"), "an interruption of nr.handover (0.06 s)");
            let full = [("link.queue.limit", json!("6.17 MB"))];
            said(with(&full, "150 ms"), "at the peak rate (link.queue.limit = 6170000 B, 163 ms)");
            assert_eq!(with(&full, "200 ms"), "");
        }
    }

    /// Warnings of a scenario with an uplink and these keys set, one a line.
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
        // A discardTimer of 5 ms in a flow's class is changed in the flow's table.
        let class = with(&[("flows.call.five_qi", json!(85))]);
        assert!(class.contains("flows.call.bearer.rlc.t_reassembly = 0.005 s"), "{class}");
        assert!(class.contains("flows.call.bearer.reordering = 0.005 s"), "{class}");
        // A value of the cell is reported once for all flows that have it, and not at all if all flows have their own.
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
