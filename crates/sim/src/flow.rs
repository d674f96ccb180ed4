//! State of a flow and its two hosts in the engine.

use crate::datagrams::Datagrams;
use crate::doubts::Doubts;
use crate::network::{FlowConfig, Source, Tcp};
use crate::routing::Step;
use crate::statistics::FlowStatistics;
use crate::workload::OnOffSource;
use crossfade_core::{SimTime, Stream, TcpSnapshot};
use crossfade_link::Parcel;
use crossfade_transport::congestion::ControlInfo;
use crossfade_transport::{Receiver, Sender};

/// Both ends of a connection. Fields that every packet needs come first.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Time of the valid timer event of the sender; earlier timer events still in the queue are ignored.
    pub(crate) timer_at: Option<SimTime>,
    /// Time of the delayed-ACK timer; `None` if it does not run.
    pub(crate) ack_timer_at: Option<SimTime>,
    /// Number of the last segment of the application; `u64::MAX`: endless.
    pub(crate) last: u64,
    /// Undecided timeouts, which may prove spurious.
    pub(crate) doubts: Doubts,
    /// Sum in seconds, and number, of the sender's RTT samples at the last reading.
    pub(crate) rtt_samples: (f64, u64),
    /// Time between two segments that the application writes; `None`: all data are ready at once.
    pub(crate) write_gap: Option<SimTime>,
}

impl Connection {
    fn new(tcp: &Tcp) -> Self {
        let config = &tcp.config;
        Self {
            sender: tcp.sender(),
            receiver: Receiver::new(config),
            timer_at: None,
            ack_timer_at: None,
            rtt_samples: (0.0, 0),
            doubts: Doubts::NONE,
            last: config.segments().map_or(u64::MAX, |segments| segments.saturating_sub(1)),
            write_gap: None,
        }
    }

    /// Number of fast recoveries that the sender has begun.
    pub(crate) fn recoveries(&self) -> u64 {
        self.sender.statistics().fast_retransmits
    }

    /// Creates a connection whose application writes a segment every `gap`.
    fn paced(tcp: &Tcp, gap: SimTime) -> Self {
        let config = tcp.config.with_segments(0);
        let connection = Self::new(&Tcp { config, congestion: tcp.congestion.clone() });
        Self { last: u64::MAX, write_gap: Some(gap), ..connection }
    }
}

pub(crate) enum Endpoints {
    Tcp(Connection),
    Udp(Datagrams),
}

/// Indices of the access lines of the two hosts; [`crate::line::LineTable::NONE`] for a host without delay.
#[derive(Clone, Copy)]
pub(crate) struct AccessLines {
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
}

/// Route of a flow in one direction.
#[derive(Clone, Copy)]
pub(crate) struct FlowRoute {
    /// Index of the route among the routes of the network.
    pub(crate) route: u32,
    /// First step of the route.
    pub(crate) first: Step,
}

/// Routes and access lines of a flow, in both directions.
#[derive(Clone, Copy)]
pub(crate) struct FlowWays {
    pub(crate) lines: AccessLines,
    pub(crate) data: FlowRoute,
    pub(crate) acks: FlowRoute,
}

/// A flow in the engine's table.
///
/// A thousand flows exceed the cache: the fields that every packet touches stand together, in whole cache lines.
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// Template of the flow's data packets.
    pub(crate) packet: Parcel,
    /// Template of the flow's acknowledgements without SACK blocks.
    pub(crate) acknowledgement: Parcel,
    pub(crate) lines: AccessLines,
    pub(crate) data: FlowRoute,
    pub(crate) acks: FlowRoute,
    pub(crate) endpoints: Endpoints,
    /// Sum of one-way delays over all arrivals at the receiver, in nanoseconds: 64 bits hold 600 years, which a million
    /// packets in a long queue can exceed.
    pub(crate) one_way_delay_sum_ns: u128,
    /// Index of the flow in the engine's table of flows.
    pub(crate) place: u32,
    /// Index of the arrival process that started the flow; `None` for a permanent flow.
    pub(crate) arrivals: Option<u32>,
    /// Number of the flow for observers. Unlike a place in the table, it is never reused.
    pub(crate) id: u32,
    /// Number of bytes by which the last packet is shorter than the others.
    pub(crate) last_short_by: u32,
    pub(crate) sack_block_size: u32,
    /// Number of the flow's segments that the last link of the route had not sent at the last report.
    pub(crate) unsent: u32,
    /// Time between the flow's start and its first packet: handshake and request.
    pub(crate) opening: SimTime,
    /// Counts since the start of the run. The sender's own counts are filled in by [`Self::totals`].
    pub(crate) counts: FlowStatistics,
}

