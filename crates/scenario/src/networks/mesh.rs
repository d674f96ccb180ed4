//! Resolution of 802.11 stations that share the air: table `mesh`.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{OnNetwork, SYN_BYTES, resolve_flows, resolve_packet_size};
use crate::quantity::Size;
use crate::tables::mesh::MeshSetup;
use crate::tables::{Channel, FlowSetup, LONGEST_SLOT, Link, Phy, Reverse, Scenario, json};
use crossfade_core::SimTime;
use crossfade_mac::MAX_MSDU_BYTES;

/// Fills in the defaults of a mesh, which replaces all links.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, MeshSetup), ScenarioError> {
    let Scenario { phy, channel, link, reverse, wired, cell, .. } = &*scenario;
    let bare = Link { packet_size: link.packet_size, ..Link::default() };
    for (key, is_given) in [
        ("cell", !cell.is_absent()),
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
        ("reverse", *reverse != Reverse::default()),
        ("wired", !wired.is_absent()),
    ] {
        if is_given {
            let reason = "the mesh carries the packets; of link it takes packet_size alone";
            return Err(ScenarioError::contradiction(key, "mesh", reason));
        }
    }
    let mesh = scenario.mesh.resolve(files)?;
    scenario.run.resolve_frames(false)?;
    let packet_size = resolve_packet_size(scenario)?;
    check_frame("link.packet_size", packet_size.0)?;
    let slot = mesh.slot(packet_size.0);
    if slot > LONGEST_SLOT {
        let rate = json(scenario.mesh.data_rate);
        return Err(ScenarioError::value(
            "mesh.data_rate",
            &rate,
            "too slow: a packet would take more than 1 h",
        ));
    }
    let mut flows = resolve_flows(scenario, packet_size.0, slot, false, Some(&mesh), files)?;
    for flow in &mut flows {
        if let Some(tcp) = flow.tcp() {
            check_frame("tcp.ack_size", tcp.longest_ack())?;
        }
        let longest = |bytes: u32| flow.ends.iter().map(|&ends| mesh.round_trip(ends, bytes, bytes)).max();
        if let (Some(round_trip), Some(of_request)) = (longest(SYN_BYTES), longest(flow.request)) {
            flow.open(round_trip, SimTime::from_nanos(of_request.as_nanos() / 2), None);
        }
    }
    Ok((OnNetwork { slot, packet_size: packet_size.0, flows }, mesh))
}

/// Idle RTT of a flow's data packet and its acknowledgement, for the pair of nodes with the longest.
pub(super) fn round_trip(mesh: &MeshSetup, flow: &FlowSetup) -> SimTime {
    let round_trips = flow.ends.iter().map(|&ends| mesh.round_trip(ends, flow.packet_size, flow.ack_size()));
    round_trips.max().unwrap_or_default() + flow.access_delay * 2
}

/// Refuses packets that are too large for an 802.11 frame.
fn check_frame(key: &str, bytes: u32) -> Result<(), ScenarioError> {
    if bytes <= MAX_MSDU_BYTES {
        return Ok(());
    }
    let problem = format!("must be at most {MAX_MSDU_BYTES} B, what a frame of 802.11 has room for");
    Err(ScenarioError::value(key, &json(Size(bytes)), problem))
}
