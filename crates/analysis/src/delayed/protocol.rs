//! The protocol as a finite set of states: sender, receiver, and the acknowledgements in flight between them.

use crate::model::{AnalysisError, Model};
use crossfade_transport::Variant;
use std::collections::{HashMap, VecDeque};

/// Timer value of a packet that has arrived, which no longer expires.
const NEVER: u32 = u32::MAX;

/// State of sender, receiver and packets in flight, at the start of a slot. Packets are numbered from the oldest
/// unacknowledged one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Congestion window W, as the bits of an `f64` so that states can be hashed.
    w: u64,
    w_th: u32,
    dupacks: u32,
    /// Packet before which all must be acknowledged for recovery to end; 0 outside recovery.
    recover: u32,
    /// Slots until the timer of each packet sent in the current pass over the window expires.
    timers: Vec<u32>,
    /// Bitmap of the packets that the receiver has: bit p for packet p.
    received: u64,
    /// Acknowledgements in flight that arrive in 0, 1, ... slots: the packet that the receiver expects; `None` if none
    /// arrives.
    acks: VecDeque<Option<u32>>,
    timeout: u32,
}

/// Transmission and events at the start of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Start {
    send: Option<u32>,
    timeouts: u32,
    fast_retransmits: u32,
}

impl State {
    fn new(model: &Model, ack_delay_slots: u32) -> Self {
        Self {
            w: 1_f64.to_bits(),
            w_th: model.w_max,
            dupacks: 0,
            recover: 0,
            timers: Vec::new(),
            received: 0,
            acks: vec![None; ack_delay_slots as usize + 1].into(),
            timeout: model.timeout_slots,
        }
    }

    fn window(&self) -> f64 {
        f64::from_bits(self.w)
    }

    /// Starts a slot: an acknowledgement arrives, then the timer may expire, then a packet may be sent.
    fn start_slot(&mut self, model: &Model) -> Start {
        let mut start = Start::default();
        let mut retransmit = false;
        match self.acks.pop_front().flatten() {
            Some(acked) if acked > 0 => retransmit = self.on_new_ack(model, acked),
            Some(_) if !self.timers.is_empty() => retransmit = self.on_duplicate(model, &mut start),
            _ => {}
        }
        if self.timers.first() == Some(&0) {
            self.on_timeout(model);
            retransmit = false;
            start.timeouts = 1;
        }
        start.send = if self.recover > 0 {
            retransmit.then_some(0)
        } else if (self.timers.len() as f64) < self.window().floor() {
            self.timers.push(self.timeout);
            Some(self.timers.len() as u32 - 1)
        } else {
            None
        };
        start
    }

    /// Handles an acknowledgement of new data; returns true if the oldest packet is to be retransmitted.
    fn on_new_ack(&mut self, model: &Model, acked: u32) -> bool {
        self.timers.drain(..self.timers.len().min(acked as usize));
        self.received >>= acked;
        for ack in self.acks.iter_mut().flatten() {
            *ack -= acked;
        }
        self.dupacks = 0;
        self.timeout = model.timeout_slots;
        let w = self.window();
        if self.recover == 0 {
            let increment = if w < f64::from(self.w_th) { 1.0 } else { 1.0 / w };
            self.set_window(model, w + increment);
            return false;
        }
        self.recover = self.recover.saturating_sub(acked);
        if self.recover == 0 {
            self.set_window(model, f64::from(self.w_th));
            return false;
        }
        self.set_window(model, w + 1.0);
        model.variant != Variant::Reno
    }

    /// Handles a duplicate acknowledgement; returns true if the oldest packet is to be retransmitted.
    fn on_duplicate(&mut self, model: &Model, start: &mut Start) -> bool {
        if self.recover > 0 {
            self.set_window(model, self.window() + 1.0);
            return false;
        }
        // More than K duplicates have no more effect than K + 1.
        self.dupacks = u32::min(self.dupacks + 1, model.dupthresh.saturating_add(1));
        if self.dupacks != model.dupthresh || model.variant == Variant::OldTahoe {
            return false;
        }
        start.fast_retransmits = 1;
        self.halve();
        if model.variant == Variant::Tahoe {
            self.start_over();
            return false;
        }
        self.set_window(model, f64::from(self.w_th) + f64::from(model.dupthresh));
        self.recover = self.timers.len() as u32;
        true
    }

