//! Frames that fail by an error-rate table at a fading signal-to-noise ratio, with combining of retransmissions.

use crate::arq::{Conditions, FrameChannel, Reception, SoftValue, Transmission};
use crossfade_channel::{ChannelError, ErrorRate, ErrorRateLoss, FadingRatio};
use crossfade_core::{Stream, to_db};
use std::sync::Arc;

/// Frame channel by an error-rate table, with a receiver that keeps failed copies and adds up their signal-to-noise
/// ratios (Chase combining).
///
/// One uniform random number decides for each payload: after l copies the payload still fails if the number is below
/// the error rate of l copies. Payloads thus fail after l copies as often as in the table, and a further copy never
/// spoils a good payload. Another random number decides whether a later copy also passes its check alone.
pub struct ErrorRateFrames {
    config: ErrorRateLoss,
    ratios: FadingRatio,
    stream: Stream,
    conditions: Conditions,
}

/// Index of the first random draw for payloads; draws for transmissions have smaller indices.
const PAYLOADS: u128 = 1 << 64;

impl ErrorRateFrames {
    /// Creates the channel before its first transmission. Gains, shadowing and verdicts are drawn from `stream`.
    ///
    /// # Errors
    /// If [`ErrorRateLoss::check`] refuses the configuration.
    pub fn new(config: ErrorRateLoss, stream: Stream) -> Result<Self, ChannelError> {
        Ok(Self { ratios: config.ratios(&stream)?, config, stream, conditions: Conditions::default() })
    }
}

impl FrameChannel for ErrorRateFrames {
    type Soft = ErrorRateCopies;

    fn transmit(&mut self, transmission: Transmission) -> Reception<ErrorRateCopies> {
        let Transmission { number, at, sdu, attempt } = transmission;
        let rates = &self.config.rates;
        let ratio = rates.effective(self.ratios.at(at, number));
        self.conditions.snr_db = Some(to_db(ratio)).filter(|db| db.is_finite());
        let bytes = self.config.bytes;
        let rate = rates.error_rate(ratio, 1, bytes);
        let passes = |draw: u128| ErrorRateLoss::verdict(&self.stream, draw) >= rate;
        let Some(sdu) = sdu else {
            return if passes(u128::from(number)) { Reception::Good } else { Reception::Corrupt };
        };
        let payload = PAYLOADS + u128::from(sdu);
        let passes_alone = passes(if attempt == 0 { payload } else { u128::from(number) });
        let needs = ErrorRateLoss::verdict(&self.stream, payload);
        Reception::Soft(ErrorRateCopies {
            rates: Arc::clone(rates),
            bytes,
            sum: ratio,
            copies: 1,
            least_rate: rate,
            needs,
            passes_alone,
        })
    }

    fn combines(&self) -> bool {
        true
    }

    fn conditions(&self) -> Conditions {
        self.conditions
    }
}

/// Combined copies of a frame at the receiver.
#[derive(Clone, Debug)]
pub struct ErrorRateCopies {
    rates: Arc<dyn ErrorRate>,
    bytes: u32,
    /// Sum of the signal-to-noise ratios (linear, not in dB) of the frame's copies.
    sum: f64,
    copies: u32,
    /// Least error rate so far, over the numbers of copies received.
    least_rate: f64,
    /// Uniform random number of the payload, which fails while its error rate is above this number.
    needs: f64,
    passes_alone: bool,
}

impl SoftValue for ErrorRateCopies {
    fn passes_alone(&self) -> bool {
        self.passes_alone
    }

    fn combine(&mut self, copy: Self) -> bool {
        self.sum += copy.sum;
        self.copies = self.copies.saturating_add(copy.copies);
        let rate = self.rates.error_rate(self.sum, self.copies, self.bytes);
        self.least_rate = self.least_rate.min(copy.least_rate).min(rate);
        self.needs >= self.least_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::{RunSeed, SimTime};
    use crossfade_phy::{BlockErrors, BlockSizes, ErrorRateTable};

    /// Failure rate of a payload after 1, 2, 3 and 4 copies at 0 dB.
    fn residuals(table: &str) -> [f64; 4] {
        let rates = ErrorRateTable::parse(table).unwrap().mode(None).unwrap();
        let errors = BlockErrors { rates, sizes: BlockSizes::Scaled, modulation: None };
        let config = ErrorRateLoss::new(Arc::new(errors), 0.0, 30);
        let stream = RunSeed { seed: 2, run: 0 }.stream("channel.dl");
        let mut frames = ErrorRateFrames::new(config, stream).unwrap();
        let (mut failed, mut number) = ([0; 4], 0);
        for sdu in 0..20_000 {
            let mut kept: Option<ErrorRateCopies> = None;
            for attempt in 0..4 {
                let transmission = Transmission { number, at: SimTime::ZERO, sdu: Some(sdu), attempt };
                number += 1;
                let Reception::Soft(copy) = frames.transmit(transmission) else { panic!() };
                let is_good = match &mut kept {
                    None => copy.passes_alone(),
                    Some(kept) => kept.combine(copy.clone()),
                };
                kept.get_or_insert(copy);
                failed[attempt as usize] += u32::from(!is_good);
            }
        }
        failed.map(|failed| f64::from(failed) / 20_000.0)
    }

    #[test]
    fn copies_fail_as_often_as_their_rate_says() {
        // Chase combining: l copies at 0 dB are one at 10 lg l dB, on a line of a decade in 5 dB from 0.8.
        let one = residuals("snr_db,error_rate\n0,0.8\n10,0.008\n");
        let chase = |l: f64| 0.8 * libm::pow(l, -2.0);
        // Curves of each attempt, the fourth from the third at four thirds of its ratio.
        let each = residuals(
            "snr_db,transmissions,error_rate\n0,1,0.8\n0,2,0.4\n0,3,0.1\n10,1,0.08\n10,2,0.04\n10,3,0.01\n",
        );
        let rates = [[0.8, chase(2.0), chase(3.0), chase(4.0)], [0.8, 0.4, 0.1, 0.1 * 0.75]];
        for (found, exact) in one.into_iter().chain(each).zip(rates.into_iter().flatten()) {
            let error = 5.0 * (exact * (1.0 - exact) / 20_000.0).sqrt();
            assert!((found - exact).abs() < error, "{found} {exact}");
        }
    }
}
