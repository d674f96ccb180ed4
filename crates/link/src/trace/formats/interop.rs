//! Scenarios of the QUIC interoperability simulator, given by their arguments:
//! `simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25`, alone or after `SCENARIO=` or `run.sh`. `up` is the
//! direction from client to server.

use super::item::{AtEnd, Direction, Extra, Found, Item, Room, Step, Whole};
use super::line::{Lines, before_comment};
use super::units::{NS3_RATES, NS3_TIMES, quantity, rate, time};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};

/// Scenarios of the simulator, each with its arguments beside delay, bandwidth and queue.
const SCENARIOS: [(&str, &[&str]); 7] = [
    ("simple-p2p", &[]),
    ("blackhole", &["on", "off", "repeat", "direction"]),
    ("drop-rate", &["rate_to_client", "rate_to_server", "burst_to_client", "burst_to_server"]),
    ("corrupt-rate", &["rate_to_client", "rate_to_server", "burst_to_client", "burst_to_server"]),
    ("rebind", &["first-rebind", "rebind-freq", "rebind-addr"]),
    ("tcp-cross-traffic", &[]),
    ("udp-cross-traffic", &["crossdatarate"]),
];
/// Time at which UDP cross traffic begins in the scenario `udp-cross-traffic`.
const CROSS_TRAFFIC_BEGINS: SimTime = SimTime::from_millis(20_000);
/// Greatest number of interruptions in a scenario `blackhole`.
const MOST_REPEATS: u64 = 10_000;

/// Words of a scenario line, without quotes, `SCENARIO=` and `run.sh`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim().trim_end_matches('\\').trim();
    let text = text.strip_prefix("SCENARIO=").unwrap_or(text);
    let is_before = |word: &&str| word.ends_with("run.sh");
    text.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\''])).skip_while(is_before)
}

/// True if a line names one of the scenarios.
pub(super) fn is_scenario(text: &str) -> bool {
    words(text)
        .next()
        .is_some_and(|first| first == "droplist" || SCENARIOS.iter().any(|(name, _)| *name == first))
}

/// Reader of a scenario of the QUIC interoperability simulator.
#[derive(Default)]
pub(super) struct Reader {
    scenario: Option<(usize, String)>,
    lasts: SimTime,
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let text = before_comment(text);
        let mut words = words(text);
        let Some(name) = words.next() else { return Ok(()) };
        if let Some((first, _)) = self.scenario {
            let problem = format!("{}: the scenario is in line {first}, and there is one", excerpt(text));
            return Err(TraceError::at(line, problem));
        }
        let Some((name, takes)) = SCENARIOS.into_iter().find(|(known, _)| *known == name) else {
            let known = SCENARIOS.map(|(name, _)| name).join(", ");
            let problem = format!("scenario {}: must be one of {known}", excerpt(name));
            return Err(TraceError::at(line, problem));
        };
        let arguments = Arguments::read(line, takes, words)?;
        for told in arguments.steps(name)? {
            found.push_back(told);
        }
        self.lasts = found.iter().map(|(_, item)| item.time()).max().unwrap_or_default();
        self.scenario = Some((line, name.to_owned()));
        Ok(())
    }

    fn finish(&mut self, _found: &mut Found) -> Result<Whole, TraceError> {
        let Some((_, name)) = self.scenario.take() else {
            return Err(TraceError::nowhere("no scenario is there"));
        };
        Ok(Whole { lasts: self.lasts, at_end: AtEnd::Hold, notes: vec![("scenario".to_owned(), name)] })
    }
}

