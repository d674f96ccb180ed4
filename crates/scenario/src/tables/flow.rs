//! Flows: senders and their traffic.

use super::base::{json, positive_time, time};
use super::mesh::MeshSetup;
use super::nr_bearer::NrBearer;
use super::queue::Queue;
use super::radio::Radio;
use super::tagged::{refuse_foreign, tag, taken_by};
use super::tcp::{Tcp, TcpSetup};
use crate::document::merge_value;
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{Bytes, FileName, FromNode, Rate, Share, Size, Span};
use crossfade_core::SimTime;
use crossfade_link::trace::SendRecord;
use crossfade_mac::wlan::{BACKGROUND, BEST_EFFORT, VIDEO, VOICE};
use crossfade_transport::congestion::CustomControl;
use crossfade_transport::{Opening, Releases};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flow: one sender, or several alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = taken_by::<Traffic>)]
pub struct Flow {
    /// Number of senders of this flow.
    #[schemars(range(min = 1, max = 10_000), extend("x-default" = "1"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,

    /// Traffic that the flow sends.
    #[schemars(extend("default" = "bulk"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,

    /// Start time of the first sender.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,

    /// Delay between the starts of successive senders.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stagger: Option<Span>,

    /// Sending node of the mesh; "others" is one flow from every node but the receiving one.
    #[schemars(extend("x-default" = "0, with mesh"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<FromNode>,

    /// Receiving node of the mesh.
    #[schemars(range(min = 0, max = 1023), extend("x-default" = "the last node, with mesh"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,

    /// One-way delay between sender and shared path, in both directions. It gives flows different RTTs.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_delay: Option<Span>,

    /// Application data of each sender in bytes; the mean where sizes are drawn. Required for traffic "transfer" and
    /// "arrivals".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,

    /// Whether each connection begins with a handshake of one idle RTT. Completion times include it; it is neither
    /// sent nor lost.
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<bool>,

    /// Size of the request packet in bytes. With it the receiver asks for the data, after any handshake. Its time
    /// over the idle reverse path precedes the first data and counts in completion times. It is neither sent nor
    /// lost.
    #[schemars(extend("x-default" = "none: the data begin at once"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Size>,

    /// Distribution of the sizes of flows.
    #[schemars(extend("x-default" = "exponential, with traffic \"arrivals\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Shape>,

    /// Mean number of flows that arrive per second, a Poisson process. Required for traffic "arrivals".
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals_per_s: Option<f64>,

    /// Mean bit rate of whole packets while a UDP source is on. For a bulk flow, the rate its application offers,
    /// segment by segment. Required for traffic "udp" and "poisson".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Size of a UDP packet on the wire in bytes. TCP packets have tcp.mss + tcp.headers, by the flow's own tcp table
    /// if it has one.
    #[schemars(extend("x-default" = "link.packet_size"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Size>,

    /// Table of sent packets: time_s since the start of the flow, and bytes on the wire. Required for traffic
    /// "recorded".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<FileName>,

    /// Time after which the record of sent packets begins again.
    #[schemars(extend("x-default" = "none: the flow is silent after the last packet of its record"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_period: Option<Span>,

    /// Mean duration for which a UDP source is on. Needs off; without both keys the source is always on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Span>,

    /// Mean duration for which a UDP source is off. Needs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<Span>,

    /// Largest relative deviation of the gap between two UDP packets, drawn at random. Without it sources are exactly
    /// periodic.
    #[schemars(extend("x-default" = "0 %"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Share>,

    /// Interval after its start in which each sender begins, at random. Not taken by arrivals.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_within: Option<Span>,

    /// Distribution of the on and off times.
    #[schemars(extend("x-default" = "exponential, with on and off"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Shape>,

    /// Radio of the flow's users in a cell or NR cell; each sender is a user of its own.
    #[serde(skip_serializing_if = "Radio::is_absent")]
    pub radio: Radio,

    /// Queue of the flow's user on the downlink of an NR cell, in place of link.queue.
    #[serde(skip_serializing_if = "Queue::is_absent")]
    pub queue: Queue,

