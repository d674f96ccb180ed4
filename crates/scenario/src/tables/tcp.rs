//! Keys of TCP senders and receivers: table `tcp`.

mod sizes;

use super::base::json;
use super::bbr::Bbr;
use super::congestion::{Congestion, ControlName};
use super::pacing::{Keys, Pacing};
use super::quic::Quic;
use super::rfc::{Profile, Rfc};
use super::rto::Rto;
use crate::error::ScenarioError;
use crate::quantity::{Size, Window, WindowLimit};
use crossfade_core::SimTime;
use crossfade_transport::{
    self as transport, CongestionControlKind, QuicConfig, RfcConfig, SackBlocks, SenderConfig, TcpConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP sender and its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tcp {
    /// Rule book of the sender: the RFCs, the idealised sender of the papers, or ns-2.
    #[schemars(extend("x-default" = "rfc; paper in a file of schema = 1"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavour: Option<Flavour>,

    /// Loss recovery of the sender. Flavour "quic" has a recovery of its own, and takes sack and cubic alone.
    #[schemars(extend("x-default" = "none; the key is required, except for flavour \"quic\": \"sack\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,

    /// Congestion control: a built-in one, or a Python or Rust file beside the scenario. Reno adds a segment per RTT
    /// and halves the window on a loss. CUBIC, the default of Linux, grows it with the cube of the time since the
    /// last loss, whatever the RTT, and reduces it by 30 %. BBR estimates bandwidth and minimum RTT of the path, and
    /// sends at that rate; DCTCP and Prague count marks. The built-in ones are taken by flavours "rfc" and "quic".
    #[schemars(extend("x-default" = "reno; cubic for variant \"cubic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<ControlName>,

    /// Pacing: what spreads a window over the RTT. A congestion control that sets a rate (bbr-v1, bbr-v3, prague)
    /// always paces by itself. Taken by flavours "rfc" and "quic".
    #[schemars(extend("x-default" = "off; internal for bbr-v1, bbr-v3, prague and flavour \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,

    /// Pacing rate in windows per RTT, while the window is below half of ssthresh.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-default" = "2, with pacing; 1.25 for flavour \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_ss_ratio: Option<f64>,

    /// Pacing rate in windows per RTT, for larger windows.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-default" = "1.2, with pacing; 1.25 for flavour \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_ca_ratio: Option<f64>,

    /// Number of segments that leave back to back when paced. The windows of BBR allow for three such bursts.
    #[schemars(range(min = 1, max = 127), extend("x-default" = "with pacing, the segments of 1/1024 s, at least 2; 1 for bbr-v1 below 1.2 Mbit/s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tso_segments: Option<u32>,

    /// Options of the congestion control BBR. Taken by congestion "bbr-v1" and "bbr-v3".
    #[serde(skip_serializing_if = "Bbr::is_absent")]
    pub bbr: Bbr,

    /// Receive window in segments or bytes.
    #[schemars(extend("x-default" = "64 KiB divided by tcp.mss"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_max: Option<Window>,

    /// Limit of the congestion window: segments, { per_hop = 0.357 }, or "unlimited". With per_hop it is that many
    /// segments for each hop there and back in a mesh, by the routes at the beginning of the connection.
    #[schemars(extend("x-default" = "none: only tcp.w_max limits the window"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_limit: Option<WindowLimit>,

    /// Number of duplicate ACKs that trigger a fast retransmit (the papers' K). Flavour "quic" has
    /// tcp.quic.packet_threshold instead.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 3))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dupthresh: Option<u32>,

    /// Initial congestion window in segments; at most w_max.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = "1; 10 for flavours \"rfc\" (RFC 6928) and \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<f64>,

    /// Initial slow-start threshold in segments.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = "tcp.w_max"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<f64>,

    /// Limited transmit: whether the first duplicate ACKs release new segments (RFC 3042).
    #[schemars(extend("x-default" = "true, but false for flavour \"paper\" and variant \"old-tahoe\"; not taken by flavour \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,

    /// Maximum segment size in bytes: link.packet_size less tcp.headers.
    #[schemars(extend("x-default" = "link.packet_size - tcp.headers"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,

    /// Header bytes in a data packet. QUIC: IP 20, UDP 8, short header 1, connection id 8, packet number 2, tag 16,
    /// STREAM frame 8.
    #[schemars(extend("x-default" = "40 B; 0 B for flavour \"ns2\"; 52 B for flavour \"rfc\" with timestamps; 63 B for flavour \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,

    /// Size of an ACK on the wire in bytes, without SACK blocks. QUIC: the headers of a data packet without the STREAM
    /// frame, and an ACK frame of 10 bytes with one range, 16 with ECN counts.
    #[schemars(extend("x-default" = "40 B; 52 B for flavour \"rfc\" with timestamps; 8 B more with tcp.rfc.accurate_ecn_option; 65 B for flavour \"quic\", 71 B with ECN"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_size: Option<Size>,

    /// Bytes that each SACK block, or further QUIC range, adds to an ACK.
    #[schemars(extend("x-default" = "8 B; 4 B for flavour \"quic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_block_size: Option<Size>,

    /// Gate of the sender: it waits for an idle link, or fills the link's queue.
    #[schemars(extend("x-default" = "slot for flavour \"paper\"; queue for the others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,

    /// Retransmission timeout: fixed, or estimated from min, initial and granularity. Flavour "quic" has none.
    pub rto: Rto,

    /// Options that the RFCs leave open. Taken by flavour "rfc".
    #[serde(skip_serializing_if = "Rfc::is_absent")]
    pub rfc: Rfc,

    /// Options that QUIC's recovery leaves open. Taken by flavour "quic".
    #[serde(skip_serializing_if = "Quic::is_absent")]
    pub quic: Quic,
}

/// Rule book of a sender: the RFCs, the idealised sender of a paper, or ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// The idealised sender of Zorzi, Chockalingam and Rao (IEEE JSAC 18(7), 2000).
    Paper,
    /// Agents of ns-2.35, reproduced row by row.
    Ns2,
    /// TCP as the RFCs specify it; what they leave open is in tcp.rfc.
    Rfc,
    /// Recovery of RFC 9002 over one stream, neither TCP nor all of QUIC; its options are in tcp.quic.
    Quic,
}

