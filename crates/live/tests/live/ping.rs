//! ICMP echo requests, answered by the kernel of the other host.

use crossfade_live::Host;
use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes of a ping's IP packet: 20 of IP, 8 of ICMP, 56 of payload, as the program `ping` sends.
pub(crate) const PING_BYTES: u32 = 84;

/// Time after which a missing answer ends the test.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a ping and waits for its answer, `count` times. Returns the round-trip times; a missing answer ends the test.
pub(crate) fn ping(from: &Host, to: Ipv4Addr, count: u16) -> Vec<Duration> {
    let socket = from.run(|| socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)));
    let socket = UdpSocket::from(socket.unwrap().unwrap());
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = [0; 1500];
    (0..count)
        .map(|seq| {
            let request = echo_request(seq);
            let sent = Instant::now();
            socket.send_to(&request, (to, 0)).unwrap();
            loop {
                let bytes = socket.recv(&mut answer).unwrap_or_else(|error| panic!("ping {seq}: {error}"));
                let rtt = sent.elapsed();
                // Behind the IP header: type 0, code, checksum, then what the request said.
                if bytes == PING_BYTES as usize && answer[20] == 0 && answer[24..bytes] == request[4..] {
                    return rtt;
                }
                assert!(rtt < PATIENCE, "ping {seq} was not answered");
            }
        })
        .collect()
}

/// ICMP echo request (RFC 792): type 8, code 0, checksum, identifier, sequence number, data.
fn echo_request(seq: u16) -> Vec<u8> {
    let mut message = vec![8, 0, 0, 0, 0xcf, 0xad];
    message.extend(seq.to_be_bytes());
    message.extend(0..56);
    let sum: u32 = message.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message
}
