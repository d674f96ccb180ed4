//! Tests of all formats: detection, reading in chunks, conversion, and reading of the converted text.

use super::{AtEnd, Conversion, Detector, Direction, Format, Item, Reader, Whole, read};
use crate::trace::TraceError;
use proptest::prelude::*;
use std::fmt::Write as _;

/// An example of each format that is detected from its content.
const EXAMPLES: [(Format, &str); 13] = [
    (Format::Mahimahi, "0\n3\n3\n12\n"),
    (Format::LeoReplayer, "20\n21\n19\n19\n"),
    (Format::CellReplayLight, "0 25 0 1 1 4\n500 31 0\n1000 22 0 2\n"),
    (Format::TheaterQ, "KEEP,LATENCY,RATE,LOSS,LIMIT\n10000,20000000,1000000,42949673,1000\n5000,0,-1,0,0\n"),
    (Format::Rates, "time_s,rate_bps,delay_s,loss\n0,2000000.5,0.02,0\n5,0,0.04,0.01\n"),
    (Format::Delays, "# period_s 15\ntime_s,delay_s\n0,0.029\n0.05,0.009\n"),
    (
        Format::NetemTrace,
        "{\"RepeatedDelayPatternConfig\": {\"pattern\": [\n  {\"StaticDelayConfig\": {\"delay\": \"10ms\", \"duration\": \"1s\"}},\n  {\"StaticDelayConfig\": {\"delay\": \"50500us\", \"duration\": \"1500ms\"}}\n], \"count\": 0}}\n",
    ),
    (
        Format::NetemTraceToml,
        "[RepeatedLossPatternConfig]\ncount = 3\n\n[[RepeatedLossPatternConfig.pattern]]\n[RepeatedLossPatternConfig.pattern.StaticLossConfig]\nloss = [0.1, 0.2, 0.0]\nduration = \"1s\"\n",
    ),
    (
        Format::Tc,
        "#!/bin/sh\n# Each state of the link in its turn: DEV=eth0 sh FILE\nDEV=${DEV:-eth0}\nwhile :; do\ntc qdisc replace dev \"$DEV\" root netem limit 1000 delay 40ms 5ms 25% distribution normal loss 1% 0% corrupt 0% rate 20000000bit\nsleep 0.1\ntc qdisc replace dev \"$DEV\" root netem limit 4294967295 delay 0s loss 7% 30% duplicate 0.5% corrupt 0% reorder 25% 50% gap 5 rate 0bit\nsleep 2\ndone\n",
    ),
    (
        Format::Ibox,
        "{\"link_type\": \"cellular\", \"config\": {\n\"uplink\": {\"bottleneck_bandwidth\": 6792, \"buffer_size_bytes\": 11961, \"propagation_delay\": 24, \"cross_traffic_pattern\": [5582, 0]},\n\"downlink\": {\"bottleneck_bandwidth\": 100000, \"buffer_size_bytes\": 15000000, \"propagation_delay\": 0}}}\n",
    ),
    (
        Format::Interop,
        "blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=10s --off=2s --direction=toclient\n",
    ),
    (
        Format::Picoquic,
        "main_cc_algo: bbr\ndata_rate_in_gbps: 0.02\nlatency: 40000\nqueue_delay_max: 80000\nlink_scenario: 1000000:U0.01:D0.02:L5000:Q15000;2000000:D0.001:B2:P18\n",
    ),
    (
        Format::Tunnel,
        "# init timestamp: 1500000000000.250\n0.000 + 1500 1\n1.500 # 1504\n30.500 - 1500 30.500 1\n",
    ),
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

/// Converts texts; returns the losses of information and the written text, or the error.
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
    let mut written = Vec::new();
    for part in conversion.parts() {
        let texts = items.iter().map(|items| items.iter().cloned().map(Ok::<Item, TraceError>)).collect();
        let mut of_part = String::new();
        conversion
            .write(part, texts, |text| {
                of_part.push_str(text);
                Ok(())
            })
            .unwrap();
        written.push(of_part);
    }
    Ok((conversion.losses().each().map(str::to_owned).collect(), written.join("---\n")))
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
    assert_eq!(detect("10,0,0,-1,0,0,0,0,1\n"), Ok(Format::TheaterQ));
    // Times and delays: the first that decreases says which, wherever it is.
    let late = (0..100_000).fold(String::new(), |text, time| text + &time.to_string() + "\n");
    assert_eq!(detect(&late), Ok(Format::Mahimahi));
    assert_eq!(detect("20\n21\n22\n21\n"), Ok(Format::LeoReplayer));
    // Delays do not rise 64 times in a row: that is a wrong time, which its reader refuses.
    assert_eq!(detect(&format!("{late}7\n")), Ok(Format::Mahimahi));
    let rises = |count: u32| (0..=count).fold(String::new(), |text, time| text + &time.to_string() + "\n");
    assert_eq!(detect(&(rises(63) + "7\n")), Ok(Format::LeoReplayer));
    assert_eq!(detect(&(rises(64) + "7\n")), Ok(Format::Mahimahi));
    // Trains that have two packets each, at the same time.
    assert_eq!(detect("0 25 0 1\n500 31 0 0\n1000 22 0 1\n"), Ok(Format::CellReplayLight));
    assert_eq!(detect("0 2000000 0 1\n5 0 0 1\n"), Ok(Format::Rates));
    assert_eq!(detect("\u{feff}{\"StaticBwConfig\": {}}"), Ok(Format::NetemTrace));
    assert_eq!(detect("20.5 # a comment\n21\n"), Ok(Format::LeoReplayer));
    assert_eq!(
        detect("set -euo pipefail\n$SUDO /sbin/tc qdisc replace dev a root netem loss 30%\n"),
        Ok(Format::Tc)
    );
    // Lines alone, and behind what may stand before them.
    assert_eq!(detect("delay 40ms 5ms loss 1% rate 20mbit limit 100"), Ok(Format::Tc));
    assert_eq!(detect("sudo tc qdisc add dev eth0 root netem delay 40ms"), Ok(Format::Tc));
    assert_eq!(
        detect("./run.sh \"simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25\""),
        Ok(Format::Interop)
    );
    assert_eq!(
        detect("# 'mm-tunnelclient' '--x' ingress: 1500000.250\n0.5 - 7 - 1500\n"),
        Ok(Format::Tunnel)
    );
    assert_eq!(detect(" \n{\"StaticBwConfig\": {}}"), Ok(Format::NetemTrace));
    let error = |text: &str| detect(text).unwrap_err().to_string();
    assert_eq!(error("# nothing\n\n"), "the file is empty: it is no trace");
    assert_eq!(error("{\"a\": 1}"), "JSON of no format that is known: iBox and netem-trace are");
    assert_eq!(error("\nhello\n"), "line 2: \"hello\": begins no format that is known");
}

