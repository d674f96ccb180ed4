//! Profiles of measured satellite links, with the source of each number.

use super::config::{BaseDelay, DirectionConfig, SatelliteConfig, Spike};
use super::gate::Gate;
use crossfade_core::SimTime;

/// Parameters of a satellite link in both directions, taken from measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Parameters that both directions share.
    pub shared: SatelliteConfig,
    /// Parameters of the direction from the gateway to the terminal.
    pub down: DirectionConfig,
    /// Parameters of the direction from the terminal to the gateway.
    pub up: DirectionConfig,
    /// Sizes of the queues of both directions, down and up, as the time that a full queue takes to empty at the mean
    /// rate.
    pub queues: [SimTime; 2],
}

const fn ms(millis: u64) -> SimTime {
    SimTime::from_millis(millis)
}

impl Profile {
    /// A Starlink terminal at rest, 2025.
    ///
    /// The source, unless stated otherwise, is the public example of `LeoReplayer` (SpaceNetLab/LeoCC, MIT; `LeoCC`,
    /// SIGCOMM 2025). Rates and delays are those of its first 60 s; the second 60 s were kept for validation. Values at
    /// boundaries are means over all eight, since the first four say too little about the last four. The record does
    /// not name its direction: its structure is used for both directions, its rate for the downlink, and the rate of
    /// the uplink is [another record's](Self::starlink_autobahn_2024).
    pub fn starlink_leocc_2025() -> Self {
        let shared = SatelliteConfig {
            // Boundaries at :12, :27, :42 and :57 of each minute, all terminals together.
            slot: ms(15_000),
            offset: None,
            // Boundaries at 8.77 s and each 15 s from there on. The last opportunities before them come 71 to 83 ms
            // before, 77 ms in the mean. Four outages end by the boundary, 10 to 24 ms before it, the others 7, 17, 22
            // and 57 ms after it.
            gate: Gate { outage: ms(77), ramp: ms(600) },
            // A guess: no available measurement shows how often the satellite changes.
            handover: 0.5,
            // Fits the outages of all available records, 54 to 135 ms.
            longer_outage: ms(30),
            // Half of the round trips of pings, off the boundaries: means of 10.0 to 11.9 ms in five slots, of which
            // half of the time between two grants is the wait for them, 2 ms. Uniform with the mean and the deviation
            // of the five.
            base_delay: BaseDelay::Uniform([SimTime::from_micros(7700), SimTime::from_micros(10_100)]),
            // Pings around a boundary took no longer than their wait for the end of the outage explains.
            spike: Spike::NONE,
            obstructed: 0.0,
            obstruction: ms(2000),
        };
        let down = DirectionConfig {
            // 48.2 Mbit/s in the mean, of which the boundaries take 1.6 %.
            rate_bps: 49e6,
            // Five slots of 37.7 to 59.6 Mbit/s.
            spread_between: 0.19,
            slot_correlation: 0.0,
            // Windows of 100 ms within a slot have a relative deviation of 0.11 and correlations of 0.55, 0.45 and 0.22
            // after 0.1, 0.2 and 0.5 s: half of their variance lasts for some steps, half comes from single grants.
            spread_within: 0.09,
            step_correlation: 0.82,
            // The autocorrelation of what may be sent in each ms peaks at 8, 16, 24, 32, 40 and 48 ms (0.56, 0.48,
            // 0.38, 0.39, 0.31, 0.29), and less at 4, 12 and 20 (0.11 to 0.13).
            grant: ms(8),
            half_grant: 0.15,
            grant_spread: 0.25,
            grant_moves: 0.3,
            // LeoReplayer's README: 1e-4 down, 2e-3 up for senders of a low rate.
            loss: 1e-4,
            outage_loss: 0.0,
        };
        let up = DirectionConfig { rate_bps: 16e6, loss: 2e-3, ..down.clone() };
        // Measurements under load on the bufferbloat list: 100 to 200 ms down, 400 ms up.
        Self { shared, down, up, queues: [ms(200), ms(400)] }
    }

    /// A Starlink terminal on a moving car, 2024.
    ///
    /// The source, unless stated otherwise, is the data set sys-uos/Starlink-on-the-Autobahn: 4,861 samples of 1 s (CC
    /// BY-SA 4.0), of which only summaries are used. Parameters that samples of 1 s cannot show are those of [a
    /// terminal at rest](Self::starlink_leocc_2025).
    pub fn starlink_autobahn_2024() -> Self {
        let rest = Self::starlink_leocc_2025();
        let shared = SatelliteConfig {
            // arXiv 2601.08439, one-way delays 500 times a second: spikes of 75 to 140 ms at boundaries; APNIC: round
            // trips 30 to 50 ms longer.
            spike: Spike { least: ms(20), beyond: ms(8), most: ms(60), after: ms(50) },
            // The uplink is below 1 Mbit/s in 6.7 % of the seconds.
            obstructed: 0.067,
            // Bridges and trees: 1 to 3 s.
            obstruction: ms(2000),
            ..rest.shared
        };
        let down = DirectionConfig {
            // 217.7 Mbit/s in the mean.
            rate_bps: 237e6,
            // Quartiles of 141 and 291 Mbit/s.
            spread_between: 0.5,
            ..rest.down
        };
        // 15.6 Mbit/s in the mean.
        let up = DirectionConfig { rate_bps: 17e6, spread_between: 0.4, ..rest.up };
        Self { shared, down, up, ..rest }
    }

    /// A satellite in geostationary orbit, without slot boundaries.
    ///
    /// Source: the emulated paths of Endres et al., "Performance of QUIC implementations over geostationary satellite
    /// links" (arXiv 2202.08228): 20 Mbit/s down, 2 Mbit/s up, a round trip of 600 ms, of which 477 to 542 ms are
    /// propagation over four legs; no losses (their second path loses 1 %).
    pub fn geo() -> Self {
        let shared = SatelliteConfig {
            slot: ms(15_000),
            offset: Some(SimTime::ZERO),
            gate: Gate::OPEN,
            handover: 0.0,
            longer_outage: SimTime::ZERO,
            base_delay: BaseDelay::Uniform([ms(300); 2]),
            spike: Spike::NONE,
            obstructed: 0.0,
            obstruction: ms(2000),
        };
        let down = DirectionConfig {
            rate_bps: 20e6,
            spread_between: 0.0,
            slot_correlation: 0.0,
            spread_within: 0.0,
            step_correlation: 0.0,
            grant: SimTime::ZERO,
            half_grant: 0.0,
            grant_spread: 0.0,
            grant_moves: 0.0,
            loss: 0.0,
            outage_loss: 0.0,
        };
        let up = DirectionConfig { rate_bps: 2e6, ..down.clone() };
        // One bandwidth-delay product.
        Self { shared, down, up, queues: [ms(600); 2] }
    }
}
