//! Header of a journal: everything from which the links of its run are built again.

use crossfade_core::RunSeed;
use crossfade_scenario::RESULTS_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Source of a scenario with the texts of its files, so that it can be loaded on any machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    /// Name of the scenario in error messages.
    pub name: String,
    /// Text of the scenario in TOML.
    pub text: String,
    /// Overrides of the scenario's keys, as [`crossfade_scenario::Overrides`] reads them.
    pub overrides: Value,
    /// Texts of the files that the scenario names, by name.
    pub files: BTreeMap<String, String>,
}

/// Header of a journal of a live run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Scenario of the run.
    pub scenario: Source,
    /// Number of the point in the plan of the scenario.
    pub point: usize,
    /// Seed of the random streams.
    pub seed: u64,
    /// Number of the run (replication), counted from 0.
    pub run: u64,
    /// MTU of the hosts: bytes of the largest IP packet.
    pub mtu: u32,
    /// True if losses applied only to TCP segments that carry data.
    pub data_only: bool,
    /// True if the scenario's built-in transfers ran, false if a user's program ran.
    #[serde(default)]
    pub bulk: bool,
    /// Version of the Crossfade that recorded the run.
    pub version: String,
    /// Results version of the Crossfade that recorded the run.
    pub results_version: u32,
    /// Release of the Linux kernel under the recorded run.
    pub kernel: String,
}

impl Header {
    /// Header of a run that is about to begin.
    pub(super) fn new(
        scenario: Source,
        point: usize,
        seed: RunSeed,
        mtu: u32,
        [data_only, bulk]: [bool; 2],
        version: Option<String>,
    ) -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            scenario,
            point,
            seed: seed.seed,
            run: seed.run,
            mtu,
            data_only,
            bulk,
            version: version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            results_version: RESULTS_VERSION,
            kernel: kernel.trim().to_owned(),
        }
    }
}
