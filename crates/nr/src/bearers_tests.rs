//! Several bearers of one user: shares of its blocks by TS 38.321 section 5.4.3.1, and one bearer as before.

use crate::cell_tests::{SEED, config, fading, run};
use crate::config::NrConfig;
use crate::rlc::RlcMode;
use crate::stack_tests::stack;
use crate::{BearerConfig, FurtherBearer, LogicalChannel, NrCell};
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, LinkReport, Parcel};

fn ms(count: u64) -> SimTime {
    SimTime::from_millis(count)
}

fn channel(priority: u32, prioritised_rate: Option<u64>) -> LogicalChannel {
    LogicalChannel { priority, prioritised_rate, bucket: ms(100) }
}

/// A cell whose user has a bearer for each channel: flow n is on the nth.
fn with_bearers(mut config: NrConfig, mode: RlcMode, channels: &[LogicalChannel]) -> NrConfig {
    let mut stack = stack(mode);
    stack.rlc.sn_bits = if mode == RlcMode::Acknowledged { 18 } else { 12 };
    let usual = stack.bearer(0);
    let bearer = |channel: LogicalChannel| BearerConfig { channel, ..usual };
    stack.own = vec![Some(bearer(channels[0]))];
    let further = channels.iter().enumerate().skip(1).map(|(flow, channel)| FurtherBearer {
        user: 0,
        flows: vec![flow as u32],
        bearer: bearer(*channel),
        queues: [None, None],
    });
    stack.further = further.collect();
    config.stack = Some(stack);
    config
}

/// Bytes of each flow that arrive within a second, if of each so many packets of 1500 bytes come each millisecond.
fn arrived(config: NrConfig, packets: &[u64], is_up: bool) -> Vec<u64> {
    let mut cell = NrCell::new(config, SEED).unwrap();
    let mut bytes = vec![0; packets.len()];
    let (from, to) = if is_up { (1, 0) } else { (0, 1) };
    let mut id = 0;
    for milli in 0..1000 {
        for (flow, count) in packets.iter().enumerate() {
            for _ in 0..*count {
                cell.push(ms(milli), from, to, Parcel::new(id, flow as u32, 1500));
                id += 1;
            }
        }
        run(&mut cell, ms(milli + 1), |_, _, departure| {
            if let Departure::Arrived(parcel) = departure {
                bytes[parcel.flow() as usize] += u64::from(parcel.bytes());
            }
        });
    }
    bytes
}

fn share(bytes: &[u64], flow: usize) -> f64 {
    bytes[flow] as f64 / bytes.iter().sum::<u64>() as f64
}

/// The rule with numbers: each channel has its prioritised rate in order of priority, and the first has all that is
/// left.
#[test]
fn prioritised_rates_come_first_and_priorities_share_the_rest() {
    for mode in [RlcMode::Unacknowledged, RlcMode::Acknowledged] {
        for is_up in [false, true] {
            // Much more than the cell carries of each: up to 45 and 303 Mbit/s.
            let load = if is_up { [6, 6, 6] } else { [30, 30, 30] };
            // 1 and 0.5 MB/s of the lower ones.
            let channels =
                [channel(30, Some(500_000)), channel(10, Some(8_000)), channel(20, Some(1_000_000))];
            let bytes = arrived(with_bearers(config(45.0), mode, &channels), &load, is_up);
            let total: u64 = bytes.iter().sum();
            // Of a channel's bytes 1500 of about 1506 are packets; 100 ms of rate are saved before the first block.
            for (flow, rate) in [(0, 500_000.0), (2, 1_000_000.0)] {
                let ratio = bytes[flow] as f64 / rate;
                assert!((0.93..1.07).contains(&ratio), "{mode:?} {is_up} {flow}: {bytes:?}");
            }
            assert!(bytes[1] > total / 2, "{mode:?} {is_up}: {bytes:?}");
        }
    }
}

#[test]
fn an_endless_prioritised_rate_starves_lower_priorities_and_a_finite_one_does_not() {
    let load = [30, 30];
    let of = |first: LogicalChannel, second: LogicalChannel| {
        arrived(with_bearers(config(45.0), RlcMode::Unacknowledged, &[first, second]), &load, false)
    };
    let endless = of(channel(90, Some(1_000_000)), channel(20, None));
    assert!(share(&endless, 0) < 1e-3, "{endless:?}");
    let finite = of(channel(90, Some(1_000_000)), channel(20, Some(10_000_000)));
    assert!(finite[0] > 930_000, "{finite:?}");
    // What is left beside another one belongs to the one of higher priority.
    assert!(share(&finite, 1) > 0.9, "{finite:?}");
}

#[test]
fn equal_priorities_have_equal_shares() {
    for rate in [None, Some(0), Some(1_000_000)] {
        let config = with_bearers(config(45.0), RlcMode::Unacknowledged, &[channel(50, rate); 3]);
        let bytes = arrived(config, &[30, 30, 30], false);
        for flow in 0..3 {
            assert!((share(&bytes, flow) - 1.0 / 3.0).abs() < 0.01, "{rate:?}: {bytes:?}");
        }
    }
}

