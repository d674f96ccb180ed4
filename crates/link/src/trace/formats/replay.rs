//! Parts of a recording that a link can follow: opportunities, rates or delays.

use super::detect::Detector;
use super::format::Format;
use super::item::{AtEnd, Direction, Extra, Item, Step, Whole};
use super::reader::{Assumed, read};
use crate::trace::{DelaySeries, Interpolation, OpportunityTrace, RateRow, RateTable, TraceError};
use crossfade_core::SimTime;
use std::collections::BTreeSet;

/// Greatest number of rows of a table that is played several times.
const MOST_ROWS: u64 = 1_000_000;

/// Part of a recording that a link can follow, with its duration and what the link ignores.
#[derive(Clone, Debug)]
pub struct Recorded<T> {
    /// Opportunities, rates or delays that the link follows.
    pub part: T,
    /// Duration of the part; `None` if the text does not state it.
    pub lasts: Option<SimTime>,
    /// True if the text states that the part begins again after its end.
    pub loops: bool,
    /// Names of properties in the recording that a link does not follow.
    pub unused: Vec<&'static str>,
}

/// Format of a whole text, from its content.
///
/// # Errors
/// If the text has no known format.
pub fn detect(text: &str) -> Result<Format, TraceError> {
    let mut detector = Detector::default();
    for chunk in text.as_bytes().chunks(1 << 16) {
        if !detector.push(chunk)? {
            break;
        }
    }
    detector.finish()
}

/// Reads delivery opportunities. A line of one number is always taken as a time, so a number below the one before is an
/// error.
///
/// # Errors
/// If the text has no opportunities.
pub fn opportunities(text: &str) -> Result<OpportunityTrace, TraceError> {
    match detect(text) {
        Ok(Format::Mahimahi | Format::LeoReplayer) | Err(_) => text.parse(),
        Ok(other) => Err(wrong_kind(other, "delivery opportunities")),
    }
}

fn wrong_kind(found: Format, wanted: &str) -> TraceError {
    TraceError::nowhere(format!("must hold {wanted}: it is of format {} ({})", found.name(), found.title()))
}

/// Reads rates, delays and losses of one direction as a table.
///
/// # Errors
/// If a line is wrong, the text has no rates or an unlimited one, or it has both directions and `way` is `None`.
pub fn rates(text: &str, way: Option<Direction>) -> Result<Recorded<RateTable>, TraceError> {
    let format = match detect(text) {
        Ok(format @ (Format::Mahimahi | Format::LeoReplayer | Format::Tunnel)) => {
            return Err(wrong_kind(format, "rates"));
        }
        // A text in no known format: the reader of opportunities reports the error.
        Ok(Format::Rates | Format::Delays) | Err(_) => {
            let part: RateTable = text.parse()?;
            let period = read(Format::Rates, Assumed::default(), text).ok().map(|(_, whole)| whole);
            let period = period.filter(|whole| whole.at_end == AtEnd::Loop).map(|whole| whole.lasts);
            return Ok(Recorded { part, lasts: period, loops: period.is_some(), unused: Vec::new() });
        }
        Ok(format) => format,
    };
    let (steps, whole) = steps(format, text, way)?;
    let mut rows = Vec::new();
    for step in &steps {
        let rate = step.rate_bps.ok_or_else(|| wrong_kind(format, "rates"))?;
        if rate.is_infinite() {
            let at = step.time.as_secs_f64();
            return Err(TraceError::nowhere(format!("the rate at {at:?} s has no limit: a link needs one")));
        }
        let loss = step.loss.unwrap_or(0.0);
        rows.push(RateRow { time: step.time, rate_bps: rate, delay: step.delay.unwrap_or_default(), loss });
    }
    let lasts = end_of(&steps);
    if let (AtEnd::Rounds(rounds), Some(lasts)) = (whole.at_end, lasts) {
        rows = rounds_of(&rows, rounds, lasts)?;
    }
    let lasts =
        if let AtEnd::Rounds(rounds) = whole.at_end { lasts.map(|lasts| lasts * rounds) } else { lasts };
    let part = RateTable::new(rows)?;
    Ok(Recorded { part, lasts, loops: whole.at_end == AtEnd::Loop, unused: unused(&steps) })
}

