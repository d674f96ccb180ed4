//! Gain of nulling in TCP goodput over chains: for each number of hops, each MAC with its best window limit.
//!
//! `cargo run --release -p crossfade-mac --example gains -- [runs] [seconds] [hops,...]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{chain, mean_mbps, nulling};
use crossfade_mac::{Knowledge, Mac, NullingConfig};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |i: usize, default: u64| arguments.get(i).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (runs, seconds) = (number(0, 4), number(1, 20));
    let hops = arguments.get(2).map_or("4,6,8,10", String::as_str);
    let overheard = nulling(2);
    let perfect = NullingConfig { knowledge: Knowledge::Perfect, ..overheard };
    let cases = [
        ("plain", 250.0, Mac::Plain),
        ("nulling", 250.0, Mac::Nulling(overheard)),
        ("nulling-genie", 250.0, Mac::Nulling(perfect)),
        ("plain, wider", 450.0, Mac::Plain),
        ("nulling, wider", 450.0, Mac::Nulling(overheard)),
    ];
    println!("hops,mac,cwl,mbps,se,all");
    for hops in hops.split(',').map(|text| text.parse::<usize>().unwrap()) {
        for (name, interference, mac) in cases {
            let config = chain(hops, interference, mac);
            let means: Vec<(u32, (f64, f64))> = (1..=hops as u32 + 2)
                .map(|window| (window, mean_mbps(&config, window, runs, seconds)))
                .collect();
            let (window, (mbps, se)) = means.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).unwrap();
            let all: Vec<String> = means.iter().map(|(_, (mbps, _))| format!("{mbps:.3}")).collect();
            println!("{hops},{name},{window},{mbps:.4},{se:.4},{}", all.join(" "));
        }
    }
}
