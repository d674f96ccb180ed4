//! All formats: told apart, read in pieces, written and read again.

use super::{AtEnd, Conversion, Detector, Format, Item, Reader, Whole, read};
use crate::trace::TraceError;
use proptest::prelude::*;
use std::fmt::Write as _;

/// An example of each format that is told by what is in it.
const EXAMPLES: [(Format, &str); 6] = [
    (Format::Mahimahi, "0\n3\n3\n12\n"),
    (Format::LeoDelays, "20\n21\n19\n19\n"),
    (Format::CellReplayLight, "0 25 0 1 1 4\n500 31 0\n1000 22 0 2\n"),
    (Format::TheaterQ, "KEEP,LATENCY,RATE,LOSS,LIMIT\n10000,20000000,1000000,42949673,1000\n5000,0,-1,0,0\n"),
    (Format::Rates, "time_s,rate_bps,delay_s,loss\n0,2000000,0.02,0\n5,0,0.04,0.01\n"),
    (Format::Delays, "# period_s 15\ntime_s,delay_s\n0,0.029\n0.05,0.009\n"),
];

fn detect(text: &str) -> Result<Format, TraceError> {
    let mut detector = Detector::default();
    detector.push(text.as_bytes())?;
    detector.finish()
}

fn facts(format: Format, text: &str) -> Result<(Vec<Item>, Whole), TraceError> {
    let (told, whole) = read(format, super::Assumed::default(), text)?;
    Ok((told.into_iter().map(|(_, item)| item).collect(), whole))
}

/// What is lost, and the text that is written; or why there is none.
fn convert(texts: &[&str], to: Format) -> Result<(Vec<String>, String), String> {
    let mut conversion = Conversion::to(to).unwrap();
    let mut items = Vec::new();
    for text in texts {
        let (of_text, whole) = facts(detect(text).unwrap(), text).unwrap();
        for item in &of_text {
            conversion.look(item);
        }
        conversion.end(&whole);
        items.push(of_text);
    }
    conversion.check()?;
    let texts = items.into_iter().map(|items| items.into_iter().map(Ok::<Item, TraceError>)).collect();
    let mut written = String::new();
    conversion
        .write(texts, |text| {
            written.push_str(text);
            Ok(())
        })
        .unwrap();
    Ok((conversion.losses().each().map(str::to_owned).collect(), written))
}

#[test]
fn formats_are_told_apart_by_what_is_in_them() {
    for (format, text) in EXAMPLES {
        assert_eq!(detect(text), Ok(format), "{text}");
    }
    // Without a line of names.
    assert_eq!(detect("0 2e6 0.02 0\n"), Ok(Format::Rates));
    assert_eq!(detect("0,2000000,0,0\n"), Ok(Format::Rates));
    assert_eq!(detect("0 0.02\n1 0.03\n"), Ok(Format::Delays));
    assert_eq!(detect("10,0,0,-1,0,0,0,0,1,2\n"), Ok(Format::TheaterQ));
    // Times and delays: the first that decreases says which, wherever it is.
    let late = (0..100_000).fold(String::new(), |text, time| text + &time.to_string() + "\n");
    assert_eq!(detect(&late), Ok(Format::Mahimahi));
    assert_eq!(detect(&format!("{late}7\n")), Ok(Format::LeoDelays));
    assert_eq!(detect("20.5\n21\n"), Ok(Format::LeoDelays));
    let error = |text: &str| detect(text).unwrap_err().to_string();
    assert_eq!(error("# nothing\n\n"), "the file is empty: it is no trace");
    assert_eq!(error("\nhello\n"), "line 2: \"hello\": begins no format that is known");
}

#[test]
fn what_is_read_is_what_was_written() {
    for (format, text) in EXAMPLES {
        if !format.is_written() {
            continue;
        }
        let (losses, written) = convert(&[text], format).unwrap();
        assert_eq!(losses, Vec::<String>::new(), "{format:?}");
        assert_eq!(written, text, "{format:?}");
        assert_eq!(facts(format, &written), facts(format, text));
    }
}

