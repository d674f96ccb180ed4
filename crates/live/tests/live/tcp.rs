//! The kernel's TCP through links: its goodput, the losses that it repairs, and equal packets in simulated time.

use crate::Case;
use crate::replay::{Entry, recorded, replay};
use crate::testbed::{
    MS, MTU, check, draws, emulate, hop, iid, random_bytes, selective_repeat, trace, undisturbed,
};
use crate::transfer::{MSS, transfer};
use crossfade_channel::Lossless;
use crossfade_link::{CoDelConfig, Departure, Link, LinkConfig, Push, QueueConfig, QueueLimit};
use crossfade_live::{Emulation, EmulationReport, Host, HostOptions, LiveLink, PumpConfig, SocketWatch};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::Duration;

pub(crate) const ALL: &[Case] = &[
    ("tcp_at_the_rate_of_a_hop", tcp_at_the_rate_of_a_hop),
    ("tcp_over_persistent_arq", tcp_over_persistent_arq),
    ("tcp_repairs_what_arq_gives_up", tcp_repairs_what_arq_gives_up),
    ("tcp_through_a_trace", tcp_through_a_trace),
    ("a_simulation_does_the_same", a_simulation_does_the_same),
    ("a_receive_window_binds", a_receive_window_binds),
    ("large_segments_are_packets_to_a_link", large_segments_are_packets_to_a_link),
];

/// Goodput in bit/s, and report, of a transfer through `forward` and a reverse link of 5 ms.
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

/// Checks the share of the link that TCP uses while it keeps the link busy.
///
/// Once a quarter of the data has arrived, the queue holds more than 150 ms of packets, so a lateness below that
/// affects only the two measured instants. The share of lost frames is that of a sample: within 0.5 %.
pub(crate) fn check_goodput(goodput_bps: f64, available_bps: f64) -> Result<(), String> {
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

fn tcp_through_a_trace() {
    let queue = || QueueConfig::DropTail(Some(QueueLimit::Packets(2000)));
    undisturbed(|| {
        let (goodput_bps, _) = tcp(trace(queue(), Box::new(Lossless)).build().unwrap(), 2_000_000);
        check_goodput(goodput_bps, 10.0 * 1500.0 * 8.0 / 0.015)
    });
}

/// Each packet has the fate and the departure time that it has in a simulation in which the packets enter at equal
/// times, however late the machine is.
fn a_simulation_does_the_same() {
    let codel =
        || QueueConfig::CoDel(CoDelConfig { target: MS, ..CoDelConfig::default() }, QueueLimit::Packets(60));
    // Some eleven losses are expected of each link: none at all once in 60,000 streams.
    let rate_bps = Some(8e6);
    let hop = || LinkConfig { rate_bps, delay: MS * 5, queue: codel(), draws: draws(), loss: iid(0.04) };
    let arq = || selective_repeat(iid(0.15), Some(2));
    same("arq", arq, || Box::new(arq()));
    same("codel", || hop().build().unwrap(), || Box::new(hop().build().unwrap()));
    same(
        "trace",
        || trace(codel(), iid(0.04)).build().unwrap(),
        || Box::new(trace(codel(), iid(0.04)).build().unwrap()),
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

/// A sender has at most the limited receive window in flight, according to its kernel, however busy the machine.
/// Segments, large or not, that do not fit wait for the next window.
fn a_receive_window_binds() {
    const SEGMENTS: u32 = 30;
    let data = random_bytes(1_000_000);
    let receive_window = Some(SEGMENTS * MSS as u32);
    let config = PumpConfig { receive_window, ..PumpConfig::default() };
    for large_segments in [false, true] {
        let hosts = Host::pair_with(HostOptions { large_segments, ..HostOptions::default() }).unwrap();
        let [there, back] = [hop(None, MS * 20), hop(None, MS * 20)];
        let emulation = Emulation::start(&hosts, there, back, config.clone()).unwrap();
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

/// TCP leaves the cutting of large segments to the emulator, whose link, with a rate and a loss rate of 2 %, carries
/// packets of at most the MTU.
fn large_segments_are_packets_to_a_link() {
    let data: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte.wrapping_mul(byte) >> 7) as u8).collect();
    let hosts = Host::pair_with(HostOptions { large_segments: true, ..HostOptions::default() }).unwrap();
    for rate_bps in [Some(50e6), Some(1e13)] {
        let queue = QueueConfig::DropTail(None);
        let config = LinkConfig { rate_bps, delay: MS, queue, draws: draws(), loss: iid(0.02) };
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
