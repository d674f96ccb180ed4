//! Threads, devices and namespaces of an emulation: their number, and their removal at its end.

use crate::Case;
use crate::ping::ping;
use crate::replay::{Entry, attended, watched};
use crate::testbed::{MS, MTU, emulate, hop};
use crate::transfer::transfer;
use crossfade_core::SimTime;
use crossfade_live::{Emulation, Host, PumpConfig};
use std::collections::BTreeSet;
use std::fs;
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{current, sleep};
use std::time::{Duration, Instant};

pub(crate) const ALL: &[Case] = &[
    ("one_thread_passes_little_and_two_pass_much", one_thread_passes_little_and_two_pass_much),
    ("a_link_that_fails_ends_the_emulation", a_link_that_fails_ends_the_emulation),
    ("nothing_is_left", nothing_is_left),
];

/// Under low load one thread passes packets of both directions, under high load a second thread passes the reverse
/// direction; all data arrive unchanged and once.
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

/// A link that panics while both threads pass packets ends the emulation, in whichever thread it panics; `stop` passes
/// the panic on, and no thread and no device remains.
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

/// Network namespaces and TUN devices that this process has open, number of its threads, and number of network devices
/// in its own namespace.
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
