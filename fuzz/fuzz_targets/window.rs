//! Fuzz target: any bytes as packets of a host whose receive windows are limited. Only the window field and the
//! checksum may change; if an independent parser understands the packet, the field must have the value of RFC 7323.
//!
//! The first four bytes are the largest window. Before each packet, one byte tells whether its checksum is partial, and
//! one has its length.
#![no_main]

use crossfade_live::ReceiveWindow;
use etherparse::{PacketHeaders, TcpHeader, TcpOptionElement, TransportHeader};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;

/// TCP header and IP addresses of a packet; `None` for a packet with IPv6 extensions, a fragment, or wrong lengths.
fn parsed(packet: &[u8]) -> Option<(TcpHeader, Vec<u8>)> {
    let found = PacketHeaders::from_ip_slice(packet).ok()?;
    let ip = found.net?;
    let (addresses, headers) = match (ip.ipv4_ref(), ip.ipv6_ref()) {
        (Some((ip, _)), _) if !ip.is_fragmenting_payload() => {
            ([ip.source, ip.destination].concat(), ip.header_len())
        }
        (_, Some((ip, _))) if ip.next_header.0 == 6 => ([ip.source, ip.destination].concat(), 40),
        _ => return None,
    };
    let Some(TransportHeader::Tcp(tcp)) = found.transport else { return None };
    (headers + tcp.header_len() + found.payload.slice().len() == packet.len()).then_some((tcp, addresses))
}

/// Window scale shift in a handshake's options, at most 14, 0 without the option; `None` if the options are malformed.
fn shift(tcp: &TcpHeader) -> Option<u8> {
    for option in tcp.options_iterator() {
        if let TcpOptionElement::WindowScale(shift) = option.ok()? {
            return Some(shift.min(14));
        }
    }
    Some(0)
}

/// Ones' complement sum of the 16-bit words of a packet, which stays equal if the checksum is updated with the window.
/// (A packet is too short to overflow 32 bits, and both fields are at even offsets.)
fn sum(packet: &[u8]) -> u32 {
    packet.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum::<u32>()
        % 0xffff
}

fuzz_target!(|bytes: &[u8]| {
    let Some((most, mut rest)) = bytes.split_first_chunk() else { return };
    let most = u32::from_be_bytes(*most);
    let mut window = ReceiveWindow::new(most);
    let mut shifts = HashMap::new();
    while let [kind, length, next @ ..] = rest {
        let packet;
        (packet, rest) = next.split_at(next.len().min(usize::from(*length)));
        let is_partial = kind & 1 != 0;
        let mut held = packet.to_vec();
        window.hold(&mut held, is_partial);
        assert_eq!(held.len(), packet.len());
        assert!(is_partial || sum(&held) == sum(packet));
        let mut again = held.clone();
        window.hold(&mut again, is_partial);
        assert_eq!(again, held);
        let Some((before, addresses)) = parsed(packet) else {
            // The state after a malformed packet is unspecified, so it is discarded.
            window = ReceiveWindow::new(most);
            shifts.clear();
            continue;
        };
        let (after, _) = parsed(&held).expect("as it was but for the window");
        let connection = (addresses, before.source_port, before.destination_port);
        let largest = if before.syn {
            shifts.insert(connection, shift(&before));
            u64::from(most)
        } else {
            match shifts.get(&connection) {
                Some(Some(shift)) => u64::from(most).div_ceil(1 << shift),
                Some(None) => continue,
                None => u64::MAX,
            }
        };
        let said = u64::from(before.window_size).min(largest) as u16;
        let checksum = if is_partial { before.checksum } else { after.checksum };
        assert_eq!(after, TcpHeader { window_size: said, checksum, ..before });
    }
});
