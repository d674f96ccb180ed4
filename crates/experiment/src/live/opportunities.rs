//! Deliveries of a recorded live run as traces of delivery opportunities.

use super::replay::read;
use crate::opportunity_log::OpportunityLog;
use crossfade_link::PointToPoint;
use crossfade_live::{Entry, Fate};
use crossfade_scenario::ScenarioError;
use std::collections::HashMap;

/// Traces of delivery opportunities of a live run, from the far host to the near one and back. Each has a line for each
/// 1500 bytes that came out of the link, with the time in milliseconds since the start. If packets were always waiting,
/// the trace is the capacity of the link, in the format of
/// [`OpportunityTrace`](crossfade_link::trace::OpportunityTrace).
///
/// # Errors
/// Those of [`replay`](super::replay()).
pub fn opportunities(bytes: &[u8]) -> Result<[String; 2], ScenarioError> {
    let (_, journal, _) = read(bytes)?;
    let is_shared = journal.lanes.len() == 1;
    let mut logs = [OpportunityLog::default(), OpportunityLog::default()];
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
                    logs[way].add(at, inside.remove(&id).unwrap_or(0));
                }
                _ => {}
            }
        }
    }
    Ok(logs.map(OpportunityLog::into_text))
}
