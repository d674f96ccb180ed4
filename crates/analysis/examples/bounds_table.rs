//! Table of the widths of the bounds, of the exact throughput within them, and of the points where Reno's throughput
//! exceeds its upper bound.
//!
//! `cargo run --release -p crossfade-analysis --example bounds_table`

use crossfade_analysis::{Model, bounds, exact, paper_bounds};
use crossfade_channel::TwoStateMarkov;
use crossfade_transport::Variant;

const LOSS_RATES: [f64; 6] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3];
const CHANNELS: [Option<f64>; 4] = [None, Some(0.64), Some(0.08), Some(0.01)];

fn main() {
    let mut excesses = Vec::new();
    println!(
        "Relative width of the bounds in percent, and what the exact throughput is below the tight upper"
    );
    println!("bound (median and worst of 24: 6 loss rates x 4 channels); T_o 100 slots");
    println!(
        "| variant | W_max | K | paper, median | worst | tight, median | worst | below, median | worst |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        for w_max in [6, 24] {
            for dupthresh in [1, 2, 3] {
                if variant == Variant::OldTahoe && dupthresh > 1 {
                    continue;
                }
                let mut columns = [const { Vec::new() }; 3];
                for (fd_t, p_e) in CHANNELS.iter().flat_map(|fd_t| LOSS_RATES.map(|p_e| (*fd_t, p_e))) {
                    let point = Point::new(variant, w_max, dupthresh, fd_t, p_e);
                    columns[0].push(point.paper_width);
                    columns[1].push(point.tight_width);
                    columns[2].push(point.below_upper);
                    if matches!(variant, Variant::Reno | Variant::NewReno) {
                        excesses.push(point);
                    }
                }
                print!("| {variant:?} | {w_max} | {dupthresh} |");
                for column in &mut columns {
                    column.sort_by(f64::total_cmp);
                    print!(" {:.4} | {:.4} |", 100.0 * column[12], 100.0 * column[23]);
                }
                println!();
            }
        }
    }
    println!("\nThe worst tight width at each loss rate, in percent (over W_max, K and channels)");
    print_by_loss_rate();
    for (what, of) in [
        ("throughput", (|point| -point.below_upper) as fn(&Point) -> f64),
        ("transmissions", |point| point.sent_excess.abs()),
    ] {
        excesses.sort_by(|a, b| of(b).total_cmp(&of(a)));
        let above = excesses.iter().filter(|point| of(point) > 1e-7).count();
        println!(
            "\nReno and NewReno, {what} beyond the bounds' by more than 1e-7 at {above} of {} points",
            excesses.len()
        );
        for point in &excesses[..12] {
            println!("  {}: {:+.2e}", point.name, of(point));
        }
    }
}

struct Point {
    name: String,
    paper_width: f64,
    tight_width: f64,
    below_upper: f64,
    sent_excess: f64,
}

impl Point {
    fn new(variant: Variant, w_max: u32, dupthresh: u32, fd_t: Option<f64>, p_e: f64) -> Self {
        let channel =
            fd_t.map_or_else(|| TwoStateMarkov::iid(p_e), |fd_t| TwoStateMarkov::from_rayleigh(p_e, fd_t));
        let channel = channel.expect("a valid channel");
        let model = Model { variant, w_max, dupthresh, timeout_slots: 100, backoff_max_slots: None, channel };
        let accuracy = if variant == Variant::OldTahoe { 1e-6 } else { 1e-9 };
        let exact = exact(&model, accuracy).expect("it fits").solution;
        let (tight, paper) = (bounds(&model).expect("valid"), paper_bounds(&model).expect("valid"));
        let width = |lower: f64, upper: f64| (upper - lower) / upper;
        Self {
            name: format!(
                "{variant:?}, W_max {w_max}, K {dupthresh}, {}, P_E {p_e}",
                fd_t.map_or("iid".into(), |fd_t| format!("fd_t {fd_t}"))
            ),
            paper_width: width(paper.throughput_lower, paper.throughput_upper),
            tight_width: width(tight.throughput_lower, tight.throughput_upper),
            below_upper: width(exact.throughput_per_slot, tight.throughput_upper),
            sent_excess: exact.transmissions_per_slot / tight.transmissions_per_slot - 1.0,
        }
    }
}

fn print_by_loss_rate() {
    println!("| P_E | paper | tight |");
    println!("|---|---|---|");
    for p_e in LOSS_RATES {
        let mut worst = [0.0_f64; 2];
        for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno] {
            for (w_max, dupthresh) in [6, 24].into_iter().flat_map(|w_max| [1, 2, 3].map(|k| (w_max, k))) {
                for fd_t in CHANNELS {
                    let channel = fd_t.map_or_else(
                        || TwoStateMarkov::iid(p_e),
                        |fd_t| TwoStateMarkov::from_rayleigh(p_e, fd_t),
                    );
                    let channel = channel.expect("a valid channel");
                    let model = Model {
                        variant,
                        w_max,
                        dupthresh,
                        timeout_slots: 100,
                        backoff_max_slots: None,
                        channel,
                    };
                    for (worst, bounds) in worst.iter_mut().zip([paper_bounds(&model), bounds(&model)]) {
                        let bounds = bounds.expect("valid");
                        *worst = worst.max(1.0 - bounds.throughput_lower / bounds.throughput_upper);
                    }
                }
            }
        }
        println!("| {p_e} | {:.3} | {:.4} |", 100.0 * worst[0], 100.0 * worst[1]);
    }
}
