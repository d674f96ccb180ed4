//! Conversion of the facts of a text about one direction of a link to steps.

use super::item::{Item, Step};
use crossfade_core::SimTime;
use std::collections::VecDeque;

const MS: SimTime = SimTime::from_millis(1);
/// Factor from bits per millisecond to bit/s.
const BITS_PER_MS_TO_BPS: f64 = 1e3;

/// Turns opportunities and trains into steps, and leaves steps as they are.
///
/// The opportunities of a millisecond become a rate over the millisecond that ends with them.
#[derive(Default)]
pub(super) struct AsSteps {
    /// Run of milliseconds with equal numbers of bits.
    run: Option<Run>,
    /// Number of the current millisecond, and its bits so far.
    now: Option<(u64, u64)>,
    /// Last train, whose delay holds until the next.
    train: Option<Step>,
    /// True if there was a train before the last one.
    follows: bool,
}

#[derive(Clone, Copy)]
struct Run {
    from: u64,
    until: u64,
    bits: u64,
}

impl AsSteps {
    pub(super) fn push(&mut self, item: Item, out: &mut VecDeque<Step>) {
        match item {
            Item::Step(step) => out.push_back(step),
            Item::Opportunity { time, bytes } => {
                let at = time.as_nanos().div_ceil(MS.as_nanos()).max(1) - 1;
                let bits = u64::from(bytes) * 8;
                match &mut self.now {
                    Some((now, sum)) if *now == at => *sum += bits,
                    _ => {
                        self.end_millisecond(out);
                        self.now = Some((at, bits));
                    }
                }
            }
            Item::Train { time, delay, .. } => {
                // Of two trains at one time the later one counts.
                if let Some(before) = self.train.take().filter(|before| before.time < time) {
                    out.push_back(Step { lasts: Some(time - before.time), ..before });
                    self.follows = true;
                }
                self.train = Some(Step { time, delay: Some(delay), ..Step::default() });
            }
            Item::Sent { .. } | Item::Arrived { .. } => {}
        }
    }

    pub(super) fn finish(&mut self, out: &mut VecDeque<Step>) {
        self.end_millisecond(out);
        if let Some(run) = self.run.take() {
            out.push_back(run.step());
        }
        // The last of several trains gives the time at which the recording begins again, and has no duration itself.
        out.extend(self.train.take().filter(|_| !self.follows));
    }

    fn end_millisecond(&mut self, out: &mut VecDeque<Step>) {
        let Some((at, bits)) = self.now.take() else { return };
        let end = self.run.map_or(0, |run| run.until);
        if at > end {
            self.join(Run { from: end, until: at, bits: 0 }, out);
        }
        self.join(Run { from: at, until: at + 1, bits }, out);
    }

    fn join(&mut self, next: Run, out: &mut VecDeque<Step>) {
        match &mut self.run {
            Some(run) if run.bits == next.bits => run.until = next.until,
            run => out.extend(run.replace(next).map(Run::step)),
        }
    }
}

impl Run {
    fn step(self) -> Step {
        Step {
            time: MS.saturating_mul(self.from),
            lasts: Some(MS.saturating_mul(self.until - self.from)),
            rate_bps: Some(self.bits as f64 * BITS_PER_MS_TO_BPS),
            ..Step::default()
        }
    }
}

/// Step with the values of two steps that hold at the same time; values of the first take precedence.
pub(super) fn both(first: &Step, second: &Step) -> Step {
    let mut extras = first.extras.clone();
    extras.extend(
        second.extras.iter().filter(|(extra, _)| first.extras.iter().all(|(other, _)| other != extra)),
    );
    Step {
        time: first.time.max(second.time),
        lasts: None,
        rate_bps: first.rate_bps.or(second.rate_bps),
        delay: first.delay.or(second.delay),
        loss: first.loss.or(second.loss),
        queue: first.queue.or(second.queue),
        extras,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(items: Vec<Item>) -> Vec<(u64, u64, f64)> {
        let (mut as_steps, mut out) = (AsSteps::default(), VecDeque::new());
        for item in items {
            as_steps.push(item, &mut out);
        }
        as_steps.finish(&mut out);
        let millis = |time: SimTime| time.as_nanos() / 1_000_000;
        out.iter()
            .map(|step| (millis(step.time), millis(step.lasts.unwrap()), step.rate_bps.unwrap()))
            .collect()
    }

    #[test]
    fn the_opportunities_of_a_millisecond_are_a_rate_until_then() {
        let opportunity = |millis| Item::Opportunity { time: MS * millis, bytes: 1500 };
        let items = [1, 1, 5, 6].map(opportunity).to_vec();
        assert_eq!(steps(items), [(0, 1, 24e6), (1, 3, 0.0), (4, 2, 12e6)]);
        // An opportunity at 0 has no millisecond before it, and counts in the first.
        assert_eq!(steps([0, 1, 2].map(opportunity).to_vec()), [(0, 1, 24e6), (1, 1, 12e6)]);
        assert_eq!(steps([12].map(opportunity).to_vec()), [(0, 11, 0.0), (11, 1, 12e6)]);
    }

    #[test]
    fn the_last_train_ends_the_recording() {
        let train = |millis| Item::Train { time: MS * millis, delay: MS * 20, offsets: Vec::new() };
        let steps = |times: &[u64]| {
            let (mut as_steps, mut out) = (AsSteps::default(), VecDeque::new());
            for millis in times {
                as_steps.push(train(*millis), &mut out);
            }
            as_steps.finish(&mut out);
            out.iter().map(|step| (step.time, step.lasts)).collect::<Vec<_>>()
        };
        assert_eq!(steps(&[0, 50, 90]), [(SimTime::ZERO, Some(MS * 50)), (MS * 50, Some(MS * 40))]);
        // Of several trains, all at one time, only the last remains.
        assert_eq!(steps(&[0, 0, 0]), [(SimTime::ZERO, None)]);
    }

    #[test]
    fn what_one_does_not_say_the_other_may() {
        let rate = Step { rate_bps: Some(1e6), ..Step::default() };
        let delay = Step { time: MS, delay: Some(MS), rate_bps: Some(2e6), ..Step::default() };
        let joint = both(&rate, &delay);
        assert_eq!((joint.time, joint.rate_bps, joint.delay), (MS, Some(1e6), Some(MS)));
    }
}
