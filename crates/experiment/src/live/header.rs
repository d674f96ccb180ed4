//! Header of a journal, from which the links of its run can be built again.

use crossfade_core::RunSeed;
use crossfade_scenario::RESULTS_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Source of a scenario, which can be read again on any machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    /// Name of the scenario in messages.
    pub name: String,
    /// The TOML text.
    pub text: String,
    /// Overrides of its keys, as [`crossfade_scenario::Overrides`] reads them.
    pub overrides: Value,
    /// Texts of the files that the scenario names.
    pub files: BTreeMap<String, String>,
}

/// Header of a journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The scenario.
    pub scenario: Source,
    /// Number of the point of the plan.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the run.
    pub run: u64,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// Whether losses applied to TCP segments with data alone.
    pub data_only: bool,
    /// Whether the scenario's built-in transfers ran, instead of a user's program.
    #[serde(default)]
    pub bulk: bool,
    /// Version of the Crossfade that made the recording.
    pub version: String,
    /// Results version of the Crossfade that made the recording.
    pub results_version: u32,
    /// Release of the operating system's kernel under the recorded run.
    pub kernel: String,
}

impl Header {
    /// The header of a run that is about to begin.
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
