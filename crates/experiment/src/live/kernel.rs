//! What a scenario asks of TCP, as settings of the kernel.

use crossfade_core::SimTime;
use crossfade_live::{Host, TcpRoute};
use crossfade_scenario::{End, FlowSetup, ScenarioError, Setup, TcpSetup, TrafficSetup};
use crossfade_transport::{Flavour, RtoRule, TcpConfig, Variant, WindowRule};
use std::collections::BTreeSet;

/// The properties of a host's TCP that are set as a scenario has them: `net.ipv4.NAME` and the route.
pub(super) struct KernelTcp {
    sysctls: Vec<(&'static str, String)>,
    sender: TcpRoute,
    receiver: TcpRoute,
}

/// Bytes of the headers of IP and TCP, without options, and of timestamps.
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;

impl KernelTcp {
    /// What the built-in transfers of `setup` ask for.
    ///
    /// # Errors
    /// The first thing that the kernel cannot do, with its key.
    pub(super) fn of(setup: &Setup) -> Result<Self, ScenarioError> {
        let mut first = None;
        for flow in &setup.flows {
            let tcp = check_flow(flow, setup.packet_size)?;
            match first {
                None => first = Some((flow, tcp)),
                Some((_, other))
                    if other.config.rfc == tcp.config.rfc && other.config.variant == tcp.config.variant => {}
                Some((other, _)) => {
                    let problem = format!(
                        "flows {:?} and {:?} have the same kernel: give both one tcp",
                        other.name, flow.name
                    );
                    return Err(ScenarioError::key("flows", format!("method live: {problem}")));
                }
            }
        }
        let Some((_, tcp)) = first else {
            return Err(ScenarioError::key("tcp", "missing: method live has transfers by TCP"));
        };
        check_ends(setup)?;
        let TcpConfig { variant, rfc, rto, w_max, initial_window, .. } = tcp.config;
        let has_sack = match variant {
            Variant::NewReno => false,
            Variant::Sack => true,
            _ => {
                let problem = "method live: the kernel has newreno (SACK off), sack and cubic";
                return Err(ScenarioError::key("tcp.variant", problem));
            }
        };
        check_sizes(setup, tcp)?;
        let switch = |name, on: bool| (name, u8::from(on).to_string());
        let sysctls = vec![
            switch("tcp_sack", has_sack),
            switch("tcp_dsack", has_sack && rfc.d_sack),
            switch("tcp_timestamps", rfc.timestamps),
            // 3 asks for accurate feedback.
            ("tcp_ecn", if rfc.accurate_ecn { "3".to_owned() } else { u8::from(rfc.ecn).to_string() }),
            ("tcp_early_retrans", if rfc.tail_loss_probe { "3" } else { "0" }.to_owned()),
        ];
        let congestion = match rfc.window_rule {
            WindowRule::Reno => "reno",
            WindowRule::Cubic => "cubic",
            WindowRule::HighSpeed => "highspeed",
            WindowRule::Dctcp => "dctcp",
            WindowRule::Prague => "prague",
            WindowRule::BbrV1 => "bbr",
            WindowRule::BbrV3 => {
                let problem = "method live: the BBR of kernels is version 1, bbr-v1";
                return Err(ScenarioError::key("tcp.congestion", problem));
            }
        };
        let rto_min = match rto.rule {
            RtoRule::Estimated { min, .. } => Some((min.as_nanos() / 1_000_000) as u32),
            RtoRule::Fixed(_) => {
                let problem = "method live: the kernel estimates its timeouts; tcp.rto.min is their least";
                return Err(ScenarioError::key("tcp.rto.fixed", problem));
            }
        };
        let sender = TcpRoute {
            congestion: Some(congestion.to_owned()),
            initial_window: Some(initial_window as u32),
            rto_min_ms: rto_min,
            ..TcpRoute::default()
        };
        let receiver = TcpRoute {
            window: Some(w_max.saturating_mul(tcp.mss)),
            quick_acks: rfc.delayed_ack.is_none(),
            ..TcpRoute::default()
        };
        Ok(Self { sysctls, sender, receiver })
    }

