//! Throughput of saturated stations whose exchanges are aggregates (G. Bianchi, IEEE JSAC 18(3), 2000).
//!
//! n stations within range of each other always have a packet. A slot of the channel is empty, or holds a success of
//! length `T_s` or a collision of length `T_c`. The caller gives these durations: with aggregates a collision lasts as
//! long as a whole one.

use crate::bianchi::{Saturation, attempt_probability};
use crate::error::{MeshError, out_of_range};

/// Treatment of the backoff slot after a success, in which forms of Bianchi's model differ. They agree for a single
/// station, whose next counter begins with its own draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Form printed in 2000, and that of EDCA, where a busy backoff slot counts as one: no extra slot follows.
    Plain,
    /// An empty slot follows a success, since stations resume their counters a slot later: ns-3's reference for
    /// 802.11ax.
    Slot,
    /// An empty slot follows a success unless the winner draws 0 and transmits again: ns-3's reference for 802.11a, b
    /// and g, and the behaviour of DCF.
    SlotOrAgain,
}

/// Saturated stations and the durations of their exchanges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturated {
    /// Number of stations.
    pub stations: usize,
    /// Smallest and largest contention window, in slots.
    pub windows: [u32; 2],
    /// Duration of an empty slot in seconds.
    pub slot_s: f64,
    /// Duration of a success in seconds, up to the beginning of the next slot.
    pub success_s: f64,
    /// Duration of a collision in seconds, up to the beginning of the next slot.
    pub collision_s: f64,
    /// Number of packets in a successful exchange.
    pub packets: u32,
    /// Payload bits in a successful exchange.
    pub bits: f64,
}

