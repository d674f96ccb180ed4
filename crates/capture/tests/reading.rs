//! Captures of simulated transfers are read back: each transmission has the time, fate and round trip of the
//! simulation.

use crate::common::{Log, MS, Run, Seen, V4, capture, has_tshark, save, tcp};
use crossfade_capture::read::{
    Fate, FileReader, FlowReader, FlowRecord, Observed, ReadError, Survey, Vantage, join,
};
use crossfade_capture::{CaptureConfig, IpVersion};
use crossfade_transport::{Flavour, Variant};
use std::process::Command;

/// Reads a capture of a TCP flow in chunks of `chunk` bytes, once for the survey and once for the flow.
fn read(bytes: &[u8], chunk: usize) -> Result<FlowRecord, ReadError> {
    let mut survey = Survey::default();
    let mut reader = FileReader::default();
    for part in bytes.chunks(chunk) {
        reader.push(part, |frame, packet| {
            survey.look(frame, packet);
            Ok(())
        })?;
    }
    reader.finish()?;
    let (key, ..) = survey.largest()?;
    let mut flow = FlowReader::new(key);
    let mut reader = FileReader::default();
    for part in bytes.chunks(chunk) {
        reader.push(part, |frame, packet| flow.look(frame, packet))?;
    }
    flow.finish()
}

fn lossy(variant: Variant, segments: u64, seed: u64) -> Run {
    let tcp = tcp(Flavour::Ns2, variant, 64, segments);
    Run { loss: 0.02, ack_loss: 0.01, ..Run::new(tcp, seed) }
}

fn sent(log: &Log) -> usize {
    log.iter().filter(|(_, seen)| matches!(seen, Seen::Sent(_))).count()
}

/// A Linux sender is recognized by the order of the options in its SYN, and other senders are not.
#[test]
fn a_sender_of_linux_is_told_from_others() {
    for linux in [true, false] {
        let mut run = lossy(Variant::Sack, 300, 5);
        run.connection.linux = linux;
        let file = capture(V4, &[(run.connection, run.log())]);
        assert_eq!(read(file.bytes(), 1 << 16).unwrap().is_of_linux, linux);
    }
}

#[test]
fn every_transmission_has_its_time_and_size() {
    for (variant, config) in
        [(Variant::Sack, V4), (Variant::NewReno, CaptureConfig { ip: IpVersion::V6, ..V4 })]
    {
        let run = lossy(variant, 3000, 3);
        let log = run.log();
        let file = capture(config, &[(run.connection, log.clone())]);
        let record = read(file.bytes(), 1 << 16).unwrap();
        assert_eq!(record, read(file.bytes(), 7).unwrap(), "whatever the chunks");
        assert_eq!((record.vantage, record.offloads, record.is_cut), (Vantage::Sender, false, false));
        assert_eq!(record.packets.len(), sent(&log));
        let headers = if config.ip == IpVersion::V4 { 52 } else { 72 };
        assert!(record.packets.iter().all(|packet| packet.bytes == 1448 + headers));
        // 2 % of the packets are lost; with SACK, nothing else is retransmitted.
        let lost = record.packets.iter().filter(|packet| packet.fate == Fate::Lost).count();
        let again =
            log.iter().filter(|(_, seen)| matches!(seen, Seen::Sent(of) if of.retransmission)).count();
        if variant == Variant::Sack {
            assert!(lost.abs_diff(again) <= 2, "{lost} lost, {again} sent again");
        }
        assert!((30..=100).contains(&lost), "{lost} of {}", record.packets.len());
        // The path takes 40 ms and 1.2 ms for each packet in front.
        let shortest = record.packets.iter().filter_map(|of| Some(of.seen_ns? - of.sent_ns)).min().unwrap();
        assert!((41_199_000..41_300_000).contains(&shortest), "{shortest}");
    }
}

