//! Configuration of an access point and its stations.

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

/// Most stations of a network.
pub const MOST_STATIONS: usize = 1000;
/// Most neighbouring networks.
pub const MOST_NEIGHBOURS: usize = 100;
/// Most links of a multi-link device.
pub const MOST_LINKS: usize = 3;

/// Configuration of an access point, its stations and its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanConfig {
    /// The stations. Station n with category c of K is behind port 1 + n K + c; the access point is behind port 0.
    pub stations: Vec<StationConfig>,
    /// The categories that are in use, by what they contend with, the first in an internal collision first.
    pub categories: Vec<Category>,
    /// Rule of the backoff of all that contend.
    pub backoff: Backoff,
    /// Transmissions of an MPDU, at most; none is without limit.
    pub attempts: Option<u32>,
    /// Whether RTS and CTS go first.
    pub rts: bool,
    /// Whether a missed block acknowledgement is asked for with a BAR, or the MPDUs are retransmitted.
    pub asks: bool,
    /// Time for which a recipient waits for a missing MPDU before it passes on what came after it; without limit if
    /// none.
    pub reorder_timeout: Option<SimTime>,
    /// The queue of each station and category, and of the access point for each where it has one for each.
    pub queue: QueueConfig,
    /// Queues of the access point.
    pub access_point: AccessPointQueues,
    /// Parameters common to the radios of stations.
    pub radio: RadioConfig,
    /// Networks that share the channel.
    pub neighbours: Option<Neighbours>,
    /// PPDUs of several stations, with stations of 802.11ax and be that have an equal width and guard interval, and no
    /// more of them than that width has RUs.
    pub ofdma: Option<OfdmaConfig>,
    /// The links of multi-link devices, each a channel of its own; empty is one link, that of `stations` and
    /// `neighbours`.
    pub links: Vec<LinkConfig>,
    /// Parameters of the stations that have one radio for their links (EMLSR), in the order of `stations`; none of a
    /// station that sends and receives on all of its links at once (STR). Empty is a network without EMLSR.
    pub emlsr: Vec<Option<EmlsrConfig>>,
}

/// A link of multi-link devices, with a band, a width and a contention of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// The stations as they are on this link, in the order of [`WlanConfig::stations`]; none of one that does not use
    /// it.
    pub stations: Vec<Option<StationConfig>>,
    /// Networks that share its channel.
    pub neighbours: Option<Neighbours>,
    /// The ratios of radios are so much higher on it, in dB.
    pub snr_offset_db: f64,
}

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// The modes in which data are sent to it and from it, of one standard, in rising order of their rates.
    pub modes: Vec<Mode>,
    /// Limits of aggregates.
    pub limits: AmpduLimits,
    /// Rate control.
    pub rate: RateConfig,
    /// Reception of MPDUs without a collision.
    pub reception: ReceptionConfig,
}

/// Rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateConfig {
    /// The mode at this place.
    Constant(usize),
    /// The fastest mode that at the ratio of the moment loses at most this share of MPDUs of 1500 bytes.
    Ideal(f64),
    /// Minstrel-HT: rates by the acknowledgements so far.
    Minstrel,
}

/// Reception of MPDUs without a collision.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceptionConfig {
    /// Share of MPDUs that are lost, whatever their size and mode; answers always arrive.
    ErrorRate(f64),
    /// The table of error rates says it.
    Radio(StationRadio),
}

/// The radio of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationRadio {
    /// The mean ratio of the downlink in dB, of all streams together.
    pub mean_snr_db: f64,
    /// Difference of the uplink in dB.
    pub uplink_offset_db: f64,
    /// Speed of the station in m/s, by which shadowing changes.
    pub speed_mps: f64,
    /// The maximum Doppler shift in cycles a [`STEP`](super::reception::STEP).
    pub fd_t: f64,
    /// Recorded ratios in place of fading around the mean.
    pub trace: Option<SinrTrace>,
}

/// Parameters common to radios.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// Delay profile; `None` is a constant channel.
    pub profile: Option<DelayProfile>,
    /// Shadowing along the way of a station.
    pub shadowing: Option<ShadowingConfig>,
    /// Receivers need so much more than ideal ones.
    pub implementation_loss_db: f64,
    /// Error rates in place of those that come with this crate, by the names of [`Mode::name`].
    pub errors: Option<Arc<ErrorRateTable>>,
}

impl Default for RadioConfig {
    /// Constant channels and ideal receivers.
    fn default() -> Self {
        Self { profile: None, shadowing: None, implementation_loss_db: 0.0, errors: None }
    }
}

/// Queues of the access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessPointQueues {
    /// A queue for each station and category.
    PerStation {
        /// Stations have equal shares of the air, whatever they send in it; otherwise equal numbers of transmissions.
        airtime_fairness: bool,
        /// Airtime limit below the queues (AQL).
        aql: Option<Aql>,
    },
    /// One for all, before a driver that holds [`DRIVER_PACKETS`].
    OneFifo(QueueLimit),
}

/// Packets that the driver of a box with one FIFO holds.
pub const DRIVER_PACKETS: usize = 128;

/// Airtime queue limits: what a driver holds of each station, by how long it takes to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aql {
    /// Airtime that each station may have queued in any case.
    pub low: SimTime,
    /// Airtime that each station may have queued while all stations together have less than the threshold.
    pub high: SimTime,
    /// Queued airtime of all stations together from which `low` holds.
    pub threshold: SimTime,
}

impl Aql {
    /// The limits of Linux.
    pub const LINUX: Self = Self {
        low: SimTime::from_millis(5),
        high: SimTime::from_millis(12),
        threshold: SimTime::from_millis(24),
    };
}

/// Networks that share the channel, each of which contends as one station of best effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// Number of neighbours.
    pub count: usize,
    /// The share of time that their aggregates would take together if nothing else were sent; 1 is without end.
    pub busy: f64,
    /// Duration of a neighbour's aggregate.
    pub aggregate: SimTime,
}

impl WlanConfig {
    /// Checks all parameters.
    ///
    /// # Errors
    /// No stations or more than 1000, more than three links, a link without stations or a station without links, no
    /// categories, error rates outside 0 to 1, a mode that there is not, limits beyond the standard of a station,
    /// stations in several bands, neighbours that cannot be, PPDUs of no station, EMLSR of a station that does not use
    /// several links.
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

/// Checks the stations of one link.
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
    /// Checks the neighbours.
    ///
    /// # Errors
    /// No neighbours or more than 100, a share of time outside 0 to 1, an aggregate that is too short or too long.
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

/// Bytes that a data frame of a standard adds to a packet: a MAC header, FCS of 4, LLC and SNAP of 8. Those of 802.11a
/// and g name no category.
pub const fn mpdu_overhead(standard: Standard) -> u32 {
    match standard {
        Standard::A | Standard::G => super::ampdu::MPDU_OVERHEAD - 2,
        _ => super::ampdu::MPDU_OVERHEAD,
    }
}
