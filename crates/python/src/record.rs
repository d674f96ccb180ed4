//! Records of packets from captures and logs, and links fitted to them.

use crate::error::TraceError;
use crate::traces::Chunks;
use crossfade_capture::read::{
    Fate as ReadFate, FileReader, FlowReader, FlowRecord, FlowTold, HEAD, LogKind, LogReader, Observed,
    ReadError, StretchLog, Survey, Told, Vantage, join,
};
use crossfade_core::Carried;
use crossfade_fit::{
    CoarseFit, Draw, Fate, Fit, Model, Packet, Parameter, RateLevel, Record, Stretches, Verdict,
};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// Reads a capture file given in chunks, and passes each frame and its packet to `each`. Returns true if the file is
/// cut off.
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
        if reader.is_over() {
            break;
        }
    }
    reader.finish().map_err(refused)
}

/// The largest flow of a capture file, which is read twice: `first` and `second` are iterables of its bytes. If only
/// one end was captured (`is_alone`), other flows between the same hosts are included. Also returns a survey of all
/// flows, and true if the file is cut off.
fn flow(
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
    is_alone: bool,
) -> PyResult<(FlowReader, Survey, bool)> {
    let mut survey = Survey::default();
    let is_cut = read(first, |frame, packet| {
        survey.look(frame, packet);
        Ok(())
    })?;
    let (key, _) = survey.largest().map_err(|error| TraceError::new_err(error.to_string()))?;
    let beside = if is_alone { survey.beside(key) } else { Vec::new() };
    let mut flow = FlowReader::with_beside(key, &beside);
    read(second, |frame, packet| flow.look(frame, packet))?;
    Ok((flow, survey, is_cut))
}

/// Packets of the largest flow of a capture with their fates, as columns. Captures of the sender and of the receiver
/// are joined. For encrypted QUIC captured at one end the result has stretches of time, as from [`read_log`]. Each
/// capture is read twice (`first` and `again`).
#[pyfunction]
#[pyo3(signature = (first, again, receiver = None, receiver_again = None))]
pub(crate) fn read_capture<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    again: &Bound<'py, PyAny>,
    receiver: Option<&Bound<'py, PyAny>>,
    receiver_again: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (sender, survey, ends_early) = flow(first, again, receiver.is_none())?;
    let key = sender.key();
    let record = match (receiver, receiver_again) {
        (Some(receiver), Some(again)) => join(sender, flow(receiver, again, false)?.0).map(FlowTold::Packets),
        _ => sender.told(),
    };
    match record.map_err(|error| TraceError::new_err(error.to_string()))? {
        FlowTold::Packets(record) => {
            let share = survey.share(&record.beside.iter().copied().chain([key]).collect());
            columns(py, &record, share, ends_early)
        }
        FlowTold::Stretches(log) => {
            let found = PyDict::new(py);
            stretches(&found, log)?;
            found.set_item("ends_early", ends_early)?;
            found.set_item("share", survey.share(&[key].into()))?;
            Ok(found)
        }
    }
}

fn columns<'py>(
    py: Python<'py>,
    record: &FlowRecord,
    share: f64,
    ends_early: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    packets(py, &found, &record.packets)?;
    let others = match record.beside.len() {
        0 => String::new(),
        1 => " and another flow between these hosts".to_owned(),
        others => format!(" and {others} other flows between these hosts"),
    };
    found.set_item("flow", format!("{}{others}", record.flow))?;
    found.set_item("is_round_trip", record.vantage != Vantage::BothEnds)?;
    found.set_item("at_receiver", record.vantage == Vantage::Receiver)?;
    found.set_item("tick_s", record.tick_ns as f64 / 1e9)?;
    found.set_item("held_s", record.held_ns as f64 / 1e9)?;
    let reverse = |of: fn(&(i64, i64)) -> i64| {
        record.reverse.iter().map(|delay| of(delay) as f64 / 1e9).collect::<Vec<f64>>().into_pyarray(py)
    };
    found.set_item("reverse_sent_s", reverse(|of| of.0))?;
    found.set_item("reverse_delay_s", reverse(|of| of.1))?;
    found.set_item("offloads", record.offloads)?;
    found.set_item("is_of_linux", record.is_of_linux)?;
    found.set_item("is_cut", record.is_cut)?;
    found.set_item("ends_early", ends_early)?;
    found.set_item("share", share)?;
    Ok(found)
}

fn packets<'py>(py: Python<'py>, found: &Bound<'py, PyDict>, packets: &[Observed]) -> PyResult<()> {
    let column = |of: &dyn Fn(&Observed) -> f64| packets.iter().map(of).collect::<Vec<f64>>();
    let fates = packets.iter().map(|packet| match packet.fate {
        ReadFate::Arrived => 0_i8,
        ReadFate::Lost => 1,
        ReadFate::Unknown => 2,
    });
    found.set_item("sent_s", column(&|packet| packet.sent_ns as f64 / 1e9).into_pyarray(py))?;
    found.set_item("bytes", column(&|packet| packet.bytes.into()).into_pyarray(py))?;
    let seen = column(&|packet| packet.seen_ns.map_or(f64::NAN, |seen| seen as f64 / 1e9));
    found.set_item("seen_s", seen.into_pyarray(py))?;
    found.set_item("fate", fates.collect::<Vec<i8>>().into_pyarray(py))
}

