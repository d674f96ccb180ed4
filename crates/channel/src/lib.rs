//! Fading channels and the losses they cause.
//!
//! [`TwoStateMarkov`] is the channel of the analysis: good and bad steps, described by transition
//! probabilities, by loss rate and burst length, or by the Rayleigh fading that it stands for
//! ([`RayleighFading`]). [`MarkovLoss`] runs it. [`SampledRayleigh`] is the fading itself, [`RayleighLoss`]
//! what is lost below a threshold of it. [`Iid`] has no memory; [`DropList`] loses what one lists, [`TraceLoss`]
//! what a trace lost.
//! A process of your own (docs/own-model.md) can draw the time that it stays in a state from [`Geometric`].
//!
//! [`MarkovFit`] goes the other way: from recorded losses ([`LossTrace`]) to the chain that describes them, and
//! says whether one does. [`MarkovView`] is what the analysis may take a channel for.

mod chi_square;
mod drop_list;
mod error;
mod geometric;
mod iid;
mod loss;
mod loss_trace;
mod markov;
mod markov_fit;
mod markov_view;
mod rayleigh;
mod rayleigh_fit;
mod run_lengths;
mod sampled_rayleigh;
mod trace_loss;

pub use chi_square::ChiSquareTest;
pub use drop_list::DropList;
pub use error::ChannelError;
pub use geometric::Geometric;
pub use iid::Iid;
pub use loss::{Clock, LossProcess, Lossless};
pub use loss_trace::{LossTrace, ParsedTrace, TraceError, TraceFormat};
pub use markov::{MarkovLoss, TwoStateMarkov};
pub use markov_fit::{FitError, Interval, MarkovFit, Verdict};
pub use markov_view::{Fidelity, MarkovView, NotMarkov};
pub use rayleigh::{RayleighFading, fading_margin_db, p_e_from_fading_margin_db};
pub use rayleigh_fit::RayleighFit;
pub use run_lengths::{RunDistance, RunLengths};
pub use sampled_rayleigh::{RayleighLoss, SampledRayleigh};
pub use trace_loss::TraceLoss;
