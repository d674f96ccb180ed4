//! Tests of whole cells against closed forms.

use crate::awgn::Combining;
use crate::config::{Fidelity, HarqConfig, NrConfig, NrUser, QualityReports, Scheduler};
use crate::stack_config::USUAL_PRIORITY;
use crate::{Allocation, Duplex, EffectiveSinr, McsTable, NrCell, Numerology, Way};
use crossfade_cell::OuterLoopConfig;
use crossfade_channel::{DelayProfile, Lossless, NamedProfile};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, Fabric, Hop, HopConfig, Link, LinkReport, Parcel, Push};

pub(crate) const SEED: RunSeed = RunSeed { seed: 1, run: 0 };

/// Cell with one user at 40 MHz over a constant channel, whose SNR is reported exactly.
pub(crate) fn config(snr_db: f64) -> NrConfig {
    NrConfig {
        numerology: Numerology::new(1).unwrap(),
        duplex: Duplex::time("DDDSU", [10, 2, 2]).unwrap(),
        prbs: 106,
        group_prbs: 8,
        control_symbols: 2,
        dmrs_re: 12,
        overhead_re: 0,
        layers: 2,
        table: McsTable::numbered(2).unwrap(),
        implementation_loss_db: 0.0,
        error_table: None,
        effective_sinr: EffectiveSinr::MutualInformation,
        header_bytes: 0,
        profile: None,
        shadowing: None,
        blockage: None,
        users: vec![NrUser {
            mean_snr_db: snr_db,
            speed_mps: 0.0,
            fd_t: 0.0,
            trace: None,
            priority: USUAL_PRIORITY,
            queue: None,
        }],
        scheduler: Scheduler::RoundRobin,
        feedback: QualityReports { period_slots: 1, delay_slots: 0, is_indicator: false },
        target_error_rate: 0.1,
        outer_loop: None,
        harq: HarqConfig {
            processes: 16,
            transmissions: 4,
            k1: 4,
            processing_slots: 4,
            combining: Combining::IncrementalRedundancy,
            has_feedback: true,
            has_limited_buffer: false,
            nack_to_ack: 0.0,
            ack_to_nack: 0.0,
        },
        reordering: SimTime::from_millis(50),
        queue: None,
        fidelity: Fidelity::Slot,
        way: Way::Down,
        propagation: SimTime::ZERO,
        stack: None,
    }
}

/// Runs the cell until `end`; all departures are handed to `leave`.
pub(crate) fn run(cell: &mut NrCell, end: SimTime, mut leave: impl FnMut(SimTime, u32, Departure)) {
    while let Some(now) = cell.next_event().filter(|now| *now < end) {
        while let Some((port, departure)) = cell.advance(now) {
            leave(now, port, departure);
        }
    }
}

/// Report of a cell in which each user always has data, after `seconds`.
pub(crate) fn saturated(config: NrConfig, seconds: u64) -> LinkReport {
    let users = config.users.len() as u32;
    let mut cell = NrCell::new(config, SEED).unwrap();
    let end = SimTime::from_millis(seconds * 1000);
    for id in 0..(seconds * 40_000) as u32 {
        for user in 1..=users {
            assert_eq!(cell.push(SimTime::ZERO, 0, user, Parcel::new(id, 0, 1500)), Push::Accepted);
        }
    }
    run(&mut cell, end, |_, _, _| ());
    cell.report(end)
}

pub(crate) fn goodput_bps(report: &LinkReport) -> f64 {
    report.statistics.arrived_bytes as f64 * 8.0 / report.at.as_secs_f64()
}

/// Bits of the transport block of MCS 27 in slots of 12 and of 8 data symbols.
fn largest_blocks() -> [f64; 2] {
    [12, 8].map(|symbols| {
        let allocation = Allocation { symbols, dmrs_re: 12, overhead_re: 0, prbs: 106, layers: 2 };
        f64::from(allocation.transport_block_bits(8, 948_000_000, 0))
    })
}

#[test]
fn a_perfect_channel_carries_the_largest_blocks() {
    let [full, special] = largest_blocks();
    let report = saturated(config(45.0), 4);
    let expected = (3.0 * full + special) / 2.5e-3;
    // 303.2 Mbit/s.
    assert!((expected / 303.2e6 - 1.0).abs() < 1e-3, "{expected}");
    assert!((goodput_bps(&report) / expected - 1.0).abs() < 2e-3, "{} {expected}", goodput_bps(&report));
    assert_eq!(report.frames.unwrap().retransmissions, 0);
}

