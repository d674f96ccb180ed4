//! Effect of each option of nulling on TCP goodput over 8 hops with the best of a few window limits, and on 3 Mbit/s of
//! UDP over 12 hops.
//!
//! `cargo run --release -p crossfade-mac --example options -- [runs] [seconds]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{OFFERED_BPS, chain, constant_rate, mean_mbps, nulling, sinr};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::mean_exchanges;
use crossfade_mac::{DcfConfig, Knowledge, Mac, MeshConfig, NullingConfig, NullingRule, Overload};

fn main() {
    let number = |i: usize, default: u64| {
        std::env::args().nth(i).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (runs, seconds) = (number(1, 4), number(2, 20));
    let usual = nulling(2);
    let with = |nulling| chain(8, 250.0, Mac::Nulling(nulling));
    let ms = SimTime::from_millis;
    let without_eifs = MeshConfig { dcf: DcfConfig { eifs: false, ..DcfConfig::default() }, ..with(usual) };
    let cases = [
        ("plain", chain(8, 250.0, Mac::Plain)),
        ("nulling", with(usual)),
        ("paper rule", with(NullingConfig { rule: NullingRule::Paper, ..usual })),
        ("least squares", with(NullingConfig { overload: Overload::LeastSquares, ..usual })),
        ("sticky", with(NullingConfig { sticky: true, ..usual })),
        ("estimation -20 dB", with(NullingConfig { estimation_error_db: Some(-20.0), ..usual })),
        ("estimation -10 dB", with(NullingConfig { estimation_error_db: Some(-10.0), ..usual })),
        ("coherence 100 ms", with(NullingConfig { coherence_time: Some(ms(100)), ..usual })),
        ("coherence 10 ms", with(NullingConfig { coherence_time: Some(ms(10)), ..usual })),
        ("without EIFS", without_eifs),
        ("4 antennas", with(nulling(4))),
        ("plain, sinr, exponent 2", MeshConfig { reception: sinr(2.0, 0.0), ..chain(8, 250.0, Mac::Plain) }),
        ("plain, sinr, exponent 4", MeshConfig { reception: sinr(4.0, 0.0), ..chain(8, 250.0, Mac::Plain) }),
        ("the same, 4 dB", MeshConfig { reception: sinr(4.0, 4.0), ..chain(8, 250.0, Mac::Plain) }),
        ("nulling, sinr, exponent 4", MeshConfig { reception: sinr(4.0, 0.0), ..with(usual) }),
    ];
    println!("option,cwl,mbps,se");
    for (name, config) in cases {
        let best = (3..=6).map(|window| (window, mean_mbps(&config, window, runs, seconds)));
        let (window, (mbps, error)) = best.max_by(|a, b| a.1.0.total_cmp(&b.1.0)).unwrap();
        println!("{name},{window},{mbps:.4},{error:.4}");
    }
    println!("udp over 12 hops,mbps");
    let perfect = NullingConfig { knowledge: Knowledge::Perfect, ..usual };
    for (name, mac) in
        [("plain", Mac::Plain), ("nulling", Mac::Nulling(usual)), ("nulling-genie", Mac::Nulling(perfect))]
    {
        let (mut mbps, mut exchanges) = (0.0, 0.0);
        for run in 0..runs {
            let seed = RunSeed { seed: 1, run };
            let report =
                constant_rate(chain(12, 250.0, mac), OFFERED_BPS, seed, ms(2000), ms(1000 * seconds));
            mbps +=
                report.nodes[12].delivered_bytes as f64 * 8e-6 / report.elapsed.as_secs_f64() / runs as f64;
            exchanges += mean_exchanges(&report.nodes, report.elapsed) / runs as f64;
        }
        println!("{name},{mbps:.3} with {exchanges:.2} exchanges at a time");
    }
}
