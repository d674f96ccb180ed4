//! PIE: drops arriving packets at random, with a probability that brings the queueing delay to a target.

use super::{Backlog, QueueDiscipline, Updates, Waiting, mark};
use crate::limit::QueueLimit;
use crate::parcel::Parcel;
use crossfade_core::{OutOfRange, SimTime, Stream};
use rand::RngExt;

/// Parameters of PIE (RFC 8033 section 4). [`PieConfig::new`] gives the usual values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Limit of the queue, in packets or bytes.
    pub limit: QueueLimit,
    /// `QDELAY_REF` of RFC 8033: target of the queueing delay.
    pub target: SimTime,
    /// `T_UPDATE` of RFC 8033: time between two updates of the drop probability.
    pub t_update: SimTime,
    /// `MAX_BURST` of RFC 8033: time without drops after the queue was short.
    pub max_burst: SimTime,
    /// Gain alpha: change of the drop probability in an update per second of delay above the target, in 1/s.
    pub alpha: f64,
    /// Gain beta: change of the drop probability in an update per second by which the delay has grown since the last,
    /// in 1/s.
    pub beta: f64,
    /// `MEAN_PKTSIZE` of RFC 8033 in bytes: nothing is dropped at random while no more than two such packets wait.
    pub mean_packet: u32,
    /// True if ECN-capable packets are marked instead of dropped, while the probability is below [`Pie::MARK_ECNTH`].
    pub ecn: bool,
}

impl PieConfig {
    /// Values of RFC 8033 sections 4.2 to 4.4: target 15 ms, update every 15 ms, burst allowance 150 ms, alpha 1/8 and
    /// beta 5/4; drops only.
    pub fn new(limit: QueueLimit, mean_packet: u32) -> Self {
        Self {
            limit,
            target: SimTime::from_millis(15),
            t_update: SimTime::from_millis(15),
            max_burst: SimTime::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet,
            ecn: false,
        }
    }

    fn check(&self) -> Result<(), OutOfRange> {
        let Self { limit, target, t_update, alpha, beta, .. } = *self;
        limit.check()?;
        OutOfRange::unless(target > SimTime::ZERO, "target", target, "longer than 0 s")?;
        OutOfRange::unless(t_update > SimTime::ZERO, "t_update", t_update, "longer than 0 s")?;
        for (name, gain) in [("alpha", alpha), ("beta", beta)] {
            OutOfRange::unless(gain >= 0.0 && gain.is_finite(), name, gain, "0 or more")?;
        }
        Ok(())
    }
}

/// First-in first-out queue under PIE, the proportional integral controller enhanced (RFC 8033), with ECN (section 5.1)
/// and capped steps (section 5.5).
///
/// The controlled delay is that of the packet sent last, by its timestamp (section 4.3), and zero once no packet waits.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    stream: Stream,
    backlog: Backlog,
    control: Control,
    updates: Updates,
    ecn_marks: u64,
}

/// Controller state of PIE, updated every `T_UPDATE`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Control {
    drop_prob: f64,
    qdelay: SimTime,
    qdelay_old: SimTime,
    burst_allowance: SimTime,
}

impl Pie {
    /// `PIE->mark_ecnth_` of RFC 8033 section 5.1: from this drop probability on ECN-capable packets are dropped, too.
    pub const MARK_ECNTH: f64 = 0.1;

    /// Creates an empty queue that draws from `stream`.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn new(config: PieConfig, stream: Stream) -> Result<Self, OutOfRange> {
        config.check()?;
        let control = Control {
            drop_prob: 0.0,
            qdelay: SimTime::ZERO,
            qdelay_old: SimTime::ZERO,
            burst_allowance: config.max_burst,
        };
        let updates = Updates::every(config.t_update);
        Ok(Self { config, stream, backlog: Backlog::default(), control, updates, ecn_marks: 0 })
    }

    /// Carries out the updates of the drop probability that were due by `now`.
    fn update(&mut self, now: SimTime) {
        let Self { config, control, updates, .. } = self;
        updates.make_up(now, |_| {
            let before = *control;
            control.update(config);
            *control == before
        });
    }

    /// True if an arriving packet is dropped at random (RFC 8033 section 4.1), which never empties the queue.
    fn drops_early(&mut self) -> bool {
        let PieConfig { target, mean_packet, .. } = self.config;
        let Control { drop_prob, qdelay_old, .. } = self.control;
        let is_short = qdelay_old * 2 < target && drop_prob < 0.2;
        if is_short || self.backlog.bytes <= 2 * u64::from(mean_packet) {
            return false;
        }
        self.stream.random::<f64>() < drop_prob
    }
}

