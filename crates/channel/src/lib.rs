//! Fading channels and the losses they cause.
//!
//! [`TwoStateMarkov`] is the channel of the analysis: good and bad steps, described by transition
//! probabilities, by loss rate and burst length, or by the Rayleigh fading that it stands for
//! ([`RayleighFading`]). [`MarkovLoss`] runs it. [`SampledRayleigh`] is the fading itself, [`RayleighLoss`]
//! what is lost below a threshold of it. [`Iid`] has no memory; [`DropList`] loses what one lists.

mod drop_list;
mod error;
mod geometric;
mod iid;
mod loss;
mod markov;
mod rayleigh;
mod sampled_rayleigh;

pub use drop_list::DropList;
pub use error::ChannelError;
pub use iid::Iid;
pub use loss::{Clock, LossProcess, Lossless};
pub use markov::{MarkovLoss, TwoStateMarkov};
pub use rayleigh::{RayleighFading, fading_margin_db, p_e_from_fading_margin_db};
pub use sampled_rayleigh::{RayleighLoss, SampledRayleigh};
