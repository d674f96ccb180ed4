//! Simulation specifications of `picoquic_ns`, with one `key: value` per line. `up` is the direction from client to
//! server.
//!
//! Values are read as `picoquic_ns` plays them: a rate of `x` Gbit/s is `x / 1.024^2` Gbit/s, a list of links begins
//! again after its last entry, and values missing from an entry are 0 (`picohttp/picoquic_ns.c`:
//! `picoquic_ns_simlink_reset`, `picoquic_ns_vary_link`).

use super::item::{AtEnd, Direction, Extra, Found, Item, Room, Step, Whole};
use super::line::{Lines, later, real, whole};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};

/// Keys that describe the link.
const OF_LINK: [&str; 7] =
    ["data_rate_in_gbps", "latency", "jitter", "wifi_jitter", "queue_delay_max", "l4s_max", "link_scenario"];
/// Keys that do not describe the link, passed on as notes.
const OTHERS: [&str; 19] = [
    "main_start_time",
    "main_target_time",
    "background_start_time",
    "main_scenario_text",
    "background_scenario_text",
    "main_cc_algo",
    "main_cc_options",
    "background_cc_algo",
    "background_cc_options",
    "nb_connections",
    "icid",
    "qlog_dir",
    "qperf_log",
    "media_stats_start",
    "media_excluded",
    "media_latency_average",
    "media_latency_max",
    "seed_cwin",
    "seed_rtt",
];
/// Bit rate in bit/s at which `picoquic_ns` plays 1 Gbit/s.
const PLAYED_GBPS: f64 = 1e9 / (1.024 * 1.024);
/// Default rate in Gbit/s if a specification has none.
const USUAL_GBPS: f64 = 0.01;
const US: SimTime = SimTime::from_micros(1);

/// True if a line has a key of a `picoquic_ns` specification.
pub(super) fn is_line(text: &str) -> bool {
    text.split_once(':').is_some_and(|(key, _)| {
        let key = key.trim();
        OF_LINK.contains(&key) || OTHERS.contains(&key)
    })
}

/// State of the link for some time.
#[derive(Clone, Debug, Default)]
struct Link {
    /// Duration of the state; `None`: forever.
    lasts: Option<SimTime>,
    up_gbps: f64,
    down_gbps: f64,
    latency: SimTime,
    jitter: SimTime,
    queue: SimTime,
    mark_above: SimTime,
    loss_burst: u64,
    loss_spacing: u64,
}

/// Reader of simulation specifications of `picoquic_ns`.
#[derive(Default)]
pub(super) struct Reader {
    usual: Link,
    /// Line number and value of the key `link_scenario`.
    scenario: Option<(usize, String)>,
    notes: Vec<(String, String)>,
    has_lines: bool,
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, _found: &mut Found) -> Result<(), TraceError> {
        if text.is_empty() {
            return Ok(());
        }
        let known = text.split_once(':').map(|(key, value)| (key.trim(), value.trim()));
        let Some((key, value)) = known.filter(|(key, _)| OF_LINK.contains(key) || OTHERS.contains(key))
        else {
            return Err(TraceError::at(
                line,
                format!("{}: must be KEY: VALUE of picoquic_ns", excerpt(text)),
            ));
        };
        self.has_lines = true;
        match key {
            "data_rate_in_gbps" => self.usual.down_gbps = gbps(line, key, value)?,
            "latency" => self.usual.latency = micros(line, key, value)?,
            "jitter" => self.usual.jitter = micros(line, key, value)?,
            "queue_delay_max" => self.usual.queue = micros(line, key, value)?,
            "l4s_max" => self.usual.mark_above = micros(line, key, value)?,
            "link_scenario" => self.scenario = Some((line, value.to_owned())),
            _ => self.notes.push((key.to_owned(), value.to_owned())),
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        if !self.has_lines {
            return Err(TraceError::nowhere("no line KEY: VALUE of picoquic_ns is there"));
        }
        if self.usual.down_gbps == 0.0 {
            self.usual.down_gbps = USUAL_GBPS;
        }
        self.usual.up_gbps = self.usual.down_gbps;
        let links = self.links()?;
        let (mut now, loops) =
            (SimTime::ZERO, links.len() > 1 && links.iter().all(|link| link.lasts.is_some()));
        let line = self.scenario.as_ref().map_or(0, |(line, _)| *line);
        for link in &links {
            if link.up_gbps == link.down_gbps {
                found.push_back((Direction::Both, Item::Step(link.step(now, link.up_gbps))));
            } else {
                found.push_back((Direction::Up, Item::Step(link.step(now, link.up_gbps))));
                found.push_back((Direction::Down, Item::Step(link.step(now, link.down_gbps))));
            }
            now = later(line, now, link.lasts.unwrap_or_default())?;
        }
        let at_end = if loops { AtEnd::Loop } else { AtEnd::Hold };
        Ok(Whole { lasts: now, at_end, notes: std::mem::take(&mut self.notes) })
    }
}