/// Loss recovery of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Timeouts are the only loss recovery.
    #[serde(rename = "old-tahoe")]
    OldTahoe,
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery of a single loss.
    Reno,
    /// Fast recovery that answers partial acknowledgements.
    NewReno,
    /// Recovery driven by selective acknowledgements.
    Sack,
    /// SACK with congestion "cubic", as Linux sends by default; reno, newreno and sack grow their window like Reno.
    /// Taken by flavours "rfc" and "quic".
    Cubic,
}

/// Gate of a sender: it waits for an idle link, or fills the link's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// One packet per packet time, nothing queued: the sender waits for an idle link.
    Slot,
    /// Whatever the window allows enters the link's queue at once.
    Queue,
}

/// Resolved TCP keys of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSetup {
    /// Configuration of both ends of a connection.
    pub config: SenderConfig,
    /// Gate of the sender: it waits for an idle link, or fills the link's queue.
    pub gate: Gate,
    /// True if the handshake measures the first RTT.
    pub handshake: bool,
    /// Number of bytes of application data in a segment.
    pub mss: u32,
    /// Size of an acknowledgement on the wire in bytes, without SACK blocks.
    pub ack_size: u32,
    /// Number of bytes that each SACK block (or further QUIC range) adds to an acknowledgement.
    pub sack_block_size: u32,
}

impl TcpSetup {
    /// Sets the RTT that the handshake measures to `rtt`, the idle RTT of the path, if the handshake measures one.
    pub(crate) fn shake_hands(&mut self, rtt: SimTime) {
        *self.config.handshake_rtt() = (self.handshake && rtt > SimTime::ZERO).then_some(rtt);
    }

    /// Size in bytes of the longest acknowledgement on the wire; both parts are below 64 KiB.
    pub(crate) fn longest_ack(&self) -> u32 {
        let more = self.config.quic().map_or(SackBlocks::MAX as u32, |quic| quic.ack_ranges - 1);
        self.ack_size + more * self.sack_block_size
    }
}

