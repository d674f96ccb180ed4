//! Layouts of the engine's tables: one code for any network, specialised for the smallest one.
//!
//! The papers simulate one flow over one hop each way for hundreds of millions of packets. With tables of one entry the
//! compiler knows every address, and that there are no access lines, which makes the engine a sixth faster.

use crate::flow::Flow;
use crate::line::DelayLine;
use crate::medium::AnyLink;
use crate::path_link::{PathLink, PathLinkKind};
use crossfade_link::Hop;
use std::ops::{Deref, DerefMut};

/// Types of the engine's tables, for networks of any size or of one flow.
pub(crate) trait Layout {
    /// True if the layout is for one flow over one hop each way.
    const IS_SINGLE: bool;

    type Flows: Table<Flow> + Extend<Flow>;
    type Link: PathLinkKind;
    type Links: Table<PathLink<Self::Link>>;
    type Lines: Table<DelayLine>;
}

/// A table that is made from a vector and used as a slice.
pub(crate) trait Table<T>: Deref<Target = [T]> + DerefMut + From<Vec<T>> {}

impl<T, S: Deref<Target = [T]> + DerefMut + From<Vec<T>>> Table<T> for S {}

/// Layout for any number of flows, links and access lines.
pub(crate) struct Many;

impl Layout for Many {
    const IS_SINGLE: bool = false;

    type Flows = Vec<Flow>;
    type Link = AnyLink;
    type Links = Vec<PathLink<AnyLink>>;
    type Lines = Vec<DelayLine>;
}

/// Layout for one flow over one [`Hop`] each way, without access lines.
pub(crate) struct Single;

impl Layout for Single {
    const IS_SINGLE: bool = true;

    type Flows = Places<Flow, 1>;
    type Link = Hop;
    type Links = Places<PathLink<Hop>, 1>;
    type Lines = Places<DelayLine, 0>;
}

/// A table of `N` entries.
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
        assert!(more.into_iter().next().is_none(), "a table of fixed size takes no further items");
    }
}
