//! Replay of the arrivals of a live run in simulated time.

use crossfade_core::SimTime;
use crossfade_link::{Decorator, Departure, Link, Parcel, Push};
use std::sync::{Arc, Mutex};
use std::thread::current;

/// A packet as it is in a simulation too: live, it has the name of its bytes.
fn anonymous(parcel: Parcel) -> Parcel {
    parcel.renamed(0, parcel.flow())
}

/// A call to a link, and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    Push(SimTime, Parcel, Push),
    Departure(SimTime, Departure),
}

pub(crate) type Record = Arc<Mutex<Vec<Entry>>>;

/// Tells of each entry.
struct Watch<W>(W);

impl<W: FnMut(Entry)> Decorator for Watch<W> {
    fn push(&mut self, link: &mut impl Link, now: SimTime, parcel: Parcel) -> Push {
        let fate = link.push(now, parcel);
        (self.0)(Entry::Push(now, anonymous(parcel), fate));
        fate
    }

    fn advance(&mut self, link: &mut impl Link, now: SimTime) -> Option<Departure> {
        let departure = link.advance(now)?;
        (self.0)(Entry::Departure(now, departure.map(anonymous)));
        Some(departure)
    }
}

pub(crate) fn watched(link: impl Link, watch: impl FnMut(Entry)) -> impl Link {
    Watch(watch).around(link)
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
