//! tshark reads the captures of lossy runs: no malformed packet, no wrong checksum, and it finds the retransmissions of
//! the sender.
//!
//! Wireshark looks at sequence numbers. A segment below the highest one sent is, in this order (4.0's
//! `tcp_analyze_sequence_number`): a *spurious retransmission* if it was acknowledged already; a *fast retransmission*
//! if two duplicate acknowledgements asked for it less than 20 ms ago; *out of order* if the highest one went out less
//! than 3 ms ago (or less than what Wireshark takes for the handshake's round trip); else a *retransmission*. A segment
//! is a retransmission of the sender exactly if it is in one of these four classes; the class is Wireshark's guess.

use crate::common::{Log, MS, Run, Seen, V4, capture, has_tshark, save, tcp};
use crossfade_capture::{Capture, CaptureConfig, Connection, Ecn, HEADERS_ONLY, IpVersion};
use crossfade_core::testing::long_or;
use crossfade_core::{RunSeed, SimTime};
use crossfade_transport::{
    Ack, CongestionControlKind, Flavour, Receiver, RfcConfig, SackBlock, SackBlocks, Segment, TcpConfig,
    Variant,
};
use rand::RngExt;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// For each segment sent, true if it is a retransmission.
fn retransmissions(log: &Log) -> Vec<bool> {
    log.iter()
        .filter_map(|(_, seen)| match seen {
            Seen::Sent(segment) => Some(segment.retransmission),
            Seen::Acked(_) => None,
        })
        .collect()
}

/// Number of acknowledgements, and number of those with the same acknowledgement number as their predecessor.
fn acknowledgements(log: &Log) -> (usize, usize) {
    let acks = log.iter().filter_map(|(_, seen)| match seen {
        Seen::Sent(_) => None,
        Seen::Acked(ack) => Some(ack.next_expected),
    });
    let acks: Vec<u64> = acks.collect();
    (acks.len(), acks.windows(2).filter(|pair| pair[0] == pair[1]).count())
}

fn run(variant: Variant, segments: u64, seed: u64) -> Run {
    let tcp = tcp(Flavour::Ns2, variant, 64, segments);
    Run { loss: 0.02, ack_loss: 0.01, ..Run::new(tcp, seed) }
}

/// Fields that tshark prints of one packet.
struct Row(Vec<String>);

const FIELDS: [&str; 18] = [
    "tcp.srcport",
    "tcp.len",
    "tcp.seq",
    "tcp.ack",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "tcp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
    "_ws.expert.severity",
    "_ws.col.Protocol",
    "tcp.window_size",
    "frame.time_epoch",
];

impl Row {
    fn get(&self, field: &str) -> &str {
        &self.0[FIELDS.iter().position(|name| *name == field).unwrap()]
    }

    fn has(&self, analysis: &str) -> bool {
        !self.get(&format!("tcp.analysis.{analysis}")).is_empty()
    }

    fn number(&self, field: &str) -> u64 {
        self.get(field).parse().unwrap()
    }

    fn is_data(&self) -> bool {
        self.number("tcp.len") > 0
    }

    /// True if tshark puts the segment in one of its four classes of retransmissions.
    fn is_sent_again(&self) -> bool {
        ["retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"]
            .iter()
            .any(|kind| self.has(kind))
    }
}

/// Runs tshark with all its checks; asserts that no packet is malformed and every visible checksum is right.
fn tshark(name: &str, capture: &Capture, checksums_are_seen: bool) -> Vec<Row> {
    let path = save(name, capture);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields"]);
    for preference in ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE"] {
        command.args(["-o", preference]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if std::env::var_os("KEEP").is_none() {
        std::fs::remove_file(&path).unwrap();
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Row> =
        text.lines().map(|line| Row(line.split('\t').map(str::to_owned).collect())).collect();
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row.0.len(), FIELDS.len());
        assert_eq!(row.get("_ws.malformed"), "", "packet {at}");
        // Wireshark's PI_ERROR is 0x800000.
        assert!(!row.get("_ws.expert.severity").contains("8388608"), "packet {at}");
        // Status 1 is good. The checksum of a packet with its payload cut off cannot be checked.
        let cut = !checksums_are_seen && row.is_data();
        assert_eq!(row.get("tcp.checksum.status"), if cut { "2" } else { "1" }, "packet {at}");
        assert!(matches!(row.get("ip.checksum.status"), "1" | ""), "packet {at}");
        assert_eq!(row.get("_ws.col.Protocol"), "TCP", "packet {at}: nothing is read into the zeros");
        assert!(!row.has("lost_segment") && !row.has("ack_lost_segment"), "packet {at}");
    }
    rows
}

