//! Resolved link (hop) of a path, in the terms of the models.

use crate::error::join;
use crate::tables::channel::DopplerSetup;
use crate::tables::frames::FrameSetup;
use crate::tables::satellite::SatelliteSetup;
use crate::tables::shaper::ShaperSetup;
use crate::tables::trace::{DelaySetup, TraceSetup};
use crossfade_channel::LossConfig;
use crossfade_core::SimTime;
use crossfade_link::{AggregationConfig, JitterConfig, PolicerConfig, QueueConfig, RadioConfig};

/// Resolved hop: one link of the path between sender and receiver, in one direction.
#[derive(Clone, Debug)]
pub struct HopSetup {
    /// One-way propagation delay of the hop.
    pub delay: SimTime,
    /// Carrier of the hop: the rate, queue and losses of its packets.
    pub carrier: Carrier,
    /// True if the queue limit is the default, because the scenario gives none.
    pub limit_assumed: bool,
    /// Rate of change of a fading channel; `None` for a channel without fading.
    pub doppler: Option<DopplerSetup>,
    /// Token bucket in front of the hop that drops packets without tokens; `None` without a policer.
    pub policer: Option<PolicerConfig>,
    /// Periodic release of packets in front of the hop, which wait for each other; `None` without aggregation.
    pub aggregation: Option<AggregationConfig>,
    /// Random extra delay of each packet behind the hop; `None` without jitter.
    pub jitter: Option<JitterConfig>,
}

/// Transmission of packets over a hop: rate, queue and losses.
#[derive(Clone, Debug)]
pub enum Carrier {
    /// Whole packets are sent at a constant rate.
    Packets {
        /// Bit rate in bit/s; `None` if transmission takes no time.
        rate_bps: Option<f64>,
        /// Queue of packets in front of the link.
        queue: QueueConfig,
        /// Loss process of packets on the link.
        loss: LossConfig,
    },
    /// Whole packets are sent at a constant rate, behind a token bucket in which they wait.
    Shaped {
        /// Bit rate in bit/s of packets that have passed the token bucket; `None` if transmission takes no time.
        rate_bps: Option<f64>,
        /// Token bucket in which packets wait for tokens.
        shaper: ShaperSetup,
        /// Queue of packets in front of the link.
        queue: QueueConfig,
        /// Loss process of packets on the link.
        loss: LossConfig,
    },
    /// Packets are sent as frames, which an ARQ may retransmit.
    Frames {
        /// Bit rate of the link in bit/s.
        rate_bps: f64,
        /// Queue of packets in front of the link.
        queue: QueueConfig,
        /// Framing of packets, and ARQ of the frames.
        frames: FrameSetup,
        /// Cause of frame losses: a loss process, or a physical layer.
        errors: FrameErrors,
    },
    /// Whole packets are sent at a capacity that follows a recording or a table.
    Schedule {
        /// Capacity of the link over time.
        trace: TraceSetup,
        /// Queue of packets in front of the link.
        queue: QueueConfig,
        /// Loss process of packets on the link; `None` if the trace itself has the losses.
        loss: Option<LossConfig>,
    },
    /// Whole packets are sent over one direction of a satellite link, whose model includes losses.
    Satellite {
        /// Direction of the satellite link that carries the packets.
        satellite: Box<SatelliteSetup>,
        /// Queue of packets in front of the link.
        queue: QueueConfig,
    },
}

/// Cause of frame losses on a link with frames.
#[derive(Clone, Debug)]
pub enum FrameErrors {
    /// Frames are lost by a loss process.
    Lost(LossConfig),
    /// A physical layer decides whether each frame is received.
    Radio(Box<RadioConfig>),
}

impl HopSetup {
    /// Creates a hop without policer, aggregation and jitter.
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

    /// Mean bit rate of the hop in bit/s; `None` if transmission takes no time.
    pub fn rate_bps(&self) -> Option<f64> {
        match &self.carrier {
            Carrier::Packets { rate_bps, .. } => *rate_bps,
            Carrier::Shaped { shaper, .. } => Some(shaper.rate_bps),
            Carrier::Frames { rate_bps, .. } => Some(*rate_bps),
            Carrier::Schedule { trace, .. } => Some(trace.mean_rate_bps),
            Carrier::Satellite { satellite, .. } => Some(satellite.closed_forms.capacity_bps),
        }
    }