/// A byte order mark, CR LF line ends, blank lines and a missing last line break do not change what is read.
#[test]
fn ends_of_lines_do_not_matter() {
    for (format, text) in EXAMPLES {
        let plain = facts(format, text).unwrap();
        let blank = text.replace('\n', "\n\n");
        let ends = text.replace('\n', "\r\n");
        for other in [&ends, &blank, text.trim_end(), &format!("\u{feff}{text}")] {
            assert_eq!(detect(other), Ok(format), "{other:?}");
            assert_eq!(facts(format, other), Ok(plain.clone()), "{other:?}");
        }
    }
}

#[test]
fn commands_of_tc_may_go_on_and_share_a_line() {
    let plain = "tc qdisc add dev a root netem delay 5ms loss 1%\nsleep 1\ntc qdisc change dev a root netem delay 7ms\nsleep 2\n";
    let joined = "tc qdisc add dev a root \\\n  netem delay 5ms \\\n  loss 1% # weak\nsleep 1; tc qdisc change dev a root netem delay 7ms && sleep 2";
    assert_eq!(detect(joined), Ok(Format::Tc));
    assert_eq!(facts(Format::Tc, joined), facts(Format::Tc, plain));
    let looped = "while true\ndo\ntc qdisc add dev a root netem delay 5ms loss 1%\nsleep 1\ndone\n";
    let short = "while true; do tc qdisc add dev a root netem delay 5ms loss 1%; sleep 1; done";
    assert_eq!(facts(Format::Tc, short), facts(Format::Tc, looped));
    let wrong = facts(Format::Tc, "sleep 1\ntc qdisc add dev a root \\\n netem delay 5\\\n x\n").unwrap_err();
    assert!(wrong.to_string().starts_with("line 2: "), "{wrong}");
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

/// A conversion from any format to any other gives a text that is recognised as the new format.
#[test]
fn what_is_converted_can_be_read() {
    let mut conversions = 0;
    for (format, text) in EXAMPLES {
        let (told, _) = read(format, super::Assumed::default(), text).unwrap();
        for way in [Direction::Up, Direction::Down] {
            // Each direction of a text with both.
            let of_way = told.iter().filter(|(of, _)| *of == way || *of == Direction::Both);
            let items: Vec<Item> = of_way.map(|(_, item)| item.clone()).collect();
            for to in Format::ALL.into_iter().filter(|to| to.is_written()) {
                let (_, whole) = facts(format, text).unwrap();
                let mut conversion = Conversion::to(to).unwrap();
                for item in &items {
                    conversion.look(item);
                }
                conversion.end(&whole);
                if conversion.check().is_err() {
                    continue;
                }
                for part in conversion.parts() {
                    let mut written = String::new();
                    let texts = vec![items.iter().cloned().map(Ok::<Item, TraceError>)];
                    conversion
                        .write(part, texts, |text| {
                            written.push_str(text);
                            Ok(())
                        })
                        .unwrap();
                    // Whether lines of one number are times or delays follows from the name of the part.
                    let as_what = match (to, part.name()) {
                        (Format::LeoReplayer, "bw") => Format::Mahimahi,
                        _ => to,
                    };
                    let again = facts(as_what, &written);
                    assert!(again.is_ok(), "{format:?} to {to:?} {}: {again:?}\n{written}", part.name());
                    conversions += 1;
                }
            }
        }
    }
    assert!(conversions > 100, "{conversions}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_wrong_line_is_refused_with_its_number() {
    let error = |format, text: &str| facts(format, text).unwrap_err().to_string();
    let cases = [
        (Format::Mahimahi, "1\n2.5\n", "line 2: \"2.5\": must be a time in whole milliseconds"),
        (Format::Mahimahi, "7\n6\n", "line 2: 6: must be at least 7, the time before it"),
        (
            Format::LeoReplayer,
            "20\n-1\n",
            "line 2: delay in ms = \"-1\": must be a number from 0 to 8640000000.0",
        ),
        (Format::LeoReplayer, "", "the record is empty: it must have at least one delay"),
        (
            Format::CellReplayLight,
            "0 25\n",
            "line 1: \"0 25\": must be a time, a delay and one offset or more, whole numbers of ms",
        ),
        (Format::CellReplayLight, "0 25 0\n9 20 0\n", "2 trains: must be at least 3"),
        (Format::TheaterQ, "10,0,0,0\n", "line 1: \"10,0,0,0\": must have 5, 9 or 10 columns"),
        (
            Format::TheaterQ,
            "KEEP,LATENCY,RATE,LOSS,LIMIT\n10,0,0,0,0\n# on\n-10,0,0,0,0\n",
            "line 4: \"-10,0,0,0,0\": must be KEEP,LATENCY,..., an entry that begins with a digit, or a # comment",
        ),
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
            Format::NetemTrace,
            "{\"RepeatedBwPatternConfig\": {\"pattern\": [\n{\"StaticBwConfig\": {\"bw\": \"12\"}}]}}",
            "line 2: bw = \"12\": must be a rate such as \"12Mbps\"",
        ),
        (
            Format::NetemTrace,
            "{\"RepeatedBwPatternConfig\": {\"pattern\": [{\"StaticDelayConfig\": {}}]}}",
            "line 1: StaticDelayConfig: must be of Bw, as the pattern around it",
        ),
        (
            Format::NetemTrace,
            "{\"NormalizedBwConfig\":\n{\"mean\": \"12Mbps\"}}",
            "line 2: NormalizedBwConfig: must be Static or Repeated, of Bw, Delay or Loss, or TraceBwConfig: what is drawn at random is no recording",
        ),
        (
            Format::NetemTraceToml,
            "[RepeatedLossPatternConfig]\n[[RepeatedLossPatternConfig.pattern]]\nStaticLossConfig = { loss = [2.0] }\n",
            "line 3: loss = a list: must be a list of shares from 0 to 1",
        ),
        (
            Format::Tc,
            "\ntc qdisc add dev a root tbf rate 1mbit\n",
            "line 2: \"tc qdisc add dev a root tbf rate 1mbit\": must be tc qdisc ... netem ...",
        ),
        (Format::Tc, "delay fast\n", "line 1: delay \"fast\": must be a time such as 40ms"),
        (Format::Tc, "loss gemodel 1%\n", "line 1: loss \"gemodel\": must be a share such as 1%"),
        (
            Format::Tc,
            "delay 1ms\nrm -rf x\n",
            "line 2: \"rm -rf x\": must be tc qdisc ... netem ..., sleep, or a loop",
        ),
        (
            Format::Ibox,
            "{\"config\": {\n\"uplink\": {\n\"bottleneck_bandwidth\": -1}}}",
            "line 3: config.uplink.bottleneck_bandwidth = -1: must be a number from 0 to 1e12",
        ),
        (
            Format::Ibox,
            "{\"config\": {\n\"uplink\": {\"bottleneck_bandwidth\": 1, \"propagation_delay\": 1}}}",
            "line 2: config.uplink.buffer_size_bytes = nothing: must be a number from 0 to 1e15",
        ),
        (
            Format::Ibox,
            "{\"config\": {\"uplink\": {\"bottleneck_bandwidth\": 1, \"propagation_delay\": 1,\n\"buffer_size_bytes\": 9, \"cross_traffic_pattern\": [0,\n\"x\"]}}}",
            "line 3: config.uplink.cross_traffic_pattern[1] = \"x\": must be a number of kbit/s",
        ),
        (
            Format::NetemTrace,
            "{\"RepeatedDelayPatternConfig\": {\"pattern\": [\n{\"StaticDelayConfig\": {\n\"delay\": \"10ms\",\n\"duration\": 5}}]}}",
            "line 4: duration = 5: must be a time such as \"10ms\"",
        ),
        (
            Format::NetemTrace,
            "{\"RepeatedBwPatternConfig\": {\"pattern\": [],\n\"count\": -2}}",
            "line 2: count = -2: must be a whole number of 0 or more",
        ),
        (
            Format::NetemTraceToml,
            "[RepeatedBwPatternConfig]\npattern = 3\n",
            "line 2: pattern = 3: must be a list",
        ),
        (
            Format::NetemTraceToml,
            "[RepeatedBwPatternConfig]\ncount = 0.5\n[[RepeatedBwPatternConfig.pattern]]\nStaticBwConfig = { bw = \"1Mbps\" }\n",
            "line 2: count = 0.5: must be a whole number of 0 or more",
        ),
        (
            Format::NetemTraceToml,
            "[RepeatedBwPatternConfig]\n[[RepeatedBwPatternConfig.pattern]]\n[RepeatedBwPatternConfig.pattern.StaticBwConfig]\nbw = 12\n",
            "line 4: bw = 12: must be a rate such as \"12Mbps\"",
        ),
        (
            Format::Interop,
            "simple-p2p --delay=15ms --bandwidth=10Mbps\n",
            "line 1: --queue: is needed, a number of packets",
        ),
        (
            Format::Interop,
            "simple-p2p --delay=15 lightyears\n",
            "line 1: \"lightyears\": must be --NAME=VALUE",
        ),
        (
            Format::Interop,
            "droplist --delay=15ms\n",
            "line 1: scenario \"droplist\": must be one of simple-p2p, blackhole, drop-rate, corrupt-rate, rebind, tcp-cross-traffic, udp-cross-traffic",
        ),
        (
            Format::Picoquic,
            "latency: 1\nlatenz: 2\n",
            "line 2: \"latenz: 2\": must be KEY: VALUE of picoquic_ns",
        ),
        (
            Format::Picoquic,
            "latency: 1\nlink_scenario: 5:X1\n",
            "line 2: \"X1\": must begin with U, D, L, J, Q, S, B or P",
        ),
        (Format::Tunnel, "0.5 - 7 - 70000\n", "line 1: bytes = 70000: must be at most 65535"),
        (
            Format::Tunnel,
            "0.5 * 7\n",
            "line 1: \"0.5 * 7\": must be TIME - NUMBER - BYTES, TIME + BYTES, TIME - BYTES DELAY or TIME # BYTES",
        ),
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

/// Steps of one direction as time in ms, rate in Mbit/s, delay in ms and loss.
fn steps_of(format: Format, text: &str, way: Direction) -> Vec<(f64, f64, f64, f64)> {
    let (told, _) = read(format, super::Assumed::default(), text).unwrap();
    let of_way = told.into_iter().filter(|(direction, _)| *direction == way);
    let steps = of_way.filter_map(|(_, item)| if let Item::Step(step) = item { Some(step) } else { None });
    steps
        .map(|step| {
            let [time, delay] =
                [step.time, step.delay.unwrap_or_default()].map(|time| time.as_secs_f64() * 1e3);
            (time, step.rate_bps.unwrap_or_default() / 1e6, delay, step.loss.unwrap_or_default())
        })
        .collect()
}

#[test]
fn both_ways_of_a_link_may_be_in_one_text() {
    let example = |of: Format| EXAMPLES.iter().find(|(format, _)| *format == of).unwrap().1;
    let (up, down) = (Direction::Up, Direction::Down);
    let ibox = example(Format::Ibox);
    assert_eq!(steps_of(Format::Ibox, ibox, up), [0.0, 1e3, 2e3].map(|time| (time, 6.792, 24.0, 0.0)));
    assert_eq!(steps_of(Format::Ibox, ibox, down), [(0.0, 100.0, 0.0, 0.0)]);
    let interop = example(Format::Interop);
    assert_eq!(steps_of(Format::Interop, interop, up), [(0.0, 10.0, 15.0, 0.0)]);
    assert_eq!(
        steps_of(Format::Interop, interop, down),
        [(0.0, 10.0, 15.0, 0.0), (10e3, 10.0, 15.0, 1.0), (12e3, 10.0, 15.0, 0.0)]
    );
    // A rate is played 1.024^2 times slower.
    let played = |gbps: f64| gbps * (1e9 / (1.024 * 1.024)) / 1e6;
    let picoquic = example(Format::Picoquic);
    let expected = [(0.0, played(0.02), 5.0, 0.0), (1e3, played(0.001), 0.0, 0.0)];
    assert_eq!(steps_of(Format::Picoquic, picoquic, down), expected);
    let fade = "latency: 1000\nlink_scenario: low_and_up\n";
    let expected = [(0.0, played(0.005), 1.0, 0.0), (2.5e3, played(0.01), 1.0, 0.0)];
    assert_eq!(steps_of(Format::Picoquic, fade, Direction::Both), expected);
}

#[test]
fn a_change_keeps_the_rate_and_nothing_else() {
    let script = "tc qdisc add dev a root netem delay 40ms loss 1% rate 20mbit\nsleep 1.5\n\
                  tc qdisc change dev a root netem delay 10ms\n";
    let found = steps_of(Format::Tc, script, Direction::Both);
    assert_eq!(found, [(0.0, 20.0, 40.0, 0.01), (1.5e3, 20.0, 10.0, 0.0)]);
    assert_eq!(
        steps_of(Format::Tc, "delay 40 5 loss 1 rate 1mbps", Direction::Both),
        [(0.0, 8.0, 0.04, 0.01)]
    );
    let full_name = "#!/bin/bash\nset -euo pipefail\n$SUDO /sbin/tc qdisc replace dev a root netem loss 30% delay 50ms rate 1mbit\n";
    assert_eq!(steps_of(Format::Tc, full_name, Direction::Both), [(0.0, 1.0, 50.0, 0.3)]);
}

#[test]
fn a_wrong_line_makes_no_other_format() {
    let mut rising = String::new();
    (1..=1000).for_each(|time| writeln!(rising, "{time}").unwrap());
    let begun = rising.len();
    for wrong in ["1001.5", "1e4", "1001,5", "N 7", "7"] {
        rising.truncate(begun);
        write!(rising, "{wrong}\n1002\n").unwrap();
        assert_eq!(detect(&rising).unwrap(), Format::Mahimahi, "{wrong}");
        let error = facts(Format::Mahimahi, &rising).unwrap_err().to_string();
        assert!(error.starts_with("line 1001: "), "{wrong}: {error}");
    }
    // Ten lines say less; how many columns there are, the first says.
    let error = |text: &str| facts(detect(text).unwrap(), text).unwrap_err().to_string();
    assert!(error("5\n9\n12,5\n").starts_with("line 3: "));
    assert!(error("0,0.02\n1,0.03\n2,0.03,5,6\n").starts_with("line 3: "));
}

/// As in `netem_change` of `sch_netem.c`, a change keeps properties with a netlink attribute of their own that it does
/// not give.
#[test]
fn a_change_keeps_corruption_correlations_and_the_distribution() {
    let said = |text: &str| -> Vec<Vec<(&str, f64)>> {
        let (items, _) = facts(Format::Tc, text).unwrap();
        let extras = items.iter().filter_map(|item| match item {
            Item::Step(step) => {
                Some(step.extras.iter().map(|(extra, value)| (extra.name(), *value)).collect())
            }
            _ => None,
        });
        extras.collect()
    };
    let add = "tc qdisc add dev a root netem delay 9ms 2ms 10% distribution pareto loss 1% 25% corrupt 2%\nsleep 1\n";
    let corrupt = super::item::Extra::Corrupt.name();
    let first = &said(add)[0];
    assert!(first.contains(&(corrupt, 0.02)));
    let kept = said(&format!("{add}tc qdisc change dev a root netem delay 9ms 2ms loss 3%\n"));
    assert_eq!(kept[1].len(), first.len());
    assert!(first.iter().all(|extra| kept[1].contains(extra)), "{kept:?}");
    // Without jitter and losses only the corruption has an effect; the others come back with them.
    let between = format!(
        "{add}tc qdisc change dev a root netem delay 5ms\nsleep 1\ntc qdisc change dev a root netem loss 3%\n"
    );
    let [_, bare, lossy] = said(&between).try_into().unwrap();
    assert_eq!(bare, [(corrupt, 0.02)]);
    assert_eq!(lossy, [(corrupt, 0.02), (super::item::Extra::LossCorrelation.name(), 0.25)]);
    let anew = said(&format!("{add}tc qdisc add dev a root netem loss 3%\n"));
    assert_eq!(anew[1], []);
    let ended = said(&format!("{add}tc qdisc change dev a root netem corrupt 0 loss 3% 0\n"));
    assert_eq!(ended[1], []);
    // The written script warns if the setting would stay.
    let (lost, script) =
        convert(&[&format!("{add}tc qdisc change dev a root netem corrupt 0 loss 3% 0\n")], Format::Tc)
            .unwrap();
    assert!(lost.is_empty() && script.contains("loss 3% 0% corrupt 0%"), "{script}");
    assert_eq!(said(&script)[1], []);
}

/// As in `netem_change`, a gap without a share of reordered packets reorders with probability 1.
#[test]
fn a_gap_alone_reorders_each() {
    let text = "tc qdisc change dev eth0 root netem gap 5 delay 10ms\n";
    let (_, script) = convert(&[text], Format::Tc).unwrap();
    assert!(script.contains("delay 10ms reorder 100% gap 5"), "{script}");
}

#[test]
fn patterns_may_stand_within_patterns_and_have_numbers() {
    let inner = "{\"RepeatedBwPatternConfig\": {\"pattern\": [{\"StaticBwConfig\": {\"bw\": {\"gbps\": 1, \"bps\": 5}, \
                 \"duration\": {\"secs\": 1, \"nanos\": 5}}}], \"count\": 2}}";
    let text = format!(
        "{{\"RepeatedBwPatternConfig\": {{\"count\": 4, \"pattern\": [{inner}, {{\"TraceBwConfig\": \
                        {{\"pattern\": [[\"25ms\", [\"1Mbps\", \"2Mbps\"]]]}}}}]}}}}"
    );
    let found = steps_of(Format::NetemTrace, &text, Direction::Both);
    let rates: Vec<f64> = found.iter().map(|step| step.1).collect();
    assert_eq!(rates, [1000.000005, 1000.000005, 1.0, 2.0]);
    assert_eq!(facts(Format::NetemTrace, &text).unwrap().1.at_end, AtEnd::Rounds(4));
    let endless = text.replace("\"count\": 2", "\"count\": 0");
    let error = facts(Format::NetemTrace, &endless).unwrap_err().to_string();
    assert_eq!(error, "line 1: count = 0: never ends, and more follows: must be 1 or more within a pattern");
}

#[test]
fn a_table_becomes_a_pattern_for_each_of_its_parts() {
    let (losses, written) = convert(&["100000,20000000,2000000,0,0\n"], Format::NetemTrace).unwrap();
    assert_eq!(losses, Vec::<String>::new());
    let parts: Vec<&str> = written.split("---\n").collect();
    assert_eq!(parts.len(), 3, "{written}");
    for (part, (kind, value)) in parts.iter().zip([
        ("Bw", "\"bw\": \"2000000bps\""),
        ("Delay", "\"delay\": \"20ms\""),
        ("Loss", "\"loss\": [0.0]"),
    ]) {
        let expected = format!(
            "{{\"Repeated{kind}PatternConfig\": {{\"pattern\": [\n  {{\"Static{kind}Config\": {{{value}, \"duration\": \"100ms\"}}}}\n], \"count\": 1}}}}\n"
        );
        assert_eq!(*part, expected);
    }
}

#[test]
fn an_outage_becomes_a_loss_where_a_rate_cannot_be_0() {
    let (losses, script) = convert(&["1000,0,0,0,0\n"], Format::Tc).unwrap();
    assert_eq!(losses, ["outages (they become losses of all packets)"]);
    assert!(script.contains("netem limit 4294967295 loss 100% rate 0bit\nsleep 0.001\n"), "{script}");
}

#[test]
fn a_capacity_and_its_delays_become_one_table() {
    let (losses, written) = convert(&["5\n5\n10\n30\n", "20\n21\n19\n"], Format::TheaterQ).unwrap();
    assert_eq!(losses, ["when within a millisecond bytes may leave (it becomes a rate)"]);
    let expected = "KEEP,LATENCY,RATE,LOSS,LIMIT\n4000,20000000,0,0,0\n1000,20000000,24000000,0,0\n\
                    4000,20000000,0,0,0\n1000,20000000,12000000,0,0\n10000,21000000,0,0,0\n\
                    9000,19000000,0,0,0\n1000,19000000,12000000,0,0\n";
    assert_eq!(written, expected);
    // Back into two files, and from two into two.
    let pair = ["5\n5\n10\n30\n", "20\n21\n19\n"];
    assert_eq!(convert(&pair, Format::LeoReplayer), Ok((Vec::new(), pair.join("---\n"))));
    let (losses, again) = convert(&[&written], Format::LeoReplayer).unwrap();
    let rates = "rates (they become opportunities in whole milliseconds)";
    assert_eq!(losses, [rates, "when within 10 ms a delay changes"]);
    assert_eq!(again, pair.join("---\n"));
    // Each of several files ends where its own text does.
    let longer = ["5\n5\n10\n60\n", "20\n21\n19\n"];
    assert_eq!(convert(&longer, Format::LeoReplayer), Ok((Vec::new(), longer.join("---\n"))));
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
    let of_delays = losses(&[table], Format::LeoReplayer);
    assert!(of_delays.contains(&"when within 10 ms a delay changes".to_owned()), "{of_delays:?}");
    assert_eq!(losses(&["0 1000000 0 0\n3 500000.5 0 0\n"], Format::TheaterQ), ["fractions of a bit/s"]);
    // Values without effect are not reported as lost.
    assert_eq!(losses(&["1000,0,0,0,0\n"], Format::Rates), Vec::<String>::new());
    assert_eq!(convert(&["0 0 0.02 0.5\n"], Format::LeoReplayer).unwrap().0.len(), 3);
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
    let unsaid = AtEnd::Unsaid;
    let expected = [
        again,
        again,
        again,
        unsaid,
        holds,
        again,
        again,
        AtEnd::Rounds(3),
        again,
        unsaid,
        holds,
        again,
        unsaid,
    ];
    assert_eq!(found, expected);
}

proptest! {
    /// A text gives the same facts wherever its chunks end.
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

    /// For texts that resemble the formats, reading and converting never panics.
    #[test]
    fn no_text_panics(text in "[0-9#,. \n-]{0,30}|(delay|loss|rate|tc qdisc x netem|sleep|blackhole|latency:|link_scenario:) [0-9a-zUDL:;=% \n.-]{0,40}|[{}\\[\\]\",:a-z0-9 ]{0,40}", to in 0..Format::ALL.len()) {
        let Ok(format) = detect(&text) else { return Ok(()) };
        if facts(format, &text).is_ok() && Format::ALL[to].is_written() {
            let _ = convert(&[&text], Format::ALL[to]);
        }
    }

    /// Every entry of TheaterQ is written and read again without change.
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
                // Give a value to at least one column that the short form lacks.
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
