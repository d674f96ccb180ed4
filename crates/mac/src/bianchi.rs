//! Bianchi's saturation throughput (IEEE JSAC 18(3), 2000), also with finite retries.
//!
//! n stations within range of each other always have a packet. Each sends in a backoff slot with probability tau, and
//! its frame collides with probability p = 1 - (1 - tau)^(n-1), independent of earlier attempts. With attempts up to M
//! (Wu et al., INFOCOM 2002; M infinite is the form of 2000)
//!
//! ```text
//! tau = sum of p^j over the attempts j / sum of p^j (W_j + 1)/2,    W_j = min(2^j (cw_min + 1), cw_max + 1)
//! ```
//!
//! A backoff slot is empty, or holds a success or a collision. A success lasts the exchange and DIFS. A collision lasts
//! its longest frame and EIFS, since no station decoded it; Bianchi's printed form has DIFS there, as this function has
//! without [`DcfConfig::eifs`].

use crate::error::{MeshError, out_of_range};
use crate::timing::DcfConfig;

/// Limit of the transmissions of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// No limit, as in Bianchi's formula of 2000.
    Unlimited,
    /// As many transmissions as [`DcfConfig::short_retries`], after which the packet is dropped.
    Finite,
}

/// Steady state of saturated stations, each of which always has a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Probability that a station transmits in a backoff slot.
    pub tau: f64,
    /// Probability that a transmission collides.
    pub collision_probability: f64,
    /// Packets delivered per second, of all stations together.
    pub packets_per_s: f64,
    /// Delivered bits per second of all stations together: packets without MAC headers.
    pub throughput_bps: f64,
}

/// Saturation throughput of `stations` that send packets of `bytes`, by Bianchi's model.
///
/// # Errors
/// If there are no stations or more than 10,000, packets have no bytes, or the configuration is invalid.
pub fn saturation(
    config: &DcfConfig,
    stations: usize,
    bytes: u32,
    retries: Retries,
) -> Result<Saturation, MeshError> {
    let timing = config.timing()?;
    if !(1..=10_000).contains(&stations) {
        return out_of_range("stations", stations, "between 1 and 10000");
    }
    if bytes == 0 {
        return out_of_range("packet_size", "0 B", "above 0 B");
    }
    let attempts = match retries {
        Retries::Finite => Some(config.short_retries),
        Retries::Unlimited => None,
    };
    let others = (stations - 1) as f64;
    let collides = |tau: f64| 1.0 - libm::pow(1.0 - tau, others);
    // tau falls with p and p rises with tau: one solution, between 0 and 1.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let tau = f64::midpoint(low, high);
        if attempt_probability([config.cw_min, config.cw_max], attempts, collides(tau)) > tau {
            low = tau;
        } else {
            high = tau;
        }
    }
    let tau = f64::midpoint(low, high);
    let none = libm::pow(1.0 - tau, stations as f64);
    let one = stations as f64 * tau * libm::pow(1.0 - tau, others);
    let success = (timing.exchange(bytes) + timing.difs).as_secs_f64();
    let longest = if config.rts { timing.rts } else { timing.data(bytes) };
    let collision = (longest + timing.eifs).as_secs_f64();
    let mean_slot = none * timing.slot.as_secs_f64() + one * success + (1.0 - none - one) * collision;
    let packets_per_s = one / mean_slot;
    let throughput_bps = packets_per_s * 8.0 * f64::from(bytes);
    Ok(Saturation { tau, collision_probability: collides(tau), packets_per_s, throughput_bps })
}

/// Probability tau that a station transmits in a backoff slot, given the collision probability `p`, the first and the
/// largest contention window, and the maximum number of attempts (`None`: no limit).
pub(crate) fn attempt_probability([first, largest]: [u32; 2], attempts: Option<u32>, p: f64) -> f64 {
    let mut windows = f64::from(first) + 1.0;
    let most = f64::from(largest) + 1.0;
    let (mut sent, mut waited, mut reaches) = (0.0, 0.0, 1.0);
    for attempt in 0.. {
        if attempts == Some(attempt) {
            break;
        }
        if attempts.is_none() && windows >= most {
            // All further attempts have the same window: a geometric series.
            let rest = reaches / (1.0 - p).max(f64::MIN_POSITIVE);
            sent += rest;
            waited += rest * f64::midpoint(most, 1.0);
            break;
        }
        sent += reaches;
        waited += reaches * f64::midpoint(windows, 1.0);
        reaches *= p;
        windows = (2.0 * windows).min(most);
    }
    sent / waited
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set of Bianchi's table II (FHSS, 1 Mbit/s, packets of 8184 bits, W = 32, m = 5), used only for tau and p, which
    /// do not depend on the physical layer.
    fn bianchi_2000(n: usize) -> Saturation {
        saturation(&DcfConfig::default(), n, 1023, Retries::Unlimited).unwrap()
    }

    #[test]
    fn tau_solves_the_printed_equations() {
        for n in [1_u32, 2, 5, 10, 50] {
            let Saturation { tau, collision_probability: p, .. } = bianchi_2000(n as usize);
            // Equation (7): tau = 2 (1 - 2p) / ((1 - 2p)(W + 1) + p W (1 - (2p)^m)).
            let (w, m) = (32.0, 5);
            let printed =
                2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)));
            assert!((tau - printed).abs() < 1e-12, "n {n}: {tau}, {printed}");
            assert!((p - (1.0 - (1.0 - tau).powf(f64::from(n) - 1.0))).abs() < 1e-12);
        }
    }

    #[test]
    fn a_lone_station_waits_for_its_backoff() {
        // DIFS, 15.5 slots on average, the exchange.
        let config = DcfConfig::default();
        let timing = config.timing().unwrap();
        let alone = saturation(&config, 1, 2312, Retries::Finite).unwrap();
        let period = (timing.difs + timing.exchange(2312)).as_secs_f64() + 15.5 * 20e-6;
        assert!((alone.packets_per_s * period - 1.0).abs() < 1e-12);
    }

    #[test]
    fn retries_that_end_send_more_often() {
        let tau = |retries| saturation(&DcfConfig::default(), 20, 1000, retries).unwrap().tau;
        // A station that drops its packet starts again with the smallest window, so it transmits more often.
        assert!(tau(Retries::Finite) > tau(Retries::Unlimited));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |n, bytes| {
            let config = DcfConfig::default();
            saturation(&config, n, bytes, Retries::Finite).unwrap_err().to_string()
        };
        assert_eq!(error(0, 100), "stations = 0: must be between 1 and 10000");
        assert_eq!(error(5, 0), "packet_size = 0 B: must be above 0 B");
    }
}
