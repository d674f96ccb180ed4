//! The frames of a physical layer: detected symbol by symbol, or drawn from a table of error rates.

use crate::arq::{Conditions, FrameChannel, Reception, SoftValue, Transmission};
use crossfade_channel::simd::Simd;
use crossfade_channel::{AntennaCorrelation, LossProcess, MatrixFading, Motion};
use crossfade_core::{SimTime, Stream};
use crossfade_phy::{
    FerTable, FrameRadio, MonteCarlo, PhyConfig, PhyError, Received, SoftFrame, TableError, from_db,
};
use rand::RngExt;
use std::sync::Arc;

/// A physical layer over fading antennas, as data.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// What is sent and how it is received.
    pub phy: PhyConfig,
    /// How the antennas are correlated.
    pub correlation: AntennaCorrelation,
    /// How gains change from frame to frame.
    pub motion: Motion,
    /// The signal-to-noise ratio rho in dB, per receive antenna.
    pub snr_db: f64,
    /// The rates that stand for symbols; `None` detects every symbol.
    pub table: Option<Arc<FerTable>>,
}

impl RadioConfig {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// What does not fit together; an impossible `CROSSFADE_SIMD`.
    pub fn check(&self) -> Result<(), PhyError> {
        self.phy.check()?;
        self.correlation.roots(self.phy.n_t, self.phy.n_r)?;
        Simd::chosen()?;
        Ok(())
    }

    /// Whether each transmission meets gains of its own.
    pub fn is_independent(&self) -> bool {
        self.motion == Motion::Independent
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

    /// The channel that detects every symbol.
    ///
    /// # Errors
    /// What [`check`](RadioConfig::check) refuses.
    pub fn symbols(&self, fading: Stream, phy: Stream) -> Result<SymbolFrames, PhyError> {
        let radio = FrameRadio::new(self.phy, self.fading(fading)?, from_db(self.snr_db), phy)?;
        Ok(SymbolFrames { radio, snr_db: self.snr_db })
    }
}

/// Frames whose symbols are all detected.
pub struct SymbolFrames {
    radio: FrameRadio,
    snr_db: f64,
}

impl SymbolFrames {
    /// Whether a frame that is sent once fails.
    fn fails(&mut self, at: SimTime, number: u64) -> bool {
        !matches!(self.radio.transmit(at, number, number, true), Received::Good)
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
        match self.radio.transmit(at, number, sdu.unwrap_or(NO_PAYLOAD), first) {
            Received::Good => Reception::Good,
            Received::Corrupt => Reception::Corrupt,
            Received::Soft(copy) => Reception::Soft(copy),
        }
    }

    fn combines(&self) -> bool {
        self.radio.transceiver().config().combining.is_some()
    }

    fn conditions(&self) -> Conditions {
        let scheme = self.radio.transceiver().config().scheme.name();
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
    pub fn new(radio: &RadioConfig, table: &FerTable, stream: Stream) -> Result<Self, TableError> {
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
