//! Schedulers of a cell's downlink and uplink: a file of its own, since the tables of both name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who gets which bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerWord {
    /// Each user the one that is predicted to be best, users choosing in turns: one bin a user and slot.
    BestBin,
    /// All bins go to the users with something to send, in turns.
    RoundRobin,
    /// Each bin goes to the user with the highest predicted ratio in it.
    MaxSinr,
    /// Each bin goes to the user whose predicted rate in it is highest relative to what the user had.
    ProportionalFair,
}
