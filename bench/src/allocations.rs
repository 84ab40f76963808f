//! The system's allocator, with a count of what a thread asked of it and of what it holds.
//!
//! The counts are a thread's own: a count that threads share would cost more than the allocation, and most where
//! threads contend, so that whoever allocates would look slower than it is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES_HELD: Cell<i64> = const { Cell::new(0) };
}

/// Counts every allocation and reallocation of each thread. Make it the global one.
#[derive(Debug)]
pub struct Counting;

/// Allocations of this thread so far.
pub fn count() -> u64 {
    ALLOCATIONS.get()
}

/// What `make` keeps allocated for as long as its value lives, in bytes as it asked for them, with the value.
pub fn bytes_of<T>(make: impl FnOnce() -> T) -> (u64, T) {
    let before = BYTES_HELD.get();
    let value = make();
    (u64::try_from(BYTES_HELD.get() - before).unwrap_or(0), value)
}

fn asked(took: usize, gave: usize) {
    BYTES_HELD.set(BYTES_HELD.get() + took as i64 - gave as i64);
}

// SAFETY: every method hands its arguments to the system's allocator unchanged, which keeps the contract. The counts
// need no destructor and no allocation, so that they can be touched from here at any point of a thread's life.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        asked(layout.size(), 0);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        asked(0, layout.size());
        // SAFETY: `block` came from `System` by `alloc` or `realloc`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        asked(size, layout.size());
        // SAFETY: `block` came from `System` with this layout, and the caller's promise about `size` is passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