    /// Key under `table` that makes the link differ from one of whole packets at a constant rate; `None` if it does not
    /// differ.
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
            Carrier::Satellite { .. } => Some(SatelliteSetup::KEY.to_owned()),
        }
    }

    /// Framing of packets into frames; `None` for whole packets.
    pub fn frames(&self) -> Option<&FrameSetup> {
        if let Carrier::Frames { frames, .. } = &self.carrier { Some(frames) } else { None }
    }

    /// Physical layer of the frames; `None` if frames are lost by a loss process, or for whole packets.
    pub fn radio(&self) -> Option<&RadioConfig> {
        match &self.carrier {
            Carrier::Frames { errors: FrameErrors::Radio(radio), .. } => Some(radio),
            _ => None,
        }
    }

    /// Capacity of the link over time; `None` for a constant rate or a satellite link.
    pub fn trace(&self) -> Option<&TraceSetup> {
        if let Carrier::Schedule { trace, .. } = &self.carrier { Some(trace) } else { None }
    }

    /// Direction of a satellite link that the hop is; `None` for other links.
    pub fn satellite(&self) -> Option<&SatelliteSetup> {
        if let Carrier::Satellite { satellite, .. } = &self.carrier { Some(satellite) } else { None }
    }

    /// Loss process of packets or frames; `None` if a table, a satellite link or a physical layer determines the
    /// losses.
    pub fn loss(&self) -> Option<&LossConfig> {
        match &self.carrier {
            Carrier::Packets { loss, .. }
            | Carrier::Shaped { loss, .. }
            | Carrier::Frames { errors: FrameErrors::Lost(loss), .. } => Some(loss),
            Carrier::Frames { errors: FrameErrors::Radio(_), .. } | Carrier::Satellite { .. } => None,
            Carrier::Schedule { loss, .. } => loss.as_ref(),
        }
    }

    /// Queue of packets in front of the link.
    pub fn queue(&self) -> QueueConfig {
        match self.carrier {
            Carrier::Packets { queue, .. }
            | Carrier::Shaped { queue, .. }
            | Carrier::Frames { queue, .. }
            | Carrier::Schedule { queue, .. }
            | Carrier::Satellite { queue, .. } => queue,
        }
    }

    /// True if every packet is lost from some time on.
    pub fn ends_in_loss(&self) -> bool {
        match (self.loss(), self.trace()) {
            (_, Some(TraceSetup { schedule, .. })) if schedule.ends_dead() => true,
            (Some(loss), _) => loss.ends_in_loss(),
            (None, _) => self.satellite().is_some_and(|satellite| satellite.direction.loss >= 1.0),
        }
    }

    /// Recorded propagation delay over time, added to [`delay`](Self::delay).
    pub fn recorded_delays(&self) -> Option<&DelaySetup> {
        self.trace().and_then(|trace| trace.delays.as_ref())
    }

    /// Transit time of a packet of `bytes` without queueing and losses: propagation and transmission, with the mean of
    /// recorded delays, and with the mean wait for a grant of a satellite.
    pub fn transit(&self, bytes: u32) -> SimTime {
        let rate_bps = match self.carrier {
            // Assumes a full bucket.
            Carrier::Shaped { rate_bps, .. } => rate_bps,
            // A grant releases a packet at once.
            Carrier::Satellite { ref satellite, .. } if satellite.direction.grant > SimTime::ZERO => None,
            _ => self.rate_bps(),
        };
        let transmission = match (self.frames(), rate_bps) {
            (Some(frames), _) => frames.time_for(bytes),
            (None, Some(rate_bps)) => SimTime::to_transmit(bytes, rate_bps),
            (None, None) => SimTime::ZERO,
        };
        let recorded = self.recorded_delays().map_or(SimTime::ZERO, |delays| delays.series.mean());
        let of_satellite = self.satellite().map_or(SimTime::ZERO, SatelliteSetup::transit);
        self.delay.saturating_add(recorded).saturating_add(of_satellite) + transmission
    }

    /// Longest time over which the link may retransmit a frame; zero without retransmissions.
    pub fn longest_recovery(&self) -> SimTime {
        match &self.carrier {
            Carrier::Frames { frames, .. } => frames.longest_recovery(self.loss().and_then(LossConfig::rate)),
            Carrier::Packets { .. }
            | Carrier::Shaped { .. }
            | Carrier::Schedule { .. }
            | Carrier::Satellite { .. } => SimTime::ZERO,
        }
    }

    /// Shortest time between two packets of `bytes`, at the highest rate of the link; `None` without a rate.
    pub fn shortest_transmission(&self, bytes: u32) -> Option<SimTime> {
        let transmission = |bytes, rate_bps| Some(SimTime::to_transmit(bytes, rate_bps));
        match &self.carrier {
            Carrier::Packets { rate_bps, .. } => rate_bps.and_then(|rate_bps| transmission(bytes, rate_bps)),
            Carrier::Shaped { rate_bps, shaper, .. } => {
                transmission(bytes, rate_bps.unwrap_or(shaper.rate_bps))
            }
            Carrier::Frames { rate_bps, frames, .. } => transmission(frames.on_air_bytes(bytes), *rate_bps),
            Carrier::Schedule { trace, .. } => transmission(bytes, trace.schedule.peak_rate_bps()),
            Carrier::Satellite { satellite, .. } => transmission(bytes, satellite.peak_rate_bps()),
        }
    }
}
