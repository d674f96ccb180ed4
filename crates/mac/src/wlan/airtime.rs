//! Shares of the air among stations with different rates, with and without airtime fairness (T. Høiland-Jørgensen et
//! al., USENIX ATC 2017, equations 1 to 5).

use super::modes::Mode;
use crossfade_core::SimTime;

/// Station with an endless backlog, in the model of airtime shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirtimeUser {
    /// Mean number of packets in its aggregates.
    pub packets: f64,
    /// Bytes that a packet takes in an aggregate, headers and padding included.
    pub bytes: f64,
    /// Payload bits of a packet, which count for the throughput.
    pub bits: f64,
    /// Bit rate of its transmissions in bit/s.
    pub rate_bps: f64,
}

/// Rule by which stations share the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Equal numbers of transmissions: the slowest station takes most of the air.
    Turns,
    /// Equal airtime for each station.
    Airtime,
}

/// Overhead of every transmission in addition to its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Duration of the preamble, which counts as transmission time.
    pub preamble: SimTime,
    /// Duration of interframe spaces, backoff and acknowledgement, which do not count as transmission time.
    pub around: SimTime,
}

impl AirtimeUser {
    /// Duration of a transmission of the station in seconds.
    fn transmission_s(&self, overhead: Overhead) -> f64 {
        overhead.preamble.as_secs_f64() + 8.0 * self.packets * self.bytes / self.rate_bps
    }

    /// Throughput in bit/s if the station has the air to itself.
    fn alone_bps(&self, overhead: Overhead) -> f64 {
        self.packets * self.bits / (self.transmission_s(overhead) + overhead.around.as_secs_f64())
    }
}

/// For each station, its share of the transmission time and its throughput in bit/s.
pub fn shares(users: &[AirtimeUser], overhead: Overhead, sharing: Sharing) -> Vec<(f64, f64)> {
    let total: f64 = users.iter().map(|user| user.transmission_s(overhead)).sum();
    let share = |user: &AirtimeUser| match sharing {
        Sharing::Turns => user.transmission_s(overhead) / total,
        Sharing::Airtime => 1.0 / users.len() as f64,
    };
    users.iter().map(|user| (share(user), share(user) * user.alone_bps(overhead))).collect()
}

/// Mean time around a transmission that a block acknowledgement follows: AIFS, half of the first contention window,
/// SIFS and the block acknowledgement.
pub fn around(mode: Mode, category: super::edca::Category, answer: super::edca::BlockAckFrame) -> SimTime {
    let band = mode.band();
    let wait = super::edca::SLOT * u64::from(category.windows[0]);
    category.aifs(band) + SimTime::from_nanos(wait.as_nanos() / 2) + band.sifs() + answer.duration(mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::{BEST_EFFORT, Band, BlockAckFrame, EDCA, Standard};

    /// Airtime shares and throughputs equal the model's columns of the paper's table 1: two stations at 144.4 Mbit/s
    /// and one at 7.2 Mbit/s, with the measured aggregates.
    #[test]
    fn the_model_of_the_anomaly_is_repeated() {
        let mode = Mode::new(Standard::N, Band::Ghz5, 7, 2, 20, 400).unwrap();
        let overhead = Overhead {
            preamble: SimTime::from_micros(32),
            around: around(mode, EDCA[BEST_EFFORT], BlockAckFrame::of_window(64)),
        };
        let users = |bytes: [f64; 3]| {
            [144.4e6, 144.4e6, 7.2e6]
                .into_iter()
                .zip(bytes)
                .map(|(rate_bps, all)| AirtimeUser {
                    packets: all / 1500.0,
                    bytes: 1500.0,
                    bits: 1472.0 * 8.0,
                    rate_bps,
                })
                .collect::<Vec<_>>()
        };
        for (bytes, sharing, air, expected) in [
            ([6892.0, 7833.0, 2914.0], Sharing::Turns, [0.10, 0.11, 0.79], [9.7, 11.4, 5.1]),
            ([28434.0, 28557.0, 2914.0], Sharing::Airtime, [0.33, 0.33, 0.33], [42.2, 42.3, 2.2]),
        ] {
            for ((share, rate), (air, expected)) in
                shares(&users(bytes), overhead, sharing).into_iter().zip(air.into_iter().zip(expected))
            {
                assert!((share - air).abs() < 0.006, "{share} of the air for {air}");
                assert!((rate / 1e6 / expected - 1.0).abs() < 0.1, "{rate} for {expected} Mbit/s");
            }
        }
    }
}
