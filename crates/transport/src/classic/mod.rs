//! TCP senders of flavours `paper` (Zorzi, Chockalingam and Rao 2000) and `ns2` (ns-2.35). They share one state; each
//! has its own loss recovery.

mod ns2_newreno;
mod ns2_reno;
mod ns2_sack;
mod ns2_tahoe;
mod paper;
mod recovery;
mod rto;
mod scoreboard;
mod state;

pub use recovery::LossRecovery;
pub use rto::{RetransmissionTimeout, RetransmissionTimer};
pub use state::SendState;

use crate::config::{Flavour, TcpConfig, Variant};
use crate::congestion::CongestionControl;
use crate::outcome::SenderStatistics;

/// A sender of flavour `paper` or `ns2`.
pub(crate) struct Classic {
    pub(crate) state: SendState,
    pub(crate) recovery: Box<dyn LossRecovery>,
    pub(crate) statistics: SenderStatistics,
}

impl Classic {
    pub(crate) fn new(config: &TcpConfig, congestion: Box<dyn CongestionControl>) -> Self {
        Self {
            state: SendState::new(config, congestion),
            recovery: loss_recovery(config),
            statistics: SenderStatistics::default(),
        }
    }
}

/// Loss recovery that `config` selects.
fn loss_recovery(config: &TcpConfig) -> Box<dyn LossRecovery> {
    match (config.flavour, config.variant) {
        (Flavour::Paper, variant) => Box::new(paper::PaperRecovery::new(variant)),
        (_, Variant::OldTahoe) => Box::new(ns2_tahoe::Tahoe::without_fast_retransmit()),
        (_, Variant::Tahoe) => Box::new(ns2_tahoe::Tahoe::new()),
        (_, Variant::Reno) => Box::new(ns2_reno::Reno::new()),
        (_, Variant::NewReno) => Box::new(ns2_newreno::NewReno::new()),
        (_, Variant::Sack) => Box::new(ns2_sack::Sack1::new()),
    }
}
