//! Channel of a link: contention, stations on it, and the current transmission. A network has one, or one per link of
//! its multi-link devices.

use super::flight::Phase;
use crate::error::MeshError;
use crate::wlan::config::{LinkConfig, RadioConfig, StationConfig};
use crate::wlan::edca::{BEST_EFFORT, Backoff, Category, Contest, EDCA};
use crate::wlan::modes::{Band, Durations, Mode};
use crate::wlan::neighbour::Neighbour;
use crate::wlan::rate::RateControl;
use crate::wlan::reception::Reception;
use crossfade_core::{RunSeed, SimTime};

/// Suffix of the names of a link's random streams; empty for the first link.
fn ending(link: usize) -> String {
    if link == 0 { String::new() } else { format!(".{link}") }
}

/// Station on one link: modes, reception and rate control.
pub(super) struct End {
    pub(super) modes: Vec<Mode>,
    pub(super) reception: Reception,
    /// Rate control of the access point for this station, and of the station.
    pub(super) rates: [RateControl; 2],
    /// Durations of acknowledgements, by index of the data's mode.
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

/// Channel of a link and its current transmission.
pub(super) struct Air {
    /// First mode of the channel's first station, the slowest.
    pub(super) mode: Mode,
    /// Contention of nodes (access point first) by category, then of neighbouring networks.
    pub(super) contest: Contest,
    /// For each contender, the time since which it has a packet; `None` without one.
    pub(super) ready: Vec<Option<SimTime>>,
    pub(super) neighbours: Vec<Neighbour>,
    /// By category, the first station for the next trigger; `has_asked` is true if the last downlink access was a
    /// trigger.
    pub(super) asked: Vec<usize>,
    pub(super) has_asked: Vec<bool>,
    pub(super) phase: Phase,
    /// End of the current transmission opportunity; `None` if it has no limit.
    pub(super) opportunity: Option<SimTime>,
    /// Time of the next exchange if no packet arrives before.
    pub(super) access: Option<SimTime>,
}

impl Air {
    /// Idle channel of a link, whose configuration was checked.
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

    /// Updates the time of the next exchange.
    pub(super) fn look_ahead(&mut self) {
        let at =
            |(contender, since): (usize, &Option<SimTime>)| Some(self.contest.access(contender, (*since)?));
        self.access = self.ready.iter().enumerate().filter_map(at).min();
    }

    /// Records that a contender without packets has one since `now`.
    pub(super) fn wake(&mut self, contender: usize, now: SimTime) {
        self.ready[contender] = Some(now);
        if matches!(self.phase, Phase::Idle) {
            let at = self.contest.access(contender, now);
            self.access = Some(self.access.map_or(at, |known| known.min(at)));
        } else {
            self.contest.arrive(contender);
        }
    }

    /// Time of the next start or end of a transmission, or of a neighbour's next packet.
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
