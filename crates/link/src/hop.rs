//! One hop: a drop-tail queue, a constant rate, a constant delay and a channel with losses.

use crate::event::{EventLog, LinkEvent, QueueChange};
use crate::limit::{QueueLimit, UNLIMITED};
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::queue::DropTail;
use crate::queued_link::QueuedLink;
use crate::report::LinkReport;
use crate::statistics::LinkStatistics;
use crate::transmitter::Transmitter;
use crossfade_channel::LossProcess;
use crossfade_core::{OutOfRange, SimTime};
use std::collections::VecDeque;

/// Configuration of a [`Hop`].
pub struct HopConfig {
    /// Bit rate in bit/s; `None`: transmission takes no time.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// Limit of the drop-tail queue; `None`: no limit.
    pub queue_limit: Option<QueueLimit>,
    /// Loss process of transmissions.
    pub loss: Box<dyn LossProcess>,
}

/// A packet whose transmission is not counted yet; it waits, or is in transmission after a wait.
#[derive(Clone, Copy)]
struct Unsent {
    /// Time at which the hop took the packet.
    since: SimTime,
    /// Beginning of its transmission, which ends when the next packet's begins or the hop becomes idle.
    start: SimTime,
    parcel: Parcel,
}

/// The last packet that found the hop idle. It did not wait, so its transmission is counted at its beginning; a report
/// before its end corrects for that.
#[derive(Clone, Copy, Default)]
struct Direct {
    start: SimTime,
    end: SimTime,
    parcel: Parcel,
}

/// First-in first-out hop: drop-tail queue, constant rate, constant delay, losses.
///
/// The fate of a packet is determined when it is pushed, so the hop has no event until the packet comes out or is lost.
/// Statistics still count each packet at the time of its transmission, because a report corrects for packets in
/// transit.
pub struct Hop {
    transmitter: Transmitter,
    delay: SimTime,
    queue_limit: Option<QueueLimit>,
    loss: Box<dyn LossProcess>,
    /// Number of packets for which the loss process has stepped, and number of packets spared by it.
    steps: u64,
    spared: u64,
    /// Packets that will come out, each with its arrival time.
    under_way: VecDeque<(SimTime, Parcel)>,
    /// Packets that will be lost, each with the end of its transmission.
    to_lose: VecDeque<(SimTime, Parcel)>,
    /// Time of the next loss; [`SimTime::MAX`] if no packet in the hop will be lost.
    next_loss: SimTime,
    /// Time of the next arrival or loss; [`SimTime::MAX`] if there is none. It is stored because it is read much more
    /// often than it changes.
    next_event: SimTime,
    /// Packet with which the hop's busy period began.
    direct: Direct,
    /// The packet in transmission, if it has waited. It and packets behind it may have been sent already, since the
    /// list is updated only when it is read.
    sending: Option<Unsent>,
    /// Packets that wait behind the packet in transmission, and their total of bytes.
    queue: VecDeque<Unsent>,
    queue_bytes: u64,
    idle_at: SimTime,
    statistics: LinkStatistics,
    log: EventLog,
}

impl Hop {
    /// Creates an idle hop.
    pub fn new(config: HopConfig) -> Self {
        let HopConfig { rate_bps, delay, queue_limit, loss } = config;
        Self {
            transmitter: Transmitter::new(rate_bps),
            delay,
            queue_limit,
            loss,
            steps: 0,
            spared: 0,
            under_way: VecDeque::new(),
            to_lose: VecDeque::new(),
            next_loss: SimTime::MAX,
            next_event: SimTime::MAX,
            direct: Direct::default(),
            sending: None,
            queue: VecDeque::new(),
            queue_bytes: 0,
            idle_at: SimTime::ZERO,
            statistics: LinkStatistics::default(),
            log: EventLog::default(),
        }
    }

    /// Converts a hop that has taken no packet yet into a [`QueuedLink`], whose drop-tail queue decides as packets
    /// leave it.
    ///
    /// # Errors
    /// If the queue limit is below one packet.
    pub fn into_queued(self) -> Result<QueuedLink<DropTail>, OutOfRange> {
        let queue = DropTail::new(self.queue_limit.unwrap_or(UNLIMITED))?;
        Ok(QueuedLink::new(queue, self.transmitter, self.delay, self.loss))
    }

