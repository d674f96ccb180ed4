//! Shortcut `late_receivers`, in which receivers process many segments with one event, changes no result.
//!
//! Links that are traced have all their events, so each network runs both traced and untraced, with snapshots in
//! between. Times are whole milliseconds, so arrivals, timers and snapshots often coincide. (Events for observers are
//! compared in `one_event.rs`: with an observer the shortcut is off.)

use crate::common::{MS, network_of, path, run_network, stream, tcp};
use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::testing::long_or;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{CoDelConfig, HopConfig, LinkConfig, QueueConfig, QueueLimit, RedConfig};
use crossfade_sim::{
    AnyLink, Arrivals, Distribution, Engine, FlowConfig, Gaps, Network, OnOff, Shortcuts, Snapshot, Source,
    StopRule, Tcp,
};
use crossfade_transport::congestion::{CongestionControl, Cubic};
use crossfade_transport::{Flavour, QuicConfig, RfcConfig, RtoRule, TcpConfig, Variant};
use proptest::prelude::*;
use std::sync::Arc;

/// Configuration of a link: a rate at which packets take whole milliseconds, or none; a delay, a queue and a loss
/// probability.
#[derive(Clone, Debug)]
struct Draft {
    rate_bps: Option<f64>,
    delay_ms: u64,
    queue: QueueConfig,
    p_e: f64,
}

impl Draft {
    fn link(&self, name: &str, seed: u64) -> AnyLink {
        let Self { rate_bps, delay_ms, queue, p_e } = *self;
        let lossy = || Box::new(Iid::new(p_e, stream(name, seed)).unwrap()) as Box<dyn LossProcess>;
        let loss = if p_e > 0.0 { lossy() } else { Box::new(Lossless) };
        let draws = stream("queue.dl", seed);
        LinkConfig { rate_bps, delay: MS * delay_ms, queue, draws, loss }.try_into().unwrap()
    }
}

fn any_forward() -> impl Strategy<Value = Draft> {
    let queue = prop_oneof![
        6 => prop::option::of(2_usize..30).prop_map(|limit| QueueConfig::DropTail(limit.map(QueueLimit::Packets))),
        1 => Just(QueueConfig::CoDel(CoDelConfig { ecn: true, ..CoDelConfig::default() }, QueueLimit::Packets(30))),
        1 => Just(QueueConfig::Red(RedConfig::new(QueueLimit::Packets(30), 1000, 1e6))),
    ];
    let (rates, losses) = (vec![8e6, 4e6, 1e6], vec![0.0, 0.0, 0.02, 0.2]);
    (prop::sample::select(rates), 0_u64..20, queue, prop::sample::select(losses))
        .prop_map(|(rate, delay_ms, queue, p_e)| Draft { rate_bps: Some(rate), delay_ms, queue, p_e })
}

/// Random reverse links, mostly without queue limit or loss: otherwise the shortcut is off.
fn any_reverse() -> impl Strategy<Value = Draft> {
    let rates = prop::sample::select(vec![Some(0.32e6), Some(8e6), None]);
    let losses = prop::sample::select(vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.1]);
    let limits = prop_oneof![6 => Just(None), 1 => (2_usize..12).prop_map(Some)];
    (rates, 1_u64..30, limits, losses).prop_map(|(rate_bps, delay_ms, limit, p_e)| {
        let queue = QueueConfig::DropTail(limit.map(QueueLimit::Packets));
        Draft { rate_bps, delay_ms, queue, p_e }
    })
}

fn any_tcp() -> impl Strategy<Value = Tcp> {
    // None is QUIC.
    let tcp_flavours = [Flavour::Paper, Flavour::Ns2, Flavour::Rfc, Flavour::Rfc];
    let flavours: Vec<_> = tcp_flavours.into_iter().map(Some).chain([None]).collect();
    let variants = vec![
        Variant::OldTahoe,
        Variant::Tahoe,
        Variant::Reno,
        Variant::NewReno,
        Variant::Sack,
        Variant::Sack,
    ];
    // From shorter than the reverse path to longer than timers.
    let waits = vec![None, Some(MS), Some(MS * 7), Some(MS * 40), Some(MS * 300)];
    let rtos = vec![None, None, Some(MS * 9), Some(MS * 60)];
    (
        prop::sample::select(flavours),
        prop::sample::select(variants),
        prop::sample::select(waits),
        prop::sample::select(rtos),
        1_u32..40,
        prop::option::of(1_u64..200),
        any::<[bool; 4]>(),
    )
        .prop_map(|(flavour, variant, wait, rto, w_max, segments, [linux, ecn, accurate_ecn, cubic])| {
            let Some(flavour) = flavour else {
                let max_ack_delay = wait.unwrap_or(SimTime::ZERO);
                let config = QuicConfig { segments, max_ack_delay, ecn, ..QuicConfig::new(w_max) };
                return Tcp { config: config.into(), congestion: None };
            };
            let base = if linux { RfcConfig::linux() } else { RfcConfig::default() };
            let rfc = RfcConfig { delayed_ack: wait, ecn, accurate_ecn: ecn && accurate_ecn, ..base };
            let variant = if flavour == Flavour::Paper { Variant::NewReno } else { variant };
            let variant = match variant {
                Variant::OldTahoe if flavour != Flavour::Paper => Variant::Tahoe,
                Variant::Reno | Variant::Tahoe if linux => Variant::Sack,
                other => other,
            };
            let mut config = TcpConfig { rfc, ..tcp(flavour, variant, w_max, segments) };
            if let Some(rto) = rto {
                config.rto.rule = RtoRule::Fixed(rto);
            }
            let rule = || Box::new(Cubic::new(1.0, 20.0)) as Box<dyn CongestionControl>;
            let takes_rule = cubic && flavour == Flavour::Rfc;
            Tcp { config: config.into(), congestion: takes_rule.then(|| Arc::new(rule) as _) }
        })
}

