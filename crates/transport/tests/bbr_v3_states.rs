//! States and bounds of BBR version 3, fed with samples: as draft-ietf-ccwg-bbr-06 specifies them, and as Linux
//! differs.

use crate::fed::{Fed, MS, RATE};
use crossfade_core::SimTime;
use crossfade_transport::congestion::{BbrV3, CongestionControl, Phase, RateSample, SendEvent};
use crossfade_transport::{BbrConfig, FullPipeRule};
use std::collections::BTreeSet;

/// In UP with 100 segments in flight the third loss exceeds 2 % (section 5.5.10.2): the long-term bound becomes 98.98
/// segments, more than 0.7 of the product, and the next probe stops early.
#[test]
fn a_probe_that_loses_lowers_the_longterm_bound_and_the_next_is_cautious() {
    let mut fed = Fed::draft();
    fed.until("probe-bw-up");
    fed.lose(2, 100);
    assert_eq!(fed.state(), "probe-bw-up");
    fed.lose(3, 100);
    assert_eq!(fed.state(), "probe-bw-down");
    // Of two products 160 the bound leaves 98.98; cruising, 85 % of it.
    fed.ack(1, |sample| sample.in_flight = 200);
    assert!((fed.control.cwnd() - 98.98).abs() < 0.01, "{}", fed.control.cwnd());
    assert_eq!(fed.round(|_| {}), "probe-bw-cruise");
    assert!((fed.control.cwnd() - 0.85 * 98.98).abs() < 0.01, "{}", fed.control.cwnd());
    // The next probe ends at the bound, and as it lost nothing, another begins a round later without cruising.
    fed.until("probe-bw-up");
    assert_eq!(fed.round(|sample| sample.in_flight = 97), "probe-bw-up");
    assert_eq!(fed.round(|sample| sample.in_flight = 98), "probe-bw-down");
    assert_eq!(fed.round(|_| {}), "probe-bw-refill");
    assert_eq!(fed.round(|_| {}), "probe-bw-up");
}

/// In Linux, with whole segments, the second loss of 100 exceeds the threshold: the bound becomes 100 segments, 86
/// while cruising.
#[test]
fn linux_cuts_at_two_of_a_hundred() {
    let mut fed = Fed::linux();
    fed.until("probe-bw-up");
    fed.lose(2, 100);
    assert_eq!(fed.state(), "probe-bw-down");
    fed.ack(1, |sample| (sample.in_flight, sample.prior_in_flight) = (200, 200));
    assert_eq!(fed.control.cwnd(), 100.0);
    assert_eq!(fed.round(|_| {}), "probe-bw-cruise");
    assert_eq!(fed.control.cwnd(), 86.0);
}

/// Six acknowledgements with losses in a round, and more than 2 % lost, end Startup (section 5.3.1.3), also while the
/// sender is application-limited.
#[test]
fn heavy_loss_ends_startup() {
    for mut fed in [Fed::draft(), Fed::linux()] {
        fed.round(|_| {});
        fed.control.on_phase(fed.now, Phase::Recovery, 70);
        let prior = fed.delivered;
        for _ in 0..6 {
            fed.lose(1, 80);
            fed.now += MS;
            let state = fed.ack(5, |sample| {
                *sample = RateSample {
                    prior_delivered: Some(prior - 1),
                    newly_lost: 1,
                    app_limited: true,
                    phase: Phase::Recovery,
                    ..*sample
                };
            });
            assert_eq!(state, "startup");
        }
        let state = fed.round(|sample| {
            *sample = RateSample {
                lost_since_sent: 5,
                tx_in_flight: 100,
                in_flight: 200,
                app_limited: true,
                phase: Phase::Recovery,
                ..*sample
            };
        });
        assert_eq!(state, "drain");
        // The long-term bound is the product, 80, or what was delivered in the round.
        fed.control.on_phase(fed.now, Phase::Open, 70);
        assert_eq!(fed.round(|_| {}), "probe-bw-down");
        assert!((79.0..=80.0).contains(&fed.control.cwnd()), "{}", fed.control.cwnd());
    }
}

