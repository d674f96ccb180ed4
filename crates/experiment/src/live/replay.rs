//! Replay of a journal: the recorded arrivals pass through the links in simulated time.

use super::header::{Header, Source};
use super::network::{LiveNetwork, opposite};
use crate::experiment::Experiment;
use crate::views;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, LinkEvent, PointToPoint, Push};
use crossfade_live::{Entry, Fate, Journal};
use crossfade_scenario::{Overrides, Point, RESULTS_VERSION, ScenarioError};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// Result of a replay: counts and differences of each link.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// Header of the journal.
    pub header: Header,
    /// Replay of each link, or of the one medium that both directions share.
    pub lanes: Vec<LaneReplay>,
    /// Reasons why the replay may differ from the run, such as another version.
    pub warnings: Vec<String>,
}

/// Counts of a replayed link, and its first difference from the journal.
#[derive(Clone, Debug, Serialize)]
pub struct LaneReplay {
    /// `forward`, `reverse` or `shared`.
    pub link: &'static str,
    /// Number of packets that entered the link.
    pub packets: u64,
    /// Number of packets that came out of the link.
    pub arrived: u64,
    /// Number of packets that the channel lost.
    pub lost: u64,
    /// Number of packets that the queue dropped.
    pub dropped: u64,
    /// First difference between the journal and the simulation, as text; `None` if they are equal.
    pub difference: Option<String>,
}

/// Passes the arrivals of a journal through the links of its scenario, and compares the fate and departure time of
/// every packet with the journal.
///
/// # Errors
/// If the journal is damaged, or its scenario is not valid any more.
pub fn replay(bytes: &[u8]) -> Result<Replay, ScenarioError> {
    let (header, journal, media) = read(bytes)?;
    let losses = Losses::of(&header);
    let of_lane = |((link, mut medium), entries): (Lane, &Vec<Entry>)| {
        lane(link, medium.as_mut(), entries, losses, |_| ())
    };
    let lanes = media.into_iter().zip(&journal.lanes).map(of_lane).collect();
    let other = header.results_version;
    let warnings = (other != RESULTS_VERSION).then(|| {
        format!("recorded with results version {other}; this is {RESULTS_VERSION}, which may differ")
    });
    Ok(Replay { header, lanes, warnings: warnings.into_iter().collect() })
}