/// Number of packets that match each display filter, by one tshark: its statistics have a column for each, with frames
/// and bytes.
fn matches(path: &Path, filters: &[&str]) -> Vec<usize> {
    let statistics = format!("io,stat,0,{}", filters.join(","));
    let mut command = Command::new("tshark");
    let output = command.arg("-r").arg(path).args(["-n", "-q", "-z", &statistics]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().find(|line| line.contains("<>")).unwrap_or_else(|| panic!("{text}"));
    let columns = row.split('|').skip(2).map(str::trim).filter(|column| !column.is_empty());
    let frames: Vec<usize> = columns.step_by(2).map(|column| column.parse().unwrap()).collect();
    assert_eq!(frames.len(), filters.len(), "{text}");
    frames
}

/// For each segment of a flow, true if tshark calls it a retransmission, and the number of segments per class.
fn sent_again(rows: &[Row], port: &str) -> (Vec<bool>, BTreeMap<&'static str, usize>) {
    let data: Vec<&Row> = rows.iter().filter(|row| row.get("tcp.srcport") == port && row.is_data()).collect();
    let mut kinds = BTreeMap::new();
    for row in &data {
        let kind = if row.has("spurious_retransmission") {
            "spurious"
        } else if row.has("fast_retransmission") {
            "fast"
        } else if row.has("out_of_order") {
            "out of order"
        } else if row.has("retransmission") {
            "retransmission"
        } else {
            "new"
        };
        *kinds.entry(kind).or_default() += 1;
    }
    (data.iter().map(|row| row.is_sent_again()).collect(), kinds)
}

fn duplicate_acks(rows: &[Row]) -> usize {
    rows.iter().filter(|row| row.has("duplicate_ack")).count()
}

/// Indices of segments about which tshark and the sender disagree.
fn differences(seen: &[bool], fed: &[bool]) -> Vec<usize> {
    assert_eq!(seen.len(), fed.len(), "segments sent");
    (0..fed.len()).filter(|&at| seen[at] != fed[at]).collect()
}

/// Asserts that tshark finds the sender's retransmissions and duplicate acknowledgements, segment by segment. Returns
/// the number of segments per class of tshark.
fn agrees(name: &str, run: &Run, config: CaptureConfig) -> BTreeMap<&'static str, usize> {
    let log = run.log();
    let rows = tshark(name, &capture(config, &[(run.connection, log.clone())]), true);
    let sent = retransmissions(&log);
    let (acks, repeated) = acknowledgements(&log);
    let (again, kinds) = sent_again(&rows, "50000");
    println!(
        "{name}: {} sent, {} of them again; tshark: {kinds:?}; {acks} acknowledgements, {repeated} repeated; \
         tshark: {} duplicate",
        sent.len(),
        sent.iter().filter(|again| **again).count(),
        duplicate_acks(&rows),
    );
    assert_eq!(differences(&again, &sent), [0_usize; 0]);
    assert_eq!(duplicate_acks(&rows), repeated);
    assert_eq!(rows.len(), sent.len() + acks + 6);
    // Relative numbers begin with 1 and end with the last byte; the window of tshark's graphs is the receiver's.
    let first = rows.iter().find(|row| row.is_data()).unwrap();
    assert_eq!((first.number("tcp.seq"), first.number("tcp.ack")), (1, 1));
    let highest = rows.iter().map(|row| row.number("tcp.ack")).max().unwrap();
    assert_eq!(highest, run.connection.bytes.unwrap() + 2, "the last acknowledgement covers the FIN");
    assert_eq!(rows[rows.len() - 4].number("tcp.window_size"), 64 * 1448);
    kinds
}

const V6: CaptureConfig = CaptureConfig { ip: IpVersion::V6, ..V4 };

#[test]
fn retransmissions_agree_segment_by_segment() {
    if !has_tshark() {
        return;
    }
    let cases = [
        ("sack-v4", Variant::Sack, V4),
        ("sack-v6", Variant::Sack, V6),
        ("newreno-v4", Variant::NewReno, V4),
        ("tahoe-v6", Variant::Tahoe, V6),
    ];
    let segments = long_or(3_000, 1_500);
    for (seed, (name, variant, config)) in (1..).zip(cases) {
        let kinds = agrees(name, &run(variant, segments, seed), config);
        assert!(kinds["fast"] > segments as usize / 150 && kinds["retransmission"] > 1, "{kinds:?}");
    }
}

