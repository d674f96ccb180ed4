//! Pumps: pass real packets from TUN devices through a medium to other devices, in real time.

use crate::clock::Clock;
use crate::disturbance::{Rebinding, corrupt};
use crate::error::LiveError;
use crate::header;
use crate::offload::Segments;
use crate::port_classes::PortClasses;
use crate::recording::Recorder;
use crate::report::PumpReport;
use crate::store::{Place, Store};
use crate::tun::Tun;
use crate::way::{Run, Way};
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, Link, Parcel, Push};
use std::sync::Arc;

/// Maximum number of packets that a pump reads from a device in one turn.
const BATCH: usize = 32;

/// A link for real packets, in one direction.
pub type LiveLink = Box<dyn Link + Send>;

/// A medium for real packets of both directions: port 0 is at the first host, port 1 at the second.
pub type LiveFabric = Box<dyn Fabric + Send>;

/// Options of the pumps that pass packets between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PumpConfig {
    /// Maximum number of packets inside a link; further ones are refused. Their bytes are kept in memory: at most this
    /// number times the MTU.
    pub capacity: usize,
    /// Maximum time for which the pump stays awake before each event of the link; if events are rare, a twentieth of
    /// the time between them, up to 0.3 ms. The pump stays awake only as long as it would otherwise wake too late, and
    /// then releases packets within a few microseconds. Zero: never.
    pub spin: SimTime,
    /// Time after a packet for which idle processors are kept from sleeping, if permitted; zero: never,
    /// [`SimTime::MAX`]: from start to end.
    pub awake: SimTime,
    /// Lateness beyond which a packet counts as late in the report.
    pub late: SimTime,
    /// End of the warm-up: links make a report at this time, before later events, and the measurement of transit times
    /// restarts; zero: no warm-up.
    pub warmup: SimTime,
    /// True if losses apply only to packets that a simulation sends: in forward direction to TCP segments with data, in
    /// reverse direction to all packets but handshakes; see [`Parcel::spared`].
    pub data_only: bool,
    /// True if time stands still until the first unicast packet, so that fixed times of links count from the start of
    /// traffic rather than of the emulation.
    pub waits: bool,
    /// Largest receive window in bytes that the second host may advertise to the first; `None`: no limit.
    pub receive_window: Option<u32>,
    /// Classes of packets by port, for a medium that tells them apart; `None`: packets have no class.
    pub classes: Option<PortClasses>,
    /// Times at which a NAT changes the external ports of the second host's UDP flows; `None`: no NAT.
    pub rebinding: Option<Rebinding>,
    /// True if packets that a link loses arrive corrupted instead.
    pub corrupts: bool,
}

impl Default for PumpConfig {
    /// Options with a capacity of 20,000 packets, pumps awake for at most 50 us, processors for 1 s, packets late after
    /// 1 ms; time starts at once.
    fn default() -> Self {
        Self {
            capacity: 20_000,
            spin: SimTime::from_micros(50),
            awake: SimTime::from_millis(1_000),
            late: SimTime::from_millis(1),
            warmup: SimTime::ZERO,
            data_only: false,
            waits: false,
            receive_window: None,
            classes: None,
            rebinding: None,
            corrupts: false,
        }
    }
}

/// Reads packets from devices, pushes them into a medium, and writes the packets that leave it to other devices.
pub(crate) struct Pump {
    config: PumpConfig,
    clock: Clock,
    medium: LiveFabric,
    /// Directions that the pump serves, one or two.
    ways: Vec<Way>,
    store: Store,
    /// Arrival times of the packets in the store, by packet id.
    entered: Vec<SimTime>,
    /// Buffer into which a packet is read.
    buffer: Vec<u8>,
    /// Consecutive packets that are handed over together.
    run: Run,
    recorder: Recorder,
    is_warm: bool,
    done: Done,
    /// Processor time that the pump has used.
    pub(crate) cpu: SimTime,
}

/// Work of a pump in one turn.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    /// Number of packets read.
    pub(crate) packets: u32,
    /// True if packets were handed over to a host.
    pub(crate) handed_over: bool,
}

impl Pump {
    pub(crate) fn new(
        config: PumpConfig,
        clock: Clock,
        medium: LiveFabric,
        ways: Vec<Way>,
        most_bytes: usize,
        recorder: Recorder,
    ) -> Self {
        Self {
            clock,
            medium,
            ways,
            store: Store::new(config.capacity),
            entered: Vec::new(),
            buffer: vec![0; most_bytes],
            run: Run::default(),
            recorder,
            is_warm: config.warmup == SimTime::ZERO,
            config,
            done: Done::default(),
            cpu: SimTime::ZERO,
        }
    }

