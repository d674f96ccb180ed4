//! A namespace of processes: its first process takes all others with it when it ends.
//!
//! For a program that is about to fork, and has one thread.

use crate::error::{LiveError, Trying};
use crate::namespace::{enter_user_namespace, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;
use std::fs::read_to_string;

/// The next process that the calling thread starts is the first one of a new process namespace, and those
/// after it are beside it. The thread cannot start threads any more.
///
/// # Errors
/// The process lacks the privilege: see [`gain_privileges`](crate::gain_privileges).
pub fn new_process_namespace() -> Result<(), LiveError> {
    unshare(UnshareFlags::NEWPID).trying_to("make a process namespace")
}

/// The calling process is killed when the thread that started it ends, however it ends.
///
/// # Errors
/// The system does not allow it.
pub fn die_with_parent() -> Result<(), LiveError> {
    set_parent_process_death_signal(Some(Signal::KILL)).trying_to("die with the parent")
}

/// What the calling process mounts from here on, it and those that it starts see alone.
///
/// # Errors
/// The system does not allow it.
pub fn new_mount_namespace() -> Result<(), LiveError> {
    unshare(UnshareFlags::NEWNS).trying_to("make a mount namespace")?;
    let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", private).trying_to("keep mounts private")
}

/// Puts one file in the place of another: in a mount namespace of your own, or all of the system sees it.
///
/// # Errors
/// The system does not allow it; there is no such file.
pub fn cover(path: &str, by: &str) -> Result<(), LiveError> {
    mount_bind(by, path).trying_to("put a file in the place of another")
}

/// Gives the calling process a `/proc` of its process namespace; it has a mount namespace of its own.
///
/// # Errors
/// The system does not allow it: in a container whose own `/proc` has parts hidden.
pub fn mount_proc() -> Result<(), LiveError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).trying_to("mount /proc")
}

/// In the user namespace that [`gain_privileges`](crate::gain_privileges) has entered, the calling process becomes the
/// user again who entered it; it has no privileges any more once it runs another program. Elsewhere it stays
/// who it is.
///
/// # Errors
/// The system does not allow it.
pub fn become_user() -> Result<(), LiveError> {
    let outside = |map: &str| {
        let map = read_to_string(map).trying_to("read the users of a namespace")?;
        let mut numbers = map.split_whitespace().map(|number| number.parse::<u32>().ok());
        Ok(match [numbers.next(), numbers.next(), numbers.next()] {
            // One user, who is another outside.
            [Some(Some(0)), Some(Some(outside)), Some(Some(1))] => Some(outside),
            _ => None,
        })
    };
    match (outside("/proc/self/uid_map")?, outside("/proc/self/gid_map")?) {
        (Some(user), Some(group)) if user != 0 => enter_user_namespace([user, group], [0, 0]),
        _ => Ok(()),
    }
}
