//! Configuration of a Wi-Fi network: access point, stations, queues and neighbours.

use super::ampdu::AmpduLimits;
use super::edca::{Backoff, Category};
use super::emlsr::EmlsrConfig;
use super::modes::{Mode, Standard};
use super::ofdma::OfdmaConfig;
use crate::error::{MeshError, out_of_range};
use crossfade_channel::{DelayProfile, ShadowingConfig};
use crossfade_core::SimTime;
use crossfade_link::trace::SinrTrace;
use crossfade_link::{QueueConfig, QueueLimit};
use crossfade_phy::ErrorRateTable;
use std::sync::Arc;

/// Maximum number of stations of a network.
pub const MOST_STATIONS: usize = 1000;
/// Maximum number of neighbouring networks.
pub const MOST_NEIGHBOURS: usize = 100;
/// Maximum number of links of a multi-link device.
pub const MOST_LINKS: usize = 3;

/// Configuration of a Wi-Fi network: an access point, its stations and neighbouring networks.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanConfig {
    /// Stations. Station n with category c of K has port 1 + n K + c; port 0 is the access point.
    pub stations: Vec<StationConfig>,
    /// Access categories in use, in order of priority in internal collisions.
    pub categories: Vec<Category>,
    /// Backoff rule of all contenders.
    pub backoff: Backoff,
    /// Maximum number of transmissions of an MPDU; `None` for no limit.
    pub attempts: Option<u32>,
    /// True if an RTS/CTS exchange precedes each transmission opportunity.
    pub rts: bool,
    /// True if the sender asks for a missing block acknowledgement by a block acknowledgement request (BAR); false if
    /// it retransmits the MPDUs.
    pub asks: bool,
    /// Time for which a recipient waits for a missing MPDU before it delivers later ones; `None` for no limit.
    pub reorder_timeout: Option<SimTime>,
    /// Queue of each station and category, and of the access point for each station and category unless it has one
    /// FIFO.
    pub queue: QueueConfig,
    /// Queues of the access point: one per station and category, or one FIFO.
    pub access_point: AccessPointQueues,
    /// Parameters common to the radios of stations.
    pub radio: RadioConfig,
    /// Neighbouring networks on the same channel; `None` for none.
    pub neighbours: Option<Neighbours>,
    /// OFDMA with stations of 802.11ax and be of equal width and guard interval, at most as many as the width has RUs;
    /// `None` without OFDMA.
    pub ofdma: Option<OfdmaConfig>,
    /// Links of multi-link devices, each on its own channel; empty for one link, that of `stations` and `neighbours`.
    pub links: Vec<LinkConfig>,
    /// EMLSR parameters of each station in the order of `stations`: `Some` if it has one radio for all links, `None` if
    /// it sends and receives on all links at once (STR). Empty for a network without EMLSR.
    pub emlsr: Vec<Option<EmlsrConfig>>,
}

/// Link of multi-link devices, with its own band, width and contention.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Stations as configured on this link, in the order of [`WlanConfig::stations`]; `None` for a station that does
    /// not use it.
    pub stations: Vec<Option<StationConfig>>,
    /// Neighbouring networks on this link's channel; `None` for none.
    pub neighbours: Option<Neighbours>,
    /// Difference in dB that is added to the SNR of all radios on this link.
    pub snr_offset_db: f64,
}

/// Station: its modes, aggregate limits, rate control and reception.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// Modes for data to and from the station, all of one standard, in rising order of bit rate.
    pub modes: Vec<Mode>,
    /// Limits of aggregates and of the block acknowledgement window.
    pub limits: AmpduLimits,
    /// Rate control of the access point for this station, and of the station.
    pub rate: RateConfig,
    /// Reception of MPDUs that do not collide.
    pub reception: ReceptionConfig,
}

/// Rate control: selection of the mode of each aggregate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateConfig {
    /// Always the mode with this index.
    Constant(usize),
    /// Fastest mode that at the current SNR loses at most this share of MPDUs of 1500 bytes.
    Ideal(f64),
    /// Minstrel-HT: modes by the acknowledgements received so far.
    Minstrel,
}

/// Model of the reception of MPDUs that do not collide.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceptionConfig {
    /// Fixed share of MPDUs that are lost, independent of size and mode; acknowledgements are never lost.
    ErrorRate(f64),
    /// Error rates by SNR from a table.
    Radio(StationRadio),
}

