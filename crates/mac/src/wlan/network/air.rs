//! One link: a channel with those that contend for it, and what is in the air of it. A network has one, unless its
//! devices are multi-link devices.

use super::flight::Phase;
use crate::error::MeshError;
use crate::wlan::config::{LinkConfig, RadioConfig, StationConfig};
use crate::wlan::edca::{BEST_EFFORT, Backoff, Category, Contest, EDCA};
use crate::wlan::modes::{Band, Durations, Mode};
use crate::wlan::neighbour::Neighbour;
use crate::wlan::rate::RateControl;
use crate::wlan::reception::Reception;
use crossfade_core::{RunSeed, SimTime};

/// The end of the name of a stream of random numbers: nothing on the first link.
fn ending(link: usize) -> String {
    if link == 0 { String::new() } else { format!(".{link}") }
}

/// A station as it is on one link.
pub(super) struct End {
    pub(super) modes: Vec<Mode>,
    pub(super) reception: Reception,
    /// Rate control of the access point for this station, and the station's own.
    pub(super) rates: [RateControl; 2],
    /// Durations of the answers, by the index of the mode of the data.
    pub(super) answers: Vec<SimTime>,
}

impl End {
    pub(super) fn new(
        number: usize,
        link: usize,
        station: &StationConfig,
        answer_bytes: u32,
        radio: &RadioConfig,
        seed: RunSeed,
    ) -> Result<Self, MeshError> {
        let ending = ending(link);
        let control = |direction: &str| {
            RateControl::new(station, seed.stream(&format!("wlan.rate.{direction}.{number}{ending}")))
        };
        let answer = |mode: &Mode| mode.control().ppdu(answer_bytes, Durations::Standard);
        Ok(Self {
            reception: Reception::new(&format!("{number}{ending}"), station, radio, seed)?,
            rates: [control("dl"), control("ul")],
            answers: station.modes.iter().map(answer).collect(),
            modes: station.modes.clone(),
        })
    }
}

/// A channel, and what is in the air of it.
pub(super) struct Air {
    /// The slowest mode of its first station.
    pub(super) mode: Mode,
    /// Contenders by node (the access point first) and category; then the neighbours.
    pub(super) contest: Contest,
    /// Since when each of them has something to send.
    pub(super) ready: Vec<Option<SimTime>>,
    pub(super) neighbours: Vec<Neighbour>,
    /// First station of the next trigger, by category, and whether the access point sent one last.
    pub(super) asked: Vec<usize>,
    pub(super) has_asked: Vec<bool>,
    pub(super) phase: Phase,
    /// End of the holder's transmission opportunity, if it has one.
    pub(super) opportunity: Option<SimTime>,
    /// Time at which the next exchange begins, as long as nothing comes.
    pub(super) access: Option<SimTime>,
}

impl Air {
    /// An idle one of a network with these categories, which has been checked.
    pub(super) fn new(
        link: usize,
        config: &LinkConfig,
        backoff: Backoff,
        categories: &[Category],
        seed: RunSeed,
    ) -> Self {
        let nodes = config.stations.len() + 1;
        let contenders = (0..nodes).flat_map(|_| categories.iter().copied());
        let others = config.neighbours.map_or(0, |neighbours| neighbours.count);
        let mode = config.stations.iter().flatten().next().expect("a link that stations use").modes[0];
        let ending = ending(link);
        let contest = Contest::new(
            mode.band(),
            backoff,
            contenders.chain((0..others).map(|_| EDCA[BEST_EFFORT])),
            seed.stream(&format!("wlan.contention{ending}")),
        );
        let neighbours: Vec<Neighbour> = (0..others)
            .filter_map(|number| {
                let stream = seed.stream(&format!("wlan.neighbour.{number}{ending}"));
                Some(Neighbour::new(config.neighbours?, stream))
            })
            .collect();
        let mut ready = vec![None; nodes * categories.len()];
        ready.extend(neighbours.iter().map(|one| one.has_work().then_some(SimTime::ZERO)));
        let mut new = Self {
            mode,
            contest,
            ready,
            neighbours,
            asked: vec![0; categories.len()],
            has_asked: vec![false; categories.len()],
            phase: Phase::Idle,
            opportunity: None,
            access: None,
        };
        new.look_ahead();
        new
    }

    pub(super) fn band(&self) -> Band {
        self.mode.band()
    }

    /// Finds when the next exchange begins, if there is something to send.
    pub(super) fn look_ahead(&mut self) {
        let at =
            |(contender, since): (usize, &Option<SimTime>)| Some(self.contest.access(contender, (*since)?));
        self.access = self.ready.iter().enumerate().filter_map(at).min();
    }

    /// A contender, which had nothing, has something to send since `now`.
    pub(super) fn wake(&mut self, contender: usize, now: SimTime) {
        self.ready[contender] = Some(now);
        if matches!(self.phase, Phase::Idle) {
            let at = self.contest.access(contender, now);
            self.access = Some(self.access.map_or(at, |known| known.min(at)));
        } else {
            self.contest.arrive(contender);
        }
    }

    /// Time of the next start or end of a transmission in it.
    pub(super) fn next_event(&self) -> Option<SimTime> {
        match &self.phase {
            Phase::Idle => {
                let others = self.neighbours.iter().filter_map(Neighbour::next_event).min();
                self.access.into_iter().chain(others).min()
            }
            Phase::Data(at, _) | Phase::Answer(at, _) | Phase::Missed(at, _) => Some(*at),
        }
    }
}
