//! Patterns of rattan and netem-trace, as JSON or TOML: `{"RepeatedBwPatternConfig": {"pattern": [{"StaticBwConfig": {"bw": "12Mbps", "duration":
//! "1s"}}, ...], "count": 0}}`, and likewise of delays and losses. Quantities are texts, or numbers as its other form has them.

use super::item::{AtEnd, Direction, Extra, Found, Item, Step, Whole};
use super::json::{Json, Tree};
use super::line::{Parser, later};
use super::units::{HUMAN_RATES, HUMAN_TIMES, rate, sum, time, time_text};
use crate::trace::TraceError;
use crossfade_core::SimTime;
use std::fmt::Write as _;

/// TOML is read whole.
const LARGEST_TOML: usize = 8 << 20;
/// Steps that patterns within patterns may make.
const MOST_NESTED: u64 = 1_000_000;
const SECOND: SimTime = SimTime::from_millis(1000);

/// Whether such a table begins so.
pub(super) fn is_name(name: &str) -> bool {
    Kind::of(name.trim_matches(['"', '[', ']', ' ']).split('.').next().unwrap_or_default()).is_some()
        || name.contains("PerPacketConfig")
        || name.contains("NormalizedBwConfig")
        || name.contains("SawtoothBwConfig")
}

/// What a pattern is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rate,
    Delay,
    Loss,
}

/// What a table is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Static,
    Repeated,
    /// Durations with rates.
    Listed,
}

impl Kind {
    fn of(name: &str) -> Option<(Self, Shape)> {
        Some(match name {
            "StaticBwConfig" => (Self::Rate, Shape::Static),
            "RepeatedBwPatternConfig" => (Self::Rate, Shape::Repeated),
            "TraceBwConfig" => (Self::Rate, Shape::Listed),
            "StaticDelayConfig" => (Self::Delay, Shape::Static),
            "RepeatedDelayPatternConfig" => (Self::Delay, Shape::Repeated),
            "StaticLossConfig" => (Self::Loss, Shape::Static),
            "RepeatedLossPatternConfig" => (Self::Loss, Shape::Repeated),
            _ => return None,
        })
    }

    /// The word of its names.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Rate => "Bw",
            Self::Delay => "Delay",
            Self::Loss => "Loss",
        }
    }
}

/// Reads JSON.
#[derive(Default)]
pub(super) struct FromJson {
    json: Json,
    steps: Steps,
}

impl Parser for FromJson {
    fn push(&mut self, bytes: &[u8], found: &mut Found) -> Result<(), TraceError> {
        let steps = &mut self.steps;
        self.json.push(bytes, &mut |line, of, tree| steps.element(line, of, &tree, found))
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        let steps = &mut self.steps;
        let root = self.json.finish(&mut |line, of, tree| steps.element(line, of, &tree, found))?;
        self.steps.root(&root, found)
    }
}

/// Reads TOML.
#[derive(Default)]
pub(super) struct FromToml {
    bytes: Vec<u8>,
}

impl Parser for FromToml {
    fn push(&mut self, bytes: &[u8], _found: &mut Found) -> Result<(), TraceError> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > LARGEST_TOML {
            return Err(TraceError::nowhere(
                "larger than 8 MiB: of TOML, which is read whole; JSON has no limit",
            ));
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        let text = std::str::from_utf8(&self.bytes).map_err(|_| TraceError::nowhere("not UTF-8 text"))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line =
                error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count());
            TraceError::at(line + 1, error.message().lines().collect::<Vec<_>>().join(" "))
        })?;
        let root = tree(toml::Value::Table(table));
        let mut steps = Steps::default();
        if let Some((of, body)) = root.only()
            && let Some(Tree::List(elements)) = body.get("pattern")
        {
            for element in elements {
                steps.element(0, of, element, found)?;
            }
        }
        steps.root(&root, found)
    }
}

