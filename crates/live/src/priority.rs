//! Scheduling priority of a thread that passes packets.

use std::mem::size_of;

/// Scheduling attributes of a thread: `struct sched_attr` of linux/sched/types.h in its first form (48 bytes).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Scheduling policy `SCHED_OTHER`; a thread with another policy keeps its attributes.
const ORDINARY: u32 = 0;
const NICE: i32 = -10;
/// Time slice in nanoseconds, the minimum of Linux (6.12 and later). Threads with short slices are scheduled sooner
/// (EEVDF).
const TURN: u64 = 100_000;

/// Requests a higher priority and a short time slice for the calling thread, so that packets are released on time
/// beside computing programs. Without permission for the priority it requests the short slice alone; a kernel that
/// lacks or refuses this changes nothing.
pub(crate) fn prefer_this_thread() {
    let mut own = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: sched_getattr(2) writes at most `size` bytes to `own`, which has as many; any bytes are valid in it.
    #[expect(unsafe_code, reason = "no safe call reads it")]
    let outcome = unsafe { libc::syscall(libc::SYS_sched_getattr, 0_usize, &raw mut own, size, 0_usize) };
    if outcome != 0 || own.policy != ORDINARY {
        return;
    }
    for nice in [NICE.min(own.nice), own.nice] {
        let asked = Attributes { size: size as u32, nice, runtime: TURN, ..Attributes::default() };
        // SAFETY: sched_setattr(2) reads `size` bytes of `asked`, which has as many, and keeps no pointer to it.
        #[expect(unsafe_code, reason = "no safe call sets it")]
        let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, 0_usize, &raw const asked, 0_usize) };
        if outcome == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread::spawn;

    /// Nice value of the calling thread: the 19th field of its `stat` file (proc(5)).
    fn nice() -> i32 {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields = stat.rsplit_once(") ").unwrap().1;
        fields.split(' ').nth(16).unwrap().parse().unwrap()
    }

    #[test]
    fn it_concerns_one_thread_and_not_those_of_others() {
        let usual = nice();
        let preferred = spawn(|| {
            prefer_this_thread();
            nice()
        });
        let preferred = preferred.join().unwrap();
        assert!(preferred == NICE.min(usual) || preferred == usual, "{preferred}");
        if rustix::process::geteuid().is_root() {
            assert_eq!(preferred, NICE.min(usual));
        }
        assert_eq!(nice(), usual);
    }
}
