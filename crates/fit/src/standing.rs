//! Standing queue: if a queue was never empty, the minimum delay exceeds that of the path.
//!
//! A record that starts in the middle of such a flow has a minimum delay with a standing queue in it. A shorter path
//! with a queue that holds more explains it equally well, so neither is identified. The queue was empty if the link was
//! idle at times, or if the record starts at the minimum delay, as at the start of a connection.

use crate::draws::USUAL;
use crate::record::Record;

/// Number of packets at the beginning, and number of waiting ones among them below which the queue was empty.
const BEGINNING: usize = 20;
const EMPTY: f64 = 3.0;
/// Uncertainty of a departure in packets, since one acknowledgement may answer two packets.
const DOUBT: f64 = 2.0;
/// Idle time of the link, as a share of the minimum delay, that shows an empty queue.
const IDLE: f64 = 0.5;

/// Whether the queue may never have been empty: the link was hardly ever idle, and the record does not begin at the
/// shortest delay. Then a shorter path with a queue that always holds something explains it as well.
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

/// Longest standing time that leaves the queue limit, given as a time, within the usual range for the accordingly
/// shorter delay.
pub(crate) fn most_standing(delay_s: f64, limit_s: f64) -> f64 {
    ((USUAL[1] * delay_s - limit_s) / (USUAL[1] + 1.0)).max(0.0)
}