/// Name of the tool whose log begins with these bytes; None if it is unknown.
#[pyfunction]
pub(crate) fn detect_log(head: &[u8]) -> Option<&'static str> {
    LogKind::of(head).map(LogKind::name)
}

/// Content of another tool's log. Key `kind` is `packets`, with columns as from [`read_capture`], or `stretches`, with
/// rows of time intervals.
#[pyfunction]
pub(crate) fn read_log<'py>(py: Python<'py>, chunks: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let refused = |error: &dyn std::fmt::Display| TraceError::new_err(error.to_string());
    let (mut head, mut reader) = (Vec::new(), None::<LogReader>);
    let begin = |head: &[u8]| -> PyResult<LogReader> {
        let kind = LogKind::of(head).ok_or_else(|| refused(&"not a log that is read"))?;
        let mut reader = LogReader::new(kind);
        reader.push(head).map_err(|error| refused(&error))?;
        Ok(reader)
    };
    for chunk in Chunks(chunks.try_iter()?) {
        let chunk = chunk?;
        match &mut reader {
            Some(reader) => reader.push(&chunk).map_err(|error| refused(&error))?,
            None => {
                head.extend_from_slice(&chunk);
                if head.len() >= HEAD {
                    reader = Some(begin(&head)?);
                }
            }
        }
    }
    let reader = reader.map_or_else(|| begin(&head), Ok)?;
    let found = PyDict::new(py);
    match reader.finish().map_err(|error| refused(&error))? {
        Told::Packets(log) => {
            found.set_item("kind", "packets")?;
            packets(py, &found, &log.packets)?;
            found.set_item("flow", log.flow)?;
            found.set_item("is_round_trip", log.is_round_trip)?;
            found.set_item("are_probes", log.are_probes)?;
            found.set_item("has_sizes", log.has_sizes)?;
            found.set_item("is_cut", log.is_cut)?;
            found.set_item("tick_s", log.tick_ns as f64 / 1e9)?;
            found.set_item("starts_s", log.starts_s)?;
        }
        Told::Stretches(log) => stretches(&found, log)?,
    }
    Ok(found)
}

/// Adds the rows of a log of time intervals to `found`.
fn stretches(found: &Bound<'_, PyDict>, log: StretchLog) -> PyResult<()> {
    found.set_item("kind", "stretches")?;
    let rows = log.stretches.iter().map(|of| {
        let lost = of.lost.unwrap_or(f64::NAN);
        let rtt_s = of.rtt_s.unwrap_or(f64::NAN);
        (of.from_s, of.to_s, of.bytes, of.packets, lost, rtt_s, of.is_limited)
    });
    found.set_item("rows", rows.collect::<Vec<_>>())?;
    found.set_item("flow", log.flow)?;
    found.set_item("is_udp", log.is_udp)?;
    found.set_item("packet_bytes", log.packet_bytes)?;
    found.set_item("flows", log.flows)?;
    found.set_item("lost_share", log.lost_share)?;
    found.set_item("least_rtt_s", log.least_rtt_s)?;
    found.set_item("is_cut", log.is_cut)
}

/// Link fitted to a record of packets, as JSON text; the record has columns as from [`read_capture`].
#[pyfunction]
#[pyo3(signature = (sent_s, bytes, seen_s, fate, is_round_trip, seed, tick_s = 0.0, reverse = None))]
#[expect(clippy::too_many_arguments, reason = "columns of a record, one by one")]
pub(crate) fn fit_link(
    py: Python<'_>,
    sent_s: PyReadonlyArray1<'_, f64>,
    bytes: PyReadonlyArray1<'_, f64>,
    seen_s: PyReadonlyArray1<'_, f64>,
    fate: PyReadonlyArray1<'_, i8>,
    is_round_trip: bool,
    seed: u64,
    tick_s: f64,
    reverse: Option<Vec<(f64, f64)>>,
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
        let record = record.with_tick(tick_s).with_reverse(reverse.unwrap_or_default());
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
    let windows =
        fit.windows.iter().map(|window| json!([window.from_s, window.busy_s, window.bits, window.packets]));
    let delays = fit.delays.iter().map(|level| json!([level.from_s, level.delay_s]));
    json!({
        "model": model,
        "lasts_s": record.lasts_s(),
        "packets": record.packets().len(),
        "packet_bytes": record.full_bytes(),
        "arrived_bps": record.arrived_bps(),
        "rate": parameter(fit.rate),
        "link_rate": parameter(fit.link_rate),
        "policer": fit.policer.map(|of| json!({
            "rate_bps": of.rate_bps, "burst_bytes": of.burst_bytes, "drops": fit.policed,
        })),
        "delay": parameter(fit.delay),
        "queue": parameter(fit.queue),
        "loss": parameter(fit.loss),
        "random_losses": fit.losses.lost,
        "congestive_losses": fit.limit.drops,
        "mean_burst": fit.mean_burst,
        "loss_grows_with_queue": fit.losses.grows_with_queue(),
        "rates": fit.rates,
        "levels": leveled(&fit.levels),
        "quiet_bps": fit.quiet_bps,
        "windows": windows.collect::<Vec<_>>(),
        "window_s": fit.window_s,
        "fewest_packets": fit.fewest_packets,
        "delays": delays.collect::<Vec<_>>(),
        "period": fit.period.map(|period| json!({
            "period_s": period.period_s, "strength": period.strength, "p_value": period.p_value,
        })),
        "skew": fit.clock.map(|clock| clock.skew),
        "busy_share": fit.busy_share,
        "waited_share": fit.waited_share,
        "explained": fit.explained,
        "deviation_s": fit.deviation_s,
        "held_out": fit.held_out,
        "paced": fit.is_paced(record),
        "draws": drawn(&fit.draws),
    })
}

