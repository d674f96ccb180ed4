//! Lines and scripts of `tc qdisc ... netem` (tc-netem(8)): one state of a link, or several with `sleep` between them.
//! A command may continue on the next line after a `\`; `;` or `&&` separate commands on a line.
//!
//! As in the kernel (`netem_change` of `sch_netem.c`), the queue holds 1000 packets if no `limit` is given, a `gap`
//! without `reorder` reorders with probability 1, and a `change` or `replace` keeps properties with a netlink attribute
//! of their own that are not given: the rate, the share of corrupted packets, the correlations and the distribution.

use super::item::{AtEnd, Direction, Extra, Found, Item, Room, Step, Whole};
use super::line::{Lines, later};
use super::units::{SLEEPS, TC_RATES, TC_TIMES, quantity, rate, time, time_text};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Queue limit of netem in packets if none is given.
const LIMIT: u64 = 1000;
/// Greatest queue limit of netem, which stands for no limit.
const NO_LIMIT: u64 = u32::MAX as u64;
/// Greatest number of bytes of a command over several lines.
const LONGEST_COMMAND: usize = 1 << 16;
/// Distributions of the jitter, in the order of [`Extra::JitterDistribution`].
const DISTRIBUTIONS: [&str; 4] = ["uniform", "normal", "pareto", "paretonormal"];
/// Properties beside the rate that a change keeps, each with the property without which it has no effect.
const KEPT: [(Extra, About); 4] = [
    (Extra::Corrupt, About::Itself),
    (Extra::LossCorrelation, About::Loss),
    (Extra::JitterCorrelation, About::Jitter),
    (Extra::JitterDistribution, About::Jitter),
];
/// Words with which arguments of netem may begin.
const KEYWORDS: [&str; 8] = ["delay", "loss", "rate", "limit", "duplicate", "corrupt", "reorder", "netem"];

#[derive(Clone, Copy)]
enum About {
    Itself,
    Loss,
    Jitter,
}

impl About {
    fn is_in(self, step: &Step) -> bool {
        match self {
            Self::Itself => true,
            Self::Loss => step.loss.is_some_and(|loss| loss > 0.0),
            Self::Jitter => step.extra(Extra::Jitter) > 0.0,
        }
    }
}

/// True if a line begins with arguments of netem.
pub(super) fn begins_arguments(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    words.next().is_some_and(|word| KEYWORDS.contains(&word)) && words.next().is_some()
}

/// True if a word runs the following command as another user.
pub(super) fn is_sudo(word: &str) -> bool {
    ["sudo", "$SUDO", "${SUDO}"].contains(&word)
}

/// True if a word is the program `tc`, with or without its path.
pub(super) fn is_program(word: &str) -> bool {
    word == "tc" || (word.starts_with('/') && word.ends_with("/tc"))
}

/// Reader of lines and scripts of `tc qdisc ... netem`.
#[derive(Default)]
pub(super) struct Reader {
    now: SimTime,
    /// State of the link that currently holds.
    current: Option<Step>,
    /// Last values of the properties in [`KEPT`].
    kept: [f64; KEPT.len()],
    device: Option<String>,
    loops: bool,
    is_over: bool,
    /// Command that continues on the next line, and the number of the line in which it begins.
    begun: Option<(usize, String)>,
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let (line, text) = match self.begun.take() {
            Some((first, begun)) => (first, Cow::Owned(format!("{begun} {text}"))),
            None => (line, Cow::Borrowed(text)),
        };
        let Some(begun) = text.strip_suffix('\\').filter(|_| !text.starts_with('#')) else {
            return self.commands(line, &text, found);
        };
        if begun.len() > LONGEST_COMMAND {
            return Err(TraceError::at(line, "a command of more than 64 KiB: no call of tc is"));
        }
        self.begun = Some((line, begun.to_owned()));
        Ok(())
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        if let Some((line, begun)) = self.begun.take() {
            self.commands(line, &begun, found)?;
        }
        let Some(mut last) = self.current.take() else {
            return Err(TraceError::nowhere("no line of tc qdisc ... netem ... is there"));
        };
        last.lasts = Some(self.now - last.time).filter(|lasts| *lasts > SimTime::ZERO);
        let at_end = if self.loops { AtEnd::Loop } else { AtEnd::Hold };
        if self.loops && last.lasts.is_none() {
            return Err(TraceError::nowhere("the loop does not sleep behind its last state"));
        }
        found.push_back((Direction::Both, Item::Step(last)));
        Ok(Whole { lasts: self.now, at_end, notes: Vec::new() })
    }
}

