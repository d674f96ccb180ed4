//! Reception of MPDUs that do not collide: the channel of each station, and the error rates of its modes.
//!
//! A channel is constant, fading or recorded, and has a value each [`STEP`]. The SNR of a station is shared by the
//! spatial streams of a mode. SNR values that differ over the band count by their mean mutual information. Each MPDU of
//! an aggregate meets the channel of its own transmission time.

use super::config::{RadioConfig, ReceptionConfig, StationConfig, StationRadio};
use super::modes::Mode;
use crate::error::{MeshError, out_of_range};
use crossfade_channel::{FrequencyResponse, PredictedFading, TravelledShadowing, simd::Simd};
use crossfade_core::{RunSeed, SimTime, from_db, to_db};
use crossfade_link::trace::SinrTrace;
use crossfade_phy::{BlockSizes, ErrorRateTable, ErrorRates, MutualInformation};
use std::sync::{Arc, LazyLock};

/// Interval between two values of a channel.
pub const STEP: SimTime = SimTime::from_millis(1);

/// Number of parts of the band with a gain of their own.
const BINS: usize = 8;

/// Table of error rates of this crate.
static OURS: LazyLock<ErrorRateTable> = LazyLock::new(|| {
    ErrorRateTable::parse(include_str!("../../tables/wifi-per.csv")).expect("a table that tests read")
});

/// Error rates of a mode, from the given table or that of this crate.
///
/// # Errors
/// If the table has no lines of the mode.
pub(super) fn rates_of(mode: Mode, table: Option<&ErrorRateTable>) -> Result<Arc<ErrorRates>, MeshError> {
    let name = mode.name();
    match table.unwrap_or(&OURS).mode(Some(name)) {
        Ok(rates) => Ok(rates),
        Err(error) => out_of_range("error_rates", format!("{name:?}"), format!("in the table: {error}")),
    }
}

/// Channel of a station, equal in both directions except for a constant offset.
struct Channel {
    kind: Kind,
    mean_snr_db: f64,
    step: Option<u64>,
    /// Linear SNR of the whole band, or of each of its parts.
    ratios: Vec<f64>,
    powers: Vec<f32>,
}

#[expect(clippy::large_enum_variant, reason = "one a station")]
enum Kind {
    Constant,
    Fading { fading: PredictedFading, shadowing: Option<TravelledShadowing>, metres_a_step: f64 },
    Recorded(SinrTrace),
}

impl Channel {
    fn new(
        name: &str,
        mode: Mode,
        radio: &StationRadio,
        common: &RadioConfig,
        seed: RunSeed,
    ) -> Result<Self, MeshError> {
        let stream = |of: &str| seed.stream(&format!("{of}.wlan.{name}"));
        let refuse = |error: &dyn std::fmt::Display| MeshError::OutOfRange {
            parameter: "radio",
            value: error.to_string(),
            allowed: "a channel that there is".into(),
        };
        let mut powers = Vec::new();
        let kind = match (&radio.trace, &common.profile) {
            (Some(trace), _) => Kind::Recorded(trace.clone()),
            (None, Some(profile)) => {
                let simd = Simd::chosen().map_err(|error| refuse(&error))?;
                let width_hz = f64::from(mode.width_mhz()) * 1e6 / BINS as f64;
                let response = Arc::new(FrequencyResponse::new(profile, BINS, width_hz, simd));
                powers = vec![0.0; response.padded()];
                let streams = [stream("channel"), stream("prediction")];
                let shadowing =
                    common.shadowing.map(|config| TravelledShadowing::new(config, stream("shadowing")));
                Kind::Fading {
                    fading: PredictedFading::new(profile, response, radio.fd_t, 0.0, streams, simd)
                        .map_err(|error| refuse(&error))?,
                    shadowing: shadowing.transpose().map_err(|error| refuse(&error))?,
                    metres_a_step: radio.speed_mps * STEP.as_secs_f64(),
                }
            }
            _ => Kind::Constant,
        };
        let mean_snr_db = radio.trace.as_ref().map_or(radio.mean_snr_db, SinrTrace::mean_db);
        let mean_snr_db = mean_snr_db - common.implementation_loss_db;
        Ok(Self { kind, mean_snr_db, step: None, ratios: vec![from_db(mean_snr_db)], powers })
    }

