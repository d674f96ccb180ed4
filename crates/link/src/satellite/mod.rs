//! A link to a satellite whose scheduler assigns satellites and rates anew at the boundaries of slots, all at the same
//! times: the periodic link that measurements of low orbits show.
//!
//! [`SatelliteConfig`] is what both directions share: slots, what happens at their boundaries ([`Gate`]), propagation
//! ([`BaseDelay`], [`Orbit`]) and obstructions. [`DirectionConfig`] is what one direction has of its own. [`Satellite`]
//! makes a
//! [`Link`](crate::Link) of both. Every draw belongs to a slot, or to a step in a slot, and is found from its number: what holds
//! at a time does not depend on when, how often or by whom it is asked.

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
