//! Handshake and request before the first data of a connection, which are not simulated packet by packet.

use crossfade_core::SimTime;

/// Duration of the handshake and the request before the first data of a connection, over a path without queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Opening {
    /// RTT of the handshake; `None`: the handshake is over before the connection starts.
    pub handshake: Option<SimTime>,
    /// One-way delay of the packet with which the receiver requests the data; `None`: no request.
    pub request: Option<SimTime>,
    /// Periodic release of packets on the reverse path; `None`: packets of the reverse path do not wait.
    pub releases: Option<Releases>,
}

/// Periodic release on the reverse path: each packet waits for the next multiple of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    /// Period of the releases on the reverse path, above zero.
    pub period: SimTime,
    /// Delay of the SYN on the forward path, after which the SYN-ACK starts to wait for a release.
    pub way_of_syn: SimTime,
}

impl Releases {
    fn wait(self, at: SimTime) -> SimTime {
        self.period * at.as_nanos().div_ceil(self.period.as_nanos()) - at
    }
}

impl Opening {
    /// Waiting time of the SYN-ACK that answers a SYN sent at `start`.
    #[must_use]
    pub fn wait_of_syn_ack(&self, start: SimTime) -> SimTime {
        self.releases.map_or(SimTime::ZERO, |releases| releases.wait(start + releases.way_of_syn))
    }

    /// Time from `start`, when the connection begins, to its first data.
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

    /// A SYN-ACK and a request wait for releases at multiples of 60 ms: a SYN of 100 ms arrives at 105, its SYN-ACK
    /// leaves at 120 and arrives at 125; the request that follows leaves at 180.
    #[test]
    fn a_syn_ack_and_a_request_wait_for_their_releases() {
        let releases = Some(Releases { period: MS * 60, way_of_syn: MS * 5 });
        let opening = Opening { handshake: Some(MS * 10), request: Some(MS * 6), releases };
        assert_eq!(opening.wait_of_syn_ack(MS * 100), MS * 15);
        assert_eq!(opening.lasts(MS * 100), MS * (25 + 55 + 6));
        assert_eq!(Opening { request: None, ..opening }.lasts(MS * 100), MS * 25);
        assert_eq!(Opening { handshake: None, ..opening }.lasts(MS * 100), MS * (20 + 6));
        // A packet that arrives at a release time leaves at once.
        assert_eq!(opening.wait_of_syn_ack(MS * 115), SimTime::ZERO);
    }
}