    fn is_constant(&self) -> bool {
        matches!(self.kind, Kind::Constant)
    }

    /// Advances the channel to step number `step`, in units of [`STEP`].
    fn go(&mut self, step: u64) {
        if self.step == Some(step) || self.is_constant() {
            return;
        }
        self.step = Some(step);
        let mean = from_db(self.mean_snr_db);
        match &mut self.kind {
            Kind::Constant => {}
            Kind::Fading { fading, shadowing, metres_a_step } => {
                fading.go(step);
                fading.predicted_powers(&mut self.powers);
                let shadow_db =
                    shadowing.as_mut().map_or(0.0, |shadowing| shadowing.db(step as f64 * *metres_a_step));
                let mean = mean * from_db(shadow_db);
                self.ratios.clear();
                self.ratios.extend(self.powers[..BINS].iter().map(|power| mean * f64::from(*power)));
            }
            Kind::Recorded(trace) => {
                self.ratios.clear();
                self.ratios.extend(trace.at(STEP * step).iter().map(|power| mean * f64::from(*power)));
            }
        }
    }
}

/// Error rates of one mode, with the last results as a cache.
struct OfMode {
    mode: Mode,
    rates: Arc<ErrorRates>,
    information: &'static MutualInformation,
    /// Last result by direction: step, bytes, SNR in dB and error rate.
    last: [Option<(u64, u32, f64, f64)>; 2],
}

/// Reception between a station and the access point, in both directions.
pub(super) struct Reception {
    kind: Of,
}

#[expect(clippy::large_enum_variant, reason = "one a station")]
enum Of {
    Share(f64),
    Radio { channel: Channel, modes: Vec<OfMode>, answers: Vec<OfMode>, offsets: [f64; 2] },
}

/// Channel state for an MPDU in a mode at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meets {
    /// Probability that the MPDU is lost.
    pub(super) error_rate: f64,
    /// SNR in dB per stream; `None` with a fixed error rate.
    pub(super) snr_db: Option<f64>,
}

fn modulation(mode: Mode) -> &'static MutualInformation {
    const NAMES: [&str; 7] = ["bpsk", "qpsk", "16-qam", "64-qam", "256-qam", "1024-qam", "4096-qam"];
    let name = NAMES[(mode.bits_per_subcarrier() / 2) as usize];
    MutualInformation::named(name).expect("one that there is")
}

impl Reception {
    /// Reception of a station on a link; `name` ends the names of its random streams.
    pub(super) fn new(
        name: &str,
        station: &StationConfig,
        common: &RadioConfig,
        seed: RunSeed,
    ) -> Result<Self, MeshError> {
        let radio = match &station.reception {
            ReceptionConfig::ErrorRate(share) => return Ok(Self { kind: Of::Share(*share) }),
            ReceptionConfig::Radio(radio) => radio,
        };
        let table = common.errors.as_deref();
        let of = |mode: Mode, table: Option<&ErrorRateTable>| {
            let (rates, information) = (rates_of(mode, table)?, modulation(mode));
            Ok(OfMode { mode, rates, information, last: [None; 2] })
        };
        let modes: Result<Vec<_>, MeshError> = station.modes.iter().map(|&mode| of(mode, table)).collect();
        // Acknowledgements use the table of this crate: a user's table may lack their modes.
        let answers = station.modes.iter().map(|mode| of(mode.control(), None)).collect::<Result<_, _>>()?;
        let channel = Channel::new(name, station.modes[0], radio, common, seed)?;
        Ok(Self {
            kind: Of::Radio { channel, modes: modes?, answers, offsets: [0.0, radio.uplink_offset_db] },
        })
    }

    /// True if the channel does not change over time.
    pub(super) fn is_constant(&self) -> bool {
        match &self.kind {
            Of::Share(_) => true,
            Of::Radio { channel, .. } => channel.is_constant(),
        }
    }

    /// Channel state for an MPDU of `bytes` in the mode with index `rate` at time `at`, in downlink (0) or uplink (1).
    pub(super) fn mpdu(&mut self, rate: usize, at: SimTime, bytes: u32, direction: usize) -> Meets {
        match &mut self.kind {
            Of::Share(error_rate) => Meets { error_rate: *error_rate, snr_db: None },
            Of::Radio { channel, modes, offsets, .. } => {
                meets(channel, &mut modes[rate], at, bytes, direction, offsets[direction])
            }
        }
    }