/// Time at which the last step ends; `None` if it lasts forever.
fn end_of(steps: &[Step]) -> Option<SimTime> {
    steps.last().and_then(|step| Some(step.time + step.lasts?))
}

fn rounds_of(rows: &[RateRow], rounds: u64, lasts: SimTime) -> Result<Vec<RateRow>, TraceError> {
    if rounds.saturating_mul(rows.len() as u64) > MOST_ROWS {
        let problem = format!("{rounds} rounds of {} rows: at most {MOST_ROWS} rows are played", rows.len());
        return Err(TraceError::nowhere(problem));
    }
    let round = |number: u64| rows.iter().map(move |row| RateRow { time: row.time + lasts * number, ..*row });
    Ok((0..rounds).flat_map(round).collect())
}

/// Names of properties in `steps` that a link does not follow, each once.
fn unused(steps: &[Step]) -> Vec<&'static str> {
    let extras: BTreeSet<Extra> =
        steps.iter().flat_map(|step| step.extras.iter().map(|(extra, _)| *extra)).collect();
    let queue = steps.iter().any(|step| step.queue.is_some()).then_some("queue limits");
    queue.into_iter().chain(extras.into_iter().map(Extra::name)).collect()
}

/// Reads the propagation delays of one direction over time.
///
/// # Errors
/// If a line is wrong, the text has no delays, or it has both directions and `way` is `None`.
pub fn delays(text: &str, way: Option<Direction>) -> Result<Recorded<DelaySeries>, TraceError> {
    let format = match detect(text) {
        // Delays that never decrease look like times.
        Ok(Format::Mahimahi) => Format::LeoReplayer,
        Ok(Format::Delays | Format::Rates) | Err(_) => {
            let part: DelaySeries = text.parse()?;
            return Ok(Recorded { part, lasts: None, loops: false, unused: Vec::new() });
        }
        Ok(format @ Format::Tunnel) => return Err(wrong_kind(format, "delays")),
        Ok(format) => format,
    };
    if format == Format::CellReplayLight {
        let (told, whole) = read(format, Assumed::default(), text)?;
        let mut rows: Vec<(SimTime, SimTime)> = Vec::new();
        for (_, item) in told {
            if let Item::Train { time, delay, .. } = item {
                // Of two trains at one time the later one counts.
                rows.pop_if(|row| row.0 == time);
                rows.push((time, delay));
            }
        }
        let part = DelaySeries::new(rows)?.interpolated(Interpolation::Linear);
        return Ok(Recorded { part, lasts: Some(whole.lasts), loops: true, unused: vec!["trains"] });
    }
    let (steps, whole) = steps(format, text, way)?;
    let rows = steps.iter().map(|step| {
        let delay = step.delay.ok_or_else(|| wrong_kind(format, "delays"))?;
        Ok((step.time, delay))
    });
    let part = DelaySeries::new(rows.collect::<Result<_, TraceError>>()?)?;
    let mut unused = unused(&steps);
    if steps.iter().any(|step| step.rate_bps.is_some()) {
        unused.push("rates");
    }
    if steps.iter().any(|step| step.loss.is_some_and(|loss| loss > 0.0)) {
        unused.push("losses");
    }
    Ok(Recorded { part, lasts: end_of(&steps), loops: whole.at_end == AtEnd::Loop, unused })
}

