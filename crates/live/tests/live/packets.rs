//! Single packets through links: their arrival times, their bytes, and their fates.

use crate::Case;
use crate::ping::{PING_BYTES, ping};
use crate::testbed::{MS, arq, draws, emulate, hop, iid, random_bytes, undisturbed};
use crossfade_channel::Lossless;
use crossfade_core::SimTime;
use crossfade_link::arq::{ArqProtocol, StopAndWaitConfig};
use crossfade_link::trace::{Schedule, TraceLinkConfig};
use crossfade_link::{CoDelConfig, Departure, Link, LinkConfig, Parcel, Push, QueueConfig, QueueLimit};
use crossfade_live::{PumpConfig, PumpReport};
use rustix::net::{AddressFamily, SocketType, ipproto, socket, sockopt};
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::Duration;

pub(crate) const ALL: &[Case] = &[
    ("ping_through_a_hop", ping_through_a_hop),
    ("ping_through_recorded_delays", ping_through_recorded_delays),
    ("time_waits_for_the_first_packet", time_waits_for_the_first_packet),
    ("ping_through_arq_in_steps", ping_through_arq_in_steps),
    ("packets_arrive_as_they_were_sent", packets_arrive_as_they_were_sent),
    ("every_packet_is_accounted_for", every_packet_is_accounted_for),
    ("marks_of_a_queue_arrive", marks_of_a_queue_arrive),
];

/// Delays of answers beyond the delay of the simulated links, in seconds.
///
/// One clock is read before a packet goes in and after it has come out, so no answer is early, whatever the load
/// (except by a nanosecond of rounding).
fn lateness(rtt: &[Duration], expected_s: &[f64]) -> Vec<f64> {
    let late_s: Vec<f64> =
        rtt.iter().zip(expected_s).map(|(rtt, expected_s)| rtt.as_secs_f64() - expected_s).collect();
    assert!(late_s.iter().all(|late_s| *late_s > -1e-9), "early: {late_s:?}");
    late_s
}

/// Checks that the least late answer is late by less than 10 ms. A round trip has six wake-ups; each takes some 10 us
/// on an idle machine, 10 ms and more with six busy programs per core, so only the least late of many answers shows
/// when it was due.
fn check_luckiest(late_s: &[f64]) -> Result<(), String> {
    let luckiest_s = late_s.iter().copied().fold(f64::INFINITY, f64::min);
    if luckiest_s < 0.010 { Ok(()) } else { Err(format!("late by {luckiest_s} s or more")) }
}

fn ping_through_a_hop() {
    let count = 20;
    let link = || hop(Some(1e6), MS * 20);
    // 20 ms and 84 bytes at 1 Mbit/s, twice.
    let expected_s = 2.0 * (0.020 + f64::from(PING_BYTES) * 8.0 / 1e6);
    undisturbed(|| {
        let (rtt, report) =
            emulate(link(), link(), PumpConfig::default(), |[near, far]| ping(near, far.address(), count));
        for direction in [&report.forward, &report.reverse] {
            assert_eq!((direction.packets, direction.link.arrivals), (u64::from(count), u64::from(count)));
        }
        check_luckiest(&lateness(&rtt, &vec![expected_s; rtt.len()]))
    });
}

/// Link with a delay of 20 ms, from half a second on of 60 ms, and up to 1 ms until the next opportunity.
fn slower_later() -> Box<dyn Link + Send> {
    let config = TraceLinkConfig {
        schedule: Schedule::Opportunities("1\n".parse().unwrap()),
        delay: SimTime::ZERO,
        delays: Some("0 0.020\n0.5 0.060\n".parse().unwrap()),
        queue: QueueConfig::DropTail(None),
        draws: draws(),
        loss: Box::new(Lossless),
    };
    config.build().unwrap()
}