    /// Probability that an acknowledgement of `bytes` is lost; `rate` is the mode index of the data and `direction`
    /// theirs, opposite to the acknowledgement.
    pub(super) fn answer(&mut self, rate: usize, at: SimTime, bytes: u32, direction: usize) -> f64 {
        match &mut self.kind {
            Of::Share(_) => 0.0,
            Of::Radio { channel, answers, offsets, .. } => {
                let back = 1 - direction;
                meets(channel, &mut answers[rate], at, bytes, back, offsets[back]).error_rate
            }
        }
    }
}

fn meets(
    channel: &mut Channel,
    of: &mut OfMode,
    at: SimTime,
    bytes: u32,
    direction: usize,
    offset_db: f64,
) -> Meets {
    let step = if channel.is_constant() { 0 } else { at.as_nanos() / STEP.as_nanos() };
    if let Some((known, size, snr_db, error_rate)) = of.last[direction]
        && known == step
    {
        if size == bytes {
            return Meets { error_rate, snr_db: Some(snr_db) };
        }
        let error_rate = of.rates.error_rate(snr_db, bytes, BlockSizes::Scaled);
        of.last[direction] = Some((step, bytes, snr_db, error_rate));
        return Meets { error_rate, snr_db: Some(snr_db) };
    }
    channel.go(step);
    let scale = from_db(offset_db) / f64::from(of.mode.streams());
    let snr_db = if let [ratio] = channel.ratios[..] {
        to_db(ratio * scale)
    } else {
        let mut scaled = [0.0; 64];
        let ratios = &channel.ratios[..channel.ratios.len().min(64)];
        for (place, ratio) in scaled.iter_mut().zip(ratios) {
            *place = ratio * scale;
        }
        to_db(of.information.effective(&scaled[..ratios.len()]))
    };
    let error_rate = of.rates.error_rate(snr_db, bytes, BlockSizes::Scaled);
    of.last[direction] = Some((step, bytes, snr_db, error_rate));
    Meets { error_rate, snr_db: Some(snr_db) }
}

/// SNR in dB, over all streams, from which a mode loses at most the share `target` of MPDUs of `bytes`.
///
/// # Errors
/// If `table` has no lines of the mode.
pub fn required_snr_db(
    mode: Mode,
    table: Option<&ErrorRateTable>,
    bytes: u32,
    target: f64,
) -> Result<f64, MeshError> {
    let rates = rates_of(mode, table)?;
    let (mut low, mut high) = (-40.0, 80.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let fails = rates.error_rate(middle, bytes, BlockSizes::Scaled) > target;
        (low, high) = if fails { (middle, high) } else { (low, middle) };
    }
    Ok(f64::midpoint(low, high) + to_db(f64::from(mode.streams())))
}

#[cfg(test)]
mod tests {
    use super::super::ampdu::AmpduLimits;
    use super::super::config::RateConfig;
    use super::super::modes::{Band, Standard};
    use super::*;

    const SEED: RunSeed = RunSeed { seed: 11, run: 0 };

    fn mode(standard: Standard, mcs: u8, streams: u8) -> Mode {
        let band = if standard == Standard::Be { Band::Ghz6 } else { Band::Ghz5 };
        Mode::new(standard, band, mcs, streams, 20, 800).unwrap()
    }

    fn station(modes: Vec<Mode>, radio: StationRadio) -> StationConfig {
        let limits = AmpduLimits::of(modes[0].standard());
        StationConfig {
            modes,
            limits,
            rate: RateConfig::Constant(0),
            reception: ReceptionConfig::Radio(radio),
        }
    }

    fn radio(mean_snr_db: f64) -> StationRadio {
        StationRadio { mean_snr_db, uplink_offset_db: -3.0, speed_mps: 0.0, fd_t: 0.0, trace: None }
    }

