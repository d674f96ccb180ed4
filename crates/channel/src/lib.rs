//! Fading channels and the losses they cause.

mod loss;

pub use loss::{Clock, LossProcess, Lossless};
