//! Simulated connections for comparison with the analysis, with which they share no code.
#![allow(dead_code, reason = "every test uses a part of it")]

use crossfade_analysis::Model;
use crossfade_channel::{Clock, LossProcess, Lossless, MarkovLoss, TwoStateMarkov};
use crossfade_core::testing::{FALSE_ALARM, long_or};
use crossfade_core::{EventKind, EventRecord, Observer, RunSeed, SimTime, student_t_quantile};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, RunStatistics, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RtoConfig, RtoRule, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

pub(crate) const SLOT: SimTime = SimTime::from_millis(8);
pub(crate) const VARIANTS: [Variant; 4] =
    [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno];

/// Channel with the loss rate `p_e`: Rayleigh fading of normalised Doppler `fd_t`, or independent losses for `None`.
pub(crate) fn channel(fd_t: Option<f64>, p_e: f64) -> TwoStateMarkov {
    fd_t.map_or_else(|| TwoStateMarkov::iid(p_e), |fd_t| TwoStateMarkov::from_rayleigh(p_e, fd_t)).unwrap()
}

/// One of several simulation runs of a model.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) number: u64,
    pub(crate) warmup_slots: u64,
    pub(crate) slots: u64,
    /// Delay in slots from the end of a packet's slot to its acknowledgement.
    pub(crate) ack_delay_slots: u32,
}

impl Run {
    pub(crate) fn simulate(
        &self,
        model: &Model,
        observer: Option<&mut (dyn Observer + Send)>,
    ) -> RunStatistics {
        let stream = RunSeed { seed: self.seed, run: self.number }.stream("channel.dl");
        let loss = Box::new(MarkovLoss::new(&model.channel, Clock::Slot(SLOT), stream));
        let hop = |rate_bps, delay, loss: Box<dyn LossProcess>| HopConfig {
            rate_bps,
            delay,
            queue_limit: None,
            loss,
        };
        let longest = model.backoff_max_slots.unwrap_or(model.timeout_slots);
        let ack_delay = SLOT * u64::from(self.ack_delay_slots);
        let config = OneHop {
            tcp: TcpConfig {
                dupthresh: model.dupthresh,
                rto: RtoConfig {
                    rule: RtoRule::Fixed(SLOT * u64::from(model.timeout_slots)),
                    backoff: model.backoff_max_slots.is_some(),
                    max: SLOT * u64::from(longest),
                },
                ..TcpConfig::new(Flavour::Paper, model.variant, model.w_max)
            },
            packet_size: 1000,
            ack_size: 40,
            sack_block_size: 8,
            gate: SenderGate::Slot,
            forward: hop(Some(1e6), SimTime::ZERO, loss),
            reverse: hop(None, ack_delay, Box::new(Lossless)),
            warmup: SLOT * self.warmup_slots,
            stop: StopRule::At(SLOT * (self.warmup_slots + self.slots)),
        };
        run(config, observer, &AtomicBool::new(false)).unwrap()
    }

    /// Simulated new packets, transmissions, timeouts and fast retransmits per slot.
    pub(crate) fn rates(&self, model: &Model) -> [f64; 4] {
        let statistics = self.simulate(model, None);
        let counts = [
            statistics.flow.segments_delivered,
            statistics.flow.segments_sent,
            statistics.flow.timeouts,
            statistics.flow.fast_retransmits,
        ];
        counts.map(|count| count as f64 / self.slots as f64)
    }
}

/// Deviation of the mean of the runs from the exact value `expected`, in standard errors. `least` is a lower bound of
/// the standard error for rare events, whose variance ten runs show badly.
pub(crate) fn z(runs: &[f64], least: f64, expected: f64) -> f64 {
    let n = runs.len() as f64;
    let mean = runs.iter().sum::<f64>() / n;
    let variance = runs.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - expected) / (variance / n).sqrt().max(least).max(1e-12)
}

/// Deviation in standard errors that the mean of ten runs exceeds in at most one of 10,000 experiments of `comparisons`
/// comparisons each.
pub(crate) fn most_off(comparisons: f64) -> f64 {
    student_t_quantile(1.0 - FALSE_ALARM / 2.0 / comparisons, 9.0)
}

/// Asserts that the deviations of each quantity, in standard errors of ten runs, follow Student's t with 9 degrees of
/// freedom: mean 0 and mean square 9/7. The square has a standard deviation of 2.3. The mean square may lie six
/// standard errors above (the square is skewed) and four below, the mean four: a false alarm occurs once in 10,000.
pub(crate) fn assert_noise(what: &str, deviations: &[Vec<f64>]) {
    for (figure, z) in deviations.iter().enumerate() {
        let n = z.len() as f64;
        let mean = z.iter().sum::<f64>() / n;
        let square = z.iter().map(|z| z * z).sum::<f64>() / n * 7.0 / 9.0;
        let worst = z.iter().fold(0.0, |worst: f64, z| worst.max(z.abs()));
        println!(
            "{what}, figure {figure}: {n} points, mean {mean:.3}, mean square {square:.3}, worst {worst:.2}"
        );
        let spread = 2.3 * 7.0 / 9.0 / n.sqrt();
        let squares = 1.0 - 4.0 * spread..1.0 + 6.0 * spread;
        assert!(squares.contains(&square), "{what}, figure {figure}: mean square {square}");
        assert!(mean.abs() < 4.0 * (9.0 / 7.0 / n).sqrt(), "{what}, figure {figure}: mean {mean}");
    }
}

/// Standard error of the rate of rare events, that of a Poisson count; 0 from 30 events on.
pub(crate) fn poisson(rate: f64, slots: f64) -> f64 {
    if rate * slots < 30.0 { (rate / slots).sqrt() } else { 0.0 }
}

/// True for a model of a test's grid that the test takes: in the usual form each ninth. Its seed is that of the long
/// form, so that both compare equal runs; since a grid has four variants in a row, each variant is among them.
pub(crate) fn is_taken(seed: u64) -> bool {
    seed.is_multiple_of(long_or(1, 9))
}

/// Cycles of a run, reconstructed from its observed events.
pub(crate) struct Cycles {
    variant: Variant,
    from: SimTime,
    start: Option<SimTime>,
    intact: bool,
    /// Duration of each cycle in slots.
    pub(crate) slots: Vec<u64>,
    /// Floor of the window at the first loss of each cycle.
    pub(crate) floors: Vec<u32>,
}

impl Cycles {
    pub(crate) fn new(variant: Variant, warmup_slots: u64) -> Self {
        let from = SLOT * warmup_slots;
        Self { variant, from, start: None, intact: true, slots: Vec::new(), floors: Vec::new() }
    }
}

impl Observer for Cycles {
    fn record(&mut self, event: &EventRecord) {
        let starts = match event.kind {
            EventKind::Timeout | EventKind::RecoveryEnd => true,
            EventKind::FastRetransmit => self.variant == Variant::Tahoe,
            EventKind::Lost => {
                if self.intact && self.start.is_some() {
                    self.floors.push(event.tcp.cwnd as u32);
                }
                self.intact = false;
                false
            }
            _ => false,
        };
        if starts {
            if let Some(start) = self.start {
                self.slots.push((event.time - start) / SLOT);
            }
            self.intact = true;
            self.start = (event.time >= self.from).then_some(event.time);
        }
    }
}
