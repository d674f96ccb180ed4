//! What comes before the first data of a connection, and is not simulated packet by packet.

use crossfade_core::SimTime;

/// The packets before the first data of a connection, over a path without queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Opening {
    /// The round trip of a handshake, where its time counts; without, it has happened before the start.
    pub handshake: Option<SimTime>,
    /// The way of the packet with which the receiver asks for the data, where it does.
    pub request: Option<SimTime>,
    /// Where packets on the reverse path wait to be released together.
    pub releases: Option<Releases>,
}

/// Packets on the reverse path wait for the next multiple of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    /// The period, above zero.
    pub period: SimTime,
    /// So long after its SYN has left a SYN-ACK begins to wait.
    pub way_of_syn: SimTime,
}

impl Releases {
    fn wait(self, at: SimTime) -> SimTime {
        self.period * at.as_nanos().div_ceil(self.period.as_nanos()) - at
    }
}

impl Opening {
    /// How long the SYN-ACK waits that answers a SYN sent at `start`.
    #[must_use]
    pub fn wait_of_syn_ack(&self, start: SimTime) -> SimTime {
        self.releases.map_or(SimTime::ZERO, |releases| releases.wait(start + releases.way_of_syn))
    }

    /// From `start` to the first data.
    #[must_use]
    pub fn lasts(&self, start: SimTime) -> SimTime {
        let open = self
            .handshake
            .map_or(start, |rtt| start.saturating_add(rtt).saturating_add(self.wait_of_syn_ack(start)));
        let asked = self.request.map_or(open, |way| {
            let wait = self.releases.map_or(SimTime::ZERO, |releases| releases.wait(open));
            open.saturating_add(wait).saturating_add(way)
        });
        asked - start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn without_releases_an_opening_is_what_its_packets_take() {
        let opening = Opening { handshake: Some(MS * 40), request: Some(MS * 20), releases: None };
        assert_eq!((opening.lasts(MS * 7), opening.wait_of_syn_ack(MS * 7)), (MS * 60, SimTime::ZERO));
        assert_eq!(Opening::default().lasts(MS * 7), SimTime::ZERO);
    }

    /// Releases each 60 ms: the SYN of 100 ms reaches its answer at 105, which goes at 120 and has arrived at 125. The request
    /// that follows goes at 180.
    #[test]
    fn a_syn_ack_and_a_request_wait_for_their_releases() {
        let releases = Some(Releases { period: MS * 60, way_of_syn: MS * 5 });
        let opening = Opening { handshake: Some(MS * 10), request: Some(MS * 6), releases };
        assert_eq!(opening.wait_of_syn_ack(MS * 100), MS * 15);
        assert_eq!(opening.lasts(MS * 100), MS * (25 + 55 + 6));
        assert_eq!(Opening { request: None, ..opening }.lasts(MS * 100), MS * 25);
        assert_eq!(Opening { handshake: None, ..opening }.lasts(MS * 100), MS * (20 + 6));
        // Who comes at the time of a release goes with it.
        assert_eq!(opening.wait_of_syn_ack(MS * 115), SimTime::ZERO);
    }
}