/// Drain lasts at most three rounds and one in the draft (section 5.3.2), and in Linux until the queue is drained. If
/// the queue stays, DOWN lasts until the next probe.
#[test]
fn a_queue_that_stays() {
    let stays = |sample: &mut RateSample| (sample.in_flight, sample.prior_in_flight) = (500, 500);
    let drain = |fed: &mut Fed| {
        while fed.round(stays) == "startup" {}
        assert_eq!(fed.state(), "drain");
        (1..100).find(|_| fed.round(stays) != "drain")
    };
    let mut fed = Fed::draft();
    assert_eq!(drain(&mut fed), Some(4));
    assert_eq!(fed.state(), "probe-bw-down");
    let states: Vec<&str> = (0..70).map(|_| fed.round(stays)).collect();
    assert!(states.contains(&"probe-bw-up") && !states.contains(&"probe-bw-cruise"), "{states:?}");
    assert_eq!(drain(&mut Fed::linux()), None);
}

/// Linux estimates the segments in flight at the next departure: of 100 segments 20 will have arrived in 10 ms.
#[test]
fn linux_looks_ahead_to_the_next_departure() {
    let later = |sample: &mut RateSample| {
        (sample.in_flight, sample.prior_in_flight) = (100, 100);
        sample.departure += MS * 10;
    };
    for (mut fed, state) in [(Fed::draft(), "drain"), (Fed::linux(), "probe-bw-cruise")] {
        while fed.round(later) == "startup" {}
        assert_eq!(fed.state(), state);
    }
}

/// A round trip equal to the minimum does not postpone `ProbeRTT`: both filters of the RTT are strict in the draft
/// (section 5.5.7).
#[test]
fn five_seconds_without_a_shorter_round_trip() {
    for mut fed in [Fed::draft(), Fed::linux()] {
        fed.until("probe-bw-cruise");
        fed.round(|sample| sample.rtt = Some(MS * 30));
        let began = fed.now;
        let equal = |sample: &mut RateSample| sample.rtt = Some(MS * 30);
        let rounds = (1..200).find(|_| fed.round(equal) == "probe-rtt").unwrap();
        assert_eq!(rounds, 126, "the first after {began} and 5 s");
        assert!(fed.control.cwnd() <= 40.0, "half a product: {}", fed.control.cwnd());
        // 200 ms and a round, then cruising.
        let small = |sample: &mut RateSample| sample.in_flight = 30;
        let lasts = (1..20).find(|_| fed.round(small) != "probe-rtt").unwrap();
        assert!((5..=7).contains(&lasts), "{lasts} rounds");
        assert_eq!(fed.state(), "probe-bw-cruise");
    }
}

#[test]
fn probe_rtt_is_skipped_after_idle_time_and_goes_back_to_startup_where_that_never_ended() {
    let mut fed = Fed::draft();
    let limited = |sample: &mut RateSample| {
        (sample.app_limited, sample.in_flight, sample.rtt) = (true, 4, Some(MS * 40));
    };
    while fed.round(limited) == "startup" {}
    assert_eq!(fed.state(), "probe-rtt");
    while fed.round(limited) == "probe-rtt" {}
    assert_eq!(fed.state(), "startup");
    let mut fed = Fed::draft();
    fed.round(limited);
    fed.now += MS * 6000;
    let idle = SendEvent { now: fed.now, after_idle: true, app_limited: true, ..SendEvent::default() };
    fed.control.on_send(&idle);
    assert_eq!(fed.round(limited), "startup");
}

/// If losses in a probe prove spurious, the probe begins again (section 5.5.11); Linux stays in its state.
#[test]
fn a_spurious_recovery_in_a_probe_refills() {
    for (mut fed, after) in [(Fed::draft(), "probe-bw-refill"), (Fed::linux(), "probe-bw-down")] {
        fed.until("probe-bw-up");
        fed.control.on_phase(fed.now, Phase::Recovery, 70);
        let before = fed.control.cwnd();
        fed.lose(3, 100);
        assert_eq!(fed.state(), "probe-bw-down");
        fed.control.undo();
        assert_eq!(fed.state(), after);
        // The long-term bound is none again: two products are allowed, at least.
        for _ in 0..3 {
            fed.round(|_| {});
        }
        assert!(fed.control.cwnd() >= 160.0 && before >= 160.0, "{before}, then {}", fed.control.cwnd());
    }
}

