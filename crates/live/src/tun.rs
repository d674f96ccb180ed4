//! TUN devices, through which programs send and receive whole IP packets.

use crate::error::{LiveError, Trying};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::ioctl::{Updater, ioctl, opcode};
use std::ffi::c_int;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A TUN device, open and not blocking. It is gone when this is.
#[derive(Debug)]
pub(crate) struct Tun {
    device: OwnedFd,
}

impl Tun {
    /// Makes the device called `name` in the network namespace of the calling thread.
    pub(crate) fn open(name: &str) -> Result<Self, LiveError> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = open("/dev/net/tun", flags, Mode::empty()).trying_to("open /dev/net/tun")?;
        attach(device.as_fd(), name).trying_to("make a TUN device")?;
        Ok(Self { device })
    }

    /// Reads a packet that was routed to the device; `None` if there is none.
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, LiveError> {
        match retry_on_intr(|| read(&self.device, &mut *buffer)) {
            Ok(bytes) => Ok(Some(&buffer[..bytes])),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error).trying_to("read from a TUN device"),
        }
    }

    /// Hands a packet to the kernel, as if it had come in from the device.
    pub(crate) fn write(&self, packet: &[u8]) -> Result<(), Errno> {
        retry_on_intr(|| write(&self.device, packet)).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// `struct ifreq` (netdevice(7)) as TUNSETIFF reads and writes it: a name, and a union that begins with
/// flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    /// The union has 24 bytes, or 16 where pointers have four.
    rest: [u8; 22],
}

fn attach(device: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    // linux/if_tun.h. The size in the number is that of an int, whatever the argument really is.
    const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 202);
    // IFF_TUN | IFF_NO_PI: whole IP packets, and nothing in front of them.
    let mut request = InterfaceRequest { name: [0; 16], flags: 0x0001 | 0x1000, rest: [0; 22] };
    // The last byte stays zero: names end there.
    let bytes = name.len().min(15);
    request.name[..bytes].copy_from_slice(&name.as_bytes()[..bytes]);
    // SAFETY: TUNSETIFF reads one `struct ifreq`, writes it back with the name it has chosen, and keeps no
    // pointer to it. `request` is as large as that struct, or larger, and any bytes are valid in it.
    #[expect(unsafe_code, reason = "no safe call makes a TUN device")]
    unsafe {
        ioctl(device, Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request))
    }
}
