//! What is tested.

use crate::ping::{PING_BYTES, ping};
use crate::replay::{Entry, attended, recorded, replay, watched};
use crate::transfer::{MSS, transfer};
use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, LossyFrames, Packing, Release, ReverseConfig,
    SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig, StopAndWaitConfig,
};
use crossfade_link::trace::{Schedule, TraceLinkConfig};
use crossfade_link::{CoDelConfig, Departure, Link, LinkConfig, Parcel, Push, Queue, QueueLimit};
use crossfade_live::{
    Emulation, EmulationReport, Host, HostOptions, LiveLink, PumpConfig, PumpReport, SocketWatch,
};
use rand::Rng;
use rustix::net::{AddressFamily, SocketType, ipproto, socket, sockopt};
use std::collections::BTreeSet;
use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{current, scope, sleep};
use std::time::{Duration, Instant};

/// A name and what it does.
pub(crate) type Case = (&'static str, fn());

pub(crate) const ALL: &[Case] = &[
    ("ping_through_a_hop", ping_through_a_hop),
    ("ping_through_arq_in_steps", ping_through_arq_in_steps),
    ("packets_arrive_as_they_were_sent", packets_arrive_as_they_were_sent),
    ("tcp_at_the_rate_of_a_hop", tcp_at_the_rate_of_a_hop),
    ("tcp_over_persistent_arq", tcp_over_persistent_arq),
    ("tcp_repairs_what_arq_gives_up", tcp_repairs_what_arq_gives_up),
    ("tcp_through_a_trace", tcp_through_a_trace),
    ("a_simulation_does_the_same", a_simulation_does_the_same),
    ("every_packet_is_accounted_for", every_packet_is_accounted_for),
    ("marks_of_a_queue_arrive", marks_of_a_queue_arrive),
    ("a_receive_window_binds", a_receive_window_binds),
    ("large_segments_are_packets_to_a_link", large_segments_are_packets_to_a_link),
    ("one_thread_passes_little_and_two_pass_much", one_thread_passes_little_and_two_pass_much),
    ("a_link_that_fails_ends_the_emulation", a_link_that_fails_ends_the_emulation),
    ("nothing_is_left", nothing_is_left),
];

const MTU: u32 = 1500;
const MS: SimTime = SimTime::from_millis(1);

/// Runs `experiment` between two hosts joined by these links.
fn emulate<T>(
    forward: LiveLink,
    reverse: LiveLink,
    config: PumpConfig,
    experiment: impl FnOnce(&[Host; 2]) -> T,
) -> (T, EmulationReport) {
    let hosts = Host::pair(MTU).unwrap();
    let emulation = Emulation::start(&hosts, forward, reverse, config).unwrap();
    let result = experiment(&hosts);
    let report = emulation.stop().unwrap();
    check(&report.forward);
    check(&report.reverse);
    (result, report)
}

/// Whatever happens: each packet has one fate, and the kernel took no part in it.
fn check(report: &PumpReport) {
    let PumpReport { packets, refused, left, undeliverable, ring_drops, ref link, .. } = *report;
    assert_eq!(packets, refused + left + link.queue_drops + link.losses + link.arrivals, "{report:?}");
    assert_eq!((undeliverable, ring_drops), (0, 0), "{report:?}");
    assert_eq!(report.lateness.count(), link.arrivals);
}

fn hop(rate_bps: Option<f64>, delay: SimTime) -> LiveLink {
    LinkConfig { rate_bps, delay, queue: Queue::DropTail(None), loss: Box::new(Lossless) }.build().unwrap()
}

fn iid(p_e: f64) -> Box<dyn LossProcess> {
    Box::new(Iid::new(p_e, RunSeed { seed: 1, run: 0 }.stream("channel.dl")).unwrap())
}

/// A link of frames of 125 bytes, 12 in a full packet, 5 ms each way.
fn arq(rate_bps: f64, loss: Box<dyn LossProcess>, protocol: ArqProtocol) -> LiveLink {
    let config = ArqLinkConfig {
        rate_bps,
        frame_size: 125,
        clock: FrameClock::OnDemand,
        delay: MS * 5,
        segmentation: SegmentationConfig {
            payload: 125,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        header: FrameHeader::Lost,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(MS * 5),
        protocol,
    };
    let feedback = RunSeed { seed: 1, run: 0 }.stream("feedback.dl");
    config.build(Queue::DropTail(None), LossyFrames { loss }, feedback).unwrap()
}

/// 8 Mbit/s: a frame takes 0.125 ms, a full packet 1.5 ms.
fn selective_repeat(loss: Box<dyn LossProcess>, max_retransmissions: Option<u32>) -> LiveLink {
    // Ten round trips of frames: the window does not close.
    let config = SelectiveRepeatConfig {
        window: 1024,
        timeout: MS * 11,
        max_retransmissions,
        release: Release::InOrder,
    };
    arq(8e6, loss, ArqProtocol::SelectiveRepeat(config))
}

/// Repeats an experiment until the machine has had time for it: what happened at the wrong time is an error,
/// and a failure only if it happens again and again.
fn undisturbed(experiment: impl Fn() -> Result<(), String>) {
    let attempts: Vec<String> = (0..5).map_while(|_| experiment().err()).collect();
    assert!(attempts.len() < 5, "{attempts:#?}");
}

/// How much later answers came than they would without a computer in between.
///
/// One clock is read before a packet goes in and after it has come out: none is early, whatever the load. (A
/// nanosecond for rounding.)
fn lateness(rtt: &[Duration], expected_s: &[f64]) -> Vec<f64> {
    let late_s: Vec<f64> =
        rtt.iter().zip(expected_s).map(|(rtt, expected_s)| rtt.as_secs_f64() - expected_s).collect();
    assert!(late_s.iter().all(|late_s| *late_s > -1e-9), "early: {late_s:?}");
    late_s
}

/// A round trip has six wake-ups. Each takes some 10 us on an idle machine, 10 ms and more with six busy
/// programs a core; then only the luckiest of many answers tells when it was due.
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

/// Packets of the same sizes through the same link in simulated time: how long each takes.
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

/// Losses depend on the number of the transmission alone: each ping takes as long as the same link says in a
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
    assert!(steps.len() >= 4, "the case shows steps: {steps:?}");
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

/// Bytes that show any of them lost, repeated or exchanged.
fn random_bytes(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    RunSeed { seed: 1, run: 0 }.stream("payload").fill_bytes(&mut bytes);
    bytes
}

/// TCP would repair what the emulator spoils, and UDP's checksum would hide it: nothing may be missing.
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

/// The goodput of a transfer through a link forward and 5 ms back.
fn tcp(forward: LiveLink, bytes: usize) -> (f64, EmulationReport) {
    let data = random_bytes(bytes);
    let (goodput_bps, report) = emulate(forward, hop(None, MS * 5), PumpConfig::default(), |[near, far]| {
        let (received, goodput_bps) = transfer(near, far, &data);
        assert!(received == data, "what was received is not what was sent");
        goodput_bps
    });
    assert!(report.forward.link.arrived_bytes > bytes as u64);
    (goodput_bps, report)
}

/// The share of a link that TCP gets when it keeps it busy.
///
/// Once a quarter has come, the queue holds more than 150 ms of packets: being late by less costs nothing
/// but at the two instants that are measured. The share of lost frames is that of a sample: within 0.5 %.
fn check_goodput(goodput_bps: f64, available_bps: f64) -> Result<(), String> {
    let share = goodput_bps / (available_bps * MSS / f64::from(MTU));
    if (0.97..1.03).contains(&share) { Ok(()) } else { Err(format!("{share:.3} of what the link carries")) }
}

fn tcp_at_the_rate_of_a_hop() {
    undisturbed(|| {
        let (goodput_bps, report) = tcp(hop(Some(8e6), MS * 5), 2_000_000);
        let link = &report.forward.link;
        assert_eq!((link.losses, link.queue_drops), (0, 0));
        check_goodput(goodput_bps, 8e6)
    });
}

fn tcp_over_persistent_arq() {
    let p_e = 0.1;
    undisturbed(|| {
        let (goodput_bps, report) = tcp(selective_repeat(iid(p_e), None), 2_000_000);
        let arq = report.forward.arq.as_ref().expect("a link of frames");
        assert_eq!((arq.frames_lost, report.forward.link.losses), (0, 0));
        assert!((arq.frame_error_rate() - p_e).abs() < 0.01, "{}", arq.frame_error_rate());
        check_goodput(goodput_bps, 8e6 * (1.0 - p_e))
    });
}

fn tcp_repairs_what_arq_gives_up() {
    let (_, report) = tcp(selective_repeat(iid(0.1), Some(2)), 700_000);
    let arq = report.forward.arq.as_ref().expect("a link of frames");
    let link = &report.forward.link;
    // One frame in a thousand is lost three times, one packet in 80: of some 500 some 6.
    assert!((1..30).contains(&link.losses), "{link:?}");
    assert!(arq.frames_lost >= link.losses, "{arq:?}");
    assert!(link.transmissions >= 484 + link.losses, "each lost packet was sent again: {link:?}");
}

/// 10 packets in 15 ms, then again.
fn trace(queue: Queue, loss: Box<dyn LossProcess>) -> TraceLinkConfig {
    let schedule = Schedule::Opportunities("1\n1\n3\n4\n4\n4\n9\n10\n12\n15\n".parse().unwrap());
    TraceLinkConfig { schedule, delay: MS * 5, queue, loss }
}

fn tcp_through_a_trace() {
    let queue = || Queue::DropTail(Some(QueueLimit::Packets(2000)));
    undisturbed(|| {
        let (goodput_bps, _) = tcp(trace(queue(), Box::new(Lossless)).build().unwrap(), 2_000_000);
        check_goodput(goodput_bps, 10.0 * 1500.0 * 8.0 / 0.015)
    });
}

/// However late this machine was: each packet had the fate, at the time, that it has in a simulation in which
/// the same packets come at the same times.
fn a_simulation_does_the_same() {
    let codel =
        || Queue::CoDel(CoDelConfig { target: MS, ..CoDelConfig::default() }, QueueLimit::Packets(60));
    let hop = || LinkConfig { rate_bps: Some(8e6), delay: MS * 5, queue: codel(), loss: iid(0.01) };
    same("arq", || selective_repeat(iid(0.1), Some(2)), || Box::new(selective_repeat(iid(0.1), Some(2))));
    same("codel", || hop().build().unwrap(), || Box::new(hop().build().unwrap()));
    same(
        "trace",
        || trace(codel(), iid(0.01)).build().unwrap(),
        || Box::new(trace(codel(), iid(0.01)).build().unwrap()),
    );
}

fn same(what: &str, live: impl Fn() -> LiveLink, simulated: impl Fn() -> Box<dyn Link>) {
    let (link, record) = recorded(live());
    tcp(Box::new(link), 400_000);
    let record = record.lock().unwrap();
    let replayed = replay(simulated(), &record);
    let difference = record.iter().zip(&replayed).position(|(live, simulated)| live != simulated);
    let at = |i: usize| format!("{what}, entry {i}: {:?} live, {:?} simulated", record[i], replayed[i]);
    assert!(difference.is_none(), "{}", at(difference.unwrap_or_default()));
    assert_eq!(record.len(), replayed.len(), "{what}");
    let is_loss = |entry: &&Entry| {
        matches!(entry, Entry::Push(_, _, Push::Lost) | Entry::Departure(_, Departure::Lost(_)))
    };
    assert!(record.len() > 500 && record.iter().any(|entry| is_loss(&entry)), "{what} has losses to compare");
}

fn every_packet_is_accounted_for() {
    let config = PumpConfig { capacity: 10, ..PumpConfig::default() };
    let queue = Queue::DropTail(Some(QueueLimit::Packets(7)));
    let forward =
        LinkConfig { rate_bps: Some(1e5), delay: MS * 9000, queue, loss: iid(0.2) }.build().unwrap();
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
    let queue = Queue::CoDel(codel, QueueLimit::Packets(1000));
    let forward =
        LinkConfig { rate_bps: Some(4e6), delay: MS, queue, loss: Box::new(Lossless) }.build().unwrap();
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

/// The way back is passed by the thread of both ways, by one of its own while much passes, and by the first again;
/// what passes meanwhile is neither lost nor doubled nor changed.
fn one_thread_passes_little_and_two_pass_much() {
    let (link, threads) = attended(hop(None, SimTime::ZERO));
    let data: Vec<u8> = (0..30_000_000_u32).map(|byte| (byte.wrapping_mul(byte) >> 7) as u8).collect();
    let passed_by = |name: &str| threads.lock().unwrap().drain(..).any(|thread| thread == name);
    let (forward, config) = (hop(None, SimTime::ZERO), PumpConfig::default());
    emulate(forward, Box::new(link), config, |[near, far]| {
        for _ in 0..2 {
            let (received, _) = transfer(near, far, &data);
            assert!(received == data, "what was sent");
            assert!(passed_by("reverse"), "many acknowledgements");
            let mut pings = (0..3_000).map(|_| {
                sleep(Duration::from_millis(10));
                ping(near, far.address(), 1)
            });
            assert!(pings.any(|_| passed_by("links")), "few answers");
        }
    });
}

/// A link that panics once both threads pass packets ends the emulation, on whichever of them it does, and whoever stops
/// it learns of it; no thread and no device is left by then.
fn a_link_that_fails_ends_the_emulation() {
    for thread in ["links", "reverse"] {
        let before = in_use();
        let are_two = Arc::new(AtomicBool::new(false));
        let link = || {
            let are_two = Arc::clone(&are_two);
            let watch = move |entry| {
                let name = current().name().unwrap_or_default().to_owned();
                are_two.fetch_or(name == "reverse", Relaxed);
                let is_time = matches!(entry, Entry::Push(..)) && name == thread && are_two.load(Relaxed);
                assert!(!is_time, "on purpose, in the thread of {thread}");
            };
            Box::new(watched(hop(None, SimTime::ZERO), watch))
        };
        let hosts = Host::pair(MTU).unwrap();
        let emulation = Emulation::start(&hosts, link(), link(), PumpConfig::default()).unwrap();
        let sockets =
            hosts.each_ref().map(|host| host.run(|| UdpSocket::bind((host.address(), 0))).unwrap().unwrap());
        let begin = Instant::now();
        while emulation.is_running() {
            for (socket, to) in sockets.iter().zip([&hosts[1], &hosts[0]]) {
                // Where nobody reads any more the device is full.
                socket.send_to(&[0; 1000], (to.address(), 9)).ok();
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{thread} goes on");
        }
        drop((sockets, hosts));
        let panic = catch_unwind(AssertUnwindSafe(|| emulation.stop())).unwrap_err();
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.ends_with(thread), "{message}");
        assert_eq!(in_use(), before, "{thread}");
    }
}

/// Network namespaces and TUN devices that this process has open, its threads, and devices of its own namespace.
fn in_use() -> (BTreeSet<String>, usize, usize) {
    let read = |link: Result<fs::DirEntry, _>| fs::read_link(link.unwrap().path()).ok();
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(read);
    let entered = fs::read_dir("/proc/self/task").unwrap();
    let entered = entered.filter_map(|task| fs::read_link(task.unwrap().path().join("ns/net")).ok());
    let names = open.chain(entered).map(|name| name.to_string_lossy().into_owned());
    let names = names.filter(|name| name.starts_with("net:") || name.contains("tun")).collect();
    let threads = fs::read_dir("/proc/self/task").unwrap().count();
    (names, threads, fs::read_to_string("/proc/net/dev").unwrap().lines().count())
}

fn nothing_is_left() {
    let before = in_use();
    let (during, _) = emulate(hop(None, MS), hop(None, MS), PumpConfig::default(), |_| in_use());
    assert!(during.0.len() >= before.0.len() + 3, "two namespaces and the device file: {during:?}");
    assert_eq!(in_use(), before);
    // The same when what goes on between them ends in a panic.
    let fail = |_: &[Host; 2]| resume_unwind(Box::new("on purpose"));
    let failing = || emulate(hop(None, MS), hop(None, MS), PumpConfig::default(), fail);
    assert!(catch_unwind(failing).is_err());
    assert_eq!(in_use(), before);
}

/// A sender has as much on the way as the receiver is let tell it that it may, and no more: its kernel says so, however
/// busy the machine. Segments, large or not, that are none of the window wait for the next.
fn a_receive_window_binds() {
    const SEGMENTS: u32 = 30;
    let data = random_bytes(1_000_000);
    let receive_window = Some(SEGMENTS * MSS as u32);
    let config = PumpConfig { receive_window, ..PumpConfig::default() };
    for large_segments in [false, true] {
        let hosts = Host::pair_with(HostOptions { large_segments, ..HostOptions::default() }).unwrap();
        let [there, back] = [hop(None, MS * 20), hop(None, MS * 20)];
        let emulation = Emulation::start(&hosts, there, back, config).unwrap();
        let mut watch = SocketWatch::new(&hosts[0]).unwrap();
        let is_over = AtomicBool::new(false);
        let (received, on_the_way) = scope(|scope| {
            let looking = scope.spawn(|| {
                let mut most = 0;
                while !is_over.load(Relaxed) {
                    let sockets = watch.sample().unwrap();
                    most = sockets.iter().map(|socket| socket.unacked).fold(most, u32::max);
                    sleep(Duration::from_millis(2));
                }
                most
            });
            let (received, _) = transfer(&hosts[0], &hosts[1], &data);
            is_over.store(true, Relaxed);
            (received, looking.join().unwrap())
        });
        assert!(received == data, "what was sent");
        // What the scale rounds up to has room for one small segment at a time (Nagle's rule, as Minshall has it).
        assert!((SEGMENTS..=SEGMENTS + 1).contains(&on_the_way), "{on_the_way}, large: {large_segments}");
        let report = emulation.stop().unwrap();
        check(&report.forward);
        check(&report.reverse);
    }
}

/// TCP that leaves it to the emulator to cut its segments, over a link that loses 2 % of its packets and has a rate.
fn large_segments_are_packets_to_a_link() {
    let data: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte.wrapping_mul(byte) >> 7) as u8).collect();
    let hosts = Host::pair_with(HostOptions { large_segments: true, ..HostOptions::default() }).unwrap();
    for rate_bps in [Some(50e6), Some(1e13)] {
        let config = LinkConfig { rate_bps, delay: MS, queue: Queue::DropTail(None), loss: iid(0.02) };
        let (link, record) = recorded(config.build().unwrap());
        let back = hop(None, MS);
        let emulation = Emulation::start(&hosts, Box::new(link), back, PumpConfig::default()).unwrap();
        let (received, _) = transfer(&hosts[0], &hosts[1], &data);
        assert!(received == data, "what was sent");
        let report = emulation.stop().unwrap();
        check(&report.forward);
        check(&report.reverse);
        let bytes: Vec<u32> = record
            .lock()
            .unwrap()
            .iter()
            .filter_map(|entry| match entry {
                Entry::Push(_, parcel, _) => Some(parcel.bytes()),
                Entry::Departure(..) => None,
            })
            .collect();
        assert_eq!(bytes.iter().max(), Some(&MTU), "no packet is larger than the MTU");
        assert!(report.forward.lost > 10 && report.forward.packets as f64 >= 3e6 / MSS, "{report:?}");
    }
}
