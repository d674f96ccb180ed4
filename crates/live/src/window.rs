//! Limit of the receive windows that a host advertises.

use crate::header;
use std::collections::HashMap;

/// Limits the receive windows that a host advertises.
///
/// The window of a route applies only to the handshake: Linux then lets it follow the buffer (`tcp_rcvbuf_grow`, and
/// `tcp_measure_rcv_mss` if packets take less memory than assumed), as far as the handshake's scale allows. The window
/// field is therefore rewritten in the host's packets (RFC 9293 section 3.1, RFC 7323 section 2.3). To the sender, its
/// peer merely seems to have less room.
#[derive(Debug)]
pub struct ReceiveWindow {
    bytes: u32,
    /// Window scale of each connection, from the handshake of the limited host. It applies only if the other host also
    /// uses window scaling, which Linux does by default.
    scales: HashMap<Connection, u8>,
}

/// Identity of a connection: IP version, addresses and ports, in the order of the limited host's packets.
type Connection = (u8, [u8; 32], [u8; 4]);

impl ReceiveWindow {
    /// Maximum number of known connections. When it is exceeded, all are forgotten, and earlier connections are no
    /// longer limited.
    const MOST: usize = 4096;
    /// Largest window scale (RFC 7323 section 2.3).
    const LARGEST_SHIFT: u8 = 14;

    /// Creates a limit of `bytes` bytes.
    pub fn new(bytes: u32) -> Self {
        Self { bytes, scales: HashMap::new() }
    }

    /// Limits the window field of a packet of the host, if the packet is TCP directly over IP and no fragment. The
    /// checksum is updated, unless it `is_partial`: the kernel then leaves it to the device, and it does not cover the
    /// window yet.
    pub fn hold(&mut self, packet: &mut [u8], is_partial: bool) {
        const SYN: u8 = 0x02;
        let Some(at) = header::tcp(packet) else { return };
        let connection = connection(packet, at);
        let is_handshake = packet[at + 13] & SYN != 0;
        let shift = if is_handshake {
            let end = (at + usize::from(packet[at + 12] >> 4) * 4).min(packet.len());
            let shift = window_scale(packet.get(at + 20..end).unwrap_or_default());
            if self.scales.len() == Self::MOST && !self.scales.contains_key(&connection) {
                self.scales.clear();
            }
            self.scales.insert(connection, shift.unwrap_or(0).min(Self::LARGEST_SHIFT));
            // The window of a handshake segment is never scaled.
            0
        } else {
            let Some(&shift) = self.scales.get(&connection) else { return };
            shift
        };
        // Round up to the next scaled value: less than a segment more allows no further whole segment.
        let largest = u16::try_from(self.bytes.div_ceil(1 << shift)).unwrap_or(u16::MAX);
        let said = u16::from_be_bytes([packet[at + 14], packet[at + 15]]);
        if said > largest {
            packet[at + 14..at + 16].copy_from_slice(&largest.to_be_bytes());
            if !is_partial {
                header::correct(&mut packet[at + 16..at + 18], said, largest);
            }
        }
    }
}

/// Identity of the connection of a packet whose TCP header begins at offset `at`.
fn connection(packet: &[u8], at: usize) -> Connection {
    let version = packet[0] >> 4;
    let addresses = if version == 4 { &packet[12..20] } else { &packet[8..40] };
    let mut connection = (version, [0; 32], [0; 4]);
    connection.1[..addresses.len()].copy_from_slice(addresses);
    connection.2.copy_from_slice(&packet[at..at + 4]);
    connection
}