/// With data in every slot, no errors and exclusive acknowledgement slots, a cell is a hop with the rate of its blocks:
/// each packet arrives at the end of the slot in which the hop would send its last bit.
#[test]
fn a_cell_of_downlink_slots_is_a_hop_to_the_slot() {
    let mut all_down = config(45.0);
    all_down.duplex = Duplex::frequency();
    let (slot, bits) = (all_down.numerology.slot(), largest_blocks()[0]);
    let rate_bps = Some(bits / slot.as_secs_f64());
    let loss = Box::new(Lossless);
    let mut hop = Hop::new(HopConfig { rate_bps, delay: SimTime::ZERO, queue_limit: None, loss });
    let mut cell = NrCell::new(all_down, SEED).unwrap();
    let (mut of_hop, mut of_cell) = (Vec::new(), Vec::new());
    let mut follow = |hop: &mut Hop, cell: &mut NrCell, end: SimTime| {
        run(cell, end, |now, _, departure| of_cell.push((departure, now.as_nanos() / slot.as_nanos())));
        while let Some(now) = hop.next_event().filter(|now| *now < end) {
            while let Some(departure) = hop.advance(now) {
                of_hop.push((departure, now));
            }
        }
    };
    // Bursts of 0 to 100 packets of 1 to 1500 bytes each two slots: 72 % of the rate in the mean, at most 144 %.
    let (mut id, mut state) = (0, 1_u64);
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    for burst in 1..4000 {
        let now = slot * (2 * burst + draw(2));
        follow(&mut hop, &mut cell, now);
        for _ in 0..draw(101) {
            let parcel = Parcel::new(id, 0, draw(1500) as u32 + 1);
            assert_eq!(
                (cell.push(now, 0, 1, parcel), hop.push(now, parcel)),
                (Push::Accepted, Push::Accepted)
            );
            id += 1;
        }
    }
    follow(&mut hop, &mut cell, SimTime::from_millis(600_000));
    assert_eq!(of_cell.len(), id as usize);
    assert_eq!(of_cell.len(), of_hop.len());
    // A hop rounds the time of each packet to a nanosecond, which adds up over a backlog to 2 us at most.
    let (most, mut near) = (SimTime::from_micros(2), 0);
    for ((packet, found), (same, at)) in of_cell.iter().zip(&of_hop) {
        assert_eq!(packet, same);
        let slots = [*at - most, *at + most].map(|at| at.as_nanos().div_ceil(slot.as_nanos()));
        near += u32::from(slots[0] != slots[1]);
        assert!(slots.contains(found), "{packet:?}: {found} for {at}");
    }
    // Where this decides the slot, either slot is accepted: 4 of 500 us.
    assert!(f64::from(near) < 0.012 * f64::from(id), "{near} of {id}");
}

#[test]
fn too_few_processes_carry_exactly_their_share() {
    // FDD at 15 kHz has a round trip of 8 slots.
    let mut half = config(45.0);
    half.numerology = Numerology::new(0).unwrap();
    half.duplex = Duplex::frequency();
    let mut with = |processes| {
        half.harq.processes = processes;
        saturated(half.clone(), 4).frames.unwrap().frames as f64
    };
    let [four, eight, sixteen] = [4, 8, 16].map(&mut with);
    assert!((four / eight - 0.5).abs() < 2e-3 && eight == sixteen, "{four} {eight} {sixteen}");
    // DDDSU: 10 processes fill all slots, 8 about 80 % of them.
    let mut time = config(45.0);
    let mut with = |processes| {
        time.harq.processes = processes;
        goodput_bps(&saturated(time.clone(), 4))
    };
    let [eight, ten, sixteen] = [8, 10, 16].map(&mut with);
    assert!((ten / sixteen - 1.0).abs() < 1e-9, "{ten} {sixteen}");
    assert!((0.74..0.86).contains(&(eight / ten)), "{}", eight / ten);
    assert_eq!(time.round_trips().1, 10);
}

/// Cell at the SNR at which half of the first transmissions of some scheme fail.
pub(crate) fn half_failing() -> NrConfig {
    let mut config = config(10.0);
    config.target_error_rate = 0.5;
    config.users[0].mean_snr_db = NrCell::thresholds_db(&config)[10] + 1e-9;
    config
}

#[test]
fn delays_of_an_idle_cell_are_whole_round_trips() {
    let config = half_failing();
    let mut cell = NrCell::new(config.clone(), SEED).unwrap();
    let slot = SimTime::from_micros(500);
    let (mut attempts, mut packets) = ([0_u32; 5], 0_u32);
    for id in 0..4000_u32 {
        // Packets at varying times within a slot with data, long after the last one.
        let first = u64::from(id) * 200 + u64::from(id % 5);
        let at = slot * first - SimTime::from_micros(u64::from(id % 400));
        if id == 0 || config.data_symbols(first) != 12 {
            continue;
        }
        assert_eq!(cell.push(at, 0, 1, Parcel::new(id, 0, 100)), Push::Accepted);
        let mut expected = vec![slot * (first + 1)];
        let mut sent = first;
        for _ in 1..4 {
            sent = config.again(sent);
            expected.push(slot * (sent + 1));
        }
        packets += 1;
        run(&mut cell, slot * (first + 150), |now, port, departure| {
            assert_eq!((port, departure.parcel().id()), (1, id));
            let attempt =
                expected.iter().position(|time| *time == now).unwrap_or_else(|| panic!("{now} {expected:?}"));
            attempts[attempt] += 1;
        });
    }
    // Half fails at first; over a constant channel the second copy suffices.
    let first = f64::from(attempts[0]) / f64::from(packets);
    assert!((first - 0.5).abs() < 4.0 * (0.25 / f64::from(packets)).sqrt(), "{attempts:?}");
    assert!(attempts[2] + attempts[3] == 0 && attempts[0] + attempts[1] == packets, "{attempts:?}");
}

