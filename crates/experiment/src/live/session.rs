//! Sessions: two hosts joined by the network of a scenario until they are stopped.

use super::events::events_csv;
use super::header::{Header, Source};
use super::kernel::{KernelTcp, OPTION, end, set_route};
use super::network::{LiveNetwork, WatchedLink};
use super::report::{FlowReport, LiveReport};
use super::view::View;
use super::watch::{Purpose, Sample, Seen, Watch, refused};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{AggregationConfig, OutsideClass};
use crossfade_live::{
    Bulk, BulkFlow, BulkReport, Emulation, Host, HostOptions, Machine, PortClasses, PumpConfig, PumpReport,
    Rebinding, Recording, TcpCounters, TcpRoute,
};
use crossfade_scenario::{FlowSetup, Point, ScenarioError, Setup, TrafficSetup, outside_classes};
use serde::Deserialize;
use std::fs::File;
use std::iter::repeat_n;
use std::sync::Arc;
use std::time::Instant;

/// When idle processors are kept awake. It needs permission, takes power, and makes packets less late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StayAwake {
    /// Processors may sleep.
    Never,
    /// Processors stay awake for a second after each packet.
    #[default]
    WhilePassing,
    /// Processors stay awake for the whole run.
    Always,
}

/// Options of a session that the scenario does not have.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command")]
pub struct Options {
    /// True to run the scenario's built-in transfers between the hosts; false for a user's programs.
    pub bulk: bool,
    /// Congestion control of both hosts, by the kernel's name; `None`: the scenario's for built-in transfers, otherwise
    /// the kernel's default.
    pub congestion: Option<String>,
    /// MTU in bytes for a user's programs; `None`: 1500, since the scenario's packets may be smaller.
    pub mtu: Option<u32>,
    /// True to give the hosts IPv6 addresses too.
    pub ipv6: bool,
    /// True to give the hosts segmentation offload: large segments are cut inside the link, and packets that leave it
    /// together arrive as one.
    pub large_segments: bool,
    /// True to apply losses only to TCP segments that carry data, as in simulation.
    pub data_only: bool,
    /// Rebindings of the near host's UDP ports by a NAT; `None`: no NAT.
    pub rebinding: Option<Rebinding>,
    /// True to deliver packets that the channel loses with a corrupted content.
    pub corrupts: bool,
    /// When idle processors are kept awake.
    pub awake: StayAwake,
    /// File for the journal, and the scenario for its header; `None`: no journal.
    pub journal: Option<(File, Source)>,
    /// Files for the captures at the far host and at the near one; `None`: no captures.
    pub captures: Option<[File; 2]>,
    /// File for the first bytes of each packet that enters a shared medium, and the number of bytes to keep of each.
    pub packets: Option<(File, u32)>,
    /// Version of Crossfade to write into the journal; `None`: that of this crate.
    pub version: Option<String>,
    /// True to sample sockets often enough to draw their state; false to read only their congestion control.
    pub watch: bool,
}

/// Two hosts, and after the start the network of a scenario between them. The first host is the far one, which sends
/// the data.
pub struct Session {
    hosts: [Host; 2],
    point: Arc<Point>,
    seed: RunSeed,
    options: Options,
    /// MTU of the hosts in bytes.
    mtu: u32,
    /// Congestion control of each entry of the scenario's flows; empty without built-in transfers.
    congestion: Vec<String>,
    /// Largest receive window of the built-in transfers in bytes; `None`: the kernel's.
    receive_window: Option<u32>,
    running: Option<Running>,
}

struct Running {
    emulation: Emulation,
    links: Vec<WatchedLink>,
    origin: Instant,
    machine: Machine,
    late: SimTime,
    bulk: Option<Bulk>,
    watch: Option<Watch>,
}

/// Measurements of a session that has ended.
pub(super) struct Ended {
    pub(super) report: LiveReport,
    pub(super) forward: PumpReport,
    pub(super) links: Vec<WatchedLink>,
    pub(super) bulk: Vec<BulkReport>,
    pub(super) samples: Vec<Sample>,
    /// TCP counters of the far host, which sends the data.
    pub(super) counters: TcpCounters,
}

