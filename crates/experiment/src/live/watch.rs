//! Looks at the TCP of both hosts again and again.

use super::refused;
use crossfade_core::SimTime;
use crossfade_live::{Host, SocketWatch, TcpSample};
use crossfade_scenario::ScenarioError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// How often.
const PERIOD: Duration = Duration::from_millis(10);

/// More samples are not kept: an hour of three connections.
const MOST_SAMPLES: usize = 1_000_000;

/// A socket at some time on one of the hosts.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: SimTime,
    /// 0 the first host, 1 the second.
    pub(super) host: usize,
    pub(super) tcp: TcpSample,
}

/// A thread that looks.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    samples: Arc<Mutex<Vec<Sample>>>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// At the sockets of `hosts`, in times since `origin`.
    pub(super) fn start(hosts: &[Host; 2], origin: Instant) -> Result<Self, ScenarioError> {
        let watch = |host| SocketWatch::new(host).map_err(refused);
        let mut sockets = [watch(&hosts[0])?, watch(&hosts[1])?];
        let (stop, samples) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, kept) = (Arc::clone(&stop), Arc::clone(&samples));
        let thread = spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let at = SimTime::from_nanos(origin.elapsed().as_nanos() as u64);
                for (host, sockets) in sockets.iter_mut().enumerate() {
                    // What cannot be looked at now may be later.
                    let found = sockets.sample().unwrap_or_default();
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = MOST_SAMPLES - kept.len();
                    kept.extend(found.into_iter().take(room).map(|tcp| Sample { at, host, tcp }));
                }
                sleep(PERIOD);
            }
        });
        Ok(Self { stop, samples, thread })
    }

    /// The last sample of each socket.
    pub(super) fn latest(&self) -> Vec<Sample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = samples.last() else { return Vec::new() };
        samples.iter().rev().take_while(|sample| sample.at == last.at).cloned().collect()
    }

    /// All samples, in order of time.
    pub(super) fn finish(self) -> Vec<Sample> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("looking does not panic");
        std::mem::take(&mut self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
