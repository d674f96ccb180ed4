//! Parameters of the 802.11 distributed coordination function, and the durations that follow, to the nanosecond.

use crate::error::{MeshError, out_of_range, positive};
use crossfade_core::SimTime;

/// Parameters of the 802.11 distributed coordination function (clause 9.2 of the 1999 edition) and its physical layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcfConfig {
    /// Duration of a backoff slot.
    pub slot: SimTime,
    /// SIFS: time between the frames of one exchange.
    pub sifs: SimTime,
    /// Duration of the preamble and PLCP header before every frame.
    pub preamble: SimTime,
    /// Bit rate of DATA frames in bit/s.
    pub data_rate_bps: f64,
    /// Bit rate of RTS, CTS and ACK frames in bit/s.
    pub basic_rate_bps: f64,
    /// True if an RTS/CTS exchange precedes DATA.
    pub rts: bool,
    /// Smallest contention window: the first backoff is drawn from 0 to `cw_min` slots; each failure doubles the window
    /// (2 cw + 1).
    pub cw_min: u32,
    /// Largest contention window in slots.
    pub cw_max: u32,
    /// Maximum number of transmissions of an RTS, or of DATA without RTS, before the packet is dropped.
    pub short_retries: u32,
    /// Maximum number of transmissions of DATA after an RTS before the packet is dropped.
    pub long_retries: u32,
    /// True if stations wait EIFS instead of DIFS after a frame that they could not decode.
    pub eifs: bool,
}

impl Default for DcfConfig {
    /// 802.11b with long preamble, DATA at 11 Mbit/s and control frames at 1 Mbit/s.
    fn default() -> Self {
        Self {
            slot: SimTime::from_micros(20),
            sifs: SimTime::from_micros(10),
            preamble: SimTime::from_micros(192),
            data_rate_bps: 11e6,
            basic_rate_bps: 1e6,
            rts: true,
            cw_min: 31,
            cw_max: 1023,
            short_retries: 7,
            long_retries: 4,
            eifs: true,
        }
    }
}

const RTS_BYTES: u32 = 20;
const CTS_BYTES: u32 = 14;
const ACK_BYTES: u32 = 14;
/// Bytes of the header of DATA: a MAC header with four addresses, and the FCS.
const DATA_HEADER_BYTES: u32 = 34;

/// Largest packet in a DATA frame, in bytes (IEEE 802.11-1999, 7.1.2).
pub const MAX_MSDU_BYTES: u32 = 2312;

/// Durations of frames and interframe spaces of a [`DcfConfig`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Duration of a backoff slot.
    pub slot: SimTime,
    /// SIFS: time between the frames of one exchange.
    pub sifs: SimTime,
    /// DIFS: time for which the medium must be idle before backoff slots count, SIFS and two slots.
    pub difs: SimTime,
    /// EIFS, the idle time after a frame that could not be decoded: SIFS, an ACK at 1 Mbit/s and DIFS (9.2.3.4). Equal
    /// to DIFS if [`DcfConfig::eifs`] is false.
    pub eifs: SimTime,
    /// Duration of an RTS frame.
    pub rts: SimTime,
    /// Duration of a CTS frame.
    pub cts: SimTime,
    /// Duration of an ACK frame.
    pub ack: SimTime,
    preamble: SimTime,
    data_rate_bps: f64,
    uses_rts: bool,
}

impl DcfConfig {
    /// Durations that follow from these parameters.
    ///
    /// # Errors
    /// If a parameter is outside its range: rates 1 kbit/s to 1000 Gbit/s, windows 1 to 65535 with `cw_max` at least
    /// `cw_min`, retries 1 to 255, slot, SIFS and preamble above 0 and at most 1 s.
    pub fn timing(&self) -> Result<Timing, MeshError> {
        positive("data_rate", self.data_rate_bps)?;
        positive("basic_rate", self.basic_rate_bps)?;
        for (parameter, span) in [("slot", self.slot), ("sifs", self.sifs), ("preamble", self.preamble)] {
            if !(SimTime::from_nanos(1)..=SimTime::from_millis(1000)).contains(&span) {
                return out_of_range(parameter, span, "above 0 s and at most 1 s");
            }
        }
        for (parameter, rate) in [("data_rate", self.data_rate_bps), ("basic_rate", self.basic_rate_bps)] {
            if !(1e3..=1e12).contains(&rate) {
                return out_of_range(parameter, format!("{rate} bit/s"), "between 1 kbit/s and 1000 Gbit/s");
            }
        }
        if !(1..=65_535).contains(&self.cw_min) {
            return out_of_range("cw_min", self.cw_min, "between 1 and 65535");
        }
        if !(self.cw_min..=65_535).contains(&self.cw_max) {
            return out_of_range(
                "cw_max",
                self.cw_max,
                format!("between cw_min, {}, and 65535", self.cw_min),
            );
        }
        for (parameter, value) in [("retries.short", self.short_retries), ("retries.long", self.long_retries)]
        {
            if !(1..=255).contains(&value) {
                return out_of_range(parameter, value, "between 1 and 255");
            }
        }
        let basic = |bytes| self.preamble + SimTime::to_transmit(bytes, self.basic_rate_bps);
        let difs = self.sifs + self.slot * 2;
        let long = self.sifs + self.preamble + SimTime::to_transmit(ACK_BYTES, 1e6) + difs;
        Ok(Timing {
            slot: self.slot,
            sifs: self.sifs,
            difs,
            eifs: if self.eifs { long } else { difs },
            rts: basic(RTS_BYTES),
            cts: basic(CTS_BYTES),
            ack: basic(ACK_BYTES),
            preamble: self.preamble,
            data_rate_bps: self.data_rate_bps,
            uses_rts: self.rts,
        })
    }
}

