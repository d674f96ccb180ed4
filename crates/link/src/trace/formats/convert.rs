//! Conversion of recordings between formats in two passes: the first collects losses of information, the second writes.

use super::format::Format;
use super::item::{AtEnd, Item, Step, Whole};
use super::leo_replayer;
use super::losses::{Carries, Losses, Quantity};
use super::mahimahi;
use super::netem_trace::{self, Kind};
use super::steps::{AsSteps, both};
use super::tables::{self, Columns};
use super::tc;
use super::theaterq;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Part of a link that has a file of its own, in formats with several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole link, in formats with a single file.
    Whole,
    /// File of the capacity.
    Capacity,
    /// File of the delays.
    Delay,
    /// File of the losses.
    Loss,
}

impl Part {
    /// Suffix that distinguishes the file of this part from the others; empty for a single file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Capacity => "bw",
            Self::Delay => "delay",
            Self::Loss => "loss",
        }
    }

    /// True if a fact of a recording concerns this part.
    fn is_said_by(self, item: &Item) -> bool {
        match (self, item) {
            (Self::Whole, _)
            | (Self::Capacity, Item::Opportunity { .. })
            | (Self::Delay, Item::Train { .. }) => true,
            (Self::Capacity, Item::Step(step)) => step.rate_bps.is_some(),
            (Self::Delay, Item::Step(step)) => step.delay.is_some(),
            (Self::Loss, Item::Step(step)) => step.loss.is_some(),
            _ => false,
        }
    }
}

/// Number of bytes passed on at once when a file is written.
const CHUNK: usize = 1 << 16;

/// Conversion of the recordings of one direction of a link to another format.
///
/// First each text is read to its end ([`look`](Self::look), [`end`](Self::end)), which shows what the new format
/// cannot hold. Then the texts are read again ([`write`](Self::write)), once for each of the [`parts`](Self::parts).
/// The texts are not kept in memory.
pub struct Conversion {
    to: Format,
    losses: Losses,
    entries: theaterq::Writer,
    /// Duration of the recordings, the longest one.
    lasts: SimTime,
    at_end: AtEnd,
    /// Kind of capacity found in the recordings.
    capacity: Capacity,
    has_delay: bool,
    has_loss: bool,
    /// Number of lines that steps will take, in formats with one line per packet or interval.
    lines: f64,
}

/// Kind of capacity in recordings; if there are several, the last of these counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Capacity {
    Nothing,
    Rates,
    /// Rates, of which some are without a limit.
    Unlimited,
    Opportunities,
}

/// Greatest number of lines in a file of capacities or delays.
const MOST_LINES: f64 = 1e8;

impl Conversion {
    /// Creates a conversion to `format`; `None` if Crossfade does not write this format.
    pub fn to(format: Format) -> Option<Self> {
        format.is_written().then(|| Self {
            to: format,
            losses: Losses::default(),
            entries: theaterq::Writer::default(),
            lasts: SimTime::ZERO,
            at_end: AtEnd::Unsaid,
            capacity: Capacity::Nothing,
            has_delay: false,
            has_loss: false,
            lines: 0.0,
        })
    }

    /// Takes a fact of one of the texts in the first pass.
    pub fn look(&mut self, item: &Item) {
        self.losses.look(item, carries(self.to));
        match item {
            Item::Opportunity { time, .. } => {
                self.capacity = Capacity::Opportunities;
                let is_whole = time.as_nanos().is_multiple_of(1_000_000);
                self.losses.when(is_of_opportunities(self.to) && !is_whole, "times within a millisecond");
            }
            Item::Train { .. } => self.has_delay = true,
            Item::Step(step) => {
                self.has_delay |= step.delay.is_some();
                self.has_loss |= step.loss.is_some();
                self.capacity = self.capacity.max(match step.rate_bps {
                    None => Capacity::Nothing,
                    Some(rate) if rate.is_finite() => Capacity::Rates,
                    Some(_) => Capacity::Unlimited,
                });
                self.look_at_step(step);
            }
            Item::Sent { .. } | Item::Arrived { .. } => {}
        }
    }