    /// Quality class (5QI, TS 23.501) of the flow's bearer in an NR cell with an uplink. It gives RLC, PDCP and the
    /// priority of its user.
    #[schemars(extend("x-default" = "none: the bearer has nr.rlc, nr.reordering and nr.discard"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub five_qi: Option<u32>,

    /// Flow whose users in an NR cell this flow shares, on a bearer of its own. The bearer has the flow's queue and
    /// five_qi, and the cell an uplink. Each sender takes one of those users in turn.
    #[schemars(extend("x-default" = "none: the flow has users of its own"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,

    /// Bearer of the flow in an NR cell with an uplink, where it differs from that of its class.
    #[serde(skip_serializing_if = "NrBearer::is_absent")]
    pub bearer: NrBearer,

    /// TCP and UDP ports whose packets, at either end, this flow stands for. One flow with traffic "outside" has none and
    /// stands for all other packets of the program; further ones are beside it or share its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<u16>>,

    /// Stations of a Wi-Fi network that the flow goes to or comes from: a name in wlan.stations. Senders take its
    /// stations in turn.
    #[schemars(extend("x-default" = "the only entry of wlan.stations; without that table each sender has a station"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station: Option<String>,

    /// Direction of the data in a Wi-Fi network: down to the station, or up from it.
    #[schemars(extend("x-default" = "down, with wlan"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<WlanDirection>,

    /// Access category of data and ACKs in a Wi-Fi network.
    #[schemars(extend("x-default" = "best-effort, with wlan"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<WlanCategoryWord>,

    /// TCP keys of this flow that differ from the scenario's.
    #[schemars(extend("x-default" = "the scenario's tcp"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
}

tag! {
    /// Traffic of a flow.
    #[serde(rename_all = "lowercase")]
    pub enum Traffic: Flow by traffic {
        /// TCP without end, with everything ready, or offered at a rate.
        Bulk [rate, count, start, stagger, start_within, tcp, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// TCP with so many bytes (size), once.
        Transfer [count, start, stagger, start_within, tcp, size, handshake, request, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// TCP connections that arrive at random (arrivals_per_s), each with bytes drawn at random (size, sizes).
        Arrivals [tcp, size, sizes, arrivals_per_s, handshake, request, from, to, access_delay, radio, queue, five_qi, bearer, station, direction, category],
        /// Packets of UDP at a constant rate, always or on and off.
        Udp [count, start, stagger, start_within, rate, packet_size, on, off, times, jitter, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// Packets of UDP at random times, a Poisson process of the rate, always or on and off.
        Poisson [count, start, stagger, start_within, rate, packet_size, on, off, times, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// Packets of UDP at the times and of the sizes of a record, whatever becomes of them (record, record_period).
        Recorded [count, start, stagger, start_within, record, record_period, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// Packets of UDP at twice the rate of the link, which always has one to send: what the link can carry.
        /// Give link.queue a limit.
        Saturated [count, start, stagger, start_within, packet_size, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// Traffic of a real program in `crossfade live`, which shares the links with the simulated flows beside it.
        /// Other methods leave it out.
        Outside [from, to, radio, queue, five_qi, beside, bearer, ports, station, direction, category],
    }
}

/// Direction of the data in a Wi-Fi network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WlanDirection {
    /// From the access point to the station.
    Down,
    /// From the station to the access point.
    Up,
}

/// Access category of EDCA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanCategoryWord {
    /// Voice, the access category of highest priority.
    Voice,
    /// Video.
    Video,
    /// Best effort.
    #[default]
    BestEffort,
    /// Background, the access category of lowest priority.
    Background,
}

impl WlanCategoryWord {
    /// Place of the access category among the four, from 0.
    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Voice => VOICE,
            Self::Video => VIDEO,
            Self::BestEffort => BEST_EFFORT,
            Self::Background => BACKGROUND,
        }
    }
}

/// Distribution of sizes or times around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Constant: always the mean.
    Fixed,
    /// Exponential distribution with that mean.
    Exponential,
    /// Pareto's law with tail index 1.2, cut at 1000 times its least value: heavy-tailed, as files on the web
    /// (Crovella and Bestavros 1997).
    Pareto,
}

/// One sender, or several equal ones, in the terms of the models.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Name in the results; empty if the scenario names no flows.
    pub name: String,
    /// Number of senders; 0 for external traffic.
    pub count: u32,
    /// Start of the first sender.
    pub start: SimTime,
    /// Delay between the starts of successive senders.
    pub stagger: SimTime,
    /// Interval after its start within which each sender starts, at random.
    pub start_within: SimTime,
    /// One-way delay between the sender and the shared path.
    pub access_delay: SimTime,
    /// Whether each connection begins with a handshake.
    pub handshake: bool,
    /// Bytes of the packet with which the receiver requests the data; 0 without a request.
    pub request: u32,
    /// Packets before the first data, once the path is known.
    pub opening: Opening,
    /// Bytes of a data packet on the wire; the largest one of recorded packets.
    pub packet_size: u32,
    /// Sending and receiving node of a mesh, or ports of a cell or Wi-Fi network; several pairs are taken in turn.
    /// Empty for a path of links.
    pub ends: Vec<[u32; 2]>,
    /// Place of the flow whose users it shares.
    pub beside: Option<usize>,
    /// Whether it is on the bearer of that flow, not on one of its own.
    pub is_on_shared_bearer: bool,
    /// Ports of the packets that an external flow stands for; of one without any all others.
    pub ports: Vec<u16>,
    /// Traffic.
    pub traffic: TrafficSetup,
    /// Custom congestion control of its connections; `None` for a built-in one.
    pub custom_control: Option<CustomControl>,
}

