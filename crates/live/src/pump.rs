//! Packets from TUN devices through a medium into others, in real time.

use crate::alarm::Alarm;
use crate::awake::Awake;
use crate::clock::Clock;
use crate::error::{LiveError, Trying};
use crate::header;
use crate::offload::Segments;
use crate::priority::prefer_this_thread;
use crate::recording::Recorder;
use crate::report::PumpReport;
use crate::store::{Place, Store};
use crate::way::{Run, Way};
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, Link, Parcel, Push};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io::PipeReader;
use std::num::NonZeroU64;
use std::time::Duration;

/// So many packets are read before the pump looks whether it shall stop.
const BATCH: usize = 32;

/// Who passes packets of such a size, or segments that are cut, interrupts nobody who makes them: he would find them
/// one at a time, and a quarter of the throughput is lost.
const LARGE_BYTES: usize = 16_384;

/// A link that real packets can go through.
pub type LiveLink = Box<dyn Link + Send>;

/// A medium that real packets of both directions can go through: port 0 is the first host, port 1 the second.
pub type LiveFabric = Box<dyn Fabric + Send>;

/// How a pump works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PumpConfig {
    /// How many packets may be inside the link; what comes when there are so many is turned away. Their bytes
    /// are kept in memory: at most this many times the MTU.
    pub capacity: usize,
    /// For how long before each event of the link the pump may stay awake; where events are rare, a twentieth of
    /// the time between them, up to 0.3 ms. It does so for as long as it finds that it wakes up too late, and then
    /// releases packets with an error of a few microseconds. At zero it never does.
    pub spin: SimTime,
    /// For so long after a packet idle processors are kept from sleeping, where that is allowed: never at zero, and
    /// from the beginning to the end at [`SimTime::MAX`].
    pub awake: SimTime,
    /// A packet that is handed over later than this is counted.
    pub late: SimTime,
    /// Links make a report at this time, before what comes after it; none at zero.
    pub warmup: SimTime,
    /// Losses concern what a simulation sends: on the way from the first host the TCP segments with data, on
    /// the way back all but handshakes; see [`Parcel::spared`].
    pub data_only: bool,
}

impl Default for PumpConfig {
    /// 20,000 packets, awake for at most 50 us, processors for 1 s, late after 1 ms.
    fn default() -> Self {
        Self {
            capacity: 20_000,
            spin: SimTime::from_micros(50),
            awake: SimTime::from_millis(1_000),
            late: SimTime::from_millis(1),
            warmup: SimTime::ZERO,
            data_only: false,
        }
    }
}

/// Reads packets from devices, pushes them into a medium, and writes what comes out to other devices.
pub(crate) struct Pump {
    config: PumpConfig,
    clock: Clock,
    alarm: Alarm,
    awake: Awake,
    /// When it last looked, if it has been awake since.
    looked: Option<SimTime>,
    medium: LiveFabric,
    /// One or two.
    ways: Vec<Way>,
    store: Store,
    /// When the packets in the store came, by their ids.
    entered: Vec<SimTime>,
    /// A packet as it is read.
    buffer: Vec<u8>,
    /// What leaves together.
    run: Run,
    /// Has an end of file when it is time to stop.
    stop: PipeReader,
    recorder: Recorder,
    is_warm: bool,
}

impl Pump {
    pub(crate) fn new(
        config: PumpConfig,
        clock: Clock,
        medium: LiveFabric,
        ways: Vec<Way>,
        most_bytes: usize,
        stop: PipeReader,
        recorder: Recorder,
    ) -> Self {
        Self {
            config,
            clock,
            alarm: Alarm::new(config.spin),
            awake: Awake::new(config.awake),
            looked: None,
            medium,
            ways,
            store: Store::new(config.capacity),
            entered: Vec::new(),
            buffer: vec![0; most_bytes],
            run: Run::default(),
            stop,
            recorder,
            is_warm: config.warmup == SimTime::ZERO,
        }
    }

    /// Works until it is told to stop. Gives a report for each way.
    pub(crate) fn run(mut self) -> Result<Vec<PumpReport>, LiveError> {
        // Timers of ordinary threads may be late by 50 us so that they can be bundled.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).trying_to("set the timer slack")?;
        if self.buffer.len() < LARGE_BYTES {
            prefer_this_thread();
        }
        while self.wait()? {
            for way in 0..self.ways.len() {
                self.read_batch(way)?;
            }
            let now = self.clock.now();
            self.release(now);
            self.awake.look(now);
            self.medium.prepare();
            self.ways.iter().for_each(Way::show);
        }
        let now = self.clock.now();
        self.release(now);
        self.recorder.end(now)?;
        let report = self.medium.report(now);
        let (cpu, left) = (thread_cpu_time(), self.store.len() as u64);
        let of_way = |way: Way| way.report([now, cpu], left, &report);
        Ok(self.ways.into_iter().map(of_way).collect())
    }

