//! The guest's memory: where every access is checked.
//!
//! Invariant: no host pointer leaves this module, and none is followed, unless `Region::host`
//! has bounded the access by the buffer that the region was made from; a region borrows its
//! buffer for as long as it lives. What a change must keep besides is exactness: which region an
//! address belongs to, the quirk of gapped regions, and the choice of error are consensus rules
//! (anza sbpf: `memory_region.rs`).
//!
//! Most accesses hit one of a few windows of 4 GiB. For each window the map remembers one region
//! that an access may be tried against first; it is only ever an abbreviation of the search, since
//! regions do not overlap.

#![allow(unsafe_code, reason = "this module alone turns guest addresses into host pointers")]

mod region;
mod region_index;
mod window;

mod map;

mod machine_code;

pub(crate) use self::{
    machine_code::{RegionBounds, WindowTable},
    window::WindowBuffer,
};
pub use self::{
    map::{MemoryMap, Violation},
    region::Region,
};
