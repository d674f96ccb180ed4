//! Estimates of the memory of a run before it starts: upper bounds within a small factor.

use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_scenario::{
    Around, Carrier, Distribution, End, FlowSetup, FrameErrors, HopSetup, LinksSetup, Setup, TrafficSetup,
};

/// Bytes that every run takes, whatever its flows and its network.
const RUN: f64 = 1e6;
/// Bytes of an active flow: its endpoints, counters and delay histograms.
pub(crate) const FLOW: f64 = 16e3;
/// Bytes of a packet under way, with its entries in links, scoreboards and reassembly.
pub(crate) const PACKET: f64 = 200.0;
/// Bytes kept of a flow that has ended.
const ENDED: f64 = 24.0;
/// Utilisation of a link above which its queue may grow to any length.
const BUSY: f64 = 0.9;

/// Bytes that a physical layer takes for each byte of a frame: its transmitted and received symbols, of one bit each.
const FRAME_BYTE: f64 = 200.0;

/// Estimated bytes of a run without its network.
pub(crate) fn of_flows(setup: &Setup) -> f64 {
    RUN + setup.flows.iter().map(|flow| flows(setup, flow)).sum::<f64>()
}

/// Properties of a path that decide how many packets are under way at once.
#[derive(Default)]
pub(crate) struct Path<'a> {
    /// Rate of the data's bottleneck in bit/s; `None`: no limit.
    rate_bps: Option<f64>,
    /// Sum of the propagation delays of both directions, in seconds.
    delays_s: f64,
    /// Hops with queues on the path of the data.
    on_the_way: Vec<&'a HopSetup>,
}

impl<'a> Path<'a> {
    /// Path of the data over a hop of propagation delay `delay`, with the wired segments and the reverse path `around`
    /// it.
    pub(crate) fn around(around: &'a Around, delay: SimTime) -> Self {
        let wired = || around.wired.iter().flatten();
        let delays = wired().map(|hop| hop.delay).chain([delay, longest_delay(&around.reverse)]);
        let delays_s = delays.map(SimTime::as_secs_f64).sum();
        Self { rate_bps: None, delays_s, on_the_way: wired().take(1).collect() }
    }

    /// Path of the data over all links of `links`.
    pub(crate) fn of_links(links: &'a LinksSetup) -> Self {
        let mut path = Self::around(&links.around, longest_delay(&links.forward));
        path.rate_bps = links.forward.rate_bps();
        path.on_the_way.push(&links.forward);
        path
    }
}

/// Greatest propagation delay of a hop, recorded delays included.
fn longest_delay(hop: &HopSetup) -> SimTime {
    let recorded = hop.recorded_delays().map_or(SimTime::ZERO, |delays| delays.series.range()[1]);
    hop.delay.saturating_add(recorded)
}

/// Bytes of the frame that the physical layer detects symbol by symbol; 0 without symbols.
pub(crate) fn radio(hop: &HopSetup) -> f64 {
    match &hop.carrier {
        Carrier::Frames { frames, errors: FrameErrors::Radio(_), .. } => {
            f64::from(frames.frame_size) * FRAME_BYTE
        }
        _ => 0.0,
    }
}

/// Duration of a run in seconds. A run that ends with a count of segments is taken to last ten slots a segment.
fn seconds(setup: &Setup) -> f64 {
    match setup.end {
        End::At(end) => end.as_secs_f64(),
        End::Delivered(segments) => {
            setup.warmup.as_secs_f64() + 10.0 * segments as f64 * setup.slot.as_secs_f64()
        }
    }
}

/// Estimated bytes of the flows of an entry.
fn flows(setup: &Setup, flow: &FlowSetup) -> f64 {
    let TrafficSetup::Arrivals { tcp, rate_per_s, sizes } = &flow.traffic else {
        return f64::from(flow.count) * FLOW;
    };
    let all = rate_per_s * seconds(setup);
    let busy = packets_per_s(setup, flow) * setup.slot.as_secs_f64() >= BUSY;
    // In a stable system some hundred arriving flows exist at a time, plus those that arrive within a round trip.
    let in_round_trip = rate_per_s
        * setup.round_trip(flow).as_secs_f64()
        * (2.0 + libm::log2((sizes.mean / f64::from(tcp.mss)).max(1.0)));
    let at_once = if busy { all } else { all.min(1000.0 + in_round_trip) };
    at_once * FLOW + all * ENDED
}

