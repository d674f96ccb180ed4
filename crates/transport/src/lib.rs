//! Endpoints of TCP, and of QUIC's loss recovery, without IO.
//!
//! Time is an argument and packets are return values, so one state machine runs under the event queue of a simulation,
//! in a test that plays the network by hand, and in real time.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod accurate_ecn;
mod classic;
mod config;
pub mod congestion;
mod opening;
mod outcome;
mod quic;
mod receiver;
mod rfc;
mod segment;
mod sender;

pub use accurate_ecn::{AccEcn, ByteCounters};
pub use classic::{LossRecovery, RetransmissionTimeout, RetransmissionTimer, SendState};
pub use config::{
    BbrConfig, BbrProfile, CongestionControlKind, Flavour, FullPipeRule, Pacing, QuicConfig, RateReduction,
    ReductionBound, RfcConfig, RtoConfig, RtoRule, Rules, SenderConfig, TcpConfig, Variant,
};
pub use opening::{Opening, Releases};
pub use outcome::{AckOutcome, Expired, SenderStatistics};
pub use receiver::{Received, Receiver};
pub use segment::{Ack, AckFrame, SackBlock, SackBlocks, Segment};
pub use sender::Sender;
