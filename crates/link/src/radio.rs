//! Frames of a multi-antenna physical layer: detected symbol by symbol, or drawn from a table of error rates.

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

/// Configuration of a physical layer over fading antennas.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// Scheme and detector; with a policy, the fastest that it may choose.
    pub phy: PhyConfig,
    /// Policy that chooses the scheme for each frame; `None`: always `phy`.
    pub policy: Option<Policy>,
    /// Correlation of the antennas.
    pub correlation: AntennaCorrelation,
    /// Change of the gains from frame to frame.
    pub motion: Motion,
    /// The signal-to-noise ratio rho in dB, per receive antenna; with shadowing its median.
    pub snr_db: f64,
    /// Shadowing of the SNR; `None`: none.
    pub shadowing: Option<CorrelatedShadowing>,
    /// Error rates that replace detection; `None`: every symbol is detected.
    pub table: Option<Arc<ErrorRateCurve>>,
}

/// Policy that chooses a scheme by the signal-to-noise ratio that the sender knows at the start of each frame: the
/// momentary mean, or with correlated gains the ratio of the frame itself, rho ||H||^2 / (`n_T` `n_R`).
#[derive(Clone, Debug)]
pub struct Policy {
    /// Ranges of the ratio, each with the layer that is used.
    pub table: Arc<SwitchingTable>,
    /// The physical layer of each range of the table, and the duration of a frame with it.
    pub layers: Vec<(PhyConfig, SimTime)>,
}

impl RadioConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Parts do not fit together, or `CROSSFADE_SIMD` names instructions that this processor lacks.
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

    /// Whether each transmission has independent gains and nothing else changes from one to the next.
    pub fn is_independent(&self) -> bool {
        self.motion == Motion::Independent && self.shadowing.is_none() && self.policy.is_none()
    }

    fn fading(&self, stream: Stream) -> Result<MatrixFading, PhyError> {
        let antennas = (self.phy.n_t, self.phy.n_r);
        Ok(MatrixFading::new(antennas, self.motion, self.correlation, stream, Simd::chosen()?)?)
    }

    /// Monte Carlo simulation of frames without a protocol. Each frame is sent up to `attempts` times until it is
    /// accepted. If receptions are combined, it is always sent `attempts` times, which gives the error rate for each
    /// number of receptions. Gains are drawn from `fading`, payloads and noise from `phy`.
    ///
    /// # Errors
    /// If [`check`](RadioConfig::check) refuses the configuration, or `attempts` is 0.
    pub fn monte_carlo(&self, attempts: u32, fading: Stream, phy: Stream) -> Result<MonteCarlo, PhyError> {
        let (rho, until_accepted) = (from_db(self.snr_db), self.phy.combining.is_none());
        MonteCarlo::new(self.phy, self.fading(fading)?, rho, attempts, until_accepted, phy)
    }

    /// Frames whose every symbol is detected, at a ratio that varies by `shadowing`.
    ///
    /// # Errors
    /// The configuration is refused by [`check`](RadioConfig::check).
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
        // Independent gains of a frame cannot be known before it is sent.
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

/// Frames whose symbols are all detected.
pub struct SymbolFrames {
    /// Radios: a single one, or one for each range of the policy.
    radios: Vec<FrameRadio>,
    chooser: Option<Chooser>,
    shadowing: Option<ShadowingProcess>,
    median_db: f64,
    /// Signal-to-noise ratio of the last frame in dB, and the index of the radio that sent it.
    snr_db: f64,
    which: usize,
}

/// Chooses the radio of each frame by a policy.
struct Chooser {
    table: Arc<SwitchingTable>,
    frame_times: Vec<SimTime>,
    /// Correlated gains; `None` where gains are independent.
    fading: Option<MatrixFading>,
}

impl Chooser {
    /// Index of the radio that sends the frame, at a mean ratio of `snr_db`.
    fn choose(&mut self, at: SimTime, number: u64, snr_db: f64) -> usize {
        let of_gains =
            self.fading.as_mut().map_or(0.0, |fading| to_db(fading.gains(at, number).mean_power()));
        self.table.range(snr_db + of_gains)
    }
}

impl SymbolFrames {
    /// Whether a frame that is sent once fails.
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

/// Packets of several frames each; a packet is lost if any of its frames fails.
pub struct WholePackets {
    /// The frames, without combining.
    pub frames: SymbolFrames,
    /// Number of frames of a packet.
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

/// Payload number of frames without a payload, which have as many bits as any other.
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

/// Frames that fail with the error rates of a table.
pub struct TableFrames {
    /// Error rate after 1, 2, ... transmissions.
    residual: Arc<[f64]>,
    /// Whether copies are combined; otherwise each transmission fails by itself.
    combines: bool,
    stream: Stream,
    conditions: Conditions,
}

/// Number of transmissions from which on each further one lowers the error rate by the same factor.
const MOST_TRANSMISSIONS: u32 = 64;

impl TableFrames {
    /// Frames with the error rates of `table` at the ratio of `radio`.
    ///
    /// # Errors
    /// A ratio outside the table.
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

/// Number of receptions of a frame, and its uniform draw against the error rate.
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
