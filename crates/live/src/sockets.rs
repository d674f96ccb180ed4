//! TCP sockets of a host as the kernel sees them (`sock_diag(7)`, as `ss -tin` prints them).

use crate::error::{LiveError, Trying};
use crate::host::Host;
use rustix::io::Errno;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use std::os::fd::OwnedFd;

/// Request for sockets by family, and values of the request (`linux/sock_diag.h`, linux/netlink.h).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x0001 | 0x0300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Types of attributes (`linux/inet_diag.h`).
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;

/// Mask of the states that have a connection: established, closing, and waiting for the acknowledgement of the end
/// (`net/tcp_states.h`).
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// State of a TCP socket at one time, as the kernel reports it in `struct tcp_info`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpSample {
    /// Local port of the socket.
    pub port: u16,
    /// Remote port of the socket.
    pub remote_port: u16,
    /// Congestion control of the socket, as the kernel names it.
    pub congestion: String,
    /// State of the congestion control: 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    pub state: u8,
    /// Number of consecutive expiries of the retransmission timer.
    pub backoff: u8,
    /// Maximum number of data bytes in a segment.
    pub mss: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Number of segments sent and not acknowledged.
    pub unacked: u32,
    /// Number of unacknowledged segments that SACK has reported.
    pub sacked: u32,
    /// Number of unacknowledged segments considered lost.
    pub lost: u32,
    /// Number of unacknowledged segments that were retransmitted and are in flight.
    pub retransmitted: u32,
    /// Retransmission timeout in microseconds.
    pub rto_us: u32,
    /// Smoothed RTT in microseconds (`srtt`).
    pub srtt_us: u32,
    /// Mean deviation of the RTT in microseconds (`rttvar`).
    pub rttvar_us: u32,
    /// Minimum RTT in microseconds (`min_rtt`).
    pub min_rtt_us: u32,
    /// Number of segments retransmitted since the socket was opened.
    pub retransmissions: u32,
    /// Number of expiries of the retransmission timer since the socket was opened (since Linux 6.7).
    pub timeouts: u16,
    /// Number of segments sent that contain data, including retransmissions.
    pub data_segments_out: u32,
    /// Number of segments received that contain data.
    pub data_segments_in: u32,
    /// Number of bytes acknowledged by the other end.
    pub bytes_acked: u64,
    /// Number of bytes received in order.
    pub bytes_received: u64,
    /// Delivery rate that the kernel estimates, in byte/s.
    pub delivery_rate: u64,
    /// Pacing rate in byte/s.
    pub pacing_rate: u64,
}

/// Sampler of a host's TCP sockets.
#[derive(Debug)]
pub struct SocketWatch {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl SocketWatch {
    /// Creates a sampler for the sockets of `host`.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn new(host: &Host) -> Result<Self, LiveError> {
        let (family, kind, flags) = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = host.run(|| socket_with(family, kind, flags, Some(SOCK_DIAG)))?;
        Ok(Self { socket: socket.trying_to("open netlink")?, buffer: vec![0; 1 << 16] })
    }

    /// Samples the host's TCP sockets that have a connection.
    ///
    /// # Errors
    /// The kernel does not provide them.
    pub fn sample(&mut self) -> Result<Vec<TcpSample>, LiveError> {
        let mut samples = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            self.dump(family, &mut samples).trying_to("look at TCP sockets")?;
        }
        Ok(samples)
    }

    fn dump(&mut self, family: AddressFamily, samples: &mut Vec<TcpSample>) -> Result<(), Errno> {
        // struct nlmsghdr, then struct inet_diag_req_v2: family, TCP, requested attributes, states, any socket.
        let mut message = 72_u32.to_ne_bytes().to_vec();
        message.extend([SOCK_DIAG_BY_FAMILY, REQUEST_DUMP].map(u16::to_ne_bytes).concat());
        message.extend([0; 8]);
        message.extend([family.as_raw() as u8, 6, 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1), 0]);
        message.extend(STATES.to_ne_bytes());
        message.resize(72, 0);
        send(&self.socket, &message, SendFlags::empty())?;
        loop {
            let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            let mut rest = &self.buffer[..length.min(self.buffer.len())];
            if rest.is_empty() {
                return Err(Errno::PROTO);
            }
            while let Some((kind, content, after)) = message_of(rest) {
                match kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let code = u32_at(content, 0).unwrap_or(0).cast_signed();
                        return Err(Errno::from_raw_os_error(-code));
                    }
                    _ => samples.extend(TcpSample::parse(content)),
                }
                rest = after;
            }
        }
    }
}

/// Splits off the first message of a netlink answer: its type, its content, and the remaining bytes.
fn message_of(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let content = bytes.get(16..length)?;
    Some((kind, content, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

impl TcpSample {
    /// Parses a `struct inet_diag_msg` (72 bytes) and its attributes into a sample; `None` for invalid bytes.
    fn parse(message: &[u8]) -> Option<Self> {
        let mut sample = Self {
            port: u16::from_be_bytes([*message.get(4)?, *message.get(5)?]),
            remote_port: u16::from_be_bytes([*message.get(6)?, *message.get(7)?]),
            ..Self::default()
        };
        let mut rest = message.get(72..)?;
        let mut has_info = false;
        while let [a, b, kind_a, kind_b, ..] = *rest {
            let length = usize::from(u16::from_ne_bytes([a, b]));
            let value = rest.get(4..length)?;
            match u16::from_ne_bytes([kind_a, kind_b]) {
                INET_DIAG_INFO => {
                    sample.read_info(value);
                    has_info = true;
                }
                INET_DIAG_CONG => {
                    let name = value.split(|&byte| byte == 0).next().unwrap_or_default();
                    sample.congestion = String::from_utf8_lossy(name).into_owned();
                }
                _ => {}
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        has_info.then_some(sample)
    }

    /// Reads the fields of `struct tcp_info` (linux/tcp.h), which is longer in newer kernels.
    fn read_info(&mut self, info: &[u8]) {
        let u8_at = |at: usize| info.get(at).copied().unwrap_or(0);
        let word = |at| u32_at(info, at).unwrap_or(0);
        let long = |at| {
            let bytes = info.get(at..at + 8);
            bytes.map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
        };
        (self.state, self.backoff) = (u8_at(1), u8_at(4));
        (self.rto_us, self.mss) = (word(8), word(16));
        (self.unacked, self.sacked, self.lost, self.retransmitted) = (word(24), word(28), word(32), word(36));
        (self.srtt_us, self.rttvar_us) = (word(68), word(72));
        (self.ssthresh, self.cwnd) = (word(76), word(80));
        self.retransmissions = word(100);
        self.pacing_rate = long(104);
        (self.bytes_acked, self.bytes_received) = (long(120), long(128));
        self.min_rtt_us = word(148);
        (self.data_segments_in, self.data_segments_out) = (word(152), word(156));
        self.delivery_rate = long(160);
        self.timeouts = u16::from_ne_bytes([u8_at(240), u8_at(241)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            message_of(&bytes);
            TcpSample::parse(&bytes);
        }
    }
}
