//! Links over low-orbit satellites. A scheduler assigns satellites and rates anew at slot boundaries, at the same times
//! for all terminals; so the link is periodic, as measurements show.
//!
//! [`SatelliteConfig`] has the parameters of both directions: slots, their boundaries ([`Gate`]), propagation
//! ([`BaseDelay`], [`Orbit`]) and obstructions. [`DirectionConfig`] has those of one direction. [`Satellite`] makes a
//! [`Link`](crate::Link) from both. Every random number belongs to a slot or a step and is computed from its number, so
//! the state at a given time does not depend on earlier queries.

mod config;
mod delay;
mod direction;
mod fluid;
mod gate;
mod grants;
mod link;
mod losses;
mod orbit;
mod profiles;
mod slots;
#[cfg(test)]
mod tests;

pub use config::{BaseDelay, ClosedForms, DirectionConfig, DirectionName, SatelliteConfig, Spike};
pub use direction::Capacities;
pub use gate::Gate;
pub use link::Satellite;
pub use orbit::{Orbit, Place, Shell};
pub use profiles::Profile;