impl FlowSetup {
    /// One unlimited connection without a name.
    pub(crate) fn bulk(tcp: &TcpSetup, packet_size: u32, ends: Vec<[u32; 2]>) -> Self {
        Self::plain(1, packet_size, ends, TrafficSetup::Tcp(*tcp, None))
    }

    /// External traffic of a real program, which is not simulated.
    fn outside(name: &str, packet_size: u32, ends: Vec<[u32; 2]>) -> Self {
        let name = name.to_owned();
        Self { name, ..Self::plain(0, packet_size, ends, TrafficSetup::Outside) }
    }

    /// `count` flows without a name that start together at time zero.
    fn plain(count: u32, packet_size: u32, ends: Vec<[u32; 2]>, traffic: TrafficSetup) -> Self {
        Self {
            name: String::new(),
            count,
            start: SimTime::ZERO,
            stagger: SimTime::ZERO,
            start_within: SimTime::ZERO,
            access_delay: SimTime::ZERO,
            handshake: false,
            request: 0,
            opening: Opening::default(),
            packet_size,
            ends,
            beside: None,
            is_on_shared_bearer: false,
            ports: Vec::new(),
            traffic,
            custom_control: None,
        }
    }

    /// Sets the packets before the first data: over a shared path with idle RTT `rtt`, whose reverse path takes `back`
    /// for the request, and where packets on the reverse path wait for `releases`.
    pub(crate) fn open(&mut self, rtt: SimTime, back: SimTime, releases: Option<Releases>) {
        let rtt = rtt.saturating_add(self.access_delay * 2);
        self.opening = Opening {
            handshake: self.handshake.then_some(rtt),
            request: (self.request > 0).then(|| back.saturating_add(self.access_delay)),
            releases: releases.map(|releases| Releases {
                way_of_syn: releases.way_of_syn.saturating_add(self.access_delay),
                ..releases
            }),
        };
        if let TrafficSetup::Tcp(tcp, _)
        | TrafficSetup::PacedTcp(tcp, _)
        | TrafficSetup::Arrivals { tcp, .. } = &mut self.traffic
        {
            tcp.shake_hands(rtt);
        }
    }

    /// TCP configuration of the flow, if it uses TCP.
    pub fn tcp(&self) -> Option<&TcpSetup> {
        match &self.traffic {
            TrafficSetup::Tcp(tcp, _)
            | TrafficSetup::PacedTcp(tcp, _)
            | TrafficSetup::Arrivals { tcp, .. } => Some(tcp),
            TrafficSetup::Udp { .. }
            | TrafficSetup::Recorded(_)
            | TrafficSetup::Saturated
            | TrafficSetup::Outside => None,
        }
    }

