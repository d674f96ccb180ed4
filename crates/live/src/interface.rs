//! Network interfaces, set up through netlink (rtnetlink(7)).
//!
//! With the older ioctls only root may set the length of a queue.

use crate::error::{LiveError, Trying};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use std::fs::read_to_string;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// Type of a message that sets up a link (linux/rtnetlink.h); the next two set up an address and a route.
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;

/// Flags of a request with acknowledgement (linux/netlink.h); the next two are those of a creation.
const REQUEST_ACK: u16 = 0x0001 | 0x0004;
const REPLACE: u16 = 0x0100;
const CREATE: u16 = 0x0400;
const NLMSG_ERROR: u16 = 2;

/// Attribute of a link: its MTU (`linux/if_link.h`); the next ones are its queue length, and addresses
/// (`linux/if_addr.h`).
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// Attribute of a route: its destination (linux/rtnetlink.h); the next ones are further attributes, and metrics
/// (`RTAX`).
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_WINDOW: u16 = 3;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_QUICKACK: u16 = 15;
const RTAX_CC_ALGO: u16 = 16;

/// Scope of a route to other networks (linux/rtnetlink.h).
const SCOPE_UNIVERSE: u8 = 0;
const SCOPE_LINK: u8 = 253;

/// Flag of an interface that is up (linux/if.h).
const IFF_UP: u32 = 1;

/// Length of the kernel's queue towards the emulator, in packets. At the default of 500, packets are lost there while
/// the emulator waits for a processor.
const TX_QUEUE_LEN: u32 = 10_000;

/// Length of the network prefix of IPv4 addresses, in bits.
const PREFIX: u8 = 24;
const PREFIX_IPV6: u8 = 64;

/// Flag that skips duplicate address detection (`linux/if_addr.h`).
const IFA_F_NODAD: u8 = 0x02;

/// TCP options of a host's route through the link (ip-route(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpRoute {
    /// Congestion control of new connections, by the kernel's name; `None`: the host's default.
    pub congestion: Option<String>,
    /// Largest receive window in bytes at the handshake; `None`: the host's default. The window may grow later (see
    /// [`PumpConfig::receive_window`](crate::PumpConfig)).
    pub window: Option<u32>,
    /// Initial congestion window in segments; `None`: the kernel's default.
    pub initial_window: Option<u32>,
    /// Minimum retransmission timeout in milliseconds; `None`: the kernel's default.
    pub rto_min_ms: Option<u32>,
    /// True if every segment is acknowledged at once.
    pub quick_acks: bool,
}

/// Network interface in the network namespace of the calling thread.
pub(crate) struct Interface {
    socket: OwnedFd,
    index: u32,
}

impl Interface {
    /// Opens the interface `name`.
    pub(crate) fn new(name: &str) -> Result<Self, LiveError> {
        let (family, kind, flags) = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
        // Protocol 0 is NETLINK_ROUTE.
        let socket = socket_with(family, kind, flags, None).trying_to("open netlink")?;
        let index = name_to_index(&socket, name).trying_to("find a network device")?;
        Ok(Self { socket, index })
    }

    /// Brings the interface up.
    pub(crate) fn bring_up(&self) -> Result<(), LiveError> {
        self.change(&[]).trying_to("bring a network device up")
    }

    /// Assigns an address and an MTU to the interface, and brings it up.
    pub(crate) fn configure(&self, address: Ipv4Addr, mtu: u32) -> Result<(), LiveError> {
        let mut body = vec![AddressFamily::INET.as_raw() as u8, PREFIX, 0, 0];
        body.extend(self.index.to_ne_bytes());
        body.extend(attribute(IFA_LOCAL, address.octets()));
        body.extend(attribute(IFA_ADDRESS, address.octets()));
        self.request(RTM_NEWADDR, CREATE, &body).trying_to("set the address of a network device")?;
        let attributes = [(IFLA_MTU, mtu), (IFLA_TXQLEN, TX_QUEUE_LEN)];
        let attributes = attributes.map(|(kind, value)| attribute(kind, value.to_ne_bytes())).concat();
        self.change(&attributes).trying_to("set the MTU and queue length of a network device")
    }

    /// Assigns an IPv6 address without duplicate address detection, since no other host can have it.
    pub(crate) fn add_ipv6(&self, address: Ipv6Addr) -> Result<(), LiveError> {
        // struct ifaddrmsg: family, prefix, flags, scope, index.
        let mut body = vec![AddressFamily::INET6.as_raw() as u8, PREFIX_IPV6, IFA_F_NODAD, 0];
        body.extend(self.index.to_ne_bytes());
        body.extend(padded(IFA_LOCAL, &address.octets()));
        body.extend(padded(IFA_ADDRESS, &address.octets()));
        self.request(RTM_NEWADDR, CREATE, &body).trying_to("set the IPv6 address of a network device")
    }

