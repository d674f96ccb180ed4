//! Process and mount namespaces: when the first process of a process namespace ends, all its others end too.
//!
//! These functions are for a single-threaded program that is about to fork.

use crate::error::{LiveError, Trying};
use crate::namespace::{enter_user_namespace, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;
use std::fs::read_to_string;

/// Makes the next process that the calling thread starts the first of a new process namespace, which later ones join.
/// The thread cannot start threads any more.
///
/// # Errors
/// The process lacks the privilege: see [`gain_privileges`](crate::gain_privileges).
pub fn new_process_namespace() -> Result<(), LiveError> {
    unshare(UnshareFlags::NEWPID).trying_to("make a process namespace")
}

/// Makes the kernel kill the calling process when the thread that started it ends.
///
/// # Errors
/// The system does not allow it.
pub fn die_with_parent() -> Result<(), LiveError> {
    set_parent_process_death_signal(Some(Signal::KILL)).trying_to("die with the parent")
}

/// Makes further mounts of the calling process visible only to it and to processes that it starts.
///
/// # Errors
/// The system does not allow it.
pub fn new_mount_namespace() -> Result<(), LiveError> {
    unshare(UnshareFlags::NEWNS).trying_to("make a mount namespace")?;
    let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", private).trying_to("keep mounts private")
}

/// Mounts the file `by` over `path`, visible in the current mount namespace.
///
/// # Errors
/// The system does not allow it; there is no such file.
pub fn cover(path: &str, by: &str) -> Result<(), LiveError> {
    mount_bind(by, path).trying_to("put a file in the place of another")
}

/// Mounts a `/proc` of the calling process's namespace; requires its own mount namespace.
///
/// # Errors
/// The system does not allow it, as in a container that hides parts of `/proc`.
pub fn mount_proc() -> Result<(), LiveError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).trying_to("mount /proc")
}

/// Restores the original user inside the user namespace that [`gain_privileges`](crate::gain_privileges) has entered;
/// the process loses its privileges when it executes another program. Without such a namespace nothing changes.
///
/// # Errors
/// The system does not allow it.
pub fn become_user() -> Result<(), LiveError> {
    let outside = |map: &str| {
        let map = read_to_string(map).trying_to("read the users of a namespace")?;
        let mut numbers = map.split_whitespace().map(|number| number.parse::<u32>().ok());
        Ok(match [numbers.next(), numbers.next(), numbers.next()] {
            // A single mapped user with another id outside.
            [Some(Some(0)), Some(Some(outside)), Some(Some(1))] => Some(outside),
            _ => None,
        })
    };
    match (outside("/proc/self/uid_map")?, outside("/proc/self/gid_map")?) {
        (Some(user), Some(group)) if user != 0 => enter_user_namespace([user, group], [0, 0]),
        _ => Ok(()),
    }
}
