//! The arrivals of a journal, once more, in simulated time.

use super::header::Header;
use super::network::{LiveNetwork, opposite};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, PointToPoint};
use crossfade_live::{Entry, Fate, Journal};
use crossfade_scenario::{RESULTS_VERSION, ScenarioError};
use serde::Serialize;
use std::collections::VecDeque;

/// What a replay has found.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// What the journal says of its run.
    pub header: Header,
    /// Of each link, or of what both directions share.
    pub lanes: Vec<LaneReplay>,
    /// What may be the reason of differences, if there are any.
    pub warnings: Vec<String>,
}

/// What a replay has found of one link.
#[derive(Clone, Debug, Serialize)]
pub struct LaneReplay {
    /// `forward`, `reverse` or `shared`.
    pub link: &'static str,
    /// Packets that entered it.
    pub packets: u64,
    /// Those that came out, were lost, and were dropped by its queue.
    pub arrived: u64,
    /// See `arrived`.
    pub lost: u64,
    /// See `arrived`.
    pub dropped: u64,
    /// Where the simulation first does something else.
    pub difference: Option<String>,
}

/// Puts the arrivals of a journal through the links of its scenario, and compares every fate and every time.
///
/// # Errors
/// The journal is damaged, or its scenario is not one any more.
pub fn replay(bytes: &[u8]) -> Result<Replay, ScenarioError> {
    let wrong = |problem: String| ScenarioError::key("journal", problem);
    let journal = Journal::parse(bytes).map_err(|error| wrong(error.to_string()))?;
    let header: Header = serde_json::from_str(&journal.header).map_err(|error| wrong(error.to_string()))?;
    let point = header.point()?;
    let network = LiveNetwork::new(&point.setup, RunSeed { seed: header.seed, run: header.run })?;
    let media = network.lanes();
    if media.len() != journal.lanes.len() {
        return Err(wrong(format!("it has {} links, its scenario {}", journal.lanes.len(), media.len())));
    }
    let of_lane = |((link, medium), entries): ((_, _), &Vec<Entry>)| lane(link, medium, entries);
    let lanes = media.into_iter().zip(&journal.lanes).map(of_lane).collect();
    let other = header.results_version;
    let warnings = (other != RESULTS_VERSION).then(|| {
        format!("recorded with results version {other}; this is {RESULTS_VERSION}, which may differ")
    });
    Ok(Replay { header, lanes, warnings: warnings.into_iter().collect() })
}

/// What has left a medium: when, where, which packet, and how.
type Left = (SimTime, u32, u32, Fate, bool);

fn lane(link: &'static str, mut medium: Box<dyn Fabric + Send>, entries: &[Entry]) -> LaneReplay {
    let mut found = LaneReplay { link, packets: 0, arrived: 0, lost: 0, dropped: 0, difference: None };
    let mut left: VecDeque<Left> = VecDeque::new();
    for entry in entries {
        run_until(medium.as_mut(), entry.at(), &mut left);
        let difference = match *entry {
            Entry::Arrival { at, port, parcel, fate } => {
                found.packets += 1;
                found.lost += u64::from(fate == crossfade_link::Push::Lost);
                found.dropped += u64::from(fate == crossfade_link::Push::QueueDrop);
                let port = u32::from(port);
                let to = if link == "shared" { opposite(port) } else { PointToPoint::<()>::OUT };
                let ours = medium.push(at, port, to, parcel);
                (ours != fate).then(|| format!("live {fate:?}, simulated {ours:?} as it entered"))
            }
            Entry::Departure { at, port, id, fate, is_ce, .. } => {
                found.arrived += u64::from(fate == Fate::Arrived);
                found.lost += u64::from(fate == Fate::Lost);
                found.dropped += u64::from(fate == Fate::QueueDrop);
                let live = (at, u32::from(port), id, fate, is_ce);
                let ours = left.pop_front();
                (ours != Some(live)).then(|| format!("live {}, simulated {}", words(Some(live)), words(ours)))
            }
            Entry::End { .. } => {
                left.pop_front().map(|ours| format!("live nothing more, simulated {}", words(Some(ours))))
            }
        };
        if let Some(difference) = difference {
            let number = found.packets;
            found.difference = Some(format!("after packet {number}, at {}: {difference}", entry.at()));
            break;
        }
    }
    found
}

/// Lets everything happen that happens by `until`, at its own times, as a pump does.
fn run_until(medium: &mut dyn Fabric, until: SimTime, left: &mut VecDeque<Left>) {
    while let Some(at) = medium.next_event().filter(|&at| at <= until) {
        while let Some((port, departure)) = medium.advance(at) {
            let parcel = departure.parcel();
            left.push_back((at, port, parcel.id(), departure.into(), parcel.is_ce()));
        }
    }
}

fn words(left: Option<Left>) -> String {
    let Some((at, port, id, fate, is_ce)) = left else { return "nothing".to_owned() };
    let fate = match fate {
        Fate::Arrived => "arrived",
        Fate::Lost => "was lost",
        Fate::QueueDrop => "was dropped",
    };
    let mark = if is_ce { ", marked" } else { "" };
    format!("packet {id} {fate} at {at} (port {port}{mark})")
}
