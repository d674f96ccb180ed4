//! Recorded losses: the fate of each packet, in two text formats.

use std::str::FromStr;
use thiserror::Error;

/// Text format of a loss trace. In both formats `#` starts a comment, and white space and commas separate numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Detect the format; an error if the text is valid in both.
    Auto,
    /// One digit per packet, with or without separators: 0 delivered, 1 lost.
    Bits,
    /// Numbers of the lost packets, counted from 0, in increasing order.
    Lost,
}

impl TraceFormat {
    /// Name of the format: `auto`, `bits` or `lost`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bits => "bits",
            Self::Lost => "lost",
        }
    }
}

impl FromStr for TraceFormat {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<Self, TraceError> {
        [Self::Auto, Self::Bits, Self::Lost]
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| TraceError::nowhere(format!("format = {name:?}: must be auto, bits or lost")))
    }
}

/// Error of a text that is not a loss trace, in one line: the line number, the text found and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// Number of the faulty line, counted from 1; `None` if the whole text is faulty.
    pub line: Option<usize>,
    /// Description of the problem, with the allowed values.
    pub problem: String,
}

impl TraceError {
    fn at(line: usize, problem: String) -> Self {
        Self { line: Some(line), problem }
    }

    fn nowhere(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }
}

/// Fate of each packet of a sequence, stored as runs of lost and of delivered packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossTrace {
    first_lost: bool,
    runs: Vec<u64>,
}

/// A parsed trace and the format of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedTrace {
    /// Fate of each packet of the text.
    pub trace: LossTrace,
    /// Detected or given format of the text, never `Auto`.
    pub format: TraceFormat,
    /// True if the number of packets was unknown, so that the trace ends with its last loss.
    pub packets_assumed: bool,
}

/// Greatest number of packets of a trace: up to 2^53 counts are exact as `f64`.
const MOST_PACKETS: u64 = 1 << 53;

impl LossTrace {
    /// Creates a trace from one value per packet: true if it was lost.
    pub fn new(lost: impl IntoIterator<Item = bool>) -> Self {
        let mut trace = Self::default();
        for lost in lost {
            trace.push(lost, 1);
        }
        trace
    }

    /// Reads a loss trace from `text`.
    ///
    /// A total number of packets, given as `packets` or by a line `# packets N` in the text, must equal the number of
    /// digits, or be above every lost number. Without a total, a list of lost numbers ends with the last lost packet.
    ///
    /// # Errors
    /// If the text does not follow `format`, totals contradict it or each other, `Auto` can read the text in both
    /// formats (`0`, `1` and `10` on three lines), or there are no packets.
    pub fn parse(text: &str, format: TraceFormat, packets: Option<u64>) -> Result<ParsedTrace, TraceError> {
        let text = text.trim_start_matches('\u{feff}');
        let total = Total::find(text, packets)?;
        let parsed = |trace: Self, format| -> Result<ParsedTrace, TraceError> {
            if trace.runs.is_empty() {
                return Err(TraceError::nowhere("no packets: the trace is empty"));
            }
            Ok(ParsedTrace { trace, format, packets_assumed: format == TraceFormat::Lost && total.is_none() })
        };
        let bits = || Self::from_bits(text, total);
        let lost = || Self::from_lost_numbers(text, total);
        match format {
            TraceFormat::Bits => parsed(bits().map_err(|failed| failed.error)?, format),
            TraceFormat::Lost => parsed(lost().map_err(|failed| failed.error)?, format),
            TraceFormat::Auto => match (bits(), lost()) {
                (Ok(trace), Ok(other)) if trace.runs.is_empty() && other.runs.is_empty() => {
                    parsed(trace, TraceFormat::Bits)
                }
                (Ok(_), Ok(_)) => Err(TraceError::nowhere(
                    "format = \"auto\": the text can be bits and lost numbers: say bits or lost",
                )),
                (Ok(trace), Err(_)) => parsed(trace, TraceFormat::Bits),
                (Err(_), Ok(trace)) => parsed(trace, TraceFormat::Lost),
                // The format that was read further is taken as the intended one.
                (Err(bits), Err(lost)) if bits.read > lost.read => Err(bits.error),
                (Err(bits), Err(lost)) if lost.read > bits.read => Err(lost.error),
                (Err(_), Err(TokenError { error, .. })) => {
                    let problem = format!("{}; or 0 (delivered) and 1 (lost) for each packet", error.problem);
                    Err(TraceError { problem, ..error })
                }
            },
        }
    }

