//! Tests of the readers of other tools' logs: the measurements do not depend on the chunks, and a line that no tool
//! writes is refused with its number.

use crossfade_capture::read::{Fate, LogKind, LogReader, PacketLog, StretchLog, Told};

fn read(text: &str, chunk: usize) -> Result<Told, String> {
    let kind = LogKind::of(text.as_bytes()).ok_or("none")?;
    let mut reader = LogReader::new(kind);
    for part in text.as_bytes().chunks(chunk) {
        reader.push(part).map_err(|error| error.to_string())?;
    }
    reader.finish().map_err(|error| error.to_string())
}

fn told(text: &str) -> Told {
    let whole = read(text, 1 << 20).unwrap();
    for chunk in [1, 3, 64] {
        assert_eq!(read(text, chunk).unwrap(), whole, "chunks of {chunk}");
    }
    whole
}

fn packets(text: &str) -> PacketLog {
    match told(text) {
        Told::Packets(log) => log,
        Told::Stretches(_) => panic!("has packets"),
    }
}

fn stretches(text: &str) -> StretchLog {
    match told(text) {
        Told::Stretches(log) => log,
        Told::Packets(_) => panic!("has stretches"),
    }
}

fn fates(log: &PacketLog) -> Vec<Fate> {
    log.packets.iter().map(|packet| packet.fate).collect()
}

fn refusal(text: &str) -> String {
    let whole = read(text, 1 << 20).unwrap_err();
    assert_eq!(read(text, 5).unwrap_err(), whole);
    assert!(!whole.contains('\n'), "{whole}");
    whole
}

use Fate::{Arrived, Lost, Unknown};

#[test]
fn ping_of_iputils_with_stamps_and_losses() {
    let log = packets(
        "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n\
         [1700000000.010000] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=57 time=10.0 ms\n\
         no answer yet for icmp_seq=2\n\
         [1700000001.012000] 64 bytes from 10.0.0.1: icmp_seq=3 ttl=57 time=12.0 ms\n\
         [1700000002.511000] 64 bytes from 10.0.0.1: icmp_seq=6 ttl=57 time=11.0 ms\n\
         --- 10.0.0.1 ping statistics ---\n",
    );
    assert_eq!(fates(&log), [Arrived, Lost, Arrived, Lost, Lost, Arrived]);
    let sent: Vec<i64> = log.packets.iter().map(|packet| packet.sent_ns / 1_000_000).collect();
    assert_eq!(sent, [0, 500, 1000, 1500, 2000, 2500], "by the stamps");
    assert_eq!(log.packets[2].seen_ns.unwrap() - log.packets[2].sent_ns, 12_000_000);
    assert!(log.are_probes && log.is_round_trip);
    assert_eq!((log.flow.as_str(), log.packets[0].bytes), ("ping of 10.0.0.1", 84));
}

#[test]
fn ping_of_macos_busybox_and_windows() {
    let log = packets(
        "PING example.org (93.184.216.34): 56 data bytes\n\
         64 bytes from 93.184.216.34: icmp_seq=0 ttl=56 time=11.632 ms\n\
         Request timeout for icmp_seq 1\n\
         64 bytes from 93.184.216.34: icmp_seq=2 ttl=56 time=11.1 ms\n",
    );
    assert_eq!(fates(&log), [Arrived, Lost, Arrived]);
    let log = packets(
        "PING 1.1.1.1 (1.1.1.1): 56 data bytes\n64 bytes from 1.1.1.1: seq=0 ttl=55 time=3.081 ms\n\
         64 bytes from 1.1.1.1: seq=2 ttl=55 time=3.2 ms\n",
    );
    assert_eq!(fates(&log), [Arrived, Lost, Arrived]);
    let log = packets(
        "Pinging 1.1.1.1 with 32 bytes of data:\r\nReply from 1.1.1.1: bytes=32 time=11ms TTL=57\r\n\
         Request timed out.\r\nReply from 1.1.1.1: bytes=32 time<1ms TTL=57\r\n",
    );
    assert_eq!(fates(&log), [Arrived, Lost, Arrived]);
    assert_eq!(log.packets[0].seen_ns, Some(11_000_000));
    let of = |line: &str| refusal(&format!("PING a (a) 56(84) bytes of data.\n{line}\n"));
    assert_eq!(of("64 bytes from a: icmp_seq=x ttl=1 time=1 ms"), "line 2: seq = x: must be a whole number");
    assert_eq!(of("64 bytes from a: icmp_seq=1 ttl=1 time=-1 ms"), "line 2: time=-1: must be a time in ms");
    assert_eq!(of("nothing"), "the output of ping has no answer");
}

