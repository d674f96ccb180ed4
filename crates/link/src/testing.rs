//! Helpers for the tests of links: a file of its own, since it is compiled for tests alone.

use crate::parcel::{Ecn, Parcel};
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// A packet of flow 0 with the given identity and length.
pub(crate) fn plain(id: u32, bytes: u32) -> Parcel {
    Parcel::new(id, 0, bytes)
}

/// A copy of `parcel` that is ECN-capable, ECT(0), if `is_capable`.
pub(crate) fn capable(parcel: Parcel, is_capable: bool) -> Parcel {
    parcel.with_ecn(if is_capable { Ecn::Ect0 } else { Ecn::NotEct })
}

/// Loss process that loses every third transmission, from the first on, and records the calls.
pub(crate) struct EveryThird(pub(crate) Vec<(SimTime, u64)>);

impl LossProcess for EveryThird {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        self.0.push((now, transmission));
        assert!(self.0.is_sorted());
        transmission.is_multiple_of(3)
    }
}
