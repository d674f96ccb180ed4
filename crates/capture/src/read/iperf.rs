//! Reader of iperf3's JSON (`--json` and `--json-stream`): per interval the bytes carried and, for TCP, the sender's
//! RTT and retransmissions; for UDP, lost datagrams.

use super::log_error::LogError;
use super::told::{StretchLog, Told, number, parsed};
use crossfade_core::Carried;
use serde_json::Value;

pub(super) const NAMES: &[&str] = &["test_start", "intervals", "data", "sum"];

/// Bytes of a full TCP segment without and with headers, by which payload is converted to bytes on the wire.
const SEGMENT: (f64, f64) = (1448.0, 1500.0);
/// Bytes of the IPv4 and UDP headers, which iperf3 does not count.
const BELOW: f64 = 28.0;
/// Maximum number of intervals: more than a year of tenths of a second would be no test.
const MOST: usize = 4_000_000;
/// Largest plausible number of bytes of a test.
const MOST_BYTES: f64 = 1e15;
const LARGEST_BLOCK: f64 = 65_507.0;

/// State of the reader of an iperf3 log.
#[derive(Clone, Debug, Default)]
pub(super) struct Iperf {
    is_udp: bool,
    block: Option<f64>,
    reverse: bool,
    streams: f64,
    stretches: Vec<Carried>,
    /// Share of all datagrams that were lost, from the summary at the end of the log.
    lost_share: Option<f64>,
}

impl Iperf {
    pub(super) fn element(&mut self, line: usize, key: &str, text: &[u8]) -> Result<(), LogError> {
        let of = parsed(line, text)?;
        let at = |key: &str| of.get(key).and_then(number);
        match key {
            "test_start" => {
                self.start(&of);
                Ok(())
            }
            "sum" => {
                let percent = at("lost_percent").filter(|percent| (0.0..=100.0).contains(percent));
                self.lost_share = percent.map(|percent| percent / 100.0).or(self.lost_share);
                Ok(())
            }
            "data" => match (of.get("test_start"), of.get("sum")) {
                (Some(start), _) => {
                    self.start(start);
                    Ok(())
                }
                (_, Some(_))
                    if of.get("streams").is_some_and(|streams| streams[0]["sender"].is_boolean()) =>
                {
                    self.interval(line, &of)
                }
                _ => Ok(()),
            },
            _ => self.interval(line, &of),
        }
    }

    fn start(&mut self, of: &Value) {
        let at = |key: &str| of.get(key).and_then(number);
        self.is_udp = of.get("protocol").and_then(Value::as_str) == Some("UDP");
        self.block = at("blksize").filter(|block| (1.0..=LARGEST_BLOCK).contains(block));
        self.reverse = at("reverse") == Some(1.0);
        self.streams = at("num_streams").unwrap_or(1.0);
    }

    fn interval(&mut self, line: usize, of: &Value) -> Result<(), LogError> {
        let Some(sum) = of.get("sum") else {
            return Err(LogError::at(line, "an interval without sum"));
        };
        let stream = of.get("streams").and_then(|streams| streams.get(0));
        let need = |key: &str| {
            let value = sum.get(key).and_then(number).filter(|value| (0.0..=MOST_BYTES).contains(value));
            value.ok_or_else(|| LogError::at(line, format!("sum.{key}: must be a number of 0 or more")))
        };
        let (from_s, to_s, payload) = (need("start")?, need("end")?, need("bytes")?);
        if to_s <= from_s {
            return Err(LogError::at(line, format!("sum.end = {to_s}: must be after sum.start = {from_s}")));
        }
        if sum.get("omitted").and_then(Value::as_bool) == Some(true) {
            return Ok(());
        }
        if let Some(last) = self.stretches.last()
            && from_s < last.to_s - 0.5 * (to_s - from_s)
        {
            let problem = format!("sum.start = {from_s}: the interval in front of it ends at {}", last.to_s);
            return Err(LogError::at(line, problem));
        }
        if self.stretches.len() == MOST {
            return Err(LogError::at(line, "more than 4 million intervals"));
        }
        let of_sum =
            |key: &str| sum.get(key).and_then(number).filter(|value| (0.0..=MOST_BYTES).contains(value));
        let of_stream = |key: &str| stream.and_then(|stream| stream.get(key)).and_then(number);
        let (bytes, packets) = if self.is_udp {
            let block = self.block.unwrap_or(SEGMENT.0).max(1.0);
            (payload * (block + BELOW) / block, of_sum("packets").unwrap_or(payload / block))
        } else {
            (payload * SEGMENT.1 / SEGMENT.0, payload / SEGMENT.0)
        };
        self.stretches.push(Carried {
            from_s,
            to_s,
            bytes,
            packets,
            lost: if self.is_udp { of_sum("lost_packets") } else { of_sum("retransmits") },
            rtt_s: of_stream("rtt").filter(|rtt| *rtt > 0.0 && *rtt < MOST_BYTES).map(|rtt| rtt / 1e6),
            is_limited: false,
        });
        Ok(())
    }

    pub(super) fn finish(self, ends_early: bool) -> Result<Told, LogError> {
        if self.stretches.is_empty() {
            return Err(LogError::whole("the JSON of iperf3 has no intervals"));
        }
        Ok(Told::Stretches(StretchLog {
            flow: format!("iperf3, {}", if self.is_udp { "UDP" } else { "TCP" }),
            is_udp: self.is_udp,
            packet_bytes: if self.is_udp { self.block.unwrap_or(SEGMENT.0) + BELOW } else { SEGMENT.1 },
            flows: self.streams.max(1.0),
            lost_share: self.lost_share,
            least_rtt_s: None,
            stretches: self.stretches,
            is_cut: ends_early,
        }))
    }
}
