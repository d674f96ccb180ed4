//! Patterns of rattan and netem-trace, as JSON or TOML, for example
//! `{"RepeatedBwPatternConfig": {"pattern": [STEP, ...], "count": 0}}` with a `STEP` such as
//! `{"StaticBwConfig": {"bw": "12Mbps", "duration": "1s"}}`, and likewise for delays and losses. Quantities are texts
//! with units, or numbers in netem-trace's other notation.

use super::item::{AtEnd, Direction, Extra, Found, Item, Step, Whole};
use super::json::{Json, Tree, Value};
use super::line::{Parser, later};
use super::units::{HUMAN_RATES, HUMAN_TIMES, rate, sum, time, time_text};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};
use std::fmt::Write as _;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// Greatest size of a TOML text in bytes, since TOML is read as a whole.
const LARGEST_TOML: usize = 8 << 20;
/// Greatest number of steps from a pattern within another.
const MOST_NESTED: u64 = 1_000_000;
const SECOND: SimTime = SimTime::from_millis(1000);

/// True if `name`, the first name in a JSON text or the header of a TOML table, belongs to a configuration of rattan or
/// netem-trace.
pub(super) fn is_name(name: &str) -> bool {
    Kind::of(name.trim_matches(['"', '[', ']', ' ']).split('.').next().unwrap_or_default()).is_some()
        || name.contains("PerPacketConfig")
        || name.contains("NormalizedBwConfig")
        || name.contains("SawtoothBwConfig")
}

/// Quantity that a pattern describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rate,
    Delay,
    Loss,
}

/// Kind of a configuration table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Static,
    Repeated,
    /// Durations, each with a list of rates (`TraceBwConfig`).
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

    /// Word for the quantity in names of configurations: `Bw`, `Delay` or `Loss`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Rate => "Bw",
            Self::Delay => "Delay",
            Self::Loss => "Loss",
        }
    }
}

/// Reader of patterns as JSON.
#[derive(Default)]
pub(super) struct FromJson {
    json: Json,
    steps: Steps,
}

impl Parser for FromJson {
    fn push(&mut self, bytes: &[u8], found: &mut Found) -> Result<(), TraceError> {
        let steps = &mut self.steps;
        self.json.push(bytes, &mut |of, tree| steps.element(of, &tree, found))
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        let steps = &mut self.steps;
        let root = self.json.finish(&mut |of, tree| steps.element(of, &tree, found))?;
        self.steps.root(&root, found)
    }
}

/// Reader of patterns as TOML.
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
        let line_at = |place: usize| 1 + text[..place.min(text.len())].matches('\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            let line = line_at(error.span().map_or(0, |span| span.start));
            TraceError::at(line, error.message().lines().collect::<Vec<_>>().join(" "))
        })?;
        let rows = table
            .into_inner()
            .into_iter()
            .map(|(name, row)| Ok((name.into_inner().into_owned(), tree(row, &line_at)?)));
        let root = Tree::new(1, Value::Table(rows.collect::<Result<_, TraceError>>()?));
        let mut steps = Steps::default();
        if let Some((of, body)) = root.only()
            && let Some(Value::List(elements)) = body.get("pattern").map(|pattern| &pattern.value)
        {
            for element in elements {
                steps.element(of, element, found)?;
            }
        }
        steps.root(&root, found)
    }
}

