//! Frames of a multi-antenna physical layer: detected symbol by symbol, or failing by a table of error rates.

use crate::arq::{Conditions, FrameChannel, Reception, SoftValue, Transmission};
use crossfade_channel::simd::Simd;
use crossfade_channel::{
    AntennaCorrelation, CorrelatedShadowing, LossProcess, MatrixFading, Motion, ShadowingProcess,
};
use crossfade_core::{SimTime, Stream, from_db, to_db};
use crossfade_phy::{
    ErrorRateCurve, FrameRadio, MonteCarlo, PhyConfig, PhyError, Received, SoftFrame, SwitchingTable,
    TableError,
};
use rand::RngExt;
use std::sync::Arc;

/// Configuration of a multi-antenna physical layer over a fading channel.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// Physical layer of all frames; with a policy, the fastest that it may choose.
    pub phy: PhyConfig,
    /// Policy that chooses the antenna scheme of each frame; `None`: always that of `phy`.
    pub policy: Option<Policy>,
    /// Correlation of the antennas at both ends.
    pub correlation: AntennaCorrelation,
    /// Change of the fading gains from frame to frame.
    pub motion: Motion,
    /// Mean signal-to-noise ratio rho per receive antenna in dB; with shadowing, its median.
    pub snr_db: f64,
    /// Log-normal shadowing of the SNR in time; `None`: no shadowing.
    pub shadowing: Option<CorrelatedShadowing>,
    /// Error rates from which frames fail instead of detection; `None`: every symbol is detected.
    pub table: Option<Arc<ErrorRateCurve>>,
}

/// Policy that chooses an antenna scheme by the signal-to-noise ratio that the sender knows at the start of each frame:
/// the momentary mean or, with gains that are correlated in time, the ratio of the frame itself, rho ||H||^2 / (`n_T`
/// `n_R`).
#[derive(Clone, Debug)]
pub struct Policy {
    /// Ranges of the signal-to-noise ratio, with the scheme to use in each.
    pub table: Arc<SwitchingTable>,
    /// The physical layer of each range of the table, and the duration of a frame with it.
    pub layers: Vec<(PhyConfig, SimTime)>,
}

impl RadioConfig {
    /// Checks that scheme, antennas, detector and channel fit together.
    ///
    /// # Errors
    /// If they do not fit together, or `CROSSFADE_SIMD` names instructions that this processor lacks.
    pub fn check(&self) -> Result<(), PhyError> {
        for phy in self.layers() {
            phy.check()?;
        }
        self.correlation.roots(self.phy.n_t, self.phy.n_r)?;
        Simd::chosen()?;
        Ok(())
    }

    /// All physical layers that the policy may choose.
    fn layers(&self) -> impl Iterator<Item = &PhyConfig> {
        let chosen = self.policy.iter().flat_map(|policy| &policy.layers);
        let fixed = self.policy.is_none().then_some(&self.phy);
        fixed.into_iter().chain(chosen.map(|(phy, _)| phy))
    }

    /// True if each transmission has independent gains and nothing else changes from one to the next.
    pub fn is_independent(&self) -> bool {
        self.motion == Motion::Independent && self.shadowing.is_none() && self.policy.is_none()
    }

    fn fading(&self, stream: Stream) -> Result<MatrixFading, PhyError> {
        let antennas = (self.phy.n_t, self.phy.n_r);
        Ok(MatrixFading::new(antennas, self.motion, self.correlation, stream, Simd::chosen()?)?)
    }

    /// Monte Carlo simulation of frames without a protocol. Without combining, a frame is transmitted until it is
    /// accepted, up to `attempts` times; with combining always `attempts` times, which gives the error rate for each
    /// number of receptions. Gains are drawn from `fading`, payloads and noise from `phy`.
    ///
    /// # Errors
    /// If [`check`](RadioConfig::check) refuses the configuration, or `attempts` is 0.
    pub fn monte_carlo(&self, attempts: u32, fading: Stream, phy: Stream) -> Result<MonteCarlo, PhyError> {
        let (rho, until_accepted) = (from_db(self.snr_db), self.phy.combining.is_none());
        MonteCarlo::new(self.phy, self.fading(fading)?, rho, attempts, until_accepted, phy)
    }

