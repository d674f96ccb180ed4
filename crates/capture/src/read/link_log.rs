//! Reader of logs of both ends of a link in one file: mahimahi's `mm-link` (`--uplink-log`, `--downlink-log`) and
//! Pantheon's merged tunnel logs.
//!
//! A line has a time in ms and `+ BYTES` (a packet came), `- BYTES DELAY` (a packet left, DELAY ms after it came), `d
//! PACKETS BYTES` (the queue dropped packets) or `# BYTES` (a transmission opportunity of the emulator). Lines of
//! Pantheon end with the number of a flow.

use super::events::short;
use super::flow::MOST_PACKETS;
use super::log_error::LogError;
use super::observed::{Fate, Observed};
use super::told::{PacketLog, Told};
use std::collections::{BTreeMap, VecDeque};

/// Rounding of times and delays in the log, in us; arrival time plus delay matches a departure to this accuracy.
const ROUNDING_US: i64 = 1;
/// Maximum disorder of lines in us: opportunities are logged when they are used, and logs of several flows are merged.
const OUT_OF_ORDER_US: i64 = 1_000_000;
/// Longest plausible delay of a link, in ms.
const LONGEST_MS: f64 = 1e7;
const LATEST_MS: f64 = 4e12;
/// Maximum number of flows; packets of further ones are ignored.
const MOST_FLOWS: usize = 1000;
const MILLISECOND_NS: i64 = 1_000_000;

/// Packets of one flow of the log.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: Vec<Observed>,
    bytes: u64,
    /// Indices of packets that came and have not left, by arrival time in us and size in bytes.
    open: BTreeMap<(i64, u32), VecDeque<u32>>,
    last_arrived: Option<u32>,
}

/// State of the reader of a link log.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkLog {
    flows: BTreeMap<u64, Flow>,
    packets: usize,
    first_us: Option<i64>,
    last_us: i64,
    /// Start of the log's clock, in ms since 1970.
    init_ms: f64,
    /// One-way delay in ms that `mm-delay` shells add, from the log's header.
    delay_ms: f64,
    has_fractions: bool,
    is_mahimahi: bool,
    /// Number of departures without a matching arrival.
    unknown: u64,
    is_cut: bool,
}

