//! Benchmark of the exact analysis: a table of durations over channels, loss rates and TCP variants.
//!
//! `cargo bench --bench exact [-- W_MAX K ACCURACY]`; the defaults are 24, 3 and 1e-6. The timeout `T_o` is 100 slots,
//! or `2 W_max + 2` if this is more.

use crossfade_analysis::{Model, exact};
use crossfade_channel::TwoStateMarkov;
use crossfade_transport::Variant;
use std::time::Instant;

fn main() {
    let numbers: Vec<f64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let number = |index: usize, default: f64| numbers.get(index).copied().unwrap_or(default);
    let (w_max, dupthresh, accuracy) = (number(0, 24.0) as u32, number(1, 3.0) as u32, number(2, 1e-6));
    println!("W_max {w_max}, K {dupthresh}, accuracy {accuracy:e}");
    for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        let mut times = Vec::new();
        for fd_t in [None, Some(0.64), Some(0.08), Some(0.01)] {
            for p_e in [0.001, 0.003, 0.01, 0.03, 0.1, 0.3] {
                let channel = fd_t.map_or_else(
                    || TwoStateMarkov::iid(p_e),
                    |fd_t| TwoStateMarkov::from_rayleigh(p_e, fd_t),
                );
                let channel = channel.expect("a valid channel");
                let timeout_slots = u32::max(100, 2 * w_max + 2);
                let model =
                    Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots: None, channel };
                let start = Instant::now();
                let solved = exact(&model, accuracy);
                let ms = start.elapsed().as_secs_f64() * 1e3;
                times.push(ms);
                let name = fd_t.map_or("iid".to_string(), |fd_t| format!("fd_t {fd_t}"));
                print!("{variant:?} {name} P_E {p_e}: {ms:.1} ms, ");
                match solved {
                    Ok(solved) => println!(
                        "throughput {:.8} +- {:.1e}, {} states",
                        solved.solution.throughput_per_slot, solved.truncation, solved.states
                    ),
                    Err(error) => println!("{error}"),
                }
            }
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{variant:?}: median {:.1} ms, worst {:.1} ms",
            times[times.len() / 2],
            times[times.len() - 1]
        );
    }
}
