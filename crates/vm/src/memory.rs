//! Guest memory: regions, the memory map, and the bounds check of every access.
//!
//! Invariants:
//! - No host pointer is dereferenced here unless `Region::host` or `Window::host` has checked the
//!   access against the buffer of its region. A region borrows its buffer for as long as it lives.
//! - Only machine code gets host pointers that no such check has bounded: `fill_window_table` and
//!   `stack_address` hand out base addresses together with limits. The code that `jit` emits
//!   compares each access with those limits first, and stops using them as soon as
//!   `is_known_to_code` is false.
//! - Which region an address belongs to, accesses that run over the end of a frame in a gapped
//!   region, and the choice of error are consensus rules (anza sbpf: `memory_region.rs`).
//!
//! The address space consists of windows of 4 GiB. For the first eight, the map caches one region
//! each, which the interpreter's loads and stores try before they search. Regions do not overlap,
//! so the cache never changes a result.
//!
//! Each file uses only those above it in this list:
//!
//! | file | what it owns |
//! |---|---|
//! | `region.rs` | [`Region`]: a span of guest addresses and its host buffer |
//! | `region_index.rs` | the index for maps with many regions |
//! | `window.rs` | the cache of one region per window |
//! | `map.rs` | [`MemoryMap`]: all regions, and accesses through them |
//! | `machine_code.rs` | what machine code gets to know of the map |

#![allow(unsafe_code, reason = "this module alone turns guest addresses into host pointers")]

mod machine_code;
mod map;
mod region;
mod region_index;
mod window;

pub(crate) use self::{
    machine_code::{RegionBounds, WindowTable},
    window::WindowBuffer,
};
pub use self::{
    map::{MemoryMap, Violation, WriteLog},
    region::Region,
};
