//! Threads that call pumps when packets or events are due.

use crate::alarm::Alarm;
use crate::awake::Awake;
use crate::clock::Clock;
use crate::error::{LiveError, Trying};
use crate::priority::prefer_this_thread;
use crate::pump::{Pump, PumpConfig};
use crate::report::PumpReport;
use crate::tun::Tun;
use crossfade_core::SimTime;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io::PipeReader;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// Packet size in bytes from which the thread keeps its ordinary priority: with a higher one it would preempt the
/// sending program after each packet and find packets one at a time, which costs a quarter of the throughput.
const LARGE_BYTES: usize = 16_384;

/// Waits for the events of its pumps, and calls each pump in turn.
pub(crate) struct Driver {
    config: PumpConfig,
    clock: Clock,
    alarm: Alarm,
    awake: Awake,
    /// Time of the last reading of the clock, if the thread has been awake since.
    looked: Option<SimTime>,
    pumps: Vec<Pump>,
    /// Devices that the pumps read, at most two.
    devices: Vec<Arc<Tun>>,
    /// For each device, true if it had a packet at the last wait.
    ready: [bool; 2],
    /// Pipe whose end of file tells the driver to stop.
    stop: PipeReader,
    /// Processor time of this thread that is already attributed to its pumps.
    settled: SimTime,
}

/// Event that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A packet for a pump, an event of a pump, or a timeout.
    Pumps,
    /// A message from another thread, in the pipe given to the wait.
    Others,
    /// The end of file of the pipe that stops the driver.
    Stop,
}

impl Driver {
    pub(crate) fn new(config: PumpConfig, clock: Clock, stop: PipeReader) -> Self {
        Self {
            clock,
            alarm: Alarm::new(config.spin),
            awake: Awake::new(config.awake),
            config,
            looked: None,
            pumps: Vec::new(),
            devices: Vec::new(),
            ready: [false; 2],
            stop,
            settled: SimTime::ZERO,
        }
    }

    /// Drives one pump until the driver is told to stop. Returns one report per direction.
    pub(crate) fn run(mut self, pump: Pump) -> Result<Vec<PumpReport>, LiveError> {
        self.take(pump);
        self.begin()?;
        while self.wait(None, None)? == Ready::Pumps {
            self.turn()?;
        }
        self.end()
    }

    /// Prepares the calling thread for passing packets: precise timers and a higher priority.
    pub(crate) fn begin(&self) -> Result<(), LiveError> {
        // Timers of ordinary threads may be late by 50 us, so that the kernel can bundle them.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).trying_to("set the timer slack")?;
        if self.pumps.iter().all(|pump| pump.most_bytes() < LARGE_BYTES) {
            prefer_this_thread();
        }
        Ok(())
    }

    pub(crate) fn pumps(&self) -> usize {
        self.pumps.len()
    }

    pub(crate) fn take(&mut self, pump: Pump) {
        self.settle();
        self.pumps.push(pump);
        self.devices = self.pumps.iter().flat_map(Pump::devices).collect();
    }

    /// Removes and returns the pump added last; `None` if there is none.
    pub(crate) fn give(&mut self) -> Option<Pump> {
        self.settle();
        let pump = self.pumps.pop();
        self.devices = self.pumps.iter().flat_map(Pump::devices).collect();
        if self.pumps.is_empty() {
            self.awake = Awake::new(self.config.awake);
        }
        pump
    }

    /// Attributes the thread's processor time since the last call to its pumps, in equal shares.
    fn settle(&mut self) {
        let cpu = thread_cpu_time();
        let took = cpu - std::mem::replace(&mut self.settled, cpu);
        let each = SimTime::from_nanos(took.as_nanos() / self.pumps.len().max(1) as u64);
        self.pumps.iter_mut().for_each(|pump| pump.cpu += each);
    }

