//! Guarantees of TCP's senders on any network.

use crate::adversary::Promises;
use crossfade_transport::{Sender, SenderConfig};

/// Guarantees of TCP: sane windows, a running timer while data is in flight, at most two copies of a segment in the
/// pipe.
#[derive(Default)]
pub(crate) struct Tcp;

impl Promises for Tcp {
    fn check(&self, config: &SenderConfig, sender: &Sender) {
        let tcp = sender.snapshot();
        assert!(tcp.cwnd >= 1.0 && tcp.cwnd.is_finite(), "cwnd {}", tcp.cwnd);
        assert!(tcp.ssthresh >= 1.0, "ssthresh {}", tcp.ssthresh);
        assert!(tcp.backoff >= 1);
        assert!(tcp.flight_size <= u64::from(config.w_max()), "flight size {}", tcp.flight_size);
        // RFC 6675 counts a segment twice while both its transmissions may be under way.
        assert!(sender.pipe() <= 2 * tcp.flight_size, "pipe {}", sender.pipe());
        assert!(tcp.flight_size == 0 || sender.next_timeout().is_some(), "no timer runs");
    }
}
