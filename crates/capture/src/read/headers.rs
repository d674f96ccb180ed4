//! Headers of captured packets, as far as the readers need them: link layer, IP, TCP or UDP.

use std::fmt;

/// Frame of a capture file: capture time, link type, length and captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Capture time in nanoseconds since 1970, by the clock of the capturing machine.
    pub time_ns: i64,
    /// Link type (number of the registry of pcap link types), which defines the first header of the frame.
    pub link_type: u32,
    /// Number of the interface in its section of a pcapng file; 0 in pcap.
    pub interface: u32,
    /// Length on the wire in bytes.
    pub length: u32,
    /// Captured bytes, from the first; fewer than `length` if the capture was cut.
    pub bytes: &'a [u8],
}

/// IP address; an IPv4 address is mapped into IPv6 (`::ffff:a.b.c.d`, RFC 4291).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub [u8; 16]);

/// Addresses, ports and protocol of one direction of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// Address and port that the packets come from.
    pub source: (Address, u16),
    /// Address and port that the packets go to.
    pub destination: (Address, u16),
    /// True for TCP, false for UDP.
    pub is_tcp: bool,
}

impl FlowKey {
    /// Key of the opposite direction: source and destination exchanged.
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

/// TCP or UDP packet found in a captured frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Flow of the packet: addresses, ports and protocol.
    pub flow: FlowKey,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Bytes of transport payload in the packet.
    pub payload: u32,
    /// Fields of the transport header.
    pub kind: Kind,
}

/// Transport header of a captured packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// TCP header.
    Tcp(Tcp),
    /// UDP datagram that is not unencrypted QUIC.
    Udp {
        /// Hash of its first 32 bytes, length and IPv4 identification, which identifies it in the captures of both
        /// ends.
        fingerprint: u64,
        /// First bytes, which show if it may be encrypted QUIC.
        begins: Begins,
    },
    /// Unencrypted QUIC packet, as Crossfade's own captures have them.
    Quic {
        /// Hash of its first 32 bytes, length and IPv4 identification, which identifies it in the captures of both
        /// ends.
        fingerprint: u64,
        /// Packet number and acknowledgements.
        quic: Quic,
    },
}

/// First bytes of a datagram, as far as they identify QUIC (RFC 8999; RFC 9000 section 17), whose rest is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Long header of a known QUIC version: a packet of the handshake.
    Long,
    /// Short header, recognized by its fixed bit.
    Short {
        /// Spin bit (RFC 9000 section 17.4), which changes its value once per round trip unless an end disables it.
        spin: bool,
        /// Lower five bits of the first byte, which header protection makes random.
        protected: u8,
    },
    /// First bytes that are not those of QUIC.
    Other,
}

impl Begins {
    fn of(data: &[u8]) -> Self {
        match data {
            [first, a, b, c, d, ..] if first & 0xc0 == 0xc0 => {
                match u32::from_be_bytes([*a, *b, *c, *d]) {
                    // Versions 1 and 2, and drafts.
                    0x0000_0001 | 0x6b33_43cf | 0xff00_0000..=0xff00_00ff => Self::Long,
                    _ => Self::Other,
                }
            }
            [first, ..] if first & 0xc0 == 0x40 => {
                Self::Short { spin: first & 0x20 != 0, protected: first & 0x1f }
            }
            _ => Self::Other,
        }
    }
}

/// Unencrypted QUIC packet: a short header with a STREAM or an ACK frame.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Quic {
    /// Last 16 bits of the packet number.
    pub number: u16,
    /// Acknowledged packet numbers, first and last of each range, and the number of ranges; 0 ranges in a data packet.
    pub ranges: ([(u32, u32); 4], usize),
    /// Delay in nanoseconds for which the receiver held the acknowledgement back; 0 in a data packet.
    pub delay_ns: i64,
}

impl Quic {
    /// Unencrypted QUIC packet in a UDP payload; `None` if it is anything else.
    fn of(data: &[u8]) -> Option<Self> {
        // First byte: fixed bit and a packet number of two bytes, behind a connection id of eight (RFC 9000 section
        // 17.3.1).
        if data.first() != Some(&0x41) {
            return None;
        }
        let number = u16::from_be_bytes([*data.get(9)?, *data.get(10)?]);
        let mut found = Self { number, ..Self::default() };
        match data.get(11)? {
            // A STREAM frame with an offset and a length.
            0x0e => return Some(found),
            0x02 | 0x03 => {}
            _ => return None,
        }
        // RFC 9000 section 19.3: largest number, delay in 8 us, number of further ranges, and each range as a gap and a
        // length.
        let mut at = 12;
        let mut next = || varint(data, &mut at);
        let (largest, delay, more, length) = (next()?, next()?, next()?, next()?);
        let mut last = largest;
        let mut first = last.checked_sub(length)?;
        found.delay_ns = i64::try_from(delay.checked_mul(8000)?).ok()?;
        for index in 0..=more {
            if found.ranges.1 < found.ranges.0.len() {
                found.ranges.0[found.ranges.1] = (u32::try_from(first).ok()?, u32::try_from(last).ok()?);
                found.ranges.1 += 1;
            }
            if index < more {
                // Ranges that were cut off are old: earlier frames acknowledged them.
                let (Some(gap), Some(length)) = (next(), next()) else { break };
                last = first.checked_sub(gap)?.checked_sub(2)?;
                first = last.checked_sub(length)?;
            }
        }
        Some(found)
    }
}