/// MTU of the hosts in bytes if none is given.
const USUAL_MTU: u32 = 1500;
/// Lower bound of the lateness above which a packet counts as late.
const LEAST_LATE: SimTime = SimTime::from_micros(100);

impl Session {
    /// Creates the two hosts of a point. The process has a single thread again when this returns.
    ///
    /// # Errors
    /// If the system refuses the hosts, or the kernel lacks a feature that the scenario needs.
    pub fn new(point: Arc<Point>, seed: RunSeed, options: Options) -> Result<Self, ScenarioError> {
        let tcp = if options.bulk { Some(KernelTcp::of(&point.setup)?) } else { None };
        let aggregation = point.setup.network.around().and_then(|around| around.reverse.aggregation);
        if let (None, Some(AggregationConfig { thinning: 2.., .. })) = (&tcp, aggregation) {
            let problem =
                "a link of real packets does not tell acknowledgements from data: leave it out, or 1";
            return Err(ScenarioError::key("reverse.aggregation.thinning", problem));
        }
        let mtu = match (&tcp, options.mtu) {
            (Some(_), _) => point.setup.packet_size,
            (None, Some(mtu)) => mtu,
            (None, None) => USUAL_MTU,
        };
        let (has_ipv6, large_segments) = (options.ipv6, options.large_segments);
        let hosts = Host::pair_with(HostOptions { mtu, has_ipv6, large_segments }).map_err(refused)?;
        let receive_window = tcp.as_ref().and_then(KernelTcp::receive_window);
        let mut congestion = Vec::new();
        if let Some(tcp) = tcp {
            let tcp = match &options.congestion {
                Some(name) => tcp.with_congestion(name),
                None => tcp,
            };
            tcp.apply(&hosts)?;
            congestion = tcp.congestion().to_vec();
        } else if options.congestion.is_some() {
            let route = TcpRoute { congestion: options.congestion.clone(), ..TcpRoute::default() };
            hosts.iter().try_for_each(|host| set_route(host, &route, OPTION))?;
        }
        Ok(Self { hosts, point, seed, options, mtu, congestion, receive_window, running: None })
    }

    /// The far host, which sends the data, then the near one.
    pub fn hosts(&self) -> &[Host; 2] {
        &self.hosts
    }

    /// Routes packets of the near host through the far host to the network beyond its device `device`.
    ///
    /// # Errors
    /// If the far host has no such device.
    pub fn lead_on(&self, device: &str) -> Result<(), ScenarioError> {
        let [far, near] = &self.hosts;
        far.forward(device).map_err(refused)?;
        let route = TcpRoute { congestion: self.options.congestion.clone(), ..TcpRoute::default() };
        near.set_gateway(far, &route).map_err(refused)
    }

    /// Starts the threads that carry packets between the hosts.
    ///
    /// # Errors
    /// If the system refuses a thread or a device.
    pub fn start(&mut self) -> Result<(), ScenarioError> {
        let setup = &self.point.setup;
        let LiveNetwork { between, links } = LiveNetwork::new(setup, self.seed)?;
        let late = late(setup);
        let mut config = PumpConfig {
            late,
            warmup: if self.options.bulk { setup.warmup } else { SimTime::ZERO },
            data_only: self.options.data_only,
            receive_window: self.receive_window,
            waits: !self.options.bulk,
            classes: port_classes(setup, self.options.bulk)?,
            rebinding: self.options.rebinding,
            corrupts: self.options.corrupts,
            ..PumpConfig::default()
        };
        match self.options.awake {
            StayAwake::Never => config.awake = SimTime::ZERO,
            StayAwake::WhilePassing => {}
            StayAwake::Always => config.awake = SimTime::MAX,
        }
        let mut recording = Recording::default();
        if let Some((file, source)) = self.options.journal.take() {
            let header = Header::new(
                source,
                self.point.index,
                self.seed,
                self.mtu,
                [config.data_only, self.options.bulk],
                self.options.version.take(),
            );
            let header = serde_json::to_string(&header).expect("a header is JSON");
            recording = recording.with_journal(file, &header).map_err(refused)?;
        }
        if let Some(files) = self.options.captures.take() {
            recording = recording.with_captures(files).map_err(refused)?;
        }
        if let Some((file, snaplen)) = self.options.packets.take() {
            recording = recording.with_packets(file, snaplen).map_err(refused)?;
        }
        let machine = Machine::now();
        let emulation =
            Emulation::start_recorded(&self.hosts, between, config, recording).map_err(refused)?;
        let origin = emulation.clock().origin().unwrap_or_else(Instant::now);
        let watch = |purpose| Watch::start(&self.hosts, &emulation, purpose);
        let watch =
            if self.options.watch { Some(watch(Purpose::Record)?) } else { watch(Purpose::Name).ok() };
        let bulk = if self.options.bulk {
            let [far, near] = &self.hosts;
            Some(Bulk::start(far, near, &flows(setup, &self.congestion), origin).map_err(refused)?)
        } else {
            None
        };
        self.running = Some(Running { emulation, links, origin, machine, late, bulk, watch });
        Ok(())
    }

