//! Records of the reception of each frame, for observers of the link.

use super::{Conditions, Outcome, Transmission};
use crate::event::{LinkEvent, Verdict};
use std::collections::VecDeque;

/// Frames on the air of an observed link; the event of a frame is complete once the receiver knows its fate.
pub(super) struct Watch {
    /// Number of frames that were on the air when observation began, which are not recorded.
    missed: usize,
    /// Events of the frames on the air; each verdict so far is that on the copy by itself.
    on_the_air: VecDeque<LinkEvent>,
}

impl Watch {
    /// Begins observation while `on_the_air` frames are on the air.
    pub(super) fn new(on_the_air: usize) -> Self {
        Self { missed: on_the_air, on_the_air: VecDeque::new() }
    }

    /// Records a transmitted frame. `passes_alone`: it passes its check without combining; `seq`: its number if it has
    /// no payload.
    #[cold]
    pub(super) fn on_transmission(
        &mut self,
        transmission: Transmission,
        seq: u64,
        conditions: Conditions,
        passes_alone: bool,
    ) {
        self.on_the_air.push_back(LinkEvent::Frame {
            at: transmission.at,
            user: 0,
            frame: transmission.sdu.unwrap_or(seq),
            attempt: transmission.attempt,
            scheme: conditions.scheme,
            snr_db: conditions.snr_db,
            verdict: if passes_alone { Verdict::Good } else { Verdict::Combined },
            bin: None,
        });
    }

    /// Completes and returns the event of the oldest frame on the air, which is now received.
    #[cold]
    pub(super) fn on_reception(&mut self, outcome: &Outcome) -> Option<LinkEvent> {
        if self.missed > 0 {
            self.missed -= 1;
            return None;
        }
        let mut event = self.on_the_air.pop_front()?;
        if let LinkEvent::Frame { verdict, .. } = &mut event {
            match outcome {
                Outcome::Good(_) => {}
                Outcome::Corrupt(_) => *verdict = Verdict::Corrupt,
                Outcome::Erased => *verdict = Verdict::Lost,
            }
        }
        Some(event)
    }
}