#[test]
fn what_a_stalled_path_makes_the_sender_repeat_is_seen() {
    if !has_tshark() {
        return;
    }
    let stall = Some((MS * 500, MS * 1700));
    let run = Run { stall, loss: 0.0, ack_loss: 0.0, ..run(Variant::NewReno, 1_000, 5) };
    let kinds = agrees("stall", &run, V4);
    // Nothing was lost. As no sender retransmits acknowledged data, Wireshark calls nothing spurious.
    assert!(kinds["retransmission"] > 20 && !kinds.contains_key("spurious"), "{kinds:?}");
}

#[test]
fn flows_side_by_side_are_told_apart() {
    if !has_tshark() {
        return;
    }
    let flows: Vec<(Connection, Log)> = (0..30)
        .map(|flow| {
            let variant = if flow % 2 == 0 { Variant::Sack } else { Variant::Reno };
            let run = Run { start: MS * (17 * flow), ..run(variant, 100 + 10 * flow, 10 + flow) };
            (run.connection, run.log())
        })
        .collect();
    let rows = tshark("flows", &capture(V6, &flows), true);
    for (flow, (_, log)) in flows.iter().enumerate() {
        let (again, _) = sent_again(&rows, &(50_000 + flow).to_string());
        assert_eq!(differences(&again, &retransmissions(log)), [0_usize; 0], "flow {flow}");
    }
}

#[test]
fn no_port_makes_the_payload_look_like_another_protocol() {
    if !has_tshark() {
        return;
    }
    let connection = Connection {
        mss: 100,
        w_max: 10,
        timestamps: false,
        sack: false,
        ecn: Ecn::Off,
        linux: false,
        bytes: None,
    };
    let log: Log = vec![(MS, Seen::Sent(Segment::default()))];
    let flows: Vec<(Connection, Log)> = (0..7_000).map(|_| (connection, log.clone())).collect();
    assert_eq!(tshark("ports", &capture(V4, &flows), true).len(), 4 * flows.len());
}

#[test]
fn long_streams_wrap_around() {
    if !has_tshark() {
        return;
    }
    // 66000 segments of 65483 bytes are 2^32 bytes and 26 million more.
    let connection = Connection {
        mss: 65_483,
        w_max: 300,
        timestamps: false,
        sack: true,
        ecn: Ecn::Off,
        linux: false,
        bytes: None,
    };
    let mut log = Log::new();
    for seq in 0..66_000u64 {
        let now = MS * (10 * seq);
        log.push((now, Seen::Sent(Segment { seq, timestamp: now, ..Segment::default() })));
        if seq % 100 == 99 {
            let mut sack = SackBlocks::default();
            sack.push(SackBlock { start: seq - 49, end: seq + 1 });
            log.push((now, Seen::Acked(Ack { next_expected: seq - 50, sack, ..Ack::default() })));
            let again = Segment { seq: seq - 50, retransmission: true, timestamp: now, ..Segment::default() };
            log.push((now + MS * 5, Seen::Sent(again)));
            log.push((now + MS * 9, Seen::Acked(Ack { next_expected: seq + 1, ..Ack::default() })));
        }
    }
    let config = CaptureConfig { snaplen: HEADERS_ONLY, ..V4 };
    let rows = tshark("wrap", &capture(config, &[(connection, log.clone())]), false);
    assert_eq!(differences(&sent_again(&rows, "50000").0, &retransmissions(&log)), [0_usize; 0]);
    assert!(rows.last().unwrap().number("tcp.ack") < 30_000_000);
}