    fn look_at_step(&mut self, step: &Step) {
        let on = |unit: SimTime, time: SimTime| time.as_nanos().is_multiple_of(unit.as_nanos());
        let all_on = |unit: SimTime| on(unit, step.time) && step.lasts.is_none_or(|lasts| on(unit, lasts));
        let lasts_s = step.lasts.map_or(1.0, SimTime::as_secs_f64);
        if is_of_opportunities(self.to) {
            let rate_bps = step.rate_bps.filter(|rate| rate.is_finite()).unwrap_or(0.0);
            self.lines += rate_bps * lasts_s / (8.0 * f64::from(mahimahi::BYTES));
        }
        if matches!(self.to, Format::TheaterQ | Format::Tc) || is_pattern(self.to) {
            let rate = step.rate_bps.unwrap_or_default();
            self.losses.when(rate.is_finite() && rate.fract() != 0.0, "fractions of a bit/s");
            let is_outage = self.to == Format::Tc && step.rate_bps == Some(0.0);
            self.losses.when(is_outage, "outages (they become losses of all packets)");
        }
        match (self.to, step.delay) {
            (Format::TheaterQ, _) => {
                self.entries.plan(step);
                self.losses.when(!all_on(SimTime::from_micros(1)), "times within a microsecond");
            }
            (Format::LeoReplayer, Some(delay)) => {
                self.lines += lasts_s / leo_replayer::INTERVAL.as_secs_f64();
                self.losses.when(!all_on(leo_replayer::INTERVAL), "when within 10 ms a delay changes");
                let is_whole = on(SimTime::from_millis(1), delay);
                self.losses.when(!is_whole, "parts of a millisecond of delays");
            }
            _ => {}
        }
    }

    /// Takes the facts about a whole text at its end in the first pass.
    pub fn end(&mut self, whole: &Whole) {
        // Files of their own end each at its time.
        if self.lasts > SimTime::ZERO && self.lasts != whole.lasts && !has_several(self.to) {
            self.losses.add("that its parts end at different times");
        }
        self.lasts = self.lasts.max(whole.lasts);
        if self.at_end == AtEnd::Unsaid {
            self.at_end = whole.at_end;
        }
        self.losses.look_at_end(whole.at_end, ends(self.to, whole.at_end));
    }

    /// Files that the content of the texts requires in the new format.
    pub fn parts(&self) -> Vec<Part> {
        if !has_several(self.to) {
            return vec![Part::Whole];
        }
        let has_loss = self.has_loss && is_pattern(self.to);
        let parts = [
            (Part::Capacity, self.capacity > Capacity::Nothing),
            (Part::Delay, self.has_delay),
            (Part::Loss, has_loss),
        ];
        parts.into_iter().filter_map(|(part, said)| said.then_some(part)).collect()
    }

    /// Information that the conversion loses, known after the first pass.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Checks that the texts have the content that the new format requires, and not too much of it.
    ///
    /// # Errors
    /// If content is missing, or the new text would have more than 10^8 lines.
    pub fn check(&self) -> Result<(), String> {
        if self.lines > MOST_LINES {
            return Err(format!(
                "it would have {:.1e} lines: at most {MOST_LINES:.0e} are written",
                self.lines
            ));
        }
        let needs = |said: bool, what: &str| if said { Ok(()) } else { Err(format!("it says no {what}")) };
        match self.to {
            Format::TheaterQ | Format::Tc => Ok(()),
            Format::Delays => needs(self.has_delay, "delay"),
            _ if self.capacity == Capacity::Unlimited => Err("it has a rate without a limit".to_owned()),
            Format::Mahimahi | Format::Rates => needs(self.capacity > Capacity::Nothing, "capacity"),
            _ => needs(!self.parts().is_empty(), "capacity and no delay"),
        }
    }

