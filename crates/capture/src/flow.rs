//! TCP connection of a capture: turns segments and acknowledgements into packets.

use crate::error::CaptureError;
use crate::packet::{Direction, Endpoints, IpVersion, MAX_MSS, MAX_SHIFT, MAX_WINDOW, Packet};
use crate::pcap::Pcap;
use crossfade_core::SimTime;
use crossfade_transport::{AccEcn, Ack, ByteCounters, SackBlocks, Segment};
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
    WindowScale,
};
use etherparse::{IpEcn, TcpHeader, TcpOptionElement};

/// Options of a captured TCP connection, as its two ends negotiate them in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Payload bytes of a full segment, 1 to 65483, without headers.
    pub mss: u32,
    /// Receiver window in segments; at least 1, and at most 65535 * 2^14 bytes (RFC 7323 section 2.3).
    pub w_max: u32,
    /// True if packets have the timestamps option (RFC 7323 section 3); requires acknowledgements that echo timestamps.
    pub timestamps: bool,
    /// True if selective acknowledgements are negotiated (RFC 2018); if false, the blocks of an [`Ack`] are left out.
    pub sack: bool,
    /// Feedback of congestion marks that is negotiated; with [`Ecn::Off`] no packet has ECN bits.
    pub ecn: Ecn,
    /// True if SYNs have their options in the order of Linux, by which a reader of the capture identifies its stack.
    pub linux: bool,
    /// Number of bytes that the application sends, the last segment with the remainder; `None` is an endless source.
    pub bytes: Option<u64>,
}

/// Explicit congestion notification: feedback of congestion marks between the ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// No feedback of congestion marks.
    #[default]
    Off,
    /// Classic ECN: the receiver echoes marks by a flag until the sender confirms (RFC 3168).
    Echo,
    /// AccECN: the receiver counts marked packets and bytes (RFC 9768).
    Accurate,
}

/// Tick of the timestamps option's clock: 1 ms, the shortest of RFC 7323 section 5.4.
const TIMESTAMP_TICK: SimTime = SimTime::from_millis(1);

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMP_LEN: u32 = 12;

/// Window that the data sender advertises: the largest without scaling, as it receives no data.
const SENDER_WINDOW: u16 = u16::MAX;

/// Sequence number of the first data byte. Both initial sequence numbers are 0, so the byte at offset n of the stream
/// has number n + 1, whether a tool shows relative numbers or not.
const FIRST_BYTE: u32 = 1;

impl Connection {
    /// Checks the maximum segment size and the receiver window.
    ///
    /// # Errors
    /// If the MSS exceeds what a packet holds, or the window what a header can advertise.
    pub(crate) fn check(&self) -> Result<(), CaptureError> {
        let &Self { mss, w_max, .. } = self;
        if !(1..=MAX_MSS).contains(&mss) {
            return Err(CaptureError::Mss { mss });
        }
        if !(1..=MAX_WINDOW).contains(&self.window_bytes()) {
            return Err(CaptureError::Window { w_max, mss, bytes: self.window_bytes() });
        }
        Ok(())
    }

    fn window_bytes(&self) -> u64 {
        u64::from(self.w_max) * u64::from(self.mss)
    }

    /// Window scale of the receiver: the smallest shift by which a header can show its largest window.
    fn shift(&self) -> u8 {
        (0..=MAX_SHIFT)
            .find(|shift| u16::try_from(self.window_bytes().div_ceil(1 << shift)).is_ok())
            .expect("the window was checked against the largest shift")
    }

    /// Window field of a header, scaled by `shift`, for a receiver window of `segments`, at most `w_max`.
    ///
    /// It is rounded up, as Linux does (`__tcp_select_window`), so that the sender may use all of the window. Rounding
    /// adds less than a segment up to a `w_max` of 32768, so it never makes room for one more.
    fn scaled_window(&self, segments: u32, shift: u8) -> u16 {
        let bytes = u64::from(segments.min(self.w_max)) * u64::from(self.mss);
        u16::try_from(bytes.div_ceil(1 << shift)).expect("no more than the largest window")
    }
}

