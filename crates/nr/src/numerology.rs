//! Numerologies, resource blocks and duplex patterns: 3GPP TS 38.211, TS 38.101-1 and -2 section 5.3.2.

use crossfade_core::SimTime;
use std::fmt;
use std::sync::Arc;

/// Maximum number of slots of a duplex pattern: the longest period is 10 ms, 80 slots at 120 kHz (TS 38.213 section
/// 11.1).
pub const LONGEST_PATTERN: usize = 80;
/// OFDM symbols per slot.
pub const SLOT_SYMBOLS: u32 = 14;

/// Bandwidth in MHz and number of resource blocks, by numerology.
const BLOCKS: [&[(u32, u32)]; 4] = [
    &[(5, 25), (10, 52), (15, 79), (20, 106), (25, 133), (30, 160), (40, 216), (50, 270)],
    &[
        (5, 11),
        (10, 24),
        (15, 38),
        (20, 51),
        (25, 65),
        (30, 78),
        (40, 106),
        (50, 133),
        (60, 162),
        (80, 217),
        (100, 273),
    ],
    &[
        (10, 11),
        (15, 18),
        (20, 24),
        (25, 31),
        (30, 38),
        (40, 51),
        (50, 65),
        (60, 79),
        (80, 107),
        (100, 135),
        (200, 264),
    ],
    &[(50, 32), (100, 66), (200, 132), (400, 264)],
];

/// Numerology mu: slots of 1 ms / 2^mu and a subcarrier spacing of 15 kHz times 2^mu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numerology(u32);

impl Numerology {
    /// Numerology `mu`, from 0 (subcarriers of 15 kHz) to 3 (120 kHz); `None` above.
    pub fn new(mu: u32) -> Option<Self> {
        (mu <= 3).then_some(Self(mu))
    }

    /// Length of a TTI slot, 1 ms / 2^mu.
    pub fn slot(self) -> SimTime {
        SimTime::from_nanos(1_000_000 >> self.0)
    }

    /// Width of a resource block of 12 subcarriers, in Hz.
    pub fn block_hz(self) -> f64 {
        180e3 * f64::from(1_u32 << self.0)
    }

    /// Number of resource blocks of a channel of `bandwidth_mhz`; `None` if the standard has no such channel. At 60
    /// kHz, the channels of 50 and 100 MHz are those below 7 GHz.
    pub fn resource_blocks(self, bandwidth_mhz: u32) -> Option<u32> {
        BLOCKS[self.0 as usize].iter().find(|(mhz, _)| *mhz == bandwidth_mhz).map(|(_, blocks)| *blocks)
    }

    /// Channel bandwidths of this numerology in MHz.
    pub fn bandwidths(self) -> impl Iterator<Item = u32> {
        BLOCKS[self.0 as usize].iter().map(|(mhz, _)| *mhz)
    }
}

/// Use of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Downlink,
    Special,
    Uplink,
}

/// Duplex mode: frequency division, where every slot has both directions, or time division with a repeated pattern of
/// slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplex {
    /// Pattern of slots; empty for frequency division.
    pattern: Arc<[Slot]>,
    /// Downlink, guard and uplink symbols of a special slot.
    special: [u32; 3],
}

impl Duplex {
    /// Frequency division (FDD): every slot has both directions.
    pub fn frequency() -> Self {
        Self { pattern: Arc::from([]), special: [0; 3] }
    }

    /// Time division (TDD) with a pattern of the letters D, S and U, at least one D and one U; `special` has the
    /// downlink, guard and uplink symbols of a slot S. `None` if the pattern is invalid.
    pub fn time(pattern: &str, special: [u32; 3]) -> Option<Self> {
        let slot = |letter| match letter {
            'D' => Some(Slot::Downlink),
            'S' => Some(Slot::Special),
            'U' => Some(Slot::Uplink),
            _ => None,
        };
        let slots = pattern.chars().map(slot).collect::<Option<Arc<[Slot]>>>()?;
        let has_both = slots.contains(&Slot::Downlink) && slots.contains(&Slot::Uplink);
        (has_both && slots.len() <= LONGEST_PATTERN && special.iter().sum::<u32>() == SLOT_SYMBOLS)
            .then_some(Self { pattern: slots, special })
    }

    /// True for frequency division.
    pub fn is_frequency(&self) -> bool {
        self.pattern.is_empty()
    }

    fn kind(&self, slot: u64) -> Option<Slot> {
        (!self.pattern.is_empty()).then(|| self.pattern[(slot % self.pattern.len() as u64) as usize])
    }

    /// Number of slots after which the pattern repeats; 1 for frequency division.
    pub fn period(&self) -> u64 {
        self.pattern.len().max(1) as u64
    }

    /// Number of downlink symbols of a slot.
    pub fn downlink_symbols(&self, slot: u64) -> u32 {
        match self.kind(slot) {
            None | Some(Slot::Downlink) => SLOT_SYMBOLS,
            Some(Slot::Special) => self.special[0],
            Some(Slot::Uplink) => 0,
        }
    }

    /// True if a slot is an uplink slot, which carries acknowledgements.
    pub fn is_uplink(&self, slot: u64) -> bool {
        matches!(self.kind(slot), None | Some(Slot::Uplink))
    }