    /// Duration of the scenario; `None` if it ends with a count of segments.
    pub fn duration(&self) -> Option<SimTime> {
        Some(end(&self.point.setup)).filter(|&end| end < SimTime::MAX)
    }

    /// Time since the start of the session.
    pub fn elapsed(&self) -> SimTime {
        self.running
            .as_ref()
            .map_or(SimTime::ZERO, |running| SimTime::from_nanos(running.origin.elapsed().as_nanos() as u64))
    }

    /// Number of packets between the hosts at present.
    pub fn inside(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.emulation.inside())
    }

    /// True while the session goes on: its devices exist, and no disk of its files is full.
    pub fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.emulation.is_running())
    }

    /// Bytes delivered so far by each built-in transfer.
    pub fn delivered(&self) -> Vec<u64> {
        let bulk = self.running.as_ref().and_then(|running| running.bulk.as_ref());
        bulk.map(Bulk::bytes).unwrap_or_default()
    }

    /// True if all built-in transfers have ended.
    pub fn is_finished(&self) -> bool {
        let bulk = self.running.as_ref().and_then(|running| running.bulk.as_ref());
        bulk.is_some_and(Bulk::is_finished)
    }

    /// Last sample of each socket.
    pub(super) fn latest(&self) -> Vec<Sample> {
        let watch = self.running.as_ref().and_then(|running| running.watch.as_ref());
        watch.map(Watch::latest).unwrap_or_default()
    }

    /// Samples of sockets and links from the indices `since` on; empty if [`Options::watch`] is false.
    pub fn seen(&self, since: [usize; 2]) -> View {
        let watch = self.running.as_ref().and_then(|running| running.watch.as_ref());
        let seen = watch.map(|watch| watch.since(since)).unwrap_or_default();
        View::new(&seen, since)
    }

    /// Stops the session. Returns its report, and samples of the kernel's TCP as CSV (only the header if no socket sent
    /// data).
    ///
    /// # Errors
    /// The error that stopped the session earlier, or that it was never started.
    pub fn stop(&mut self) -> Result<(LiveReport, String), ScenarioError> {
        self.end().map(|(ended, events)| (ended.report, events))
    }

    pub(super) fn end(&mut self) -> Result<(Ended, String), ScenarioError> {
        let Some(running) = self.running.take() else {
            return Err(ScenarioError::key("live", "not started"));
        };
        let Running { emulation, links, machine, late, bulk, watch, .. } = running;
        let Seen { samples, links: passed } = watch.map(Watch::finish).unwrap_or_default();
        let counters = TcpCounters::of(&self.hosts[0]).map_err(refused)?;
        let bulk = bulk.map_or(Ok(Vec::new()), Bulk::stop).map_err(refused)?;
        let events = events_csv(if self.options.watch { &samples } else { &[] }, &passed);
        let report = emulation.stop_with_events(&events).map_err(refused)?;
        let flows = self.flow_reports(&bulk);
        let mut said = LiveReport::new(&report, late, &machine, congestion(&bulk, &samples), flows);
        if let (true, Some(asked)) = (bulk.is_empty(), &self.options.congestion)
            && said.congestion.iter().any(|name| name != asked)
        {
            said.flags.push(format!("sockets used {}, not {asked}", said.congestion.join(", ")));
        }
        let ended = Ended { report: said, forward: report.forward, links, bulk, samples, counters };
        Ok((ended, events))
    }

    /// Reports of the built-in transfers, with the names of the scenario's flows.
    fn flow_reports(&self, bulk: &[BulkReport]) -> Vec<FlowReport> {
        let names = self.point.setup.flows.iter().flat_map(|flow| repeat_n(&flow.name, flow.count as usize));
        let report = |(name, bulk): (&String, &BulkReport)| FlowReport {
            name: name.clone(),
            congestion: bulk.congestion.clone(),
            bytes: bulk.bytes,
        };
        names.zip(bulk).map(report).collect()
    }

    pub(super) fn point(&self) -> &Point {
        &self.point
    }
}

