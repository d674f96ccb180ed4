//! Data radio bearers of a user, and the division of transport blocks among them: logical channel prioritisation (3GPP
//! TS 38.321 section 5.4.3.1).

use crate::levels::{GROUPS, Levels};
use crate::stack::{Bearer, Payload, Stack};
use crate::stack_config::{FurtherBearer, LogicalChannel};
use crossfade_core::SimTime;
use crossfade_link::{Departure, OutsideClass, Parcel, UserStatistics};

/// Bucket Bj of a logical channel in one direction, in 1e-9 bytes; negative if its last SDU took more than it held.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    credit: i128,
    filled: SimTime,
}

impl Bucket {
    /// Fills the bucket at the prioritised rate up to `now`.
    fn fill(&mut self, now: SimTime, channel: &LogicalChannel) {
        let Some(rate) = channel.prioritised_rate.map(i128::from) else {
            self.credit = i128::MAX;
            return;
        };
        let since = i128::from((now - self.filled).as_nanos());
        self.credit = (self.credit + rate * since).min(rate * i128::from(channel.bucket.as_nanos()));
        self.filled = now;
    }

    /// True if the bucket holds any bytes.
    fn is_open(self) -> bool {
        self.credit > 0
    }

    /// Takes bytes out of the bucket; an infinite bucket stays infinite.
    fn take(&mut self, bytes: u64) {
        if self.credit != i128::MAX {
            self.credit -= i128::from(bytes) * 1_000_000_000;
        }
    }
}

/// Data radio bearers of a user; the first carries all flows that no other bearer does.
pub(crate) struct Bearers {
    stacks: Vec<Stack>,
    channels: Vec<LogicalChannel>,
    /// Scheduler priorities of the bearers; `groups` has the priorities of their logical channel groups.
    levels: Vec<u32>,
    groups: Vec<u32>,
    /// Flows of the further bearers, each with the bearer's index; `outside` has classes of packets of real programs.
    flows: Vec<(u32, usize)>,
    outside: Vec<(OutsideClass, usize)>,
    /// Indices of the bearers in order of their priorities.
    order: Vec<usize>,
    /// Buckets by direction and bearer.
    buckets: [Vec<Bucket>; 2],
    /// Number of blocks so far, by which bearers of equal priority take turns in beginning.
    turn: usize,
}

impl Bearers {
    /// Bearers of a user with only one.
    pub(crate) fn new(stack: Stack, channel: LogicalChannel, level: u32) -> Self {
        Self {
            stacks: vec![stack],
            channels: vec![channel],
            levels: vec![level],
            groups: vec![level],
            flows: Vec::new(),
            outside: Vec::new(),
            order: vec![0],
            buckets: [vec![Bucket::default()], vec![Bucket::default()]],
            turn: 0,
        }
    }

    /// Adds a further bearer to a user.
    pub(crate) fn add(&mut self, stack: Stack, further: &FurtherBearer) {
        let place = self.stacks.len();
        self.stacks.push(stack);
        for (number, stack) in self.stacks.iter_mut().enumerate() {
            stack.bearers.iter_mut().for_each(|bearer| bearer.number = Some(number as u16));
        }
        self.channels.push(further.bearer.channel);
        self.flows.extend(further.flows.iter().map(|flow| (*flow, place)));
        self.outside.extend(further.outside.map(|class| (class, place)));
        self.levels.push(further.level);
        self.group();
        self.order.push(place);
        self.order.sort_by_key(|place| (self.channels[*place].priority, *place));
        self.buckets.iter_mut().for_each(|buckets| buckets.push(Bucket::default()));
    }

    /// Assigns bearers to logical channel groups, one per priority; the last group also has all less urgent bearers.
    fn group(&mut self) {
        let mut all = self.levels.clone();
        all.sort_unstable();
        all.dedup();
        let last = all[GROUPS.min(all.len()) - 1];
        self.groups = self.levels.iter().map(|level| *level.min(&last)).collect();
    }

    /// Bearer of a packet in direction `way`.
    pub(crate) fn of(&mut self, parcel: &Parcel, way: usize) -> &mut Bearer {
        let place = self.place(parcel.flow());
        &mut self.stacks[place].bearers[way]
    }

    /// Priority of the logical channel group of a packet.
    pub(crate) fn group_of(&self, parcel: &Parcel) -> u32 {
        self.groups[self.place(parcel.flow())]
    }

    /// Priority of the most urgent logical channel group.
    pub(crate) fn most_urgent(&self) -> u32 {
        self.groups.iter().copied().min().unwrap_or_default()
    }

    /// Stores in `levels` the bytes that wait in direction `way` by logical channel group, counted as in
    /// [`wanted`](Self::wanted).
    pub(crate) fn levels(&self, now: SimTime, way: usize, levels: &mut Levels) {
        levels.clear();
        for (stack, group) in self.stacks.iter().zip(&self.groups) {
            levels.add(*group, stack.wanted(now, way));
        }
    }

    /// Index of the bearer of a flow.
    fn place(&self, flow: u32) -> usize {
        if self.stacks.len() == 1 {
            return 0;
        }
        let found = match OutsideClass::of(flow) {
            Some(class) => self.outside.iter().find(|(of, _)| *of == class).map(|(_, place)| *place),
            None => self.flows.iter().find(|(of, _)| *of == flow).map(|(_, place)| *place),
        };
        found.unwrap_or(0)
    }