/// With a bandwidth-delay product below one segment the window is four segments.
#[test]
fn four_segments_are_the_least() {
    for config in [BbrConfig::default(), BbrConfig::linux_v3()] {
        let mut control = BbrV3::new(10.0, config, Some(1));
        let mut states = BTreeSet::new();
        for round in 1..400 {
            control.on_delivery(&RateSample {
                now: MS * (100 * round),
                delivered: round,
                prior_delivered: Some(round - 1),
                interval: MS * 100,
                rate: Some(10.0),
                rtt: Some(MS * 40),
                newly_acked: 1,
                in_flight: 1,
                departure: MS * (100 * round),
                ..RateSample::default()
            });
            let (state, window) = (control.info().state, control.cwnd());
            states.insert(state);
            if round > 40 {
                // Two more while it probes, which come one with each acknowledgement.
                let most = if state == "probe-bw-up" { 6.0 } else { 4.0 };
                assert!((4.0..=most).contains(&window), "{window} in {state}, round {round}, {config:?}");
            }
        }
        assert!(states.contains("probe-bw-up") && states.contains("probe-bw-cruise"), "{states:?}");
    }
}

/// Linux's gains are 710/256 in Startup, 88/256 in Drain and 232/256 in DOWN; the draft's Drain gain can be set alone.
#[test]
fn linux_has_gains_of_its_own() {
    let gains = |mut fed: Fed| {
        let stays = |sample: &mut RateSample| (sample.in_flight, sample.prior_in_flight) = (500, 500);
        let first = fed.control.info().gains.unwrap().0;
        while fed.round(stays) == "startup" {}
        let drain = fed.control.info().gains.unwrap().0;
        fed.until("probe-bw-up");
        fed.until("probe-bw-down");
        [first, drain, fed.control.info().gains.unwrap().0]
    };
    assert_eq!(gains(Fed::draft()), [2.77, 0.5, 0.9]);
    assert_eq!(gains(Fed::linux()), [710.0 / 256.0, 88.0 / 256.0, 232.0 / 256.0]);
    assert_eq!(gains(Fed::new(BbrConfig { drain_gain: 0.4, ..BbrConfig::default() })), [2.77, 0.4, 0.9]);
    // The margin of a percent is in its first rate, too.
    let mut fed = Fed::linux();
    fed.control.on_send(&SendEvent { srtt: Some(MS * 40), ..SendEvent::default() });
    let first = fed.control.pacing_rate().unwrap();
    assert!((first / (710.0 / 256.0 * 0.99 * 250.0) - 1.0).abs() < 1e-12, "{first}");
}

/// The quantum is a millisecond of data (section 5.6.3), 27.4 segments of 1500 bytes at 27,423 segments/s. In Linux it
/// is 26.8 segments, the data of 1/1024 s, plus 64 kB halved for each 512 us of minimum RTT, 10.9 at 1.1 ms. Both are
/// at most 64 kB, 43 segments.
#[test]
fn linux_sends_longer_bursts_over_short_paths() {
    let quantum = |config: BbrConfig, rtt_us: u64| {
        let config = BbrConfig { mss: 1500, ..config };
        let mut fed = Fed { control: BbrV3::new(10.0, config, None), ..Fed::new(config) };
        let rtt = Some(SimTime::from_micros(rtt_us));
        for _ in 0..2 {
            fed.round(|sample| (sample.rate, sample.rtt, sample.srtt) = (Some(1e4), rtt, rtt));
        }
        fed.control.send_quantum().unwrap()
    };
    let quanta = |config| [600, 1100, 40_000].map(|rtt_us| quantum(config, rtt_us));
    assert_eq!(quanta(BbrConfig::default()), [43, 27, 27]);
    assert_eq!(quanta(BbrConfig::linux_v3()), [43, 37, 26]);
}

