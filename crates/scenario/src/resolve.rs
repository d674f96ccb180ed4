//! From what a scenario says to what the models need: defaults filled in, ranges and contradictions checked.
//!
//! Resolving writes each default into the scenario itself, so that a scenario which spells a default out
//! and one which leaves it away become the same, and have the same results.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::mesh::MeshSetup;
use crate::quantity::{Limit, Rate, Room, Size};
use crate::setup::{HopSetup, Setup};
use crate::stop::End;
use crate::tables::{
    ArqProtocol, Channel, ChannelModel, FlowSetup, Gate, LONGEST_SLOT, Link, Method, Packets, Phy, Queue,
    Radio, Reverse, RuleName, Scenario, TcpSetup, TrafficSetup, USUAL_LIMIT, json,
};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_mac::MAX_MSDU_BYTES;
use crossfade_transport::Releases;

/// Fills in the defaults of `scenario` and gives its model objects.
///
/// # Errors
/// What is missing, out of range or contradictory.
pub(crate) fn resolve(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
    let mut setup = resolve_network(scenario, files)?;
    add_own_rules(scenario, &mut setup.flows, files)?;
    Ok(setup)
}

/// Gives the flows of `scenario` the window rules that are the user's own.
fn add_own_rules(
    scenario: &Scenario,
    flows: &mut [FlowSetup],
    files: &Files<'_>,
) -> Result<(), ScenarioError> {
    for flow in flows.iter_mut().filter(|flow| flow.tcp().is_some()) {
        let of_flow = scenario.flows.get(&flow.name).and_then(|named| named.tcp.as_ref());
        if let Some(RuleName::Own(name)) = &of_flow.unwrap_or(&scenario.tcp).congestion {
            let table = of_flow.map_or(String::new(), |_| format!("flows.{}.", flow.name));
            flow.own_rule = Some(files.rule(&format!("{table}tcp.congestion"), name)?);
        }
    }
    Ok(())
}

fn resolve_network(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
    check_methods(scenario)?;
    scenario.tcp.forget_unlimited();
    if !scenario.mesh.is_absent() {
        return resolve_mesh(scenario, files);
    }
    if !scenario.cell.is_absent() {
        return resolve_cell(scenario, files);
    }
    if let Some((name, _)) = scenario.flows.iter().find(|(_, flow)| !flow.radio.is_absent()) {
        return Err(ScenarioError::key(format!("flows.{name}.radio"), "needs a cell, which has radios"));
    }
    let Scenario { link, reverse, wired, .. } = &*scenario;
    let in_products = [&link.queue, &reverse.queue, &wired.queue].iter().any(|queue| queue.is_in_products());
    if !in_products {
        return resolve_links(scenario, files, None);
    }
    // A round trip takes no account of queues.
    let setup = resolve_links(&mut scenario.clone(), files, None)?;
    let round_trips = setup.flows.iter().map(|flow| setup.round_trip(flow));
    resolve_links(scenario, files, round_trips.max())
}

/// The same of links in a row; `round_trip` is the longest of packets that wait for nothing, if it is known.
fn resolve_links(
    scenario: &mut Scenario,
    files: &Files<'_>,
    round_trip: Option<SimTime>,
) -> Result<Setup, ScenarioError> {
    let trace = scenario.link.trace.resolve("link.trace", files)?;
    let Scenario { phy, channel, link, .. } = scenario;
    let radio = phy.resolve(channel, &mut link.rate, files)?;
    let rate = match (&trace, link.rate) {
        (Some(trace), None) => Rate(trace.mean_rate_bps),
        (Some(trace), Some(_)) => {
            return Err(ScenarioError::contradiction("link.rate", &trace.key, "the trace has the rates"));
        }
        (None, Some(rate)) => rate,
        (None, None) => {
            return Err(ScenarioError::missing("link.rate", "a bit rate such as \"1.5 Mbit/s\""));
        }
    };
    // Asked before the size of packets is filled in.
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
    let mut flows =
        if has_no_transport { Vec::new() } else { resolve_flows(scenario, packet_size.0, slot, None)? };
    let largest = largest_packet(&flows, packet_size.0, rate)?;
    let (usual, few) = (packet_size.0, windows(&flows).is_some_and(|packets| packets <= USUAL_LIMIT as u64));
    // Datagrams have no longer headers, either.
    let of_tcp = flows.iter().filter_map(|flow| Some(flow.packet_size - flow.tcp()?.mss));
    let headers = of_tcp.min().unwrap_or(USUAL_HEADERS.min(usual));
    let data = Packets { usual, largest, headers, few, round_trip };
    let Scenario { phy, channel, link, .. } = scenario;
    let radio = radio.map(|layers| (phy, layers));
    let forward = link.resolve(channel, radio, trace, data, slot, files)?;
    let (reverse, wired) = resolve_around(scenario, &mut flows, &forward, data, slot, files)?;
    let (warmup, end) = scenario.run.resolve(slot)?;
    let sample = scenario.run.resolve_sample(slot)?;
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&flows, &forward, &reverse)?;
    }
    let gate = flows.first().and_then(FlowSetup::tcp).map_or(Gate::Queue, |tcp| tcp.gate);
    let packet_size = packet_size.0;
    Ok(Setup {
        slot,
        packet_size,
        flows,
        gate,
        wired,
        mesh: None,
        cell: None,
        forward,
        reverse,
        warmup,
        end,
        frames,
        sample,
    })
}

