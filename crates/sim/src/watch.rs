//! Receivers of the events and packets of a run, which the event loop calls.

use crate::capture::Capture;
use crossfade_core::Observer;

/// Receivers of the events and packets of a run: [`Watched`], or `()` for a run without receivers. The event loop is
/// compiled separately for `()`, and then contains no calls of receivers.
pub(crate) trait Watch {
    /// Receiver of the transports' events, if there is one.
    fn observer(&mut self) -> Option<&mut (dyn Observer + Send)> {
        None
    }

    /// Receiver of the packets at the senders' interfaces, if there is one.
    fn capture(&mut self) -> Option<&mut (dyn Capture + Send)> {
        None
    }

    /// True if an observer receives the transports' events.
    fn is_observed(&self) -> bool {
        false
    }

    /// True if the capture records the PPDUs (physical-layer frames) of wireless media.
    fn hears(&self) -> bool {
        false
    }
}

/// No receivers: neither events nor packets of the run are passed on.
impl Watch for () {}

/// Receivers that the caller of a run supplies: an observer of events, a capture of packets, or both.
pub(crate) struct Watched<'a> {
    pub(crate) observer: Option<&'a mut (dyn Observer + Send)>,
    pub(crate) capture: Option<&'a mut (dyn Capture + Send)>,
}

impl Watch for Watched<'_> {
    fn observer(&mut self) -> Option<&mut (dyn Observer + Send)> {
        Some(&mut **self.observer.as_mut()?)
    }

    fn capture(&mut self) -> Option<&mut (dyn Capture + Send)> {
        Some(&mut **self.capture.as_mut()?)
    }

    fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    fn hears(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.hears())
    }
}