    /// Replaces the route to the network of `address` by one with the metrics of `tcp`.
    pub(crate) fn route(&self, address: Ipv4Addr, tcp: &TcpRoute) -> Result<(), LiveError> {
        let network = u32::from(address) & (u32::MAX << (32 - PREFIX));
        let way = [attribute(RTA_DST, network.to_be_bytes()), attribute(RTA_PREFSRC, address.octets())];
        self.new_route(PREFIX, SCOPE_LINK, &way.concat(), tcp)
    }

    /// Adds a default route through `gateway`, with the metrics of `tcp`.
    pub(crate) fn default_route(&self, gateway: Ipv4Addr, tcp: &TcpRoute) -> Result<(), LiveError> {
        self.new_route(0, SCOPE_UNIVERSE, &attribute(RTA_GATEWAY, gateway.octets()), tcp)
    }

    fn new_route(&self, prefix: u8, scope: u8, way: &[u8], tcp: &TcpRoute) -> Result<(), LiveError> {
        // struct rtmsg: family, two prefixes, type of service, table main, protocol static, scope, unicast.
        let mut body = vec![AddressFamily::INET.as_raw() as u8, prefix, 0, 0, 254, 4, scope, 1, 0, 0, 0, 0];
        body.extend(way);
        body.extend(attribute(RTA_OIF, self.index.to_ne_bytes()));
        let numbers = [
            (RTAX_WINDOW, tcp.window),
            (RTAX_INITCWND, tcp.initial_window),
            (RTAX_RTO_MIN, tcp.rto_min_ms),
            (RTAX_QUICKACK, tcp.quick_acks.then_some(1)),
        ];
        let numbers =
            numbers.into_iter().filter_map(|(kind, value)| Some((kind, value?.to_ne_bytes().to_vec())));
        let name = tcp.congestion.iter().map(|name| (RTAX_CC_ALGO, name.bytes().chain([0]).collect()));
        let metrics: Vec<u8> = numbers.chain(name).flat_map(|(kind, value)| padded(kind, &value)).collect();
        body.extend(padded(RTA_METRICS, &metrics));
        self.request(RTM_NEWROUTE, CREATE | REPLACE, &body)
            .trying_to("set a route with the properties of TCP")
    }

    fn change(&self, attributes: &[u8]) -> Result<(), Errno> {
        // struct ifinfomsg: family, type, index, flags, mask of flags to change.
        let mut body = vec![0; 4];
        body.extend([self.index, IFF_UP, IFF_UP].map(u32::to_ne_bytes).concat());
        body.extend(attributes);
        self.request(RTM_NEWLINK, 0, &body)
    }

    fn request(&self, kind: u16, flags: u16, body: &[u8]) -> Result<(), Errno> {
        // struct nlmsghdr: length, type, flags, sequence number, port.
        let mut message = (16 + body.len() as u32).to_ne_bytes().to_vec();
        message.extend([kind, REQUEST_ACK | flags].map(u16::to_ne_bytes).concat());
        message.extend([0; 8]);
        message.extend(body);
        send(&self.socket, &message, SendFlags::empty())?;
        let mut answer = [0; 512];
        let (_, bytes) = recv(&self.socket, &mut answer, RecvFlags::empty())?;
        // The header of the request, then struct nlmsgerr, which starts with a negative error number, or zero.
        let is_answer = bytes >= 20 && answer[4..6] == NLMSG_ERROR.to_ne_bytes();
        let error = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
        match error.checked_neg() {
            Some(0) if is_answer => Ok(()),
            Some(error) if is_answer => Err(Errno::from_raw_os_error(error)),
            _ => Err(Errno::PROTO),
        }
    }
}

/// Netlink attribute (struct rtattr: length, type, value) with a value of four bytes, which needs no padding.
fn attribute(kind: u16, value: [u8; 4]) -> [u8; 8] {
    let [a, b] = 8_u16.to_ne_bytes();
    let [c, d] = kind.to_ne_bytes();
    let [e, f, g, h] = value;
    [a, b, c, d, e, f, g, h]
}

/// Netlink attribute with a value of any length, padded to a multiple of four bytes.
fn padded(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [4 + value.len() as u16, kind].map(u16::to_ne_bytes).concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Number of packets for interface `name` in the calling thread's network namespace that the kernel dropped because
/// earlier ones were not read in time.
pub(crate) fn tx_dropped(name: &str) -> Result<u64, LiveError> {
    let devices = read_to_string("/proc/thread-self/net/dev").trying_to("read /proc/thread-self/net/dev")?;
    // proc_net_dev(5): eight counters of received traffic, then bytes, packets, errs and drop of sent traffic.
    let figures = devices.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    let dropped = figures.and_then(|figures| figures.split_whitespace().nth(11)?.parse().ok());
    dropped
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        .trying_to("find a network device in /proc/thread-self/net/dev")
}
