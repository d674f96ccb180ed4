//! CPU time per frame of ARQ links, as an engine drives them.
//!
//! `cargo bench -p crossfade-link --bench arq [-- CASE] [FRAMES]`; without CASE all cases run. Four packets of 543
//! bytes (28 frames of 20 bytes) are always in the link: the next is pushed when one has left. Fading of `fd_t` 0.01
//! loses 1, 10 or 30 % of the frames.

use crossfade_channel::{Clock, MarkovLoss, TwoStateMarkov};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, GoBackNConfig, HeaderCompression, LossyFrames,
    Packing, Release, ReverseConfig, RlpIs99Config, RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig,
    SoftBufferConfig, StopAndWaitConfig,
};
use crossfade_link::{Departure, Link, Parcel, QueueConfig};
use rustix::time::{ClockId, clock_gettime};

const SLOT: SimTime = SimTime::from_millis(20);

fn build(protocol: ArqProtocol, p_e: f64) -> Box<dyn Link + Send> {
    let chain = TwoStateMarkov::from_rayleigh(p_e, 0.01).expect("a chain");
    let seed = RunSeed { seed: 1, run: 0 };
    let loss = Box::new(MarkovLoss::new(&chain, Clock::Slot(SLOT), seed.stream("channel.dl")));
    ArqLinkConfig {
        rate_bps: 9600.0,
        frame_size: 24,
        clock: FrameClock::Slotted,
        delay: SimTime::ZERO,
        segmentation: SegmentationConfig {
            payload: 20,
            packing: Packing::Padded,
            framing: 4,
            header_compression: Some(HeaderCompression::VAN_JACOBSON),
        },
        header: FrameHeader::Lost,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(SLOT),
        protocol,
    }
    .build(
        QueueConfig::DropTail(None),
        seed.stream("queue.dl"),
        LossyFrames { loss },
        seed.stream("feedback.dl"),
    )
    .expect("good parameters")
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn run(case: &str, protocol: ArqProtocol, p_e: f64, frames: u64) {
    let mut link = build(protocol, p_e);
    let before = cpu_seconds();
    for flow in 0..4 {
        link.push(SimTime::ZERO, Parcel::new(0, flow, 576));
    }
    let (mut events, mut departures) = (0_u64, 0_u64);
    let end = SLOT * frames;
    while let Some(at) = link.next_event().filter(|&at| at <= end) {
        events += 1;
        while let Some(departure) = link.advance(at) {
            departures += 1;
            if let Departure::Arrived(packet) | Departure::Lost(packet) = departure {
                link.push(at, packet);
            }
        }
    }
    let nanos = (cpu_seconds() - before) / frames as f64 * 1e9;
    let counted = link.report(end).frames.expect("a link of frames");
    println!(
        "{case:17} {:4.0} % lost {nanos:6.1} ns per frame  \
         ({:.2} transmissions a frame, {:.2} events a packet)",
        p_e * 100.0,
        counted.frame_transmissions_per_frame(),
        events as f64 / departures as f64,
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let frames = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(5_000_000);
    let (timeout, max_retransmissions) = (SLOT * 2, Some(7));
    let cases = [
        ("rlp-is99", ArqProtocol::RlpIs99(RlpIs99Config::default())),
        ("rlp-nack", ArqProtocol::RlpNack(RlpNackConfig::new(3, SLOT))),
        (
            "selective-repeat",
            ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window: 64,
                timeout,
                max_retransmissions,
                release: Release::InOrder,
            }),
        ),
        ("go-back-n", ArqProtocol::GoBackN(GoBackNConfig { window: 2, timeout, max_retransmissions })),
        ("stop-and-wait", ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions })),
    ];
    for (case, protocol) in cases {
        if arguments.iter().all(|a| a.parse::<u64>().is_ok() || a == case) {
            for p_e in [0.01, 0.1, 0.3] {
                run(case, protocol, p_e, frames);
            }
        }
    }
}
