//! What a file of the user's own makes for each connection.

use super::batched::BatchedControl;
use super::failure::{Failure, Told, located};
use super::loaded::LoadedControl;
use super::per_event::PythonControl;
use crate::error::scenario_error;
use crossfade_transport::congestion::{CongestionControl, OwnRule};
use crossfade_transport::{Flavour, TcpConfig};
use pyo3::prelude::*;
use std::sync::Arc;

/// The rule that an object of Python, one of `crossfade.files.rules`, makes for each connection.
pub(crate) fn own_rule(rule: Py<PyAny>, failure: &Failure) -> OwnRule {
    let kept = failure.clone();
    let make = move |tcp: &TcpConfig| -> Box<dyn CongestionControl> {
        Python::attach(|py| {
            made(rule.bind(py), tcp, &kept).unwrap_or_else(|error| {
                kept.set(located(rule.bind(py), error, None));
                let none = Told::new(py.None(), None, kept.clone());
                Box::new(PythonControl::begin(none, [tcp.initial_window, tcp.initial_ssthresh]))
            })
        })
    };
    OwnRule::new(make, Arc::clone(&failure.cancel))
}

fn made(rule: &Bound<'_, PyAny>, tcp: &TcpConfig, failure: &Failure) -> PyResult<Box<dyn CongestionControl>> {
    let windows = [tcp.initial_window, tcp.initial_ssthresh];
    let control: Box<dyn CongestionControl> = if rule.hasattr("table")? {
        let name = rule.getattr("name")?.extract()?;
        Box::new(LoadedControl::begin(rule.call_method0("table")?.extract()?, windows, name, failure.clone()))
    } else {
        let object = rule.call0()?;
        let is_batched = object.hasattr("on_acks")?;
        let told = Told::new(object.unbind(), Some(rule.clone().unbind()), failure.clone());
        if is_batched {
            Box::new(BatchedControl::begin(told, windows))
        } else {
            Box::new(PythonControl::begin(told, windows))
        }
    };
    let needs = control.needs();
    if matches!(tcp.flavour, Flavour::Paper | Flavour::Ns2)
        && (needs.samples || needs.own_window || needs.ect_1)
    {
        let what = "hears of samples, or has a window or marks of its own";
        return Err(scenario_error(format!("{what}: needs tcp.flavour = \"rfc\"")));
    }
    if needs.ect_1 && !(tcp.rfc.ecn && tcp.rfc.accurate_ecn) {
        let wanted = "tcp.rfc.ecn = true and tcp.rfc.accurate_ecn = true";
        return Err(scenario_error(format!("says ECT(1) and counts marks: needs {wanted}")));
    }
    Ok(control)
}