    fn on_timeout(&mut self, model: &Model) {
        self.halve();
        self.start_over();
        self.dupacks = 0;
        self.timeout = model
            .backoff_max_slots
            .map_or(self.timeout, |longest| self.timeout.saturating_mul(2).min(longest));
    }

    fn halve(&mut self) {
        self.w_th = (self.window() / 2.0).ceil() as u32;
    }

    fn start_over(&mut self) {
        self.w = 1_f64.to_bits();
        self.timers.clear();
        self.recover = 0;
    }

    fn set_window(&mut self, model: &Model, w: f64) {
        self.w = w.min(f64::from(model.w_max)).to_bits();
    }

    /// Ends a slot, in which the packet `arrives` reaches the receiver; returns true if the packet is new to it.
    fn end_slot(&mut self, arrives: Option<u32>) -> bool {
        let is_new = arrives.is_some_and(|seq| self.received >> seq & 1 == 0);
        if let Some(seq) = arrives {
            self.received |= 1 << seq;
        }
        self.acks.push_back(arrives.map(|_| self.received.trailing_ones()));
        for timer in &mut self.timers {
            if *timer != NEVER {
                *timer -= 1;
            }
        }
        self.forget();
        is_new
    }

    /// Resets all parts of the state without effect on the future, so that equivalent states become equal.
    fn forget(&mut self) {
        let expected = self.received.trailing_ones();
        for (packet, timer) in (0..).zip(&mut self.timers) {
            if self.received >> packet & 1 == 0 {
                continue;
            }
            // A packet behind a missing one is acknowledged together with it; a packet before it, by the first ACK
            // covering it.
            let covers = |ack: &Option<u32>| ack.is_some_and(|expected| expected > packet);
            let acked_in = self.acks.iter().position(covers);
            if packet > expected || acked_in.is_some_and(|slots| slots as u32 <= *timer) {
                *timer = NEVER;
            }
        }
        if self.recover > 0 {
            self.dupacks = 0;
        } else if self.window() >= f64::from(self.w_th) {
            self.w_th = 1;
        }
    }

    /// Slots until the timeout, if no acknowledgement is in flight and no packet may be sent, otherwise `None`. It is
    /// called after the start of a slot.
    fn waits(&self) -> Option<u32> {
        self.acks.iter().all(Option::is_none).then(|| self.timers[0])
    }
}

/// Successors and events of one state of the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Indices of the next state if the channel is bad and if it is good in this slot.
    pub(super) next: [u32; 2],
    pub(super) slots: u32,
    pub(super) sent: bool,
    /// True if the packet sent is new to the receiver if it arrives.
    pub(super) is_new: bool,
    pub(super) timeouts: u32,
    pub(super) fast_retransmits: u32,
}

