//! Record of a flow's packets: sending time, size, time of observation and fate of each.

use thiserror::Error;

/// Fate of a recorded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived.
    Arrived,
    /// The packet did not arrive.
    Lost,
    /// The fate is not recorded.
    Unknown,
}

/// Packet of a record: sending time, size, time of observation and fate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Sending time in seconds, from an arbitrary origin.
    pub sent_s: f64,
    /// Size on the wire in bytes.
    pub bytes: f64,
    /// Time in seconds at which the packet's arrival or its acknowledgement was observed; `None` if neither was
    /// observed.
    pub seen_s: Option<f64>,
    /// Fate of the packet.
    pub fate: Fate,
}

/// Packets of a flow in sending order, with the kind of their delays (RTT or one way) and the resolution of their
/// times.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    packets: Vec<Packet>,
    is_round_trip: bool,
    /// Resolution of the sending times, in seconds.
    tick_s: f64,
    /// Packets of the reverse direction: sending time and delay of each, in seconds.
    reverse: Vec<(f64, f64)>,
}

/// Reason why a record cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// Fewer than [`Record::FEWEST`] packets have a known delay.
    #[error("{seen} packets whose delay is known: a fit needs at least {}", Record::FEWEST)]
    TooFew {
        /// Number of packets with a known delay.
        seen: usize,
    },
    /// A packet was sent before its predecessor, or has an invalid time or size; the field is its number, counted from
    /// 1.
    #[error(
        "packet {0}: needs a time that is not before that of the packet in front of it, and a size above 0"
    )]
    NoPacket(usize),
    /// The record is shorter than [`Record::SHORTEST_S`]; the field is its duration in seconds.
    #[error("the record lasts {0} s: a fit needs at least {least} s", least = Record::SHORTEST_S)]
    TooShort(f64),
}

/// Maximum share of times out of order that count as errors of the record, not as reordering by the path.
const DISORDER: f64 = 0.005;

impl Record {
    /// Minimum number of packets with a known delay.
    pub const FEWEST: usize = 100;
    /// Minimum duration of a record in seconds.
    pub const SHORTEST_S: f64 = 1.0;

    /// Creates a record of packets in sending order. With `is_round_trip`, delays are RTTs measured by one clock;
    /// without, they are one-way delays between two clocks with an unknown offset.
    ///
    /// # Errors
    /// A packet is out of order or has an invalid time or size, fewer than [`Self::FEWEST`] packets have a known delay,
    /// or the record is shorter than [`Self::SHORTEST_S`].
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

    /// Sets the resolution of the sending times: a tick in seconds of which all sending times are multiples.
    #[must_use]
    pub fn with_tick(self, tick_s: f64) -> Self {
        Self { tick_s: tick_s.max(0.0), ..self }
    }

    /// Adds packets of the reverse direction to a record of one-way delays: sending time and delay of each in seconds,
    /// by the same two clocks. The sum of the delays of both directions is an RTT, free of the clocks' offset.
    #[must_use]
    pub fn with_reverse(self, reverse: Vec<(f64, f64)>) -> Self {
        Self { reverse, ..self }
    }

    /// Resolution of the sending times, in seconds.
    pub fn tick_s(&self) -> f64 {
        self.tick_s
    }

    /// Minimum delay of the reverse direction in seconds, for a receiver's clock that runs faster by the relative
    /// `skew` since `since_s`; `None` if the reverse direction was not recorded.
    pub(crate) fn reverse_s(&self, skew: f64, since_s: f64) -> Option<f64> {
        let delays = self.reverse.iter().map(|(at, delay)| delay + skew * (at - since_s));
        delays.reduce(f64::min)
    }

    /// Packets of the record in sending order.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// True if delays are RTTs measured by one clock; false if they are one-way delays.
    pub fn is_round_trip(&self) -> bool {
        self.is_round_trip
    }

    /// Duration of the record: time from the first to the last sent packet, in seconds.
    pub fn lasts_s(&self) -> f64 {
        match (self.packets.first(), self.packets.last()) {
            (Some(first), Some(last)) => last.sent_s - first.sent_s,
            _ => 0.0,
        }
    }

    /// Time from the first sending time to the last sending or observation time, in seconds.
    pub(crate) fn spans_s(&self) -> f64 {
        let first = self.packets.first().map_or(0.0, |packet| packet.sent_s);
        self.packets.iter().filter_map(|packet| packet.seen_s).fold(first + self.lasts_s(), f64::max) - first
    }

    /// Mean rate of arrived data over the duration of the record, in bit/s.
    pub fn arrived_bps(&self) -> f64 {
        let arrived = self.packets.iter().filter(|packet| packet.fate == Fate::Arrived);
        arrived.map(|packet| packet.bytes * 8.0).sum::<f64>() / self.lasts_s()
    }

    /// Size of a full packet in bytes: the median of the packet sizes, weighted by bytes.
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

    /// Returns the record without the packets marked in `out`, which never reached the link.
    #[must_use]
    pub(crate) fn without(&self, out: &[bool]) -> Self {
        let mut found = self.clone();
        let mut is_out = out.iter();
        found.packets.retain(|_| is_out.next() != Some(&true));
        found
    }

    /// Returns the record with the observation time of each packet shifted by `of(packet)` seconds.
    #[must_use]
    pub(crate) fn shifted(&self, of: impl Fn(&Packet) -> f64) -> Self {
        let mut found = self.clone();
        for packet in &mut found.packets {
            let by = of(packet);
            packet.seen_s = packet.seen_s.map(|seen| seen + by);
        }
        found
    }

    /// Removes the observation times of packets that were observed before earlier ones, if at most 0.5 % were: a path
    /// without reordering does not cause them, but an acknowledgement taken for that of a retransmission may be the
    /// original's (Karn and Partridge, SIGCOMM 1987). The longest non-decreasing subsequence of times stays. If more
    /// packets are out of order, the path reorders, and all times stay.
    #[must_use]
    pub(crate) fn in_order(self) -> Self {
        let seen: Vec<(usize, f64)> =
            self.packets.iter().enumerate().filter_map(|(index, of)| Some((index, of.seen_s?))).collect();
        // For each length, the subsequence that ends earliest, and for each time its predecessor in a subsequence.
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

    /// Share of packets sent back to back, that is, less than a tenth of a transmission time at `rate_bps` after their
    /// predecessor.
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
