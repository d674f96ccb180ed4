//! A scenario in the terms of the models.

use crate::cell::CellSetup;
use crate::error::join;
use crate::mesh::MeshSetup;
use crate::stop::End;
use crate::tables::channel::DopplerSetup;
use crate::tables::flow::{FlowSetup, TrafficSetup};
use crate::tables::frames::FrameSetup;
use crate::tables::shaper::ShaperSetup;
use crate::tables::tcp::{Gate, TcpSetup};
use crate::tables::trace::TraceSetup;
use crossfade_channel::LossConfig;
use crossfade_core::SimTime;
use crossfade_link::trace::Schedule;
use crossfade_link::{AggregationConfig, JitterConfig, PolicerConfig, QueueConfig, QueueLimit, RadioConfig};
use crossfade_transport::congestion::OwnRule;

/// A scenario in the terms of the models. All times are absolute.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The time to transmit a data packet.
    pub slot: SimTime,
    /// Bytes of the packet that a slot is of: `link.packet_size`. Flows may have others.
    pub packet_size: u32,
    /// Who sends: at least one, or none where the physical layer is looked at alone.
    pub flows: Vec<FlowSetup>,
    /// How senders meet the first link.
    pub gate: Gate,
    /// The wired segment before the wireless link, and on the way back.
    pub wired: Option<[HopSetup; 2]>,
    /// The mesh in place of the links; those below then carry nothing.
    pub mesh: Option<MeshSetup>,
    /// The cell in place of the link on the way of the data, of which that then has the queue alone. Each user has a link
    /// of its own on the way back.
    pub cell: Option<CellSetup>,
    /// The wireless link, on the way of the data.
    pub forward: HopSetup,
    /// The wireless link, on the way of the acknowledgements.
    pub reverse: HopSetup,
    /// What happens before is not counted.
    pub warmup: SimTime,
    /// When a run ends.
    pub end: End,
    /// How many frames a run of method phy has.
    pub frames: u64,
    /// How far apart samples are, if there are any.
    pub sample: Option<SimTime>,
}

impl Setup {
    /// The TCP of the only flow, if that is a connection without end whose packets are a slot long.
    pub fn only_bulk_tcp(&self) -> Option<&TcpSetup> {
        match self.flows.as_slice() {
            [FlowSetup { count: 1, packet_size, traffic: TrafficSetup::Tcp(tcp, None), .. }]
                if *packet_size == self.packet_size =>
            {
                Some(tcp)
            }
            _ => None,
        }
    }

    /// Whether a window rule of the user's own has failed: what runs give is worth nothing then.
    pub fn own_rule_has_failed(&self) -> bool {
        self.flows.iter().any(|flow| flow.own_rule.as_ref().is_some_and(OwnRule::has_failed))
    }

    /// The round trip of a flow's segment and its acknowledgement that wait for nothing.
    pub fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        let ack_size = flow.tcp().map_or(0, |tcp| tcp.ack_size);
        if let Some(mesh) = &self.mesh {
            let round_trips = flow.ends.iter().map(|&ends| mesh.round_trip(ends, flow.packet_size, ack_size));
            return round_trips.max().unwrap_or_default() + flow.access_delay * 2;
        }
        let wireless = self.forward.transit(flow.packet_size) + self.reverse.transit(ack_size);
        let wired = self
            .wired
            .as_ref()
            .map_or(SimTime::ZERO, |[there, back]| there.transit(flow.packet_size) + back.transit(ack_size));
        wireless + wired + flow.access_delay * 2
    }
}

/// One way between sender and receiver.
#[derive(Clone, Debug)]
pub struct HopSetup {
    /// Propagation delay.
    pub delay: SimTime,
    /// What carries packets.
    pub carrier: Carrier,
    /// Nothing was said of how much may wait.
    pub limit_assumed: bool,
    /// How fast its channel changes, where it fades.
    pub doppler: Option<DopplerSetup>,
    /// Packets that do not conform are dropped before it.
    pub policer: Option<PolicerConfig>,
    /// Packets wait before it, and are released together.
    pub aggregation: Option<AggregationConfig>,
    /// Packets are held back behind it, each for a time of its own.
    pub jitter: Option<JitterConfig>,
}

