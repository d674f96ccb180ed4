//! Enhanced multi-link single radio (EMLSR): a station that listens on several links and exchanges data on one of them
//! at a time (IEEE 802.11be clause 35.3.17).
//!
//! ```text
//!  downlink   initial control frame (MU-RTS with padding), SIFS, CTS, SIFS, data, SIFS, answer,
//!             SIFS + slot + 20 us without another frame, transition delay
//!  uplink     data, SIFS, answer, transition delay
//! ```
//!
//! The station listens on each link with one spatial stream. The padding gives it time to switch its radio to the link
//! of the frame; it then has all its spatial streams there, and senses no other link until the transition delay has
//! passed after the exchange. On the link of the exchange it contends at once.

use super::ampdu::LONGEST_PPDU;
use super::edca::{ANSWER_BYTES, SLOT};
use super::modes::{Band, Durations, Mode};
use super::ofdma::mu_rts_bytes;
use crate::error::{MeshError, out_of_range};
use crossfade_core::SimTime;

/// Delays that an EMLSR station announces, and the bit rate of initial control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmlsrConfig {
    /// EMLSR padding delay: shortest duration of the padding of an initial control frame.
    pub padding: SimTime,
    /// EMLSR transition delay: time from the end of an exchange until the station listens on all links again.
    pub transition: SimTime,
    /// Bit rate of initial control frames in Mbit/s: 6, 12 or 24; `None` for that of other control frames, which
    /// depends on the mode of the data.
    pub initial_mbps: Option<u32>,
}

/// Padding delays that a station may announce, in microseconds (EML Capabilities subfield, clause 9.4.2.312.2).
const PADDINGS_US: [u64; 5] = [0, 32, 64, 128, 256];
/// Transition delays that a station may announce, in microseconds.
const TRANSITIONS_US: [u64; 6] = [0, 16, 32, 64, 128, 256];
/// Allowed bit rates of initial control frames in Mbit/s.
const INITIAL_MBPS: [u32; 3] = [6, 12, 24];

/// `aRxPHYStartDelay` of non-HT frames: time from the start of a frame to the detection of its header.
const START_DELAY: SimTime = SimTime::from_micros(20);
/// `aMediumSyncThreshold`: a station that has not sensed a link for longer has lost synchronization with it (clause
/// 35.3.16.8.1).
pub(super) const SYNC_THRESHOLD: SimTime = SimTime::from_micros(72);
/// `dot11MSDTimerDuration`: time for which a station without synchronization must begin with an RTS, unless it decodes
/// a frame before.
pub(super) const SYNC_DURATION: SimTime = LONGEST_PPDU;

impl Default for EmlsrConfig {
    /// Delays that Linux's iwlwifi driver announces: padding 32 us, transition 64 us.
    fn default() -> Self {
        Self { padding: SimTime::from_micros(32), transition: SimTime::from_micros(64), initial_mbps: None }
    }
}

impl EmlsrConfig {
    /// Checks all parameters.
    ///
    /// # Errors
    /// If a delay cannot be announced, or the rate is not 6, 12 or 24 Mbit/s.
    pub fn check(&self) -> Result<(), MeshError> {
        let is_one = |delay: SimTime, of: &[u64]| of.iter().any(|&us| delay == SimTime::from_micros(us));
        if !is_one(self.padding, &PADDINGS_US) {
            return out_of_range("padding_delay", self.padding, "one of 0, 32, 64, 128, 256 us");
        }
        if !is_one(self.transition, &TRANSITIONS_US) {
            return out_of_range("transition_delay", self.transition, "one of 0, 16, 32, 64, 128, 256 us");
        }
        match self.initial_mbps {
            Some(mbps) if !INITIAL_MBPS.contains(&mbps) => {
                out_of_range("initial_frame_rate", format!("{mbps} Mbit/s"), "one of 6, 12, 24 Mbit/s")
            }
            _ => Ok(()),
        }
    }

    /// Mode of the initial control frame before data in mode `data`.
    pub fn initial_mode(&self, data: Mode) -> Mode {
        let modes = [data.slowest_control(), data.middle_control(), data.fastest_control()];
        let of = |mbps| INITIAL_MBPS.iter().position(|&known| known == mbps);
        self.initial_mbps.and_then(of).map_or_else(|| data.control(), |place| modes[place])
    }