impl Tcp {
    /// Fills in the defaults of the TCP keys. `alone` is true for a flow that has a path of one hop to itself;
    /// `round_trip_hops` is the number of hops of the round trip in a mesh.
    pub(crate) fn resolve(
        &mut self,
        packet_size: u32,
        slot: SimTime,
        alone: bool,
        round_trip_hops: Option<u32>,
    ) -> Result<TcpSetup, ScenarioError> {
        let flavour = *self.flavour.get_or_insert(Flavour::Rfc);
        if flavour == Flavour::Quic {
            self.variant.get_or_insert(Variant::Sack);
        }
        let variant = self.variant.ok_or_else(|| {
            ScenarioError::missing("tcp.variant", "one of old-tahoe, tahoe, reno, newreno, sack, cubic")
        })?;
        let mut config = self.resolve_sender(flavour, variant, slot)?;
        let w_max = self.resolve_w_max(flavour, packet_size)?;
        let w_max = self.limited(w_max, round_trip_hops)?;
        let is_modern = matches!(flavour, Flavour::Rfc | Flavour::Quic);
        let usual = if is_modern { f64::from(w_max).min(10.0) } else { 1.0 };
        let initial_window = *self.initial_window.get_or_insert(usual);
        if initial_window > f64::from(w_max) {
            let key = if self.cwnd_limit.is_some() { "the window" } else { "tcp.w_max" };
            let problem = format!("must be at most {key} = {w_max}");
            return Err(ScenarioError::value("tcp.initial_window", &json(initial_window), problem));
        }
        let usual = if flavour == Flavour::Paper && alone { Gate::Slot } else { Gate::Queue };
        let gate = match self.gate.get_or_insert(usual) {
            Gate::Slot if !alone => {
                let reason = "a slot is for one flow of TCP over one hop, without access delay";
                return Err(ScenarioError::value(
                    "tcp.gate",
                    &json(Gate::Slot),
                    format!("must be queue; {reason}"),
                ));
            }
            gate => *gate,
        };
        if let SenderConfig::Tcp(tcp) = &mut config {
            self.resolve_duplicates(tcp, flavour, variant, slot)?;
        }
        let mss = self.resolve_mss(flavour, packet_size)?;
        let control = config.congestion_control().unwrap_or(CongestionControlKind::Reno);
        let bbr = self.bbr.resolve(control, mss, slot)?;
        if bbr.ecn_max_rtt.is_some() && !config.ecn() {
            let needs = if flavour == Flavour::Quic {
                "needs tcp.quic.ecn = true"
            } else {
                "needs tcp.rfc.ecn = true"
            };
            return Err(ScenarioError::value("tcp.bbr.ecn", &json(true), needs));
        }
        let pacing = self.resolve_pacing(control, gate)?;
        let initial_ssthresh = *self.initial_ssthresh.get_or_insert(f64::from(w_max));
        let config = match config {
            SenderConfig::Tcp(tcp) => {
                let rfc = tcp.rfc;
                let growth_acks = rfc.growth_acks.map(|_| mss);
                let accurate_ecn_option = rfc.accurate_ecn_option.map(|_| mss);
                let rfc = RfcConfig { pacing, bbr, growth_acks, accurate_ecn_option, ..rfc };
                TcpConfig { w_max, initial_window, initial_ssthresh, rfc, ..tcp }.into()
            }
            SenderConfig::Quic(quic) => {
                QuicConfig { w_max, initial_window, initial_ssthresh, pacing, bbr, ..quic }.into()
            }
        };
        let usual = self.usual_ack_sizes(flavour);
        let ack_size = self.ack_size.get_or_insert(usual[0]).0;
        let sack_block_size = self.sack_block_size.get_or_insert(usual[1]).0;
        let handshake = self.rfc.handshake.or(self.quic.handshake) == Some(true);
        Ok(TcpSetup { config, gate, handshake, mss, ack_size, sack_block_size })
    }

