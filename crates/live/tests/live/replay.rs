//! The arrivals of a live run, once more, in simulated time.

use crossfade_core::SimTime;
use crossfade_link::{Departure, Link, LinkEvent, LinkReport, Parcel, Push};
use std::sync::{Arc, Mutex};
use std::thread::current;

/// A packet as it is in a simulation too: live, it has the name of its bytes.
fn anonymous(parcel: Parcel) -> Parcel {
    parcel.renamed(0, parcel.flow())
}

/// What passes between a link and whoever drives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    Push(SimTime, Parcel, Push),
    Departure(SimTime, Departure),
}

pub(crate) type Record = Arc<Mutex<Vec<Entry>>>;

/// A link that keeps a record.
pub(crate) struct Recorded<L> {
    link: L,
    record: Record,
}

impl<L> Recorded<L> {
    pub(crate) fn new(link: L) -> (Self, Record) {
        let record = Record::default();
        (Self { link, record: Arc::clone(&record) }, record)
    }
}

impl<L: Link> Link for Recorded<L> {
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        let fate = self.link.push(now, parcel);
        self.record.lock().unwrap().push(Entry::Push(now, anonymous(parcel), fate));
        fate
    }

    fn next_event(&self) -> Option<SimTime> {
        self.link.next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        let departure = self.link.advance(now)?;
        self.record.lock().unwrap().push(Entry::Departure(now, departure.map(anonymous)));
        Some(departure)
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.link.report(now)
    }

    fn trace(&mut self, keep: bool) {
        self.link.trace(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.link.next_trace()
    }
}

/// A link that keeps the names of the threads by which packets enter.
pub(crate) struct Attended<L> {
    link: L,
    threads: Arc<Mutex<Vec<String>>>,
}

impl<L> Attended<L> {
    pub(crate) fn new(link: L) -> (Self, Arc<Mutex<Vec<String>>>) {
        let threads = Arc::default();
        (Self { link, threads: Arc::clone(&threads) }, threads)
    }
}

impl<L: Link> Link for Attended<L> {
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        self.threads.lock().unwrap().push(current().name().unwrap_or_default().to_owned());
        self.link.push(now, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        self.link.next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        self.link.advance(now)
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.link.report(now)
    }

    fn trace(&mut self, keep: bool) {
        self.link.trace(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.link.next_trace()
    }
}

/// Pushes what was pushed, when it was pushed, from an event loop: what the link does then. It ends with the
/// last entry of `record`.
pub(crate) fn replay(link: impl Link, record: &[Entry]) -> Vec<Entry> {
    let (mut link, simulated) = Recorded::new(link);
    let run_until = |link: &mut Recorded<_>, until: SimTime| {
        while let Some(at) = link.next_event().filter(|&at| at <= until) {
            while link.advance(at).is_some() {}
        }
    };
    for entry in record {
        match *entry {
            Entry::Push(now, parcel, _) => {
                run_until(&mut link, now);
                link.push(now, parcel);
            }
            Entry::Departure(at, _) => run_until(&mut link, at),
        }
    }
    let entries = simulated.lock().unwrap();
    entries.clone()
}
