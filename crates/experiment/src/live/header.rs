//! What a journal says of its run: enough to make its links again.

use crossfade_core::RunSeed;
use crossfade_scenario::RESULTS_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a scenario came from, so that it can be read again anywhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    /// What messages call it.
    pub name: String,
    /// The TOML text.
    pub text: String,
    /// What was asked for on top of it, as [`crossfade_scenario::Overrides`] read it.
    pub overrides: Value,
    /// The files that it names.
    pub files: BTreeMap<String, String>,
}

/// What a journal says of its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The scenario.
    pub scenario: Source,
    /// The point, the seed and the run, of which the links draw.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the run.
    pub run: u64,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// Whether losses concerned data alone.
    pub data_only: bool,
    /// Whether the scenario's transfers ran, and not somebody's program.
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
