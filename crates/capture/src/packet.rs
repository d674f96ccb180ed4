//! IP packet of a capture: IP and TCP or UDP headers with their checksums.

use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader, UdpHeader, ip_number};

/// Version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IpVersion {
    /// IPv4, RFC 791.
    #[default]
    V4,
    /// IPv6, RFC 8200.
    V6,
}

/// Largest payload of an IPv4 packet: 65535 bytes less the IP header and 32 bytes, the longest TCP header of a data
/// segment here.
pub(crate) const MAX_MSS: u32 = 65_535 - 20 - 32;

/// Snapshot length that holds every IPv6 and TCP header, so that files of long runs stay small. Headers still have the
/// lengths and checksums of whole packets, but tools cannot verify the checksums.
pub const HEADERS_ONLY: u32 = 40 + 60;

/// Largest window scale (RFC 7323 section 2.3).
pub(crate) const MAX_SHIFT: u8 = 14;
/// Largest receiver window that a TCP header can advertise, in bytes.
pub(crate) const MAX_WINDOW: u64 = (u16::MAX as u64) << MAX_SHIFT;

/// Destination port of every flow: discard, a service that ignores what it receives (RFC 863).
const RECEIVER_PORT: u16 = 9;

/// Source port of flow 0; flow 1 has 50001, and so on, all dynamic ports (RFC 6335 section 6). The next host takes over
/// before 57000, where Wireshark begins to look for other protocols in the payload.
const FIRST_SENDER_PORT: u16 = 50_000;
const FLOWS_PER_HOST: u32 = 7_000;

/// IP time to live of a packet that no router forwarded (the default of RFC 1700 and of Linux).
const TIME_TO_LIVE: u8 = 64;

/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: u32 = 8;

/// IP packet: its bytes up to a payload of zeros, and the number of zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) headers: Vec<u8>,
    pub(crate) zeros: u32,
}

/// Direction of a packet: with the data, or with the acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    ToReceiver,
    ToSender,
}

impl Direction {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::ToReceiver => Self::ToSender,
            Self::ToSender => Self::ToReceiver,
        }
    }
}

/// IP version, addresses and ports of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoints {
    version: IpVersion,
    sender_host: u32,
    sender_port: u16,
}

impl Endpoints {
    pub(crate) fn new(version: IpVersion, flow: u32) -> Self {
        let sender_port = FIRST_SENDER_PORT + (flow % FLOWS_PER_HOST) as u16;
        Self { version, sender_host: 1 + flow / FLOWS_PER_HOST, sender_port }
    }

    /// Orders the sender's and the receiver's value as source and destination of a packet in `direction`.
    fn order<T>(direction: Direction, sender: T, receiver: T) -> (T, T) {
        match direction {
            Direction::ToReceiver => (sender, receiver),
            Direction::ToSender => (receiver, sender),
        }
    }

    /// TCP header with ports alone; all other fields are zero.
    pub(crate) fn tcp(self, direction: Direction) -> TcpHeader {
        let (source, destination) = Self::order(direction, self.sender_port, RECEIVER_PORT);
        TcpHeader::new(source, destination, 0, 0)
    }

    /// Bytes of the IP and TCP headers in front of `payload_len` zeros, checksums included; only IPv4 uses
    /// `identification`.
    pub(crate) fn headers(
        self,
        direction: Direction,
        ecn: IpEcn,
        identification: u16,
        mut tcp: TcpHeader,
        payload_len: u32,
    ) -> Vec<u8> {
        const FITS: &str = "the MSS was checked";
        let tcp_len = tcp.header_len_u16() + payload_len as u16;
        let mut bytes = Vec::with_capacity(100);
        match self.version {
            IpVersion::V4 => {
                let ip = self.ipv4(direction, ecn, identification, ip_number::TCP, tcp_len);
                let alone = tcp.calc_checksum_ipv4(&ip, &[]).expect(FITS);
                tcp.checksum = with_zeros(alone, payload_len);
                bytes.extend(ip.to_bytes());
            }
            IpVersion::V6 => {
                let ip = self.ipv6(direction, ecn, ip_number::TCP, tcp_len);
                let alone = tcp.calc_checksum_ipv6(&ip, &[]).expect(FITS);
                tcp.checksum = with_zeros(alone, payload_len);
                bytes.extend(ip.to_bytes());
            }
        }
        bytes.extend(tcp.to_bytes());
        bytes
    }

