//! The two hosts of a flow, and what the engine keeps about them.

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

/// Both ends of a TCP connection; first what every packet touches.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// The timer event that counts; earlier ones still in the queue are ignored.
    pub(crate) timer_at: Option<SimTime>,
    /// Time of the delayed-ACK timer, if it runs.
    pub(crate) ack_timer_at: Option<SimTime>,
    /// The last segment that the application has to send; `u64::MAX` is without end.
    pub(crate) last: u64,
    /// Timeouts of a segment that may be late, not lost.
    pub(crate) doubts: Doubts,
    /// The sum and the number of the round trips that the sender had measured when it was last asked.
    pub(crate) rtt_samples: (f64, u64),
    /// The time between two segments that the application writes; `None` where it has all of them ready.
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

    /// Fast recoveries that the sender has begun.
    pub(crate) fn recoveries(&self) -> u64 {
        self.sender.statistics().fast_retransmits
    }

    /// One whose application writes a segment every `gap`.
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

/// The access lines of the two hosts; [`crate::line::LineTable::NONE`] where there is no delay.
#[derive(Clone, Copy)]
pub(crate) struct AccessLines {
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
}

/// The way of a flow in one direction.
#[derive(Clone, Copy)]
pub(crate) struct FlowRoute {
    /// Index of the flow's route among the routes of the network.
    pub(crate) route: u32,
    /// Where the route begins.
    pub(crate) first: Step,
}

/// Everything about where packets of a flow go.
#[derive(Clone, Copy)]
pub(crate) struct FlowWays {
    pub(crate) lines: AccessLines,
    pub(crate) data: FlowRoute,
    pub(crate) acks: FlowRoute,
}

/// A flow of the engine's table.
///
/// A thousand flows are memory, not cache: what every packet touches stands together, in whole lines of it.
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// What all its data packets are like, and all its acknowledgements without SACK blocks.
    pub(crate) packet: Parcel,
    pub(crate) acknowledgement: Parcel,
    pub(crate) lines: AccessLines,
    pub(crate) data: FlowRoute,
    pub(crate) acks: FlowRoute,
    pub(crate) endpoints: Endpoints,
    /// The sum over all arrivals at the receiver of the time since they were sent, in nanoseconds: 64 bits
    /// would do for 600 years of it, which is little of a million packets in a queue.
    pub(crate) one_way_delay_sum_ns: u128,
    /// Index of the flow in the engine's table of flows.
    pub(crate) place: u32,
    /// The arrivals that it belongs to, if it came and will go.
    pub(crate) arrivals: Option<u32>,
    /// What observers call it. Places in the table are used again, these numbers are not.
    pub(crate) id: u32,
    /// By how many bytes the last packet is shorter.
    pub(crate) last_short_by: u32,
    pub(crate) sack_block_size: u32,
    /// Segments of the flow that the last link of the route had yet to send when links were looked at last.
    pub(crate) unsent: u32,
    /// Between its start and its first packet.
    pub(crate) opening: SimTime,
    /// Since its start. What the sender counts itself is filled in when it is asked for.
    pub(crate) counts: FlowStatistics,
}

impl Flow {
    /// A flow that has sent nothing. `stream` makes its random numbers, by what they are for.
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

    /// Where the flow's packets go.
    pub(crate) fn ways(&self) -> FlowWays {
        FlowWays { lines: self.lines, data: self.data, acks: self.acks }
    }

    /// No acknowledgement of it is held back for less than this; `None` where none is.
    pub(crate) fn shortest_delay(&self) -> Option<SimTime> {
        match &self.endpoints {
            Endpoints::Tcp(tcp) => tcp.receiver.shortest_delay(),
            Endpoints::Udp(_) => None,
        }
    }

    /// The variables that traces show, and the oldest segment not yet acknowledged.
    pub(crate) fn snapshot(&self) -> TcpSnapshot {
        match &self.endpoints {
            Endpoints::Tcp(tcp) => tcp.sender.snapshot(),
            Endpoints::Udp(_) => TcpSnapshot::default(),
        }
    }

    /// What its congestion control is at.
    pub(crate) fn info(&self) -> ControlInfo {
        match &self.endpoints {
            Endpoints::Tcp(tcp) => tcp.sender.info(),
            Endpoints::Udp(_) => ControlInfo::default(),
        }
    }

    /// What was counted since the start.
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

    /// Whether everything was sent and acknowledged.
    pub(crate) fn is_done(&self) -> bool {
        let Endpoints::Tcp(tcp) = &self.endpoints else { return false };
        tcp.sender.is_done()
    }

    /// Whether, besides, nothing is left between the hosts.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_done() && self.counts.in_flight() == 0
    }
}
