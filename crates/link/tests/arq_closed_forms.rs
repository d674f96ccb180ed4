//! Saturated ARQ links with independent losses agree with closed forms.
//!
//! Every comparison uses Student's interval over ten runs at 99.9 % (4.78 standard errors): some hundred are
//! made, and all must hold. The runs are fixed. Those of the usual form are a third or less as long, so that its
//! intervals are 1.8 times as wide: throughputs within 0.3 % or less, residual error rates within 10 % or, where one
//! frame in a hundred is lost, 20 %.

use crossfade_channel::Iid;
use crossfade_core::testing::long_or;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, ArqStatistics, FrameClock, FrameHeader, GoBackNConfig, LossyFrames, Packing,
    Reading, Release, ReverseConfig, RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig,
    SoftBufferConfig, StopAndWaitConfig,
};
use crossfade_link::{Departure, Link, Parcel, QueueConfig};

const SLOT: SimTime = SimTime::from_millis(20);
const RUNS: u64 = 10;

/// Number of frames of a run.
fn frames() -> u64 {
    long_or(100_000, 30_000)
}

/// Link of 9600 bit/s with frames of 24 bytes, of which 20 are payload, and the given propagation delay each way.
fn link(protocol: ArqProtocol, p_e: f64, delay: SimTime, run: u64) -> Box<dyn Link + Send> {
    let seed = RunSeed { seed: 4, run };
    let channel = LossyFrames { loss: Box::new(Iid::new(p_e, seed.stream("channel.dl")).unwrap()) };
    ArqLinkConfig {
        rate_bps: 9600.0,
        frame_size: 24,
        clock: FrameClock::Slotted,
        delay,
        segmentation: SegmentationConfig {
            payload: 20,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        header: FrameHeader::Lost,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(delay),
        protocol,
    }
    .build(QueueConfig::DropTail(None), seed.stream("queue.dl"), channel, seed.stream("feedback.dl"))
    .unwrap()
}

/// Frame statistics of a link until `end`, if each packet that leaves is replaced by a new one.
fn counted(link: &mut (dyn Link + Send), end: SimTime) -> ArqStatistics {
    while let Some(at) = link.next_event().filter(|&at| at <= end) {
        while let Some(departure) = link.advance(at) {
            if let Departure::Arrived(packet) | Departure::Lost(packet) = departure {
                link.push(at, packet);
            }
        }
    }
    while link.advance(end).is_some() {}
    link.report(end).frames.unwrap()
}

/// Frame statistics of a link over `frames` frame times, from frame 2000 on, if it always has a packet to send. Each
/// packet takes one frame.
fn saturate(mut link: Box<dyn Link + Send>, frames: u64) -> ArqStatistics {
    for _ in 0..3000 {
        link.push(SimTime::ZERO, Parcel::new(0, 0, 20));
    }
    let warm = counted(&mut *link, SLOT * 2000);
    counted(&mut *link, SLOT * (2000 + frames)).since(&warm)
}

/// Checks that the mean of `measure` over all runs is `expected`.
#[track_caller]
fn check(name: &str, expected: f64, measure: impl Fn(u64) -> f64) {
    check_with(name, expected, 0.0, measure);
}

/// Checks that the share of lost frames in all runs is `expected`. Its standard error is at least that of the binomial
/// law, because ten runs show the variance of rare events badly.
#[track_caller]
fn check_share(name: &str, expected: f64, measure: impl Fn(u64) -> f64) {
    let trials = (RUNS * frames()) as f64;
    check_with(name, expected, (expected * (1.0 - expected) / trials).sqrt(), measure);
}

#[track_caller]
fn check_with(name: &str, expected: f64, least: f64, measure: impl Fn(u64) -> f64) {
    let values: Vec<f64> = (0..RUNS).map(measure).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let standard_error = (variance / n).sqrt().max(least);
    // A frame or two at the edges of the time that is measured.
    let allowed = 4.78 * standard_error + expected.abs() * 1e-4;
    println!("{name}: {mean:.6} +- {standard_error:.6}, expected {expected:.6}");
    assert!((mean - expected).abs() <= allowed, "{name}: {mean} +- {standard_error}, expected {expected}");
}

fn is99(reading: Reading, n: u32) -> ArqProtocol {
    ArqProtocol::RlpIs99(reading.config(n))
}

fn throughput(protocol: ArqProtocol, p_e: f64, delay: SimTime, run: u64, frames: u64) -> f64 {
    let counted = saturate(link(protocol, p_e, delay, run), frames);
    counted.frames_delivered as f64 / frames as f64
}

#[test]
fn one_nak_a_round_loses_only_what_the_channel_loses() {
    for p_e in [0.01, 0.1, 0.3] {
        for reading in [Reading::C, Reading::D, Reading::G] {
            check(&format!("reading {reading} at {p_e}"), 8000.0 * (1.0 - p_e), |run| {
                8000.0 * throughput(is99(reading, 60), p_e, SimTime::ZERO, run, frames())
            });
        }
    }
}

/// Throughput in bit/s if round r sends r copies of a frame: a round is needed if the frame and all copies of earlier
/// rounds were lost.
fn growing_rounds(p_e: f64) -> f64 {
    let extra = |r: i32| f64::from(r) * p_e.powi(1 + r * (r - 1) / 2);
    8000.0 / (1.0 + (1..40).map(extra).sum::<f64>())
}

#[test]
fn growing_rounds_cost_their_copies() {
    assert!((growing_rounds(0.01) - 7919.0).abs() < 1.0 && (growing_rounds(0.3) - 5315.0).abs() < 1.0);
    for p_e in [0.01, 0.1, 0.3] {
        for reading in [Reading::E, Reading::F] {
            check(&format!("reading {reading} at {p_e}"), growing_rounds(p_e), |run| {
                8000.0 * throughput(is99(reading, 60), p_e, SimTime::ZERO, run, frames())
            });
        }
    }
}

fn residual(protocol: ArqProtocol, p_e: f64, run: u64) -> f64 {
    saturate(link(protocol, p_e, SimTime::ZERO, run), frames()).residual_frame_error_rate()
}

#[test]
fn a_frame_is_lost_with_all_its_retransmissions() {
    for (p_e, n) in [(0.3_f64, 1_u32), (0.3, 3), (0.1, 1), (0.05, 0), (0.2, 2)] {
        let expected = p_e.powi(i32::try_from(n).unwrap() + 1);
        for reading in [Reading::F, Reading::G, Reading::C] {
            check_share(&format!("reading {reading}, n {n} at {p_e}"), expected, |run| {
                residual(is99(reading, n), p_e, run)
            });
        }
        // Timers long enough for the queue of retransmissions.
        let patient = RlpNackConfig { timeout: SLOT * 40, ..RlpNackConfig::new(n, SLOT) };
        check_share(&format!("rlp-nack, n {n} at {p_e}"), expected, |run| {
            residual(ArqProtocol::RlpNack(patient), p_e, run)
        });
        let (max_retransmissions, timeout, window) = (Some(n), SLOT, 256);
        let protocols = [
            ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions }),
            ArqProtocol::GoBackN(GoBackNConfig { window, timeout, max_retransmissions }),
            ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window,
                timeout,
                max_retransmissions,
                release: Release::InOrder,
            }),
        ];
        for protocol in protocols {
            check_share(&format!("{protocol:?} at {p_e}"), expected, |run| residual(protocol, p_e, run));
        }
    }
    // All rounds of reading e count: n (n + 1) / 2 retransmissions.
    check_share("reading e, n 2 at 0.3", 0.3_f64.powi(4), |run| residual(is99(Reading::E, 2), 0.3, run));
}