    /// Time at which the transmitter has sent every packet that the hop holds; not in the future if the hop is idle.
    pub fn idle_at(&self) -> SimTime {
        self.idle_at
    }

    /// Propagation delay of the hop.
    pub fn delay(&self) -> SimTime {
        self.delay
    }

    /// True if no packet can be lost or dropped: no loss process and no queue limit.
    pub fn is_certain(&self) -> bool {
        self.queue_limit.is_none() && self.loss.is_lossless()
    }

    /// Time at which a packet of `bytes` pushed at `now` would come out, if earlier packets are sent by `idle_at`;
    /// `idle_at` moves to the end of this packet's transmission.
    #[inline]
    pub fn foresee(&mut self, idle_at: &mut SimTime, now: SimTime, bytes: u32) -> SimTime {
        *idle_at = (*idle_at).max(now) + self.transmitter.time_for(bytes);
        *idle_at + self.delay
    }

    /// Like [`push`](Link::push), for a caller that keeps the packet and delivers it at the returned time. The hop
    /// counts the packet as arrived.
    ///
    /// # Errors
    /// Returns the result of `push` if the packet does not come out at a known time: [`Push::Accepted`] if
    /// [`advance`](Link::advance) will return it.
    #[inline]
    pub fn pass(&mut self, now: SimTime, parcel: Parcel) -> Result<SimTime, Push> {
        let arrival = self.admit(now, parcel)?;
        self.statistics.on_arrival(parcel.bytes());
        Ok(arrival)
    }

    /// Determines a packet's fate and transmission; returns its arrival time, or as an error how it is lost or dropped.
    #[expect(clippy::inline_always, reason = "twice a segment; measured: 5 % of a simulation of one flow")]
    #[inline(always)]
    fn admit(&mut self, now: SimTime, parcel: Parcel) -> Result<SimTime, Push> {
        let bytes = parcel.bytes();
        let start = if self.idle_at <= now {
            self.rest();
            let end = now + self.transmitter.time_for(bytes);
            self.direct = Direct { start: now, end, parcel };
            self.statistics.on_transmission(bytes, SimTime::ZERO);
            self.idle_at = end;
            now
        } else {
            if self.is_full(now, bytes) {
                self.statistics.queue_drops += 1;
                self.log_queue(now, QueueChange::Dropped);
                return Err(Push::QueueDrop);
            }
            let start = self.idle_at;
            self.idle_at = start + self.transmitter.time_for(bytes);
            self.queue.push_back(Unsent { since: now, start, parcel });
            self.queue_bytes += u64::from(bytes);
            self.log_queue(now, QueueChange::Enqueued);
            start
        };
        let is_lost = if parcel.is_spared() {
            self.spared += 1;
            false
        } else {
            self.steps += 1;
            self.loss.lost_of(start, self.steps - 1, bytes)
        };
        let transmission = || self.steps + self.spared - 1;
        self.log.push(|| LinkEvent::packet(start, parcel.user(), transmission(), is_lost));
        if is_lost { Err(self.lose(now, parcel)) } else { Ok(self.idle_at + self.delay) }
    }

    /// Records that the channel loses the packet pushed last, at the end of its transmission.
    #[cold]
    fn lose(&mut self, now: SimTime, parcel: Parcel) -> Push {
        if self.idle_at <= now {
            self.statistics.losses += 1;
            return Push::Lost;
        }
        self.to_lose.push_back((self.idle_at, parcel));
        self.next_loss = self.next_loss.min(self.idle_at);
        self.next_event = self.next_event.min(self.idle_at);
        Push::Accepted
    }

    /// Counts the loss of the packet just removed from `to_lose`.
    #[cold]
    fn count_loss(&mut self) {
        self.statistics.losses += 1;
        self.next_loss = first(&self.to_lose);
        self.next_event = first(&self.under_way).min(self.next_loss);
    }

