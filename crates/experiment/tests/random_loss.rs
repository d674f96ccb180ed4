//! What random loss leaves of a link, from the scenario to the metric: 50 Mbit/s, 20 ms.

mod common;

use common::{metric, result_of};
use serde_json::json;

const TEXT: &str = r#"
    schema = 2
    run = { duration = "25 s", warmup = "5 s", runs = 1 }
    channel = { model = "iid" }
    link = { rate = "50 Mbit/s", packet_size = "1500 B", queue = { limit = "1000 packets" } }
    wired = { rtt = "20 ms" }
    tcp = { congestion = "bbr-v1", variant = "sack", w_max = 4000, bbr = { policer = false } }
"#;

/// A round of packet conservation begins a recovery, and with losses in each round trip there is one recovery and one such round, over
/// QUIC as over TCP: without a round free of losses it does not end.
#[test]
fn bbr_bears_over_quic_what_it_bears_over_tcp() {
    for p_e in [0.01, 0.05, 0.1] {
        let share = |(key, word): (&str, &str)| {
            let set = json!([["channel.p_e", p_e], [key, word]]);
            metric(&result_of(TEXT, &set), "throughput_per_slot").0 / (1.0 - p_e)
        };
        let (tcp, quic) = (share(("tcp.rfc.profile", "linux")), share(("tcp.flavour", "quic")));
        println!("{p_e}: TCP {tcp:.3}, QUIC {quic:.3}");
        // The headers of QUIC are longer, and the cycle of 1.25 and 0.75 loses a few percent on both sides.
        assert!(quic > 0.95 * tcp && tcp > 0.85, "{p_e}: TCP {tcp}, QUIC {quic}");
    }
}
