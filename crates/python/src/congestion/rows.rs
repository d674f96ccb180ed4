//! Rows of acknowledgements as numpy's structured arrays.

use super::failure::Told;
use crate::error::scenario_error;
use crossfade_core::SimTime;
use crossfade_transport::congestion::RateSample;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyBytes};

/// Fields of a row with numpy's names of their types, in the order of [`Rows::add`].
const FIELDS: [(&str, &str); 20] = [
    ("now", "f8"),
    ("cwnd", "f8"),
    ("rate", "f8"),
    ("rtt", "f8"),
    ("srtt", "f8"),
    ("interval", "f8"),
    ("departure", "f8"),
    ("delivered", "i8"),
    ("prior_delivered", "i8"),
    ("newly_acked", "i8"),
    ("newly_lost", "i8"),
    ("lost", "i8"),
    ("lost_since_sent", "i8"),
    ("tx_in_flight", "i8"),
    ("in_flight", "i8"),
    ("prior_in_flight", "i8"),
    ("ce", "i8"),
    ("app_limited", "?"),
    ("answers_probe", "?"),
    ("phase", "u1"),
];

/// Bytes of a row: eight for each field of type `f8` or `i8`, one for each other.
const ROW: usize = {
    let (mut bytes, mut field) = (0, 0);
    while field < FIELDS.len() {
        bytes += if matches!(FIELDS[field].1.as_bytes(), [_, b'8']) { 8 } else { 1 };
        field += 1;
    }
    bytes
};

/// Greatest number of rows in a batch, some 150 MB.
const MOST: usize = 1 << 20;

/// Rows of one flow, packed.
#[derive(Default)]
pub(super) struct Rows(Vec<u8>);

impl Rows {
    /// Adds a row for an acknowledgement that arrived while the congestion window was `cwnd` segments.
    pub(super) fn add(&mut self, sample: &RateSample, cwnd: f64) {
        let seconds = |time: Option<SimTime>| time.map_or(f64::NAN, SimTime::as_secs_f64);
        let reals = [
            sample.now.as_secs_f64(),
            cwnd,
            sample.rate.unwrap_or(f64::NAN),
            seconds(sample.rtt),
            seconds(sample.srtt),
            sample.interval.as_secs_f64(),
            sample.departure.as_secs_f64(),
        ];
        let counts = [
            sample.delivered,
            sample.prior_delivered.unwrap_or(u64::MAX), // -1
            sample.newly_acked,
            sample.newly_lost,
            sample.lost,
            sample.lost_since_sent,
            sample.tx_in_flight,
            sample.in_flight,
            sample.prior_in_flight,
            sample.ce,
        ];
        let before = self.0.len();
        for real in reals {
            self.0.extend_from_slice(&real.to_ne_bytes());
        }
        for count in counts {
            self.0.extend_from_slice(&count.to_ne_bytes());
        }
        let flags = [sample.app_limited, sample.answers_probe].map(u8::from);
        self.0.extend_from_slice(&[flags[0], flags[1], sample.phase as u8]);
        debug_assert_eq!(self.0.len() - before, ROW);
    }

    /// Drops the rows of a full batch, and fails the control with an error that its period is too long.
    pub(super) fn bound(&mut self, told: &Told, period: Option<SimTime>) {
        if self.0.len() / ROW == MOST {
            refuse_more(told, period);
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Rows as a read-only structured array of numpy.
    pub(super) fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        array(py, &self.0, &DTYPE, None)
    }
}

/// Rows of many flows, packed, each with the number of its flow.
#[derive(Default)]
pub(super) struct FlowRows(Rows);

impl FlowRows {
    /// Adds a row for an acknowledgement of flow number `flow`, like [`Rows::add`] for one flow.
    pub(super) fn add(&mut self, sample: &RateSample, cwnd: f64, flow: usize) {
        self.0.add(sample, cwnd);
        self.0.0.extend_from_slice(&(flow as u64).to_ne_bytes());
    }

    pub(super) fn len(&self) -> usize {
        self.0.0.len() / (ROW + 8)
    }

    /// Drops the rows of a full batch with an error, like [`Rows::bound`] for one flow.
    pub(super) fn bound(&mut self, told: &Told, period: SimTime) {
        if self.len() == MOST {
            refuse_more(told, Some(period));
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Rows as a read-only structured array of numpy, with the further field `flow`.
    pub(super) fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        array(py, &self.0.0, &DTYPE, Some(("flow", "i8")))
    }
}

fn refuse_more(told: &Told, period: Option<SimTime>) {
    let period = period.map_or_else(|| "None".to_owned(), |period| format!("{:?}", period.as_secs_f64()));
    told.tell("on_acks", |_| {
        let problem = format!("must be shorter, it has more than {MOST} acknowledgements");
        PyResult::<()>::Err(scenario_error(format!("period = {period}: {problem}")))
    });
}

/// Rows with the fields [`FIELDS`] and `more` as a structured array of numpy, whose `dtype` is made once.
fn array<'py>(
    py: Python<'py>,
    rows: &[u8],
    dtype: &PyOnceLock<Py<PyAny>>,
    more: Option<(&'static str, &'static str)>,
) -> PyResult<Bound<'py, PyAny>> {
    static FROMBUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let dtype = dtype.get_or_try_init(py, || {
        let fields: Vec<_> = FIELDS.into_iter().chain(more).collect();
        PyResult::Ok(py.import("numpy")?.getattr("dtype")?.call1((fields,))?.unbind())
    })?;
    let options = [("dtype", dtype)].into_py_dict(py)?;
    FROMBUFFER.import(py, "numpy", "frombuffer")?.call((PyBytes::new(py, rows),), Some(&options))
}
