//! Captures are decoded by code that did not write them: etherparse's slicing, and checksums computed here.

use crossfade_capture::{
    Capture, CaptureConfig, CaptureError, Connection, Ecn, HEADERS_ONLY, IpVersion, WHOLE_PACKETS,
};
use crossfade_core::SimTime;
use crossfade_transport::{AccEcn, Ack, ByteCounters, SackBlock, SackBlocks, Segment};
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
    WindowScale,
};
use etherparse::{NetSlice, SlicedPacket, TcpHeader, TcpOptionElement, TransportSlice};
use proptest::prelude::*;

const MS: SimTime = SimTime::from_millis(1);

const PLAIN: Connection = Connection {
    mss: 1000,
    w_max: 20,
    timestamps: false,
    sack: false,
    ecn: Ecn::Off,
    linux: false,
    bytes: None,
};

/// Record of a pcap file.
struct Record<'a> {
    time_ns: u64,
    original_len: usize,
    bytes: &'a [u8],
}

fn records(file: &[u8]) -> Vec<Record<'_>> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 101), "nanoseconds, raw IP");
    let mut records = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let (kept, original_len) = (word(at + 8) as usize, word(at + 12) as usize);
        assert!(word(at + 4) < 1_000_000_000 && kept == original_len.min(word(16) as usize));
        records.push(Record {
            time_ns: u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)),
            original_len,
            bytes: &file[at + 16..at + 16 + kept],
        });
        at += 16 + kept;
    }
    assert_eq!(at, file.len());
    records
}

/// RFC 1071: the one's complement sum of 16-bit words; 0xffff over data that include their checksum.
fn internet_sum(parts: &[&[u8]]) -> u32 {
    let bytes = parts.concat();
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16)
}

/// Decoded packet, after its lengths and checksums were checked.
struct Packet {
    tcp: TcpHeader,
    payload_len: usize,
    /// Source and destination address.
    addresses: (Vec<u8>, Vec<u8>),
    ecn: u8,
    identification: u16,
}

fn packet(record: &Record) -> Packet {
    assert_eq!(record.bytes.len(), record.original_len, "packets are whole");
    let sliced = SlicedPacket::from_ip(record.bytes).unwrap();
    let (header_len, ecn, identification, source, destination) = match sliced.net.unwrap() {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!(internet_sum(&[header.slice()]), 0xffff, "checksum of the IP header");
            assert_eq!(usize::from(header.total_len()), record.original_len);
            assert!(header.dont_fragment());
            let addresses = (header.source().to_vec(), header.destination().to_vec());
            (20, header.ecn().value(), header.identification(), addresses.0, addresses.1)
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            assert_eq!(usize::from(header.payload_length()) + 40, record.original_len);
            let addresses = (header.source().to_vec(), header.destination().to_vec());
            (40, header.traffic_class() & 3, 0, addresses.0, addresses.1)
        }
        NetSlice::Arp(_) => panic!("IP"),
    };
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("TCP") };
    assert!(tcp.payload().iter().all(|&byte| byte == 0));
    // The pseudo-headers of RFC 9293 section 3.1 and RFC 8200 section 8.1 have the same sum.
    let length = (record.original_len - header_len) as u32;
    let sum = internet_sum(&[
        &source,
        &destination,
        &length.to_be_bytes(),
        &[0, 0, 0, 6],
        &record.bytes[header_len..],
    ]);
    assert_eq!(sum, 0xffff, "checksum of TCP");
    Packet {
        tcp: tcp.to_header(),
        payload_len: tcp.payload().len(),
        addresses: (source, destination),
        ecn,
        identification,
    }
}

fn packets(capture: &Capture) -> Vec<Packet> {
    records(capture.bytes()).iter().map(packet).collect()
}

fn options(packet: &Packet) -> Vec<TcpOptionElement> {
    packet.tcp.options_iterator().map(Result::unwrap).filter(|it| *it != TcpOptionElement::Noop).collect()
}