    fn from_bits(text: &str, total: Option<Total>) -> Result<Self, TokenError> {
        let mut trace = Self::default();
        let mut read = 0;
        for (line, token) in tokens(text) {
            for digit in token.chars() {
                if digit != '0' && digit != '1' {
                    let problem = format!("{}: must be 0 (delivered) or 1 (lost)", quoted(token));
                    return Err(TokenError { read, error: TraceError::at(line, problem) });
                }
                trace.push(digit == '1', 1);
            }
            read += 1;
        }
        match total {
            Some(total) if total.packets != trace.packets() => {
                let problem = format!("must be the number of digits, {}", trace.packets());
                Err(TokenError { read, error: total.refuse(&problem) })
            }
            _ => Ok(trace),
        }
    }

    fn from_lost_numbers(text: &str, total: Option<Total>) -> Result<Self, TokenError> {
        let mut trace = Self::default();
        let mut packets = 0;
        for (read, (line, token)) in tokens(text).enumerate() {
            let refuse = |problem: String| TokenError { read, error: TraceError::at(line, problem) };
            // Leading zeros mean digits, not a number: 0110 is four packets.
            let is_number = token == "0" || token.starts_with(|first: char| matches!(first, '1'..='9'));
            let number = token.parse().ok().filter(|&number: &u64| is_number && number < MOST_PACKETS);
            let Some(number) = number else {
                let token = quoted(token);
                let problem = format!("{token}: must be the number of a lost packet, 0 or more, below 2^53");
                return Err(refuse(problem));
            };
            if number < packets {
                let before = packets - 1;
                return Err(refuse(format!("{number}: must be above the lost number before it, {before}")));
            }
            if let Some(total) = total.filter(|total| number >= total.packets) {
                return Err(refuse(format!("{number}: must be below the number of packets, {total}")));
            }
            trace.push(false, number - packets);
            trace.push(true, 1);
            packets = number + 1;
        }
        if let Some(total) = total {
            trace.push(false, total.packets - packets);
        }
        Ok(trace)
    }

    /// Appends `count` packets, all lost or all delivered.
    pub(crate) fn push(&mut self, lost: bool, count: u64) {
        if count == 0 {
            return;
        }
        if self.runs.is_empty() {
            self.first_lost = lost;
        }
        if self.runs.len() % 2 == usize::from(lost == self.first_lost) {
            *self.runs.last_mut().expect("a trace without runs has an even number of them") += count;
        } else {
            self.runs.push(count);
        }
    }

    /// Runs of the trace in order: whether their packets were lost, and the number of packets.
    pub fn runs(&self) -> impl Iterator<Item = (bool, u64)> {
        self.runs.iter().enumerate().map(|(i, &length)| (self.is_lost(i), length))
    }

    /// Number of packets in the run with this index, counted from 0; 0 beyond the last run.
    pub(crate) fn run_length(&self, run: usize) -> u64 {
        self.runs.get(run).copied().unwrap_or(0)
    }

    /// True if the packets of the run with this index, counted from 0, were lost.
    pub(crate) fn is_lost(&self, run: usize) -> bool {
        self.first_lost ^ (run % 2 == 1)
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.runs.iter().sum()
    }

    /// Number of lost packets.
    pub fn losses(&self) -> u64 {
        self.runs().filter(|(lost, _)| *lost).map(|(_, length)| length).sum()
    }
}

/// Error of reading a text in one format, and the number of tokens read before it, by which the more plausible format
/// is chosen.
struct TokenError {
    read: usize,
    error: TraceError,
}

/// Total number of packets stated by the caller or in the text, and the place of the statement.
#[derive(Clone, Copy)]
struct Total {
    packets: u64,
    /// Number of the header line that states the total; `None` if the caller's argument does.
    line: Option<usize>,
}

