//! One hop: a queue, a rate, a delay and a channel that loses.

use crossfade_channel::LossProcess;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// A one-way link as the protocols above see it.
///
/// An engine pushes packets, asks when something will next come out, and takes out what has arrived. A
/// simulation drives it from its event queue; a live emulator from a timer.
pub trait Link<P> {
    /// Takes a packet of `bytes` at time `now`.
    fn push(&mut self, now: SimTime, bytes: u32, packet: P) -> Push;

    /// When the next packet comes out, if one is under way.
    fn next_event(&self) -> Option<SimTime>;

    /// The next packet that has come out by `now`.
    fn advance(&mut self, now: SimTime) -> Option<P>;

    /// When the transmitter has sent everything it holds: `now` or earlier if it is idle.
    fn idle_at(&self) -> SimTime;
}

/// What became of a packet that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It will arrive.
    Accepted,
    /// It takes its turn on the link, and the channel loses it.
    Lost,
    /// The queue was full.
    QueueDrop,
}

/// What a [`Hop`] is made of.
pub struct HopConfig {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// How many packets the drop-tail queue holds beside the one being sent; `None` is without limit.
    pub queue_limit: Option<usize>,
    /// Which transmissions are lost.
    pub loss: Box<dyn LossProcess>,
}

/// A first-in first-out hop: drop-tail queue, constant rate, constant delay, losses.
///
/// A packet's whole fate is known when it is pushed, so nothing needs to happen until it comes out.
pub struct Hop<P> {
    rate_bps: Option<f64>,
    delay: SimTime,
    queue_limit: Option<usize>,
    loss: Box<dyn LossProcess>,
    /// What will come out, and when.
    under_way: VecDeque<(SimTime, P)>,
    /// When the transmission of each packet in the queue starts; kept only where the queue has a limit.
    transmission_starts: VecDeque<SimTime>,
    idle_at: SimTime,
    transmissions: u64,
    last_size: (u32, SimTime),
    /// A real number: the sum over many packets can exceed the range of [`SimTime`].
    waiting_s: f64,
}

impl<P> Hop<P> {
    /// An idle hop.
    pub fn new(config: HopConfig) -> Self {
        let HopConfig { rate_bps, delay, queue_limit, loss } = config;
        Self {
            rate_bps,
            delay,
            queue_limit,
            loss,
            under_way: VecDeque::new(),
            transmission_starts: VecDeque::new(),
            idle_at: SimTime::ZERO,
            transmissions: 0,
            last_size: (0, SimTime::ZERO),
            waiting_s: 0.0,
        }
    }

    /// How many packets were put on the link, lost ones included.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// The sum over all packets of the time, in seconds, that they waited or will wait in the queue. Divided
    /// by the time passed it is the mean number of packets in the queue (Little's law).
    pub fn waiting_s(&self) -> f64 {
        self.waiting_s
    }

    fn time_to_transmit(&mut self, bytes: u32) -> SimTime {
        let Some(rate_bps) = self.rate_bps else { return SimTime::ZERO };
        // Nearly all packets of a hop have one size: keep the last division.
        if self.last_size.0 != bytes {
            self.last_size = (bytes, SimTime::to_transmit(bytes, rate_bps));
        }
        self.last_size.1
    }

    /// Whether a drop-tail queue would turn a packet away at `now`.
    fn is_full(&mut self, now: SimTime) -> bool {
        let Some(limit) = self.queue_limit else { return false };
        while self.transmission_starts.front().is_some_and(|&start| start <= now) {
            self.transmission_starts.pop_front();
        }
        self.idle_at > now && self.transmission_starts.len() >= limit
    }
}

impl<P> Link<P> for Hop<P> {
    fn push(&mut self, now: SimTime, bytes: u32, packet: P) -> Push {
        if self.is_full(now) {
            return Push::QueueDrop;
        }
        let start = self.idle_at.max(now);
        self.waiting_s += (start - now).as_secs_f64();
        if self.queue_limit.is_some() {
            self.transmission_starts.push_back(start);
        }
        self.idle_at = start + self.time_to_transmit(bytes);
        let transmission = self.transmissions;
        self.transmissions += 1;
        if self.loss.lost(start, transmission) {
            return Push::Lost;
        }
        self.under_way.push_back((self.idle_at + self.delay, packet));
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        self.under_way.front().map(|(arrival, _)| *arrival)
    }

    fn advance(&mut self, now: SimTime) -> Option<P> {
        let arrived = self.next_event().is_some_and(|arrival| arrival <= now);
        arrived.then(|| self.under_way.pop_front().expect("an arrival").1)
    }