/// Letters of the set flags, as tcpdump prints them.
fn flags(tcp: &TcpHeader) -> String {
    [(tcp.syn, 'S'), (tcp.fin, 'F'), (tcp.psh, 'P'), (tcp.ece, 'E'), (tcp.cwr, 'W'), (tcp.ack, '.')]
        .iter()
        .filter_map(|&(is_set, letter)| is_set.then_some(letter))
        .collect()
}

fn segment(seq: u64, timestamp: SimTime) -> Segment {
    Segment { seq, timestamp, ..Segment::default() }
}

fn blocks(ranges: &[(u64, u64)]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for &(start, end) in ranges {
        blocks.push(SackBlock { start, end });
    }
    blocks
}

#[test]
fn the_bytes_of_a_known_packet() {
    let mut capture = Capture::new(CaptureConfig::default(), Connection { mss: 4, ..PLAIN }).unwrap();
    capture.on_segment_sent(MS, 0, &segment(2, MS));
    let records = records(capture.bytes());
    #[rustfmt::skip]
    let expected = [
        // IPv4, 20 + 20 + 4 bytes; the sender's third packet, identification 2; don't fragment; 64 hops; TCP.
        // 4500 + 002c + 0002 + 4000 + 4006 + 0a00 + 0001 + 0a80 + 0001 = d9b6, and its complement is 2649.
        0x45, 0x00, 0x00, 0x2c,  0x00, 0x02, 0x40, 0x00,  0x40, 0x06, 0x26, 0x49,
        10, 0, 0, 1,  10, 128, 0, 1,
        // Port 50000 (c350) to 9; byte 9 = 2 * 4 + 1; 1 expected; 5 words, ACK; window 65535. With the
        // addresses 0a00 + 0001 + 0a80 + 0001, protocol 6 and length 0018: c350 + 0009 + 0009 + 0001 + 5010 +
        // ffff + 1482 + 001e = 2_2812, folded 2814, and its complement is d7eb.
        0xc3, 0x50, 0x00, 0x09,  0, 0, 0, 9,  0, 0, 0, 1,  0x50, 0x10, 0xff, 0xff,  0xd7, 0xeb, 0, 0,
        0, 0, 0, 0,
    ];
    assert_eq!(records[3].bytes, expected);
    assert!(records.iter().all(|record| record.time_ns == 1_000_000));
}

#[test]
fn a_connection_opens_with_everything_that_it_uses() {
    let connection = Connection { w_max: 100, timestamps: true, sack: true, ecn: Ecn::Echo, ..PLAIN };
    let mut capture = Capture::new(CaptureConfig::default(), connection).unwrap();
    capture.on_segment_sent(MS * 7, 0, &segment(0, MS * 7));
    let packets = packets(&capture);
    let seen: Vec<String> = packets.iter().map(|packet| flags(&packet.tcp)).collect();
    assert_eq!(seen, ["SEW", "SE.", ".", "."]);
    let ports: Vec<_> = packets.iter().map(|it| (it.tcp.source_port, it.tcp.destination_port)).collect();
    assert_eq!(ports, [(50_000, 9), (9, 50_000), (50_000, 9), (50_000, 9)]);
    let numbers: Vec<_> =
        packets.iter().map(|it| (it.tcp.sequence_number, it.tcp.acknowledgment_number)).collect();
    assert_eq!(numbers, [(0, 0), (0, 1), (1, 1), (1, 1)]);
    // 100 segments of 1000 bytes are 50000 * 2.
    assert_eq!(packets[1].tcp.window_size, 65_535);
    let syn_options = |value, echo, shift| {
        [
            Timestamp(value, echo),
            MaximumSegmentSize(1012),
            WindowScale(shift),
            SelectiveAcknowledgementPermitted,
        ]
    };
    assert_eq!(options(&packets[0]), syn_options(7, 0, 0));
    assert_eq!(options(&packets[1]), syn_options(7, 7, 1));
    assert_eq!(options(&packets[3]), [Timestamp(7, 7)]);
    assert_eq!((packets[3].payload_len, packets[3].tcp.header_len()), (1000, 32));
}