/// Linux sees growth in the middle of a round; the draft checks only the first acknowledgement of each round.
#[test]
fn growth_within_a_round_is_seen_by_linux() {
    let rounds = |config: BbrConfig| {
        let mut fed = Fed::new(config);
        (1..50).find(|round| {
            let slow = |sample: &mut RateSample| (sample.rate, sample.in_flight) = (Some(RATE), 500);
            let state = fed.round(slow);
            if *round == 3 {
                fed.ack(1, |sample| {
                    (sample.prior_delivered, sample.rate, sample.in_flight) =
                        (Some(0), Some(1.3 * RATE), 500);
                });
            }
            state != "startup"
        })
    };
    let linux = BbrConfig::linux_v3();
    assert_eq!(rounds(BbrConfig::default()), Some(4));
    assert_eq!(rounds(linux), Some(6));
    assert_eq!(rounds(BbrConfig { full_pipe: FullPipeRule::Draft, ..linux }), Some(4));
    assert_eq!(rounds(BbrConfig { full_pipe: FullPipeRule::Linux, ..BbrConfig::default() }), Some(6));
}

/// The window allows for aggregated acknowledgements already in Startup: in Linux for 100 ms of data, in the draft
/// without limit.
#[test]
fn aggregation_is_allowed_for_from_the_start() {
    let window = |config: BbrConfig| {
        let mut fed = Fed::new(config);
        // 400 at once every 200 ms, each of 40 ms by its rate.
        for _ in 0..8 {
            fed.now += MS * 200;
            fed.ack(400, |sample| sample.in_flight = 500);
        }
        fed.control.cwnd()
    };
    let linux = BbrConfig::linux_v3();
    let draft = BbrConfig { extra_acked_cap: None, ..BbrConfig::default() };
    // Two products, and 200; without a bound the whole burst of 400, or what cwnd is.
    assert!((360.0..=362.0).contains(&window(linux)), "{}", window(linux));
    assert!(window(draft) > 362.0, "{}", window(draft));
}

fn marked(ce: u64) -> impl Fn(&mut RateSample) {
    move |sample| (sample.ce, sample.ce_since_sent) = (ce, ce)
}

/// In Linux two consecutive rounds with half of the segments marked end Startup; a round with fewer marks restarts the
/// count. The bound becomes the number of segments delivered in a round.
#[test]
fn two_rounds_of_marks_end_startup_in_linux() {
    // It grows by half each round: the pipe is not full.
    let rounds = |shares: [u64; 4]| {
        let mut fed = Fed::linux_with_ecn();
        let mut rate = 100.0;
        fed.round(|sample| sample.rate = Some(rate));
        shares.map(|ce| {
            rate *= 1.5;
            fed.round(|sample| {
                marked(ce)(sample);
                (sample.rate, sample.in_flight) = (Some(rate), 500);
            })
        })
    };
    assert_eq!(rounds([40, 40, 0, 0]), ["startup", "drain", "drain", "drain"]);
    assert_eq!(rounds([40, 39, 40, 40]), ["startup", "startup", "startup", "drain"]);
    assert_eq!(rounds([39, 39, 39, 39]), ["startup"; 4]);
}

/// In Linux, while cruising, a round with marks reduces the segments in flight to `1 - alpha/3` and leaves the
/// bandwidth unchanged, without any loss.
#[test]
fn marks_lower_what_is_under_way_once_a_round_in_linux() {
    let mut fed = Fed::linux_with_ecn();
    fed.until("probe-bw-cruise");
    let info = fed.control.info();
    // Rounds without marks since the start, each 240/256 of the last, rounded down.
    let alpha = info.own.as_deref().and_then(|own| own.strip_prefix("ecn_alpha=")).unwrap();
    let alpha = alpha.parse::<f64>().unwrap() * 256.0;
    let averaged = (240.0 * alpha / 256.0).floor() + (16.0_f64 * 128.0 / 256.0).floor();
    let cut = (256.0 - (averaged * 85.0 / 256.0).floor()) / 256.0;
    let before = fed.control.cwnd();
    assert_eq!(fed.round(marked(40)), "probe-bw-cruise");
    assert_eq!(fed.control.cwnd(), (cut * before).floor());
    assert_eq!(fed.control.info().bandwidth, info.bandwidth);
    // The rest of the round says nothing new.
    let after = fed.control.cwnd();
    fed.ack(1, |sample| {
        marked(1)(sample);
        sample.prior_delivered = Some(0);
    });
    assert_eq!(fed.control.cwnd(), after);
}