#[test]
fn irtt_has_probes_and_losses_either_way() {
    let trip = |number: u64, lost: &str, rtt: &str| {
        let sent = 1_000_000_000 + number * 20_000_000;
        format!(
            "{{\"seqno\": {number}, \"lost\": \"{lost}\", \"timestamps\": {{\"client\": {{\"send\": {{\"wall\": 1, \
             \"monotonic\": {sent}}}}}}}, \"delay\": {{{rtt}}}, \"ipdv\": {{}}}}"
        )
    };
    let text = |trips: &[String]| {
        format!(
            "{{\n\"version\": {{\"irtt\": \"0.9.0\"}},\n\"config\": {{\"params\": {{\"length\": 172}}}},\n\
             \"round_trips\": [\n{}\n]\n}}\n",
            trips.join(",\n")
        )
    };
    let log = packets(&text(&[
        trip(0, "false", "\"rtt\": 25000000"),
        trip(1, "true_down", ""),
        trip(2, "false", "\"rtt\": 26000000"),
    ]));
    assert_eq!(fates(&log), [Arrived, Lost, Arrived]);
    assert_eq!((log.packets[2].sent_ns, log.packets[2].seen_ns), (40_000_000, Some(66_000_000)));
    assert_eq!(log.packets[0].bytes, 200);
    let wrong = text(&[trip(0, "false", "\"rtt\": 25000000"), trip(1, "false", "")]);
    assert_eq!(refusal(&wrong), "line 6: a round trip that is not lost needs delay.rtt in ns");
}

#[test]
fn iperf_has_what_was_carried() {
    let interval = |from: f64, bytes: f64, rest: &str, omitted: bool| {
        format!(
            "{{\"streams\": [{{\"socket\": 5, \"rtt\": 41000, \"snd_cwnd\": 1}}], \"sum\": {{\"start\": {from}, \"end\": {}, \
             \"bytes\": {bytes}{rest}, \"omitted\": {omitted}}}}}",
            from + 1.0
        )
    };
    let log = stretches(&format!(
        "{{\"start\": {{\"version\": \"iperf 3.9\", \"test_start\": {{\"protocol\": \"TCP\", \"num_streams\": 1}}}},\n\
         \"intervals\": [{},\n{},\n{}],\n\"end\": {{\"sum_sent\": {{}}}}}}",
        interval(0.0, 1.0, ", \"retransmits\": 9", true),
        interval(0.0, 1_448_000.0, ", \"retransmits\": 3", false),
        interval(1.0, 2_896_000.0, ", \"retransmits\": 0", false)
    ));
    assert_eq!(log.stretches.len(), 2);
    let of = log.stretches[0];
    assert_eq!((of.bytes, of.packets, of.lost, of.rtt_s), (1.5e6, 1000.0, Some(3.0), Some(0.041)));
    let udp = |rest: &str| {
        format!(
            "{{\"start\": {{\"test_start\": {{\"protocol\": \"UDP\", \"blksize\": 1472}}}}, \"intervals\": [\n{}],\n\
             \"end\": {{\"sum\": {{\"lost_percent\": 12.5}}}}}}",
            interval(0.0, 1_472_000.0, rest, false)
        )
    };
    let log = stretches(&udp(", \"packets\": 1000"));
    assert_eq!((log.is_udp, log.lost_share, log.packet_bytes), (true, Some(0.125), 1500.0));
    assert_eq!((log.stretches[0].packets, log.stretches[0].lost), (1000.0, None));
    let log = stretches(&udp(", \"packets\": 1000, \"lost_packets\": 7"));
    assert_eq!(log.stretches[0].lost, Some(7.0));
    let wrong = udp("").replace("\"end\": 1,", "\"end\": 0,");
    assert_eq!(refusal(&wrong), "line 2: sum.end = 0: must be after sum.start = 0");
    let stream = format!(
        "{{\"event\": \"start\", \"data\": {{\"test_start\": {{\"protocol\": \"TCP\"}}}}}}\n{{\"event\": \"interval\", \
         \"data\": {}}}\n",
        interval(0.0, 1_448_000.0, "", false).replace("\"socket\": 5", "\"sender\": true")
    );
    assert_eq!(stretches(&stream).stretches.len(), 1, "--json-stream");
}

