//! The three forms of the signal-to-noise ratio.
//!
//! - `snr_db` is rho: the signal power that one antenna receives from all transmit antennas, over the noise power.
//! - `es_n0_db`: the energy that one antenna receives per information symbol, over N0. With R symbols per channel use
//!   and the power p of [`StbcPower`] relative to the other schemes, Es/N0 = p rho / R.
//! - `eb_n0_db`: the energy that one antenna receives per information bit, over N0: Eb/N0 = Es/N0 / bits per symbol.

use crate::constellation::Modulation;
use crate::error::PhyError;
use crate::scheme::{Scheme, StbcPower};
use crossfade_core::to_db;

/// Signal-to-noise ratio in dB, in one of three forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Snr {
    /// Key `snr_db`: the ratio rho of received signal to noise power at one antenna, in dB.
    Rho(f64),
    /// Key `es_n0_db`: received energy per information symbol over N0, in dB.
    Symbol(f64),
    /// Key `eb_n0_db`: received energy per information bit over N0, in dB.
    Bit(f64),
}

impl Snr {
    /// Signal-to-noise ratio from the one of the three keys that is given.
    ///
    /// # Errors
    /// If none or several are given, or the value is not between -50 and 60 dB.
    pub fn given(
        snr_db: Option<f64>,
        es_n0_db: Option<f64>,
        eb_n0_db: Option<f64>,
    ) -> Result<Self, PhyError> {
        let given = [
            snr_db.map(|db| ("snr_db", db, Self::Rho(db))),
            es_n0_db.map(|db| ("es_n0_db", db, Self::Symbol(db))),
            eb_n0_db.map(|db| ("eb_n0_db", db, Self::Bit(db))),
        ];
        let mut given = given.into_iter().flatten();
        let Some((parameter, value, snr)) = given.next() else {
            return Err(PhyError::Unknown {
                parameter: "snr_db",
                value: String::new(),
                allowed: "snr_db, es_n0_db, eb_n0_db".into(),
            });
        };
        if let Some((other, db, _)) = given.next() {
            return Err(PhyError::TwoRatios {
                first: parameter,
                second: other,
                first_db: value,
                second_db: db,
            });
        }
        if !(-50.0..=60.0).contains(&value) {
            return Err(PhyError::OutOfRange { parameter, value, allowed: "between -50 and 60 dB" });
        }
        Ok(snr)
    }

    /// Signal-to-noise ratio rho at a receive antenna, in dB.
    pub fn rho_db(self, scheme: Scheme, n_t: usize, power: StbcPower, modulation: Modulation) -> f64 {
        match self {
            Self::Rho(db) => db,
            Self::Symbol(db) => db - symbol_gain_db(scheme, n_t, power),
            Self::Bit(db) => db - bit_gain_db(scheme, n_t, power, modulation),
        }
    }

    /// Received energy per information symbol over N0, in dB.
    pub fn es_n0_db(self, scheme: Scheme, n_t: usize, power: StbcPower, modulation: Modulation) -> f64 {
        self.rho_db(scheme, n_t, power, modulation) + symbol_gain_db(scheme, n_t, power)
    }

    /// Received energy per information bit over N0, in dB.
    pub fn eb_n0_db(self, scheme: Scheme, n_t: usize, power: StbcPower, modulation: Modulation) -> f64 {
        self.rho_db(scheme, n_t, power, modulation) + bit_gain_db(scheme, n_t, power, modulation)
    }
}

fn symbol_gain_db(scheme: Scheme, n_t: usize, power: StbcPower) -> f64 {
    to_db(scheme.power(power) / scheme.rate(n_t))
}

fn bit_gain_db(scheme: Scheme, n_t: usize, power: StbcPower, modulation: Modulation) -> f64 {
    symbol_gain_db(scheme, n_t, power) - to_db(f64::from(modulation.bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_differ_by_rate_bits_and_power() {
        let qpsk = Modulation::Qpsk;
        let words = |scheme, n_t, power| {
            let snr = Snr::Rho(10.0);
            [snr.es_n0_db(scheme, n_t, power, qpsk), snr.eb_n0_db(scheme, n_t, power, qpsk)]
        };
        let close = |got: [f64; 2], expected: [f64; 2]| {
            assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-4), "{got:?}");
        };
        close(words(Scheme::Siso, 1, StbcPower::Equal), [10.0, 6.9897]);
        close(words(Scheme::Blast, 4, StbcPower::Equal), [3.9794, 0.9691]);
        close(words(Scheme::StbcHalf, 4, StbcPower::Equal), [13.0103, 10.0]);
        close(words(Scheme::StbcHalf, 4, StbcPower::Printed), [16.0206, 13.0103]);
        close(words(Scheme::Stbc2, 4, StbcPower::Printed), [10.0, 6.9897]);
        for scheme in Scheme::ALL {
            let (power, modulation) = (StbcPower::Printed, Modulation::Qam64);
            let bit = Snr::Bit(7.0);
            let rho = bit.rho_db(scheme, 4, power, modulation);
            assert!((Snr::Rho(rho).eb_n0_db(scheme, 4, power, modulation) - 7.0).abs() < 1e-12);
        }
    }

    #[test]
    fn exactly_one_is_given() {
        assert_eq!(Snr::given(None, Some(3.0), None), Ok(Snr::Symbol(3.0)));
        let two = Snr::given(Some(3.0), None, Some(4.0)).unwrap_err().to_string();
        assert_eq!(two, "snr_db = 3.0 and eb_n0_db = 4.0 are given: give one of them");
        assert!(Snr::given(None, None, None).is_err());
        assert!(
            Snr::given(Some(61.0), None, None).is_err() && Snr::given(Some(f64::NAN), None, None).is_err()
        );
    }
}