/// State of a captured connection: before its handshake, established, or after its FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Established,
    Closed,
}

/// State of a captured TCP connection.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    connection: Connection,
    endpoints: Endpoints,
    stage: Stage,
    /// Scaled window field of the receiver's last acknowledgement.
    window: u16,
    shift: u8,
    /// IPv4 identification of the next packet to the receiver (index 0) and to the sender (index 1).
    identification: [u16; 2],
    /// `TSecr` of the next packet to the receiver (index 0) and to the sender (index 1): the last clock value of the
    /// other end (`TS.Recent` of RFC 7323 section 4.3).
    timestamp_echo: [u32; 2],
    /// ACE field of the sender, which sees no mark. `ace` is that of the receiver (RFC 9768).
    unmarked: u8,
    ace: u8,
}

impl Flow {
    /// Connection that has sent nothing; `connection` must have passed its check.
    pub(crate) fn new(version: IpVersion, flow: u32, connection: Connection) -> Self {
        let shift = connection.shift();
        Self {
            connection,
            endpoints: Endpoints::new(version, flow),
            stage: Stage::New,
            window: connection.scaled_window(connection.w_max, shift),
            shift,
            identification: [0; 2],
            timestamp_echo: [0; 2],
            unmarked: 5,
            ace: 5,
        }
    }

    /// True if the connection has sent a packet.
    pub(crate) fn has_begun(&self) -> bool {
        self.stage != Stage::New
    }

    /// Appends the packet of a segment that the sender handed to its interface at `now`, after the handshake if it is
    /// first.
    pub(crate) fn data(&mut self, pcap: &mut Pcap, now: SimTime, segment: &Segment) {
        self.open(pcap, now);
        pcap.push_packet(now, &self.segment(segment));
    }

    /// IP packet of a data segment.
    pub(crate) fn segment(&mut self, segment: &Segment) -> Packet {
        let (start, end) = (self.offset(segment.seq), self.offset(segment.seq.saturating_add(1)));
        let mut tcp = TcpHeader {
            // RFC 9293 section 3.9.1.2: PSH when there is no more data to be sent.
            psh: self.connection.bytes == Some(end),
            ..self.header(Direction::ToReceiver, sequence_number(start), self.receiver_next())
        };
        tcp.cwr |= segment.cwr && self.connection.ecn == Ecn::Echo;
        let options = self.timestamps(Direction::ToReceiver, segment.timestamp);
        let ecn = match segment.ecn_capable && self.connection.ecn != Ecn::Off {
            true if segment.l4s => IpEcn::Ect1,
            true => IpEcn::Ect0,
            false => IpEcn::NotEct,
        };
        self.packet(Direction::ToReceiver, ecn, tcp, &options, &[], (end - start) as u32)
    }

    /// Appends the packet of an acknowledgement that reached the sender at `now`. If it covers all data, the connection
    /// ends.
    pub(crate) fn ack(&mut self, pcap: &mut Pcap, now: SimTime, ack: &Ack) {
        self.open(pcap, now);
        pcap.push_packet(now, &self.acknowledgement(ack));
        if self.connection.bytes.is_some_and(|bytes| self.offset(ack.next_expected) == bytes) {
            self.close(pcap, now);
        }
    }

    /// The packet of an acknowledgement, which bears the time at which it left the receiver.
    pub(crate) fn acknowledgement(&mut self, ack: &Ack) -> Packet {
        let acknowledged = match self.stage {
            Stage::Closed => self.fin().wrapping_add(1),
            _ => sequence_number(self.offset(ack.next_expected)),
        };
        if self.connection.ecn == Ecn::Accurate {
            self.ace = ack.accurate.ace();
        }
        if let Some(segments) = ack.window {
            self.window = self.connection.scaled_window(segments, self.shift);
        }
        let mut tcp = self.header(Direction::ToSender, self.receiver_next(), acknowledged);
        tcp.ece |= ack.ece && self.connection.ecn == Ecn::Echo;
        if let Some(echo) = ack.timestamp_echo {
            self.timestamp_echo[Direction::ToSender as usize] = ticks(echo);
        }
        let counters = ack.accurate.counters().map(accurate_option).unwrap_or_default();
        self.bare(ack.timestamp, Direction::ToSender, tcp, &self.sack(ack.sack), &counters)
    }

