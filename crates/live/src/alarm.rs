//! Alarm of a thread, set early because sleeping threads wake late.

use crossfade_core::SimTime;

/// Adaptive alarm of a pump. Sleeping threads wake late: by some microseconds, or by 0.1 ms and more if an idle
/// processor must be woken first. A pump therefore sets its alarm early, by its learnt lateness, and stays awake from
/// then on. If it loses its processor to other threads meanwhile, which is worse than waking late, it stays awake for
/// less time.
#[derive(Debug)]
pub(crate) struct Alarm {
    /// Maximum time for which the pump may stay awake before each event, unless events are rare; zero: never.
    limit: SimTime,
    /// Share of the maximum waking time that is currently used, 0 to 1.
    allowed: f64,
    /// Estimated lateness of alarms, which about 2 % of them exceed.
    lateness: SimTime,
}

impl Alarm {
    /// Divisor of the time until the next event: if events are rare, the pump may stay awake for this part of it, at
    /// most [`Self::LONGEST`].
    const SHARE: u64 = 20;
    const LONGEST: SimTime = SimTime::from_micros(300);
    /// Step by which the estimated lateness rises after a later alarm; fifty earlier alarms balance one such step, so
    /// the estimate settles where 2 % are later.
    const UP: SimTime = SimTime::from_micros(5);
    const DOWN: SimTime = SimTime::from_nanos(100);
    /// Gap between two readings of the clock, normally 1 us apart while awake, from which the processor was evidently
    /// taken away.
    const AWAY: SimTime = SimTime::from_micros(50);
    /// Total sleeping time after which the alarm again uses its full limit.
    const REST: SimTime = SimTime::from_millis(100);

    pub(crate) fn new(limit: SimTime) -> Self {
        Self { limit, allowed: 1.0, lateness: limit }
    }

    /// Time to sleep if the next event is due after time `ahead`.
    pub(crate) fn sleep(&self, ahead: SimTime) -> SimTime {
        let rare = Self::LONGEST.min(SimTime::from_nanos(ahead.as_nanos() / Self::SHARE));
        let most = if self.limit == SimTime::ZERO { SimTime::ZERO } else { self.limit.max(rare) };
        let most = SimTime::from_nanos((most.as_nanos() as f64 * self.allowed) as u64);
        ahead.saturating_sub(self.lateness.min(most))
    }

    /// Records a reading of the clock while awake, time `after` the previous one.
    pub(crate) fn looked(&mut self, after: SimTime) {
        if after > Self::AWAY {
            self.allowed /= 2.0;
        }
    }

    /// Records an alarm after a sleep of `sleep`, which woke the thread late by `late`.
    pub(crate) fn rang(&mut self, sleep: SimTime, late: SimTime) {
        self.allowed = (self.allowed + sleep.as_secs_f64() / Self::REST.as_secs_f64()).min(1.0);
        self.lateness = if late > self.lateness {
            (self.lateness + Self::UP).min(Self::LONGEST)
        } else {
            self.lateness.saturating_sub(Self::DOWN)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    const US: fn(u64) -> SimTime = SimTime::from_micros;

    #[test]
    fn it_settles_where_one_alarm_in_fifty_is_later() {
        let mut draws = RunSeed { seed: 1, run: 0 }.stream("alarm");
        let mut alarm = Alarm::new(US(50));
        let mut margins = Vec::new();
        for _ in 0..20_000 {
            // Between 10 and 110 us, evenly: 2 % are later than 108 us.
            alarm.rang(US(10), SimTime::from_nanos(draws.random_range(10_000..110_000)));
            margins.push((US(10_000) - alarm.sleep(US(10_000))).as_nanos() as f64 / 1e3);
        }
        let settled = &margins[5_000..];
        let mean = settled.iter().sum::<f64>() / settled.len() as f64;
        assert!((104.0..110.0).contains(&mean), "{mean}");
    }

    #[test]
    fn who_loses_the_processor_while_awake_sleeps_more() {
        let mut alarm = Alarm::new(US(50));
        (0..1000).for_each(|_| alarm.rang(US(10), US(5_000)));
        let awake = |alarm: &Alarm| [667, 5_000].map(|ahead| US(ahead) - alarm.sleep(US(ahead)));
        (0..100).for_each(|_| alarm.looked(US(2)));
        assert_eq!(awake(&alarm), [50, 250].map(US));
        alarm.looked(US(3_000));
        assert_eq!(awake(&alarm), [25, 125].map(US));
        (0..10).for_each(|_| alarm.rang(US(5_000), US(5_000)));
        assert_eq!(awake(&alarm), [50, 250].map(US), "it comes back");
    }

    #[test]
    fn it_stays_awake_no_longer_than_it_may() {
        let mut alarm = Alarm::new(US(50));
        (0..1000).for_each(|_| alarm.rang(US(10), US(5_000)));
        let awake = |ahead: u64| US(ahead) - alarm.sleep(US(ahead));
        assert_eq!([20, 100, 667].map(awake), [20, 50, 50].map(US));
        assert_eq!([2_500, 5_000, 1_000_000].map(awake), [125, 250, 300].map(US));
        (0..10_000).for_each(|_| alarm.rang(US(10), US(0)));
        assert_eq!(alarm.sleep(US(5_000)), US(5_000), "alarms in time need no staying awake");
        let mut never = Alarm::new(SimTime::ZERO);
        never.rang(US(10), US(100));
        assert_eq!(never.sleep(US(5_000)), US(5_000));
    }
}