impl Reader {
    /// Takes the commands of a line, separated by `;` or `&&`.
    fn commands(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let first = text.split_ascii_whitespace().next().unwrap_or_default();
        let is_read =
            is_sudo(first) || is_program(first) || ["sleep", "while", "do", "done"].contains(&first);
        if !is_read {
            return self.command(line, text, found);
        }
        let text = text.split(" #").next().unwrap_or_default();
        let commands = text.split(';').flat_map(|part| part.split("&&"));
        commands.map(str::trim).try_for_each(|command| self.command(line, command, found))
    }

    fn command(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let text = text.strip_prefix("do ").unwrap_or(text).trim_start();
        let mut words = text.split_ascii_whitespace().peekable();
        words.next_if(|word| is_sudo(word));
        let Some(first) = words.peek().copied() else { return Ok(()) };
        let refuse = |problem: String| Err(TraceError::at(line, problem));
        if first.starts_with('#') || is_shell(first) {
            return Ok(());
        }
        if self.is_over {
            return refuse(format!("{}: must not stand behind the end of the loop", excerpt(text)));
        }
        match first {
            "while" => {
                if self.loops || self.current.is_some() {
                    return refuse(format!("{}: one loop around all is read", excerpt(text)));
                }
                self.loops = true;
                Ok(())
            }
            "do" => Ok(()),
            "done" => {
                self.is_over = true;
                Ok(())
            }
            "sleep" => self.sleep(line, text),
            _ if is_program(first) => {
                let words: Vec<&str> = words.collect();
                match words.iter().position(|word| *word == "netem") {
                    Some(at) if words.get(1) == Some(&"qdisc") => {
                        let device = words.windows(2).find(|pair| pair[0] == "dev").map(|pair| pair[1]);
                        self.speaks_of(line, device.unwrap_or_default())?;
                        let keeps = words.get(2) != Some(&"add");
                        self.state(line, &words[at + 1..], keeps, found)
                    }
                    _ if words.get(1..3).is_some_and(|words| words == ["qdisc", "del"]) => Ok(()),
                    _ => refuse(format!("{}: must be tc qdisc ... netem ...", excerpt(text))),
                }
            }
            _ if begins_arguments(text) => {
                words.next_if_eq(&"netem");
                self.state(line, &words.collect::<Vec<_>>(), true, found)
            }
            _ => refuse(format!("{}: must be tc qdisc ... netem ..., sleep, or a loop", excerpt(text))),
        }
    }
}

/// True for other shell commands, which are skipped.
fn is_shell(word: &str) -> bool {
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    is_assignment || ["set", "trap", "echo", "exit", "modprobe"].contains(&word)
}

impl Reader {
    fn sleep(&mut self, line: usize, text: &str) -> Result<(), TraceError> {
        let mut words = text.split_ascii_whitespace().skip_while(|word| *word != "sleep").skip(1);
        let lasts = words.next().and_then(|word| time(quantity(word, SLEEPS)));
        let (Some(lasts), None) = (lasts, words.next()) else {
            let problem = format!("{}: must be sleep and a number of seconds", excerpt(text));
            return Err(TraceError::at(line, problem));
        };
        self.now = later(line, self.now, lasts)?;
        Ok(())
    }

    fn speaks_of(&mut self, line: usize, device: &str) -> Result<(), TraceError> {
        let before = self.device.get_or_insert_with(|| device.to_owned());
        if before == device {
            return Ok(());
        }
        let problem = format!("dev {}: must be {before}, as before: a way of a link is one", excerpt(device));
        Err(TraceError::at(line, problem))
    }

    fn state(
        &mut self,
        line: usize,
        words: &[&str],
        keeps: bool,
        found: &mut Found,
    ) -> Result<(), TraceError> {
        let (mut step, given) = arguments(line, words)?;
        step.time = self.now;
        for ((kept, (extra, about)), given) in self.kept.iter_mut().zip(KEPT).zip(given) {
            *kept = given.unwrap_or(if keeps { *kept } else { 0.0 });
            if about.is_in(&step) {
                step.add(extra, *kept);
            }
        }
        if let Some(mut before) = self.current.take() {
            if keeps && step.rate_bps.is_none() {
                step.rate_bps = before.rate_bps;
            }
            if before.time < self.now {
                before.lasts = Some(self.now - before.time);
                found.push_back((Direction::Both, Item::Step(before)));
            }
        }
        if step.rate_bps.is_none() {
            step.rate_bps = Some(f64::INFINITY);
        }
        self.current = Some(step);
        Ok(())
    }
}

