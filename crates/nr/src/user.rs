//! Radio of one user: channel and quality reports, stream of bytes with its packets, HARQ processes, and counters.

use crate::channel::Channel;
use crate::config::NrConfig;
use crate::discipline::Discipline;
use crate::effective_sinr::{Mapping, Reported};
use crate::error_rates::ErrorRates;
use crate::harq::{Block, Processes};
use crate::levels::Levels;
use crate::link_adaptation::Adaptation;
use crate::mcs::CodedModulation;
use crate::mean_blocks::{MeanBlocks, Retransmissions};
use crate::reassembly::Reassembly;
use crate::stack_config::Way;
use crate::transport_block::{Allocation, CodeBlocks};
use crossfade_cell::{CellError, OuterLoop};
use crossfade_core::{RunSeed, SimTime, Stream, to_db};
use crossfade_link::{Departure, Parcel, Push, UserStatistics, Waiting};
use rand::RngExt;
use std::collections::VecDeque;

/// Packet as a range of the user's stream of bytes, from `start` to one before `end`.
#[derive(Clone, Copy, Debug)]
struct Packet {
    start: u64,
    end: u64,
    parcel: Parcel,
    since: SimTime,
    is_lost: bool,
}

/// Resource blocks that a user has in a slot.
pub(crate) struct Grant<'a> {
    pub(crate) slot: u64,
    pub(crate) symbols: u32,
    /// Groups of resource blocks; `prbs` is their number of resource blocks together.
    pub(crate) groups: &'a [usize],
    pub(crate) prbs: u32,
    /// Slot in which the report was measured that the base station uses.
    pub(crate) measured: u64,
    /// First slot in which a block of the grant can be retransmitted.
    pub(crate) again: u64,
}

/// Record of a transmission for the scheduler and the event log.
pub(crate) struct Told {
    pub(crate) block: u64,
    pub(crate) attempt: u32,
    pub(crate) scheme: CodedModulation,
    pub(crate) snr_db: f64,
    pub(crate) is_good: bool,
    pub(crate) bits: u32,
}

pub(crate) struct User {
    channel: Channel,
    /// Last SNR that was common to all groups, linear and in dB.
    of_all: (f64, f64),
    /// Copy of the channel at the slot of the last report, some slots behind `channel`.
    reporter: Channel,
    reported: Reported,
    outer_loop: Option<OuterLoop>,
    /// Random stream that decides which blocks fail: one draw per block.
    errors: Stream,
    /// Random stream that decides which acknowledgements are misread: one draw per transmission.
    feedback: Stream,
    processes: Processes,
    /// Received blocks under way to the receiver: time of arrival, block number, and part of the stream.
    in_air: VecDeque<(SimTime, u64, (u64, u64))>,
    /// Numbers of blocks that HARQ gave up.
    given_up: Vec<u64>,
    /// Bytes that the scheduler knows of, if RLC holds the data; `None` if the stream of bytes does.
    pub(crate) wanted: Option<u64>,
    /// Bytes of `wanted` by priority; empty if the user has one priority.
    pub(crate) levels: Levels,
    /// Blocks that have arrived and wait for earlier ones: end of their part of the stream, and time of arrival.
    waits: Vec<(u64, SimTime)>,
    /// Blocks as probability masses (fidelity `rate`).
    mean_blocks: MeanBlocks,
    /// Fidelity `rate`: mean numbers of new blocks, of further copies, of failed copies, and of failed and received
    /// first copies.
    mean_counts: [f64; 5],
    /// Fidelity `rate`: fraction of a byte that the last slot left over.
    credit: f64,
    blocks: u64,
    packets: VecDeque<Packet>,
    appended: u64,
    sent_until: u64,
    /// Number of packets of the stream of which no byte was sent, and their bytes.
    waiting: (usize, u64),
    /// Queue discipline before the stream; `None` for order of arrival.
    queue: Option<Discipline>,
    order: Reassembly,
    pub(crate) statistics: UserStatistics,
}

