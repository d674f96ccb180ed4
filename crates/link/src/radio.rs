//! The frames of a physical layer: detected symbol by symbol, or drawn from a table of error rates.

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

/// A physical layer over fading antennas, as data.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// What is sent and how it is received; with a policy the fastest of what that may choose.
    pub phy: PhyConfig,
    /// What chooses in its place, frame by frame.
    pub policy: Option<Policy>,
    /// How the antennas are correlated.
    pub correlation: AntennaCorrelation,
    /// How gains change from frame to frame.
    pub motion: Motion,
    /// The signal-to-noise ratio rho in dB, per receive antenna; with shadowing its median.
    pub snr_db: f64,
    /// How that moves.
    pub shadowing: Option<CorrelatedShadowing>,
    /// The rates that stand for symbols; `None` detects every symbol.
    pub table: Option<Arc<ErrorRateCurve>>,
}

/// A scheme for each signal-to-noise ratio, which the sender knows at the start of each frame: the mean one of the moment,
/// or with gains that move that of the frame itself, rho ||H||^2 / (`n_T` `n_R`).
#[derive(Clone, Debug)]
pub struct Policy {
    /// Which of the layers is used when.
    pub table: Arc<SwitchingTable>,
    /// The physical layer of each range of the table, and how long it takes to send a frame.
    pub layers: Vec<(PhyConfig, SimTime)>,
}

impl RadioConfig {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// What does not fit together; an impossible `CROSSFADE_SIMD`.
    pub fn check(&self) -> Result<(), PhyError> {
        for phy in self.layers() {
            phy.check()?;
        }
        self.correlation.roots(self.phy.n_t, self.phy.n_r)?;
        Simd::chosen()?;
        Ok(())
    }

    /// All that may be sent.
    fn layers(&self) -> impl Iterator<Item = &PhyConfig> {
        let chosen = self.policy.iter().flat_map(|policy| &policy.layers);
        let fixed = self.policy.is_none().then_some(&self.phy);
        fixed.into_iter().chain(chosen.map(|(phy, _)| phy))
    }

    /// Whether each transmission meets gains of its own, and nothing else changes from one to the next.
    pub fn is_independent(&self) -> bool {
        self.motion == Motion::Independent && self.shadowing.is_none() && self.policy.is_none()
    }

    fn fading(&self, stream: Stream) -> Result<MatrixFading, PhyError> {
        let antennas = (self.phy.n_t, self.phy.n_r);
        Ok(MatrixFading::new(antennas, self.motion, self.correlation, stream, Simd::chosen()?)?)
    }

    /// Frames of which each is sent up to `attempts` times, without a protocol: until it is accepted, or, where
    /// receptions are combined, so many times in any case, which tells what each combination is worth. Gains are drawn from `fading`,
    /// payloads and noise from `phy`.
    ///
    /// # Errors
    /// What [`check`](RadioConfig::check) refuses; no attempts.
    pub fn monte_carlo(&self, attempts: u32, fading: Stream, phy: Stream) -> Result<MonteCarlo, PhyError> {
        let (rho, until_accepted) = (from_db(self.snr_db), self.phy.combining.is_none());
        MonteCarlo::new(self.phy, self.fading(fading)?, rho, attempts, until_accepted, phy)
    }

    /// The channel that detects every symbol, at a ratio that moves as `shadowing` says.
    ///
    /// # Errors
    /// What [`check`](RadioConfig::check) refuses.
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
        // Where gains do not move, those of a frame cannot be known before it is sent.
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
    /// One, or one for each range of the chooser.
    radios: Vec<FrameRadio>,
    chooser: Option<Chooser>,
    shadowing: Option<ShadowingProcess>,
    median_db: f64,
    /// The ratio of the last frame, and which radio sent it.
    snr_db: f64,
    which: usize,
}

/// What carries a policy out.
struct Chooser {
    table: Arc<SwitchingTable>,
    frame_times: Vec<SimTime>,
    /// The gains, where they move.
    fading: Option<MatrixFading>,
}

impl Chooser {
    /// Which radio sends the frame, at a mean ratio of `snr_db`.
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

/// Packets of so many frames each, none of which may fail.
pub struct WholePackets {
    /// The frames; nothing is combined.
    pub frames: SymbolFrames,
    /// How many a packet has.
    pub per_packet: u32,
    /// How long each takes.
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

/// The payload of frames without one: as many bits as any other.
const NO_PAYLOAD: u64 = u64::MAX;

impl FrameChannel for SymbolFrames {
    type Soft = SoftFrame;

    #[inline]
    fn transmit(&mut self, transmission: Transmission) -> Reception<SoftFrame> {
        let Transmission { number, at, sdu, attempt } = transmission;
        // What has no payload is combined with nothing.
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

/// Frames that fail as often as a table says.
pub struct TableFrames {
    /// The share that fails after 1, 2, ... transmissions.
    residual: Arc<[f64]>,
    /// Whether copies are combined; otherwise each transmission fails by itself.
    combines: bool,
    stream: Stream,
    conditions: Conditions,
}

/// More transmissions of a frame than these help as the last of them did.
const MOST_TRANSMISSIONS: u32 = 64;

impl TableFrames {
    /// Draws against the rates of `table` at the ratio of `radio`.
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
        // Copies that are combined share what their payload needs. By themselves they have nothing in common.
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

/// How often a frame has been received, and the share of frames that it does better than.
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
