//! Identity of a run: equal keys mean equal results.
//!
//! The key of a row is a hash of everything that determines its results: the resolved scenario without keys of the plan
//! (title, methods, sweep, number of runs, seed), the content of the files named in it, the version of the results, the
//! seed and the run.

use crate::files::{Files, hex};
use crate::schema::{name_files, plan_keys};
use crate::tables::{Method, Scenario};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Version of the results, raised whenever an unchanged scenario and seed give other numbers (see CHANGES). Rows of
/// different versions have different keys and never mix.
pub const RESULTS_VERSION: u32 = 12;

/// Hash of a resolved scenario, to which a seed and a run can be added.
#[derive(Clone, Debug)]
pub(crate) struct Identity(Sha256);

impl Identity {
    pub(crate) fn of(scenario: &Scenario, files: &Files<'_>) -> Self {
        Self(Sha256::new_with_prefix(format!("[{},{RESULTS_VERSION},", canonical(scenario, files))))
    }

    /// Identity of the point, independent of the seed.
    pub(crate) fn id(&self) -> String {
        hex(self.0.clone())
    }

    /// Key of the row of a method without randomness, such as an analysis.
    pub(crate) fn solution_key(&self, method: Method) -> String {
        hex(self.0.clone().chain_update(format!("{}]", serde_json::json!(method))))
    }

    /// Key of the row of one run of a random method other than simulation.
    pub(crate) fn row_key_of(&self, method: Method, seed: u64, run: u64) -> String {
        hex(self.0.clone().chain_update(format!("{seed},{run},{}]", serde_json::json!(method))))
    }

    /// Key of the row of one simulated run.
    pub(crate) fn row_key(&self, seed: u64, run: u64) -> String {
        hex(self.0.clone().chain_update(format!("{seed},{run}]")))
    }
}

/// Content that determines results, as JSON text with sorted keys. A file counts by its content, not by its name.
fn canonical(scenario: &Scenario, files: &Files<'_>) -> String {
    let mut value = serde_json::to_value(scenario).unwrap_or_default();
    // The format version does not affect results, since defaults of older versions are written out. The constant keeps
    // the keys of rows written under the first version.
    value["schema"] = 1.into();
    for key in plan_keys() {
        remove(&mut value, key);
    }
    // The keys that a Wi-Fi preset stands for are filled in.
    if let Some(network) = value.get_mut("wlan") {
        remove(network, "preset");
    }
    name_files(&mut value, &|name| files.hash(name));
    value.sort_all_objects();
    value.to_string()
}

fn remove(value: &mut Value, key: &str) {
    match key.split_once('.') {
        Some((table, rest)) => remove(&mut value[table], rest),
        None => {
            value.as_object_mut().and_then(|table| table.shift_remove(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Parsed, no_files};

    #[test]
    fn keys_are_hashes_of_the_canonical_text() {
        let mut scenario = Scenario { schema: Some(1), title: Some("x".into()), ..Scenario::default() };
        scenario.run.seed = Some(7);
        scenario.tcp.w_max = Some(crate::quantity::Window::Segments(24));
        let parsed = Parsed::default();
        let files = Files::new(&no_files, &parsed);
        let text = canonical(&scenario, &files);
        assert_eq!(
            text,
            "{\"channel\":{},\"link\":{\"queue\":{}},\"reverse\":{\"channel\":{},\"queue\":{}},\
             \"run\":{},\"schema\":1,\"tcp\":{\"rto\":{},\"w_max\":24}}"
        );
        let whole = format!("[{text},{RESULTS_VERSION},7,0]");
        assert_eq!(Identity::of(&scenario, &files).row_key(7, 0), hex(Sha256::new_with_prefix(whole)));
        // FIPS 180-2, appendix B.1: SHA-256 of "abc".
        assert_eq!(hex(Sha256::new_with_prefix("abc")), "ba7816bf8f01cfea414140de5dae2223");
    }
}