impl Total {
    /// Total number of packets that the caller's argument or header lines `# packets N` state; `None` without any, an
    /// error if they contradict each other.
    fn find(text: &str, argument: Option<u64>) -> Result<Option<Self>, TraceError> {
        let header = |line: &str| {
            let count = line.trim().strip_prefix('#')?.trim().strip_prefix("packets")?;
            count.starts_with(char::is_whitespace).then(|| count.trim().parse::<u64>().ok())?
        };
        let headers = (1..)
            .zip(text.lines())
            .filter_map(|(line, content)| header(content).map(|packets| Self { packets, line: Some(line) }));
        let mut found: Option<Self> = None;
        for total in argument.map(|packets| Self { packets, line: None }).into_iter().chain(headers) {
            if !(1..=MOST_PACKETS).contains(&total.packets) {
                return Err(total.refuse("must be from 1 to 2^53"));
            }
            match found {
                Some(before) if before.packets != total.packets => {
                    return Err(total.refuse(&format!("contradicts {before} packets, said before")));
                }
                _ => found = found.or(Some(total)),
            }
        }
        Ok(found)
    }

    fn refuse(self, problem: &str) -> TraceError {
        TraceError { line: self.line, problem: format!("packets = {self}: {problem}") }
    }
}

impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.packets.fmt(f)
    }
}

/// Text between separators outside comments, each with its line number counted from 1.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).flat_map(|(number, line)| {
        let content = line.split('#').next().unwrap_or_default();
        content
            .split([',', ' ', '\t', '\r'])
            .filter(|token| !token.is_empty())
            .map(move |token| (number, token))
    })
}

