//! From one format to another, in two passes: the first looks at what would be lost, the second writes.

use super::format::Format;
use super::item::{AtEnd, Item, Step, Whole};
use super::leo_replayer;
use super::losses::{Carries, Losses, Quantity};
use super::mahimahi;
use super::steps::{AsSteps, both};
use super::tables::{self, Columns};
use super::theaterq;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// So many bytes are written at once.
const CHUNK: usize = 1 << 16;

/// A conversion of the texts about one way of a link.
///
/// First each text is looked at, to its end ([`look`](Self::look), [`end`](Self::end)); then what would be lost is known, and the texts are
/// read again ([`write`](Self::write)). Nothing of them is kept.
pub struct Conversion {
    to: Format,
    losses: Losses,
    entries: theaterq::Writer,
    /// How long the capacity, or else the longest text, lasts.
    lasts: SimTime,
    at_end: AtEnd,
    /// What the texts say.
    capacity: Capacity,
    has_delay: bool,
    /// Lines that steps become, in formats of one line a packet or an interval.
    lines: f64,
}

/// What texts say of a capacity: of several the last of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Capacity {
    Nothing,
    Rates,
    /// A rate without a limit among them.
    Unlimited,
    Opportunities,
}

/// No file of a capacity or of delays has more lines.
const MOST_LINES: f64 = 1e8;

impl Conversion {
    /// To that format; `None` of one that is not written.
    pub fn to(format: Format) -> Option<Self> {
        format.is_written().then(|| Self {
            to: format,
            losses: Losses::default(),
            entries: theaterq::Writer::default(),
            lasts: SimTime::ZERO,
            at_end: AtEnd::Unsaid,
            capacity: Capacity::Nothing,
            has_delay: false,
            lines: 0.0,
        })
    }