    /// Durations of the initial control frame before data in mode `data`, and of its CTS, which is sent at 6 Mbit/s
    /// (IEEE 802.11ax-2021 clause 26.2.6.3).
    pub fn initial(&self, data: Mode) -> [SimTime; 2] {
        let frame = self.initial_mode(data).ppdu(mu_rts_bytes(data.standard(), 1), Durations::Standard);
        [frame + self.padding, data.slowest_control().ppdu(ANSWER_BYTES, Durations::Standard)]
    }

    /// Bytes of padding in the initial control frame before data in mode `data` (equation 35-1).
    pub fn padding_bytes(&self, data: Mode) -> u32 {
        let bits_per_us = self.initial_mode(data).rate_bps() / 1e6;
        (self.padding.as_nanos() as f64 / 1000.0 * bits_per_us / 8.0) as u32
    }

    /// Time from the end of an exchange of the access point until the station listens on all links: it first waits for
    /// a further frame, then switches its radio.
    pub fn silence(&self, band: Band) -> SimTime {
        band.sifs() + SLOT + START_DELAY + self.transition
    }
}

#[cfg(test)]
mod tests {
    use super::super::modes::Standard;
    use super::*;

    fn mode(band: Band, mcs: u8) -> Mode {
        Mode::new(Standard::Be, band, mcs, 1, 40, 800).unwrap()
    }

    /// An initial control frame (MU-RTS) of 28 + 5 + 5 bytes lasts 20 + 4 ceil((22 + 8 x 38) / (4 r)) us, computed by
    /// hand as 76, 48 and 36 us at 6, 12 and 24 Mbit/s, and a CTS of 14 bytes 44 us; at 2.4 GHz each has 6 us of signal
    /// extension.
    #[test]
    fn initial_control_frames_last_as_by_hand() {
        for (mbps, us) in [(6, 76), (12, 48), (24, 36)] {
            for padding in PADDINGS_US {
                let of = EmlsrConfig {
                    padding: SimTime::from_micros(padding),
                    initial_mbps: Some(mbps),
                    ..EmlsrConfig::default()
                };
                assert_eq!(of.check(), Ok(()));
                let [frame, cts] = of.initial(mode(Band::Ghz6, 11)).map(SimTime::as_nanos);
                assert_eq!((frame, cts), ((us + padding) * 1000, 44_000), "{mbps} Mbit/s");
                let [frame, cts] = of.initial(mode(Band::Ghz2, 11)).map(SimTime::as_nanos);
                assert_eq!((frame, cts), ((us + padding + 6) * 1000, 50_000), "{mbps} Mbit/s");
                // A padded frame lasts as long as any frame of its length.
                let bytes = 38 + of.padding_bytes(mode(Band::Ghz6, 11));
                let whole = of.initial_mode(mode(Band::Ghz6, 11)).ppdu(bytes, Durations::Standard);
                assert_eq!(whole.as_nanos(), (us + padding) * 1000);
            }
        }
        // Without a configured rate it has the mode of other control frames.
        let usual = EmlsrConfig { padding: SimTime::ZERO, ..EmlsrConfig::default() };
        let us = |mcs| usual.initial(mode(Band::Ghz5, mcs))[0].as_nanos() / 1000;
        assert_eq!([us(0), us(1), us(4)], [76, 48, 36]);
        assert_eq!(usual.silence(Band::Ghz5), SimTime::from_micros(16 + 9 + 20 + 64));
    }

    #[test]
    fn what_no_station_announces_is_refused() {
        let good = EmlsrConfig::default();
        let said = |of: EmlsrConfig| of.check().unwrap_err().to_string();
        assert_eq!(good.check(), Ok(()));
        assert_eq!(
            said(EmlsrConfig { padding: SimTime::from_micros(16), ..good }),
            "padding_delay = 0.000016 s: must be one of 0, 32, 64, 128, 256 us"
        );
        assert_eq!(
            said(EmlsrConfig { transition: SimTime::from_micros(512), ..good }),
            "transition_delay = 0.000512 s: must be one of 0, 16, 32, 64, 128, 256 us"
        );
        assert_eq!(
            said(EmlsrConfig { initial_mbps: Some(54), ..good }),
            "initial_frame_rate = 54 Mbit/s: must be one of 6, 12, 24 Mbit/s"
        );
    }
}