/// If time waits for the first packet, pings that begin 0.7 s after the start of the emulation still meet the link's
/// first half second.
fn time_waits_for_the_first_packet() {
    undisturbed(|| {
        let config = PumpConfig { waits: true, ..PumpConfig::default() };
        let (rtt, report) = emulate(slower_later(), hop(None, MS), config, |[near, far]| {
            sleep(Duration::from_millis(700));
            ping(near, far.address(), 5)
        });
        // The five take 0.1 s, and no time was before.
        assert!(report.forward.duration < MS * 700, "{:?}", report.forward.duration);
        check_luckiest(&lateness(&rtt, &[0.021; 5]))
    });
}

/// Pings through a link whose recorded delay changes after half a second take first one delay, then the other.
fn ping_through_recorded_delays() {
    undisturbed(|| {
        let (rtt, _) = emulate(slower_later(), hop(None, MS), PumpConfig::default(), |[near, far]| {
            ping(near, far.address(), 40)
        });
        let first = rtt.iter().take_while(|rtt| **rtt < Duration::from_millis(61)).count();
        let (early, late) = rtt.split_at(first);
        // From at most half a second of 21 ms and more, and all the rest.
        assert!(first <= 24 && late.len() >= 16, "{rtt:?}");
        check_luckiest(&lateness(early, &vec![0.021; first]))?;
        check_luckiest(&lateness(late, &vec![0.061; late.len()]))
    });
}

/// Times in seconds that packets of a ping's size take through `link` in simulated time.
fn simulate(mut link: Box<dyn Link + Send>, count: u16) -> Vec<f64> {
    let delay = |i: u16| {
        let sent = SimTime::from_millis(100_000) * u64::from(i);
        assert_eq!(link.push(sent, Parcel::new(0, 0, PING_BYTES)), Push::Accepted);
        loop {
            let at = link.next_event().expect("the packet is inside");
            if let Some(Departure::Arrived(_)) = link.advance(at) {
                return (at - sent).as_secs_f64();
            }
        }
    };
    (0..count).map(delay).collect()
}

/// Losses depend only on the number of the transmission, so each ping takes as long as through the link in a
/// simulation.
fn ping_through_arq_in_steps() {
    let count = 24;
    let step = MS * 50;
    let stop_and_wait =
        ArqProtocol::StopAndWait(StopAndWaitConfig { timeout: step, max_retransmissions: None });
    // A frame takes 10 ms, propagation 5 ms.
    let forward_s = simulate(arq(100e3, iid(0.4), stop_and_wait), count);
    let retransmissions: Vec<u64> =
        forward_s.iter().map(|s| ((s - 0.015) / step.as_secs_f64()).round() as u64).collect();
    let steps: BTreeSet<u64> = retransmissions.iter().copied().collect();
    // None on a step: 0.4 to the 24th, and 0.76 to the 24th, once in 700 streams.
    assert!(steps.contains(&0) && steps.contains(&1), "the case shows steps: {steps:?}");
    let expected_s: Vec<f64> = forward_s.iter().map(|s| s + 0.010).collect();
    undisturbed(|| {
        let forward = arq(100e3, iid(0.4), stop_and_wait);
        let (rtt, report) = emulate(forward, hop(None, MS * 10), PumpConfig::default(), |[near, far]| {
            ping(near, far.address(), count)
        });
        let arq = report.forward.arq.expect("a link of frames");
        assert_eq!((arq.frames, arq.frames_lost), (u64::from(count), 0));
        assert_eq!(arq.retransmissions, retransmissions.iter().sum::<u64>());
        let late_s = lateness(&rtt, &expected_s);
        // On the first steps, of which there are several.
        [0, 1].into_iter().try_for_each(|step| {
            let on_step = late_s.iter().zip(&retransmissions).filter(|(_, n)| **n == step);
            check_luckiest(&on_step.map(|(late_s, _)| *late_s).collect::<Vec<f64>>())
        })
    });
}

