//! What the RFCs leave open.

use super::{json, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crate::scenario::{Flavour, Profile, RateReduction, Rfc, Tcp, Variant};
use crossfade_core::SimTime;
use crossfade_transport as transport;
use crossfade_transport::{ReductionBound, RfcConfig, WindowRule};

/// RFC 1122 section 4.2.3.2: an acknowledgement is delayed by less than this.
const LONGEST_DELAYED_ACK: SimTime = SimTime::from_millis(500);

impl Tcp {
    /// Fills in the defaults of the table `rfc`, which the other flavours do not take.
    pub(super) fn resolve_rfc(
        &mut self,
        flavour: Flavour,
        variant: Variant,
        slot: SimTime,
    ) -> Result<RfcConfig, ScenarioError> {
        if flavour == Flavour::Rfc {
            return self.rfc.resolve(variant, slot);
        }
        let word = json(flavour);
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
}

impl Rfc {
    fn resolve(&mut self, variant: Variant, slot: SimTime) -> Result<RfcConfig, ScenarioError> {
        let sack = match variant {
            Variant::OldTahoe | Variant::Tahoe => {
                let problem = "must be one of reno, newreno, sack, cubic for flavour \"rfc\"";
                return Err(ScenarioError::value("tcp.variant", &json(variant), problem));
            }
            Variant::Reno | Variant::NewReno => false,
            Variant::Sack | Variant::Cubic => true,
        };
        let usual = match self.profile.get_or_insert(Profile::Recommended) {
            Profile::Recommended => RfcConfig::default(),
            Profile::Linux => RfcConfig::as_deployed(),
        };
        let timestamps = *self.timestamps.get_or_insert(usual.timestamps);
        let rack = *self.rack.get_or_insert(usual.rack && sack);
        let config = RfcConfig {
            window_rule: if variant == Variant::Cubic { WindowRule::Cubic } else { WindowRule::Reno },
            hystart: *self.hystart.get_or_insert(variant == Variant::Cubic),
            timestamps,
            delayed_ack: self.resolve_delayed_ack(usual.delayed_ack, slot)?,
            d_sack: *self.d_sack.get_or_insert(usual.d_sack),
            keep_sack_after_timeout: *self
                .keep_sack_after_timeout
                .get_or_insert(usual.keep_sack_after_timeout),
            rescue_retransmission: *self.rescue_retransmission.get_or_insert(usual.rescue_retransmission),
            rate_reduction: match self.rate_reduction.get_or_insert(RateReduction::Prr) {
                RateReduction::Immediate => transport::RateReduction::Immediate,
                RateReduction::PrrCrb => transport::RateReduction::Rfc6937(ReductionBound::Conservative),
                RateReduction::PrrSsrb => transport::RateReduction::Rfc6937(ReductionBound::SlowStart),
                RateReduction::Prr => transport::RateReduction::Rfc9937,
            },
            rack,
            tail_loss_probe: *self.tail_loss_probe.get_or_insert(rack),
            impatient: *self.impatient.get_or_insert(usual.impatient),
            f_rto: *self.f_rto.get_or_insert(usual.f_rto),
            eifel: *self.eifel.get_or_insert(timestamps),
            ecn: *self.ecn.get_or_insert(usual.ecn),
            restart_after_idle: *self.restart_after_idle.get_or_insert(usual.restart_after_idle),
            cwnd_validation: *self.cwnd_validation.get_or_insert(usual.cwnd_validation),
        };
        let needs = [
            ("rack", config.rack && !sack, "SACK (tcp.variant = \"sack\" or \"cubic\")"),
            ("tail_loss_probe", config.tail_loss_probe && !config.rack, "tcp.rfc.rack = true"),
            ("eifel", config.eifel && !config.timestamps, "tcp.rfc.timestamps = true"),
        ];
        match needs.into_iter().find(|(_, unmet, _)| *unmet) {
            Some((key, _, need)) => {
                Err(ScenarioError::value(format!("tcp.rfc.{key}"), &json(true), format!("needs {need}")))
            }
            None => Ok(config),
        }
    }

    fn resolve_delayed_ack(
        &mut self,
        usual: Option<SimTime>,
        slot: SimTime,
    ) -> Result<Option<SimTime>, ScenarioError> {
        let usual = Span::millis(usual.map_or(0, |time| time.as_nanos() / 1_000_000));
        let given = *self.delayed_ack.get_or_insert(usual);
        match time("tcp.rfc.delayed_ack", given, slot)? {
            SimTime::ZERO => Ok(None),
            time if time >= LONGEST_DELAYED_ACK => {
                let problem = "must be below 500 ms; 0 s acknowledges every segment at once";
                Err(ScenarioError::value("tcp.rfc.delayed_ack", &json(given), problem))
            }
            time => Ok(Some(time)),
        }
    }
}
