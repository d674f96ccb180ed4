//! Soft buffer: copies of corrupt frames, which the receiver combines with later ones.

use super::{ArqError, Sdu, SoftValue};
use std::collections::BTreeMap;
use std::ops::Range;

/// Size of the soft buffer at a receiver that combines copies of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftBufferConfig {
    /// Greatest number of frames whose copies are kept. A further frame replaces the one whose last copy is oldest.
    pub frames: u32,
    /// Greatest number of copies of a frame that are added up. Each later copy is combined with their sum, but not
    /// kept.
    pub copies: u32,
}

impl SoftBufferConfig {
    const MOST_FRAMES: u32 = 1 << 16;
    const MOST_COPIES: u32 = 1 << 10;

    pub(super) fn check(self) -> Result<(), ArqError> {
        let Self { frames, copies } = self;
        let some = |n, most| (1..=most).contains(&n);
        ArqError::unless(some(frames, Self::MOST_FRAMES), "soft_buffer.frames", frames, "1 to 65536 frames")?;
        ArqError::unless(some(copies, Self::MOST_COPIES), "soft_buffer.copies", copies, "1 to 1024 copies")
    }
}

/// The default suffices for the radio link protocols: as many frames as they may wait for, and more copies than they
/// send.
impl Default for SoftBufferConfig {
    fn default() -> Self {
        Self { frames: 128, copies: 16 }
    }
}

struct Kept<S> {
    sum: S,
    copies: u32,
    /// Number of the frame's last copy, counted over all copies of all frames.
    last: u64,
}

/// Copies of corrupt frames, combined frame by frame.
pub(super) struct SoftBuffer<S> {
    config: SoftBufferConfig,
    kept: BTreeMap<Sdu, Kept<S>>,
    copies: u64,
}

impl<S: SoftValue> SoftBuffer<S> {
    pub(super) fn new(config: SoftBufferConfig) -> Self {
        Self { config, kept: BTreeMap::new(), copies: 0 }
    }

    /// Takes a copy of a frame; returns true if the frame now passes its check, after which its copies are removed.
    pub(super) fn receive(&mut self, sdu: Sdu, copy: S) -> bool {
        self.copies += 1;
        let last = self.copies;
        let Some(kept) = self.kept.get_mut(&sdu) else {
            if copy.passes_alone() {
                return true;
            }
            if self.kept.len() >= self.config.frames as usize {
                self.forget_one();
            }
            self.kept.insert(sdu, Kept { sum: copy, copies: 1, last });
            return false;
        };
        kept.last = last;
        let passes = if kept.copies < self.config.copies {
            kept.copies += 1;
            kept.sum.combine(copy)
        } else {
            kept.sum.clone().combine(copy)
        };
        if passes {
            self.kept.remove(&sdu);
        }
        passes
    }

    fn forget_one(&mut self) {
        let stalest = self.kept.iter().min_by_key(|(_, kept)| kept.last).map(|(sdu, _)| *sdu);
        if let Some(sdu) = stalest {
            self.kept.remove(&sdu);
        }
    }

    /// Removes the copies of frames whose fate is known.
    #[inline]
    pub(super) fn forget(&mut self, frames: Range<Sdu>) {
        if !self.kept.is_empty() {
            self.forget_kept(frames);
        }
    }

    #[cold]
    fn forget_kept(&mut self, frames: Range<Sdu>) {
        while let Some((&sdu, _)) = self.kept.range(frames.clone()).next() {
            self.kept.remove(&sdu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Test soft value: energies add up, and a frame passes its check from 10 on.
    #[derive(Clone, Debug)]
    struct Energy(u32);

    impl SoftValue for Energy {
        fn passes_alone(&self) -> bool {
            self.0 >= 10
        }

        fn combine(&mut self, copy: Self) -> bool {
            self.0 += copy.0;
            self.passes_alone()
        }
    }

    fn buffer(frames: u32, copies: u32) -> SoftBuffer<Energy> {
        SoftBuffer::new(SoftBufferConfig { frames, copies })
    }

    #[test]
    fn copies_of_a_frame_are_combined_and_forgotten_when_they_pass() {
        let mut buffer = buffer(8, 8);
        let received = [(0, 10), (1, 4), (2, 9), (1, 5), (2, 1), (1, 1), (1, 9), (1, 1)];
        let passed = received.map(|(sdu, energy)| buffer.receive(sdu, Energy(energy)));
        assert_eq!(passed, [true, false, false, false, true, true, false, true]);
        assert!(buffer.kept.is_empty());
    }

    #[test]
    fn a_full_buffer_forgets_the_frame_that_was_heard_of_longest_ago() {
        let mut buffer = buffer(2, 8);
        for sdu in [0, 1, 0, 2] {
            assert!(!buffer.receive(sdu, Energy(3)));
        }
        // Of frame 0 there are two copies; what there was of frame 1 is forgotten.
        assert!(!buffer.receive(1, Energy(7)));
        assert_eq!(buffer.kept.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert!(buffer.receive(2, Energy(7)) && buffer.receive(1, Energy(3)));
    }

    #[test]
    fn later_copies_are_combined_with_the_first_ones_each_by_itself() {
        let mut buffer = buffer(1, 2);
        let passed = [3, 3, 3, 3, 4].map(|energy| buffer.receive(0, Energy(energy)));
        assert_eq!(passed, [false, false, false, false, true]);
        // One copy: each later one beside the first.
        let mut buffer = self::buffer(1, 1);
        let passed = [3, 6, 6, 7].map(|energy| buffer.receive(0, Energy(energy)));
        assert_eq!(passed, [false, false, false, true]);
    }

    #[test]
    fn frames_that_were_given_up_leave_nothing() {
        let mut buffer = buffer(8, 8);
        for sdu in 0..6 {
            buffer.receive(sdu, Energy(9));
        }
        buffer.forget(2..4);
        buffer.forget(5..u64::MAX);
        assert_eq!(buffer.kept.keys().copied().collect::<Vec<_>>(), [0, 1, 4]);
    }

    #[test]
    fn a_buffer_of_nothing_is_refused() {
        let error = |frames, copies| SoftBufferConfig { frames, copies }.check().unwrap_err().to_string();
        assert_eq!(error(0, 1), "soft_buffer.frames = 0: must be 1 to 65536 frames");
        assert_eq!(error(1, 1025), "soft_buffer.copies = 1025: must be 1 to 1024 copies");
    }

    proptest! {
        /// For any copies received, no more frames and copies are kept than configured; in a large buffer a frame
        /// passes once the sum of its copies suffices.
        #[test]
        fn what_is_kept_is_bounded(
            frames in 1_u32..6, copies in 1_u32..5, received in prop::collection::vec((0_u64..8, 0_u32..12), 0..200),
        ) {
            let (mut bounded, mut ample) = (buffer(frames, copies), buffer(8, 1000));
            let mut sums = [0; 8];
            for (sdu, energy) in received {
                bounded.receive(sdu, Energy(energy));
                prop_assert!(bounded.kept.len() <= frames as usize);
                prop_assert!(bounded.kept.values().all(|kept| kept.copies <= copies && kept.sum.0 < 10));
                sums[sdu as usize] += energy;
                let passes = sums[sdu as usize] >= 10;
                prop_assert_eq!(ample.receive(sdu, Energy(energy)), passes);
                if passes {
                    sums[sdu as usize] = 0;
                }
            }
        }
    }
}