fn tree(value: toml::Value) -> Tree {
    match value {
        toml::Value::String(text) => Tree::Text(text),
        toml::Value::Integer(number) => Tree::Number(number as f64),
        toml::Value::Float(number) => Tree::Number(number),
        toml::Value::Boolean(truth) => Tree::Truth(truth),
        toml::Value::Datetime(time) => Tree::Text(time.to_string()),
        toml::Value::Array(rows) => Tree::List(rows.into_iter().map(tree).collect()),
        toml::Value::Table(rows) => {
            Tree::Table(rows.into_iter().map(|(name, row)| (name, tree(row))).collect())
        }
    }
}

/// Makes steps of patterns.
#[derive(Default)]
struct Steps {
    now: SimTime,
    count: u64,
}

/// An error in a line, where it is known: of TOML it is not, and the number of the step stands for it.
fn at(line: usize, step: u64, problem: String) -> TraceError {
    if line > 0 {
        TraceError::at(line, problem)
    } else {
        TraceError::nowhere(format!("step {}: {problem}", step + 1))
    }
}

impl Steps {
    /// An element of the outermost pattern.
    fn element(&mut self, line: usize, of: &str, tree: &Tree, found: &mut Found) -> Result<(), TraceError> {
        let refuse = |problem: String| at(line, self.count, problem);
        match Kind::of(of) {
            Some((kind, Shape::Repeated)) => {
                let Some((name, body)) = tree.only() else {
                    return Err(refuse(format!("{}: must be a table of one configuration", tree.shown())));
                };
                self.pattern(line, kind, name, body, found)
            }
            Some((_, Shape::Listed)) => self.listed(line, tree, found),
            _ => Err(refuse(format!("{of}: {NAMES}"))),
        }
    }

    fn pattern(
        &mut self,
        line: usize,
        kind: Kind,
        name: &str,
        body: &Tree,
        found: &mut Found,
    ) -> Result<(), TraceError> {
        let refuse = |count: u64, problem: String| Err(at(line, count, problem));
        match Kind::of(name) {
            Some((of, _)) if of != kind => {
                refuse(self.count, format!("{name}: must be of {}, as the pattern around it", kind.word()))
            }
            Some((_, Shape::Static)) => self.constant(line, kind, body, found),
            Some((_, Shape::Repeated)) => {
                let count = count_of(line, self.count, body)?;
                let elements = body.get("pattern");
                let Some(Tree::List(elements)) = elements else { return Ok(()) };
                if count == 0 {
                    let problem =
                        "count = 0: never ends, and more follows: must be 1 or more within a pattern";
                    return refuse(self.count, problem.to_owned());
                }
                let before = self.count;
                for _ in 0..count {
                    for element in elements {
                        let Some((name, body)) = element.only() else {
                            let problem =
                                format!("{}: must be a table of one configuration", element.shown());
                            return refuse(self.count, problem);
                        };
                        self.pattern(line, kind, name, body, found)?;
                    }
                    if self.count - before > MOST_NESTED || self.count == before {
                        break;
                    }
                }
                if self.count - before > MOST_NESTED {
                    return refuse(
                        before,
                        format!("a pattern within another of more than {MOST_NESTED} steps"),
                    );
                }
                Ok(())
            }
            Some((_, Shape::Listed)) => {
                let Some(Tree::List(rows)) = body.get("pattern") else { return Ok(()) };
                rows.iter().try_for_each(|row| self.listed(line, row, found))
            }
            None => refuse(self.count, format!("{name}: {NAMES}")),
        }
    }

    /// `[DURATION, [RATE, ...]]`.
    fn listed(&mut self, line: usize, row: &Tree, found: &mut Found) -> Result<(), TraceError> {
        let parts = match row {
            Tree::List(parts) => parts.as_slice(),
            _ => &[],
        };
        let [lasts, Tree::List(rates)] = parts else {
            return Err(at(line, self.count, format!("{}: must be [DURATION, [RATE, ...]]", row.shown())));
        };
        let lasts = duration(line, self.count, "duration", lasts)?;
        for rate in rates {
            let rate_bps = Some(bandwidth(line, self.count, rate)?);
            self.step(line, lasts, Step { rate_bps, ..Step::default() }, found)?;
        }
        Ok(())
    }

