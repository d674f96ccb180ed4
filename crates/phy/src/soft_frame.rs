//! A copy of a frame as an ARQ receiver keeps it.

use crate::combiner::Kept;
use crate::combining::Accept;
use crate::transceiver::{Reception, Transceiver};
use std::sync::Arc;

/// What was received of a frame, possibly several times: combined with a new copy by
/// [`combine`](SoftFrame::combine).
///
/// Its size is bounded: for all stages but `joint` it does not grow with the number of copies.
#[derive(Clone, Debug)]
pub struct SoftFrame {
    transceiver: Arc<Transceiver>,
    reception: Box<Reception>,
    passes_alone: bool,
    kept: Option<Kept>,
}

impl SoftFrame {
    /// A reception that has been detected: whether it passes its check by itself.
    pub fn new(transceiver: Arc<Transceiver>, reception: Reception, passes_alone: bool) -> Self {
        Self { transceiver, reception: Box::new(reception), passes_alone, kept: None }
    }

    /// Whether this copy passes its check by itself.
    pub fn passes_alone(&self) -> bool {
        self.passes_alone
    }

    /// Adds the copy received last to what earlier copies left; whether the frame passes is what
    /// [`Accept`] says. Without combining earlier copies are of no use.
    ///
    /// # Errors
    /// The frame still fails its check: what to keep.
    pub fn combine(earlier: Option<Self>, mut copy: Self) -> Result<(), Self> {
        let Some(combining) = copy.transceiver.config().combining else {
            return if copy.passes_alone { Ok(()) } else { Err(copy) };
        };
        if copy.passes_alone && (earlier.is_none() || combining.accept == Accept::Either) {
            return Ok(());
        }
        let mut workspace = copy.transceiver.workspace();
        let others = earlier.is_some();
        let kept = earlier.and_then(|earlier| earlier.kept);
        let kept = copy.transceiver.combine(kept, &copy.reception, &mut workspace);
        if others && copy.transceiver.detect_combined(&kept, &copy.reception, &mut workspace) == 0 {
            return Ok(());
        }
        copy.kept = Some(kept);
        Err(copy)
    }
}
