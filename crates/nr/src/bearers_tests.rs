//! Tests of several bearers of one user: shares of its blocks by TS 38.321 section 5.4.3.1, and equality with one
//! bearer.

use crate::bearers::Bearers;
use crate::cell_tests::{SEED, config, fading, run};
use crate::config::NrConfig;
use crate::rlc::RlcMode;
use crate::stack::{Stack, UP};
use crate::stack_tests::stack;
use crate::{BearerConfig, FurtherBearer, LogicalChannel, NrCell, NrUser, Scheduler};
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, LinkEvent, LinkReport, OutsideClass, Parcel};

fn ms(count: u64) -> SimTime {
    SimTime::from_millis(count)
}

fn channel(priority: u32, prioritised_rate: Option<u64>) -> LogicalChannel {
    LogicalChannel { priority, prioritised_rate, bucket: ms(100) }
}

/// Cell whose user has a bearer for each channel; flow n is on the nth.
fn with_bearers(mut config: NrConfig, mode: RlcMode, channels: &[LogicalChannel]) -> NrConfig {
    let mut stack = stack(mode);
    stack.rlc.sn_bits = if mode == RlcMode::Acknowledged { 18 } else { 12 };
    let usual = stack.bearer(0);
    let bearer = |channel: LogicalChannel| BearerConfig { channel, ..usual };
    stack.own = vec![Some(bearer(channels[0]))];
    let further = channels.iter().enumerate().skip(1).map(|(flow, channel)| FurtherBearer {
        user: 0,
        flows: vec![flow as u32],
        outside: None,
        level: channel.priority,
        bearer: bearer(*channel),
        queues: [None, None],
    });
    stack.further = further.collect();
    config.stack = Some(stack);
    config
}

/// Bytes of each flow that arrive within a second if `packets` packets of 1500 bytes of each arrive per millisecond.
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

