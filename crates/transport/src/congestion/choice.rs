//! Construction of the congestion control that a configuration names.

use super::{
    AckCounting, BbrV1, BbrV3, CongestionControl, Cubic, Dctcp, HighSpeed, LinuxCubic, LinuxReno, PerAckReno,
    Prague, Reno, Rounding, SlowStart,
};
use crate::config::{CongestionControlKind as Kind, Flavour, QuicConfig, Rules, SenderConfig, TcpConfig};

/// Source of a congestion control's rules.
#[derive(Clone, Copy)]
enum Form {
    Rfc,
    Linux,
    /// Slow start without the limit L (RFC 9002 section 7.3.1; RFC 9406 section 4.3 for a paced sender), and Reno as
    /// the `NewReno` of RFC 9002.
    Quic,
}

/// Creates the congestion control that `config` names.
pub(crate) fn congestion_control(config: &SenderConfig) -> Box<dyn CongestionControl> {
    let [cwnd, ssthresh] = config.initial_windows();
    let limit = f64::from(config.w_max());
    let (kind, form, hystart, bbr, pacing) = match config {
        SenderConfig::Tcp(TcpConfig { flavour: Flavour::Paper, .. }) => {
            return Box::new(PerAckReno::new(cwnd.min(limit), ssthresh, limit, Rounding::Up));
        }
        // ns-2 limits the use of the window, not its growth.
        SenderConfig::Tcp(TcpConfig { flavour: Flavour::Ns2, .. }) => {
            return Box::new(PerAckReno::new(cwnd, ssthresh, f64::INFINITY, Rounding::Down));
        }
        SenderConfig::Tcp(TcpConfig { flavour: Flavour::Rfc, rfc, .. }) => {
            let form = if rfc.windows == Rules::Linux { Form::Linux } else { Form::Rfc };
            (rfc.congestion_control, form, rfc.hystart, rfc.bbr, rfc.pacing)
        }
        SenderConfig::Quic(QuicConfig { congestion_control, hystart, bbr, pacing, .. }) => {
            (*congestion_control, Form::Quic, *hystart, *bbr, *pacing)
        }
    };
    let slow_start = if hystart { SlowStart::hystart() } else { SlowStart::standard(1.0) };
    let slow_start = match form {
        Form::Rfc | Form::Linux => slow_start,
        Form::Quic => slow_start.with_limit(f64::INFINITY),
    };
    let quantum = pacing.and_then(|pacing| pacing.quantum);
    match (kind, form) {
        (Kind::Reno, Form::Linux) => Box::new(LinuxReno::new(cwnd, ssthresh)),
        (Kind::Reno, Form::Rfc) => Box::new(Reno::new(cwnd, ssthresh).with_slow_start(slow_start)),
        (Kind::Reno, Form::Quic) => Box::new(
            Reno::new(cwnd, ssthresh).with_slow_start(slow_start).with_counting(AckCounting::PerPacket),
        ),
        (Kind::Cubic, Form::Linux) => Box::new(LinuxCubic::new(cwnd, ssthresh, hystart)),
        (Kind::Cubic, _) => Box::new(Cubic::new(cwnd, ssthresh).with_slow_start(slow_start)),
        (Kind::HighSpeed, _) => Box::new(HighSpeed::new(cwnd, ssthresh).with_slow_start(slow_start)),
        (Kind::Dctcp, _) => Box::new(Dctcp::new(cwnd, ssthresh)),
        (Kind::Prague, _) => Box::new(Prague::new(cwnd, ssthresh)),
        (Kind::BbrV1, _) => Box::new(BbrV1::new(cwnd, bbr, quantum)),
        (Kind::BbrV3, _) => Box::new(BbrV3::new(cwnd, bbr, quantum)),
    }
}
