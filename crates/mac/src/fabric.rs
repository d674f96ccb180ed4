//! What a fabric is to those who use it: a private copy, until `crossfade-link` has it.

use crate::statistics::MeshReport;
use crossfade_core::SimTime;

/// Codepoint of the ECN field of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// No ECN-capable transport.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Parcel {
    /// Its owner's name for it.
    pub id: u64,
    /// The flow it belongs to.
    pub flow: u32,
    /// The user it belongs to.
    pub user: u32,
    /// Its length in bytes, as the network layer hands it over.
    pub bytes: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// Where packets go in and come out.
pub type Port = usize;

/// What became of a packet that was pushed, as far as it is known at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It is under way: [`Fabric::advance`] will tell its fate.
    Accepted,
    /// It is lost: no way leads there.
    Lost,
    /// The queue turned it away.
    QueueDrop,
}

/// How a packet left a fabric that had accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It came out.
    Arrived(Parcel),
    /// The medium lost it, and it was given up.
    Lost(Parcel),
    /// A queue on its way dropped it.
    QueueDrop(Parcel),
}

/// Many ports over one shared medium.
///
/// Every packet leaves exactly once: [`push`](Fabric::push) refuses it, or [`advance`](Fabric::advance) returns it.
/// `advance` is called until it returns nothing; what it returns may be pushed again before the next call.
pub trait Fabric {
    /// How many ports there are.
    fn ports(&self) -> usize;

    /// Takes a packet at port `from` at time `now`, bound for port `to`.
    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push;

    /// When [`advance`](Fabric::advance) has something to do next; `None` until the next push.
    fn next_event(&self) -> Option<SimTime>;

    /// The next packet that has left by `now`, in order of time, and the port it came out at or was bound for.
    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)>;

    /// Statistics of all that has happened by `now`. What is due by then is first to be taken out with `advance`.
    fn report(&mut self, now: SimTime) -> MeshReport;

    /// Whether to keep link events from here on.
    fn trace(&mut self, keep: bool);

    /// The next link event that was kept, in order of time.
    fn next_trace(&mut self) -> Option<crate::event::LinkEvent>;
}
