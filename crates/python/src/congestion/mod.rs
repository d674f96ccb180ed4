//! Congestion controls of the user: Python objects that are told of each event or of batches of acknowledgements, of
//! one flow or of many, and libraries compiled from one Rust file.

mod answers;
mod batched;
mod custom;
mod failure;
mod loaded;
mod per_event;
mod rows;
mod samples;
mod shared;

pub(crate) use answers::says;
pub(crate) use custom::custom_control;
pub(crate) use failure::Failure;
pub(crate) use per_event::PythonControl;

use pyo3::prelude::*;
use samples::{AckSample, LostSegment, RateSample, SendEvent};

/// Adds to the Python module the classes of events that a control is told of, and the sources with which a control in
/// Rust is compiled.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AckSample>()?;
    module.add_class::<LostSegment>()?;
    module.add_class::<RateSample>()?;
    module.add_class::<SendEvent>()?;
    module.add("CONTROL_CRATE", loaded::SOURCES.to_vec())?;
    module.add("CONTROL_SYMBOL", crossfade_control::SYMBOL)
}
