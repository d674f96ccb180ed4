//! Results of the engine as a table of counts, so a change of behaviour is a readable diff.
//!
//! If a change is intended, check the diff, accept it (`INSTA_UPDATE=always cargo test -p crossfade-sim --test all
//! results`), raise the results version, and describe the change in CHANGES.

use crossfade_channel::{Clock, Iid, LossProcess, Lossless, MarkovLoss, RayleighLoss, TwoStateMarkov};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{HopConfig, QueueLimit};
use crossfade_sim::{OneHop, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

const SLOT: SimTime = SimTime::from_millis(8);
const SLOTS: u64 = 20_000;
const CHANNELS: [&str; 4] = ["iid", "markov", "markov/transmission", "rayleigh"];
const VARIANTS: [Variant; 5] =
    [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack];

fn loss(channel: &str) -> Box<dyn LossProcess> {
    let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
    let (p_e, fd_t) = (0.03, 0.02);
    let chain = TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap();
    match channel {
        "iid" => Box::new(Iid::new(p_e, stream).unwrap()),
        "markov" => Box::new(MarkovLoss::new(&chain, Clock::Slot(SLOT), stream)),
        "rayleigh" => Box::new(RayleighLoss::new(p_e, fd_t, Clock::Slot(SLOT), stream).unwrap()),
        _ => Box::new(MarkovLoss::new(&chain, Clock::Transmission, stream)),
    }
}

/// Connection of a case: the paper's instant feedback, or ns-2's agents over 50 ms each way with a queue of 30 packets.
fn connection(flavour: Flavour, variant: Variant, channel: &str) -> OneHop {
    let paper = flavour == Flavour::Paper;
    let delay = if paper { SimTime::ZERO } else { SimTime::from_millis(50) };
    let ms = SimTime::from_millis;
    let rto =
        if paper { RtoConfig::fixed(SLOT * 100) } else { RtoConfig::estimated(ms(200), ms(3000), ms(10)) };
    OneHop {
        tcp: TcpConfig { initial_window: 1.0, rto, ..TcpConfig::new(flavour, variant, 24) },
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: if paper { SenderGate::Slot } else { SenderGate::Queue },
        forward: HopConfig {
            rate_bps: Some(1e6),
            delay,
            queue_limit: (!paper).then_some(QueueLimit::Packets(30)),
            loss: loss(channel),
        },
        reverse: HopConfig {
            rate_bps: (!paper).then_some(1e6),
            delay,
            queue_limit: None,
            loss: Box::new(Lossless),
        },
        warmup: SimTime::ZERO,
        stop: StopRule::At(SLOT * SLOTS),
    }
}

#[test]
fn results_are_as_they_were() {
    if crossfade_core::testing::is_salted() {
        return;
    }
    let mut table = format!(
        "{:<9}{:<10}{:<20}{:>9}{:>7}{:>6}{:>9}{:>6}\n",
        "flavour", "variant", "channel", "delivered", "sent", "lost", "timeouts", "fast"
    );
    for flavour in [Flavour::Paper, Flavour::Ns2] {
        for variant in VARIANTS {
            for channel in CHANNELS {
                let s = run(connection(flavour, variant, channel), None, &AtomicBool::new(false)).unwrap();
                let _ = writeln!(
                    table,
                    "{:<9}{:<10}{channel:<20}{:>9}{:>7}{:>6}{:>9}{:>6}",
                    format!("{flavour:?}"),
                    format!("{variant:?}"),
                    s.flow.segments_delivered,
                    s.flow.segments_sent,
                    s.flow.segments_lost,
                    s.flow.timeouts,
                    s.flow.fast_retransmits
                );
            }
        }
    }
    insta::assert_snapshot!(table);
}
