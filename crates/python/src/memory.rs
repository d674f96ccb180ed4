//! End of the process when memory is exhausted: one line on stderr and status 2, where Rust would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, but the process ends if memory is exhausted.
struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

// SAFETY: all calls are passed on to the system's allocator unchanged; a null pointer is never returned.
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

/// Prints the error and ends the process, without allocating. Files are left as after a kill, with whole lines.
#[cold]
fn end(bytes: usize) -> ! {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    let mut line = [0; 160];
    let mut left = &mut line[..];
    // A write to a buffer that has room loses nothing.
    let _ = writeln!(
        left,
        "error: there is not enough memory ({bytes} bytes more were asked for); fewer points, runs or jobs take less"
    );
    let length = 160 - left.len();
    let is_first = !HAS_ENDED.swap(true, Ordering::Relaxed);
    // SAFETY: the buffer has as many bytes, and neither call needs memory. Other threads that exhaust memory wait for
    // the end of the process.
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
