//! The live cases for a user without privileges, in a user namespace.

use crate::Case;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub(crate) const ALL: &[Case] = &[("the_same_without_root", the_same_without_root)];

/// Environment variable that marks the process without privileges.
const CHILD: &str = "CROSSFADE_LIVE_WITHOUT_ROOT";
/// Exit status with which the process without privileges reports that it was skipped.
const SKIPPED: u8 = 77;
/// User id of `nobody`.
const NOBODY: u32 = 65534;

fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Ends the process without privileges when its parent ends.
pub(crate) fn end_with_parent() {
    if is_child() {
        set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    }
}

/// Exit status of a skipped test.
pub(crate) fn skipped() -> ExitCode {
    if is_child() { ExitCode::from(SKIPPED) } else { ExitCode::SUCCESS }
}

/// A folder that every user can read, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = env::temp_dir().join(format!("crossfade-live-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn the_same_without_root() {
    if is_child() {
        return;
    }
    // Nobody can read where this program was built.
    let folder = Folder::new();
    let program = folder.0.join("live");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command.args(["ping", "tcp_at", "nothing"]).env(CHILD, "1").current_dir("/").uid(NOBODY).gid(NOBODY);
    match command.status() {
        Err(error) => println!("SKIPPED: live without root: cannot start a program as another user: {error}"),
        Ok(status) if status.code() == Some(i32::from(SKIPPED)) => {
            println!("SKIPPED: live without root: see above");
        }
        Ok(status) => assert!(status.success(), "without root: {status}"),
    }
}
