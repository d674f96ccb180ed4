//! Growth of the congestion window without losses: `w(n, W, W_th)` of Zorzi et al. (2000), equation (9).

/// Endless iterator over the window in slots 1, 2, ... of a cycle that starts with `window` and has no losses: slow
/// start (W + 1) below `ssthresh`, then congestion avoidance (W + 1/W), never above `w_max`.
pub(crate) fn windows(window: u32, ssthresh: u32, w_max: u32) -> impl Iterator<Item = f64> {
    let (ssthresh, w_max) = (f64::from(ssthresh), f64::from(w_max));
    std::iter::successors(Some(f64::from(window)), move |w| {
        let increment = if *w < ssthresh { 1.0 } else { 1.0 / w };
        Some((w + increment).min(w_max))
    })
}

/// Window Y at the first loss of a cycle, by the two properties that determine the rest of the cycle (Zorzi et al.,
/// 2000, appendix).
///
/// Floor and ceiling of a floating-point window are safe: in congestion avoidance the window meets an integer only at
/// `1 + 1/1 = 2` and at the maximum, which are both exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LossWindow {
    /// floor(Y): number of packets that may be outstanding, including the lost one.
    pub(crate) floor: u32,
    /// ceil(Y / 2): slow-start threshold after the loss.
    pub(crate) half: u32,
}

impl LossWindow {
    pub(crate) fn of(window: f64) -> Self {
        Self { floor: window.floor() as u32, half: (window / 2.0).ceil() as u32 }
    }

    /// Index of the loss window, without gaps: each floor has two possible halves.
    pub(crate) fn index(self) -> usize {
        let lowest = self.floor.div_ceil(2);
        (2 * (self.floor - 1) + self.half - lowest) as usize
    }

    /// All loss windows from 1 to `w_max`, by [`LossWindow::index`]; the last cannot exceed `w_max`.
    pub(crate) fn all(w_max: u32) -> impl Iterator<Item = Self> {
        (1..=w_max).flat_map(|floor| [0, 1].map(|above| Self { floor, half: floor.div_ceil(2) + above }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn start(window: u32, ssthresh: u32, w_max: u32, slots: usize) -> Vec<f64> {
        windows(window, ssthresh, w_max).take(slots).collect()
    }

    #[test]
    fn slow_start_then_congestion_avoidance_then_the_cap() {
        assert_eq!(start(1, 1, 24, 4), [1.0, 2.0, 2.5, 2.9]);
        let expected = [1.0, 2.0, 3.0, 4.0, 4.25, 4.25 + 1.0 / 4.25];
        assert_eq!(start(1, 4, 24, 6), expected);
        assert_eq!(start(3, 3, 4, 6)[3..], [3.0 + 1.0 / 3.0 + 0.3 + 1.0 / (3.0 + 1.0 / 3.0 + 0.3), 4.0, 4.0]);
        assert_eq!(start(1, 1, 1, 3), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_loss_windows_are_those_of_the_appendix() {
        for w_max in [2_u32, 4, 6, 24, 64] {
            let mut seen = BTreeSet::new();
            for ssthresh in 1..=w_max.div_ceil(2) {
                for window in [1, ssthresh] {
                    let until_cap = windows(window, ssthresh, w_max).take((w_max * w_max) as usize);
                    for loss_window in until_cap.map(LossWindow::of) {
                        assert_eq!(LossWindow::all(w_max).nth(loss_window.index()), Some(loss_window));
                        seen.insert(loss_window.index());
                    }
                }
            }
            // The appendix has 3 W_max / 2 - 1 windows. An even one above ceil(W_max / 2) other than the cap
            // is met neither in slow start nor, as no integer but 2 is, in congestion avoidance.
            let never = (1..w_max / 2).filter(|half| *half > 1 && 4 * half > w_max).count();
            assert_eq!(seen.len(), (3 * w_max / 2 - 1) as usize - never, "W_max {w_max}: {seen:?}");
        }
    }
}
