//! Reader of the qlog of a QUIC sender (draft-ietf-quic-qlog-main-schema and -quic-events): one JSON document, or a
//! JSON text sequence.
//!
//! Only packets of the application's packet number space count. The delay of a packet ends with the acknowledgement
//! that names it, less the time for which the receiver held that acknowledgement back.

use super::flow::MOST_PACKETS;
use super::log_error::LogError;
use super::numbered::Numbered;
use super::observed::Observed;
use super::told::{PacketLog, Told, number, parsed};
use serde_json::Value;

/// Keys of the objects that are read from a qlog of one document.
pub(super) const NAMES: &[&str] = &["events", "common_fields", "configuration"];
/// Key of the objects that are read from a qlog with one document per event: the empty key of a whole document.
pub(super) const SEQUENCE: &[&str] = &[""];

/// Bytes of the IPv4 and UDP headers, which the packet length in a qlog leaves out.
const BELOW: u32 = 28;

/// Latest time in nanoseconds since the first event (127 years): the difference of two times fits into 64 bits.
const LATEST_NS: f64 = 4e18;

/// State of the reader of a qlog.
#[derive(Clone, Debug)]
pub(super) struct Qlog {
    packets: Numbered,
    received_bytes: f64,
    sent_bytes: f64,
    /// Time units per second: milliseconds, or microseconds in old qlogs.
    per_second: f64,
    is_delta: bool,
    start: Option<f64>,
    now: f64,
    is_cut: bool,
}

impl Default for Qlog {
    fn default() -> Self {
        Self {
            packets: Numbered::default(),
            received_bytes: 0.0,
            sent_bytes: 0.0,
            per_second: 1e3,
            is_delta: false,
            start: None,
            now: 0.0,
            is_cut: false,
        }
    }
}

impl Qlog {
    /// Reads one object: an event, or the fields that all events share.
    pub(super) fn element(&mut self, line: usize, key: &str, text: &[u8]) -> Result<(), LogError> {
        let of = parsed(line, text)?;
        match key {
            "events" => self.event(line, &of),
            "common_fields" | "configuration" => {
                self.common(&of);
                Ok(())
            }
            // The first document of a sequence has the fields that all events share.
            _ => match of.get("trace") {
                Some(trace) => {
                    trace.get("common_fields").into_iter().for_each(|fields| self.common(fields));
                    Ok(())
                }
                None => self.event(line, &of),
            },
        }
    }

    fn common(&mut self, fields: &Value) {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        self.is_delta |= matches!(text("time_format"), Some("delta" | "relative_to_previous_event"));
        if text("time_units") == Some("us") {
            self.per_second = 1e6;
        }
    }

    fn event(&mut self, line: usize, of: &Value) -> Result<(), LogError> {
        let Some(time) = of.get("time").and_then(number) else {
            return match of.get("name") {
                None => Ok(()),
                Some(_) => Err(LogError::at(line, "an event without a time")),
            };
        };
        if !(time.is_finite() && (0.0..1e15).contains(&time)) {
            return Err(LogError::at(line, format!("time = {time}: must be 0 or more")));
        }
        self.now = if self.is_delta { self.now + time } else { time };
        let start = *self.start.get_or_insert(self.now);
        let now = ((self.now - start) / self.per_second * 1e9).clamp(-LATEST_NS, LATEST_NS) as i64;
        let name = of.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(data) = of.get("data") else { return Ok(()) };
        let header = data.get("header").unwrap_or(data);
        let kind = header.get("packet_type").and_then(Value::as_str).unwrap_or("1RTT");
        if !kind.eq_ignore_ascii_case("1rtt") {
            return Ok(());
        }
        let length = [
            data.get("raw").and_then(|raw| raw.get("length")),
            header.get("packet_size"),
            data.get("packet_size"),
        ];
        let length = length.into_iter().flatten().find_map(number).unwrap_or(0.0).clamp(0.0, 65_535.0);
        let packet_number = header.get("packet_number").and_then(number).map(|number| number as u64);
        match name.rsplit(':').next().unwrap_or_default() {
            "packet_sent" => {
                let Some(number) = packet_number else {
                    return Err(LogError::at(line, "packet_sent without header.packet_number"));
                };
                if self.packets.len() == MOST_PACKETS {
                    self.is_cut = true;
                    return Ok(());
                }
                self.sent_bytes += length;
                self.packets.sent(now, number, length as u32 + BELOW);
            }
            "packet_received" => {
                self.received_bytes += length;
                let frames = data.get("frames").and_then(Value::as_array);
                for frame in frames.into_iter().flatten() {
                    if frame.get("frame_type").and_then(Value::as_str) == Some("ack") {
                        self.acknowledged(line, now, frame)?;
                    }
                }
            }
            "packet_lost" => packet_number.into_iter().for_each(|number| self.packets.lost(number)),
            _ => {}
        }
        Ok(())
    }

    fn acknowledged(&mut self, line: usize, now: i64, frame: &Value) -> Result<(), LogError> {
        let delay_ms = frame.get("ack_delay").and_then(number).unwrap_or(0.0);
        let Some(ranges) = frame.get("acked_ranges").and_then(Value::as_array) else {
            return Err(LogError::at(line, "an ACK frame without acked_ranges"));
        };
        let of = |range: &Value| {
            let range = range.as_array()?;
            let first = range.first().and_then(number)?;
            let last = range.get(1).map_or(Some(first), number)?;
            (first >= 0.0 && last >= first).then_some((first as u64, last as u64))
        };
        let ranges: Option<Vec<(u64, u64)>> = ranges.iter().map(of).collect();
        let Some(ranges) = ranges else {
            return Err(LogError::at(line, "acked_ranges: must be pairs of a first and a last number"));
        };
        self.packets.acknowledged(now, ranges, (delay_ms * 1e6) as i64);
        Ok(())
    }

    pub(super) fn finish(self, ends_early: bool) -> Result<Told, LogError> {
        if self.packets.len() == 0 {
            return Err(LogError::whole("the qlog has no packet_sent event of 1-RTT packets"));
        }
        let packets: Vec<Observed> = self.packets.finish();
        if packets.iter().all(|packet| packet.seen_ns.is_none())
            || self.received_bytes > 4.0 * self.sent_bytes
        {
            let problem = "the qlog is of the end that received the data: give that of the sender";
            return Err(LogError::whole(problem));
        }
        Ok(Told::Packets(PacketLog {
            flow: "QUIC".to_owned(),
            packets,
            is_round_trip: true,
            are_probes: false,
            has_sizes: true,
            is_cut: self.is_cut || ends_early,
            tick_ns: 0,
            starts_s: 0.0,
        }))
    }
}
