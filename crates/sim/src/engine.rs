//! Simulation engine: a network that is simulated step by step.

use crate::capture::Capture;
use crate::error::{Interrupted, NetworkError, SimulationError};
use crate::event_loop::EventLoop;
use crate::layout::{Many, Single};
use crate::network::Network;
use crate::statistics::{NetworkStatistics, Snapshot};
use crate::watch::Watched;
use crossfade_core::{Observer, SimTime};
use crossfade_link::{Departure, Fabric, LinkEvent, LinkReport, Occupancy, Parcel, Port, Push};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of events after which [`simulate`] checks whether the run was cancelled.
const EVENTS_BETWEEN_CANCEL_CHECKS: u32 = 4096;

/// Simulates `network` to the end of the run, and returns its statistics. The observer receives the transports' events,
/// the capture the packets at the senders' interfaces.
///
/// # Errors
/// The network is invalid ([`Network::check`]), or `cancel` became true.
pub fn simulate<'a>(
    network: Network,
    observer: Option<&'a mut (dyn Observer + Send)>,
    capture: Option<&'a mut (dyn Capture + Send)>,
    cancel: &AtomicBool,
) -> Result<NetworkStatistics, SimulationError> {
    let mut engine = Engine::new(network, observer, capture)?;
    while engine.step(EVENTS_BETWEEN_CANCEL_CHECKS) {
        if cancel.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
    }
    Ok(engine.into_statistics())
}

/// A simulated network, advanced step by step.
///
/// It advances by events ([`step`](Self::step)) or by time ([`advance`](Self::advance)); the size of the steps does not
/// change the outcome. Beside the simulated flows, packets can enter from outside ([`Fabric::push`]) and leave again
/// ([`poll`](Self::poll)). As a [`Fabric`] it can connect real hosts by a whole network.
pub struct Engine<'a> {
    event_loop: Loops<'a>,
    /// Kept link events that [`Fabric::next_trace`] has not returned yet.
    traced: VecDeque<LinkEvent>,
}

/// Event loop of a run, compiled for three cases.
enum Loops<'a> {
    /// Run of one flow over one hop each way, without receivers of events or packets.
    Single(Box<EventLoop<(), Single>>),
    /// Run of any network, without receivers of events or packets.
    Many(Box<EventLoop<(), Many>>),
    /// Run of any network, with receivers of events or packets.
    Watched(Box<EventLoop<Watched<'a>, Many>>),
}

/// Evaluates `$result` with `$event_loop` bound to the event loop of an [`Engine`], whichever of [`Loops`] it is.
macro_rules! any_loop {
    ($engine:expr, $event_loop:ident => $result:expr) => {
        match $engine.event_loop {
            Loops::Single($event_loop) => $result,
            Loops::Many($event_loop) => $result,
            Loops::Watched($event_loop) => $result,
        }
    };
    (ref $engine:expr, $event_loop:ident => $result:expr) => {
        match &$engine.event_loop {
            Loops::Single($event_loop) => $result,
            Loops::Many($event_loop) => $result,
            Loops::Watched($event_loop) => $result,
        }
    };
    (mut $engine:expr, $event_loop:ident => $result:expr) => {
        match &mut $engine.event_loop {
            Loops::Single($event_loop) => $result,
            Loops::Many($event_loop) => $result,
            Loops::Watched($event_loop) => $result,
        }
    };
}

impl<'a> Engine<'a> {
    /// Simulation of `network`, at time zero. The observer receives the transports' events, the capture the packets at
    /// the senders' interfaces.
    ///
    /// # Errors
    /// The network is invalid ([`Network::check`]).
    pub fn new(
        network: Network,
        observer: Option<&'a mut (dyn Observer + Send)>,
        capture: Option<&'a mut (dyn Capture + Send)>,
    ) -> Result<Self, NetworkError> {
        network.check()?;
        let network = network.with_shortcuts()?;
        let event_loop = if observer.is_some() || capture.is_some() {
            Loops::Watched(Box::new(EventLoop::new(network, Watched { observer, capture })))
        } else if network.is_single_hop() {
            Loops::Single(Box::new(EventLoop::new(network, ())))
        } else {
            Loops::Many(Box::new(EventLoop::new(network, ())))
        };
        Ok(Self { event_loop, traced: VecDeque::new() })
    }

