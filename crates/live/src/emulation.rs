//! Two hosts, the network between them, and the threads that pass packets.

use crate::clock::Clock;
use crate::disturbance::Translator;
use crate::driver::Driver;
use crate::error::{LiveError, Trying};
use crate::header::Kind;
use crate::host::Host;
use crate::meter::Meter;
use crate::pair::pair;
use crate::pump::{LiveFabric, LiveLink, Pump, PumpConfig};
use crate::recording::Recording;
use crate::report::PumpReport;
use crate::way::Way;
use crossfade_link::PointToPoint;
use std::io::{PipeWriter, pipe};
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};

/// Network that connects the two hosts of an emulation.
pub enum Between {
    /// One link per direction, from the first host to the second and back; each has its own thread under high load.
    Links([LiveLink; 2]),
    /// One medium for both directions, driven by one thread.
    Shared(LiveFabric),
}

/// Report of both directions of an emulation.
#[derive(Clone, Debug)]
pub struct EmulationReport {
    /// Report of the direction from the first host to the second.
    pub forward: PumpReport,
    /// Report of the direction from the second host to the first.
    pub reverse: PumpReport,
}

/// Running emulation between two hosts. Its time starts at once, or with the first packet ([`PumpConfig::waits`]); it
/// ends with [`stop`](Self::stop), or when dropped.
#[derive(Debug)]
pub struct Emulation {
    hosts: [Host; 2],
    clock: Clock,
    /// Pipe whose closing stops the threads of the emulation.
    stop: Option<PipeWriter>,
    threads: Vec<JoinHandle<Result<Vec<PumpReport>, LiveError>>>,
    meters: [Meter; 2],
    recording: Recording,
}

impl Emulation {
    /// Connects two hosts by one link per direction.
    ///
    /// # Errors
    /// The system has no threads or no file descriptors left.
    pub fn start(
        hosts: &[Host; 2],
        forward: LiveLink,
        reverse: LiveLink,
        config: PumpConfig,
    ) -> Result<Self, LiveError> {
        Self::start_recorded(hosts, Between::Links([forward, reverse]), config, Recording::default())
    }

    /// Connects two hosts by the network `between`, and writes the requested recordings.
    ///
    /// # Errors
    /// The system has no threads or no file descriptors left.
    #[expect(clippy::needless_pass_by_value, reason = "options of one emulation")]
    pub fn start_recorded(
        hosts: &[Host; 2],
        between: Between,
        config: PumpConfig,
        recording: Recording,
    ) -> Result<Self, LiveError> {
        let clock = if config.waits { Clock::waiting() } else { Clock::start() };
        let (reader, writer) = pipe().trying_to("open a pipe")?;
        let mut emulation = Self {
            hosts: hosts.clone(),
            clock: clock.clone(),
            stop: Some(writer),
            threads: Vec::new(),
            meters: Default::default(),
            recording,
        };
        let spared: [&[Kind]; 2] = if config.data_only {
            [&[Kind::Handshake, Kind::WithoutData], &[Kind::Handshake]]
        } else {
            [&[]; 2]
        };
        let [first, second] = hosts;
        let [on_way, on_way_back] = emulation.meters.clone();
        let translator = config.rebinding.map(Translator::new);
        let there = |ports| {
            Way::new([first.tun(), second.tun()], ports, spared[0], on_way)
                .with_translator(translator.clone(), false)
        };
        let back = |ports| {
            Way::new([second.tun(), first.tun()], ports, spared[1], on_way_back)
                .with_receive_window(config.receive_window)
                .with_translator(translator.clone(), true)
        };
        let one_way = [PointToPoint::<()>::IN, PointToPoint::<()>::OUT];
        let driver =
            || Ok(Driver::new(config.clone(), clock.clone(), reader.try_clone().trying_to("open a pipe")?));
        let pump = |lane: u8, is_shared: bool, medium, ways| {
            let recorder = emulation.recording.recorder(lane, is_shared);
            Pump::new(config.clone(), clock.clone(), medium, ways, first.most_bytes(), recorder)
        };
        match between {
            Between::Links([forward, reverse]) => {
                let forward = pump(0, false, Box::new(PointToPoint(forward)), vec![there(one_way)]);
                let reverse = pump(1, false, Box::new(PointToPoint(reverse)), vec![back(one_way)]);
                let (leader, helper) = pair()?;
                let [of_both, of_one] = [driver()?, driver()?];
                emulation.start_thread("links", || leader.run(of_both, [forward, reverse]))?;
                emulation.start_thread("reverse", || helper.run(of_one))?;
            }
            Between::Shared(fabric) => {
                let (driver, pump) = (driver()?, pump(0, true, fabric, vec![there([0, 1]), back([1, 0])]));
                emulation.start_thread("network", || driver.run(pump))?;
            }
        }
        Ok(emulation)
    }

    fn start_thread(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<Vec<PumpReport>, LiveError> + Send + 'static,
    ) -> Result<(), LiveError> {
        self.threads.push(Builder::new().name(name.to_owned()).spawn(work).trying_to("start a thread")?);
        Ok(())
    }

    /// Meters of the packets passed, in forward and in reverse direction.
    pub fn meters(&self) -> [Meter; 2] {
        self.meters.clone()
    }

    /// Clock of the emulation, which may start only with the first packet.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Number of packets in the network between the hosts, in both directions.
    pub fn inside(&self) -> u64 {
        self.meters.iter().map(|meter| meter.read().inside()).sum()
    }

    /// True while the emulation is running; it ends if a device is removed from outside.
    pub fn is_running(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops the emulation and returns its report. Packets inside the links are discarded.
    ///
    /// # Errors
    /// The cause that had stopped a direction: its device was removed, or a recording could not be written.
    ///
    /// # Panics
    /// A link has panicked.
    pub fn stop(self) -> Result<EmulationReport, LiveError> {
        self.stop_with_events("")
    }

    /// Like [`Self::stop`], and appends the `events` of the hosts, as CSV, to the journal.
    ///
    /// # Errors
    /// As [`stop`](Self::stop).
    ///
    /// # Panics
    /// As [`stop`](Self::stop).
    pub fn stop_with_events(mut self, events: &str) -> Result<EmulationReport, LiveError> {
        let mut reports = Vec::new();
        for outcome in self.join() {
            reports.extend(outcome?);
        }
        self.recording.finish(events)?;
        for (report, from) in reports.iter_mut().zip(&self.hosts) {
            report.ring_drops = from.ring_drops()?;
        }
        let [forward, reverse] = reports.try_into().expect("there are two directions");
        Ok(EmulationReport { forward, reverse })
    }

    fn join(&mut self) -> Vec<Result<Vec<PumpReport>, LiveError>> {
        drop(self.stop.take());
        // If one thread has panicked, the others end first: they hold devices.
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended.into_iter().map(|end| end.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The panic of a link was printed where it occurred; a second one while unwinding would abort.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
