//! Operations, drawn at random.

use proptest::prelude::*;

/// What happens next. Numbers are taken modulo what is possible.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Up to so many segments leave.
    Sent(u64),
    /// So many of the oldest segments under way arrive, and the acknowledgements come back.
    Acked(u64),
    /// One in the middle arrives.
    Sacked(u64),
    /// One is lost.
    Lost(u64),
    /// The oldest arrives with a congestion mark.
    Marked,
    /// So many nanoseconds pass.
    TimePasses(u64),
    /// Time passes until the retransmission timer expires.
    Timeout,
    /// The same, and then everything under way arrives after all.
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
