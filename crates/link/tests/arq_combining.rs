//! Combining of copies agrees with closed forms, with every protocol that retransmits frames.
//!
//! The channel is the example of docs/own-model.md. Every comparison uses Student's interval over ten runs at 99.9 %
//! (4.78 standard errors); the runs are fixed.

use crate::rayleigh::{Copies, RayleighFrames, residual};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::arq::{
    ArqLink, ArqLinkConfig, ArqProtocol, ArqStatistics, FrameChannel, FrameClock, FrameHeader, GoBackNConfig,
    LossyFrames, Packing, Reading, Reception, Release, ReverseConfig, RlpNackConfig, SegmentationConfig,
    SelectiveRepeatConfig, SoftBufferConfig, SoftValue, StopAndWaitConfig, StopAndWaitReceiver,
    StopAndWaitSender, Transmission,
};
use crossfade_link::{Departure, Link, LinkEvent, Parcel, QueueConfig, Verdict};

const SLOT: SimTime = SimTime::from_millis(20);
const RUNS: u64 = 10;

/// Link on which a packet takes one frame, with the propagation `delay` each way.
fn config(protocol: ArqProtocol, delay: SimTime) -> ArqLinkConfig {
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
        header: FrameHeader::Readable,
        soft_buffer: SoftBufferConfig { frames: 1024, copies: 16 },
        reverse: ReverseConfig::ideal(delay),
        protocol,
    }
}

/// Channel with a mean SNR of 1.5 dB, over which frames pass at 3 dB.
fn channel(width_db: f64, is_combining: bool, run: u64) -> RayleighFrames {
    let seed = RunSeed { seed: 7, run };
    RayleighFrames {
        snr_db: 1.5,
        threshold_db: 3.0,
        width_db,
        is_combining,
        fading: seed.stream("fading.dl"),
        payload: seed.stream("payload.dl"),
        last_snr: 0.0,
    }
}

/// Random streams of the queue and of the reverse path of a link.
fn streams() -> [Stream; 2] {
    ["queue.dl", "feedback.dl"].map(|name| RunSeed { seed: 7, run: 0 }.stream(name))
}

/// Frame statistics of a link over `frames` frame times, if it always has a packet to send.
fn saturate<C>(config: ArqLinkConfig, channel: C, frames: u64) -> ArqStatistics
where
    C: FrameChannel<Soft: 'static> + 'static,
{
    let [draws, feedback] = streams();
    let queue = QueueConfig::DropTail(None);
    let mut link: Box<dyn Link + Send> = config.build(queue, draws, channel, feedback).unwrap();
    for _ in 0..600 {
        link.push(SimTime::ZERO, Parcel::new(0, 0, 20));
    }
    let end = SLOT * frames;
    while let Some(at) = link.next_event().filter(|&at| at <= end) {
        while let Some(departure) = link.advance(at) {
            if let Departure::Arrived(packet) | Departure::Lost(packet) = departure {
                link.push(at, packet);
            }
        }
    }
    link.report(end).frames.unwrap()
}

/// Checks that the mean of `measure` over all runs is `expected`.
#[track_caller]
fn check(name: &str, expected: f64, measure: impl Fn(u64) -> f64) {
    let values: Vec<f64> = (0..RUNS).map(measure).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let standard_error = (variance / n).sqrt();
    println!("{name}: {mean:.6} +- {standard_error:.6}, expected {expected:.6}");
    let allowed = 4.78 * standard_error + expected.abs() * 1e-4;
    assert!((mean - expected).abs() <= allowed, "{name}: {mean} +- {standard_error}, expected {expected}");
}

/// Every protocol that retransmits frames, each at most `n` times, with timers that are long enough on a link without
/// delay.
fn protocols(n: u32) -> [ArqProtocol; 7] {
    let (max_retransmissions, timeout, window) = (Some(n), SLOT, 256);
    [
        ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions }),
        ArqProtocol::GoBackN(GoBackNConfig { window, timeout, max_retransmissions }),
        ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
            window,
            timeout,
            max_retransmissions,
            release: Release::InOrder,
        }),
        ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
            window,
            timeout,
            max_retransmissions,
            release: Release::Immediate,
        }),
        ArqProtocol::RlpIs99(Reading::F.config(n)),
        ArqProtocol::RlpIs99(Reading::G.config(n)),
        ArqProtocol::RlpNack(RlpNackConfig { timeout: SLOT * 40, ..RlpNackConfig::new(n, SLOT) }),
    ]
}