    /// Error rates equal the table's at its block size; a block twice as long has 1 - 0.9^2 at the SNR of 0.1.
    #[test]
    fn error_rates_are_those_of_the_table() {
        for (mcs, tenth) in [(0, -0.67), (7, 17.99), (11, 28.86), (13, 34.10)] {
            let modes = vec![mode(Standard::Be, mcs, 1)];
            let mut reception =
                Reception::new("0", &station(modes, radio(tenth)), &RadioConfig::default(), SEED).unwrap();
            let at = SimTime::from_millis(3);
            let rate = |reception: &mut Reception, bytes| reception.mpdu(0, at, bytes, 0).error_rate;
            assert!((rate(&mut reception, 1458) - 0.1).abs() < 1e-9, "MCS {mcs}");
            assert!((rate(&mut reception, 2916) - 0.19).abs() < 1e-9, "MCS {mcs}");
            // The uplink is 3 dB weaker, so nearly all MPDUs are lost.
            assert!(reception.mpdu(0, at, 1458, 1).error_rate > 0.999);
        }
        let required = required_snr_db(mode(Standard::Be, 7, 1), None, 1458, 0.1).unwrap();
        assert!((required - 17.99).abs() < 1e-6, "{required}");
    }

    #[test]
    fn streams_share_the_power() {
        let [one, two] =
            [1, 2].map(|streams| required_snr_db(mode(Standard::Ax, 5, streams), None, 1458, 0.1).unwrap());
        assert!((two - one - 3.0103).abs() < 1e-3, "{one} {two}");
    }

    /// Every mode and the acknowledgements to it have error rates in the table of this crate.
    #[test]
    fn all_modes_have_error_rates() {
        for standard in [Standard::A, Standard::N, Standard::Ac, Standard::Ax, Standard::Be] {
            let mut before = f64::NEG_INFINITY;
            for mcs in 0..=13 {
                let band = if standard == Standard::Be { Band::Ghz6 } else { Band::Ghz5 };
                let width = if standard == Standard::A { 20 } else { 40 };
                let Ok(mode) = Mode::new(standard, band, mcs, 1, width, 800) else { continue };
                let required = required_snr_db(mode, None, 1538, 0.1).unwrap();
                let is_higher = required > before;
                // 9 Mbit/s of 802.11a needs a higher SNR than 12 Mbit/s: a known mode that is hardly used.
                assert!(is_higher || mode.name() == "ofdm-12", "{mode:?}: {required} after {before}");
                before = required;
                assert!(required_snr_db(mode.control(), None, 32, 0.1).unwrap() < required + 3.1, "{mode:?}");
            }
        }
    }

    /// Fading at walking speed has the configured mean SNR, and changes within a second.
    #[test]
    fn channels_fade_around_their_mean() {
        let profile =
            crossfade_channel::DelayProfile::new(&[0.0, 50e-9, 100e-9], &[0.0, -3.0, -6.0]).unwrap();
        let common = RadioConfig { profile: Some(profile), ..RadioConfig::default() };
        let moving = StationRadio { fd_t: 0.02, ..radio(20.0) };
        let mut reception =
            Reception::new("0", &station(vec![mode(Standard::Ax, 4, 1)], moving), &common, SEED).unwrap();
        let Of::Radio { channel, .. } = &mut reception.kind else { panic!("a radio") };
        let (mut sum, mut count) = (0.0, 0.0);
        for step in (0..200_000).step_by(10) {
            channel.go(step);
            sum += channel.ratios.iter().sum::<f64>() / BINS as f64;
            count += 1.0;
        }
        assert!((to_db(sum / count) - 20.0).abs() < 0.3, "{}", to_db(sum / count));
        let ratios = |reception: &mut Reception, ms| {
            reception.mpdu(0, SimTime::from_millis(ms), 1538, 0).snr_db.unwrap()
        };
        let (first, later) = (ratios(&mut reception, 0), ratios(&mut reception, 500));
        assert!((first - later).abs() > 0.01, "{first} {later}");
    }

    #[test]
    fn a_table_without_a_mode_is_refused() {
        let table = ErrorRateTable::parse("mode,snr_db,error_rate\nmcs-0,1,0.5\nmcs-1,3,0.5\n").unwrap();
        let said = rates_of(mode(Standard::Ax, 7, 1), Some(&table)).unwrap_err().to_string();
        assert!(said.starts_with("error_rates = \"mcs-7\": must be in the table: has no mode"), "{said}");
    }
}
