//! Reader of the output of `ping`: iputils (also with `-D` and `-O`), BSD and macOS, `BusyBox` and Windows.

use super::events::short;
use super::flow::MOST_PACKETS;
use super::log_error::LogError;
use super::observed::{Fate, Observed};
use super::told::{PacketLog, Told};

/// Bytes of the IP header, which the printed number of bytes leaves out (it includes the ICMP header).
const IP: u32 = 20;
/// Default interval of probes, in seconds.
const INTERVAL_S: f64 = 1.0;

/// State of the reader of ping's output.
#[derive(Clone, Debug, Default)]
pub(super) struct Ping {
    /// Answers so far: sequence number, round trip in s (`None` if lost), IP length in bytes, and time printed by `-D`
    /// in s.
    answers: Vec<(u64, Option<f64>, u32, Option<f64>)>,
    /// Sequence number of the next answer if it has none, as on Windows.
    unnumbered: u64,
    lasts_s: Option<f64>,
    host: String,
    is_cut: bool,
}

/// True if a line is the first of ping's output, or an answer.
pub(super) fn is_line(text: &str) -> bool {
    let text = stamped(text).1;
    (text.starts_with("PING ") && text.contains("bytes"))
        || text.starts_with("Pinging ")
        || (text.contains(" bytes from ") && text.contains("time"))
}

/// Splits the time in seconds that `ping -D` prints from the rest of a line.
fn stamped(text: &str) -> (Option<f64>, &str) {
    let stamp = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match stamp.map(|(time, rest)| (time.parse::<f64>(), rest)) {
        Some((Ok(time), rest)) if time.is_finite() => (Some(time), rest),
        _ => (None, text),
    }
}

/// Word that follows `key` in a line, up to a space, comma or colon.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = &text[text.find(key)? + key.len()..];
    Some(rest.split([' ', ',', ':']).next().unwrap_or(rest))
}

impl Ping {
    pub(super) fn line(&mut self, line: usize, text: &str) -> Result<(), LogError> {
        let (stamp, text) = stamped(text);
        if let Some(rest) = text.strip_prefix("PING ").or_else(|| text.strip_prefix("Pinging ")) {
            rest.split(' ').next().unwrap_or_default().clone_into(&mut self.host);
            return Ok(());
        }
        // Summary of iputils: "10 packets transmitted, 10 received, 0% packet loss, time 9012ms".
        if text.contains("packets transmitted") {
            let took = after(text, "time ").and_then(|took| took.strip_suffix("ms"));
            self.lasts_s = took.and_then(|took| took.parse::<f64>().ok()).map(|ms| ms / 1e3);
            return Ok(());
        }
        let is_lost = ["no answer yet", "Request timeout", "Request timed out", "Unreachable", "unreachable"]
            .iter()
            .any(|words| text.contains(words));
        let is_answer = text.contains("bytes from") || text.starts_with("Reply from");
        if !is_lost && !is_answer {
            return Ok(());
        }
        let given =
            after(text, "icmp_seq=").or_else(|| after(text, "icmp_seq ")).or_else(|| after(text, "seq="));
        let number = match given {
            Some(word) => word
                .parse::<u64>()
                .map_err(|_| LogError::at(line, format!("seq = {}: must be a whole number", short(word))))?,
            None => self.unnumbered,
        };
        self.unnumbered = number.wrapping_add(1);
        let bytes = text.split(' ').next().and_then(|word| word.parse::<u32>().ok());
        let bytes = bytes.or_else(|| after(text, "bytes=")?.parse::<u32>().ok().map(|bytes| bytes + 8));
        let round_trip = if is_lost {
            None
        } else {
            let word = after(text, "time=").or_else(|| after(text, "time<"));
            let word = word.ok_or_else(|| LogError::at(line, "an answer without a time"))?;
            let ms = word.trim_end_matches("ms").parse::<f64>().ok().filter(|ms| (0.0..1e7).contains(ms));
            let ms =
                ms.ok_or_else(|| LogError::at(line, format!("time={}: must be a time in ms", short(word))))?;
            Some(ms / 1e3)
        };
        if self.answers.len() == MOST_PACKETS {
            self.is_cut = true;
            return Ok(());
        }
        self.answers.push((number, round_trip, bytes.unwrap_or(64).min(65_000) + IP, stamp));
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Told, LogError> {
        let Some((first, ..)) = self.answers.first() else {
            return Err(LogError::whole("the output of ping has no answer"));
        };
        // Sequence numbers have 16 bits and wrap around; answers may come out of order.
        let (mut last, mut probes) =
            (u64::from(*first as u16), Vec::<(u64, Option<f64>, u32, Option<f64>)>::new());
        for (number, round_trip, bytes, stamp) in &self.answers {
            let ahead = (*number as u16).wrapping_sub(last as u16);
            let at = if ahead < 0x8000 {
                last + u64::from(ahead)
            } else {
                last.saturating_sub(u64::from(ahead.wrapping_neg()))
            };
            last = last.max(at);
            probes.push((at, *round_trip, *bytes, *stamp));
        }
        probes.sort_by_key(|probe| (probe.0, probe.1.is_none()));
        probes.dedup_by_key(|probe| probe.0);
        let (from, to) = (probes[0].0, probes[probes.len() - 1].0);
        if to - from >= MOST_PACKETS as u64 {
            let missing = to - from + 1 - probes.len() as u64;
            return Err(LogError::whole(format!("{missing} probes are missing: not of one run of ping")));
        }
        let stamps: Vec<(u64, f64)> = probes.iter().filter_map(|of| Some((of.0, of.3? - of.1?))).collect();
        let interval_s = match (stamps.first(), stamps.last()) {
            (Some(a), Some(b)) if b.0 > a.0 && b.1 > a.1 => (b.1 - a.1) / (b.0 - a.0) as f64,
            _ => match self.lasts_s {
                Some(lasts) if to > from && lasts > 0.0 => lasts / (to - from) as f64,
                _ => INTERVAL_S,
            },
        };
        let mut packets = Vec::new();
        let mut next = probes.iter().peekable();
        for number in from..=to {
            let sent_ns = ((number - from) as f64 * interval_s * 1e9) as i64;
            let probe = next.next_if(|probe| probe.0 == number);
            let round_trip = probe.and_then(|probe| probe.1);
            let bytes = probe.map_or(probes[0].2, |probe| probe.2);
            let seen_ns = round_trip.map(|round_trip| sent_ns + (round_trip * 1e9) as i64);
            let fate = if seen_ns.is_some() { Fate::Arrived } else { Fate::Lost };
            packets.push(Observed { sent_ns, bytes, fate, seen_ns });
        }
        Ok(Told::Packets(PacketLog {
            flow: format!("ping of {}", short(&self.host)),
            packets,
            is_round_trip: true,
            are_probes: true,
            has_sizes: true,
            is_cut: self.is_cut,
            tick_ns: 0,
            starts_s: 0.0,
        }))
    }
}
