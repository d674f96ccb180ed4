//! TCP settings of a scenario as settings of the kernel's TCP.

use crossfade_core::SimTime;
use crossfade_live::{Host, LiveError, TcpRoute};
use crossfade_scenario::{End, FlowSetup, ScenarioError, Setup, TcpSetup, TrafficSetup};
use crossfade_transport::{CongestionControlKind, RtoRule, SenderConfig, TcpConfig, Variant};
use std::collections::BTreeSet;

/// A sysctl of a host: the scenario key that needs it, `NAME` of `net.ipv4.NAME`, and the value to set.
type Sysctl = (&'static str, &'static str, String);

/// Settings of the kernel's TCP. Those of a host are set by sysctls and on its route, the congestion control on each
/// socket.
pub(super) struct KernelTcp {
    host: HostTcp,
    /// Congestion control of each entry of the scenario's flows, by the kernel's name.
    congestion: Vec<String>,
    /// Scenario key or command-line option that chose the congestion control, for errors.
    asked_by: &'static str,
}

/// TCP settings that all connections of a host share.
struct HostTcp {
    sysctls: Vec<Sysctl>,
    sender: TcpRoute,
    receiver: TcpRoute,
}

/// Bytes of the IPv4 and TCP headers without options; and bytes of the timestamps option.
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;

impl KernelTcp {
    /// Settings for the built-in transfers of `setup`.
    ///
    /// # Errors
    /// The first key that the kernel cannot follow.
    pub(super) fn of(setup: &Setup) -> Result<Self, ScenarioError> {
        let mut congestion = Vec::new();
        let mut first: Option<(&FlowSetup, HostTcp)> = None;
        for flow in &setup.flows {
            let (tcp, config) = check_flow(flow, setup.packet_size)?;
            let host = HostTcp::of(config, tcp.mss)?;
            check_sizes(setup, tcp.mss, config)?;
            congestion.push(congestion_of(&tcp.config)?.to_owned());
            match &first {
                None => first = Some((flow, host)),
                Some((other, of_other)) => {
                    if let Some(key) = host.differs_from(of_other) {
                        let problem = format!(
                            "method live: not as of flow {:?}; both have one host, whose sockets can differ in \
                             tcp.congestion alone",
                            other.name
                        );
                        return Err(ScenarioError::key(format!("flows.{}.{key}", flow.name), problem));
                    }
                }
            }
        }
        let Some((_, host)) = first else {
            return Err(ScenarioError::key("tcp", "missing: method live has transfers by TCP"));
        };
        check_ends(setup)?;
        Ok(Self { host, congestion, asked_by: KEY })
    }

    /// Congestion control of each entry of the scenario's flows, by the kernel's name.
    pub(super) fn congestion(&self) -> &[String] {
        &self.congestion
    }

    /// Largest receive window of each connection in bytes; `None`: the kernel's.
    pub(super) fn receive_window(&self) -> Option<u32> {
        self.host.receiver.window
    }

    /// Replaces the congestion control of all flows by the one that the kernel calls `name`.
    pub(super) fn with_congestion(mut self, name: &str) -> Self {
        self.congestion.fill(name.to_owned());
        self.asked_by = OPTION;
        self
    }

    /// Applies the settings to the hosts, and checks that the sockets of the first host, which sends, may use the
    /// congestion controls.
    pub(super) fn apply(&self, [sender, receiver]: &[Host; 2]) -> Result<(), ScenarioError> {
        for host in [sender, receiver] {
            for (_, name, value) in &self.host.sysctls {
                let set = host.set_sysctl(name, value);
                set.map_err(|error| {
                    ScenarioError::key(format!("net.ipv4.{name} = {value}"), error.to_string())
                })?;
            }
        }
        set_route(sender, &self.host.sender, self.asked_by)?;
        set_route(receiver, &self.host.receiver, self.asked_by)?;
        for name in &self.congestion {
            sender.check_congestion(name).map_err(|error| no_congestion(self.asked_by, name, &error))?;
        }
        Ok(())
    }
}

