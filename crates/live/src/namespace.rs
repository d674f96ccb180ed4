//! Network namespaces, created with or without root privileges.

use crate::error::{LiveError, Trying};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space, unshare_unsafe,
};
use std::fs::{File, write};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::resume_unwind;
use std::process::{Child, Command};
use std::thread::scope;

/// Network namespace with its own interfaces, addresses, routes and ports.
///
/// It has no name, and exists as long as this object, a process or an open file in it.
#[derive(Debug)]
pub(crate) struct Namespace {
    handle: File,
}

impl Namespace {
    /// Creates an empty namespace.
    ///
    /// # Errors
    /// The process lacks the privilege: see [`gain_privileges`].
    pub(crate) fn new() -> Result<Self, LiveError> {
        on_a_thread(|| {
            unshare(UnshareFlags::NEWNET).trying_to("make a network namespace")?;
            let handle = File::open("/proc/thread-self/ns/net").trying_to("open a network namespace")?;
            Ok(Self { handle })
        })
    }

    /// Calls `f` on a new thread inside the namespace. Sockets that it opens stay inside.
    ///
    /// # Errors
    /// The process lacks the privilege.
    pub(crate) fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
        on_a_thread(|| {
            self.enter()?;
            Ok(f())
        })
    }

    /// Moves the calling thread into the namespace for the rest of its life.
    ///
    /// # Errors
    /// The process lacks the privilege.
    pub(crate) fn enter(&self) -> Result<(), LiveError> {
        move_into_link_name_space(self.handle.as_fd(), Some(LinkNameSpaceType::Network))
            .trying_to("enter a network namespace")
    }

    /// Path at which another process finds the namespace, for the lifetime of this process.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.handle.as_raw_fd())
    }

    /// Starts a program inside the namespace.
    ///
    /// # Errors
    /// The program could not be started.
    pub(crate) fn spawn(&self, command: &mut Command) -> Result<Child, LiveError> {
        // A new process inherits the namespace of the thread that creates it.
        self.run(|| command.spawn())?.trying_to("start a program")
    }
}

/// Calls `f` on a new thread and returns its result: entering a namespace affects only that thread.
fn on_a_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    scope(|scope| scope.spawn(f).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Ensures that this process can create network namespaces; without privileges it enters a user namespace as root. Call
/// it while the process has only one thread.
///
/// # Errors
/// The system does not allow user namespaces, or other threads exist.
pub fn gain_privileges() -> Result<(), LiveError> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    if capabilities(None).is_ok_and(|own| own.effective.contains(needed)) {
        return Ok(());
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    enter_user_namespace([0, 0], [user.as_raw(), group.as_raw()])
}

/// Moves the calling process, which must have one thread, into a user namespace in which user and group `outside` have
/// the ids `inside`.
pub(crate) fn enter_user_namespace(inside: [u32; 2], outside: [u32; 2]) -> Result<(), LiveError> {
    unshare(UnshareFlags::NEWUSER).trying_to("enter a user namespace")?;
    // user_namespaces(7): a process without privileges may map only its own user, and its group only after giving up
    // setgroups.
    write("/proc/self/setgroups", "deny").trying_to("write /proc/self/setgroups")?;
    let map = |i: usize| format!("{} {} 1", inside[i], outside[i]);
    write("/proc/self/uid_map", map(0)).trying_to("write /proc/self/uid_map")?;
    write("/proc/self/gid_map", map(1)).trying_to("write /proc/self/gid_map")
}

pub(crate) fn unshare(namespaces: UnshareFlags) -> Result<(), rustix::io::Errno> {
    // FILES is the only flag that can violate Rust's safety rules.
    assert!(!namespaces.contains(UnshareFlags::FILES));
    // SAFETY: the table of file descriptors stays shared with all threads, since FILES is not set.
    #[expect(unsafe_code, reason = "unshare is unsafe because of FILES")]
    unsafe {
        unshare_unsafe(namespaces)
    }
}
