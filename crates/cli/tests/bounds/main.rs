//! Every reader of foreign input keeps one bound: three times the input and 64 MiB of memory. Each
//! gets input that is made to break it.

mod bound;
#[path = "../common/mod.rs"]
mod common;
mod data;
mod debug;
mod editors;
mod elf;
mod objects;
mod programs;
mod sources;