    fn constant(
        &mut self,
        line: usize,
        kind: Kind,
        body: &Tree,
        found: &mut Found,
    ) -> Result<(), TraceError> {
        let of = self.count;
        let known = match kind {
            Kind::Rate => "bw",
            Kind::Delay => "delay",
            Kind::Loss => "loss",
        };
        if let Tree::Table(rows) = body {
            if let Some((name, _)) = rows.iter().find(|(name, _)| name != known && name != "duration") {
                return Err(at(line, of, format!("{name}: must be {known} or duration")));
            }
        } else {
            return Err(at(line, of, format!("{}: must be a table of {known} and duration", body.shown())));
        }
        // What is left away is as its library has it.
        let lasts = body.get("duration").map_or(Ok(SECOND), |tree| duration(line, of, "duration", tree))?;
        let value = body.get(known);
        let mut step = Step::default();
        match kind {
            Kind::Rate => {
                step.rate_bps = Some(value.map_or(Ok(12e6), |tree| bandwidth(line, of, tree))?);
            }
            Kind::Delay => {
                let usual = Ok(SimTime::from_millis(10));
                step.delay = Some(value.map_or(usual, |tree| duration(line, of, known, tree))?);
            }
            Kind::Loss => {
                let shares = value.map_or(Ok(vec![0.1, 0.2]), |tree| shares(line, of, tree))?;
                let (first, after) =
                    shares.split_first().map_or((0.0, &[][..]), |(first, after)| (*first, after));
                step.loss = Some(first);
                step.extras.extend(after.iter().map(|share| (Extra::LossAfterLoss, *share)));
            }
        }
        self.step(line, lasts, step, found)
    }

    fn step(&mut self, line: usize, lasts: SimTime, step: Step, found: &mut Found) -> Result<(), TraceError> {
        if lasts > SimTime::ZERO {
            found.push_back((
                Direction::Both,
                Item::Step(Step { time: self.now, lasts: Some(lasts), ..step }),
            ));
            self.now = later(line, self.now, lasts)?;
            self.count += 1;
        }
        Ok(())
    }

    /// What stands outside of the outermost pattern.
    fn root(&mut self, root: &Tree, found: &mut Found) -> Result<Whole, TraceError> {
        let Some((name, body)) = root.only() else {
            return Err(TraceError::nowhere(format!(
                "{}: must be a table of one configuration",
                root.shown()
            )));
        };
        let at_end = match Kind::of(name) {
            Some((_, Shape::Repeated)) => match count_of(0, 0, body)? {
                0 => AtEnd::Loop,
                1 => AtEnd::Unsaid,
                rounds => AtEnd::Rounds(rounds),
            },
            Some((kind, Shape::Static)) => {
                self.constant(0, kind, body, found)?;
                AtEnd::Unsaid
            }
            Some((_, Shape::Listed)) => AtEnd::Unsaid,
            None => return Err(TraceError::nowhere(format!("{name}: {NAMES}"))),
        };
        if self.count == 0 {
            return Err(TraceError::nowhere("the pattern has no step that lasts"));
        }
        Ok(Whole { lasts: self.now, at_end, notes: Vec::new() })
    }
}

const NAMES: &str = "must be Static or Repeated, of Bw, Delay or Loss, or TraceBwConfig: what is drawn at random is no recording";

fn count_of(line: usize, step: u64, body: &Tree) -> Result<u64, TraceError> {
    let Some(count) = body.get("count") else { return Ok(0) };
    let whole = count.number().filter(|count| count.fract() == 0.0 && (0.0..=1e15).contains(count));
    whole.map(|count| count as u64).ok_or_else(|| {
        at(line, step, format!("count = {}: must be a whole number of 0 or more", count.shown()))
    })
}

/// A text such as `1s 500ms`, or `{"secs": 1, "nanos": 500000000}`.
fn duration(line: usize, step: u64, name: &str, tree: &Tree) -> Result<SimTime, TraceError> {
    let nanos = if let Tree::Text(text) = tree {
        sum(text, HUMAN_TIMES)
    } else {
        let part = |name: &str| tree.get(name).and_then(Tree::number);
        part("secs").zip(part("nanos")).map(|(secs, nanos)| secs * 1e9 + nanos)
    };
    time(nanos)
        .ok_or_else(|| at(line, step, format!("{name} = {}: must be a time such as \"10ms\"", tree.shown())))
}

