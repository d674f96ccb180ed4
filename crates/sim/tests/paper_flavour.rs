//! Flavour `paper` against results that can be derived by hand, and against a restatement of its rules slot by slot.

use crossfade_channel::{LossProcess, Lossless};
use crossfade_core::{EventKind, EventRecord, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, RunStatistics, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

const SLOT: SimTime = SimTime::from_millis(8);
const T_O: u64 = 100;
const VARIANTS: [Variant; 5] =
    [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack];

/// Loss process that loses every packet sent in these slots.
struct BadSlots(BTreeSet<u64>);

impl LossProcess for BadSlots {
    fn lost(&mut self, now: SimTime, _transmission: u64) -> bool {
        assert_eq!(now % SLOT, SimTime::ZERO, "a packet is sent at the start of a slot");
        self.0.contains(&(now / SLOT))
    }
}

fn tcp(variant: Variant, w_max: u32, dupthresh: u32) -> TcpConfig {
    TcpConfig {
        dupthresh,
        rto: RtoConfig::fixed(SLOT * T_O),
        ..TcpConfig::new(Flavour::Paper, variant, w_max)
    }
}

/// Simulates a connection in slots of 8 ms (1000 bytes at 1 Mbit/s), in which acknowledgements take no time; returns
/// the (slot, segment) pairs sent and the statistics.
fn simulate(tcp: TcpConfig, bad: &BTreeSet<u64>, slots: u64) -> (Vec<(u64, u64)>, RunStatistics) {
    let config = OneHop {
        tcp,
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Slot,
        forward: HopConfig {
            rate_bps: Some(1e6),
            delay: SimTime::ZERO,
            queue_limit: None,
            loss: Box::new(BadSlots(bad.clone())),
        },
        reverse: HopConfig {
            rate_bps: None,
            delay: SimTime::ZERO,
            queue_limit: None,
            loss: Box::new(Lossless),
        },
        warmup: SimTime::ZERO,
        stop: StopRule::At(SLOT * slots),
    };
    let mut events: Vec<EventRecord> = Vec::new();
    let statistics = run(config, Some(&mut events), &AtomicBool::new(false)).unwrap();
    let sends = events.iter().filter(|e| e.kind == EventKind::Send).map(|e| (e.time / SLOT, e.seq)).collect();
    (sends, statistics)
}

/// The (slot, segment) pairs sent from slot `from` on.
fn sends_from(sends: &[(u64, u64)], from: u64) -> Vec<(u64, u64)> {
    sends.iter().copied().filter(|&(slot, _)| slot >= from).collect()
}

#[test]
fn without_loss_the_throughput_is_one() {
    for variant in VARIANTS {
        for w_max in [1, 2, 24] {
            let (sends, statistics) = simulate(tcp(variant, w_max, 3), &BTreeSet::new(), 1000);
            assert!(sends.iter().copied().eq((0..1000).map(|slot| (slot, slot))), "{variant:?}");
            assert_eq!((statistics.flow.segments_delivered, statistics.flow.segments_sent), (1000, 1000));
            assert_eq!(statistics.duration, SLOT * 1000);
        }
    }
}

#[test]
fn one_loss_is_repeated_in_slot_k_plus_1() {
    // Segment 50 is lost in slot 50 with a window of 24: slots 51 to 53 bring the three duplicates.
    let bad = BTreeSet::from([50]);
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let (sends, statistics) = simulate(tcp(variant, 24, 3), &bad, 60);
        let expected = [(50, 50), (51, 51), (52, 52), (53, 53), (54, 50), (55, 54), (56, 55)];
        assert_eq!(sends_from(&sends, 50)[..7], expected, "{variant:?}");
        assert_eq!((statistics.flow.fast_retransmits, statistics.flow.timeouts), (1, 0));
    }
    // Tahoe starts over from 50; the acknowledgement of 50 covers what the receiver holds.
    let (sends, _) = simulate(tcp(Variant::Tahoe, 24, 3), &bad, 60);
    assert_eq!(sends_from(&sends, 53)[..4], [(53, 53), (54, 50), (55, 54), (56, 55)]);
}

