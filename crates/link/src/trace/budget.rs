//! Link budget: a table of rates and losses, computed from the attenuation of a path.

use super::error::{TraceError, increasing, is_header, lines, numbers, time};
use super::rate_table::{RateRow, RateTable};
use crossfade_core::{SimTime, to_db};
use std::str::FromStr;

/// Combination of a modulation and a code (MODCOD).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modcod {
    /// Name of the combination, such as `8PSK 3/4`.
    pub name: &'static str,
    /// Least Es/N0 in dB at which the combination can be used.
    pub threshold_db: f64,
    /// Information bits per symbol.
    pub bits_per_symbol: f64,
}

/// The 28 combinations of modulation and code of DVB-S2 with long frames, each with the Es/N0 at which one packet in
/// 10^7 is lost over white noise: ETSI EN 302 307-1 table 13.
pub const DVB_S2: [Modcod; 28] = {
    const fn modcod(name: &'static str, bits_per_symbol: f64, threshold_db: f64) -> Modcod {
        Modcod { name, threshold_db, bits_per_symbol }
    }
    [
        modcod("QPSK 1/4", 0.490243, -2.35),
        modcod("QPSK 1/3", 0.656448, -1.24),
        modcod("QPSK 2/5", 0.789412, -0.30),
        modcod("QPSK 1/2", 0.988858, 1.00),
        modcod("QPSK 3/5", 1.188304, 2.23),
        modcod("QPSK 2/3", 1.322253, 3.10),
        modcod("QPSK 3/4", 1.487473, 4.03),
        modcod("QPSK 4/5", 1.587196, 4.68),
        modcod("QPSK 5/6", 1.654663, 5.18),
        modcod("QPSK 8/9", 1.766451, 6.20),
        modcod("QPSK 9/10", 1.788612, 6.42),
        modcod("8PSK 3/5", 1.779991, 5.50),
        modcod("8PSK 2/3", 1.980636, 6.62),
        modcod("8PSK 3/4", 2.228124, 7.91),
        modcod("8PSK 5/6", 2.478562, 9.35),
        modcod("8PSK 8/9", 2.646012, 10.69),
        modcod("8PSK 9/10", 2.679207, 10.98),
        modcod("16APSK 2/3", 2.637201, 8.97),
        modcod("16APSK 3/4", 2.966728, 10.21),
        modcod("16APSK 4/5", 3.165623, 11.03),
        modcod("16APSK 5/6", 3.300184, 11.61),
        modcod("16APSK 8/9", 3.523143, 12.89),
        modcod("16APSK 9/10", 3.567342, 13.13),
        modcod("32APSK 3/4", 3.703295, 12.73),
        modcod("32APSK 4/5", 3.951571, 13.64),
        modcod("32APSK 5/6", 4.119540, 14.28),
        modcod("32APSK 8/9", 4.397854, 15.69),
        modcod("32APSK 9/10", 4.453027, 16.05),
    ]
};

/// Power budget of a link that adapts its modulation and code to the received signal.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkBudget {
    /// Transmit power in dBm, including the gains of both antennas.
    pub transmit_power_dbm: f64,
    /// Attenuation of the path under a clear sky, in dB.
    pub path_loss_db: f64,
    /// Noise figure of the receiver in dB, at 290 K.
    pub noise_figure_db: f64,
    /// Noise bandwidth in Hz, equal to the symbol rate.
    pub bandwidth_hz: f64,
    /// Combinations of modulation and code from which the link chooses.
    pub modcods: Vec<Modcod>,
    /// Margin in dB above the threshold of a combination from which on it is used.
    pub margin_db: f64,
    /// Age of the attenuation by which modulation and code are chosen. If the signal has become worse since, packets
    /// are lost.
    pub adaptation_delay: SimTime,
    /// Share of packets lost at the threshold of a combination.
    pub loss_at_threshold: f64,
    /// Slope of the error rate: change of Es/N0 in dB for a factor of ten, 0.1 or less for LDPC codes.
    pub db_per_decade: f64,
    /// Propagation delay of the link.
    pub delay: SimTime,
}