#[test]
fn acknowledgements_that_are_misread_lose_blocks_or_send_them_in_vain() {
    let mut config = half_failing();
    config.harq.nack_to_ack = 0.1;
    let report = saturated(config.clone(), 8);
    let frames = report.frames.unwrap();
    // Of the half that fails at first a tenth is lost by misread acknowledgements.
    let share = frames.frames_lost as f64 / frames.frames as f64;
    assert!((share - 0.05).abs() < 4.0 * (0.05 / frames.frames as f64).sqrt(), "{share}");
    assert!(report.statistics.losses > 0);
    config.harq.nack_to_ack = 0.0;
    config.harq.ack_to_nack = 0.2;
    let frames = saturated(config, 8).frames.unwrap();
    assert_eq!(frames.frames_lost, 0);
    // Half in the first copy, all in the second: 1.5 copies; each received block is retransmitted with probability
    // 0.2, up to four copies.
    let expected = 1.5 + 0.2 + 0.2 * 0.2 + 0.5 * 0.2_f64.powi(3);
    let found = frames.frame_transmissions_per_frame();
    assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
}

/// Cell with a fading channel and delayed channel quality indicators.
pub(crate) fn fading(users: usize) -> NrConfig {
    let mut config = config(15.0);
    config.profile = Some(DelayProfile::named(NamedProfile::TdlC(300e-9)).unwrap());
    // 30 km/h with a carrier of 3.5 GHz.
    config.users = vec![
        NrUser {
            mean_snr_db: 15.0,
            speed_mps: 8.3,
            fd_t: 0.0485,
            trace: None,
            priority: USUAL_PRIORITY,
            queue: None
        };
        users
    ];
    config.feedback = QualityReports { period_slots: 20, delay_slots: 4, is_indicator: true };
    config
}

#[test]
fn the_outer_loop_meets_its_target() {
    for target in [0.05, 0.1, 0.3] {
        let mut config = fading(1);
        config.outer_loop = Some(OuterLoopConfig::with_target(target, 0.5, 30.0));
        let report = saturated(config, 20);
        let frames = report.frames.as_ref().unwrap().frames as f64;
        let found = report.users[0].first_errors as f64 / frames;
        // The outer loop steers the count itself, which deviates by at most the range of the offset over its steps.
        assert!((found / target - 1.0).abs() < 0.05, "{found} for {target} of {frames}");
    }
}

#[test]
fn schedulers_gain_and_share() {
    let cell = |scheduler| {
        let mut config = fading(4);
        config.scheduler = scheduler;
        config.feedback = QualityReports { period_slots: 1, delay_slots: 0, is_indicator: false };
        saturated(config, 2)
    };
    let [turns, fair, greedy] =
        [Scheduler::RoundRobin, Scheduler::ProportionalFair { window_slots: 100.0 }, Scheduler::MaxSinr]
            .map(cell);
    let [turns_bps, fair_bps, greedy_bps] = [&turns, &fair, &greedy].map(goodput_bps);
    assert!(
        fair_bps > 1.05 * turns_bps && greedy_bps > 1.05 * turns_bps,
        "{turns_bps} {fair_bps} {greedy_bps}"
    );
    let share = |report: &LinkReport| {
        let bytes = report.users.iter().map(|user| user.packets.arrived_bytes as f64);
        bytes.fold(f64::INFINITY, f64::min) / (report.statistics.arrived_bytes as f64 / 4.0)
    };
    assert!(share(&fair) > 0.85 && share(&turns) > 0.7, "{} {}", share(&fair), share(&turns));
}

#[test]
fn equal_seeds_give_equal_cells_and_queues_are_limited() {
    let report = |config: NrConfig| format!("{:?}", saturated(config, 1));
    assert_eq!(report(fading(2)), report(fading(2)));
    let mut limited = config(20.0);
    limited.queue = Some(crossfade_link::QueueLimit::Packets(2));
    let mut cell = NrCell::new(limited, SEED).unwrap();
    let pushed = [0, 1, 2].map(|id| cell.push(SimTime::ZERO, 0, 1, Parcel::new(id, 0, 1500)));
    assert_eq!(pushed, [Push::Accepted, Push::Accepted, Push::QueueDrop]);
    assert_eq!(
        [(1, 0), (0, 2), (0, 0)].map(|(a, b)| cell.push(SimTime::ZERO, a, b, Parcel::new(9, 0, 40))),
        [Push::Lost; 3]
    );
    assert_eq!(cell.report(SimTime::ZERO).unsent.len(), 2);
}