    /// Largest number of bytes that one read from a device may return.
    pub(crate) fn most_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Devices from which the pump reads.
    pub(crate) fn devices(&self) -> impl Iterator<Item = Arc<Tun>> + '_ {
        self.ways.iter().map(|way| Arc::clone(&way.from))
    }

    /// Time of the pump's next event if no packet arrives; `None` if there is none.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        let warmup = (!self.is_warm).then_some(self.config.warmup);
        self.medium.next_event().into_iter().chain(warmup).min()
    }

    /// Processes all events up to now; reads packets only if `may_read`.
    pub(crate) fn turn(&mut self, may_read: bool) -> Result<Done, LiveError> {
        self.done = Done::default();
        if may_read {
            for way in 0..self.ways.len() {
                self.read_batch(way)?;
            }
        }
        self.release(self.clock.now());
        self.medium.prepare();
        self.ways.iter().for_each(Way::show);
        Ok(self.done)
    }

    /// Ends the pump and returns one report per direction.
    pub(crate) fn end(mut self) -> Result<Vec<PumpReport>, LiveError> {
        let now = self.clock.now();
        self.release(now);
        self.recorder.end(now)?;
        let report = self.medium.report(now);
        let left = self.store.len() as u64;
        let of_way = |way: Way| way.report([now, self.cpu], left, &report);
        Ok(self.ways.into_iter().map(of_way).collect())
    }

    fn read_batch(&mut self, way: usize) -> Result<(), LiveError> {
        for _ in 0..BATCH {
            let Some((virtio, length)) = self.ways[way].from.read(&mut self.buffer)? else { break };
            if self.clock.origin().is_none() && header::is_for_one_host(&self.buffer[..length]) {
                self.clock.begin();
            }
            let segments = Segments::of(virtio, &self.buffer[..length]);
            let is_partial = segments.has_partial_checksum();
            if let Some(window) = &mut self.ways[way].window {
                window.hold(&mut self.buffer[..length], is_partial);
            }
            let now = self.clock.now();
            if !self.ways[way].translate(now, &mut self.buffer[..length], is_partial) {
                continue;
            }
            let mut parcel = header::parcel(0, &self.buffer[..length]);
            if let Some(classes) = &self.config.classes {
                parcel = classes.mark(parcel, &self.buffer[..length]);
            }
            if self.ways[way].spared.contains(&header::kind(&self.buffer[..length])) {
                parcel = parcel.spared();
            }
            let now = self.clock.now();
            self.done.packets += 1;
            let read = self.store.open(&mut self.buffer, length, segments);
            for segment in 0..segments.count() {
                let bytes = segments.bytes(segment, length);
                self.enter(now, way, Place { read, segment }, parcel.sized(bytes))?;
            }
            self.store.close(read);
            // Packets due now do not wait until it is known whether there is more to read.
            self.release(now);
        }
        Ok(())
    }

    /// Pushes the packet at `place` of a read into the medium.
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
        // Earlier events happen first, as in a simulation.
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
            Push::Lost => {
                self.ways[way].passed.lost += 1;
                self.corrupted(way, id);
            }
            Push::QueueDrop => self.ways[way].passed.dropped += 1,
        }
        self.store.remove(id);
        Ok(())
    }

    /// Hands over the packets that have left the medium by `now`.
    ///
    /// The medium advances from event to event at their nominal times, however late the pump is: it acts as in a
    /// simulation with packets pushed at these times.
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
                if let Departure::Lost(parcel) = departure {
                    self.corrupted(way, parcel.id());
                }
                self.store.remove(departure.parcel().id());
                self.recorder.departure(at, at, port, departure, &[]);
            }
        }
        self.hand_over();
    }

    /// If lost packets are to arrive corrupted, hands packet `id` to the receiving host with one byte changed.
    fn corrupted(&mut self, way: usize, id: u32) {
        if !self.config.corrupts {
            return;
        }
        let place = self.store.place(id);
        let (packet, segments) = self.store.read(place.read);
        let mut wire = segments.on_wire(packet, place.segment);
        corrupt(&mut wire);
        self.ways[way].deliver(&wire);
        self.done.handed_over = true;
    }

    /// Adds a packet, which left the medium at `at`, to the run of packets that are handed over together.
    fn take(&mut self, at: SimTime, way: usize, parcel: Parcel) {
        let (id, entered) = (parcel.id(), self.entered[parcel.id() as usize]);
        let place = self.store.place(id);
        if !self.run.goes_on_with(way, place, parcel) {
            self.hand_over();
        }
        self.run.add(way, place, parcel, [at, entered]);
        // After the last segment no neighbour can follow.
        if place.segment + 1 == self.store.read(place.read).1.count() {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let Some(way) = self.run.way() else { return };
        // Handing over takes time, so the clock must be read again.
        self.done.handed_over = true;
        let Self { ways, run, store, recorder, clock, config, .. } = self;
        ways[way].hand_over(run, store, recorder, || clock.now(), config.late);
    }
}