    /// Appends the three packets of the handshake (RFC 9293 section 3.5), once, before the first event of the
    /// connection.
    fn open(&mut self, pcap: &mut Pcap, now: SimTime) {
        if self.has_begun() {
            return;
        }
        self.stage = Stage::Established;
        // RFC 3168 section 6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK has ECE alone. RFC 9768
        // section 3.1.1: AE, CWR and ECE ask for counts; the SYN-ACK, and the ACK of it (section 3.2.2.1), have 2, as
        // the packets that they answer were not ECT.
        let [ask, answer, confirm] = match self.connection.ecn {
            Ecn::Off => [0, 0, 0],
            Ecn::Echo => [3, 1, 0],
            Ecn::Accurate => [7, 2, 2],
        };
        let syn =
            TcpHeader { syn: true, ack: false, ..self.header(Direction::ToReceiver, FIRST_BYTE - 1, 0) };
        self.control(pcap, now, Direction::ToReceiver, with_flags(syn, ask), &self.syn_options(0));
        let syn_ack = TcpHeader {
            syn: true,
            // RFC 7323 section 2.2: the window of a SYN is never scaled.
            window_size: self.connection.window_bytes().min(u64::from(u16::MAX)) as u16,
            ..self.header(Direction::ToSender, FIRST_BYTE - 1, FIRST_BYTE)
        };
        let options = self.syn_options(self.shift);
        self.control(pcap, now, Direction::ToSender, with_flags(syn_ack, answer), &options);
        let ack = self.header(Direction::ToReceiver, FIRST_BYTE, FIRST_BYTE);
        self.control(pcap, now, Direction::ToReceiver, with_flags(ack, confirm), &[]);
    }

    /// Appends the three packets that close a connection, once, when all data are acknowledged (RFC 9293 section 3.6).
    fn close(&mut self, pcap: &mut Pcap, now: SimTime) {
        if self.stage == Stage::Closed {
            return;
        }
        let fin = self.fin();
        let after_fin = fin.wrapping_add(1);
        let tcp = TcpHeader { fin: true, ..self.header(Direction::ToReceiver, fin, FIRST_BYTE) };
        self.control(pcap, now, Direction::ToReceiver, tcp, &[]);
        let tcp = TcpHeader { fin: true, ..self.header(Direction::ToSender, FIRST_BYTE, after_fin) };
        self.control(pcap, now, Direction::ToSender, tcp, &[]);
        self.stage = Stage::Closed;
        let tcp = self.header(Direction::ToReceiver, after_fin, self.receiver_next());
        self.control(pcap, now, Direction::ToReceiver, tcp, &[]);
    }

    /// Offset in the byte stream of the first byte of segment number `segment`.
    fn offset(&self, segment: u64) -> u64 {
        let offset = segment.saturating_mul(u64::from(self.connection.mss));
        offset.min(self.connection.bytes.unwrap_or(u64::MAX))
    }

    /// Sequence number of the sender's FIN.
    fn fin(&self) -> u32 {
        sequence_number(self.connection.bytes.unwrap_or_default())
    }

    /// Next sequence number of the receiver, which sends no data, only a SYN and a FIN.
    fn receiver_next(&self) -> u32 {
        FIRST_BYTE + u32::from(self.stage == Stage::Closed)
    }

