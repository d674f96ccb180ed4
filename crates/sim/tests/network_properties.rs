//! Conservation of packets in random networks of flows and links, and agreement of statistics with observed events.

use crate::common::{MS, network_of, path, run_network, stream, tcp};
use crossfade_channel::{Iid, LossProcess};
use crossfade_core::{EventKind, EventRecord, RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, GoBackNConfig, LossyFrames, Packing, Reading,
    Release, ReverseConfig, RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
    StopAndWaitConfig,
};
use crossfade_link::trace::{RateTable, Schedule, TraceLinkConfig};
use crossfade_link::{CoDelConfig, FqCoDelConfig, LinkConfig, QueueConfig, QueueLimit, RedConfig};
use crossfade_sim::{
    AnyLink, Arrivals, Distribution, FlowConfig, Gaps, LinkSummary, Network, OnOff, Source, StopRule, Tcp,
    simulate,
};
use crossfade_transport::{Flavour, RtoRule, Variant};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

/// Counts of one link for the packets of one flow, taken from the events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    sent: u64,
    received: u64,
    lost: u64,
    dropped: u64,
    acks_lost: u64,
    acks_dropped: u64,
}

fn seen(events: &[EventRecord], of: impl Fn(&EventRecord) -> bool) -> Seen {
    let mut seen = Seen::default();
    for event in events.iter().filter(|event| of(event)) {
        match event.kind {
            EventKind::Send => seen.sent += 1,
            EventKind::Receive => seen.received += 1,
            EventKind::Lost => seen.lost += 1,
            EventKind::QueueDrop => seen.dropped += 1,
            EventKind::AckLost => seen.acks_lost += 1,
            EventKind::AckQueueDrop => seen.acks_dropped += 1,
            _ => {}
        }
    }
    seen
}

fn any_queue() -> impl Strategy<Value = QueueConfig> {
    prop_oneof![
        prop::option::of(2usize..30).prop_map(|limit| QueueConfig::DropTail(limit.map(QueueLimit::Packets))),
        (2_000u64..30_000).prop_map(|bytes| QueueConfig::DropTail(Some(QueueLimit::Bytes(bytes)))),
        (2usize..50).prop_map(|n| QueueConfig::CoDel(CoDelConfig::default(), QueueLimit::Packets(n))),
        Just(QueueConfig::FqCoDel(FqCoDelConfig::default())),
        Just(QueueConfig::Red(RedConfig::new(QueueLimit::Packets(30), 1000, 1e6))),
    ]
}

/// Configuration of a link, without its random streams.
#[derive(Clone, Debug)]
struct Draft {
    kind: Kind,
    delay: SimTime,
    queue: QueueConfig,
    p_e: f64,
}

#[derive(Clone, Debug)]
enum Kind {
    Constant(Option<f64>),
    Arq(ArqProtocol, Packing, FrameClock),
    Trace(Schedule),
}

impl Draft {
    fn link(&self, name: &str, seed: u64) -> AnyLink {
        let Self { delay, queue, p_e, .. } = self.clone();
        // A packet has ten frames: with a tenth of the losses each, TCP gets through without ARQ too.
        let p_e = if matches!(self.kind, Kind::Arq(..)) { p_e / 10.0 } else { p_e };
        let loss: Box<dyn LossProcess> = Box::new(Iid::new(p_e, stream(name, seed)).unwrap());
        let draws = stream("queue.dl", seed);
        match self.kind.clone() {
            Kind::Constant(rate_bps) => {
                LinkConfig { rate_bps, delay, queue, draws, loss }.try_into().unwrap()
            }
            Kind::Trace(schedule) => {
                TraceLinkConfig { schedule, delay, delays: None, queue, draws, loss }.build().unwrap().into()
            }
            Kind::Arq(protocol, packing, clock) => {
                let config = ArqLinkConfig {
                    rate_bps: 4e6,
                    frame_size: 125,
                    clock,
                    delay,
                    segmentation: SegmentationConfig {
                        payload: 110,
                        packing,
                        framing: 4,
                        header_compression: None,
                    },
                    header: FrameHeader::Lost,
                    soft_buffer: SoftBufferConfig::default(),
                    reverse: ReverseConfig::ideal(delay),
                    protocol,
                };
                config.build(queue, draws, LossyFrames { loss }, stream(name, seed)).unwrap().into()
            }
        }
    }
}

