//! Queue discipline before a user's bearer, which decides the next packet to be sent, and early drops and marks.

use crate::stack_config::Way;
use crossfade_core::{OutOfRange, RunSeed, SimTime};
use crossfade_link::{Parcel, QueueConfig, QueueDiscipline, Waiting};

/// Queued packets of a user that no layer below has requested.
///
/// The discipline decides on a packet when it becomes the next to be sent. Dropped packets are kept until the caller
/// takes them.
pub(crate) struct Discipline {
    queue: Box<dyn QueueDiscipline + Send>,
    dropped: Vec<Waiting>,
}

impl Discipline {
    /// Empty queue of user `number`. Its random stream is named `queue.nr.N`, in the uplink `queue.nr.up.N`.
    pub(crate) fn new(
        config: QueueConfig,
        way: Way,
        number: usize,
        seed: RunSeed,
    ) -> Result<Self, OutOfRange> {
        let way = if way == Way::Down { "" } else { "up." };
        let queue = config.build(seed.stream(&format!("queue.nr.{way}{number}")))?;
        Ok(Self { queue, dropped: Vec::new() })
    }

    /// Enqueues a packet; returns false if the discipline rejects it.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) -> bool {
        self.queue.enqueue(now, parcel, &mut self.dropped).is_ok()
    }

    /// Takes the next packet to be sent; `None` if the queue is empty.
    pub(crate) fn next(&mut self, now: SimTime) -> Option<Waiting> {
        self.queue.dequeue(now, &mut self.dropped)
    }

    /// Removes and returns the packets that arrived at `until` or before.
    pub(crate) fn discard(&mut self, now: SimTime, until: SimTime) -> Vec<Waiting> {
        let mut discarded = Vec::new();
        self.queue.discard(now, until, &mut discarded);
        discarded
    }

    /// Takes the packets dropped since the last call.
    pub(crate) fn dropped(&mut self) -> impl Iterator<Item = Parcel> + '_ {
        self.dropped.drain(..).map(|waiting| waiting.packet)
    }

    /// Number of queued packets, and their bytes.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        (self.queue.packets(), self.queue.bytes())
    }

    /// True if packets are queued, or dropped packets have not been taken.
    pub(crate) fn is_busy(&self) -> bool {
        self.queue.packets() > 0 || !self.dropped.is_empty()
    }

    /// All queued packets.
    pub(crate) fn parcels(&self) -> Vec<Parcel> {
        let mut parcels = Vec::new();
        self.queue.each(&mut |waiting| parcels.push(waiting.packet));
        parcels
    }

    /// Arrival time of each queued packet.
    pub(crate) fn since(&self) -> Vec<SimTime> {
        let mut since = Vec::new();
        self.queue.each(&mut |waiting| since.push(waiting.since));
        since
    }

    /// Number of packets marked with CE.
    pub(crate) fn ecn_marks(&self) -> u64 {
        self.queue.ecn_marks()
    }
}
