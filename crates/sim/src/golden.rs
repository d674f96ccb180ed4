//! Golden traces: every send of another simulator, to be repeated row by row.
//!
//! The layout is that of the ns-2 traces: `patterns.json` names loss patterns (indices of the transmissions
//! lost), and a file `sends_{base,lt}_{tahoe,reno,newreno,sack1}.csv` holds, for each pattern, every packet
//! that entered the forward link: `pattern,k,time,seq,dropped,cwnd,ssthresh,dupacks,backoff`. One flow over
//! 10 Mbit/s and 20 ms each way, 1000-byte packets, 40-byte acknowledgements and 8 bytes a SACK block, an
//! unlimited queue, window 64.
//!
//! Everything here works on texts; reading files is the caller's.

use crate::network::{SenderGate, StopRule};
use crate::one_hop::{OneHop, run};
use crossfade_channel::{DropList, Lossless};
use crossfade_core::{EventKind, EventRecord, Observer, SimTime};
use crossfade_link::HopConfig;
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// A golden folder that can't be read. One line, naming the place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct GoldenError {
    /// The file, with the line if there is one.
    pub place: String,
    /// What is wrong with it, and what is allowed.
    pub problem: String,
}

impl GoldenError {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        // Messages of parsers may span lines.
        let problem: String = problem.into();
        Self { place: place.into(), problem: problem.split_whitespace().collect::<Vec<_>>().join(" ") }
    }
}

/// How one pattern of one file came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// `FILE/PATTERN`.
    pub case: String,
    /// The rows of the golden trace.
    pub rows: usize,
    /// The first row that differs, in one line; `None` if all rows are identical.
    pub difference: Option<String>,
}

/// Times may differ by so much.
const TIME_TOLERANCE_US: i64 = 2;

/// An index beyond any trace that a person would keep; larger ones are misprints.
const MAX_PACKETS: u64 = 1_000_000;

#[derive(Deserialize)]
struct Patterns {
    npackets: u64,
    #[serde(default)]
    index_base: u64,
    #[serde(rename = "patterns")]
    list: Vec<Pattern>,
}

#[derive(Deserialize)]
struct Pattern {
    name: String,
    drops: Vec<u64>,
}

/// One send, with numbers as the trace rounds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SendRow {
    k: u64,
    time_us: i64,
    seq: u64,
    dropped: bool,
    cwnd_thousandths: i64,
    ssthresh: i64,
    dupacks: u64,
    backoff: u64,
}

/// One file of golden sends with its loss patterns.
pub struct GoldenTrace {
    name: String,
    variant: Variant,
    limited_transmit: bool,
    patterns: Patterns,
    /// The rows of each pattern, in the order of the file.
    cases: Vec<(String, Vec<SendRow>)>,
}

impl GoldenTrace {
    /// Reads a trace. `patterns_json` is the text of `patterns.json`, `name` the file's name without folder and `.gz`,
    /// `csv` its text.
    ///
    /// # Errors
    /// A text that does not follow the layout.
    pub fn parse(patterns_json: &str, name: &str, csv: &str) -> Result<Self, GoldenError> {
        let patterns = parse_patterns(patterns_json)?;
        let (variant, limited_transmit) = parse_name(name)?;
        let cases = parse_sends(name, csv)?;
        let is_unknown = |case: &String| patterns.list.iter().all(|pattern| pattern.name != *case);
        if let Some((unknown, _)) = cases.iter().find(|(case, _)| is_unknown(case)) {
            return Err(GoldenError::new(name, format!("pattern \"{unknown}\" is not in patterns.json")));
        }
        Ok(Self { name: name.to_owned(), variant, limited_transmit, patterns, cases })
    }

    /// How many segments each connection sends.
    pub fn npackets(&self) -> u64 {
        self.patterns.npackets
    }

    /// Simulates every pattern and compares.
    pub fn verify(&self) -> Vec<CaseReport> {
        self.patterns.list.iter().map(|pattern| self.verify_pattern(pattern)).collect()
    }

    fn verify_pattern(&self, pattern: &Pattern) -> CaseReport {
        let case = format!("{}/{}", self.name, pattern.name);
        let Some((_, theirs)) = self.cases.iter().find(|(case, _)| *case == pattern.name) else {
            let difference = Some("the file has no rows of this pattern".to_owned());
            return CaseReport { case, rows: 0, difference };
        };
        let ours = self.simulate(pattern);
        CaseReport { case, rows: theirs.len(), difference: first_difference(theirs, &ours) }
    }