    /// Waits for a packet, an event of a pump, a message from `others`, or the time `latest`.
    pub(crate) fn wait(
        &mut self,
        others: Option<&PipeReader>,
        latest: Option<SimTime>,
    ) -> Result<Ready, LiveError> {
        let now = self.clock.now();
        if let Some(before) = self.looked.take() {
            self.alarm.looked(now - before);
        }
        // Before the clock starts, the only events are packets.
        let next = self.clock.origin().and_then(|_| self.next_event(latest));
        let sleep = next.map(|at| self.alarm.sleep(at.saturating_sub(now)));
        let timeout = sleep.map(timespec);
        let last = self.devices.len() - 1;
        let mut ready = [
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(others.unwrap_or(&self.stop), PollFlags::IN),
            PollFd::new(&self.devices[0], PollFlags::IN),
            PollFd::new(&self.devices[last], PollFlags::IN),
        ];
        match poll(&mut ready[..3 + last], timeout.as_ref()) {
            Ok(0) => match sleep {
                Some(SimTime::ZERO) => self.looked = Some(now),
                Some(sleep) => self.alarm.rang(sleep, self.clock.now().saturating_sub(now + sleep)),
                None => {}
            },
            Ok(_) if !ready[0].revents().is_empty() => return Ok(Ready::Stop),
            Ok(_) if !ready[1].revents().is_empty() => return Ok(Ready::Others),
            Ok(_) => self.ready = [2, 3].map(|device| !ready[device].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error).trying_to("wait for packets"),
        }
        Ok(Ready::Pumps)
    }

    fn next_event(&self, latest: Option<SimTime>) -> Option<SimTime> {
        self.pumps.iter().filter_map(Pump::next_event).chain(self.awake.until()).chain(latest).min()
    }

    /// Calls each pump once, without needless reads of devices. Returns the begin and end times.
    ///
    /// The first pump is the one whose device has a packet, or else the one with the next event: the other host's
    /// kernel answers while a packet is handed over to it, so the other pump can take the answer in the same turn.
    pub(crate) fn turn(&mut self) -> Result<[SimTime; 2], LiveError> {
        let begin = self.clock.now();
        let ready = std::mem::take(&mut self.ready);
        let count = self.pumps.len();
        let next_event = |&index: &usize| self.pumps[index].next_event().unwrap_or(SimTime::MAX);
        let first = ready.iter().position(|&ready| ready).or_else(|| (0..count).min_by_key(next_event));
        let (mut packets, mut may_answer) = (0, false);
        for index in (0..count).map(|n| (first.unwrap_or(0) + n) % count) {
            // A single pump has all devices.
            let is_ready = if count == 2 { ready[index] } else { ready.contains(&true) };
            let done = self.pumps[index].turn(is_ready || may_answer)?;
            packets += done.packets;
            if done.handed_over {
                may_answer = true;
                // The turn took time, so the last reading of the clock is outdated.
                self.looked = None;
            }
        }
        let now = self.clock.now();
        if packets > 0 {
            self.awake.packets(now, packets);
        }
        self.awake.look(now);
        Ok([begin, now])
    }

    /// Ends all pumps and returns one report per direction.
    pub(crate) fn end(mut self) -> Result<Vec<PumpReport>, LiveError> {
        self.settle();
        let reports = self.pumps.into_iter().map(Pump::end).collect::<Result<Vec<_>, _>>()?;
        Ok(reports.into_iter().flatten().collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::{echo, host, pumps};
    use std::io::pipe;

    #[test]
    fn what_a_host_answers_at_once_is_read_in_the_same_turn() {
        let cases = [
            (0, SimTime::ZERO),
            (1, SimTime::ZERO),
            (0, SimTime::from_millis(1)),
            (1, SimTime::from_millis(1)),
        ];
        for (near, delay) in cases {
            let (stop, _writer) = pipe().unwrap();
            let clock = Clock::start();
            let mut driver = Driver::new(PumpConfig::default(), clock.clone(), stop);
            let (device, programs) = host();
            let mut devices = [echo(), echo()];
            devices[near] = device;
            for pump in pumps(&devices, &clock, delay) {
                driver.take(pump);
            }
            for number in 0..10 {
                let mut answer = [0; 1500];
                programs.send(&[number; 100]).unwrap();
                while programs.recv(&mut answer).is_err() {
                    assert_eq!(driver.wait(None, None).unwrap(), Ready::Pumps);
                    driver.turn().unwrap();
                    let waiting = devices[1 - near].read(&mut [0; 1500]).unwrap();
                    assert!(waiting.is_none(), "near host {near}, delay {delay:?}, packet {number}");
                }
                assert_eq!(answer[..100], [number; 100]);
            }
        }
    }
}
