//! Table of the number of protocol states with delayed acknowledgements, and of the time to solve for their stationary
//! distribution.
//!
//! `cargo run --release -p crossfade-analysis --example delay_states [-- LIMIT]`

use crossfade_analysis::{Model, exact, exact_delayed};
use crossfade_channel::TwoStateMarkov;
use crossfade_transport::Variant;
use std::time::Instant;

fn main() {
    let limit = std::env::args().nth(1).map_or(1_000_000, |limit| limit.parse().expect("a whole number"));
    let channel = TwoStateMarkov::from_rayleigh(0.1, 0.08).expect("a valid channel");
    println!("states (s to solve), throughput; K 3, T_o 100, fd_t 0.08, P_E 0.1; at most {limit} states");
    for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        for w_max in [2, 3, 4, 5, 6, 8, 10, 12, 14] {
            let model =
                Model { variant, w_max, dupthresh: 3, timeout_slots: 100, backoff_max_slots: None, channel };
            let instant = exact(&model, 1e-9).expect("it fits").solution.throughput_per_slot;
            print!("{variant:?}, W_max {w_max}: exact {instant:.8};");
            for ack_delay_slots in [0, 1, 2, 3, 4, 6, 8, 12, 20] {
                let start = Instant::now();
                match exact_delayed(&model, ack_delay_slots, limit) {
                    Ok(solved) => print!(
                        " d {ack_delay_slots}: {} ({:.2}) {:.8};",
                        solved.states,
                        start.elapsed().as_secs_f64(),
                        solved.solution.throughput_per_slot
                    ),
                    Err(error) => {
                        print!(" d {ack_delay_slots}: {error} ({:.2})", start.elapsed().as_secs_f64());
                        break;
                    }
                }
            }
            println!();
        }
    }
}
