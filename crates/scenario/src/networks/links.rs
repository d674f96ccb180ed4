//! Resolution of links in series: tables `link`, `reverse`, `wired` and related ones.

use super::around::{self, Around, Forward};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{OnNetwork, SYN_BYTES, USUAL_HEADERS, resolve_flows, resolve_packet_size};
use crate::hop::HopSetup;
use crate::quantity::Rate;
use crate::tables::{
    ArqProtocol, ChannelModel, FlowSetup, Gate, LONGEST_SLOT, Packets, Scenario, TrafficSetup, USUAL_LIMIT,
    Varying, json,
};
use crossfade_core::SimTime;

/// Resolved path of links between sender and receiver.
#[derive(Clone, Debug)]
pub struct LinksSetup {
    /// Gate of the senders at the first link.
    pub gate: Gate,
    /// Wireless link that carries the data.
    pub forward: HopSetup,
    /// Reverse path of the acknowledgements, and the wired segment.
    pub around: Around,
    /// Number of frames in a run of method phy; 0 without frames.
    pub frames: u64,
}

impl LinksSetup {
    pub(super) fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        let around = self.around.transit(flow.packet_size, flow.ack_size());
        self.forward.transit(flow.packet_size) + around + flow.access_delay * 2
    }
}

/// Fills in the defaults of links in series.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, LinksSetup), ScenarioError> {
    if let Some((name, _)) = scenario.flows.iter().find(|(_, flow)| !flow.radio.is_absent()) {
        return Err(ScenarioError::key(
            format!("flows.{name}.radio"),
            "needs a cell or an nr, which have radios",
        ));
    }
    let Scenario { link, reverse, wired, .. } = &*scenario;
    let in_products = [&link.queue, &reverse.queue, &wired.queue].iter().any(|queue| queue.is_in_products());
    if !in_products {
        return resolve_links(scenario, files, None);
    }
    // The RTT excludes queueing, so a first pass without it suffices.
    let (common, links) = resolve_links(&mut scenario.clone(), files, None)?;
    let round_trips = common.flows.iter().map(|flow| links.round_trip(flow));
    resolve_links(scenario, files, round_trips.max())
}

/// Resolves the links of a scenario; `round_trip` is the longest idle RTT of a packet, if known.
fn resolve_links(
    scenario: &mut Scenario,
    files: &Files<'_>,
    round_trip: Option<SimTime>,
) -> Result<(OnNetwork, LinksSetup), ScenarioError> {
    let trace = scenario.link.trace.resolve("link.trace", files)?;
    let (of_data, of_acks) = match scenario.link.satellite.resolve()? {
        Some([of_data, of_acks]) => (Some(of_data), Some(of_acks)),
        None => (None, None),
    };
    let varying = Varying::of("link.trace", trace, of_data)?;
    let Scenario { phy, channel, link, .. } = scenario;
    let radio = phy.resolve(channel, &mut link.rate, files)?;
    let rate = match (&varying, link.rate) {
        (Some(varying), None) => Rate(varying.mean_rate_bps()),
        (Some(varying), Some(_)) => return Err(varying.refuse_rate("link.rate")),
        (None, Some(rate)) => rate,
        (None, None) => {
            return Err(ScenarioError::missing("link.rate", "a bit rate such as \"1.5 Mbit/s\""));
        }
    };
    // Checked before the packet size is filled in.
    let has_no_transport = scenario.has_no_transport();
    let packet_size = resolve_packet_size(scenario)?;
    let frames = scenario.run.resolve_frames(radio.is_some())?;
    let slot = SimTime::to_transmit(packet_size.0, rate.0);
    if slot > LONGEST_SLOT {
        return Err(ScenarioError::value(
            "link.rate",
            &json(rate),
            "too slow: a packet would take more than 1 h",
        ));
    }
    // A sender can wait for the slots of a drop-tail hop with whole packets at a constant rate.
    let Scenario { link, wired, .. } = &*scenario;
    let whole_packets = link.frame_size.is_none() || frames_fill_packets(scenario, packet_size.0);
    let one_hop = wired.is_absent() && whole_packets && link.is_plain();
    let mut flows = if has_no_transport {
        Vec::new()
    } else {
        resolve_flows(scenario, packet_size.0, slot, one_hop, None, files)?
    };
    let largest = largest_packet(&flows, packet_size.0, rate)?;
    let (usual, few) = (packet_size.0, windows(&flows).is_some_and(|packets| packets <= USUAL_LIMIT as u64));
    // Headers of datagrams are no longer than these.
    let of_tcp = flows.iter().filter_map(|flow| Some(flow.packet_size - flow.tcp()?.mss));
    let headers = of_tcp.min().unwrap_or(USUAL_HEADERS.min(usual));
    let data = Packets { usual, largest, headers, few, round_trip };
    let Scenario { phy, channel, link, .. } = scenario;
    let radio = radio.map(|layers| (phy, layers));
    let forward = link.resolve(channel, radio, varying, data, slot, files)?;
    let ways = [forward.transit(SYN_BYTES), SimTime::ZERO];
    let ahead = Forward { ways, limit: forward.queue().limit(), data, satellite: of_acks };
    let around = around::resolve(scenario, &mut flows, ahead, slot, files)?;
    let gate = flows.first().and_then(FlowSetup::tcp).map_or(Gate::Queue, |tcp| tcp.gate);
    let links = LinksSetup { gate, forward, around, frames };
    Ok((OnNetwork { slot, packet_size: packet_size.0, flows }, links))
}

/// Size in bytes of the largest data packet of any flow.
fn largest_packet(flows: &[FlowSetup], usual: u32, rate: Rate) -> Result<u32, ScenarioError> {
    let largest = flows.iter().map(|flow| flow.packet_size).fold(usual, u32::max);
    if SimTime::to_transmit(largest, rate.0) > LONGEST_SLOT {
        let problem = format!("too slow: a packet of {largest} B would take more than 1 h");
        return Err(ScenarioError::value("link.rate", &json(rate), problem));
    }
    Ok(largest)
}

/// Number of packets that the windows of all senders allow in flight together; `None` if a flow is not limited by a
/// window.
fn windows(flows: &[FlowSetup]) -> Option<u64> {
    let window = |flow: &FlowSetup| match &flow.traffic {
        TrafficSetup::Tcp(tcp, _) => Some(u64::from(flow.count) * u64::from(tcp.config.w_max())),
        _ => None,
    };
    flows.iter().map(window).sum()
}

/// True if each packet fills a whole number of frames of a physical layer, each sent once; the packet is then lost like
/// one block.
fn frames_fill_packets(scenario: &Scenario, packet_size: u32) -> bool {
    let Scenario { phy, channel, link, .. } = scenario;
    let Some(frame_size) = link.frame_size else { return false };
    channel.model == Some(ChannelModel::BlockRayleigh)
        && phy.policy.is_none()
        && matches!(link.arq.protocol, None | Some(ArqProtocol::None))
        && link.headers.is_absent()
        && link.framing.payload.is_none_or(|payload| payload == frame_size)
        && packet_size.is_multiple_of(frame_size.0.max(1))
}
