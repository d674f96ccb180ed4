//! Congestion controls that are the user's own: objects of Python, told of each event or of many acknowledgements at
//! once, of one flow or of many, and libraries made of one Rust file.

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

/// The classes of what a control in Python is told, and what a control in Rust is compiled with: the files of its crate
/// by name.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AckSample>()?;
    module.add_class::<LostSegment>()?;
    module.add_class::<RateSample>()?;
    module.add_class::<SendEvent>()?;
    module.add("CONTROL_CRATE", loaded::SOURCES.to_vec())?;
    module.add("CONTROL_SYMBOL", crossfade_control::SYMBOL)
}
