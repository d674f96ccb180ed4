//! Share of a slot's rate that is available around a slot boundary.

use crossfade_core::SimTime;

/// Outage and ramp around each slot boundary: no capacity from the outage on until the boundary, and possibly longer;
/// then the rate returns over a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Duration of the outage before the slot boundary.
    pub outage: SimTime,
    /// Duration of the ramp after the outage, in four steps.
    pub ramp: SimTime,
}

/// Levels of capacity in a slot: a time into the slot, and the share of the rate from then on.
pub(super) type Levels = [(SimTime, f64); 7];

impl Gate {
    /// A gate without outage and ramp.
    pub const OPEN: Self = Self { outage: SimTime::ZERO, ramp: SimTime::ZERO };

    /// Steps of the ramp after an outage: the share of the ramp's duration at which each step ends, and its share of
    /// the full rate. They are means over the eight outages of the public example of `LeoReplayer` (SpaceNetLab/LeoCC,
    /// MIT), for a ramp of 600 ms, relative to the mean rate after the ramp, with every other outage 30 ms longer on
    /// average.
    pub const RAMP: [(f64, f64); 4] = [(1.0 / 12.0, 0.24), (1.0 / 6.0, 0.5), (1.0 / 3.0, 0.66), (1.0, 0.89)];

    /// Capacity lost at a slot boundary whose outage lasts `longer` beyond it, as time at full rate.
    pub fn lost(self, longer: SimTime) -> SimTime {
        let mut before = 0.0;
        let of_ramp = Self::RAMP.iter().map(|(end, level)| {
            let width = end - before;
            before = *end;
            width * (1.0 - level)
        });
        self.outage + longer + SimTime::from_secs_f64(self.ramp.as_secs_f64() * of_ramp.sum::<f64>())
    }

    /// Levels of capacity in a slot of duration `slot`, whose first outage lasts `longer` beyond its beginning.
    pub(super) fn levels(self, slot: SimTime, longer: SimTime) -> Levels {
        let end = |step: usize| longer + SimTime::from_secs_f64(self.ramp.as_secs_f64() * Self::RAMP[step].0);
        let level = |step: usize| Self::RAMP[step].1;
        [
            (SimTime::ZERO, 0.0),
            (longer, level(0)),
            (end(0), level(1)),
            (end(1), level(2)),
            (end(2), level(3)),
            (end(3), 1.0),
            (slot.saturating_sub(self.outage), 0.0),
        ]
    }
}

/// Share of the rate that is available at the time `into` a slot.
pub(super) fn level(levels: &Levels, into: SimTime) -> f64 {
    levels[levels.partition_point(|(from, _)| *from <= into) - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);
    const GATE: Gate = Gate { outage: SimTime::from_millis(70), ramp: SimTime::from_millis(600) };

    #[test]
    fn the_rate_is_out_and_comes_back() {
        let levels = GATE.levels(MS * 15_000, MS * 30);
        let at = |millis: u64| level(&levels, MS * millis);
        assert_eq!([at(0), at(29)], [0.0, 0.0]);
        assert_eq!([at(30), at(79), at(80), at(129)], [0.24, 0.24, 0.5, 0.5]);
        assert_eq!([at(130), at(229), at(230), at(629)], [0.66, 0.66, 0.89, 0.89]);
        assert_eq!([at(630), at(14_929), at(14_930), at(14_999)], [1.0, 1.0, 0.0, 0.0]);
        let open = Gate::OPEN.levels(MS * 15_000, SimTime::ZERO);
        assert_eq!([0, 1, 14_999].map(|millis| level(&open, MS * millis)), [1.0; 3]);
    }

    #[test]
    fn what_is_lost_is_the_area_above_the_levels() {
        for longer in [SimTime::ZERO, MS * 30] {
            let levels = GATE.levels(MS * 15_000, longer);
            let lost_ms: f64 = (0..15_000).map(|millis| 1.0 - level(&levels, MS * millis)).sum();
            assert!((GATE.lost(longer).as_secs_f64() * 1e3 - lost_ms).abs() < 1e-5, "{lost_ms}");
        }
    }
}