/// Radio channel of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationRadio {
    /// Mean SNR of the downlink in dB, over all spatial streams together.
    pub mean_snr_db: f64,
    /// Difference of the uplink's mean SNR to the downlink's, in dB.
    pub uplink_offset_db: f64,
    /// Speed of the station in m/s, which sets the correlation of shadowing.
    pub speed_mps: f64,
    /// Maximum Doppler shift in cycles per [`STEP`](super::reception::STEP).
    pub fd_t: f64,
    /// Recorded SNR values, which replace fading around the mean; `None` for fading.
    pub trace: Option<SinrTrace>,
}

/// Parameters common to the radios of all stations.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// Delay profile of fading; `None` for a constant channel.
    pub profile: Option<DelayProfile>,
    /// Shadowing along the path of each station; `None` without shadowing.
    pub shadowing: Option<ShadowingConfig>,
    /// Implementation loss in dB, subtracted from the SNR.
    pub implementation_loss_db: f64,
    /// Table of error rates by [`Mode::name`], which replaces the one of this crate; `None` for that of this crate.
    pub errors: Option<Arc<ErrorRateTable>>,
}

impl Default for RadioConfig {
    /// Constant channels, ideal receivers, and the error rates of this crate.
    fn default() -> Self {
        Self { profile: None, shadowing: None, implementation_loss_db: 0.0, errors: None }
    }
}

/// Queueing at the access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessPointQueues {
    /// A queue per station and category, as in Linux.
    PerStation {
        /// True if stations get equal airtime, false if equal numbers of transmissions.
        airtime_fairness: bool,
        /// Airtime queue limits below the queues (AQL); `None` without them.
        aql: Option<Aql>,
    },
    /// One FIFO per category for all stations, with this limit, above a driver that holds [`DRIVER_PACKETS`].
    OneFifo(QueueLimit),
}

/// Maximum number of packets of a category in the driver of an access point with one FIFO.
pub const DRIVER_PACKETS: usize = 128;

/// Airtime queue limits (AQL): airtime of the packets that the driver may hold per station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aql {
    /// Airtime that each station may always have in the driver.
    pub low: SimTime,
    /// Airtime that each station may have in the driver while the sum over all stations is below the threshold.
    pub high: SimTime,
    /// Airtime in the driver over all stations from which `low` applies.
    pub threshold: SimTime,
}

impl Aql {
    /// Limits of Linux: 5 ms, 12 ms and 24 ms.
    pub const LINUX: Self = Self {
        low: SimTime::from_millis(5),
        high: SimTime::from_millis(12),
        threshold: SimTime::from_millis(24),
    };
}

/// Neighbouring networks on the same channel, each of which contends like one station with best effort traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// Number of neighbouring networks.
    pub count: usize,
    /// Share of time that their aggregates together would take on an otherwise idle channel; 1 for an endless backlog.
    pub busy: f64,
    /// Duration of each aggregate of a neighbour.
    pub aggregate: SimTime,
}

impl WlanConfig {
    /// Checks all parameters.
    ///
    /// # Errors
    /// If there are no stations or more than 1000, more than three links, a link without stations, a station without
    /// links, no categories or more than four, an error rate outside 0 to 1, a mode index out of range, limits beyond
    /// those of a station's standard, stations of one link in several bands, invalid neighbours or queue limits, OFDMA
    /// with links or without users, or EMLSR of a station with fewer than two links.
    pub fn check(&self) -> Result<(), MeshError> {
        let count = self.stations.len();
        if !(1..=MOST_STATIONS).contains(&count) {
            return out_of_range("stations", count, "between 1 and 1000");
        }
        if !(1..=4).contains(&self.categories.len()) {
            return out_of_range("categories", self.categories.len(), "between 1 and 4");
        }
        if self.attempts == Some(0) {
            return out_of_range("transmissions", 0, "at least 1");
        }
        if self.links.is_empty() {
            check_stations(self.stations.iter())?;
        }
        if self.links.len() > MOST_LINKS {
            return out_of_range("links", self.links.len(), format!("at most {MOST_LINKS}"));
        }
        for link in &self.links {
            check_stations(link.stations.iter().flatten())?;
            link.neighbours.map_or(Ok(()), Neighbours::check)?;
            if link.stations.len() != count || link.stations.iter().all(Option::is_none) {
                return out_of_range("links", "a link", "one that stations use");
            }
        }
        let limits = |link: &LinkConfig| {
            let both = link.stations.iter().zip(&self.stations);
            both.filter_map(|(on, of)| Some(on.as_ref()?.limits == of.limits)).all(|is_equal| is_equal)
        };
        if !self.links.iter().all(limits) {
            return out_of_range("ampdu", "limits of a link", "those of the station");
        }
        let has_link = |station: usize| self.links.iter().any(|link| link.stations[station].is_some());
        if !self.links.is_empty() && (0..count).any(|station| !has_link(station)) {
            return out_of_range("links", "a station", "one that uses some link");
        }
        if !self.links.is_empty() && (self.ofdma.is_some() || self.neighbours.is_some()) {
            return out_of_range(
                "links",
                self.links.len(),
                "none with OFDMA; each link has neighbours of its own",
            );
        }
        self.check_emlsr()?;
        if let Some(OfdmaConfig { users: 0, .. }) = self.ofdma {
            return out_of_range("users", 0, "at least 1");
        }
        if let AccessPointQueues::PerStation { aql: Some(Aql { low, high, .. }), .. } = self.access_point
            && (low == SimTime::ZERO || high < low)
        {
            return out_of_range("aql", format!("{low} and {high}"), "above 0 s, the larger one last");
        }
        self.neighbours.map_or(Ok(()), Neighbours::check)
    }