/// The throughput of the textbook protocols agrees with their formulas (Bertsekas and Gallager, "Data Networks",
/// section 2.4; Stallings, "Data and Computer Communications", chapter 7): with a the propagation time in frames, stop
/// and wait uses (1 - P) / (1 + 2a) of the channel, go back N (1 - P) / (1 + 2aP), selective repeat 1 - P, if the
/// window is large enough.
#[test]
fn the_textbook_protocols_follow_their_formulas() {
    for a in [1_u64, 5] {
        let delay = SLOT * a;
        let timeout = SLOT * (1 + 2 * a);
        let two_a = 2.0 * a as f64;
        for p_e in [0.02, 0.2, 0.5] {
            let stop_and_wait =
                ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions: None });
            check(&format!("stop and wait, a {a}, P {p_e}"), (1.0 - p_e) / (1.0 + two_a), |run| {
                throughput(stop_and_wait, p_e, delay, run, long_or(60_000, 20_000))
            });
            let window = 1 + 2 * a as u32;
            let go_back_n =
                ArqProtocol::GoBackN(GoBackNConfig { window, timeout, max_retransmissions: None });
            check(&format!("go back N, a {a}, P {p_e}"), (1.0 - p_e) / (1.0 + two_a * p_e), |run| {
                throughput(go_back_n, p_e, delay, run, long_or(60_000, 20_000))
            });
            for release in [Release::InOrder, Release::Immediate] {
                let window = 2000;
                let selective_repeat = ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                    window,
                    timeout,
                    max_retransmissions: None,
                    release,
                });
                check(&format!("selective repeat {release:?}, a {a}, P {p_e}"), 1.0 - p_e, |run| {
                    throughput(selective_repeat, p_e, delay, run, long_or(60_000, 20_000))
                });
            }
        }
    }
}

/// If the window is too small for the delay and no frame is lost, one window is sent per round trip.
#[test]
fn a_small_window_without_losses_is_sent_once_a_round_trip() {
    let (delay, timeout) = (SLOT * 5, SLOT * 11);
    for window in [1, 4, 10, 11, 20] {
        let protocols = [
            ArqProtocol::GoBackN(GoBackNConfig { window, timeout, max_retransmissions: None }),
            ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window,
                timeout,
                max_retransmissions: None,
                release: Release::InOrder,
            }),
        ];
        for protocol in protocols {
            check(&format!("{protocol:?}"), (f64::from(window) / 11.0).min(1.0), |run| {
                throughput(protocol, 0.0, delay, run, 11_000)
            });
        }
    }
}