    /// TCP header with the ACK flag, the window and the AccECN field of its end, and no other flag.
    fn header(&self, direction: Direction, sequence: u32, acknowledged: u32) -> TcpHeader {
        let header = TcpHeader {
            sequence_number: sequence,
            acknowledgment_number: acknowledged,
            ack: true,
            window_size: match direction {
                Direction::ToReceiver => SENDER_WINDOW,
                Direction::ToSender => self.window,
            },
            ..self.endpoints.tcp(direction)
        };
        match (self.connection.ecn, direction) {
            (Ecn::Accurate, Direction::ToReceiver) => with_flags(header, self.unmarked),
            (Ecn::Accurate, Direction::ToSender) => with_flags(header, self.ace),
            _ => header,
        }
    }

    /// Options of a SYN without timestamps: MSS, window scale, SACK permitted.
    fn syn_options(&self, shift: u8) -> Vec<TcpOptionElement> {
        // RFC 6691 section 2: the MSS option does not count options, a segment of data makes room for them.
        let mss = self.connection.mss + if self.connection.timestamps { TIMESTAMP_LEN } else { 0 };
        let mut options = vec![MaximumSegmentSize(mss as u16), Noop, WindowScale(shift)];
        if self.connection.sack {
            options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
        }
        options
    }

    /// SACK option of an acknowledgement, in sequence numbers (RFC 2018 section 3); a D-SACK (RFC 2883) is a block like
    /// any other.
    fn sack(&self, blocks: SackBlocks) -> Vec<TcpOptionElement> {
        let edges = |at: usize| {
            let block = blocks.as_slice().get(at)?;
            Some((sequence_number(self.offset(block.start)), sequence_number(self.offset(block.end))))
        };
        match edges(0).filter(|_| self.connection.sack) {
            // Three blocks fill the space beside timestamps.
            Some(first) => vec![Noop, Noop, SelectiveAcknowledgement(first, [edges(1), edges(2), None])],
            None => Vec::new(),
        }
    }

    /// Timestamps option of a packet that leaves its end at `now`; empty if timestamps are not negotiated.
    fn timestamps(&self, direction: Direction, now: SimTime) -> Vec<TcpOptionElement> {
        if self.connection.timestamps {
            vec![Noop, Noop, Timestamp(ticks(now), self.timestamp_echo[direction as usize])]
        } else {
            Vec::new()
        }
    }

    /// Adds a packet without payload that bears the time at which it is captured.
    fn control(
        &mut self,
        pcap: &mut Pcap,
        now: SimTime,
        direction: Direction,
        tcp: TcpHeader,
        more_options: &[TcpOptionElement],
    ) {
        pcap.push_packet(now, &self.bare(now, direction, tcp, more_options, &[]));
    }

    /// A packet without payload that bears the time `now`, which RFC 3168 section 6.1.4 leaves without ECN in the IP header.
    fn bare(
        &mut self,
        now: SimTime,
        direction: Direction,
        tcp: TcpHeader,
        more_options: &[TcpOptionElement],
        raw_options: &[u8],
    ) -> Packet {
        let mut options = self.timestamps(direction, now);
        options.extend_from_slice(more_options);
        if tcp.syn && self.connection.linux {
            options = as_linux(options);
        }
        self.timestamp_echo[direction.opposite() as usize] = ticks(now);
        self.packet(direction, IpEcn::NotEct, tcp, &options, raw_options, 0)
    }

    fn packet(
        &mut self,
        direction: Direction,
        ecn: IpEcn,
        mut tcp: TcpHeader,
        options: &[TcpOptionElement],
        raw_options: &[u8],
        payload_len: u32,
    ) -> Packet {
        const FIT: &str = "timestamps and three SACK blocks are 40 bytes, two and the option of AccECN too";
        tcp.set_options(options).expect(FIT);
        if !raw_options.is_empty() {
            let options = [tcp.options.as_slice(), raw_options].concat();
            tcp.set_options_raw(&options).expect(FIT);
        }
        let identification = &mut self.identification[direction as usize];
        let headers = self.endpoints.headers(direction, ecn, *identification, tcp, payload_len);
        *identification = identification.wrapping_add(1);
        Packet { headers, zeros: payload_len }
    }
}

