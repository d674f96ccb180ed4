//! Two hosts joined by links, the links of the cases, and the checks that hold for every run.

use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, LossyFrames, Packing, Release, ReverseConfig,
    SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
};
use crossfade_link::trace::{Schedule, TraceLinkConfig};
use crossfade_link::{LinkConfig, QueueConfig};
use crossfade_live::{Emulation, EmulationReport, Host, LiveLink, PumpConfig, PumpReport};
use rand::Rng;

pub(crate) const MTU: u32 = 1500;
pub(crate) const MS: SimTime = SimTime::from_millis(1);

/// Runs `experiment` between two hosts joined by these links; returns its result and the emulation's report.
pub(crate) fn emulate<T>(
    forward: LiveLink,
    reverse: LiveLink,
    config: PumpConfig,
    experiment: impl FnOnce(&[Host; 2]) -> T,
) -> (T, EmulationReport) {
    let hosts = Host::pair(MTU).unwrap();
    let emulation = Emulation::start(&hosts, forward, reverse, config).unwrap();
    let result = experiment(&hosts);
    let report = emulation.stop().unwrap();
    check(&report.forward);
    check(&report.reverse);
    (result, report)
}

/// Checks that each packet has exactly one fate and the kernel dropped none.
pub(crate) fn check(report: &PumpReport) {
    let PumpReport { packets, refused, left, undeliverable, ring_drops, ref link, .. } = *report;
    assert_eq!(packets, refused + left + link.queue_drops + link.losses + link.arrivals, "{report:?}");
    assert_eq!((undeliverable, ring_drops), (0, 0), "{report:?}");
    assert_eq!(report.lateness.count(), link.arrivals);
}

/// Random stream of the queue of a link.
pub(crate) fn draws() -> Stream {
    RunSeed { seed: 1, run: 0 }.stream("queue.dl")
}

pub(crate) fn hop(rate_bps: Option<f64>, delay: SimTime) -> LiveLink {
    let queue = QueueConfig::DropTail(None);
    LinkConfig { rate_bps, delay, queue, draws: draws(), loss: Box::new(Lossless) }.build().unwrap()
}

pub(crate) fn iid(p_e: f64) -> Box<dyn LossProcess> {
    Box::new(Iid::new(p_e, RunSeed { seed: 1, run: 0 }.stream("channel.dl")).unwrap())
}

/// ARQ link with frames of 125 bytes, 12 of them per full packet, and a delay of 5 ms each way.
pub(crate) fn arq(rate_bps: f64, loss: Box<dyn LossProcess>, protocol: ArqProtocol) -> LiveLink {
    let config = ArqLinkConfig {
        rate_bps,
        frame_size: 125,
        clock: FrameClock::OnDemand,
        delay: MS * 5,
        segmentation: SegmentationConfig {
            payload: 125,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        header: FrameHeader::Lost,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(MS * 5),
        protocol,
    };
    let feedback = RunSeed { seed: 1, run: 0 }.stream("feedback.dl");
    config.build(QueueConfig::DropTail(None), draws(), LossyFrames { loss }, feedback).unwrap()
}

/// Selective-repeat link at 8 Mbit/s: a frame takes 0.125 ms, a full packet 1.5 ms.
pub(crate) fn selective_repeat(loss: Box<dyn LossProcess>, max_retransmissions: Option<u32>) -> LiveLink {
    // Ten round trips of frames: the window does not close.
    let config = SelectiveRepeatConfig {
        window: 1024,
        timeout: MS * 11,
        max_retransmissions,
        release: Release::InOrder,
    };
    arq(8e6, loss, ArqProtocol::SelectiveRepeat(config))
}

/// Trace link with 10 packets per 15 ms, repeated without end.
pub(crate) fn trace(queue: QueueConfig, loss: Box<dyn LossProcess>) -> TraceLinkConfig {
    let schedule = Schedule::Opportunities("1\n1\n3\n4\n4\n4\n9\n10\n12\n15\n".parse().unwrap());
    TraceLinkConfig { schedule, delay: MS * 5, delays: None, queue, draws: draws(), loss }
}

/// Repeats an experiment up to five times until it succeeds: results that the machine's timing has spoilt are errors,
/// and a failure only if all attempts have one.
pub(crate) fn undisturbed(experiment: impl Fn() -> Result<(), String>) {
    let attempts: Vec<String> = (0..5).map_while(|_| experiment().err()).collect();
    assert!(attempts.len() < 5, "{attempts:#?}");
}

/// Pseudo-random bytes, in which any lost, duplicated or exchanged byte is visible.
pub(crate) fn random_bytes(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    RunSeed { seed: 1, run: 0 }.stream("payload").fill_bytes(&mut bytes);
    bytes
}
