//! Layers above the radio in both directions: bearers, uplink grants and interruptions.

use crate::bearers::Bearers;
use crate::config::NrConfig;
use crate::direction::Direction;
use crate::discipline::Discipline;
use crate::levels::Levels;
use crate::requests::Requests;
use crate::stack::{DOWN, Stack, UP};
use crate::stack_config::{Drx, FurtherBearer, Grants, StackConfig, Way};
use crate::user::User;
use crossfade_cell::CellError;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, EventLog, Parcel, Port, Push, QueueConfig, UserStatistics};
use std::collections::BTreeMap;

/// State of a user's protocols above MAC.
struct Above {
    stack: Bearers,
    requests: Requests,
    /// Buffer status reports under way by the number of their block: the slot, and the bytes that waited, in total and,
    /// if the scheduler follows bearers, by group.
    reports: BTreeMap<u64, (u64, (u64, Levels))>,
    /// End of an interruption, and true if unconfirmed data are retransmitted after it; `None` without an interruption.
    interrupted: Option<(SimTime, bool)>,
    /// Time at which the next handover begins.
    handover: SimTime,
    /// End of the DRX inactivity timer, until which the user listens.
    awake: SimTime,
    failures: u64,
    /// True if the uplink buffer was empty in the last slot.
    was_empty: bool,
}

/// Bearers of all users, and the radio of the uplink.
pub(crate) struct Upper {
    config: StackConfig,
    pub(crate) uplink: Direction,
    users: Vec<Above>,
}

impl Upper {
    /// Bearers and uplink of a cell whose downlink is before its first slot.
    pub(crate) fn new(downlink: &Direction, stack: StackConfig, seed: RunSeed) -> Result<Self, CellError> {
        let config = &downlink.config;
        let uplink = Direction::new(config.of_uplink(&stack.uplink), Some(downlink), seed)?;
        let air = config.numerology.slot() + config.propagation;
        let count = config.users.len() as u64;
        let queue = |number: u64, queue: Option<QueueConfig>, way: Way| {
            queue.map(|queue| Discipline::new(queue, way, number as usize, seed)).transpose()
        };
        let queues = |number: u64| {
            let down = queue(number, config.users[number as usize].queue, Way::Down)?;
            let up = queue(number, stack.uplink.discipline, uplink.config.way)?;
            Ok::<_, CellError>([down, up])
        };
        let queues = (0..count).map(queues).collect::<Result<Vec<_>, _>>()?;
        let first = |number: u64, queues| {
            let bearer = stack.bearer(number as usize);
            let level = config.users[number as usize].priority;
            Bearers::new(Stack::new(bearer, air, number as u16, queues), bearer.channel, level)
        };
        let user = |(number, queues): (u64, [Option<Discipline>; 2])| Above {
            stack: first(number, queues),
            requests: Requests::default(),
            reports: BTreeMap::new(),
            interrupted: None,
            // Handovers of users are spread over the period.
            handover: stack.handover.map_or(SimTime::MAX, |handover| {
                handover.every + SimTime::from_nanos(handover.every.as_nanos() / count * number)
            }),
            awake: SimTime::ZERO,
            failures: 0,
            was_empty: true,
        };
        let mut users: Vec<Above> = (0..count).zip(queues).map(user).collect();
        for (place, further) in stack.further.iter().enumerate() {
            let FurtherBearer { user, bearer, queues, .. } = further;
            // Random streams of further queues are numbered after those of the first bearers.
            let number = count + place as u64;
            let [down, up] = *queues;
            let queues = [queue(number, down, Way::Down)?, queue(number, up, uplink.config.way)?];
            users[*user].stack.add(Stack::new(*bearer, air, *user as u16, queues), further);
        }
        Ok(Self { users, uplink, config: stack })
    }

    /// Keeps events of the uplink and of bearers from now on, or stops.
    pub(crate) fn trace(&mut self, keep: bool) {
        self.uplink.log.keep(keep);
        let both = self.users.iter_mut().flat_map(|user| user.stack.each());
        both.flatten().for_each(|bearer| bearer.log.keep(keep));
    }

