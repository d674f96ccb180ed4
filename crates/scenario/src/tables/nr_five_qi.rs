//! Standardised classes of quality of service (5QI) of an NR cell's bearers.

use super::base::json;
use crate::error::ScenarioError;
use crossfade_core::SimTime;
use crossfade_nr::BearerConfig;
use crossfade_nr::rlc::{RlcConfig, RlcMode};

/// The classes: number, default priority level (TS 23.501 table 5.7.4-1), discardTimer in ms, t-Reordering in ms, RLC. Timers are those of
/// srsRAN Project: `configs/qos.yml`, discardTimer of `include/srsran/cu_cp/cu_cp_configuration_helpers.h`.
const CLASSES: [(u32, u32, Option<u64>, u64, RlcConfig); 5] = [
    (1, 20, Some(100), 80, unacknowledged(50)),
    (2, 40, Some(150), 80, unacknowledged(50)),
    (
        5,
        10,
        Some(100),
        80,
        RlcConfig {
            mode: RlcMode::Acknowledged,
            sn_bits: 12,
            poll_pdus: Some(64),
            poll_bytes: Some(125_000),
            poll_retransmit: SimTime::from_millis(80),
            reassembly: SimTime::from_millis(80),
            status_prohibit: SimTime::from_millis(10),
            max_retransmissions: 4,
        },
    ),
    (7, 70, None, 80, unacknowledged(100)),
    (
        9,
        90,
        None,
        220,
        RlcConfig {
            mode: RlcMode::Acknowledged,
            sn_bits: 18,
            poll_pdus: Some(16),
            poll_bytes: None,
            poll_retransmit: SimTime::from_millis(20),
            reassembly: SimTime::from_millis(20),
            status_prohibit: SimTime::from_millis(10),
            max_retransmissions: 32,
        },
    ),
];

const fn unacknowledged(reassembly_ms: u64) -> RlcConfig {
    RlcConfig {
        mode: RlcMode::Unacknowledged,
        sn_bits: 12,
        poll_pdus: None,
        poll_bytes: None,
        poll_retransmit: SimTime::ZERO,
        reassembly: SimTime::from_millis(reassembly_ms),
        status_prohibit: SimTime::ZERO,
        max_retransmissions: 1,
    }
}

/// The priority level and the bearer of a class, which the table `key` gives.
pub(crate) fn five_qi(key: &str, number: u32) -> Result<(u32, BearerConfig), ScenarioError> {
    let class = CLASSES.iter().find(|(class, ..)| *class == number);
    let &(_, priority, discard_ms, reordering_ms, rlc) = class.ok_or_else(|| {
        let all = CLASSES.map(|(class, ..)| class.to_string()).join(", ");
        ScenarioError::value(key, &json(number), format!("must be one of {all}"))
    })?;
    let reordering = Some(SimTime::from_millis(reordering_ms));
    Ok((priority, BearerConfig { rlc, reordering, discard: discard_ms.map(SimTime::from_millis) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_sensitive_classes_discard_after_their_budget() {
        // Packet delay budgets of TS 23.501 table 5.7.4-1: 100 ms of 1, 150 ms of 2; lower numbers go first.
        let of = |number| five_qi("flows.x.five_qi", number).unwrap();
        for (number, budget_ms) in [(1, 100), (2, 150)] {
            let (priority, bearer) = of(number);
            assert_eq!(bearer.discard, Some(SimTime::from_millis(budget_ms)));
            assert!(bearer.rlc.mode == RlcMode::Unacknowledged && priority < of(9).0);
        }
        assert_eq!((of(9).1.discard, of(9).1.rlc.mode), (None, RlcMode::Acknowledged));
        let error = five_qi("flows.x.five_qi", 4).unwrap_err().to_string();
        assert_eq!(error, "flows.x.five_qi = 4: must be one of 1, 2, 5, 7, 9");
    }
}
