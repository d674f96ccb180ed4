//! Random operations that drive congestion controls and recoveries.

use proptest::prelude::*;

/// Next operation. Numbers are taken modulo the number of possibilities.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Up to this many segments leave.
    Sent(u64),
    /// This many of the oldest segments in flight arrive, and the acknowledgements return.
    Acked(u64),
    /// A segment in the middle arrives.
    Sacked(u64),
    /// A segment is lost.
    Lost(u64),
    /// The oldest segment arrives with a congestion mark.
    Marked,
    /// This many nanoseconds pass.
    TimePasses(u64),
    /// Time passes until the retransmission timer expires.
    Timeout,
    /// The timer expires, and then everything in flight arrives after all.
    Spurious,
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let span = prop_oneof![8 => 0u64..200_000_000, 1 => any::<u64>()];
    let op = prop_oneof![
        6 => (1u64..50).prop_map(Op::Sent),
        6 => (1u64..20).prop_map(Op::Acked),
        1 => any::<u64>().prop_map(Op::Acked),
        2 => any::<u64>().prop_map(Op::Sacked),
        1 => any::<u64>().prop_map(Op::Lost),
        1 => Just(Op::Marked),
        3 => span.prop_map(Op::TimePasses),
        1 => Just(Op::Timeout),
        1 => Just(Op::Spurious),
    ];
    prop::collection::vec(op, 0..300)
}
