//! Access to the files that a scenario names: the caller reads them, and each is parsed once.

use crate::error::ScenarioError;
use crossfade_cell::SinrTrace;
use crossfade_channel::{LossTrace, RecordedLosses, TraceFormat};
use crossfade_link::trace::formats::{self, Direction, Recorded};
use crossfade_link::trace::{AttenuationTable, DelaySeries, OpportunityTrace, RateTable, SendRecord};
use crossfade_mac::{Position, parse_positions};
use crossfade_nr::ErrorTable;
use crossfade_phy::{ErrorRateTable, SwitchingTable};
use crossfade_transport::congestion::CustomControl;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reader of the files that a scenario names, implemented by the caller: this crate opens no files.
pub trait ReadFile {
    /// Returns the text of the file `name`.
    ///
    /// # Errors
    /// The reason why it cannot be read, in one line.
    fn text(&self, name: &str) -> Result<String, String>;

    /// Returns the congestion control defined in a file with this text: the `class` of a Python file (its only one if
    /// `None`), or that of a Rust file. No code of the file is run or compiled before a connection starts.
    ///
    /// # Errors
    /// The reason why there is none, in one line.
    fn control(&self, _name: &str, _class: Option<&str>, _text: &str) -> Result<CustomControl, String> {
        Err("needs Python, which is not here".to_owned())
    }
}

/// Closure as a reader of files; it provides no custom congestion controls.
impl<F: Fn(&str) -> Result<String, String>> ReadFile for F {
    fn text(&self, name: &str) -> Result<String, String> {
        self(name)
    }
}

/// File and class in the name of a custom congestion control; `None` for a built-in one.
pub(crate) fn file_and_class(name: &str) -> Option<(&str, Option<&str>)> {
    let ends_in = |file: &str, suffix| file.strip_suffix(suffix).is_some_and(|stem: &str| !stem.is_empty());
    let is_python = |file: &str| ends_in(file, ".py");
    if is_python(name) || ends_in(name, ".rs") {
        return Some((name, None));
    }
    let (file, class) = name.rsplit_once(':')?;
    let is_name = !class.starts_with(|first: char| first.is_ascii_digit())
        && !class.is_empty()
        && class.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_python(file) && is_name).then_some((file, Some(class)))
}

/// First 32 hexadecimal digits of a hash.
pub(crate) fn hex(hash: Sha256) -> String {
    let bytes: [u8; 32] = hash.finalize().into();
    format!("{:032x}", u128::from_be_bytes(*bytes.first_chunk().expect("32 bytes")))
}

/// Access to the files that a scenario names. Files are read and parsed on demand.
pub(crate) struct Files<'a> {
    read: &'a dyn ReadFile,
    parsed: &'a Parsed,
}

/// Cache of the parsed files of a plan, by file name.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    hashes: Cache<String>,
    opportunities: Cache<OpportunityTrace>,
    /// Rate tables by file name and direction.
    rates: Cache<Recorded<RateTable>>,
    delays: Cache<Recorded<DelaySeries>>,
    sends: Cache<SendRecord>,
    texts: Cache<Arc<str>>,
    sinr_traces: Cache<SinrTrace>,
    positions: Cache<Vec<Position>>,
    attenuations: Cache<AttenuationTable>,
    error_rates: Cache<Arc<ErrorRateTable>>,
    nr_error_tables: Cache<Arc<ErrorTable>>,
    switching: Cache<Arc<SwitchingTable>>,
    /// Recorded losses by file name and format.
    losses: Cache<RecordedLosses>,
    /// Custom congestion controls by file name and class.
    controls: Cache<CustomControl>,
}

type Cache<T> = Mutex<HashMap<String, T>>;

