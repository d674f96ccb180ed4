//! TCP goodput over chains compared with ns-2: for every golden cell, both values and their difference.
//!
//! `cargo run --release -p crossfade-mac --example ns2_chain -- equal|wider [runs] [seconds]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{cells, chain, mean_mbps};
use crossfade_mac::Mac;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wider = arguments.first().is_some_and(|class| class == "wider");
    let number =
        |i: usize, default: u64| arguments.get(i).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (runs, seconds) = (number(1, 4), number(2, 60));
    let (text, interference) = if wider {
        (include_str!("../../../tests/data/golden/ns2-chain/wider.csv"), 450.0)
    } else {
        (include_str!("../../../tests/data/golden/ns2-chain/equal.csv"), 250.0)
    };
    println!("hops,cwl,ns2_mbps,mbps,se,difference_percent");
    for (hops, window, golden, _) in cells(text) {
        let (ours, error) = mean_mbps(&chain(hops, interference, Mac::Plain), window, runs, seconds);
        let difference = 100.0 * (ours / golden - 1.0);
        println!("{hops},{window},{golden:.5},{ours:.5},{error:.5},{difference:+.2}");
    }
}
