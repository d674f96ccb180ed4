//! `DualPI2`: a queue for scalable and a queue for classic traffic, with coupled marks and drops.

#[cfg(test)]
mod tests;

use super::{Backlog, QueueDiscipline, Updates, Waiting, mark};
use crate::limit::QueueLimit;
use crate::parcel::{Ecn, Parcel};
use crossfade_core::{OutOfRange, SimTime, Stream};
use rand::RngExt;

/// Source of the rules of `DualPI2` where RFC and Linux differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualPi2Rules {
    /// RFC 9332 appendix A: the scalable queue marks with the larger of its native and its coupled probability,
    /// natively only if a second packet waits; the classic queue has a weight of 1/16.
    Rfc,
    /// Linux's `sch_dualpi2`: a packet that the coupling does not mark may be marked by the step; nothing is marked by
    /// coupling or dropped while less than two packets of the MTU wait; the classic queue has a weight of 1/10.
    Linux,
}

/// Way of turning a marking probability into marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualPi2Draw {
    /// Evenly spaced marks: probabilities are summed up, and each whole is a mark (RFC 9332 appendix A.1, `recur`).
    Recur,
    /// An independent draw for each packet; the squared probability of the classic queue takes two draws.
    Roll,
}

/// Parameters of `DualPI2`. [`DualPi2Config::rfc`] and [`DualPi2Config::linux`] give the usual values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Limit of both queues together, in packets or bytes.
    pub limit: QueueLimit,
    /// Target of the queueing delay of the classic queue.
    pub target: SimTime,
    /// `Tupdate` of RFC 9332: interval between updates of the base probability.
    pub t_update: SimTime,
    /// Gain alpha: change of the base probability in an update per second of delay above the target, in 1/s.
    pub alpha: f64,
    /// Gain beta: change of the base probability in an update per second by which the delay has grown since the last,
    /// in 1/s.
    pub beta: f64,
    /// Coupling factor k: the scalable queue is marked with k times the base probability, the classic queue with its
    /// square.
    pub coupling: f64,
    /// Delay above which the scalable queue marks by its own delay, with a probability that rises up to `max_th`.
    pub min_th: SimTime,
    /// Delay from which the scalable queue marks every packet; equal to [`min_th`](Self::min_th) for a step.
    pub max_th: SimTime,
    /// Length of the largest packet in bytes.
    pub mtu: u32,
    /// Way of turning a marking probability into marks.
    pub draw: DualPi2Draw,
    /// Source of the rules: RFC 9332 or Linux.
    pub rules: DualPi2Rules,
}

impl DualPi2Config {
    /// Values of RFC 9332 appendix A.1: target 15 ms, `Tupdate` min(target, `RTT_max`/3), alpha 0.1
    /// `Tupdate`/`RTT_max`^2 and beta 0.3/`RTT_max` for an `RTT_max` of 100 ms, k = 2, a ramp from 800 us to 1.2 ms.
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

    /// Values of `sch_dualpi2` in Linux 6.17: target 15 ms, update every 16 ms, alpha 41/256, beta 819/256, k = 2, a
    /// step at 1 ms.
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

    /// Weights of the classic and of the scalable queue in the round robin.
    fn weights(&self) -> [i64; 2] {
        match self.rules {
            DualPi2Rules::Rfc => [1, 15],
            DualPi2Rules::Linux => [10, 90],
        }
    }

    /// Credit at the time when both queues become busy: the scalable queue goes first.
    fn initial_credit(&self) -> i64 {
        let [classic, scalable] = self.weights();
        i64::from(self.mtu) * (classic - scalable)
    }
}

/// Two queues, one each for classic and for scalable senders, under the coupled active queue management of RFC 9332.
///
/// Packets with ECT(1) or CE wait in the scalable queue L, all others in the classic queue C (RFC 9332 section
/// 2.5.1.1). A proportional integral controller on the longer delay of the two heads sets a base probability p':
/// packets of L are marked with probability k p', and also by the delay of L itself; packets of C are dropped, or
/// marked if they have ECT(0), with probability p'^2. From k p' = 1 on packets of both are dropped with p'^2. A
/// weighted round robin serves L first without starving C.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    stream: Stream,
    queues: [Backlog; 2],
    control: Control,
    updates: Updates,
    /// Sums of probabilities of each queue that have not become marks yet ([`DualPi2Draw::Recur`]).
    counts: [f64; 2],
    /// Weighted bytes sent from L while C waited, minus those sent from C while L waited.
    credit: i64,
    ecn_marks: u64,
}

/// Base probability p', and queueing delay at its last update.
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

/// Index of the classic queue in the arrays of [`DualPi2`].
const C: usize = 0;
/// Index of the scalable queue in the arrays of [`DualPi2`].
const L: usize = 1;

/// Decision on a packet at the head of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Send,
    Mark,
    Drop,
}

impl DualPi2 {
    /// Creates empty queues that draw from `stream`.
    ///
    /// # Errors
    /// If a parameter is outside its range.
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

    /// Carries out the updates of the base probability that were due by `now`.
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

    /// Index of the queue that is served next, and its change of the credit per byte sent; `None` if both are empty.
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

    /// True if an event of the given probability happens to queue `of`, by the configured draw.
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

    /// True if an event of probability p'^2 happens to queue `of`, by the configured draw.
    fn happens_squared(&mut self, of: usize) -> bool {
        let p = self.control.probability;
        match self.config.draw {
            DualPi2Draw::Roll => self.happens(of, p) && self.happens(of, p),
            DualPi2Draw::Recur => self.happens(of, p * p),
        }
    }

    /// Probability with which L marks a packet by its own `delay`.
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

    /// Decides on the packet `head` of queue `from` by RFC 9332 appendix A, figures 6 and 7, or Linux's `must_drop` and
    /// `do_step_aqm` in `sch_dualpi2.c`.
    fn judge(&mut self, now: SimTime, from: usize, head: &Waiting) -> Verdict {
        let is_linux = self.config.rules == DualPi2Rules::Linux;
        let coupled = self.config.coupling * self.control.probability;
        // For Linux a coupled probability of exactly one is not yet overload.
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
