//! Benchmark of TCP over an ARQ link through the engine: user CPU time per frame.
//!
//! `cargo bench -p crossfade-sim --bench tcp_over_arq [-- CASE] [FRAMES]`; without a case all of them. One connection
//! (Tahoe, window 4) over frames of 20 octets in 20 ms, 30 of them per segment; fading of `fd_t` 0.01 loses 1, 10 or 30
//! % of the frames, each of which is retransmitted up to 10 times.

use crossfade_channel::{Clock, Lossless, MarkovLoss, TwoStateMarkov};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, GoBackNConfig, LossyFrames, Packing, Reading,
    Release, ReverseConfig, RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
    StopAndWaitConfig,
};
use crossfade_link::{HopConfig, QueueConfig};
use crossfade_sim::{FlowConfig, FlowPath, Network, Source, StopRule, Tcp, Topology, simulate};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);
const SLOT: SimTime = SimTime::from_millis(20);

fn network(protocol: ArqProtocol, p_e: f64, frames: u64) -> Network {
    let chain = TwoStateMarkov::from_rayleigh(p_e, 0.01).expect("a chain");
    let seed = RunSeed { seed: 1, run: 0 };
    let loss = Box::new(MarkovLoss::new(&chain, Clock::Slot(SLOT), seed.stream("channel.dl")));
    let forward = ArqLinkConfig {
        rate_bps: 9600.0,
        frame_size: 24,
        clock: FrameClock::Slotted,
        delay: SimTime::ZERO,
        segmentation: SegmentationConfig {
            payload: 20,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        header: FrameHeader::Lost,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(SLOT),
        protocol,
    };
    let back =
        HopConfig { rate_bps: None, delay: SimTime::ZERO, queue_limit: None, loss: Box::new(Lossless) };
    let config = TcpConfig {
        limited_transmit: false,
        rto: RtoConfig { max: MS * 64_000, ..RtoConfig::estimated(MS * 1000, MS * 3000, MS * 100) },
        ..TcpConfig::new(Flavour::Ns2, Variant::Tahoe, 4)
    };
    let path = FlowPath { packet_size: 600, ack_size: 40, sack_block_size: 8, ..FlowPath::default() };
    let source = Source::Tcp(Tcp { config: config.into(), congestion: None });
    let flows = vec![FlowConfig { name: String::new(), source, path, start: SimTime::ZERO }];
    let forward = forward
        .build(
            QueueConfig::DropTail(None),
            seed.stream("queue.dl"),
            LossyFrames { loss },
            seed.stream("feedback.dl"),
        )
        .expect("good parameters");
    let topology = Topology::path(vec![forward.into()], vec![back.into()]);
    Network::new(flows, topology, StopRule::At(SLOT * frames), seed)
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn run(case: &str, protocol: ArqProtocol, p_e: f64, frames: u64) {
    let network = network(protocol, p_e, frames);
    let before = cpu_seconds();
    let statistics =
        simulate(network, None, None, &AtomicBool::new(false)).expect("a network, and nobody cancels");
    let cpu = cpu_seconds() - before;
    let arq = statistics.links[0].arq.as_ref().expect("a link of frames");
    let sent = arq.frames + arq.retransmissions + arq.idle_frames;
    println!(
        "{case:17} {:4.0} % lost {:6.1} ns CPU per frame sent ({sent} sent, {} delivered, {} segments, {} timeouts)",
        p_e * 100.0,
        cpu / sent as f64 * 1e9,
        arq.frames_delivered,
        statistics.flows[0].segments_in_order,
        statistics.flows[0].timeouts,
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let frames = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(5_000_000);
    let (timeout, max_retransmissions) = (SLOT * 2, Some(10));
    let cases = [
        ("none", ArqProtocol::None),
        ("rlp-is99", ArqProtocol::RlpIs99(Reading::F.config(10))),
        ("rlp-nack", ArqProtocol::RlpNack(RlpNackConfig::new(10, SLOT))),
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
