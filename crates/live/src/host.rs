//! Host of an emulation: a network namespace with a TUN device.

use crate::error::{LiveError, Trying};
use crate::interface::{Interface, TcpRoute, tx_dropped};
use crate::namespace::Namespace;
use crate::tun::Tun;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command};
use std::sync::Arc;

/// Name of a host's TUN device in its namespace.
const DEVICE: &str = "tun0";

/// Settings of every host, ignored if the kernel lacks one: any user may ping and serve at any port, and connections do
/// not inherit values learnt by earlier ones.
const USUAL: [(&str, &str); 3] =
    [("ping_group_range", "0 2147483647"), ("ip_unprivileged_port_start", "0"), ("tcp_no_metrics_save", "1")];

/// IPv6 settings that allow only the assigned addresses, and no router solicitations.
const SILENT_IPV6: &[(&str, &str)] =
    &[("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")];
const NO_IPV6: &[(&str, &str)] = &[("disable_ipv6", "1")];

/// Options of the two hosts of an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostOptions {
    /// Size of the largest packet in bytes.
    pub mtu: u32,
    /// True if hosts have IPv6 addresses, `fd77::1` and `fd77::2`, besides IPv4. Their kernels then send some multicast
    /// group reports through the link.
    pub has_ipv6: bool,
    /// True if the emulator cuts large segments of TCP and, on request, of UDP, and merges packets that arrive
    /// together, like a network card with offload. This costs less processor time and causes fewer acknowledgements.
    /// The link still carries packets of at most the MTU.
    pub large_segments: bool,
}

impl Default for HostOptions {
    /// Packets of 1500 bytes, no IPv6, and no large segments: the kernel cuts them.
    fn default() -> Self {
        Self { mtu: 1500, has_ipv6: false, large_segments: false }
    }
}

/// One end of an emulation: a network namespace whose only route leads to a TUN device. Clones are the same host.
#[derive(Clone, Debug)]
pub struct Host {
    // Field order: the device is closed before the namespace.
    tun: Arc<Tun>,
    namespace: Arc<Namespace>,
    address: Ipv4Addr,
    mtu: u32,
}

impl Host {
    /// Creates two hosts in one network, 10.77.0.1 and 10.77.0.2, whose packets have at most `mtu` bytes.
    ///
    /// # Errors
    /// The operating system refuses network namespaces, `/dev/net/tun`, or the MTU (68 to 65535 bytes).
    pub fn pair(mtu: u32) -> Result<[Self; 2], LiveError> {
        Self::pair_with(HostOptions { mtu, ..HostOptions::default() })
    }

    /// Creates two hosts, like [`pair`](Self::pair), with the given options.
    ///
    /// # Errors
    /// As [`pair`](Self::pair); with IPv6 the MTU is less than 1280 bytes, or the kernel has no IPv6.
    pub fn pair_with(options: HostOptions) -> Result<[Self; 2], LiveError> {
        Ok([Self::new(1, options)?, Self::new(2, options)?])
    }

    fn new(number: u8, options: HostOptions) -> Result<Self, LiveError> {
        let HostOptions { mtu, has_ipv6, large_segments } = options;
        let address = Ipv4Addr::new(10, 77, 0, number);
        let namespace = Namespace::new()?;
        let tun = namespace.run(|| {
            // Otherwise each host sends router solicitations and group reports through the link, or with IPv6 only the
            // latter. A missing permission or missing IPv6 is ignored.
            let quiet = if has_ipv6 { SILENT_IPV6 } else { NO_IPV6 };
            for (name, value) in quiet {
                std::fs::write(format!("/proc/sys/net/ipv6/conf/default/{name}"), value).ok();
            }
            Interface::new("lo")?.bring_up()?;
            let tun = Tun::open(DEVICE, large_segments)?;
            Interface::new(DEVICE)?.configure(address, mtu)?;
            if has_ipv6 {
                let address = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(number));
                Interface::new(DEVICE)?.add_ipv6(address)?;
            }
            for (name, value) in USUAL {
                std::fs::write(sysctl(name), value).ok();
            }
            Ok(tun)
        })??;
        Ok(Self { tun: Arc::new(tun), namespace: Arc::new(namespace), address, mtu })
    }

    /// IPv4 address of the host.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Largest number of bytes that the host's device returns at once: a packet, or a large segment.
    pub(crate) fn most_bytes(&self) -> usize {
        if self.tun.cuts() { 0xffff } else { self.mtu as usize }
    }

    /// Sets the TCP options of the host's route through the link.
    ///
    /// # Errors
    /// The kernel has no such congestion control.
    pub fn set_tcp(&self, tcp: &TcpRoute) -> Result<(), LiveError> {
        self.run(|| Interface::new(DEVICE)?.route(self.address, tcp))?
    }

    /// Routes packets for other networks through `gateway`, the other host, with the TCP options of `tcp`.
    ///
    /// # Errors
    /// The kernel has no such congestion control.
    pub fn set_gateway(&self, gateway: &Self, tcp: &TcpRoute) -> Result<(), LiveError> {
        self.run(|| Interface::new(DEVICE)?.default_route(gateway.address, tcp))?
    }

    /// Forwards packets between other networks and `device`, which was moved into this namespace, and answers ARP
    /// requests on it for the other host.
    ///
    /// # Errors
    /// There is no such device.
    pub fn forward(&self, device: &str) -> Result<(), LiveError> {
        self.set_sysctl("ip_forward", "1")?;
        self.set_sysctl(&format!("conf/{device}/proxy_arp"), "1")
    }

    /// Path at which another process finds the host's network namespace.
    pub fn path(&self) -> String {
        self.namespace.path()
    }

    /// Sets the kernel setting `net.ipv4.NAME` on this host alone.
    ///
    /// # Errors
    /// The kernel lacks the setting, or has it for all namespaces in common.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<(), LiveError> {
        self.run(|| std::fs::write(sysctl(name), value).trying_to("set a property of TCP"))?
    }

    /// Moves the calling thread into this host's namespace for good, such as in a single-threaded process before it
    /// executes a program.
    ///
    /// # Errors
    /// The process lacks the privilege.
    pub fn enter(&self) -> Result<(), LiveError> {
        self.namespace.enter()
    }

    /// TUN device of the host.
    pub(crate) fn tun(&self) -> Arc<Tun> {
        Arc::clone(&self.tun)
    }

    /// Calls `f` on a thread in this host's namespace. Sockets that it opens stay there.
    ///
    /// # Errors
    /// The process lacks the privilege.
    pub fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
        self.namespace.run(f)
    }

    /// Starts a program on this host.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, LiveError> {
        self.namespace.spawn(command)
    }

    /// Number of packets of this host that the kernel dropped because the emulator did not read them in time.
    ///
    /// # Errors
    /// The system does not provide the number.
    pub fn ring_drops(&self) -> Result<u64, LiveError> {
        self.run(|| tx_dropped(DEVICE))?
    }
}

fn sysctl(name: &str) -> String {
    format!("/proc/sys/net/ipv4/{name}")
}
