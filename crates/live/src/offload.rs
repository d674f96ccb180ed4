//! Segmentation offload: the kernel passes large segments, which the emulator cuts and joins again.

use std::ops::Range;

/// Header `struct virtio_net_hdr` (`linux/virtio_net.h`) in front of each packet of a device with offload: flags, kind,
/// and in the byte order of the machine the bytes of all headers, the payload of a segment, the offset at which the
/// checksum begins, and the checksum's place from there on.
pub(crate) type VirtioHeader = [u8; 10];

const NEEDS_CHECKSUM: u8 = 1;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP: u8 = 5;
/// Bit beside the kind of a packet: its first segment carries CWR.
const WITH_CWR: u8 = 0x80;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Packets that one read from a device contains: a single packet, or the segments of a large one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    virtio: VirtioHeader,
    /// Bytes of all headers, repeated in each segment.
    headers: usize,
    /// Offset of the TCP or UDP header, in bytes.
    transport: usize,
    is_tcp: bool,
    /// Payload bytes of each segment except the last.
    size: usize,
    /// Number of segments; zero for a packet that must not be cut.
    count: u32,
}

impl Segments {
    /// Parses the header `virtio` of `packet`. A packet with an inconsistent header counts as one whole packet.
    pub fn of(virtio: [u8; 10], packet: &[u8]) -> Self {
        let whole = Self { virtio, ..Self::default() };
        let [size, transport, checksum] =
            [4, 6, 8].map(|at| usize::from(u16::from_ne_bytes([virtio[at], virtio[at + 1]])));
        let version = packet.first().map_or(0, |first| first >> 4);
        let is_tcp = match (virtio[1] & !WITH_CWR, version) {
            (TCP_IPV4, 4) | (TCP_IPV6, 6) => true,
            (UDP, 4 | 6) => false,
            _ => return whole,
        };
        let ip_header = if version == 4 { usize::from(packet[0] & 0x0f) * 4 } else { 40 };
        // RFC 9293 section 3.1: no TCP header is shorter than five words, whatever its data offset says.
        let shortest = transport + if is_tcp { 20 } else { 8 };
        let Some(transport_header) = packet.get(transport..shortest) else {
            return whole;
        };
        let headers = if is_tcp { transport + usize::from(transport_header[12] >> 4) * 4 } else { shortest };
        let is_right = virtio[0] & NEEDS_CHECKSUM != 0
            && size > 0
            && (20..=transport).contains(&ip_header)
            && checksum == if is_tcp { 16 } else { 6 }
            && (shortest..packet.len()).contains(&headers)
            && packet.len() <= 0xffff;
        if !is_right {
            return whole;
        }
        let count = (packet.len() - headers).div_ceil(size) as u32;
        Self { virtio, headers, transport, is_tcp, size, count }
    }

    /// Number of packets that the read contains, at least 1.
    pub fn count(&self) -> u32 {
        self.count.max(1)
    }

    /// Size in bytes of segment number `segment`, with headers, of a packet of `length` bytes in all.
    pub(crate) fn bytes(&self, segment: u32, length: usize) -> u32 {
        if self.count == 0 {
            return length as u32;
        }
        (self.headers + self.payload(segment..segment + 1, length).len()) as u32
    }

    fn payload(&self, run: Range<u32>, length: usize) -> Range<usize> {
        let place = |segment: u32| self.headers + segment as usize * self.size;
        place(run.start)..place(run.end).min(length)
    }

    /// True if the kernel has left the transport checksum to the device.
    pub(crate) fn has_partial_checksum(&self) -> bool {
        self.virtio[0] & NEEDS_CHECKSUM != 0
    }

    /// Header to write in front of the packet if it is written as it was read.
    pub(crate) fn virtio(&self) -> &VirtioHeader {
        &self.virtio
    }

    /// Joins consecutive segments into one packet: returns the virtio header and the payload's range in `packet`, and
    /// writes the headers into `headers`. The checksum is left to the kernel, which computes it only if needed.
    pub fn join(&self, packet: &[u8], run: Range<u32>, headers: &mut Vec<u8>) -> ([u8; 10], Range<usize>) {
        headers.clear();
        let mut virtio = self.virtio;
        if self.count == 0 {
            return (virtio, 0..packet.len());
        }
        let payload = self.payload(run.clone(), packet.len());
        headers.extend_from_slice(&packet[..self.headers]);
        self.write_headers(headers, &run, payload.len());
        virtio[2..4].copy_from_slice(&(self.headers as u16).to_ne_bytes());
        if run.start > 0 {
            virtio[1] &= !WITH_CWR;
        }
        if run.len() == 1 {
            virtio[1] = 0;
            virtio[4..6].fill(0);
        }
        (virtio, payload)
    }