/// A retransmission of selectively acknowledged data counts as a transmission: after a timeout a sender forgets SACK
/// blocks (RFC 2018 section 8).
#[test]
fn a_transmission_of_what_was_acknowledged_selectively_counts() {
    let mut in_vain = 0;
    for seed in 1..=8 {
        let tcp = tcp(Flavour::Ns2, Variant::Sack, 64, 500);
        let run = Run { loss: 0.08, ack_loss: 0.01, ..Run::new(tcp, seed) };
        let log = run.log();
        let mut selective: Vec<std::ops::Range<u64>> = Vec::new();
        for (_, seen) in &log {
            match seen {
                Seen::Sent(segment) => {
                    in_vain += usize::from(selective.iter().any(|block| block.contains(&segment.seq)));
                }
                Seen::Acked(ack) => {
                    selective.retain(|block| block.end > ack.next_expected);
                    selective.extend(ack.sack.as_slice().iter().map(|block| block.start..block.end));
                }
            }
        }
        let record = read(capture(V4, &[(run.connection, log.clone())]).bytes(), 1 << 16).unwrap();
        assert_eq!(record.packets.len(), sent(&log), "seed {seed}");
    }
    assert!(in_vain > 0);
}

/// Round trips agree to the microsecond with tshark's: it takes the time since the last segment that an acknowledgement
/// covers.
#[test]
fn round_trips_are_those_that_tshark_finds() {
    if !has_tshark() {
        return;
    }
    let run = Run::new(tcp(Flavour::Ns2, Variant::Sack, 64, 2000), 5);
    let file = capture(V4, &[(run.connection, run.log())]);
    let path = save("round-trips", &file);
    let output = Command::new("tshark")
        .arg("-r")
        .arg(&path)
        .args(["-n", "-Y", "tcp.analysis.ack_rtt && tcp.srcport == 9 && tcp.flags.syn == 0"])
        .args(["-T", "fields", "-e", "tcp.analysis.ack_rtt"])
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<f64> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
    let record = read(file.bytes(), 1 << 16).unwrap();
    let ours: Vec<f64> =
        record.packets.iter().filter_map(|of| Some((of.seen_ns? - of.sent_ns) as f64 / 1e9)).collect();
    // tshark also has a round trip of the FIN.
    assert!(theirs.len() - ours.len() <= 1 && ours.len() > 900, "{} and {}", theirs.len(), ours.len());
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!((ours - theirs).abs() < 1e-6, "acknowledgement {at}: {ours} and {theirs}");
    }
}

#[test]
fn what_is_no_capture_is_refused_in_one_line() {
    let run = lossy(Variant::Sack, 50, 3);
    let file = capture(V4, &[(run.connection, run.log())]).bytes().to_vec();
    let changed = |at: usize, to: &[u8]| {
        let mut bytes = file.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        read(&bytes, 100).map(|record| record.packets.len()).unwrap_err().to_string()
    };
    assert_eq!(changed(0, b"GIF8"), "not a capture: pcap and pcapng files are read");
    assert!(changed(20, &[127, 0, 0, 0]).starts_with("link type 127: must be Ethernet (1), raw IP"));
    assert_eq!(
        changed(24 + 8, &[0, 0, 0, 16]),
        "the packet at byte 24 has a length of 268435456: must be at most 262144 bytes"
    );
    // The first packet is of the year 2038, and the second of 1970.
    let late = changed(24, &[255, 255, 255, 127]);
    assert!(late.contains("the clock was set back"), "{late}");
    for cut in [0, 3, 23] {
        assert_eq!(read(&file[..cut], 100).unwrap_err(), ReadError::NotACapture, "{cut}");
    }
    assert_eq!(read(&file[..24], 100).unwrap_err(), ReadError::NoFlow);
    // A file that ends inside a packet is read up to it.
    let whole = read(&file, 100).unwrap().packets.len();
    assert!(read(&file[..file.len() / 2], 100).unwrap().packets.len() < whole);
}

/// The capture `file` converted to pcapng, in either byte order.
fn as_pcapng(file: &[u8], big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let block = |kind: u32, body: &[u8]| {
        let length = 12 + body.len().next_multiple_of(4) as u32;
        let mut bytes = [&word(kind)[..], &word(length), body].concat();
        bytes.resize(length as usize - 4, 0);
        [bytes, word(length).to_vec()].concat()
    };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let resolution = [&half(9)[..], &half(1), &[9, 0, 0, 0], &half(0), &half(0)].concat();
    let interface = [&half(101)[..], &half(0), &word(0), &resolution].concat();
    let mut found = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    let mut at = 24;
    while at < file.len() {
        let [seconds, nanos, kept, length] =
            [0, 4, 8, 12].map(|of| u32::from_le_bytes(file[at + of..at + of + 4].try_into().unwrap()));
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(nanos);
        let head = [0, (time >> 32) as u32, time as u32, kept, length].map(word).concat();
        let packet = &file[at + 16..at + 16 + kept as usize];
        found.extend(block(6, &[&head[..], packet].concat()));
        at += 16 + kept as usize;
    }
    found
}