/// What carries the packets of a hop.
#[derive(Clone, Debug)]
pub enum Carrier {
    /// Whole packets at a constant rate.
    Packets {
        /// Bit rate in bit/s; `None` takes no time to transmit.
        rate_bps: Option<f64>,
        /// What waits, and what is dropped.
        queue: QueueConfig,
        /// Which packets are lost.
        loss: LossConfig,
    },
    /// Whole packets at a constant rate, behind a token bucket.
    Shaped {
        /// Bit rate in bit/s of what the bucket lets through; `None` takes no time to transmit.
        rate_bps: Option<f64>,
        /// The bucket.
        shaper: ShaperSetup,
        /// What waits, and what is dropped.
        queue: QueueConfig,
        /// Which packets are lost.
        loss: LossConfig,
    },
    /// Packets as frames, which may be repeated.
    Frames {
        /// Bit rate in bit/s.
        rate_bps: f64,
        /// What waits, and what is dropped.
        queue: QueueConfig,
        /// How packets become frames, and who repeats them.
        frames: FrameSetup,
        /// What becomes of them.
        errors: FrameErrors,
    },
    /// Whole packets at a capacity that follows a record or a table.
    Schedule {
        /// When what can be sent.
        trace: TraceSetup,
        /// What waits, and what is dropped.
        queue: QueueConfig,
        /// Which packets are lost; `None` says that the table has the losses.
        loss: Option<LossConfig>,
    },
}

/// What becomes of frames.
#[derive(Clone, Debug)]
pub enum FrameErrors {
    /// Some are lost.
    Lost(LossConfig),
    /// A physical layer receives them, or not.
    Radio(Box<RadioConfig>),
}

impl HopSetup {
    /// A hop on whose way nothing else happens to packets.
    pub(crate) fn plain(delay: SimTime, carrier: Carrier) -> Self {
        Self {
            delay,
            carrier,
            limit_assumed: false,
            doppler: None,
            policer: None,
            aggregation: None,
            jitter: None,
        }
    }

    /// A hop that carries everything at once.
    pub(crate) fn ideal() -> Self {
        Self::at_once(SimTime::ZERO, None)
    }

    /// The way of the data in a cell: as good as a slot's wait and a slot, and a queue.
    pub(crate) fn of_cell(slot: SimTime, limit: Option<QueueLimit>) -> Self {
        Self::at_once(slot * 2, limit)
    }

    /// A hop that takes no time to transmit.
    fn at_once(delay: SimTime, limit: Option<QueueLimit>) -> Self {
        let queue = QueueConfig::DropTail(limit);
        Self::plain(delay, Carrier::Packets { rate_bps: None, queue, loss: LossConfig::Lossless })
    }

    /// Bit rate in bit/s in the long run, of a trace its mean; `None` takes no time to transmit.
    pub fn rate_bps(&self) -> Option<f64> {
        match &self.carrier {
            Carrier::Packets { rate_bps, .. } => *rate_bps,
            Carrier::Shaped { shaper, .. } => Some(shaper.rate_bps),
            Carrier::Frames { rate_bps, .. } => Some(*rate_bps),
            Carrier::Schedule { trace, .. } => Some(trace.mean_rate_bps),
        }
    }

    /// The key under `table` that makes it another link than one of whole packets at a constant rate, if one does.
    pub fn varies_by(&self, table: &str) -> Option<String> {
        if self.aggregation.is_some() {
            return Some(join(table, "aggregation"));
        }
        if self.jitter.is_some() {
            return Some(join(table, "jitter"));
        }
        if self.policer.is_some() {
            return Some(join(table, "policer"));
        }
        match &self.carrier {
            Carrier::Packets { .. } => None,
            Carrier::Shaped { .. } => Some(join(table, "shaper")),
            Carrier::Frames { .. } => Some(join(table, "frame_size")),
            Carrier::Schedule { trace, .. } => Some(trace.key.clone()),
        }
    }

