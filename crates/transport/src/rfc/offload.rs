//! Segmentation offload as Linux has it, also where a device does not offer it: segments that may leave together are one packet
//! up to the device, and one that would leave alone waits for company.

use super::{Phase, RfcSender};
use crate::config::Rules;
use crossfade_core::SimTime;

/// Company is expected only so soon after the last transmission, and so long before the next acknowledgement is.
const SOON: SimTime = SimTime::from_millis(1);
/// A third of the window does not wait (`tcp_tso_win_divisor`).
const WIN_DIVISOR: u64 = 3;
/// 65,536 bytes of 1448 each (`GSO_LEGACY_MAX_SIZE`).
const LARGEST: u64 = 45;

/// New segments that are one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// When it leaves.
    at: SimTime,
    /// How many segments it has, and how many of them have not left.
    size: u64,
    left: u64,
}

impl RfcSender {
    /// Whether a new segment rather waits for the next acknowledgement, which will let more leave with it
    /// (`tcp_tso_should_defer`): where less than a whole packet and less than a third of the window may leave, right after a
    /// transmission, and the acknowledgement of the oldest segment is due.
    pub(super) fn waits_for_company(&self, now: SimTime, under_way: u64, window: u64) -> bool {
        if self.config.rfc.windows == Rules::Rfc
            || self.phase != Phase::Open
            || self.last_sent.is_none_or(|at| now.saturating_sub(at) > SOON)
            || (self.packet.at == now && self.packet.left > 0)
        {
            return false;
        }
        let receiver = u64::from(self.config.w_max);
        let room = (window - under_way).min(receiver - self.flight.size().min(receiver));
        let unsent = self.available - self.flight.snd_max();
        if unsent < 2 || room >= self.most_in_packet() || WIN_DIVISOR * room >= window.min(receiver) {
            return false;
        }
        let due = self.flight.oldest_sent_at().zip(self.rto.srtt()).map(|(sent_at, srtt)| sent_at + srtt);
        due.is_some_and(|due| due <= now + SOON)
    }

    /// A new segment has left. Whether it is the last of a packet of two or more, or of what the application wrote: such carry
    /// PSH.
    pub(super) fn ends_packet(&mut self, now: SimTime) -> bool {
        if self.packet.at != now || self.packet.left == 0 {
            // Before it left.
            let room = (self.congestion.cwnd() as u64 + 1).saturating_sub(self.pipe());
            let unsent = self.available - self.flight.snd_max() + 1;
            // At least two packets make a window (`tcp_cwnd_test`).
            let half = (self.congestion.cwnd() as u64 / 2).max(1);
            let size = room.clamp(1, half).min(self.most_in_packet()).min(unsent);
            self.packet = Packet { at: now, size, left: size };
        }
        self.packet.left -= 1;
        self.flight.snd_max() == self.available || (self.packet.size > 1 && self.packet.left == 0)
    }

    /// How many segments Linux makes one packet of: a 1024th of a second at its pacing rate, at least two
    /// (`tcp_tso_autosize`).
    fn most_in_packet(&self) -> u64 {
        let Some(srtt) = self.rto.srtt() else { return 2 };
        let cwnd = self.congestion.cwnd();
        let ratio = if cwnd < self.congestion.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        let rate = ratio * cwnd.max(self.flight.size() as f64) / srtt.as_secs_f64();
        ((rate / 1024.0) as u64).clamp(2, LARGEST)
    }
}
