//! Receive window of Linux. A segment that enlarges it is acknowledged at once (`tcp_grow_window`), and out-of-order
//! segments reduce it (`__tcp_select_window`).
//!
//! The receiving program reads data as soon as they are in order. Without this model the window is always `w_max`; with
//! it, `w_max` is an upper limit.

use crossfade_core::SimTime;

/// Receive buffer in bytes, initial (`tcp_rmem[1]`) and largest (`tcp_rmem[2]`; 6 MB before Linux commit 572be9bf9d0d).
const BUFFER: u64 = 131_072;
const LARGEST_BUFFER: u64 = 32 << 20;
/// Largest segment in bytes whose buffer fits into a memory page. The model does not limit senders with larger
/// segments, for which the kernel accounts memory differently.
const LARGEST_SEGMENT: u64 = 4096 - 320;
/// Number of segments that a program is expected to read in the first round trip (`tcp_init_buffer_space`).
const FIRST_ROUND: u64 = 10;

/// Receive buffer and window of a connection, in bytes.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    mss: u64,
    /// Buffer space of a segment in bytes (`truesize`).
    segment_memory: u64,
    /// Share of the buffer that counts as window, in 1/256 (`scaling_ratio`).
    ratio: u64,
    /// Upper limit of the window, `w_max` of the scenario, in bytes.
    w_max: u64,
    buffer: u64,
    /// Upper limit of the advertised window in bytes (`rcv_ssthresh`).
    open: u64,
    /// Next in-order segment.
    rcv_nxt: u64,
    /// Number of segments held beyond holes.
    waiting: u64,
    /// One past the highest segment received.
    highest: u64,
    /// Right edge of the advertised window, in bytes from the start of the stream (`rcv_wup + rcv_wnd`).
    edge: u64,
    /// Largest number of bytes read within an RTT (`rcvq_space.space`).
    read: u64,
    /// Start of the current measurement interval of one RTT, and bytes received before it.
    round: Option<(SimTime, u64)>,
    /// Last timestamp that a segment echoed.
    last_echo: SimTime,
    /// Last advertised window in bytes (`rcv_wnd`).
    advertised: u64,
    /// Arrival of the first byte of the window being timed for the RTT, and one past its last byte.
    window_begin: Option<(SimTime, u64)>,
    /// RTT as the receiver estimates it; with timestamps, initially the RTT of the handshake; `None` before a
    /// measurement.
    rtt: Option<SimTime>,
}

