//! Reader of the CSV files of events that Crossfade writes for a simulated or emulated flow.

use super::flow::MOST_PACKETS;
use super::log_error::LogError;
use super::observed::{Fate, Observed};
use super::told::{PacketLog, Told};
use std::collections::{BTreeMap, VecDeque};

/// Assumed IP length of each packet in bytes: the file has no sizes, so all count as full.
const BYTES: u32 = 1500;
/// Maximum number of flows; packets of further ones are ignored.
const MOST_FLOWS: usize = 10_000;

/// Packets of one flow of the file.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: Vec<Observed>,
    /// Indices of the transmissions of each segment that have neither arrived nor been lost.
    open: BTreeMap<u64, VecDeque<u32>>,
}

/// State of the reader between two lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    /// Column numbers of time, event, flow and sequence number; `None` before the header line.
    columns: Option<[usize; 4]>,
    flows: BTreeMap<u32, Flow>,
    packets: usize,
    last_ns: i64,
    is_cut: bool,
}

/// True if a line is the header of such a file.
pub(super) fn is_header(text: &str) -> bool {
    columns(text).is_some()
}

fn columns(text: &str) -> Option<[usize; 4]> {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let at = |name: &str| names.iter().position(|other| *other == name);
    Some([at("time_s")?, at("event")?, at("flow")?, at("seq")?])
}

impl Events {
    pub(super) fn line(&mut self, line: usize, text: &str) -> Result<(), LogError> {
        let Some([time, event, flow, seq]) = self.columns else {
            self.columns = columns(text);
            return match self.columns {
                Some(_) => Ok(()),
                None => Err(LogError::at(line, "must name the columns time_s, event, flow and seq")),
            };
        };
        if text.is_empty() {
            return Ok(());
        }
        let cells: Vec<&str> = text.split(',').collect();
        let cell = |at: usize| cells.get(at).map(|cell| cell.trim());
        let Some(event) = cell(event) else { return Err(LogError::at(line, "has too few cells")) };
        let fate = match event {
            "send" => None,
            "receive" => Some(Fate::Arrived),
            "lost" | "queue_drop" => Some(Fate::Lost),
            _ => return Ok(()),
        };
        let whole = |what: &str, at: usize| {
            let text = cell(at).unwrap_or_default();
            text.parse::<u64>()
                .map_err(|_| LogError::at(line, format!("{what} = {}: must be a whole number", short(text))))
        };
        let text = cell(time).unwrap_or_default();
        let at: f64 = text.parse().ok().filter(|at: &f64| (0.0..1e9).contains(at)).ok_or_else(|| {
            LogError::at(line, format!("time_s = {}: must be a time in seconds, 0 or more", short(text)))
        })?;
        let now = (at * 1e9).round() as i64;
        if now < self.last_ns {
            return Err(LogError::at(
                line,
                format!("time_s = {at}: is before that of the line in front of it"),
            ));
        }
        self.last_ns = now;
        let (flow, seq) = (whole("flow", flow)? as u32, whole("seq", seq)?);
        if self.flows.len() == MOST_FLOWS && !self.flows.contains_key(&flow) {
            return Ok(());
        }
        let of = self.flows.entry(flow).or_default();
        match fate {
            None if self.packets == MOST_PACKETS => self.is_cut = true,
            None => {
                self.packets += 1;
                of.open.entry(seq).or_default().push_back(of.packets.len() as u32);
                of.packets.push(Observed { sent_ns: now, bytes: BYTES, fate: Fate::Unknown, seen_ns: None });
            }
            // The path preserves order, so the event belongs to the oldest transmission of the segment.
            Some(fate) => {
                let Some(open) = of.open.get_mut(&seq) else { return Ok(()) };
                let index = open.pop_front();
                if open.is_empty() {
                    of.open.remove(&seq);
                }
                let Some(packet) = index.map(|index| &mut of.packets[index as usize]) else { return Ok(()) };
                packet.fate = fate;
                packet.seen_ns = (fate == Fate::Arrived).then_some(now);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Told, LogError> {
        let largest = self.flows.into_iter().max_by_key(|(flow, of)| (of.packets.len(), u32::MAX - flow));
        let Some((flow, of)) = largest.filter(|(_, of)| !of.packets.is_empty()) else {
            return Err(LogError::whole("the events have no packet that was sent"));
        };
        Ok(Told::Packets(PacketLog {
            flow: format!("flow {flow}"),
            packets: of.packets,
            is_round_trip: false,
            are_probes: false,
            has_sizes: false,
            is_cut: self.is_cut,
            tick_ns: 0,
            starts_s: 0.0,
        }))
    }
}

/// First 40 characters of `text`, for an error message.
pub(super) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
