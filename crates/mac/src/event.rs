//! What happens on the air.

use crate::station::FrameKind;
use crossfade_core::SimTime;

/// A link event of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// A node sends a frame.
    Air {
        /// Who.
        node: u32,
        /// Which frame.
        frame: FrameKind,
        /// For whom.
        to: u32,
        /// When the frame begins.
        start: SimTime,
        /// When it ends.
        end: SimTime,
        /// Whom the node nulls meanwhile.
        nulls: Vec<u32>,
    },
    /// A node learns of an exchange nearby that keeps it from calling the node that its packet is for.
    Defer {
        /// When.
        at: SimTime,
        /// Who.
        node: u32,
        /// Whom it would call.
        to: u32,
        /// Until when it waits at least.
        until: SimTime,
    },
    /// A packet joins a queue or leaves it.
    Queue {
        /// When.
        at: SimTime,
        /// Whose queue.
        node: u32,
        /// How many packets wait now, the one being sent apart.
        length: u32,
    },
}

impl LinkEvent {
    /// When it begins.
    pub fn at(&self) -> SimTime {
        match *self {
            Self::Air { start, .. } => start,
            Self::Defer { at, .. } | Self::Queue { at, .. } => at,
        }
    }
}
