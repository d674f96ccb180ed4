//! Tests of method `live`: the kernel's TCP through the links of a scenario, and the replay of its journal.
//!
//! The tests are skipped, with a message, if the system allows no namespaces or has no TUN device.
#![cfg(all(target_os = "linux", feature = "live"))]

use crossfade_core::RunSeed;
use crossfade_experiment::live::{Options, Session, Source, replay};
use crossfade_experiment::{ExecutionHandle, Experiment, FLOW, PointResult, Row, Shard, execute, summarise};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TEXT: &str = r#"
    schema = 1
    methods = ["simulation", "live"]
    run = { duration = "3 s", warmup = "500 ms", runs = 1 }
    channel = { model = "iid", p_e = 0.01 }
    link = { rate = "10 Mbit/s", packet_size = "1500 B" }
    reverse = { delay = "20 ms" }
    wired = { one_way_delay = "10 ms" }
    tcp = { flavour = "rfc", variant = "sack", w_max = 200, rfc = { profile = "linux", delayed_ack = "0 s" } }
"#;

fn load(set: &[(&str, Value)]) -> Experiment {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Experiment::load(TEXT, "test.toml", &Overrides { set, ..Overrides::default() }).unwrap()
}

/// Lock that lets one live run at a time pass; `None` if the system allows no live runs.
fn live() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    match crossfade_live::Host::pair(1500) {
        Ok(_) => Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(reason) => {
            println!("SKIPPED: live: {reason}");
            None
        }
    }
}

fn run(experiment: &Experiment) -> Vec<PointResult> {
    let mut rows: Vec<Row> = Vec::new();
    let handle = ExecutionHandle::default();
    assert!(
        execute(experiment, Vec::new(), 2, Shard::WHOLE, &handle, &mut |new, _| rows.extend(new)).unwrap()
    );
    summarise(experiment, &rows)
}

fn metric(result: &PointResult, name: &str) -> f64 {
    let found = result.metrics.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", result.warnings)).1.value
}

#[test]
fn a_live_run_has_the_metrics_of_a_simulation_and_its_losses() {
    let Some(_alone) = live() else { return };
    let results = run(&load(&[]));
    let [simulated, live] = &results[..] else { panic!("two methods") };
    for name in [
        "goodput_bps",
        "link_goodput_bps",
        "retransmissions",
        "rtt_mean_s",
        "frame_error_rate",
        "one_way_delay_p50_s",
    ] {
        assert!(metric(live, name) > 0.0, "{name}");
    }
    assert_eq!(metric(live, "ring_drops"), 0.0);
    // Runs have the same random draws for the same transmissions, and differ in the number of transmissions.
    let errors = |result| metric(result, "frame_errors") / metric(result, "frame_transmissions");
    assert!((errors(live) / errors(simulated) - 1.0).abs() < 0.5, "{} {}", errors(live), errors(simulated));
    // Propagation in both directions and the transmission of a packet; the rest is queueing.
    assert!(metric(live, "rtt_mean_s") > 0.0412);
    for name in ["goodput_bps", "rtt_mean_s", "one_way_delay_mean_s"] {
        let ratio = metric(live, name) / metric(simulated, name);
        println!("{name}: live / simulated = {ratio}");
        assert!((0.6..1.6).contains(&ratio), "{name}: {ratio}");
    }
}

