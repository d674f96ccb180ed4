//! The event-driven simulation engine.