impl Flow {
    /// Creates a flow before its first packet, at `place` in the table. `stream` returns the random stream of each
    /// purpose.
    pub(crate) fn new(
        config: &FlowConfig,
        place: u32,
        ways: FlowWays,
        measures_delays: bool,
        stream: impl Fn(&str) -> Stream,
    ) -> Self {
        let (opening, start) = (config.path.opening, config.start);
        let mut endpoints = match &config.source {
            Source::Tcp(tcp) => Endpoints::Tcp(Connection::new(&tcp.opened(&opening, start))),
            Source::PacedTcp { tcp, rate_bps } => {
                let gap = SimTime::to_transmit(config.path.packet_size, *rate_bps);
                let tcp = tcp.opened(&opening, start);
                Endpoints::Tcp(Connection::paced(&tcp, gap.max(SimTime::from_nanos(1))))
            }
            Source::Udp(on_off) => Endpoints::Udp(Datagrams::on_off(OnOffSource::new(
                *on_off,
                config.path.packet_size,
                stream("workload.on-off"),
                stream("workload.gaps"),
            ))),
            Source::Recorded(record) => Endpoints::Udp(Datagrams::recorded(record.clone())),
        };
        if let Endpoints::Tcp(tcp) = &mut endpoints {
            tcp.sender.seed(|| stream("congestion"));
        }
        let histogram = || measures_delays.then(Box::default);
        let (rtt, one_way_delay) = (histogram(), histogram());
        let parcel = |bytes| Parcel::new(0, place, bytes).with_user(config.path.user);
        Self {
            endpoints,
            packet: parcel(config.path.packet_size),
            acknowledgement: parcel(config.path.ack_size),
            last_short_by: config.path.last_short_by,
            sack_block_size: config.path.sack_block_size,
            unsent: 0,
            lines: ways.lines,
            data: ways.data,
            acks: ways.acks,
            place,
            id: place,
            arrivals: None,
            opening: opening.lasts(start),
            counts: FlowStatistics { start: config.start, rtt, one_way_delay, ..FlowStatistics::default() },
            one_way_delay_sum_ns: 0,
        }
    }

    /// Routes and access lines of the flow.
    pub(crate) fn ways(&self) -> FlowWays {
        FlowWays { lines: self.lines, data: self.data, acks: self.acks }
    }

    /// Shortest time for which the receiver delays an ACK; `None` without delayed ACKs.
    pub(crate) fn shortest_delay(&self) -> Option<SimTime> {
        match &self.endpoints {
            Endpoints::Tcp(tcp) => tcp.receiver.shortest_delay(),
            Endpoints::Udp(_) => None,
        }
    }

    /// Variables of the sender that traces show; zeros for a flow of datagrams.
    pub(crate) fn snapshot(&self) -> TcpSnapshot {
        match &self.endpoints {
            Endpoints::Tcp(tcp) => tcp.sender.snapshot(),
            Endpoints::Udp(_) => TcpSnapshot::default(),
        }
    }

    /// State of the congestion control, for traces; empty for a flow of datagrams.
    pub(crate) fn info(&self) -> ControlInfo {
        match &self.endpoints {
            Endpoints::Tcp(tcp) => tcp.sender.info(),
            Endpoints::Udp(_) => ControlInfo::default(),
        }
    }

    /// Counts since the start of the run, including the sender's own.
    pub(crate) fn totals(&self) -> FlowStatistics {
        let mut totals = self.counts.clone();
        totals.one_way_delay_sum_s = self.one_way_delay_sum_ns as f64 / 1e9;
        totals.segments_transmitted = totals.segments_sent - totals.queue_drops - u64::from(self.unsent);
        if let Endpoints::Tcp(tcp) = &self.endpoints {
            let sender = tcp.sender.statistics();
            (totals.rtt_sum_s, totals.rtt_samples) = tcp.sender.rtt_samples();
            totals.spurious_timeouts_detected = sender.spurious_timeouts;
            totals.fast_retransmits = sender.fast_retransmits;
            totals.spurious_fast_retransmits = sender.spurious_fast_retransmits;
            totals.tail_loss_probes = sender.tail_loss_probes;
            totals.ecn_reductions = sender.ecn_reductions;
            totals.spurious_losses = sender.spurious_losses;
        }
        totals
    }

    /// True if all data of the flow was sent and acknowledged.
    pub(crate) fn is_done(&self) -> bool {
        let Endpoints::Tcp(tcp) = &self.endpoints else { return false };
        tcp.sender.is_done()
    }

    /// True if all data of the flow was acknowledged and no packet of it is left in the network.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_done() && self.counts.in_flight() == 0
    }
}
