//! A link in the terms of the models.

use crate::error::join;
use crate::tables::channel::DopplerSetup;
use crate::tables::frames::FrameSetup;
use crate::tables::satellite::SatelliteSetup;
use crate::tables::shaper::ShaperSetup;
use crate::tables::trace::{DelaySetup, TraceSetup};
use crossfade_channel::LossConfig;
use crossfade_core::SimTime;
use crossfade_link::{AggregationConfig, JitterConfig, PolicerConfig, QueueConfig, RadioConfig};

/// One link of the path between sender and receiver, in one direction.
#[derive(Clone, Debug)]
pub struct HopSetup {
    /// Propagation delay.
    pub delay: SimTime,
    /// Transmission of packets: rate, queue and losses.
    pub carrier: Carrier,
    /// Whether the queue limit is the default, since the scenario gives none.
    pub limit_assumed: bool,
    /// Rate of change of a fading channel; `None` without fading.
    pub doppler: Option<DopplerSetup>,
    /// Token bucket in front of the hop, which drops packets that do not conform.
    pub policer: Option<PolicerConfig>,
    /// Periodic release in front of the hop, for packets that wait for each other.
    pub aggregation: Option<AggregationConfig>,
    /// Random delay of each packet behind the hop.
    pub jitter: Option<JitterConfig>,
}

/// Transmission of the packets of a hop.
#[derive(Clone, Debug)]
pub enum Carrier {
    /// Whole packets at a constant rate.
    Packets {
        /// Bit rate in bit/s; `None`: transmission takes no time.
        rate_bps: Option<f64>,
        /// Queue in front of the link.
        queue: QueueConfig,
        /// Loss process of packets.
        loss: LossConfig,
    },
    /// Whole packets at a constant rate, behind a token bucket.
    Shaped {
        /// Bit rate in bit/s of the packets that the bucket passes; `None`: transmission takes no time.
        rate_bps: Option<f64>,
        /// Token bucket.
        shaper: ShaperSetup,
        /// Queue in front of the link.
        queue: QueueConfig,
        /// Loss process of packets.
        loss: LossConfig,
    },
    /// Packets sent as frames, which an ARQ may retransmit.
    Frames {
        /// Bit rate in bit/s.
        rate_bps: f64,
        /// Queue in front of the link.
        queue: QueueConfig,
        /// Framing of packets, and the ARQ of the frames.
        frames: FrameSetup,
        /// Loss of frames.
        errors: FrameErrors,
    },
    /// Whole packets at a capacity that follows a recording or a table.
    Schedule {
        /// Capacity over time.
        trace: TraceSetup,
        /// Queue in front of the link.
        queue: QueueConfig,
        /// Loss process of packets; `None` if the table contains the losses.
        loss: Option<LossConfig>,
    },
    /// Whole packets over one direction of a satellite link, whose model includes losses.
    Satellite {
        /// Direction of the satellite link.
        satellite: Box<SatelliteSetup>,
        /// Queue in front of the link.
        queue: QueueConfig,
    },
}

/// Loss of frames.
#[derive(Clone, Debug)]
pub enum FrameErrors {
    /// Frames lost by a loss process.
    Lost(LossConfig),
    /// Frames received or not by a physical layer.
    Radio(Box<RadioConfig>),
}

impl HopSetup {
    /// A hop without policer, aggregation and jitter.
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

    /// Mean bit rate in bit/s; `None`: transmission takes no time.
    pub fn rate_bps(&self) -> Option<f64> {
        match &self.carrier {
            Carrier::Packets { rate_bps, .. } => *rate_bps,
            Carrier::Shaped { shaper, .. } => Some(shaper.rate_bps),
            Carrier::Frames { rate_bps, .. } => Some(*rate_bps),
            Carrier::Schedule { trace, .. } => Some(trace.mean_rate_bps),
            Carrier::Satellite { satellite, .. } => Some(satellite.closed_forms.capacity_bps),
        }
    }

    /// Key under `table` that makes the link other than one of whole packets at a constant rate; `None` if there is no
    /// such key.
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

    /// Framing of packets; `None` for whole packets.
    pub fn frames(&self) -> Option<&FrameSetup> {
        if let Carrier::Frames { frames, .. } = &self.carrier { Some(frames) } else { None }
    }

    /// Physical layer of the frames, if there is one.
    pub fn radio(&self) -> Option<&RadioConfig> {
        match &self.carrier {
            Carrier::Frames { errors: FrameErrors::Radio(radio), .. } => Some(radio),
            _ => None,
        }
    }

    /// Capacity over time, if it varies.
    pub fn trace(&self) -> Option<&TraceSetup> {
        if let Carrier::Schedule { trace, .. } = &self.carrier { Some(trace) } else { None }
    }

    /// Direction of a satellite link, if the hop is one.
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

    /// Queue in front of the link.
    pub fn queue(&self) -> QueueConfig {
        match self.carrier {
            Carrier::Packets { queue, .. }
            | Carrier::Shaped { queue, .. }
            | Carrier::Frames { queue, .. }
            | Carrier::Schedule { queue, .. }
            | Carrier::Satellite { queue, .. } => queue,
        }
    }

    /// Whether every packet is lost from some time on.
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

    /// Time that a packet of `bytes` takes without queueing and losses; uses the mean of recorded delays, and for a
    /// satellite the mean wait for a grant.
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

    /// Longest time for which the link may retransmit a frame; zero without retransmissions.
    pub fn longest_recovery(&self) -> SimTime {
        match &self.carrier {
            Carrier::Frames { frames, .. } => frames.longest_recovery(self.loss().and_then(LossConfig::rate)),
            Carrier::Packets { .. }
            | Carrier::Shaped { .. }
            | Carrier::Schedule { .. }
            | Carrier::Satellite { .. } => SimTime::ZERO,
        }
    }

    /// Shortest time from one packet of `bytes` to the next; `None` without a rate.
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