/// What stands around the hop `forward`, a link or a cell: the way back and the wired parts, over which flows shake
/// hands; `data` are the packets that `forward` carries.
fn resolve_around(
    scenario: &mut Scenario,
    flows: &mut [FlowSetup],
    forward: &HopSetup,
    data: Packets,
    slot: SimTime,
    files: &Files<'_>,
) -> Result<(HopSetup, Option<[HopSetup; 2]>), ScenarioError> {
    let tcp = || flows.iter().filter_map(FlowSetup::tcp);
    let acks = Packets {
        largest: tcp().map(TcpSetup::longest_ack).max().unwrap_or(0),
        headers: tcp().map(|tcp| tcp.ack_size).min().unwrap_or(USUAL_HEADERS),
        ..data
    };
    let reverse = scenario.reverse.resolve(acks, slot, files)?;
    check_queue(flows, forward, data.usual)?;
    let longest = data.largest.max(acks.largest);
    let wired = scenario.wired.resolve(Packets { usual: longest, largest: longest, ..data }, slot)?;
    let hops = [forward, &reverse].into_iter().chain(wired.iter().flatten());
    let idle_rtt = hops.fold(SimTime::ZERO, |sum, hop| sum.saturating_add(hop.transit(SYN_BYTES)));
    let releases = reverse.aggregation.map(|config| {
        let there = wired.as_ref().map_or(SimTime::ZERO, |[there, _]| there.transit(SYN_BYTES));
        let way_of_syn = there.saturating_add(forward.transit(SYN_BYTES));
        Releases { period: config.period, way_of_syn }
    });
    for flow in flows {
        let back = |bytes: u32| {
            let wired = wired.as_ref().map_or(SimTime::ZERO, |[_, back]| back.transit(bytes));
            reverse.transit(bytes).saturating_add(wired)
        };
        flow.open(idle_rtt, back(flow.request), releases);
    }
    Ok((reverse, wired))
}

/// Bytes of the largest data packet.
fn largest_packet(flows: &[FlowSetup], usual: u32, rate: Rate) -> Result<u32, ScenarioError> {
    let largest = flows.iter().map(|flow| flow.packet_size).fold(usual, u32::max);
    if SimTime::to_transmit(largest, rate.0) > LONGEST_SLOT {
        let problem = format!("too slow: a packet of {largest} B would take more than 1 h");
        return Err(ScenarioError::value("link.rate", &json(rate), problem));
    }
    Ok(largest)
}

/// Refuses flows whose packets the queue never lets in; one for those of the link was checked before.
fn check_queue(flows: &[FlowSetup], forward: &HopSetup, packet_size: u32) -> Result<(), ScenarioError> {
    let Some(limit) = forward.queue().limit() else { return Ok(()) };
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

fn resolve_packet_size(scenario: &mut Scenario) -> Result<Size, ScenarioError> {
    let packet_size = match (scenario.link.packet_size, scenario.tcp.packet_size()) {
        (Some(packet_size), _) => packet_size,
        (None, Some(packet_size)) => packet_size?,
        // Frames check their own size.
        (None, None) if scenario.is_phy_alone() || scenario.has_no_transport() => {
            Size(scenario.link.frame_size.map_or(1, |size| size.0.max(1)))
        }
        (None, None) => {
            return Err(ScenarioError::missing("link.packet_size", "a size such as \"1400 B\""));
        }
    };
    scenario.link.packet_size = Some(packet_size);
    if packet_size.0 == 0 {
        return Err(ScenarioError::key("link.packet_size = \"0 B\"", "must be at least 1 B"));
    }
    Ok(packet_size)
}

/// The same of a mesh, which stands in the place of all links.
fn resolve_mesh(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
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
    let frames = scenario.run.resolve_frames(false)?;
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
    let mut flows = resolve_flows(scenario, packet_size.0, slot, Some(&mesh))?;
    for flow in &mut flows {
        if let Some(tcp) = flow.tcp() {
            check_frame("tcp.ack_size", tcp.longest_ack())?;
        }
        let longest = |bytes: u32| flow.ends.iter().map(|&ends| mesh.round_trip(ends, bytes, bytes)).max();
        if let (Some(round_trip), Some(of_request)) = (longest(SYN_BYTES), longest(flow.request)) {
            flow.open(round_trip, SimTime::from_nanos(of_request.as_nanos() / 2), None);
        }
    }
    let (warmup, end) = scenario.run.resolve(slot)?;
    let sample = scenario.run.resolve_sample(slot)?;
    let (forward, reverse) = (HopSetup::ideal(), HopSetup::ideal());
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&flows, &forward, &reverse)?;
    }
    Ok(Setup {
        slot,
        packet_size: packet_size.0,
        flows,
        gate: Gate::Queue,
        wired: None,
        mesh: Some(mesh),
        cell: None,
        forward,
        reverse,
        warmup,
        end,
        frames,
        sample,
    })
}