#[test]
fn options_and_flags_are_read_as_they_were_meant() {
    if !has_tshark() {
        return;
    }
    let connection = Connection {
        mss: 1000,
        w_max: 100,
        timestamps: true,
        sack: true,
        ecn: Ecn::Echo,
        linux: false,
        bytes: Some(9_500),
    };
    let sent = |seq, at: SimTime| Segment { seq, timestamp: at, ecn_capable: true, ..Segment::default() };
    let mut sack = SackBlocks::default();
    for (start, end) in [(1, 2), (4, 6)] {
        sack.push(SackBlock { start, end });
    }
    let ack = Ack {
        next_expected: 3,
        sack,
        timestamp: MS * 25,
        timestamp_echo: Some(MS * 5),
        ece: true,
        ..Ack::default()
    };
    let mut log: Log = (0..10).map(|seq| (MS * seq, Seen::Sent(sent(seq, MS * seq)))).collect();
    log.push((MS * 45, Seen::Acked(ack)));
    log.push((MS * 46, Seen::Sent(Segment { cwr: true, ..sent(3, MS * 46) })));
    let path = save("options", &capture(V4, &[(connection, log)]));
    let expected = [
        ("tcp.flags.syn == 1 && tcp.options.mss_val == 1012 && tcp.options.sack_perm", 2),
        ("tcp.flags.syn == 1 && tcp.flags.ece == 1 && tcp.flags.cwr == 1", 1),
        ("tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.options.wscale.shift == 1", 1),
        ("tcp.options.sack_le == 4001 && tcp.options.sack_re == 6001", 1),
        ("tcp.options.sack.dsack_le == 1001 && tcp.options.sack.dsack_re == 2001", 1),
        ("tcp.options.timestamp.tsval == 25 && tcp.options.timestamp.tsecr == 5", 1),
        ("tcp.options.timestamp.tsval == 46 && tcp.options.timestamp.tsecr == 25", 1),
        ("tcp.window_size == 100000", 1),
        ("tcp.flags.push == 1 && tcp.len == 500", 1),
        ("ip.dsfield.ecn == 2", 11),
        ("tcp.flags.ece == 1 && tcp.flags.syn == 0", 1),
        ("tcp.flags.cwr == 1 && tcp.flags.syn == 0", 1),
        ("ip.id == 0 && ip.flags.df == 1", 2),
        // SYN, SYN-ACK, ACK and data: the connection is complete from the second segment on.
        ("tcp.completeness == 15", 11),
    ];
    let counted = matches(&path, &expected.map(|(filter, _)| filter));
    for ((filter, packets), counted) in expected.into_iter().zip(counted) {
        assert_eq!(counted, packets, "{filter}");
    }
    std::fs::remove_file(path).unwrap();
}

/// With AccECN, the ACE fields and options that tshark decodes count exactly the random marks that the receiver saw.
#[test]
fn the_counts_of_marks_are_those_of_the_queue() {
    if !has_tshark() {
        return;
    }
    let base = tcp(Flavour::Ns2, Variant::Sack, 64, 1);
    let rfc = RfcConfig {
        ecn: true,
        accurate_ecn: true,
        accurate_ecn_option: Some(1000),
        congestion_control: CongestionControlKind::Prague,
        ..RfcConfig::default()
    };
    let mut receiver = Receiver::new(TcpConfig { flavour: Flavour::Rfc, rfc, ..base });
    let mut marks = RunSeed { seed: 9, run: 0 }.stream("marks");
    let (mut log, mut marked) = (Log::new(), Vec::new());
    for seq in 0..3000 {
        let (now, ce) = (MS * seq, marks.random_bool(0.3));
        let segment = Segment { seq, timestamp: now, ecn_capable: true, l4s: true, ..Segment::default() };
        log.push((now, Seen::Sent(segment)));
        marked.push(u64::from(ce));
        let (mut ack, heard) = (receiver.on_segment(now, &segment, ce).ack, now + MS * 40);
        // After the last segment no further data triggers the delayed acknowledgement.
        if seq == 2999 && ack.is_none() {
            ack = receiver.on_timeout(receiver.next_timeout().unwrap());
        }
        log.extend(ack.map(|ack| (heard, Seen::Acked(ack))));
    }
    log.sort_by_key(|(at, _)| *at);
    let connection = Connection {
        mss: 1000,
        w_max: 4000,
        timestamps: true,
        sack: true,
        ecn: Ecn::Accurate,
        linux: false,
        bytes: None,
    };
    let path = save("accurate-ecn", &capture(V4, &[(connection, log)]));
    let fields = ["tcp.ack", "tcp.flags.ace", "tcp.options.acc_ecn.eceb", "tcp.options.acc_ecn.ee1b"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-Y", "tcp.srcport == 9 && tcp.flags.syn == 0", "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut count, mut last, mut rows) = (0, 5, 0);
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let row: Vec<u64> = line.split('\t').map(|field| field.parse().unwrap()).collect();
        let [ack, ace, ce_bytes, ect_bytes] = row[..] else { panic!("{line}") };
        count += (ace + 8 - last) % 8;
        (last, rows) = (ace, rows + 1);
        let segments = (ack - 1) / 1000;
        assert_eq!(count, marked[..segments as usize].iter().sum::<u64>(), "{line}");
        assert_eq!((ce_bytes, ect_bytes), (1000 * count, 1 + 1000 * (segments - count)), "{line}");
    }
    assert!(rows > 1500 && count > 800, "{rows} acknowledgements, {count} marks");
    std::fs::remove_file(path).unwrap();
}
