//! Captured acknowledgements show the receive window that they carry, if the receiver models that of Linux; otherwise
//! always `w_max`.

use crate::common::{Log, MS, Run, Seen, V4, capture, has_tshark, save, tcp};
use crossfade_capture::Capture;
use crossfade_transport::{CongestionControlKind, Flavour, RfcConfig, TcpConfig, Variant};
use etherparse::TcpOptionElement::WindowScale;
use etherparse::{SlicedPacket, TcpHeader, TransportSlice};
use std::process::Command;

/// BBR transfer to a Linux receiver with 20 % loss: data behind holes fills the receive buffer, and BBR does not slow
/// down by losses.
fn linux(variant: Variant, w_max: u32) -> Run {
    let rfc = RfcConfig {
        congestion_control: CongestionControlKind::BbrV1,
        handshake_rtt: Some(MS * 40),
        ..RfcConfig::linux()
    };
    let tcp = TcpConfig { rfc, initial_window: 10.0, ..tcp(Flavour::Rfc, variant, w_max, 2_000) };
    Run { loss: 0.2, ack_loss: 0.01, ..Run::new(tcp, 1) }
}

/// TCP header and payload bytes of each packet of a capture.
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

/// Receive window in segments of each acknowledgement of the log, at most `w_max`.
fn allowed(run: &Run, log: &Log) -> Vec<u64> {
    log.iter()
        .filter_map(|(_, seen)| match seen {
            Seen::Acked(ack) => Some(ack.window.unwrap_or(u32::MAX).min(run.tcp.w_max).into()),
            Seen::Sent(_) => None,
        })
        .collect()
}

/// Checks that headers show the windows of the log, rounded up to the window scale, and that the sender stays inside.
/// Returns the windows in bytes.
fn shows_windows_of(run: &Run) -> Vec<u64> {
    let log = run.log();
    let packets = packets(&capture(V4, &[(run.connection, log.clone())]));
    let shifts = packets[1].0.options_iterator().filter_map(|option| match option {
        Ok(WindowScale(shift)) => Some(shift),
        _ => None,
    });
    let unit = 1 << shifts.last().unwrap();
    // Without handshake and end.
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

/// Smallest and largest window.
fn range(windows: &[u64]) -> (u64, u64) {
    (*windows.iter().min().unwrap(), *windows.iter().max().unwrap())
}

#[test]
fn acknowledgements_show_the_window_that_they_carry() {
    for variant in [Variant::Sack, Variant::NewReno] {
        // For windows up to 512 KiB the unit of the window scale divides a segment of 1448 bytes; above, it is 32
        // bytes, and windows are rounded.
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

/// tshark agrees on windows, on bytes in flight, and on the segments that fill the window, after which the sender may
/// send no further.
#[test]
fn tshark_sees_the_window_and_who_fills_it() {
    if !has_tshark() {
        return;
    }
    // The seed decides if the window ever limits the sender: take one where it does.
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

/// For each segment sent, true if it ends at the edge of the receive window.
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
