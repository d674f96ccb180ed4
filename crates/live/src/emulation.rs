//! Two hosts, a link each way, and the threads that pass packets.

use crate::clock::Clock;
use crate::error::{LiveError, Trying};
use crate::host::Host;
use crate::pump::{LiveLink, Pump, PumpConfig, PumpReport};
use std::io::{PipeWriter, pipe};
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};

/// What both directions of an emulation did.
#[derive(Clone, Debug)]
pub struct EmulationReport {
    /// From the first host to the second.
    pub forward: PumpReport,
    /// From the second host to the first.
    pub reverse: PumpReport,
}

/// Packets on their way between two hosts. Time begins with it; it ends with [`stop`](Self::stop), or when it
/// is dropped.
#[derive(Debug)]
pub struct Emulation<'a> {
    hosts: &'a [Host; 2],
    /// Its threads stop when this is closed.
    stop: Option<PipeWriter>,
    pumps: Vec<JoinHandle<Result<PumpReport, LiveError>>>,
}

impl<'a> Emulation<'a> {
    /// Joins two hosts by a link in each direction.
    ///
    /// # Errors
    /// The system has no threads or no file descriptors left.
    pub fn start(
        hosts: &'a [Host; 2],
        forward: LiveLink,
        reverse: LiveLink,
        config: PumpConfig,
    ) -> Result<Self, LiveError> {
        let clock = Clock::start();
        let (reader, writer) = pipe().trying_to("open a pipe")?;
        let mut emulation = Self { hosts, stop: Some(writer), pumps: Vec::new() };
        let [near, far] = hosts;
        for (name, from, to, link) in [("forward", near, far, forward), ("reverse", far, near, reverse)] {
            let stop = reader.try_clone().trying_to("open a pipe")?;
            let pump = Pump::new(config, clock, [from.tun(), to.tun()], from.mtu(), link, stop);
            let thread = Builder::new().name(name.to_owned()).spawn(|| pump.run());
            emulation.pumps.push(thread.trying_to("start a thread")?);
        }
        Ok(emulation)
    }

    /// Stops, and tells what was counted. Packets inside the links are gone.
    ///
    /// # Errors
    /// What stopped a direction earlier: somebody has removed its device.
    ///
    /// # Panics
    /// A link has panicked.
    pub fn stop(mut self) -> Result<EmulationReport, LiveError> {
        let [near, far] = self.hosts;
        let mut reports = self.join().into_iter();
        let mut next = |from: &Host| {
            let mut report = reports.next().expect("there are two directions")?;
            report.ring_drops = from.ring_drops()?;
            Ok(report)
        };
        Ok(EmulationReport { forward: next(near)?, reverse: next(far)? })
    }

    fn join(&mut self) -> Vec<Result<PumpReport, LiveError>> {
        drop(self.stop.take());
        let join = |thread: JoinHandle<_>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        self.pumps.drain(..).map(join).collect()
    }
}

impl Drop for Emulation<'_> {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic of a link has been printed where it happened: a second one, while unwinding, would abort.
        self.pumps.drain(..).for_each(|thread| drop(thread.join()));
    }
}
