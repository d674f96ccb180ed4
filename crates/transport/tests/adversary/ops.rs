//! Random sequences of actions of the adversarial network.

use crate::adversary::Op;
use proptest::prelude::*;

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Poll),
        4 => any::<usize>().prop_map(Op::DeliverData),
        1 => any::<usize>().prop_map(Op::MarkData),
        1 => any::<usize>().prop_map(Op::RepeatData),
        1 => Just(Op::DelayedAck),
        1 => any::<usize>().prop_map(Op::LoseData),
        4 => any::<usize>().prop_map(Op::DeliverAck),
        1 => any::<usize>().prop_map(Op::LoseAck),
        1 => any::<usize>().prop_map(Op::RepeatAck),
        2 => (0u64..50_000).prop_map(Op::Wait),
        1 => Just(Op::WaitForTimeout),
        1 => (1u64..8).prop_map(Op::Write),
    ];
    prop::collection::vec(op, 0..400)
}