/// Lateness above which a packet counts as late: half the transmission time of a frame, or of a packet, at least
/// [`LEAST_LATE`].
fn late(setup: &Setup) -> SimTime {
    let frames = setup.links().and_then(|links| links.forward.frames());
    let slot = frames.map_or(setup.slot, |frames| frames.frame_time);
    LEAST_LATE.max(SimTime::from_nanos(slot.as_nanos() / 2))
}

/// Built-in transfers of a scenario, one for each flow of each entry.
fn flows(setup: &Setup, congestion: &[String]) -> Vec<BulkFlow> {
    let mut ports = transfer_ports(setup);
    let of_entry = |(flow, congestion): (&FlowSetup, &String)| {
        let bytes = match &flow.traffic {
            TrafficSetup::Tcp(tcp, Some(segments)) => Some(segments * u64::from(tcp.mss)),
            _ => None,
        };
        (0..flow.count)
            .map(|number| BulkFlow {
                congestion: congestion.clone(),
                bytes,
                start: flow.start + flow.stagger * u64::from(number),
                port: ports.next().unwrap_or(0),
            })
            .collect::<Vec<_>>()
    };
    setup.flows.iter().zip(congestion).flat_map(of_entry).collect()
}

/// First receiving port of built-in transfers if packets are classified by port.
const FIRST_PORT: u16 = 20_001;

/// True if a user of the scenario has several bearers, to which packets are assigned by port.
fn has_bearers(setup: &Setup) -> bool {
    setup.flows.iter().any(|flow| flow.beside.is_some())
}

/// Receiving ports of the built-in transfers, in order; empty if packets have no classes, so that any free port serves.
fn transfer_ports(setup: &Setup) -> impl Iterator<Item = u16> + use<> {
    let end = if has_bearers(setup) { u16::MAX } else { FIRST_PORT };
    FIRST_PORT..end
}

/// Classes of packets by port, if users have several bearers: ports that flows name, or ports of the built-in transfers
/// (`is_bulk`). Packets of other ports take the first bearer. `None` if each user has one bearer.
///
/// # Errors
/// If more flows need a class than there are.
fn port_classes(setup: &Setup, is_bulk: bool) -> Result<Option<PortClasses>, ScenarioError> {
    let Some(usual) = OutsideClass::new(0).filter(|_| has_bearers(setup)) else { return Ok(None) };
    let mut ports = transfer_ports(setup);
    let mut by_port = Vec::new();
    for (flow, class) in setup.flows.iter().zip(outside_classes(&setup.flows)) {
        if class.is_none() && (is_bulk || !flow.ports.is_empty()) {
            let most = OutsideClass::COUNT - 1;
            let problem = format!("live: packets can be told apart for {most} flows beside others at most");
            return Err(ScenarioError::key(format!("flows.{}.beside", flow.name), problem));
        }
        let of_transfers = ports.by_ref().take(if is_bulk { flow.count as usize } else { 0 });
        let of_flow = flow.ports.iter().copied().chain(of_transfers);
        by_port.extend(of_flow.filter_map(|port| Some((port, class?))));
    }
    Ok(Some(PortClasses::new(usual, by_port)))
}

