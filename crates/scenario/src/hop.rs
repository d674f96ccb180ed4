//! One link in the terms of the models.

use crate::error::join;
use crate::tables::channel::DopplerSetup;
use crate::tables::frames::FrameSetup;
use crate::tables::satellite::SatelliteSetup;
use crate::tables::shaper::ShaperSetup;
use crate::tables::trace::{DelaySetup, TraceSetup};
use crossfade_channel::LossConfig;
use crossfade_core::SimTime;
use crossfade_link::{AggregationConfig, JitterConfig, PolicerConfig, QueueConfig, RadioConfig};

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
        /// Framing of packets, and the ARQ of the frames.
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
    /// Whole packets over one direction of a satellite link, which has the losses.
    Satellite {
        /// The direction.
        satellite: Box<SatelliteSetup>,
        /// What waits, and what is dropped.
        queue: QueueConfig,
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

    /// Bit rate in bit/s in the long run, of a trace its mean; `None` takes no time to transmit.
    pub fn rate_bps(&self) -> Option<f64> {
        match &self.carrier {
            Carrier::Packets { rate_bps, .. } => *rate_bps,
            Carrier::Shaped { shaper, .. } => Some(shaper.rate_bps),
            Carrier::Frames { rate_bps, .. } => Some(*rate_bps),
            Carrier::Schedule { trace, .. } => Some(trace.mean_rate_bps),
            Carrier::Satellite { satellite, .. } => Some(satellite.closed_forms.capacity_bps),
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
            Carrier::Satellite { .. } => Some(SatelliteSetup::KEY.to_owned()),
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

    /// The direction of a satellite link that it is, if it is one.
    pub fn satellite(&self) -> Option<&SatelliteSetup> {
        if let Carrier::Satellite { satellite, .. } = &self.carrier { Some(satellite) } else { None }
    }

    /// Which packets, or frames, are lost; `None` where a table or a satellite link says that beside its rates, and under a
    /// physical layer.
    pub fn loss(&self) -> Option<&LossConfig> {
        match &self.carrier {
            Carrier::Packets { loss, .. }
            | Carrier::Shaped { loss, .. }
            | Carrier::Frames { errors: FrameErrors::Lost(loss), .. } => Some(loss),
            Carrier::Frames { errors: FrameErrors::Radio(_), .. } | Carrier::Satellite { .. } => None,
            Carrier::Schedule { loss, .. } => loss.as_ref(),
        }
    }

    /// What waits, and what is dropped.
    pub fn queue(&self) -> QueueConfig {
        match self.carrier {
            Carrier::Packets { queue, .. }
            | Carrier::Shaped { queue, .. }
            | Carrier::Frames { queue, .. }
            | Carrier::Schedule { queue, .. }
            | Carrier::Satellite { queue, .. } => queue,
        }
    }

    /// Whether, sooner or later, every packet is lost.
    pub fn ends_in_loss(&self) -> bool {
        match (self.loss(), self.trace()) {
            (_, Some(TraceSetup { schedule, .. })) if schedule.ends_dead() => true,
            (Some(loss), _) => loss.ends_in_loss(),
            (None, _) => self.satellite().is_some_and(|satellite| satellite.direction.loss >= 1.0),
        }
    }

    /// The propagation delay over time beside [`delay`](Self::delay), if there is one.
    pub fn recorded_delays(&self) -> Option<&DelaySetup> {
        self.trace().and_then(|trace| trace.delays.as_ref())
    }

    /// How long a packet of `bytes` takes that waits for nothing and loses nothing; of recorded delays their mean, over a
    /// satellite with the mean wait for a grant.
    pub fn transit(&self, bytes: u32) -> SimTime {
        let rate_bps = match self.carrier {
            // The bucket is full.
            Carrier::Shaped { rate_bps, .. } => rate_bps,
            // A grant lets a packet out at once.
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

    /// For how long frames may be repeated; zero where they are not.
    pub fn longest_recovery(&self) -> SimTime {
        match &self.carrier {
            Carrier::Frames { frames, .. } => frames.longest_recovery(self.loss().and_then(LossConfig::rate)),
            Carrier::Packets { .. }
            | Carrier::Shaped { .. }
            | Carrier::Schedule { .. }
            | Carrier::Satellite { .. } => SimTime::ZERO,
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
            Carrier::Satellite { satellite, .. } => transmission(bytes, satellite.peak_rate_bps()),
        }
    }
}
