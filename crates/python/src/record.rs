//! Records of packets: read of captures, and links fitted to them.

use crate::error::TraceError;
use crate::traces::Chunks;
use crossfade_capture::read::{
    Fate as ReadFate, FileReader, FlowReader, FlowRecord, ReadError, Survey, Vantage, join,
};
use crossfade_fit::{Fate, Fit, Model, Packet, Parameter, Record, Verdict};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// Frames that are looked at between two chunks of a file.
fn read(
    chunks: &Bound<'_, PyAny>,
    mut each: impl FnMut(
        crossfade_capture::read::Frame<'_>,
        Option<crossfade_capture::read::Packet>,
    ) -> Result<(), ReadError>,
) -> PyResult<bool> {
    let refused = |error: ReadError| TraceError::new_err(error.to_string());
    let mut reader = FileReader::default();
    for chunk in Chunks(chunks.try_iter()?) {
        reader.push(&chunk?, &mut each).map_err(refused)?;
    }
    reader.finish().map_err(refused)
}

/// The largest flow of a capture, whose chunks are handed over twice: one iterable of bytes each time.
fn flow(first: &Bound<'_, PyAny>, second: &Bound<'_, PyAny>) -> PyResult<(FlowReader, f64, bool)> {
    let mut survey = Survey::default();
    let is_cut = read(first, |frame, packet| {
        survey.look(frame, packet);
        Ok(())
    })?;
    let (key, _, share) = survey.largest().map_err(|error| TraceError::new_err(error.to_string()))?;
    let mut flow = FlowReader::new(key);
    read(second, |frame, packet| flow.look(frame, packet))?;
    Ok((flow, share, is_cut))
}

/// What became of the packets of the largest flow of a capture, as columns; of two captures, the sender's and the
/// receiver's, joined.
#[pyfunction]
#[pyo3(signature = (first, again, receiver = None, receiver_again = None))]
pub(crate) fn read_capture<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    again: &Bound<'py, PyAny>,
    receiver: Option<&Bound<'py, PyAny>>,
    receiver_again: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (sender, share, ends_early) = flow(first, again)?;
    let record = match (receiver, receiver_again) {
        (Some(receiver), Some(again)) => join(sender, flow(receiver, again)?.0),
        _ => sender.finish(),
    };
    let record = record.map_err(|error| TraceError::new_err(error.to_string()))?;
    columns(py, &record, share, ends_early)
}

fn columns<'py>(
    py: Python<'py>,
    record: &FlowRecord,
    share: f64,
    ends_early: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let column = |of: &dyn Fn(&crossfade_capture::read::Observed) -> f64| {
        record.packets.iter().map(of).collect::<Vec<f64>>()
    };
    let fates = record.packets.iter().map(|packet| match packet.fate {
        ReadFate::Arrived => 0_i8,
        ReadFate::Lost => 1,
        ReadFate::Unknown => 2,
    });
    found.set_item("sent_s", column(&|packet| packet.sent_ns as f64 / 1e9).into_pyarray(py))?;
    found.set_item("bytes", column(&|packet| packet.bytes.into()).into_pyarray(py))?;
    let seen = column(&|packet| packet.seen_ns.map_or(f64::NAN, |seen| seen as f64 / 1e9));
    found.set_item("seen_s", seen.into_pyarray(py))?;
    found.set_item("fate", fates.collect::<Vec<i8>>().into_pyarray(py))?;
    found.set_item("flow", record.flow.to_string())?;
    found.set_item("is_round_trip", record.vantage == Vantage::Sender)?;
    found.set_item("offloads", record.offloads)?;
    found.set_item("is_cut", record.is_cut)?;
    found.set_item("ends_early", ends_early)?;
    found.set_item("share", share)?;
    Ok(found)
}

/// A link fitted to a record, as JSON text: columns as [`read_capture`] has them.
#[pyfunction]
pub(crate) fn fit_link(
    py: Python<'_>,
    sent_s: PyReadonlyArray1<'_, f64>,
    bytes: PyReadonlyArray1<'_, f64>,
    seen_s: PyReadonlyArray1<'_, f64>,
    fate: PyReadonlyArray1<'_, i8>,
    is_round_trip: bool,
    seed: u64,
) -> PyResult<String> {
    let (sent_s, bytes, seen_s, fate) =
        (sent_s.as_slice()?, bytes.as_slice()?, seen_s.as_slice()?, fate.as_slice()?);
    let packets = sent_s.iter().zip(bytes).zip(seen_s).zip(fate).map(|(((sent_s, bytes), seen_s), fate)| {
        let fate = match fate {
            0 => Fate::Arrived,
            1 => Fate::Lost,
            _ => Fate::Unknown,
        };
        Packet { sent_s: *sent_s, bytes: *bytes, seen_s: seen_s.is_finite().then_some(*seen_s), fate }
    });
    let packets: Vec<Packet> = packets.collect();
    py.detach(|| {
        let record = Record::new(packets, is_round_trip).map_err(|error| error.to_string())?;
        let fit = Fit::new(&record, seed);
        Ok(described(&record, &fit).to_string())
    })
    .map_err(TraceError::new_err::<String>)
}

fn described(record: &Record, fit: &Fit) -> Value {
    let model = match fit.model {
        Model::M0 => "M0",
        Model::M1 => "M1",
        Model::M2 => "M2",
        Model::M3 => "M3",
    };
    let windows = fit.windows.iter().map(|window| json!([window.from_s, window.busy_s, window.bits]));
    let draws =
        fit.draws.iter().map(|draw| json!([draw.rate_bps, draw.delay_s, draw.queue_bytes, draw.loss]));
    let delays = fit.delays.iter().map(|level| json!([level.from_s, level.delay_s]));
    json!({
        "model": model,
        "lasts_s": record.lasts_s(),
        "packets": record.packets().len(),
        "packet_bytes": record.full_bytes(),
        "arrived_bps": record.arrived_bps(),
        "rate": parameter(fit.rate),
        "delay": parameter(fit.delay),
        "queue": parameter(fit.queue),
        "loss": parameter(fit.loss),
        "random_losses": fit.losses.lost,
        "congestive_losses": fit.limit.drops,
        "mean_burst": fit.losses.chain.as_ref().map(|chain| chain.mean_burst.value),
        "loss_grows_with_queue": fit.losses.grows_with_queue(),
        "rates": fit.rates,
        "windows": windows.collect::<Vec<_>>(),
        "window_s": fit.window_s,
        "delays": delays.collect::<Vec<_>>(),
        "period": fit.period.map(|period| json!({
            "period_s": period.period_s, "strength": period.strength, "p_value": period.p_value,
        })),
        "skew": fit.clock.map(|clock| clock.skew),
        "busy_share": fit.busy_share,
        "waited_share": fit.waited_share,
        "deviation_s": fit.deviation_s,
        "held_out": fit.held_out,
        "paced": fit.is_paced(record),
        "draws": draws.collect::<Vec<_>>(),
    })
}

fn parameter(of: Parameter) -> Value {
    let verdict = match of.verdict {
        Verdict::Identified => "identified",
        Verdict::Bounded => "bounded",
        Verdict::NotIdentified => "not identified",
    };
    json!({ "value": of.value, "low": of.low, "high": of.high, "verdict": verdict })
}
