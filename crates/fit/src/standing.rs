//! Test for a standing queue: if the queue was never empty, the minimum delay exceeds that of the path.
//!
//! A record that starts in the middle of a flow may have a standing queue in its minimum delay. A shorter path with a
//! longer queue explains such a record equally well, so neither base delay nor queue limit is identified. The queue was
//! empty at times if the link was idle, or if the record starts at the minimum delay, as at the start of a connection.

use crate::draws::USUAL;
use crate::record::Record;

/// Number of packets with a known delay at the beginning of a record that may have found an empty queue.
const BEGINNING: usize = 20;
/// Excess over the minimum delay, in transmission times of a full packet, below which a packet at the beginning of a
/// record found an empty queue.
const EMPTY: f64 = 3.0;
/// Uncertainty of a departure time in transmission times of a full packet, since one acknowledgement may answer two
/// packets.
const DOUBT: f64 = 2.0;
/// Total idle time of the link, as a share of the minimum delay, from which the queue was empty at times.
const IDLE: f64 = 0.5;

/// True if the queue may never have been empty: the link was hardly ever idle, and the record does not begin at the
/// minimum delay `least_s`. Then a shorter path with a standing queue explains the record as well. `left` are departure
/// times from the link, `packet_s` is the transmission time of a full packet, in seconds.
pub(crate) fn stands(record: &Record, left: &[f64], least_s: f64, packet_s: f64) -> bool {
    let mut delays = record.packets().iter().filter_map(|packet| Some(packet.seen_s? - packet.sent_s));
    let begins_empty = delays.by_ref().take(BEGINNING).any(|delay| delay < least_s + EMPTY * packet_s);
    let (mut idle_s, mut last) = (0.0, f64::INFINITY);
    for (packet, left) in record.packets().iter().zip(left).filter(|(_, left)| left.is_finite()) {
        idle_s += (packet.sent_s - last - DOUBT * packet_s).max(0.0);
        last = *left;
    }
    !begins_empty && idle_s < IDLE * least_s.abs()
}

/// Longest delay of a standing queue in seconds, within the measured base delay `delay_s`: queue limit (`limit_s` as a
/// time) plus standing queue are then the largest usual multiple ([`USUAL`]) of the remaining delay.
pub(crate) fn most_standing(delay_s: f64, limit_s: f64) -> f64 {
    ((USUAL[1] * delay_s - limit_s) / (USUAL[1] + 1.0)).max(0.0)
}
