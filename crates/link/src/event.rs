//! Events inside links, which observers can record.

use crossfade_core::SimTime;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// Event inside a link, for observers. New kinds of events and new columns come only with a new
/// [`VERSION`](Self::VERSION).
///
/// In CSV ([`HEADER`](Self::HEADER), [`write_csv`](Self::write_csv)) each event is a line. A cell is empty if its kind
/// of event does not have the column:
///
/// | column | kinds of event | content |
/// |---|---|---|
/// | `time_s` | all | time in seconds from the start of the run; for `air`, the beginning of the transmission |
/// | `link` | all | the name of the link or fabric |
/// | `event` | all | `frame`, `slot`, `air`, `defer`, `queue`, `delay` |
/// | `user` | frame, slot, delay | number of the user on a link that serves several; 0 elsewhere |
/// | `node` | air, defer, queue | node that sends, defers or has the queue, on a medium with nodes |
/// | `frame` | frame, air | number of the frame on this link (for `air`, of its sender), counted from 0 |
/// | `attempt` | frame | number of earlier transmissions of the payload |
/// | `scheme` | frame | modulation, coding or MIMO scheme, where it varies |
/// | `snr_db` | frame | signal-to-noise ratio at the receiver in dB, where the channel has one |
/// | `verdict` | frame | `good`, `combined` (good with earlier copies), `corrupt` (the header was read), `lost` |
/// | `bin` | slot, frame, air | for `slot`, the rate or frequency bin that the user had; otherwise the number, from 0, of the link that a multi-link device used |
/// | `end_s` | air, defer | end of the transmission, or earliest end of the deferral, in seconds |
/// | `nulls` | air | number of nodes that the sender nulled during the transmission |
/// | `change` | queue | `enqueued`, `dequeued`, `dropped`, `marked` |
/// | `packets`, `bytes` | queue; `bytes` also delay | length of the queue after the change; for `delay`, the bytes of the packet |
/// | `kind` | air | frame of an exchange: `rts`, `cts`, `data`, `ack` |
/// | `to` | air, defer | node that the frame is for, or that the deferring node wants to send to |
/// | `nulled` | air | numbers of the nodes that the sender nulled, separated by spaces |
/// | `delay_queue_s` to `delay_reordering_s` | delay | parts of the packet's delay: [`DELAY_PARTS`](Self::DELAY_PARTS) |
/// | `bearer` | delay | number of the bearer among those of its user, from 0, where users have several |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// A frame was transmitted; on a link without frames, a packet.
    Frame {
        /// Time at which the transmission began.
        at: SimTime,
        /// User that the frame's packet belongs to.
        user: u16,
        /// Number of the frame's payload among all payloads of the link, from 0.
        frame: u64,
        /// Number of earlier transmissions of the payload.
        attempt: u32,
        /// Modulation, coding or MIMO scheme of the frame; `None` if it does not vary.
        scheme: Option<&'static str>,
        /// Signal-to-noise ratio at the receiver in dB; `None` if the channel has none.
        snr_db: Option<f64>,
        /// Outcome of the reception of the frame.
        verdict: Verdict,
        /// Number of the link that a multi-link device used, from 0; `None` for other devices.
        bin: Option<u8>,
    },
    /// A user was scheduled in a slot of a slotted radio.
    Slot {
        /// Time at which the slot begins.
        at: SimTime,
        /// User that was scheduled.
        user: u16,
        /// Rate or frequency bin that the user had in the slot.
        bin: u32,
    },
    /// A node transmitted on the medium.
    Air {
        /// Time at which the transmission began.
        at: SimTime,
        /// Time at which the transmission ended.
        end: SimTime,
        /// Number of the transmitting node.
        node: u16,
        /// Number of the frame among those of this node, from 0.
        frame: u64,
        /// Kind of frame in an exchange, such as `rts` or `data`.
        kind: &'static str,
        /// Number of the node that the frame is for.
        to: u16,
        /// Numbers of the nodes that the sender nulls during the transmission.
        nulls: Vec<u16>,
        /// Number of the link that a multi-link device used, from 0; `None` for other devices.
        bin: Option<u8>,
    },
    /// A node defers: an exchange nearby keeps it from transmitting to the receiver of its packet.
    Defer {
        /// Time at which the node learned of the exchange.
        at: SimTime,
        /// Number of the node that defers.
        node: u16,
        /// Number of the node that it wants to transmit to.
        to: u16,
        /// Earliest end of the deferral.
        until: SimTime,
    },
    /// The content of a queue changed, or a packet was marked.
    Queue {
        /// Time of the change.
        at: SimTime,
        /// Number of the node that has the queue, on a medium with nodes; `None` on other links.
        node: Option<u16>,
        /// Kind of the change: a packet enqueued, dequeued, dropped or marked.
        change: QueueChange,
        /// Number of packets in the queue after the change.
        packets: u32,
        /// Number of bytes in the queue after the change.
        bytes: u64,
    },
    /// A packet came out of a link that measures the parts of its delay.
    Delay {
        /// Time at which the packet came out.
        at: SimTime,
        /// User that the packet belongs to.
        user: u16,
        /// Number of the bearer among those of its user, from 0; `None` if each user has a single bearer.
        bearer: Option<u16>,
        /// Length of the packet in bytes.
        bytes: u32,
        /// Parts of the delay in the order of [`DELAY_PARTS`](Self::DELAY_PARTS); their sum is the time in the link.
        parts: [SimTime; 6],
    },
}