/// Token in quotes, shortened for an error message.
fn quoted(token: &str) -> String {
    const LONGEST: usize = 20;
    if token.chars().count() <= LONGEST {
        return format!("{token:?}");
    }
    format!("{:?}...", token.chars().take(LONGEST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str, format: TraceFormat, packets: Option<u64>) -> Result<ParsedTrace, String> {
        LossTrace::parse(text, format, packets).map_err(|error| error.to_string())
    }

    fn auto(text: &str) -> Result<ParsedTrace, String> {
        parse(text, TraceFormat::Auto, None)
    }

    fn lost(trace: &LossTrace) -> Vec<bool> {
        trace.runs().flat_map(|(lost, length)| (0..length).map(move |_| lost)).collect()
    }

    #[test]
    fn both_formats_say_the_same() {
        let expected = LossTrace::new([false, true, true, false, false]);
        assert_eq!(expected.runs().collect::<Vec<_>>(), [(false, 1), (true, 2), (false, 2)]);
        assert_eq!((expected.packets(), expected.losses()), (5, 2));
        for text in ["01100", "0 1 1 0 0\n", "0,1,1\r\n0,0", "# lost: 1\n01 # two\n100", "\u{feff}01100"] {
            let parsed = auto(text).unwrap();
            assert_eq!(
                (&parsed.trace, parsed.format, parsed.packets_assumed),
                (&expected, TraceFormat::Bits, false)
            );
        }
        for (text, packets) in [("1\n2", Some(5)), ("# packets 5\n1\n2\n", None), ("#packets 5\n 1, 2", None)]
        {
            let parsed = parse(text, TraceFormat::Lost, packets).unwrap();
            assert_eq!(
                (&parsed.trace, parsed.format, parsed.packets_assumed),
                (&expected, TraceFormat::Lost, false)
            );
        }
    }

    #[test]
    fn without_a_total_the_last_loss_is_the_last_packet_and_that_is_said() {
        let parsed = auto("3\n4\n9\n").unwrap();
        assert_eq!((parsed.trace.packets(), parsed.trace.losses(), parsed.packets_assumed), (10, 3, true));
        // Numbers that no memory holds one by one.
        let parsed = auto("5\n9000000000000000\n").unwrap();
        assert_eq!(parsed.trace.runs().map(|run| run.1).collect::<Vec<_>>(), [5, 1, 8999999999999994, 1]);
    }

    #[test]
    fn text_that_can_be_both_is_not_guessed() {
        for text in ["0\n1\n10\n", "0 1", "1", "10"] {
            assert!(auto(text).unwrap_err().starts_with("format = \"auto\": the text can be bits and lost"));
            assert_eq!(parse(text, TraceFormat::Bits, None).unwrap().format, TraceFormat::Bits);
            assert_eq!(parse(text, TraceFormat::Lost, None).unwrap().format, TraceFormat::Lost);
        }
        // A total tells the formats apart.
        assert_eq!(parse("0\n1\n10\n", TraceFormat::Auto, Some(4)).unwrap().format, TraceFormat::Bits);
        assert_eq!(auto("# packets 100\n0\n1\n10\n").unwrap().format, TraceFormat::Lost);
        assert_eq!(auto("0 0 0").unwrap().format, TraceFormat::Bits);
        assert_eq!(auto("# packets 7\n").unwrap().trace.losses(), 0);
    }

    #[test]
    fn malformed_text_names_its_line_and_what_is_allowed() {
        let bits = |text: &str| parse(text, TraceFormat::Bits, None).unwrap_err();
        assert_eq!(bits("0\n\n012"), "line 3: \"012\": must be 0 (delivered) or 1 (lost)");
        assert_eq!(bits("0 1 # 2\nx"), "line 2: \"x\": must be 0 (delivered) or 1 (lost)");
        let lost = |text: &str| parse(text, TraceFormat::Lost, None).unwrap_err();
        let number = "must be the number of a lost packet, 0 or more, below 2^53";
        assert_eq!(lost("3\n-4"), format!("line 2: \"-4\": {number}"));
        assert_eq!(lost("+3"), format!("line 1: \"+3\": {number}"));
        assert_eq!(lost("03"), format!("line 1: \"03\": {number}"));
        assert_eq!(lost("3.5"), format!("line 1: \"3.5\": {number}"));
        assert_eq!(lost("9007199254740992"), format!("line 1: \"9007199254740992\": {number}"));
        assert_eq!(lost(&"9".repeat(99)), format!("line 1: \"{}\"...: {number}", "9".repeat(20)));
        assert_eq!(lost("3\n7\n7"), "line 3: 7: must be above the lost number before it, 7");
        assert_eq!(lost("# packets 8\n3\n8"), "line 3: 8: must be below the number of packets, 8");

        assert_eq!(auto("0 1 0 2").unwrap_err(), "line 1: \"2\": must be 0 (delivered) or 1 (lost)");
        assert_eq!(auto("5 9 7").unwrap_err(), "line 1: 7: must be above the lost number before it, 9");
        let both = "; or 0 (delivered) and 1 (lost) for each packet";
        assert_eq!(auto("time,lost").unwrap_err(), format!("line 1: \"time\": {number}{both}"));
        for empty in ["", "\n", "# nothing\n"] {
            assert_eq!(auto(empty).unwrap_err(), "no packets: the trace is empty");
            assert_eq!(bits(empty), "no packets: the trace is empty");
            assert_eq!(lost(empty), "no packets: the trace is empty");
        }
    }

    #[test]
    fn totals_must_fit() {
        let with = |text, packets| parse(text, TraceFormat::Auto, Some(packets)).unwrap_err();
        assert_eq!(with("0110", 5), "packets = 5: must be the number of digits, 4");
        assert_eq!(
            auto("# packets 5\n0110").unwrap_err(),
            "line 1: packets = 5: must be the number of digits, 4"
        );
        assert_eq!(with("# packets 6\n0110", 4), "line 1: packets = 6: contradicts 4 packets, said before");
        assert_eq!(with("5 9", 0), "packets = 0: must be from 1 to 2^53");
        assert_eq!(with("5 9", u64::MAX), format!("packets = {}: must be from 1 to 2^53", u64::MAX));
    }

    #[test]
    fn formats_have_names() {
        assert_eq!("lost".parse(), Ok(TraceFormat::Lost));
        let error = "csv".parse::<TraceFormat>().unwrap_err();
        assert_eq!(error.to_string(), "format = \"csv\": must be auto, bits or lost");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, packets: Option<u64>) {
            for format in [TraceFormat::Auto, TraceFormat::Bits, TraceFormat::Lost] {
                let _ = LossTrace::parse(&text, format, packets);
            }
        }

        #[test]
        fn either_format_reads_back(packets in proptest::collection::vec(any::<bool>(), 1..200)) {
            let trace = LossTrace::new(packets.iter().copied());
            prop_assert_eq!(&lost(&trace), &packets);
            let bits: String = packets.iter().map(|&lost| if lost { '1' } else { '0' }).collect();
            prop_assert_eq!(&parse(&bits, TraceFormat::Bits, None).unwrap().trace, &trace);
            let lost = (0..).zip(&packets).filter(|(_, lost)| **lost);
            let numbers: Vec<String> = lost.map(|(number, _): (usize, _)| number.to_string()).collect();
            let numbers = numbers.join("\n");
            let total = Some(packets.len() as u64);
            prop_assert_eq!(&parse(&numbers, TraceFormat::Lost, total).unwrap().trace, &trace);
        }
    }
}