/// Events inside the links of a recorded live run, as CSV in the columns of a simulation's link events. They come from
/// a replay, which equals the run to the nanosecond, so that tracing does not slow the run.
///
/// # Errors
/// Those of [`replay`].
pub fn link_events(bytes: &[u8]) -> Result<String, ScenarioError> {
    let (header, journal, media) = read(bytes)?;
    let losses = Losses::of(&header);
    let mut events: Vec<(&str, LinkEvent)> = Vec::new();
    for ((link, mut medium), entries) in media.into_iter().zip(&journal.lanes) {
        medium.trace(true);
        lane(link, medium.as_mut(), entries, losses, |medium| {
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

/// Sender events of a simulation with the scenario, seed and run of a journal, as CSV with a header, to compare with
/// the kernel's. `None` if other traffic than the scenario's built-in transfers ran.
///
/// # Errors
/// Those of [`replay`].
pub fn simulated_events(bytes: &[u8]) -> Result<Option<String>, ScenarioError> {
    let (header, _) = parse(bytes)?;
    if !header.bulk {
        return Ok(None);
    }
    let seed = RunSeed { seed: header.seed, run: header.run };
    let point = point(&header)?;
    Ok(views::events_of_run(&point, seed))
}

/// A medium with the name of its direction: `forward`, `reverse`, or `shared` for both.
pub(super) type Lane = (&'static str, Box<dyn Fabric + Send>);

/// Reads a journal and builds the media of its run.
///
/// # Errors
/// If the journal is damaged, or its scenario is not valid any more.
pub(super) fn read(bytes: &[u8]) -> Result<(Header, Journal, Vec<Lane>), ScenarioError> {
    let (header, journal) = parse(bytes)?;
    let point = point(&header)?;
    let media = LiveNetwork::new(&point.setup, RunSeed { seed: header.seed, run: header.run })?.lanes();
    if media.len() != journal.lanes.len() {
        return Err(wrong(format!("it has {} links, its scenario {}", journal.lanes.len(), media.len())));
    }
    Ok((header, journal, media))
}

pub(super) fn parse(bytes: &[u8]) -> Result<(Header, Journal), ScenarioError> {
    let journal = Journal::parse(bytes).map_err(|error| wrong(error.to_string()))?;
    let header = serde_json::from_str(&journal.header).map_err(|error| wrong(error.to_string()))?;
    Ok((header, journal))
}

pub(super) fn wrong(problem: String) -> ScenarioError {
    ScenarioError::key("journal", problem)
}

/// A packet that has left a medium: time, port, id, fate, and true if it is marked "congestion experienced".
type Left = (SimTime, u32, u32, Fate, bool);

/// Time at which links report a loss, which differs between results versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Losses {
    /// A loss is reported when it is decided, as the packet enters or its transmission begins: results versions before
    /// 12.
    AsDecided,
    /// A loss is reported when the packet has been sent: results version 12 and later.
    AsSent,
}

impl Losses {
    fn of(header: &Header) -> Self {
        if header.results_version < 12 { Self::AsDecided } else { Self::AsSent }
    }
}

/// Losses, with times and ids, that an old journal reported when they were decided and the simulation reports later.
#[derive(Default)]
struct Told(Vec<(SimTime, u32)>);

impl Told {
    /// Removes losses from the front of `left` that the journal reported earlier.
    fn take_from(&mut self, left: &mut VecDeque<Left>) {
        while let Some(&(at, _, id, Fate::Lost, _)) = left.front() {
            let Some(place) = self.0.iter().position(|&(told, of)| of == id && told <= at) else { return };
            self.0.remove(place);
            left.pop_front();
        }
    }

    /// Checks, after the end of the journal, that each packet reported lost is lost in the simulation within an hour;
    /// otherwise returns the difference as text.
    fn settle(&mut self, medium: &mut dyn Fabric, end: SimTime) -> Option<String> {
        let latest = end.saturating_add(SimTime::from_millis(3_600_000));
        let mut left = VecDeque::new();
        while let Some(&(told, id)) = self.0.first() {
            let Some(at) = medium.next_event().filter(|&at| at <= latest) else {
                return Some(format!("live packet {id} was lost at {told}, simulated not"));
            };
            run_until(medium, at, &mut left);
            self.take_from(&mut left);
            let is_told = |ours: &Left| self.0.iter().any(|&(_, id)| id == ours.2);
            if let Some(ours) = left.drain(..).find(is_told) {
                return Some(format!("live packet {} was lost, simulated {}", ours.2, words(Some(ours))));
            }
        }
        None
    }
}

/// Replays one link up to its first difference from the journal; `look` is called after each entry.
fn lane(
    link: &'static str,
    medium: &mut (dyn Fabric + Send),
    entries: &[Entry],
    losses: Losses,
    mut look: impl FnMut(&mut (dyn Fabric + Send)),
) -> LaneReplay {
    let mut found = LaneReplay { link, packets: 0, arrived: 0, lost: 0, dropped: 0, difference: None };
    let mut left: VecDeque<Left> = VecDeque::new();
    let mut told = Told::default();
    for entry in entries {
        run_until(medium, entry.at(), &mut left);
        told.take_from(&mut left);
        let difference = match *entry {
            Entry::Arrival { at, port, parcel, fate } => {
                found.packets += 1;
                found.lost += u64::from(fate == Push::Lost);
                found.dropped += u64::from(fate == Push::QueueDrop);
                let port = u32::from(port);
                let to = if link == "shared" { opposite(port) } else { PointToPoint::<()>::OUT };
                let ours = medium.push(at, port, to, parcel);
                if (losses, fate, ours) == (Losses::AsDecided, Push::Lost, Push::Accepted) {
                    told.0.push((at, parcel.id()));
                    continue;
                }
                (ours != fate).then(|| format!("live {fate:?}, simulated {ours:?} as it entered"))
            }
            Entry::Departure { at, port, id, fate, is_ce, .. } => {
                found.arrived += u64::from(fate == Fate::Arrived);
                found.lost += u64::from(fate == Fate::Lost);
                found.dropped += u64::from(fate == Fate::QueueDrop);
                if losses == Losses::AsDecided && fate == Fate::Lost {
                    told.0.push((at, id));
                    continue;
                }
                let live = (at, u32::from(port), id, fate, is_ce);
                let ours = left.pop_front();
                (ours != Some(live)).then(|| format!("live {}, simulated {}", words(Some(live)), words(ours)))
            }
            Entry::End { at, .. } => {
                let more = left
                    .pop_front()
                    .map(|ours| format!("live nothing more, simulated {}", words(Some(ours))));
                more.or_else(|| told.settle(medium, at))
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

/// Advances a medium to `until` event by event, as a pump does, and collects the packets that leave in `left`.
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

/// Point of the scenario that was run.
///
/// # Errors
/// If the scenario is not valid any more, because another version wrote it.
pub(super) fn point(header: &Header) -> Result<Arc<Point>, ScenarioError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::LossProcess;
    use crossfade_link::{Departure, Hop, HopConfig, Parcel};
    use std::path::Path;

    /// A loss process that loses only the transmission of this number.
    struct Loses(u64);

    impl LossProcess for Loses {
        fn lost(&mut self, _now: SimTime, transmission: u64) -> bool {
            transmission == self.0
        }
    }

    /// A hop on which 1000 bytes take 0.8 ms and come out 20 ms later; it loses transmission number `loses`.
    fn hop(loses: u64) -> Hop {
        let delay = SimTime::from_millis(20);
        Hop::new(HopConfig { rate_bps: Some(10e6), delay, queue_limit: None, loss: Box::new(Loses(loses)) })
    }

    /// Journal of four packets, one every 0.5 ms, through a hop that loses packet 1.
    fn recorded() -> Vec<Entry> {
        let mut medium = PointToPoint(hop(1));
        let mut entries = Vec::new();
        let note = |medium: &mut PointToPoint<Hop>, until: SimTime| {
            let mut left = VecDeque::new();
            run_until(medium, until, &mut left);
            let departure = |(at, port, id, fate, is_ce): Left| Entry::Departure {
                at,
                handed_over: at,
                port: port as u8,
                id,
                fate,
                is_ce,
            };
            left.into_iter().map(departure).collect::<Vec<_>>()
        };
        for id in 0..4 {
            let at = SimTime::from_micros(500 * u64::from(id));
            entries.extend(note(&mut medium, at));
            let parcel = Parcel::new(id, 0, 1000);
            let fate = medium.push(at, 0, PointToPoint::<()>::OUT, parcel);
            entries.push(Entry::Arrival { at, port: 0, parcel, fate });
        }
        let end = SimTime::from_millis(100);
        entries.extend(note(&mut medium, end));
        entries.push(Entry::End { at: end });
        entries
    }

    /// The journal of [`recorded`] as results versions before 12 wrote it: the loss is reported when packet 1 enters.
    fn told_as_decided() -> Vec<Entry> {
        let is_loss = |entry: &Entry| matches!(entry, Entry::Departure { fate: Fate::Lost, .. });
        let mut entries = recorded();
        assert_eq!(entries.iter().filter(|entry| is_loss(entry)).count(), 1);
        entries.retain(|entry| !is_loss(entry));
        for entry in &mut entries {
            if let Entry::Arrival { parcel, fate, .. } = entry
                && parcel.id() == 1
            {
                *fate = Push::Lost;
            }
        }
        entries
    }

    fn difference(entries: &[Entry], losses: Losses, loses: u64) -> Option<String> {
        let found = lane("forward", &mut PointToPoint(hop(loses)), entries, losses, |_| ());
        assert!(found.packets <= 4);
        found.difference
    }

    /// Kept journals of all results versions contain losses and replay to their ends without a difference.
    #[test]
    fn kept_journals_replay_to_their_ends() {
        if crossfade_core::testing::is_salted() {
            return;
        }
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kept");
        let mut versions = Vec::new();
        for folder in std::fs::read_dir(kept).unwrap() {
            let Ok(bytes) = std::fs::read(folder.unwrap().path().join("live.cfj")) else { continue };
            let found = replay(&bytes).unwrap();
            let version = found.header.results_version;
            versions.push(version);
            let lost: u64 = found.lanes.iter().map(|lane| lane.lost).sum();
            assert!(lost > 0, "version {version} lost nothing");
            for lane in found.lanes {
                assert_eq!(lane.difference, None, "version {version}, {}", lane.link);
            }
        }
        versions.sort_unstable();
        assert_eq!(versions, (4..=RESULTS_VERSION).collect::<Vec<_>>());
    }

    #[test]
    fn a_loss_that_was_told_as_it_was_decided_has_to_follow() {
        assert_eq!(difference(&recorded(), Losses::AsSent, 1), None);
        let old = told_as_decided();
        assert_eq!(difference(&old, Losses::AsDecided, 1), None);
        // Read by the rule of results version 12, the journal differs.
        let said = difference(&old, Losses::AsSent, 1).unwrap();
        assert!(said.ends_with("live Lost, simulated Accepted as it entered"), "{said}");
    }

    #[test]
    fn other_losses_are_differences() {
        // In turn another packet is lost, an additional packet is lost, and no packet is lost.
        let said = [2, 0, 9].map(|loses| difference(&told_as_decided(), Losses::AsDecided, loses).unwrap());
        assert!(said[0].contains("packet 2 was lost"), "{}", said[0]);
        assert!(said[1].contains("packet 0 was lost"), "{}", said[1]);
        assert!(said[2].contains("simulated packet 1 arrived"), "{}", said[2]);
    }

    #[test]
    fn a_loss_that_is_sent_after_the_end_is_looked_for() {
        let mut entries = told_as_decided();
        // The pump stops before packet 1 has been sent.
        let end = SimTime::from_micros(700);
        entries.retain(|entry| entry.at() <= end);
        entries.push(Entry::End { at: end });
        assert_eq!(difference(&entries, Losses::AsDecided, 1), None);
        let said = difference(&entries, Losses::AsDecided, 9).unwrap();
        assert!(said.contains("live packet 1 was lost, simulated packet 1 arrived"), "{said}");
    }

    #[test]
    fn a_departure_that_was_told_as_decided_has_to_follow_too() {
        let mut entries = recorded();
        for entry in &mut entries {
            // Report the loss at 0.8 ms, when the transmission of packet 1 begins.
            if let Entry::Departure { at, handed_over, fate: Fate::Lost, .. } = entry {
                (*at, *handed_over) = (SimTime::from_micros(800), SimTime::from_micros(800));
            }
        }
        entries.sort_by_key(Entry::at);
        assert_eq!(difference(&entries, Losses::AsDecided, 1), None);
        assert!(difference(&entries, Losses::AsSent, 1).is_some());
        assert!(matches!(Departure::Lost(Parcel::new(1, 0, 1000)).into(), Fate::Lost));
    }
}
