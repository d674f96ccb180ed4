//! On a path that only loses segments, without reordering or delay variation, no retransmission is spurious.

use crossfade_core::SimTime;
use crossfade_transport::{
    Ack, Flavour, Receiver, RfcConfig, Segment, Sender, SenderStatistics, TcpConfig, Variant,
};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const SEGMENTS: u64 = 300;

fn config(variant: Variant, rfc: RfcConfig) -> TcpConfig {
    TcpConfig {
        initial_ssthresh: f64::INFINITY,
        segments: Some(SEGMENTS),
        rfc,
        ..TcpConfig::new(Flavour::Rfc, variant, 64)
    }
}

/// Takes the next item of `queue` that has arrived by `now`.
fn due<T>(queue: &mut VecDeque<(SimTime, T)>, now: SimTime) -> Option<T> {
    queue.front().is_some_and(|(at, _)| *at <= now).then(|| queue.pop_front())?.map(|(_, item)| item)
}

/// Runs a transfer over a path of 1 ms per segment and an RTT of 40 ms that loses the transmissions with the numbers
/// `lost`. Returns the number of losses, the number of segments that arrived twice, and the sender's counters.
fn run(config: &TcpConfig, lost: &BTreeSet<usize>) -> (u64, u64, SenderStatistics) {
    let (mut sender, mut receiver) = (Sender::new(config), Receiver::new(config));
    let (slot, delay) = (SimTime::from_millis(1), SimTime::from_millis(20));
    let mut data: VecDeque<(SimTime, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(SimTime, Ack)> = VecDeque::new();
    let (mut now, mut transmissions, mut losses, mut duplicates) = (SimTime::ZERO, 0, 0, 0);
    while !sender.is_done() {
        assert!(now < SimTime::from_millis(10_000_000), "no end");
        if let Some(segment) = sender.poll_transmit(now) {
            let is_lost = lost.contains(&transmissions);
            transmissions += 1;
            losses += u64::from(is_lost);
            if !is_lost {
                data.push_back((now + delay, segment));
            }
        }
        now += slot;
        while let Some(segment) = due(&mut data, now) {
            let received = receiver.on_segment(now, &segment, false);
            duplicates += u64::from(!received.is_new);
            acks.extend(received.ack.map(|ack| (now + delay, ack)));
        }
        if receiver.next_timeout().is_some_and(|at| at <= now) {
            acks.extend(receiver.on_timeout(now).map(|ack| (now + delay, ack)));
        }
        while let Some(ack) = due(&mut acks, now) {
            sender.on_ack(now, &ack);
        }
        while sender.next_timeout().is_some_and(|at| at <= now) {
            sender.on_timeout(now);
        }
    }
    (losses, duplicates, sender.statistics())
}

proptest! {
    #[test]
    fn no_repetition_is_without_cause(
        lost in prop::collection::btree_set(0usize..400, 0..30),
        rack in any::<bool>(),
        timestamps in any::<bool>(),
    ) {
        let default = RfcConfig::default();
        // A rescue is a guess, and a probe too.
        let rfc = RfcConfig { rack, timestamps, rescue_retransmission: false, ..default };
        let (losses, _, counts) = run(&config(Variant::Sack, rfc), &lost);
        prop_assert_eq!(counts.spurious_timeouts + counts.spurious_fast_retransmits, 0, "{:?}", counts);
        if counts.timeouts == 0 {
            prop_assert!(counts.retransmissions >= losses, "{losses} lost, {counts:?}");
            // Rule 3 repeats what is not known to be lost; with RACK there is none.
            prop_assert!(!rack || counts.retransmissions == losses, "{losses} lost, {counts:?}");
        }
    }

    #[test]
    fn without_sack_only_repetitions_of_what_had_arrived_are_taken_back(
        lost in prop::collection::btree_set(0usize..400, 0..30),
        variant in prop_oneof![Just(Variant::Tahoe), Just(Variant::Reno), Just(Variant::NewReno)],
        timestamps in any::<bool>(),
    ) {
        let rfc = RfcConfig { timestamps, ..RfcConfig::default() };
        let (_, duplicates, counts) = run(&config(variant, rfc), &lost);
        // Without SACK a sender repeats what has arrived; only such a retransmission may be taken back.
        let taken_back = counts.spurious_timeouts + counts.spurious_fast_retransmits;
        prop_assert!(taken_back <= duplicates, "{duplicates} arrived twice, {counts:?}");
    }
}
