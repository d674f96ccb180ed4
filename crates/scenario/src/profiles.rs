//! Link profiles: `link = "profile:NAME"` stands for the tables of a file that the caller supplies.

use crate::document::{merge_value, parse_toml};
use crate::error::{ScenarioError, join};
use serde_json::{Map, Value};

/// Prefix of a value of `link` that names a link profile.
pub(crate) const PREFIX: &str = "profile:";

/// Function of a key and a file name that returns the text of the file.
pub(crate) type Read<'a> = &'a dyn Fn(&str, &str) -> Result<String, ScenarioError>;

/// Tables that a link profile may contain, besides its description.
const TABLES: [&str; 4] = ["channel", "link", "reverse", "wired"];

/// Table in which a link profile states its source.
const DESCRIPTION: &str = "profile";

/// Merges the tables of the link profile that `link` names under those of `tables`: keys of the scenario take
/// precedence. `tables` are those of the scenario, or of the alternative at `place`.
///
/// # Errors
/// No such profile; its content is not a profile.
pub(crate) fn expand(
    tables: &mut Map<String, Value>,
    place: &str,
    read: Read<'_>,
) -> Result<(), ScenarioError> {
    let Some(name) = named(tables) else { return Ok(()) };
    let key = if place.is_empty() { "link".to_owned() } else { join(place, "link") };
    let refuse = |problem: String| ScenarioError::value(&key, &Value::from(name.as_str()), problem);
    let text = read(&key, &name)?;
    for (table, mut value) in parse_toml(&text, &name)? {
        if table == DESCRIPTION {
            continue;
        }
        if !TABLES.contains(&table.as_str()) || !value.is_object() {
            return Err(refuse(format!(
                "the profile has a table {table}; it may have {}",
                TABLES.join(", ")
            )));
        }
        if let Some(own) = tables.get(&table) {
            merge_value(&mut value, own);
        }
        tables.insert(table, value);
    }
    if named(tables).is_some() {
        return Err(refuse("the profile has no table link".to_owned()));
    }
    Ok(())
}

/// Like [`expand`], but for the tables of all alternatives of a complete document.
///
/// # Errors
/// Those of [`expand`].
pub(crate) fn expand_alternatives(
    root: &mut Map<String, Value>,
    read: Read<'_>,
) -> Result<(), ScenarioError> {
    let Some(by_name) = root.get_mut("alternatives").and_then(Value::as_object_mut) else { return Ok(()) };
    for (name, tables) in by_name {
        if let Some(tables) = tables.as_object_mut() {
            expand(tables, &join("alternatives", name), read)?;
        }
    }
    Ok(())
}

