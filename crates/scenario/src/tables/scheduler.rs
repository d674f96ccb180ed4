//! Schedulers of a cell's downlink and uplink: a file of its own, since the tables of both name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduler that gives bins to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerWord {
    /// Users choose their best predicted bin in turns, one bin per user and TTI.
    BestBin,
    /// All bins go in turns to the users with data to send.
    RoundRobin,
    /// Each bin goes to the user with the highest predicted SNR in it.
    MaxSinr,
    /// Each bin goes to the user with the highest ratio of predicted rate to mean rate.
    ProportionalFair,
}