    /// Sizes of its data packets, except for the last one of a transfer.
    pub fn packet_sizes(&self) -> &[u32] {
        match &self.traffic {
            TrafficSetup::Recorded(record) => record.sizes(),
            _ => std::slice::from_ref(&self.packet_size),
        }
    }

    /// Bytes of an acknowledgement; 0 without acknowledgements.
    pub fn ack_size(&self) -> u32 {
        self.tcp().map_or(0, |tcp| tcp.ack_size)
    }
}

/// Distribution by shape and mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Shape around the mean.
    pub shape: Shape,
    /// Mean of the distribution.
    pub mean: f64,
}

/// Gaps between the packets of a UDP source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Constant gaps, given by the rate.
    Periodic,
    /// Gaps given by the rate, each varied by up to this share, above 0 and at most 1.
    Jitter(f64),
    /// Exponential gaps with the mean given by the rate.
    Poisson,
}

/// Traffic of a flow, with checked parameters.
#[derive(Clone, Debug)]
pub enum TrafficSetup {
    /// TCP with this number of bytes; `None`: unlimited.
    Tcp(TcpSetup, Option<u64>),
    /// Unlimited TCP whose application offers this rate, in bit/s of whole packets.
    PacedTcp(TcpSetup, f64),
    /// TCP connections that arrive at random.
    Arrivals {
        /// TCP configuration of each connection.
        tcp: TcpSetup,
        /// Mean number of connections per second.
        rate_per_s: f64,
        /// Bytes of data of each connection.
        sizes: Distribution,
    },
    /// Datagrams without feedback.
    Udp {
        /// Mean bit rate in bit/s of whole packets while the source is on.
        rate_bps: f64,
        /// Gaps between packets.
        gaps: Gaps,
        /// Durations of on and off periods in seconds; `None`: always on.
        on_off: Option<[Distribution; 2]>,
    },
    /// Datagrams at recorded times.
    Recorded(SendRecord),
    /// Datagrams at more than the link's capacity.
    Saturated,
    /// External traffic of a real program, which a simulation leaves out.
    Outside,
}

/// Context in which a flow is resolved.
pub(crate) struct AroundFlow<'a> {
    /// TCP table of the scenario.
    pub(crate) tcp: &'a Tcp,
    /// Bytes of a packet of the link.
    pub(crate) packet_size: u32,
    pub(crate) slot: SimTime,
    /// Whether the flow is the only one, over a hop whose slots a sender may wait for.
    pub(crate) alone: bool,
    pub(crate) mesh: Option<&'a MeshSetup>,
    pub(crate) files: &'a Files<'a>,
}