impl LinkBudget {
    /// Thermal noise in dBm/Hz at 290 K: 10 log10(k T / 1 mW).
    const NOISE_DBM_HZ: f64 = -173.975_187;

    /// Es/N0 in dB if the path attenuates by `attenuation_db` beyond its clear-sky loss.
    pub fn es_n0_db(&self, attenuation_db: f64) -> f64 {
        let noise_dbm = Self::NOISE_DBM_HZ + to_db(self.bandwidth_hz) + self.noise_figure_db;
        self.transmit_power_dbm - self.path_loss_db - attenuation_db - noise_dbm
    }

    /// Fastest modulation and code for a given Es/N0 in dB; `None`: an outage.
    fn modcod(&self, es_n0_db: f64) -> Option<&Modcod> {
        self.modcods
            .iter()
            .filter(|modcod| modcod.threshold_db + self.margin_db <= es_n0_db)
            .max_by(|a, b| a.bits_per_symbol.total_cmp(&b.bits_per_symbol))
    }

    /// Share of packets that the combination `modcod` loses at a given Es/N0 in dB.
    pub fn loss(&self, modcod: &Modcod, es_n0_db: f64) -> f64 {
        let decades = (modcod.threshold_db - es_n0_db) / self.db_per_decade;
        (self.loss_at_threshold * libm::pow(10.0, decades)).clamp(0.0, 1.0)
    }

    /// Table of rate and loss over time, for a path with the given attenuation.
    ///
    /// # Errors
    /// If a number is not finite, the bandwidth or the slope is not above 0, the loss is outside [0, 1], or there are
    /// no combinations.
    pub fn rate_table(&self, attenuation: &AttenuationTable) -> Result<RateTable, TraceError> {
        self.check()?;
        // The attenuation changes, and so, later, does the choice.
        let mut times: Vec<SimTime> =
            attenuation.rows.iter().flat_map(|row| [row.0, row.0 + self.adaptation_delay]).collect();
        times.sort_unstable();
        times.dedup();
        let row = |time: SimTime| {
            let known = time.saturating_sub(self.adaptation_delay);
            let modcod = self.modcod(self.es_n0_db(attenuation.at(known)));
            let es_n0_db = self.es_n0_db(attenuation.at(time));
            RateRow {
                time,
                rate_bps: modcod.map_or(0.0, |modcod| modcod.bits_per_symbol * self.bandwidth_hz),
                delay: self.delay,
                loss: modcod.map_or(0.0, |modcod| self.loss(modcod, es_n0_db)),
            }
        };
        let mut rows: Vec<RateRow> = times.into_iter().map(row).collect();
        rows.dedup_by(|next, row| (next.rate_bps, next.loss) == (row.rate_bps, row.loss));
        RateTable::new(rows)
    }

    fn check(&self) -> Result<(), TraceError> {
        let finite = [
            ("transmit_power_dbm", self.transmit_power_dbm),
            ("path_loss_db", self.path_loss_db),
            ("noise_figure_db", self.noise_figure_db),
            ("margin_db", self.margin_db),
        ];
        for (key, value) in finite {
            if !value.is_finite() {
                return Err(TraceError::nowhere(format!("{key} = {value:?}: must be a finite number")));
            }
        }
        for (key, value) in [("bandwidth_hz", self.bandwidth_hz), ("db_per_decade", self.db_per_decade)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(TraceError::nowhere(format!("{key} = {value:?}: must be above 0 and finite")));
            }
        }
        if !(0.0..=1.0).contains(&self.loss_at_threshold) {
            let loss = self.loss_at_threshold;
            return Err(TraceError::nowhere(format!(
                "loss_at_threshold = {loss:?}: must be between 0 and 1"
            )));
        }
        if self.modcods.is_empty() {
            return Err(TraceError::nowhere("modcods is empty: must have at least one"));
        }
        for modcod in &self.modcods {
            let Modcod { name, threshold_db, bits_per_symbol } = *modcod;
            if !(threshold_db.is_finite() && bits_per_symbol > 0.0 && bits_per_symbol.is_finite()) {
                let problem =
                    format!("modcod {name:?}: must have a finite threshold and bits in its symbols");
                return Err(TraceError::nowhere(problem));
            }
        }
        Ok(())
    }
}