#[test]
fn acknowledgements_show_blocks_and_clocks() {
    let connection = Connection { w_max: 100, timestamps: true, sack: true, ..PLAIN };
    let mut capture = Capture::new(CaptureConfig::default(), connection).unwrap();
    for seq in 0..9 {
        capture.on_segment_sent(MS * seq, 0, &segment(seq, MS * seq));
    }
    let ack = Ack {
        next_expected: 3,
        // RFC 2883: the first block repeats segment 1.
        sack: blocks(&[(1, 2), (7, 8), (4, 6)]),
        timestamp: MS * 25,
        timestamp_echo: Some(MS * 5),
        ece: true,
        ..Ack::default()
    };
    // It left the receiver 20 ms earlier.
    capture.on_ack_received(MS * 45, 0, &ack);
    capture.on_segment_sent(MS * 46, 0, &segment(3, MS * 46));
    let packets = packets(&capture);
    let acknowledgement = &packets[packets.len() - 2];
    assert_eq!(acknowledgement.tcp.acknowledgment_number, 3001);
    assert_eq!(acknowledgement.tcp.window_size, 50_000);
    assert_eq!(acknowledgement.tcp.header_len(), 60);
    assert_eq!(
        options(acknowledgement),
        [
            Timestamp(25, 5),
            SelectiveAcknowledgement((1001, 2001), [Some((7001, 8001)), Some((4001, 6001)), None])
        ]
    );
    assert!(!acknowledgement.tcp.ece, "ECN was not agreed on");
    let repeated = packets.last().unwrap();
    assert_eq!((repeated.tcp.sequence_number, repeated.payload_len), (3001, 1000));
    assert_eq!(options(repeated), [Timestamp(46, 25)]);
}

/// The options of a SYN in the order of Linux 6.18 are 20 bytes; only clock and window scale differ.
#[test]
fn the_syn_of_linux_has_its_options_in_order() {
    let connection = Connection { w_max: 100, timestamps: true, sack: true, linux: true, ..PLAIN };
    let mut capture = Capture::new(CaptureConfig::default(), connection).unwrap();
    capture.on_segment_sent(MS * 3, 0, &segment(0, MS * 3));
    let syn = &packets(&capture)[0];
    let order =
        [MaximumSegmentSize(1012), SelectiveAcknowledgementPermitted, Timestamp(3, 0), Noop, WindowScale(0)];
    assert_eq!(syn.tcp.options_iterator().map(Result::unwrap).collect::<Vec<_>>(), order);
    assert_eq!(syn.tcp.header_len(), 40);
}

#[test]
fn explicit_congestion_notification_is_shown() {
    for ip in [IpVersion::V4, IpVersion::V6] {
        let config = CaptureConfig { ip, ..CaptureConfig::default() };
        let mut capture = Capture::new(config, Connection { ecn: Ecn::Echo, ..PLAIN }).unwrap();
        capture.on_segment_sent(MS, 0, &Segment { ecn_capable: true, ..segment(0, MS) });
        capture.on_ack_received(MS * 2, 0, &Ack { next_expected: 1, ece: true, ..Ack::default() });
        capture.on_segment_sent(MS * 3, 0, &Segment { ecn_capable: true, cwr: true, ..segment(1, MS * 3) });
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
        capture.on_segment_sent(MS * 3, 0, &Segment { retransmission: true, ..segment(0, MS * 3) });
        let seen: Vec<_> = packets(&capture)[3..].iter().map(|it| (it.ecn, flags(&it.tcp))).collect();
        let seen: Vec<_> = seen.iter().map(|(ecn, flags)| (*ecn, flags.as_str())).collect();
        assert_eq!(seen, [(2, "."), (0, "E."), (2, "W."), (0, ".")]);
    }
}

