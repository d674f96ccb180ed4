//! Fields of IP, TCP and UDP headers that the emulator reads in real packets, and the ECN field, which it writes.

use crossfade_link::{Ecn, Parcel};

/// Protocols whose header starts with two port numbers: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// ECN field with the value "congestion experienced" (RFC 3168 section 5).
const CE: u8 = 0b11;

/// Fields of a packet's headers that identify its flow.
struct Flow<'a> {
    addresses: &'a [u8],
    protocol: u8,
    ports: &'a [u8],
}

impl<'a> Flow<'a> {
    fn of(packet: &'a [u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => {
                let (addresses, protocol) = (packet.get(12..20)?, packet[9]);
                let header = usize::from(packet[0] & 0x0f) * 4;
                // Later fragments have no ports, so the ports of all fragments are ignored.
                let is_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
                // A header whose length field is below its minimum has no ports either.
                let has_ports = !is_fragment && header >= 20;
                let ports = has_ports.then(|| packet.get(header..header + 4)).flatten();
                Some(Self { addresses, protocol, ports: ports.unwrap_or_default() })
            }
            6 => {
                let (addresses, protocol) = (packet.get(8..40)?, packet[6]);
                Some(Self { addresses, protocol, ports: packet.get(40..44).unwrap_or_default() })
            }
            _ => None,
        }
    }
}

/// Flow number of a packet: equal for equal addresses, protocol and ports; 0 for packets other than IP. It is an FNV-1a
/// hash, which mixes 32 bits well at a nanosecond per byte.
pub(crate) fn flow(packet: &[u8]) -> u32 {
    let Some(Flow { addresses, protocol, ports }) = Flow::of(packet) else { return 0 };
    let ports = if WITH_PORTS.contains(&protocol) { ports } else { &[] };
    let named = addresses.iter().chain(std::slice::from_ref(&protocol)).chain(ports);
    named.fold(0x811c_9dc5, |hash: u32, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Ports of a packet, source before destination; `None` for a packet without ports.
pub(crate) fn ports(packet: &[u8]) -> Option<[u16; 2]> {
    let flow = Flow::of(packet)?;
    let &[a, b, c, d] = flow.ports else { return None };
    WITH_PORTS.contains(&flow.protocol).then_some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

/// Parcel of an IP packet for a link: the packet's length and flow. The caller keeps the bytes under `id`.
pub fn parcel(id: u32, packet: &[u8]) -> Parcel {
    Parcel::new(id, flow(packet), packet.len() as u32).with_ecn(ecn(packet))
}

/// Kind of a packet, which distinguishes TCP handshakes and bare acknowledgements from data: a simulation does not send
/// them as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP segment with SYN: the handshake of a connection, in either direction.
    Handshake,
    /// TCP segment without data: an acknowledgement, or the end of a connection.
    WithoutData,
    /// TCP segment with data, or any packet other than TCP.
    Data,
}

/// Kind of `packet`. IPv6 packets with extension headers, and later fragments, count as data.
pub fn kind(packet: &[u8]) -> Kind {
    const SYN: u8 = 0x02;
    let Some(at) = tcp(packet) else { return Kind::Data };
    let [offset, flags] = [packet[at + 12], packet[at + 13]];
    let data = packet.len().saturating_sub(at + usize::from(offset >> 4) * 4);
    match (flags & SYN, data) {
        (0, 0) => Kind::WithoutData,
        (0, _) => Kind::Data,
        _ => Kind::Handshake,
    }
}

/// Offset of a TCP header with all of its 20 fixed bytes; `None` for other packets.
pub(crate) fn tcp(packet: &[u8]) -> Option<usize> {
    const TCP: u8 = 6;
    let Flow { protocol: TCP, ports: [_, ..], .. } = Flow::of(packet)? else { return None };
    let at = if packet[0] >> 4 == 4 { usize::from(packet[0] & 0x0f) * 4 } else { 40 };
    (packet.len() >= at + 20).then_some(at)
}

/// Offset of a UDP header with all of its 8 bytes; `None` for other packets.
pub(crate) fn udp(packet: &[u8]) -> Option<usize> {
    const UDP: u8 = 17;
    let Flow { protocol: UDP, ports: [_, ..], .. } = Flow::of(packet)? else { return None };
    let at = if packet[0] >> 4 == 4 { usize::from(packet[0] & 0x0f) * 4 } else { 40 };
    (packet.len() >= at + 8).then_some(at)
}

/// True if the packet is for a single host. Other packets are for a group, or not IP, such as those that kernels send
/// by themselves.
pub(crate) fn is_for_one_host(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        // Classes A, B and C (RFC 1112 section 4).
        Some(4) => packet.get(16).is_some_and(|first| *first < 224),
        // RFC 4291 section 2.7.
        Some(6) => packet.get(24).is_some_and(|first| *first != 0xff),
        _ => false,
    }
}

/// ECN field of a packet; Not-ECT for packets other than IP.
fn ecn(packet: &[u8]) -> Ecn {
    Ecn::from_bits(ecn_bits(packet).unwrap_or(0))
}

fn ecn_bits(packet: &[u8]) -> Option<u8> {
    match packet {
        [first, second, ..] if first >> 4 == 4 => Some(second & CE),
        // In IPv6 the traffic class lies across two bytes.
        [first, second, ..] if first >> 4 == 6 => Some(second >> 4 & CE),
        _ => None,
    }
}

/// Writes "congestion experienced" into the IP header of `packet`.
pub fn mark_ce(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= CE;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            correct(&mut packet[10..12], old, new);
        }
        Some(6) if packet.len() >= 40 => packet[1] |= CE << 4,
        _ => {}
    }
}

