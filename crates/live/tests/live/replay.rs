//! Replay of the arrivals of a live run in simulated time.

use crossfade_core::SimTime;
use crossfade_link::{Decorator, Departure, Link, Parcel, Push};
use std::sync::{Arc, Mutex};
use std::thread::current;

/// Parcel without its id, as for comparison with a simulation: in an emulation the id names the packet's bytes.
fn anonymous(parcel: Parcel) -> Parcel {
    parcel.renamed(0, parcel.flow())
}

/// A call to a link, with its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    Push(SimTime, Parcel, Push),
    Departure(SimTime, Departure),
}

pub(crate) type Record = Arc<Mutex<Vec<Entry>>>;

/// Wrapper of a link that passes each entry to a function.
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

/// Wraps a link so that all calls are recorded.
pub(crate) fn recorded(link: impl Link) -> (impl Link, Record) {
    let record = Record::default();
    let kept = Arc::clone(&record);
    (watched(link, move |entry| kept.lock().unwrap().push(entry)), record)
}

/// Wraps a link so that the names of the threads by which packets enter are recorded.
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

/// Pushes the packets of `record` into `link` at their recorded times, from an event loop, until the last entry of the
/// record; returns the calls with their results.
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
