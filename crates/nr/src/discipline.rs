//! A queue discipline before a user's bearer: which packet is sent next, and which are dropped or marked early.

use crate::stack_config::Way;
use crossfade_core::{OutOfRange, RunSeed, SimTime};
use crossfade_link::{Parcel, QueueConfig, QueueDiscipline, Waiting};

/// Packets of a user that nothing has asked for yet.
///
/// The discipline decides on a packet as that becomes the next to be sent. What is dropped is kept until somebody takes
/// it.
pub(crate) struct Discipline {
    queue: Box<dyn QueueDiscipline + Send>,
    dropped: Vec<Waiting>,
}

impl Discipline {
    /// The queue of user `number`, without packets. Its stream is called `queue.nr.N`, on the uplink `queue.nr.up.N`.
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

    /// Takes a packet, or turns it away.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) -> bool {
        self.queue.enqueue(now, parcel, &mut self.dropped).is_ok()
    }

    /// The next packet to be sent.
    pub(crate) fn next(&mut self, now: SimTime) -> Option<Waiting> {
        self.queue.dequeue(now, &mut self.dropped)
    }

    /// Packets that came at `until` or before, which are taken out.
    pub(crate) fn discard(&mut self, now: SimTime, until: SimTime) -> Vec<Waiting> {
        let mut discarded = Vec::new();
        self.queue.discard(now, until, &mut discarded);
        discarded
    }

    /// Packets dropped since the last call.
    pub(crate) fn dropped(&mut self) -> impl Iterator<Item = Parcel> + '_ {
        self.dropped.drain(..).map(|waiting| waiting.packet)
    }

    /// Packets, and their bytes.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        (self.queue.packets(), self.queue.bytes())
    }

    /// Whether packets wait, or were dropped of which nobody was told.
    pub(crate) fn is_busy(&self) -> bool {
        self.queue.packets() > 0 || !self.dropped.is_empty()
    }

    /// All packets.
    pub(crate) fn parcels(&self) -> Vec<Parcel> {
        let mut parcels = Vec::new();
        self.queue.each(&mut |waiting| parcels.push(waiting.packet));
        parcels
    }

    /// Arrival time of each packet.
    pub(crate) fn since(&self) -> Vec<SimTime> {
        let mut since = Vec::new();
        self.queue.each(&mut |waiting| since.push(waiting.since));
        since
    }

    /// Number of packets marked.
    pub(crate) fn ecn_marks(&self) -> u64 {
        self.queue.ecn_marks()
    }
}
