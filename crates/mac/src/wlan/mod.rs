//! Wi-Fi 4 to 7: modes and durations, aggregates, block acknowledgements, contention, rate control, queues of an access
//! point, and closed forms for saturated stations.
//!
//! Protocols take time and randomness as arguments. [`Wlan`] combines them into a [`Fabric`](crossfade_link::Fabric):
//! an access point and its stations on a channel.

mod access_point;
mod airtime;
mod ampdu;
mod config;
mod edca;
mod emlsr;
#[cfg(test)]
mod emlsr_tests;
mod exchange;
#[cfg(test)]
mod links_tests;
mod minstrel;
mod modes;
mod mu;
mod neighbour;
mod network;
#[cfg(test)]
mod network_tests;
mod ofdma;
mod originator;
mod path_loss;
mod rate;
mod reception;
mod recipient;
mod ru;
mod saturation;
#[cfg(test)]
mod shadowing_tests;
#[cfg(test)]
mod shared_tests;
mod way;

pub use airtime::{AirtimeUser, Overhead, Sharing, around, shares};
pub use ampdu::{Ampdu, AmpduLimits, LONGEST_PPDU, MPDU_OVERHEAD, subframe_bytes};
pub use config::{
    AccessPointQueues, Aql, DRIVER_PACKETS, LinkConfig, MOST_LINKS, MOST_NEIGHBOURS, MOST_STATIONS,
    Neighbours, RadioConfig, RateConfig, ReceptionConfig, StationConfig, StationRadio, WlanConfig,
    mpdu_overhead,
};
pub use edca::{
    BACKGROUND, BEST_EFFORT, Backoff, BlockAckFrame, Category, Contest, EDCA, SLOT, VIDEO, VOICE,
};
pub use emlsr::EmlsrConfig;
pub use exchange::{Exchange, rates_in_turns, window_of_links};
pub use modes::{Band, Durations, Mode, Standard};
pub use mu::{MuExchange, MuPpdu, MuWay, RuMode, saturated_in_one_ppdu};
pub use network::Wlan;
pub use ofdma::{MuAck, OfdmaConfig, USUAL_USERS};
pub use originator::{Originator, Settled, Transmit, expand, on_air};
pub use path_loss::{ACCESS_POINT_DBM, STATION_DBM, snr_at_db};
pub use reception::{STEP, required_snr_db};
pub use recipient::{Received, Recipient};
pub use ru::{Layout, Ru, RuPlace};
pub use saturation::{Form, Saturated};
