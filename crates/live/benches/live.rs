//! Benchmark of live emulation: added delay, lateness, throughput.
//!
//! `cargo bench -p crossfade-live --bench live [-- CASE]`; without a case all of them. Run it on an otherwise idle
//! machine. Where the system allows no network namespaces it prints a message instead.

#[cfg(target_os = "linux")]
#[path = "../tests/live/ping.rs"]
mod ping;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("live: Linux only");
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::ping::ping;
    use crossfade_channel::{Iid, Lossless};
    use crossfade_core::{DelayHistogram, RunSeed, SimTime};
    use crossfade_link::arq::{
        ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, LossyFrames, Packing, Release, ReverseConfig,
        SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
    };
    use crossfade_link::{LinkConfig, QueueConfig, QueueLimit};
    use crossfade_live::{Emulation, EmulationReport, Host, LiveLink, PumpConfig, gain_privileges};
    use rustix::net::sockopt::set_tcp_congestion;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::thread::{scope, sleep};
    use std::time::{Duration, Instant};

    const MS: SimTime = SimTime::from_millis(1);
    const SPINS: [SimTime; 2] = [SimTime::ZERO, SimTime::from_micros(80)];

    pub(crate) fn main() {
        if let Err(reason) = gain_privileges().and_then(|()| Host::pair(1500)) {
            println!("live: skipped: {reason}");
            return;
        }
        let cases: [(&str, fn()); 5] = [
            ("added-delay", added_delay),
            ("lateness-1500-hz", lateness_of_a_stream),
            ("lateness-100-mbit", lateness_under_tcp),
            ("arq-10-mbit", arq),
            ("throughput", throughput),
        ];
        let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
        for (name, case) in cases {
            if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
                case();
            }
        }
    }

    fn hop(rate_bps: Option<f64>, delay: SimTime) -> LiveLink {
        let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(1000)));
        let draws = RunSeed { seed: 1, run: 0 }.stream("queue.dl");
        LinkConfig { rate_bps, delay, queue, draws, loss: Box::new(Lossless) }.build().expect("a good queue")
    }

    fn emulate<T>(
        links: [LiveLink; 2],
        spin: SimTime,
        experiment: impl FnOnce(&[Host; 2]) -> T,
    ) -> (T, EmulationReport) {
        let [forward, reverse] = links;
        let hosts = Host::pair(1500).expect("this worked before");
        let config = PumpConfig { spin, ..PumpConfig::default() };
        let emulation = Emulation::start(&hosts, forward, reverse, config).expect("threads");
        let result = experiment(&hosts);
        (result, emulation.stop().expect("the devices are there"))
    }

    /// Median and tail quantiles of the lateness, in microseconds, as text.
    fn micros(lateness: &DelayHistogram) -> String {
        let quantile = |p| lateness.quantile(p).map_or(f64::NAN, |at| at.as_secs_f64() * 1e6);
        let [median, p99, p999] = [0.5, 0.99, 0.999].map(quantile);
        format!("p50 {median:.1}, p99 {p99:.0}, p99.9 {p999:.0} us")
    }

    /// Prints the result of a case, and the emulator's report about its own operation in one direction.
    fn print(case: &str, spin: SimTime, result: &str, report: &EmulationReport) {
        let EmulationReport { forward, reverse } = report;
        let share =
            |pump: &crossfade_live::PumpReport| 100.0 * pump.cpu.as_secs_f64() / pump.duration.as_secs_f64();
        println!(
            "{case:18} spin {:2.0} us: {result}late {}; {:.0} % + {:.0} % of a core; {} dropped unseen",
            spin.as_secs_f64() * 1e6,
            micros(&forward.lateness),
            share(forward),
            share(reverse),
            forward.ring_drops + reverse.ring_drops,
        );
    }

    /// Measures the RTT of pings through links without rate and delay: only the delay of emulator and kernel remains.
    fn added_delay() {
        for spin in SPINS {
            let (mut rtt, report) =
                emulate([hop(None, SimTime::ZERO), hop(None, SimTime::ZERO)], spin, |hosts| {
                    ping(&hosts[0], hosts[1].address(), 5000)
                });
            rtt.sort_unstable();
            let [p50, p99] = [50, 99].map(|p| rtt[rtt.len() * p / 100].as_secs_f64() * 1e6);
            print("added-delay", spin, &format!("round trip p50 {p50:.0}, p99 {p99:.0} us; "), &report);
        }
    }

    /// Measures the lateness of packets sent every 1/1500 s through a delay.
    fn lateness_of_a_stream() {
        for spin in SPINS {
            let ((), report) = emulate([hop(None, MS * 10), hop(None, MS * 10)], spin, |[near, far]| {
                let socket = near.run(|| UdpSocket::bind((near.address(), 0))).unwrap().unwrap();
                let begin = Instant::now();
                for slot in 0..7500 {
                    socket.send_to(&[0; 1000], (far.address(), 9)).unwrap();
                    let next = Duration::from_secs(1) * slot / 1500;
                    sleep(next.saturating_sub(begin.elapsed()));
                }
            });
            print("lateness-1500-hz", spin, "", &report);
        }
    }

    fn lateness_under_tcp() {
        for spin in SPINS {
            let links = [hop(Some(100e6), MS * 10), hop(None, MS * 10)];
            let (goodput, report) = emulate(links, spin, |[near, far]| flood(near, far, 5.0));
            print("lateness-100-mbit", spin, &format!("{:.1} Mbit/s; ", goodput / 1e6), &report);
        }
    }

    /// Measures a selective-repeat link with frames of 125 bytes at 10 Mbit/s: 10,000 frames per second, 10 % of them
    /// lost.
    fn arq() {
        for spin in SPINS {
            let protocol = ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window: 2048,
                timeout: MS * 21,
                max_retransmissions: None,
                release: Release::InOrder,
            });
            let seed = RunSeed { seed: 1, run: 0 };
            let loss = Box::new(Iid::new(0.1, seed.stream("channel.dl")).expect("a probability"));
            let config = ArqLinkConfig {
                rate_bps: 10e6,
                frame_size: 125,
                clock: FrameClock::Slotted,
                delay: MS * 10,
                segmentation: SegmentationConfig {
                    payload: 125,
                    packing: Packing::Padded,
                    framing: 0,
                    header_compression: None,
                },
                header: FrameHeader::Lost,
                soft_buffer: SoftBufferConfig::default(),
                reverse: ReverseConfig::ideal(MS * 10),
                protocol,
            };
            let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(1000)));
            let link = config.build(
                queue,
                seed.stream("queue.dl"),
                LossyFrames { loss },
                seed.stream("feedback.dl"),
            );
            let links = [link.expect("good parameters"), hop(None, MS * 10)];
            let (goodput, report) = emulate(links, spin, |[near, far]| flood(near, far, 5.0));
            print("arq-10-mbit", spin, &format!("{:.2} Mbit/s; ", goodput / 1e6), &report);
        }
    }

    /// Measures the goodput of one TCP flow through links without delay.
    fn throughput() {
        for _ in 0..3 {
            let links = [hop(None, SimTime::ZERO), hop(None, SimTime::ZERO)];
            let (goodput, report) = emulate(links, SimTime::ZERO, |[near, far]| flood(near, far, 3.0));
            let packets = report.forward.packets as f64 / report.forward.duration.as_secs_f64();
            let result = format!("{:.2} Gbit/s, {:.0} kpkt/s; ", goodput / 1e9, packets / 1e3);
            print("throughput", SimTime::ZERO, &result, &report);
        }
    }

    /// Goodput in bit/s of a TCP flow that sends for `seconds` seconds.
    fn flood(from: &Host, to: &Host, seconds: f64) -> f64 {
        let listener = to.run(|| TcpListener::bind((to.address(), 0))).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        let mut sender = from.run(|| TcpStream::connect(address)).unwrap().unwrap();
        set_tcp_congestion(&sender, "reno").unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let begin = Instant::now();
        scope(|scope| {
            let received = scope.spawn(move || {
                let mut chunk = vec![0; 1 << 18];
                let mut total = 0;
                loop {
                    match receiver.read(&mut chunk).unwrap() {
                        0 => return total as f64 * 8.0 / begin.elapsed().as_secs_f64(),
                        bytes => total += bytes,
                    }
                }
            });
            let chunk = vec![7; 1 << 18];
            while begin.elapsed().as_secs_f64() < seconds {
                sender.write_all(&chunk).unwrap();
            }
            drop(sender);
            received.join().unwrap()
        })
    }
}
