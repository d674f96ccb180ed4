//! Keeps processors out of deep sleep while packets pass.

use crossfade_core::SimTime;
use std::fs::File;
use std::io::Write;

/// Keeps idle processors awake for some time after a packet (`/dev/cpu_dma_latency`: Linux's `power/pm_qos_interface`).
/// Waking a processor takes 10 us, and from deep sleep 0.1 ms and more, several times per RTT. Without permission
/// processors sleep as usual.
///
/// At high packet rates it does nothing: no processor sleeps long, and an idle processor kept awake slows its sibling
/// on the same core.
#[derive(Debug)]
pub(crate) struct Awake {
    /// Time for which a packet keeps processors awake; zero: never, [`SimTime::MAX`]: always.
    span: SimTime,
    /// Open device file, which keeps processors awake; `None` while they may sleep.
    held: Option<File>,
    until: Option<SimTime>,
    /// Start of the period in which packets are counted.
    since: SimTime,
    /// Number of packets since `since`.
    packets: u32,
}

impl Awake {
    const PERIOD: SimTime = SimTime::from_millis(100);
    /// Number of packets per period beyond which the rate is high: one per 0.2 ms.
    const FAST: u32 = 500;

    pub(crate) fn new(span: SimTime) -> Self {
        let held = if span == SimTime::MAX { hold().ok() } else { None };
        Self { span, held, until: None, since: SimTime::ZERO, packets: 0 }
    }

    /// Records `count` packets that passed at `now`.
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

    /// Time at which the device file must be closed; `None` if no closing is due.
    pub(crate) fn until(&self) -> Option<SimTime> {
        self.until
    }

    /// Closes the device file if its time has come at `now`.
    pub(crate) fn look(&mut self, now: SimTime) {
        if self.until.is_some_and(|until| until <= now) {
            (self.held, self.until, self.packets) = (None, None, 0);
        }
    }
}

fn hold() -> std::io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    // Latency in microseconds, as a 32-bit number.
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> SimTime = SimTime::from_millis;

    /// True if this process may keep processors awake; otherwise a test can only check that none is kept awake.
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
