//! Properties that every ARQ link and every receiver has, for any channel.

use crate::rayleigh::RayleighFrames;
use crossfade_channel::{Clock, LossProcess, MarkovLoss, TwoStateMarkov};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, ArqReceiver, ArqStatistics, Content, Delivery, FrameClock, FrameHeader,
    GoBackNConfig, GoBackNReceiver, HeaderCompression, LossyFrames, Outcome, Packing, Pdu, Reading, Release,
    ReverseConfig, RlpIs99Config, RlpIs99Receiver, RlpNackConfig, RlpNackReceiver, SegmentationConfig,
    SelectiveRepeatConfig, SelectiveRepeatReceiver, SoftBufferConfig, StopAndWaitConfig, StopAndWaitReceiver,
};
use crossfade_link::{Departure, Link, LinkStatistics, Parcel, Push, QueueConfig, QueueLimit};
use proptest::prelude::*;

const SLOT: SimTime = SimTime::from_millis(20);

fn is99() -> impl Strategy<Value = RlpIs99Config> {
    (0_usize..7, 0_u32..5, 1_u32..9, 8_u32..129, 1_u32..200).prop_map(
        |(reading, n, round_trip, buffer, overflow)| RlpIs99Config {
            round_trip,
            buffer,
            overflow,
            ..Reading::ALL[reading].config(n)
        },
    )
}

fn rlp_nack() -> impl Strategy<Value = RlpNackConfig> {
    (0_u32..5, 1_u64..9, any::<bool>(), any::<bool>(), 1_u32..40, 8_u32..129).prop_map(
        |(n, timeout, nack_corrupt, merge_nacks, ack_period, buffer)| RlpNackConfig {
            timeout: SLOT * timeout,
            nack_corrupt,
            merge_nacks,
            ack_period,
            buffer,
            ..RlpNackConfig::new(n, SLOT)
        },
    )
}

fn selective_repeat() -> impl Strategy<Value = SelectiveRepeatConfig> {
    (1_u32..70, 1_u64..9, prop::option::of(0_u32..5), any::<bool>()).prop_map(
        |(window, timeout, max_retransmissions, in_order)| SelectiveRepeatConfig {
            window,
            timeout: SLOT * timeout,
            max_retransmissions,
            release: if in_order { Release::InOrder } else { Release::Immediate },
        },
    )
}

fn protocol() -> impl Strategy<Value = ArqProtocol> {
    let timeout = (1_u64..9).prop_map(|slots| SLOT * slots);
    let n = prop::option::of(0_u32..5);
    prop_oneof![
        is99().prop_map(ArqProtocol::RlpIs99),
        rlp_nack().prop_map(ArqProtocol::RlpNack),
        selective_repeat().prop_map(ArqProtocol::SelectiveRepeat),
        (timeout.clone(), n.clone()).prop_map(|(timeout, max_retransmissions)| {
            ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions })
        }),
        (1_u32..20, timeout, n).prop_map(|(window, timeout, max_retransmissions)| {
            ArqProtocol::GoBackN(GoBackNConfig { window, timeout, max_retransmissions })
        }),
    ]
}

/// Parameters of a link beside its protocol.
#[derive(Clone, Copy, Debug)]
struct Circumstances {
    clock: FrameClock,
    header: FrameHeader,
    packing: Packing,
    compressed: bool,
    limit: Option<usize>,
    delay_ms: u64,
    reverse_rate_bps: Option<u32>,
    reverse_delay_ms: u64,
    p_e: f64,
    burst: f64,
    reverse_p_e: f64,
    seed: u64,
    /// Mean SNR in dB of a Rayleigh fading channel on which frames pass at 0 dB; `None`: a loss process instead.
    snr_db: Option<f64>,
    soft_buffer: SoftBufferConfig,
}

