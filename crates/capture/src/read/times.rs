//! Clock of a capture: detects if it was set back while packets were captured, and its tick.

use super::error::ReadError;
use std::collections::BTreeMap;

/// Smallest step back of the clock, in nanoseconds; it must hold for `ROW` packets in a row of one interface. Disorder
/// between processors that capture in parallel is shorter, or affects fewer packets.
const STEP_NS: i64 = 10_000_000;
const ROW: u32 = 5;
/// Maximum number of steps back that a user who sets the clock would cause; more are disorder between processors.
const MOST_STEPS: usize = 3;
/// Shortest tick, in nanoseconds, that matters. A clock is coarse only if a share `AT_ONCE` of the reverse packets has
/// the time of its predecessor: on a slow link, times may be multiples of a transmission time.
const COARSE_NS: u64 = 500_000;
const AT_ONCE: f64 = 0.2;

/// Times of the packets of one interface so far.
#[derive(Clone, Copy, Debug)]
struct Interface {
    latest_ns: i64,
    /// Number of packets in a row whose time is before the latest; `first` is the number of the first of them, and
    /// `back_ns` how far it is back.
    row: u32,
    first: u64,
    back_ns: i64,
}

/// Statistics of packet times in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    interfaces: BTreeMap<u32, Interface>,
    /// Steps back of the clock: number of the packet after each, and its size in nanoseconds.
    steps: Vec<(u64, i64)>,
    packets: u64,
    first_ns: i64,
    /// Greatest common divisor, in nanoseconds, of all times since the first.
    common_ns: u64,
    /// Number of reverse packets, the time of the last, and the number with the time of their predecessor.
    back: u64,
    last_back_ns: i64,
    at_once: u64,
}

impl Times {
    /// Records the time of a packet of an interface; `is_back` for one of the reverse direction, without data.
    pub(super) fn look(&mut self, interface: u32, time_ns: i64, is_back: bool) {
        if is_back {
            self.at_once += u64::from(self.back > 0 && self.last_back_ns == time_ns);
            self.back += 1;
            self.last_back_ns = time_ns;
        }
        self.packets += 1;
        if self.packets == 1 {
            self.first_ns = time_ns;
        }
        let (mut a, mut b) = (self.common_ns, time_ns.abs_diff(self.first_ns));
        while b > 0 {
            (a, b) = (b, a % b);
        }
        self.common_ns = a;
        let new = Interface { latest_ns: time_ns, row: 0, first: 0, back_ns: 0 };
        let of = self.interfaces.entry(interface).or_insert(new);
        if time_ns >= of.latest_ns {
            *of = new;
            return;
        }
        of.row += 1;
        if of.row == 1 {
            (of.first, of.back_ns) = (self.packets, of.latest_ns - time_ns);
        }
        if of.row == ROW && of.back_ns >= STEP_NS && self.steps.len() <= MOST_STEPS {
            self.steps.push((of.first, of.back_ns));
        }
    }

    /// Tick of the clock in nanoseconds; 0 for a clock finer than 0.5 ms.
    ///
    /// # Errors
    /// If the clock was set back during the capture.
    pub(super) fn tick_ns(&self) -> Result<i64, ReadError> {
        if let Some((packet, back_ns)) = self.steps.first().filter(|_| self.steps.len() <= MOST_STEPS) {
            return Err(ReadError::TimeGoesBack { packet: *packet, back_ms: (back_ns / 1_000_000) as u64 });
        }
        let is_coarse = self.common_ns >= COARSE_NS && self.at_once as f64 > AT_ONCE * self.back as f64;
        Ok(if is_coarse { self.common_ns.cast_signed() } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: impl Iterator<Item = (u32, i64)>) -> Result<i64, ReadError> {
        let mut times = Times::default();
        of.for_each(|(interface, at)| times.look(interface, at, true));
        times.tick_ns()
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn a_step_back_is_refused_however_short_it_is_and_disorder_is_not() {
        let at = |index: i64| index * MS + index % 7;
        let stepped = times((0..1000).map(|index| (0, at(index) - if index > 500 { 30 * MS } else { 0 })));
        assert_eq!(stepped, Err(ReadError::TimeGoesBack { packet: 502, back_ms: 28 }));
        // Single packets that come late, and a second interface written in batches: no step.
        assert_eq!(
            times((0..1000).map(|index| (0, at(index) - if index % 50 == 3 { 15 * MS } else { 0 }))),
            Ok(0)
        );
        let batches = (0..1000).map(|index| ((index / 100 % 2) as u32, at(index % 100 + index / 200 * 100)));
        assert_eq!(times(batches), Ok(0));
        // Processors whose batches are repeatedly out of order: no step.
        assert_eq!(
            times((0..1000).map(|index| (0, at(index) - if index / 20 % 2 == 1 { 25 * MS } else { 0 }))),
            Ok(0)
        );
    }

    #[test]
    fn a_coarse_clock_has_a_tick() {
        assert_eq!(times((0..1000).map(|index| (0, 77 + index / 3 * 4 * MS))), Ok(4 * MS));
        assert_eq!(times((0..1000).map(|index| (0, index * 1000))), Ok(0));
        assert_eq!(times(std::iter::repeat_n((0, 5), 10)), Ok(0));
        // A packet each 4 ms, of an ideal link: a fine clock.
        assert_eq!(times((0..1000).map(|index| (0, 77 + index * 4 * MS))), Ok(0));
    }
}