#[test]
fn a_wrong_line_is_refused_with_its_number() {
    let error = |format, text: &str| facts(format, text).unwrap_err().to_string();
    let cases = [
        (Format::Mahimahi, "1\n2.5\n", "line 2: \"2.5\": must be a time in whole milliseconds"),
        (Format::Mahimahi, "7\n6\n", "line 2: 6: must be at least 7, the time before it"),
        (
            Format::LeoDelays,
            "20\n-1\n",
            "line 2: delay in ms = \"-1\": must be a number from 0 to 8640000000.0",
        ),
        (Format::LeoDelays, "", "the record is empty: it must have at least one delay"),
        (
            Format::CellReplayLight,
            "0 25\n",
            "line 1: \"0 25\": must be a time, a delay and one offset or more, whole numbers of ms",
        ),
        (Format::CellReplayLight, "0 25 0\n9 20 0\n", "2 trains: must be at least 3"),
        (Format::TheaterQ, "10,0,0,0\n", "line 1: \"10,0,0,0\": must have 5 or 10 columns"),
        (Format::TheaterQ, "0,0,0,0,0\n", "line 1: KEEP = 0: must be at least 1 us"),
        (
            Format::TheaterQ,
            "# x\n1,0,-2,0,0\n",
            "line 2: RATE = \"-2\": must be -1 or a whole number from 0 to 10^15",
        ),
        (Format::TheaterQ, "1,0,0,4294967296,0\n", "line 1: LOSS = 4294967296: must be at most 4294967295"),
        (
            Format::TheaterQ,
            "1,0,0,0,0\n1,0,0,0,0,0,0,0,0,0\n",
            "line 2: \"1,0,0,0,0,0,0,0,0,0\": must have 5 columns, as the entry before",
        ),
        (Format::Rates, "0,-1,0,0\n", "line 1: rate_bps = -1.0: must be from 0 to 1000000000000000.0"),
        (Format::Delays, "0 0.1\n0 0.1\n", "line 2: time_s = 0.0: must be above 0.0, the time before it"),
        (
            Format::Delays,
            "# period_s 1\n0 0.1\n2 0.1\n",
            "period_s 1.0: must be above 2.0, the time of the last row",
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(error(format, text), expected);
    }
}

#[test]
fn a_capacity_and_its_delays_become_one_table() {
    let (losses, written) = convert(&["5\n5\n10\n30\n", "20\n21\n19\n"], Format::TheaterQ).unwrap();
    assert_eq!(losses, ["when within a millisecond bytes may leave (it becomes a rate)"]);
    let expected = "KEEP,LATENCY,RATE,LOSS,LIMIT\n4000,20000000,0,0,0\n1000,20000000,24000000,0,0\n\
                    4000,20000000,0,0,0\n1000,20000000,12000000,0,0\n10000,21000000,0,0,0\n\
                    9000,19000000,0,0,0\n1000,19000000,12000000,0,0\n";
    assert_eq!(written, expected);
    // Parts that begin again at different times are one round here.
    let (losses, _) = convert(&["5\n10\n", "20\n21\n19\n"], Format::Rates).unwrap();
    assert!(losses.contains(&"that its parts end at different times".to_owned()), "{losses:?}");
}

#[test]
fn what_a_format_cannot_say_is_named() {
    let losses = |texts: &[&str], to| convert(texts, to).unwrap().0;
    let table = "KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY,ROUTE_ID,QUEUE_ID\n\
                 1001,20000000,1000,1000000,42949673,1000,1,0,0,0\n";
    assert_eq!(losses(&[table], Format::Rates), ["duplicate", "jitter_s", "queue limits"]);
    let of_opportunities = losses(&[table], Format::Mahimahi);
    let rates = "rates (they become opportunities in whole milliseconds)";
    assert_eq!(of_opportunities, ["delays", "duplicate", "jitter_s", "losses", "queue limits", rates]);
    let of_delays = losses(&[table], Format::LeoDelays);
    assert!(of_delays.contains(&"when within 10 ms a delay changes".to_owned()), "{of_delays:?}");
    assert_eq!(losses(&["0 1000000 0 0\n3 500000.5 0 0\n"], Format::TheaterQ), ["fractions of a bit/s"]);
    // What has no effect is not lost.
    assert_eq!(losses(&["1000,0,0,0,0\n"], Format::Rates), Vec::<String>::new());
    assert_eq!(convert(&["20\n19\n"], Format::Mahimahi).unwrap_err(), "it says no capacity");
    assert_eq!(convert(&["1\n3\n"], Format::Delays).unwrap_err(), "it says no delay");
    let too_long = convert(&["100000000000,0,1000000000,0,0\n"], Format::Mahimahi).unwrap_err();
    assert_eq!(too_long, "it would have 8.3e9 lines: at most 1e8 are written");
    assert_eq!(convert(&["1000,0,-1,0,0\n"], Format::Rates).unwrap_err(), "it has a rate without a limit");
}

#[test]
fn a_rate_becomes_opportunities_as_the_capacity_comes() {
    // 12 Mbit/s is 1500 bytes a millisecond; then half of it, then nothing.
    let written = convert(&["3000,0,12000000,0,0\n4000,0,6000000,0,0\n3000,0,0,0,0\n"], Format::Mahimahi);
    assert_eq!(written.unwrap().1, "1\n2\n3\n5\n7\n");
    let written =
        convert(&["1000,0,36000000,0,0\n1500,0,4000000,0,0\n1500,0,4000000,0,0\n"], Format::Mahimahi);
    assert_eq!(written.unwrap().1, "1\n1\n1\n4\n");
}

#[test]
fn what_follows_the_end_is_said() {
    let at_end = |format, text| facts(format, text).unwrap().1.at_end;
    let found = EXAMPLES.map(|(format, text)| at_end(format, text));
    let [again, holds] = [AtEnd::Loop, AtEnd::Hold];
    assert_eq!(found, [again, again, again, AtEnd::Unsaid, holds, again]);
}

proptest! {
    /// Chunks end anywhere.
    #[test]
    fn a_text_in_pieces_says_the_same(which in 0..EXAMPLES.len(), size in 1_usize..20) {
        let (format, text) = EXAMPLES[which];
        let chunks = text.as_bytes().chunks(size).map(Ok::<_, TraceError>);
        let mut reader = Reader::new(format, chunks);
        let told: Result<Vec<_>, _> = reader.by_ref().collect();
        let whole = reader.whole().cloned().unwrap();
        prop_assert_eq!((told.unwrap(), whole), read(format, super::Assumed::default(), text).unwrap());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..Format::ALL.len()) {
        let mut detector = Detector::default();
        let _ = detector.push(&bytes);
        let _ = detector.finish();
        let chunks = bytes.chunks(7).map(Ok::<_, TraceError>);
        Reader::new(Format::ALL[which], chunks).for_each(drop);
    }

    /// Texts that look like the formats: what can be read at all is converted without a panic.
    #[test]
    fn no_text_panics(text in "[0-9#,. \n-]{0,30}", to in 0..Format::ALL.len()) {
        let Ok(format) = detect(&text) else { return Ok(()) };
        if facts(format, &text).is_ok() && Format::ALL[to].is_written() {
            let _ = convert(&[&text], Format::ALL[to]);
        }
    }

    /// Each entry of TheaterQ comes back to the bit.
    #[test]
    fn entries_of_theaterq_come_back(
        rows in prop::collection::vec(
            (1_u64..1 << 40, 0_u64..1 << 50, -1_i64..1 << 49, any::<u32>(), any::<u32>()), 1..20),
        rest in prop::collection::vec((0_u64..1 << 50, any::<u32>(), 0_u64..1 << 50, any::<u32>(), any::<u32>()), 20),
        extended: bool,
    ) {
        let mut text = String::new();
        for ((keep, latency, rate, loss, limit), (jitter, dup, dup_delay, route, queue)) in rows.into_iter().zip(rest) {
            if extended {
                // At least one column that the short form lacks.
                let jitter = jitter + 1;
                writeln!(text, "{keep},{latency},{jitter},{rate},{loss},{limit},{dup},{dup_delay},{route},{queue}").unwrap();
            } else {
                writeln!(text, "{keep},{latency},{rate},{loss},{limit}").unwrap();
            }
        }
        let (losses, written) = convert(&[&text], Format::TheaterQ).unwrap();
        prop_assert_eq!(losses, Vec::<String>::new());
        let (_, entries) = written.split_once('\n').unwrap();
        prop_assert_eq!(entries, text);
    }
}
