//! Recordings of links in the formats of other tools: detection, description, and conversion.

use crate::error::TraceError;
use crossfade_core::SimTime;
use crossfade_link::trace::TraceError as Malformed;
use crossfade_link::trace::formats::{
    Assumed, AtEnd, Conversion, Described, Detector, Direction, Distribution, Extra, Format, Item, Part,
    Reader, Room, Step, Summary, Told, Whole,
};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Reason why a recording cannot be read: its content, or an exception of the Python iterator, such as Ctrl-C.
pub(crate) enum Failed {
    Malformed(Malformed),
    Python(PyErr),
}

impl From<Malformed> for Failed {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failed> for PyErr {
    fn from(error: Failed) -> Self {
        match error {
            Failed::Malformed(error) => TraceError::new_err(error.to_string()),
            Failed::Python(error) => error,
        }
    }
}

/// Chunks of a text from a Python iterator of bytes.
pub(crate) struct Chunks<'py>(pub(crate) Bound<'py, PyIterator>);

impl Iterator for Chunks<'_> {
    type Item = Result<Vec<u8>, Failed>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.0.next()?;
        let bytes = chunk.and_then(|chunk| Ok(chunk.cast::<PyBytes>()?.as_bytes().to_vec()));
        Some(bytes.map_err(Failed::Python))
    }
}

fn reader<'py>(
    format: &str,
    chunks: &Bound<'py, PyAny>,
    delay_interval_s: Option<f64>,
) -> PyResult<Reader<Chunks<'py>>> {
    let mut assumed = Assumed::default();
    if let Some(seconds) = delay_interval_s {
        assumed.delay_interval = SimTime::from_secs_f64(seconds);
    }
    Ok(Reader::assuming(known(format)?, assumed, Chunks(chunks.try_iter()?)))
}

fn known(name: &str) -> PyResult<Format> {
    Format::named(name).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        TraceError::new_err(format!("format {name:?}: must be one of {}", names.join(", ")))
    })
}

/// All formats of recordings as JSON text: name, title, and true if the format can be written.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    let row = |format: Format| json!({ "name": format.name(), "title": format.title(), "written": format.is_written() });
    Value::Array(Format::ALL.into_iter().map(row).collect()).to_string()
}

/// Name of the format of a recording, detected from its first chunks.
#[pyfunction]
pub(crate) fn detect_trace(chunks: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let mut detector = Detector::default();
    for chunk in Chunks(chunks.try_iter()?) {
        if !detector.push(&chunk?).map_err(Failed::Malformed)? {
            break;
        }
    }
    Ok(detector.finish().map_err(Failed::Malformed)?.name())
}

/// Summary of each direction of a recording, and facts about the whole.
fn summarised(
    format: &str,
    chunks: &Bound<'_, PyAny>,
    delay_interval_s: Option<f64>,
) -> PyResult<(BTreeMap<Direction, Summary>, Whole)> {
    let mut reader = reader(format, chunks, delay_interval_s)?;
    let mut summaries: BTreeMap<Direction, Summary> = BTreeMap::new();
    for told in reader.by_ref() {
        let (direction, item) = told?;
        summaries.entry(direction).or_default().look(&item);
    }
    Ok((summaries, reader.whole().cloned().unwrap_or_default()))
}

/// Summary of a recording in a known format, as JSON text.
#[pyfunction]
#[pyo3(signature = (format, chunks, delay_interval_s = None))]
pub(crate) fn describe_trace(
    format: &str,
    chunks: &Bound<'_, PyAny>,
    delay_interval_s: Option<f64>,
) -> PyResult<String> {
    let (summaries, whole) = summarised(format, chunks, delay_interval_s)?;
    let ways: Vec<Value> = summaries
        .into_iter()
        .map(|(direction, summary)| described(direction, &summary.finish(&whole)))
        .collect();
    let at_end = match whole.at_end {
        AtEnd::Unsaid => Value::Null,
        AtEnd::Loop => json!("loop"),
        AtEnd::Hold => json!("hold"),
        AtEnd::Rounds(rounds) => json!(rounds),
    };
    let notes: serde_json::Map<String, Value> =
        whole.notes.into_iter().map(|(name, text)| (name, json!(text))).collect();
    Ok(json!({ "lasts_s": whole.lasts.as_secs_f64(), "at_end": at_end, "notes": notes, "ways": ways })
        .to_string())
}

