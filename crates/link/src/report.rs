//! What a link tells of itself.

use crate::arq::ArqStatistics;
use crate::node::NodeStatistics;
use crate::occupancy::Occupancy;
use crate::parcel::Parcel;
use crate::station::StationStatistics;
use crate::statistics::LinkStatistics;
use crate::user::UserStatistics;
use crossfade_core::SimTime;

/// What a link has counted by some time, since it was made.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// By when.
    pub at: SimTime,
    /// What it counted of packets.
    pub statistics: LinkStatistics,
    /// What it counted of frames, if it sends packets as frames.
    pub frames: Option<ArqStatistics>,
    /// What it counted of each user, where several share the link.
    pub users: Vec<UserStatistics>,
    /// What its nodes counted, if it has any.
    pub nodes: Vec<NodeStatistics>,
    /// What it counted of each station of an access point, in one direction.
    pub stations: Vec<StationStatistics>,
    /// What it counted of each link of multi-link devices, in one direction, with all stations together.
    pub by_link: Vec<StationStatistics>,
    /// How long it has been sending.
    pub occupancy: Occupancy,
    /// How many packets wait in its queue, where it has one queue.
    pub waiting: Option<usize>,
    /// The packets that wait in its queues, and those that it is sending: a packet has been sent once its last frame has been for the first
    /// time.
    pub unsent: Vec<Parcel>,
    /// The packets that it has sent and that have not come out yet: they are on their way, or held behind it.
    pub sent: Vec<Parcel>,
    /// What it has counted of the other direction, where a medium serves both and counts each for itself.
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

    /// The share of the time from `earlier` on in which the link was sending packets, or frames with a payload;
    /// `duration` is what the share is of. `None` without a rate.
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

/// A share of what there is, if there is anything.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).min(1.0))
}