/// Outcome of the reception of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The frame passes its check by itself.
    Good,
    /// The frame passes its check together with earlier copies of the same payload.
    Combined,
    /// The frame fails its check, and the receiver knows which frame it was.
    Corrupt,
    /// The frame cannot be read at all.
    Lost,
}

/// Kind of change of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueChange {
    /// A packet entered the queue.
    Enqueued,
    /// A packet left the queue to be transmitted.
    Dequeued,
    /// The queue dropped a packet.
    Dropped,
    /// The queue marked a packet "congestion experienced" (RFC 3168).
    Marked,
}

impl LinkEvent {
    /// Version of the set of events and of the CSV columns.
    pub const VERSION: u32 = 4;

    /// Names of the parts of a packet's delay: wait in the queue until it is the first, wait for a grant until its
    /// first byte is transmitted, first transmissions and propagation of its bytes, retransmissions by hybrid ARQ,
    /// retransmissions by RLC, and the wait for earlier packets (reordering).
    pub const DELAY_PARTS: [&str; 6] = ["queue", "grant", "air", "harq", "rlc", "reordering"];

    /// Header line of a CSV file of link events.
    pub const HEADER: &str = "time_s,link,event,user,node,frame,attempt,scheme,snr_db,verdict,bin,end_s,\
                              nulls,change,packets,bytes,kind,to,nulled,delay_queue_s,delay_grant_s,delay_air_s,\
                              delay_harq_s,delay_rlc_s,delay_reordering_s,bearer\n";

    /// Event of a packet that was transmitted on a link without frames.
    pub fn packet(at: SimTime, user: u16, transmission: u64, is_lost: bool) -> Self {
        let verdict = if is_lost { Verdict::Lost } else { Verdict::Good };
        Self::Frame {
            at,
            user,
            frame: transmission,
            attempt: 0,
            scheme: None,
            snr_db: None,
            verdict,
            bin: None,
        }
    }

    /// Event of a change of a link's queue, which then holds `packets` packets and `bytes` bytes.
    pub fn queue(at: SimTime, change: QueueChange, packets: usize, bytes: u64) -> Self {
        Self::Queue { at, node: None, change, packets: packets as u32, bytes }
    }

    /// Time of the event.
    pub fn at(&self) -> SimTime {
        match *self {
            Self::Frame { at, .. }
            | Self::Slot { at, .. }
            | Self::Air { at, .. }
            | Self::Defer { at, .. }
            | Self::Queue { at, .. }
            | Self::Delay { at, .. } => at,
        }
    }

    /// Appends the event as a CSV line to `csv`; `link` is the name of the link.
    pub fn write_csv(&self, link: &str, csv: &mut String) {
        let at = self.at().as_secs_f64();
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Frame { user, frame, attempt, scheme, snr_db, verdict, bin, .. } => {
                let bin = bin.map(|bin| bin.to_string()).unwrap_or_default();
                let scheme = scheme.unwrap_or_default();
                let snr_db = snr_db.map(|snr_db| snr_db.to_string()).unwrap_or_default();
                let verdict = match verdict {
                    Verdict::Good => "good",
                    Verdict::Combined => "combined",
                    Verdict::Corrupt => "corrupt",
                    Verdict::Lost => "lost",
                };
                writeln!(
                    csv,
                    "{at},{link},frame,{user},,{frame},{attempt},{scheme},{snr_db},{verdict},{bin},,,,,,,,,,,,,,,"
                )
            }
            Self::Slot { user, bin, .. } => {
                writeln!(csv, "{at},{link},slot,{user},,,,,,,{bin},,,,,,,,,,,,,,,")
            }
            Self::Air { end, node, frame, kind, to, nulls, bin, .. } => {
                let bin = bin.map(|bin| bin.to_string()).unwrap_or_default();
                let (end, count) = (end.as_secs_f64(), nulls.len());
                let nulled = nulls.iter().map(u16::to_string).collect::<Vec<_>>().join(" ");
                writeln!(
                    csv,
                    "{at},{link},air,,{node},{frame},,,,,{bin},{end},{count},,,,{kind},{to},{nulled},,,,,,,"
                )
            }
            Self::Defer { node, to, until, .. } => {
                let until = until.as_secs_f64();
                writeln!(csv, "{at},{link},defer,,{node},,,,,,,{until},,,,,,{to},,,,,,,,")
            }
            Self::Queue { node, change, packets, bytes, .. } => {
                let node = node.map(|node| node.to_string()).unwrap_or_default();
                let change = match change {
                    QueueChange::Enqueued => "enqueued",
                    QueueChange::Dequeued => "dequeued",
                    QueueChange::Dropped => "dropped",
                    QueueChange::Marked => "marked",
                };
                writeln!(csv, "{at},{link},queue,,{node},,,,,,,,,{change},{packets},{bytes},,,,,,,,,,")
            }
            Self::Delay { user, bearer, bytes, parts, .. } => {
                let bearer = bearer.map(|bearer| bearer.to_string()).unwrap_or_default();
                let parts = parts.map(|part| part.as_secs_f64().to_string()).join(",");
                writeln!(csv, "{at},{link},delay,{user},,,,,,,,,,,,{bytes},,,,{parts},{bearer}")
            }
        };
    }
}