/// Each channel has its prioritised rate in order of priority, and the channel of highest priority has the rest.
#[test]
fn prioritised_rates_come_first_and_priorities_share_the_rest() {
    for mode in [RlcMode::Unacknowledged, RlcMode::Acknowledged] {
        for is_up in [false, true] {
            // Load of each flow far above the cell's capacity, which is up to 45 Mbit/s in the uplink and 303 Mbit/s in
            // the downlink.
            let load = if is_up { [6, 6, 6] } else { [30, 30, 30] };
            // 1 and 0.5 MB/s for the channels of lower priority.
            let channels =
                [channel(30, Some(500_000)), channel(10, Some(8_000)), channel(20, Some(1_000_000))];
            let bytes = arrived(with_bearers(config(45.0), mode, &channels), &load, is_up);
            let total: u64 = bytes.iter().sum();
            // Of about 1506 bytes of a channel 1500 are packets; 100 ms of its rate are saved before the first block.
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
    // The rest belongs to the channel of higher priority.
    assert!(share(&finite, 1) > 0.9, "{finite:?}");
}

#[test]
fn events_tell_which_of_several_bearers_a_packet_was_on() {
    let channels = [channel(30, None), channel(10, None), channel(10, None)];
    let mut cell = NrCell::new(with_bearers(config(45.0), RlcMode::Acknowledged, &channels), SEED).unwrap();
    cell.trace(true);
    let bytes = |flow: u32| 300 + 400 * flow;
    for milli in 0..200 {
        for (flow, (from, to)) in (0..3).flat_map(|flow| [(flow, (0, 1)), (flow, (1, 0))]) {
            cell.push(ms(milli), from, to, Parcel::new(milli as u32, flow, bytes(flow)));
        }
        run(&mut cell, ms(milli + 1), |_, _, _| {});
    }
    run(&mut cell, ms(1000), |_, _, _| {});
    for is_back in [false, true] {
        let mut counts = [0; 3];
        let mut next = || if is_back { cell.next_trace_back() } else { cell.next_trace() };
        while let Some(event) = next() {
            let LinkEvent::Delay { bearer, bytes: of_packet, .. } = event else { continue };
            let bearer = bearer.expect("there are several");
            assert_eq!(of_packet, bytes(u32::from(bearer)));
            counts[bearer as usize] += 1;
        }
        assert_eq!(counts, [200; 3], "{is_back}");
    }
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

/// Bearers of equal priority share each single block equally, not only alternate blocks.
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

/// A call of 60 bytes each 20 ms beside a download that fills the queue waits behind it on the same bearer, but on a
/// bearer of its own at most for one slot with data.
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
    // With DDDSU it waits at most for the U slot and its own slot.
    assert!(own <= SimTime::from_micros(1500), "{own}");
    assert!(shared > ms(50), "{shared}");
}

/// The bytes of every grant go to bearers as computed by hand from TS 38.321 section 5.4.3.1: Bj starts at 0, grows by
/// PBR * T up to PBR * BSD, loses what it was served while above 0, in order of priority; the rest of the grant follows
/// the priorities alone, without buckets.
///
/// Packets of 297 bytes are SDUs of 300 behind PDCP. Unacknowledged mode with 12-bit numbers adds a header of 1 byte to
/// a whole SDU, 2 to the first segment and 4 to a later one; MAC adds 2 bytes below 256 bytes, otherwise 3. A whole SDU
/// takes 304 bytes.
#[test]
fn grants_are_shared_to_the_byte() {
    let a = LogicalChannel { priority: 1, prioritised_rate: Some(8_000), bucket: ms(50) };
    let b = LogicalChannel { priority: 2, prioritised_rate: Some(16_000), bucket: ms(100) };
    let c = LogicalChannel { priority: 3, prioritised_rate: Some(0), bucket: ms(100) };
    let config = with_bearers(config(45.0), RlcMode::Unacknowledged, &[a, b, c]).stack.unwrap();
    let stack = |bearer| Stack::new(bearer, SimTime::ZERO, 0, [None, None]);
    let mut bearers = Bearers::new(stack(config.bearer(0)), a, 1);
    config.further.iter().for_each(|further| bearers.add(stack(further.bearer), further));
    for (flow, packets) in [(0, 20), (1, 20), (2, 3)] {
        for id in 0..packets {
            let parcel = Parcel::new(id, flow, 297);
            assert!(bearers.of(&parcel, UP).push(SimTime::ZERO, parcel, None));
        }
    }
    let whole = |count| vec![(0, 300); count];
    let grants = [
        // No bucket holds bytes yet. A: 3 * 304 = 912; of the remaining 88 bytes MAC takes 2, RLC 2, data 84.
        (0, 1000, [[whole(3), vec![(0, 84)]].concat(), vec![], vec![]]),
        // Ba 160, Bb 320. A: 216 + 4 + 2 = 222, Ba -60. B: 304, Bb 19, and 304, Bb -282. The 170 that are left are A's:
        // 166 bytes.
        (20, 1000, [vec![(84, 300), (0, 166)], whole(2), vec![]]),
        // Ba -60 + 400 = 340, Bb -282 + 800 = 518. A: 134 + 4 + 2 = 140, Ba 202, and 304, Ba -99. B has 56: 52 bytes,
        // Bb 464.
        (70, 500, [vec![(166, 300), (0, 300)], vec![(0, 52)], vec![]]),
        // Both buckets are full: 400 and 1600. A: 304 twice, Ba -202. B: 248 + 4 + 2 = 254, Bb 1348, and 304 five times,
        // Bb -157. Of the 618 that are left A has 304 twice and 6 bytes.
        (2070, 3000, [[whole(4), vec![(0, 6)]].concat(), [vec![(52, 300)], whole(5)].concat(), vec![]]),
        // Ba -202 + 240 = 38, Bb -157 + 480 = 323. A: 294 + 4 + 3 = 301, Ba -260. B: 304, Bb 22; the next SDU, of which
        // the 95 that are left hold 91 bytes.
        (2100, 700, [vec![(6, 300)], vec![(0, 300), (0, 91)], vec![]]),
        // All that waits, by priority: A has had 11 SDUs of 20, B 9 and a part of one.
        (2100, 100_000, [whole(9), [vec![(91, 300)], whole(10)].concat(), whole(3)]),
    ];
    for (number, (at, bytes, expected)) in (0..).zip(grants) {
        assert!(bearers.fill(ms(at), UP, number, bytes));
        assert_eq!(bearers.segments(UP, number), expected, "{at} ms");
    }
    assert!(!bearers.fill(ms(3000), UP, 9, 100), "nothing is left");
}

/// With a near user with endless data and a far one with a download and a call, a scheduler that prefers high SNR
/// serves only the call of the far user, and this only if it follows the priorities of bearers.
#[test]
fn a_scheduler_of_bearers_serves_urgent_data_of_a_far_user() {
    for is_up in [false, true] {
        let calls = |schedules_bearers: bool| {
            let channels = [channel(90, None), channel(20, None)];
            let mut config = with_bearers(config(45.0), RlcMode::Unacknowledged, &channels);
            config.scheduler = Scheduler::MaxSinr;
            // Both users have the best scheme and no errors, but the scheduler knows their different SNR values.
            config.feedback.is_indicator = false;
            config.users.push(NrUser { mean_snr_db: 50.0, ..config.users[0].clone() });
            config.stack.as_mut().unwrap().schedules_bearers = schedules_bearers;
            let mut cell = NrCell::new(config, SEED).unwrap();
            let (mut longest, mut arrived) = (SimTime::ZERO, [0; 2]);
            let ends = |port| if is_up { (port, 0) } else { (0, port) };
            for milli in 0..1000 {
                let mut push = |port, flow, bytes| {
                    let (from, to) = ends(port);
                    cell.push(ms(milli), from, to, Parcel::new(milli as u32, flow, bytes));
                };
                for _ in 0..40 {
                    push(1, 0, 1500);
                    push(2, 7, 1500);
                }
                if milli % 50 == 0 {
                    push(1, 1, 60);
                }
                run(&mut cell, ms(milli + 1), |now, _, departure| {
                    let parcel = departure.parcel();
                    if parcel.flow() < 2 {
                        arrived[parcel.flow() as usize] += 1;
                    }
                    if parcel.flow() == 1 {
                        longest = longest.max(now - ms(parcel.id().into()));
                    }
                });
            }
            (arrived, longest)
        };
        let ([downloaded, called], longest) = calls(true);
        assert_eq!(called, 20, "{is_up}");
        // Downlink: at most the wait for the U slot. Uplink: 20 ms for a request, and 8 slots and an uplink slot for
        // its grant.
        let most = if is_up { SimTime::from_micros(27_500) } else { SimTime::from_micros(1500) };
        assert!(longest <= most, "{is_up}: {longest}");
        // A block with packets of the call has room for some bytes of the download.
        assert!(downloaded < 1500, "{is_up}: {downloaded}");
        let ([downloaded, called], _) = calls(false);
        assert!(called <= 2 && downloaded < 200, "{is_up}: {called} {downloaded}");
    }
}

/// Packets of real programs are carried by the bearer of their class, or by the first bearer if there is none, whatever
/// their flow number.
#[test]
fn packets_of_programs_go_by_their_class() {
    let mut config = with_bearers(config(45.0), RlcMode::Unacknowledged, &[channel(50, None); 3]);
    let [voice, other] = [1, 2].map(|number| OutsideClass::new(number).unwrap());
    config.stack.as_mut().unwrap().further[1].outside = Some(voice);
    let mut cell = NrCell::new(config, SEED).unwrap();
    for (id, flow) in [(0, voice.flow(1)), (1, voice.flow(2)), (2, other.flow(1)), (3, 1)] {
        cell.push(SimTime::ZERO, 0, 1, Parcel::new(id, flow, 100 * (id + 1)));
    }
    run(&mut cell, ms(10), |_, _, _| ());
    let bytes: Vec<u64> =
        cell.report(ms(10)).bearers.iter().map(|bearer| bearer.packets.arrived_bytes).collect();
    assert_eq!(bytes, [300, 400, 300]);
}

/// All departures, and the final report.
fn all(config: NrConfig) -> (Vec<(SimTime, u32, Departure)>, LinkReport) {
    let mut cell = NrCell::new(config, SEED).unwrap();
    let mut left = Vec::new();
    for milli in 0..2000 {
        for (from, to) in [(0, 1), (1, 0)] {
            cell.push(ms(milli), from, to, Parcel::new(milli as u32, 0, 1200));
        }
        run(&mut cell, ms(milli + 1), |now, port, departure| left.push((now, port, departure)));
    }
    let mut report = cell.report(ms(2000));
    // The report lists bearers only where a user has several.
    report.bearers.clear();
    report.back.iter_mut().for_each(|back| back.bearers.clear());
    (left, report)
}

/// A further bearer without packets changes nothing, over a fading channel with misread acknowledgements.
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