/// Attenuation of a path beyond its clear-sky loss, as a function of time.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationTable {
    rows: Vec<(SimTime, f64)>,
}

impl AttenuationTable {
    /// Creates a table from rows of time and attenuation in dB, each of which holds until the next. The first row also
    /// holds before its time.
    ///
    /// # Errors
    /// If there are no rows, times do not increase, or an attenuation is not finite. The error counts rows from 1.
    pub fn new(rows: Vec<(SimTime, f64)>) -> Result<Self, TraceError> {
        let lines: Vec<usize> = (1..=rows.len()).collect();
        Self::checked(rows, &lines)
    }

    fn checked(rows: Vec<(SimTime, f64)>, lines: &[usize]) -> Result<Self, TraceError> {
        if rows.is_empty() {
            return Err(TraceError::nowhere("the table is empty: it must have at least one row"));
        }
        for (i, &(time, attenuation_db)) in rows.iter().enumerate() {
            if i > 0 {
                increasing(lines[i], time, rows[i - 1].0)?;
            }
            if !attenuation_db.is_finite() {
                let problem = format!("attenuation_db = {attenuation_db:?}: must be a number");
                return Err(TraceError::at(lines[i], problem));
            }
        }
        Ok(Self { rows })
    }

    /// Attenuation at `now` in dB.
    pub fn at(&self, now: SimTime) -> f64 {
        let next = self.rows.partition_point(|row| row.0 <= now).max(1);
        self.rows[next - 1].1
    }
}

impl FromStr for AttenuationTable {
    type Err = TraceError;

