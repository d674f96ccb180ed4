//! BBR behind a token bucket that drops packets: the bucket passes 833.3 packets/s, a tenth of the link's rate; the RTT
//! is 40 ms (33.3 packets in flight), without a queue. A cruising flow conforms; a bandwidth probe empties the bucket
//! and loses packets.

use crate::path::{Conditions, P10, Path, Row, linux, ms};
use crossfade_core::SimTime;
use crossfade_transport::BbrConfig;
use crossfade_transport::congestion::{BbrV1, BbrV3, CongestionControl};

/// Sizes of the token bucket in packets: a third of the data in flight, and all of it.
const BURSTS: [f64; 2] = [10.0, 33.0];

fn policed(burst: f64, control: Box<dyn CongestionControl>) -> Path {
    let conditions = Conditions { rate: 10.0 * P10, bucket: Some((P10, burst)), ..Conditions::p10() };
    let mut path = Path::new(conditions, &linux(&conditions), control);
    path.run_until(ms(30_000));
    path
}

fn v3_profiles() -> [BbrConfig; 2] {
    [BbrConfig { extra_acked_cap: None, ..BbrConfig::default() }, BbrConfig::linux_v3()]
}

/// True if the row belongs to a bandwidth probe: Startup, REFILL (which fills the pipe for UP) or UP.
fn probes(row: &Row) -> bool {
    ["startup", "probe-bw-refill", "probe-bw-up"].contains(&row.info.state)
}

fn bandwidth(row: &Row) -> f64 {
    row.info.bandwidth.unwrap()
}

/// Number of packets sent and number dropped between consecutive rows, where the earlier row satisfies `of`.
fn sent_and_dropped(rows: &[Row], of: impl Fn(&Row) -> bool) -> (u64, u64) {
    let pairs = rows.windows(2).filter(|pair| of(&pair[0]));
    pairs.fold((0, 0), |(sent, dropped), pair| {
        (sent + pair[1].sent - pair[0].sent, dropped + pair[1].dropped - pair[0].dropped)
    })
}

/// In version 3 a probe's losses end it within a round trip and bound the window by the segments then in flight, 85 %
/// of it while cruising. Outside of probes fewer than 2 % of the packets, the loss threshold, are lost.
#[test]
fn a_probe_ends_at_the_bucket_and_little_is_lost_outside() {
    for (config, burst) in v3_profiles().into_iter().flat_map(|config| BURSTS.map(|burst| (config, burst))) {
        let path = policed(burst, Box::new(BbrV3::new(10.0, config, Some(2))));
        let rows: Vec<Row> = path.rows.iter().filter(|row| row.seconds() > 3.0).cloned().collect();
        let utilisation = path.delivered as f64 / (30.0 * P10);
        assert!((0.93..1.0).contains(&utilisation), "{utilisation}");

        let (sent, dropped) = sent_and_dropped(&rows, |row| !probes(row));
        assert!(
            (dropped as f64) < 0.02 * sent as f64,
            "{dropped} of {sent} outside of probes, burst {burst}"
        );
        assert!(sent_and_dropped(&rows, probes).1 > 50, "probes lose: else nothing is tested");

        let mut ends = 0;
        for (i, pair) in rows.windows(2).enumerate() {
            if pair[0].info.state != "probe-bw-up" || pair[1].info.state != "probe-bw-down" {
                continue;
            }
            ends += 1;
            let began = rows[..=i].iter().rposition(|row| row.info.state != "probe-bw-up").unwrap_or(0);
            let first = (began..i).find(|&at| rows[at + 1].dropped > rows[at].dropped);
            let lost_for = first.map_or(SimTime::ZERO, |at| rows[i + 1].now - rows[at].now);
            assert!(lost_for < ms(50), "{lost_for} of losses in UP, at {}", rows[i].now);
            // A probe pushes to 1.25 products, and at most a bucket beyond.
            let after = |state: &'static str| {
                let rest = rows[i + 1..].iter().skip_while(move |row| row.info.state == "probe-bw-down");
                let cruise = rest.take_while(|row| row.info.state == "probe-bw-cruise");
                let down = rows[i + 1..].iter().take_while(|row| row.info.state == "probe-bw-down");
                let rows: Vec<&Row> = if state == "cruise" { cruise.collect() } else { down.collect() };
                rows.iter().map(|row| row.cwnd).max()
            };
            let bound = after("down").unwrap();
            assert!((33..=42 + burst as u64).contains(&bound), "{bound} after the probe");
            // Whole segments of both.
            let cruise = after("cruise").unwrap_or(0) as f64;
            assert!(cruise <= 0.86 * (bound + 1) as f64, "{cruise} of {bound} while cruising");
        }
        assert!(ends >= 15, "{ends} probes");
    }
}

