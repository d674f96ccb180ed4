//! What the receiver of flavour `rfc` adds to its acknowledgements, and when it sends them.

use crate::accurate_ecn::{AccEcn, MarksReceived};
use crate::config::RfcConfig;
use crate::segment::{SackBlock, SackBlocks, Segment};
use crossfade_core::SimTime;

use super::policy::TimerPolicy;
use super::receive_window::ReceiveWindow;

/// So many marks that no acknowledgement has told of make one leave (RFC 9768 section 3.2.2.5.1, "increment-triggered").
const MOST_UNTOLD: u32 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Answers {
    config: RfcConfig,
    timers: TimerPolicy,
    sends_sack: bool,
    /// Delay of an acknowledgement, for receivers that only check whether a segment is in order: marks are not counted, no
    /// window grows, PSH is ignored.
    plain_delay: Option<SimTime>,
    /// How many acknowledgements still leave at once.
    quick: u32,
    /// When the last segment in order came, and its timeout: after more than that, more are.
    last_in_order: Option<SimTime>,
    longest_gap: SimTime,
    /// The receive window of Linux, if that is modelled; without SACK what comes beyond a hole does not let it grow.
    window: Option<ReceiveWindow>,
    /// Acknowledgements at once since `rcv_nxt` moved last while there were holes, and what it was.
    dupacks: (u64, u32),
    /// The last segment, if it had arrived before and the next acknowledgement is to say so.
    duplicate: Option<SackBlock>,
    /// When the acknowledgement held back is due.
    deadline: Option<SimTime>,
    /// The timestamp to echo (RFC 7323 section 4.3, `TS.Recent`).
    ts_recent: Option<SimTime>,
    /// What the last acknowledgement said (RFC 7323 section 4.3, `Last.ACK.sent`).
    last_ack_sent: u64,
    /// Echo congestion until the sender has answered (RFC 3168 section 6.1.3).
    ece: bool,
    /// The last segment was marked.
    was_marked: bool,
    /// The marks that have come, where they are counted.
    marks: Option<MarksReceived>,
}

impl Answers {
    /// For a receiver that has seen nothing, with a window of at most `w_max` segments; it reports blocks if
    /// `sends_sack`.
    pub(crate) fn new(config: &RfcConfig, w_max: u32, sends_sack: bool) -> Self {
        let window = config.growth_acks;
        let is_plain = window.is_none() && !config.accurate_ecn && !config.push_acks;
        Self {
            config: RfcConfig { d_sack: config.d_sack && sends_sack, ..*config },
            timers: TimerPolicy::of(config.timer_rules),
            sends_sack,
            plain_delay: config.delayed_ack.filter(|_| is_plain),
            quick: config.quick_acks,
            last_in_order: None,
            longest_gap: timeout_of(config.handshake_rtt),
            window: window.map(|mss| {
                ReceiveWindow::new(mss, w_max, config.handshake_rtt.filter(|_| config.timestamps))
            }),
            dupacks: (0, 0),
            duplicate: None,
            deadline: None,
            ts_recent: None,
            last_ack_sent: 0,
            ece: false,
            was_marked: false,
            marks: config.accurate_ecn.then(|| MarksReceived::new(config.accurate_ecn_option)),
        }
    }

