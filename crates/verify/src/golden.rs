//! Comparison with golden traces: simulates their connection and compares the sends row by row.

use crate::case::CaseReport;
use crate::parse::{GoldenError, Pattern, Patterns, SendRow, parse_name, parse_patterns, parse_sends};
use crossfade_channel::{DropList, Lossless};
use crossfade_core::{EventKind, EventRecord, Observer, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{Network, OneHop, SenderGate, Shortcuts, StopRule, simulate};
use crossfade_transport::{Flavour, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

/// Tolerance of send times in microseconds.
const TIME_TOLERANCE_US: i64 = 2;

/// One file of golden sends (transmissions of a TCP connection) with its loss patterns.
pub struct GoldenTrace {
    name: String,
    variant: Variant,
    limited_transmit: bool,
    patterns: Patterns,
    /// Name and rows of each loss pattern, in the order of the file.
    cases: Vec<(String, Vec<SendRow>)>,
}

impl GoldenTrace {
    /// Reads a golden trace. `patterns_json` is the text of `patterns.json`; `name` is the trace file's name without
    /// folder and `.gz`, and `csv` is its text.
    ///
    /// # Errors
    /// A text that does not follow the layout.
    pub fn parse(patterns_json: &str, name: &str, csv: &str) -> Result<Self, GoldenError> {
        let patterns = parse_patterns(patterns_json)?;
        let (variant, limited_transmit) = parse_name(name)?;
        let cases = parse_sends(name, csv)?;
        let is_unknown = |case: &String| patterns.list.iter().all(|pattern| pattern.name != *case);
        if let Some((unknown, _)) = cases.iter().find(|(case, _)| is_unknown(case)) {
            return Err(GoldenError::new(name, format!("pattern \"{unknown}\" is not in patterns.json")));
        }
        Ok(Self { name: name.to_owned(), variant, limited_transmit, patterns, cases })
    }

    /// Number of segments that each connection of the trace sends.
    pub fn npackets(&self) -> u64 {
        self.patterns.npackets
    }

    /// Simulates the connection under every loss pattern and compares its sends.
    pub fn verify(&self) -> Vec<CaseReport> {
        self.patterns.list.iter().map(|pattern| self.verify_pattern(pattern)).collect()
    }

    fn verify_pattern(&self, pattern: &Pattern) -> CaseReport {
        let case = format!("{}/{}", self.name, pattern.name);
        let Some((_, theirs)) = self.cases.iter().find(|(case, _)| *case == pattern.name) else {
            let difference = Some("the file has no rows of this pattern".to_owned());
            return CaseReport { case, rows: 0, found: None, difference };
        };
        let ours = self.simulate(pattern, Shortcuts::ALL);
        CaseReport { case, rows: theirs.len(), found: None, difference: first_difference(theirs, &ours) }
    }

    fn simulate(&self, pattern: &Pattern, shortcuts: Shortcuts) -> Vec<SendRow> {
        let drops = DropList::new(pattern.drops.clone()).expect("the parser has checked the drops");
        let config = connection(self.variant, self.limited_transmit, self.patterns.npackets, drops);
        let mut sends = Sends::default();
        let network = Network { shortcuts, ..config.into() };
        simulate(network, Some(&mut sends), None, &AtomicBool::new(false)).expect("nobody cancels");
        sends.rows
    }
}

/// Rate in bit/s of the link in the golden traces.
const RATE_BPS: f64 = 10e6;
const PACKET_SIZE: u32 = 1000;

/// TCP configuration and link of the golden traces' connection.
fn connection(variant: Variant, limited_transmit: bool, npackets: u64, drops: DropList) -> OneHop {
    let ms = SimTime::from_millis(1);
    let hop = |loss| HopConfig { rate_bps: Some(RATE_BPS), delay: ms * 20, queue_limit: None, loss };
    OneHop {
        tcp: TcpConfig {
            limited_transmit,
            segments: Some(npackets),
            ..TcpConfig::new(Flavour::Ns2, variant, 64)
        },
        packet_size: PACKET_SIZE,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Queue,
        forward: hop(Box::new(drops)),
        reverse: hop(Box::new(Lossless)),
        warmup: SimTime::ZERO,
        // Run to the last event: the sender continues until its last acknowledgement arrives.
        stop: StopRule::At(SimTime::MAX),
    }
}

/// Observer that keeps the sends of a connection.
#[derive(Default)]
struct Sends {
    rows: Vec<SendRow>,
    /// End of each send's transmission on the link, which is when its loss is reported.
    ends: Vec<SimTime>,
}

impl Observer for Sends {
    fn record(&mut self, event: &EventRecord) {
        match event.kind {
            EventKind::Send => {
                let idle_at = self.ends.last().copied().unwrap_or_default();
                self.ends.push(idle_at.max(event.time) + SimTime::to_transmit(PACKET_SIZE, RATE_BPS));
                self.rows.push(SendRow {
                    k: self.rows.len() as u64,
                    time_us: ((event.time.as_nanos() + 500) / 1000).cast_signed(),
                    seq: event.seq,
                    dropped: false,
                    cwnd_thousandths: as_printed(event.tcp.cwnd),
                    ssthresh: event.tcp.ssthresh as i64,
                    dupacks: u64::from(event.tcp.dupacks),
                    backoff: u64::from(event.tcp.backoff),
                });
            }
            EventKind::Lost => {
                let lost = self.ends.binary_search(&event.time).expect("one transmission ends at a time");
                self.rows[lost].dropped = true;
            }
            _ => {}
        }
    }
}

/// `cwnd` in thousandths, rounded to three decimals like C's `printf`: exactly, with ties to even.
fn as_printed(cwnd: f64) -> i64 {
    let thousandths: f64 = format!("{cwnd:.3}").parse().expect("a printed number");
    (thousandths * 1e3).round() as i64
}

fn first_difference(theirs: &[SendRow], ours: &[SendRow]) -> Option<String> {
    for (their, our) in theirs.iter().zip(ours) {
        let same_time = (their.time_us - our.time_us).abs() <= TIME_TOLERANCE_US;
        if !same_time || (SendRow { time_us: our.time_us, ..*their }) != *our {
            return Some(format!("expected {}; got {}", show(their), show(our)));
        }
    }
    match theirs.len().cmp(&ours.len()) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => {
            Some(format!("expected {}; got no more sends", show(&theirs[ours.len()])))
        }
        std::cmp::Ordering::Less => {
            Some(format!("expected no more sends; got {}", show(&ours[theirs.len()])))
        }
    }
}

fn show(row: &SendRow) -> String {
    let SendRow { k, time_us, seq, dropped, cwnd_thousandths, ssthresh, dupacks, backoff } = row;
    format!(
        "k {k} time {:.6} seq {seq} dropped {} cwnd {:.3} ssthresh {ssthresh} dupacks {dupacks} backoff {backoff}",
        *time_us as f64 / 1e6,
        u8::from(*dropped),
        *cwnd_thousandths as f64 / 1e3,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::HEADER;
    use proptest::prelude::*;

    const PATTERNS: &str =
        r#"{"npackets": 3, "index_base": 0, "patterns": [{"name": "clean", "drops": []}]}"#;
    const NAME: &str = "sends_base_reno.csv";
    /// Trace by hand: 0.8 ms and 20 ms on the forward path, 0.032 ms and 20 ms on the reverse path, then two segments
    /// for each acknowledgement.
    const CSV: &str = "pattern,k,time,seq,dropped,cwnd,ssthresh,dupacks,backoff\n\
        clean,0,0.000000,0,0,1,64,0,1\n\
        clean,1,0.040832,1,0,2,64,0,1\n\
        clean,2,0.040832,2,0,2,64,0,1\n";

    fn difference(csv: &str) -> Option<String> {
        GoldenTrace::parse(PATTERNS, NAME, csv).unwrap().verify().remove(0).difference
    }

    #[test]
    fn an_identical_trace_has_no_difference() {
        let reports = GoldenTrace::parse(PATTERNS, NAME, CSV).unwrap().verify();
        assert_eq!(
            reports,
            [CaseReport { case: "sends_base_reno.csv/clean".into(), rows: 3, found: None, difference: None }]
        );
    }

    /// Shortcuts of the simulator change no send under the loss patterns of the ns-2 traces.
    #[test]
    fn shortcuts_move_no_send() {
        let patterns = include_str!("../../../tests/data/golden/ns2/patterns.json");
        for agent in ["tahoe", "reno", "newreno", "sack1"] {
            let name = format!("sends_lt_{agent}.csv");
            let trace = GoldenTrace::parse(patterns, &name, &HEADER.join(",")).unwrap();
            for pattern in &trace.patterns.list {
                let usual = trace.simulate(pattern, Shortcuts::ALL);
                for shortcuts in Shortcuts::each_off() {
                    assert!(
                        trace.simulate(pattern, shortcuts) == usual,
                        "{agent}, {}: {shortcuts:?}",
                        pattern.name
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_differing_row_is_named() {
        // 2 us are allowed, 3 are not.
        assert_eq!(difference(&CSV.replace("1,0.040832", "1,0.040834")), None);
        let message = difference(&CSV.replace("1,0.040832", "1,0.040835")).unwrap();
        assert_eq!(
            message,
            "expected k 1 time 0.040835 seq 1 dropped 0 cwnd 2.000 ssthresh 64 dupacks 0 backoff 1; \
             got k 1 time 0.040832 seq 1 dropped 0 cwnd 2.000 ssthresh 64 dupacks 0 backoff 1"
        );
        for (column, altered) in [
            ("k", "9,0.040832,1,0,2,64,0,1"),
            ("seq", "1,0.040832,2,0,2,64,0,1"),
            ("dropped", "1,0.040832,1,1,2,64,0,1"),
            ("cwnd", "1,0.040832,1,0,2.001,64,0,1"),
            ("ssthresh", "1,0.040832,1,0,2,63,0,1"),
            ("dupacks", "1,0.040832,1,0,2,64,1,1"),
            ("backoff", "1,0.040832,1,0,2,64,0,2"),
        ] {
            let csv = CSV.replace("1,0.040832,1,0,2,64,0,1", altered);
            assert!(difference(&csv).is_some(), "{column}");
        }
        let short = CSV.rsplit_once("clean,2").unwrap().0;
        assert!(difference(short).unwrap().starts_with("expected no more sends"));
        assert!(
            difference(&format!("{CSV}clean,3,0.05,3,0,3,64,0,1\n")).unwrap().ends_with("got no more sends")
        );
        assert!(difference(&CSV[..CSV.find('\n').unwrap()]).unwrap().contains("no rows of this pattern"));
    }

    #[test]
    fn a_text_that_breaks_the_layout_names_the_place() {
        let error = |patterns: &str, name: &str, csv: &str| {
            GoldenTrace::parse(patterns, name, csv).err().unwrap().to_string()
        };
        for (message, expected) in [
            (error("{", NAME, CSV), "patterns.json: EOF"),
            (error(r#"{"npackets": 0, "patterns": []}"#, NAME, CSV), "npackets = 0: must be from 1"),
            (error(r#"{"npackets": 3, "patterns": []}"#, NAME, CSV), "patterns is empty"),
            (error(&PATTERNS.replace("[]", "[5, 5]"), NAME, CSV), "pattern \"clean\": "),
            (
                error(
                    &PATTERNS.replace("\"index_base\": 0", "\"index_base\": 1").replace("[]", "[0]"),
                    NAME,
                    CSV,
                ),
                "drops index 0, below index_base",
            ),
            (error(PATTERNS, "sends_base_vegas.csv", CSV), "AGENT tahoe, reno, newreno or sack1"),
            (error(PATTERNS, NAME, ""), "sends_base_reno.csv:1: the header must be pattern,k,"),
            (
                error(PATTERNS, NAME, &CSV.replace("clean,1", "1")),
                "sends_base_reno.csv:3: 8 fields instead of 9",
            ),
            (error(PATTERNS, NAME, &CSV.replace(",64,0,1", ",x,0,1")), "ssthresh = \"x\""),
            (error(PATTERNS, NAME, &CSV.replace("clean,2", "other,2")), "\"other\" is not in patterns.json"),
            (
                error(PATTERNS, NAME, &format!("{}clean,3,0,0,0,1,1,0,1\n", CSV.replace("clean,2", "x,2"))),
                "the rows of pattern \"clean\" are not together",
            ),
        ] {
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(patterns in ".{0,80}", rows in "([a-z0-9.,-]{0,40}\n){0,5}") {
            let _ = GoldenTrace::parse(&patterns, NAME, CSV);
            let _ = GoldenTrace::parse(PATTERNS, NAME, &format!("{}\n{rows}", HEADER.join(",")));
        }
    }
}