    /// Reads a table with the columns `time_s` and `attenuation_db`, separated by commas or white space. A
    /// first line of names is skipped; `#` starts a comment.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (mut rows, mut numbers_of_lines) = (Vec::new(), Vec::new());
        for (i, (line, text)) in lines(text).enumerate() {
            if i == 0 && is_header(text) {
                continue;
            }
            let [time_s, attenuation_db] = numbers(line, text, ["time_s", "attenuation_db"])?;
            rows.push((time(line, "time_s", time_s)?, attenuation_db));
            numbers_of_lines.push(line);
        }
        Self::checked(rows, &numbers_of_lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: SimTime = SimTime::from_millis(1000);

    /// Test budget with 36 MHz, which allows 8PSK 3/4 with 8 dB of Es/N0 under a clear sky.
    fn budget() -> LinkBudget {
        let noise_dbm = -173.975_187 + 10.0 * 36e6_f64.log10() + 2.0;
        LinkBudget {
            transmit_power_dbm: 90.0,
            path_loss_db: 90.0 - noise_dbm - 8.0,
            noise_figure_db: 2.0,
            bandwidth_hz: 36e6,
            modcods: DVB_S2.to_vec(),
            margin_db: 0.0,
            adaptation_delay: SimTime::ZERO,
            loss_at_threshold: 1e-7,
            db_per_decade: 0.1,
            delay: SimTime::from_millis(250),
        }
    }

    #[test]
    fn the_noise_floor_is_that_of_290_kelvin() {
        let kt_dbm: f64 = 10.0 * (1.380_649e-23_f64 * 290.0 / 1e-3).log10();
        assert!((LinkBudget::NOISE_DBM_HZ - kt_dbm).abs() < 1e-5, "{kt_dbm}");
        assert!((budget().es_n0_db(0.0) - 8.0).abs() < 1e-9);
        assert!((budget().es_n0_db(10.0) + 2.0).abs() < 1e-9);
    }

    #[test]
    fn rain_slows_the_link_down_and_then_stops_it() {
        let rain: AttenuationTable =
            "time_s,attenuation_db\n0,0\n60,5\n120,11 # a cell\n180,1\n".parse().unwrap();
        let table = budget().rate_table(&rain).unwrap();
        // 8 dB: 8PSK 3/4; 3 dB: QPSK 3/5; -3 dB: nothing; 7 dB: 8PSK 2/3.
        let rates: Vec<f64> = table.rows().iter().map(|row| row.rate_bps / 36e6).collect();
        assert_eq!(rates, [2.228124, 1.188304, 0.0, 1.980636]);
        assert!(table.rows().iter().all(|row| row.loss <= 1e-7 && row.delay == budget().delay));
        // With a margin it is more careful.
        let careful = LinkBudget { margin_db: 1.0, ..budget() };
        assert_eq!(careful.modcod(8.0).unwrap().name, "8PSK 2/3");
    }

    #[test]
    fn efficiency_decides_not_the_order_of_the_table() {
        // 16APSK 2/3 needs less than 8PSK 5/6 and carries more.
        assert_eq!(budget().modcod(9.4).unwrap().name, "16APSK 2/3");
        assert_eq!(budget().modcod(5.6).unwrap().name, "8PSK 3/5");
        assert_eq!(budget().modcod(-2.36), None);
    }

    #[test]
    fn a_late_choice_loses_packets_or_rate() {
        let late = LinkBudget { adaptation_delay: S, ..budget() };
        let rain = AttenuationTable::new(vec![(SimTime::ZERO, 0.0), (S * 60, 2.0), (S * 120, 0.0)]).unwrap();
        let table = late.rate_table(&rain).unwrap();
        let told: Vec<(f64, f64, f64)> =
            table.rows().iter().map(|row| (row.time.as_secs_f64(), row.rate_bps / 36e6, row.loss)).collect();
        assert_eq!(told.len(), 5, "{told:?}");
        // In the first second of rain 8PSK 3/4 gets 6 dB and loses all; then 8PSK 3/5.
        assert_eq!((told[1].0, told[1].1, told[1].2), (60.0, 2.228124, 1.0));
        assert_eq!((told[2].0, told[2].1), (61.0, 1.779991));
        // In the first second without, the slower one goes on and loses nothing.
        assert_eq!((told[3].0, told[3].1), (120.0, 1.779991));
        assert!(told[3].2 < 1e-20);
        assert_eq!((told[4].0, told[4].1), (121.0, 2.228124));
    }

    #[test]
    fn the_loss_grows_tenfold_in_its_slope() {
        let qpsk = DVB_S2[3];
        let losses = [1.1, 1.0, 0.9, 0.7, 0.0].map(|es_n0_db| budget().loss(&qpsk, es_n0_db));
        for (loss, expected) in losses.into_iter().zip([1e-8, 1e-7, 1e-6, 1e-4, 1.0]) {
            assert!((loss / expected - 1.0).abs() < 1e-9, "{loss} {expected}");
        }
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        let clear = AttenuationTable::new(vec![(SimTime::ZERO, 0.0)]).unwrap();
        let error = |budget: LinkBudget| budget.rate_table(&clear).unwrap_err().to_string();
        let message = "bandwidth_hz = 0.0: must be above 0 and finite";
        assert_eq!(error(LinkBudget { bandwidth_hz: 0.0, ..budget() }), message);
        let message = "path_loss_db = NaN: must be a finite number";
        assert_eq!(error(LinkBudget { path_loss_db: f64::NAN, ..budget() }), message);
        let message = "modcods is empty: must have at least one";
        assert_eq!(error(LinkBudget { modcods: Vec::new(), ..budget() }), message);
        let table = |text: &str| text.parse::<AttenuationTable>().unwrap_err().to_string();
        assert_eq!(table("0 0\n5 x\n"), "line 2: attenuation_db = \"x\": must be a number");
        assert_eq!(table("0 0\n0 1\n"), "line 2: time_s = 0.0: must be above 0.0, the time before it");
    }
}
