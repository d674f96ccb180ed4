//! NR cell as a fabric: a base station and its users, slot by slot.

use crate::config::NrConfig;
use crate::direction::Direction;
use crate::error_rates::ErrorRates;
use crate::link_adaptation::Adaptation;
use crate::upper::{Reported, Upper};
use crate::user::User;
use crossfade_cell::CellError;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{
    Departure, Fabric, LinkEvent, LinkReport, LinkStatistics, Occupancy, Parcel, Port, Push,
};
use std::collections::VecDeque;

/// Port of the base station.
const BASE: Port = 0;

/// NR cell as a fabric: port 0 is the base station, ports from 1 on are the users. Without a [stack](NrConfig::stack)
/// it carries packets from the base station to users, with one also from users to the base station; never from user to
/// user. The report is that of the downlink, with the uplink in [`LinkReport::back`].
///
/// At the beginning of a slot, first the blocks of the last slot arrive, then timers and acknowledgements are applied,
/// then users get groups of resource blocks and send new blocks, at most one per user, direction and slot. Departures
/// are a function of configuration, seed and pushes, bit for bit.
pub struct NrCell {
    slot: SimTime,
    downlink: Direction,
    upper: Option<Upper>,
    is_busy: bool,
    /// Number of the next slot.
    next_slot: u64,
    departures: VecDeque<(Port, Departure)>,
    now: SimTime,
}

impl NrCell {
    /// Builds the cell at time zero.
    ///
    /// # Errors
    /// If the configuration is invalid ([`NrConfig::check`]).
    pub fn new(config: NrConfig, seed: RunSeed) -> Result<Self, CellError> {
        config.check()?;
        let downlink = Direction::new(config, None, seed)?;
        let stack = downlink.config.stack.clone();
        Ok(Self {
            slot: downlink.config.numerology.slot(),
            upper: stack.map(|stack| Upper::new(&downlink, stack, seed)).transpose()?,
            downlink,
            is_busy: false,
            next_slot: 0,
            departures: VecDeque::new(),
            now: SimTime::ZERO,
        })
    }

    /// SNR in dB from which each scheme of the MCS table is used, by MCS index.
    pub fn thresholds_db(config: &NrConfig) -> Vec<f64> {
        let mut rates = ErrorRates::of_config(config);
        let adaptation = Adaptation::new(config, &mut rates);
        (0..config.table.schemes().len()).map(|index| adaptation.threshold_db(index)).collect()
    }

    fn start(&self, slot: u64) -> SimTime {
        self.slot.saturating_mul(slot)
    }

    /// Ends the slot before `slot` and begins `slot`.
    fn begin(&mut self, slot: u64) {
        self.now = self.start(slot);
        let Self { downlink, upper, departures, now, .. } = self;
        let most = downlink.config.harq.transmissions;
        if let Some(upper) = upper {
            upper.begin(*now, slot, downlink, |port, departure| departures.push_back((port, departure)));
            if downlink.log.is_kept() {
                upper.tell(&mut downlink.log);
            }
        } else {
            let reordering = downlink.config.reordering;
            for (number, user) in downlink.users.iter_mut().enumerate() {
                user.land(*now, reordering, |departure| {
                    departures.push_back((number as Port + 1, departure));
                });
                user.acknowledge(slot, most);
            }
            downlink.send(*now, slot, None);
        }
        self.next_slot = slot + 1;
        self.is_busy =
            self.downlink.users.iter().any(User::is_busy) || self.upper.as_ref().is_some_and(Upper::is_busy);
    }

    /// Report of a direction from the statistics of its users and bearers, and its packets.
    fn report_of(
        now: SimTime,
        direction: &Direction,
        Reported { users, bearers, packets: [unsent, sent] }: Reported,
    ) -> LinkReport {
        let mut statistics = LinkStatistics::default();
        let mut frames = ArqStatistics::default();
        for user in &users {
            statistics.add(&user.packets);
            frames.add(&user.arq);
        }
        let config = &direction.config;
        let busy = config.numerology.slot().as_secs_f64() * direction.used / f64::from(config.prbs);
        let report = LinkReport::new(now, statistics, Occupancy::Time(SimTime::from_secs_f64(busy)));
        LinkReport { frames: Some(frames), users, bearers, unsent, sent, ..report }
    }
}

impl Fabric for NrCell {
    fn ports(&self) -> Port {
        self.downlink.users.len() as Port + 1
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        let user = from.max(to).wrapping_sub(1) as usize;
        if from.min(to) != BASE || user >= self.downlink.users.len() {
            return Push::Lost;
        }
        let pushed = match &mut self.upper {
            Some(upper) => upper.push(self.now, user, to == BASE, parcel, &self.downlink.config),
            None if to == BASE => return Push::Lost,
            None => {
                let config = &self.downlink.config;
                self.downlink.users[user].push(self.now, parcel, config)
            }
        };
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
            self.begin(self.next_slot);
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let users: Vec<_> = self.downlink.users.iter().map(|user| user.report(now)).collect();
        match &self.upper {
            None => {
                let unsent = self.downlink.users.iter().flat_map(User::unsent_parcels).collect();
                let sent = self.downlink.users.iter().flat_map(User::sent_parcels).collect();
                let packets = [unsent, sent];
                Self::report_of(now, &self.downlink, Reported { users, bearers: Vec::new(), packets })
            }
            Some(upper) => {
                let [down, up] = upper.report(now, users);
                let back = Self::report_of(now, &upper.uplink, up);
                LinkReport { back: Some(Box::new(back)), ..Self::report_of(now, &self.downlink, down) }
            }
        }
    }

    fn trace(&mut self, keep: bool) {
        self.downlink.log.keep(keep);
        if let Some(upper) = &mut self.upper {
            upper.trace(keep);
        }
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.downlink.log.pop()
    }

    fn next_trace_back(&mut self) -> Option<LinkEvent> {
        self.upper.as_mut()?.uplink.log.pop()
    }
}