#[test]
fn ss_has_a_connection_at_several_times() {
    let sample = |time: f64, acked: u64, rest: &str| {
        format!(
            "{time}\nESTAB 0 2896 10.0.0.1:5001 10.0.0.2:43210\n\t cubic wscale:7,7 rto:204 rtt:43.5/0.4 ato:40 mss:1448 \
             cwnd:10 bytes_acked:{acked} data_segs_out:{} retrans:0/{} {rest} minrtt:40.1\n",
            acked / 1448,
            acked / 144_800
        )
    };
    let log = stretches(
        &[
            sample(100.0, 1_448_000, "delivery_rate 11.6Mbps"),
            sample(100.5, 2_896_000, "delivery_rate 23.168Mbps"),
            sample(101.0, 2_900_000, "delivery_rate 23Mbps app_limited"),
        ]
        .concat(),
    );
    assert_eq!(log.stretches.len(), 2);
    assert!((log.least_rtt_s.unwrap() - 0.0401).abs() < 1e-9);
    let of = log.stretches[0];
    assert_eq!((of.from_s, of.to_s, of.lost), (0.0, 0.5, Some(10.0)));
    assert!((of.rtt_s.unwrap() - 0.0435).abs() < 1e-9);
    assert!((of.bytes * 8.0 / 0.5 - 24e6).abs() < 1.0, "the kernel's delivery rate, on the wire: {of:?}");
    assert!(log.stretches[1].is_limited);
    let wrong = sample(1.0, 1, "delivery_rate 11.6Xbps");
    assert!(
        refusal(&wrong).starts_with("line 3: delivery_rate 11.6Xbps: must be a rate"),
        "{}",
        refusal(&wrong)
    );
    assert!(refusal(&sample(1.0, 1, "")).contains("needs two samples"));
}

const SENT: &str = r#"{"time": 1.0, "name": "transport:packet_sent", "data": {"header": {"packet_type": "1RTT", "packet_number": 0}, "raw": {"length": 1252}}}"#;