/// True if a line is the header of such a log, or an arrival or departure in it.
pub(super) fn is_line(text: &str) -> bool {
    if text.starts_with("# mahimahi mm-link") {
        return true;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let number = |at: usize| words.get(at).is_some_and(|word| word.parse::<f64>().is_ok());
    match words.get(1) {
        Some(&"+") => number(0) && number(2) && words.len() <= 4,
        Some(&"-") => number(0) && number(2) && number(3) && words.len() <= 5,
        _ => false,
    }
}

impl LinkLog {
    pub(super) fn line(&mut self, line: usize, text: &str) -> Result<(), LogError> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(comment) = text.strip_prefix('#') {
            self.comment(comment.trim());
            return Ok(());
        }
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let millis = |word: &str, most: f64| {
            let value = word.parse::<f64>().ok().filter(|value| (0.0..=most).contains(value));
            value.ok_or_else(|| {
                LogError::at(line, format!("{}: must be a time in ms, 0 or more", short(word)))
            })
        };
        let bytes = |word: &str| {
            let value = word.parse::<u32>().ok().filter(|value| (1..=65_535).contains(value));
            value.ok_or_else(|| LogError::at(line, format!("{}: must be from 1 to 65535 bytes", short(word))))
        };
        let flow = |word: Option<&&str>| match word {
            None => Ok(0),
            Some(word) => word
                .parse::<u64>()
                .map_err(|_| LogError::at(line, format!("{}: must be the number of a flow", short(word)))),
        };
        let wrong = || {
            let allowed = "TIME + BYTES, TIME - BYTES DELAY, TIME d PACKETS BYTES or TIME # BYTES";
            LogError::at(line, format!("{}: must be {allowed}", short(text)))
        };
        let time = words.first().ok_or_else(wrong)?;
        let at_us = (millis(time, LATEST_MS)? * 1e3).round() as i64;
        self.has_fractions |= time.contains('.');
        if self.last_us - at_us > OUT_OF_ORDER_US {
            let back = (self.last_us - at_us) / 1000;
            return Err(LogError::at(line, format!("is {back} ms before a line in front of it")));
        }
        self.last_us = self.last_us.max(at_us);
        match words[1..] {
            ["+", size, ref rest @ ..] if rest.len() <= 1 => {
                let (size, flow) = (bytes(size)?, flow(rest.first())?);
                self.came(at_us, size, flow);
            }
            ["-", size, delay, ref rest @ ..] if rest.len() <= 1 => {
                let (size, delay, flow) = (bytes(size)?, millis(delay, LONGEST_MS)?, flow(rest.first())?);
                self.left(at_us, size, (delay * 1e3).round() as i64, flow);
            }
            // Packets without a departure count as dropped; a drop line does not say which packets it means.
            ["d", packets, size] if packets.parse::<u32>().is_ok() && size.parse::<u64>().is_ok() => {}
            ["#", size] => {
                bytes(size)?;
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn comment(&mut self, text: &str) {
        self.is_mahimahi |= text.starts_with("mahimahi mm-link");
        if let Some(time) = text.strip_prefix("init timestamp:").and_then(|time| time.trim().parse().ok()) {
            self.init_ms = Some(time).filter(|time: &f64| (0.0..LATEST_MS).contains(time)).unwrap_or(0.0);
        }
        if let Some(shells) = text.strip_prefix("mahimahi config:") {
            // Nested shells of mahimahi, such as [delay 10 ms] [loss (up) rate=0.1].
            let delays = shells.split('[').filter_map(|shell| {
                let words: Vec<&str> = shell.split([' ', ']']).collect();
                match words[..] {
                    ["delay", millis, "ms", ..] => millis.parse::<f64>().ok(),
                    _ => None,
                }
            });
            self.delay_ms = delays.filter(|delay| (0.0..LONGEST_MS).contains(delay)).sum();
        }
    }

    fn came(&mut self, at_us: i64, bytes: u32, flow: u64) {
        if self.flows.len() == MOST_FLOWS && !self.flows.contains_key(&flow) {
            return;
        }
        if self.packets == MOST_PACKETS {
            self.is_cut = true;
            return;
        }
        self.packets += 1;
        let start = *self.first_us.get_or_insert(at_us);
        let of = self.flows.entry(flow).or_default();
        of.open.entry((at_us, bytes)).or_default().push_back(of.packets.len() as u32);
        of.bytes += u64::from(bytes);
        let sent_ns = (at_us - start) * 1000;
        of.packets.push(Observed { sent_ns, bytes, fate: Fate::Unknown, seen_ns: None });
    }

    fn left(&mut self, at_us: i64, bytes: u32, delay_us: i64, flow: u64) {
        let start = self.first_us.unwrap_or(at_us);
        let Some(of) = self.flows.get_mut(&flow) else {
            self.unknown += 1;
            return;
        };
        let came = at_us - delay_us;
        let keys = (0..=ROUNDING_US).flat_map(|off| [(came - off, bytes), (came + off, bytes)]);
        for key in keys.filter(|key| key.0 <= at_us) {
            let Some(open) = of.open.get_mut(&key) else { continue };
            let index = open.pop_front();
            if open.is_empty() {
                of.open.remove(&key);
            }
            let Some(index) = index else { continue };
            let packet = &mut of.packets[index as usize];
            (packet.fate, packet.seen_ns) = (Fate::Arrived, Some((at_us - start) * 1000));
            of.last_arrived = of.last_arrived.max(Some(index));
            return;
        }
        self.unknown += 1;
    }

    pub(super) fn finish(self) -> Result<Told, LogError> {
        let several = self.flows.len() > 1;
        let largest = self.flows.into_iter().max_by_key(|(flow, of)| (of.bytes, u64::MAX - flow));
        let Some((flow, mut of)) = largest else {
            return Err(LogError::whole("the log has no packet that came (TIME + BYTES)"));
        };
        let arrived = of.packets.iter().filter(|packet| packet.fate == Fate::Arrived).count() as u64;
        if self.unknown > arrived {
            return Err(LogError::whole(format!(
                "{} packets left that had not come so long before: not a log of both ends",
                self.unknown
            )));
        }
        // Packets after the last one that left may still be under way.
        let behind = of.last_arrived.map_or(0, |last| last as usize + 1);
        for packet in of.packets[..behind].iter_mut().filter(|packet| packet.fate == Fate::Unknown) {
            packet.fate = Fate::Lost;
        }
        let delay_ns = (self.delay_ms * 1e6) as i64;
        for packet in &mut of.packets {
            packet.seen_ns = packet.seen_ns.map(|seen| seen + delay_ns);
        }
        of.packets.sort_by_key(|packet| packet.sent_ns);
        let tool = if self.is_mahimahi { "mm-link" } else { "tunnel" };
        Ok(Told::Packets(PacketLog {
            flow: if several { format!("{tool}, flow {flow}") } else { tool.to_owned() },
            packets: of.packets,
            is_round_trip: false,
            are_probes: false,
            has_sizes: true,
            is_cut: self.is_cut,
            tick_ns: if self.has_fractions { 0 } else { MILLISECOND_NS },
            starts_s: self.init_ms / 1e3 + self.first_us.unwrap_or(0) as f64 / 1e6,
        }))
    }
}
