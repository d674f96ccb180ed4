//! A loss process of your own under TCP: its loss rate beside the closed form, the Markov chain by which the analysis
//! would replace it, and the throughput of TCP. Fails if the loss rate differs from the closed form.

#![allow(
    clippy::disallowed_methods,
    reason = "its rows are compared on one machine; a model of your own may use std"
)]

mod outages;

use crossfade_channel::{Clock, LossProcess, LossTrace, Lossless, MarkovFit, MarkovLoss, TwoStateMarkov};
use crossfade_core::{Estimate, MethodKind, RunSeed, SimTime, Stream};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, RunStatistics, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};
use outages::Outages;
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// The time that a packet of 1000 bytes takes at 1 Mbit/s.
const SLOT: SimTime = SimTime::from_millis(8);
const SLOTS: u64 = 50_000;
const RUNS: u64 = 20;

const LENGTH: u64 = 3;
const MEAN_GAP: f64 = 97.0;

fn outages(clock: Clock, stream: Stream) -> Outages {
    Outages::new(LENGTH, MEAN_GAP, clock, stream).expect("in range")
}

/// Stream of the channel's random numbers in run number `run`.
fn stream(run: u64) -> Stream {
    RunSeed { seed: 1, run }.stream("channel.dl")
}

/// Network of one connection over one hop: a sender of flavour `paper`, and acknowledgements without delay.
fn connection(variant: Variant, loss: Box<dyn LossProcess>) -> OneHop {
    let hop = |rate_bps, loss| HopConfig { rate_bps, delay: SimTime::ZERO, queue_limit: None, loss };
    OneHop {
        tcp: TcpConfig {
            flavour: Flavour::Paper,
            variant,
            w_max: 24,
            initial_window: 1.0,
            initial_ssthresh: 24.0,
            dupthresh: 3,
            limited_transmit: false,
            rto: RtoConfig { rule: RtoRule::Fixed(SLOT * 100), backoff: false, max: SLOT * 100 },
            segments: None,
            rfc: RfcConfig::default(),
        },
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Slot,
        forward: hop(Some(1e6), loss),
        reverse: hop(None, Box::new(Lossless)),
        warmup: SimTime::ZERO,
        stop: StopRule::At(SLOT * SLOTS),
    }
}

/// Mean of a metric and half-width of its 95 % interval, over independent runs of the process that `make` creates.
fn simulate(
    variant: Variant,
    make: impl Fn(Stream) -> Box<dyn LossProcess>,
    metric: impl Fn(&RunStatistics) -> f64,
) -> Result<(f64, f64), Box<dyn Error>> {
    let mut values = Vec::new();
    for number in 0..RUNS {
        let statistics = run(connection(variant, make(stream(number))), None, &AtomicBool::new(false))?;
        values.push(metric(&statistics));
    }
    let estimate = Estimate::from_runs(&values, MethodKind::Simulation).ok_or("no runs")?;
    Ok((estimate.value, estimate.ci95.ok_or("one run has no interval")?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut process = outages(Clock::Transmission, stream(0));
    let p_e = process.p_e();
    println!("outages of {LENGTH} slots, on average {MEAN_GAP} clear slots between them: p_e = {p_e}");

    // One step per transmission: TCP meets every step, so it loses the share p_e however it sends.
    let share_lost = |s: &RunStatistics| s.flow.segments_lost as f64 / s.flow.segments_sent as f64;
    let per_transmission = |s| -> Box<dyn LossProcess> { Box::new(outages(Clock::Transmission, s)) };
    let (lost, ci95) = simulate(Variant::NewReno, per_transmission, share_lost)?;
    println!("share of transmissions lost: {lost:.5} ± {ci95:.5}");
    // A correct process is off by more than twice the half-width for one seed in 2000.
    if (lost - p_e).abs() > 2.0 * ci95 {
        return Err(format!("the loss rate is {lost}, and its closed form {p_e}").into());
    }

    // Markov chain with the same probabilities from one step to the next, and a test of whether it fits the process.
    let chain = TwoStateMarkov::from_burst(p_e, LENGTH as f64)?;
    let trace = LossTrace::new((0..200_000).map(|step| process.lost(SimTime::ZERO, step)));
    let fit = MarkovFit::new(&[trace])?;
    println!("p_bb of the chain: {:.4}, fitted: {:.4}", chain.p_bb(), fit.p_bb.value);
    println!("{}", fit.explanation());

    // One step per slot of time, like a radio channel.
    println!("packets a slot   outages           chain");
    let throughput = |s: &RunStatistics| s.flow.segments_delivered as f64 / SLOTS as f64;
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        let clock = Clock::Slot(SLOT);
        let (ours, ci95) = simulate(variant, |s| Box::new(outages(clock, s)), throughput)?;
        print!("{:<16} {ours:.4} ± {ci95:.4}", format!("{variant:?}"));
        let (theirs, ci95) = simulate(variant, |s| Box::new(MarkovLoss::new(&chain, clock, s)), throughput)?;
        println!("   {theirs:.4} ± {ci95:.4}");
    }
    Ok(())
}