/// In Linux the next probe begins at once if marks came without losses and have ceased.
#[test]
fn a_probe_follows_marks_that_cease_in_linux() {
    let mut fed = Fed::linux_with_ecn();
    fed.until("probe-bw-cruise");
    assert_eq!(fed.round(marked(10)), "probe-bw-cruise");
    // 70 were under way with the mark.
    fed.now += MS;
    assert_eq!(fed.ack(69, |_| {}), "probe-bw-cruise");
    assert_eq!(fed.ack(1, |_| {}), "probe-bw-refill");
    assert_eq!(fed.round(|_| {}), "probe-bw-up");
    let mut lossy = Fed::linux_with_ecn();
    lossy.until("probe-bw-cruise");
    lossy.round(marked(10));
    lossy.lose(1, 80);
    assert_eq!(lossy.round(|_| {}), "probe-bw-cruise");
}

/// In Linux a probe ends if more than half of its segments are marked; the bound becomes the segments in flight, or at
/// least 180/256 of the target of 80 and 2.
#[test]
fn marks_end_a_probe_in_linux() {
    for (under_way, bound) in [(80, 80.0), (30, 57.0)] {
        let mut fed = Fed::linux_with_ecn();
        fed.until("probe-bw-up");
        assert_eq!(fed.round(marked(40)), "probe-bw-up");
        let state = fed.round(|sample| {
            marked(41)(sample);
            (sample.tx_in_flight, sample.prior_in_flight, sample.in_flight) = (under_way, 200, 200);
        });
        assert_eq!(state, "probe-bw-down");
        assert_eq!(fed.control.cwnd(), bound, "{under_way} under way");
    }
}

/// With a limit of 5 ms, marks on a path of 40 ms change nothing; the draft has no reaction to marks.
#[test]
fn marks_count_up_to_5_ms() {
    let plain = Fed::linux();
    assert!(!plain.control.needs().ect_1 && Fed::linux_with_ecn().control.needs().ect_1);
    let config = BbrConfig { ecn_max_rtt: Some(MS * 5), ..BbrConfig::linux_v3() };
    let (mut short, mut plain) = (Fed::new(config), Fed::new(BbrConfig::linux_v3()));
    for round in 0..200 {
        let both = [&mut short, &mut plain].map(|fed| (fed.round(marked(60)), fed.control.cwnd()));
        assert_eq!(both[0], both[1], "round {round}");
    }
}

/// In Linux a loss repaired by a tail loss probe counts as one loss among the segments delivered in a round and itself:
/// it ends a probe if these are at most 51, not if they are 52. The draft does not treat this case.
#[test]
fn a_loss_repaired_by_a_probe_counts_in_linux() {
    let after = |mut fed: Fed, latest: u64, app_limited| {
        fed.until("probe-bw-up");
        // Twice, for the last round counts as well.
        for _ in 0..2 {
            fed.now += MS * 40;
            fed.ack(latest, |_| {});
        }
        fed.control.on_probe_repaired(fed.now, app_limited);
        let state = fed.state();
        fed.ack(1, |sample| {
            (sample.tx_in_flight, sample.in_flight, sample.prior_in_flight) = (10, 200, 200);
        });
        (state, fed.control.cwnd())
    };
    let unharmed = after(Fed::linux(), 51, false);
    assert_eq!(unharmed.0, "probe-bw-up");
    // 180/256 of 82.
    assert_eq!(after(Fed::linux(), 50, false), ("probe-bw-down", 57.0));
    let limited = after(Fed::linux(), 50, true);
    assert!(limited.0 == "probe-bw-down" && limited.1 > 100.0, "{limited:?}");
    assert_eq!(after(Fed::draft(), 20, false).0, "probe-bw-up");
}

/// In Linux an acknowledgement that may answer a tail loss probe does not restart the delivery signals of the last
/// round.
#[test]
fn an_ambiguous_answer_to_a_probe_keeps_the_signals_in_linux() {
    let bound = |answers_probe| {
        let mut fed = Fed::linux();
        fed.until("probe-bw-cruise");
        fed.now += MS * 40;
        fed.ack(1, |sample| (sample.answers_probe, sample.rate) = (answers_probe, Some(10.0)));
        fed.lose(1, 80);
        fed.round(|sample| sample.rate = Some(10.0));
        fed.control.info().bandwidth
    };
    assert_eq!((bound(true), bound(false)), (Some(RATE), Some(180.0 / 256.0 * RATE)));
}