#[test]
fn pcapng_of_either_byte_order_says_the_same() {
    let run = lossy(Variant::Sack, 500, 3);
    let file = capture(V4, &[(run.connection, run.log())]);
    let expected = read(file.bytes(), 1 << 16).unwrap();
    for big in [false, true] {
        let pcapng = as_pcapng(file.bytes(), big);
        assert_eq!(read(&pcapng, 1 << 16).unwrap(), expected);
        assert_eq!(read(&pcapng, 11).unwrap(), expected);
        let mut wrong = pcapng.clone();
        wrong[8 + 24] = 0xee;
        assert!(read(&wrong, 1 << 16).is_err());
    }
}

#[test]
fn a_stall_loses_nothing() {
    let stall = Some((MS * 500, MS * 1700));
    let run = Run { stall, loss: 0.0, ack_loss: 0.0, ..lossy(Variant::NewReno, 1000, 5) };
    let file = capture(V4, &[(run.connection, run.log())]);
    let record = read(file.bytes(), 1 << 16).unwrap();
    let of = |fate| record.packets.iter().filter(|packet| packet.fate == fate).count();
    // Segments retransmitted after the stall are acknowledged by the originals.
    assert!(of(Fate::Lost) <= 1, "{} lost", of(Fate::Lost));
    assert!(of(Fate::Unknown) > 10);
}

/// Shifts a sender's capture to the receiver: data half the shortest round trip later, acknowledgements as much
/// earlier.
fn at_receiver(file: &[u8]) -> Vec<u8> {
    let moved = records(file).into_iter().map(|of| {
        let (data, acknowledgement) = if is_data(&of) { (20_600_000, 0) } else { (0, 20_600_000) };
        (1_000_000_000 + of.0 + data - acknowledgement, of.1)
    });
    written(file, moved.collect())
}

/// A capture at the receiver gives RTT and losses by timestamps; joined with the sender's it gives one-way delays.
#[test]
fn a_capture_at_the_receiver_tells_by_timestamps_and_both_ends_are_joined() {
    let run = Run { ack_loss: 0.0, ..lossy(Variant::Sack, 2000, 7) };
    let log = run.log();
    let sender = capture(V4, &[(run.connection, log.clone())]);
    // Arrival times at the receiver: acknowledgements less the reverse delay of 20 ms.
    let record = read(sender.bytes(), 1 << 16).unwrap();
    let mut arrivals = record.packets.iter();
    let mut late = 0;
    let mut theirs: Log = log
        .iter()
        .filter_map(|(at, seen)| match seen {
            Seen::Acked(_) => Some((*at - MS * 20, seen.clone())),
            Seen::Sent(_) => {
                let of = arrivals.next().unwrap();
                let seen_at = of.seen_ns.map(|at| crossfade_core::SimTime::from_nanos(at as u64) - MS * 20);
                late += usize::from(seen_at.is_some());
                seen_at.map(|at| (at, seen.clone()))
            }
        })
        .collect();
    // Data comes before the acknowledgement that it triggers.
    theirs.sort_by_key(|(at, seen)| (*at, matches!(seen, Seen::Acked(_))));
    let receiver = capture(V4, &[(run.connection, theirs)]);
    let there = read(&at_receiver(sender.bytes()), 1 << 16).unwrap();
    assert_eq!((there.vantage, there.tick_ns), (Vantage::Receiver, 1_000_000));
    // Timestamps give the round trip to a tick.
    let shortest = there.packets.iter().filter_map(|of| Some(of.seen_ns? - of.sent_ns)).min().unwrap();
    assert!((41_000_000..42_200_000).contains(&shortest), "{shortest}");
    let of_receiver = read(receiver.bytes(), 1 << 16).map(|record| (record.vantage, record.packets));
    if let Ok((Vantage::Receiver, packets)) = of_receiver {
        let count = |of: &[Observed]| of.iter().filter(|packet| packet.fate == Fate::Lost).count();
        assert!(count(&packets).abs_diff(count(&record.packets)) <= 5, "{}", count(&packets));
    }

    let flow = |bytes: &[u8]| {
        let mut survey = Survey::default();
        FileReader::default().push(bytes, |frame, packet| {
            survey.look(frame, packet);
            Ok(())
        })?;
        let mut flow = FlowReader::new(survey.largest()?.0);
        FileReader::default().push(bytes, |frame, packet| flow.look(frame, packet))?;
        Ok::<_, ReadError>(flow)
    };
    let joined = join(flow(sender.bytes()).unwrap(), flow(receiver.bytes()).unwrap()).unwrap();
    assert_eq!((joined.vantage, joined.packets.len()), (Vantage::BothEnds, record.packets.len()));
    let seen = joined.packets.iter().filter(|packet| packet.seen_ns.is_some()).count();
    assert_eq!(seen, late);
    for (one_way, round_trip) in joined.packets.iter().zip(&record.packets) {
        if let (Some(arrived), Some(acknowledged)) = (one_way.seen_ns, round_trip.seen_ns) {
            assert_eq!(acknowledged - arrived, 20_000_000);
        }
    }
}

