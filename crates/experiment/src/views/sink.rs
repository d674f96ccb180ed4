//! Sinks, to which views write text: a file of its own, since `mod.rs` and the views use them.

/// Takes a file piece by piece: a run may be long.
pub type Sink<'a> = dyn FnMut(&[u8]) + Send + 'a;

/// Takes whole lines of a text.
pub(super) type TextSink<'a> = dyn FnMut(&str) + Send + 'a;

/// Number of bytes handed over at a time.
pub(super) const PORTION_BYTES: usize = 1 << 16;
