//! Speed of the simulation of a cell with downlink and uplink: `cargo bench -p crossfade-nr --bench cell`. Arguments
//! select one of four cases by number and the simulated seconds: `-- 3`, `-- 3 400`.
//!
//! Prints simulated seconds per second of CPU time for 40 MHz, `DDDSU`, RLC AM and scheduling requests each 20 ms, over
//! a constant channel of 18 dB and over TDL-C at 3 km/h, without a transport protocol; each user is offered 1.2 times
//! its capacity, and one uplink packet for every two downlink packets.

use crossfade_cell::OuterLoopConfig;
use crossfade_channel::{DelayProfile, NamedProfile};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, Parcel, QueueLimit};
use crossfade_nr::rlc::{RlcConfig, RlcMode};
use crossfade_nr::{
    Combining, Duplex, EffectiveSinr, Fidelity, Grants, HarqConfig, McsTable, NrCell, NrConfig, NrUser,
    Numerology, QualityReports, Scheduler, StackConfig, USUAL_PRIORITY, UplinkConfig, Way,
};

fn config(users: usize, is_fading: bool) -> NrConfig {
    let ms = SimTime::from_millis;
    let table = McsTable::numbered(2).expect("there is one");
    let rlc = RlcConfig {
        mode: RlcMode::Acknowledged,
        sn_bits: 18,
        poll_pdus: Some(16),
        poll_bytes: None,
        poll_retransmit: ms(100),
        reassembly: ms(50),
        status_prohibit: ms(10),
        max_retransmissions: 32,
    };
    let uplink = UplinkConfig {
        grants: Grants::Requested,
        symbols: 13,
        layers: 1,
        table,
        snr_offset_db: 0.0,
        k2: 4,
        processing_slots: 4,
        request_period_slots: 40,
        request_prohibit_slots: 0,
        request_grant_bytes: 512,
        report_period: ms(10),
        report_again: ms(80),
        queue: None,
        discipline: None,
    };
    NrConfig {
        numerology: Numerology::new(1).expect("there is one"),
        duplex: Duplex::time("DDDSU", [10, 2, 2]).expect("a pattern"),
        prbs: 106,
        group_prbs: 8,
        control_symbols: 2,
        dmrs_re: 12,
        overhead_re: 0,
        layers: 2,
        table,
        implementation_loss_db: 0.0,
        error_table: None,
        effective_sinr: EffectiveSinr::MutualInformation,
        header_bytes: 0,
        profile: DelayProfile::named(NamedProfile::TdlC(100e-9)).ok().filter(|_| is_fading),
        shadowing: None,
        blockage: None,
        users: vec![
            NrUser {
                mean_snr_db: 18.0,
                speed_mps: 0.83,
                fd_t: 0.00485,
                trace: None,
                priority: USUAL_PRIORITY,
                queue: None
            };
            users
        ],
        scheduler: Scheduler::ProportionalFair { window_slots: 100.0 },
        feedback: QualityReports { period_slots: 40, delay_slots: 4, is_indicator: true },
        target_error_rate: 0.1,
        outer_loop: Some(OuterLoopConfig::with_target(0.1, 0.5, 20.0)),
        harq: HarqConfig {
            processes: 16,
            transmissions: 4,
            k1: 4,
            processing_slots: 4,
            combining: Combining::IncrementalRedundancy,
            has_feedback: true,
            has_limited_buffer: false,
            nack_to_ack: 0.001,
            ack_to_nack: 0.01,
        },
        reordering: ms(220),
        queue: Some(QueueLimit::Bytes(1_000_000)),
        fidelity: Fidelity::Slot,
        way: Way::Down,
        propagation: SimTime::ZERO,
        stack: Some(StackConfig {
            rlc,
            reordering: Some(ms(220)),
            discard: None,
            own: Vec::new(),
            further: Vec::new(),
            schedules_bearers: false,
            outage: ms(200),
            uplink,
            handover: None,
            drx: None,
        }),
    }
}

/// CPU time of this thread in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

fn main() {
    let cases = [(1_u32, 400_u64, 14, false), (20, 80, 1, false), (1, 200, 14, true), (20, 40, 1, true)];
    let mut asked = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let (case, lasts) = (asked.next(), asked.next());
    for (number, (users, seconds, packets, is_fading)) in (1..).zip(cases) {
        if case.is_some_and(|case| case != number) {
            continue;
        }
        let seconds = lasts.unwrap_or(seconds);
        let config = config(users as usize, is_fading);
        let mut cell = NrCell::new(config, RunSeed { seed: 1, run: 0 }).expect("it can be");
        let (start, mut id) = (cpu_s(), 0);
        for milli in 0..seconds * 1000 {
            for user in 1..=users {
                for _ in 0..packets {
                    cell.push(SimTime::from_millis(milli), 0, user, Parcel::new(id, 0, 1500));
                    id += 1;
                    if id % 2 == 0 {
                        cell.push(SimTime::from_millis(milli), user, 0, Parcel::new(id, 0, 52));
                    }
                }
            }
            let end = SimTime::from_millis(milli + 1);
            while let Some(now) = cell.next_event().filter(|now| *now < end) {
                while cell.advance(now).is_some() {}
            }
        }
        let elapsed = cpu_s() - start;
        let report = cell.report(SimTime::from_millis(seconds * 1000));
        let mbit_s = report.statistics.arrived_bytes as f64 * 8e-6 / seconds as f64;
        println!(
            "{users} users, {}: {:.1} simulated s a CPU s, {mbit_s:.1} Mbit/s down",
            if is_fading { "fading" } else { "constant" },
            seconds as f64 / elapsed
        );
    }
}