/// AccECN as in RFC 9768 sections 3.1.1, 3.2.2.1 and 3.2.3: the SYN has ACE 7, SYN-ACK and ACK have 2 (they answer
/// packets that are not ECT). Then ACE counts from 5, and the option's counters of ECT(1) and CE from 1 and 0.
#[test]
fn marks_are_counted_in_three_bits_and_in_bytes() {
    let config = CaptureConfig::default();
    let mut capture =
        Capture::new(config, Connection { ecn: Ecn::Accurate, timestamps: true, ..PLAIN }).unwrap();
    capture.on_segment_sent(MS, 0, &Segment { ecn_capable: true, l4s: true, cwr: true, ..segment(0, MS) });
    let counters = ByteCounters { ce: 0x01_02_03, ect: 1, is_ect_1: true };
    for (ace, counters) in
        [(6, None), (1, Some(counters)), (1, Some(ByteCounters { is_ect_1: false, ..counters }))]
    {
        let accurate = AccEcn::new(ace, counters);
        capture.on_ack_received(MS * 2, 0, &Ack { next_expected: 1, accurate, ..Ack::default() });
    }
    let packets = packets(&capture);
    let ace = |tcp: &TcpHeader| 4 * u8::from(tcp.ns) + 2 * u8::from(tcp.cwr) + u8::from(tcp.ece);
    let seen: Vec<_> = packets.iter().map(|it| ace(&it.tcp)).collect();
    assert_eq!(seen, [7, 2, 2, 5, 6, 1, 1]);
    assert_eq!(packets[3].ecn, 1, "ECT(1)");
    assert!(packets[5].tcp.options.as_slice().ends_with(&[174, 8, 0, 0, 1, 1, 2, 3]));
    assert!(packets[6].tcp.options.as_slice().ends_with(&[172, 8, 0, 0, 1, 1, 2, 3]));
}

#[test]
fn a_finished_transfer_pushes_and_closes() {
    let mut capture =
        Capture::new(CaptureConfig::default(), Connection { bytes: Some(2500), ..PLAIN }).unwrap();
    for seq in 0..3 {
        capture.on_segment_sent(MS, 0, &segment(seq, MS));
    }
    for next_expected in [1, 3, 3] {
        capture.on_ack_received(MS * 40, 0, &Ack { next_expected, ..Ack::default() });
    }
    let seen: Vec<_> = packets(&capture)[3..]
        .iter()
        .map(|it| {
            let tcp = &it.tcp;
            (flags(tcp), tcp.sequence_number, tcp.acknowledgment_number, it.payload_len)
        })
        .collect();
    let expected = [
        (".", 1, 1, 1000),
        (".", 1001, 1, 1000),
        ("P.", 2001, 1, 500),
        (".", 1, 1001, 0),
        (".", 1, 2501, 0),
        ("F.", 2501, 1, 0),
        ("F.", 1, 2502, 0),
        (".", 2502, 2, 0),
        // A late acknowledgement of a duplicate segment has the numbers after the FIN.
        (".", 2, 2502, 0),
    ];
    assert_eq!(seen, expected.map(|(flags, seq, ack, len)| (flags.to_string(), seq, ack, len)));
}

#[test]
fn flows_have_addresses_of_their_own() {
    let mut capture = Capture::new(CaptureConfig::default(), PLAIN).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let flows = [0, 1, 6_999, 7_000, 13_999, 14_000, 1 << 24, u32::MAX];
    for flow in flows {
        capture.on_segment_sent(MS, flow, &segment(0, MS));
        let packet = packets(&capture).pop().unwrap();
        assert!((50_000..57_000).contains(&packet.tcp.source_port));
        assert!(packet.addresses.0[1] < 128, "{:?}", packet.addresses);
        assert_eq!(packet.identification, 2, "each flow counts its own packets");
        seen.insert((packet.addresses.0, packet.tcp.source_port));
    }
    assert_eq!(seen.len(), flows.len());
}

#[test]
fn connections_are_described_before_they_begin() {
    let mut capture = Capture::new(CaptureConfig::default(), PLAIN).unwrap();
    capture.connect(3, Connection { mss: 500, ..PLAIN }).unwrap();
    capture.on_segment_sent(MS, 3, &segment(1, MS));
    assert_eq!(packets(&capture)[3].tcp.sequence_number, 501);
    assert_eq!(capture.connect(3, PLAIN), Err(CaptureError::HasBegun { flow: 3 }));
    capture.on_segment_sent(MS, 4, &segment(1, MS));
    assert_eq!(packets(&capture)[7].tcp.sequence_number, 1001);
}

