//! Statistics of the stations of a wireless network with an access point.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::{SimTime, counters};

/// Statistics of one direction between an access point and one of its stations.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StationStatistics {
    /// Statistics of packets.
    pub packets: LinkStatistics,
    /// Statistics of MPDUs, the frames of a Wi-Fi network; MPDUs that collided count as errors.
    pub mpdus: ArqStatistics,
    /// Airtime of PPDUs with MPDUs, including RTS and CTS before them and their answers.
    pub airtime: SimTime,
    /// Number of PPDUs with MPDUs.
    pub ppdus: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// PPDUs that got no answer, collisions included.
    pub unanswered: u64,
    /// PPDUs that the block acknowledgement window cut short while more packets waited.
    pub window_limited: u64,
    /// Block acknowledgement requests that were sent.
    pub requests: u64,
    /// MPDUs in error by the channel, without those that collided.
    pub channel_errors: u64,
    /// MPDUs sent without a collision.
    pub uncollided: u64,
    /// Sum of the MCS index over all MPDUs sent.
    pub mcs_sum: u64,
    /// PPDUs shared with other stations (OFDMA) that did not collide.
    pub shared_ppdus: u64,
    /// Sum of the number of stations over these shared PPDUs.
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
    /// Number of MPDUs sent, retransmissions included.
    pub fn sent(&self) -> u64 {
        self.mpdus.frames + self.mpdus.retransmissions
    }
}
