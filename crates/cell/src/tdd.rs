//! Time division duplex: patterns of downlink and uplink slots.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Greatest number of slots of a pattern: NR's longest period of 10 ms has 80 slots at 120 kHz (TS 38.213 section
/// 11.1).
pub const LONGEST_PATTERN: usize = 80;

/// Repeating pattern of downlink (`D`) and uplink (`U`) slots, such as `DDDU`.
///
/// A slot belongs wholly to one direction. NR's special slot (`S`), with symbols of both directions and a guard period,
/// is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TddPattern {
    /// For each slot of the pattern, true if it belongs to the uplink.
    is_uplink: Arc<[bool]>,
}

/// Error of a text that is no TDD pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be 2 to {LONGEST_PATTERN} letters D (downlink slot) and U (uplink slot), with both, such as \"DDDU\""
)]
pub struct TddPatternError;

impl FromStr for TddPattern {
    type Err = TddPatternError;

    fn from_str(text: &str) -> Result<Self, TddPatternError> {
        let slot = |letter| match letter {
            'D' => Ok(false),
            'U' => Ok(true),
            _ => Err(TddPatternError),
        };
        let is_uplink = text.chars().map(slot).collect::<Result<Arc<[bool]>, _>>()?;
        let has_both = is_uplink.contains(&true) && is_uplink.contains(&false);
        if has_both && is_uplink.len() <= LONGEST_PATTERN {
            Ok(Self { is_uplink })
        } else {
            Err(TddPatternError)
        }
    }
}

impl fmt::Display for TddPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.is_uplink.iter().try_for_each(|&is_uplink| f.write_str(if is_uplink { "U" } else { "D" }))
    }
}

impl TddPattern {
    /// True if `slot` (counted from 0, beyond the end of the pattern, too) belongs to the uplink.
    pub fn is_uplink(&self, slot: u64) -> bool {
        self.is_uplink[(slot % self.is_uplink.len() as u64) as usize]
    }

    /// Number of `slot` among the slots of its direction, counted from 0.
    pub fn turn(&self, slot: u64) -> u64 {
        let (length, is_uplink) = (self.is_uplink.len() as u64, self.is_uplink(slot));
        let own = |slots: &[bool]| slots.iter().filter(|&&other| other == is_uplink).count() as u64;
        slot / length * own(&self.is_uplink) + own(&self.is_uplink[..(slot % length) as usize])
    }

    /// Numbers of downlink slots and of uplink slots in the pattern.
    pub fn slots(&self) -> [usize; 2] {
        let uplink = self.is_uplink.iter().filter(|&&is_uplink| is_uplink).count();
        [self.is_uplink.len() - uplink, uplink]
    }

    /// Greatest distance in slots from an uplink slot to the next one, or from a downlink slot to the next one if
    /// `of_uplink` is false.
    pub fn longest_gap(&self, of_uplink: bool) -> u64 {
        let twice = self.is_uplink.iter().chain(&*self.is_uplink);
        let places = (0_u64..).zip(twice).filter(|&(_, &is_uplink)| is_uplink == of_uplink);
        let places: Vec<u64> = places.map(|(place, _)| place).collect();
        places.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_repeats() {
        let pattern: TddPattern = "DDDU".parse().unwrap();
        let slots: Vec<u64> = (0..12).filter(|&slot| pattern.is_uplink(slot)).collect();
        assert_eq!(
            (slots, pattern.slots(), pattern.to_string()),
            (vec![3, 7, 11], [3, 1], "DDDU".to_owned())
        );
        assert_eq!([true, false].map(|of_uplink| pattern.longest_gap(of_uplink)), [4, 2]);
        let turns: Vec<u64> = (0..9).map(|slot| pattern.turn(slot)).collect();
        assert_eq!(turns, [0, 1, 2, 0, 3, 4, 5, 1, 6]);
        let uneven: TddPattern = "UDDUD".parse().unwrap();
        assert_eq!([true, false].map(|of_uplink| uneven.longest_gap(of_uplink)), [3, 2]);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "D", "U", "DDD", "UU", "DDSU", "du", "D U", &"DU".repeat(41)] {
            assert_eq!(text.parse::<TddPattern>(), Err(TddPatternError), "{text}");
        }
        assert!("DU".repeat(40).parse::<TddPattern>().is_ok());
    }
}