/// In version 3 the first loss after a probe lowers the short-term bound of the bandwidth, once per loss round: 40 ms
/// until the loss is noticed, a round that may still hold samples of the probe, and one without.
#[test]
fn losses_behind_a_probe_set_the_shortterm_bound_within_a_round() {
    for config in v3_profiles() {
        let path = policed(33.0, Box::new(BbrV3::new(10.0, config, Some(2))));
        let mut lowered = 0;
        for behind in path.rows.chunk_by(|a, b| probes(a) == probes(b)).filter(|rows| !probes(&rows[0])) {
            let first = behind.windows(2).position(|pair| pair[1].dropped > pair[0].dropped);
            let Some(lost) = first.map(|at| &behind[at]) else { continue };
            // What is above the bucket's rate is what the probe had of its burst.
            let later = behind.iter().find(|row| row.now >= lost.now + ms(135));
            if let Some(later) = later.filter(|_| bandwidth(lost) > 1.1 * P10) {
                lowered += 1;
                assert!(bandwidth(later) < bandwidth(lost), "{lost:?}, then {later:?}");
            }
        }
        assert!(lowered >= 4, "{lowered} losses behind probes");
    }
}

/// Version 1 detects a policer in two intervals of at most 16 rounds. It then sends at the policer's rate, within an
/// eighth and without losses, for 48 rounds; then the cycle begins again until the policer is detected anew.
#[test]
fn version_1_takes_the_rate_of_the_bucket() {
    let path = policed(33.0, Box::new(BbrV1::new(10.0, BbrConfig::default(), Some(2))));
    let is_policed = |row: &Row| {
        let at_gain_1 = row.info.state == "probe-bw" && row.info.gains.unwrap().0 == 1.0;
        at_gain_1 && (bandwidth(row) / P10 - 1.0).abs() < 0.125
    };
    let spans: Vec<&[Row]> = path.rows.chunk_by(|a, b| is_policed(a) == is_policed(b)).collect();
    let seconds = |rows: &[Row]| rows[rows.len() - 1].seconds() - rows[0].seconds();
    // The first and the last are not whole.
    let whole = &spans[1..spans.len() - 1];
    let policed: Vec<f64> =
        whole.iter().filter(|rows| is_policed(&rows[0])).map(|rows| seconds(rows)).collect();
    assert!(seconds(spans[0]) < 2.0 * 16.0 * 0.04, "found after {} s", seconds(spans[0]));
    assert!(policed.len() >= 10, "{policed:?}");
    // Rounds of 40 ms and of what is waited for until the first packet of the next.
    assert!(policed.iter().all(|lasts| (48.0 * 0.04..48.0 * 0.047).contains(lasts)), "{policed:?}");
    let (sent, dropped) = sent_and_dropped(&path.rows, is_policed);
    assert!(1000 * dropped < sent, "{dropped} of {sent} at the bucket's rate");
    let (sent, dropped) = sent_and_dropped(&path.rows, |row| !is_policed(row));
    assert!(10 * dropped > sent, "{dropped} of {sent} while it is looked for");
    assert!(path.delivered as f64 / (30.0 * P10) > 0.98);
}