    /// Bytes of a UDP datagram up to its trailing `zeros`, which the lengths and the checksum include.
    pub(crate) fn datagram(
        self,
        direction: Direction,
        ecn: IpEcn,
        identification: u16,
        payload: &[u8],
        zeros: u32,
    ) -> Vec<u8> {
        const FITS: &str = "sizes of packets were checked";
        let (source_port, destination_port) = Self::order(direction, self.sender_port, RECEIVER_PORT);
        let length = 8 + payload.len() as u16 + zeros as u16;
        let mut udp = UdpHeader { source_port, destination_port, length, checksum: 0 };
        let mut bytes = Vec::with_capacity(100);
        // The UDP length includes the zeros, which add nothing else to the checksum (RFC 1071).
        match self.version {
            IpVersion::V4 => {
                let ip = self.ipv4(direction, ecn, identification, ip_number::UDP, length);
                udp.checksum = udp.calc_checksum_ipv4(&ip, payload).expect(FITS);
                bytes.extend(ip.to_bytes());
            }
            IpVersion::V6 => {
                let ip = self.ipv6(direction, ecn, ip_number::UDP, length);
                udp.checksum = udp.calc_checksum_ipv6(&ip, payload).expect(FITS);
                bytes.extend(ip.to_bytes());
            }
        }
        bytes.extend(udp.to_bytes());
        bytes.extend(payload);
        bytes
    }

    /// Bytes of the IP header: 20 for IPv4, 40 for IPv6.
    pub(crate) fn ip_header_len(self) -> u32 {
        match self.version {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    fn ipv4(
        self,
        direction: Direction,
        ecn: IpEcn,
        identification: u16,
        next: IpNumber,
        len: u16,
    ) -> Ipv4Header {
        // Senders in 10.0.0.0/9, the receiver in 10.128.0.0/9 (RFC 1918).
        let sender = (0x0a00_0000 + self.sender_host).to_be_bytes();
        let (source, destination) = Self::order(direction, sender, [10, 128, 0, 1]);
        let ip = Ipv4Header::new(len, TIME_TO_LIVE, next, source, destination);
        let mut ip = ip.expect("sizes of packets were checked");
        ip.ecn = ecn;
        ip.identification = identification;
        ip.header_checksum = ip.calc_header_checksum();
        ip
    }

    fn ipv6(
        self,
        direction: Direction,
        ecn: IpEcn,
        next_header: IpNumber,
        payload_length: u16,
    ) -> Ipv6Header {
        // Prefix for documentation (RFC 3849), one subnet for the senders and one for the receiver.
        let host = |subnet: u128, host: u32| {
            (0x2001_0db8_u128 << 96 | subnet << 64 | u128::from(host)).to_be_bytes()
        };
        let (source, destination) = Self::order(direction, host(0, self.sender_host), host(1, 1));
        let mut ip = Ipv6Header {
            payload_length,
            next_header,
            hop_limit: TIME_TO_LIVE,
            source,
            destination,
            ..Ipv6Header::default()
        };
        ip.set_ecn(ecn);
        ip
    }
}

/// TCP checksum with `payload_len` zeros after the header: zeros leave the one's complement sum as it is (RFC 1071),
/// but the pseudo-header includes their number (RFC 9293 section 3.1).
fn with_zeros(checksum: u16, payload_len: u32) -> u16 {
    let sum = u32::from(!checksum) + payload_len;
    !((sum & 0xffff) + (sum >> 16)) as u16
}
