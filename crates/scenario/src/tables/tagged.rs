//! Tables in which one key, the tag, decides which other keys are taken: `model` of a channel, `protocol` of ARQ.
//!
//! Each word of a tag declares its keys once. Refused keys, error messages, `explain` and the schema all follow from
//! this declaration.

use super::base::json;
use crate::error::{ScenarioError, join};
use schemars::Schema;
use serde::Serialize;

/// Words of a tag: a key that decides which other keys its table takes.
pub(crate) trait Tag: Copy + PartialEq + Serialize + 'static {
    /// Name of the tag's key.
    const KEY: &'static str;
    /// All words of the tag, in order.
    const WORDS: &'static [Self];

    /// Keys that the table takes beside the tag, if the tag has this word.
    fn keys(self) -> &'static [&'static str];

    /// Phrase for the keys that a word takes, for messages; `None` if a list of them is enough.
    fn phrase(self) -> Option<&'static str>;

    /// Keys that the table takes beside the tag, as text for messages.
    fn takes(self) -> String {
        match (self.phrase(), self.keys()) {
            (Some(phrase), _) => phrase.to_owned(),
            (None, []) => "no other key".to_owned(),
            (None, [key]) => format!("{key} alone"),
            (None, keys) => keys.join(", "),
        }
    }
}

/// Declares a tag: its words, and the keys that each word takes. A key that the table lacks is a compile error.
macro_rules! tag {
    (
        $(#[$attribute:meta])*
        pub enum $tag:ident: $table:ident by $key:ident {
            $($(#[$of_word:meta])* $word:ident [$($taken:ident),* $(,)?] $($phrase:literal)?,)+
        }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        $(#[$attribute])*
        pub enum $tag {
            $($(#[$of_word])* $word,)+
        }

        impl $crate::tables::tagged::Tag for $tag {
            const KEY: &'static str = stringify!($key);
            const WORDS: &'static [Self] = &[$(Self::$word),+];

            fn keys(self) -> &'static [&'static str] {
                match self {
                    $(Self::$word => &[$(stringify!($taken)),*],)+
                }
            }

            fn phrase(self) -> Option<&'static str> {
                match self {
                    $(Self::$word => None$(.or(Some($phrase)))?,)+
                }
            }
        }

        const _: fn(&$table) = |table| {
            let _ = &table.$key;
            $($(let _ = &table.$taken;)*)+
        };
    };
}

pub(crate) use tag;

/// Keys that a table gives, in the order of its fields.
pub(crate) fn given(table: &impl Serialize) -> Vec<String> {
    json(table).as_object().map_or_else(Vec::new, |table| table.keys().cloned().collect())
}

/// First key that a table gives although its tag does not take it; `None` if there is none.
pub(crate) fn foreign<T: Tag>(table: &impl Serialize, tag: T) -> Option<String> {
    given(table).into_iter().find(|key| key != T::KEY && !tag.keys().contains(&key.as_str()))
}

/// Error if the table called `path` gives a key that its tag does not take.
///
/// # Errors
/// Names the first such key, the tag and what it takes.
pub(crate) fn refuse_foreign<T: Tag>(
    path: &str,
    table: &impl Serialize,
    tag: T,
) -> Result<(), ScenarioError> {
    match foreign(table, tag) {
        None => Ok(()),
        Some(foreign) => {
            let word = format!("{} = {}", join(path, T::KEY), json(tag));
            let reason = format!("it takes {}", tag.takes());
            Err(ScenarioError::contradiction(&join(path, &foreign), &word, reason))
        }
    }
}

/// Writes into the schema of a table which words of the tag take each key, unless every word with any keys takes it.
pub(crate) fn taken_by<T: Tag>(schema: &mut Schema) {
    let takers: Vec<T> = T::WORDS.iter().copied().filter(|word| !word.keys().is_empty()).collect();
    let Some(properties) = schema.get_mut("properties").and_then(|keys| keys.as_object_mut()) else { return };
    for (key, property) in properties {
        let words: Vec<String> = takers
            .iter()
            .filter(|word| word.keys().contains(&key.as_str()))
            .map(|word| json(word).as_str().unwrap_or_default().to_owned())
            .collect();
        let [first @ .., last] = words.as_slice() else { continue };
        if words.len() == takers.len() {
            continue;
        }
        let list = if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
        let description = property["description"].as_str().unwrap_or_default();
        property["description"] = format!("{description} Taken by {list}.").into();
    }
}