impl HostTcp {
    fn of(config: &TcpConfig, mss: u32) -> Result<Self, ScenarioError> {
        let TcpConfig { variant, rfc, rto, w_max, initial_window, .. } = *config;
        let has_sack = match variant {
            Variant::NewReno => false,
            Variant::Sack => true,
            _ => {
                let problem = "method live: the kernel has newreno (SACK off), sack and cubic";
                return Err(ScenarioError::key("tcp.variant", problem));
            }
        };
        // The kernel estimates its timeouts. With a constant round trip they equal this least timeout plus the round
        // trip.
        let (RtoRule::Estimated { min: shortest, .. } | RtoRule::Fixed(shortest)) = rto.rule;
        let rto_min = Some((shortest.as_nanos() / 1_000_000) as u32);
        let switch = |key, name, on: bool| (key, name, u8::from(on).to_string());
        // The value 3 of the sysctl requests accurate ECN feedback.
        let ecn = if rfc.accurate_ecn { "3".to_owned() } else { u8::from(rfc.ecn).to_string() };
        let probe = if rfc.tail_loss_probe { "3" } else { "0" }.to_owned();
        Ok(Self {
            sysctls: vec![
                switch("tcp.variant", "tcp_sack", has_sack),
                switch("tcp.rfc.d_sack", "tcp_dsack", has_sack && rfc.d_sack),
                switch("tcp.rfc.timestamps", "tcp_timestamps", rfc.timestamps),
                ("tcp.rfc.ecn", "tcp_ecn", ecn),
                ("tcp.rfc.tail_loss_probe", "tcp_early_retrans", probe),
            ],
            sender: TcpRoute {
                initial_window: Some(initial_window as u32),
                rto_min_ms: rto_min,
                ..TcpRoute::default()
            },
            receiver: TcpRoute {
                window: Some(w_max.saturating_mul(mss)),
                quick_acks: rfc.delayed_ack.is_none(),
                ..TcpRoute::default()
            },
        })
    }

    /// First scenario key whose setting differs between two flows; `None` if a host can serve both.
    fn differs_from(&self, other: &Self) -> Option<&'static str> {
        let routes = [
            ("tcp.initial_window", self.sender.initial_window == other.sender.initial_window),
            ("tcp.rto.min", self.sender.rto_min_ms == other.sender.rto_min_ms),
            ("tcp.w_max", self.receiver.window == other.receiver.window),
            ("tcp.rfc.delayed_ack", self.receiver.quick_acks == other.receiver.quick_acks),
        ];
        let sysctls = self.sysctls.iter().zip(&other.sysctls).map(|(ours, theirs)| (ours.0, ours == theirs));
        sysctls.chain(routes).find(|(_, is_same)| !is_same).map(|(key, _)| key)
    }
}

/// The kernel's name of a congestion control.
///
/// # Errors
/// If no kernel has it.
fn congestion_of(sender: &SenderConfig) -> Result<&'static str, ScenarioError> {
    match sender.congestion_control().unwrap_or(CongestionControlKind::Reno) {
        CongestionControlKind::Reno => Ok("reno"),
        CongestionControlKind::Cubic => Ok("cubic"),
        CongestionControlKind::HighSpeed => Ok("highspeed"),
        CongestionControlKind::Dctcp => Ok("dctcp"),
        CongestionControlKind::Prague => Ok("prague"),
        CongestionControlKind::BbrV1 => Ok("bbr"),
        CongestionControlKind::BbrV3 => {
            let problem = "method live: the BBR of kernels is version 1, bbr-v1";
            Err(ScenarioError::key("tcp.congestion", problem))
        }
    }
}

/// Congestion control and kernel release of a flow by method live; `None` for a flow without a kernel TCP. Sockets are
/// asked for their congestion control, and a run fails if one has another.
pub(crate) fn whose_tcp(flow: &FlowSetup) -> Option<String> {
    let congestion = congestion_of(&flow.tcp()?.config).ok()?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Some(format!("{congestion} of Linux {}", release.trim()))
}

/// Start of error messages about the option `--congestion`.
pub(super) const OPTION: &str = "--congestion ";
const KEY: &str = "tcp.congestion = ";

fn no_congestion(asked_by: &str, name: &str, error: &LiveError) -> ScenarioError {
    let problem = format!("{error} (the kernel has: {}; try modprobe tcp_{name})", available());
    ScenarioError::key(format!("{asked_by}{name:?}"), problem)
}

