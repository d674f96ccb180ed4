//! Configuration of both ends of a connection, TCP or QUIC.

use super::{CongestionControlKind, Flavour, QuicConfig, TcpConfig};
use crossfade_core::SimTime;

/// Configuration of both ends of a connection, by transport protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderConfig {
    /// Configuration of a TCP connection.
    Tcp(TcpConfig),
    /// Configuration of a QUIC connection over one stream.
    Quic(QuicConfig),
}

impl SenderConfig {
    /// The configuration of TCP, or `None` for QUIC.
    pub fn tcp(&self) -> Option<&TcpConfig> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Quic(_) => None,
        }
    }

    /// The configuration of QUIC, or `None` for TCP.
    pub fn quic(&self) -> Option<&QuicConfig> {
        match self {
            Self::Tcp(_) => None,
            Self::Quic(quic) => Some(quic),
        }
    }

    /// Receiver window of TCP, or stream credit of QUIC, in segments.
    pub fn w_max(&self) -> u32 {
        match self {
            Self::Tcp(TcpConfig { w_max, .. }) | Self::Quic(QuicConfig { w_max, .. }) => *w_max,
        }
    }

    /// Initial congestion window and initial slow-start threshold, in segments.
    pub fn initial_windows(&self) -> [f64; 2] {
        match self {
            Self::Tcp(TcpConfig { initial_window, initial_ssthresh, .. })
            | Self::Quic(QuicConfig { initial_window, initial_ssthresh, .. }) => {
                [*initial_window, *initial_ssthresh]
            }
        }
    }

    /// Number of segments that the application sends; `None`: unlimited.
    pub fn segments(&self) -> Option<u64> {
        match self {
            Self::Tcp(TcpConfig { segments, .. }) | Self::Quic(QuicConfig { segments, .. }) => *segments,
        }
    }

    /// Returns this configuration with a transfer of `segments` segments.
    #[must_use]
    pub fn with_segments(self, segments: u64) -> Self {
        let segments = Some(segments);
        match self {
            Self::Tcp(tcp) => Self::Tcp(TcpConfig { segments, ..tcp }),
            Self::Quic(quic) => Self::Quic(QuicConfig { segments, ..quic }),
        }
    }

    /// Mutable access to the RTT of the handshake, `None` if it is not measured; flavours `paper` and `ns2` ignore it.
    pub fn handshake_rtt(&mut self) -> &mut Option<SimTime> {
        match self {
            Self::Tcp(tcp) => &mut tcp.rfc.handshake_rtt,
            Self::Quic(quic) => &mut quic.handshake_rtt,
        }
    }

    /// Congestion control that the configuration names; `None` for flavours `paper` and `ns2`, which have their own.
    pub fn congestion_control(&self) -> Option<CongestionControlKind> {
        match self {
            Self::Tcp(tcp) => (tcp.flavour == Flavour::Rfc).then_some(tcp.rfc.congestion_control),
            Self::Quic(quic) => Some(quic.congestion_control),
        }
    }

    /// Number of in-order segments per acknowledgement: two if TCP delays them (RFC 5681 section 4.2), for QUIC its
    /// threshold of ack-eliciting packets (RFC 9000 section 13.2.2).
    pub fn segments_per_ack(&self) -> u32 {
        match self {
            Self::Tcp(tcp) => {
                let is_delayed = tcp.flavour == Flavour::Rfc && tcp.rfc.delayed_ack.is_some();
                1 + u32::from(is_delayed)
            }
            Self::Quic(quic) => quic.ack_eliciting_threshold,
        }
    }

    /// True if routers may mark packets instead of dropping them (ECN).
    pub fn ecn(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.flavour == Flavour::Rfc && tcp.rfc.ecn,
            Self::Quic(quic) => quic.ecn,
        }
    }

    /// True if the last segment of a transfer may be shorter than the others. In flavours `paper` and `ns2` every
    /// segment is full-sized, like a packet of ns-2's agents.
    pub fn ends_short(&self) -> bool {
        self.congestion_control().is_some()
    }
}

impl From<TcpConfig> for SenderConfig {
    fn from(tcp: TcpConfig) -> Self {
        Self::Tcp(tcp)
    }
}

impl From<&TcpConfig> for SenderConfig {
    fn from(tcp: &TcpConfig) -> Self {
        Self::Tcp(*tcp)
    }
}

impl From<QuicConfig> for SenderConfig {
    fn from(quic: QuicConfig) -> Self {
        Self::Quic(quic)
    }
}

impl From<&QuicConfig> for SenderConfig {
    fn from(quic: &QuicConfig) -> Self {
        Self::Quic(*quic)
    }
}

impl From<&Self> for SenderConfig {
    fn from(config: &Self) -> Self {
        *config
    }
}