fn leveled(levels: &[RateLevel]) -> Vec<Value> {
    levels.iter().map(|of| json!([of.rate_bps, of.share, of.lasts_s])).collect()
}

fn drawn(draws: &[Draw]) -> Vec<Value> {
    let row =
        |draw: &Draw| json!([draw.rate_bps, draw.delay_s, draw.queue_bytes, draw.loss, draw.mean_burst]);
    draws.iter().map(row).collect()
}

/// A stretch of time of [`read_log`]: begin and end in seconds, bytes, packets, lost packets, round trip in seconds,
/// and true if the application limited the rate.
type Row = (f64, f64, f64, f64, f64, f64, bool);

/// Link fitted to stretches of time, as JSON text; `rows` are as from [`read_log`].
#[pyfunction]
pub(crate) fn fit_stretches(
    rows: Vec<Row>,
    is_udp: bool,
    packet_bytes: f64,
    lost_share: Option<f64>,
    least_rtt_s: Option<f64>,
    seed: u64,
) -> PyResult<String> {
    let carried = rows.iter().map(|&(from_s, to_s, bytes, packets, lost, rtt_s, is_limited)| Carried {
        from_s,
        to_s,
        bytes,
        packets,
        lost: lost.is_finite().then_some(lost),
        rtt_s: rtt_s.is_finite().then_some(rtt_s),
        is_limited,
    });
    let stretches = Stretches { carried: carried.collect(), is_udp, packet_bytes, lost_share, least_rtt_s };
    let fit = CoarseFit::new(&stretches, seed).map_err(|error| TraceError::new_err(error.to_string()))?;
    let start = stretches.carried.first().map_or(0.0, |of| of.from_s);
    let follows = !fit.rates.is_empty();
    let windows = stretches.carried.iter().zip(&fit.tells).map(|(of, tells)| {
        // If the fitted rate changes, stretches that do not reveal the rate have no weight.
        let says = if *tells || !follows { 1.0 } else { 0.0 };
        json!([of.from_s - start, of.to_s - of.from_s, 8.0 * of.bytes * says, of.packets * says])
    });
    Ok(json!({
        "model": if follows { "M2" } else { "M0" },
        "lasts_s": fit.lasts_s,
        "packets": fit.packets.round() as u64,
        "packet_bytes": packet_bytes,
        "arrived_bps": fit.carried_bps,
        "rate": parameter(fit.rate),
        "link_rate": parameter(fit.rate),
        "policer": null,
        "delay": parameter(fit.delay),
        "queue": parameter(fit.queue),
        "loss": parameter(fit.loss),
        "random_losses": fit.lost.0.round() as u64,
        "congestive_losses": fit.lost.1.round() as u64,
        "mean_burst": null,
        "loss_grows_with_queue": false,
        "rates": fit.rates,
        "levels": leveled(&fit.levels),
        "quiet_bps": null,
        "windows": windows.collect::<Vec<_>>(),
        "window_s": fit.lasts_s / stretches.carried.len() as f64,
        "fewest_packets": 1,
        "delays": [],
        "period": null,
        "skew": null,
        "busy_share": fit.busy_share,
        "waited_share": null,
        "explained": null,
        "deviation_s": 0.0,
        "held_out": fit.held_out,
        "paced": false,
        "draws": drawn(&fit.draws),
    })
    .to_string())
}

fn parameter(of: Parameter) -> Value {
    let verdict = match of.verdict {
        Verdict::Identified => "identified",
        Verdict::Bounded => "bounded",
        Verdict::NotIdentified => "not identified",
    };
    json!({ "value": of.value, "low": of.low, "high": of.high, "verdict": verdict })
}