/// Updates a checksum, given as its two bytes, after a 16-bit word changed from `old` to `new`.
pub(crate) fn correct(checksum: &mut [u8], old: u16, new: u16) {
    let before = u16::from_be_bytes([checksum[0], checksum[1]]);
    // RFC 1624 equation 3: HC' = ~(~HC + ~m + m'), in ones' complement.
    let sum = u32::from(!before) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    let after = !(((sum & 0xffff) + (sum >> 16)) as u16);
    checksum.copy_from_slice(&after.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, Ipv4Header, Ipv4HeaderSlice, Ipv6HeaderSlice, PacketBuilder};
    use proptest::prelude::*;

    #[test]
    fn groups_are_told_from_hosts() {
        let to = |address: [u8; 4]| {
            let mut packet = Vec::new();
            PacketBuilder::ipv4([10, 0, 0, 1], address, 64).udp(1, 2).write(&mut packet, &[]).unwrap();
            is_for_one_host(&packet)
        };
        assert!(to([10, 0, 0, 99]) && to([223, 255, 255, 255]));
        assert!(!to([224, 0, 0, 22]) && !to([255, 255, 255, 255]));
        let to = |first: u8| {
            let mut packet = Vec::new();
            PacketBuilder::ipv6([1; 16], [first; 16], 64).udp(1, 2).write(&mut packet, &[]).unwrap();
            is_for_one_host(&packet)
        };
        assert!(to(0xfe) && !to(0xff));
        assert!(!is_for_one_host(&[]) && !is_for_one_host(&[0x45; 10]) && !is_for_one_host(&[0; 60]));
    }

    fn tcp(version: u8, source: u8, port: u16) -> Vec<u8> {
        let ip = match version {
            4 => PacketBuilder::ipv4([10, 0, 0, source], [10, 0, 0, 99], 64),
            6 => PacketBuilder::ipv6([source; 16], [1; 16], 64),
            _ => unreachable!(),
        };
        let mut packet = Vec::new();
        ip.tcp(port, 80, 1, 1000).write(&mut packet, &[7; 100]).unwrap();
        packet
    }

    #[test]
    fn a_mark_moves_no_packet_to_another_flow_though_its_header_is_none() {
        for words in 0..5 {
            let mut packet = tcp(4, 1, 1000);
            packet[0] = 0x40 | words;
            let before = (flow(&packet), kind(&packet));
            mark_ce(&mut packet);
            assert_eq!((flow(&packet), kind(&packet)), before, "a header of {words} words");
        }
    }

    #[test]
    fn flows_are_told_apart_by_addresses_and_ports() {
        let mut numbers: Vec<u32> = Vec::new();
        for version in [4, 6] {
            for source in 1..30 {
                for port in 1000..1030 {
                    let packet = tcp(version, source, port);
                    numbers.push(flow(&packet));
                    let mut later = packet.clone();
                    *later.last_mut().unwrap() = 8;
                    assert_eq!(flow(&later), flow(&packet), "payload does not matter");
                }
            }
        }
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        // With 1740 numbers of 32 bits a collision has a probability of 4e-4, and the packets are fixed.
        assert_eq!(numbers.len(), count);
    }

    #[test]
    fn the_fragments_of_a_packet_are_of_one_flow() {
        let fragment = |offset: u16, more, payload: [u8; 8]| {
            let mut header = Ipv4Header::new(8, 64, 17.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
            header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
            (header.more_fragments, header.dont_fragment) = (more, false);
            [&header.to_bytes()[..], &payload].concat()
        };
        let first = fragment(0, true, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(flow(&first), flow(&fragment(1, false, [9; 8])));
        assert_ne!(flow(&first), flow(&fragment(0, false, [1, 2, 3, 4, 5, 6, 7, 8])));
    }

    proptest! {
        /// Arbitrary bytes, as from a TUN device, cause no panic.
        #[test]
        fn no_bytes_make_it_panic(
            mut packet in prop::collection::vec(any::<u8>(), 0..100), version in 0_u8..16,
        ) {
            if let Some(first) = packet.first_mut() {
                *first = version << 4 | *first & 0xf;
            }
            flow(&packet);
            parcel(0, &packet);
            kind(&packet);
            let length = packet.len();
            mark_ce(&mut packet);
            prop_assert_eq!(packet.len(), length);
        }

        /// After a mark, an independent parser reads "congestion experienced" and a correct checksum.
        #[test]
        fn marks_are_right_and_so_is_the_checksum(
            ecn in 0_u8..4, dscp in 0_u8..64, ttl: u8, id: u16, source: [u8; 4],
        ) {
            let mut header = Ipv4Header::new(0, ttl, 6.into(), source, [10, 0, 0, 2]).unwrap();
            header.identification = id;
            (header.dscp, header.ecn) = (dscp.try_into().unwrap(), ecn.try_into().unwrap());
            header.header_checksum = header.calc_header_checksum();
            let mut packet = header.to_bytes().to_vec();
            prop_assert_eq!(super::ecn(&packet), Ecn::from_bits(ecn));
            mark_ce(&mut packet);
            let marked = Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header();
            prop_assert_eq!(marked.ecn.value(), 3);
            prop_assert_eq!(marked.header_checksum, marked.calc_header_checksum());
            let unmarked = Ipv4Header { ecn: header.ecn, header_checksum: header.header_checksum, ..marked };
            prop_assert_eq!(unmarked, header);
        }
    }

    #[test]
    fn kinds_of_packets() {
        let packet = |change: fn(&mut etherparse::TcpHeader), data: &[u8], six: bool| {
            let mut header = etherparse::TcpHeader::new(1000, 80, 1, 1000);
            (header.ack, header.syn) = (true, false);
            header.set_options_raw(&[1; 12]).unwrap();
            change(&mut header);
            let mut packet = Vec::new();
            let ip = if six {
                PacketBuilder::ipv6([1; 16], [2; 16], 64)
            } else {
                PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            };
            ip.tcp_header(header).write(&mut packet, data).unwrap();
            kind(&packet)
        };
        for six in [false, true] {
            assert_eq!(packet(|tcp| tcp.syn = true, b"", six), Kind::Handshake);
            assert_eq!(packet(|_| (), b"", six), Kind::WithoutData);
            assert_eq!(packet(|tcp| tcp.fin = true, b"", six), Kind::WithoutData);
            assert_eq!(packet(|tcp| tcp.psh = true, b"x", six), Kind::Data);
        }
        let mut udp = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2).write(&mut udp, b"").unwrap();
        assert_eq!((kind(&udp), kind(b"")), (Kind::Data, Kind::Data));
    }

    #[test]
    fn ipv6_has_its_mark_elsewhere() {
        let mut packet = tcp(6, 1, 1000);
        assert_eq!(ecn(&packet), Ecn::NotEct);
        packet[1] |= 0x20;
        assert_eq!(ecn(&packet), Ecn::Ect0);
        mark_ce(&mut packet);
        let slice = Ipv6HeaderSlice::from_slice(&packet).unwrap();
        assert_eq!((slice.version(), slice.traffic_class()), (6, 3));
    }
}