fn any_flow() -> impl Strategy<Value = FlowConfig> {
    let gaps = prop::sample::select(vec![Gaps::Periodic, Gaps::Poisson]);
    let source = prop_oneof![
        6 => any_tcp().prop_map(Source::Tcp),
        1 => any_tcp().prop_map(|tcp| Source::PacedTcp { tcp, rate_bps: 0.4e6 }),
        1 => gaps.prop_map(|gaps| {
            Source::Udp(OnOff { rate_bps: 1e6, on_s: Distribution::Fixed(1.0), off_s: None, gaps })
        }),
    ];
    (source, 1_u64..9, 0_u64..50).prop_map(|(source, sender, start)| FlowConfig {
        name: String::new(),
        source,
        path: path(MS * sender, MS),
        start: MS * start,
    })
}

/// All observable results of a run, with snapshots at the times `looks` in ms: the snapshots, the time of the end and
/// the statistics.
fn told(network: Network, is_traced: bool, looks: &[u64]) -> Vec<String> {
    let mut engine = Engine::new(network, None, None).unwrap();
    engine.trace_links(is_traced);
    let mut look = |look: &u64| {
        let Snapshot { flows, links } = engine.snapshot(MS * *look);
        // Queues are kept where they are told of.
        let links: Vec<_> = links.into_iter().map(|link| link.statistics).collect();
        format!("{flows:?} {links:?}")
    };
    let mut told: Vec<_> = looks.iter().map(&mut look).collect();
    while engine.step(100) {}
    told.push(engine.now().to_string());
    told.push(format!("{:?}", engine.into_statistics()));
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * long_or(3, 1)))]

    #[test]
    fn late_is_as_good_as_on_time(
        flows in prop::collection::vec(any_flow(), 1..8),
        forward in any_forward(), reverse in any_reverse(),
        receiver_ms in 1_u64..6, other_ms in prop::option::weighted(0.1, 1_u64..6),
        comes in prop::option::weighted(0.4, any_tcp()),
        warmup_ms in prop_oneof![Just(0_u64), 0_u64..500],
        stop in prop_oneof![
            (1_u64..4000).prop_map(|ms| StopRule::At(MS * ms)), (1_u64..1500).prop_map(StopRule::Delivered),
        ],
        mut looks in prop::collection::vec(0_u64..4000, 0..6), seed in any::<u64>(),
    ) {
        looks.sort_unstable();
        let mut flows = flows;
        for flow in &mut flows {
            flow.path.receiver_access = MS * receiver_ms;
        }
        // Not all at one distance: nobody is told late.
        flows[0].path.receiver_access = MS * other_ms.unwrap_or(receiver_ms);
        // Datagrams and arrivals have no end.
        let has_end = comes.is_none() && flows.iter().all(|flow| !matches!(flow.source, Source::Udp(_)));
        let stop = if has_end { stop } else { StopRule::At(MS * 2500) };
        let arrivals = comes.map(|tcp| Arrivals {
            name: "files".to_owned(),
            tcp,
            path: path(MS, MS * receiver_ms),
            start: SimTime::ZERO,
            rate_per_s: 20.0,
            sizes: Distribution::Exponential { mean: 4.0 },
            mss: 1000,
        });
        let build = || {
            let [forward, reverse] = [forward.link("dl", seed), reverse.link("ul", seed)];
            Network {
                arrivals: arrivals.clone().into_iter().collect(),
                warmup: MS * warmup_ms,
                seed: RunSeed { seed, run: 0 },
                ..network_of(flows.clone(), vec![forward], vec![reverse], stop)
            }
        };
        let [on_time, late] = [true, false].map(|is_traced| told(build(), is_traced, &looks));
        for (late, on_time) in late.iter().zip(&on_time) {
            prop_assert_eq!(late, on_time);
        }
        for shortcuts in Shortcuts::each_off() {
            let without = told(Network { shortcuts, ..build() }, false, &looks);
            for (without, on_time) in without.iter().zip(&on_time) {
                prop_assert_eq!(without, on_time, "{:?}", shortcuts);
            }
        }
        prop_assert_eq!(late.last().unwrap(), &format!("{:?}", run_network(build())));
    }
}