    /// Moves the events of bearers to the logs of their directions.
    pub(crate) fn tell(&mut self, downlink: &mut EventLog) {
        for [down, up] in self.users.iter_mut().flat_map(|user| user.stack.each()) {
            downlink.take_over(|| down.log.pop());
            self.uplink.log.take_over(|| up.log.pop());
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        let of_user =
            |user: &Above| user.stack.is_busy() || user.requests.is_busy() || user.interrupted.is_some();
        self.uplink.users.iter().any(User::is_busy) || self.users.iter().any(of_user)
    }

    pub(crate) fn push(
        &mut self,
        now: SimTime,
        user: usize,
        is_up: bool,
        parcel: Parcel,
        downlink: &NrConfig,
    ) -> Push {
        let limit = if is_up { self.config.uplink.queue } else { downlink.queue };
        let user = &mut self.users[user];
        let is_first = is_up && user.stack.wanted(now, UP) == 0;
        let is_urgent = is_up && self.config.schedules_bearers && {
            let mut before = Levels::default();
            user.stack.levels(now, UP, &mut before);
            before.first().is_some_and(|first| user.stack.group_of(&parcel) < first)
        };
        if !user.stack.of(&parcel, if is_up { UP } else { DOWN }).push(now, parcel, limit) {
            return Push::QueueDrop;
        }
        if is_up {
            user.requests.on_data(now, is_first, &self.config.uplink);
            if is_urgent {
                user.requests.on_urgent_data(now, &self.config.uplink);
            }
        }
        Push::Accepted
    }

    /// Ends the last slot and begins `slot` in downlink and uplink; packets that leave are handed to `leave` with their
    /// port.
    pub(crate) fn begin(
        &mut self,
        now: SimTime,
        slot: u64,
        downlink: &mut Direction,
        mut leave: impl FnMut(Port, Departure),
    ) {
        for number in 0..self.users.len() {
            self.land(now, number, downlink, &mut leave);
            self.interrupt(now, number, downlink);
            downlink.users[number].acknowledge(slot, downlink.config.harq.transmissions);
            self.uplink.users[number].acknowledge(slot, self.uplink.config.harq.transmissions);
            let Above { stack, .. } = &mut self.users[number];
            for (way, radio) in [(DOWN, &mut downlink.users[number]), (UP, &mut self.uplink.users[number])] {
                while let Some(block) = radio.given_up() {
                    stack.give_up(way, block);
                }
            }
        }
        self.ask(now, slot);
        self.send_down(now, slot, downlink);
        self.send_up(now, slot);
    }

    /// Receives the blocks that have arrived at either end of a user, and applies timers.
    fn land(
        &mut self,
        now: SimTime,
        number: usize,
        downlink: &mut Direction,
        leave: &mut impl FnMut(Port, Departure),
    ) {
        let port = number as Port + 1;
        let mut leave = |way, departure| leave(if way == DOWN { port } else { 0 }, departure);
        let Above { stack, requests, reports, .. } = &mut self.users[number];
        while let Some(block) = downlink.users[number].arrived(now) {
            stack.receive(now, DOWN, block, &mut leave);
        }
        let uplink = &self.config.uplink;
        while let Some(block) = self.uplink.users[number].arrived(now) {
            stack.receive(now, UP, block, &mut leave);
            let arrived = now.as_nanos() / self.uplink.config.numerology.slot().as_nanos();
            let known_from = arrived - 1 + uplink.processing_slots;
            match reports.remove(&block) {
                Some((slot, waiting)) => requests.on_report(slot, waiting, known_from),
                None => requests.on_full_block(known_from),
            }
        }
        stack.expire(now, &mut leave);
    }

    /// Begins and ends handovers and radio link failures.
    fn interrupt(&mut self, now: SimTime, number: usize, downlink: &mut Direction) {
        let user = &mut self.users[number];
        let mut next = None;
        if let Some(handover) = self.config.handover {
            // A handover that ended while the user had no data has no effect.
            while user.handover + handover.interruption <= now && user.handover < now {
                user.handover += handover.every;
            }
            if now >= user.handover {
                next = Some((user.handover + handover.interruption, handover.is_lossless));
                user.handover += handover.every;
            }
        }
        if next.is_none() && user.interrupted.is_none() && user.stack.has_failed() {
            user.failures += 1;
            next = Some((now + self.config.outage, true));
        }
        if let Some(next) = next {
            user.interrupted = Some(next);
            user.stack.begin_anew(next.1);
            user.reports.clear();
            user.requests.begin_anew();
            for direction in [downlink, &mut self.uplink] {
                direction.users[number].flush(&direction.config);
            }
        }
        if user.interrupted.is_some_and(|(end, _)| end <= now) {
            user.interrupted = None;
            if user.stack.wanted(now, UP) > 0 {
                user.requests.on_data(now, true, &self.config.uplink);
            }
        }
    }

    /// Users with unreported data send scheduling requests, if `slot` is an occasion for them.
    fn ask(&mut self, now: SimTime, slot: u64) {
        let config = &self.config.uplink;
        let radio = &self.uplink.config;
        let is_occasion = radio.duplex.begins_period(slot, config.request_period_slots);
        for user in &mut self.users {
            if user.interrupted.is_some() {
                continue;
            }
            let wanted = user.stack.wanted(now, UP);
            let was_empty = std::mem::replace(&mut user.was_empty, wanted == 0);
            if wanted == 0 {
                user.requests.on_empty();
                continue;
            }
            user.requests.on_time(now, config);
            // The buffer may have filled by a STATUS PDU that came due.
            user.requests.on_data(now, was_empty, config);
            if is_occasion && config.grants == Grants::Requested {
                let known = slot + radio.hop_slots() + config.processing_slots;
                let before = user.requests.asked;
                user.requests.on_occasion(slot, known, config);
                if user.requests.asked > before {
                    // A scheduling request wakes the user.
                    user.awake =
                        user.awake.max(now + self.config.drx.map_or(SimTime::ZERO, |drx| drx.inactivity));
                }
            }
        }
    }

    fn send_down(&mut self, now: SimTime, slot: u64, downlink: &mut Direction) {
        for (number, user) in self.users.iter().enumerate() {
            let is_there = user.interrupted.is_none();
            let listens = self.config.drx.is_none_or(|drx| drx.listens(now) || now < user.awake);
            downlink.is_open[number] = [is_there, is_there && listens];
            downlink.users[number].wanted = Some(user.stack.wanted(now, DOWN));
            if self.config.schedules_bearers {
                user.stack.levels(now, DOWN, &mut downlink.users[number].levels);
            }
        }
        let (users, inactivity) = (&mut self.users, self.config.drx.map(|drx| drx.inactivity));
        let mut fill = |number: usize, block, bytes| {
            let user = &mut users[number];
            let is_used = user.stack.fill(now, DOWN, block, bytes);
            if let (true, Some(inactivity)) = (is_used, inactivity) {
                user.awake = user.awake.max(now + inactivity);
            }
            is_used
        };
        downlink.send(now, slot, Some(&mut fill));
    }

    fn send_up(&mut self, now: SimTime, slot: u64) {
        let uplink = &self.config.uplink;
        let radio = &self.uplink.config;
        if radio.data_symbols(slot) == 0 {
            return;
        }
        let granted = radio.granted(slot, uplink.k2);
        let schedules_bearers = self.config.schedules_bearers;
        let unasked =
            match uplink.grants {
                Grants::Requested => 0,
                Grants::Proactive => uplink.request_grant_bytes,
                Grants::Configured { period_slots, bytes } => {
                    if radio.duplex.begins_period(slot, period_slots) { bytes } else { 0 }
                }
            };
        for (number, user) in self.users.iter_mut().enumerate() {
            let is_there = user.interrupted.is_none();
            self.uplink.is_open[number] = [is_there; 2];
            let urgent = schedules_bearers.then(|| user.stack.most_urgent());
            let wanted = if is_there {
                user.requests.wanted(granted, urgent, uplink).max(u64::from(unasked))
            } else {
                0
            };
            let radio = &mut self.uplink.users[number];
            radio.wanted = Some(wanted);
            if schedules_bearers {
                // A grant without a request may be for any bearer.
                radio.levels.clone_from(&user.requests.groups);
                let unknown = wanted.saturating_sub(radio.levels.total());
                radio.levels.add(self.uplink.config.users[number].priority, unknown);
            }
        }
        let users = &mut self.users;
        let mut fill = |number: usize, block, bytes: u32| {
            let Above { stack, requests, reports, .. } = &mut users[number];
            stack.fill(now, UP, block, bytes);
            let rest = stack.wanted(now, UP);
            if requests.on_block(now, slot, (u64::from(bytes), rest), uplink) {
                let mut groups = Levels::default();
                if schedules_bearers {
                    stack.levels(now, UP, &mut groups);
                }
                reports.insert(block, (slot, (rest, groups)));
                while reports.len() > 64 {
                    reports.pop_first();
                }
            }
            // A granted block is always sent, with padding alone if need be.
            true
        };
        self.uplink.send(now, slot, Some(&mut fill));
    }

    /// Statistics and packets of both directions. `down` has the statistics of the downlink's radio.
    pub(crate) fn report(&self, now: SimTime, down: Vec<UserStatistics>) -> [Reported; 2] {
        let up = self.uplink.users.iter().map(|user| user.report(now)).collect();
        [(DOWN, down), (UP, up)].map(|(way, radios)| {
            let mut packets = [Vec::new(), Vec::new()];
            let counted = self.users.iter().zip(radios).map(|(user, mut radio): (&Above, UserStatistics)| {
                user.stack.reports(now, way).for_each(|report| radio.add(&report));
                if way == UP {
                    radio.bearer.requests = user.requests.asked;
                } else {
                    radio.bearer.failures = user.failures;
                }
                for of_bearer in user.stack.parcels(way) {
                    packets.iter_mut().zip(of_bearer).for_each(|(all, own)| all.extend(own));
                }
                radio
            });
            Reported { users: counted.collect(), bearers: self.bearers(now, way), packets }
        })
    }

    /// Statistics of each bearer, the first bearers of all users before the others; empty if every user has one bearer.
    fn bearers(&self, now: SimTime, way: usize) -> Vec<UserStatistics> {
        if self.config.further.is_empty() {
            return Vec::new();
        }
        let mut of_users: Vec<_> = self.users.iter().map(|user| user.stack.reports(now, way)).collect();
        let mut bearers: Vec<_> = of_users.iter_mut().filter_map(Iterator::next).collect();
        bearers.extend(self.config.further.iter().filter_map(|further| of_users[further.user].next()));
        bearers
    }
}

/// Statistics and packets of one direction.
pub(crate) struct Reported {
    pub(crate) users: Vec<UserStatistics>,
    pub(crate) bearers: Vec<UserStatistics>,
    /// Packets of which no byte was sent, and those under way.
    pub(crate) packets: [Vec<Parcel>; 2],
}

impl Drx {
    /// True within an on-duration.
    fn listens(&self, now: SimTime) -> bool {
        SimTime::from_nanos(now.as_nanos() % self.cycle.as_nanos()) < self.on
    }
}