    /// Segments that a block carries, by bearer: first byte and one past the last byte within a PDCP PDU.
    #[cfg(test)]
    pub(crate) fn segments(&self, way: usize, number: u64) -> Vec<Vec<(u32, u32)>> {
        self.stacks.iter().map(|stack| stack.segments(way, number)).collect()
    }

    /// All bearers, each in both directions.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut [Bearer; 2]> {
        self.stacks.iter_mut().map(|stack| &mut stack.bearers)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.stacks.iter().any(Stack::is_busy)
    }

    /// Bytes that wait in direction `way`, including STATUS PDUs for the other direction.
    pub(crate) fn wanted(&self, now: SimTime, way: usize) -> u64 {
        self.stacks.iter().map(|stack| stack.wanted(now, way)).sum()
    }

    /// Fills a block of `bytes` with PDUs, which are kept under its number; returns false if nothing waits.
    pub(crate) fn fill(&mut self, now: SimTime, way: usize, number: u64, bytes: u32) -> bool {
        if let [only] = &mut self.stacks[..] {
            return only.fill(now, way, number, bytes);
        }
        self.turn += 1;
        for (bucket, channel) in self.buckets[way].iter_mut().zip(&self.channels) {
            bucket.fill(now, channel);
        }
        let mut payloads: Vec<Payload> =
            self.stacks.iter_mut().map(|stack| stack.begin_block(now, way)).collect();
        let mut room = bytes;
        // First up to the prioritised rates, then all that waits.
        for is_assured in [true, false] {
            let mut from = 0;
            while from < self.order.len() {
                let priority = |at: usize| self.channels[self.order[at]].priority;
                let equals = (from..self.order.len()).take_while(|at| priority(*at) == priority(from));
                let to = from + equals.count();
                self.share(now, way, from..to, is_assured, &mut room, &mut payloads);
                from = to;
            }
        }
        let mut is_used = false;
        for (stack, payload) in self.stacks.iter_mut().zip(payloads) {
            is_used |= stack.end_block(way, number, payload);
        }
        is_used
    }

    /// Serves bearers of equal priority equally, SDU by SDU; with `is_assured`, only while their buckets are open.
    fn share(
        &mut self,
        now: SimTime,
        way: usize,
        range: std::ops::Range<usize>,
        is_assured: bool,
        room: &mut u32,
        payloads: &mut [Payload],
    ) {
        let first = range.start + self.turn % range.len();
        let turns = (first..range.end).chain(range.start..first);
        let mut open: Vec<(u64, usize)> = turns.map(|at| (0, self.order[at])).collect();
        loop {
            let buckets = &mut self.buckets[way];
            open.retain(|(_, place)| !is_assured || buckets[*place].is_open());
            let least = open.iter().enumerate().min_by_key(|(_, (had, _))| *had);
            let Some(at) = least.map(|(at, _)| at).filter(|_| *room > 3) else { break };
            let (had, place) = &mut open[at];
            let served = self.stacks[*place].serve(now, way, room, 1, &mut payloads[*place]);
            *had += served;
            if is_assured {
                buckets[*place].take(served);
            }
            if served == 0 {
                open.remove(at);
            }
        }
    }

    /// Receives the PDUs of a block that has arrived; packets that leave are handed to `leave` with their direction.
    pub(crate) fn receive(
        &mut self,
        now: SimTime,
        way: usize,
        number: u64,
        mut leave: impl FnMut(usize, Departure),
    ) {
        self.stacks.iter_mut().for_each(|stack| stack.receive(now, way, number, &mut leave));
    }

    /// Discards the PDUs of a block that HARQ gave up.
    pub(crate) fn give_up(&mut self, way: usize, number: u64) {
        self.stacks.iter_mut().for_each(|stack| stack.give_up(way, number));
    }

    /// Applies the timers that have expired by `now`; packets that leave are handed to `leave` with their direction.
    pub(crate) fn expire(&mut self, now: SimTime, mut leave: impl FnMut(usize, Departure)) {
        self.stacks.iter_mut().for_each(|stack| stack.expire(now, &mut leave));
    }

    /// True if any transmitter has reached its limit of retransmissions, so that the radio link has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.stacks.iter().any(Stack::has_failed)
    }

    /// Re-establishes all bearers after a handover or a radio link failure.
    pub(crate) fn begin_anew(&mut self, is_lossless: bool) {
        self.stacks.iter_mut().for_each(|stack| stack.begin_anew(is_lossless));
    }

    /// Packets of a direction by bearer: those of which no byte was sent, and the others that have not been delivered.
    pub(crate) fn parcels(&self, way: usize) -> impl Iterator<Item = [Vec<Parcel>; 2]> + '_ {
        self.stacks.iter().map(move |stack| stack.parcels(way))
    }

    /// Statistics of a direction at `now`, by bearer.
    pub(crate) fn reports(&self, now: SimTime, way: usize) -> impl Iterator<Item = UserStatistics> + '_ {
        self.stacks.iter().map(move |stack| stack.report(now, way))
    }
}
