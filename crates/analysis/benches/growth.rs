//! Benchmark of the growth of the cost of `bounds` and `exact` with the window: median and worst time over 6 loss rates
//! x 4 channels.
//!
//! `cargo bench --bench growth [-- W_MAX ...]`; the windows are 8 to 64 by default. K is 3, the accuracy 1e-6, the
//! timeout `T_o` 100 slots or `2 W_max + 2`.

use crossfade_analysis::{Model, bounds, exact};
use crossfade_channel::TwoStateMarkov;
use crossfade_transport::Variant;
use std::time::Instant;

fn main() {
    let asked: Vec<u32> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let widths = if asked.is_empty() { vec![8, 16, 24, 32, 48, 64] } else { asked };
    println!(
        "| variant | W_max | bounds, median ms | worst | exact, median ms | worst | most states | refused |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        for &w_max in &widths {
            let (mut bounded, mut solved, mut refused, mut states) = (vec![], vec![], vec![], 0);
            for model in models(variant, w_max) {
                bounded.push(milliseconds(|| bounds(&model).expect("valid")).1);
                let (result, ms) = milliseconds(|| exact(&model, 1e-6));
                match result {
                    Ok(result) => {
                        states = states.max(result.states);
                        solved.push(ms);
                    }
                    Err(_) => refused.push(ms),
                }
            }
            print!("| {variant:?} | {w_max} | ");
            print_times(&mut bounded);
            print_times(&mut solved);
            let longest = refused.iter().fold(0.0, |longest: f64, ms| longest.max(*ms));
            match refused.len() {
                0 => println!("{states} | 0 |"),
                count => println!("{states} | {count}, after {longest:.0} ms at most |"),
            }
        }
    }
}

fn models(variant: Variant, w_max: u32) -> impl Iterator<Item = Model> {
    [None, Some(0.64), Some(0.08), Some(0.01)].into_iter().flat_map(move |fd_t| {
        [0.001, 0.003, 0.01, 0.03, 0.1, 0.3].map(|p_e| {
            let channel = fd_t
                .map_or_else(|| TwoStateMarkov::iid(p_e), |fd_t| TwoStateMarkov::from_rayleigh(p_e, fd_t));
            let timeout_slots = u32::max(100, 2 * w_max + 2);
            let channel = channel.expect("a valid channel");
            Model { variant, w_max, dupthresh: 3, timeout_slots, backoff_max_slots: None, channel }
        })
    })
}

/// Result of `work` and its mean CPU time in milliseconds, over as many calls as the resolution of the clock needs.
fn milliseconds<T>(work: impl Fn() -> T) -> (T, f64) {
    let start = cpu_seconds();
    let mut times = 0;
    loop {
        let result = work();
        times += 1;
        let elapsed = cpu_seconds() - start;
        if elapsed > 20.0 * TICK_SECONDS {
            return (result, elapsed * 1e3 / f64::from(times));
        }
    }
}

/// Coarsest resolution in seconds with which Linux counts the CPU time of a thread (a tick of 250 Hz).
const TICK_SECONDS: f64 = 0.004;

/// CPU time of this thread in seconds where Linux reports it, which excludes other processes; elapsed time elsewhere.
fn cpu_seconds() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    let elapsed = START.with(|start| start.elapsed().as_secs_f64());
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedstat.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(elapsed, |nanoseconds| nanoseconds * 1e-9)
}

fn print_times(times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    match times {
        [] => print!("- | - | "),
        _ => print!("{:.2} | {:.1} | ", times[times.len() / 2], times[times.len() - 1]),
    }
}