#[test]
fn qlog_has_packets_and_what_acknowledged_them() {
    let sent = |time: f64, number: u64| {
        SENT.replace("1.0", &time.to_string())
            .replace("\"packet_number\": 0", &format!("\"packet_number\": {number}"))
    };
    let acked = |time: f64, ranges: &str| {
        format!(
            "{{\"time\": {time}, \"name\": \"transport:packet_received\", \"data\": {{\"header\": {{\"packet_type\": \"1RTT\"}}, \
             \"raw\": {{\"length\": 40}}, \"frames\": [{{\"frame_type\": \"ack\", \"ack_delay\": 2.0, \"acked_ranges\": {ranges}}}]}}}}"
        )
    };
    let events = [
        sent(100.0, 0),
        sent(101.0, 1),
        sent(102.0, 2),
        sent(103.0, 3),
        acked(150.0, "[[0, 1], [3]]"),
        sent(151.0, 4),
    ];
    let whole =
        format!("{{\"qlog_version\": \"0.3\", \"traces\": [{{\"events\": [\n{}\n]}}]}}", events.join(",\n"));
    let log = packets(&whole);
    assert_eq!(fates(&log), [Arrived, Arrived, Lost, Arrived, Unknown]);
    let last = log.packets[3];
    assert_eq!((last.sent_ns, last.seen_ns, last.bytes), (3_000_000, Some(48_000_000), 1280));
    let header = "{\"qlog_version\": \"0.3\", \"qlog_format\": \"JSON-SEQ\", \"trace\": {\"common_fields\": {\"time_format\": \"relative\"}}}";
    let records: Vec<String> = std::iter::once(header)
        .chain(events.iter().map(String::as_str))
        .map(|of| format!("\u{1e}{of}\n"))
        .collect();
    let sequence = records.concat();
    assert_eq!(packets(&sequence), log);
    let delta = sequence
        .replace("\"relative\"", "\"delta\"")
        .replace("150", "47")
        .replace("\"time\": 10", "\"time\": 1");
    let of_delta = packets(&delta);
    assert_eq!(
        of_delta.packets.iter().map(|of| of.sent_ns / 1_000_000).collect::<Vec<_>>()[..3],
        [0, 11, 23]
    );
    let cut = &whole[..whole.len() - 40];
    let Told::Packets(log) = read(cut, 9).unwrap() else { panic!() };
    assert!(log.is_cut);
    let wrong = whole.replace("[[0, 1], [3]]", "[[5, 1]]");
    assert_eq!(refusal(&wrong), "line 6: acked_ranges: must be pairs of a first and a last number");
    let none = whole.replace("packet_sent", "packet_buffered");
    assert!(refusal(&none).contains("no packet_sent event"));
}

#[test]
fn events_of_a_run_have_every_fate() {
    let log = packets(
        "time_s,event,flow,seq,cwnd\n0,flow_start,1,0,1\n0,send,1,0,1\n0.001,send,1,1,1\n0.002,queue_drop,1,1,1\n0.01,send,1,1,1\n\
         0.02,receive,1,0,1\n0.025,lost,1,1,1\n0.03,send,2,0,1\n0.05,send,1,2,1\n",
    );
    assert_eq!(fates(&log), [Arrived, Lost, Lost, Unknown]);
    assert_eq!((log.packets[0].seen_ns, log.is_round_trip, log.has_sizes), (Some(20_000_000), false, false));
    let wrong = "time_s,event,flow,seq\n0.5,send,0,0\n0.4,send,0,1\n";
    assert_eq!(refusal(wrong), "line 3: time_s = 0.4: is before that of the line in front of it");
    assert_eq!(refusal("time_s,event,flow,seq\n0.5,send,0,x\n"), "line 2: seq = x: must be a whole number");
}

#[test]
fn what_no_tool_writes_is_none() {
    for text in ["", "0101010101\n", "1 2 3\n4 5 6\n", "{\"a\": 1}", "\u{1f}\u{8b}"] {
        assert_eq!(LogKind::of(text.as_bytes()), None, "{text}");
    }
}

/// In a hand-written log, of two packets of equal time and size the first leaves first; a packet without a departure is
/// lost if a later one left, otherwise unknown. The delay of `mm-delay` shells is added.
#[test]
fn a_log_of_mm_link_has_both_ends_and_the_delay_around_it() {
    let log = packets(
        "# mahimahi mm-link (Uplink) [x.up] > y.log\n# queue: droptail [packets=2]\n# init timestamp: 5000\n\
         # base timestamp: 36\n# mahimahi config: [delay 10 ms] [loss (up) rate=0.1] [delay 5 ms] \n\
         40 # 1504\n41 + 1500\n41 + 1500\n42 + 80\n42 d 1 80\n43 # 1504\n43 - 1500 2\n45 + 700\n46 # 1504\n\
         46 - 1500 5\n47 - 700 2\n48 + 1500\n",
    );
    assert_eq!(fates(&log), [Arrived, Arrived, Lost, Arrived, Unknown]);
    let seen: Vec<Option<i64>> = log.packets.iter().map(|of| Some(of.seen_ns? / 1_000_000)).collect();
    assert_eq!(seen, [Some(17), Some(20), None, Some(21), None]);
    assert_eq!((log.tick_ns, log.is_round_trip, log.flow.as_str()), (1_000_000, false, "mm-link"));
    assert_eq!(log.starts_s, 5.041);
}

