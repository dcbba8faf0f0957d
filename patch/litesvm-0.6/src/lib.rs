//! The package `litesvm` on Selkie, under its own name: `[patch.crates-io]` replaces a package by
//! one of the same name only. `docs/switch.md` of Selkie says how to use it.

#![forbid(unsafe_code)]

pub use selkie_litesvm_2::*;
