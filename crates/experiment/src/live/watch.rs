//! Periodic samples of the TCP sockets of both hosts and of the links between them.

use crossfade_core::SimTime;
use crossfade_live::{Emulation, Host, LiveError, Passed, SocketWatch, TcpSample};
use crossfade_scenario::ScenarioError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, park_timeout, spawn};
use std::time::Duration;

/// Purpose for which sockets are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Sockets and links are recorded over time.
    Record,
    /// Only the congestion controls that have sent data are recorded.
    Name,
}

impl Purpose {
    /// Time between two samples.
    fn period(self) -> Duration {
        match self {
            Self::Record => Duration::from_millis(10),
            Self::Name => Duration::from_millis(100),
        }
    }
}

/// Converts an error of the system into a one-line error of a scenario.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn refused(error: LiveError) -> ScenarioError {
    ScenarioError::key("live", error.to_string())
}

/// Greatest number of samples that are kept, enough for an hour of three connections.
const MOST_SAMPLES: usize = 1_000_000;

/// State of a socket on one of the hosts at one time.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: SimTime,
    /// Index of the host: 0 for the far one, 1 for the near one.
    pub(super) host: usize,
    pub(super) tcp: TcpSample,
}

/// Counters of both directions of the link at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkSample {
    pub(super) at: SimTime,
    pub(super) ways: [Passed; 2],
}

/// Samples in order of time; sockets and links are sampled at the same times.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) samples: Vec<Sample>,
    pub(super) links: Vec<LinkSample>,
}

impl Seen {
    fn add(&mut self, at: SimTime, ways: [Passed; 2], found: [Vec<TcpSample>; 2]) {
        if self.links.len() < MOST_SAMPLES {
            self.links.push(LinkSample { at, ways });
        }
        for (host, found) in found.into_iter().enumerate() {
            let room = MOST_SAMPLES - self.samples.len();
            self.samples.extend(found.into_iter().take(room).map(|tcp| Sample { at, host, tcp }));
        }
    }

    fn name(&mut self, at: SimTime, found: [Vec<TcpSample>; 2]) {
        for (host, tcp) in found
            .into_iter()
            .enumerate()
            .flat_map(|(host, found)| found.into_iter().map(move |tcp| (host, tcp)))
        {
            let is_known = self.samples.iter().any(|known| known.tcp.congestion == tcp.congestion);
            if tcp.data_segments_out > 0 && !is_known {
                self.samples.push(Sample { at, host, tcp });
            }
        }
    }
}

/// Thread that samples sockets and links.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Starts a thread that samples the sockets of `hosts` and the network between them.
    pub(super) fn start(
        hosts: &[Host; 2],
        emulation: &Emulation,
        purpose: Purpose,
    ) -> Result<Self, ScenarioError> {
        let watch = |host| SocketWatch::new(host).map_err(refused);
        let mut sockets = [watch(&hosts[0])?, watch(&hosts[1])?];
        let (clock, meters) = (emulation.clock().clone(), emulation.meters());
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let (stopped, kept) = (Arc::clone(&stop), Arc::clone(&seen));
        let thread = spawn(move || {
            let mut before = None;
            while !stopped.load(Ordering::Relaxed) {
                let at = clock.now();
                let ways = meters.each_ref().map(crossfade_live::Meter::read);
                // Without packets no socket has sent, so an idle link costs next to nothing.
                let is_recorded = purpose == Purpose::Record && clock.origin().is_some();
                if is_recorded || before.replace(ways) != Some(ways) {
                    // A failed sample is skipped: the next one may succeed.
                    let found = sockets.each_mut().map(|sockets| sockets.sample().unwrap_or_default());
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    match purpose {
                        Purpose::Record => kept.add(at, ways, found),
                        Purpose::Name => kept.name(at, found),
                    }
                }
                park_timeout(purpose.period());
            }
        });
        Ok(Self { stop, seen, thread })
    }

    /// Last sample of each socket.
    pub(super) fn latest(&self) -> Vec<Sample> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = seen.samples.last() else { return Vec::new() };
        seen.samples.iter().rev().take_while(|sample| sample.at == last.at).cloned().collect()
    }

    /// Samples from these indices on, of sockets and of links.
    pub(super) fn since(&self, [sockets, links]: [usize; 2]) -> Seen {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Seen {
            samples: seen.samples.get(sockets..).unwrap_or_default().to_vec(),
            links: seen.links.get(links..).unwrap_or_default().to_vec(),
        }
    }

    /// Stops the thread; returns all samples.
    pub(super) fn finish(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("the sampling thread does not panic");
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
