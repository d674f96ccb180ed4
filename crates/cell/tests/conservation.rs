//! The ARQ delivers every bit once and in order, for any failures and splits. The environment variable
//! `CROSSFADE_SLOTS` sets the length of the random test (1000000 for a long run).

use crossfade_cell::{ArqConfig, Piece, Receiver, Sender};
use crossfade_core::RunSeed;
use proptest::prelude::*;
use rand::RngExt;

/// Simulates `slots` slots with random arrivals, modulations, outcomes and unserved slots, and asserts that the settled
/// pieces partition the stream; returns the number of split frames.
fn run(config: ArqConfig, symbols: u32, slots: u64, stream: &str) -> u64 {
    let mut stream = RunSeed { seed: 8, run: 0 }.stream(stream);
    let mut sender = Sender::new(config, symbols);
    let mut receiver = Receiver::default();
    let (mut splits, mut settled, mut given_up) = (0, 0, 0);
    // In the air until the next slot.
    let mut flight: Option<(u64, Piece, bool)> = None;
    let mut appended = 0;
    let mut slot = 0;
    let mut settle = |sender: &mut Sender, (sent, piece, good): (u64, Piece, bool)| {
        if good || sender.fail(sent, piece) {
            given_up += u64::from(!good);
            settled += piece.end - piece.start;
            receiver.settle(piece.start, piece.end);
        }
        (settled, receiver.until())
    };
    let mut last = (0, 0);
    while slot < slots || !sender.is_idle() || flight.is_some() {
        if let Some(flight) = flight.take() {
            let now = settle(&mut sender, flight);
            assert!(now.1 >= last.1 && now.1 <= now.0, "released before it arrived: {now:?}");
            last = now;
        }
        if slot < slots && stream.random::<f64>() < 0.02 {
            let bits = stream.random_range(1..20_000);
            assert_eq!(sender.append(bits), (appended, appended + bits));
            appended += bits;
            sender.grant(appended);
        }
        // The end is a channel that works.
        let (served, lost) = if slot < slots { (0.8, 0.4) } else { (1.0, 0.0) };
        if stream.random::<f64>() < served {
            let bits = stream.random_range(1..=8);
            let had_work = sender.has_work(slot);
            let sent = sender.take(slot, bits);
            assert_eq!(sent.is_some(), had_work);
            if let Some(sent) = sent {
                let piece = sent.piece;
                assert!(
                    piece.start < piece.end && piece.end - piece.start <= u64::from(piece.bits * symbols)
                );
                assert!(!config.split || sent.is_new || piece.bits <= bits || !sent.is_split);
                assert!(!config.split || piece.bits <= bits, "{piece:?} at {bits} bits");
                splits += u64::from(sent.is_split);
                flight = Some((slot, piece, stream.random::<f64>() >= lost));
            }
        }
        slot += 1;
    }
    assert_eq!(last, (appended, appended), "{given_up} given up");
    assert_eq!(config.max_retransmissions.is_none(), given_up == 0);
    splits
}

fn slots() -> u64 {
    std::env::var("CROSSFADE_SLOTS").ok().and_then(|slots| slots.parse().ok()).unwrap_or(50_000)
}

#[test]
fn the_papers_arq_delivers_every_bit_once() {
    let splits = run(ArqConfig::default(), 108, slots(), "infinite");
    assert!(splits > slots() / 100, "{splits} splits");
}

#[test]
fn bounded_persistence_settles_every_bit_once() {
    let config = ArqConfig { max_retransmissions: Some(2), ..ArqConfig::default() };
    assert!(run(config, 108, slots(), "bounded") > 0);
}

#[test]
fn without_splits_too() {
    let config = ArqConfig { split: false, delay_slots: 1, ..ArqConfig::default() };
    assert_eq!(run(config, 13, slots(), "whole"), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn intervals_in_any_order_become_a_stream(cuts in proptest::collection::btree_set(1_u64..10_000, 1..40), seed: u64) {
        let cuts: Vec<u64> = std::iter::once(0).chain(cuts).collect();
        let mut pieces: Vec<(u64, u64)> = cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let mut stream = RunSeed { seed, run: 0 }.stream("order");
        let mut receiver = Receiver::default();
        let mut arrived = Vec::new();
        while !pieces.is_empty() {
            let piece = pieces.swap_remove(stream.random_range(0..pieces.len()));
            receiver.settle(piece.0, piece.1);
            arrived.push(piece);
            arrived.sort_unstable();
            // The first gap, by another way.
            let until = arrived.iter().fold(0, |until, piece| if piece.0 == until { piece.1 } else { until });
            prop_assert_eq!(receiver.until(), until);
        }
    }
}