fn any_protocol() -> impl Strategy<Value = ArqProtocol> {
    let timeout = MS * 70;
    (0u32..6, 0u32..5).prop_map(move |(protocol, n)| match protocol {
        0 => ArqProtocol::None,
        1 => ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions: Some(n) }),
        2 => ArqProtocol::GoBackN(GoBackNConfig { window: 40, timeout, max_retransmissions: None }),
        3 => ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
            window: 64,
            timeout,
            max_retransmissions: Some(n),
            release: if n % 2 == 0 { Release::InOrder } else { Release::Immediate },
        }),
        4 => ArqProtocol::RlpIs99(Reading::ALL[n as usize].config(n)),
        _ => ArqProtocol::RlpNack(RlpNackConfig::new(n, MS * 2)),
    })
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let packings = vec![Packing::Padded, Packing::Crossing];
    let clocks = vec![FrameClock::Slotted, FrameClock::OnDemand];
    let opportunities = Schedule::Opportunities("3\n5\n5\n21\n22\n22\n".parse().unwrap());
    let table: RateTable = "0 8e6 0.01 0\n0.5 0 0.02 0\n0.7 1e6 0 0\n".parse().unwrap();
    let rates = Schedule::Rates(table.repeating(MS * 1000).unwrap());
    prop_oneof![
        4 => prop::option::of(5e5..2e7).prop_map(Kind::Constant),
        3 => (any_protocol(), prop::sample::select(packings), prop::sample::select(clocks))
            .prop_map(|(protocol, packing, clock)| Kind::Arq(protocol, packing, clock)),
        1 => prop::sample::select(vec![opportunities, rates]).prop_map(Kind::Trace),
    ]
}

fn any_link() -> impl Strategy<Value = Draft> {
    (any_kind(), 0u64..30_000, any_queue(), 0.0f64..0.2).prop_map(|(kind, delay, queue, p_e)| Draft {
        kind,
        delay: SimTime::from_micros(delay),
        queue,
        p_e,
    })
}

