//! What was recorded of a flow.

use thiserror::Error;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived.
    Arrived,
    /// The packet did not arrive.
    Lost,
    /// The record does not say.
    Unknown,
}

/// A packet of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// When it was sent, in seconds.
    pub sent_s: f64,
    /// Bytes on the wire.
    pub bytes: f64,
    /// When its arrival, or the acknowledgement that it triggered, was seen.
    pub seen_s: Option<f64>,
    /// What became of it.
    pub fate: Fate,
}

/// Packets of a flow in the order of sending.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    packets: Vec<Packet>,
    is_round_trip: bool,
    /// How coarse the times of sending are.
    tick_s: f64,
    /// The other direction: when a packet was sent there, and how long it took.
    reverse: Vec<(f64, f64)>,
}

/// Why a record cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// Too few packets.
    #[error("{seen} packets whose delay is known: a fit needs at least {}", Record::FEWEST)]
    TooFew {
        /// Packets whose delay is known.
        seen: usize,
    },
    /// A packet that was sent before the one in front of it, or at no time, or has no size.
    #[error(
        "packet {0}: needs a time that is not before that of the packet in front of it, and a size above 0"
    )]
    NoPacket(usize),
    /// Everything was sent at once.
    #[error("the record lasts {0} s: a fit needs at least {least} s", least = Record::SHORTEST_S)]
    TooShort(f64),
}

/// Fewer packets than this share out of order are mistakes of the record.
const DISORDER: f64 = 0.005;

impl Record {
    /// Fewer packets whose delay is known are not fitted.
    pub const FEWEST: usize = 100;
    /// A shorter record is not fitted.
    pub const SHORTEST_S: f64 = 1.0;

    /// A record of packets in the order of sending. Delays are round trips, or one way: of two clocks, which are apart by an
    /// unknown time.
    ///
    /// # Errors
    /// Packets out of order, and too few of them.
    pub fn new(packets: Vec<Packet>, is_round_trip: bool) -> Result<Self, FitError> {
        let mut before = f64::NEG_INFINITY;
        for (index, packet) in packets.iter().enumerate() {
            let is_whole = packet.sent_s.is_finite() && packet.seen_s.is_none_or(f64::is_finite);
            if !is_whole || packet.sent_s < before || !(packet.bytes > 0.0 && packet.bytes.is_finite()) {
                return Err(FitError::NoPacket(index + 1));
            }
            before = packet.sent_s;
        }
        let seen = packets.iter().filter(|packet| packet.seen_s.is_some()).count();
        if seen < Self::FEWEST {
            return Err(FitError::TooFew { seen });
        }
        let found = Self { packets, is_round_trip, tick_s: 0.0, reverse: Vec::new() };
        if found.lasts_s() < Self::SHORTEST_S {
            return Err(FitError::TooShort(found.lasts_s()));
        }
        Ok(found)
    }

    /// Times of sending are multiples of a tick.
    #[must_use]
    pub fn with_tick(self, tick_s: f64) -> Self {
        Self { tick_s: tick_s.max(0.0), ..self }
    }

    /// Packets of the other direction, of a record with one-way delays: when each was sent, and how long it took by the same two
    /// clocks. Delays there and back add up to round trips, whatever the clocks are apart.
    #[must_use]
    pub fn with_reverse(self, reverse: Vec<(f64, f64)>) -> Self {
        Self { reverse, ..self }
    }

    /// How coarse the times of sending are.
    pub fn tick_s(&self) -> f64 {
        self.tick_s
    }

    /// The shortest delay of the other direction, if it was recorded; the clock of the other end is faster by `skew`, counted
    /// from `since_s`.
    pub(crate) fn reverse_s(&self, skew: f64, since_s: f64) -> Option<f64> {
        let delays = self.reverse.iter().map(|(at, delay)| delay + skew * (at - since_s));
        delays.reduce(f64::min)
    }

    /// The packets.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Whether delays are round trips, by one clock.
    pub fn is_round_trip(&self) -> bool {
        self.is_round_trip
    }

    /// From the first packet to the last.
    pub fn lasts_s(&self) -> f64 {
        match (self.packets.first(), self.packets.last()) {
            (Some(first), Some(last)) => last.sent_s - first.sent_s,
            _ => 0.0,
        }
    }

    /// From the first packet until the last was sent or seen, whichever is later.
    pub(crate) fn spans_s(&self) -> f64 {
        let first = self.packets.first().map_or(0.0, |packet| packet.sent_s);
        self.packets.iter().filter_map(|packet| packet.seen_s).fold(first + self.lasts_s(), f64::max) - first
    }

