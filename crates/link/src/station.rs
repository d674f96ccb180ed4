//! Statistics of the stations of a wireless network with an access point.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::{SimTime, counters};

/// Statistics of one direction between an access point and one of its stations.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StationStatistics {
    /// Statistics of the packets to or from the station.
    pub packets: LinkStatistics,
    /// Statistics of MPDUs, the frames of a Wi-Fi network; MPDUs that collided count as errors.
    pub mpdus: ArqStatistics,
    /// Total airtime of PPDUs with MPDUs, including RTS and CTS before them and the answers to them.
    pub airtime: SimTime,
    /// Number of PPDUs with MPDUs.
    pub ppdus: u64,
    /// Number of PPDUs that collided.
    pub collisions: u64,
    /// Number of PPDUs without an answer, including those that collided.
    pub unanswered: u64,
    /// Number of PPDUs that the block acknowledgement window limited while more packets waited.
    pub window_limited: u64,
    /// Number of block acknowledgement requests transmitted.
    pub requests: u64,
    /// Number of MPDUs in error because of the channel, without those that collided.
    pub channel_errors: u64,
    /// Number of MPDUs transmitted without a collision.
    pub uncollided: u64,
    /// Sum of the MCS index over all MPDUs transmitted.
    pub mcs_sum: u64,
    /// Number of PPDUs shared with other stations (OFDMA) that did not collide.
    pub shared_ppdus: u64,
    /// Sum, over the PPDUs of `shared_ppdus`, of their number of stations.
    pub sharing_stations: u64,
}

counters!(StationStatistics {
    packets,
    mpdus,
    airtime,
    ppdus,
    collisions,
    unanswered,
    window_limited,
    requests,
    channel_errors,
    uncollided,
    mcs_sum,
    shared_ppdus,
    sharing_stations
});

impl StationStatistics {
    /// Number of MPDUs transmitted, including retransmissions.
    pub fn sent(&self) -> u64 {
        self.mpdus.frames + self.mpdus.retransmissions
    }
}