    /// How packets become frames, if they do.
    pub fn frames(&self) -> Option<&FrameSetup> {
        if let Carrier::Frames { frames, .. } = &self.carrier { Some(frames) } else { None }
    }

    /// The physical layer of its frames, if there is one.
    pub fn radio(&self) -> Option<&RadioConfig> {
        match &self.carrier {
            Carrier::Frames { errors: FrameErrors::Radio(radio), .. } => Some(radio),
            _ => None,
        }
    }

    /// What its capacity follows, if that changes.
    pub fn trace(&self) -> Option<&TraceSetup> {
        if let Carrier::Schedule { trace, .. } = &self.carrier { Some(trace) } else { None }
    }

    /// Which packets, or frames, are lost; `None` where a table says that beside its rates, and under a physical
    /// layer.
    pub fn loss(&self) -> Option<&LossConfig> {
        match &self.carrier {
            Carrier::Packets { loss, .. }
            | Carrier::Shaped { loss, .. }
            | Carrier::Frames { errors: FrameErrors::Lost(loss), .. } => Some(loss),
            Carrier::Frames { errors: FrameErrors::Radio(_), .. } => None,
            Carrier::Schedule { loss, .. } => loss.as_ref(),
        }
    }

    /// What waits, and what is dropped.
    pub fn queue(&self) -> &QueueConfig {
        match &self.carrier {
            Carrier::Packets { queue, .. }
            | Carrier::Shaped { queue, .. }
            | Carrier::Frames { queue, .. }
            | Carrier::Schedule { queue, .. } => queue,
        }
    }

    /// Whether, sooner or later, every packet is lost.
    pub fn ends_in_loss(&self) -> bool {
        match (self.loss(), self.trace()) {
            (Some(loss), _) => loss.ends_in_loss(),
            (None, Some(TraceSetup { schedule: Schedule::Rates(table), .. })) => table.ends_dead(),
            (None, _) => false,
        }
    }

    /// How long a packet of `bytes` takes that waits for nothing and loses nothing.
    pub fn transit(&self, bytes: u32) -> SimTime {
        let rate_bps = match self.carrier {
            // The bucket is full.
            Carrier::Shaped { rate_bps, .. } => rate_bps,
            _ => self.rate_bps(),
        };
        let transmission = match (self.frames(), rate_bps) {
            (Some(frames), _) => frames.time_for(bytes),
            (None, Some(rate_bps)) => SimTime::to_transmit(bytes, rate_bps),
            (None, None) => SimTime::ZERO,
        };
        self.delay + transmission
    }

    /// For how long frames may be repeated; zero where they are not.
    pub fn longest_recovery(&self) -> SimTime {
        match &self.carrier {
            Carrier::Frames { frames, .. } => frames.longest_recovery(self.loss().and_then(LossConfig::rate)),
            Carrier::Packets { .. } | Carrier::Shaped { .. } | Carrier::Schedule { .. } => SimTime::ZERO,
        }
    }

    /// The time in which a packet of `bytes` can follow another at best; `None` without a rate.
    pub fn shortest_transmission(&self, bytes: u32) -> Option<SimTime> {
        let transmission = |bytes, rate_bps| Some(SimTime::to_transmit(bytes, rate_bps));
        match &self.carrier {
            Carrier::Packets { rate_bps, .. } => rate_bps.and_then(|rate_bps| transmission(bytes, rate_bps)),
            Carrier::Shaped { rate_bps, shaper, .. } => {
                transmission(bytes, rate_bps.unwrap_or(shaper.rate_bps))
            }
            Carrier::Frames { rate_bps, frames, .. } => transmission(frames.on_air_bytes(bytes), *rate_bps),
            Carrier::Schedule { trace, .. } => transmission(bytes, trace.schedule.peak_rate_bps()),
        }
    }
}