impl User {
    /// User without data. Its random streams are those of its channel ([`Channel::new`]), `error.nr.N` and
    /// `feedback.nr.N`, in the uplink `error.nr.up.N` and `feedback.nr.up.N`. With a stack above it, packets wait there
    /// instead of here.
    pub(crate) fn new(
        number: usize,
        config: &NrConfig,
        channel: Channel,
        seed: RunSeed,
    ) -> Result<Self, CellError> {
        let schemes = config.table.schemes().len() as u32;
        let way = if config.way == Way::Down { "" } else { "up." };
        Ok(Self {
            of_all: (1.0, 0.0),
            reporter: channel.clone(),
            channel,
            reported: Reported::default(),
            outer_loop: config.outer_loop.map(|outer| OuterLoop::new(outer, (0, schemes - 1))),
            errors: seed.stream(&format!("error.nr.{way}{number}")),
            feedback: seed.stream(&format!("feedback.nr.{way}{number}")),
            processes: Processes::new(config.harq.processes),
            in_air: VecDeque::new(),
            given_up: Vec::new(),
            wanted: None,
            levels: Levels::default(),
            waits: Vec::new(),
            mean_blocks: MeanBlocks::default(),
            mean_counts: [0.0; 5],
            credit: 0.0,
            blocks: 0,
            packets: VecDeque::new(),
            appended: 0,
            sent_until: 0,
            waiting: (0, 0),
            queue: match config.users[number].queue.filter(|_| config.stack.is_none()) {
                Some(queue) => Some(Discipline::new(queue, config.way, number, seed)?),
                None => None,
            },
            order: Reassembly::default(),
            statistics: UserStatistics::default(),
        })
    }

    /// Channel of the user for the other direction of TDD, with another mean SNR, before the first slot of both.
    pub(crate) fn channel_back(&self, mean_snr_db: f64) -> Channel {
        self.channel.of_other_way(mean_snr_db)
    }