#[test]
fn one_loss_without_duplicates_is_repeated_in_slot_t_o() {
    // OldTahoe empties its window of 24 into slots 51 to 73 and waits for the timer of slot 50.
    let bad = BTreeSet::from([50]);
    let (sends, statistics) = simulate(tcp(Variant::OldTahoe, 24, 3), &bad, 200);
    let after = sends_from(&sends, 73);
    assert_eq!(after[..3], [(73, 73), (50 + T_O, 50), (51 + T_O, 74)]);
    assert_eq!((statistics.flow.fast_retransmits, statistics.flow.timeouts), (0, 1));
    // A window of K or less can't bring K duplicates in any variant.
    for variant in VARIANTS {
        let (sends, _) = simulate(tcp(variant, 3, 3), &bad, 200);
        assert_eq!(sends_from(&sends, 52)[..2], [(52, 52), (50 + T_O, 50)], "{variant:?}");
    }
}

#[test]
fn two_losses_part_reno_from_newreno() {
    // Losses in slots 50 and 52: duplicates in 51, 53 and 54, so i = 4 and the retransmission is in slot 55.
    let bad = BTreeSet::from([50, 52]);
    let (sends, statistics) = simulate(tcp(Variant::NewReno, 24, 3), &bad, 200);
    // It covers 50 and 51; the hole 52 follows at once, and the cycle ends with slot 2i+1-K = 6.
    assert_eq!(sends_from(&sends, 54)[..4], [(54, 54), (55, 50), (56, 52), (57, 55)]);
    assert_eq!(statistics.flow.timeouts, 0);
    let (sends, statistics) = simulate(tcp(Variant::Reno, 24, 3), &bad, 200);
    // Reno waits for the timer that 52 got in slot 52.
    assert_eq!(sends_from(&sends, 54)[..3], [(54, 54), (55, 50), (52 + T_O, 52)]);
    assert_eq!(statistics.flow.timeouts, 1);
}

#[test]
fn a_lost_retransmission_waits_for_the_original_timer() {
    let bad = BTreeSet::from([50, 54]);
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let (sends, _) = simulate(tcp(variant, 24, 3), &bad, 200);
        assert_eq!(sends_from(&sends, 54)[..2], [(54, 50), (50 + T_O, 50)], "{variant:?}");
    }
    // Tahoe's retransmission starts a cycle of its own, and so a timer of its own.
    let (sends, _) = simulate(tcp(Variant::Tahoe, 24, 3), &bad, 200);
    assert_eq!(sends_from(&sends, 54)[..2], [(54, 50), (54 + T_O, 50)]);
}

#[test]
fn a_constant_timeout_and_a_doubling_one_part_after_the_second_loss() {
    let bad: BTreeSet<u64> = [50, 50 + T_O, 50 + 2 * T_O, 50 + 3 * T_O].into();
    let resent = |tcp: TcpConfig| -> Vec<u64> {
        let (sends, _) = simulate(tcp, &bad, 1000);
        sends.iter().filter(|&&(_, seq)| seq == 50).map(|&(slot, _)| slot).collect()
    };
    let constant = tcp(Variant::OldTahoe, 24, 3);
    assert_eq!(resent(constant), [50, 150, 250, 350, 450]);
    let rto = RtoConfig { backoff: true, max: SLOT * 6400, ..constant.rto };
    assert_eq!(resent(TcpConfig { rto, ..constant }), [50, 150, 350, 750]);
}

/// The rules of the paper's section II, restated slot by slot without timers, queues or events.
struct SlotBySlot {
    variant: Variant,
    w_max: f64,
    k: u32,
    a: u64,
    next: u64,
    w: f64,
    w_th: f64,
    dupacks: u32,
    /// Slot in which each segment of this cycle was first sent.
    sent: BTreeMap<u64, u64>,
    /// Packets that the receiver has received out of order.
    held: BTreeSet<u64>,
    /// Packet for which the receiver waits.
    expected: u64,
    /// State in recovery: the end of the loss window, and the hole to retransmit in the next slot; `None` outside
    /// recovery.
    recovery: Option<(u64, Option<u64>)>,
}

impl SlotBySlot {
    fn new(variant: Variant, w_max: u32, k: u32) -> Self {
        let (held, sent) = (BTreeSet::new(), BTreeMap::new());
        let w_th = f64::from(w_max);
        let (a, next, expected) = (0, 0, 0);
        Self {
            variant,
            w_max: w_th,
            k,
            a,
            next,
            w: 1.0,
            w_th,
            dupacks: 0,
            sent,
            held,
            expected,
            recovery: None,
        }
    }

