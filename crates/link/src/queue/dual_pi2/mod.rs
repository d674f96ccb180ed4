//! DualPI2: a queue for scalable and one for classic traffic, whose marks and drops are coupled.

#[cfg(test)]
mod tests;

use super::{Backlog, QueueDiscipline, Updates, Waiting, mark};
use crate::limit::QueueLimit;
use crate::parcel::{Ecn, Parcel};
use crossfade_core::{OutOfRange, SimTime, Stream};
use rand::RngExt;

/// Source of the rules of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualPi2Rules {
    /// RFC 9332 appendix A: native marks and coupled ones are the larger of two probabilities, native ones not before a
    /// second packet waits; the classic queue has a weight of 1/16.
    Rfc,
    /// Linux's `sch_dualpi2`: what the coupling does not mark a step may; nothing is marked or dropped while less than
    /// two packets wait; the classic queue has a weight of 1/10.
    Linux,
}

/// Marking by a probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualPi2Draw {
    /// Evenly spaced: the probabilities add up, and each whole is a mark (RFC 9332 appendix A.1, `recur`).
    Recur,
    /// Independent draw for each packet; the square of the classic queue is two draws.
    Roll,
}

/// The constants of DualPI2. [`DualPi2Config::rfc`] and [`DualPi2Config::linux`] give the usual values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Limit of both queues together.
    pub limit: QueueLimit,
    /// The delay that the classic queue comes to.
    pub target: SimTime,
    /// `Tupdate`: how often the probability is computed anew.
    pub t_update: SimTime,
    /// Gain alpha: change of the base probability in an update per second of delay above the target, in 1/s.
    pub alpha: f64,
    /// Gain beta: change of the base probability per second of growth of the delay, in 1/s.
    pub beta: f64,
    /// k: the scalable queue is marked with k times the base probability, the classic queue with its square.
    pub coupling: f64,
    /// The delay above which the scalable queue marks of its own accord.
    pub min_th: SimTime,
    /// The delay from which it marks everything; equal to [`min_th`](Self::min_th) for a step.
    pub max_th: SimTime,
    /// Bytes of the largest packet.
    pub mtu: u32,
    /// Marking by a probability.
    pub draw: DualPi2Draw,
    /// Source of the rules.
    pub rules: DualPi2Rules,
}

impl DualPi2Config {
    /// RFC 9332 appendix A.1: 15 ms, min(target, `RTT_max`/3), 0.1 `Tupdate`/`RTT_max`^2 and 0.3/`RTT_max` for an
    /// `RTT_max` of 100 ms, k = 2, a ramp from 800 us to 1.2 ms.
    pub fn rfc(limit: QueueLimit, mtu: u32) -> Self {
        Self {
            limit,
            target: SimTime::from_millis(15),
            t_update: SimTime::from_millis(15),
            alpha: 0.15,
            beta: 3.0,
            coupling: 2.0,
            min_th: SimTime::from_micros(800),
            max_th: SimTime::from_micros(1200),
            mtu,
            draw: DualPi2Draw::Recur,
            rules: DualPi2Rules::Rfc,
        }
    }

    /// `sch_dualpi2` of Linux 6.17: 15 ms, 16 ms, 41/256 and 819/256, k = 2, a step at 1 ms.
    pub fn linux(limit: QueueLimit, mtu: u32) -> Self {
        let step = SimTime::from_millis(1);
        Self {
            t_update: SimTime::from_millis(16),
            alpha: 41.0 / 256.0,
            beta: 819.0 / 256.0,
            min_th: step,
            max_th: step,
            draw: DualPi2Draw::Roll,
            rules: DualPi2Rules::Linux,
            ..Self::rfc(limit, mtu)
        }
    }

