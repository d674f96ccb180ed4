//! The two hosts of a flow, and what the engine keeps about them.

use crate::network::{FlowConfig, Source};
use crate::statistics::FlowStatistics;
use crate::workload::OnOffSource;
use crossfade_core::{SimTime, Stream, TcpSnapshot};
use crossfade_transport::{Receiver, Sender, TcpConfig, Variant};

/// Both ends of a TCP connection.
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// The timer event that counts; earlier ones still in the queue are ignored.
    pub(crate) timer_at: Option<SimTime>,
    /// What the application has to send; `u64::MAX` is without end.
    pub(crate) segments: u64,
}

impl Connection {
    fn new(tcp: &TcpConfig) -> Self {
        Self {
            sender: Sender::new(tcp),
            receiver: Receiver::new(tcp.variant == Variant::Sack),
            timer_at: None,
            segments: tcp.segments.unwrap_or(u64::MAX),
        }
    }
}

/// A source of datagrams.
pub(crate) struct Datagrams {
    pub(crate) source: OnOffSource,
    pub(crate) next_seq: u64,
}

pub(crate) enum Hosts {
    Tcp(Connection),
    Udp(Datagrams),
}

/// The access lines of the two hosts; [`crate::path::LineTable::NONE`] where there is no delay.
#[derive(Clone, Copy)]
pub(crate) struct Lines {
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
}

/// A flow of the engine's table.
pub(crate) struct Flow {
    pub(crate) hosts: Hosts,
    pub(crate) packet_size: u32,
    pub(crate) ack_size: u32,
    pub(crate) sack_block_size: u32,
    pub(crate) lines: Lines,
    /// Its place in the engine's table of flows.
    pub(crate) place: u32,
    /// What observers call it. Places in the table are used again, these numbers are not.
    pub(crate) id: u32,
    /// The arrivals that it belongs to, if it came and will go.
    pub(crate) arrivals: Option<u32>,
    /// Since its start. What the sender counts itself is filled in when it is asked for.
    pub(crate) counts: FlowStatistics,
    /// The sum over all arrivals at the receiver of the time since they were sent.
    pub(crate) one_way_delay_sum: SimTime,
}

impl Flow {
    /// A flow that has sent nothing. `stream` is for the times of an on-off source.
    pub(crate) fn new(
        config: &FlowConfig,
        place: u32,
        id: u32,
        lines: Lines,
        stream: impl FnOnce() -> Stream,
    ) -> Self {
        let hosts = match &config.source {
            Source::Tcp(tcp) => Hosts::Tcp(Connection::new(tcp)),
            Source::Udp(on_off) => Hosts::Udp(Datagrams {
                source: OnOffSource::new(*on_off, config.packet_size, stream()),
                next_seq: 0,
            }),
        };
        Self {
            hosts,
            packet_size: config.packet_size,
            ack_size: config.ack_size,
            sack_block_size: config.sack_block_size,
            lines,
            place,
            id,
            arrivals: None,
            counts: FlowStatistics { start: config.start, ..FlowStatistics::default() },
            one_way_delay_sum: SimTime::ZERO,
        }
    }

    /// The variables that traces show, and the oldest segment not yet acknowledged.
    pub(crate) fn snapshot(&self) -> TcpSnapshot {
        match &self.hosts {
            Hosts::Tcp(tcp) => tcp.sender.snapshot(),
            Hosts::Udp(_) => TcpSnapshot::default(),
        }
    }

    /// What was counted since the start.
    pub(crate) fn totals(&self) -> FlowStatistics {
        let (rtt_sum_s, rtt_samples) = match &self.hosts {
            Hosts::Tcp(tcp) => tcp.sender.rtt_samples(),
            Hosts::Udp(_) => (0.0, 0),
        };
        FlowStatistics {
            rtt_sum_s,
            rtt_samples,
            one_way_delay_sum_s: self.one_way_delay_sum.as_secs_f64(),
            ..self.counts
        }
    }

    /// Whether everything was sent and acknowledged, and nothing is left between the hosts.
    pub(crate) fn has_ended(&self) -> bool {
        let Hosts::Tcp(tcp) = &self.hosts else { return false };
        tcp.sender.is_done() && self.counts.in_flight() == 0
    }
}