/// Converts a value of TOML; `line_at` gives the line number of a byte offset in the text.
fn tree(found: Spanned<DeValue<'_>>, line_at: &impl Fn(usize) -> usize) -> Result<Tree, TraceError> {
    let line = line_at(found.span().start);
    let value = match found.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => Value::Number(whole_number(&number).ok_or_else(|| {
            TraceError::at(line, format!("{}: must be a number below 2^63", excerpt(number.as_str())))
        })? as f64),
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Value::Truth(truth),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(rows) => {
            Value::List(rows.into_iter().map(|row| tree(row, line_at)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(rows) => Value::Table(
            rows.into_iter()
                .map(|(name, row)| Ok((name.into_inner().into_owned(), tree(row, line_at)?)))
                .collect::<Result<_, TraceError>>()?,
        ),
    };
    Ok(Tree::new(line, value))
}

fn whole_number(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// State of converting patterns to steps.
#[derive(Default)]
struct Steps {
    now: SimTime,
    count: u64,
}

impl Steps {
    /// Converts an element of the outermost pattern, whose configuration is called `of`.
    fn element(&mut self, of: &str, tree: &Tree, found: &mut Found) -> Result<(), TraceError> {
        match Kind::of(of) {
            Some((kind, Shape::Repeated)) => {
                let Some((name, body)) = tree.only() else {
                    return Err(
                        tree.refuse(format!("{}: must be a table of one configuration", tree.shown()))
                    );
                };
                self.pattern(kind, name, body, found)
            }
            Some((_, Shape::Listed)) => self.listed(tree, found),
            _ => Err(tree.refuse(format!("{of}: {NAMES}"))),
        }
    }

    fn pattern(&mut self, kind: Kind, name: &str, body: &Tree, found: &mut Found) -> Result<(), TraceError> {
        match Kind::of(name) {
            Some((of, _)) if of != kind => {
                let problem = format!("{name}: must be of {}, as the pattern around it", kind.word());
                Err(body.refuse(problem))
            }
            Some((_, Shape::Static)) => self.constant(kind, body, found),
            Some((_, Shape::Repeated)) => {
                let count = count_of(body)?;
                let elements = body.get("pattern").map(|pattern| &pattern.value);
                let Some(Value::List(elements)) = elements else { return Ok(()) };
                if count == 0 {
                    let problem =
                        "count = 0: never ends, and more follows: must be 1 or more within a pattern";
                    return Err(body.get("count").unwrap_or(body).refuse(problem));
                }
                let before = self.count;
                for _ in 0..count {
                    for element in elements {
                        let Some((name, body)) = element.only() else {
                            let problem =
                                format!("{}: must be a table of one configuration", element.shown());
                            return Err(element.refuse(problem));
                        };
                        self.pattern(kind, name, body, found)?;
                    }
                    if self.count - before > MOST_NESTED || self.count == before {
                        break;
                    }
                }
                if self.count - before > MOST_NESTED {
                    let problem = format!("a pattern within another of more than {MOST_NESTED} steps");
                    return Err(body.refuse(problem));
                }
                Ok(())
            }
            Some((_, Shape::Listed)) => {
                let Some(Value::List(rows)) = body.get("pattern").map(|pattern| &pattern.value) else {
                    return Ok(());
                };
                rows.iter().try_for_each(|row| self.listed(row, found))
            }
            None => Err(body.refuse(format!("{name}: {NAMES}"))),
        }
    }

    /// Converts an element `[DURATION, [RATE, ...]]` of a `TraceBwConfig`.
    fn listed(&mut self, row: &Tree, found: &mut Found) -> Result<(), TraceError> {
        let parts = match &row.value {
            Value::List(parts) => parts.as_slice(),
            _ => &[],
        };
        let [lasts, Tree { value: Value::List(rates), .. }] = parts else {
            return Err(row.refuse(format!("{}: must be [DURATION, [RATE, ...]]", row.shown())));
        };
        let lasts = duration("duration", lasts)?;
        for rate in rates {
            let rate_bps = Some(bandwidth(rate)?);
            self.step(rate.line, lasts, Step { rate_bps, ..Step::default() }, found)?;
        }
        Ok(())
    }

    fn constant(&mut self, kind: Kind, body: &Tree, found: &mut Found) -> Result<(), TraceError> {
        let known = match kind {
            Kind::Rate => "bw",
            Kind::Delay => "delay",
            Kind::Loss => "loss",
        };
        if let Value::Table(rows) = &body.value {
            if let Some((name, row)) = rows.iter().find(|(name, _)| name != known && name != "duration") {
                return Err(row.refuse(format!("{name}: must be {known} or duration")));
            }
        } else {
            let problem = format!("{}: must be a table of {known} and duration", body.shown());
            return Err(body.refuse(problem));
        }
        // Missing keys have the defaults of the netem-trace library.
        let lasts = body.get("duration").map_or(Ok(SECOND), |tree| duration("duration", tree))?;
        let value = body.get(known);
        let mut step = Step::default();
        match kind {
            Kind::Rate => {
                step.rate_bps = Some(value.map_or(Ok(12e6), bandwidth)?);
            }
            Kind::Delay => {
                let usual = Ok(SimTime::from_millis(10));
                step.delay = Some(value.map_or(usual, |tree| duration(known, tree))?);
            }
            Kind::Loss => {
                let shares = value.map_or(Ok(vec![0.1, 0.2]), shares)?;
                let (first, after) =
                    shares.split_first().map_or((0.0, &[][..]), |(first, after)| (*first, after));
                step.loss = Some(first);
                step.extras.extend(after.iter().map(|share| (Extra::LossAfterLoss, *share)));
            }
        }
        self.step(body.line, lasts, step, found)
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

    /// Converts the values outside the outermost pattern, at the end of the text.
    fn root(&mut self, root: &Tree, found: &mut Found) -> Result<Whole, TraceError> {
        let Some((name, body)) = root.only() else {
            return Err(root.refuse(format!("{}: must be a table of one configuration", root.shown())));
        };
        if let Some(pattern) = body.get("pattern")
            && !matches!(pattern.value, Value::List(_))
        {
            return Err(pattern.refuse(format!("pattern = {}: must be a list", pattern.shown())));
        }
        let at_end = match Kind::of(name) {
            Some((_, Shape::Repeated)) => match count_of(body)? {
                0 => AtEnd::Loop,
                1 => AtEnd::Unsaid,
                rounds => AtEnd::Rounds(rounds),
            },
            Some((kind, Shape::Static)) => {
                self.constant(kind, body, found)?;
                AtEnd::Unsaid
            }
            Some((_, Shape::Listed)) => AtEnd::Unsaid,
            None => return Err(body.refuse(format!("{name}: {NAMES}"))),
        };
        if self.count == 0 {
            return Err(TraceError::nowhere("the pattern has no step that lasts"));
        }
        Ok(Whole { lasts: self.now, at_end, notes: Vec::new() })
    }
}

const NAMES: &str = "must be Static or Repeated, of Bw, Delay or Loss, or TraceBwConfig: what is drawn at random is no recording";

fn count_of(body: &Tree) -> Result<u64, TraceError> {
    let Some(count) = body.get("count") else { return Ok(0) };
    let whole = count.number().filter(|count| count.fract() == 0.0 && (0.0..=1e15).contains(count));
    whole.map(|count| count as u64).ok_or_else(|| {
        count.refuse(format!("count = {}: must be a whole number of 0 or more", count.shown()))
    })
}

/// Reads a duration, a text such as `1s 500ms` or a table `{"secs": 1, "nanos": 500000000}`.
fn duration(name: &str, tree: &Tree) -> Result<SimTime, TraceError> {
    let nanos = if let Value::Text(text) = &tree.value {
        sum(text, HUMAN_TIMES)
    } else {
        let part = |name: &str| tree.get(name).and_then(Tree::number);
        part("secs").zip(part("nanos")).map(|(secs, nanos)| secs * 1e9 + nanos)
    };
    time(nanos)
        .ok_or_else(|| tree.refuse(format!("{name} = {}: must be a time such as \"10ms\"", tree.shown())))
}

/// Reads a bandwidth, a text such as `12Mbps` or a table such as `{"gbps": 0, "bps": 12000000}`. Fractions of a bit/s
/// are dropped, as in the netem-trace library.
fn bandwidth(tree: &Tree) -> Result<f64, TraceError> {
    let bps = if let Value::Text(text) = &tree.value {
        sum(text, HUMAN_RATES)
    } else {
        let part = |name: &str| tree.get(name).and_then(Tree::number);
        part("gbps").zip(part("bps")).map(|(gbps, bps)| gbps * 1e9 + bps)
    };
    rate(bps)
        .map(f64::floor)
        .ok_or_else(|| tree.refuse(format!("bw = {}: must be a rate such as \"12Mbps\"", tree.shown())))
}

fn shares(tree: &Tree) -> Result<Vec<f64>, TraceError> {
    let share = |tree: &Tree| tree.number().filter(|share| (0.0..=1.0).contains(share));
    let found = match &tree.value {
        Value::List(rows) => rows.iter().map(share).collect(),
        _ => None,
    };
    found.ok_or_else(|| tree.refuse(format!("loss = {}: must be a list of shares from 0 to 1", tree.shown())))
}

/// Writer of a pattern of one quantity, as JSON or TOML.
pub(super) struct Writer {
    kind: Kind,
    is_toml: bool,
    /// Number of rounds; 0 for an endless pattern.
    count: u64,
    is_first: bool,
}

impl Writer {
    /// Further properties that the format holds beside rate, delay and loss.
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

    /// Writes a step with the duration `lasts`.
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
