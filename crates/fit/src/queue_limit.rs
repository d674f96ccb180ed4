//! How much the queue holds: what packets that came through found in it, and what those that were dropped did.

use crate::record::{Fate, Record};

/// What is known of the limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueLimit {
    /// The most that a packet that arrived found before it, in bytes, itself left out.
    pub held_bytes: f64,
    /// The least that was before a packet that was dropped for it; none where no loss was congestive.
    pub dropped_bytes: Option<f64>,
    /// Losses at a full queue.
    pub drops: usize,
}

/// The queue is near full within so many full packets of the most that it held.
const NEAR_PACKETS: f64 = 1.5;
/// So many losses at a full queue tell that it was full.
const FEWEST_DROPS: usize = 3;

impl QueueLimit {
    /// The limit by the backlog that each packet found, and which losses were at a full queue.
    pub fn new(record: &Record, backlogs: &[f64]) -> (Self, Vec<bool>) {
        let packets = record.packets();
        let full = record.full_bytes();
        let arrived = packets.iter().zip(backlogs).filter(|(packet, _)| packet.fate == Fate::Arrived);
        let held_bytes = arrived.map(|(_, backlog)| *backlog).fold(0.0, f64::max);
        let edge = held_bytes - NEAR_PACKETS * full;
        let is_top = |backlog: f64| backlog > edge && backlog > NEAR_PACKETS * full;
        let share = |is_there: &dyn Fn(f64) -> bool| {
            let known = packets
                .iter()
                .zip(backlogs)
                .filter(|(packet, at)| packet.fate != Fate::Unknown && is_there(**at));
            let (mut lost, mut all) = (0_usize, 0_usize);
            for (packet, _) in known {
                lost += usize::from(packet.fate == Fate::Lost);
                all += 1;
            }
            (lost, all)
        };
        let (drops, at_top) = share(&is_top);
        let (below, all_below) = share(&|backlog| backlog < 0.5 * held_bytes);
        let usual = (below as f64 + 0.5) / (all_below as f64 + 1.0);
        // So many among so few would be rare if the queue did not matter.
        let expected = usual * at_top as f64;
        let is_full = drops >= FEWEST_DROPS && drops as f64 > expected + 4.0 * expected.sqrt() + 2.0;
        let congestive: Vec<bool> = packets
            .iter()
            .zip(backlogs)
            .map(|(packet, backlog)| is_full && packet.fate == Fate::Lost && is_top(*backlog))
            .collect();
        let dropped = backlogs.iter().zip(&congestive).filter(|(_, is)| **is).map(|(backlog, _)| *backlog);
        let dropped_bytes = is_full.then(|| dropped.fold(f64::INFINITY, f64::min).max(held_bytes));
        (Self { held_bytes, dropped_bytes, drops: if is_full { drops } else { 0 } }, congestive)
    }
}
