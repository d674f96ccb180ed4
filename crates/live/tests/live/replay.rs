//! The arrivals of a live run, once more, in simulated time.

use crossfade_core::SimTime;
use crossfade_link::{Departure, Link, LinkStatistics, Packet, Push};
use std::sync::{Arc, Mutex};

/// A packet, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    bytes: u32,
    flow: u32,
    is_ecn_capable: bool,
}

impl Shape {
    /// A packet of no flow in particular.
    pub(crate) fn plain(bytes: u32) -> Self {
        Self { bytes, flow: 0, is_ecn_capable: false }
    }

    fn of(packet: &impl Packet) -> Self {
        Self { bytes: packet.bytes(), flow: packet.flow(), is_ecn_capable: packet.is_ecn_capable() }
    }
}

impl Packet for Shape {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn is_ecn_capable(&self) -> bool {
        self.is_ecn_capable
    }
}

/// What passes between a link and whoever drives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    Push(SimTime, Shape, Push),
    Departure(SimTime, Departure<Shape>),
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

impl<P: Packet, L: Link<P>> Link<P> for Recorded<L> {
    fn push(&mut self, now: SimTime, packet: P) -> Push {
        let shape = Shape::of(&packet);
        let fate = self.link.push(now, packet);
        self.record.lock().unwrap().push(Entry::Push(now, shape, fate));
        fate
    }

    fn next_event(&self) -> Option<SimTime> {
        self.link.next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure<P>> {
        let departure = self.link.advance(now)?;
        let shape = match &departure {
            Departure::Arrived(packet) => Departure::Arrived(Shape::of(packet)),
            Departure::Lost(packet) => Departure::Lost(Shape::of(packet)),
            Departure::QueueDrop(packet) => Departure::QueueDrop(Shape::of(packet)),
        };
        self.record.lock().unwrap().push(Entry::Departure(now, shape));
        Some(departure)
    }

    fn statistics(&self) -> &LinkStatistics {
        self.link.statistics()
    }
}

/// Pushes what was pushed, when it was pushed, from an event loop: what the link does then. It ends with the
/// last entry of `record`.
pub(crate) fn replay(link: impl Link<Shape>, record: &[Entry]) -> Vec<Entry> {
    let (mut link, simulated) = Recorded::new(link);
    let run_until = |link: &mut Recorded<_>, until: SimTime| {
        while let Some(at) = link.next_event().filter(|&at| at <= until) {
            while link.advance(at).is_some() {}
        }
    };
    for entry in record {
        match *entry {
            Entry::Push(now, shape, _) => {
                run_until(&mut link, now);
                link.push(now, shape);
            }
            Entry::Departure(at, _) => run_until(&mut link, at),
        }
    }
    let entries = simulated.lock().unwrap();
    entries.clone()
}