/// Decodes a variable-length integer of 1, 2, 4 or 8 bytes (RFC 9000 section 16) and advances `at` past it.
fn varint(data: &[u8], at: &mut usize) -> Option<u64> {
    let first = *data.get(*at)?;
    let length = 1_usize << (first >> 6);
    let bytes = data.get(*at..*at + length)?;
    *at += length;
    Some(bytes[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
}

/// TCP header of a captured segment.
#[expect(clippy::struct_excessive_bools, reason = "flags of a header")]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Tcp {
    /// Sequence number of the first payload byte.
    pub seq: u32,
    /// Acknowledgement number: next byte that the other end expects.
    pub ack: u32,
    /// SYN flag.
    pub syn: bool,
    /// ACK flag.
    pub has_ack: bool,
    /// True if the FIN or the RST flag is set.
    pub ends: bool,
    /// SACK blocks, first sequence number and one past the last of each, and the number of blocks.
    pub sack: ([(u32, u32); 4], usize),
    /// `TSval` and `TSecr` of the timestamps option (RFC 7323); `None` without the option.
    pub timestamps: Option<(u32, u32)>,
    /// Maximum segment size option in bytes; `None` without it.
    pub mss: Option<u16>,
    /// True for a SYN with its options in the order that Linux alone uses: maximum segment size, SACK permitted,
    /// timestamps, no operation, window scale.
    pub is_of_linux: bool,
}

/// True if frames of the link type can be parsed.
pub(super) fn is_known(link_type: u32) -> bool {
    matches!(link_type, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// IP packet in a frame; `None` if the link layer carries another protocol.
fn ip_of(link_type: u32, bytes: &[u8]) -> Option<&[u8]> {
    let ether = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    match link_type {
        1 | 113 | 276 => {
            let (mut at, mut kind) = match link_type {
                1 => (14, ether(12)?),
                113 => (16, ether(14)?),
                _ => (20, ether(0)?),
            };
            // VLAN tags.
            while matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
                kind = ether(at + 2)?;
                at += 4;
            }
            // PPPoE session, and the PPP protocol in it (RFC 2516 section 4).
            if kind == 0x8864 {
                kind = match ether(at + 6)? {
                    0x0021 => 0x0800,
                    0x0057 => 0x86dd,
                    _ => return None,
                };
                at += 8;
            }
            matches!(kind, 0x0800 | 0x86dd).then(|| bytes.get(at..)).flatten()
        }
        0 | 108 => bytes.get(4..),
        _ => Some(bytes),
    }
}

impl Packet {
    /// TCP or UDP packet in a frame; `None` for other protocols, fragments after the first, and headers that were cut
    /// off.
    pub(super) fn of(frame: &Frame<'_>) -> Option<Self> {
        let ip = ip_of(frame.link_type, frame.bytes)?;
        // Length on the wire without the link layer's header.
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
                // IPv6 hop-by-hop, routing and destination options.
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
        // A packet captured before segmentation offload may have an IP length of 0.
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
                let quic = Quic::of(data);
                let data = &data[..data.len().min(FINGERPRINTED).min(payload as usize)];
                let fingerprint = fingerprint(data, payload, identification);
                let kind = match quic {
                    Some(quic) => Kind::Quic { fingerprint, quic },
                    None => Kind::Udp { fingerprint, begins: Begins::of(data) },
                };
                Some(Self { flow, bytes, payload, kind })
            }
            _ => None,
        }
    }
}

/// Number of first payload bytes in the fingerprint; QUIC datagrams differ from the tenth byte on.
const FINGERPRINTED: usize = 32;

/// FNV-1a hash of the properties of a datagram that are equal in the captures of both ends.
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
    let mut kinds = Vec::new();
    while at < end {
        if found.syn {
            kinds.push(bytes[at]);
        }
        match bytes[at] {
            0 => break,
            1 => at += 1,
            kind => {
                let size = usize::from(*bytes[..end].get(at + 1).unwrap_or(&0));
                if size < 2 || at + size > length {
                    break;
                }
                match (kind, size) {
                    // Of a SACK option that was cut off, the captured blocks: the first is the newest.
                    (5, 10 | 18 | 26 | 34) => {
                        let count = (end - at).min(size).saturating_sub(2) / 8;
                        for block in 0..count {
                            let from = at + 2 + 8 * block;
                            found.sack.0[block] = (four(from)?, four(from + 4)?);
                        }
                        found.sack.1 = count;
                    }
                    _ if at + size > end => break,
                    (2, 4) => found.mss = Some(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])),
                    (8, 10) => found.timestamps = Some((four(at + 2)?, four(at + 6)?)),
                    _ => {}
                }
                at += size;
            }
        }
    }
    found.is_of_linux = kinds == [2, 4, 8, 1, 3];
    Some(found)
}
