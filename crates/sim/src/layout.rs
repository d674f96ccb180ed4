//! How the engine lays out its tables: the same code for any network, and without a detour for the smallest
//! one.
//!
//! One flow over one hop each way is what the papers need by the hundred million slots. With tables of one
//! place the compiler knows every address, and that there are no access lines; it makes the engine a sixth
//! faster.

use crate::flow::Flow;
use crate::path::{DelayLine, PathLink, Ticket};
use crossfade_core::SimTime;
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{
    AnyLinkConfig, Departure, Hop, HopConfig, Link, LinkConfig, LinkError, LinkStatistics, Push, Queue,
};
use std::ops::{Deref, DerefMut};

/// A choice of tables.
pub(crate) trait Layout {
    type Flows: Table<Flow> + Extend<Flow>;
    type Link: PathLinkKind;
    type Links: Table<PathLink<Self::Link>>;
    type Lines: Table<DelayLine>;
}

/// A slice that is made of a vector.
pub(crate) trait Table<T>: Deref<Target = [T]> + DerefMut + From<Vec<T>> {}

impl<T, S: Deref<Target = [T]> + DerefMut + From<Vec<T>>> Table<T> for S {}

/// Any number of flows, links and access lines.
pub(crate) struct Many;

impl Layout for Many {
    type Flows = Vec<Flow>;
    type Link = AnyLink;
    type Links = Vec<PathLink<AnyLink>>;
    type Lines = Vec<DelayLine>;
}

/// One flow over one [`Hop`] each way, without access lines.
pub(crate) struct Single;

impl Layout for Single {
    type Flows = Places<Flow, 1>;
    type Link = Hop<Ticket>;
    type Links = Places<PathLink<Hop<Ticket>>, 1>;
    type Lines = Places<DelayLine, 0>;
}

/// So many places.
pub(crate) struct Places<T, const N: usize>([T; N]);

impl<T, const N: usize> Deref for Places<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> DerefMut for Places<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T, const N: usize> From<Vec<T>> for Places<T, N> {
    fn from(places: Vec<T>) -> Self {
        let places = places.try_into();
        Self(places.unwrap_or_else(|places: Vec<T>| panic!("{} for {N} places", places.len())))
    }
}

impl<T, const N: usize> Extend<T> for Places<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, more: I) {
        assert!(more.into_iter().next().is_none(), "nobody comes where places are counted");
    }
}

/// A link that is made of its configuration.
pub(crate) trait PathLinkKind: Link<Ticket> + Sized {
    fn build(config: AnyLinkConfig) -> Result<Self, LinkError>;

    /// When the transmitter has sent everything it holds, where that is known.
    fn idle_at(&self) -> Option<SimTime>;
}

impl PathLinkKind for Hop<Ticket> {
    fn build(config: AnyLinkConfig) -> Result<Self, LinkError> {
        let AnyLinkConfig::Constant(LinkConfig {
            rate_bps,
            delay,
            queue: Queue::DropTail(queue_limit),
            loss,
        }) = config
        else {
            unreachable!("a hop is drop-tail and of constant rate")
        };
        Ok(Self::new(HopConfig { rate_bps, delay, queue_limit, loss }))
    }

    fn idle_at(&self) -> Option<SimTime> {
        Some(Hop::idle_at(self))
    }
}

/// The usual kind of link is known to the compiler.
#[expect(clippy::large_enum_variant, reason = "there are few links")]
pub(crate) enum AnyLink {
    Hop(Hop<Ticket>),
    Other(Box<dyn Link<Ticket> + Send>),
}

impl PathLinkKind for AnyLink {
    fn build(config: AnyLinkConfig) -> Result<Self, LinkError> {
        Ok(match config {
            AnyLinkConfig::Constant(LinkConfig { queue: Queue::DropTail(_), .. }) => {
                Self::Hop(Hop::build(config)?)
            }
            _ => Self::Other(config.build()?),
        })
    }

    fn idle_at(&self) -> Option<SimTime> {
        match self {
            Self::Hop(hop) => Some(hop.idle_at()),
            Self::Other(_) => None,
        }
    }
}

impl Link<Ticket> for AnyLink {
    #[inline]
    fn push(&mut self, now: SimTime, ticket: Ticket) -> Push {
        match self {
            Self::Hop(hop) => hop.push(now, ticket),
            Self::Other(link) => link.push(now, ticket),
        }
    }

    #[inline]
    fn next_event(&self) -> Option<SimTime> {
        match self {
            Self::Hop(hop) => hop.next_event(),
            Self::Other(link) => link.next_event(),
        }
    }

    #[inline]
    fn advance(&mut self, now: SimTime) -> Option<Departure<Ticket>> {
        match self {
            Self::Hop(hop) => hop.advance(now),
            Self::Other(link) => link.advance(now),
        }
    }

    fn catch_up(&mut self, now: SimTime) {
        match self {
            Self::Hop(hop) => hop.catch_up(now),
            Self::Other(link) => link.catch_up(now),
        }
    }

    fn statistics(&self) -> &LinkStatistics {
        match self {
            Self::Hop(hop) => hop.statistics(),
            Self::Other(link) => link.statistics(),
        }
    }
    fn arq_statistics(&self) -> Option<&ArqStatistics> {
        match self {
            Self::Hop(hop) => hop.arq_statistics(),
            Self::Other(link) => link.arq_statistics(),
        }
    }
}
