//! One direction through the network: access delays of the hosts, and the links that it uses alone.

use crate::layout::Layout;
use crate::line::DelayLine;
use crate::medium::AnyLink;
use crate::packets::Packets;
use crate::path_link::PathLink;
use crate::routing::Next;
use crossfade_core::SimTime;

/// Which lines and links a packet takes is written in its flow.
pub(crate) struct Path<P, L: Layout> {
    pub(crate) packets: Packets<P>,
    /// From the hosts to the first link.
    pub(crate) entries: L::Lines,
    /// That no other direction uses.
    pub(crate) links: L::Links,
    /// From the last link to the hosts.
    pub(crate) exits: L::Lines,
}

impl<P, L: Layout> Path<P, L> {
    pub(crate) fn new(entries: &[SimTime], links: Vec<(AnyLink, Next)>, exits: &[SimTime]) -> Self {
        let lines =
            |delays: &[SimTime]| delays.iter().map(|&delay| DelayLine::new(delay)).collect::<Vec<_>>().into();
        Self {
            packets: Packets::new(),
            entries: lines(entries),
            links: links.into_iter().map(|(link, next)| PathLink::new(link, next)).collect::<Vec<_>>().into(),
            exits: lines(exits),
        }
    }
}
