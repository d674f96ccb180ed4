//! Reader of the output of `ss -ti`, the statistics of TCP connections, printed once or repeatedly.

use super::events::short;
use super::log_error::LogError;
use super::told::{StretchLog, Told};
use crossfade_core::Carried;
use std::collections::BTreeMap;

/// Maximum number of samples kept of a connection.
const MOST: usize = 1_000_000;
const MOST_CONNECTIONS: usize = 10_000;
/// Interval of samples in seconds if the output has no times.
const INTERVAL_S: f64 = 1.0;

/// Largest plausible time in seconds since 1970; `MOST_OF_ALL` is the largest plausible value of any other number.
const LATEST_S: f64 = 1e10;
const MOST_OF_ALL: f64 = 1e15;

/// Statistics of a connection at one time: the fields that `ss` prints.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at_s: Option<f64>,
    delivery_bps: Option<f64>,
    rtt_s: Option<f64>,
    least_rtt_s: Option<f64>,
    acked: Option<f64>,
    sent_again: Option<f64>,
    segments: Option<f64>,
    mss: f64,
    is_limited: bool,
}

/// State of the reader of the output.
#[derive(Clone, Debug, Default)]
pub(super) struct Ss {
    connections: BTreeMap<String, Vec<Sample>>,
    name: Option<String>,
    /// Time in seconds from the last line that is a number, as `date +%s.%N` prints it in a loop.
    now_s: Option<f64>,
    is_cut: bool,
}

/// True if a line has the statistics that `ss -i` prints of a TCP connection.
pub(super) fn is_line(text: &str) -> bool {
    text.contains(" rtt:") && text.contains(" mss:") && text.contains(" cwnd:")
}

impl Ss {
    pub(super) fn line(&mut self, line: usize, text: &str) -> Result<(), LogError> {
        if let Some(time) = text.parse::<f64>().ok().filter(|time| *time > 0.0 && *time < LATEST_S) {
            self.now_s = Some(time);
            return Ok(());
        }
        if !is_line(text) {
            let words: Vec<&str> = text.split_whitespace().collect();
            // A line of state, two queue lengths and two addresses; no state if `ss` was asked for one state alone.
            let addresses =
                words.iter().filter(|word| word.contains(':')).take(2).copied().collect::<Vec<_>>();
            if let [local, peer] = addresses[..] {
                self.name = Some(format!("{local} to {peer}"));
            }
            return Ok(());
        }
        let Some(name) = self.name.clone() else {
            return Err(LogError::at(
                line,
                "what a connection did, without a line of its addresses before it",
            ));
        };
        if self.connections.len() == MOST_CONNECTIONS && !self.connections.contains_key(&name) {
            return Ok(());
        }
        let sample = sample(line, text)?;
        let of = self.connections.entry(name).or_default();
        if of.len() == MOST {
            self.is_cut = true;
            return Ok(());
        }
        of.push(Sample { at_s: self.now_s, ..sample });
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Told, LogError> {
        let acked = |of: &Vec<Sample>| of.iter().filter_map(|sample| sample.acked).fold(0.0, f64::max);
        let largest = self.connections.into_iter().max_by(|a, b| acked(&a.1).total_cmp(&acked(&b.1)));
        let Some((name, samples)) = largest else {
            return Err(LogError::whole("the output of ss has no connection"));
        };
        let time = |index: usize| samples[index].at_s.unwrap_or(index as f64 * INTERVAL_S);
        let mut stretches = Vec::new();
        for (index, pair) in samples.windows(2).enumerate() {
            let (from_s, to_s) = (time(index) - time(0), time(index + 1) - time(0));
            let (Some(before), Some(after)) = (pair[0].acked, pair[1].acked) else { continue };
            if to_s <= from_s || after < before {
                continue;
            }
            let rise = |of: fn(&Sample) -> Option<f64>| Some((of(&pair[1])? - of(&pair[0])?).max(0.0));
            let wire = (pair[1].mss + 52.0) / pair[1].mss;
            stretches.push(Carried {
                from_s,
                to_s,
                // Delivery rate of the kernel where it is printed: the connection may have been idle between samples.
                bytes: pair[1]
                    .delivery_bps
                    .map_or((after - before) * wire, |bps| bps * wire * (to_s - from_s) / 8.0),
                packets: rise(|of| of.segments).unwrap_or((after - before) / pair[1].mss),
                lost: rise(|of| of.sent_again),
                rtt_s: pair[1].rtt_s,
                is_limited: pair[1].is_limited,
            });
        }
        if stretches.is_empty() {
            let problem = "needs two samples of a connection with bytes_acked: run ss -ti again and again";
            return Err(LogError::whole(problem));
        }
        let least = samples.iter().filter_map(|sample| sample.least_rtt_s).fold(f64::INFINITY, f64::min);
        Ok(Told::Stretches(StretchLog {
            flow: format!("ss, {}", short(&name)),
            is_udp: false,
            packet_bytes: samples[0].mss + 52.0,
            flows: 1.0,
            lost_share: None,
            least_rtt_s: least.is_finite().then_some(least),
            stretches,
            is_cut: self.is_cut,
        }))
    }
}

fn sample(line: usize, text: &str) -> Result<Sample, LogError> {
    let mut found = Sample { mss: 1448.0, ..Sample::default() };
    let words: Vec<&str> = text.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        let (key, value) = word.split_once(':').unwrap_or((word, ""));
        let wrong = || LogError::at(line, format!("{}: must be a number of 0 or more", short(word)));
        let parse = |text: &str| {
            text.parse::<f64>().ok().filter(|value| (0.0..=MOST_OF_ALL).contains(value)).ok_or_else(wrong)
        };
        let before_slash = |text: &str| parse(text.split('/').next().unwrap_or_default());
        match key {
            "rtt" => found.rtt_s = Some(before_slash(value)? / 1e3),
            "minrtt" => found.least_rtt_s = Some(parse(value)? / 1e3),
            "mss" => found.mss = parse(value)?.max(1.0),
            "bytes_acked" => found.acked = Some(parse(value)?),
            "data_segs_out" => found.segments = Some(parse(value)?),
            // Retransmissions under way, and in total.
            "retrans" => found.sent_again = Some(parse(value.rsplit('/').next().unwrap_or_default())?),
            "app_limited" => found.is_limited = true,
            "delivery_rate" => {
                let rate = words.get(index + 1).copied().unwrap_or_default();
                found.delivery_bps = Some(bps(rate).ok_or_else(|| {
                    LogError::at(
                        line,
                        format!("delivery_rate {}: must be a rate such as 11.6Mbps", short(rate)),
                    )
                })?);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Rate in bit/s from the text that `ss` prints, such as `11.6Mbps`.
fn bps(text: &str) -> Option<f64> {
    let number = text.strip_suffix("bps")?;
    let (number, unit) = match number.as_bytes().last()? {
        b'K' => (&number[..number.len() - 1], 1e3),
        b'M' => (&number[..number.len() - 1], 1e6),
        b'G' => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    let rate = number.parse::<f64>().ok()? * unit;
    (0.0..=MOST_OF_ALL).contains(&rate).then_some(rate)
}