    /// Packet sent in slot `slot`, `None` if there is none; the channel loses it if `bad`.
    fn slot(&mut self, slot: u64, bad: bool) -> Option<u64> {
        if self.next > self.a && self.sent[&self.a] + T_O == slot {
            self.w_th = (self.w / 2.0).ceil();
            self.restart();
        }
        let seq = match &mut self.recovery {
            Some((_, hole)) => hole.take()?,
            None if (self.next as f64) < self.a as f64 + self.w.floor() => {
                self.sent.insert(self.next, slot);
                self.next += 1;
                self.next - 1
            }
            None => return None,
        };
        if !bad {
            self.held.insert(seq);
            while self.held.contains(&self.expected) {
                self.expected += 1;
            }
            self.acknowledge();
        }
        Some(seq)
    }

    fn restart(&mut self) {
        self.w = 1.0;
        self.next = self.a;
        self.dupacks = 0;
        self.sent.clear();
        self.recovery = None;
    }

    fn acknowledge(&mut self) {
        if self.expected > self.a {
            self.a = self.expected;
            self.next = self.next.max(self.a);
            self.dupacks = 0;
            match self.recovery {
                None => {
                    self.w += if self.w < self.w_th { 1.0 } else { 1.0 / self.w };
                    self.w = self.w.min(self.w_max);
                }
                Some((end, _)) if self.a >= end => {
                    self.w = self.w_th;
                    self.recovery = None;
                }
                Some((end, _)) => {
                    self.w = (self.w + 1.0).min(self.w_max);
                    let hole = (self.variant != Variant::Reno).then_some(self.a);
                    self.recovery = Some((end, hole));
                }
            }
        } else {
            self.dupacks += 1;
            if self.dupacks == self.k && self.variant != Variant::OldTahoe {
                self.w_th = (self.w / 2.0).ceil();
                if self.variant == Variant::Tahoe {
                    self.restart();
                } else {
                    self.w = (self.w_th + f64::from(self.k)).min(self.w_max);
                    self.recovery = Some((self.next, Some(self.a)));
                }
            }
        }
    }
}

fn bad_slots() -> impl Strategy<Value = Vec<bool>> {
    // Bursts and gaps of any length: losses at every rate and correlation.
    prop::collection::vec((1usize..60, 0usize..12), 1..40).prop_map(|runs| {
        runs.into_iter().flat_map(|(good, bad)| [vec![false; good], vec![true; bad]]).flatten().collect()
    })
}

proptest! {
    #[test]
    fn the_engine_equals_the_rules_slot_by_slot(
        bad in bad_slots(), variant in prop::sample::select(&VARIANTS[..]), w_max in 1u32..40, k in 1u32..5,
    ) {
        // T_o must outlast a window and its recovery (notes, section 3).
        prop_assume!(u64::from(2 * w_max + 2) <= T_O);
        let slots = bad.len() as u64;
        let mut reference = SlotBySlot::new(variant, w_max, k);
        let expected: Vec<(u64, u64)> = (0..slots)
            .filter_map(|slot| reference.slot(slot, bad[slot as usize]).map(|seq| (slot, seq)))
            .collect();
        let bad: BTreeSet<u64> = (0..slots).filter(|&slot| bad[slot as usize]).collect();
        let (sends, statistics) = simulate(tcp(variant, w_max, k), &bad, slots);
        prop_assert_eq!(&sends, &expected);
        prop_assert_eq!(statistics.flow.segments_in_order, reference.expected);
        prop_assert_eq!(statistics.flow.segments_delivered, reference.held.len() as u64);
    }

    #[test]
    fn sack_equals_newreno_when_acknowledgements_take_no_time(
        bad in bad_slots(), w_max in 1u32..40, k in 1u32..5,
    ) {
        let slots = bad.len() as u64;
        let bad: BTreeSet<u64> = (0..slots).filter(|&slot| bad[slot as usize]).collect();
        let (sends, newreno) = simulate(tcp(Variant::NewReno, w_max, k), &bad, slots);
        let (sends_of_sack, sack) = simulate(tcp(Variant::Sack, w_max, k), &bad, slots);
        prop_assert_eq!(sends, sends_of_sack);
        prop_assert_eq!(newreno.flow, sack.flow);
    }
}
