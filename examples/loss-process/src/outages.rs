//! Loss process with outages of a given length at random times, as when a train passes through a radio beam or a
//! satellite hands over.

use crossfade_channel::{ChannelError, Clock, Geometric, LossProcess};
use crossfade_core::{OutOfRange, SimTime, Stream};
use rand::RngExt;

/// Loss process that loses every transmission during an outage.
///
/// The process is semi-Markov: each outage lasts exactly `length` steps, and the clear runs between outages are
/// geometric with mean `mean_gap`. It is stationary from step 0 on. Whole runs of steps are drawn, not single steps, so
/// idle time costs next to nothing.
#[derive(Clone, Debug)]
pub struct Outages {
    length: u64,
    mean_gap: f64,
    gap: Geometric,
    clock: Clock,
    stream: Stream,
    is_out: bool,
    /// Last step of the current run of equal steps.
    last_of_run: u64,
}

impl Outages {
    /// Creates a process with outages of `length` steps and on average `mean_gap` clear steps between them, with one
    /// step per tick of `clock`.
    ///
    /// # Errors
    /// If `length` is 0, or `mean_gap` is below 1 or not finite.
    pub fn new(length: u64, mean_gap: f64, clock: Clock, stream: Stream) -> Result<Self, ChannelError> {
        OutOfRange::unless(length > 0, "length", length, "at least 1")?;
        OutOfRange::unless(
            mean_gap >= 1.0 && mean_gap.is_finite(),
            "mean_gap",
            mean_gap,
            "finite and at least 1",
        )?;
        let gap = Geometric::new(1.0 / mean_gap);
        let mut outages = Self { length, mean_gap, gap, clock, stream, is_out: false, last_of_run: 0 };
        outages.is_out = outages.stream.random::<f64>() < outages.p_e();
        // Step 0 is at each place of an outage with equal probability; the rest of a geometric run is distributed
        // like a whole run.
        outages.last_of_run = if outages.is_out {
            outages.stream.random_range(0..length)
        } else {
            gap.sample(&mut outages.stream)
        };
        Ok(outages)
    }

    /// Loss rate, the share of steps in an outage: the mean outage over the mean time from outage to outage.
    pub fn p_e(&self) -> f64 {
        let length = self.length as f64;
        length / (length + self.mean_gap)
    }

    /// True if `step` is in an outage. Steps must not decrease from call to call.
    fn is_out(&mut self, step: u64) -> bool {
        while self.last_of_run < step {
            self.is_out = !self.is_out;
            let run =
                if self.is_out { self.length } else { self.gap.sample(&mut self.stream).saturating_add(1) };
            self.last_of_run = self.last_of_run.saturating_add(run);
        }
        self.is_out
    }
}

impl LossProcess for Outages {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        self.is_out(self.clock.step(now, transmission))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    const LENGTH: u64 = 5;
    const MEAN_GAP: f64 = 20.0;

    fn outages(seed: u64) -> Outages {
        let stream = RunSeed { seed, run: 0 }.stream("channel.dl");
        Outages::new(LENGTH, MEAN_GAP, Clock::Transmission, stream).unwrap()
    }

    fn steps(seed: u64, n: u64) -> Vec<bool> {
        let mut process = outages(seed);
        (0..n).map(|step| process.is_out(step)).collect()
    }

    /// Over independent runs the counts are binomial, so their standard error is known.
    #[test]
    fn every_step_is_out_as_often_as_any_other() {
        let runs: Vec<Vec<bool>> = (0..4000).map(|seed| steps(seed, 102)).collect();
        let p_e = outages(0).p_e();
        assert_eq!(p_e, 0.2);
        // All steps of an outage except the last are followed by another step of it.
        let pair = p_e * (1.0 - 1.0 / LENGTH as f64);
        let check = |what: &str, expected: f64, count: usize| {
            let n = runs.len() as f64;
            let z = (count as f64 / n - expected) / (expected * (1.0 - expected) / n).sqrt();
            assert!(z.abs() < 4.0, "{what}: {count} of {n} runs, {z:.1} standard errors off {expected}");
        };
        for step in [0, 3, 100] {
            check("out", p_e, runs.iter().filter(|run| run[step]).count());
            check("out and still out", pair, runs.iter().filter(|run| run[step] && run[step + 1]).count());
        }
    }

    /// All but the first run and the last, which are cut off.
    #[test]
    fn outages_have_their_length_and_gaps_their_mean() {
        let steps = steps(1, 200_000);
        let runs: Vec<&[bool]> = steps.chunk_by(|a, b| a == b).collect();
        let whole = &runs[1..runs.len() - 1];
        assert!(whole.iter().all(|run| !run[0] || run.len() == LENGTH as usize));
        let gaps: Vec<f64> = whole.iter().filter(|run| !run[0]).map(|run| run.len() as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let sigma = (MEAN_GAP * (MEAN_GAP - 1.0) / n).sqrt();
        assert!((mean - MEAN_GAP).abs() < 4.0 * sigma, "mean gap {mean} of {n}");
    }

    #[test]
    fn the_answer_does_not_depend_on_who_asked_before() {
        for seed in 0..20 {
            let (all, mut process) = (steps(seed, 1000), outages(seed));
            for step in (0..1000).step_by(1 + seed as usize) {
                assert_eq!(process.is_out(step), all[step as usize], "seed {seed}, step {step}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let refused = |length, mean_gap| {
            let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
            Outages::new(length, mean_gap, Clock::Transmission, stream).unwrap_err().to_string()
        };
        assert_eq!(refused(0, 20.0), "length = 0: must be at least 1");
        assert_eq!(refused(5, 0.5), "mean_gap = 0.5: must be finite and at least 1");
        assert_eq!(refused(5, f64::NAN), "mean_gap = NaN: must be finite and at least 1");
    }
}