/// Loss process that loses everything from this time on.
struct Until(SimTime);

impl LossProcess for Until {
    fn lost(&mut self, now: SimTime, _transmission: u64) -> bool {
        now >= self.0
    }
}

/// A run stalls after the same number of transmissions without a delivery, whenever receivers process the last segment.
#[test]
fn what_is_sent_after_the_last_delivery_is_counted() {
    let mut config = tcp(Flavour::Ns2, Variant::NewReno, 30, None);
    config.rto.rule = RtoRule::Fixed(MS * 3);
    config.rto.backoff = false;
    let link = |queue_limit, loss: Box<dyn LossProcess>| HopConfig {
        rate_bps: Some(8e6),
        delay: MS * 20,
        queue_limit,
        loss,
    };
    let flow = |i: u64| FlowConfig {
        name: String::new(),
        source: Source::Tcp(Tcp { config: config.into(), congestion: None }),
        path: path(MS * (1 + i), MS * 2),
        start: MS * i,
    };
    let build = || {
        let forward = link(Some(QueueLimit::Packets(50)), Box::new(Until(MS * 517)));
        let reverse = link(None, Box::new(Lossless));
        let flows = (0..4).map(flow).collect();
        network_of(flows, vec![forward.into()], vec![reverse.into()], StopRule::Delivered(u64::MAX))
    };
    let late = told(build(), false, &[]);
    assert!(late[1].contains("stalled: true"));
    assert_eq!(told(build(), true, &[]), late);
}

/// Numbers of segments that TCP flows have sent by `look`. Datagrams are sent once a second from `from` on and arrive a
/// minute later; meanwhile, from `start` on, the `flows` send more segments than the limit at which a run stalls.
fn sent_between_datagrams(from: SimTime, flows: Vec<Source>, start: SimTime, look: SimTime) -> Vec<u64> {
    let link = || HopConfig {
        rate_bps: Some(1e9),
        delay: MS * 60_000,
        queue_limit: None,
        loss: Box::new(Lossless) as Box<dyn LossProcess>,
    };
    let flow = |source, start| FlowConfig { name: String::new(), source, path: path(MS, MS * 2), start };
    let (on_s, gaps) = (Distribution::Fixed(1.0), Gaps::Periodic);
    let datagrams = Source::Udp(OnOff { rate_bps: 8e3, on_s, off_s: None, gaps });
    let first = flow(datagrams, from);
    let flows = std::iter::once(first).chain(flows.into_iter().map(|source| flow(source, start))).collect();
    let stop = StopRule::Delivered(u64::MAX);
    let network = network_of(flows, vec![link().into()], vec![link().into()], stop);
    let mut engine = Engine::new(network, None, None).unwrap();
    engine.snapshot(look).flows[1..].iter().map(|flow| flow.counts.segments_sent).collect()
}

/// A run does not stall while segments wait for late processing: neither if timers send them, nor if applications write
/// them.
#[test]
fn what_has_come_meanwhile_keeps_a_run_going() {
    let (start, look) = (MS * 60_500, MS * 115_500);
    let mut config = tcp(Flavour::Ns2, Variant::NewReno, 1, None);
    (config.rto.rule, config.rto.backoff) = (RtoRule::Fixed(MS), false);
    let timed = Source::Tcp(Tcp { config: config.into(), congestion: None });
    // The first comes before half of what a run is given up after has been sent (at 85.5 s), and after it: from then on
    // receivers are told on time, for the other half is sent before they would be told late.
    for from in [SimTime::ZERO, MS * 30_000] {
        let sent = sent_between_datagrams(from, vec![timed.clone(); 20], start, look);
        // One at the start, and one each time that the timer expires.
        assert_eq!(sent, [55_001; 20]);
    }

    let mut config =
        TcpConfig { initial_window: 2e6, ..tcp(Flavour::Ns2, Variant::NewReno, 2_000_000, None) };
    config.rto.rule = RtoRule::Fixed(MS * 1_000_000);
    let written = Source::PacedTcp { tcp: Tcp { config: config.into(), congestion: None }, rate_bps: 160e6 };
    // One every 50 us.
    assert_eq!(sent_between_datagrams(SimTime::ZERO, vec![written], start, look), [1_100_001]);
}