struct Arguments<'a> {
    line: usize,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Arguments<'a> {
    fn read(line: usize, takes: &[&str], words: impl Iterator<Item = &'a str>) -> Result<Self, TraceError> {
        let mut values: Vec<(&str, &str)> = Vec::new();
        for word in words {
            let Some(argument) = word.strip_prefix("--") else {
                return Err(TraceError::at(line, format!("{}: must be --NAME=VALUE", excerpt(word))));
            };
            let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
            if !["delay", "bandwidth", "queue"].contains(&name) && !takes.contains(&name) {
                let problem =
                    format!("--{}: is no argument of this scenario", excerpt(name).trim_matches('"'));
                return Err(TraceError::at(line, problem));
            }
            if values.iter().any(|(other, _)| *other == name) {
                return Err(TraceError::at(line, format!("--{name}: is given twice")));
            }
            values.push((name, value));
        }
        Ok(Self { line, values })
    }

    fn get<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, TraceError> {
        let Some((_, text)) = self.values.iter().find(|(known, _)| *known == name) else { return Ok(None) };
        let refuse = || TraceError::at(self.line, format!("--{name}={}: must be {expected}", excerpt(text)));
        read(text).map(Some).ok_or_else(refuse)
    }

    fn require<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TraceError> {
        let missing = || TraceError::at(self.line, format!("--{name}: is needed, {expected}"));
        self.get(name, expected, read)?.ok_or_else(missing)
    }

    fn time(&self, name: &str) -> Result<Option<SimTime>, TraceError> {
        self.get(name, "a time such as 15ms", |text| time(quantity(text, NS3_TIMES)))
    }

    fn steps(&self, scenario: &str) -> Result<Vec<(Direction, Item)>, TraceError> {
        let usual = Step {
            delay: Some(
                self.require("delay", "a time such as 15ms", |text| time(quantity(text, NS3_TIMES)))?,
            ),
            rate_bps: Some(
                self.require("bandwidth", "a rate such as 10Mbps", |text| rate(quantity(text, NS3_RATES)))?,
            ),
            queue: Some(Room::Packets(
                self.require("queue", "a number of packets", |text| text.parse().ok())?,
            )),
            ..Step::default()
        };
        let both = |step: Step| vec![(Direction::Both, Item::Step(step))];
        match scenario {
            "blackhole" => self.blackhole(&usual),
            "drop-rate" | "corrupt-rate" => {
                let ways = [
                    (Direction::Up, "rate_to_server", "burst_to_server"),
                    (Direction::Down, "rate_to_client", "burst_to_client"),
                ];
                let of_way = |(way, rate, burst): (Direction, &str, &str)| {
                    let share = |text: &str| {
                        text.parse::<f64>().ok().filter(|x| (0.0..=100.0).contains(x)).map(|x| x / 100.0)
                    };
                    let share = self.require(rate, "a number of per cent", share)?;
                    let mut step = usual.clone();
                    if scenario == "drop-rate" {
                        step.loss = Some(share);
                    } else {
                        step.add(Extra::Corrupt, share);
                    }
                    let burst: Option<u32> =
                        self.get(burst, "a number of packets", |text| text.parse().ok())?;
                    step.add(Extra::LongestLoss, burst.map_or(0.0, f64::from));
                    Ok((way, Item::Step(step)))
                };
                ways.into_iter().map(of_way).collect()
            }
            "rebind" => {
                let mut step = usual;
                let first = self.time("first-rebind")?.unwrap_or_default();
                step.add(Extra::FirstRebind, first.as_nanos() as f64);
                let interval = self.time("rebind-freq")?.unwrap_or_default();
                step.add(Extra::RebindInterval, interval.as_nanos() as f64);
                let has_address = self
                    .values
                    .iter()
                    .any(|(name, value)| *name == "rebind-addr" && !["false", "0"].contains(value));
                step.add(Extra::RebindAddress, f64::from(u8::from(has_address)));
                Ok(both(step))
            }
            "tcp-cross-traffic" => {
                let mut step = usual;
                step.add(Extra::CrossFlows, 1.0);
                Ok(both(step))
            }
            "udp-cross-traffic" => {
                let cross = self.require("crossdatarate", "a rate such as 10Mbps", |text| {
                    rate(quantity(text, NS3_RATES))
                })?;
                let begins = Step { lasts: Some(CROSS_TRAFFIC_BEGINS), ..usual.clone() };
                let mut step = Step { time: CROSS_TRAFFIC_BEGINS, ..usual };
                step.add(Extra::CrossTraffic, cross);
                Ok([begins, step].map(|step| (Direction::Both, Item::Step(step))).into())
            }
            _ => Ok(both(usual)),
        }
    }

    /// Steps of the scenario `blackhole`: traffic flows for `on` and is blocked for `off`, `repeat` times, and then
    /// flows forever.
    fn blackhole(&self, usual: &Step) -> Result<Vec<(Direction, Item)>, TraceError> {
        let of = |name| self.require(name, "a time such as 10s", |text| time(quantity(text, NS3_TIMES)));
        let (on, off) = (of("on")?, of("off")?);
        let repeats = |text: &str| text.parse().ok().filter(|n| (1..=MOST_REPEATS).contains(n));
        let repeat = self.get("repeat", "a number from 1 to 10000", repeats)?.unwrap_or(1);
        let ways: &[Direction] = match self.values.iter().find(|(name, _)| *name == "direction") {
            None | Some((_, "both")) => &[],
            Some((_, "toclient")) => &[Direction::Down],
            Some((_, "toserver")) => &[Direction::Up],
            Some((_, other)) => {
                let problem = format!("--direction={}: must be both, toclient or toserver", excerpt(other));
                return Err(TraceError::at(self.line, problem));
            }
        };
        let way = ways.first().copied().unwrap_or(Direction::Both);
        let mut told = Vec::new();
        match way {
            Direction::Up => told.push((Direction::Down, Item::Step(usual.clone()))),
            Direction::Down => told.push((Direction::Up, Item::Step(usual.clone()))),
            Direction::Both => {}
        }
        let mut now = SimTime::ZERO;
        for _ in 0..repeat {
            for (lasts, loss) in [(on, 0.0), (off, 1.0)] {
                if lasts > SimTime::ZERO {
                    let step = Step { time: now, lasts: Some(lasts), loss: Some(loss), ..usual.clone() };
                    told.push((way, Item::Step(step)));
                    now = super::line::later(self.line, now, lasts)?;
                }
            }
        }
        told.push((way, Item::Step(Step { time: now, loss: Some(0.0), ..usual.clone() })));
        Ok(told)
    }
}