fn circumstances() -> impl Strategy<Value = Circumstances> {
    let shape = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of(0_usize..20));
    let way = (0_u64..100, prop::option::of(2400_u32..100_000), 0_u64..100);
    let loss = (0.0..0.6_f64, 1.5..6.0_f64, 0.0..0.5_f64, any::<u64>());
    let soft_buffer = (1_u32..9, 1_u32..5).prop_map(|(frames, copies)| SoftBufferConfig { frames, copies });
    let soft = (prop::option::of(-3.0..20.0_f64), soft_buffer);
    (shape, way, loss, soft).prop_map(|(shape, way, loss, soft)| {
        let (is_slotted, header_is_readable, is_crossing, compressed, limit) = shape;
        let (delay_ms, reverse_rate_bps, reverse_delay_ms) = way;
        let (p_e, burst, reverse_p_e, seed) = loss;
        Circumstances {
            clock: if is_slotted { FrameClock::Slotted } else { FrameClock::OnDemand },
            header: if header_is_readable { FrameHeader::Readable } else { FrameHeader::Lost },
            packing: if is_crossing { Packing::Crossing } else { Packing::Padded },
            compressed,
            limit,
            delay_ms,
            reverse_rate_bps,
            reverse_delay_ms,
            p_e,
            burst,
            reverse_p_e,
            seed,
            snr_db: soft.0,
            soft_buffer: soft.1,
        }
    })
}

fn build(protocol: ArqProtocol, of: Circumstances) -> Box<dyn Link + Send> {
    let seed = RunSeed { seed: of.seed, run: 0 };
    let chain = TwoStateMarkov::from_burst(of.p_e, of.burst).unwrap();
    let loss: Box<dyn LossProcess> =
        Box::new(MarkovLoss::new(&chain, Clock::Slot(SLOT), seed.stream("channel.dl")));
    let config = ArqLinkConfig {
        rate_bps: 9600.0,
        frame_size: 24,
        clock: of.clock,
        delay: SimTime::from_millis(of.delay_ms),
        segmentation: SegmentationConfig {
            payload: 20,
            packing: of.packing,
            framing: 4,
            header_compression: of.compressed.then_some(HeaderCompression::VAN_JACOBSON),
        },
        header: of.header,
        soft_buffer: of.soft_buffer,
        reverse: ReverseConfig {
            rate_bps: of.reverse_rate_bps.map(f64::from),
            feedback_size: 3,
            delay: SimTime::from_millis(of.reverse_delay_ms),
            loss: of.reverse_p_e,
        },
        protocol,
    };
    let queue = QueueConfig::DropTail(of.limit.map(QueueLimit::Packets));
    let (draws, feedback) = (seed.stream("queue.dl"), seed.stream("channel.ul"));
    match of.snr_db {
        None => config.build(queue, draws, LossyFrames { loss }, feedback),
        Some(snr_db) => {
            let channel = RayleighFrames {
                snr_db,
                threshold_db: 0.0,
                width_db: 0.5,
                is_combining: config.check_combining().is_ok(),
                fading: seed.stream("fading.dl"),
                payload: seed.stream("payload.dl"),
                last_snr: 0.0,
            };
            config.build(queue, draws, channel, feedback)
        }
    }
    .unwrap()
}

/// Fates of all packets, in the order in which a link reports them.
#[derive(Debug, Default, PartialEq)]
struct Story {
    arrived: Vec<(SimTime, u32)>,
    lost: Vec<(SimTime, u32)>,
    dropped: Vec<u32>,
    statistics: Option<(LinkStatistics, ArqStatistics)>,
}

impl Story {
    fn collect(&mut self, link: &mut dyn Link, until: SimTime) -> Result<(), TestCaseError> {
        let mut before = SimTime::ZERO;
        for steps in 0.. {
            let Some(at) = link.next_event().filter(|&at| at <= until) else { break };
            prop_assert!(at >= before, "events come in order of time");
            prop_assert!(steps < 1_000_000, "a deadlock: nothing leaves any more");
            before = at;
            while let Some(departure) = link.advance(at) {
                match departure {
                    Departure::Arrived(packet) => self.arrived.push((at, packet.id())),
                    Departure::Lost(packet) => self.lost.push((at, packet.id())),
                    Departure::QueueDrop(packet) => prop_assert!(false, "{packet:?} had been accepted"),
                }
            }
        }
        Ok(())
    }
}