/// UDP datagrams arrive complete and unchanged. TCP would repair damage by the emulator, and UDP's checksum would turn
/// it into a loss, so none may be missing.
fn packets_arrive_as_they_were_sent() {
    let bytes = random_bytes(1472);
    let lengths: Vec<usize> = (0..300).map(|i| i * 331 % 1473).collect();
    let ((), report) = emulate(hop(None, MS * 5), hop(None, MS), PumpConfig::default(), |[near, far]| {
        let socket = near.run(|| UdpSocket::bind((near.address(), 0))).unwrap().unwrap();
        let sink = far.run(|| UdpSocket::bind((far.address(), 9))).unwrap().unwrap();
        sink.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut received = vec![0; 2000];
        // A socket keeps some 90 packets for its reader.
        for lengths in lengths.chunks(30) {
            for &length in lengths {
                socket.send_to(&bytes[..length], (far.address(), 9)).unwrap();
            }
            for &length in lengths {
                let bytes_received = sink.recv(&mut received).unwrap();
                assert!(received[..bytes_received] == bytes[..length], "{bytes_received} bytes for {length}");
            }
        }
    });
    assert_eq!(report.forward.packets, 300);
}

fn every_packet_is_accounted_for() {
    let config = PumpConfig { capacity: 10, ..PumpConfig::default() };
    let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(7)));
    let forward = LinkConfig { rate_bps: Some(1e5), delay: MS * 9000, queue, draws: draws(), loss: iid(0.2) };
    let forward = forward.build().unwrap();
    // Two bursts of 100 packets of 300 bytes. A packet takes 24 ms on the link and 9 s behind it: of each
    // burst the queue takes some 8, and the second meets what the first has left inside.
    let ((), report) = emulate(forward, hop(None, MS), config, |[near, far]| {
        let socket = near.run(|| UdpSocket::bind((near.address(), 0))).unwrap().unwrap();
        let sink = far.run(|| UdpSocket::bind((far.address(), 9))).unwrap().unwrap();
        for _ in 0..2 {
            for _ in 0..100 {
                socket.send_to(&[0; 272], (far.address(), 9)).unwrap();
            }
            sleep(Duration::from_millis(250));
        }
        drop(sink);
    });
    let PumpReport { packets, refused, left, link, .. } = report.forward;
    assert_eq!(packets, 200);
    assert!(refused > 0 && left > 0 && left <= 10, "{refused} refused, {left} left");
    assert!(link.queue_drops > 0 && link.losses > 0, "{link:?}");
}

fn marks_of_a_queue_arrive() {
    let codel = CoDelConfig { target: MS, interval: MS * 2, ecn: true, ..CoDelConfig::default() };
    let queue = QueueConfig::CoDel(codel, QueueLimit::Packets(1000));
    let forward =
        LinkConfig { rate_bps: Some(4e6), delay: MS, queue, draws: draws(), loss: Box::new(Lossless) };
    let forward = forward.build().unwrap();
    let (marked, report) = emulate(forward, hop(None, MS), PumpConfig::default(), |[near, far]| {
        let socket_near = near.run(|| UdpSocket::bind((near.address(), 0))).unwrap().unwrap();
        // ECT(0).
        sockopt::set_ip_tos(socket_near.as_fd(), 2).unwrap();
        // A raw socket sees IP headers, of packets whose header has the right checksum only.
        let raw = far.run(|| socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::UDP)));
        let raw = UdpSocket::from(raw.unwrap().unwrap());
        raw.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        for _ in 0..50 {
            socket_near.send_to(&[0; 472], (far.address(), 9)).unwrap();
        }
        let mut packet = [0; 1500];
        let mut ecn = || {
            raw.recv(&mut packet).unwrap();
            packet[1] & 3
        };
        (0..50).filter(|_| ecn() == 3).count()
    });
    assert_eq!(marked as u64, report.forward.link.ecn_marks);
    assert!(marked > 0);
}