    /// Time of the next event; `None` once the run is over or no event is left.
    pub fn next_event(&self) -> Option<SimTime> {
        any_loop!(ref self, event_loop => event_loop.next_event())
    }

    /// Processes at most `events` events. Returns false once the run is over or no event is left.
    pub fn step(&mut self, events: u32) -> bool {
        any_loop!(mut self, event_loop => event_loop.run(SimTime::MAX, events))
    }

    /// Processes all events up to time `now`.
    pub fn advance(&mut self, now: SimTime) {
        any_loop!(mut self, event_loop => while event_loop.run(now, u32::MAX) {});
    }

    /// Like [`Self::advance`], but processes at most `events` events. Returns true if there may be more events up to
    /// `now`.
    pub fn advance_some(&mut self, now: SimTime, events: u32) -> bool {
        any_loop!(mut self, event_loop => event_loop.run(now, events))
    }

    /// Processes all events up to `now` and returns the statistics since the start of the run. A snapshot does not
    /// change the outcome.
    pub fn snapshot(&mut self, now: SimTime) -> Snapshot {
        self.advance(now);
        any_loop!(mut self, event_loop => event_loop.snapshot(now))
    }

    /// Time of the last event processed.
    pub fn now(&self) -> SimTime {
        any_loop!(ref self, event_loop => event_loop.now())
    }

    /// Takes the next departure of a packet from outside, with the outer port at which the packet left the network, or
    /// for which it was bound if it was lost or dropped.
    pub fn poll(&mut self) -> Option<(Port, Departure)> {
        any_loop!(mut self, event_loop => event_loop.poll())
    }

    /// Turns the keeping of link events on or off; [`Self::link_events`] returns them.
    pub fn trace_links(&mut self, keep: bool) {
        any_loop!(mut self, event_loop => event_loop.trace(keep));
    }

    /// Takes the link events kept so far, in order of time, each with the index of its link or fabric in
    /// [`link_names`](Self::link_names).
    pub fn link_events(&mut self) -> Vec<(u32, LinkEvent)> {
        any_loop!(mut self, event_loop => event_loop.link_events())
    }

    /// Names of links and fabrics in the order of [`crate::Topology::media`]. If a medium has a second name for its
    /// other direction, that name follows the medium's own.
    pub fn link_names(&self) -> &[String] {
        any_loop!(ref self, event_loop => event_loop.names())
    }

    /// Ends the run and returns the statistics since the end of the warm-up; for a run that is not over, until the last
    /// event.
    pub fn into_statistics(self) -> NetworkStatistics {
        any_loop!(self, event_loop => event_loop.measured())
    }
}

/// The network as a fabric: its ports are those to the outside; packets of simulated flows do not leave by them.
///
/// A packet enters after all events up to its time. It needs a [`Passage`](crate::Passage) of the network from one port
/// to the other: a packet without a passage, or after the end of the run, is dropped.
impl Fabric for Engine<'_> {
    fn ports(&self) -> Port {
        any_loop!(ref self, event_loop => event_loop.ports())
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        any_loop!(mut self, event_loop => event_loop.inject(now, from, to, parcel))
    }

    fn next_event(&self) -> Option<SimTime> {
        Self::next_event(self)
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        // Process events only until a packet leaves, so that the caller gets each packet at its departure time.
        any_loop!(mut self, event_loop => loop {
            let left = event_loop.poll();
            if left.is_some() || !event_loop.run(now, 1) {
                return left.or_else(|| event_loop.poll());
            }
        })
    }

    fn prepare(&mut self) {
        any_loop!(mut self, event_loop => event_loop.prepare());
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        Self::advance(self, now);
        let statistics = any_loop!(ref self, event_loop => event_loop.outside_statistics().clone());
        LinkReport::new(now, statistics, Occupancy::None)
    }

    fn trace(&mut self, keep: bool) {
        self.trace_links(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        if self.traced.is_empty() {
            let events = self.link_events();
            self.traced.extend(events.into_iter().map(|(_, event)| event));
        }
        self.traced.pop_front()
    }
}