    /// Looks at a fact of one of the texts.
    pub fn look(&mut self, item: &Item) {
        self.losses.look(item, carries(self.to));
        match item {
            Item::Opportunity { time, .. } => {
                self.capacity = Capacity::Opportunities;
                let is_whole = time.as_nanos().is_multiple_of(1_000_000);
                self.losses.when(self.to == Format::Mahimahi && !is_whole, "times within a millisecond");
            }
            Item::Train { .. } => self.has_delay = true,
            Item::Step(step) => {
                self.has_delay |= step.delay.is_some();
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
        let lasts_on = |unit: SimTime| step.lasts.is_none_or(|lasts| on(unit, lasts));
        let lasts_s = step.lasts.map_or(1.0, SimTime::as_secs_f64);
        match self.to {
            Format::Mahimahi => {
                let rate_bps = step.rate_bps.filter(|rate| rate.is_finite()).unwrap_or(0.0);
                self.lines += rate_bps * lasts_s / (8.0 * f64::from(mahimahi::BYTES));
            }
            Format::TheaterQ => {
                self.entries.plan(step);
                let us = SimTime::from_micros(1);
                self.losses.when(!on(us, step.time) || !lasts_on(us), "times within a microsecond");
            }
            Format::LeoDelays => {
                let interval = leo_replayer::INTERVAL;
                self.lines += lasts_s / interval.as_secs_f64();
                let changes = !on(interval, step.time) || !lasts_on(interval);
                self.losses.when(changes, "when within 10 ms a delay changes");
                let is_whole = step.delay.is_none_or(|delay| on(SimTime::from_millis(1), delay));
                self.losses.when(!is_whole, "parts of a millisecond of delays");
            }
            _ => {}
        }
    }

    /// Looks at what a text says as a whole.
    pub fn end(&mut self, whole: &Whole) {
        if self.lasts > SimTime::ZERO && self.lasts != whole.lasts {
            self.losses.add("that its parts end at different times");
        }
        self.lasts = self.lasts.max(whole.lasts);
        if self.at_end == AtEnd::Unsaid {
            self.at_end = whole.at_end;
        }
        self.losses.look_at_end(whole.at_end, ends(self.to, whole.at_end));
    }

    /// What would be lost.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Whether the texts say what the format cannot be without, and not too much of it.
    ///
    /// # Errors
    /// What they do not say, or that the text would have more than 10^8 lines.
    pub fn check(&self) -> Result<(), String> {
        if self.lines > MOST_LINES {
            return Err(format!(
                "it would have {:.1e} lines: at most {MOST_LINES:.0e} are written",
                self.lines
            ));
        }
        match (self.to, self.capacity) {
            (Format::Mahimahi, Capacity::Nothing) => Err("it says no capacity".to_owned()),
            (Format::Rates, Capacity::Nothing) => Err("it says no rate".to_owned()),
            (Format::Mahimahi | Format::Rates, Capacity::Unlimited) => {
                Err("it has a rate without a limit".to_owned())
            }
            (Format::LeoDelays | Format::Delays, _) if !self.has_delay => Err("it says no delay".to_owned()),
            _ => Ok(()),
        }
    }

    /// Writes what the texts say together, each the facts of one text; they are read side by side.
    ///
    /// # Errors
    /// Those of the texts and of `take`.
    pub fn write<S, E>(&self, texts: Vec<S>, mut take: impl FnMut(&str) -> Result<(), E>) -> Result<(), E>
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
        if self.to == Format::Mahimahi {
            self.opportunities(texts, |out| hand_over(out, CHUNK), &mut out)?;
            return hand_over(&mut out, 0);
        }
        let table = match self.to {
            Format::Rates => Some(tables::Writer::new(Columns::Rates)),
            Format::Delays => Some(tables::Writer::new(Columns::Delays)),
            _ => None,
        };
        let mut delays = leo_replayer::Writer::default();
        match &table {
            Some(table) => table.begin((self.at_end == AtEnd::Loop).then_some(self.lasts), &mut out),
            None if self.to == Format::TheaterQ => self.entries.begin(&mut out),
            None => {}
        }
        let mut timeline = Timeline::new(texts);
        while let Some(step) = timeline.next_step()? {
            match (&table, self.to) {
                (Some(table), _) => table.step(&step, &mut out),
                (None, Format::LeoDelays) => delays.step(&step, &mut out),
                _ => {
                    let lasts = step.lasts.unwrap_or(SimTime::from_millis(1000));
                    self.entries.step(&step, lasts, &mut out);
                }
            }
            hand_over(&mut out, CHUNK)?;
        }
        hand_over(&mut out, 0)
    }

    /// The opportunities of the text that has them, or else those of its rates.
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

/// What a format can say.
fn carries(format: Format) -> Carries {
    match format {
        Format::Mahimahi => Carries::OPPORTUNITIES,
        Format::TheaterQ => {
            const QUANTITIES: [Quantity; 4] =
                [Quantity::Rate, Quantity::Delay, Quantity::Loss, Quantity::Packets];
            Carries { quantities: &QUANTITIES, extras: theaterq::Writer::EXTRAS }
        }
        Format::Rates => Carries::RATE_DELAY_LOSS,
        _ => Carries::DELAY,
    }
}

/// What follows the end of a text of that format, where `said` is what shall.
fn ends(format: Format, said: AtEnd) -> AtEnd {
    match (format, said) {
        (Format::Mahimahi | Format::LeoDelays, _) | (Format::Rates | Format::Delays, AtEnd::Loop) => {
            AtEnd::Loop
        }
        (Format::Rates | Format::Delays, _) => AtEnd::Hold,
        _ => AtEnd::Unsaid,
    }
}

/// The steps of several texts, side by side.
struct Timeline<S> {
    tracks: Vec<Track<S>>,
    now: SimTime,
}

/// The steps of a text.
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
    /// The step after the current one, if there is one.
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

    /// What holds until something changes, and then what holds from then on. Before its first step a text says what that says.
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