#[test]
fn the_residual_error_is_that_of_the_sum_of_all_copies() {
    for (width_db, attempts) in [(0.0, [1, 2, 3, 4].as_slice()), (1.0, [2, 4].as_slice())] {
        let single = residual(1.5, 3.0, width_db, 1);
        for &attempts in attempts {
            let expected = residual(1.5, 3.0, width_db, attempts);
            for protocol in protocols(attempts - 1) {
                let counted = |is_combining: bool, run| {
                    let channel = channel(width_db, is_combining, run);
                    saturate(config(protocol, SimTime::ZERO), channel, 10_000)
                };
                let name = format!("{protocol:?}, width {width_db} dB");
                check(&format!("{name}, combining"), expected, |run| {
                    counted(true, run).residual_frame_error_rate()
                });
                // Each transmission by itself fails as often as ever, whatever it is combined with; a waterfall
                // makes those that are repeated the harder ones.
                if width_db == 0.0 {
                    check(&format!("{name}, single"), single, |run| counted(true, run).frame_error_rate());
                    check(&format!("{name}, alone"), single.powi(attempts.cast_signed()), |run| {
                        counted(false, run).residual_frame_error_rate()
                    });
                }
            }
        }
    }
}

/// With a propagation delay of two frames, the receiver of go back N discards the frames behind a missing one, and
/// combines the copies of one frame only.
#[test]
fn go_back_n_combines_the_copies_of_the_frame_it_waits_for() {
    let (delay, timeout) = (SLOT * 2, SLOT * 5);
    let protocol = ArqProtocol::GoBackN(GoBackNConfig { window: 5, timeout, max_retransmissions: Some(2) });
    check("go-back-N with delay", residual(1.5, 3.0, 0.0, 3), |run| {
        saturate(config(protocol, delay), channel(0.0, true, run), 100_000).residual_frame_error_rate()
    });
}

/// A soft buffer keeps the sum of the first `copies` copies, and combines each later one with it.
#[test]
fn a_small_buffer_combines_what_it_may_keep() {
    let protocol =
        ArqProtocol::StopAndWait(StopAndWaitConfig { timeout: SLOT, max_retransmissions: Some(3) });
    let soft_buffer = SoftBufferConfig { frames: 1, copies: 2 };
    // E[P(X > x - S)^2; S < x], X exponential, S the sum of two: with x the threshold over the mean, the integral
    // of (1 - exp(s - x))^2 s exp(-s) from 0 to x.
    let x = 10_f64.powf(0.15);
    let steps = 100_000;
    let ds = x / f64::from(steps);
    let at = |s: f64| (1.0 - (s - x).exp()).powi(2) * s * (-s).exp();
    let expected: f64 = (0..steps).map(|i| at((f64::from(i) + 0.5) * ds) * ds).sum();
    check("two copies kept, four sent", expected, |run| {
        let config = ArqLinkConfig { soft_buffer, ..config(protocol, SimTime::ZERO) };
        saturate(config, channel(0.0, true, run), 20_000).residual_frame_error_rate()
    });
}

#[test]
fn draws_go_by_index() {
    let ask = |numbers: &[u64]| -> Vec<(u64, Reception<Copies>)> {
        let mut channel = channel(1.0, true, 0);
        let transmission =
            |number| Transmission { number, at: SimTime::ZERO, sdu: Some(number % 7), attempt: 0 };
        numbers.iter().map(|&number| (number, channel.transmit(transmission(number)))).collect()
    };
    let all = ask(&(0..100).collect::<Vec<_>>());
    for (number, reception) in ask(&[3, 4, 17, 90, 99]) {
        assert_eq!(all[number as usize], (number, reception));
    }
}