impl Saturated {
    /// Throughput of all stations together in steady state; for a single station equal in all forms.
    ///
    /// # Errors
    /// If there are no stations or more than 10,000, the windows are not positive and ascending, or a duration is not
    /// positive.
    pub fn throughput(&self, form: Form) -> Result<Saturation, MeshError> {
        let Self { stations, windows, slot_s, success_s, collision_s, packets, bits } = *self;
        if !(1..=10_000).contains(&stations) {
            return out_of_range("stations", stations, "between 1 and 10000");
        }
        if windows[0] == 0 || windows[1] < windows[0] {
            return out_of_range("windows", format!("{windows:?}"), "1 or more, the larger one last");
        }
        for (name, span) in [("slot", slot_s), ("success", success_s), ("collision", collision_s)] {
            if !(span > 0.0 && span.is_finite()) {
                return out_of_range(name, span, "above 0 s");
            }
        }
        let others = (stations - 1) as f64;
        let collides = |tau: f64| 1.0 - libm::pow(1.0 - tau, others);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..100 {
            let tau = f64::midpoint(low, high);
            let wanted = attempt_probability(windows, None, collides(tau));
            (low, high) = if wanted > tau { (tau, high) } else { (low, tau) };
        }
        let tau = f64::midpoint(low, high);
        let none = libm::pow(1.0 - tau, stations as f64);
        let one = stations as f64 * tau * libm::pow(1.0 - tau, others);
        let again = 1.0 - 1.0 / (f64::from(windows[0]) + 1.0);
        let (success, of_one) = match form {
            _ if stations == 1 => (success_s, 1.0),
            Form::Plain => (success_s, 1.0),
            Form::Slot => (success_s + slot_s, 1.0),
            Form::SlotOrAgain => (success_s / again + slot_s, 1.0 / again),
        };
        let mean_slot = none * slot_s + one * success + (1.0 - none - one) * collision_s;
        let successes_per_s = one * of_one / mean_slot;
        Ok(Saturation {
            tau,
            collision_probability: collides(tau),
            packets_per_s: successes_per_s * f64::from(packets),
            throughput_bps: successes_per_s * bits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::{Ampdu, AmpduLimits, Band, BlockAckFrame, Durations, MPDU_OVERHEAD, Mode, Standard};

    fn us(time: crossfade_core::SimTime) -> f64 {
        time.as_secs_f64() * 1e6
    }

    fn mbps(stations: usize, [success, collision]: [f64; 2], bits: f64, form: Form) -> f64 {
        let saturated = Saturated {
            stations,
            windows: [15, 1023],
            slot_s: 9e-6,
            success_s: success * 1e-6,
            collision_s: collision * 1e-6,
            packets: 1,
            bits,
        };
        saturated.throughput(form).unwrap().throughput_bps / 1e6
    }

    /// The normalised throughput S of the paper's FHSS set equals an independent computation: basic access and RTS/CTS,
    /// W and m 32, 3; 32, 5; 128, 3.
    #[test]
    fn the_set_of_2000() {
        let n = [5, 10, 20, 30, 50];
        for (windows, basic, rts) in [
            ([31, 255], [0.8097, 0.7532, 0.6788, 0.6273, 0.5529], [0.8342, 0.8371, 0.8356, 0.8329, 0.8270]),
            ([31, 1023], [0.8102, 0.7579, 0.6975, 0.6603, 0.6109], [0.8342, 0.8370, 0.8362, 0.8346, 0.8317]),
            ([127, 1023], [0.8250, 0.8263, 0.7981, 0.7702, 0.7252], [0.7979, 0.8217, 0.8327, 0.8355, 0.8363]),
        ] {
            for ([success, collision], expected) in [([8982e-6, 8713e-6], basic), ([9568e-6, 417e-6], rts)] {
                for (stations, s) in n.into_iter().zip(expected) {
                    let all = Saturated {
                        stations,
                        windows,
                        slot_s: 50e-6,
                        success_s: success,
                        collision_s: collision,
                        packets: 1,
                        bits: 8184.0,
                    };
                    let found = all.throughput(Form::Plain).unwrap().throughput_bps / 1e6;
                    assert!((found - s).abs() < 6e-5, "{windows:?}, {stations}: {found} for {s}");
                }
            }
        }
    }

    /// The form with a slot after a success gives ns-3's references for 802.11ax (script `bianchi11ax.py`): 1500 bytes
    /// and 38 of headers, no aggregation, 5, 10, 20 and 50 stations; after a collision EIFS with a propagation delay of
    /// 0.1 us, or DIFS without.
    #[test]
    fn the_references_of_ns3_for_ax_have_a_slot_after_a_success() {
        let n = [5, 10, 20, 50];
        let check = |width, mcs, eifs, expected: [f64; 4]| {
            let mode = Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width, 800).unwrap();
            let data = us(mode.ppdu(1538, Durations::Standard));
            let ack = us(mode.control().ppdu(14, Durations::Standard));
            let delay = if eifs { 0.1 } else { 0.0 };
            let collision = data + 34.0 + if eifs { 16.0 + ack + delay } else { 0.0 };
            let success = data + 16.0 + ack + 34.0 + delay;
            for (n, expected) in n.into_iter().zip(expected) {
                let found = mbps(n, [success, collision], 12_000.0, Form::Slot);
                assert!(
                    (found / expected - 1.0).abs() < 3e-5,
                    "{width} MHz MCS {mcs}, {n}: {found} for {expected}"
                );
            }
        };
        check(20, 0, true, [6.3381, 5.8172, 5.3146, 4.6317]);
        check(20, 4, true, [25.8947, 24.0721, 22.1738, 19.4784]);
        check(20, 7, true, [34.171, 31.9398, 29.5261, 26.0271]);
        check(20, 11, true, [41.8065, 39.2749, 36.4282, 32.2164]);
        check(80, 0, true, [19.6542, 18.1962, 16.7168, 14.6471]);
        check(80, 7, true, [53.8362, 50.9837, 47.5418, 42.2678]);
        check(80, 11, true, [58.0092, 55.0896, 51.4672, 45.8436]);
        check(20, 0, false, [6.3746, 5.867, 5.3742, 4.7004]);
        check(20, 11, false, [43.0043, 41.0039, 38.5865, 34.8154]);
        check(80, 11, false, [60.3411, 58.5527, 55.8834, 51.2922]);
    }

    /// The form in which the winner may transmit again gives ns-3's references for 802.11a (`Bianchi11a.m`), whose root
    /// lies on a coarse grid.
    #[test]
    fn the_references_of_ns3_for_a_let_the_winner_send_again() {
        let check = |rate, expected: [f64; 4]| {
            let mode = Mode::by_index(Standard::A, Band::Ghz5, rate, 20, 800).unwrap();
            let data = us(mode.ppdu(1534, Durations::Standard));
            let ack = us(mode.control().ppdu(14, Durations::Standard));
            for (n, expected) in [5, 10, 20, 50].into_iter().zip(expected) {
                let found = mbps(n, [data + 16.0 + ack + 34.0, data + 34.0], 12_000.0, Form::SlotOrAgain);
                assert!((found / expected - 1.0).abs() < 7e-4, "{rate} Mbit/s, {n}: {found} for {expected}");
            }
        };
        check(6, [4.7087, 4.3453, 3.9899, 3.5071]);
        check(54, [29.8324, 28.1519, 26.2925, 23.5618]);
    }

    /// Throughput with HE aggregates of 1500 bytes of IP, UDP payload, basic access and RTS/CTS, equals an independent
    /// computation.
    #[test]
    fn aggregates_lose_more_in_a_collision() {
        let n = [1, 2, 5, 10, 20];
        let check = |width, mcs, k: u32, basic: [f64; 5], rts: Option<[f64; 5]>| {
            let mode = Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width, 800).unwrap();
            let control = |bytes| us(mode.control().ppdu(bytes, Durations::Standard));
            let data = us(mode.ppdu(k * 1544, Durations::Standard));
            let answer = us(BlockAckFrame::of_window(if k > 64 { 256 } else { 64 }).duration(mode));
            let success = data + 16.0 + answer + 43.0;
            let bits = f64::from(k) * 1472.0 * 8.0;
            for (i, stations) in n.into_iter().enumerate() {
                let found = mbps(stations, [success, data + 16.0 + 44.0 + 43.0], bits, Form::Plain);
                assert!(
                    (found - basic[i]).abs() < 0.051,
                    "MCS {mcs}, {k}, {stations}: {found} for {}",
                    basic[i]
                );
                let Some(rts) = rts else { continue };
                let with = [success + control(20) + control(14) + 32.0, control(20) + 16.0 + 44.0 + 43.0];
                let found = mbps(stations, with, bits, Form::Plain);
                assert!(
                    (found - rts[i]).abs() < 0.051,
                    "RTS, MCS {mcs}, {k}, {stations}: {found} for {}",
                    rts[i]
                );
            }
        };
        check(20, 0, 3, [7.8, 7.4, 6.7, 6.1, 5.6], None);
        check(20, 7, 37, [78.9, 75.0, 67.5, 61.8, 56.3], Some([77.7, 78.0, 78.0, 77.9, 77.7]));
        check(80, 4, 64, [195.2, 185.9, 167.6, 153.4, 139.9], Some([190.9, 191.9, 191.9, 191.5, 190.9]));
        check(80, 7, 64, [313.3, 299.8, 271.0, 248.3, 226.5], Some([302.2, 304.8, 304.9, 303.8, 302.3]));
        check(80, 11, 16, [347.3, 347.7, 322.6, 297.9, 273.0], None);
        check(80, 11, 64, [495.3, 477.5, 433.5, 397.6, 363.0], Some([468.2, 474.5, 474.8, 472.1, 468.3]));
        check(80, 11, 256, [549.4, 522.0, 470.1, 430.2, 392.2], None);
        check(160, 11, 256, [1058.2, 1010.7, 913.0, 836.2, 762.9], None);
    }

    /// One station with UDP of 1472 bytes has the throughput that ns-3's saturation example prints for 802.11n, within
    /// 0.6 %; beacons are not included here.
    #[test]
    fn one_station_is_what_ns3_prints() {
        let check = |mcs, streams, width, guard, expected: f64| {
            let mode = Mode::new(Standard::N, Band::Ghz5, mcs, streams, width, guard).unwrap();
            let mut ampdu = Ampdu::new(mode, &AmpduLimits::of(Standard::N), None);
            while ampdu.push(1500 + MPDU_OVERHEAD) {}
            let success =
                us(ampdu.duration()) + 16.0 + us(BlockAckFrame::of_window(64).duration(mode)) + 43.0;
            let bits = f64::from(ampdu.mpdus()) * 1472.0 * 8.0;
            let found = mbps(1, [success, success], bits, Form::Plain);
            assert!((0.0..0.006).contains(&(found / expected - 1.0)), "MCS {mcs}: {found} for {expected}");
        };
        let printed = [5.81381, 11.8266, 17.7935, 23.7958, 35.7331, 47.6174, 53.6102, 59.5501];
        for (mcs, expected) in (0..).zip(printed) {
            check(mcs, 1, 20, 800, expected);
        }
        check(7, 2, 40, 400, 254.902);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let good = Saturated {
            stations: 1,
            windows: [15, 1023],
            slot_s: 9e-6,
            success_s: 1e-3,
            collision_s: 1e-3,
            packets: 1,
            bits: 1.0,
        };
        let said = |of: Saturated| of.throughput(Form::Plain).unwrap_err().to_string();
        assert_eq!(said(Saturated { stations: 0, ..good }), "stations = 0: must be between 1 and 10000");
        assert_eq!(
            said(Saturated { windows: [15, 7], ..good }),
            "windows = [15, 7]: must be 1 or more, the larger one last"
        );
        assert_eq!(said(Saturated { success_s: 0.0, ..good }), "success = 0: must be above 0 s");
    }
}