    /// Frame channel in which every symbol is detected. Gains are drawn from `fading`, payloads and noise from `phy`,
    /// the shadowing of the SNR from `shadowing`.
    ///
    /// # Errors
    /// If [`check`](RadioConfig::check) refuses the configuration.
    pub fn symbols(
        &self,
        fading: &Stream,
        phy: &Stream,
        shadowing: &Stream,
    ) -> Result<SymbolFrames, PhyError> {
        let radio = |config: &PhyConfig| {
            FrameRadio::new(*config, self.fading(fading.clone())?, from_db(self.snr_db), phy.clone())
        };
        let radios = self.layers().map(radio).collect::<Result<Vec<_>, _>>()?;
        // If gains are independent, those of a frame are unknown before it is sent.
        let moves = self.motion != Motion::Independent;
        let chooser = match &self.policy {
            None => None,
            Some(policy) => Some(Chooser {
                table: Arc::clone(&policy.table),
                frame_times: policy.layers.iter().map(|(_, frame_time)| *frame_time).collect(),
                fading: moves.then(|| self.fading(fading.clone())).transpose()?,
            }),
        };
        let which = chooser.as_ref().map_or(0, |chooser| chooser.table.range(self.snr_db));
        let shadowing = self.shadowing.map(|config| config.process(shadowing.clone()));
        Ok(SymbolFrames { radios, chooser, shadowing, median_db: self.snr_db, snr_db: self.snr_db, which })
    }
}

/// Frame channel in which every symbol is detected.
pub struct SymbolFrames {
    /// Radios of the frames: a single one, or one for each range of the policy.
    radios: Vec<FrameRadio>,
    chooser: Option<Chooser>,
    shadowing: Option<ShadowingProcess>,
    median_db: f64,
    /// Signal-to-noise ratio of the last frame in dB, and index of the radio that sent it.
    snr_db: f64,
    which: usize,
}

/// State of the policy that chooses the radio of each frame.
struct Chooser {
    table: Arc<SwitchingTable>,
    frame_times: Vec<SimTime>,
    /// Gains of the next frame; `None` if gains are independent from frame to frame and so unknown to the sender.
    fading: Option<MatrixFading>,
}

impl Chooser {
    /// Index of the radio for frame `number`, transmitted at time `at` with a mean signal-to-noise ratio of `snr_db`.
    fn choose(&mut self, at: SimTime, number: u64, snr_db: f64) -> usize {
        let of_gains =
            self.fading.as_mut().map_or(0.0, |fading| to_db(fading.gains(at, number).mean_power()));
        self.table.range(snr_db + of_gains)
    }
}

impl SymbolFrames {
    /// True if a frame that is transmitted once, without combining, fails.
    fn fails(&mut self, at: SimTime, number: u64) -> bool {
        !matches!(self.send(at, number, number, true), Received::Good)
    }

    #[inline]
    fn send(&mut self, at: SimTime, number: u64, sdu: u64, first: bool) -> Received {
        if let Some(shadowing) = &mut self.shadowing {
            self.snr_db = self.median_db + shadowing.db_at(at);
        }
        if let Some(chooser) = &mut self.chooser {
            self.which = chooser.choose(at, number, self.snr_db);
        }
        let radio = &mut self.radios[self.which];
        if self.shadowing.is_some() {
            radio.set_rho(from_db(self.snr_db));
        }
        radio.transmit(at, number, sdu, first)
    }
}

/// Loss process of packets that consist of several frames: a packet is lost if any of its frames fails.
pub struct WholePackets {
    /// Channel of the frames, used without combining.
    pub frames: SymbolFrames,
    /// Number of frames in a packet.
    pub per_packet: u32,
    /// Duration of a frame.
    pub frame_time: SimTime,
}

impl LossProcess for WholePackets {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        let first = transmission * u64::from(self.per_packet);
        let mut fails =
            |n: u32| self.frames.fails(now + self.frame_time * u64::from(n), first + u64::from(n));
        (0..self.per_packet).any(&mut fails)
    }
}

/// Payload number that stands for frames without a payload, which have as many bits as any other.
const NO_PAYLOAD: u64 = u64::MAX;

