//! Keys of the duration and number of runs: table `run`.

use super::base::{json, positive_time, time};
use crate::error::ScenarioError;
use crate::quantity::{FileName, Memory, Share, Span};
use crate::stop::{End, StopRule};
use crossfade_core::SimTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Duration and number of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Run {
    /// Duration of a run, with its warm-up. Contradicts run.segments.
    #[schemars(extend("x-default" = "100000 slots, without run.segments"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,

    /// Warm-up: simulated time at the start of a run that is not counted.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Span>,

    /// Number of segments after the warm-up whose delivery ends a run. Contradicts run.duration.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,

    /// Number of independent runs (replications). At least 10 make a trustworthy interval.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 10, "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,

    /// Table of draws for the runs. The first line names keys of the scenario, each further line gives their values.
    /// Run r takes row r, so intervals include the uncertainty of these values. A run without a row is refused.
    #[schemars(extend("x-default" = "none: all runs have the values of the scenario"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draws: Option<FileName>,

    /// Target precision of run.metric: half its 95 % interval over its value. At least 20 runs are made. Contradicts
    /// run.runs.
    #[schemars(extend("x-default" = "none: run.runs fixes the number of runs", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Share>,

    /// Target of run.metric summed over the runs, such as 100 frame errors. Contradicts run.runs and run.precision.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64), extend("x-default" = "none: run.runs fixes the number of runs", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,

    /// Target number of failed frames of method phy. First transmissions count; with run.metric = "frames_given_up" all
    /// transmissions do. 400 failures make a standard error of 5 %. Contradicts run.runs, run.precision and run.count.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-default" = "400, if phy is the only random method", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_errors: Option<u64>,

    /// Largest number of frames that run.frame_errors may ask for, of method phy.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-default" = "1000000, with run.frame_errors", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_frames: Option<u64>,

    /// Number of frames in a run of method phy.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-default" = "200, with channel.model = \"block-rayleigh\" or nr.block"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,

    /// Metric that run.precision, run.count or run.frame_errors is about.
    #[schemars(extend("x-default" = "goodput_bps, with run.precision; frame_errors, with run.count", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,

    /// Largest number of runs that run.precision or run.count may ask for.
    #[schemars(range(min = 20, max = 1_000_000), extend("x-default" = "1000, with run.precision or run.count", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,

    /// Memory limit of a run, or of runs side by side; a run that may take more is refused.
    #[schemars(extend("x-default" = "half of the machine's memory", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,

    /// Sampling interval of flows and links for --events and --samples. No result depends on it.
    #[schemars(extend("x-default" = "none: no samples", "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Span>,

    /// Seed of all random streams. Run r of a scenario has streams of its own, named by (seed, r).
    #[schemars(extend("default" = 1, "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Default number of frames in a run of method phy: enough to be worth a row, and few enough that the first runs give
/// an interval.
const DEFAULT_FRAMES: u64 = 200;

/// Default duration of a run: long enough that the start of a connection hardly matters, and short enough for a first
/// look (milliseconds of CPU time per run).
const DEFAULT_DURATION: Span = Span::slots(100_000.0);

impl Run {
    /// Stop rule of method phy by a number of failed frames (`run.frame_errors`); `None` if another rule applies.
    fn resolve_frame_errors(&mut self, counts_frames: bool) -> Result<Option<StopRule>, ScenarioError> {
        let own = [
            ("run.frame_errors", self.frame_errors.is_some()),
            ("run.max_frames", self.max_frames.is_some()),
        ];
        let own = own.into_iter().find(|(_, given)| *given).map(|(key, _)| key);
        let others = [
            ("run.runs", self.runs.is_some()),
            ("run.precision", self.precision.is_some()),
            ("run.count", self.count.is_some()),
        ];
        let other = others.into_iter().find(|(_, given)| *given).map(|(key, _)| key);
        match (own, other) {
            (Some(key), _) if !counts_frames => {
                let problem = "needs methods = [\"phy\"]; run.count counts the frame errors of a simulation";
                return Err(ScenarioError::key(key, problem));
            }
            (Some(key), Some(other)) => {
                return Err(ScenarioError::contradiction(key, other, "give one of the two"));
            }
            (None, Some(_)) => return Ok(None),
            (None, None) if !counts_frames => return Ok(None),
            _ => {}
        }
        let count = *self.frame_errors.get_or_insert(400);
        let most = *self.max_frames.get_or_insert(1_000_000);
        let max_runs = most.div_ceil(self.frames.unwrap_or(DEFAULT_FRAMES));
        let metric = self.metric.clone().unwrap_or_else(|| "frame_errors".to_owned());
        Ok(Some(StopRule::Count { metric, count, max_runs }))
    }

    pub(crate) fn resolve(&mut self, slot: SimTime) -> Result<(SimTime, End), ScenarioError> {
        let warmup = time("run.warmup", *self.warmup.get_or_insert(Span::ZERO), slot)?;
        match (self.duration, self.segments) {
            (Some(_), Some(_)) => {
                let reason = "a run ends at one of the two";
                Err(ScenarioError::contradiction("run.segments", "run.duration", reason))
            }
            (None, Some(segments)) => Ok((warmup, End::Delivered(segments))),
            (given, None) => {
                let duration = *self.duration.insert(given.unwrap_or(DEFAULT_DURATION));
                let end = time("run.duration", duration, slot)?;
                if end < slot {
                    let problem = format!("must be at least a slot ({slot})");
                    return Err(ScenarioError::value("run.duration", &json(duration), problem));
                }
                if warmup >= end {
                    let problem = format!("must be shorter than run.duration ({duration})");
                    return Err(ScenarioError::value("run.warmup", &json(self.warmup), problem));
                }
                Ok((warmup, End::At(end)))
            }
        }
    }

    /// Sampling interval of flows and links; `None` if no samples are taken.
    pub(crate) fn resolve_sample(&self, slot: SimTime) -> Result<Option<SimTime>, ScenarioError> {
        self.sample.map(|sample| positive_time("run.sample", sample, slot)).transpose()
    }

    /// Fills in the number of frames in a run of method phy; 0 without a physical layer.
    pub(crate) fn resolve_frames(&mut self, has_radio: bool) -> Result<u64, ScenarioError> {
        if has_radio {
            return Ok(*self.frames.get_or_insert(DEFAULT_FRAMES));
        }
        match self.frames {
            None => Ok(0),
            Some(_) => {
                Err(ScenarioError::key("run.frames", "needs channel.model = \"block-rayleigh\" or nr.block"))
            }
        }
    }

    /// Fills in the defaults of the stop rule and the seed, and returns both. `counts_frames` is true if method phy is
    /// the only random method.
    pub(crate) fn resolve_stop(&mut self, counts_frames: bool) -> Result<(StopRule, u64), ScenarioError> {
        let seed = *self.seed.get_or_insert(1);
        if let Some(rule) = self.resolve_frame_errors(counts_frames)? {
            return Ok((rule, seed));
        }
        let word = if self.precision.is_some() { "run.precision" } else { "run.count" };
        let (usual, rule) = match (self.precision, self.count) {
            (None, None) => {
                let needless =
                    [("run.max_runs", self.max_runs.is_some()), ("run.metric", self.metric.is_some())];
                if let Some((key, _)) = needless.into_iter().find(|(_, given)| *given) {
                    return Err(ScenarioError::key(key, "needs run.precision"));
                }
                return Ok((StopRule::Runs(*self.runs.get_or_insert(10)), seed));
            }
            (Some(_), Some(_)) => {
                return Err(ScenarioError::contradiction(
                    "run.count",
                    "run.precision",
                    "give one of the two",
                ));
            }
            (Some(precision), None) => ("goodput_bps", Ok(precision)),
            (None, Some(count)) => ("frame_errors", Err(count)),
        };
        if self.runs.is_some() {
            let reason = format!("give one of the two (run.max_runs limits {word})");
            return Err(ScenarioError::contradiction("run.runs", word, reason));
        }
        // The default is not written out, so that plans of older results files keep their identity.
        let metric = self.metric.clone().unwrap_or_else(|| usual.to_owned());
        let max_runs = *self.max_runs.get_or_insert(1000);
        match rule {
            Ok(precision) if precision.0 == 0.0 || precision.0 == 1.0 => {
                let problem = "must be above 0 and below 1, such as \"1 %\"";
                Err(ScenarioError::value("run.precision", &json(precision), problem))
            }
            Ok(precision) => Ok((StopRule::Precision { metric, relative: precision.0, max_runs }, seed)),
            Err(count) => Ok((StopRule::Count { metric, count, max_runs }, seed)),
        }
    }
}