/// Congestion controls of the sockets that sent data, in order, each once.
fn congestion(bulk: &[BulkReport], samples: &[Sample]) -> Vec<String> {
    let of_bulk = bulk.iter().map(|flow| &flow.congestion);
    let of_samples = samples.iter().filter(|sample| sample.tcp.data_segments_out > 0);
    let all = of_bulk.chain(of_samples.map(|sample| &sample.tcp.congestion));
    let mut names: Vec<String> = all.filter(|name| !name.is_empty()).cloned().collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;
    use crossfade_scenario::Overrides;

    fn setup(flows: &str) -> Result<Setup, String> {
        let text = format!(
            "schema = 2\nrun = {{ duration = \"1 s\" }}\nnr = {{ uplink = {{ grants = \"proactive\" }}, radio = {{ \
             mean_snr_db = 20 }} }}\nlink = {{ packet_size = \"1500 B\" }}\ntcp = {{ variant = \"sack\" }}\n[flows]\n{flows}"
        );
        let plan = Experiment::load(&text, "nr.toml", &Overrides::default());
        plan.map(|plan| plan.points.at(0).setup.clone()).map_err(|error| error.to_string())
    }

    fn class(number: u8) -> OutsideClass {
        OutsideClass::new(number).unwrap()
    }

    #[test]
    fn packets_of_a_program_have_the_class_of_the_flow_that_names_their_port() {
        let alone = setup("a = {}\nme = { traffic = \"outside\" }").unwrap();
        assert_eq!(port_classes(&alone, false), Ok(None), "one bearer each");
        let program = setup(
            "a = { beside = \"me\" }\nme = { traffic = \"outside\" }\nvoice = { traffic = \"outside\", beside = \
             \"me\", ports = [5004, 5005] }",
        );
        let classes = PortClasses::new(class(0), [(5004, class(1)), (5005, class(1))]);
        assert_eq!(port_classes(&program.unwrap(), false), Ok(Some(classes)));
    }

    #[test]
    fn transfers_of_a_scenario_have_ports_by_their_bearers() {
        let setup = setup("a = {}\nb = { beside = \"a\", count = 2 }\nc = { beside = \"a\" }").unwrap();
        let ports = [(20_001, class(0)), (20_002, class(1)), (20_003, class(1)), (20_004, class(2))];
        assert_eq!(port_classes(&setup, true), Ok(Some(PortClasses::new(class(0), ports))));
        // Packets of a program for which no flow stands take the first bearer.
        assert_eq!(port_classes(&setup, false), Ok(Some(PortClasses::new(class(0), []))));
        let congestion = vec!["cubic".to_owned(); 3];
        let found: Vec<u16> = flows(&setup, &congestion).iter().map(|flow| flow.port).collect();
        assert_eq!(found, [20_001, 20_002, 20_003, 20_004]);
    }

    #[test]
    fn what_cannot_stand_for_a_program_is_one_line() {
        let me = "me = { traffic = \"outside\" }";
        for (flows, said) in [
            (
                format!("a = {{}}\n{me}\nv = {{ traffic = \"outside\" }}"),
                "flows.v.traffic: \"outside\" is flows.me already, and one flow stands for the program; further ones have \
                 ports",
            ),
            (
                format!("a = {{}}\n{me}\nv = {{ traffic = \"outside\", ports = [80] }}"),
                "flows.v.beside: missing; \"me\": packets of one program are those of one user",
            ),
            (
                "a = {}\nv = { traffic = \"outside\", ports = [80], beside = \"a\" }".to_owned(),
                "flows.v.ports: needs another flow with traffic = \"outside\" and without ports, for all other packets",
            ),
            (
                format!(
                    "a = {{}}\n{me}\nv = {{ traffic = \"outside\", ports = [80], beside = \"me\" }}\nw = {{ traffic = \
                     \"outside\", ports = [443, 80], beside = \"me\" }}"
                ),
                "flows.w.ports: 80 is a port of flows.v already",
            ),
            (
                format!("a = {{}}\n{me}\nv = {{ traffic = \"outside\", ports = [0], beside = \"me\" }}"),
                "flows.v.ports = [0]: must be a list of port numbers, each between 1 and 65535",
            ),
        ] {
            let error = setup(&flows).unwrap_err();
            assert_eq!(error, said, "{flows}");
        }
        let many: Vec<String> = (0..8).map(|n| format!("b{n} = {{ beside = \"a\" }}")).collect();
        let many = setup(&format!("a = {{}}\n{}", many.join("\n"))).unwrap();
        assert_eq!(
            port_classes(&many, true).unwrap_err().to_string(),
            "flows.b7.beside: live: packets can be told apart for 7 flows beside others at most"
        );
    }
}
