//! The TCP table.

use super::{json, positive_time};
use crate::error::ScenarioError;
use crate::quantity::{Size, Span};
use crate::scenario::{Flavour, Gate, Profile, Rto, Tcp, Variant};
use crossfade_core::SimTime;
use crossfade_sim::SenderGate;
use crossfade_transport as transport;
use crossfade_transport::{RtoConfig, RtoRule, TcpConfig};

/// The TCP table in the terms of the models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSetup {
    /// Both ends of a connection.
    pub config: TcpConfig,
    /// How the sender meets its link.
    pub gate: SenderGate,
    /// Bytes of application data in a segment.
    pub mss: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
}

/// RFC 2018 section 3: an acknowledgement has room for four blocks.
const MOST_SACK_BLOCKS: u32 = 4;

impl TcpSetup {
    /// Bytes of the longest acknowledgement on the wire; sizes are below 64 KiB each.
    pub(super) fn longest_ack(&self) -> u32 {
        self.ack_size + MOST_SACK_BLOCKS * self.sack_block_size
    }
}

impl Tcp {
    /// Fills in the defaults. `alone` says that the flow has a path of one hop to itself.
    pub(super) fn resolve(
        &mut self,
        packet_size: u32,
        slot: SimTime,
        alone: bool,
    ) -> Result<TcpSetup, ScenarioError> {
        let flavour = *self.flavour.get_or_insert(Flavour::Paper);
        let variant = self.variant.ok_or_else(|| {
            ScenarioError::missing("tcp.variant", "one of old-tahoe, tahoe, reno, newreno, sack, cubic")
        })?;
        let w_max = self.w_max.ok_or_else(|| {
            ScenarioError::missing("tcp.w_max", "the receiver's window in segments, such as 24")
        })?;
        let rfc = self.resolve_rfc(flavour, variant, slot)?;
        let usual = if flavour == Flavour::Rfc { f64::from(w_max).min(10.0) } else { 1.0 };
        let initial_window = *self.initial_window.get_or_insert(usual);
        if initial_window > f64::from(w_max) {
            let problem = format!("must be at most tcp.w_max = {w_max}");
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
            Gate::Slot => SenderGate::Slot,
            Gate::Queue => SenderGate::Queue,
        };
        let limited_transmit = self.resolve_limited_transmit(flavour, variant)?;
        let timestamps = flavour == Flavour::Rfc && rfc.timestamps;
        let mss = self.resolve_mss(flavour, timestamps, packet_size)?;
        let config = TcpConfig {
            flavour: match flavour {
                Flavour::Paper => transport::Flavour::Paper,
                Flavour::Ns2 => transport::Flavour::Ns2,
                Flavour::Rfc => transport::Flavour::Rfc,
            },
            variant: match variant {
                Variant::OldTahoe => transport::Variant::OldTahoe,
                Variant::Tahoe => transport::Variant::Tahoe,
                Variant::Reno => transport::Variant::Reno,
                Variant::NewReno => transport::Variant::NewReno,
                Variant::Sack | Variant::Cubic => transport::Variant::Sack,
            },
            w_max,
            initial_window,
            initial_ssthresh: *self.initial_ssthresh.get_or_insert(f64::from(w_max)),
            dupthresh: *self.dupthresh.get_or_insert(3),
            limited_transmit,
            rto: self.rto.resolve(flavour, self.rfc.profile, slot)?,
            segments: None,
            rfc,
        };
        let ack_size = self.ack_size.get_or_insert(Size(40 + timestamp_bytes(timestamps))).0;
        let sack_block_size = self.sack_block_size.get_or_insert(Size(8)).0;
        Ok(TcpSetup { config, gate, mss, ack_size, sack_block_size })
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

    fn resolve_mss(
        &mut self,
        flavour: Flavour,
        timestamps: bool,
        packet_size: u32,
    ) -> Result<u32, ScenarioError> {
        let usual = if flavour == Flavour::Ns2 { 0 } else { 40 + timestamp_bytes(timestamps) };
        let headers = *self.headers.get_or_insert(Size(usual));
        let payload = packet_size.saturating_sub(headers.0);
        if payload == 0 {
            let problem = format!("leaves no data in link.packet_size = \"{packet_size} B\"");
            return Err(ScenarioError::value("tcp.headers", &json(headers), problem));
        }
        let mss = *self.mss.get_or_insert(Size(payload));
        if mss.0 != payload {
            let problem =
                format!("with tcp.headers = \"{headers}\" must fill link.packet_size = \"{packet_size} B\"");
            return Err(ScenarioError::value("tcp.mss", &json(mss), problem));
        }
        Ok(payload)
    }
}

/// RFC 7323 section 3.2: the option has ten bytes, padded to twelve.
fn timestamp_bytes(timestamps: bool) -> u32 {
    if timestamps { 12 } else { 0 }
}

impl Rto {
    fn resolve(
        &mut self,
        flavour: Flavour,
        profile: Option<Profile>,
        slot: SimTime,
    ) -> Result<RtoConfig, ScenarioError> {
        let backoff = *self.backoff.get_or_insert(flavour != Flavour::Paper);
        let estimated = [("min", self.min), ("initial", self.initial), ("granularity", self.granularity)];
        let estimated =
            estimated.into_iter().find_map(|(name, given)| given.map(|_| format!("tcp.rto.{name}")));
        match (self.fixed, estimated) {
            (Some(_), Some(key)) => {
                let reason = "the timeout is either fixed or estimated";
                Err(ScenarioError::contradiction(&key, "tcp.rto.fixed", reason))
            }
            (None, Some(key)) if flavour == Flavour::Paper => {
                let reason = "flavour \"paper\" takes tcp.rto.fixed alone";
                Err(ScenarioError::contradiction(&key, "tcp.flavour", reason))
            }
            (None, None) if flavour == Flavour::Paper => {
                Err(ScenarioError::missing("tcp.rto.fixed", "the timeout, such as \"100 slots\""))
            }
            (Some(fixed), None) => self.resolve_fixed(fixed, backoff, slot),
            (None, _) => {
                let usual = match (flavour, profile) {
                    // RFC 6298 section 2: (2.1) and (2.4). Linux holds the term of the deviation, and not the
                    // whole, above 200 ms: what the clock's tick G does in (2.3).
                    (Flavour::Rfc, Some(Profile::Linux)) => [200, 1000, 200],
                    (Flavour::Rfc, _) => [1000, 1000, 1],
                    _ => [200, 3000, 10],
                };
                self.resolve_estimated(usual.map(Span::millis), backoff, slot)
            }
        }
    }

