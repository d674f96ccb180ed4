//! Packets from one TUN device through a link into another, in real time.

use crate::clock::Clock;
use crate::error::{LiveError, Trying};
use crate::header;
use crate::store::Store;
use crate::tun::Tun;
use crossfade_core::{DelayHistogram, SimTime};
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{Departure, Link, LinkStatistics, Parcel, Push};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io::PipeReader;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// So many packets are read before the pump looks whether it shall stop.
const BATCH: usize = 32;

/// A link that real packets can go through.
pub type LiveLink = Box<dyn Link + Send>;

/// How a pump works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PumpConfig {
    /// How many packets may be inside the link; what comes when there are so many is turned away. Their bytes
    /// are kept in memory: at most this many times the MTU.
    pub capacity: usize,
    /// For how long before each event of the link the pump stays awake. It then releases packets with an
    /// error of a few microseconds, at the price of a processor that it keeps busy for so long an event.
    pub spin: SimTime,
}

impl Default for PumpConfig {
    /// 20,000 packets, no staying awake.
    fn default() -> Self {
        Self { capacity: 20_000, spin: SimTime::ZERO }
    }
}

/// What one direction of an emulation did.
#[derive(Clone, Debug)]
pub struct PumpReport {
    /// How long it ran.
    pub duration: SimTime,
    /// Processor time that it took.
    pub cpu: SimTime,
    /// Packets read from the device.
    pub packets: u64,
    /// Of these, turned away because [`PumpConfig::capacity`] were inside the link.
    pub refused: u64,
    /// Of these, still inside the link at the end.
    pub left: u64,
    /// Packets that came out of the link and that the host at the far end would not take.
    pub undeliverable: u64,
    /// Packets that the kernel dropped because the pump did not read them in time: the link never saw them.
    pub ring_drops: u64,
    /// What the link counted.
    pub link: LinkStatistics,
    /// What it counted of its frames, where it has frames.
    pub arq: Option<ArqStatistics>,
    /// How much later than the link said packets were handed to the host at the far end.
    pub lateness: DelayHistogram,
}

/// Reads packets from one device, pushes them into a link, and writes what comes out to another device.
pub(crate) struct Pump {
    config: PumpConfig,
    clock: Clock,
    from: Arc<Tun>,
    to: Arc<Tun>,
    link: LiveLink,
    store: Store,
    /// A packet as it is read.
    buffer: Vec<u8>,
    /// Has an end of file when it is time to stop.
    stop: PipeReader,
    packets: u64,
    refused: u64,
    undeliverable: u64,
    lateness: DelayHistogram,
}

impl Pump {
    pub(crate) fn new(
        config: PumpConfig,
        clock: Clock,
        [from, to]: [Arc<Tun>; 2],
        mtu: u32,
        link: LiveLink,
        stop: PipeReader,
    ) -> Self {
        Self {
            config,
            clock,
            from,
            to,
            link,
            store: Store::new(config.capacity),
            buffer: vec![0; mtu as usize],
            stop,
            packets: 0,
            refused: 0,
            undeliverable: 0,
            lateness: DelayHistogram::default(),
        }
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self) -> Result<PumpReport, LiveError> {
        // Timers of ordinary threads may be late by 50 us so that they can be bundled.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).trying_to("set the timer slack")?;
        while self.wait()? {
            self.read_batch()?;
            self.release(self.clock.now());
        }
        let now = self.clock.now();
        let report = self.link.report(now);
        Ok(PumpReport {
            duration: now,
            cpu: thread_cpu_time(),
            packets: self.packets,
            refused: self.refused,
            left: self.store.len() as u64,
            undeliverable: self.undeliverable,
            ring_drops: 0,
            link: report.statistics,
            arq: report.frames,
            lateness: self.lateness,
        })
    }

    /// Waits for a packet or an event of the link. Returns whether to go on.
    fn wait(&self) -> Result<bool, LiveError> {
        let awake = self.clock.now() + self.config.spin;
        let timeout = self.link.next_event().map(|at| timespec(at.saturating_sub(awake)));
        let mut ready = [PollFd::new(&self.from, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
        match poll(&mut ready, timeout.as_ref()) {
            Ok(_) => Ok(ready[1].revents().is_empty()),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error).trying_to("wait for packets"),
        }
    }

    fn read_batch(&mut self) -> Result<(), LiveError> {
        for _ in 0..BATCH {
            let Self { from, buffer, store, .. } = self;
            let Some(packet) = from.read(buffer)? else { break };
            self.packets += 1;
            let Some(id) = store.insert(packet) else {
                self.refused += 1;
                continue;
            };
            let parcel = header::parcel(id, packet);
            let now = self.clock.now();
            // What was to happen before happens before, as in a simulation.
            self.release(now);
            if self.link.push(now, parcel) != Push::Accepted {
                self.store.remove(id, |_| ());
            }
        }
        Ok(())
    }

    /// Takes out of the link what has left it by `now`.
    ///
    /// The link goes from event to event at the times of its own, however late the pump is: it does what it
    /// would do in a simulation that pushes the same packets at the same times.
    fn release(&mut self, now: SimTime) {
        while let Some(at) = self.link.next_event().filter(|&at| at <= now) {
            while let Some(departure) = self.link.advance(at) {
                match departure {
                    Departure::Arrived(parcel) => self.deliver(at, parcel),
                    Departure::Lost(parcel) | Departure::QueueDrop(parcel) => {
                        self.store.remove(parcel.id(), |_| ());
                    }
                }
            }
        }
    }

    /// Hands a packet to the far end that left the link at `at`.
    fn deliver(&mut self, at: SimTime, parcel: Parcel) {
        let written = self.store.remove(parcel.id(), |packet| {
            if parcel.is_ce() {
                header::mark_ce(packet);
            }
            self.to.write(packet)
        });
        self.undeliverable += u64::from(written.is_err());
        self.lateness.record(self.clock.now().saturating_sub(at));
    }
}

/// Processor time of the calling thread.
fn thread_cpu_time() -> SimTime {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    SimTime::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn timespec(span: SimTime) -> Timespec {
    Duration::from_nanos(span.as_nanos()).try_into().expect("584 years fit")
}