/// The same of a cell, which stands in the place of the link.
fn resolve_cell(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
    let Scenario { phy, channel, link, .. } = &*scenario;
    let queue = Queue { limit: link.queue.limit, ..Queue::default() };
    let bare = Link { packet_size: link.packet_size, queue, ..Link::default() };
    for (key, is_given) in [
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
    ] {
        if is_given {
            let reason = "the cell carries the data; of link it takes packet_size and queue.limit alone";
            return Err(ScenarioError::contradiction(key, "cell", reason));
        }
    }
    let slot = scenario.cell.resolve_slot()?;
    let frames = scenario.run.resolve_frames(false)?;
    let usual = resolve_packet_size(scenario)?.0;
    let mut flows = resolve_flows(scenario, usual, slot, None)?;
    let mut users = 0;
    for flow in &mut flows {
        flow.ends = (users..users + flow.count.max(1)).map(|user| [0, user + 1]).collect();
        users += flow.count.max(1);
    }
    let usual_room = Limit(Room::Of(QueueLimit::Packets(USUAL_LIMIT)));
    let room = *scenario.link.queue.limit.get_or_insert(usual_room);
    if matches!(room.0, Room::Time(_) | Room::Products(_)) {
        let problem = "must be packets, bytes or \"unlimited\": a cell has no rate of its own";
        return Err(ScenarioError::value("link.queue.limit", &json(room), problem));
    }
    let limit = room.0.limit();
    let largest = flows.iter().map(|flow| flow.packet_size).fold(usual, u32::max);
    if limit.is_some_and(|limit| !limit.admits(0, 0, largest)) {
        let problem = format!("must let in a packet of {largest} B");
        return Err(ScenarioError::value("link.queue.limit", &json(room), problem));
    }
    let mut alone = Radio::default();
    let named = scenario.flows.iter_mut().zip(&flows);
    let mut radios: Vec<(String, &mut Radio, usize)> = named
        .map(|((name, flow), setup)| (format!("flows.{name}.radio"), &mut flow.radio, setup.ends.len()))
        .collect();
    if radios.is_empty() {
        radios.push(("cell.radio".to_owned(), &mut alone, 1));
    }
    let cell = scenario.cell.resolve(slot, &mut radios, limit, files)?;
    // What the flows say stands with them.
    scenario.cell.radio = if scenario.flows.is_empty() { alone } else { Radio::default() };
    let data = Packets { usual, largest, headers: USUAL_HEADERS.min(usual), few: true, round_trip: None };
    let forward = HopSetup::of_cell(slot, limit);
    let (reverse, wired) = resolve_around(scenario, &mut flows, &forward, data, slot, files)?;
    let (warmup, end) = scenario.run.resolve(slot)?;
    let sample = scenario.run.resolve_sample(slot)?;
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&flows, &forward, &reverse)?;
    }
    Ok(Setup {
        slot,
        packet_size: usual,
        flows,
        gate: Gate::Queue,
        wired,
        mesh: None,
        cell: Some(cell),
        forward,
        reverse,
        warmup,
        end,
        frames,
        sample,
    })
}

/// Refuses a packet that no frame has room for.
fn check_frame(key: &str, bytes: u32) -> Result<(), ScenarioError> {
    if bytes <= MAX_MSDU_BYTES {
        return Ok(());
    }
    let problem = format!("must be at most {MAX_MSDU_BYTES} B, what a frame of 802.11 has room for");
    Err(ScenarioError::value(key, &json(Size(bytes)), problem))
}

/// Bytes of the headers of IP and TCP without options.
const USUAL_HEADERS: u32 = 40;

/// The segments of a handshake: headers of IP and TCP with all options that are usual.
const SYN_BYTES: u32 = 60;

/// More flows than this take more memory than a laptop has.
const MOST_FLOWS: u32 = 100_000;

