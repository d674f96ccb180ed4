//! Parser of golden traces and their loss patterns.

use crossfade_channel::DropList;
use crossfade_transport::Variant;
use serde::Deserialize;
use std::collections::BTreeSet;
use thiserror::Error;

/// Error of golden data that cannot be read, with its place, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct GoldenError {
    /// File name, with the line number if the problem is on one line.
    pub place: String,
    /// Problem, with the allowed form.
    pub problem: String,
}

impl GoldenError {
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        // Messages of parsers may span lines.
        let problem: String = problem.into();
        Self { place: place.into(), problem: problem.split_whitespace().collect::<Vec<_>>().join(" ") }
    }
}

/// Largest packet index in a trace; larger ones are taken as misprints.
const MAX_PACKETS: u64 = 1_000_000;

#[derive(Deserialize)]
pub(crate) struct Patterns {
    pub(crate) npackets: u64,
    #[serde(default)]
    pub(crate) index_base: u64,
    #[serde(rename = "patterns")]
    pub(crate) list: Vec<Pattern>,
}

#[derive(Deserialize)]
pub(crate) struct Pattern {
    pub(crate) name: String,
    pub(crate) drops: Vec<u64>,
}

/// One send of a golden trace, with numbers rounded as in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendRow {
    pub(crate) k: u64,
    pub(crate) time_us: i64,
    pub(crate) seq: u64,
    pub(crate) dropped: bool,
    pub(crate) cwnd_thousandths: i64,
    pub(crate) ssthresh: i64,
    pub(crate) dupacks: u64,
    pub(crate) backoff: u64,
}

pub(crate) fn parse_patterns(text: &str) -> Result<Patterns, GoldenError> {
    let error = |problem: String| GoldenError::new("patterns.json", problem);
    let mut patterns: Patterns = serde_json::from_str(text).map_err(|e| error(e.to_string()))?;
    if !(1..=MAX_PACKETS).contains(&patterns.npackets) {
        return Err(error(format!("npackets = {}: must be from 1 to {MAX_PACKETS}", patterns.npackets)));
    }
    if patterns.list.is_empty() {
        return Err(error("patterns is empty: there is nothing to compare".into()));
    }
    let mut names = BTreeSet::new();
    for pattern in &mut patterns.list {
        let name = &pattern.name;
        if !names.insert(name.clone()) {
            return Err(error(format!("pattern \"{name}\" is there twice")));
        }
        for drop in &mut pattern.drops {
            *drop = drop
                .checked_sub(patterns.index_base)
                .ok_or_else(|| error(format!("pattern \"{name}\" drops index {drop}, below index_base")))?;
        }
        DropList::new(pattern.drops.clone()).map_err(|e| error(format!("pattern \"{name}\": {e}")))?;
    }
    Ok(patterns)
}

/// Parses the file name `sends_{base,lt}_{tahoe,reno,newreno,sack1}.csv` to the loss recovery and to true if limited
/// transmit (`lt`) is used.
pub(crate) fn parse_name(name: &str) -> Result<(Variant, bool), GoldenError> {
    let stem = name.strip_prefix("sends_").and_then(|rest| rest.strip_suffix(".csv"));
    let parsed = stem.and_then(|stem| stem.split_once('_')).and_then(|(set, agent)| {
        let limited_transmit = match set {
            "base" => false,
            "lt" => true,
            _ => return None,
        };
        let variant = match agent {
            "tahoe" => Variant::Tahoe,
            "reno" => Variant::Reno,
            "newreno" => Variant::NewReno,
            "sack1" => Variant::Sack,
            _ => return None,
        };
        Some((variant, limited_transmit))
    });
    parsed.ok_or_else(|| {
        GoldenError::new(name, "the name must be sends_SET_AGENT.csv with SET base or lt and AGENT tahoe, reno, newreno or sack1")
    })
}

pub(crate) const HEADER: [&str; 9] =
    ["pattern", "k", "time", "seq", "dropped", "cwnd", "ssthresh", "dupacks", "backoff"];

pub(crate) fn parse_sends(name: &str, csv: &str) -> Result<Vec<(String, Vec<SendRow>)>, GoldenError> {
    let mut lines = csv.lines();
    let header = lines.next().unwrap_or_default();
    if header.split(',').ne(HEADER) {
        return Err(GoldenError::new(
            format!("{name}:1"),
            format!("the header must be {}", HEADER.join(",")),
        ));
    }
    let mut cases: Vec<(String, Vec<SendRow>)> = Vec::new();
    for (number, line) in (2..).zip(lines) {
        let place = || format!("{name}:{number}");
        let fields: Vec<&str> = line.split(',').collect();
        let [pattern, k, time, seq, dropped, cwnd, ssthresh, dupacks, backoff] = fields[..] else {
            return Err(GoldenError::new(place(), format!("{} fields instead of 9", fields.len())));
        };
        let count = |key: &str, text: &str| {
            text.parse::<u64>()
                .map_err(|_| GoldenError::new(place(), format!("{key} = \"{text}\": must be a whole number")))
        };
        let scaled = |key: &str, text: &str, scale: f64| match text.parse::<f64>() {
            Ok(number) if number >= 0.0 && number * scale < 1e15 => Ok((number * scale).round() as i64),
            _ => Err(GoldenError::new(place(), format!("{key} = \"{text}\": must be a number of 0 or more"))),
        };
        let row = SendRow {
            k: count("k", k)?,
            time_us: scaled("time", time, 1e6)?,
            seq: count("seq", seq)?,
            dropped: match dropped {
                "0" => false,
                "1" => true,
                _ => {
                    return Err(GoldenError::new(
                        place(),
                        format!("dropped = \"{dropped}\": must be 0 or 1"),
                    ));
                }
            },
            cwnd_thousandths: scaled("cwnd", cwnd, 1e3)?,
            ssthresh: scaled("ssthresh", ssthresh, 1.0)?,
            dupacks: count("dupacks", dupacks)?,
            backoff: count("backoff", backoff)?,
        };
        if cases.last().is_none_or(|(case, _)| *case != pattern) {
            if cases.iter().any(|(case, _)| *case == pattern) {
                let problem = format!("the rows of pattern \"{pattern}\" are not together");
                return Err(GoldenError::new(place(), problem));
            }
            cases.push((pattern.to_owned(), Vec::new()));
        }
        cases.last_mut().expect("a case").1.push(row);
    }
    Ok(cases)
}