fn any_flow() -> impl Strategy<Value = FlowConfig> {
    let variants = vec![Variant::Reno, Variant::NewReno, Variant::Sack];
    let flavours = vec![Flavour::Paper, Flavour::Ns2, Flavour::Rfc];
    let source = prop_oneof![
        4 => (prop::sample::select(flavours), prop::sample::select(variants), 1u32..60, any::<bool>()).prop_map(
            |(flavour, variant, w_max, ecn)| {
                let mut config = tcp(flavour, variant, w_max, Some(60));
                (config.rfc.ecn, config.rfc.delayed_ack) = (ecn, Some(MS * 40));
                if flavour == Flavour::Paper {
                    config.rto.rule = RtoRule::Fixed(MS * 400);
                }
                Source::Tcp(Tcp { config: config.into(), congestion: None })
            }
        ),
        1 => (1e4..1e6, 0.01..1.0).prop_map(|(rate_bps, mean)| {
            let time = Distribution::Exponential { mean };
            Source::Udp(OnOff { rate_bps, on_s: time, off_s: Some(time), gaps: Gaps::Periodic })
        }),
    ];
    (source, 0u64..20_000, 0u64..20_000, 0u64..2_000).prop_map(|(source, sender, receiver, start)| {
        FlowConfig {
            name: String::new(),
            source,
            path: path(SimTime::from_micros(sender), SimTime::from_micros(receiver)),
            start: MS * start,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// Every transmission is received, lost, dropped or still in the network, for every flow and on every link; files
    /// arrive; an observer sees the events that are counted, and changes nothing; a repeated run gives equal results.
    #[test]
    fn what_is_counted_adds_up(
        flows in prop::collection::vec(any_flow(), 1..6),
        forward in prop::collection::vec(any_link(), 1..4),
        reverse in prop::collection::vec(any_link(), 1..3),
        comes in any::<bool>(), seed in any::<u64>(),
    ) {
        let links = |links: &[Draft], way: &str| -> Vec<AnyLink> {
            let link = |(i, draft): (usize, &Draft)| draft.link(&format!("channel.{way}.{i}"), seed);
            links.iter().enumerate().map(link).collect()
        };
        let arrivals = Arrivals {
            name: "files".to_owned(),
            tcp: Tcp { config: tcp(Flavour::Rfc, Variant::Sack, 20, None).into(), congestion: None },
            path: path(MS, MS),
            start: SimTime::ZERO,
            rate_per_s: 1.0,
            sizes: Distribution::Exponential { mean: 4.0 },
            mss: 1,
        };
        // With nothing but files a run can wait until all is quiet.
        let is_finite = !comes && flows.iter().all(|flow| matches!(flow.source, Source::Tcp(_)));
        let end = MS * if is_finite { 100_000_000 } else { 60_000 };
        let build = || Network {
            arrivals: if comes { vec![arrivals.clone()] } else { Vec::new() },
            seed: RunSeed { seed, run: 0 },
            ..network_of(flows.clone(), links(&forward, "dl"), links(&reverse, "ul"), StopRule::At(end))
        };
        let mut events: Vec<EventRecord> = Vec::new();
        let statistics = simulate(build(), Some(&mut events), None, &AtomicBool::new(false)).unwrap();
        prop_assert!(events.is_sorted_by_key(|event| event.time));
        prop_assert_eq!(&run_network(build()), &statistics);

        let total = statistics.arrivals.iter().map(|arrivals| &arrivals.total);
        for (id, flow) in statistics.flows.iter().chain(total).enumerate() {
            let is_of = |event: &EventRecord| (event.flow as usize).min(flows.len()) == id;
            let ours = seen(&events, is_of);
            prop_assert_eq!(ours, Seen {
                sent: flow.segments_sent,
                received: flow.segments_received,
                lost: flow.segments_lost,
                dropped: flow.queue_drops,
                acks_lost: flow.acks_lost,
                acks_dropped: flow.ack_queue_drops,
            });
            prop_assert!(ours.received + ours.lost + ours.dropped <= ours.sent);
            prop_assert!(flow.acks_received + flow.acks_lost + flow.ack_queue_drops <= flow.acks_sent);
            prop_assert!(flow.segments_in_order <= flow.segments_delivered);
            prop_assert!(flow.segments_delivered <= flow.segments_received);
            if let Some(FlowConfig { source: Source::Tcp(_), .. }) = flows.get(id) {
                prop_assert!(flow.acks_sent <= flow.segments_received);
                if is_finite {
                    prop_assert_eq!(flow.segments_in_order, 60);
                    prop_assert_eq!(ours.received + ours.lost + ours.dropped, ours.sent);
                    prop_assert_eq!(flow.acks_received + ours.acks_lost + ours.acks_dropped, flow.acks_sent);
                }
                prop_assert_eq!(flow.completion_time.is_some(), flow.segments_in_order == 60);
            }
        }
        // Each link passes on what it does not lose or drop; and all of that together is what the flows miss.
        let (there, back) = statistics.links.split_at(forward.len());
        let mut into = events.iter().filter(|event| event.kind == EventKind::Send).count() as u64;
        for link in there {
            let counts = &link.counts;
            prop_assert!(counts.transmissions + counts.queue_drops <= into);
            prop_assert!(!is_finite || counts.transmissions + counts.queue_drops == into);
            into = counts.transmissions - counts.losses;
        }
        let missing = |links: &[LinkSummary]| -> (u64, u64) {
            let missing = links.iter().map(|link| (link.counts.losses, link.counts.queue_drops));
            missing.fold((0, 0), |sum, link| (sum.0 + link.0, sum.1 + link.1))
        };
        let all = seen(&events, |_| true);
        prop_assert_eq!((all.lost, all.dropped), missing(there));
        prop_assert_eq!((all.acks_lost, all.acks_dropped), missing(back));
    }
}