/// How many packets may be under way at once; `None` where no windows limit them.
fn windows(flows: &[FlowSetup]) -> Option<u64> {
    let window = |flow: &FlowSetup| match &flow.traffic {
        TrafficSetup::Tcp(tcp, _) => Some(u64::from(flow.count) * u64::from(tcp.config.w_max)),
        _ => None,
    };
    flows.iter().map(window).sum()
}

fn resolve_flows(
    scenario: &mut Scenario,
    packet_size: u32,
    slot: SimTime,
    mesh: Option<&MeshSetup>,
) -> Result<Vec<FlowSetup>, ScenarioError> {
    let link = &scenario.link;
    // A drop-tail hop of whole packets at a constant rate: a sender can wait for its slots.
    let whole_packets = link.frame_size.is_none() || frames_fill_packets(scenario, packet_size);
    let is_plain = whole_packets && link.is_plain();
    let one_hop = mesh.is_none() && scenario.cell.is_absent() && scenario.wired.is_absent() && is_plain;
    if scenario.flows.is_empty() {
        let ends: Vec<[u32; 2]> = mesh.map(MeshSetup::outermost).into_iter().collect();
        ends.iter().try_for_each(|&ends| mesh.map_or(Ok(()), |mesh| mesh.check_ends("mesh", ends)))?;
        let hops = mesh.and_then(|mesh| mesh.common_round_trip_hops(&ends));
        let tcp = scenario.tcp.resolve(packet_size, slot, one_hop, hops)?;
        return Ok(vec![FlowSetup::bulk(&tcp, packet_size, ends)]);
    }
    let alone = one_hop && scenario.flows.len() == 1;
    let mut flows = Vec::new();
    for (name, flow) in &mut scenario.flows {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            let problem = "a flow's name has letters, digits, - and _";
            return Err(ScenarioError::key(format!("flows.{name:?}"), problem));
        }
        flows.push(flow.resolve(name, &scenario.tcp, packet_size, slot, alone, mesh)?);
    }
    if flows.iter().all(|flow| matches!(flow.traffic, TrafficSetup::Outside)) {
        let problem = "traffic \"outside\" has no simulated flow beside it; without flows a program has the links to itself";
        return Err(ScenarioError::key("flows", problem));
    }
    let mut outside = flows.iter().filter(|flow| matches!(flow.traffic, TrafficSetup::Outside));
    if let (Some(first), Some(second)) = (outside.next(), outside.next()) {
        let problem =
            format!("\"outside\" is flows.{} already, and one flow stands for the program", first.name);
        return Err(ScenarioError::key(format!("flows.{}.traffic", second.name), problem));
    }
    let total = flows.iter().fold(0_u32, |sum, flow| sum.saturating_add(flow.count));
    if total > MOST_FLOWS {
        let problem = format!("{total} flows are too many; at most {MOST_FLOWS} are allowed");
        return Err(ScenarioError::key("flows", problem));
    }
    Ok(flows)
}

/// Whether each packet is so many frames of a physical layer, no more and no less, each sent once: then it fares
/// as a whole packet does.
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

const AVAILABLE: &str = "available: analysis, analysis:bounds, analysis:paper-bounds, formula, formula:square-root, phy, simulation, \
     live";

fn check_methods(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    let methods = scenario.methods.get_or_insert_with(|| vec![Method::Simulation]);
    if methods.is_empty() {
        return Err(ScenarioError::key("methods = []", format!("must name at least one; {AVAILABLE}")));
    }
    for method in methods.iter_mut().filter(|method| **method == Method::Analysis) {
        *method = Method::AnalysisExact;
    }
    let mut seen = Vec::new();
    methods.retain(|method| {
        !seen.contains(method) && {
            seen.push(*method);
            true
        }
    });
    match &scenario.title {
        Some(title) if title.contains(char::is_control) => {
            Err(ScenarioError::value("title", &json(title), "must be one line"))
        }
        _ => Ok(()),
    }
}

/// A run that waits for segments would never end on a channel that lets none through.
fn refuse_endless(flows: &[FlowSetup], forward: &HopSetup, reverse: &HopSetup) -> Result<(), ScenarioError> {
    let has_no_end =
        |flow: &FlowSetup| matches!(flow.traffic, TrafficSetup::Tcp(_, None) | TrafficSetup::PacedTcp(..));
    if !flows.iter().any(has_no_end) {
        let reason = "without a bulk flow the segments may never come; use run.duration";
        return Err(ScenarioError::contradiction("run.segments", "flows", reason));
    }
    for (key, hop) in [("channel", forward), ("reverse.channel", reverse)] {
        if hop.ends_in_loss() {
            let reason =
                "in the long run this channel loses everything, so the run might never end; use run.duration";
            return Err(ScenarioError::contradiction("run.segments", key, reason));
        }
    }
    Ok(())
}