    #[inline]
    fn log_queue(&mut self, at: SimTime, change: QueueChange) {
        let (packets, bytes) = (self.queue.len(), self.queue_bytes);
        self.log.push(|| LinkEvent::queue(at, change, packets, bytes));
    }

    /// Counts all packets as sent, at a time when the hop is idle.
    #[inline]
    fn rest(&mut self) {
        if !self.queue.is_empty() || self.sending.is_some() {
            self.count_all();
        }
    }

    /// True if the drop-tail queue of a busy hop drops a packet of `bytes` that arrives at `now`.
    #[inline]
    fn is_full(&mut self, now: SimTime, bytes: u32) -> bool {
        // Sent packets stay in the list as long as that makes no difference: removing many at once takes less time than
        // one at each push.
        let is_exact = self.log.is_kept() || self.queue.len() == self.queue.capacity();
        if !is_exact && self.admits(bytes) {
            return false;
        }
        self.count_sent(now);
        !self.admits(bytes)
    }

    /// True if the queue limit admits a packet of `bytes` behind all packets in the list.
    #[inline]
    fn admits(&self, bytes: u32) -> bool {
        self.queue_limit.is_none_or(|limit| limit.admits(self.queue.len(), self.queue_bytes, bytes))
    }

    /// Counts the transmission of a packet that has waited.
    #[inline]
    fn count(&mut self, sent: Unsent) {
        self.statistics.on_transmission(sent.parcel.bytes(), sent.start - sent.since);
    }

    /// Counts all transmissions that have ended by `now`.
    fn count_sent(&mut self, now: SimTime) {
        if self.direct.end > now {
            return;
        }
        loop {
            if let Some(sending) = self.sending {
                let end = self.queue.front().map_or(self.idle_at, |next| next.start);
                if end > now {
                    return;
                }
                self.count(sending);
            }
            self.sending = self.queue.pop_front();
            let Some(next) = self.sending else { return };
            self.queue_bytes -= u64::from(next.parcel.bytes());
        }
    }

    /// Counts the transmissions of all packets that have waited.
    fn count_all(&mut self) {
        for sent in self.sending.take().iter().chain(&self.queue) {
            self.statistics.on_transmission(sent.parcel.bytes(), sent.start - sent.since);
        }
        self.queue.clear();
        self.queue_bytes = 0;
    }
}

/// Time of the first packet in a list ordered by time; [`SimTime::MAX`] if the list is empty.
#[inline]
fn first(packets: &VecDeque<(SimTime, Parcel)>) -> SimTime {
    packets.front().map_or(SimTime::MAX, |(at, _)| *at)
}

