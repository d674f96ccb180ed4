//! Wi-Fi 4 to 7: modes and durations, aggregates, block acknowledgements, contention, and what can be computed of saturated
//! stations.
//!
//! Protocols here know no engine: time and randomness are arguments.

mod airtime;
mod ampdu;
mod edca;
mod modes;
mod originator;
mod recipient;
mod saturation;

pub use airtime::{AirtimeUser, Overhead, Sharing, around, shares};
pub use ampdu::{Ampdu, AmpduLimits, LONGEST_PPDU, MPDU_OVERHEAD, subframe_bytes};
pub use edca::{BACKGROUND, BEST_EFFORT, BlockAckFrame, Category, Contest, EDCA, SLOT, VIDEO, VOICE};
pub use modes::{Band, Durations, Mode, Standard};
pub use originator::{Originator, Settled, Transmit, expand, on_air};
pub use recipient::{Received, Recipient};
pub use saturation::{Form, Saturated};