    fn check_emlsr(&self) -> Result<(), MeshError> {
        let (given, count) = (self.emlsr.len(), self.stations.len());
        if given != 0 && given != count {
            return out_of_range("emlsr", given, format!("of none or of all {count} stations"));
        }
        for (station, of) in self.emlsr.iter().enumerate() {
            let Some(of) = of else { continue };
            of.check()?;
            if self.links.iter().filter(|link| link.stations[station].is_some()).count() < 2 {
                return out_of_range("emlsr", "a station", "one that uses at least two links");
            }
        }
        Ok(())
    }
}

/// Checks the stations of one link: modes in one band, limits, rate control and error rates.
fn check_stations<'a>(stations: impl Iterator<Item = &'a StationConfig>) -> Result<(), MeshError> {
    let mut band = None;
    for station in stations {
        let Some(first) = station.modes.first() else {
            return out_of_range("modes", 0, "at least 1");
        };
        let all = *band.get_or_insert(first.band());
        if station.modes.iter().any(|mode| mode.band() != all) {
            return out_of_range("band", first.band().words(), format!("{}, as of the others", all.words()));
        }
        station.limits.check(first.standard())?;
        match station.rate {
            RateConfig::Constant(place) if place >= station.modes.len() => {
                return out_of_range("rate", place, format!("below {}", station.modes.len()));
            }
            RateConfig::Ideal(target) if !(target > 0.0 && target < 1.0) => {
                return out_of_range("target_error_rate", target, "above 0 and below 1");
            }
            _ => {}
        }
        match &station.reception {
            ReceptionConfig::ErrorRate(rate) if !(0.0..=1.0).contains(rate) => {
                return out_of_range("mpdu_error_rate", rate, "between 0 and 1");
            }
            _ => {}
        }
    }
    Ok(())
}

impl Neighbours {
    /// Checks the parameters of neighbouring networks.
    ///
    /// # Errors
    /// If there are none or more than 100, the share of time is not above 0 and at most 1, or an aggregate is shorter
    /// than 20 us or longer than 5.484 ms.
    pub fn check(self) -> Result<(), MeshError> {
        let Self { count, busy, aggregate } = self;
        if !(1..=MOST_NEIGHBOURS).contains(&count) {
            return out_of_range("neighbours.count", count, format!("between 1 and {MOST_NEIGHBOURS}"));
        }
        if !(busy > 0.0 && busy <= 1.0) {
            return out_of_range("neighbours.busy", busy, "above 0 and at most 1");
        }
        if aggregate < SimTime::from_micros(20) || aggregate > super::ampdu::LONGEST_PPDU {
            return out_of_range("neighbours.aggregate", aggregate, "between 20 us and 5.484 ms");
        }
        Ok(())
    }
}

/// Bytes that a data frame of a standard adds to a packet: MAC header, FCS of 4, LLC and SNAP of 8. The MAC header of
/// 802.11a and g has no `QoS` field and is 2 bytes shorter.
pub const fn mpdu_overhead(standard: Standard) -> u32 {
    match standard {
        Standard::A | Standard::G => super::ampdu::MPDU_OVERHEAD - 2,
        _ => super::ampdu::MPDU_OVERHEAD,
    }
}
