//! Indoor path loss and mean SNR of Wi-Fi.

use super::modes::Band;

/// Transmit power of an access point in dBm.
pub const ACCESS_POINT_DBM: f64 = 20.0;
/// Transmit power of a station in dBm.
pub const STATION_DBM: f64 = 15.0;
/// Noise figure of receivers in dB.
const NOISE_FIGURE_DB: f64 = 7.0;
/// Thermal noise in dBm per hertz.
const THERMAL_DBM: f64 = -174.0;

/// Path loss in dB of the residential scenario of IEEE 802.11-14/0980 (`TGax`) without walls: free space up to 5 m,
/// exponent 3.5 beyond.
fn path_loss_db(band: Band, distance_m: f64) -> f64 {
    let ghz = band.centre_hz() / 1e9;
    let near = distance_m.clamp(0.1, 5.0);
    let far = (distance_m / 5.0).max(1.0);
    40.05 + 20.0 * libm::log10(ghz / 2.4) + 20.0 * libm::log10(near) + 35.0 * libm::log10(far)
}

/// Mean SNR in dB of the downlink at a station `distance_m` metres from the access point, in a channel of this width.
pub fn snr_at_db(band: Band, distance_m: f64, width_mhz: u16) -> f64 {
    let noise_dbm = THERMAL_DBM + 10.0 * libm::log10(f64::from(width_mhz) * 1e6) + NOISE_FIGURE_DB;
    ACCESS_POINT_DBM - path_loss_db(band, distance_m) - noise_dbm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_falls_as_the_scenario_says() {
        // 40.05 dB at 1 m and 2.4 GHz; 20 dB per decade up to 5 m, 35 dB per decade beyond.
        let at = |metres| path_loss_db(Band::Ghz2, metres);
        assert!((at(1.0) - 40.18).abs() < 0.01, "{}", at(1.0));
        assert!((at(5.0) - at(0.5) - 20.0).abs() < 1e-9);
        assert!((at(50.0) - at(5.0) - 35.0).abs() < 1e-9);
        // Noise of -94, -91, -88 and -85 dBm at 20, 40, 80 and 160 MHz.
        let noise = |width| 20.0 - path_loss_db(Band::Ghz5, 10.0) - snr_at_db(Band::Ghz5, 10.0, width);
        for (width, dbm) in [(20, -94.0), (40, -91.0), (80, -88.0), (160, -85.0)] {
            assert!((noise(width) - dbm).abs() < 0.05, "{width}: {}", noise(width));
        }
    }
}