    /// The congestion control that the scenario names.
    pub(super) fn congestion(&self) -> &str {
        self.sender.congestion.as_deref().unwrap_or_default()
    }

    /// Another congestion control, by the kernel's name.
    pub(super) fn with_congestion(mut self, name: &str) -> Self {
        self.sender.congestion = Some(name.to_owned());
        self
    }

    /// Sets the hosts so.
    pub(super) fn apply(&self, [sender, receiver]: &[Host; 2]) -> Result<(), ScenarioError> {
        for host in [sender, receiver] {
            for (name, value) in &self.sysctls {
                let set = host.set_sysctl(name, value);
                set.map_err(|error| {
                    ScenarioError::key(format!("net.ipv4.{name} = {value}"), error.to_string())
                })?;
            }
        }
        set_route(sender, &self.sender)?;
        set_route(receiver, &self.receiver)
    }
}

/// Sets how a host treats its connections.
pub(super) fn set_route(host: &Host, route: &TcpRoute) -> Result<(), ScenarioError> {
    host.set_tcp(route).map_err(|error| match &route.congestion {
        Some(name) => ScenarioError::key(
            format!("congestion = {name:?}"),
            format!("{error} (the kernel has: {}; try modprobe tcp_{name})", available()),
        ),
        None => ScenarioError::key("live", error.to_string()),
    })
}

/// The congestion controls that the kernel has loaded.
fn available() -> String {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    read.map_or_else(|_| "?".to_owned(), |names| names.trim().to_owned())
}

/// One pair of hosts is at one pair of ends: two nodes of a mesh, or one user of a cell.
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

/// The TCP of a flow that built-in transfers can stand for.
fn check_flow(flow: &FlowSetup, packet_size: u32) -> Result<&TcpSetup, ScenarioError> {
    let key =
        |key: &str| if flow.name.is_empty() { key.to_owned() } else { format!("flows.{}.{key}", flow.name) };
    if flow.own_rule.is_some() {
        let problem = "method live: the kernel has no rule of a Python file; use method simulation";
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
        TrafficSetup::Tcp(tcp, _) if tcp.config.flavour == Flavour::Quic => {
            let problem = "method live: the kernel has no QUIC; use method simulation, or start a program of your own \
                           with crossfade live";
            Err(ScenarioError::value(key("tcp.flavour"), &serde_json::json!("quic"), problem))
        }
        TrafficSetup::Tcp(tcp, _) => Ok(tcp),
        _ => Err(ScenarioError::key(
            key("traffic"),
            "method live has \"bulk\" and \"transfer\"; for others start your program with crossfade live",
        )),
    }
}

/// The kernel fills packets of the MTU: segments have what is left of it.
fn check_sizes(setup: &Setup, tcp: &TcpSetup) -> Result<(), ScenarioError> {
    let headers = HEADERS + if tcp.config.rfc.timestamps { TIMESTAMPS } else { 0 };
    let mss = setup.packet_size.saturating_sub(headers);
    if !(128..=65_535).contains(&setup.packet_size) {
        let given = format!("link.packet_size = \"{} B\"", setup.packet_size);
        return Err(ScenarioError::key(given, "method live: must be at least 128 B and at most 65535 B"));
    }
    if tcp.mss != mss {
        let problem = format!(
            "method live: the kernel's headers take {headers} B of {} B: must be \"{mss} B\" (flavour \"rfc\" has it by default)",
            setup.packet_size
        );
        return Err(ScenarioError::key(format!("tcp.mss = \"{} B\"", tcp.mss), problem));
    }
    Ok(())
}

/// How long a run takes at most: without end as long as its segments take.
pub(super) fn end(setup: &Setup) -> SimTime {
    match setup.end {
        End::At(time) => time,
        End::Delivered(_) => SimTime::MAX,
    }
}