/// Capacity, delay and loss of a recording over time, as JSON text: times in s and mean values, in at most `most`
/// points.
#[pyfunction]
pub(crate) fn trace_curves(
    format: &str,
    chunks: &Bound<'_, PyAny>,
    delay_interval_s: f64,
    most: usize,
) -> PyResult<String> {
    let (summaries, whole) = summarised(format, chunks, Some(delay_interval_s))?;
    let ways = summaries.into_iter().map(|(direction, summary)| {
        let curves = summary.curves(&whole, most).into_iter();
        let curves = curves.map(|(name, curve)| (name.to_owned(), json!([curve.times_s, curve.means])));
        (direction.name().to_owned(), Value::Object(curves.collect()))
    });
    Ok(Value::Object(ways.collect()).to_string())
}

fn described(direction: Direction, found: &Described) -> Value {
    let [packets, bytes, nanos] = found.rooms;
    json!({
        "direction": direction.name(),
        "facts": found.items,
        "opportunities": found.opportunities,
        "packets_in": found.packets[0],
        "packets_out": found.packets[1],
        "rate_bps": distribution(found.rate_bps),
        "unlimited": found.is_unlimited,
        "delay_s": distribution(found.delay_s),
        "loss": distribution(found.loss),
        "sent_bps": distribution(found.throughput_bps[0]),
        "arrived_bps": distribution(found.throughput_bps[1]),
        "queue_packets": packets,
        "queue_bytes": bytes,
        "queue_s": nanos.map(|range| range.map(|nanos| SimTime::from_nanos(nanos).as_secs_f64())),
        "also": found.extras.iter().map(|extra| extra.name()).collect::<Vec<_>>(),
        "clock_s": found.clock.as_secs_f64(),
        "delay_clock_s": found.delay_clock.as_secs_f64(),
        "window_s": found.window.as_secs_f64(),
    })
}

fn distribution(of: Option<Distribution>) -> Value {
    of.map_or(Value::Null, |of| {
        json!({ "mean": of.mean, "min": of.min, "p5": of.p5, "p50": of.p50, "p95": of.p95, "max": of.max })
    })
}

/// Kinds of a recording's items; the column `kind` has their indices.
const KINDS: [&str; 5] = ["opportunity", "step", "train", "sent", "arrived"];
const WAYS: [Direction; 3] = [Direction::Both, Direction::Up, Direction::Down];

/// Items of a recording as columns of numbers; a value that an item lacks is NaN.
#[derive(Default)]
struct Columns {
    kinds: Vec<i8>,
    ways: Vec<i8>,
    numbers: BTreeMap<&'static str, Vec<f64>>,
}

impl Columns {
    fn set(&mut self, name: &'static str, value: f64) {
        let row = self.kinds.len() - 1;
        let column = self.numbers.entry(name).or_default();
        column.resize(row, f64::NAN);
        column.push(value);
    }

    fn push(&mut self, (direction, item): &Told) {
        self.ways.push(WAYS.iter().position(|way| way == direction).unwrap_or_default() as i8);
        self.kinds.push(match item {
            Item::Opportunity { .. } => 0,
            Item::Step(_) => 1,
            Item::Train { .. } => 2,
            Item::Sent { .. } => 3,
            Item::Arrived { .. } => 4,
        });
        self.set("time_s", item.time().as_secs_f64());
        match item {
            Item::Opportunity { bytes, .. } => self.set("bytes", f64::from(*bytes)),
            Item::Step(step) => self.step(step),
            Item::Train { delay, offsets, .. } => {
                self.set("delay_s", delay.as_secs_f64());
                self.set("packets", offsets.len() as f64);
                self.set("spread_s", offsets.last().map_or(0.0, |last| last.as_secs_f64()));
            }
            Item::Sent { bytes, id, .. } => self.packet(*bytes, *id),
            Item::Arrived { bytes, id, delay, .. } => {
                self.packet(*bytes, *id);
                if let Some(delay) = delay {
                    self.set("delay_s", delay.as_secs_f64());
                }
            }
        }
    }

    fn packet(&mut self, bytes: u32, id: Option<u64>) {
        self.set("bytes", f64::from(bytes));
        if let Some(id) = id {
            self.set("id", id as f64);
        }
    }

    fn step(&mut self, step: &Step) {
        let said = [
            ("lasts_s", step.lasts.map(SimTime::as_secs_f64)),
            ("rate_bps", step.rate_bps),
            ("delay_s", step.delay.map(SimTime::as_secs_f64)),
            ("loss", step.loss),
        ];
        for (name, value) in said {
            if let Some(value) = value {
                self.set(name, value);
            }
        }
        match step.queue {
            Some(Room::Packets(packets)) => self.set("queue_packets", packets as f64),
            Some(Room::Bytes(bytes)) => self.set("queue_bytes", bytes as f64),
            Some(Room::Time(time)) => self.set("queue_s", time.as_secs_f64()),
            None => {}
        }
        let mut before: Option<Extra> = None;
        for (extra, value) in &step.extras {
            // If a key occurs several times, its first value is shown.
            if before.replace(*extra) != Some(*extra) {
                self.set(extra.name(), value * extra.scale());
            }
        }
    }
}