/// Locks a cache. The lock cannot be poisoned, since no fallible work is done while it is held.
fn lock<T>(cache: &Cache<T>) -> MutexGuard<'_, HashMap<String, T>> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Files<'a> {
    /// Creates access to the files of `read`; files in `parsed` are not read again.
    pub(crate) fn new(read: &'a dyn ReadFile, parsed: &'a Parsed) -> Self {
        Self { read, parsed }
    }

    pub(crate) fn opportunities(&self, key: &str, name: &str) -> Result<OpportunityTrace, ScenarioError> {
        self.of(&self.parsed.opportunities, name.to_owned(), key, name, formats::opportunities)
    }

    /// Rates over time in the file `name`, for one direction of a link.
    pub(crate) fn rates(
        &self,
        key: &str,
        name: &str,
        way: Option<Direction>,
    ) -> Result<Recorded<RateTable>, ScenarioError> {
        let parse = |text: &str| formats::rates(text, way);
        self.of(&self.parsed.rates, of_way(name, way), key, name, parse)
    }

    /// Delays over time in the file `name`, for one direction of a link.
    pub(crate) fn delays(
        &self,
        key: &str,
        name: &str,
        way: Option<Direction>,
    ) -> Result<Recorded<DelaySeries>, ScenarioError> {
        let parse = |text: &str| formats::delays(text, way);
        self.of(&self.parsed.delays, of_way(name, way), key, name, parse)
    }

    pub(crate) fn sends(&self, key: &str, name: &str) -> Result<SendRecord, ScenarioError> {
        self.of(&self.parsed.sends, name.to_owned(), key, name, str::parse)
    }

    /// Text of the file `name`, for a parser that knows its format. The text counts in the run's identity.
    pub(crate) fn text(&self, key: &str, name: &str) -> Result<Arc<str>, ScenarioError> {
        self.of(&self.parsed.texts, name.to_owned(), key, name, |text| Ok::<_, Infallible>(text.into()))
    }

    pub(crate) fn sinr_trace(&self, key: &str, name: &str) -> Result<SinrTrace, ScenarioError> {
        self.of(&self.parsed.sinr_traces, name.to_owned(), key, name, str::parse)
    }

    pub(crate) fn positions(&self, key: &str, name: &str) -> Result<Vec<Position>, ScenarioError> {
        self.of(&self.parsed.positions, name.to_owned(), key, name, parse_positions)
    }

    pub(crate) fn attenuation(&self, key: &str, name: &str) -> Result<AttenuationTable, ScenarioError> {
        self.of(&self.parsed.attenuations, name.to_owned(), key, name, str::parse)
    }

    pub(crate) fn error_rates(&self, key: &str, name: &str) -> Result<Arc<ErrorRateTable>, ScenarioError> {
        let parse = |text: &str| ErrorRateTable::parse(text).map(Arc::new);
        self.of(&self.parsed.error_rates, name.to_owned(), key, name, parse)
    }

    pub(crate) fn nr_error_table(&self, key: &str, name: &str) -> Result<Arc<ErrorTable>, ScenarioError> {
        let parse = |text: &str| text.parse().map(Arc::new);
        self.of(
            &self.parsed.nr_error_tables,
            name.to_owned(),
            key,
            name,
            parse as fn(&str) -> Result<_, String>,
        )
    }

    pub(crate) fn switching(&self, key: &str, name: &str) -> Result<Arc<SwitchingTable>, ScenarioError> {
        let parse = |text: &str| SwitchingTable::parse(text).map(Arc::new);
        self.of(&self.parsed.switching, name.to_owned(), key, name, parse)
    }

    pub(crate) fn losses(
        &self,
        key: &str,
        name: &str,
        format: TraceFormat,
    ) -> Result<RecordedLosses, ScenarioError> {
        let in_cache = format!("{} {name}", format.name());
        let parse = |text: &str| LossTrace::parse(text, format, None).map(RecordedLosses::from);
        self.of(&self.parsed.losses, in_cache, key, name, parse)
    }

    /// Custom congestion control by its name `FILE.py`, `FILE.py:CLASS` or `FILE.rs`.
    pub(crate) fn control(&self, key: &str, name: &str) -> Result<CustomControl, ScenarioError> {
        let refuse = |problem: String| ScenarioError::value(key, &json!(name), problem);
        let (file, class) = file_and_class(name)
            .ok_or_else(|| refuse("must be FILE.py, FILE.py:CLASS or FILE.rs".to_owned()))?;
        if let Some(found) = lock(&self.parsed.controls).get(name) {
            return Ok(found.clone());
        }
        let text = self.read.text(file).map_err(refuse)?;
        let control = self.read.control(file, class, &text).map_err(refuse)?;
        let hash = format!("sha256:{}:{}", hex(Sha256::new_with_prefix(&text)), class.unwrap_or_default());
        lock(&self.parsed.hashes).insert(name.to_owned(), hash);
        lock(&self.parsed.controls).insert(name.to_owned(), control.clone());
        Ok(control)
    }

    /// Hash of a file's content, which replaces the file's name in the run's identity; `None` if the file was not read.
    pub(crate) fn hash(&self, name: &str) -> Option<String> {
        lock(&self.parsed.hashes).get(name).cloned()
    }

    fn of<T: Clone, E: Display>(
        &self,
        cache: &Cache<T>,
        in_cache: String,
        key: &str,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, ScenarioError> {
        if let Some(found) = lock(cache).get(&in_cache) {
            return Ok(found.clone());
        }
        let refuse = |problem: String| ScenarioError::value(key, &json!(name), problem);
        let text = self.read.text(name).map_err(refuse)?;
        let found = parse(&text).map_err(|error| refuse(error.to_string()))?;
        let hash = format!("sha256:{}", hex(Sha256::new_with_prefix(&text)));
        lock(&self.parsed.hashes).insert(name.to_owned(), hash);
        lock(cache).insert(in_cache, found.clone());
        Ok(found)
    }
}

fn of_way(name: &str, way: Option<Direction>) -> String {
    format!("{} {name}", way.map_or("", Direction::name))
}

/// Reader for scenarios without files: every read fails.
pub(crate) fn no_files(_name: &str) -> Result<String, String> {
    Err("this scenario was given without files".to_owned())
}