#[test]
fn what_no_header_can_say_is_refused_in_one_line() {
    let refused = |config, connection| Capture::new(config, connection).unwrap_err().to_string();
    let config = CaptureConfig::default();
    assert_eq!(
        refused(CaptureConfig { snaplen: 0, ..config }, PLAIN),
        "a capture keeps at least 1 byte of a packet; snaplen is 0"
    );
    for mss in [0, 65_484] {
        let expected = format!("a captured segment has an mss of 1 to 65483 bytes; mss is {mss}");
        assert_eq!(refused(config, Connection { mss, ..PLAIN }), expected);
    }
    for (w_max, bytes) in [(0, 0), (1_073_726, 1_073_726_000)] {
        let expected = format!(
            "a captured window is 1 to 1073725440 bytes (RFC 7323); \
             w_max of {w_max} segments of 1000 bytes is {bytes}"
        );
        assert_eq!(refused(config, Connection { w_max, ..PLAIN }), expected);
    }
    assert!(Capture::new(config, Connection { w_max: 1_073_725, ..PLAIN }).is_ok());
}

#[test]
fn clearing_hands_over_a_file_in_pieces() {
    let mut whole = Capture::new(CaptureConfig::default(), PLAIN).unwrap();
    let mut streamed = whole.clone();
    let mut file: Vec<u8> = Vec::new();
    for seq in 0..10 {
        whole.on_segment_sent(MS * seq, 0, &segment(seq, MS * seq));
        streamed.on_segment_sent(MS * seq, 0, &segment(seq, MS * seq));
        file.extend(streamed.bytes());
        streamed.clear();
    }
    assert_eq!(file, whole.bytes());
}

/// Event at one of three flows, for property tests.
#[derive(Clone, Debug)]
enum Op {
    Sent(u32, Segment),
    Acked(u32, Ack),
}

/// Segment numbers near the beginning, near the first wrap-around of sequence numbers, and anywhere.
fn segment_number(mss: u32) -> impl Strategy<Value = u64> {
    let wrap = (1u64 << 32) / u64::from(mss);
    prop_oneof![0u64..50, wrap.saturating_sub(25)..wrap + 25, any::<u64>()]
}

fn op(mss: u32) -> impl Strategy<Value = Op> {
    let time = || any::<u64>().prop_map(SimTime::from_nanos);
    let sent = (0u32..3, segment_number(mss), time(), any::<[bool; 3]>()).prop_map(
        |(flow, seq, timestamp, [retransmission, ecn_capable, cwr])| {
            Op::Sent(flow, Segment { seq, retransmission, timestamp, ecn_capable, cwr, ..Segment::default() })
        },
    );
    let block =
        || (segment_number(mss), 1u64..30).prop_map(|(start, len)| (start, start.saturating_add(len)));
    let acked = (
        0u32..3,
        segment_number(mss),
        prop::collection::vec(block(), 0..5),
        prop::option::of(time()),
        any::<bool>(),
    )
        .prop_map(|(flow, next_expected, ranges, timestamp_echo, ece)| {
            Op::Acked(
                flow,
                Ack { next_expected, sack: blocks(&ranges), timestamp_echo, ece, ..Ack::default() },
            )
        });
    prop_oneof![sent, acked]
}

fn run() -> impl Strategy<Value = (CaptureConfig, Connection, Vec<Op>)> {
    let mss = prop_oneof![Just(1u32), Just(1460), Just(65_483), 1u32..=65_483];
    let connection = (mss, 1u32..16_000, any::<[bool; 4]>(), prop::option::of(0u64..200_000)).prop_map(
        |(mss, w_max, [timestamps, sack, ecn, linux], bytes)| Connection {
            mss,
            w_max,
            timestamps,
            sack,
            ecn: if ecn { Ecn::Echo } else { Ecn::Off },
            linux,
            bytes,
        },
    );
    (connection, any::<bool>()).prop_flat_map(|(connection, is_v6)| {
        let ip = if is_v6 { IpVersion::V6 } else { IpVersion::V4 };
        let config = CaptureConfig { ip, snaplen: WHOLE_PACKETS };
        (Just(config), Just(connection), prop::collection::vec(op(connection.mss), 0..40))
    })
}

