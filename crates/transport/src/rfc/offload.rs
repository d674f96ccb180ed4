//! Segmentation offload as Linux has it, also where a device does not offer it: segments that may leave together are one packet
//! up to the device, and one that would leave alone waits for company.

use super::pacer::{quantum, usual_rate};
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
    /// transmission, and the acknowledgement of the oldest segment is due. A paced sender waits by its rate.
    pub(super) fn waits_for_company(&self, now: SimTime, under_way: u64, window: u64) -> bool {
        if self.config.rfc.windows == Rules::Rfc
            || self.pacer.is_some()
            || self.phase != Phase::Open
            || self.last_sent.is_none_or(|at| now.saturating_sub(at) > SOON)
            || (self.packet.at == now && self.packet.left > 0)
        {
            return false;
        }
        let receiver = u64::from(self.config.w_max);
        let room = (window - under_way).min(receiver - self.flight.size().min(receiver));
        let unsent = self.available - self.flight.snd_max();
        let is_some = room > 0 && unsent > 1 && WIN_DIVISOR * room < window.min(receiver);
        if !is_some || room >= self.most_in_packet() {
            return false;
        }
        let (Some(sent_at), Some(srtt)) = (self.flight.oldest_sent_at(), self.rto.srtt()) else {
            return false;
        };
        sent_at.saturating_add(srtt) <= now.saturating_add(SOON)
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

    /// How many segments are one packet at most, by the pacing rate that there is or would be (`tcp_tso_autosize`).
    fn most_in_packet(&self) -> u64 {
        let pacing = self.config.rfc.pacing.unwrap_or_default();
        let srtt = self.rto.srtt();
        let usual = || srtt.map(|srtt| usual_rate(&pacing, &*self.congestion, self.flight.size(), srtt));
        let rate = self.congestion.pacing_rate().or_else(usual);
        quantum(Some(&pacing), &*self.congestion, rate).clamp(1, LARGEST)
    }
}