/// Packets of a capture: time in nanoseconds, and the bytes of the record after it.
fn records(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (24, Vec::new());
    while at < file.len() {
        let end = at + 16 + word(at + 8) as usize;
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        found.push((time, file[at + 8..end].to_vec()));
        at = end;
    }
    found
}

/// True for a packet longer than any acknowledgement.
fn is_data((_, rest): &(u64, Vec<u8>)) -> bool {
    u32::from_le_bytes(rest[4..8].try_into().unwrap()) > 1000
}

/// A capture with the file header of `head` and `packets` in order of time.
fn written(head: &[u8], mut packets: Vec<(u64, Vec<u8>)>) -> Vec<u8> {
    packets.sort_by_key(|packet| packet.0);
    let mut found = head[..24].to_vec();
    for (time, rest) in packets {
        found.extend(((time / 1_000_000_000) as u32).to_le_bytes());
        found.extend(((time % 1_000_000_000) as u32).to_le_bytes());
        found.extend(rest);
    }
    found
}

#[test]
fn a_packet_at_two_interfaces_counts_once() {
    let run = lossy(Variant::Sack, 1000, 3);
    let file = capture(V4, &[(run.connection, run.log())]).bytes().to_vec();
    let packets = records(&file);
    let twice = packets.iter().flat_map(|(time, rest)| [0, 30_000].map(|late| (time + late, rest.clone())));
    assert_eq!(read(&written(&file, twice.collect()), 1 << 16).unwrap(), read(&file, 1 << 16).unwrap());
}

#[test]
fn files_that_were_mixed_up_say_how() {
    let run = lossy(Variant::Sack, 300, 3);
    let file = capture(V4, &[(run.connection, run.log())]).bytes().to_vec();
    let two = [&file[..], &file[..]].concat();
    assert_eq!(read(&two, 100).unwrap_err(), ReadError::Another(file.len() as u64));
    // A crashed machine leaves zeros at the end of a file.
    let mut zeros = file.clone();
    zeros.resize(file.len() + 100_000, 0);
    assert_eq!(read(&zeros, 1000).unwrap(), read(&file, 1000).unwrap());
    let mut reader = FileReader::default();
    reader.push(&zeros, |_, _| Ok(())).unwrap();
    assert!(reader.is_over() && reader.finish().unwrap());
    let packets = records(&file);
    let one_way: Vec<_> = packets.iter().filter(|of| is_data(of)).cloned().collect();
    let said = read(&written(&file, one_way), 1 << 16).unwrap_err().to_string();
    assert!(said.ends_with("the capture has no acknowledgements of it: capture both directions"), "{said}");
    let leap = packets.iter().enumerate().map(|(index, (time, rest))| {
        (time + if index > 100 { 200_000_000_000_000 } else { 0 }, rest.clone())
    });
    let said = read(&written(&file, leap.collect()), 1 << 16).unwrap_err().to_string();
    assert!(said.starts_with("packet 102: comes 55 hours after"), "{said}");
}
