//! The receive window of Linux: a segment that lets it grow is acknowledged at once (`tcp_grow_window`), and what waits beyond holes
//! takes room from it (`__tcp_select_window`).
//!
//! The program reads at once. Elsewhere in this flavour `w_max` is the window all the time; it bounds this one too.

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
    /// Up to where the sender was allowed to send, in bytes from the first on (`rcv_wup + rcv_wnd`).
    edge: u64,
    /// The most that was read in a round trip (`rcvq_space.space`).
    read: u64,
    /// When the current round trip began, and what had been received by then.
    round: Option<(SimTime, u64)>,
    /// Of the handshake, if it is measured.
    handshake_rtt: Option<SimTime>,
    /// The last timestamp echoed.
    last_echo: SimTime,
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
            edge: 0,
            read: FIRST_ROUND * mss,
            round: None,
            handshake_rtt,
            last_echo: SimTime::ZERO,
            rtt: handshake_rtt,
        }
    }

    /// The new segment `seq` has arrived, which echoes an acknowledgement that left at `echo`, if that is not 0; everything before
    /// segment `rcv_nxt` has. Returns whether the window has grown by it, which it `may`.
    pub(super) fn on_segment(
        &mut self,
        now: SimTime,
        echo: SimTime,
        seq: u64,
        rcv_nxt: u64,
        may: bool,
    ) -> bool {
        self.highest = self.highest.max(seq + 1);
        let in_order = rcv_nxt - self.rcv_nxt;
        self.waiting = (self.waiting + 1).saturating_sub(in_order);
        self.rcv_nxt = rcv_nxt;
        // tcp_grow_window: by two segments, as far as the buffer has room beside this one and those that wait.
        let waiting = self.waiting - u64::from(in_order == 0);
        let room = self.buffer.saturating_sub((1 + waiting) * self.segment_memory);
        let room = self.window_of(room).min(self.w_max);
        let grows = may && room > self.open;
        if grows {
            self.open = room.min(self.open + 2 * self.mss);
        }
        self.measure(now, echo);
        if in_order == 0 {
            self.enlarge(2 * self.read);
        } else {
            self.adjust(now, rcv_nxt * self.mss);
        }
        grows
    }

    /// The window that an acknowledgement advertises now, in whole segments: what is open and has room beside what waits, and no
    /// less than was promised.
    pub(super) fn advertise(&mut self) -> u32 {
        let room = self.window_of(self.buffer.saturating_sub(self.waiting * self.segment_memory));
        let received = self.rcv_nxt * self.mss;
        self.edge = self.edge.max(received + room.min(self.open));
        u32::try_from((self.edge - received) / self.mss).unwrap_or(u32::MAX)
    }

    fn window_of(&self, buffer: u64) -> u64 {
        buffer * self.ratio / 256
    }

    /// `tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`: with each new echo an eighth of what is longer, all of what is shorter.
    fn measure(&mut self, now: SimTime, echo: SimTime) {
        if self.handshake_rtt.is_none() || echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = now.saturating_sub(echo);
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
                // The acknowledgement of the round before.
                let echo = at.saturating_sub(us(41_200));
                if window.on_segment(at, echo, seq - 1, seq, true) {
                    grown.push((seq, window.open));
                }
            }
        }
        let seqs: Vec<u64> = grown.iter().map(|&(seq, _)| seq).collect();
        assert_eq!(seqs, (1..=6).chain(32..64).collect::<Vec<_>>());
        assert_eq!((grown[5].1, grown.len(), grown[37].1), (80_480, 6 + 32, 172_320));
    }

    /// The same over losses of a fifth: segments 9 and 10 are missing, then 16; up to 64.66 segments are allowed all the time, however
    /// many are acknowledged, and more once 40 is the first that is missing.
    #[test]
    fn what_waits_beyond_holes_takes_room() {
        let us = SimTime::from_micros;
        let mut window = ReceiveWindow::new(1448, 1000, Some(us(40_200)));
        let arrivals = [0..9, 11..16, 18..19, 20..28, 9..10, 10..11, 29..31, 28..29, 17..18, 31..38];
        let (mut arrived, mut rcv_nxt, mut edges) = ([false; 100], 0, Vec::new());
        let mut arrive = |seq: usize| {
            arrived[seq] = true;
            let next = arrived.iter().position(|&is_there| !is_there).unwrap() as u64;
            window.on_segment(us(1200 * seq as u64), SimTime::ZERO, seq as u64, next, true);
            rcv_nxt = next;
            next + u64::from(window.advertise())
        };
        for seq in arrivals.into_iter().flatten() {
            edges.push(arrive(seq));
        }
        // As the kernel: 45 at first, and with each of the next two segments more than it takes.
        assert_eq!(edges[..6], [48, 51, 54, 57, 60, 61]);
        assert!(edges[8..].iter().all(|&edge| edge == 64), "{edges:?}");
        let seqs = [38..40, 16..17].into_iter().flatten();
        let last = seqs.map(&mut arrive).last();
        assert!(
            last.is_some_and(|edge| edge > 87),
            "{last:?}; the kernel's, which was read a little later, 87"
        );
        assert_eq!(rcv_nxt, 28 + 12);
    }

    #[test]
    fn a_small_window_never_grows() {
        let mut window = ReceiveWindow::new(1448, 40, Some(SimTime::from_millis(40)));
        assert!((1..500).all(|seq| !window.on_segment(
            SimTime::from_millis(seq),
            SimTime::ZERO,
            seq - 1,
            seq,
            true
        )));
    }
}
