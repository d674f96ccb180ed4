//! Method phy: a batch of frames over the physical layer alone, or of transport blocks of an NR cell.

use super::nr_blocks;
use crate::closed_forms::{attempts, refuse_changing};
use crate::handle::{ExecutionHandle, PartDone};
use crate::metrics::{COMBINED_ERRORS, INDEPENDENT, Metrics, NOT_ACCEPTED};
use crate::solver::{FittedChains, Outcome, Solver};
use crossfade_core::RunSeed;
use crossfade_link::RadioConfig;
use crossfade_phy::Counts;
use crossfade_scenario::{HopSetup, LinksSetup, Point, ScenarioError};
use serde_json::json;

/// Method phy: frames without a protocol, each sent until it is accepted, at most as often as the link's ARQ allows.
pub(super) struct Frames;

/// Number of frames between two checks for cancellation.
const CHUNK: u64 = 50;

impl Solver for Frames {
    fn refusal(&self, point: &Point) -> Option<ScenarioError> {
        match point.setup.nr() {
            Some(nr) => nr_blocks::block(nr, nr_blocks::PHY).err(),
            None => radio(point).err(),
        }
    }

    fn run(
        &self,
        point: &Point,
        seed: RunSeed,
        _: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome> {
        if let Some(nr) = point.setup.nr() {
            return nr_blocks::run(nr, seed, handle);
        }
        let (links, radio) = match radio(point) {
            Ok(found) => found,
            Err(error) => return Some(Err(error.into())),
        };
        let streams = (seed.stream("channel.dl"), seed.stream("phy.dl"));
        let frames = radio.monte_carlo(attempts(&links.forward), streams.0, streams.1);
        let mut frames = match frames {
            Ok(frames) => frames,
            Err(error) => return Some(Err(ScenarioError::key("phy", error.to_string()).into())),
        };
        let mut counts = Counts::default();
        let mut part = PartDone::new(handle);
        for first in (0..links.frames).step_by(CHUNK as usize) {
            if handle.is_cancelled() {
                return None;
            }
            part.is(first as f64 / links.frames as f64);
            counts += &frames.count(first..links.frames.min(first + CHUNK));
        }
        Some(Ok(metrics(&links.forward, radio, &counts)))
    }

    fn is_random(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Links and physical layer of a point.
///
/// # Errors
/// If the point has no physical layer, or one that changes with time.
fn radio(point: &Point) -> Result<(&LinksSetup, &RadioConfig), ScenarioError> {
    let found = point.setup.links().and_then(|links| Some((links, links.forward.radio()?)));
    let (links, radio) = found.ok_or_else(|| {
        let problem = "method phy needs the physical layer of \"block-rayleigh\", or nr.block";
        ScenarioError::value("channel.model", &json!(point.scenario.channel.model), problem)
    })?;
    refuse_changing(radio, nr_blocks::PHY)?;
    Ok((links, radio))
}

fn metrics(hop: &HopSetup, radio: &RadioConfig, counts: &Counts) -> Metrics {
    let first = counts.attempts[0];
    let bits = counts.frames * u64::from(radio.phy.frame_bits);
    let (sent, lost) = counts.attempts.iter().fold((0, counts.frames), |(sent, left), attempt| {
        // Frames that were accepted are not retransmitted.
        (sent + left, attempt.residual)
    });
    let accepted = counts.frames - lost;
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    let rate_bps = hop.rate_bps().unwrap_or_default();
    let mut metrics: Metrics = [
        ("frame_errors", first.frame_errors as f64),
        ("frame_transmissions", counts.frames as f64),
        ("frame_error_rate", share(first.frame_errors, counts.frames)),
        ("bit_errors", first.bit_errors as f64),
        ("bits_sent", bits as f64),
        ("bit_error_rate", share(first.bit_errors, bits)),
        ("frames_given_up", lost as f64),
        ("frames_delivered", accepted as f64),
        ("residual_frame_error_rate", share(lost, counts.frames)),
        ("frame_transmissions_per_frame", share(sent, counts.frames)),
        ("effective_rate_bps", rate_bps * share(accepted, sent)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    metrics.extend(radio.is_independent().then(|| (INDEPENDENT.to_owned(), 1.0)));
    if radio.phy.combining.is_some() {
        let combined = counts.attempts.iter().zip(1..);
        metrics.extend(
            combined.map(|(attempt, n)| (format!("{COMBINED_ERRORS}{n}"), attempt.combined_errors as f64)),
        );
    }
    let residual = counts.attempts.iter().zip(1..);
    metrics.extend(residual.map(|(attempt, n)| (format!("{NOT_ACCEPTED}{n}"), attempt.residual as f64)));
    metrics
}