/// Pushes packets after gaps in milliseconds; `polls` is true for the packets before which the link is advanced.
fn tell(
    mut link: Box<dyn Link + Send>,
    packets: &[(u64, u32)],
    polls: impl Fn(usize) -> bool,
) -> Result<Story, TestCaseError> {
    let (mut story, mut now) = (Story::default(), SimTime::ZERO);
    for (i, &(gap, bytes)) in packets.iter().enumerate() {
        now += SimTime::from_millis(gap);
        if polls(i) {
            story.collect(&mut *link, now)?;
        }
        let id = i as u32;
        match link.push(now, Parcel::new(id, 0, bytes)) {
            Push::Accepted => {}
            Push::Lost => prop_assert!(false, "nobody knows that yet"),
            Push::QueueDrop => story.dropped.push(id),
        }
    }
    story.collect(&mut *link, SimTime::MAX)?;
    prop_assert_eq!(link.next_event(), None);
    let report = link.report(now);
    story.statistics = Some((report.statistics, report.frames.unwrap()));
    Ok(story)
}

fn traffic() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![Just(0), 0_u64..2000], prop_oneof![Just(40_u32), 1_u32..700]), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 25 / 16))]

    /// Every packet leaves exactly once, in order if the protocol keeps it, and the statistics agree with the outcomes.
    #[test]
    fn packets_are_conserved(
        protocol in protocol(), of in circumstances(), packets in traffic(), polls: u64,
    ) {
        let story = tell(build(protocol, of), &packets, |_| true)?;
        let ids = |told: &[(SimTime, u32)]| told.iter().map(|(_, id)| *id).collect::<Vec<_>>();
        let mut all = [ids(&story.arrived), ids(&story.lost), story.dropped.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..packets.len() as u32).collect::<Vec<_>>());
        let is_immediate = matches!(
            protocol,
            ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig { release: Release::Immediate, .. })
        );
        if !is_immediate {
            prop_assert!(ids(&story.arrived).is_sorted() && ids(&story.lost).is_sorted());
        }
        if !protocol.may_lose() {
            prop_assert_eq!(story.lost.len(), 0);
        }
        let (link, arq) = story.statistics.as_ref().unwrap();
        prop_assert_eq!(link.losses, story.lost.len() as u64);
        prop_assert_eq!(link.queue_drops, story.dropped.len() as u64);
        prop_assert_eq!(link.transmissions, (story.arrived.len() + story.lost.len()) as u64);
        prop_assert_eq!(arq.frames, arq.frames_delivered + arq.frames_lost);
        prop_assert_eq!(arq.head_of_line_delay.count(), arq.frames_delivered);
        prop_assert!(arq.frame_errors <= arq.frames + arq.retransmissions);
        prop_assert!(arq.frames_lost == 0 || !story.lost.is_empty());

        // When it is looked after changes nothing.
        let lazy = tell(build(protocol, of), &packets, |i| polls >> (i % 64) & 1 == 1)?;
        prop_assert_eq!(&lazy.statistics, &story.statistics);
        prop_assert_eq!((ids(&lazy.arrived), &lazy.dropped), (ids(&story.arrived), &story.dropped));
    }

    /// A link polled every millisecond reports the same packets at the same times as one polled at its announced
    /// events.
    #[test]
    fn packets_leave_when_it_was_announced(
        protocol in protocol(), of in circumstances(), packets in traffic(),
    ) {
        let story = tell(build(protocol, of), &packets, |_| true)?;
        let mut link = build(protocol, of);
        let (mut arrived, mut lost, mut now) = (Vec::new(), Vec::new(), SimTime::ZERO);
        let step = SimTime::from_millis(1);
        let mut look = |link: &mut dyn Link, now: SimTime| {
            while let Some(departure) = link.advance(now) {
                match departure {
                    Departure::Arrived(packet) => arrived.push((now, packet.id())),
                    Departure::Lost(packet) => lost.push((now, packet.id())),
                    Departure::QueueDrop(_) => {}
                }
            }
        };
        let mut at = SimTime::ZERO;
        for (i, &(gap, bytes)) in packets.iter().enumerate() {
            at += SimTime::from_millis(gap);
            while now < at {
                look(&mut *link, now);
                now += step;
            }
            look(&mut *link, now);
            link.push(now, Parcel::new(i as u32, 0, bytes));
        }
        while link.next_event().is_some() {
            look(&mut *link, now);
            now += step;
        }
        // Times of feedback may fall between milliseconds, those of frames only without slots.
        if of.clock == FrameClock::Slotted {
            prop_assert_eq!((&arrived, &lost), (&story.arrived, &story.lost));
        }
    }
}

