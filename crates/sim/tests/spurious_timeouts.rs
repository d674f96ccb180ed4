//! Exact count of spurious timeouts: by the fate of the segment, whatever the sender detects.

use crossfade_channel::{DropList, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{
    Distribution, FlowConfig, FlowPath, FlowStatistics, Gaps, Network, OnOff, Source, StopRule, Tcp,
    Topology, simulate,
};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);
const FLAVOURS: [Flavour; 3] = [Flavour::Paper, Flavour::Ns2, Flavour::Rfc];

/// Network for a transfer of ten segments, one in flight at a time: each takes a transmission of a millisecond and an
/// RTT of 20 ms.
fn network(flavour: Flavour, data: Box<dyn LossProcess>, acks: Box<dyn LossProcess>) -> Network {
    let tcp = TcpConfig {
        initial_window: 1.0,
        limited_transmit: false,
        segments: Some(10),
        rfc: RfcConfig { delayed_ack: None, timestamps: false, ..RfcConfig::default() },
        rto: RtoConfig { rule: RtoRule::Fixed(MS * 200), backoff: true, max: MS * 60_000 },
        ..TcpConfig::new(flavour, Variant::Reno, 1)
    };
    let path = FlowPath { packet_size: 1000, ack_size: 40, sack_block_size: 8, ..FlowPath::default() };
    let link = |rate_bps, loss| HopConfig { rate_bps, delay: MS * 10, queue_limit: None, loss }.into();
    let source = Source::Tcp(Tcp { config: tcp.into(), congestion: None });
    let flows = vec![FlowConfig { name: "tcp".to_owned(), source, path, start: SimTime::ZERO }];
    let topology = Topology::path(vec![link(Some(8e6), data)], vec![link(None, acks)]);
    Network::new(flows, topology, StopRule::At(MS * 20_000), RunSeed { seed: 1, run: 0 })
}

fn lossless() -> Box<dyn LossProcess> {
    Box::new(Lossless)
}

/// Loss process that loses the packets with these numbers.
fn drops(numbers: &[u64]) -> Box<dyn LossProcess> {
    Box::new(DropList::new(numbers.to_vec()).unwrap())
}

/// Adds a burst of datagrams, sent at `begins`, behind which packets of TCP wait for the time `lasts`.
fn with_a_delay(network: Network, begins: SimTime, lasts: SimTime) -> Network {
    let path = network.flows[0].path;
    let off_s = Some(Distribution::Fixed(1000.0));
    let on_s = Distribution::Fixed(1e-3);
    let bits = lasts.as_secs_f64() * 8e6;
    let datagrams = FlowConfig {
        name: "udp".to_owned(),
        source: Source::Udp(OnOff { rate_bps: bits * 1e3, on_s, off_s, gaps: Gaps::Periodic }),
        path,
        start: begins,
    };
    let flows = network.flows.into_iter().chain([datagrams]).collect();
    Network { flows, ..network }
}

/// Statistics of the TCP flow, and its numbers of timeouts and of spurious timeouts.
fn timeouts(network: Network) -> (FlowStatistics, (u64, u64)) {
    let mut statistics = simulate(network, None, None, &AtomicBool::new(false)).unwrap();
    let flow = statistics.flows.remove(0);
    assert_eq!(flow.segments_in_order, 10);
    let counts = (flow.timeouts, flow.spurious_timeouts);
    (flow, counts)
}

#[test]
fn the_timeout_of_a_lost_segment_is_not_spurious() {
    for flavour in FLAVOURS {
        let (_, counts) = timeouts(network(flavour, drops(&[3]), lossless()));
        assert_eq!(counts, (1, 0), "{flavour:?}");
        // The retransmission is lost too.
        let (_, counts) = timeouts(network(flavour, drops(&[3, 4]), lossless()));
        assert_eq!(counts, (2, 0), "{flavour:?}");
    }
}

#[test]
fn the_timeout_of_a_late_segment_is_spurious() {
    for flavour in FLAVOURS {
        // The third segment waits for 290 ms: its timer expires once, after 200 ms.
        let late = with_a_delay(network(flavour, lossless(), lossless()), MS * 40, MS * 290);
        let (flow, counts) = timeouts(late);
        assert_eq!(counts, (1, 1), "{flavour:?}");
        assert_eq!(flow.retransmissions, 1, "{flavour:?}");
        // After 200 ms and, backed off, 400 ms more: the first copy was late for both.
        let later = with_a_delay(network(flavour, lossless(), lossless()), MS * 40, MS * 790);
        assert_eq!(timeouts(later).1, (2, 2), "{flavour:?}");
    }
}

#[test]
fn the_timeout_of_a_segment_whose_acknowledgements_are_all_lost_is_spurious() {
    for flavour in FLAVOURS {
        let (flow, counts) = timeouts(network(flavour, lossless(), drops(&[3])));
        assert_eq!(counts, (1, 1), "{flavour:?}");
        assert_eq!((flow.segments_received, flow.acks_lost), (11, 1), "{flavour:?}");
    }
}

#[test]
fn a_late_copy_after_a_lost_one_makes_the_second_timeout_spurious_and_not_the_first() {
    for flavour in FLAVOURS {
        // The third segment is lost at 42 ms; its second copy, of 242 ms, waits for 500 ms.
        let network = network(flavour, drops(&[3]), lossless());
        let (_, counts) = timeouts(with_a_delay(network, MS * 230, MS * 520));
        assert_eq!(counts, (2, 1), "{flavour:?}");
    }
}

#[test]
fn a_timeout_before_the_end_of_the_warm_up_is_not_counted_when_the_segment_comes_after_it() {
    let late = with_a_delay(network(Flavour::Ns2, lossless(), lossless()), MS * 40, MS * 290);
    let statistics =
        simulate(Network { warmup: MS * 300, ..late }, None, None, &AtomicBool::new(false)).unwrap();
    let flow = &statistics.flows[0];
    assert_eq!((flow.timeouts, flow.spurious_timeouts), (0, 0));
    assert!(flow.segments_in_order > 0);
}