    /// Writes the file of one part, in the second pass, from the facts of all texts, which are read side by side.
    /// `take` receives the written text in pieces.
    ///
    /// # Errors
    /// The errors of the texts and of `take`.
    pub fn write<S, E>(
        &self,
        part: Part,
        texts: Vec<S>,
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E>
    where
        S: Iterator<Item = Result<Item, E>>,
    {
        let mut out = String::new();
        let mut hand_over = |out: &mut String, least: usize| {
            if out.len() > least {
                take(out)?;
                out.clear();
            }
            Ok(())
        };
        if is_of_opportunities(self.to) && part != Part::Delay {
            self.opportunities(texts, |out| hand_over(out, CHUNK), &mut out)?;
            return hand_over(&mut out, 0);
        }
        let mut writer = Writer::of(self, part);
        writer.begin(self, &mut out);
        // A text that says nothing of this part has no share in when its file ends.
        let is_other = |item: &Result<Item, E>| item.as_ref().is_ok_and(|item| !part.is_said_by(item));
        let mut timeline = Timeline::new(texts.into_iter().map(|text| text.skip_while(is_other)).collect());
        while let Some(step) = timeline.next_step()? {
            writer.step(&step, &mut out);
            hand_over(&mut out, CHUNK)?;
        }
        writer.end(&mut out);
        hand_over(&mut out, 0)
    }

    /// Writes opportunities: those of the text that has them, or otherwise those that the rates amount to.
    fn opportunities<S, E>(
        &self,
        texts: Vec<S>,
        mut hand_over: impl FnMut(&mut String) -> Result<(), E>,
        out: &mut String,
    ) -> Result<(), E>
    where
        S: Iterator<Item = Result<Item, E>>,
    {
        let mut of_rates = mahimahi::Writer::default();
        for item in texts.into_iter().flatten() {
            match item? {
                Item::Opportunity { time, .. } => mahimahi::Writer::opportunity(time, out),
                Item::Step(step) if self.capacity != Capacity::Opportunities => of_rates.step(&step, out),
                _ => {}
            }
            hand_over(out)?;
        }
        Ok(())
    }
}

/// True for the pattern formats of rattan and netem-trace.
fn is_pattern(format: Format) -> bool {
    matches!(format, Format::NetemTrace | Format::NetemTraceToml)
}

/// True for formats with a separate file for each part of a link.
fn has_several(format: Format) -> bool {
    format == Format::LeoReplayer || is_pattern(format)
}

/// True for formats that describe capacity by delivery opportunities.
fn is_of_opportunities(format: Format) -> bool {
    matches!(format, Format::Mahimahi | Format::LeoReplayer)
}

/// Writer of steps in one of the formats.
enum Writer<'a> {
    Table(tables::Writer),
    Delays(leo_replayer::Writer),
    Entries(&'a theaterq::Writer),
    Script(tc::Writer),
    Pattern(netem_trace::Writer),
}

impl<'a> Writer<'a> {
    fn of(conversion: &'a Conversion, part: Part) -> Self {
        let kind = match part {
            Part::Delay => Kind::Delay,
            Part::Loss => Kind::Loss,
            Part::Whole | Part::Capacity => Kind::Rate,
        };
        match conversion.to {
            Format::Rates => Self::Table(tables::Writer::new(Columns::Rates)),
            Format::Delays => Self::Table(tables::Writer::new(Columns::Delays)),
            Format::Tc => Self::Script(tc::Writer::new(conversion.at_end == AtEnd::Loop)),
            to if is_pattern(to) => {
                let is_toml = to == Format::NetemTraceToml;
                Self::Pattern(netem_trace::Writer::new(kind, is_toml, conversion.at_end))
            }
            Format::LeoReplayer => Self::Delays(leo_replayer::Writer::default()),
            _ => Self::Entries(&conversion.entries),
        }
    }

    fn begin(&self, conversion: &Conversion, out: &mut String) {
        match self {
            Self::Table(table) => {
                table.begin((conversion.at_end == AtEnd::Loop).then_some(conversion.lasts), out);
            }
            Self::Delays(_) => {}
            Self::Entries(entries) => entries.begin(out),
            Self::Script(script) => script.begin(out),
            Self::Pattern(pattern) => pattern.begin(out),
        }
    }

    fn step(&mut self, step: &Step, out: &mut String) {
        // Write one second of a step that lasts forever.
        let lasts = step.lasts.unwrap_or(SimTime::from_millis(1000));
        match self {
            Self::Table(table) => table.step(step, out),
            Self::Delays(delays) => delays.step(step, out),
            Self::Entries(entries) => entries.step(step, lasts, out),
            Self::Script(script) => script.step(step, out),
            Self::Pattern(pattern) => pattern.step(step, lasts, out),
        }
    }

