//! Writer of the classic pcap format (draft-ietf-opsawg-pcap).

use crate::packet::Packet;
use crossfade_core::SimTime;

/// Magic number of pcap files whose times are in nanoseconds (draft-ietf-opsawg-pcap section 4).
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;

/// Link type of packets that begin with their IP header: the models have no link layer to show. Readers recognize the
/// IP version by the first four bits. An Ethernet header would also imply padding of short packets.
pub(crate) const LINKTYPE_RAW: u32 = 101;

/// Link type of packets that begin with a radiotap header and continue with an 802.11 header.
pub(crate) const LINKTYPE_IEEE802_11_RADIOTAP: u32 = 127;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Bytes of a pcap file that grows packet by packet; little-endian on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Pcap {
    pub(crate) bytes: Vec<u8>,
    snaplen: u32,
}

impl Pcap {
    /// Pcap file without packets, of each of which at most `snaplen` bytes will be kept.
    pub(crate) fn new(snaplen: u32, link_type: u32) -> Self {
        let mut bytes = Vec::new();
        bytes.extend(NANOSECOND_MAGIC.to_le_bytes());
        bytes.extend(2u16.to_le_bytes()); // Version 2.4.
        bytes.extend(4u16.to_le_bytes());
        bytes.extend([0; 8]); // Two reserved fields, once the time zone and its accuracy.
        bytes.extend(snaplen.to_le_bytes());
        bytes.extend(link_type.to_le_bytes());
        Self { bytes, snaplen }
    }

    /// Appends a packet of `headers` and `payload_len` zeros. Seconds wrap around after 2^32 (136 years).
    pub(crate) fn push(&mut self, time: SimTime, headers: &[u8], payload_len: u32) {
        self.push_with(time, headers, payload_len, |_| [0; 0]);
    }

    /// Appends an IP packet with capture time `time`.
    pub(crate) fn push_packet(&mut self, time: SimTime, packet: &Packet) {
        self.push(time, &packet.headers, packet.zeros);
    }

    /// Appends a packet of `headers`, `payload_len` zeros and N bytes that `tail` computes from all before; of a packet
    /// cut by the snapshot length these are left out.
    pub(crate) fn push_with<const N: usize>(
        &mut self,
        time: SimTime,
        headers: &[u8],
        payload_len: u32,
        tail: impl FnOnce(&[u8]) -> [u8; N],
    ) {
        let len = headers.len() as u32 + payload_len + N as u32;
        let kept = len.min(self.snaplen);
        self.bytes.extend(((time.as_nanos() / NANOS_PER_SECOND) as u32).to_le_bytes());
        self.bytes.extend(((time.as_nanos() % NANOS_PER_SECOND) as u32).to_le_bytes());
        self.bytes.extend(kept.to_le_bytes());
        self.bytes.extend(len.to_le_bytes());
        let end = self.bytes.len() + kept as usize;
        let begin = self.bytes.len();
        self.bytes.extend(headers);
        self.bytes.resize(end, 0);
        if kept == len {
            let tail = tail(&self.bytes[begin..end - N]);
            self.bytes[end - N..].copy_from_slice(&tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_laid_out_as_the_draft_says() {
        let mut pcap = Pcap::new(6, LINKTYPE_RAW);
        pcap.push(SimTime::from_nanos(3_000_000_007), &[0x45, 0x99], 2);
        pcap.push(SimTime::ZERO, &[0x60], 1400);
        #[rustfmt::skip]
        let expected = [
            0x4d, 0x3c, 0xb2, 0xa1,  2, 0, 4, 0,  0, 0, 0, 0,  0, 0, 0, 0,  6, 0, 0, 0,  101, 0, 0, 0,
            3, 0, 0, 0,  7, 0, 0, 0,  4, 0, 0, 0,  4, 0, 0, 0,  0x45, 0x99, 0, 0,
            0, 0, 0, 0,  0, 0, 0, 0,  6, 0, 0, 0,  0x79, 5, 0, 0,  0x60, 0, 0, 0, 0, 0,
        ];
        assert_eq!(pcap.bytes, expected);
    }
}