impl FrameChannel for SymbolFrames {
    type Soft = SoftFrame;

    #[inline]
    fn transmit(&mut self, transmission: Transmission) -> Reception<SoftFrame> {
        let Transmission { number, at, sdu, attempt } = transmission;
        // A frame without a payload is not combined.
        let first = attempt == 0 || sdu.is_none();
        match self.send(at, number, sdu.unwrap_or(NO_PAYLOAD), first) {
            Received::Good => Reception::Good,
            Received::Corrupt => Reception::Corrupt,
            Received::Soft(copy) => Reception::Soft(copy),
        }
    }

    fn combines(&self) -> bool {
        self.radios.iter().any(|radio| radio.transceiver().config().combining.is_some())
    }

    fn frame_time(&self) -> Option<SimTime> {
        self.chooser.as_ref().map(|chooser| chooser.frame_times[self.which])
    }

    fn conditions(&self) -> Conditions {
        let scheme = self.radios[self.which].transceiver().config().scheme.name();
        Conditions { snr_db: Some(self.snr_db), scheme: Some(scheme) }
    }
}

impl SoftValue for SoftFrame {
    fn passes_alone(&self) -> bool {
        Self::passes_alone(self)
    }

    fn combine(&mut self, copy: Self) -> bool {
        self.add(copy)
    }
}

/// Frame channel in which frames fail with the error rates of a table.
pub struct TableFrames {
    /// Error rates after 1, 2, ... transmissions.
    residual: Arc<[f64]>,
    /// True if copies are combined; otherwise each transmission fails independently.
    combines: bool,
    stream: Stream,
    conditions: Conditions,
}

/// Number of transmissions for which error rates are stored; more copies count as this many.
const MOST_TRANSMISSIONS: u32 = 64;

impl TableFrames {
    /// Creates the channel with the error rates of `table` at the SNR of `radio`, drawn from `stream`.
    ///
    /// # Errors
    /// If the SNR is outside the table.
    pub fn new(radio: &RadioConfig, table: &ErrorRateCurve, stream: Stream) -> Result<Self, TableError> {
        let residual: Result<Vec<f64>, _> =
            (1..=MOST_TRANSMISSIONS).map(|copies| table.residual(radio.snr_db, copies)).collect();
        let conditions = Conditions { snr_db: Some(radio.snr_db), scheme: Some(radio.phy.scheme.name()) };
        let combines = radio.phy.combining.is_some();
        Ok(Self { residual: residual?.into(), combines, stream, conditions })
    }

    fn draw(&self, index: u128) -> f64 {
        let mut stream = self.stream.clone();
        stream.advance(index);
        stream.random()
    }
}

impl FrameChannel for TableFrames {
    type Soft = TableCopies;

    #[inline]
    fn transmit(&mut self, transmission: Transmission) -> Reception<TableCopies> {
        let fails = self.draw(u128::from(transmission.number)) < self.residual[0];
        let (true, Some(sdu)) = (self.combines, transmission.sdu) else {
            return if fails { Reception::Corrupt } else { Reception::Good };
        };
        // Combined copies share one draw for their payload; without combining each copy has its own.
        let needs = self.draw((1 << 64) + u128::from(sdu));
        let passes_alone = if transmission.attempt == 0 { needs >= self.residual[0] } else { !fails };
        let residual = Arc::clone(&self.residual);
        Reception::Soft(TableCopies { residual, needs, passes_alone, copies: 1 })
    }

    fn combines(&self) -> bool {
        self.combines
    }

    fn conditions(&self) -> Conditions {
        self.conditions
    }
}

/// Combined copies of a frame whose error rates come from a table.
#[derive(Clone, Debug)]
pub struct TableCopies {
    residual: Arc<[f64]>,
    needs: f64,
    passes_alone: bool,
    copies: u32,
}

impl SoftValue for TableCopies {
    fn passes_alone(&self) -> bool {
        self.passes_alone
    }

    fn combine(&mut self, copy: Self) -> bool {
        self.copies = (self.copies + copy.copies).min(MOST_TRANSMISSIONS);
        self.needs >= self.residual[self.copies as usize - 1]
    }
}