impl Timing {
    /// Duration of a DATA frame with a packet of `bytes`.
    pub fn data(&self, bytes: u32) -> SimTime {
        self.preamble + SimTime::to_transmit(bytes.saturating_add(DATA_HEADER_BYTES), self.data_rate_bps)
    }

    /// Duration of an exchange for a packet of `bytes`, from the start of its first frame to the end of the ACK.
    pub fn exchange(&self, bytes: u32) -> SimTime {
        let call = if self.uses_rts { self.rts + self.cts + self.sifs * 2 } else { SimTime::ZERO };
        call + self.data(bytes) + self.sifs + self.ack
    }

    /// Mean round trip in seconds of a lone packet of `bytes` over `hops` hops and of its answer of `answer_bytes`,
    /// which bounds the throughput of a window of one packet. Each exchange follows DIFS and half of the smallest
    /// window.
    pub fn lone_round_trip_s(&self, config: &DcfConfig, hops: usize, bytes: u32, answer_bytes: u32) -> f64 {
        let wait = self.difs.as_secs_f64() + f64::from(config.cw_min) / 2.0 * self.slot.as_secs_f64();
        let exchanges = (self.exchange(bytes) + self.exchange(answer_bytes)).as_secs_f64();
        hops as f64 * (exchanges + 2.0 * wait)
    }
}

/// Parameters and durations common to all stations of a mesh.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) config: DcfConfig,
    pub(crate) timing: Timing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_802_11b_with_the_long_preamble() {
        let us = SimTime::from_micros;
        let timing = DcfConfig::default().timing().unwrap();
        assert_eq!((timing.difs, timing.eifs), (us(50), us(364)));
        assert_eq!((timing.rts, timing.cts, timing.ack), (us(352), us(304), us(304)));
        // 192 us + 2346 B at 11 Mbit/s.
        assert_eq!(timing.data(2312), SimTime::from_nanos(1_898_182));
        assert_eq!(timing.exchange(2312), us(352 + 304 + 304 + 30) + timing.data(2312));
        // The round trip of 4.83 ms a hop: 4.8440 ms by the least windows of ns-2.
        let config = DcfConfig::default();
        let round_trip = timing.lone_round_trip_s(&config, 8, 2312, 40);
        assert!((round_trip / 8.0 - 4.844e-3).abs() < 1e-6, "{round_trip}");
        // A faster basic rate shortens the calls, not the EIFS.
        let fast = DcfConfig { basic_rate_bps: 2e6, rts: false, ..config }.timing().unwrap();
        assert_eq!((fast.rts, fast.eifs), (us(272), us(364)));
        assert_eq!(fast.exchange(40), fast.data(40) + us(10) + fast.ack);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |config: DcfConfig| config.timing().unwrap_err().to_string();
        let config = DcfConfig::default();
        assert_eq!(error(DcfConfig { data_rate_bps: 0.0, ..config }), "data_rate = 0: must be above 0");
        assert_eq!(
            error(DcfConfig { basic_rate_bps: 1e-3, ..config }),
            "basic_rate = 0.001 bit/s: must be between 1 kbit/s and 1000 Gbit/s"
        );
        assert_eq!(
            error(DcfConfig { short_retries: 0, ..config }),
            "retries.short = 0: must be between 1 and 255"
        );
        assert_eq!(
            error(DcfConfig { cw_max: 15, ..config }),
            "cw_max = 15: must be between cw_min, 31, and 65535"
        );
    }
}
