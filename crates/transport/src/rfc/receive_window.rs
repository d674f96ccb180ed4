//! How the receive window of Linux opens, for the one thing that it decides here: a segment that lets it grow is
//! acknowledged at once (`tcp_grow_window`).
//!
//! The program reads at once. The window that bounds the sender is `w_max` all the time, as everywhere in this flavour.

use crossfade_core::SimTime;

/// Memory for what is received, at first (`tcp_rmem[1]`) and at most (`tcp_rmem[2]`), in bytes.
const BUFFER: u64 = 131_072;
const LARGEST_BUFFER: u64 = 6 << 20;
/// What a program is expected to read in the first round trip, in segments (`tcp_init_buffer_space`).
const FIRST_ROUND: u64 = 10;

/// The receiver's buffer and window, in bytes.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    mss: u64,
    /// What a segment takes of the buffer (`truesize`).
    segment_memory: u64,
    /// Of 256 bytes of the buffer so many count as window (`scaling_ratio`).
    ratio: u64,
    /// The scenario's limit.
    w_max: u64,
    buffer: u64,
    /// How far the window is open (`rcv_ssthresh`).
    open: u64,
    /// What was received in order, how many segments wait beyond holes, and one past the highest of them.
    rcv_nxt: u64,
    waiting: u64,
    highest: u64,
    /// The most that was read in a round trip (`rcvq_space.space`).
    read: u64,
    /// When the current round trip began, and what had been received by then.
    round: Option<(SimTime, u64)>,
    /// Of the handshake, if it is measured; what is longer was queued.
    handshake_rtt: Option<SimTime>,
    least_delay: SimTime,
    rtt: Option<SimTime>,
}

impl ReceiveWindow {
    /// With segments of `mss` bytes, of which at most `w_max` are under way.
    pub(super) fn new(mss: u32, w_max: u32, handshake_rtt: Option<SimTime>) -> Self {
        let mss = u64::from(mss);
        // A packet as a TUN device and most drivers allocate it: headers and headroom, rounded up to a cache line,
        // with struct skb_shared_info to a power of two; struct sk_buff.
        let segment_memory = (((mss + 52 + 64).next_multiple_of(64)) + 320).next_power_of_two() + 256;
        let ratio = (mss * 256 / segment_memory).max(1);
        Self {
            mss,
            segment_memory,
            ratio,
            w_max: u64::from(w_max) * mss,
            buffer: BUFFER,
            // tcp_select_initial_window: half of the buffer, in whole segments.
            open: BUFFER / 2 / mss * mss,
            rcv_nxt: 0,
            waiting: 0,
            highest: 0,
            read: FIRST_ROUND * mss,
            round: None,
            handshake_rtt,
            least_delay: SimTime::MAX,
            rtt: None,
        }
    }

    /// The new segment `seq` that was sent at `sent` has arrived; everything before segment `rcv_nxt` has. Returns whether
    /// the window has grown by it.
    pub(super) fn on_segment(&mut self, now: SimTime, sent: SimTime, seq: u64, rcv_nxt: u64) -> bool {
        self.highest = self.highest.max(seq + 1);
        let in_order = rcv_nxt - self.rcv_nxt;
        self.waiting = (self.waiting + 1).saturating_sub(in_order);
        self.rcv_nxt = rcv_nxt;
        // tcp_grow_window: by two segments, as far as the buffer has room beside this one and those that wait.
        let waiting = self.waiting - u64::from(in_order == 0);
        let room = self.buffer.saturating_sub((1 + waiting) * self.segment_memory);
        let room = self.window_of(room).min(self.w_max);
        let grows = room > self.open;
        if grows {
            self.open = room.min(self.open + 2 * self.mss);
        }
        self.measure(now, sent);
        if in_order == 0 {
            self.enlarge(2 * self.read);
        } else {
            self.adjust(now, rcv_nxt * self.mss);
        }
        grows
    }

    fn window_of(&self, buffer: u64) -> u64 {
        buffer * self.ratio / 256
    }

    /// `tcp_rcv_rtt_update`: an eighth of what is longer, all of what is shorter. A timestamp that comes back says how
    /// long; here the handshake and the queueing of the segment do.
    fn measure(&mut self, now: SimTime, sent: SimTime) {
        let delay = now.saturating_sub(sent);
        self.least_delay = self.least_delay.min(delay);
        let Some(handshake) = self.handshake_rtt else { return };
        let sample = handshake + (delay - self.least_delay);
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample > rtt => rtt + SimTime::from_nanos((sample - rtt).as_nanos() / 8),
            _ => sample,
        });
    }

    /// `tcp_rcv_space_adjust`, where something is read: once a round trip the buffer is made large enough for twice what was read in it, and
    /// for as fast a growth once more.
    fn adjust(&mut self, now: SimTime, received: u64) {
        let (begin, before) = *self.round.get_or_insert((now, received));
        if now - begin < self.rtt.unwrap_or(SimTime::MAX) {
            return;
        }
        let read = received - before;
        if read > self.read {
            let window = 2 * read;
            self.enlarge(window + 2 * (window * (read - self.read) / self.read));
            self.read = read;
        }
        self.round = Some((now, received));
    }

    /// `tcp_rcvbuf_grow`: the buffer has room for this window and for all from the first hole on.
    fn enlarge(&mut self, window: u64) {
        let span = self.highest.saturating_sub(self.rcv_nxt) * self.mss;
        self.buffer = self.buffer.max(((window + span) * 256 / self.ratio).min(LARGEST_BUFFER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of Linux 6.18 (10 Mbit/s, 40 ms there and back, segments of 1448 bytes): it advertises 80,480 bytes from
    /// the sixth segment on, and acknowledges 33 to 64 one by one until it has 169,952, for the 10 segments of the first
    /// round trip were 20 in the second.
    #[test]
    fn the_window_grows_as_in_a_capture() {
        let us = SimTime::from_micros;
        let mut window = ReceiveWindow::new(1448, 1000, Some(us(41_200)));
        let (mut seq, mut grown) = (0, Vec::new());
        for (round, segments) in [10, 20, 34].into_iter().enumerate() {
            for i in 0..segments {
                let at = us(41_200 * round as u64 + 1_200 * i);
                seq += 1;
                if window.on_segment(at, at, seq - 1, seq) {
                    grown.push((seq, window.open));
                }
            }
        }
        let seqs: Vec<u64> = grown.iter().map(|&(seq, _)| seq).collect();
        assert_eq!(seqs, (1..=6).chain(32..64).collect::<Vec<_>>());
        assert_eq!((grown[5].1, grown.len(), grown[37].1), (80_480, 6 + 32, 172_320));
    }

    #[test]
    fn a_small_window_never_grows() {
        let mut window = ReceiveWindow::new(1448, 40, Some(SimTime::from_millis(40)));
        assert!((1..500).all(|seq| !window.on_segment(
            SimTime::from_millis(seq),
            SimTime::ZERO,
            seq - 1,
            seq
        )));
    }
}