fn gbps(line: usize, key: &str, text: &str) -> Result<f64, TraceError> {
    real(line, key, text, [0.0, 1e6])
}

fn micros(line: usize, key: &str, text: &str) -> Result<SimTime, TraceError> {
    super::line::time(line, key, whole(line, key, text)?, US)
}

impl Reader {
    /// States of the link in order of time.
    fn links(&self) -> Result<Vec<Link>, TraceError> {
        let usual = || self.usual.clone();
        let lasting = |millis: u64| Link { lasts: Some(SimTime::from_millis(millis)), ..usual() };
        let slower = |link: Link, share: f64| Link {
            up_gbps: link.up_gbps * share,
            down_gbps: link.down_gbps * share,
            ..link
        };
        let jittery = |link: Link, micros: u64| Link { jitter: SimTime::from_micros(micros), ..link };
        let Some((line, scenario)) = &self.scenario else { return Ok(vec![usual()]) };
        Ok(match scenario.as_str() {
            "none" => vec![usual()],
            "black_hole" => vec![lasting(2000), slower(lasting(2000), 0.0), usual()],
            "drop_and_back" => vec![lasting(1500), slower(lasting(2000), 0.5), usual()],
            "low_and_up" => vec![slower(lasting(2500), 0.5), usual()],
            "wifi_fade" => vec![
                jittery(lasting(1000), 999),
                jittery(slower(lasting(2000), 0.9), 12_000),
                jittery(usual(), 999),
            ],
            "wifi_suspension" => vec![lasting(1800), slower(lasting(200), 0.0)],
            list => {
                let links = list.split(';').filter(|entry| !entry.trim().is_empty());
                let links =
                    links.map(|entry| Link::entry(*line, entry.trim())).collect::<Result<Vec<_>, _>>()?;
                match links.len() {
                    0 => return Err(TraceError::at(*line, "link_scenario: must name one or list links")),
                    // A single one is never left.
                    1 => links.into_iter().map(|link| Link { lasts: None, ..link }).collect(),
                    _ => links,
                }
            }
        })
    }
}

impl Link {
    /// Reads an entry `DURATION:U..:D..:L..:J..:Q..:S..:B..:P..` of a list of links; the fields after the duration may
    /// be in any order.
    fn entry(line: usize, text: &str) -> Result<Self, TraceError> {
        let mut parts = text.split(':').map(str::trim);
        let lasts = micros(line, "duration in us", parts.next().unwrap_or_default())?;
        if lasts == SimTime::ZERO {
            return Err(TraceError::at(line, format!("{}: must last at least 1 us", excerpt(text))));
        }
        let mut link = Self { lasts: Some(lasts), ..Self::default() };
        for part in parts {
            let (name, value) = match part.char_indices().nth(1) {
                Some((end, _)) => part.split_at(end),
                None => (part, ""),
            };
            match name {
                "U" => link.up_gbps = gbps(line, name, value)?,
                "D" => link.down_gbps = gbps(line, name, value)?,
                "L" => link.latency = micros(line, name, value)?,
                "J" => link.jitter = micros(line, name, value)?,
                "Q" => link.queue = micros(line, name, value)?,
                "S" => link.mark_above = micros(line, name, value)?,
                "B" => link.loss_burst = whole(line, name, value)?,
                "P" => link.loss_spacing = whole(line, name, value)?,
                _ => {
                    let problem = format!("{}: must begin with U, D, L, J, Q, S, B or P", excerpt(part));
                    return Err(TraceError::at(line, problem));
                }
            }
        }
        Ok(link)
    }

    fn step(&self, time: SimTime, gbps: f64) -> Step {
        let mut step = Step {
            time,
            lasts: self.lasts,
            rate_bps: Some(gbps * PLAYED_GBPS),
            delay: Some(self.latency),
            queue: (self.queue > SimTime::ZERO).then_some(Room::Time(self.queue)),
            ..Step::default()
        };
        step.add(Extra::Jitter, self.jitter.as_nanos() as f64);
        step.add(Extra::MarkAbove, self.mark_above.as_nanos() as f64);
        step.add(Extra::LossBurst, self.loss_burst as f64);
        step.add(Extra::LossSpacing, self.loss_spacing as f64);
        step
    }
}
