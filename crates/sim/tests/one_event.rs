//! Shortcuts by which packets pass a link and the access lines around it with one event change no result.
//!
//! Links that are traced have all their events, so each network runs both traced and untraced. Times are whole
//! milliseconds, so packets often come out of several lines at once, and runs end amid simultaneous events.

use crate::common::{MS, network_of, path, run_network, stream, tcp};
use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::{EventRecord, RunSeed, SimTime};
use crossfade_link::{HopConfig, LinkStatistics, QueueLimit};
use crossfade_sim::{
    AnyLink, Arrivals, Distribution, Engine, FlowConfig, Gaps, Network, NetworkStatistics, OnOff, Shortcuts,
    Source, StopRule, Tcp,
};
use crossfade_transport::{Flavour, Variant};
use proptest::prelude::*;

/// Configuration of a link, with transmission times of whole milliseconds for 1000 bytes, or for an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Draft {
    rate_bps: Option<f64>,
    delay_ms: u64,
    limit: Option<usize>,
    p_e: f64,
}

impl Draft {
    fn link(self, name: &str, seed: u64) -> AnyLink {
        let lossy = || Box::new(Iid::new(self.p_e, stream(name, seed)).unwrap()) as Box<dyn LossProcess>;
        HopConfig {
            rate_bps: self.rate_bps,
            delay: MS * self.delay_ms,
            queue_limit: self.limit.map(QueueLimit::Packets),
            loss: if self.p_e > 0.0 { lossy() } else { Box::new(Lossless) },
        }
        .into()
    }
}

fn any_draft(rates: Vec<Option<f64>>) -> impl Strategy<Value = Draft> {
    let losses = prop::sample::select(vec![0.0, 0.0, 0.05]);
    (prop::sample::select(rates), 0_u64..5, prop::option::of(2_usize..12), losses)
        .prop_map(|(rate_bps, delay_ms, limit, p_e)| Draft { rate_bps, delay_ms, limit, p_e })
}

fn any_flow() -> impl Strategy<Value = FlowConfig> {
    let flavours = prop::sample::select(vec![Flavour::Ns2, Flavour::Rfc]);
    let variants = prop::sample::select(vec![Variant::Reno, Variant::NewReno, Variant::Sack]);
    let segments = prop::option::of(1_u64..80);
    let source = prop_oneof![
        4 => (flavours, variants, 1_u32..30, segments).prop_map(|(flavour, variant, w_max, segments)| {
            Source::Tcp(Tcp { config: tcp(flavour, variant, w_max, segments).into(), congestion: None })
        }),
        1 => Just(Source::Udp(OnOff {
            rate_bps: 1e6,
            on_s: Distribution::Fixed(1.0),
            off_s: None,
            gaps: Gaps::Periodic,
        })),
    ];
    // A line each, none now and then.
    (source, 0_u64..5, 0_u64..5, 0_u64..20).prop_map(|(source, sender, receiver, start)| FlowConfig {
        name: String::new(),
        source,
        path: path(MS * sender, MS * receiver),
        start: MS * start,
    })
}

type Told = (NetworkStatistics, Vec<EventRecord>, Vec<LinkStatistics>);

/// Events and statistics of a run with snapshots at the times `looks` in ms.
fn told(network: Network, is_traced: bool, looks: &[u64]) -> Told {
    let mut events = Vec::new();
    let mut engine = Engine::new(network, Some(&mut events), None).unwrap();
    engine.trace_links(is_traced);
    let mut links = Vec::new();
    for &look in looks {
        let snapshot = engine.snapshot(MS * look);
        links.extend(snapshot.links.into_iter().map(|link| link.statistics));
    }
    while engine.step(1000) {}
    let statistics = engine.into_statistics();
    (statistics, events, links)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 25 / 32))]

    #[test]
    fn one_event_is_as_good_as_three(
        flows in prop::collection::vec(any_flow(), 1..6),
        same in any::<[bool; 2]>(),
        forward in any_draft(vec![Some(8e6), Some(4e6)]),
        reverse in any_draft(vec![Some(0.32e6), Some(8e6), None]),
        comes in any::<bool>(), warmup_ms in 0_u64..300, stop in prop_oneof![
            (1_u64..3000).prop_map(|ms| StopRule::At(MS * ms)), (1_u64..800).prop_map(StopRule::Delivered),
        ],
        mut looks in prop::collection::vec(0_u64..3000, 0..4), seed in any::<u64>(),
    ) {
        looks.sort_unstable();
        let mut flows = flows;
        // Often all hosts of a side are at one distance.
        for flow in &mut flows {
            if same[0] {
                flow.path.sender_access = MS;
            }
            if same[1] {
                flow.path.receiver_access = MS;
            }
        }
        // Datagrams have no end.
        let has_end = flows.iter().all(|flow| matches!(flow.source, Source::Tcp(_)));
        let stop = if has_end { stop } else { StopRule::At(MS * 1500) };
        let arrivals = Arrivals {
            name: "files".to_owned(),
            tcp: Tcp { config: tcp(Flavour::Rfc, Variant::Sack, 20, None).into(), congestion: None },
            path: path(MS, MS),
            start: SimTime::ZERO,
            rate_per_s: 10.0,
            sizes: Distribution::Exponential { mean: 4.0 },
            mss: 1,
        };
        let build = || {
            let [forward, reverse] = [forward.link("dl", seed), reverse.link("ul", seed)];
            Network {
                arrivals: if comes { vec![arrivals.clone()] } else { Vec::new() },
                warmup: MS * warmup_ms,
                seed: RunSeed { seed, run: 0 },
                ..network_of(flows.clone(), vec![forward], vec![reverse], stop)
            }
        };
        let (statistics, events, links) = told(build(), true, &looks);
        let ours = told(build(), false, &looks);
        // As text: of runs that end in their warm-up some means are no numbers.
        let text = |statistics: &NetworkStatistics| format!("{statistics:?}");
        prop_assert_eq!(text(&run_network(build())), text(&ours.0));
        prop_assert_eq!(text(&ours.0), text(&statistics));
        prop_assert_eq!(&ours.2, &links);
        prop_assert!(ours.1 == events, "other events");
        for shortcuts in Shortcuts::each_off() {
            let without = told(Network { shortcuts, ..build() }, false, &looks);
            prop_assert_eq!(text(&without.0), text(&statistics), "{:?}", shortcuts);
            prop_assert_eq!(&without.2, &links, "{:?}", shortcuts);
            // A queue that decides as packets leave tells of what happens in one nanosecond in another order.
            prop_assert!(without.1 == events || !shortcuts.fates, "other events: {shortcuts:?}");
        }
    }
}
