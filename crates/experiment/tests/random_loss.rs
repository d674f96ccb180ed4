//! Tests of goodput under random loss on a link of 50 Mbit/s and 20 ms, from the scenario to the metric.

use crate::common::{plan, rows, runs_of, texts};
use crossfade_core::testing::Runs;
use serde_json::json;
use std::collections::HashSet;

const TEXT: &str = r#"
    schema = 2
    run = { duration = "25 s", warmup = "5 s", runs = 1 }
    channel = { model = "iid" }
    link = { rate = "50 Mbit/s", packet_size = "1500 B", queue = { limit = "1000 packets" } }
    wired = { rtt = "20 ms" }
    tcp = { congestion = "bbr-v1", variant = "sack", w_max = 4000, bbr = { policer = false } }
"#;

/// BBR bears random loss over QUIC as over TCP. A recovery begins with a round of packet conservation and ends only
/// with a round free of losses; with losses in each round trip there is one recovery, and one such round.
#[test]
fn bbr_bears_over_quic_what_it_bears_over_tcp() {
    // At 10 % loss BBR's policer detection takes one run in sixteen or so for a policed one and halves its rate, so
    // that many runs are needed.
    for (p_e, runs, apart) in [(0.01, 8, 0.05), (0.05, 8, 0.05), (0.1, 32, 0.1)] {
        let share = |(key, word): (&str, &str)| {
            let set =
                json!([["channel.p_e", p_e], ["run.runs", runs], ["run.duration", "15 s"], [key, word]]);
            runs_of(TEXT, &set, "throughput_per_slot")
        };
        let (tcp, quic) = (share(("tcp.rfc.profile", "linux")), share(("tcp.flavour", "quic")));
        // Headers of QUIC are longer, and the gains of 1.25 and 0.75 cost a few per cent on both sides.
        quic.less(&tcp).assert_mean_near(0.0, apart, &format!("QUIC less TCP, {p_e}"));
        tcp.assert_mean_in(0.85 * (1.0 - p_e)..=1.0, &format!("TCP, {p_e}"));
    }
}

/// A lost retransmission costs RFC 6675 a timeout, since it does not detect the loss: at 5 % loss one of 20 is lost,
/// and the timer runs for a second. The receive window stops the sender meanwhile, so that a larger one helps; RACK
/// needs no timer.
#[test]
fn a_lost_repetition_costs_rfc_6675_a_timeout() {
    let run = |set: &[(&str, serde_json::Value)]| {
        let mut all = vec![
            ("channel.p_e", json!(0.05)),
            ("tcp.rfc.profile", json!("recommended")),
            ("run.runs", json!(8)),
        ];
        all.extend_from_slice(set);
        let rows = rows(&plan(TEXT, &json!(all)), 2);
        let of = |name: &str| {
            Runs::from(rows.iter().map(|row| row.metrics.get(name).unwrap()).collect::<Vec<_>>())
        };
        (of("throughput_per_slot"), of("timeouts").mean())
    };
    let (plain, waits) = run(&[]);
    let (roomy, waits_too) = run(&[("tcp.w_max", json!(20_000))]);
    let (rack, waits_not) = run(&[("tcp.rfc.rack", json!(true))]);
    assert!(waits >= 10.0 && waits_too >= 10.0 && waits_not == 0.0, "{waits} {waits_too} {waits_not}");
    // Shares of the 0.95 that is not lost.
    plain.assert_mean_in(0.55 * 0.95..=0.8 * 0.95, "plain");
    roomy.assert_mean_in(0.9 * 0.95..=0.98 * 0.95, "roomy");
    rack.assert_mean_in(0.95 * 0.95..=0.95, "RACK");
}

/// A sender does not retransmit segments that have arrived, even if there are more holes than the three SACK blocks for
/// which an acknowledgement has room. Compressed acknowledgements leave before a third block begins, as in Linux
/// (`tcp_sack_new_ofo_skb`), so that later blocks do not displace one that is not reported yet.
#[test]
fn nothing_that_has_arrived_is_repeated() {
    let set = json!([
        ["run.duration", "8 s"],
        ["run.warmup", "1 s"],
        ["channel.p_e", 0.05],
        ["link.rate", "100 Mbit/s"],
        ["wired.rtt", "100 ms"],
        ["tcp.rfc.profile", "linux"],
    ]);
    let events = texts(&plan(TEXT, &set), crossfade_experiment::events).remove(0);
    let arrivals: Vec<&str> = events
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[1] == "receive")
        .map(|row| row[3])
        .collect();
    let segments: HashSet<_> = arrivals.iter().collect();
    assert!(segments.len() > 40_000, "{} segments", segments.len());
    assert_eq!(arrivals.len(), segments.len(), "arrivals, segments");
}
