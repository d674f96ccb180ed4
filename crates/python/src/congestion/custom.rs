//! Congestion controls from a user's own file, an object for each connection or shared by all.

use super::batched::BatchedControl;
use super::failure::{Failure, Told, located};
use super::loaded::LoadedControl;
use super::per_event::PythonControl;
use super::shared::{Group, SharedControl};
use crate::error::scenario_error;
use crossfade_transport::SenderConfig;
use crossfade_transport::congestion::{CongestionControl, CustomControl, MakeControl};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, OnceLock};

/// The custom congestion control that the Python object `factory`, a class of `crossfade.files.controls`, makes for
/// each connection.
pub(crate) fn custom_control(factory: Py<PyAny>, failure: &Failure) -> CustomControl {
    let (factory, kept) = (Arc::new(factory), failure.clone());
    let begin = move || -> Arc<MakeControl> {
        let (factory, kept, shared) = (Arc::clone(&factory), kept.clone(), OnceLock::new());
        Arc::new(move |sender| {
            Python::attach(|py| {
                made(factory.bind(py), sender, &kept, &shared).unwrap_or_else(|error| {
                    kept.set(located(factory.bind(py), error, None));
                    let none = Told::new(py.None(), None, kept.clone());
                    Box::new(PythonControl::begin(none, sender.initial_windows()))
                })
            })
        })
    };
    CustomControl::new(begin, Arc::clone(&failure.cancel))
}

/// Makes the control of a connection; `shared` holds the state of a class that all connections of the run share.
fn made(
    factory: &Bound<'_, PyAny>,
    sender: &SenderConfig,
    failure: &Failure,
    shared: &OnceLock<Arc<Mutex<Group>>>,
) -> PyResult<Box<dyn CongestionControl>> {
    let windows = sender.initial_windows();
    let control: Box<dyn CongestionControl> = if let Some(group) = shared.get() {
        Box::new(SharedControl::begin(Arc::clone(group), windows))
    } else if factory.hasattr("table")? {
        let name = factory.getattr("name")?.extract()?;
        Box::new(LoadedControl::begin(
            factory.call_method0("table")?.extract()?,
            windows,
            name,
            failure.clone(),
        ))
    } else {
        let object = factory.call0()?;
        let is_batched = object.hasattr("on_acks")?;
        let is_shared = object.getattr_opt("shared")?.map_or(Ok(false), |flag| flag.is_truthy())?;
        let told = Told::new(object.unbind(), Some(factory.clone().unbind()), failure.clone());
        if is_batched && is_shared {
            let group = shared.get_or_init(|| Group::new(told));
            Box::new(SharedControl::begin(Arc::clone(group), windows))
        } else if is_batched {
            Box::new(BatchedControl::begin(told, windows))
        } else {
            Box::new(PythonControl::begin(told, windows))
        }
    };
    let needs = control.needs();
    if sender.congestion_control().is_none() && (needs.samples || needs.own_window || needs.ect_1) {
        let what = "hears of samples, or has a window or marks of its own";
        return Err(scenario_error(format!("{what}: needs tcp.flavour = \"rfc\"")));
    }
    let counts_marks = match sender {
        SenderConfig::Tcp(tcp) => tcp.rfc.ecn && tcp.rfc.accurate_ecn,
        SenderConfig::Quic(quic) => quic.ecn,
    };
    if needs.ect_1 && !counts_marks {
        let wanted = "tcp.rfc.ecn = true and tcp.rfc.accurate_ecn = true";
        return Err(scenario_error(format!("says ECT(1) and counts marks: needs {wanted}")));
    }
    Ok(control)
}
