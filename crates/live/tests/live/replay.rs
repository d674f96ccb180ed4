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

/// A link that tells of each entry.
struct Watched<L, W> {
    link: L,
    watch: W,
}

impl<L: Link, W: FnMut(Entry)> Link for Watched<L, W> {
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        let fate = self.link.push(now, parcel);
        (self.watch)(Entry::Push(now, anonymous(parcel), fate));
        fate
    }

    fn next_event(&self) -> Option<SimTime> {
        self.link.next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        let departure = self.link.advance(now)?;
        (self.watch)(Entry::Departure(now, departure.map(anonymous)));
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

pub(crate) fn watched(link: impl Link, watch: impl FnMut(Entry)) -> impl Link {
    Watched { link, watch }
}

/// A link that keeps a record.
pub(crate) fn recorded(link: impl Link) -> (impl Link, Record) {
    let record = Record::default();
    let kept = Arc::clone(&record);
    (watched(link, move |entry| kept.lock().unwrap().push(entry)), record)
}

/// A link that keeps the names of the threads by which packets enter.
pub(crate) fn attended(link: impl Link) -> (impl Link, Arc<Mutex<Vec<String>>>) {
    let threads = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&threads);
    let watch = move |entry| {
        if let Entry::Push(..) = entry {
            kept.lock().unwrap().push(current().name().unwrap_or_default().to_owned());
        }
    };
    (watched(link, watch), threads)
}

/// Pushes what was pushed, when it was pushed, from an event loop: what the link does then. It ends with the
/// last entry of `record`.
pub(crate) fn replay(link: impl Link, record: &[Entry]) -> Vec<Entry> {
    let (mut link, simulated) = recorded(link);
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

fn run_until(link: &mut impl Link, until: SimTime) {
    while let Some(at) = link.next_event().filter(|&at| at <= until) {
        while link.advance(at).is_some() {}
    }
}