impl Control {
    /// Updates the drop probability (RFC 8033 section 4.2) and the burst allowance (section 4.4).
    fn update(&mut self, config: &PieConfig) {
        let PieConfig { target, t_update, max_burst, alpha, beta, .. } = *config;
        let (qdelay, old) = (self.qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        let mut p = alpha * (qdelay - target.as_secs_f64()) + beta * (qdelay - old);
        p /= auto_tuning(self.drop_prob);
        // Section 5.5: the step is capped, so that a flow in slow start does not lose too many packets at once.
        if self.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        self.drop_prob += p;
        if self.qdelay == SimTime::ZERO && self.qdelay_old == SimTime::ZERO {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(t_update);
        let is_short = |delay: SimTime| delay * 2 < target;
        if self.drop_prob == 0.0 && is_short(self.qdelay) && is_short(self.qdelay_old) {
            self.burst_allowance = max_burst;
        }
        self.qdelay_old = self.qdelay;
    }
}

/// Divisor of the change of the drop probability, greater for smaller probabilities (RFC 8033 section 4.2).
fn auto_tuning(drop_prob: f64) -> f64 {
    let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    steps.into_iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| divisor)
}

impl QueueDiscipline for Pie {
    fn enqueue(
        &mut self,
        now: SimTime,
        mut packet: Parcel,
        _dropped: &mut Vec<Waiting>,
    ) -> Result<(), Parcel> {
        self.update(now);
        let PieConfig { limit, ecn, .. } = self.config;
        if !limit.admits(self.backlog.packets(), self.backlog.bytes, packet.bytes()) {
            return Err(packet);
        }
        if self.control.burst_allowance == SimTime::ZERO && self.drops_early() {
            let may_mark = ecn && self.control.drop_prob < Self::MARK_ECNTH;
            if !mark(may_mark, &mut packet, &mut self.ecn_marks) {
                return Err(packet);
            }
        }
        self.backlog.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: SimTime, _dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        self.update(now);
        let head = self.backlog.pop();
        let waited = head.filter(|_| self.backlog.packets() > 0).map(|head| now - head.since);
        self.control.qdelay = waited.unwrap_or(SimTime::ZERO);
        head
    }

    fn discard(&mut self, now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>) {
        self.update(now);
        self.backlog.discard(until, dropped);
        if self.backlog.packets() == 0 {
            self.control.qdelay = SimTime::ZERO;
        }
    }

    fn oldest(&self) -> Option<SimTime> {
        self.backlog.oldest()
    }

    fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.backlog.each(visit);
    }

    fn packets(&self) -> usize {
        self.backlog.packets()
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }

    fn next_bytes(&self) -> Option<u32> {
        self.backlog.next_bytes()
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capable, plain};
    use crossfade_core::RunSeed;

    const MS: SimTime = SimTime::from_millis(1);

    fn usual() -> PieConfig {
        PieConfig::new(QueueLimit::Packets(1000), 1000)
    }

    fn pie(config: PieConfig) -> Pie {
        Pie::new(config, RunSeed { seed: 1, run: 0 }.stream("queue.dl")).unwrap()
    }

    fn control(drop_prob: f64, qdelay: u64, qdelay_old: u64) -> Control {
        Control {
            drop_prob,
            qdelay: MS * qdelay,
            qdelay_old: MS * qdelay_old,
            burst_allowance: SimTime::ZERO,
        }
    }

    /// An update changes the drop probability as in RFC 8033 section 4.2, computed by hand: by 0.125 (qdelay - 0.015) +
    /// 1.25 (qdelay - `qdelay_old`), divided by a factor that depends on the probability before.
    #[test]
    fn the_probability_follows_the_pseudo_code() {
        for (drop_prob, qdelay, old, expected) in [
            (0.0, 30, 15, 0.020_625 / 2048.0),
            (0.000_001, 30, 15, 0.000_001 + 0.020_625 / 512.0),
            (0.000_05, 30, 30, 0.000_05 + 0.001_875 / 128.0),
            (0.000_5, 20, 30, 0.000_5 + (0.000_625 - 0.0125) / 32.0),
            (0.005, 40, 20, 0.005 + 0.028_125 / 8.0),
            (0.05, 40, 20, 0.05 + 0.028_125 / 2.0),
            // From 10 % on the probability rises by at most 2 % at once, but may fall by any amount.
            (0.3, 40, 20, 0.32),
            (0.3, 40, 35, 0.3 + 0.009_375),
            (0.3, 10, 110, 0.3 - 0.125_625),
            (0.995, 500, 500, 1.0),
            (0.001, 0, 20, 0.0),
            // While the queue is empty, the probability also decays by 2 % per update.
            (0.2, 0, 0, (0.2 - 0.001_875) * 0.98),
        ] {
            let mut control = control(drop_prob, qdelay, old);
            control.update(&usual());
            let got = control.drop_prob;
            assert!((got - expected).abs() < 1e-15, "{drop_prob}, {qdelay}, {old}: {got} against {expected}");
            assert_eq!(control.qdelay_old, MS * qdelay);
        }
    }

