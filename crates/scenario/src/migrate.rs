//! Conversion of scenario files in older versions of the format.

use crate::error::ScenarioError;
use serde_json::{Map, Value, json};

/// Current version of the scenario format, the value of `schema` in a file.
const VERSION: u32 = 2;

/// Converts a document to the current version of the format, before any key is set, since versions differ in keys and
/// defaults.
///
/// # Errors
/// The version is missing or unknown.
pub(crate) fn migrate(root: &mut Map<String, Value>) -> Result<(), ScenarioError> {
    match root.get("schema") {
        None => return Err(ScenarioError::missing("schema", "write schema = 2")),
        Some(version) if *version == 1 => write_flavour(root),
        Some(version) if *version == VERSION => {}
        Some(version) => {
            let problem = "must be 2, the version of the format that is read here, or 1";
            return Err(ScenarioError::value("schema", version, problem));
        }
    }
    root.insert("schema".to_owned(), json!(VERSION));
    Ok(())
}

/// Writes the default TCP flavour of version 1 ("paper") into a document that gives none; the default of version 2 is
/// "rfc".
fn write_flavour(root: &mut Map<String, Value>) {
    let is_of_tcp = |key: &String| key.split(['.', ',']).any(|part| part.trim() == "tcp");
    let is_swept =
        root.get("sweep").and_then(Value::as_object).is_some_and(|axes| axes.keys().any(is_of_tcp));
    if is_swept {
        root.entry("tcp").or_insert_with(|| json!({}));
    }
    if let Some(tcp) = root.get_mut("tcp") {
        // Flows inherit the keys that they do not set.
        return say_paper(tcp);
    }
    let flows = root.get_mut("flows").and_then(Value::as_object_mut);
    flows.into_iter().flat_map(Map::values_mut).filter_map(|flow| flow.get_mut("tcp")).for_each(say_paper);
}

fn say_paper(tcp: &mut Value) {
    if let Some(tcp) = tcp.as_object_mut() {
        tcp.entry("flavour").or_insert_with(|| json!("paper"));
    }
}
