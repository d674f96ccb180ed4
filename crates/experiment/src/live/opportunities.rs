//! What a recorded link delivered as a trace of delivery opportunities.

use super::replay::read;
use crossfade_link::PointToPoint;
use crossfade_live::{Entry, Fate};
use crossfade_scenario::ScenarioError;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Bytes that an opportunity has room for, whatever the MTU is: the format says so.
const OPPORTUNITY: u64 = 1500;

/// Of each direction, from the far host and back: a line for each 1500 bytes that came out, with the milliseconds since
/// the beginning at which they had. Where packets were always waiting this is what the link could carry, in the
/// format of [`OpportunityTrace`](crossfade_link::trace::OpportunityTrace).
///
/// # Errors
/// As [`replay`](super::replay()).
pub fn opportunities(bytes: &[u8]) -> Result<[String; 2], ScenarioError> {
    let (_, journal, _) = read(bytes)?;
    let is_shared = journal.lanes.len() == 1;
    let mut logs = [Log::default(), Log::default()];
    for (lane, entries) in journal.lanes.iter().enumerate() {
        let mut inside: HashMap<u32, u32> = HashMap::new();
        for entry in entries {
            match *entry {
                Entry::Arrival { parcel, .. } => {
                    inside.insert(parcel.id(), parcel.bytes());
                }
                Entry::Departure { at, port, id, fate: Fate::Arrived, .. } => {
                    let is_near = u32::from(port) == PointToPoint::<()>::OUT;
                    let way = if is_shared { usize::from(!is_near) } else { lane };
                    logs[way].add(at.as_nanos(), inside.remove(&id).unwrap_or(0));
                }
                _ => {}
            }
        }
    }
    Ok(logs.map(|log| log.text))
}

#[derive(Default)]
struct Log {
    bytes: u64,
    text: String,
}

impl Log {
    fn add(&mut self, at_ns: u64, bytes: u32) {
        let before = self.bytes / OPPORTUNITY;
        self.bytes += u64::from(bytes);
        for _ in before..self.bytes / OPPORTUNITY {
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "{}", at_ns / 1_000_000);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Log;

    #[test]
    fn an_opportunity_is_told_when_its_bytes_are_there() {
        let mut log = Log::default();
        for (at_us, bytes) in [(900, 1500), (2_100, 700), (3_999, 800), (5_000, 3100), (6_000, 0)] {
            log.add(at_us * 1000, bytes);
        }
        assert_eq!(log.text, "0\n3\n5\n5\n");
    }
}