    #[test]
    fn a_burst_is_let_through_and_allowed_again_once_the_queue_is_short() {
        let mut control = Control { burst_allowance: MS * 150, ..control(0.5, 100, 100) };
        for update in 1..=10 {
            control.update(&usual());
            assert_eq!(control.burst_allowance, MS * (150 - 15 * update));
        }
        control.update(&usual());
        assert_eq!(control.burst_allowance, SimTime::ZERO);
        (control.drop_prob, control.qdelay) = (0.0, MS * 7);
        control.update(&usual());
        assert_eq!(control.burst_allowance, SimTime::ZERO, "the delay before was long");
        control.update(&usual());
        assert_eq!(control.burst_allowance, MS * 150);
    }

    #[test]
    fn nothing_is_dropped_within_a_burst_from_a_short_queue_or_of_two_packets() {
        let with = |control: Control, packets: u32| {
            let mut pie = Pie { control, ..pie(usual()) };
            (0..packets).for_each(|id| pie.backlog.push(SimTime::ZERO, plain(id, 1000)));
            pie.enqueue(SimTime::ZERO, plain(packets, 1000), &mut Vec::new()).is_ok()
        };
        assert!(!with(control(1.0, 20, 20), 3));
        assert!(with(control(1.0, 20, 20), 2));
        assert!(with(Control { burst_allowance: MS, ..control(1.0, 20, 20) }, 3));
        assert!(!with(control(1.0, 7, 7), 3), "short, but the probability is high");
        assert!(with(control(0.199_999, 7, 7), 300));
    }

    #[test]
    fn marks_stand_for_drops_below_the_threshold() {
        let share = |drop_prob: f64, ecn: bool| {
            let mut pie = Pie { control: control(drop_prob, 20, 20), ..pie(PieConfig { ecn, ..usual() }) };
            (0..3).for_each(|id| pie.backlog.push(SimTime::ZERO, plain(id, 1000)));
            let (mut drops, n) = (0, 20_000);
            for id in 0..n {
                let packet = capable(plain(id, 1000), true);
                match pie.enqueue(SimTime::ZERO, packet, &mut Vec::new()) {
                    Ok(()) => drop(pie.backlog.waiting.pop_back()),
                    Err(_) => drops += 1,
                }
                pie.backlog.bytes = 3000;
            }
            [f64::from(drops) / f64::from(n), pie.ecn_marks as f64 / f64::from(n)]
        };
        let near = |got: f64, expected: f64| {
            assert!((got - expected).abs() < 4.0 * (expected / 20_000.0).sqrt(), "{got} against {expected}");
        };
        let [drops, marks] = share(0.09, true);
        near(marks, 0.09);
        assert_eq!(drops, 0.0);
        let [drops, marks] = share(0.1, true);
        near(drops, 0.1);
        assert_eq!(marks, 0.0);
        near(share(0.09, false)[0], 0.09);
    }

    /// A load that does not react is held at the target delay without an error, by the integral part, and the dropped
    /// share is the excess of the load.
    #[test]
    fn an_overload_that_does_not_yield_is_held_at_the_target() {
        let mut pie = pie(usual());
        let (mut drops, mut arrivals, mut waited, mut sent) = (0.0, 0.0, 0.0, 0.0);
        // A packet each 0.8 ms onto a link that sends one a millisecond.
        for tick in 0..1_000_000_u64 {
            let (now, counts) = (SimTime::from_micros(200) * tick, tick > 200_000);
            if tick % 4 == 0 {
                let refused = pie.enqueue(now, plain(0, 1000), &mut Vec::new()).is_err();
                arrivals += f64::from(u8::from(counts));
                drops += f64::from(u8::from(counts && refused));
            }
            if tick % 5 == 0
                && let Some(head) = pie.dequeue(now, &mut Vec::new())
                && counts
            {
                waited += (now - head.since).as_secs_f64();
                sent += 1.0;
            }
        }
        assert!((drops / arrivals - 0.2).abs() < 0.002, "{}", drops / arrivals);
        assert!((waited / sent - 0.015).abs() < 0.001, "{}", waited / sent);
    }

    #[test]
    fn updates_that_nobody_saw_are_made_up_for() {
        // Ten years of them: all the same once nothing waits.
        let mut rested = Pie { control: control(0.7, 0, 40), ..pie(usual()) };
        rested.update(MS * (10 * 365 * 24 * 3_600_000));
        assert_eq!(rested.control, Control { burst_allowance: MS * 150, ..control(0.0, 0, 0) });
        let mut stepped = Pie { control: control(0.7, 0, 40), ..pie(usual()) };
        (0..1000).for_each(|at| stepped.update(MS * 7 * at));
        assert_eq!(stepped.control, rested.control);
        assert_eq!(stepped.updates.next, MS * 7005);
        assert_eq!(rested.updates.next % (MS * 15), SimTime::ZERO);
    }
}
