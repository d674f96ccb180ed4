//! Two threads for two pumps: under low load one thread drives both, under high load each drives one.
//!
//! Waking a thread takes a quarter of an RTT, and one thread for both directions need not be woken for the answer, but
//! it has only one processor.

use crate::driver::{Driver, Ready};
use crate::error::{LiveError, Trying};
use crate::pump::Pump;
use crate::report::PumpReport;
use crossfade_core::SimTime;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Load of a pair's two threads, as one of them measures it.
#[derive(Clone, Debug, Default)]
struct Load {
    /// Working time of both threads since the start, in nanoseconds.
    worked: Arc<AtomicU64>,
    /// Start of the current period, which is the time of the last decision.
    since: SimTime,
    /// Working time of both threads before the current period, in nanoseconds.
    before: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Low load: one thread for both pumps is enough.
    Little,
    Some,
    /// High load: each pump needs its own thread.
    Much,
}

impl Load {
    const PERIOD: SimTime = SimTime::from_millis(100);
    /// Working time of both threads per period, in nanoseconds, up to which the load is low.
    const LITTLE: u64 = 2_000_000;
    const MUCH: u64 = 5_000_000;

    /// Adds a turn, given by its begin and end times; returns the level of the load.
    fn add(&mut self, [begin, end]: [SimTime; 2]) -> Level {
        let turn = (end - begin).as_nanos();
        let worked = self.worked.fetch_add(turn, Relaxed) + turn;
        let is_over = self.until() <= end;
        let level = match worked - self.before {
            Self::MUCH.. => Level::Much,
            ..Self::LITTLE if is_over => Level::Little,
            _ => Level::Some,
        };
        if is_over || level == Level::Much {
            (self.since, self.before) = (end, worked);
        }
        level
    }

    /// Time of the next decision about a low load: the end of the current period.
    fn until(&self) -> SimTime {
        self.since + Self::PERIOD
    }
}

/// Thread that drives both pumps, and lends the second one to its [`Helper`] under high load.
pub(crate) struct Leader {
    load: Load,
    lend: Sender<Pump>,
    returned: Receiver<Pump>,
    /// Pipe that carries a byte for each returned pump; its end of file shows that the helper has ended.
    word: PipeReader,
}

/// Thread that drives the pump lent by its [`Leader`], while one is lent.
pub(crate) struct Helper {
    load: Load,
    lent: Receiver<Pump>,
    give_back: Sender<Pump>,
    word: PipeWriter,
}

/// Creates a leader and its helper, which share their load.
pub(crate) fn pair() -> Result<(Leader, Helper), LiveError> {
    let (lend, lent) = channel();
    let (give_back, returned) = channel();
    let (reader, writer) = pipe().trying_to("open a pipe")?;
    let load = Load::default();
    let helper = Helper { load: load.clone(), lent, give_back, word: writer };
    Ok((Leader { load, lend, returned, word: reader }, helper))
}

impl Leader {
    /// Drives both pumps until `driver` is told to stop. Returns one report per direction.
    pub(crate) fn run(mut self, mut driver: Driver, pumps: [Pump; 2]) -> Result<Vec<PumpReport>, LiveError> {
        for pump in pumps {
            driver.take(pump);
        }
        driver.begin()?;
        loop {
            match driver.wait(Some(&self.word), None)? {
                Ready::Pumps => {
                    let level = self.load.add(driver.turn()?);
                    if level == Level::Much
                        && driver.pumps() == 2
                        && let Some(pump) = driver.give()
                    {
                        // If the helper has ended, the pipe reports its end of file.
                        let _ = self.lend.send(pump);
                    }
                }
                Ready::Others => match self.hear() {
                    Some(pump) => driver.take(pump),
                    // The helper reports its own failure.
                    None => break,
                },
                Ready::Stop => break,
            }
        }
        if driver.pumps() == 1 {
            // The helper stops too, and returns its pump.
            if let Ok(pump) = self.returned.recv() {
                driver.take(pump);
            }
        }
        driver.end()
    }

    fn hear(&mut self) -> Option<Pump> {
        self.word.read_exact(&mut [0]).ok()?;
        self.returned.recv().ok()
    }
}