/// Reads arguments of netem; the properties in [`KEPT`] are returned separately, `None` if not given.
fn arguments(line: usize, words: &[&str]) -> Result<(Step, [Option<f64>; KEPT.len()]), TraceError> {
    let mut step = Step {
        delay: Some(SimTime::ZERO),
        loss: Some(0.0),
        queue: Some(Room::Packets(LIMIT)),
        ..Step::default()
    };
    let [mut corrupt, mut loss_correlation, mut jitter_correlation, mut distribution] = [None; KEPT.len()];
    let mut gap = None;
    let mut words = Words { line, words: words.iter().copied().peekable() };
    while let Some(word) = words.words.next() {
        match word {
            "limit" => {
                let packets = words.value(word, "a number of packets", |text| text.parse().ok())?;
                // The largest number of packets means no limit.
                step.queue = (packets < NO_LIMIT).then_some(Room::Packets(packets));
            }
            "delay" | "latency" => {
                step.delay = Some(words.value(word, TIME, time_of)?);
                if let Some(jitter) = words.next_if(time_of) {
                    step.add(Extra::Jitter, jitter.as_nanos() as f64);
                    jitter_correlation = words.next_if(share_of).or(jitter_correlation);
                }
            }
            "distribution" => {
                let of = |text: &str| DISTRIBUTIONS.iter().position(|name| *name == text);
                let which = words.value(word, "uniform, normal, pareto or paretonormal", of)?;
                distribution = Some(which as f64);
            }
            "loss" | "drop" => {
                words.words.next_if_eq(&"random");
                step.loss = Some(words.value(word, SHARE, share_of)?);
                loss_correlation = words.next_if(share_of).or(loss_correlation);
            }
            "duplicate" => step.add(Extra::Duplicate, words.value(word, SHARE, share_of)?),
            "corrupt" => corrupt = Some(words.value(word, SHARE, share_of)?),
            "reorder" => {
                step.add(Extra::Reorder, words.value(word, SHARE, share_of)?);
                step.add(Extra::ReorderCorrelation, words.next_if(share_of).unwrap_or(0.0));
            }
            "gap" => {
                let packets: u32 = words.value(word, "a number of packets", |text| text.parse().ok())?;
                gap = Some(f64::from(packets)).filter(|gap| *gap > 0.0);
            }
            "rate" => {
                let bps = words.value(word, "a rate such as 20mbit", |text| {
                    rate(quantity(&text.to_ascii_lowercase(), TC_RATES))
                })?;
                // A rate of 0 means no limit in netem.
                step.rate_bps = Some(if bps > 0.0 { bps } else { f64::INFINITY });
            }
            "seed" => {
                words.value(word, "a number", |text| text.parse::<u64>().ok())?;
            }
            _ => {
                let problem = format!("{}: is no argument of netem that is read here", excerpt(word));
                return Err(TraceError::at(line, problem));
            }
        }
    }
    if let Some(gap) = gap {
        if step.extra(Extra::Reorder) == 0.0 {
            step.add(Extra::Reorder, 1.0);
        }
        step.add(Extra::ReorderGap, gap);
    }
    Ok((step, [corrupt, loss_correlation, jitter_correlation, distribution]))
}

const TIME: &str = "a time such as 40ms";
const SHARE: &str = "a share such as 1%";

fn time_of(text: &str) -> Option<SimTime> {
    time(quantity(&text.to_ascii_lowercase(), TC_TIMES)).filter(|time| time.as_secs_f64() <= 8.64e6)
}

/// Share from a percentage, with or without the sign `%`.
fn share_of(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%').unwrap_or(text).parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

struct Words<'a, I: Iterator<Item = &'a str>> {
    line: usize,
    words: std::iter::Peekable<I>,
}

impl<'a, I: Iterator<Item = &'a str>> Words<'a, I> {
    /// Reads the argument that follows `word`.
    fn value<T>(
        &mut self,
        word: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TraceError> {
        let text = self.words.next().unwrap_or_default();
        read(text)
            .ok_or_else(|| TraceError::at(self.line, format!("{word} {}: must be {expected}", excerpt(text))))
    }

    /// Takes the next word if `read` can read it.
    fn next_if<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.words.peek().and_then(|text| read(text))?;
        self.words.next();
        Some(found)
    }
}

/// Writer of a script: each state of the link, then a `sleep` while it holds.
pub(super) struct Writer {
    loops: bool,
    /// For each property in [`KEPT`], true if an earlier state may have set it, so that a state without it must reset
    /// it.
    may_be_set: [bool; KEPT.len()],
}