impl Flow {
    /// Fills in the defaults of the flow `name`.
    pub(crate) fn resolve(
        &mut self,
        name: &str,
        around: &AroundFlow<'_>,
    ) -> Result<FlowSetup, ScenarioError> {
        let &AroundFlow { tcp, packet_size: link_packet_size, slot, alone, mesh, files } = around;
        let table = join("flows", name);
        let traffic = *self.traffic.get_or_insert(Traffic::Bulk);
        refuse_foreign(&table, self, traffic)?;
        let ends = self.ends(&table, mesh)?;
        let hops = mesh.and_then(|mesh| mesh.common_round_trip_hops(&ends));
        let alone = alone
            && traffic == Traffic::Bulk
            && self.count.is_none_or(|count| count == 1)
            && self.access_delay.is_none_or(|delay| delay == Span::ZERO);
        let span = |key: &str, span: Option<Span>| time(&join(&table, key), span.unwrap_or(Span::ZERO), slot);
        let (start, stagger) = (span("start", self.start)?, span("stagger", self.stagger)?);
        let start_within = span("start_within", self.start_within)?;
        if traffic == Traffic::Outside {
            let ports = self.resolve_ports(&table)?;
            return Ok(FlowSetup { ports, ..FlowSetup::outside(name, link_packet_size, ends) });
        }
        let access_delay = *self.access_delay.get_or_insert(Span::ZERO);
        let access_delay = span("access_delay", Some(access_delay))?;
        let count = *self.count.get_or_insert(1) * ends.len().max(1) as u32;
        if count > 1 && traffic == Traffic::Arrivals {
            let problem = "must be one node of traffic arrivals";
            return Err(ScenarioError::value(join(&table, "from"), &json(self.from), problem));
        }
        // `handshake = false` is the default and stays absent.
        self.handshake.take_if(|shakes_hands| !*shakes_hands);
        let handshake = self.handshake.is_some();
        let request = match self.request {
            Some(Size(0)) => {
                return Err(ScenarioError::value(
                    join(&table, "request"),
                    &json(self.request),
                    "must be at least 1 B",
                ));
            }
            request => request.map_or(0, |size| size.0),
        };
        let packet_size = match traffic {
            Traffic::Recorded => {
                self.recorded(&table, slot, files)?.sizes().last().copied().unwrap_or_default()
            }
            _ => self.packet_bytes(&table, tcp, link_packet_size)?,
        };
        let alone = alone && packet_size == link_packet_size;
        let traffic = match traffic {
            Traffic::Recorded => TrafficSetup::Recorded(self.recorded(&table, slot, files)?),
            Traffic::Udp | Traffic::Poisson => self.udp(&table, traffic, slot)?,
            Traffic::Saturated => TrafficSetup::Saturated,
            Traffic::Outside => TrafficSetup::Outside,
            Traffic::Bulk if self.rate.is_some() => {
                let rate_bps = self.rate.map_or(0.0, |rate| rate.0);
                let tcp = self.resolve_tcp(&table, tcp, packet_size, slot, false, hops)?;
                TrafficSetup::PacedTcp(tcp, rate_bps)
            }
            Traffic::Bulk => {
                TrafficSetup::Tcp(self.resolve_tcp(&table, tcp, packet_size, slot, alone, hops)?, None)
            }
            Traffic::Transfer => {
                let tcp = self.resolve_tcp(&table, tcp, packet_size, slot, false, hops)?;
                TrafficSetup::Tcp(tcp, Some(u64::from(self.bytes(&table, traffic)?)))
            }
            Traffic::Arrivals => {
                let tcp = self.resolve_tcp(&table, tcp, packet_size, slot, false, hops)?;
                let rate_per_s =
                    self.arrivals_per_s.ok_or_else(|| missing(&table, "arrivals_per_s", traffic))?;
                let shape = *self.sizes.get_or_insert(Shape::Exponential);
                let sizes = Distribution { shape, mean: f64::from(self.bytes(&table, traffic)?) };
                TrafficSetup::Arrivals { tcp, rate_per_s, sizes }
            }
        };
        Ok(FlowSetup {
            name: name.to_owned(),
            count,
            start,
            stagger,
            start_within,
            access_delay,
            handshake,
            request,
            // Set once the path is known.
            opening: Opening::default(),
            packet_size,
            ends,
            beside: None,
            is_on_shared_bearer: false,
            ports: Vec::new(),
            traffic,
            custom_control: None,
        })
    }

    /// Pairs of sending and receiving node in a mesh.
    fn ends(&mut self, table: &str, mesh: Option<&MeshSetup>) -> Result<Vec<[u32; 2]>, ScenarioError> {
        let Some(mesh) = mesh else {
            let given = [("from", self.from.is_some()), ("to", self.to.is_some())];
            let given = given.into_iter().find(|(_, given)| *given);
            return given.map_or(Ok(Vec::new()), |(key, _)| {
                Err(ScenarioError::key(join(table, key), "needs a mesh, which has nodes"))
            });
        };
        let [first, last] = mesh.outermost();
        let (from, to) = (*self.from.get_or_insert(FromNode::Node(first)), *self.to.get_or_insert(last));
        let ends: Vec<[u32; 2]> = match from {
            FromNode::Node(from) => vec![[from, to]],
            FromNode::Others => (first..=last).filter(|&node| node != to).map(|node| [node, to]).collect(),
        };
        ends.iter().try_for_each(|&ends| mesh.check_ends(table, ends))?;
        Ok(ends)
    }

    /// Ports in order, each once.
    fn resolve_ports(&mut self, table: &str) -> Result<Vec<u16>, ScenarioError> {
        let Some(ports) = &mut self.ports else { return Ok(Vec::new()) };
        ports.sort_unstable();
        ports.dedup();
        if ports.first().is_none_or(|port| *port == 0) {
            let problem = "must be a list of port numbers, each between 1 and 65535";
            return Err(ScenarioError::value(join(table, "ports"), &json(&*ports), problem));
        }
        Ok(ports.clone())
    }

