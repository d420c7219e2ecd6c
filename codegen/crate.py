"""A Rust crate of a design: its one C file, compiled by build.rs, behind a #[global_allocator]."""

from importlib.metadata import distribution

from heapsmith.codegen.annotated import Run
from heapsmith.codegen.generate import HEADER
from heapsmith.codegen.projects import filled, library_name
from heapsmith.codegen.ship import single_of
from heapsmith.model.design.design import Design
from heapsmith.model.design.toml import design_text

CARGO = """[package]
name = "@NAME@"
version = "@VERSION@"
edition = "2021"
description = "A malloc made by heapsmith: the design @DESIGN@"
license = "MIT"
links = "@NAME@"

[build-dependencies]
cc = "1"
"""

BUILD = """//! Compiles the library, which becomes the malloc of the whole program.

fn main() {
    println!("cargo:rerun-if-changed=c/heap.c");
    cc::Build::new()
        .file("c/heap.c")
        .define("HEAPSMITH_ARCHIVE", None) // operator new is C++'s own, which calls malloc
        .opt_level(2)
        .std("gnu17")
        .flag("-pthread")
        .warnings(false)
        .compile("@LIBRARY@");
}
"""

LIB = """//! A malloc made by heapsmith: the design `@DESIGN@`.
//!
//! ```
//! #[global_allocator]
//! static HEAP: @LIBRARY@::Heap = @LIBRARY@::Heap;
//!
//! assert_eq!(vec![1u8; 100].len(), 100);
//! ```
//!
//! The library is the malloc of the C in the program too. `HEAPSMITH=stats` in the environment prints what it did.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::ptr::{copy_nonoverlapping, write_bytes};

extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn calloc(count: usize, bytes: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    fn free_sized(block: *mut c_void, bytes: usize);
    fn free_aligned_sized(block: *mut c_void, alignment: usize, bytes: usize);
}

/// The alignment of malloc's blocks of at least as many bytes (C23, 7.24.3).
const ALIGNMENT: usize = 16;

/// The heap of the design `@DESIGN@`.
pub struct Heap;

fn is_plain(layout: &Layout) -> bool {
    layout.align() <= ALIGNMENT && layout.align() <= layout.size()
}

unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_plain(&layout) {
            malloc(layout.size()).cast()
        } else {
            aligned_alloc(layout.align(), layout.size()).cast()
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_plain(&layout) {
            return calloc(1, layout.size()).cast();
        }
        let block = self.alloc(layout);
        if !block.is_null() {
            write_bytes(block, 0, layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_plain(&layout) {
            free_sized(block.cast(), layout.size());
        } else {
            free_aligned_sized(block.cast(), layout.align(), layout.size());
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let wanted = Layout::from_size_align_unchecked(bytes, layout.align());
        if is_plain(&layout) && is_plain(&wanted) {
            return realloc(block.cast(), bytes).cast();
        }
        let moved = self.alloc(wanted);
        if !moved.is_null() {
            copy_nonoverlapping(block, moved, layout.size().min(bytes));
            self.dealloc(block, layout);
        }
        moved
    }
}
"""

TEST = """//! The heap serves a program with threads, and keeps alignment and contents.

use std::alloc::{GlobalAlloc, Layout};
use std::thread;

use @LIBRARY@::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

#[test]
fn blocks_are_aligned_and_keep_their_bytes() {
    for align in (0..17).map(|bits| 1usize << bits) {
        for size in [1usize, 7, 8, 24, 100, 4096, 100_000] {
            let (layout, larger) = (Layout::from_size_align(size, align).unwrap(), 3 * size);
            unsafe {
                let block = HEAP.alloc_zeroed(layout);
                assert_eq!(block as usize % align, 0);
                assert!((0..size).all(|at| *block.add(at) == 0));
                block.write_bytes(7, size);
                let moved = HEAP.realloc(block, layout, larger);
                assert_eq!(moved as usize % align, 0);
                assert!((0..size).all(|at| *moved.add(at) == 7));
                HEAP.dealloc(moved, Layout::from_size_align(larger, align).unwrap());
            }
        }
    }
}

#[test]
fn threads_share_it() {
    let workers: Vec<_> = (0..4)
        .map(|seed| {
            thread::spawn(move || {
                let mut kept: Vec<Vec<u64>> = Vec::new();
                for step in 0..20_000u64 {
                    kept.push(vec![step; ((step * 7 + seed) % 300) as usize]);
                    if step % 3 == 0 {
                        kept.swap_remove((step % kept.len() as u64) as usize);
                    }
                }
                kept
            })
        })
        .collect();
    for worker in workers {
        let kept = worker.join().unwrap(); // another thread frees them
        assert!(kept.iter().all(|block| block.iter().all(|word| *word == block[0])));
    }
}

#[test]
fn it_is_the_malloc_of_the_program() {
    extern "C" {
        fn heapsmith_counter_count() -> usize;
    }
    assert!(unsafe { heapsmith_counter_count() } > 0);
}
"""

README = """# @NAME@

A malloc made by heapsmith @VERSION@, as a Rust crate: the design `@DESIGN@` (`design.toml`).

```toml
[dependencies]
@NAME@ = { path = "..." }
```

```rust
#[global_allocator]
static HEAP: @LIBRARY@::Heap = @LIBRARY@::Heap;
```

It runs on Linux on x86-64, 64-bit Arm and RISC-V. build.rs compiles `c/heap.c` with a C compiler, at -O2 in
every profile. The library is the malloc of the whole program, of its C too: a program has one such crate.
"""


def crate_of(design: Design, run: Run | None = None) -> dict[str, bytes]:
    """The files of a crate: content by name; run: whose counts the C has as comments."""
    library = library_name(design)
    words = {
        "NAME": library.replace("_", "-"),
        "LIBRARY": library,
        "DESIGN": design.name,
        "VERSION": distribution("heapsmith").version,
    }
    texts = {
        "Cargo.toml": CARGO,
        "build.rs": BUILD,
        "src/lib.rs": LIB,
        "tests/heap.rs": TEST,
        "README.md": README,
    }
    single = {f"c/{name}": content for name, content in single_of(design, run).items() if name != HEADER}
    own = {name: filled(text, words) for name, text in texts.items()}
    own["design.toml"] = design_text(design)
    return single | {name: text.encode() for name, text in own.items()}
