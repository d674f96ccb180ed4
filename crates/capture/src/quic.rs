//! QUIC connection of a capture: turns packets and acknowledgements into UDP datagrams.

use crate::packet::{Direction, Endpoints, IpVersion, Packet, UDP_HEADER};
use crossfade_transport::{Ack, AckFrame, Segment};
use etherparse::IpEcn;

/// First byte of a QUIC short header: the fixed bit, and a packet number of two bytes (RFC 9000 section 17.3.1).
const SHORT_HEADER: u8 = 0x41;
/// Type of a QUIC STREAM frame with an offset and a length (RFC 9000 section 19.8).
const STREAM: u8 = 0x0e;
/// Types of a QUIC ACK frame without and with ECN counts (RFC 9000 section 19.3).
const ACK: [u8; 2] = [0x02, 0x03];
/// Unit of the ACK delay in nanoseconds: 2^3 microseconds (RFC 9000 section 18.2).
const DELAY_UNIT: u64 = 8_000;

/// State of a captured QUIC connection. Packets are unencrypted: numbers and frames in the clear, the authentication
/// tag all zeros.
#[derive(Clone, Debug)]
pub(crate) struct QuicFlow {
    endpoints: Endpoints,
    /// Connection id of both ends: the flow's number.
    id: [u8; 8],
    mss: u32,
    ecn: bool,
    /// IPv4 identification of the next packet to the receiver (index 0) and to the sender (index 1).
    identification: [u16; 2],
    /// Packet number of the receiver's next packet.
    next_ack: u64,
}

impl QuicFlow {
    pub(crate) fn new(version: IpVersion, flow: u32, mss: u32, ecn: bool) -> Self {
        Self {
            endpoints: Endpoints::new(version, flow),
            id: u64::from(flow).to_be_bytes(),
            mss,
            ecn,
            identification: [0; 2],
            next_ack: 0,
        }
    }

    /// Datagram of a data packet; `bytes` is its IP length.
    pub(crate) fn data(&mut self, bytes: u32, packet: &Segment) -> Packet {
        let mut payload = self.header(packet.number);
        payload.push(STREAM);
        varint(&mut payload, 0);
        varint(&mut payload, packet.seq.saturating_mul(self.mss.into()));
        // The data and the authentication tag follow the two bytes of the length.
        let length = bytes.saturating_sub(self.overhead() + payload.len() as u32 + 2).min(self.mss);
        payload.extend((0x4000 | length as u16).to_be_bytes());
        let ecn = match packet.ecn_capable && self.ecn {
            true if packet.l4s => IpEcn::Ect1,
            true => IpEcn::Ect0,
            false => IpEcn::NotEct,
        };
        self.packet(Direction::ToReceiver, ecn, bytes, &payload)
    }

    /// Datagram of an acknowledgement; `bytes` is its IP length.
    pub(crate) fn ack(&mut self, bytes: u32, ack: &Ack) -> Packet {
        let mut payload = self.header(self.next_ack);
        self.next_ack += 1;
        payload.push(ACK[usize::from(self.ecn)]);
        if let Some(frame) = &ack.frame {
            ack_frame(&mut payload, frame);
            if self.ecn {
                // The model does not count unmarked packets: the counts of ECT(0) and ECT(1) are written as 0.
                for count in [0, 0, frame.ce.into()] {
                    varint(&mut payload, count);
                }
            }
        }
        self.packet(Direction::ToSender, IpEcn::NotEct, bytes, &payload)
    }

    fn header(&self, number: u64) -> Vec<u8> {
        let mut payload = Vec::with_capacity(32);
        payload.push(SHORT_HEADER);
        payload.extend(self.id);
        payload.extend((number as u16).to_be_bytes());
        payload
    }

    /// Bytes of the IP and UDP headers.
    fn overhead(&self) -> u32 {
        self.endpoints.ip_header_len() + UDP_HEADER
    }

    /// Datagram with an IP length of `bytes`, or longer if headers and `payload` do not fit in it.
    fn packet(&mut self, direction: Direction, ecn: IpEcn, bytes: u32, payload: &[u8]) -> Packet {
        let zeros = bytes.saturating_sub(self.overhead() + payload.len() as u32);
        let identification = &mut self.identification[direction as usize];
        let headers = self.endpoints.datagram(direction, ecn, *identification, payload, zeros);
        *identification = identification.wrapping_add(1);
        Packet { headers, zeros }
    }
}

/// Appends the fields of an ACK frame (RFC 9000 section 19.3): largest number, delay, number of further ranges, and
/// each range as a gap and a length.
fn ack_frame(payload: &mut Vec<u8>, frame: &AckFrame) {
    varint(payload, frame.largest().unwrap_or(0));
    varint(payload, frame.delay.as_nanos() / DELAY_UNIT);
    varint(payload, frame.ranges.len().saturating_sub(1) as u64);
    let mut above = None;
    for range in &frame.ranges {
        if let Some(above) = above {
            // Gap: smallest number of the range above, less the largest of this one, less 2.
            varint(payload, above - range.end - 1);
        }
        varint(payload, range.end - range.start - 1);
        above = Some(range.start);
    }
}

/// Appends a variable-length integer of 1, 2, 4 or 8 bytes (RFC 9000 section 16).
fn varint(bytes: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => bytes.push(value as u8),
        0x40..0x4000 => bytes.extend((0x4000 | value as u16).to_be_bytes()),
        0x4000..0x4000_0000 => bytes.extend((0x8000_0000 | value as u32).to_be_bytes()),
        _ => bytes.extend((0xc000_0000_0000_0000 | value).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::SimTime;
    use crossfade_transport::SackBlock;

    /// Variable-length integers are encoded as in the examples of RFC 9000 appendix A.1.
    #[test]
    fn numbers_are_encoded_as_in_the_rfc() {
        let encoded = |value| {
            let mut bytes = Vec::new();
            varint(&mut bytes, value);
            bytes
        };
        assert_eq!(encoded(151_288_809_941_952_652), [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]);
        assert_eq!(encoded(494_878_333), [0x9d, 0x7f, 0x3e, 0x7d]);
        assert_eq!((encoded(15_293), encoded(37)), (vec![0x7b, 0xbd], vec![0x25]));
    }

    #[test]
    fn ranges_are_gaps_and_lengths() {
        let ranges = [(10, 13), (5, 8), (0, 1)].map(|(start, end)| SackBlock { start, end });
        let frame = AckFrame { delay: SimTime::from_micros(80), ranges: ranges.to_vec(), ce: 0 };
        let mut bytes = Vec::new();
        ack_frame(&mut bytes, &frame);
        // 12, 80 us, two more; 3 packets; 9 and 8 are missing (gap 1), 3 packets; 4 to 1 are missing (gap 3), one.
        assert_eq!(bytes, [12, 10, 2, 2, 1, 2, 3, 0]);
    }
}