    fn idle_at(&self) -> SimTime {
        self.idle_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::Lossless;
    use proptest::prelude::*;

    /// Loses every transmission whose number is a multiple of three, and checks what it is told.
    struct EveryThird(Vec<(SimTime, u64)>);

    impl LossProcess for EveryThird {
        fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
            self.0.push((now, transmission));
            assert!(self.0.is_sorted());
            transmission.is_multiple_of(3)
        }
    }

    fn hop(queue_limit: Option<usize>, loss: Box<dyn LossProcess>) -> Hop<u32> {
        // 1000 bytes last 0.8 ms.
        Hop::new(HopConfig { rate_bps: Some(10e6), delay: SimTime::from_millis(20), queue_limit, loss })
    }

    #[test]
    fn packets_are_serialised_then_delayed() {
        let mut hop = hop(None, Box::new(Lossless));
        assert_eq!(hop.push(SimTime::ZERO, 1000, 1), Push::Accepted);
        assert_eq!(hop.push(SimTime::ZERO, 1000, 2), Push::Accepted);
        assert_eq!(hop.push(SimTime::from_millis(5), 40, 3), Push::Accepted);
        let arrivals: Vec<_> = std::iter::from_fn(|| {
            let at = hop.next_event()?;
            assert_eq!(hop.advance(at - SimTime::from_nanos(1)), None);
            Some((at.as_nanos() / 1000, hop.advance(at)?))
        })
        .collect();
        assert_eq!(arrivals, [(20_800, 1), (21_600, 2), (25_032, 3)]);
        assert_eq!(hop.waiting_s(), 0.0008);
    }

    #[test]
    fn a_full_queue_drops_what_comes_last() {
        let mut hop = hop(Some(2), Box::new(Lossless));
        let fates: Vec<_> = (0..4).map(|i| hop.push(SimTime::ZERO, 1000, i)).collect();
        assert_eq!(fates, [Push::Accepted, Push::Accepted, Push::Accepted, Push::QueueDrop]);
        // At 0.8 ms the second packet leaves the queue for the link.
        assert_eq!(hop.push(SimTime::from_micros(799), 1000, 4), Push::QueueDrop);
        assert_eq!(hop.push(SimTime::from_micros(800), 1000, 5), Push::Accepted);
        assert_eq!(hop.transmissions(), 4);
    }

    #[test]
    fn a_lost_packet_costs_its_time_on_the_link() {
        let mut hop = hop(None, Box::new(EveryThird(Vec::new())));
        let fates: Vec<_> = (0..4).map(|i| hop.push(SimTime::ZERO, 1000, i)).collect();
        assert_eq!(fates, [Push::Lost, Push::Accepted, Push::Accepted, Push::Lost]);
        assert_eq!(hop.next_event(), Some(SimTime::from_micros(21_600)));
        assert_eq!(hop.idle_at(), SimTime::from_micros(3_200));
    }

    #[test]
    fn without_a_rate_packets_only_wait_for_the_delay() {
        let config = HopConfig {
            rate_bps: None,
            delay: SimTime::ZERO,
            queue_limit: Some(0),
            loss: Box::new(Lossless),
        };
        let mut hop = Hop::new(config);
        let now = SimTime::from_millis(3);
        assert_eq!((hop.push(now, 40, 1), hop.push(now, 40, 2)), (Push::Accepted, Push::Accepted));
        assert_eq!((hop.advance(now), hop.advance(now), hop.advance(now)), (Some(1), Some(2), None));
    }

    proptest! {
        /// Against a queue that is simulated packet by packet.
        #[test]
        fn the_queue_is_drop_tail(
            arrivals in prop::collection::vec((0u64..2_000, 1u32..3_000), 1..60), limit in 0usize..5,
        ) {
            let mut hop = hop(Some(limit), Box::new(Lossless));
            let mut now = SimTime::ZERO;
            let mut starts: Vec<SimTime> = Vec::new();
            let mut idle_at = SimTime::ZERO;
            for (i, (gap, bytes)) in arrivals.into_iter().enumerate() {
                now += SimTime::from_micros(gap);
                let waiting = starts.iter().filter(|&&start| start > now).count();
                let drops = idle_at > now && waiting >= limit;
                prop_assert_eq!(hop.push(now, bytes, i as u32) == Push::QueueDrop, drops);
                if !drops {
                    starts.push(idle_at.max(now));
                    idle_at = idle_at.max(now) + SimTime::to_transmit(bytes, 10e6);
                }
            }
            prop_assert_eq!(hop.idle_at(), idle_at);
        }
    }
}