/// Test frame: sequence number, lower edge of the window, kind of content, and true if it is good; `None`: unreadable.
type Frame = Option<(u64, u64, u8, bool)>;

/// Any frame that could be received, plausible or not.
fn frame() -> impl Strategy<Value = Frame> {
    let seq = prop_oneof![3 => 0_u64..300, 1 => 0_u64..5000, 1 => any::<u64>()];
    let oldest = prop_oneof![3 => Just(0_u64), 2 => 0_u64..300, 1 => any::<u64>()];
    prop::option::weighted(0.9, (seq, oldest, 0_u8..8, any::<bool>()))
}

/// Gives any frames to a receiver: no frame is passed up twice or requested endlessly, and nothing panics.
fn torture(receiver: &mut dyn ArqReceiver, frames: &[(Frame, u64)]) -> Result<(), TestCaseError> {
    let mut now = SimTime::ZERO;
    let mut passed = std::collections::HashSet::new();
    for (i, &(frame, millis)) in frames.iter().enumerate() {
        now += SimTime::from_millis(millis);
        let outcome = match frame {
            None => Outcome::Erased,
            Some((seq, oldest, kind, good)) => {
                let content = match kind {
                    0 => Content::Idle,
                    1 => Content::Skip,
                    // Each frame has a payload of its own.
                    _ => Content::Data(i as u64),
                };
                let pdu = Pdu { seq, oldest, content, attempt: 0 };
                if good { Outcome::Good(pdu) } else { Outcome::Corrupt(pdu) }
            }
        };
        receiver.on_pdu(now, outcome);
        // At most the largest buffer, in the largest round.
        let said = std::iter::from_fn(|| receiver.poll_feedback(now)).count();
        prop_assert!(said <= 129 * 5, "{said} requests at once");
        while let Some(delivery) = receiver.poll_delivery() {
            match delivery {
                Delivery::Frame { sdu, received_at } => {
                    prop_assert!(passed.insert(sdu), "{sdu} twice");
                    prop_assert!(received_at <= now);
                }
                Delivery::Lost { first, frames } => {
                    prop_assert!(frames > 0 && first.checked_add(frames).is_some());
                }
            }
        }
        prop_assert!(receiver.next_timeout().is_none_or(|at| at > now));
    }
    Ok(())
}

proptest! {
    #[test]
    fn receivers_survive_any_frames(
        frames in prop::collection::vec((frame(), 0_u64..100), 0..400),
        is99 in is99(), rlp_nack in rlp_nack(), selective_repeat in selective_repeat(),
    ) {
        torture(&mut RlpIs99Receiver::new(&is99), &frames)?;
        torture(&mut RlpNackReceiver::new(&rlp_nack), &frames)?;
        torture(&mut SelectiveRepeatReceiver::new(&selective_repeat), &frames)?;
        torture(&mut GoBackNReceiver::new(), &frames)?;
        torture(&mut StopAndWaitReceiver::new(), &frames)?;
    }
}
