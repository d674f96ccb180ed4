//! Standardised classes of quality of service (5QI) of an NR cell's bearers.

use super::base::json;
use crate::error::ScenarioError;
use crossfade_core::SimTime;
use crossfade_nr::rlc::{RlcConfig, RlcMode};
use crossfade_nr::{BearerConfig, LogicalChannel};

/// Resource type of a quality class (5QI). No rate is guaranteed here; delay-critical classes have no time for
/// retransmissions of RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource {
    Guaranteed,
    NotGuaranteed,
    DelayCritical,
}

use Resource::{DelayCritical, Guaranteed, NotGuaranteed};

/// Quality class (5QI): a line of TS 23.501 table 5.7.4-1.
#[derive(Clone, Copy, Debug)]
struct Class {
    number: u32,
    resource: Resource,
    /// Default priority level of the class; lower levels go first.
    priority: u32,
    /// Packet delay budget of the class in milliseconds.
    budget_ms: u64,
    /// Packet error rate of the class as an exponent of ten.
    loss_exponent: i32,
}

const fn class(number: u32, resource: Resource, priority: u32, budget_ms: u64, loss_exponent: i32) -> Class {
    Class { number, resource, priority, budget_ms, loss_exponent }
}

/// All standardised quality classes: TS 23.501 table 5.7.4-1 (Release 18), without burst volumes and averaging windows.
const CLASSES: [Class; 31] = [
    class(1, Guaranteed, 20, 100, -2),
    class(2, Guaranteed, 40, 150, -3),
    class(3, Guaranteed, 30, 50, -3),
    class(4, Guaranteed, 50, 300, -6),
    class(5, NotGuaranteed, 10, 100, -6),
    class(6, NotGuaranteed, 60, 300, -6),
    class(7, NotGuaranteed, 70, 100, -3),
    class(8, NotGuaranteed, 80, 300, -6),
    class(9, NotGuaranteed, 90, 300, -6),
    class(10, NotGuaranteed, 90, 1100, -6),
    class(65, Guaranteed, 7, 75, -2),
    class(66, Guaranteed, 20, 100, -2),
    class(67, Guaranteed, 15, 100, -3),
    class(69, NotGuaranteed, 5, 60, -6),
    class(70, NotGuaranteed, 55, 200, -6),
    class(71, Guaranteed, 56, 150, -6),
    class(72, Guaranteed, 56, 300, -4),
    class(73, Guaranteed, 56, 300, -8),
    class(74, Guaranteed, 56, 500, -8),
    class(76, Guaranteed, 56, 500, -4),
    class(79, NotGuaranteed, 65, 50, -2),
    class(80, NotGuaranteed, 68, 10, -6),
    class(82, DelayCritical, 19, 10, -4),
    class(83, DelayCritical, 22, 10, -4),
    class(84, DelayCritical, 24, 30, -5),
    class(85, DelayCritical, 21, 5, -5),
    class(86, DelayCritical, 18, 5, -4),
    class(87, DelayCritical, 25, 5, -3),
    class(88, DelayCritical, 25, 10, -3),
    class(89, DelayCritical, 25, 15, -4),
    class(90, DelayCritical, 25, 20, -4),
];

impl Class {
    /// Bearer of the class. RLC and t-Reordering of classes 1, 2, 5, 7 and 9 are those of srsRAN Project
    /// (`configs/qos.yml`). Another class takes those of the one among these five with equal loss tolerance, with
    /// timers no longer than its delay budget. No packet waits longer than the budget, except in classes 7, 9 and 10.
    fn bearer(self) -> BearerConfig {
        let Self { number, resource, budget_ms, loss_exponent, .. } = self;
        let is_patient = [7, 9, 10].contains(&number);
        // Times are limited to the delay budget of the class.
        let within = |ms: u64| SimTime::from_millis(if is_patient { ms } else { ms.min(budget_ms) });
        let unacknowledged = RlcConfig {
            mode: RlcMode::Unacknowledged,
            sn_bits: 12,
            poll_pdus: None,
            poll_bytes: None,
            poll_retransmit: SimTime::ZERO,
            reassembly: within(if number == 7 { 100 } else { 50 }),
            status_prohibit: SimTime::ZERO,
            max_retransmissions: 1,
        };
        let acknowledged = RlcConfig {
            mode: RlcMode::Acknowledged,
            poll_pdus: Some(64),
            poll_bytes: Some(125_000),
            poll_retransmit: within(80),
            reassembly: within(80),
            status_prohibit: SimTime::from_millis(10),
            max_retransmissions: 4,
            ..unacknowledged
        };
        let is_bulk = [9, 10].contains(&number);
        let rlc = if resource == DelayCritical || loss_exponent >= -3 {
            unacknowledged
        } else if is_bulk {
            RlcConfig {
                sn_bits: 18,
                poll_pdus: Some(16),
                poll_bytes: None,
                poll_retransmit: SimTime::from_millis(20),
                reassembly: SimTime::from_millis(20),
                max_retransmissions: 32,
                ..acknowledged
            }
        } else {
            acknowledged
        };
        BearerConfig {
            rlc,
            reordering: Some(within(if is_bulk { 220 } else { 80 })),
            discard: (!is_patient).then(|| SimTime::from_millis(budget_ms)),
            channel: LogicalChannel { priority: self.priority, ..LogicalChannel::default() },
        }
    }
}