/// Packets match their departures although times and delays are rounded to 0.001 ms; the flow with most bytes is
/// reported.
#[test]
fn a_merged_log_of_pantheon_is_told_by_delays() {
    let log = packets(
        "# init timestamp: 1500000000000.5\n0.000 + 1500 1\n0.001 + 1500 1\n0.100 + 40 2\n20.000 - 1500 19.999 1\n\
         20.333 - 40 20.233 2\n20.501 - 1500 20.501 1\n21.000 + 1500 1\n22.000 + 1500 1\n50.125 - 1500 28.125 1\n",
    );
    assert_eq!(fates(&log), [Arrived, Arrived, Lost, Arrived]);
    let seen: Vec<Option<i64>> = log.packets.iter().map(|of| Some(of.seen_ns? / 1000)).collect();
    assert_eq!(seen, [Some(20_501), Some(20_000), None, Some(50_125)]);
    assert_eq!((log.tick_ns, log.flow.as_str()), (0, "tunnel, flow 1"));
}

#[test]
fn what_no_link_does_is_refused() {
    let head = "# mahimahi mm-link (Uplink) [x.up] > y.log\n";
    assert!(
        refusal(&format!("{head}1 + 1500\n2 - 1500\n")).starts_with("line 3: 2 - 1500: must be TIME + BYTES")
    );
    assert_eq!(
        refusal(&format!("{head}5000 + 1500\n1 + 1500\n")),
        "line 3: is 4999 ms before a line in front of it"
    );
    assert_eq!(refusal(head), "the log has no packet that came (TIME + BYTES)");
    assert_eq!(
        refusal(&format!("{head}1 + 1500\n9 - 80 3\n")),
        "1 packets left that had not come so long before: not a log of both ends"
    );
}

#[test]
fn numbers_that_no_tool_writes_are_refused() {
    let ping = |first: u64| {
        let lines = (0..300).map(|n| {
            format!("64 bytes from a: icmp_seq={} ttl=9 time=1.5 ms\n", (first + n * 30_000) % 65_536)
        });
        format!("PING a (a) 56(84) bytes of data.\n{}", lines.collect::<String>())
    };
    assert!(refusal(&ping(1)).ends_with("probes are missing: not of one run of ping"));
    let huge = ping(1).replace("icmp_seq=1 ", &format!("icmp_seq={} ", u64::MAX));
    assert!(refusal(&huge).contains("probes are missing"));
    let interval = |start: f64, bytes: &str| {
        format!("{{\"sum\": {{\"start\": {start}, \"end\": {}, \"bytes\": {bytes}}}}}", start + 1.0)
    };
    let iperf = |first: String, second: String| {
        format!("{{\"start\": {{\"version\": \"iperf 3.9\"}}, \"intervals\": [\n{first},\n{second}]}}")
    };
    let back = refusal(&iperf(interval(4.0, "9"), interval(1.0, "9")));
    assert_eq!(back, "line 3: sum.start = 1: the interval in front of it ends at 5");
    assert!(refusal(&iperf(interval(0.0, "9"), interval(1.0, "1e300"))).starts_with("line 3: sum.bytes"));
    assert_eq!(refusal("{\"irtt\": 1,\n\0}"), "line 2: a byte of value 0: not JSON");
}