    /// Fills in the defaults of the flavour's table (`rfc` or `quic`), which the other flavours do not take; windows
    /// are filled in later.
    fn resolve_sender(
        &mut self,
        flavour: Flavour,
        variant: Variant,
        slot: SimTime,
    ) -> Result<SenderConfig, ScenarioError> {
        let rules = match flavour {
            Flavour::Paper => transport::Flavour::Paper,
            Flavour::Ns2 => transport::Flavour::Ns2,
            Flavour::Rfc => transport::Flavour::Rfc,
            Flavour::Quic => return self.resolve_quic(variant, slot).map(SenderConfig::from),
        };
        let recovery = match variant {
            Variant::OldTahoe => transport::Variant::OldTahoe,
            Variant::Tahoe => transport::Variant::Tahoe,
            Variant::Reno => transport::Variant::Reno,
            Variant::NewReno => transport::Variant::NewReno,
            Variant::Sack | Variant::Cubic => transport::Variant::Sack,
        };
        let rfc = self.resolve_rfc(flavour, variant, slot)?;
        Ok(TcpConfig { rfc, ..TcpConfig::new(rules, recovery, 1) }.into())
    }

    fn resolve_rfc(
        &mut self,
        flavour: Flavour,
        variant: Variant,
        slot: SimTime,
    ) -> Result<RfcConfig, ScenarioError> {
        if !self.quic.is_absent() {
            let problem = format!("needs tcp.flavour = \"quic\", not {}", json(flavour));
            return Err(ScenarioError::value("tcp.quic", &json(&self.quic), problem));
        }
        if flavour == Flavour::Rfc {
            let sack = match variant {
                Variant::OldTahoe | Variant::Tahoe => {
                    let problem = "must be one of reno, newreno, sack, cubic for flavour \"rfc\"";
                    return Err(ScenarioError::value("tcp.variant", &json(variant), problem));
                }
                Variant::Reno | Variant::NewReno => false,
                Variant::Sack | Variant::Cubic => true,
            };
            let control = self.resolve_congestion(variant)?.kind();
            return self.rfc.resolve(sack, control, self.counts_marks(control), slot);
        }
        let word = json(flavour);
        if let Some(congestion @ ControlName::BuiltIn(_)) = &self.congestion {
            let problem = format!("needs tcp.flavour = \"rfc\", not {word}");
            return Err(ScenarioError::value("tcp.congestion", &json(congestion), problem));
        }
        if variant == Variant::Cubic {
            let problem = format!("needs tcp.flavour = \"rfc\", not {word}");
            return Err(ScenarioError::value("tcp.variant", &json(variant), problem));
        }
        if !self.rfc.is_absent() {
            let reason = format!("flavour {word} leaves nothing open");
            return Err(ScenarioError::contradiction("tcp.rfc", "tcp.flavour", reason));
        }
        Ok(RfcConfig::default())
    }

    /// Fills in the defaults of the table `quic`, and refuses keys that only TCP has.
    fn resolve_quic(&mut self, variant: Variant, slot: SimTime) -> Result<QuicConfig, ScenarioError> {
        if !matches!(variant, Variant::Sack | Variant::Cubic) {
            let problem = "must be sack or cubic for flavour \"quic\", or left out";
            return Err(ScenarioError::value("tcp.variant", &json(variant), problem));
        }
        for (key, given, instead) in [
            ("dupthresh", self.dupthresh.map(json), "has tcp.quic.packet_threshold instead"),
            ("limited_transmit", self.limited_transmit.map(json), "counts no duplicates"),
        ] {
            if let Some(value) = given {
                let problem = format!("flavour \"quic\" {instead}");
                return Err(ScenarioError::value(format!("tcp.{key}"), &value, problem));
            }
        }
        if self.rto != Rto::default() {
            let reason = "flavour \"quic\" has probe timeouts, which follow from the round trip (RFC 9002 section 6.2)";
            return Err(ScenarioError::contradiction("tcp.rto", "tcp.flavour", reason));
        }
        if !self.rfc.is_absent() {
            let reason = "flavour \"quic\" has tcp.quic instead";
            return Err(ScenarioError::contradiction("tcp.rfc", "tcp.flavour", reason));
        }
        let control = self.resolve_congestion(variant)?.kind();
        self.quic.resolve(control, self.counts_marks(control), slot)
    }

