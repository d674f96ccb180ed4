//! The cell as a fabric of ports: a base station and its users, simulated slot by slot.

use crate::config::CellConfig;
use crate::direction::Direction;
use crate::error::CellError;
use crate::tdd::TddPattern;
use crate::user::Way;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, Fabric, LinkEvent, LinkReport, Parcel, Port, Push};
use std::collections::VecDeque;

/// Slotted cell as a fabric of ports. Downlink packets enter at port 0 (the base station) and leave at a user's port (1
/// and up); with an [uplink](CellConfig::uplink), packets also go from users' ports to port 0. Packets from user to
/// user, and uplink packets without an uplink, are lost. The link report is that of the downlink, with the uplink's in
/// [`LinkReport::back`].
///
/// At the beginning of a slot the frames of the slot before arrive, then the scheduler gives bins to users and new
/// frames begin. Equal configuration, seed and pushes give bit-identical departures.
pub struct Cell {
    slot: SimTime,
    downlink: Direction,
    uplink: Option<(TddPattern, Direction)>,
    /// True if data wait or are in the air.
    is_busy: bool,
    /// Number of the next slot to begin.
    next_slot: u64,
    departures: VecDeque<(Port, Departure)>,
    now: SimTime,
}

/// Port of the base station; user N has port N + 1.
const BASE: Port = 0;

impl Cell {
    /// Creates a cell before its first packet.
    ///
    /// # Errors
    /// The configuration is invalid ([`CellConfig::check`]).
    pub fn new(config: CellConfig, seed: RunSeed) -> Result<Self, CellError> {
        config.check()?;
        let uplink = match &config.uplink {
            None => None,
            Some(uplink) => {
                let way = Way::Up { grant_delay: uplink.grant_delay };
                let direction = Direction::new(config.of_uplink(uplink), way, seed)?;
                Some((uplink.pattern.clone(), direction))
            }
        };
        Ok(Self {
            slot: config.slot,
            downlink: Direction::new(config, Way::Down, seed)?,
            uplink,
            is_busy: false,
            next_slot: 0,
            departures: VecDeque::new(),
            now: SimTime::ZERO,
        })
    }

    fn start(&self, slot: u64) -> SimTime {
        self.slot.saturating_mul(slot)
    }

    /// Direction (downlink or uplink) of `slot`, and the number of the slot among those of this direction.
    fn direction(&mut self, slot: u64) -> (&mut Direction, u64) {
        match &mut self.uplink {
            None => (&mut self.downlink, slot),
            Some((pattern, uplink)) => {
                let turn = pattern.turn(slot);
                (if pattern.is_uplink(slot) { uplink } else { &mut self.downlink }, turn)
            }
        }
    }

    /// Ends the slot before `slot` (its frames arrive) and begins `slot` (bins are allocated and frames begin).
    fn turn(&mut self, slot: u64) {
        self.now = self.start(slot);
        let Self { downlink, uplink, departures, now, .. } = self;
        downlink.land(*now, |user, departure| departures.push_back((user as Port + 1, departure)));
        if let Some((_, uplink)) = uplink {
            uplink.land(*now, |_, departure| departures.push_back((BASE, departure)));
        }
        let now = self.now;
        let (direction, turn) = self.direction(slot);
        direction.send(now, slot, turn);
        self.next_slot = slot + 1;
        self.is_busy = self.downlink.is_busy() || self.uplink.as_ref().is_some_and(|(_, up)| up.is_busy());
    }
}

impl Fabric for Cell {
    fn ports(&self) -> Port {
        self.downlink.users() as Port + 1
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        let (direction, user) = match (from, to, &mut self.uplink) {
            (BASE, 1.., _) => (&mut self.downlink, to - 1),
            (1.., BASE, Some((_, uplink))) => (uplink, from - 1),
            _ => return Push::Lost,
        };
        if user as usize >= direction.users() {
            return Push::Lost;
        }
        let pushed = direction.push(self.now, user as usize, parcel);
        if pushed == Push::Accepted && !self.is_busy {
            self.is_busy = true;
            let reached = self.now.as_nanos().div_ceil(self.slot.as_nanos());
            self.next_slot = self.next_slot.max(reached);
        }
        pushed
    }

    fn next_event(&self) -> Option<SimTime> {
        if self.departures.is_empty() {
            self.is_busy.then(|| self.start(self.next_slot))
        } else {
            Some(self.now)
        }
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some(departure) = self.departures.pop_front() {
                return Some(departure);
            }
            if !self.is_busy || self.start(self.next_slot) > now {
                return None;
            }
            self.turn(self.next_slot);
        }
    }

    fn prepare(&mut self) {
        if self.is_busy {
            let slot = self.next_slot;
            self.direction(slot).0.prepare(slot);
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let back = self.uplink.as_ref().map(|(_, uplink)| Box::new(uplink.report(now)));
        LinkReport { back, ..self.downlink.report(now) }
    }

    fn trace(&mut self, keep: bool) {
        self.downlink.log.keep(keep);
        if let Some((_, uplink)) = &mut self.uplink {
            uplink.log.keep(keep);
        }
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.downlink.log.pop()
    }

    fn next_trace_back(&mut self) -> Option<LinkEvent> {
        self.uplink.as_mut()?.1.log.pop()
    }
}
