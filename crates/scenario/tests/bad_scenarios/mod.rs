//! Tests that every error in a scenario is one line with the key, its value and the allowed values.

mod frames;
mod pacing;

use crossfade_scenario::{Overrides, Plan};
use serde_json::{Value, json};

/// Valid scenario, of which each case sets some keys.
pub(crate) const GOOD: &str = r#"
    schema = 1
    run = { duration = "1000 slots" }
    channel = { model = "iid", p_e = 0.01 }
    link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
    tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"#;

fn load(text: &str, overrides: Value) -> Result<Plan, String> {
    let overrides: Overrides = serde_json::from_value(overrides).expect("overrides");
    Plan::load(text, "bad.toml", &overrides).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_refused(result: Result<Plan, String>, fragments: &[&str], case: &dyn std::fmt::Debug) {
    let Err(line) = result else { panic!("{case:?} was taken") };
    assert!(!line.contains('\n') && !line.is_empty(), "{case:?}: {line}");
    for fragment in fragments {
        assert!(line.contains(fragment), "{case:?}: {fragment:?} is not in: {line}");
    }
}

#[test]
fn the_good_one_is_good() {
    load(GOOD, json!({})).unwrap();
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn values_and_contradictions() {
    let markov = |parameters: Value| -> Value {
        let mut channel = json!({ "model": "markov", "p_e": null });
        channel.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
        json!([["channel", channel]])
    };
    let cases: Vec<(Value, &[&str])> = vec![
        // Unknown keys, at every level.
        (
            json!([["link.rat", 1]]),
            &["link.rat", "did you mean link.rate?", "arq, delay, frame_size, framing"],
        ),
        (json!([["chanel", {}]]), &["chanel", "did you mean channel?"]),
        (json!([["tcp.rto.fix", "1 s"]]), &["tcp.rto.fix", "did you mean tcp.rto.fixed?"]),
        (json!([["reverse.channel.pe", 1]]), &["reverse.channel.pe", "did you mean reverse.channel.p_e?"]),
        (json!([["tcp", { "wmax": 6 }]]), &["tcp.wmax", "did you mean tcp.w_max?"]),
        (json!([["", 1]]), &["unknown key"]),
        // Probabilities and ranges.
        (json!([["channel.p_e", 1.5]]), &["channel.p_e = 1.5: must be between 0 and 1"]),
        (json!([["channel.p_e", -0.1]]), &["channel.p_e = -0.1: must be between 0 and 1"]),
        (json!([["channel.p_e", "150 %"]]), &["channel.p_e = \"150 %\"", "between 0 and 1"]),
        (json!([["channel.p_e", "1 dB"]]), &["channel.p_e = \"1 dB\"", "a percentage such as \"1 %\""]),
        (json!([["channel.p_e", "nan"]]), &["channel.p_e = \"nan\"", "between 0 and 1"]),
        (json!([["channel.p_e", true]]), &["channel.p_e = true: must be a number between 0 and 1"]),
        (json!([["channel.p_e", [0.1]]]), &["channel.p_e = [0.1]: must be a number"]),
        (
            json!([["channel.p_e", null]]),
            &["channel: incomplete", "\"iid\" takes p_e alone", "given: nothing"],
        ),
        (json!([["tcp.w_max", 0]]), &["tcp.w_max = 0: must be between 1 and 1000000"]),
        (json!([["tcp.w_max", 24.0]]), &["tcp.w_max = 24.0: must be a whole number"]),
        (json!([["tcp.w_max", -1]]), &["tcp.w_max = -1: must be between 1 and 1000000"]),
        (json!([["tcp.w_max", u64::MAX]]), &["tcp.w_max = 18446744073709551615: must be between"]),
        (json!([["tcp.w_max", 1e300]]), &["tcp.w_max = 1e+300", "must be a whole number"]),
        (json!([["tcp.w_max", "24"]]), &["tcp.w_max = \"24\": must be a whole number"]),
        (json!([["tcp.dupthresh", 0]]), &["tcp.dupthresh = 0: must be between 1"]),
        (json!([["tcp.initial_window", 0.5]]), &["tcp.initial_window = 0.5: must be between 1"]),
        (json!([["tcp.initial_window", 25]]), &["tcp.initial_window = 25: must be at most tcp.w_max = 24"]),
        (json!([["tcp.initial_ssthresh", 0]]), &["tcp.initial_ssthresh = 0: must be between 1"]),
        (json!([["tcp.limited_transmit", 1]]), &["tcp.limited_transmit = 1: must be true or false"]),
        (
            json!([["tcp.variant", "rino"]]),
            &["tcp.variant = \"rino\"", "old-tahoe, tahoe", "did you mean \"reno\"?"],
        ),
        (json!([["tcp.variant", 3]]), &["tcp.variant = 3: must be one of old-tahoe"]),
        (json!([["tcp.flavour", "rcf"]]), &["tcp.flavour = \"rcf\": must be one of paper, ns2, rfc"]),
        (
            json!([["tcp", { "flavour": "rfc", "variant": "tahoe", "rto": { "fixed": null } }]]),
            &["tcp.variant = \"tahoe\": must be one of reno, newreno, sack, cubic for flavour \"rfc\""],
        ),
        (json!([["tcp.variant", "cubic"]]), &["tcp.variant = \"cubic\": needs tcp.flavour = \"rfc\""]),
        (json!([["tcp.rfc.ecn", true]]), &["tcp.rfc contradicts tcp.flavour"]),
        (
            json!([["tcp", { "flavour": "rfc", "variant": "reno", "rfc": { "rack": true } }]]),
            &["tcp.rfc.rack = true: needs SACK"],
        ),
        (
            json!([["tcp", { "flavour": "rfc", "variant": "sack", "rfc": { "tail_loss_probe": true } }]]),
            &["tcp.rfc.tail_loss_probe = true: needs tcp.rfc.rack"],
        ),
        (
            json!([["tcp", { "flavour": "rfc", "variant": "sack", "rfc": { "delayed_ack": "500 ms" } }]]),
            &["tcp.rfc.delayed_ack = \"500 ms\": must be below 500 ms"],
        ),
        // Flows, the wired segment and queues.
        (json!([["flows.web.traffic", "transfer"]]), &["flows.web.size: missing", "transfer"]),
        (json!([["flows.web.size", "10 kB"]]), &["flows.web.size contradicts flows.web.traffic = \"bulk\""]),
        (
            json!([["flows.web", { "traffic": "arrivals", "size": "10 kB" }]]),
            &["flows.web.arrivals_per_s: missing"],
        ),
        (json!([["flows.v", { "traffic": "udp" }]]), &["flows.v.rate: missing"]),
        (
            json!([["flows.v", { "traffic": "udp", "rate": "1 Mbit/s", "on": "1 s" }]]),
            &["flows.v.on: needs both on and off"],
        ),
        (json!([["flows.a b.count", 2]]), &["a flow's name has letters, digits"]),
        (json!([["flows.a.count", 0]]), &["flows.a.count = 0: must be"]),
        (json!([["flows.a.tcp.w_max", 0]]), &["flows.a.tcp.w_max = 0: must be"]),
        (json!([["flows.a", { "count": 2, "tcp": { "gate": "slot" } }]]), &["flows.a.tcp.gate = \"slot\""]),
        (
            json!([["wired", { "rtt": "1 ms", "one_way_delay": "1 ms" }]]),
            &["wired.rtt contradicts wired.one_way"],
        ),
        (
            json!([["link.queue.discipline", "red"]]),
            &["link.queue.discipline = \"red\": needs link.queue.limit"],
        ),
        (json!([["link.queue.target", "5 ms"]]), &["link.queue.target contradicts link.queue.discipline"]),
        (
            json!([["link.queue", { "discipline": "red", "limit": "50 packets", "min_th": 20 }]]),
            &["link.queue.max_th = 15: must be above link.queue.min_th = 20"],
        ),
        (
            json!([["link.queue", { "discipline": "codel", "limit": "50 packets", "target": "1 s" }]]),
            &["link.queue.target = \"1 s\": must be at most link.queue.interval"],
        ),
        (
            json!([["link.queue", { "discipline": "codel", "limit": "1 kB" }]]),
            &["link.queue.limit", "must let in a packet"],
        ),
        (
            json!([["reverse.queue", { "discipline": "codel", "limit": "50 packets" }]]),
            &["reverse.queue.discipline = \"codel\": needs a link with a rate"],
        ),
        (
            json!([["channel.model", "rician"]]),
            &["channel.model = \"rician\": must be one of none, iid, markov"],
        ),
        // Units.
        (json!([["link.rate", 1_500_000]]), &["link.rate = 1500000: must be a positive bit rate such as"]),
        (json!([["link.rate", "1.5 Mbps"]]), &["link.rate = \"1.5 Mbps\"", "\"1.5 Mbit/s\""]),
        (json!([["link.rate", "0 bit/s"]]), &["link.rate = \"0 bit/s\": must be a positive bit rate"]),
        (json!([["link.rate", "1 bit/s"]]), &["link.rate", "too slow", "more than 1 h"]),
        (json!([["link.packet_size", "1400"]]), &["link.packet_size = \"1400\"", "\"1400 B\""]),
        (json!([["link.packet_size", "0 B"]]), &["link.packet_size = \"0 B\": must be at least 1 B"]),
        (json!([["link.packet_size", "1 MB"]]), &["link.packet_size = \"1 MB\"", "at most 65535 B"]),
        (json!([["link.delay", 5]]), &["link.delay = 5: must be a time such as \"100 ms\""]),
        (json!([["link.delay", "-5 ms"]]), &["link.delay = \"-5 ms\": must be a time"]),
        (json!([["link.delay", "1e9 h"]]), &["link.delay = \"1e9 h\": must be a time"]),
        (json!([["link.delay", "1e18 slots"]]), &["link.delay", "must be at most 100 days"]),
        (json!([["link.queue", "50 packets"]]), &["link.queue = \"50 packets\": must be a table"]),
        (
            json!([["link.queue.limit", 50]]),
            &["link.queue.limit = 50: must be a number of packets or bytes such as"],
        ),
        (
            json!([["link.queue.limit", "-1 packets"]]),
            &["link.queue.limit = \"-1 packets\"", "\"unlimited\""],
        ),
        (json!([["reverse.rate", "1e-3 bit/s"]]), &["reverse.rate", "too slow"]),
        // Runs.
        (json!([["run.segments", 100]]), &["run.segments contradicts run.duration"]),
        (json!([["run.duration", "0.5 slots"]]), &["run.duration = \"0.5 slots\": must be at least a slot"]),
        (
            json!([["run.warmup", "1000 slots"]]),
            &["run.warmup = \"1000 slots\": must be shorter than run.duration"],
        ),
        (json!([["run.runs", 0]]), &["run.runs = 0: must be between 1"]),
        (json!([["run", { "runs": 10, "precision": "1 %" }]]), &["run.runs contradicts run.precision"]),
        (json!([["run.precision", 0]]), &["run.precision = 0: must be above 0"]),
        (json!([["run.precision", "1"]]), &["run.precision = 1: must be above 0 and below 1"]),
        (json!([["run.max_runs", 100]]), &["run.max_runs: needs run.precision"]),
        (json!([["run.metric", "timeouts"]]), &["run.metric: needs run.precision"]),
        (json!([["run", { "count": 9, "precision": 0.1 }]]), &["run.count contradicts run.precision"]),
        (json!([["run", { "count": 9, "runs": 10 }]]), &["run.runs contradicts run.count"]),
        (json!([["run.count", 0]]), &["run.count = 0: must be between 1"]),
        (json!([["run.seed", -1]]), &["run.seed = -1: must be at least 0"]),
        (json!([["run", { "duration": null, "segments": 0 }]]), &["run.segments = 0: must be between 1"]),
        (
            json!([["run", { "duration": null, "segments": 9 }], ["channel.p_e", 1]]),
            &["run.segments contradicts channel", "loses everything", "use run.duration"],
        ),
        // Channels.
        (json!([["channel.model", null]]), &["channel.model: missing; one of none, iid"]),
        (
            json!([["channel.fd_t", 0.01]]),
            &["channel.fd_t contradicts channel.model = \"iid\": it takes p_e alone"],
        ),
        (json!([["channel.clock", "slot"]]), &["channel.clock contradicts channel.model = \"iid\""]),
        (
            json!([["channel.model", "none"]]),
            &["channel.p_e contradicts channel.model = \"none\"", "no other key"],
        ),
        (
            json!([["channel", { "model": "drop-list", "drops": [3] }]]),
            &["channel.drops contradicts channel.p_e: model \"drop-list\" takes drops alone"],
        ),
        (
            json!([["channel", { "model": "drop-list", "p_e": null, "drops": [3, 3] }]]),
            &["channel.drops[1] = 3: must be above the one before it, 3"],
        ),
        (
            json!([["channel", { "model": "drop-list", "p_e": null, "drops": [] }]]),
            &["channel.drops = []", "model \"none\""],
        ),
        (
            json!([["channel", { "model": "drop-list", "p_e": null, "drops": [-3] }]]),
            &["channel.drops[0] = -3: must be at least 0"],
        ),
        (
            json!([["channel", { "model": "drop-list", "p_e": null, "drops": [1.5] }]]),
            &["channel.drops[0] = 1.5: must be a whole number"],
        ),
        (
            json!([["channel", { "model": "drop-list", "p_e": null }]]),
            &["channel: incomplete", "takes drops alone"],
        ),
        (markov(json!({ "p_e": 0.9, "mean_burst": 2 })), &["channel.p_e = 0.9", "where mean_burst is 2"]),
        (markov(json!({ "p_e": 0.1, "mean_burst": 0.5 })), &["channel.mean_burst = 0.5: must be between 1"]),
        (markov(json!({ "p_e": 0.1, "fd_t": 0 })), &["channel.fd_t = 0: must be above 0"]),
        (markov(json!({ "p_e": 0.1, "fd_t": -0.1 })), &["channel.fd_t = -0.1: must be above 0"]),
        (
            markov(json!({ "p_e": 0.1, "fd_t": 0.1, "mean_burst": 2 })),
            &["channel.mean_burst contradicts channel.fd_t"],
        ),
        (
            markov(json!({ "p_e": 0.1, "fading_margin_db": 10, "fd_t": 0.1 })),
            &["channel.fading_margin_db contradicts channel.p_e"],
        ),
        (markov(json!({ "p_gg": 0.9, "p_bb": 0.1, "p_e": 0.1 })), &["channel.p_gg contradicts channel.p_e"]),
        (markov(json!({ "p_bb": 0.1, "fd_t": 0.1 })), &["channel.p_bb contradicts channel.fd_t"]),
        (markov(json!({ "p_gg": 1, "p_bb": 1 })), &["channel", "p_gg = 1 contradicts p_bb = 1"]),
        (markov(json!({ "p_gg": 0.9 })), &["channel: incomplete", "{p_gg, p_bb}", "given: p_gg"]),
        (markov(json!({ "p_e": 0.9 })), &["channel: incomplete", "given: p_e"]),
        (markov(json!({ "fd_t": 0.9 })), &["channel: incomplete", "given: fd_t"]),
        (
            markov(json!({ "p_e": 0.1, "fd_t": 0.1, "clock": "packet" })),
            &["channel.clock = \"packet\"", "slot, frame, tr"],
        ),
        (json!([["channel", { "model": "rayleigh", "mean_burst": 3 }]]), &["channel.mean_burst contradicts"]),
        (json!([["reverse.channel", { "model": "iid" }]]), &["reverse.channel: incomplete"]),
        (
            json!([["reverse.channel", { "p_e": 0.1 }]]),
            &["reverse.channel.p_e contradicts reverse.channel.model"],
        ),
        // TCP.
        (json!([["tcp.variant", null]]), &["tcp.variant: missing; one of old-tahoe"]),
        (json!([["tcp.w_max", "0 B"]]), &["tcp.w_max = \"0 B\": must be a whole number", "\"64 KiB\""]),
        (
            json!([["tcp", { "w_max": "64 MiB", "headers": "1399 B" }]]),
            &["tcp.w_max = \"67108864 B\": must be at most 1000000 segments of 1 B"],
        ),
        (
            json!([["link.packet_size", null], ["tcp.mss", "65535 B"]]),
            &["tcp.mss = \"65535 B\": with tcp.headers = \"40 B\" must be at most 65535 B"],
        ),
        (json!([["link.rate", null]]), &["link.rate: missing"]),
        (json!([["link.packet_size", null]]), &["link.packet_size: missing"]),
        (json!([["tcp.rto.fixed", null]]), &["tcp.rto.fixed: missing"]),
        (
            json!([["tcp.rto.fixed", "0.5 slots"]]),
            &["tcp.rto.fixed = \"0.5 slots\": must be at least a slot"],
        ),
        (json!([["tcp.rto.fixed", "0 s"]]), &["tcp.rto.fixed = \"0 s\": must be longer than 0 s"]),
        (json!([["tcp.rto.fixed", 100]]), &["tcp.rto.fixed = 100: must be a time such as"]),
        (json!([["tcp.rto.min", "1 s"]]), &["tcp.rto.min contradicts tcp.rto.fixed"]),
        (json!([["tcp.rto", { "fixed": null, "min": "1 s" }]]), &["tcp.rto.min contradicts tcp.flavour"]),
        (json!([["tcp.rto.max", "60 s"]]), &["tcp.rto.max contradicts tcp.rto.fixed", "does not back off"]),
        (
            json!([["tcp.rto", { "backoff": true, "max": "1 slots" }]]),
            &["tcp.rto.max = \"1 slots\": must be at least tcp.rto.fixed"],
        ),
        (
            json!([["tcp", { "flavour": "ns2", "rto": { "fixed": null, "max": "1 s" } }]]),
            &["tcp.rto.max = \"1 s\": must be at least tcp.rto.initial (3 s)"],
        ),
        (
            json!([["tcp", { "flavour": "ns2", "rto": { "fixed": null, "granularity": "0 ms" } }]]),
            &["tcp.rto.granularity = \"0 s\": must be longer than 0 s"],
        ),
        (json!([["tcp.mss", "1400 B"]]), &["tcp.mss = \"1400 B\"", "tcp.headers = \"40 B\"", "must fill"]),
        (json!([["tcp.headers", "1400 B"]]), &["tcp.headers = \"1400 B\": leaves no data"]),
        (json!([["tcp.limited_transmit", true]]), &["tcp.limited_transmit contradicts tcp.flavour"]),
        (
            json!([["tcp", { "flavour": "ns2", "variant": "old-tahoe", "limited_transmit": true }]]),
            &["tcp.limited_transmit contradicts tcp.variant"],
        ),
        // Others.
        (json!([["methods", ["analisis"]]]), &["methods[0] = \"analisis\"", "did you mean \"analysis\"?"]),
        (json!([["methods", []]]), &["methods = []", "at least one"]),
        (json!([["methods", "simulation"]]), &["methods = \"simulation\": must be a list"]),
        (json!([["title", "two\nlines"]]), &["title = \"two\\nlines\": must be one line"]),
        (json!([["title", 1]]), &["title = 1: must be a string"]),
        (json!([["schema", 3]]), &["schema = 3: must be between 1 and 2"]),
        (json!([["sweep", {}]]), &["sweep: an axis is not set"]),
        (json!([["channel.p_e.x", 1]]), &["channel.p_e.x: unknown key; channel.p_e is a number"]),
    ];
    assert!(cases.len() >= 100);
    for (set, fragments) in cases {
        assert_refused(load(GOOD, json!({ "set": set })), fragments, &set);
    }
}

#[test]
fn files() {
    let cases: &[(&str, &[&str])] = &[
        ("", &["schema: missing; write schema = 2"]),
        ("schema = 1", &["link.rate: missing"]),
        ("schema = 1\nlink = { rate = }", &["bad.toml:2:17: "]),
        ("schema = 1\nschema = 1", &["bad.toml:2:1: duplicate key"]),
        ("schema = 1\n[channel]\np_e = nan", &["channel.p_e = NaN: must be a finite number"]),
        ("schema = 1\n[channel]\np_e = +inf", &["channel.p_e = inf: must be a finite number"]),
        ("schema = 99999999999999999999", &["bad.toml:1:10: "]),
        ("schema = 1979-05-27", &["schema = 1979-05-27: no key takes a date"]),
        ("schema = \"1\"", &["schema = \"1\": must be 2"]),
        ("schema = 1.0", &["schema = 1.0: must be 2"]),
        ("schema = 3\nnew = 1", &["schema = 3: must be 2"]),
        ("schema = 1\nlink = 5", &["link = 5: must be a table"]),
        ("schema = 1\n[[link]]\nrate = \"1 bit/s\"", &["link = [", "must be a table"]),
        ("schema = 1\nsweep = 5", &["sweep = 5: must be a table of axes"]),
        ("schema = 1\n\"a\\nb\" = 5", &["a\\nb: unknown key"]),
        ("\u{feff}schema = 1\n\u{0}", &["bad.toml:2:"]),
    ];
    for (text, fragments) in cases {
        assert_refused(load(text, json!({})), fragments, text);
    }
}

#[test]
fn sweeps_and_overrides() {
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({ "over": [["channel.pe", [1]]] }), &["channel.pe", "did you mean channel.p_e?"]),
        (json!({ "over": [["channel.p_e", []]] }), &["sweep.\"channel.p_e\": must have at least one value"]),
        (
            json!({ "over": [["channel.p_e", "log:0:1:3"]] }),
            &["\"log:0:1:3\"", "must be log:start:stop:points"],
        ),
        (json!({ "over": [["channel.p_e", "0:1:0"]] }), &["\"0:1:0\"", "must be start:stop:step"]),
        (json!({ "over": [["channel.p_e", "0:1:1e-7"]] }), &["at most 100000 are allowed"]),
        (json!({ "over": [["run.seed", [1, 2]]] }), &["run.seed cannot be an axis"]),
        (
            json!({ "over": [["tcp.w_max", "1:400:1"], ["tcp.dupthresh", "1:400:1"]] }),
            &["400 x 400 points", "100000"],
        ),
        (json!({ "runs": 1_000_000, "over": [["tcp.w_max", "1:400:1"]] }), &["400 points x 1000000 runs"]),
        (json!({ "over": [["channel.p_e", [0.1, 1.5]]] }), &["channel.p_e = 1.5: must be between 0 and 1"]),
        (
            json!({ "over": [["tcp.w_max", [24, 6]], ["tcp.initial_window", [6, 12]]] }),
            &["tcp.initial_window = 12: must be at most tcp.w_max = 6"],
        ),
        (
            json!({ "set": [["tcp.mss", "1360 B"]], "over": [["link.packet_size", "1400 B,1000 B"]] }),
            &["tcp.mss = \"1360 B\"", "(at link.packet_size = \"1000 B\")"],
        ),
        (
            json!({ "set": [["channel.p_e", 0.1]], "over": [["channel.p_e", [0.1]]] }),
            &["channel.p_e (set) contradicts axis \"channel.p_e\""],
        ),
        (
            json!({ "over": [["channel.p_e", [0.1]], ["channel", [{ "p_e": 0.2 }]]] }),
            &["both set channel.p_e"],
        ),
        (json!({ "runs": "many" }), &["run.runs = \"many\": must be a whole number"]),
        (json!({ "precision": "1 dB" }), &["run.precision = \"1 dB\""]),
        (json!({ "runs": 10, "precision": 0.1 }), &["run.runs contradicts run.precision"]),
        (json!({ "seed": 1.5 }), &["run.seed = 1.5: must be a whole number"]),
    ];
    for (overrides, fragments) in cases {
        assert_refused(load(GOOD, overrides.clone()), fragments, &overrides);
    }
}
