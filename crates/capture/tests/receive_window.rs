//! The windows of captured acknowledgements are those that they carry, where the receiver has Linux's; elsewhere
//! `w_max` all the time.

use crate::common::{Log, MS, Run, Seen, V4, capture, has_tshark, save, tcp};
use crossfade_capture::Capture;
use crossfade_transport::{CongestionControlKind, Flavour, RfcConfig, TcpConfig, Variant};
use etherparse::TcpOptionElement::WindowScale;
use etherparse::{SlicedPacket, TcpHeader, TransportSlice};
use std::process::Command;

/// A fifth of what is sent is lost: what waits beyond holes takes room from the window, and BBR does not mind.
fn linux(variant: Variant, w_max: u32) -> Run {
    let rfc = RfcConfig {
        congestion_control: CongestionControlKind::BbrV1,
        handshake_rtt: Some(MS * 40),
        ..RfcConfig::linux()
    };
    let tcp = TcpConfig { rfc, initial_window: 10.0, ..tcp(Flavour::Rfc, variant, w_max, 2_000) };
    Run { loss: 0.2, ack_loss: 0.01, ..Run::new(tcp, 1) }
}

/// TCP headers and bytes of payload, from the file.
fn packets(capture: &Capture) -> Vec<(TcpHeader, u64)> {
    let mut rest = &capture.bytes()[24..];
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(16);
        let (packet, tail) = tail.split_at(u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize);
        let Some(TransportSlice::Tcp(tcp)) = SlicedPacket::from_ip(packet).unwrap().transport else {
            panic!("TCP")
        };
        packets.push((tcp.to_header(), tcp.payload().len() as u64));
        rest = tail;
    }
    packets
}

/// How many segments from the first unacknowledged on each acknowledgement of the log lets the sender send.
fn allowed(run: &Run, log: &Log) -> Vec<u64> {
    log.iter()
        .filter_map(|(_, seen)| match seen {
            Seen::Acked(ack) => Some(ack.window.unwrap_or(u32::MAX).min(run.tcp.w_max).into()),
            Seen::Sent(_) => None,
        })
        .collect()
}

/// The headers show the windows of the log, rounded up to the scale of the handshake, and the sender keeps to them.
/// Returns them in bytes.
fn shows_windows_of(run: &Run) -> Vec<u64> {
    let log = run.log();
    let packets = packets(&capture(V4, &[(run.connection, log.clone())]));
    let shifts = packets[1].0.options_iterator().filter_map(|option| match option {
        Ok(WindowScale(shift)) => Some(shift),
        _ => None,
    });
    let unit = 1 << shifts.last().unwrap();
    // After the handshake, before the end.
    let (mut windows, mut edge) = (Vec::new(), u64::MAX);
    for (tcp, payload) in &packets[3..packets.len() - 3] {
        if tcp.source_port == 9 {
            windows.push(u64::from(tcp.window_size) * unit);
            edge = u64::from(tcp.acknowledgment_number) + windows[windows.len() - 1];
        }
        assert!(u64::from(tcp.sequence_number) + payload <= edge || tcp.source_port == 9);
    }
    let mss = u64::from(run.connection.mss);
    let expected = allowed(run, &log).into_iter().map(|segments| (segments * mss).next_multiple_of(unit));
    assert_eq!(windows, expected.collect::<Vec<_>>());
    windows
}

/// The least and the largest.
fn range(windows: &[u64]) -> (u64, u64) {
    (*windows.iter().min().unwrap(), *windows.iter().max().unwrap())
}

#[test]
fn acknowledgements_show_the_window_that_they_carry() {
    for variant in [Variant::Sack, Variant::NewReno] {
        // Up to 512 KiB a unit divides a segment of 1448 bytes; beyond it is 32 bytes, and what is shown is rounded.
        for w_max in [300, 1_000] {
            let windows = shows_windows_of(&linux(variant, w_max));
            let (least, largest) = range(&windows);
            assert!(largest > 3 * least, "{variant:?}: {least} to {largest}");
            let rounded = windows.iter().filter(|&window| window % 1_448 != 0).count();
            assert_eq!(rounded > 100, w_max == 1_000, "{rounded} of {}", windows.len());
        }
    }
}

#[test]
fn no_window_is_larger_than_the_largest() {
    // The receiver begins with room for 45 segments.
    assert_eq!(range(&shows_windows_of(&linux(Variant::Sack, 20))), (20 * 1_448, 20 * 1_448));
}

#[test]
fn a_receiver_without_such_a_window_shows_the_largest() {
    let ns2 = Run { loss: 0.2, ..Run::new(tcp(Flavour::Ns2, Variant::Sack, 64, 1_000), 1) };
    let plain = Run { loss: 0.2, ..Run::new(tcp(Flavour::Rfc, Variant::Sack, 64, 1_000), 1) };
    for run in [ns2, plain] {
        assert_eq!(range(&shows_windows_of(&run)), (64 * 1_448, 64 * 1_448));
    }
}

/// What tshark says of the window, of what is in flight, and of segments that fill the window: such as end where the
/// sender may send no further.
#[test]
fn tshark_sees_the_window_and_who_fills_it() {
    if !has_tshark() {
        return;
    }
    // Losses decide whether there is room for more than is sent at any time.
    let runs = (1..=20).map(|seed| Run { seed, ..linux(Variant::Sack, 300) });
    let full_ones = |log: &Log| filling(log).into_iter().filter(|fills| *fills).count();
    let (log, run) = runs.map(|run| (run.log(), run)).find(|(log, _)| full_ones(log) > 3).unwrap();
    let path = save("windows", &capture(V4, &[(run.connection, log.clone())]));
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "occurrence=f"]);
    let fields = [
        "tcp.srcport",
        "tcp.len",
        "tcp.window_size",
        "tcp.analysis.bytes_in_flight",
        "tcp.analysis.window_full",
    ];
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_file(path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();

    let (mut windows, mut full, mut most, mut limit) = (Vec::new(), Vec::new(), 0, u64::MAX);
    for row in &rows[3..rows.len() - 3] {
        if row[0] == "9" {
            limit = row[2].parse().unwrap();
            windows.push(limit);
        } else {
            let in_flight: u64 = row[3].parse().unwrap_or(0);
            assert!(in_flight <= limit, "{in_flight} in flight, {limit} allowed");
            most = most.max(in_flight);
            full.push(!row[4].is_empty());
        }
    }
    let mss = u64::from(run.connection.mss);
    assert_eq!(windows, allowed(&run, &log).iter().map(|segments| segments * mss).collect::<Vec<_>>());
    let fills = filling(&log);
    assert_eq!(full, fills);
    let count = fills.iter().filter(|fills| **fills).count();
    println!("{count} of {} segments fill the window; at most {most} bytes in flight", fills.len());
}

/// Of each segment sent, whether it ends where the sender may send no further.
fn filling(log: &Log) -> Vec<bool> {
    let mut edge = u64::MAX;
    let mut fills = Vec::new();
    for (_, seen) in log {
        match seen {
            Seen::Acked(ack) => edge = ack.next_expected + u64::from(ack.window.unwrap()).min(300),
            Seen::Sent(segment) => fills.push(segment.seq + 1 == edge),
        }
    }
    fills
}
