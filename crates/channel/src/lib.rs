//! Fading channels and the losses they cause.
//!
//! [`TwoStateMarkov`] is the channel of the analysis: good and bad steps, described by transition
//! probabilities, by loss rate and burst length, or by the Rayleigh fading that it stands for ([`RayleighFading`]).
//! [`MarkovLoss`] runs it; [`FiniteStateChannel`] has more states. [`SampledRayleigh`] is the fading itself,
//! [`RayleighLoss`] what is lost below a threshold of it. [`Iid`] has no memory; [`DropList`] loses what one lists,
//! [`TraceLoss`] what a trace lost.
//! [`PathLoss`] and [`LogNormalShadowing`] say how much power of a frame arrives where, with ns-2's defaults.
//! [`MatrixFading`] is fading between several antennas, which [`AntennaCorrelation`] may tie together;
//! [`NoiseSource`] draws Gaussian noise by index, in kernels that run on vectors of any width ([`simd`]).
//! [`DopplerTaps`] is fading of several paths, one value a slot; with a [`DelayProfile`] it becomes the gains of frequency bins
//! ([`FrequencyResponse`]), and [`PredictedFading`] what a transmitter expects of them. [`TravelledShadowing`] is
//! shadowing of that moves. A process of your own (docs/own-model.md) can draw the time that it stays in a state from
//! [`Geometric`].
//!
//! [`MarkovFit`] goes the other way: from recorded losses ([`LossTrace`]) to the chain that describes them, and
//! says whether one does. [`MarkovView`] is what the analysis may take a channel for.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod antenna_correlation;
mod autoregressive;
mod chi_square;
mod complex;
mod config;
mod correlated_shadowing;
mod delay_profile;
mod doppler_taps;
mod drop_list;
mod error;
mod error_rate_loss;
mod finite_state;
mod fourier;
mod frequency_response;
mod geometric;
mod iid;
mod loss;
mod loss_trace;
mod markov;
mod markov_fit;
mod markov_view;
mod matrix;
mod matrix_fading;
mod noise;
mod normal;
mod not_markov;
mod path_loss;
mod predicted_fading;
mod rayleigh;
mod rayleigh_fit;
mod run_lengths;
mod sampled_rayleigh;
mod shadowing;
pub mod simd;
mod trace_loss;
mod travelled_shadowing;

pub use antenna_correlation::{AngularSpread, AntennaCorrelation, parse_angle};
pub use chi_square::ChiSquareTest;
pub use complex::modulus;
pub use config::{LossConfig, RecordedLosses};
pub use correlated_shadowing::{CorrelatedShadowing, ShadowingProcess};
pub use delay_profile::{DelayProfile, MOST_TAPS, NamedProfile, Tap};
pub use doppler_taps::DopplerTaps;
pub use drop_list::DropList;
pub use error::ChannelError;
pub use error_rate_loss::{ErrorRate, ErrorRateLoss, FadingRatio, MOST_PARTS};
pub use finite_state::{FiniteStateChannel, FiniteStateLoss};
pub use frequency_response::FrequencyResponse;
pub use geometric::Geometric;
pub use iid::Iid;
pub use loss::{Clock, LossProcess, Lossless};
pub use loss_trace::{LossTrace, ParsedTrace, TraceError, TraceFormat};
pub use markov::{MarkovLoss, TwoStateMarkov};
pub use markov_fit::{FitError, Interval, MarkovFit, Verdict};
pub use markov_view::{Fidelity, MarkovView};
pub use matrix::{MOST_ANTENNAS, Matrix};
pub use matrix_fading::{MatrixFading, Motion};
pub use noise::{Complex, NoiseSource, Use, positions};
pub use normal::complex_normal;
pub use not_markov::NotMarkov;
pub use path_loss::PathLoss;
pub use predicted_fading::{PredictedFading, wiener_nmse};
pub use rayleigh::{RayleighFading, fading_margin_db, p_e_from_fading_margin_db};
pub use rayleigh_fit::RayleighFit;
pub use run_lengths::{RunDistance, RunLengths};
pub use sampled_rayleigh::{RayleighLoss, SampledRayleigh};
pub use shadowing::LogNormalShadowing;
pub use trace_loss::TraceLoss;
pub use travelled_shadowing::{ShadowingConfig, TravelledShadowing};
