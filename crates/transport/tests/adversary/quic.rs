//! Guarantees of QUIC's sender and receiver on any network.

use crate::adversary::Promises;
use crossfade_transport::{Ack, CongestionControlKind, Segment, Sender, SenderConfig};
use std::collections::BTreeSet;

/// Guarantees of QUIC: packet numbers are never reused, and acknowledgements report only packets that have arrived.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) sent: u64,
    arrived: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
}

impl Promises for Numbers {
    fn on_sent(&mut self, packet: &Segment) {
        assert_eq!(packet.number, self.sent, "numbers rise by one and are never used again");
        self.sent += 1;
    }

    /// Checks that a timer runs if data is in flight or waits to be sent.
    fn on_silence(&self, sender: &Sender) {
        let is_idle = sender.is_done() || sender.next_timeout().is_some();
        assert!(is_idle, "no timer runs, and {} have arrived", sender.snd_una());
    }

    fn on_arrival(&mut self, packet: &Segment) {
        self.arrived.insert(packet.number);
    }

    fn on_ack(&mut self, config: &SenderConfig, ack: &Ack) {
        let frame = ack.frame.as_ref().expect("an ACK frame");
        assert!(frame.ranges.len() <= config.quic().expect("QUIC").ack_ranges as usize);
        for number in frame.ranges.iter().flat_map(|range| range.start..range.end) {
            assert!(self.arrived.contains(&number), "{number} has not arrived");
            self.acknowledged.insert(number);
        }
    }

    fn check(&self, config: &SenderConfig, sender: &Sender) {
        let snapshot = sender.snapshot();
        let is_own = matches!(
            config.congestion_control(),
            Some(CongestionControlKind::BbrV1 | CongestionControlKind::BbrV3)
        );
        let least = if is_own { 1.0 } else { config.initial_windows()[0].min(2.0) };
        assert!(snapshot.cwnd >= least && snapshot.cwnd.is_finite(), "cwnd {}", snapshot.cwnd);
        assert!(snapshot.ssthresh >= 2.0 && snapshot.backoff >= 1);
        // Whatever was sent is acknowledged, lost, or in flight.
        assert!(sender.pipe() + self.acknowledged.len() as u64 <= self.sent, "more in flight than was sent");
        let counts = sender.statistics();
        assert!(counts.spurious_losses <= self.acknowledged.len() as u64);
        assert!(counts.spurious_fast_retransmits <= counts.fast_retransmits);
    }
}
