//! Fuzz target: under any network and any timing, every congestion control, over the recovery of TCP and of QUIC, with
//! pacing and without, must not panic, stall or set a window below one segment, and data must be delivered in order and
//! exactly once. `CONTROL=bbr-v3` restricts the target to one control.
#![no_main]

#[path = "../../crates/transport/tests/adversary/mod.rs"]
mod adversary;
#[path = "../../crates/transport/tests/adversary/quic.rs"]
mod quic;
#[path = "../../crates/transport/tests/adversary/tcp.rs"]
mod tcp;

use adversary::{Op, Play, Promises, RULES};
use crossfade_core::SimTime;
use crossfade_transport::{
    CongestionControlKind, Flavour, Pacing, QuicConfig, RateReduction, RfcConfig, RtoConfig, RtoRule, Rules,
    SenderConfig, TcpConfig, Variant,
};
use libfuzzer_sys::fuzz_target;
use quic::Numbers;
use std::sync::LazyLock;
use tcp::Tcp;

/// Number of segments that the application writes at first, and in total.
const SEGMENTS: [u64; 2] = [60, 80];

const NAMES: [&str; RULES.len()] = ["reno", "cubic", "highspeed", "dctcp", "prague", "bbr-v1", "bbr-v3"];

/// Congestion control named by the environment variable `CONTROL`; `None` if it is not set.
static ONLY: LazyLock<Option<CongestionControlKind>> = LazyLock::new(|| {
    let name = std::env::var("CONTROL").ok()?;
    let at = NAMES.iter().position(|known| *known == name);
    Some(RULES[at.unwrap_or_else(|| panic!("CONTROL={name}: must be one of {NAMES:?}"))])
});

const VARIANTS: [Variant; 5] =
    [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack];

/// Configuration of a TCP sender, decoded from eight bytes.
fn config(bytes: &[u8; 8]) -> TcpConfig {
    let ms = SimTime::from_millis;
    let [choice, flags, more, variant, w_max, window, pacing, rto] = *bytes;
    let is = |flags: u8, bit: u8| flags >> bit & 1 == 1;
    let base = if is(flags, 0) { RfcConfig::linux() } else { RfcConfig::default() };
    let quantum = (pacing > 127).then(|| 1 + u64::from(pacing % 4));
    let paced = Pacing { slow_start_ratio: 0.1 + f64::from(pacing) / 64.0, quantum, ..Pacing::default() };
    let rfc = RfcConfig {
        congestion_control: ONLY.unwrap_or(RULES[usize::from(choice) % RULES.len()]),
        windows: if is(flags, 1) { Rules::Linux } else { Rules::Rfc },
        hystart: is(flags, 2),
        timestamps: is(flags, 3),
        rack: is(flags, 4),
        tail_loss_probe: is(flags, 4) && is(flags, 5),
        ecn: is(flags, 6),
        accurate_ecn: is(flags, 6) && is(flags, 7),
        pacing: is(more, 0).then_some(paced),
        f_rto: is(more, 1),
        eifel: is(more, 2) && is(flags, 3),
        delayed_ack: is(more, 3).then(|| ms(40)),
        restart_after_idle: is(more, 4),
        rate_reduction: if is(more, 5) { RateReduction::Immediate } else { RateReduction::Rfc9937 },
        ..base
    };
    let w_max = 1 + u32::from(w_max) % 60;
    let rule = RtoRule::Estimated { min: ms(1 + u64::from(rto) * 4), initial: ms(1000), granularity: ms(1) };
    TcpConfig {
        flavour: Flavour::Rfc,
        variant: VARIANTS[usize::from(variant) % 5],
        w_max,
        initial_window: f64::from(1 + u32::from(window) % w_max),
        initial_ssthresh: if is(more, 6) { f64::from(w_max) } else { 5.0 },
        dupthresh: 3,
        limited_transmit: is(more, 7),
        rto: RtoConfig { rule, backoff: true, max: ms(60_000) },
        segments: Some(SEGMENTS[0]),
        rfc,
    }
}

/// Operation of the network or application, decoded from two bytes.
fn op(bytes: &[u8]) -> Op {
    let at = usize::from(bytes[1]);
    match bytes[0] % 16 {
        0..=2 => Op::Poll,
        3..=5 => Op::DeliverData(at),
        6..=8 => Op::DeliverAck(at),
        9 => Op::MarkData(at),
        10 => Op::RepeatData(at),
        11 => Op::LoseData(at),
        12 => Op::LoseAck(at),
        13 => Op::RepeatAck(at),
        14 if at % 8 == 0 => Op::DelayedAck,
        15 if at % 8 == 0 => Op::Write(1 + bytes[1] as u64 / 64),
        // Waits from 1 us to 19 hours, which may sum to years.
        14 => Op::Wait(1 << (at % 37)),
        _ => Op::WaitForTimeout,
    }
}

/// Configuration of a QUIC sender, decoded from the eight bytes of [`config`].
fn quic_config(bytes: &[u8; 8]) -> QuicConfig {
    let ms = SimTime::from_millis;
    let [_, flags, more, variant, .., rto] = *bytes;
    let TcpConfig { initial_window, initial_ssthresh, segments, rfc, w_max, .. } = config(bytes);
    QuicConfig {
        initial_window,
        // QUIC's window never falls below two packets (RFC 9002 section 7.2).
        initial_ssthresh: initial_ssthresh.max(2.0),
        segments,
        congestion_control: rfc.congestion_control,
        pacing: rfc.pacing,
        ecn: rfc.ecn,
        hystart: rfc.hystart,
        handshake_rtt: (more & 4 != 0).then_some(ms(20)),
        packet_threshold: 1 + u64::from(variant % 5),
        time_threshold: 1.0 + f64::from(variant / 5 % 8) / 4.0,
        persistent_threshold: 1 + u32::from(variant / 40 % 4),
        probes: 1 + u32::from(flags & 1),
        undo: more & 2 != 0,
        max_ack_delay: ms(u64::from(rto % 50)),
        ack_eliciting_threshold: 1 + u32::from(rto / 50),
        ack_ranges: 1 + u32::from(more % 12),
        ..QuicConfig::new(w_max)
    }
}

fn play<P: Promises>(config: impl Into<SenderConfig>, network: &[u8]) {
    let mut play = Play::<P>::new(config, SEGMENTS[1]);
    play.poll();
    for bytes in network.chunks_exact(2).take(2000) {
        play.step(op(bytes));
    }
    play.finish();
}

fuzz_target!(|data: &[u8]| {
    let Some((first, network)) = data.split_first_chunk::<8>() else { return };
    if usize::from(first[0]) / RULES.len() % 2 == 0 {
        play::<Tcp>(config(first), network);
    } else {
        play::<Numbers>(quic_config(first), network);
    }
});