/// A largest window of ten segments binds the kernel as it binds the simulation; without it the kernel's window would
/// be far larger (64 kB without window scaling).
#[test]
fn the_largest_window_binds_the_kernel_as_it_binds_the_simulation() {
    let Some(_alone) = live() else { return };
    let set = [("tcp.w_max", json!(10)), ("channel.p_e", json!(0.0)), ("run.duration", json!("2 s"))];
    let results = run(&load(&set));
    let [simulated, live] = &results[..] else { panic!("two methods") };
    let ratio = metric(live, "goodput_bps") / metric(simulated, "goodput_bps");
    // 1.5 s have 37 or 38 round trips of 40 ms, and fewer if a busy machine wakes threads late; with a window of 11
    // segments the ratio would be 1.1.
    assert!((0.7..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn rows_of_both_methods_are_told_apart_and_refusals_have_their_key() {
    let experiment = load(&[]);
    let keys = experiment.keys();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
    let refused = |key: &str, value: Value, words: &str| {
        let set = vec![(key.to_owned(), value)];
        let overrides = Overrides { set, methods: Some(json!(["live"])), ..Overrides::default() };
        let error = Experiment::load(TEXT, "test.toml", &overrides).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused("tcp.variant", json!("tahoe"), "tcp.variant");
    refused("tcp.mss", json!("1000 B"), "tcp.mss");
    refused("flows.voice", json!({ "traffic": "udp", "rate": "64 kbit/s" }), "flows.voice.traffic");
}

/// Keys for two flows of one host with these TCP tables.
fn two_flows(one: Value, two: Value) -> Vec<(String, Value)> {
    let flow = |tcp: Value| json!({ "traffic": "bulk", "tcp": tcp });
    vec![("flows".to_owned(), json!({ "one": flow(one), "two": flow(two) }))]
}

#[test]
fn flows_of_one_host_may_have_different_congestion_controls() {
    let Some(_alone) = live() else { return };
    let set = two_flows(json!({ "congestion": "reno" }), json!({ "congestion": "cubic" }));
    let overrides = Overrides { set, methods: Some(json!(["live"])), ..Overrides::default() };
    let experiment = Experiment::load(TEXT, "test.toml", &overrides).unwrap();
    // Congestion controls read back from the sockets, by the names of the scenario's flows.
    let options = Options { bulk: true, data_only: true, ..Options::default() };
    let mut session = Session::new(experiment.points.at(0), RunSeed { seed: 1, run: 0 }, options).unwrap();
    session.start().unwrap();
    let began = Instant::now();
    while session.delivered().contains(&0) && began.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(10));
    }
    let (report, _) = session.stop().unwrap();
    let flows: Vec<_> = report.flows.iter().map(|flow| (&*flow.name, &*flow.congestion)).collect();
    assert_eq!(flows, [("one", "reno"), ("two", "cubic")]);
    assert!(report.flows.iter().all(|flow| flow.bytes > 0), "{:?}", report.flows);
    assert_eq!(report.flags.iter().find(|flag| flag.contains("sockets")), None);
    // Results of a run name the congestion controls too, with the kernel.
    let results = run(&experiment);
    let tcp: Vec<_> = results[0].parts_of(FLOW).map(|flow| flow.tcp.as_deref().unwrap()).collect();
    assert!(tcp[0].starts_with("reno of Linux ") && tcp[1].starts_with("cubic of Linux "), "{tcp:?}");
}

#[test]
fn what_a_host_has_once_flows_cannot_have_twice() {
    for (one, two, key) in [
        (json!({}), json!({ "variant": "newreno" }), "flows.two.tcp.variant: "),
        (json!({}), json!({ "rfc": { "d_sack": false } }), "flows.two.tcp.rfc.d_sack: "),
        (json!({}), json!({ "rfc": { "delayed_ack": "40 ms" } }), "flows.two.tcp.rfc.delayed_ack: "),
        (json!({}), json!({ "w_max": 100, "congestion": "cubic" }), "flows.two.tcp.w_max: "),
        (json!({ "initial_window": 4 }), json!({}), "flows.two.tcp.initial_window: "),
    ] {
        let set = two_flows(one, two);
        let overrides = Overrides { set, methods: Some(json!(["live"])), ..Overrides::default() };
        let error = Experiment::load(TEXT, "test.toml", &overrides).unwrap_err().to_string();
        let words = "method live: not as of flow \"one\"; both have one host";
        assert!(error.starts_with(key) && error.contains(words) && !error.contains('\n'), "{error}");
    }
}

/// A temporary file of a test, which is deleted with this value.
struct Scratch(std::path::PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn a_journal_is_replayed_to_the_nanosecond() {
    let Some(_alone) = live() else { return };
    let frames = json!({ "protocol": "selective-repeat", "window": 64, "max_retransmissions": 3 });
    let cases: [&[(&str, Value)]; 3] = [
        &[],
        &[
            ("link.queue", json!({ "discipline": "codel", "limit": "100 packets" })),
            ("channel", json!({ "model": "markov", "fd_t": 0.01 })),
        ],
        &[("link.frame_size", json!("150 B")), ("link.arq", frames)],
    ];
    for (number, set) in cases.into_iter().enumerate() {
        let experiment = load(set);
        let path =
            Scratch(std::env::temp_dir().join(format!("crossfade-{}-{number}.cfj", std::process::id())));
        let source = Source {
            name: "test.toml".to_owned(),
            text: TEXT.to_owned(),
            overrides: json!({ "set": set }),
            files: BTreeMap::new(),
        };
        let journal = Some((File::create(&path.0).unwrap(), source));
        let options = Options { bulk: true, data_only: true, watch: true, journal, ..Options::default() };
        let mut session =
            Session::new(experiment.points.at(0), RunSeed { seed: 1, run: 0 }, options).unwrap();
        session.start().unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(1200) {
            sleep(Duration::from_millis(10));
        }
        let (report, events) = session.stop().unwrap();
        assert_eq!(report.congestion, ["reno"]);
        assert!(events.lines().count() > 20, "{events}");
        let bytes = std::fs::read(&path.0).unwrap();
        let found = replay(&bytes).unwrap();
        for (lane, way) in found.lanes.iter().zip(&report.directions) {
            assert_eq!(lane.difference, None, "{number} {}", lane.link);
            assert_eq!((lane.packets, lane.arrived), (way.packets, way.arrived));
            assert_eq!(lane.lost + lane.dropped, way.lost + way.dropped);
        }
        assert!(found.lanes[0].packets > 50, "{found:?}");
        // A replay with another seed has other losses, and reports a difference.
        let mut altered = bytes.clone();
        altered[bytes.len() / 2] ^= 4;
        assert!(replay(&altered).unwrap_err().to_string().contains("damaged"));
    }
}

#[test]
fn simulated_flows_share_the_link_with_what_is_real() {
    let Some(_alone) = live() else { return };
    // Simulated UDP offers 6 of 10 Mbit/s and loses some packets in the queue, which leaves a little more than 4
    // Mbit/s.
    let flows = json!({
        "me": { "traffic": "outside" },
        "others": { "traffic": "poisson", "rate": "6 Mbit/s" },
    });
    let set = [
        ("flows", flows),
        ("methods", json!(["simulation"])),
        ("channel.p_e", json!(0)),
        ("link.queue", json!({ "limit": "50 packets" })),
    ];
    let experiment = load(&set);
    let point = &experiment.points.at(0);
    let options = Options { congestion: Some("reno".to_owned()), ..Options::default() };
    let mut session = Session::new(point.clone(), RunSeed { seed: 1, run: 0 }, options).unwrap();
    session.start().unwrap();
    let [far, near] = session.hosts().clone();
    let listener = near.run(|| TcpListener::bind((near.address(), 0))).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let mut sender = far.run(|| TcpStream::connect(address)).unwrap().unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    sender.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let began = Instant::now();
    let mut bytes = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while began.elapsed() < Duration::from_secs(4) {
                sender.write_all(&[0; 4096]).ok();
            }
        });
        let mut chunk = vec![0; 65536];
        while began.elapsed() < Duration::from_secs(4) {
            let read = receiver.read(&mut chunk).unwrap_or(0);
            // The first second is slow start.
            bytes += if began.elapsed() > Duration::from_secs(1) { read } else { 0 };
        }
    });
    let (report, _) = session.stop().unwrap();
    let rate = bytes as f64 * 8.0 / 3.0;
    assert!((1.5e6..5e6).contains(&rate), "{rate} bit/s of 4 Mbit/s; {report:?}");
    assert_eq!(report.directions[0].ring_drops, 0);
    // A simulation has no outside flow, and a scenario with no other flow is refused.
    let simulated = &run(&experiment)[0];
    assert!(
        simulated.parts_of(FLOW).all(|flow| flow.part.name == "others" || flow.metrics.is_empty()),
        "{simulated:?}"
    );
    let nothing_else = json!({ "me": { "traffic": "outside" } });
    assert!(refused(&nothing_else).contains("outside"));
}

#[test]
fn one_flow_stands_for_the_program() {
    let outside = json!({ "traffic": "outside" });
    let error = refused(&json!({ "me": outside, "others": {}, "you": outside }));
    assert_eq!(
        error,
        "flows.you.traffic: \"outside\" is flows.me already, and one flow stands for the program; further ones have ports"
    );
}

/// Error of a scenario with these flows.
fn refused(flows: &serde_json::Value) -> String {
    let set = vec![("flows".to_owned(), flows.clone())];
    let loaded = Experiment::load(TEXT, "test.toml", &Overrides { set, ..Overrides::default() });
    loaded.unwrap_err().to_string()
}