    /// Fills in the threshold of duplicate ACKs and the retransmission timeout.
    fn resolve_duplicates(
        &mut self,
        tcp: &mut TcpConfig,
        flavour: Flavour,
        variant: Variant,
        slot: SimTime,
    ) -> Result<(), ScenarioError> {
        tcp.dupthresh = *self.dupthresh.get_or_insert(3);
        tcp.limited_transmit = self.resolve_limited_transmit(flavour, variant)?;
        let usual_rto = match (flavour, self.rfc.profile) {
            (Flavour::Paper, _) => None,
            // RFC 6298 section 2, rules (2.1) and (2.4). Linux holds the deviation term, not the whole timeout, above
            // 200 ms, which the clock granularity G of (2.3) reproduces.
            (Flavour::Rfc, Some(Profile::Linux)) => Some([200, 1000, 200]),
            (Flavour::Rfc, _) => Some([1000, 1000, 1]),
            (Flavour::Ns2 | Flavour::Quic, _) => Some([200, 3000, 10]),
        };
        tcp.rto = self.rto.resolve(usual_rto, slot)?;
        Ok(())
    }

    fn resolve_pacing(
        &mut self,
        control: CongestionControlKind,
        gate: Gate,
    ) -> Result<Option<transport::Pacing>, ScenarioError> {
        let keys = Keys {
            pacing: &mut self.pacing,
            ss_ratio: &mut self.pacing_ss_ratio,
            ca_ratio: &mut self.pacing_ca_ratio,
            tso_segments: self.tso_segments,
        };
        let is_quic = self.flavour == Some(Flavour::Quic);
        if !is_quic && self.flavour != Some(Flavour::Rfc) {
            return keys.refuse("needs tcp.flavour = \"rfc\" or \"quic\"").map(|()| None);
        }
        let pacing = keys.resolve(control.sets_rate(), is_quic)?;
        if pacing.is_some() && gate == Gate::Slot {
            let reason = "a paced sender waits for its own clock";
            return Err(ScenarioError::contradiction("tcp.gate", "pacing", reason));
        }
        Ok(pacing)
    }

    /// True if the congestion control counts ECN marks itself.
    fn counts_marks(&self, control: CongestionControlKind) -> bool {
        match control {
            CongestionControlKind::Dctcp | CongestionControlKind::Prague => true,
            CongestionControlKind::BbrV3 => self.bbr.ecn == Some(true),
            _ => false,
        }
    }

    /// Congestion control of the sender. Usual values of the key are omitted, so that a sender with them has the
    /// results of one without the key.
    fn resolve_congestion(&mut self, variant: Variant) -> Result<Congestion, ScenarioError> {
        let usual = if variant == Variant::Cubic { Congestion::Cubic } else { Congestion::Reno };
        self.congestion.take_if(|given| *given == ControlName::BuiltIn(usual));
        match &self.congestion {
            Some(_) if variant == Variant::Cubic => {
                let reason = "variant \"cubic\" is SACK with CUBIC's window; give variant \"sack\"";
                Err(ScenarioError::contradiction("tcp.congestion", "tcp.variant", reason))
            }
            Some(ControlName::BuiltIn(other)) => Ok(*other),
            Some(ControlName::Custom(_)) | None => Ok(usual),
        }
    }

    fn resolve_limited_transmit(
        &mut self,
        flavour: Flavour,
        variant: Variant,
    ) -> Result<bool, ScenarioError> {
        let possible = flavour != Flavour::Paper && variant != Variant::OldTahoe;
        let wanted = *self.limited_transmit.get_or_insert(possible);
        if wanted && flavour == Flavour::Paper {
            let reason = "the sender of flavour \"paper\" sends nothing on a duplicate acknowledgement";
            return Err(ScenarioError::contradiction("tcp.limited_transmit", "tcp.flavour", reason));
        }
        if wanted && !possible {
            let reason = "variant \"old-tahoe\" takes no notice of duplicate acknowledgements";
            return Err(ScenarioError::contradiction("tcp.limited_transmit", "tcp.variant", reason));
        }
        Ok(wanted)
    }
}