fn replay(capture: &mut Capture, ops: &[Op]) {
    for (at, op) in ops.iter().enumerate() {
        let now = MS * at as u64;
        match op {
            Op::Sent(flow, segment) => capture.on_segment_sent(now, *flow, segment),
            Op::Acked(flow, ack) => capture.on_ack_received(now, *flow, ack),
        }
    }
}

/// Sequence number of a segment, computed without overflow as the reference.
fn wire(connection: &Connection, segment: u64) -> u32 {
    let offset = (u128::from(segment) * u128::from(connection.mss)).min(u128::from(u64::MAX));
    (offset.min(connection.bytes.map_or(u128::MAX, u128::from)) + 1) as u32
}

proptest! {
    /// Any sequence of events, also an impossible one, gives well-formed packets; each segment is in the file with its
    /// numbers.
    #[test]
    fn every_sequence_of_events_gives_a_well_formed_file((config, connection, ops) in run()) {
        let mut capture = Capture::new(config, connection).unwrap();
        replay(&mut capture, &ops);
        let packets = packets(&capture);
        let data: Vec<_> = packets.iter().filter(|it| it.payload_len > 0).collect();
        let mut expected = Vec::new();
        for op in &ops {
            if let Op::Sent(flow, segment) = op {
                let start = wire(&connection, segment.seq);
                let len = wire(&connection, segment.seq.saturating_add(1)).wrapping_sub(start);
                if len > 0 {
                    expected.push((50_000 + *flow as u16, start, len as usize));
                }
            }
        }
        let seen: Vec<_> =
            data.iter().map(|it| (it.tcp.source_port, it.tcp.sequence_number, it.payload_len)).collect();
        prop_assert_eq!(seen, expected);
        let flows = ops.iter().map(|op| match op { Op::Sent(flow, _) | Op::Acked(flow, _) => *flow });
        let flows: std::collections::BTreeSet<u32> = flows.collect();
        let count = |is: fn(&TcpHeader) -> bool| packets.iter().filter(|it| is(&it.tcp)).count();
        prop_assert_eq!(count(|tcp| tcp.syn), 2 * flows.len());
        let fins = count(|tcp| tcp.fin);
        prop_assert!(fins % 2 == 0 && fins <= 2 * flows.len());
        prop_assert_eq!(packets.len(), ops.len() + 3 * flows.len() + 3 * fins / 2);
        for packet in &packets {
            prop_assert_eq!(
                options(packet).iter().any(|it| matches!(it, Timestamp(..))),
                connection.timestamps
            );
            prop_assert!(connection.ecn == Ecn::Echo || (packet.ecn == 0 && !packet.tcp.ece && !packet.tcp.cwr));
        }
    }

    /// A capture with a short snapshot length equals the whole one with each packet cut.
    #[test]
    fn a_short_snaplen_only_cuts(
        (config, connection, ops) in run(),
        // Shortest snapshot length, tcpdump's old default, and all headers.
        snaplen in prop_oneof![Just(1), Just(96), Just(HEADERS_ONLY)],
    ) {
        let mut whole = Capture::new(config, connection).unwrap();
        let mut short = Capture::new(CaptureConfig { snaplen, ..config }, connection).unwrap();
        replay(&mut whole, &ops);
        replay(&mut short, &ops);
        let (whole, short) = (records(whole.bytes()), records(short.bytes()));
        prop_assert_eq!(whole.len(), short.len());
        for (whole, short) in whole.iter().zip(&short) {
            prop_assert_eq!((whole.time_ns, whole.original_len), (short.time_ns, short.original_len));
            prop_assert_eq!(&whole.bytes[..whole.bytes.len().min(snaplen as usize)], short.bytes);
        }
    }
}
