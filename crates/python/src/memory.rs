//! End of the process when memory is exhausted: one line and status 2, where Rust's own way is to abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, from which nobody comes back empty-handed.
struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

// SAFETY: everything is handed on to the system's allocator as it came. What it has not is never returned.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller has promised.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller has promised.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller has promised.
        given(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(old, layout) }
    }
}

fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(bytes);
    }
    memory
}

/// Prints the error and ends, without allocating. Of what is written to files that is whole, as after a kill.
#[cold]
fn end(bytes: usize) -> ! {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    let mut line = [0; 160];
    let mut left = &mut line[..];
    // Nothing is lost of a line that has room.
    let _ = writeln!(
        left,
        "error: there is not enough memory ({bytes} bytes more were asked for); fewer points, runs or jobs take less"
    );
    let length = 160 - left.len();
    let is_first = !HAS_ENDED.swap(true, Ordering::Relaxed);
    // SAFETY: as many bytes are there, and neither call needs anything of the process. Other threads that find no
    // memory either wait for the end.
    unsafe {
        if is_first {
            libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), length);
            libc::_exit(2);
        }
        loop {
            libc::pause();
        }
    }
}
