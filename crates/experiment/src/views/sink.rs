//! Types of the sinks to which views write: a file of its own, since `mod.rs` and the views use them.

/// Function that takes a file in portions, since a long run has a large file.
pub type Sink<'a> = dyn FnMut(&[u8]) + Send + 'a;

/// Function that takes whole lines of a text, in portions.
pub(super) type TextSink<'a> = dyn FnMut(&str) + Send + 'a;

/// Bytes that a writer collects before it passes them to its sink.
pub(super) const PORTION_BYTES: usize = 1 << 16;