impl ReceiveWindow {
    /// Creates the window of a new connection with segments of `mss` bytes, of which at most `w_max` are in flight.
    /// `handshake_rtt` is the RTT of the handshake, if timestamps have measured it.
    pub(super) fn new(mss: u32, w_max: u32, handshake_rtt: Option<SimTime>) -> Self {
        let mss = u64::from(mss);
        // Memory of a packet in a TUN device and most drivers: headers and headroom, rounded up to a cache line, then
        // with struct skb_shared_info to a power of two, and struct sk_buff.
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
            last_echo: SimTime::ZERO,
            advertised: BUFFER / 2 / mss * mss,
            window_begin: None,
            rtt: handshake_rtt,
        }
    }

    /// Processes the new segment `seq`, after which all segments before `rcv_nxt` have arrived. `echo` is the departure
    /// of the acknowledgement whose timestamp the segment echoes, or 0. Returns true if the window has grown, which
    /// `may` permits.
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
        // tcp_grow_window: grow by two segments if the buffer has room besides this segment and those out of order.
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
            self.measure_window(now, rcv_nxt - in_order + 1);
            self.adjust(now, rcv_nxt * self.mss, (in_order - 1) * self.mss);
        }
        grows
    }

    /// Window that an acknowledgement sent now advertises, in whole segments: limited by `open` and by the free buffer,
    /// and never less than an earlier acknowledgement promised. `None` if segments are too large for the model.
    pub(super) fn advertise(&mut self) -> Option<u32> {
        if self.mss > LARGEST_SEGMENT {
            return None;
        }
        let room = self.window_of(self.buffer.saturating_sub(self.waiting * self.segment_memory));
        let received = self.rcv_nxt * self.mss;
        self.edge = self.edge.max(received + room.min(self.open));
        self.advertised = self.edge - received;
        Some(u32::try_from(self.advertised / self.mss).unwrap_or(u32::MAX))
    }

    fn window_of(&self, buffer: u64) -> u64 {
        buffer * self.ratio / 256
    }

    /// Updates the RTT with each new timestamp echo: by an eighth of the difference if the sample is longer, to the
    /// sample if it is shorter (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`).
    fn measure(&mut self, now: SimTime, echo: SimTime) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = now.saturating_sub(echo);
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample > rtt => rtt + SimTime::from_nanos((sample - rtt).as_nanos() / 8),
            _ => sample,
        });
    }

    /// Bounds the RTT by the time in which a whole window arrives, the only measurement without timestamps
    /// (`tcp_rcv_rtt_measure`). All segments before `next` have arrived in order.
    fn measure_window(&mut self, now: SimTime, next: u64) {
        let received = next * self.mss;
        match self.window_begin {
            Some((_, end)) if received < end => return,
            Some((begin, _)) => {
                let took = (now - begin).max(SimTime::from_micros(1));
                self.rtt = Some(took.min(self.rtt.unwrap_or(SimTime::MAX)));
            }
            None => {}
        }
        self.window_begin = Some((now, received + self.advertised.min(self.w_max)));
    }

    /// Enlarges the buffer when data are read: once per RTT, to twice the bytes read in that RTT, plus the same
    /// relative growth once more (`tcp_rcv_space_adjust`). The kernel checks after each copied segment, so of several
    /// read at once it counts the first and leaves the `unread` bytes of the others to the next RTT.
    fn adjust(&mut self, now: SimTime, received: u64, unread: u64) {
        let copied = received - unread;
        let (begin, before) = *self.round.get_or_insert((now, copied));
        if now - begin < self.rtt.unwrap_or(SimTime::MAX) {
            return;
        }
        let read = (copied - before).saturating_sub(unread);
        if read > self.read {
            let window = 2 * read;
            self.enlarge(window + 2 * (window * (read - self.read) / self.read));
            self.read = read;
        }
        self.round = Some((now, copied));
    }

    /// Enlarges the buffer until it has room for `window` bytes and for all data from the first hole on
    /// (`tcp_rcvbuf_grow`).
    fn enlarge(&mut self, window: u64) {
        let span = self.highest.saturating_sub(self.rcv_nxt) * self.mss;
        self.buffer = self.buffer.max(((window + span) * 256 / self.ratio).min(LARGEST_BUFFER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window grows as in a capture of Linux 6.18 (10 Mbit/s, RTT 40 ms, segments of 1448 bytes): it advertises
    /// 80,480 bytes from the sixth segment on, and acknowledges segments 33 to 64 one by one until it has 169,952,
    /// since the 10 segments of the first round trip became 20 in the second.
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

    /// Segments beyond holes take up window, as in a capture with a loss rate of 1/5: segments 9, 10 and 16 are missing
    /// first. The right edge of the capture in segments: 48.0, 51.0, 54.0, 57.0, 60.0, 61.6, 62.6, 63.6, then 64.6 to
    /// 64.7 until 16 has come, and 87.1 with 62. Arrivals are in tenths of a millisecond.
    #[test]
    fn what_waits_beyond_holes_takes_room() {
        let times: [u64; 59] = [
            415, 427, 439, 451, 463, 475, 487, 499, 511, 839, 851, 865, 875, 887, 926, 954, 966, 983, 995,
            1011, 1023, 1039, 1051, 1252, 1265, 1294, 1367, 1379, 1403, 1411, 1424, 1436, 1452, 1464, 1665,
            1689, 1713, 1726, 1792, 1804, 1816, 1834, 1840, 1852, 1876, 1900, 1912, 1924, 1940, 1948, 1960,
            2089, 2114, 2126, 2154, 2163, 2175, 2217, 2229,
        ];
        let segments: [usize; 59] = [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 18, 20, 21, 22, 23, 24, 25, 26, 27, 9, 10, 29, 17,
            19, 31, 32, 33, 34, 35, 36, 37, 39, 28, 41, 30, 42, 43, 44, 45, 46, 48, 50, 51, 52, 53, 54, 55,
            56, 38, 58, 59, 60, 61, 16, 62,
        ];
        let mut window = ReceiveWindow::new(1448, 1000, Some(SimTime::from_micros(40_200)));
        let mut arrived = [false; 100];
        let edges: Vec<u64> = times
            .into_iter()
            .zip(segments)
            .map(|(at, seq)| {
                arrived[seq] = true;
                let rcv_nxt = arrived.iter().position(|&is_there| !is_there).unwrap() as u64;
                window.on_segment(SimTime::from_micros(100 * at), SimTime::ZERO, seq as u64, rcv_nxt, true);
                rcv_nxt + u64::from(window.advertise().unwrap())
            })
            .collect();
        let (before, after) = edges.split_at(edges.len() - 2);
        assert_eq!(before[..8], [48, 51, 54, 57, 60, 61, 62, 63]);
        assert!(before[8..].iter().all(|&edge| edge == 64), "{edges:?}");
        // The kernel acknowledges 16 before the program has read what that lets it: its edge moves with 62.
        assert_eq!(after, [88, 88]);
    }

    /// The buffer grows as the kernel reports (`tcp:tcp_rcvbuf_grow`; 100 Mbit/s, RTT 100 ms, loss rate 1/20, BBR),
    /// given the bytes read in a round trip, the bytes unread, the time in us and the bytes beyond holes; the largest
    /// buffer is reached in the second second.
    #[test]
    fn the_buffer_grows_as_the_kernel_says() {
        // time, rtt, copied, inq, space, ooo, rcvbuf: and the next rcvbuf.
        let rows: [([u64; 7], u64); 4] = [
            ([111_164, 100_000, 353_936, 0, 50_680, 0, 728_473], 14_686_905),
            ([234_220, 184_217, 920_928, 304_080, 353_936, 3_477_176, 14_686_905], 14_686_905),
            ([324_155, 179_150, 3_659_624, 599_472, 616_848, 2_649_840, 14_686_905], 33_554_432),
            ([101_453, 100_000, 3_479_544, 110_048, 3_060_152, 624_088, 33_554_432], 33_554_432),
        ];
        for ([time, rtt, copied, unread, read, beyond, buffer], next) in rows {
            // All sizes in bytes: data out of order were not only whole segments.
            let mut window = ReceiveWindow {
                mss: 1,
                rcv_nxt: copied + unread,
                highest: copied + unread + beyond,
                buffer,
                read,
                round: Some((SimTime::ZERO, 0)),
                rtt: Some(SimTime::from_micros(rtt)),
                ..ReceiveWindow::new(1448, 20_000, None)
            };
            window.adjust(SimTime::from_micros(time), copied + unread, unread);
            assert_eq!((window.read, window.buffer), (copied - unread, next), "{time}");
        }
    }

    /// Without timestamps the RTT is the time in which a window arrives: the first window is 44 segments, and one
    /// segment arrives each ms.
    #[test]
    fn without_timestamps_a_round_trip_is_what_a_window_takes() {
        let mut window = ReceiveWindow::new(1460, 1000, None);
        let mut advertised = Vec::new();
        for seq in 0..400 {
            window.on_segment(SimTime::from_millis(seq), SimTime::ZERO, seq, seq + 1, true);
            advertised.push(window.advertise().unwrap());
        }
        let first = advertised.iter().position(|&segments| segments > 56).unwrap();
        assert!((43..60).contains(&first), "{first}: {advertised:?}");
        assert_eq!(window.rtt, Some(SimTime::from_millis(44)));
    }

    /// The window is never below one segment, for which the sender would wait forever.
    #[test]
    fn there_is_room_for_a_segment_if_none_waits() {
        let rtt = Some(SimTime::from_millis(40));
        for mss in 1..=LARGEST_SEGMENT as u32 {
            let mut window = ReceiveWindow::new(mss, 1000, rtt);
            assert!(window.advertise().is_some_and(|segments| segments >= 1), "{mss}");
            window.on_segment(SimTime::ZERO, SimTime::ZERO, 0, 1, true);
            assert!(window.advertise().is_some_and(|segments| segments >= 1), "{mss}");
        }
        assert_eq!(ReceiveWindow::new(8948, 1000, rtt).advertise(), None);
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