/// In each block, not in turns of blocks alone.
#[test]
fn a_block_is_shared_equally() {
    let config = with_bearers(config(45.0), RlcMode::Unacknowledged, &[channel(50, None); 2]);
    let mut cell = NrCell::new(config, SEED).unwrap();
    for id in 0..60 {
        cell.push(SimTime::ZERO, 0, 1, Parcel::new(id, id / 30, 1500));
    }
    let mut packets = [0_u32; 2];
    // The block of the first slot.
    run(&mut cell, SimTime::from_micros(501), |_, _, departure| {
        packets[departure.parcel().flow() as usize] += 1;
    });
    assert!(packets[0] > 5 && packets[0].abs_diff(packets[1]) <= 1, "{packets:?}");
}

/// A call of 60 bytes each 20 ms beside a download that fills the queue: on the bearer of the download it waits behind
/// that, on its own for a slot with data at most.
#[test]
fn a_call_on_its_own_bearer_does_not_wait_behind_a_download() {
    let longest = |call: u32| {
        let channels = [channel(90, None), channel(20, None)];
        let config = with_bearers(config(45.0), RlcMode::Unacknowledged, &channels);
        let mut cell = NrCell::new(config, SEED).unwrap();
        let (mut id, mut longest, mut calls) = (0, SimTime::ZERO, 0);
        let mut sent = vec![SimTime::ZERO];
        for milli in 1..500 {
            for _ in 0..30 {
                sent.push(ms(milli));
                id += 1;
                cell.push(ms(milli), 0, 1, Parcel::new(id, 0, 1500));
            }
            if milli % 20 == 0 {
                sent.push(ms(milli));
                id += 1;
                cell.push(ms(milli), 0, 1, Parcel::new(id, call, 60));
            }
            run(&mut cell, ms(milli + 1), |now, _, departure| {
                if departure.parcel().bytes() == 60 {
                    calls += 1;
                    longest = longest.max(now - sent[departure.parcel().id() as usize]);
                }
            });
        }
        (longest, calls)
    };
    let ((own, calls), (shared, _)) = (longest(1), longest(0));
    assert_eq!(calls, 24);
    // DDDSU: it waits for the U slot and its own at most.
    assert!(own <= SimTime::from_micros(1500), "{own}");
    assert!(shared > ms(50), "{shared}");
}

/// What leaves, and what is reported at the end.
fn all(config: NrConfig) -> (Vec<(SimTime, u32, Departure)>, LinkReport) {
    let mut cell = NrCell::new(config, SEED).unwrap();
    let mut left = Vec::new();
    for milli in 0..2000 {
        for (from, to) in [(0, 1), (1, 0)] {
            cell.push(ms(milli), from, to, Parcel::new(milli as u32, 0, 1200));
        }
        run(&mut cell, ms(milli + 1), |now, port, departure| left.push((now, port, departure)));
    }
    (left, cell.report(ms(2000)))
}

/// Over a fading channel with misread acknowledgements.
#[test]
fn a_further_bearer_without_packets_changes_nothing() {
    for mode in [RlcMode::Unacknowledged, RlcMode::Acknowledged] {
        let mut radio = fading(1);
        radio.harq.nack_to_ack = 0.1;
        let one = all(with_bearers(radio.clone(), mode, &[channel(90, None)]));
        for rates in [[None, None], [Some(8_000), None], [Some(0), Some(1_000_000)]] {
            let channels = [channel(90, rates[0]), channel(20, rates[1])];
            let two = all(with_bearers(radio.clone(), mode, &channels));
            assert_eq!(format!("{one:?}"), format!("{two:?}"), "{mode:?} {rates:?}");
        }
        assert!(one.0.len() > 3500, "{}", one.0.len());
    }
}

#[test]
fn bearers_of_nobody_and_flows_of_two_are_refused() {
    let refused = |change: &dyn Fn(&mut Vec<FurtherBearer>)| {
        let mut config = with_bearers(config(20.0), RlcMode::Unacknowledged, &[channel(50, None); 3]);
        change(&mut config.stack.as_mut().unwrap().further);
        config.check().err().map(|error| error.to_string())
    };
    assert_eq!(refused(&|_| ()), None);
    for (change, said) in [
        (
            &(|further: &mut Vec<FurtherBearer>| further[0].user = 1) as &dyn Fn(&mut Vec<_>),
            "below 1, the users",
        ),
        (&|further: &mut Vec<FurtherBearer>| further[1].flows.push(1), "on one bearer of its user alone"),
        (
            &|further: &mut Vec<FurtherBearer>| further[0].bearer.channel.prioritised_rate = Some(65_536_001),
            "at most 65536 kB/s, or all",
        ),
        (&|further: &mut Vec<FurtherBearer>| further[1].bearer.channel.bucket = ms(1001), "at most 1 s"),
    ] {
        let error = refused(change).unwrap_or_default();
        assert!(error.ends_with(said), "{error}");
    }
}