    /// TCP table of the scenario with the flow's own keys.
    fn merged(&self, tcp: &Tcp) -> Tcp {
        let mut merged = json(tcp);
        merge_value(&mut merged, &json(&self.tcp));
        // Both parts were parsed before.
        serde_json::from_value(merged).expect("merged tables of tcp stay valid")
    }

    /// Bytes of a data packet on the wire: the flow's own value, or that of the link.
    fn packet_bytes(&self, table: &str, tcp: &Tcp, usual: u32) -> Result<u32, ScenarioError> {
        let of_tcp = self.tcp.as_ref().and_then(|_| self.merged(tcp).packet_size());
        match (self.packet_size, of_tcp) {
            (Some(Size(0)), _) => Err(ScenarioError::value(
                join(table, "packet_size"),
                &json(self.packet_size),
                "must be at least 1 B",
            )),
            (Some(size), _) => Ok(size.0),
            (None, Some(size)) => size
                .map(|size| size.0)
                .map_err(|error| ScenarioError { key: join(table, &error.key), ..error }),
            (None, None) => Ok(usual),
        }
    }

    /// Resolves the TCP keys of a flow.
    fn resolve_tcp(
        &mut self,
        table: &str,
        tcp: &Tcp,
        packet_size: u32,
        slot: SimTime,
        alone: bool,
        round_trip_hops: Option<u32>,
    ) -> Result<TcpSetup, ScenarioError> {
        let mut merged = self.merged(tcp);
        let setup = merged
            .resolve(packet_size, slot, alone, round_trip_hops)
            .map_err(|error| ScenarioError { key: join(table, &error.key), ..error })?;
        self.tcp = Some(merged);
        Ok(setup)
    }

    fn bytes(&self, table: &str, traffic: Traffic) -> Result<u32, ScenarioError> {
        Ok(self.size.ok_or_else(|| missing(table, "size", traffic))?.0)
    }

    /// Recorded traffic, read from its file.
    fn recorded(&self, table: &str, slot: SimTime, files: &Files<'_>) -> Result<SendRecord, ScenarioError> {
        let FileName(name) =
            self.record.as_ref().ok_or_else(|| missing(table, "record", Traffic::Recorded))?;
        let record = files.sends(&join(table, "record"), name)?;
        let Some(period) = self.record_period else { return Ok(record) };
        let key = join(table, "record_period");
        let time = positive_time(&key, period, slot)?;
        record.repeating(time).map_err(|error| ScenarioError::value(key, &json(period), error.problem))
    }

    fn udp(&mut self, table: &str, traffic: Traffic, slot: SimTime) -> Result<TrafficSetup, ScenarioError> {
        let rate_bps = self.rate.ok_or_else(|| missing(table, "rate", traffic))?.0;
        let gaps = match (traffic, self.jitter) {
            (Traffic::Poisson, _) => Gaps::Poisson,
            (_, Some(part)) if part.0 > 0.0 => Gaps::Jitter(part.0),
            _ => Gaps::Periodic,
        };
        let (Some(on), Some(off)) = (self.on, self.off) else {
            let given =
                [("on", self.on.is_some()), ("off", self.off.is_some()), ("times", self.times.is_some())];
            if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
                let problem = "needs both on and off; without the two the source is always on";
                return Err(ScenarioError::key(join(table, key), problem));
            }
            return Ok(TrafficSetup::Udp { rate_bps, gaps, on_off: None });
        };
        let shape = *self.times.get_or_insert(Shape::Exponential);
        let around = |key: &str, mean: Span| {
            let mean = positive_time(&join(table, key), mean, slot)?;
            Ok::<_, ScenarioError>(Distribution { shape, mean: mean.as_secs_f64() })
        };
        let on_off = Some([around("on", on)?, around("off", off)?]);
        Ok(TrafficSetup::Udp { rate_bps, gaps, on_off })
    }
}

fn missing(table: &str, key: &str, traffic: Traffic) -> ScenarioError {
    ScenarioError::missing(&join(table, key), &format!("traffic {} needs it", json(traffic)))
}
