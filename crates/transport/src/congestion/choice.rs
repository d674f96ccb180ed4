//! The congestion control that a configuration names.

use super::{
    AckCounting, BbrV1, BbrV3, CongestionControl, Cubic, Dctcp, HighSpeed, LinuxCubic, LinuxReno, PerAckReno,
    Prague, Reno, Rounding, SlowStart,
};
use crate::config::{CongestionControlKind, Flavour, RfcConfig, Rules, TcpConfig};

/// The congestion control that `config` asks for, as the flavour has it.
pub(crate) fn congestion_control(config: &TcpConfig) -> Box<dyn CongestionControl> {
    let (cwnd, ssthresh, limit) = (config.initial_window, config.initial_ssthresh, f64::from(config.w_max));
    match config.flavour {
        Flavour::Paper => Box::new(PerAckReno::new(cwnd.min(limit), ssthresh, limit, Rounding::Up)),
        // ns-2 caps the use of the window, not its growth.
        Flavour::Ns2 => Box::new(PerAckReno::new(cwnd, ssthresh, f64::INFINITY, Rounding::Down)),
        Flavour::Quic => quic_rule(config),
        Flavour::Rfc => {
            let RfcConfig { congestion_control, windows, hystart, .. } = config.rfc;
            let slow_start = if hystart { SlowStart::hystart() } else { SlowStart::standard(1.0) };
            let quantum = config.rfc.pacing.and_then(|pacing| pacing.quantum);
            match (windows, congestion_control) {
                (_, CongestionControlKind::BbrV3) => Box::new(BbrV3::new(cwnd, config.rfc.bbr, quantum)),
                (_, CongestionControlKind::BbrV1) => Box::new(BbrV1::new(cwnd, config.rfc.bbr, quantum)),
                (Rules::Rfc, CongestionControlKind::Reno) => {
                    Box::new(Reno::new(cwnd, ssthresh).with_slow_start(slow_start))
                }
                (Rules::Rfc, CongestionControlKind::Cubic) => {
                    Box::new(Cubic::new(cwnd, ssthresh).with_slow_start(slow_start))
                }
                (_, CongestionControlKind::HighSpeed) => {
                    Box::new(HighSpeed::new(cwnd, ssthresh).with_slow_start(slow_start))
                }
                (_, CongestionControlKind::Dctcp) => Box::new(Dctcp::new(cwnd, ssthresh)),
                (_, CongestionControlKind::Prague) => Box::new(Prague::new(cwnd, ssthresh)),
                (Rules::Linux, CongestionControlKind::Reno) => Box::new(LinuxReno::new(cwnd, ssthresh)),
                (Rules::Linux, CongestionControlKind::Cubic) => {
                    Box::new(LinuxCubic::new(cwnd, ssthresh, hystart))
                }
            }
        }
    }
}

/// The same under QUIC: slow start counts what is acknowledged, without a limit (RFC 9002 section 7.3.1; RFC 9406 section 4.3,
/// of a paced sender), and Reno is the `NewReno` of RFC 9002.
fn quic_rule(config: &TcpConfig) -> Box<dyn CongestionControl> {
    let (cwnd, ssthresh) = (config.initial_window, config.initial_ssthresh);
    let hystart = config.rfc.hystart.then(SlowStart::hystart);
    let slow_start = hystart.unwrap_or(SlowStart::standard(1.0)).with_limit(f64::INFINITY);
    match config.rfc.congestion_control {
        CongestionControlKind::Reno => Box::new(
            Reno::new(cwnd, ssthresh).with_slow_start(slow_start).with_counting(AckCounting::PerPacket),
        ),
        CongestionControlKind::Cubic => Box::new(Cubic::new(cwnd, ssthresh).with_slow_start(slow_start)),
        CongestionControlKind::HighSpeed => {
            Box::new(HighSpeed::new(cwnd, ssthresh).with_slow_start(slow_start))
        }
        _ => {
            let rfc = RfcConfig { windows: Rules::Rfc, ..config.rfc };
            congestion_control(&TcpConfig { flavour: Flavour::Rfc, rfc, ..*config })
        }
    }
}
