//! What a sender and its receiver are told at the start, TCP's or QUIC's.

use super::{CongestionControlKind, Flavour, QuicConfig, TcpConfig};
use crossfade_core::SimTime;

/// Both ends of a connection: one rule book each, and nothing of the other's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderConfig {
    /// TCP.
    Tcp(TcpConfig),
    /// QUIC's recovery over one stream.
    Quic(QuicConfig),
}

impl SenderConfig {
    /// TCP's, if it is TCP.
    pub fn tcp(&self) -> Option<&TcpConfig> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Quic(_) => None,
        }
    }

    /// QUIC's, if it is QUIC.
    pub fn quic(&self) -> Option<&QuicConfig> {
        match self {
            Self::Tcp(_) => None,
            Self::Quic(quic) => Some(quic),
        }
    }

    /// The receiver's window, or the stream's credit, in segments.
    pub fn w_max(&self) -> u32 {
        match self {
            Self::Tcp(TcpConfig { w_max, .. }) | Self::Quic(QuicConfig { w_max, .. }) => *w_max,
        }
    }

    /// The congestion window and the slow-start threshold at the start, in segments.
    pub fn initial_windows(&self) -> [f64; 2] {
        match self {
            Self::Tcp(TcpConfig { initial_window, initial_ssthresh, .. })
            | Self::Quic(QuicConfig { initial_window, initial_ssthresh, .. }) => {
                [*initial_window, *initial_ssthresh]
            }
        }
    }

    /// How many segments the application has to send; `None` is a source that never runs dry.
    pub fn segments(&self) -> Option<u64> {
        match self {
            Self::Tcp(TcpConfig { segments, .. }) | Self::Quic(QuicConfig { segments, .. }) => *segments,
        }
    }

    /// This configuration for a transfer of so many segments.
    #[must_use]
    pub fn with_segments(self, segments: u64) -> Self {
        let segments = Some(segments);
        match self {
            Self::Tcp(tcp) => Self::Tcp(TcpConfig { segments, ..tcp }),
            Self::Quic(quic) => Self::Quic(QuicConfig { segments, ..quic }),
        }
    }

    /// The round trip of the handshake, if it is measured; flavours `paper` and `ns2` do not look at it.
    pub fn handshake_rtt(&mut self) -> &mut Option<SimTime> {
        match self {
            Self::Tcp(tcp) => &mut tcp.rfc.handshake_rtt,
            Self::Quic(quic) => &mut quic.handshake_rtt,
        }
    }

    /// The congestion control that it names; flavours `paper` and `ns2` have one of their own.
    pub fn congestion_control(&self) -> Option<CongestionControlKind> {
        match self {
            Self::Tcp(tcp) => (tcp.flavour == Flavour::Rfc).then_some(tcp.rfc.congestion_control),
            Self::Quic(quic) => Some(quic.congestion_control),
        }
    }

    /// For how many segments that arrive in order an acknowledgement stands: two where they are delayed (RFC 5681 section 4.2), and
    /// one more than QUIC's threshold.
    pub fn segments_per_ack(&self) -> u32 {
        match self {
            Self::Tcp(tcp) => {
                let is_delayed = tcp.flavour == Flavour::Rfc && tcp.rfc.delayed_ack.is_some();
                1 + u32::from(is_delayed)
            }
            Self::Quic(quic) => quic.ack_eliciting_threshold.saturating_add(1),
        }
    }

    /// Whether data may be marked instead of dropped.
    pub fn ecn(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.flavour == Flavour::Rfc && tcp.rfc.ecn,
            Self::Quic(quic) => quic.ecn,
        }
    }

    /// Whether the last segment of a transfer is as long as its data. In flavours `paper` and `ns2` a segment is always whole, as
    /// a packet of ns-2's agents is.
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