    fn check(&self) -> Result<(), OutOfRange> {
        let Self { limit, target, t_update, alpha, beta, coupling, min_th, max_th, .. } = *self;
        limit.check()?;
        OutOfRange::unless(target > SimTime::ZERO, "target", target, "longer than 0 s")?;
        OutOfRange::unless(t_update > SimTime::ZERO, "t_update", t_update, "longer than 0 s")?;
        for (name, gain) in [("alpha", alpha), ("beta", beta)] {
            OutOfRange::unless(gain >= 0.0 && gain.is_finite(), name, gain, "0 or more")?;
        }
        let holds = coupling > 0.0 && coupling.is_finite();
        OutOfRange::unless(holds, "coupling", coupling, "more than 0")?;
        OutOfRange::unless(min_th <= max_th, "min_th", min_th, format!("at most max_th = {max_th}"))
    }

    /// The weights of the classic and the scalable queue.
    fn weights(&self) -> [i64; 2] {
        match self.rules {
            DualPi2Rules::Rfc => [1, 15],
            DualPi2Rules::Linux => [10, 90],
        }
    }

    /// Credit at the time when both queues have packets: the scalable queue begins.
    fn initial_credit(&self) -> i64 {
        let [classic, scalable] = self.weights();
        i64::from(self.mtu) * (classic - scalable)
    }
}

/// Two queues, one each for classic and for scalable senders, under the coupled active queue management of RFC 9332.
///
/// What says ECT(1) or CE waits in the scalable queue L, all else in the classic queue C (RFC 9332 section 2.5.1.1). A
/// proportional integral controller on the longer delay of the two heads sets a base probability p': L is marked with k
/// p', C is dropped, or marked if it says ECT(0), with its square; L also by its own short delay. Beyond k p' = 1 both
/// are dropped. A weighted round robin lets L go first and C not starve.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    stream: Stream,
    queues: [Backlog; 2],
    control: Control,
    updates: Updates,
    /// The probabilities so far that have not become marks ([`DualPi2Draw::Recur`]).
    counts: [f64; 2],
    /// Weighted bytes that C has waited for L, less those that L has for C.
    credit: i64,
    ecn_marks: u64,
}

/// The base probability p', and the delay at its last update.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Control {
    probability: f64,
    delay: SimTime,
}

impl Control {
    fn update(&mut self, config: &DualPi2Config, delay: SimTime) {
        let (now, before) = (delay.as_secs_f64(), self.delay.as_secs_f64());
        let step = config.alpha * (now - config.target.as_secs_f64()) + config.beta * (now - before);
        *self = Self { probability: (self.probability + step).clamp(0.0, 1.0), delay };
    }
}

/// The index of the classic queue in [`DualPi2`]'s arrays.
const C: usize = 0;
/// Index of the scalable queue.
const L: usize = 1;

/// Fate of a packet at the head of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Send,
    Mark,
    Drop,
}

impl DualPi2 {
    /// An empty queue that draws from `stream`.
    ///
    /// # Errors
    /// A number outside its range.
    pub fn new(config: DualPi2Config, stream: Stream) -> Result<Self, OutOfRange> {
        config.check()?;
        Ok(Self {
            config,
            stream,
            queues: [Backlog::default(), Backlog::default()],
            control: Control::default(),
            updates: Updates::every(config.t_update),
            counts: [0.0; 2],
            credit: config.initial_credit(),
            ecn_marks: 0,
        })
    }

    /// Makes up for the updates that were due by `now`.
    fn update(&mut self, now: SimTime) {
        let Self { config, control, updates, queues, .. } = self;
        updates.make_up(now, |at| {
            let waits = |queue: &Backlog| queue.oldest().map(|since| at.saturating_sub(since));
            let delay = queues.iter().filter_map(waits).max();
            let before = *control;
            control.update(config, delay.unwrap_or(SimTime::ZERO));
            delay.is_none() && *control == before
        });
    }

    /// The queue whose turn it is, and what that costs the other in credit, per byte.
    fn turn(&self) -> Option<(usize, i64)> {
        let waits = self.queues.each_ref().map(|queue| queue.packets() > 0);
        let [classic, scalable] = self.config.weights();
        match waits {
            [false, false] => None,
            [true, false] => Some((C, 0)),
            [false, true] => Some((L, 0)),
            [true, true] if self.credit <= 0 => Some((L, classic)),
            [true, true] => Some((C, -scalable)),
        }
    }