    fn resolve_fixed(
        &mut self,
        fixed: Span,
        backoff: bool,
        slot: SimTime,
    ) -> Result<RtoConfig, ScenarioError> {
        let timeout = positive_time("tcp.rto.fixed", fixed, slot)?;
        if timeout < slot {
            let problem = format!("must be at least a slot ({slot})");
            return Err(ScenarioError::value("tcp.rto.fixed", &json(fixed), problem));
        }
        if !backoff {
            if self.max.is_some() {
                let reason = "a fixed timeout that does not back off has no other maximum";
                return Err(ScenarioError::contradiction("tcp.rto.max", "tcp.rto.fixed", reason));
            }
            return Ok(RtoConfig { rule: RtoRule::Fixed(timeout), backoff, max: timeout });
        }
        let default = if timeout > SimTime::from_millis(60_000) { fixed } else { Span::millis(60_000) };
        let max = self.resolve_max(default, ("tcp.rto.fixed", timeout), slot)?;
        Ok(RtoConfig { rule: RtoRule::Fixed(timeout), backoff, max })
    }

    fn resolve_estimated(
        &mut self,
        [min, initial, granularity]: [Span; 3],
        backoff: bool,
        slot: SimTime,
    ) -> Result<RtoConfig, ScenarioError> {
        let min = positive_time("tcp.rto.min", *self.min.get_or_insert(min), slot)?;
        let initial = positive_time("tcp.rto.initial", *self.initial.get_or_insert(initial), slot)?;
        let granularity = *self.granularity.get_or_insert(granularity);
        let granularity = positive_time("tcp.rto.granularity", granularity, slot)?;
        let longest = [("tcp.rto.min", min), ("tcp.rto.initial", initial)];
        let mut max = SimTime::ZERO;
        for limit in longest {
            max = self.resolve_max(Span::millis(60_000), limit, slot)?;
        }
        Ok(RtoConfig { rule: RtoRule::Estimated { min, initial, granularity }, backoff, max })
    }

    /// The longest timeout, which must not be shorter than the one called `limit`.
    fn resolve_max(
        &mut self,
        default: Span,
        (limit, shortest): (&str, SimTime),
        slot: SimTime,
    ) -> Result<SimTime, ScenarioError> {
        let max = *self.max.get_or_insert(default);
        let time = positive_time("tcp.rto.max", max, slot)?;
        if time < shortest {
            let problem = format!("must be at least {limit} ({shortest})");
            return Err(ScenarioError::value("tcp.rto.max", &json(max), problem));
        }
        Ok(time)
    }
}