/// Priority level and bearer of the quality class `number`, the value of `key`.
pub(crate) fn five_qi(key: &str, number: u32) -> Result<(u32, BearerConfig), ScenarioError> {
    let class = CLASSES.iter().find(|class| class.number == number).ok_or_else(|| {
        let all = CLASSES.map(|class| class.number.to_string()).join(", ");
        ScenarioError::value(key, &json(number), format!("must be one of TS 23.501: {all}"))
    })?;
    Ok((class.priority, class.bearer()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u32) -> (u32, BearerConfig) {
        five_qi("flows.x.five_qi", number).unwrap()
    }

    #[test]
    fn delay_sensitive_classes_discard_after_their_budget() {
        for (number, budget_ms) in [(1, 100), (2, 150), (3, 50), (65, 75), (79, 50), (85, 5), (90, 20)] {
            let (priority, bearer) = of(number);
            assert_eq!(bearer.discard, Some(SimTime::from_millis(budget_ms)), "{number}");
            assert!(bearer.rlc.mode == RlcMode::Unacknowledged && priority < of(9).0, "{number}");
        }
        assert_eq!((of(9).1.discard, of(9).1.rlc.mode), (None, RlcMode::Acknowledged));
        let error = five_qi("flows.x.five_qi", 11).unwrap_err().to_string();
        assert!(error.starts_with(
            "flows.x.five_qi = 11: must be one of TS 23.501: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65, "
        ));
    }

    /// Classes have the t-Reassembly, t-Reordering and maxRetxThreshold of srsRAN Project's `configs/qos.yml`.
    #[test]
    fn classes_of_the_reference_stack_have_its_timers() {
        for (number, reassembly_ms, reordering_ms, retransmissions) in [
            (1, 50, 80, None),
            (2, 50, 80, None),
            (5, 80, 80, Some(4)),
            (7, 100, 80, None),
            (9, 20, 220, Some(32)),
        ] {
            let (_, BearerConfig { rlc, reordering, .. }) = of(number);
            assert_eq!(rlc.reassembly, SimTime::from_millis(reassembly_ms), "{number}");
            assert_eq!(reordering, Some(SimTime::from_millis(reordering_ms)), "{number}");
            let is_acknowledged = rlc.mode == RlcMode::Acknowledged;
            assert_eq!(is_acknowledged.then_some(rlc.max_retransmissions), retransmissions, "{number}");
        }
    }

    #[test]
    fn classes_are_in_order_and_wait_no_longer_than_their_budget() {
        assert!(CLASSES.windows(2).all(|pair| pair[0].number < pair[1].number));
        for class in CLASSES {
            let BearerConfig { rlc, reordering, discard, .. } = class.bearer();
            let budget = SimTime::from_millis(class.budget_ms);
            let is_late_wanted = [7, 9, 10].contains(&class.number);
            assert_eq!(discard, (!is_late_wanted).then_some(budget), "{class:?}");
            assert!(rlc.reassembly <= budget && reordering.unwrap() <= budget, "{class:?}");
            let is_lossless = class.resource != DelayCritical && class.loss_exponent < -3;
            assert_eq!(rlc.mode == RlcMode::Acknowledged, is_lossless, "{class:?}");
        }
    }
}
