//! Reports of links: their statistics at a given time.

use crate::arq::ArqStatistics;
use crate::node::NodeStatistics;
use crate::occupancy::Occupancy;
use crate::parcel::Parcel;
use crate::station::StationStatistics;
use crate::statistics::LinkStatistics;
use crate::user::UserStatistics;
use crossfade_core::SimTime;

/// Statistics of a link at a given time, counted since the link was created.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Time of the report.
    pub at: SimTime,
    /// Statistics of the packets of the link.
    pub statistics: LinkStatistics,
    /// Statistics of frames, if the link sends packets as frames.
    pub frames: Option<ArqStatistics>,
    /// Statistics of each user; empty if the link does not serve several users.
    pub users: Vec<UserStatistics>,
    /// Statistics of each data radio bearer; empty unless some user has several: the first bearers of all users, then
    /// the further ones in the order of the configuration. Counters that concern a user as a whole are 0.
    pub bearers: Vec<UserStatistics>,
    /// Statistics of each node; empty for media without nodes.
    pub nodes: Vec<NodeStatistics>,
    /// Statistics of each station of an access point in one direction; empty for other links.
    pub stations: Vec<StationStatistics>,
    /// Statistics of each link of multi-link devices in one direction, summed over all stations; empty without such
    /// devices.
    pub by_link: Vec<StationStatistics>,
    /// Occupancy of the transmitter, from which utilisation is computed.
    pub occupancy: Occupancy,
    /// Number of packets in the queue; `None` if the link does not have a single queue.
    pub waiting: Option<usize>,
    /// Packets in queues and in transmission: a packet counts as sent once its last frame has been sent for the first
    /// time.
    pub unsent: Vec<Parcel>,
    /// Sent packets that have not come out yet, because they propagate or are held behind the link.
    pub sent: Vec<Parcel>,
    /// Report of the reverse direction, for a medium that serves both directions and counts them separately.
    pub back: Option<Box<LinkReport>>,
}

impl LinkReport {
    /// Creates a report with statistics of packets only.
    pub fn new(at: SimTime, statistics: LinkStatistics, occupancy: Occupancy) -> Self {
        Self {
            at,
            statistics,
            frames: None,
            users: Vec::new(),
            bearers: Vec::new(),
            nodes: Vec::new(),
            stations: Vec::new(),
            by_link: Vec::new(),
            occupancy,
            waiting: None,
            unsent: Vec::new(),
            sent: Vec::new(),
            back: None,
        }
    }

    /// Share of `duration`, the time since the report `earlier`, in which the link was sending packets or frames with a
    /// payload; `None` if the occupancy is undefined or `duration` is zero.
    pub fn utilisation(&self, earlier: &Self, duration: SimTime) -> Option<f64> {
        let taken = self.statistics.transmitted_bytes - earlier.statistics.transmitted_bytes;
        let (taken_bits, seconds) = (taken as f64 * 8.0, duration.as_secs_f64());
        match (&self.occupancy, &earlier.occupancy) {
            (Occupancy::Packets { rate_bps, under_way }, Occupancy::Packets { under_way: before, .. }) => {
                let busy = taken_bits / rate_bps + under_way.as_secs_f64() - before.as_secs_f64();
                // Times are rounded to whole nanoseconds.
                share(busy.max(0.0), seconds)
            }
            (Occupancy::Frames { frame_time, under_way }, Occupancy::Frames { under_way: before, .. }) => {
                let sent = |report: &Self| report.frames.as_ref().map(|f| f.frames + f.retransmissions);
                let busy = *frame_time * (sent(self)? - sent(earlier)?) + *under_way;
                share(busy.saturating_sub(*before).as_secs_f64(), seconds)
            }
            (
                Occupancy::Capacity { capacity, under_way_bits },
                Occupancy::Capacity { under_way_bits: before, .. },
            ) => {
                let taken_bits = (taken_bits + under_way_bits - before).max(0.0);
                share(taken_bits, capacity.capacity_bits(earlier.at, self.at))
            }
            (Occupancy::Time(busy), Occupancy::Time(before)) => {
                share((*busy - *before).as_secs_f64(), seconds)
            }
            _ => None,
        }
    }
}

/// Ratio of `part` to `whole`, at most 1; `None` if `whole` is 0.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).min(1.0))
}