    /// Whether an event of this probability happens to queue `of`.
    fn happens(&mut self, of: usize, probability: f64) -> bool {
        match self.config.draw {
            DualPi2Draw::Roll => self.stream.random::<f64>() < probability,
            DualPi2Draw::Recur => {
                let count = self.counts[of] + probability;
                let happens = count > 1.0;
                self.counts[of] = if happens { count - 1.0 } else { count };
                happens
            }
        }
    }

    /// Whether an event happens whose probability is the square of p'.
    fn happens_squared(&mut self, of: usize) -> bool {
        let p = self.control.probability;
        match self.config.draw {
            DualPi2Draw::Roll => self.happens(of, p) && self.happens(of, p),
            DualPi2Draw::Recur => self.happens(of, p * p),
        }
    }

    /// The probability with which L marks by its own delay.
    fn native(&self, delay: SimTime) -> f64 {
        let DualPi2Config { min_th, max_th, rules, .. } = self.config;
        // RFC 9332 figure 5 (`laqm`) marks at `max_th` itself, a step as well; Linux's `do_step_aqm` beyond it.
        if delay > max_th || (delay == max_th && rules == DualPi2Rules::Rfc) {
            1.0
        } else if delay <= min_th {
            0.0
        } else {
            (delay - min_th).as_secs_f64() / (max_th - min_th).as_secs_f64()
        }
    }

    /// RFC 9332 appendix A, figures 6 and 7; `sch_dualpi2.c`, `must_drop` and `do_step_aqm`.
    fn judge(&mut self, now: SimTime, from: usize, head: &Waiting) -> Verdict {
        let is_linux = self.config.rules == DualPi2Rules::Linux;
        let coupled = self.config.coupling * self.control.probability;
        // Linux counts a probability of one as what marks can still tell.
        let is_overloaded = if is_linux { coupled > 1.0 } else { coupled >= 1.0 };
        let is_short = is_linux && self.bytes() < 2 * u64::from(self.config.mtu);
        if from == C {
            if is_short || !self.happens_squared(C) {
                return Verdict::Send;
            }
            let only_drops = is_overloaded || head.packet.ecn() == Ecn::NotEct;
            return if only_drops { Verdict::Drop } else { Verdict::Mark };
        }
        let others = self.queues[L].packets();
        let delay = now.saturating_sub(head.since);
        let native = if is_linux || others > 1 { self.native(delay) } else { 0.0 };
        if is_overloaded && !is_short {
            return if self.happens_squared(L) { Verdict::Drop } else { Verdict::Mark };
        }
        let marks = if is_linux {
            (!is_short && self.happens(L, coupled))
                || native >= 1.0
                || (native > 0.0 && self.happens(L, native))
        } else {
            self.happens(L, native.max(coupled))
        };
        if marks { Verdict::Mark } else { Verdict::Send }
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, now: SimTime, packet: Parcel, _dropped: &mut Vec<Waiting>) -> Result<(), Parcel> {
        self.update(now);
        if !self.config.limit.admits(self.packets(), self.bytes(), packet.bytes()) {
            return Err(packet);
        }
        let to = if matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) { L } else { C };
        self.queues[to].push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        self.update(now);
        while let Some((from, weight)) = self.turn() {
            let Some(mut head) = self.queues[from].pop() else { break };
            match self.judge(now, from, &head) {
                Verdict::Drop => {
                    dropped.push(head);
                    continue;
                }
                Verdict::Mark => drop(mark(true, &mut head.packet, &mut self.ecn_marks)),
                Verdict::Send => {}
            }
            self.credit += weight * i64::from(head.packet.bytes());
            return Some(head);
        }
        self.credit = self.config.initial_credit();
        None
    }

    fn discard(&mut self, now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>) {
        self.update(now);
        self.queues.iter_mut().for_each(|queue| queue.discard(until, dropped));
    }

    fn oldest(&self) -> Option<SimTime> {
        self.queues.iter().filter_map(Backlog::oldest).min()
    }

    fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.queues.iter().for_each(|queue| queue.each(visit));
    }

    fn packets(&self) -> usize {
        self.queues.iter().map(Backlog::packets).sum()
    }

    fn bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.bytes).sum()
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}