/// Sets TCP attributes on a host's route, which apply to all its connections; `asked_by` names the option ([`OPTION`])
/// or scenario key in errors.
pub(super) fn set_route(host: &Host, route: &TcpRoute, asked_by: &str) -> Result<(), ScenarioError> {
    host.set_tcp(route).map_err(|error| match &route.congestion {
        Some(name) => no_congestion(asked_by, name, &error),
        None => ScenarioError::key("live", error.to_string()),
    })
}

/// Names of the congestion controls that the kernel has loaded; `?` if unknown.
fn available() -> String {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    read.map_or_else(|_| "?".to_owned(), |names| names.trim().to_owned())
}

/// Checks that all flows have the same ends (two nodes of a mesh, or one user of a cell), since a live run has one pair
/// of hosts.
fn check_ends(setup: &Setup) -> Result<(), ScenarioError> {
    let ends: BTreeSet<_> = setup.flows.iter().flat_map(|flow| &flow.ends).collect();
    if ends.len() < 2 {
        return Ok(());
    }
    let problem = format!(
        "method live: two hosts stand at one of the {} places that flows go to; start your program with crossfade live, \
         at that of a flow with traffic = \"outside\"",
        ends.len()
    );
    Err(ScenarioError::key("flows", problem))
}

/// Returns the TCP of a flow if a built-in transfer can stand for the flow.
///
/// # Errors
/// The first key of the flow that the kernel cannot follow.
fn check_flow(flow: &FlowSetup, packet_size: u32) -> Result<(&TcpSetup, &TcpConfig), ScenarioError> {
    let key =
        |key: &str| if flow.name.is_empty() { key.to_owned() } else { format!("flows.{}.{key}", flow.name) };
    if flow.custom_control.is_some() {
        let problem =
            "method live: the kernel has no congestion control of a Python file; use method simulation";
        return Err(ScenarioError::key(key("tcp.congestion"), problem));
    }
    if flow.access_delay > SimTime::ZERO {
        let problem = "method live: all flows have one path; use several runs";
        return Err(ScenarioError::key(key("access_delay"), problem));
    }
    if flow.packet_size != packet_size {
        let problem = "method live: all flows have the packets of the link, whose size is the MTU";
        return Err(ScenarioError::key(key("packet_size"), problem));
    }
    match &flow.traffic {
        TrafficSetup::Tcp(tcp, _) => tcp.config.tcp().map(|config| (tcp, config)).ok_or_else(|| {
            let problem = "method live: the kernel has no QUIC; use method simulation, or start a program of your own \
                           with crossfade live";
            ScenarioError::value(key("tcp.flavour"), &serde_json::json!("quic"), problem)
        }),
        _ => Err(ScenarioError::key(
            key("traffic"),
            "method live has \"bulk\" and \"transfer\"; for others start your program with crossfade live",
        )),
    }
}

/// Checks that the MSS fills packets of the MTU, as the kernel's segments do.
fn check_sizes(setup: &Setup, mss_given: u32, tcp: &TcpConfig) -> Result<(), ScenarioError> {
    let headers = HEADERS + if tcp.rfc.timestamps { TIMESTAMPS } else { 0 };
    let mss = setup.packet_size.saturating_sub(headers);
    if !(128..=65_535).contains(&setup.packet_size) {
        let given = format!("link.packet_size = \"{} B\"", setup.packet_size);
        return Err(ScenarioError::key(given, "method live: must be at least 128 B and at most 65535 B"));
    }
    if mss_given != mss {
        let problem = format!(
            "method live: the kernel's headers take {headers} B of {} B: must be \"{mss} B\" (flavour \"rfc\" has it by default)",
            setup.packet_size
        );
        return Err(ScenarioError::key(format!("tcp.mss = \"{mss_given} B\""), problem));
    }
    Ok(())
}

/// End of a run at the latest; [`SimTime::MAX`] if the run ends with a count of segments.
pub(super) fn end(setup: &Setup) -> SimTime {
    match setup.end {
        End::At(time) => time,
        End::Delivered(_) => SimTime::MAX,
    }
}