#[test]
fn what_cannot_be_combined_is_refused() {
    let stop_and_wait =
        ArqProtocol::StopAndWait(StopAndWaitConfig { timeout: SLOT, max_retransmissions: None });
    let readable = config(stop_and_wait, SimTime::ZERO);
    let error = |config: ArqLinkConfig, is_combining| {
        let [draws, feedback] = streams();
        config
            .build(QueueConfig::DropTail(None), draws, channel(0.0, is_combining, 0), feedback)
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(error(readable, true), None);
    let lost = ArqLinkConfig { header: FrameHeader::Lost, ..readable };
    assert_eq!(error(lost, false), None);
    assert_eq!(
        error(lost, true).unwrap(),
        "header = \"lost\": must be \"readable\" where copies are combined: the receiver must know which frame a \
         spoiled copy belongs to"
    );
    let once = ArqLinkConfig { protocol: ArqProtocol::None, ..readable };
    assert_eq!(error(once, false), None);
    assert_eq!(
        error(once, true).unwrap(),
        "protocol = \"none\": must be one that retransmits frames where copies are combined: there is only one \
         copy of each"
    );
}

/// A loss process that reports the outcome of a soft channel gives the same frame statistics as that channel without
/// combining.
#[test]
fn a_channel_of_verdicts_is_a_loss_process() {
    struct Verdicts(RayleighFrames);
    impl crossfade_channel::LossProcess for Verdicts {
        fn lost(&mut self, at: SimTime, number: u64) -> bool {
            let sdu = None;
            let Reception::Soft(copy) = self.0.transmit(Transmission { number, at, sdu, attempt: 0 }) else {
                unreachable!("it combines")
            };
            !copy.passes_alone()
        }
    }
    for protocol in protocols(2) {
        let config = config(protocol, SLOT);
        let lossy = LossyFrames { loss: Box::new(Verdicts(channel(0.0, true, 0))) };
        assert_eq!(saturate(config, lossy, 5000), saturate(config, channel(0.0, false, 0), 5000));
    }
}

/// Observing a link changes nothing, and the events of its frames add up to its statistics.
#[test]
fn frames_are_told_as_they_are_counted() {
    let stop_and_wait = StopAndWaitConfig { timeout: SLOT * 3, max_retransmissions: Some(2) };
    let config = config(ArqProtocol::StopAndWait(stop_and_wait), SLOT);
    let link = || {
        let machines = (StopAndWaitSender::new(&stop_and_wait), StopAndWaitReceiver::new());
        let ([draws, feedback], queue) = (streams(), QueueConfig::DropTail(None));
        let mut link =
            ArqLink::new(&config, queue, draws, machines, channel(1.0, true, 0), feedback).unwrap();
        for _ in 0..300 {
            link.push(SimTime::ZERO, Parcel::new(0, 0, 20));
        }
        link
    };
    let (mut plain, mut watched) = (link(), link());
    // The first frame is on the air when it begins.
    plain.report(SimTime::from_millis(10));
    watched.report(SimTime::from_millis(10));
    watched.trace(true);
    while plain.next_event().is_some() {
        let at = plain.next_event().unwrap();
        assert_eq!(watched.next_event(), Some(at));
        let leaves = |link: &mut dyn Link| std::iter::from_fn(|| link.advance(at)).count();
        assert_eq!(leaves(&mut plain), leaves(&mut watched));
    }
    let counted = plain.report(SLOT * 5000).frames.unwrap();
    assert_eq!(watched.report(SLOT * 5000).frames.as_ref(), Some(&counted));
    let events: Vec<_> = std::iter::from_fn(|| watched.next_trace()).collect();
    assert!(events.is_sorted_by_key(LinkEvent::at));
    let frame = |event: &LinkEvent| match *event {
        LinkEvent::Frame { verdict, snr_db, .. } => Some((verdict, snr_db)),
        _ => None,
    };
    let data: Vec<_> = events.iter().filter_map(frame).collect();
    assert_eq!(data.len() as u64 + 1, counted.frames + counted.retransmissions);
    let count = |verdict| data.iter().filter(|event| event.0 == verdict).count() as u64;
    // The channel is the same again: what became of the first frame is known.
    let first = Transmission { number: 0, at: SimTime::ZERO, sdu: Some(0), attempt: 0 };
    let Reception::Soft(first) = channel(1.0, true, 0).transmit(first) else { panic!("it combines") };
    let errors = count(Verdict::Combined) + count(Verdict::Corrupt);
    assert_eq!(errors + u64::from(!first.passes_alone()), counted.frame_errors);
    assert!(count(Verdict::Combined) > 10 && count(Verdict::Corrupt) > 10);
    let passed = count(Verdict::Combined) + count(Verdict::Good);
    assert_eq!(passed + u64::from(first.passes_alone()), counted.frames_delivered);
    // What passes alone has a signal above the waterfall, as a rule.
    let mean = |verdict| {
        let snr_db = data.iter().filter(|event| event.0 == verdict).filter_map(|event| event.1);
        snr_db.sum::<f64>() / count(verdict) as f64
    };
    assert!(mean(Verdict::Good) > 3.0 && mean(Verdict::Corrupt) < 3.0);
}