    /// Enqueues a packet, or drops it if the queue is full.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel, config: &NrConfig) -> Push {
        let (packets, bytes) = self.waiting;
        let is_taken = match &mut self.queue {
            Some(queue) => queue.push(now, parcel),
            None => config.queue.is_none_or(|limit| limit.admits(packets, bytes, parcel.bytes())),
        };
        if !is_taken {
            self.statistics.packets.queue_drops += 1;
            return Push::QueueDrop;
        }
        if self.queue.is_none() {
            self.append(now, parcel, config.header_bytes);
        }
        Push::Accepted
    }

    /// Appends a packet that arrived at `since` to the stream, with headers of `header_bytes`.
    fn append(&mut self, since: SimTime, parcel: Parcel, header_bytes: u32) {
        let start = self.appended;
        self.appended += u64::from(parcel.bytes()) + u64::from(header_bytes);
        self.packets.push_back(Packet { start, end: self.appended, parcel, since, is_lost: false });
        self.waiting.0 += 1;
        self.waiting.1 += u64::from(parcel.bytes());
    }

    /// Takes packets out of the queue discipline until the stream has at least `bytes` unsent bytes.
    fn pull(&mut self, now: SimTime, bytes: u64, header_bytes: u32) {
        while self.appended - self.sent_until < bytes
            && let Some(Waiting { since, packet }) = self.queue.as_mut().and_then(|queue| queue.next(now))
        {
            self.append(since, packet, header_bytes);
        }
    }

    /// Unsent bytes: of the stream with headers, of the queue discipline without.
    pub(crate) fn backlog(&self) -> u64 {
        let behind = self.queue.as_ref().map_or(0, |queue| queue.waiting().1);
        self.wanted.unwrap_or(self.appended - self.sent_until + behind)
    }

    /// True if data wait, are in HARQ processes or under way, or are awaited by a timer.
    pub(crate) fn is_busy(&self) -> bool {
        self.backlog() > 0
            || self.queue.as_ref().is_some_and(Discipline::is_busy)
            || !self.in_air.is_empty()
            || !self.mean_blocks.is_empty()
            || self.order.expiry().is_some()
            || !self.processes.are_idle()
    }

    /// Number of resource blocks of the next retransmission; `None` if no block must be retransmitted.
    pub(crate) fn failed_prbs(&self) -> Option<u32> {
        self.processes.failed().map(|(_, block)| block.prbs)
    }

    /// True if the user has new data and a free HARQ process.
    pub(crate) fn can_begin(&self) -> bool {
        self.processes.has_free() && self.backlog() > 0
    }

    /// Statistics at `now`, including the waits of queued packets.
    pub(crate) fn report(&self, now: SimTime) -> UserStatistics {
        let mut statistics = self.statistics.clone();
        let [new, again, failed, first_failed, _] = self.mean_counts.map(|count| count.round() as u64);
        statistics.arq.frames += new;
        statistics.arq.retransmissions += again;
        statistics.arq.frame_errors += failed;
        statistics.first_errors += first_failed;
        let behind = self.queue.as_ref().map(Discipline::since).unwrap_or_default();
        let since = self.unsent().map(|packet| packet.since).chain(behind);
        statistics.packets.add_waits(since.map(|since| now.saturating_sub(since)));
        statistics.packets.ecn_marks = self.queue.as_ref().map_or(0, Discipline::ecn_marks);
        statistics
    }

    fn unsent(&self) -> impl Iterator<Item = &Packet> {
        self.packets.range(self.packets.len() - self.waiting.0..)
    }

    /// Packets of which no byte was sent.
    pub(crate) fn unsent_parcels(&self) -> impl Iterator<Item = Parcel> {
        let behind = self.queue.as_ref().map(Discipline::parcels).unwrap_or_default();
        self.unsent().map(|packet| packet.parcel).chain(behind)
    }

    /// Packets of which at least one byte was sent and which have not been delivered.
    pub(crate) fn sent_parcels(&self) -> impl Iterator<Item = Parcel> {
        self.packets.range(..self.packets.len() - self.waiting.0).map(|packet| packet.parcel)
    }

    /// Delivers blocks that have arrived by `now` and gives up bytes that were awaited for longer than `reordering`;
    /// each packet that leaves is handed to `leave`.
    pub(crate) fn land(&mut self, now: SimTime, reordering: SimTime, mut leave: impl FnMut(Departure)) {
        for parcel in self.queue.iter_mut().flat_map(Discipline::dropped) {
            self.statistics.packets.queue_drops += 1;
            leave(Departure::QueueDrop(parcel));
        }
        while let Some(&(_, _, part)) = self.in_air.front().filter(|(at, ..)| *at <= now) {
            self.in_air.pop_front();
            self.order.receive(now, part, reordering);
            self.waits.push((part.1, now));
        }
        for (start, end) in self.order.expire(now, reordering).into_iter().flatten() {
            let first = self.packets.partition_point(|packet| packet.end <= start);
            let lost = self.packets.range_mut(first..).take_while(|packet| packet.start < end);
            lost.for_each(|packet| packet.is_lost = true);
        }
        let until = self.order.until();
        let arq = &mut self.statistics.arq;
        self.waits.retain(|&(end, since)| {
            let waits = end > until;
            if !waits {
                arq.on_release(now - since);
            }
            waits
        });
        while let Some(packet) = self.packets.front().filter(|packet| packet.end <= until) {
            if packet.is_lost {
                self.statistics.packets.losses += 1;
                leave(Departure::Lost(packet.parcel));
            } else {
                self.statistics.packets.on_arrival(packet.parcel.bytes());
                leave(Departure::Arrived(packet.parcel));
            }
            self.packets.pop_front();
        }
    }

    /// Takes the number of the next block that has arrived by `now`; `None` without one.
    pub(crate) fn arrived(&mut self, now: SimTime) -> Option<u64> {
        let &(_, number, _) = self.in_air.front().filter(|(at, ..)| *at <= now)?;
        self.in_air.pop_front();
        Some(number)
    }

    /// Takes the number of a block that HARQ gave up; `None` without one.
    pub(crate) fn given_up(&mut self) -> Option<u64> {
        self.given_up.pop()
    }

    /// Frees all HARQ processes, drops the blocks under way, and resets the outer loop, as at a handover.
    pub(crate) fn flush(&mut self, config: &NrConfig) {
        self.processes.flush();
        self.in_air.clear();
        let schemes = config.table.schemes().len() as u32;
        self.outer_loop = config.outer_loop.map(|outer| OuterLoop::new(outer, (0, schemes - 1)));
    }

    /// Applies the acknowledgements that the base station has read by `slot`; a block is given up after `most`
    /// transmissions.
    pub(crate) fn acknowledge(&mut self, slot: u64, most: u32) {
        let Self { processes, statistics, given_up, wanted, .. } = self;
        processes.acknowledge(slot, most, |block| {
            statistics.arq.frames_lost += u64::from(!block.is_received);
            if !block.is_received && wanted.is_some() {
                given_up.push(block.number);
            }
        });
    }

    /// Quality report that was measured in slot `measured`.
    fn reported(&mut self, measured: u64) -> &mut Reported {
        if !self.reported.is_of(measured) {
            self.reported.renew(measured, self.reporter.at(measured));
        }
        &mut self.reported
    }

    /// Prepares the report measured in slot `measured` for the scheduler's [`known_ratios`](Self::known_ratios) and
    /// [`known_rates`](Self::known_rates).
    pub(crate) fn look(&mut self, measured: u64) {
        self.reported(measured).look();
    }

    /// Linear SNR of all groups (one value) or of each, as known at the last [`look`](Self::look).
    pub(crate) fn known_ratios(&self) -> &[f64] {
        self.reported.ratios()
    }

    /// Rates in bits per symbol that the scheduler expects at [`known_ratios`](Self::known_ratios).
    pub(crate) fn known_rates(&self) -> &[f64] {
        self.reported.rough_rates()
    }

    /// MCS index for a new block on the groups of the grant.
    fn choose(&mut self, grant: &Grant<'_>, adaptation: &Adaptation) -> usize {
        let offset_db = self.outer_loop.as_mut().map_or(0.0, |outer| outer.offset_db(grant.slot));
        self.reported(grant.measured);
        adaptation.choose(&mut self.reported, grant.groups, grant.symbols, offset_db)
    }

    /// Number of bytes that a new block on the groups of the grant would hold.
    pub(crate) fn holds_bytes(
        &mut self,
        grant: &Grant<'_>,
        config: &NrConfig,
        adaptation: &Adaptation,
    ) -> u32 {
        let scheme = config.table.schemes()[self.choose(grant, adaptation)];
        allocation(grant, config).transport_block_bits(scheme.bits_per_symbol, millionths(scheme), 0) / 8
    }

    /// Retransmits the first failed block on the groups of the grant; `None` without one.
    pub(crate) fn send_again(
        &mut self,
        grant: &Grant<'_>,
        config: &NrConfig,
        rates: &mut ErrorRates,
    ) -> Option<Told> {
        let (place, &block) = self.processes.failed()?;
        Some(self.transmit(place, block, grant, config, rates))
    }

    /// Sends a new block on the groups of the grant; `fill` puts RLC PDUs into it and returns false without any. `None`
    /// if nothing was sent.
    pub(crate) fn send(
        &mut self,
        now: SimTime,
        grant: &Grant<'_>,
        config: &NrConfig,
        adaptation: &Adaptation,
        rates: &mut ErrorRates,
        fill: Option<&mut dyn FnMut(u64, u32) -> bool>,
    ) -> Option<Told> {
        let place = self.processes.free()?;
        let index = self.choose(grant, adaptation);
        let scheme = config.table.schemes()[index];
        let bits =
            allocation(grant, config).transport_block_bits(scheme.bits_per_symbol, millionths(scheme), 0);
        self.pull(now, u64::from(bits / 8), config.header_bytes);
        let start = self.sent_until;
        let end = (start + u64::from(bits / 8)).min(self.appended);
        if fill.map_or(start == end, |fill| !fill(self.blocks, bits / 8)) {
            return None;
        }
        self.sent_until = end;
        self.leave_queue(now);
        let code = CodeBlocks::of(bits, scheme.rate());
        let block = Block::new(self.blocks, index, code, grant.prbs, (start, end), self.errors.random());
        self.blocks += 1;
        let told = self.transmit(place, block, grant, config, rates);
        Some(Told { bits, ..told })
    }

    /// Effective SNR in dB that a block of this scheme meets on these groups.
    fn met_db(&mut self, grant: &Grant<'_>, scheme: CodedModulation, config: &NrConfig) -> f64 {
        let ratios = self.channel.at(grant.slot);
        if let [one] = *ratios {
            if one != self.of_all.0 {
                self.of_all = (one, to_db(one));
            }
            return self.of_all.1;
        }
        Mapping::of(config).db(ratios, grant.groups, scheme)
    }

    fn transmit(
        &mut self,
        place: usize,
        mut block: Block,
        grant: &Grant<'_>,
        config: &NrConfig,
        rates: &mut ErrorRates,
    ) -> Told {
        let scheme = config.table.schemes()[block.scheme];
        let snr_db = self.met_db(grant, scheme, config);
        let symbols = f64::from(allocation(grant, config).resource_elements() * config.layers);
        block.receive_copy(scheme, symbols, snr_db, config.harq.combining, rates);
        let was_received = block.is_received;
        block.is_received |= block.draw >= block.error_rate;
        let misread: f64 = self.feedback.random();
        let harq = &config.harq;
        let is_acknowledged =
            if block.is_received { misread >= harq.ack_to_nack } else { misread < harq.nack_to_ack };
        let due = grant.again;
        self.count(&block, scheme, was_received);
        if block.sent == 1
            && let Some(outer) = &mut self.outer_loop
        {
            outer.learn(due, block.scheme as u32, is_acknowledged);
        }
        if block.is_received && !was_received {
            self.in_air.push_back((arrival(grant, config), block.number, (block.start, block.end)));
        }
        self.processes.wait(place, block, due, is_acknowledged);
        Told {
            block: block.number,
            attempt: block.sent - 1,
            scheme,
            snr_db,
            is_good: block.is_received,
            bits: 0,
        }
    }

    fn count(&mut self, block: &Block, scheme: CodedModulation, was_received: bool) {
        let (is_first, is_good) = (block.sent == 1, block.is_received);
        let statistics = &mut self.statistics;
        *(if is_first { &mut statistics.arq.frames } else { &mut statistics.arq.retransmissions }) += 1;
        statistics.arq.frame_errors += u64::from(!is_good);
        statistics.first_errors += u64::from(is_first && !is_good);
        if is_good && !was_received {
            statistics.arq.frames_delivered += 1;
            statistics.failures_before += u64::from(block.sent - 1);
        }
        // 10 bits per symbol count as 8.
        statistics.frames_by_bits[scheme.bits_per_symbol.min(8) as usize - 1] += 1;
    }

    /// Fidelity `rate`: mean retransmissions of `slot`.
    pub(crate) fn retransmissions(&self, slot: u64) -> Retransmissions {
        self.mean_blocks.retransmissions(slot)
    }

    /// Fidelity `rate`: sends the mean retransmissions on the groups of the grant.
    pub(crate) fn repeat(
        &mut self,
        retransmissions: &Retransmissions,
        grant: &Grant<'_>,
        config: &NrConfig,
        rates: &mut ErrorRates,
    ) {
        let Self { mean_blocks, channel, .. } = self;
        let copy = |block: &mut Block| {
            let scheme = config.table.schemes()[block.scheme];
            let snr_db = Mapping::of(config).db(channel.at(grant.slot), grant.groups, scheme);
            let own = Grant { prbs: block.prbs, ..*grant };
            let symbols = f64::from(allocation(&own, config).resource_elements() * config.layers);
            block.receive_copy(scheme, symbols, snr_db, config.harq.combining, rates);
        };
        let (copies, failed) = mean_blocks.send_again(grant.slot, retransmissions, config, copy);
        self.mean_counts[1] += copies;
        self.mean_counts[2] += failed;
        self.arrive(grant, config);
    }

    /// Fidelity `rate`: puts blocks under way whose copies of this slot were received.
    fn arrive(&mut self, grant: &Grant<'_>, config: &NrConfig) {
        let at = arrival(grant, config);
        self.mean_blocks.arrive(|number, part| self.in_air.push_back((at, number, part)));
    }

    /// Fidelity `rate`: sends the mean bytes of a slot in which a new block is sent with probability `share` on `scale`
    /// times the resource blocks of the grant; returns the number of bits sent.
    pub(crate) fn flow(
        &mut self,
        now: SimTime,
        grant: &Grant<'_>,
        (share, scale): (f64, f64),
        config: &NrConfig,
        adaptation: &Adaptation,
        rates: &mut ErrorRates,
    ) -> f64 {
        let index = self.choose(grant, adaptation);
        let scheme = config.table.schemes()[index];
        let allocation = allocation(grant, config);
        let bits = allocation.transport_block_bits(scheme.bits_per_symbol, millionths(scheme), 0);
        let share = share * adaptation.process_share();
        let available = self.credit + f64::from(bits / 8) * share * scale;
        // One more byte shows if more data wait behind.
        self.pull(now, available.floor() as u64 + 1, config.header_bytes);
        let unsent = self.appended - self.sent_until;
        let bytes = (available.floor() as u64).min(unsent);
        self.credit = if bytes < unsent { available - bytes as f64 } else { 0.0 };
        if bytes == 0 {
            return 0.0;
        }
        let start = self.sent_until;
        self.sent_until += bytes;
        self.leave_queue(now);
        let code = CodeBlocks::of(bits, scheme.rate());
        let mut block =
            Block::new(self.blocks, index, code, grant.prbs, (start, self.sent_until), self.errors.random());
        self.blocks += 1;
        let snr_db = self.met_db(grant, scheme, config);
        let symbols = f64::from(allocation.resource_elements() * config.layers);
        block.receive_copy(scheme, symbols, snr_db, config.harq.combining, rates);
        let p = block.error_rate;
        self.mean_counts[0] += share;
        self.mean_counts[2] += self.mean_blocks.send(grant.slot, block, share, config);
        self.mean_counts[3] += p * share;
        self.mean_counts[4] += share * (1.0 - p);
        self.arrive(grant, config);
        // The outer loop goes up and down as with single blocks.
        let [is_sent, read]: [f64; 2] = [self.feedback.random(), self.feedback.random()];
        let acknowledged = (1.0 - p) * (1.0 - config.harq.ack_to_nack) + p * config.harq.nack_to_ack;
        if let Some(outer) = self.outer_loop.as_mut().filter(|_| is_sent < share) {
            outer.learn(grant.again, index as u32, read < acknowledged);
        }
        self.statistics.frames_by_bits[scheme.bits_per_symbol.min(8) as usize - 1] += 1;
        bytes as f64 * 8.0
    }

    /// Ends the queueing delay of packets whose first byte is being sent.
    fn leave_queue(&mut self, now: SimTime) {
        while self.waiting.0 > 0 {
            let packet = &self.packets[self.packets.len() - self.waiting.0];
            if packet.start >= self.sent_until {
                break;
            }
            let bytes = packet.parcel.bytes();
            self.statistics.packets.on_transmission(bytes, now - packet.since);
            self.waiting.0 -= 1;
            self.waiting.1 -= u64::from(bytes);
        }
    }
}

/// Time at which a block received in the slot of a grant arrives.
fn arrival(grant: &Grant<'_>, config: &NrConfig) -> SimTime {
    config.numerology.slot() * (grant.slot + 1) + config.propagation
}

fn allocation(grant: &Grant<'_>, config: &NrConfig) -> Allocation {
    let NrConfig { dmrs_re, overhead_re, layers, .. } = *config;
    Allocation { symbols: grant.symbols, dmrs_re, overhead_re, prbs: grant.prbs, layers }
}

fn millionths(scheme: CodedModulation) -> u64 {
    u64::from(scheme.rate_times_2048) * 500_000
}