/// Puts the options of a SYN in the order of Linux (`tcp_options_write` of `net/ipv4/tcp_output.c`): maximum segment
/// size, SACK permitted, timestamps, no operation, window scale.
fn as_linux(mut options: Vec<TcpOptionElement>) -> Vec<TcpOptionElement> {
    let place = |option: &TcpOptionElement| match option {
        MaximumSegmentSize(_) => 0,
        SelectiveAcknowledgementPermitted => 1,
        Timestamp(..) => 2,
        _ => 3,
    };
    options.retain(|option| *option != Noop);
    options.sort_by_key(place);
    if let Some(scale) = options.iter().position(|option| place(option) == 3) {
        options.insert(scale, Noop);
    }
    options
}

fn with_flags(tcp: TcpHeader, ace: u8) -> TcpHeader {
    TcpHeader { ns: ace & 4 != 0, cwr: ace & 2 != 0, ece: ace & 1 != 0, ..tcp }
}

/// AccECN option with two byte counters: of ECT(1) and CE under kind 174, or of ECT(0) and CE under kind 172 (RFC 9768
/// section 3.2.3).
fn accurate_option(counters: ByteCounters) -> Vec<u8> {
    let mut option = vec![if counters.is_ect_1 { 174 } else { 172 }, AccEcn::OPTION_BYTES as u8];
    for counter in [counters.ect, counters.ce] {
        option.extend(&counter.to_be_bytes()[1..]);
    }
    option
}

/// Sequence number of the byte at `offset` of the stream; it wraps around at 2^32 (RFC 9293 section 3.4).
fn sequence_number(offset: u64) -> u32 {
    (offset as u32).wrapping_add(FIRST_BYTE)
}

/// Value of the timestamps option at `time`, in ms; it wraps around after 49 days.
fn ticks(time: SimTime) -> u32 {
    (time / TIMESTAMP_TICK) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(mss: u32, w_max: u32) -> Connection {
        Connection { mss, w_max, timestamps: true, sack: true, ecn: Ecn::Off, linux: false, bytes: None }
    }

    #[test]
    fn a_window_is_shown_with_the_least_shift_and_never_too_small() {
        let shown = |mss, w_max| {
            let connection = connection(mss, w_max);
            (connection.scaled_window(w_max, connection.shift()), connection.shift())
        };
        assert_eq!(shown(1000, 20), (20_000, 0));
        assert_eq!(shown(1, 65_535), (65_535, 0));
        assert_eq!(shown(1, 65_536), (32_768, 1));
        // 64 segments of 1460 B: 93440 = 2 * 46720.
        assert_eq!(shown(1460, 64), (46_720, 1));
        // 101 * 1461 = 147561 does not divide by 4.
        assert_eq!(shown(1461, 101), (36_891, 2));
        assert_eq!(shown(16_384, 65_535), (65_535, 14));
    }

    #[test]
    fn what_rounding_adds_to_a_window_is_less_than_a_segment() {
        for mss in [1, 2, 536, 1448, 1460, 9000, 65_483] {
            for w_max in (1..=32_768).filter(|w| u64::from(*w) * u64::from(mss) <= MAX_WINDOW) {
                let connection = connection(mss, w_max);
                let shift = connection.shift();
                // The largest window, and a smaller one with the same scale.
                for segments in [w_max, 1 + w_max / 3] {
                    let shown = u64::from(connection.scaled_window(segments, shift)) << shift;
                    let used = u64::from(segments) * u64::from(mss);
                    assert!(
                        (used..used + u64::from(mss)).contains(&shown),
                        "{mss} {w_max} {segments}: {shown}"
                    );
                }
            }
        }
    }

    #[test]
    fn sequence_numbers_and_clocks_wrap_around() {
        assert_eq!(sequence_number(0), 1);
        assert_eq!(sequence_number(u64::from(u32::MAX)), 0);
        assert_eq!(sequence_number((1 << 32) + 999), 1000);
        assert_eq!(ticks(SimTime::from_micros(1_999)), 1);
        assert_eq!(ticks(SimTime::from_millis((1 << 32) + 5)), 5);
    }
}