/// Enumerates all states that can be reached from the initial state, with their successors.
pub(super) fn enumerate(
    model: &Model,
    ack_delay_slots: u32,
    max_states: usize,
) -> Result<Vec<Row>, AnalysisError> {
    let start = State::new(model, ack_delay_slots);
    let mut index = HashMap::from([(start.clone(), 0)]);
    let mut ahead = VecDeque::from([start]);
    let mut rows = Vec::new();
    while let Some(mut state) = ahead.pop_front() {
        let mut index_of = |state: State| {
            let new = index.len() as u32;
            *index.entry(state).or_insert_with_key(|state| {
                ahead.push_back(state.clone());
                new
            })
        };
        let Start { send, timeouts, fast_retransmits } = state.start_slot(model);
        let mut row =
            Row { next: [0; 2], slots: 1, sent: send.is_some(), is_new: false, timeouts, fast_retransmits };
        if send.is_some() {
            let mut good = state.clone();
            row.is_new = good.end_slot(send);
            state.end_slot(None);
            row.next = [index_of(state), index_of(good)];
        } else {
            if let Some(slots) = state.waits() {
                row.slots = slots;
                row.timeouts += 1;
                state.on_timeout(model);
                state.acks.push_back(None);
                state.forget();
            } else {
                state.end_slot(None);
            }
            row.next = [index_of(state); 2];
        }
        rows.push(row);
        if index.len() > max_states {
            return Err(AnalysisError::TooLargeDelayed {
                states: "states of the whole protocol",
                limit: max_states,
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::TwoStateMarkov;
    use crossfade_core::SimTime;
    use crossfade_transport::{Ack, AckOutcome, Flavour, Receiver, RtoConfig, RtoRule, Sender, TcpConfig};

    const SLOT: SimTime = SimTime::from_millis(8);

    fn model(variant: Variant, w_max: u32, dupthresh: u32, backoff_max_slots: Option<u32>) -> Model {
        let channel = TwoStateMarkov::iid(0.5).unwrap();
        Model { variant, w_max, dupthresh, timeout_slots: 2 * w_max + 3, backoff_max_slots, channel }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Timeout,
        FastRetransmit,
        Sent,
        New,
    }

    /// Sender and receiver of the simulator, driven slot by slot.
    struct Machine {
        sender: Sender,
        receiver: Receiver,
        acks: VecDeque<Option<Ack>>,
        slot: u32,
        events: Vec<(u32, Event)>,
    }

    impl Machine {
        fn new(model: &Model, ack_delay_slots: u32) -> Self {
            let config = TcpConfig {
                dupthresh: model.dupthresh,
                rto: RtoConfig {
                    rule: RtoRule::Fixed(SLOT * u64::from(model.timeout_slots)),
                    backoff: model.backoff_max_slots.is_some(),
                    max: SLOT * u64::from(model.backoff_max_slots.unwrap_or(model.timeout_slots)),
                },
                ..TcpConfig::new(Flavour::Paper, model.variant, model.w_max)
            };
            Self {
                sender: Sender::new(config),
                receiver: Receiver::new(config),
                acks: vec![None; ack_delay_slots as usize + 1].into(),
                slot: 0,
                events: Vec::new(),
            }
        }

        fn a_slot(&mut self, good: bool) {
            let now = SLOT * u64::from(self.slot);
            let mut happens = |event| self.events.push((self.slot, event));
            if let Some(ack) = self.acks.pop_front().flatten()
                && self.sender.on_ack(now, &ack) == AckOutcome::FastRetransmit
            {
                happens(Event::FastRetransmit);
            }
            if self.sender.next_timeout().is_some_and(|deadline| deadline <= now) {
                self.sender.on_timeout(now);
                happens(Event::Timeout);
            }
            let sent = self.sender.poll_transmit(now);
            if sent.is_some() {
                happens(Event::Sent);
            }
            let received =
                sent.filter(|_| good).map(|segment| self.receiver.on_segment(now, &segment, false));
            if received.as_ref().is_some_and(|received| received.is_new) {
                happens(Event::New);
            }
            self.acks.push_back(received.and_then(|received| received.ack));
            self.slot += 1;
        }
    }

    /// Follows a path through the chain along with the simulator's sender and receiver, and asserts equal events in
    /// each slot.
    fn walk(model: &Model, ack_delay_slots: u32, rows: &[Row], channel: impl Iterator<Item = bool>) {
        let mut machine = Machine::new(model, ack_delay_slots);
        let (mut state, mut slot, mut events) = (0, 0, Vec::new());
        for good in channel {
            let row = rows[state];
            // A jump leads to the slot of its timeout.
            let timeout =
                if row.slots > 1 || !row.sent && row.timeouts > 0 { slot + row.slots } else { slot };
            events.extend((0..row.timeouts).map(|_| (timeout, Event::Timeout)));
            events.extend((0..row.fast_retransmits).map(|_| (slot, Event::FastRetransmit)));
            if row.sent {
                events.push((slot, Event::Sent));
            }
            if row.is_new && good {
                events.push((slot, Event::New));
            }
            (0..row.slots).for_each(|_| machine.a_slot(good));
            slot += row.slots;
            state = row.next[usize::from(good)] as usize;
        }
        events.retain(|(at, _)| *at < slot);
        events.sort_unstable();
        machine.events.sort_unstable();
        assert_eq!(events, machine.events, "{model:?}, ACK delay {ack_delay_slots}");
    }

    /// Shortest sequence of channel states that leads to each state of the chain.
    fn ways(rows: &[Row]) -> Vec<Vec<bool>> {
        let mut ways: Vec<Option<Vec<bool>>> = vec![None; rows.len()];
        ways[0] = Some(Vec::new());
        for (state, row) in rows.iter().enumerate() {
            for good in [false, true] {
                let next = row.next[usize::from(good)] as usize;
                if ways[next].is_none() {
                    let mut way = ways[state].clone().expect("reached before");
                    way.push(good);
                    ways[next] = Some(way);
                }
            }
        }
        ways.into_iter().map(|way| way.expect("reached")).collect()
    }

    const VARIANTS: [Variant; 4] = [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno];

    /// Each step of the chain has the events of the simulator's sender and receiver.
    #[test]
    fn the_machine_takes_every_step_of_the_chain() {
        for variant in VARIANTS {
            for (w_max, dupthresh, ack_delay_slots) in
                [(1, 1, 0), (2, 1, 2), (3, 1, 1), (4, 2, 0), (4, 1, 2), (4, 3, 3), (5, 2, 1), (3, 2, 9)]
            {
                for backoff_max_slots in [None, Some(4 * w_max + 5)] {
                    let model = model(variant, w_max, dupthresh, backoff_max_slots);
                    let rows = enumerate(&model, ack_delay_slots, 100_000).unwrap();
                    for way in ways(&rows) {
                        for last in [false, true] {
                            walk(&model, ack_delay_slots, &rows, way.iter().copied().chain([last]));
                        }
                    }
                }
            }
        }
    }

    /// Over random paths, the chain has the events of the simulator's sender and receiver: no state merges histories
    /// that they distinguish.
    #[test]
    fn the_machine_keeps_step_with_the_chain() {
        let mut seed = 1_u64;
        for variant in VARIANTS {
            for (w_max, dupthresh, ack_delay_slots) in [(4, 1, 3), (6, 2, 1), (8, 3, 2), (6, 3, 7)] {
                for backoff_max_slots in [None, Some(100)] {
                    let model = model(variant, w_max, dupthresh, backoff_max_slots);
                    let rows = enumerate(&model, ack_delay_slots, 100_000).unwrap();
                    for p_bad in [0.1, 0.3, 0.6] {
                        let channel = std::iter::repeat_with(|| {
                            // Knuth's constants.
                            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                            (seed >> 11) as f64 / (1_u64 << 53) as f64 >= p_bad
                        });
                        walk(&model, ack_delay_slots, &rows, channel.take(10_000));
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_solved_is_refused_in_one_line() {
        let good = model(Variant::Reno, 4, 3, None);
        let message = |model: &Model, ack_delay_slots| {
            crate::exact_delayed(model, ack_delay_slots, 100).unwrap_err().to_string()
        };
        assert_eq!(
            message(&Model { variant: Variant::Sack, ..good }, 1),
            "ack_delay_slots = 1: must be 0 for sack; use newreno or a simulation"
        );
        assert_eq!(
            message(&good, 65),
            "ack_delay_slots = 65: must be at most 64 with delayed acknowledgements; a simulation takes more"
        );
        assert_eq!(
            message(&Model { w_max: 33, timeout_slots: 100, ..good }, 1),
            "w_max = 33: must be at most 32 with delayed acknowledgements; a simulation takes more"
        );
        assert_eq!(
            message(&good, 3),
            "more than 100 states of the whole protocol: use a smaller w_max or ack_delay_slots, or a \
             simulation"
        );
        let never = TwoStateMarkov::new(1.0, 0.5).unwrap();
        assert_eq!(
            message(&Model { channel: never, ..good }, 1),
            "p_gb = 0: must be at least 1e-9 with delayed acknowledgements"
        );
        assert_eq!(message(&Model { dupthresh: 0, ..good }, 1), "dupthresh = 0: must be at least 1");
    }
}