/// Items of a recording as a dict of arrays, one for each column that has a value; `kind` and `direction` are indices
/// into `kinds` and `directions`.
#[pyfunction]
#[pyo3(signature = (format, chunks, delay_interval_s = None))]
pub(crate) fn trace_columns<'py>(
    py: Python<'py>,
    format: &str,
    chunks: &Bound<'py, PyAny>,
    delay_interval_s: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut columns = Columns::default();
    for told in reader(format, chunks, delay_interval_s)? {
        columns.push(&told?);
    }
    let (found, rows) = (PyDict::new(py), columns.kinds.len());
    found.set_item("kinds", KINDS)?;
    found.set_item("directions", WAYS.map(Direction::name))?;
    found.set_item("kind", columns.kinds.into_pyarray(py))?;
    found.set_item("direction", columns.ways.into_pyarray(py))?;
    for (name, mut column) in columns.numbers {
        column.resize(rows, f64::NAN);
        found.set_item(name, column.into_pyarray(py))?;
    }
    Ok(found)
}

/// Conversion of recordings of one direction of a link to another format. Each recording is read twice: first by
/// `look`, then by `write`.
#[pyclass(module = "crossfade._crossfade")]
pub(crate) struct TraceConversion {
    conversion: Conversion,
    direction: Direction,
}

/// Item of a recording if it is about direction `way` or about both; errors are passed on.
fn of_way(told: Result<Told, Failed>, way: Direction) -> Option<Result<Item, Failed>> {
    match told {
        Ok((direction, item)) => {
            let is_of_way = way == Direction::Both || direction == Direction::Both || direction == way;
            is_of_way.then_some(Ok(item))
        }
        Err(error) => Some(Err(error)),
    }
}

#[pymethods]
impl TraceConversion {
    #[new]
    fn new(to: &str, direction: &str) -> PyResult<Self> {
        let format = known(to)?;
        let Some(conversion) = Conversion::to(format) else {
            return Err(TraceError::new_err(format!("format {to:?}: is read, not written")));
        };
        let Some(direction) = WAYS.into_iter().find(|way| way.name() == direction) else {
            return Err(TraceError::new_err(format!(
                "direction {direction:?}: must be one of up, down, both"
            )));
        };
        Ok(Self { conversion, direction })
    }

    /// First pass over a recording, to its end.
    #[pyo3(signature = (format, chunks, delay_interval_s = None))]
    fn look(
        &mut self,
        format: &str,
        chunks: &Bound<'_, PyAny>,
        delay_interval_s: Option<f64>,
    ) -> PyResult<()> {
        let mut reader = reader(format, chunks, delay_interval_s)?;
        for told in reader.by_ref() {
            if let Some(item) = of_way(told, self.direction) {
                self.conversion.look(&item?);
            }
        }
        self.conversion.end(&reader.whole().cloned().unwrap_or_default());
        Ok(())
    }

    /// Facts that the conversion loses; raises `TraceError` if the format cannot hold the recording.
    fn losses(&self) -> PyResult<Vec<String>> {
        self.conversion.check().map_err(TraceError::new_err)?;
        Ok(self.conversion.losses().each().map(str::to_owned).collect())
    }

    /// Names of the files that the conversion writes; the name is empty for a single file.
    fn parts(&self) -> Vec<&'static str> {
        self.conversion.parts().into_iter().map(Part::name).collect()
    }

    /// Second pass: reads the recordings side by side, each a format and its chunks, and passes the text of the file
    /// `part` (one of `parts`) to `take`.
    #[pyo3(signature = (part, texts, take, delay_interval_s = None))]
    fn write(
        &self,
        part: &str,
        texts: Vec<(String, Bound<'_, PyAny>)>,
        take: &Bound<'_, PyAny>,
        delay_interval_s: Option<f64>,
    ) -> PyResult<()> {
        let way = self.direction;
        let parts = self.conversion.parts();
        let Some(part) = parts.into_iter().find(|known| known.name() == part) else {
            return Err(TraceError::new_err(format!("part {part:?}: there is none")));
        };
        let texts = texts
            .iter()
            .map(|(format, chunks)| {
                Ok(reader(format, chunks, delay_interval_s)?.filter_map(move |told| of_way(told, way)))
            })
            .collect::<PyResult<Vec<_>>>()?;
        self.conversion.write(part, texts, |text| Ok(take.call1((text,)).map(drop)?)).map_err(PyErr::from)
    }
}