/// Window scale in TCP options (RFC 7323 section 2.2); `None` if they have none.
fn window_scale(mut options: &[u8]) -> Option<u8> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const WINDOW_SCALE: u8 = 3;
    loop {
        options = match *options {
            [] | [END, ..] => return None,
            [NOTHING, ref rest @ ..] => rest,
            [WINDOW_SCALE, 3, shift, ..] => return Some(shift),
            // The length includes kind and length.
            [_, length, ..] if length >= 2 => options.get(usize::from(length)..)?,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, PacketHeaders, TcpHeader, TcpOptionElement, TransportHeader};
    use proptest::prelude::*;

    fn packet(is_ipv6: bool, port: u16, change: impl FnOnce(&mut TcpHeader)) -> Vec<u8> {
        let ip = if is_ipv6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 77, 0, 2], [10, 77, 0, 1], 64)
        };
        let mut header = TcpHeader::new(port, 80, 1, 0);
        header.ack = true;
        change(&mut header);
        let mut packet = Vec::new();
        ip.tcp_header(header).write(&mut packet, &[7; 11]).unwrap();
        packet
    }

    fn syn(is_ipv6: bool, port: u16, shift: Option<u8>) -> Vec<u8> {
        packet(is_ipv6, port, |tcp| {
            let scale = shift.map(TcpOptionElement::WindowScale);
            let options = [TcpOptionElement::Noop, TcpOptionElement::MaximumSegmentSize(1460)];
            tcp.set_options(&options.into_iter().chain(scale).collect::<Vec<_>>()).unwrap();
            (tcp.syn, tcp.window_size) = (true, u16::MAX);
        })
    }

    /// Window field of a packet, read by an independent parser, which also checks the checksum.
    fn window(packet: &[u8]) -> u16 {
        let found = PacketHeaders::from_ip_slice(packet).unwrap();
        let (ip, payload) = (found.net.unwrap(), found.payload.slice());
        let Some(TransportHeader::Tcp(tcp)) = found.transport else { unreachable!() };
        let expected = match (ip.ipv4_ref(), ip.ipv6_ref()) {
            (Some((ip, _)), _) => tcp.calc_checksum_ipv4(ip, payload),
            (_, Some((ip, _))) => tcp.calc_checksum_ipv6(ip, payload),
            _ => unreachable!(),
        };
        assert_eq!(tcp.checksum, expected.unwrap());
        tcp.window_size
    }

    /// Advertised window after `limit` has processed a window of `said` on the connection of `port`.
    fn held(limit: &mut ReceiveWindow, is_ipv6: bool, port: u16, said: u16) -> u16 {
        let mut packet = packet(is_ipv6, port, |tcp| tcp.window_size = said);
        limit.hold(&mut packet, false);
        window(&packet)
    }

    proptest! {
        #[test]
        fn no_larger_window_is_told_and_smaller_ones_are_as_they_were(
            is_ipv6: bool, bytes in 1_u32..2_000_000, shift in prop::option::of(0_u8..=14), said: u16,
        ) {
            let mut limit = ReceiveWindow::new(bytes);
            let mut handshake = syn(is_ipv6, 1000, shift);
            limit.hold(&mut handshake, false);
            prop_assert_eq!(u32::from(window(&handshake)), bytes.min(0xffff));
            let held = u32::from(held(&mut limit, is_ipv6, 1000, said)) << shift.unwrap_or(0);
            let said = u32::from(said) << shift.unwrap_or(0);
            prop_assert!(held <= said && held < bytes + (1 << shift.unwrap_or(0)));
            prop_assert!(held == said || held >= bytes.min(0xffff << shift.unwrap_or(0)));
        }

        /// Arbitrary bytes, as from a TUN device, cause no panic.
        #[test]
        fn no_bytes_make_it_panic(mut packet in prop::collection::vec(any::<u8>(), 0..100), is_ipv6: bool) {
            if let [first, .., ] = &mut packet[..] {
                *first = if is_ipv6 { 0x60 } else { 0x40 | *first & 0xf };
            }
            if let Some(protocol) = packet.get_mut(if is_ipv6 { 6 } else { 9 }) {
                *protocol = 6;
            }
            let mut limit = ReceiveWindow::new(1000);
            limit.hold(&mut packet, false);
            limit.hold(&mut packet, false);
        }
    }

    #[test]
    fn connections_have_scales_of_their_own() {
        let mut limit = ReceiveWindow::new(40 * 1460);
        for (port, shift) in [(1000, Some(0)), (1001, Some(7)), (1002, None)] {
            limit.hold(&mut syn(false, port, shift), false);
        }
        // 58,400 bytes are 456.25 times 128.
        let held = [1000, 1001, 1002, 1003].map(|port| held(&mut limit, false, port, 60_000));
        assert_eq!(held, [58_400, 457, 58_400, 60_000], "nobody knows the scale of the last");
    }

    #[test]
    fn a_connection_is_its_version_addresses_and_ports() {
        const SYN: u8 = 2;
        // Without an address: both versions then have equal bytes as far as they go.
        let of = |is_ipv6: bool, flags: u8| {
            let (mut packet, first, protocol) =
                if is_ipv6 { (vec![0; 40], 0x60, 6) } else { (vec![0; 20], 0x45, 9) };
            (packet[0], packet[protocol]) = (first, 6);
            packet.extend([3, 232, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
            packet
        };
        let is_held = |is_ipv6, changed: Option<usize>, limit: &mut ReceiveWindow| {
            let mut packet = of(is_ipv6, 0);
            if let Some(at) = changed {
                packet[at] ^= 1;
            }
            let before = packet.clone();
            limit.hold(&mut packet, false);
            packet != before
        };
        for (is_ipv6, named) in [(false, 12..24), (true, 8..44)] {
            let mut limit = ReceiveWindow::new(1000);
            limit.hold(&mut of(is_ipv6, SYN), false);
            assert!(is_held(is_ipv6, None, &mut limit));
            assert!(!is_held(!is_ipv6, None, &mut limit), "of the other version");
            for at in named {
                assert!(!is_held(is_ipv6, Some(at), &mut limit), "byte {at} is of another");
            }
        }
    }

    #[test]
    fn every_handshake_counts_and_nothing_else_does() {
        type Flags = fn(&mut TcpHeader);
        let said = |limit: &mut ReceiveWindow, flags: Flags| {
            let mut packet = packet(false, 1000, |tcp| {
                tcp.window_size = 60_000;
                flags(tcp);
            });
            limit.hold(&mut packet, false);
            window(&packet)
        };
        let handshakes: [Flags; 4] = [
            |tcp| (tcp.syn, tcp.ack) = (true, false),
            |tcp| tcp.syn = true,
            |tcp| (tcp.syn, tcp.ece, tcp.cwr) = (true, true, true),
            |tcp| (tcp.syn, tcp.fin) = (true, true),
        ];
        for handshake in handshakes {
            let mut limit = ReceiveWindow::new(10_000);
            // Handshake of an earlier connection with these ports.
            limit.hold(&mut syn(false, 1000, Some(3)), false);
            assert_eq!(said(&mut limit, |_| ()), 1250);
            // It carries data, and no scale.
            assert_eq!(said(&mut limit, handshake), 10_000, "of itself, which is not scaled");
            assert_eq!(said(&mut limit, |_| ()), 10_000);
        }
        let others: [Flags; 3] = [|tcp| tcp.fin = true, |tcp| tcp.rst = true, |tcp| tcp.psh = true];
        let mut limit = ReceiveWindow::new(10_000);
        limit.hold(&mut syn(false, 1000, Some(3)), false);
        for other in others {
            assert_eq!((said(&mut limit, other), said(&mut limit, |_| ())), (1250, 1250));
        }
    }

    /// A window scale above 14 counts as 14 (RFC 7323 section 2.3).
    #[test]
    fn no_shift_is_larger_than_14() {
        for shift in [14, 15, 32, 255] {
            let mut limit = ReceiveWindow::new(1 << 20);
            limit.hold(&mut syn(false, 1000, Some(shift)), false);
            assert_eq!(held(&mut limit, false, 1000, 65_535), 64);
        }
    }

    #[test]
    fn a_scale_is_an_option_of_a_handshake_not_its_data() {
        const SCALE: [u8; 4] = [3, 3, 7, 0];
        let in_data = packet(false, 1000, |tcp| tcp.syn = true);
        let (headers, _) = in_data.split_at(40);
        let in_data = [headers, &SCALE].concat();
        // Truncated after its fixed part, although its length indicates more.
        let mut cut_off = headers.to_vec();
        cut_off[32] = 0xf0;
        let mut in_options = [headers, &SCALE].concat();
        in_options[32] = 0x60;
        for (mut handshake, largest) in [(in_data, 10_000), (cut_off, 10_000), (in_options, 79)] {
            let mut limit = ReceiveWindow::new(10_000);
            limit.hold(&mut handshake, true);
            assert_eq!(held(&mut limit, false, 1000, 60_000), largest);
        }
    }

    #[test]
    fn a_partial_checksum_has_not_summed_the_window() {
        let mut limit = ReceiveWindow::new(1000);
        limit.hold(&mut syn(false, 1000, Some(0)), false);
        let before = packet(false, 1000, |tcp| tcp.window_size = 5000);
        let mut after = before.clone();
        limit.hold(&mut after, true);
        assert_eq!(after[34..36], 1000_u16.to_be_bytes());
        assert_eq!((&after[..34], &after[36..]), (&before[..34], &before[36..]));
    }

    #[test]
    fn it_forgets_connections_rather_than_grow() {
        let mut limit = ReceiveWindow::new(1000);
        for port in 0..10_000 {
            limit.hold(&mut syn(false, port, Some(2)), false);
            assert!(limit.scales.len() <= ReceiveWindow::MOST);
        }
        assert_eq!(held(&mut limit, false, 9_999, 300), 250);
        // A known connection takes no further room: its handshake may be retransmitted.
        let mut limit = ReceiveWindow::new(1000);
        for port in 0..ReceiveWindow::MOST as u16 {
            limit.hold(&mut syn(false, port, Some(2)), false);
        }
        limit.hold(&mut syn(false, 0, Some(2)), false);
        assert_eq!([0, 1, 4_000].map(|port| held(&mut limit, false, port, 300)), [250; 3]);
    }

    #[test]
    fn options_that_make_no_sense_have_no_scale() {
        let cases: [(&[u8], _); 6] = [
            (&[2, 4, 5, 180, 1, 3, 3, 7], Some(7)),
            (&[0, 2, 3, 3, 7], None),
            (&[2, 0, 3, 3, 7], None),
            (&[2, 9, 3, 3, 7], None),
            (&[3, 3], None),
            (&[3, 2, 3, 3, 7], Some(7)),
        ];
        for (options, shift) in cases {
            assert_eq!(window_scale(options), shift, "{options:?}");
        }
    }
}