impl Link for Hop {
    #[expect(clippy::inline_always, reason = "twice a segment; measured: 5 % of a simulation of one flow")]
    #[inline(always)]
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        match self.admit(now, parcel) {
            Ok(arrival) => {
                self.next_event = self.next_event.min(arrival);
                self.under_way.push_back((arrival, parcel));
                Push::Accepted
            }
            Err(gone) => gone,
        }
    }

    #[inline]
    fn next_event(&self) -> Option<SimTime> {
        (self.next_event < SimTime::MAX).then_some(self.next_event)
    }

    #[inline]
    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        if self.next_event > now {
            return None;
        }
        // Of events at equal times, losses come first.
        if self.next_loss == self.next_event {
            let (_, packet) = self.to_lose.pop_front()?;
            self.count_loss();
            return Some(Departure::Lost(packet));
        }
        let (_, packet) = self.under_way.pop_front()?;
        self.statistics.on_arrival(packet.bytes());
        self.next_event = first(&self.under_way).min(self.next_loss);
        Some(Departure::Arrived(packet))
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.count_sent(now);
        let mut statistics = self.statistics.clone();
        let direct = Some(self.direct).filter(|direct| direct.end > now);
        if let Some(direct) = direct {
            statistics.take_back(direct.parcel.bytes());
        }
        let begun = direct.map(|direct| direct.start).or(self.sending.map(|sending| sending.start));
        let begun_after = self.sending.map(|sending| sending.start - sending.since);
        let still_waiting = self.queue.iter().map(|unsent| now.saturating_sub(unsent.since));
        statistics.add_waits(begun_after.into_iter().chain(still_waiting));
        let has_been_sent = |at: SimTime, delay| at <= now.saturating_add(delay);
        let on_the_way = self.under_way.iter().filter(|(at, _)| has_been_sent(*at, self.delay));
        let lost = self.to_lose.iter().filter(|(at, _)| has_been_sent(*at, SimTime::ZERO));
        let waited = self.sending.iter().chain(&self.queue).map(|unsent| unsent.parcel);
        LinkReport {
            waiting: Some(self.queue.len()),
            unsent: direct.map(|direct| direct.parcel).into_iter().chain(waited).collect(),
            sent: on_the_way.chain(lost).map(|(_, parcel)| *parcel).collect(),
            ..LinkReport::new(now, statistics, self.transmitter.occupied(now, begun))
        }
    }

    fn trace(&mut self, keep: bool) {
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EveryThird, plain};
    use crossfade_channel::Lossless;
    use proptest::prelude::*;

    fn hop(queue_limit: Option<QueueLimit>, loss: Box<dyn LossProcess>) -> Hop {
        // 1000 bytes last 0.8 ms.
        Hop::new(HopConfig { rate_bps: Some(10e6), delay: SimTime::from_millis(20), queue_limit, loss })
    }

    fn arrival(departure: Option<Departure>) -> Option<u32> {
        departure.map(|departure| match departure {
            Departure::Arrived(packet) => packet.id(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn packets_are_serialised_then_delayed() {
        let mut hop = hop(None, Box::new(Lossless));
        assert_eq!(hop.push(SimTime::ZERO, plain(1, 1000)), Push::Accepted);
        assert_eq!(hop.push(SimTime::ZERO, plain(2, 1000)), Push::Accepted);
        assert_eq!(hop.push(SimTime::from_millis(5), plain(3, 40)), Push::Accepted);
        let arrivals: Vec<_> = std::iter::from_fn(|| {
            let at = hop.next_event()?;
            assert_eq!(hop.advance(at - SimTime::from_nanos(1)), None);
            Some((at.as_nanos() / 1000, arrival(hop.advance(at))?))
        })
        .collect();
        assert_eq!(arrivals, [(20_800, 1), (21_600, 2), (25_032, 3)]);
        let statistics = hop.report(SimTime::MAX).statistics;
        assert_eq!((statistics.waiting_s, statistics.queueing_delay_s), (0.0008, 0.0008));
        assert_eq!((statistics.transmissions, statistics.transmitted_bytes), (3, 2040));
        let longest = statistics.queueing_delay.quantile(1.0).unwrap().as_secs_f64();
        assert!((longest - 0.0008).abs() < 0.0008 / 64.0);
    }

    #[test]
    fn a_full_queue_drops_what_comes_last() {
        let mut hop = hop(Some(QueueLimit::Packets(2)), Box::new(Lossless));
        let fates: Vec<_> = (0..4).map(|i| hop.push(SimTime::ZERO, plain(i, 1000))).collect();
        assert_eq!(fates, [Push::Accepted, Push::Accepted, Push::Accepted, Push::QueueDrop]);
        // At 0.8 ms the second packet leaves the queue for the link.
        assert_eq!(hop.push(SimTime::from_micros(799), plain(4, 1000)), Push::QueueDrop);
        assert_eq!(hop.push(SimTime::from_micros(800), plain(5, 1000)), Push::Accepted);
        let mut by = |micros| {
            let LinkReport { statistics, waiting, unsent, .. } = hop.report(SimTime::from_micros(micros));
            (statistics.transmissions, statistics.queue_drops, waiting, unsent.len())
        };
        // Packets 1, 2 and 5 have been sent at 1.6, 2.4 and 3.2 ms.
        assert_eq!(by(800), (1, 2, Some(2), 3));
        assert_eq!(
            [by(1_600), by(3_199), by(3_200)],
            [(2, 2, Some(1), 2), (3, 2, Some(0), 1), (4, 2, Some(0), 0)]
        );
    }

    #[test]
    fn a_queue_of_bytes_takes_small_packets_where_large_ones_do_not_fit() {
        let mut hop = hop(Some(QueueLimit::Bytes(1500)), Box::new(Lossless));
        let mut push = |micros, bytes| hop.push(SimTime::from_micros(micros), plain(0, bytes));
        assert_eq!((push(0, 9000), push(0, 1000)), (Push::Accepted, Push::Accepted));
        assert_eq!(
            (push(0, 501), push(0, 500), push(0, 1)),
            (Push::QueueDrop, Push::Accepted, Push::QueueDrop)
        );
        // 9000 bytes last 7.2 ms.
        assert_eq!((push(7_199, 1), push(7_200, 1000)), (Push::QueueDrop, Push::Accepted));
    }

    #[test]
    fn a_lost_packet_costs_its_time_on_the_link() {
        let mut hop = hop(None, Box::new(EveryThird(Vec::new())));
        let fates: Vec<_> = (0..4).map(|i| hop.push(SimTime::ZERO, plain(i, 1000))).collect();
        assert_eq!(fates, [Push::Accepted; 4]);
        assert_eq!(hop.idle_at(), SimTime::from_micros(3_200));
        // Sent by 0.8, 1.6, 2.4 and 3.2 ms, of which the first and the last are lost.
        let leave: Vec<_> = std::iter::from_fn(|| {
            let at = hop.next_event()?;
            let departure = hop.advance(at)?;
            let losses = hop.report(at).statistics.losses;
            Some((
                at.as_nanos() / 1000,
                departure.parcel().id(),
                matches!(departure, Departure::Lost(_)),
                losses,
            ))
        })
        .collect();
        assert_eq!(
            leave,
            [(800, 0, true, 1), (3_200, 3, true, 2), (21_600, 1, false, 2), (22_400, 2, false, 2)]
        );
    }

    #[test]
    fn without_a_rate_packets_only_wait_for_the_delay() {
        let config = HopConfig {
            rate_bps: None,
            delay: SimTime::ZERO,
            queue_limit: Some(QueueLimit::Packets(0)),
            loss: Box::new(Lossless),
        };
        let mut hop = Hop::new(config);
        let now = SimTime::from_millis(3);
        assert_eq!((1..3).map(|id| hop.push(now, plain(id, 40))).collect::<Vec<_>>(), [Push::Accepted; 2]);
        assert_eq!([(); 3].map(|()| arrival(hop.advance(now))), [Some(1), Some(2), None]);
    }

    proptest! {
        /// The hop drops the same packets, and has the same departures and statistics, as a queue simulated packet by
        /// packet.
        #[test]
        fn the_queue_is_drop_tail(
            arrivals in prop::collection::vec((0u64..2_000, 1u32..3_000), 1..60),
            limit in prop_oneof![
                (0usize..20).prop_map(QueueLimit::Packets), (0u64..40_000).prop_map(QueueLimit::Bytes),
            ],
        ) {
            let mut hop = hop(Some(limit), Box::new(Lossless));
            let mut now = SimTime::ZERO;
            let mut starts: Vec<(SimTime, u32)> = Vec::new();
            let mut idle_at = SimTime::ZERO;
            for (i, (gap, bytes)) in arrivals.into_iter().enumerate() {
                now += SimTime::from_micros(gap);
                let waiting = starts.iter().filter(|&&(start, _)| start > now);
                let fits = match limit {
                    QueueLimit::Packets(limit) => waiting.count() < limit,
                    QueueLimit::Bytes(limit) => {
                        waiting.map(|(_, bytes)| u64::from(*bytes)).sum::<u64>() + u64::from(bytes) <= limit
                    }
                };
                let drops = idle_at > now && !fits;
                prop_assert_eq!(hop.push(now, plain(i as u32, bytes)) == Push::QueueDrop, drops);
                if !drops {
                    starts.push((idle_at.max(now), bytes));
                    idle_at = idle_at.max(now) + SimTime::to_transmit(bytes, 10e6);
                }
            }
            prop_assert_eq!(hop.idle_at(), idle_at);
        }
    }
}
