//! Scheduling priority of a thread that passes packets.

use std::mem::size_of;

/// `struct sched_attr` of linux/sched/types.h in its first form (48 bytes).
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

/// `SCHED_OTHER`; a thread with another policy keeps it.
const ORDINARY: u32 = 0;
/// `SCHED_FIFO` and `SCHED_RR`: policies of real-time priority.
const REAL_TIME: [u32; 2] = [1, 2];
/// Maximum real-time priority of Linux.
const HIGHEST: u32 = 99;
const NICE: i32 = -10;
/// Time slice in nanoseconds, the minimum of Linux (6.12 and later). Threads with short slices are scheduled sooner
/// (EEVDF).
const TURN: u64 = 100_000;

/// Requests a higher priority and a short time slice for the calling thread, so that packets are released on time
/// beside computing programs. Without permission for the priority it requests the short slice alone; a kernel that
/// lacks or refuses this changes nothing.
///
/// A thread with real-time priority, as under `chrt -f 1`, requests the next higher one: the programs at the ends of the
/// link inherited the same, and a program that computes would otherwise delay the packets of all others.
pub(crate) fn prefer_this_thread() {
    let Some(own) = attributes() else { return };
    if REAL_TIME.contains(&own.policy) {
        let priority = HIGHEST.min(own.priority + 1);
        set(&Attributes { size: SIZE, policy: own.policy, priority, ..Attributes::default() });
    } else if own.policy == ORDINARY {
        let _ = [NICE.min(own.nice), own.nice]
            .into_iter()
            .any(|nice| set(&Attributes { size: SIZE, nice, runtime: TURN, ..Attributes::default() }));
    }
}

const SIZE: u32 = size_of::<Attributes>() as u32;

/// Scheduling attributes of the calling thread; `None` if the kernel does not tell them.
fn attributes() -> Option<Attributes> {
    let mut own = Attributes::default();
    let size = SIZE as usize;
    // SAFETY: sched_getattr(2) writes at most `size` bytes to `own`, which has as many; any bytes are valid in it.
    #[expect(unsafe_code, reason = "no safe call reads it")]
    let outcome = unsafe { libc::syscall(libc::SYS_sched_getattr, 0_usize, &raw mut own, size, 0_usize) };
    (outcome == 0).then_some(own)
}

/// Sets scheduling attributes of the calling thread, and returns whether the kernel did so.
fn set(asked: &Attributes) -> bool {
    // SAFETY: sched_setattr(2) reads `size` bytes of `asked`, which has as many, and keeps no pointer to it.
    #[expect(unsafe_code, reason = "no safe call sets it")]
    let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, 0_usize, &raw const *asked, 0_usize) };
    outcome == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread::spawn;

    /// The nice value of a thread, the 19th field of its stat (proc(5)).
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

    #[test]
    fn a_thread_with_real_time_priority_exceeds_that_of_its_programs() {
        let found = spawn(|| {
            let asked = Attributes { size: SIZE, policy: REAL_TIME[0], priority: 1, ..Attributes::default() };
            if !set(&asked) {
                return None;
            }
            prefer_this_thread();
            attributes().map(|own| (own.policy, own.priority))
        });
        let found = found.join().unwrap();
        // Without the right to any real-time priority there is none to exceed.
        assert!(found == Some((REAL_TIME[0], 2)) || found.is_none(), "{found:?}");
        if rustix::process::geteuid().is_root() && attributes().is_some() {
            assert_eq!(found.is_some(), allows_real_time());
        }
    }

    /// Whether this system lets the process have real-time priority; a control group may forbid it to root.
    fn allows_real_time() -> bool {
        // SAFETY: sched_setscheduler(2) reads one `sched_param`.
        #[expect(unsafe_code, reason = "another call than the one under test")]
        let outcome = spawn(|| unsafe {
            let asked = libc::sched_param { sched_priority: 1 };
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const asked)
        });
        outcome.join().unwrap() == 0
    }
}
