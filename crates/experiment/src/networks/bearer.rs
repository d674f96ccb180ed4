//! Metrics of the bearers of an NR cell: delays by part, and counts of RLC, PDCP and queues.

use super::cell::{UsersMeasured, of_some};
use crate::metric::{MetricOf, count};
use crate::parts::{FLOW, Part, USER};
use crossfade_link::UserStatistics;
use crossfade_scenario::Setup;
use crossfade_sim::NetworkStatistics;

/// Mean of delay part number `part` (queue, grant, air, HARQ, RLC, reordering) in seconds; NaN without packets.
fn part(users: &UsersMeasured, part: usize) -> f64 {
    let bearer = &users.counts.bearer;
    if bearer.delays == 0 { f64::NAN } else { bearer.delay_parts_s[part] / bearer.delays as f64 }
}

/// Mean number of segments retransmitted per packet that arrives.
fn retransmissions(users: &UsersMeasured) -> f64 {
    of_some(users.counts.bearer.retransmissions, users.counts.packets.arrivals)
}

/// Published metrics of the users' downlinks in an NR cell, in the order of tables.
#[rustfmt::skip]
pub(super) static BEARER_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "delay_queue_mean_s", "s", "Mean delay behind other packets", "Part of the mean delay of packets in an NR cell: from their arrival until all earlier packets of the user have begun.", |users| part(users, 0)),
    MetricOf::each(USER, "delay_grant_mean_s", "s", "Mean delay until the first byte is sent", "Part of the mean delay of packets in an NR cell: from the front of the queue to the first byte sent, a wait for a slot, a grant, DRX or the end of a gap of the link.", |users| part(users, 1)),
    MetricOf::each(USER, "delay_air_mean_s", "s", "Mean delay on the air", "Part of the mean delay of packets in an NR cell: from the first byte to the end of the slot of the last one, and the propagation delay.", |users| part(users, 2)),
    MetricOf::each(USER, "delay_harq_mean_s", "s", "Mean delay of HARQ", "Part of the mean delay of packets in an NR cell: retransmissions of hybrid ARQ.", |users| part(users, 3)),
    MetricOf::each(USER, "delay_rlc_mean_s", "s", "Mean delay of RLC", "Part of the mean delay of packets in an NR cell: until RLC has retransmitted segments that hybrid ARQ lost.", |users| part(users, 4)),
    MetricOf::each(USER, "delay_reordering_mean_s", "s", "Mean delay of PDCP reordering", "Part of the mean delay of packets in an NR cell: from the arrival of the whole packet until all earlier ones were there or given up.", |users| part(users, 5)),
    MetricOf::each(USER, "rlc_retransmissions_per_packet", "1", "RLC retransmissions per packet", "Segments that RLC retransmitted on the downlink, for each packet that arrived.", retransmissions),
    MetricOf::each(USER, "rlc_status_pdus", "1", "RLC status reports", "Status reports of RLC about the downlink.", |users| count(users.counts.bearer.reports)),
    MetricOf::each(USER, "radio_link_failures", "1", "Radio link failures", "Number of times that RLC retransmitted a packet of either direction as often as it may, and the link failed.", |users| count(users.counts.bearer.failures)),
    MetricOf::each(USER, "pdcp_discards", "packets", "PDCP discards", "Packets of the downlink that waited too long to be sent.", |users| count(users.counts.bearer.discards)),
];

/// Counts of the users' downlinks that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static BEARER_KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "bearer_delays", "1", "", "", |users| count(users.counts.bearer.delays)),
    MetricOf::each(USER, "bearer_packets", "1", "", "", |users| count(users.counts.packets.arrivals)),
];

/// Published metrics of the users' uplinks in an NR cell, in the order of tables.
#[rustfmt::skip]
pub(super) static UPLINK_BEARER_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "uplink_delay_queue_mean_s", "s", "Mean uplink delay behind other packets", "Like delay_queue_mean_s, but of the uplink.", |users| part(users, 0)),
    MetricOf::each(USER, "uplink_delay_grant_mean_s", "s", "Mean uplink delay until the first byte is sent", "Like delay_grant_mean_s, but of the uplink: an occasion of a scheduling request, its grant, and a slot.", |users| part(users, 1)),
    MetricOf::each(USER, "uplink_delay_air_mean_s", "s", "Mean uplink delay on the air", "Like delay_air_mean_s, but of the uplink.", |users| part(users, 2)),
    MetricOf::each(USER, "uplink_delay_harq_mean_s", "s", "Mean uplink delay of HARQ", "Like delay_harq_mean_s, but of the uplink.", |users| part(users, 3)),
    MetricOf::each(USER, "uplink_delay_rlc_mean_s", "s", "Mean uplink delay of RLC", "Like delay_rlc_mean_s, but of the uplink.", |users| part(users, 4)),
    MetricOf::each(USER, "uplink_delay_reordering_mean_s", "s", "Mean uplink delay of PDCP reordering", "Like delay_reordering_mean_s, but of the uplink.", |users| part(users, 5)),
    MetricOf::each(USER, "scheduling_requests", "1", "Scheduling requests", "Scheduling requests that users sent.", |users| count(users.counts.bearer.requests)),
];

