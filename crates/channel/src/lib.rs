//! Fading channels and the losses they cause.
//!
//! [`TwoStateMarkov`] is the channel of the analysis: good and bad steps, described by transition probabilities, by
//! loss rate and mean burst, or by the Rayleigh fading that it approximates ([`RayleighFading`]). [`MarkovLoss`] is its
//! loss process; a [`FiniteStateChannel`] has more states. [`SampledRayleigh`] is Rayleigh fading itself, and
//! [`RayleighLoss`] loses transmissions while its power is below a threshold. [`Iid`] has independent losses,
//! [`DropList`] loses listed transmissions, and [`TraceLoss`] repeats recorded losses. [`PathLoss`] and
//! [`LogNormalShadowing`] give the received power of a frame by distance, with ns-2's defaults. [`MatrixFading`] is
//! fading between several antennas, with [`AntennaCorrelation`] if needed; [`NoiseSource`] draws Gaussian noise by
//! index, in kernels that run on vectors of any width ([`simd`]). [`DopplerTaps`] is fading of several paths, with one
//! value per slot; with a [`DelayProfile`] it gives the gains of frequency bins ([`FrequencyResponse`]), which
//! [`PredictedFading`] predicts with an error. [`TravelledShadowing`] is shadowing along the path of a user. A loss
//! process of your own (docs/own-model.md) can draw the time in a state from [`Geometric`].
//!
//! [`MarkovFit`] fits a chain to recorded losses ([`LossTrace`]), and tests whether a chain describes them.
//! [`MarkovView`] is the chain by which the analysis may replace a channel.

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
