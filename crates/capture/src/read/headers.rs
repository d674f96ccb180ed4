//! The headers of a captured packet: link layer, IP, TCP or UDP, as far as they are needed.

use std::fmt;

/// A packet of a file: when it was captured, what of it was kept and how long it was.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970, as the clock of the machine said.
    pub time_ns: i64,
    /// The link type, which says how the bytes begin.
    pub link_type: u32,
    /// Bytes on the wire.
    pub length: u32,
    /// The first of them.
    pub bytes: &'a [u8],
}

/// An address of IP; of version 4 the last four bytes, behind those that RFC 4291 puts in front of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub [u8; 16]);

/// Which packets are of one direction of one flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// Where they come from.
    pub source: (Address, u16),
    /// Where they go to.
    pub destination: (Address, u16),
    /// TCP; otherwise UDP.
    pub is_tcp: bool,
}

impl FlowKey {
    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", std::net::Ipv6Addr::from(self.0).to_canonical())
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.is_tcp { "TCP" } else { "UDP" };
        let [(source, from), (destination, to)] = [self.source, self.destination];
        write!(f, "{protocol} {source} port {from} to {destination} port {to}")
    }
}

/// A packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowKey,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// Bytes of data in it.
    pub payload: u32,
    /// The rest.
    pub kind: Kind,
}

/// What TCP and UDP say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A segment.
    Tcp(Tcp),
    /// A datagram, with a number that another one hardly has: of its first bytes, its length and its identification.
    Udp {
        /// That number.
        fingerprint: u64,
    },
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Tcp {
    /// Number of the first byte.
    pub seq: u32,
    /// Next byte that is expected.
    pub ack: u32,
    /// SYN.
    pub syn: bool,
    /// ACK.
    pub has_ack: bool,
    /// FIN or RST.
    pub ends: bool,
    /// Ranges that arrived, and how many there are.
    pub sack: ([(u32, u32); 4], usize),
    /// `TSval` and `TSecr` (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Maximum segment size, of a SYN.
    pub mss: Option<u16>,
}

/// Whether packets of the link type are read.
pub(super) fn is_known(link_type: u32) -> bool {
    matches!(link_type, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// What follows the link layer's header, if that is IP.
fn ip_of(link_type: u32, bytes: &[u8]) -> Option<&[u8]> {
    let ether = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    match link_type {
        1 | 113 | 276 => {
            let (mut at, mut kind) = match link_type {
                1 => (14, ether(12)?),
                113 => (16, ether(14)?),
                _ => (20, ether(0)?),
            };
            // Tags of VLANs.
            while matches!(kind, 0x8100 | 0x88a8) {
                kind = ether(at + 2)?;
                at += 4;
            }
            matches!(kind, 0x0800 | 0x86dd).then(|| bytes.get(at..)).flatten()
        }
        0 | 108 => bytes.get(4..),
        _ => Some(bytes),
    }
}

impl Packet {
    /// The packet in a frame; none of others than TCP and UDP, of fragments behind the first, or of headers cut off.
    pub(super) fn of(frame: &Frame<'_>) -> Option<Self> {
        let ip = ip_of(frame.link_type, frame.bytes)?;
        // Where the link layer's header ends, the rest of the frame follows.
        let on_wire = frame.length.saturating_sub((frame.bytes.len() - ip.len()) as u32);
        let two = |bytes: &[u8], at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let (protocol, addresses, header, said, identification) = match ip.first()? >> 4 {
            4 => {
                let header = usize::from(ip[0] & 15) * 4;
                if header < 20 || two(ip, 6)? & 0x1fff != 0 {
                    return None;
                }
                let address = |at: usize| {
                    let four: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
                    Some(Address(std::net::Ipv4Addr::from(four).to_ipv6_mapped().octets()))
                };
                (*ip.get(9)?, [address(12)?, address(16)?], header, u32::from(two(ip, 2)?), two(ip, 4)?)
            }
            6 => {
                let address = |at: usize| Some(Address(ip.get(at..at + 16)?.try_into().ok()?));
                let (mut next, mut header) = (*ip.get(6)?, 40);
                // Hop-by-hop, routing and destination options.
                while matches!(next, 0 | 43 | 60) {
                    let length = usize::from(*ip.get(header + 1)?) * 8 + 8;
                    next = *ip.get(header)?;
                    header += length;
                }
                let payload = u32::from(two(ip, 4)?);
                let said = if payload == 0 { 0 } else { payload + 40 };
                (next, [address(8)?, address(24)?], header, said, 0)
            }
            _ => return None,
        };
        // A packet that the interface will cut has no length yet, or one that does not fit.
        let bytes = if said == 0 { on_wire } else { said };
        let rest = ip.get(header..)?;
        let ports = [two(rest, 0)?, two(rest, 2)?];
        let flow = FlowKey {
            source: (addresses[0], ports[0]),
            destination: (addresses[1], ports[1]),
            is_tcp: protocol == 6,
        };
        let above = bytes.checked_sub(header as u32)?;
        match protocol {
            6 => {
                let length = usize::from(*rest.get(12)? >> 4) * 4;
                let payload = above.checked_sub(length as u32)?;
                let kind = Kind::Tcp(tcp(rest, length)?);
                Some(Self { flow, bytes, payload, kind })
            }
            17 => {
                let payload = above.checked_sub(8)?;
                let data = rest.get(8..)?;
                let data = &data[..data.len().min(FINGERPRINTED).min(payload as usize)];
                let fingerprint = fingerprint(data, payload, identification);
                Some(Self { flow, bytes, payload, kind: Kind::Udp { fingerprint } })
            }
            _ => None,
        }
    }
}

/// So many bytes of a datagram tell it from others: those of QUIC differ from the tenth on.
const FINGERPRINTED: usize = 32;

/// FNV-1a of what two captures of a datagram have in common.
fn fingerprint(data: &[u8], payload: u32, identification: u16) -> u64 {
    let parts = [data, &payload.to_be_bytes(), &identification.to_be_bytes()];
    parts.concat().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn tcp(bytes: &[u8], length: usize) -> Option<Tcp> {
    let four = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let flags = *bytes.get(13)?;
    let mut found = Tcp {
        seq: four(4)?,
        ack: four(8)?,
        syn: flags & 2 != 0,
        has_ack: flags & 16 != 0,
        ends: flags & 5 != 0,
        ..Tcp::default()
    };
    if length < 20 {
        return None;
    }
    let end = length.min(bytes.len());
    let mut at = 20;
    while at < end {
        match bytes[at] {
            0 => break,
            1 => at += 1,
            kind => {
                let size = usize::from(*bytes[..end].get(at + 1).unwrap_or(&0));
                if size < 2 || at + size > end {
                    break;
                }
                match (kind, size) {
                    (2, 4) => found.mss = Some(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])),
                    (5, 10 | 18 | 26 | 34) => {
                        let count = (size - 2) / 8;
                        for block in 0..count {
                            let from = at + 2 + 8 * block;
                            found.sack.0[block] = (four(from)?, four(from + 4)?);
                        }
                        found.sack.1 = count;
                    }
                    (8, 10) => found.timestamps = Some((four(at + 2)?, four(at + 6)?)),
                    _ => {}
                }
                at += size;
            }
        }
    }
    Some(found)
}