/// Counts of the users' uplinks that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static UPLINK_BEARER_KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "uplink_bearer_delays", "1", "", "", |users| count(users.counts.bearer.delays)),
];

/// Published metrics of the downlink bearer of each flow, if users have several bearers, in the order of tables.
#[rustfmt::skip]
pub(super) static BY_FLOW_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::part(FLOW, "bearer_delay_queue_mean_s", "s", "Mean delay behind other packets of the bearer", "Like delay_queue_mean_s, but of the bearer of a flow, where users have several bearers.", |bearers| part(bearers, 0)),
    MetricOf::part(FLOW, "bearer_delay_grant_mean_s", "s", "Mean delay of the bearer until the first byte is sent", "Like delay_grant_mean_s, but of the bearer of a flow: bearers of higher priority cause it too.", |bearers| part(bearers, 1)),
    MetricOf::part(FLOW, "bearer_delay_air_mean_s", "s", "Mean delay of the bearer on the air", "Like delay_air_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 2)),
    MetricOf::part(FLOW, "bearer_delay_harq_mean_s", "s", "Mean delay of the bearer by HARQ", "Like delay_harq_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 3)),
    MetricOf::part(FLOW, "bearer_delay_rlc_mean_s", "s", "Mean delay of the bearer by RLC", "Like delay_rlc_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 4)),
    MetricOf::part(FLOW, "bearer_delay_reordering_mean_s", "s", "Mean delay of the bearer by PDCP reordering", "Like delay_reordering_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 5)),
    MetricOf::part(FLOW, "bearer_queue_drops", "packets", "Queue drops of the bearer", "Packets that the downlink queue of the bearer of a flow dropped.", |bearers| count(bearers.counts.packets.queue_drops)),
    MetricOf::part(FLOW, "bearer_ecn_marks", "packets", "ECN marks of the bearer", "Packets that the downlink queue of the bearer of a flow marked.", |bearers| count(bearers.counts.packets.ecn_marks)),
    MetricOf::part(FLOW, "bearer_pdcp_discards", "packets", "PDCP discards of the bearer", "Like pdcp_discards, but of the bearer of a flow.", |bearers| count(bearers.counts.bearer.discards)),
    MetricOf::part(FLOW, "bearer_rlc_retransmissions_per_packet", "1", "RLC retransmissions per packet of the bearer", "Like rlc_retransmissions_per_packet, but of the bearer of a flow.", retransmissions),
    MetricOf::part(FLOW, "bearer_rlc_status_pdus", "1", "RLC status reports of the bearer", "Like rlc_status_pdus, but of the bearer of a flow.", |bearers| count(bearers.counts.bearer.reports)),
];

/// Published metrics of the uplink bearer of each flow, if users have several bearers, in the order of tables.
#[rustfmt::skip]
pub(super) static UPLINK_BY_FLOW_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::part(FLOW, "uplink_bearer_delay_queue_mean_s", "s", "Mean uplink delay behind other packets of the bearer", "Like uplink_delay_queue_mean_s, but of the bearer of a flow, where users have several bearers.", |bearers| part(bearers, 0)),
    MetricOf::part(FLOW, "uplink_bearer_delay_grant_mean_s", "s", "Mean uplink delay of the bearer until the first byte is sent", "Like uplink_delay_grant_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 1)),
    MetricOf::part(FLOW, "uplink_bearer_delay_air_mean_s", "s", "Mean uplink delay of the bearer on the air", "Like uplink_delay_air_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 2)),
    MetricOf::part(FLOW, "uplink_bearer_delay_harq_mean_s", "s", "Mean uplink delay of the bearer by HARQ", "Like uplink_delay_harq_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 3)),
    MetricOf::part(FLOW, "uplink_bearer_delay_rlc_mean_s", "s", "Mean uplink delay of the bearer by RLC", "Like uplink_delay_rlc_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 4)),
    MetricOf::part(FLOW, "uplink_bearer_delay_reordering_mean_s", "s", "Mean uplink delay of the bearer by PDCP reordering", "Like uplink_delay_reordering_mean_s, but of the bearer of a flow.", |bearers| part(bearers, 5)),
    MetricOf::part(FLOW, "uplink_bearer_queue_drops", "packets", "Uplink queue drops of the bearer", "Packets that the uplink queue of the bearer of a flow dropped.", |bearers| count(bearers.counts.packets.queue_drops)),
    MetricOf::part(FLOW, "uplink_bearer_pdcp_discards", "packets", "PDCP discards of the bearer on the uplink", "Packets of the bearer of a flow that waited too long on the uplink.", |bearers| count(bearers.counts.bearer.discards)),
    MetricOf::part(FLOW, "uplink_bearer_rlc_retransmissions_per_packet", "1", "RLC retransmissions per packet of the bearer on the uplink", "Segments of the bearer of a flow that RLC retransmitted on the uplink, for each packet that arrived.", retransmissions),
];

/// Counts of uplink bearers that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static UPLINK_BY_FLOW_KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::part(FLOW, "uplink_bearer_packets", "1", "", "", |bearers| count(bearers.counts.packets.arrivals)),
];

/// Metrics of each flow's bearers on link `link`; flows on a shared bearer have equal values. Empty if each user has
/// one bearer, since the user's metrics are then those of the bearer.
pub(super) fn by_flow(
    setup: &Setup,
    run: &NetworkStatistics,
    link: &str,
    metrics: &[&[MetricOf<UsersMeasured>]],
) -> Vec<(String, f64)> {
    let bearers = run.link(link).map(|link| &link.bearers[..]).unwrap_or_default();
    let firsts = setup.flows.iter().filter(|flow| flow.beside.is_none()).map(|flow| flow.ends.len()).sum();
    let Some((firsts, mut further)) = bearers.split_at_checked(firsts) else { return Vec::new() };
    let mut values = Vec::new();
    for flow in &setup.flows {
        let of_flow: Vec<&UserStatistics> = if flow.beside.is_none() || flow.is_on_shared_bearer {
            flow.ends.iter().map(|[_, port]| &firsts[*port as usize - 1]).collect()
        } else {
            let (of_flow, rest) = further.split_at(flow.ends.len());
            further = rest;
            of_flow.iter().collect()
        };
        let part = Part::new(FLOW, &flow.name);
        let measured = UsersMeasured::of(of_flow);
        values.extend(metrics.iter().copied().flatten().map(|metric| metric.value_of(&part, &measured)));
    }
    values
}

#[cfg(test)]
mod tests {
    use crate::{ExecutionHandle, Experiment, PointResult, Row, Shard, execute, summarise};
    use crossfade_scenario::Overrides;
    use serde_json::{Value, json};

    /// A download that fills the downlink and a call beside it, over an AWGN channel at 18 dB.
    const TEXT: &str = r#"
        schema = 2
        run = { duration = "3 s", warmup = "1 s" }
        link = { packet_size = "1500 B", queue = { limit = "1 MB" } }
        nr = { profile = "awgn", radio = { mean_snr_db = 18 }, uplink = { grants = "proactive" } }
        [flows]
        down = { traffic = "udp", rate = "300 Mbit/s" }
        call = { traffic = "udp", rate = "64 kbit/s", packet_size = "200 B", five_qi = 1, beside = "down" }
    "#;

    fn plan(set: &Value) -> Result<Experiment, String> {
        let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
        Experiment::load(TEXT, "bearers.toml", &overrides).map_err(|error| error.to_string())
    }

    fn run(set: &Value) -> PointResult {
        let plan = plan(set).unwrap();
        let mut rows = Vec::new();
        let mut keep = |new: Vec<Row>, _| rows.extend(new);
        let done = execute(&plan, Vec::new(), 1, Shard::WHOLE, &ExecutionHandle::default(), &mut keep);
        assert_eq!(done, Ok(true));
        summarise(&plan, &rows).remove(0)
    }

    fn of_flow(result: &PointResult, flow: &str, metric: &str) -> Option<f64> {
        let part = result.parts.iter().find(|found| found.part.name == flow)?;
        part.metrics.iter().find(|(name, _)| *name == metric).map(|(_, found)| found.value)
    }

    fn whole(result: &PointResult, metric: &str) -> f64 {
        result.metrics.iter().find(|(name, _)| *name == metric).unwrap().1.value
    }

    const PARTS: [&str; 6] = ["queue", "grant", "air", "harq", "rlc", "reordering"];

    #[test]
    fn each_bearer_has_its_own_delays_and_counts() {
        let result = run(&json!([]));
        let of = |flow: &str, metric: &str| of_flow(&result, flow, metric).unwrap();
        for flow in ["call", "down"] {
            let parts = PARTS.map(|part| of(flow, &format!("bearer_delay_{part}_mean_s")));
            let (sum, delay) = (parts.iter().sum::<f64>(), of(flow, "one_way_delay_mean_s"));
            assert!((sum / delay - 1.0).abs() < 0.01, "{flow}: {parts:?} {delay}");
        }
        // A call waits at most 1 ms for a downlink slot, and one slot more behind a retransmission, which comes in one
        // of ten slots; the download waits behind a full queue.
        assert_eq!(of("call", "bearer_delay_queue_mean_s"), 0.0);
        let waits_s = of("call", "bearer_delay_grant_mean_s");
        assert!(waits_s > 0.0 && waits_s < 1.1e-3, "{waits_s}");
        assert!(of("down", "bearer_delay_queue_mean_s") > 0.02);
        assert_eq!(of("call", "bearer_queue_drops"), 0.0);
        assert!(of("down", "bearer_queue_drops") > 1000.0);
        // The bearer of class 1 is in unacknowledged mode.
        assert_eq!(of("call", "bearer_rlc_status_pdus"), 0.0);
        assert!(of("down", "bearer_rlc_status_pdus") > 10.0);
        for (of_bearers, of_user) in
            [("bearer_rlc_status_pdus", "rlc_status_pdus"), ("bearer_pdcp_discards", "pdcp_discards")]
        {
            let sum = of("call", of_bearers) + of("down", of_bearers);
            assert_eq!(sum, whole(&result, of_user), "{of_user}");
        }
        assert_eq!(of("call", "uplink_bearer_queue_drops"), 0.0);
    }

    #[test]
    fn a_flow_on_a_shared_bearer_waits_behind_the_other() {
        let shared = json!([["flows.call.bearer.shared", true], ["nr.profile", "awgn"]]);
        let result = run(&shared);
        // Datagrams of both flows share one queue, which is nearly always full and drops many packets of the call.
        let delay = |flow| of_flow(&result, flow, "one_way_delay_mean_s").unwrap();
        assert!((delay("call") / delay("down") - 1.0).abs() < 0.05, "{} {}", delay("call"), delay("down"));
        assert!(delay("call") > 0.02);
        assert_eq!(of_flow(&result, "call", "bearer_queue_drops"), None, "one bearer");
        let id = |set: &Value| plan(set).unwrap().points.at(0).id.clone();
        let with_class =
            json!([["flows.call.bearer", { "shared": true, "priority": 3 }], ["nr.profile", "awgn"]]);
        assert_eq!(id(&shared), id(&with_class), "the other keys are without effect");
        let own = json!([["flows.call.bearer.shared", false]]);
        assert_eq!(id(&own), id(&json!([])));
        let third = json!([
            ["flows.call.bearer.shared", true],
            ["flows.other", { "traffic": "udp", "rate": "1 Mbit/s", "five_qi": 5, "beside": "down" }]
        ]);
        let result = run(&third);
        let drops = |flow| of_flow(&result, flow, "bearer_queue_drops").unwrap();
        assert_eq!((drops("call"), drops("other")), (drops("down"), 0.0));
        assert!(drops("down") > 1000.0);
    }

    #[test]
    fn one_bearer_has_the_metrics_of_its_user() {
        let result = run(&json!([["flows.call.beside", null]]));
        assert_eq!(of_flow(&result, "call", "bearer_queue_drops"), None);
        assert_eq!(of_flow(&result, "down", "bearer_delay_queue_mean_s"), None);
    }

    /// A bearer of low priority gets its prioritised rate of 1024 kB/s in RLC PDUs: each packet of 1500 bytes takes 3
    /// bytes of PDCP and 3 bytes of RLC, or a little more if SDUs are segmented.
    #[test]
    fn a_bearer_of_low_priority_has_its_prioritised_rate() {
        let set = |rate: &str| {
            json!([
                ["flows.down.bearer", { "priority": 8, "prioritised_rate": rate, "bucket": "100 ms" }],
                ["flows.call.rate", "300 Mbit/s"],
                ["flows.call.packet_size", "1500 B"],
                ["flows.call.five_qi", null],
                ["flows.call.bearer", { "priority": 3, "prioritised_rate": "8 kB/s" }]
            ])
        };
        let goodput = |rate: &str| of_flow(&run(&set(rate)), "down", "ip_goodput_bps").unwrap();
        let expected = 1024e3 * 8.0 * 1500.0 / 1506.0;
        let found = goodput("1024 kB/s");
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
        assert!(goodput("0 kB/s") < 1e5);
    }

    #[test]
    fn a_bearer_has_the_rlc_that_its_table_gives() {
        let reports = |set: &Value| of_flow(&run(set), "call", "bearer_rlc_status_pdus").unwrap();
        assert_eq!(reports(&json!([])), 0.0);
        let am = json!([["flows.call.bearer.rlc", { "mode": "am", "poll_pdu": 4 }]]);
        // Every fourth of 80 packets in two seconds polls, and so does the last data of an empty buffer.
        assert!((60.0..=81.0).contains(&reports(&am)), "{}", reports(&am));
        let um = json!([["flows.down.bearer.rlc.mode", "um"]]);
        assert_eq!(of_flow(&run(&um), "down", "bearer_rlc_status_pdus"), Some(0.0));
        assert!(of_flow(&run(&um), "down", "goodput_bps").unwrap() > 50e6);
    }

    #[test]
    fn bearers_that_cannot_be_are_one_line() {
        let ladder = "must be one of TS 38.331: 0, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768 or \
                      65536 kB/s, or \"infinity\"";
        let bearer = |key: &str, value: Value| json!([[format!("flows.call.bearer.{key}"), value]]);
        for (set, said) in [
            (bearer("priority", json!(17)), "flows.call.bearer.priority = 17: must be between 1 and 16"),
            (bearer("priority", json!(0)), "flows.call.bearer.priority = 0: must be between 1 and 16"),
            (
                bearer("priority", json!(3)),
                "flows.down.bearer.priority: missing; between 1 and 16, as flows.call, a bearer of the same user, has one",
            ),
            (
                bearer("prioritised_rate", json!("7 kB/s")),
                &*format!("flows.call.bearer.prioritised_rate = \"7 kB/s\": {ladder}"),
            ),
            (bearer("prioritised_rate", json!(8)), ladder),
            (
                bearer("bucket", json!("30 ms")),
                "flows.call.bearer.bucket = \"30 ms\": must be one of TS 38.331: 5, 10, 20, 50, 100, 150, 300, 500, 1000 ms",
            ),
            (
                bearer("discard", json!("70 ms")),
                "flows.call.bearer.discard = \"70 ms\": must be one of TS 38.331",
            ),
            (bearer("reordering", json!("17 ms")), "flows.call.bearer.reordering = \"17 ms\": must be"),
            (
                bearer("rlc", json!({ "mode": "am", "sn_bits": 6 })),
                "flows.call.bearer.rlc.sn_bits = 6: must be 12 or 18 in acknowledged mode",
            ),
            (
                bearer("rlc", json!({ "t_reassembly": "7 ms" })),
                "flows.call.bearer.rlc.t_reassembly = \"7 ms\": must be one of TS 38.331",
            ),
            (
                json!([["flows.call.beside", null], ["flows.call.bearer.shared", true]]),
                "flows.call.beside: missing; a flow, with flows.call.bearer.shared",
            ),
            (json!([["nr.priority", "flow"]]), "nr.priority = \"flow\": must be one of user, bearer"),
            (
                json!([["nr.uplink", null], ["flows.call", null], ["nr.priority", "bearer"]]),
                "nr.uplink: missing; a table, with nr.priority",
            ),
            (bearer("weight", json!(1)), "flows.call.bearer.weight: unknown key"),
            (
                json!([["nr.uplink", null], ["flows.call", null], ["flows.down.bearer.priority", 3]]),
                "nr.uplink: missing; a table, with flows.down.bearer",
            ),
            (
                json!([
                    ["nr", null],
                    ["link.rate", "1 Mbit/s"],
                    ["flows.call", null],
                    ["flows.down.bearer.priority", 3]
                ]),
                "flows.down.bearer: needs an nr, whose users have queues and bearers of their own",
            ),
        ] {
            let error = plan(&set).err().unwrap_or_else(|| panic!("{set}"));
            assert!(error.contains(said) && !error.contains('\n'), "{set}: {error}");
        }
    }

    #[test]
    fn values_without_effect_make_no_other_run() {
        let id = |set: Value| plan(&set).unwrap().points.at(0).id.clone();
        let with = |bearer: Value| id(json!([["flows.call.bearer", bearer]]));
        let rate = "64 kB/s";
        assert_eq!(with(json!({ "bucket": "50 ms" })), with(json!({})));
        assert_eq!(
            with(json!({ "prioritised_rate": rate })),
            with(json!({ "prioritised_rate": rate, "bucket": "5 ms" }))
        );
        assert_ne!(
            with(json!({ "prioritised_rate": rate })),
            with(json!({ "prioritised_rate": rate, "bucket": "50 ms" }))
        );
    }
}
