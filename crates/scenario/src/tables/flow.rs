//! Keys of flows: senders and their traffic.

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
        /// TCP without end whose data is always ready, or offered at a rate.
        Bulk [rate, count, start, stagger, start_within, tcp, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// TCP transfer of a number of bytes (size), once.
        Transfer [count, start, stagger, start_within, tcp, size, handshake, request, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// TCP connections at random arrival times (arrivals_per_s), each with a random number of bytes (size, sizes).
        Arrivals [tcp, size, sizes, arrivals_per_s, handshake, request, from, to, access_delay, radio, queue, five_qi, bearer, station, direction, category],
        /// UDP packets at a constant rate, always or on and off.
        Udp [count, start, stagger, start_within, rate, packet_size, on, off, times, jitter, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// UDP packets at random times, a Poisson process of the rate, always or on and off.
        Poisson [count, start, stagger, start_within, rate, packet_size, on, off, times, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// UDP packets with the times and sizes of a record, sent without any reaction to losses (record,
        /// record_period).
        Recorded [count, start, stagger, start_within, record, record_period, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category],
        /// UDP packets at twice the rate of the link, so that one always waits: the capacity of the link. Give
        /// link.queue a limit.
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
    /// Data go from the access point to the station.
    Down,
    /// Data go from the station to the access point.
    Up,
}

/// Access category of a flow in a Wi-Fi network (EDCA).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanCategoryWord {
    /// Voice, the access category of highest priority.
    Voice,
    /// Video, the access category of second priority.
    Video,
    /// Best effort, the access category of third priority.
    #[default]
    BestEffort,
    /// Background, the access category of lowest priority.
    Background,
}

impl WlanCategoryWord {
    /// Index of the access category in [`crossfade_mac::wlan::EDCA`], from 0.
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

/// Resolved flow: one sender, or several equal ones.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Name of the flow in the results; empty if the scenario names no flows.
    pub name: String,
    /// Number of senders; 0 for external traffic of a real program.
    pub count: u32,
    /// Start time of the first sender.
    pub start: SimTime,
    /// Delay between the starts of successive senders.
    pub stagger: SimTime,
    /// Interval after its start in which each sender begins at a random time; zero to begin at once.
    pub start_within: SimTime,
    /// One-way delay between the sender and the shared path, in addition to the path's delay.
    pub access_delay: SimTime,
    /// True if each connection begins with a handshake.
    pub handshake: bool,
    /// Size in bytes of the packet with which the receiver requests the data; 0 without a request.
    pub request: u32,
    /// Handshake and request before the first data; filled in once the path is known.
    pub opening: Opening,
    /// Size in bytes of a data packet on the wire; for recorded traffic, of the largest.
    pub packet_size: u32,
    /// Pairs of sending and receiving node of a mesh, or of ports of a cell or Wi-Fi network, which senders take in
    /// turn. Empty for a path of links.
    pub ends: Vec<[u32; 2]>,
    /// Index of the flow whose users this flow shares in an NR cell; `None` if it has users of its own.
    pub beside: Option<usize>,
    /// True if this flow is on the bearer of the flow whose users it shares, instead of one of its own.
    pub is_on_shared_bearer: bool,
    /// TCP and UDP ports of the packets that an external flow stands for. An external flow without ports stands for all
    /// other packets.
    pub ports: Vec<u16>,
    /// Traffic that the flow sends.
    pub traffic: TrafficSetup,
    /// Custom congestion control of the flow's connections; `None` for a built-in one.
    pub custom_control: Option<CustomControl>,
}

impl FlowSetup {
    /// One unlimited TCP connection without a name.
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

    /// Fills in the handshake and request before the first data. `rtt` is the idle RTT of the shared path, `back` the
    /// idle transit time of the request over its reverse path, and `releases` the times at which aggregated packets
    /// leave on the reverse path.
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

    /// Sizes in bytes of the flow's data packets on the wire, except for the last one of a transfer.
    pub fn packet_sizes(&self) -> &[u32] {
        match &self.traffic {
            TrafficSetup::Recorded(record) => record.sizes(),
            _ => std::slice::from_ref(&self.packet_size),
        }
    }

    /// Size in bytes of an acknowledgement on the wire; 0 for traffic without acknowledgements.
    pub fn ack_size(&self) -> u32 {
        self.tcp().map_or(0, |tcp| tcp.ack_size)
    }
}

/// Distribution given by its shape and mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Shape of the distribution around its mean.
    pub shape: Shape,
    /// Mean of the distribution, in the unit of the quantity.
    pub mean: f64,
}

/// Gaps between the packets of a UDP source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Constant gaps, determined by the rate.
    Periodic,
    /// Gaps determined by the rate, each varied at random by at most this share (above 0, at most 1).
    Jitter(f64),
    /// Exponentially distributed gaps with the mean determined by the rate.
    Poisson,
}

/// Resolved traffic of a flow.
#[derive(Clone, Debug)]
pub enum TrafficSetup {
    /// TCP connections that transfer this number of bytes each; `None` is unlimited.
    Tcp(TcpSetup, Option<u64>),
    /// Unlimited TCP connections whose application offers this rate, in bit/s of whole packets.
    PacedTcp(TcpSetup, f64),
    /// TCP connections that arrive at random, each with a random number of bytes.
    Arrivals {
        /// TCP configuration of each connection.
        tcp: TcpSetup,
        /// Mean number of connections per second.
        rate_per_s: f64,
        /// Number of application bytes of each connection.
        sizes: Distribution,
    },
    /// UDP packets at a rate, without feedback.
    Udp {
        /// Mean bit rate in bit/s of whole packets while the source is on.
        rate_bps: f64,
        /// Gaps between packets.
        gaps: Gaps,
        /// Durations of on and off periods in seconds; `None` if the source is always on.
        on_off: Option<[Distribution; 2]>,
    },
    /// UDP packets with recorded times and sizes.
    Recorded(SendRecord),
    /// UDP packets at twice the rate of the link, which measure its capacity.
    Saturated,
    /// External traffic of a real program, which a simulation leaves out.
    Outside,
}

/// Surroundings of a flow that its resolution needs.
pub(crate) struct AroundFlow<'a> {
    /// TCP keys of the scenario, which apply unless the flow has its own.
    pub(crate) tcp: &'a Tcp,
    /// Size in bytes of a packet of the link (`link.packet_size`).
    pub(crate) packet_size: u32,
    pub(crate) slot: SimTime,
    /// True if the flow is the only one, and goes over a hop whose slots a sender may wait for.
    pub(crate) alone: bool,
    pub(crate) mesh: Option<&'a MeshSetup>,
    pub(crate) files: &'a Files<'a>,
}

impl Flow {
    /// Fills in the defaults of the flow `name`, and returns the resolved flow.
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

    /// Pairs of sending and receiving nodes of the flow in a mesh; empty without a mesh.
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

    /// Ports of an external flow in rising order, each once.
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

    /// TCP keys of the scenario, replaced by those of the flow if it has a table of its own.
    fn merged(&self, tcp: &Tcp) -> Tcp {
        let mut merged = json(tcp);
        merge_value(&mut merged, &json(&self.tcp));
        // Both parts were parsed before.
        serde_json::from_value(merged).expect("merged tables of tcp stay valid")
    }

    /// Size in bytes of a data packet on the wire, given by the flow or else by the link.
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

    /// Resolves the TCP keys of a flow: its own table, or that of the scenario.
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

    /// Recorded traffic of the flow, read from its file.
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