/// Buffer of link events for an observer. Without an observer each event costs only the test of a flag.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    is_kept: bool,
    events: VecDeque<LinkEvent>,
}

impl EventLog {
    /// Turns the keeping of events on or off; events already kept stay.
    pub fn keep(&mut self, keep: bool) {
        self.is_kept = keep;
    }

    /// True if events are kept.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Keeps an event if keeping is on, in order of time. A link that knows an event in advance may pass it early.
    #[inline]
    pub fn push(&mut self, event: impl FnOnce() -> LinkEvent) {
        if self.is_kept {
            self.insert(event());
        }
    }

    #[cold]
    fn insert(&mut self, event: LinkEvent) {
        let place = self.events.partition_point(|earlier| earlier.at() <= event.at());
        self.events.insert(place, event);
    }

    /// Takes over the events that `next` returns until it returns `None`, in order of time; at equal times they follow
    /// the events already in the buffer.
    pub fn take_over(&mut self, next: impl FnMut() -> Option<LinkEvent>) {
        let before = self.events.len();
        self.events.extend(std::iter::from_fn(next));
        if self.events.len() > before {
            self.events.make_contiguous().sort_by_key(LinkEvent::at);
        }
    }

    /// Removes and returns the earliest event.
    pub fn pop(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn every_line_has_the_cells_of_the_header() {
        let frame = |scheme, snr_db| LinkEvent::Frame {
            at: MS * 20,
            user: 3,
            frame: 7,
            attempt: 1,
            scheme,
            snr_db,
            verdict: Verdict::Corrupt,
            bin: None,
        };
        let queue =
            |node| LinkEvent::Queue { at: MS, node, change: QueueChange::Marked, packets: 5, bytes: 7500 };
        let delay = |bearer| LinkEvent::Delay {
            at: MS * 9,
            user: 1,
            bearer,
            bytes: 1500,
            parts: [0, 1, 2, 3, 4, 5].map(|ms| MS * ms),
        };
        let events = [
            frame(None, None),
            frame(Some("16-QAM"), Some(-1.5)),
            LinkEvent::Slot { at: MS, user: 2, bin: 4 },
            LinkEvent::Air {
                at: MS,
                end: MS * 2,
                node: 1,
                frame: 9,
                kind: "rts",
                to: 4,
                nulls: vec![2, 7],
                bin: None,
            },
            LinkEvent::Defer { at: MS, node: 1, to: 4, until: MS * 3 },
            queue(None),
            queue(Some(3)),
            delay(None),
            delay(Some(2)),
        ];
        let mut csv = LinkEvent::HEADER.to_owned();
        for event in events {
            event.write_csv("forward", &mut csv);
        }
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines.iter().all(|line| line.split(',').count() == 26), "{csv}");
        assert_eq!(lines[1], "0.02,forward,frame,3,,7,1,,,corrupt,,,,,,,,,,,,,,,,");
        assert_eq!(lines[2], "0.02,forward,frame,3,,7,1,16-QAM,-1.5,corrupt,,,,,,,,,,,,,,,,");
        assert_eq!(lines[3], "0.001,forward,slot,2,,,,,,,4,,,,,,,,,,,,,,,");
        assert_eq!(lines[4], "0.001,forward,air,,1,9,,,,,,0.002,2,,,,rts,4,2 7,,,,,,,");
        assert_eq!(lines[5], "0.001,forward,defer,,1,,,,,,,0.003,,,,,,4,,,,,,,,");
        assert_eq!(lines[6], "0.001,forward,queue,,,,,,,,,,,marked,5,7500,,,,,,,,,,");
        assert_eq!(lines[7], "0.001,forward,queue,,3,,,,,,,,,marked,5,7500,,,,,,,,,,");
        assert_eq!(lines[8], "0.009,forward,delay,1,,,,,,,,,,,,1500,,,,0,0.001,0.002,0.003,0.004,0.005,");
        assert_eq!(lines[9], "0.009,forward,delay,1,,,,,,,,,,,,1500,,,,0,0.001,0.002,0.003,0.004,0.005,2");
    }

    #[test]
    fn events_leave_in_order_of_time_and_only_where_they_are_kept() {
        let slot = |millis: u64| LinkEvent::Slot { at: MS * millis, user: 0, bin: 0 };
        let mut log = EventLog::default();
        log.push(|| unreachable!("nobody asks"));
        log.keep(true);
        for millis in [3, 1, 2, 3] {
            log.push(|| slot(millis));
        }
        log.keep(false);
        let times: Vec<LinkEvent> = std::iter::from_fn(|| log.pop()).collect();
        assert_eq!(times, [1, 2, 3, 3].map(slot));
    }
}