/// A text such as `12Mbps`, or `{"gbps": 0, "bps": 12000000}`. Parts of a bit/s are left away, as its library does.
fn bandwidth(line: usize, step: u64, tree: &Tree) -> Result<f64, TraceError> {
    let bps = if let Tree::Text(text) = tree {
        sum(text, HUMAN_RATES)
    } else {
        let part = |name: &str| tree.get(name).and_then(Tree::number);
        part("gbps").zip(part("bps")).map(|(gbps, bps)| gbps * 1e9 + bps)
    };
    rate(bps)
        .map(f64::floor)
        .ok_or_else(|| at(line, step, format!("bw = {}: must be a rate such as \"12Mbps\"", tree.shown())))
}

fn shares(line: usize, step: u64, tree: &Tree) -> Result<Vec<f64>, TraceError> {
    let share = |tree: &Tree| tree.number().filter(|share| (0.0..=1.0).contains(share));
    let found = match tree {
        Tree::List(rows) => rows.iter().map(share).collect(),
        _ => None,
    };
    found.ok_or_else(|| {
        at(line, step, format!("loss = {}: must be a list of shares from 0 to 1", tree.shown()))
    })
}

/// Writes a pattern of one kind, as JSON or TOML.
pub(super) struct Writer {
    kind: Kind,
    is_toml: bool,
    /// Rounds; 0 for ever.
    count: u64,
    is_first: bool,
}

impl Writer {
    /// What it has a place for beside rate, delay and loss.
    pub(super) const EXTRAS: &[Extra] = &[Extra::LossAfterLoss];

    pub(super) fn new(kind: Kind, is_toml: bool, at_end: AtEnd) -> Self {
        let count = match at_end {
            AtEnd::Loop => 0,
            AtEnd::Rounds(rounds) => rounds,
            AtEnd::Unsaid | AtEnd::Hold => 1,
        };
        Self { kind, is_toml, count, is_first: true }
    }

    pub(super) fn begin(&self, out: &mut String) {
        let word = self.kind.word();
        let written = if self.is_toml {
            writeln!(out, "[Repeated{word}PatternConfig]\ncount = {}", self.count)
        } else {
            write!(out, "{{\"Repeated{word}PatternConfig\": {{\"pattern\": [")
        };
        written.expect("a String takes all");
    }

    /// A step that lasts so long.
    pub(super) fn step(&mut self, step: &Step, lasts: SimTime, out: &mut String) {
        let (word, duration) = (self.kind.word(), time_text(lasts));
        let (name, value) = match self.kind {
            Kind::Rate => ("bw", format!("\"{}bps\"", step.rate_bps.unwrap_or_default().round())),
            Kind::Delay => ("delay", format!("\"{}\"", time_text(step.delay.unwrap_or_default()))),
            Kind::Loss => {
                let after = step.extras.iter().filter(|(extra, _)| *extra == Extra::LossAfterLoss);
                let shares =
                    std::iter::once(step.loss.unwrap_or_default()).chain(after.map(|(_, share)| *share));
                (
                    "loss",
                    format!("[{}]", shares.map(|share| format!("{share:?}")).collect::<Vec<_>>().join(", ")),
                )
            }
        };
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        let written = if self.is_toml {
            let pattern = format!("Repeated{word}PatternConfig.pattern");
            writeln!(
                out,
                "\n[[{pattern}]]\n[{pattern}.Static{word}Config]\n{name} = {value}\nduration = \"{duration}\""
            )
        } else {
            let row = format!("{{\"{name}\": {value}, \"duration\": \"{duration}\"}}");
            write!(out, "{comma}\n  {{\"Static{word}Config\": {row}}}")
        };
        written.expect("a String takes all");
    }

    pub(super) fn end(&self, out: &mut String) {
        if !self.is_toml {
            writeln!(out, "\n], \"count\": {}}}}}", self.count).expect("a String takes all");
        }
    }
}
