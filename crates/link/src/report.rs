//! Reports of links.

use crate::arq::ArqStatistics;
use crate::node::NodeStatistics;
use crate::occupancy::Occupancy;
use crate::parcel::Parcel;
use crate::station::StationStatistics;
use crate::statistics::LinkStatistics;
use crate::user::UserStatistics;
use crossfade_core::SimTime;

/// Statistics of a link at some time, counted since it was made.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Time of the report.
    pub at: SimTime,
    /// Statistics of packets.
    pub statistics: LinkStatistics,
    /// Statistics of frames, if the link sends packets as frames.
    pub frames: Option<ArqStatistics>,
    /// Statistics of each user, where several share the link.
    pub users: Vec<UserStatistics>,
    /// Statistics of each data radio bearer, where some user has several: the first bearers of all users, then the
    /// further ones in the order of the configuration. What is counted of a user as a whole is 0.
    pub bearers: Vec<UserStatistics>,
    /// Statistics of nodes, on a medium with nodes.
    pub nodes: Vec<NodeStatistics>,
    /// Statistics of each station of an access point, in one direction.
    pub stations: Vec<StationStatistics>,
    /// Counts of each link of multi-link devices in one direction, for all stations together.
    pub by_link: Vec<StationStatistics>,
    /// Time for which it has been sending.
    pub occupancy: Occupancy,
    /// Number of packets in the queue, where the link has one queue.
    pub waiting: Option<usize>,
    /// Packets in its queues and in transmission: a packet counts as sent once its last frame has been sent for the
    /// first time.
    pub unsent: Vec<Parcel>,
    /// Sent packets that have not come out yet: they propagate, or are held behind the link.
    pub sent: Vec<Parcel>,
    /// Report of the other direction, on a medium that serves both and counts them separately.
    pub back: Option<Box<LinkReport>>,
}

impl LinkReport {
    /// A report of packets alone.
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

    /// Share of `duration`, the time since `earlier`, in which the link was sending packets or frames with a payload;
    /// `None` without a rate.
    pub fn utilisation(&self, earlier: &Self, duration: SimTime) -> Option<f64> {
        let taken = self.statistics.transmitted_bytes - earlier.statistics.transmitted_bytes;
        let (taken_bits, seconds) = (taken as f64 * 8.0, duration.as_secs_f64());
        match (&self.occupancy, &earlier.occupancy) {
            (Occupancy::Packets { rate_bps, under_way }, Occupancy::Packets { under_way: before, .. }) => {
                let busy = taken_bits / rate_bps + under_way.as_secs_f64() - before.as_secs_f64();
                // Times are whole nanoseconds, bits are not.
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

/// `part` over `whole`; `None` if `whole` is 0.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).min(1.0))
}