    /// Waits for a packet or an event of the medium. Returns whether to go on.
    fn wait(&mut self) -> Result<bool, LiveError> {
        let now = self.clock.now();
        if let Some(before) = self.looked.take() {
            self.alarm.looked(now - before);
        }
        let sleep = self.next_event().map(|at| self.alarm.sleep(at.saturating_sub(now)));
        let timeout = sleep.map(timespec);
        let mut ready = [
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(&self.ways[0].from, PollFlags::IN),
            PollFd::new(&self.ways[self.ways.len() - 1].from, PollFlags::IN),
        ];
        match poll(&mut ready[..=self.ways.len()], timeout.as_ref()) {
            Ok(0) => {
                match sleep {
                    Some(SimTime::ZERO) => self.looked = Some(now),
                    Some(sleep) => self.alarm.rang(sleep, self.clock.now().saturating_sub(now + sleep)),
                    None => {}
                }
                Ok(true)
            }
            Ok(_) => Ok(ready[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error).trying_to("wait for packets"),
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        let warmup = (!self.is_warm).then_some(self.config.warmup);
        self.medium.next_event().into_iter().chain(warmup).chain(self.awake.until()).min()
    }

    fn read_batch(&mut self, way: usize) -> Result<(), LiveError> {
        for _ in 0..BATCH {
            let Some((virtio, length)) = self.ways[way].from.read(&mut self.buffer)? else { break };
            let segments = Segments::of(virtio, &self.buffer[..length]);
            let mut parcel = header::parcel(0, &self.buffer[..length]);
            if self.ways[way].spared.contains(&header::kind(&self.buffer[..length])) {
                parcel = parcel.spared();
            }
            let now = self.clock.now();
            self.awake.packet(now);
            let read = self.store.open(&mut self.buffer, length, segments);
            for segment in 0..segments.count() {
                let bytes = segments.bytes(segment, length);
                self.enter(now, way, Place { read, segment }, parcel.sized(bytes))?;
            }
            self.store.close(read);
        }
        Ok(())
    }

    /// Pushes a packet of what was read into the medium.
    fn enter(&mut self, now: SimTime, way: usize, place: Place, parcel: Parcel) -> Result<(), LiveError> {
        self.ways[way].passed.packets += 1;
        let Some(id) = self.store.insert(place) else {
            self.ways[way].refused += 1;
            self.ways[way].passed.dropped += 1;
            return Ok(());
        };
        let parcel = parcel.named(id);
        self.entered.resize(self.entered.len().max(id as usize + 1), SimTime::ZERO);
        self.entered[id as usize] = now;
        // What was to happen before happens before, as in a simulation.
        self.release(now);
        let [enters, leaves] = self.ways[way].ports;
        let fate = self.medium.push(now, enters, leaves, parcel);
        let wire = if self.recorder.captures() {
            let (packet, segments) = self.store.read(place.read);
            segments.on_wire(packet, place.segment)
        } else {
            Vec::new()
        };
        self.recorder.arrival(now, enters, parcel, fate, &wire)?;
        match fate {
            Push::Accepted => return Ok(()),
            Push::Lost => self.ways[way].passed.lost += 1,
            Push::QueueDrop => self.ways[way].passed.dropped += 1,
        }
        self.store.remove(id);
        Ok(())
    }

    /// Takes out of the medium what has left it by `now`.
    ///
    /// It goes from event to event at the times of its own, however late the pump is: it does what it would
    /// do in a simulation that pushes the same packets at the same times.
    fn release(&mut self, now: SimTime) {
        if !self.is_warm && self.config.warmup <= now {
            self.release_events(self.config.warmup);
            self.medium.report(self.config.warmup);
            for way in &mut self.ways {
                way.begin_delays();
            }
            self.is_warm = true;
        }
        self.release_events(now);
    }

    fn release_events(&mut self, now: SimTime) {
        while let Some(at) = self.medium.next_event().filter(|&at| at <= now) {
            while let Some((port, departure)) = self.medium.advance(at) {
                let place = self.ways.iter().position(|way| way.ports[1] == port);
                let way = place.expect("a port that packets are bound for");
                match departure {
                    Departure::Arrived(parcel) => {
                        self.take(at, way, parcel);
                        continue;
                    }
                    Departure::Lost(_) => self.ways[way].passed.lost += 1,
                    Departure::QueueDrop(_) => self.ways[way].passed.dropped += 1,
                }
                self.hand_over();
                self.store.remove(departure.parcel().id());
                self.recorder.departure(at, at, port, departure, &[]);
            }
        }
        self.hand_over();
    }

    /// Takes a packet that left the medium at `at`, to be handed over alone or with its neighbours.
    fn take(&mut self, at: SimTime, way: usize, parcel: Parcel) {
        let (id, entered) = (parcel.id(), self.entered[parcel.id() as usize]);
        let place = self.store.place(id);
        if !self.run.goes_on_with(way, place, parcel) {
            self.hand_over();
        }
        self.run.add(way, place, parcel, [at, entered]);
        // Nobody waits for a neighbour that there is not.
        if place.segment + 1 == self.store.read(place.read).1.count() {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let Some(way) = self.run.way() else { return };
        // Work takes time too.
        self.looked = None;
        let Self { ways, run, store, recorder, clock, config, .. } = self;
        ways[way].hand_over(run, store, recorder, || clock.now(), config.late);
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
