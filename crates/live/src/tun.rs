//! TUN devices, through which programs send and receive whole IP packets.

use crate::error::{LiveError, Trying};
use crate::offload::VirtioHeader;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, readv, retry_on_intr, write, writev};
use rustix::ioctl::{IntegerSetter, Updater, ioctl, opcode};
use std::ffi::{c_int, c_uint};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// TUN device, open in nonblocking mode, and removed on drop.
#[derive(Debug)]
pub(crate) struct Tun {
    device: OwnedFd,
    /// True if the device passes large segments, with a header in front of each packet that tells how to cut them.
    cuts: bool,
}

impl Tun {
    /// Creates the device `name` in the network namespace of the calling thread. With `cuts`, the reader must cut large
    /// segments.
    pub(crate) fn open(name: &str, cuts: bool) -> Result<Self, LiveError> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = open("/dev/net/tun", flags, Mode::empty()).trying_to("open /dev/net/tun")?;
        attach(device.as_fd(), name, cuts).trying_to("make a TUN device")?;
        if cuts {
            // Kernels before 6.2 have no UDP segmentation offload here.
            take_large(device.as_fd(), TCP | UDP)
                .or_else(|_| take_large(device.as_fd(), TCP))
                .trying_to("let a TUN device cut segments")?;
        }
        Ok(Self { device, cuts })
    }

    /// Creates a device from a socket that carries one packet per call.
    #[cfg(test)]
    pub(crate) fn fake(device: OwnedFd) -> Self {
        Self { device, cuts: false }
    }

    /// True if packets of the device may be large segments.
    pub(crate) fn cuts(&self) -> bool {
        self.cuts
    }

    /// Reads a packet that was routed to the device: its length, and its segmentation header; `None` if there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<Option<(VirtioHeader, usize)>, LiveError> {
        let mut header = VirtioHeader::default();
        let outcome = if self.cuts {
            let outcome = retry_on_intr(|| {
                let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut *buffer)];
                readv(&self.device, &mut parts)
            });
            outcome.map(|bytes| bytes.saturating_sub(size_of::<VirtioHeader>()))
        } else {
            retry_on_intr(|| read(&self.device, &mut *buffer))
        };
        match outcome {
            Ok(bytes) => Ok(Some((header, bytes))),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error).trying_to("read from a TUN device"),
        }
    }

    /// Hands a packet to the kernel as received from the device, in two parts: headers, if they are separate, and the
    /// rest.
    pub(crate) fn write(&self, header: &VirtioHeader, parts: [&[u8]; 2]) -> Result<(), Errno> {
        let written = match (self.cuts, parts) {
            (false, [[], packet]) => retry_on_intr(|| write(&self.device, packet)),
            (false, parts) => retry_on_intr(|| writev(&self.device, &parts.map(IoSlice::new))),
            (true, [headers, rest]) => {
                let all = [header, headers, rest].map(IoSlice::new);
                retry_on_intr(|| writev(&self.device, &all))
            }
        };
        written.map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Request for a TUN device: `struct ifreq` (netdevice(7)) as TUNSETIFF reads and writes it, a name and a union that
/// begins with flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    /// Padding of the union to 24 bytes, or 16 with pointers of four bytes.
    rest: [u8; 22],
}

/// Flags of the work that the kernel may leave to the reader: checksums, large TCP segments over IPv4 and IPv6, also
/// with CWR, and large UDP segments (`linux/if_tun.h`).
const TCP: usize = 0x01 | 0x02 | 0x04 | 0x08;
const UDP: usize = 0x20 | 0x40;

fn take_large(device: BorrowedFd<'_>, what: usize) -> Result<(), Errno> {
    const TUNSETOFFLOAD: rustix::ioctl::Opcode = opcode::write::<c_uint>(b'T', 208);
    // SAFETY: TUNSETOFFLOAD takes an integer by value.
    #[expect(unsafe_code, reason = "no safe call sets it")]
    unsafe {
        ioctl(device, IntegerSetter::<TUNSETOFFLOAD>::new_usize(what))
    }
}

fn attach(device: BorrowedFd<'_>, name: &str, cuts: bool) -> Result<(), Errno> {
    // linux/if_tun.h. The size in the number is that of an int, whatever the argument really is.
    const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 202);
    // IFF_TUN | IFF_NO_PI: whole IP packets without a prefix, or with IFF_VNET_HDR with a segmentation header.
    let flags = 0x0001 | 0x1000 | if cuts { 0x4000 } else { 0 };
    let mut request = InterfaceRequest { name: [0; 16], flags, rest: [0; 22] };
    // The last byte stays zero and terminates the name.
    let bytes = name.len().min(15);
    request.name[..bytes].copy_from_slice(&name.as_bytes()[..bytes]);
    // SAFETY: TUNSETIFF reads one `struct ifreq`, writes it back with the name it has chosen, and keeps no
    // pointer to it. `request` is as large as that struct, or larger, and any bytes are valid in it.
    #[expect(unsafe_code, reason = "no safe call makes a TUN device")]
    unsafe {
        ioctl(device, Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request))
    }
}