    /// Takes a segment that arrived at `now`, marked if `ce`, and put at `place`. Returns whether the acknowledgement may
    /// wait.
    #[expect(
        clippy::inline_always,
        reason = "most segments of a simulation are in order; measured: 5 % of it"
    )]
    #[inline(always)]
    pub(crate) fn on_segment(&mut self, now: SimTime, segment: &Segment, ce: bool, place: &Place) -> bool {
        if segment.seq <= self.last_ack_sent {
            // RFC 7323 section 4.3 (2): with acknowledgements held back or holes, the oldest segment counts.
            self.ts_recent = self.ts_recent.max(Some(segment.timestamp));
        }
        let has_news = ce || self.ece || self.was_marked || self.quick > 0;
        match self.plain_delay {
            Some(delay) if place.in_order && !has_news => self.may_wait(now, delay, false),
            // Copies: what the caller has in registers goes to memory only here.
            _ => self.on_telling_segment(now, &{ *segment }, ce, &{ *place }),
        }
    }

    /// The rest of it, for a segment that may have something to tell.
    #[inline(never)]
    fn on_telling_segment(&mut self, now: SimTime, segment: &Segment, ce: bool, place: &Place) -> bool {
        // Without a mark now and before there is nothing to note.
        let tells_mark = (ce || self.ece || self.was_marked) && self.note_mark(segment.cwr, ce);
        if let Some(marks) = &mut self.marks {
            marks.on_segment(ce, segment.ecn_capable, segment.l4s);
        }
        if !place.is_new {
            if self.config.d_sack {
                self.duplicate = Some(SackBlock { start: segment.seq, end: segment.seq + 1 });
            }
            // What comes twice says that the sender repairs: it needs every acknowledgement.
            self.quick = self.quick.max(self.config.quick_acks);
        }
        if self.config.quick_acks > 0 && place.is_new && segment.seq < place.rcv_nxt {
            // So does one in order that comes later than its own timeout: the sender begins anew (`tcp_event_data_recv`).
            if self.last_in_order.is_some_and(|at| now.saturating_sub(at) > self.longest_gap) {
                self.quick = self.quick.max(self.config.quick_acks);
            }
            self.last_in_order = Some(now);
        }
        if let Some(window) = self.window.as_mut().filter(|_| place.is_new) {
            let may_grow = self.sends_sack || !place.has_holes;
            let grows = window.on_segment(now, segment.echo, segment.seq, place.rcv_nxt, may_grow);
            // As in tcp_grow_window: one acknowledgement, unless more are quick anyway.
            self.quick |= u32::from(grows);
        }
        let Some(delay) = self.config.delayed_ack.filter(|_| self.quick == 0) else { return false };
        if tells_mark || self.marks.is_some_and(|marks| marks.untold >= MOST_UNTOLD) {
            return false;
        }
        if place.in_order {
            return self.may_wait(now, delay, segment.push && self.config.push_acks);
        }
        self.may_be_compressed(now, place)
    }

    /// Returns whether the mark of a segment is to be told at once: the first after none, where marks are counted (RFC 9768
    /// section 3.2.2.5.1, "change-triggered").
    #[inline(never)]
    fn note_mark(&mut self, cwr: bool, ce: bool) -> bool {
        // RFC 3168 section 6.1.3: the sender has answered; a mark on this very segment is a new one.
        let is_counted = self.config.accurate_ecn;
        self.ece = ((self.ece && !cwr) || ce) && self.config.ecn && !is_counted;
        let is_first = ce && !self.was_marked;
        self.was_marked = ce;
        is_counted && is_first
    }

    /// RFC 5681 section 4.2, RFC 1122 section 4.2.3.2: for the second segment, or for the delay; what is out of order or
    /// fills a hole does not wait.
    #[inline]
    fn may_wait(&mut self, now: SimTime, delay: SimTime, ends_burst: bool) -> bool {
        if self.deadline.is_some() || ends_burst {
            return false;
        }
        self.deadline = Some(self.timers.expiry(now, delay));
        true
    }

    /// With holes before and after it: as Linux compresses reports (`tcp_comp_sack_delay_ns`).
    fn may_be_compressed(&mut self, now: SimTime, place: &Place) -> bool {
        let Some(longest) = self.config.sack_compression.filter(|_| self.sends_sack) else { return false };
        let unacknowledged = place.rcv_nxt.saturating_sub(self.last_ack_sent);
        if !place.has_holes || !place.is_new || unacknowledged > 1 {
            return false;
        }
        if self.dupacks.0 != place.rcv_nxt {
            self.dupacks = (place.rcv_nxt, 0);
        }
        // The first three show the loss.
        if self.dupacks.1 < 3 {
            self.dupacks.1 += 1;
            return false;
        }
        let deadline = now.saturating_add(self.compressed_for(longest));
        self.deadline = Some(self.deadline.map_or(deadline, |at| at.min(deadline)));
        true
    }

    /// Whether reports wait for others: where there are holes, nothing else waits.
    pub(crate) fn compresses(&self) -> bool {
        self.deadline.is_some() && self.config.sack_compression.is_some()
    }

    /// For how long reports wait for each other: a twentieth of the round trip, or `longest`.
    fn compressed_for(&self, longest: SimTime) -> SimTime {
        let twentieth = self.config.handshake_rtt.map(|rtt| SimTime::from_nanos(rtt.as_nanos() / 20));
        twentieth.map_or(longest, |part| part.min(longest))
    }

    /// What timers round is rounded up.
    pub(crate) fn shortest_delay(&self) -> Option<SimTime> {
        let compressed = self.config.sack_compression.map(|longest| self.compressed_for(longest));
        self.config.delayed_ack.into_iter().chain(compressed).min()
    }

    pub(crate) fn deadline(&self) -> Option<SimTime> {
        self.deadline
    }

    /// An acknowledgement of everything before `next_expected` is sent now, with so many blocks beyond holes.
    pub(crate) fn take(&mut self, next_expected: u64, holes: usize) -> Options {
        self.deadline = None;
        self.quick = self.quick.saturating_sub(1);
        self.last_ack_sent = next_expected;
        let duplicate = self.duplicate.take();
        let accurate = self.marks.as_mut().map(|marks| {
            // Three blocks and a timestamp fill the header.
            let is_full = self.sends_sack && holes + usize::from(duplicate.is_some()) >= SackBlocks::MAX;
            marks.tell(!(self.config.timestamps && is_full))
        });
        Options {
            duplicate,
            timestamp_echo: self.ts_recent.filter(|_| self.config.timestamps),
            ece: self.ece,
            window: self.window.as_mut().and_then(ReceiveWindow::advertise),
            accurate: accurate.unwrap_or_default(),
        }
    }
}

/// Linux's timeout after a first round trip of `handshake`: three of it, at least 200 ms more than one; 1 s without.
fn timeout_of(handshake: Option<SimTime>) -> SimTime {
    let least = SimTime::from_millis(200);
    handshake.map_or(SimTime::from_millis(1000), |rtt| rtt.saturating_add(rtt.saturating_mul(2).max(least)))
}

/// Where a segment belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The segment had not arrived before.
    pub(crate) is_new: bool,
    /// The segment was the next, and there were no holes.
    pub(crate) in_order: bool,
    /// Whether there are holes now.
    pub(crate) has_holes: bool,
    pub(crate) rcv_nxt: u64,
}

/// What an acknowledgement says besides what has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// The segment that has arrived twice (RFC 2883).
    pub(crate) duplicate: Option<SackBlock>,
    pub(crate) timestamp_echo: Option<SimTime>,
    pub(crate) ece: bool,
    /// Room for so many segments.
    pub(crate) window: Option<u32>,
    pub(crate) accurate: AccEcn,
}
