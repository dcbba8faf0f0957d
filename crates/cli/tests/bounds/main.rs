//! Hostile input: every reader stays within 64 MiB of memory plus three times the size of its input.

#[cfg(feature = "batch")]
mod batch;
mod bound;
#[path = "../common/mod.rs"]
mod common;
mod data;
mod debug;
mod editors;
mod elf;
mod objects;
mod programs;
#[cfg(feature = "node")]
mod servers;
mod sources;