    fn simulate(&self, pattern: &Pattern) -> Vec<SendRow> {
        let drops = DropList::new(pattern.drops.clone()).expect("checked when it was read");
        let config = connection(self.variant, self.limited_transmit, self.patterns.npackets, drops);
        let mut sends = Sends::default();
        run(config, &mut sends, &AtomicBool::new(false)).expect("nobody cancels");
        sends.0
    }
}

fn parse_patterns(text: &str) -> Result<Patterns, GoldenError> {
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

/// `sends_{base,lt}_{tahoe,reno,newreno,sack1}.csv`.
fn parse_name(name: &str) -> Result<(Variant, bool), GoldenError> {
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

const HEADER: [&str; 9] =
    ["pattern", "k", "time", "seq", "dropped", "cwnd", "ssthresh", "dupacks", "backoff"];

fn parse_sends(name: &str, csv: &str) -> Result<Vec<(String, Vec<SendRow>)>, GoldenError> {
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

/// The connection of the golden traces.
fn connection(variant: Variant, limited_transmit: bool, npackets: u64, drops: DropList) -> OneHop {
    let ms = SimTime::from_millis(1);
    let hop = |loss| HopConfig { rate_bps: Some(10e6), delay: ms * 20, queue_limit: None, loss };
    OneHop {
        tcp: TcpConfig {
            flavour: Flavour::Ns2,
            variant,
            w_max: 64,
            initial_window: 1.0,
            initial_ssthresh: 64.0,
            dupthresh: 3,
            limited_transmit,
            rto: RtoConfig {
                rule: RtoRule::Estimated { min: ms * 200, initial: ms * 3000, granularity: ms * 10 },
                backoff: true,
                max: ms * 60_000,
            },
            segments: Some(npackets),
            rfc: RfcConfig::default(),
        },
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Queue,
        forward: hop(Box::new(drops)),
        reverse: hop(Box::new(Lossless)),
        warmup: SimTime::ZERO,
        stop: StopRule::Delivered(npackets),
    }
}

/// Keeps the sends.
#[derive(Default)]
struct Sends(Vec<SendRow>);

impl Observer for Sends {
    fn record(&mut self, event: &EventRecord) {
        match event.kind {
            EventKind::Send => self.0.push(SendRow {
                k: self.0.len() as u64,
                time_us: ((event.time.as_nanos() + 500) / 1000).cast_signed(),
                seq: event.seq,
                dropped: false,
                cwnd_thousandths: as_printed(event.tcp.cwnd),
                ssthresh: event.tcp.ssthresh as i64,
                dupacks: u64::from(event.tcp.dupacks),
                backoff: u64::from(event.tcp.backoff),
            }),
            EventKind::Lost => self.0.last_mut().expect("a loss follows its send").dropped = true,
            _ => {}
        }
    }
}

/// Rounded to three decimals as C's `printf` does it: exactly, ties to even.
fn as_printed(cwnd: f64) -> i64 {
    let thousandths: f64 = format!("{cwnd:.3}").parse().expect("a printed number");
    (thousandths * 1e3).round() as i64
}

fn first_difference(theirs: &[SendRow], ours: &[SendRow]) -> Option<String> {
    for (their, our) in theirs.iter().zip(ours) {
        let same_time = (their.time_us - our.time_us).abs() <= TIME_TOLERANCE_US;
        if !same_time || (SendRow { time_us: our.time_us, ..*their }) != *our {
            return Some(format!("expected {}; got {}", show(their), show(our)));
        }
    }
    match theirs.len().cmp(&ours.len()) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => {
            Some(format!("expected {}; got no more sends", show(&theirs[ours.len()])))
        }
        std::cmp::Ordering::Less => {
            Some(format!("expected no more sends; got {}", show(&ours[theirs.len()])))
        }
    }
}

fn show(row: &SendRow) -> String {
    let SendRow { k, time_us, seq, dropped, cwnd_thousandths, ssthresh, dupacks, backoff } = row;
    format!(
        "k {k} time {:.6} seq {seq} dropped {} cwnd {:.3} ssthresh {ssthresh} dupacks {dupacks} backoff {backoff}",
        *time_us as f64 / 1e6,
        u8::from(*dropped),
        *cwnd_thousandths as f64 / 1e3,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATTERNS: &str =
        r#"{"npackets": 3, "index_base": 0, "patterns": [{"name": "clean", "drops": []}]}"#;
    const NAME: &str = "sends_base_reno.csv";
    /// By hand: 0.8 ms and 20 ms there, 0.032 ms and 20 ms back, then two segments for the acknowledgement of
    /// one.
    const CSV: &str = "pattern,k,time,seq,dropped,cwnd,ssthresh,dupacks,backoff\n\
        clean,0,0.000000,0,0,1,64,0,1\n\
        clean,1,0.040832,1,0,2,64,0,1\n\
        clean,2,0.040832,2,0,2,64,0,1\n";

    fn difference(csv: &str) -> Option<String> {
        GoldenTrace::parse(PATTERNS, NAME, csv).unwrap().verify().remove(0).difference
    }

    #[test]
    fn an_identical_trace_has_no_difference() {
        let reports = GoldenTrace::parse(PATTERNS, NAME, CSV).unwrap().verify();
        assert_eq!(
            reports,
            [CaseReport { case: "sends_base_reno.csv/clean".into(), rows: 3, difference: None }]
        );
    }

    #[test]
    fn the_first_differing_row_is_named() {
        // 2 us are allowed, 3 are not.
        assert_eq!(difference(&CSV.replace("1,0.040832", "1,0.040834")), None);
        let message = difference(&CSV.replace("1,0.040832", "1,0.040835")).unwrap();
        assert_eq!(
            message,
            "expected k 1 time 0.040835 seq 1 dropped 0 cwnd 2.000 ssthresh 64 dupacks 0 backoff 1; \
             got k 1 time 0.040832 seq 1 dropped 0 cwnd 2.000 ssthresh 64 dupacks 0 backoff 1"
        );
        for (column, altered) in [
            ("k", "9,0.040832,1,0,2,64,0,1"),
            ("seq", "1,0.040832,2,0,2,64,0,1"),
            ("dropped", "1,0.040832,1,1,2,64,0,1"),
            ("cwnd", "1,0.040832,1,0,2.001,64,0,1"),
            ("ssthresh", "1,0.040832,1,0,2,63,0,1"),
            ("dupacks", "1,0.040832,1,0,2,64,1,1"),
            ("backoff", "1,0.040832,1,0,2,64,0,2"),
        ] {
            let csv = CSV.replace("1,0.040832,1,0,2,64,0,1", altered);
            assert!(difference(&csv).is_some(), "{column}");
        }
        let short = CSV.rsplit_once("clean,2").unwrap().0;
        assert!(difference(short).unwrap().starts_with("expected no more sends"));
        assert!(
            difference(&format!("{CSV}clean,3,0.05,3,0,3,64,0,1\n")).unwrap().ends_with("got no more sends")
        );
        assert!(difference(&CSV[..CSV.find('\n').unwrap()]).unwrap().contains("no rows of this pattern"));
    }

    #[test]
    fn a_text_that_breaks_the_layout_names_the_place() {
        let error = |patterns: &str, name: &str, csv: &str| {
            GoldenTrace::parse(patterns, name, csv).err().unwrap().to_string()
        };
        for (message, expected) in [
            (error("{", NAME, CSV), "patterns.json: EOF"),
            (error(r#"{"npackets": 0, "patterns": []}"#, NAME, CSV), "npackets = 0: must be from 1"),
            (error(r#"{"npackets": 3, "patterns": []}"#, NAME, CSV), "patterns is empty"),
            (error(&PATTERNS.replace("[]", "[5, 5]"), NAME, CSV), "pattern \"clean\": "),
            (
                error(
                    &PATTERNS.replace("\"index_base\": 0", "\"index_base\": 1").replace("[]", "[0]"),
                    NAME,
                    CSV,
                ),
                "drops index 0, below index_base",
            ),
            (error(PATTERNS, "sends_base_vegas.csv", CSV), "AGENT tahoe, reno, newreno or sack1"),
            (error(PATTERNS, NAME, ""), "sends_base_reno.csv:1: the header must be pattern,k,"),
            (
                error(PATTERNS, NAME, &CSV.replace("clean,1", "1")),
                "sends_base_reno.csv:3: 8 fields instead of 9",
            ),
            (error(PATTERNS, NAME, &CSV.replace(",64,0,1", ",x,0,1")), "ssthresh = \"x\""),
            (error(PATTERNS, NAME, &CSV.replace("clean,2", "other,2")), "\"other\" is not in patterns.json"),
            (
                error(PATTERNS, NAME, &format!("{}clean,3,0,0,0,1,1,0,1\n", CSV.replace("clean,2", "x,2"))),
                "the rows of pattern \"clean\" are not together",
            ),
        ] {
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(patterns in ".{0,80}", rows in "([a-z0-9.,-]{0,40}\n){0,5}") {
            let _ = GoldenTrace::parse(&patterns, NAME, CSV);
            let _ = GoldenTrace::parse(PATTERNS, NAME, &format!("{}\n{rows}", HEADER.join(",")));
        }
    }
}
