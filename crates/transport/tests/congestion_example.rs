//! The example of a congestion control outside the crates compiles and does what it says.

#[path = "../../../examples/congestion-control/src/main.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod example;

#[test]
fn the_window_of_the_example_is_a_sawtooth_at_the_capacity_of_the_network() {
    let windows = example::windows();
    assert_eq!(windows[..2], [20.0, 40.0], "slow start doubles");
    let steady = &windows[60..];
    let (least, largest) = (steady.iter().copied().reduce(f64::min), steady.iter().copied().reduce(f64::max));
    // The network takes 100; one segment more in a hundred, an eighth less after a loss of 102.
    // (rate reduction counts whole segments on the way).
    assert!((88.0..=0.875 * 102.0).contains(&least.unwrap()), "{least:?}");
    assert!((100.0..103.0).contains(&largest.unwrap()), "{largest:?}");
}
