//! Reader of irtt's JSON: round trips of UDP probes sent at a constant interval.

use super::flow::MOST_PACKETS;
use super::log_error::LogError;
use super::observed::{Fate, Observed};
use super::told::{PacketLog, Told, number, parsed};
use serde_json::Value;

pub(super) const NAMES: &[&str] = &["round_trips", "params"];

/// Bytes of the IPv4 and UDP headers, which irtt's packet length leaves out.
const BELOW: u32 = 28;
/// Smallest UDP payload of a probe in bytes: irtt's header with its time stamps.
const LEAST: u32 = 60;

/// State of the reader of an irtt log.
#[derive(Clone, Debug, Default)]
pub(super) struct Irtt {
    packets: Vec<Observed>,
    start: Option<i64>,
    bytes: Option<u32>,
    is_cut: bool,
}

impl Irtt {
    pub(super) fn element(&mut self, line: usize, key: &str, text: &[u8]) -> Result<(), LogError> {
        let of = parsed(line, text)?;
        if key == "params" {
            let length = of.get("length").and_then(number).filter(|length| (0.0..65_000.0).contains(length));
            self.bytes = length.map(|length| (length as u32).max(LEAST) + BELOW);
            return Ok(());
        }
        let stamp = |path: &[&str]| {
            let value = path.iter().try_fold(&of, |at: &Value, key| at.get(*key));
            value.and_then(Value::as_i64).filter(|stamp| *stamp != 0)
        };
        let sent = stamp(&["timestamps", "client", "send", "monotonic"])
            .or_else(|| stamp(&["timestamps", "client", "send", "wall"]));
        let Some(sent) = sent else {
            return Err(LogError::at(line, "a round trip without timestamps.client.send"));
        };
        let start = *self.start.get_or_insert(sent);
        let rtt =
            of.get("delay").and_then(|delay| delay.get("rtt")).and_then(Value::as_i64).filter(|rtt| *rtt > 0);
        let is_lost = of.get("lost").and_then(Value::as_str).is_some_and(|lost| lost.starts_with("true"));
        if rtt.is_none() && !is_lost {
            return Err(LogError::at(line, "a round trip that is not lost needs delay.rtt in ns"));
        }
        if self.packets.len() == MOST_PACKETS {
            self.is_cut = true;
            return Ok(());
        }
        let Some(sent_ns) = sent.checked_sub(start).filter(|sent| *sent >= 0) else {
            return Err(LogError::at(line, "a round trip that began before the first one"));
        };
        let seen_ns = rtt.filter(|_| !is_lost).map(|rtt| sent_ns.saturating_add(rtt));
        let fate = if seen_ns.is_some() { Fate::Arrived } else { Fate::Lost };
        self.packets.push(Observed { sent_ns, bytes: self.bytes.unwrap_or(LEAST + BELOW), fate, seen_ns });
        Ok(())
    }

    pub(super) fn finish(mut self, ends_early: bool) -> Result<Told, LogError> {
        if self.packets.is_empty() {
            return Err(LogError::whole("the JSON of irtt has no round_trips"));
        }
        self.packets.sort_by_key(|packet| packet.sent_ns);
        Ok(Told::Packets(PacketLog {
            flow: "irtt".to_owned(),
            packets: self.packets,
            is_round_trip: true,
            are_probes: true,
            has_sizes: true,
            is_cut: self.is_cut || ends_early,
            tick_ns: 0,
            starts_s: 0.0,
        }))
    }
}