impl Writer {
    /// Further properties that netem has beside rate, delay, loss and queue limit.
    pub(super) const EXTRAS: &[Extra] = &[
        Extra::Jitter,
        Extra::JitterCorrelation,
        Extra::JitterDistribution,
        Extra::LossCorrelation,
        Extra::Duplicate,
        Extra::Corrupt,
        Extra::Reorder,
        Extra::ReorderCorrelation,
        Extra::ReorderGap,
    ];

    pub(super) fn new(loops: bool) -> Self {
        // The first state of a loop comes behind its last one too.
        Self { loops, may_be_set: [loops; KEPT.len()] }
    }

    pub(super) fn begin(&self, out: &mut String) {
        out.push_str("#!/bin/sh\n# Each state of the link in its turn: DEV=eth0 sh FILE\nDEV=${DEV:-eth0}\n");
        if self.loops {
            out.push_str("while :; do\n");
        }
    }

    pub(super) fn end(&self, out: &mut String) {
        if self.loops {
            out.push_str("done\n");
        }
    }

    /// Writes a state of the link, and a `sleep` while it holds.
    pub(super) fn step(&mut self, step: &Step, out: &mut String) {
        out.push_str("tc qdisc replace dev \"$DEV\" root netem");
        write_arguments(step, self.may_be_set, out).expect("a String takes all");
        for (is_set, (extra, _)) in self.may_be_set.iter_mut().zip(KEPT) {
            *is_set |= step.extra(extra) > 0.0;
        }
        out.push('\n');
        if let Some(lasts) = step.lasts {
            writeln!(out, "sleep {}", super::tables::seconds(lasts)).expect("a String takes all");
        }
    }
}

/// Writes the arguments of netem for a state, after states that may have set some properties in [`KEPT`].
fn write_arguments(
    step: &Step,
    [corrupt, loss_correlation, jitter_correlation, _]: [bool; KEPT.len()],
    out: &mut String,
) -> std::fmt::Result {
    let extra = |of: Extra| step.extra(of);
    let limit = match step.queue {
        Some(Room::Packets(packets)) => packets,
        // A missing limit means no limit.
        _ => NO_LIMIT,
    };
    write!(out, " limit {limit}")?;
    let delay = step.delay.unwrap_or_default();
    let jitter = SimTime::from_nanos(extra(Extra::Jitter) as u64);
    let has_reorder = extra(Extra::Reorder) > 0.0;
    if delay > SimTime::ZERO || jitter > SimTime::ZERO || has_reorder {
        write!(out, " delay {}", time_text(delay))?;
    }
    if jitter > SimTime::ZERO {
        write!(out, " {}", time_text(jitter))?;
        percent_if(extra(Extra::JitterCorrelation), jitter_correlation, out)?;
        if let Some(name) = DISTRIBUTIONS
            .get(extra(Extra::JitterDistribution) as usize)
            .filter(|_| extra(Extra::JitterDistribution) > 0.0)
        {
            write!(out, " distribution {name}")?;
        }
    }
    let is_outage = step.rate_bps == Some(0.0);
    let loss = if is_outage { 1.0 } else { step.loss.unwrap_or(0.0) };
    if loss > 0.0 {
        write!(out, " loss {}", percent(loss))?;
        percent_if(extra(Extra::LossCorrelation), loss_correlation, out)?;
    }
    for (of, word) in
        [(Extra::Duplicate, "duplicate"), (Extra::Corrupt, "corrupt"), (Extra::Reorder, "reorder")]
    {
        if extra(of) > 0.0 || (corrupt && of == Extra::Corrupt) {
            write!(out, " {word} {}", percent(extra(of)))?;
        }
    }
    if has_reorder {
        percent_if(extra(Extra::ReorderCorrelation), false, out)?;
        if extra(Extra::ReorderGap) > 0.0 {
            write!(out, " gap {}", extra(Extra::ReorderGap))?;
        }
    }
    match step.rate_bps {
        Some(rate) if rate > 0.0 && rate.is_finite() => write!(out, " rate {}bit", rate.round()),
        _ => write!(out, " rate 0bit"),
    }
}

fn percent_if(share: f64, must: bool, out: &mut String) -> std::fmt::Result {
    if must || share > 0.0 { write!(out, " {}", percent(share)) } else { Ok(()) }
}

/// Shortest percentage that is read as exactly this share.
fn percent(share: f64) -> String {
    let is_read = |text: &String| share_of(text) == Some(share);
    (0..17)
        .map(|digits| format!("{:.digits$}%", share * 100.0))
        .find(is_read)
        .unwrap_or_else(|| format!("{}%", share * 100.0))
}