/// Steps that concern the direction `way`, and the facts about the whole text.
fn steps(format: Format, text: &str, way: Option<Direction>) -> Result<(Vec<Step>, Whole), TraceError> {
    let (told, whole) = read(format, Assumed::default(), text)?;
    let differs = told.iter().any(|(direction, _)| *direction != Direction::Both);
    if differs && way.is_none() {
        return Err(TraceError::nowhere("it says both ways: direction must be up or down"));
    }
    let of_way =
        told.into_iter().filter(|(direction, _)| *direction == Direction::Both || Some(*direction) == way);
    let steps: Vec<Step> =
        of_way.filter_map(|(_, item)| if let Item::Step(step) = item { Some(step) } else { None }).collect();
    if steps.is_empty() {
        return Err(wrong_kind(format, "rates or delays"));
    }
    Ok((steps, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn any_format_with_rates_is_a_table() {
        let table =
            rates("100000,20000000,2000000,0,100\n300000,40000000,1000000,4294967295,50\n", None).unwrap();
        let row =
            |millis, rate_bps, delay, loss| RateRow { time: MS * millis, rate_bps, delay: MS * delay, loss };
        assert_eq!(table.part.rows(), [row(0, 2e6, 20, 0.0), row(100, 1e6, 40, 1.0)]);
        assert_eq!((table.lasts, table.loops, table.unused), (Some(MS * 400), false, vec!["queue limits"]));
        let tc = rates("delay 40ms 5ms loss 1% rate 20mbit limit 100", None).unwrap();
        assert_eq!((tc.part.rows(), tc.lasts), (&[row(0, 20e6, 40, 0.01)][..], None));
        assert_eq!(tc.unused, ["queue limits", "jitter_s"]);
        let of_rounds = "{\"RepeatedBwPatternConfig\": {\"pattern\": [{\"StaticBwConfig\": {\"bw\": \"1Mbps\"}}], \"count\": 3}}";
        let of_rounds = rates(of_rounds, None).unwrap();
        let times: Vec<SimTime> = of_rounds.part.rows().iter().map(|row| row.time).collect();
        assert_eq!((times, of_rounds.lasts), (vec![SimTime::ZERO, MS * 1000, MS * 2000], Some(MS * 3000)));
        let own = rates("# period_s 15\ntime_s,rate_bps,delay_s,loss\n0,1e6,0,0\n", None).unwrap();
        assert_eq!((own.lasts, own.loops), (Some(MS * 15_000), true));
        let drops =
            "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=10 --rate_to_server=20";
        let down = rates(drops, Some(Direction::Down)).unwrap();
        assert_eq!(down.part.rows(), [row(0, 10e6, 15, 0.1)]);
    }

    #[test]
    fn any_format_with_delays_is_a_series() {
        let ms = |recorded: &Recorded<DelaySeries>, at: u64| recorded.part.at(MS * at).as_secs_f64() * 1e3;
        let leo = delays("20\n21\n19\n", None).unwrap();
        assert_eq!([ms(&leo, 0), ms(&leo, 15), ms(&leo, 25)], [20.0, 21.0, 19.0]);
        assert_eq!((leo.lasts, leo.loops), (Some(MS * 30), true));
        // The numbers would be valid times, too.
        assert_eq!(ms(&delays("20\n20\n21\n", None).unwrap(), 25), 21.0);
        let trains = delays("0 20 0 1\n100 40 0\n200 40 0\n", None).unwrap();
        assert_eq!((ms(&trains, 50), trains.unused), (30.0, vec!["trains"]));
        let table = delays("100000,20000000,2000000,0,100\n", None).unwrap();
        assert_eq!((ms(&table, 7), table.unused), (20.0, vec!["queue limits", "rates"]));
    }

    #[test]
    fn what_a_link_cannot_follow_is_refused() {
        let of_rates = |text: &str| rates(text, None).unwrap_err().to_string();
        assert_eq!(
            of_rates("5\n10\n"),
            "must hold rates: it is of format mahimahi (delivery opportunities of mahimahi, or the capacity of LeoReplayer)"
        );
        assert_eq!(of_rates("1000,0,-1,0,0\n"), "the rate at 0.0 s has no limit: a link needs one");
        let drops =
            "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=10 --rate_to_server=20";
        assert_eq!(of_rates(drops), "it says both ways: direction must be up or down");
        assert_eq!(
            of_rates("0 25 0\n9 20 0\n10 20 0\n"),
            "must hold rates or delays: it is of format cellreplay-light (short trains of CellReplay)"
        );
        let error = |text: &str| opportunities(text).unwrap_err().to_string();
        assert_eq!(error("9\n4\n"), "line 2: 4: must be at least 9, the time before it");
        assert_eq!(
            error("1000,0,1,0,0\n"),
            "must hold delivery opportunities: it is of format theaterq (table of TheaterQ)"
        );
    }
}
