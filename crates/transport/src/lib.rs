//! TCP endpoints without IO.
//!
//! Time is an argument and packets are return values, so the same machines run under the event queue of a
//! simulation, in a test that plays the network by hand, and against real time.

mod config;
pub mod congestion;
mod receiver;
pub mod recovery;
mod rfc;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod state;

pub use config::{Flavour, RtoConfig, RtoRule, TcpConfig, Variant};
pub use receiver::{Received, Receiver};
pub use recovery::AckOutcome;
pub use rfc::{RateReduction, ReductionBound, RfcConfig};
pub use rto::{RetransmissionTimeout, RetransmissionTimer};
pub use segment::{Ack, SackBlock, SackBlocks, Segment};
pub use sender::{Expired, Sender, SenderStatistics};
pub use state::SendState;
