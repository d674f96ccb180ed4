//! Processors that do not sleep while packets pass.

use crossfade_core::SimTime;
use std::fs::File;
use std::io::Write;

/// Holds idle processors of the machine awake from a packet on for some time (`/dev/cpu_dma_latency`: Linux's
/// `power/pm_qos_interface`): to wake one takes 10 us and, where it sleeps deeply, 0.1 ms and more, several times
/// a round trip. Where it is not allowed they sleep as before.
///
/// Where packets come so fast that nobody sleeps long it does not: who waits awake slows its neighbour on the same
/// core.
#[derive(Debug)]
pub(crate) struct Awake {
    /// For how long a packet holds processors awake: zero is never, [`SimTime::MAX`] is always.
    span: SimTime,
    /// While it is open they stay awake.
    held: Option<File>,
    until: Option<SimTime>,
    /// When packets were last counted from, and how many came since.
    since: SimTime,
    packets: u32,
}

impl Awake {
    const PERIOD: SimTime = SimTime::from_millis(100);
    /// More in a period are fast: one each 0.2 ms.
    const FAST: u32 = 500;

    pub(crate) fn new(span: SimTime) -> Self {
        let held = if span == SimTime::MAX { hold().ok() } else { None };
        Self { span, held, until: None, since: SimTime::ZERO, packets: 0 }
    }

    /// So many packets have come.
    pub(crate) fn packets(&mut self, now: SimTime, count: u32) {
        if [SimTime::ZERO, SimTime::MAX].contains(&self.span) {
            return;
        }
        self.packets += count;
        if self.until.is_none() || self.since + Self::PERIOD <= now {
            let is_fast = self.packets > Self::FAST;
            if is_fast {
                self.held = None;
            } else if self.held.is_none() {
                self.held = hold().ok();
            }
            (self.since, self.packets) = (now, 0);
        }
        self.until = Some(now + self.span);
    }

    /// When there is something to let go of.
    pub(crate) fn until(&self) -> Option<SimTime> {
        self.until
    }

    /// Lets them sleep if it is time.
    pub(crate) fn look(&mut self, now: SimTime) {
        if self.until.is_some_and(|until| until <= now) {
            (self.held, self.until, self.packets) = (None, None, 0);
        }
    }
}

fn hold() -> std::io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    // Microseconds, as a number of 32 bits.
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> SimTime = SimTime::from_millis;

    /// Where nobody may hold them, a test sees no more than that nobody does.
    fn may() -> bool {
        hold().is_ok()
    }

    #[test]
    fn it_lasts_from_the_last_packet_on() {
        let mut awake = Awake::new(MS(1_000));
        assert_eq!(awake.until(), None);
        awake.packets(MS(1), 1);
        awake.packets(MS(900), 1);
        awake.look(MS(1_900) - SimTime::from_nanos(1));
        assert_eq!((awake.until(), awake.held.is_some()), (Some(MS(1_900)), may()));
        awake.look(MS(1_900));
        assert!(awake.until().is_none() && awake.held.is_none());
    }

    #[test]
    fn packets_that_come_fast_keep_processors_awake_themselves() {
        let mut awake = Awake::new(MS(1_000));
        let packets = |awake: &mut Awake, from: u64, each: SimTime| {
            (0..2_000).for_each(|n| awake.packets(MS(from) + each.saturating_mul(n), 1));
        };
        packets(&mut awake, 1_000, SimTime::from_micros(100));
        assert!(awake.held.is_none());
        packets(&mut awake, 1_200, SimTime::from_micros(667));
        assert_eq!(awake.held.is_some(), may());
    }

    #[test]
    fn without_end_it_waits_for_no_packet_and_lasts() {
        let mut awake = Awake::new(SimTime::MAX);
        assert_eq!((awake.until(), awake.held.is_some()), (None, may()));
        (0..10_000).for_each(|n| awake.packets(SimTime::from_micros(n), 1));
        awake.look(MS(1_000_000));
        assert_eq!((awake.until(), awake.held.is_some()), (None, may()));
    }

    #[test]
    fn at_zero_it_never_does() {
        let mut awake = Awake::new(SimTime::ZERO);
        awake.packets(SimTime::ZERO, 1);
        assert!(awake.until().is_none() && awake.held.is_none());
    }
}
