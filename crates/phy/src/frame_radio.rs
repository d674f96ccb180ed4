//! Frames over a fading channel as an ARQ link transmits them: one at a time, in any order.

use crate::combining::Accept;
use crate::error::PhyError;
use crate::soft_frame::SoftFrame;
use crate::transceiver::{PhyConfig, Reception, Transceiver, Workspace};
use crossfade_channel::MatrixFading;
use crossfade_core::{SimTime, Stream};
use std::sync::Arc;

/// Transmitter, fading channel and receiver of the frames of an ARQ link.
#[derive(Clone, Debug)]
pub struct FrameRadio {
    pub(crate) transceiver: Arc<Transceiver>,
    fading: MatrixFading,
    rho: f64,
    pub(crate) reception: Reception,
    pub(crate) workspace: Workspace,
}

/// Outcome of the reception of a frame.
#[derive(Clone, Debug)]
pub enum Received {
    /// The frame passes its check and is accepted without combining.
    Good,
    /// The frame fails its check, and is discarded since the receiver does not combine.
    Corrupt,
    /// The receiver has to combine the frame with earlier copies, if any, to decide whether it passes.
    Soft(SoftFrame),
}

impl FrameRadio {
    /// Creates a radio at the signal-to-noise ratio `rho` (linear, not in dB). Payloads and noise come from `stream`.
    ///
    /// # Errors
    /// If [`PhyConfig::check`] refuses the configuration, the fading has other antennas, or `CROSSFADE_SIMD` is
    /// invalid.
    pub fn new(config: PhyConfig, fading: MatrixFading, rho: f64, stream: Stream) -> Result<Self, PhyError> {
        let transceiver = Arc::new(Transceiver::new(config, stream)?);
        if fading.antennas() != (config.n_t, config.n_r) {
            let (n_t, n_r) = fading.antennas();
            let needs = "a fading with as many antennas as it has";
            return Err(PhyError::Antennas { scheme: config.scheme.name(), n_t, n_r, needs });
        }
        let (reception, workspace) = (transceiver.reception(), transceiver.workspace());
        Ok(Self { transceiver, fading, rho, reception, workspace })
    }

    /// Transmitter and receiver, without the channel.
    pub fn transceiver(&self) -> &Transceiver {
        &self.transceiver
    }

    /// Sets the signal-to-noise ratio to `rho` (linear, not in dB).
    pub fn set_rho(&mut self, rho: f64) {
        self.rho = rho;
    }

    /// Sends payload number `sdu` in transmission number `transmission`, which starts at `now`, and detects it without
    /// earlier copies. Returns the number of wrong bits, which depends on these arguments and the streams alone.
    pub fn receive(&mut self, now: SimTime, transmission: u64, sdu: u64) -> u32 {
        let gains = self.fading.gains(now, transmission);
        let nmse = self.transceiver.config().nmse;
        let estimate = (nmse > 0.0).then(|| self.fading.estimate(&gains, nmse, transmission));
        let channel = (&gains, estimate.as_ref());
        self.transceiver.receive(sdu, transmission, self.rho, channel, &mut self.reception);
        self.transceiver.detect(&self.reception, &mut self.workspace)
    }

    /// Transmits payload number `sdu` to an ARQ receiver in transmission number `transmission`, which starts at `now`;
    /// `first`: no copy of the payload was transmitted before.
    pub fn transmit(&mut self, now: SimTime, transmission: u64, sdu: u64, first: bool) -> Received {
        let passes = self.receive(now, transmission, sdu) == 0;
        match self.transceiver.config().combining {
            None if passes => Received::Good,
            None => Received::Corrupt,
            Some(combining) if passes && (first || combining.accept == Accept::Either) => Received::Good,
            Some(_) => {
                let transceiver = Arc::clone(&self.transceiver);
                Received::Soft(SoftFrame::new(transceiver, self.reception.clone(), passes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combining::{Combining, Stage, Weights};
    use crate::detector::Detector;
    use crate::monte_carlo::MonteCarlo;
    use crate::scheme::Scheme;
    use crossfade_channel::{AntennaCorrelation, Motion, simd::Simd};
    use crossfade_core::RunSeed;

    fn stream(name: &str) -> Stream {
        RunSeed { seed: 9, run: 0 }.stream(name)
    }

    fn fading() -> MatrixFading {
        let (motion, none) = (Motion::Independent, AntennaCorrelation::None);
        MatrixFading::new((4, 4), motion, none, stream("channel.dl"), Simd::widest()).unwrap()
    }

    #[test]
    fn frame_by_frame_is_what_the_monte_carlo_core_counts() {
        for stage in [Stage::Posthoc, Stage::Joint, Stage::Stacked] {
            for accept in [Accept::Combined, Accept::Either] {
                let combining = Some(Combining { stage, weights: Weights::MaximalRatio, accept });
                let config = PhyConfig { combining, ..PhyConfig::new(Scheme::Blast, Detector::MmseOsic) };
                let (attempts, rho) = (4, 6.0);
                let mut all =
                    MonteCarlo::new(config, fading(), rho, attempts, true, stream("phy.dl")).unwrap();
                let counted: Vec<u64> = all.count(0..40).attempts.iter().map(|a| a.residual).collect();
                let mut radio = FrameRadio::new(config, fading(), rho, stream("phy.dl")).unwrap();
                let mut residual = vec![0; attempts as usize];
                for frame in 0..40 {
                    let mut kept: Option<SoftFrame> = None;
                    for attempt in 0..attempts {
                        let transmission = frame * u64::from(attempts) + u64::from(attempt);
                        match radio.transmit(SimTime::ZERO, transmission, frame, attempt == 0) {
                            Received::Good => break,
                            Received::Corrupt => unreachable!("frames are combined"),
                            Received::Soft(copy) => match &mut kept {
                                None => kept = Some(copy),
                                Some(kept) => {
                                    if SoftFrame::add(kept, copy) {
                                        break;
                                    }
                                }
                            },
                        }
                        residual[attempt as usize] += 1;
                    }
                }
                assert_eq!(residual, counted, "{stage:?} {accept:?}");
                assert!(residual[0] > 30 && residual[3] < residual[0]);
            }
        }
    }

    #[test]
    fn a_transmission_is_a_function_of_its_numbers() {
        let config = PhyConfig::new(Scheme::Blast, Detector::Mmse);
        let mut radio = FrameRadio::new(config, fading(), 10.0, stream("phy.dl")).unwrap();
        let mut of = |transmission, sdu| radio.receive(SimTime::ZERO, transmission, sdu);
        let first: Vec<u32> = (0..20).map(|t| of(t, t / 2)).collect();
        let again: Vec<u32> = (0..20).rev().map(|t| of(t, t / 2)).collect();
        assert!(first.iter().eq(again.iter().rev()));
        assert!(first.iter().any(|wrong| *wrong > 0));
    }
}