    fn write_headers(&self, headers: &mut [u8], run: &Range<u32>, payload: usize) {
        let total = (headers.len() + payload) as u16;
        if headers[0] >> 4 == 4 {
            let number = u16::from_be_bytes([headers[4], headers[5]]).wrapping_add(run.start as u16);
            headers[2..4].copy_from_slice(&total.to_be_bytes());
            headers[4..6].copy_from_slice(&number.to_be_bytes());
            headers[10..12].fill(0);
            let checksum = !folded(sum(&headers[..usize::from(headers[0] & 0x0f) * 4]));
            headers[10..12].copy_from_slice(&checksum.to_be_bytes());
        } else {
            headers[4..6].copy_from_slice(&(total - 40).to_be_bytes());
        }
        let length = total - self.transport as u16;
        // Sum of addresses, protocol and length: the kernel adds the rest where needed.
        let addresses = if headers[0] >> 4 == 4 { 12..20 } else { 8..40 };
        let protocol = if self.is_tcp { 6 } else { 17 };
        let pseudo_header = sum(&headers[addresses]) + protocol + u32::from(length);
        let checksum = self.transport + if self.is_tcp { 16 } else { 6 };
        headers[checksum..checksum + 2].copy_from_slice(&folded(pseudo_header).to_be_bytes());
        let transport = &mut headers[self.transport..];
        if !self.is_tcp {
            transport[4..6].copy_from_slice(&length.to_be_bytes());
            return;
        }
        let number = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
        let number = number.wrapping_add(run.start.wrapping_mul(self.size as u32));
        transport[4..8].copy_from_slice(&number.to_be_bytes());
        // RFC 9293 section 3.1, RFC 3168 section 6.1.2: flags that only the first or last segment carries.
        if run.start > 0 {
            transport[13] &= !CWR;
        }
        if run.end < self.count {
            transport[13] &= !(FIN | PSH);
        }
    }

    /// Segment number `segment` as on a wire, including its checksum.
    pub fn on_wire(&self, packet: &[u8], segment: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (virtio, payload) = self.join(packet, segment..segment + 1, &mut bytes);
        bytes.extend_from_slice(&packet[payload]);
        let [begin, place] = [6, 8].map(|at| usize::from(u16::from_ne_bytes([virtio[at], virtio[at + 1]])));
        if virtio[0] & NEEDS_CHECKSUM != 0 && bytes.len() >= begin + place + 2 {
            // In UDP a zero would mean that there is no checksum.
            let checksum = match !folded(sum(&bytes[begin..])) {
                0 if place == 6 => 0xffff,
                checksum => checksum,
            };
            bytes[begin + place..begin + place + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        bytes
    }
}

/// Sum of the 16-bit words of `bytes` (RFC 1071), for at most 128 kB.
fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let rest = rest.first().map_or(0, |&byte| u32::from(byte) << 8);
    words.iter().map(|&word| u32::from(u16::from_be_bytes(word))).sum::<u32>() + rest
}

fn folded(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, PacketHeaders, TcpHeader, TransportHeader};
    use proptest::prelude::*;

    /// Creates a large segment as the kernel passes it, with its virtio header.
    fn large(is_tcp: bool, is_ipv6: bool, size: u16, payload: &[u8]) -> (VirtioHeader, Vec<u8>) {
        let ip = if is_ipv6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
        };
        let mut packet = Vec::new();
        if is_tcp {
            let mut header = TcpHeader::new(1000, 80, u32::MAX - 2000, 500);
            (header.ack, header.psh, header.fin, header.cwr) = (true, true, true, true);
            header.set_options_raw(&[1; 12]).unwrap();
            ip.tcp_header(header).write(&mut packet, payload).unwrap();
        } else {
            ip.udp(1000, 80).write(&mut packet, payload).unwrap();
        }
        let transport: u16 = if is_ipv6 { 40 } else { 20 };
        let kind = match (is_tcp, is_ipv6) {
            (true, false) => TCP_IPV4 | WITH_CWR,
            (true, true) => TCP_IPV6 | WITH_CWR,
            (false, _) => UDP,
        };
        let mut virtio = [NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        virtio[4..6].copy_from_slice(&size.to_ne_bytes());
        virtio[6..8].copy_from_slice(&transport.to_ne_bytes());
        virtio[8..10].copy_from_slice(&(if is_tcp { 16_u16 } else { 6 }).to_ne_bytes());
        // The kernel puts the sum of the pseudo-header into the checksum field.
        let place = usize::from(transport) + if is_tcp { 16 } else { 6 };
        packet[place..place + 2].fill(0xaa);
        (virtio, packet)
    }

