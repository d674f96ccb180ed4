//! Costs of a loss for every pair of recovery and sender gate: the gate has little influence.

use crossfade_channel::{DropList, Iid, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

const SLOT: SimTime = SimTime::from_millis(8);
/// Settings of limited transmit. Without it duplicate ACKs let no segment leave, so a sender that has stopped is
/// noticed.
const LIMITED_TRANSMIT: [bool; 2] = [false, true];
/// Timeout of a segment in packet times.
const T_O: u64 = 100;
const GATES: [SenderGate; 2] = [SenderGate::Slot, SenderGate::Queue];

/// Numbers of segments delivered, retransmissions and timeouts in `slots` packet times, with a window of 24 over a hop
/// without delay.
fn delivered(
    flavour: Flavour,
    variant: Variant,
    (gate, limited_transmit): (SenderGate, bool),
    loss: Box<dyn LossProcess>,
    slots: u64,
) -> [u64; 3] {
    let hop = |rate_bps, loss| HopConfig { rate_bps, delay: SimTime::ZERO, queue_limit: None, loss };
    // A window of which the gate lets out one segment at a time is not used, and would not grow (RFC 7661).
    let rfc = RfcConfig { cwnd_validation: false, ..RfcConfig::default() };
    let rto = RtoConfig::fixed(SLOT * T_O);
    let tcp = TcpConfig { rto, rfc, limited_transmit, ..TcpConfig::new(flavour, variant, 24) };
    let config = OneHop {
        tcp,
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate,
        forward: hop(Some(1e6), loss),
        reverse: hop(None, Box::new(Lossless)),
        warmup: SimTime::ZERO,
        stop: StopRule::At(SLOT * slots),
    };
    let flow = run(config, None, &AtomicBool::new(false)).unwrap().flow;
    [flow.segments_delivered, flow.retransmissions, flow.timeouts]
}

fn pairs() -> impl Iterator<Item = (SenderGate, bool)> {
    GATES.into_iter().flat_map(|gate| LIMITED_TRANSMIT.map(|limited| (gate, limited)))
}

#[test]
fn a_single_loss_costs_the_slot_of_its_repetition() {
    for flavour in [Flavour::Paper, Flavour::Ns2, Flavour::Rfc] {
        for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
            for (gate, limited) in pairs() {
                let loss = Box::new(DropList::new(vec![100]).unwrap());
                let found = delivered(flavour, variant, (gate, limited), loss, 400);
                // RFC 6675 section 4, rules (3) and (4): the window of the receiver is full of what waits beyond the
                // hole, and one segment that is not known to be lost is repeated as well.
                let is_rescued =
                    flavour == Flavour::Rfc && variant == Variant::Sack && gate == SenderGate::Queue;
                let (delivered, retransmissions) = if is_rescued { (398, 2) } else { (399, 1) };
                assert_eq!(
                    found,
                    [delivered, retransmissions, 0],
                    "{flavour:?} {variant:?} {gate:?} {limited}"
                );
            }
        }
    }
}

/// No pair of recovery and gate waits for the timer after every loss: at a loss rate of 0.1 % that would leave 0.9 of
/// the link. Otherwise, two losses within the window of 24 are 2.4 % of all losses and cost at most the timeout: 2.4
/// packet times per loss, and some more for halved windows and retransmissions. The limit of ten is 5 standard errors
/// away (100 losses; 2.4 timeouts expected, 9 allowed).
#[test]
fn no_pair_of_recovery_and_gate_waits_for_the_timer_after_every_loss() {
    const LOSS: f64 = 0.001;
    const SLOTS: u64 = 100_000;
    let variants = [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack];
    for flavour in [Flavour::Paper, Flavour::Ns2, Flavour::Rfc] {
        for variant in variants {
            for (gate, limited) in pairs() {
                let loss = Iid::new(LOSS, RunSeed { seed: 7, run: 0 }.stream("channel.dl")).unwrap();
                let [segments, ..] = delivered(flavour, variant, (gate, limited), Box::new(loss), SLOTS);
                let share = segments as f64 / SLOTS as f64;
                let cost = (1.0 - share) / LOSS;
                if variant == Variant::OldTahoe {
                    // It has nothing but the timer.
                    assert!(
                        (40.0..120.0).contains(&cost),
                        "{flavour:?} {variant:?} {gate:?} {limited}: {cost} slots a loss"
                    );
                } else {
                    assert!(cost < 10.0, "{flavour:?} {variant:?} {gate:?} {limited}: {cost} slots a loss");
                }
            }
        }
    }
}
