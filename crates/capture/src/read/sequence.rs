//! Order of captured packets with equal times.
//!
//! The capture's clock cannot distinguish which of them left first. Where several processors wrote the file, such
//! packets may be out of order in the file although they left in order of their sequence numbers.

use super::headers::{FlowKey, Kind};
use super::observed::Seen;

/// Sorts new data packets of a flow with equal times by sequence number. Retransmissions and acknowledgements keep
/// their places.
pub(super) fn in_sequence(seen: &mut [Seen], flow: FlowKey) {
    let mut next: Option<u32> = None;
    let mut from = 0;
    while from < seen.len() {
        let time_ns = seen[from].time_ns;
        let to = from + seen[from..].iter().take_while(|of| of.time_ns == time_ns).count();
        let data = (from..to).filter_map(|at| Some((at, numbers(&seen[at], flow)?)));
        let first = next;
        let is_new = |(start, _): &(u32, u32)| first.is_none_or(|next| ahead(*start, next) >= 0);
        let new: Vec<(usize, (u32, u32))> = data.filter(|(_, numbers)| is_new(numbers)).collect();
        let Some((_, (origin, _))) = new.first().copied() else {
            from = to;
            continue;
        };
        let mut sorted: Vec<Seen> = new.iter().map(|(at, _)| seen[*at]).collect();
        sorted.sort_by_key(|of| numbers(of, flow).map(|(start, _)| ahead(start, origin)));
        for ((at, _), of) in new.iter().zip(sorted) {
            seen[*at] = of;
        }
        let origin = next.unwrap_or(origin);
        next = new.iter().map(|(_, (_, end))| *end).max_by_key(|end| ahead(*end, origin)).or(next);
        from = to;
    }
}

/// First sequence number of a data packet of the flow, and one past its last, modulo 2^32; `None` for other packets.
fn numbers(of: &Seen, flow: FlowKey) -> Option<(u32, u32)> {
    let packet = of.packet;
    if packet.flow != flow {
        return None;
    }
    match packet.kind {
        Kind::Tcp(tcp) if packet.payload > 0 => Some((tcp.seq, tcp.seq.wrapping_add(packet.payload))),
        // A packet number of 16 bits in the upper half wraps around like a sequence number of 32 bits.
        Kind::Quic { quic, .. } if quic.ranges.1 == 0 => {
            let number = u32::from(quic.number) << 16;
            Some((number, number.wrapping_add(1 << 16)))
        }
        _ => None,
    }
}

/// Signed distance of `number` from `of` modulo 2^32; they must be less than 2^31 apart.
fn ahead(number: u32, of: u32) -> i32 {
    number.wrapping_sub(of).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::headers::{Address, Packet, Quic, Tcp};

    const FLOW: FlowKey =
        FlowKey { source: (Address([1; 16]), 5), destination: (Address([2; 16]), 9), is_tcp: true };

    fn segment(time_ns: i64, seq: u32) -> Seen {
        let kind = Kind::Tcp(Tcp { seq, ..Tcp::default() });
        Seen { time_ns, packet: Packet { flow: FLOW, bytes: 1040, payload: 1000, kind } }
    }

    fn acknowledgement(time_ns: i64, ack: u32) -> Seen {
        let kind = Kind::Tcp(Tcp { ack, ..Tcp::default() });
        Seen { time_ns, packet: Packet { flow: FLOW.reversed(), bytes: 40, payload: 0, kind } }
    }

    fn sorted(mut of: Vec<Seen>) -> Vec<Seen> {
        in_sequence(&mut of, FLOW);
        of
    }

    #[test]
    fn segments_of_one_time_are_put_in_order_of_numbers_that_wrap() {
        let number = |index: u32| (u32::MAX - 2499).wrapping_add(index * 1000);
        let ack = acknowledgement(7, 1);
        let of = [0, 2, 1, 3].map(|index| segment(7, number(index)));
        let later = segment(8, number(5));
        let found = sorted(vec![of[0], of[1], ack, of[2], of[3], later, segment(9, number(4))]);
        assert_eq!(found, [of[0], of[2], ack, of[1], of[3], later, segment(9, number(4))]);
    }

    #[test]
    fn retransmissions_keep_their_places() {
        let of = vec![segment(1, 1), segment(1, 1001), segment(2, 2001), segment(2, 1), segment(2, 1001)];
        assert_eq!(sorted(of.clone()), of);
    }

    #[test]
    fn numbers_of_quic_have_16_bits() {
        let packet = |number: u16| {
            let kind = Kind::Quic { fingerprint: 0, quic: Quic { number, ..Quic::default() } };
            Seen { time_ns: 3, packet: Packet { flow: FLOW, bytes: 1200, payload: 1172, kind } }
        };
        let found = sorted([65_535, 65_534, 1, 0].map(packet).to_vec());
        assert_eq!(found, [65_534, 65_535, 0, 1].map(packet));
    }
}
