//! A queue that may never have been empty: then the shortest delay is not that of the path.
//!
//! A record that begins in the middle of a flow whose queue always holds something has a shortest delay with what stood in it. A path that is shorter
//! by some time, with a queue that holds as much more, explains all of it: neither is identified. Where the link was idle at times, or the record begins at
//! the shortest delay, as that of a connection's beginning does, the queue was empty.

use crate::draws::USUAL;
use crate::record::Record;

/// The queue was empty at the beginning if one of so many packets waited for fewer than so many.
const BEGINNING: usize = 20;
const EMPTY: f64 = 3.0;
/// Packets by which a departure is uncertain where one acknowledgement answers two packets.
const DOUBT: f64 = 2.0;
/// A queue was empty at times if the link was idle for this share of the shortest delay.
const IDLE: f64 = 0.5;

/// Whether the queue may never have been empty: the link was hardly ever idle, and the record does not begin at the shortest delay. Then a shorter
/// path with a queue that always holds something explains it as well.
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

/// The longest time that a queue may stand for which it is, with its limit of so long, none beyond usual ones: those of a delay that is shorter by
/// that.
pub(crate) fn most_standing(delay_s: f64, limit_s: f64) -> f64 {
    ((USUAL[1] * delay_s - limit_s) / (USUAL[1] + 1.0)).max(0.0)
}