    /// True if `slot` is the first uplink slot at or after a multiple of `period` slots.
    pub fn begins_period(&self, slot: u64, period: u64) -> bool {
        let before = slot.saturating_sub(self.period())..slot;
        let earlier = before.rev().find(|earlier| self.is_uplink(*earlier));
        self.is_uplink(slot) && earlier.is_none_or(|earlier| slot / period > earlier / period)
    }

    /// First slot in which data sent in `slot` can be retransmitted: the acknowledgement is sent in the first uplink
    /// slot at least `k1` slots later, and the base station then needs `processing` slots. `carries` returns true for
    /// slots with data.
    pub fn again(&self, slot: u64, k1: u64, processing: u64, carries: impl Fn(u64) -> bool) -> u64 {
        // Every pattern has both kinds of slots, so one period suffices.
        let within = |from: u64| from..from + self.period();
        let acknowledged = within(slot + k1).find(|slot| self.is_uplink(*slot)).unwrap_or(slot + k1);
        let served = acknowledged + processing;
        within(served).find(|slot| carries(*slot)).unwrap_or(served)
    }
}

impl fmt::Display for Duplex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pattern.is_empty() {
            return f.write_str("fdd");
        }
        self.pattern.iter().try_for_each(|slot| {
            f.write_str(match slot {
                Slot::Downlink => "D",
                Slot::Special => "S",
                Slot::Uplink => "U",
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips in slots from each slot with data, and the largest number of data slots in one round trip, which is
    /// the number of processes that a saturated downlink needs.
    fn round_trips(duplex: &Duplex, k1: u64, processing: u64) -> (Vec<u64>, u64) {
        let carries = |slot: u64| duplex.downlink_symbols(slot) > 0;
        let starts = (0..duplex.period()).filter(|slot| carries(*slot));
        let trips: Vec<(u64, u64)> =
            starts.map(|slot| (slot, duplex.again(slot, k1, processing, carries))).collect();
        let busy = |(slot, again): &(u64, u64)| (*slot..*again).filter(|slot| carries(*slot)).count() as u64;
        (trips.iter().map(|(slot, again)| again - slot).collect(), trips.iter().map(busy).max().unwrap())
    }

    #[test]
    fn round_trips_are_those_of_the_patterns() {
        // Least, mean and greatest round trip in ms of 0.5 ms slots, and number of processes.
        for (pattern, k1, processing, least, mean, greatest, processes) in [
            ("DDDSU", 4, 4, 4.0, 5.1, 6.0, 10),
            ("DDDSUUDDDD", 4, 4, 4.0, 5.6, 8.0, 12),
            ("DDDDDDDSUU", 4, 4, 4.0, 5.6, 8.0, 12),
            ("DDSU", 4, 4, 5.0, 5.5, 6.0, 9),
            ("DDDSU", 2, 2, 2.0, 2.9, 4.0, 6),
            ("DDDSUUDDDD", 2, 2, 2.0, 3.3, 5.0, 8),
            ("DDSU", 2, 2, 2.0, 2.7, 3.5, 5),
        ] {
            let duplex = Duplex::time(pattern, [10, 2, 2]).unwrap();
            let (trips, needed) = round_trips(&duplex, k1, processing);
            let ms = |slots: f64| slots * 0.5;
            let found = [*trips.iter().min().unwrap() as f64, *trips.iter().max().unwrap() as f64].map(ms);
            let of_mean = ms(trips.iter().sum::<u64>() as f64 / trips.len() as f64);
            assert_eq!((found, needed), ([least, greatest], processes), "{pattern} {k1}");
            assert!((of_mean - mean).abs() <= 0.05 + 1e-9, "{pattern} {k1}: {of_mean}");
        }
        assert_eq!(round_trips(&Duplex::frequency(), 4, 4), (vec![8], 8));
        assert_eq!(round_trips(&Duplex::frequency(), 2, 2), (vec![4], 4));
    }

    #[test]
    fn bands_and_patterns_that_there_are() {
        let blocks = |mu, mhz| Numerology::new(mu).unwrap().resource_blocks(mhz);
        assert_eq!(
            [blocks(1, 40), blocks(1, 100), blocks(0, 20), blocks(3, 400), blocks(2, 10)],
            [106, 273, 106, 264, 11].map(Some)
        );
        assert_eq!([blocks(1, 45), blocks(0, 100), blocks(3, 40)], [None; 3]);
        assert_eq!(Numerology::new(4), None);
        assert_eq!(Numerology::new(3).unwrap().slot(), SimTime::from_micros(125));
        let duplex = Duplex::time("DDDSU", [10, 2, 2]).unwrap();
        assert_eq!((duplex.to_string(), duplex.period()), ("DDDSU".to_owned(), 5));
        assert_eq!([0, 3, 4, 8].map(|slot| duplex.downlink_symbols(slot)), [14, 10, 0, 10]);
        assert_eq!([0, 3, 4, 9].map(|slot| duplex.is_uplink(slot)), [false, false, true, true]);
        for (pattern, special) in [
            ("", [10, 2, 2]),
            ("DDD", [10, 2, 2]),
            ("UU", [10, 2, 2]),
            ("DXU", [10, 2, 2]),
            ("DSU", [10, 2, 3]),
        ] {
            assert_eq!(Duplex::time(pattern, special), None, "{pattern}");
        }
        assert_eq!(Duplex::time(&"DU".repeat(41), [10, 2, 2]), None);
    }
}
