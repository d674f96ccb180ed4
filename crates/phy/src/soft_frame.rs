//! Soft copies of a frame, which an ARQ receiver keeps for combining.

use crate::combiner::Kept;
use crate::combining::Accept;
use crate::transceiver::{Reception, Transceiver};
use std::sync::Arc;

/// Received copies of a frame, which [`add`](SoftFrame::add) combines with a new one.
///
/// Its size is bounded: it does not grow with the number of copies, except at stage `joint`, which keeps at most 32.
#[derive(Clone, Debug)]
pub struct SoftFrame {
    transceiver: Arc<Transceiver>,
    reception: Box<Reception>,
    passes_alone: bool,
    kept: Option<Kept>,
}

impl SoftFrame {
    /// Creates the soft frame of a detected reception; `passes_alone`: the reception passes its check without
    /// combining.
    pub fn new(transceiver: Arc<Transceiver>, reception: Reception, passes_alone: bool) -> Self {
        Self { transceiver, reception: Box::new(reception), passes_alone, kept: None }
    }

    /// True if this copy passes its check without combining.
    pub fn passes_alone(&self) -> bool {
        self.passes_alone
    }

    /// Combines the last received copy with earlier copies of the frame. Returns true if the frame passes its check by
    /// the rule [`Accept`]. Earlier copies of another configuration (scheme, detector, ...) are discarded, and all
    /// earlier copies if the physical layer does not combine.
    pub fn add(&mut self, mut copy: Self) -> bool {
        let transceiver = Arc::clone(&copy.transceiver);
        let is_alike = transceiver.config() == self.transceiver.config();
        let Some(combining) = transceiver.config().combining.filter(|_| is_alike) else {
            *self = copy;
            return self.passes_alone;
        };
        if copy.passes_alone && combining.accept == Accept::Either {
            return true;
        }
        let mut workspace = transceiver.workspace();
        let first =
            |earlier: &Self, workspace: &mut _| transceiver.combine(None, &earlier.reception, workspace);
        let kept = self.kept.take().unwrap_or_else(|| first(self, &mut workspace));
        let kept = transceiver.combine(Some(kept), &copy.reception, &mut workspace);
        let passes = transceiver.detect_combined(&kept, &copy.reception, &mut workspace) == 0;
        copy.kept = Some(kept);
        *self = copy;
        passes
    }
}