    /// What arrived, in bit/s of the whole record.
    pub fn arrived_bps(&self) -> f64 {
        let arrived = self.packets.iter().filter(|packet| packet.fate == Fate::Arrived);
        arrived.map(|packet| packet.bytes * 8.0).sum::<f64>() / self.lasts_s()
    }

    /// Bytes of the packets of which there are most bytes: of full ones.
    pub fn full_bytes(&self) -> f64 {
        let mut sizes: Vec<f64> = self.packets.iter().map(|packet| packet.bytes).collect();
        sizes.sort_by(f64::total_cmp);
        let half = sizes.iter().sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let at = sizes.iter().position(|bytes| {
            sum += bytes;
            sum >= half
        });
        at.map_or(0.0, |at| sizes[at])
    }

    /// Shifts the time at which each packet was seen by what `of` gives for it.
    #[must_use]
    pub(crate) fn shifted(&self, of: impl Fn(&Packet) -> f64) -> Self {
        let mut found = self.clone();
        for packet in &mut found.packets {
            let by = of(packet);
            packet.seen_s = packet.seen_s.map(|seen| seen + by);
        }
        found
    }

    /// Without the times of the few packets that were seen before others that were sent before them: a path that keeps the order does not
    /// do that, and the acknowledgement of a retransmission may be that of the original (Karn and Partridge, SIGCOMM 1987). The longest run of times
    /// in order stays; of a path that changes the order of more all stay.
    #[must_use]
    pub(crate) fn in_order(self) -> Self {
        let seen: Vec<(usize, f64)> =
            self.packets.iter().enumerate().filter_map(|(index, of)| Some((index, of.seen_s?))).collect();
        // Ends of the runs of each length that end earliest, and what is in front of each.
        let (mut ends, mut before) = (Vec::<usize>::new(), vec![usize::MAX; seen.len()]);
        for (at, (_, time)) in seen.iter().enumerate() {
            let length = ends.partition_point(|end| seen[*end].1 <= *time);
            before[at] = length.checked_sub(1).map_or(usize::MAX, |shorter| ends[shorter]);
            if length == ends.len() {
                ends.push(at);
            } else {
                ends[length] = at;
            }
        }
        if ends.len() == seen.len() || (seen.len() - ends.len()) as f64 > DISORDER * seen.len() as f64 {
            return self;
        }
        let mut stays = vec![false; seen.len()];
        let mut at = ends.last().copied().unwrap_or(usize::MAX);
        while at != usize::MAX {
            stays[at] = true;
            at = before[at];
        }
        let mut found = self;
        for ((index, _), _) in seen.iter().zip(&stays).filter(|(_, stays)| !**stays) {
            found.packets[*index].seen_s = None;
        }
        found
    }

    /// The share of packets that were sent less than a tenth of a transmission time behind the one before: not paced.
    pub fn back_to_back(&self, rate_bps: f64) -> f64 {
        let close = self
            .packets
            .windows(2)
            .filter(|pair| pair[1].sent_s - pair[0].sent_s < 0.8 * pair[1].bytes / rate_bps);
        close.count() as f64 / self.packets.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_refused() {
        let packet =
            |sent_s| Packet { sent_s, bytes: 1500.0, seen_s: Some(sent_s + 0.1), fate: Fate::Arrived };
        let of = |times: Vec<f64>| Record::new(times.into_iter().map(packet).collect(), true).unwrap_err();
        assert_eq!(of(vec![0.0, 1.0, 0.5]), FitError::NoPacket(3));
        assert_eq!(of(vec![0.0, f64::NAN]), FitError::NoPacket(2));
        assert_eq!(
            of(vec![0.0; 99]).to_string(),
            "99 packets whose delay is known: a fit needs at least 100"
        );
        assert_eq!(of(vec![0.0; 100]).to_string(), "the record lasts 0 s: a fit needs at least 1 s");
    }

    #[test]
    fn few_times_out_of_order_are_left_out() {
        let of = |early: fn(u32) -> bool| {
            let packets = (0..1000).map(|index| {
                let sent_s = f64::from(index) * 0.01;
                let delay = if early(index) { 0.05 } else { 0.1 };
                Packet { sent_s, bytes: 1500.0, seen_s: Some(sent_s + delay), fate: Fate::Arrived }
            });
            let found = Record::new(packets.collect(), true).unwrap().in_order();
            found.packets().iter().filter(|packet| packet.seen_s.is_none()).count()
        };
        assert_eq!(of(|index| index == 300 || index == 700), 2);
        assert_eq!(of(|index| index % 10 == 0), 0, "a path that changes the order");
    }
}