/// Name of the profile that `link` in `tables` names.
fn named(tables: &Map<String, Value>) -> Option<String> {
    tables.get("link").and_then(Value::as_str).filter(|name| name.starts_with(PREFIX)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::plan::{Overrides, Plan};
    use serde_json::{Value, json};

    const PROFILES: [(&str, &str); 4] = [
        (
            "profile:dsl",
            r#"
            profile = { title = "A line", source = "nobody" }
            channel = { model = "iid", p_e = 0.001 }
            link = { rate = "10 Mbit/s", packet_size = "1500 B", queue = { limit = "100 packets" } }
            reverse = { rate = "1 Mbit/s" }
            wired = { rtt = "30 ms" }
            "#,
        ),
        (
            "profile:lan",
            r#"
            channel = { model = "none" }
            link = { rate = "1 Gbit/s", packet_size = "1500 B" }
            "#,
        ),
        ("profile:odd", "tcp = { variant = \"sack\" }"),
        ("profile:empty", "channel = { model = \"none\" }"),
    ];

    fn read(name: &str) -> Result<String, String> {
        let found = PROFILES.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such profile".to_owned())
    }

    fn load(text: &str, overrides: &Value) -> Result<Plan, String> {
        let text =
            format!("schema = 2\ntcp = {{ variant = \"sack\" }}\nrun = {{ duration = \"1 s\" }}\n{text}");
        let overrides: Overrides = serde_json::from_value(overrides.clone()).unwrap();
        Plan::load_with_files(&text, "x.toml", &overrides, &read).map_err(|error| error.to_string())
    }

    fn document(plan: &Plan, point: usize) -> Value {
        serde_json::to_value(&plan.points.at(point).scenario).unwrap()
    }

    #[test]
    fn a_profile_is_its_tables() {
        let plan = load("link = \"profile:dsl\"", &json!({})).unwrap();
        let written = PROFILES[0].1.replace("profile = { title = \"A line\", source = \"nobody\" }", "");
        let spelled = load(&written, &json!({})).unwrap();
        assert_eq!(document(&plan, 0), document(&spelled, 0));
        assert_eq!(plan.points.id(0), spelled.points.id(0));
    }

    #[test]
    fn own_keys_stand_above_it() {
        let text = "link = \"profile:dsl\"\nchannel = { p_e = 0.01 }\nwired = { rtt = \"50 ms\" }";
        let set = json!({ "set": [["link.queue.limit", "7 packets"], ["reverse.rate", "2 Mbit/s"]] });
        let spelled = r#"
            channel = { model = "iid", p_e = 0.01 }
            link = { rate = "10 Mbit/s", packet_size = "1500 B", queue = { limit = "7 packets" } }
            reverse = { rate = "2 Mbit/s" }
            wired = { rtt = "50 ms" }
        "#;
        let (found, expected) = (load(text, &set).unwrap(), load(spelled, &json!({})).unwrap());
        assert_eq!(document(&found, 0), document(&expected, 0));
    }

    #[test]
    fn a_profile_that_is_set_leaves_nothing_of_the_one_before() {
        let set = json!({ "set": [["link", "profile:lan"]] });
        let found = load("link = \"profile:dsl\"", &set).unwrap();
        let expected = load("link = \"profile:lan\"", &json!({})).unwrap();
        assert_eq!(document(&found, 0), document(&expected, 0));
        assert_eq!(found.points.id(0), expected.points.id(0));
    }

    #[test]
    fn it_is_set_swept_and_an_alternative() {
        let link = "channel = { model = \"none\" }\nlink = { rate = \"1 Mbit/s\", packet_size = \"1500 B\" }";
        let set = load(link, &json!({ "set": [["link", "profile:lan"]] })).unwrap();
        assert_eq!(document(&set, 0)["link"]["rate"], json!("1000000000 bit/s"));
        for swept in [
            load("sweep = { link = [\"profile:lan\", \"profile:dsl\"] }", &json!({})),
            load("link = \"profile:dsl\"", &json!({ "over": [["link", ["profile:lan", "profile:dsl"]]] })),
        ] {
            let swept = swept.unwrap();
            let rates: Vec<Value> =
                (0..2).map(|point| document(&swept, point)["link"]["rate"].clone()).collect();
            assert_eq!(rates, [json!("1000000000 bit/s"), json!("10000000 bit/s")]);
            // No key of one profile remains in the other.
            assert!(document(&swept, 0)["channel"].get("p_e").is_none_or(Value::is_null));
            assert_eq!(swept.points.axes(0)["link"], json!("profile:lan"));
        }
        let text = "[alternatives.lan]\nlink = \"profile:lan\"\n[alternatives.dsl]\nlink = \"profile:dsl\"";
        let named = load(text, &json!({})).unwrap();
        let dsl = load("link = \"profile:dsl\"", &json!({})).unwrap();
        assert_eq!(named.points.id(1), dsl.points.id(0));
    }

    #[test]
    fn what_is_none_is_named() {
        let said = |text: &str| load(text, &json!({})).unwrap_err();
        assert_eq!(said("link = \"profile:x\""), "link = \"profile:x\": no such profile");
        assert!(said("link = \"profile:odd\"").contains("the profile has a table tcp; it may have channel,"));
        assert!(said("link = \"profile:empty\"").contains("the profile has no table link"));
        assert!(said("link = \"dsl\"").starts_with("link = \"dsl\": must be a table"));
        let nested = "[alternatives.a]\nlink = \"profile:x\"";
        assert_eq!(said(nested), "alternatives.a.link = \"profile:x\": no such profile");
    }
}
