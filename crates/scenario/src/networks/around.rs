//! Surroundings of the hop that carries the data: the reverse path and a wired segment.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{SYN_BYTES, USUAL_HEADERS};
use crate::hop::HopSetup;
use crate::tables::{FlowSetup, Packets, Reverse, SatelliteSetup, Scenario, TcpSetup};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_transport::Releases;

/// Surroundings of the hop (a link or a cell) that carries the data.
#[derive(Clone, Debug)]
pub struct Around {
    /// Wireless link of the reverse path, which carries the acknowledgements.
    pub reverse: HopSetup,
    /// Wired segment in front of the wireless link, and its counterpart on the reverse path.
    pub wired: Option<[HopSetup; 2]>,
}

/// Wireless link of a network, with the tables of the scenario that describe it.
#[derive(Clone, Copy, Debug)]
pub struct WirelessLink<'a> {
    /// Scenario table that describes the link.
    pub table: &'static str,
    /// Scenario table that describes the link's channel.
    pub channel: &'static str,
    /// Resolved link, in the terms of the models.
    pub hop: &'a HopSetup,
}

/// Properties of the hop that carries the data, for the resolution of its surroundings.
pub(super) struct Forward {
    /// Idle transit times of a handshake segment over the hop, and of its answer if the hop carries this, too; zero
    /// otherwise.
    pub(super) ways: [SimTime; 2],
    /// Queue limit of the hop; `None` is without limit.
    pub(super) limit: Option<QueueLimit>,
    /// Packets that the hop carries.
    pub(super) data: Packets,
    /// Direction of a satellite link that carries the acknowledgements; `None` without a satellite link.
    pub(super) satellite: Option<SatelliteSetup>,
}

impl Around {
    /// Idle transit time of a packet of `bytes` over the wired segment, plus that of its answer of `answer_bytes` over
    /// the reverse path.
    pub(super) fn transit(&self, bytes: u32, answer_bytes: u32) -> SimTime {
        let wired =
            self.wired.as_ref().map(|[there, back]| there.transit(bytes) + back.transit(answer_bytes));
        self.reverse.transit(answer_bytes) + wired.unwrap_or_default()
    }

    /// Wireless link of the reverse path, with its tables.
    pub(super) fn wireless_link(&self) -> WirelessLink<'_> {
        WirelessLink { table: "reverse", channel: "reverse.channel", hop: &self.reverse }
    }
}

/// Fills in the defaults of the reverse path and the wired segment, and computes the handshakes of the flows.
pub(super) fn resolve(
    scenario: &mut Scenario,
    flows: &mut [FlowSetup],
    forward: Forward,
    slot: SimTime,
    files: &Files<'_>,
) -> Result<Around, ScenarioError> {
    let Forward { ways: [way_of_syn, way_back], limit, data, satellite } = forward;
    let tcp = || flows.iter().filter_map(FlowSetup::tcp);
    let acks = Packets {
        largest: tcp().map(TcpSetup::longest_ack).max().unwrap_or(0),
        headers: tcp().map(|tcp| tcp.ack_size).min().unwrap_or(USUAL_HEADERS),
        ..data
    };
    // Acknowledgements over the same medium use no link, and the scenario describes none.
    let mut none = Reverse::default();
    let table = if way_back > SimTime::ZERO { &mut none } else { &mut scenario.reverse };
    let reverse = table.resolve(satellite, acks, slot, files)?;
    check_queue(flows, limit, data.usual)?;
    let longest = data.largest.max(acks.largest);
    let wired = scenario.wired.resolve(Packets { usual: longest, largest: longest, ..data }, slot)?;
    let hops = [&reverse].into_iter().chain(wired.iter().flatten());
    let idle_rtt =
        hops.fold(way_of_syn.saturating_add(way_back), |sum, hop| sum.saturating_add(hop.transit(SYN_BYTES)));
    let releases = reverse.aggregation.map(|config| {
        let there = wired.as_ref().map_or(SimTime::ZERO, |[there, _]| there.transit(SYN_BYTES));
        Releases { period: config.period, way_of_syn: there.saturating_add(way_of_syn) }
    });
    for flow in flows {
        let back = |bytes: u32| {
            let wired = wired.as_ref().map_or(SimTime::ZERO, |[_, back]| back.transit(bytes));
            way_back.saturating_add(reverse.transit(bytes)).saturating_add(wired)
        };
        flow.open(idle_rtt, back(flow.request), releases);
    }
    Ok(Around { reverse, wired })
}

/// Refuses flows with packets larger than the queue limit; the limit of the link was checked before.
fn check_queue(
    flows: &[FlowSetup],
    limit: Option<QueueLimit>,
    packet_size: u32,
) -> Result<(), ScenarioError> {
    let Some(limit) = limit else { return Ok(()) };
    let is_shut_out =
        |flow: &&FlowSetup| flow.packet_size > packet_size && !limit.admits(0, 0, flow.packet_size);
    match flows.iter().find(is_shut_out) {
        None => Ok(()),
        Some(FlowSetup { name, packet_size, .. }) => {
            let problem =
                format!("has packets of {packet_size} B, which link.queue.limit = \"{limit}\" never lets in");
            Err(ScenarioError::key(format!("flows.{name}"), problem))
        }
    }
}