/// Estimated number of packets under way at once on `path`.
pub(crate) fn packets(setup: &Setup, path: &Path<'_>) -> f64 {
    // Packets that are offered but not carried wait in queues.
    let offered = |flow: &FlowSetup| packets_per_s(setup, flow).min(1e15);
    let all: f64 = setup.flows.iter().map(offered).sum();
    let carried = path.rate_bps.map_or(f64::INFINITY, |rate| rate / 8.0 / f64::from(setup.packet_size));
    let too_many = (all - carried).max(if all > BUSY * carried { all * 0.01 } else { 0.0 }) * seconds(setup);
    // A link without a rate holds no packets, and acknowledgements are no more than windows allow.
    let queues = path.on_the_way.iter().filter(|hop| hop.rate_bps().is_some());
    // Bursts of a recorded flow that exceed the rate wait, however low the mean rate of the flow is.
    let bursts: f64 = setup.flows.iter().map(|flow| burst(flow, carried)).sum();
    let too_many = too_many + bursts;
    let limits = queues.map(|hop| match hop.queue().limit() {
        None => f64::INFINITY,
        Some(QueueLimit::Packets(packets)) => packets as f64,
        Some(QueueLimit::Bytes(bytes)) => bytes as f64 / f64::from(setup.packet_size.min(40)),
    });
    let waiting: f64 = limits.map(|limit| too_many.min(limit)).sum();
    let flying = all.min(carried) * path.delays_s.min(seconds(setup));
    // A sender holds no more packets than its window, and all senders together no more than the link can carry.
    let windows: f64 = setup.flows.iter().map(window).sum();
    let sent = carried * seconds(setup) * 2.0 + 100.0 * setup.flows.len() as f64;
    waiting + flying + windows.min(sent)
}

/// Mean packets per second that datagram sources or arriving flows offer; 0 for flows with a window.
fn packets_per_s(setup: &Setup, flow: &FlowSetup) -> f64 {
    match &flow.traffic {
        TrafficSetup::Tcp(..) | TrafficSetup::PacedTcp(..) | TrafficSetup::Outside => 0.0,
        TrafficSetup::Udp { rate_bps, on_off, .. } => {
            let on =
                on_off.as_ref().map_or(1.0, |[on, off]: &[Distribution; 2]| on.mean / (on.mean + off.mean));
            f64::from(flow.count) * rate_bps * on / 8.0 / f64::from(setup.packet_size)
        }
        TrafficSetup::Recorded(record) => {
            let (packets, _) = record.totals(seconds(setup));
            f64::from(flow.count) * packets / seconds(setup)
        }
        TrafficSetup::Saturated => 2.0 * f64::from(flow.count) / setup.slot.as_secs_f64(),
        TrafficSetup::Arrivals { tcp, rate_per_s, sizes } => rate_per_s * sizes.mean / f64::from(tcp.mss),
    }
}

/// Largest backlog, in packets, of the flows of an entry with recorded traffic over a link of `packets_per_s`; 0 for
/// other traffic.
fn burst(flow: &FlowSetup, packets_per_s: f64) -> f64 {
    match &flow.traffic {
        TrafficSetup::Recorded(record) => {
            let of_each = packets_per_s / f64::from(flow.count);
            f64::from(flow.count) * record.largest_backlog(of_each)
        }
        _ => 0.0,
    }
}

/// Sum of the maximum windows of an entry's flows, in packets; 0 for flows that arrive at random or send datagrams.
fn window(flow: &FlowSetup) -> f64 {
    match &flow.traffic {
        TrafficSetup::Tcp(tcp, _) | TrafficSetup::PacedTcp(tcp, _) => {
            f64::from(flow.count) * f64::from(tcp.config.w_max())
        }
        _ => 0.0,
    }
}
