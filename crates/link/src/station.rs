//! What is counted of the stations of a wireless network with an access point.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::{SimTime, counters};

/// What happened in one direction between an access point and one of its stations.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StationStatistics {
    /// What is counted of packets.
    pub packets: LinkStatistics,
    /// What is counted of MPDUs, which are the frames of such a network; those that collided count as errors.
    pub mpdus: ArqStatistics,
    /// How long aggregates and single MPDUs were sent, with the exchange of RTS and CTS before them and their answers.
    pub airtime: SimTime,
    /// PPDUs with MPDUs that were sent.
    pub ppdus: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// PPDUs that got no answer, collisions included.
    pub unanswered: u64,
    /// PPDUs that ended where the block acknowledgement window did, though more packets waited.
    pub window_limited: u64,
    /// Block acknowledgement requests that were sent.
    pub requests: u64,
    /// MPDUs whose error the channel made: those that collided are left out.
    pub channel_errors: u64,
    /// MPDUs that were sent and met no collision.
    pub uncollided: u64,
    /// The sum of the MCS of all MPDUs that were sent.
    pub mcs_sum: u64,
    /// PPDUs with MPDUs that were those of several stations as well, and did not collide.
    pub shared_ppdus: u64,
    /// The sum of the numbers of stations of these PPDUs.
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
    /// MPDUs sent, each as often as it was.
    pub fn sent(&self) -> u64 {
        self.mpdus.frames + self.mpdus.retransmissions
    }
}