    fn end(&self, out: &mut String) {
        match self {
            Self::Script(script) => script.end(out),
            Self::Pattern(pattern) => pattern.end(out),
            Self::Table(_) | Self::Delays(_) | Self::Entries(_) => {}
        }
    }
}

/// Kinds of facts that a format can hold.
fn carries(format: Format) -> Carries {
    const ALL: &[Quantity] = &[Quantity::Rate, Quantity::Delay, Quantity::Loss, Quantity::Packets];
    match format {
        Format::Mahimahi => Carries::OPPORTUNITIES,
        Format::LeoReplayer => Carries::OPPORTUNITIES_DELAY,
        Format::TheaterQ => Carries { quantities: ALL, extras: theaterq::Writer::EXTRAS },
        Format::Tc => Carries { quantities: ALL, extras: tc::Writer::EXTRAS },
        Format::NetemTrace | Format::NetemTraceToml => {
            Carries { extras: netem_trace::Writer::EXTRAS, ..Carries::RATE_DELAY_LOSS }
        }
        Format::Rates => Carries::RATE_DELAY_LOSS,
        _ => Carries::DELAY,
    }
}

/// Behaviour after the end of a recording in this format; `said` is the behaviour of the original recording.
fn ends(format: Format, said: AtEnd) -> AtEnd {
    match (format, said) {
        (Format::Mahimahi | Format::LeoReplayer, _) | (Format::Rates | Format::Delays, AtEnd::Loop) => {
            AtEnd::Loop
        }
        (Format::Tc, AtEnd::Loop) => AtEnd::Loop,
        (Format::Rates | Format::Delays | Format::Tc, _) => AtEnd::Hold,
        // Whoever plays it once stops at the end.
        (Format::NetemTrace | Format::NetemTraceToml, AtEnd::Hold) => AtEnd::Rounds(1),
        (Format::NetemTrace | Format::NetemTraceToml, said) => said,
        _ => AtEnd::Unsaid,
    }
}

/// Steps of several texts, merged in order of time.
struct Timeline<S> {
    tracks: Vec<Track<S>>,
    now: SimTime,
}

/// Steps of one text.
struct Track<S> {
    items: S,
    as_steps: AsSteps,
    steps: VecDeque<Step>,
    has_ended: bool,
    current: Option<Step>,
}

impl<S, E> Track<S>
where
    S: Iterator<Item = Result<Item, E>>,
{
    /// The step after the current one; `None` at the end.
    fn next(&mut self) -> Result<Option<&Step>, E> {
        while self.steps.is_empty() && !self.has_ended {
            if let Some(item) = self.items.next() {
                self.as_steps.push(item?, &mut self.steps);
            } else {
                self.as_steps.finish(&mut self.steps);
                self.has_ended = true;
            }
        }
        Ok(self.steps.front())
    }

    fn advance(&mut self) -> Result<(), E> {
        self.next()?;
        if let Some(step) = self.steps.pop_front() {
            self.current = Some(step);
        }
        Ok(())
    }
}

impl<S, E> Timeline<S>
where
    S: Iterator<Item = Result<Item, E>>,
{
    fn new(texts: Vec<S>) -> Self {
        let track = |items| Track {
            items,
            as_steps: AsSteps::default(),
            steps: VecDeque::new(),
            has_ended: false,
            current: None,
        };
        Self { tracks: texts.into_iter().map(track).collect(), now: SimTime::ZERO }
    }

    /// Next step of the merged texts, which lasts until a value changes in one of them. The values of the first step
    /// also hold before it.
    fn next_step(&mut self) -> Result<Option<Step>, E> {
        if self.tracks.iter().all(|track| track.current.is_none()) {
            for track in &mut self.tracks {
                track.advance()?;
            }
        }
        if self.now == SimTime::MAX {
            return Ok(None);
        }
        let mut change = None;
        let mut end = None;
        for track in &mut self.tracks {
            if let Some(next) = track.next()?.map(|step| step.time) {
                change = Some(change.map_or(next, |change: SimTime| change.min(next)));
            } else if let Some(step) = &track.current {
                end = end.max(step.lasts.map(|lasts| step.time.saturating_add(lasts)));
            }
        }
        let mut current = self.tracks.iter().filter_map(|track| track.current.as_ref());
        let Some(first) = current.next() else { return Ok(None) };
        let mut step = current.fold(first.clone(), |sum, step| both(&sum, step));
        step.time = self.now;
        let Some(change) = change else {
            step.lasts = end.filter(|end| *end > self.now).map(|end| end - self.now);
            self.now = SimTime::MAX;
            return Ok(Some(step));
        };
        for track in &mut self.tracks {
            while track.next()?.is_some_and(|step| step.time <= change) {
                track.advance()?;
            }
        }
        if change <= self.now {
            return self.next_step();
        }
        step.lasts = Some(change - self.now);
        self.now = change;
        Ok(Some(step))
    }
}
