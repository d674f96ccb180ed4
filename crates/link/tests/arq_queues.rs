//! Queue disciplines before ARQ links: if each packet is one frame that is sent once, the link behaves like one of
//! whole packets.

use crossfade_channel::{Iid, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, LossyFrames, Packing, Release, ReverseConfig,
    SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
};
use crossfade_link::{
    CoDelConfig, Departure, Ecn, FqCoDelConfig, Link, LinkConfig, LinkStatistics, Parcel, PieConfig, Push,
    QueueConfig, QueueLimit, RedConfig,
};
use proptest::prelude::*;

const MS: SimTime = SimTime::from_millis(1);
const BYTES: u32 = 1000;
/// Bit rate at which 1000 bytes take 1 ms.
const RATE_BPS: f64 = 8e6;

fn stream(name: &str) -> crossfade_core::Stream {
    RunSeed { seed: 11, run: 0 }.stream(name)
}

fn framed(queue: QueueConfig, frame_size: u32, protocol: ArqProtocol, p_e: f64) -> Box<dyn Link + Send> {
    let config = ArqLinkConfig {
        rate_bps: RATE_BPS,
        frame_size,
        clock: FrameClock::OnDemand,
        delay: MS * 20,
        segmentation: SegmentationConfig {
            payload: frame_size,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        header: FrameHeader::Readable,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(MS * 20),
        protocol,
    };
    let loss = Box::new(Iid::new(p_e, stream("channel")).unwrap());
    config.build(queue, stream("queue"), LossyFrames { loss }, stream("feedback")).unwrap()
}

fn queues() -> [QueueConfig; 5] {
    let limit = QueueLimit::Packets(40);
    let codel = CoDelConfig { interval: MS * 30, ecn: true, ..CoDelConfig::default() };
    [
        QueueConfig::DropTail(Some(limit)),
        QueueConfig::Red(RedConfig { w_q: 0.02, ecn: true, ..RedConfig::new(limit, BYTES, RATE_BPS) }),
        QueueConfig::CoDel(codel, limit),
        QueueConfig::FqCoDel(FqCoDelConfig { codel, limit, ..FqCoDelConfig::default() }),
        QueueConfig::Pie(PieConfig { max_burst: MS, ..PieConfig::new(limit, BYTES) }),
    ]
}

/// Fates of packets with the times of their reports, and the statistics of the link.
type Story = (Vec<(SimTime, u32, &'static str)>, LinkStatistics);

/// Pushes packets of flows 0, 1 and 2 after gaps in microseconds; every event is processed at its time.
fn drive(mut link: Box<dyn Link + Send>, packets: &[(u64, u32)]) -> Story {
    let (mut now, mut story) = (SimTime::ZERO, Vec::new());
    let mut seen = SimTime::ZERO;
    let mut collect = |link: &mut Box<dyn Link + Send>, story: &mut Vec<_>, until: SimTime| {
        while let Some(at) = link.next_event().filter(|&at| at <= until) {
            assert!(at >= seen, "an event of {at:?} is told after {seen:?}");
            seen = at;
            while let Some(departure) = link.advance(at) {
                let fate = match departure {
                    Departure::Arrived(parcel) if parcel.is_ce() => "marked",
                    Departure::Arrived(_) => "arrived",
                    Departure::Lost(_) => "lost",
                    Departure::QueueDrop(_) => "dropped",
                };
                story.push((at, departure.parcel().id(), fate));
            }
        }
    };
    for (id, &(gap, flow)) in (0..).zip(packets) {
        now += SimTime::from_micros(gap);
        collect(&mut link, &mut story, now);
        let parcel = Parcel::new(id, flow, BYTES);
        let parcel = if flow == 2 { parcel.with_ecn(Ecn::Ect0) } else { parcel };
        if link.push(now, parcel) != Push::Accepted {
            story.push((now, id, "refused"));
        }
    }
    collect(&mut link, &mut story, SimTime::from_millis(3_600_000));
    story.sort_unstable();
    (story, link.report(SimTime::from_millis(3_600_000)).statistics)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 16))]

    /// An ARQ link without losses has the departures, drops, marks and counts of a plain transmitter, at equal times.
    #[test]
    fn a_frame_that_is_a_packet_fares_as_a_packet(
        packets in prop::collection::vec((0_u64..1500, 0_u32..3), 50..400),
    ) {
        for queue in queues() {
            let plain = LinkConfig {
                rate_bps: Some(RATE_BPS),
                delay: MS * 20,
                queue,
                draws: stream("queue"),
                loss: Box::new(Lossless),
            };
            let plain = plain.build().unwrap();
            let frames = framed(queue, BYTES, ArqProtocol::None, 0.0);
            let (whole, cut) = (drive(plain, &packets), drive(frames, &packets));
            prop_assert_eq!(&whole.0, &cut.0, "{:?}", queue);
            // The order of a sum.
            prop_assert!((whole.1.waiting_s - cut.1.waiting_s).abs() < 1e-9);
            prop_assert_eq!(LinkStatistics { waiting_s: 0.0, ..whole.1 }, LinkStatistics { waiting_s: 0.0, ..cut.1 });
        }
    }

    /// With lost and retransmitted frames every packet leaves exactly once, and in order of time.
    #[test]
    fn every_packet_leaves_once(
        packets in prop::collection::vec((0_u64..1500, 0_u32..3), 50..200),
        p_e in 0.0..0.5_f64,
        frame_size in prop::sample::select(vec![100_u32, 300, 1000, 1500]),
        in_order in any::<bool>(),
    ) {
        for queue in queues() {
            let protocol = ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window: 64,
                timeout: MS * 60,
                max_retransmissions: Some(3),
                release: if in_order { Release::InOrder } else { Release::Immediate },
            });
            let (story, counts) = drive(framed(queue, frame_size, protocol, p_e), &packets);
            let mut ids: Vec<u32> = story.iter().map(|&(_, id, _)| id).collect();
            ids.sort_unstable();
            prop_assert_eq!(ids, (0..packets.len() as u32).collect::<Vec<_>>(), "{:?}", queue);
            let told = |fate: &str| story.iter().filter(|told| told.2 == fate).count() as u64;
            prop_assert_eq!(counts.queue_drops, told("dropped") + told("refused"));
            prop_assert_eq!(counts.arrivals, told("arrived") + told("marked"));
            prop_assert_eq!(counts.losses, told("lost"));
            prop_assert!(counts.ecn_marks >= told("marked"));
        }
    }
}
