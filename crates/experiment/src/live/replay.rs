//! The arrivals of a journal, once more, in simulated time.

use super::header::{Header, Source};
use super::network::{LiveNetwork, opposite};
use crate::experiment::Experiment;
use crate::views;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, LinkEvent, PointToPoint};
use crossfade_live::{Entry, Fate, Journal};
use crossfade_scenario::{Overrides, Point, RESULTS_VERSION, ScenarioError};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

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
    let (header, journal, media) = read(bytes)?;
    let of_lane =
        |((link, mut medium), entries): (Lane, &Vec<Entry>)| lane(link, medium.as_mut(), entries, |_| ());
    let lanes = media.into_iter().zip(&journal.lanes).map(of_lane).collect();
    let other = header.results_version;
    let warnings = (other != RESULTS_VERSION).then(|| {
        format!("recorded with results version {other}; this is {RESULTS_VERSION}, which may differ")
    });
    Ok(Replay { header, lanes, warnings: warnings.into_iter().collect() })
}

/// What happened inside the links of a recorded run, as CSV in the columns of a simulation's link events: the
/// replay is that run, to the nanosecond, and looking at it then costs the run nothing.
///
/// # Errors
/// As [`replay`].
pub fn link_events(bytes: &[u8]) -> Result<String, ScenarioError> {
    let (_, journal, media) = read(bytes)?;
    let mut events: Vec<(&str, LinkEvent)> = Vec::new();
    for ((link, mut medium), entries) in media.into_iter().zip(&journal.lanes) {
        medium.trace(true);
        lane(link, medium.as_mut(), entries, |medium| {
            events.extend(std::iter::from_fn(|| medium.next_trace()).map(|event| (link, event)));
        });
    }
    events.sort_by_key(|(_, event)| event.at());
    let mut csv = LinkEvent::HEADER.to_owned();
    for (link, event) in &events {
        event.write_csv(link, &mut csv);
    }
    Ok(csv)
}

/// The events of the simulation that has the scenario, seed and run of a journal, to be drawn beside what the
/// kernel did: as CSV, the header first. `None` where it was not the scenario's transfers that ran.
///
/// # Errors
/// As [`replay`].
pub fn simulated_events(bytes: &[u8]) -> Result<Option<String>, ScenarioError> {
    let (header, _) = parse(bytes)?;
    if !header.bulk {
        return Ok(None);
    }
    let seed = RunSeed { seed: header.seed, run: header.run };
    let point = point(&header)?;
    Ok(views::events_of_run(&point, seed))
}

/// A medium, and what it is called.
pub(super) type Lane = (&'static str, Box<dyn Fabric + Send>);

/// A journal, what it says of its run, and the media of that.
pub(super) fn read(bytes: &[u8]) -> Result<(Header, Journal, Vec<Lane>), ScenarioError> {
    let (header, journal) = parse(bytes)?;
    let point = point(&header)?;
    let media = LiveNetwork::new(&point.setup, RunSeed { seed: header.seed, run: header.run })?.lanes();
    if media.len() != journal.lanes.len() {
        return Err(wrong(format!("it has {} links, its scenario {}", journal.lanes.len(), media.len())));
    }
    Ok((header, journal, media))
}

fn parse(bytes: &[u8]) -> Result<(Header, Journal), ScenarioError> {
    let journal = Journal::parse(bytes).map_err(|error| wrong(error.to_string()))?;
    let header = serde_json::from_str(&journal.header).map_err(|error| wrong(error.to_string()))?;
    Ok((header, journal))
}

fn wrong(problem: String) -> ScenarioError {
    ScenarioError::key("journal", problem)
}

/// What has left a medium: when, where, which packet, and how.
type Left = (SimTime, u32, u32, Fate, bool);

/// `look` is called after each entry.
fn lane(
    link: &'static str,
    medium: &mut (dyn Fabric + Send),
    entries: &[Entry],
    mut look: impl FnMut(&mut (dyn Fabric + Send)),
) -> LaneReplay {
    let mut found = LaneReplay { link, packets: 0, arrived: 0, lost: 0, dropped: 0, difference: None };
    let mut left: VecDeque<Left> = VecDeque::new();
    for entry in entries {
        run_until(medium, entry.at(), &mut left);
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
        look(medium);
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

/// The point that was run.
///
/// # Errors
/// The scenario is not one any more: another version wrote it.
fn point(header: &Header) -> Result<Arc<Point>, ScenarioError> {
    let Source { name, text, overrides, files } = &header.scenario;
    let read = |file: &str| files.get(file).cloned().ok_or_else(|| "not in the journal".to_owned());
    let overrides: Overrides = serde_json::from_value(overrides.clone())
        .map_err(|error| ScenarioError::key("journal", error.to_string()))?;
    let experiment = Experiment::load_with_files(text, name, &overrides, &read)?;
    if header.point >= experiment.points.len() {
        return Err(ScenarioError::key("journal", format!("its scenario has no point {}", header.point)));
    }
    let first = experiment.points.at(header.point);
    if first.scenario.run.draws.is_some() && header.run >= experiment.stop.most_runs() {
        return Err(ScenarioError::key("journal", format!("its scenario has no draw {}", header.run)));
    }
    Ok(experiment.points.at_run(header.point, header.run))
}