impl Helper {
    /// Drives lent pumps until `driver` is told to stop. Returns no reports, since the leader has them.
    pub(crate) fn run(mut self, mut driver: Driver) -> Result<Vec<PumpReport>, LiveError> {
        while let Ok(pump) = self.lent.recv() {
            driver.take(pump);
            driver.begin()?;
            loop {
                if driver.wait(None, Some(self.load.until()))? == Ready::Stop
                    || self.load.add(driver.turn()?) == Level::Little
                {
                    break;
                }
            }
            // The leader takes no pump back only if it has ended.
            let sent = driver.give().is_some_and(|pump| self.give_back.send(pump).is_ok());
            if !sent || self.word.write_all(&[0]).is_err() {
                break;
            }
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::fakes::{FailsOn, echo, hop, pump, pumps};
    use crate::pump::PumpConfig;
    use crossfade_channel::Lossless;
    use std::thread::Builder;

    const US: fn(u64) -> SimTime = SimTime::from_micros;

    /// Adds turns of `turn_us` us each to `load`, one every 100 us, from `from_ms` on for `lasting_ms`; returns the
    /// levels.
    fn work(load: &mut Load, from_ms: u64, lasting_ms: u64, turn_us: u64) -> Vec<Level> {
        let starts = (0..lasting_ms * 10).map(|n| US(from_ms * 1_000 + n * 100));
        starts.map(|start| load.add([start, start + US(turn_us)])).collect()
    }

    #[test]
    fn a_thread_that_works_a_twentieth_of_the_time_is_told_at_once() {
        let mut load = Load::default();
        let levels = work(&mut load, 0, 100, 4);
        assert!(!levels.contains(&Level::Much), "4 %");
        let levels = work(&mut load, 100, 100, 50);
        let first = levels.iter().position(|&level| level == Level::Much).unwrap();
        assert!((90..=101).contains(&first), "5 ms of work take 100 turns: {first}");
    }

    #[test]
    fn what_both_work_counts_and_little_is_told_at_the_end_of_a_period() {
        let mut leader = Load::default();
        let mut helper = leader.clone();
        work(&mut leader, 0, 200, 30);
        assert_eq!(helper.add([US(200_000); 2]), Level::Much, "the leader alone works 30 %");
        work(&mut leader, 200, 50, 1);
        let levels = work(&mut helper, 200, 99, 0);
        assert!(
            levels.iter().all(|&level| level == Level::Some),
            "the period lasts until {:?}",
            helper.until()
        );
        assert_eq!(helper.add([helper.until(); 2]), Level::Little);
        work(&mut leader, 300, 100, 3);
        assert_eq!(helper.add([helper.until(); 2]), Level::Some, "3 % are neither");
    }

    /// Creates a driver, and the pipe writer whose drop stops it.
    fn driver() -> (Driver, PipeWriter) {
        let (stop, writer) = pipe().unwrap();
        (Driver::new(PumpConfig::default(), Clock::start(), stop), writer)
    }

    #[test]
    fn a_leader_that_nobody_helps_ends_and_reports_both_ways() {
        let (leader, helper) = pair().unwrap();
        // As if the system had no thread for it.
        drop(helper);
        let (driver, _go_on) = driver();
        let pumps = pumps(&[echo(), echo()], &Clock::start(), SimTime::ZERO);
        let reports = leader.run(driver, pumps).unwrap();
        assert_eq!(reports.len(), 2);
    }

    /// A leader whose helper fails ends, and reports the direction of its own pump. The high load is a packet that
    /// echoing hosts pass back and forth without end.
    #[test]
    fn a_leader_whose_helper_fails_ends_and_reports_the_way_that_it_has() {
        let (leader, helper) = pair().unwrap();
        let (of_both, _go_on) = driver();
        let (of_one, _go_on_too) = driver();
        let devices = [echo(), echo()];
        devices[0].write(&Default::default(), [&[], &[7; 100]]).unwrap();
        let [first, second] = [&devices[0], &devices[1]];
        let [link, fails] = [hop(SimTime::ZERO, Lossless), hop(SimTime::ZERO, FailsOn("helper"))];
        let clock = Clock::start();
        let ways = [pump([first, second], &clock, link), pump([second, first], &clock, fails)];
        let helper = Builder::new().name("helper".to_owned()).spawn(|| helper.run(of_one)).unwrap();
        let reports = leader.run(of_both, ways).unwrap();
        assert_eq!(reports.len(), 1);
        assert!(helper.join().is_err_and(|panic| panic.is::<&str>()));
    }
}