    /// Payload and TCP header of a packet; an independent parser must accept its lengths and checksums.
    fn checked(packet: &[u8]) -> (Vec<u8>, Option<TcpHeader>) {
        let found = PacketHeaders::from_ip_slice(packet).unwrap();
        let payload = found.payload.slice().to_vec();
        let ip = found.net.unwrap();
        if let Some((ip, _)) = ip.ipv4_ref() {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            assert_eq!(usize::from(ip.total_len), packet.len());
        }
        match found.transport.unwrap() {
            TransportHeader::Tcp(tcp) => {
                let expected = match (ip.ipv4_ref(), ip.ipv6_ref()) {
                    (Some((ip, _)), _) => tcp.calc_checksum_ipv4(ip, &payload),
                    (_, Some((ip, _))) => tcp.calc_checksum_ipv6(ip, &payload),
                    _ => unreachable!(),
                };
                assert_eq!(tcp.checksum, expected.unwrap());
                (payload, Some(tcp))
            }
            TransportHeader::Udp(udp) => {
                let expected = match (ip.ipv4_ref(), ip.ipv6_ref()) {
                    (Some((ip, _)), _) => udp.calc_checksum_ipv4(ip, &payload),
                    (_, Some((ip, _))) => udp.calc_checksum_ipv6(ip, &payload),
                    _ => unreachable!(),
                };
                assert_eq!((udp.checksum, usize::from(udp.length)), (expected.unwrap(), payload.len() + 8));
                (payload, None)
            }
            _ => unreachable!(),
        }
    }

    #[test]
    fn a_tcp_header_of_less_than_five_words_is_not_cut() {
        let (virtio, mut packet) = large(true, false, 700, &[7; 3000]);
        assert_eq!(Segments::of(virtio, &packet).count(), 5);
        for words in 0..5 {
            packet[20 + 12] = words << 4;
            let whole = Segments::of(virtio, &packet);
            assert_eq!((whole.count(), whole.on_wire(&packet, 0).len()), (1, packet.len()));
        }
    }

    proptest! {
        #[test]
        fn segments_are_packets_with_all_of_the_payload(
            is_tcp: bool, is_ipv6: bool, size in 1_u16..2000, payload in prop::collection::vec(any::<u8>(), 1..6000),
        ) {
            let (virtio, packet) = large(is_tcp, is_ipv6, size, &payload);
            let cut = Segments::of(virtio, &packet);
            prop_assert_eq!(cut.count() as usize, payload.len().div_ceil(usize::from(size)));
            let mut all = Vec::new();
            for segment in 0..cut.count() {
                let wire = cut.on_wire(&packet, segment);
                prop_assert_eq!(wire.len() as u32, cut.bytes(segment, packet.len()));
                let (part, tcp) = checked(&wire);
                if let Some(tcp) = tcp {
                    let is_last = segment + 1 == cut.count();
                    prop_assert_eq!(tcp.sequence_number, (u32::MAX - 2000).wrapping_add(all.len() as u32));
                    prop_assert_eq!([tcp.psh, tcp.fin, tcp.cwr], [is_last, is_last, segment == 0]);
                }
                all.extend(part);
            }
            prop_assert_eq!(all, payload);
        }

        /// Consecutive segments that are joined and cut again equal the original ones.
        #[test]
        fn a_run_is_cut_into_the_same_segments(
            is_tcp: bool, is_ipv6: bool, payload in prop::collection::vec(any::<u8>(), 1..6000), at in (0_u32..9, 0_u32..9),
        ) {
            let (virtio, packet) = large(is_tcp, is_ipv6, 700, &payload);
            let cut = Segments::of(virtio, &packet);
            let run = at.0.min(at.1).min(cut.count() - 1)..(at.0.max(at.1) + 1).min(cut.count());
            let mut joined = Vec::new();
            let (virtio, rest) = cut.join(&packet, run.clone(), &mut joined);
            joined.extend_from_slice(&packet[rest]);
            let again = Segments::of(virtio, &joined);
            prop_assert_eq!(again.count(), run.len() as u32);
            for (number, segment) in run.enumerate() {
                prop_assert_eq!(again.on_wire(&joined, number as u32), cut.on_wire(&packet, segment));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(
            virtio: [u8; 10], packet in prop::collection::vec(any::<u8>(), 0..200), version in 0_u8..16, small: bool,
        ) {
            let (mut virtio, mut packet) = (virtio, packet);
            if let Some(first) = packet.first_mut() {
                *first = version << 4 | *first & 0xf;
            }
            if small {
                // A nearly valid header.
                (virtio[0], virtio[1]) = (1, [TCP_IPV4, TCP_IPV6, UDP][usize::from(virtio[1] % 3)]);
                let (begin, place) = (u16::from(virtio[6] % 80), [16_u16, 6][usize::from(virtio[8] % 2)]);
                virtio[6..8].copy_from_slice(&begin.to_ne_bytes());
                virtio[8..10].copy_from_slice(&place.to_ne_bytes());
                // If there is payload to cut, the headers end before it.
                if let Some(first) = packet.first_mut().filter(|_| version != 6) {
                    *first = 0x44 | *first & 3;
                }
                if let Some(offset) = packet.get_mut(usize::from(begin) + 12) {
                    *offset %= 0x80;
                }
            }
            let cut = Segments::of(virtio, &packet);
            let total: usize = (0..cut.count()).map(|segment| cut.bytes(segment, packet.len()) as usize).sum();
            prop_assert!(total >= packet.len());
            for segment in 0..cut.count() {
                prop_assert_eq!(cut.on_wire(&packet, segment).len() as u32, cut.bytes(segment, packet.len()));
            }
        }
    }
}
